//! `lasthop apq` over the loopback interface: two processes, and their messages in case of errors.
//! Numbers of packets and times are not judged here, because a loopback interface has no queue;
//! `emulation` does that.

#![expect(clippy::disallowed_types, reason = "sockets that stand for other hosts")]

use crate::lasthop::{Scratch, interruptible, lasthop, run};
use lasthop_apq::wire::{self, Datagram};
use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Output};
use std::time::Duration;

/// A measurement of less than two seconds.
pub const SHORT: [&str; 10] = [
    "--yes",
    "--no-discipline",
    "--method",
    "exact",
    "--sessions",
    "1",
    "--time-scale",
    "0.01",
    "--saturation-rate",
    "200",
];
/// A measurement of an hour.
const LONG: [&str; 9] = [
    "--yes",
    "--method",
    "exact",
    "--sessions",
    "30",
    "--packet-size",
    "1500",
    "--saturation-rate",
    "100",
];
const KEY: &str = "nobody can guess this";

/// A process that serves until the test ends.
pub struct Serving {
    pub child: Child,
    output: BufReader<ChildStdout>,
    pub address: String,
}

impl Serving {
    pub fn new(arguments: &[&str]) -> Self {
        Self::at("127.0.0.1:0", arguments)
    }

    fn at(address: &str, arguments: &[&str]) -> Self {
        let arguments = [&["apq", "serve", "--bind", address], arguments].concat();
        let mut child = interruptible(&arguments).spawn().expect("the binary can be run");
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut serving = Self { child, output, address: String::new() };
        let first = serving.line();
        let address = first.strip_prefix("serving at ").expect("it says where");
        serving.address = address.to_owned();
        serving
    }

    /// The next line that it prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it prints text");
        line.trim_end().to_owned()
    }

    pub fn measure(&self, arguments: &[&str]) -> Output {
        run(&self.arguments(arguments))
    }

    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["apq", "measure", self.address.as_str()], arguments].concat()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it runs");
    }

    /// Returns its exit status, the rest of its output, and its errors.
    fn end(mut self, with: Signal) -> (Option<i32>, String, String) {
        self.signal(with);
        let status = self.child.wait().expect("it ends");
        let (mut rest, mut errors) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).expect("text");
        let mut pipe = self.child.stderr.take().expect("it is a pipe");
        pipe.read_to_string(&mut errors).expect("text");
        (status.code(), rest, errors)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server started by root keeps only the right to pace its packets ahead of others.
#[test]
fn a_server_is_confined() {
    let serving = Serving::new(&[]);
    let status = format!("/proc/{}/status", serving.child.id());
    let status = fs::read_to_string(status).expect("it runs");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
        line.unwrap_or_else(|| panic!("no {name} in {status}"))
    };
    /// The bit of `CAP_SYS_NICE` (capabilities(7)).
    const NICE: u64 = 1 << 23;
    for set in ["CapPrm", "CapEff"] {
        let left = u64::from_str_radix(field(set), 16).expect("hexadecimal digits");
        assert_eq!(left & !NICE, 0, "{set}: {status}");
    }
    assert_eq!((field("NoNewPrivs"), field("Seccomp")), ("1", "2"), "{status}");
    if Uid::effective().is_root() {
        assert_eq!(u64::from_str_radix(field("CapBnd"), 16), Ok(0), "{status}");
    }
    assert!(serving.measure(&SHORT).status.success());
    assert_eq!(serving.end(Signal::SIGINT).0, Some(130));
}

/// The error of a measurement that cannot be made.
fn complaint(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let found = errors.split_once("error: ").unwrap_or_else(|| panic!("no error: {errors}"));
    found.1.to_owned()
}

