//! MU-MIMO in a scenario: what a file gives, and what a person reads when there is no such thing.

use lasthop_scenario::parse;
use lasthop_units::Duration;
use lasthop_wifi::cell::{MuMimoConfig, OfdmaAcknowledgement};
use lasthop_wifi::phy::{Codebook, HeGuardInterval};

/// A cell of `standard` with these keys of the access point, on line 5 of the file.
fn text(standard: &str, access_point: &str) -> String {
    format!(
        r#"channel = {{ standard = "{standard}", band = "5GHz", width = "80MHz" }}
[[node]]
name = "ap"
role = "access-point"
{access_point}
[[node]]
name = "laptop"
role = "station"
[[flow]]
name = "down"
from = "ap"
to = "laptop"
kind = "udp"
rate = "1Mb/s"
"#
    )
}

fn mu_mimo(standard: &str, access_point: &str) -> MuMimoConfig {
    let scenario = parse("test.toml", &text(standard, access_point), &[]);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let cell = scenario.network.cell.expect("a cell");
    cell.stations.iter().find_map(|station| station.mu_mimo).expect("it has it")
}

#[test]
fn what_a_file_gives() {
    let usual = MuMimoConfig {
        stations_max: 4,
        antennas: 4,
        streams_max: 1,
        acknowledgement: OfdmaAcknowledgement::BlockAckRequest,
        guard_interval: HeGuardInterval::Ns800Ltf2x,
        sounding_interval: Duration::from_millis(20),
        grouping: 4,
        codebook: Codebook::Fine,
        doppler_hz: 0.4,
    };
    assert_eq!(mu_mimo("802.11ac", "mu_mimo = {}"), usual);
    let together = OfdmaAcknowledgement::MuBlockAckRequest;
    let ax = MuMimoConfig { acknowledgement: together, ..usual };
    assert_eq!(mu_mimo("802.11ax", "mu_mimo = {}"), ax);
    let all = r#"streams = 6
mu_mimo = { stations = 8, streams = 2, antennas = 8, acknowledgement = "aggregated", sounding_interval = "5ms", grouping = 16, doppler = "3Hz" }"#;
    let other = MuMimoConfig {
        stations_max: 8,
        antennas: 8,
        streams_max: 2,
        acknowledgement: OfdmaAcknowledgement::Aggregated,
        sounding_interval: Duration::from_millis(5),
        grouping: 16,
        doppler_hz: 3.0,
        ..usual
    };
    assert_eq!(mu_mimo("802.11ax", all), other);
    // As many antennas as streams, at least.
    assert_eq!(mu_mimo("802.11ax", "streams = 6\nmu_mimo = {}").antennas, 6);
    let coarse = mu_mimo("802.11ac", r#"mu_mimo = { codebook = "coarse", grouping = 1 }"#);
    assert_eq!(coarse, MuMimoConfig { codebook: Codebook::Coarse, grouping: 1, ..usual });
}

#[test]
fn what_does_not_exist() {
    for (standard, access_point, expected) in [
        ("802.11ac", "mu_mimo = { stations = 5 }", "802.11ac has up to 4 stations in a PPDU"),
        (
            "802.11ac",
            r#"mu_mimo = { acknowledgement = "mu-bar" }"#,
            r#"802.11ac has "bar" only: it has no Trigger frames"#,
        ),
        ("802.11ac", "mu_mimo = { grouping = 16 }", "expected 1, 2 or 4 with 802.11ac, got 16"),
        (
            "802.11ax",
            "mu_mimo = { grouping = 2 }",
            "expected 4 or 16 with 802.11ax and 802.11be, got 2",
        ),
        (
            "802.11ax",
            r#"mu_mimo = { grouping = 16, codebook = "coarse" }"#,
            "groups of 16 are reported with the fine codebook only",
        ),
        (
            "802.11ax",
            "mu_mimo = { streams = 3 }",
            "two stations with 3 streams each need 6 antennas, and there are 4",
        ),
        (
            "802.11ac",
            "mu_mimo = { streams = 2 }\nstreams = 1",
            "expected at most its own 1 streams, got 2",
        ),
        (
            "802.11ax",
            r#"mu_mimo = { sounding_interval = "500us" }"#,
            "expected 1ms or more, got 500us",
        ),
        ("802.11ax", "mu_mimo = { antennas = 9 }", "expected a whole number from 2 to 8, got 9"),
        ("802.11ax", "mu_mimo = {}\nqos = false", "MU-MIMO needs QoS frames, and qos is false"),
        (
            "802.11ax",
            "aggregation = { built_ahead = true }\nmu_mimo = {}",
            "with mu_mimo A-MPDUs are built when the channel is gained; take mu_mimo or built_ahead",
        ),
        ("802.11ax", "mu_mimo = { groups = 3 }", r#"unknown key; did you mean "grouping"?"#),
    ] {
        let why = parse("test.toml", &text(standard, access_point), &[]).expect_err(expected);
        let why = why.to_string();
        assert!(why.contains(expected), "{access_point}: {why}");
        assert!(why.contains("test.toml:5"), "{access_point}: {why}");
    }
    let shared = text("802.11ac", "mu_mimo = {}")
        .replace("\"80MHz\"", "\"80MHz\", error_model = { stream_power = \"shared\" }");
    let why = parse("test.toml", &shared, &[]).expect_err("both").to_string();
    assert!(why.contains("test.toml:5") && why.contains("share the power anyway"), "{why}");
    let few = "streams = 6\nmu_mimo = { antennas = 4 }";
    let why = parse("test.toml", &text("802.11ax", few), &[]).expect_err("too few").to_string();
    assert!(why.contains("expected as many as its 6 streams at least, got 4"), "{why}");
}
