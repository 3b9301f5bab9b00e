//! Access points that move to another channel, in whole networks: what a run, its captures (as tshark
//! reads them) and its findings say. The judges are closed forms in beacon intervals, the rules of
//! radar, and tshark, without which that test is skipped.

#![allow(clippy::unwrap_used)]

use super::common::{run, scenario};
use lasthop_net::network::Change;
use lasthop_trace::{ChannelSwitchSummary, NodeFrames, OutputDir, Recorder, RunDocument};
use lasthop_units::Duration;
use std::path::Path;
use std::process::Command;

/// The shipped office, where the laptop stays near the first of two access points.
const WALK: &str = include_str!("../../../../scenarios/office-walk.toml");

const BEACON_MS: f64 = 102.4;

fn office() -> String {
    let path = "path = { speed = \"1.4m/s\", through = [[\"45m\", \"0m\"]] }\n";
    assert!(WALK.contains(path), "the laptop is carried");
    WALK.replace(path, "").replace("duration = \"40s\"", "duration = \"20s\"")
}

/// A cell without roaming: an access point, two stations and a server.
const HOME: &str = r#"
    duration = "20s"
    [channel]
    standard = "802.11n"
    [[cell]]
    channel = 36
    channel_switch = {}
    [[node]]
    name = "ap"
    role = "access-point"
    [[node]]
    name = "laptop"
    role = "station"
    [[node]]
    name = "phone"
    role = "station"
    position = ["3m", "0m"]
    [[node]]
    name = "server"
    role = "host"
    [[wire]]
    between = ["server", "ap"]
    [[flow]]
    name = "ping"
    from = "server"
    to = "laptop"
    kind = "ping"
    interval = "10ms"
    [[flow]]
    name = "upload"
    from = "phone"
    to = "server"
    kind = "udp"
    rate = "2Mb/s"
"#;

fn moves(document: &RunDocument, name: &str) -> Vec<ChannelSwitchSummary> {
    document.nodes[name].channel_switches.clone()
}

/// The order comes at 5 s, 17.6 ms before a beacon time. With mode 1 no data are sent from the first of
/// four announcements until the beacon at the fifth beacon time, four intervals later; with mode 0 Linux'
/// stations are away for the last interval. Pings wait (mode 1), or are lost in it (mode 0).
#[test]
fn plain_stations_follow_their_access_point() {
    for quiet in [true, false] {
        let change = "change=[{ at = \"5s\", set = { \"cell.0.channel\" = 149 } }]";
        let key = format!("cell.0.channel_switch.quiet={quiet}");
        let document = run(&scenario(HOME, &[change, &key]));
        let [one] = &moves(&document, "ap")[..] else { panic!("it moves once") };
        assert_eq!(
            (one.from_channel, one.to_channel, one.radar, one.quiet),
            (36, 149, false, quiet)
        );
        assert_eq!((one.stations, one.followed), (2, 2));
        let first = BEACON_MS - 5_000.0 % BEACON_MS;
        let announced = one.announced_ms.unwrap();
        let expected = first + 4.0 * BEACON_MS;
        assert!(
            announced > expected - 0.001 && announced < expected + 6.0,
            "{announced} of {expected}"
        );
        let without = one.without_ms.unwrap();
        let expected = if quiet { 4.0 * BEACON_MS } else { BEACON_MS };
        assert!((without - expected).abs() < 6.0, "{without} of {expected}");
        let ping = &document.flows["ping"];
        if quiet {
            assert_eq!(ping.packets_lost, 0);
            let longest = ping.rtt_ms.unwrap().max;
            // Packets at the access point wait from the order on.
            assert!((longest - announced).abs() < 12.0, "{longest}");
        } else {
            let lost = ping.packets_lost as f64;
            // Retries of the last ones may reach the station once it is back.
            assert!((1.0..=BEACON_MS / 10.0 + 2.0).contains(&lost), "{lost}");
        }
        assert!(document.nodes["laptop"].roaming.is_none());
    }
}

/// A radar at 5 s: the access point flees from 100 to 36 with mode 1, and its station follows. Once the
/// radar is gone it returns, and is silent for the check; the station loses it, and joins the other
/// access point of its network.
#[test]
fn a_radar_drives_the_network_away() {
    let sets = [
        "cell.hall.channel=100",
        "cell.hall.channel_switch={ check = \"8s\" }",
        "change=[{ at = \"5s\", set = { \"cell.hall.channel_switch.radar\" = true } }, \
         { at = \"9s\", set = { \"cell.hall.channel_switch.radar\" = false } }]",
    ];
    let document = run(&scenario(&office(), &sets));
    let [flees, returns] = &moves(&document, "ap-hall")[..] else { panic!("it moves twice") };
    assert_eq!(
        (flees.from_channel, flees.to_channel, flees.radar, flees.quiet),
        (100, 36, true, true)
    );
    assert_eq!((flees.stations, flees.followed, flees.check_ms), (1, 1, None));
    assert!(flees.announced_ms.unwrap() < 10_000.0, "the channel move time");
    assert_eq!((returns.from_channel, returns.to_channel, returns.radar), (36, 100, false));
    assert_eq!((returns.followed, returns.check_ms), (0, Some(8_000.0)));
    let roaming = document.nodes["laptop"].roaming.as_ref().unwrap();
    assert_eq!(roaming.access_points_lost, 1);
    let [roam] = &roaming.roams[..] else { panic!("it moves once: {roaming:?}") };
    assert_eq!(&*roam.joins, "ap-lab");
    // It follows one interval before the access point, which is silent there: seven beacons, up to a
    // whole second of its clock, and a search of 26 channels.
    let follows_s = 9.0 + (returns.announced_ms.unwrap() - BEACON_MS) / 1e3;
    let lost_s = roam.at_s - roam.scan_ms / 1e3 - 0.1;
    let noticed_s = lost_s - follows_s;
    assert!(noticed_s > 0.7 && noticed_s < 1.74, "{noticed_s}");
}

