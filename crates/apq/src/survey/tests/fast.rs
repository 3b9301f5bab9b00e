//! Tests of the fast method against the bottleneck of `testbed`: capacities and
//! disciplines of queues behind Wi-Fi links of several generations and a wire, and
//! the doubts that disturbances must raise. Rates are in packets per second.

use super::*;
use crate::report::{DirectionReport, Discipline, Doubt, Unit};

/// 802.11g at 54 Mb/s.
const G: TestbedLink = TestbedLink {
    overhead: Duration::from_micros(100),
    backoff_slots: 15,
    slot: Duration::from_micros(9),
    rate_bps: 54e6,
    aggregate: 1,
};

/// Time needed by hosts between two phases, in seconds: packets in flight, the record, two more
/// round trips.
const PAUSE_S: f64 = 0.5;

pub(super) fn config() -> SurveyConfig {
    SurveyConfig {
        packet_bytes: [1_500, 750].into(),
        method: Method::Fast(FastConfig::default()),
        ..exact(ExactConfig::default())
    }
}

fn measure(bed: &mut Bed) -> DirectionReport {
    let mut survey = Survey::new(config());
    let mut phases = 0;
    while let Some(phase) = survey.phase() {
        survey.handle_record(&bed.phase(&phase));
        phases += 1;
    }
    let mut report = survey.report();
    let seconds = report.directions[0].measured.as_secs_f64() + PAUSE_S * f64::from(phases);
    assert!(seconds < 60.0, "took {seconds} s");
    report.directions.remove(0)
}

#[test]
fn bounds_are_found_in_a_minute() {
    for (limit, link) in [
        (50, TestbedLink::B),
        (100, TestbedLink::B),
        (338, TestbedLink::B),
        (1_000, TestbedLink::B),
        (50, TestbedLink::N),
        (100, TestbedLink::N),
        (338, TestbedLink::N),
        (1_000, TestbedLink::N),
        (338, G),
    ] {
        let report = measure(&mut Bed::new(Kind::Packets(limit), link, limit as u64));
        for size in &report.sizes {
            assert_capacity(size, limit as f64);
        }
        if limit <= 350 {
            assert_eq!(report.doubts, [], "{limit} packets");
        }
    }
}

#[test]
fn forty_cases_are_told_apart() {
    // Light traffic: other hosts use 8 % of the airtime.
    for (link, limit, rate) in [
        (TestbedLink::B, 60, 560.0),
        (TestbedLink::B, 338, 560.0),
        (TestbedLink::N, 100, 5_000.0),
        (TestbedLink::N, 338, 5_000.0),
        (G, 100, 2_500.0),
    ] {
        for others in [0.0, 0.08] {
            for (kind, discipline, unit) in [
                (Kind::Packets(limit), Discipline::DropTail, Unit::Packets),
                (Kind::Bytes(limit as u64 * 1_500), Discipline::DropTail, Unit::Bytes),
                (Kind::CoDel(1_000), Discipline::CoDel, Unit::CannotTell),
                (Kind::FqCoDel(8_192), Discipline::FqCoDel, Unit::CannotTell),
            ] {
                let mut bed = Bed::new(kind, link, limit as u64);
                bed.others_pps = others * rate;
                let report = measure(&mut bed);
                let verdicts =
                    (report.discipline.unwrap().verdict, report.limit_unit.unwrap().verdict);
                assert_eq!(verdicts, (discipline, unit), "{kind:?}, {link:?}, others {others}");
            }
        }
    }
}

#[test]
fn a_fair_queue_with_a_bound_is_told_too() {
    for link in [TestbedLink::B, TestbedLink::N, G] {
        let report = measure(&mut Bed::new(Kind::FairDropTail(120), link, 3));
        assert_eq!(report.discipline.unwrap().verdict, Discipline::FairDropTail);
        assert!(report.driver_queue_packets.unwrap().mean < 2.0 * link.aggregate as f64);
        assert_capacity(&report.sizes[0], 120.0);
    }
}

