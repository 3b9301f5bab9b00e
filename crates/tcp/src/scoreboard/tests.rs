//! The scoreboard against the definitions of RFC 2018 and RFC 6675, over all patterns of eight
//! segments of 100 bytes. Left out: RACK, which has separate tests.

use super::*;
use alloc::vec::Vec;

const COUNT: u64 = 8;
const BYTES: u64 = 100;

/// Segments 0 to 7, sent one a millisecond; those in `sacked`, one bit each, have arrived.
fn board(sacked: u32) -> Scoreboard {
    let mut board = Scoreboard::new();
    for number in 0..COUNT {
        board.push(number * BYTES, BYTES as u32, at(number), number as u32);
    }
    for number in (0..COUNT).filter(|number| sacked >> number & 1 == 1) {
        let newly = board.sack(number * BYTES, (number + 1) * BYTES, |delivered| {
            assert_eq!(delivered.segment.start, number * BYTES);
        });
        assert_eq!(newly, 1);
    }
    board.check(true);
    board
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// The segments for which `is` holds, one bit each.
fn bits(board: &Scoreboard, is: impl Fn(&Sent) -> bool) -> u32 {
    board.segments.iter().enumerate().map(|(at, sent)| u32::from(is(sent)) << at).sum()
}

fn lost(board: &Scoreboard) -> u32 {
    bits(board, |sent| sent.is(LOST))
}

fn patterns() -> impl Iterator<Item = u32> {
    0..1 << COUNT
}

/// Retransmits all missing segments; returns their order.
fn retransmit_all(board: &mut Scoreboard) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(index) = board.missing() {
        let sent = board.retransmit(index, at(100), 100);
        order.push(sent.start / BYTES);
    }
    assert!(!board.has_missing());
    order
}

/// Segments in flight are those sent and neither sacked nor lost, and those retransmitted.
#[test]
fn counts_are_those_of_the_marks() {
    for sacked in patterns() {
        let mut board = board(sacked);
        assert_eq!(board.sacked(), sacked.count_ones());
        assert_eq!(board.in_flight(), COUNT as u32 - sacked.count_ones());
        let highest = (sacked > 0).then(|| u64::from(sacked.ilog2()) * BYTES);
        assert_eq!(board.highest_sacked(), highest);
        assert_eq!(board.forward(), 32 - sacked.leading_zeros());
        // RFC 6675, NextSeg: the first that is not known to be there, below the highest.
        let first = (!sacked).trailing_zeros() as usize;
        assert_eq!(board.hole(), Some(first).filter(|first| *first < board.forward() as usize));
        // The same again is nothing new.
        assert_eq!(board.sack(0, 0, |_| panic!("nothing")), 0);
        let again = board.sack(0, COUNT * BYTES, |_| {});
        assert_eq!(again, COUNT as u32 - sacked.count_ones());
        board.check(true);
    }
}

/// A segment is overtaken if a higher one was reported before it; each is reported once, and in
/// order of the stream.
#[test]
fn later_reports_of_lower_segments_are_overtaken() {
    for sacked in patterns() {
        let mut board = board(sacked);
        assert_eq!(board.has_marks(), sacked > 0);
        let highest = u64::from(sacked.checked_ilog2().unwrap_or(0));
        let mut reported = Vec::new();
        let count = board.sack(0, COUNT * BYTES, |delivered| {
            let number = delivered.segment.start / BYTES;
            assert_eq!(delivered.is_overtaken, sacked > 0 && number < highest, "{sacked:08b}");
            reported.push(number);
        });
        let others: Vec<_> = (0..COUNT).filter(|number| sacked >> number & 1 == 0).collect();
        assert_eq!((count as usize, reported), (others.len(), others));
    }
}

/// Segments acknowledged in order leave no mark, whatever their state was before.
#[test]
fn acknowledged_segments_leave_no_mark() {
    for sacked in patterns() {
        let mut board = board(sacked);
        board.lose_first(5, COUNT * BYTES);
        retransmit_all(&mut board);
        for number in 1..=COUNT {
            assert!(board.acknowledge_head(number * BYTES).is_some());
            assert_eq!(u64::from(board.len()), COUNT - number);
            board.check(true);
        }
        assert!(board.is_empty() && !board.has_marks());
        assert_eq!((board.in_flight(), board.highest_sacked()), (0, None));
    }
}

/// A block that covers only a part of a segment has no effect (RFC 2018, 4). An acknowledgement
/// within the first segment shortens it.
#[test]
fn parts_of_segments_are_not_delivered() {
    let mut board = board(0);
    let mut reported = Vec::new();
    board.sack(BYTES + 1, 4 * BYTES - 1, |delivered| reported.push(delivered.segment.start));
    assert_eq!(reported, [2 * BYTES]);
    assert_eq!(board.acknowledge_head(30), None);
    let head = *board.head().expect("a rest is left");
    assert_eq!((head.start, head.end()), (30, BYTES));
    assert_eq!(board.acknowledge_head(BYTES).map(|head| head.start), Some(30));
    assert_eq!((board.len(), board.sacked()), (COUNT as u32 - 1, 1));
    board.check(true);
}

