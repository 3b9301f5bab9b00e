//! Levels of the beacons of access points, and times in which one is heard much stronger than
//! another of its network. All levels are those at the monitor. They resemble those at a station
//! only if the monitor is beside it: another place, antenna or body between them changes each level
//! by 10 dB and more. Both access points are compared at one receiver, so that its own gain cancels.
//!
//! A level is the mean of the beacons of a second, averaged over some seconds as stations do. A
//! hopping receiver hears an access point every few seconds.

use super::stations::StationId;
use std::collections::BTreeMap;

/// Levels of all access points.
#[derive(Debug, Default)]
pub struct Levels {
    access_points: BTreeMap<StationId, Level>,
    /// Access points by the name of their network.
    networks: BTreeMap<Vec<u8>, Vec<StationId>>,
    /// Spells by the weaker and the stronger access point.
    spells: BTreeMap<(StationId, StationId), Vec<Spell>>,
}

/// A time in which one access point was much weaker than another of its network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    /// Start and end, in ns since 1970.
    pub times: (u64, u64),
    /// Sums of the levels of the weaker and the stronger one in dBm, and their number.
    pub sums: (f64, f64, u32),
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// Second in which beacons are summed, since 1970.
    second: u64,
    sum: i64,
    count: u32,
    /// Mean level in dBm, and the second of its latest part.
    mean_dbm: Option<(f64, u64)>,
}

/// Level below which stations look for another access point, in dBm: Apple's devices at -70
/// ("About wireless roaming for enterprise"), iwd at 2.4 GHz too (`RoamThreshold`).
pub const WEAK_DBM: f64 = -70.0;
/// Difference at which a station without traffic changes, in dB: 12 for Apple's devices, which is
/// the largest that is published.
pub const STRONGER_DB: f64 = 12.0;
/// Shortest spell that is kept, in ns: a station with NetworkManager's `bgscan` (`simple:30:-65:300`
/// of wpa_supplicant) looks for another access point every 30 s below its threshold.
pub const SPELL_NS: u64 = 30_000_000_000;
/// Age at which a level no longer counts, in seconds. Hopping over all channels takes some seconds.
const RECENT_S: u64 = 10;
/// Weight of a new second in the mean level.
const WEIGHT: f64 = 0.25;
/// Largest number of access points of one network, of networks, and of spells of one pair.
const OF_NETWORK_MAX: usize = 64;
const NETWORKS_MAX: usize = 1_024;
const SPELLS_MAX: usize = 256;

impl Levels {
    /// Handles a beacon of an access point, with its level at the monitor.
    pub fn handle_beacon(&mut self, id: StationId, name: &[u8], dbm: i8, at_ns: u64) {
        let second = at_ns / 1_000_000_000;
        if let Some(level) = self.access_points.get_mut(&id) {
            let is_new = level.handle(second, dbm);
            if is_new {
                self.compare(id, name, second);
            }
            return;
        }
        if name.iter().all(|byte| *byte == 0) {
            return;
        }
        if !self.networks.contains_key(name) && self.networks.len() >= NETWORKS_MAX {
            return;
        }
        let others = self.networks.entry(name.to_vec()).or_default();
        if others.len() < OF_NETWORK_MAX {
            others.push(id);
            let level = Level { second, sum: dbm.into(), count: 1, mean_dbm: None };
            self.access_points.insert(id, level);
        }
    }

    /// Returns the spells in which an access point was much weaker than another, and that other.
    pub fn spells(&self, weaker: StationId) -> impl Iterator<Item = (StationId, &Spell)> {
        let range = (weaker, StationId::at(0))..=(weaker, StationId::at(usize::MAX));
        let pairs = self.spells.range(range);
        pairs.flat_map(|((_, stronger), spells)| spells.iter().map(|it| (*stronger, it)))
    }

    /// Compares an access point, whose level has changed, with the others of its network.
    fn compare(&mut self, id: StationId, name: &[u8], second: u64) {
        let Self { access_points, networks, spells } = self;
        let mean = |id: &StationId| {
            let (mean, at) = access_points.get(id)?.mean_dbm?;
            (second.saturating_sub(at) <= RECENT_S).then_some(mean)
        };
        let (Some(here), Some(others)) = (mean(&id), networks.get(name)) else { return };
        for other in others.iter().filter(|other| **other != id) {
            let Some(there) = mean(other) else { continue };
            let both = [(id, here, *other, there), (*other, there, id, here)];
            for (weaker, low, stronger, high) in both {
                let is_spell = low < WEAK_DBM && high - low >= STRONGER_DB;
                let pair = (weaker, stronger);
                if is_spell {
                    extend(spells.entry(pair).or_default(), second * 1_000_000_000, low, high);
                } else if let Some(spells) = spells.get_mut(&pair) {
                    end(spells);
                }
            }
        }
    }
}

