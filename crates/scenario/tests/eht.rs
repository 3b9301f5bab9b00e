//! 802.11be on one link: defaults, modes, and errors that name file, line and key.

use lasthop_scenario::{Scenario, parse};
use lasthop_wifi::phy::{ChannelWidth, Rate};

fn text(channel: &str, node: &str) -> String {
    format!(
        "duration = \"1s\"\n[channel]\nstandard = \"802.11be\"\n{channel}\n[node_defaults]\n\
         streams = 2\n[[node]]\nname = \"ap\"\nrole = \"access-point\"\n{node}\n[[node]]\n\
         name = \"laptop\"\nrole = \"station\"\n"
    )
}

fn scenario(channel: &str, node: &str) -> Scenario {
    parse("be.toml", &text(channel, node), &[]).unwrap_or_else(|error| panic!("{error:?}"))
}

const WIDE: &str = "band = \"6GHz\"\nwidth = \"320MHz\"";

/// The limits of IEEE 802.11be-2024: PSDUs of 15 523 200 octets, windows of 1 024 MPDUs, MCS 13.
#[test]
fn defaults_are_the_limits_of_the_generation() {
    let cell = scenario(WIDE, "").network.cell.expect("a cell");
    for station in &cell.stations {
        assert_eq!(station.block_ack.window, 1_024);
        assert_eq!(station.aggregation.ampdu_bytes_max, 15_523_200);
        assert_eq!(station.aggregation.ampdu_frames_max, 1_024);
        let best = station.capabilities.rates.last().expect("rates");
        assert!(matches!(best, Rate::Eht { mcs: 13, streams: 2, width: ChannelWidth::Mhz320, .. }));
    }
    let cell = scenario("band = \"2.4GHz\"", "").network.cell.expect("a cell");
    assert_eq!(cell.stations[0].aggregation.ampdu_bytes_max, 524_287);
}

/// An access point of 802.11be sends to older stations with their newest PHY.
#[test]
fn older_stations() {
    let node = "[[node]]\nname = \"old\"\nrole = \"station\"\nstandard = \"802.11ax\"";
    let cell = scenario(WIDE, node).network.cell.expect("a cell");
    let shared = cell.stations[0].capabilities.shared_with(&cell.stations[1].capabilities);
    assert!(shared.rates.iter().all(|rate| rate.is_he()), "{:?}", shared.rates.last());
    assert_eq!((shared.width(), shared.block_ack_window_max), (ChannelWidth::Mhz160, 256));
    let shared = cell.stations[0].capabilities.shared_with(&cell.stations[2].capabilities);
    assert!(shared.rates.iter().all(|rate| rate.is_eht()));
}

#[test]
fn slow_modes_of_6_ghz() {
    let all = "dcm = true\nrate_control = { kind = \"fixed\", mcs = 14, streams = 1 }";
    let channel = format!("{WIDE}\n[channel.path_loss]\nexponent = 3.0");
    let text = text(&channel, all).replace("streams = 2", "streams = 2\ndcm = true");
    let cell = parse("be.toml", &text.replacen("\ndcm = true\nrate", "\nrate", 1), &[])
        .unwrap_or_else(|error| panic!("{error:?}"))
        .network
        .cell
        .expect("a cell");
    let has = |mcs: u8| cell.stations[1].capabilities.rates.iter().any(|it| it.mcs() == Some(mcs));
    assert!(has(14) && has(15));
}

