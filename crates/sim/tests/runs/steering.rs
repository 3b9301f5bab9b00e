//! Networks that help stations to roam: neighbor reports (802.11k), and requests to move (802.11v).
//! The judges are closed forms of a scan's duration, the order of frames that hostapd and
//! wpa_supplicant have, and tshark.

use super::common::{run, scenario};
use lasthop_trace::{RoamSummary, RoamingSummary, RunDocument, SteeredBy};

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
    let is_high = ["node.laptop.roaming.threshold=-90dBm", "node.laptop.roaming.long_interval=20s"];
    assert_eq!(away(&[REPORT, is_high[0], is_high[1]]), 2);
}

/// Six laptops near the first access point and none at the second, near which the first one is, too.
fn crowd(steering: &str) -> String {
    let text = office().replace(
        "network = \"office\"\nchannel = 36\n",
        &format!("network = \"office\"\nchannel = 36\nsteering = {{ {steering} }}\n"),
    );
    let text = text.replace("position = [\"34m\", \"0m\"]", "position = [\"20m\", \"0m\"]");
    let others = (1..6).map(|number| {
        format!(
            "\n[[node]]\nname = \"other{number}\"\nrole = \"station\"\nbss = \"hall\"\n\
             position = [\"{number}m\", \"1m\"]\nroaming = {{ }}\n"
        )
    });
    text + &others.collect::<String>()
}

/// Of six stations at one access point and none at the other, usteer moves one, which leaves a lead of
/// four: the one with the lowest level. The station scans the channel of the only candidate, answers,
/// and goes; its own rule would have let it stay.
#[test]
fn the_weakest_station_of_a_crowd_is_moved() {
    let document = run(&scenario(&crowd("stations = 5"), &[]));
    let steering = roaming(&document).steering.expect("it is asked");
    assert_eq!((steering.requests, steering.accepted, steering.refused), (1, 1, 0));
    let roam = only_roam(&document);
    assert_eq!((roam.steered_by, roam.listed_channels), (Some(SteeredBy::Stations), Some(1)));
    assert_eq!((&*roam.leaves, &*roam.joins), ("ap-hall", "ap-lab"));
    // One stay of 64 ms, with what its frames, the answer and 2 ms before it need.
    assert!(roam.scan_ms > 64.0 + 2.0 && roam.scan_ms < 64.0 + 2.0 + 18.0, "{roam:?}");
    assert!(roam.at_s < 3.0, "{roam:?}");
    let moved = document.nodes.values().filter(|node| node.roaming.is_some()).count();
    assert_eq!(moved, 1);
    let document = run(&scenario(&crowd("stations = 6"), &[]));
    assert_eq!(roaming(&document).steering.map(|it| it.accepted), Some(1));
    let document = run(&scenario(&crowd("stations = 7"), &[]));
    assert!(document.nodes["laptop"].roaming.is_none());
}

/// A level below the threshold for more than five looks brings a request, and with a candidate in
/// reach a move with this cause. A station that does not understand requests stays, or is removed 100
/// beacon intervals later and comes back to an access point that it hears.
#[test]
fn a_weak_station_is_asked_to_go() {
    let policy = |insist: bool| {
        let text = office().replace(
            "network = \"office\"\nchannel = 36\n",
            &format!(
                "network = \"office\"\nchannel = 36\nsteering = {{ stations = \"off\", signal = \
                 \"-40dBm\", insist = {insist} }}\n"
            ),
        );
        text.replace("position = [\"34m\", \"0m\"]", "position = [\"20m\", \"0m\"]")
    };
    let quiet = "node.laptop.roaming.short_interval=off";
    let document = run(&scenario(&policy(false), &[quiet]));
    let roam = only_roam(&document);
    assert_eq!(roam.steered_by, Some(SteeredBy::Signal));
    assert!(roam.at_s > 6.0 && roam.at_s < 8.0, "{roam:?}");
    let deaf = "node.laptop.roaming.transition_requests=false";
    let document = run(&scenario(&policy(false), &[quiet, deaf]));
    let steering = roaming(&document).steering.expect("it is asked");
    assert_eq!((steering.requests, steering.accepted, steering.refused), (1, 0, 0));
    assert!(roaming(&document).roams.is_empty());
    let document = run(&scenario(&policy(true), &[quiet, deaf]));
    assert_eq!(roaming(&document).steering.map(|it| it.removed), Some(1));
    let roam = only_roam(&document);
    assert_eq!(roam.steered_by, Some(SteeredBy::Removal));
    // wpa_supplicant looks 100 ms later, on all channels, and passes over the one that removed it.
    assert!((roam.scan_ms - 26.0 * 64.0).abs() < 1.0, "{roam:?}");
    assert_eq!(&*roam.joins, "ap-lab");
    assert!(roam.at_s > 6.0 + 10.24 + 1.764 && roam.at_s < 8.0 + 10.24 + 1.764, "{roam:?}");
}

/// Nobody else is in reach: the station scans the listed channel in vain and refuses, once a minute.
#[test]
fn a_station_without_a_candidate_refuses() {
    let text = office().replace(
        "network = \"office\"\nchannel = 36\n",
        "network = \"office\"\nchannel = 36\nsteering = { stations = \"off\", signal = \"-40dBm\" }\n",
    );
    let sets = [
        "node.ap-lab.position=[\"900m\", \"0m\"]",
        "node.laptop.roaming.short_interval=off",
        "duration=\"100s\"",
    ];
    let document = run(&scenario(&text, &sets));
    let steering = roaming(&document).steering.expect("it is asked");
    assert_eq!((steering.requests, steering.accepted, steering.refused), (2, 0, 2));
    assert!(roaming(&document).roams.is_empty());
}

