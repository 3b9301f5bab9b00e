//! Tests of loss recovery, one pattern of losses at a time: the retransmissions, their time, and
//! the window. The round-trip time is 20 ms, the rate of the path is unlimited unless a test says
//! otherwise.

use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine};

use super::path::{Direction, FULL, Fate, Path, losing, sent_at};
use crate::{Config, CongestionControlKind, Reason, Segment, SmallQueues, State};

const MS: fn(u64) -> Duration = Duration::from_millis;
/// Payload of a full segment.
const RATE: Bitrate = Bitrate::from_mbps(12);

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS(ms)
}

fn config() -> Config {
    Config {
        congestion_control: CongestionControlKind::NewReno,
        small_queues: SmallQueues::Off,
        ..Config::default()
    }
}

#[test]
fn three_selective_acknowledgements_are_a_loss() {
    // Ten segments leave at 20 ms, the first is lost; 1, 2 and 3 are sacked at 40
    // ms, and the third of these acknowledgements triggers the retransmission of 0.
    let mut path = losing(config(), 10, &[0]);
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert_eq!(sent_at(&path, 20), (0..10).collect::<Vec<_>>());
    assert_eq!(sent_at(&path, 40), [0]);
    assert_eq!(path.ends[0].retransmissions(), 1);
    assert_eq!(path.ends[0].timeouts(), 0);
    assert_eq!(path.now, at(60));
    assert_eq!((path.ends[0].ssthresh(), path.ends[0].cwnd_packets()), (5, 5));
    assert_eq!(path.ends[0].state(), State::Open);
}

#[test]
fn two_selective_acknowledgements_wait_for_a_quarter_round_trip() {
    // 3 segments, the first lost: two are sacked at 40 ms, fewer than three. The
    // reordering window of 5 ms (plus 2 ms of slack) starts then.
    let mut path = losing(config(), 3, &[0]);
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert_eq!(sent_at(&path, 47), [0]);
    assert_eq!(path.ends[0].timeouts(), 0);
}

#[test]
fn each_late_loss_halves_the_window_alone() {
    // Three at 20 ms and three at 150 ms, of both the first is lost. Each time the
    // reordering window runs out on one loss: the window of 10 is halved (it does not grow while
    // the application uses a third of it), and then the 5 that are left.
    let mut path = Path::new(config(), [Direction::new(MS(10)), Direction::new(MS(10))]);
    path.rule = Box::new(|end, number, segment: &Segment| {
        let is_lost = end == 0 && segment.payload_bytes > 0 && (number == 0 || number == 4);
        if is_lost { Fate::Lose } else { Fate::Pass }
    });
    path.ends[0].connect(path.now);
    let mut seen = Vec::new();
    for _ in 0..2 {
        path.ends[0].write(path.now, 3 * FULL);
        path.drain();
        path.run(MS(150));
        seen.push((path.ends[0].ssthresh(), path.ends[0].cwnd_packets()));
    }
    assert_eq!(sent_at(&path, 47), [0]);
    assert_eq!(sent_at(&path, 150 + 27), [3]);
    assert_eq!(seen, [(5, 5), (2, 2)]);
    assert_eq!((path.ends[0].retransmissions(), path.ends[0].timeouts()), (2, 0));
}

#[test]
fn several_losses_are_mended_in_one_round_trip() {
    let mut path = losing(config(), 10, &[1, 3, 5]);
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert_eq!(sent_at(&path, 40), [1, 3, 5]);
    assert_eq!(path.ends[0].retransmissions(), 3);
    assert_eq!(path.now, at(60));
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    // The last two of ten are lost: only the probe can show it, 2 * SRTT + 2 ms
    // after the acknowledgement of the eighth at 40 ms. It repeats the last
    // segment, whose acknowledgement shows that the one before, sent long ago, is
    // lost.
    let mut path = losing(config(), 10, &[8, 9]);
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert_eq!(sent_at(&path, 40 + 42), [9]);
    assert_eq!(sent_at(&path, 40 + 42 + 20), [8]);
    assert_eq!(path.ends[0].timeouts(), 0);
    assert_eq!(path.ends[0].retransmissions(), 2);
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    // Segment 1 is lost twice: data segment 18 is its retransmission. 200 segments
    // follow.
    let mut path = losing(config(), 200, &[1, 18]);
    path.run(MS(41));
    let again = sent_at(&path, 40);
    assert!(again.contains(&1), "{again:?}");
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert_eq!(path.ends[0].timeouts(), 0);
}

/// Runs a transfer of `segments` over 12 Mb/s for 80 ms; its first segment is lost
/// twice. Returns the path, and the times at which the first segment was sent.
fn losing_head_twice(segments: u64) -> (Path, [Instant; 2]) {
    let directions = || Direction::limited(MS(10), RATE, 100);
    let mut path = Path::new(config(), [directions(), directions()]);
    path.rule = Box::new(move |end, number, segment: &Segment| {
        let is_lost =
            end == 0 && segment.payload_bytes > 0 && (number == 0 || segments == number as u64);
        if is_lost { Fate::Lose } else { Fate::Pass }
    });
    path.start(segments * FULL);
    path.run(MS(80));
    let copies: Vec<Instant> =
        path.data().filter(|(_, s)| s.sequence == 1).map(|(t, _)| *t).collect();
    (path, copies.try_into().expect("it was sent twice"))
}