fn key_file(scratch: &Scratch, name: &str, content: &str, mode: u32) -> String {
    fs::create_dir_all(scratch.path()).expect("it can be made");
    let path = scratch.path().join(name);
    fs::write(&path, content).expect("it can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
    path.to_str().expect("a path of ASCII").to_owned()
}

#[test]
fn a_measurement_is_told_as_its_schema_says() {
    let mut serving = Serving::new(&[]);
    let arguments = [&SHORT[..], &["--direction", "both", "--json"]].concat();
    let output = serving.measure(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("at most: "), "it says what it sends: {errors}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let schema = crate::lasthop::output(&["schema", "apq"]);
    let schema: Value = serde_json::from_str(&schema).expect("a JSON document");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    let wrong: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(document["method"], "exact");
    assert_eq!(document["directions"][0]["direction"], "down");
    assert_eq!(document["directions"][0]["doubts"][0]["kind"], "never_saturated");
    assert_eq!(document["directions"][1]["sizes"][1]["packet_bytes"], 750);

    assert!(serving.line().ends_with(": measures"));
    let last = serving.line();
    assert!(last.contains(": done; 4 phases, "), "{last}");
    let (status, rest, errors) = serving.end(Signal::SIGTERM);
    assert_eq!((status, rest.as_str(), errors.as_str()), (Some(143), "", "interrupted\n"));
}

#[test]
fn a_measurement_fills_a_directory() {
    let serving = Serving::new(&[]);
    let scratch = Scratch::new("apq-out");
    let output = serving.measure(&[&SHORT[..], &["--out", scratch.text()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("The queue towards this machine (down)"), "{text}");
    let expected = [
        "apq.json",
        "delays.png",
        "delays.svg",
        "report.html",
        "samples.parquet",
        "session.png",
        "session.svg",
    ];
    assert_eq!(scratch.names(), expected);
    let read = |name: &str| fs::read(scratch.path().join(name)).expect("it is there");
    assert!(read("samples.parquet").starts_with(b"PAR1"));
    assert!(read("session.png").starts_with(b"\x89PNG\r\n"));
    assert!(read("delays.svg").starts_with(b"<svg"));
    let page = String::from_utf8(read("report.html")).expect("text");
    assert!(page.contains("The queue towards this machine (down)"), "the words: {page}");
    assert!(text.contains("Report: ") && text.trim_end().ends_with("report.html"), "{text}");
}

#[test]
fn ipv6_is_measured_too() {
    if UdpSocket::bind("[::1]:0").is_err() {
        eprintln!("skipped, because there is no IPv6");
        return;
    }
    let serving = Serving::at("[::1]:0", &[]);
    assert!(serving.address.starts_with("[::1]:"), "{}", serving.address);
    let output = serving.measure(&SHORT);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn it_is_not_begun_unasked() {
    let serving = Serving::new(&[]);
    let errors = complaint(&serving.measure(&[]));
    assert!(errors.contains("--yes"), "{errors}");
    let (_, printed, _) = serving.end(Signal::SIGINT);
    assert_eq!(printed, "", "nobody came");
}

/// The answer on standard input, here of a pseudo-terminal, decides.
#[test]
fn a_person_is_asked() {
    let serving = Serving::new(&[]);
    // All but `--yes`.
    let arguments = serving.arguments(&SHORT[1..]);
    for (answer, is_agreed) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let terminal = openpty(None, None).expect("Linux has them");
        File::from(terminal.master.try_clone().expect("a descriptor"))
            .write_all(answer.as_bytes())
            .expect("somebody types");
        let output = lasthop(&arguments).stdin(terminal.slave).output().expect("it can be run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("Go on? [y/N]"), "{errors}");
        assert_eq!(output.status.code(), Some(if is_agreed { 0 } else { 2 }), "{errors}");
        assert_eq!(errors.contains("nothing was sent"), !is_agreed, "{errors}");
    }
}

#[test]
fn keys_are_compared() {
    let scratch = Scratch::new("apq-keys");
    let key = key_file(&scratch, "key", KEY, 0o600);
    let same = key_file(&scratch, "same", &format!("{KEY}\n"), 0o400);
    let other = key_file(&scratch, "other", "this is somebody else's", 0o600);
    let keyed = Serving::new(&["--key-file", &key]);
    let with = |serving: &Serving, file: &str| {
        serving.measure(&[&SHORT[..], &["--key-file", file]].concat())
    };
    assert!(with(&keyed, &same).status.success());
    assert_eq!(complaint(&with(&keyed, &other)), "the server has another key\n");
    assert_eq!(complaint(&keyed.measure(&SHORT)), "the server asks for a key\n");
    let open = Serving::new(&[]);
    assert_eq!(complaint(&with(&open, &key)), "the server has another key\n");
}

#[test]
fn a_key_file_must_be_secret_and_long() {
    let scratch = Scratch::new("apq-key-files");
    let cases = [
        (key_file(&scratch, "open", KEY, 0o640), "chmod 600"),
        (key_file(&scratch, "short", "fifteen letters\n", 0o600), "16 or more"),
        (key_file(&scratch, "long", &"x".repeat(5_000), 0o600), "more than 4096 bytes"),
        (scratch.path().join("missing").to_str().expect("ASCII").to_owned(), "No such file"),
    ];
    for (file, expected) in cases {
        for arguments in [&["serve"][..], &["measure", "127.0.0.1", "--yes"]] {
            let arguments = [&["apq"], arguments, &["--key-file", &file]].concat();
            let errors = complaint(&run(&arguments));
            assert!(errors.contains(expected) && errors.contains(&file), "{errors}");
        }
    }
}

#[test]
fn an_address_that_cannot_be_served_at_is_named() {
    let serving = Serving::new(&[]);
    let errors = complaint(&run(&["apq", "serve", "--bind", &serving.address]));
    let expected = format!("cannot serve at {}: Address already in use", serving.address);
    assert!(errors.starts_with(&expected), "{errors}");
    // Nobody has an address of TEST-NET-1 (RFC 5737).
    let errors = complaint(&run(&["apq", "serve", "--bind", "192.0.2.1"]));
    assert!(errors.contains("192.0.2.1:4796: Cannot assign requested address"), "{errors}");
}

/// If root runs the test, the command runs as the user `nobody`: root may use any port.
#[test]
fn a_port_that_is_not_ours_is_named() {
    let first = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if first.is_ok_and(|first| first.trim().parse::<u16>().is_ok_and(|first| first <= 80)) {
        eprintln!("skipped, because every port is everybody's here");
        return;
    }
    let mut command = lasthop(&["apq", "serve", "--bind", "127.0.0.1:80"]);
    if Uid::effective().is_root() {
        command.uid(65_534).gid(65_534);
    }
    match command.output() {
        Ok(output) => {
            let errors = complaint(&output);
            assert!(errors.contains("127.0.0.1:80: Permission denied; ports below"), "{errors}");
        }
        Err(why) => eprintln!("skipped, because nobody cannot run the binary: {why}"),
    }
}

#[test]
fn a_host_that_does_not_take_part_is_told_of() {
    let closed = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("it has one").to_string();
    drop(closed);
    let measure = |host: &str| complaint(&run(&[&["apq", "measure", host], &SHORT[..]].concat()));
    assert!(measure(&address).contains(&format!("nothing listens at {address}")));
    assert!(measure("no-such-host.invalid").starts_with("cannot find no-such-host.invalid: "));

    let silent = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = silent.local_addr().expect("it has one").to_string();
    let errors = measure(&address);
    assert!(errors.starts_with(&format!("{address} does not answer")), "{errors}");
}

#[test]
fn another_version_is_told_of() {
    let other = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = other.local_addr().expect("it has one").to_string();
    let answering = std::thread::spawn(move || {
        let mut buffer = [0; 2_048];
        let (length, from) = other.recv_from(&mut buffer).expect("somebody comes");
        let Ok(Datagram::Hello(nonce)) = wire::parse(&buffer[..length]) else {
            panic!("it begins with a Hello");
        };
        let answer = wire::emit(&Datagram::OtherVersion { version: wire::VERSION + 1, nonce });
        other.send_to(&answer, from).expect("it is there");
    });
    let errors = complaint(&run(&[&["apq", "measure", &address], &SHORT[..]].concat()));
    answering.join().expect("it was asked");
    let expected = format!("version {} of the protocol", wire::VERSION + 1);
    assert!(errors.contains(&expected), "{errors}");
}

#[test]
fn a_client_of_another_version_is_told_of() {
    let mut serving = Serving::new(&[]);
    let other = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let hello = wire::emit(&Datagram::HelloOfVersion(1, [7; 16]));
    other.send_to(&hello, &serving.address).expect("it is there");
    let expected = format!("this program version {}", wire::VERSION);
    let line = serving.line();
    assert_eq!(line, format!("127.0.0.1 speaks version 1 of the protocol, {expected}"));
}

#[test]
fn what_is_not_allowed_is_refused() {
    let mut serving = Serving::new(&["--max-duration", "1min", "--max-rate", "1Mb/s"]);
    let errors = complaint(&serving.measure(&LONG));
    assert!(errors.contains("take 1 h 0 min") && errors.contains("allows 1 min"), "{errors}");
    assert!(serving.line().ends_with(": measures"));
    assert!(serving.line().contains(": stopped; 0 phases"));
    let fast = [&SHORT[..8], &["--saturation-rate", "1000"]].concat();
    let errors = complaint(&serving.measure(&fast));
    assert!(errors.contains("the server refuses: "), "{errors}");
}

#[test]
fn bad_arguments_are_explained() {
    let cases: [(&[&str], &str); 11] = [
        (&["measure"], "HOST"),
        (&["measure", "host:0"], "expected a port"),
        (&["measure", "host", "--packet-size", "50"], "expected 100 to 9000"),
        (&["measure", "host", "--packet-size", "750,750"], "packet"),
        (&["measure", "host", "--sessions", "3"], "--sessions is for --method exact"),
        (&["measure", "host", "--method", "exact", "--duration", "9s"], "is for --method fast"),
        (
            &["measure", "host", "--method", "exact", "--saturation-rate", "1e6"],
            "--max-rate 200Mb/s",
        ),
        (&["measure", "host", "--max-rate", "0Mb/s"], "it is zero"),
        (&["measure", "host", "--precision", "2"], "up to 0.5"),
        (&["serve", "--bind", "host:80"], "[ADDR]:PORT"),
        (&["serve", "--sessions", "0"], "expected 1 to 64"),
    ];
    for (arguments, expected) in cases {
        let output = run(&[&["apq"], arguments].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn an_interrupt_ends_both_sides() {
    for (signal, direction) in [(Signal::SIGINT, "down"), (Signal::SIGTERM, "up")] {
        let mut serving = Serving::new(&[]);
        let scratch = Scratch::new(&format!("apq-interrupt-{direction}"));
        let options = [&LONG[..], &["--direction", direction, "--out", scratch.text()]].concat();
        let child =
            interruptible(&serving.arguments(&options)).spawn().expect("the binary can be run");
        assert!(serving.line().ends_with(": measures"));
        wait_ms(300);
        kill(Pid::from_raw(child.id() as i32), signal).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(128 + signal as i32), "{errors}");
        assert!(errors.ends_with("interrupted\n"), "{errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "");
        assert!(!scratch.path().exists(), "{:?}", scratch.names());
        let last = serving.line();
        assert!(last.contains(": stopped; "), "the server knows: {last}");
        // And it still serves.
        assert!(serving.measure(&SHORT).status.success());
    }
}

#[test]
fn a_client_that_vanishes_is_not_sent_to() {
    let mut serving = Serving::new(&[]);
    let mut child = lasthop(&serving.arguments(&LONG)).spawn().expect("the binary can be run");
    assert!(serving.line().ends_with(": measures"));
    wait_ms(300);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let last = serving.line();
    assert!(last.contains(": no longer heard; "), "{last}");
}

#[test]
fn a_server_that_ends_is_told_of() {
    let mut serving = Serving::new(&[]);
    let scratch = Scratch::new("apq-server-ends");
    let options = [&LONG[..], &["--out", scratch.text()]].concat();
    let child = lasthop(&serving.arguments(&options)).spawn().expect("the binary can be run");
    assert!(serving.line().ends_with(": measures"));
    wait_ms(300);
    let address = serving.address.clone();
    let (status, printed, _) = serving.end(Signal::SIGINT);
    assert_eq!(status, Some(130));
    assert!(printed.contains(": stopped; "), "{printed}");
    let errors = complaint(&child.wait_with_output().expect("it ends"));
    assert!(errors.contains("the server refuses") || errors.contains(&address), "{errors}");
    assert!(!scratch.path().exists(), "{:?}", scratch.names());
}

#[expect(clippy::disallowed_methods, reason = "what is interrupted tells nobody how far it is")]
fn wait_ms(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