#[test]
fn what_cannot_be() {
    let fixed = |keys: &str| format!("rate_control = {{ kind = \"fixed\", {keys} }}");
    for (channel, node, expected) in [
        ("width = \"320MHz\"", String::new(), "320MHz exists at 6GHz only, not at 5GHz"),
        (
            WIDE,
            fixed("mcs = 16"),
            "802.11be has no MCS 16 with 2 streams in 320MHz; there are 0, 1",
        ),
        (WIDE, fixed("mcs = 15, streams = 1"), "the node itself needs dcm = true for MCS 15"),
        ("", fixed("mcs = 14, streams = 1"), "MCS 14 exists at 6GHz only, not at 5GHz"),
        (WIDE, fixed("mcs = 3, dcm = true"), "not 802.11be; MCS 15 is the one with dual carriers"),
        (WIDE, "mu_mimo = { grouping = 1 }".into(), "4 or 16 with 802.11ax and 802.11be, got 1"),
        (
            WIDE,
            format!("ofdma = {{}}\n{}", fixed("mcs = 14, streams = 1")),
            "OFDMA needs rates that have an MCS and fill the channel",
        ),
        (WIDE, "block_ack = { window = 1025 }".into(), "from 1 to 1024, got 1025"),
        (
            WIDE,
            "aggregation = { ampdu_bytes_max = 15523201 }".into(),
            "from 0 to 15523200, got 15523201",
        ),
        (
            WIDE,
            "rate_control = { kind = \"minstrel-ht\" }".into(),
            "Minstrel-HT has no rates of 802.11be",
        ),
        ("guard_interval = \"400ns\"", String::new(), "802.11be has guard intervals of 800ns"),
    ] {
        let error = parse("be.toml", &text(channel, &node), &[]).expect_err(expected);
        let said = format!("{error:?}");
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    let text = text("", "")
        .replace("802.11be", "802.11ax")
        .replace("[node_d", "width = \"320MHz\"\n[node_d");
    let said = format!("{:?}", parse("be.toml", &text, &[]).expect_err("no 320 MHz"));
    assert!(said.contains("320MHz needs 802.11be; 802.11ax has 20MHz and 40MHz"), "{said}");
}

/// PPDUs for several stations, operating modes and colours, as with 802.11ax; not with several links.
#[test]
fn what_802_11ax_has_too() {
    let node = "ofdma = { uplink = { buffer_reports = \"5ms\" } }\nmu_mimo = {}\n[[node]]\nname = \
                \"phone\"\nrole = \"station\"\noperating_mode = { width = \"80MHz\" }\n[[cell]]\n\
                colour = 5\nspatial_reuse.level = \"-72dBm\"";
    let cell = scenario(WIDE, node).network.cell.expect("a cell");
    assert_eq!(cell.colours, [5]);
    assert!(cell.stations[0].ofdma.is_some_and(|it| it.uplink.is_some()));
    assert_eq!(cell.stations[0].mu_mimo.map(|it| it.grouping), Some(4));
    assert_eq!(cell.stations[1].operating_mode.map(|it| it.width), Some(ChannelWidth::Mhz80));
    assert!(cell.stations.iter().all(|station| station.obss_pd.is_some()));
    // Without a key that needs them there are none.
    assert!(scenario(WIDE, "").network.cell.expect("a cell").colours.is_empty());
    let links = format!("{WIDE}\n[[channel.link]]\nband = \"5GHz\"");
    for (node, expected) in [
        ("ofdma = {}", "this is not modelled for a node of several links"),
        ("[[cell]]\ncolour = 5", "a BSS colour needs one link"),
    ] {
        let error = parse("be.toml", &text(&links, node), &[]).expect_err(expected);
        let said = format!("{error:?}");
        assert!(said.contains(expected), "{expected}\n{said}");
    }
}

/// The Disabled Subchannel Bitmap by numbers of channels: rates leave out what the set does, older
/// nodes become narrower, and errors name what exists.
#[test]
fn punctured_channels() {
    let with = |channel: &str, cell: &str| {
        let node = format!(
            "[[cell]]\n{cell}\n[[node]]\nname = \"old\"\nrole = \"station\"\nstandard = \"802.11ax\""
        );
        parse("be.toml", &text(channel, &node), &[])
    };
    let wide = "width = \"80MHz\"";
    let scenario = with(wide, "punctured = [44]").unwrap_or_else(|error| panic!("{error:?}"));
    let cell = scenario.network.cell.expect("a cell");
    assert_eq!(cell.channels[0].puncturing.subchannels(ChannelWidth::Mhz80), 0b0100);
    let best = cell.stations[0].capabilities.rates.iter().map(|rate| rate.bitrate()).max();
    // MCS 13, two streams, 702 subcarriers: 14 040 bits in 13.6 us.
    assert_eq!(best.map(|it| it.as_bps()), Some(1_032_352_941));
    assert_eq!(cell.stations[1].capabilities.width(), ChannelWidth::Mhz40);
    for (channel, keys, expected) in [
        (
            wide,
            "punctured = [36]",
            "no PPDU of 80MHz with primary channel 36 leaves this out; \
            expected one of [40], [44], [48]",
        ),
        (wide, "punctured = [40, 44]", "expected one of [40], [44], [48]"),
        (wide, "punctured = [52]", "expected channels of the set's 80MHz: 36, 40, 44, 48; got 52"),
        ("width = \"40MHz\"", "punctured = [40]", "and this set has 40MHz"),
        (
            "band = \"6GHz\"\nwidth = \"320MHz\"",
            "punctured = [5]",
            "expected one of [9, 13], [17, 21], [25, 29], [33, 37], [41, 45], [49, 53], [57, 61], \
             [17, 21, 25, 29], ",
        ),
        (
            wide,
            "punctured = [40]\nnetwork = \"home\"",
            "not modelled with a [[channel.link]], channel_switch or network",
        ),
    ] {
        let error = with(channel, keys).expect_err(expected);
        let said = format!("{error:?}");
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    let older = text(wide, "[[cell]]\npunctured = [44]").replace("802.11be", "802.11ax");
    let said = format!("{:?}", parse("be.toml", &older, &[]).expect_err("too old"));
    assert!(said.contains("punctured channels need 802.11be"), "{said}");
    let fixed =
        "rate_control = { kind = \"fixed\", mcs = 14, streams = 1 }\n[[cell]]\npunctured = [13]";
    let text = text("band = \"6GHz\"\nwidth = \"80MHz\"", fixed)
        .replace("streams = 2", "streams = 2\ndcm = true");
    let said = format!("{:?}", parse("be.toml", &text, &[]).expect_err("no EHT DUP"));
    assert!(
        said.contains("no PPDU at this fixed rate leaves the punctured channels out"),
        "{said}"
    );
}
