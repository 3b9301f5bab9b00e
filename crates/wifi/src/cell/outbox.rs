//! What left the cell and waits to be polled: packets that were delivered or given up,
//! events, and stations whose queues got shorter.

use super::Output;
use crate::event::Event;
use crate::station::StationId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::{DropReason, Packet, Released};
use lasthop_units::Instant;

#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Outbox {
    /// Whether events are kept.
    pub records: bool,
    pub outputs: VecDeque<Output>,
    pub events: VecDeque<Event>,
    /// Stations whose packets got fewer.
    pub room: VecDeque<StationId>,
    /// Packets with [`Packet::notify`] that their station let go of.
    pub released: VecDeque<Released>,
    /// What a queue has just dropped; empty between two calls. Kept to save allocations.
    pub dropped: Vec<Packet>,
}

impl Outbox {
    pub fn new(records: bool) -> Self {
        Self { records, ..Self::default() }
    }

    /// Returns whether everything has been polled.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
            && self.events.is_empty()
            && self.room.is_empty()
            && self.released.is_empty()
    }

    /// `packet` comes out at `station`, once `finish` has completed its delay parts.
    #[inline]
    pub fn deliver(
        &mut self,
        at: Instant,
        station: StationId,
        packet: &Packet,
        finish: impl FnOnce(&mut Packet),
    ) {
        self.outputs.push_back(Output::Delivered { at, station, packet: *packet });
        let Some(Output::Delivered { packet, .. }) = self.outputs.back_mut() else {
            unreachable!("it was just put there");
        };
        finish(packet);
        if self.records {
            self.events.push_back(Event::Delivered { at, station, packet: *packet });
        }
    }

    /// `station` gives up a packet, which was booked as released already.
    pub fn drop_packet(
        &mut self,
        at: Instant,
        station: StationId,
        packet: Packet,
        reason: DropReason,
    ) {
        self.outputs.push_back(Output::Dropped { at, station, packet, reason });
        if self.records {
            self.events.push_back(Event::Dropped { at, station, packet, reason });
        }
    }

    /// `station` gives up a packet that it has held until now.
    pub fn lose(&mut self, at: Instant, station: StationId, packet: Packet, reason: DropReason) {
        Released::book(&packet, &mut self.released);
        self.drop_packet(at, station, packet, reason);
    }

    /// Gives up the packets that a queue has just dropped.
    #[inline]
    pub fn lose_dropped(&mut self, at: Instant, station: StationId, reason: DropReason) {
        if !self.dropped.is_empty() {
            self.lose_all(at, station, reason);
        }
    }

    #[cold]
    fn lose_all(&mut self, at: Instant, station: StationId, reason: DropReason) {
        let mut dropped = core::mem::take(&mut self.dropped);
        for packet in dropped.drain(..) {
            self.lose(at, station, packet, reason);
        }
        self.dropped = dropped;
    }
}
