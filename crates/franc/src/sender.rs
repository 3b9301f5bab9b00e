//! Which combination goes next, to a neighbour that reports what it has (ours; the paper's
//! encoder is [`crate::paper`]).
//!
//! Symbols go out as they are, in order, each once. What is known to be lost goes again
//! before anything new. For every block the sender also reckons what the receiver will
//! lack: the symbols it was sent, less the rank it reports, less what is expected of the
//! datagrams in flight, of which a share `p` is lost; a combination of what may be missing
//! makes up for that before anybody can know which symbols they are. That saves a round
//! trip, and now and then it is for nothing. So it is done while the air suffices for it:
//! before new symbols if few wait, more freely if none does, and not at all while so many
//! wait that each combination for nothing is a symbol less.
//!
//! A combination does nothing for symbols that were sent after it. What the receiver will lack
//! is therefore reckoned for the whole block, and for what lies behind the end of each
//! combination once that is a part of a round trip old: others that follow soon are covered too.
//!
//! At a recoder the symbols are those it knows so far, in whatever order, and its
//! combinations are of everything that it received.

use crate::coded::{Coded, CodedVector};
use crate::hop::Cargo;
use crate::wire::{Ack, Enc};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_rlnc::{Code, Density, Encoder, PacketError, Received, Recoder, Symbols};
use lasthop_units::{Duration, Instant};

/// Sends blocks to one neighbour.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sender {
    code: Code,
    blocks_max: usize,
    /// Of the oldest block that is here.
    first: u32,
    blocks: VecDeque<Block>,
    /// Symbols to be sent for the first time, and copies of some, from a time on.
    fresh: VecDeque<(u32, u16)>,
    copies: VecDeque<(u32, u16, Instant)>,
    /// Pools for blocks to come.
    spare: Vec<Pool>,
    recodes: bool,
    /// The receiver's memory.
    state: Option<u16>,
    /// The first symbol that the receiver does not know, and what knowing all before took
    /// on average, from their sending to the acknowledgement.
    frontier: (u32, usize),
    latency: Option<Duration>,
    /// When symbols are old enough for a combination.
    mend_at: Option<Instant>,
    /// Counters.
    pub counts: Counts,
}

/// What a sender did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub blocks_begun: u64,
    pub blocks_done: u64,
    pub source_sent: u64,
    pub coded_sent: u64,
}

/// The losses that a sender reckons with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outlook {
    /// The next datagram's number: the seed of its combination.
    pub number: u32,
    /// Of a datagram to the receiver.
    pub loss: f64,
    /// The share of what the receiver did not hear that no helper heard either; 1 without.
    pub unhelped: f64,
    /// How long helpers are waited for.
    pub patience: Duration,
    /// Standard deviations by which losses may be more than expected, where the air is free.
    pub caution: f64,
    /// Symbols behind the last combination are so old before another one is made for them.
    pub gather: Duration,
    /// What goes now is missing later ([`crate::hop::Hop::is_scarce`]).
    pub is_scarce: bool,
}

/// What combinations are made of.
#[derive(Clone, Debug, PartialEq)]
enum Pool {
    Own(Box<Encoder>),
    Relayed { symbols: Symbols, known: Vec<bool>, recoder: Box<Recoder> },
}

/// A symbol on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Symbol {
    is_sent: bool,
    is_known: bool,
    under_way: u8,
    /// Copies that are to follow.
    planned: u8,
    /// How often it was sent as it is.
    times: u8,
    /// When it was first sent.
    sent_at: Instant,
    /// When the last one in flight came or was lost.
    landed: Instant,
    /// Combinations that reach up to it and no further: in flight, and those that were.
    coded_under_way: u16,
    coded_landed: u16,
}

#[derive(Clone, Debug, PartialEq)]
struct Block {
    pool: Pool,
    /// Those that the pool has; a recoder's may have gaps.
    symbols: Vec<Symbol>,
    /// Combinations in flight.
    coded_under_way: u16,
    /// What the receiver said.
    rank: u16,
    known: u16,
    /// Symbols in `fresh`.
    fresh: u16,
    /// When its last symbol went out; helpers begin late in a block.
    filled: Option<Instant>,
}

impl Symbol {
    /// Lost for certain, whatever combinations make of it.
    fn is_gone(&self) -> bool {
        self.is_sent && !self.is_known && self.under_way == 0
    }
}

