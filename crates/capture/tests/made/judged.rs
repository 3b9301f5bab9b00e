//! Roams of a made capture beside what tshark reads in it: each phase from the types, addresses,
//! status codes and message numbers that tshark prints. Skipped without tshark.

#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use crate::scene::walk;
use std::io::Write;
use std::process::{Command, Stdio};

/// A frame as tshark prints it: time in us, type and subtype, receiver, transmitter, whether it is
/// encrypted, status code, message of the handshake.
struct Row {
    at_us: i64,
    kind: String,
    receiver: String,
    transmitter: String,
    protected: bool,
    status: String,
    message: String,
}

fn tshark(file: &[u8]) -> Option<Vec<Row>> {
    let fields = [
        "frame.time_epoch",
        "wlan.fc.type_subtype",
        "wlan.ra",
        "wlan.ta",
        "wlan.fc.protected",
        "wlan.fixed.status_code",
        "wlan_rsna_eapol.keydes.msgnr",
    ];
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        println!("skipped, because tshark is not installed");
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    let file = file.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&file));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        Row {
            at_us: (cells[0].parse::<f64>().unwrap() * 1e6).round() as i64,
            kind: cells[1].to_owned(),
            receiver: cells[2].to_owned(),
            transmitter: cells[3].to_owned(),
            protected: cells[4] == "1",
            status: cells[5].to_owned(),
            message: cells[6].to_owned(),
        }
    };
    Some(text.lines().map(row).collect())
}

#[test]
fn phases_are_those_of_tshark() {
    let steps = [
        (1, [400, 12, 5, 30, 40]),
        (2, [90, 3, 2, 0, 7]),
        (0, [1_500, 40, 3, 150, 1]),
        (0, [30, 2, 2, 10, 5]),
        (3, [5, 1, 1, 4, 1]),
    ];
    let (scene, expected) = walk(&steps);
    let Some(rows) = tshark(&scene.file()) else { return };
    let document = scene.document();
    let station = "02:00:00:00:00:02";
    let is = |row: &Row, kind: &str| row.kind == kind;
    let mut found = document.roams.iter();
    let mut here = "02:00:00:00:00:0a".to_owned();
    for (index, response) in rows.iter().enumerate() {
        if !is(response, "0x0003") || response.status != "0x0000" {
            continue;
        }
        let to = response.transmitter.clone();
        let from = std::mem::replace(&mut here, to.clone());
        if from == to {
            continue;
        }
        let (before, after) = rows.split_at(index);
        let request = before.iter().rposition(|row| is(row, "0x0002")).unwrap();
        let asked = before[..request]
            .iter()
            .rposition(|row| is(row, "0x000b") && row.transmitter == station)
            .unwrap();
        let data = before[..asked].iter().rposition(|row| is(row, "0x0020")).unwrap();
        // The Ack of the last data.
        let last = before[data..].iter().find(|row| is(row, "0x001d")).unwrap();
        let first = after.iter().find(|row| is(row, "0x0020") && row.protected).unwrap();
        assert_eq!(first.receiver, to);
        let fourth = after.iter().take_while(|row| row.at_us < first.at_us);
        let fourth = fourth.filter(|row| row.message == "4").last();
        let times = [
            Some(last.at_us),
            Some(before[asked].at_us),
            Some(before[request].at_us),
            Some(response.at_us),
            fourth.map(|row| row.at_us),
            Some(first.at_us),
        ];
        let roam = found.next().unwrap();
        assert_eq!((&roam.from, &roam.to), (&from, &to));
        let phases = &roam.phases;
        let ours = [
            phases.search_ms,
            phases.authentication_ms,
            phases.association_ms,
            phases.keys_ms,
            phases.data_ms,
        ];
        let mut since = times[0].unwrap();
        for (ours, until) in ours.into_iter().zip(&times[1..]) {
            let length = until.map(|until| until - std::mem::replace(&mut since, until));
            assert_eq!(ours.map(|ms| (ms * 1e3).round() as i64), length, "{roam:?}");
        }
    }
    assert_eq!((found.len(), document.roams.len()), (0, expected.len()));
}
