//! Tests of the exact method against the bottleneck of `testbed`, and of the ranges of
//! configurations. The fast method, and records without meaning, have their own test files.

mod fast;
mod garbage;

use super::testbed::{Bed, Kind, TestbedLink, bulk_packets};
use super::*;
use crate::HostClock;
use crate::plan::StreamKind;
use crate::record::Sample;
use crate::report::SizeReport;

fn exact(exact: ExactConfig) -> SurveyConfig {
    SurveyConfig {
        directions: [Direction::Down].into(),
        packet_bytes: [1_500].into(),
        method: Method::Exact(exact),
        discipline: false,
        rate_max_pps: 60_000.0,
    }
}

fn short(step_pps: f64) -> ExactConfig {
    ExactConfig {
        step_pps,
        dwell: Duration::from_secs(4),
        saturation_pps: None,
        sessions: 3,
        time_scale: 0.1,
    }
}

fn run(config: &SurveyConfig, bed: &mut Bed) -> Report {
    config.check().unwrap();
    let mut survey = Survey::new(config.clone());
    bed.run(&mut survey);
    survey.report()
}

/// Asserts the capacity within 2 packets or 3 %.
fn assert_capacity(size: &SizeReport, packets: f64) {
    let counted = size.capacity_packets.unwrap().mean;
    let allowed = (0.03 * packets).max(2.0);
    assert!((counted - packets).abs() <= allowed, "{counted} instead of {packets}");
}

#[test]
fn the_paper_is_followed_to_the_letter() {
    let mut bed = Bed::new(Kind::Packets(50), TestbedLink::B, 1);
    let config = exact(ExactConfig { sessions: 2, ..ExactConfig::default() });
    let mut survey = Survey::new(config);
    let mut rates = Vec::new();
    let mut sessions = 0;
    while let Some(phase) = survey.phase() {
        assert_eq!(survey.phase(), Some(phase.clone()));
        if phase.plan.streams.len() == 1 {
            assert_eq!(phase.plan.duration(), Duration::from_secs(60));
            rates.push(bulk_packets(&phase.plan) / 60);
        } else {
            sessions += 1;
            let [baseline, bulk] = &phase.plan.streams[..] else { panic!("two flows") };
            assert_eq!((baseline.kind, baseline.packets()), (StreamKind::Sparse, 1_200));
            assert_eq!(
                (bulk.begin.as_nanos(), bulk.end.as_nanos()),
                (30_000_000_000, 90_000_000_000)
            );
            assert_eq!(bulk.packets() / 60, rates[rates.len() - 2]);
        }
        survey.handle_record(&bed.phase(&phase));
    }
    assert_eq!(sessions, 2);
    assert!(rates.iter().enumerate().all(|(index, &rate)| rate == 50 * (index as u64 + 1)));
    let report = survey.report();
    let size = &report.directions[0].sizes[0];
    let lossy: Vec<_> = size.search.iter().map(|load| load.loss >= 0.2).collect();
    assert_eq!(&lossy[lossy.len() - 4..], [false, true, true, true]);
    assert_capacity(size, 50.0);
    assert!((size.equation_1_packets.unwrap().mean - 50.0).abs() < 2.0);
    assert_eq!(size.search[0].queueing_delay.as_secs_f64().max(0.002), 0.002);
}

#[test]
fn bounds_are_found_from_few_packets_to_many_and_under_aggregation() {
    for (limit, link, step) in [
        (5, TestbedLink::B, 50.0),
        (338, TestbedLink::B, 50.0),
        (1_000, TestbedLink::B, 50.0),
        (50, TestbedLink::N, 400.0),
        (100, TestbedLink::N, 400.0),
        (1_000, TestbedLink::N, 400.0),
    ] {
        for packet_bytes in [750, 1_500] {
            let mut config = exact(short(step));
            if limit == 1_000 {
                config.method = Method::Exact(ExactConfig { time_scale: 0.3, ..short(step) });
            }
            config.packet_bytes = [packet_bytes].into();
            let report = run(&config, &mut Bed::new(Kind::Packets(limit), link, limit as u64));
            assert_capacity(&report.directions[0].sizes[0], limit as f64);
        }
    }
}