/// Linux' tcp_clean_rtx_queue: the timeout restarts when a segment is sacked that was sent before
/// the last transmission of the head. For later ones it does not; otherwise it would be postponed
/// forever.
#[test]
fn the_timeout_runs_from_the_last_original_that_arrives() {
    let (path, copies) = losing_head_twice(10);
    let (answered, answer) = *path.sent[1].last().expect("all nine were answered");
    assert_eq!(answer.sack()[0].end, 1 + 10 * FULL + 1, "FIN, too");
    let answered = answered + Bytes::new(u64::from(answer.packet_bytes())) / RATE + MS(10);
    assert!(answered > copies[1] + MS(5), "six more arrive after the retransmission");
    let timeout = path.ends[0].retransmission_timeout();
    assert_eq!(path.ends[0].poll_timeout(), Some((answered + timeout, Reason::Retransmission)));
}

/// Linux' tcp_rearm_rto: the reordering timer of the first acknowledgement
/// continues in recovery; when the timeout replaces it, the time since the head was
/// retransmitted counts.
#[test]
fn the_timeout_after_the_reordering_timer_runs_from_the_retransmission() {
    let (path, copies) = losing_head_twice(4);
    let timeout = path.ends[0].retransmission_timeout();
    assert_eq!(path.ends[0].poll_timeout(), Some((copies[1] + timeout, Reason::Retransmission)));
}

#[test]
fn everything_lost_is_sent_again_after_timeouts_that_double() {
    // No acknowledgement returns from 30 ms to 2 s.
    let mut path = Path::new(config(), [Direction::new(MS(10)), Direction::new(MS(10))]);
    path.rule = Box::new(|end, number, segment: &Segment| {
        let is_lost = end == 0 && segment.payload_bytes > 0 && number < 13;
        if is_lost { Fate::Lose } else { Fate::Pass }
    });
    path.start(10 * FULL);
    assert!(path.run_until_done(Duration::from_secs(10)));
    // First the probe (2 * 20 + 2 ms), then the timeout, 20 + 200 ms after the
    // probe, then twice that, and so on.
    let times: Vec<u64> =
        path.data().skip(10).take(4).map(|(t, _)| t.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [62, 282, 282 + 440, 282 + 440 + 880]);
    assert_eq!(path.ends[0].timeouts(), 3);
    assert_eq!(path.ends[0].retransmissions(), 4 + 9);
    // Half of the flight of ten, once: what is lost again lowers it no more (RFC 5681, 3.1).
    assert_eq!(path.ends[0].ssthresh(), 5);
}

#[test]
fn without_selective_acknowledgements_three_duplicates_are_a_loss() {
    let mut path = losing(Config { sack: false, ..config() }, 10, &[0, 4]);
    assert!(path.run_until_done(Duration::from_secs(5)));
    // The partial acknowledgement reveals the second loss (RFC 6582).
    assert_eq!(sent_at(&path, 40), [0]);
    assert_eq!(sent_at(&path, 60), [4]);
    assert_eq!(path.ends[0].timeouts(), 0);
    assert_eq!(path.ends[0].retransmissions(), 2);
}

#[test]
fn a_late_segment_is_no_loss_once_reordering_was_seen() {
    // Segment 2 is 3 ms late, less than a quarter of the round trip. But no
    // reordering was seen yet, so three sacked segments make it a loss. The
    // duplicate that results is reported, and the reduction undone.
    let mut path = Path::new(config(), [Direction::new(MS(10)), Direction::new(MS(10))]);
    path.rule = Box::new(|end, number, segment: &Segment| {
        let is_late = end == 0 && segment.payload_bytes > 0 && (number == 2 || number == 40);
        if is_late { Fate::Late(MS(3)) } else { Fate::Pass }
    });
    path.start(100 * FULL);
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert_eq!(path.ends[0].retransmissions(), 1, "the second time it knows better");
    assert_eq!(path.ends[0].ssthresh(), u32::MAX);
    assert_eq!(path.ends[0].state(), State::Open);
}

#[test]
fn a_spurious_timeout_is_taken_back() {
    // The path stalls from 30 to 540 ms. The timeout retransmits a segment, then
    // the originals are acknowledged.
    let mut path = Path::new(config(), [Direction::new(MS(10)), Direction::new(MS(10))]);
    path.rule = Box::new(|end, _, segment: &Segment| match end {
        0 if segment.sent > at(30) => Fate::Late(at(540).saturating_since(segment.sent)),
        _ => Fate::Pass,
    });
    path.start(100 * FULL);
    path.run(MS(59));
    let before = path.ends[0].cwnd_packets();
    assert!(path.run_until_done(Duration::from_secs(5)));
    assert!(path.ends[0].timeouts() > 0);
    assert_eq!(path.ends[0].ssthresh(), u32::MAX);
    assert!(path.ends[0].cwnd_packets() >= before);
}
