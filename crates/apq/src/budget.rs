//! Limits on the traffic of a server: token buckets for each session, for each address and for the
//! server, in bits of IP packets, headers included; and a limit on answers to unproven addresses.
//! An address here is one of IPv4 or a 64-bit prefix of IPv6, because a host with one address of a
//! prefix can use all of them.
//!
//! A bucket holds the bits of [`BURST`] at its rate, or one packet: in any second the rate is
//! exceeded by at most 1 %, or by that packet. Unproven addresses share [`CLASSES`] buckets by a
//! keyed hash, so memory does not grow with addresses, and a stranger cannot choose whose bucket to
//! drain.

use crate::auth::{Key, unguessable};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use lasthop_units::{Duration, Instant, TokenBucket};

/// Depth of a bucket: 1 % of what passes in a second.
const BURST: Duration = Duration::from_millis(10);
/// Smallest depth of a bucket in bits: one packet with Ethernet's longest payload.
const BURST_BITS_MIN: u64 = 8 * 1_500;
/// Largest number of addresses with a bucket that is not full. A bucket is full again after
/// [`BURST`], and then equal to a new one.
const ADDRESSES_MAX: usize = 1_024;
/// Number of classes of unproven addresses.
const CLASSES: u64 = 4_096;
/// Answers per second to one class, and its burst: more than a client that retries
/// asks for. All classes together get less than 20 Mb/s.
const CLASS_ANSWERS: u64 = 8;

/// The part of an address that its user cannot choose freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AddressClass(u128);

impl AddressClass {
    /// The class of `address`.
    pub fn from_address(address: &SocketAddr) -> Self {
        Self(match address.ip().to_canonical() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
            IpAddr::V6(ip) => ip.to_bits() >> 64 << 64,
        })
    }
}

/// A full bucket for `rate_bps`.
pub(crate) fn bucket(rate_bps: u64, now: Instant) -> TokenBucket {
    let bits = u128::from(rate_bps) * u128::from(BURST.as_nanos()) / 1_000_000_000;
    TokenBucket::new(rate_bps, (bits as u64).max(BURST_BITS_MIN), now)
}

/// Length in bytes of the longest IP packet that `rate_bps` allows.
pub(crate) fn packet_bytes_max(rate_bps: u64) -> u64 {
    bucket(rate_bps, Instant::ZERO).burst() / 8
}

/// Limits on the traffic to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    rate_max_bps: u64,
    total: TokenBucket,
    addresses: BTreeMap<AddressClass, TokenBucket>,
}

impl Budget {
    /// Limits of `rate_max_bps` for each address and each session, and
    /// `rate_total_max_bps` for all.
    pub fn new(rate_max_bps: u64, rate_total_max_bps: u64) -> Self {
        let total = bucket(rate_total_max_bps, Instant::ZERO);
        Self { rate_max_bps, total, addresses: BTreeMap::new() }
    }

    /// The bucket of a session that starts.
    pub fn session(&self, now: Instant) -> TokenBucket {
        bucket(self.rate_max_bps, now)
    }

    /// Takes an IP packet of `bytes` to `to` out of all three buckets.
    ///
    /// # Errors
    /// The earliest instant, after `now`, at which all of them may hold enough. No tokens are
    /// taken.
    pub fn spend(
        &mut self,
        now: Instant,
        session: &mut TokenBucket,
        to: &SocketAddr,
        bytes: u16,
    ) -> Result<(), Instant> {
        let (class, bits) = (AddressClass::from_address(to), 8 * u64::from(bytes));
        if self.addresses.len() >= ADDRESSES_MAX && !self.addresses.contains_key(&class) {
            self.addresses.retain(|_, bucket| !bucket.is_full(now));
            if self.addresses.len() >= ADDRESSES_MAX {
                return Err(now.saturating_add(BURST));
            }
        }
        let fresh = bucket(self.rate_max_bps, now);
        let address = self.addresses.entry(class).or_insert(fresh);
        let buckets = [session, address, &mut self.total];
        if buckets.iter().all(|bucket| bucket.level(now) >= bits) {
            for bucket in buckets {
                bucket.take(now, bits);
            }
            return Ok(());
        }
        let at = |bucket: &&mut TokenBucket| bucket.next_at(bits).unwrap_or(Instant::MAX);
        Err(buckets.iter().map(at).max().unwrap_or(Instant::MAX))
    }
}

