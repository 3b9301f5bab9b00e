//! Selects the next combination for a neighbour by its reports (lasthop's scheme; the paper's
//! encoder is [`crate::paper`]). Counts are symbols, losses 0 to 1.
//!
//! Symbols are sent uncoded, in order, once each. Symbols known to be lost are sent
//! again before anything new. For every block the sender also estimates the deficit
//! of the receiver: the symbols sent to it, less the rank that it reports, less the
//! expected result of the datagrams in flight, of which a share `p` is lost. A
//! combination of the symbols that may be missing repairs that before it is known
//! which they are. That saves a round trip, and is sometimes needless. So it is
//! done while airtime permits: before new symbols if few wait, more freely if none
//! wait, and not at all while so many wait that each needless combination delays a
//! symbol.
//!
//! A combination does nothing for symbols sent after it. So the deficit is estimated for the whole
//! block, and for the symbols after the end of each combination once that is a fraction of a round
//! trip old: the next combination then also covers others that follow soon. At a recoder the
//! symbols are those that it knows so far, in any order, and its combinations cover everything that
//! it received. Leaves out pacing (`hop`, `pace`).

use crate::coded::{Coded, CodedVector};
use crate::path_state::{Cargo, STARVED};
use crate::wire::{Ack, Enc};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_rlnc::{Code, Density, Encoder, PacketError, Received, Recoder, Symbols};
use lasthop_units::{Duration, Instant};

/// Number of times that a sparse symbol is sent uncoded, at most.
pub(crate) const COPIES_MAX: u8 = 6;

/// Sends blocks to one neighbour.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sender {
    code: Code,
    blocks_max: usize,
    /// Number of the oldest stored block.
    first: u32,
    blocks: VecDeque<SentBlock>,
    /// Symbols to be sent for the first time; and copies of some, with their times.
    fresh: VecDeque<(u32, u16)>,
    copies: VecDeque<(u32, u16, Instant)>,
    /// Pools for future blocks.
    spare: Vec<Pool>,
    recodes: bool,
    /// The receiver's `state`: changes when it lost its memory.
    state: Option<u16>,
    /// The place of the newest acknowledgement in their order, and the time at which it arrived:
    /// those that it overtook have nothing new.
    acknowledged: (u64, Instant),
    /// Cargo of datagrams that a report covers, until an acknowledgement covers its
    /// block: until then it is not known whether it was lost.
    reported: Vec<Cargo>,
    /// Blocks that began anew at the receiver, until they are taken.
    restarted: Vec<u32>,
    /// The first symbol that the receiver does not know; and the average time from
    /// the transmission of a symbol until it and all before it are acknowledged.
    frontier: (u32, usize),
    latency: Option<Duration>,
    /// Time at which symbols are old enough for a combination.
    mend_at: Option<Instant>,
    /// Counters of the sender.
    pub counts: Counts,
}

/// The counters of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub blocks_begun: u64,
    pub blocks_done: u64,
    pub source_sent: u64,
    pub coded_sent: u64,
}

/// The losses and times that a sender plans with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outlook {
    /// Number of the next datagram: the seed of its combination.
    pub number: u32,
    /// Probability that a datagram to the receiver is lost.
    pub loss: f64,
    /// Share of the datagrams lost at the receiver that no helper received either;
    /// 1 without helpers.
    pub unhelped: f64,
    /// Time to wait for the helpers' repairs.
    pub helper_timeout: Duration,
    /// Standard deviations of additional losses to allow for, while airtime is
    /// free.
    pub caution: f64,
    /// Age at which symbols newer than the last combination get another
    /// combination.
    pub gather: Duration,
    /// Whether capacity used now will be missing later
    /// ([`crate::path_state::PathState::is_scarce`]).
    pub is_scarce: bool,
}

/// The symbols that combinations are made of.
#[derive(Clone, Debug, PartialEq)]
enum Pool {
    Own(Box<Encoder>),
    Relayed { symbols: Symbols, known: Vec<bool>, recoder: Box<Recoder> },
}

