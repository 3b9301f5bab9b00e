//! Segmentation and coalescing against each other, against checksums as RFC 1071 writes them
//! down, and one by one for everything that must not be coalesced.

use super::*;
use proptest::prelude::*;

/// RFC 1071, section 4.1, word by word.
fn naive_sum(bytes: &[u8], mut sum: u32) -> u32 {
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Whether all checksums of a packet without options of IP are right.
fn is_right(packet: &[u8]) -> bool {
    let (ip, addresses, protocol) = match packet[0] >> 4 {
        4 => (20, 12..20, packet[9]),
        _ => (40, 8..40, packet[6]),
    };
    let is_ip_right = ip == 40 || naive_sum(&packet[..20], 0) == 0xffff;
    let length = (packet.len() - ip) as u32;
    let pseudo = naive_sum(&packet[addresses], u32::from(protocol) + length);
    is_ip_right && naive_sum(&packet[ip..], pseudo) == 0xffff
}

/// A packet as it is sent.
#[derive(Clone, Debug)]
struct Sample {
    is_ipv4: bool,
    is_tcp: bool,
    identification: u16,
    sequence: u32,
    flags: u8,
    options: Vec<u8>,
    data: Vec<u8>,
    port: u16,
}

impl Sample {
    fn ip_bytes(&self) -> usize {
        if self.is_ipv4 { 20 } else { 40 }
    }

    /// The packet without its checksums.
    fn unsummed(&self) -> Vec<u8> {
        let transport = if self.is_tcp { 20 + self.options.len() } else { 8 };
        let length = transport + self.data.len();
        let protocol = if self.is_tcp { 6 } else { 17 };
        let mut packet = Vec::new();
        if self.is_ipv4 {
            packet.extend([0x45, 0x02]);
            packet.extend(((20 + length) as u16).to_be_bytes());
            packet.extend(self.identification.to_be_bytes());
            packet.extend([0x40, 0, 63, protocol, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
        } else {
            packet.extend([0x60, 0x2a, 0xbc, 0xde]);
            packet.extend((length as u16).to_be_bytes());
            packet.extend([protocol, 63]);
            packet.extend([0xfd; 16]);
            packet.extend([0xfe; 16]);
        }
        packet.extend(self.port.to_be_bytes());
        packet.extend([0x14, 0x51]);
        if self.is_tcp {
            packet.extend(self.sequence.to_be_bytes());
            packet.extend([
                1,
                2,
                3,
                4,
                (transport as u8 / 4) << 4,
                self.flags,
                0x20,
                0,
                0,
                0,
                0,
                0,
            ]);
            packet.extend(&self.options);
        } else {
            packet.extend((length as u16).to_be_bytes());
            packet.extend([0, 0]);
        }
        packet.extend(&self.data);
        packet
    }

    /// The packet in one piece.
    fn whole(&self) -> Vec<u8> {
        let mut packet = self.unsummed();
        finish(&mut packet);
        packet
    }

    /// The bytes that a TUN device gives for it in segments of `segment_bytes`.
    fn read(&self, segment_bytes: u16) -> Vec<u8> {
        let mut packet = self.unsummed();
        let ip = self.ip_bytes();
        if self.is_ipv4 {
            let sum = !naive_sum(&packet[..20], 0) as u16;
            put(&mut packet, 10, &sum.to_be_bytes());
        }
        let length = (packet.len() - ip) as u32;
        let (addresses, protocol) = if self.is_ipv4 { (12..20, 9) } else { (8..40, 6) };
        let sum = naive_sum(&packet[addresses], u32::from(packet[protocol]) + length) as u16;
        let offset = if self.is_tcp { 16 } else { 6 };
        put(&mut packet, ip + offset, &sum.to_be_bytes());
        let header = OffloadHeader {
            flags: 1,
            kind: match (self.is_tcp, self.is_ipv4) {
                (true, true) => 1,
                (true, false) => 4,
                (false, _) => 5,
            },
            header_bytes: (packet.len() - self.data.len()) as u16,
            segment_bytes,
            checksum_start: ip as u16,
            checksum_offset: offset as u16,
        };
        [&header.emit()[..], &packet].concat()
    }
}

/// Writes the checksums of a packet.
fn finish(packet: &mut [u8]) {
    let is_ipv4 = packet[0] >> 4 == 4;
    let (ip, addresses, protocol) = if is_ipv4 {
        (usize::from(packet[0] & 15) * 4, 12..20, packet[9])
    } else {
        (40, 8..40, packet[6])
    };
    if is_ipv4 {
        put(packet, 10, &[0, 0]);
        let sum = !naive_sum(&packet[..ip], 0) as u16;
        put(packet, 10, &sum.to_be_bytes());
    }
    let at = ip + if protocol == 6 { 16 } else { 6 };
    put(packet, at, &[0, 0]);
    let pseudo = naive_sum(&packet[addresses], u32::from(protocol) + (packet.len() - ip) as u32);
    let sum = !naive_sum(&packet[ip..], pseudo) as u16;
    let sum = if sum == 0 && protocol == 17 { 0xffff } else { sum };
    put(packet, at, &sum.to_be_bytes());
}

fn segmented(read: &[u8]) -> Vec<Vec<u8>> {
    let (mut read, mut scratch, mut packets) = (read.to_vec(), Vec::new(), Vec::new());
    let count = segment(&mut read, &mut scratch, &mut |packet| packets.push(packet.to_vec()));
    assert_eq!(count, Ok(packets.len()));
    packets
}

const ALL: Kinds = Kinds { tcp: true, udp: true };

fn coalesced(kinds: Kinds, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mut coalescer, mut written) = (Coalescer::new(kinds), Vec::new());
    let mut counted = 0;
    let mut write = |packet: &[u8], segments: usize| {
        counted += segments;
        written.push(packet.to_vec());
    };
    packets.iter().for_each(|packet| coalescer.push(packet, &mut write));
    coalescer.flush(&mut write);
    assert_eq!(counted, packets.len());
    written
}

fn samples() -> impl Strategy<Value = Sample> {
    let flags = prop_oneof![4 => Just(0x10u8), 1 => Just(0x18)];
    let options = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 8).prop_map(|times| [vec![1, 1, 8, 10], times].concat()),
    ];
    (
        (any::<bool>(), any::<bool>(), any::<u16>(), any::<u32>()),
        (flags, options, prop::collection::vec(any::<u8>(), 1..9_000), 0..3u16),
    )
        .prop_map(
            |((is_ipv4, is_tcp, identification, sequence), (flags, options, data, port))| Sample {
                is_ipv4,
                is_tcp,
                identification,
                sequence,
                flags,
                options,
                data,
                port,
            },
        )
}

