//! `--perfetto FILE`: when the file appears, and when not. `python/tests/test_perfetto.py` reads
//! its content with Perfetto's messages.

use crate::lasthop::{Scratch, output, run};
use std::fs;

#[test]
fn a_trace_is_written_whole_or_not_at_all() {
    let scratch = Scratch::new("perfetto");
    let file = scratch.path().join("deep/air.perfetto-trace");
    fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
    let path = file.to_str().expect("a path of ASCII");
    let short = ["--set", "duration=100ms", "--perfetto", path];
    let text = output(&[&["simulate", "hello"][..], &short].concat());
    assert!(text.starts_with("hello: 0.100 s"), "{text}");
    let first = fs::read(&file).expect("it is written");
    // Field 1 of a message, of wire type 2: a packet of a trace.
    assert_eq!(first[0], 0x0a);
    let beside = scratch.path().join("out");
    let out = beside.to_str().expect("a path of ASCII");
    output(&[&["simulate", "hello", "--out", out, "--pcap"][..], &short].concat());
    assert!(fs::read(&file).expect("it is written") == first, "another run wrote other bytes");
    assert!(beside.join("events.parquet").exists());
    assert_eq!(fs::read_dir(file.parent().expect("a folder")).expect("it is there").count(), 1);
}

#[test]
fn what_cannot_be_is_said_first() {
    let scratch = Scratch::new("perfetto-wrong");
    let file = scratch.path().join("air");
    let path = file.to_str().expect("a path of ASCII");
    let wrong = |arguments: &[&str], message: &str| {
        let told = run(arguments);
        let errors = String::from_utf8_lossy(&told.stderr);
        assert_eq!(told.status.code(), Some(2), "{errors}");
        assert!(errors.contains(message), "{errors}");
    };
    wrong(
        &["simulate", "hello", "--runs", "2", "--perfetto", path],
        "--perfetto takes a single run, got --runs 2",
    );
    let folder = scratch.path().parent().expect("a folder").to_str().expect("a path of ASCII");
    wrong(&["simulate", "hello", "--perfetto", folder], "expected a file");
    wrong(&["simulate", "hello", "--perfetto", "/proc/air"], "cannot write");
    let nowhere = scratch.path().join("nowhere/air");
    let nowhere = nowhere.to_str().expect("a path of ASCII");
    wrong(&["simulate", "hello", "--perfetto", nowhere], "there is no folder");
    assert_eq!(scratch.names(), [""; 0]);
}
