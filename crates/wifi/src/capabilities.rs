//! What a station can send and receive, as it announces when it associates (IEEE
//! 802.11-2020, 9.4.1.4, 9.4.2.3 and 9.4.2.55). Two stations use what both can.
//!
//! Lengths are in bytes. Its bandwidths, spatial streams and guard intervals are those of
//! its rates. What it does with them (aggregates, windows, thresholds) is its
//! [`StationConfig`](crate::cell::StationConfig).

use crate::mac::rate::RateSet;
use crate::mac::sizes;
use crate::phy::{Band, ChannelWidth, PacketPadding, Rate};
use alloc::vec::Vec;

/// A PHY by what its PPDUs have behind the legacy preamble: who has a later one understands
/// those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// DSSS, CCK and OFDM.
    NonHt,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax.
    He,
}

impl Generation {
    /// Of PPDUs at this rate.
    pub const fn of(rate: Rate) -> Self {
        match rate {
            Rate::Dsss { .. } | Rate::Ofdm(_) | Rate::ErpOfdm(_) => Self::NonHt,
            Rate::Ht { .. } => Self::Ht,
            Rate::Vht { .. } => Self::Vht,
            Rate::He { .. } | Rate::HeExtendedRange { .. } => Self::He,
        }
    }
}

/// What a station can do; by default nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Rates that it can send and receive.
    pub rates: Vec<Rate>,
    /// QoS data frames, EDCA, and what is built upon them; plain DCF otherwise.
    pub qos: bool,
    /// Longest A-MPDU that it receives (maximum A-MPDU length exponent): 0 if none, up to
    /// 65 535 in 802.11n, 1 048 575 in 802.11ac, 6 500 631 in 802.11ax.
    pub ampdu_bytes_max: u32,
    /// Longest MPDU inside an A-MPDU: 4 095 in 802.11n (the delimiter's 12 bits), up to
    /// 11 454 in 802.11ac and ax.
    pub ampdu_mpdu_bytes_max: u32,
    /// Longest A-MSDU that it receives: 0 if none, 7 935 in 802.11n, in 802.11ac and ax what its
    /// longest MPDU has room for (table 9-25).
    pub amsdu_bytes_max: u16,
    /// Most MPDUs in the window of a Block Ack agreement: 0 if there is none, 64 in 802.11n
    /// and ac, 256 in 802.11ax, 1 024 in 802.11be.
    pub block_ack_window_max: u16,
    /// How long it needs for the last symbol of an HE PPDU: what is sent to it has a packet
    /// extension (nominal packet padding, IEEE 802.11ax-2021, 9.4.2.248). The same at every
    /// rate: it has no PPE thresholds.
    pub packet_padding: PacketPadding,
}

impl Capabilities {
    /// All that the newest PHY of these rates can do, with QoS frames or without: Block Ack
    /// and aggregates need them, and 802.11n. A-MPDUs are as long as 802.11n lets them be
    /// (9.4.2.55.3), 802.11ac (9.4.2.157.2), and 802.11ax (the longest PSDU, table 27-54 of
    /// IEEE 802.11ax-2021).
    pub fn new(rates: Vec<Rate>, qos: bool) -> Self {
        let bare = Self { rates, qos, ..Self::default() };
        let (ampdu_bytes_max, ampdu_mpdu_bytes_max, amsdu_bytes_max, block_ack_window_max) =
            match (bare.is_he(), bare.is_vht(), bare.is_ht()) {
                _ if !qos => (0, 0, 0, 0),
                (true, ..) => (6_500_631, sizes::VHT_MPDU_MAX, sizes::VHT_AMSDU_MAX, 256),
                (_, true, _) => (1_048_575, sizes::VHT_MPDU_MAX, sizes::VHT_AMSDU_MAX, 64),
                (.., true) => (65_535, sizes::AMPDU_MPDU_MAX, sizes::HT_AMSDU_MAX, 64),
                _ => (0, 0, 0, 0),
            };
        Self {
            ampdu_bytes_max,
            ampdu_mpdu_bytes_max,
            amsdu_bytes_max,
            block_ack_window_max,
            ..bare
        }
    }