/// SAE takes 17 ms more at the access point; Open System authentication is two frames. The laptop goes
/// to the other access point and back: SAE once, or not at all if access points share keys, or each
/// time if a key is too old.
#[test]
fn a_cached_key_replaces_sae() {
    const WALK: &str = include_str!("../../../../scenarios/office-walk.toml");
    let text = WALK.replace("[[\"45m\", \"0m\"]]", "[[\"45m\", \"0m\"], [\"5m\", \"0m\"]]");
    let text = text.replace("duration = \"40s\"", "duration = \"70s\"");
    for (set, sae) in [
        ("node.laptop.roaming.key_lifetime=43200s", [true, false]),
        ("node.laptop.roaming.shared_keys=true", [false, false]),
        ("node.laptop.roaming.key_lifetime=20s", [true, true]),
        ("node.laptop.roaming.key_lifetime=off", [true, true]),
    ] {
        let security = "node.laptop.roaming.security=\"wpa3\"";
        let document = run(&scenario(&text, &[security, set]));
        let done = roaming(&document).roams.iter().map(|roam| {
            let authentication_ms = roam.authentication_ms.expect("it joins");
            // The way to the access point is part of it.
            authentication_ms - 60.0 > 17.0
        });
        assert_eq!(done.collect::<Vec<_>>(), sae, "{set} {:?}", roaming(&document));
    }
}

/// tshark finds nothing malformed in a capture of such a run, and reads the frames in their order with
/// what they say: the report, the request with its candidate and timer, the answer, the next report.
#[cfg(feature = "files")]
#[test]
fn tshark_reads_reports_and_requests() {
    let text = office().replace(
        "network = \"office\"\nchannel = 36\n",
        "network = \"office\"\nchannel = 36\nsteering = { stations = \"off\", signal = \"-40dBm\", \
         insist = true }\n",
    );
    let sets = ["node.laptop.position=[\"20m\", \"0m\"]", "duration=\"10s\"", REPORT];
    let scenario = scenario(&text, &sets);
    let path = std::env::temp_dir().join(format!("lasthop-steering-{}", std::process::id()));
    let mut directory = lasthop_trace::OutputDir::create(&path).expect("it can be made");
    let frames = Some(lasthop_trace::NodeFrames::MadeUp);
    let files = lasthop_sim::files(&scenario, true, frames);
    let (names, recording) = (lasthop_sim::names(&scenario), lasthop_sim::recording(&scenario));
    let recorder = lasthop_trace::Recorder::with_files(names, recording, &files, &mut directory)
        .expect("files");
    lasthop_sim::record(&scenario, 0, recorder, &mut lasthop_sim::go_on).expect("it runs");
    directory.commit().expect("they are kept");
    let read = read_by_tshark(&path.join("air.pcapng"));
    std::fs::remove_dir_all(&path).expect("they were kept");
    let Some(read) = read else { return };
    let expected = ["|5|4||", "|5|5|36,52|", "|10|7|52|100", "|10|8||", "|5|4||", "|5|5|52,36|"];
    assert_eq!(read, expected);
}

/// Category, action, channels of Neighbor Reports and timer of the action frames of 802.11k and 802.11v,
/// and of malformed frames; `None` without tshark.
#[cfg(feature = "files")]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn read_by_tshark(path: &std::path::Path) -> Option<Vec<String>> {
    let mut command = std::process::Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-T", "fields", "-E", "separator=|", "-Y"]);
    command.arg("_ws.malformed || wlan.fixed.category_code == 5 || wlan.fixed.category_code == 10");
    for field in [
        "_ws.malformed",
        "wlan.fixed.category_code",
        "wlan.fixed.action_code",
        "wlan.nreport.channumber",
        "wlan.fixed.disassoc_timer",
    ] {
        command.args(["-e", field]);
    }
    let Ok(output) = command.output() else {
        println!("skipped, because tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn keys_without_effect_are_errors() {
    for (set, expected) in [
        ("node.laptop.roaming={ neighbor_report = true, short_interval = \"off\" }", "shortens"),
        ("node.laptop.roaming.transition_requests=false", "no access point of its network"),
        ("node.laptop.roaming.shared_keys=true", "\"wpa3\" and \"ft-wpa3\" only"),
        ("node.laptop.roaming.key_lifetime=60s", "\"wpa3\" and \"ft-wpa3\" only"),
        (
            "node.laptop.roaming={ security = \"wpa3\", key_lifetime = \"off\", shared_keys = true }",
            "not used again",
        ),
        ("node.laptop.roaming={ security = \"wpa3\", key_lifetime = \"0s\" }", "more than zero"),
        ("cell.hall.steering={ stations = \"off\" }", "both \"off\""),
        ("cell.hall.steering={ stations = 0 }", "1 to 2007"),
        ("cell.hall.steering={ interval = \"0s\" }", "more than zero"),
        ("cell.hall={ steering = { }, network = \"another\" }", "no station has roaming"),
    ] {
        let parsed = lasthop_scenario::parse("test.toml", &office(), &[set.to_owned()]);
        let why = parsed.map_or_else(|why| why.to_string(), |_| "nothing".to_owned());
        assert!(why.contains(expected), "{set}: {why}");
    }
}
