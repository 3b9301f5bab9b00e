//! The step of `.github/actions/lasthop`, run as a workflow would run it: `run.sh` with the inputs
//! as variables.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/actions/lasthop")
}

/// The step with these inputs, as action.yml names them.
fn step(place: &Path, inputs: &[(&str, &str)]) -> Output {
    let mut command = Command::new(folder().join("run.sh"));
    command.current_dir(place).env_remove("CI");
    command.env("LASTHOP_PROGRAM", env!("CARGO_BIN_EXE_lasthop"));
    for (name, value) in inputs {
        command.env(format!("LASTHOP_{}", name.to_uppercase()), value);
    }
    command.output().expect("bash is there")
}

fn stage(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("lasthop-action-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("it can be made");
    path
}

#[test]
fn what_is_expected_decides_the_status_and_stands_in_the_file() {
    let place = stage("expect");
    let inputs = |limit| {
        [
            ("scenario", "upload"),
            ("set", "duration=4s\n\nnode.laptop.queue.kind=fq-codel\n"),
            ("expect", limit),
            ("seed", "7"),
            ("junit", "wifi.xml"),
            ("out", "run"),
        ]
    };
    let passed = step(&place, &inputs("flow.ping.rtt_ms.p95 < 10000\nflow.ping.rtt_ms.p50 > 0\n"));
    let errors = String::from_utf8_lossy(&passed.stderr).into_owned();
    assert_eq!(passed.status.code(), Some(0), "{errors}");
    let results = std::fs::read_to_string(place.join("wifi.xml")).expect("it was written");
    assert!(results.contains("tests=\"2\"") && results.contains("failures=\"0\""), "{results}");
    let run = std::fs::read_to_string(place.join("run/run.json")).expect("it was written");
    assert!(run.contains("\"seed\": 7"), "{run}");
    let failed = step(&place, &inputs("flow.ping.rtt_ms.p95 < 0"));
    assert_eq!(failed.status.code(), Some(1));
    let results = std::fs::read_to_string(place.join("wifi.xml")).expect("it was written");
    assert!(results.contains("failures=\"1\""), "{results}");
    std::fs::remove_dir_all(&place).expect("it can be removed");
}

#[test]
fn wrong_inputs_are_errors() {
    let place = stage("wrong");
    for (inputs, message) in [
        (&[][..], "scenario or place is missing"),
        (&[("scenario", "hello"), ("place", "cafe")], "exclude each other"),
        (&[("scenario", "hello"), ("program", "/nowhere/lasthop")], "cannot be executed"),
        (&[("place", "moon")], "moon"),
    ] {
        let output = step(&place, inputs);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{inputs:?}: {errors}");
        assert!(errors.contains(message), "{inputs:?}: {errors}");
    }
    std::fs::remove_dir_all(&place).expect("it can be removed");
}

/// Every input reaches the script, which reads it.
#[test]
fn every_input_is_used() {
    let read = |name| std::fs::read_to_string(folder().join(name)).expect("it is there");
    let (action, script) = (read("action.yml"), read("run.sh"));
    let inputs = action.split("\ninputs:\n").nth(1).and_then(|rest| rest.split("\nruns:").next());
    let names = inputs.expect("there are inputs").lines().filter_map(|line| {
        line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.strip_suffix(':')
    });
    let mut count = 0;
    for name in names {
        let variable = format!("LASTHOP_{}", name.to_uppercase());
        let line = format!("{variable}: ${{{{ inputs.{name} }}}}");
        assert!(action.contains(&line), "{name} is not handed over");
        assert!(script.contains(&variable), "{name} is not used");
        count += 1;
    }
    assert_eq!(count, 11);
}
