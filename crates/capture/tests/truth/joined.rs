//! Captures of one simulated run at several places, whose clocks are made to differ: what the
//! analysis finds of clocks, delays, attempts and losses, against what happened.
//!
//! How far an offset may be off: the least delay there and the least delay back bound it, so half of
//! the least round trip between two places always holds; that is the bound that is reported. If the
//! two least delays are equal, it is exact. Here they differ by what the fastest packet waits for the
//! channel in one direction (an AIFS and the rest of a slot time, 43 us) and by what serialising a
//! short and a long packet on the wire takes (12 us at 1 Gb/s).

pub mod files;

use crate::scene::{PacketTruth, Scene};
use files::{FAST, Packet, RIGHT, SLOW, Wrong, joined, offloaded, packets, pcap, shown, translate};
use lasthop_capture::document::{JoinedFile, JoinedSummary};
use lasthop_capture::join::{self, Again, ClockState, Join, SegmentWay, WayFate};
use lasthop_packet::NodeId;
use lasthop_units::{Probability, Seed};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Error of the start and the end of an MPDU that are computed from lengths and rates: a symbol of
/// padding each.
const SYMBOLS_NS: u64 = 8_000;

const LAPTOP: &str = "node-laptop.pcapng";
const SERVER: &str = "node-server.pcapng";

/// Returns the clock of a place relative to the reference, and its largest error.
fn clock(join: &Join, place: usize) -> (join::Line, Option<u64>) {
    match join.clock(place) {
        ClockState::Aligned { line, bound_ns, .. } => (line, bound_ns),
        other => panic!("place {place} is {other:?}"),
    }
}

/// Returns the largest error of a place's times over the run, in ns.
fn clock_error_ns(join: &Join, place: usize, wrong: Wrong, reference: Wrong, run_ns: u64) -> u64 {
    let at = [0, run_ns / 2, run_ns].map(|at| {
        let found = join.to_reference(place, shown(at, wrong) as u64).expect("it is known");
        found.abs_diff(shown(at, reference))
    });
    at.into_iter().max().expect("there are three")
}

/// Captures of the monitor, the laptop and the server, each by another clock.
fn three(scene: &Scene) -> [Vec<u8>; 3] {
    let by = |name: &str, clock| pcap(&packets(&scene.file(name)), clock);
    [by("air.pcapng", RIGHT), by(LAPTOP, SLOW), by(SERVER, FAST)]
}

fn short() -> Scene {
    Scene::with_nodes("short", "upload.toml", &["duration=\"5s\""])
}

/// Sequence number, payload, attempts, fate, frames.
type Essence = (u32, u32, u32, WayFate, Option<u64>, Option<[u64; 2]>);

/// Returns the properties of ways that must be equal.
fn essence(ways: &[SegmentWay]) -> Vec<Essence> {
    let of = |way: &SegmentWay| {
        let frames = (way.left_frame, way.air_frames);
        (way.sequence, way.payload_bytes, way.attempts, way.fate, frames.0, frames.1)
    };
    let mut all: Vec<_> = ways.iter().map(of).collect();
    all.sort_unstable();
    all
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

/// Returns the true packets of a node by their number in its capture, which is the order in which
/// they left. Node n has the address 10.0.0.n + 1.
fn sent_by<'a>(scene: &'a Scene, node: u16, capture: &[Packet]) -> BTreeMap<u64, &'a PacketTruth> {
    let own = [10, 0, 0, node as u8 + 1];
    let mut truths = scene.truth.packets.iter().filter(|truth| truth.source == NodeId(node));
    let numbers = (1..).zip(capture).filter(|(_, packet)| packet.bytes[26..30] == own);
    let by_number = numbers.map(|(number, packet)| {
        let truth = truths.next().expect("what left was sent");
        assert_eq!((truth.sent_ns, truth.tag as u16), (packet.at_ns, id(packet)));
        (number, truth)
    });
    by_number.collect()
}

fn id(packet: &Packet) -> u16 {
    u16::from_be_bytes([packet.bytes[18], packet.bytes[19]])
}

