//! The parameters of the code that both ends must share, and their digest in a HELLO.
//!
//! An end learns only the digest of the other end. For a message, it tries the parameters that
//! people change. Lengths are in bytes. Leaves out parameters that each end may choose, such as the
//! largest number of blocks in flight.

use crate::config::{BLOCK_SYMBOLS_MAX, Config};
use crate::wire::LINKS_MAX;
use lasthop_rlnc::Field;

/// The parameters that both ends must share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeParameters {
    /// Field of the coefficients.
    pub field: Field,
    /// Symbols of a block.
    pub block_symbols: u16,
    /// Length of a symbol in bytes.
    pub symbol_bytes: u16,
    /// Blocks after which the ends derive the next key.
    pub rekey_blocks: u32,
    /// Number of links between the ends, 1 or 2.
    pub links: u8,
}

/// Symbols of a block by default, in stream and in paper mode.
const USUAL_BLOCKS: [u16; 2] = [64, 150];

impl CodeParameters {
    /// A digest of the parameters (FNV-1a), for accidental differences: the proof in the HELLO
    /// detects forgeries.
    pub(crate) fn digest(&self) -> u32 {
        self.symbol_digest(self.block_digest())
    }

    fn block_digest(&self) -> u32 {
        let begun = fold(0x811c_9dc5, self.field.bits() as u32);
        fold(begun, u32::from(self.block_symbols))
    }

    fn symbol_digest(&self, block_digest: u32) -> u32 {
        let digest = fold(fold(block_digest, u32::from(self.symbol_bytes)), self.rekey_blocks);
        // One link is as in versions that know no second one.
        if self.links > 1 { fold(digest, u32::from(self.links)) } else { digest }
    }

    /// Parameters with this digest, if they differ from these in usual ways: the number of links,
    /// any field with any length of symbols or any number of them, or a power of two of blocks for
    /// each key. A digest of other parameters matches one of the 600 000 tries with a probability of
    /// 1 to 7 000.
    pub(crate) fn with_digest(&self, digest: u32) -> Option<Self> {
        let fields = [self.field, Field::Gf2, Field::Gf16, Field::Gf256];
        let is_it = |tried: &Self| tried.digest() == digest;
        let links = (1..=LINKS_MAX).map(|links| Self { links, ..*self });
        let keys = (4..32).map(|log| Self { rekey_blocks: 1 << log, ..*self });
        let blocks = fields.into_iter().flat_map(|field| {
            (1..=BLOCK_SYMBOLS_MAX).map(move |block_symbols| Self { field, block_symbols, ..*self })
        });
        links.chain(keys).chain(blocks).find(is_it).or_else(|| {
            let [stream, paper] = USUAL_BLOCKS;
            let blocks = [self.block_symbols, stream, paper];
            let shapes = fields.into_iter().flat_map(|field| {
                blocks.map(|block_symbols| Self { field, block_symbols, ..*self })
            });
            shapes.into_iter().find_map(|shape| {
                let begun = shape.block_digest();
                (1..=u16::MAX)
                    .map(|symbol_bytes| Self { symbol_bytes, ..shape })
                    .find(|tried| tried.symbol_digest(begun) == digest)
            })
        })
    }
}

impl From<&Config> for CodeParameters {
    fn from(config: &Config) -> Self {
        let &Config { field, block_symbols, symbol_bytes, rekey_blocks, links, .. } = config;
        Self { field, block_symbols, symbol_bytes, rekey_blocks, links }
    }
}

/// Continues an FNV-1a hash with a number.
fn fold(hash: u32, number: u32) -> u32 {
    let bytes = number.to_be_bytes().into_iter();
    bytes.fold(hash, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference values of FNV-1a, 32 bits, by its authors (draft-eastlake-fnv, appendix C).
    #[test]
    fn the_digest_is_fnv_1a() {
        let hash = |text: &[u8; 4]| fold(0x811c_9dc5, u32::from_be_bytes(*text));
        assert_eq!(hash(b"foob"), 0x3f5076ef);
    }

    #[test]
    fn what_people_change_is_found() {
        let ours = CodeParameters {
            field: Field::Gf256,
            block_symbols: 64,
            symbol_bytes: 1_446,
            rekey_blocks: 1 << 14,
            links: 1,
        };
        for theirs in [
            ours,
            CodeParameters { symbol_bytes: 1_346, ..ours },
            CodeParameters { symbol_bytes: 8_946, ..ours },
            CodeParameters { block_symbols: 32, ..ours },
            CodeParameters { field: Field::Gf16, ..ours },
            CodeParameters { rekey_blocks: 16, ..ours },
            CodeParameters { links: 2, ..ours },
            // The paper's mode.
            CodeParameters { field: Field::Gf2, block_symbols: 150, symbol_bytes: 1_442, ..ours },
        ] {
            assert_eq!(ours.with_digest(theirs.digest()), Some(theirs));
            assert_eq!(theirs.with_digest(ours.digest()), Some(ours));
        }
        let odd = CodeParameters { rekey_blocks: 12_345, symbol_bytes: 200, ..ours };
        assert_eq!(ours.with_digest(odd.digest()), None);
    }
}
