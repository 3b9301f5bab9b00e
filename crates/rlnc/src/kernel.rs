//! The operations in which codecs spend their time, one file per instruction set.
//! The best one that the CPU and the operating system support is detected once, at
//! run time; all give the same bytes. Lengths are in bytes.
//!
//! This folder is the only place of the crate with `unsafe`: its functions check
//! their arguments, then call a kernel.
//!
//! Bounds without GFNI, for many rows over GF(2^8), in cycles for each vector and input (a
//! product), of the inner loops in LLVM's models of CPUs; Horner's rule and tables add a fifth:
//!
//! - Two look-ups of nibbles: 2.0 with AVX2 on Haswell and Skylake, 2.1 on Zen 2, 1.6 on Zen 3, 2.0
//!   with AVX-512 on Skylake. Intel's one unit for shuffles is the bound.
//! - Sums of six inputs (`planes.rs`): 4/3 additions from the first-level cache a product, and 3.7
//!   instructions instead of 7.0. 1.4 on Haswell, 1.0 on Skylake, 0.9 on Zen 2, 0.7 on Zen 3. Two
//!   loads a cycle are the bound of Zen, dispatch that of Haswell. AVX-512: sums of five inputs, of
//!   which a strip of 128 bytes fits in 32 KiB; 1.2 on Skylake.
//! - More inputs in a sum have fewer additions and longer tables: eight inputs were slower.
//! - The elimination of vectors is a quarter of decoding with AVX-512. Two fifths of it are
//!   additions of one row to others.
#![cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(unsafe_code, reason = "calls of functions for instruction sets that were found")
)]

pub(crate) mod lines;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod body;
#[cfg(target_arch = "x86_64")]
mod cpu;
#[cfg(target_arch = "x86_64")]
mod gfni;
#[cfg(target_arch = "x86_64")]
mod gfni_avx2;
#[cfg(target_arch = "x86_64")]
mod halves;
#[cfg(target_arch = "x86_64")]
mod multiples;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod planes;
#[cfg(target_arch = "x86_64")]
mod ssse3;

#[cfg(test)]
mod tests;

use crate::field::Field;
use core::sync::atomic::{AtomicU8, Ordering};

/// Smallest number of rows over GF(2) for which tables of sums are faster.
const FOUR_RUSSIANS_ROWS_MIN: usize = 12;

/// Smallest number of rows over GF(2^4) for which tables of multiples are faster,
/// and over GF(2^8), which has twice the look-ups: there only if vectors are short.
#[cfg(target_arch = "x86_64")]
const MULTIPLES_ROWS_MIN: usize = 20;
#[cfg(target_arch = "x86_64")]
const MULTIPLES_256_ROWS_MIN: usize = 28;

/// Smallest numbers of rows and inputs over GF(2^4), and over GF(2^8), for which tables of sums
/// for each bit of a coefficient are faster.
#[cfg(target_arch = "x86_64")]
const PLANES_MIN: (usize, usize) = (20, 12);
#[cfg(target_arch = "x86_64")]
const PLANES_256_MIN: (usize, usize) = (32, 32);

/// Smallest number of rows for which inputs that are split beforehand are faster.
#[cfg(target_arch = "x86_64")]
const HALVES_ROWS_MIN: usize = 8;

/// An instruction set that this CPU supports.
///
/// ```
/// use lasthop_rlnc::{Field, Kernel};
///
/// // Every kernel computes the same bytes.
/// for kernel in Kernel::supported() {
///     let mut row = [0x57; 100];
///     kernel.scale(Field::Gf256, &mut row, 0x83);
///     assert_eq!(row, [0xc1; 100], "{}", kernel.name());
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Set);

/// Instruction sets, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Set {
    Scalar,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    GfniAvx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Gfni,
}

impl Set {
    #[cfg(target_arch = "x86_64")]
    const ALL: &[Self] =
        &[Self::Scalar, Self::Ssse3, Self::Avx2, Self::GfniAvx2, Self::Avx512, Self::Gfni];
    #[cfg(target_arch = "aarch64")]
    const ALL: &[Self] = &[Self::Scalar, Self::Neon];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    const ALL: &[Self] = &[Self::Scalar];

