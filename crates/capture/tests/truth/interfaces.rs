//! Files with several interfaces: the results of each equal those of a separate file.

use crate::joined::files::joined;
use crate::scene::{Scene, heard};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file::Capture;
use lasthop_capture::finding::Kind;
use lasthop_capture::join::{ClockState, SegmentWay};
use std::io::Cursor;

/// A packet: interface, time in ns, bytes, and its whole length.
type Packet = (u32, u64, Vec<u8>, u32);

/// A pcapng file of interfaces with these link types, with times in ns.
fn pcapng(links: &[u16], packets: &[Packet]) -> Vec<u8> {
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
    for link in links {
        let mut body = link.to_le_bytes().to_vec();
        body.extend([0; 6]);
        // The resolution of times: 10^-9 s.
        body.extend([9, 0, 1, 0, 9, 0, 0, 0]);
        file.extend(block(1, &body));
    }
    for (interface, at_ns, bytes, length) in packets {
        let captured = bytes.len() as u32;
        let mut body = Vec::new();
        for word in [*interface, (at_ns >> 32) as u32, *at_ns as u32, captured, *length] {
            body.extend(word.to_le_bytes());
        }
        body.extend(bytes);
        file.extend(block(6, &body));
    }
    file
}

fn analysed(file: Vec<u8>) -> Analysis {
    let mut capture = Capture::open(Cursor::new(file)).expect("it is a capture");
    let mut analysis = Analysis::default();
    while let Some(packet) = capture.next_packet().expect("it is whole") {
        analysis.handle_packet(&packet);
    }
    analysis.finish();
    analysis
}

fn packets(file: &[u8], interface: u32) -> Vec<Packet> {
    let mut capture = Capture::open(Cursor::new(file.to_vec())).expect("it is a capture");
    let mut packets = Vec::new();
    while let Some(packet) = capture.next_packet().expect("it is whole") {
        let at_ns = packet.at_ns.expect("it has a time");
        packets.push((interface, at_ns, packet.bytes.to_vec(), packet.length));
    }
    packets
}

/// One channel captured twice, and the wire behind the access point: three interfaces. The results
/// of each equal those of a separate file, and no packet counts as a retransmission because another
/// interface captured it, too.
#[test]
fn interfaces_do_not_disturb_each_other() {
    let scene = Scene::with_nodes("interfaces", "upload.toml", &["duration=\"3s\""]);
    let alone = heard(&scene, 0.0);
    let (air, wire) = (scene.file("air.pcapng"), scene.file("node-server.pcapng"));
    let mut all = [packets(&wire, 0), packets(&air, 1), packets(&air, 2)].concat();
    all.sort_by_key(|(interface, at_ns, ..)| (*at_ns, *interface));
    let analysis = analysed(pcapng(&[1, 127, 127], &all));
    // The first that captures 802.11 is the main one, though the wire was first.
    assert_eq!(analysis.interface(), Some(1));
    assert_eq!(analysis.packets as usize, all.len());
    let links = |air: &lasthop_capture::air::Air| -> Vec<_> {
        air.links.values().map(|link| (link.counts.clone(), link.chains())).collect()
    };
    assert!(!links(&alone.main.air).is_empty());
    assert_eq!(links(&analysis.main.air), links(&alone.main.air));
    assert_eq!(links(&analysis.others[&2].air), links(&alone.main.air));
    assert!(analysis.others[&0].air.links.is_empty());
    let sent_again = |flows: &lasthop_capture::transport::Flows| -> u64 {
        let directions = flows.iter().flat_map(|(_, flow)| &flow.directions);
        directions.filter_map(|it| it.tcp.as_deref()).map(|tcp| tcp.retransmissions).sum()
    };
    assert_eq!(sent_again(&analysis.main.flows), sent_again(&alone.main.flows));
    assert_eq!(sent_again(&analysis.others[&0].flows), 0);

    let document = CaptureDocument::new("x", &analysis).with_interfaces(&analysis);
    let tcp = |link: u16, file: &[u8]| {
        CaptureDocument::new("x", &analysed(pcapng(&[link], &packets(file, 0)))).counts.tcp
    };
    let [on_air, on_wire] = [tcp(127, &air), tcp(1, &wire)];
    assert!(on_air > 0 && on_wire > 0);
    assert_eq!(document.counts.tcp, 2 * on_air + on_wire, "counts are of the whole file");
    let kinds: Vec<_> = document.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&Kind::SeveralInterfaces), "{kinds:?}");
    let interfaces: Vec<_> = document.interfaces.iter().map(|it| (it.interface, it.main)).collect();
    assert_eq!(interfaces, [(0, false), (1, true), (2, false)]);
    let other = &document.interfaces[2];
    assert_eq!((&other.networks, &other.flows), (&document.networks, &document.flows));
    let without = |kinds: &[Kind]| -> Vec<Kind> {
        kinds.iter().copied().filter(|kind| *kind != Kind::SeveralInterfaces).collect()
    };
    let others: Vec<_> = other.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(without(&others), without(&kinds));
    // Looking at the others has changed nothing.
    assert_eq!(analysis.interface(), Some(1));
    assert_eq!(links(&analysis.main.air), links(&alone.main.air));
    let single = CaptureDocument::new("x", &alone);
    assert_eq!(document.networks, single.networks);
    assert!(single.interfaces.is_empty());
}

