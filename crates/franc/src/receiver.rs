//! The receiver of a neighbour's blocks: decodes them, reports each symbol once, as soon as it is
//! known, and lists the state of its blocks in acknowledgements. A block with a forged symbol
//! begins anew, and the acknowledgements count these restarts.
//!
//! Memory is limited: it accepts blocks from the oldest incomplete one up to a
//! fixed number of blocks ahead, and refuses others. Leaves out seals: the caller
//! checks symbols.

use crate::wire::{BlockReport, Enc, RESTARTS};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_rlnc::{Code, Decoder, Received, Vector};

/// The receiver of blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Receiver {
    code: Code,
    /// Number of the first slot.
    first: u32,
    /// All blocks below this one are complete or given up.
    done: u32,
    slots: VecDeque<Slot>,
    spare: Vec<Decoder>,
    payload: Vec<u8>,
    /// One bit for each symbol of a block that the other end sealed.
    sealed: Vec<u8>,
    blocks_max: usize,
    /// Whether the node is a recoder: it believes an ENC, which is not sealed, about
    /// blocks that its sender gave up, and remembers complete blocks until they are
    /// released, because the next node may find that something in them was forged.
    recodes: bool,
    /// Number of symbols that became known.
    pub arrived: u64,
    /// Number of symbols of blocks that their sender gave up.
    pub symbols_lost: u64,
}

/// A block being received.
#[derive(Clone, Debug, PartialEq, Default)]
struct Slot {
    /// The decoder of an incomplete block of which something arrived.
    decoder: Option<Decoder>,
    is_complete: bool,
    /// Times that it began anew, modulo [`RESTARTS`].
    restarts: u8,
}

impl Slot {
    fn known(&self, code: Code) -> usize {
        if self.is_complete {
            code.symbols()
        } else {
            self.decoder.as_ref().map_or(0, Decoder::known)
        }
    }

    fn restart(&mut self) {
        self.restarts = (self.restarts + 1) % RESTARTS;
    }
}

/// The result of an ENC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The combination increased the rank of its block.
    Innovative,
    /// The combination had nothing new for an incomplete block.
    Redundant,
    /// The combination's block is complete.
    Stale,
    /// No sender of this link would send it.
    Refused,
    /// A symbol that it made known was not sealed by the other end: the block
    /// begins anew, with the symbols that were.
    Polluted,
}

impl Receiver {
    /// Returns a receiver of at most `blocks_max` blocks at once. If it `recodes`, it follows its
    /// sender to any block; an end learns from sealed pulses which blocks were given up
    /// ([`Receiver::give_up_below`]).
    pub fn new(code: Code, blocks_max: usize, recodes: bool) -> Self {
        Self {
            code,
            first: 0,
            done: 0,
            slots: VecDeque::new(),
            spare: Vec::new(),
            payload: Vec::new(),
            sealed: Vec::new(),
            blocks_max,
            recodes,
            arrived: 0,
            symbols_lost: 0,
        }
    }

