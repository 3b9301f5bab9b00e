//! What a station can send and receive, as it tells the others when it associates (IEEE
//! 802.11-2020, 9.4.1.4, 9.4.2.3 and 9.4.2.55). Two stations use what both can.
//!
//! Lengths are in bytes. Its bandwidths, spatial streams and guard intervals are those of
//! its rates. What it does with them (aggregates, windows, thresholds) is its
//! [`StationConfig`](crate::cell::StationConfig).

use crate::mac::rate::RateSet;
use crate::phy::{ChannelWidth, Rate};
use alloc::vec::Vec;

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
    /// 11 454 in 802.11ac.
    pub ampdu_mpdu_bytes_max: u32,
    /// Most MPDUs in the window of a Block Ack agreement: 0 if there is none, 64 in 802.11n
    /// and ac, 256 in 802.11ax, 1 024 in 802.11be.
    pub block_ack_window_max: u16,
}

impl Capabilities {
    /// Of the PHY of these rates, 802.11n's if one of them is, with QoS frames or without:
    /// Block Ack and aggregates need both.
    pub fn new(rates: Vec<Rate>, qos: bool) -> Self {
        let bare = Self { rates, qos, ..Self::default() };
        let (ampdu_bytes_max, ampdu_mpdu_bytes_max, block_ack_window_max) =
            match bare.is_ht() && qos {
                true => (65_535, 4_095, 64),
                false => (0, 0, 0),
            };
        Self { ampdu_bytes_max, ampdu_mpdu_bytes_max, block_ack_window_max, ..bare }
    }

    /// It has rates of 802.11n.
    pub fn is_ht(&self) -> bool {
        self.rates.iter().any(|rate| rate.is_ht())
    }

    /// What both can do; rates ascend.
    pub fn shared_with(&self, other: &Self) -> Self {
        let set = |capabilities: &Self| RateSet::new(capabilities.rates.iter().copied());
        Self {
            rates: set(self).intersection(&set(other)).rates,
            qos: self.qos && other.qos,
            ampdu_bytes_max: self.ampdu_bytes_max.min(other.ampdu_bytes_max),
            ampdu_mpdu_bytes_max: self.ampdu_mpdu_bytes_max.min(other.ampdu_mpdu_bytes_max),
            block_ack_window_max: self.block_ack_window_max.min(other.block_ack_window_max),
        }
    }

    /// The widest channel that it uses.
    pub fn width(&self) -> ChannelWidth {
        self.rates.iter().map(|rate| rate.width()).max().unwrap_or(ChannelWidth::Mhz20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{GuardInterval, OfdmRate};

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

    /// Each limit is the lesser of the two, whichever station has it.
    #[test]
    fn every_limit_is_shared_for_itself() {
        let rates = ht(ChannelWidth::Mhz20, 1);
        let of = |qos, ampdu_bytes_max, ampdu_mpdu_bytes_max, block_ack_window_max| Capabilities {
            rates: rates.clone(),
            qos,
            ampdu_bytes_max,
            ampdu_mpdu_bytes_max,
            block_ack_window_max,
        };
        let most = of(true, 65_535, 11_454, 256);
        for one in [
            most.clone(),
            of(false, 65_535, 11_454, 256),
            of(true, 8_191, 11_454, 256),
            of(true, 65_535, 4_095, 256),
            of(true, 65_535, 11_454, 64),
        ] {
            assert_eq!(one.shared_with(&most), one);
            assert_eq!(most.shared_with(&one), one);
        }
        let neither = of(false, 0, 0, 0);
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
        for (rates, qos, window) in [
            (ht(ChannelWidth::Mhz20, 1), true, 64),
            (ht(ChannelWidth::Mhz20, 1), false, 0),
            (old.clone(), true, 0),
            (old, false, 0),
        ] {
            let capabilities = Capabilities::new(rates, qos);
            assert_eq!(capabilities.block_ack_window_max, window);
            assert_eq!(capabilities.ampdu_bytes_max > 0, window > 0);
        }
    }
}
