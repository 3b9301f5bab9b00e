//! The packet as the machines see it: lengths in bytes, timestamps, the parts of its delay and a
//! driver's handle, without payload bytes. The driver keeps the bytes, if there are any, under
//! [`Packet::tag`]. Priorities are those of IEEE 802.11-2020, 10.2.3.2, and RFC 8325; fragments
//! those of RFC 791. Left out: headers, which are in [`crate::ip`].

mod absent;

pub use absent::Absent;

use crate::aqm;
use crate::ip::Ecn;
use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

/// A node of the network (station, access point or host), by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u16);

impl NodeId {
    /// The index of the node.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow of the scenario, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u16);

impl FlowId {
    /// Traffic that belongs to no flow of the scenario (such as ARP or a user's
    /// program).
    pub const NONE: Self = Self(u16::MAX);
    /// Traffic of a user's program without its own number.
    pub const UNNUMBERED: Self = Self(u16::MAX - 1);
    /// Background traffic, such as that of neighbours on the channel, which only takes its share of
    /// the network.
    pub const BACKGROUND: Self = Self(u16::MAX - 2);
}

/// EDCA access categories, lowest priority first (IEEE 802.11-2020, 10.2.3.2).
///
/// ```
/// use lasthop_packet::AccessCategory;
///
/// // EF (46) is the user priority 6, and not the 5 of its upper bits (RFC 8325, 4.3).
/// assert_eq!(AccessCategory::from_dscp(46), AccessCategory::Voice);
/// assert_eq!(AccessCategory::from_user_priority(5), AccessCategory::Video);
/// for category in AccessCategory::ALL {
///     assert_eq!(AccessCategory::from_dscp(category.dscp()), category);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AccessCategory {
    /// AC_BK: TIDs 1 and 2.
    Background,
    /// AC_BE: TIDs 0 and 3.
    #[default]
    BestEffort,
    /// AC_VI: TIDs 4 and 5.
    Video,
    /// AC_VO: TIDs 6 and 7.
    Voice,
}

impl AccessCategory {
    /// All four access categories, lowest priority first.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// The index of the category: 0 (background) to 3 (voice).
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

    /// The access category of a differentiated services code point 0 to 63. The three upper bits of
    /// the code point are the user priority, except for code points that would get the wrong one
    /// (RFC 8325, section 4.3), as in Linux' mac80211.
    pub const fn from_dscp(dscp: u8) -> Self {
        Self::from_user_priority(user_priority(dscp))
    }

    /// A code point that maps to this category: CS1, default, AF41 or EF.
    pub const fn dscp(self) -> u8 {
        match self {
            Self::Background => 8,
            Self::BestEffort => 0,
            Self::Video => 34,
            Self::Voice => 46,
        }
    }

    /// The TID with which lasthop sends this category: 1, 0, 5 or 6.
    pub const fn tid(self) -> u8 {
        match self {
            Self::Background => 1,
            Self::BestEffort => 0,
            Self::Video => 5,
            Self::Voice => 6,
        }
    }
}

/// The user priority of a code point (RFC 8325, figure 1).
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

/// The parts of a packet's delay, summed over all hops.
///
/// On a Wi-Fi hop these instants separate the parts: arrival in the queue; start of the contention
/// for the exchange that first carried the packet; start of that first PPDU; start of the PPDU that
/// delivered it; end of that PPDU; release by the recipient's reorder buffer. The time of an
/// absence of sender or receiver before the delivering PPDU counts only as [`absent`](Self::absent).
///
/// ```
/// use lasthop_packet::DelayParts;
/// use lasthop_units::Duration;
///
/// let [queue, air] = [Duration::from_millis(7), Duration::from_micros(300)];
/// let parts = DelayParts { queue, air, ..DelayParts::default() };
/// assert_eq!(parts.total(), Duration::from_micros(7_300));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DelayParts {
    /// Time behind other packets in the queues of the Wi-Fi hop.
    pub queue: Duration,
    /// Waits for stations that were not there.
    pub absent: Absent,
    /// Wait for access to the channel: AIFS, backoff, other stations, RTS/CTS.
    pub contention: Duration,
    /// Time from the first PPDU that carried the packet to the one that delivered it.
    pub retries: Duration,
    /// Duration of the PPDU that delivered it.
    pub air: Duration,
    /// Time in the recipient's reorder buffer, and until a held back interrupt.
    pub reorder: Duration,
    /// Time on wires: queue, serialisation, propagation, jitter.
    pub wire: Duration,
}

