//! `lasthop franc` in real time: daemons in namespaces, their interfaces and the kernel's TCP, over
//! an emulated link of 12 Mb/s, 10 ms each way, a queue of 150 kB and losses in both directions.
//! Judged from outside: by ping, curl and cmp, by exit statuses, and by files and processes left
//! behind. A test is skipped with a message if the machine lacks something (a program, namespaces).

#![expect(clippy::disallowed_methods, reason = "waits for other processes")]
#![expect(clippy::disallowed_types, reason = "sockets that stand for strangers")]

mod alone;
mod confined;
mod ethernet;
mod links;
mod monitor;
mod restarts;
mod stage;
mod unanswered;
mod wrong;

use lasthop_franc::wire::VERSION;
use serde_json::Value;
use stage::{Stage, TRANSFER, daemon, ends, served, stats};
use std::fs;

/// Longest time from the restart of a killed daemon until pings pass, in ms.
const RECOVERY_MS: u64 = 1_000;
/// Allowance for the new process and for the interval of pings, where these limit the
/// measurement, in ms.
const SLACK_MS: u64 = 250;

#[test]
fn a_file_passes_a_link_that_loses_every_fifth() {
    for transport in ["", "--transport ethernet --interface eth0"] {
        let stage = Stage::new("file");
        stage.key("key");
        let mut programs = ends("--key-file key", "--key-file key");
        if !transport.is_empty() {
            for (_, line) in &mut programs {
                for neighbour in ["--neighbours 2=b", "--neighbours 1=a"] {
                    *line = line.replace(neighbour, transport);
                }
            }
        }
        programs.push(served());
        let script = format!(
            "until_passes 10.9.0.2\nuntil_passes fd09::2\n{TRANSFER}\
             ping -c 60 -i 0.05 -W 2 10.9.0.2 > ping.txt || true\n{}{}\
             {} franc stats --prometheus --socket a.sock > a.prom\nip link show franc0 > link.txt\n",
            stats("a"),
            stats("b"),
            env!("CARGO_BIN_EXE_lasthop")
        );
        let Some(()) = stage.emulate(&["a", "b"], "20%", &programs, &script) else { return };
        let answered = stage.text("ping.txt");
        let [a, b] = ["a.json", "b.json"].map(|name| stage.text(name));
        assert!(answered.contains("60 received"), "{answered}{a}{b}{}", stage.logs());
        let stats = stage.stats("a.json");
        let schema = stage.run(&["schema", "franc"]).stdout;
        let schema = serde_json::from_slice(&schema).expect("a JSON Schema");
        let schema = jsonschema::validator_for(&schema).expect("a JSON Schema");
        assert!(schema.is_valid(&stats), "{stats:#}");
        assert_eq!(stats["connected"], true);
        assert_eq!(stats["counters"]["corrupt"], 0);
        let loss = stats["neighbours"][0]["loss_in"].as_f64().expect("there was traffic");
        assert!((0.1..0.3).contains(&loss), "{stats:#}");
        let mtu = format!("mtu {} ", stats["tunnel_mtu_bytes"]);
        assert!(stage.text("link.txt").contains(&mtu), "{}", stage.text("link.txt"));
        assert!(
            stage.text("a.prom").contains("lasthop_franc_connected{name=\"franc0\",id=\"1\"} 1\n")
        );
    }
}

