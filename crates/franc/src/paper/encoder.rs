//! The encoder (figure 4). Each symbol that is added increases the packets owed by
//! a credit, as does each timeout; packets that are owed are sent.
//!
//! In addition to the text ([`Spending::Text`]): when a block is full, the debt is increased to the
//! block's budget and to whole packets (credits alone are too little if the helper starts at once).
//! The authors' programs have credits alone. A timeout grants one credit, as in the text and in the
//! authors' program of January 2014 (netmix 902fc60), or as many packets as
//! [`PaperParameters::timeout_packets`] says: five in the program of March 2014 (94897df). Leaves
//! out several blocks in flight, and packets that these programs lose where a socket is full.

use super::PaperParameters;
use crate::budget::Budget;
use crate::coded::Coded;
use crate::config::{Losses, Spending, WaitStart};
use crate::wire::{Ack, BLOCK_MAX};
use alloc::collections::VecDeque;
use lasthop_rlnc::{Code, Density, SymbolError, Vector};
use lasthop_units::{Instant, Machine, Stream};

/// The state of the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Packets are owed.
    Enc,
    /// All packets owed were sent; waits for an acknowledgement.
    Wait {
        /// End of the wait.
        until: Instant,
    },
    /// The destination has everything.
    Idle,
}

/// Why the encoder asks to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderReason {
    /// No acknowledgement arrived in time.
    EncoderTimeout,
}

/// An event that the encoder reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderEvent {
    /// The destination has a block.
    BlockDone {
        /// Number of the block.
        block: u32,
        /// Number of packets that the encoder sent for it.
        transmissions: u32,
        /// Number of timeouts while it was coded.
        timeouts: u32,
    },
}

/// The counters of the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Number of timeouts.
    pub timeouts: u64,
    /// Number of uncoded symbols sent.
    pub source_sent: u64,
    /// Number of combinations sent.
    pub coded_sent: u64,
    /// Number of blocks that the destination has.
    pub blocks_done: u64,
}

/// Encodes one block after the other.
///
/// The encoder sends what the budget of a block grants, and waits:
///
/// ```
/// use lasthop_franc::config::{Losses, Spending, WaitStart};
/// use lasthop_franc::paper::{Encoder, PaperParameters};
/// use lasthop_rlnc::{Code, Field};
/// use lasthop_units::{Duration, Instant, Probability, Seed};
///
/// let half = Probability::new(0.5).expect("between 0 and 1");
/// let parameters = PaperParameters {
///     losses: Losses { e1: half, e2: half, e3: half },
///     helpers: 0,
///     overshoot: 1.0,
///     margin: None,
///     timeout: Duration::from_millis(20),
///     systematic: false,
///     timeout_packets: None,
///     spend: Spending::Text,
///     wait: WaitStart::Text,
/// };
/// let code = Code::new(Field::Gf256, 8, 100)?;
/// let mut encoder = Encoder::new(code, &parameters, Seed::new(1, 0).stream("encoder"));
/// for symbol in 0..8 {
///     encoder.push(Instant::ZERO, &[symbol; 100])?;
/// }
/// // Half of the packets are lost: twice as many as symbols are sent.
/// let mut sent = 0;
/// while encoder.poll_transmit(Instant::ZERO).is_some() {
///     sent += 1;
/// }
/// assert_eq!(sent, 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    parameters: PaperParameters,
    budget: Budget,
    stream: Stream,
    code: lasthop_rlnc::Encoder,
    block: u32,
    state: State,
    /// Packets owed, and granted for this block so far.
    owed: f64,
    granted: f64,
    /// Credits that are kept for the end of the block.
    saved: f64,
    /// Number of symbols that were sent uncoded.
    sent_as_is: u16,
    transmissions: u32,
    timeouts: u32,
    counters: Counters,
    events: VecDeque<EncoderEvent>,
}

/// Largest number of events that wait; further events are discarded.
const EVENTS_MAX: usize = 64;

impl Encoder {
    /// An encoder of blocks of `code` from number 0 on; seeds of coefficients are
    /// drawn from `stream`.
    pub fn new(code: Code, parameters: &PaperParameters, stream: Stream) -> Self {
        Self {
            parameters: *parameters,
            budget: Budget::new(&parameters.plan(code)),
            stream,
            code: lasthop_rlnc::Encoder::new(code),
            block: 0,
            state: State::Idle,
            owed: 0.0,
            granted: 0.0,
            saved: 0.0,
            sent_as_is: 0,
            transmissions: 0,
            timeouts: 0,
            counters: Counters::default(),
            events: VecDeque::new(),
        }
    }

    /// Block and index of the next symbol; `None` if the block is full until an
    /// acknowledgement arrives, or for good after block [`BLOCK_MAX`].
    pub fn next_place(&self) -> Option<(u32, u16)> {
        let has_space = !self.code.is_full() && self.block < BLOCK_MAX;
        has_space.then(|| (self.block, self.code.len()))
    }

