//! An interrupt at any time leaves nothing half-written: no file, no process.

use crate::lasthop::{Scratch, interruptible, skipped};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Longer than any of these tests waits.
const ENDLESS: &str = "duration=1000h";
/// Times of the interrupts in ms, closest at the start.
const MOMENTS_MS: [u64; 10] = [0, 1, 2, 3, 5, 8, 20, 50, 120, 300];

#[expect(clippy::disallowed_methods, reason = "what is interrupted tells nobody how far it is")]
fn wait_ms(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Sends `signal` once the child does not ignore it. A shell starts background
/// processes ignoring SIGINT, and `interruptible` changes that only a moment after the
/// start.
fn signal(child: &Child, signal: Signal) {
    let status = format!("/proc/{}/status", child.id());
    let is_deaf = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let ignored = text.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
    };
    while is_deaf() {
        wait_ms(1);
    }
    kill(Pid::from_raw(child.id() as i32), signal).expect("it runs");
}

/// Asserts that the process ended by the signal: in good order, or before it could
/// catch one.
fn assert_ended_of(status: ExitStatus, signal: Signal) {
    let number = signal as i32;
    let is_expected = status.code() == Some(128 + number) || status.signal() == Some(number);
    assert!(is_expected, "{status}");
}

/// Processes with `word` in their arguments.
fn processes_with(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("Linux has it").flatten();
    let arguments = entries.filter_map(|entry| {
        let bytes = std::fs::read(entry.path().join("cmdline")).ok()?;
        let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
        text.contains(word).then_some(text)
    });
    arguments.collect()
}

/// Asserts that none is left, or that the last ones end in a moment.
fn assert_no_process_with(word: &str) {
    let mut left = processes_with(word);
    for _ in 0..100 {
        if left.is_empty() {
            return;
        }
        wait_ms(20);
        left = processes_with(word);
    }
    panic!("{left:?}");
}

#[test]
fn simulate_leaves_nothing() {
    for (index, moment) in MOMENTS_MS.into_iter().enumerate() {
        let scratch = Scratch::new(&format!("interrupt-{index}"));
        let runs = if index % 2 == 0 { "1" } else { "3" };
        let child = interruptible(&[
            "simulate",
            "scenarios/contention.toml",
            "--set",
            ENDLESS,
            "--runs",
            runs,
            "--events",
            "--pcap",
            "--out",
            scratch.text(),
        ])
        .spawn()
        .expect("it can be run");
        wait_ms(moment);
        let which = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL][index % 3];
        signal(&child, which);
        let output = child.wait_with_output().expect("it ends");
        assert_ended_of(output.status, which);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "");
        assert!(!scratch.path().exists(), "after {moment} ms: {:?}", scratch.names());
    }
}

#[test]
fn simulate_keeps_what_was_there() {
    let scratch = Scratch::new("keeps");
    std::fs::create_dir_all(scratch.path()).expect("it can be made");
    std::fs::write(scratch.path().join("run.json"), "older").expect("it can be written");
    let arguments = ["simulate", "scenarios/hello.toml", "--set", ENDLESS, "--out", scratch.text()];
    let mut child = interruptible(&arguments).spawn().expect("it can be run");
    wait_ms(200);
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(scratch.names(), ["run.json"]);
    let kept = std::fs::read_to_string(scratch.path().join("run.json")).expect("it is there");
    assert_eq!(kept, "older");
}

/// An emulation whose command is unique: it sleeps for `marker` seconds.
fn emulation(marker: &str, temporary: &Path) -> Child {
    std::fs::create_dir_all(temporary).expect("it can be made");
    interruptible(&["emulate", "scenarios/hello.toml", "--", "sleep", marker])
        .env("TMPDIR", temporary)
        .spawn()
        .expect("it can be run")
}

#[test]
fn emulate_leaves_nothing() {
    if skipped() {
        return;
    }
    for (index, moment) in MOMENTS_MS.into_iter().enumerate() {
        let scratch = Scratch::new(&format!("emulate-interrupt-{index}"));
        let marker = format!("{}.1{index}", 500_000 + std::process::id());
        let child = emulation(&marker, scratch.path());
        wait_ms(moment);
        let which = [Signal::SIGINT, Signal::SIGTERM][index % 2];
        signal(&child, which);
        let output = child.wait_with_output().expect("it ends");
        assert_ended_of(output.status, which);
        assert_no_process_with(&marker);
        assert_eq!(scratch.names(), Vec::<String>::new());
    }
}

#[test]
fn demo_ends_at_once() {
    if skipped() {
        return;
    }
    let child = interruptible(&["demo"]).spawn().expect("it can be run");
    wait_ms(400);
    signal(&child, Signal::SIGINT);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "interrupted\n");
}

#[test]
fn a_killed_emulate_leaves_nothing() {
    if skipped() {
        return;
    }
    for (index, moment) in MOMENTS_MS.into_iter().enumerate() {
        let scratch = Scratch::new(&format!("emulate-kill-{index}"));
        let marker = format!("{}.2{index}", 500_000 + std::process::id());
        let mut child = emulation(&marker, scratch.path());
        wait_ms(moment);
        signal(&child, Signal::SIGKILL);
        child.wait().expect("it ends");
        assert_no_process_with(&marker);
        assert_eq!(scratch.names(), Vec::<String>::new());
    }
}
