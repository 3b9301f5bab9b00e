//! Segments as Linux sends them, and packets of all kinds, held against what comes back.

use super::*;
use alloc::vec;
use proptest::prelude::*;

/// A segment as Linux sends it, with timestamps; its checksums are right.
fn segment(identification: u16, sequence: u32, timestamp: u32, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, TCP, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
    packet.extend([0x9c, 0x40, 0x14, 0x51]);
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 0x12, 0x34, 0x80, 0x10, 1, 0xf5, 0, 0, 0, 0, 1, 1, 8, 10]);
    packet.extend(timestamp.to_be_bytes());
    packet.extend([0, 0, 0x55, 0x66]);
    packet.extend(data);
    let length = packet.len() as u16;
    put(&mut packet, 2, length);
    put(&mut packet, 4, identification);
    seal(&mut packet);
    packet
}

/// Makes checksums right, as RFC 791 and RFC 9293 say: over the whole with a field of zero.
fn seal(packet: &mut [u8]) {
    put(packet, 10, 0);
    let right = checksum(sum(&packet[..20]));
    put(packet, 10, right);
    put(packet, 36, 0);
    let mut pseudo = packet[12..20].to_vec();
    pseudo.extend([0, TCP]);
    pseudo.extend((packet.len() as u16 - 20).to_be_bytes());
    pseudo.extend(&packet[20..]);
    let right = checksum(sum(&pseudo));
    put(packet, 36, right);
}

fn written(headers: &mut Headers, number: u16, packet: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    headers.shorten(7, number, packet, &mut record);
    record
}

/// RFC 1071's example: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2.
#[test]
fn the_checksum_is_the_internets() {
    assert_eq!(checksum(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), !0xddf2);
}

/// A bulk flow's next segment is expected but for its timestamp.
#[test]
fn a_segment_of_a_bulk_flow_travels_with_five_bytes() {
    let mut headers = Headers::new();
    let data = vec![0x5a; 1_321];
    assert_eq!(written(&mut headers, 1, &segment(9, 1_000, 77, &data)).len(), 1_373);
    let next = segment(10, 2_321, 78, &data);
    let mut record = written(&mut headers, 2, &next);
    drop_length(&mut record, 0);
    assert_eq!(record.len(), 2 + 1 + 1 + 1_321, "{:?}", &record[..20]);
    let same = segment(11, 3_642, 78, &data);
    assert_eq!(written(&mut headers, 3, &same).len(), 4 + 1_321);
}

#[test]
fn one_that_misses_packets_goes_on_at_the_next_whole_one() {
    let (mut here, mut there) = (Headers::new(), Headers::new());
    let mut restored = Vec::new();
    for number in 0..100u16 {
        let packet = segment(number, 1_000 * u32::from(number), 5, &[1; 1_000]);
        let record = written(&mut here, number, &packet);
        // The fortieth is lost.
        if number != 40 && there.restore(7, number, &record) == Some(packet) {
            restored.push(number);
        }
    }
    let expected: Vec<u16> = (0..40).chain(64..100).collect();
    assert_eq!(restored, expected);
}

/// Packets of all kinds, headers right and wrong.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let bytes = proptest::collection::vec(any::<u8>(), 40..200);
    (bytes, 0..6u8, any::<bool>()).prop_map(|(mut packet, kind, is_alike)| {
        if is_alike {
            packet[..40].fill(0);
        }
        let length = packet.len() as u16;
        match kind {
            0..=3 => {
                packet[0] = 0x45 + (kind & 2);
                put(&mut packet, 2, length);
                packet[9] = if kind & 1 == 0 { TCP } else { UDP };
                if is_alike {
                    seal(&mut packet);
                }
            }
            _ => {
                packet[0] = 0x60;
                put(&mut packet, 4, length - 40);
                packet[6] = if kind & 1 == 0 { TCP } else { UDP };
            }
        }
        packet
    })
}

proptest! {
    /// Whatever packets they are, and in whatever order: what is restored is what was
    /// there, and it was never longer.
    #[test]
    fn packets_come_back_as_they_were(packets in proptest::collection::vec(packet(), 1..40)) {
        let (mut here, mut there) = (Headers::new(), Headers::new());
        for (number, packet) in (0..).zip(&packets) {
            let mut record = written(&mut here, number, packet);
            prop_assert!(record.len() <= packet.len());
            if is_short(&record) {
                prop_assert_eq!(short_length(&record), Some(record.len()));
            }
            if number % 2 == 0 {
                drop_length(&mut record, 0);
            }
            prop_assert_eq!(there.restore(7, number, &record), Some(packet.clone()));
        }
    }

    /// Rubbish is refused or becomes some packet, and packets after the next whole one
    /// are as they were.
    #[test]
    fn rubbish_does_no_lasting_harm(
        first in packet(),
        rubbish in proptest::collection::vec(any::<u8>(), 0..120),
        second in packet(),
        third in packet(),
    ) {
        let (mut here, mut there) = (Headers::new(), Headers::new());
        there.restore(7, 0, &written(&mut here, 0, &first));
        if let Some(packet) = there.restore(7, 1, &rubbish) {
            prop_assert!(symbol::is_ip(&packet));
        }
        written(&mut here, WHOLE_EVERY - 1, &first);
        for (number, packet) in (WHOLE_EVERY..).zip([second, third]) {
            let record = written(&mut here, number, &packet);
            prop_assert_eq!(there.restore(7, number, &record), Some(packet));
        }
    }
}
