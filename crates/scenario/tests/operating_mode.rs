//! Operating modes in a scenario: what a file and its changes give, and what a person reads when
//! there is no such mode.

use lasthop_net::network::Change;
use lasthop_scenario::{Evolving, Scenario, parse};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::cell::OperatingMode;
use lasthop_wifi::phy::ChannelWidth;

/// A cell of `standard` with these keys of the station, on line 7 of the file, and others behind.
fn text(standard: &str, station: &str, rest: &str) -> String {
    format!(
        r#"channel = {{ standard = "{standard}", width = "80MHz" }}
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "phone"
{station}
role = "station"
[[flow]]
name = "down"
from = "ap"
to = "phone"
kind = "udp"
rate = "1Mb/s"
{rest}
"#
    )
}

fn read(station: &str, rest: &str) -> Scenario {
    let scenario = parse("test.toml", &text("802.11ax", station, rest), &[]);
    scenario.unwrap_or_else(|why| panic!("{why}"))
}

fn errors(standard: &str, station: &str, rest: &str) -> String {
    let text = text(standard, station, rest);
    parse("test.toml", &text, &[]).expect_err("it is wrong").to_string()
}

fn mode(width: ChannelWidth, receive_streams: u8) -> OperatingMode {
    OperatingMode { width, receive_streams, transmit_streams: 2, uplink_ofdma: true }
}

/// Somebody who watches is offered modes exactly where a station may have one.
#[test]
fn modes_are_offered_where_they_can_be_set() {
    let cells = [
        ("802.11ac", "", "", true),
        ("802.11ax", "", "", true),
        ("802.11n", "", "", false),
        ("802.11ax", "standard = \"802.11n\"", "", false),
        ("802.11ax", "qos = false", "", false),
        ("802.11ax", "", "standard = \"802.11n\"", false),
        ("802.11ac", "", "qos = false", false),
        ("802.11ax", "", "# independent", false),
    ];
    for (standard, station, access_point, expected) in cells {
        let role = format!("role = \"access-point\"\n{access_point}");
        let mut text = text(standard, station, "").replace("role = \"access-point\"", &role);
        if standard == "802.11n" {
            text = text.replace("80MHz", "40MHz");
        }
        if access_point == "# independent" {
            text = text.replace("width", "independent = true, width");
        }
        let scenario = parse("test.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
        let evolving = Evolving::new("test.toml", &scenario, Seed::new(1, 0)).expect("a text");
        let knobs = evolving.knobs(Duration::ZERO);
        let is_offered = knobs.iter().any(|knob| knob.path == "node.phone.operating_mode");
        let set = "node.phone.operating_mode={ width = \"20MHz\", streams = 1 }".to_owned();
        let is_possible = parse("test.toml", &text, &[set]).is_ok();
        assert_eq!((is_offered, is_possible), (expected, expected), "{text}");
    }
}

#[test]
fn what_is_not_said_is_all_that_the_node_can() {
    let of = |station: &str| {
        let cell = read(station, "").network.cell.expect("a cell");
        assert_eq!(cell.stations[0].operating_mode, None);
        cell.stations[1].operating_mode
    };
    assert_eq!(of(""), None);
    assert_eq!(of("operating_mode = {}"), Some(mode(ChannelWidth::Mhz80, 2)));
    assert_eq!(
        of(r#"operating_mode = { width = "20MHz", streams = 1 }"#),
        Some(mode(ChannelWidth::Mhz20, 1))
    );
    let silent =
        OperatingMode { transmit_streams: 1, uplink_ofdma: false, ..mode(ChannelWidth::Mhz40, 4) };
    assert_eq!(
        of(r#"streams = 4
              operating_mode = { width = "40MHz", transmit_streams = 1, uplink_ofdma = false }"#),
        Some(silent)
    );
}

/// Changes build on each other, and "off" removes all limits.
#[test]
fn changes_tell_modes() {
    let change = |at: u64, set: &str| format!("[[change]]\nat = \"{at}s\"\nset = {{ {set} }}\n");
    let rest = [
        change(1, r#"node.phone.operating_mode = { width = "20MHz", streams = 1 }"#),
        change(2, r#"node.phone.operating_mode.streams = 2"#),
        change(3, r#"node.phone.operating_mode = "off""#),
        // Nothing is different.
        change(4, r#"node.phone.operating_mode = "off""#),
    ];
    let scenario = read("", &rest.concat());
    let modes: Vec<_> = scenario
        .changes
        .iter()
        .map(|(at, change)| match change {
            Change::OperatingMode { mode, .. } => (*at, *mode),
            other => panic!("{other:?}"),
        })
        .collect();
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    assert_eq!(
        modes,
        [
            (at(1), mode(ChannelWidth::Mhz20, 1)),
            (at(2), mode(ChannelWidth::Mhz20, 2)),
            (at(3), mode(ChannelWidth::Mhz80, 2)),
        ]
    );
}

#[test]
fn modes_that_do_not_exist_are_errors_with_a_place() {
    for (standard, station, expected) in [
        (
            "802.11ax",
            r#"operating_mode = { width = "160MHz" }"#,
            "test.toml:7: node.phone.operating_mode.width: expected at most its own 80MHz, got \
             160MHz",
        ),
        (
            "802.11ax",
            "operating_mode = { streams = 3 }",
            "test.toml:7: node.phone.operating_mode.streams: expected at most its own 2, got 3",
        ),
        (
            "802.11ax",
            "operating_mode = { transmit_streams = 3 }",
            "test.toml:7: node.phone.operating_mode.transmit_streams: expected at most its own 2, \
             got 3",
        ),
        (
            "802.11ax",
            "operating_mode = { streams = 0 }",
            "test.toml:7: node.phone.operating_mode.streams: expected a whole number from 1 to 8, \
             got 0",
        ),
        (
            "802.11ac",
            "operating_mode = { uplink_ofdma = false }",
            "test.toml:7: node.phone.operating_mode.uplink_ofdma: 802.11ac has no Trigger frames",
        ),
        (
            "802.11ax",
            "operating_mode = {}\nqos = false",
            "test.toml:7: node.phone.operating_mode: an operating mode needs QoS frames, and qos is \
             false",
        ),
        (
            "802.11ax",
            "operating_mode = {}\nstandard = \"802.11n\"",
            "test.toml:7: node.phone.operating_mode: operating modes need 802.11ac, 802.11ax or 802.11be, not \
             802.11n",
        ),
    ] {
        let read = errors(standard, station, "");
        assert!(read.contains(expected), "{expected}\nand this is read:\n{read}");
    }
    let of_ap = "[node_defaults]\noperating_mode = { streams = 1 }";
    let read = errors("802.11ax", "", of_ap);
    let expected = "an access point keeps the channel of its set; stations have operating modes";
    assert!(read.contains(expected), "{read}");
    let late = "[[change]]\nat = \"1s\"\nset = { node.phone.operating_mode.streams = 3 }";
    let read = errors("802.11ax", "", late);
    assert!(read.contains("expected at most its own 2, got 3"), "{read}");
}
