//! Tests of explicit congestion notification (RFC 3168): its negotiation, the segments that queues
//! may mark, and one reduction for a round trip, as in Linux' tcp_ecn.h. The round-trip time is 20
//! ms. The reaction to an echo in each state is in `rules`, that of a receiver in its own tests.

use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::Duration;

use super::path::{Direction, FULL, Fate, Path, Rule};
use crate::{Config, Endpoint, Segment};

/// A path between ends that support ECN or do not.
fn path(ends: [bool; 2], rule: Rule) -> Path {
    let delay = Duration::from_millis(10);
    let mut path = Path::new(Config::default(), [Direction::new(delay), Direction::new(delay)]);
    path.ends = ends.map(|ecn| Endpoint::new(&Config { ecn, ..Config::default() }));
    path.rule = rule;
    path
}

/// RFC 3168, 6.1.1: the SYN has ECE and CWR, the SYN-ACK ECE; one end alone does not have ECN. New
/// data is ECN-capable; acknowledgements, SYN and retransmissions are not (6.1.4, 6.1.5,
/// tcp_ecn_send).
#[test]
fn both_ends_have_to_want_ecn() {
    for ends in [[true, true], [true, false], [false, true], [false, false]] {
        let lost = |end, number, _: &Segment| {
            if (end, number) == (0, 20) { Fate::Lose } else { Fate::Pass }
        };
        let mut path = path(ends, Box::new(lost));
        path.start(40 * FULL);
        assert!(path.run_until_done(Duration::from_secs(5)));
        let has_ecn = ends == [true, true];
        let flags = |end: usize| (path.sent[end][0].1.ecn_echo, path.sent[end][0].1.window_reduced);
        assert!(path.sent[0][0].1.syn && path.sent[1][0].1.syn);
        assert_eq!(flags(0), (ends[0], ends[0]), "{ends:?}");
        assert_eq!(flags(1), (has_ecn, false), "{ends:?}");
        let mut highest = 0;
        for (_, segment) in &path.sent[0] {
            let is_new = segment.payload_bytes > 0 && segment.sequence > highest;
            assert_eq!(segment.ecn_capable, has_ecn && is_new, "{ends:?} {segment:?}");
            highest = highest.max(segment.sequence);
        }
        assert!(path.ends[0].retransmissions() > 0);
        assert!(path.sent[1].iter().all(|(_, segment)| !segment.ecn_capable));
    }
}

/// RFC 3168, 6.1.1.1: a SYN that was not answered is repeated without ECN (tcp_ecn_fallback), in
/// case something on the path drops such SYNs.
#[test]
fn a_repeated_syn_does_without_ecn() {
    let lost = |_, number, segment: &Segment| {
        if segment.syn && number == 0 { Fate::Lose } else { Fate::Pass }
    };
    let mut path = path([true; 2], Box::new(lost));
    path.start(4 * FULL);
    assert!(path.run_until_done(Duration::from_secs(5)));
    let syns = path.sent[0].iter().filter(|(_, segment)| segment.syn);
    let flags: Vec<_> = syns.map(|(_, syn)| (syn.ecn_echo, syn.window_reduced)).collect();
    assert_eq!(flags, [(true, true), (false, false)]);
    assert!(path.data().all(|(_, segment)| !segment.ecn_capable));
}

/// A path between ends of which each supports no ECN (0), classic ECN (1) or accurate feedback (2).
fn mixed(ends: [u8; 2], rule: Rule) -> Path {
    let mut path = path([false; 2], rule);
    path.ends = ends.map(|level| {
        let (ecn, accurate_ecn) = (level > 0, level > 1);
        Endpoint::new(&Config { ecn, accurate_ecn, ..Config::default() })
    });
    path
}

/// RFC 9768, table 2: what two ends use is what the lesser one supports. Linux sends everything
/// after the SYN as ECN-capable with accurate feedback (tcp_ecn_send); RFC 3168 has no more than
/// new data.
#[test]
fn ends_use_the_feedback_that_both_have() {
    for ends in [[0, 0], [0, 2], [2, 0], [1, 2], [2, 1], [2, 2]] {
        let lost = |end, number, _: &Segment| {
            if (end, number) == (0, 20) { Fate::Lose } else { Fate::Pass }
        };
        let mut path = mixed(ends, Box::new(lost));
        path.start(40 * FULL);
        assert!(path.run_until_done(Duration::from_secs(5)));
        let flags = |end: usize, number: usize| {
            let segment = path.sent[end][number].1;
            [segment.accurate_ecn, segment.window_reduced, segment.ecn_echo]
        };
        assert_eq!(flags(0, 0), [ends[0] > 1, ends[0] > 0, ends[0] > 0], "{ends:?}");
        let answer = match ends.iter().min() {
            Some(0) => [false; 3],
            Some(1) => [false, false, true],
            _ => [false, true, false],
        };
        assert_eq!(flags(1, 0), answer, "{ends:?}");
        let is_accurate = ends == [2, 2];
        if is_accurate {
            // The SYN-ACK was not ECN-capable; then both count from 5.
            assert_eq!(flags(0, 1), [false, true, false]);
            assert_eq!((flags(0, 2), flags(1, 1)), ([true, false, true], [true, false, true]));
        }
        let mut later = path.sent.iter().flatten().filter(|(_, segment)| !segment.syn);
        assert_eq!(later.all(|(_, segment)| segment.ecn_capable), is_accurate, "{ends:?}");
    }
}

/// RFC 9768, 3.1.4.1: a SYN that asks for accurate feedback is repeated once as it was, then
/// without ECN.
#[test]
fn accurate_feedback_is_requested_twice() {
    let lost = |_, number, segment: &Segment| {
        if segment.syn && number < 2 { Fate::Lose } else { Fate::Pass }
    };
    let mut path = mixed([2, 2], Box::new(lost));
    path.start(4 * FULL);
    assert!(path.run_until_done(Duration::from_secs(9)));
    let syns = path.sent[0].iter().filter(|(_, segment)| segment.syn);
    let flags: Vec<_> =
        syns.map(|(_, syn)| [syn.accurate_ecn, syn.window_reduced, syn.ecn_echo]).collect();
    assert_eq!(flags, [[true; 3], [true; 3], [false; 3]]);
    assert!(path.sent.iter().flatten().all(|(_, segment)| !segment.ecn_capable));
}

/// RFC 9768, 3.2: the counter ends at 5 plus the packets that were marked, modulo 8.
#[test]
fn the_counter_has_every_mark() {
    for every in [2, 3, 7, 50] {
        let mark = move |end, number: usize, segment: &Segment| {
            let is_marked = end == 0 && segment.payload_bytes > 0 && number % every == 1;
            if is_marked { Fate::Mark } else { Fate::Pass }
        };
        let mut path = mixed([2, 2], Box::new(mark));
        path.start(200 * FULL);
        assert!(path.run_until_done(Duration::from_secs(20)));
        assert_eq!(path.data().count(), 200);
        let marked = (0..200).filter(|number| number % every == 1).count();
        let (_, last) = path.sent[1].last().expect("it answers");
        let bits = [last.accurate_ecn, last.window_reduced, last.ecn_echo];
        let read = bits.iter().fold(0, |read, &bit| read << 1 | usize::from(bit));
        assert_eq!(read, (5 + marked) % 8, "every {every}");
    }
}
