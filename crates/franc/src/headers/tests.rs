//! Segments as Linux sends them, and packets of all kinds, held against the decompressed ones; and
//! the knowledge that an observer of lengths gains about a flow from segments that a stranger
//! forges.

extern crate std;

use super::*;
use alloc::collections::BTreeSet;
use alloc::vec;
use proptest::prelude::*;

/// A segment as Linux sends it.
#[derive(Clone, Debug)]
struct Segment {
    is_ipv6: bool,
    addresses: [u8; 8],
    ports: [u16; 2],
    /// Identification of IPv4.
    identification: u16,
    /// Flow label of IPv6.
    flow_label: u32,
    hops: u8,
    traffic_class: u8,
    sequence: u32,
    acknowledgement: u32,
    /// Reserved bits, AE and the eight flags.
    flags: u16,
    window: u16,
    timestamps: Option<[u32; 2]>,
    data_bytes: usize,
}

const UDP: u8 = 17;

const BULK: Segment = Segment {
    is_ipv6: false,
    addresses: [10, 9, 0, 1, 10, 9, 0, 2],
    ports: [0x9c40, 0x1451],
    identification: 9,
    flow_label: 0x5_1234,
    hops: 64,
    traffic_class: 0,
    sequence: 1_000,
    acknowledgement: 0x1234_5678,
    flags: 0x10,
    window: 501,
    timestamps: Some([77, 0x5566]),
    data_bytes: 1_321,
};

impl Segment {
    /// The packet; its checksums are right.
    fn packet(&self) -> Vec<u8> {
        let options = if self.timestamps.is_some() { 12 } else { 0 };
        let segment_bytes = (20 + options + self.data_bytes) as u16;
        let mut packet = Vec::new();
        if self.is_ipv6 {
            let class = u32::from(self.traffic_class) << 20;
            packet.extend((6 << 28 | class | self.flow_label).to_be_bytes());
            packet.extend(segment_bytes.to_be_bytes());
            packet.extend([TCP, self.hops]);
            for end in self.addresses.chunks(4) {
                packet.extend([0xfd; 12]);
                packet.extend(end);
            }
        } else {
            packet.extend([0x45, self.traffic_class]);
            packet.extend((20 + segment_bytes).to_be_bytes());
            packet.extend(self.identification.to_be_bytes());
            packet.extend([0x40, 0, self.hops, TCP, 0, 0]);
            packet.extend(self.addresses);
        }
        packet.extend(self.ports.iter().flat_map(|port| port.to_be_bytes()));
        packet.extend(self.sequence.to_be_bytes());
        packet.extend(self.acknowledgement.to_be_bytes());
        packet.extend(((20 + options as u16) << 10 | self.flags).to_be_bytes());
        packet.extend(self.window.to_be_bytes());
        packet.extend([0; 4]);
        if let Some(timestamps) = self.timestamps {
            packet.extend([1, 1, 8, 10]);
            packet.extend(timestamps.iter().flat_map(|stamp| stamp.to_be_bytes()));
        }
        packet.resize(packet.len() + self.data_bytes, 0x5a);
        seal(&mut packet);
        packet
    }

    /// The next one of a bulk flow.
    fn next(&self) -> Self {
        Self {
            identification: self.identification.wrapping_add(1),
            sequence: self.sequence.wrapping_add(self.data_bytes as u32),
            ..self.clone()
        }
    }
}

