//! The helper (figure 5). It collects what it overhears of a block; above the threshold,
//! each packet raises what it owes by a credit. What it sends are new combinations of what
//! it heard, without decoding.
//!
//! As published ([`HelperParameters::published`]) it is idle for the rest of the block when
//! its budget is spent, and it is asked whatever it costs: what the source sends beyond its
//! budget, at timeouts, it does not help. Otherwise (the stream) the next packet calls it
//! back, and it is silent where it saves no air. Packets need not be independent to count,
//! as in the authors' program, which sends something for each that it hears above the
//! threshold: a helper that hears well has the whole block before it has sent its share.
//!
//! One helper serves one direction of a hop. Of the blocks that it hears it keeps the
//! last few, so its memory is bounded whatever it hears. Hand it packets of the source
//! only: another helper's would raise its credit for nothing.

use crate::budget::{Budget, HelperBudget, Plan};
use crate::coded::Coded;
use crate::config::Losses;
use crate::wire::{Ack, Enc};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_rlnc::{Code, Density, Received, Recoder};
use lasthop_units::{Instant, Stream};

/// How a helper helps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HelperParameters {
    /// The links of the hop, in the direction it serves.
    pub losses: Losses,
    /// Helpers that share the work, itself included; at least 1.
    pub helpers: u8,
    /// Deviations that the budget allows for ([`Plan::margin`]), as the source has it.
    pub margin: Option<f64>,
    /// Blocks that it keeps at most, at least 1; the paper: 1.
    pub blocks_max: u8,
    /// Budgets are asked for and end as the paper has it.
    pub published: bool,
}

/// What the helper does for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperState {
    /// It listens.
    Idle,
    /// It sends.
    Enc,
}

/// Overhears one direction of a hop and sends what it can add.
#[derive(Clone, Debug, PartialEq)]
pub struct Helper {
    code: Code,
    parameters: HelperParameters,
    budget: Option<HelperBudget>,
    stream: Stream,
    /// In the order in which they were heard first.
    blocks: VecDeque<Block>,
    spare: Vec<Recoder>,
    /// Blocks below it need nothing any more.
    oldest: u32,
    /// A symbol with its zeros.
    padded: Vec<u8>,
    sent: u64,
}

/// A block in flight.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    number: u32,
    recoder: Recoder,
    state: HelperState,
    /// Packets to be sent, and granted so far of the budget or beyond.
    owed: f64,
    granted: f64,
    /// The destination has it.
    done: bool,
}

/// How far behind a packet's block its sender's oldest may be, on the air.
const OLDEST_BEHIND_MAX: u32 = 255;

impl Helper {
    /// For blocks of `code`; factors are drawn from `stream`.
    pub fn new(code: Code, parameters: &HelperParameters, stream: Stream) -> Self {
        let mut helper = Self {
            code,
            parameters: *parameters,
            budget: None,
            stream,
            blocks: VecDeque::new(),
            spare: Vec::new(),
            oldest: 0,
            padded: vec![0; code.symbol_bytes()],
            sent: 0,
        };
        helper.set_losses(parameters.losses);
        helper
    }

    /// Takes a packet that the source sent. `None` if it is of no use here: of a block
    /// that is done, or not of this code.
    pub fn handle_enc(&mut self, _now: Instant, enc: &Enc<'_>) -> Option<Received> {
        self.forget_below(enc.oldest);
        if enc.block < self.oldest || enc.payload.len() > self.padded.len() {
            return None;
        }
        let (payload, zeros) = self.padded.split_at_mut(enc.payload.len());
        payload.copy_from_slice(enc.payload);
        zeros.fill(0);
        let at = self.find_or_begin(enc.block);
        let block = &mut self.blocks[at];
        let received = block.recoder.push(enc.vector, &self.padded).ok()?;
        if let Some(budget) = self.budget {
            block.take_credit(&budget, self.parameters.published);
        }
        Some(received)
    }

    /// Takes an acknowledgement of the destination.
    pub fn handle_ack(&mut self, _now: Instant, ack: &Ack) {
        self.forget_below(ack.done);
        let symbols = self.code.symbols();
        for report in ack.blocks.iter().filter(|report| usize::from(report.rank) == symbols) {
            for block in self.blocks.iter_mut().filter(|block| block.number == report.block) {
                block.stop();
            }
        }
    }

    /// The next packet to be sent, if one is owed.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Coded> {
        let budget = self.budget?;
        let block = self.blocks.iter_mut().find(|block| block.owed >= 1.0)?;
        let seed = self.stream.next_u64();
        let recoded = block.recoder.recode(seed, Density::DENSE);
        let (vector, payload) = recoded.expect("packets are owed for what was heard");
        let oldest = self.oldest.max(block.number.saturating_sub(OLDEST_BEHIND_MAX));
        let coded = Coded::new(block.number, oldest, vector, payload);
        self.sent += 1;
        block.owed -= 1.0;
        if block.owed < 1.0 && block.granted >= budget.packets {
            block.state = HelperState::Idle;
        }
        Some(coded)
    }

    /// Budgets follow these losses from now on.
    pub fn set_losses(&mut self, losses: Losses) {
        self.parameters.losses = losses;
        let HelperParameters { helpers, margin, published, .. } = self.parameters;
        let (field, symbols) = (self.code.field(), self.code.symbols() as u16);
        let plan = Plan { field, symbols, losses, helpers, overshoot: 1.0, published, margin };
        self.budget = Budget::new(&plan).helper;
    }

    /// Whether it sends for any of the blocks it keeps.
    pub fn state(&self) -> HelperState {
        let sends = self.blocks.iter().any(|block| block.state == HelperState::Enc);
        if sends { HelperState::Enc } else { HelperState::Idle }
    }

    /// Packets it sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Blocks that it keeps.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.blocks.len()
    }

    fn forget_below(&mut self, oldest: u32) {
        self.oldest = self.oldest.max(oldest);
        while let Some(at) = self.blocks.iter().position(|block| block.number < self.oldest) {
            let block = self.blocks.remove(at).expect("it was found there");
            self.spare.push(block.recoder);
        }
    }

    /// Where block `number` is; the one heard longest ago makes room for a new one.
    fn find_or_begin(&mut self, number: u32) -> usize {
        if let Some(at) = self.blocks.iter().position(|block| block.number == number) {
            return at;
        }
        if self.blocks.len() >= usize::from(self.parameters.blocks_max.max(1)) {
            self.spare.extend(self.blocks.pop_front().map(|block| block.recoder));
        }
        let mut recoder = self.spare.pop().unwrap_or_else(|| Recoder::new(self.code));
        recoder.clear();
        self.blocks.push_back(Block {
            number,
            recoder,
            state: HelperState::Idle,
            owed: 0.0,
            granted: 0.0,
            done: false,
        });
        self.blocks.len() - 1
    }
}

impl Block {
    /// A packet more was heard; what is granted may end with the budget, in whole packets.
    fn take_credit(&mut self, budget: &HelperBudget, ends: bool) {
        if self.done || self.recoder.rank() as f64 <= budget.threshold {
            return;
        }
        let most = libm::ceil(budget.packets);
        if ends && self.granted >= most {
            return;
        }
        self.state = HelperState::Enc;
        self.owed += budget.credit;
        self.granted += budget.credit;
        if ends && self.granted > most {
            // Both are whole then, but for rounding.
            self.owed = libm::round(self.owed - (self.granted - most)).max(0.0);
            self.granted = most;
        }
    }

    /// Nothing more is owed, now and later.
    fn stop(&mut self) {
        self.state = HelperState::Idle;
        self.owed = 0.0;
        self.done = true;
    }
}
