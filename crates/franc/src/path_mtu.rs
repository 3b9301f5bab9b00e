//! The longest datagram that the path carries: datagram packetization layer path MTU discovery
//! (RFC 8899). Padded pulses are the probes, so that nothing is lost with them. Each pulse of
//! the other end says, sealed, how long the longest datagram was that came lately: one as long
//! as a probe confirms it, and if all that come are shorter than many that were sent, the path
//! has become narrower.
//!
//! Differences: the first size is confirmed by what is sent with it; a path that carries less
//! than [`BASE`] is searched below it, too; the search is begun again after a minute.

use crate::wire;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// What is sent before more is confirmed: the base of RFC 8899, 5.1.2.
const BASE: u16 = 1_200;
/// The least that is sent: a datagram that begins a session has come through.
const FLOOR: u16 = wire::CONTROL_BYTES as u16;
/// The search ends when it is as exact as this.
const EXACT: u16 = 8;
/// When it is begun again, for a path that has become wider (PMTU_RAISE_TIMER).
const RAISE: Duration = Duration::from_secs(60);
/// A size fails if so many probes of it are not heard of (MAX_PROBES), more where they may all
/// have been lost by a chance of this.
const PROBES_MIN: usize = 3;
const PROBES_MAX: usize = 24;
const BY_CHANCE: f64 = 1e-3;
/// Probes of one size take so many times as long as an answer at least.
const ANSWERS: u64 = 3;
/// An answer takes a round trip and this, for which a pulse is held back at most.
const ANSWER_BEYOND: Duration = Duration::from_millis(100);
/// What was sent in so long is held against what is said to have come, until as long after
/// an answer.
const WATCH: Duration = Duration::from_millis(600);
/// But for less than so many pulses.
const WATCH_PULSES: u32 = 4;
/// How long a receiver takes back what it says, from once to twice.
const LATELY: Duration = Duration::from_millis(300);

/// How answers come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Answers {
    /// A probe or its answer is lost, 0 to 1.
    pub loss: f64,
    /// How long they take, late ones too.
    pub round_trip: Duration,
}

/// The search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathMtu {
    /// What this node's interface carries, in bytes of a datagram.
    max: u16,
    /// What is known to come, or taken for granted.
    confirmed: u16,
    /// The shortest that does not; `max + 1` before there is one.
    failed: u16,
    probing: Option<Probing>,
    /// When the search is begun again.
    raise_at: Instant,
    watch: Watch,
    /// Datagrams that were sent in this session may be too long.
    is_narrower: bool,
    /// What the search ended with last.
    found: u16,
}

/// One size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Probing {
    bytes: u16,
    /// What comes although this size may not, if it was `confirmed`.
    instead: Option<u16>,
    sent: usize,
    next_at: Instant,
}

/// What was sent, and what came.
#[derive(Clone, Debug, PartialEq)]
struct Watch {
    began: Instant,
    /// The longest that were sent, the longest first.
    sent: Vec<u16>,
    came: u16,
    pulses: u32,
}

impl Watch {
    fn new(now: Instant) -> Self {
        Self { began: now, sent: Vec::new(), came: 0, pulses: 0 }
    }
}

impl PathMtu {
    /// For datagrams of at most `max` bytes.
    pub fn new(max: u16, now: Instant) -> Self {
        Self {
            max,
            confirmed: max.min(BASE),
            failed: max.saturating_add(1),
            probing: None,
            raise_at: Instant::MAX,
            watch: Watch::new(now),
            is_narrower: false,
            found: max,
        }
    }

    /// The same for a session that follows. What was probed in the last one is probed anew:
    /// the other end may not have heard the end of it.
    pub fn inherit(&mut self, before: &Self, now: Instant) {
        let watch = Watch::new(now);
        *self = Self { probing: None, watch, is_narrower: false, ..before.clone() };
    }

    /// The longest datagram that may be sent, in bytes.
    pub fn limit(&self) -> u16 {
        self.confirmed
    }

    /// Datagrams of this session can be too long for the path.
    pub fn is_narrower(&self) -> bool {
        self.is_narrower
    }

    /// What the search ended with, if that is new: at first, if it is not all that this node's
    /// interface carries.
    pub fn found(&mut self) -> Option<u16> {
        if !self.is_over() || self.found == self.confirmed {
            return None;
        }
        self.found = self.confirmed;
        Some(self.found)
    }

    /// Nothing is left to be probed.
    fn is_over(&self) -> bool {
        self.probing.is_none() && self.next_size().is_none() && !self.is_narrower
    }

