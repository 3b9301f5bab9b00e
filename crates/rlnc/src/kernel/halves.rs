//! Products by look-ups of nibbles, for many rows: the vectors of a strip of columns are split into
//! nibbles once, not once for each tile of rows. The method gained nothing with AVX-512, where nine
//! of ten cycles had a look-up, of which the CPU does one a cycle. `halves!` adds this to a kernel
//! that has [`super::body`]'s operations. Lengths are in bytes.

/// Bytes of the nibbles of inputs that are kept together. More were no faster, and
/// these fit in any first-level cache beside the tables of factors.
pub(super) const HALVES_BYTES: usize = 8 << 10;

/// Vectors of low nibbles, each with one of high nibbles behind it.
#[repr(C, align(64))]
pub(super) struct Halves(pub [u8; HALVES_BYTES]);

/// `halves!(features, ROWS, COLUMNS)`, after `operations!`, in a module that also
/// defines `split` and `product_of_halves`.
macro_rules! halves {
    ($features:literal, $rows:literal, $columns:literal) => {
        use crate::kernel::halves::{HALVES_BYTES, Halves};
        use crate::kernel::lines::LINE_BYTES;
        use core::ops::Range;

        /// The same as `multiply`. There must be an input.
        #[target_feature(enable = $features)]
        pub(super) fn multiply_halves(tables: &Tables, job: &mut Product<'_>) {
            let mut halves = Halves([0; HALVES_BYTES]);
            for at in (0..job.row_bytes).step_by($columns * BYTES) {
                // SAFETY: rows consist of whole cache lines, so of whole columns; `job` was
                // checked.
                unsafe { halves_column::<$columns>(tables, &mut halves, job, at) };
            }
        }

        /// Handles `C` vectors of all rows from byte `at` on.
        ///
        /// # Safety
        ///
        /// The conditions of `tile`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn halves_column<const C: usize>(
            tables: &Tables,
            halves: &mut Halves,
            job: &mut Product<'_>,
            at: usize,
        ) {
            const { assert!(LINE_BYTES.is_multiple_of(C * BYTES), "a line is whole columns") };
            let together = HALVES_BYTES / (2 * C * BYTES);
            let (groups, single) = job.rows.as_chunks::<$rows>();
            for first in (0..job.count).step_by(together) {
                let inputs = first..job.count.min(first + together);
                let mut half = halves.0.as_mut_ptr();
                // SAFETY: an input below `count` is in `inputs`, `together` inputs fit in
                // `halves`; the rest is guaranteed by the caller.
                unsafe {
                    for i in inputs.clone() {
                        let x = job.inputs.as_ptr().add(i * job.inputs_stride + at);
                        for c in 0..C {
                            let [low, high] = split(load(x.add(c * BYTES)));
                            store(half, low);
                            store(half.add(BYTES), high);
                            half = half.add(2 * BYTES);
                        }
                    }
                    for rows in groups {
                        halves_tile::<$rows, C>(tables, halves, job, inputs.clone(), rows, at);
                    }
                    for &row in single {
                        halves_tile::<1, C>(tables, halves, job, inputs.clone(), &[row], at);
                    }
                }
            }
        }

        /// Computes `R` rows of the output, `C` vectors of each, from byte `at` on, as
        /// far as they come from `inputs`, which `halves` has.
        ///
        /// # Safety
        ///
        /// The conditions of `tile`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn halves_tile<const R: usize, const C: usize>(
            tables: &Tables,
            halves: &Halves,
            job: &mut Product<'_>,
            inputs: Range<usize>,
            rows: &[(u16, u16); R],
            at: usize,
        ) {
            let mut sums = [[zero(); C]; R];
            let mut coefficients = [job.coefficients.as_ptr(); R];
            // SAFETY: guaranteed by the caller.
            unsafe {
                for r in 0..R {
                    let (out, row) = (usize::from(rows[r].0), usize::from(rows[r].1));
                    coefficients[r] = coefficients[r].add(row * job.coefficients_stride);
                    if job.add || inputs.start > 0 {
                        let y = job.out.as_ptr().add(out * job.out_stride + at);
                        for c in 0..C {
                            sums[r][c] = load(y.add(c * BYTES));
                        }
                    }
                }
                let mut half = halves.0.as_ptr();
                for i in inputs {
                    let mut x = [[zero(); 2]; C];
                    for c in 0..C {
                        x[c] = [load(half), load(half.add(BYTES))];
                        half = half.add(2 * BYTES);
                    }
                    for r in 0..R {
                        let factor = factor(tables, *coefficients[r].add(i));
                        for c in 0..C {
                            sums[r][c] = sum(sums[r][c], product_of_halves(factor, x[c]));
                        }
                    }
                }
                for r in 0..R {
                    let out = usize::from(rows[r].0);
                    let y = job.out.as_mut_ptr().add(out * job.out_stride + at);
                    for c in 0..C {
                        store(y.add(c * BYTES), sums[r][c]);
                    }
                }
            }
        }
    };
}
pub(super) use halves;
