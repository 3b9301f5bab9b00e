//! Seeds and independent random streams.
//!
//! A stream belongs to one component and is derived from (seed, run, component
//! path, [`Identity`]). Adding a station, reordering stations, or drawing more
//! numbers in one place changes no other stream. The generator is xoshiro256++, its
//! state filled by SplitMix64 from an FNV-1a hash, so results are the same on every
//! machine. Leaves out cryptographic randomness.

use crate::{Duration, Probability};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The origin of all randomness of one run.
///
/// ```
/// use lasthop_units::Seed;
///
/// let first = Seed::new(42, 0).stream("wire/loss").next_u64();
/// assert_eq!(Seed::new(42, 0).stream("wire/loss").next_u64(), first);
/// // Another run, and another component, draw other numbers.
/// assert_ne!(Seed::new(42, 1).stream("wire/loss").next_u64(), first);
/// assert_ne!(Seed::new(42, 0).stream("traffic").next_u64(), first);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The seed, chosen by the user and printed with every result.
    pub seed: u64,
    /// Number of the run with that seed, from 0.
    pub run: u64,
}

/// The random numbers of one component.
///
/// ```
/// use lasthop_units::{Probability, Seed};
///
/// let mut stream = Seed::new(1, 0).stream("wire/loss");
/// let loss = Probability::new(0.2).expect("it is between 0 and 1");
/// let lost = (0..10_000).filter(|_| stream.chance(loss)).count();
/// // Within four standard deviations.
/// assert!(lost.abs_diff(2_000) < 160);
/// assert!((0..100).all(|_| stream.up_to(15) < 16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

/// Distinguishes the components at one path: a hash of the component's name. A
/// number counted while reading a configuration must not be an identity, because
/// anything added before it would change it.
///
/// ```
/// use lasthop_units::{Identity, Seed};
///
/// let [ap, phone] = ["ap", "phone"].map(Identity::from_name);
/// let draw = |of| Seed::new(1, 0).stream_of("backoff", of).next_u64();
/// assert_ne!(draw(ap), draw(phone));
/// // A direction has an order, a pair has none.
/// assert_ne!(ap.to(phone), phone.to(ap));
/// assert_eq!(ap.beside(phone), phone.beside(ap));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Identity(u64);

impl Identity {
    /// The identity of the component called `name`.
    pub fn from_name(name: &str) -> Self {
        Self(fnv_1a(name.bytes()))
    }

    /// The identity of a component with this number in a protocol or standard (such
    /// as an access category); for tests, any number.
    pub const fn numbered(number: u64) -> Self {
        Self(number)
    }

