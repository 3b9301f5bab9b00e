//! Findings where a neighbour is the cause: a hidden one that one access point sends against,
//! whose PPDUs overlap at the station as often as the neighbour is on the air (an account of the
//! scenario, not of the model), and one that is off.

mod common;

use lasthop_report::finding::{Finding, Kind, findings};

/// An access point that does not hear the neighbour sends to a station that does.
const HIDDEN: &str = r#"
duration = "3s"
[channel]
standard = "802.11ax"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[neighbour]]
name = "next-door"
level = "-70dBm"
levels = [{ node = "ap", level = "-100dBm" }]
busy = 0.9
[[link]]
between = ["ap", "laptop"]
snr = "25dB"
[[flow]]
name = "film"
from = "ap"
to = "laptop"
kind = "udp"
rate = "20Mb/s"
"#;

fn found(sets: &[&str]) -> Vec<Finding> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    findings(&common::run("hidden.toml", HIDDEN, &sets))
}

#[test]
fn a_hidden_neighbour_is_named() {
    let found = found(&[]);
    assert_eq!(found[0].kind, Kind::Contention, "{found:?}");
    let named = "1 node and the neighbour next-door share the channel";
    assert!(found[0].sentence.starts_with(named), "{}", found[0].sentence);
}

#[test]
fn one_that_is_off_is_none() {
    assert!(found(&["neighbour.next-door.busy=0"]).is_empty());
}
