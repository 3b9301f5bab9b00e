//! Stations that roam, in whole networks: who carries their packets, what a run says of it, and that
//! more access points, stations or security change nothing else. The judges are calculations by hand.

use super::common::{run, scenario};
use lasthop_trace::{LossReason, RoamSummary, RunDocument};

/// The shipped office, where a laptop is carried from one access point to another.
const WALK: &str = include_str!("../../../../scenarios/office-walk.toml");

/// The same for 30 s with the laptop at rest, at the edge of one access point and near the other.
fn office() -> String {
    let path = "path = { speed = \"1.4m/s\", through = [[\"45m\", \"0m\"]] }\n";
    assert!(WALK.contains(path), "the laptop is carried");
    let still = WALK.replace(path, "").replace("duration = \"40s\"", "duration = \"30s\"");
    still.replace("position = [\"5m\", \"0m\"]", "position = [\"34m\", \"0m\"]")
}

fn roams(document: &RunDocument) -> Vec<RoamSummary> {
    let roaming = document.nodes["laptop"].roaming.as_ref();
    roaming.map_or_else(Vec::new, |roaming| roaming.roams.clone())
}

/// With delays of 1 ms an answer comes after a millisecond and a frame at 6 Mb/s; SAE computes a commit
/// of 10 ms. 26 active channels of 64 ms with 200 ms and a flush between last 25 times 264 ms and more.
#[test]
fn each_security_has_its_phases() {
    for (security, authentication, association, handshake) in [
        ("open", 2.0, 2.0, 0.0),
        ("wpa2", 2.0, 2.0, 4.0),
        ("wpa3", 11.0 + 3.0, 2.0, 4.0),
        ("ft-wpa2", 2.0, 2.0, 0.0),
        ("ft-wpa3", 2.0, 2.0, 0.0),
    ] {
        let security = format!("node.laptop.roaming.security=\"{security}\"");
        let sae = if security.contains("wpa3") { "sae_delay = \"10ms\", " } else { "" };
        let delays = format!(
            "node.laptop.roaming={{ leave_delay = \"1ms\", delay = \"1ms\", {sae}\
             access_point_delay = \"1ms\", short_interval = \"10s\" }}"
        );
        let document = run(&scenario(&office(), &[&delays, &security]));
        let [roam] = &roams(&document)[..] else { panic!("{security}: it moves once") };
        assert_eq!((&*roam.leaves, &*roam.joins), ("ap-hall", "ap-lab"));
        assert!(roam.scan_ms > 25.0 * 264.0 && roam.scan_ms < 25.0 * 280.0, "{roam:?}");
        let phases = [
            (roam.authentication_ms, authentication),
            (roam.association_ms, association),
            (roam.handshake_ms, handshake),
        ];
        for (measured, answers) in phases {
            let measured = measured.expect("it came");
            // Each frame and its acknowledgement take up to half a millisecond, contention included.
            assert!(measured >= answers && measured <= 1.5 * answers + 0.5, "{security} {roam:?}");
        }
        let sum: f64 = phases.iter().filter_map(|(measured, _)| *measured).sum();
        assert!((roam.without_ms.expect("it joined") - sum).abs() < 1e-6);
    }
}

/// Packets follow the station: with a flow on each wire of an access point, what goes through the
/// switch to either is what the run sent, and both ends go on after the roam.
#[test]
fn the_network_follows_the_station() {
    let document = run(&scenario(&office(), &[]));
    let through = |name: &str| document.wires[name].packets;
    let [roam] = &roams(&document)[..] else { panic!("it moves once") };
    let packets = |seconds: f64| seconds * 1e3 / 20.0 * 2.0;
    for (name, expected) in [
        ("switch->ap-hall", packets(roam.at_s)),
        ("switch->ap-lab", packets(30.0 - roam.at_s)),
        ("ap-lab->switch", packets(30.0 - roam.at_s)),
    ] {
        let difference = (through(name) as f64 - expected).abs();
        assert!(difference < 20.0, "{name}: {} of {expected}", through(name));
    }
    assert_eq!(through("switch->ap-hall") + through("switch->ap-lab"), 3_000);
    let ping = &document.flows["ping"];
    assert!(ping.packets_lost <= 10, "{ping:?}");
}

/// Fast transitions over the wires leave the old access point only after the answer there.
#[test]
fn a_transition_over_the_wires_is_shorter() {
    let with = |over_ds: bool| {
        let key = format!("node.laptop.roaming.over_ds={over_ds}");
        let set = [
            "node.laptop.roaming.security=\"ft-wpa2\"",
            "node.laptop.roaming.leave_delay=\"36ms\"",
            &key,
        ];
        let document = run(&scenario(&office(), &set));
        let [roam] = &roams(&document)[..] else { panic!("it moves once") };
        roam.without_ms.expect("it joined")
    };
    let (over_air, over_wires) = (with(false), with(true));
    // Two of the four frames, with the answers of 0.4 and 2 ms, are before.
    let less = over_air - over_wires;
    assert!(less > 2.4 && less < 3.4, "{over_wires} {over_air}");
}