/// Makes checksums right, as RFC 791, RFC 8200 and RFC 9293 say: over the whole with a field
/// of zero.
fn seal(packet: &mut [u8]) {
    let (addresses, at) = match packet[0] >> 4 {
        4 => (12..20, 20),
        _ => (8..40, 40),
    };
    if at == 20 {
        put(packet, 10, &[0, 0]);
        let right = checksum(sum(&packet[..20]));
        put(packet, 10, &right.to_be_bytes());
    }
    put(packet, at + 16, &[0, 0]);
    let mut pseudo = packet[addresses].to_vec();
    pseudo.extend([0, TCP]);
    pseudo.extend((packet.len() as u16 - at as u16).to_be_bytes());
    pseudo.extend(&packet[at..]);
    let right = checksum(sum(&pseudo));
    put(packet, at + 16, &right.to_be_bytes());
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

/// The length of `packet` outside, behind a flow of which `before` were the last ones.
fn length_behind(before: &[&Segment], packet: &[u8]) -> usize {
    let mut headers = Headers::new();
    for (number, segment) in (1..).zip(before) {
        written(&mut headers, number, &segment.packet());
    }
    written(&mut headers, before.len() as u16 + 1, packet).len()
}

/// Bytes of a segment's headers.
fn header_bytes(segment: &Segment) -> usize {
    let options = if segment.timestamps.is_some() { 12 } else { 0 };
    if segment.is_ipv6 { 60 + options } else { 40 + options }
}

/// Bytes of a short record before its data at most, its length with it: the first word, the
/// length, traffic class, flags and window; and timestamps.
fn short_bytes(segment: &Segment) -> usize {
    if segment.timestamps.is_some() { 16 } else { 8 }
}

fn kinds() -> impl Iterator<Item = Segment> {
    [false, true].into_iter().flat_map(|is_ipv6| {
        [None, BULK.timestamps].map(|timestamps| Segment { is_ipv6, timestamps, ..BULK })
    })
}

/// Traffic class, flags, window and timestamps reveal nothing without the sequence and the
/// acknowledgement number.
#[test]
fn what_may_be_anything_is_left_out_behind_right_numbers_only() {
    for last in kinds() {
        let next = last.next();
        let short = |segment: &Segment| length_behind(&[&last], &segment.packet());
        let check = |segment: Segment| {
            let bytes = short(&segment) - last.data_bytes;
            assert!((4..=short_bytes(&last)).contains(&bytes), "{bytes}: {segment:?}");
            for (sequence, acknowledgement) in [(1, 0), (0, 1), (1 << 31, 1 << 31)] {
                let guess = Segment {
                    sequence: segment.sequence ^ sequence,
                    acknowledgement: segment.acknowledgement ^ acknowledgement,
                    ..segment.clone()
                };
                assert_eq!(short(&guess), guess.packet().len());
            }
        };
        check(next.clone());
        for bit in 0..16 {
            let (one, byte) = (1u16 << bit, 1u8 << (bit & 7));
            check(Segment { traffic_class: byte, ..next.clone() });
            // The data offset is not among them.
            let flags = if bit < 12 { one } else { 0x10 };
            check(Segment { flags, ..next.clone() });
            check(Segment { window: one, ..next.clone() });
            let timestamps = last
                .timestamps
                .map(|[value, echo]| [value ^ 1 << bit, echo ^ u32::from(one) << 16]);
            check(Segment { timestamps, ..next.clone() });
        }
    }
}

/// The attack: a stranger has segments of equal length forged into the tunnel, and looks
/// whether one gets shorter outside by each byte that it guessed right.
#[test]
fn a_guess_that_is_partly_right_is_as_long_as_one_that_is_wrong() {
    for last in kinds() {
        let truth = last.next();
        let mut lengths = BTreeSet::new();
        for wrong in 1..1u32 << 14 {
            let flip = |first: u32, count: u32| {
                (0..count)
                    .fold(0u32, |flips, byte| flips | (wrong >> (first + byte) & 1) << (8 * byte))
            };
            let mut guess = truth.clone();
            guess.sequence ^= flip(0, 4);
            guess.acknowledgement ^= flip(4, 4);
            guess.ports[0] ^= flip(8, 2) as u16;
            guess.ports[1] ^= flip(10, 1) as u16;
            guess.addresses[7] ^= flip(11, 1) as u8 * 3;
            guess.hops ^= flip(12, 1) as u8;
            match last.is_ipv6 {
                true => guess.flow_label ^= flip(13, 1),
                // Neither the next one nor the same.
                false => guess.identification ^= flip(13, 1) as u16 * 0x1100,
            }
            lengths.insert(length_behind(&[&last], &guess.packet()));
        }
        let whole = truth.packet().len();
        assert_eq!(
            lengths,
            BTreeSet::from([whole]),
            "{} outside if all is right",
            length_behind(&[&last], &truth.packet())
        );
    }
}

/// As in the finding: bytes of the sequence number one after another.
#[test]
fn bytes_of_a_sequence_number_cannot_be_searched_one_by_one() {
    let last = Segment { data_bytes: 0, ..BULK };
    let guesses = [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff].map(|wrong| {
        let mut guess = last.next();
        guess.sequence ^= wrong;
        length_behind(&[&last], &guess.packet())
    });
    assert_eq!(guesses, [4, 52, 52, 52, 52]);
}

/// Errors in the fields of a flow that an attacker has to guess.
fn wrong_guess() -> impl Strategy<Value = (u32, u32, [u16; 2])> {
    // Single bits and bytes as well as all.
    let word = || prop_oneof![Just(0u32), (0..32u32).prop_map(|bit| 1 << bit), any::<u32>()];
    let port = || prop_oneof![3 => Just(0u16), 1 => any::<u16>()];
    (word(), word(), [port(), port()])
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let fields = (any::<[u32; 2]>(), any::<[u16; 3]>(), any::<u16>(), any::<u8>());
    let stamps = prop::option::of(any::<[u32; 2]>());
    (fields, stamps, any::<bool>(), 0..1_000usize).prop_map(
        |((numbers, words, window, traffic_class), timestamps, is_ipv6, data_bytes)| Segment {
            is_ipv6,
            timestamps,
            data_bytes,
            window,
            traffic_class,
            flags: words[2] & 0xfff,
            ports: [words[0], words[1]],
            identification: words[0] ^ words[1],
            sequence: numbers[0],
            acknowledgement: numbers[1],
            ..BULK
        },
    )
}

proptest! {
    /// Whatever the flow: all wrong guesses of one length have one length outside. And the
    /// same in reverse: a forged segment is the last one of its bucket, and the flow's own
    /// next is compared with it.
    #[test]
    fn wrong_guesses_cannot_be_told_apart(
        last in any_segment(),
        guesses in prop::collection::vec(wrong_guess(), 1..20),
    ) {
        let truth = last.next();
        let whole = truth.packet().len();
        for (sequence, acknowledgement, ports) in guesses {
            if (sequence, acknowledgement, ports) == (0, 0, [0, 0]) {
                continue;
            }
            let disguise = |segment: &Segment| Segment {
                sequence: segment.sequence ^ sequence,
                acknowledgement: segment.acknowledgement ^ acknowledgement,
                ports: [segment.ports[0] ^ ports[0], segment.ports[1] ^ ports[1]],
                ..segment.clone()
            };
            prop_assert_eq!(length_behind(&[&last], &disguise(&truth).packet()), whole);
            prop_assert_eq!(length_behind(&[&disguise(&last)], &truth.packet()), whole);
        }
    }

    /// Nor does it show later what a forged segment said: the step of the flow's own next
    /// ones is not counted from it, unless the sequence number was right too.
    #[test]
    fn a_wrong_guess_leaves_no_trace(
        first in any_segment(),
        step in 1..1u32 << 20,
        wrong in 1..=u32::MAX,
        other in any::<u32>(),
        is_answer in any::<bool>(),
    ) {
        let first = if is_answer { Segment { data_bytes: 0, ..first } } else { first };
        let mut flow = vec![first];
        for at in 0..6 {
            let next = flow[at].next();
            flow.push(Segment { acknowledgement: next.acknowledgement.wrapping_add(step), ..next });
        }
        // It comes between two of the flow.
        let trace = |sequence: u32, acknowledgement: u32| {
            let mut forged = flow[2].clone();
            forged.sequence ^= sequence;
            forged.acknowledgement = acknowledgement;
            let mut headers = Headers::new();
            let all = flow[..3].iter().chain([&forged]).chain(&flow[3..]);
            let lengths = (1..).zip(all).map(|(at, one)| written(&mut headers, at, &one.packet()).len());
            lengths.collect::<Vec<_>>()
        };
        let nothing = trace(0x8000_0000, 0);
        for after in [0, 1, 2, 3] {
            let next = flow[3].acknowledgement.wrapping_sub(step.wrapping_mul(after));
            prop_assert_eq!(&trace(wrong, next), &nothing);
            prop_assert_eq!(&trace(wrong, flow[3].acknowledgement.wrapping_sub(step / 2)), &nothing);
        }
        prop_assert_eq!(&trace(wrong, other), &nothing);
    }

    /// Few acknowledgement numbers are expected, whatever the flow's last ones were.
    #[test]
    fn few_acknowledgements_are_expected(
        last in any_segment(),
        step in any::<u32>(),
        guesses in prop::collection::vec(any::<u32>(), 1..20),
    ) {
        let truth = last.next();
        let before = Segment {
            sequence: last.sequence.wrapping_sub(last.data_bytes as u32),
            acknowledgement: last.acknowledgement.wrapping_sub(step),
            identification: last.identification.wrapping_sub(1),
            ..last.clone()
        };
        let expected = [0, step, step.wrapping_mul(2), step / 2];
        for guess in guesses.into_iter().chain(expected) {
            let acknowledgement = truth.acknowledgement.wrapping_add(guess);
            let packet = Segment { acknowledgement, ..truth.clone() }.packet();
            let length = length_behind(&[&before, &last], &packet);
            let is_short = length <= short_bytes(&last) + last.data_bytes;
            prop_assert_eq!(is_short, expected.contains(&guess));
            prop_assert!(is_short || length == packet.len());
        }
    }
}

/// Average bytes of headers that travel, for a flow whose packets are alone in a symbol.
fn average_bytes(flow: impl Iterator<Item = Segment>) -> f64 {
    let (mut here, mut there) = (Headers::new(), Headers::new());
    let (mut bytes, mut count) = (0, 0);
    for (number, segment) in (0..).zip(flow) {
        let packet = segment.packet();
        let mut record = written(&mut here, number, &packet);
        drop_length(&mut record, 0);
        assert_eq!(there.restore(7, number, &record), Some(packet));
        bytes += record.len() - segment.data_bytes;
        count += 1;
    }
    bytes as f64 / f64::from(count)
}

/// A bulk transfer: segments of equal length, one identification after another, the
/// timestamp moves on each millisecond; and its acknowledgements, one for two segments.
#[test]
fn headers_of_bulk_flows_are_left_out() {
    for first in kinds() {
        let stamp = |number: u32| first.timestamps.map(|_| [77 + number / 2, 99 + number / 3]);
        let segments = (0..3_200u32).scan(first.clone(), |last, number| {
            let segment = Segment { timestamps: stamp(number), ..last.clone() };
            *last = segment.next();
            Some(segment)
        });
        let bulk = average_bytes(segments);
        let answers = (0..3_200u32).map(|number| Segment {
            data_bytes: 0,
            identification: number as u16,
            acknowledgement: first.acknowledgement.wrapping_add(number * 2_642),
            window: 501 + (number % 7) as u16,
            timestamps: stamp(number),
            ..first.clone()
        });
        let answers = average_bytes(answers);
        let (whole, short) = (header_bytes(&first) as f64, short_bytes(&first) as f64 - 2.0);
        std::println!("of {whole} bytes: segments {bulk:.2}, answers {answers:.2}");
        // One of 32 is whole; and of answers the one behind it, which shows the step.
        let every = f64::from(WHOLE_EVERY);
        assert!(bulk <= (whole + (every - 1.0) * short) / every, "{bulk}");
        assert!(answers <= (2.0 * whole + (every - 2.0) * short) / every, "{answers}");
        // Of such a flow only the last bytes of timestamps and windows change.
        assert!(bulk <= (whole + (every - 1.0) * 4.5) / every, "{bulk}");
        assert!(answers <= (2.0 * whole + (every - 2.0) * 6.5) / every, "{answers}");
    }
}

#[test]
fn one_that_misses_packets_goes_on_at_the_next_whole_one() {
    let (mut here, mut there) = (Headers::new(), Headers::new());
    let mut restored = Vec::new();
    let mut segment = BULK;
    for number in 0..100u16 {
        // Answers move on, so that the step is known at the one end and not at the other.
        segment.acknowledgement = segment.acknowledgement.wrapping_add(500);
        let packet = segment.packet();
        let record = written(&mut here, number, &packet);
        // The fortieth is lost.
        if number != 40 && there.restore(7, number, &record) == Some(packet) {
            restored.push(number);
        }
        segment = segment.next();
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
                put(&mut packet, 2, &length.to_be_bytes());
                packet[9] = if kind & 1 == 0 { TCP } else { UDP };
                if is_alike {
                    seal(&mut packet);
                }
            }
            _ => {
                packet[0] = 0x60;
                put(&mut packet, 4, &(length - 40).to_be_bytes());
                packet[6] = if kind & 1 == 0 { TCP } else { UDP };
            }
        }
        packet
    })
}