/// Extends the latest spell to a time, or begins one.
fn extend(spells: &mut Vec<Spell>, at_ns: u64, low: f64, high: f64) {
    let is_recent = |spell: &Spell| at_ns.saturating_sub(spell.times.1) <= RECENT_S * 1_000_000_000;
    if !spells.last().is_some_and(|spell| !spell.is_over && is_recent(spell)) {
        end(spells);
        if spells.len() >= SPELLS_MAX {
            return;
        }
        spells.push(Spell { times: (at_ns, at_ns), sums: (0.0, 0.0, 0), is_over: false });
    }
    if let Some(spell) = spells.last_mut() {
        spell.times.1 = spell.times.1.max(at_ns);
        spell.sums.0 += low;
        spell.sums.1 += high;
        spell.sums.2 += 1;
    }
}

/// Ends the latest spell, and drops it if it is short.
fn end(spells: &mut Vec<Spell>) {
    if let Some(spell) = spells.last_mut() {
        spell.is_over = true;
        if spell.times.1.saturating_sub(spell.times.0) < SPELL_NS {
            spells.pop();
        }
    }
}

impl Spell {
    /// Returns the mean levels of the weaker and the stronger access point, in dBm.
    pub fn means_dbm(&self) -> (f64, f64) {
        let (low, high, count) = self.sums;
        let count = f64::from(count.max(1));
        (low / count, high / count)
    }
}

impl Level {
    /// Adds a beacon. Returns whether the mean level has changed.
    fn handle(&mut self, second: u64, dbm: i8) -> bool {
        let is_new = second > self.second;
        if is_new {
            let latest = self.sum as f64 / f64::from(self.count.max(1));
            let mean = match self.mean_dbm {
                Some((mean, at)) if self.second.saturating_sub(at) <= RECENT_S => {
                    mean + WEIGHT * (latest - mean)
                }
                _ => latest,
            };
            self.mean_dbm = Some((mean, self.second));
            (self.second, self.sum, self.count) = (second, 0, 0);
        }
        self.sum += i64::from(dbm);
        self.count += 1;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Beacons of two access points, ten a second each, with levels by second.
    fn hear(seconds: u64, levels: impl Fn(u64) -> [i8; 2]) -> Levels {
        let mut heard = Levels::default();
        for n in 0..seconds * 10 {
            for (index, dbm) in levels(n / 10).into_iter().enumerate() {
                heard.handle_beacon(StationId::at(index), b"home", dbm, n * SECOND / 10);
            }
        }
        heard
    }

    fn lengths(heard: &Levels, weaker: usize) -> Vec<u64> {
        let spells = heard.spells(StationId::at(weaker));
        spells.map(|(_, it)| (it.times.1 - it.times.0) / SECOND).collect()
    }

    #[test]
    fn a_spell_lasts_while_one_is_much_weaker() {
        let heard = hear(100, |_| [-80, -60]);
        assert_eq!(lengths(&heard, 0), [98]);
        assert!(lengths(&heard, 1).is_empty());
        // Not weak enough, or not weaker enough.
        assert!(lengths(&hear(100, |_| [-69, -50]), 0).is_empty());
        assert!(lengths(&hear(100, |_| [-80, -69]), 0).is_empty());
        // Too short; interrupted by a short rise, which the mean hardly follows.
        assert!(lengths(&hear(60, |s| if s < 20 { [-80, -60] } else { [-60, -60] }), 0).is_empty());
        let heard = hear(100, |s| if s == 50 { [-74, -60] } else { [-80, -60] });
        assert_eq!(lengths(&heard, 0), [98]);
        // Other networks are not compared.
        let mut apart = Levels::default();
        for n in 0..1_000 {
            apart.handle_beacon(StationId::at(0), b"home", -80, n * SECOND / 10);
            apart.handle_beacon(StationId::at(1), b"else", -50, n * SECOND / 10);
        }
        assert!(lengths(&apart, 0).is_empty());
    }

    /// A receiver that hears one of them, then the other, in turns of three seconds.
    #[test]
    fn a_hopping_receiver_hears_spells() {
        let mut heard = Levels::default();
        for s in 0..120u64 {
            let (index, dbm) = if s / 3 % 2 == 0 { (0, -80) } else { (1, -60) };
            for n in 0..10 {
                heard.handle_beacon(
                    StationId::at(index),
                    b"home",
                    dbm,
                    s * SECOND + n * SECOND / 10,
                );
            }
        }
        let lengths = lengths(&heard, 0);
        assert!(matches!(lengths[..], [100..=120]), "{lengths:?}");
    }
}