/// Acks with a radiotap header that names the channel: a radio that stays for 100 ms on each of two
/// channels is one; frames of both in turn are of two.
#[test]
fn two_radios_without_interfaces_are_recognised() {
    let ack = |mhz: u16| {
        let mut bytes = vec![0, 0, 12, 0, 8, 0, 0, 0];
        bytes.extend(mhz.to_le_bytes());
        bytes.extend([0, 0, 0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1]);
        bytes
    };
    for (stay, expected) in [(1, true), (100, false)] {
        let frames = (0..2_000u64).map(|number| {
            let ack = ack(if number / stay % 2 == 0 { 2_412 } else { 5_180 });
            let length = ack.len() as u32;
            (0, 1_000_000 * (number + 1), ack, length)
        });
        let analysis = analysed(pcapng(&[127], &frames.collect::<Vec<_>>()));
        let document = CaptureDocument::new("x", &analysis).with_interfaces(&analysis);
        let found = document.findings.iter().find(|finding| finding.kind == Kind::SeveralRadios);
        assert_eq!(found.is_some(), expected, "{stay} frames on each channel");
        assert_eq!(document.interfaces.len(), usize::from(expected));
        if let Some(found) = found {
            assert!(found.sentence.contains("2412 MHz, 5180 MHz"), "{}", found.sentence);
            assert_eq!(found.harm, 0.5);
            let frames = &document.interfaces[0].frequencies_mhz;
            assert_eq!((frames["2412"], frames["5180"]), (1_000, 1_000));
        }
    }
}

/// A monitor and a wire in one file have one clock: together with the laptop's file they show what
/// three files show, and the wire's times are as exact as they stand there.
#[test]
fn interfaces_of_one_file_are_places_with_one_clock() {
    let scene = Scene::with_nodes("places", "upload.toml", &["duration=\"3s\""]);
    let names = ["air.pcapng", "node-laptop.pcapng", "node-server.pcapng"];
    let [air, laptop, server] = names.map(|name| scene.file(name));
    let mut both = [packets(&air, 0), packets(&server, 1)].concat();
    both.sort_by_key(|(interface, at_ns, ..)| (*at_ns, *interface));
    let (join, ways) = joined(&[pcapng(&[127, 1], &both), laptop.clone()]);
    let places: Vec<_> =
        join.places().iter().map(|it| (it.file, it.interface, it.is_air)).collect();
    assert_eq!(places, [(0, 0, true), (0, 1, false), (1, 0, false)]);
    let ClockState::Aligned { line, bound_ns, .. } = join.clock(1) else { panic!("it is aligned") };
    assert_eq!((line.offset_ns, line.drift, bound_ns), (0, 0.0, Some(0)));
    let (_, apart) = joined(&[air, laptop, server]);
    let essence = |ways: &[SegmentWay]| {
        let of = |way: &SegmentWay| (way.sequence, way.attempts, way.fate, way.left_frame);
        let mut all: Vec<_> = ways.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(essence(&ways), essence(&apart));
    let behind: Vec<_> = ways.iter().filter_map(SegmentWay::behind_ns).collect();
    assert!(behind.len() > 100 && behind.iter().all(|ns| *ns > 10_000_000), "{behind:?}");
}
