//! Packets with a deadline, as they are in documents: those that are of no use, because they come too
//! late or never.

use crate::value::rounded;
use lasthop_packet::Packet;
use lasthop_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Packets of a flow with a deadline, of those that left in the measured time, at least the deadline
/// before its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeadlineSummary {
    /// One-way delay after which a packet is late, in ms.
    pub deadline_ms: f64,
    /// Number of packets.
    pub packets: u64,
    /// Share of the packets that arrived after the deadline, 0 to 1.
    pub late_fraction: f64,
    /// Share of the packets that had not arrived by the end of the run, 0 to 1.
    pub lost_fraction: f64,
}

/// Packets with a deadline during a run.
#[derive(Clone, Debug)]
pub(crate) struct DeadlineTally {
    deadline: Duration,
    /// Packets that left before `from`, or from `until` on, do not count.
    from: Instant,
    until: Instant,
    sent: u64,
    arrived: u64,
    late: u64,
}

impl DeadlineTally {
    pub(crate) fn new(deadline: Duration, from: Instant, until: Instant) -> Self {
        let lasts = until.saturating_since(Instant::ZERO).saturating_sub(deadline);
        Self { deadline, from, until: Instant::ZERO + lasts, sent: 0, arrived: 0, late: 0 }
    }

    fn counts(&self, sent: Instant) -> bool {
        sent >= self.from && sent < self.until
    }

    pub(crate) fn sent(&mut self, now: Instant) {
        self.sent += u64::from(self.counts(now));
    }

    pub(crate) fn arrived(&mut self, now: Instant, packet: &Packet) {
        if self.counts(packet.created) {
            self.arrived += 1;
            self.late += u64::from(now.saturating_since(packet.created) > self.deadline);
        }
    }

    /// Summarises the packets; `None` if none counts.
    pub(crate) fn summary(&self) -> Option<DeadlineSummary> {
        let share = |packets: u64| rounded(packets as f64 / self.sent as f64, 9);
        (self.sent > 0).then(|| DeadlineSummary {
            deadline_ms: rounded(self.deadline.as_nanos() as f64 / 1e6, 6),
            packets: self.sent,
            late_fraction: share(self.late),
            lost_fraction: share(self.sent.saturating_sub(self.arrived)),
        })
    }
}
