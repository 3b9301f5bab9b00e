//! The operations of all vector kernels, written once. The file of a kernel defines
//! its vector: how to load, store, add and multiply it; `operations!` derives the
//! functions of [`super::Kernel`] from that. Lengths are in bytes.
//!
//! The sums of a tile of `ROWS x COLUMNS` vectors stay in registers during one pass
//! over all inputs, so no product is stored. The outer loop is over strips of
//! columns: one strip of all inputs fits in the first-level cache.

/// Inputs covered by one word of coefficients over GF(2).
pub(super) const WORD_INPUTS: usize = 64;
/// Inputs per group in the method of the Four Russians, and sums per group.
pub(super) const GROUP_INPUTS: usize = 4;
pub(super) const GROUP_SUMS: usize = 1 << GROUP_INPUTS;
/// Groups per word.
pub(super) const GROUPS: usize = WORD_INPUTS / GROUP_INPUTS;
/// Bytes of a strip of columns whose sums are tabulated: 32 KiB of tables.
pub(super) const STRIP_BYTES: usize = 1 << STRIP_BITS;
pub(super) const STRIP_BITS: u32 = 7;

/// The sums of each group of a word's inputs, over one strip.
#[repr(C, align(64))]
pub(super) struct Sums(pub [u8; GROUPS * GROUP_SUMS * STRIP_BYTES]);

