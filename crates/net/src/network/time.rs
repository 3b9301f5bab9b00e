//! Time in a network: the next step of the cell, the wires and the processors of nodes, and the
//! order of steps.

use super::{Batch, DirectedWire, Host, NEVER, Network, Reason, host};
use crate::cable::CableReason;
use lasthop_packet::{NodeId, Packet};
use lasthop_units::{Duration, Instant, Machine};
use lasthop_wifi::cell::Cell;

impl Network {
    /// Performs the steps due up to `limit`, but stops after the first instant with an output;
    /// [`Network::now`] is then that instant.
    pub fn advance(&mut self, limit: Instant) {
        let mut last = limit;
        while self.next <= last {
            self.step(self.next, last);
            if self.has_outputs() {
                last = self.now;
            }
        }
    }

    /// Performs the step due at `at`, and those of the cell that precede all others up to `limit`,
    /// until one has an output.
    #[inline]
    fn step(&mut self, at: Instant, limit: Instant) {
        if self.has_processors {
            self.fetch_passive();
        }
        self.now = at;
        if self.cell.as_ref().is_some_and(|cell| cell.due() <= at) {
            // At one instant the others follow the cell.
            let before = self.others_due().saturating_sub(Duration::from_nanos(1));
            let cell = self.cell.as_mut().expect("it is due");
            cell.advance(limit.min(before).max(at));
            self.now = cell.now();
        }
        if self.next_wire <= self.now {
            self.step_wires(self.now);
        }
        if self.has_processors {
            self.step_processors(self.now);
        }
        self.collect();
        self.next = self.earliest();
    }

    /// Finishes the batches of wires, and the packets in the processors of nodes.
    fn step_processors(&mut self, at: Instant) {
        self.interrupt(at);
        for index in 0..self.with_host.len() {
            let node = self.with_host[index];
            while let Some((packet, direction)) =
                self.hosts[node.index()].as_mut().and_then(|host| host.finish(at))
            {
                match direction {
                    host::Direction::Out => {
                        self.space.push_back(node);
                        self.send(node, &packet);
                    }
                    host::Direction::In => self.hand_over(node, &packet),
                    host::Direction::Heard => self.overhear(node, packet),
                    host::Direction::Forward(from) => self.pass_on(node, from, &packet),
                }
            }
        }
    }

    /// Handles a packet that came over a wire, at once or in the next interrupt.
    #[inline]
    pub(super) fn receive_by_wire(&mut self, node: NodeId, from: NodeId, packet: &Packet) {
        let alone;
        let packet = if packet.follows {
            alone = Packet { follows: false, ..*packet };
            &alone
        } else {
            packet
        };
        match &mut self.batches[node.index()] {
            Some(batch) => batch.take_in(self.now, from, packet),
            None => self.receive(node, from, packet),
        }
    }

    /// Handles the packets of the interrupts that are due.
    pub(super) fn interrupt(&mut self, at: Instant) {
        for index in 0..self.with_batch.len() {
            let node = self.with_batch[index];
            let Some(batch) = &mut self.batches[node.index()] else { continue };
            for (from, packet) in batch.finish(at) {
                self.receive(node, from, &packet);
            }
        }
    }

    fn step_wires(&mut self, at: Instant) {
        for turn in 0..self.wire_order.len() {
            let index = self.wire_order[turn];
            let wire = &mut self.wires[index];
            let (due, reason) = wire.due;
            if due > at {
                continue;
            }
            wire.wire.handle_timeout(at);
            if reason == CableReason::Transmit {
                self.space.push_back(wire.from);
            }
            wire.due = wire.wire.poll_timeout().unwrap_or(NEVER);
            self.wires_moved |= wire.wire.has_outputs();
            self.wires_released |= wire.wire.has_released();
        }
        self.find_next_wire();
    }

    /// Updates the state that depends on a wire that accepted a packet.
    #[inline]
    pub(super) fn wire_changed(&mut self, index: usize) {
        let DirectedWire { wire, due, .. } = &mut self.wires[index];
        let before = core::mem::replace(due, wire.poll_timeout().unwrap_or(NEVER));
        let due = *due;
        self.wires_moved |= wire.has_outputs();
        self.wires_released |= wire.has_released();
        if due.0 < self.next_wire {
            self.next_wire = due.0;
        } else if due.0 != before.0 && before.0 == self.next_wire {
            // It may have been the first one.
            self.find_next_wire();
        }
    }

    pub(super) fn find_next_wire(&mut self) {
        self.next_wire = Instant::MAX;
        for wire in &self.wires {
            self.next_wire = self.next_wire.min(wire.due.0);
        }
    }

    /// Performs the steps that are due up to `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant) {
        if self.next <= now {
            self.handle_timeout(now);
        }
    }

    /// The earliest instant at which a step is due.
    #[inline]
    pub(super) fn earliest(&self) -> Instant {
        debug_assert_eq!(
            Some(self.next_wire).filter(|at| *at < Instant::MAX),
            self.wires.iter().filter_map(|wire| wire.wire.poll_timeout()).map(|(at, _)| at).min(),
        );
        self.cell.as_ref().map_or(Instant::MAX, Cell::due).min(self.others_due())
    }

    /// The earliest instant at which a step of another part than the cell is due.
    #[inline]
    fn others_due(&self) -> Instant {
        if self.has_processors { self.next_wire.min(self.next_process()) } else { self.next_wire }
    }

    /// The first instant at which a node raises an interrupt of its wires, or processes a packet.
    fn next_process(&self) -> Instant {
        let batches = self.with_batch.iter().filter_map(|node| self.batches[node.index()].as_ref());
        let hosts = self.with_host.iter().filter_map(|node| self.hosts[node.index()].as_ref());
        let times = batches.map(Batch::due).chain(hosts.filter_map(Host::next));
        times.min().unwrap_or(Instant::MAX)
    }

    /// The reason for the wake-up at [`Self::due`]: the first of the cell, the wires
    /// and the processors that is due.
    fn reason(&self) -> Reason {
        let due = |wire: &&DirectedWire| wire.due.0 == self.next;
        match self.cell.as_ref().and_then(Machine::poll_timeout) {
            Some((at, reason)) if at == self.next => Reason::Cell(reason),
            _ => self.wires.iter().find(due).map_or(Reason::Host, |wire| Reason::Wire(wire.due.1)),
        }
    }
}

impl Machine for Network {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        (self.next < Instant::MAX).then(|| (self.next, self.reason()))
    }

    fn handle_timeout(&mut self, now: Instant) {
        while self.next <= now {
            self.step(self.next, self.next);
        }
    }
}
