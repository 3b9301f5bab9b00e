//! A helper that overhears through a monitor interface. The two ends and the helper are at a
//! learning bridge, so that the helper's other interface hears nothing of the ends' traffic, as a
//! Wi-Fi interface in managed mode; `air.py` plays the frames that a monitor hears. Leaves out real
//! radios; `tests/vm` has those of mac80211.

use crate::stage::{Stage, TRANSFER, daemon, served, stats};

const ETHERNET: &str = "--transport ethernet --interface eth0";
/// Waits for the link, and for the helper, whose interface comes with the air.
const READY: &str = "until_passes 10.9.0.2\nuntil [ -s h.log ]; do sleep 0.1; done\n";

/// The ends, which know each other's address and lose 40 %, the helper, and the air.
fn programs(air: &str) -> Vec<(&'static str, String)> {
    let end = |name: &'static str, id: u8| {
        let peer = 3 - id;
        let flags = format!(
            "--id {id} --peer {peer} --address 10.9.0.{id}/24 --helpers 3 --key-file key \
             --rate-max 20Mb/s --neighbours {peer}=02:00:00:00:00:0{peer} --synthetic-loss {peer}=40%"
        );
        (name, daemon(name, &format!("{flags} {ETHERNET}")))
    };
    let air = format!("python3 air.py {air} > air.txt 2> air.log & echo $! > air.pid; wait");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let helper = format!(
        "until ip link show mon0 up 2>/dev/null | grep -q mon0; do sleep 0.1; done\n\
         exec {lasthop} franc run --socket h.sock --id 3 --role helper --between 1,2 --key-file hop \
         --monitor mon0 {ETHERNET} > h.log 2>&1"
    );
    vec![end("a", 1), end("b", 2), served(), ("h", air), ("h", helper)]
}

/// The helper's combinations are useful, as those of a helper at a hub, and it read each datagram
/// on the air once.
#[test]
fn a_helper_overhears_through_a_monitor_interface() {
    let stage = Stage::new("monitor");
    stage.keys();
    std::fs::write(stage.path.join("air.py"), include_str!("air.py")).expect("written");
    // While the ends are stopped nothing is on the air.
    let script = format!(
        "{READY}{TRANSFER}kill -STOP $(cat a.pid) $(cat b.pid)\nsleep 0.5\n{}\
         {} franc stats --socket h.sock > h.txt\nkill $(cat air.pid)\nsleep 0.2\n\
         kill -CONT $(cat a.pid) $(cat b.pid)\n{}{}",
        stats("h"),
        env!("CARGO_BIN_EXE_lasthop"),
        stats("a"),
        stats("b"),
    );
    let Some(()) = stage.bridge(false, &programs("CLEAR"), &script) else { return };
    let [a, b, h] = ["a.json", "b.json", "h.json"].map(|name| stage.stats(name));
    let count = |of: &serde_json::Value, name: &str| of["counters"][name].as_u64().expect("one");
    let heard = |of: &serde_json::Value, id: u8| {
        let all = of["neighbours"].as_array().expect("a list");
        all.iter().find(|one| one["id"] == id).and_then(|one| one["heard"].as_u64())
    };
    let logs = format!("{a:#}{b:#}{h:#}{}", stage.logs());
    assert!(count(&h, "coded_sent") > 300, "{logs}");
    assert!(heard(&h, 1).zip(heard(&h, 2)).is_some_and(|(a, b)| a > 300 && b > 2_000), "{logs}");
    let (from_b, from_h) = (heard(&a, 2).expect("b"), heard(&a, 3).expect("h"));
    let of_h = count(&a, "innovative").saturating_sub(from_b);
    assert!(of_h > 100 && of_h <= from_h, "{of_h} of {from_h}, {from_b} from b: {logs}");
    assert_eq!((count(&a, "corrupt"), count(&a, "sessions")), (0, 1), "{logs}");
    let on_air = stage.text("air.txt");
    let on_air: Vec<u64> = on_air.split_whitespace().map(|n| n.parse().expect("one")).collect();
    let read = ["overheard", "overheard_again", "overheard_bad_fcs", "overheard_protected"];
    assert_eq!(read.map(|name| count(&h, name)), on_air[..], "{logs}");
    assert!(on_air[0] > 2_000 && on_air[1] > 300, "{logs}");
    assert_eq!((count(&h, "overheard_unread"), count(&h, "overheard_drops")), (0, 0), "{logs}");
    // Nothing came twice, and the network encrypts nothing.
    assert!(count(&h, "replayed") <= 2, "{logs}");
    assert!(!stage.text("h.log").contains("encrypted"), "{logs}");
    let table = stage.text("h.txt");
    assert!(table.contains("overheard   "), "{table}");
}

/// As in a WPA network: the link works without its helper, which reports that it is of no use.
#[test]
fn a_helper_that_hears_only_encrypted_frames_says_so() {
    let stage = Stage::new("encrypted");
    stage.keys();
    std::fs::write(stage.path.join("air.py"), include_str!("air.py")).expect("written");
    let script = format!("{READY}sleep 6\n{TRANSFER}{}", stats("h"));
    let Some(()) = stage.bridge(false, &programs("ENCRYPTED"), &script) else { return };
    let (h, log) = (stage.stats("h.json"), stage.text("h.log"));
    assert_eq!(h["counters"]["overheard"], 0, "{h:#}");
    assert!(h["counters"]["overheard_protected"].as_u64() > Some(100), "{h:#}");
    assert!(log.contains("no frame of this link was readable on mon0"), "{log}");
    assert!(log.contains("as all frames of other stations in a WPA network"), "{log}");
}

/// The interface goes down, comes up again, and disappears.
#[test]
fn a_monitor_interface_that_goes_is_reported() {
    let stage = Stage::new("gone");
    stage.keys();
    std::fs::write(stage.path.join("air.py"), include_str!("air.py")).expect("written");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let flags = format!("--id 8 --role helper --between 1,2 --insecure --socket w.sock {ETHERNET}");
    let script = format!(
        "in_h() {{ nsenter --net=/run/netns/h \"$@\"; }}\n{READY}\
         for wrong in eth0.no eth1 lo; do in_h timeout 9 {lasthop} franc run {flags} --monitor $wrong 2>> w.txt; echo $? >> w.code; done\n\
         in_h ip link set mon0 down; sleep 0.5\n\
         in_h timeout 9 {lasthop} franc run {flags} --monitor mon0 2>> w.txt; echo $? >> w.code\n\
         in_h ip link set mon0 up; sleep 0.5; {}cp h.json before.json\n{TRANSFER}{}\
         kill $(cat air.pid); sleep 2\n",
        stats("h"),
        stats("h"),
    );
    let Some(()) = stage.bridge(false, &programs("CLEAR"), &script) else { return };
    let (errors, log) = (stage.text("w.txt"), stage.text("h.log"));
    for part in [
        "there is no interface \"eth0.no\"",
        "there is no interface \"eth1\"",
        "\"lo\" is no monitor interface (its hardware is of kind 772;",
        "iw dev WLAN interface add mon0 type monitor",
        "capture of mon0: Network is down; `ip link set IFACE up` sets it up",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    assert_eq!(stage.text("w.code"), "2\n2\n2\n2\n");
    assert!(log.contains("the monitor interface mon0 is down"), "{log}");
    assert!(log.contains("the interface \"mon0\" was removed"), "{log}");
    let count = |name: &str| stage.stats(name)["counters"]["overheard"].as_u64().expect("one");
    assert!(count("h.json") > count("before.json") + 2_000, "{log}");
}