/// `operations!(features, bytes per vector, ROWS, COLUMNS)`, in a module that
/// defines `Register`, `load`, `store`, `zero`, `sum`, `factor` and `product`.
macro_rules! operations {
    ($features:literal, $bytes:literal, $rows:literal, $columns:literal) => {
        use crate::field::Tables;
        use crate::kernel::body::{
            GROUP_INPUTS, GROUP_SUMS, GROUPS, STRIP_BITS, STRIP_BYTES, Sums, WORD_INPUTS,
        };
        use crate::kernel::{Product, word};

        const BYTES: usize = $bytes;

        /// `y += x`; the lengths are equal.
        #[target_feature(enable = $features)]
        pub(super) fn add(y: &mut [u8], x: &[u8]) {
            let (y_vectors, y_tail) = y.as_chunks_mut::<BYTES>();
            let (x_vectors, x_tail) = x.as_chunks::<BYTES>();
            for (y, x) in y_vectors.iter_mut().zip(x_vectors) {
                // SAFETY: both are arrays of `BYTES` bytes.
                unsafe {
                    let y = y.as_mut_ptr();
                    store(y, sum(load(y), load(x.as_ptr())));
                }
            }
            super::scalar::add(y_tail, x_tail);
        }

        /// `y += c x`; the lengths are equal.
        #[target_feature(enable = $features)]
        pub(super) fn multiply_add(tables: &Tables, y: &mut [u8], c: u8, x: &[u8]) {
            let factor = factor(tables, c);
            let (y_vectors, y_tail) = y.as_chunks_mut::<BYTES>();
            let (x_vectors, x_tail) = x.as_chunks::<BYTES>();
            for (y, x) in y_vectors.iter_mut().zip(x_vectors) {
                // SAFETY: both are arrays of `BYTES` bytes.
                unsafe {
                    let y = y.as_mut_ptr();
                    store(y, sum(load(y), product(factor, load(x.as_ptr()))));
                }
            }
            if !y_tail.is_empty() {
                let mut x = [0; BYTES];
                x[..x_tail.len()].copy_from_slice(x_tail);
                // SAFETY: it is an array of `BYTES` bytes.
                unsafe { store(x.as_mut_ptr(), product(factor, load(x.as_ptr()))) }
                super::scalar::add(y_tail, &x[..x_tail.len()]);
            }
        }

        /// Multiplies `y` by `c` (`y *= c`).
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

        /// Adds `x` to rows of `y` once per term; see [`super::Kernel::scatter`], which
        /// checks the arguments.
        #[target_feature(enable = $features)]
        pub(super) fn scatter(
            tables: &Tables,
            y: &mut [u8],
            stride: usize,
            terms: &[(u16, u8)],
            x: &[u8],
        ) {
            let mut at = 0;
            while at < x.len() {
                // SAFETY: `x` and each row have that many vectors from `at` on.
                at += unsafe {
                    match (x.len() - at) / BYTES {
                        1 => scatter_strip::<1>(tables, y, stride, terms, x, at),
                        2 => scatter_strip::<2>(tables, y, stride, terms, x, at),
                        3 => scatter_strip::<3>(tables, y, stride, terms, x, at),
                        _ => scatter_strip::<4>(tables, y, stride, terms, x, at),
                    }
                };
            }
        }

        /// Handles `C` vectors of each row from byte `at` on. Returns their length in
        /// bytes.
        ///
        /// # Safety
        ///
        /// `x`, and so each row, has that many vectors.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn scatter_strip<const C: usize>(
            tables: &Tables,
            y: &mut [u8],
            stride: usize,
            terms: &[(u16, u8)],
            x: &[u8],
            at: usize,
        ) -> usize {
            // SAFETY: guaranteed by the caller; the rows are in `y`.
            unsafe {
                let mut vectors = [zero(); C];
                for i in 0..C {
                    vectors[i] = load(x.as_ptr().add(at + i * BYTES));
                }
                let y = y.as_mut_ptr().add(at);
                for &(row, c) in terms {
                    let factor = factor(tables, c);
                    let y = y.add(usize::from(row) * stride);
                    for i in 0..C {
                        let y = y.add(i * BYTES);
                        store(y, sum(load(y), product(factor, vectors[i])));
                    }
                }
            }
            C * BYTES
        }

        /// Computes sums of products; see [`super::Kernel::multiply`], which checks
        /// `job`.
        #[target_feature(enable = $features)]
        pub(super) fn multiply(tables: &Tables, job: &mut Product<'_>) {
            let (groups, single) = job.rows.as_chunks::<$rows>();
            let row_bytes = job.row_bytes;
            let mut at = 0;
            while at < row_bytes {
                let left = (row_bytes - at) / BYTES;
                // SAFETY: no more vectors than a row has left; rows and inputs are in their
                // slices, as checked for `job`.
                at += unsafe {
                    // A single row uses more columns, if there are no groups of rows.
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

        /// Handles `C` vectors of all rows from byte `at` on. Returns their length in
        /// bytes.
        ///
        /// # Safety
        ///
        /// The conditions of `tile`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn column<const C: usize>(
            tables: &Tables,
            job: &mut Product<'_>,
            groups: &[[(u16, u16); $rows]],
            single: &[(u16, u16)],
            at: usize,
        ) -> usize {
            // SAFETY: guaranteed by the caller.
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

        /// Computes `R` rows of the output, `C` vectors of each, from byte `at` on.
        ///
        /// # Safety
        ///
        /// The rows are in `job.out` and `job.coefficients`, `job.count` inputs are in
        /// `job.inputs`, and each row has `C` vectors at `at`.
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
            // SAFETY: guaranteed by the caller.
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
                    // After the last step the pointer is in the allocation or one row past it.
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

        /// Adds over GF(2) the inputs whose bit is set, row by row; see
        /// [`super::Kernel::multiply`], which checks `job`.
        #[target_feature(enable = $features)]
        pub(super) fn select(job: &mut Product<'_>) {
            let mut at = 0;
            while at < job.row_bytes {
                // SAFETY: rows consist of whole cache lines, so a row has that many vectors
                // from `at` on; rows and inputs are in their slices, as checked for `job`.
                at += unsafe {
                    match job.row_bytes - at {
                        64 => select_strip::<{ 64 / BYTES }>(job, at),
                        128 => select_strip::<{ 128 / BYTES }>(job, at),
                        192 => select_strip::<{ 192 / BYTES }>(job, at),
                        _ => select_strip::<{ 256 / BYTES }>(job, at),
                    }
                };
            }
        }

        /// Handles one strip of all rows. Returns its length in bytes.
        ///
        /// # Safety
        ///
        /// The conditions of `tile`, with bits as coefficients.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn select_strip<const C: usize>(job: &mut Product<'_>, at: usize) -> usize {
            for &(out, row) in job.rows {
                let bits = &job.coefficients[usize::from(row) * job.coefficients_stride..];
                // SAFETY: guaranteed by the caller; only bits below `count` are used.
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
            C * BYTES
        }

        /// The same as `select` by the method of the Four Russians: all 16 sums of each
        /// four inputs are tabulated, and each row adds one of them. There must be an
        /// input.
        #[target_feature(enable = $features)]
        pub(super) fn four_russians(job: &mut Product<'_>) {
            let mut table = Sums([0; GROUPS * GROUP_SUMS * STRIP_BYTES]);
            let mut at = 0;
            while at < job.row_bytes {
                // SAFETY: rows consist of whole cache lines, so a row has half a strip left, or
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
        /// The conditions of `tile`, with bits as coefficients.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn strip<const C: usize>(table: &mut Sums, job: &mut Product<'_>, at: usize) {
            for first in (0..job.count).step_by(WORD_INPUTS) {
                let groups = (job.count - first).div_ceil(GROUP_INPUTS).min(GROUPS);
                for group in 0..groups {
                    let first = first + group * GROUP_INPUTS;
                    // SAFETY: an input below `count` is in `inputs`; the table has `GROUPS` groups
                    // of `GROUP_SUMS` strips.
                    unsafe {
                        let sums = table.0.as_mut_ptr().add(group * GROUP_SUMS * STRIP_BYTES);
                        for c in 0..C {
                            let mut x = [zero(); GROUP_INPUTS];
                            for i in 0..GROUP_INPUTS {
                                if first + i < job.count {
                                    let row = (first + i) * job.inputs_stride;
                                    x[i] = load(job.inputs.as_ptr().add(row + at + c * BYTES));
                                }
                            }
                            // Four inputs: each sum of the first two plus each sum of the other two.
                            let low = [zero(), x[0], x[1], sum(x[0], x[1])];
                            let high = [zero(), x[2], x[3], sum(x[2], x[3])];
                            for h in 0..4 {
                                for l in 0..4 {
                                    let entry = sums.add((4 * h + l) * STRIP_BYTES + c * BYTES);
                                    store(entry, sum(high[h], low[l]));
                                }
                            }
                        }
                    }
                }
                for &(out, row) in job.rows {
                    let bits = &job.coefficients[usize::from(row) * job.coefficients_stride..];
                    let bits = word(bits, first, job.count);
                    // SAFETY: a nibble is below `GROUP_SUMS`; the rest as above.
                    unsafe {
                        let y = job.out.as_mut_ptr().add(usize::from(out) * job.out_stride + at);
                        let mut sums = [zero(); C];
                        if job.add || first > 0 {
                            for c in 0..C {
                                sums[c] = load(y.add(c * BYTES));
                            }
                        }
                        // The usual count is a constant, so that the compiler unrolls the loop.
                        if groups == GROUPS {
                            for group in 0..GROUPS {
                                look_up(table, bits, group, &mut sums);
                            }
                        } else {
                            for group in 0..groups {
                                look_up(table, bits, group, &mut sums);
                            }
                        }
                        for c in 0..C {
                            store(y.add(c * BYTES), sums[c]);
                        }
                    }
                }
            }
        }

        /// Adds the sum of those inputs of a group that `bits` select.
        ///
        /// # Safety
        ///
        /// `group` is below `GROUPS`, and `C` vectors are at most a strip.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn look_up<const C: usize>(
            table: &Sums,
            bits: u64,
            group: usize,
            sums: &mut [Register; C],
        ) {
            // The nibble times the bytes of a strip, in two instructions.
            let turned = bits.rotate_right((group * GROUP_INPUTS) as u32 + 64 - STRIP_BITS);
            let offset = turned as usize & ((GROUP_SUMS - 1) * STRIP_BYTES);
            // SAFETY: guaranteed by the caller, and a nibble is below `GROUP_SUMS`.
            unsafe {
                let entry = table.0.as_ptr().add(group * GROUP_SUMS * STRIP_BYTES + offset);
                for c in 0..C {
                    sums[c] = sum(sums[c], load(entry.add(c * BYTES)));
                }
            }
        }
    };
}
pub(super) use operations;
