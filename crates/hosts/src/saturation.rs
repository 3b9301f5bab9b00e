//! Saturated flows: how many packets each keeps in the first queue on its path.
//!
//! How many it should keep is [`Backlogs`]' answer, the same under both clocks. A model flow is
//! filled up to that at once. A kernel's socket is not told what its queue holds, so a driver
//! in real time reads a [`Backlog`] and lets the socket send what is missing.

use lasthop_net::network::{Backlogs, Network};
use lasthop_packet::NodeId;
use lasthop_units::Instant;

/// What a saturated flow keeps at its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Saturation {
    /// Its place among the saturated flows.
    pub place: usize,
    /// Packets of it that the source holds; those that all its queues hold, when they
    /// were last filled up, if its packets are diverted.
    pub held: u32,
    /// Something else carries its packets from the source.
    pub is_diverted: bool,
    /// A packet is as long as the path allows at the moment.
    pub adapts: bool,
}

/// The packets of a saturated flow whose endpoints are a kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Packets that its source should hold; zero before it begins and after it ended.
    pub target: u32,
    /// Packets that its source holds.
    pub held: u32,
    /// Packets that have entered the network at its source.
    pub entered: u64,
}

/// A flow whose packets a kernel sends and receives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KernelFlow {
    /// Where it begins.
    pub from: NodeId,
    /// If it is saturated.
    pub saturation: Option<Saturation>,
    /// Packets that have entered at its source.
    pub entered: u64,
}

impl KernelFlow {
    /// A packet enters at `source`; `true` if its release has to be notified.
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

    /// The source let go of `packets`.
    pub fn released(&mut self, packets: u32) {
        if let Some(saturation) = &mut self.saturation {
            saturation.held = saturation.held.saturating_sub(packets);
        }
    }

    /// How it stands, if it is saturated.
    pub fn backlog(&self, now: Instant, all: &mut Backlogs, network: &Network) -> Option<Backlog> {
        let saturation = self.saturation?;
        let held = match saturation.is_diverted {
            true => network.queue_packets(self.from),
            false => saturation.held,
        };
        Some(Backlog { target: all.target(now, saturation.place), held, entered: self.entered })
    }
}
