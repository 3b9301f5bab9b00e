//! Pauses in a station's traffic, as a histogram. Each bin is a fifth wider than the previous one,
//! from 0.26 ms to 17 s; longer pauses are in the last bin.

/// Histogram of pauses by length.
#[derive(Clone, Debug)]
pub struct Pauses([u16; BINS]);

const BINS: usize = 64;
/// Bits of the number of bins in an octave.
const PARTS_BITS: u32 = 2;
/// Shortest pause that is counted: 2^18 ns.
const SHORTEST_BITS: u32 = 18;

impl Default for Pauses {
    fn default() -> Self {
        Self([0; BINS])
    }
}

impl Pauses {
    /// Adds a pause, in ns.
    pub fn add(&mut self, pause_ns: u64) {
        if let Some(bin) = bin(pause_ns) {
            self.0[bin] = self.0[bin].saturating_add(1);
        }
    }

    /// Returns the number of pauses that are at least as long.
    pub fn at_least(&self, pause_ns: u64) -> u64 {
        self.0[bin(pause_ns).unwrap_or_default()..].iter().map(|count| u64::from(*count)).sum()
    }
}

fn bin(pause_ns: u64) -> Option<usize> {
    let octave = pause_ns.checked_ilog2()?.checked_sub(SHORTEST_BITS)?;
    let part =
        (pause_ns >> (octave + SHORTEST_BITS - PARTS_BITS)) as usize & ((1 << PARTS_BITS) - 1);
    Some(((octave as usize) << PARTS_BITS | part).min(BINS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_counted_by_length() {
        let mut pauses = Pauses::default();
        let ms = |ms: u64| ms * 1_000_000;
        for pause in [0, 100_000, ms(1), ms(20), ms(40), ms(100), ms(100_000), u64::MAX] {
            pauses.add(pause);
        }
        let counts = [0, 1, 20, 40, 41, 50, 100, 150, 20_000].map(|at| pauses.at_least(ms(at)));
        // 40 and 41 ms are in one bin; so are 100 s and more.
        assert_eq!(counts, [6, 6, 5, 4, 4, 3, 3, 2, 2]);
        (0..100_000).for_each(|_| pauses.add(ms(20)));
        assert!(pauses.at_least(ms(20)) >= u64::from(u16::MAX));
    }
}