#[test]
fn the_discipline_is_found_out_if_asked_for() {
    use crate::report::Discipline;
    let mut config = exact(short(100.0));
    for (kind, verdict) in
        [(Kind::Packets(60), Discipline::DropTail), (Kind::FqCoDel(1_000), Discipline::FqCoDel)]
    {
        for asked in [false, true] {
            config.discipline = asked;
            let report = run(&config, &mut Bed::new(kind, TestbedLink::B, 3));
            let told = report.directions[0].discipline.map(|judgement| judgement.verdict);
            assert_eq!(told, asked.then_some(verdict));
        }
    }
}

#[test]
fn bytes_are_counted() {
    let report = run(&exact(short(50.0)), &mut Bed::new(Kind::Bytes(100_000), TestbedLink::B, 2));
    let size = &report.directions[0].sizes[0];
    assert_capacity(size, 66.0);
    let (packets, bytes) = (size.capacity_packets.unwrap().mean, size.capacity_bytes.unwrap().mean);
    assert!((bytes - 1_500.0 * packets).abs() < 1e-6);
}

#[test]
fn clocks_that_are_apart_and_drift_change_nothing() {
    let config = exact(short(100.0));
    let of = |sender, receiver| {
        let mut bed = Bed::new(Kind::Packets(60), TestbedLink::B, 5);
        (bed.sender, bed.receiver) = (sender, receiver);
        run(&config, &mut bed)
    };
    let clock = |offset_ns, drift_ppm| HostClock { offset_ns, drift_ppm };
    let plain = of(clock(0, 0), clock(0, 0));
    let plain = &plain.directions[0].sizes[0];
    for (sender, receiver) in [
        (clock(u64::MAX - 3_000_000_000, 0), clock(0, 0)),
        (clock(0, 0), clock(36_000_000_000_000, 200)),
        (clock(u64::MAX / 2, 200), clock(u64::MAX - 20_000_000_000, 0)),
    ] {
        let other = of(sender, receiver);
        let other = &other.directions[0].sizes[0];
        assert_eq!(plain.saturation_pps, other.saturation_pps);
        let pairs = [
            (plain.capacity_packets, other.capacity_packets),
            (plain.equation_1_packets, other.equation_1_packets),
            (plain.queueing_delay_ns, other.queueing_delay_ns),
        ];
        for (a, b) in pairs.map(|(a, b)| (a.unwrap().mean, b.unwrap().mean)) {
            assert!((a - b).abs() < 0.01 * a, "{a} and {b}");
        }
        for (a, b) in plain.search.iter().zip(&other.search) {
            let apart = a.queueing_delay.as_secs_f64() - b.queueing_delay.as_secs_f64();
            assert!(apart.abs() < 0.001, "{} and {}", a.queueing_delay, b.queueing_delay);
        }
    }
}

#[test]
fn a_link_that_is_too_fast_is_never_saturated() {
    let mut config = exact(short(50.0));
    config.rate_max_pps = 400.0;
    let report = run(&config, &mut Bed::new(Kind::Packets(50), TestbedLink::B, 1));
    let direction = &report.directions[0];
    assert_eq!(direction.sizes[0].saturation_pps, None);
    assert_eq!(direction.sizes[0].search.len(), 8);
    assert!(direction.doubts.contains(&crate::report::Doubt::NeverSaturated));
}

#[test]
fn no_more_is_sent_than_was_said_and_progress_ends() {
    let mut config = exact(short(100.0));
    config.directions = [Direction::Up, Direction::Down].into();
    let mut survey = Survey::new(config);
    let (packets, bytes, time) = survey.volume_max();
    assert_eq!(survey.progress(), Progress { done: Duration::ZERO, left_max: time });
    let mut bed = Bed::new(Kind::Packets(30), TestbedLink::B, 1);
    let (mut packets_sent, mut bytes_sent) = (0, 0);
    while let Some(phase) = survey.phase() {
        packets_sent += phase.plan.packets();
        bytes_sent += phase.plan.bytes();
        let before = survey.progress();
        survey.handle_record(&bed.phase(&phase));
        let after = survey.progress();
        assert_eq!(after.done, before.done + phase.plan.duration());
        assert!(after.left_max < before.left_max);
    }
    let progress = survey.progress();
    assert!(packets_sent <= packets && bytes_sent <= bytes && progress.done <= time);
    assert_eq!(progress.left_max, Duration::ZERO);
    assert_eq!(survey.report().directions.len(), 2);
}