    /// When [`PathMtu::probe`] has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.probing {
            Some(probing) => Some(probing.next_at),
            None if self.next_size().is_some() => Some(Instant::ZERO),
            None => Some(self.raise_at).filter(|&at| at < Instant::MAX),
        }
    }

    /// The length of a probe that is to be sent now.
    pub fn probe(&mut self, now: Instant, answers: Answers) -> Option<u16> {
        let count = probes(answers.loss);
        if self.probing.is_some_and(|probing| probing.next_at <= now && probing.sent >= count) {
            self.fail(now);
        }
        if self.probing.is_none() && now >= self.raise_at && !self.is_narrower {
            (self.failed, self.raise_at) = (self.max.saturating_add(1), Instant::MAX);
        }
        if self.probing.is_none() {
            match self.next_size() {
                Some(bytes) => {
                    self.probing = Some(Probing { bytes, instead: None, sent: 0, next_at: now });
                }
                None => self.settle(now),
            }
        }
        let probing = self.probing.as_mut().filter(|probing| probing.next_at <= now)?;
        probing.sent += 1;
        let answer = answers.round_trip + ANSWER_BEYOND;
        // The last one has the time of an answer, however many there are.
        probing.next_at = match probing.sent < count {
            true => now + answer * ANSWERS / count as u64,
            false => now + answer * 2,
        };
        Some(probing.bytes)
    }

    /// The size that is to be probed next; `None` once the search is over.
    fn next_size(&self) -> Option<u16> {
        let is_searched = self.raise_at == Instant::MAX && !self.is_narrower;
        if !is_searched || self.failed <= self.confirmed.saturating_add(EXACT) {
            return None;
        }
        Some(if self.failed > self.max {
            self.max
        } else if self.confirmed < BASE && BASE < self.failed {
            BASE
        } else {
            self.confirmed.midpoint(self.failed)
        })
    }

    /// The size that is probed does not come.
    fn fail(&mut self, now: Instant) {
        let Some(probing) = self.probing.take() else { return };
        self.failed = probing.bytes;
        if let Some(instead) = probing.instead {
            self.confirmed = instead;
            self.is_narrower = true;
            self.raise_at = Instant::MAX;
            self.watch = Watch::new(now);
        }
        self.settle(now);
    }

    /// A search that is over is begun again in a while.
    fn settle(&mut self, now: Instant) {
        if self.is_over() && self.raise_at == Instant::MAX && self.confirmed < self.max {
            self.raise_at = now + RAISE;
        }
    }

    /// A datagram with cargo of this length left.
    pub fn sent(&mut self, now: Instant, bytes: usize) {
        let watch = &mut self.watch;
        if now >= watch.began + WATCH {
            return;
        }
        let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        let at = watch.sent.partition_point(|&longer| longer >= bytes);
        if at < PROBES_MAX {
            watch.sent.truncate(PROBES_MAX - 1);
            watch.sent.insert(at, bytes);
        }
    }

    /// The other end says how long the longest datagram was that came lately.
    pub fn heard(&mut self, now: Instant, longest: u16, answers: Answers) {
        if longest >= self.failed {
            // It was only late.
            self.failed = self.max.saturating_add(1);
            self.confirmed = self.confirmed.max(longest.min(self.max));
            (self.probing, self.raise_at, self.is_narrower) = (None, Instant::MAX, false);
        }
        let is_confirmed = |probing: &Probing| longest >= probing.bytes;
        if let Some(probing) = self.probing.filter(is_confirmed) {
            self.probing = None;
            if probing.instead.is_none() {
                self.confirmed = longest.min(self.max);
            }
            self.watch = Watch::new(now);
            self.settle(now);
        }
        let watch = &mut self.watch;
        watch.came = watch.came.max(longest);
        watch.pulses += 1;
        if watch.pulses < WATCH_PULSES
            || now < watch.began + WATCH * 2 + answers.round_trip + ANSWER_BEYOND
        {
            return;
        }
        let watch = core::mem::replace(watch, Watch::new(now));
        // All of so many may not be lost by chance.
        if let Some(&bytes) = watch.sent.get(probes(answers.loss) - 1)
            && bytes > watch.came
            && self.probing.is_none_or(|probing| probing.instead.is_none())
        {
            let instead = Some(watch.came.max(FLOOR).min(self.confirmed));
            self.probing = Some(Probing { bytes, instead, sent: 0, next_at: now });
        }
    }
}

/// Probes of one size, of which `loss` are lost by chance.
fn probes(loss: f64) -> usize {
    let loss = loss.clamp(f64::MIN_POSITIVE, 0.999);
    (libm::ceil(libm::log(BY_CHANCE) / libm::log(loss)) as usize).clamp(PROBES_MIN, PROBES_MAX)
}

/// How long the longest datagram was that came lately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Longest {
    since: Instant,
    now: u16,
    before: u16,
}

impl Longest {
    pub fn new(now: Instant) -> Self {
        Self { since: now, now: 0, before: 0 }
    }

    /// A datagram came.
    pub fn came(&mut self, now: Instant, bytes: usize) {
        self.turn(now);
        self.now = self.now.max(u16::try_from(bytes).unwrap_or(u16::MAX));
    }

    /// What to say of those that came.
    pub fn bytes(&mut self, now: Instant) -> u16 {
        self.turn(now);
        self.now.max(self.before)
    }

    fn turn(&mut self, now: Instant) {
        let age = now.saturating_since(self.since);
        if age >= LATELY {
            self.before = if age < LATELY * 2 { self.now } else { 0 };
            (self.now, self.since) = (0, now);
        }
    }
}
