//! Values by second of a capture. Second 0 begins with the first frame; a second in which
//! nothing was counted takes no memory, so that a clock that jumps by years costs nothing. The
//! latest hours are kept, so that memory is bounded in a capture of days.
//!
//! | series | of | fields |
//! |---|---|---|
//! | [`Air::busy`](crate::air::Air::busy) | the channel | time on the air in ns |
//! | [`Link::seconds`](crate::air::exchange::Link::seconds) | data from one station to another | [`Second`](crate::air::exchange::Second) |
//! | [`Direction::seconds`](crate::transport::Direction::seconds) | one direction of a flow | [`FlowSecond`](crate::transport::FlowSecond) |
//!
//! Finer times exist for the frames without data around each
//! absence ([`Absence::bare`](crate::air::absence::Absence::bare)).

use std::collections::BTreeMap;
use std::ops::Range;

/// Largest number of seconds kept for a series: four hours of seconds with values.
pub const SECONDS_MAX: usize = 4 * 3_600;

/// Values by second in ascending order: the latest `MAX` seconds with values.
#[derive(Clone, Debug, PartialEq)]
pub struct Seconds<T, const MAX: usize = SECONDS_MAX> {
    older: BTreeMap<usize, T>,
    /// Newest second, which nearly every access is about.
    newest: Option<(usize, T)>,
}

impl<T, const MAX: usize> Default for Seconds<T, MAX> {
    fn default() -> Self {
        Self { older: BTreeMap::new(), newest: None }
    }
}

impl<T: Default, const MAX: usize> Seconds<T, MAX> {
    /// Returns the values of a second, to be changed; new ones if there were none. Beyond `MAX`
    /// seconds the earliest is dropped. Values of even earlier seconds are added to the earliest
    /// kept second.
    pub fn at(&mut self, second: usize) -> &mut T {
        let newest = self.newest.as_ref().map(|(newest, _)| *newest);
        if newest.is_some_and(|newest| second < newest) {
            return self.at_older(second);
        }
        if newest != Some(second) {
            self.older.extend(self.newest.take());
            if self.older.len() >= MAX {
                self.older.pop_first();
            }
        }
        &mut self.newest.get_or_insert_with(|| (second, T::default())).1
    }

    #[cold]
    fn at_older(&mut self, second: usize) -> &mut T {
        let first = self.first();
        let is_full = self.count() >= MAX;
        if is_full && second > first && !self.older.contains_key(&second) {
            self.older.pop_first();
        }
        let second = if is_full { second.max(self.first()) } else { second };
        match &mut self.newest {
            Some((newest, values)) if *newest == second => values,
            _ => self.older.entry(second).or_default(),
        }
    }

    /// Returns the first kept second with values; 0 without any.
    pub fn first(&self) -> usize {
        let newest = self.newest.as_ref().map_or(0, |(second, _)| *second);
        self.older.first_key_value().map_or(newest, |(second, _)| *second)
    }

    /// Returns the values of a second, if there are any.
    pub fn get(&self, second: usize) -> Option<&T> {
        match &self.newest {
            Some((newest, values)) if *newest == second => Some(values),
            _ => self.older.get(&second),
        }
    }

    /// Returns all seconds with values in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let newest = self.newest.as_ref().map(|(second, values)| (*second, values));
        self.older.iter().map(|(second, values)| (*second, values)).chain(newest)
    }

    /// Returns the seconds with values in `range`, in ascending order.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &T)> {
        let newest = self.newest.as_ref().map(|(second, values)| (*second, values));
        let newest = newest.filter(|(second, _)| range.contains(second));
        // A BTreeMap does not accept a range that ends before it starts.
        let older = self.older.range(range.start..range.end.max(range.start));
        older.map(|(second, values)| (*second, values)).chain(newest)
    }

    /// Returns the number of seconds with values.
    pub fn count(&self) -> usize {
        self.older.len() + usize::from(self.newest.is_some())
    }

    /// Returns one more than the last second with values; 0 without any.
    pub fn end(&self) -> usize {
        self.newest.as_ref().map_or(0, |(second, _)| second + 1)
    }

    /// Sums one value over several series, in the seconds of `range`.
    pub fn sum<'a>(
        series: impl Iterator<Item = &'a Self>,
        range: &Range<usize>,
        value: impl Fn(&T) -> u64,
    ) -> Seconds<u64, MAX>
    where
        T: 'a,
    {
        let mut sums = Seconds::default();
        for (second, values) in series.flat_map(|series| series.range(range.clone())) {
            *sums.at(second) += value(values);
        }
        sums
    }
}

