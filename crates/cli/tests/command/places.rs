//! Places: every one runs with flows of the reader, differs from the others as expected, and gives
//! the numbers of `lasthop places` and of the page. Three runs of each, with independent random
//! numbers. `UPDATE_DOCS=1` writes the numbers again; look at them before you commit.

use crate::lasthop::{lasthop, output, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;
use std::{fs, thread};

const RUNS: usize = 3;

/// A ping from the laptop to the server, with or without a download.
const PING: &str = r#"
[[flow]]
name = "ping"
from = "laptop"
to = "server"
kind = "ping"
interval = "50ms"
"#;
const DOWNLOAD: &str = r#"
[[flow]]
name = "download"
from = "server"
to = "laptop"
kind = "tcp"
"#;

/// Numbers of a run of a place.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    ping_p50_ms: f64,
    ping_p95_ms: f64,
    ping_lost_percent: f64,
    download_mbps: f64,
    loaded_ping_p50_ms: f64,
    loaded_ping_p95_ms: f64,
}

/// Returns the runs of each place.
fn measured() -> &'static BTreeMap<String, [Measured; RUNS]> {
    static ALL: OnceLock<BTreeMap<String, [Measured; RUNS]>> = OnceLock::new();
    ALL.get_or_init(|| {
        let all = names().into_iter().map(|name| {
            let idle = runs_with(&name, PING);
            let loaded = runs_with(&name, &format!("{PING}{DOWNLOAD}"));
            let of_run = |index: usize| {
                let number = |runs: &[Value], pointer: &str| {
                    let number = runs[index].pointer(pointer).and_then(Value::as_f64);
                    number.unwrap_or_else(|| panic!("{name}: no {pointer}"))
                };
                Measured {
                    ping_p50_ms: number(&idle, "/flows/ping/rtt_ms/p50"),
                    ping_p95_ms: number(&idle, "/flows/ping/rtt_ms/p95"),
                    ping_lost_percent: 100.0 * number(&idle, "/flows/ping/packets_lost")
                        / number(&idle, "/flows/ping/packets_sent"),
                    download_mbps: number(&loaded, "/flows/download/goodput_mbps"),
                    loaded_ping_p50_ms: number(&loaded, "/flows/ping/rtt_ms/p50"),
                    loaded_ping_p95_ms: number(&loaded, "/flows/ping/rtt_ms/p95"),
                }
            };
            let runs = std::array::from_fn(of_run);
            (name, runs)
        });
        all.collect()
    })
}

/// The names of all places, in their order.
fn names() -> Vec<String> {
    let list = output(&["scenario", "list"]);
    let places = list.lines().filter_map(|line| line.strip_prefix("places/"));
    places.map(|line| line.split_once(' ').expect("a sentence follows").0.to_owned()).collect()
}

/// The runs of a place with more flows: of half a minute, on the train until its outages repeat, and
/// while the laptop is carried.
fn runs_with(place: &str, flows: &str) -> Vec<Value> {
    let text = output(&["scenario", "show", &format!("places/{place}")]) + flows;
    let duration = match place {
        "train" => "duration=152s",
        "walk" | "mesh-home" => "duration=62s",
        "metro" => "duration=37s",
        _ => "duration=32s",
    };
    // Without slow start and the first pages, which all begin together.
    let sets = ["--set", duration, "--set", "warmup=2s"];
    let runs = RUNS.to_string();
    let mut child = lasthop(&["simulate", "-", "--runs", &runs, "--json"])
        .args(sets)
        .stdin(Stdio::piped())
        .spawn()
        .expect("it can be run");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(text.as_bytes()).expect("it is read");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{place}: {errors}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    document["runs"].as_array().expect("it has runs").clone()
}

/// One of the numbers of a run.
type Number = fn(&Measured) -> f64;

fn mean(runs: &[Measured; RUNS], of: Number) -> f64 {
    runs.iter().map(of).sum::<f64>() / RUNS as f64
}

/// Compares with a file of the repository, or writes it.
fn kept(path: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, expected).expect("it can be written");
    }
    let there = fs::read_to_string(&path).expect("it is there");
    assert_eq!(there, expected, "{} is out of date: UPDATE_DOCS=1", path.display());
}

