//! The packet as the machines see it: sizes, stamps and a driver's handle, no
//! payload bytes. The driver keeps the bytes (if there are any) under
//! [`Packet::tag`].

use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

/// A station of a cell, by index; the access point is a station too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StationId(pub u16);

/// A flow of the scenario, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u16);

impl FlowId {
    /// Traffic that belongs to no flow of the scenario (ARP, a user's program).
    pub const NONE: Self = Self(u16::MAX);
}

impl StationId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The receiver of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// One station.
    Station(StationId),
    /// Every station that hears it (broadcast and multicast): no acknowledgement.
    Group,
}

/// EDCA access categories, lowest priority first (IEEE 802.11-2020, 10.2.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AccessCategory {
    /// AC_BK, TIDs 1 and 2.
    Background,
    /// AC_BE, TIDs 0 and 3.
    #[default]
    BestEffort,
    /// AC_VI, TIDs 4 and 5.
    Video,
    /// AC_VO, TIDs 6 and 7.
    Voice,
}

impl AccessCategory {
    /// All four, lowest priority first.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// 0 (background) to 3 (voice).
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The access category of a user priority 0 to 7 (IEEE 802.11-2020, table 10-1).
    pub const fn from_user_priority(priority: u8) -> Self {
        match priority & 7 {
            1 | 2 => Self::Background,
            0 | 3 => Self::BestEffort,
            4 | 5 => Self::Video,
            _ => Self::Voice,
        }
    }

    /// The TID under which lasthop sends this category: 1, 0, 5, 6.
    pub const fn tid(self) -> u8 {
        match self {
            Self::Background => 1,
            Self::BestEffort => 0,
            Self::Video => 5,
            Self::Voice => 6,
        }
    }
}

/// Where a packet's time went, summed over all the hops it took.
///
/// On a Wi-Fi hop the parts are cut at: arrival in the queue; the start of the
/// contention for the exchange that first carried it; the start of that first
/// PPDU; the start of the PPDU that got it across; the end of that PPDU;
/// release by the recipient's reorder buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DelayParts {
    /// Waiting behind other packets in the queues of the Wi-Fi hop.
    pub queue: Duration,
    /// Waiting for the channel: AIFS, backoff, other stations, RTS/CTS.
    pub contention: Duration,
    /// From the first PPDU that carried it to the one that got it across.
    pub retries: Duration,
    /// In the PPDU that got it across.
    pub air: Duration,
    /// Held in the recipient's reorder buffer.
    pub reorder: Duration,
    /// On wires: queue, serialisation, propagation, jitter.
    pub wire: Duration,
}

impl DelayParts {
    /// The sum of the parts.
    pub fn total(&self) -> Duration {
        self.queue + self.contention + self.retries + self.air + self.reorder + self.wire
    }
}

/// The transport protocol that a packet carries, as far as the MAC cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Transport {
    /// UDP, ICMP, or what is not IP.
    #[default]
    Other,
    /// TCP, with or without payload.
    Tcp,
}

/// A network-layer packet (the payload of an Ethernet frame) on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The driver's handle: a sequence number in simulation, a buffer in emulation.
    pub tag: u64,
    /// Length of the network-layer packet in bytes (IP header included, no
    /// LLC/SNAP, no MAC header), up to 7 900.
    pub bytes: u16,
    /// The flow it belongs to, or [`FlowId::NONE`].
    pub flow: FlowId,
    /// Hash of its addresses, ports and protocol, for flow queueing.
    pub flow_hash: u32,
    /// Where it enters the network (a node index of the driver's).
    pub source: u16,
    /// Where it leaves the network, or [`Packet::EVERYWHERE`].
    pub destination: u16,
    /// Priority on the air.
    pub access_category: AccessCategory,
    /// Can be marked instead of dropped (ECN-capable transport).
    pub ecn_capable: bool,
    /// Marked "congestion experienced" by a queue on the way.
    pub ecn_marked: bool,
    /// What it carries.
    pub transport: Transport,
    /// Its source wants to know when the node at which it entered lets go of it
    /// ([`Released`]); cleared on the way out of that node.
    pub notify: bool,
    /// When it entered the network.
    pub created: Instant,
    /// When it entered the queue it is in, or the hop it is on.
    pub arrived: Instant,
    /// Where its time went so far.
    pub parts: DelayParts,
}

impl Packet {
    /// Destination of broadcast and multicast packets.
    pub const EVERYWHERE: u16 = u16::MAX;

    /// A packet without a flow, entering at `now`.
    pub fn new(tag: u64, bytes: u16, now: Instant) -> Self {
        Self {
            tag,
            bytes,
            flow: FlowId::NONE,
            flow_hash: 0,
            source: 0,
            destination: 0,
            access_category: AccessCategory::BestEffort,
            ecn_capable: false,
            ecn_marked: false,
            transport: Transport::Other,
            notify: false,
            created: now,
            arrived: now,
            parts: DelayParts::default(),
        }
    }
}

/// Packets with [`Packet::notify`] that the node at which they entered holds no
/// more: acknowledged on the air, put on a wire, or given up. What a sender's
/// socket counts as freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Where they entered.
    pub source: u16,
    /// Their flow.
    pub flow: FlowId,
    /// How many.
    pub packets: u32,
    /// Their length together.
    pub bytes: u32,
}

impl Released {
    /// Books `packet`, together with the last one if it is of the same flow.
    pub fn book(packet: &Packet, list: &mut VecDeque<Self>) {
        if !packet.notify {
            return;
        }
        let bytes = u32::from(packet.bytes);
        match list.back_mut() {
            Some(last) if last.flow == packet.flow && last.source == packet.source => {
                last.packets += 1;
                last.bytes += bytes;
            }
            _ => {
                let (source, flow) = (packet.source, packet.flow);
                list.push_back(Self { source, flow, packets: 1, bytes });
            }
        }
    }
}
