//! Captures that are modified before they are read: another clock, packets left out, joined,
//! renumbered, copied. The result is a pcap file with times in ns.

use lasthop_capture::analysis::Analysis;
use lasthop_capture::file::Capture;
use lasthop_capture::join::{self, Join, SegmentWay, Survey};
use std::io::Cursor;

/// A clock that is wrong: by an offset in ns, and how much too fast.
pub type Wrong = (i64, f64);

pub const RIGHT: Wrong = (0, 0.0);
/// Hours behind, and slow; hours ahead, and fast.
pub const SLOW: Wrong = (-2 * 3_600_000_000_000, -50e-6);
pub const FAST: Wrong = (5 * 3_600_000_000_000, 50e-6);
/// All clocks of simulated runs begin at zero; those of captures must not be before 1970.
const EPOCH_NS: i64 = 1_700_000_000_000_000_000;

/// Returns the time of a clock at a time of the run.
pub fn shown(at_ns: u64, (offset_ns, drift): Wrong) -> i64 {
    EPOCH_NS + at_ns as i64 + offset_ns + (at_ns as f64 * drift).round() as i64
}

/// A packet of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    pub at_ns: u64,
    pub link: u16,
    pub bytes: Vec<u8>,
    pub length: u32,
}

/// All packets of a capture.
pub fn packets(file: &[u8]) -> Vec<Packet> {
    let mut capture = Capture::open(Cursor::new(file.to_vec())).expect("it is a capture");
    let mut packets = Vec::new();
    while let Some(packet) = capture.next_packet().expect("it is whole") {
        packets.push(Packet {
            at_ns: packet.at_ns.expect("it has a time"),
            link: packet.link.code(),
            bytes: packet.bytes.to_vec(),
            length: packet.length,
        });
    }
    packets
}

/// Packets as a pcap file, by a clock.
pub fn pcap(packets: &[Packet], clock: Wrong) -> Vec<u8> {
    let mut out = 0xa1b2_3c4du32.to_le_bytes().to_vec();
    out.extend([2, 0, 4, 0]);
    out.extend([0; 8]);
    out.extend(262_144u32.to_le_bytes());
    out.extend(u32::from(packets[0].link).to_le_bytes());
    for packet in packets {
        let at = shown(packet.at_ns, clock) as u64;
        for word in [at / 1_000_000_000, at % 1_000_000_000] {
            out.extend((word as u32).to_le_bytes());
        }
        for length in [packet.bytes.len() as u32, packet.length] {
            out.extend(length.to_le_bytes());
        }
        out.extend(&packet.bytes);
    }
    out
}

/// Packets as a pcapng file with times in ns, whatever these are.
pub fn raw(packets: &[Packet]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len().next_multiple_of(4) + 12) as u32;
        let mut block = [kind.to_le_bytes(), length.to_le_bytes()].concat();
        block.extend(body);
        block.resize(length as usize - 4, 0);
        block.extend(length.to_le_bytes());
        block
    };
    let head = [&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let mut file = block(0x0a0d_0d0a, &head);
    let link = u8::try_from(packets[0].link).expect("it is small");
    file.extend(block(1, &[link, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0]));
    for packet in packets {
        let (at, bytes) = (packet.at_ns, &packet.bytes);
        let words = [0, (at >> 32) as u32, at as u32, bytes.len() as u32, packet.length];
        let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        body.extend(bytes);
        file.extend(block(6, &body));
    }
    file
}

