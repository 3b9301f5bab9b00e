//! CoDel, controlled delay ([RFC 8289](https://www.rfc-editor.org/rfc/rfc8289), section 5).
//!
//! Once the sojourn time of departing packets stays above the target for an interval, one packet is
//! dropped (or marked), and the next one an interval / sqrt(count) later. As in Linux a marked
//! packet is returned at once, so one dequeue marks at most one packet. [`Variant`] selects the
//! arithmetic: that of the RFC, with the square root of `libm`, or that of mac80211 to the last
//! bit. Left out: the queue itself, and the wrap of Linux' clock for CoDel after 73 minutes.

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Backlog in bytes, one MTU, up to which no packet is dropped (RFC 8289, 5.4).
const MTU_BYTES: u64 = 1500;

/// Number of intervals within which the former drop rate is resumed (RFC 8289, 5.5).
const RESUME_INTERVALS: u64 = 16;

/// Unit of Linux' clock for CoDel: 2 to the power of this number of nanoseconds (`CODEL_SHIFT`).
const LINUX_CLOCK_SHIFT: u32 = 10;

/// Arithmetic of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Variant {
    /// The arithmetic of RFC 8289: times in nanoseconds, an exact square root, and an exemption for
    /// a backlog of one packet of the longest length.
    #[default]
    Rfc8289,
    /// The arithmetic of Linux' mac80211 (`codel_impl.h`). Times are in units of 1 024 ns. 1 /
    /// sqrt(count) follows from the last value by one step of Newton's method in 16 bits, so that
    /// the second drop comes interval / 2 after the first one, and not 0.71 of it. Only the last
    /// packet is exempt, because mac80211 sets no MTU.
    Mac80211,
}

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
    /// Arithmetic of the control law.
    pub variant: Variant,
}

impl Parameters {
    /// Returns an instant or duration in units of the variant.
    pub(crate) fn units(&self, nanoseconds: u64) -> u64 {
        match self.variant {
            Variant::Rfc8289 => nanoseconds,
            Variant::Mac80211 => nanoseconds >> LINUX_CLOCK_SHIFT,
        }
    }

    /// Time in these units from `arrived` to `now`.
    pub(crate) fn sojourn_units(&self, now: Instant, arrived: Instant) -> u64 {
        self.units(now.as_nanos()).saturating_sub(self.units(arrived.as_nanos()))
    }

    /// [`Parameters::interval`] in these units.
    fn interval_units(&self) -> u64 {
        self.units(self.interval.as_nanos())
    }
}

