//! Absences by a clock: frames around them, packets meanwhile, and waits against the closed form.
//!
//! A packet that arrives at any time waits for the rest of the absence in which it arrives: with
//! absences of `a` every `e`, for a * a / (2 * e) on average.

use super::away::{Run, STA, ms, scanning};
use super::*;
use crate::event::{Event, FrameKind, PowerState};
use crate::mac::power_save::{PowerSaveConfig, Retrieval};
use crate::mac::scan::ScanConfig;
use crate::mac::schedule::AbsenceConfig;
use lasthop_packet::DelayParts;

const SECOND: Duration = Duration::from_secs(1);

fn at(ms_: u64) -> Instant {
    Instant::ZERO + ms(ms_)
}

/// Absences of 90 ms twice a second, as of AWDL.
fn awdl(announced: bool) -> AbsenceConfig {
    AbsenceConfig { start: ms(230), away: ms(90), every: Some(ms(500)), announced, channel: None }
}

/// An access point and a station, of which `absent` has these absences. Nothing is given up.
fn leaving(absent: StationId, absences: &[AbsenceConfig]) -> CellConfig {
    let mut config = scanning(super::away::scan());
    config.stations[STA.index()].scan = None;
    config.stations[absent.index()].absences = absences.to_vec();
    for station in &mut config.stations {
        station.retry_limit = 255;
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(9_000) };
    }
    config
}

/// Departures and returns of a station.
fn absences(run: &Run, of: StationId) -> Vec<(Instant, Instant)> {
    let (mut absences, mut left) = (Vec::new(), None);
    for event in &run.events {
        let Event::Power { at, station, state } = event else { continue };
        match state {
            _ if *station != of => {}
            PowerState::Awake => absences.push((left.take().expect("it left"), *at)),
            PowerState::OffChannel | PowerState::Dozing => left = Some(*at),
        }
    }
    absences
}

#[test]
fn null_frames_announce_each_absence() {
    let run = Run::new(&leaving(STA, &[awdl(true)]), AP, ms(7), SECOND * 3);
    let nulls = run.nulls();
    let absences = absences(&run, STA);
    assert!(absences.len() >= 6, "{}", absences.len());
    for (index, (left, back)) in absences.iter().enumerate() {
        let begins = at(230 + 500 * index as u64);
        let [(gone_at, gone), (here_at, here)] = [nulls[2 * index], nulls[2 * index + 1]];
        assert_eq!(gone.kind, FrameKind::Null { power_management: true });
        assert_eq!(here.kind, FrameKind::Null { power_management: false });
        // The clock begins and ends the absence; frames of others go first.
        assert!(gone_at >= begins && gone_at < begins + ms(2), "{index}: {gone_at:?}");
        assert!(*left > gone_at && *left < gone_at + ms(1));
        assert_eq!(*back, begins + ms(90));
        assert!(here_at >= *back && here_at < *back + ms(2));
    }
    // The access point holds packets meanwhile: nothing is sent in vain.
    assert_eq!((run.delivered, run.dropped.len()), (run.sent, 0));
    for (start, end, transmitter, frame) in run.frames() {
        let is_away = absences.iter().any(|(left, back)| start < *back && end > *left);
        assert!(
            !is_away || matches!(frame.kind, FrameKind::Beacon { .. }),
            "{transmitter:?} {frame:?}"
        );
    }
    assert_eq!(run.stats.absences, absences.len() as u64);
    let longest = run.delays.iter().max().expect("packets came");
    assert!((ms(84)..ms(94)).contains(longest), "{longest}");
}

/// Without Null frames the access point sends in vain, and retransmissions go on after the return.
#[test]
fn a_station_that_is_gone_without_notice_loses_time_or_packets() {
    let mut config = leaving(STA, &[awdl(false)]);
    let run = Run::new(&config, AP, ms(7), SECOND * 3);
    assert_eq!((run.nulls().len(), run.dropped.len()), (0, 0));
    let all = absences(&run, STA);
    let exact: Vec<_> = (0..all.len() as u64).map(|n| at(230 + 500 * n)).collect();
    assert!(all.iter().zip(&exact).all(|((left, back), begins)| {
        *left >= *begins && *left < *begins + ms(2) && *back == *begins + ms(90)
    }));
    let in_vain = run.frames().filter(|(start, end, transmitter, frame)| {
        let is_data = matches!(frame.kind, FrameKind::QosData { .. });
        let is_away = all.iter().any(|(left, back)| start >= left && end <= back);
        assert!(!is_away || *transmitter == AP, "{frame:?}");
        assert!(!is_away || !is_data || !frame.received);
        is_away && is_data
    });
    assert!(in_vain.count() > 6 * 5);
    assert!(run.packets.iter().any(|(_, packet)| packet.parts.absent.away() > ms(80)));
    // The usual seven attempts end within the absence.
    config.stations[AP.index()].retry_limit = 7;
    let run = Run::new(&config, AP, ms(7), SECOND * 3);
    assert!(run.dropped.len() >= 6, "{}", run.dropped.len());
    assert!(run.dropped.iter().all(|(_, reason)| *reason == DropReason::RetryLimit));
}

