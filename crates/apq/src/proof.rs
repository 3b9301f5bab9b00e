//! Proof of reception: whatever a server sends carries a value that nobody can
//! guess, HMAC of address and time under a key of the session, and a client says
//! which it received last at each of its sockets. A server goes on sending to a
//! socket only while it is shown newer values; a session's keys alone do not
//! make it send to somebody who receives nothing.
//!
//! What counts is that the values become newer, not how old they are: a packet
//! may wait seconds in the queue that is measured, but while that queue is
//! served something arrives all the time. Times are milliseconds of the session.

use crate::SocketId;
use crate::auth::{Key, unguessable};
use core::net::{IpAddr, SocketAddr};
use lasthop_units::{Duration, Instant};

/// Without newer proof a socket is sent to for so long: eight signs of life.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// The patience is longer by this for each message of the client that was lost,
const PATIENCE_PER_LOSS: Duration = Duration::from_millis(250);
/// for so many: of eight signs of life at the start 30 % of losses take all once in
/// 15 000 times.
const LOSSES_MAX: u32 = 8;
/// and by the age of the last value when it was shown, which is about a round trip and
/// not to be gained by many who hoard values.
const PATIENCE_PER_AGE_MAX: Duration = Duration::from_secs(1);
/// So many packets leave without newer proof in any case: the baseline flow of
/// ten packets a second may lose most of them.
const UNPROVEN_PACKETS: u32 = 32;
/// After that one packet leaves in so long, for a client that lost all others,
const TRICKLE_INTERVAL: Duration = Duration::from_millis(500);
/// until so long after the last proof of either socket,
const TRICKLE: Duration = Duration::from_secs(6);
/// and again in as many phases that are begun meanwhile.
const RESTARTS_MAX: u32 = 4;
/// An older value proves nothing: longer than packets wait in any queue that is
/// measured, and so the longest for which hoarded values serve.
const VALIDITY_MS: u32 = 10_000;

/// What a server sends to a socket, and its client sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Proof {
    /// When it was made, in ms of the session; 0 stands for none.
    pub at_ms: u32,
    /// What nobody can guess.
    pub value: u64,
}

/// One for each of a client's sockets, by [`SocketId::index`].
pub type Proofs = [Proof; 2];

/// What one socket of a client has proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    offered: Proof,
    /// Only newer values count.
    floor_ms: u32,
    is_proven: bool,
    /// When the first packet left after the newest proof came.
    since: Option<Instant>,
    /// When the last one left, and how many there were.
    latest: Instant,
    packets: u32,
    restarts: u32,
    /// When a newer value was shown last, and how old it was then.
    accepted: Instant,
    age: Duration,
}

impl Ledger {
    /// Of a socket that has received something in the session, or has not; values
    /// of `floor_ms` and before prove nothing.
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

    /// The client says that it received `proof` at `to`.
    pub fn accept(
        &mut self,
        key: &Key,
        to: &SocketAddr,
        proof: Proof,
        (now, now_ms): (Instant, u32),
    ) {
        let Proof { at_ms, value: shown } = proof;
        let is_newer = at_ms > self.floor_ms && at_ms <= self.offered.at_ms;
        if !is_newer || now_ms.saturating_sub(at_ms) > VALIDITY_MS {
            return;
        }
        // One comparison of 64 bits: it takes as long whichever of them differ.
        if value(key, to, at_ms) ^ shown == 0 {
            (self.floor_ms, self.is_proven) = (at_ms, true);
            (self.since, self.packets, self.restarts) = (None, 0, 0);
            self.accepted = now;
            self.age = Duration::from_millis(u64::from(now_ms.saturating_sub(at_ms)));
        }
    }

    /// When a newer value was shown last.
    pub fn accepted(&self) -> Instant {
        self.accepted
    }

    /// Whether a packet may leave, `lost` messages of the client having been lost, and its
    /// other socket having shown a newer value at `other` for the last time. A flow of few
    /// packets can lose all of them in a full queue for long, where they always arrive at
    /// the same time after the other flow's; while that one receives, a trickle goes on.
    pub fn may_send(&self, now: Instant, lost: u32, other: Instant) -> bool {
        let Some(since) = self.since else { return self.is_proven };
        let patience = PATIENCE
            + PATIENCE_PER_LOSS * u64::from(lost.min(LOSSES_MAX))
            + self.age.min(PATIENCE_PER_AGE_MAX);
        let trickles = now < since.max(other).saturating_add(TRICKLE)
            && now >= self.latest.saturating_add(TRICKLE_INTERVAL);
        self.is_proven
            && (self.packets < UNPROVEN_PACKETS || now < since.saturating_add(patience) || trickles)
    }

    /// A packet left.
    pub fn sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        self.latest = now;
        self.packets = self.packets.saturating_add(1);
    }

    /// A phase begins: a client that lost all of the last packets before needs
    /// something to show.
    pub fn restart(&mut self, now: Instant) {
        if self.stalled(Instant::ZERO).is_some() && self.restarts < RESTARTS_MAX {
            self.restarts += 1;
            self.since = self.since.map(|since| since.max(now.saturating_sub(PATIENCE * 4)));
        }
    }

    /// Since when there is no newer proof, if many packets have left, the last of
    /// them not before `begin`.
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
    /// 0 or 1.
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
            ledger.accept(&KEY, &to, bad, (at_ms(20), 20));
            assert!(!ledger.may_send(at_ms(20), 0, at_ms(0)), "{bad:?}");
        }
        let mut late = ledger.clone();
        late.accept(&KEY, &to, good, (at_ms(11_000), 10 + VALIDITY_MS + 1));
        assert!(!late.may_send(at_ms(11_000), 0, at_ms(0)), "too old");
        ledger.accept(&KEY, &to, good, (at_ms(10_010), 10 + VALIDITY_MS));
        assert!(ledger.may_send(at_ms(10_010), 0, at_ms(0)));
        for _ in 0..100 {
            ledger.sent(at_ms(10_010));
        }
        ledger.accept(&KEY, &to, good, (at_ms(10_011), 10_011));
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
