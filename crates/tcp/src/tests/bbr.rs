//! Tests of BBR on a path: 10 Mb/s of IP packets and a round trip of 40 ms, 33 segments of 1500 bytes.
//! Expected values are closed forms: the rate of the path, the product of bandwidth and delay, the
//! times of the draft. Rates are in payload bits per second.

use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Duration, Instant, Seed};

use super::path::{Direction, Fate, Path};
use crate::{Config, CongestionControlKind, Endpoint, Pacing, Recovery, Segment, SmallQueues};

const MS: fn(u64) -> Duration = Duration::from_millis;
const RATE: u64 = 10_000_000;
/// Largest payload rate of the path.
const GOODPUT: f64 = RATE as f64 * 1448.0 / 1500.0;

fn config() -> Config {
    Config {
        congestion_control: CongestionControlKind::Bbr,
        small_queues: SmallQueues::Off,
        ..Config::default()
    }
}

fn path(config: Config, queue_packets: usize) -> Path {
    let forth = Direction::limited(MS(20), Bitrate::from_bps(RATE), queue_packets);
    let mut path = Path::new(config, [forth, Direction::new(MS(20))]);
    path.logs = false;
    path
}

/// Share of the path's rate that arrives between `from` and `to` seconds, and the round-trip times
/// sampled in it each 10 ms.
fn share(path: &mut Path, from: u64, to: u64) -> (f64, Vec<Duration>) {
    path.run(Duration::from_secs(from));
    let before = path.ends[1].received_bytes();
    let mut round_trips = Vec::new();
    for _ in 0..(to - from) * 100 {
        path.run(MS(10));
        round_trips.extend(path.ends[0].latest_rtt());
    }
    let bits = (path.ends[1].received_bytes() - before) * 8;
    path.ends[0].check();
    (bits as f64 / (to - from) as f64 / GOODPUT, round_trips)
}

/// The queue holds at most one product, because at most two are in flight (cwnd_gain), and the
/// allowance for aggregation and buffers.
#[test]
fn a_path_is_full_and_its_queue_short() {
    let mut path = path(config(), 10_000);
    path.start(Endpoint::BULK);
    let (share, mut round_trips) = share(&mut path, 2, 32);
    assert!(share > 0.95, "{share}");
    round_trips.sort_unstable();
    let [median, most] = [round_trips[round_trips.len() / 2], round_trips[round_trips.len() - 1]];
    assert!(median < MS(60), "{median:?}");
    assert!(most < MS(90), "{most:?}");
    assert_eq!(path.ends[0].retransmissions(), 0);
}

/// The first ten seconds after the minimum: the window is 4 segments for 200 ms and a round.
#[test]
fn the_round_trip_is_probed_with_four_segments() {
    let mut path = path(config(), 10_000);
    path.start(Endpoint::BULK);
    let mut low = Vec::new();
    for ms in 0..45_000u64 {
        path.run(MS(1));
        if path.ends[0].cwnd_packets() == 4 {
            low.push(ms);
        }
    }
    let mut spells: Vec<(u64, u64)> = Vec::new();
    for ms in low {
        match spells.last_mut() {
            Some((_, end)) if *end + 1 == ms => *end = ms,
            _ => spells.push((ms, ms)),
        }
    }
    assert!((3..=4).contains(&spells.len()), "{spells:?}");
    for (start, end) in &spells {
        // 200 ms, after the flight has shrunk, and until the next acknowledgement.
        assert!((200..400).contains(&(end - start)), "{spells:?}");
    }
    for pair in spells.windows(2) {
        let apart = pair[1].0 - pair[0].1;
        assert!((10_000..10_300).contains(&apart), "{spells:?}");
    }
}

/// The share of the path's rate with random losses.
fn share_with_losses(congestion_control: CongestionControlKind, percent: u32) -> f64 {
    let mut path = path(Config { congestion_control, ..config() }, 200);
    let mut random = Seed::new(1, 0).stream("loss");
    path.rule = Box::new(move |end, _, segment: &Segment| {
        let is_lost = end == 0 && segment.payload_bytes > 0 && random.up_to(99) < percent;
        if is_lost { Fate::Lose } else { Fate::Pass }
    });
    path.start(Endpoint::BULK);
    share(&mut path, 2, 32).0
}

