//! Channels of a receiver over time, by the header of each frame. A hopping receiver hears each
//! channel for only a part of the time; time on the air and beacons are shares of that part.
//!
//! The time between two frames of one channel counts for that channel. The time between the last
//! frame of one channel and the first of the next is divided equally.

use lasthop_units::Duration;
use std::collections::BTreeMap;

/// Channels of a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    list: BTreeMap<u16, Channel>,
    /// Channel and capture time of the latest frame, and the start of the stay, in ns since 1970.
    latest: Option<(u16, u64, u64)>,
    changes: u64,
    stays: u64,
}

/// One channel of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Captured frames on the channel.
    pub frames: u64,
    /// Time spent by the receiver on the channel, in ns.
    pub time_ns: u64,
    /// Time on the air of these frames.
    pub airtime: Duration,
    /// Index of the channel in the order in which channels were heard.
    index: u32,
}

/// Largest number of channels: a mask has 64 bits.
const CHANNELS_MAX: usize = 64;
/// Shortest stay of a driver on a channel, in ns. Shorter stays are of several radios in one file.
const STAY_NS: u64 = 20_000_000;
/// Limits for hops of one radio: changes per second, and the least number of changes for this test.
pub(crate) const HOPS_PER_S_MAX: u64 = 50;
pub(crate) const HOPS_MIN: u64 = 100;

impl Channels {
    /// Handles a frame on the channel whose centre is at `mhz`. Returns the bit of the channel in
    /// masks; 0 beyond the first 64 channels.
    pub fn handle_frame(&mut self, mhz: u16, at_ns: u64) -> u64 {
        // Some drivers write 0 if the channel is unknown.
        if mhz == 0 {
            return 0;
        }
        let index = self.list.len();
        if index >= CHANNELS_MAX && !self.list.contains_key(&mhz) {
            return 0;
        }
        let (before, at_before, since) = self.latest.unwrap_or((mhz, at_ns, at_ns));
        let passed = at_ns.saturating_sub(at_before);
        let is_same = before == mhz;
        if !is_same {
            self.changes += 1;
            self.stays += u64::from(at_before.saturating_sub(since) >= STAY_NS);
            self.spend(before, passed / 2);
        }
        let fresh = Channel { index: index as u32, ..Channel::default() };
        let channel = self.list.entry(mhz).or_insert(fresh);
        channel.frames += 1;
        let bit = 1 << channel.index;
        self.spend(mhz, if is_same { passed } else { passed - passed / 2 });
        self.latest = Some((mhz, at_ns, if is_same { since } else { at_ns }));
        bit
    }

    fn spend(&mut self, mhz: u16, ns: u64) {
        if let Some(channel) = self.list.get_mut(&mhz) {
            channel.time_ns = channel.time_ns.saturating_add(ns);
        }
    }

    /// Adds time on the air to the channel at `mhz`.
    pub fn add_airtime(&mut self, mhz: u16, airtime: Duration) {
        if let Some(channel) = self.list.get_mut(&mhz) {
            channel.airtime += airtime;
        }
    }

    /// Returns all channels by their centre in MHz.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Channel)> {
        self.list.iter().map(|(mhz, channel)| (*mhz, channel))
    }

    /// Returns the number of channels.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the number of channel changes from one frame to the next.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the number of the receiver's current stay on a channel.
    pub const fn stay(&self) -> u64 {
        self.stays
    }

    /// Whether the channel changes so often that no single radio can have captured the frames.
    pub fn is_several_radios(&self) -> bool {
        let time: u128 = self.list.values().map(|channel| u128::from(channel.time_ns)).sum();
        let limit = time * u128::from(HOPS_PER_S_MAX);
        self.changes >= HOPS_MIN && u128::from(self.changes) * 1_000_000_000 > limit
    }

    /// Whether one receiver has changed its channel.
    pub fn is_hopping(&self) -> bool {
        self.count() > 1 && !self.is_several_radios()
    }

    /// Returns the time that a hopping receiver spent on the channels of a mask, in ns; `None` if
    /// it did not hop.
    pub fn time_ns(&self, mask: u64) -> Option<u64> {
        self.sum_ns(mask, |channel| channel.time_ns)
    }

    /// Returns the time on the air of frames on the channels of a mask, in ns; `None` if the
    /// receiver did not hop.
    pub fn airtime_ns(&self, mask: u64) -> Option<u64> {
        self.sum_ns(mask, |channel| channel.airtime.as_nanos())
    }

    fn sum_ns(&self, mask: u64, of: impl Fn(&Channel) -> u64) -> Option<u64> {
        let on = |channel: &&Channel| mask >> channel.index & 1 == 1;
        let times = self.list.values().filter(on).map(of);
        self.is_hopping().then(|| times.fold(0, u64::saturating_add))
    }
}

/// Returns the number of the 20 MHz channel whose centre is at `mhz` (IEEE 802.11-2020, annex E).
pub const fn number(mhz: u16) -> Option<u8> {
    let (base, last) = match mhz {
        2_484 => return Some(14),
        2_412..=2_472 => (2_407, 13),
        5_005..=5_900 => (5_000, 180),
        5_955..=7_115 => (5_950, 233),
        _ => return None,
    };
    let number = (mhz - base) / 5;
    if number <= last { Some(number as u8) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two stays of 100 ms on each of two channels, a frame each 10 ms.
    #[test]
    fn time_is_spent_where_frames_are_heard() {
        let mut channels = Channels::default();
        for frame in 0..40u64 {
            let mhz = if frame / 10 % 2 == 0 { 2_412 } else { 5_180 };
            assert_eq!(channels.handle_frame(mhz, frame * 10_000_000), 1 << (frame / 10 % 2));
        }
        assert!(channels.is_hopping());
        assert_eq!((channels.changes(), channels.stay()), (3, 3));
        let times: Vec<_> =
            channels.iter().map(|(mhz, it)| (mhz, it.time_ns / 1_000_000)).collect();
        // 9 + 9 whole gaps, and a half of the three in between for each side.
        assert_eq!(times, [(2_412, 195), (5_180, 195)]);
        assert_eq!(channels.time_ns(0b11), Some(390_000_000));
    }

    #[test]
    fn numbers_are_those_of_the_standard() {
        for (mhz, expected) in [
            (2_412, Some(1)),
            (2_467, Some(12)),
            (2_484, Some(14)),
            (5_180, Some(36)),
            (5_825, Some(165)),
            (5_955, Some(1)),
            (6_415, Some(93)),
            (900, None),
        ] {
            assert_eq!(number(mhz), expected, "{mhz}");
        }
    }
}
