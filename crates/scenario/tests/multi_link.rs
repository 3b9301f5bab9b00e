//! Devices of several links: their stations, sets, channels and signals, and refused combinations.

use lasthop_net::network::Change;
use lasthop_packet::AccessCategory;
use lasthop_scenario::Scenario;
use lasthop_units::{Db, Duration};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, LinkChoice, LinkMode, LinkSet};
use lasthop_wifi::phy::{Band, ChannelWidth, PathLoss};

fn parse(link: &str, laptop: &str, more: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"
duration = "1s"
[channel]
standard = "802.11be"
band = "5GHz"
width = "80MHz"
{link}
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
{laptop}
{more}
"#
    );
    lasthop_scenario::parse("home.toml", &text, &[]).map_err(|error| error.to_string())
}

const AT_6_GHZ: &str = "[[channel.link]]\nband = \"6GHz\"\nwidth = \"160MHz\"";

fn cell(link: &str, laptop: &str, more: &str) -> CellConfig {
    parse(link, laptop, more).expect("a sound scenario").network.cell.expect("a cell")
}

#[test]
fn a_device_has_a_station_on_each_link() {
    let emlsr = "multi_link = \"emlsr\"\nemlsr = { padding = \"128us\" }";
    let cell = cell(
        AT_6_GHZ,
        emlsr,
        "[[node]]\nname = \"old\"\nrole = \"station\"\nstandard = \"802.11ax\"",
    );
    let links: Vec<Vec<u16>> =
        cell.devices.iter().map(|it| it.links.iter().map(|link| link.0).collect()).collect();
    // The nodes first, whose numbers the rest of a scenario knows.
    assert_eq!(links, [[0, 3], [1, 4]]);
    let [padding, transition] = [128, 64].map(Duration::from_micros);
    let modes = [LinkMode::Simultaneous, LinkMode::SingleRadio { padding, transition }];
    assert_eq!(cell.devices.iter().map(|it| it.mode).collect::<Vec<_>>(), modes);
    let of = |station: usize| &cell.stations[station];
    assert_eq!([0, 1, 2, 3, 4].map(|it| of(it).bss.0), [0, 0, 0, 1, 1]);
    assert_eq!(of(3).capabilities.width(), ChannelWidth::Mhz160);
    let channel = |station: usize| cell.channel_of(of(station).bss).primary;
    let place = |station| (channel(station).band(cell.band), channel(station).number(cell.band));
    assert_eq!([place(0), place(3)], [(Band::Ghz5, 36), (Band::Ghz6, 1)]);
    assert!(!channel(0).shares(channel(3), ChannelWidth::Mhz160));
}

/// The SNRs of a cell refer to its widest channel: half the width has half the noise.
#[test]
fn each_link_has_the_signal_of_its_band_and_width() {
    let alone = cell("", "", "");
    let both = cell(AT_6_GHZ, "", "");
    let snr = |cell: &CellConfig, from: u16, to: u16| {
        cell.links.snr(StationId(from), StationId(to)).expect("a link")
    };
    let twice = Db(10.0 * 2.0_f64.log10());
    let is_near = |one: Db, other: Db| (one.0 - other.0).abs() < 1e-9;
    let first = snr(&both, 0, 1);
    assert!(is_near(first + twice, snr(&alone, 0, 1)));
    // The same power at 6 GHz, less what its path loses more.
    let nearer = PathLoss::in_band(Band::Ghz5).reference - PathLoss::in_band(Band::Ghz6).reference;
    assert!(is_near(snr(&both, 2, 3), first + nearer));
    let given = cell(&format!("{AT_6_GHZ}\nsnr = \"30dB\""), "", "");
    assert!(is_near(snr(&given, 2, 3), Db(30.0)) && is_near(snr(&given, 0, 1), first));
}

#[test]
fn a_set_may_be_on_a_further_link_alone() {
    let other = "[[node]]\nname = \"b\"\nrole = \"access-point\"\nbss = \"b\"\n\
                 standard = \"802.11ax\"\n[[node]]\nname = \"c\"\nrole = \"station\"\nbss = \"b\"\n\
                 standard = \"802.11ax\"\n[[cell]]\nname = \"b\"\nlink = 1";
    let cell = cell(AT_6_GHZ, "", other);
    let primary = |station: usize| cell.channel_of(cell.stations[station].bss).primary;
    assert_eq!(primary(2), primary(4));
    assert_eq!(cell.stations[2].capabilities.width(), ChannelWidth::Mhz160);
    assert_eq!(cell.devices.len(), 2);
    // Results name the link that it is on.
    assert_eq!([0, 1, 2, 4].map(|it| cell.head_of(StationId(it)).1), [0, 0, 1, 1]);
}

/// A neighbour is known by its load of the channel.
#[test]
fn neighbours_have_one_link() {
    let cell = cell(AT_6_GHZ, "", "[[neighbour]]\nname = \"n\"\nlevel = \"-70dBm\"\nbusy = 0.5");
    assert!(cell.stations.len() > 4);
    let links = |device: &lasthop_wifi::cell::DeviceConfig| device.links[0].0;
    assert_eq!(cell.devices.iter().map(links).collect::<Vec<_>>(), [0, 1]);
}

