//! The kernel for x86 with GFNI and AVX-512: vectors of 64 bytes, a product in one
//! instruction. [`super::body`] has the operations; this file has only what depends
//! on the instruction set.
//!
//! GF2P8AFFINEQB multiplies by a matrix over GF(2), so it works for every field at
//! the cost of GF2P8MULB, and the load broadcasts its factor.
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use super::body::operations;
use core::arch::x86_64::*;

operations!("avx512f,avx512bw,gfni", 64, 6, 3);

type Register = __m512i;

/// The matrix of one element, repeated eight times.
type Factor = __m512i;

/// # Safety
///
/// 64 bytes can be read at `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn load(at: *const u8) -> Register {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(at.cast()) }
}

/// # Safety
///
/// 64 bytes can be written at `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn store(at: *mut u8, vector: Register) {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(at.cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn zero() -> Register {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn sum(a: Register, b: Register) -> Register {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn factor(tables: &Tables, c: u8) -> Factor {
    _mm512_set1_epi64(tables.matrices[usize::from(c)] as i64)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn product(factor: Factor, x: Register) -> Register {
    _mm512_gf2p8affine_epi64_epi8::<0>(x, factor)
}
