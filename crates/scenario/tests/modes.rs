//! Dual carrier modulation, extended range and packet padding in a scenario: what a file gives,
//! and what a person reads when there is no such thing.

use lasthop_scenario::parse;
use lasthop_wifi::cell::{CellConfig, StationConfig};
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::{ChannelWidth, HeGuardInterval, PacketPadding, Rate, RuSize};

/// A cell of `standard` with these keys of the access point, on line 5 of the file, and of the
/// station, on line 9.
fn text(standard: &str, access_point: &str, station: &str) -> String {
    format!(
        r#"channel = {{ standard = "{standard}", band = "5GHz", width = "40MHz" }}
[[node]]
name = "ap"
role = "access-point"
{access_point}
[[node]]
name = "sensor"
role = "station"
{station}
[[flow]]
name = "up"
from = "sensor"
to = "ap"
kind = "udp"
rate = "1Mb/s"
"#
    )
}

fn cell(access_point: &str, station: &str) -> CellConfig {
    let scenario = parse("test.toml", &text("802.11ax", access_point, station), &[]);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    scenario.network.cell.expect("a cell")
}

fn errors(standard: &str, access_point: &str, station: &str) -> String {
    let text = text(standard, access_point, station);
    parse("test.toml", &text, &[]).expect_err("it is wrong").to_string()
}

const GI: HeGuardInterval = HeGuardInterval::Ns800Ltf2x;

fn far(mcs: u8, tones: RuSize, dcm: bool) -> Rate {
    Rate::he_extended_range(mcs, tones, GI, dcm).expect("a rate")
}

#[test]
fn by_default_there_is_none_of_it() {
    for station in cell("", "").stations {
        let capabilities = &station.capabilities;
        assert_eq!(capabilities.packet_padding, PacketPadding::None);
        assert!(!capabilities.has_extended_range());
        assert!(capabilities.rates.iter().all(|rate| rate.snr_gain().is_none()));
    }
}

#[test]
fn what_a_node_says_it_can() {
    let stations = cell("packet_padding = \"8us\"", "packet_padding = \"16us\"").stations;
    let padding = |station: &StationConfig| station.capabilities.packet_padding;
    assert_eq!(
        [padding(&stations[0]), padding(&stations[1])],
        [PacketPadding::Us8, PacketPadding::Us16]
    );
    // MCS 0, 1, 3 and 4 with one and two streams in 20 and 40 MHz; seven of extended range, three
    // of them with dual carriers.
    for (keys, dual, extended) in [
        ("dcm = true", 16, 0),
        ("extended_range = true", 0, 4),
        ("dcm = true\nextended_range = true", 16 + 3, 7),
    ] {
        let config = cell(keys, keys);
        let rates = &config.stations[1].capabilities.rates;
        let is_dual = |rate: &&Rate| {
            matches!(rate, Rate::He { dcm: true, .. } | Rate::HeExtendedRange { dcm: true, .. })
        };
        assert_eq!(rates.iter().filter(is_dual).count(), dual, "{keys}");
        assert_eq!(
            rates.iter().filter(|rate| rate.is_extended_range()).count(),
            extended,
            "{keys}"
        );
    }
    // Both must be able to.
    let config = cell("extended_range = true", "");
    let shared = config.stations[0].capabilities.shared_with(&config.stations[1].capabilities);
    assert!(!shared.has_extended_range());
}

#[test]
fn fixed_rates_by_name() {
    let can = "dcm = true\nextended_range = true\nmtu = 1000";
    let of = |control: &str| {
        let control = format!("{can}\nrate_control = {{ kind = \"fixed\", {control} }}");
        match cell(can, &control).stations[1].rate_control {
            RateControlConfig::Fixed { rate } => rate,
            ref other => panic!("{other:?}"),
        }
    };
    let wide = |mcs, streams| Rate::he(mcs, streams, ChannelWidth::Mhz40, GI, true);
    assert_eq!(Some(of("mcs = 3, dcm = true")), wide(3, 2));
    assert_eq!(Some(of("mcs = 4, streams = 1, dcm = true")), wide(4, 1));
    let extended = "extended_range = \"242-tones\"";
    assert_eq!(of(&format!("mcs = 2, {extended}")), far(2, RuSize::Tones242, false));
    assert_eq!(of(&format!("mcs = 1, dcm = true, {extended}")), far(1, RuSize::Tones242, true));
    let narrow = "mcs = 0, extended_range = \"106-tones\"";
    assert_eq!(of(narrow), far(0, RuSize::Tones106, false));
    assert_eq!(of(&format!("{narrow}, dcm = true")), far(0, RuSize::Tones106, true));
    assert_eq!(of("mcs = 3, dcm = false"), Rate::he(3, 2, ChannelWidth::Mhz40, GI, false).unwrap());
}