impl DelayParts {
    /// The total delay: the sum of all parts.
    pub fn total(&self) -> Duration {
        let channel = self.contention + self.retries + self.air;
        self.queue + self.absent.total() + channel + self.reorder + self.wire
    }
}

/// The transport protocol of a packet, as far as the MAC distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Transport {
    /// UDP, ICMP, or a protocol other than IP.
    #[default]
    Other,
    /// TCP, with or without payload.
    Tcp,
}

/// Position of a fragment in its packet: flags and fragment offset of an IPv4 header (RFC 791,
/// section 3.1).
///
/// ```
/// use lasthop_packet::Fragment;
///
/// // The second half of a packet of 2028 bytes behind its first 1480 bytes of payload.
/// let last = Fragment::new(1480, false, 2028);
/// assert_eq!((last.offset_bytes(), last.more(), last.is_whole()), (1480, false, false));
/// assert_eq!(last.header_bits(), 1480 / 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fragment {
    /// The 16 bits of the header: flag MF and offset, never DF.
    header: u16,
    /// Length in bytes of the packet before fragmentation.
    whole_bytes: u16,
}

impl Fragment {
    /// A packet that is not fragmented.
    pub const WHOLE: Self = Self { header: 0, whole_bytes: 0 };
    /// The flag MF (more fragments).
    const MORE: u16 = 1 << 13;
    /// Unit of fragment offsets in bytes.
    const UNIT_BYTES: u16 = 8;

    /// Returns a fragment of a packet of `whole_bytes` (header included). The payload of the
    /// fragment starts at `offset_bytes` of the packet's payload, a multiple of 8 up to 65 528;
    /// `more` unless it is the last fragment.
    pub const fn new(offset_bytes: u16, more: bool, whole_bytes: u16) -> Self {
        let more = if more { Self::MORE } else { 0 };
        Self { header: (offset_bytes / Self::UNIT_BYTES) | more, whole_bytes }
    }

    /// Offset in bytes of its payload in that of the packet.
    pub const fn offset_bytes(self) -> u16 {
        (self.header & (Self::MORE - 1)) * Self::UNIT_BYTES
    }

    /// Whether there are fragments after it.
    pub const fn more(self) -> bool {
        self.header & Self::MORE != 0
    }

    /// Whether this is a complete packet, not a fragment.
    pub const fn is_whole(self) -> bool {
        self.header == 0
    }

    /// Length in bytes of the unfragmented packet, header included; zero for a
    /// packet that is not fragmented.
    pub const fn whole_bytes(self) -> u16 {
        self.whole_bytes
    }

    /// Flags and offset, as in the header.
    pub const fn header_bits(self) -> u16 {
        self.header
    }
}

/// A network-layer packet (the payload of an Ethernet frame) in the network.
///
/// ```
/// use lasthop_packet::ip::Ecn;
/// use lasthop_packet::{AccessCategory, NodeId, Packet};
/// use lasthop_units::Instant;
///
/// let packet = Packet {
///     destination: NodeId(3),
///     access_category: AccessCategory::Voice,
///     ecn_capable: true,
///     ..Packet::new(1, 1500, Instant::ZERO)
/// };
/// assert_eq!(packet.ecn(), Ecn::Capable0);
/// assert_eq!(Packet { ecn_l4s: true, ..packet }.ecn(), Ecn::Capable1);
/// assert_eq!(Packet { ecn_marked: true, ..packet }.ecn(), Ecn::Congestion);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The driver's handle: a sequence number in simulation, a buffer in emulation.
    pub tag: u64,
    /// Length of the network-layer packet in bytes (IP header included, without
    /// LLC/SNAP and MAC header); at most 7 900 on the air.
    pub bytes: u16,
    /// Position in the fragmented packet; fragments share tag, flow and addresses.
    pub fragment: Fragment,
    /// Flow of the packet, or [`FlowId::NONE`].
    pub flow: FlowId,
    /// Hash of addresses, ports and protocol, for flow queueing.
    pub flow_hash: u32,
    /// Node at which the packet enters the network.
    pub source: NodeId,
    /// Node at which the packet leaves the network, or [`Packet::EVERYWHERE`].
    pub destination: NodeId,
    /// Access category of the packet on the air.
    pub access_category: AccessCategory,
    /// Whether queues may mark it instead of dropping it (ECN-capable transport).
    pub ecn_capable: bool,
    /// Whether its sender uses ECT(1), the identifier of L4S (RFC 9331, 4.1), instead of ECT(0). The
    /// field has no meaning unless `ecn_capable` is set, and a mark does not change it.
    pub ecn_l4s: bool,
    /// Whether a queue on the path marked it as "congestion experienced".
    pub ecn_marked: bool,
    /// Transport protocol of the payload.
    pub transport: Transport,
    /// Whether no machine reacts to its arrival: the cell may then report it later, with the right
    /// instant (`wifi::cell::RxInterrupt::Mpdu`).
    pub passive: bool,
    /// Whether its source is notified when the node at which it entered releases it ([`Released`]);
    /// cleared when it leaves that node.
    pub notify: bool,
    /// Whether the node merged it with the packet that came just before (receive offload): limits
    /// of packets count both as one, and a queue that drops the first drops this, too.
    pub follows: bool,
    /// Instant at which the packet entered the network.
    pub created: Instant,
    /// Instant at which it entered its present queue or hop.
    pub arrived: Instant,
    /// Parts of its delay so far.
    pub parts: DelayParts,
}