proptest! {
    /// Packets of any kind in any order are restored unchanged, and never grow.
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

    /// If packets are missing, those behind them are restored unchanged or not at all. A step that
    /// only one end knows produces no packet that was not sent.
    #[test]
    fn what_follows_a_gap_is_right_or_refused(
        steps in prop::collection::vec((0..4u32, prop::bool::weighted(0.1)), 100),
    ) {
        let (mut here, mut there) = (Headers::new(), Headers::new());
        let mut segment = BULK;
        let mut is_whole_again = true;
        for (number, (step, is_lost)) in (0..).zip(steps) {
            let packet = segment.packet();
            let record = written(&mut here, number, &packet);
            is_whole_again |= number % WHOLE_EVERY == 0;
            if is_lost {
                is_whole_again = false;
            } else {
                match there.restore(7, number, &record) {
                    Some(restored) => prop_assert_eq!(restored, packet),
                    None => prop_assert!(!is_whole_again),
                }
            }
            segment = segment.next();
            segment.acknowledgement = segment.acknowledgement.wrapping_add(step * 500);
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
            prop_assert!(is_ip(&packet));
        }
        written(&mut here, WHOLE_EVERY - 1, &first);
        for (number, packet) in (WHOLE_EVERY..).zip([second, third]) {
            let record = written(&mut here, number, &packet);
            prop_assert_eq!(there.restore(7, number, &record), Some(packet));
        }
    }
}