#[test]
fn what_there_is_not() {
    let can = "dcm = true\nextended_range = true";
    let fixed = |control: &str| format!("{can}\nrate_control = {{ kind = \"fixed\", {control} }}");
    for (standard, ap, station, expected) in [
        (
            "802.11ac",
            "dcm = true",
            "",
            &["test.toml:5: node.ap.dcm: dual carrier modulation needs 802.11ax or 802.11be, not \
               802.11ac"][..],
        ),
        (
            "802.11n",
            "",
            "extended_range = true",
            &[
                "test.toml:9: node.sensor.extended_range: extended range needs 802.11ax, not 802.11n",
            ],
        ),
        (
            "802.11ac",
            "",
            "packet_padding = \"8us\"",
            &[
                "test.toml:9: node.sensor.packet_padding: only PPDUs of 802.11ax and 802.11be have a packet \
               extension, not 802.11ac",
            ],
        ),
        (
            "802.11ax",
            "",
            "packet_padding = \"4us\"",
            &["node.sensor.packet_padding: expected \"0us\", \"8us\", \"16us\" or \"20us\""],
        ),
        (
            "802.11ax",
            can,
            &fixed("mcs = 2, dcm = true"),
            &["rate_control.mcs: no MCS 2 in dcm with 2 streams (at most 2); there are 0, 1, 3, 4"],
        ),
        (
            "802.11ax",
            can,
            &fixed("mcs = 3, extended_range = \"242-tones\""),
            &["no MCS 3 in extended range on 242 tones; there are 0, 1, 2"],
        ),
        (
            "802.11ax",
            can,
            &fixed("mcs = 1, extended_range = \"106-tones\""),
            &["no MCS 1 in extended range on 106 tones; there are 0"],
        ),
        (
            "802.11ax",
            can,
            &fixed("mcs = 2, dcm = true, extended_range = \"242-tones\""),
            &["no MCS 2 in extended range on 242 tones with dcm; there are 0, 1"],
        ),
        (
            "802.11ax",
            can,
            &fixed("mcs = 0, streams = 2, extended_range = \"242-tones\""),
            &["rate_control.streams: extended range has one stream, got 2"],
        ),
        (
            "802.11ax",
            can,
            &fixed("mcs = 0, extended_range = \"484-tones\""),
            &["rate_control.extended_range: expected \"242-tones\" or \"106-tones\""],
        ),
        (
            "802.11ax",
            can,
            &fixed("mcs = 0, dcm = true, extended_range = \"106-tones\""),
            &["rate_control.extended_range: a packet of 1500 bytes lasts longer than a PPDU may, \
               5484us; take an mtu of at most 1202 with it"],
        ),
        (
            "802.11ax",
            "extended_range = true",
            "rate_control = { kind = \"fixed\", mcs = 0, extended_range = \"242-tones\" }",
            &["the node itself needs extended_range = true"],
        ),
        (
            "802.11ax",
            "",
            &fixed("mcs = 0, extended_range = \"242-tones\""),
            &[
                "\"ap\" has 802.11ax in 40MHz and cannot receive this fixed rate",
                "extended_range = true there",
            ],
        ),
        (
            "802.11ax",
            "extended_range = true",
            &fixed("mcs = 0, dcm = true"),
            &["cannot receive this fixed rate", "dcm = true"],
        ),
        (
            "802.11ax",
            can,
            "rate_control = { kind = \"ideal\", dcm = true }",
            &["rate_control.dcm: this key is for kind = \"fixed\" only"],
        ),
        (
            "802.11ac",
            "",
            "rate_control = { kind = \"fixed\", mcs = 0, dcm = true }",
            &["rate_control.dcm: this mode needs 802.11ax, not 802.11ac"],
        ),
    ] {
        let errors = errors(standard, ap, station);
        for expected in expected {
            assert!(errors.contains(expected), "{station}: {errors}");
        }
    }
}
