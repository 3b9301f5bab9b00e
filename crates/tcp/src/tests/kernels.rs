//! Tests of the differences between Linux 3.2, 3.13 and today, according to their sources: one
//! exchange of segments, and the reaction of each version. The round-trip time is 20 ms. The other
//! files test the rules that the versions share.

use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

use super::path::{Direction, FULL, Fate, Path, losing, sent_at};
use crate::{Config, CongestionControlKind, HyStart, Recovery, Segment, SmallQueues};

const MS: fn(u64) -> Duration = Duration::from_millis;
const ALL: [Recovery; 3] = [Recovery::Linux32, Recovery::Linux313, Recovery::Today];

fn config(recovery: Recovery) -> Config {
    Config {
        recovery,
        congestion_control: CongestionControlKind::NewReno,
        small_queues: SmallQueues::Off,
        ..Config::default()
    }
}

/// Instant at which the segment was sent for the second time, in ms.
fn repeated_at(path: &Path, number: u64) -> u64 {
    let sent: Vec<_> = path.data().filter(|(_, s)| s.sequence == 1 + number * FULL).collect();
    (sent[1].0 - Instant::ZERO).as_nanos() / 1_000_000
}

#[test]
fn a_lost_tail_waits_for_the_timeout_where_there_is_no_probe() {
    // Ten segments at 20 ms, the last two lost: acknowledgements arrive until 40
    // ms. 3.13 and today send a probe after two round trips; 3.2 waits for its
    // timeout of 200 ms plus a round trip.
    let probes = ALL.map(|recovery| {
        let mut path = losing(config(recovery), 10, &[8, 9]);
        assert!(path.run_until_done(Duration::from_secs(5)), "{recovery:?}");
        (repeated_at(&path, 8), repeated_at(&path, 9), path.ends[0].timeouts())
    });
    assert_eq!(probes[0], (260, 280, 1), "3.2");
    // The acknowledgement of the probe triggers an early retransmit.
    assert_eq!(probes[1], (105, 80, 0), "3.13");
    assert_eq!((probes[2].1, probes[2].2), (82, 0), "today");
}

#[test]
fn a_short_flight_is_retransmitted_early_since_3_5() {
    // Three segments at 20 ms, the first lost; two are sacked at 40 ms. 3.2 has
    // only the timeout for this, 220 ms after they were sent.
    let at = ALL.map(|recovery| {
        let mut path = losing(config(recovery), 3, &[0]);
        assert!(path.run_until_done(Duration::from_secs(5)), "{recovery:?}");
        repeated_at(&path, 0)
    });
    assert_eq!(at, [240, 45, 47]);
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    // 40 segments; the second one is lost, and so is its retransmission.
    for recovery in ALL {
        let mut path = losing(config(recovery), 40, &[]);
        let mut losses = 0;
        path.rule = Box::new(move |end, _, segment: &Segment| {
            let is_lost = end == 0 && segment.sequence == 1 + FULL && losses < 2;
            losses += u32::from(is_lost);
            if is_lost { Fate::Lose } else { Fate::Pass }
        });
        let done = path.run_until_done(Duration::from_secs(5));
        assert!(done, "{recovery:?}");
        let end = &path.ends[0];
        assert_eq!((end.timeouts(), end.retransmissions()), (0, 2), "{recovery:?}");
    }
}

#[test]
fn a_timeout_of_3_2_sends_the_head_alone_and_then_two_new() {
    // The whole first flight arrives, but its acknowledgements are delayed:
    // spurious.
    let mut path =
        Path::new(config(Recovery::Linux32), [Direction::new(MS(10)), Direction::new(MS(10))]);
    path.rule = Box::new(|end, _, segment: &Segment| {
        let at = segment.sent;
        let is_late = end == 1 && at > Instant::ZERO + MS(15) && at < Instant::ZERO + MS(35);
        if is_late { Fate::Late(MS(300)) } else { Fate::Pass }
    });
    path.start(40 * FULL);
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert_eq!(sent_at(&path, 240), [0], "the head");
    assert_eq!(path.ends[0].timeouts(), 1);
    // Not go-back-N: the late acknowledgements show that the first flight arrived.
    assert!(path.ends[0].retransmissions() < 3, "{}", path.ends[0].retransmissions());
}

#[test]
fn reduced_by_the_own_queue_the_window_falls_step_by_step_in_3_2() {
    // A queue of 5 packets at 12 Mb/s that refuses more: PRR ends at the threshold,
    // rate halving reduces the window for as long as acknowledgements arrive and
    // stays above the threshold.
    for recovery in ALL {
        let config = Config { local_congestion: true, ..config(recovery) };
        let rate = lasthop_units::Bitrate::from_mbps(12);
        let mut path =
            Path::new(config, [Direction::limited(MS(10), rate, 5), Direction::new(MS(10))]);
        path.directions[0].refuses = true;
        path.start(400 * FULL);
        assert!(path.run_until_done(Duration::from_secs(20)), "{recovery:?}");
        assert_eq!(path.ends[0].retransmissions(), 0, "{recovery:?}");
    }
}

/// Windows after a flight of 10 and of 20 segments, with an acknowledgement for
/// every two segments (no quick acknowledgements).
#[test]
fn slow_start_counted_acknowledgements_before_3_13() {
    let windows = ALL.map(|recovery| {
        let mut config = config(recovery);
        config.delayed_ack.quick_segments = 0;
        let mut path = losing(config, 400, &[]);
        path.run(MS(45));
        path.ends[0].cwnd_packets()
    });
    assert_eq!(windows, [15, 20, 20]);
}

/// On a path of one tick or less, HyStart's train is too long at once.
#[test]
fn hystart_of_old_ends_slow_start_early_on_a_short_path() {
    let thresholds = ALL.map(|recovery| {
        let cubic = CongestionControlKind::Cubic { hystart: HyStart::Linux };
        let config = Config { congestion_control: cubic, ..config(recovery) };
        let rate = lasthop_units::Bitrate::from_mbps(50);
        let delay = Duration::from_micros(500);
        let mut path =
            Path::new(config, [Direction::limited(delay, rate, 2_000), Direction::new(delay)]);
        path.start(2_000 * FULL);
        assert!(path.run_until_done(Duration::from_secs(5)));
        path.ends[0].ssthresh()
    });
    assert!(thresholds[0] < 40 && thresholds[1] < 40, "{thresholds:?}");
    assert!(thresholds[2] >= thresholds[1], "{thresholds:?}");
}

#[test]
fn every_segment_out_of_order_is_acknowledged_at_once_before_4_18() {
    let acknowledgements = ALL.map(|recovery| {
        let mut path = losing(config(recovery), 40, &[11]);
        assert!(path.run_until_done(Duration::from_secs(5)));
        path.sent[1].iter().filter(|(_, segment)| segment.sack_blocks > 0).count()
    });
    assert!(acknowledgements[0] > acknowledgements[2], "{acknowledgements:?}");
    assert_eq!(acknowledgements[0], acknowledgements[1]);
}