/// Time on the air by second, and sums that outlive the seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Busy {
    /// Time on the air of the kept seconds, in ns.
    pub seconds_ns: Seconds<u64>,
    /// Time on the air of all seconds, in ns.
    pub sum_ns: u64,
    /// Largest value of all seconds except the latest one, in ns.
    busiest_ns: u64,
}

impl Busy {
    /// Adds time on the air to a second.
    pub fn add(&mut self, second: usize, ns: u64) {
        let latest = self.seconds_ns.end().saturating_sub(1);
        if second > latest {
            let whole = self.seconds_ns.get(latest).copied().unwrap_or_default();
            self.busiest_ns = self.busiest_ns.max(whole);
        }
        let value = self.seconds_ns.at(second);
        *value += ns;
        if second < latest {
            self.busiest_ns = self.busiest_ns.max(*value);
        }
        self.sum_ns += ns;
    }

    /// Returns the time on the air in the busiest second, in ns. The latest second, which is
    /// usually incomplete, counts only if it is the only one.
    pub fn busiest_ns(&self) -> u64 {
        match self.seconds_ns.end() {
            end @ ..=1 => self.seconds_ns.get(end.saturating_sub(1)).copied().unwrap_or_default(),
            _ => self.busiest_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A map gives the same results, in any order of seconds.
        #[test]
        fn it_counts_as_a_map(seconds in prop::collection::vec(0usize..40, 0..200), from in 0usize..45, to in 0usize..45) {
            let mut ours = Seconds::<u64>::default();
            let mut map = BTreeMap::new();
            for second in seconds {
                *ours.at(second) += 1;
                *map.entry(second).or_insert(0u64) += 1;
            }
            let all = |range: Range<usize>| -> Vec<(usize, u64)> {
                map.iter().filter(|(s, _)| range.contains(s)).map(|(s, n)| (*s, *n)).collect()
            };
            let pairs = |found: &mut dyn Iterator<Item = (usize, &u64)>| -> Vec<(usize, u64)> {
                found.map(|(second, count)| (second, *count)).collect()
            };
            prop_assert_eq!(pairs(&mut ours.iter()), all(0..usize::MAX));
            prop_assert_eq!(pairs(&mut ours.range(from..to)), all(from..to));
            prop_assert_eq!(ours.count(), map.len());
            prop_assert_eq!(ours.end(), map.keys().last().map_or(0, |last| last + 1));
            for second in 0..45 {
                prop_assert_eq!(ours.get(second), map.get(&second));
            }
        }
    }

    #[test]
    fn the_earliest_are_forgotten() {
        let mut series = Seconds::<u32, 4>::default();
        for second in [0, 3, 6, 9, 12, 3, 0, 7, 7, 3] {
            *series.at(second) += 1;
        }
        let kept: Vec<_> = series.iter().map(|(second, count)| (second, *count)).collect();
        assert_eq!(kept, [(6, 2), (7, 2), (9, 1), (12, 1)]);
        assert_eq!((series.count(), series.first(), series.end()), (4, 6, 13));
    }

    proptest! {
        /// The sum, and the busiest of all seconds but the last, are known although few are kept.
        #[test]
        fn what_is_forgotten_stays_in_sum_and_maximum(
            added in proptest::collection::vec((0usize..3, 1u64..9), 1..200),
        ) {
            let mut busy = Busy::default();
            let mut all = vec![0];
            for (ahead, value) in added {
                all.resize(all.len() + ahead * 3_000, 0);
                let second = all.len() - 1;
                all[second] += value;
                busy.add(second, value);
                let whole = all.len().saturating_sub(1).max(1);
                prop_assert_eq!(busy.busiest_ns(), all[..whole].iter().copied().max().unwrap());
                prop_assert_eq!(busy.sum_ns, all.iter().sum::<u64>());
            }
        }
    }

    /// A time stamp in the year 2262 behind one in 1970 takes no memory.
    #[test]
    fn years_take_no_memory() {
        let mut seconds = Seconds::<u64>::default();
        *seconds.at(0) += 1;
        *seconds.at(usize::MAX - 1) += 2;
        *seconds.at(5) += 4;
        assert_eq!(
            seconds.iter().map(|(s, n)| (s, *n)).collect::<Vec<_>>(),
            [(0, 1), (5, 4), (usize::MAX - 1, 2)]
        );
    }
}
