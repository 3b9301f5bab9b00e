//! The elements of beacons for each generation, as tshark decodes them: HT, VHT and HE capabilities
//! and operation in each band and width. Skipped if tshark is not installed.

use crate::air::fields;
use crate::scene;
use lasthop_trace::{AirInfo, Files};
use lasthop_wifi::mac::rate::RateSet;
use lasthop_wifi::phy::{Band, ChannelWidth, HeGuardInterval, Rate};

/// Returns the value of a field in the beacon of these rates.
fn announced(name: &str, band: Band, channel: u8, rates: Vec<Rate>, asked: &[&str]) -> Vec<String> {
    let info = AirInfo { band, channel, rates, colour: 5, ..scene::air() };
    let files = Files { air: Some(info), ..scene::files() };
    let path = scene::scratch(&format!("announced-{name}"));
    scene::record(&path, &files, scene::play);
    let asked = [&["wlan.fc.type_subtype", "_ws.malformed"], asked].concat();
    let Some(rows) = fields(&path.join("air.pcapng"), &asked) else { return Vec::new() };
    let mut beacons = rows.into_iter().filter(|row| row[0] == "0x0008");
    let beacon = beacons.next().expect("there is a beacon");
    assert_eq!(beacon[1], "", "{name} is malformed");
    beacon[2..].to_vec()
}

/// The first value of a field: tshark prints some as hexadecimal, some as words.
fn number(value: &str) -> Option<u32> {
    let first = value.split(',').next().unwrap_or_default();
    match first.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if first == "True" => Some(1),
        None if first == "False" => Some(0),
        None => first.parse().ok(),
    }
}

fn check(
    name: &str,
    (band, channel): (Band, u8),
    rates: Vec<Rate>,
    expected: &[(&str, Option<u32>)],
) {
    let asked: Vec<&str> = expected.iter().map(|(field, _)| *field).collect();
    let found = announced(name, band, channel, rates, &asked);
    for ((field, value), found) in expected.iter().zip(&found) {
        assert_eq!(number(found), *value, "{name}: {field} is {found}");
    }
}

const HT_PRIMARY: &str = "wlan.ht.info.primarychannel";
const HT_OFFSET: &str = "wlan.ht.info.secchanoffset";
const HT_STREAM: [&str; 3] = [
    "wlan.ht.mcsset.rxbitmask.0to7",
    "wlan.ht.mcsset.rxbitmask.8to15",
    "wlan.ht.mcsset.rxbitmask.16to23",
];
const VHT_WIDTH: &str = "wlan.vht.op.channelwidth";
const VHT_CENTRE: [&str; 2] = ["wlan.vht.op.channelcenter0", "wlan.vht.op.channelcenter1"];
const VHT_STREAM: [&str; 2] = ["wlan.vht.mcsset.rxmcsmap.ss2", "wlan.vht.mcsset.rxmcsmap.ss3"];
const HE_STREAM: [&str; 2] = [
    "wlan.ext_tag.he_mcs_map.max_he_mcs_80_rx_2_ss",
    "wlan.ext_tag.he_mcs_map.max_he_mcs_80_rx_3_ss",
];
const HE_160: &str = "wlan.ext_tag.he_mcs_map.max_he_mcs_160_rx_1_ss";
const HE_WIDE: &str = "wlan.ext_tag.he_phy_cap.chan_width_set.40_80_in_5ghz";

fn he(streams: u8, width: ChannelWidth) -> Vec<Rate> {
    RateSet::he(streams, width, HeGuardInterval::Ns800Ltf2x).rates
}

#[test]
fn beacons_of_802_11n() {
    let rates = RateSet::ht(2, ChannelWidth::Mhz40, true).rates;
    let expected = [
        (HT_PRIMARY, Some(40)),
        (HT_OFFSET, Some(3)),
        (HT_STREAM[0], Some(0xff)),
        (HT_STREAM[1], Some(0xff)),
        (HT_STREAM[2], Some(0)),
        ("wlan.ht.capabilities.short40", Some(1)),
        (VHT_WIDTH, None),
        (HE_STREAM[0], None),
    ];
    check("n", (Band::Ghz5, 40), rates.clone(), &expected);
    check("n-above", (Band::Ghz5, 36), rates, &[(HT_PRIMARY, Some(36)), (HT_OFFSET, Some(1))]);
}

