//! The kernel for x86 with AVX-512BW: vectors of 64 bytes, a product by two
//! look-ups of nibbles (VPSHUFB). [`super::body`] has the operations; this file has
//! only what depends on the instruction set.
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use super::body::operations;
use super::planes::planes;
use crate::field::POLYNOMIAL_256;
use core::arch::x86_64::*;

operations!("avx512f,avx512bw", 64, 4, 3);
planes!("avx512f,avx512bw", 5, 8, 2);

type Register = __m512i;

/// The products of one element and all low nibbles, and all high nibbles.
type Factor = [Register; 2];

/// # Safety
///
/// 64 bytes can be read at `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn load(at: *const u8) -> Register {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(at.cast()) }
}

/// # Safety
///
/// 64 bytes can be written at `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn store(at: *mut u8, vector: Register) {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(at.cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn zero() -> Register {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn sum(a: Register, b: Register) -> Register {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn factor(tables: &Tables, c: u8) -> Factor {
    let table: *const __m128i = tables.nibbles[usize::from(c)].as_ptr().cast();
    // SAFETY: the entry has 32 bytes; the instruction needs no alignment.
    unsafe {
        [
            _mm512_broadcast_i32x4(_mm_loadu_si128(table)),
            _mm512_broadcast_i32x4(_mm_loadu_si128(table.add(1))),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn product(factor: Factor, x: Register) -> Register {
    let mask = _mm512_set1_epi8(15);
    let low = _mm512_and_si512(x, mask);
    let high = _mm512_and_si512(_mm512_srli_epi64::<4>(x), mask);
    _mm512_xor_si512(_mm512_shuffle_epi8(factor[0], low), _mm512_shuffle_epi8(factor[1], high))
}

/// The field's polynomial without its highest power, in each byte.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn polynomial() -> Register {
    _mm512_set1_epi8((POLYNOMIAL_256 & 0xFF) as i8)
}

/// `2 x + y` plus [`polynomial`], over GF(2^8).
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn horner(x: Register, y: Register) -> Register {
    let twice = _mm512_xor_si512(_mm512_add_epi8(x, x), y);
    // A look-up by a byte from 0x80 on is zero.
    _mm512_xor_si512(twice, _mm512_shuffle_epi8(polynomial(), x))
}
