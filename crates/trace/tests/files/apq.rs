//! The document of a measured queue, compared with the report from which it is made and
//! with its JSON Schema; and the rows of `samples.parquet`, read with the `parquet`
//! crate.

use crate::scene;
use crate::tables::{columns, documented_columns, field, rows};
use lasthop_apq::plan::{PhasePlan, StreamPlan};
use lasthop_apq::report::{
    DirectionReport, Discipline, Doubt, Estimate, Judgement, LoadPoint, Report, SessionReport,
    SizeReport, Unit,
};
use lasthop_apq::{Direction, PhaseRecord, Sample, StreamKind};
use lasthop_trace::{
    ApqDocument, ApqMethod, ApqSample, ApqWay, OutputDir, SamplesWriter, apq_schema,
};
use lasthop_units::Duration;
use serde_json::{Value, json};

fn estimate(mean: f64) -> Option<Estimate> {
    Some(Estimate { mean, half_width: Some(mean / 100.0), values: 5 })
}

/// A report in which every field is present.
fn report() -> Report {
    let session = SessionReport {
        equation_1_packets: 49.5,
        counted_packets: 50.0,
        throughput_bps: 6_700_000.0,
        queueing_delay_ns: 94_000_000.0,
        loss: 0.4,
        drift_ppm: -12.5,
    };
    let size = SizeReport {
        packet_bytes: 1_500,
        search: vec![LoadPoint {
            offered_pps: 100.0,
            received_pps: 99.0,
            loss: 0.01,
            queueing_delay: Duration::from_micros(2_500),
        }],
        saturation_pps: Some(900.0),
        sessions: vec![session],
        capacity_packets: estimate(50.0),
        capacity_bytes: estimate(75_000.0),
        equation_1_packets: estimate(49.5),
        throughput_bps: estimate(6_700_000.0),
        queueing_delay_ns: Some(Estimate { mean: 94e6, half_width: None, values: 1 }),
    };
    let down = DirectionReport {
        direction: Direction::Down,
        sizes: vec![size],
        limit_unit: Some(Judgement { verdict: Unit::CannotTell, confidence: 0.5 }),
        discipline: Some(Judgement { verdict: Discipline::FqCoDel, confidence: 0.99 }),
        driver_queue_packets: estimate(3.0),
        doubts: vec![Doubt::NeverSaturated, Doubt::SenderIsBottleneck(0.8)],
        measured: Duration::from_secs(40),
    };
    let up = DirectionReport {
        direction: Direction::Up,
        sizes: Vec::new(),
        limit_unit: None,
        discipline: None,
        driver_queue_packets: None,
        doubts: Vec::new(),
        measured: Duration::ZERO,
    };
    Report { directions: vec![down, up] }
}

#[test]
fn a_document_has_units_in_its_names() {
    let document = ApqDocument::new("server", ApqMethod::Fast, &report(), 41.5);
    let value: Value = serde_json::from_str(&document.to_json()).unwrap();
    let schema = apq_schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert!(!validator.is_valid(&json!({ "host": "server" })), "it refuses something");

    let down = &value["directions"][0];
    assert_eq!(down["direction"], "down");
    assert_eq!(down["trusted"], false);
    assert_eq!(down["doubts"][1]["kind"], "sender_is_bottleneck");
    assert_eq!(down["unit"], json!({ "verdict": "cannot_tell", "confidence": 0.5 }));
    assert_eq!(down["discipline"]["verdict"], "fq_codel");
    let size = &down["sizes"][0];
    assert_eq!(size["throughput_mbps"], json!({ "mean": 6.7, "ci95": 0.067, "values": 5 }));
    assert_eq!(size["queueing_delay_ms"], json!({ "mean": 94.0, "values": 1 }));
    assert_eq!(size["search"][0]["queueing_delay_ms"], 2.5);
    assert_eq!(size["sessions"][0]["throughput_mbps"], 6.7);
    let up = &value["directions"][1];
    assert_eq!((&up["trusted"], up.get("unit")), (&true.into(), None));
    assert_eq!(serde_json::from_value::<ApqDocument>(value).unwrap(), document);
}

#[test]
fn samples_are_rows() {
    let stream = |kind, packet_bytes, begin| StreamPlan {
        kind,
        packet_bytes,
        interval: Duration::from_millis(10),
        begin: Duration::from_millis(begin),
        end: Duration::from_millis(begin + 20),
    };
    let sample =
        |kind, sequence, sent_ns, received_ns| Sample { kind, sequence, sent_ns, received_ns };
    let record = PhaseRecord {
        direction: Direction::Up,
        plan: PhasePlan {
            streams: vec![
                stream(StreamKind::Sparse, 100, 0),
                stream(StreamKind::Bulk, 1_500, 0),
                stream(StreamKind::Bulk, 750, 20),
            ],
        },
        started_ns: 5_000,
        counts: Vec::new(),
        samples: vec![
            sample(StreamKind::Sparse, 0, 5_000, 1_000),
            sample(StreamKind::Bulk, 0, 6_000, 9_000),
            sample(StreamKind::Bulk, 2, 7_000, 9_500),
        ],
        duplicates: 0,
    };
    let path = scene::scratch("samples");
    let mut directory = OutputDir::create(&*path).unwrap();
    let mut writer = SamplesWriter::new(&mut directory).unwrap();
    writer.phase(0, &PhaseRecord { samples: Vec::new(), ..record.clone() }).unwrap();
    writer.phase(1, &record).unwrap();
    writer.close().unwrap();
    directory.commit().unwrap();

    let file = path.join("samples.parquet");
    assert_eq!(documented_columns("samples.parquet"), columns(&file));
    let rows = rows(&file);
    let column = |name: &str| -> Vec<Value> { rows.iter().map(|row| field(row, name)).collect() };
    assert_eq!(column("phase"), [1, 1, 1]);
    assert_eq!(column("direction"), ["up", "up", "up"]);
    assert_eq!(column("kind"), ["sparse", "bulk", "bulk"]);
    assert_eq!(column("packet_bytes"), [100, 1_500, 750]);
    assert_eq!(column("sequence"), [0, 0, 2]);
    assert_eq!(column("delay_ns"), [-4_000, 3_000, 2_500]);
    let samples = ApqSample::read(&file).unwrap();
    let read: Vec<_> =
        samples.iter().map(|it| (it.is_bulk, it.packet_bytes, it.delay_ns)).collect();
    assert_eq!(read, [(false, 100, -4_000), (true, 1_500, 3_000), (true, 750, 2_500)]);
    assert!(samples.iter().all(|sample| (sample.phase, sample.direction) == (1, ApqWay::Up)));
    let sent: Vec<Value> = samples.iter().map(|sample| sample.sent_ns.into()).collect();
    assert_eq!(sent, column("sent_ns"));
}
