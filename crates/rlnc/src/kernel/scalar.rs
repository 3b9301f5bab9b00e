//! The kernel for any CPU: the definition of each operation, byte by byte, with the
//! tables of nibbles. The other kernels are tested against this one. Lengths are in
//! bytes.

use super::{Product, bit};
use crate::field::Tables;

/// `y += x`; the lengths are equal.
pub(super) fn add(y: &mut [u8], x: &[u8]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y ^= x;
    }
}

/// `y += c x`; the lengths are equal.
pub(super) fn multiply_add(tables: &Tables, y: &mut [u8], c: u8, x: &[u8]) {
    let nibbles = &tables.nibbles[usize::from(c)];
    for (y, x) in y.iter_mut().zip(x) {
        *y ^= product(nibbles, *x);
    }
}

/// Multiplies `y` by `c` (`y *= c`).
pub(super) fn scale(tables: &Tables, y: &mut [u8], c: u8) {
    let nibbles = &tables.nibbles[usize::from(c)];
    for y in y {
        *y = product(nibbles, *y);
    }
}

/// Adds `x` to rows of `y` once per term; see [`super::Kernel::scatter`].
pub(super) fn scatter(tables: &Tables, y: &mut [u8], stride: usize, terms: &[(u16, u8)], x: &[u8]) {
    for &(row, c) in terms {
        multiply_add(tables, &mut y[usize::from(row) * stride..][..x.len()], c, x);
    }
}

/// Computes sums of products; see [`super::Kernel::multiply`].
pub(super) fn multiply(tables: &Tables, job: &mut Product<'_>) {
    sums(job, |coefficients, i| coefficients[i], |y, c, x| multiply_add(tables, y, c, x));
}

/// Adds over GF(2) the inputs whose bit is set.
pub(super) fn select(job: &mut Product<'_>) {
    sums(job, |bits, i| u8::from(bit(bits, i)), |y, _, x| add(y, x));
}

/// The same as `select`: without vectors, tables of sums are not faster.
pub(super) fn four_russians(job: &mut Product<'_>) {
    select(job);
}

fn sums(
    job: &mut Product<'_>,
    coefficient: impl Fn(&[u8], usize) -> u8,
    add_product: impl Fn(&mut [u8], u8, &[u8]),
) {
    for &(out, row) in job.rows {
        let y = &mut job.out[usize::from(out) * job.out_stride..][..job.row_bytes];
        if !job.add {
            y.fill(0);
        }
        let coefficients = &job.coefficients[usize::from(row) * job.coefficients_stride..];
        for i in 0..job.count {
            let c = coefficient(coefficients, i);
            if c != 0 {
                add_product(y, c, &job.inputs[i * job.inputs_stride..][..job.row_bytes]);
            }
        }
    }
}

fn product(nibbles: &[u8; 32], x: u8) -> u8 {
    nibbles[usize::from(x & 15)] ^ nibbles[16 + usize::from(x >> 4)]
}
