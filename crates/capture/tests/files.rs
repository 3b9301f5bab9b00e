//! Capture files of every format, written here from the drafts of the formats: both byte orders,
//! both units of time, all packet blocks, compressed or not. A file that is cut at any byte
//! delivers all earlier packets and an error; other files are rejected.

use lasthop_capture::analysis::Analysis;
use lasthop_capture::file::{Capture, ReadError, Reason};
use lasthop_capture::link::LinkType;
use proptest::prelude::*;
use std::io::{Cursor, Write};

/// Properties of a packet that are compared.
type Read = (u64, LinkType, Option<u64>, Vec<u8>, u32);

/// All packets, and the error that ended the file.
fn read(file: &[u8]) -> (Vec<Read>, Option<ReadError>) {
    let mut packets = Vec::new();
    let mut capture = match Capture::open(Cursor::new(file.to_vec())) {
        Ok(capture) => capture,
        Err(error) => return (packets, Some(error)),
    };
    loop {
        match capture.next_packet() {
            Ok(Some(packet)) => packets.push((
                packet.number,
                packet.link,
                packet.at_ns,
                packet.bytes.to_vec(),
                packet.length,
            )),
            Ok(None) => return (packets, None),
            Err(error) => {
                assert!(matches!(capture.next_packet(), Ok(None)), "it has ended");
                return (packets, Some(error));
            }
        }
    }
}

/// Writes numbers in one byte order.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

impl Order {
    fn u16(self, number: u16) -> [u8; 2] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn u32(self, number: u32) -> [u8; 4] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn pcap(self, magic: u32, link: u32, packets: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
        let mut file = Vec::new();
        file.extend(self.u32(magic));
        file.extend(self.u16(2));
        file.extend(self.u16(4));
        for number in [0, 0, 65_535, link] {
            file.extend(self.u32(number));
        }
        for (seconds, fraction, bytes, length) in packets {
            for number in [*seconds, *fraction, bytes.len() as u32, *length] {
                file.extend(self.u32(number));
            }
            file.extend(*bytes);
        }
        file
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let length = (body.len().next_multiple_of(4) + 12) as u32;
        let mut block = self.u32(kind).to_vec();
        block.extend(self.u32(length));
        block.extend(body);
        block.resize(length as usize - 4, 0);
        block.extend(self.u32(length));
        block
    }

