//! Instants at which a stream of bytes passes a constant rate, without drift:
//! what the nanosecond cannot hold is carried to the next one.

use lasthop_units::{Bitrate, Duration, Instant};

/// A clock that bytes move on. Its exact reading is `floor + carry / rate` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    rate_bps: u64,
    floor: Instant,
    /// Below `rate_bps`.
    carry: u64,
}

impl Pace {
    /// Panics if `rate` is zero: nothing would ever pass.
    pub(crate) fn new(rate: Bitrate, start: Instant) -> Self {
        assert!(rate.as_bps() > 0, "a rate must be above zero");
        Self { rate_bps: rate.as_bps(), floor: start, carry: 0 }
    }

    /// The first whole nanosecond not before the exact reading.
    pub(crate) fn now(&self) -> Instant {
        if self.carry == 0 { self.floor } else { self.floor + Duration::from_nanos(1) }
    }

    /// Starts afresh at `at`.
    pub(crate) fn restart(&mut self, at: Instant) {
        self.floor = at;
        self.carry = 0;
    }

    /// Lets `bytes` pass. Packets are below 2^17 bytes, so 10^9 times their
    /// bits, plus a carry below the rate, stays far below 2^64.
    pub(crate) fn pass(&mut self, bytes: u32) {
        let scaled = u64::from(bytes) * 8 * 1_000_000_000 + self.carry;
        self.floor += Duration::from_nanos(scaled / self.rate_bps);
        self.carry = scaled % self.rate_bps;
    }
}
