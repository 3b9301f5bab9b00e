//! Proof of reception: each datagram of a server carries a value that cannot be
//! guessed, an HMAC of address and time under a key of the session, and a client
//! shows the last value that each of its sockets received. A server continues to
//! send to a socket only while it is shown newer values: the keys of a session
//! alone do not make it send to a victim.
//!
//! Values must become newer, and may be old: a packet may wait for seconds in the queue that is
//! measured, but while that queue is served packets arrive all the time. Times are milliseconds of
//! the session.

use crate::SocketId;
use crate::auth::{Key, unguessable};
use core::net::{IpAddr, SocketAddr};
use lasthop_units::{Duration, Instant};

/// Time for which the server sends to a socket without a newer proof: eight keep-alive messages.
pub(crate) const PROOF_TIMEOUT: Duration = Duration::from_secs(1);
/// Addition to [`PROOF_TIMEOUT`] for each of the client's messages that was lost.
const PROOF_TIMEOUT_PER_LOSS: Duration = Duration::from_millis(250);
/// Largest number of lost messages for which time is added: with 30 % of losses
/// all of the first eight keep-alive messages are lost once in 15 000 times.
const LOSSES_MAX: u32 = 8;
/// Upper bound of another addition: the age of the last value when it was shown, which is about a
/// round-trip time. The bound limits the gain of clients that hoard values.
const PROOF_TIMEOUT_PER_AGE_MAX: Duration = Duration::from_secs(1);
/// Packets that are sent without a newer proof in any case: the baseline flow of
/// ten packets per second may lose most of them.
const UNPROVEN_PACKETS: u32 = 32;
/// After that, the interval of single packets for a client that lost all others.
const TRICKLE_INTERVAL: Duration = Duration::from_millis(500);
/// Time after the last proof of either socket for which these single packets are
/// sent.
const TRICKLE: Duration = Duration::from_secs(6);
/// Number of phases that may start them again without a newer proof.
const RESTARTS_MAX: u32 = 4;
/// Age after which a value proves nothing: longer than packets wait in any queue
/// that is measured, and so the longest time for which hoarded values are of use.
const VALIDITY_MS: u32 = 10_000;

/// A value that a server sends to a socket, and its client shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Proof {
    /// Time at which it was made, in ms of the session; 0 if there is none.
    pub at_ms: u32,
    /// The value that cannot be guessed.
    pub value: u64,
}

/// One proof for each of a client's sockets, by [`SocketId::index`].
pub type Proofs = [Proof; 2];

/// The state of the proofs of one socket of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    offered: Proof,
    /// Only values newer than this count.
    floor_ms: u32,
    is_proven: bool,
    /// Time at which the first packet was sent after the newest proof.
    since: Option<Instant>,
    /// Time at which the last packet was sent, and how many were since the newest proof.
    latest: Instant,
    packets: u32,
    restarts: u32,
    /// Time at which a newer value was last shown, and how old it was then.
    accepted: Instant,
    age: Duration,
}

impl Ledger {
    /// The state of a socket; `is_proven` if it has received something in this
    /// session. Values of `floor_ms` and before prove nothing.
    pub fn new(is_proven: bool, now: Instant, floor_ms: u32) -> Self {
        Self {
            offered: Proof::default(),
            floor_ms,
            is_proven,
            since: None,
            latest: now,
            packets: 0,
            restarts: 0,
            accepted: now,
            age: Duration::ZERO,
        }
    }

    /// The value that a datagram to `to` carries.
    pub fn offer(&mut self, key: &Key, to: &SocketAddr, now_ms: u32) -> Proof {
        if self.offered.at_ms < now_ms {
            self.offered = Proof { at_ms: now_ms, value: value(key, to, now_ms) };
        }
        self.offered
    }

    /// Handles a `proof`, which shows that the client receives datagrams at `to`.
    pub fn accept(&mut self, key: &Key, to: &SocketAddr, proof: Proof, now: Instant, now_ms: u32) {
        let Proof { at_ms, value: shown } = proof;
        let is_newer = at_ms > self.floor_ms && at_ms <= self.offered.at_ms;
        if !is_newer || now_ms.saturating_sub(at_ms) > VALIDITY_MS {
            return;
        }
        // One comparison of 64 bits: its duration does not depend on which of them
        // differ.
        if value(key, to, at_ms) ^ shown == 0 {
            (self.floor_ms, self.is_proven) = (at_ms, true);
            (self.since, self.packets, self.restarts) = (None, 0, 0);
            self.accepted = now;
            self.age = Duration::from_millis(u64::from(now_ms.saturating_sub(at_ms)));
        }
    }

    /// Returns the time at which a newer value was last shown.
    pub fn accepted(&self) -> Instant {
        self.accepted
    }

