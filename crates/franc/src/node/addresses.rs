//! The addresses of neighbours, and the rules by which questions are answered.
//!
//! A node that sends to an address includes a cookie: a code of the address, the neighbour expected
//! there, and the time, under a secret of the node. An address is accepted as a neighbour's once a
//! HELLO or a CALL with that cookie came from it. So no recording changes an address, and an asking
//! node costs no memory (after RFC 9147, section 5.1, and QUIC's path validation, RFC 9000, section
//! 8.2). A cookie is valid for 10 to 20 s; once a neighbour has moved, earlier cookies for it are
//! void.
//!
//! A message that proves nothing is answered at its origin, with no more bytes than
//! it has, within rate limits. HELLOs and CALLs have counts, and the counts
//! received are remembered: old ones, as in recordings, have a small limit, new
//! ones a larger one. Part of each limit is per class of addresses, so that a flood
//! from one address takes nothing from others.

use crate::address::Address;
use crate::secret::{Entropy, Secret, is_same};
use crate::wire::{COOKIE_BYTES, Hop, NodeId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::hash::Hasher;
use lasthop_units::{Duration, Instant, TokenBucket};
use siphasher::sip::SipHasher13;

/// A cookie is valid in this period and in the next one.
const COOKIE_PERIOD: Duration = Duration::from_secs(10);
/// A neighbour that proved its address within this time is not asked again.
const PROVEN_LATELY: Duration = Duration::from_millis(400);
/// Number of classes of addresses.
const CLASSES: usize = 16;
/// Answers per second to new messages: per class of addresses, and in total.
const NEW_PER_S: [u64; 2] = [100, 200];
/// Answers per second to messages received before or without a count.
const OLD_PER_S: [u64; 2] = [5, 20];
/// Largest number of neighbours whose addresses are known: two, and helpers.
const KNOWN_MAX: usize = 4;
/// Largest number of lives and keys whose counts are remembered: those of as many recordings.
const COUNTS_MAX: usize = 1_024;

/// A value that must be returned from the address to which it was sent.
pub(super) type Cookie = [u8; COOKIE_BYTES];

/// The address of an answer, and the cookie to return there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reply {
    /// The address from which the question came.
    pub to: Address,
    /// The cookie in the question.
    pub echo: Cookie,
}

/// A neighbour, and one of the links to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub neighbour: NodeId,
    pub link: u8,
}

impl From<NodeId> for Way {
    fn from(neighbour: NodeId) -> Self {
        Self { neighbour, link: 0 }
    }
}

/// Datagram numbers between a node and its neighbour, in a message to the neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HopNumbers {
    /// The highest number received from it.
    pub highest: u32,
    /// The next one sent to it.
    pub next: u32,
}

/// Proof that a HELLO or a CALL gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// No proof: the datagram may be a recording.
    Nothing,
    /// The neighbour is at its known address.
    Same,
    /// The neighbour is at a new address.
    Moved,
}

/// The known addresses, and the limits on answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Addresses {
    secret: Secret,
    /// One entry per neighbour and link.
    known: Vec<Known>,
    /// The random number of this node's life.
    life: u64,
    count: u32,
    counts: SeenCounts,
    new: AnswerBudget,
    old: AnswerBudget,
}

/// The highest count received of each life or key; the one heard last is at the
/// end.
#[derive(Clone, Debug, PartialEq, Default)]
struct SeenCounts(VecDeque<(u64, u32)>);

