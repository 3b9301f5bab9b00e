//! Two commands that write into one directory: the second one is refused, whatever it is, and
//! names the first. A command that was killed leaves no lock.

use crate::lasthop::{Scratch, lasthop, run};
use std::process::{Child, Output};
use std::time::Duration;

#[expect(clippy::disallowed_methods, reason = "another process tells nobody how far it is")]
fn wait() {
    std::thread::sleep(Duration::from_millis(5));
}

/// A command that writes to the directory and does not end.
fn begun(scratch: &Scratch) -> Child {
    let endless =
        ["simulate", "hello", "--set", "duration=1000h", "--set", "series_interval=1h", "--out"];
    let child = lasthop(&[&endless[..], &[scratch.text()]].concat()).spawn().expect("it is run");
    let files = format!("/proc/{}/fdinfo", child.id());
    let has_lock = || {
        let files = std::fs::read_dir(&files).into_iter().flatten().flatten();
        let about = files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default());
        about.into_iter().any(|about| about.contains("OFDLCK"))
    };
    while !has_lock() {
        wait();
    }
    assert!(!scratch.path().exists(), "nothing is made for it");
    child
}

fn complaint(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    errors
}

#[test]
fn a_directory_has_one_writer() {
    let scratch = Scratch::new("writers");
    let mut first = begun(&scratch);
    let capture = Scratch::new("writers-capture");
    crate::lasthop::output(&[
        "simulate",
        "hello",
        "--set",
        "duration=50ms",
        "--pcap",
        "--out",
        capture.text(),
    ]);
    let air = capture.path().join("air.pcapng");
    let commands: [&[&str]; 7] = [
        &["simulate", "upload"],
        &["simulate", "upload", "--runs", "2"],
        &["emulate", "hello", "--duration", "1s"],
        &["compare", "hello", "--duration", "1s"],
        &["capture", air.to_str().expect("text")],
        &["reproduce", "jumbo/fig7"],
        &["apq", "measure", "127.0.0.1"],
    ];
    let sweep = ["sweep", "hello", "--set", "duration=1ms", "--vary", "seed=1,2"];
    let shard = [&sweep[..], &["--shard", "1/2"]].concat();
    let held = format!("process {}", first.id());
    for arguments in commands.iter().copied().chain([&sweep[..], &shard]) {
        let errors = complaint(&run(&[arguments, &["--out", scratch.text()]].concat()));
        assert!(errors.contains(&held), "{arguments:?}: {errors}");
    }
    assert!(!scratch.path().exists(), "{:?}", scratch.names());
    // SIGKILL: nobody cleans up, and nothing is in the way.
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    let small = ["simulate", "hello", "--set", "duration=1ms", "--out", scratch.text()];
    let after = run(&small);
    assert!(after.status.success(), "{}", String::from_utf8_lossy(&after.stderr));
    assert!(scratch.names().contains(&"run.json".to_owned()));
}
