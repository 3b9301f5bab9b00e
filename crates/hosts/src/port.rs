//! What a flow with an endpoint at each end (TCP, APQ) acts on, and the wake-ups for
//! which the ends ask. An end asks only for a wake-up that is earlier than the one it
//! has asked for: a timer that moves back, as most do, costs nothing.

use alloc::vec::Vec;
use lasthop_net::network::Network;
use lasthop_packet::FlowId;
use lasthop_units::Instant;

/// The network and the sink on which a flow acts, and its list of wake-ups.
pub(crate) struct Port<'a, S> {
    pub network: &'a mut Network,
    pub sink: &'a mut S,
    pub wakes: &'a mut Vec<Wake>,
}

/// A wake-up for which an end of a flow asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wake {
    pub at: Instant,
    pub flow: FlowId,
    pub end: usize,
}
