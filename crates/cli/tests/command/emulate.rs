//! `lasthop emulate`: whose output is printed, and whose exit status is returned.
//! Skipped, with a message, where the kernel refuses namespaces.

use crate::lasthop::{Scratch, lasthop, output, run, skipped};
use serde_json::Value;

const HELLO: &str = "scenarios/hello.toml";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn standard_output_is_the_commands() {
    if skipped() {
        return;
    }
    let output = run(&["emulate", HELLO, "--", "sh", "-c", "echo $LASTHOP_NODE; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "laptop\n");
    assert!(text(&output.stderr).contains("seed 1, run 0"));
}

#[test]
fn the_document_is_alone_on_standard_output() {
    if skipped() {
        return;
    }
    let output = run(&["emulate", HELLO, "--json", "--", "echo", "from the command"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("from the command\n"));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert!(document["emulation"]["late"].is_boolean());
    assert_eq!(document["scenario"], "hello");
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    if skipped() {
        return;
    }
    let output = run(&["emulate", HELLO, "--", "no-such-command"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: cannot run \"no-such-command\" in node \"laptop\": No such file or directory\n"
    );
}

#[test]
fn a_node_that_does_not_exist_is_named() {
    let output = run(&["emulate", HELLO, "--in", "tablet", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let errors = text(&output.stderr);
    assert!(errors.contains("\"tablet\"") && errors.contains("ap, laptop"), "{errors}");
}

#[test]
fn an_emulation_fills_a_directory() {
    if skipped() {
        return;
    }
    let scratch = Scratch::new("emulation");
    let arguments = ["emulate", HELLO, "--duration", "300ms", "--pcap", "--out", scratch.text()];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let captures = ["air.pcapng", "node-ap.pcapng", "node-laptop.pcapng"];
    let tables = [
        "events.parquet",
        "files.json",
        "report.html",
        "run.json",
        "scenario.toml",
        "series.parquet",
    ];
    let mut expected = [&captures[..], &tables].concat();
    expected.sort_unstable();
    assert_eq!(scratch.names(), expected);
    let document = std::fs::read(scratch.path().join("run.json")).expect("it is there");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let duration_s = document["duration_s"].as_f64().expect("a number");
    assert!((0.3..0.9).contains(&duration_s), "{duration_s}");
}

/// A laptop, its access point, and a server behind that, which runs a program.
fn with_server(scratch: &Scratch, command: &str) -> String {
    std::fs::create_dir_all(scratch.path()).expect("it can be made");
    let file = scratch.path().join("served.toml");
    let hello = output(&["scenario", "show", "hello"]);
    let program = format!("\n[[run]]\nnode = \"ap\"\ncommand = {command:?}\nready = \"50ms\"\n");
    std::fs::write(&file, hello + &program).expect("it can be written");
    file.to_str().expect("a path of ASCII").to_owned()
}

#[test]
fn quiet_leaves_what_the_programs_wrote() {
    if skipped() {
        return;
    }
    let scratch = Scratch::new("quiet");
    let file = with_server(&scratch, "printf 'served by %s' $LASTHOP_NODE; exec sleep 9");
    let both = run(&["emulate", &file, "--quiet", "--", "echo", "from the command"]);
    assert_eq!(text(&both.stdout), "from the command\n");
    assert_eq!(text(&both.stderr), "served by ap\n");
    assert_eq!(both.status.code(), Some(0));

    let alone = run(&["emulate", &file, "-q", "--duration", "300ms"]);
    assert_eq!(
        (text(&alone.stdout).as_str(), text(&alone.stderr).as_str()),
        ("served by ap\n", "")
    );

    let failed = run(&["emulate", &file, "-q", "--", "no-such-command"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).starts_with("error: cannot run \"no-such-command\""));

    let json = run(&["emulate", &file, "-q", "--json"]);
    assert_eq!(json.status.code(), Some(2));
}

#[test]
fn what_the_end_of_the_emulation_ended_has_not_failed() {
    if skipped() {
        return;
    }
    let scratch = Scratch::new("ended");
    let file = with_server(&scratch, "trap 'exit 9' TERM; while :; do sleep 0.05; done");
    let output = run(&["emulate", &file, "--duration", "400ms", "--", "sleep", "100"]);
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("done, ended with the emulation\n"), "{shown}");

    let file = with_server(&scratch, "sleep 0.2; exit 9");
    let output = run(&["emulate", &file, "--duration", "500ms"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("ap: sh -c sleep 0.2; exit 9, exit status 9\n"), "{shown}");
}

#[test]
fn packets_of_programs_are_shown_by_the_names_of_nodes() {
    if skipped() || !installed("ping") {
        return;
    }
    let command = ["--", "ping", "-q", "-c", "2", "-i", "0.2", "ap"];
    let output = run(&[&["emulate", HELLO, "--set", "flow=[]"], &command[..]].concat());
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for flow in ["  icmp laptop -> ap id ", "  icmp ap -> laptop id "] {
        // Packets and where their time went.
        assert!(shown.matches(flow).count() >= 2, "{shown}");
    }
}

/// The connection lasts three round trips of 40 ms, in which its program is found.
#[test]
fn flows_have_the_names_of_their_programs() {
    if skipped() || !installed("curl") || !installed("python3") {
        return;
    }
    let scratch = Scratch::new("names");
    let file = with_server(&scratch, "exec python3 -m http.server 8000");
    let host = "\n[[node]]\nname = \"far\"\nrole = \"host\"\n[[wire]]\nbetween = [\"ap\", \"far\"]\n\
                delay = \"20ms\"\n";
    let text_before = std::fs::read_to_string(&file).expect("it was written");
    let served = text_before.replace("node = \"ap\"", "node = \"far\"");
    let served = served.replace("ready = \"50ms\"", "ready = \"tcp:8000\"");
    std::fs::write(&file, served + host).expect("it can be written");
    let url = "http://far:8000/";
    // The saturated flow of `hello` can crowd out ARP.
    let quiet = ["emulate", &file, "--set", "flow=[]", "--json"];
    let output = run(&[&quiet[..], &["--", "curl", "-fsS", "-o", "/dev/null", url]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let flows = document["programs"].as_object().expect("there were flows");
    let mut sent: Vec<_> = flows
        .iter()
        .map(|(name, flow)| (name.split(':').next().unwrap_or(""), flow["program"].as_str()))
        .collect();
    sent.sort_unstable();
    let [(server, python), (client, curl)] = sent[..] else { panic!("{flows:#?}") };
    assert_eq!((server, client, curl), ("tcp far", "tcp laptop", Some("curl")));
    assert!(python.is_some_and(|name| name.starts_with("python")), "{python:?}");
}

#[test]
fn a_missing_helper_is_named_with_its_package() {
    if skipped() {
        return;
    }
    let mut command = lasthop(&["emulate", HELLO, "--outside", "--", "/bin/true"]);
    let output = command.env("PATH", "/nowhere").output().expect("the binary can be run");
    assert_eq!(output.status.code(), Some(2));
    let expected =
        "error: --outside takes the program slirp4netns: install the package slirp4netns\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn ways_to_nowhere_are_named() {
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(&[&["emulate", HELLO, "--duration", "100ms"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let errors = text(&output.stderr);
        assert!(errors.contains(expected), "{errors}");
    };
    refused(
        &["--publish", "8080:tablet"],
        "--publish: there is no node \"tablet\"; the nodes are: ap, laptop",
    );
    refused(&["--reach", "80", "--outside-at", "tablet"], "cannot begin at \"tablet\"");
    refused(&["--outside-at", "ap"], "give one of them");
    refused(&["--reach", "0"], "expected 1 to 65535");
    refused(&["--publish", "8080:ap:http"], "\"http\" is no port from 1 to 65535");
}

fn installed(program: &str) -> bool {
    let mut shell = std::process::Command::new("sh");
    let found = shell.args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped, because {program} is not installed");
    }
    found
}
