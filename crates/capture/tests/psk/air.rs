//! Captures of radiotap in memory: read from a file, changed packet by packet, written again as
//! pcap; and what the crate and tshark open of them.

use flate2::read::GzDecoder;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::decrypt::{Credentials, DecryptCounts, Decryption};
use lasthop_capture::file::Capture;
use lasthop_capture::frame::Frame;
use lasthop_capture::link::{self, Headers, Opened};
use lasthop_wifi_wire::frame::View;
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::path::PathBuf;
use std::process::Command;

/// A packet: its time as pcap has it, its bytes, and its length before it was cut.
#[derive(Clone)]
pub struct Packet {
    pub time: [u8; 8],
    pub bytes: Vec<u8>,
    pub length: u32,
}

/// A capture of radiotap.
#[derive(Clone)]
pub struct Air {
    pub packets: Vec<Packet>,
}

const HEADER: [u8; 24] =
    [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 127, 0, 0, 0];

/// Opened bodies by number of the packet.
pub type Bodies = BTreeMap<u64, Vec<u8>>;

impl Air {
    /// The capture of a real network, see `tests/data/README.md`.
    pub fn real() -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/wpa2-psk.pcap.gz");
        let mut file = Vec::new();
        GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut file).unwrap();
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!((&file[..4], word(20)), (&HEADER[..4], 127), "pcap, radiotap");
        let (mut at, mut packets) = (24, Vec::new());
        while at < file.len() {
            let length = word(at + 8) as usize;
            packets.push(Packet {
                time: file[at..at + 8].try_into().unwrap(),
                bytes: file[at + 16..at + 16 + length].to_vec(),
                length: word(at + 12),
            });
            at += 16 + length;
        }
        Self { packets }
    }

    /// As a file.
    pub fn to_pcap(&self) -> Vec<u8> {
        let mut file = HEADER.to_vec();
        for packet in &self.packets {
            file.extend(packet.time);
            file.extend((packet.bytes.len() as u32).to_le_bytes());
            file.extend(packet.length.to_le_bytes());
            file.extend(&packet.bytes);
        }
        file
    }

    /// With a snap length.
    pub fn cut(mut self, snap: usize) -> Self {
        self.packets.iter_mut().for_each(|packet| packet.bytes.truncate(snap));
        self
    }

    /// Without the packets of these numbers, from 1. The others get new numbers.
    pub fn without(mut self, numbers: &[u64]) -> Self {
        let mut number = 0;
        self.packets.retain(|_| {
            number += 1;
            !numbers.contains(&number)
        });
        self
    }

    /// Returns the bodies and counts of the crate.
    pub fn open(&self, psks: &[&str]) -> (Bodies, DecryptCounts) {
        let mut capture = Capture::open(Cursor::new(self.to_pcap())).unwrap();
        let mut headers = Headers::default();
        let mut decryption = Decryption::new(credentials(psks));
        let mut bodies = BTreeMap::new();
        while let Some(packet) = capture.next_packet().unwrap() {
            let Ok(Opened::Air { radio, mpdu, offset }) = link::open(&mut headers, &packet) else {
                continue;
            };
            let Ok(view) = View::new(mpdu, radio.layout) else { continue };
            let missing = if radio.layout.fcs { 0 } else { 4 };
            let frame = Frame {
                number: packet.number,
                at_ns: packet.at_ns.unwrap(),
                radio,
                control: view.frame_control(),
                view,
                mpdu_bytes: packet.length - offset as u32 + missing,
                cut: packet.is_cut(),
            };
            if let Ok(Some(body)) = decryption.handle_frame(&frame) {
                bodies.insert(packet.number, body.to_vec());
            }
        }
        (bodies, decryption.counts().clone())
    }

    /// The same by the analysis of whole captures.
    pub fn analyse(&self, psks: &[&str]) -> Analysis {
        let mut capture = Capture::open(Cursor::new(self.to_pcap())).unwrap();
        let mut analysis = Analysis::new(credentials(psks));
        while let Some(packet) = capture.next_packet().unwrap() {
            analysis.handle_packet(&packet);
        }
        analysis.finish();
        analysis
    }

    /// Returns the bodies that tshark opens as CCMP with these keys in its preferences; `None`
    /// without tshark.
    pub fn tshark(&self, keys: &[&str]) -> Option<Bodies> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("lasthop-psk-{}-{number}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::File::create(&path).unwrap().write_all(&self.to_pcap()).unwrap();
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&path).args(["-n", "-P", "-x"]);
        command.args(["-o", "gui.column.format:\"No.\",\"%m\""]);
        command.args(["-o", "wlan.enable_decryption:TRUE"]);
        for key in keys {
            command.args(["-o", &format!("uat:80211_keys:{key}")]);
        }
        let output = command.output();
        std::fs::remove_file(&path).unwrap();
        let Ok(output) = output else {
            eprintln!("comparison with tshark skipped: there is none; apt-get install tshark");
            return None;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(dumps(&text))
    }
}

/// Parses hexadecimal dumps of bodies from the text of `tshark -P -x`.
fn dumps(text: &str) -> Bodies {
    let mut bodies = BTreeMap::new();
    let (mut number, mut is_opened) = (0, false);
    for line in text.lines() {
        if let Some((offset, rest)) = line.split_once("  ")
            && offset.len() == 4
            && !offset.starts_with(' ')
        {
            if is_opened {
                let octets = rest.get(..rest.len().min(47)).unwrap();
                let octets = octets.split_whitespace();
                let octets = octets.map(|octet| u8::from_str_radix(octet, 16).unwrap());
                bodies.entry(number).or_insert_with(Vec::new).extend(octets);
            }
        } else if let Ok(next) = line.trim().parse() {
            (number, is_opened) = (next, false);
        } else if line.ends_with("bytes):") {
            is_opened = line.starts_with("Decrypted CCMP data");
        }
    }
    bodies
}

/// Credentials of texts.
pub fn credentials(psks: &[&str]) -> Credentials {
    let mut credentials = Credentials::default();
    psks.iter().for_each(|psk| credentials.add(psk.as_bytes()).unwrap());
    credentials
}