proptest! {
    /// Segments have right checksums and all of the data, and coalesce to the same bytes.
    #[test]
    fn what_is_segmented_coalesces_again(sample in samples(), segment_bytes in 1..1_500u16) {
        let read = sample.read(segment_bytes);
        let packets = segmented(&read);
        let headers = packets[0].len() - sample.data.len().min(segment_bytes.into());
        let data: Vec<u8> = packets.iter().flat_map(|packet| packet[headers..].to_vec()).collect();
        prop_assert_eq!(&data, &sample.data);
        for packet in &packets {
            prop_assert!(is_right(packet));
            prop_assert!(packet.len() <= headers + usize::from(segment_bytes));
        }
        let written = coalesced(ALL, &packets);
        if packets.len() > 1 {
            prop_assert_eq!(written, vec![read]);
        } else {
            prop_assert_eq!(&written[0][HEADER_BYTES..], &sample.whole()[..]);
        }
    }

    /// Any packets in any order: behind the coalescer and a segmentation, each flow has the same
    /// bytes in the same order.
    #[test]
    fn what_is_coalesced_is_the_same_when_segmented(
        base in samples(),
        steps in prop::collection::vec((0..12u8, 0..4u16, 1..3usize), 1..200),
    ) {
        let mut flows = [base.clone(), base.clone(), base.clone(), base];
        let packets: Vec<Vec<u8>> = steps.iter().map(|&(what, port, units)| {
            let flow = &mut flows[usize::from(port)];
            flow.port = port;
            flow.data = (0..units * 500).map(|at| (at + usize::from(what)) as u8).collect();
            flow.flags = if what == 0 { 0x18 } else if what == 1 { 0x11 } else { 0x10 };
            if what == 2 {
                flow.sequence = flow.sequence.wrapping_add(77);
            }
            if what == 3 {
                flow.identification = flow.identification.wrapping_sub(1);
            }
            let mut packet = flow.whole();
            if what == 4 {
                *packet.last_mut().unwrap() ^= 1;
            }
            if what == 5 {
                packet[1] ^= 1;
                finish(&mut packet);
            }
            flow.sequence = flow.sequence.wrapping_add(flow.data.len() as u32);
            flow.identification = flow.identification.wrapping_add(1);
            packet
        }).collect();
        let out: Vec<Vec<u8>> =
            coalesced(ALL, &packets).iter().flat_map(|written| segmented(written)).collect();
        prop_assert_eq!(out.len(), packets.len());
        for port in 0..4u16 {
            let at = if packets[0][0] >> 4 == 4 { 20 } else { 40 };
            let of_flow = |packets: &[Vec<u8>]| -> Vec<Vec<u8>> {
                packets.iter().filter(|packet| word(packet, at) == port).cloned().collect()
            };
            prop_assert_eq!(of_flow(&out), of_flow(&packets));
        }
    }

    /// Any bytes are refused, or produce packets.
    #[test]
    fn any_bytes_are_taken(mut bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0..6u8) {
        if bytes.len() > 11 {
            (bytes[0], bytes[1]) = (bytes[0] & 1, kind);
            (bytes[2], bytes[3]) = (0, 0);
            (bytes[5], bytes[7], bytes[9]) = (0, 0, 0);
        }
        let _ = segment(&mut bytes.clone(), &mut Vec::new(), &mut |_| {});
        let mut coalescer = Coalescer::new(ALL);
        coalescer.push(&bytes, &mut |_, _| {});
        coalescer.push(&bytes, &mut |_, _| {});
        coalescer.flush(&mut |_, _| {});
    }
}