/// The state of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Symbol {
    is_sent: bool,
    is_known: bool,
    under_way: u8,
    /// Number of copies that are still planned.
    planned: u8,
    /// Number of times that it was sent uncoded.
    times: u8,
    /// Time at which it was first sent.
    sent_at: Instant,
    /// Time at which the last one in flight was received or lost.
    landed: Instant,
    /// Number of combinations that end with it: in flight, and no longer in flight.
    coded_under_way: u16,
    coded_landed: u16,
}

#[derive(Clone, Debug, PartialEq)]
struct SentBlock {
    pool: Pool,
    /// The symbols in the pool; those of a recoder may have gaps.
    symbols: Vec<Symbol>,
    /// Number of combinations in flight.
    coded_under_way: u16,
    /// Rank and number of known symbols as reported by the receiver, and how often
    /// the block began anew there.
    rank: u16,
    known: u16,
    restarts: u8,
    /// Number of symbols that were sent.
    sent: u16,
    /// Whether a symbol may be gone; `false` spares a search.
    has_gone: bool,
    /// Number of its symbols in `fresh`.
    fresh: u16,
    /// Whether a recoder began it anew.
    is_anew: bool,
    /// Time at which its last symbol was sent; helpers start late in a block.
    filled: Option<Instant>,
}

impl Symbol {
    /// Whether it is certainly lost, regardless of combinations.
    fn is_gone(&self) -> bool {
        self.is_sent && !self.is_known && self.under_way == 0
    }
}

/// The estimated deficit of the receiver of a block.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Deficit {
    /// Mean and variance in symbols.
    mean: f64,
    variance: f64,
    /// Both without the combinations in flight.
    mean_uncoded: f64,
    variance_uncoded: f64,
}

impl Sender {
    /// A combination precedes new symbols if the deficit exceeds this, with
    /// [`Sender::CAUTION`] standard deviations added.
    const REPAIR_AT: f64 = 0.5;
    const CAUTION: f64 = 1.0;
    /// The same while airtime is free, with [`Outlook::caution`].
    const IDLE_REPAIR_AT: f64 = 0.5;
    /// Times of the copies of a sparse symbol after the first transmission: 6 ms apart against
    /// independent losses, and the last two much later, after a burst of losses.
    const COPIES: [Duration; COPIES_MAX as usize - 1] = [
        Duration::from_millis(6),
        Duration::from_millis(12),
        Duration::from_millis(18),
        Duration::from_millis(42),
        Duration::from_millis(90),
    ];
    /// A symbol counts as unlucky if it is lost that often with at most this
    /// probability.
    const UNLUCKY: f64 = 0.01;

    /// A sender of the link's own symbols, or, if `recodes`, of a recoder.
    pub fn new(code: Code, blocks_max: u8, recodes: bool) -> Self {
        Self {
            code,
            blocks_max: usize::from(blocks_max),
            first: 0,
            blocks: VecDeque::new(),
            fresh: VecDeque::new(),
            copies: VecDeque::new(),
            spare: Vec::new(),
            recodes,
            state: None,
            acknowledged: (0, Instant::ZERO),
            reported: Vec::new(),
            restarted: Vec::new(),
            frontier: (0, 0),
            latency: None,
            mend_at: None,
            counts: Counts::default(),
        }
    }

    /// Place of the next symbol; `None` while all blocks are full.
    pub fn next_place(&self) -> Option<(u32, u16)> {
        let next = self.first + self.blocks.len() as u32;
        match self.blocks.back() {
            Some(SentBlock { pool: Pool::Own(encoder), .. }) if !encoder.is_full() => {
                Some((next - 1, encoder.len()))
            }
            _ => (self.blocks.len() < self.blocks_max).then_some((next, 0)),
        }
    }

