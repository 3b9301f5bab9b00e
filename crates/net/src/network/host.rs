//! A node's processor: one packet at a time, first come, first served, each for
//! as long as its [`HostCost`] says. The wait counts as
//! [`DelayParts::queue`](lasthop_packet::DelayParts::queue). No limit is set to
//! what waits before it.

use super::HostCost;
use alloc::collections::VecDeque;
use lasthop_packet::Packet;
use lasthop_units::Instant;

/// Whether a packet comes from the network, goes to it, or is for somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
    Heard,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Host {
    cost: HostCost,
    free: Instant,
    /// By the instant at which the processor is done with it.
    packets: VecDeque<(Instant, Instant, Packet, Direction)>,
    leaving: u32,
}

impl Host {
    pub fn new(cost: HostCost) -> Self {
        Self { cost, free: Instant::ZERO, packets: VecDeque::new(), leaving: 0 }
    }

    pub fn take_in(&mut self, now: Instant, packet: Packet, direction: Direction) {
        let busy = self.cost.per_packet + self.cost.per_byte * u64::from(packet.bytes);
        self.free = self.free.max(now) + busy;
        self.leaving += u32::from(direction == Direction::Out);
        self.packets.push_back((self.free, now, packet, direction));
    }

    /// When the processor is done with the packet it works on.
    pub fn next(&self) -> Option<Instant> {
        self.packets.front().map(|(at, ..)| *at)
    }

    /// The packet it is done with at `now`, if any.
    pub fn finish(&mut self, now: Instant) -> Option<(Packet, Direction)> {
        self.packets.front().filter(|(at, ..)| *at <= now)?;
        let (at, since, mut packet, direction) = self.packets.pop_front()?;
        self.leaving -= u32::from(direction == Direction::Out);
        packet.parts.queue += at - since;
        Some((packet, direction))
    }

    /// Packets on their way out of the node that wait.
    pub fn waiting(&self) -> u32 {
        self.leaving
    }
}
