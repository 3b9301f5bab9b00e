//! Networks that help stations to roam: neighbor reports (802.11k), and requests to move (802.11v).
//! The judges are closed forms of a scan's duration, the order of frames that hostapd and
//! wpa_supplicant have, and tshark.

use super::common::{run, scenario};
use lasthop_trace::{RoamSummary, RoamingSummary, RunDocument};

/// The shipped office for 30 s with the laptop at rest, at the edge of one access point and near the
/// other.
fn office() -> String {
    const WALK: &str = include_str!("../../../../scenarios/office-walk.toml");
    let still = WALK.replace("path = { speed = \"1.4m/s\", through = [[\"45m\", \"0m\"]] }\n", "");
    let still = still.replace("duration = \"40s\"", "duration = \"30s\"");
    still.replace("position = [\"5m\", \"0m\"]", "position = [\"34m\", \"0m\"]")
}

/// The same with further access points of the network on other channels, out of reach.
fn office_of(further: usize) -> String {
    let channels = [100, 116, 132, 149, 157];
    let access_points = channels.iter().take(further).enumerate().map(|(number, channel)| {
        format!(
            "\n[[cell]]\nname = \"far{number}\"\nnetwork = \"office\"\nchannel = {channel}\n\
             [[node]]\nname = \"ap-far{number}\"\nrole = \"access-point\"\nbss = \"far{number}\"\n\
             position = [\"{}m\", \"900m\"]\n",
            900 * (number + 1)
        )
    });
    office() + &access_points.collect::<String>()
}

fn roaming(document: &RunDocument) -> &RoamingSummary {
    document.nodes["laptop"].roaming.as_ref().expect("something came of its roaming")
}

fn only_roam(document: &RunDocument) -> &RoamSummary {
    let [roam] = &roaming(document).roams[..] else { panic!("{:?}", roaming(document)) };
    roam
}

const REPORT: &str = "node.laptop.roaming.neighbor_report=true";

/// A scan of k channels takes k stays of 64 ms and k - 1 times 200 ms between them, and for each what
/// its frames and the flush need. With a report k is the number of channels of the network, and
/// without one that of all: 26.
#[test]
fn a_report_shortens_the_scan_to_the_channels_of_the_network() {
    let ms = |channels: f64| 64.0 * channels + 200.0 * (channels - 1.0);
    for further in [0, 1, 3] {
        let text = office_of(further);
        let channels = 2 + further;
        for (sets, number, listed) in [
            (&[][..], 26, None),
            (&["node.laptop.roaming.channels=8"], 8, None),
            (&[REPORT], channels, Some(channels as u16)),
        ] {
            let document = run(&scenario(&text, sets));
            let roam = only_roam(&document);
            assert_eq!((&*roam.joins, roam.listed_channels), ("ap-lab", listed));
            let (least, more) = (ms(number as f64), 16.0 * number as f64);
            assert!(roam.scan_ms > least && roam.scan_ms < least + more, "{number} {roam:?}");
        }
    }
    let document = run(&scenario(&office(), &[REPORT]));
    // At the beginning, and after the roam.
    assert_eq!(roaming(&document).neighbor_reports, Some(2));
    assert_eq!(roaming(&document).neighbor_reports_missed, None);
}

/// Nobody better is on the listed channels: iwd looks on all others at once, while the signal is low.
#[test]
fn a_scan_of_the_report_in_vain_is_followed_by_one_of_all() {
    let away = |sets: &[&str]| {
        let far = ["node.ap-lab.position=[\"900m\", \"0m\"]"];
        let document = run(&scenario(&office(), &[&far, sets].concat()));
        assert!(roaming(&document).roams.is_empty());
        document.nodes["laptop"].absences.as_ref().expect("it scans").count
    };
    let interval = "node.laptop.roaming.short_interval=20s";
    // The stay on the own channel counts, too.
    assert_eq!(away(&[REPORT, interval]), 2 + 26);
    assert_eq!(away(&[REPORT, interval, "node.laptop.roaming.threshold=-90dBm"]), 0);
}

#[test]
fn keys_without_effect_are_errors() {
    for (set, expected) in
        [("node.laptop.roaming={ neighbor_report = true, short_interval = \"off\" }", "shortens")]
    {
        let parsed = lasthop_scenario::parse("test.toml", &office(), &[set.to_owned()]);
        let why = parsed.map_or_else(|why| why.to_string(), |_| "nothing".to_owned());
        assert!(why.contains(expected), "{set}: {why}");
    }
}
