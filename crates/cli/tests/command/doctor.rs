//! `lasthop doctor` compared with the abilities of this machine.

use crate::lasthop::{lasthop, names, output, skipped};
use std::path::Path;
use std::process::Output;

fn doctor(arguments: &[&str]) -> Output {
    lasthop(&[&["doctor"], arguments].concat()).output().expect("it can be run")
}

/// The names of the interfaces and of the modules of this machine.
fn machine() -> (Vec<String>, Vec<String>) {
    let modules = std::fs::read_to_string("/proc/modules").unwrap_or_default();
    let first = |line: &str| line.split(' ').next().map(str::to_owned);
    (names(Path::new("/sys/class/net")), modules.lines().filter_map(first).collect())
}

#[test]
fn it_says_what_works_and_changes_nothing() {
    let before = machine();
    let text = output(&["doctor"]);
    assert_eq!(machine(), before);
    assert!(text.starts_with("Linux "), "{text}");
    let line = |verb: &str| text.lines().find(|line| line.trim_start().starts_with(verb));
    assert!(line("simulate").is_some_and(|line| line.contains("  yes")), "{text}");
    assert!(line("emulate, compare").is_some(), "{text}");
    for head in ["namespaces", "timers", "modules", "programs"] {
        assert!(text.contains(&format!("\n  {head} ")), "{head}: {text}");
    }
}

/// The verb emulate is reported as working where emulations can be made; `--require` returns the
/// matching status.
#[test]
fn an_emulation_that_is_required_is_one_that_works() {
    if skipped() {
        return;
    }
    let told = doctor(&["--require", "emulate", "--require", "apq"]);
    assert_eq!(told.status.code(), Some(0), "{}", String::from_utf8_lossy(&told.stdout));
    let run = ["emulate", "hello", "--duration", "200ms", "--quiet"];
    assert!(lasthop(&run).status().expect("it can be run").success());
}

#[test]
fn what_is_required_and_does_not_work_is_named() {
    let mut failed = 0;
    for (required, title) in [("medium", "medium"), ("franc-udp", "franc run, over UDP")] {
        let told = doctor(&["--require", required]);
        let errors = String::from_utf8(told.stderr).expect("text");
        let text = String::from_utf8(told.stdout).expect("text");
        let line = text.lines().find(|line| line.trim_start().starts_with(title)).expect(title);
        let works = line.contains("  yes") || line.contains("  in part");
        assert_eq!(told.status.code(), Some(if works { 0 } else { 1 }), "{text}");
        if !works {
            failed += 1;
            assert_eq!(errors, format!("does not work here: {title}\n"));
        }
    }
    eprintln!("{failed} of 2 do not work here");
}

#[test]
fn a_wrong_requirement_is_an_error() {
    let told = doctor(&["--require", "nothing"]);
    assert_eq!(told.status.code(), Some(2));
    let errors = String::from_utf8(told.stderr).expect("text");
    assert!(errors.contains("emulate-outside"), "what is allowed is listed: {errors}");
}
