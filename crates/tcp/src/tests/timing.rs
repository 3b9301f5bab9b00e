//! Tests of the times of segments: the handshake, delayed acknowledgements, probes, paced segments,
//! after idle periods, and in reaction to ECN marks. The round-trip time is 20 ms.

use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine};

use super::path::{Direction, Fate, Path};
use crate::{
    Config, CongestionControlKind, Endpoint, Pacing, Reason, Recovery, Segment, SmallQueues, State,
};

const MS: fn(u64) -> Duration = Duration::from_millis;
const FULL: u64 = 1448;

fn config() -> Config {
    Config {
        congestion_control: CongestionControlKind::NewReno,
        small_queues: SmallQueues::Off,
        ..Config::default()
    }
}

fn path(config: Config) -> Path {
    Path::new(config, [Direction::new(MS(10)), Direction::new(MS(10))])
}

/// Instants at which data segments were sent, in ms.
fn times(path: &Path) -> Vec<u64> {
    path.data().map(|(at, _)| at.as_nanos() / 1_000_000).collect()
}

/// RFC 9293, 3.5: three segments, and the third may carry data.
#[test]
fn a_handshake_takes_a_round_trip() {
    let mut path = path(config());
    path.start(100);
    let established = |path: &Path| [0, 1].map(|end| path.ends[end].is_established());
    path.run(MS(15));
    assert_eq!(established(&path), [false, false]);
    path.run(MS(10));
    assert_eq!(established(&path), [true, false]);
    let syn = &path.sent[0][0].1;
    assert!(syn.syn && syn.acknowledgement.is_none() && syn.sequence == 0);
    let answer = &path.sent[1][0].1;
    assert!(answer.syn && answer.acknowledgement == Some(1));
    assert_eq!(times(&path), [20]);
    assert_eq!(path.ends[0].smoothed_rtt(), Some(MS(20)));
    path.run(MS(10));
    assert_eq!(established(&path), [true, true]);
}

/// Instants at which SYNs were sent, in seconds.
fn syns(path: &Path, end: usize) -> Vec<u64> {
    let syns = path.sent[end].iter().filter(|(_, segment)| segment.syn);
    syns.map(|(at, _)| at.as_nanos() / 1_000_000_000).collect()
}

/// Times observed with Linux 6.18 connecting to an address without a host; the count was sampled
/// twice a second.
#[test]
fn a_lost_syn_is_tried_again_each_second_before_the_timeout_doubles() {
    let mut path = path(config());
    path.rule =
        Box::new(
            |end, number, segment: &Segment| {
                if end == 0 && segment.syn && number < 8 { Fate::Lose } else { Fate::Pass }
            },
        );
    path.start(100);
    path.run(Duration::from_secs(30));
    assert_eq!(syns(&path, 0), [0, 1, 2, 3, 4, 5, 7, 11, 19]);
    assert!(path.ends[1].is_received());
    // The timestamp echo shows which SYN was answered.
    assert_eq!(path.ends[0].min_rtt(), Some(MS(20)));
}

/// RFC 9293, 3.5, figure 7: simultaneous open.
#[test]
fn both_ends_may_open() {
    let mut path = path(config());
    path.ends[1].connect(path.now);
    path.ends[1].write(path.now, 5_000);
    path.start(10_000);
    assert!(path.run_until_done(Duration::from_secs(3)));
    path.run(MS(100));
    assert_eq!(path.ends[1].received_bytes(), 10_000);
    assert_eq!(path.ends[0].received_bytes(), 5_000);
}

#[test]
fn a_lost_answer_is_sent_again() {
    let mut path = path(config());
    path.rule = Box::new(|end, _, segment: &Segment| {
        if end == 1 && segment.syn && segment.sent < Instant::ZERO + MS(500) {
            Fate::Lose
        } else {
            Fate::Pass
        }
    });
    path.start(100);
    assert!(path.run_until_done(Duration::from_secs(3)));
}

/// RFC 1122, 4.2.3.4, in Minshall's variant: one small segment at a time.
#[test]
fn small_writes_wait_for_the_small_segment_before() {
    let mut path = path(config());
    path.ends[0].connect(path.now);
    path.drain();
    path.run(MS(30));
    for _ in 0..5 {
        path.ends[0].write(path.now, 100);
        path.drain();
    }
    assert_eq!(path.data().count(), 1);
    path.run(MS(21));
    let lengths: Vec<u32> = path.data().map(|(_, segment)| segment.payload_bytes).collect();
    assert_eq!(lengths, [100, 400]);
    // The end of the stream is not delayed.
    path.ends[0].write(path.now, 100);
    path.ends[0].finish(path.now);
    path.drain();
    assert_eq!(path.data().count(), 3);
}

