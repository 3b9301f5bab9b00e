//! A value for each sequence number (0 to 4 095) that has one. A sender that sends little, or is
//! made up by somebody who sends frames with many addresses, takes some bytes, one that sends much
//! a place for each number.

use lasthop_units::SeqNo12;

/// Values by sequence number; those that were not set are the default.
#[derive(Clone, Debug)]
pub struct Numbers<T> {
    few: Vec<(u16, T)>,
    /// One for each number, once there were more than [`FEW`]; otherwise none.
    all: Vec<T>,
}

/// Values that are looked for one by one.
const FEW: usize = 24;

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { few: Vec::new(), all: Vec::new() }
    }
}

impl<T: Copy + Default> Numbers<T> {
    /// The value of a number.
    pub fn of(&self, number: u16) -> T {
        if let Some(value) = self.all.get(usize::from(number)) {
            return *value;
        }
        self.few.iter().find(|(n, _)| *n == number).map_or(T::default(), |(_, value)| *value)
    }

    /// The value of a number, to be changed.
    ///
    /// # Panics
    /// If `number` is above 4 095.
    pub fn at(&mut self, number: u16) -> &mut T {
        if self.all.is_empty() {
            let known = self.few.iter().position(|(n, _)| *n == number);
            if known.is_some() || self.few.len() < FEW {
                let index = known.unwrap_or(self.few.len());
                if known.is_none() {
                    self.few.push((number, T::default()));
                }
                return &mut self.few[index].1;
            }
            self.all = vec![T::default(); usize::from(SeqNo12::MODULUS)];
            for (n, value) in std::mem::take(&mut self.few) {
                self.all[usize::from(n)] = value;
            }
        }
        &mut self.all[usize::from(number)]
    }

    /// Takes the values of `count` numbers from `first` on, in no order, which are the default
    /// from now on.
    pub fn take(&mut self, first: SeqNo12, count: u16, mut taken: impl FnMut(T)) {
        if self.all.is_empty() {
            let is_inside = |n: u16| SeqNo12::new(n).distance_from(first) < count;
            self.few.retain(|(n, value)| {
                if is_inside(*n) {
                    taken(*value);
                }
                !is_inside(*n)
            });
            return;
        }
        for n in 0..count {
            taken(std::mem::take(&mut self.all[usize::from(first.plus(n).as_u16())]));
        }
    }

    /// Values that were set, in no order, and maybe others.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &T)> {
        let few = self.few.iter().map(|(number, value)| (*number, value));
        few.chain((0..).zip(&self.all))
    }

    /// Whether no value was set.
    pub const fn is_empty(&self) -> bool {
        self.few.is_empty() && self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// A map does the same, with few and with many numbers.
        #[test]
        fn numbers_are_a_map(
            of in 1u16..60,
            steps in prop::collection::vec((any::<u16>(), any::<u8>(), any::<bool>()), 0..200),
        ) {
            let mut numbers = Numbers::<u8>::default();
            let mut map = BTreeMap::<u16, u8>::new();
            for (number, value, is_taken) in steps {
                let number = number % of * 68;
                if is_taken {
                    let first = SeqNo12::new(number);
                    let mut sum = 0;
                    numbers.take(first, 136, |value| sum += u64::from(value));
                    let two = [number, first.plus(68).as_u16()].map(|n| map.remove(&n));
                    let two = two.into_iter().flatten().map(u64::from).sum::<u64>();
                    prop_assert_eq!(sum, two);
                } else {
                    *numbers.at(number) = value;
                    map.insert(number, value);
                }
                for number in 0..of {
                    let expected = map.get(&(number * 68)).copied().unwrap_or_default();
                    prop_assert_eq!(numbers.of(number * 68), expected);
                }
            }
            let sum = |values: &mut dyn Iterator<Item = u8>| values.map(u64::from).sum::<u64>();
            let ours = sum(&mut numbers.iter().map(|(_, value)| *value));
            prop_assert_eq!(ours, sum(&mut map.into_values()));
        }
    }
}
