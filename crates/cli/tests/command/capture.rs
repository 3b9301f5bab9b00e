//! `lasthop capture`: files made by `simulate --pcap`, whole and damaged, from a path and from
//! standard input.

use crate::lasthop::{Scratch, lasthop, output, run};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

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

/// A file that is cut is analysed as far as it goes; where it ends is said, and the status is 0,
/// for most captures are stopped in the midst of a packet.
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

/// What is no passphrase is refused with its place, and not repeated: it may be a secret.
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
}