/// Returns the end of the attempt that delivered a packet, which its receiver got at `at`.
fn across(truth: &PacketTruth, at: u64) -> Option<i64> {
    let across =
        truth.ppdus.iter().filter(|(_, end, received)| *received && *end <= at + SYMBOLS_NS);
    across.map(|(_, end, _)| *end as i64).next()
}

/// Clocks differ by hours and 100 ppm. Offsets are found within 100 us and within the reported
/// bound; delays and attempts equal the true ones.
#[test]
fn segments_go_the_way_that_they_went() {
    for (scene, up, run_ns) in scenes() {
        let files = three(&scene);
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
        let (sender, receiver) = if up { (LAPTOP, SERVER) } else { (SERVER, LAPTOP) };
        let there = packets(&scene.file(receiver));
        let truths = sent_by(&scene, if up { 1 } else { 2 }, &packets(&scene.file(sender)));
        let (mut heard, mut arrived, mut lost, mut unknown) = (0, 0, 0, 0);
        for way in &ways {
            let truth = truths[&way.left_frame.unwrap()];
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
                assert_eq!(there[frame as usize - 1].at_ns, at, "{}", place());
                let end = across(truth, at);
                close("air", way.air_ns(), end.zip(begin).map(|(end, begin)| end - begin));
                close("behind", way.behind_ns(), end.map(|end| at as i64 - end));
                close("total", way.total_ns(), Some(at as i64 - truth.sent_ns as i64));
                assert_eq!(way.fate, WayFate::Arrived, "{}", place());
                arrived += 1;
            } else if way.fate == WayFate::Unknown {
                // Nothing that left later has come to where this one has not.
                let left = |truth: &PacketTruth| truth.sent_ns > run_ns - 2_000_000_000;
                assert!(left(truth), "{}", place());
                unknown += 1;
            } else {
                assert!(truth.arrived_ns.is_none() && truth.dropped, "{}", place());
                let expected = if truth.ppdus.is_empty() {
                    WayFate::LostBefore
                } else if across_air {
                    WayFate::LostBehind
                } else {
                    WayFate::LostOnAir
                };
                assert_eq!(way.fate, expected, "{}", place());
                lost += 1;
            }
        }
        println!(
            "{name}: {heard} heard, {arrived} arrived, {lost} lost, {unknown} unknown, {off_ns} ns"
        );
        assert!(heard > 1_000 && arrived > 1_000, "{name}: {heard} heard, {arrived} arrived");
    }
}

/// The order of the files does not matter: times are by the monitor's clock.
#[test]
fn the_order_of_files_does_not_matter() {
    let [air, laptop, server] = three(&short());
    let (join, ways) = joined(&[air.clone(), laptop.clone(), server.clone()]);
    assert_eq!(join.reference(), Some(0));
    let (other, others) = joined(&[server, laptop, air]);
    assert_eq!(other.reference(), Some(2));
    assert!(ways.len() > 1_000);
    assert_eq!(essence(&ways), essence(&others));
    let times = |ways: &[SegmentWay]| -> Vec<_> { ways.iter().map(|way| way.left_ns).collect() };
    assert_eq!(times(&ways), times(&others));
}