    fn section(self) -> Vec<u8> {
        let mut body = self.u32(0x1a2b_3c4d).to_vec();
        body.extend(self.u16(1));
        body.extend(self.u16(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    fn interface(self, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = self.u16(link).to_vec();
        body.extend(self.u16(0));
        body.extend(self.u32(0));
        for (code, content) in options {
            body.extend(self.u16(*code));
            body.extend(self.u16(content.len() as u16));
            body.extend(*content);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body)
    }

    fn enhanced(self, interface: u32, units: u64, bytes: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        let length = bytes.len() as u32;
        for number in [interface, (units >> 32) as u32, units as u32, length, length + 1] {
            body.extend(self.u32(number));
        }
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        // A comment behind it, which nobody reads.
        body.extend(self.u16(1));
        body.extend(self.u16(2));
        body.extend(*b"hi\0\0");
        self.block(6, &body)
    }

    fn simple(self, bytes: &[u8]) -> Vec<u8> {
        let mut body = self.u32(bytes.len() as u32).to_vec();
        body.extend(bytes);
        self.block(3, &body)
    }

    fn obsolete(self, interface: u16, units: u64, bytes: &[u8]) -> Vec<u8> {
        let mut body = self.u16(interface).to_vec();
        body.extend(self.u16(7));
        let length = bytes.len() as u32;
        for number in [(units >> 32) as u32, units as u32, length, length] {
            body.extend(self.u32(number));
        }
        body.extend(bytes);
        self.block(2, &body)
    }
}

const ORDERS: [Order; 2] = [Order { big: false }, Order { big: true }];

#[test]
fn pcap_in_both_orders_and_units() {
    for order in ORDERS {
        for (magic, unit) in [(0xa1b2_c3d4, 1_000), (0xa1b2_3c4d, 1)] {
            let file = order.pcap(magic, 127, &[(1, 2, b"first", 5), (3, 4, b"", 90)]);
            let (packets, error) = read(&file);
            assert!(error.is_none());
            let radiotap = LinkType::Radiotap;
            assert_eq!(
                packets,
                [
                    (1, radiotap, Some(1_000_000_000 + 2 * unit), b"first".to_vec(), 5),
                    (2, radiotap, Some(3_000_000_000 + 4 * unit), vec![], 90),
                ]
            );
        }
    }
}

#[test]
fn pcapng_with_interfaces_sections_and_all_packet_blocks() {
    for order in ORDERS {
        let other = Order { big: !order.big };
        let offset = if order.big { 10i64.to_be_bytes() } else { 10i64.to_le_bytes() };
        let mut file = order.section();
        file.extend(order.interface(105, &[]));
        file.extend(order.interface(1, &[(2, b"eth0"), (9, &[9]), (14, &offset), (0, &[])]));
        file.extend(order.interface(127, &[(9, &[0x80 | 10])]));
        file.extend(order.enhanced(0, 1_500_000, b"one"));
        // A block of a kind that nobody knows.
        file.extend(order.block(0x8000_0001, b"whatever"));
        file.extend(order.enhanced(1, 5, b"four"));
        file.extend(order.enhanced(2, 1_536, b"x"));
        file.extend(order.simple(b"simple"));
        file.extend(order.obsolete(1, 7, b"old"));
        file.extend(other.section());
        file.extend(other.interface(192, &[]));
        file.extend(other.enhanced(0, 1, b"next"));
        let (packets, error) = read(&file);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(
            packets,
            [
                (1, LinkType::Ieee80211, Some(1_500_000_000), b"one".to_vec(), 4),
                (2, LinkType::Ethernet, Some(10_000_000_005), b"four".to_vec(), 5),
                (3, LinkType::Radiotap, Some(1_500_000_000), b"x".to_vec(), 2),
                (4, LinkType::Ieee80211, None, b"simple".to_vec(), 6),
                (5, LinkType::Ethernet, Some(10_000_000_007), b"old".to_vec(), 3),
                (6, LinkType::Ppi, Some(1_000), b"next".to_vec(), 5),
            ]
        );
    }
}

/// A file that is cut at a byte delivers the same packets as the file before that byte.
#[test]
fn a_file_that_is_cut_gives_what_came_before() {
    let order = ORDERS[0];
    let mut pcapng = order.section();
    pcapng.extend(order.interface(127, &[]));
    let pcap = order.pcap(0xa1b2_c3d4, 105, &[(1, 2, b"first", 5), (3, 4, b"second", 6)]);
    // Where each packet is complete: in pcapng what follows its data in its block is not needed.
    let mut pcapng_ends = vec![];
    for bytes in [&b"first"[..], b"second one", b""] {
        pcapng_ends.push(pcapng.len() + 28 + bytes.len());
        pcapng.extend(order.enhanced(0, 1, bytes));
    }
    let pcap_ends = vec![24 + 16 + 5, 24 + 16 + 5 + 16 + 6];
    for (file, ends) in [(pcap, pcap_ends), (pcapng, pcapng_ends)] {
        let (all, error) = read(&file);
        assert!(error.is_none());
        for cut in 0..file.len() {
            let (packets, error) = read(&file[..cut]);
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(packets, all[..whole], "cut at {cut}");
            match error {
                Some(ReadError::Field { reason: Reason::Cut { .. }, offset, .. }) => {
                    assert!(offset <= cut as u64);
                }
                Some(ReadError::Empty) => assert_eq!(cut, 0),
                Some(ReadError::NotACapture { begins }) => assert!(begins.len() == cut && cut < 4),
                // Between packets a file of either format may end.
                None => assert!(cut >= 24),
                error => panic!("{error:?} when it is cut at {cut}"),
            }
        }
    }
}

#[test]
fn what_is_compressed_is_unpacked() {
    let packets: Vec<_> = (0..5_000u32).map(|n| (n, 0, n.to_be_bytes())).collect();
    let packets: Vec<_> = packets.iter().map(|(s, f, b)| (*s, *f, &b[..], 4)).collect();
    let file = ORDERS[0].pcap(0xa1b2_c3d4, 105, &packets);
    let plain = read(&file).0;
    assert_eq!(plain.len(), 5_000);
    let (begin, end) = file.split_at(30_000);
    let gzip = |bytes: &[u8]| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(bytes, CompressionLevel::Fastest)
    };
    // In two parts, as parallel compressors write them; of zstd with a part to skip before each.
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd(end)].concat();
    for packed in [
        gzip(&file),
        [gzip(begin), gzip(end)].concat(),
        zstd(&file),
        [zstd(begin), skipped].concat(),
    ] {
        let (packets, error) = read(&packed);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(packets, plain);
    }
    // What is cut in its packed form gives what can be unpacked, and an error.
    let packed = gzip(&file);
    let (packets, error) = read(&packed[..packed.len() / 2]);
    assert!(matches!(error, Some(ReadError::Io { .. } | ReadError::Field { .. })), "{error:?}");
    assert!(!packets.is_empty() && packets == plain[..packets.len()]);
}

#[test]
fn what_is_no_capture_is_refused() {
    let (_, error) = read(b"");
    assert!(matches!(error, Some(ReadError::Empty)));
    let (_, error) = read(b"PK\x03\x04 is another kind of file");
    let text = error.unwrap().to_string();
    assert!(text.contains("504b0304") && text.contains("pcapng"), "{text}");
    let order = ORDERS[1];
    // Lengths that cannot be.
    let huge = order.pcap(0xa1b2_c3d4, 1, &[(0, 0, b"", 0)]);
    let huge = [&huge[..24 + 8], &u32::MAX.to_be_bytes(), &[0; 4]].concat();
    let text = read(&huge).1.unwrap().to_string();
    assert!(text.starts_with("frame 1: field captured length at offset 32: 4294967295"), "{text}");
    let mut odd = order.section();
    odd.extend([0, 0, 0, 1, 0, 0, 0, 13]);
    odd.extend([0; 20]);
    let text = read(&odd).1.unwrap().to_string();
    assert!(text.contains("block length at offset 32: 13"), "{text}");
    // A packet of an interface that nobody has described.
    let mut stray = order.section();
    stray.extend(order.interface(1, &[]));
    stray.extend(order.enhanced(1, 0, b"stray"));
    let text = read(&stray).1.unwrap().to_string();
    assert!(text.contains("frame 1: field interface"), "{text}");
}

/// A clock that jumps by a century and back costs neither memory nor time: only seconds with frames
/// are kept.
#[test]
fn a_clock_may_jump() {
    const CENTURY_S: u32 = 3_155_760_000;
    let [access_point, station] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
    let header = |control: [u8; 2], number: u8| {
        let mut frame = control.to_vec();
        frame.extend([0, 0]);
        for address in [access_point, station, access_point] {
            frame.extend(address);
        }
        frame.extend([number << 4, 0]);
        frame
    };
    // Data with LLC, IPv4 and UDP in front of nothing.
    let mut data = header([0x08, 0x01], 1);
    data.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    data.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 9, 0, 8, 0, 0]);
    let (away, back) = (header([0x48, 0x11], 2), header([0x48, 0x01], 3));
    let length = |frame: &[u8]| frame.len() as u32;
    let mut packets = Vec::new();
    for at in [0, 1, 2, CENTURY_S, CENTURY_S + 1, 3, 2 * 1_000_000_000] {
        packets.push((at, 0, &data[..], length(&data)));
        packets.push((at, 1, &away[..], length(&away)));
        packets.push((at + 1, 0, &back[..], length(&back)));
    }
    // An absence of a century, of which the last frame is older than the first.
    packets.push((CENTURY_S, 2, &away[..], length(&away)));
    packets.push((5, 3, &back[..], length(&back)));
    packets.push((5, 4, &data[..], length(&data)));
    let file = ORDERS[0].pcap(0xa1b2_c3d4, 105, &packets);
    let mut capture = Capture::open(Cursor::new(file)).unwrap();
    let mut analysis = Analysis::default();
    while let Some(packet) = capture.next_packet().unwrap() {
        analysis.handle_packet(&packet);
    }
    analysis.finish();
    let document = lasthop_capture::document::CaptureDocument::new("-", &analysis);
    assert_eq!(document.frames, 24);
    let seconds: Vec<usize> =
        analysis.main.air.busy.seconds_ns.iter().map(|(second, _)| second).collect();
    assert!(seconds.is_sorted() && seconds.len() < 12, "{seconds:?}");
    let link = analysis.main.air.links.values().next().unwrap();
    assert_eq!(link.seconds.iter().map(|(_, s)| s.mpdus).sum::<u32>(), 8);
}

