//! Tests of the receiver's acknowledgements: the examples of RFC 2018 and RFC 2883,
//! the rules of RFC 7323 and RFC 3168, delays as in Linux, and, for arbitrary
//! segments, a set of bytes as a reference model. Positions are in bytes of the
//! stream.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};
use proptest::prelude::*;

use super::Receiver;
use crate::rtt::RoundTripTime;
use crate::{Config, DelayedAck, Segment};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A receiver whose next byte in order is `next`.
fn receiver(next: u64) -> Receiver {
    let mut receiver = Receiver::new(&Config { segment_bytes: 500, ..Config::default() });
    receiver.open(&Segment::default(), false);
    (receiver.next, receiver.acknowledged) = (next, next);
    receiver
}

/// The round-trip time of a sender that has not sent yet.
fn unknown() -> RoundTripTime {
    RoundTripTime::new(MS(200))
}

/// Passes the segment `start..end` to the receiver. Returns the acknowledgement and the SACK blocks
/// of the answer.
fn take(receiver: &mut Receiver, start: u64, end: u64) -> (u64, Vec<(u64, u64)>) {
    let payload_bytes = (end - start) as u32;
    let segment = Segment { sequence: start, payload_bytes, ..Segment::default() };
    receiver.handle_segment(Instant::ZERO, &segment, false, &unknown());
    receiver.check();
    assert!(receiver.is_due(), "quick acknowledgements answer each segment");
    let mut answer = Segment::default();
    receiver.fill_in(&mut answer);
    let blocks = answer.sack().iter().map(|block| (block.start, block.end)).collect();
    (answer.acknowledgement.expect("it is one"), blocks)
}

/// RFC 2018, section 7, case 2: the first of eight segments is lost.
#[test]
fn a_growing_block() {
    let mut receiver = receiver(5_000);
    for end in (6_000..=9_000).step_by(500) {
        assert_eq!(take(&mut receiver, end - 500, end), (5_000, vec![(5_500, end)]));
    }
}

/// RFC 2018, section 7, case 3: every second segment is lost, two of them arrive
/// late.
#[test]
fn the_newest_block_comes_first() {
    let mut receiver = receiver(5_000);
    let mut take = |start| take(&mut receiver, start, start + 500);
    assert_eq!(take(5_000), (5_500, vec![]));
    assert_eq!(take(6_000), (5_500, vec![(6_000, 6_500)]));
    assert_eq!(take(7_000), (5_500, vec![(7_000, 7_500), (6_000, 6_500)]));
    assert_eq!(take(8_000), (5_500, vec![(8_000, 8_500), (7_000, 7_500), (6_000, 6_500)]));
    assert_eq!(take(6_500), (5_500, vec![(6_000, 7_500), (8_000, 8_500)]));
    assert_eq!(take(5_500), (7_500, vec![(8_000, 8_500)]));
}

/// RFC 2883, 4.1, example 1: acknowledgements were lost, and a segment arrives
/// twice.
#[test]
fn a_duplicate_of_what_is_in_order() {
    let mut receiver = receiver(3_000);
    assert_eq!(take(&mut receiver, 3_000, 3_500), (3_500, vec![]));
    assert_eq!(take(&mut receiver, 3_500, 4_000), (4_000, vec![]));
    assert_eq!(take(&mut receiver, 3_000, 3_500), (4_000, vec![(3_000, 3_500)]));
    assert_eq!(take(&mut receiver, 4_000, 4_500), (4_500, vec![]), "it is reported once");
}

