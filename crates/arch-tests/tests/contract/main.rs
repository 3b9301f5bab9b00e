//! Every machine keeps the promise of [`lasthop_units::Machine`], whatever its input
//! and however late its driver. Each machine with `poll_timeout` has one file here:
//! random configurations and random work, driven by
//! [`lasthop_arch_tests::contract::Driver`].

mod air;
mod apq;
mod cable;
mod franc_node;
mod franc_paper;
mod hosts;
mod medium;
mod network;
mod reorder;
mod source;
mod spatial_reuse;
mod tcp;

use core::fmt::Debug;
use lasthop_arch_tests::contract::Driver;
use lasthop_units::{Duration, Instant, Machine};
use proptest::prelude::*;

/// The time between two pieces of work.
#[derive(Clone, Copy, Debug)]
struct Pause {
    length: Duration,
    /// Whether the driver is late: it wakes the machine only at the end of the pause.
    late: bool,
}

impl Pause {
    fn pass<M>(self, driver: &mut Driver<M>, drain: impl FnMut(Instant, &mut M))
    where
        M: Machine + Clone + PartialEq + Debug,
    {
        if self.late {
            driver.oversleep(self.length, drain)
        } else {
            driver.pause(self.length, drain)
        }
    }
}

/// Generates pauses of up to `most`, short ones more often.
fn pause(most: Duration) -> impl Strategy<Value = Pause> {
    let most = most.as_nanos();
    let length = prop_oneof![0..=most / 1_000, 0..=most / 30, 0..=most];
    (length, prop::bool::weighted(0.2))
        .prop_map(|(ns, late)| Pause { length: Duration::from_nanos(ns), late })
}

/// As many cases as one in `share` of those of proptest: 256, or `PROPTEST_CASES`. For machines
/// whose cases take long.
fn one_in(share: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.div_ceil(share), ..config }
}
