//! `lasthop capture`: files made by `simulate --pcap`, whole and damaged, from a path and from
//! standard input.

use crate::lasthop::{Scratch, lasthop, output, run};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The air of a short run.
fn air(scratch: &Scratch) -> PathBuf {
    let directory = scratch.path().join("run");
    let out = directory.to_str().expect("its name is text");
    let sets = ["--set", "duration=300ms"];
    output(&[&["simulate", "scenarios/hello.toml", "--out", out, "--pcap"][..], &sets].concat());
    directory.join("air.pcapng")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(arguments)).expect("one JSON document and nothing else")
}

#[test]
fn a_capture_is_counted_and_told() {
    let scratch = Scratch::new("capture");
    let file = air(&scratch);
    let name = file.to_str().unwrap();
    let document = json(&["capture", name, "--json"]);
    assert_eq!(document["file"], name);
    assert!(document["counts"]["qos_data"].as_u64().unwrap() > 1_000);
    assert_eq!(document["errors"].as_array().unwrap().len(), 0);
    let (_, network) = document["networks"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(network["ssid"], "hello");
    let text = output(&["capture", name]);
    assert!(text.contains("nothing that lasthop looks for"), "{text}");
    assert!(text.contains("Network hello"), "{text}");

    let mut child = lasthop(&["capture", "-", "--json"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = fs::read(&file).unwrap();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let told = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let mut piped: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(piped["file"], "-");
    piped["file"] = name.into();
    assert_eq!(piped, document);
}

/// A truncated file is analysed up to its end; the message has the place of the end, and the status
/// is 0, because most captures stop in the middle of a packet.
#[test]
fn a_cut_capture_is_told_as_far_as_it_goes() {
    let scratch = Scratch::new("capture-cut");
    let file = air(&scratch);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    let told = run(&["capture", file.to_str().unwrap(), "--json"]);
    assert_eq!(told.status.code(), Some(0));
    let errors = String::from_utf8(told.stderr).unwrap();
    assert!(errors.contains("the file is cut"), "{errors}");
    let document: Value = serde_json::from_slice(&told.stdout).unwrap();
    let error = &document["errors"][0];
    assert!(error["frame"].is_null() && error["offset"].is_u64(), "{error}");
    assert!(document["frames"].as_u64().unwrap() > 1_000);
}

/// A capture of real networks, see crates/capture/tests/data/README.md.
const WPA2: &str = "crates/capture/tests/data/wpa2-psk.pcap.gz";

#[test]
fn wpa2_is_opened_with_passphrases_of_arguments_and_files() {
    let scratch = Scratch::new("capture-psk");
    fs::create_dir_all(scratch.path()).unwrap();
    let file = scratch.path().join("psk.txt");
    let key = "0123456789abcdef".repeat(4);
    fs::write(&file, format!("office:{key}\n\nfourth:known but of no use\n")).unwrap();
    let (home, file) = ("lasthop home:correct horse battery", file.to_str().unwrap());
    let document = json(&["capture", WPA2, "--psk", home, "--psk-file", file, "--json"]);
    let decryption = &document["decryption"];
    assert_eq!((&decryption["opened"], &decryption["handshakes"]), (&271.into(), &9.into()));
    assert_eq!(decryption["closed"]["unsupported"]["SAE"], 27);
    assert_eq!(document["counts"]["tcp"], 38);
    let text = output(&["capture", WPA2, "--psk", home, "--psk-file", file]);
    assert!(text.contains("encrypted: 271 opened (handshakes: 9); not opened: 4 that"), "{text}");

    let without = json(&["capture", WPA2, "--json"]);
    assert!(without["decryption"].is_null() && without["flows"].is_null());
    assert_eq!(without["unused"]["protected"], 312);
    let text = output(&["capture", WPA2, "--psk", "wrong horse battery"]);
    assert!(text.contains("no passphrase fits 02:00:00:00:00:00 (stations: 2)"), "{text}");
    assert!(!text.contains("wrong horse"), "{text}");
}

/// An invalid passphrase is rejected with its place, and not repeated in the message: it may be a
/// secret.
#[test]
fn a_passphrase_that_is_none_is_refused() {
    let scratch = Scratch::new("capture-psk-refused");
    fs::create_dir_all(scratch.path()).unwrap();
    let file = scratch.path().join("psk.txt");
    fs::write(&file, "good enough\nsecret7\n").unwrap();
    let name = file.to_str().unwrap();
    for (arguments, place) in [
        (&["--psk", "good enough", "--psk", "secret7"][..], "--psk, number 2: expected a pass"),
        (&["--psk-file", name], "psk.txt, line 2: expected a passphrase of 8 to 63"),
        (&["--psk-file", "/nowhere/psk.txt"], "/nowhere/psk.txt: "),
    ] {
        let told = run(&[&["capture", WPA2][..], arguments].concat());
        let errors = String::from_utf8(told.stderr).unwrap();
        assert_eq!((told.status.code(), told.stdout.len()), (Some(2), 0), "{errors}");
        assert!(errors.contains(place) && !errors.contains("secret7"), "{errors}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_status_2() {
    let scratch = Scratch::new("capture-refused");
    let refused = |name: &str, bytes: &[u8], expected: &str| {
        let file = scratch.path().join(name);
        fs::create_dir_all(scratch.path()).unwrap();
        fs::write(&file, bytes).unwrap();
        let told = run(&["capture", file.to_str().unwrap(), "--json"]);
        let errors = String::from_utf8(told.stderr).unwrap();
        assert_eq!((told.status.code(), told.stdout.len()), (Some(2), 0), "{errors}");
        assert!(errors.contains(name) && errors.contains(expected), "{errors}");
    };
    refused("empty.pcap", b"", "the file is empty");
    refused("word.doc", b"\xd0\xcf\x11\xe0 and so on", "not a capture: it begins with d0cf11e0");
    let mut head = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    head.extend([0; 8]);
    head.extend([0xff, 0xff, 0, 0, 189, 0, 0, 0]);
    refused("nothing.pcap", &head, "there is no packet in it");
    head.extend([0; 8]);
    head.extend([1, 0, 0, 0, 1, 0, 0, 0, 7]);
    refused("usb.pcap", &head, "cannot read packets of link type 189; what can be read: 802.11");
    let told = run(&["capture", "/nowhere/air.pcapng"]);
    assert_eq!(told.status.code(), Some(2));
    let folder = scratch.path().to_str().unwrap();
    let told = run(&["capture", folder]);
    let errors = String::from_utf8(told.stderr).unwrap();
    assert_eq!(told.status.code(), Some(2));
    assert!(errors.contains(&format!("{folder} is a folder")), "{errors}");
}

/// An interrupt before the first byte of a pipe leaves nothing to report.
#[test]
fn an_interrupt_before_the_first_packet_is_one() {
    let mut child = lasthop(&["capture", "-"]);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    // It stays open until the command has ended.
    let input = child.stdin.take();
    let later = format!("sleep 1.5; kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &later]).status().unwrap().success());
    let told = child.wait_with_output().unwrap();
    drop(input);
    let errors = String::from_utf8(told.stderr).unwrap();
    assert_eq!((told.status.code(), errors.as_str()), (Some(130), "interrupted\n"));
}

/// The tables have both ends of each flow, and the captured share.
#[test]
fn tables_have_both_ends_and_what_was_captured() {
    let scratch = Scratch::new("capture-tables");
    let text = output(&["capture", air(&scratch).to_str().unwrap()]);
    let line = |head: &str| text.lines().find(|line| line.trim_start().starts_with(head));
    assert!(line("protocol").is_some_and(|it| it.contains("from") && it.contains("to")), "{text}");
    let flow = line("udp").or_else(|| line("tcp")).expect("there is a flow");
    assert_eq!(flow.matches(':').count(), 2, "two ends with their ports: {flow}");
    assert!(text.contains("captured") && line("02:").is_some(), "{text}");
}

/// The files of --out are documented, complete, and written together or not at all.
#[test]
fn files_of_a_capture_are_written_together() {
    let scratch = Scratch::new("capture-out");
    let file = air(&scratch);
    let name = file.to_str().unwrap();
    let out = scratch.path().join("result");
    let document = json(&["capture", name, "--json", "--out", out.to_str().unwrap()]);
    let mut names: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let written = ["absences.parquet", "capture.html", "capture.json", "files.json"];
    assert_eq!(names, [&written[..], &["seconds.parquet"]].concat());
    let written: Value =
        serde_json::from_slice(&fs::read(out.join("capture.json")).unwrap()).unwrap();
    assert_eq!(written, document);
    let page = fs::read_to_string(out.join("capture.html")).unwrap();
    assert!(page.matches("<svg ").count() >= 4, "plots are in it");
    for outside in [" src=", "@import", "http://", "https://"] {
        let where_from = page.find(outside).map(|at| &page[at.saturating_sub(80)..at + 40]);
        assert_eq!(where_from, None, "a page needs no network");
    }
    // What cannot be read leaves what was there as it was.
    let broken = scratch.path().join("broken.pcap");
    fs::write(&broken, b"no capture").unwrap();
    let told = run(&["capture", broken.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(told.status.code(), Some(2));
    assert_eq!(fs::read_to_string(out.join("capture.html")).unwrap(), page);
    output(&["report", out.to_str().expect("text")]);
    assert_eq!(fs::read_to_string(out.join("report.html")).unwrap(), page, "a copy of it");
    fs::remove_file(out.join("report.html")).unwrap();
}

/// The air, the laptop and the server of a short run.
fn three(scratch: &Scratch) -> [String; 3] {
    three_with(scratch, "three", &["--set", "duration=3s"])
}

/// Makes the captures of another run, in the directory `name`, with these settings.
fn three_with(scratch: &Scratch, name: &str, sets: &[&str]) -> [String; 3] {
    let directory = scratch.path().join(name);
    let out = directory.to_str().expect("its name is text");
    let simulate = ["simulate", "scenarios/upload.toml", "--out", out, "--pcap"];
    output(&[&simulate[..], sets].concat());
    ["air.pcapng", "node-laptop.pcapng", "node-server.pcapng"].map(|name| format!("{out}/{name}"))
}

#[test]
fn captures_are_put_together() {
    let scratch = Scratch::new("capture-joined");
    let [air, laptop, server] = three(&scratch);
    let with = ["--with", &laptop, "--with", &server];
    let document = json(&[&["capture", &air, "--json"][..], &with].concat());
    let joined = &document["joined"];
    assert_eq!(joined["reference"], air);
    assert_eq!(joined["places"].as_array().unwrap().len(), 3);
    assert!(joined["problems"].is_null());
    let flow = &joined["flows"]["tcp 10.0.0.2:45000 - 10.0.0.3:55000"]["from"]["10.0.0.2:45000"];
    assert_eq!(flow["path"], serde_json::json!([laptop, air, server]));
    assert!(flow["segments"].as_u64().unwrap() > 200, "{flow:#}");
    let parts = &flow["parts"];
    let least = ["wait", "air", "behind"].map(|part| parts[part]["least_ms"].as_f64().unwrap());
    assert!(least.iter().sum::<f64>() <= parts["total"]["least_ms"].as_f64().unwrap() + 0.01);
    // A wire of 10 ms behind the air.
    assert!((parts["behind"]["least_ms"].as_f64().unwrap() - 10.0).abs() < 0.1);
    assert_eq!(joined["slowest"].as_array().unwrap().len(), 20);
    let text = output(&[&["capture", &air][..], &with].concat());
    assert!(text.contains("Together, by the clock of"), "{text}");
    assert!(text.contains("Delay of segments by part"), "{text}");

    // Written to a directory, segments are rows, and the page shows where their time went.
    let out = scratch.path().join("joined");
    let arguments = ["capture", &air, "--json", "--out", out.to_str().unwrap()];
    let written = json(&[&arguments[..], &with].concat());
    assert_eq!(written, document);
    assert!(fs::read(out.join("segments.parquet")).unwrap().starts_with(b"PAR1"));
    let page = fs::read_to_string(out.join("capture.html")).unwrap();
    for shown in ["Delay of segments by part", "until the first attempt", "The slowest"] {
        assert!(page.contains(shown), "{shown}");
    }
    // Another run of the command into it without other files leaves none of their segments.
    output(&["capture", &air, "--out", out.to_str().unwrap()]);
    assert!(!out.join("segments.parquet").exists());

    // One of them may come by a pipe.
    let arguments = ["capture", "-", "--json", "--with", &laptop, "--with", &server];
    let mut child = lasthop(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = fs::read(&air).unwrap();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let told = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(told.stdout).unwrap();
    let piped: Value = serde_json::from_str(&text.replace("\"-\"", &format!("\"{air}\""))).unwrap();
    assert_eq!(piped, document);
}

/// Segments that wait in a deep queue are a finding, with the waits that the run had; with
/// FQ-CoDel, where the run has no such waits, there is none.
#[test]
fn waits_before_the_air_are_found_where_there_are_some() {
    let scratch = Scratch::new("capture-waits");
    let kind = "node.laptop.queue.kind=fq-codel";
    for (name, sets, expected) in [
        ("deep", &["--set", "duration=8s"][..], true),
        ("fair", &["--set", "duration=8s", "--set", kind], false),
    ] {
        let [air, laptop, server] = three_with(&scratch, name, sets);
        let run: Value =
            serde_json::from_slice(&fs::read(scratch.path().join(name).join("run.json")).unwrap())
                .unwrap();
        let queue_ms = run["flows"]["upload"]["delay_parts_ms"]["queue"].as_f64().unwrap();
        assert_eq!(queue_ms > 100.0, expected, "{name}: the run has {queue_ms} ms");
        let document = json(&["capture", &air, "--json", "--with", &laptop, "--with", &server]);
        let findings = document["findings"].as_array().unwrap();
        let found = findings.iter().find(|it| it["kind"] == "waits_before_air");
        assert_eq!(found.is_some(), expected, "{name}: {findings:#?}");
        let Some(found) = found else { continue };
        let flow = &document["joined"]["flows"]["tcp 10.0.0.2:45000 - 10.0.0.3:55000"];
        let wait = &flow["from"]["10.0.0.2:45000"]["parts"]["wait"];
        let median = wait["p50_ms"].as_f64().unwrap();
        // The queue fills evenly: its median is near its mean.
        assert!(
            (median / queue_ms - 1.0).abs() < 0.2,
            "{median} ms found, {queue_ms} ms in the run"
        );
        let sentence = found["sentence"].as_str().unwrap();
        assert!(sentence.contains(&format!("wait {median:.0} ms in the median")), "{sentence}");
    }
}

/// Captures that cannot be joined are named, with the reason; the rest is printed, and the status
/// is 2.
#[test]
fn captures_of_other_moments_are_refused() {
    let scratch = Scratch::new("capture-foreign");
    let file = air(&scratch);
    let [air, laptop, _] = three(&scratch);
    let foreign = file.to_str().unwrap();
    let told = run(&["capture", &air, "--with", &laptop, "--with", foreign, "--json"]);
    let errors = String::from_utf8(told.stderr).unwrap();
    assert_eq!(told.status.code(), Some(2), "{errors}");
    assert!(errors.contains(foreign) && errors.contains("in common"), "{errors}");
    let document: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(document["joined"]["problems"].as_array().unwrap().len(), 1);
    let flows = document["joined"]["flows"].as_object().unwrap();
    assert_eq!(flows.len(), 1, "the others are put together all the same");

    let refused = |arguments: &[&str], expected: &str| {
        let told = run(arguments);
        let errors = String::from_utf8(told.stderr).unwrap();
        assert_eq!((told.status.code(), told.stdout.len()), (Some(2), 0), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    };
    refused(&["capture", "-", "--with", "-"], "one of the files only");
    refused(&["capture", &air, "--with", "/nowhere/x.pcap"], "/nowhere/x.pcap");
    let document = scratch.path().join("x.json");
    fs::write(&document, "{\"a\": 1}").unwrap();
    let document = document.to_str().unwrap();
    refused(&["capture", &air, "--context", document], "expected what apq measure --json");
}

/// Results of other measurements are shown beside a capture.
#[test]
fn other_measurements_are_shown_beside() {
    let scratch = Scratch::new("capture-context");
    let file = air(&scratch);
    let context = scratch.path().join("apq.json");
    let estimate = |mean: f64| serde_json::json!({ "mean": mean, "values": 3 });
    let apq = serde_json::json!({
        "host": "server", "method": "fast", "wall_s": 10.0, "version": "1", "directions": [{
            "direction": "down", "trusted": true, "doubts": [], "measured_s": 9.0,
            "sizes": [{
                "packet_bytes": 1500, "capacity_packets": estimate(150.0),
                "queueing_delay_ms": estimate(88.5), "search": [], "sessions": []
            }]
        }]
    });
    fs::write(&context, apq.to_string()).unwrap();
    let (file, context) = (file.to_str().unwrap(), context.to_str().unwrap());
    let document = json(&["capture", file, "--context", context, "--json"]);
    let beside = &document["joined"]["context"][0];
    assert_eq!((&beside["kind"], &beside["file"]), (&"apq".into(), &context.into()));
    let sentence = beside["sentences"][0].as_str().unwrap();
    assert!(sentence.contains("holds 150 packets, delays by 88.5 ms"), "{sentence}");
    let text = output(&["capture", file, "--context", context]);
    assert!(text.contains("Also measured by apq"), "{text}");
}