/// RFC 7323, 5.3: a segment outside of the window is rejected (R2) before its timestamp is recorded
/// (R3), so the answer to a redundant retransmission echoes an older timestamp. In a capture of
/// Linux 6.18 (20 % loss in both directions) the answers to 13 segments that ended below the
/// acknowledgement echoed an older timestamp, those to 8 that ended at it echoed theirs.
#[test]
fn a_segment_below_the_acknowledgement_is_not_echoed() {
    let echo = |receiver: &mut Receiver, start, end, ms| {
        let sent = Instant::ZERO + MS(ms);
        let payload_bytes = (end - start) as u32;
        let segment = Segment { sequence: start, payload_bytes, sent, ..Segment::default() };
        receiver.handle_segment(sent + MS(10), &segment, false, &unknown());
        assert!(receiver.is_due());
        let mut answer = Segment::default();
        receiver.fill_in(&mut answer);
        answer.echoed
    };
    let mut receiver = receiver(3_000);
    let at = |ms| Some(Instant::ZERO + MS(ms));
    assert_eq!(echo(&mut receiver, 3_500, 4_000, 1), at(0), "out of order");
    assert_eq!(echo(&mut receiver, 3_000, 3_500, 220), at(220));
    assert_eq!(echo(&mut receiver, 3_000, 3_500, 660), at(220));
    assert_eq!(echo(&mut receiver, 3_500, 4_000, 1_540), at(1_540));
}

/// After the quick acknowledgements one segment waits for another, or for the delay (RFC 5681,
/// 4.2). A second one, the end of the stream, and one that overlaps with earlier data (RFC 2883)
/// are acknowledged at once.
#[test]
fn what_is_answered_at_once() {
    let fresh = || {
        let mut receiver = receiver(3_000);
        receiver.quick = 0;
        receiver
    };
    let due = |receiver: &mut Receiver, start: u64, bytes, fin| {
        let segment = Segment { sequence: start, payload_bytes: bytes, fin, ..Segment::default() };
        receiver.handle_segment(Instant::ZERO, &segment, false, &unknown());
        receiver.check();
        receiver.is_due()
    };
    let mut one = fresh();
    assert!(!due(&mut one, 3_000, 500, false));
    assert!(due(&mut one, 3_500, 1, false), "more than a full segment");
    assert!(due(&mut fresh(), 3_000, 500, true));
    assert!(due(&mut fresh(), 3_000, 0, true));
    assert!(due(&mut fresh(), 2_900, 500, false));
    assert!(due(&mut fresh(), 3_500, 500, false), "a gap");
    let mut quick = fresh();
    quick.quick = 1;
    assert!(due(&mut quick, 3_000, 500, false));
}

/// RFC 2883, 4.1, example 2: the same with a segment out of order.
#[test]
fn a_duplicate_comes_before_other_blocks() {
    let mut receiver = receiver(3_000);
    take(&mut receiver, 3_000, 4_000);
    assert_eq!(take(&mut receiver, 4_500, 5_000), (4_000, vec![(4_500, 5_000)]));
    let answer = take(&mut receiver, 3_000, 3_500);
    assert_eq!(answer, (4_000, vec![(3_000, 3_500), (4_500, 5_000)]));
}

/// RFC 2883, 4.1, example 3: a duplicate of a segment out of order.
#[test]
fn a_duplicate_out_of_order_is_part_of_the_next_block() {
    let mut receiver = receiver(4_000);
    take(&mut receiver, 4_500, 5_000);
    assert_eq!(take(&mut receiver, 5_000, 5_500), (4_000, vec![(4_500, 5_500)]));
    let answer = take(&mut receiver, 5_000, 5_500);
    assert_eq!(answer, (4_000, vec![(5_000, 5_500), (4_500, 5_500)]));
}

/// RFC 2883, 4.2: a longer segment covers two that arrive late.
#[test]
fn parts_of_a_longer_segment_are_duplicates() {
    let mut receiver = receiver(500);
    assert_eq!(take(&mut receiver, 500, 1_000), (1_000, vec![]));
    assert_eq!(take(&mut receiver, 2_000, 2_500), (1_000, vec![(2_000, 2_500)]));
    assert_eq!(take(&mut receiver, 1_000, 2_000), (2_500, vec![]));
    assert_eq!(take(&mut receiver, 1_000, 1_500), (2_500, vec![(1_000, 1_500)]));
    assert_eq!(take(&mut receiver, 1_500, 2_000), (2_500, vec![(1_500, 2_000)]));
}