/// A station that may roam and has no reason to is as one that may not, but for its scans.
#[test]
fn who_stays_is_not_changed() {
    let still = ["node.laptop.position=[\"5m\", \"0m\"]", "node.laptop.roaming.short_interval=off"];
    let may = run(&scenario(&office(), &still));
    assert_eq!(roams(&may), []);
    let fixed = [still[0], "node.laptop.roaming=off"];
    let may_not = run(&scenario(&office(), &fixed));
    assert_eq!(may.flows, may_not.flows);
}

/// With 1.4 m/s the averaged beacons fall below -65 dBm on the way; the laptop moves once, before it is
/// out of reach, and few packets are lost.
#[test]
fn who_walks_moves_once() {
    let document = run(&scenario(WALK, &[]));
    let [roam] = &roams(&document)[..] else { panic!("it moves once") };
    assert_eq!((&*roam.leaves, &*roam.joins), ("ap-hall", "ap-lab"));
    assert!(roam.at_s > 10.0 && roam.at_s < 30.0, "{roam:?}");
    assert!(document.flows["ping"].packets_lost < 20);
}

/// The access point fails at 10 s. Linux tests it seven beacons after the last one, at a whole second of
/// its clock; wpa_supplicant looks for another one 100 ms later, on 26 channels of 64 ms each, and
/// associates anew. Packets for the station are lost at the dead one until then, 50 a second of each flow.
#[test]
fn who_loses_its_access_point_finds_another() {
    let change = "change=[{ at = \"10s\", set = { node.ap-hall.failed = true } }]";
    let rest = ["node.laptop.position=[\"20m\", \"0m\"]", "node.laptop.roaming.short_interval=off"];
    let document = run(&scenario(&office(), &[rest[0], rest[1], change]));
    let roaming = document.nodes["laptop"].roaming.as_ref().expect("it moves");
    assert_eq!(roaming.access_points_lost, 1);
    let [roam] = &roaming.roams[..] else { panic!("it moves once: {roaming:?}") };
    assert_eq!(&*roam.joins, "ap-lab");
    let search_s = 26.0 * 0.064;
    assert!((roam.scan_ms - 1e3 * search_s).abs() < 1.0, "{roam:?}");
    let noticed_s = roam.at_s - search_s - 0.1 - 10.0;
    assert!(noticed_s > 0.6 && noticed_s < 1.72, "{noticed_s} {roam:?}");
    let without_s = roam.at_s - 10.0 + 0.05;
    for name in ["ping", "call"] {
        let flow = &document.flows[name];
        let lost = (flow.packets_sent - flow.packets_received) as f64;
        let expected = 50.0 * without_s;
        assert!((lost - expected).abs() < 0.1 * expected, "{name}: {lost} of {expected}");
    }
}

/// A packet each 2 ms from the laptop: those of the time between two access points are lost as they
/// come (mac80211 has no carrier, then no authorised station), and so are those of the time after it
/// noticed that its access point is gone. Nothing waits for the join.
#[test]
fn packets_without_an_access_point_are_lost() {
    let up = "[[flow]]\nname = \"up\"\nfrom = \"laptop\"\nto = \"server\"\nkind = \"udp\"\n\
              packet_bytes = 500\nrate = \"2Mb/s\"\n";
    let text = [&office(), up].concat();
    let change = "change=[{ at = \"10s\", set = { node.ap-hall.failed = true } }]";
    let fails = [
        "node.laptop.position=[\"20m\", \"0m\"]",
        "node.laptop.roaming.short_interval=off",
        change,
    ];
    for sets in [&[][..], &fails] {
        let document = run(&scenario(&text, sets));
        let roaming = document.nodes["laptop"].roaming.as_ref().expect("it moves");
        let [roam] = &roaming.roams[..] else { panic!("it moves once: {roaming:?}") };
        let flow = &document.flows["up"];
        let lost = |reason| flow.packets_lost_by_reason.get(&reason).copied().unwrap_or(0);
        let expected = roam.without_ms.expect("it joined") / 2.0;
        // It holds those of the last absence of a scan, 64 ms with its frames, or what it could not
        // deliver to the access point that has failed, 0.72 to 1.72 s.
        let own = lost(LossReason::NotAssociated) as f64;
        let held = if sets.is_empty() { 36.0 } else { 1_000.0 };
        assert!(own > expected - 1.0 && own < expected + held, "{own} of {expected}");
        assert_eq!(lost(LossReason::OffChannel), 0);
        let delay = flow.delay_parts_ms.expect("packets arrived");
        assert_eq!(delay.roam, 0.0);
        // The call comes over the wire of the access point that has failed.
        let call = &document.flows["call"].packets_lost_by_reason;
        let failed = call.get(&LossReason::Failed).copied().unwrap_or(0) as f64;
        let without_s = if sets.is_empty() { 0.0 } else { roam.at_s - 10.0 };
        assert!((failed - 50.0 * without_s).abs() < 5.0 + 0.1 * failed, "{failed} {without_s}");
    }
}