#[test]
fn beacons_of_802_11ac() {
    let wide = RateSet::vht(2, ChannelWidth::Mhz80, true).rates;
    let expected = [
        (HT_OFFSET, Some(1)),
        (HT_STREAM[1], Some(0xff)),
        (VHT_WIDTH, Some(1)),
        (VHT_CENTRE[0], Some(106)),
        (VHT_CENTRE[1], Some(0)),
        (VHT_STREAM[0], Some(2)),
        (VHT_STREAM[1], Some(3)),
        ("wlan.vht.capabilities.maxmpdulength", Some(2)),
        ("wlan.vht.capabilities.short80", Some(1)),
        ("wlan.vht.capabilities.supportedchanwidthset", Some(0)),
        (HE_STREAM[0], None),
    ];
    check("ac", (Band::Ghz5, 100), wide, &expected);
    let widest = RateSet::vht(1, ChannelWidth::Mhz160, false).rates;
    let expected = [
        (VHT_WIDTH, Some(1)),
        (VHT_CENTRE[0], Some(58)),
        (VHT_CENTRE[1], Some(50)),
        ("wlan.vht.capabilities.supportedchanwidthset", Some(1)),
        ("wlan.vht.capabilities.short80", Some(0)),
    ];
    check("ac-160", (Band::Ghz5, 60), widest, &expected);
    // Eight of the nine MCSs that there are with one stream of 20 MHz: no MCS 9.
    let narrow = RateSet::vht(1, ChannelWidth::Mhz20, false).rates;
    let expected = [
        (HT_OFFSET, Some(0)),
        (VHT_WIDTH, Some(0)),
        (VHT_CENTRE[0], Some(0)),
        ("wlan.vht.mcsset.rxmcsmap.ss1", Some(1)),
    ];
    check("ac-20", (Band::Ghz5, 36), narrow, &expected);
}

#[test]
fn beacons_of_802_11ax() {
    let expected = [
        (HT_STREAM[1], Some(0xff)),
        (VHT_WIDTH, Some(1)),
        (VHT_CENTRE[0], Some(42)),
        // MCS 0 to 9 of 802.11ac, 0 to 11 of 802.11ax.
        (VHT_STREAM[0], Some(2)),
        (HE_STREAM[0], Some(2)),
        (HE_STREAM[1], Some(3)),
        (HE_160, None),
        ("wlan.ext_tag.bss_color_information.bss_color", Some(5)),
        ("wlan.ext_tag.bss_color_information.bss_color_disabled", Some(0)),
        (HE_WIDE, Some(1)),
        ("wlan.ext_tag.he_phy_cap.ldpc_coding_in_payload", Some(1)),
        ("wlan.ext_tag.he_mac_cap.max_a_mpdu_len_exp_ext", Some(3)),
        ("wlan.tag.he_6ghz.cap_inf.b3_b5", None),
    ];
    check("ax", (Band::Ghz5, 36), he(2, ChannelWidth::Mhz80), &expected);
    // There is no VHT at 2.4 GHz, and neither HT nor VHT at 6 GHz.
    let expected = [
        (HT_OFFSET, Some(0)),
        (VHT_WIDTH, None),
        (HE_STREAM[0], Some(3)),
        ("wlan.ext_tag.he_phy_cap.chan_width_set.40mhz_in_2_4ghz", Some(0)),
    ];
    check("ax-2.4", (Band::Ghz2_4, 6), he(1, ChannelWidth::Mhz20), &expected);
    let expected = [
        (HT_PRIMARY, None),
        (VHT_WIDTH, None),
        (HE_160, Some(2)),
        ("wlan.tag.he_6ghz.cap_inf.b3_b5", Some(7)),
        ("wlan.tag.he_6ghz.cap_inf.b6_b7", Some(2)),
    ];
    check("ax-6", (Band::Ghz6, 37), he(2, ChannelWidth::Mhz160), &expected);
}

/// With sets on different channels, each frame is on its transmitter's, and a beacon
/// announces that of its access point.
#[test]
fn every_transmitter_has_its_channel() {
    let rates = RateSet::ht(1, ChannelWidth::Mhz20, false).rates;
    let channels = [vec![44], vec![36; 15]].concat();
    let info = AirInfo { band: Band::Ghz5, channel: 36, channels, rates, ..scene::air() };
    let files = Files { air: Some(info), ..scene::files() };
    let path = scene::scratch("announced-channels");
    scene::record(&path, &files, scene::play);
    let asked = ["wlan.fc.type_subtype", "radiotap.channel.freq", "wlan.ht.info.primarychannel"];
    let Some(rows) = fields(&path.join("air.pcapng"), &asked) else { return };
    let beacons: Vec<_> = rows.iter().filter(|row| row[0] == "0x0008").collect();
    assert!(!beacons.is_empty());
    for beacon in beacons {
        assert_eq!((&*beacon[1], number(&beacon[2])), ("5220", Some(44)));
    }
    assert!(rows.iter().any(|row| row[1] == "5180"), "stations are on channel 36");
}
