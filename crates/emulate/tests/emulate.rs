//! Whole emulations, judged by the kernel and by independent programs: ping, iperf3, curl, if
//! installed. Without user namespaces or a program, a test says that it is skipped.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]

use lasthop_emulate::{
    DeviceChoice, EmulateError, EmulateOptions, EmulateOutcome, ProgramEnd, emulate,
};
use lasthop_fixtures::{hop, two_hosts};
use lasthop_hosts::{FrancReport, Sink, TcpSample};
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant};
use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Two hosts on a wire of 10 ms and 100 Mb/s.
fn hosts() -> String {
    "duration = \"3s\"\n".to_owned() + &two_hosts("rate = \"100Mb/s\"\ndelay = \"10ms\"")
}

/// A station, its access point, and a host behind it.
fn wifi_hop() -> String {
    let laptop = "position = [\"3m\", \"0m\"]\nrate_control = { kind = \"fixed\", mcs = 7 }";
    "duration = \"2s\"\n".to_owned() + &hop("laptop", laptop, "5ms")
}

/// Counts that the tests read.
#[derive(Default)]
struct Tally {
    /// Packets and bytes that arrived, by flow and source.
    arrived: Vec<(FlowId, NodeId, u16)>,
    round_trips: Vec<Duration>,
    samples: Vec<TcpSample>,
    /// Packets that came out of a coded link and had not gone in.
    corrupt: Option<u64>,
}

impl Sink for Tally {
    fn arrived(&mut self, _now: Instant, _node: NodeId, packet: &Packet) {
        self.arrived.push((packet.flow, packet.source, packet.bytes));
    }
    fn round_trip(&mut self, _now: Instant, _flow: FlowId, rtt: Duration) {
        self.round_trips.push(rtt);
    }
    fn tcp(&mut self, _now: Instant, _flow: FlowId, sample: &TcpSample) {
        self.samples.push(*sample);
    }
    fn franc(&mut self, _now: Instant, _link: usize, report: &FrancReport) {
        self.corrupt = Some(report.corrupt);
    }
}

fn scenario(text: &str) -> Scenario {
    lasthop_scenario::parse("test.toml", text, &[]).unwrap()
}

fn options(command: &[&str]) -> EmulateOptions {
    let words: Vec<OsString> = command.iter().map(OsString::from).collect();
    let command = (!words.is_empty()).then_some(words);
    EmulateOptions { command, in_node: Some("left".into()), ..EmulateOptions::default() }
}

