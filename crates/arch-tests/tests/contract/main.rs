//! Every machine keeps what [`lasthop_units::Machine`] promises, whatever
//! happens to it and however late its driver is.
//!
//! A machine that has `poll_timeout` belongs here: one file a machine, random
//! configuration, random work, driven by [`lasthop_arch_tests::contract::Driver`].

mod air;
mod apq;
mod cable;
mod franc_node;
mod franc_paper;
mod hosts;
mod network;
mod reorder;
mod source;
mod tcp;

use core::fmt::Debug;
use lasthop_arch_tests::contract::Driver;
use lasthop_units::{Duration, Instant, Machine};
use proptest::prelude::*;

/// What a driver does between two pieces of work.
#[derive(Clone, Copy, Debug)]
struct Pause {
    length: Duration,
    /// The driver oversleeps: it wakes the machine only after the pause.
    late: bool,
}

impl Pause {
    fn pass<M>(self, driver: &mut Driver<M>, drain: impl FnMut(Instant, &mut M))
    where
        M: Machine + Clone + PartialEq + Debug,
    {
        match self.late {
            true => driver.oversleep(self.length, drain),
            false => driver.pause(self.length, drain),
        }
    }
}

/// Pauses of up to `most`, short ones more often.
fn pause(most: Duration) -> impl Strategy<Value = Pause> {
    let most = most.as_nanos();
    let length = prop_oneof![0..=most / 1_000, 0..=most / 30, 0..=most];
    (length, prop::bool::weighted(0.2))
        .prop_map(|(ns, late)| Pause { length: Duration::from_nanos(ns), late })
}