/// A monitor misses frames at random. Clocks are found, counts are of captured frames, and a
/// segment whose attempts were all missed still arrives.
#[test]
fn a_monitor_that_misses_frames_says_no_more_than_it_heard() {
    for (scene, _, run_ns) in scenes() {
        let [_, laptop, server] = three(&scene);
        let mut draws = Seed::new(1, 0).stream("monitor");
        let missing = Probability::new(0.05).unwrap();
        let mut heard = packets(&scene.file("air.pcapng"));
        let whole = joined(&[pcap(&heard, RIGHT), laptop.clone(), server.clone()]).1;
        heard.retain(|_| !draws.chance(missing));
        let (join, ways) = joined(&[pcap(&heard, RIGHT), laptop, server]);
        for (place, wrong) in [(1, SLOW), (2, FAST)] {
            let error = clock_error_ns(&join, place, wrong, RIGHT, run_ns);
            let (line, bound) = clock(&join, place);
            let name = &scene.name;
            assert!(error <= 100_000 && Some(error) <= bound, "{name}: {error} ns, {line:?}");
        }
        let attempts = |ways: &[SegmentWay]| {
            let by_left = |way: &SegmentWay| (way.left_frame, way.sequence);
            let ways = ways.iter().filter(|way| way.left_frame.is_some());
            ways.map(|way| (by_left(way), (way.attempts, way.fate))).collect::<BTreeMap<_, _>>()
        };
        let (all, some) = (attempts(&whole), attempts(&ways));
        let (mut fewer, mut unheard) = (0u32, 0u32);
        for (key, (attempts, fate)) in &some {
            let Some((of_all, true_fate)) = all.get(key) else { continue };
            assert!(attempts <= of_all, "{}: {attempts} of {of_all}", scene.name);
            fewer += of_all - attempts;
            unheard += u32::from(*attempts == 0 && *of_all > 0);
            // What arrived did so without the monitor.
            assert_eq!(*fate == WayFate::Arrived, *true_fate == WayFate::Arrived, "{key:?}");
        }
        // Of a twentieth of the frames five standard deviations.
        let frames: u32 = all.values().map(|(attempts, _)| attempts).sum();
        let expected = f64::from(frames) * 0.05;
        let off = (f64::from(fewer) - expected).abs();
        assert!(off < 5.0 * expected.sqrt(), "{}: {fewer} of {frames}", scene.name);
        assert!(unheard > 0, "{}", scene.name);
    }
}

/// Captures that begin late or end early: segments outside of them are not lost.
#[test]
fn a_capture_of_a_part_loses_nothing() {
    let scene = short();
    let [air, laptop, server] = three(&scene);
    let lost = |ways: &[SegmentWay]| {
        let is_lost = |way: &&SegmentWay| {
            !matches!(way.fate, WayFate::Arrived | WayFate::Unknown | WayFate::AcrossAir)
        };
        ways.iter().filter(is_lost).count()
    };
    let whole = lost(&joined(&[air, laptop.clone(), server.clone()]).1);
    let heard = packets(&scene.file("air.pcapng"));
    let (begin, end) = heard.split_at(heard.len() / 2);
    for part in [begin, end] {
        let (_, ways) = joined(&[pcap(part, RIGHT), laptop.clone(), server.clone()]);
        assert!(ways.iter().filter(|way| way.attempts > 0).count() > 300);
        assert!(lost(&ways) <= whole, "{} where {whole} were", lost(&ways));
    }
    let there = packets(&scene.file(SERVER));
    let (begin, end) = there.split_at(there.len() / 2);
    for part in [begin, end] {
        let (_, ways) = joined(&[pcap(&heard, RIGHT), laptop.clone(), pcap(part, FAST)]);
        assert!(lost(&ways) <= whole, "{} where {whole} were", lost(&ways));
        let behind = ways.iter().filter(|way| way.fate == WayFate::LostBehind).count();
        assert_eq!(behind, 0);
    }
}

/// Packets captured twice, and cards that cut and join segments, do not change ways on the air.
#[test]
fn copies_and_offloads_do_not_change_the_air() {
    let scene = short();
    let [air, laptop, server] = three(&scene);
    let (_, ways) = joined(&[air.clone(), laptop.clone(), server.clone()]);
    let mut copied = Vec::new();
    for packet in packets(&scene.file(SERVER)) {
        let copy = Packet { at_ns: packet.at_ns + 40_000, ..packet.clone() };
        copied.extend([packet, copy]);
    }
    copied.sort_by_key(|packet| packet.at_ns);
    let (_, others) = joined(&[air.clone(), laptop.clone(), pcap(&copied, FAST)]);
    assert_eq!(essence(&ways), essence(&others));

    let sent = offloaded(&packets(&scene.file(LAPTOP)), 44, 200_000, true);
    let got = offloaded(&packets(&scene.file(SERVER)), 16, 6_000_000, false);
    let largest = |packets: &[Packet]| packets.iter().map(|packet| packet.length).max().unwrap();
    assert!(largest(&sent) > 5_000 && largest(&got) > 5_000, "something is put together");
    let (_, others) = joined(&[air, pcap(&sent, SLOW), pcap(&got, FAST)]);
    let of = |ways: &[SegmentWay]| {
        let heard = ways.iter().filter(|way| way.attempts > 0);
        let mut heard: Vec<_> =
            heard.map(|way| (way.air_frames, way.attempts, way.payload_bytes, way.fate)).collect();
        heard.sort_unstable();
        heard
    };
    assert_eq!(of(&ways), of(&others));
}