/// RFC 6675, IsLost: as many segments as the threshold have arrived above it. No segment beyond
/// `high` is lost, and none is lost twice.
#[test]
fn lost_is_what_enough_segments_have_overtaken() {
    for (sacked, threshold) in patterns().flat_map(|sacked| [1, 2, 3].map(|t| (sacked, t))) {
        for high in [0, 250, 300, COUNT * BYTES] {
            let mut board = board(sacked);
            board.lose_below(threshold, high);
            let is_lost = |number: u64| {
                let above = sacked >> (number + 1);
                sacked >> number & 1 == 0
                    && above.count_ones() >= threshold
                    && (number + 1) * BYTES <= high
            };
            let expected: u32 = (0..COUNT).map(|n| u32::from(is_lost(n)) << n).sum();
            assert_eq!(lost(&board), expected, "{sacked:08b} {threshold} {high}");
            board.lose_below(threshold, high);
            assert_eq!(u64::from(expected.count_ones()), board.lost_ever());
            board.check(true);
            let order: Vec<_> = (0..COUNT).filter(|n| expected >> n & 1 == 1).collect();
            assert_eq!(retransmit_all(&mut board), order);
            assert_eq!(board.in_flight(), COUNT as u32 - sacked.count_ones());
            board.check(true);
        }
    }
}

/// Forward acknowledgements: all of the first segments that are not sacked are lost.
#[test]
fn the_first_are_lost_as_far_as_they_are_not_sacked() {
    for (sacked, count) in patterns().flat_map(|sacked| [0, 3, 8].map(|count| (sacked, count))) {
        let mut board = board(sacked);
        board.lose_first(count, 700);
        assert_eq!(lost(&board), !sacked & ((1 << count) - 1) & 0x7f, "{sacked:08b} {count}");
        board.check(true);
        board.unmark_lost();
        assert_eq!((lost(&board), board.lost(), board.missing()), (0, 0, None));
        board.check(true);
    }
}

/// After a timeout all segments that are not sacked are lost. If the first segment is sacked, the
/// receiver has discarded its data (RFC 2018, section 8): then all are lost.
#[test]
fn a_timeout_believes_no_receiver_that_reneges() {
    for sacked in patterns() {
        let reneged = sacked & 1 == 1;
        let left = if reneged { 0 } else { sacked };
        for of_linux_3 in [false, true] {
            let mut board = board(sacked);
            // Some retransmissions are in flight; they are lost, too.
            board.lose_below(2, COUNT * BYTES);
            retransmit_all(&mut board);
            if of_linux_3 {
                board.lose_everything()
            } else {
                board.mark_all_lost(at(1_000), None)
            }
            assert_eq!(lost(&board), 0xff & !left, "{sacked:08b}");
            assert_eq!(bits(&board, Sent::is_sacked), left);
            assert_eq!((board.sacked(), board.in_flight()), (left.count_ones(), 0));
            assert_eq!(board.highest_sacked().is_none(), left == 0);
            board.check(true);
            let order: Vec<_> = (0..COUNT).filter(|n| left >> n & 1 == 0).collect();
            assert_eq!(retransmit_all(&mut board), order);
            board.check(true);
        }
    }
}

/// A retransmission that was not sent after all is missing again, and one that the receiver reports
/// as duplicate has arrived.
#[test]
fn retransmissions_leave_the_count_once() {
    let mut board = board(0b1110_0000);
    board.lose_below(1, COUNT * BYTES);
    assert_eq!(retransmit_all(&mut board), [0, 1, 2, 3, 4]);
    assert_eq!((board.retransmitted(), board.in_flight()), (5, 5));
    assert!(board.has_repeated(4) && !board.has_repeated(5));
    assert_eq!(board.duplicate(100, 300), 2);
    assert_eq!((board.retransmitted(), board.missing()), (3, Some(1)));
    assert_eq!((board.duplicate(100, 300), board.retransmitted()), (2, 3), "once");
    board.forget_head_retransmission();
    assert_eq!((board.retransmitted(), board.missing()), (2, Some(0)));
    board.check(true);
    board.lose_all_but_retransmissions(true);
    assert_eq!((board.retransmitted(), board.missing()), (0, Some(0)));
    board.retransmit(0, at(200), 200);
    board.lose_all_but_retransmissions(true);
    assert_eq!((board.retransmitted(), board.missing(), board.in_flight()), (1, Some(1), 1));
    board.lose_all_but_retransmissions(false);
    assert_eq!((board.retransmitted(), board.missing(), board.in_flight()), (0, Some(0), 0));
    board.check(true);
}
