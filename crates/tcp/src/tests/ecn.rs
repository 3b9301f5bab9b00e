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
