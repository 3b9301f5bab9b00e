//! CoDel, controlled delay ([RFC 8289](https://www.rfc-editor.org/rfc/rfc8289), section 5).
//!
//! The sojourn time of departing packets stays above the target for an interval:
//! drop (or mark) one packet, and the next one an interval / sqrt(count) later.
//! The square root is `libm`'s, not the fixed-point Newton step of Linux. As in
//! Linux, a marked packet leaves at once, so one dequeue marks at most once.
//! Pulled by peer, the queue keeps one control state over all peers.

use super::fifo::Fifo;
use super::{Held, Limit};
use crate::packet::{Address, Packet};
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant};

/// One MTU of backlog is never dropped from (RFC 8289, 5.4).
const MTU_BYTES: u64 = 1500;

/// An old drop rate is taken up again within this many intervals (RFC 8289, 5.5).
const RESUME_INTERVALS: u64 = 16;

/// A first-in-first-out queue under CoDel; a full queue drops the arriving packet.
#[derive(Clone, Debug, PartialEq)]
pub struct CoDel {
    limit: Limit,
    parameters: Parameters,
    control: Control,
    fifo: Fifo,
}

/// What CoDel is tuned by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    pub(super) ecn: bool,
}

/// CoDel's state, one for each queue it controls.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Control {
    /// When the sojourn time will have been above the target for an interval.
    first_above: Option<Instant>,
    drop_next: Instant,
    /// Drops since the dropping state began.
    count: u32,
    /// `count` when the dropping state began.
    count_at_start: u32,
    dropping: bool,
    /// The longest packet seen, at least [`MTU_BYTES`].
    packet_bytes_max: u64,
}

/// The queue that a [`Control`] takes packets from.
pub(super) trait Source {
    fn pop(&mut self) -> Option<Packet>;
    /// Bytes left.
    fn bytes(&self) -> u64;
}

impl Control {
    pub(super) const fn new() -> Self {
        Self {
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            count_at_start: 0,
            dropping: false,
            packet_bytes_max: MTU_BYTES,
        }
    }

    /// The next packet that survives; the others go to `dropped`.
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        source: &mut impl Source,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let (mut head, mut ok_to_drop) = self.pop(now, parameters, source);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if mark(&mut head, parameters) {
                    self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
                    return head;
                }
                dropped.extend(head);
                (head, ok_to_drop) = self.pop(now, parameters, source);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
                }
            }
        } else if ok_to_drop {
            if !mark(&mut head, parameters) {
                dropped.extend(head);
                (head, _) = self.pop(now, parameters, source);
            }
            self.dropping = true;
            let drops = self.count - self.count_at_start;
            let since_last = now.saturating_since(self.drop_next);
            let resume = drops > 1 && since_last < parameters.interval * RESUME_INTERVALS;
            self.count = if resume { drops } else { 1 };
            self.drop_next = control_law(now, parameters.interval, self.count);
            self.count_at_start = self.count;
        }
        head
    }

    /// The next packet and whether it may be dropped (`dodequeue` of RFC 8289, 5.6).
    fn pop(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        source: &mut impl Source,
    ) -> (Option<Packet>, bool) {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.packet_bytes_max = self.packet_bytes_max.max(u64::from(packet.bytes));
        let sojourn = now.saturating_since(packet.arrived);
        if sojourn < parameters.target || source.bytes() <= self.packet_bytes_max {
            self.first_above = None;
            return (Some(packet), false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + parameters.interval);
                (Some(packet), false)
            }
            Some(at) => (Some(packet), now >= at),
        }
    }
}

/// Marks instead of dropping, if both the queue and the packet can.
fn mark(packet: &mut Option<Packet>, parameters: &Parameters) -> bool {
    match packet {
        Some(packet) if parameters.ecn && packet.ecn_capable => {
            packet.ecn_marked = true;
            true
        }
        _ => false,
    }
}

/// When to drop again (RFC 8289, 5.3).
fn control_law(from: Instant, interval: Duration, count: u32) -> Instant {
    from + interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
}

impl CoDel {
    pub(super) fn new(limit: Limit, parameters: Parameters) -> Self {
        Self { limit, parameters, control: Control::new(), fifo: Fifo::new() }
    }

    pub(super) fn enqueue(
        &mut self,
        peer: Address,
        packet: Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        if self.admits(&packet, held) {
            self.fifo.push(peer, packet);
        } else {
            dropped.push(packet);
        }
    }

    pub(super) fn admits(&self, packet: &Packet, held: Held) -> bool {
        let packets = self.fifo.packets() + held.packets;
        let bytes = self.fifo.bytes() + held.bytes.as_u64();
        self.limit.admits(packet, packets, bytes)
    }

    pub(super) fn next_peer_where(&self, eligible: impl Fn(Address) -> bool) -> Option<Address> {
        self.fifo.oldest_where(eligible)
    }

    pub(super) fn dequeue_for(
        &mut self,
        now: Instant,
        peer: Address,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let mut source = OfPeer { fifo: &mut self.fifo, peer };
        self.control.dequeue(now, &self.parameters, &mut source, dropped)
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Packet>,
    ) -> Option<(Address, Packet)> {
        let mut source = Oldest { fifo: &mut self.fifo, peer: Address::Group };
        let packet = self.control.dequeue(now, &self.parameters, &mut source, dropped)?;
        Some((source.peer, packet))
    }

    pub(super) fn put_back(&mut self, peer: Address, packet: Packet) {
        self.fifo.unpop(peer, packet);
    }

    pub(super) fn peek_len_for(&self, peer: Address) -> Option<u16> {
        self.fifo.front(peer).map(|packet| packet.bytes)
    }

    pub(super) fn len_packets(&self) -> u32 {
        self.fifo.packets()
    }

    pub(super) fn len_bytes(&self) -> Bytes {
        Bytes::new(self.fifo.bytes())
    }

    pub(super) fn len_packets_for(&self, peer: Address) -> u32 {
        self.fifo.packets_for(peer)
    }
}

/// The packets for one peer.
struct OfPeer<'a> {
    fifo: &'a mut Fifo,
    peer: Address,
}

impl Source for OfPeer<'_> {
    fn pop(&mut self) -> Option<Packet> {
        self.fifo.pop(self.peer)
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}

/// All packets in order of arrival; `peer` is the receiver of the last one.
struct Oldest<'a> {
    fifo: &'a mut Fifo,
    peer: Address,
}

impl Source for Oldest<'_> {
    fn pop(&mut self) -> Option<Packet> {
        self.peer = self.fifo.oldest_where(|_| true)?;
        self.fifo.pop(self.peer)
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
