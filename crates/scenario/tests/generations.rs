//! Nodes of older standards and narrower channels: rates of pairs, and refused combinations.

use lasthop_scenario::Scenario;
use lasthop_wifi::cell::{CellConfig, StationConfig};
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::{ChannelWidth, Rate};
use std::collections::BTreeSet;

const HOME: &str = r#"
duration = "1s"
[channel]
standard = "802.11ax"
width = "80MHz"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "phone"
role = "station"
"#;

fn parse(more: &str) -> Result<Scenario, String> {
    let text = format!("{HOME}{more}");
    lasthop_scenario::parse("home.toml", &text, &[]).map_err(|error| error.to_string())
}

fn cell(more: &str) -> CellConfig {
    parse(more).expect("a sound scenario").network.cell.expect("a cell")
}

fn node(name: &str, keys: &str) -> String {
    format!("[[node]]\nname = \"{name}\"\nrole = \"station\"\n{keys}\n")
}

/// The generations, widths and streams of what two stations send to each other.
fn shared(
    one: &StationConfig,
    other: &StationConfig,
) -> (BTreeSet<&'static str>, ChannelWidth, u8) {
    let capabilities = one.capabilities.shared_with(&other.capabilities);
    let kind = |rate: &Rate| match rate {
        Rate::Dsss { .. } | Rate::Ofdm(_) | Rate::ErpOfdm(_) => "non-HT",
        Rate::Ht { .. } => "HT",
        Rate::Vht { .. } => "VHT",
        Rate::He { .. } | Rate::HeExtendedRange { .. } => "HE",
        Rate::Eht { .. } => "EHT",
    };
    let streams = capabilities.rates.iter().map(|rate| rate.streams()).max();
    let kinds = capabilities.rates.iter().map(kind).collect();
    (kinds, capabilities.width(), streams.expect("they have rates"))
}

#[test]
fn pairs_send_with_the_newest_of_both() {
    let more = [
        node("tv", "standard = \"802.11ac\"\nstreams = 4"),
        node("printer", "standard = \"802.11n\"\nwidth = \"20MHz\"\nstreams = 1"),
        node("radio", "standard = \"802.11a\""),
        node("laptop", "width = \"40MHz\""),
    ];
    let cell = cell(&more.concat());
    let [ap, phone, tv, printer, radio, laptop] = &cell.stations[..] else { panic!("six") };
    let of = |kind, width, streams| (BTreeSet::from([kind]), width, streams);
    assert_eq!(shared(ap, phone), of("HE", ChannelWidth::Mhz80, 2));
    assert_eq!(shared(tv, ap), of("VHT", ChannelWidth::Mhz80, 2));
    assert_eq!(shared(ap, printer), of("HT", ChannelWidth::Mhz20, 1));
    assert_eq!(shared(ap, radio), of("non-HT", ChannelWidth::Mhz20, 1));
    assert_eq!(shared(laptop, ap), of("HE", ChannelWidth::Mhz40, 2));
    // Who has another standard has its rate control and its windows.
    let has_minstrel =
        |it: &StationConfig| matches!(it.rate_control, RateControlConfig::MinstrelHt { .. });
    assert!(has_minstrel(tv) && has_minstrel(printer) && !has_minstrel(phone));
    let windows = [ap, phone, tv, printer].map(|it| it.block_ack.window);
    assert_eq!(windows, [256, 256, 64, 64]);
    assert!(!radio.capabilities.qos && printer.capabilities.qos);
}

/// Without older ones nothing is different: a standard that is the channel's says nothing.
#[test]
fn the_channels_own_standard_changes_nothing() {
    let mut plain = cell(&node("tv", ""));
    let explicit = cell(&node("tv", "standard = \"802.11ax\"\nwidth = \"80MHz\""));
    assert_eq!(plain.stations, explicit.stations);
    let older = cell(&node("tv", "standard = \"802.11n\""));
    assert_ne!(plain.stations, older.stations);
    plain.stations.pop();
    assert_eq!(plain.stations.len(), 2);
}

