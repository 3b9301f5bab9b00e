//! `lasthop franc` for real: daemons in namespaces, their interfaces, the kernel's TCP,
//! over an emulated link of 12 Mb/s, 10 ms each way, 150 kB of queue and losses in both
//! directions. Judged from outside: by ping, curl and cmp, by exit statuses, and by what
//! is left behind. What is missing on a machine (a program, namespaces) skips a test,
//! and the test says so.

#![expect(clippy::disallowed_methods, reason = "waits for other processes")]
#![expect(clippy::disallowed_types, reason = "sockets that stand for strangers")]

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a daemon that was killed and began again may take until pings pass.
const RECOVERY_MS: u64 = 1_000;
/// For the two new processes and the ping that tells.
const SLACK_MS: u64 = 250;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A directory, and the turn to use the machine.
struct Stage {
    path: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    fn new(name: &str) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let path =
            std::env::temp_dir().join(format!("lasthop-franc-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("it can be made");
        Self { path, _turn: turn }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).unwrap_or_default()
    }

    fn lasthop(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        command.args(arguments).current_dir(&self.path).env("RUNTIME_DIRECTORY", &self.path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.lasthop(arguments).output().expect("the binary can be run")
    }

    /// What `arguments` fail with.
    fn complaint(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        errors
    }

    /// Emulates the nodes `names` in a row with `programs` (node, line of shell) and runs
    /// `script` in the first; both have this directory as theirs. `None` if something is
    /// missing here.
    fn emulate(
        &self,
        names: &[&str],
        loss: &str,
        programs: &[(&str, String)],
        script: &str,
    ) -> Option<()> {
        self.emulate_in(names[0], names, loss, programs, script)
    }

    /// The same with the script in node `home`.
    fn emulate_in(
        &self,
        home: &str,
        names: &[&str],
        loss: &str,
        programs: &[(&str, String)],
        script: &str,
    ) -> Option<()> {
        for program in ["ping", "ip", "curl", "python3"] {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
            if !found.is_ok_and(|found| found.status.success()) {
                eprintln!("skipped, because {program} is not installed");
                return None;
            }
        }
        let mut scenario = String::from("name = \"link\"\n");
        for name in names {
            scenario += &format!("[[node]]\nname = \"{name}\"\nrole = \"host\"\n");
        }
        for pair in names.windows(2) {
            scenario += &format!(
                "[[wire]]\nbetween = [\"{}\", \"{}\"]\nrate = \"12112kb/s\"\ndelay = \"10ms\"\n\
                 loss = \"{loss}\"\nqueue = {{ kind = \"drop-tail\", bytes = 150000 }}\n",
                pair[0], pair[1]
            );
        }
        for (node, line) in programs {
            scenario += &format!(
                "[[run]]\nnode = \"{node}\"\ncommand = '''cd {} && {line}'''\n",
                self.path.display()
            );
        }
        fs::write(self.path.join("link.toml"), scenario).expect("it can be written");
        fs::write(self.path.join("script.sh"), format!("{SHELL}{script}"))
            .expect("it can be written");
        let output = self.run(&["emulate", "link.toml", "--in", home, "--", "sh", "script.sh"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("cannot emulate here") {
            eprintln!("skipped, because {errors}");
            return None;
        }
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{errors}{said}{}", self.logs());
        Some(())
    }

    fn logs(&self) -> String {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let logs = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
        logs.map(|log| {
            format!(
                "\n==> {:?}\n{}",
                log.file_name(),
                fs::read_to_string(log.path()).unwrap_or_default()
            )
        })
        .collect()
    }

    fn key(&self, name: &str) {
        assert!(self.run(&["franc", "key", "--out", name]).status.success());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What the scripts have in common.
const SHELL: &str = r#"
set -u
fail() { echo "$*" >&2; exit 1; }
now() { date +%s%3N; }
# Waits until pings pass; the time that took, in milliseconds.
until_passes() {
    begin=$(now)
    until ping -c 1 -W 0.2 "$1" >/dev/null 2>&1; do
        [ $(($(now) - begin)) -lt 15000 ] || fail "nothing passes to $1"
        sleep 0.02
    done
    echo $(($(now) - begin))
}
"#;

/// A daemon that is begun again whenever it ends; its number is in NAME.pid.
fn daemon(name: &str, flags: &str) -> String {
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    format!(
        "while :; do {lasthop} franc run --socket {name}.sock {flags} >>{name}.log 2>&1 & \
         echo $! >{name}.pid; wait $!; done"
    )
}

/// The two ends, over UDP.
fn ends(flags_a: &str, flags_b: &str) -> Vec<(&'static str, String)> {
    vec![
        (
            "a",
            daemon(
                "a",
                &format!(
                    "--id 1 --peer 2 --neighbours 2=b --address 10.9.0.1/24,fd09::1/64 {flags_a}"
                ),
            ),
        ),
        (
            "b",
            daemon(
                "b",
                &format!(
                    "--id 2 --peer 1 --neighbours 1=a --address 10.9.0.2/24,fd09::2/64 {flags_b}"
                ),
            ),
        ),
    ]
}

/// Random bytes in b's file `there`, sent to a as `here`.
const TRANSFER: &str = r#"
head -c 3000000 /dev/urandom > there
for i in 1 2 3 4 5; do
    curl --silent --show-error --max-time 60 http://10.9.0.2:8000/there -o here && break
    sleep 0.3
done
cmp there here || fail "the file came out as another one"
"#;

fn served() -> (&'static str, String) {
    ("b", "exec python3 -m http.server --bind 0.0.0.0 8000 >/dev/null 2>&1".to_owned())
}

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
             ping -c 60 -i 0.05 -W 2 10.9.0.2 > ping.txt || true\n\
             {} franc stats --json --socket a.sock > a.json\n\
             {} franc stats --prometheus --socket a.sock > a.prom\nip link show franc0 > link.txt\n",
            env!("CARGO_BIN_EXE_lasthop"),
            env!("CARGO_BIN_EXE_lasthop")
        );
        let Some(()) = stage.emulate(&["a", "b"], "20%", &programs, &script) else { return };
        assert!(stage.text("ping.txt").contains("60 received"), "{}", stage.text("ping.txt"));
        let stats: Value = serde_json::from_str(&stage.text("a.json")).expect("a document");
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

/// Every role is killed without warning, in the middle of a transfer, and begins again.
#[test]
fn whoever_is_killed_is_back_within_a_second() {
    let stage = Stage::new("kill");
    stage.key("key");
    assert!(stage.run(&["franc", "key", "--hop", "key", "--out", "hop"]).status.success());
    let programs = vec![
        (
            "a",
            daemon(
                "a",
                "--id 1 --peer 3 --via 2 --neighbours 2=r --address 10.9.0.1/24 --key-file key",
            ),
        ),
        (
            "r",
            daemon("r", "--id 2 --role recoder --between 1,3 --neighbours 1=a,3=b --key-file hop"),
        ),
        (
            "b",
            daemon(
                "b",
                "--id 3 --peer 1 --via 2 --neighbours 2=r --address 10.9.0.2/24 --key-file key",
            ),
        ),
        served(),
    ];
    let script = format!(
        "until_passes 10.9.0.2\n{TRANSFER}\
         for who in a r b r a b; do\n\
             ping -q -i 0.05 10.9.0.2 >/dev/null 2>&1 & load=$!\n\
             sleep 1; kill -9 $(cat $who.pid); echo $who $(until_passes 10.9.0.2) >> times.txt\n\
             kill $load\n\
         done\nrm here\n{TRANSFER}"
    );
    let Some(()) = stage.emulate(&["a", "r", "b"], "5%", &programs, &script) else { return };
    let times = stage.text("times.txt");
    assert_eq!(times.lines().count(), 6, "{times}");
    for line in times.lines() {
        let (_, ms) = line.split_once(' ').expect("who and how long");
        let ms: u64 = ms.parse().expect("a number");
        assert!(ms <= RECOVERY_MS + SLACK_MS, "{times}");
    }
}

#[test]
fn a_helper_that_vanishes_is_not_missed() {
    let stage = Stage::new("helper");
    stage.key("key");
    assert!(stage.run(&["franc", "key", "--hop", "key", "--out", "hop"]).status.success());
    // The helper stands between, so that all three hear each other; copies are for it.
    let programs = vec![
        (
            "a",
            daemon(
                "a",
                "--id 1 --peer 3 --helpers 1 --copies-to 2 --neighbours 2=h,3=b --address 10.9.0.1/24 --key-file key",
            ),
        ),
        (
            "h",
            daemon("h", "--id 2 --role helper --between 1,3 --neighbours 1=a,3=b --key-file hop"),
        ),
        (
            "b",
            daemon(
                "b",
                "--id 3 --peer 1 --helpers 1 --copies-to 2 --neighbours 1=a,2=h --address 10.9.0.2/24 --key-file key",
            ),
        ),
        served(),
    ];
    let script = format!(
        "until_passes 10.9.0.2\n\
         (sleep 1; kill -9 $(cat h.pid); sleep 1; kill -9 $(cat h.pid)) &\n{TRANSFER}\
         {} franc stats --json --socket h.sock > h.json\n",
        env!("CARGO_BIN_EXE_lasthop")
    );
    let Some(()) = stage.emulate(&["a", "h", "b"], "5%", &programs, &script) else { return };
    let stats: Value = serde_json::from_str(&stage.text("h.json")).expect("a document");
    assert_eq!(stats["role"], "helper");
    assert!(stats["neighbours"].as_array().is_some_and(|all| all.len() == 2), "{stats:#}");
}

/// Its address is known to nobody; then it has another one.
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
    // Then the right key takes the wrong one's place.
    let script = "sleep 3; ping -c 3 -W 1 10.9.0.2 >/dev/null 2>&1 && fail \"it opened\"\n\
                  cp a.log a.before.txt; cp b.log b.before.txt\n\
                  cp key other; kill -9 $(cat b.pid); until_passes 10.9.0.2 > passes.txt\n";
    let Some(()) = stage.emulate(&["a", "b"], "0%", &programs, script) else { return };
    let secret = stage.text("key");
    for log in ["a.before.txt", "b.before.txt"] {
        let text = stage.text(log);
        let complaints = text.matches("this key does not open").count();
        assert!((1..=5).contains(&complaints), "{log}: {text}");
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
    assert!(stage.text("a.log").contains("its MTU has shrunk"), "{}", stage.text("a.log"));
    let ms: u64 = stage.text("passes.txt").trim().parse().expect("a number");
    assert!(ms <= RECOVERY_MS + SLACK_MS, "{ms}");
}

/// TCP both ways at what the link carries, with losses and new keys every few blocks: what
/// went in came out or was dropped before it was coded. Longer with LASTHOP_SOAK_S=600.
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
         iperf3 -c 10.9.0.2 -t {seconds} --bidir > iperf.txt || fail \"$(cat iperf.txt)\"\nsleep 2\n{}\
         for n in a b; do {} franc stats --json --socket $n.sock > $n.json; done\n",
        memory("before"),
        memory("after"),
        env!("CARGO_BIN_EXE_lasthop")
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

/// Rubbish that looks like datagrams of the protocol, from a neighbour's address.
#[test]
fn strangers_change_nothing() {
    let stage = Stage::new("strangers");
    stage.key("key");
    let flood = r#"
import os, random, socket, time
random.seed(1)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(5000):
    body = bytearray(os.urandom(random.randrange(0, 1400)))
    if body and n % 4:
        body[0] = 0x10 | random.randrange(0, 7)
        body[1:3] = bytes([random.choice([1, 2, 3]), random.choice([1, 2])])[: len(body[1:3])]
    out.sendto(body, ("a", 4797))
    time.sleep(0.001)
"#;
    fs::write(stage.path.join("flood.py"), flood).expect("it can be written");
    let mut programs = ends("--key-file key", "--key-file key");
    programs.push(("c", "sleep 3; python3 flood.py; touch flooded".to_owned()));
    programs.push(served());
    let script = format!(
        "until_passes 10.9.0.2\n{TRANSFER}\nuntil [ -e flooded ]; do sleep 0.2; done\n\
         ping -c 10 -i 0.1 -W 2 10.9.0.2 > ping.txt\n\
         {} franc stats --json --socket a.sock > a.json\n",
        env!("CARGO_BIN_EXE_lasthop")
    );
    let names = ["c", "a", "b"];
    let Some(()) = stage.emulate_in("a", &names, "0%", &programs, &script) else { return };
    assert!(stage.text("ping.txt").contains("10 received"), "{}", stage.text("ping.txt"));
    let stats: Value = serde_json::from_str(&stage.text("a.json")).expect("a document");
    let counters = &stats["counters"];
    let refused = counters["malformed"].as_u64().zip(counters["unauthentic"].as_u64());
    let (malformed, unauthentic) = refused.expect("numbers");
    assert!(malformed > 1_000 && unauthentic > 1_000, "{counters:#}");
    assert_eq!(counters["sessions"], 1);
    assert_eq!(counters["corrupt"], 0);
}

/// A daemon without an interface, which needs no privilege.
struct Helper {
    child: Child,
    port: u16,
}

impl Helper {
    fn new(stage: &Stage, more: &[&str]) -> Self {
        let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("it has one").port();
        drop(free);
        let listen = format!("127.0.0.1:{port}");
        let flags = ["franc", "run", "--id", "3", "--role", "helper", "--between", "1,2"];
        let flags = [&flags[..], &["--insecure", "--listen", &listen], more].concat();
        let child = stage.lasthop(&flags).spawn().expect("the binary can be run");
        let helper = Self { child, port };
        helper.wait_for_stats(stage);
        helper
    }

    fn wait_for_stats(&self, stage: &Stage) -> Value {
        let begin = Instant::now();
        loop {
            let output = stage.run(&["franc", "stats", "--json"]);
            if output.status.success() {
                return serde_json::from_slice(&output.stdout).expect("a document");
            }
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(begin.elapsed() < Duration::from_secs(10), "{errors}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says so");
        line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number of KiB")
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A generator of numbers without any order (xorshift64).
struct Rubbish(u64);

impl Rubbish {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A million takes LASTHOP_FUZZ_DATAGRAMS=1000000.
#[test]
fn fuzzed_datagrams_do_nothing() {
    let datagrams = std::env::var("LASTHOP_FUZZ_DATAGRAMS").ok().and_then(|n| n.parse().ok());
    let datagrams: u64 = datagrams.unwrap_or(100_000);
    let stage = Stage::new("fuzz");
    let helper = Helper::new(&stage, &[]);
    let before = helper.resident_kib();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let mut rubbish = Rubbish(7);
    let mut bytes = [0; 1_600];
    for number in 0..datagrams {
        let length = (rubbish.next() % 1_500) as usize;
        for part in bytes[..length].chunks_mut(8) {
            let word = rubbish.next().to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
        if length > 9 && number % 8 != 0 {
            bytes[0] = 0x10 | (bytes[0] % 6);
            (bytes[1], bytes[2]) = (1 + bytes[1] % 2, 1 + bytes[2] % 3);
        }
        let _ = socket.send_to(&bytes[..length], ("127.0.0.1", helper.port));
        if number % 256 == 0 {
            // So that they are read rather than dropped by the kernel.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let stats = helper.wait_for_stats(&stage);
    let counters = &stats["counters"];
    let count = |name: &str| counters[name].as_u64().expect("a number");
    let taken = count("malformed") + count("unauthentic") + count("replayed");
    assert!(taken >= datagrams / 2, "{counters:#}");
    assert_eq!((count("innovative"), count("sessions")), (0, 0), "{counters:#}");
    let grown = helper.resident_kib().saturating_sub(before);
    assert!(grown < 16 * 1_024, "{grown} KiB more");
    assert_eq!(helper.end(Signal::SIGTERM), Some(143));
}

#[test]
fn a_control_socket_is_for_one_daemon_and_its_user() {
    let stage = Stage::new("control");
    let helper = Helper::new(&stage, &["--metrics", "127.0.0.1:0"]);
    let path = stage.path.join("franc-franc0.sock");
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    let second = ["franc", "run", "--id", "3", "--role", "helper", "--between", "1,2"];
    let second = [&second[..], &["--insecure", "--listen", "127.0.0.1:0"]].concat();
    assert!(stage.complaint(&second).contains("a daemon answers at"));
    // One that was killed leaves its socket, which the next one replaces.
    kill(Pid::from_raw(helper.child.id() as i32), Signal::SIGKILL).expect("it runs");
    drop(helper);
    assert!(path.exists());
    assert!(stage.complaint(&["franc", "stats"]).contains("the daemon is gone"));
    let next = Helper::new(&stage, &[]);
    assert_eq!(next.end(Signal::SIGINT), Some(130));
    assert!(!path.exists());
    assert!(stage.complaint(&["franc", "stats"]).contains("there is none"));
}

#[test]
fn keys_are_made_and_derived() {
    let stage = Stage::new("key");
    stage.key("link.key");
    let file = stage.path.join("link.key");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let shared = stage.text("link.key");
    assert_eq!(shared.trim().len(), 64);
    let hop = stage.run(&["franc", "key", "--hop", "link.key"]);
    let hop = String::from_utf8(hop.stdout).expect("text");
    assert!(hop.starts_with("hop:") && !hop.contains(shared.trim()), "{hop}");
    assert!(stage.complaint(&["franc", "key", "--out", "link.key"]).contains("File exists"));
    fs::write(stage.path.join("hop.key"), hop).expect("it can be written");
    let permit =
        |mode| fs::set_permissions(stage.path.join("hop.key"), fs::Permissions::from_mode(mode));
    permit(0o644).expect("it is ours");
    assert!(stage.complaint(&["franc", "key", "--hop", "hop.key"]).contains("chmod 600"));
    permit(0o600).expect("it is ours");
    assert!(stage.complaint(&["franc", "key", "--hop", "hop.key"]).contains("a hop key already"));
    let end = ["franc", "run", "--id", "1", "--peer", "2", "--key-file", "hop.key"];
    assert!(stage.complaint(&end).contains("an end needs the shared key"));
}

#[test]
fn what_cannot_be_is_told_and_leaves_nothing() {
    let stage = Stage::new("wrong");
    let end = |more: &[&str]| {
        let base = ["franc", "run", "--id", "1", "--peer", "2", "--insecure", "--name", "lhwrong0"];
        stage.complaint(&[&base[..], more].concat())
    };
    let ethernet = ["--transport", "ethernet", "--interface", "nosuch0"];
    assert!(end(&ethernet).contains("there is no interface \"nosuch0\""));
    let told = end(&["--symbol-bytes", "1400", "--mtu", "600"]);
    assert!(told.contains("a symbol of 1400 bytes needs a datagram of"), "{told}");
    assert!(end(&["--mtu", "128"]).contains("error: "));
    assert!(end(&["--neighbours", "2=nobody.invalid"]).contains("cannot find nobody.invalid"));
    assert!(
        end(&["--block-symbols", "0"]).starts_with("--block-symbols 0: block_symbols: expected")
    );
    fs::write(
        stage.path.join("franc.toml"),
        "id = 1\npeer = 2\ninsecure = true\nfeild = \"gf2\"\n",
    )
    .expect("it can be written");
    let told = stage.complaint(&["franc", "run", "franc.toml"]);
    assert_eq!(told, "franc.toml:4: feild: unknown key; did you mean \"field\"?\n");
    assert!(!Path::new("/sys/class/net/lhwrong0").exists());
}

/// As a user without any capability.
#[test]
fn a_missing_capability_is_named() {
    let is_there = Command::new("setpriv").arg("--version").output().is_ok();
    if !Uid::effective().is_root() || !is_there {
        eprintln!("skipped, because only root with setpriv(1) can take capabilities away");
        return;
    }
    let stage = Stage::new("capability");
    let told = |flags: &[&str]| {
        let output = Command::new("setpriv")
            .args(["--bounding-set=-all", "--inh-caps=-all", "--", env!("CARGO_BIN_EXE_lasthop")])
            .args(["franc", "run", "--id", "1", "--peer", "2", "--insecure"])
            .args(flags)
            .env("RUNTIME_DIRECTORY", &stage.path)
            .output()
            .expect("setpriv is there");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("text")
    };
    let udp = told(&["--listen", "127.0.0.1:0"]);
    assert!(udp.contains("CAP_NET_ADMIN") && udp.contains("setcap"), "{udp}");
    let ethernet = told(&["--transport", "ethernet", "--interface", "lo"]);
    assert!(ethernet.contains("CAP_NET_RAW") && ethernet.contains("setcap"), "{ethernet}");
}
