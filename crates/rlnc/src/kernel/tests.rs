//! Tests of every kernel that this CPU supports against the scalar one: all
//! operations, for arbitrary lengths in bytes, alignments, coefficients and numbers
//! of rows.

use super::*;
use crate::Symbols;
use alloc::vec::Vec;
use proptest::prelude::*;

/// `count`, or an eighth of it under miri, which is a thousand times slower.
const fn few(count: usize) -> usize {
    if cfg!(miri) { count / 8 + 1 } else { count }
}

fn field() -> impl Strategy<Value = Field> {
    prop::sample::select(&Field::ALL)
}

/// Two slices of bytes of equal length, and how many bytes to skip at the front:
/// without that they are aligned anyway.
fn misaligned() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, usize)> {
    (0..400usize, 0..64usize).prop_flat_map(|(length, shift)| {
        let bytes = || prop::collection::vec(any::<u8>(), length + shift);
        (bytes(), bytes(), Just(shift))
    })
}

fn filled(rows: usize, bytes: usize, seed: u64) -> Symbols {
    let mut symbols = Symbols::new(rows, bytes);
    let mut random = crate::vector::SplitMix64::new(seed);
    for row in 0..rows {
        symbols.row_mut(row).fill_with(|| random.next() as u8);
    }
    symbols
}

/// CPUID as the standard library reads it.
#[test]
#[cfg(target_arch = "x86_64")]
#[cfg_attr(miri, ignore = "miri has no CPUID")]
fn instruction_sets_are_those_that_std_finds() {
    extern crate std;
    use std::arch::is_x86_feature_detected;

    let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
    let (avx2, gfni) = (is_x86_feature_detected!("avx2"), is_x86_feature_detected!("gfni"));
    let expected = [
        (Set::Scalar, true),
        (Set::Ssse3, is_x86_feature_detected!("ssse3")),
        (Set::Avx2, avx2),
        (Set::GfniAvx2, avx2 && gfni),
        (Set::Avx512, avx512),
        (Set::Gfni, avx512 && gfni),
    ];
    let expected = expected.iter().filter(|(_, is_there)| *is_there).map(|&(set, _)| Kernel(set));
    assert!(Kernel::supported().eq(expected));
}

#[test]
fn the_best_kernel_is_the_last_supported() {
    assert_eq!(Kernel::supported().last(), Some(Kernel::best()));
    assert_eq!(Kernel::supported().next(), Some(Kernel(Set::Scalar)));
}

/// Whatever the method for that many rows is.
#[test]
fn sums_of_nothing_are_zero() {
    for (kernel, field) in Kernel::supported().flat_map(|k| Field::ALL.map(|field| (k, field))) {
        for rows in [1, 40] {
            let pairs: Vec<_> = (0..rows as u16).map(|row| (row, row)).collect();
            let mut out = filled(rows, 100, 1);
            let (out_stride, row_bytes) = (out.stride(), out.row_bytes());
            kernel.multiply(
                field,
                &mut Product {
                    out: out.all_mut(),
                    out_stride,
                    rows: &pairs,
                    coefficients: &[],
                    coefficients_stride: 0,
                    inputs: &[],
                    inputs_stride: row_bytes,
                    count: 0,
                    row_bytes,
                    add: false,
                },
            );
            assert_eq!(out, Symbols::new(rows, 100), "{} {field:?}", kernel.name());
        }
    }
}

/// Compares all kernels in the sums of products of `count` inputs for each of `rows` rows of `bytes`
/// bytes, which are added to the rows if `add`.
fn products_agree(
    field: Field,
    (rows, count, bytes): (usize, usize, usize),
    add: bool,
    seed: u64,
) -> Result<(), TestCaseError> {
    let inputs = filled(count, bytes, seed);
    let coefficients = filled(rows, count.max(1), !seed);
    // In another order than the rows.
    let pairs: Vec<_> = (0..rows as u16).map(|row| (rows as u16 - 1 - row, row)).collect();
    let run = |kernel: Kernel| {
        let mut out = filled(rows, bytes, seed ^ 1);
        let mut job = Product {
            out_stride: out.stride(),
            row_bytes: inputs.stride(),
            out: out.all_mut(),
            rows: &pairs,
            coefficients: coefficients.all(),
            coefficients_stride: coefficients.stride(),
            inputs: inputs.all(),
            inputs_stride: inputs.stride(),
            count,
            add,
        };
        kernel.multiply(field, &mut job);
        out
    };
    let expected = run(Kernel(Set::Scalar));
    for kernel in Kernel::supported() {
        prop_assert!(run(kernel) == expected, "{}", kernel.name());
    }
    Ok(())
}

proptest! {
    #[test]
    fn rows_as_the_scalar_kernel((y, x, shift) in misaligned(), field in field(), c: u8) {
        let run = |kernel: Kernel| {
            let (mut sum, mut product, mut scaled) = (y.clone(), y.clone(), y.clone());
            kernel.add(&mut sum[shift..], &x[shift..]);
            kernel.multiply_add(field, &mut product[shift..], c, &x[shift..]);
            kernel.scale(field, &mut scaled[shift..], c);
            (sum, product, scaled)
        };
        let expected = run(Kernel(Set::Scalar));
        for kernel in Kernel::supported() {
            prop_assert!(run(kernel) == expected, "{}", kernel.name());
        }
    }

    #[test]
    fn scatter_as_the_scalar_kernel(
        field in field(),
        rows in 0..20usize,
        bytes in 1..300usize,
        seed: u64,
    ) {
        let x = filled(1, bytes, seed);
        let c = filled(1, rows, !seed);
        let terms = c.row(0).iter().enumerate();
        let terms: Vec<_> = terms.map(|(row, &c)| (row as u16, c)).rev().collect();
        let run = |kernel: Kernel| {
            let mut y = filled(rows, bytes, seed ^ 1);
            let stride = y.stride();
            kernel.scatter(field, y.all_mut(), stride, &terms, x.padded(0));
            y
        };
        let expected = run(Kernel(Set::Scalar));
        for kernel in Kernel::supported() {
            prop_assert!(run(kernel) == expected, "{}", kernel.name());
        }
    }

    #[test]
    fn products_as_the_scalar_kernel(
        field in field(),
        rows in 0..few(40),
        count in 0..few(200),
        bytes in 1..few(700),
        add: bool,
        seed: u64,
    ) {
        products_agree(field, (rows, count, bytes), add, seed)?;
    }

    /// Methods for many rows keep some rows together, and some inputs.
    #[test]
    fn products_of_many_rows_as_the_scalar_kernel(
        field in field(),
        rows in prop_oneof![few(30)..few(80), few(250)..few(270)],
        count in few(20)..few(70),
        bytes in 1..few(150),
        add: bool,
        seed: u64,
    ) {
        products_agree(field, (rows, count, bytes), add, seed)?;
    }
}
