//! The instants at which bytes pass at a constant rate, without drift: the part of
//! a nanosecond that [`Instant`] cannot represent is carried over. Rates are in
//! bits per second and above zero. Leaves out bursts: see [`crate::TokenBucket`].

use crate::{Bitrate, Duration, Instant};

/// A clock that advances with each byte. The exact time is `floor + carry / rate` nanoseconds.
///
/// ```
/// use lasthop_units::{Bitrate, Duration, Instant, Pace};
///
/// // At 7 Mb/s a packet of 125 bytes lasts 142 857 ns and a seventh.
/// let mut pace = Pace::new(Bitrate::from_mbps(7), Instant::ZERO);
/// (0..7_000).for_each(|_| pace.pass(125));
/// assert_eq!(pace.now(), Instant::ZERO + Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    rate_bps: u64,
    floor: Instant,
    /// The fraction of a nanosecond, in units of 1 / `rate_bps`; below `rate_bps`.
    carry: u64,
}

impl Pace {
    /// A pace of `rate` that starts at `start`. Panics if `rate` is zero: nothing
    /// would ever pass.
    pub fn new(rate: Bitrate, start: Instant) -> Self {
        assert!(rate.as_bps() > 0, "a rate must be above zero");
        Self { rate_bps: rate.as_bps(), floor: start, carry: 0 }
    }

    /// The first whole nanosecond that is not before the exact time.
    pub fn now(&self) -> Instant {
        if self.carry == 0 { self.floor } else { self.floor + Duration::from_nanos(1) }
    }

    /// Restarts at `at`.
    pub fn restart(&mut self, at: Instant) {
        self.floor = at;
        self.carry = 0;
    }

    /// The length of `bytes` in units of 1e-9 bits. In one nanosecond as many units
    /// pass as the rate has bits per second.
    pub fn nanobits(bytes: u32) -> u64 {
        u64::from(bytes) * 8 * 1_000_000_000
    }

    /// Lets `bytes` pass. Packets are shorter than 2^17 bytes, so 10^9 times their
    /// bits, plus a carry below the rate, stays far below 2^64.
    pub fn pass(&mut self, bytes: u32) {
        self.pass_nanobits(Self::nanobits(bytes));
    }

    /// Lets this many [`nanobits`](Self::nanobits) pass.
    pub fn pass_nanobits(&mut self, nanobits: u64) {
        let scaled = nanobits + self.carry;
        self.floor += Duration::from_nanos(scaled / self.rate_bps);
        self.carry = scaled % self.rate_bps;
    }

    /// Lets `nanobits` pass if all of them have passed by `until`, and returns 0. Otherwise returns
    /// how many are left then, and changes nothing.
    pub fn pass_until(&mut self, nanobits: u64, until: Instant) -> u64 {
        let mut after = *self;
        after.pass_nanobits(nanobits);
        if after.now() <= until {
            *self = after;
            return 0;
        }
        // Less than `nanobits`, and so below 2^64.
        let room = until.saturating_since(self.floor).as_nanos() * self.rate_bps;
        nanobits - room.saturating_sub(self.carry)
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// 1500 bytes at 100 Mb/s last 120 us. At 7 b/s a byte lasts 8/7 s, 1 142 857 142.86 ns, and
    /// seven of them 8 s exactly.
    #[test]
    fn packets_last_as_long_as_they_should() {
        let mut fast = Pace::new(Bitrate::from_mbps(100), at(5));
        fast.pass(1500);
        assert_eq!(fast.now(), at(120_005));
        let mut slow = Pace::new(Bitrate::from_bps(7), at(0));
        slow.pass(1);
        assert_eq!(slow.now(), at(1_142_857_143));
        (0..6).for_each(|_| slow.pass(1));
        assert_eq!(slow.now(), at(8_000_000_000));
        slow.pass(1);
        slow.restart(at(77));
        assert_eq!(slow.now(), at(77), "nothing is carried over");
        slow.pass(7);
        assert_eq!(slow.now(), at(8_000_000_077));
    }

    /// At 3 b/s a nanosecond passes three billionths of a bit. Of 10 units 10, 7, 4, 1 are left
    /// after 0, 1, 2, 3 nanoseconds, and none after four, when 2 more could pass.
    #[test]
    fn what_is_left_is_what_did_not_pass() {
        let fresh = Pace::new(Bitrate::from_bps(3), at(100));
        for (until, left) in [(0, 10), (100, 10), (101, 7), (102, 4), (103, 1)] {
            let mut pace = fresh;
            assert_eq!(pace.pass_until(10, at(until)), left, "until {until}");
            assert_eq!(pace, fresh, "it changes nothing");
        }
        let mut pace = fresh;
        assert_eq!(pace.pass_until(10, at(104)), 0);
        assert_eq!(pace.now(), at(104));
        // Two are passed by the end of the nanosecond that has begun.
        assert_eq!(pace.pass_until(3, at(104)), 1);
        assert_eq!(pace.pass_until(2, at(104)), 0);
        assert_eq!(pace.pass_until(1, at(104)), 1);
        assert_eq!(pace.now(), at(104));
    }

    proptest! {
        /// A stream in pieces passes by the instant at which the whole would pass: rounding errors
        /// do not add up.
        #[test]
        fn there_is_no_drift(
            rate in 1..20_000_000_000u64,
            packets in proptest::collection::vec(0..65_536u32, 0..100),
        ) {
            let mut pace = Pace::new(Bitrate::from_bps(rate), at(3));
            packets.iter().for_each(|&bytes| pace.pass(bytes));
            let bytes = packets.iter().map(|&bytes| u64::from(bytes)).sum();
            let whole = crate::Bytes::new(bytes) / Bitrate::from_bps(rate);
            prop_assert_eq!(pace.now(), at(3) + whole);
        }

        /// Pieces that pass as far as each instant permits end when the whole does; before that, a
        /// rest is left.
        #[test]
        fn pieces_pass_when_the_whole_does(
            rate in 1..10_000_000_000u64,
            bytes in 1..9_000u32,
            cuts in proptest::collection::vec(0.0..1.0f64, 0..10),
        ) {
            let mut whole = Pace::new(Bitrate::from_bps(rate), at(0));
            whole.pass(bytes);
            let end = whole.now();
            let mut cuts: Vec<u64> =
                cuts.into_iter().map(|cut| (end.as_nanos() as f64 * cut) as u64).collect();
            cuts.sort_unstable();
            let mut left = Pace::nanobits(bytes);
            let mut pace = Pace::new(Bitrate::from_bps(rate), at(0));
            for cut in cuts.into_iter().map(at).filter(|&cut| cut < end) {
                let rest = pace.pass_until(left, cut);
                prop_assert!(rest > 0 && rest <= left);
                pace.pass_nanobits(left - rest);
                prop_assert!(pace.now() <= cut);
                left = rest;
            }
            prop_assert_eq!(pace.pass_until(left, end), 0);
            prop_assert_eq!(pace, whole);
        }
    }
}