/// Files put together, and the ways of all segments.
pub fn joined(files: &[Vec<u8>]) -> (Join, Vec<SegmentWay>) {
    let surveys = files.iter().map(|file| {
        let mut capture = Capture::open(Cursor::new(file.clone())).expect("it is a capture");
        let (mut analysis, mut survey) = (Analysis::default(), Survey::default());
        analysis.watch();
        while let Some(packet) = capture.next_packet().expect("it is whole") {
            analysis.handle_packet(&packet);
            survey.take(&mut analysis);
        }
        analysis.finish();
        survey.take(&mut analysis);
        survey
    });
    let mut join = Join::new(surveys.collect());
    let mut ways = Vec::new();
    let mut open = |file: usize| -> std::io::Result<join::Source> {
        Ok(Box::new(Cursor::new(files[file].clone())))
    };
    let again = join::read(
        &mut join,
        &mut open,
        &Analysis::default,
        &mut |way| ways.push(way.clone()),
        &|| false,
    );
    again.expect("they can be read again");
    ways.sort_by_key(|way| (way.left_ns.or(way.air_begin_ns), way.back, way.sequence));
    (join, ways)
}

const IP: usize = 14;

/// Puts a packet of Ethernet behind an address translator: `inside` (address and port) becomes
/// `outside`, whether it sends or receives; the time to live is one less. Checksums are left.
pub fn translate(packet: &mut Packet, inside: ([u8; 4], u16), outside: ([u8; 4], u16)) {
    let bytes = &mut packet.bytes;
    for (address, port) in [(IP + 12, IP + 20), (IP + 16, IP + 22)] {
        if bytes[address..address + 4] == inside.0
            && bytes[port..port + 2] == inside.1.to_be_bytes()
        {
            bytes[address..address + 4].copy_from_slice(&outside.0);
            bytes[port..port + 2].copy_from_slice(&outside.1.to_be_bytes());
        }
    }
    bytes[IP + 8] -= 1;
}

/// Returns the packets that a host with segmentation in its card captures, or one that joins
/// segments (GRO): up to `most` consecutive segments of one direction within `within_ns`, with the
/// same timestamps, become one packet at the time of the first (`first`) or the last.
pub fn offloaded(packets: &[Packet], most: usize, within_ns: u64, first: bool) -> Vec<Packet> {
    let mut out: Vec<(Packet, usize, u64)> = Vec::new();
    for packet in packets {
        let is_data = packet.bytes[IP + 9] == 6 && payload(packet) > 0;
        let before = out.iter_mut().rev().take(8).find(|(known, count, at)| {
            let same = |range: std::ops::Range<usize>| {
                known.bytes.get(range.clone()) == packet.bytes.get(range)
            };
            // Addresses and ports, acknowledgement, options with timestamps.
            let same = same(IP + 12..IP + 24) && same(IP + 28..IP + 33) && same(IP + 40..IP + 52);
            let follows = sequence(known).wrapping_add(payload(known)) == sequence(packet);
            is_data && same && follows && *count < most && packet.at_ns - at < within_ns
        });
        match before {
            Some((known, count, _)) => {
                let length = known.length as usize - IP + payload(packet) as usize;
                known.bytes.extend(captured_payload(packet));
                known.length = (length + IP) as u32;
                // What does not fit into 16 bits is 0 (BIG TCP).
                let said = u16::try_from(length).unwrap_or_default();
                known.bytes[IP + 2..IP + 4].copy_from_slice(&said.to_be_bytes());
                known.at_ns = if first { known.at_ns } else { packet.at_ns };
                *count += 1;
            }
            None => out.push((packet.clone(), 1, packet.at_ns)),
        }
    }
    let mut out: Vec<Packet> = out.into_iter().map(|(packet, ..)| packet).collect();
    out.sort_by_key(|packet| packet.at_ns);
    out
}

/// Returns the length of the payload of a segment, including bytes that were not captured.
fn payload(packet: &Packet) -> u32 {
    packet.length - headers_bytes(packet) as u32
}

/// Returns the captured payload of a segment.
fn captured_payload(packet: &Packet) -> &[u8] {
    &packet.bytes[headers_bytes(packet)..]
}

/// Bytes before the payload of a segment.
fn headers_bytes(packet: &Packet) -> usize {
    IP + 20 + usize::from(packet.bytes[IP + 32] >> 4) * 4
}

fn sequence(packet: &Packet) -> u32 {
    let bytes = &packet.bytes[IP + 24..IP + 28];
    u32::from_be_bytes(*bytes.first_chunk().expect("there are four"))
}
