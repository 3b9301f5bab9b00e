//! Where neighbours are, and who is answered.
//!
//! A node that sends to an address gives it a cookie: a code of the address, the neighbour
//! that is to be there, and the time, under a secret of its own. An address is a neighbour's
//! once a HELLO or a CALL with that cookie came from it, so nothing recorded moves an
//! address, and nothing is kept for who only asks (after RFC 9147, section 5.1, and QUIC's
//! path validation, RFC 9000, section 8.2). A cookie is good for 10 to 20 s; once a
//! neighbour moved, those given out for its address before are void.
//!
//! What proves nothing is answered to where it came from, by no more bytes, and no more
//! often than budgets allow. HELLOs and CALLs count on, and which counts came is remembered:
//! what came before, as a recording does, has a small budget, what is new a larger one. A
//! part of each is for each of several classes of addresses, so that who floods from one
//! address takes nothing from another.

use crate::address::Address;
use crate::secret::{Entropy, Secret, is_same};
use crate::wire::{COOKIE_BYTES, Hop, NodeId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::hash::Hasher;
use lasthop_units::{Duration, Instant, TokenBucket};
use siphasher::sip::SipHasher13;

/// A cookie is good for this period and the next.
const COOKIE_PERIOD: Duration = Duration::from_secs(10);
/// A neighbour that proved its address so lately need not be asked again.
const PROVEN_LATELY: Duration = Duration::from_millis(400);
/// Classes of addresses.
const CLASSES: usize = 16;
/// Answers a second to what is new: to a class of addresses, and to all.
const NEW_PER_S: [u64; 2] = [100, 200];
/// To what came before, or has no count.
const OLD_PER_S: [u64; 2] = [5, 20];
/// Neighbours whose addresses are known, at most: two, and helpers.
const KNOWN_MAX: usize = 4;
/// Lives and keys whose counts are remembered, at most: those of as many recordings.
const COUNTS_MAX: usize = 1_024;

/// Comes back from the address it was sent to.
pub(super) type Cookie = [u8; COOKIE_BYTES];

/// What answers go to, and with what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reply {
    /// Where the question came from.
    pub to: Address,
    /// The cookie in it.
    pub echo: Cookie,
}

/// What a HELLO or a CALL proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing: it may be a recording.
    Nothing,
    /// The neighbour is where it was.
    Same,
    /// The neighbour is where it was not before.
    Moved,
}

/// What is known of addresses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Addresses {
    secret: Secret,
    /// A neighbour each.
    known: Vec<Known>,
    /// Of this node's own life.
    life: u64,
    count: u32,
    counts: Counts,
    new: Budget,
    old: Budget,
}

/// The highest count that came of each life or key, the one that was heard last at the end.
#[derive(Clone, Debug, PartialEq, Default)]
struct Counts(VecDeque<(u64, u32)>);

impl Counts {
    /// Takes a count; false if it, or a higher one, came before.
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
    id: NodeId,
    address: Address,
    /// Goes up when the address changes.
    generation: u32,
    proven_at: Instant,
    /// The neighbour's, to be said back.
    cookie: Cookie,
}

/// Answers that may be given.
#[derive(Clone, Debug, PartialEq)]
struct Budget {
    classes: Vec<TokenBucket>,
    all: TokenBucket,
}