/// A neighbour whose address is unknown at first and changes later.
#[test]
fn a_neighbour_that_moves_is_followed() {
    let stage = Stage::new("move");
    stage.key("key");
    fs::write(stage.path.join("port"), "5000").expect("it can be written");
    let a = "--id 1 --peer 2 --address 10.9.0.1/24 --key-file key";
    let b = "--id 2 --peer 1 --address 10.9.0.2/24 --key-file key --neighbours 1=a \
             --listen 0.0.0.0:$(cat port)";
    let programs = vec![("a", daemon("a", a)), ("b", daemon("b", b))];
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let script = format!(
        "until_passes 10.9.0.2\n{lasthop} franc stats --socket a.sock > before.txt\n\
         echo 5001 > port; kill -9 $(cat b.pid); until_passes 10.9.0.2 > passes.txt\n\
         {lasthop} franc stats --socket a.sock > after.txt\n"
    );
    let Some(()) = stage.emulate(&["a", "b"], "5%", &programs, &script) else { return };
    assert!(stage.text("before.txt").contains("10.77.0.2:5000"), "{}", stage.text("before.txt"));
    assert!(stage.text("after.txt").contains("10.77.0.2:5001"), "{}", stage.text("after.txt"));
    let ms: u64 = stage.text("passes.txt").trim().parse().expect("a number");
    assert!(ms <= RECOVERY_MS + SLACK_MS, "{ms}");
}

#[test]
fn another_key_opens_nothing_and_both_sides_say_so() {
    let stage = Stage::new("keys");
    stage.key("key");
    stage.key("other");
    let programs = ends("--key-file key", "--key-file other");
    // Then the correct key replaces the wrong one.
    let script = "sleep 3; ping -c 3 -W 1 10.9.0.2 >/dev/null 2>&1 && fail \"it opened\"\n\
                  cp a.log a.before.txt; cp b.log b.before.txt\n\
                  cp key other; kill -9 $(cat b.pid); until_passes 10.9.0.2 > passes.txt\n";
    let Some(()) = stage.emulate(&["a", "b"], "0%", &programs, script) else { return };
    let secret = stage.text("key");
    for log in ["a.before.txt", "b.before.txt"] {
        let text = stage.text(log);
        assert_eq!(text.matches("have another key").count(), 1, "{log}: {text}");
        assert!(!text.contains(secret.trim()) && !text.contains("connected to"), "{text}");
    }
    let ms: u64 = stage.text("passes.txt").trim().parse().expect("a number");
    assert!(ms <= RECOVERY_MS + SLACK_MS, "{ms}");
}

#[test]
fn a_path_that_becomes_too_narrow_is_told_and_recovers() {
    let stage = Stage::new("mtu");
    let programs = ends("--insecure", "--insecure");
    let script = "until_passes 10.9.0.2\nip link set eth0 mtu 1300\n\
                  ping -c 5 -i 0.2 -W 1 -s 1300 10.9.0.2 >/dev/null\n\
                  ip link set eth0 mtu 1500\nuntil_passes 10.9.0.2 > passes.txt\n\
                  ping -c 3 -W 1 -s 1300 10.9.0.2 > long.txt || fail \"long ones do not pass\"\n";
    let Some(()) = stage.emulate(&["a", "b"], "0%", &programs, script) else { return };
    assert!(
        stage.text("a.log").contains("the MTU of the interface has shrunk"),
        "{}",
        stage.text("a.log")
    );
    let ms: u64 = stage.text("passes.txt").trim().parse().expect("a number");
    assert!(ms <= RECOVERY_MS + SLACK_MS, "{ms}");
}

