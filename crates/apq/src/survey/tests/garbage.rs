//! Records come from the network: whatever is in them, nothing panics.

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

    #[test]
    fn what_happens_to_samples_on_the_way_is_survived(
        seed: u64,
        spoilt in prop::collection::vec((0_usize..3_000, any::<u64>(), 0_u8..5), 0..60),
    ) {
        let mut bed = Bed::new(Kind::Packets(40), Link::N, seed);
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