/// After the first sixteen segments, acknowledges every second one, or after 40 ms.
#[test]
fn acknowledgements_are_delayed_after_a_while() {
    let mut receiver = receiver(1);
    let mut next = 1;
    let mut take = |receiver: &mut Receiver, ms| {
        let segment = Segment { sequence: next, payload_bytes: 500, ..Segment::default() };
        next += 500;
        receiver.handle_segment(Instant::ZERO + MS(ms), &segment, false, &unknown());
        let is_due = receiver.is_due();
        if is_due {
            receiver.fill_in(&mut Segment::default());
        }
        is_due
    };
    for _ in 0..DelayedAck::default().quick_segments {
        assert!(take(&mut receiver, 0));
    }
    assert!(!take(&mut receiver, 1));
    assert!(take(&mut receiver, 2));
    assert_eq!(receiver.timeout(), None);
    assert!(!take(&mut receiver, 3));
    assert_eq!(receiver.timeout(), Some(Instant::ZERO + MS(43)));
    receiver.handle_timeout(Instant::ZERO + MS(43));
    assert!(receiver.is_due());
}

/// Three acknowledgements of a gap are immediate, further ones wait up to a
/// millisecond.
#[test]
fn acknowledgements_of_a_gap_are_compressed() {
    let mut receiver = receiver(1);
    receiver.quick = 0;
    receiver.round_trip = Some(MS(100));
    for index in 1..=50 {
        let segment =
            Segment { sequence: 1 + index * 500, payload_bytes: 500, ..Segment::default() };
        receiver.handle_segment(Instant::ZERO, &segment, false, &unknown());
        // The 48th is the first after the 44 that one acknowledgement may stand for.
        assert_eq!(receiver.is_due(), index <= 3 || index == 48, "{index}");
        if receiver.is_due() {
            receiver.fill_in(&mut Segment::default());
        } else {
            assert_eq!(receiver.timeout(), Some(Instant::ZERO + MS(1)));
        }
    }
}

/// Every second segment is lost: each block is reported, three at a time, although
/// acknowledgements are compressed.
#[test]
fn no_block_goes_unreported() {
    let mut receiver = receiver(1);
    receiver.quick = 0;
    let mut reported = BTreeSet::new();
    for index in 1..=40 {
        let sequence = 1 + index * 1_000;
        let segment = Segment { sequence, payload_bytes: 500, ..Segment::default() };
        receiver.handle_segment(Instant::ZERO, &segment, false, &unknown());
        if receiver.is_due() || index == 40 {
            let mut answer = Segment::default();
            receiver.fill_in(&mut answer);
            reported.extend(answer.sack().iter().map(|block| block.start));
        }
    }
    assert_eq!(reported, (1..=40).map(|index| 1 + index * 1_000).collect());
}

/// RFC 3168, 6.1.3: ECE is sent until the sender reports that it has reduced its
/// window.
#[test]
fn congestion_is_echoed_until_the_sender_answers() {
    let mut receiver = Receiver::new(&Config::default());
    receiver.open(&Segment::default(), true);
    let mut echo = |sequence, window_reduced, is_marked| {
        let segment =
            Segment { sequence, payload_bytes: 100, window_reduced, ..Segment::default() };
        receiver.handle_segment(Instant::ZERO, &segment, is_marked, &unknown());
        let mut answer = Segment::default();
        receiver.fill_in(&mut answer);
        answer.ecn_echo
    };
    assert!(!echo(1, false, false));
    assert!(echo(101, false, true));
    assert!(echo(201, false, false));
    assert!(!echo(301, true, false));
}

