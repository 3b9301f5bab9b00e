//! Counters of devices of several links (IEEE 802.11be-2024, 35.3): which link the packets of a flow
//! took, and how long they would have waited for another; the time for which links are idle while
//! packets wait; and the time that a device of one radio spends on turning it to a link.

use super::Levels;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_packet::{FlowId, NodeId};
use lasthop_units::Duration;

/// Most links of a device.
pub const LINKS_MAX: usize = 3;

/// Packets of a flow that crossed from one device to another on one of their links.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowLinkStats {
    /// Flow of the packets.
    pub flow: FlowId,
    /// Node at which they entered the network.
    pub source: NodeId,
    /// First station of the device that sent them.
    pub from: StationId,
    /// First station of the device that received them.
    pub to: StationId,
    /// Number of the link that delivered them, from 0.
    pub link: u8,
    /// Packets delivered.
    pub packets: u64,
    /// Sum of their delays, from entering the network to leaving this hop.
    pub delay: Duration,
    /// The same delays in hundredths of a millisecond, rounded down; weights are packets.
    pub delays: Levels,
    /// Sum of the times for which they waited in the reorder buffer for MPDUs that another link sent
    /// first.
    pub reorder: Duration,
    /// Waits for each link, this one excepted, by its number.
    pub elsewhere: [ElsewhereStats; LINKS_MAX],
}

/// Waits of packets for the link that took them first, and for another link of their device.
///
/// Both begin when a packet is first in line: when it arrived, or when the contention began for the
/// exchange that took it. They end when the link gains its channel: the one that took it, and the
/// other one from then on. The other link contends for the same packets, by its own backoff on its
/// own medium, so the model knows this instant even if nothing is left to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ElsewhereStats {
    /// Packets of which both waits are known.
    pub packets: u64,
    /// Sum of their waits for the link that took them.
    pub here: Duration,
    /// Sum of their waits for the other link.
    pub there: Duration,
}

/// Counters of a device of several links.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MultiLinkStats {
    /// Time for which packets wait in the queue of the device, summed over access categories.
    pub queued: Duration,
    /// Of this the time for which each link neither contends nor sends, though a receiver of the
    /// packets has the link.
    pub idle: Vec<IdleStats>,
    /// Turns of its radio, if it has only one (EMLSR).
    pub switching: SwitchingStats,
}

/// Time for which a link is idle although packets wait, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct IdleStats {
    /// The Block Ack window is full.
    pub window: Duration,
    /// The device at one end is engaged on another of its links, or turns its radio back.
    pub engaged: Duration,
    /// The packets may not take the link.
    pub barred: Duration,
}

impl FlowLinkStats {
    /// Counts of no packets yet.
    pub(crate) fn new(flow: FlowId, source: NodeId, [from, to]: [StationId; 2], link: u8) -> Self {
        Self {
            flow,
            source,
            from,
            to,
            link,
            packets: 0,
            delay: Duration::ZERO,
            delays: Levels::default(),
            reorder: Duration::ZERO,
            elsewhere: Default::default(),
        }
    }

    /// Counts a packet that was delivered after `delay`.
    pub(crate) fn count(&mut self, delay: Duration, reorder: Duration) {
        self.packets += 1;
        self.delay += delay;
        self.delays.add(u32::try_from(delay.as_micros() / 10).unwrap_or(u32::MAX), 1);
        self.reorder += reorder;
    }
}

impl IdleStats {
    /// The time for all reasons together.
    pub fn total(&self) -> Duration {
        self.window + self.engaged + self.barred
    }
}

/// Time that a device of one radio costs by turning it between links (35.3.17), without SIFS where an
/// exchange has one anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SwitchingStats {
    /// Initial control frames to it, and RTS of its own because it lost the state of the medium.
    pub requests: u64,
    /// Requests of these without an answer.
    pub unanswered: u64,
    /// Time from their begin to that of the data, or to the end of the exchange without an answer.
    pub requesting: Duration,
    /// Part of that time in which they are padded.
    pub padding: Duration,
    /// Time after exchanges in which it returns to all links and hears none.
    pub transition: Duration,
    /// Time of the exchanges themselves, requests included.
    pub engaged: Duration,
    /// Packets in exchanges that began with such a request.
    pub packets: u64,
    /// Sum of the times for which they waited for their request.
    pub packets_requesting: Duration,
    /// Sum of the times for which they were first in line while the device returned to its links.
    /// Backoff goes on meanwhile, so they lose no more than that.
    pub packets_transition: Duration,
}
