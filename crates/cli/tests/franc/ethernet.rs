//! Frames on a bridge: a helper that overhears, two nodes with one MAC address, an MTU
//! that changes. The bridge loses nothing; the receiving nodes inject losses.

use crate::stage::{Stage, TRANSFER, daemon, served, stats};
use crate::{RECOVERY_MS, SLACK_MS};

const ETHERNET: &str = "--transport ethernet --interface eth0 --rate-max 20Mb/s";

/// The two ends, with additional flags.
fn ends(more: [&str; 2]) -> Vec<(&'static str, String)> {
    let end = |name: &str, id: u8, more: &str| {
        let flags = format!("--id {id} --peer {} --address 10.9.0.{id}/24", 3 - id);
        daemon(name, &format!("{flags} --key-file key {ETHERNET} {more}"))
    };
    vec![("a", end("a", 1, more[0])), ("b", end("b", 2, more[1])), served()]
}

/// Both ends have the other's MAC address, so no frame is addressed to the helper, which overhears
/// in promiscuous mode. The receiver got more innovative datagrams than arrived from the other end.
#[test]
fn a_helper_at_a_hub_overhears_and_helps() {
    let stage = Stage::new("hub");
    stage.keys();
    let mut programs = ends([
        "--helpers 3 --neighbours 2=02:00:00:00:00:02 --synthetic-loss 2=40%",
        "--helpers 3 --neighbours 1=02:00:00:00:00:01 --synthetic-loss 1=40%",
    ]);
    let helper = format!("--id 3 --role helper --between 1,2 --key-file hop {ETHERNET}");
    programs.push(("h", daemon("h", &helper.replace(" --rate-max 20Mb/s", ""))));
    let script =
        format!("until_passes 10.9.0.2\n{TRANSFER}{}{}{}", stats("a"), stats("b"), stats("h"));
    let Some(()) = stage.bridge(true, &programs, &script) else { return };
    let [a, b, h] = ["a.json", "b.json", "h.json"].map(|name| stage.stats(name));
    let count = |of: &serde_json::Value, name: &str| of["counters"][name].as_u64().expect("one");
    let heard = |of: &serde_json::Value, id: u8| {
        let all = of["neighbours"].as_array().expect("a list");
        all.iter().find(|one| one["id"] == id).and_then(|one| one["heard"].as_u64())
    };
    assert!(count(&h, "coded_sent") > 300, "{h:#}");
    assert!(heard(&h, 1).zip(heard(&h, 2)).is_some_and(|(a, b)| a > 300 && b > 2_000), "{h:#}");
    // Both are numbers of datagrams; those received include acknowledgements.
    let (from_b, from_h) = (heard(&a, 2).expect("b"), heard(&a, 3).expect("h"));
    let of_h = count(&a, "innovative").saturating_sub(from_b);
    assert!(of_h > 100 && of_h <= from_h, "{of_h} of {from_h}, {from_b} from b: {a:#}{b:#}{h:#}");
    let loss = a["neighbours"][0]["loss_in"].as_f64().expect("b was heard");
    assert!((0.3..0.5).contains(&loss), "{a:#}");
    assert_eq!((count(&a, "corrupt"), count(&a, "sessions")), (0, 1), "{a:#}");
}

/// A learning bridge would send frames for the other node back to their sender, so the nodes use
/// broadcast. The link works, both sides report the problem, and after one of them gets a different
/// MAC address, the link is up within a second.
#[test]
fn two_nodes_with_one_mac_address_are_told_and_recover() {
    for is_hub in [true, false] {
        let stage = Stage::new("mac");
        stage.key("key");
        let mut programs = ends(["", ""]);
        programs[1].1 = format!("ip link set eth0 address 02:00:00:00:00:01; {}", programs[1].1);
        let script = format!(
            "until_passes 10.9.0.2\nping -c 100 -i 0.03 -W 1 10.9.0.2 > ping.txt\n\
             cp a.log a.before.txt; cp b.log b.before.txt\n\
             nsenter --net=/run/netns/b ip link set eth0 address 02:00:00:00:00:02\n\
             until_passes 10.9.0.2 > passes.txt\n{TRANSFER}{}{}",
            stats("a"),
            stats("b")
        );
        let Some(()) = stage.bridge(is_hub, &programs, &script) else { return };
        let answered = stage.text("ping.txt");
        assert!(answered.contains("100 received"), "{is_hub}: {answered}{}", stage.logs());
        for log in ["a.before.txt", "b.before.txt"] {
            let text = stage.text(log);
            let told = text.matches("has the MAC address of this interface").count();
            assert!((1..=5).contains(&told), "{is_hub}, {log}: {text}");
        }
        let ms: u64 = stage.text("passes.txt").trim().parse().expect("a number");
        assert!(ms <= RECOVERY_MS, "{is_hub}: {ms}\n{}", stage.logs());
        for name in ["a.json", "b.json"] {
            let counters = &stage.stats(name)["counters"];
            assert_eq!((&counters["corrupt"], &counters["refused"]), (&0.into(), &0.into()));
        }
    }
}