    /// Accepts a symbol for the place of [`Sender::next_place`], to be sent `copies` times with
    /// time in between, because losses come in bursts.
    pub fn push(&mut self, now: Instant, symbol: &[u8], copies: u8) {
        let Some((block, index)) = self.next_place() else { return };
        if index == 0 {
            self.begin();
        }
        let Some(current) = self.blocks.back_mut() else { return };
        let Pool::Own(encoder) = &mut current.pool else { return };
        if encoder.push(symbol).is_err() {
            return;
        }
        current.symbols.push(Symbol { planned: copies.saturating_sub(1), ..Symbol::default() });
        current.fresh += 1;
        self.fresh.push_back((block, index));
        for after in Self::COPIES.into_iter().take(usize::from(copies.saturating_sub(1))) {
            let at = now + after;
            let place = self.copies.partition_point(|&(.., other)| other <= at);
            self.copies.insert(place, (block, index, at));
        }
    }

    fn begin(&mut self) {
        let mut pool = self.spare.pop().unwrap_or_else(|| {
            if self.recodes {
                Pool::Relayed {
                    symbols: Symbols::new(self.code.symbols(), self.code.symbol_bytes()),
                    known: vec![false; self.code.symbols()],
                    recoder: Box::new(Recoder::new(self.code)),
                }
            } else {
                Pool::Own(Box::new(Encoder::new(self.code)))
            }
        });
        let symbols = match &mut pool {
            Pool::Own(encoder) => {
                encoder.clear();
                Vec::with_capacity(self.code.symbols())
            }
            Pool::Relayed { known, recoder, .. } => {
                known.fill(false);
                recoder.clear();
                vec![Symbol::default(); self.code.symbols()]
            }
        };
        self.blocks.push_back(SentBlock {
            pool,
            symbols,
            coded_under_way: 0,
            rank: 0,
            known: 0,
            restarts: 0,
            sent: 0,
            has_gone: false,
            fresh: 0,
            is_anew: false,
            filled: None,
        });
        self.counts.blocks_begun += 1;
    }

    /// Whether a recoder can store a block, or has stored it before.
    pub fn accepts(&self, block: u32) -> bool {
        block.checked_sub(self.first).is_none_or(|at| (at as usize) < self.blocks_max)
    }

    /// Handles a combination that the recoder received. Its block starts if it can be stored.
    pub fn overhear(&mut self, enc: &Enc<'_>, payload: &[u8]) -> Result<Received, PacketError> {
        let Some(at) = enc.block.checked_sub(self.first) else { return Ok(Received::Redundant) };
        if at as usize >= self.blocks_max {
            return Ok(Received::Redundant);
        }
        while self.blocks.len() <= at as usize {
            self.begin();
        }
        match &mut self.blocks[at as usize].pool {
            Pool::Own(_) => Ok(Received::Redundant),
            Pool::Relayed { recoder, .. } => recoder.push(enc.vector, payload),
        }
    }

    /// A recoder decoded a symbol.
    pub fn relay(&mut self, block: u32, index: u16, symbol: &[u8]) {
        let Some(at) = block.checked_sub(self.first) else { return };
        let Some(current) = self.blocks.get_mut(at as usize) else { return };
        let Pool::Relayed { symbols, known, .. } = &mut current.pool else { return };
        if known[usize::from(index)] {
            return;
        }
        symbols.row_mut(usize::from(index)).copy_from_slice(symbol);
        known[usize::from(index)] = true;
        let symbol = &mut current.symbols[usize::from(index)];
        if symbol.is_known {
            // The block began anew, and the receiver kept this symbol. Or that was forged: the
            // symbol counts as sent, and lost once an acknowledgement lacks it.
            symbol.is_sent = true;
            return;
        }
        current.fresh += 1;
        // Many symbols may wait, and a block that began anew holds up the packets of all later ones.
        let at = if current.is_anew {
            self.fresh.partition_point(|&(other, _)| other <= block)
        } else {
            self.fresh.len()
        };
        self.fresh.insert(at, (block, index));
    }

