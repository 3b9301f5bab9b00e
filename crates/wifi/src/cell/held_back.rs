//! Received packets whose interrupt a device holds back ([`RxInterrupt::Held`]), so that one
//! interrupt serves several frames.

use super::config::RxHold;
use alloc::vec::Vec;
use lasthop_packet::Packet;
use lasthop_units::Instant;

/// Packets that a station has received, and its host does not know of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeldBack {
    hold: RxHold,
    packets: Vec<Packet>,
    /// Instants of their reception.
    received: Vec<Instant>,
}

impl HeldBack {
    pub fn new(hold: RxHold) -> Self {
        Self { hold, packets: Vec::new(), received: Vec::new() }
    }

    /// The timers of the interrupt.
    pub fn hold(&self) -> RxHold {
        self.hold
    }

    /// The packets that the device holds back.
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Takes a packet that was received at `at`.
    pub fn push(&mut self, at: Instant, packet: Packet) {
        self.packets.push(packet);
        self.received.push(at);
    }

    /// The instant of the interrupt; [`Instant::MAX`] for none.
    pub fn due(&self) -> Instant {
        match (self.received.first(), self.received.last()) {
            (Some(&first), Some(&last)) => (first + self.hold.first).min(last + self.hold.last),
            _ => Instant::MAX,
        }
    }

    /// Passes all packets to `deliver` at `now`; the wait is a part of their delay.
    pub fn release(&mut self, now: Instant, mut deliver: impl FnMut(&Packet)) {
        for (mut packet, at) in self.packets.drain(..).zip(self.received.drain(..)) {
            packet.parts.reorder += now - at;
            deliver(&packet);
        }
    }
}
