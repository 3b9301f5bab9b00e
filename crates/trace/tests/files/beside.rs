//! Captures by a thread of their own, beside those that the recorder's thread writes.

use crate::scene::{self, AP, HT, LAPTOP, SERVER};
use lasthop_hosts::Sink;
use lasthop_packet::NodeId;
use lasthop_trace::{Files, Recorder};
use lasthop_units::Instant;
use lasthop_wifi::event::Event;
use lasthop_wifi::{Address, StationId};
use std::fs;

/// Reports this number of packets, and as many PPDUs.
fn play(recorder: &mut Recorder, number: u64) {
    for tag in 0..number {
        let at = Instant::from_nanos(10_000 * tag);
        let packet = scene::packet(tag, 1_500, 0, LAPTOP, SERVER);
        recorder.sent(at, &packet);
        let frame = scene::qos_data(tag as u16 % 4_096, vec![packet], false);
        let ap = Address::Station(StationId(AP));
        let ppdu = Event::Ppdu(scene::ppdu(10 * tag, LAPTOP, ap, HT, vec![frame]));
        if tag % 2 == 0 {
            recorder.take_event(ppdu, &|_| None);
        } else {
            recorder.event(&ppdu, &|_| None);
        }
        recorder.arrived(at, NodeId(SERVER), &packet);
    }
}

#[test]
fn the_thread_writes_the_same_captures() {
    let path = scene::scratch("beside");
    let [long, short, at_once] = ["long", "short", "at-once"].map(|name| path.join(name));
    let files = Files { events: false, cut: true, ..scene::files() };
    scene::record(&long, &files, |recorder| play(recorder, 3_000));
    // Fewer than a batch.
    scene::record(&short, &files, |recorder| play(recorder, 300));
    let files = Files { nodes: None, ..files };
    scene::record(&at_once, &files, |recorder| play(recorder, 3_000));
    let air = "air.pcapng";
    assert!(fs::read(long.join(air)).unwrap() == fs::read(at_once.join(air)).unwrap());
    for node in ["node-laptop.pcapng", "node-server.pcapng"] {
        let [long, short] = [&long, &short].map(|path| fs::read(path.join(node)).unwrap());
        assert!(long.starts_with(&short), "{node}");
        assert!(long.len() > 9 * short.len(), "{node}");
    }
}
