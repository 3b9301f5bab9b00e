//! Errors name the file, the line and the key, or the system call. The exit status is
//! 2, nothing is printed on standard output, and no file is left.

use crate::lasthop::{Scratch, lasthop, run};
use std::fmt::Write;
use std::fs::{self, File};
use std::process::{Command, Stdio};

/// A valid scenario.
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

/// The error of `arguments`.
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
    let cases: [&[&str]; 18] = [
        &["simulate"],
        &["simulat", hello],
        &["simulate", "missing.toml"],
        &["simulate", "scenarios"],
        &["simulate", hello, "--runs", "0"],
        &["simulate", hello, "--runs", "-1"],
        &["simulate", hello, "--seed", "-1"],
        &["emulate", hello, "--duration", "-1"],
        &["emulate", hello, "--duration", "-5s"],
        &["simulate", hello, "--seed", "x"],
        &["simulate", hello, "--pcap"],
        &["simulate", hello, "--events"],
        &["simulate", hello, "--set", "channel.width=80MHz"],
        &["simulate", hello, "--set", "nonsense"],
        &["simulate", "scenarios/upload.toml", "--set", "flow.upload.congestion_control=vegas"],
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

/// Errors about radios are reported before the kernel gets a request.
#[test]
fn bad_radios() {
    let scratch = Scratch::new("radios");
    fs::create_dir_all(scratch.path()).expect("it can be made");
    let file = scratch.path().join("sound.toml");
    fs::write(&file, SOUND).expect("it can be written");
    let file = file.to_str().expect("a path in UTF-8");
    for (radios, words) in [
        (vec!["server=phy0"], "there are: ap, laptop"),
        (vec!["laptop"], "such as laptop=phy0"),
        (vec!["=phy0"], "such as laptop=phy0"),
        (vec!["ap=phy0", "laptop=phy0"], "\"phy0\" is named twice"),
        (vec!["ap=phy0", "ap=phy1"], "\"ap\" is named twice"),
    ] {
        let mut arguments = vec!["medium", file];
        arguments.extend(radios.iter().flat_map(|radio| ["--radio", radio]));
        let errors = complaint(&arguments);
        assert!(errors.contains(words), "{radios:?}: {errors}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_noticed_first() {
    let scratch = Scratch::new("unwritable");
    fs::write(scratch.path(), "a file").expect("it can be written");
    let inside = scratch.path().join("out");
    let out = inside.to_str().expect("a path of ASCII");
    // So long that simulating it first would be noticed.
    let errors =
        complaint(&["simulate", "scenarios/hello.toml", "--set", "duration=100h", "--out", out]);
    assert!(errors.contains(out) && errors.contains("Not a directory"), "{errors}");
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

/// Runs `arguments` with limits on memory and time that unlimited reading would exceed.
fn bounded(arguments: &[&str], stdin: Stdio) -> std::process::Output {
    Command::new("timeout")
        .args(["10", "sh", "-c", "ulimit -v 1000000; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_lasthop"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stdin(stdin)
        .output()
        .expect("there is a shell")
}

#[test]
fn a_file_that_never_ends_is_refused() {
    let scratch = Scratch::new("endless");
    fs::create_dir_all(scratch.path()).expect("it can be made");
    let path = |name: &str| scratch.path().join(name).to_str().expect("ASCII").to_owned();
    let long = path("long.toml");
    fs::write(&long, "# long\n".repeat(1 << 20)).expect("it can be written");
    let key = path("key.fifo");
    let made = Command::new("mkfifo").args(["-m", "600", &key]).status().expect("mkfifo is there");
    assert!(made.success());
    let naming = path("naming.toml");
    let text = "id = 1\npeer = 2\nkey_file = \"/dev/zero\"\n";
    fs::write(&naming, text).expect("it can be written");
    let table = path("table.toml");
    let channel = "[channel]\nerror_model = { kind = \"table\", table = \"/dev/zero\" }\n";
    fs::write(&table, format!("{channel}{SOUND}")).expect("it can be written");
    let node = ["franc", "run", "--id", "1", "--peer", "2", "--key-file"];
    let serve = ["apq", "serve", "--bind", "127.0.0.1:0", "--key-file", &key];
    // Arguments, what the error names, and what it says is expected.
    let cases: [(&[&str], &str, &str); 12] = [
        (&["simulate", "/dev/zero"], "/dev/zero: ", "expected a file or a pipe, got a device"),
        (&["emulate", "/dev/zero"], "/dev/zero: ", "expected a file or a pipe, got a device"),
        (&["simulate", "scenarios"], "scenarios: ", "expected a file or a pipe, got a directory"),
        (&["simulate", &long], &long, "at most 4194304 bytes of text, got 7340032"),
        (&["franc", "run", "/dev/zero"], "/dev/zero: ", "expected a file or a pipe, got a device"),
        (&["franc", "run", &long], &long, "at most 4194304 bytes of text, got 7340032"),
        (&["franc", "run", &naming], "/dev/zero: ", "expected a file, got a device"),
        (&[&node[..], &["/dev/zero"]].concat(), "/dev/zero: ", "expected a file, got a device"),
        (&[&node[..], &[&*key]].concat(), &key, "expected a file, got a pipe"),
        (&["franc", "key", "--hop", &key], &key, "expected a file, got a pipe"),
        (&serve, &key, "expected a file, got a pipe"),
        (&["simulate", &table], "/dev/zero: ", "expected a file, got a device"),
    ];
    for (arguments, what, allowed) in cases {
        let output = bounded(arguments, Stdio::null());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(what) && errors.contains(allowed), "{arguments:?}: {errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    }
    // The length of a pipe is unknown.
    let mut yes = Command::new("yes").stdout(Stdio::piped()).spawn().expect("yes is there");
    let output = bounded(&["simulate", "/dev/stdin"], yes.stdout.take().expect("piped").into());
    let _ = yes.kill();
    let _ = yes.wait();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("/dev/stdin: expected at most 4194304 bytes of text"), "{errors}");
}

/// From a file on standard input, from a pipe, and by process substitution.
#[test]
fn scenarios_come_by_pipes_too() {
    let scratch = Scratch::new("piped");
    fs::create_dir_all(scratch.path()).expect("it can be made");
    let file = scratch.path().join("sound.toml");
    fs::write(&file, SOUND.replace("\"ap\"\nkind", "\"ap\"\nrate = \"1Mb/s\"\nkind"))
        .expect("it can be written");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let file = file.to_str().expect("a path of ASCII");
    for line in [
        format!("{lasthop} simulate /dev/stdin --set duration=1s < {file}"),
        format!("cat {file} | {lasthop} simulate /dev/stdin --set duration=1s"),
        format!("{lasthop} simulate <(cat {file}) --set duration=1s"),
    ] {
        let output = Command::new("bash").args(["-c", &line]).output().expect("bash is there");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {errors}");
    }
}

/// `CLICOLOR_FORCE` colours text for a pipe, `NO_COLOR` takes precedence, and 0 is the same as
/// unset. Errors of scenarios stay one a line.
#[test]
fn colours_can_be_forced() {
    let painted = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = lasthop(arguments);
        let output = command.envs(variables.iter().copied()).output().expect("it can be run");
        let all = [output.stdout, output.stderr].concat();
        String::from_utf8(all).expect("it prints text")
    };
    let cases: [&[&str]; 3] =
        [&["simulate", "--help"], &["simulate", "--nonsense"], &["reproduce", "nonsense"]];
    for arguments in cases {
        let has_colour = |variables: &[_]| painted(variables, arguments).contains("\x1b[");
        assert!(has_colour(&[("CLICOLOR_FORCE", "1")]), "{arguments:?}");
        assert!(has_colour(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]), "{arguments:?}");
        for off in [
            &[][..],
            &[("CLICOLOR_FORCE", "0")],
            &[("CLICOLOR_FORCE", "")],
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        ] {
            assert!(!has_colour(off), "{arguments:?} {off:?}");
        }
    }
    let wrong = ["simulate", "hello", "--set", "duration=1"];
    assert_eq!(painted(&[("CLICOLOR_FORCE", "1")], &wrong), painted(&[], &wrong));
}
