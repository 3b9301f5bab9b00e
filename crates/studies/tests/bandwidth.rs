//! Dynamic bandwidth against ns-3: its figures in short runs, of those settings in which nothing
//! depends on who hears responses, and the sets hear each other well. Long ones are in docs/validation.md.

use lasthop_studies::validate::chapters::bandwidth::pairs;
use lasthop_units::Duration;

#[test]
fn widths_and_goodputs_are_those_of_ns3() {
    let pairs = pairs();
    assert_eq!(pairs.len(), 60);
    let is_plain = |pair: &&_| -> bool {
        let lasthop_studies::validate::chapters::bandwidth::Pair {
            ampdu_bytes_max,
            interval_us,
            dist_m,
            ..
        } = **pair;
        ampdu_bytes_max == 0 && interval_us > 0 && dist_m < 7
    };
    for pair in pairs.iter().filter(is_plain) {
        let (ours, theirs) = (pair.figures(0, Duration::from_secs(3)), pair.theirs);
        let ratio = |set: usize| ours.goodput_mbps[set] / theirs.goodput_mbps[set];
        assert!((ratio(0) - 1.0).abs() < 0.05, "{} of ns-3's: {pair:?}", ratio(0));
        // A Poisson process of 750 packets and more.
        assert!((ratio(1) - 1.0).abs() < 0.11, "{} of ns-3's: {pair:?}", ratio(1));
        assert!((ours.whole - theirs.whole).abs() < 0.04, "{}: {pair:?}", ours.whole);
    }
}