/// Cardwell et al., BBR: Congestion-Based Congestion Control (2016), figure 8: nearly the capacity
/// left by losses of 1 and 5 %, and little at 20 %, where the gain of 5/4 only makes up for the
/// losses. Loss-based controls have 1.22 MSS / (RTT sqrt(p)), 3.5 Mb/s at 1 % (Mathis et al.).
#[test]
fn random_losses_cost_little_up_to_a_fifth() {
    for percent in [1, 5] {
        let left = 1.0 - f64::from(percent) / 100.0;
        let share = share_with_losses(CongestionControlKind::Bbr, percent);
        assert!(share > 0.95 * left, "{share} with {percent} %");
    }
    let share = share_with_losses(CongestionControlKind::Bbr, 20);
    assert!(share < 0.4, "{share} with 20 %");
    let reno = share_with_losses(CongestionControlKind::NewReno, 1);
    assert!(reno < 0.5, "{reno}");
}

/// An application that writes 1 Mb/s does not teach BBR that the path is slower: the transfer that
/// follows starts at the path's rate.
#[test]
fn an_application_that_writes_little_teaches_nothing() {
    let mut path = path(config(), 10_000);
    path.start(1_448);
    path.ends[0] = Endpoint::new(&config());
    path.ends[1] = Endpoint::new(&config());
    path.ends[0].connect(path.now);
    path.ends[0].write(path.now, 2_000_000);
    path.drain();
    path.run(Duration::from_secs(5));
    let before = path.ends[0].pacing_rate();
    for _ in 0..400 {
        path.ends[0].write(path.now, 1_250);
        path.drain();
        path.run(MS(10));
    }
    let after = path.ends[0].pacing_rate();
    assert!(after.as_bps() * 4 > before.as_bps() * 2, "{before:?} {after:?}");
    assert!(after.as_bps() > RATE / 2, "{after:?}");
}

/// The rate that an application fixes (SO_MAX_PACING_RATE) bounds BBR's.
#[test]
fn a_fixed_rate_is_the_upper_bound() {
    let pacing = Pacing::Fixed(Bitrate::from_mbps(2));
    let mut path = path(Config { pacing, ..config() }, 10_000);
    path.start(Endpoint::BULK);
    let (share, _) = share(&mut path, 2, 8);
    assert!((share * GOODPUT / 2e6 - 1.0).abs() < 0.02, "{share}");
}

/// Segments leave one by one: the gap is 1448 bytes at the pacing rate, not a burst of the window.
#[test]
fn segments_are_paced_without_a_queueing_discipline() {
    let mut path = path(config(), 10_000);
    path.start(Endpoint::BULK);
    path.run(Duration::from_secs(5));
    path.logs = true;
    path.run(MS(500));
    let times: Vec<Instant> = path.data().map(|(at, _)| *at).collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    // At most 5/4 of the path's rate: 1.2 ms * 4/5, less half for lateness.
    assert!(gaps.min() > Some(Duration::from_micros(480)), "{times:?}");
}

/// With segmentation offload, two segments leave at once, and the next ones wait for both: BBR
/// has at least two in a buffer (bbr_min_tso_segs), and a millisecond of 12 Mb/s is one.
#[test]
fn buffers_leave_whole() {
    let mut path = path(Config { send_offload: true, ..config() }, 10_000);
    path.start(Endpoint::BULK);
    path.run(Duration::from_secs(5));
    path.logs = true;
    path.run(MS(500));
    let times: Vec<Instant> = path.data().map(|(at, _)| *at).collect();
    let (mut pairs, mut lone) = (0, 0);
    for gap in times.windows(2).map(|pair| pair[1] - pair[0]) {
        if gap.is_zero() {
            pairs += 1;
        } else {
            lone += 1;
            // Twice the gap of single segments.
            assert!(gap > Duration::from_micros(960), "{gap:?} in {times:?}");
        }
    }
    assert!(pairs > 100 && lone <= pairs + 1, "{pairs} {lone}");
}

/// A timeout: everything is lost for a second, then the rate of before returns, because the
/// model remains (bbr_set_state).
#[test]
fn an_interruption_is_overcome() {
    let mut path = path(config(), 10_000);
    path.start(Endpoint::BULK);
    path.run(Duration::from_secs(5));
    path.rule = Box::new(|_, _, _| Fate::Lose);
    path.run(Duration::from_secs(1));
    path.rule = Box::new(|_, _, _| Fate::Pass);
    assert!(path.ends[0].timeouts() > 0);
    let (share, _) = share(&mut path, 2, 6);
    assert!(share > 0.9, "{share}");
}

/// BBR came with Linux 4.9: with an older kernel's rules the endpoint follows today's.
#[test]
fn older_recovery_has_no_effect() {
    let sent = |recovery| {
        let mut path = path(Config { recovery, ..config() }, 20);
        path.logs = true;
        path.start(3_000_000);
        path.run_until_done(Duration::from_secs(20));
        path.data().count()
    };
    assert_eq!(sent(Recovery::Linux313), sent(Recovery::Today));
}
