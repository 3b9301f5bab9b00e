//! Output of `wire`, read by tshark, link type 127 (IEEE 802.11 after radiotap): frames of every
//! kind and their elements (`frames`), control frames with content (`control_frames`), radiotap
//! with rates and A-MPDU status (`radiotap_headers`), frames of roaming (`roaming`), 802.11be
//! (`eht_headers`, `eht_frames`, `eht_control`). This file has
//! their common parts: basic frames, and the calls of tshark. Without tshark on the path the tests
//! print a notice and pass.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

mod control_frames;
mod eht_control;
mod eht_frames;
mod eht_headers;
mod frames;
mod radiotap_headers;
mod roaming;

use lasthop_units::{Dbm, Duration, Instant, MacAddr, SeqNo12};
use lasthop_wifi_phy::{Band, OfdmRate, Rate};
use lasthop_wifi_wire::radiotap::{self, Channel};
use lasthop_wifi_wire::{
    Flags, QosControl, SequenceControl, control, data, frame, llc, management,
};
use std::io::Write;
use std::process::{Command, Stdio};

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
/// IEEE 802, local experimental EtherType 1.
const EXPERIMENTAL: u16 = 0x88b5;

/// Link type of IEEE 802.11 after radiotap.
const DLT_IEEE802_11_RADIO: u32 = 127;

/// A pcap file in memory, all frames at time 0.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![];
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, DLT_IEEE802_11_RADIO] {
        file.extend_from_slice(&u32::to_le_bytes(word));
    }
    for frame in frames {
        let length = u32::try_from(frame.len()).unwrap();
        for word in [0, 0, length, length] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

/// The fields of each frame as tshark prints them; `None` without tshark.
fn tshark(frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    match ask(frames, fields)? {
        Ok(rows) => Some(rows),
        Err(error) => panic!("{error}"),
    }
}

/// Does the same; fields that this tshark does not know are an error.
fn ask(frames: &[Vec<u8>], fields: &[&str]) -> Option<Result<Vec<Vec<String>>, String>> {
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-T", "fields", "-o", "wlan.check_checksum:TRUE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        println!("skipped, because tshark is not installed");
        return None;
    };
    child.stdin.take().unwrap().write_all(&pcap(frames)).unwrap();
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        return Some(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split('\t').map(String::from).collect()).collect();
    assert_eq!(rows.len(), frames.len());
    Some(Ok(rows))
}

fn received(rate: Rate) -> radiotap::Repr {
    let at = Instant::default() + Duration::from_micros(1_234_567);
    radiotap::Repr::received(at, rate, Channel::from_number(Band::Ghz5, 36), Dbm(-48.4))
}

fn captured<'a>(radiotap: &radiotap::Repr, repr: impl Into<frame::Repr<'a>>) -> Vec<u8> {
    let mut out = vec![];
    radiotap.emit(&mut out);
    repr.into().emit_mpdu(&mut out);
    out
}

fn of_kind<'a>(repr: impl Into<frame::Repr<'a>>) -> Vec<u8> {
    captured(&received(Rate::Ofdm(OfdmRate::Mbps24)), repr)
}

fn msdu() -> Vec<u8> {
    let mut msdu = vec![];
    llc::Repr::new(EXPERIMENTAL).emit(&mut msdu);
    msdu.extend_from_slice(&[0x55; 40]);
    msdu
}

fn data_frame(qos: Option<QosControl>, body: Option<&[u8]>) -> data::Repr<'_> {
    data::Repr {
        flags: Flags::default(),
        duration_us: 44,
        addresses: data::Addresses::ToDs { bssid: AP, source: STATION, destination: HOST },
        sequence_control: SequenceControl::new(SeqNo12::new(0x123)),
        qos,
        ht_control: None,
        body,
    }
}

fn control_frame(body: control::Body<'_>) -> control::Repr<'_> {
    control::Repr { flags: Flags::default(), duration_id: 300, receiver: AP, body }
}

fn management_frame(body: management::Body<'_>) -> management::Repr<'_> {
    management::Repr {
        flags: Flags::default(),
        duration_us: 0,
        receiver: STATION,
        transmitter: AP,
        bssid: AP,
        sequence_control: SequenceControl::new(SeqNo12::new(7)),
        ht_control: None,
        body,
    }
}

/// The fields of frames of 802.11be. tshark 4.4 knows all of them; `None` with an older one, which
/// does not. Numbers are decimal and flags are numbers, in all versions alike.
fn tshark_eht(frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    // A field that an old one does not know, behind the others.
    let with_probe = [fields, &["wlan.trigger.eht.common_info"]].concat();
    match ask(frames, &with_probe)? {
        Ok(mut rows) => {
            rows.iter_mut().for_each(|row| row.truncate(fields.len()));
            let alike = |text: &String| text.split(',').map(plain).collect::<Vec<_>>().join(",");
            Some(rows.iter().map(|row| row.iter().map(alike).collect()).collect())
        }
        Err(error) if error.contains("aren't valid") => {
            println!("skipped, because tshark is older than 4.4: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A value as a decimal number, if it is a number.
fn plain(text: &str) -> String {
    match text {
        "True" | "Good" => "1".to_owned(),
        "False" => "0".to_owned(),
        _ => match text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(number)) => number.to_string(),
            _ => text.to_owned(),
        },
    }
}

/// One frame of 802.11be, its fields by name; the expected values are decimal.
fn check_eht(frame: Vec<u8>, expected: &[(&str, &str)]) {
    let fields: Vec<_> = expected.iter().map(|(field, _)| *field).collect();
    let Some(rows) = tshark_eht(&[frame], &fields) else { return };
    let read: Vec<_> = fields.iter().copied().zip(rows[0].iter().map(String::as_str)).collect();
    assert_eq!(read, expected);
}

/// One frame, its fields by name.
fn check(frame: Vec<u8>, expected: &[(&str, &str)]) {
    let fields: Vec<_> = expected.iter().map(|(field, _)| *field).collect();
    let Some(rows) = tshark(&[frame], &fields) else { return };
    let read: Vec<_> = fields.iter().copied().zip(rows[0].iter().map(String::as_str)).collect();
    assert_eq!(read, expected);
}

const FCS: Option<radiotap::FlagsField> =
    Some(radiotap::FlagsField(radiotap::FlagsField::FCS_AT_END));
