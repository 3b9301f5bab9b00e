//! The decision core of `kernel/lasthop_retryout` against `wifi::mac::retry_out`: after every step
//! of random traces they have decided the same and are in the same state. Windows of 1 to 1 024,
//! numbers that wrap, requests, any rates and tables. Skipped without a C compiler.

#[cfg(not(c_core))]
#[test]
fn the_core_agrees_with_the_model() {
    eprintln!("skipped, because there is no C compiler");
}

#[cfg(c_core)]
mod with_a_compiler {
    use lasthop_kernel_core::{Core, Decision, Step as TableStep, Table};
    use lasthop_units::SeqNo12;
    use lasthop_wifi::mac::retry_out::{self, PseudoRetryOut, RateStep, RateTable};
    use proptest::prelude::*;

    /// The fields of the model, under its own names, so that `Debug` prints the same text.
    mod inside {
        use super::*;

        #[derive(Debug)]
        #[expect(dead_code, reason = "printed")]
        pub struct SmoothedRate {
            pub table: RateTable,
            pub kbps_256: u32,
        }

        #[derive(Debug)]
        #[expect(dead_code, reason = "printed")]
        pub struct Bitmap {
            pub words: [u64; 16],
        }

        #[derive(Debug)]
        #[expect(dead_code, reason = "printed")]
        pub struct PseudoRetryOut {
            pub rate: SmoothedRate,
            pub slots: u16,
            pub newest: SeqNo12,
            pub received: Bitmap,
            pub lost: Bitmap,
            pub errors: [u8; 1024],
        }
    }

    fn as_text(core: &Core) -> String {
        let step = |step: TableStep| RateStep {
            below_kbps: step.below_kbps,
            retransmissions: step.retransmissions,
        };
        let table =
            RateTable { steps: core.table.steps.map(step), weight_256: core.table.weight_256 };
        let same = inside::PseudoRetryOut {
            rate: inside::SmoothedRate { table, kbps_256: core.kbps_256 },
            slots: core.slots,
            newest: SeqNo12::new(core.newest),
            received: inside::Bitmap { words: core.received },
            lost: inside::Bitmap { words: core.lost },
            errors: core.errors,
        };
        format!("{same:?}")
    }

    fn decision(decision: retry_out::Decision) -> Decision {
        match decision {
            retry_out::Decision::Deliver => Decision::Deliver,
            retry_out::Decision::Buffer => Decision::Buffer,
            retry_out::Decision::Old => Decision::Old,
            retry_out::Decision::Ignore => Decision::Ignore,
            retry_out::Decision::CountOnly(n) => Decision::CountOnly(n),
            retry_out::Decision::Lost(n) => Decision::Lost(n),
        }
    }

    fn in_c(table: RateTable) -> Table {
        let step = |step: RateStep| TableStep {
            below_kbps: step.below_kbps,
            retransmissions: step.retransmissions,
        };
        Table { steps: table.steps.map(step), weight_256: table.weight_256 }
    }