/// What the receiver of a block will lack.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Deficit {
    /// The mean, and its variance.
    mean: f64,
    variance: f64,
    /// Both without the combinations in flight.
    mean_uncoded: f64,
    variance_uncoded: f64,
}

impl Sender {
    /// A combination goes before new symbols when so much will be lacking, if chance makes
    /// it so many standard deviations more than expected.
    const REPAIR_AT: f64 = 0.5;
    const CAUTION: f64 = 1.0;
    /// When the air is free, with [`Outlook::caution`].
    const IDLE_REPAIR_AT: f64 = 0.5;
    /// Copies of a sparse symbol are so far apart.
    const APART: Duration = Duration::from_millis(6);
    /// As many symbols, or fewer, are lost as often as an unlucky one.
    const UNLUCKY: f64 = 0.01;

    /// The source of a link's symbols, or a recoder's sender.
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
            frontier: (0, 0),
            latency: None,
            mend_at: None,
            counts: Counts::default(),
        }
    }

    /// Where the next symbol will be; `None` while all blocks are full.
    pub fn room(&self) -> Option<(u32, u16)> {
        let next = self.first + self.blocks.len() as u32;
        match self.blocks.back() {
            Some(Block { pool: Pool::Own(encoder), .. }) if !encoder.is_full() => {
                Some((next - 1, encoder.len()))
            }
            _ => (self.blocks.len() < self.blocks_max).then_some((next, 0)),
        }
    }

    /// Takes a symbol where [`Sender::room`] said, to be sent `copies` times, apart: losses
    /// come in bursts.
    pub fn push(&mut self, now: Instant, symbol: &[u8], copies: u8) {
        let Some((block, index)) = self.room() else { return };
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
        let copies = (1..copies).map(|copy| (block, index, now + Self::APART * u64::from(copy)));
        self.copies.extend(copies);
    }

    fn begin(&mut self) {
        let mut pool = self.spare.pop().unwrap_or_else(|| match self.recodes {
            false => Pool::Own(Box::new(Encoder::new(self.code))),
            true => Pool::Relayed {
                symbols: Symbols::new(self.code.symbols(), self.code.symbol_bytes()),
                known: vec![false; self.code.symbols()],
                recoder: Box::new(Recoder::new(self.code)),
            },
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
        let (coded_under_way, rank, known, fresh) = (0, 0, 0, 0);
        self.blocks.push_back(Block {
            pool,
            symbols,
            coded_under_way,
            rank,
            known,
            fresh,
            filled: None,
        });
        self.counts.blocks_begun += 1;
    }

    /// Whether a recoder has room for a block, or had it.
    pub fn accepts(&self, block: u32) -> bool {
        block.checked_sub(self.first).is_none_or(|at| (at as usize) < self.blocks_max)
    }

    /// A recoder heard a combination. Its block begins if there is room for it.
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

    /// A recoder knows a symbol.
    pub fn relay(&mut self, block: u32, index: u16, symbol: &[u8]) {
        let Some(at) = block.checked_sub(self.first) else { return };
        let Some(current) = self.blocks.get_mut(at as usize) else { return };
        let Pool::Relayed { symbols, known, .. } = &mut current.pool else { return };
        if known[usize::from(index)] {
            return;
        }
        symbols.row_mut(usize::from(index)).copy_from_slice(symbol);
        known[usize::from(index)] = true;
        current.fresh += 1;
        self.fresh.push_back((block, index));
    }

    /// The oldest block that is here.
    pub fn oldest(&self) -> u32 {
        self.first
    }

    /// Symbols taken so far, from the first on.
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

    /// Takes what the receiver has. Returns whether anything is new.
    pub fn handle_ack(&mut self, now: Instant, ack: &Ack) {
        if self.state.is_some_and(|state| state != ack.state) {
            for block in &mut self.blocks {
                (block.rank, block.known) = (0, 0);
                block.symbols.iter_mut().for_each(|symbol| symbol.is_known = false);
            }
        }
        self.state = Some(ack.state);
        for block in self.blocks.iter_mut().take(ack.done.saturating_sub(self.first) as usize) {
            block.symbols.iter_mut().for_each(|symbol| symbol.is_known |= symbol.is_sent);
        }
        self.follow_frontier(now);
        self.forget_below(ack.done);
        for report in &ack.blocks {
            let at = report.block.checked_sub(self.first);
            let Some(block) = at.and_then(|at| self.blocks.get_mut(at as usize)) else { continue };
            if report.rank < block.rank {
                // Older than one that was taken.
                continue;
            }
            block.rank = report.rank.min(self.code.symbols() as u16);
            let is_complete = usize::from(block.rank) == self.code.symbols();
            for (index, symbol) in block.symbols.iter_mut().enumerate() {
                symbol.is_known |= is_complete || report.knows(index as u16);
            }
            block.known = block.symbols.iter().filter(|symbol| symbol.is_known).count() as u16;
        }
        self.follow_frontier(now);
    }

    /// Measures how long symbols took until all before them were known too.
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

    /// What it takes on average until a symbol and all before it are acknowledged.
    pub fn latency(&self) -> Option<Duration> {
        self.latency
    }

    /// A datagram is in flight no longer.
    pub fn landed(&mut self, now: Instant, cargo: Cargo) {
        match cargo {
            Cargo::Source { block, index } => {
                if let Some(symbol) = self.symbol_mut(block, index) {
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

    fn block_mut(&mut self, block: u32) -> Option<&mut Block> {
        self.blocks.get_mut(block.checked_sub(self.first)? as usize)
    }

    fn symbol_mut(&mut self, block: u32, index: u16) -> Option<&mut Symbol> {
        self.block_mut(block)?.symbols.get_mut(usize::from(index))
    }

    /// A repair that must go before anything new.
    pub fn repair(&mut self, now: Instant, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        while self.copies_at().is_some_and(|at| at <= now) {
            let (block, index, _) = self.copies.pop_front().expect("there is one");
            let Some(symbol) = self.symbol_mut(block, index) else { continue };
            symbol.planned = symbol.planned.saturating_sub(1);
            if symbol.is_sent && !symbol.is_known {
                return self.source(block, index);
            }
        }
        let lost = (self.first..).zip(&self.blocks).find_map(|(number, block)| {
            Some((number, block.unmended(&|symbol| block.is_lost(symbol, now, outlook))?))
        });
        if let Some((number, index)) = lost {
            return self.again(number, index, outlook);
        }
        if outlook.is_scarce {
            return None;
        }
        let is_due = |deficit: Deficit| {
            deficit.mean + Self::CAUTION * libm::sqrt(deficit.variance) > Self::REPAIR_AT
        };
        self.mend(now, outlook, true, is_due)
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

    /// What waits to be sent for the first time.
    pub fn fresh_bytes(&self) -> u64 {
        (self.fresh.len() * self.code.symbol_bytes()) as u64
    }

    /// A repair when there is nothing else to send.
    pub fn spare_repair(&mut self, now: Instant, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        // Combinations are as uncertain as they are many; once nothing is likely to lack
        // without them, that matters no more.
        let may_be = |mean: f64, variance: f64| mean + outlook.caution * libm::sqrt(variance);
        let is_due = |deficit: Deficit| {
            may_be(deficit.mean, deficit.variance) > Self::IDLE_REPAIR_AT
                && may_be(deficit.mean_uncoded, deficit.variance_uncoded) > Self::IDLE_REPAIR_AT
        };
        self.mend(now, outlook, false, is_due)
    }

    /// When helpers will have had their time with something that was lost; never without
    /// helpers.
    pub fn patience_ends(&self, now: Instant, outlook: &Outlook) -> Instant {
        if outlook.unhelped >= 1.0 {
            return Instant::MAX;
        }
        let ends = self.blocks.iter().flat_map(|block| {
            let lost = block.symbols.iter().filter(|symbol| symbol.is_gone());
            lost.map(|symbol| block.helped_until(symbol, outlook, false))
        });
        ends.filter(|&end| end > now).min().unwrap_or(Instant::MAX)
    }

    /// When symbols will be old enough for another combination.
    pub fn mend_at(&self) -> Option<Instant> {
        self.mend_at
    }

    /// Whether symbols are old enough now; not a second time.
    pub fn take_mend(&mut self, now: Instant) -> bool {
        self.mend_at.take_if(|at| *at <= now).is_some()
    }

    /// When the next copy of a symbol goes, if one does.
    pub fn copies_at(&self) -> Option<Instant> {
        self.copies.front().map(|&(.., at)| at)
    }

    /// The receiver has everything that was sent.
    pub fn is_idle(&self) -> bool {
        self.fresh.is_empty()
            && self.blocks.iter().all(|block| usize::from(block.rank) >= block.sent())
    }

    fn mend(
        &mut self,
        now: Instant,
        outlook: &Outlook,
        goes_on: bool,
        is_due: impl Fn(Deficit) -> bool,
    ) -> Option<(Coded, Cargo)> {
        self.mend_at = None;
        let mut due = None;
        for (at, block) in self.blocks.iter().enumerate() {
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

    /// A symbol that was lost, as it is. What waits behind one that was lost so often that
    /// few are, waits for long already: it is sent twice.
    fn again(&mut self, block: u32, index: u16, outlook: &Outlook) -> Option<(Coded, Cargo)> {
        let times = self.symbol_mut(block, index)?.times;
        if times >= 2 && libm::pow(outlook.loss, f64::from(times)) <= Self::UNLUCKY {
            self.copies.push_front((block, index, Instant::ZERO));
        }
        self.source(block, index)
    }

    /// A symbol as it is.
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
        symbol.is_sent = true;
        symbol.under_way = symbol.under_way.saturating_add(1);
        symbol.times = symbol.times.saturating_add(1);
        self.counts.source_sent += 1;
        Some((coded, Cargo::Source { block: number, index }))
    }

    /// A combination of what the receiver may lack.
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
            // A combination of one symbol is the symbol.
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

impl Block {
    /// What the receiver could know of what was sent.
    fn sent(&self) -> usize {
        match &self.pool {
            Pool::Own(_) => self.symbols.iter().filter(|symbol| symbol.is_sent).count(),
            Pool::Relayed { recoder, .. } => recoder.rank() - usize::from(self.fresh),
        }
    }

    /// When helpers have had their time with a symbol that was lost. `goes_on`: the block
    /// does, if it is not full.
    fn helped_until(&self, symbol: &Symbol, outlook: &Outlook, goes_on: bool) -> Instant {
        match self.filled {
            Some(filled) => symbol.landed.max(filled) + outlook.patience,
            None if goes_on => Instant::MAX,
            None => symbol.landed + outlook.patience,
        }
    }

    /// A symbol that is lost for certain, and that helpers had their time with.
    fn is_lost(&self, symbol: &Symbol, now: Instant, outlook: &Outlook) -> bool {
        symbol.is_gone()
            && (outlook.unhelped >= 1.0 || now >= self.helped_until(symbol, outlook, true))
    }

    /// Of the symbols that are lost the one to send, if combinations that are there or under
    /// way do not mend them all. Those reach up to what was sent when they were made: they
    /// mend the older ones.
    fn unmended(&self, is_lost: &dyn Fn(&Symbol) -> bool) -> Option<u16> {
        let mut lost = (0..).zip(&self.symbols).filter(|(_, s)| is_lost(s)).map(|(i, _)| i);
        let mending = self.rank.saturating_sub(self.known) + self.coded_under_way;
        let first = lost.nth(usize::from(mending))?;
        Some(if mending == 0 { first } else { lost.last().unwrap_or(first) })
    }

    /// When what will lack is `is_due`: of the whole block now, of the symbols behind the end of
    /// a combination, which it does nothing for, once the oldest of them is old enough.
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
        // Combinations that came and mend what is not known; what helpers sent reaches anywhere.
        let mended = self.rank.saturating_sub(self.known);
        let is_helped = outlook.unhelped < 1.0;
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
                let lost = libm::pow(loss, f64::from(copies)) * outlook.unhelped;
                mean += lost;
                variance += lost * (1.0 - lost);
            } else if is_helped && now < self.helped_until(symbol, outlook, goes_on) {
                mean += outlook.unhelped;
            } else {
                mean += 1.0;
            }
        }
        // What a recoder knows is not counted by symbols.
        let beyond = (self.sent() - usize::from(self.known)) as f64 - f64::from(unknown);
        match is_due(deficit(mean + beyond, variance, self.coded_under_way, mended)) {
            true => Some(now),
            false => due,
        }
    }
}
