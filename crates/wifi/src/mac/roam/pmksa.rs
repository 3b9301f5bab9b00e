//! Cached keys (PMKSA; IEEE 802.11-2020, 12.6.8.3): after SAE both ends keep the pairwise master key,
//! and a station that comes back names it by its PMKID, so that Open System authentication replaces
//! SAE, as in wpa_supplicant and hostapd 2.10 (`pmksa_cache.c`, `sme.c`). With opportunistic caching
//! (OKC) the access points of a network share keys: one SAE is enough for all.
//!
//! Both ends have the same cache. Left out: its limit of 1 024 entries, an access point that has lost
//! a key and refuses it (status code 53), and a new SAE before the end of a lifetime.

use crate::station::BssId;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Usual lifetime of a key (`dot11RSNAConfigPMKLifetime`).
pub const LIFETIME: Duration = Duration::from_secs(43_200);

/// Caching of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyCaching {
    /// Lifetime of a key from SAE on; zero for no caching.
    pub lifetime: Duration,
    /// Whether the access points of a network share keys (OKC).
    pub opportunistic: bool,
}

impl Default for KeyCaching {
    /// Returns the defaults of wpa_supplicant and hostapd.
    fn default() -> Self {
        Self { lifetime: LIFETIME, opportunistic: false }
    }
}

/// Keys of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCache {
    caching: KeyCaching,
    /// Sets with which it did SAE, and the end of each key.
    keys: Vec<(BssId, Instant)>,
}

impl KeyCache {
    /// An empty cache.
    pub const fn new(caching: KeyCaching) -> Self {
        Self { caching, keys: Vec::new() }
    }

    /// Adds the key of an SAE with this set that ended at `now`.
    pub fn add(&mut self, now: Instant, bss: BssId) {
        self.keys.retain(|(other, until)| *other != bss && now < *until);
        self.keys.push((bss, now.saturating_add(self.caching.lifetime)));
    }

    /// Whether there is a key for this set at `now`.
    pub fn has(&self, now: Instant, bss: BssId) -> bool {
        let is_for = |other: BssId| other == bss || self.caching.opportunistic;
        self.keys.iter().any(|(other, until)| is_for(*other) && now < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn keys_last_twelve_hours_each() {
        let mut cache = KeyCache::new(KeyCaching::default());
        let (first, second) = (BssId(0), BssId(1));
        cache.add(at(0), first);
        cache.add(at(100), second);
        assert!(cache.has(at(43_199), first) && !cache.has(at(43_200), first));
        assert!(cache.has(at(43_200), second) && !cache.has(at(43_300), second));
        assert!(!cache.has(at(0), BssId(2)));
        cache.add(at(43_250), first);
        assert!(cache.has(at(86_449), first) && !cache.has(at(86_450), first));
    }

    /// A shared key has the end of the SAE that made it (`pmksa_cache_clone_entry`).
    #[test]
    fn shared_keys_are_for_all_sets() {
        let mut cache = KeyCache::new(KeyCaching { opportunistic: true, ..KeyCaching::default() });
        cache.add(at(0), BssId(0));
        assert!(cache.has(at(43_199), BssId(7)) && !cache.has(at(43_200), BssId(7)));
        let none = KeyCaching { lifetime: Duration::ZERO, opportunistic: true };
        let mut none = KeyCache::new(none);
        none.add(at(0), BssId(0));
        assert!(!none.has(at(0), BssId(0)));
    }
}
