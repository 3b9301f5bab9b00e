//! Spatial reuse of 802.11ax against ns-3: its figures in short runs. Long ones are in
//! docs/validation.md, also where the SINR does not bear the MCS.

use lasthop_units::Duration;
use validate::chapters::reuse::pairs;

#[test]
fn goodput_and_gain_are_those_of_ns3() {
    let pairs = pairs();
    assert!(pairs.len() > 40, "{} settings", pairs.len());
    let mut gains = 0;
    for pair in pairs.iter().filter(|pair| pair.is_sound()) {
        for (is_reused, theirs) in [false, true].into_iter().zip(pair.theirs_mbps) {
            let ours = pair.goodput_mbps(is_reused, 0, Duration::from_secs(2));
            let ratio = ours / theirs;
            // A run of 2 s varies by 1 %.
            assert!(
                (ratio - 1.0).abs() < 0.06,
                "{ratio:.3} of ns-3's, reuse {is_reused}: {pair:?}"
            );
        }
        gains += usize::from(pair.theirs_mbps[1] > 1.3 * pair.theirs_mbps[0]);
    }
    assert!(gains > 12, "{gains} settings in which it gains");
}
