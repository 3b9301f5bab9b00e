//! The length of the longest datagram that the path carries: datagram packetization
//! layer path MTU discovery (RFC 8899). The probes are padded pulses, so that no
//! data is lost with them. Each pulse of the other end reports, sealed, the length
//! of the longest datagram that arrived recently: one as long as a probe confirms
//! it, and if all are shorter than many that were sent, the path has become
//! narrower. Lengths are in bytes.
//!
//! Differences from the RFC: the first size is confirmed by the datagrams sent with it; on a path
//! that carries less than [`BASE`], the search continues below it; the search is repeated after a
//! minute.

use crate::wire;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Length of datagrams before more is confirmed: the base of RFC 8899, 5.1.2.
const BASE: u16 = 1_200;
/// Smallest length: a datagram that begins a session has arrived with it.
const FLOOR: u16 = wire::CONTROL_BYTES as u16;
/// The search ends when it is this precise.
const EXACT: u16 = 8;
/// Interval after which the search is repeated, in case the path has become wider
/// (PMTU_RAISE_TIMER).
const RAISE: Duration = Duration::from_secs(60);
/// Number of probes of one size that must be unanswered for it to fail
/// (MAX_PROBES); more if all of them may have been lost by chance with more than
/// this probability.
const PROBES_MIN: usize = 3;
const PROBES_MAX: usize = 24;
const BY_CHANCE: f64 = 1e-3;
/// Time for the probes of one size, as a multiple of the time of an answer.
const ANSWERS: u64 = 3;
/// Time of an answer in addition to a round trip: the longest delay of a pulse.
const ANSWER_BEYOND: Duration = Duration::from_millis(100);
/// Time in which the datagrams sent are compared with those reported, until as long
/// after an answer.
const WATCH: Duration = Duration::from_millis(600);
/// Minimum number of pulses for that comparison.
const WATCH_PULSES: u32 = 4;
/// Time after which a receiver forgets a reported length: once to twice this.
const LATELY: Duration = Duration::from_millis(300);

/// The conditions under which answers arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathAnswers {
    /// Probability that a probe or its answer is lost, 0 to 1.
    pub loss: f64,
    /// Time of an answer, late ones included.
    pub round_trip: Duration,
}

/// The search for the longest datagram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathMtu {
    /// Longest datagram that this node's interface carries, in bytes.
    max: u16,
    /// Longest datagram that is known, or assumed, to arrive.
    confirmed: u16,
    /// Shortest datagram that does not arrive; `max + 1` before there is one.
    failed: u16,
    probing: Option<Probing>,
    /// Time at which the search is repeated.
    raise_at: Instant,
    watch: Watch,
    /// Whether datagrams that were sent in this session may be too long.
    is_narrower: bool,
    /// The last result of the search.
    found: u16,
}

/// The probes of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Probing {
    bytes: u16,
    /// The length to fall back to if this size, which was `confirmed`, fails.
    instead: Option<u16>,
    sent: usize,
    next_at: Instant,
}

/// The datagrams sent, and those reported, for the comparison.
#[derive(Clone, Debug, PartialEq)]
struct Watch {
    began: Instant,
    /// Lengths of the longest datagrams sent, the longest first.
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
    /// A search for datagrams of at most `max` bytes.
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

    /// Takes over the state of the previous session. A size that was being probed
    /// is probed again: the other end may not have received the last probes.
    pub fn inherit(&mut self, before: &Self, now: Instant) {
        let watch = Watch::new(now);
        *self = Self { probing: None, watch, is_narrower: false, ..before.clone() };
    }

    /// Length of the longest datagram that may be sent, in bytes.
    pub fn limit(&self) -> u16 {
        self.confirmed
    }

    /// Whether datagrams of this session can be too long for the path.
    pub fn is_narrower(&self) -> bool {
        self.is_narrower
    }

    /// The result of the search, if it is new; the first one only if it differs
    /// from what this node's interface carries.
    pub fn found(&mut self) -> Option<u16> {
        if !self.is_over() || self.found == self.confirmed {
            return None;
        }
        self.found = self.confirmed;
        Some(self.found)
    }

    /// Whether there is nothing left to probe.
    pub fn is_over(&self) -> bool {
        self.probing.is_none() && self.next_size().is_none() && !self.is_narrower
    }

    /// Returns the time at which [`PathMtu::probe`] has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.probing {
            Some(probing) => Some(probing.next_at),
            None if self.next_size().is_some() => Some(Instant::ZERO),
            None => Some(self.raise_at).filter(|&at| at < Instant::MAX),
        }
    }

    /// Length of a probe that is to be sent now.
    pub fn probe(&mut self, now: Instant, answers: PathAnswers) -> Option<u16> {
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
        // The last probe gets the time of a full answer, whatever their number.
        probing.next_at = if probing.sent < count {
            now + answer * ANSWERS / count as u64
        } else {
            now + answer * 2
        };
        Some(probing.bytes)
    }

    /// The size that is to be probed next; `None` if the search is over.
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

    /// The size that is being probed does not arrive.
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

    /// Schedules the repetition of a search that is over.
    fn settle(&mut self, now: Instant) {
        if self.is_over() && self.raise_at == Instant::MAX && self.confirmed < self.max {
            self.raise_at = now + RAISE;
        }
    }

    /// A datagram of this length with cargo was sent.
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

    /// The other end reports the length of the longest datagram that arrived
    /// recently.
    pub fn heard(&mut self, now: Instant, longest: u16, answers: PathAnswers) {
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
        // So many are not all lost by chance.
        if let Some(&bytes) = watch.sent.get(probes(answers.loss) - 1)
            && bytes > watch.came
            && self.probing.is_none_or(|probing| probing.instead.is_none())
        {
            let instead = Some(watch.came.max(FLOOR).min(self.confirmed));
            self.probing = Some(Probing { bytes, instead, sent: 0, next_at: now });
        }
    }
}

/// Number of probes of one size, of which `loss` are lost by chance.
fn probes(loss: f64) -> usize {
    let loss = loss.clamp(f64::MIN_POSITIVE, 0.999);
    (libm::ceil(libm::log(BY_CHANCE) / libm::log(loss)) as usize).clamp(PROBES_MIN, PROBES_MAX)
}

/// The length of the longest datagram that arrived recently.
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

    /// A datagram of `bytes` arrived.
    pub fn came(&mut self, now: Instant, bytes: usize) {
        self.turn(now);
        self.now = self.now.max(u16::try_from(bytes).unwrap_or(u16::MAX));
    }

    /// The length to report.
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
