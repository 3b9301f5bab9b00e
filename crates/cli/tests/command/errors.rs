//! What cannot be done is said in words that name the file, the line and the
//! key, or the system call; it ends in status 2, prints nothing on standard
//! output, and leaves nothing behind.

use crate::lasthop::{Scratch, lasthop, run};
use std::fmt::Write;
use std::fs::{self, File};
use std::process::{Command, Stdio};

/// A sound scenario.
const SOUND: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[flow]]
name = "up"
from = "laptop"
to = "ap"
kind = "udp"
"#;

/// What `arguments` fail with.
fn complaint(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    errors
}

#[test]
fn bad_scenarios() {
    let scratch = Scratch::new("bad");
    fs::create_dir_all(scratch.path()).expect("it can be made");
    let changed = |from: &str, to: &str| SOUND.replacen(from, to, 1);
    let with = |text| format!("{text}{SOUND}");
    let station = |text| changed("role = \"station\"", &format!("role = \"station\"\n{text}"));
    let cases = [
        ("broken TOML", changed("name = \"ap\"", "name = ")),
        ("unknown key", station("qeue = { packets = 10 }")),
        ("number without its unit", with("duration = 10")),
        ("text without its unit", with("duration = \"10\"")),
        ("wrong unit", with("duration = \"10Mb/s\"")),
        ("negative time", with("duration = \"-1s\"")),
        (
            "MCS 8 with one stream",
            station("streams = 1\nrate_control = { kind = \"fixed\", mcs = 8 }"),
        ),
        ("40 MHz with 802.11b", with("channel = { standard = \"802.11b\", width = \"40MHz\" }")),
        ("a flow to a missing node", changed("to = \"ap\"", "to = \"server\"")),
        ("no access point", changed("access-point", "station")),
        ("nothing", String::new()),
        ("other bytes", "\u{0}\u{1}".to_owned()),
    ];
    let mut text = String::new();
    for (index, (title, scenario)) in cases.iter().enumerate() {
        let file = scratch.path().join(format!("{index}.toml"));
        fs::write(&file, scenario).expect("it can be written");
        let errors = complaint(&["simulate", file.to_str().expect("a path of ASCII")]);
        let file = file.display().to_string();
        assert!(errors.starts_with(&file), "it names the file: {errors}");
        let _ = write!(text, "# {title}\n{}\n", errors.replace(&file, "FILE"));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn bad_arguments() {
    let hello = "scenarios/hello.toml";
    let cases: [&[&str]; 14] = [
        &["simulate"],
        &["simulat", hello],
        &["simulate", "missing.toml"],
        &["simulate", "scenarios"],
        &["simulate", hello, "--runs", "0"],
        &["simulate", hello, "--seed", "x"],
        &["simulate", hello, "--pcap"],
        &["simulate", hello, "--events"],
        &["simulate", hello, "--set", "channel.width=80MHz"],
        &["simulate", hello, "--set", "nonsense"],
        &["simulate", "scenarios/upload.toml", "--set", "flow.upload.congestion_control=bbr"],
        &["emulate", hello, "--duration", "5"],
        &["emulate", hello, "--in", "laptop"],
        &["schema", "everything"],
    ];
    let mut text = String::new();
    for arguments in cases {
        let _ = write!(text, "# lasthop {}\n{}\n", arguments.join(" "), complaint(arguments));
    }
    insta::assert_snapshot!(text);
}

/// The model's hosts measure in virtual time only.
#[test]
fn a_measurement_is_emulated_by_the_real_programs() {
    let errors = complaint(&["emulate", "scenarios/apq.toml"]);
    for part in ["flow \"queue\"", "`lasthop apq serve`", "[[run]]", "`lasthop apq measure`"] {
        assert!(errors.contains(part), "{part} is missing: {errors}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_noticed_first() {
    let scratch = Scratch::new("unwritable");
    fs::write(scratch.path(), "a file").expect("it can be written");
    let inside = scratch.path().join("out");
    let out = inside.to_str().expect("a path of ASCII");
    // Long enough that simulating it first would show.
    let errors =
        complaint(&["simulate", "scenarios/hello.toml", "--set", "duration=100h", "--out", out]);
    assert!(errors.contains(out) && errors.contains("Not a directory"), "{errors}");
    fs::remove_file(scratch.path()).expect("it is there");
}

/// A limit on the length of files stands for a full disk.
#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let scratch = Scratch::new("limit");
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_lasthop"))
        .args(["simulate", "scenarios/hello.toml", "--pcap", "--out", scratch.text()])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("there is a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(": File too large"), "{errors}");
    assert!(errors.contains(scratch.text()), "{errors}");
    assert!(!scratch.path().exists());
}

#[test]
fn a_full_standard_output_is_an_error() {
    for arguments in [
        &["simulate", "scenarios/hello.toml", "--json"][..],
        &["simulate", "scenarios/hello.toml"],
        &["schema", "run"],
        &["--help"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = lasthop(arguments).stdout(full).output().expect("it can be run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors.contains("standard output: No space left on device"), "{errors}");
    }
}

#[test]
fn a_reader_that_goes_is_no_error() {
    for arguments in [&["schema", "scenario"][..], &["simulate", "scenarios/hello.toml"]] {
        let mut child = lasthop(arguments).spawn().expect("it can be run");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn no_standard_error_is_no_reason_to_fail() {
    let mut command = lasthop(&["simulate", "missing.toml"]);
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let status = command.stdout(Stdio::null()).stderr(full).status().expect("it can be run");
    assert_eq!(status.code(), Some(2));
}
