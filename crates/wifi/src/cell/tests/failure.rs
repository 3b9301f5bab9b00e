//! Access points that fail and come back.

use super::*;
use crate::event::{Event, FrameKind};
use lasthop_packet::DropReason;

const STATION: StationId = StationId(1);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn two() -> CellConfig {
    let width = ChannelWidth::Mhz20;
    let mut config = cell(1, mcs(4, width, GuardInterval::Long), width, 65_535);
    config.record_events = true;
    config
}

/// Packets in both directions every millisecond for a second; the access point fails from 300.5 to
/// 700.5 ms. Beacons, answers and deliveries are there outside of this time only, and each packet
/// comes to an end.
#[test]
fn nothing_comes_from_an_access_point_that_failed() {
    let mut cell = Cell::new(&two(), Seed::new(1, 0)).expect("a sound cell");
    let (failure, return_) =
        (at(300) + Duration::from_micros(500), at(700) + Duration::from_micros(500));
    let (mut arrived, mut lost, mut sent) = (Vec::new(), Vec::new(), 0);
    let mut step = |cell: &mut Cell, until: Instant| {
        while let Some((due, _)) = cell.poll_timeout().filter(|(due, _)| *due <= until) {
            cell.handle_timeout(due);
        }
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { at, station, packet } => arrived.push((at, station, packet)),
                Output::Dropped { at, station, packet, reason } => {
                    lost.push((at, station, packet, reason));
                }
                _ => panic!("{output:?}"),
            }
        }
    };
    for millis in 0..1_000 {
        for (from, to) in [(AP, STATION), (STATION, AP)] {
            cell.handle_packet(
                at(millis),
                from,
                Address::Station(to),
                Packet::new(sent, 500, at(millis)),
            );
            sent += 1;
        }
        step(&mut cell, at(millis) + Duration::from_micros(499));
        if at(millis) == at(300) {
            cell.change_failure(failure, AP, true).expect("an access point");
        } else if at(millis) == at(700) {
            cell.change_failure(return_, AP, false).expect("an access point");
        }
        step(&mut cell, at(millis) + Duration::from_micros(999));
    }
    step(&mut cell, at(3_000));
    let last_exchange = Duration::from_millis(6);
    let is_down = |at: Instant| at > failure + last_exchange && at < return_;
    assert_eq!(arrived.len() + lost.len(), sent as usize, "each comes to an end");
    assert!(arrived.iter().all(|(at, ..)| !is_down(*at)), "{arrived:?}");
    for station in [AP, STATION] {
        let all = arrived.iter().filter(|(_, of, _)| *of == station);
        let (before, after): (Vec<&_>, Vec<&_>) =
            all.partition(|(at, ..)| *at <= failure + last_exchange);
        assert!(before.len() > 290 && after.len() > 290, "{} {}", before.len(), after.len());
    }
    // The access point loses those that it has at the failure, and those that come until it is back.
    let own: Vec<_> = lost.iter().filter(|(_, of, ..)| *of == AP).collect();
    assert!(own.len() > 390, "{}", own.len());
    assert!(own.iter().all(|(.., reason)| *reason == DropReason::Failed));
    for (lost, _, packet, _) in own {
        let is_there = packet.created < failure;
        assert!(*lost < return_ && (is_there || *lost == packet.created), "{packet:?}");
    }
    let of_down = arrived
        .iter()
        .filter(|(at, of, packet)| *of == STATION && *at >= return_ && packet.created < return_);
    assert_eq!(of_down.count(), 0);
    let events = core::iter::from_fn(|| cell.poll_event());
    let mut beacons = Vec::new();
    for event in events {
        let Event::Ppdu(ppdu) = event else { continue };
        if ppdu.transmitter == AP {
            assert!(!is_down(ppdu.start), "{ppdu:?}");
            if ppdu.frames().any(|frame| matches!(frame.kind, FrameKind::Beacon { .. })) {
                beacons.push(ppdu.start);
            }
        }
    }
    // Beacons are due each 102.4 ms: two before, and from the seventh on after it.
    let due = |n: u64| Instant::ZERO + Duration::from_micros(102_400) * n;
    for (beacon, n) in beacons.iter().zip([1, 2, 7, 8, 9, 10]) {
        assert!(*beacon >= due(n) && *beacon < due(n) + Duration::from_millis(6), "{beacons:?}");
    }
}

#[test]
fn only_access_points_fail() {
    let mut config = two();
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    assert_eq!(cell.change_failure(at(1), STATION, true), Err(AdjustError::Failure));
    config.stations[1].failed = true;
    assert_eq!(Cell::new(&config, Seed::new(1, 0)).map(|_| ()), Err(CellError::Fails));
}

/// An access point that failed before the start, comes back, and fails again at once: the same as
/// one without packets.
#[test]
fn failures_begin_and_end_at_any_time() {
    let mut config = two();
    config.stations[0].failed = true;
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    cell.handle_packet(at(0), STATION, Address::Station(AP), Packet::new(0, 500, at(0)));
    cell.handle_timeout(at(500));
    assert!(matches!(
        cell.poll_output(),
        Some(Output::Dropped { reason: DropReason::RetryLimit, .. })
    ));
    for (millis, failed) in [(500, false), (500, true), (510, true), (520, false), (530, false)] {
        cell.handle_timeout(at(millis));
        cell.change_failure(at(millis), AP, failed).expect("an access point");
    }
    cell.handle_timeout(at(600));
    cell.handle_packet(at(600), AP, Address::Station(STATION), Packet::new(1, 500, at(600)));
    cell.handle_timeout(at(700));
    let output = cell.poll_output();
    assert!(matches!(output, Some(Output::Delivered { station: STATION, .. })), "{output:?}");
    assert_eq!(cell.poll_output(), None);
}