#[test]
fn keys_that_do_not_fit_are_errors() {
    for (set, expected) in [
        ("node.ap-hall.roaming={}", "only stations roam"),
        ("node.laptop.scan={}", "scans by itself"),
        ("cell.hall.network=\"another\"", "one access point only"),
        ("node.laptop.roaming.over_ds=true", "\"ft-wpa2\" and \"ft-wpa3\" only"),
        ("node.laptop.roaming.sae_delay=1ms", "\"wpa3\" and \"ft-wpa3\" only"),
        ("node.laptop.roaming={ scan = \"passive\", passive_channels = 3 }", "\"active\" only"),
        ("node.laptop.roaming.threshold=-70dBm", ""),
        ("node.laptop.roaming.channels=1", "expected at least 2"),
        ("node.laptop.roaming.short_interval=0s", "expected more than zero"),
        ("node.laptop.absence={ away = \"1s\" }", "has no other absences"),
        ("channel.independent=true", "no access points to roam among"),
        ("channel.beacon_interval=off", "by their beacons"),
    ] {
        let sets = [set.to_owned()];
        let parsed = lasthop_scenario::parse("test.toml", &office(), &sets);
        match parsed {
            Ok(_) => assert!(expected.is_empty(), "{set} is accepted"),
            Err(why) => {
                let why = why.to_string();
                assert!(!expected.is_empty() && why.contains(expected), "{set}: {why}");
            }
        }
    }
}

/// A scan of k channels of 64 ms has k - 1 stays of 200 ms between, as long as nothing is in flight:
/// "learn" looks at the network's two channels and one more, a phone first at all, 40 ms each and 45 ms
/// between. Signals decide as each product says: -65 dBm at 18.8 m of 3, -75 dBm at 40.6 m.
#[test]
fn each_policy_scans_its_channels() {
    for (policy, scan_ms) in [
        ("policy=\"simple\"", 26.0 * 64.0 + 25.0 * 200.0),
        ("policy=\"learn\"", 3.0 * 64.0 + 2.0 * 200.0),
        ("policy=\"iwd\"", 2.0 * 64.0 + 200.0),
        ("policy=\"phone\"", 26.0 * 40.0 + 25.0 * 45.0),
    ] {
        let policy = format!("node.laptop.roaming.{policy}");
        let sets = [&*policy, "node.laptop.roaming.threshold=-65dBm", "duration=\"75s\""];
        let document = run(&scenario(&office(), &sets));
        let [roam] = &roams(&document)[..] else { panic!("{policy}: it moves once") };
        assert_eq!((&*roam.leaves, &*roam.joins), ("ap-hall", "ap-lab"));
        assert!(
            roam.scan_ms >= scan_ms && roam.scan_ms < 1.02 * scan_ms + 5.0,
            "{policy}: {roam:?}"
        );
    }
}

fn shipped(name: &str) -> RunDocument {
    let path = format!("{}/../../scenarios/roaming/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    run(&scenario(&std::fs::read_to_string(path).expect("it is there"), &[]))
}

/// The shipped failures are what their first sentences say.
#[test]
fn each_failure_happens() {
    let roaming = |document: &RunDocument| document.nodes["laptop"].roaming.clone();
    let sticky = roaming(&shipped("sticky")).expect("it stays");
    let [stay] = &sticky.stays[..] else { panic!("{sticky:?}") };
    // 12 dB between d and 40 m - d are a ratio of 2.51 with an exponent of 3: 28.6 m, 16.9 s on the way.
    assert!(sticky.roams.is_empty() && (stay.at_s - 16.9).abs() < 0.2, "{sticky:?}");
    assert!(stay.stronger == "ap-lab" && stay.duration_s > 40.0);
    let back_and_forth = roams(&shipped("ping-pong"));
    assert!(back_and_forth.len() >= 4, "{back_and_forth:?}");
    assert!(back_and_forth.windows(2).all(|pair| pair[0].leaves == pair[1].joins));
    let gap = roaming(&shipped("gap")).expect("it loses it");
    assert_eq!((gap.access_points_lost, gap.roams.len()), (1, 1));
    let refused = roams(&shipped("refused"));
    let failed = refused.iter().filter(|roam| roam.without_ms.is_none());
    assert!(failed.clone().count() >= 2 && failed.clone().all(|roam| roam.joins == "ap-lab"));
}
