//! The kernel for x86 with AVX2: vectors of 32 bytes, a product by two look-ups of
//! nibbles (VPSHUFB). [`super::body`] has the operations; this file has only what
//! depends on the instruction set.
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use super::body::operations;
use super::halves::halves;
use super::planes::planes;
use crate::field::POLYNOMIAL_256;
use core::arch::x86_64::*;

operations!("avx2", 32, 3, 2);
halves!("avx2", 4, 2);
planes!("avx2", 6, 8, 2);

type Register = __m256i;

/// The products of one element and all low nibbles, and all high nibbles.
type Factor = [Register; 2];

/// # Safety
///
/// 32 bytes can be read at `at`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(at: *const u8) -> Register {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(at.cast()) }
}

/// # Safety
///
/// 32 bytes can be written at `at`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(at: *mut u8, vector: Register) {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(at.cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn zero() -> Register {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum(a: Register, b: Register) -> Register {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn factor(tables: &Tables, c: u8) -> Factor {
    let table: *const __m128i = tables.nibbles[usize::from(c)].as_ptr().cast();
    // SAFETY: the entry has 32 bytes; the instruction needs no alignment.
    unsafe {
        [
            _mm256_broadcastsi128_si256(_mm_loadu_si128(table)),
            _mm256_broadcastsi128_si256(_mm_loadu_si128(table.add(1))),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn product(factor: Factor, x: Register) -> Register {
    product_of_halves(factor, split(x))
}

/// The low nibbles and the high nibbles.
#[inline]
#[target_feature(enable = "avx2")]
fn split(x: Register) -> [Register; 2] {
    let mask = _mm256_set1_epi8(15);
    [_mm256_and_si256(x, mask), _mm256_and_si256(_mm256_srli_epi64::<4>(x), mask)]
}

#[inline]
#[target_feature(enable = "avx2")]
fn product_of_halves(factor: Factor, x: [Register; 2]) -> Register {
    _mm256_xor_si256(_mm256_shuffle_epi8(factor[0], x[0]), _mm256_shuffle_epi8(factor[1], x[1]))
}

/// The field's polynomial without its highest power, in each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn polynomial() -> Register {
    _mm256_set1_epi8((POLYNOMIAL_256 & 0xFF) as i8)
}

/// `2 x + y` plus [`polynomial`], over GF(2^8).
#[inline]
#[target_feature(enable = "avx2")]
fn horner(x: Register, y: Register) -> Register {
    let twice = _mm256_xor_si256(_mm256_add_epi8(x, x), y);
    // A look-up by a byte from 0x80 on is zero.
    _mm256_xor_si256(twice, _mm256_shuffle_epi8(polynomial(), x))
}