#[test]
fn senseless_configurations_are_refused() {
    let good = exact(ExactConfig::default());
    assert_eq!(good.check(), Ok(()));
    let refused = |change: fn(&mut SurveyConfig)| {
        let mut config = good.clone();
        change(&mut config);
        config.check().unwrap_err();
    };
    refused(|c| c.directions.clear());
    refused(|c| c.directions = [Direction::Up, Direction::Up].into());
    refused(|c| c.packet_bytes.clear());
    refused(|c| c.packet_bytes = [1_500, 1_500].into());
    refused(|c| c.packet_bytes = [60].into());
    refused(|c| c.rate_max_pps = f64::NAN);
    refused(|c| c.rate_max_pps = 0.0);
    refused(|c| c.method = Method::Exact(ExactConfig { time_scale: 0.0, ..Default::default() }));
    refused(|c| {
        c.method = Method::Exact(ExactConfig { step_pps: f64::INFINITY, ..Default::default() })
    });
    refused(|c| {
        c.method = Method::Exact(ExactConfig { saturation_pps: Some(1e5), ..Default::default() })
    });
    refused(|c| c.method = Method::Fast(FastConfig { precision: 0.0, ..Default::default() }));
    refused(|c| {
        c.method = Method::Fast(FastConfig { duration_max: Duration::ZERO, ..Default::default() })
    });
}

#[test]
fn copies_and_another_order_change_nothing() {
    let phase = || {
        let config = exact(ExactConfig { saturation_pps: Some(800.0), ..short(50.0) });
        (Survey::new(config.clone()), Bed::new(Kind::Packets(40), TestbedLink::B, 3))
    };
    let (mut plain, mut bed) = phase();
    let record = bed.phase(&plain.phase().unwrap());
    let mut shuffled = record.clone();
    let again: Vec<_> = record.samples.iter().step_by(7).copied().collect();
    shuffled
        .samples
        .extend(again.iter().map(|s| Sample { received_ns: s.received_ns + 10_000, ..*s }));
    for pair in shuffled.samples.chunks_exact_mut(2).skip(3) {
        pair.reverse();
    }
    let (mut other, _) = phase();
    plain.handle_record(&record);
    other.handle_record(&shuffled);
    let (a, b) = (plain.report(), other.report());
    let counted = |report: &Report| report.directions[0].sizes[0].sessions[0].counted_packets;
    assert_eq!(counted(&a), counted(&b));
}

#[test]
fn nothing_that_arrives_ends_a_survey_all_the_same() {
    let mut survey = Survey::new(exact(short(1_000.0)));
    let mut phases = 0;
    while let Some(phase) = survey.phase() {
        survey.handle_record(&PhaseRecord {
            direction: phase.direction,
            plan: phase.plan,
            started_ns: 0,
            counts: Vec::new(),
            samples: Vec::new(),
            duplicates: 0,
        });
        phases += 1;
    }
    assert_eq!(phases, 6);
    assert!(survey.report().directions[0].sizes[0].sessions.is_empty());
}

#[test]
fn every_queue_is_survived() {
    let kinds = [Kind::CoDel(500), Kind::FqCoDel(500), Kind::FairDropTail(80), Kind::Early(90)];
    for kind in kinds {
        for link in [TestbedLink::B, TestbedLink::WIRE] {
            let report = run(&exact(short(200.0)), &mut Bed::new(kind, link, 1));
            assert_eq!(report.directions[0].sizes[0].sessions.len(), 3, "{kind:?}");
        }
    }
}
