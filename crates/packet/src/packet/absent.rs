//! The waits of a packet for absent stations, packed: few packets have any, and each copy of a packet
//! costs by its length.

use core::fmt;
use lasthop_units::Duration;

/// Bits of each of the three times.
const BITS: u32 = 42;
/// The longest time: 4 398 s.
const MOST: u64 = (1 << BITS) - 1;

/// Waits for a station that was not there, three times exact to the nanosecond, of at most 4 398 s each;
/// longer ones are cut.
///
/// ```
/// use lasthop_packet::Absent;
/// use lasthop_units::Duration;
///
/// let [scan, doze] = [111, 204].map(Duration::from_millis);
/// let absent = Absent::new(scan, doze, Duration::ZERO) + Absent::new(scan, doze, doze);
/// assert_eq!((absent.away(), absent.roam()), (scan * 2, doze));
/// assert_eq!(absent.total(), scan * 2 + doze * 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Absent {
    /// `away`, `asleep` and `roam` from the lowest bit on, as two halves.
    low: u64,
    high: u64,
}

impl Absent {
    /// These waits.
    pub fn new(away: Duration, asleep: Duration, roam: Duration) -> Self {
        let times = [away, asleep, roam].map(|time| u128::from(time.as_nanos().min(MOST)));
        let all = times[0] | times[1] << BITS | times[2] << (2 * BITS);
        Self { low: all as u64, high: (all >> 64) as u64 }
    }

    /// Wait for a station that scans: its uplink was stopped from the flush to the end of the
    /// absence, or it could not be reached, and the access point buffered its packets or sent them
    /// without success.
    pub fn away(&self) -> Duration {
        self.time(0)
    }

    /// Wait for a station that dozes, until the frame that wakes it or the PS-Poll that requests
    /// the packet; for group frames, until the DTIM.
    pub fn asleep(&self) -> Duration {
        self.time(1)
    }

    /// Wait for a station without an access point: from its departure, or its notice that the access
    /// point is gone, until data flow again.
    pub fn roam(&self) -> Duration {
        self.time(2)
    }

    fn time(&self, number: u32) -> Duration {
        let all = u128::from(self.high) << 64 | u128::from(self.low);
        Duration::from_nanos((all >> (number * BITS)) as u64 & MOST)
    }

    /// The three together.
    pub fn total(&self) -> Duration {
        if self.is_zero() { Duration::ZERO } else { self.away() + self.asleep() + self.roam() }
    }

    /// Whether no station was absent.
    #[inline]
    pub const fn is_zero(&self) -> bool {
        self.low | self.high == 0
    }
}

impl core::ops::Add for Absent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(
            self.away() + other.away(),
            self.asleep() + other.asleep(),
            self.roam() + other.roam(),
        )
    }
}

impl core::ops::AddAssign for Absent {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Debug for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [away, asleep, roam] = [self.away(), self.asleep(), self.roam()];
        f.debug_struct("Absent")
            .field("away", &away)
            .field("asleep", &asleep)
            .field("roam", &roam)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The three times neither touch each other nor lose a nanosecond.
        #[test]
        fn times_stay_apart(times in proptest::array::uniform3(0..=MOST), more in 0..u64::MAX) {
            let [away, asleep, roam] = times.map(Duration::from_nanos);
            let absent = Absent::new(away, asleep, roam);
            prop_assert_eq!((absent.away(), absent.asleep(), absent.roam()), (away, asleep, roam));
            prop_assert_eq!(absent.total(), away + asleep + roam);
            prop_assert_eq!(absent.is_zero(), times == [0; 3]);
            let cut = Absent::new(away, Duration::from_nanos(more), roam);
            prop_assert_eq!((cut.away(), cut.roam()), (away, roam));
            prop_assert_eq!(cut.asleep(), Duration::from_nanos(more.min(MOST)));
        }
    }
}
