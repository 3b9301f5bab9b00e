//! Products without multiplication, for many rows and kernels whose product takes several
//! instructions: the method of the Four Russians over the bits of coefficients. A combination is
//! the sum, over the bits of a coefficient, of `x^bit` times a plane: the sum of those inputs whose
//! coefficient has this bit. All sums of a group of inputs are tabulated, over a strip of columns.
//! Each row adds one of them to each plane, and then the planes by Horner's rule.
//!
//! With groups of six inputs that is 4/3 additions from the first-level cache for each product over
//! GF(2^8), and 2/3 over GF(2^4); tables of the multiples of one input need two and one.
//! `planes!` adds this to a kernel that has [`super::body`]'s operations. Lengths are in bytes.

/// Rows whose coefficients are kept as planes together.
pub(super) const PLANE_ROWS: usize = 256;

/// The sums of some groups, over one strip.
#[repr(C, align(64))]
pub(super) struct PlaneSums<const BYTES: usize>(pub [u8; BYTES]);

/// `planes!(features, inputs of a group, groups together, COLUMNS)`, after `operations!`, in a
/// module that also defines `polynomial` and `horner`.
macro_rules! planes {
    ($features:literal, $inputs:literal, $groups:literal, $columns:literal) => {
        use crate::kernel::planes::{PLANE_ROWS, PlaneSums, transposed};

        /// Bytes of a strip, and of the sums of a group.
        const PLANE_STRIP: usize = $columns * BYTES;
        const PLANE_GROUP: usize = PLANE_STRIP << $inputs;

        /// The same as `multiply`, over a field of `BITS` bits: four or eight. There must be an
        /// input.
        #[target_feature(enable = $features)]
        pub(super) fn planes<const BITS: usize>(tables: &Tables, job: &mut Product<'_>) {
            let mut table = PlaneSums([0; $groups * PLANE_GROUP]);
            let mut planes = [0; $groups * PLANE_ROWS];
            // Passes of equal length: each has Horner's rule for all rows.
            let groups = job.count.div_ceil($inputs);
            let together = groups.div_ceil(groups.div_ceil($groups)) * $inputs;
            let all_rows = job.rows;
            for rows in all_rows.chunks(PLANE_ROWS) {
                for first in (0..job.count).step_by(together) {
                    let groups = together.min(job.count - first).div_ceil($inputs);
                    let planes = &mut planes[..groups * rows.len()];
                    for (&(_, row), planes) in rows.iter().zip(planes.chunks_exact_mut(groups)) {
                        let start = usize::from(row) * job.coefficients_stride;
                        let row = &job.coefficients[start..][..job.count];
                        for (group, planes) in planes.iter_mut().enumerate() {
                            *planes = transposed::<$inputs>(row, first + group * $inputs);
                        }
                    }
                    let mut at = 0;
                    while at < job.row_bytes {
                        // SAFETY: rows consist of whole cache lines, so a row has a line left, or a
                        // whole strip where that much is left; `job` was checked. There are `groups`
                        // words of planes for each row, and at most `$groups` of them.
                        at += unsafe {
                            if job.row_bytes - at >= PLANE_STRIP {
                                fill::<$columns>(&mut table.0, job, first, groups, at);
                                add_planes::<$columns, BITS>(
                                    tables,
                                    &table.0,
                                    planes,
                                    job,
                                    rows,
                                    first > 0,
                                    at,
                                )
                            } else {
                                const LINE: usize = crate::kernel::lines::LINE_BYTES / BYTES;
                                fill::<LINE>(&mut table.0, job, first, groups, at);
                                add_planes::<LINE, BITS>(
                                    tables,
                                    &table.0,
                                    planes,
                                    job,
                                    rows,
                                    first > 0,
                                    at,
                                )
                            }
                        };
                    }
                }
            }
        }

        /// Tabulates the sums of `groups` groups from input `first` on: `C` vectors of each, from
        /// byte `at` on.
        ///
        /// # Safety
        ///
        /// The conditions of `tile`; the table has as many groups, and strips as many vectors.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn fill<const C: usize>(
            table: &mut [u8],
            job: &Product<'_>,
            first: usize,
            groups: usize,
            at: usize,
        ) {
            for group in 0..groups {
                let first = first + group * $inputs;
                for c in 0..C {
                    // SAFETY: an input below `count` is in `inputs`; the rest is guaranteed by the
                    // caller.
                    unsafe {
                        let mut x = [zero(); $inputs];
                        for i in 0..$inputs {
                            if first + i < job.count {
                                let row = (first + i) * job.inputs_stride;
                                x[i] = load(job.inputs.as_ptr().add(row + at + c * BYTES));
                            }
                        }
                        // Each sum of the first three inputs plus each sum of the others.
                        let mut low = [zero(); 8];
                        for i in 0..3 {
                            for l in 0..1 << i {
                                low[(1 << i) + l] = sum(low[l], x[i]);
                            }
                        }
                        let sums = table.as_mut_ptr().add(group * PLANE_GROUP + c * BYTES);
                        for h in 0..1 << ($inputs - 3) {
                            let mut high = zero();
                            for i in 3..$inputs {
                                if h >> (i - 3) & 1 == 1 {
                                    high = sum(high, x[i]);
                                }
                            }
                            for l in 0..8 {
                                store(sums.add((8 * h + l) * PLANE_STRIP), sum(high, low[l]));
                            }
                        }
                    }
                }
            }
        }

        /// Computes `C` vectors of all rows from byte `at` on, as far as they come from the inputs
        /// of `table`. Adds them to the content of rows if there were inputs `before`, or if the
        /// job requires it. Returns their length in bytes.
        ///
        /// # Safety
        ///
        /// The conditions of `tile`; `planes` has equally many words for each row, and `table` as
        /// many groups.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn add_planes<const C: usize, const BITS: usize>(
            tables: &Tables,
            table: &[u8],
            planes: &[u64],
            job: &mut Product<'_>,
            rows: &[(u16, u16)],
            before: bool,
            at: usize,
        ) -> usize {
            let groups = planes.len() / rows.len();
            let [two, four] = [factor(tables, 2), factor(tables, 4)];
            for (&(out, _), words) in rows.iter().zip(planes.chunks_exact(groups)) {
                // SAFETY: guaranteed by the caller; `transposed` gives bytes below the number of
                // sums.
                unsafe {
                    let y = job.out.as_mut_ptr().add(usize::from(out) * job.out_stride + at);
                    let mut planes = [[zero(); C]; BITS];
                    if BITS == 8 {
                        // Seven steps of `horner` add the polynomial.
                        planes[..7].fill([polynomial(); C]);
                    }
                    if job.add || before {
                        for c in 0..C {
                            planes[0][c] = sum(planes[0][c], load(y.add(c * BYTES)));
                        }
                    }
                    let mut sums = table.as_ptr();
                    for &word in words {
                        for b in 0..BITS {
                            let entry = (word >> (8 * b)) as usize & ((1 << $inputs) - 1);
                            let entry = sums.add(entry * PLANE_STRIP);
                            for c in 0..C {
                                planes[b][c] = sum(planes[b][c], load(entry.add(c * BYTES)));
                            }
                        }
                        // After the last step the pointer is in the table or at its end.
                        sums = sums.add(PLANE_GROUP);
                    }
                    for c in 0..C {
                        let total = if BITS == 8 {
                            (0..7).rev().fold(planes[7][c], |x, b| horner(x, planes[b][c]))
                        } else {
                            let low = sum(product(two, planes[1][c]), planes[0][c]);
                            let high = sum(product(two, planes[3][c]), planes[2][c]);
                            sum(product(four, high), low)
                        };
                        store(y.add(c * BYTES), total);
                    }
                }
            }
            C * BYTES
        }
    };
}
pub(super) use planes;

/// The planes of `INPUTS` coefficients from `first` on, at most eight: byte `b` has bit `b` of
/// each, the first in the lowest bit. From the end of `coefficients` on they are zero.
#[inline]
pub(super) fn transposed<const INPUTS: usize>(coefficients: &[u8], first: usize) -> u64 {
    let left = &coefficients[first..];
    let octet = match left.first_chunk() {
        Some(octet) => u64::from_le_bytes(*octet),
        None => left.iter().rev().fold(0, |octet, &c| octet << 8 | u64::from(c)),
    };
    let mut x = octet & u64::MAX >> (64 - 8 * INPUTS);
    // A matrix of 8 x 8 bits: exchanges bits, then pairs of bits, then nibbles.
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let differing = (x ^ x >> shift) & mask;
        x ^= differing ^ differing << shift;
    }
    x
}