/// TCP in both directions at the capacity of the link, with losses, and new keys every
/// few blocks. When nothing moves any more, everything that went in has come out, was dropped
/// before it was coded, or was an acknowledgement that a later one replaced. LASTHOP_SOAK_S=600 makes it longer.
#[test]
fn in_a_soak_every_packet_is_accounted_for() {
    let seconds = std::env::var("LASTHOP_SOAK_S").ok().and_then(|n| n.parse().ok());
    let seconds: u32 = seconds.unwrap_or(8);
    let stage = Stage::new("soak");
    stage.key("key");
    let mut programs = ends("--key-file key --rekey-blocks 16", "--key-file key --rekey-blocks 16");
    programs.push(("b", "exec iperf3 -s -1 >/dev/null".to_owned()));
    let memory = |at: &str| {
        format!("for n in a b; do grep VmRSS /proc/$(cat $n.pid)/status > $n.{at}.txt; done\n")
    };
    let script = format!(
        "command -v iperf3 >/dev/null || exit 0\nuntil_passes 10.9.0.2\nsleep 1\n{}\
         iperf3 -c 10.9.0.2 -t {seconds} --bidir > iperf.txt || fail \"$(cat iperf.txt)\"\n{}\
         last=; for second in $(seq 30); do\nsleep 1\n{}{}\
         this=$(grep -h packets a.json b.json); [ \"$this\" = \"$last\" ] && break; last=$this\n\
         done\n",
        memory("before"),
        memory("after"),
        stats("a"),
        stats("b")
    );
    let Some(()) = stage.emulate(&["a", "b"], "5%", &programs, &script) else { return };
    let stats = ["a.json", "b.json"].map(|name| stage.text(name));
    if stats[0].is_empty() {
        eprintln!("skipped, because iperf3 is not installed");
        return;
    }
    let stats = stats.map(|text| serde_json::from_str::<Value>(&text).expect("a document"));
    let count = |end: usize, name: &str| stats[end]["counters"][name].as_u64().expect("a number");
    for (from, to) in [(0, 1), (1, 0)] {
        let entered = count(from, "packets_in")
            - count(from, "backlog_drops")
            - count(from, "acks_superseded")
            - count(from, "refused")
            - stats[from]["backlog_packets"].as_u64().expect("a number");
        assert!(entered > 1_000, "{stats:#?}");
        assert_eq!(entered, count(to, "packets_out") + count(to, "undelivered"), "{stats:#?}");
        assert_eq!((count(to, "corrupt"), count(to, "symbols_lost")), (0, 0), "{stats:#?}");
        assert_eq!(count(to, "sessions"), 1);
    }
    for end in ["a", "b"] {
        let kib = |at: &str| -> u64 {
            let text = stage.text(&format!("{end}.{at}.txt"));
            text.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number of KiB")
        };
        let grown = kib("after").saturating_sub(kib("before"));
        assert!(grown < 32 * 1_024, "{end}: {grown} KiB more");
    }
}

/// Invalid datagrams that look like the protocol, from the address of a neighbour.
#[test]
fn strangers_change_nothing() {
    let stage = Stage::new("strangers");
    stage.key("key");
    let flood = format!(
        "version = {VERSION}\n{}",
        r#"
import os, random, socket, time
random.seed(1)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(5000):
    body = bytearray(os.urandom(random.randrange(0, 1400)))
    if body and n % 4:
        body[0] = version << 4 | random.randrange(0, 12)
        body[1:3] = bytes([random.choice([1, 2, 3]), random.choice([1, 2])])[: len(body[1:3])]
    out.sendto(body, ("a", 4797))
    time.sleep(0.001)
"#
    );
    fs::write(stage.path.join("flood.py"), flood).expect("it can be written");
    let mut programs = ends("--key-file key", "--key-file key");
    programs.push(("c", "sleep 3; python3 flood.py; touch flooded".to_owned()));
    programs.push(served());
    let script = format!(
        "until_passes 10.9.0.2\n{TRANSFER}\nuntil [ -e flooded ]; do sleep 0.2; done\n\
         ping -c 10 -i 0.1 -W 2 10.9.0.2 > ping.txt\n{}",
        stats("a")
    );
    let names = ["c", "a", "b"];
    let Some(()) = stage.emulate_in("a", &names, "0%", &programs, &script) else { return };
    assert!(stage.text("ping.txt").contains("10 received"), "{}", stage.text("ping.txt"));
    let stats = stage.stats("a.json");
    let counters = &stats["counters"];
    let refused = counters["malformed"].as_u64().zip(counters["unauthentic"].as_u64());
    let (malformed, unauthentic) = refused.expect("numbers");
    assert!(malformed > 1_000 && unauthentic > 1_000, "{counters:#}");
    assert_eq!(counters["sessions"], 1);
    assert_eq!(counters["corrupt"], 0);
}

