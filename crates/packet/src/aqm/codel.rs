//! CoDel, controlled delay ([RFC 8289](https://www.rfc-editor.org/rfc/rfc8289), section 5).
//!
//! Once the sojourn time of departing packets stays above the target for an
//! interval, one packet is dropped (or marked), and the next one an interval /
//! sqrt(count) later. The square root is that of `libm`, not the fixed-point Newton
//! step of Linux. As in Linux a marked packet is returned at once, so one dequeue
//! marks at most one packet. Leaves out the queue itself.

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// A backlog of at most one MTU is never dropped from (RFC 8289, 5.4).
const MTU_BYTES: u64 = 1500;

/// The former drop rate is resumed within this many intervals (RFC 8289, 5.5).
const RESUME_INTERVALS: u64 = 16;

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Acceptable standing delay (RFC 8289: 5 ms).
    pub target: Duration,
    /// Time in which a burst may drain, about the longest usual round-trip time
    /// (RFC 8289: 100 ms).
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// What CoDel needs to know of a packet.
pub trait Packet {
    /// When the packet entered the queue.
    fn arrived(&self) -> Instant;
    /// Length of the packet in bytes.
    fn len_bytes(&self) -> u64;
    /// Marks the packet as congestion experienced if it is ECN-capable; returns
    /// whether it is.
    fn mark(&mut self) -> bool;
}

/// The queue from which a [`Control`] takes packets.
pub trait Source {
    /// The kind of packet in the queue.
    type Packet: Packet;
    /// Takes the next packet.
    fn pop(&mut self) -> Option<Self::Packet>;
    /// Bytes that are left in the queue.
    fn bytes(&self) -> u64;
}

/// The state of CoDel, one per queue that it controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// The instant at which the sojourn time will have been above the target for an
    /// interval.
    first_above: Option<Instant>,
    drop_next: Instant,
    /// Number of drops since the dropping state began.
    count: u32,
    /// Value of `count` when the dropping state began.
    count_at_start: u32,
    dropping: bool,
    /// Length of the longest packet seen in bytes, at least [`MTU_BYTES`].
    packet_bytes_max: u64,
}

impl Control {
    /// The state for a queue that was never too long.
    pub const fn new() -> Self {
        Self {
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            count_at_start: 0,
            dropping: false,
            packet_bytes_max: MTU_BYTES,
        }
    }

    /// Returns the next packet that is not dropped; dropped ones are appended to
    /// `dropped`.
    pub fn dequeue<S: Source>(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        source: &mut S,
        dropped: &mut Vec<S::Packet>,
    ) -> Option<S::Packet> {
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

    /// Returns the next packet, and whether it may be dropped (`dodequeue` of
    /// RFC 8289, 5.6).
    fn pop<S: Source>(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        source: &mut S,
    ) -> (Option<S::Packet>, bool) {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.packet_bytes_max = self.packet_bytes_max.max(packet.len_bytes());
        let sojourn = now.saturating_since(packet.arrived());
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

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

/// Marks the packet instead of dropping it, if ECN is on and the packet is capable
/// of it.
fn mark(packet: &mut Option<impl Packet>, parameters: &Parameters) -> bool {
    parameters.ecn && packet.as_mut().is_some_and(Packet::mark)
}

/// The time of the next drop (RFC 8289, 5.3).
fn control_law(from: Instant, interval: Duration, count: u32) -> Instant {
    from + interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
}
