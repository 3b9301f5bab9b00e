//! Packets of TCP flows in captures, as tshark decodes them: of the model, also beside
//! a driver's bytes, and those whose segment nobody knows.

use crate::air::fields;
use crate::scene::{self, AP, HT, LAPTOP, SERVER};
use lasthop_hosts::Sink;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_tcp::wire::{Announced, Header};
use lasthop_tcp::{Config, Segment};
use lasthop_trace::{Files, NodeFrames};
use lasthop_units::Instant;
use lasthop_wifi::event::Event;
use lasthop_wifi::{Address, StationId};

/// The flow "bulk" of the scene.
const BULK: u16 = 3;

#[test]
fn segments_that_nobody_knows_are_not_made_up() {
    let segment = Segment {
        sequence: 1,
        payload_bytes: 300,
        acknowledgement: Some(1),
        window_bytes: 1 << 20,
        sent: Instant::from_nanos(5_000_000),
        ..Segment::default()
    };
    let header = Header {
        segment: &segment,
        announced: Announced::from_config(&Config::default()),
        initial: [0xffff_ffff, 77],
        push: true,
    };
    let bytes = u16::try_from(segment.packet_bytes()).unwrap();
    let known = scene::packet(1 << 32 | 9, bytes, BULK, SERVER, LAPTOP);
    let unknown = Packet { tag: 2 << 32 | 9, ..known };
    let short = Packet { bytes: 20, ..unknown };
    for frames in [NodeFrames::Real, NodeFrames::MadeUp] {
        let path = scene::scratch(&format!("tcp-{frames:?}"));
        let files = Files { nodes: Some(frames), ..scene::files() };
        scene::record(&path, &files, |recorder| {
            assert!(recorder.wants_segments());
            recorder.segment(FlowId(BULK), known.tag, NodeId(SERVER), &header);
            for packet in [known, unknown, short] {
                recorder.sent(Instant::from_nanos(1), &packet);
                recorder.arrived(Instant::from_nanos(2), NodeId(LAPTOP), &packet);
                let frame = scene::qos_data(1, vec![packet], false);
                let laptop = Address::Station(StationId(LAPTOP));
                let ppdu = scene::ppdu(100, AP, laptop, HT, vec![frame]);
                recorder.event(&Event::Ppdu(ppdu), &|_| None);
            }
        });
        let mut captures = vec!["air.pcapng"];
        if frames == NodeFrames::MadeUp {
            captures.extend(["node-server.pcapng", "node-laptop.pcapng"]);
        }
        for capture in captures {
            let selected = ["ip.proto", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw"];
            let rest = ["tcp.len", "tcp.flags", "tcp.window_size_value", "ip.id", "_ws.malformed"];
            let Some(read) = fields(&path.join(capture), &[selected, rest].concat()) else {
                return;
            };
            let expected = [
                ["6", "45003", "55003", "0", "78", "300", "0x0018", "8192", "0x0009", ""],
                ["253", "", "", "", "", "", "", "", "0x0009", ""],
                ["253", "", "", "", "", "", "", "", "0x0009", ""],
            ];
            assert_eq!(read, expected, "{capture}");
        }
    }
}

/// Without captures, no headers are requested.
#[test]
fn segments_are_for_captures() {
    let path = scene::scratch("no-captures");
    let files = Files { air: None, nodes: None, ..scene::files() };
    scene::record(&path, &files, |recorder| assert!(!recorder.wants_segments()));
}
