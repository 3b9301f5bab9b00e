//! Contenders that count the same slots.

use super::{ContenderId, Counting, slots_over};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Flag of a contender that has no frame to send.
const UNARMED: u32 = 1 << 30;
/// Flag of a contender that counts by itself.
const APART: u32 = 1 << 29;

/// Contenders of a view with the same AIFS and rules. Each list has an element for each of them, so
/// that a step for all is a short loop over numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lane {
    pub aifs: Duration,
    pub counting: Counting,
    /// End of AIFS while the view is resolved.
    pub counts_from: Instant,
    pub ids: Vec<ContenderId>,
    pub stations: Vec<StationId>,
    /// Slots left when the medium last became busy.
    left: Vec<u32>,
    flags: Vec<u32>,
    /// Times of the contenders that count by themselves.
    times: Vec<Times>,
    /// Number of contenders that count by themselves.
    apart: usize,
}

/// Times of a contender while its view is resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    /// End of its AIFS.
    pub counts_from: Instant,
    /// Its access instant, if it has a frame to send.
    pub access_at: Instant,
}

impl Times {
    /// Times of a contender that counts `left` slots.
    #[inline]
    pub fn new(counts_from: Instant, left: u32, slot: Duration) -> Self {
        let access_at = counts_from.saturating_add(slot * u64::from(left));
        Self { counts_from, access_at }
    }
}

impl Lane {
    pub const fn new(aifs: Duration, counting: Counting, counts_from: Instant) -> Self {
        Self {
            aifs,
            counting,
            counts_from,
            ids: Vec::new(),
            stations: Vec::new(),
            left: Vec::new(),
            flags: Vec::new(),
            times: Vec::new(),
            apart: 0,
        }
    }

    /// Adds a contender with nothing to send; returns its place.
    pub fn push(&mut self, id: ContenderId, station: StationId, left: u32) -> usize {
        self.ids.push(id);
        self.stations.push(station);
        self.left.push(left);
        self.flags.push(UNARMED);
        self.times.push(Times { counts_from: Instant::ZERO, access_at: Instant::ZERO });
        self.ids.len() - 1
    }

    /// Removes a contender; the last one takes its place.
    pub fn remove(&mut self, place: usize) {
        self.rejoin(place);
        self.ids.swap_remove(place);
        self.stations.swap_remove(place);
        self.left.swap_remove(place);
        self.flags.swap_remove(place);
        self.times.swap_remove(place);
    }

    /// Slots that a contender had left when the medium last became busy.
    #[inline]
    pub fn left(&self, place: usize) -> u32 {
        self.left[place]
    }

    /// Sets the slots that a contender had left when the medium last became busy.
    #[inline]
    pub fn set_left(&mut self, place: usize, left: u32) {
        debug_assert!(left < APART, "a contention window has 15 bits");
        self.left[place] = left;
    }

    /// Whether a contender has a frame to send.
    #[inline]
    pub fn is_armed(&self, place: usize) -> bool {
        self.flags[place] & UNARMED == 0
    }

    /// Sets whether a contender has a frame to send.
    #[inline]
    pub fn set_armed(&mut self, place: usize, armed: bool) {
        let flag = if armed { 0 } else { UNARMED };
        self.flags[place] = self.flags[place] & !UNARMED | flag;
    }

    /// Whether a contender counts by itself.
    #[inline]
    pub fn is_apart(&self, place: usize) -> bool {
        self.flags[place] & APART != 0
    }

    /// Lets a contender count by itself.
    #[inline]
    pub fn set_apart(&mut self, place: usize, times: Times) {
        self.apart += usize::from(!self.is_apart(place));
        self.flags[place] |= APART;
        self.times[place] = times;
    }

    /// Lets the contenders of stations count by themselves whose AIFS begins at another instant.
    pub fn set_apart_since(
        &mut self,
        since: impl Fn(StationId) -> Option<Instant>,
        slot: Duration,
    ) {
        let of_each = self.flags.iter_mut().zip(&mut self.times).zip(&self.left);
        for (((flags, times), left), station) in of_each.zip(&self.stations) {
            if let Some(since) = since(*station) {
                self.apart += usize::from(*flags & APART == 0);
                *flags |= APART;
                *times = Times::new(since.saturating_add(self.aifs), *left, slot);
            }
        }
    }

