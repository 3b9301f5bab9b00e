//! What became of a phase: a sample a packet that arrived, and what the sender
//! says it sent. Stamps are nanoseconds of the hosts' own clocks; the difference
//! of a sample's two stamps is its one-way delay plus an unknown constant that
//! may drift.

use crate::plan::{Direction, PhasePlan, StreamKind};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The flow.
    pub kind: StreamKind,
    /// Number of the packet in its flow and phase, from 0.
    pub sequence: u32,
    /// The sender's clock when it sent it, in ns.
    pub sent_ns: u64,
    /// The receiver's clock when it arrived, in ns.
    pub received_ns: u64,
}

impl Sample {
    /// One-way delay plus the clocks' offset, in ns.
    pub const fn delay_ns(&self) -> i64 {
        self.received_ns.wrapping_sub(self.sent_ns) as i64
    }
}

/// What a sender says of one stream of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StreamCount {
    /// Packets given to the network.
    pub sent: u32,
    /// Packets that were due and for which the host had no room: they have
    /// numbers, but were not sent.
    pub unsent: u32,
    /// Longest time by which a packet left late.
    pub late_max: Duration,
}

/// What became of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRecord {
    /// Which way the packets went.
    pub direction: Direction,
    /// What was to be sent.
    pub plan: PhasePlan,
    /// The sender's clock at the start of the phase, in ns.
    pub started_ns: u64,
    /// One for each stream of the plan.
    pub counts: Vec<StreamCount>,
    /// In the order of arrival.
    pub samples: Vec<Sample>,
    /// Packets that arrived more than once; the first is the sample.
    pub duplicates: u32,
}
