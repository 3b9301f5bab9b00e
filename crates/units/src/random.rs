//! Seeds and independent random streams.
//!
//! A stream belongs to a component and is made from (seed, run, component
//! path): adding a station or drawing more numbers in one place changes no
//! other stream. The generator is xoshiro256++, its state filled by SplitMix64
//! from an FNV-1a hash of the path, so results are the same on every machine.

use crate::{Duration, Probability};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What one run draws all its randomness from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Chosen by the user; printed with every result.
    pub seed: u64,
    /// Number of the run under that seed, from 0.
    pub run: u64,
}

/// One component's random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Seed {
    /// Run `run` of seed `seed`.
    pub const fn new(seed: u64, run: u64) -> Self {
        Self { seed, run }
    }

    /// The stream of the component at `path`, for example `"cell/station/3/backoff"`.
    pub fn stream(self, path: &str) -> Stream {
        self.indexed(path, 0)
    }

    /// The stream of the `index`-th component at `path`.
    pub fn indexed(self, path: &str, index: u64) -> Stream {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut eat = |byte: u8| {
            hash ^= u64::from(byte);
            hash = hash.wrapping_mul(0x0000_0100_0000_01b3);
        };
        for word in [self.seed, self.run, index] {
            word.to_le_bytes().into_iter().for_each(&mut eat);
        }
        path.bytes().for_each(&mut eat);
        Stream(Xoshiro256PlusPlus::seed_from_u64(hash))
    }
}

impl Stream {
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `[0, 1)`, 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..=max` (Lemire's multiply-shift; bias below 2^-32 for `max` below 2^32).
    pub fn up_to(&mut self, max: u32) -> u32 {
        let range = u64::from(max) + 1;
        ((u128::from(self.next_u64()) * u128::from(range)) >> 64) as u32
    }

    /// `true` with probability `p`.
    pub fn chance(&mut self, p: Probability) -> bool {
        self.uniform() < p.as_f64()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// Exponential time with the given mean.
    pub fn exponential_time(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(self.exponential())
    }

    /// Standard normal (Box-Muller, one value a call).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(2.0 * core::f64::consts::PI * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_apart() {
        let seed = Seed::new(1, 0);
        assert_eq!(seed.stream("a").next_u64(), seed.stream("a").next_u64());
        assert_ne!(seed.stream("a").next_u64(), seed.stream("b").next_u64());
        assert_ne!(seed.indexed("a", 1).next_u64(), seed.indexed("a", 2).next_u64());
        assert_ne!(Seed::new(1, 1).stream("a").next_u64(), seed.stream("a").next_u64());
        assert_ne!(Seed::new(2, 0).stream("a").next_u64(), Seed::new(0, 2).stream("a").next_u64());
    }

    #[test]
    fn moments_are_right() {
        let mut stream = Seed::new(7, 0).stream("moments");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || stream.uniform()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || stream.exponential()) - 1.0).abs() < 0.01);
        assert!(mean(&mut || stream.normal()).abs() < 0.01);
        let variance = mean(&mut || {
            let x = stream.normal();
            x * x
        });
        assert!((variance - 1.0).abs() < 0.02);
        assert!((mean(&mut || f64::from(stream.up_to(15))) - 7.5).abs() < 0.05);
    }
}