/// The limits on answers to unproven addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Strangers {
    classes: Vec<TokenBucket>,
}

impl Strangers {
    /// Limits of which nothing is used.
    pub fn new() -> Self {
        let bucket = TokenBucket::new(CLASS_ANSWERS, CLASS_ANSWERS, Instant::ZERO);
        Self { classes: vec![bucket; CLASSES as usize] }
    }

    /// Whether `to` may be answered; `secret` keys the hash that selects its class.
    pub fn take(&mut self, now: Instant, secret: &Key, to: &SocketAddr) -> bool {
        let AddressClass(address) = AddressClass::from_address(to);
        let (high, low) = ((address >> 64) as u64, address as u64);
        let hash = unguessable(secret, b"class", &[high, low]);
        let hash = u64::from_be_bytes(*hash.first_chunk().expect("a key has 32 bytes"));
        self.classes[(hash % CLASSES) as usize].take(now, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(address: &str) -> AddressClass {
        AddressClass::from_address(&address.parse().expect("it is an address"))
    }

    #[test]
    fn a_class_is_what_one_host_may_have() {
        assert_eq!(class("192.0.2.1:1"), class("192.0.2.1:2"));
        assert_eq!(class("192.0.2.1:1"), class("[::ffff:192.0.2.1]:1"));
        assert_ne!(class("192.0.2.1:1"), class("192.0.2.2:1"));
        assert_eq!(class("[2001:db8::1]:1"), class("[2001:db8::ffff:0:0:1]:1"));
        assert_ne!(class("[2001:db8::1]:1"), class("[2001:db8:0:1::1]:1"));
    }

    #[test]
    fn a_bucket_holds_a_hundredth_or_a_packet() {
        assert_eq!(bucket(200_000_000, Instant::ZERO).burst(), 2_000_000);
        assert_eq!(bucket(64_000, Instant::ZERO).burst(), 12_000);
        assert_eq!(bucket(u64::MAX, Instant::ZERO).burst(), u64::MAX / 100);
    }

    #[test]
    fn the_longest_packet_is_a_full_bucket() {
        assert_eq!(packet_bytes_max(200_000_000), 250_000);
        assert_eq!(packet_bytes_max(64_000), 1_500);
    }

    /// When every address that has a bucket was sent to just now, another one waits for as long
    /// as a bucket takes to fill; those that have one do not.
    #[test]
    fn a_new_address_waits_when_all_buckets_are_in_use() {
        let mut budget = Budget::new(1_000_000, u64::MAX);
        let address = |index: u32| SocketAddr::from((index.to_be_bytes(), 1));
        let mut send = |now, index| {
            let mut session = budget.session(now);
            budget.spend(now, &mut session, &address(index), 100)
        };
        let now = Instant::from_nanos(1_000_000_000);
        let all = ADDRESSES_MAX as u32;
        assert!((0..all).all(|index| send(now, index) == Ok(())));
        assert_eq!(send(now, all), Err(now + BURST));
        assert_eq!(send(now, 0), Ok(()));
        assert_eq!(send(now + BURST, all), Ok(()));
    }

    /// Few of many addresses have a bucket, and the bucket of an address in use is kept.
    #[test]
    fn addresses_are_forgotten_when_they_may_be() {
        let mut budget = Budget::new(1_000_000, u64::MAX);
        let mut now = Instant::ZERO;
        let mut passed = 0;
        let busy = SocketAddr::from(([192, 0, 2, 1], 1));
        for index in 0..20_000u32 {
            let other = SocketAddr::from((index.to_be_bytes(), 1));
            let mut session = budget.session(now);
            let _ = budget.spend(now, &mut session, &other, 100);
            let mut session = budget.session(now);
            passed += u64::from(budget.spend(now, &mut session, &busy, 125).is_ok());
            assert!(budget.addresses.len() <= ADDRESSES_MAX);
            now += Duration::from_micros(50);
        }
        // A second, and what the bucket held.
        assert!((1_000..=1_012).contains(&passed), "{passed} packets of 1000 bits");
    }
}
