//! State of each pair of stations beyond its mean level: fading, random streams, the last SNR. Most
//! pairs of a cell are never used, because two clients do not send to each other. A pair is
//! therefore created at its first use.

use crate::config::{CellConfig, Links};
use crate::phy::{ErrorModel, Link, Rate};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Db, Identity, Probability, Seed, Stream};

/// All pairs of stations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pairs {
    seed: Seed,
    /// Identities of the stations, from which the pairs derive their random streams.
    identities: Vec<Identity>,
    /// Index of each pair in `made`, by transmitter * stations + receiver, or [`UNUSED`].
    places: Vec<u32>,
    made: Vec<Pair>,
}

/// Marks a pair that was not used yet.
const UNUSED: u32 = u32::MAX;

/// A transmitter as one receiver hears it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub link: Link,
    /// Random stream that decides which MPDUs the receiver decodes.
    pub reception: Stream,
    /// SNR of the last PPDU.
    pub last_snr: Db,
    /// Last results of the error model.
    header: Memo,
    body: Memo,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Memo {
    rate: Option<Rate>,
    snr: Db,
    bytes: u32,
    success: Probability,
}

impl Memo {
    const EMPTY: Self = Self { rate: None, snr: Db(0.0), bytes: 0, success: Probability::ZERO };
}

impl Pair {
    /// Result of the error model, kept because most PPDUs have the same parameters as the last.
    /// `u32::MAX` bytes stand for the header.
    #[inline]
    pub fn remembered(
        &mut self,
        error_model: &ErrorModel,
        rate: Rate,
        snr: Db,
        bytes: u32,
    ) -> Probability {
        let memo = match bytes {
            u32::MAX => &mut self.header,
            _ => &mut self.body,
        };
        if memo.snr != snr || memo.bytes != bytes || memo.rate != Some(rate) {
            let success = match bytes {
                u32::MAX => error_model.header_success(rate, snr),
                _ => error_model.success(rate, snr, bytes),
            };
            *memo = Memo { rate: Some(rate), snr, bytes, success };
        }
        memo.success
    }
}

impl Pairs {
    /// Creates the pairs between the stations of `config`: only those whose mean SNR changes,
    /// because they must follow the changes from the beginning.
    pub fn new(config: &CellConfig, seed: Seed) -> Self {
        let stations = config.stations.len();
        let mut pairs = Self {
            seed,
            identities: config.stations.iter().map(|station| station.identity).collect(),
            places: alloc::vec![UNUSED; stations * stations],
            made: Vec::new(),
        };
        for ((from, to), _) in config.links.changes() {
            pairs.make(from, to, &config.links);
        }
        pairs
    }

    /// The pair, if it was used before.
    pub fn get(&self, from: StationId, to: StationId) -> Option<&Pair> {
        self.made.get(self.places[self.index(from, to)] as usize)
    }

    /// The pair, to change, if it was used before.
    pub fn known(&mut self, from: StationId, to: StationId) -> Option<&mut Pair> {
        let place = self.places[self.index(from, to)];
        self.made.get_mut(place as usize)
    }

    /// The pair, created at its first use; its link is among `links`.
    ///
    /// # Panics
    /// Panics if there is no such link: a station does not hear itself.
    #[inline]
    pub fn get_mut(&mut self, from: StationId, to: StationId, links: &Links) -> &mut Pair {
        let mut place = self.places[self.index(from, to)];
        if place == UNUSED {
            place = self.make(from, to, links);
        }
        &mut self.made[place as usize]
    }

    #[cold]
    fn make(&mut self, from: StationId, to: StationId, links: &Links) -> u32 {
        let link = links.link(from, to).expect("a station does not hear itself");
        let last_snr = link.snr;
        let link = Link::new(link, links.changes_of(from, to), self.fading(from, to));
        let [sender, receiver] = [from, to].map(|station| self.identities[station.index()]);
        let reception = self.seed.stream_of("cell/reception", sender.to(receiver));
        let index = self.index(from, to);
        let place = self.made.len() as u32;
        self.places[index] = place;
        let (header, body) = (Memo::EMPTY, Memo::EMPTY);
        self.made.push(Pair { link, reception, last_snr, header, body });
        place
    }

    /// Random stream of a pair's fading, the same in both directions.
    fn fading(&self, from: StationId, to: StationId) -> Stream {
        let [sender, receiver] = [from, to].map(|station| self.identities[station.index()]);
        self.seed.stream_of("cell/link", sender.beside(receiver))
    }

    fn index(&self, from: StationId, to: StationId) -> usize {
        from.index() * self.identities.len() + to.index()
    }
}
