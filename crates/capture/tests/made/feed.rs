//! Frames as bytes, and an analysis that is fed with them.

use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file::Packet;
use lasthop_capture::finding::{Finding, Kind};
use lasthop_capture::link::LinkType;
use lasthop_wifi_wire::fcs;

pub const AP: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub const GROUP: [u8; 6] = [0xff; 6];
pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
pub const BEGIN: u64 = 1_700_000_000 * SECOND;

/// Feeds packets of one link type.
pub struct Feed {
    pub analysis: Analysis,
    link: LinkType,
    number: u64,
}

impl Feed {
    pub fn new(link: LinkType) -> Self {
        Self { analysis: Analysis::default(), link, number: 0 }
    }

    pub fn packet(&mut self, at_ns: u64, bytes: &[u8]) {
        self.number += 1;
        self.analysis.handle_packet(&Packet {
            number: self.number,
            offset: 0,
            interface: 0,
            link: self.link,
            at_ns: Some(BEGIN + at_ns),
            bytes,
            length: bytes.len() as u32,
            fcs_bytes: None,
        });
    }

    pub fn document(mut self) -> CaptureDocument {
        self.analysis.finish();
        CaptureDocument::new("-", &self.analysis)
    }
}

/// Findings of a kind.
pub fn of_kind(document: &CaptureDocument, kind: Kind) -> Vec<&Finding> {
    document.findings.iter().filter(|finding| finding.kind == kind).collect()
}

/// Returns a data or management frame from its first two bytes, addresses, number, and the bytes
/// behind the header.
pub fn frame(control: [u8; 2], to: [u8; 6], from: [u8; 6], number: u16, body: &[u8]) -> Vec<u8> {
    let bssid = if control[1] & 3 == 1 { to } else { from };
    let bssid = if control[0] & 0x0c == 0 { AP } else { bssid };
    let mut frame = control.to_vec();
    frame.extend([0, 0]);
    frame.extend([to, from, bssid].concat());
    frame.extend((number << 4).to_le_bytes());
    frame.extend(body);
    frame
}

/// A beacon of the access point with a name.
pub fn beacon(number: u16, at_us: u64, ssid: &[u8]) -> Vec<u8> {
    let mut body = at_us.to_le_bytes().to_vec();
    body.extend([100, 0, 1, 0, 0, ssid.len() as u8]);
    body.extend(ssid);
    frame([0x80, 0], GROUP, AP, number, &body)
}

/// Radiotap with flags (0x10: the FCS is at the end) and, if asked for, a channel in front.
pub fn radiotap(flags: u8, mhz: Option<u16>, frame: &[u8]) -> Vec<u8> {
    let mut bytes = match mhz {
        None => vec![0, 0, 9, 0, 2, 0, 0, 0, flags],
        Some(mhz) => {
            let [a, b] = mhz.to_le_bytes();
            vec![0, 0, 14, 0, 0x0a, 0, 0, 0, flags, 0, a, b, 0, 0]
        }
    };
    bytes.extend(frame);
    bytes
}

/// With its check sequence.
pub fn checked(mut frame: Vec<u8>) -> Vec<u8> {
    frame.extend(fcs::compute(&frame).to_le_bytes());
    frame
}
