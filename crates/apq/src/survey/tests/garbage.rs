//! Tests with arbitrary records. Records come from the network, so no content of
//! them may cause a panic, and drift of clocks must not change results. Leaves out
//! datagrams, which the tests of `wire` cover.

use super::*;
use crate::record::StreamCount;
use proptest::prelude::*;

fn garbage() -> impl Strategy<Value = PhaseRecord> {
    let number = prop_oneof![0_u64..100_000, any::<u64>(), 0_u64..20_000_000_000];
    let sample = (any::<bool>(), prop_oneof![0_u32..3_000, any::<u32>()], number.clone(), number);
    let samples = prop::collection::vec(sample, 0..200);
    let counts = prop::collection::vec((any::<u32>(), any::<u32>(), any::<u64>()), 0..6);
    (any::<u64>(), samples, counts, any::<u32>()).prop_map(
        |(started, samples, counts, duplicates)| PhaseRecord {
            direction: Direction::Up,
            plan: PhasePlan::default(),
            started_ns: started % 1_000_000,
            counts: counts
                .into_iter()
                .map(|(sent, unsent, late)| StreamCount {
                    sent,
                    unsent,
                    late_max: Duration::from_nanos(late),
                })
                .collect(),
            samples: samples
                .into_iter()
                .map(|(bulk, sequence, sent_ns, received_ns)| Sample {
                    kind: if bulk { StreamKind::Bulk } else { StreamKind::Sparse },
                    sequence,
                    sent_ns,
                    received_ns,
                })
                .collect(),
            duplicates,
        },
    )
}

proptest! {
    #[test]
    fn garbage_from_the_network_is_survived(
        records in prop::collection::vec(garbage(), 1..30),
        is_fast: bool,
    ) {
        let config = if is_fast { super::fast::config() } else { exact(short(1_000.0)) };
        let mut survey = Survey::new(SurveyConfig { discipline: true, ..config });
        for record in records {
            survey.handle_record(&record);
            survey.report();
            survey.progress();
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Arbitrary initial readings of the clocks, and 200 ppm of drift between them.
    #[test]
    fn clocks_cancel(sender: u64, receiver: u64, drift_ppm in -200_i32..=200) {
        let config = exact(ExactConfig { saturation_pps: Some(800.0), ..short(50.0) });
        let of = |sender: u64, receiver: u64, drift_ppm| {
            let mut bed = Bed::new(Kind::Packets(40), TestbedLink::B, 3);
            bed.sender = HostClock { offset_ns: sender, drift_ppm: 0 };
            bed.receiver = HostClock { offset_ns: receiver, drift_ppm };
            let mut survey = Survey::new(config.clone());
            let record = bed.phase(&survey.phase().unwrap());
            survey.handle_record(&record);
            survey.report().directions[0].sizes[0].sessions[0]
        };
        let (plain, other) = (of(0, 0, 0), of(sender, receiver, drift_ppm));
        prop_assert_eq!(plain.counted_packets, other.counted_packets);
        prop_assert!((plain.equation_1_packets - other.equation_1_packets).abs() < 0.1);
        let apart = plain.queueing_delay_ns - other.queueing_delay_ns;
        prop_assert!(apart.abs() < 1e-3 * plain.queueing_delay_ns, "{}", apart);
        let drift = other.drift_ppm - plain.drift_ppm;
        prop_assert!((drift - f64::from(drift_ppm)).abs() < 30.0, "{}", drift);
    }

    #[test]
    fn what_happens_to_samples_on_the_way_is_survived(
        seed: u64,
        spoilt in prop::collection::vec((0_usize..3_000, any::<u64>(), 0_u8..5), 0..60),
    ) {
        let mut bed = Bed::new(Kind::Packets(40), TestbedLink::N, seed);
        let mut survey = Survey::new(super::fast::config());
        for _ in 0..12 {
            let Some(phase) = survey.phase() else { break };
            let mut record = bed.phase(&phase);
            for &(index, value, what) in &spoilt {
                let Some(sample) = record.samples.get_mut(index) else { continue };
                match what {
                    0 => sample.sent_ns = value,
                    1 => sample.received_ns = value,
                    2 => sample.sequence = value as u32,
                    3 => sample.kind = StreamKind::Sparse,
                    _ => record.samples.truncate(index),
                }
            }
            survey.handle_record(&record);
            survey.report();
        }
    }
}
