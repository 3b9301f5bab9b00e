//! The operations of a vector kernel, written once. A kernel's file gives its
//! vector: how to load, store, add and multiply it; `operations!` makes the
//! functions of [`super::Kernel`] from that.
//!
//! Tiles: sums of `ROWS x COLUMNS` vectors stay in registers while all inputs
//! go by once, so nothing is stored for a multiplication. Strips of columns are
//! the outer loop: one strip of all inputs stays in the first-level cache.

/// Inputs that one word of coefficients over GF(2) covers.
pub(super) const WORD_INPUTS: usize = 64;
/// Inputs of a group of the four Russians, and how many sums they have.
pub(super) const GROUP_INPUTS: usize = 4;
pub(super) const GROUP_SUMS: usize = 1 << GROUP_INPUTS;
/// Groups of a word.
pub(super) const GROUPS: usize = WORD_INPUTS / GROUP_INPUTS;
/// Bytes of a column strip whose sums are tabulated: 32 KiB of tables.
pub(super) const STRIP_BYTES: usize = 128;

/// The sums of each group of a word's inputs, over one strip.
#[repr(C, align(64))]
pub(super) struct Sums(pub [u8; GROUPS * GROUP_SUMS * STRIP_BYTES]);

/// `operations!(features, bytes of a vector, ROWS, COLUMNS)`, in a module that has
/// `load`, `store`, `zero`, `sum`, `factor` and `product`.
macro_rules! operations {
    ($features:literal, $bytes:literal, $rows:literal, $columns:literal) => {
        use crate::field::Tables;
        use crate::kernel::body::{
            GROUP_INPUTS, GROUP_SUMS, GROUPS, STRIP_BYTES, Sums, WORD_INPUTS,
        };
        use crate::kernel::{Product, word};

        const BYTES: usize = $bytes;

        /// `y += x`; as long as each other.
        #[target_feature(enable = $features)]
        pub(super) fn add(y: &mut [u8], x: &[u8]) {
            let (y_vectors, y_tail) = y.as_chunks_mut::<BYTES>();
            let (x_vectors, x_tail) = x.as_chunks::<BYTES>();
            for (y, x) in y_vectors.iter_mut().zip(x_vectors) {
                // SAFETY: each is an array of `BYTES` bytes.
                unsafe {
                    let y = y.as_mut_ptr();
                    store(y, sum(load(y), load(x.as_ptr())));
                }
            }
            for (y, x) in y_tail.iter_mut().zip(x_tail) {
                *y ^= x;
            }
        }

        /// `y += c x`; as long as each other.
        #[target_feature(enable = $features)]
        pub(super) fn multiply_add(tables: &Tables, y: &mut [u8], c: u8, x: &[u8]) {
            let factor = factor(tables, c);
            let (y_vectors, y_tail) = y.as_chunks_mut::<BYTES>();
            let (x_vectors, x_tail) = x.as_chunks::<BYTES>();
            for (y, x) in y_vectors.iter_mut().zip(x_vectors) {
                // SAFETY: each is an array of `BYTES` bytes.
                unsafe {
                    let y = y.as_mut_ptr();
                    store(y, sum(load(y), product(factor, load(x.as_ptr()))));
                }
            }
            super::scalar::multiply_add(tables, y_tail, c, x_tail);
        }

        /// `y *= c`.
        #[target_feature(enable = $features)]
        pub(super) fn scale(tables: &Tables, y: &mut [u8], c: u8) {
            let factor = factor(tables, c);
            let (vectors, tail) = y.as_chunks_mut::<BYTES>();
            for y in vectors {
                // SAFETY: it is an array of `BYTES` bytes.
                unsafe {
                    let y = y.as_mut_ptr();
                    store(y, product(factor, load(y)));
                }
            }
            super::scalar::scale(tables, tail, c);
        }

        /// `y[row] += c[row] x` for every row; rows `stride` bytes apart.
        #[target_feature(enable = $features)]
        pub(super) fn scatter(tables: &Tables, y: &mut [u8], stride: usize, c: &[u8], x: &[u8]) {
            for (y, &c) in y.chunks_exact_mut(stride).zip(c) {
                if c != 0 {
                    multiply_add(tables, &mut y[..x.len()], c, x);
                }
            }
        }

        /// Sums of products; see [`super::Kernel::multiply`], which checks `job`.
        #[target_feature(enable = $features)]
        pub(super) fn multiply(tables: &Tables, job: &mut Product<'_>) {
            let (groups, single) = job.rows.as_chunks::<$rows>();
            let row_bytes = job.row_bytes;
            let mut at = 0;
            while at < row_bytes {
                let left = (row_bytes - at) / BYTES;
                // SAFETY: no more vectors than are left in a row; rows and inputs are
                // in their slices, as `job` was checked for.
                at += unsafe {
                    // A row by itself takes more columns, if it has no company.
                    if groups.is_empty() && left >= 8 {
                        column::<8>(tables, job, groups, single, at)
                    } else if left >= $columns {
                        column::<$columns>(tables, job, groups, single, at)
                    } else if left >= 2 {
                        column::<2>(tables, job, groups, single, at)
                    } else {
                        column::<1>(tables, job, groups, single, at)
                    }
                };
            }
        }

        /// All rows of `C` vectors from byte `at` on. Returns their bytes.
        ///
        /// # Safety
        ///
        /// As for `tile`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn column<const C: usize>(
            tables: &Tables,
            job: &mut Product<'_>,
            groups: &[[(u16, u16); $rows]],
            single: &[(u16, u16)],
            at: usize,
        ) -> usize {
            // SAFETY: what the caller promises.
            unsafe {
                for rows in groups {
                    tile::<$rows, C>(tables, job, rows, at);
                }
                for &row in single {
                    tile::<1, C>(tables, job, &[row], at);
                }
            }
            C * BYTES
        }

        /// `R` rows of the output, `C` vectors of each, from byte `at` on.
        ///
        /// # Safety
        ///
        /// The rows are in `job.out` and `job.coefficients`, `job.count` inputs are in
        /// `job.inputs`, and rows have `C` vectors at `at`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn tile<const R: usize, const C: usize>(
            tables: &Tables,
            job: &mut Product<'_>,
            rows: &[(u16, u16); R],
            at: usize,
        ) {
            let mut sums = [[zero(); C]; R];
            let mut coefficients = [job.coefficients.as_ptr(); R];
            // SAFETY: what the caller promises.
            unsafe {
                for r in 0..R {
                    let (out, row) = (usize::from(rows[r].0), usize::from(rows[r].1));
                    coefficients[r] = coefficients[r].add(row * job.coefficients_stride);
                    if job.add {
                        let y = job.out.as_ptr().add(out * job.out_stride + at);
                        for c in 0..C {
                            sums[r][c] = load(y.add(c * BYTES));
                        }
                    }
                }
                let mut input = job.inputs.as_ptr().add(at);
                for i in 0..job.count {
                    if R > 1 || *coefficients[0].add(i) != 0 {
                        let mut x = [zero(); C];
                        for c in 0..C {
                            x[c] = load(input.add(c * BYTES));
                        }
                        for r in 0..R {
                            let factor = factor(tables, *coefficients[r].add(i));
                            for c in 0..C {
                                sums[r][c] = sum(sums[r][c], product(factor, x[c]));
                            }
                        }
                    }
                    // The last step stays in the allocation or one row past it.
                    input = input.wrapping_add(job.inputs_stride);
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

        /// Sums over GF(2) of the inputs whose bit is set, row by row; see
        /// [`super::Kernel::multiply`], which checks `job`.
        #[target_feature(enable = $features)]
        pub(super) fn select(job: &mut Product<'_>) {
            const WIDE: usize = 256 / BYTES;
            let vectors = job.row_bytes / BYTES;
            let mut column = 0;
            while column < vectors {
                let at = column * BYTES;
                // SAFETY: that many vectors from `at` on are in a row, and the rows
                // and inputs are in their slices, as `job` was checked for.
                unsafe {
                    if vectors - column >= WIDE {
                        select_strip::<WIDE>(job, at);
                        column += WIDE;
                    } else {
                        select_strip::<1>(job, at);
                        column += 1;
                    }
                }
            }
        }

        /// # Safety
        ///
        /// As for `tile`, with bits for coefficients.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn select_strip<const C: usize>(job: &mut Product<'_>, at: usize) {
            for &(out, row) in job.rows {
                let bits = &job.coefficients[usize::from(row) * job.coefficients_stride..];
                // SAFETY: what the caller promises; a bit is looked at only below `count`.
                unsafe {
                    let y = job.out.as_mut_ptr().add(usize::from(out) * job.out_stride + at);
                    let mut sums = [zero(); C];
                    if job.add {
                        for c in 0..C {
                            sums[c] = load(y.add(c * BYTES));
                        }
                    }
                    for first in (0..job.count).step_by(WORD_INPUTS) {
                        let mut left = word(bits, first, job.count);
                        while left != 0 {
                            let input = first + left.trailing_zeros() as usize;
                            let x = job.inputs.as_ptr().add(input * job.inputs_stride + at);
                            for c in 0..C {
                                sums[c] = sum(sums[c], load(x.add(c * BYTES)));
                            }
                            left &= left - 1;
                        }
                    }
                    for c in 0..C {
                        store(y.add(c * BYTES), sums[c]);
                    }
                }
            }
        }

        /// The same as `select` by the method of the four Russians: of each four
        /// inputs all 16 sums are tabulated, and a row adds one of them.
        #[target_feature(enable = $features)]
        pub(super) fn four_russians(job: &mut Product<'_>) {
            let mut table = Sums([0; GROUPS * GROUP_SUMS * STRIP_BYTES]);
            let mut at = 0;
            while at < job.row_bytes {
                // SAFETY: rows are whole cache lines, so half a strip is in a row, and
                // a whole one where that much is left; `job` was checked.
                unsafe {
                    if job.row_bytes - at >= STRIP_BYTES {
                        strip::<{ STRIP_BYTES / BYTES }>(&mut table, job, at);
                        at += STRIP_BYTES;
                    } else {
                        strip::<{ STRIP_BYTES / BYTES / 2 }>(&mut table, job, at);
                        at += STRIP_BYTES / 2;
                    }
                }
            }
        }

        /// # Safety
        ///
        /// As for `tile`, with bits for coefficients.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn strip<const C: usize>(table: &mut Sums, job: &mut Product<'_>, at: usize) {
            for first in (0..job.count).step_by(WORD_INPUTS) {
                let groups = (job.count - first).div_ceil(GROUP_INPUTS).min(GROUPS);
                for group in 0..groups {
                    let first = first + group * GROUP_INPUTS;
                    // SAFETY: an input below `count` is in `inputs`; the table has
                    // `GROUPS` groups of `GROUP_SUMS` strips.
                    unsafe {
                        let sums = table.0.as_mut_ptr().add(group * GROUP_SUMS * STRIP_BYTES);
                        for c in 0..C {
                            let mut entries = [zero(); GROUP_SUMS];
                            for i in 0..GROUP_INPUTS {
                                let x = if first + i < job.count {
                                    let row = (first + i) * job.inputs_stride;
                                    load(job.inputs.as_ptr().add(row + at + c * BYTES))
                                } else {
                                    zero()
                                };
                                for e in 0..1 << i {
                                    entries[(1 << i) + e] = sum(entries[e], x);
                                }
                            }
                            for (e, &entry) in entries.iter().enumerate() {
                                store(sums.add(e * STRIP_BYTES + c * BYTES), entry);
                            }
                        }
                    }
                }
                for &(out, row) in job.rows {
                    let bits = &job.coefficients[usize::from(row) * job.coefficients_stride..];
                    let bits = word(bits, first, job.count);
                    // SAFETY: a nibble names one of `GROUP_SUMS`; the rest as above.
                    unsafe {
                        let y = job.out.as_mut_ptr().add(usize::from(out) * job.out_stride + at);
                        let mut sums = [zero(); C];
                        if job.add || first > 0 {
                            for c in 0..C {
                                sums[c] = load(y.add(c * BYTES));
                            }
                        }
                        for group in 0..groups {
                            let e = (bits >> (group * GROUP_INPUTS)) as usize % GROUP_SUMS;
                            let x = table.0.as_ptr().add((group * GROUP_SUMS + e) * STRIP_BYTES);
                            for c in 0..C {
                                sums[c] = sum(sums[c], load(x.add(c * BYTES)));
                            }
                        }
                        for c in 0..C {
                            store(y.add(c * BYTES), sums[c]);
                        }
                    }
                }
            }
        }
    };
}
pub(super) use operations;
