//! The helper (figure 5): stores the overheard packets of a block, and adds a credit to its debt
//! for each packet above the threshold. The helper pays with new combinations of received packets,
//! without decoding. Counts are packets and may be fractions.
//!
//! As published ([`HelperParameters::published`]) it stays idle for the rest of the
//! block when its budget is spent, and helps at any cost; packets that the source
//! sends beyond its budget, at timeouts, do not restart it. Otherwise (in a stream)
//! the next packet restarts it, and it stays silent if it saves no airtime. Packets
//! count even if they are not independent, as in the authors' program, which sends
//! something for each packet received above the threshold: a helper with a good
//! link has the whole block before it has sent its share. [`Helping::Program`] follows that program
//! in all else.
//!
//! One helper serves one direction of a hop. It stores the last few blocks, so its memory is
//! limited. Pass it packets of the source only: packets of another helper would increase its credit
//! needlessly.

use crate::budget::{Budget, HelperBudget, Plan};
use crate::coded::Coded;
use crate::config::{Helping, Losses};
use crate::wire::{Ack, Enc};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_rlnc::{Code, Density, Received, Recoder};
use lasthop_units::{Instant, Stream};

/// The parameters of a helper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HelperParameters {
    /// Losses of the links of the hop, in the direction that it serves.
    pub losses: Losses,
    /// Number of helpers that share the work, itself included; at least 1.
    pub helpers: u8,
    /// Standard deviations of losses that the budget allows for ([`Plan::margin`]),
    /// as for the source.
    pub margin: Option<f64>,
    /// Largest number of blocks that it stores, at least 1; in the paper 1.
    pub blocks_max: u8,
    /// Whether budgets are computed, and end, as in the paper.
    pub published: bool,
    /// The amount that a helper as published sends for the packets that it hears.
    pub help: Helping,
}

impl HelperParameters {
    fn follows_program(&self) -> bool {
        self.published && self.help == Helping::Program
    }
}

/// The state of the helper for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperState {
    /// The helper listens.
    Idle,
    /// The helper sends.
    Enc,
}

/// Overhears one direction of a hop and sends combinations of received packets.
///
/// A helper that overhears a block's packets sends new combinations of them:
///
/// ```
/// use lasthop_franc::Coded;
/// use lasthop_franc::config::{Helping, Losses};
/// use lasthop_franc::paper::{Helper, HelperParameters};
/// use lasthop_rlnc::{Code, Field, Received, Vector};
/// use lasthop_units::{Instant, Probability, Seed};
///
/// let loss = |p| Probability::new(p).expect("between 0 and 1");
/// let parameters = HelperParameters {
///     losses: Losses { e1: loss(0.1), e2: loss(0.1), e3: loss(0.6) },
///     helpers: 1,
///     margin: None,
///     blocks_max: 1,
///     published: true,
///     help: Helping::Text,
/// };
/// let code = Code::new(Field::Gf256, 8, 4)?;
/// let mut helper = Helper::new(code, &parameters, Seed::new(1, 0).stream("helper"));
/// let (now, mut sent) = (Instant::ZERO, 0);
/// for index in 0..8 {
///     let symbol = Coded::new(0, 0, Vector::Source(index), b"data");
///     assert_eq!(helper.handle_enc(now, &symbol.as_enc()), Some(Received::Innovative));
///     while helper.poll_transmit(now).is_some() {
///         sent += 1;
///     }
/// }
/// // It listens below its threshold, and then sends about one packet for each that it hears.
/// assert!((4..8).contains(&sent), "{sent}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Helper {
    code: Code,
    parameters: HelperParameters,
    budget: Option<HelperBudget>,
    stream: Stream,
    /// The blocks, in the order in which they were first received.
    blocks: VecDeque<Block>,
    spare: Vec<Recoder>,
    /// Blocks below this one need nothing any more.
    oldest: u32,
    /// Number of the newest block.
    newest: u32,
    /// A symbol with its zeros.
    padded: Vec<u8>,
    sent: u64,
}

/// A block of which packets were received.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    number: u32,
    recoder: Recoder,
    state: HelperState,
    /// Packets owed, and granted so far within the budget or beyond.
    owed: f64,
    granted: f64,
    /// Credits of the authors' program less the packets that it granted; may be negative.
    budget: f64,
    /// Whether the destination has the block, and how often it began it anew.
    done: bool,
    restarts: u8,
}

