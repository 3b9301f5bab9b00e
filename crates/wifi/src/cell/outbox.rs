//! Outputs of the cell that wait to be polled: packets that were delivered or given up, events, and
//! stations whose queues became shorter.

use super::Output;
use super::config::{RxInterrupt, StationConfig};
use super::held_back::HeldBack;
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
    pub space: VecDeque<StationId>,
    /// Packets with [`Packet::notify`] that their station released.
    pub released: VecDeque<Released>,
    /// Packets that a queue has just dropped; empty between two calls. The vector is kept to save
    /// allocations.
    pub dropped: Vec<Packet>,
    /// Packets whose interrupt is held back, by station; empty if no device does that.
    held_back: Vec<Option<HeldBack>>,
    /// Whether deliveries are recorded or held back: the one check of those that are neither.
    is_watched: bool,
    /// The next interrupt of a device that holds them back; [`Instant::MAX`] for none.
    pub next_interrupt: Instant,
}

/// The outputs before a reception.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    outputs: usize,
    events: usize,
    held: usize,
}

impl Outbox {
    /// The outputs at present, and the packets that `station` holds back.
    pub fn mark(&self, station: StationId) -> Mark {
        let held = self.held_back_at(station).len();
        Mark { outputs: self.outputs.len(), events: self.events.len(), held }
    }

    fn held_back_at(&self, station: StationId) -> &[Packet] {
        let held = self.held_back.get(station.index()).and_then(Option::as_ref);
        held.map_or(&[], HeldBack::packets)
    }

    /// Passes the deliveries since `mark` at `station` to `take`, and records that they came to the
    /// station that it returns.
    pub fn trace_since(
        &mut self,
        mark: Mark,
        station: StationId,
        mut take: impl FnMut(Instant, &Packet) -> StationId,
    ) {
        let Mark { outputs, events, held } = mark;
        let held = self.held_back_at(station).iter().skip(held);
        held.for_each(|packet| {
            take(packet.arrived, packet);
        });
        let mut recorded = self.events.iter_mut().skip(events).filter_map(|event| match event {
            Event::Delivered { station, .. } => Some(station),
            _ => None,
        });
        for output in self.outputs.iter().skip(outputs) {
            if let Output::Delivered { at, packet, .. } = output {
                let came_to = take(*at, packet);
                if let Some(station) = recorded.next() {
                    *station = came_to;
                }
            }
        }
    }

    pub fn new(records: bool, stations: &[StationConfig]) -> Self {
        let hold = |station: &StationConfig| match station.rx_interrupt {
            RxInterrupt::Held(hold) => Some(HeldBack::new(hold)),
            RxInterrupt::Mpdu | RxInterrupt::Ppdu => None,
        };
        let mut held_back: Vec<_> = stations.iter().map(hold).collect();
        if held_back.iter().all(Option::is_none) {
            held_back.clear();
        }
        let is_watched = records || !held_back.is_empty();
        Self { records, held_back, is_watched, next_interrupt: Instant::MAX, ..Self::default() }
    }

    /// Finds the next interrupt.
    fn seek_interrupt(&mut self) {
        let due = self.held_back.iter().flatten().map(HeldBack::due);
        self.next_interrupt = due.min().unwrap_or(Instant::MAX);
    }

    /// Delivers the packets whose interrupts are due at `now`.
    pub fn raise_interrupts(&mut self, now: Instant) {
        for index in 0..self.held_back.len() {
            if self.held_back[index].as_ref().is_some_and(|held| held.due() <= now) {
                self.interrupt(now, StationId(index as u16));
            }
        }
    }

    /// Delivers the packets that `station` holds back: its device raises an interrupt.
    #[inline]
    pub fn interrupt(&mut self, now: Instant, station: StationId) {
        if self.next_interrupt < Instant::MAX {
            self.release(now, station);
        }
    }

    #[cold]
    fn release(&mut self, now: Instant, station: StationId) {
        if let Some(held) = self.held_back.get_mut(station.index()).and_then(Option::as_mut) {
            let mut held = core::mem::replace(held, HeldBack::new(held.hold()));
            held.release(now, |&packet| {
                self.prompt += usize::from(!packet.passive);
                self.outputs.push_back(Output::Delivered { at: now, station, packet });
                self.record(|| Event::Delivered { at: now, station, packet });
            });
            self.seek_interrupt();
        }
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
            && self.space.is_empty()
            && self.released.is_empty()
    }

    /// Whether there is nothing to be polled but packets on which no driver acts.
    #[inline]
    pub fn is_passive(&self) -> bool {
        self.prompt == 0
            && self.events.is_empty()
            && self.space.is_empty()
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

    /// Delivers `packet` at `station`, at once or with its interrupt, once `finish` has completed its
    /// delay parts.
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
        if self.is_watched {
            let packet = *packet;
            self.watch_delivery(at, station, packet);
        }
    }

    /// Keeps the last delivery back until its interrupt, or records it.
    #[inline(never)]
    fn watch_delivery(&mut self, at: Instant, station: StationId, packet: Packet) {
        if !self.hold_back(at, station, packet) {
            self.record(|| Event::Delivered { at, station, packet });
        }
    }

    /// Takes the last delivery, of `packet`, back until its interrupt, if a device holds it back. Group
    /// frames are not held back: copies of a packet are counted while its transmission lasts.
    fn hold_back(&mut self, at: Instant, station: StationId, packet: Packet) -> bool {
        let held = self.held_back.get_mut(station.index()).and_then(Option::as_mut);
        let Some(held) = held.filter(|_| packet.destination != Packet::EVERYWHERE) else {
            return false;
        };
        self.outputs.pop_back();
        self.prompt -= usize::from(!packet.passive);
        held.push(at, packet);
        self.seek_interrupt();
        true
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
