//! 802.11ac and 802.11ax to one station, against ns-3: every fourth row of its figures, in short
//! runs. All of them in long ones are in docs/validation.md.

use lasthop_studies::validate::chapters::later::saturated;
use lasthop_units::{Duration, Seed};

#[test]
fn one_station_is_within_a_percent_with_as_many_mpdus() {
    let rows = saturated();
    assert!(rows.len() > 90, "{} rows", rows.len());
    let mut agreeing = 0;
    for theirs in rows.iter().step_by(4) {
        let ms = Duration::from_millis;
        let ours = theirs.setting.run(Seed::new(1, 0), ms(500), ms(1_000));
        let what = &theirs.setting.rate;
        let ratio = ours.goodput_mbps / theirs.corrected_mbps(ours.mpdus_per_ppdu_median);
        // A second has 180 PPDUs of the longest: one more or less is half a percent.
        assert!((ratio - 1.0).abs() < 0.015, "{what}: {ratio:.4} of ns-3's");
        agreeing += u32::from(ours.mpdus_per_ppdu_median == theirs.mpdus_per_ppdu);
    }
    assert_eq!(agreeing, rows.len().div_ceil(4) as u32);
}
