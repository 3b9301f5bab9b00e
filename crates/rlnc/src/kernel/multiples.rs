//! Products by tables of multiples, for kernels whose product takes several
//! instructions: the method of the Four Russians over nibbles. All 16 multiples of an
//! input by a nibble are tabulated, over a strip of columns; each row then adds one
//! of them over GF(2^4), over GF(2^8) one for each nibble of its coefficient.
//! `multiples!` adds this to a kernel that has [`super::body`]'s operations. Lengths
//! are in bytes.
//!
//! Tables pay if there are enough rows. The kernels that use them, and the numbers of rows, were
//! chosen by measurement: [`super::Kernel::multiply`]. With longer vectors than SSSE3's, sums of
//! inputs (`planes.rs`) are faster.

use super::body::STRIP_BYTES;

/// Multiples of each input: one for each nibble.
pub(super) const NIBBLES: usize = 16;
/// Coefficients in one word.
pub(super) const OCTET_INPUTS: usize = 8;
/// Inputs whose multiples are tabulated together: 32 KiB of tables.
pub(super) const TILE_INPUTS: usize = 2 * OCTET_INPUTS;

/// The multiples of a tile's inputs by all nibbles, over one strip.
#[repr(C, align(64))]
pub(super) struct Multiples(pub [u8; TILE_INPUTS * NIBBLES * STRIP_BYTES]);

/// `multiples!(features)`, after `operations!`.
macro_rules! multiples {
    ($features:literal) => {
        use crate::kernel::multiples::{Multiples, NIBBLES, OCTET_INPUTS, TILE_INPUTS, octet};

        /// The same as `multiply`. `TWO` says whether a coefficient has two nibbles, as over
        /// GF(2^8), or one. There must be an input.
        #[target_feature(enable = $features)]
        pub(super) fn multiples<const TWO: bool>(tables: &Tables, job: &mut Product<'_>) {
            let mut table = Multiples([0; TILE_INPUTS * NIBBLES * STRIP_BYTES]);
            let mut at = 0;
            while at < job.row_bytes {
                // SAFETY: rows consist of whole cache lines, so a row has half a strip left, or
                // a whole one where that much is left; `job` was checked.
                unsafe {
                    if job.row_bytes - at >= STRIP_BYTES {
                        multiples_strip::<{ STRIP_BYTES / BYTES }, TWO>(
                            tables, &mut table, job, at,
                        );
                        at += STRIP_BYTES;
                    } else {
                        multiples_strip::<{ STRIP_BYTES / BYTES / 2 }, TWO>(
                            tables, &mut table, job, at,
                        );
                        at += STRIP_BYTES / 2;
                    }
                }
            }
        }

        /// # Safety
        ///
        /// The conditions of `tile`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn multiples_strip<const C: usize, const TWO: bool>(
            tables: &Tables,
            table: &mut Multiples,
            job: &mut Product<'_>,
            at: usize,
        ) {
            let factors = [factor(tables, 2), factor(tables, 4), factor(tables, 8)];
            let sixteen = factor(tables, 16);
            for first in (0..job.count).step_by(TILE_INPUTS) {
                let inputs = (job.count - first).min(TILE_INPUTS);
                for i in 0..inputs {
                    // SAFETY: an input below `count` is in `inputs`; the table has the multiples of
                    // `TILE_INPUTS` inputs.
                    unsafe {
                        let x = job.inputs.as_ptr().add((first + i) * job.inputs_stride + at);
                        let multiples = table.0.as_mut_ptr().add(i * NIBBLES * STRIP_BYTES);
                        for c in 0..C {
                            let x = load(x.add(c * BYTES));
                            let [two, four, eight] = factors.map(|factor| product(factor, x));
                            let low = [zero(), x, two, sum(x, two)];
                            let high = [zero(), four, eight, sum(four, eight)];
                            for h in 0..4 {
                                for l in 0..4 {
                                    let entry =
                                        multiples.add((4 * h + l) * STRIP_BYTES + c * BYTES);
                                    store(entry, sum(high[h], low[l]));
                                }
                            }
                        }
                    }
                }
                for &(out, row) in job.rows {
                    let coefficients = &job.coefficients
                        [usize::from(row) * job.coefficients_stride..][..job.count];
                    // SAFETY: the row is in `out`; inputs from `count` on have the coefficient zero,
                    // for which every table has a zero.
                    unsafe {
                        let y = job.out.as_mut_ptr().add(usize::from(out) * job.out_stride + at);
                        let (mut low, mut high) = ([zero(); C], [zero(); C]);
                        if job.add || first > 0 {
                            for c in 0..C {
                                low[c] = load(y.add(c * BYTES));
                            }
                        }
                        for i in (0..inputs).step_by(OCTET_INPUTS) {
                            let octet = octet(coefficients, first + i);
                            for j in 0..OCTET_INPUTS {
                                add_multiple(table, i + j, octet >> (8 * j), &mut low);
                                if TWO {
                                    add_multiple(table, i + j, octet >> (8 * j + 4), &mut high);
                                }
                            }
                        }
                        for c in 0..C {
                            let low =
                                if TWO { sum(low[c], product(sixteen, high[c])) } else { low[c] };
                            store(y.add(c * BYTES), low);
                        }
                    }
                }
            }
        }

        /// Adds the multiple of a tile's `input` by the lowest nibble of `bits`.
        ///
        /// # Safety
        ///
        /// `input` is below `TILE_INPUTS`, and `C` vectors are at most a strip.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn add_multiple<const C: usize>(
            table: &Multiples,
            input: usize,
            bits: u64,
            sums: &mut [Register; C],
        ) {
            let nibble = bits as usize % NIBBLES;
            // SAFETY: guaranteed by the caller.
            unsafe {
                let entry = table.0.as_ptr().add((input * NIBBLES + nibble) * STRIP_BYTES);
                for c in 0..C {
                    sums[c] = sum(sums[c], load(entry.add(c * BYTES)));
                }
            }
        }
    };
}
pub(super) use multiples;

/// Coefficients `first` to `first + 7`, the first in the lowest byte; zero from the
/// end of `coefficients` on.
#[inline]
pub(super) fn octet(coefficients: &[u8], first: usize) -> u64 {
    let left = &coefficients[first..];
    match left.first_chunk() {
        Some(octet) => u64::from_le_bytes(*octet),
        None => left.iter().rev().fold(0, |octet, &c| octet << 8 | u64::from(c)),
    }
}