/// The busiest second of many changes of power management is found, also where they are written
/// backwards: of 50 000 the latest thousands are kept, 40 us apart.
#[test]
fn many_changes_are_counted() {
    let mut frames = Vec::new();
    for back in 0..50_000u32 {
        let at = 2_000_000 - 40 * (back + 1);
        for (control, later) in [([0x48, 0x11], 0), ([0x48, 0x01], 20)] {
            let mut frame = Vec::from(control);
            frame.extend([0, 0]);
            frame.extend([[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]].concat());
            frame.extend([(back << 4) as u8, (back >> 4) as u8]);
            frames.push((at + later, frame));
        }
    }
    let packet = |(at, frame): &'_ (u32, Vec<u8>)| (at / 1_000_000, at % 1_000_000, frame.clone());
    let packets: Vec<_> = frames.iter().map(packet).collect();
    let packets: Vec<_> =
        packets.iter().map(|(s, us, frame)| (*s, *us, &frame[..], frame.len() as u32)).collect();
    let file = ORDERS[0].pcap(0xa1b2_c3d4, 105, &packets);
    let mut capture = Capture::open(Cursor::new(file)).unwrap();
    let mut analysis = Analysis::default();
    while let Some(packet) = capture.next_packet().unwrap() {
        analysis.handle_packet(&packet);
    }
    analysis.finish();
    let document = lasthop_capture::document::CaptureDocument::new("-", &analysis);
    let (_, absences) = analysis.main.air.absences.first_key_value().unwrap();
    let kept = absences.so_far().len();
    assert_eq!((absences.totals().absences, (2_048..=4_096).contains(&kept)), (50_000, true));
    let expected = format!("up to {kept} times a second, in {kept} of its latest {kept} absences");
    let sentence = &document.findings[0].sentence;
    assert!(sentence.contains(&expected), "{sentence}");
}

proptest! {
    /// Any content behind the header of a file can be read, and the results can be written.
    #[test]
    fn nothing_panics(
        big in any::<bool>(),
        link in prop::sample::select(vec![0u16, 1, 101, 105, 113, 119, 127, 163, 192, 276, 9]),
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..160), 0..12),
        rest in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let order = Order { big };
        let mut file = order.section();
        file.extend(order.interface(link, &[]));
        for bytes in &packets {
            file.extend(order.enhanced(0, 1_000, bytes));
        }
        file.extend(rest);
        let mut capture = Capture::open(Cursor::new(file)).unwrap();
        let mut analysis = Analysis::default();
        loop {
            match capture.next_packet() {
                Ok(Some(packet)) => analysis.handle_packet(&packet),
                Ok(None) => break,
                Err(error) => analysis.handle_error(&error),
            }
        }
        analysis.finish();
        let document = lasthop_capture::document::CaptureDocument::new("-", &analysis);
        prop_assert!(document.frames >= packets.len() as u64);
        prop_assert!(document.to_json().len() > 100);
    }
}