    /// The current block; the destination has all blocks before it.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// Adds the next symbol.
    ///
    /// # Errors
    /// If the block is full or the symbol is too long.
    pub fn push(&mut self, _now: Instant, symbol: &[u8]) -> Result<(), SymbolError> {
        self.code.push(symbol)?;
        let credit = self.budget.source_credit;
        match self.parameters.spend {
            Spending::Text => {
                self.grant(credit);
                if self.code.is_full() {
                    self.grant((self.budget.source - self.granted).max(0.0));
                    self.owed = libm::ceil(self.owed);
                }
            }
            Spending::January => self.grant(credit),
            Spending::March if self.code.is_full() => {
                let saved = core::mem::take(&mut self.saved);
                self.grant(credit + saved);
            }
            Spending::March => {
                self.saved += credit - 1.0;
                self.grant(1.0);
            }
        }
        Ok(())
    }

    /// Returns the next packet to send, if one is owed.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Coded> {
        if self.state != State::Enc {
            return None;
        }
        let coded = self.next_packet();
        self.transmissions += 1;
        self.owed -= 1.0;
        if self.owed < 1.0 {
            self.state = State::Wait { until: now + self.parameters.timeout };
        }
        Some(coded)
    }

    /// Handles an acknowledgement.
    pub fn handle_ack(&mut self, _now: Instant, ack: &Ack) {
        let report = ack.blocks.iter().find(|report| report.block == self.block);
        let rank = report.map(|report| usize::from(report.rank));
        if ack.done > self.block || rank == Some(self.code.code().symbols()) {
            self.next_block();
        } else if rank == Some(usize::from(self.code.len())) {
            self.owed = match self.parameters.spend {
                Spending::Text => 0.0,
                // Parts of a packet remain in the budget.
                Spending::January | Spending::March => self.owed - libm::floor(self.owed),
            };
            self.sent_as_is = self.code.len();
            self.state = State::Idle;
        }
    }

    /// Handles the arrival of a datagram, whatever is in it: the wait begins anew, if it is one of
    /// [`WaitStart::Program`].
    pub fn handle_arrival(&mut self, now: Instant) {
        if let (WaitStart::Program, State::Wait { until }) = (self.parameters.wait, &mut self.state)
        {
            *until = now + self.parameters.timeout;
        }
    }

    /// Computes budgets from these losses from now on.
    pub fn set_losses(&mut self, losses: Losses) {
        self.parameters.losses = losses;
        self.budget = Budget::new(&self.parameters.plan(self.code.code()));
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<EncoderEvent> {
        self.events.pop_front()
    }

    /// The state of the encoder.
    pub fn state(&self) -> State {
        self.state
    }

    /// The counters of the encoder.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Increases the packets owed.
    fn grant(&mut self, packets: f64) {
        self.granted += packets;
        self.owed += packets;
        if self.owed >= 1.0 {
            self.state = State::Enc;
        }
    }

    /// An uncoded symbol, or a combination of all symbols.
    fn next_packet(&mut self) -> Coded {
        let block = self.block;
        if self.parameters.systematic && self.sent_as_is < self.code.len() {
            let index = self.sent_as_is;
            self.sent_as_is += 1;
            self.counters.source_sent += 1;
            let symbol = self.code.source(index).expect("it was added");
            return Coded::new(block, block, Vector::Source(u64::from(index)), symbol);
        }
        self.counters.coded_sent += 1;
        let seed = self.stream.next_u64() >> 32;
        let coded = self.code.coded(seed, Density::DENSE);
        let (vector, payload) = coded.expect("packets are owed for symbols only");
        Coded::new(block, block, vector, payload)
    }

    fn next_block(&mut self) {
        let Self { block, transmissions, timeouts, .. } = *self;
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(EncoderEvent::BlockDone { block, transmissions, timeouts });
        }
        self.counters.blocks_done += 1;
        self.block = block.saturating_add(1);
        self.code.clear();
        self.state = State::Idle;
        (self.owed, self.granted, self.saved) = (0.0, 0.0, 0.0);
        (self.sent_as_is, self.transmissions, self.timeouts) = (0, 0, 0);
    }
}

impl Machine for Encoder {
    type Reason = EncoderReason;

    fn poll_timeout(&self) -> Option<(Instant, EncoderReason)> {
        match self.state {
            State::Wait { until } => Some((until, EncoderReason::EncoderTimeout)),
            State::Enc | State::Idle => None,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if matches!(self.state, State::Wait { until } if now >= until) {
            self.timeouts += 1;
            self.counters.timeouts += 1;
            // At least one packet: a credit is one or more.
            let packets = self.parameters.timeout_packets.map(f64::from);
            self.grant(packets.unwrap_or(self.budget.source_credit));
        }
    }
}
