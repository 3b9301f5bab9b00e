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
        "error: --outside requires the program slirp4netns: install the package slirp4netns\n";
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
    refused(&["--outside-at", "ap"], "give one of these, too");
    refused(&["--reach", "0"], "expected 1 to 65535");
    refused(&["--publish", "8080:ap:http"], "\"http\" is no port from 1 to 65535");
}

/// The reader's own flows come first, and other people's are a line.
#[test]
fn a_crowded_place_is_told_in_thirty_lines() {
    if skipped() || !installed("ping") {
        return;
    }
    let ping = ["--", "ping", "-c", "10", "-i", "0.2", "server"];
    let cafe = ["emulate", "--place", "cafe"];
    let output = run(&[&cafe[..], &ping].concat());
    let (told, report) = (text(&output.stdout), text(&output.stderr));
    // A machine that is too slow says so in three lines more.
    let late = report.lines().skip_while(|line| !line.contains("packets handed over")).count();
    let lines = told.lines().count() + report.lines().count() - late;
    assert!(lines <= 30, "{lines}:\n{told}{report}");
    assert!(
        report.contains("  icmp laptop -> server") && report.contains("  icmp server -> laptop")
    );
    let others = report.lines().find(|line| line.starts_with("Other people:"));
    assert!(others.is_some_and(|line| line.contains("15 flows")), "{report}");
    assert!(!report.contains("Links\n"), "{report}");

    let all = run(&[&cafe[..], &["--all"], &["--", "ping", "-c", "1", "server"]].concat());
    let report = text(&all.stderr);
    let own = report.find("  icmp laptop -> server").expect("its own flows");
    let others = report.find("  film-1").expect("other people's flows");
    assert!(own < others && report.contains("\n  guest12 "), "{report}");
}

/// Packets within the scenario's warm-up would meet a transient.
#[test]
fn the_command_begins_after_the_warm_up() {
    if skipped() {
        return;
    }
    let warm = ["--set", "duration=9s", "--set", "warmup=700ms"];
    let output = run(&[&["emulate", HELLO], &warm[..], &["--json", "--", "true"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let duration_s = document["duration_s"].as_f64().expect("a number");
    assert!((0.7..5.0).contains(&duration_s), "{duration_s}");
    let ended = ["--json", "--duration", "300ms", "--", "sleep", "100"];
    let output = run(&[&["emulate", HELLO], &warm[..], &ended].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let duration_s = document["duration_s"].as_f64().expect("a number");
    assert!((1.0..5.0).contains(&duration_s), "{duration_s}");
}

/// Refused connections are said at once, and counted.
#[test]
fn a_way_that_leads_nowhere_is_told() {
    if skipped() || !installed("curl") {
        return;
    }
    let port = free_port();
    let reach = ["--reach", &port.to_string(), "--json"];
    let url = format!("http://host.lasthop:{port}/");
    let command = ["--", "curl", "-s", "-m", "5", &url];
    let output = run(&[&["emulate", HELLO, "--set", "flow=[]"], &reach[..], &command].concat());
    let errors = text(&output.stderr);
    let note = format!(
        "note: --reach {port}: nobody listens at TCP port {port} of this machine; the connection was reset\n"
    );
    assert_eq!(errors.matches(&note).count(), 1, "{errors}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let way = &document["emulation"]["ways"][format!("--reach {port}")];
    assert_eq!((&way["connections"], &way["connections_refused"]), (&1.into(), &1.into()));
}

/// Returns a free port of the loopback.
#[expect(clippy::disallowed_types, reason = "asks the kernel for one")]
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is one");
    listener.local_addr().expect("it is bound").port()
}

#[test]
#[expect(clippy::disallowed_types, reason = "a port that is taken")]
fn what_is_typed_wrongly_is_told_with_what_helps() {
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let errors = text(&output.stderr);
        assert!(errors.contains(expected), "{errors}");
    };
    refused(
        &["emulate", "hello", "echo", "hi"],
        "tip: put -- before the command: lasthop emulate hello -- echo hi",
    );
    refused(
        &["emulate", "--place", "cafe", "ping", "-c", "3", "server"],
        "tip: put -- before the command: lasthop emulate --place cafe -- ping -c 3 server",
    );
    let twice = ["--publish", "18096", "--publish", "18096:ap:80"];
    let twice = [&["emulate", HELLO], &twice[..], &["--", "true"]].concat();
    refused(&twice, "port 18096 is published twice");
    refused(
        &["emulate", HELLO, "--publish", "18096:ap", "--outside-at", "ap"],
        "without --outside-at connections enter at laptop",
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("there is one");
    let port = taken.local_addr().expect("it is bound").port();
    refused(&["emulate", HELLO, &format!("--web={port}")], "--web alone takes a free one");
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
