//! Interface to the network for a flow with an endpoint at each end (TCP, APQ), and the wake-ups
//! that the ends request. An end requests only a wake-up that is earlier than the one it has
//! requested: a timer that moves back, as most do, costs nothing.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use lasthop_net::network::Network;
use lasthop_packet::{FlowId, NodeId};
use lasthop_units::Instant;

/// Slow start thresholds in segments that connections left, by the nodes at which they start and
/// end.
pub(crate) type Thresholds = BTreeMap<[NodeId; 2], u32>;

/// State that all flows with endpoints share.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Shared {
    /// Wake-ups that flows asked for.
    pub wakes: Vec<Wake>,
    /// Thresholds of connections that ended.
    pub thresholds: Thresholds,
}

impl Shared {
    /// Returns the port through which one flow acts.
    pub fn port<'a, S>(&'a mut self, network: &'a mut Network, sink: &'a mut S) -> Port<'a, S> {
        Port { network, sink, wakes: &mut self.wakes, thresholds: &mut self.thresholds }
    }
}

/// The network and the sink on which a flow acts, and its list of wake-ups.
pub(crate) struct Port<'a, S> {
    pub network: &'a mut Network,
    pub sink: &'a mut S,
    pub wakes: &'a mut Vec<Wake>,
    pub thresholds: &'a mut Thresholds,
}

/// A wake-up that an end of a flow requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wake {
    pub at: Instant,
    pub flow: FlowId,
    pub end: usize,
}
