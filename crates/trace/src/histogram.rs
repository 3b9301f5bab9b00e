//! A histogram of times in nanoseconds, exact to three significant digits. The bins are log-linear:
//! 1 024 in an octave, each read as its middle (an error of 0.05 % at most); mean, minimum and
//! maximum are exact. Memory grows with the sixteenths of octaves that have values (512 bytes each,
//! 0.5 MiB at most), not with the number of values.

/// A distribution of values in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Counts by bin, in blocks; only blocks with values exist.
    blocks: Vec<Option<Box<[u64; BLOCK]>>>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Number of bins in an octave, as a power of two.
const STEPS_LOG2: u32 = 10;
/// Number of bins in a block.
const BLOCK: usize = 64;
/// Limit below which every value has its bin.
const EXACT: u64 = 2 << STEPS_LOG2;

impl Default for Histogram {
    fn default() -> Self {
        Self { blocks: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Adds a value in nanoseconds.
    #[inline]
    pub fn add(&mut self, nanos: u64) {
        let bin = bin_of(nanos);
        match self.blocks.get_mut(bin / BLOCK) {
            Some(Some(counts)) => counts[bin % BLOCK] += 1,
            _ => self.add_first(bin),
        }
        self.count += 1;
        self.sum += u128::from(nanos);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.blocks.len() > self.blocks.len() {
            self.blocks.resize(other.blocks.len(), None);
        }
        for (own, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
            let Some(theirs) = theirs else { continue };
            let own = own.get_or_insert_with(|| Box::new([0; BLOCK]));
            own.iter_mut().zip(theirs.iter()).for_each(|(own, count)| *own += count);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Mean in nanoseconds; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Largest value in nanoseconds; `None` without values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Quantile `q` (0 to 1) in nanoseconds: the least value that at least a share `q` of the
    /// values does not exceed. `None` without values.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let wanted = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count);
        if wanted == self.count {
            return Some(self.max);
        }
        let mut below = 0;
        for (block, counts) in self.blocks.iter().enumerate() {
            let Some(counts) = counts else { continue };
            let inside: u64 = counts.iter().sum();
            if below + inside < wanted {
                below += inside;
                continue;
            }
            let bin = counts.iter().position(|count| {
                below += count;
                below >= wanted
            });
            let bin = block * BLOCK + bin.expect("enough values are in the block");
            return Some(middle_of(bin as u64).clamp(self.min, self.max));
        }
        unreachable!("all values are in some block");
    }

    /// Counts the first value of a block.
    #[cold]
    fn add_first(&mut self, bin: usize) {
        let block = bin / BLOCK;
        if block >= self.blocks.len() {
            self.blocks.resize(block + 1, None);
        }
        let counts = self.blocks[block].get_or_insert_with(|| Box::new([0; BLOCK]));
        counts[bin % BLOCK] += 1;
    }
}

#[inline]
fn bin_of(nanos: u64) -> usize {
    if nanos < EXACT {
        return nanos as usize;
    }
    // nanos >> shift is in 1024..2048.
    let shift = nanos.ilog2() - STEPS_LOG2;
    ((u64::from(shift) << STEPS_LOG2) + (nanos >> shift)) as usize
}

fn middle_of(bin: u64) -> u64 {
    if bin < EXACT {
        return bin;
    }
    let shift = (bin >> STEPS_LOG2) - 1;
    let lowest = (bin - (shift << STEPS_LOG2)) << shift;
    lowest + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bin_is_three_digits_wide(nanos in any::<u64>()) {
            let middle = middle_of(bin_of(nanos) as u64);
            prop_assert!(middle.abs_diff(nanos) as f64 <= nanos as f64 / 2_000.0);
        }

        #[test]
        fn bins_are_ordered_and_dense(nanos in 0u64..u64::MAX) {
            let step = bin_of(nanos + 1) - bin_of(nanos);
            prop_assert!(step <= 1);
        }

        #[test]
        fn quantiles_agree_with_a_sorted_list(
            mut values in proptest::collection::vec(0u64..10_000_000_000, 1..300),
            q in 0.0f64..=1.0,
        ) {
            let mut histogram = Histogram::default();
            for &value in &values {
                histogram.add(value);
            }
            values.sort_unstable();
            let rank = ((values.len() as f64 * q).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1];
            let read = histogram.quantile(q).expect("not empty");
            prop_assert!(read.abs_diff(exact) as f64 <= exact as f64 / 2_000.0, "{read} {exact}");
        }
    }

    proptest! {
        /// Two histograms together are that of all values.
        #[test]
        fn merged_they_have_all_values(
            values in proptest::collection::vec((0u64..10_000_000_000, any::<bool>()), 0..100),
        ) {
            let mut parts = [Histogram::default(), Histogram::default()];
            let mut all = Histogram::default();
            for (value, place) in values {
                parts[usize::from(place)].add(value);
                all.add(value);
            }
            let [mut merged, other] = parts;
            merged.merge(&other);
            for q in [0.0, 0.3, 0.5, 0.95, 1.0] {
                prop_assert_eq!(merged.quantile(q), all.quantile(q));
            }
            prop_assert_eq!((merged.mean(), merged.max()), (all.mean(), all.max()));
        }
    }

    #[test]
    fn an_empty_one_says_nothing() {
        let empty = Histogram::default();
        assert_eq!((empty.mean(), empty.max(), empty.quantile(0.5)), (None, None, None));
    }
}