/// Wires change, in both directions; what is on the air is refused with the key.
#[test]
fn radios_keep_their_settings() {
    let wire = "[[node]]\nname = \"server\"\nrole = \"host\"\n[[wire]]\n\
                between = [\"server\", \"ap\"]\ndelay = \"5ms\"";
    let change = |set: &str| {
        let change = format!("{wire}\n[[change]]\nat = \"0.5s\"\nset = {{ {set} }}");
        parse(AT_6_GHZ, "", &change).map(|scenario| scenario.changes.len())
    };
    assert_eq!(change("\"wire.server-ap.delay\" = \"20ms\""), Ok(2));
    let error = change("\"node.ap.queue.packets\" = 7").expect_err("it is on the air");
    assert!(error.contains("several links") && error.contains("change"), "{error}");
}

/// Mappings, choices and links that are switched off, at the start and during the run.
#[test]
fn a_node_says_which_links_it_uses() {
    let of = "link_use = { choice = \"load\", voice = [1], background = [0], on = [0, 1] }";
    let cell = cell(AT_6_GHZ, of, "");
    let [ap, laptop] = &cell.devices[..] else { panic!("two devices") };
    let saves = |cell: &CellConfig| {
        [0, 1, 2, 3].map(|station: usize| cell.stations[station].power_save.is_some())
    };
    assert_eq!(saves(&cell), [false; 4]);
    let dozing = self::cell(AT_6_GHZ, "power_save = { idle = \"50ms\" }", "");
    assert_eq!(saves(&dozing), [false, false, false, true], "the first link stays awake");
    assert_eq!((laptop.choice, ap.choice), (LinkChoice::Load, LinkChoice::First));
    let mapped = |category: AccessCategory| laptop.mapping[category.index()];
    assert_eq!(mapped(AccessCategory::Voice), LinkSet::from_numbers([1]));
    assert_eq!(mapped(AccessCategory::Background), LinkSet::from_numbers([0]));
    assert_eq!(mapped(AccessCategory::Video), LinkSet::ALL);
    assert_eq!((laptop.off, ap.mapping[0]), (LinkSet::NONE, LinkSet::ALL));
    let change = "[[change]]\nat = \"0.5s\"\nset = { \"node.ap.link_use.on\" = [0] }";
    let scenario = parse(AT_6_GHZ, "", change).expect("a sound scenario");
    let [(_, Change::Links { node, off })] = &scenario.changes[..] else {
        panic!("{:?}", scenario.changes)
    };
    assert_eq!((node.0, *off), (0, LinkSet::from_numbers([1])));
    let error = parse(AT_6_GHZ, "link_use = { voice = [1] }", change).expect_err("voice has none");
    assert!(error.contains("share no link for voice"), "{error}");
}

#[test]
fn what_cannot_be_is_said_with_its_key() {
    let third = "\n[[channel.link]]\nband = \"2.4GHz\"\nwidth = \"20MHz\"";
    let fourth = "\n[[channel.link]]\nband = \"6GHz\"\nchannel = 101\nwidth = \"20MHz\"";
    for (link, laptop, said) in [
        (
            AT_6_GHZ,
            "multi_link = \"emlsr\"\nemlsr = { padding = \"65us\" }",
            "emlsr.padding: expected one of 0us, 32us",
        ),
        (AT_6_GHZ, "emlsr = { padding = \"64us\" }", "for multi_link = \"emlsr\" only"),
        (AT_6_GHZ, "link_use = { voice = [2] }", "link_use.voice: there is no link 2"),
        (AT_6_GHZ, "link_use = { on = [1] }", "expected link 0 among them"),
        (AT_6_GHZ, "link_use = { video = [1], on = [0] }", "one link that is not switched off"),
        (
            AT_6_GHZ,
            "multi_link = \"off\"\nlink_use = { choice = \"load\" }",
            "link_use: this node has one link",
        ),
        (AT_6_GHZ, "standard = \"802.11ax\"\nmulti_link = \"str\"", "several links need 802.11be"),
        (
            AT_6_GHZ,
            "power_save = { kind = \"firmware\" }",
            "not modelled for a node of several links",
        ),
        ("", "multi_link = \"str\"", "add a [[channel.link]]"),
        ("[[channel.link]]\nband = \"5GHz\"", "", "do not overlap"),
        ("[[channel.link]]\nband = \"2.4GHz\"\nwidth = \"80MHz\"", "", "wider than 40MHz"),
        (&format!("{AT_6_GHZ}{third}{fourth}"), "", "up to three"),
    ] {
        let error = parse(link, laptop, "").expect_err(said);
        assert!(error.contains(said), "{error}");
    }
    parse(&format!("{AT_6_GHZ}{third}"), "", "").expect("three links");
}
