//! Outputs of the cell that wait to be polled: packets that were delivered or given up, events, and
//! stations whose queues became shorter.

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
    outputs: VecDeque<Output>,
    /// Number of these on which a driver acts: all but delivered packets that are
    /// [`Packet::passive`].
    prompt: usize,
    pub events: VecDeque<Event>,
    /// Stations whose number of packets decreased.
    pub room: VecDeque<StationId>,
    /// Packets with [`Packet::notify`] that their station released.
    pub released: VecDeque<Released>,
    /// Packets that a queue has just dropped; empty between two calls. The vector is kept to save
    /// allocations.
    pub dropped: Vec<Packet>,
}

impl Outbox {
    pub fn new(records: bool) -> Self {
        Self { records, ..Self::default() }
    }

    /// Keeps an event, if events are kept.
    #[inline]
    pub fn record(&mut self, event: impl FnOnce() -> Event) {
        if self.records {
            self.events.push_back(event());
        }
    }

    /// Whether everything has been polled.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
            && self.events.is_empty()
            && self.room.is_empty()
            && self.released.is_empty()
    }

    /// Whether there are outputs.
    #[inline]
    pub fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Whether there are outputs on which a driver acts.
    #[inline]
    pub fn has_prompt(&self) -> bool {
        self.prompt > 0
    }

    /// The next output.
    #[inline]
    pub fn next_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        self.prompt -= usize::from(output.as_ref().is_some_and(is_prompt));
        output
    }

    /// Passes the next outputs to `take` as long as no driver acts on them, without a copy.
    #[inline]
    pub fn take_passive(&mut self, mut take: impl FnMut(Instant, StationId, &Packet)) {
        let mut number = 0;
        for output in &self.outputs {
            match output {
                &Output::Delivered { at, station, ref packet } if packet.passive => {
                    take(at, station, packet);
                }
                _ => break,
            }
            number += 1;
        }
        if number == self.outputs.len() {
            self.outputs.clear();
        } else {
            drop(self.outputs.drain(..number));
        }
    }

    /// Adds an output other than a delivery.
    pub fn put_out(&mut self, output: Output) {
        debug_assert!(is_prompt(&output), "deliveries go another way");
        self.prompt += 1;
        self.outputs.push_back(output);
    }

    /// Delivers `packet` at `station`, once `finish` has completed its delay parts.
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
        self.prompt += usize::from(!packet.passive);
        if self.records {
            self.events.push_back(Event::Delivered { at, station, packet: *packet });
        }
    }

    /// Drops a packet of `station` that was counted as released before.
    pub fn drop_packet(
        &mut self,
        at: Instant,
        station: StationId,
        packet: Packet,
        reason: DropReason,
    ) {
        self.put_out(Output::Dropped { at, station, packet, reason });
        self.record(|| Event::Dropped { at, station, packet, reason });
    }

    /// Drops a packet that `station` has held until now.
    pub fn lose(&mut self, at: Instant, station: StationId, packet: Packet, reason: DropReason) {
        Released::book(&packet, &mut self.released);
        self.drop_packet(at, station, packet, reason);
    }

    /// Drops the packets that a queue has just dropped.
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

/// Whether a driver acts on an output.
#[inline]
fn is_prompt(output: &Output) -> bool {
    !matches!(output, Output::Delivered { packet, .. } if packet.passive)
}