impl SeenCounts {
    /// Takes a count; `false` if it or a higher one was received before.
    fn take(&mut self, of: u64, count: u32) -> bool {
        let at = self.0.iter().rposition(|&(known, _)| known == of);
        let highest = at.and_then(|at| self.0.remove(at)).map(|(_, highest)| highest);
        let is_new = highest.is_none_or(|highest| count > highest);
        if self.0.len() >= COUNTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((of, highest.map_or(count, |highest| highest.max(count))));
        is_new
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Known {
    way: Way,
    address: Address,
    /// Increases when the address changes.
    generation: u32,
    proven_at: Instant,
    /// The neighbour's cookie, to be returned to it.
    cookie: Cookie,
}

/// A limit on answers.
#[derive(Clone, Debug, PartialEq)]
struct AnswerBudget {
    classes: Vec<TokenBucket>,
    all: TokenBucket,
}

impl AnswerBudget {
    fn new([class, all]: [u64; 2], now: Instant) -> Self {
        let classes = (0..CLASSES).map(|_| TokenBucket::new(class, class, now));
        Self { classes: classes.collect(), all: TokenBucket::new(all, all, now) }
    }

    fn take(&mut self, now: Instant, class: usize) -> bool {
        self.classes[class].take(now, 1) && self.all.take(now, 1)
    }
}

impl Addresses {
    pub fn new(entropy: &mut Entropy, now: Instant) -> Self {
        Self {
            secret: entropy.secret(),
            known: Vec::new(),
            life: entropy.word(),
            count: 0,
            counts: SeenCounts::default(),
            new: AnswerBudget::new(NEW_PER_S, now),
            old: AnswerBudget::new(OLD_PER_S, now),
        }
    }

    fn known(&self, way: Way) -> Option<&Known> {
        self.known.iter().find(|known| known.way == way)
    }

    fn cookie_of(&self, period: u64, way: Way, address: &Address) -> Cookie {
        let generation = self.known(way).map_or(0, |known| known.generation);
        let generation = u64::from(way.link) << 32 | u64::from(generation);
        let [period, generation] = [period.to_be_bytes(), generation.to_be_bytes()];
        self.secret.code(&[b"cookie", &period, &generation, &[way.neighbour.0], &address.bytes()])
    }

    /// The cookie for a neighbour at `address`.
    fn cookie(&self, now: Instant, way: Way, address: &Address) -> Cookie {
        self.cookie_of(now.as_nanos() / COOKIE_PERIOD.as_nanos(), way, address)
    }

    /// The proof that `hop` gives, which came from `from` in the name of a neighbour, on one of the
    /// links to it.
    pub fn prove(&mut self, now: Instant, way: impl Into<Way>, from: Address, hop: &Hop) -> Proof {
        let way = way.into();
        let period = now.as_nanos() / COOKIE_PERIOD.as_nanos();
        let periods = [Some(period), period.checked_sub(1)];
        let mut cookies = periods.into_iter().flatten().map(|p| self.cookie_of(p, way, &from));
        if !cookies.any(|cookie| is_same(&cookie, &hop.echo)) {
            return Proof::Nothing;
        }
        let cookie = hop.cookie;
        match self.known.iter_mut().find(|known| known.way == way) {
            Some(known) => {
                let is_there = known.address == from;
                known.generation = known.generation.wrapping_add(u32::from(!is_there));
                (known.address, known.proven_at, known.cookie) = (from, now, cookie);
                if is_there { Proof::Same } else { Proof::Moved }
            }
            None => {
                if self.known.len() >= KNOWN_MAX {
                    self.known.sort_by_key(|known| known.proven_at);
                    self.known.remove(0);
                }
                let (generation, proven_at) = (0, now);
                self.known.push(Known { way, address: from, generation, proven_at, cookie });
                Proof::Moved
            }
        }
    }

    /// Voids all cookies given to neighbour `id` until now: a recording of them
    /// proves nothing any more.
    pub fn renew(&mut self, id: NodeId) {
        for known in self.known.iter_mut().filter(|known| known.way.neighbour == id) {
            known.generation = known.generation.wrapping_add(1);
        }
    }

    /// The known address of a neighbour, on one of the links to it.
    pub fn place(&self, way: impl Into<Way>) -> Option<Address> {
        self.known(way.into()).map(|known| known.address)
    }

    /// Whether a neighbour is known to be at `from`.
    pub fn is_at(&self, way: impl Into<Way>, from: &Address) -> bool {
        self.known(way.into()).is_some_and(|known| known.address == *from)
    }

    /// Whether a neighbour proved recently that it is at `from`.
    pub fn is_at_lately(&self, now: Instant, way: impl Into<Way>, from: &Address) -> bool {
        let lately = |known: &Known| now < known.proven_at + PROVEN_LATELY;
        let way = way.into();
        self.is_at(way, from) && self.known(way).is_some_and(lately)
    }

    /// The hop fields of a message to a neighbour: at its known address, or as
    /// an answer at `reply`.
    pub fn hop(
        &mut self,
        now: Instant,
        way: impl Into<Way>,
        reply: Option<&Reply>,
        numbers: HopNumbers,
    ) -> Hop {
        let way = way.into();
        self.count = self.count.saturating_add(1);
        let (life, count) = (self.life, self.count);
        let known = self.known(way);
        let (to, echo) = match reply {
            Some(reply) => (Some(&reply.to), reply.echo),
            None => (known.map(|known| &known.address), known.map_or([0; _], |k| k.cookie)),
        };
        let cookie = to.map_or([0; _], |to| self.cookie(now, way, to));
        let HopNumbers { highest, next } = numbers;
        Hop { cookie, echo, life, count, highest, next }
    }

    /// Whether hop fields are of this node, in this life.
    pub fn is_own(&self, hop: &Hop) -> bool {
        hop.life == self.life
    }

    /// Whether a HELLO or a CALL was not received before by this node: `life` is
    /// its sender's, or the start of the key for which it counts.
    pub fn is_new(&mut self, life: u64, count: u32) -> bool {
        self.counts.take(life, count)
    }

    /// Whether a message that proves nothing may be answered now at `to`.
    pub fn may_answer(&mut self, now: Instant, to: &Address, is_new: bool) -> bool {
        let key = self.secret.as_bytes();
        let half = |at: usize| {
            u64::from_le_bytes(key[at..at + 8].try_into().expect("eight bytes were taken"))
        };
        let mut hasher = SipHasher13::new_with_keys(half(0), half(8));
        hasher.write(&to.bytes());
        let class = hasher.finish() as usize % CLASSES;
        if is_new { self.new.take(now, class) } else { self.old.take(now, class) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEIGHBOUR: NodeId = NodeId(2);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn address(node: u8) -> Address {
        Address::Node(NodeId(node))
    }

    fn addresses() -> Addresses {
        Addresses::new(&mut Entropy::new([1; 32]), Instant::ZERO)
    }

    /// The HELLO of a neighbour that got the cookie for `to` at `now`.
    fn said(addresses: &mut Addresses, now: Instant, to: Address) -> Hop {
        let reply = Reply { to, echo: [7; COOKIE_BYTES] };
        let echo = addresses.hop(now, NEIGHBOUR, Some(&reply), HopNumbers::default()).cookie;
        Hop { cookie: [9; COOKIE_BYTES], echo, ..Hop::default() }
    }

    #[test]
    fn a_cookie_is_of_its_neighbour_its_address_and_its_time() {
        let mut addresses = addresses();
        let hop = said(&mut addresses, at(95_000), address(2));
        let proofs = |now, id, from| addresses.clone().prove(now, id, from, &hop);
        assert_eq!(proofs(at(95_000), NEIGHBOUR, address(3)), Proof::Nothing);
        assert_eq!(proofs(at(95_000), NodeId(3), address(2)), Proof::Nothing);
        assert_eq!(proofs(at(109_999), NEIGHBOUR, address(2)), Proof::Moved);
        assert_eq!(proofs(at(110_000), NEIGHBOUR, address(2)), Proof::Nothing);
        assert_eq!(
            addresses.prove(at(95_000), NEIGHBOUR, address(2), &Hop::default()),
            Proof::Nothing
        );
        assert_eq!(addresses.prove(at(95_000), NEIGHBOUR, address(2), &hop), Proof::Moved);
        assert_eq!(addresses.prove(at(95_001), NEIGHBOUR, address(2), &hop), Proof::Same);
        assert_eq!(
            addresses.hop(at(95_001), NEIGHBOUR, None, HopNumbers { highest: 5, next: 6 }).echo,
            [9; COOKIE_BYTES]
        );
    }

    /// A proof of an address from before it changed does not change it back.
    #[test]
    fn what_was_recorded_before_a_move_proves_nothing_after_it() {
        let mut addresses = addresses();
        let recorded = said(&mut addresses, at(0), address(2));
        assert_eq!(addresses.prove(at(0), NEIGHBOUR, address(2), &recorded), Proof::Moved);
        let moved = said(&mut addresses, at(1), address(3));
        assert_eq!(addresses.prove(at(1), NEIGHBOUR, address(3), &moved), Proof::Moved);
        for hop in [recorded, moved] {
            for from in [2, 3] {
                let proof = addresses.prove(at(2), NEIGHBOUR, address(from), &hop);
                assert_eq!(proof, Proof::Nothing);
            }
        }
        assert!(addresses.is_at(NEIGHBOUR, &address(3)));
    }

    /// A flood from some addresses leaves the others their answers.
    #[test]
    fn answers_are_few_and_shared_among_addresses() {
        let mut addresses = addresses();
        let mut answered = |address: Address, is_new| {
            let nows = (0..10_000).map(|tenths| Instant::from_nanos(tenths * 100_000));
            nows.filter(|&now| addresses.may_answer(now, &address, is_new)).count()
        };
        assert!((5..=10).contains(&answered(address(1), false)));
        // Another class.
        assert!((5..=10).contains(&answered(address(2), false)));
        assert!((100..=200).contains(&answered(address(3), true)));
    }

    #[test]
    fn what_counts_on_is_new_and_what_is_remembered_is_bounded() {
        let mut counts = SeenCounts::default();
        let taken =
            [(1, 5), (1, 5), (1, 4), (1, 6), (2, 1), (2, 1)].map(|(l, c)| counts.take(l, c));
        assert_eq!(taken, [true, false, false, true, true, false]);
        // As many recordings are known again, whatever their order.
        let lives = || 10..10 + COUNTS_MAX as u64 - 2;
        assert!(lives().all(|life| counts.take(life, 1)));
        assert!(!lives().rev().any(|life| counts.take(life, 1)));
        assert!((2_000..9_000).all(|life| counts.take(life, 1)));
        assert_eq!(counts.0.len(), COUNTS_MAX);
    }
}
