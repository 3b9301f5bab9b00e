//! The receiver of a neighbour's blocks: decodes them, reports each symbol once, as
//! soon as it is known, and lists in its acknowledgements what it has.
//!
//! Memory is limited: it accepts blocks from the oldest incomplete one up to a
//! fixed number of blocks ahead, and refuses others. Leaves out seals: the caller
//! checks symbols.

use crate::wire::{BLOCK_REPORTS_MAX, BlockReport, Enc};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_rlnc::{Code, Decoder, Received};

/// The receiver of blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Receiver {
    code: Code,
    /// All blocks below this one are complete or given up.
    done: u32,
    blocks: VecDeque<Option<Decoder>>,
    spare: Vec<Decoder>,
    payload: Vec<u8>,
    blocks_max: usize,
    /// Whether to believe an ENC, which is not sealed, about blocks that its sender
    /// gave up.
    trusts: bool,
    /// Number of symbols that became known.
    pub arrived: u64,
    /// Number of symbols of blocks that their sender gave up.
    pub symbols_lost: u64,
}

/// The result of an ENC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It increased the rank of its block.
    Innovative,
    /// It had nothing new for a block that is not complete.
    Redundant,
    /// Its block is complete.
    Stale,
    /// No sender of this link would send it.
    Refused,
    /// A symbol that it made known was not sealed by the other end: the block
    /// restarts.
    Polluted,
}

impl Receiver {
    /// A receiver of at most `blocks_max` blocks at once. One that `trusts` follows
    /// its sender to any block; an end learns of blocks given up from sealed pulses
    /// ([`Receiver::give_up_below`]).
    pub fn new(code: Code, blocks_max: usize, trusts: bool) -> Self {
        Self {
            code,
            done: 0,
            blocks: VecDeque::new(),
            spare: Vec::new(),
            payload: Vec::new(),
            blocks_max,
            trusts,
            arrived: 0,
            symbols_lost: 0,
        }
    }

    /// Takes an ENC. `known` gets block, index and bytes of each symbol that it
    /// made known, and returns whether the other end sealed that symbol.
    pub fn handle_enc(
        &mut self,
        enc: &Enc<'_>,
        known: &mut dyn FnMut(u32, u16, &[u8]) -> bool,
    ) -> Verdict {
        if self.trusts {
            self.give_up_below(enc.oldest);
        }
        let Some(at) = enc.block.checked_sub(self.done) else { return Verdict::Stale };
        let at = at as usize;
        if at >= self.blocks_max || enc.payload.len() > self.code.symbol_bytes() {
            return Verdict::Refused;
        }
        while self.blocks.len() <= at {
            self.blocks.push_back(None);
        }
        let decoder = self.blocks[at].get_or_insert_with(|| {
            let mut decoder = self.spare.pop().unwrap_or_else(|| Decoder::new(self.code));
            decoder.clear();
            decoder
        });
        if decoder.is_complete() {
            return Verdict::Stale;
        }
        self.payload.clear();
        self.payload.extend(enc.payload);
        self.payload.resize(self.code.symbol_bytes(), 0);
        let verdict = match decoder.push(enc.vector, &self.payload) {
            Ok(Received::Innovative) => Verdict::Innovative,
            Ok(Received::Redundant) => Verdict::Redundant,
            Err(_) => Verdict::Refused,
        };
        while let Some(index) = decoder.next_known() {
            let symbol = decoder.symbol(index).expect("it is known");
            if !known(enc.block, index, symbol) {
                // Some combination in this block was forged; it cannot be known which.
                decoder.clear();
                return Verdict::Polluted;
            }
            self.arrived += 1;
        }
        while let Some(Some(_)) =
            self.blocks.front().filter(|block| block.as_ref().is_some_and(Decoder::is_complete))
        {
            self.drop_oldest();
        }
        verdict
    }

    /// The payload of the last combination with its zeros.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Gives up the blocks below `block`. Returns whether something was missing.
    pub fn give_up_below(&mut self, block: u32) -> bool {
        let mut missing = false;
        while self.done < block {
            let Some(oldest) = self.blocks.front() else {
                missing = true;
                self.done = block;
                break;
            };
            let known = oldest.as_ref().map_or(0, Decoder::known);
            // The last block of a sender that gave up may not have been full.
            self.symbols_lost += (self.code.symbols() - known) as u64;
            missing = true;
            self.drop_oldest();
        }
        missing
    }

    fn drop_oldest(&mut self) {
        if let Some(decoder) = self.blocks.pop_front() {
            self.spare.extend(decoder);
            self.done += 1;
        }
    }

    /// Rank and number of known symbols of a block that is not done.
    pub fn progress(&self, block: u32) -> (u16, u16) {
        let at = block.checked_sub(self.done).map(|at| at as usize);
        let decoder = at.and_then(|at| self.blocks.get(at)).and_then(Option::as_ref);
        decoder.map_or((0, 0), |decoder| (decoder.rank() as u16, decoder.known() as u16))
    }

    /// Number of symbols that are known or given up, from the first on.
    pub fn received(&self) -> u64 {
        let known: usize = self.blocks.iter().flatten().map(Decoder::known).sum();
        u64::from(self.done) * self.code.symbols() as u64 + known as u64
    }

    /// All blocks below this one are complete or given up.
    pub fn done(&self) -> u32 {
        self.done
    }

    /// Reports about the blocks that are not done, the oldest first.
    pub fn reports(&self) -> Vec<BlockReport> {
        let blocks = (self.done..).zip(&self.blocks);
        blocks
            .filter_map(|(block, decoder)| Some((block, decoder.as_ref()?)))
            .take(BLOCK_REPORTS_MAX)
            .map(|(block, decoder)| {
                let bitmap = decoder.bitmap();
                let used = bitmap.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
                BlockReport {
                    block,
                    rank: decoder.rank() as u16,
                    bits: (used * 8) as u16,
                    bitmap: bitmap[..used].to_vec(),
                }
            })
            .collect()
    }
}
