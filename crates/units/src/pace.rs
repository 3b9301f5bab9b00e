//! Instants at which a stream of bytes passes a constant rate, without drift:
//! what the nanosecond cannot hold is carried to the next one.

use crate::{Bitrate, Duration, Instant};

/// A clock that bytes move on. Its exact reading is `floor + carry / rate` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    rate_bps: u64,
    floor: Instant,
    /// Below `rate_bps`.
    carry: u64,
}

impl Pace {
    /// Panics if `rate` is zero: nothing would ever pass.
    pub fn new(rate: Bitrate, start: Instant) -> Self {
        assert!(rate.as_bps() > 0, "a rate must be above zero");
        Self { rate_bps: rate.as_bps(), floor: start, carry: 0 }
    }

    /// The first whole nanosecond not before the exact reading.
    pub fn now(&self) -> Instant {
        if self.carry == 0 { self.floor } else { self.floor + Duration::from_nanos(1) }
    }

    /// Starts afresh at `at`.
    pub fn restart(&mut self, at: Instant) {
        self.floor = at;
        self.carry = 0;
    }

    /// What `bytes` are in units of 1e-9 bits, of which a nanosecond passes as many as the
    /// rate has bits a second.
    pub fn nanobits(bytes: u32) -> u64 {
        u64::from(bytes) * 8 * 1_000_000_000
    }

    /// Lets `bytes` pass. Packets are below 2^17 bytes, so 10^9 times their
    /// bits, plus a carry below the rate, stays far below 2^64.
    pub fn pass(&mut self, bytes: u32) {
        self.pass_nanobits(Self::nanobits(bytes));
    }

    /// Lets so many [`nanobits`](Self::nanobits) pass.
    pub fn pass_nanobits(&mut self, nanobits: u64) {
        let scaled = nanobits + self.carry;
        self.floor += Duration::from_nanos(scaled / self.rate_bps);
        self.carry = scaled % self.rate_bps;
    }

    /// Lets them pass if they do by `until`; otherwise says how many are left then, and
    /// changes nothing.
    pub fn pass_until(&mut self, nanobits: u64, until: Instant) -> u64 {
        let mut after = *self;
        after.pass_nanobits(nanobits);
        if after.now() <= until {
            *self = after;
            return 0;
        }
        // Less than all of them, so it is below 2^64 as they are.
        let room = until.saturating_since(self.floor).as_nanos() * self.rate_bps;
        nanobits - room.saturating_sub(self.carry)
    }
}