#[test]
fn what_it_was_not_made_for_is_not_told_wrong() {
    // A queue that drops early.
    for link in [TestbedLink::B, TestbedLink::N, G] {
        let report = measure(&mut Bed::new(Kind::Early(100), link, 1));
        assert_eq!(report.discipline.unwrap().verdict, Discipline::CannotTell);
    }
    // A link that becomes slower midway, and one of which other hosts use half.
    for kind in [Kind::Packets(100), Kind::CoDel(1_000), Kind::FqCoDel(1_000)] {
        let own = match kind {
            Kind::Packets(_) => Discipline::DropTail,
            Kind::CoDel(_) => Discipline::CoDel,
            _ => Discipline::FqCoDel,
        };
        let mut slower = Bed::new(kind, TestbedLink::B, 2);
        slower.slows = Some((3.0, 2.0));
        let mut shared = Bed::new(kind, TestbedLink::B, 2);
        shared.others_pps = 280.0;
        for bed in [&mut slower, &mut shared] {
            let verdict = measure(bed).discipline.unwrap().verdict;
            assert!(verdict == own || verdict == Discipline::CannotTell, "{kind:?}: {verdict:?}");
        }
    }
}

#[test]
fn a_sender_that_is_too_slow_is_found_out() {
    let mut bed = Bed::new(Kind::Packets(100), TestbedLink::B, 1);
    bed.sender_max_pps = 300.0;
    let report = measure(&mut bed);
    assert_eq!(report.discipline.unwrap().verdict, Discipline::CannotTell);
    assert_eq!(report.limit_unit.unwrap().verdict, Unit::CannotTell);
    let behind = |doubt: &Doubt| matches!(doubt, Doubt::SenderIsBottleneck(_));
    assert!(report.doubts.contains(&Doubt::NeverSaturated));
    assert!(report.doubts.iter().any(behind), "{:?}", report.doubts);
}

#[test]
fn a_wire_is_not_taken_for_wifi() {
    let report = measure(&mut Bed::new(Kind::Packets(100), TestbedLink::WIRE, 1));
    assert!(matches!(report.doubts[..], [Doubt::BottleneckNotWifi(_)]), "{:?}", report.doubts);
}

#[test]
fn a_link_that_varies_is_found_out() {
    let mut bed = Bed::new(Kind::Packets(100), TestbedLink::B, 1);
    bed.slows = Some((4.0, 1.6));
    let doubts = measure(&mut bed).doubts;
    let unsteady = |doubt: &Doubt| matches!(doubt, Doubt::ThroughputUnsteady(_));
    assert!(doubts.iter().any(unsteady), "{doubts:?}");
}

#[test]
fn clocks_change_nothing() {
    let of = |offset_ns, drift_ppm| {
        let mut bed = Bed::new(Kind::Packets(80), TestbedLink::B, 9);
        bed.receiver = HostClock { offset_ns, drift_ppm };
        measure(&mut bed)
    };
    let plain = of(0, 0);
    for (offset, drift) in [(u64::MAX - 7_000_000_000, 200), (86_400_000_000_000, -200)] {
        let other = of(offset, drift);
        assert_eq!(plain.discipline, other.discipline);
        assert_eq!(plain.limit_unit, other.limit_unit);
        for (a, b) in plain.sizes.iter().zip(&other.sizes) {
            let (a, b) = (a.capacity_packets.unwrap().mean, b.capacity_packets.unwrap().mean);
            assert!((a - b).abs() <= 0.5, "{a} and {b}");
        }
    }
}

#[test]
fn a_queue_that_is_too_big_for_the_time_is_doubted() {
    let slow = TestbedLink { rate_bps: 1.2e6, ..TestbedLink::B };
    let report = measure(&mut Bed::new(Kind::Packets(2_000), slow, 1));
    let imprecise = |doubt: &Doubt| matches!(doubt, Doubt::Imprecise(_));
    assert!(report.doubts.iter().any(imprecise), "{:?}", report.doubts);
}