/// RFC 8985, 7.2: a lone segment may wait for a delayed acknowledgement.
#[test]
fn a_lone_segment_is_probed_after_the_longest_delayed_acknowledgement() {
    let mut path = path(config());
    path.rule = Box::new(|end, number, segment: &Segment| {
        if end == 0 && segment.payload_bytes > 0 && number < 1 { Fate::Lose } else { Fate::Pass }
    });
    path.start(1_000);
    path.run(MS(15));
    path.run(MS(10));
    // 2 * SRTT + 200 ms, but not later than the timeout, SRTT + 200 ms here.
    let due = path.ends[0].poll_timeout();
    assert_eq!(due, Some((Instant::ZERO + MS(20 + 20 + 200), Reason::LossProbe)));
    assert!(path.run_until_done(Duration::from_secs(3)));
    assert_eq!(path.ends[0].timeouts(), 0);
}

/// Time and reason of the client's next wake-up after `segments` full ones left 20 ms after its SYN
/// and got lost.
fn awaited(config: Config, way_ms: u64, segments: u64) -> (u64, Reason) {
    let mut path = Path::new(config, [Direction::new(MS(way_ms)), Direction::new(MS(way_ms))]);
    path.rule =
        Box::new(
            |end, _, segment: &Segment| {
                if end == 0 && segment.payload_bytes > 0 { Fate::Lose } else { Fate::Pass }
            },
        );
    path.start(segments * FULL);
    path.run(MS(2 * way_ms + 1));
    assert_eq!(path.data().count() as u64, segments);
    let (due, reason) = path.ends[0].poll_timeout().expect("something is out");
    ((due - Instant::ZERO).as_nanos() / 1_000_000, reason)
}

/// RFC 8985, 7.2: two round trips (and 2 ms, Linux' TCP_TIMEOUT_MIN), 200 ms more for a single
/// segment, whose acknowledgement may be delayed; not later than the timeout, which is the round
/// trip and `timeout_min` here. Without selective acknowledgements there is no probe.
#[test]
fn a_probe_waits_for_two_round_trips() {
    let patient = Config { timeout_min: MS(1_000), ..config() };
    assert_eq!(awaited(patient, 10, 1), (20 + 40 + 200, Reason::LossProbe));
    assert_eq!(awaited(patient, 10, 2), (20 + 40 + 2, Reason::LossProbe));
    assert_eq!(awaited(patient, 100, 9), (200 + 400 + 2, Reason::LossProbe));
    assert_eq!(awaited(config(), 10, 1), (20 + 20 + 200, Reason::LossProbe));
    assert_eq!(awaited(config(), 10, 2), (20 + 40 + 2, Reason::LossProbe));
    assert_eq!(awaited(Config { sack: false, ..patient }, 10, 2), (1_040, Reason::Retransmission));
}

/// tcp_schedule_loss_probe of 3.13: two round trips, at least 10 ms; for a single segment at least
/// one and a half and 200 ms; not later than the timeout. 3.2 has only the timeout.
#[test]
fn a_probe_of_3_13_waits_for_10_ms_at_least() {
    let old = |recovery, timeout_min| Config { recovery, timeout_min, ..config() };
    let patient = old(Recovery::Linux313, MS(1_000));
    assert_eq!(awaited(patient, 10, 1), (20 + 30 + 200, Reason::LossProbe));
    assert_eq!(awaited(patient, 10, 2), (20 + 40, Reason::LossProbe));
    // Round trips of a tick.
    assert_eq!(awaited(patient, 2, 2), (4 + 10, Reason::LossProbe));
    assert_eq!(awaited(patient, 2, 1), (4 + 6 + 200, Reason::LossProbe));
    // 1.5 round trips and 200 ms are less than two of a second.
    assert_eq!(awaited(patient, 500, 1), (1_000 + 2_000, Reason::LossProbe));
    assert_eq!(awaited(old(Recovery::Linux313, MS(200)), 10, 1), (20 + 220, Reason::LossProbe));
    let deaf = Config { sack: false, ..patient };
    assert_eq!(awaited(deaf, 10, 2), (20 + 1_020, Reason::Retransmission));
    let older = old(Recovery::Linux32, MS(1_000));
    assert_eq!(awaited(older, 10, 2), (20 + 1_020, Reason::Retransmission));
}

/// RFC 8985, 7.2: new data postpones the probe, but not beyond the timeout of the oldest segment,
/// 240 ms here.
#[test]
fn new_data_puts_a_probe_off_until_the_timeout() {
    for (write_ms, due_ms) in [(100, 142), (190, 232), (230, 240)] {
        let mut path = path(config());
        path.rule =
            Box::new(
                |end, _, segment: &Segment| {
                    if end == 0 && segment.payload_bytes > 0 { Fate::Lose } else { Fate::Pass }
                },
            );
        path.ends[0].connect(path.now);
        path.ends[0].write(path.now, FULL);
        path.drain();
        path.run(MS(write_ms));
        path.ends[0].write(path.now, FULL);
        path.drain();
        assert_eq!(times(&path), [20, write_ms]);
        let due = Instant::ZERO + MS(due_ms);
        assert_eq!(path.ends[0].poll_timeout(), Some((due, Reason::LossProbe)), "{write_ms}");
    }
}