/// Runs it; `None` if this machine does not allow namespaces.
fn run(text: &str, options: &EmulateOptions, tally: &mut Tally) -> Option<EmulateOutcome> {
    match emulate(&scenario(text), options, tally, &mut |_, _| {}) {
        Ok(outcome) => Some(outcome),
        Err(EmulateError::Os(error)) if error.call.starts_with("unshare") => {
            eprintln!("skipped, because {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Exit status of a shell command in the left host.
fn shell(command: &str) -> Option<i32> {
    let options = options(&["/bin/sh", "-c", command]);
    run(&hosts(), &options, &mut Tally::default())?.exit_status
}

fn installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped, because {program} is not installed");
    }
    found
}

/// The round trip times that ping saw, in milliseconds; the first one waits for no ARP either.
fn ping(device: DeviceChoice, target: &str) -> Option<Vec<f64>> {
    let file = std::env::temp_dir().join(format!("lasthop-ping-{}-{device:?}", std::process::id()));
    let command = format!("ping -c 6 -i 0.2 {target} > {}", file.display());
    let options = EmulateOptions { device, ..options(&["/bin/sh", "-c", &command]) };
    let outcome = run(&hosts(), &options, &mut Tally::default())?;
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(outcome.exit_status, Some(0), "{text}");
    let time = |line: &str| line.split_once("time=")?.1.split(' ').next()?.parse().ok();
    Some(text.lines().filter_map(time).collect())
}

#[test]
fn ping_sees_the_delay_of_the_wire_and_hardly_more() {
    if !installed("ping") {
        return;
    }
    let tap = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    for device in [DeviceChoice::Tap, DeviceChoice::Veth] {
        if let (DeviceChoice::Tap, Err(error)) = (device, &tap) {
            eprintln!("TAP skipped, because /dev/net/tun does not open: {error}");
            continue;
        }
        for target in ["right", "ip6-right"] {
            // A machine with other things to do delays one or the other, or all for a while.
            let (mut medians, mut firsts) = (Vec::new(), Vec::new());
            // An answer to ARP would take another 20 ms.
            while !medians.iter().any(|&median| median < 25.0)
                || !firsts.iter().any(|&first| first < 35.0)
            {
                let Some(mut times) = ping(device, target) else { return };
                assert_eq!(times.len(), 6);
                firsts.push(times[0]);
                times.sort_by(f64::total_cmp);
                assert!(times[0] >= 20.0, "{times:?}");
                medians.push(times[2]);
                assert!(medians.len() < 10, "{medians:?}");
            }
        }
    }
}

#[test]
fn a_command_gives_its_status_or_its_signal() {
    for (command, status) in [("exit 7", 7), ("kill -TERM $$", 143), ("true", 0)] {
        let Some(given) = shell(command) else { return };
        assert_eq!(given, status, "{command}");
    }
}

#[test]
fn a_command_finds_the_nodes_by_name_and_in_its_environment() {
    let commands = [
        "test $(getent hosts right | cut -d ' ' -f 1) = 10.77.0.2",
        "test $(getent hosts ip6-right | cut -d ' ' -f 1) = fd77::2",
        "test $LASTHOP_RIGHT_ADDR = 10.77.0.2 && test $LASTHOP_NODE = left",
        "test $(hostname) = left",
        "! grep -q eth1 /proc/net/dev && grep -q eth0 /proc/net/dev",
    ];
    for command in commands {
        let Some(status) = shell(command) else { return };
        assert_eq!(status, 0, "{command}");
    }
}

#[test]
fn an_unknown_command_is_named() {
    let options = options(&["no-such-program"]);
    let error = emulate(&scenario(&hosts()), &options, &mut Tally::default(), &mut |_, _| {});
    match error.unwrap_err() {
        EmulateError::NotStarted { command, node, .. } => {
            assert_eq!((command.as_str(), node.as_str()), ("no-such-program", "left"));
        }
        EmulateError::Os(error) if error.call.starts_with("unshare") => {
            eprintln!("skipped, because {error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_unknown_node_is_named_with_the_known_ones() {
    let options = EmulateOptions { in_node: Some("middle".into()), ..options(&["true"]) };
    let error = emulate(&scenario(&hosts()), &options, &mut Tally::default(), &mut |_, _| {});
    let text = error.unwrap_err().to_string();
    assert!(text.contains("\"middle\"") && text.contains("left, right"), "{text}");
}

#[test]
fn an_unknown_congestion_control_is_named_with_the_known_ones() {
    let flow = r#"
[[flow]]
name = "up"
from = "left"
to = "right"
kind = "tcp"
congestion_control = "cubik"
"#;
    let text = hosts() + flow;
    let Ok(scenario) = lasthop_scenario::parse("test.toml", &text, &[]) else {
        eprintln!("skipped, because the scenario refuses it already");
        return;
    };
    let error = emulate(&scenario, &options(&[]), &mut Tally::default(), &mut |_, _| {});
    match error.unwrap_err() {
        EmulateError::CongestionControl { name, available, .. } => {
            assert_eq!(name, "cubik");
            assert!(available.split(' ').any(|name| name == "reno"), "{available}");
        }
        EmulateError::Os(error) if error.call.starts_with("unshare") => {
            eprintln!("skipped, because {error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn flows_are_real_traffic() {
    let flows = r#"
[[flow]]
name = "bulk"
from = "left"
to = "right"
kind = "tcp"
congestion_control = "reno"
[[flow]]
name = "ping"
from = "right"
to = "left"
kind = "ping"
interval = "50ms"
[[flow]]
name = "datagrams"
from = "right"
to = "left"
kind = "udp"
rate = "8Mb/s"
packet_bytes = 1000
"#;
    let mut tally = Tally::default();
    let Some(outcome) = run(&(hosts() + flows), &options(&[]), &mut tally) else { return };
    assert_eq!(outcome.frames_lost_outside, 0);
    // 8 Mb/s in packets of 1 000 bytes for 3 s; a hundred may be in flight at
    // the ends or lost while ARP is asked.
    let datagrams = tally.arrived.iter().filter(|a| **a == (FlowId(2), NodeId(1), 1000)).count();
    assert!((2900..=3000).contains(&datagrams), "{datagrams}");
    // A wire of 100 Mb/s carries 1 500 of 1 514 bytes of each full frame, TCP 1 448 of those.
    let last = tally.samples.last().unwrap();
    let goodput_mbps = last.bytes_acked as f64 * 8e-6 / outcome.duration.as_secs_f64();
    assert!((60.0..95.7).contains(&goodput_mbps), "{goodput_mbps}");
    assert!(last.smoothed_rtt >= Duration::from_millis(20), "{last:?}");
    assert!(tally.round_trips.len() > 50, "{}", tally.round_trips.len());
    assert!(tally.round_trips.iter().all(|rtt| *rtt >= Duration::from_millis(20)));
}

/// The model's flows run beside the kernel's, on the same wire.
#[test]
fn the_models_flows_share_the_hop() {
    let flows = r#"
[[flow]]
name = "kernel"
from = "left"
to = "right"
kind = "udp"
rate = "20Mb/s"
[[flow]]
name = "model"
from = "left"
to = "right"
kind = "tcp"
endpoints = "model"
[[flow]]
name = "web"
from = "right"
to = "left"
kind = "tcp"
requests = { think = "10ms" }
"#;
    let mut tally = Tally::default();
    let Some(outcome) = run(&(hosts() + flows), &options(&[]), &mut tally) else { return };
    assert_eq!(outcome.frames_lost_outside, 0);
    let seconds = outcome.duration.as_secs_f64();
    let mbps = |flow: u16| {
        let packets = tally.arrived.iter().filter(|a| (a.0, a.1) == (FlowId(flow), NodeId(0)));
        packets.map(|a| f64::from(a.2)).sum::<f64>() * 8e-6 / seconds
    };
    // The model's TCP fills what the kernel's datagrams leave of the wire, which carries 1 500
    // of 1 538 bytes of a frame.
    let (kernel, model) = (mbps(0), mbps(1));
    assert!((17.0..20.1).contains(&kernel), "{kernel}");
    assert!((50.0..77.6).contains(&model), "{model}");
    // An answer of 20 kB begins in a round trip.
    assert!(tally.arrived.iter().any(|a| (a.0, a.1, a.2) == (FlowId(2), NodeId(0), 1500)));
}

/// A coded link of the model carries what the kernel sends, byte by byte: its checksums are
/// right, and where one in ten packets is lost its TCP does not see it.
#[test]
fn a_coded_link_carries_the_kernels_packets() {
    let link = r#"
loss = "10%"
[[franc]]
name = "tunnel"
ends = ["left", "right"]
[[flow]]
name = "bulk"
from = "left"
to = "right"
kind = "tcp"
"#;
    let mut tally = Tally::default();
    let options = if installed("ping") {
        options(&["/bin/sh", "-c", "ping -c 15 -i 0.1 -W 2 right | grep -q ' 0% packet'"])
    } else {
        options(&[])
    };
    let Some(outcome) = run(&(hosts() + link), &options, &mut tally) else { return };
    assert!(matches!(outcome.exit_status, None | Some(0)), "a ping was lost");
    assert_eq!(tally.corrupt, Some(0));
    // CUBIC without it: 1.2 * MSS / (RTT * sqrt(p)) is 2.2 Mb/s (Mathis et al.).
    let last = tally.samples.last().unwrap();
    let goodput_mbps = last.bytes_acked as f64 * 8e-6 / outcome.duration.as_secs_f64();
    assert!(goodput_mbps > 10.0, "{goodput_mbps}");
}

#[test]
fn a_command_runs_behind_the_wifi_hop() {
    let script =
        "test $LASTHOP_NODE = laptop && grep -q wlan0 /proc/net/dev && ping -q -c 3 -i 0.2 server";
    let options = EmulateOptions { in_node: None, ..options(&["sh", "-c", script]) };
    let mut tally = Tally::default();
    let Some(outcome) = run(&wifi_hop(), &options, &mut tally) else { return };
    assert_eq!(outcome.exit_status, Some(0));
    let (_, laptop) = &outcome.stats.stations[1];
    assert!(!laptop.airtime.is_zero());
}

/// MCS 7 of one stream in 20 MHz is 65 Mb/s; aggregates of 64 KiB leave more
/// than four fifths of it to full-size packets.
#[test]
fn a_saturated_flow_fills_the_air_and_no_more() {
    let flow = r#"
[[flow]]
name = "up"
from = "laptop"
to = "server"
kind = "udp"
rate = "saturated"
"#;
    let mut tally = Tally::default();
    let Some(outcome) = run(&(wifi_hop() + flow), &options(&[]), &mut tally) else { return };
    let of_flow = tally.arrived.iter().filter(|(flow, ..)| *flow == FlowId(0));
    let bytes: u64 = of_flow.map(|(.., bytes)| u64::from(*bytes)).sum();
    let mbps = bytes as f64 * 8e-6 / outcome.duration.as_secs_f64();
    assert!((0.8 * 65.0..65.0).contains(&mbps), "{mbps}");
    assert_eq!(outcome.frames_lost_outside, 0);
}

#[test]
fn a_run_that_is_later_than_allowed_says_so() {
    let strict = "[emulation]\nlateness_max = \"1ns\"\n";
    let ping = EmulateOptions { in_node: None, ..options(&["ping", "-c", "1", "server"]) };
    if !installed("ping") {
        return;
    }
    let Some(outcome) = run(&(wifi_hop() + strict), &ping, &mut Tally::default()) else {
        return;
    };
    assert!(outcome.late);
}

#[test]
fn programs_of_the_scenario_run_and_their_output_is_kept() {
    if !installed("iperf3") {
        return;
    }
    let programs = r#"
[[run]]
node = "right"
command = ["iperf3", "-s", "-1"]
[[run]]
node = "left"
command = ["iperf3", "-c", "right", "-t", "1", "-f", "m"]
start = "300ms"
"#;
    // Best of three: a machine that is busy only makes it slower.
    let mut best = 0.0f64;
    for _ in 0..3 {
        let mut tally = Tally::default();
        let Some(outcome) = run(&(hosts() + programs), &options(&[]), &mut tally) else {
            return;
        };
        let client = &outcome.programs[1];
        let output = String::from_utf8_lossy(&client.output);
        assert_eq!(client.end, ProgramEnd::Itself(0), "{output}");
        let receiver = output.lines().find(|line| line.ends_with("receiver")).unwrap();
        let words: Vec<&str> = receiver.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "Mbits/sec").unwrap();
        best = best.max(words[at - 1].parse().unwrap());
        assert!(best < 95.7, "{receiver}");
        if best > 30.0 {
            return;
        }
    }
    panic!("{best} Mb/s at most");
}

/// Why it could not be run; `None` if this machine does not allow namespaces.
fn refused(text: &str, options: &EmulateOptions) -> Option<String> {
    match emulate(&scenario(text), options, &mut Tally::default(), &mut |_, _| {}) {
        Ok(outcome) => panic!("it ran: {outcome:?}"),
        Err(EmulateError::Os(error)) if error.call.starts_with("unshare") => {
            eprintln!("skipped, because {error}");
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

/// A server that takes 400 ms until it listens; each program above another, and the command,
/// wait for it. Not one connection is refused.
#[test]
fn nothing_meets_a_server_that_does_not_listen_yet() {
    if !installed("python3") || !installed("curl") {
        return;
    }
    let programs = r#"
[[run]]
node = "right"
command = "sleep 0.4; exec python3 -m http.server 8000"
ready = "tcp:8000"
[[run]]
node = "left"
command = "curl -fsS -o /dev/null http://right:8000/ && echo fetched"
"#;
    // The other client gets the time to end by itself.
    let command = "curl -fsS -o /dev/null http://right:8000/ && sleep 1";
    let command = options(&["/bin/sh", "-c", command]);
    let Some(outcome) = run(&(hosts() + programs), &command, &mut Tally::default()) else {
        return;
    };
    let [server, client] = &outcome.programs[..] else { panic!("{outcome:?}") };
    let errors = String::from_utf8_lossy(&client.output);
    assert_eq!((outcome.exit_status, client.end), (Some(0), ProgramEnd::Itself(0)), "{errors}");
    assert_eq!(errors, "fetched\n");
    assert_eq!(server.end, ProgramEnd::Emulation);
}

#[test]
fn programs_are_ready_by_time_by_file_and_by_port() {
    if !installed("python3") {
        return;
    }
    let mark = format!("/dev/shm/lasthop-ready-{}", std::process::id());
    std::fs::write(&mark, "an old one").unwrap();
    // Each reads the clock (/proc/uptime, in seconds) when it is started.
    let program = |command: &str, ready: &str| {
        format!("[[run]]\nnode = \"right\"\ncommand = {command:?}\nready = \"{ready}\"\n")
    };
    let read = "read now rest < /proc/uptime; echo $now;";
    let socket = "import socket,time; s = socket.socket(type=socket.SOCK_DGRAM)
time.sleep(0.4); s.bind((\"\", 5000)); time.sleep(9)";
    let programs = [
        program(&format!("{read} sleep 9"), "300ms"),
        program(
            &format!("{read} sleep 0.3; echo new > {mark}; exec sleep 9"),
            &format!("file:{mark}"),
        ),
        program(&format!("{read} exec python3 -c '{socket}'"), "udp:5000"),
        // Ready with its last deed.
        program(&format!("{read} rm {mark}; sleep 0.3; echo > {mark}"), &format!("file:{mark}")),
        program(read, "0s"),
    ];
    let text = (hosts() + &programs.concat()).replace("\nready = \"0s\"", "");
    let result = run(&text, &options(&["sleep", "0.2"]), &mut Tally::default());
    std::fs::remove_file(&mark).unwrap();
    let Some(outcome) = result else { return };
    let start = |program: &lasthop_emulate::ProgramOutcome| -> f64 {
        let output = String::from_utf8_lossy(&program.output).into_owned();
        output
            .lines()
            .next()
            .and_then(|line| line.parse().ok())
            .unwrap_or_else(|| panic!("{output}"))
    };
    let starts: Vec<f64> = outcome.programs.iter().map(start).collect();
    for pair in starts.windows(2) {
        // /proc/uptime has two digits.
        assert!(pair[1] - pair[0] > 0.28, "{starts:?}");
    }
    assert_eq!(outcome.programs[3].end, ProgramEnd::Itself(0));
}

#[test]
fn a_program_that_is_never_ready_is_named() {
    let program = |command: &str, rest: &str| {
        hosts()
            + &format!(
                "[[run]]\nnode = \"right\"\ncommand = {command:?}\nready = \"tcp:80\"\n{rest}"
            )
    };
    let ends = program("for i in 1 2 3 4 5 6 7 8 9 10 11; do echo line $i; done; exit 3", "");
    let Some(message) = refused(&ends, &options(&["true"])) else { return };
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[0].starts_with("program \"sh -c for"), "{message}");
    let first =
        "in node \"right\" ended with exit status 3 before it was ready (tcp:80); it wrote last:";
    assert!(lines[0].ends_with(first), "{message}");
    assert_eq!((lines.len(), lines[1], lines[10]), (11, "  line 2", "  line 11"));

    let waits = program("sleep 100", "ready_timeout = \"300ms\"\n");
    let message = refused(&waits, &options(&["true"])).unwrap();
    let slow = "program \"sh -c sleep 100\" in node \"right\" took 300ms (ready_timeout) before it \
                was ready (tcp:80); it wrote nothing";
    assert_eq!(message, slow);
}

/// A caller that catches signals itself hands over one that came before: it was lost, and the
/// command ran on.
#[test]
fn a_signal_from_before_ends_it() {
    let signal_noted = Arc::new(AtomicUsize::new(15));
    let options = EmulateOptions { signal_noted, ..options(&["sleep", "100"]) };
    let Some(outcome) = run(&hosts(), &options, &mut Tally::default()) else { return };
    assert_eq!((outcome.exit_status, outcome.interrupted), (None, Some(15)));
    assert!(outcome.duration < Duration::from_secs(2), "{}", outcome.duration);
}

#[test]
fn the_duration_ends_a_command_that_does_not() {
    let limit = Some(Duration::from_millis(300));
    let options = EmulateOptions { duration: limit, ..options(&["sleep", "100"]) };
    let Some(outcome) = run(&hosts(), &options, &mut Tally::default()) else { return };
    assert_eq!((outcome.exit_status, outcome.interrupted), (None, None));
    assert!(outcome.duration < Duration::from_secs(2), "{}", outcome.duration);
}

/// A minimal system has no `/etc/hosts`, so that there is nothing to cover. The test runs itself
/// once more, where `/etc` is empty.
#[test]
fn nodes_have_names_where_etc_is_empty() {
    const INSIDE: &str = "LASTHOP_TEST_EMPTY_ETC";
    if std::env::var_os(INSIDE).is_some() {
        let names = "getent hosts right && ! getent hosts nobody && test ! -e /etc/passwd";
        assert!(shell(names).is_none_or(|status| status == 0), "no names");
        return;
    }
    let script = "mount -t tmpfs none /etc || exit 77
        exec \"$0\" --exact nodes_have_names_where_etc_is_empty --nocapture";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, "1")
        .output();
    match output {
        Ok(output) if output.status.success() => {
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(told.contains("1 passed"), "{told}");
        }
        Ok(output) if !matches!(output.status.code(), Some(1 | 77)) => panic!("{output:?}"),
        _ => eprintln!("skipped, because user namespaces, or unshare, are missing"),
    }
}