    /// Number of the oldest stored block.
    pub fn oldest(&self) -> u32 {
        self.first
    }

    /// Number of symbols taken so far.
    pub fn taken(&self) -> u64 {
        let full = self.code.symbols() as u64;
        let before = u64::from(self.first) * full;
        let here = self.blocks.iter().map(|block| block.symbols.len() as u64);
        before + here.sum::<u64>()
    }

    /// Forgets blocks below `block`: the receiver has them, or will never get them.
    pub fn forget_below(&mut self, block: u32) {
        while self.first < block {
            match self.blocks.pop_front() {
                Some(old) => {
                    self.spare.push(old.pool);
                    self.first += 1;
                    self.counts.blocks_done += 1;
                }
                None if self.recodes => self.first = block,
                None => break,
            }
        }
        let first = self.first;
        self.fresh.retain(|&(block, _)| block >= first);
        self.copies.retain(|&(block, ..)| block >= first);
    }

    /// Forgets what a recoder has of a block: something in it was forged.
    pub fn restart(&mut self, block: u32) {
        let Some(current) = self.block_mut(block) else { return };
        let Pool::Relayed { known, recoder, .. } = &mut current.pool else { return };
        known.fill(false);
        recoder.clear();
        for symbol in &mut current.symbols {
            *symbol = Symbol { is_known: symbol.is_known, ..Symbol::default() };
        }
        (current.coded_under_way, current.fresh, current.sent) = (0, 0, 0);
        (current.has_gone, current.is_anew, current.filled) = (false, true, None);
        self.fresh.retain(|&(other, _)| other != block);
        self.copies.retain(|&(other, ..)| other != block);
    }

