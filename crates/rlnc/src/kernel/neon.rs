//! AArch64 with NEON: 16 bytes, two look-ups of nibbles (TBL).
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use super::body::operations;
use core::arch::aarch64::*;

operations!("neon", 16, 4, 3);

type Vector = uint8x16_t;

/// The products of both nibbles with one element.
type Factor = [Vector; 2];

/// # Safety
///
/// 16 bytes can be read at `at`.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(at: *const u8) -> Vector {
    // SAFETY: what the caller promises; no alignment is asked for.
    unsafe { vld1q_u8(at) }
}

/// # Safety
///
/// 16 bytes can be written at `at`.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store(at: *mut u8, vector: Vector) {
    // SAFETY: what the caller promises; no alignment is asked for.
    unsafe { vst1q_u8(at, vector) }
}

#[inline]
#[target_feature(enable = "neon")]
fn zero() -> Vector {
    vdupq_n_u8(0)
}

#[inline]
#[target_feature(enable = "neon")]
fn sum(a: Vector, b: Vector) -> Vector {
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
fn product(factor: Factor, x: Vector) -> Vector {
    let low = vandq_u8(x, vdupq_n_u8(15));
    let high = vshrq_n_u8::<4>(x);
    veorq_u8(vqtbl1q_u8(factor[0], low), vqtbl1q_u8(factor[1], high))
}
