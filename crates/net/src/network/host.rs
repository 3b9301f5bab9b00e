//! The processor of a node: one packet at a time, first come, first served, each for the time given
//! by its [`HostCost`]. Waiting and processing count as
//! [`DelayParts::queue`](lasthop_packet::DelayParts::queue). Left out: a limit on the packets that
//! wait for it, except for forwarded ones.

use super::HostCost;
use alloc::collections::VecDeque;
use lasthop_packet::{NodeId, Packet};
use lasthop_units::{Duration, Instant};

/// Number of waiting packets from which further packets to be forwarded are dropped
/// (`net.core.netdev_max_backlog` in Linux).
const BACKLOG_PACKETS_MAX: usize = 1_000;

/// Whether the node receives a packet, sends it, overhears it, or forwards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
    Heard,
    /// The node forwards a packet from this neighbour.
    Forward(NodeId),
}

impl Direction {
    const fn leaves(self) -> bool {
        matches!(self, Self::Out | Self::Forward(_))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Host {
    cost: HostCost,
    free: Instant,
    /// End of processing, arrival, packet and direction, ordered by the end.
    packets: VecDeque<(Instant, Instant, Packet, Direction)>,
    leaving: u32,
}

impl Host {
    pub fn new(cost: HostCost) -> Self {
        Self { cost, free: Instant::ZERO, packets: VecDeque::new(), leaving: 0 }
    }

    pub fn take_in(&mut self, now: Instant, packet: Packet, direction: Direction) {
        let per_packet = if packet.follows { Duration::ZERO } else { self.cost.per_packet };
        let busy = per_packet + self.cost.per_byte * u64::from(packet.bytes);
        self.free = self.free.max(now) + busy;
        self.leaving += u32::from(direction.leaves());
        self.packets.push_back((self.free + self.cost.latency, now, packet, direction));
    }

    /// Whether one more packet to be forwarded may wait.
    pub fn has_space(&self) -> bool {
        self.packets.len() < BACKLOG_PACKETS_MAX
    }

    /// Instant at which the processor finishes its current packet.
    pub fn next(&self) -> Option<Instant> {
        self.packets.front().map(|(at, ..)| *at)
    }

    /// Returns the next packet that the processor has finished by `now`, if any.
    pub fn finish(&mut self, now: Instant) -> Option<(Packet, Direction)> {
        self.packets.front().filter(|(at, ..)| *at <= now)?;
        let (at, since, mut packet, direction) = self.packets.pop_front()?;
        self.leaving -= u32::from(direction.leaves());
        packet.parts.queue += at - since;
        Some((packet, direction))
    }

    /// The number of packets that wait to leave the node.
    pub fn waiting(&self) -> u32 {
        self.leaving
    }
}