#[test]
fn a_probe_of_the_window_is_answered_at_most_twice_a_second() {
    let mut receiver = receiver(1_000);
    let probe = Segment { sequence: 999, ..Segment::default() };
    let mut answers = Vec::new();
    for ms in [0, 100, 499, 500] {
        receiver.handle_segment(Instant::ZERO + MS(ms), &probe, false, &unknown());
        answers.push(receiver.is_due());
        receiver.fill_in(&mut Segment::default());
    }
    assert_eq!(answers, [true, false, false, true]);
}

/// RFC 1122, 4.2.3.2: an acknowledgement is delayed neither by more than 500 ms nor by more than
/// two full segments. Linux acknowledges segments after a pause of a retransmission timeout (1 s
/// here) at once, one by one.
#[test]
fn after_a_pause_acknowledgements_are_quick_again() {
    let mut receiver = receiver(1);
    receiver.quick = 0;
    let mut next = 1;
    let mut now = Instant::ZERO;
    let mut take = |after: Duration| {
        now += after;
        let segment = Segment { sequence: next, payload_bytes: 500, ..Segment::default() };
        next += 500;
        receiver.handle_segment(now, &segment, false, &unknown());
        let is_due = receiver.is_due();
        assert!(is_due || receiver.timeout().is_some_and(|due| due <= now + MS(500)));
        receiver.fill_in(&mut Segment::default());
        is_due
    };
    let second = MS(1_000);
    assert!(!take(MS(0)));
    assert!(!take(second));
    assert!(take(second + Duration::from_nanos(1)));
    for _ in 1..DelayedAck::default().quick_segments {
        assert!(take(MS(0)));
    }
    assert!(!take(MS(0)));
}

/// The delay of a compressed acknowledgement is a twentieth of the round-trip time, smoothed with
/// a gain of 1/8 (RFC 6298, 2.3) over the echoes that differ, or of the sender's own if that is
/// shorter.
#[test]
fn the_delay_follows_the_smoothed_echoes() {
    let mut receiver = receiver(1);
    receiver.quick = 0;
    let mut sequence = 1;
    let mut take = |receiver: &mut Receiver, ms, echoed, sender: &RoundTripTime| {
        sequence += 500;
        let segment = Segment {
            sequence,
            payload_bytes: 500,
            echoed: Some(Instant::ZERO + MS(echoed)),
            ..Segment::default()
        };
        let now = Instant::ZERO + MS(ms);
        receiver.handle_segment(now, &segment, false, sender);
        let delay = receiver.timeout().map(|due| (due - now).as_micros());
        if receiver.is_due() {
            receiver.fill_in(&mut Segment::default());
        }
        delay
    };
    for _ in 0..3 {
        assert_eq!(take(&mut receiver, 8, 0, &unknown()), None, "at once");
    }
    assert_eq!(take(&mut receiver, 8, 0, &unknown()), Some(8_000 / 20));
    receiver.fill_in(&mut Segment::default());
    // 7/8 of 8 ms and 1/8 of 16 ms are 9 ms; the same echo again is no sample.
    assert_eq!(take(&mut receiver, 17, 1, &unknown()), Some(9_000 / 20));
    receiver.fill_in(&mut Segment::default());
    assert_eq!(take(&mut receiver, 40, 1, &unknown()), Some(9_000 / 20));
    receiver.fill_in(&mut Segment::default());
    let mut sender = unknown();
    sender.update(MS(4), 1, 1);
    assert_eq!(take(&mut receiver, 41, 1, &sender), Some(4_000 / 20));
}