/// A closed window is probed after the timeout, then after twice that, and so on, up to two
/// minutes.
#[test]
fn a_closed_window_is_probed() {
    let mut end = Endpoint::new(&config());
    end.connect(Instant::ZERO);
    end.write(Instant::ZERO, 10_000);
    assert!(end.poll_transmit(Instant::ZERO).is_some_and(|segment| segment.syn));
    let mut now = Instant::ZERO + MS(20);
    let answer = Segment { syn: true, acknowledgement: Some(1), ..Segment::default() };
    end.handle_segment(now, &answer, false);
    let mut gaps = Vec::new();
    for _ in 0..20 {
        while let Some(segment) = end.poll_transmit(now) {
            assert_eq!(segment.payload_bytes, 0);
        }
        let (due, reason) = end.poll_timeout().expect("it probes");
        assert_eq!(reason, Reason::Persist);
        gaps.push((due - now).as_micros() / 1_000);
        now = due;
        end.handle_timeout(now);
        let probe = end.poll_transmit(now).expect("a probe");
        assert_eq!((probe.sequence, probe.payload_bytes), (0, 0), "below the window");
        let closed = Segment { sequence: 1, acknowledgement: Some(1), ..Segment::default() };
        end.handle_segment(now, &closed, false);
    }
    assert_eq!(gaps[..5], [220, 440, 880, 1_760, 3_520]);
    assert_eq!(gaps[8..], [[56_320, 112_640].as_slice(), &[120_000; 10]].concat());
    let open = Segment { window_bytes: 5_000, sequence: 1, acknowledgement: Some(1), ..answer };
    end.handle_segment(now, &Segment { syn: false, ..open }, false);
    assert_eq!(end.poll_transmit(now).map(|segment| segment.payload_bytes), Some(1448));
}

/// RFC 3168, 6.1.2: a mark reduces the window as a loss does, without a retransmission; once per
/// round trip.
#[test]
fn a_mark_reduces_the_window_once_a_round_trip() {
    let mut path = path(Config { ecn: true, receive_window: Bytes::new(40 * FULL), ..config() });
    path.rule = Box::new(|end, number, segment: &Segment| {
        if end == 0 && segment.payload_bytes > 0 && (200..205).contains(&number) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    path.start(Endpoint::BULK);
    path.run(MS(100));
    let before = path.ends[0].cwnd_packets();
    path.run(MS(400));
    assert_eq!(path.ends[0].retransmissions(), 0);
    assert_eq!(path.ends[0].ssthresh(), before / 2);
    assert_eq!(path.ends[0].state(), State::Open);
    assert_eq!(path.data().filter(|(_, segment)| segment.window_reduced).count(), 1);
}

/// Eleven segments leave at once, ten of them unpaced; then one segment every 10
/// ms, the time of 1448 bytes.
#[test]
fn paced_segments_keep_their_distance() {
    let rate = Bitrate::from_bps(FULL * 8 * 100);
    let config = Config { initial_window: 40, pacing: Pacing::Fixed(rate), ..config() };
    let mut path = path(config);
    path.start(30 * FULL);
    assert!(path.run_until_done(Duration::from_secs(5)));
    let times = times(&path);
    assert_eq!(times[..11], [20; 11]);
    let gaps: Vec<u64> = times[11..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|&gap| gap == 10), "{gaps:?}");
}

/// tcp_slow_start_after_idle: an idle connection restarts with the initial window.
#[test]
fn an_idle_window_starts_again() {
    let mut path = path(config());
    path.ends[0].connect(path.now);
    path.ends[0].write(path.now, 200 * FULL);
    path.drain();
    path.run(Duration::from_secs(1));
    assert!(path.ends[0].cwnd_packets() > 40);
    path.run(Duration::from_secs(10));
    path.ends[0].write(path.now, 200 * FULL);
    assert_eq!(path.ends[0].cwnd_packets(), 10);
}

/// Small queues do not apply while at most one segment is unacknowledged, however full the queue.
#[test]
fn a_throttled_sender_waits_for_its_own_queue() {
    let limit = Bytes::new(2 * 1500);
    let small_queues = SmallQueues::Fixed { limit, overhead: Bytes::new(0) };
    let mut end = Endpoint::new(&Config { small_queues, ..config() });
    end.connect(Instant::ZERO);
    end.write(Instant::ZERO, Endpoint::BULK);
    end.poll_transmit(Instant::ZERO);
    let now = Instant::ZERO + MS(20);
    let answer = Segment {
        syn: true,
        acknowledgement: Some(1),
        window_bytes: 1 << 20,
        ..Segment::default()
    };
    end.handle_segment(now, &answer, false);
    let mut poll = |released: u32| {
        if released > 0 {
            end.handle_released(now, released, released * 1500);
        }
        core::iter::from_fn(|| end.poll_transmit(now)).count()
    };
    assert_eq!(poll(0), 3, "one more than fits");
    assert_eq!(poll(1), 1);
    assert_eq!(poll(2), 2);
}