/// In the middle of a transfer, on either side: the problem is reported where it can be known,
/// nothing is corrupted, and the link is up within a second after the MTU is large enough again.
#[test]
fn an_interface_that_becomes_too_narrow_is_told_and_recovers() {
    let stage = Stage::new("narrow");
    stage.key("key");
    let narrow = |node: &str, mtu: u32| {
        format!("nsenter --net=/run/netns/{node} ip link set eth0 mtu {mtu}\n")
    };
    let round = |node: &str| {
        format!(
            "sleep 0.5\n{}sleep 1.5\n{}until_passes 10.9.0.2 >> passes.txt\n\
             ping -c 3 -i 0.1 -W 1 -s 1300 10.9.0.2 > long.txt || fail \"long ones do not pass\"\n",
            narrow(node, 1_000),
            narrow(node, 1_500)
        )
    };
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let wide = format!(
        "nsenter --net=/run/netns/a {lasthop} franc run --id 9 --peer 8 --insecure --name wide0 \
         --socket wide.sock --transport ethernet --interface eth0 --mtu 1501 2> wide.txt\n\
         echo $? > wide.code\n"
    );
    let script = format!(
        "{wide}until_passes 10.9.0.2\nhead -c 12000000 /dev/urandom > big\n\
         curl --retry 9 --retry-delay 1 --retry-connrefused --silent --show-error --max-time 60 http://10.9.0.2:8000/big -o came & load=$!\n\
         {}{}wait $load || fail \"the transfer ended early\"\n\
         cmp big came || fail \"the file came out as another one\"\n{}{}",
        round("a"),
        round("b"),
        stats("a"),
        stats("b")
    );
    let Some(()) = stage.bridge(false, &ends(["", ""]), &script) else { return };
    let wide = stage.text("wide.txt");
    assert!(wide.contains("mtu 1501 is longer than that of eth0: give 1500 or less"), "{wide}");
    assert_eq!(stage.text("wide.code").trim(), "2");
    // b sends long frames, so its own interface reports it; a reports it for its pings.
    assert!(
        stage.text("b.log").contains("the MTU of the interface has shrunk"),
        "{}",
        stage.logs()
    );
    assert!(stage.stats("b.json")["counters"]["too_long"].as_u64() > Some(0));
    let passes = stage.text("passes.txt");
    assert_eq!(passes.lines().count(), 2, "{passes}");
    for ms in passes.lines() {
        let ms: u64 = ms.parse().expect("a number");
        assert!(ms <= RECOVERY_MS + SLACK_MS, "{passes}{}", stage.logs());
    }
    for name in ["a.json", "b.json"] {
        assert_eq!(stage.stats(name)["counters"]["corrupt"], 0);
    }
}

/// A bridge that silently drops frames of more than 1300 bytes (or 1304: a VLAN tag is not
/// counted), from the start or in the middle of a transfer. The ends find the path's MTU (RFC
/// 8899), packets of 1400 bytes pass, and a file arrives unchanged.
#[test]
fn a_path_that_is_narrower_than_the_interfaces_is_found() {
    for is_narrow_first in [true, false] {
        let stage = Stage::new("path");
        stage.key("key");
        let narrow = "for port in at-a at-b; do \
                      nsenter --net=/run/netns/bridge ip link set $port mtu 1300; done\n";
        let programs = ends(["", ""]);
        let begin = if is_narrow_first {
            format!("{narrow}until_passes 10.9.0.2\n")
        } else {
            format!("until_passes 10.9.0.2\n{TRANSFER}{narrow}")
        };
        // The daemons start a moment before the script.
        let script = format!(
            "{begin}ping -q -c 60 -i 0.1 -W 1 -s 1380 10.9.0.2 > found.txt\n\
             ping -c 20 -i 0.05 -W 1 -s 1380 10.9.0.2 > long.txt\n{TRANSFER}{}{}",
            stats("a"),
            stats("b")
        );
        let Some(()) = stage.bridge(false, &programs, &script) else { return };
        let long = stage.text("long.txt");
        assert!(long.contains("20 received"), "{is_narrow_first}: {long}{}", stage.logs());
        for name in ["a", "b"] {
            let found = stage.stats(&format!("{name}.json"))["path_datagram_bytes"].as_u64();
            let is_near = found.is_some_and(|bytes| (1_292..=1_304).contains(&bytes));
            assert!(is_near, "{is_narrow_first}, {name}: {found:?}{}", stage.logs());
            let text = stage.text(&format!("{name}.log"));
            assert!(text.contains("carries datagrams of"), "{text}");
        }
    }
}
