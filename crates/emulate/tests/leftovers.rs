//! However an emulation ends, nothing of it stays: no process, no namespace, no
//! device, no file. And it needs no privilege: run as root, these tests run
//! themselves once more as a user without any.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]
#![expect(clippy::disallowed_methods, reason = "processes take real time")]

use lasthop_emulate::{EmulateError, EmulateOptions, OutsideOptions, Published, emulate};
use lasthop_fixtures::{flow, two_hosts};
use lasthop_hosts::sink::NoSink;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Marks the environment of every process that an emulation starts.
const MARK: &str = "LASTHOP_TEST_MARK";
/// A script for the emulation to run behind the hop.
const COMMAND: &str = "LASTHOP_TEST_COMMAND";
/// Whether the emulation has ways to the machine and its network.
const OUTSIDE: &str = "LASTHOP_TEST_OUTSIDE";
/// User and group `nobody`.
const NOBODY: u32 = 65534;

fn scenario() -> String {
    let run = r#"
[[run]]
node = "right"
command = ["sh", "-c", "trap '' TERM INT HUP; setsid sleep 1000 & sleep 1000"]
"#;
    [
        "duration = \"20s\"\n",
        &two_hosts("delay = \"1ms\""),
        &flow("ping", ["left", "right"], "ping", "interval = \"10ms\""),
        run,
    ]
    .concat()
}

/// Not a separate test: the emulation that the others kill.
#[test]
#[ignore = "run by the other tests"]
fn an_emulation() {
    let scenario = lasthop_scenario::parse("test.toml", &scenario(), &[]).unwrap();
    let command = std::env::var_os(COMMAND).map(|script| vec!["sh".into(), "-c".into(), script]);
    let in_node = Some("left".into());
    let outside = match std::env::var_os(OUTSIDE) {
        None => OutsideOptions::default(),
        Some(_) => OutsideOptions {
            network: true,
            reach: vec![80],
            publish: vec![Published { port: free_port(), node: None, node_port: 80 }],
            at: None,
        },
    };
    let options = EmulateOptions { command, in_node, outside, ..EmulateOptions::default() };
    match emulate(&scenario, &options, &mut NoSink, &mut |_, _| {}) {
        Ok(outcome) => {
            let status = outcome.interrupted.map_or(0, |signal| 128 + signal);
            std::process::exit(outcome.exit_status.unwrap_or(status))
        }
        Err(EmulateError::Os(error)) if error.call.starts_with("unshare") => {
            std::process::exit(77);
        }
        Err(EmulateError::NoHelper { .. } | EmulateError::HelperFailed { .. }) => {
            std::process::exit(77);
        }
        Err(error) => panic!("{error}"),
    }
}

/// A free TCP port of the loopback.
#[expect(clippy::disallowed_types, reason = "asks the kernel for one")]
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn start(mark: &str) -> Child {
    start_with(mark, None)
}

fn start_with(mark: &str, command: Option<&str>) -> Child {
    command_with(mark, command).spawn().unwrap()
}

fn command_with(mark: &str, command: Option<&str>) -> Command {
    let mut start = Command::new("env");
    // With signals as in a terminal: nohup(1) and a shell's background make what
    // they start deaf to some of them.
    start
        .arg("--default-signal=INT,TERM,HUP")
        .arg(std::env::current_exe().unwrap())
        .envs(command.map(|script| (COMMAND, script)))
        .args(["--exact", "an_emulation", "--ignored", "--nocapture"])
        .env(MARK, mark)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    start
}

/// Processes with the mark in their environment, by their command lines.
fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

