//! Tests of controls by the share of marked packets, on a path that marks packets and has no
//! bottleneck. The rules of Prague (draft-briscoe-iccrg-prague-congestion-control) give closed forms:
//! in a round trip, or in 25 ms if that is longer, the window W grows by 1 - p packets for a share p of
//! marks; a mark takes W p / 2, and the next one that does so comes after a round trip. If a mark
//! always came then, p W would be 2 (1 - p), which is the equation of the authors' Linux module, 1/p -
//! 1 Mb/s in 25 ms.

use alloc::boxed::Box;
use lasthop_units::{Duration, Seed};

use super::path::{Direction, Fate, Path, Rule};
use crate::{Config, CongestionControlKind, Endpoint, Segment, SmallQueues};

/// A bulk transfer over a path with this round trip in ms.
fn path(congestion_control: CongestionControlKind, round_trip: u64, rule: Rule) -> Path {
    let config = Config { congestion_control, small_queues: SmallQueues::Off, ..Config::default() };
    let delay = Duration::from_micros(round_trip * 500);
    let mut path = Path::new(config, [Direction::new(delay), Direction::new(delay)]);
    path.rule = rule;
    path.logs = false;
    path.start(Endpoint::BULK);
    path
}

/// Marks each packet with this probability.
fn at_random(share: f64) -> Rule {
    let mut random = Seed::new(1, 0).stream("marks");
    Box::new(move |end, _, segment: &Segment| {
        let is_marked = end == 0 && segment.payload_bytes > 0 && random.uniform() < share;
        if is_marked { Fate::Mark } else { Fate::Pass }
    })
}

/// Marks one packet of `every`.
fn regularly(every: usize) -> Rule {
    Box::new(move |end, number, segment: &Segment| {
        let is_marked = end == 0 && segment.payload_bytes > 0 && number % every == 0;
        if is_marked { Fate::Mark } else { Fate::Pass }
    })
}

/// Packets in a round trip of `round_trip` ms, mean of a minute after the first: the window grows by one
/// packet in 100 ms.
fn packets(path: &mut Path, round_trip: u64) -> f64 {
    path.run(Duration::from_secs(60));
    let before = path.ends[1].received_bytes();
    path.run(Duration::from_secs(60));
    path.ends[0].check();
    let bytes = (path.ends[1].received_bytes() - before) as f64;
    bytes / 1448.0 * round_trip as f64 / 60e3
}

/// Marks that are 1/p packets apart, two of them in a round trip: the second one after a reduction
/// comes as the round trip ends. So p W / 2 = (1 - p) 2 / (p W), the module's equation but for a root.
#[test]
fn prague_with_regular_marks_has_the_window_of_its_rules() {
    for (round_trip, every) in [(50, 50), (50, 20), (100, 20), (100, 100)] {
        let share: f64 = 1.0 / every as f64;
        let expected = 2.0 * (1.0 - share).sqrt() / share;
        let mut path = path(CongestionControlKind::Prague, round_trip, regularly(every));
        let ratio = packets(&mut path, round_trip) / expected;
        assert!((0.95..1.05).contains(&ratio), "{round_trip} ms, one of {every}: {ratio}");
    }
}

/// Marks at random: the first one after a round trip comes 1 / (p W) round trips later. So p W / 2 =
/// (1 - p) (1 + 1 / (p W)). The window varies, and larger ones are reduced more.
#[test]
fn prague_with_random_marks_has_the_window_of_its_rules() {
    for (round_trip, share) in [(50, 0.02), (100, 0.05), (50, 0.1), (100, 0.01)] {
        let left: f64 = 1.0 - share;
        let expected = (left + (left * left + 2.0 * left).sqrt()) / share;
        let mut path = path(CongestionControlKind::Prague, round_trip, at_random(share));
        let ratio = packets(&mut path, round_trip) / expected;
        assert!((0.9..1.05).contains(&ratio), "{round_trip} ms, {share}: {ratio}");
    }
}

/// Below 25 ms the rate does not depend on the round trip (at a constant window it would double from
/// 20 to 10 ms). A difference is left, since reductions come at ends of round trips, 25 ms or more apart.
#[test]
fn prague_has_one_rate_for_short_round_trips() {
    let rate = |round_trip| {
        let mut path = path(CongestionControlKind::Prague, round_trip, at_random(0.05));
        packets(&mut path, round_trip) / round_trip as f64
    };
    let [five, ten, twenty, long] = [5, 10, 20, 50].map(rate);
    for ratio in [five / ten, twenty / ten] {
        assert!((0.8..1.25).contains(&ratio), "{five} {ten} {twenty} packets/ms");
    }
    assert!((0.4..0.6).contains(&(long / ten)), "{long} {ten}");
}

/// A loss halves the window, as in Reno (RFC 9331, 4.3: a Prague requirement).
#[test]
fn prague_halves_its_window_after_a_loss() {
    let rule = |end, number, segment: &Segment| {
        let is_lost = (end, number) == (0, 5_000) && segment.payload_bytes > 0;
        let is_marked = end == 0 && number < 5_000 && number % 50 == 0;
        if is_lost {
            Fate::Lose
        } else if is_marked {
            Fate::Mark
        } else {
            Fate::Pass
        }
    };
    let mut path = path(CongestionControlKind::Prague, 50, Box::new(rule));
    let mut before = 0;
    while path.ends[0].retransmissions() == 0 {
        before = path.ends[0].cwnd_packets();
        path.run(Duration::from_millis(1));
    }
    path.run(Duration::from_millis(100));
    let after = path.ends[0].cwnd_packets();
    assert!(after.abs_diff(before / 2) <= 4, "{before} {after}");
}

/// RFC 9331, 4.1: every packet of the connection but SYN and SYN-ACK has ECT(1); DCTCP's have ECT(0).
/// Without accurate feedback at the other end it is NewReno, and nothing is ECN-capable.
#[test]
fn packets_of_prague_have_the_codepoint_of_l4s() {
    let codepoints = |kind, other: Config| {
        let config = Config { congestion_control: kind, ..Config::default() };
        let direction = || Direction::new(Duration::from_millis(10));
        let mut path = Path::new(config, [direction(), direction()]);
        path.ends[1] = Endpoint::new(&other);
        path.start(20 * 1448);
        assert!(path.run_until_done(Duration::from_secs(5)));
        let later = path.sent.iter().flatten().filter(|(_, segment)| !segment.syn);
        let mut seen: alloc::vec::Vec<_> =
            later.map(|(_, segment)| (segment.ecn_capable, segment.ecn_l4s)).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    };
    for (kind, is_l4s) in
        [(CongestionControlKind::Prague, true), (CongestionControlKind::Dctcp, false)]
    {
        let same = Config { congestion_control: kind, ..Config::default() };
        assert_eq!(codepoints(kind, same), [(true, is_l4s)]);
        let classic = Config { ecn: true, ..Config::default() };
        assert_eq!(codepoints(kind, classic), [(false, false), (true, false)]);
        assert_eq!(codepoints(kind, Config::default()), [(false, false)]);
    }
}