/// A translator between the access point and the server: segments are known by their numbers.
#[test]
fn translated_addresses_are_seen_through() {
    let scene = short();
    let [air, laptop, server] = three(&scene);
    let (_, ways) = joined(&[air.clone(), laptop.clone(), server]);
    let mut outside = packets(&scene.file(SERVER));
    let inside = ([10, 0, 0, 2], 45_000);
    for packet in &mut outside {
        translate(packet, inside, ([192, 0, 2, 9], 61_234));
    }
    let (join, others) = joined(&[air, laptop, pcap(&outside, FAST)]);
    assert_eq!(essence(&ways), essence(&others));
    let ClockState::Aligned { translated, .. } = join.clock(2) else { panic!("it is aligned") };
    assert_eq!(translated, 1);
}

/// Captures that cannot be aligned are reported: another time, one direction without evidence, a
/// clock that was set.
#[test]
fn what_cannot_be_aligned_is_not_guessed() {
    let scene = short();
    let [air, laptop, _] = three(&scene);
    let other = Scene::with_nodes("other", "upload.toml", &["duration=\"3s\"", "seed=77"]);
    let mut foreign = packets(&other.file(SERVER));
    // The same addresses and ports, other numbers: another connection.
    for packet in foreign.iter_mut().filter(|packet| packet.bytes[23] == 6) {
        packet.bytes[38] ^= 0x55;
        packet.bytes[42] ^= 0x55;
    }
    foreign.retain(|packet| packet.bytes[23] == 6);
    let reason = |third: Vec<u8>| {
        let (join, _) = joined(&[air.clone(), laptop.clone(), third]);
        match join.clock(2) {
            ClockState::Unknown { reason } => reason,
            state => panic!("{state:?}"),
        }
    };
    let found = reason(pcap(&foreign, FAST));
    assert!(found.contains("no packet of IP in common"), "{found}");

    let mut stepped = packets(&scene.file(SERVER));
    let half = stepped.len() / 2;
    stepped[half..].iter_mut().for_each(|packet| packet.at_ns += 700_000_000);
    let found = reason(pcap(&stepped, FAST));
    assert!(found.contains("was set while it captured"), "{found}");

    // From the laptop only, with nothing that has placed the server.
    let mut one_way = packets(&scene.file(SERVER));
    one_way.retain(|packet| packet.bytes[26..30] == [10, 0, 0, 2]);
    let found = reason(pcap(&one_way, FAST));
    assert!(found.contains("in one direction"), "{found}");
    // A router on the way lowers the time to live: then it is known.
    one_way.iter_mut().for_each(|packet| packet.bytes[22] -= 1);
    let (join, _) = joined(&[air, laptop, pcap(&one_way, FAST)]);
    let (_, bound) = clock(&join, 2);
    assert_eq!(bound, None, "one direction bounds nothing");
    let error = clock_error_ns(&join, 2, FAST, RIGHT, 5_000_000_000);
    assert!((9_990_000..10_100_000).contains(&error), "the least delay, 10 ms: {error} ns");
}

/// Hosts stamp packets late, and not evenly: the bound that is reported still holds, and segments are
/// found. The monitor's times are late by up to 3 ms here, most by a few hundred us.
#[test]
fn late_stamps_are_in_the_bound() {
    for (scene, _, run_ns) in scenes() {
        let [air, laptop, server] = three(&scene);
        let (_, ways) = joined(&[air, laptop.clone(), server.clone()]);
        let mut draws = Seed::new(2, 0).stream("stamps");
        let mut late = packets(&scene.file("air.pcapng"));
        let mut latest = 0;
        for packet in &mut late {
            // Of ten even draws the least: a tenth of the greatest in the mean.
            let least = (0..10).map(|_| u64::from(draws.up_to(3_000_000))).min();
            packet.at_ns = (packet.at_ns + least.unwrap()).max(latest);
            latest = packet.at_ns;
        }
        let (join, others) = joined(&[pcap(&late, RIGHT), laptop, server]);
        for (place, wrong) in [(1, SLOW), (2, FAST)] {
            let error = clock_error_ns(&join, place, wrong, RIGHT, run_ns);
            let (line, bound) = clock(&join, place);
            assert!(Some(error) <= bound, "{}: {error} ns, {line:?}", scene.name);
        }
        let arrived = |ways: &[SegmentWay]| {
            let both = |way: &&SegmentWay| way.arrived_frame.is_some() && way.attempts > 0;
            let ways = ways.iter().filter(both);
            ways.map(|way| (way.left_frame, way.arrived_frame)).collect::<Vec<_>>()
        };
        assert_eq!(arrived(&ways), arrived(&others), "{}", scene.name);
    }
}

