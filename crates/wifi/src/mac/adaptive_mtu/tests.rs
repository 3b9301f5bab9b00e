//! Links of known losses: the chosen length against the best of all lengths, computed from the
//! known losses in another way.

use super::*;
use crate::phy::{ChannelWidth, GuardInterval};
use lasthop_units::{Seed, Stream};

const SLOT: Duration = Duration::from_micros(9);
/// Time for SIFS, Ack, AIFS and half of the smallest window.
const COST: Duration = Duration::from_micros(16 + 28 + 43 + 68);

/// The rate of MCS 7, 65 Mb/s.
fn rate() -> Rate {
    Rate::Ht { mcs: 7, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long }
}

fn limits(ampdu_bytes_max: u32) -> PpduLimits {
    PpduLimits {
        band: Band::Ghz5,
        mpdu_overhead: sizes::mpdu(0, true),
        ampdu_mpdu_bytes_max: 4_095,
        ampdu_bytes_max,
        ampdu_duration_max: Duration::from_micros(5_484),
        ampdu_frames_max: 64,
        slot: SLOT,
        cw_min: 15,
        cw_max: 1_023,
        retry_limit: 7,
    }
}

fn config(host: (u64, u64)) -> AdaptiveMtuConfig {
    AdaptiveMtuConfig {
        bytes_min: 256,
        bytes_max: 7_900,
        host_per_packet: Duration::from_micros(host.0),
        host_per_byte: Duration::from_nanos(host.1),
    }
}

/// A link that loses bytes and frames with these probabilities, and its sender.
struct Link {
    mtu: AdaptiveMtu,
    per_byte: f64,
    per_frame: f64,
    stream: Stream,
    now: Instant,
    failures: u32,
}

impl Link {
    fn new(mtu: AdaptiveMtu, per_byte: f64, per_frame: f64) -> Self {
        let stream = Seed::new(1, 0).stream("link");
        Self { mtu, per_byte, per_frame, stream, now: Instant::ZERO, failures: 0 }
    }

    /// Runs exchanges until `time` is over.
    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let bytes = self.mtu.mtu();
            let mpdu = sizes::mpdu(u32::from(bytes), true);
            let limits = self.mtu.limits;
            let frames = match limits.ampdu_bytes_max {
                0 => 1,
                _ if mpdu > 4_095 => 1,
                most => (most / sizes::ampdu_subframe(mpdu, 0)).min(64),
            };
            let collided = self.stream.uniform() < self.per_frame;
            let success = libm::pow(1.0 - self.per_byte, f64::from(mpdu));
            let mpdus: Vec<_> =
                (0..frames).map(|_| (mpdu, !collided && self.stream.uniform() < success)).collect();
            let duration = rate().ppdu_duration(frames * mpdu, Band::Ghz5);
            let window = (16u32 << self.failures.min(6)) - 1;
            let elapsed = COST + SLOT * u64::from(window / 2 - 7) + duration;
            self.now += elapsed;
            let any = mpdus.iter().any(|(_, received)| *received);
            self.failures = if any || self.failures == 6 { 0 } else { self.failures + 1 };
            self.mtu.handle_exchange(self.now, rate(), elapsed, duration, mpdus.into_iter());
            for _ in 0..frames {
                self.mtu.handle_packet();
            }
        }
    }
}

/// Payload a second with single frames of this length, from the chain of retries with its windows.
fn single_goodput(bytes: u16, per_byte: f64, per_frame: f64) -> f64 {
    let mpdu = sizes::mpdu(u32::from(bytes), true);
    let success = (1.0 - per_frame) * libm::pow(1.0 - per_byte, f64::from(mpdu));
    let ppdu = rate().ppdu_duration(mpdu, Band::Ghz5);
    let (mut reached, mut time, mut got) = (1.0, 0.0, 0.0);
    for stage in 0..7u32 {
        let window = (16u32 << stage.min(6)) - 1;
        let attempt = COST + SLOT * u64::from(window / 2 - 7) + ppdu;
        time += reached * attempt.as_secs_f64();
        got += reached * success;
        reached *= 1.0 - success;
    }
    got * (f64::from(bytes) - HEADER_BYTES) / time
}

