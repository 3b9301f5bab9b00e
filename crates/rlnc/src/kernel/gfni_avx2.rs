//! The kernel for x86 with GFNI and AVX2 but without AVX-512: vectors of 32 bytes,
//! a product in one instruction, as in `gfni`. [`super::body`] has the operations;
//! this file has only what depends on the instruction set.
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use super::body::operations;
use core::arch::x86_64::*;

operations!("avx2,gfni", 32, 4, 3);

type Register = __m256i;

/// The matrix of one element, repeated four times.
type Factor = __m256i;

/// # Safety
///
/// 32 bytes can be read at `at`.
#[inline]
#[target_feature(enable = "avx2,gfni")]
unsafe fn load(at: *const u8) -> Register {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(at.cast()) }
}

/// # Safety
///
/// 32 bytes can be written at `at`.
#[inline]
#[target_feature(enable = "avx2,gfni")]
unsafe fn store(at: *mut u8, vector: Register) {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(at.cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn zero() -> Register {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn sum(a: Register, b: Register) -> Register {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn factor(tables: &Tables, c: u8) -> Factor {
    _mm256_set1_epi64x(tables.matrices[usize::from(c)] as i64)
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn product(factor: Factor, x: Register) -> Register {
    _mm256_gf2p8affine_epi64_epi8::<0>(x, factor)
}
