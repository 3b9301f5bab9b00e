//! A data MPDU on its way from one station to another: its packets, its number of transmissions,
//! and the instants from which a packet's [`DelayParts`](lasthop_packet::DelayParts) follow.

use super::absence::Waits;
use super::sizes;
use alloc::boxed::Box;
use lasthop_packet::{Packet, Transport};
use lasthop_units::{Bytes, Instant, SeqNo12};

/// The packets of an MPDU.
#[derive(Clone, Debug, PartialEq)]
pub enum Msdus {
    /// One packet, as in most MPDUs.
    One(Packet),
    /// Several packets in an A-MSDU; they are received or lost together.
    Aggregate(Box<[Packet]>),
}

impl Msdus {
    /// The packets in order.
    pub fn packets(&self) -> &[Packet] {
        match self {
            Self::One(packet) => core::slice::from_ref(packet),
            Self::Aggregate(packets) => packets,
        }
    }

    /// The packets in order, mutable.
    pub fn packets_mut(&mut self) -> &mut [Packet] {
        match self {
            Self::One(packet) => core::slice::from_mut(packet),
            Self::Aggregate(packets) => packets,
        }
    }

    /// Total length of the network-layer packets.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.packets().iter().map(|packet| u64::from(packet.bytes)).sum())
    }

    /// Length of the MPDU that carries them; with one packet it has `overhead` octets beside the
    /// packet ([`Capabilities::mpdu_overhead`](crate::Capabilities::mpdu_overhead)).
    pub fn mpdu_bytes(&self, overhead: u32) -> u32 {
        match self {
            Self::One(packet) => overhead + u32::from(packet.bytes),
            Self::Aggregate(packets) => {
                let subframes = packets.iter().map(|p| sizes::amsdu_subframe(u32::from(p.bytes)));
                let last = packets.last().map_or(0, |p| sizes::amsdu_subframe(u32::from(p.bytes)));
                let padded: u32 = subframes.map(sizes::padded).sum();
                // Each subframe has its own LLC and SNAP.
                overhead - sizes::LLC_SNAP + padded - sizes::padded(last) + last
            }
        }
    }
}

/// A data MPDU that its originator holds until it is acknowledged or given up.
#[derive(Clone, Debug, PartialEq)]
pub struct Mpdu {
    /// Sequence number of the MPDU.
    pub sequence: SeqNo12,
    /// Length in bytes with MAC header and FCS.
    pub bytes: u16,
    /// Attempts that count against the retry limit: PPDUs that carried it, and
    /// RTS for it that brought no CTS.
    pub attempts: u8,
    /// Number of PPDUs that carried it.
    pub transmissions: u8,
    /// Whether the recipient has received it, known to the originator or not.
    pub taken: bool,
    /// Whether all of its packets are [`passive`](Packet::passive).
    pub passive: bool,
    /// Instant at which it left the upper queue.
    pub dequeued: Instant,
    /// Start of the contention for the exchange that first carried it.
    pub contention_start: Instant,
    /// Start of the PPDU that first carried it.
    pub first_start: Instant,
    /// The packets that it carries.
    pub msdus: Msdus,
}

impl Mpdu {
    /// Whether one of its packets has a TCP segment.
    pub fn carries_tcp(&self) -> bool {
        self.msdus.packets().iter().any(|packet| packet.transport == Transport::Tcp)
    }

    /// Returns the packets as received in a PPDU from `start` to `end`: their stay is split into
    /// its parts, with `waits` separated, and the reorder wait begins.
    pub fn received(&self, start: Instant, end: Instant, waits: &Waits) -> Msdus {
        let mut msdus = self.msdus.clone();
        for packet in msdus.packets_mut() {
            self.stamp(packet, start, end, waits);
        }
        msdus
    }

    /// Does what [`Mpdu::received`] does for one of its packets.
    #[inline]
    pub fn stamp(&self, packet: &mut Packet, start: Instant, end: Instant, waits: &Waits) {
        let contention_start = self.contention_start.max(packet.arrived);
        let parts = &mut packet.parts;
        parts.queue += contention_start.saturating_since(packet.arrived);
        parts.contention += self.first_start.saturating_since(contention_start);
        parts.retries += start.saturating_since(self.first_start);
        // Most stations never leave.
        if !waits.is_empty() {
            self.cut_out_absences(packet, contention_start, start, waits);
        }
        packet.parts.air += end - start;
        (packet.arrived, packet.notify) = (end, false);
    }

    /// Separates the time of absences from the parts of a packet's stay up to `start`.
    #[inline(never)]
    fn cut_out_absences(
        &self,
        packet: &mut Packet,
        contention_start: Instant,
        start: Instant,
        waits: &Waits,
    ) {
        let parts = &mut packet.parts;
        for (part, from, to) in [
            (&mut parts.queue, packet.arrived, contention_start),
            (&mut parts.contention, contention_start, self.first_start),
            (&mut parts.retries, self.first_start, start),
        ] {
            let absent = waits.within(from, to, self.dequeued);
            *part -= absent.total();
            parts.absent += absent;
        }
    }
}