/// A capture at the access point's wired side: the wire and the access point's queue are apart.
#[test]
fn a_capture_at_the_access_point_splits_the_wait() {
    let sets = ["duration=\"5s\"", "flow.upload.from=\"server\"", "flow.upload.to=\"laptop\""];
    let scene = Scene::with_nodes("gateway", "upload.toml", &sets);
    let [air, laptop, server] = three(&scene);
    let (_, whole) = joined(&[air.clone(), laptop.clone(), server.clone()]);
    // What passes there: 10 ms after the server sent it, or before the server got it.
    const WIRE_NS: u64 = 10_000_000;
    let mut there = packets(&scene.file(SERVER));
    there.retain(|packet| packet.at_ns > WIRE_NS);
    for packet in &mut there {
        let from_server = packet.bytes[26..30] == [10, 0, 0, 3];
        packet.at_ns = if from_server { packet.at_ns + WIRE_NS } else { packet.at_ns - WIRE_NS };
    }
    there.sort_by_key(|packet| packet.at_ns);
    let minute = (60_000_000_000, 20e-6);
    let (_, ways) = joined(&[air, laptop, pcap(&there, minute), server]);
    assert_eq!(essence(&whole), essence(&ways));
    let mut compared = 0;
    for (whole, way) in whole.iter().zip(&ways).filter(|(whole, _)| whole.wait_ns().is_some()) {
        let (wire, wait) = (way.wire_before_ns().unwrap(), way.wait_ns().unwrap());
        assert!(wire.abs_diff(10_000_000) < 100_000, "{way:?}");
        assert!((wire + wait).abs_diff(whole.wait_ns().unwrap()) < 20_000, "{way:?} {whole:?}");
        compared += 1;
    }
    assert!(compared > 1_000, "{compared}");
}

/// One file twice is one place.
#[test]
fn one_file_twice_is_one_place() {
    let [air, laptop, server] = three(&short());
    let (_, ways) = joined(&[air.clone(), laptop.clone(), server.clone()]);
    for again in [air.clone(), server.clone()] {
        let (join, others) = joined(&[air.clone(), laptop.clone(), server.clone(), again]);
        let states: Vec<_> = (1..4).map(|place| join.clock(place)).collect();
        let is_same =
            |state: &&ClockState| matches!(state, ClockState::Aligned { same_as: Some(_), .. });
        assert_eq!(states.iter().filter(is_same).count(), 1, "{states:?}");
        assert_eq!(essence(&ways), essence(&others));
    }
}

