//! The kernel for x86 with SSSE3: vectors of 16 bytes, a product by two look-ups of
//! nibbles (PSHUFB). [`super::body`] has the operations; this file has only what
//! depends on the instruction set.
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use super::body::operations;
use super::halves::halves;
use super::multiples::multiples;
use core::arch::x86_64::*;

operations!("ssse3", 16, 2, 4);
halves!("ssse3", 4, 2);
multiples!("ssse3");

type Register = __m128i;

/// The products of one element and all low nibbles, and all high nibbles.
type Factor = [Register; 2];

/// # Safety
///
/// 16 bytes can be read at `at`.
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn load(at: *const u8) -> Register {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm_loadu_si128(at.cast()) }
}

/// # Safety
///
/// 16 bytes can be written at `at`.
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn store(at: *mut u8, vector: Register) {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm_storeu_si128(at.cast(), vector) }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn zero() -> Register {
    _mm_setzero_si128()
}

#[inline]
#[target_feature(enable = "ssse3")]
fn sum(a: Register, b: Register) -> Register {
    _mm_xor_si128(a, b)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn factor(tables: &Tables, c: u8) -> Factor {
    let table = tables.nibbles[usize::from(c)].as_ptr();
    // SAFETY: the entry has 32 bytes.
    unsafe { [load(table), load(table.add(16))] }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn product(factor: Factor, x: Register) -> Register {
    product_of_halves(factor, split(x))
}

/// The low nibbles and the high nibbles.
#[inline]
#[target_feature(enable = "ssse3")]
fn split(x: Register) -> [Register; 2] {
    let mask = _mm_set1_epi8(15);
    [_mm_and_si128(x, mask), _mm_and_si128(_mm_srli_epi64::<4>(x), mask)]
}

#[inline]
#[target_feature(enable = "ssse3")]
fn product_of_halves(factor: Factor, x: [Register; 2]) -> Register {
    _mm_xor_si128(_mm_shuffle_epi8(factor[0], x[0]), _mm_shuffle_epi8(factor[1], x[1]))
}
