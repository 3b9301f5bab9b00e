//! Links between ordered pairs of stations, in a form that fits a thousand stations: the mean SNR
//! of each pair, and all other properties once for all pairs that share them. Few links change
//! during a run, so only those store changes.

use crate::phy::{LinkConfig, SnrChange};
use crate::station::StationId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use lasthop_units::Db;

/// One direction between two stations.
#[derive(Clone, Debug, PartialEq)]
pub struct PairConfig {
    /// The transmitting station.
    pub from: StationId,
    /// The receiving station.
    pub to: StationId,
    /// Mean SNR, fading and loss of the link. The two directions share shadowing and fading only if
    /// their [`LinkConfig`]s say so.
    pub link: LinkConfig,
    /// Changes of the mean SNR during the run, in ascending order of time.
    pub snr_changes: Vec<SnrChange>,
}

impl PairConfig {
    /// Returns a link whose SNR is constant.
    pub const fn steady(from: StationId, to: StationId, link: LinkConfig) -> Self {
        Self { from, to, link, snr_changes: Vec::new() }
    }
}

/// The links between the stations of a cell: at most one for each ordered pair.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Links {
    stations: usize,
    /// Mean SNR by sender * stations + receiver, or [`NO_LINK`].
    snrs: Vec<Db>,
    /// Shared properties of links, with [`LIKE_ANY`] as their SNR.
    kinds: Vec<LinkConfig>,
    /// Index of each link's kind, at the index of its SNR; empty while there is only one kind.
    kind_of: Vec<u32>,
    /// Changes of the mean SNR, by sender and receiver.
    changes: BTreeMap<(StationId, StationId), Vec<SnrChange>>,
}

/// Mean SNR that marks a missing link.
const NO_LINK: Db = Db(f64::NEG_INFINITY);

/// Mean SNR in the kinds of links.
const LIKE_ANY: Db = Db(0.0);

/// Number of kinds, the latest ones, that a new link is compared with. With more kinds, all links
/// are likely to differ.
const KINDS_COMPARED: usize = 64;

impl Links {
    /// Returns a table for this many stations, without links.
    pub fn none(stations: usize) -> Self {
        Self { stations, snrs: alloc::vec![NO_LINK; stations * stations], ..Self::default() }
    }

    /// Returns links between this many stations; of several for one pair, the last one counts.
    ///
    /// # Panics
    /// Panics in the cases of [`Links::add`].
    pub fn new(stations: usize, pairs: impl IntoIterator<Item = PairConfig>) -> Self {
        let mut links = Self::none(stations);
        pairs.into_iter().for_each(|pair| links.add(pair));
        links
    }

    /// Adds a link, or replaces it.
    ///
    /// # Panics
    /// Panics if a station does not exist, if both are the same, or if the SNR is not finite.
    pub fn add(&mut self, pair: PairConfig) {
        let PairConfig { from, to, link, snr_changes } = pair;
        self.add_steady(from, to, &link);
        if !snr_changes.is_empty() {
            self.changes.insert((from, to), snr_changes);
        }
    }

    /// Adds a link with a constant SNR, or replaces the pair's link.
    ///
    /// # Panics
    /// Panics in the cases of [`Links::add`].
    #[inline]
    pub fn add_steady(&mut self, from: StationId, to: StationId, link: &LinkConfig) {
        assert!(from != to, "a station does not hear itself");
        assert!(link.snr.0.is_finite(), "a mean SNR is a number");
        let index = self.index(from, to);
        self.snrs[index] = link.snr;
        let kind = self.kind(LinkConfig { snr: LIKE_ANY, ..*link });
        if kind > 0 && self.kind_of.is_empty() {
            self.kind_of = alloc::vec![0; self.snrs.len()];
        }
        if let Some(place) = self.kind_of.get_mut(index) {
            *place = kind as u32;
        }
        if !self.changes.is_empty() {
            self.changes.remove(&(from, to));
        }
    }

    /// Index of a kind, which is added unless it is among the latest ones.
    fn kind(&mut self, kind: LinkConfig) -> usize {
        let last = self.kinds.len().saturating_sub(KINDS_COMPARED);
        let known = self.kinds[last..].iter().rposition(|known| *known == kind);
        known.map_or_else(
            || {
                self.kinds.push(kind);
                self.kinds.len() - 1
            },
            |index| last + index,
        )
    }

