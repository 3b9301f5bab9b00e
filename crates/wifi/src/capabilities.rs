//! Capabilities of a station in sending and receiving, as it announces them when it associates
//! (IEEE 802.11-2020, 9.4.1.4, 9.4.2.3 and 9.4.2.55). Two stations use the capabilities that they
//! share.
//!
//! Lengths are in bytes. The rates determine bandwidths, spatial streams and guard intervals.
//! [`StationConfig`](crate::cell::StationConfig) determines the use of the capabilities:
//! aggregates, windows, thresholds.

use crate::mac::rate::RateSet;
use crate::mac::sizes::{self, Encryption};
use crate::phy::{Band, ChannelWidth, OperatingMode, PacketPadding, Rate};
use alloc::vec::Vec;

/// Generation of a PHY, by the fields of its PPDUs after the legacy preamble: a station of a later
/// one understands those of the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// DSSS, CCK and OFDM of 802.11a, b and g.
    NonHt,
    /// HT of 802.11n.
    Ht,
    /// VHT of 802.11ac.
    Vht,
    /// HE of 802.11ax.
    He,
    /// EHT of 802.11be.
    Eht,
}

impl Generation {
    /// Returns the generation of PPDUs at this rate.
    pub const fn from_rate(rate: Rate) -> Self {
        match rate {
            Rate::Dsss { .. } | Rate::Ofdm(_) | Rate::ErpOfdm(_) => Self::NonHt,
            Rate::Ht { .. } => Self::Ht,
            Rate::Vht { .. } => Self::Vht,
            Rate::He { .. } | Rate::HeExtendedRange { .. } => Self::He,
            Rate::Eht { .. } => Self::Eht,
        }
    }
}

/// Longest PSDU of EHT in octets (IEEE 802.11be-2024, 36.4).
const EHT_PSDU_MAX: u32 = 15_523_200;

/// Capabilities of a station; the default has none.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Rates that the station can send and receive.
    pub rates: Vec<Rate>,
    /// Whether the station has QoS data frames, EDCA and the mechanisms based on them; otherwise it
    /// has plain DCF.
    pub qos: bool,
    /// Longest A-MPDU that the station receives (maximum A-MPDU length exponent): 0 for none, up to
    /// 65 535 in 802.11n, 1 048 575 in 802.11ac, 6 500 631 in 802.11ax, 15 523 200 in 802.11be.
    pub ampdu_bytes_max: u32,
    /// Longest MPDU inside an A-MPDU: 4 095 in 802.11n (the delimiter's 12 bits), up to
    /// 11 454 in 802.11ac, ax and be.
    pub ampdu_mpdu_bytes_max: u32,
    /// Longest A-MSDU that the station receives: 0 for none, 7 935 in 802.11n; in 802.11ac, ax and be
    /// the longest that fits into an MPDU (table 9-25).
    pub amsdu_bytes_max: u16,
    /// Largest window of a Block Ack agreement in MPDUs: 0 without agreements, 64 in 802.11n and
    /// ac, 256 in 802.11ax, 1 024 in 802.11be.
    pub block_ack_window_max: u16,
    /// Time needed by the station for the last symbol of an HE PPDU, which determines the packet
    /// extension of PPDUs to the station (nominal packet padding, IEEE 802.11ax-2021, 9.4.2.248).
    /// The time is the same at every rate: PPE thresholds are left out.
    pub packet_padding: PacketPadding,
    /// Encryption of the station's data; all stations of a set have the same.
    pub encryption: Encryption,
}

impl Capabilities {
    /// Returns all capabilities of the newest PHY of these rates. Block Ack and aggregates need QoS
    /// frames (`qos`) and rates of 802.11n or later. A-MPDUs have the longest length of 802.11n
    /// (9.4.2.55.3), 802.11ac (9.4.2.157.2), 802.11ax (the longest PSDU, table 27-54 of IEEE
    /// 802.11ax-2021), or 802.11be (likewise, IEEE 802.11be-2024, 36.4).
    pub fn new(rates: Vec<Rate>, qos: bool) -> Self {
        let bare = Self { rates, qos, ..Self::default() };
        let (ampdu_bytes_max, ampdu_mpdu_bytes_max, amsdu_bytes_max, block_ack_window_max) =
            match (bare.is_he(), bare.is_vht(), bare.is_ht()) {
                _ if !qos => (0, 0, 0, 0),
                _ if bare.is_eht() => {
                    (EHT_PSDU_MAX, sizes::VHT_MPDU_MAX, sizes::VHT_AMSDU_MAX, 1_024)
                }
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

    /// Returns the capabilities in a cell of this band. At 2.4 GHz an HE or EHT station's A-MPDUs have at
    /// most 2^19 - 1 bytes, because only VHT capabilities, which it lacks there, could announce
    /// more (IEEE 802.11ax-2021, 9.4.2.248.2; the clause itself was not seen).
    pub fn within(self, band: Band) -> Self {
        let most = match band {
            Band::Ghz2_4 => 524_287,
            Band::Ghz5 | Band::Ghz6 => u32::MAX,
        };
        Self { ampdu_bytes_max: self.ampdu_bytes_max.min(most), ..self }
    }

    /// Whether the station has rates of 802.11n.
    pub fn is_ht(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_ht())
    }

    /// Whether the station has rates of 802.11ac.
    pub fn is_vht(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_vht())
    }