/// RFC 9293, 3.10.7.4: a segment beyond the window is dropped, and answered if it has data or a
/// FIN; a segment without either needs no answer.
#[test]
fn what_is_beyond_the_window_is_answered_and_dropped() {
    let edge = 1 + Config::default().receive_window.as_u64();
    for (sequence, payload_bytes, fin, is_due) in [
        (edge, 1, false, true),
        (edge, 0, true, true),
        (edge, 0, false, false),
        (edge + 500, 1, false, true),
        (edge - 1, 0, false, false),
    ] {
        let mut receiver = receiver(1);
        receiver.quick = 0;
        let segment = Segment { sequence, payload_bytes, fin, ..Segment::default() };
        receiver.handle_segment(Instant::ZERO, &segment, false, &unknown());
        assert_eq!(receiver.is_due(), is_due, "{segment:?}");
        let mut answer = Segment::default();
        receiver.fill_in(&mut answer);
        assert_eq!((answer.acknowledgement, answer.sack_blocks), (Some(1), 0));
    }
    let mut receiver = receiver(1);
    take(&mut receiver, edge - 1, edge);
    assert_eq!(receiver.ranges.len(), 1, "the last byte of the window");
}

/// RFC 9293, 3.8.6: the right edge of the window is the first byte expected plus the configured
/// size.
#[test]
fn the_window_moves_with_what_is_in_order() {
    let mut receiver = receiver(1);
    let edge = Config::default().receive_window.as_u64();
    let mut answer = Segment::default();
    for (start, end, next) in [(501, 1_001, 1), (1, 501, 1_001), (1_001, 1_501, 1_501)] {
        take(&mut receiver, start, end);
        receiver.fill_in(&mut answer);
        assert_eq!(answer.acknowledgement, Some(next));
        assert_eq!(u64::from(answer.window_bytes), edge);
    }
}

/// RFC 9293, 3.10.7.4: a FIN counts when all bytes before it have arrived; it is not data.
#[test]
fn a_fin_out_of_order_ends_the_stream_when_the_gap_is_filled() {
    let mut receiver = receiver(1);
    let fin = Segment { sequence: 501, payload_bytes: 100, fin: true, ..Segment::default() };
    receiver.handle_segment(Instant::ZERO, &fin, false, &unknown());
    assert_eq!((receiver.is_finished(), receiver.received_bytes()), (false, 0));
    assert_eq!(take(&mut receiver, 1, 401).0, 401);
    assert_eq!((receiver.is_finished(), receiver.received_bytes()), (false, 400));
    assert_eq!(take(&mut receiver, 401, 501).0, 602);
    assert_eq!((receiver.is_finished(), receiver.received_bytes()), (true, 600));
    // Again: no second byte for it.
    receiver.handle_segment(Instant::ZERO, &fin, false, &unknown());
    assert_eq!((receiver.is_finished(), receiver.received_bytes()), (true, 600));
}

/// A FIN at the position of data that has already arrived ends nothing.
#[test]
fn a_fin_below_what_arrived_is_ignored() {
    for payload_bytes in [98, 99] {
        let mut receiver = receiver(1);
        take(&mut receiver, 1, 601);
        let fin = Segment { sequence: 501, payload_bytes, fin: true, ..Segment::default() };
        receiver.handle_segment(Instant::ZERO, &fin, false, &unknown());
        assert_eq!((receiver.is_finished(), receiver.received_bytes()), (false, 600));
        assert_eq!(take(&mut receiver, 601, 701).0, 701);
        assert_eq!((receiver.is_finished(), receiver.received_bytes()), (false, 700));
    }
}

/// RFC 7323, 4.3: the timestamp of a segment that begins after the last acknowledgement sent is
/// not echoed, nor is an older one than the present.
#[test]
fn the_timestamp_of_the_oldest_unacknowledged_segment_is_echoed() {
    let mut receiver = receiver(1);
    receiver.quick = 0;
    let mut take = |sequence, sent, must_answer| {
        let sent = Instant::ZERO + MS(sent);
        let segment = Segment { sequence, payload_bytes: 500, sent, ..Segment::default() };
        receiver.handle_segment(Instant::ZERO + MS(50), &segment, false, &unknown());
        let mut answer = Segment::default();
        if must_answer {
            receiver.fill_in(&mut answer);
        }
        answer.echoed.map(|at| at.as_nanos() / 1_000_000)
    };
    assert_eq!(take(1, 10, false), None);
    assert_eq!(take(501, 20, true), Some(10));
    assert_eq!(take(1_001, 30, true), Some(30));
    assert_eq!(take(1_501, 25, true), Some(30));
    assert_eq!(take(2_001, 30, true), Some(30));
}

