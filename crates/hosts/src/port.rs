//! What a flow with machines at its ends (TCP, APQ) acts on, and the wake-ups
//! that they ask for. A wake-up is asked for only when it is earlier than the
//! one asked for already: timers that move back, as most do, cost nothing.

use alloc::vec::Vec;
use lasthop_net::network::Network;
use lasthop_packet::FlowId;
use lasthop_units::Instant;

/// What a flow acts on.
pub(crate) struct Port<'a, S> {
    pub network: &'a mut Network,
    pub sink: &'a mut S,
    pub wakes: &'a mut Vec<Wake>,
}

/// A wake-up that an end of a flow asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wake {
    pub at: Instant,
    pub flow: FlowId,
    pub end: usize,
}
