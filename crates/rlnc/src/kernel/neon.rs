//! The kernel for AArch64 with NEON: vectors of 16 bytes, a product by two look-ups
//! of nibbles (TBL). [`super::body`] has the operations; this file has only what
//! depends on the instruction set.
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use super::body::operations;
use core::arch::aarch64::*;

operations!("neon", 16, 4, 3);

type Register = uint8x16_t;

/// The products of one element and all low nibbles, and all high nibbles.
type Factor = [Register; 2];

/// # Safety
///
/// 16 bytes can be read at `at`.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(at: *const u8) -> Register {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { vld1q_u8(at) }
}

/// # Safety
///
/// 16 bytes can be written at `at`.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store(at: *mut u8, vector: Register) {
    // SAFETY: guaranteed by the caller; the instruction needs no alignment.
    unsafe { vst1q_u8(at, vector) }
}

#[inline]
#[target_feature(enable = "neon")]
fn zero() -> Register {
    vdupq_n_u8(0)
}

#[inline]
#[target_feature(enable = "neon")]
fn sum(a: Register, b: Register) -> Register {
    veorq_u8(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn factor(tables: &Tables, c: u8) -> Factor {
    let table = tables.nibbles[usize::from(c)].as_ptr();
    // SAFETY: the entry has 32 bytes.
    unsafe { [load(table), load(table.add(16))] }
}

#[inline]
#[target_feature(enable = "neon")]
fn product(factor: Factor, x: Register) -> Register {
    let low = vandq_u8(x, vdupq_n_u8(15));
    let high = vshrq_n_u8::<4>(x);
    veorq_u8(vqtbl1q_u8(factor[0], low), vqtbl1q_u8(factor[1], high))
}