#[test]
fn a_clean_link_gets_the_longest_packets() {
    let mut link = Link::new(AdaptiveMtu::new(config((0, 0)), limits(0)), 0.0, 0.0);
    link.run(Duration::from_secs(1));
    // What would be gained beyond is not worth a change.
    assert!(link.mtu.chosen() > 7_800, "{}", link.mtu.chosen());
    assert_eq!(link.mtu.mtu(), link.mtu.chosen(), "nothing to ask");
    assert!(!link.mtu.probing, "nothing is lost");
    link.per_byte = 1e-4;
    link.run(Duration::from_secs(1));
    assert!(link.mtu.probing, "one of ten of the best length is lost");
}

#[test]
fn single_frames_are_as_long_as_their_losses_allow() {
    for per_byte in [1e-5, 5e-5, 1e-4, 3e-4, 1e-3] {
        let mut link = Link::new(AdaptiveMtu::new(config((0, 0)), limits(0)), per_byte, 0.0);
        link.run(Duration::from_secs(5));
        let promise = |bytes| single_goodput(bytes, per_byte, 0.0);
        let best = (256..=7_900).map(promise).fold(0.0, f64::max);
        let chosen = link.mtu.chosen();
        assert!(promise(chosen) > 0.95 * best, "{per_byte}: {chosen}");
        assert!(promise(1_500).min(promise(7_900)) < 0.9 * best, "{per_byte}: nothing to choose");
    }
}

#[test]
fn collisions_are_no_reason_for_short_packets() {
    for per_frame in [0.1, 0.3, 0.5] {
        let mut link = Link::new(AdaptiveMtu::new(config((0, 0)), limits(0)), 0.0, per_frame);
        link.run(Duration::from_secs(5));
        let chosen = link.mtu.chosen();
        let promise = |bytes| single_goodput(bytes, 0.0, per_frame);
        assert!(promise(chosen) > 0.9 * promise(7_900), "{per_frame}: {chosen}");
        // Who blames the bytes for such losses stays far below.
        assert!(promise(2_000) < 0.7 * promise(7_900), "{per_frame}: nothing to choose");
    }
}

#[test]
fn aggregates_share_what_long_packets_pay_for() {
    let mut link = Link::new(AdaptiveMtu::new(config((0, 0)), limits(65_535)), 1e-4, 0.0);
    link.run(Duration::from_secs(2));
    // Headers of 42 bytes with the delimiter: the best payload x maximises
    // x / (x + 70) exp(-b x), near sqrt(70 / b).
    let best = libm::sqrt(70.0 / 1e-4);
    let chosen = f64::from(link.mtu.chosen());
    assert!((0.6..1.8).contains(&(chosen / best)), "{chosen} {best}");
    // A clean one fills them with what an MPDU in them may have.
    let mut link = Link::new(AdaptiveMtu::new(config((0, 0)), limits(65_535)), 0.0, 0.0);
    link.run(Duration::from_secs(2));
    assert!((3_500..=4_057).contains(&link.mtu.chosen()), "{}", link.mtu.chosen());
}

#[test]
fn a_slow_processor_asks_for_long_packets() {
    let choose = |host| {
        let mut link = Link::new(AdaptiveMtu::new(config(host), limits(65_535)), 1e-4, 0.0);
        link.run(Duration::from_secs(2));
        link.mtu.chosen()
    };
    let (fast, slow) = (choose((0, 0)), choose((300, 0)));
    assert!(slow > fast + 500, "{slow} {fast}");
}

#[test]
fn it_follows_a_link_that_changes() {
    let mut link = Link::new(AdaptiveMtu::new(config((0, 0)), limits(0)), 3e-4, 0.0);
    link.run(Duration::from_secs(2));
    let long = link.mtu.chosen();
    link.per_byte = 1e-3;
    link.run(Duration::from_secs(2));
    let short = link.mtu.chosen();
    link.per_byte = 3e-4;
    link.run(Duration::from_secs(2));
    let again = link.mtu.chosen();
    assert!(short < 3 * long / 4 && again > 5 * short / 4, "{long} {short} {again}");
}

#[test]
fn nothing_gets_through_and_nothing_breaks() {
    let mut link = Link::new(AdaptiveMtu::new(config((0, 0)), limits(65_535)), 0.5, 0.0);
    link.run(Duration::from_secs(3));
    assert!((256..=7_900).contains(&link.mtu.mtu()));
    link.per_byte = 0.0;
    link.run(Duration::from_secs(10));
    assert!(link.mtu.chosen() > 3_500, "{}", link.mtu.chosen());
}