impl Packet {
    /// Destination of broadcast and multicast packets.
    pub const EVERYWHERE: NodeId = NodeId(u16::MAX);

    /// The ECN field of its header.
    pub const fn ecn(&self) -> Ecn {
        match self {
            Self { ecn_marked: true, .. } => Ecn::Congestion,
            Self { ecn_capable: true, ecn_l4s: true, .. } => Ecn::Capable1,
            Self { ecn_capable: true, .. } => Ecn::Capable0,
            _ => Ecn::NotCapable,
        }
    }

    /// Returns a packet of `bytes` without a flow that enters the network at `now`.
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
            ecn_l4s: false,
            ecn_marked: false,
            transport: Transport::Other,
            passive: false,
            notify: false,
            follows: false,
            created: now,
            arrived: now,
            parts: DelayParts::default(),
        }
    }
}

impl aqm::Queueable for Packet {
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

/// A report that packets with [`Packet::notify`] are no longer held by the node at
/// which they entered: they were acknowledged on the air, sent on a wire, or
/// dropped. The sender's socket counts them as freed.
///
/// ```
/// use lasthop_packet::{FlowId, Packet, Released};
/// use lasthop_units::Instant;
/// use std::collections::VecDeque;
///
/// let packet = Packet { notify: true, flow: FlowId(4), ..Packet::new(1, 1500, Instant::ZERO) };
/// let mut reports = VecDeque::new();
/// Released::book(&packet, &mut reports);
/// Released::book(&packet, &mut reports);
/// // Two packets of a flow are one report.
/// assert_eq!(reports.len(), 1);
/// assert_eq!((reports[0].packets, reports[0].bytes), (2, 3000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Node at which they entered.
    pub source: NodeId,
    /// Flow to which they belong.
    pub flow: FlowId,
    /// Number of packets.
    pub packets: u32,
    /// Sum of their lengths in bytes.
    pub bytes: u32,
}

impl Released {
    /// The report for `packet` alone, if its source is to be notified.
    pub fn from_packet(packet: &Packet) -> Option<Self> {
        let &Packet { source, flow, .. } = packet;
        packet.notify.then_some(Self { source, flow, packets: 1, bytes: u32::from(packet.bytes) })
    }

    /// Appends the report to `list`, merged with the last one if that is of the
    /// same flow.
    pub fn add_to(self, list: &mut VecDeque<Self>) {
        if !list.back_mut().is_some_and(|last| last.merge(&self)) {
            list.push_back(self);
        }
    }

    /// Merges another report, if it is of the same flow; returns whether it is.
    #[inline]
    pub fn merge(&mut self, other: &Self) -> bool {
        let is_same = self.flow == other.flow && self.source == other.source;
        if is_same {
            self.packets += other.packets;
            self.bytes += other.bytes;
        }
        is_same
    }

    /// Appends a report for `packet` to `list`, if its source is to be notified.
    #[inline]
    pub fn book(packet: &Packet, list: &mut VecDeque<Self>) {
        if let Some(released) = Self::from_packet(packet) {
            released.add_to(list);
        }
    }
}

#[cfg(test)]
mod tests;