    /// Blocks that began anew at the receiver since the last call.
    pub fn take_restarted(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.restarted)
    }

    /// Handles the receiver's acknowledgement. `number` orders acknowledgements by the time at which
    /// they were sent, as the number of the datagram does on one link. An acknowledgement holds the
    /// receiver's present state and replaces earlier ones, which may have been forged.
    pub fn handle_ack(&mut self, now: Instant, number: u64, ack: &Ack) {
        for block in self.blocks.iter_mut().take(ack.done.saturating_sub(self.first) as usize) {
            block.symbols.iter_mut().for_each(|symbol| symbol.is_known |= symbol.is_sent);
        }
        self.follow_frontier(now);
        // Nothing is done that was not begun, unless this node lost its memory.
        let begun = self.first + self.blocks.len() as u32;
        let is_told_first = self.state.is_none();
        self.forget_below(if is_told_first { ack.done } else { ack.done.min(begun) });
        // A receiver that lost its memory may have begun with lower numbers, and a forged number may
        // be far above the receiver's: what it says later was not overtaken.
        let (newest, newest_at) = self.acknowledged;
        let is_overtaken = number <= newest && now <= newest_at + STARVED;
        if is_overtaken && self.state == Some(ack.state) {
            return;
        }
        self.acknowledged = (number, now);
        let is_new_memory = self.state.replace(ack.state).is_some_and(|state| state != ack.state);
        let covered = if is_new_memory { u32::MAX } else { ack.covers_below() };
        let full = self.code.symbols() as u16;
        let mut reports = ack.blocks.iter().peekable();
        for (number, block) in (self.first..covered).zip(&mut self.blocks) {
            while reports.next_if(|report| report.block < number).is_some() {}
            match reports.next_if(|report| report.block == number) {
                Some(report) => {
                    if report.restarts != block.restarts {
                        block.restarts = report.restarts;
                        self.restarted.push(number);
                    }
                    let is_complete = report.rank >= full;
                    block.learn(report.rank.min(full), |index| is_complete || report.knows(index));
                }
                None if block.rank > 0 => block.learn(0, |_| false),
                None => {}
            }
        }
        self.follow_frontier(now);
        let mut reported = core::mem::take(&mut self.reported);
        reported.retain(|&cargo| {
            let is_covered = cargo.block() < covered;
            if is_covered {
                self.landed(now, cargo);
            }
            !is_covered
        });
        self.reported = reported;
    }

    /// Measures the time of symbols until they and all before them are known.
    fn follow_frontier(&mut self, now: Instant) {
        let symbols = self.code.symbols();
        loop {
            let (block, index) = self.frontier;
            let at = block.checked_sub(self.first).map(|at| at as usize);
            let symbol = at.and_then(|at| self.blocks.get(at)?.symbols.get(index));
            match symbol {
                Some(symbol) if symbol.is_known => {
                    let took = now.saturating_since(symbol.sent_at);
                    let latency = self.latency.unwrap_or(took);
                    self.latency = Some((latency * 63 + took) / 64);
                }
                None if block < self.first => {}
                _ => return,
            }
            self.frontier = match (index + 1 < symbols, block < self.first) {
                (_, true) => (self.first, 0),
                (true, _) => (block, index + 1),
                (false, _) => (block + 1, 0),
            };
        }
    }

    /// Average time until a symbol and all before it are acknowledged.
    pub fn latency(&self) -> Option<Duration> {
        self.latency
    }

    /// A datagram with this cargo was received or lost; the next acknowledgement that
    /// covers its block says which.
    pub fn reported(&mut self, cargo: Cargo) {
        self.reported.push(cargo);
    }

    /// A datagram with this cargo is no longer in flight.
    pub fn landed(&mut self, now: Instant, cargo: Cargo) {
        match cargo {
            Cargo::Source { block, index } => {
                let Some(current) = self.block_mut(block) else { return };
                current.has_gone = true;
                if let Some(symbol) = current.symbols.get_mut(usize::from(index)) {
                    symbol.under_way = symbol.under_way.saturating_sub(1);
                    symbol.landed = now;
                }
            }
            Cargo::Coded { block, last } => {
                if let Some(block) = self.block_mut(block) {
                    block.coded_under_way = block.coded_under_way.saturating_sub(1);
                    if let Some(symbol) = block.symbols.get_mut(usize::from(last)) {
                        symbol.coded_under_way = symbol.coded_under_way.saturating_sub(1);
                        symbol.coded_landed = symbol.coded_landed.saturating_add(1);
                    }
                }
            }
        }
    }

    fn block_mut(&mut self, block: u32) -> Option<&mut SentBlock> {
        self.blocks.get_mut(block.checked_sub(self.first)? as usize)
    }

    fn symbol_mut(&mut self, block: u32, index: u16) -> Option<&mut Symbol> {
        self.block_mut(block)?.symbols.get_mut(usize::from(index))
    }

    /// A repair that must precede new symbols.
    pub fn repair(&mut self, now: Instant, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        while self.copies_at().is_some_and(|at| at <= now) {
            let (block, index, _) = self.copies.pop_front().expect("there is one");
            let Some(symbol) = self.symbol_mut(block, index) else { continue };
            symbol.planned = symbol.planned.saturating_sub(1);
            if symbol.is_sent && !symbol.is_known {
                return self.source(block, index);
            }
        }
        let lost = (self.first..).zip(&mut self.blocks).find_map(|(number, block)| {
            if !block.has_gone {
                return None;
            }
            block.has_gone = block.symbols.iter().any(Symbol::is_gone);
            Some((number, block.unmended(&|symbol| block.is_lost(symbol, now, outlook))?))
        });
        if let Some((number, index)) = lost {
            return self.again(number, index, outlook);
        }
        if outlook.is_scarce {
            return None;
        }
        self.mend(now, outlook, true, usize::MAX, Self::is_due)
    }

    /// Whether a combination precedes new symbols.
    fn is_due(deficit: Deficit) -> bool {
        deficit.mean + Self::CAUTION * libm::sqrt(deficit.variance) > Self::REPAIR_AT
    }

    /// The next new symbol.
    pub fn fresh(&mut self, now: Instant) -> Option<(Coded, Cargo)> {
        let (block, index) = self.fresh.pop_front()?;
        let symbols = self.code.symbols();
        if let Some(symbol) = self.symbol_mut(block, index) {
            symbol.sent_at = now;
        }
        if let Some(block) = self.block_mut(block) {
            block.fresh = block.fresh.saturating_sub(1);
            if usize::from(index) + 1 == symbols {
                block.filled = Some(now);
            }
        }
        self.source(block, index)
    }

    /// Whether a symbol waits to be sent for the first time.
    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Bytes of the symbols that wait to be sent for the first time.
    pub fn fresh_bytes(&self) -> u64 {
        (self.fresh.len() * self.code.symbol_bytes()) as u64
    }

    /// A repair to send while there is nothing else to send.
    pub fn spare_repair(&mut self, now: Instant, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        // The more combinations, the more uncertain their result; that no longer
        // matters once no deficit is likely without them.
        let may_be = |mean: f64, variance: f64| mean + outlook.caution * libm::sqrt(variance);
        let is_due = |deficit: Deficit| {
            may_be(deficit.mean, deficit.variance) > Self::IDLE_REPAIR_AT
                && may_be(deficit.mean_uncoded, deficit.variance_uncoded) > Self::IDLE_REPAIR_AT
        };
        self.mend(now, outlook, false, usize::MAX, is_due)
    }

    /// A repair while all blocks are full: of the older half of them, which hold up the
    /// others.
    pub fn mend_older(&mut self, now: Instant, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        let older = self.blocks.len() / 2;
        self.mend(now, outlook, true, older, Self::is_due)
    }

    /// Returns the time at which helpers will have had time to repair a lost symbol; never without
    /// helpers.
    pub fn helpers_done_at(&self, now: Instant, outlook: &Outlook) -> Instant {
        if outlook.unhelped >= 1.0 {
            return Instant::MAX;
        }
        let ends = self.blocks.iter().flat_map(|block| {
            let is_helped = block.unhelped(outlook) < 1.0;
            let lost = block.symbols.iter().filter(move |symbol| is_helped && symbol.is_gone());
            lost.map(|symbol| block.helped_until(symbol, outlook, false))
        });
        ends.filter(|&end| end > now).min().unwrap_or(Instant::MAX)
    }

    /// Returns the time at which symbols will be old enough for another combination.
    pub fn mend_at(&self) -> Option<Instant> {
        self.mend_at
    }

    /// Whether symbols are old enough now; `true` only once.
    pub fn take_mend(&mut self, now: Instant) -> bool {
        self.mend_at.take_if(|at| *at <= now).is_some()
    }

    /// Returns the time at which the next copy of a symbol is due, if there is one.
    pub fn copies_at(&self) -> Option<Instant> {
        self.copies.front().map(|&(.., at)| at)
    }

    /// Whether the receiver has everything that was sent.
    pub fn is_idle(&self) -> bool {
        self.fresh.is_empty()
            && self.blocks.iter().all(|block| usize::from(block.rank) >= block.sent())
    }

    fn mend(
        &mut self,
        now: Instant,
        outlook: &Outlook,
        goes_on: bool,
        blocks: usize,
        is_due: impl Fn(Deficit) -> bool,
    ) -> Option<(Coded, Cargo)> {
        self.mend_at = None;
        let mut due = None;
        for (at, block) in self.blocks.iter().enumerate().take(blocks) {
            match block.lacks(now, outlook, goes_on, &is_due) {
                Some(time) if time <= now => {
                    due = Some(at);
                    break;
                }
                Some(time) => {
                    self.mend_at = self.mend_at.map_or(Some(time), |at| Some(at.min(time)))
                }
                None => {}
            }
        }
        let at = due?;
        let number = self.first + at as u32;
        let block = &self.blocks[at];
        match block.unmended(&Symbol::is_gone) {
            Some(lost) => self.again(number, lost, outlook),
            None => self.combination(number, outlook),
        }
    }

    /// A lost symbol, uncoded. If it was lost so often that few are, the packets
    /// behind it have been waiting for long: it is sent twice.
    fn again(&mut self, block: u32, index: u16, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        let times = self.symbol_mut(block, index)?.times;
        if times >= 2 && libm::pow(outlook.loss, f64::from(times)) <= Self::UNLUCKY {
            self.copies.push_front((block, index, Instant::ZERO));
        }
        self.source(block, index)
    }

    /// A symbol, uncoded.
    fn source(&mut self, number: u32, index: u16) -> Option<(Coded, Cargo)> {
        let oldest = self.first;
        let block = self.block_mut(number)?;
        let payload = match &block.pool {
            Pool::Own(encoder) => encoder.source(index)?,
            Pool::Relayed { symbols, known, .. } => {
                known.get(usize::from(index)).filter(|&&known| known)?;
                symbols.row(usize::from(index))
            }
        };
        let vector = lasthop_rlnc::Vector::Source(u64::from(index));
        let coded = Coded::new(number, oldest, vector, payload);
        let symbol = block.symbols.get_mut(usize::from(index))?;
        block.sent += u16::from(!symbol.is_sent);
        symbol.is_sent = true;
        symbol.under_way = symbol.under_way.saturating_add(1);
        symbol.times = symbol.times.saturating_add(1);
        self.counts.source_sent += 1;
        Some((coded, Cargo::Source { block: number, index }))
    }

    /// A combination of the symbols that the receiver may lack.
    fn combination(&mut self, number: u32, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        let oldest = self.first;
        let seed = u64::from(outlook.number);
        let block = self.block_mut(number)?;
        let may_lack = |s: &Symbol| s.is_sent && !s.is_known;
        let last = block.symbols.iter().rposition(may_lack).map(|last| last as u16);
        let (vector, payload) = match &mut block.pool {
            Pool::Own(encoder) => {
                let first = block.symbols.iter().position(may_lack)? as u16;
                encoder.coded_range(seed, first, last? - first + 1).ok()?
            }
            Pool::Relayed { recoder, .. } => recoder.recode(seed, Density::DENSE).ok()?,
        };
        let last = last.unwrap_or_default();
        let coded = Coded::new(number, oldest, vector, payload);
        if let CodedVector::Seeded { first, count: 1, .. } = coded.vector {
            // A combination of one symbol is that symbol.
            return self.source(number, first);
        }
        block.coded_under_way += 1;
        if let Some(symbol) = block.symbols.get_mut(usize::from(last)) {
            symbol.coded_under_way = symbol.coded_under_way.saturating_add(1);
        }
        self.counts.coded_sent += 1;
        Some((coded, Cargo::Coded { block: number, last }))
    }
}