#[test]
fn an_access_point_that_looks_for_radar_sends_no_beacons() {
    let config = leaving(AP, &[awdl(false)]);
    for from in [AP, STA] {
        let run = Run::new(&config, from, ms(7), SECOND * 3);
        assert_eq!((run.nulls().len(), run.delivered), (0, run.sent));
        let all = absences(&run, AP);
        assert!(all.len() >= 6);
        let is_away = |start: Instant, end: Instant| {
            all.iter().any(|(left, back)| start < *back && end > *left)
        };
        for (start, end, transmitter, frame) in run.frames() {
            assert!(transmitter != AP || !is_away(start, end), "{frame:?} at {start:?}");
        }
        let interval = Duration::from_micros(102_400);
        let beacons = run.frames().filter(|(.., f)| matches!(f.kind, FrameKind::Beacon { .. }));
        let beacons: Vec<Instant> = beacons.map(|(start, ..)| start).collect();
        let last = *beacons.last().expect("some were sent") - Instant::ZERO;
        let due = (1..=last.as_nanos() / interval.as_nanos()).map(|n| Instant::ZERO + interval * n);
        let there = due.filter(|at| !is_away(*at, *at + Duration::from_nanos(1))).count();
        assert_eq!(beacons.len(), there);
        assert!(run.packets.iter().any(|(_, packet)| packet.parts.absent.away() > ms(80)));
    }
}

/// Mean of a part over the packets of a run.
fn mean(run: &Run, part: fn(&DelayParts) -> Duration) -> f64 {
    let sum: f64 = run.packets.iter().map(|(_, p)| part(&p.parts).as_secs_f64()).sum();
    sum / run.packets.len() as f64
}

/// Every direction, kind of notice and absent node, to 2 %.
#[test]
fn the_mean_wait_is_that_of_the_closed_form() {
    let often = AbsenceConfig { away: ms(60), every: Some(ms(200)), ..awdl(true) };
    let clocks = [awdl(true), awdl(false), often, AbsenceConfig { announced: false, ..often }];
    for (absent, absence) in clocks.map(|it| (STA, it)).into_iter().chain([(AP, awdl(false))]) {
        let (away, every) = (absence.away.as_secs_f64(), absence.every.expect("a period"));
        let expected = away * away / (2.0 * every.as_secs_f64());
        for from in [AP, STA] {
            let mut config = leaving(absent, &[absence]);
            config.record_events = false;
            // Arrivals have all phases of the clock, in steps of 0.1 ms.
            let run = Run::new(&config, from, Duration::from_micros(13_900), SECOND * 140);
            assert_eq!(run.dropped, []);
            let waited = mean(&run, |parts| parts.absent.away());
            let error = waited / expected - 1.0;
            assert!(error.abs() < 0.02, "{absent:?} {absence:?} {from:?}: {waited}, {error}");
            // Announced, nothing else waits.
            if absence.announced {
                let others = mean(&run, |parts| parts.total() - parts.absent.away());
                assert!(others < 0.001, "{others}");
            }
        }
    }
}

/// Absences of two clocks are one where they touch.
#[test]
fn several_clocks_are_one_schedule() {
    let every = Some(ms(1_000));
    let one = AbsenceConfig { start: ms(100), away: ms(50), every, ..awdl(true) };
    let next = AbsenceConfig { start: ms(150), ..one };
    let apart = AbsenceConfig { start: ms(600), announced: false, ..one };
    let run = Run::new(&leaving(STA, &[one, next, apart]), AP, ms(7), SECOND * 2);
    let lengths: Vec<u64> =
        absences(&run, STA).iter().map(|(left, back)| (*back - *left).as_micros()).collect();
    assert_eq!(lengths.len(), 6, "{lengths:?}");
    for pair in lengths.chunks(2) {
        assert!((99_000..100_000).contains(&pair[0]) && (49_000..=50_000).contains(&pair[1]));
    }
    assert_eq!(run.nulls().len(), 6);
}

/// Bluetooth's slots are shorter than an exchange: an absence that is over by then is left out.
#[test]
fn short_absences_do_not_cut_exchanges() {
    let slots = AbsenceConfig {
        start: ms(1),
        away: Duration::from_micros(1_250),
        every: Some(Duration::from_micros(3_750)),
        ..awdl(false)
    };
    for announced in [false, true] {
        let config = leaving(STA, &[AbsenceConfig { announced, ..slots }]);
        for from in [AP, STA] {
            let run = Run::new(&config, from, Duration::from_micros(700), ms(900));
            assert_eq!((run.delivered, run.dropped.len()), (run.sent, 0));
            let all = absences(&run, STA);
            assert!(all.len() > 100 && all.iter().all(|(left, back)| left < back), "{}", all.len());
        }
    }
}

#[test]
fn a_schedule_has_no_company() {
    let refused = |config: &CellConfig| Cell::new(config, Seed::new(1, 0)).err();
    let sound = leaving(STA, &[awdl(true)]);
    assert_eq!(refused(&sound), None);
    let mut both = sound.clone();
    both.stations[STA.index()].scan = Some(super::away::scan());
    assert_eq!(refused(&both), Some(CellError::ScheduleAndOther));
    let mut both = sound.clone();
    both.stations[STA.index()].power_save =
        Some(PowerSaveConfig::dynamic(ms(100), Retrieval::Wake));
    assert_eq!(refused(&both), Some(CellError::ScheduleAndOther));
    assert_eq!(refused(&leaving(AP, &[awdl(true)])), Some(CellError::AccessPointAnnounces));
    for wrong in [
        AbsenceConfig { away: Duration::ZERO, ..awdl(true) },
        AbsenceConfig { every: Some(ms(90)), ..awdl(true) },
    ] {
        assert_eq!(refused(&leaving(STA, &[wrong])), Some(CellError::AbsenceTime));
    }
    let mut cell = Cell::new(&sound, Seed::new(1, 0)).expect("a sound cell");
    let scan: Option<ScanConfig> = Some(super::away::scan());
    assert_eq!(cell.change_scan(at(1), STA, scan), Err(AdjustError::Scan));
}
