//! A combination of symbols with its own memory: the owned form of
//! [`wire::Enc`](crate::wire::Enc), before it is encoded as an ENC datagram and
//! after. Symbols are numbered within their block. Leaves out the arithmetic, which
//! is in `rlnc`.

use crate::wire::Enc;
use alloc::vec::Vec;
use lasthop_rlnc::{Density, Vector};

/// A combination of a block's symbols.
///
/// ```
/// use lasthop_franc::{Coded, CodedVector};
/// use lasthop_rlnc::Vector;
///
/// let coded = Coded::new(5, 4, Vector::Source(9), b"symbol\0\0");
/// assert_eq!(coded.vector, CodedVector::Source(9));
/// // Zeros at the end do not travel.
/// assert_eq!(coded.as_enc().payload, b"symbol");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coded {
    /// Number of the block.
    pub block: u32,
    /// The sender no longer has anything of blocks below this one.
    pub oldest: u32,
    /// The coding vector.
    pub vector: CodedVector,
    /// The payload without the zeros at its end.
    pub payload: Vec<u8>,
}

/// The coding vector. Symbols are numbered within their block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodedVector {
    /// An uncoded symbol.
    Source(u16),
    /// Dense coefficients drawn from a seed.
    Seeded {
        /// Seed of the coefficients.
        seed: u32,
        /// Number of the first symbol in the combination.
        first: u16,
        /// Number of symbols in the combination, at least 1.
        count: u16,
    },
    /// Coefficients transmitted in full.
    Full {
        /// Number of the symbol of the first coefficient.
        first: u16,
        /// Number of coefficients.
        count: u16,
        /// The coefficients, packed as in [`Vector::Full`].
        packed: Vec<u8>,
    },
}

impl Coded {
    /// Takes a codec's combination. Panics if its vector is not that of a block.
    pub fn new(block: u32, oldest: u32, vector: Vector<'_>, payload: &[u8]) -> Self {
        let payload = trimmed(payload).to_vec();
        Self { block, oldest, vector: CodedVector::new(vector), payload }
    }

    /// The borrowed form, for an ENC datagram.
    pub fn as_enc(&self) -> Enc<'_> {
        let Self { block, oldest, ref vector, ref payload } = *self;
        Enc { block, oldest, vector: vector.as_vector(), payload }
    }
}

impl CodedVector {
    /// Takes a codec's vector. Panics if its numbers are not those of a block, or
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

    /// The vector in the codec's form.
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

/// The bytes without the zeros at their end.
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
