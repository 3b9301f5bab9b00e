//! Findings of runs in which an access point leaves its station. Nobody scans, and the signal is
//! strong: neither a scan nor a weak link may be blamed.

mod common;

use lasthop_report::finding::{Finding, Kind, findings};

/// A station at 20 m without roaming, and an access point that flees from radar at 3 s. The key `check`
/// shortens the silence after its return.
const FLIGHT: &str = r#"
duration = "10s"
warmup = "0s"
[channel]
standard = "802.11n"
width = "20MHz"
[[cell]]
name = "home"
channel = 100
channel_switch = { check = "1s" }
[[node]]
name = "ap"
role = "access-point"
bss = "home"
[[node]]
name = "laptop"
role = "station"
bss = "home"
position = ["20m", "0m"]
[[flow]]
name = "ping"
from = "ap"
to = "laptop"
kind = "ping"
interval = "20ms"
[[change]]
at = "3s"
set = { "cell.home.channel_switch.radar" = true }
"#;

fn found(text: &str) -> Vec<Finding> {
    findings(&common::run("test.toml", text, &[]))
}

/// Packets wait for four beacon intervals, because the announcement forbids data.
#[test]
fn a_quiet_announcement_is_no_scan() {
    let [finding] = &found(FLIGHT)[..] else { panic!("one fault: {:?}", found(FLIGHT)) };
    assert_eq!(finding.kind, Kind::ChannelSwitch);
    assert!(finding.sentence.ends_with("410 ms without data"), "{}", finding.sentence);
    assert!(finding.device.is_some_and(|device| device.starts_with("A channel without radar")));
}

/// On its return the access point listens for radar, and its station searches for it. Meanwhile most
/// frames of the access point fail, on a link where all frames of the station arrive.
#[test]
fn frames_to_a_station_that_is_gone_are_no_weak_link() {
    let back = "[[change]]\nat = \"6s\"\nset = { \"cell.home.channel_switch.radar\" = false }\n";
    let text = FLIGHT.to_owned() + back;
    let run = common::run("test.toml", &text, &[]);
    let [down, up] = ["ap->laptop", "laptop->ap"].map(|link| &run.links[link]);
    assert!(down.mpdu_error_rate > Some(0.4) && up.mpdu_error_rate < Some(0.02));
    let kinds: Vec<Kind> = findings(&run).iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::Roaming, Kind::ChannelSwitch]);
}
