//! What each receiver hears of each transmitter, beyond its mean level. Most pairs of a cell
//! never ask: two of its stations do not send to each other. So a pair is made when it is
//! first used, of what all have in common and its mean SNR.

use crate::cell::{CellConfig, PairConfig};
use crate::phy::{Link, LinkConfig, Rate};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Db, Dbm, Identity, Probability, Seed, Stream};

/// All pairs of stations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pairs {
    seed: Seed,
    /// By station: whose random streams it draws from.
    identities: Vec<Identity>,
    /// By transmitter * stations + receiver: where it is in `made`, or [`UNUSED`] or [`NONE`].
    places: Vec<u32>,
    made: Vec<Pair>,
    /// What pairs that are not made yet have in common: all but the mean SNR.
    common: Option<LinkConfig>,
}

/// A pair that nobody asked for yet.
const UNUSED: u32 = u32::MAX - 1;
/// There is no such pair.
const NONE: u32 = u32::MAX;

/// What a receiver hears of a transmitter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub link: Link,
    /// Decides what the receiver decodes.
    pub reception: Stream,
    /// SNR of the last PPDU.
    pub last_snr: Db,
    /// The last answers of the error model.
    pub header: Memo,
    pub body: Memo,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memo {
    pub rate: Option<Rate>,
    pub snr: Db,
    pub bytes: u32,
    pub success: Probability,
}

impl Memo {
    const EMPTY: Self = Self { rate: None, snr: Db(0.0), bytes: 0, success: Probability::ZERO };
}

impl Pairs {
    /// No pair yet, between the stations of `config`.
    pub fn new(config: &CellConfig, seed: Seed) -> Self {
        let stations = config.stations.len();
        Self {
            seed,
            identities: config.stations.iter().map(|station| station.identity).collect(),
            places: alloc::vec![NONE; stations * stations],
            made: Vec::new(),
            common: most_common(&config.links),
        }
    }

    /// Adds a pair, or replaces it. It is made now if it is not like the others.
    pub fn add(&mut self, pair: &PairConfig) {
        let PairConfig { from, to, link, snr_changes } = pair;
        let is_common = self.common.is_some_and(|common| are_alike(&common, link));
        let index = self.index(*from, *to);
        self.places[index] = UNUSED;
        if !is_common || !snr_changes.is_empty() {
            let link = Link::new(*link, snr_changes, self.fading(*from, *to));
            self.make(*from, *to, link, pair.link.snr);
        }
    }

    /// Whether there is such a pair.
    pub fn exists(&self, from: StationId, to: StationId) -> bool {
        self.places[self.index(from, to)] != NONE
    }

    /// The pair, if it was used before.
    pub fn get(&self, from: StationId, to: StationId) -> Option<&Pair> {
        self.made.get(self.places[self.index(from, to)] as usize)
    }

    /// The pair, whose mean SNR is what `snr` gives if it was not used before.
    ///
    /// # Panics
    /// If there is none: a station does not hear itself.
    #[inline]
    pub fn get_mut(
        &mut self,
        from: StationId,
        to: StationId,
        snr: impl FnOnce() -> Db,
    ) -> &mut Pair {
        let mut place = self.places[self.index(from, to)];
        if place >= UNUSED {
            place = self.use_first(from, to, snr());
        }
        &mut self.made[place as usize]
    }

    /// Noise at the receivers of pairs that were not used yet.
    pub fn noise(&self) -> Dbm {
        self.common.map_or(Dbm(f64::NEG_INFINITY), |common| common.noise)
    }

    #[cold]
    fn use_first(&mut self, from: StationId, to: StationId, snr: Db) -> u32 {
        assert!(self.exists(from, to), "a station does not hear itself");
        let common = self.common.expect("there is a pair");
        let link = Link::new(LinkConfig { snr, ..common }, &[], self.fading(from, to));
        self.make(from, to, link, snr)
    }

    fn make(&mut self, from: StationId, to: StationId, link: Link, snr: Db) -> u32 {
        let [sender, receiver] = [from, to].map(|station| self.identities[station.index()]);
        let reception = self.seed.stream_of("cell/reception", sender.to(receiver));
        let index = self.index(from, to);
        let place = self.made.len() as u32;
        self.places[index] = place;
        let (header, body) = (Memo::EMPTY, Memo::EMPTY);
        self.made.push(Pair { link, reception, last_snr: snr, header, body });
        place
    }

    /// Both directions of a pair fade together.
    fn fading(&self, from: StationId, to: StationId) -> Stream {
        let [sender, receiver] = [from, to].map(|station| self.identities[station.index()]);
        self.seed.stream_of("cell/link", sender.beside(receiver))
    }

    fn index(&self, from: StationId, to: StationId) -> usize {
        from.index() * self.identities.len() + to.index()
    }
}

/// Whether two links differ in their mean SNR at most.
fn are_alike(one: &LinkConfig, other: &LinkConfig) -> bool {
    *one == LinkConfig { snr: one.snr, ..*other }
}

/// A link like which more than half of all are, if there is one; else any (Boyer and Moore's
/// vote).
fn most_common(links: &[PairConfig]) -> Option<LinkConfig> {
    let mut leader = None;
    let mut lead = 0_usize;
    for PairConfig { link, .. } in links {
        match leader {
            Some(leader) if are_alike(&leader, link) => lead += 1,
            _ if lead == 0 => (leader, lead) = (Some(*link), 1),
            _ => lead -= 1,
        }
    }
    leader
}