/// Largest distance on the air of a packet's block above the sender's oldest block.
const OLDEST_BEHIND_MAX: u32 = 255;

impl Helper {
    /// A helper for blocks of `code`; factors are drawn from `stream`.
    pub fn new(code: Code, parameters: &HelperParameters, stream: Stream) -> Self {
        let mut helper = Self {
            code,
            parameters: *parameters,
            budget: None,
            stream,
            blocks: VecDeque::new(),
            spare: Vec::new(),
            oldest: 0,
            newest: 0,
            padded: vec![0; code.symbol_bytes()],
            sent: 0,
        };
        helper.set_losses(parameters.losses);
        helper
    }

    /// Handles a packet that the source sent. `None` if it is of no use: of a block
    /// that is done, or not of this code.
    pub fn handle_enc(&mut self, _now: Instant, enc: &Enc<'_>) -> Option<Received> {
        self.forget_below(enc.oldest);
        if enc.block < self.oldest || enc.payload.len() > self.padded.len() {
            return None;
        }
        let (payload, zeros) = self.padded.split_at_mut(enc.payload.len());
        payload.copy_from_slice(enc.payload);
        zeros.fill(0);
        let is_new = enc.block > self.newest;
        self.newest = self.newest.max(enc.block);
        let at = self.find_or_begin(enc.block);
        let block = &mut self.blocks[at];
        if is_new && self.parameters.follows_program() {
            return None;
        }
        let received = block.recoder.push(enc.vector, &self.padded).ok()?;
        if let Some(budget) = self.budget {
            if self.parameters.follows_program() {
                block.take_credit_of_program(&budget, received);
            } else {
                block.take_credit(&budget, self.parameters.published);
            }
        }
        Some(received)
    }

    /// Handles an acknowledgement of the destination.
    pub fn handle_ack(&mut self, _now: Instant, ack: &Ack) {
        let follows_program = self.parameters.follows_program();
        if !follows_program {
            self.forget_below(ack.done);
        }
        let symbols = self.code.symbols();
        for report in &ack.blocks {
            for block in self.blocks.iter_mut().filter(|block| block.number == report.block) {
                if report.restarts != block.restarts {
                    // Something in it was forged, perhaps what is here.
                    block.restarts = report.restarts;
                    block.recoder.clear();
                    (block.owed, block.budget) = (0.0, 0.0);
                }
                if usize::from(report.rank) == symbols && !follows_program {
                    block.stop();
                }
            }
        }
    }

    /// Returns the next packet to send, if one is owed.
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

    /// Computes budgets from these losses from now on.
    pub fn set_losses(&mut self, losses: Losses) {
        self.parameters.losses = losses;
        let HelperParameters { helpers, margin, published, .. } = self.parameters;
        let (field, symbols) = (self.code.field(), self.code.symbols() as u16);
        let plan = Plan { field, symbols, losses, helpers, overshoot: 1.0, published, margin };
        self.budget = Budget::new(&plan).helper;
    }

    /// Whether it sends for any of the blocks that it stores.
    pub fn state(&self) -> HelperState {
        let sends = self.blocks.iter().any(|block| block.state == HelperState::Enc);
        if sends { HelperState::Enc } else { HelperState::Idle }
    }

    /// Number of packets sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Number of blocks that it stores.
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

    /// Index of block `number`; a new block replaces the one that was first
    /// received longest ago.
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
            budget: 0.0,
            done: false,
            restarts: 0,
        });
        self.blocks.len() - 1
    }
}

impl Block {
    /// Another packet was received; if `ends`, the grants end with the budget, in
    /// whole packets.
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
            // Both are whole numbers then, except for rounding.
            self.owed = libm::round(self.owed - (self.granted - most)).max(0.0);
            self.granted = most;
        }
    }

    /// Another packet was received, by the rules of [`Helping::Program`].
    fn take_credit_of_program(&mut self, budget: &HelperBudget, received: Received) {
        let rank = self.recoder.rank() as f64;
        if received == Received::Innovative && rank > budget.threshold {
            self.budget += budget.credit;
        }
        if rank < budget.threshold || self.granted > budget.packets {
            return;
        }
        self.state = HelperState::Enc;
        let packets = libm::floor(self.budget).max(1.0);
        self.budget -= packets;
        self.owed += packets;
        self.granted += packets;
    }

    /// Clears the debt; none can arise later.
    fn stop(&mut self) {
        self.state = HelperState::Idle;
        self.owed = 0.0;
        self.done = true;
    }
}