impl SentBlock {
    /// Takes what the receiver has: the rank, and which symbols it knows.
    fn learn(&mut self, rank: u16, knows: impl Fn(u16) -> bool) {
        self.rank = rank;
        for (index, symbol) in (0..).zip(&mut self.symbols) {
            let is_known = knows(index);
            self.has_gone |= symbol.is_known && !is_known;
            symbol.is_known = is_known;
        }
        self.known = self.symbols.iter().filter(|symbol| symbol.is_known).count() as u16;
    }

    /// Number of sent symbols that the receiver could know.
    fn sent(&self) -> usize {
        match &self.pool {
            Pool::Own(_) => usize::from(self.sent),
            Pool::Relayed { recoder, .. } => recoder.rank() - usize::from(self.fresh),
        }
    }

    /// Returns the time at which helpers have had time to repair a lost symbol. `goes_on`: whether
    /// a block that is not full continues.
    fn helped_until(&self, symbol: &Symbol, outlook: &Outlook, goes_on: bool) -> Instant {
        match self.filled {
            Some(filled) => symbol.landed.max(filled) + outlook.helper_timeout,
            None if goes_on => Instant::MAX,
            None => symbol.landed + outlook.helper_timeout,
        }
    }

    /// Whether a symbol is certainly lost, and helpers have had time to repair it.
    fn is_lost(&self, symbol: &Symbol, now: Instant, outlook: &Outlook) -> bool {
        symbol.is_gone()
            && (self.unhelped(outlook) >= 1.0 || now >= self.helped_until(symbol, outlook, true))
    }