/// Waits until no marked process is left.
fn assert_gone(mark: &str) {
    let start = Instant::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "still there: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Devices and mounts that we see from outside.
fn outside() -> (Vec<String>, usize) {
    let devices = std::fs::read_dir("/sys/class/net").unwrap();
    let mut devices: Vec<String> =
        devices.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    devices.sort();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    (devices, mounts.lines().count())
}

#[test]
fn killed_at_any_moment_it_leaves_nothing() {
    let before = outside();
    // Milliseconds after its start: while namespaces are made, and while it runs.
    for (round, delay_ms) in [1, 3, 7, 12, 20, 35, 60, 90, 150, 300, 700].into_iter().enumerate() {
        let mark = format!("kill-{}-{round}", std::process::id());
        let mut child = start(&mark);
        std::thread::sleep(Duration::from_millis(delay_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_gone(&mark);
    }
    assert_eq!(outside(), before);
}

/// The ways out are processes of other programs and other places: slirp4netns, and what connects
/// published ports.
#[test]
fn killed_with_ways_out_it_leaves_nothing() {
    let before = outside();
    for (round, delay_ms) in [5, 20, 40, 60, 100, 300, 900].into_iter().enumerate() {
        let mark = format!("outside-{}-{round}", std::process::id());
        let command = "exec sleep 1000";
        let mut start = command_with(&mark, Some(command));
        let mut child = start.env(OUTSIDE, "1").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        if child.try_wait().unwrap().is_some_and(|status| status.code() == Some(77)) {
            eprintln!("skipped, because there is no slirp4netns, or user namespaces are refused");
            return;
        }
        if delay_ms == 900 {
            let running = marked(&mark);
            let is_slirp = |line: &String| line.starts_with("slirp4netns ");
            assert_eq!(running.iter().filter(|line| is_slirp(line)).count(), 1, "{running:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_gone(&mark);
    }
    assert_eq!(outside(), before);
}

#[test]
fn a_signal_ends_it_in_good_order() {
    for (signal, expected) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let mark = format!("signal-{}-{signal}", std::process::id());
        let mut child = start(&mark);
        // The run program tells that the emulation runs.
        let begin = Instant::now();
        while marked(&mark).len() < 5 {
            if let Some(status) = child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(77), "it ended by itself");
                eprintln!("skipped, because user namespaces are refused");
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", marked(&mark));
            std::thread::sleep(Duration::from_millis(10));
        }
        let process = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &process]).status();
        assert!(sent.unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (Some(expected), None), "{signal}");
        assert_gone(&mark);
    }
}

#[test]
fn a_signal_goes_to_the_command() {
    let mark = format!("command-{}", std::process::id());
    let ready = std::env::temp_dir().join(format!("lasthop-ready-{mark}"));
    let script =
        format!("trap 'exit 9' INT; touch {}; while :; do sleep 0.05; done", ready.display());
    let mut child = start_with(&mark, Some(&script));
    let begin = Instant::now();
    while !ready.exists() {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(77), "it ended by itself");
            eprintln!("skipped, because user namespaces are refused");
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::remove_file(&ready).unwrap();
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert_gone(&mark);
}

/// Processes whose program has this name, also those that are dying and have no environment
/// any more.
fn called(name: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let names = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

/// The next emulation, or whoever looks, meets nothing of the one before: not even a process
/// that takes a while to die, since it has much memory to give back.
#[test]
fn when_it_returns_its_processes_are_dead() {
    let mark = format!("dead-{}", std::process::id());
    // A program name of our own, of up to 15 bytes.
    let name = format!("lhdead{}", std::process::id());
    let program = std::env::temp_dir().join(&name);
    let tail = ["/usr/bin/tail", "/bin/tail"].into_iter().find(|path| Path::new(path).exists());
    std::fs::copy(tail.unwrap(), &program).unwrap();
    let script = format!(
        "(head -c 400000000 /dev/zero; sleep 1000) | {} -n 1 & sleep 1.5; exit 7",
        program.display()
    );
    let result = std::panic::catch_unwind(|| {
        for round in 0..3 {
            let mut child = start_with(&format!("{mark}-{round}"), Some(&script));
            let begin = Instant::now();
            let mut seen = 0;
            let status = loop {
                seen = seen.max(called(&name));
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                assert!(begin.elapsed() < Duration::from_secs(20));
            };
            let left = called(&name);
            if status.code() == Some(77) {
                eprintln!("skipped, because user namespaces are refused");
                return;
            }
            assert_eq!((status.code(), seen, left), (Some(7), 1, 0), "round {round}");
            assert!(marked(&format!("{mark}-{round}")).is_empty(), "round {round}");
        }
    });
    std::fs::remove_file(&program).unwrap();
    result.unwrap();
}

#[test]
fn it_needs_no_privilege() {
    if !is_root() {
        // Then every other test has just shown it.
        return;
    }
    // A copy, for a user without privilege may not reach the build directory.
    let directory = std::env::temp_dir().join(format!("lasthop-test-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let result = std::panic::catch_unwind(|| {
        for test in ["killed_at_any_moment_it_leaves_nothing", "a_signal_ends_it_in_good_order"] {
            run_as_nobody(&std::env::current_exe().unwrap(), &directory, test);
        }
        for others in ["emulate-", "outside-"] {
            if let Some(others) = sibling(others) {
                run_as_nobody(&others, &directory, "");
            }
        }
    });
    std::fs::remove_dir_all(&directory).unwrap();
    result.unwrap();
}

fn run_as_nobody(program: &Path, directory: &Path, test: &str) {
    let copy = directory.join(program.file_name().unwrap());
    std::fs::copy(program, &copy).unwrap();
    let mut command = Command::new(&copy);
    command.args(["--nocapture", "--test-threads=1"]).current_dir("/");
    if !test.is_empty() {
        command.args(["--exact", test]);
    }
    let output = command.uid(NOBODY).gid(NOBODY).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// The newest test program beside this one whose name begins with `prefix`.
fn sibling(prefix: &str) -> Option<std::path::PathBuf> {
    let own = std::env::current_exe().unwrap();
    let entries = std::fs::read_dir(own.parent()?).ok()?.filter_map(Result::ok);
    let programs = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(prefix) && !name.contains('.')
    });
    programs.max_by_key(|entry| entry.metadata().and_then(|m| m.modified()).ok()).map(|e| e.path())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