/// Losses in a queue before the air, on the air and on the wire behind it, in both directions: each
/// copy of a segment has its true fate, and so has the previous copy of each retransmission.
#[test]
fn losses_are_where_they_were() {
    let lossy = "../crates/capture/tests/truth/lossy.toml";
    let scene = Scene::with_nodes("losses", lossy, &[]);
    let run_ns = 6_000_000_000;
    let (join, ways) = joined(&three(&scene));
    let fate_of = |truth: &PacketTruth| {
        if truth.arrived_ns.is_some() {
            WayFate::Arrived
        } else if !truth.dropped {
            WayFate::Unknown
        } else if truth.ppdus.is_empty() {
            WayFate::LostBefore
        } else if truth.ppdus.iter().any(|(_, _, received)| *received) {
            WayFate::LostBehind
        } else {
            WayFate::LostOnAir
        }
    };
    let mut seen: BTreeMap<WayFate, u64> = BTreeMap::new();
    let mut sent_again: BTreeMap<WayFate, u64> = BTreeMap::new();
    for (name, node, port) in [(LAPTOP, 1, 45_000u16), (SERVER, 2, 45_001)] {
        let address = node as u8 + 1;
        let sender = packets(&scene.file(name));
        let truths = sent_by(&scene, node, &sender);
        let of_sender = |way: &&SegmentWay| {
            let mut flows = join.flows();
            let (_, key, _) = flows.find(|(flow, ..)| *flow == way.flow).unwrap();
            key.ends[usize::from(way.back)] == ([10, 0, 0, address], port).into()
        };
        for way in ways.iter().filter(of_sender) {
            let truth = truths[&way.left_frame.unwrap()];
            let is = fate_of(truth);
            if way.fate == WayFate::Unknown || is == WayFate::Unknown {
                assert!(truth.sent_ns > run_ns - 500_000_000, "{way:?} {truth:?}");
                continue;
            }
            assert_eq!(way.fate, is, "{way:?}\n{truth:?}");
            *seen.entry(is).or_default() += 1;
        }
        // What the sender has sent again, by its own capture.
        let mut latest: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for (number, packet) in sender.iter().enumerate() {
            let bytes = &packet.bytes;
            let header = usize::from(bytes[46] >> 4) * 4;
            let is_data = bytes[26..30] == [10, 0, 0, address]
                && bytes[23] == 6
                && bytes[34..36] == port.to_be_bytes()
                && packet.length as usize > 34 + header;
            if !is_data {
                continue;
            }
            if let Some(before) = latest.insert(bytes[38..42].to_vec(), number) {
                let truth = truths[&(before as u64 + 1)];
                *sent_again.entry(fate_of(truth)).or_default() += 1;
            }
        }
    }
    let mut found: BTreeMap<WayFate, u64> = BTreeMap::new();
    for (_, _, directions) in join.flows() {
        for view in directions.iter().flatten() {
            assert_eq!(view.tally.sent_again_unknown, 0);
            for fate in
                [WayFate::Arrived, WayFate::LostBefore, WayFate::LostOnAir, WayFate::LostBehind]
            {
                let count = view.tally.sent_again[fate as usize];
                if count > 0 {
                    *found.entry(fate).or_default() += count;
                }
            }
        }
    }
    println!("{seen:?}, sent again {sent_again:?}");
    assert_eq!(found, sent_again);
    for fate in [WayFate::LostBefore, WayFate::LostOnAir, WayFate::LostBehind] {
        assert!(seen[&fate] >= 10 && sent_again[&fate] >= 10, "{seen:?} {sent_again:?}");
    }
}

proptest! {
    /// Any segments at any times in two files can be analysed, and the results can be written.
    #[test]
    fn nothing_panics(
        sent in prop::collection::vec(segment(), 1..60),
        turns in prop::collection::vec((any::<u8>(), prop_oneof![Just(0u64), any::<u64>()]), 1..60),
    ) {
        let other: Vec<_> = sent.iter().cycle().zip(&turns).take(60).map(|(packet, (turn, at))| {
            let mut packet = packet.clone();
            let place = usize::from(*turn) % packet.bytes.len();
            packet.bytes[place] ^= turn & 3;
            packet.at_ns = if *at == 0 { packet.at_ns.saturating_add(1_000) } else { *at };
            packet
        }).collect();
        let files = [files::raw(&sent), files::raw(&other), files::raw(&sent)];
        let (join, ways) = joined(&files);
        let analysis = lasthop_capture::analysis::Analysis::default();
        let file = || JoinedFile { name: "x", analysis: &analysis };
        let document = JoinedSummary::new(&[file(), file(), file()], &join, Again::Done);
        prop_assert!(serde_json::to_string(&document).is_ok());
        prop_assert!(ways.len() <= 180);
    }
}

