//! Flows whose quality is measured as a person notices it: their kinds, and the measurement during a
//! run. Summaries of the kinds are in files of their own.

use lasthop_hosts::CallConfig;
use lasthop_hosts::playout::Playout;
use lasthop_packet::Packet;
use lasthop_units::Instant;

/// Kinds of such flows, with their properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExperienceKind {
    /// One direction of a call.
    Call(CallConfig),
}

/// The measurement of such a flow.
#[derive(Debug)]
pub(crate) enum Experience {
    /// One direction of a call, played from a jitter buffer.
    Call(CallConfig, Playout),
}

impl Experience {
    /// Returns the measurement from the instant `from` on.
    pub(crate) fn new(kind: ExperienceKind, from: Instant) -> Self {
        match kind {
            ExperienceKind::Call(call) => Self::Call(call, Playout::new(&call, from)),
        }
    }

    /// Notes that the flow's next packet left.
    pub(crate) fn sent(&mut self, now: Instant) {
        match self {
            Self::Call(_, playout) => playout.handle_sent(now),
        }
    }

    /// Handles a packet that arrived.
    pub(crate) fn arrived(&mut self, now: Instant, packet: &Packet) {
        match self {
            Self::Call(_, playout) => playout.handle_arrival(now, packet.tag, packet.created),
        }
    }
}
