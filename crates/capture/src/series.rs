//! Values by second of a capture. Second 0 begins with the first frame; a second in which
//! nothing was counted takes no memory, so that a clock that jumps by years costs nothing.
//!
//! | series | of | fields |
//! |---|---|---|
//! | [`Air::busy_ns`](crate::air::Air::busy_ns) | the channel | time on the air in ns |
//! | [`Link::seconds`](crate::air::exchange::Link::seconds) | data from one station to another | [`Second`](crate::air::exchange::Second) |
//! | [`Direction::seconds`](crate::transport::Direction::seconds) | one direction of a flow | [`FlowSecond`](crate::transport::FlowSecond) |
//!
//! What is finer than a second is kept where it matters: the frames without data around each
//! absence ([`Absence::bare`](crate::air::absence::Absence::bare)).

use std::collections::BTreeMap;
use std::ops::Range;

/// Most seconds of a series that have values: twelve days. What comes in others is counted in one
/// sum, [`Seconds::left_out`].
pub const SECONDS_MAX: usize = 1 << 20;

/// Values by second, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seconds<T> {
    older: BTreeMap<usize, T>,
    /// The newest second: nearly always the one that is asked for.
    newest: Option<(usize, T)>,
    left_out: T,
}

impl<T: Default> Seconds<T> {
    /// The values of a second, to be changed; new ones if there were none.
    pub fn at(&mut self, second: usize) -> &mut T {
        let newest = self.newest.as_ref().map(|(newest, _)| *newest);
        let is_new = match newest {
            Some(newest) if second <= newest => {
                second < newest && !self.older.contains_key(&second)
            }
            _ => true,
        };
        if is_new && self.count() >= SECONDS_MAX {
            return &mut self.left_out;
        }
        if newest.is_some_and(|newest| second < newest) {
            return self.older.entry(second).or_default();
        }
        if newest != Some(second) {
            self.older.extend(self.newest.take());
        }
        &mut self.newest.get_or_insert_with(|| (second, T::default())).1
    }

    /// The values of a second, if there are any.
    pub fn get(&self, second: usize) -> Option<&T> {
        match &self.newest {
            Some((newest, values)) if *newest == second => Some(values),
            _ => self.older.get(&second),
        }
    }

    /// All seconds that have values, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let newest = self.newest.as_ref().map(|(second, values)| (*second, values));
        self.older.iter().map(|(second, values)| (*second, values)).chain(newest)
    }

    /// Those of them that are in `range`, ascending.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &T)> {
        let newest = self.newest.as_ref().map(|(second, values)| (*second, values));
        let newest = newest.filter(|(second, _)| range.contains(second));
        // A BTreeMap does not accept a range that ends before it starts.
        let older = self.older.range(range.start..range.end.max(range.start));
        older.map(|(second, values)| (*second, values)).chain(newest)
    }

    /// How many seconds have values.
    pub fn count(&self) -> usize {
        self.older.len() + usize::from(self.newest.is_some())
    }

    /// One more than the last second with values; 0 without any.
    pub fn end(&self) -> usize {
        self.newest.as_ref().map_or(0, |(second, _)| second + 1)
    }

    /// The sum of one value over several series, in the seconds of `range`.
    pub fn sum<'a>(
        series: impl Iterator<Item = &'a Self>,
        range: &Range<usize>,
        value: impl Fn(&T) -> u64,
    ) -> Seconds<u64>
    where
        T: 'a,
    {
        let mut sums = Seconds::default();
        for (second, values) in series.flat_map(|series| series.range(range.clone())) {
            *sums.at(second) += value(values);
        }
        sums
    }

    /// What was counted in seconds beyond [`SECONDS_MAX`].
    pub const fn left_out(&self) -> &T {
        &self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a map has it, in whatever order seconds come.
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
            prop_assert_eq!(ours.left_out(), &0);
        }
    }

    #[test]
    fn it_ends() {
        let mut series = Seconds::<u32>::default();
        for second in 0..SECONDS_MAX + 10 {
            *series.at(3 * second) += 1;
        }
        *series.at(0) += 1;
        *series.at(1) += 1;
        assert_eq!((series.count(), *series.left_out()), (SECONDS_MAX, 11));
        assert_eq!((series.get(0), series.get(1)), (Some(&2), None));
        assert_eq!(series.get(3 * (SECONDS_MAX - 1)), Some(&1));
    }
}
