//! Captures of one simulated run at several places, whose clocks are made to differ: what the
//! analysis finds of clocks, delays, attempts and losses, against what happened.
//!
//! How far an offset may be off: the least delay there and the least delay back bound it, so half of
//! the least round trip between two places always holds; that is the bound that is reported. If the
//! two least delays are equal, it is exact. Here they differ by what the fastest packet waits for the
//! channel in one direction (an AIFS and the rest of a slot time, 43 us) and by what serialising a
//! short and a long packet on the wire takes (12 us at 1 Gb/s).

use crate::scene::{PacketTruth, Scene};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::file::Capture;
use lasthop_capture::join::{self, ClockState, Fate, Join, SegmentWay, Survey};
use lasthop_units::{Probability, Seed};
use std::collections::BTreeMap;
use std::io::Cursor;

/// A clock that is wrong: by an offset in ns, and how much too fast.
type Wrong = (i64, f64);

const RIGHT: Wrong = (0, 0.0);
/// Hours behind, and slow; hours ahead, and fast.
const SLOW: Wrong = (-2 * 3_600_000_000_000, -50e-6);
const FAST: Wrong = (5 * 3_600_000_000_000, 50e-6);
/// All clocks of simulated runs begin at zero; those of captures must not be before 1970.
const EPOCH_NS: i64 = 1_700_000_000_000_000_000;

fn shown(at_ns: u64, (offset_ns, drift): Wrong) -> i64 {
    EPOCH_NS + at_ns as i64 + offset_ns + (at_ns as f64 * drift).round() as i64
}

/// How far begin and end of an MPDU may be off that are reckoned from lengths and rates: a symbol of
/// padding each.
const SYMBOLS_NS: u64 = 8_000;

/// The packets of a capture by another clock, as a pcap file with times in ns; `keep` says of which
/// packets.
fn rewritten(file: &[u8], clock: Wrong, keep: &mut dyn FnMut(u64) -> bool) -> Vec<u8> {
    let mut capture = Capture::open(Cursor::new(file.to_vec())).unwrap();
    let mut out = Vec::new();
    while let Some(packet) = capture.next_packet().unwrap() {
        if out.is_empty() {
            out.extend(0xa1b2_3c4du32.to_le_bytes());
            out.extend([2, 0, 4, 0]);
            out.extend([0; 8]);
            out.extend(262_144u32.to_le_bytes());
            out.extend(u32::from(packet.link.code()).to_le_bytes());
        }
        if !keep(packet.number) {
            continue;
        }
        let at = shown(packet.at_ns.unwrap(), clock) as u64;
        for word in [at / 1_000_000_000, at % 1_000_000_000] {
            out.extend((word as u32).to_le_bytes());
        }
        for length in [packet.bytes.len() as u32, packet.length] {
            out.extend(length.to_le_bytes());
        }
        out.extend(packet.bytes);
    }
    out
}

fn all(file: &[u8], clock: Wrong) -> Vec<u8> {
    rewritten(file, clock, &mut |_| true)
}