/// Properties of a packet that CoDel requires. A value may also be a run of packets that are alike,
/// and entered the queue together.
pub trait Queueable {
    /// Instant at which the packet entered the queue.
    fn arrived(&self) -> Instant;
    /// Length of the packet in bytes.
    fn len_bytes(&self) -> u64;
    /// Marks the packet as congestion experienced if it is ECN-capable; returns
    /// whether it is.
    fn mark(&mut self) -> bool;
    /// Number of packets of the run, at least one.
    fn count(&self) -> usize {
        1
    }
    /// Removes the first packet of a run and returns it; `None` if there is one packet only.
    fn split_first(&mut self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// The queue from which a [`Control`] takes packets.
pub trait Source {
    /// The kind of packet in the queue.
    type Packet: Queueable;
    /// Takes the next packet.
    fn pop(&mut self) -> Option<Self::Packet>;
    /// Bytes that are left in the queue.
    fn bytes(&self) -> u64;
}

/// The state of CoDel, one per queue that it controls. Times are in units of the
/// variant.
///
/// A queue of packets that have waited for 30 ms. After an interval above the target one is dropped:
///
/// ```
/// use lasthop_packet::Packet;
/// use lasthop_packet::aqm::{Control, Parameters, Source, Variant};
/// use lasthop_units::{Duration, Instant};
///
/// struct Old(Instant);
///
/// impl Source for Old {
///     type Packet = Packet;
///
///     fn pop(&mut self) -> Option<Packet> {
///         Some(Packet::new(0, 1500, self.0 - Duration::from_millis(30)))
///     }
///
///     fn bytes(&self) -> u64 {
///         45_000
///     }
/// }
///
/// let parameters = Parameters {
///     target: Duration::from_millis(5),
///     interval: Duration::from_millis(100),
///     ecn: false,
///     variant: Variant::Rfc8289,
/// };
/// let (mut control, mut dropped) = (Control::new(), Vec::new());
/// for ms in 1_000..1_100 {
///     let now = Instant::ZERO + Duration::from_millis(ms);
///     control.dequeue(now, &parameters, &mut Old(now), &mut dropped);
/// }
/// assert!(dropped.is_empty());
/// let now = Instant::ZERO + Duration::from_millis(1_100);
/// control.dequeue(now, &parameters, &mut Old(now), &mut dropped);
/// assert_eq!(dropped.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// Time at which the sojourn time has been above the target for an interval.
    first_above: Option<u64>,
    drop_next: u64,
    /// Number of drops since the dropping state began.
    count: u32,
    /// Value of `count` when the dropping state began.
    count_at_start: u32,
    /// 1 / sqrt(`count`) in 65 536ths, for mac80211.
    reciprocal_root: u16,
    dropping: bool,
    /// Length of the longest packet seen in bytes, at least [`MTU_BYTES`].
    packet_bytes_max: u64,
}

impl Control {
    /// Returns the state for a queue that was never too long.
    pub const fn new() -> Self {
        Self {
            first_above: None,
            drop_next: 0,
            count: 0,
            count_at_start: 0,
            reciprocal_root: 0,
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
        let now = parameters.units(now.as_nanos());
        let (mut head, mut ok_to_drop) = self.pop(now, parameters, source);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.step_root();
                if mark(&mut head, parameters) {
                    self.drop_next += self.until_next(parameters);
                    return head;
                }
                dropped.extend(head);
                (head, ok_to_drop) = self.pop(now, parameters, source);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next += self.until_next(parameters);
                }
            }
        } else if ok_to_drop {
            if !mark(&mut head, parameters) {
                dropped.extend(head);
                (head, _) = self.pop(now, parameters, source);
            }
            self.dropping = true;
            let drops = self.count - self.count_at_start;
            let since_last = now.saturating_sub(self.drop_next);
            if drops > 1 && since_last < parameters.interval_units() * RESUME_INTERVALS {
                self.count = drops;
                self.step_root();
            } else {
                self.count = 1;
                self.reciprocal_root = u16::MAX;
            }
            self.drop_next = now + self.until_next(parameters);
            self.count_at_start = self.count;
        }
        head
    }

    /// Returns the next packet, and whether it may be dropped (`dodequeue` of
    /// RFC 8289, 5.6; `codel_should_drop` of Linux).
    fn pop<S: Source>(
        &mut self,
        now: u64,
        parameters: &Parameters,
        source: &mut S,
    ) -> (Option<S::Packet>, bool) {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.packet_bytes_max = self.packet_bytes_max.max(packet.len_bytes());
        let exempt = match parameters.variant {
            Variant::Rfc8289 => self.packet_bytes_max,
            Variant::Mac80211 => 0,
        };
        let sojourn = now.saturating_sub(parameters.units(packet.arrived().as_nanos()));
        if sojourn < parameters.units(parameters.target.as_nanos()) || source.bytes() <= exempt {
            self.first_above = None;
            return (Some(packet), false);
        }
        let ok_to_drop = match (self.first_above, parameters.variant) {
            (None, _) => {
                self.first_above = Some(now + parameters.interval_units());
                false
            }
            (Some(at), Variant::Rfc8289) => now >= at,
            (Some(at), Variant::Mac80211) => now > at,
        };
        (Some(packet), ok_to_drop)
    }

    /// Time from one drop to the next (RFC 8289, 5.3; `codel_control_law` of Linux).
    fn until_next(&self, parameters: &Parameters) -> u64 {
        match parameters.variant {
            Variant::Rfc8289 => {
                parameters.interval.mul_f64(1.0 / libm::sqrt(f64::from(self.count))).as_nanos()
            }
            Variant::Mac80211 => {
                (parameters.interval_units() * u64::from(self.reciprocal_root)) >> 16
            }
        }
    }

    /// Performs one step of Newton's method towards 1 / sqrt(`count`) (`codel_Newton_step`).
    fn step_root(&mut self) {
        let root = u64::from(self.reciprocal_root) << 16;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.reciprocal_root = (rest.wrapping_mul(root) >> (32 - 2 + 1 + 16)) as u16;
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

/// Marks the packet instead of dropping it, if ECN is on and the packet is capable
/// of it.
fn mark(packet: &mut Option<impl Queueable>, parameters: &Parameters) -> bool {
    parameters.ecn && packet.as_mut().is_some_and(Queueable::mark)
}