impl Budget {
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
            counts: Counts::default(),
            new: Budget::new(NEW_PER_S, now),
            old: Budget::new(OLD_PER_S, now),
        }
    }

    fn known(&self, id: NodeId) -> Option<&Known> {
        self.known.iter().find(|known| known.id == id)
    }

    fn cookie_of(&self, period: u64, id: NodeId, address: &Address) -> Cookie {
        let generation = self.known(id).map_or(0, |known| known.generation);
        let [period, generation] = [period.to_be_bytes(), u64::from(generation).to_be_bytes()];
        self.secret.code(&[b"cookie", &period, &generation, &[id.0], &address.bytes()])
    }

    /// The cookie for neighbour `id` at `address`.
    fn cookie(&self, now: Instant, id: NodeId, address: &Address) -> Cookie {
        self.cookie_of(now.as_nanos() / COOKIE_PERIOD.as_nanos(), id, address)
    }

    /// What `hop`, which came from `from` in the name of neighbour `id`, proves.
    pub fn prove(&mut self, now: Instant, id: NodeId, from: Address, hop: &Hop) -> Proof {
        let period = now.as_nanos() / COOKIE_PERIOD.as_nanos();
        let periods = [Some(period), period.checked_sub(1)];
        let mut cookies = periods.into_iter().flatten().map(|p| self.cookie_of(p, id, &from));
        if !cookies.any(|cookie| is_same(&cookie, &hop.echo)) {
            return Proof::Nothing;
        }
        let cookie = hop.cookie;
        match self.known.iter_mut().find(|known| known.id == id) {
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
                self.known.push(Known { id, address: from, generation, proven_at, cookie });
                Proof::Moved
            }
        }
    }

    /// What was given out for neighbour `id` until now is void: a recording of it proves
    /// nothing any more.
    pub fn renew(&mut self, id: NodeId) {
        for known in self.known.iter_mut().filter(|known| known.id == id) {
            known.generation = known.generation.wrapping_add(1);
        }
    }

    /// Where neighbour `id` is.
    pub fn place(&self, id: NodeId) -> Option<Address> {
        self.known(id).map(|known| known.address)
    }

    /// Whether neighbour `id` is known to be at `from`.
    pub fn is_at(&self, id: NodeId, from: &Address) -> bool {
        self.known(id).is_some_and(|known| known.address == *from)
    }

    /// Whether neighbour `id` proved lately that it is at `from`.
    pub fn is_at_lately(&self, now: Instant, id: NodeId, from: &Address) -> bool {
        let lately = |known: &Known| now < known.proven_at + PROVEN_LATELY;
        self.is_at(id, from) && self.known(id).is_some_and(lately)
    }

    /// What goes to neighbour `id`: where it is, or back to where it asked from. `numbers`
    /// are the highest that was heard from it, and the next that it hears.
    pub fn hop(
        &mut self,
        now: Instant,
        id: NodeId,
        reply: Option<&Reply>,
        numbers: (u32, u32),
    ) -> Hop {
        self.count = self.count.saturating_add(1);
        let (life, count) = (self.life, self.count);
        let known = self.known(id);
        let (to, echo) = match reply {
            Some(reply) => (Some(&reply.to), reply.echo),
            None => (known.map(|known| &known.address), known.map_or([0; _], |k| k.cookie)),
        };
        let cookie = to.map_or([0; _], |to| self.cookie(now, id, to));
        let (highest, next) = numbers;
        Hop { cookie, echo, life, count, highest, next }
    }

    /// Whether a HELLO or a CALL is none that was heard before in this node's life: `life`
    /// is its sender's, or the beginning of a key that it counts for.
    pub fn is_new(&mut self, life: u64, count: u32) -> bool {
        self.counts.take(life, count)
    }

    /// Whether what proves nothing may be answered now to `to`.
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

    /// What a neighbour says that got the cookie for `to` at `now`.
    fn said(addresses: &mut Addresses, now: Instant, to: Address) -> Hop {
        let reply = Reply { to, echo: [7; COOKIE_BYTES] };
        let echo = addresses.hop(now, NEIGHBOUR, Some(&reply), (0, 0)).cookie;
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
        assert_eq!(addresses.hop(at(95_001), NEIGHBOUR, None, (5, 6)).echo, [9; COOKIE_BYTES]);
    }

    /// What proved the address before it changed does not change it back.
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

    /// Who floods from some addresses leaves the others their answers.
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
        let mut counts = Counts::default();
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