#[test]
fn what_to_expect_is_what_simulations_give() {
    let columns: [(&str, Number); 6] = [
        ("ping_p50_ms", |run| run.ping_p50_ms),
        ("ping_p95_ms", |run| run.ping_p95_ms),
        ("ping_lost_percent", |run| run.ping_lost_percent),
        ("download_mbps", |run| run.download_mbps),
        ("loaded_ping_p50_ms", |run| run.loaded_ping_p50_ms),
        ("loaded_ping_p95_ms", |run| run.loaded_ping_p95_ms),
    ];
    let mut csv = "place".to_owned();
    for (name, _) in columns {
        let _ = write!(csv, ",{name}");
    }
    csv.push('\n');
    let mut table = String::new();
    for (place, runs) in measured() {
        let numbers = columns.map(|(_, of)| mean(runs, of));
        let texts = numbers.map(|x| if x < 99.95 { format!("{x:.1}") } else { format!("{x:.0}") });
        let _ = writeln!(csv, "{place},{}", texts.join(","));
        let _ = writeln!(table, "| `{place}` | {} |", texts.join(" | "));
    }
    kept("crates/cli/src/lab/places/expected.csv", &csv);

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/places.md");
    let text = fs::read_to_string(page).expect("it is there");
    let begin = text.find("| `apartment-block` |").expect("the page has the table");
    let end = begin + text[begin..].find("\n\n").expect("it ends") + 1;
    kept("docs/places.md", &format!("{}{table}{}", &text[..begin], &text[end..]));
}

/// The runs of a number, of all places.
struct Run(usize);

impl Run {
    fn measured(&self, place: &str) -> Measured {
        measured()[place][self.0]
    }
}

/// Run by run, not in the mean.
fn holds(what: &str, is_so: impl Fn(&Run) -> bool) {
    for index in 0..RUNS {
        assert!(is_so(&Run(index)), "{what}, run {index}: {:#?}", measured());
    }
}

fn faster(one: &str, other: &str) {
    holds(&format!("{one} is faster than {other}"), |run| {
        run.measured(one).download_mbps > 1.2 * run.measured(other).download_mbps
    });
}

fn slower(one: &str, other: &str) {
    holds(&format!("pings of {one} are slower than of {other}"), |run| {
        run.measured(one).ping_p95_ms > 1.2 * run.measured(other).ping_p95_ms
    });
}

#[test]
fn places_differ_as_they_should() {
    for pair in ["home", "next-room", "edge-of-cell", "train"].windows(2) {
        faster(pair[0], pair[1]);
    }
    faster("home", "cafe");
    faster("home", "apartment-block");
    faster("home", "microwave");
    faster("office", "hotel");
    faster("office", "conference");
    faster("apartment-block", "cafe");

    for other in ["home", "office", "apartment-block", "microwave"] {
        slower("conference", other);
    }
    slower("cafe", "home");
    slower("microwave", "home");
    slower("scan", "home");
    for other in names().iter().filter(|name| *name != "train") {
        slower("train", other);
    }
    // An oven is off for half of the time, a scanning laptop away for a tenth of a second.
    let spread_ms = |place: Measured| place.ping_p95_ms - place.ping_p50_ms;
    holds("who meets the oven waits for half a period", |run| {
        (5.0..20.0).contains(&spread_ms(run.measured("microwave")))
    });
    holds("who meets a scan waits for a tenth of a second", |run| {
        (60.0..250.0).contains(&spread_ms(run.measured("scan")))
    });
}

/// Each is the scenario of its name, whatever files are there.
#[test]
fn a_place_is_a_scenario() {
    let arguments = ["--set", "duration=200ms", "--set", "warmup=0s", "--json"];
    let documents = thread::scope(|scope| {
        let by_place =
            scope.spawn(|| output(&[&["simulate", "--place", "home"][..], &arguments].concat()));
        let by_name = output(&[&["simulate", "places/home"][..], &arguments].concat());
        [by_place.join().expect("it ends"), by_name]
    });
    let [by_place, by_name] = documents.map(|document| {
        let mut document: Value = serde_json::from_str(&document).expect("a document");
        document["runs"][0]["wall_s"] = Value::Null;
        document
    });
    assert_eq!(by_place, by_name);

    let wrong = |arguments: &[&str]| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let told = wrong(&["simulate", "--place", "caffe"]);
    assert!(
        told.contains("--place caffe: there is no such place; did you mean \"cafe\"?"),
        "{told}"
    );
    for arguments in
        [&["emulate", "--place", "cafe", "hello"][..], &["compare"], &["sweep", "--out", "x"]]
    {
        let told = wrong(arguments);
        assert!(told.contains("Usage:"), "{told}");
    }
}

#[test]
fn all_places_are_listed() {
    let told = output(&["places"]);
    for name in names() {
        let lines = told.lines().filter(|line| line.trim_start().starts_with(&format!("{name} ")));
        assert_eq!(lines.count(), 2, "{name}: {told}");
    }
}