#[test]
fn what_does_not_exist_is_refused() {
    for (more, expected) in [
        (
            node("tv", "standard = \"802.11g\""),
            "a node of a channel of 802.11ax at 5GHz has \"802.11a\" or \"802.11n\" or \
             \"802.11ac\" or \"802.11ax\", not 802.11g",
        ),
        (node("tv", "width = \"160MHz\""), "expected at most 80MHz"),
        (
            node("tv", "standard = \"802.11n\"\nwidth = \"80MHz\""),
            "expected at most 40MHz, the channel's width and 802.11n's",
        ),
        (
            node("tv", "standard = \"802.11n\"\nofdma = {}"),
            "OFDMA needs 802.11ax or 802.11be, not 802.11n",
        ),
        (
            node(
                "tv",
                "standard = \"802.11n\"\nrate_control = { kind = \"firmware\" }\nstreams = 8",
            ),
            "802.11n has up to 4 streams",
        ),
        (
            node("tv", "standard = \"802.11a\"\nrate_control = { kind = \"fixed\", mcs = 3 }"),
            "802.11a has rates",
        ),
        (
            node("tv", "standard = \"802.11n\"")
                + "[node_defaults]\nrate_control = { kind = \"fixed\", mcs = 3 }\n",
            "\"tv\" has 802.11n in 40MHz and cannot receive this fixed rate",
        ),
    ] {
        let error = parse(&more).expect_err(expected);
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("home.toml:"), "{error}");
    }
}

/// Spatial reuse of a set is that of its stations of 802.11ax.
#[test]
fn older_stations_do_not_reuse() {
    let cell =
        cell(&(node("tv", "standard = \"802.11n\"") + "[[cell]]\nspatial_reuse = \"-72dBm\"\n"));
    let reusing: Vec<bool> = cell.stations.iter().map(|it| it.obss_pd.is_some()).collect();
    assert_eq!(reusing, [true, true, false]);
}

/// A packet is no longer than both ends of a link take: the 2304 bytes of an MSDU less LLC without
/// A-MSDUs, an A-MSDU with one subframe in HT.
#[test]
fn packets_are_as_long_as_both_ends_take() {
    let long = |standard: &str, mtu: u32| {
        let keys = format!("standard = \"{standard}\"\nmtu = {mtu}");
        let text = HOME.replacen("[[node]]", "[node_defaults]\nmtu = 9000\n[[node]]", 1);
        (text, node("old", &keys))
    };
    let check = |(home, more): (String, String)| {
        let text = format!("{home}{more}");
        lasthop_scenario::parse("home.toml", &text, &[]).map_err(|error| error.to_string())
    };
    for (standard, most, what) in
        [("802.11n", 7_900, "with 802.11n"), ("802.11a", 2_296, "with a standard before 802.11n")]
    {
        // Of the station itself, and of the access point, which has the standard of the channel.
        let (plain, own) = (HOME.to_owned(), |mtu| long(standard, mtu).1);
        assert!(check((plain.clone(), own(most))).is_ok(), "{standard}");
        let error = check((plain, own(most + 1))).expect_err(standard);
        let words = format!("node.old.mtu: expected at most {most} on the air {what}, got");
        assert!(error.contains(&words), "{error}");
        let error = check(long(standard, most)).expect_err(standard);
        let words =
            format!("expected at most {most}: \"old\" receives on the air {what}, got 9000");
        assert!(error.contains("node_defaults.mtu: ") && error.contains(&words), "{error}");
    }
    assert!(check(long("802.11ac", 9_000)).is_ok());
    // The most of an adaptive one is what all that it sends to receive.
    let adaptive = |old: &str| {
        let text =
            HOME.replace("role = \"access-point\"", "role = \"access-point\"\nmtu = \"adaptive\"");
        let scenario = lasthop_scenario::parse("home.toml", &format!("{text}{old}"), &[]);
        let cell = scenario.expect("a sound scenario").network.cell.expect("a cell");
        cell.stations[0].adaptive_mtu.expect("it is adaptive").bytes_max
    };
    assert_eq!(adaptive(""), 11_400);
    assert_eq!(adaptive(&node("old", "standard = \"802.11n\"")), 7_900);
}