    /// Whether the station has rates of 802.11ax.
    pub fn is_he(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_he())
    }

    /// Whether the station has rates of 802.11be.
    pub fn is_eht(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_eht())
    }

    /// Whether the station has rates of 802.11ax or 802.11be, and so understands Trigger frames and
    /// BSS colours.
    pub fn is_he_or_later(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_he() || rate.is_eht())
    }

    /// Whether these capabilities include operating modes: those of 802.11ac, ax or be, with QoS
    /// frames.
    pub fn has_operating_modes(&self) -> bool {
        (self.is_vht() || self.is_he_or_later()) && self.qos
    }

    /// Returns the mode that uses all of the capabilities.
    pub fn operating_mode(&self) -> OperatingMode {
        let streams = self.streams();
        OperatingMode {
            width: self.width(),
            receive_streams: streams,
            transmit_streams: streams,
            uplink_ofdma: true,
        }
    }

    /// Whether a station with these capabilities can have the mode: the station is of 802.11ac,
    /// ax or be, and only those of the latter two answer Trigger frames.
    pub fn allow(&self, mode: &OperatingMode) -> bool {
        let streams = 1..=self.streams();
        self.has_operating_modes()
            && mode.width <= self.width()
            && streams.contains(&mode.receive_streams)
            && streams.contains(&mode.transmit_streams)
            && (mode.uplink_ofdma || self.is_he_or_later())
    }

    /// Whether the station has rates of extended range.
    pub fn has_extended_range(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_extended_range())
    }

    /// Returns the capabilities that both have; rates ascend, and are of the newest PHY that both
    /// have. The packet padding is that of `other`, the receiver.
    pub fn shared_with(&self, other: &Self) -> Self {
        let set = |capabilities: &Self| RateSet::new(capabilities.rates.iter().copied());
        let mut rates = set(self).intersection(&set(other)).rates;
        let newest = rates.iter().map(|rate| Generation::from_rate(*rate)).max();
        rates.retain(|rate| Some(Generation::from_rate(*rate)) == newest);
        Self {
            rates,
            qos: self.qos && other.qos,
            ampdu_bytes_max: self.ampdu_bytes_max.min(other.ampdu_bytes_max),
            ampdu_mpdu_bytes_max: self.ampdu_mpdu_bytes_max.min(other.ampdu_mpdu_bytes_max),
            amsdu_bytes_max: self.amsdu_bytes_max.min(other.amsdu_bytes_max),
            block_ack_window_max: self.block_ack_window_max.min(other.block_ack_window_max),
            packet_padding: other.packet_padding,
            encryption: self.encryption,
        }
    }

    /// Octets of an MPDU beside its network-layer packet.
    pub fn mpdu_overhead(&self) -> u32 {
        sizes::mpdu(0, self.qos) + self.encryption.bytes()
    }

    /// Returns the capabilities without rates wider than `width` or with more than `streams`
    /// streams.
    pub fn within_mode(&self, width: ChannelWidth, streams: u8) -> Self {
        let mut rates = self.rates.clone();
        rates.retain(|rate| rate.width() <= width && rate.streams() <= streams);
        Self { rates, ..self.clone() }
    }

    /// Highest number of spatial streams of the rates.
    pub fn streams(&self) -> u8 {
        self.rates.iter().map(|rate| rate.streams()).max().unwrap_or(1)
    }

    /// Newest PHY of the station.
    pub fn generation(&self) -> Generation {
        let generations = self.rates.iter().map(|rate| Generation::from_rate(*rate));
        generations.max().unwrap_or(Generation::NonHt)
    }

    /// Width of the widest rate.
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

    /// An access point of 802.11ax with rates of 802.11n sends to each station with the newest PHY
    /// of both.
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

    /// Each shared limit is the lesser of the two, in either direction.
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
            encryption: Encryption::None,
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
        let eht = RateSet::eht(2, ChannelWidth::Mhz320, HeGuardInterval::Ns800Ltf2x).rates;
        for (rates, limits) in [
            (old, (0, 0, 0, 0)),
            (ht(ChannelWidth::Mhz20, 1), (65_535, 4_095, 7_935, 64)),
            (vht.clone(), (1_048_575, 11_454, 11_424, 64)),
            ([ht(ChannelWidth::Mhz20, 1), vht].concat(), (1_048_575, 11_454, 11_424, 64)),
            (he.clone(), (6_500_631, 11_454, 11_424, 256)),
            ([he, eht].concat(), (15_523_200, 11_454, 11_424, 1_024)),
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
