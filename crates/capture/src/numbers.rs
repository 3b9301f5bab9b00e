//! A value for each sequence number (0 to 4 095) that has one. Memory grows with the numbers that
//! are used: a station that sends little, or a made-up address, takes some bytes; a station that
//! sends much takes pages of [`PAGE`] numbers.

use lasthop_units::SeqNo12;

/// Values by sequence number. Numbers that were not set have the default value.
#[derive(Clone, Debug)]
pub struct Numbers<T> {
    few: Vec<(u16, T)>,
    /// All pages, once more than [`FEW`] numbers have values; until then empty.
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

/// Largest number of values in a list that is searched from its start.
const FEW: usize = 24;
/// Numbers of a page.
const PAGE: usize = 64;
/// Pages of all numbers.
const PAGES: usize = SeqNo12::MODULUS as usize / PAGE;

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { few: Vec::new(), pages: Vec::new() }
    }
}

/// Page of a number, and the place in it.
const fn place(number: u16) -> (usize, usize) {
    (number as usize / PAGE, number as usize % PAGE)
}

impl<T: Copy + Default> Numbers<T> {
    /// Returns the value of a number.
    pub fn get(&self, number: u16) -> T {
        let (page, index) = place(number);
        match self.pages.get(page) {
            Some(page) => page.as_ref().map_or_else(T::default, |page| page[index]),
            None => {
                let value = self.few.iter().find(|(n, _)| *n == number);
                value.map_or_else(T::default, |(_, value)| *value)
            }
        }
    }

    /// Returns the value of a number, to be changed.
    ///
    /// # Panics
    /// If `number` is above 4 095.
    pub fn at(&mut self, number: u16) -> &mut T {
        if self.pages.is_empty() {
            let known = self.few.iter().position(|(n, _)| *n == number);
            if known.is_some() || self.few.len() < FEW {
                let index = known.unwrap_or(self.few.len());
                if known.is_none() {
                    self.few.push((number, T::default()));
                }
                return &mut self.few[index].1;
            }
            self.pages.resize_with(PAGES, || None);
            for (n, value) in std::mem::take(&mut self.few) {
                *self.in_page(n) = value;
            }
        }
        self.in_page(number)
    }

    fn in_page(&mut self, number: u16) -> &mut T {
        let (page, index) = place(number);
        &mut self.pages[page].get_or_insert_with(|| Box::new([T::default(); PAGE]))[index]
    }

    /// Takes the values of `count` numbers from `first` on, in no order. These numbers have the
    /// default value from now on.
    pub fn take(&mut self, first: SeqNo12, count: u16, mut taken: impl FnMut(T)) {
        if self.pages.is_empty() {
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
            let (page, index) = place(first.plus(n).as_u16());
            if let Some(page) = &mut self.pages[page] {
                taken(std::mem::take(&mut page[index]));
            }
        }
    }

    /// Before the next number takes more than a place in a list, drops the values that are not
    /// `kept`.
    pub fn tidy(&mut self, kept: impl Fn(T) -> bool) {
        if self.few.len() >= FEW {
            self.few.retain(|(_, value)| kept(*value));
        }
    }

    /// Values that were set, in no order, and some default values.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &T)> {
        let few = self.few.iter().map(|(number, value)| (*number, value));
        let pages = self.pages.iter().zip((0u16..).step_by(PAGE));
        let values = pages.filter_map(|(page, base)| page.as_deref().map(|page| (base, page)));
        few.chain(values.flat_map(|(base, page)| (base..).zip(page)))
    }

    /// Whether no value was set.
    pub const fn is_empty(&self) -> bool {
        self.few.is_empty() && self.pages.is_empty()
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
                    prop_assert_eq!(numbers.get(number * 68), expected);
                }
            }
            let sum = |values: &mut dyn Iterator<Item = u8>| values.map(u64::from).sum::<u64>();
            for (number, value) in numbers.iter() {
                prop_assert_eq!(*value, numbers.get(number));
            }
            let ours = sum(&mut numbers.iter().map(|(_, value)| *value));
            prop_assert_eq!(ours, sum(&mut map.into_values()));
        }
    }
}
