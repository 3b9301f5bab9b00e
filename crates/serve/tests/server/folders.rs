//! The list of runs, and the contents of each.

use crate::client::{Scratch, get, json, simulated, simulated_on_two_links};
use lasthop_serve::{Options, Server};
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

fn refused(folder: &Path) -> String {
    let options = Options { folder: Some(folder.to_owned()), ..Options::default() };
    Server::start(options).err().expect("there is nothing to serve").to_string()
}

#[test]
fn a_folder_without_runs_is_an_error() {
    let scratch = Scratch::new("empty");
    let error = refused(scratch.path());
    assert!(error.contains("expected a folder with run.json"), "{error}");
    let missing = scratch.path().join("missing");
    assert!(refused(&missing).contains("missing: No such file"), "{}", refused(&missing));
    let file = scratch.path().join("file");
    fs::write(&file, "").expect("a file");
    assert!(refused(&file).contains("file: Not a directory"), "{}", refused(&file));
}

#[test]
fn runs_are_listed_in_order_and_broken_ones_with_what_is_wrong() {
    let scratch = Scratch::new("list");
    for name in ["run-10", "run-9", "a/b"] {
        simulated(&scratch.path().join(name));
    }
    let at = |path: &str| scratch.path().join(path);
    fs::create_dir(at("no-json")).expect("a folder");
    fs::write(at("no-json/run.json"), "{\"scenario\": 3}").expect("a file");
    let events = at("run-9/events.parquet");
    let whole = fs::read(&events).expect("events");
    fs::write(&events, &whole[..whole.len() / 2]).expect("a truncated file");
    let outside = Scratch::new("list-outside");
    simulated(outside.path());
    std::os::unix::fs::symlink(outside.path(), at("link")).expect("a link");
    fs::remove_file(at("run-10/series.parquet")).expect("it was there");
    std::os::unix::fs::symlink(outside.path().join("series.parquet"), at("run-10/series.parquet"))
        .expect("a link");

    for (name, at_s) in [("a/b", 1), ("no-json", 2), ("run-9", 3), ("run-10", 4)] {
        let file = fs::File::options().append(true).open(at(name).join("run.json"));
        let time = UNIX_EPOCH + Duration::from_secs(at_s);
        file.and_then(|file| file.set_modified(time)).expect("it has a time");
    }

    let server = scratch.served();
    assert_eq!(server.runs(), (4, 2));
    let list = json(&server, "runs");
    let names: Vec<&str> = list["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["a/b", "no-json", "run-9", "run-10"], "nothing outside the folder");
    let broken = &list["runs"][1];
    assert!(
        broken["error"].as_str().expect("a text").starts_with("run.json: expected"),
        "{broken}"
    );
    let note = list["runs"][2]["notes"][0].as_str().expect("a note");
    assert!(note.starts_with("events.parquet: expected a whole Parquet file"), "{note}");
    assert_eq!(list["runs"][2]["has_events"], false);
    assert_eq!(list["runs"][3]["has_series"], false, "links are not followed");

    assert_eq!(get(&server, "run/1").0, 422);
    let (status, _, body) = get(&server, "run/2/air?from_ns=0&to_ns=1000&width=10");
    assert_eq!(status, 422, "{body}");
    assert_eq!(get(&server, "run/3/series").0, 404);
    assert_eq!(get(&server, "run/4").0, 404);
}

/// A file with damaged pages and a sound footer.
#[test]
fn damaged_pages_are_an_error_and_no_end() {
    let scratch = Scratch::new("damaged");
    simulated(scratch.path());
    let events = scratch.path().join("events.parquet");
    let mut bytes = fs::read(&events).expect("events");
    let middle = bytes.len() / 2;
    bytes[4..middle].fill(0xa5);
    fs::write(&events, &bytes).expect("a damaged file");
    let server = scratch.served();
    for _ in 0..2 {
        let (status, _, body) = get(&server, "run/0/air?from_ns=0&to_ns=1000&width=10");
        assert!(status == 422 && body.contains("expected a whole Parquet file"), "{status} {body}");
    }
    assert_eq!(get(&server, "run/0").0, 200);
}

#[test]
fn a_run_has_its_document_its_series_and_its_report() {
    let scratch = Scratch::new("run");
    simulated(scratch.path());
    let server = scratch.served();
    let run = json(&server, "run/0");
    assert_eq!(run["document"]["scenario"], "hop");
    assert_eq!(run["findings"][0]["kind"], "overload", "{run}");
    let series = json(&server, "run/0/series");
    let length = series["at_s"].as_array().expect("times").len();
    let up = series["flows"].as_array().expect("flows").iter().find(|it| it["name"] == "up");
    let throughput = up.expect("the flow")["throughput_mbps"].as_array().expect("a column");
    assert_eq!(throughput.len(), length);
    let (status, head, page) = get(&server, "run/0/report.html");
    assert_eq!(status, 200);
    assert!(head.contains("style-src 'unsafe-inline'") && head.contains("; sandbox"), "{head}");
    assert!(page.contains("More is offered than the hop carries"), "made, where there is no file");
    fs::write(scratch.path().join("report.html"), "<!doctype html>its own").expect("a file");
    assert_eq!(get(&server, "run/0/report.html").2, "<!doctype html>its own");
}

#[test]
fn the_air_and_a_packet_agree() {
    let scratch = Scratch::new("air");
    simulated(scratch.path());
    let server = scratch.served();
    let near = json(&server, "run/0/air?from_ns=500000000&to_ns=520000000&width=50");
    let texts: Vec<&str> =
        near["texts"].as_array().expect("texts").iter().filter_map(|it| it.as_str()).collect();
    let lanes = near["lanes"].as_array().expect("lanes");
    let names: Vec<_> = lanes.iter().filter_map(|lane| lane["name"].as_str()).collect();
    assert_eq!(names, ["ap", "laptop", "server"]);
    let lane = |name: &str| lanes.iter().find(|it| it["name"] == name).expect("it");
    let numbers = |value: &serde_json::Value| -> Vec<i64> {
        value.as_array().expect("a column").iter().filter_map(|it| it.as_i64()).collect()
    };
    let sent = &lane("laptop")["ppdus"];
    let (begins, lengths) = (numbers(&sent["at_ns"]), numbers(&sent["duration_ns"]));
    let frames = numbers(&sent["frame"]);
    let busy: i64 = lengths.iter().sum();
    assert!(busy > 14_000_000, "a saturated station sends most of 20 ms, not {busy} ns");
    let out = &lane("ap")["packets"];
    let (at, number) = (numbers(&out["at_ns"]), numbers(&out["number"]));
    let events = out["event"].as_array().expect("a column");
    let mut checked = 0;
    for (place, event) in events.iter().enumerate().filter(|(_, event)| **event == "delivered") {
        let way = json(&server, &format!("run/0/packet?number={}", number[place]));
        let steps = way["steps"].as_array().expect("steps");
        let kinds: Vec<_> = steps.iter().filter_map(|step| step["kind"].as_str()).collect();
        assert_eq!(kinds.first(), Some(&"sent"), "{event}: {way}");
        let across = steps.iter().find(|step| step["carried"] == "across");
        let across = across.unwrap_or_else(|| panic!("no PPDU got it across: {way}"));
        let begin = across["at_ns"].as_i64().expect("a time");
        let ppdu = begins.iter().position(|at| *at == begin);
        if let Some(ppdu) = ppdu {
            assert_eq!(texts[frames[ppdu] as usize], "qos_data");
            let end = begin + lengths[ppdu];
            let held = way["parts_ns"]["reorder"].as_i64().expect("a part");
            assert!(at[place] - held > begin && at[place] - held <= end + 1_000, "{way}");
            checked += 1;
        }
        let parts = way["parts_ns"].as_object().expect("parts");
        let sum: i64 = parts.values().filter_map(serde_json::Value::as_i64).sum();
        assert_eq!(Some(sum), way["delay_ns"].as_i64(), "parts add up");
    }
    assert!(checked > 20, "{checked} packets came out of the hop");
}

/// Each frame is in the lane of its link, whose packets the table counts.
#[test]
fn a_run_with_two_links_has_a_table_and_lanes_of_them() {
    let scratch = Scratch::new("links");
    simulated_on_two_links(scratch.path(), "");
    let server = scratch.served();
    let run = json(&server, "run/0");
    let links = run["document"]["flows"]["down"]["links"].as_object().expect("links");
    let rows = run["taken"]["rows"].as_array().expect("rows");
    assert_eq!(run["taken"]["heads"].as_array().map(Vec::len), rows[0].as_array().map(Vec::len));
    for (link, it) in links {
        let row = rows.iter().find(|row| row[0] == "down" && row[1] == **link).expect("a row");
        let packets = row[2].as_str().expect("a text").replace(' ', "");
        assert_eq!(packets, it["packets"].to_string(), "{row}");
    }
    assert_eq!(links.len(), 2);
    let air = json(&server, "run/0/air?from_ns=500000000&to_ns=520000000&width=50");
    let lanes = air["lanes"].as_array().expect("lanes");
    let names: Vec<_> = lanes.iter().filter_map(|lane| lane["name"].as_str()).collect();
    assert_eq!(names, ["ap", "ap@5GHz", "ap@6GHz", "laptop", "laptop@5GHz", "laptop@6GHz"]);
    for lane in lanes.iter().filter(|lane| lane["has_radio"] == true) {
        let sent = lane["ppdus"]["link"].as_array().expect("a column");
        assert!(!sent.is_empty(), "both links carry data: {lane}");
        for link in sent {
            let link = &air["texts"][link.as_u64().expect("a text") as usize];
            let name = lane["name"].as_str().expect("a name");
            assert_eq!(name.split_once('@').map(|it| it.1), link.as_str());
        }
        let begins = |place: usize| lane["ppdus"]["at_ns"][place].as_i64().expect("a time");
        let ends = |place: usize| {
            begins(place) + lane["ppdus"]["duration_ns"][place].as_i64().expect("a time")
        };
        assert!((1..sent.len()).all(|place| begins(place) >= ends(place - 1)), "one radio a link");
    }
    let out = lanes[3]["packets"]["number"].as_array().expect("a column");
    let way = json(&server, &format!("run/0/packet?number={}", out[0]));
    let step = |kind: &str| {
        let steps = way["steps"].as_array().expect("steps");
        steps.iter().find(|step| step["kind"] == kind || step["carried"] == kind)
    };
    let [across, delivered] = ["across", "delivered"].map(|kind| step(kind).expect("a step"));
    assert_eq!(across["link"], delivered["link"], "{way}");
    assert!(across["link"].as_str().is_some_and(|link| link.ends_with("GHz")), "{way}");
}

/// The first link stays awake (docs/model.md).
#[test]
fn a_link_that_dozes_is_hatched_alone() {
    let scratch = Scratch::new("dozing");
    let keys = "power_save = { kind = \"legacy\", idle = \"1ms\" }\n";
    simulated_on_two_links(scratch.path(), keys);
    let server = scratch.served();
    let air = json(&server, "run/0/air?from_ns=0&to_ns=1000000000&width=50");
    let lanes = air["lanes"].as_array().expect("lanes").iter();
    let dozes = lanes.filter(|lane| lane["absent"].as_array().is_none_or(|it| !it.is_empty()));
    let dozing: Vec<_> = dozes.filter_map(|lane| lane["name"].as_str()).collect();
    assert_eq!(dozing, ["laptop@6GHz"]);
}
