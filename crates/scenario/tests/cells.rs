//! `[[cell]]`s: colours by set, levels and powers of spatial reuse; errors of impossible ones.

use lasthop_scenario::{Scenario, parse};
use lasthop_units::Dbm;
use lasthop_wifi::cell::{BandwidthAccess, CellConfig, ObssPd};
use lasthop_wifi::phy::{Band, ChannelWidth};

/// Two sets, the one without a name second, and neighbours.
const FLATS: &str = r#"
[channel]
standard = "802.11ax"
[[node]]
name = "their-ap"
role = "access-point"
bss = "upstairs"
position = ["0m", "20m"]
streams = 4
[[node]]
name = "guest"
role = "station"
bss = "upstairs"
count = 2
position = ["0m", "23m"]
tx_power = "15dBm"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
"#;

fn scenario(text: &str) -> Scenario {
    parse("flats.toml", &format!("{FLATS}{text}"), &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn cell(scenario: &Scenario) -> &CellConfig {
    scenario.network.cell.as_ref().expect("a cell")
}

/// By node of the file.
fn colours(scenario: &Scenario) -> Vec<u8> {
    let cell = cell(scenario);
    cell.stations.iter().map(|station| cell.colours[station.bss.index()]).collect()
}

/// By default no two sets have the same colour, whatever is given to others and in which order
/// the file has them: the lowest ones, first of the set without a name, then by name.
#[test]
fn colours_differ_unless_they_are_given() {
    assert_eq!(colours(&scenario("")), [2, 2, 2, 1, 1]);
    for (cells, expected) in [
        ("[[cell]]\ncolour = 9\n", [1, 1, 1, 9, 9]),
        ("[[cell]]\nname = \"upstairs\"\ncolour = 1\n", [1, 1, 1, 2, 2]),
        ("[[cell]]\nname = \"upstairs\"\ncolour = 63\n[[cell]]\ncolour = 63\n", [63; 5]),
        ("[[cell]]\nname = \"upstairs\"\ncolour = 0\n", [0, 0, 0, 1, 1]),
    ] {
        assert_eq!(colours(&scenario(cells)), expected, "{cells}");
    }
    let neighbours = "
[[neighbour]]
name = \"zoo\"
level = \"-70dBm\"
busy = 0.1
colour = 2
[[neighbour]]
name = \"bar\"
level = \"-70dBm\"
busy = 0.1
[[neighbour]]
name = \"attic\"
level = \"-70dBm\"
busy = 0.1
";
    // Each has an access point and a station.
    let expected = [3, 3, 3, 1, 1, 2, 2, 5, 5, 4, 4];
    assert_eq!(colours(&scenario(neighbours)), expected);
    // 63 colours are all there are; then they repeat.
    let many: String = (1..=64)
        .map(|n| format!("[[node]]\nname = \"ap-{n}\"\nrole = \"access-point\"\nbss = \"s{n}\"\n"))
        .collect();
    let scenario = scenario(&many);
    let mut all = cell(&scenario).colours.clone();
    all.sort_unstable();
    assert_eq!((all[0], all[1], all[2], all[3], all.len()), (1, 1, 2, 2, 66));
    assert!(all[6..].windows(2).all(|pair| pair[0] < pair[1] || pair[0] <= 3), "{all:?}");
    // Without HE PPDUs there are none.
    let plain = FLATS.replace("802.11ax", "802.11ac");
    assert!(cell(&parse("a.toml", &plain, &[]).expect("valid")).colours.is_empty());
}

/// Every node of the set has the level, its own power, and the reference that 26.10.2.4 gives:
/// 25 dBm for the access point of four streams.
#[test]
fn a_set_reuses_the_air() {
    let level = Dbm(-72.0);
    let upstairs = |tx_power: f64, reference: f64| {
        Some(ObssPd { level, tx_power: Dbm(tx_power), tx_power_reference: Dbm(reference) })
    };
    let sta = upstairs(15.0, 21.0);
    let expected = [upstairs(20.0, 25.0), sta, sta, None, None];
    for said in ["\"-72dBm\"", "{ level = \"-72dBm\" }"] {
        let text = format!("[[cell]]\nname = \"upstairs\"\nspatial_reuse = {said}\n");
        let scenario = scenario(&text);
        let found: Vec<_> = cell(&scenario).stations.iter().map(|it| it.obss_pd).collect();
        assert_eq!(found, expected);
        assert_eq!(found[0].map(|it| it.tx_power_max()), Some(Some(Dbm(15.0))));
    }
    for said in ["", "spatial_reuse = \"off\"", "spatial_reuse = { level = \"off\" }"] {
        let scenario = scenario(&format!("[[cell]]\nname = \"upstairs\"\n{said}\n"));
        assert!(cell(&scenario).stations.iter().all(|it| it.obss_pd.is_none()));
    }
}

/// Primary channel and bandwidth access of each node of the file.
fn channels(scenario: &Scenario) -> Vec<(u8, BandwidthAccess)> {
    let cell = cell(scenario);
    let of = |bss| {
        let channel = cell.channel_of(bss);
        (channel.primary.number(cell.band), channel.access)
    };
    cell.stations.iter().map(|station| of(station.bss)).collect()
}

/// Sets use their channel, or the band's first one; a neighbour uses the channel of the set without
/// a name. Without any channel all sets use the first one.
#[test]
fn sets_are_on_channels() {
    use BandwidthAccess::{Dynamic, Static};
    const NEAR: &str = "[[neighbour]]\nname = \"n\"\nlevel = \"-70dBm\"\nbusy = 0.1\n";
    assert!(cell(&scenario(NEAR)).channels.is_empty());
    for (text, first, upstairs, neighbour) in [
        (format!("[[cell]]\nchannel = 149\n{NEAR}"), (149, Dynamic), (36, Dynamic), 149),
        (format!("[[cell]]\nchannel = 44\n{NEAR}channel = 40\n"), (44, Dynamic), (36, Dynamic), 40),
        (
            format!("[[cell]]\nname = \"upstairs\"\nchannel = 165\nbandwidth = \"static\"\n{NEAR}"),
            (36, Dynamic),
            (165, Static),
            36,
        ),
        (format!("{NEAR}channel = 64\nwidth = \"20MHz\"\n"), (36, Dynamic), (36, Dynamic), 64),
    ] {
        let scenario = scenario(&text);
        let expected = [[upstairs; 3].to_vec(), [first; 2].to_vec(), vec![(neighbour, Dynamic); 2]];
        assert_eq!(channels(&scenario), expected.concat(), "{text}");
        assert!(scenario.warnings().is_empty(), "{:?}", scenario.warnings());
    }
    let wide = FLATS.replace("[channel]", "[channel]\nwidth = \"80MHz\"");
    let text = format!("{wide}{NEAR}channel = 44\nwidth = \"20MHz\"\nmcs = 7\n");
    let scenario = parse("flats.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let widths = cell(&scenario).stations.iter().map(|station| station.capabilities.width());
    let (own, theirs) = (ChannelWidth::Mhz80, ChannelWidth::Mhz20);
    assert_eq!(widths.collect::<Vec<_>>(), [vec![own; 5], vec![theirs; 2]].concat());
    assert_eq!(cell(&scenario).band, Band::Ghz5);
}

/// Without nodes that have no set, a neighbour is where the first set by name is, whichever comes
/// first in the file.
#[test]
fn a_neighbour_is_on_the_channel_of_the_first_set_by_name() {
    let set = |bss: &str| {
        format!(
            "[[node]]\nname = \"ap-{bss}\"\nrole = \"access-point\"\nbss = \"{bss}\"\n\
             [[node]]\nname = \"sta-{bss}\"\nrole = \"station\"\nbss = \"{bss}\"\n"
        )
    };
    let rest = "[[cell]]\nname = \"left\"\nchannel = 44\n\
                [[neighbour]]\nname = \"n\"\nlevel = \"-70dBm\"\nbusy = 0.1\n";
    for (first, second) in [("left", "right"), ("right", "left")] {
        let text = format!("{}{}{rest}", set(first), set(second));
        let scenario = parse("sets.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
        let numbers: Vec<u8> = channels(&scenario).iter().map(|(number, _)| *number).collect();
        let of = |bss: &str| if bss == "left" { 44 } else { 36 };
        assert_eq!(numbers, [of(first), of(first), of(second), of(second), 44, 44]);
    }
}

#[test]
fn channels_that_cannot_be() {
    let at = |channel: &str| FLATS.replace("[channel]", &format!("[channel]\n{channel}"));
    let near = "[[neighbour]]\nname = \"n\"\nlevel = \"-70dBm\"\nbusy = 0.1\n";
    for (channel, text, expected) in [
        (
            "",
            "[[cell]]\nchannel = 38".to_owned(),
            "cell.0.channel: 5GHz has the channels 36, 40, 44, 48, 52, 56, 60, 64, 100, 104, 108, 112, \
             116, 120, 124, 128, 132, 136, 140, 144, 149, 153, 157, 161, 165, not 38",
        ),
        (
            "band = \"2.4GHz\"",
            format!("{near}channel = 3"),
            "neighbour.n.channel: 2.4GHz has the channels 1, 5, 6, 9, 11, 13, not 3",
        ),
        (
            "band = \"6GHz\"",
            "[[cell]]\nchannel = 36".to_owned(),
            "6GHz has the channels 1, 5, 9, .. 233, not 36",
        ),
        ("", format!("{near}channel = 0"), "expected a whole number from 1 to 233"),
        (
            "width = \"80MHz\"",
            "[[cell]]\nchannel = 165".to_owned(),
            "cell.0.channel: channel 165 is part of none that is wider than 20MHz, and nodes of this \
             set have 80MHz; give them less, or take one of 36, 40",
        ),
        (
            "width = \"160MHz\"",
            format!("[[cell]]\nchannel = 36\n{near}channel = 149"),
            "neighbour.n.channel: channel 149 is part of none that is wider than 80MHz",
        ),
        (
            "band = \"2.4GHz\"",
            format!("[[cell]]\nchannel = 6\n{near}channel = 5"),
            "channels that overlap in part are not modelled",
        ),
        (
            "band = \"2.4GHz\"\nwidth = \"40MHz\"",
            format!("{near}channel = 11\nwidth = \"20MHz\""),
            "channels that overlap in part are not modelled",
        ),
        (
            "",
            "[[cell]]\nbandwidth = \"wide\"".to_owned(),
            "cell.0.bandwidth: expected \"dynamic\" or \"static\"",
        ),
        (
            "",
            format!("{near}width = \"40MHz\""),
            "expected at most 20MHz, the channel's width and 802.11ax's",
        ),
    ] {
        let text = format!("{}{text}", at(channel));
        let error = parse("flats.toml", &text, &[]).expect_err("an error").to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.contains("flats.toml:"), "{error}");
    }
}

#[test]
fn cells_that_cannot_be() {
    let ac = "[[cell]]\nspatial_reuse = \"-72dBm\"\ncolour = 3";
    for (standard, text, expected) in [
        (
            "802.11ax",
            "[[cell]]\nname = \"cellar\"",
            "cell.cellar.name: no node has bss = \"cellar\"; \
          there are bss = the one without a name, \"upstairs\"",
        ),
        ("802.11ax", "[[cell]]\n[[cell]]", "cell.1: there are two cells without a name"),
        (
            "802.11ax",
            "[[cell]]\nname = \"upstairs\"\n[[cell]]\nname = \"upstairs\"",
            "cell.upstairs.name: there are two cells called \"upstairs\"",
        ),
        (
            "802.11ax",
            "[[cell]]\ncolour = 64",
            "cell.0.colour: expected a whole number from 0 to 63",
        ),
        (
            "802.11ax",
            "[[cell]]\ncolour = -1",
            "cell.0.colour: expected a whole number from 0 to 63",
        ),
        (
            "802.11ax",
            "[[cell]]\nspatial_reuse = \"-61dBm\"",
            "expected -82dBm to -62dBm, or \"off\", got -61dBm",
        ),
        ("802.11ax", "[[cell]]\nspatial_reuse = \"-83dBm\"", "expected -82dBm to -62dBm"),
        ("802.11ax", "[[cell]]\nspatial_reuse = true", "cell.0.spatial_reuse"),
        (
            "802.11ax",
            "[[cell]]\ncolour = 0\nspatial_reuse = \"-72dBm\"",
            "without a colour PPDUs of other sets are not recognised",
        ),
        ("802.11ac", ac, "spatial reuse needs 802.11ax or 802.11be, not 802.11ac"),
        ("802.11ac", ac, "cell.0.colour: a BSS colour needs 802.11ax or 802.11be, not 802.11ac"),
        (
            "802.11n",
            "[[neighbour]]\nname = \"n\"\nlevel = \"-70dBm\"\nbusy = 0.1\ncolour = 4",
            "neighbour.n.colour: a BSS colour needs 802.11ax or 802.11be, not 802.11n",
        ),
        (
            "802.11ax",
            "[[neighbour]]\nname = \"n\"\nlevel = \"-70dBm\"\nbusy = 0.1\n[[cell]]\nname = \"n\"",
            "cell.n.name: no node has bss = \"n\"",
        ),
    ] {
        let text = format!("{}{text}", FLATS.replace("802.11ax", standard));
        let error = parse("flats.toml", &text, &[]).expect_err("an error").to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.contains("flats.toml:"), "{error}");
    }
    let named = FLATS.replace("role = \"access-point\"\n[[node]]\nname = \"laptop\"\nrole = \"station\"", 
        "role = \"access-point\"\nbss = \"a\"\n[[node]]\nname = \"laptop\"\nrole = \"station\"\nbss = \"a\"");
    let error =
        parse("flats.toml", &format!("{named}[[cell]]\ncolour = 3"), &[]).expect_err("an error");
    let expected = "every node has a bss, so this cell needs a name: one of \"a\", \"upstairs\"";
    assert!(error.to_string().contains(expected), "{error}");
    let wired = "[[node]]\nname = \"one\"\nrole = \"host\"\n[[cell]]\ncolour = 3";
    let error = parse("flats.toml", wired, &[]).expect_err("an error").to_string();
    assert!(
        error.contains("cell.0: a cell is on the air, and there is no node with a radio"),
        "{error}"
    );
    // Its power rule is that of the first instant.
    let moved = format!(
        "{FLATS}[[cell]]\nspatial_reuse = \"-72dBm\"\n[[change]]\nat = \"1s\"\nset = {{ node.ap.tx_power = \"10dBm\" }}"
    );
    let error = parse("flats.toml", &moved, &[]).expect_err("an error").to_string();
    assert!(
        error.contains("tx_power of a node whose cell has spatial_reuse cannot change"),
        "{error}"
    );
}