    /// [`Outlook::unhelped`] for this block: helpers forget one that began anew.
    fn unhelped(&self, outlook: &Outlook) -> f64 {
        if self.restarts == 0 { outlook.unhelped } else { 1.0 }
    }

    /// The lost symbol to send, if combinations received or in flight do not repair all lost ones.
    /// Combinations cover symbols sent before them, so they repair the older ones.
    fn unmended(&self, is_lost: &dyn Fn(&Symbol) -> bool) -> Option<u16> {
        let mut lost = (0..).zip(&self.symbols).filter(|(_, s)| is_lost(s)).map(|(i, _)| i);
        let mending = self.rank.saturating_sub(self.known) + self.coded_under_way;
        let first = lost.nth(usize::from(mending))?;
        Some(if mending == 0 { first } else { lost.last().unwrap_or(first) })
    }

    /// Returns the time at which the deficit is `is_due`: of the whole block now; of the symbols
    /// after the end of a combination, which it does not cover, once the oldest of them is old
    /// enough.
    fn lacks(
        &self,
        now: Instant,
        outlook: &Outlook,
        goes_on: bool,
        is_due: &dyn Fn(Deficit) -> bool,
    ) -> Option<Instant> {
        if self.sent() <= usize::from(self.rank) {
            return None;
        }
        // Combinations received for symbols that are not known; those of helpers may
        // cover any symbol.
        let mended = self.rank.saturating_sub(self.known);
        let unhelped = self.unhelped(outlook);
        let is_helped = unhelped < 1.0;
        let loss = outlook.loss;
        let (mut mean, mut variance) = (0.0, 0.0);
        let (mut under_way, mut landed, mut unknown) = (0u16, 0u16, 0u16);
        let mut oldest: Option<Instant> = None;
        let mut due: Option<Instant> = None;
        let deficit = |mean: f64, variance: f64, under_way: u16, mended: u16| {
            let (mean, coded) = (mean - f64::from(mended), f64::from(under_way));
            Deficit {
                mean: mean - coded * (1.0 - loss),
                variance: variance + coded * loss * (1.0 - loss),
                mean_uncoded: mean,
                variance_uncoded: variance,
            }
        };
        for symbol in self.symbols.iter().rev() {
            if symbol.coded_under_way + symbol.coded_landed > 0 {
                let mended = if is_helped { mended } else { mended.min(landed) };
                if let Some(oldest) = oldest
                    && is_due(deficit(mean, variance, under_way, mended))
                {
                    let at = oldest + outlook.gather;
                    due = Some(due.map_or(at, |due| due.min(at)));
                }
                under_way += symbol.coded_under_way;
                landed += symbol.coded_landed;
            }
            if symbol.is_known || !symbol.is_sent {
                continue;
            }
            unknown += 1;
            oldest = Some(symbol.sent_at);
            if symbol.under_way > 0 {
                let copies = symbol.under_way + symbol.planned;
                let lost = libm::pow(loss, f64::from(copies)) * unhelped;
                mean += lost;
                variance += lost * (1.0 - lost);
            } else if is_helped && now < self.helped_until(symbol, outlook, goes_on) {
                mean += unhelped;
            } else {
                mean += 1.0;
            }
        }
        // Combinations that a recoder received are not counted by symbol.
        let beyond = (self.sent() - usize::from(self.known)) as f64 - f64::from(unknown);
        if is_due(deficit(mean + beyond, variance, self.coded_under_way, mended)) {
            Some(now)
        } else {
            due
        }
    }
}
