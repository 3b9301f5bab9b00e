//! Scenarios inside the program: listed, shown, copied, and run from an empty folder, by name,
//! by file and from standard input.

use crate::lasthop::{Scratch, lasthop, names, output};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

/// An empty folder.
fn empty(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    fs::create_dir_all(scratch.path()).expect("it can be made");
    scratch
}

/// Runs the command in a folder.
fn run_in(folder: &Scratch, arguments: &[&str]) -> Output {
    lasthop(arguments).current_dir(folder.path()).output().expect("it can be run")
}

/// The same; returns its standard output, and expects that it succeeds.
fn output_in(folder: &Scratch, arguments: &[&str]) -> String {
    let output = run_in(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// The same; returns its standard error, and expects status 2.
fn complaint_in(folder: &Scratch, arguments: &[&str]) -> String {
    let output = run_in(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    String::from_utf8(output.stderr).expect("it prints text")
}

/// A document without the time that it took.
fn repeatable(document: &str) -> String {
    let lines = document.lines().filter(|line| !line.trim_start().starts_with("\"wall_s\": "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs the command with `text` on standard input.
fn fed(text: &str, arguments: &[&str]) -> Output {
    let mut child = lasthop(arguments).stdin(Stdio::piped()).spawn().expect("it can be run");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(text.as_bytes()).expect("it is read");
    drop(input);
    child.wait_with_output().expect("it ends")
}

#[test]
fn every_scenario_is_listed_and_shown() {
    let folder = empty("shipped");
    let list = output_in(&folder, &["scenario", "list"]);
    let hello = "hello                   The smallest cell: one access point, one station in the \
                 same room, and as much UDP as fits.\n";
    assert!(list.contains(hello), "{list}");
    for line in list.lines() {
        let name = line.split_once(' ').expect("a name and a sentence").0;
        let file = format!("scenarios/{name}.toml");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let text = fs::read_to_string(format!("{root}{file}")).expect("it is in the repository");
        assert_eq!(output_in(&folder, &["scenario", "show", name]), text);
    }
    let told = complaint_in(&folder, &["scenario", "show", "helo"]);
    assert!(
        told.contains("no built-in scenario \"helo\"") && told.contains("mean \"hello\"?"),
        "{told}"
    );
}

/// Commands of README and the pages work with nothing installed but the program.
#[test]
fn documents_name_what_is_inside() {
    let folder = empty("documents");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |page: &str| fs::read_to_string(root.join(page)).expect("it is there");
    let mut shown = 0;
    let pages = ["README.md", "docs/apq.md", "docs/emulate.md", "docs/medium.md", "docs/serve.md"];
    for page in pages.into_iter().chain(["docs/sweep.md"]) {
        let text = read(page);
        for verb in ["simulate", "sweep", "emulate", "compare", "medium"] {
            for (at, begin) in text.match_indices(&format!("lasthop {verb} ")) {
                let rest = &text[at + begin.len()..];
                let end = rest.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(rest.len());
                // Those of the reader, and options.
                if !["SCENARIO", "my.toml", ".."].contains(&&rest[..end]) && !rest.starts_with('-')
                {
                    output_in(&folder, &["scenario", "show", &rest[..end]]);
                    shown += 1;
                }
            }
        }
    }
    assert!(shown >= 5, "{shown}");
}

/// A built-in name and its file give the same output, byte for byte.
#[test]
fn a_name_is_as_good_as_its_file() {
    let folder = empty("by-name");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    for name in ["hello", "scan/fig3"] {
        let short = ["--set", "duration=100ms", "--json"];
        let file = format!("{root}/{name}.toml");
        let [by_name, by_file] = [name, &file].map(|scenario| {
            repeatable(&output_in(&folder, &[&["simulate", scenario][..], &short].concat()))
        });
        assert_eq!(by_name, by_file);
    }
    for (out, scenario) in [("one", "hello"), ("other", &*format!("{root}/hello.toml"))] {
        output_in(&folder, &["simulate", scenario, "--set", "duration=100ms", "--out", out]);
    }
    let [one, other] = ["one", "other"].map(|out| folder.path().join(out));
    assert_eq!(names(&one), names(&other));
    let read = |folder: &Path, name| fs::read(folder.join(name)).expect("it is there");
    for name in ["scenario.toml", "events.parquet", "series.parquet"] {
        assert!(read(&one, name) == read(&other, name), "{name}");
    }
    let [one, other] = [one, other]
        .map(|folder| repeatable(&String::from_utf8(read(&folder, "run.json")).expect("text")));
    assert_eq!(one, other);
    // What is kept runs again, and a sweep goes on with the file where the name began it.
    output_in(&folder, &["simulate", "one/scenario.toml"]);
    let vary = ["--vary", "seed=1,2", "--set", "duration=100ms", "--out", "swept"];
    output_in(&folder, &[&["sweep", "hello"][..], &vary].concat());
    let file = format!("{root}/hello.toml");
    let again = output_in(&folder, &[&["sweep", &file][..], &vary].concat());
    assert!(again.starts_with("0 runs made"), "{again}");
}

#[test]
fn a_file_wins_over_a_name() {
    let folder = empty("wins");
    let hello = output_in(&folder, &["scenario", "show", "hello"]);
    let mine = hello.replace("name = \"hello\"", "name = \"mine\"");
    fs::write(folder.path().join("hello"), mine).expect("it can be written");
    let told = output_in(&folder, &["simulate", "hello", "--set", "duration=100ms"]);
    assert!(told.starts_with("mine: "), "{told}");
    // A folder is none: results may be called as what they are of.
    fs::create_dir(folder.path().join("link")).expect("it can be made");
    let told = output_in(&folder, &["simulate", "link", "--set", "duration=100ms"]);
    assert!(told.starts_with("link: "), "{told}");
}

#[test]
fn init_writes_what_runs_and_overwrites_nothing() {
    let folder = empty("init");
    let written = run_in(&folder, &["scenario", "init", "my.toml"]);
    assert_eq!(written.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&written.stdout), "");
    let told = output_in(&folder, &["simulate", "my.toml", "--set", "duration=2s"]);
    assert!(told.starts_with("my: 2 s"), "{told}");

    output_in(&folder, &["scenario", "init", "copy.toml", "--from", "apq/cisco"]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it is there");
    assert_eq!(read("copy.toml"), output_in(&folder, &["scenario", "show", "apq/cisco"]));

    let told = complaint_in(&folder, &["scenario", "init", "copy.toml"]);
    assert!(told.contains("copy.toml: it exists already"), "{told}");
    assert!(read("copy.toml").starts_with("# Cisco"), "it is as it was");
    let told = complaint_in(&folder, &["scenario", "init", "new.toml", "--from", "upolad"]);
    assert!(told.contains("did you mean \"upload\"?"), "{told}");
    let told = complaint_in(&folder, &["scenario", "init", "nowhere/new.toml"]);
    assert!(told.contains("nowhere/new.toml: there is no such folder"), "{told}");
    assert_eq!(folder.names(), ["copy.toml", "my.toml"]);
}

#[test]
fn what_was_meant_is_asked() {
    let folder = empty("meant");
    fs::write(folder.path().join("attic.toml"), "").expect("it can be written");
    for (wrong, meant) in [
        ("helo", "hello"),
        ("hello.toml", "hello"),
        ("scenarios/hello.toml", "hello"),
        ("scan/fig33", "scan/fig3"),
        ("atic.toml", "attic.toml"),
        ("./atic.toml", "./attic.toml"),
    ] {
        for verb in ["simulate", "emulate", "compare", "medium"] {
            let told = complaint_in(&folder, &[verb, wrong]);
            let start =
                format!("{wrong}: there is no such file, and no built-in scenario of this name");
            assert!(told.starts_with(&start), "{told}");
            assert!(told.contains(&format!("did you mean {meant:?}?")), "{told}");
        }
    }
    let told = complaint_in(&folder, &["sweep", "helo", "--vary", "seed=1", "--out", "swept"]);
    assert!(told.contains("did you mean \"hello\"?"), "{told}");
    assert_eq!(folder.names(), ["attic.toml"]);
    let told = complaint_in(&folder, &["simulate", "quite-another-thing"]);
    assert!(!told.contains("did you mean") && told.contains("`lasthop scenario list`"), "{told}");
}

/// Messages name the scenario as it was asked for, and the line that `show` has there.
#[test]
fn errors_name_the_line_of_what_is_inside() {
    let folder = empty("lines");
    let told = complaint_in(&folder, &["simulate", "hello", "--set", "node.laptop.count=0"]);
    assert!(told.starts_with("--set node.laptop.count=0: node.laptop.count: "), "{told}");
    // Another node is gone from below the flow that names it.
    let told = complaint_in(&folder, &["simulate", "hello", "--set", "node.laptop.name=phone"]);
    let line = output_in(&folder, &["scenario", "show", "hello"])
        .lines()
        .position(|line| line == "from = \"laptop\"")
        .expect("it is there");
    assert!(told.starts_with(&format!("hello:{}: flow.up.from: ", line + 1)), "{told}");
}

#[test]
fn standard_input_is_a_scenario() {
    let hello = output(&["scenario", "show", "hello"]);
    let short = ["simulate", "-", "--set", "duration=100ms", "--json"];
    let fed_in = fed(&hello, &short);
    assert!(fed_in.status.success(), "{}", String::from_utf8_lossy(&fed_in.stderr));
    let named = output(&["simulate", "hello", "--set", "duration=100ms", "--json"]);
    assert_eq!(repeatable(&String::from_utf8_lossy(&fed_in.stdout)), repeatable(&named));

    let wrong = fed("duration = 1\n", &["simulate", "-"]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8_lossy(&wrong.stderr);
    assert!(told.starts_with("stdin:1: duration: "), "{told}");
    // Without a name of its own.
    let nameless = hello.replace("name = \"hello\"\n", "");
    let told = fed(&nameless, &["simulate", "-", "--set", "duration=100ms"]);
    assert!(String::from_utf8_lossy(&told.stdout).starts_with("stdin: "));
    for verb in ["emulate", "compare", "medium"] {
        let told = fed("", &[verb, "-"]);
        assert!(String::from_utf8_lossy(&told.stderr).starts_with("stdin: "), "{verb}");
    }
}
