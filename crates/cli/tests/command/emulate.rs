//! `lasthop emulate`: whose output is printed, and whose exit status is returned.
//! Skipped, with a message, where the kernel refuses namespaces.

use crate::lasthop::{Scratch, run, skipped};
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