/// A segment of TCP in Ethernet, with few numbers, so that many are alike.
fn segment() -> impl Strategy<Value = Packet> {
    let small = || 0u32..4;
    let at = prop_oneof![0u64..10_000_000_000, any::<u64>()];
    let fields = (any::<bool>(), small(), small(), 0u8..32, 0u16..3_000, any::<bool>());
    (at, fields, any::<u32>()).prop_map(|(at_ns, fields, length)| {
        let (back, sequence, acknowledges, flags, payload, said) = fields;
        let mut bytes = vec![2; 12];
        let total = if said { 40 + payload } else { 0 };
        bytes.extend([8, 0, 0x45, 0]);
        bytes.extend(total.to_be_bytes());
        bytes.extend([0, flags, 0, 0, 64, 6, 0, 0]);
        let ends = [[10, 0, 0, 1], [10, 0, 0, 2]];
        let ports = [[1, 0], [2, 0]];
        let [from, to] = [usize::from(back), usize::from(!back)];
        bytes.extend(ends[from].iter().chain(&ends[to]));
        bytes.extend(ports[from].iter().chain(&ports[to]));
        bytes.extend(((sequence << 30) | (sequence * 700)).to_be_bytes());
        bytes.extend((acknowledges << 30).to_be_bytes());
        bytes.extend([5 << 4, flags, 1, 0, 0, 0, 0, 0]);
        let length = if said { 54 + u32::from(payload) } else { length };
        Packet { at_ns, link: 1, bytes, length }
    })
}

/// Two hosts without a monitor between them: lost segments are lost between them, with no other
/// details. Segments equal those in the monitor's capture.
#[test]
fn without_a_monitor_losses_are_between() {
    let lossy = "../crates/capture/tests/truth/lossy.toml";
    let scene = Scene::with_nodes("wired", lossy, &["duration=\"4s\""]);
    let [air, laptop, server] = three(&scene);
    let (_, with_air) = joined(&[air, laptop.clone(), server.clone()]);
    let (join, ways) = joined(&[laptop, server]);
    assert_eq!(join.reference(), Some(0));
    let count = |ways: &[SegmentWay], fates: &[WayFate]| {
        ways.iter().filter(|way| fates.contains(&way.fate)).count()
    };
    let lost = [WayFate::LostBefore, WayFate::LostOnAir, WayFate::LostBehind];
    assert_eq!(count(&ways, &lost), 0);
    assert_eq!(count(&ways, &[WayFate::LostBetween]), count(&with_air, &lost));
    assert_eq!(count(&ways, &[WayFate::Arrived]), count(&with_air, &[WayFate::Arrived]));
    assert!(count(&ways, &[WayFate::LostBetween]) > 30);
    assert!(ways.iter().all(|way| way.attempts == 0 && way.wait_ns().is_none()));
    let (_, bound) = clock(&join, 1);
    let error = clock_error_ns(&join, 1, FAST, SLOW, 4_000_000_000);
    assert!(Some(error) <= bound, "{error} {bound:?}");
}

/// From one station to another an access point relays: each segment is on the air twice, and counts
/// once, with all its attempts.
#[test]
fn relayed_segments_count_once() {
    let relay = "../crates/capture/tests/truth/relay.toml";
    let scene = Scene::with_nodes("relay", relay, &[]);
    let by = |name: &str, clock| pcap(&packets(&scene.file(name)), clock);
    let files = [by("air.pcapng", RIGHT), by("node-a.pcapng", SLOW), by("node-b.pcapng", FAST)];
    let (join, ways) = joined(&files);
    for (place, wrong) in [(1, SLOW), (2, FAST)] {
        let error = clock_error_ns(&join, place, wrong, RIGHT, 2_000_000_000);
        let (line, bound) = clock(&join, place);
        assert!(Some(error) <= bound, "{error} ns, {line:?}");
    }
    let truths = sent_by(&scene, 1, &packets(&scene.file("node-a.pcapng")));
    let mut relayed = 0;
    for way in &ways {
        let truth = truths[&way.left_frame.unwrap()];
        let at_end = truth.sent_ns > 1_500_000_000;
        assert!(at_end || way.attempts as usize == truth.ppdus.len(), "{way:?} {truth:?}");
        assert!(at_end || way.fate == WayFate::Arrived || truth.dropped, "{way:?} {truth:?}");
        relayed += u32::from(way.hops == 2 && way.fate == WayFate::Arrived);
    }
    assert!(relayed > 1_000, "{relayed}");
}