    #[cfg(target_arch = "x86_64")]
    fn is_supported(self) -> bool {
        let has = cpu::features();
        match self {
            Self::Scalar => true,
            Self::Ssse3 => has.ssse3,
            Self::Avx2 => has.avx2,
            Self::GfniAvx2 => has.avx2 && has.gfni,
            Self::Avx512 => has.avx512,
            Self::Gfni => has.avx512 && has.gfni,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_supported(self) -> bool {
        // NEON is part of AArch64; a build without it does not set this feature.
        self == Self::Scalar || cfg!(target_feature = "neon")
    }
}

/// Position of the best set in `Set::ALL` plus one; zero until it is known. All
/// threads find the same value, so the order of their writes does not matter.
static BEST: AtomicU8 = AtomicU8::new(0);

/// Calls the function of the same name in the kernel's module.
macro_rules! dispatch {
    ($kernel:expr, $function:ident($($argument:expr),*)) => {
        match $kernel.0 {
            Set::Scalar => scalar::$function($($argument),*),
            // SAFETY: a `Kernel` is made only if the CPU has its instructions.
            #[cfg(target_arch = "aarch64")]
            Set::Neon => unsafe { neon::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Ssse3 => unsafe { ssse3::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::GfniAvx2 => unsafe { gfni_avx2::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { avx512::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Gfni => unsafe { gfni::$function($($argument),*) },
        }
    };
}

impl Kernel {
    /// The fastest kernel that this CPU and its operating system support.
    pub fn best() -> Self {
        let known = usize::from(BEST.load(Ordering::Relaxed));
        if known > 0 {
            return Self(Set::ALL[known - 1]);
        }
        let best = Set::ALL.iter().rposition(|set| set.is_supported()).unwrap_or(0);
        BEST.store(best as u8 + 1, Ordering::Relaxed);
        Self(Set::ALL[best])
    }

    /// All kernels that this CPU and its operating system support, the fastest
    /// last.
    pub fn supported() -> impl Iterator<Item = Self> {
        Set::ALL.iter().filter(|set| set.is_supported()).map(|&set| Self(set))
    }

    /// The name: `scalar`, `ssse3`, `avx2`, `gfni-avx2`, `avx512`, `gfni` or
    /// `neon`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Scalar => "scalar",
            #[cfg(target_arch = "aarch64")]
            Set::Neon => "neon",
            #[cfg(target_arch = "x86_64")]
            Set::Ssse3 => "ssse3",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::GfniAvx2 => "gfni-avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Set::Gfni => "gfni",
        }
    }

    /// Adds `x` to `y` (`y += x`). Panics if the lengths differ.
    pub fn add(self, y: &mut [u8], x: &[u8]) {
        assert_eq!(y.len(), x.len(), "the terms of a sum are of one length");
        dispatch!(self, add(y, x));
    }

    /// `y += c x` over `field`. Panics if the lengths differ.
    pub fn multiply_add(self, field: Field, y: &mut [u8], c: u8, x: &[u8]) {
        assert_eq!(y.len(), x.len(), "the terms of a sum are of one length");
        dispatch!(self, multiply_add(field.tables(), y, c, x));
    }

    /// `y *= c` over `field`.
    pub fn scale(self, field: Field, y: &mut [u8], c: u8) {
        dispatch!(self, scale(field.tables(), y, c));
    }

    /// `y[row] += c x` over `field` for each pair `(row, c)` of `terms`. Rows of
    /// `y` start every `stride` bytes and are at least as long as `x`, which
    /// consists of whole cache lines.
    pub(crate) fn scatter(
        self,
        field: Field,
        y: &mut [u8],
        stride: usize,
        terms: &[(u16, u8)],
        x: &[u8],
    ) {
        assert!(x.len() <= stride && x.len().is_multiple_of(lines::LINE_BYTES));
        let rows = y.len() / stride;
        assert!(terms.iter().all(|&(row, _)| usize::from(row) < rows), "there are such rows");
        dispatch!(self, scatter(field.tables(), y, stride, terms, x));
    }

    /// Computes `job` with inputs prepared for all rows, if that is faster. Returns whether it did.
    #[cfg(target_arch = "x86_64")]
    fn multiply_prepared(self, field: Field, job: &mut Product<'_>) -> bool {
        let (rows, tables) = (job.rows.len(), field.tables());
        let many = |(rows_min, count_min)| rows >= rows_min && job.count >= count_min;
        match (self.0, field) {
            // SAFETY: a `Kernel` is made only if the CPU has its instructions.
            (Set::Ssse3, Field::Gf16) if rows >= MULTIPLES_ROWS_MIN => unsafe {
                ssse3::multiples::<false>(tables, job);
            },
            // SAFETY: as above.
            (Set::Ssse3, Field::Gf256) if rows >= MULTIPLES_256_ROWS_MIN => unsafe {
                ssse3::multiples::<true>(tables, job);
            },
            // SAFETY: as above.
            (Set::Avx2, Field::Gf16) if many(PLANES_MIN) => unsafe {
                avx2::planes::<4>(tables, job);
            },
            // SAFETY: as above.
            (Set::Avx2, Field::Gf256) if many(PLANES_256_MIN) => unsafe {
                avx2::planes::<8>(tables, job);
            },
            // SAFETY: as above.
            (Set::Avx512, Field::Gf16) if many(PLANES_MIN) => unsafe {
                avx512::planes::<4>(tables, job);
            },
            // SAFETY: as above.
            (Set::Avx512, Field::Gf256) if many(PLANES_256_MIN) => unsafe {
                avx512::planes::<8>(tables, job);
            },
            // SAFETY: as above.
            (Set::Ssse3, _) if rows >= HALVES_ROWS_MIN => unsafe {
                ssse3::multiply_halves(tables, job);
            },
            // SAFETY: as above.
            (Set::Avx2, _) if rows >= HALVES_ROWS_MIN => unsafe {
                avx2::multiply_halves(tables, job);
            },
            _ => return false,
        }
        true
    }

    /// This was measured on x86 only.
    #[cfg(not(target_arch = "x86_64"))]
    fn multiply_prepared(self, _: Field, _: &mut Product<'_>) -> bool {
        false
    }

    /// Computes the sums of products that `job` describes. Coefficients have one
    /// bit each over GF(2), else one byte.
    pub(crate) fn multiply(self, field: Field, job: &mut Product<'_>) {
        job.check(field);
        match field {
            Field::Gf2 if job.rows.len() >= FOUR_RUSSIANS_ROWS_MIN && job.count > 0 => {
                dispatch!(self, four_russians(job));
            }
            Field::Gf2 => dispatch!(self, select(job)),
            _ if job.count > 0 && self.multiply_prepared(field, job) => {}
            _ => dispatch!(self, multiply(field.tables(), job)),
        }
    }
}

/// The job `out[o] = sum over i of coefficients[r][i] inputs[i]` for each pair `(o,
/// r)` of `rows`.
pub(crate) struct Product<'a> {
    /// The rows to write.
    pub out: &'a mut [u8],
    /// Bytes from one row of `out` to the next.
    pub out_stride: usize,
    /// Pairs of a row of `out` and the row of `coefficients` for it.
    pub rows: &'a [(u16, u16)],
    /// Rows of coefficients: bytes, or bits starting with the lowest of the first
    /// byte.
    pub coefficients: &'a [u8],
    /// Bytes from one row of `coefficients` to the next.
    pub coefficients_stride: usize,
    /// The rows that are multiplied and added.
    pub inputs: &'a [u8],
    /// Bytes from one input to the next.
    pub inputs_stride: usize,
    /// Number of inputs.
    pub count: usize,
    /// Bytes of each input that are used: whole cache lines.
    pub row_bytes: usize,
    /// Whether the sums are added to the content of `out`.
    pub add: bool,
}

impl Product<'_> {
    /// Panics if a row or an input is outside of its slice: the kernels rely on it.
    fn check(&self, field: Field) {
        assert!(self.row_bytes.is_multiple_of(lines::LINE_BYTES), "whole cache lines");
        let holds = |slice: &[u8], stride: usize, row: usize, bytes: usize| {
            bytes <= stride
                && row
                    .checked_mul(stride)
                    .and_then(|start| start.checked_add(bytes))
                    .is_some_and(|end| end <= slice.len())
        };
        let coefficient_bytes = match field {
            Field::Gf2 => self.count.div_ceil(64) * 8,
            _ => self.count,
        };
        for &(out, row) in self.rows {
            assert!(holds(self.out, self.out_stride, usize::from(out), self.row_bytes));
            let (row, stride) = (usize::from(row), self.coefficients_stride);
            assert!(holds(self.coefficients, stride, row, coefficient_bytes));
        }
        if let Some(last) = self.count.checked_sub(1) {
            assert!(holds(self.inputs, self.inputs_stride, last, self.row_bytes));
        }
    }
}

/// Bit `i` of `bits`, starting with the lowest of the first byte.
pub(crate) fn bit(bits: &[u8], i: usize) -> bool {
    bits[i / 8] >> (i % 8) & 1 == 1
}

/// Bits `first` to `first + 63` of `bits`; those from `count` on are zero.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn word(bits: &[u8], first: usize, count: usize) -> u64 {
    let bytes = bits[first / 8..].first_chunk().expect("a row is whole words, which is checked");
    let word = u64::from_le_bytes(*bytes);
    match count - first {
        left if left < 64 => word & ((1 << left) - 1),
        _ => word,
    }
}
