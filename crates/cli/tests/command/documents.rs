//! The output of `--json`, judged by the published schemas and by a validator of
//! others.

use crate::lasthop::{Scratch, output, skipped};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let text = output(arguments);
    serde_json::from_str(&text).expect("one JSON document and nothing else")
}

fn assert_valid(schema: &Value, document: &Value) {
    let validator = jsonschema::draft202012::new(schema).expect("the schema is one");
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_run_is_as_its_schema_says() {
    let (schema, set_schema) = (json(&["schema", "run"]), json(&["schema", "run-set"]));
    let scenarios = ["hello", "contention", "hidden"];
    for name in scenarios {
        let file = format!("scenarios/{name}.toml");
        let document = json(&["simulate", &file, "--set", "duration=200ms", "--json"]);
        assert_valid(&set_schema, &document);
        assert_valid(&schema, &document["runs"][0]);
    }
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    assert!(!validator.is_valid(&serde_json::json!({ "scenario": "x" })), "it refuses something");
}

#[test]
fn several_runs_are_as_their_schema_says() {
    let arguments =
        ["simulate", "scenarios/hello.toml", "--set", "duration=200ms", "--runs", "3", "--json"];
    assert_valid(&json(&["schema", "run-set"]), &json(&arguments));
}

#[test]
fn a_comparison_is_as_its_schema_says() {
    if skipped() {
        return;
    }
    let arguments =
        ["compare", "scenarios/hello.toml", "--duration", "300ms", "--runs", "2", "--json"];
    let document = json(&arguments);
    assert_valid(&json(&["schema", "comparison"]), &document);
    let sides = &document["flows"]["up"]["goodput_mbps"];
    assert!(sides["simulated"].is_number() && sides["emulated"].is_number(), "{document:#}");
}

#[test]
fn a_comparison_leaves_both_sides_and_their_page() {
    if skipped() {
        return;
    }
    let scratch = Scratch::new("compare-out");
    let arguments = ["compare", "hello", "--duration", "300ms", "--out", scratch.text()];
    let read = |name: &str| std::fs::read_to_string(scratch.path().join(name)).expect(name);
    let several = output(&[&arguments[..], &["--runs", "2"]].concat());
    let page = scratch.path().join("report.html");
    assert!(several.ends_with(&format!("Report: {}\n", page.display())), "{several}");
    for side in ["simulated", "emulated"] {
        let set: Value = serde_json::from_str(&read(&format!("{side}/runs.json"))).expect("JSON");
        assert_valid(&json(&["schema", "run-set"]), &set);
        assert!(scratch.path().join(side).join("run-1/series.parquet").exists());
    }
    assert!(read("report.html").contains("Means over runs."));
    // What only the earlier comparison had is gone.
    output(&arguments);
    assert!(!scratch.path().join("emulated/runs.json").exists());
    let run: Value = serde_json::from_str(&read("emulated/run.json")).expect("JSON");
    assert_valid(&json(&["schema", "run"]), &run);
    assert_valid(
        &json(&["schema", "comparison"]),
        &serde_json::from_str(&read("comparison.json")).expect("JSON"),
    );
    let page = read("report.html");
    assert!(page.contains("hello: simulated and emulated") && page.contains("What differs"));
    assert!(page.contains("scenario.toml --runs 1</pre>"), "{page}");
    let side = scratch.path().join("emulated");
    output(&["report", side.to_str().expect("text")]);
    assert!(read("emulated/report.html").contains("emulated, 0.3"), "a side is a run");
}

/// Values of 1 to 9 s; both sides have those from 2 to 4 s.
#[test]
fn a_measurement_stands_beside_runs() {
    let file = "fuzz/seeds/measurement/flent";
    let short = ["--set", "duration=4s", "--set", "warmup=2s"];
    let compare = [&["compare", "hello", "--with", file, "--runs", "2"], &short[..]].concat();
    let document = json(&[&compare[..], &["--json"]].concat());
    assert_valid(&json(&["schema", "measured-comparison"]), &document);
    // From 2 to 4 s netperf's interval of 9 Mb/s; pings of 20, 30 and 40 ms.
    assert_eq!(document["quantities"]["throughput_mbps"]["measured"], 9.0);
    assert_eq!(document["quantities"]["rtt_p50_ms"]["measured"], 30.0);
    let simulated = &document["quantities"]["throughput_mbps"]["simulated"];
    assert!(simulated["least"].as_f64() <= simulated["mean"].as_f64());
    assert!(simulated["mean"].as_f64() > Some(0.0), "{document:#}");
    let text = output(&compare);
    assert!(text.contains("hello: 2 runs beside") && text.contains("throughput Mb/s"), "{text}");

    let scratch = Scratch::new("compare-with");
    let out = scratch.text();
    output(&[&["simulate", "hello", "--out", out][..], &short].concat());
    let again = json(&["compare", out, "--with", file, "--json"]);
    let first = &again["quantities"]["throughput_mbps"]["simulated"];
    assert_eq!(again["runs"], 1);
    assert!(first["mean"] == simulated["least"] || first["mean"] == simulated["most"], "{again:#}");
    let beside = Scratch::new("compare-with-out");
    output(&["compare", out, "--with", file, "--out", beside.text()]);
    let page = std::fs::read_to_string(beside.path().join("report.html")).expect("it is there");
    assert!(page.contains("measured and simulated"));
    output(&["report", beside.text()]);
}

#[test]
fn a_scenario_begins_with_flents_metadata() {
    let text = output(&["scenario", "from", "fuzz/seeds/measurement/flent"]);
    let scratch = Scratch::new("scenario-from");
    std::fs::create_dir_all(scratch.path()).expect("there is room");
    let file = scratch.path().join("begun.toml");
    std::fs::write(&file, text).expect("there is room");
    let file = file.to_str().expect("text");
    output(&["simulate", file, "--set", "duration=6s", "--set", "warmup=1s", "--json"]);
}

#[test]
fn a_capture_is_as_its_schema_says() {
    let schema = json(&["schema", "capture"]);
    let scratch = Scratch::new("capture-schema");
    let out = scratch.path().to_str().unwrap().to_owned();
    for name in ["doze", "hidden", "upload"] {
        let file = format!("scenarios/{name}.toml");
        let run = ["simulate", &file, "--set", "duration=3s", "--out", &out, "--pcap"];
        output(&run);
        let air = format!("{out}/air.pcapng");
        assert_valid(&schema, &json(&["capture", &air, "--json"]));
    }
    let [air, laptop] = ["air", "node-laptop"].map(|name| format!("{out}/{name}.pcapng"));
    assert_valid(&schema, &json(&["capture", &air, "--with", &laptop, "--json"]));
    let encrypted = "crates/capture/tests/data/wpa2-psk.pcap.gz";
    let document = json(&["capture", encrypted, "--psk", "correct horse battery", "--json"]);
    assert!(document["decryption"]["closed"]["wrong_passphrase"].as_u64() > Some(0));
    assert_valid(&schema, &document);
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    assert!(!validator.is_valid(&serde_json::json!({ "file": "x" })), "it refuses something");
}

#[test]
fn the_schema_of_scenarios_is_one() {
    let schema = json(&["schema", "scenario"]);
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
}

#[test]
fn what_a_machine_can_do_is_as_its_schema_says() {
    let document = json(&["doctor", "--json"]);
    assert_valid(&json(&["schema", "doctor"]), &document);
    assert!(document["findings"].is_array() && document["machine"]["kernel"].is_string());
}
