//! Does the emulated hop carry real programs faithfully? Judged from outside the
//! binary: by ping, iperf3, curl and tshark, and by the results of `simulate` for the
//! same scenario. One emulation at a time, because two would disturb each other; a run
//! that reports itself as late is not judged. A test is skipped, and says so, if the
//! machine lacks something (a program, user namespaces).

#![expect(clippy::disallowed_methods, reason = "waits for other processes")]

use lasthop_fixtures::flow;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A laptop near its access point, and a server behind that.
fn hop() -> String {
    let head = r#"
name = "hop"
duration = "2500ms"
warmup = "500ms"
[node_defaults]
rate_control = { kind = "fixed", mcs = 7 }
"#;
    head.to_owned() + &lasthop_fixtures::hop("laptop", "position = [\"3m\", \"0m\"]", "2ms")
}

const ONE_WAY_WIRE_MS: f64 = 2.0;
/// As many datagrams as the hop accepts, in packets of 1428 bytes with headers.
fn saturated() -> String {
    flow("up", ["laptop", "server"], "udp", "rate = \"saturated\"\npacket_bytes = 1428")
}
/// As much as the kernel's TCP sends.
fn tcp() -> String {
    flow("up", ["laptop", "server"], "tcp", "")
}
/// Payload of a full TCP segment with timestamps, in bytes.
const SEGMENT_BYTES: f64 = 1_448.0;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A directory with a scenario, and the right to emulate now.
struct Stage {
    path: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    /// `None` if a program is missing here, or the kernel refuses namespaces.
    fn new(name: &str, scenario: &str, programs: &[&str]) -> Option<Self> {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let path = std::env::temp_dir().join(format!("lasthop-e2e-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("it can be made");
        let stage = Self { path, _turn: turn };
        fs::write(stage.path.join("hop.toml"), scenario).expect("it can be written");
        for program in programs {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
            if !found.is_ok_and(|found| found.status.success()) {
                eprintln!("skipped, because {program} is not installed");
                return None;
            }
        }
        let probe = stage.run("emulate", &["--duration", "1ms"]);
        let errors = text(&probe.stderr);
        if errors.contains("cannot emulate here") {
            eprintln!("skipped, because {errors}");
            return None;
        }
        assert!(probe.status.success(), "{errors}");
        Some(stage)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn command(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        command.args([verb, "hop.toml"]).args(arguments).current_dir(&self.path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, verb: &str, arguments: &[&str]) -> Output {
        self.command(verb, arguments).output().expect("the binary can be run")
    }

    /// The document of a run, and the text on standard error.
    fn document(&self, verb: &str, arguments: &[&str]) -> (Value, String) {
        let output = self.run(verb, &[&["--json"], arguments].concat());
        let errors = text(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        match verb {
            "simulate" => (document["runs"][0].clone(), errors),
            _ => (document, errors),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(document: &Value, pointer: &str) -> f64 {
    document.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer}"))
}

/// Whether the run kept real time, by its own report.
fn was_in_time(document: &Value) -> bool {
    let late = document["emulation"]["late"].as_bool().expect("it is an emulation");
    if late {
        eprintln!("skipped, because the machine did not keep real time");
    }
    !late
}

/// The lines of tshark about a capture, with checksums verified.
fn tshark(capture: &Path, arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(capture).args(["-o", "wlan.check_checksum:TRUE"]);
    let output = command.args(arguments).output().expect("it is installed");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn a_saturated_hop_carries_what_the_simulation_says() {
    let Some(stage) = Stage::new("saturated", &(hop() + &saturated()), &[]) else { return };
    for aggregation in ["65535", "0"] {
        let set = format!("node.laptop.aggregation.ampdu_bytes_max={aggregation}");
        let (simulated, _) = stage.document("simulate", &["--set", &set]);
        let (emulated, _) = stage.document("emulate", &["--set", &set]);
        if was_in_time(&emulated) {
            let [simulated, emulated] =
                [simulated, emulated].map(|run| number(&run, "/flows/up/goodput_mbps"));
            let ratio = emulated / simulated;
            assert!((0.97..1.03).contains(&ratio), "{emulated} for {simulated} Mb/s");
        }
    }
}

#[test]
fn iperf3_finds_the_capacity_that_the_simulation_says() {
    let server = "[[run]]\nnode = \"server\"\ncommand = [\"iperf3\", \"-s\"]\n";
    let Some(stage) = Stage::new("iperf3", &(hop() + server), &["iperf3"]) else { return };
    let mcs = "node.laptop.rate_control.mcs=1";
    // 1400 bytes and 28 of headers are the packets of the simulation.
    let script = "until iperf3 -c server -u -b 24M -l 1400 -t 3 -O 1 -J > iperf3.json
        do sleep 0.1; done";
    // The queue is full before the end of the second that iperf3 omits, and long enough
    // for a third of a second in which iperf3 does not run.
    let queue = "node.laptop.queue={kind=\"drop-tail\",packets=400}";
    let arguments = ["--set", mcs, "--set", queue, "--", "sh", "-c", script];
    let (emulated, _) = stage.document("emulate", &arguments);
    let report = fs::read(stage.file("iperf3.json")).expect("it was written");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    fs::write(stage.file("hop.toml"), hop() + &saturated()).expect("it can be written");
    let (simulated, _) = stage.document("simulate", &["--set", mcs]);
    let lost_percent = number(&report, "/end/sum_received/lost_percent");
    if lost_percent < 20.0 {
        eprintln!("skipped, because iperf3 came not to send enough: {lost_percent} % were lost");
    } else if was_in_time(&emulated) {
        let received = number(&report, "/end/sum_received/bits_per_second") / 1e6;
        let expected = number(&simulated, "/flows/up/goodput_mbps");
        assert!((0.97..1.03).contains(&(received / expected)), "{received} for {expected} Mb/s");
    }
}

/// Little's law: the number of packets in the queue divided by packets per second is
/// the delay, which the kernel's TCP measures.
#[test]
fn the_kernel_measures_the_wait_that_the_queue_makes() {
    let Some(stage) = Stage::new("little", &(hop() + &tcp()), &[]) else { return };
    let (run, _) = stage.document(
        "emulate",
        &[
            "--duration",
            "6s",
            "--set",
            "warmup=2s",
            "--set",
            "node.laptop.rate_control.mcs=3",
            "--set",
            "node.laptop.queue={kind=\"drop-tail\",packets=100}",
        ],
    );
    if !was_in_time(&run) {
        return;
    }
    let packets = number(&run, "/nodes/laptop/queue_packets/mean");
    let packets_per_ms = number(&run, "/flows/up/goodput_mbps") * 1e3 / 8.0 / SEGMENT_BYTES;
    let wait_ms = packets / packets_per_ms;
    let delay_ms = number(&run, "/flows/up/one_way_delay_ms/mean");
    let ratio = delay_ms / (wait_ms + ONE_WAY_WIRE_MS);
    assert!(packets > 30.0 && (0.9..1.1).contains(&ratio), "{delay_ms} for {wait_ms} ms: {run}");
    // An acknowledgement returns over the wire, and waits for an aggregate of the
    // laptop.
    let back_ms = number(&run, "/flows/up/rtt_ms/mean") - delay_ms;
    assert!((ONE_WAY_WIRE_MS..ONE_WAY_WIRE_MS + 12.0).contains(&back_ms), "{back_ms}: {run}");
}

/// Without a flow in the scenario: which packets waited for what, by protocol and
/// addresses.
#[test]
fn flows_of_programs_are_shown_with_their_parts() {
    let laptop = "name = \"laptop\"\n";
    let dozing = hop().replace(laptop, &format!("{laptop}power_save = {{ idle = \"50ms\" }}\n"));
    assert!(dozing.len() > hop().len());
    let Some(stage) = Stage::new("programs", &dozing, &["ping"]) else { return };
    let ping = ["--", "ping", "-q", "-c", "6", "-i", "0.3", "server"];
    let (run, _) = stage.document("emulate", &ping);
    let programs = run["programs"].as_object().expect("there was a program");
    let echoes: Vec<_> = programs.iter().filter(|(name, _)| name.starts_with("icmp ")).collect();
    assert_eq!(echoes.len(), 2, "there and back: {run:#}");
    let (mut asleep, mut sent) = (0.0, 0);
    for (name, flow) in echoes {
        assert_eq!(flow["packets_sent"], flow["packets_received"], "{name}");
        sent += flow["packets_sent"].as_u64().expect("a number");
        let parts = flow["delay_parts_ms"].as_object().expect("packets arrived");
        let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
        let mean = flow["one_way_delay_ms"]["mean"].as_f64().expect("a number");
        assert!((sum - mean).abs() < 1e-5, "{sum} of {mean}: {name}");
        asleep += parts["asleep"].as_f64().expect("a number");
    }
    assert_eq!(sent, 12);
    // The laptop dozes between two requests, and wakes up to send.
    assert!(asleep > 0.05, "{run:#}");
    assert_eq!(run.get("programs_left_out"), None);
}

/// The findings of an emulated run are those of the simulated one, and its remedies are tried
/// in virtual time.
#[test]
fn a_report_of_an_emulated_run_says_what_the_simulated_one_says() {
    let ping = flow("beat", ["laptop", "server"], "ping", "interval = \"50ms\"");
    let Some(stage) = Stage::new("report", &(hop() + &tcp() + &ping), &[]) else { return };
    let page = |folder: &str| {
        let mut report = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        let output = report.args(["report", folder]).current_dir(&stage.path).output();
        let output = output.expect("the binary can be run");
        assert!(output.status.success(), "{}", text(&output.stderr));
        fs::read_to_string(stage.file(folder).join("report.html")).expect("it is there")
    };
    let titles = |page: &str| {
        let parts = page.split("<li><h3>").skip(1);
        parts.map(|part| part.split('<').next().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    let bad = ["--set", "duration=8s", "--set", "warmup=3s"];
    let slow = ["--set", "node_defaults.rate_control.mcs=1"];
    // The kernel's TCP keeps no more than its small queue in its own node.
    let model = ["--set", "flow.up.tcp.small_queues=off"];
    let deep = ["--set", "node.laptop.queue={kind=\"drop-tail\",packets=400}"];
    let sets = [&bad[..], &slow, &model, &deep].concat();
    let (run, _) = stage.document("emulate", &[&sets[..], &["--out", "emulated"]].concat());
    stage.document("simulate", &[&sets[..], &["--out", "simulated"]].concat());
    let (emulated, simulated) = (page("emulated"), page("simulated"));
    assert!(simulated.contains("Tried, and it helps:") && !simulated.contains("are simulated"));
    assert!(emulated.contains("both numbers are simulated"), "{emulated}");
    if !was_in_time(&run) {
        return;
    }
    let bloat = "A queue that is too long (bufferbloat)";
    assert_eq!(titles(&simulated).first().map(String::as_str), Some(bloat));
    assert_eq!(titles(&emulated), titles(&simulated), "{run:#}");
}

/// A program that sends a flood over UDP: an emulation without a flow in its scenario.
#[test]
fn a_report_of_programs_tells_a_flood_from_bufferbloat() {
    let deep = "name = \"laptop\"\nqueue = { kind = \"drop-tail\", packets = 200 }\n";
    let scenario = hop().replace("name = \"laptop\"\n", deep);
    let Some(stage) = Stage::new("flood", &scenario, &["iperf3"]) else { return };
    let server = "\n[[run]]\nnode = \"server\"\ncommand = [\"iperf3\", \"-s\", \"-1\"]\n";
    fs::write(stage.file("hop.toml"), scenario + server).expect("it can be written");
    let client = "sleep 0.5; iperf3 -u -b 200M -t 3 -c server";
    let arguments = ["--duration", "6s", "--out", "emulated", "--", "sh", "-c", client];
    let (run, _) = stage.document("emulate", &arguments);
    if !was_in_time(&run) {
        return;
    }
    let mut report = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    let output = report.args(["report", "emulated"]).current_dir(&stage.path).output();
    let output = output.expect("the binary can be run");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(stage.file("emulated/report.html")).expect("it is there");
    assert!(page.contains("<li><h3>More is offered than the hop carries"), "{run:#}");
}

#[test]
fn captures_hold_what_the_programs_sent() {
    let server = "[[run]]\nnode = \"server\"
        command = [\"python3\", \"-m\", \"http.server\", \"8000\", \"-d\", \"served\"]\n";
    let programs = ["python3", "curl", "tshark"];
    let scenario = hop() + server;
    let Some(stage) = Stage::new("captures", &scenario, &programs) else { return };
    // Bytes without a pattern, so that none can take the place of another unnoticed.
    let content: Vec<u8> =
        (0_u32..500_000).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::create_dir(stage.file("served")).expect("it can be made");
    fs::write(stage.file("served/content"), &content).expect("it can be written");
    // At the end no frame is on the air that was counted and not captured.
    let script = "until curl -fs -o fetched http://server:8000/content; do sleep 0.05; done
        sleep 0.3";
    let options = ["--set", "warmup=0s", "--out", "out", "--pcap"];
    let arguments = [&options[..], &["--", "sh", "-c", script]].concat();
    let (run, _) = stage.document("emulate", &arguments);
    assert!(fs::read(stage.file("fetched")).expect("curl wrote it") == content);

    let fields = [
        "tcp.analysis.retransmission",
        "wlan.fc.retry",
        "_ws.malformed",
        "wlan.fcs.status",
        "wlan.fc.type_subtype",
        "wlan.ta",
        "wlan.ra",
    ];
    let [wired, air] = ["node-server", "air"].map(|name| {
        let objects = stage.file(name);
        let export = format!("http,{}", objects.display());
        let selected = fields.iter().flat_map(|field| ["-e", field]);
        let arguments: Vec<_> =
            ["--export-objects", &export, "-T", "fields"].into_iter().chain(selected).collect();
        let frames = tshark(&stage.file(&format!("out/{name}.pcapng")), &arguments);
        let found = fs::read(objects.join("content")).expect("tshark found it");
        assert!(found == content, "{name}");
        // Segments that the kernel or, after a collision, the MAC sent again overlap, which
        // tshark calls malformed, too. The MAC's come within a round trip, so that to tshark
        // they are out of order, if not retransmissions.
        let rest = |frame: &String| {
            let (again, rest) = frame.split_once('\t')?;
            let (retry, rest) = rest.split_once('\t')?;
            let malformed = rest.find('\t')?;
            let is_first = again.is_empty() && ["", "0", "False"].contains(&retry);
            Some(if is_first { rest } else { &rest[malformed..] }.to_owned())
        };
        frames.iter().map(|frame| rest(frame).expect("several fields")).collect::<Vec<_>>()
    });
    assert_eq!(wired.iter().find(|frame| !frame.trim().is_empty()), None, "malformed");
    let unsound = |frame: &&String| !frame.starts_with("\t1\t");
    assert_eq!(air.iter().find(unsound), None, "malformed, or a wrong frame check sequence");
    for (link, [sender, receiver]) in [("ap->laptop", [0, 1]), ("laptop->ap", [1, 0])] {
        let data = format!("\t1\t0x0028\t02:1a:00:00:00:0{sender}\t02:1a:00:00:00:0{receiver}");
        let frames = air.iter().filter(|frame| **frame == data).count() as f64;
        assert_eq!(frames, number(&run["links"][link], "/mpdus"), "{link}");
    }
}

#[test]
fn a_jumbo_packet_passes_whole_and_a_longer_one_does_not() {
    let scenario = hop().replace("[node_defaults]\n", "[node_defaults]\nmtu = 7900\n");
    let Some(stage) = Stage::new("jumbo", &scenario, &["ping"]) else { return };
    // 20 bytes of IPv4 and 8 of ICMP.
    let ping = |bytes: &str| {
        let ping = ["--", "ping", "-M", "do", "-c", "2", "-i", "0.2", "-W", "1", "-s", bytes];
        stage.run("emulate", &[&ping[..], &["server"]].concat()).status.code()
    };
    assert_eq!(ping("7872"), Some(0));
    assert_eq!(ping("7873"), Some(1));
}

/// A queue of 50 packets that sends one at a time, at 11 Mb/s.
#[test]
fn a_queue_is_measured_from_outside() {
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let serving =
        format!("[[run]]\nnode = \"server\"\ncommand = [{lasthop:?}, \"apq\", \"serve\"]\n");
    let standard = "[channel]\nstandard = \"802.11b\"\n[node_defaults]";
    let hop = hop().replace("mcs = 7", "rate = \"11Mb/s\"").replace("[node_defaults]", standard);
    let Some(stage) = Stage::new("queue", &format!("{hop}{serving}"), &[]) else { return };
    // One late packet in a thousand does not change a median.
    let sets = [
        "--set",
        "emulation.lateness_max=10ms",
        "--set",
        "node.ap.queue={kind=\"drop-tail\",packets=50}",
    ];
    let command = ["--out", "out", "--", lasthop, "apq", "measure", "server", "--yes"];
    let measure =
        |arguments: &[&str]| stage.run("emulate", &[&sets[..], &command, arguments].concat());
    let long = measure(&["--packet-size", "1501"]);
    let errors = text(&long.stderr);
    assert_eq!(long.status.code(), Some(2), "{errors}");
    assert!(errors.contains("packets of 1501 bytes do not fit: the path to 10."), "{errors}");
    assert!(errors.contains("takes up to 1500; use shorter ones: --packet-size 1500,750"));

    let measured = measure(&["--packet-size", "1500", "--no-discipline", "--json"]);
    assert!(measured.status.success(), "{}", text(&measured.stderr));
    let run = fs::read(stage.file("out/run.json")).expect("it was written");
    if was_in_time(&serde_json::from_slice(&run).expect("JSON")) {
        let document: Value = serde_json::from_slice(&measured.stdout).expect("JSON");
        let packets = number(&document, "/directions/0/sizes/0/capacity_packets/mean");
        assert!((48.0..=52.0).contains(&packets), "{document:#}");
    }
}

#[test]
fn no_program_outlives_a_killed_emulation() {
    let Some(stage) = Stage::new("killed", &(hop() + &tcp()), &["setsid"]) else { return };
    let interfaces = || {
        let entries = fs::read_dir("/sys/class/net").expect("Linux has it").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = interfaces();
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        // In a session of its own, and ignoring the signals of a terminal and of a
        // supervisor.
        let marker = format!("{}.{}", 700_000 + std::process::id(), signal as i32);
        let script = format!(
            "trap '' INT TERM HUP; setsid sleep {marker} & touch started; wait; sleep {marker}"
        );
        let arguments = ["--", "sh", "-c", &script];
        let mut child = stage.command("emulate", &arguments).spawn().expect("it can be run");
        let started = stage.file("started");
        wait_for(|| started.exists());
        kill(Pid::from_raw(child.id() as i32), signal).expect("it runs");
        if signal == Signal::SIGTERM {
            // The second signal does not wait for the command.
            std::thread::sleep(Duration::from_millis(50));
            let _ = kill(Pid::from_raw(child.id() as i32), signal);
        }
        child.wait().expect("it ends");
        wait_for(|| !is_running(&marker));
        wait_for(|| interfaces() == before);
        fs::remove_file(&started).expect("it was made");
    }
}

/// Whether a process has `word` among its arguments.
fn is_running(word: &str) -> bool {
    let entries = fs::read_dir("/proc").expect("Linux has it").flatten();
    let mut arguments = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    arguments.any(|bytes| text(&bytes).contains(word))
}

fn wait_for(mut condition: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not happen");
}

/// Any user can lower a limit on namespaces for a user namespace of that user.
#[test]
fn a_machine_without_room_says_so_and_keeps_nothing() {
    let Some(stage) = Stage::new("limits", &hop(), &["unshare"]) else { return };
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    for (limit, hint) in [("user", "user.max_user_namespaces"), ("net", "'user.max_.*_namespaces'")]
    {
        // Without capabilities even its root needs a user namespace.
        let caps = if limit == "user" { "setpriv --bounding-set=-all --inh-caps=-all" } else { "" };
        let script = format!(
            "echo 0 > /proc/sys/user/max_{limit}_namespaces || exit 77
             {caps} {lasthop} emulate hop.toml --out out -- true"
        );
        let mut command = Command::new("unshare");
        command.args(["-Ur", "sh", "-c", &script]).current_dir(&stage.path);
        let output = command.output().expect("it is installed");
        let errors = text(&output.stderr);
        if matches!(output.status.code(), Some(1 | 77 | 127)) {
            eprintln!("skipped, because the limit cannot be lowered: {errors}");
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.starts_with("error: cannot emulate here: unshare("), "{errors}");
        assert!(errors.contains(hint), "{errors}");
        assert!(!stage.file("out").exists());
    }
}

/// Changes that COMMAND makes during a run take effect then and are recorded; simulated again, they
/// give the same round trips.
#[test]
fn a_session_that_was_changed_is_a_scenario_again() {
    let ping = flow("ping", ["laptop", "server"], "ping", "interval = \"10ms\"");
    let Some(stage) = Stage::new("set", &(hop() + &ping), &[]) else { return };
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let script = format!(
        "sleep 1; {lasthop} set wire.server-ap.delay=30ms && {lasthop} set | grep delay; \
         sleep 1; {lasthop} set link.ap-laptop.loss=1; sleep 0.5; \
         {lasthop} set link.ap-laptop.loss=off wire.server-ap.delay=5ms; \
         {lasthop} set wire.server-ap.delay=fast; echo $?; sleep 1"
    );
    let output = stage.run("emulate", &["--out", "out", "--", "sh", "-c", &script]);
    let (told, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert!(told.contains("wire.server-ap.delay=30ms  delay of the wire"), "{told}{errors}");
    assert!(told.trim_end().ends_with('2'), "a wrong value is an error: {told}{errors}");
    assert!(errors.contains("wire.server-ap.delay: expected a time"), "{errors}");

    let read = |path: &str| -> Value {
        let text = fs::read(stage.file(path)).expect("it was written");
        serde_json::from_slice(&text).expect("JSON")
    };
    let emulated = read("out/run.json");
    let recorded = fs::read_to_string(stage.file("out/scenario.toml")).expect("it was written");
    assert_eq!(recorded.matches("[[change]]").count(), 3, "{recorded}");
    fs::write(stage.file("hop.toml"), recorded).expect("it can be written");
    let (simulated, _) = stage.document("simulate", &[]);
    assert!((number(&simulated, "/duration_s") - number(&emulated, "/duration_s")).abs() < 2e-3);
    if was_in_time(&emulated) {
        // Means of round trips hang on the one or two packets that outlast the outage.
        let rtt = "/flows/ping/rtt_ms/p50";
        for pointer in ["/flows/ping/delay_parts_ms/wire", rtt, "/flows/ping/packets_sent"] {
            let [one, other] = [&emulated, &simulated].map(|run| number(run, pointer));
            assert!((one / other - 1.0).abs() < 0.05, "{pointer}: {one} {other}");
        }
        let lost = |run| number(run, "/flows/ping/packets_lost");
        assert!(lost(&emulated) > 20.0, "an outage of half a second");
        assert!((lost(&emulated) - lost(&simulated)).abs() < 8.0);
    }
}

/// Requests to an emulation that does not exist fail, and a killed one leaves no socket.
#[test]
fn a_door_is_gone_with_its_emulation() {
    let Some(stage) = Stage::new("door", &hop(), &[]) else { return };
    let set = |pid: u32, sets: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        command.args(["set", "--pid", &pid.to_string()]).args(sets).output().expect("it runs")
    };
    let mut running = stage.command("emulate", &["--duration", "30s"]).spawn().expect("it runs");
    let pid = running.id();
    let listed = (0..100).map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        set(pid, &[])
    });
    let listed = listed.into_iter().find(|output| output.status.success());
    let listed = listed.expect("it answers before long");
    assert!(text(&listed.stdout).contains("node.laptop.queue.kind=fq-codel"));
    running.kill().expect("it runs");
    running.wait().expect("it was killed");
    let gone = set(pid, &["node.ap.queue.kind=codel"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(text(&gone.stderr).contains("runs no emulation"), "{}", text(&gone.stderr));
}

/// A page served during an emulation gets readings, changes the emulation, and gets its end.
#[test]
fn a_browser_follows_and_changes_an_emulation() {
    let ping = flow("ping", ["laptop", "server"], "ping", "interval = \"10ms\"");
    let Some(stage) = Stage::new("web", &(hop() + &ping), &["curl"]) else { return };
    let mut command = stage.command("emulate", &["--duration", "3s", "--web", "--out", "out"]);
    let mut running = command.spawn().expect("it runs");
    let mut told = BufReader::new(running.stderr.take().expect("it is ours"));
    let mut address = String::new();
    told.read_line(&mut address).expect("the address comes first");
    let address = address.trim();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    let curl = |arguments: &[&str]| {
        let output = Command::new("curl").arg("-s").args(arguments).output().expect("curl runs");
        text(&output.stdout)
    };
    let live = Command::new("curl")
        .args(["-sN", &format!("{address}live")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("curl runs");
    let set = format!("{address}set");
    let json = ["-H", "Content-Type: application/json", "-d"];
    let attempts = (0..40).map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        curl(&[&json[..], &[r#"{"set": ["wire.server-ap.delay=40ms"]}"#, &set]].concat())
    });
    let applied = attempts.into_iter().find(|answer| !answer.contains("error"));
    let applied: Value = serde_json::from_str(&applied.expect("it begins")).expect("JSON");
    assert_eq!(applied["set"]["wire.server-ap.delay"], "40ms");
    let wrong = curl(&[&json[..], &[r#"{"set": ["wire.server-ap.delay=fast"]}"#, &set]].concat());
    assert!(wrong.contains("expected a time"), "{wrong}");

    let heard = text(&live.wait_with_output().expect("the stream ends").stdout);
    assert!(running.wait().expect("it ends").success());
    let events = |kind: &str| -> Vec<Value> {
        let mark = format!("event: {kind}\ndata: ");
        let parts = heard.split("\n\n").filter_map(|event| event.trim_start().strip_prefix(&mark));
        parts.map(|json| serde_json::from_str(json).expect("JSON")).collect()
    };
    assert_eq!(
        (events("hello").len(), events("change"), events("end").len()),
        (1, vec![applied], 1)
    );
    let readings = events("reading");
    assert!(readings.len() > 20, "{}", readings.len());
    let delay = |reading: &Value| reading["flows"][0]["delay_ms"].as_f64();
    let last = delay(readings.last().expect("some"));
    assert!(last.is_some_and(|ms| ms > 40.0), "{heard}");
    let recorded = fs::read_to_string(stage.file("out/scenario.toml")).expect("it was written");
    assert!(recorded.contains("[[change]]"), "{recorded}");
}

/// Steered to another access point at once, and a second later along with it to another channel: an
/// emulated run says of it what the simulated one says, on the air too. Pings of the scenario are the
/// kernel's, so instants of the model may differ by a frame, and sums of pings by a few.
#[test]
fn roams_and_channel_switches_are_those_of_the_simulation() {
    let text = r#"
name = "moves"
duration = "4s"
warmup = "0s"
[channel]
standard = "802.11n"
[[cell]]
name = "hall"
network = "office"
channel = 36
steering = { stations = 1 }
[[cell]]
name = "lab"
network = "office"
channel = 44
channel_switch = {}
[[node]]
name = "ap-hall"
role = "access-point"
bss = "hall"
[[node]]
name = "ap-lab"
role = "access-point"
bss = "lab"
position = ["20m", "0m"]
[[node]]
name = "laptop"
role = "station"
bss = "hall"
position = ["12m", "0m"]
roaming = { channels = 2 }
[[node]]
name = "near"
role = "station"
bss = "hall"
position = ["2m", "0m"]
[[node]]
name = "switch"
role = "relay"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["ap-hall", "switch"]
[[wire]]
between = ["ap-lab", "switch"]
[[wire]]
between = ["switch", "server"]
[[change]]
at = "2700ms"
set = { "cell.lab.channel" = 149 }
"#;
    let ping = flow("ping", ["server", "laptop"], "ping", "interval = \"20ms\"");
    let Some(stage) = Stage::new("moves", &(text.to_owned() + &ping), &["tshark"]) else { return };
    // Authentication, association, Probe Requests, actions, beacons; and Null frames.
    let kinds = "wlan.fc.type_subtype in {0x00..0x05, 0x08, 0x0a..0x0d, 0x24, 0x2c}";
    let sees = |verb: &str| {
        let (run, errors) = stage.document(verb, &["--out", verb, "--pcap"]);
        let fields = ["-T", "fields", "-e", "wlan.fc.type_subtype", "-e", "wlan_radio.channel"];
        let air = stage.file(verb).join("air.pcapng");
        let mut frames = tshark(&air, &[&["-Y", kinds][..], &fields].concat());
        // Block Ack agreements follow the traffic, which only programs have in the other station.
        frames.retain(|line| !line.starts_with("0x000d"));
        frames.sort();
        (run, frames, errors)
    };
    let (simulated, simulated_frames, _) = sees("simulate");
    let (emulated, emulated_frames, errors) = sees("emulate");
    let [one, other] = [&simulated, &emulated].map(|run| {
        let [roam] = &run["nodes"]["laptop"]["roaming"]["roams"].as_array().expect("it roams")[..]
        else {
            panic!("one roam: {run:#}")
        };
        assert_eq!(roam["steered_by"], "stations", "{errors}");
        let [moved] = &run["nodes"]["ap-lab"]["channel_switches"].as_array().expect("it moves")[..]
        else {
            panic!("one move: {run:#}")
        };
        assert_eq!(run["nodes"]["laptop"]["roaming"]["steering"]["accepted"], 1);
        let whole = ["from_channel", "to_channel", "quiet", "stations", "followed"];
        let whole = whole.map(|key| moved[key].clone());
        let names = ["leaves", "joins"].map(|key| roam[key].clone());
        let times =
            ["scan_ms", "authentication_ms", "association_ms", "handshake_ms", "without_ms"]
                .map(|key| number(roam, &format!("/{key}")));
        let times = [&times[..], &[number(moved, "/announced_ms"), number(moved, "/without_ms")]];
        let received = number(run, "/flows/ping/packets_received");
        ((whole, names), times.concat(), received, 1e3 * number(roam, "/at_s"))
    });
    assert_eq!(one.0, other.0);
    assert_eq!(one.0.0[4], 1, "the laptop follows: {simulated:#}");
    for (a, b) in one.1.iter().zip(&other.1).chain([(&one.3, &other.3)]) {
        assert!((a - b).abs() < 3.0, "{a} and {b} ms: {one:?} {other:?}");
    }
    assert!((one.2 - other.2).abs() <= 5.0 && one.2 > 180.0, "{one:?} {other:?}");
    assert_eq!(simulated_frames, emulated_frames);
    assert!(simulated_frames.iter().any(|line| line.ends_with("\t149")), "{simulated_frames:?}");
}