    /// Handles an ENC. `known` gets block, index and bytes of each symbol that it
    /// made known, and returns whether the other end sealed that symbol.
    pub fn handle_enc(
        &mut self,
        enc: &Enc<'_>,
        known: &mut dyn FnMut(u32, u16, &[u8]) -> bool,
    ) -> Verdict {
        if self.recodes {
            self.give_up_below(enc.oldest);
        }
        let Some(ahead) = enc.block.checked_sub(self.done) else { return Verdict::Stale };
        if ahead as usize >= self.blocks_max || enc.payload.len() > self.code.symbol_bytes() {
            return Verdict::Refused;
        }
        let at = (enc.block - self.first) as usize;
        while self.slots.len() <= at {
            self.slots.push_back(Slot::default());
        }
        let slot = &mut self.slots[at];
        if slot.is_complete {
            return Verdict::Stale;
        }
        let decoder = slot.decoder.get_or_insert_with(|| {
            let mut decoder = self.spare.pop().unwrap_or_else(|| Decoder::new(self.code));
            decoder.clear();
            decoder
        });
        self.sealed.clear();
        self.sealed.extend(decoder.bitmap());
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
                keep(decoder, &self.sealed);
                slot.restart();
                return Verdict::Polluted;
            }
            self.sealed[usize::from(index / 8)] |= 1 << (index % 8);
            self.arrived += 1;
        }
        if decoder.is_complete() {
            slot.is_complete = true;
            self.spare.extend(slot.decoder.take());
        }
        self.advance();
        verdict
    }

    /// Counts complete blocks as done.
    fn advance(&mut self) {
        let is_complete = |slot: &Slot| slot.is_complete;
        while self.slots.get((self.done - self.first) as usize).is_some_and(is_complete) {
            self.done += 1;
        }
        if !self.recodes {
            self.release_below(self.done);
        }
    }

    /// Forgets blocks below `block` that are done.
    pub fn release_below(&mut self, block: u32) {
        while self.first < block.min(self.done)
            && let Some(slot) = self.slots.pop_front()
        {
            self.spare.extend(slot.decoder);
            self.first += 1;
        }
    }

    /// Begins a block anew: something that was taken for it was forged. Returns
    /// whether anything of it is there.
    pub fn restart(&mut self, block: u32) -> bool {
        let at = block.checked_sub(self.first).map(|at| at as usize);
        let Some(slot) = at.and_then(|at| self.slots.get_mut(at)) else { return false };
        if !slot.is_complete && slot.decoder.is_none() {
            return false;
        }
        slot.is_complete = false;
        slot.restart();
        self.spare.extend(slot.decoder.take());
        self.done = self.done.min(block);
        true
    }

    /// The payload of the last combination with its zeros.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Gives up the blocks below `block`. Returns whether something was missing.
    pub fn give_up_below(&mut self, block: u32) -> bool {
        let missing = self.done < block;
        while self.done < block {
            let at = (self.done - self.first) as usize;
            let Some(slot) = self.slots.get(at) else {
                // Nothing of it and those after it arrived.
                self.slots.clear();
                (self.first, self.done) = (block, block);
                break;
            };
            // The last block of a sender that gave up may not have been full.
            self.symbols_lost += (self.code.symbols() - slot.known(self.code)) as u64;
            self.done += 1;
        }
        self.release_below(block);
        self.advance();
        missing
    }

    /// Rank and number of known symbols of a block that is not done.
    pub fn progress(&self, block: u32) -> (u16, u16) {
        let at = block.checked_sub(self.first).map(|at| at as usize);
        let decoder = at.and_then(|at| self.slots.get(at)).and_then(|slot| slot.decoder.as_ref());
        decoder.map_or((0, 0), |decoder| (decoder.rank() as u16, decoder.known() as u16))
    }

    /// Number of symbols that are known, or were given up.
    pub fn received(&self) -> u64 {
        let open = self.slots.iter().skip((self.done - self.first) as usize);
        let known: usize = open.map(|slot| slot.known(self.code)).sum();
        u64::from(self.done) * self.code.symbols() as u64 + known as u64
    }

    /// Block and index of the first symbol that is neither known nor given up.
    pub fn frontier(&self) -> (u32, u16) {
        let slot = self.slots.get((self.done - self.first) as usize);
        let bitmap = slot.and_then(|slot| slot.decoder.as_ref()).map_or(&[][..], Decoder::bitmap);
        let known = bitmap.iter().position(|&byte| byte != u8::MAX);
        let index = known.map_or(0, |at| at as u16 * 8 + bitmap[at].trailing_ones() as u16);
        (self.done, index)
    }

    /// All blocks below this one are complete or given up.
    pub fn done(&self) -> u32 {
        self.done
    }

    /// Reports about the blocks from `oldest` on of which something arrived, the
    /// oldest first.
    pub fn reports(&self, oldest: u32) -> impl Iterator<Item = BlockReport> {
        let slots = (self.first..).zip(&self.slots).skip_while(move |&(block, _)| block < oldest);
        slots.filter_map(|(block, slot)| {
            let restarts = slot.restarts;
            if slot.is_complete {
                let bits = if block < self.done { 0 } else { self.code.symbols() };
                let bitmap = (0..bits.div_ceil(8)).map(|at| match bits - at * 8 {
                    left @ 0..8 => (1 << left) - 1,
                    _ => u8::MAX,
                });
                let bitmap: Vec<u8> = bitmap.collect();
                let (rank, bits) = (self.code.symbols() as u16, (bitmap.len() * 8) as u16);
                return Some(BlockReport { block, restarts, rank, bits, bitmap });
            }
            let decoder = slot.decoder.as_ref()?;
            let bitmap = decoder.bitmap();
            let used = bitmap.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
            let (rank, bits) = (decoder.rank() as u16, (used * 8) as u16);
            Some(BlockReport { block, restarts, rank, bits, bitmap: bitmap[..used].to_vec() })
        })
    }
}

/// Begins the block of `decoder` anew with the symbols in the bitmap `sealed`, which
/// it knows: a forged combination costs no more than the missing symbols.
fn keep(decoder: &mut Decoder, sealed: &[u8]) {
    let is_sealed = |index: &u16| sealed[usize::from(index / 8)] >> (index % 8) & 1 == 1;
    let symbol = |index| Some((index, decoder.symbol(index)?.to_vec()));
    let kept: Vec<(u16, Vec<u8>)> =
        (0..sealed.len() as u16 * 8).filter(is_sealed).filter_map(symbol).collect();
    decoder.clear();
    for (index, symbol) in &kept {
        let taken = decoder.push(Vector::Source(u64::from(*index)), symbol);
        debug_assert_eq!(taken, Ok(Received::Innovative));
        decoder.next_known();
    }
}
