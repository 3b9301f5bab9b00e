//! Rates against the tables of the standards.

use super::*;
extern crate alloc;
use alloc::string::ToString;

fn ht(mcs: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Rate {
    Rate::Ht { mcs, width, guard_interval }
}

#[test]
fn data_rates_of_the_mcs_tables() {
    use ChannelWidth::{Mhz20, Mhz40};
    use GuardInterval::{Long, Short};
    // IEEE 802.11-2020, tables 19-27 to 19-34.
    for (rate, bps) in [
        (ht(0, Mhz20, Long), 6_500_000),
        (ht(0, Mhz20, Short), 7_222_222),
        (ht(7, Mhz20, Long), 65_000_000),
        (ht(15, Mhz40, Short), 300_000_000),
        (ht(21, Mhz40, Long), 324_000_000),
        (ht(31, Mhz20, Short), 288_888_888),
        (ht(31, Mhz40, Short), 600_000_000),
    ] {
        assert_eq!(rate.bitrate(), Bitrate::from_bps(bps), "{rate}");
    }
    assert!(Rate::ht(32, Mhz40, Long).is_none());
}

/// The data rates of IEEE 802.11-2020, tables 21-30 to 21-61, in Mb/s with one decimal.
#[test]
fn data_rates_of_the_vht_tables() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
    use GuardInterval::{Long, Short};
    for (mcs, streams, width, guard_interval, mbps) in [
        (0, 1, Mhz20, Long, 6.5),
        (8, 1, Mhz20, Short, 86.7),
        (9, 3, Mhz20, Short, 288.9),
        (9, 1, Mhz40, Long, 180.0),
        (9, 2, Mhz40, Short, 400.0),
        (0, 1, Mhz80, Long, 29.3),
        (7, 1, Mhz80, Short, 325.0),
        (9, 1, Mhz80, Short, 433.3),
        (9, 2, Mhz80, Short, 866.7),
        (9, 3, Mhz80, Short, 1300.0),
        (9, 4, Mhz80, Short, 1733.3),
        (9, 1, Mhz160, Long, 780.0),
        (9, 8, Mhz160, Short, 6933.3),
    ] {
        let rate = Rate::vht(mcs, streams, width, guard_interval).expect("a rate");
        let ours = rate.bitrate().as_mbps_f64();
        assert!((ours - mbps).abs() <= 0.0501, "{rate}: {ours} {mbps}");
    }
}

/// The data rates of IEEE 802.11ax-2021, 27.5, in Mb/s with one decimal.
#[test]
fn data_rates_of_the_he_tables() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
    use HeGuardInterval::{Ns800Ltf2x, Ns1600Ltf2x, Ns3200Ltf4x};
    for (mcs, streams, width, guard_interval, dcm, mbps) in [
        (0, 1, Mhz20, Ns800Ltf2x, false, 8.6),
        (0, 1, Mhz20, Ns800Ltf2x, true, 4.3),
        (0, 1, Mhz20, Ns3200Ltf4x, false, 7.3),
        (4, 1, Mhz20, Ns1600Ltf2x, true, 24.4),
        (11, 1, Mhz20, Ns800Ltf2x, false, 143.4),
        (11, 2, Mhz20, Ns800Ltf2x, false, 286.8),
        (11, 1, Mhz40, Ns800Ltf2x, false, 286.8),
        (9, 1, Mhz80, Ns800Ltf2x, false, 480.4),
        (11, 1, Mhz80, Ns800Ltf2x, false, 600.5),
        (11, 2, Mhz80, Ns800Ltf2x, false, 1201.0),
        (11, 2, Mhz80, Ns1600Ltf2x, false, 1134.3),
        (11, 2, Mhz80, Ns3200Ltf4x, false, 1020.8),
        (11, 2, Mhz160, Ns800Ltf2x, false, 2402.0),
        (11, 8, Mhz160, Ns800Ltf2x, false, 9607.8),
    ] {
        let rate = Rate::he(mcs, streams, width, guard_interval, dcm).expect("a rate");
        let ours = rate.bitrate().as_mbps_f64();
        assert!((ours - mbps).abs() <= 0.0501, "{rate}: {ours} {mbps}");
    }
    let far = |mcs, tones, dcm| Rate::he_extended_range(mcs, tones, Ns800Ltf2x, dcm);
    let kbps = |mcs, tones| far(mcs, tones, false).expect("a rate").kbps();
    assert_eq!(kbps(2, RuSize::Tones242), 25_808);
    assert_eq!(kbps(0, RuSize::Tones106), 3_750);
    assert_eq!((far(3, RuSize::Tones242, false), far(1, RuSize::Tones106, false)), (None, None));
    assert_eq!((far(2, RuSize::Tones242, true), far(0, RuSize::Tones52, false)), (None, None));
}

