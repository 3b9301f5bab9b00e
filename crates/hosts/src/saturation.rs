//! Saturated flows: the number of packets that each keeps in the first queue on its path.
//!
//! [`Backlogs`] computes the number for both clocks. A flow of the model is filled up to it at
//! once. A kernel's socket does not know the content of its queue, so a driver in real time reads a
//! [`Backlog`] and lets the socket send the missing packets.

use lasthop_net::network::{Backlogs, Network};
use lasthop_packet::NodeId;
use lasthop_units::Instant;

/// The packets that a saturated flow keeps at its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Saturation {
    /// Index of the flow in [`Backlogs`].
    pub place: usize,
    /// Number of its packets that the source holds; if they are diverted, of all
    /// packets in the queues of the source when they were last filled up.
    pub held: u32,
    /// Whether its packets are diverted at the source.
    pub is_diverted: bool,
    /// Whether its packets are as long as the path permits at the time.
    pub adapts: bool,
}

/// The packets of a saturated flow between sockets of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets that its source should hold; 0 before it starts and after it
    /// ends.
    pub target: u32,
    /// Number of packets that its source holds.
    pub held: u32,
    /// Number of packets that have entered the network at its source.
    pub entered: u64,
}

/// A flow between sockets of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KernelFlow {
    /// The node at which it starts.
    pub from: NodeId,
    /// Number of packets that the source keeps, if the flow is saturated.
    pub saturation: Option<Saturation>,
    /// Number of packets that have entered the network at its source.
    pub entered: u64,
}

impl KernelFlow {
    /// Counts a packet that enters at `source`; returns whether its release has to be
    /// reported.
    pub fn enter(&mut self, source: NodeId) -> bool {
        if source != self.from {
            return false;
        }
        self.entered += 1;
        let Some(saturation) = self.saturation.as_mut().filter(|state| !state.is_diverted) else {
            return false;
        };
        saturation.held += 1;
        true
    }

    /// Counts packets that left the source.
    pub fn released(&mut self, packets: u32) {
        if let Some(saturation) = &mut self.saturation {
            saturation.held = saturation.held.saturating_sub(packets);
        }
    }

    /// The backlog of the flow, if it is saturated.
    pub fn backlog(&self, now: Instant, all: &mut Backlogs, network: &Network) -> Option<Backlog> {
        let saturation = self.saturation?;
        let held =
            if saturation.is_diverted { network.queue_packets(self.from) } else { saturation.held };
        Some(Backlog { target: all.target(now, saturation.place), held, entered: self.entered })
    }
}
