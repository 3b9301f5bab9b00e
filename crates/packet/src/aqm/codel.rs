//! CoDel, controlled delay ([RFC 8289](https://www.rfc-editor.org/rfc/rfc8289), section 5).
//!
//! The sojourn time of departing packets stays above the target for an interval:
//! drop (or mark) one packet, and the next one an interval / sqrt(count) later.
//! The square root is `libm`'s, not the fixed-point Newton step of Linux. As in
//! Linux, a marked packet leaves at once, so one dequeue marks at most once.

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// One MTU of backlog is never dropped from (RFC 8289, 5.4).
const MTU_BYTES: u64 = 1500;

/// An old drop rate is taken up again within this many intervals (RFC 8289, 5.5).
const RESUME_INTERVALS: u64 = 16;

/// What CoDel is tuned by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Acceptable standing delay.
    pub target: Duration,
    /// Time in which a burst may drain: of the order of the worst round trip.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// What CoDel must know of a packet.
pub trait Packet {
    /// When it came into the queue.
    fn arrived(&self) -> Instant;
    /// Its length.
    fn len_bytes(&self) -> u64;
    /// Marks congestion and says `true`, if it is ECN-capable.
    fn mark(&mut self) -> bool;
}

/// The queue that a [`Control`] takes packets from.
pub trait Source {
    /// What it holds.
    type Packet: Packet;
    /// Takes the next one.
    fn pop(&mut self) -> Option<Self::Packet>;
    /// Bytes left.
    fn bytes(&self) -> u64;
}

/// CoDel's state, one for each queue it controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
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

impl Control {
    /// Of a queue that never was too long.
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

    /// The next packet that survives; the others go to `dropped`.
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

    /// The next packet and whether it may be dropped (`dodequeue` of RFC 8289, 5.6).
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

/// Marks instead of dropping, if both the queue and the packet can.
fn mark(packet: &mut Option<impl Packet>, parameters: &Parameters) -> bool {
    parameters.ecn && packet.as_mut().is_some_and(Packet::mark)
}

/// When to drop again (RFC 8289, 5.3).
fn control_law(from: Instant, interval: Duration, count: u32) -> Instant {
    from + interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
}