    /// The identity of the direction from this component to `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        let ends = [self.0.to_le_bytes(), other.0.to_le_bytes()];
        Self(fnv_1a(ends.into_iter().flatten()))
    }

    /// The identity of the pair of this component and `other`, in either order.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        self.min(other).to(self.max(other))
    }

    /// An instant within an interval, in whole microseconds, for components that should not act
    /// together: instants are spread evenly, even for similar names.
    pub fn offset_within(self, interval: Duration) -> Duration {
        let share = Xoshiro256PlusPlus::seed_from_u64(self.0).next_u64();
        let micros = (u128::from(interval.as_micros()) * u128::from(share)) >> u64::BITS;
        Duration::from_micros(micros as u64)
    }

    /// A 32-bit hash for buckets, as a flow hash. Names that differ in their last letter have
    /// hashes close to each other.
    pub const fn hash(self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

impl Seed {
    /// The seed `seed`, run number `run`.
    pub const fn new(seed: u64, run: u64) -> Self {
        Self { seed, run }
    }

    /// The stream of the only component at `path`, for example `"testbed"`.
    pub fn stream(self, path: &str) -> Stream {
        self.stream_of(path, Identity::default())
    }

    /// The stream of the `index`-th component at `path`. For tests only: a counted
    /// index depends on what else was counted.
    pub fn indexed(self, path: &str, index: u64) -> Stream {
        self.stream_of(path, Identity::numbered(index))
    }

    /// The stream of the component `identity` at `path`, for example `"cell/link"`.
    pub fn stream_of(self, path: &str, identity: Identity) -> Stream {
        let words = [self.seed, self.run, identity.0].into_iter().flat_map(u64::to_le_bytes);
        Stream(Xoshiro256PlusPlus::seed_from_u64(fnv_1a(words.chain(path.bytes()))))
    }
}

/// The 64-bit FNV-1a hash: the same on every machine and in every version, for streams, flow
/// hashes and marks. The hash detects accidents, not forgeries.
///
/// ```
/// // From the test suite of the algorithm's authors.
/// assert_eq!(lasthop_units::fnv_1a("foobar".bytes()), 0x8594_4171_f739_67e8);
/// ```
pub fn fnv_1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Stream {
    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number in `[0, 1)` with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform integer in `0..=max` (Lemire's multiply-shift; its bias is below
    /// 2^-32).
    pub fn up_to(&mut self, max: u32) -> u32 {
        let range = u64::from(max) + 1;
        ((u128::from(self.next_u64()) * u128::from(range)) >> 64) as u32
    }

    /// Returns `true` with probability `p`.
    pub fn chance(&mut self, p: Probability) -> bool {
        self.uniform() < p.as_f64()
    }

    /// A number with an exponential distribution of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// A time with an exponential distribution of this mean.
    pub fn exponential_time(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(self.exponential())
    }

    /// A number with a standard normal distribution (Box-Muller, one value per
    /// call).
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
        let of = |name| seed.stream_of("a", Identity::from_name(name)).next_u64();
        assert_ne!(of("ap"), of("phone"));
        assert_ne!(Seed::new(1, 1).stream("a").next_u64(), seed.stream("a").next_u64());
        assert_ne!(Seed::new(2, 0).stream("a").next_u64(), Seed::new(0, 2).stream("a").next_u64());
    }

    extern crate alloc;

    #[test]
    fn identities_differ_where_components_do() {
        let [ap, phone, phone1] = ["ap", "phone", "phone1"].map(Identity::from_name);
        let all = [
            ap,
            phone,
            phone1,
            ap.to(phone),
            phone.to(ap),
            ap.beside(phone),
            ap.to(phone).to(phone1),
            ap.to(phone.to(phone1)),
            Identity::numbered(1),
        ];
        // Pairs in one order are also the pair in any order.
        let distinct: alloc::collections::BTreeSet<_> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len() - 1);
        assert_eq!(ap.beside(phone), phone.beside(ap));
    }

    /// Hashes from the test suite of the algorithm's authors (`test_fnv.c`; draft-eastlake-fnv,
    /// 6.3), and their method for fewer bits, folding: 85944171 xor f73967e8.
    #[test]
    fn hashes_are_those_of_the_authors() {
        let published = [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ];
        for (text, hash) in published {
            assert_eq!(fnv_1a(text.bytes()), hash, "{text:?}");
            assert_eq!(Identity::from_name(text), Identity::numbered(hash), "{text:?}");
        }
        assert_eq!(Identity::from_name("foobar").hash(), 0x72ad_2699);
    }

    /// The 99.9 % point of Kolmogorov's distribution is 1.95 / sqrt(n): samples are closer than
    /// that to their expected distribution.
    #[test]
    fn distributions_are_right() {
        let apart = |draw: &mut dyn FnMut() -> f64, cumulative: fn(f64) -> f64| {
            let mut all: alloc::vec::Vec<f64> = (0..20_000).map(|_| draw()).collect();
            all.sort_by(f64::total_cmp);
            let n = all.len() as f64;
            let gap = |(i, &x): (usize, &f64)| (cumulative(x) - (i as f64 + 0.5) / n).abs();
            all.iter().enumerate().map(gap).fold(0.0, f64::max) * n.sqrt()
        };
        let mut stream = Seed::new(3, 1).stream("distributions");
        assert!(apart(&mut || stream.uniform(), |x| x) < 1.95);
        assert!(apart(&mut || stream.exponential(), |x| 1.0 - libm::exp(-x)) < 1.95);
        let normal = |x: f64| 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2);
        assert!(apart(&mut || stream.normal(), normal) < 1.95);
        let mean = Duration::from_millis(7);
        let mut draw = || stream.exponential_time(mean).as_millis_f64();
        assert!(apart(&mut draw, |ms| 1.0 - libm::exp(-ms / 7.0)) < 1.95);
    }

    /// Both ends are drawn, each value equally often within four standard deviations.
    #[test]
    fn draws_from_a_range_reach_both_ends() {
        let mut stream = Seed::new(5, 0).stream("range");
        let mut counts = [0u32; 16];
        (0..16_000).for_each(|_| counts[stream.up_to(15) as usize] += 1);
        assert!(counts.iter().all(|&count| count.abs_diff(1000) < 125), "{counts:?}");
        assert_eq!(stream.up_to(0), 0);
        let high = (0..1000).filter(|_| stream.up_to(u32::MAX) > u32::MAX / 2).count();
        assert!(high.abs_diff(500) < 64, "{high}");
    }

    #[test]
    fn chances_are_what_they_say() {
        let mut stream = Seed::new(5, 0).stream("chance");
        let mut hits = |p: f64| {
            let p = Probability::new(p).expect("in range");
            (0..10_000).filter(|_| stream.chance(p)).count()
        };
        assert_eq!((hits(0.0), hits(1.0)), (0, 10_000));
        assert!(hits(0.2).abs_diff(2_000) < 160);
        assert!(hits(0.9).abs_diff(9_000) < 120);
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