/// RFC 3168, 6.1.3: without negotiated ECN a mark is ignored; a mark and the report of a reduction
/// in one packet leave the echo on. Linux acknowledges two segments at once after a mark.
#[test]
fn a_mark_is_echoed_at_once() {
    for (ecn, is_quick) in [(true, [true, true, false]), (false, [false, true, false])] {
        let mut receiver = Receiver::new(&Config::default());
        receiver.open(&Segment::default(), ecn);
        receiver.quick = 0;
        let mut sequence = 1;
        let mut take = |is_marked, window_reduced, must_answer| {
            let payload_bytes = 1448;
            let segment = Segment {
                sequence,
                payload_bytes,
                window_reduced,
                ecn_capable: true,
                ..Segment::default()
            };
            sequence += 1448;
            receiver.handle_segment(Instant::ZERO, &segment, is_marked, &unknown());
            let is_due = receiver.is_due();
            let mut answer = Segment::default();
            if is_due || must_answer {
                receiver.fill_in(&mut answer);
            }
            (is_due, answer.ecn_echo)
        };
        assert_eq!(take(true, false, false), (is_quick[0], ecn));
        assert_eq!(take(false, false, false), (is_quick[1], ecn));
        assert_eq!(take(false, false, true), (is_quick[2], ecn));
        assert_eq!(take(true, true, true).1, ecn);
        assert!(!take(false, true, true).1);
    }
}

/// Linux' tcp_ecn_check_ce: the first mark starts two quick acknowledgements, further marks do not
/// while the echo lasts. A segment without ECN codepoint, after others with one, is probably a
/// retransmission, and starts them, too. CWR is acknowledged at once (tcp_ecn_accept_cwr).
#[test]
fn a_segment_that_cannot_be_marked_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(&Config::default());
    receiver.open(&Segment::default(), true);
    receiver.quick = 0;
    let mut sequence = 1;
    let mut receive = |ecn_capable, is_marked, window_reduced| {
        let payload_bytes = 1448;
        let segment =
            Segment { sequence, payload_bytes, ecn_capable, window_reduced, ..Segment::default() };
        sequence += 1448;
        receiver.handle_segment(Instant::ZERO, &segment, is_marked, &unknown());
        let is_due = receiver.is_due();
        if is_due {
            receiver.fill_in(&mut Segment::default());
        }
        is_due
    };
    let mut take = |ecn_capable, is_marked| receive(ecn_capable, is_marked, false);
    // Before any codepoint, and with each, every second segment is acknowledged.
    assert_eq!([take(false, false), take(false, false)], [false, true]);
    assert_eq!([take(true, false), take(true, false)], [false, true]);
    assert_eq!([take(false, false), take(true, false), take(true, false)], [true, true, false]);
    assert!(take(true, false), "the second of a pair");
    assert_eq!([take(true, true), take(true, true), take(true, true)], [true, true, false]);
    assert!(take(true, true), "the second of a pair");
    assert_eq!([receive(true, false, true), receive(true, false, false)], [true, false]);
}