fn sample(is_ipv4: bool, is_tcp: bool) -> Sample {
    let options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let data = vec![7; 1_000];
    Sample {
        is_ipv4,
        is_tcp,
        identification: 0xffff,
        sequence: 0xffff_ff00,
        flags: 0x10,
        options,
        data,
        port: 9,
    }
}

/// The sample and its next segment.
fn two(is_ipv4: bool, is_tcp: bool) -> [Vec<u8>; 2] {
    let first = sample(is_ipv4, is_tcp);
    let sequence = first.sequence.wrapping_add(1_000);
    let next = Sample { identification: 0, sequence, ..first.clone() };
    [first.whole(), next.whole()]
}

/// A change of the second packet that keeps it from joining the first one.
type Change = (&'static str, fn(&mut Vec<u8>));

const OF_IPV4: [Change; 8] = [
    ("congestion experienced", |packet| packet[1] |= 1),
    ("another TTL", |packet| packet[8] -= 1),
    ("may be fragmented", |packet| packet[6] = 0),
    ("a first fragment", |packet| packet[6] |= 0x20),
    ("another fragment", |packet| packet[7] = 1),
    ("another identification", |packet| packet[5] ^= 4),
    ("another source", |packet| packet[15] ^= 8),
    ("an option of IP", |packet| {
        packet[0] = 0x46;
        packet.splice(20..20, [1, 1, 1, 0]);
        let length = packet.len() as u16;
        put(packet, 2, &length.to_be_bytes());
    }),
];

const OF_IPV6: [Change; 4] = [
    ("congestion experienced", |packet| packet[1] ^= 0x10),
    ("another flow label", |packet| packet[3] ^= 1),
    ("another hop limit", |packet| packet[7] -= 1),
    ("another source", |packet| packet[9] ^= 8),
];

/// A change of a TCP header: its argument begins there.
type ChangeOfTcp = (&'static str, fn(&mut [u8]));

const OF_TCP: [ChangeOfTcp; 12] = [
    ("FIN", |tcp| tcp[13] |= 0x01),
    ("SYN", |tcp| tcp[13] |= 0x02),
    ("RST", |tcp| tcp[13] |= 0x04),
    ("URG", |tcp| tcp[13] |= 0x20),
    ("ECE", |tcp| tcp[13] |= 0x40),
    ("CWR", |tcp| tcp[13] |= 0x80),
    ("an urgent pointer", |tcp| tcp[19] = 1),
    ("another acknowledgement", |tcp| tcp[11] ^= 1),
    ("another window", |tcp| tcp[15] ^= 1),
    ("another timestamp", |tcp| tcp[27] ^= 1),
    ("a gap", |tcp| tcp[7] ^= 1),
    ("another port", |tcp| tcp[1] ^= 1),
];

#[test]
fn what_differs_is_not_coalesced() {
    let together = |packets: &[Vec<u8>]| coalesced(ALL, packets).len() == 1;
    for (is_ipv4, is_tcp) in [(true, true), (true, false), (false, true), (false, false)] {
        let both = two(is_ipv4, is_tcp);
        assert!(together(&both));
        let mut changes: Vec<Change> = if is_ipv4 { OF_IPV4.to_vec() } else { OF_IPV6.to_vec() };
        changes.push(("a port of its own", |packet| {
            let at = if packet[0] >> 4 == 4 { 23 } else { 43 };
            packet[at] ^= 1;
        }));
        for (what, change) in changes {
            let [first, mut second] = both.clone();
            change(&mut second);
            finish(&mut second);
            assert_eq!(coalesced(ALL, &[first.clone(), second.clone()]).len(), 2, "{what}");
            assert_eq!(coalesced(ALL, &[second, first]).len(), 2, "{what}, before");
        }
        for at in 0..2 {
            let mut packets = both.clone();
            *packets[at].last_mut().unwrap() ^= 1;
            assert!(!together(&packets), "a wrong checksum at {at}");
        }
        let [first, mut second] = both.clone();
        second.push(0);
        let at = if is_ipv4 { 2 } else { 4 };
        let length = word(&second, at) + 1;
        put(&mut second, at, &length.to_be_bytes());
        if !is_tcp {
            let ip = if is_ipv4 { 20 } else { 40 };
            let length = word(&second, ip + 4) + 1;
            put(&mut second, ip + 4, &length.to_be_bytes());
        }
        finish(&mut second);
        assert!(!together(&[first, second]), "a longer one");
    }
    for is_ipv4 in [true, false] {
        let tcp = if is_ipv4 { 20 } else { 40 };
        for (what, change) in OF_TCP {
            let [first, mut second] = two(is_ipv4, true);
            change(&mut second[tcp..]);
            finish(&mut second);
            assert!(!together(&[first, second]), "{what}");
        }
        let [mut first, second] = two(is_ipv4, true);
        first[tcp + 13] |= 0x08;
        finish(&mut first);
        assert!(!together(&[first, second]), "PSH in the first");
        // Without a checksum there is nothing that the kernel could complete.
        let [first, mut second] = two(is_ipv4, false);
        put(&mut second, tcp + 6, &[0, 0]);
        assert!(!together(&[first, second]), "no checksum");
    }
}

#[test]
fn a_kind_that_the_kernel_does_not_take_goes_alone() {
    for is_tcp in [true, false] {
        let both = two(true, is_tcp);
        let kinds = Kinds { tcp: !is_tcp, udp: is_tcp };
        let written = coalesced(kinds, &both);
        let alone = both.map(|packet| [&[0; HEADER_BYTES][..], &packet].concat());
        assert_eq!(written, alone);
    }
}

/// A pure acknowledgement or a fragment does not overtake the segments before it.
#[test]
fn what_cannot_be_coalesced_stays_behind() {
    let [first, second] = two(true, true);
    let mut fragment = second.clone();
    fragment[6] |= 0x20;
    finish(&mut fragment);
    let written = coalesced(ALL, &[first.clone(), fragment.clone(), second.clone()]);
    let packets: Vec<&[u8]> = written.iter().map(|written| &written[HEADER_BYTES..]).collect();
    assert_eq!(packets, [&first[..], &fragment, &second]);
}

#[test]
fn the_first_segment_has_cwr_and_the_last_fin_and_psh() {
    let mut sample = sample(true, true);
    (sample.flags, sample.data) = (0x99, vec![1; 2_500]);
    let mut read = sample.read(1_000);
    read[1] |= 0x80;
    let flags: Vec<u8> = segmented(&read).iter().map(|packet| packet[33]).collect();
    assert_eq!(flags, [0x90, 0x10, 0x19]);
}

/// A checksum of UDP that comes out as 0 is written as ones (RFC 768).
#[test]
fn no_checksum_of_udp_is_zero() {
    let mut sample = sample(true, false);
    sample.data = vec![0; 2];
    let odd = sample.whole();
    // What is missing to a sum of ones.
    sample.data = word(&odd, 26).to_be_bytes().to_vec();
    let mut read = sample.read(1);
    read[..HEADER_BYTES].copy_from_slice(
        &OffloadHeader {
            flags: 1,
            checksum_start: 20,
            checksum_offset: 6,
            ..OffloadHeader::default()
        }
        .emit(),
    );
    let packets = segmented(&read);
    assert_eq!(word(&packets[0], 26), 0xffff);
    assert!(is_right(&packets[0]));
}

#[test]
fn what_a_device_does_not_give_is_refused() {
    let read = sample(true, true).read(500);
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut read = read.clone();
        change(&mut read);
        segment(&mut read, &mut Vec::new(), &mut |_| panic!("nothing is taken")).unwrap_err()
    };
    assert_eq!(refused(&|read| read.truncate(9)), OffloadError::Short { bytes: 9, needed: 10 });
    assert_eq!(refused(&|read| read.truncate(40)), OffloadError::Short { bytes: 30, needed: 40 });
    assert_eq!(refused(&|read| read[1] = 3), OffloadError::Kind(3));
    assert_eq!(refused(&|read| read[1] = 4), OffloadError::Mismatch);
    assert_eq!(refused(&|read| read[0] = 0), OffloadError::Mismatch);
    assert_eq!(refused(&|read| put(read, 4, &[0, 0])), OffloadError::Empty);
    assert_eq!(refused(&|read| read[HEADER_BYTES + 32] = 0x40), OffloadError::Mismatch);
}