    /// Lets a contender count with the others.
    #[inline]
    pub fn rejoin(&mut self, place: usize) {
        self.apart -= usize::from(self.is_apart(place));
        self.flags[place] &= !APART;
    }

    /// Lets all contenders count together.
    #[inline]
    pub fn rejoin_all(&mut self) {
        if self.apart > 0 {
            self.flags.iter_mut().for_each(|flags| *flags &= !APART);
            self.apart = 0;
        }
    }

    /// Times of a contender, if the view is resolved.
    #[inline]
    pub fn times(&self, place: usize, slot: Duration) -> Times {
        if self.is_apart(place) {
            self.times[place]
        } else {
            Times::new(self.counts_from, self.left[place], slot)
        }
    }

    /// Keeps the slots not yet counted at `now`, and lets all contenders count together.
    #[inline]
    pub fn freeze(&mut self, now: Instant, slot: Duration) {
        let over = slots_over(now, self.counts_from, slot);
        let counted = over.map_or(0, |over| self.counting.counted(over));
        let counted = u32::try_from(counted).unwrap_or(u32::MAX);
        if self.apart == 0 {
            self.left.iter_mut().for_each(|left| *left = left.saturating_sub(counted));
            return;
        }
        let all = self.left.iter_mut().zip(&mut self.flags).zip(&self.times);
        for ((left, flags), times) in all {
            if *flags & APART == 0 {
                *left = left.saturating_sub(counted);
            } else if now >= times.counts_from {
                *left = self.counting.after(*left, slots_over(now, times.counts_from, slot));
            }
            *flags &= !APART;
        }
        self.apart = 0;
    }

    /// The fewest slots that a contender with a frame has left that counts with the others.
    #[inline]
    fn fewest(&self) -> Option<u32> {
        let keys = self.left.iter().zip(&self.flags).map(|(left, flags)| left | flags);
        // Signed, because vectors of the oldest x86-64 compare signed numbers only.
        let fewest = keys.fold(i32::MAX, |fewest, key| fewest.min(key as i32)) as u32;
        (fewest < APART).then_some(fewest)
    }

    /// The earliest access instant while the view `is_resolved` or not; [`Instant::MAX`] for none.
    #[inline]
    pub fn next(&self, is_resolved: bool, slot: Duration) -> Instant {
        let mut next = Instant::MAX;
        if is_resolved && let Some(fewest) = self.fewest() {
            next = Times::new(self.counts_from, fewest, slot).access_at;
        }
        if self.apart > 0 {
            for (flags, times) in self.flags.iter().zip(&self.times) {
                if *flags == APART {
                    next = next.min(times.access_at);
                }
            }
        }
        next
    }

    /// Adds the contenders whose access instant is `now` while the view `is_resolved` or not.
    pub fn winners(
        &self,
        now: Instant,
        is_resolved: bool,
        slot: Duration,
        winners: &mut Vec<ContenderId>,
    ) {
        if is_resolved && now >= self.counts_from {
            let left = (now - self.counts_from) / slot;
            if self.counts_from + slot * left == now {
                self.add_first(left as u32, winners);
            }
        }
        if self.apart > 0 {
            let all = self.ids.iter().zip(&self.flags).zip(&self.times);
            let first =
                all.filter(|((_, flags), times)| **flags == APART && times.access_at == now);
            winners.extend(first.map(|((id, _), _)| *id));
        }
    }

    /// Adds the contenders with a frame that count with the others and have `left` slots left.
    fn add_first(&self, left: u32, winners: &mut Vec<ContenderId>) {
        for (place, (left_of, flags)) in self.left.iter().zip(&self.flags).enumerate() {
            if left_of | flags == left {
                winners.push(self.ids[place]);
            }
        }
    }
}