proptest! {
    /// The receiver agrees with the set of bytes that arrived.
    #[test]
    fn what_arrives_is_what_is_acknowledged(
        pieces in prop::collection::vec((0u64..40, 1u64..6), 1..60),
    ) {
        let mut receiver = receiver(1);
        let mut came = BTreeSet::new();
        for (start, length) in pieces {
            let (start, end) = (1 + start * 10, 1 + (start + length) * 10);
            let was_known = (start..end).all(|byte| came.contains(&byte));
            came.extend(start..end);
            let segment = Segment {
                sequence: start,
                payload_bytes: (end - start) as u32,
                ..Segment::default()
            };
            receiver.handle_segment(Instant::ZERO, &segment, false, &unknown());
            receiver.check();
            let mut answer = Segment::default();
            receiver.fill_in(&mut answer);
            let in_order = (1..).find(|byte| !came.contains(byte));
            prop_assert_eq!(answer.acknowledgement, in_order);
            for block in answer.sack() {
                prop_assert!((block.start..block.end).all(|byte| came.contains(&byte)));
            }
            if was_known {
                let first = answer.sack()[0];
                prop_assert!(first.start >= start && first.end <= end, "a duplicate comes first");
            }
            let ranges = receiver.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
            prop_assert_eq!(receiver.next - 1 + ranges, came.len() as u64);
        }
    }
}

/// Segments of 1448 bytes, one every `gap_us`, to a receiver with the rules of macOS. Returns which
/// of them were acknowledged at once, from 1 on, and after which the longest delay passed.
fn stretched(gap_us: u64, count: u64, lost: &[u64]) -> (Vec<u64>, Vec<u64>) {
    const FULL: u64 = 1448;
    let rules = DelayedAck { delay: MS(100), quick_segments: 0, stretches: true, segments: 2 };
    let config = Config { delayed_ack: rules, segment_bytes: FULL as u16, ..Config::default() };
    let mut receiver = Receiver::new(&config);
    receiver.open(&Segment::default(), false);
    let (mut at_once, mut late) = (Vec::new(), Vec::new());
    for number in 1..=count {
        let now = Instant::ZERO + Duration::from_micros(gap_us * number);
        if receiver.timeout().is_some_and(|due| due < now) {
            receiver.handle_timeout(now);
            receiver.fill_in(&mut Segment::default());
            late.push(number - 1);
        }
        if lost.contains(&number) {
            continue;
        }
        let sequence = 1 + (number - 1) * FULL;
        let segment = Segment { sequence, payload_bytes: FULL as u32, ..Segment::default() };
        receiver.handle_segment(now, &segment, false, &unknown());
        receiver.check();
        if receiver.is_due() {
            receiver.fill_in(&mut Segment::default());
            at_once.push(number);
        }
    }
    (at_once, late)
}

/// xnu-3248.60.10, `tcp_stretch_ack_enable`: at a segment a millisecond counts begin with segments 1,
/// 101, 201 .. (`rcv_unackwin`). The segment that finds 8 x 1448 bytes counted is the ninth of a
/// count, and none before the 512th of the connection stretches (`rcv_waitforss`). The first of a
/// count still finds the bytes of the one before.
#[test]
fn macos_acknowledges_every_eighth_segment_of_a_stream() {
    let (at_once, late) = stretched(1_000, 700, &[]);
    assert_eq!(late, [0; 0]);
    let by_two = (2..=510).step_by(2);
    // 512 is the first that may stretch, with 511 unacknowledged: 8 of them end with 518.
    let stretched = (518..=598).step_by(8);
    // 601 finds the bytes from 501 on, and 602 to 608 those since 601: fewer than eight.
    let expected: Vec<u64> =
        by_two.chain(stretched).chain([602, 604, 606, 608]).chain((616..=696).step_by(8)).collect();
    assert_eq!(at_once, expected);
}

/// After a loss the count of 512 segments begins anew (`tcp_reass` calls `tcp_reset_stretch_ack`).
#[test]
fn macos_acknowledges_every_second_segment_after_a_loss() {
    let (at_once, _) = stretched(1_000, 1_400, &[650]);
    let after: Vec<u64> = at_once.into_iter().filter(|number| *number > 650).collect();
    assert_eq!(after, (651..=1_400).collect::<Vec<u64>>(), "the gap stays open");
    let (at_once, _) = stretched(20_000, 700, &[]);
    assert_eq!(at_once, (2..=700).step_by(2).collect::<Vec<u64>>(), "five segments in 100 ms");
}