/// Datagrams of daemons, recorded in several sessions and replayed from elsewhere, a thousand per
/// second: no replayed node counts as present, no session ends, and the answers are no more than
/// the replays.
#[test]
fn recordings_from_elsewhere_change_nothing() {
    let stage = Stage::new("recordings");
    stage.key("key");
    let record = r#"
import socket
heard = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
seen, out = set(), open("recorded", "w")
while True:
    packet = heard.recv(65535)
    if packet[0] == 0x45 and packet[9] == 17 and 4797 in (packet[20] * 256 + packet[21], packet[22] * 256 + packet[23]):
        datagram = packet[28:]
        if len(seen) < 3000 and datagram not in seen:
            seen.add(datagram)
            out.write(datagram.hex() + "\n")
            out.flush()
"#;
    let replay = r#"
import random, socket, time
random.seed(1)
recorded = [bytes.fromhex(line) for line in open("recorded").read().split()]
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setblocking(False)
sent = received = asked = 0
def hear():
    global received
    try:
        while True:
            received += len(out.recv(65535)) + 28
    except BlockingIOError:
        pass
for n in range(5000):
    datagram = random.choice(recorded)
    to = random.choice(["a", "b"])
    out.sendto(datagram, (to, 4797))
    sent += len(datagram) + 28
    # HELLOs and CALLs for node 1.
    asked += to == "a" and datagram[0] & 0xf in (5, 7) and datagram[2] == 1
    hear()
    time.sleep(0.001)
time.sleep(1)
hear()
open("replayed", "w").write(f"{sent} {received} {asked} {len(recorded)}\n")
"#;
    fs::write(stage.path.join("record.py"), record).expect("it can be written");
    fs::write(stage.path.join("replay.py"), replay).expect("it can be written");
    let mut programs = ends("--key-file key", "--key-file key");
    let wait = "until [ -e recorded.all ]; do sleep 0.1; done; python3 replay.py";
    programs.push(("c", wait.to_owned()));
    let script = format!(
        "python3 record.py & recorder=$!\nuntil_passes 10.9.0.2\n\
         for n in 1 2 3 4; do ping -c 5 -i 0.05 -W 1 10.9.0.2 >/dev/null\n\
         kill -9 $(cat b.pid); until_passes 10.9.0.2; done\nkill $recorder\n{}\
         mv a.json before.json\ntouch recorded.all\n\
         until [ -e replayed ]; do ping -c 5 -i 0.1 -W 2 10.9.0.2 >> ping.txt; done\n{}\
         cat /proc/$(cat a.pid)/status > status.txt\n",
        stats("a"),
        stats("a")
    );
    let names = ["c", "a", "b"];
    let Some(()) = stage.emulate_in("a", &names, "0%", &programs, &script) else { return };
    let text = stage.text("replayed");
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [sent, received, asked, recorded] = numbers[..] else { panic!("{text}") };
    assert!(recorded > 100 && asked > 20, "{text}");
    assert!(received > 0 && received <= sent, "{text}");
    let [before, after] = ["before.json", "a.json"].map(|name| stage.stats(name));
    assert_eq!(before["neighbours"][0]["address"], after["neighbours"][0]["address"]);
    let sessions = [&before, &after].map(|stats| stats["counters"]["sessions"].clone());
    assert_eq!(sessions[0], sessions[1], "{before:#}\n{after:#}\n{}", stage.logs());
    let [unproven_before, unproven] =
        [&before, &after].map(|stats| stats["counters"]["unproven"].as_u64().expect("a count"));
    assert!(2 * (unproven - unproven_before) > asked, "{text} {before:#}\n{after:#}");
    assert!(!stage.text("ping.txt").contains("100% packet loss"), "{}", stage.text("ping.txt"));
    let status = stage.text("status.txt");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .expect("the peak of memory is told");
    assert!(kib < 32 * 1_024, "{kib} KiB");
}