/// Files put together, and the ways of all segments.
fn joined(files: &[Vec<u8>]) -> (Join, Vec<SegmentWay>) {
    let surveys = files.iter().map(|file| {
        let mut capture = Capture::open(Cursor::new(file.clone())).unwrap();
        let (mut analysis, mut survey) = (Analysis::default(), Survey::default());
        analysis.watch();
        while let Some(packet) = capture.next_packet().unwrap() {
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
    join::read(&mut join, &mut open, &mut |way| ways.push(way.clone()), &|| false).unwrap();
    (join, ways)
}

/// The clock of a place against that of reference, and how far it may be off.
fn clock(join: &Join, place: usize) -> (join::Line, Option<u64>) {
    match join.clock(place) {
        ClockState::Aligned { line, bound_ns, .. } => (line, bound_ns),
        other => panic!("place {place} is {other:?}"),
    }
}

/// How far times of a place are off by what was found, at most over the run, in ns.
fn clock_error_ns(join: &Join, place: usize, wrong: Wrong, reference: Wrong, run_ns: u64) -> u64 {
    let at = [0, run_ns / 2, run_ns].map(|at| {
        let found = join.to_reference(place, shown(at, wrong) as u64).unwrap();
        found.abs_diff(shown(at, reference))
    });
    at.into_iter().max().unwrap()
}

fn scenes() -> Vec<(Scene, bool, u64)> {
    let upload = ["duration=\"8s\""];
    let download = ["duration=\"8s\"", "flow.upload.from=\"server\"", "flow.upload.to=\"laptop\""];
    let lossy = ["duration=\"6s\""];
    vec![
        (Scene::with_nodes("upload", "upload.toml", &upload), true, 8_000_000_000),
        (Scene::with_nodes("download", "upload.toml", &download), false, 8_000_000_000),
        (Scene::with_nodes("lossy", "retryout/upload.toml", &lossy), true, 6_000_000_000),
    ]
}

/// Times of packets at a node, by their number.
fn at_node(file: &[u8]) -> BTreeMap<u64, (u64, u16)> {
    let mut capture = Capture::open(Cursor::new(file.to_vec())).unwrap();
    let mut packets = BTreeMap::new();
    while let Some(packet) = capture.next_packet().unwrap() {
        let id = u16::from_be_bytes([packet.bytes[18], packet.bytes[19]]);
        packets.insert(packet.number, (packet.at_ns.unwrap(), id));
    }
    packets
}

/// When the attempt ended that got a packet across, as its receiver got it at `at`.
fn across(truth: &PacketTruth, at: u64) -> Option<i64> {
    let across =
        truth.ppdus.iter().filter(|(_, end, received)| *received && *end <= at + SYMBOLS_NS);
    across.map(|(_, end, _)| *end as i64).next()
}

/// What happened to the packet that left with this number.
fn truth_of<'a>(
    scene: &'a Scene,
    index: &BTreeMap<(u64, u16), usize>,
    node: &BTreeMap<u64, (u64, u16)>,
    way: &SegmentWay,
) -> &'a PacketTruth {
    let left = node[&way.left_frame.unwrap()];
    &scene.truth.packets[index[&left]]
}

/// Clocks that differ by hours and 100 ppm: the offset is found within 100 us, and within the bound
/// that is reported; delays are those that were, and so are attempts.
#[test]
fn segments_go_the_way_that_they_went() {
    for (scene, up, run_ns) in scenes() {
        let [laptop, server] = ["node-laptop.pcapng", "node-server.pcapng"];
        let files = [
            all(&scene.file("air.pcapng"), RIGHT),
            all(&scene.file(laptop), SLOW),
            all(&scene.file(server), FAST),
        ];
        let (join, ways) = joined(&files);
        let name = &scene.name;
        assert_eq!(join.reference(), Some(0), "{name}");
        let mut off_ns = 0;
        for (place, wrong) in [(1, SLOW), (2, FAST)] {
            let error = clock_error_ns(&join, place, wrong, RIGHT, run_ns);
            let (line, bound) = clock(&join, place);
            assert!(error <= 100_000, "{name}: place {place} is off by {error} ns: {line:?}");
            assert!(
                error <= bound.unwrap(),
                "{name}: {error} ns, but {bound:?} is the bound: {line:?}"
            );
            assert!((line.drift - wrong.1).abs() < 10e-6, "{name}: drift {}", line.drift);
            off_ns += error as i64;
        }
        let (sender, receiver) = if up { (laptop, server) } else { (server, laptop) };
        let (node, there) = (at_node(&scene.file(sender)), at_node(&scene.file(receiver)));
        let packets = scene.truth.packets.iter().enumerate();
        let index: BTreeMap<_, _> =
            packets.map(|(i, it)| ((it.sent_ns, it.tag as u16), i)).collect();
        let (mut heard, mut arrived, mut lost) = (0, 0, 0);
        for way in &ways {
            let truth = truth_of(&scene, &index, &node, way);
            let place = || format!("{name}: {way:?}\n{truth:?}");
            let across_air = truth.ppdus.iter().any(|(_, _, received)| *received);
            if truth.arrived_ns.is_some_and(|at| at > run_ns - 20_000_000) && !across_air {
                // Its last PPDU was still on the air when the run ended: nothing reports it.
                continue;
            }
            assert_eq!(way.attempts as usize, truth.ppdus.len(), "{}", place());
            assert!(!way.first_attempt_missed, "{}", place());
            let close = |what: &str, found: Option<i64>, is: Option<i64>| {
                assert_eq!(found.is_some(), is.is_some(), "{what}: {}", place());
                let off = found.unwrap_or_default().abs_diff(is.unwrap_or_default());
                assert!(off <= off_ns as u64 + SYMBOLS_NS, "{what}: {found:?} {is:?} {}", place());
            };
            let begin = truth.ppdus.first().map(|(begin, ..)| *begin as i64);
            close("wait", way.wait_ns(), begin.map(|begin| begin - truth.sent_ns as i64));
            heard += u64::from(begin.is_some());
            if let (Some(frame), Some(at)) = (way.arrived_frame, truth.arrived_ns) {
                assert_eq!(there[&frame].0, at, "{}", place());
                let end = across(truth, at);
                close("air", way.air_ns(), end.zip(begin).map(|(end, begin)| end - begin));
                close("behind", way.behind_ns(), end.map(|end| at as i64 - end));
                close("total", way.total_ns(), Some(at as i64 - truth.sent_ns as i64));
                assert_eq!(way.fate, Fate::Arrived, "{}", place());
                arrived += 1;
            } else if way.fate != Fate::Unknown {
                assert_eq!(truth.arrived_ns, None, "{}", place());
                let expected = match across_air {
                    _ if truth.ppdus.is_empty() => Fate::LostBefore,
                    true => Fate::LostBehind,
                    false => Fate::LostOnAir,
                };
                assert_eq!(way.fate, expected, "{}", place());
                lost += 1;
            }
        }
        println!("{name}: {heard} heard, {arrived} arrived, {lost} lost, off by {off_ns} ns");
        assert!(heard > 1_000 && arrived > 1_000, "{name}: {heard} heard, {arrived} arrived");
    }
}
