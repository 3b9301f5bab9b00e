//! Two daemons on two hosts of one network, between which no session begins. Judged by their output
//! within six seconds: it names the value seen, the value expected, and the flag. The cases run
//! together, each at another UDP port.

use crate::stage::Stage;

/// A pair of daemons, and their expected lines.
struct Case {
    /// Name of both interfaces.
    name: &'static str,
    /// Flags of the daemons at a and b; no daemon if there are none.
    flags: [&'static str; 2],
    /// Parts of the line that the daemons print; none: neither a warning nor a session.
    told: [&'static [&'static str]; 2],
}

/// PORT is the port of the case; 192.0.2.1 is host a, 192.0.2.2 host b.
const CASES: [Case; 13] = [
    Case {
        name: "right",
        flags: ["--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT", "--id 2 --peer 1"],
        told: [&["connected to node 2"], &["connected to node 1"]],
    },
    Case {
        name: "nodaemon",
        flags: ["--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT", ""],
        told: [
            &["the host 192.0.2.2 is there, but no program listens to UDP port PORT", "--listen"],
            &[],
        ],
    },
    Case {
        name: "nohost",
        flags: ["--id 1 --peer 2 --neighbours 2=192.0.2.77:PORT", ""],
        told: [&["192.0.2.1 finds no host 192.0.2.77", "--neighbours 2=192.0.2.77"], &[]],
    },
    Case {
        name: "noaddress",
        flags: ["--id 1 --peer 2", "--id 2 --peer 1"],
        told: [
            &["node 2 (unknown address)", "--neighbours 2=HOST here"],
            &["node 1 (unknown address)", "--neighbours 1=HOST here"],
        ],
    },
    // The route to 192.0.2.3 becomes a blackhole when the daemon at a runs, before that at b does.
    Case {
        name: DEAF,
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.3:PORT",
            "--id 2 --peer 1 --neighbours 1=192.0.2.1:PORT --listen 192.0.2.3:PORT",
        ],
        told: [
            &[
                "datagrams of node 2 arrive here, but those of this node do not arrive there",
                "route to 192.0.2.3:PORT is a blackhole",
            ],
            &["no answer from node 1 at 192.0.2.1:PORT", "firewalls"],
        ],
    },
    Case {
        name: "id",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT",
            "--id 5 --peer 1 --neighbours 1=192.0.2.1:PORT",
        ],
        told: [
            &[
                "node 5 calls from 192.0.2.2:PORT, where node 2 is expected: give it --id 2",
                "--peer 5",
            ],
            &["node 1 calls node 2, but this one is node 5", "--id 2", "--peer 5"],
        ],
    },
    Case {
        name: "sameid",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT",
            "--id 1 --peer 2 --neighbours 2=192.0.2.1:PORT",
        ],
        told: [
            &["the node at 192.0.2.2:PORT has --id 1"],
            &["the node at 192.0.2.1:PORT has --id 1"],
        ],
    },
    Case {
        name: "peer",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT",
            "--id 2 --peer 3 --neighbours 3=192.0.2.1:PORT",
        ],
        told: [
            &["node 2 calls node 3, but this one is node 1", "--id 3", "--peer 1"],
            &[
                "node 1 calls from 192.0.2.1:PORT, where node 3 is expected: give it --id 3",
                "--peer 1",
            ],
        ],
    },
    Case {
        name: "numbers",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT",
            "--id 5 --peer 6 --neighbours 6=192.0.2.1:PORT",
        ],
        told: [
            &["node 5 at 192.0.2.2:PORT calls node 6, and this one is node 1", "--id 2 --peer 1"],
            &["node 1 at 192.0.2.1:PORT calls node 2, and this one is node 5", "--id 6 --peer 5"],
        ],
    },
    Case {
        name: "keys",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT --key-file key",
            "--id 2 --peer 1 --neighbours 1=192.0.2.1:PORT --key-file other",
        ],
        told: [&["node 2 have another key", "--key-file"], &["node 1 have another key"]],
    },
    Case {
        name: "keyless",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT --key-file key",
            "--id 2 --peer 1 --neighbours 1=192.0.2.1:PORT",
        ],
        told: [
            &["node 2 runs with --insecure", "--key-file"],
            &["node 1 runs with a key, and this node with --insecure", "--key-file"],
        ],
    },
    Case {
        name: "symbols",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT",
            "--id 2 --peer 1 --neighbours 1=192.0.2.1:PORT --mtu 1400",
        ],
        told: [
            &["--symbol-bytes is 1346 there and 1446 here", "both ends --symbol-bytes 1346"],
            &["--symbol-bytes is 1446 there and 1346 here", "both ends --symbol-bytes 1346"],
        ],
    },
    Case {
        name: "mode",
        flags: [
            "--id 1 --peer 2 --neighbours 2=192.0.2.2:PORT",
            "--id 2 --peer 1 --neighbours 1=192.0.2.1:PORT --mode paper",
        ],
        told: [
            &["--field is gf2 there and gf256 here", "the same --mode"],
            &["--field is gf256 there and gf2 here", "the same --mode"],
        ],
    },
];

const DEAF: &str = "deaf";
const HOSTS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

#[test]
fn both_ends_say_why_there_is_no_session() {
    let stage = Stage::new("why");
    stage.key("key");
    stage.key("other");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let mut lines = [String::new(), String::new()];
    for (index, case) in CASES.iter().enumerate() {
        let port = 5_000 + index;
        for (node, (line, flags)) in ["a", "b"].into_iter().zip(lines.iter_mut().zip(case.flags)) {
            if flags.is_empty() {
                continue;
            }
            let flags = flags.replace("PORT", &port.to_string());
            let key = if flags.contains("--key-file") { "" } else { "--insecure" };
            let is_placed = flags.contains("--listen");
            let listen = if is_placed { String::new() } else { format!("--listen 0.0.0.0:{port}") };
            let name = case.name;
            let wait = if name == DEAF && node == "b" { "sleep 1.5; " } else { "" };
            *line += &format!(
                "({wait}exec {lasthop} franc run --name {name} --socket {node}-{name}.sock {listen} \
                 {key} {flags} >{node}-{name}.log 2>&1) &\n"
            );
        }
    }
    let [a, b] = lines;
    let set_up = |host: &str| format!("ip addr add {host}/24 dev eth0\n");
    let script = format!(
        "{}nsenter --net=/run/netns/b sh b.sh &\nsleep 1\n{a}sleep 0.3\n\
         ip route add blackhole 192.0.2.3/32\nsleep 6\n",
        set_up(HOSTS[0])
    );
    let b = format!("{}ip addr add 192.0.2.3/24 dev eth0\nsleep 0.5\n{b}wait\n", set_up(HOSTS[1]));
    std::fs::write(stage.path.join("b.sh"), b).expect("it can be written");
    let Some(()) = stage.bridge(false, &[], &script) else { return };
    for (index, case) in CASES.iter().enumerate() {
        for (node, told) in ["a", "b"].into_iter().zip(case.told) {
            let text = stage.text(&format!("{node}-{}.log", case.name));
            for part in told {
                let part = part.replace("PORT", &(5_000 + index).to_string());
                assert!(text.contains(&part), "{node}: {part:?} in {text}{}", stage.logs());
            }
            // The first line is about the start; "no host" is known only after three seconds, when
            // "no answer" was told.
            let most = 2 + usize::from(case.name == "nohost");
            assert!(text.lines().count() <= most, "{node} repeats: {text}");
        }
    }
}