/// One minute on a channel with radar, ten if it overlaps 5600 to 5650 MHz, none elsewhere.
#[test]
fn checks_are_those_of_the_rules() {
    for (number, width, seconds) in [
        (44, "20MHz", 0),
        (149, "80MHz", 0),
        (52, "20MHz", 60),
        (48, "160MHz", 60),
        (100, "80MHz", 60),
        (116, "20MHz", 60),
        (116, "40MHz", 600),
        (120, "20MHz", 600),
        (128, "20MHz", 600),
        (132, "20MHz", 60),
        (144, "20MHz", 60),
    ] {
        let sets = [
            "channel.standard=802.11ac",
            &format!("channel.width={width}"),
            &format!("change=[{{ at = \"5s\", set = {{ \"cell.0.channel\" = {number} }} }}]"),
        ];
        let scenario = scenario(HOME, &sets);
        let [(_, Change::Channel { order, .. })] = &scenario.changes[..] else {
            panic!("{number}: {:?}", scenario.changes)
        };
        assert_eq!(order.check, Duration::from_secs(seconds), "{number} {width}");
    }
}

/// A set that only may move, and does not, is as one that may not, but for the associations.
#[test]
fn who_stays_is_not_changed() {
    let fixed = HOME.replace("    channel_switch = {}\n", "");
    let (may, may_not) = (run(&scenario(HOME, &[])), run(&scenario(&fixed, &[])));
    assert_eq!(may.flows, may_not.flows);
}

/// After a failure the access point listens for radar, if the key says so.
#[test]
fn a_check_follows_a_failure() {
    let change = "change=[{ at = \"5s\", set = { node.ap.failed = true } }, \
                  { at = \"7s\", set = { node.ap.failed = false } }]";
    for checks in [true, false] {
        let key = format!("cell.0.channel_switch.check_after_failure={checks}");
        let sets = ["cell.0.channel=52", "cell.0.channel_switch.check=6s", &key, change];
        let document = run(&scenario(HOME, &sets));
        let moves = moves(&document, "ap");
        assert_eq!(moves.len(), usize::from(checks));
        let [roam] = &document.nodes["laptop"].roaming.as_ref().unwrap().roams[..] else {
            panic!("it joins again once")
        };
        let back_s = if checks { 13.0 } else { 7.0 };
        // Searches of 26 channels come five seconds apart.
        assert!(roam.at_s > back_s && roam.at_s < back_s + 5.0 + 2.0 * 26.0 * 0.064, "{roam:?}");
        if checks {
            assert_eq!(moves[0].check_ms, Some(6_000.0));
        }
    }
}

#[test]
fn keys_that_do_not_fit_are_errors() {
    let moves_to = |number: u8| {
        format!("change=[{{ at = \"5s\", set = {{ \"cell.0.channel\" = {number} }} }}]")
    };
    for (sets, expected) in [
        (vec![moves_to(37)], "5GHz has the channels 36"),
        (vec!["channel.width=40MHz".into(), moves_to(165)], "is part of none that is wider"),
        (vec!["cell.0.channel_switch.radar=true".into()], "no radar; channels with radar are"),
        (
            vec![
                "cell.0.channel=52".into(),
                "cell.0.channel_switch={ radar = true, radar_channel = 52 }".into(),
            ],
            "apart from that of the radar",
        ),
        (
            vec![
                "cell.0.channel=52".into(),
                "cell.0.channel_switch={ radar = true, count = 100 }".into(),
            ],
            "more than the 10s in which",
        ),
        (vec!["cell.0.channel_switch.radar_channel=37".into()], "has the channels 36"),
        (vec!["cell.0.channel_switch.count=256".into()], "0 to 255"),
        (vec!["node.laptop.scan={}".into()], "\"laptop\" does"),
        (vec!["node.phone.power_save={}".into()], "\"phone\" does"),
        (vec!["node.ap.absence={ away = \"10ms\", every = \"1s\" }".into()], "\"ap\" does"),
        (vec!["channel.beacon_interval=off".into()], "beacon_interval is \"off\""),
        (
            vec![
                "channel.standard=802.11g".into(),
                "cell.0.channel=1".into(),
                "cell.0.channel_switch.check=1s".into(),
            ],
            "5 GHz, where radar is",
        ),
        (
            vec!["cell=[{ channel = 36 }]".into(), moves_to(40)],
            "only if the run begins with its [[cell]] channel_switch",
        ),
    ] {
        match lasthop_scenario::parse("test.toml", HOME, &sets) {
            Ok(_) => panic!("{sets:?} is accepted"),
            Err(why) => {
                let why = why.to_string();
                assert!(why.contains(expected), "{sets:?}: {why}");
            }
        }
    }
}

