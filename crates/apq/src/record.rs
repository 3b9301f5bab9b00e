//! The record of a phase: one sample per packet that arrived, and the sender's
//! counts. Timestamps are nanoseconds of the hosts' own clocks; the difference of a
//! sample's two timestamps is its one-way delay plus an unknown constant that may
//! drift. Leaves out packets that were lost, except as missing numbers.

use crate::plan::{Direction, PhasePlan, StreamKind};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The flow of the packet.
    pub kind: StreamKind,
    /// Sequence number of the packet in its flow and phase, from 0.
    pub sequence: u32,
    /// Reading of the sender's clock at transmission, in ns.
    pub sent_ns: u64,
    /// Reading of the receiver's clock at arrival, in ns.
    pub received_ns: u64,
}

impl Sample {
    /// One-way delay plus the offset of the clocks, in ns.
    pub const fn delay_ns(&self) -> i64 {
        self.received_ns.wrapping_sub(self.sent_ns) as i64
    }
}

/// The sender's counts for one stream of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StreamCount {
    /// Number of packets sent.
    pub sent: u32,
    /// Number of packets that were due but not sent, because the host's buffer was
    /// full or sending was not allowed; they have sequence numbers.
    pub unsent: u32,
    /// Longest time by which a packet was sent late.
    pub late_max: Duration,
}

/// The record of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRecord {
    /// Direction of the packets.
    pub direction: Direction,
    /// Packets to send, and their times.
    pub plan: PhasePlan,
    /// Reading of the sender's clock at the start of the phase, in ns.
    pub started_ns: u64,
    /// Counts for each stream of the plan.
    pub counts: Vec<StreamCount>,
    /// The samples, in the order of arrival.
    pub samples: Vec<Sample>,
    /// Number of copies that arrived after the first.
    pub duplicates: u32,
}