    /// Whether a packet may be sent. `lost`: number of the client's messages that
    /// were lost; `other`: when its other socket last showed a newer value. In a
    /// full queue a flow with few packets can lose all of them for a long time,
    /// because they always arrive at the same time after those of the other flow;
    /// while the other socket receives, single packets continue.
    pub fn may_send(&self, now: Instant, lost: u32, other: Instant) -> bool {
        let Some(since) = self.since else { return self.is_proven };
        let timeout = PROOF_TIMEOUT
            + PROOF_TIMEOUT_PER_LOSS * u64::from(lost.min(LOSSES_MAX))
            + self.age.min(PROOF_TIMEOUT_PER_AGE_MAX);
        let trickles = now < since.max(other).saturating_add(TRICKLE)
            && now >= self.latest.saturating_add(TRICKLE_INTERVAL);
        self.is_proven
            && (self.packets < UNPROVEN_PACKETS || now < since.saturating_add(timeout) || trickles)
    }

    /// A packet was sent.
    pub fn sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        self.latest = now;
        self.packets = self.packets.saturating_add(1);
    }

    /// A phase starts: a client that lost all of the last packets needs new values
    /// to show.
    pub fn restart(&mut self, now: Instant) {
        if self.stalled(Instant::ZERO).is_some() && self.restarts < RESTARTS_MAX {
            self.restarts += 1;
            self.since = self.since.map(|since| since.max(now.saturating_sub(PROOF_TIMEOUT * 4)));
        }
    }

    /// Returns the time since which no newer proof has arrived, if many packets were sent, the last
    /// of them at `begin` or later.
    pub fn stalled(&self, begin: Instant) -> Option<Instant> {
        self.since.filter(|_| self.packets >= UNPROVEN_PACKETS && self.latest >= begin)
    }
}

fn value(key: &Key, to: &SocketAddr, at_ms: u32) -> u64 {
    let ip = match to.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
        IpAddr::V6(ip) => ip.to_bits(),
    };
    let pieces = [(ip >> 64) as u64, ip as u64, u64::from(to.port()), u64::from(at_ms)];
    let whole = unguessable(key, b"reception", &pieces);
    u64::from_be_bytes(*whole.first_chunk().expect("a key has 32 bytes"))
}

impl SocketId {
    /// The index of the socket, 0 or 1.
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [5; 32];

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn only_newer_values_of_this_socket_count() {
        let to = SocketAddr::from(([192, 0, 2, 1], 5_000));
        let other = SocketAddr::from(([192, 0, 2, 1], 5_001));
        let mut ledger = Ledger::new(false, at_ms(0), 3);
        assert!(!ledger.may_send(at_ms(10), 0, at_ms(0)), "nothing is proven");
        let old = Proof { at_ms: 3, value: value(&KEY, &to, 3) };
        let good = ledger.offer(&KEY, &to, 10);
        let elsewhere = Proof { at_ms: 10, value: value(&KEY, &other, 10) };
        let guessed = Proof { at_ms: 10, value: good.value ^ 1 };
        let early = Proof { at_ms: 11, value: value(&KEY, &to, 11) };
        for bad in [Proof::default(), old, elsewhere, guessed, early] {
            ledger.accept(&KEY, &to, bad, at_ms(20), 20);
            assert!(!ledger.may_send(at_ms(20), 0, at_ms(0)), "{bad:?}");
        }
        let mut late = ledger.clone();
        late.accept(&KEY, &to, good, at_ms(11_000), 10 + VALIDITY_MS + 1);
        assert!(!late.may_send(at_ms(11_000), 0, at_ms(0)), "too old");
        ledger.accept(&KEY, &to, good, at_ms(10_010), 10 + VALIDITY_MS);
        assert!(ledger.may_send(at_ms(10_010), 0, at_ms(0)));
        for _ in 0..100 {
            ledger.sent(at_ms(10_010));
        }
        ledger.accept(&KEY, &to, good, at_ms(10_011), 10_011);
        assert!(ledger.stalled(at_ms(0)).is_some(), "shown twice");
    }

    #[test]
    fn a_silent_socket_gets_a_second_and_then_a_trickle() {
        let mut ledger = Ledger::new(true, at_ms(0), 1);
        let mut sent = [0; 3];
        for ms in 0..60_000 {
            if ledger.may_send(at_ms(ms), 0, at_ms(0)) {
                ledger.sent(at_ms(ms));
                sent[(ms / 1_000).min(2) as usize] += 1;
            }
        }
        assert_eq!(sent, [1_000, 2, 8]);
        let mut slow = Ledger::new(true, at_ms(0), 1);
        let sent = (0..10).filter(|s| {
            let may = slow.may_send(at_ms(s * 1_000), 0, at_ms(0));
            slow.sent(at_ms(s * 1_000));
            may
        });
        assert_eq!(sent.count(), 10, "few packets may all be lost");
    }
}