/// Lines of tshark's fields of a capture; `None` without tshark.
fn fields(path: &Path, filter: &str, names: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-Y", filter, "-T", "fields", "-E", "occurrence=a"]);
    names.iter().for_each(|name| _ = command.args(["-e", name]));
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// tshark reads every announcement: mode, channel, class and count of both elements, the width of the
/// new channel; no frame is malformed; and each frame is on the channel where its sender is.
#[test]
fn tshark_reads_the_announcements() {
    let sets = [
        "cell.hall.channel=100",
        "cell.hall.channel_switch={}",
        "change=[{ at = \"5s\", set = { \"cell.hall.channel_switch.radar\" = true } }]",
        "duration=8s",
    ];
    let scenario = scenario(&office(), &sets);
    let path = std::env::temp_dir().join(format!("lasthop-run-{}-switch", std::process::id()));
    let mut directory = OutputDir::create(&path).unwrap();
    let files = lasthop_sim::files(&scenario, true, Some(NodeFrames::MadeUp));
    let names = lasthop_sim::names(&scenario);
    let recording = lasthop_sim::recording(&scenario);
    let recorder = Recorder::with_files(names, recording, &files, &mut directory).unwrap();
    lasthop_sim::record(&scenario, 0, recorder, &mut lasthop_sim::go_on).unwrap();
    directory.commit().unwrap();
    let air = path.join("air.pcapng");
    let announced = fields(
        &air,
        "wlan.fc.type_subtype == 8 && wlan.csa.new_channel_number",
        &[
            "wlan.csa.channel_switch_mode",
            "wlan.csa.new_channel_number",
            "wlan.csa.channel_switch.count",
            "wlan.wide_bw.new_channel_width",
            "wlan.wide_bw.new_channel_center_freq_segment0",
            "wlan.tag.number",
        ],
    );
    let Some(announced) = announced else { return };
    let counts: Vec<&str> = announced.iter().map(|line| &*line[2]).collect();
    assert_eq!(counts, ["4", "3", "2", "1"]);
    for line in &announced {
        assert_eq!((&*line[0], &*line[1]), ("1", "36"), "{line:?}");
        // 80 MHz around channel 42. Depending on its version, tshark prints hexadecimal numbers.
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16).unwrap(),
            None => text.parse().unwrap(),
        };
        assert_eq!((number(&line[3]), number(&line[4])), (1, 42), "{line:?}");
        // TIM, the two announcements at their places, Secondary Channel Offset and the wrapper.
        let tags: Vec<u16> = line[5].split(',').map(|tag| tag.parse().unwrap()).collect();
        let place = |tag: u16| tags.iter().position(|other| *other == tag).unwrap();
        assert!(place(5) < place(37) && place(37) < place(60) && place(60) < place(45), "{tags:?}");
        assert!(place(62) > place(45) && place(196) > place(62), "{tags:?}");
    }
    let bad = fields(&air, "_ws.malformed || wlan.fcs.status == 0", &["frame.number"]).unwrap();
    assert!(bad.is_empty(), "{bad:?}");
    let all = fields(
        &air,
        "wlan.fc.type_subtype == 8 || wlan.fc.type == 2",
        &["wlan.bssid", "radiotap.channel.freq", "frame.time_relative", "wlan.fc.type_subtype"],
    )
    .unwrap();
    let hall = fields(&air, "wlan.csa.new_channel_number", &["wlan.bssid"]).unwrap()[0][0].clone();
    let own = all.iter().filter(|line| line[0] == hall);
    let (before, after): (Vec<&Vec<String>>, Vec<_>) = own.partition(|line| line[1] == "5500");
    assert!(after.iter().all(|line| line[1] == "5180"), "{after:?}");
    let time = |line: &&Vec<String>| line[2].parse::<f64>().unwrap();
    let last = before.iter().map(time).fold(0.0, f64::max);
    let first = after.iter().map(time).fold(f64::MAX, f64::min);
    assert!(first > last && first < 5.7, "{first} {last}");
    // After the radar data end within the channel closing transmission time of 200 ms.
    let data = before.iter().filter(|line| line[3] != "0x0008").map(time).fold(0.0, f64::max);
    assert!(data < 5.2, "{data}");
    std::fs::remove_dir_all(&path).unwrap();
}