    /// Number of stations.
    pub fn stations(&self) -> usize {
        self.stations
    }

    /// The mean SNR at which `to` receives `from`, if there is such a link.
    pub fn snr(&self, from: StationId, to: StationId) -> Option<Db> {
        let known = from.index().max(to.index()) < self.stations;
        known.then(|| self.snrs[self.index(from, to)]).filter(|snr| *snr != NO_LINK)
    }

    /// The link from a station to another one, if there is one, without its changes.
    pub fn link(&self, from: StationId, to: StationId) -> Option<LinkConfig> {
        let snr = self.snr(from, to)?;
        Some(LinkConfig { snr, ..self.kinds[self.kind_of(from, to)] })
    }

    /// Changes of the mean SNR, for each link that has any, in ascending order of the stations.
    pub fn changes(&self) -> impl Iterator<Item = ((StationId, StationId), &[SnrChange])> {
        self.changes.iter().map(|(&pair, changes)| (pair, &changes[..]))
    }

    /// Changes of the mean SNR of a link.
    pub fn changes_of(&self, from: StationId, to: StationId) -> &[SnrChange] {
        self.changes.get(&(from, to)).map_or(&[], |changes| &changes[..])
    }

    /// All links, in ascending order of the stations.
    pub fn iter(&self) -> impl Iterator<Item = PairConfig> {
        self.ends().filter_map(|(from, to)| self.pair(from, to))
    }

    /// Sets the mean SNR of a link.
    ///
    /// # Panics
    /// Panics if there is no such link, or if the SNR is not finite.
    pub fn set_snr(&mut self, from: StationId, to: StationId, snr: Db) {
        assert!(self.snr(from, to).is_some(), "there is such a link");
        assert!(snr.0.is_finite(), "a mean SNR is a number");
        let index = self.index(from, to);
        self.snrs[index] = snr;
    }

    /// Calls `change` for each link; its stations must stay the same.
    ///
    /// # Panics
    /// Panics in the cases of [`Links::add`].
    pub fn change(&mut self, mut change: impl FnMut(&mut PairConfig)) {
        let ends = self.ends();
        // Kinds that no link is of any more are forgotten.
        let before = core::mem::replace(self, Self::none(self.stations));
        for (from, to) in ends {
            if let Some(mut pair) = before.pair(from, to) {
                change(&mut pair);
                self.add(PairConfig { from, to, ..pair });
            }
        }
    }

    /// The link from a station to another one, if there is one.
    pub fn pair(&self, from: StationId, to: StationId) -> Option<PairConfig> {
        let link = self.link(from, to)?;
        Some(PairConfig { from, to, link, snr_changes: self.changes_of(from, to).to_vec() })
    }

    /// Ordered pairs of stations, each of which may have a link.
    fn ends(&self) -> impl Iterator<Item = (StationId, StationId)> + use<> {
        let all = 0..self.stations as u16;
        let of = move |from| all.clone().map(move |to| (StationId(from), StationId(to)));
        (0..self.stations as u16).flat_map(of)
    }

    /// Mean SNRs of `from` at each receiver; minus infinity without a link.
    pub(crate) fn row(&self, from: StationId) -> &[Db] {
        &self.snrs[from.index() * self.stations..][..self.stations]
    }

    /// Properties that links share, apart from their mean SNR.
    pub(crate) fn kinds(&self) -> &[LinkConfig] {
        &self.kinds
    }

    /// The index of a link's kind.
    #[inline]
    pub(crate) fn kind_of(&self, from: StationId, to: StationId) -> usize {
        self.kind_of.get(self.index(from, to)).map_or(0, |kind| *kind as usize)
    }

