//! A combination before it becomes an ENC and after: what [`wire::Enc`](crate::wire::Enc)
//! borrows, owned.

use crate::wire::Enc;
use alloc::vec::Vec;
use lasthop_rlnc::{Density, Vector};

/// A combination of a block's symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The block.
    pub block: u32,
    /// The sender has nothing of blocks below this one any more.
    pub oldest: u32,
    /// Which combination.
    pub vector: CodedVector,
    /// Its bytes without the zeros at the end.
    pub payload: Vec<u8>,
}

/// Which combination it is. Symbols are numbered within their block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodedVector {
    /// A symbol as it is.
    Source(u16),
    /// Dense coefficients from a seed.
    Seeded {
        /// What they are drawn from.
        seed: u32,
        /// The first symbol in the combination.
        first: u16,
        /// How many symbols are in it, from 1 on.
        count: u16,
    },
    /// Coefficients written out.
    Full {
        /// The symbol that the first coefficient belongs to.
        first: u16,
        /// How many coefficients there are.
        count: u16,
        /// The coefficients, as [`Vector::Full`] has them.
        packed: Vec<u8>,
    },
}

impl Coded {
    /// A combination that a codec gave. Panics if its vector is not that of a block.
    pub fn new(block: u32, oldest: u32, vector: Vector<'_>, payload: &[u8]) -> Self {
        let payload = trimmed(payload).to_vec();
        Self { block, oldest, vector: CodedVector::new(vector), payload }
    }

    /// As it is written into an ENC.
    pub fn as_enc(&self) -> Enc<'_> {
        let Self { block, oldest, ref vector, ref payload } = *self;
        Enc { block, oldest, vector: vector.as_vector(), payload }
    }
}

impl CodedVector {
    /// The vector that a codec gave. Panics if its numbers are not those of a block, or
    /// if its seed has more than 32 bits.
    pub fn new(vector: Vector<'_>) -> Self {
        let symbol = |number: u64| u16::try_from(number).expect("a block has fewer symbols");
        match vector {
            Vector::Source(index) => Self::Source(symbol(index)),
            Vector::Seeded { seed, first, count, .. } => {
                let seed = u32::try_from(seed).expect("seeds that travel have 32 bits");
                Self::Seeded { seed, first: symbol(first), count }
            }
            Vector::Full { first, count, packed } => {
                Self::Full { first: symbol(first), count, packed: packed.to_vec() }
            }
        }
    }

    /// As a codec takes it.
    pub fn as_vector(&self) -> Vector<'_> {
        match *self {
            Self::Source(index) => Vector::Source(u64::from(index)),
            Self::Seeded { seed, first, count } => Vector::Seeded {
                seed: u64::from(seed),
                first: u64::from(first),
                count,
                density: Density::DENSE,
            },
            Self::Full { first, count, ref packed } => {
                Vector::Full { first: u64::from(first), count, packed }
            }
        }
    }
}

/// Bytes without the zeros at their end.
pub fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_codec_gave_comes_back() {
        let vectors = [
            Vector::Source(7),
            Vector::Seeded { seed: 1 << 31, first: 2, count: 3, density: Density::DENSE },
            Vector::Full { first: 1, count: 2, packed: &[9, 0] },
        ];
        for vector in vectors {
            let coded = Coded::new(5, 4, vector, &[1, 0, 2, 0, 0]);
            let enc = coded.as_enc();
            assert_eq!((enc.block, enc.oldest, enc.vector), (5, 4, vector));
            assert_eq!(enc.payload, [1, 0, 2]);
        }
        assert_eq!(trimmed(&[0, 0]), []);
    }
}