    /// The same in a cell of this band: at 2.4 GHz an HE station's A-MPDUs have at most 2^19 - 1
    /// bytes, because it has no VHT capabilities there that would say more (IEEE 802.11ax-2021,
    /// 9.4.2.248.2; the clause itself was not seen).
    pub fn within(self, band: Band) -> Self {
        let most = match band {
            Band::Ghz2_4 => 524_287,
            Band::Ghz5 | Band::Ghz6 => u32::MAX,
        };
        Self { ampdu_bytes_max: self.ampdu_bytes_max.min(most), ..self }
    }

    /// It has rates of 802.11n.
    pub fn is_ht(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_ht())
    }

    /// It has rates of 802.11ac.
    pub fn is_vht(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_vht())
    }

    /// It has rates of 802.11ax.
    pub fn is_he(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_he())
    }

    /// It has rates of extended range.
    pub fn has_extended_range(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_extended_range())
    }

    /// What both can do; rates ascend, and are of the newest PHY that both have. How long a
    /// receiver needs is what `other` says: `self` sends to it.
    pub fn shared_with(&self, other: &Self) -> Self {
        let set = |capabilities: &Self| RateSet::new(capabilities.rates.iter().copied());
        let mut rates = set(self).intersection(&set(other)).rates;
        let newest = rates.iter().map(|rate| Generation::of(*rate)).max();
        rates.retain(|rate| Some(Generation::of(*rate)) == newest);
        Self {
            rates,
            qos: self.qos && other.qos,
            ampdu_bytes_max: self.ampdu_bytes_max.min(other.ampdu_bytes_max),
            ampdu_mpdu_bytes_max: self.ampdu_mpdu_bytes_max.min(other.ampdu_mpdu_bytes_max),
            amsdu_bytes_max: self.amsdu_bytes_max.min(other.amsdu_bytes_max),
            block_ack_window_max: self.block_ack_window_max.min(other.block_ack_window_max),
            packet_padding: other.packet_padding,
        }
    }

    /// The same with no wider rates than `width` and no more streams than these.
    pub fn within_mode(&self, width: ChannelWidth, streams: u8) -> Self {
        let mut rates = self.rates.clone();
        rates.retain(|rate| rate.width() <= width && rate.streams() <= streams);
        Self { rates, ..self.clone() }
    }

    /// Most spatial streams of its rates.
    pub fn streams(&self) -> u8 {
        self.rates.iter().map(|rate| rate.streams()).max().unwrap_or(1)
    }

    /// Its newest PHY.
    pub fn generation(&self) -> Generation {
        let generations = self.rates.iter().map(|rate| Generation::of(*rate));
        generations.max().unwrap_or(Generation::NonHt)
    }

    /// The widest channel that it uses.
    pub fn width(&self) -> ChannelWidth {
        self.rates.iter().map(|rate| rate.width()).max().unwrap_or(ChannelWidth::Mhz20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{GuardInterval, HeGuardInterval, OfdmRate};

    fn ht(width: ChannelWidth, streams: u8) -> Vec<Rate> {
        RateSet::ht(streams, width, false).rates
    }

    #[test]
    fn two_stations_use_what_both_can() {
        let mut wide = Capabilities::new(ht(ChannelWidth::Mhz40, 2), true);
        (wide.block_ack_window_max, wide.ampdu_bytes_max) = (256, 1_048_575);
        let narrow = Capabilities::new(ht(ChannelWidth::Mhz20, 1), true);
        assert_eq!((wide.width(), narrow.width()), (ChannelWidth::Mhz40, ChannelWidth::Mhz20));
        for shared in [wide.shared_with(&narrow), narrow.shared_with(&wide)] {
            let rates: Vec<_> = Rate::all_ht(ChannelWidth::Mhz20, GuardInterval::Long, 1).collect();
            assert_eq!(shared, Capabilities { rates, ..narrow.clone() });
        }
    }

    /// An access point of 802.11ax that can do 802.11n, too, sends to each at what is newest.
    #[test]
    fn pairs_have_the_newest_phy_of_both() {
        let of = |rates: Vec<Rate>| Capabilities::new(rates, true);
        let he = RateSet::he(2, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x).rates;
        let access_point = of([ht(ChannelWidth::Mhz40, 2), he.clone()].concat());
        let (newer, older) = (of(he), of(ht(ChannelWidth::Mhz20, 1)));
        let shared = access_point.shared_with(&newer);
        assert!(shared.rates.iter().all(|rate| rate.is_he()), "{:?}", shared.rates);
        assert_eq!((shared.width(), shared.block_ack_window_max), (ChannelWidth::Mhz80, 256));
        let shared = access_point.shared_with(&older);
        assert_eq!((shared.rates.len(), shared.width()), (8, ChannelWidth::Mhz20));
        assert!(shared.is_ht() && shared.block_ack_window_max == 64);
        assert_eq!(shared.ampdu_mpdu_bytes_max, 4_095);
        assert_eq!(access_point.generation(), Generation::He);
        assert_eq!(
            (newer.shared_with(&older).rates.len(), older.generation()),
            (0, Generation::Ht)
        );
    }

    /// Each limit is the lesser of the two, whichever station has it.
    #[test]
    fn every_limit_is_shared_for_itself() {
        let rates = ht(ChannelWidth::Mhz20, 1);
        let of = |qos,
                  (ampdu_bytes_max, ampdu_mpdu_bytes_max, amsdu_bytes_max),
                  block_ack_window_max| Capabilities {
            rates: rates.clone(),
            qos,
            ampdu_bytes_max,
            ampdu_mpdu_bytes_max,
            amsdu_bytes_max,
            block_ack_window_max,
            packet_padding: PacketPadding::None,
        };
        let most = of(true, (65_535, 11_454, 11_424), 256);
        for one in [
            most.clone(),
            of(false, (65_535, 11_454, 11_424), 256),
            of(true, (8_191, 11_454, 11_424), 256),
            of(true, (65_535, 4_095, 11_424), 256),
            of(true, (65_535, 11_454, 7_935), 256),
            of(true, (65_535, 11_454, 11_424), 64),
        ] {
            assert_eq!(one.shared_with(&most), one);
            assert_eq!(most.shared_with(&one), one);
        }
        let neither = of(false, (0, 0, 0), 0);
        assert_eq!(neither.shared_with(&neither), neither);
        // No rate in common.
        let old = Capabilities::new(OfdmRate::ALL.map(Rate::Ofdm).to_vec(), true);
        assert_eq!(old.shared_with(&most).rates, []);
        assert_eq!(
            (Capabilities::default().width(), old.width()),
            (ChannelWidth::Mhz20, ChannelWidth::Mhz20)
        );
    }

    #[test]
    fn block_ack_needs_802_11n_and_qos() {
        let old = OfdmRate::ALL.map(Rate::Ofdm).to_vec();
        let vht = RateSet::vht(2, ChannelWidth::Mhz80, true).rates;
        let he = RateSet::he(2, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x).rates;
        for (rates, limits) in [
            (old, (0, 0, 0, 0)),
            (ht(ChannelWidth::Mhz20, 1), (65_535, 4_095, 7_935, 64)),
            (vht.clone(), (1_048_575, 11_454, 11_424, 64)),
            ([ht(ChannelWidth::Mhz20, 1), vht].concat(), (1_048_575, 11_454, 11_424, 64)),
            (he, (6_500_631, 11_454, 11_424, 256)),
        ] {
            for (qos, limits) in [(true, limits), (false, (0, 0, 0, 0))] {
                let of = Capabilities::new(rates.clone(), qos);
                let (single, window) = (of.amsdu_bytes_max, of.block_ack_window_max);
                let ours = (of.ampdu_bytes_max, of.ampdu_mpdu_bytes_max, single, window);
                assert_eq!(ours, limits, "{qos} {:?}", rates.last());
            }
        }
    }
}