    /// Numbers are given from the head on, where most of them are in practice.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Received { ahead: u16, kbps: u32 },
        Errored { ahead: u16, kbps: u32, times: u16, carries_tcp: bool },
        Request { ahead: u16 },
        Head { ahead: u16 },
    }

    fn ahead() -> impl Strategy<Value = u16> {
        prop_oneof![
            8 => 0u16..70,
            3 => 0u16..1_100,
            2 => 4_030u16..4_096,
            // One beyond what is remembered, by window.
            2 => prop::sample::select(vec![63u16, 64, 255, 256, 511, 512, 1_023, 1_024]),
            1 => 0u16..4_096,
        ]
    }

    fn kbps() -> impl Strategy<Value = u32> {
        prop_oneof![
            6 => prop::sample::select(vec![6_500u32, 7_200, 13_000, 26_000, 52_000, 65_000, 150_000]),
            2 => 1u32..200_000,
            1 => 0u32..=16_000_000,
        ]
    }

    /// Also more than the count of errors can say.
    fn times() -> impl Strategy<Value = u16> {
        prop_oneof![20 => 1u16..6, 1 => 250u16..260]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (ahead(), kbps()).prop_map(|(ahead, kbps)| Step::Received { ahead, kbps }),
            6 => (ahead(), kbps(), times(), any::<bool>()).prop_map(
                |(ahead, kbps, times, carries_tcp)| Step::Errored { ahead, kbps, times, carries_tcp }
            ),
            1 => ahead().prop_map(|ahead| Step::Request { ahead }),
            2 => ahead().prop_map(|ahead| Step::Head { ahead }),
        ]
    }

    /// Any table that a scenario may name, of one to four steps.
    fn table() -> impl Strategy<Value = RateTable> {
        let steps = proptest::collection::btree_map(1u32..=16_000_000, 0u8..=255, 1..=4);
        let any = (steps, 1u16..=256).prop_map(|(steps, weight_256)| {
            let mut table = RateTable {
                steps: [RateStep { below_kbps: 0, retransmissions: 0 }; 4],
                weight_256,
            };
            for (step, (below_kbps, retransmissions)) in table.steps.iter_mut().zip(steps) {
                *step = RateStep { below_kbps, retransmissions };
            }
            table
        });
        prop_oneof![Just(RateTable::PAPER), any]
    }

    #[test]
    fn the_table_is_the_papers() {
        assert_eq!(Table::paper(), in_c(RateTable::PAPER));
    }

    #[test]
    fn tables_that_the_module_refuses() {
        let paper = Table::paper();
        assert!(paper.is_valid());
        let changed = |change: fn(&mut Table)| {
            let mut table = paper;
            change(&mut table);
            table.is_valid()
        };
        assert!(!changed(|table| table.weight_256 = 0));
        assert!(!changed(|table| table.weight_256 = 257));
        assert!(!changed(|table| table.steps.swap(0, 1)), "descending");
        assert!(!changed(|table| table.steps[1] = table.steps[0]), "twice the same");
        assert!(!changed(|table| table.steps[2].below_kbps = 16_000_001));
        assert!(!changed(|table| table.steps[1].below_kbps = 0), "a gap");
        assert!(changed(|table| table.steps[2].below_kbps = 16_000_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn the_core_agrees_with_the_model(
            table in table(),
            start in 0u16..4_096,
            window in 1u16..=1_024,
            steps in proptest::collection::vec(step(), 1..120),
        ) {
            let mut model = PseudoRetryOut::new(table, SeqNo12::new(start), window);
            let mut core = Core::new(in_c(table), start, window);
            prop_assert_eq!(as_text(&core), format!("{model:?}"));
            let mut head = SeqNo12::new(start);
            for (n, step) in steps.into_iter().enumerate() {
                let number = |ahead: u16| head.plus(ahead);
                match step {
                    Step::Received { ahead, kbps } => {
                        let sequence = number(ahead);
                        let expected = decision(model.received(sequence, head, kbps));
                        let is_ignored = core.is_lost(sequence.as_u16());
                        let found = core.received(sequence.as_u16(), head.as_u16(), kbps);
                        prop_assert_eq!(found, expected);
                        prop_assert_eq!(is_ignored, found == Decision::Ignore);
                    }
                    Step::Errored { ahead, kbps, times, carries_tcp } => {
                        for _ in 0..times {
                            let sequence = number(ahead);
                            let expected =
                                decision(model.errored(sequence, head, kbps, carries_tcp));
                            let found =
                                core.errored(sequence.as_u16(), head.as_u16(), kbps, carries_tcp);
                            prop_assert_eq!(found, expected);
                        }
                    }
                    Step::Request { ahead } => {
                        model.request(number(ahead));
                        core.request(number(ahead).as_u16());
                    }
                    Step::Head { ahead } => head = number(ahead),
                }
                prop_assert_eq!(core.kbps(), model.smoothed_kbps());
                if n % 8 == 0 {
                    prop_assert_eq!(as_text(&core), format!("{model:?}"));
                }
            }
            prop_assert_eq!(as_text(&core), format!("{model:?}"));
        }
    }
}
