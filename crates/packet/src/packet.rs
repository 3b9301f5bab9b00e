//! The packet as the machines see it: sizes, stamps and a driver's handle, no
//! payload bytes. The driver keeps the bytes (if there are any) under
//! [`Packet::tag`].

use crate::aqm;
use crate::ip::Ecn;
use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

/// A node of the network (station, access point or host), by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u16);

impl NodeId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow of the scenario, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u16);

impl FlowId {
    /// Traffic that belongs to no flow of the scenario (ARP, a user's program).
    pub const NONE: Self = Self(u16::MAX);
    /// Traffic of a user's program that got no number of its own.
    pub const UNNUMBERED: Self = Self(u16::MAX - 1);
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

    /// The access category of a differentiated services code point 0 to 63: the three upper
    /// bits are the user priority, but for those that would get the wrong one (RFC 8325,
    /// section 4.3), as in Linux' mac80211.
    pub const fn from_dscp(dscp: u8) -> Self {
        Self::from_user_priority(user_priority(dscp))
    }

    /// A code point of this category: CS1, default, AF41, EF.
    pub const fn dscp(self) -> u8 {
        match self {
            Self::Background => 8,
            Self::BestEffort => 0,
            Self::Video => 34,
            Self::Voice => 46,
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

/// RFC 8325, figure 1.
const fn user_priority(dscp: u8) -> u8 {
    match dscp {
        10 | 12 | 14 | 16 => 0, // AF1x, CS2
        18 | 20 | 22 => 3,      // AF2x
        24 | 26 | 28 | 30 => 4, // CS3, AF3x
        44 | 46 => 6,           // VA, EF
        48 => 7,                // CS6
        _ => dscp >> 3,
    }
}

/// Where a packet's time went, summed over all the hops it took.
///
/// On a Wi-Fi hop the parts are cut at: arrival in the queue; the start of the
/// contention for the exchange that first carried it; the start of that first
/// PPDU; the start of the PPDU that got it across; the end of that PPDU;
/// release by the recipient's reorder buffer. What falls into an absence of the
/// sender or the receiver up to the start of the PPDU that got it across is
/// [`away`](Self::away) or [`asleep`](Self::asleep), and in no other part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DelayParts {
    /// Waiting behind other packets in the queues of the Wi-Fi hop.
    pub queue: Duration,
    /// Waiting for a station that scans: its own uplink stopped from the flush
    /// to the end of the scan's absence, or it could not be reached and the
    /// access point held its packets or sent them in vain.
    pub away: Duration,
    /// The same for a station that dozes, up to the frame that wakes it or the
    /// PS-Poll that asks for the packet; of group frames, up to the DTIM.
    pub asleep: Duration,
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
        let absent = self.away + self.asleep;
        let channel = self.contention + self.retries + self.air;
        self.queue + absent + channel + self.reorder + self.wire
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

/// Which part of a packet this is, as flags and fragment offset of an IPv4
/// header say it (RFC 791, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fragment {
    /// The header's 16 bits: flag MF and offset, never DF.
    header: u16,
    /// Length of the packet before it was cut.
    whole_bytes: u16,
}

impl Fragment {
    /// A packet that was not cut.
    pub const WHOLE: Self = Self { header: 0, whole_bytes: 0 };
    /// The flag MF.
    const MORE: u16 = 1 << 13;
    /// Offsets are in units of eight bytes.
    const UNIT_BYTES: u16 = 8;

    /// The part of a packet of `whole_bytes` (header included) whose payload
    /// begins `offset_bytes` after the packet's, a multiple of 8 up to 65 528;
    /// `more` unless it is the last.
    pub const fn new(offset_bytes: u16, more: bool, whole_bytes: u16) -> Self {
        let more = if more { Self::MORE } else { 0 };
        Self { header: (offset_bytes / Self::UNIT_BYTES) | more, whole_bytes }
    }

    /// Where its payload begins in that of the packet.
    pub const fn offset_bytes(self) -> u16 {
        (self.header & (Self::MORE - 1)) * Self::UNIT_BYTES
    }

    /// There are parts behind it.
    pub const fn more(self) -> bool {
        self.header & Self::MORE != 0
    }

    /// Not a part, but all of it.
    pub const fn is_whole(self) -> bool {
        self.header == 0
    }

    /// Length of the packet that it is a part of, header included; zero of a
    /// packet that was not cut.
    pub const fn whole_bytes(self) -> u16 {
        self.whole_bytes
    }

    /// Flags and offset as in the header.
    pub const fn header_bits(self) -> u16 {
        self.header
    }
}

/// A network-layer packet (the payload of an Ethernet frame) on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The driver's handle: a sequence number in simulation, a buffer in emulation.
    pub tag: u64,
    /// Length of the network-layer packet in bytes (IP header included, no
    /// LLC/SNAP, no MAC header); up to 7 900 on the air.
    pub bytes: u16,
    /// Which part of a packet it is; parts share tag, flow and addresses.
    pub fragment: Fragment,
    /// The flow it belongs to, or [`FlowId::NONE`].
    pub flow: FlowId,
    /// Hash of its addresses, ports and protocol, for flow queueing.
    pub flow_hash: u32,
    /// Where it enters the network.
    pub source: NodeId,
    /// Where it leaves the network, or [`Packet::EVERYWHERE`].
    pub destination: NodeId,
    /// Priority on the air.
    pub access_category: AccessCategory,
    /// Can be marked instead of dropped (ECN-capable transport).
    pub ecn_capable: bool,
    /// Marked "congestion experienced" by a queue on the way.
    pub ecn_marked: bool,
    /// What it carries.
    pub transport: Transport,
    /// Nobody acts on its arrival: the cell may put it out late, with the right
    /// instant (`wifi::cell::RxInterrupt::Mpdu`).
    pub passive: bool,
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
    pub const EVERYWHERE: NodeId = NodeId(u16::MAX);

    /// The ECN field of its header; what senders that are capable of it use is ECT(0).
    pub const fn ecn(&self) -> Ecn {
        match self {
            Self { ecn_marked: true, .. } => Ecn::Congestion,
            Self { ecn_capable: true, .. } => Ecn::Capable0,
            _ => Ecn::NotCapable,
        }
    }

    /// A packet without a flow, entering at `now`.
    pub fn new(tag: u64, bytes: u16, now: Instant) -> Self {
        Self {
            tag,
            bytes,
            fragment: Fragment::WHOLE,
            flow: FlowId::NONE,
            flow_hash: 0,
            source: NodeId(0),
            destination: NodeId(0),
            access_category: AccessCategory::BestEffort,
            ecn_capable: false,
            ecn_marked: false,
            transport: Transport::Other,
            passive: false,
            notify: false,
            created: now,
            arrived: now,
            parts: DelayParts::default(),
        }
    }
}

impl aqm::Packet for Packet {
    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn len_bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    fn mark(&mut self) -> bool {
        self.ecn_marked |= self.ecn_capable;
        self.ecn_capable
    }
}

/// Packets with [`Packet::notify`] that the node at which they entered holds no
/// more: acknowledged on the air, put on a wire, or given up. What a sender's
/// socket counts as freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Where they entered.
    pub source: NodeId,
    /// Their flow.
    pub flow: FlowId,
    /// How many.
    pub packets: u32,
    /// Their length together.
    pub bytes: u32,
}

impl Released {
    /// `packet` alone, if its source wants to know.
    pub fn of(packet: &Packet) -> Option<Self> {
        let &Packet { source, flow, .. } = packet;
        packet.notify.then_some(Self { source, flow, packets: 1, bytes: u32::from(packet.bytes) })
    }

    /// Appends it, together with the last one if that is of the same flow.
    pub fn add_to(self, list: &mut VecDeque<Self>) {
        match list.back_mut() {
            Some(last) if last.flow == self.flow && last.source == self.source => {
                last.packets += self.packets;
                last.bytes += self.bytes;
            }
            _ => list.push_back(self),
        }
    }

    /// Appends `packet`, if its source wants to know.
    #[inline]
    pub fn book(packet: &Packet, list: &mut VecDeque<Self>) {
        if let Some(released) = Self::of(packet) {
            released.add_to(list);
        }
    }
}

#[cfg(test)]
mod tests;