    #[inline]
    fn index(&self, from: StationId, to: StationId) -> usize {
        from.index() * self.stations + to.index()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::Fading;
    use lasthop_units::{Dbm, Duration, Instant, Probability};
    use proptest::prelude::*;

    const STATIONS: u16 = 6;

    fn pairs() -> impl Strategy<Value = Vec<PairConfig>> {
        let link =
            (-20.0..60.0f64, 0u8..3, 0u8..3, 0u8..3).prop_map(|(snr, noise, fading, loss)| {
                LinkConfig {
                    snr: Db(snr),
                    noise: Dbm(-94.0 + f64::from(noise)),
                    fading: match fading {
                        0 => Fading::None,
                        hertz => Fading::Rayleigh { doppler_hz: f64::from(hertz) },
                    },
                    loss: (loss > 0)
                        .then(|| Probability::new(f64::from(loss) / 4.0).expect("a probability")),
                }
            });
        let ends = (0..STATIONS, 0..STATIONS - 1)
            .prop_map(|(from, to)| (StationId(from), StationId(to + u16::from(to >= from))));
        let change = prop_oneof![Just(Vec::new()), Just(change())];
        let pair = (ends, link, change).prop_map(|((from, to), link, snr_changes)| PairConfig {
            from,
            to,
            link,
            snr_changes,
        });
        proptest::collection::vec(pair, 0..80)
    }

    fn change() -> Vec<SnrChange> {
        let at = Instant::ZERO + Duration::from_secs(1);
        alloc::vec![SnrChange { at, snr: Db(3.0) }]
    }

    proptest! {
        /// The table equals a list of pairs in which the last entry of a pair counts.
        #[test]
        fn links_are_a_table_of_pairs(pairs in pairs(), loss in 0.0..1.0f64) {
            let mut links = Links::new(STATIONS.into(), pairs.iter().cloned());
            let mut table: BTreeMap<_, _> =
                pairs.into_iter().map(|pair| ((pair.from, pair.to), pair)).collect();
            for _ in 0..2 {
                let all: Vec<_> = links.iter().collect();
                prop_assert_eq!(&all, &table.values().cloned().collect::<Vec<_>>());
                let changing: Vec<_> = links.changes().map(|(ends, _)| ends).collect();
                let expected = table.iter().filter(|(_, pair)| !pair.snr_changes.is_empty());
                prop_assert_eq!(changing, expected.map(|(ends, _)| *ends).collect::<Vec<_>>());
                for (from, to) in links.ends() {
                    let pair = table.get(&(from, to));
                    prop_assert_eq!(links.link(from, to), pair.map(|pair| pair.link));
                    prop_assert_eq!(links.snr(from, to), pair.map(|pair| pair.link.snr));
                    let changes = pair.map_or(&[][..], |pair| &pair.snr_changes);
                    prop_assert_eq!(links.changes_of(from, to), changes);
                }
                let change = |pair: &mut PairConfig| {
                    if pair.from.0.is_multiple_of(2) {
                        pair.link.snr = pair.link.snr + Db(1.0);
                        pair.link.loss = Probability::new(loss);
                    } else {
                        pair.snr_changes = change();
                    }
                };
                links.change(change);
                table.values_mut().for_each(change);
            }
        }
    }

    /// Links that differ only in their mean SNR are of one kind; kinds beyond the compared ones are
    /// also kept.
    #[test]
    fn what_links_have_in_common_is_kept_once() {
        let link = |doppler_hz| LinkConfig {
            snr: Db(doppler_hz),
            noise: Dbm(-94.0),
            fading: Fading::Rayleigh { doppler_hz },
            loss: None,
        };
        let stations = 20;
        let all = Links::none(stations).ends().filter(|(from, to)| from != to);
        let pairs: Vec<_> = all.collect();
        let of = |doppler_hz: &dyn Fn(usize) -> f64| {
            let pairs = pairs.iter().enumerate().map(|(index, &(from, to))| {
                let link = LinkConfig { snr: Db(index as f64), ..link(doppler_hz(index)) };
                PairConfig::steady(from, to, link)
            });
            Links::new(stations, pairs)
        };
        assert_eq!(of(&|_| 5.0).kinds.len(), 1);
        assert!(of(&|_| 5.0).kind_of.is_empty());
        assert_eq!(of(&|index| (index % 3) as f64).kinds.len(), 3);
        let different = of(&|index| index as f64);
        assert_eq!(different.kinds.len(), pairs.len());
        for (index, &(from, to)) in pairs.iter().enumerate() {
            assert_eq!(different.link(from, to), Some(link(index as f64)));
        }
    }
}