#[test]
fn he_rates_that_do_not_exist() {
    use HeGuardInterval::{Ns800Ltf2x, Ns1600Ltf1x};
    let rate = |mcs, streams, guard_interval, dcm| {
        Rate::he(mcs, streams, ChannelWidth::Mhz80, guard_interval, dcm)
    };
    assert_eq!(rate(12, 1, Ns800Ltf2x, false), None);
    assert_eq!(rate(0, 0, Ns800Ltf2x, false), None);
    assert_eq!(rate(0, 9, Ns800Ltf2x, false), None);
    assert_eq!(rate(0, 1, Ns1600Ltf1x, false), None);
    for mcs in 0..=11 {
        let has_dcm = matches!(mcs, 0 | 1 | 3 | 4);
        assert_eq!(rate(mcs, 2, Ns800Ltf2x, true).is_some(), has_dcm, "MCS {mcs}");
        assert_eq!(rate(mcs, 3, Ns800Ltf2x, true), None, "MCS {mcs}");
    }
    assert_eq!(Rate::all_he(ChannelWidth::Mhz20, Ns800Ltf2x, 8).count(), 12 * 8);
    assert!(Rate::ht(0, ChannelWidth::Mhz80, GuardInterval::Long).is_none());
}

#[test]
fn a_rate_is_small_and_old_ones_come_first() {
    assert!(size_of::<Rate>() <= 8);
    let old = ht(31, ChannelWidth::Mhz40, GuardInterval::Short);
    let vht = Rate::vht(0, 1, ChannelWidth::Mhz20, GuardInterval::Long);
    let he = Rate::he(0, 1, ChannelWidth::Mhz20, HeGuardInterval::Ns800Ltf1x, false);
    assert!(Rate::ErpOfdm(OfdmRate::Mbps54) < old && Some(old) < vht && vht < he);
}

#[test]
fn names() {
    let sgi = ht(15, ChannelWidth::Mhz40, GuardInterval::Short);
    assert_eq!(sgi.to_string(), "MCS15/40MHz/SGI");
    assert_eq!(ht(0, ChannelWidth::Mhz20, GuardInterval::Long).to_string(), "MCS0/20MHz/LGI");
    assert_eq!(Rate::ErpOfdm(OfdmRate::Mbps54).to_string(), "54Mb/s");
    let dsss = |rate, preamble| Rate::Dsss { rate, preamble }.to_string();
    assert_eq!(dsss(DsssRate::Mbps11, Preamble::Long), "11Mb/s");
    assert_eq!(dsss(DsssRate::Mbps5_5, Preamble::Short), "5.5Mb/s/short");
    assert_eq!(dsss(DsssRate::Mbps1, Preamble::Short), "1Mb/s");
    let name = |rate: Option<Rate>| rate.expect("a rate").to_string();
    let vht = Rate::vht(9, 2, ChannelWidth::Mhz80, GuardInterval::Short);
    assert_eq!(name(vht), "VHT-MCS9/2SS/80MHz/SGI");
    let he = Rate::he(3, 1, ChannelWidth::Mhz160, HeGuardInterval::Ns800Ltf2x, true);
    assert_eq!(name(he), "HE-MCS3/1SS/160MHz/2xLTF+0.8us/DCM");
    let far = Rate::he_extended_range(0, RuSize::Tones106, HeGuardInterval::Ns3200Ltf4x, false);
    assert_eq!(name(far), "HE-ER-MCS0/106tones/4xLTF+3.2us");
}

#[test]
fn non_ht_reference_rates() {
    let expected = [6, 12, 18, 24, 36, 48, 54, 54];
    let all = Rate::all_ht(ChannelWidth::Mhz40, GuardInterval::Short, 4);
    assert_eq!(all.len(), 32);
    for (rate, mbps) in all.zip(expected.into_iter().cycle()) {
        assert_eq!(rate.non_ht_reference().bitrate(), Bitrate::from_mbps(mbps), "{rate}");
    }
    let expected = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54, 54, 54];
    let all = Rate::all_he(ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x, 2);
    for (rate, mbps) in all.zip(expected.into_iter().cycle()) {
        assert_eq!(rate.non_ht_reference().bitrate(), Bitrate::from_mbps(mbps), "{rate}");
    }
}

/// Each MPDU in flight has a rate.
#[test]
fn a_rate_has_six_octets() {
    assert_eq!(size_of::<Rate>(), 6);
}
