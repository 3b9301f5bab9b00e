//! Timing that the PHY gives to the MAC: slots, interframe spaces, contention windows (IEEE
//! 802.11-2020: 15.3.3, 16.3.4, 17.4.4, 18.5.4, 19.4.4; derived intervals: 10.3.2.3).
//!
//! A cell has one timing. Left out: RIFS, PCF, coverage classes (air
//! propagation time above zero), and half and quarter clocked OFDM.

use super::{Band, ChannelWidth, Preamble, Rate};
use core::fmt;
use lasthop_units::Duration;

/// Length of an Ack frame in octets, FCS included (9.3.1.4).
const ACK_BYTES: u32 = 14;

/// Generation of a cell: the PHY clause that its stations follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standard {
    /// HR/DSSS at 2.4 GHz (clause 16).
    Dot11b,
    /// ERP at 2.4 GHz (clause 18).
    Dot11g,
    /// OFDM at 5 GHz (clause 17).
    Dot11a,
    /// HT at 2.4 or 5 GHz (clause 19).
    Dot11n,
    /// VHT at 5 GHz (clause 21).
    Dot11ac,
    /// HE at 2.4, 5 or 6 GHz (IEEE 802.11ax-2021, clause 27).
    Dot11ax,
    /// EHT at 2.4, 5 or 6 GHz (IEEE 802.11be-2024, clause 36), on one link.
    Dot11be,
}

impl Standard {
    /// Whether the standard exists in `band`.
    #[inline]
    pub const fn works_in(self, band: Band) -> bool {
        match self {
            Self::Dot11b | Self::Dot11g => matches!(band, Band::Ghz2_4),
            Self::Dot11a => matches!(band, Band::Ghz5),
            Self::Dot11n => matches!(band, Band::Ghz2_4 | Band::Ghz5),
            Self::Dot11ac => matches!(band, Band::Ghz5),
            Self::Dot11ax | Self::Dot11be => true,
        }
    }

    /// Whether its stations have Block Ack and A-MPDUs: 802.11n and later.
    #[inline]
    pub const fn has_block_ack(self) -> bool {
        matches!(self, Self::Dot11n | Self::Dot11ac | Self::Dot11ax | Self::Dot11be)
    }

    /// Whether its stations understand HE PPDUs: 802.11ax and later.
    #[inline]
    pub const fn is_he(self) -> bool {
        matches!(self, Self::Dot11ax | Self::Dot11be)
    }

    /// The widest channel of the generation; [`Standard::width_max_in`] has that of a band.
    #[inline]
    pub const fn width_max(self) -> ChannelWidth {
        match self {
            Self::Dot11b | Self::Dot11g | Self::Dot11a => ChannelWidth::Mhz20,
            Self::Dot11n => ChannelWidth::Mhz40,
            Self::Dot11ac | Self::Dot11ax => ChannelWidth::Mhz160,
            Self::Dot11be => ChannelWidth::Mhz320,
        }
    }

    /// The widest channel of the generation in `band`: 320 MHz exist at 6 GHz only.
    #[inline]
    pub const fn width_max_in(self, band: Band) -> ChannelWidth {
        match (self.width_max(), band) {
            (ChannelWidth::Mhz320, Band::Ghz2_4 | Band::Ghz5) => ChannelWidth::Mhz160,
            (width, _) => width,
        }
    }

    /// Highest number of spatial streams: 1 before 802.11n, 4 in it, then 8.
    #[inline]
    pub const fn streams_max(self) -> u8 {
        match self {
            Self::Dot11b | Self::Dot11g | Self::Dot11a => 1,
            Self::Dot11n => 4,
            Self::Dot11ac | Self::Dot11ax | Self::Dot11be => Rate::STREAMS_MAX,
        }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dot11b => "802.11b",
            Self::Dot11g => "802.11g",
            Self::Dot11a => "802.11a",
            Self::Dot11n => "802.11n",
            Self::Dot11ac => "802.11ac",
            Self::Dot11ax => "802.11ax",
            Self::Dot11be => "802.11be",
        })
    }
}

/// Timing of a cell.
///
/// ```
/// use lasthop_units::Duration;
/// use lasthop_wifi_phy::{Band, Standard, Timing};
///
/// let timing = Timing::new(Standard::Dot11n, Band::Ghz5);
/// assert_eq!(timing.aifs(3), timing.sifs + timing.slot * 3);
/// assert_eq!(timing.aifs(3), Duration::from_micros(43));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// aSlotTime: 9 or 20 us.
    pub slot: Duration,
    /// aSIFSTime: 10 us at 2.4 GHz, 16 us at 5 and 6 GHz.
    pub sifs: Duration,
    /// aCWmin in slots: 15, or 31 for DSSS and CCK.
    pub cw_min: u16,
    /// aCWmax in slots: 1023.
    pub cw_max: u16,
}

impl Timing {
    /// Returns the timing of a cell of `standard` stations in `band`, with short slots where the
    /// standard has them.
    ///
    /// `band` matters for [`Standard::Dot11n`] and from [`Standard::Dot11ax`] on; the others have one band
    /// each (see [`Standard::works_in`]).
    pub const fn new(standard: Standard, band: Band) -> Self {
        let (slot_us, sifs_us, cw_min) = match (standard, band) {
            (Standard::Dot11b, _) => (20, 10, 31),
            (Standard::Dot11g, _)
            | (Standard::Dot11n | Standard::Dot11ax | Standard::Dot11be, Band::Ghz2_4) => {
                (9, 10, 15)
            }
            (Standard::Dot11a | Standard::Dot11ac, _)
            | (Standard::Dot11n | Standard::Dot11ax | Standard::Dot11be, Band::Ghz5 | Band::Ghz6) => {
                (9, 16, 15)
            }
        };
        Self {
            slot: Duration::from_micros(slot_us),
            sifs: Duration::from_micros(sifs_us),
            cw_min,
            cw_max: 1023,
        }
    }

    /// Returns the same timing with the long slot of 20 us, for 2.4 GHz cells with 802.11b stations
    /// (18.5.4).
    #[inline]
    pub const fn with_long_slot(self) -> Self {
        Self { slot: Duration::from_micros(20), ..self }
    }

    /// PIFS = SIFS + one slot.
    #[inline]
    pub fn pifs(&self) -> Duration {
        self.sifs + self.slot
    }

    /// DIFS = SIFS + two slots.
    #[inline]
    pub fn difs(&self) -> Duration {
        self.aifs(2)
    }

    /// AIFS = SIFS + `aifsn` slots (10.3.2.3.6).
    #[inline]
    pub fn aifs(&self, aifsn: u8) -> Duration {
        self.sifs + self.slot * u64::from(aifsn)
    }

    /// EIFS = SIFS + DIFS + duration of an Ack at the lowest mandatory rate (10.3.2.3.7). With
    /// EDCA, AIFS replaces the DIFS, so the value is `eifs - difs + aifs`.
    #[inline]
    pub fn eifs(&self, lowest: Rate, band: Band) -> Duration {
        self.sifs + self.difs() + lowest.ppdu_duration(ACK_BYTES, band)
    }

    /// Time from the end of its PPDU for which a sender waits for the first sign of a response sent
    /// at `response` (10.3.2.11): SIFS + slot + aRxPHYStartDelay.
    #[inline]
    pub fn response_timeout(&self, response: Rate) -> Duration {
        self.sifs + self.slot + Self::rx_phy_start_delay(response)
    }

    /// aRxPHYStartDelay: from the start of a PPDU at the antenna to PHY-RXSTART.indication. DSSS
    /// and CCK: 192 us (long preamble) or 96 us (table 16-4); OFDM and ERP-OFDM: 20 us (tables
    /// 17-21, 18-5); HT-mixed: 28 us, the end of HT-SIG (table 19-25); VHT: 72 us, with the most
    /// VHT-LTFs that there are (table 21-28); HE SU: 32 us, the end of HE-SIG-A, and extended range
    /// 40 us (IEEE 802.11ax-2021, table 27-54); EHT MU: 32 us, the end of U-SIG (IEEE 802.11be-2024,
    /// 36.4). The sources for VHT and HE are quotations of the
    /// tables; for extended range and EHT there was none.
    #[inline]
    pub fn rx_phy_start_delay(rate: Rate) -> Duration {
        Duration::from_micros(match rate {
            Rate::Dsss { preamble: Preamble::Short, rate } if rate != super::DsssRate::Mbps1 => 96,
            Rate::Dsss { .. } => 192,
            Rate::Ofdm(_) | Rate::ErpOfdm(_) => 20,
            Rate::Ht { .. } => 28,
            Rate::Vht { .. } => 36 + 4 * 8 + 4,
            Rate::He { .. } => 32,
            Rate::HeExtendedRange { .. } => 40,
            Rate::Eht { .. } => 32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DsssRate, HeGuardInterval, OfdmRate};

    #[test]
    fn intervals_everybody_knows() {
        let us = Duration::from_micros;
        let b = Timing::new(Standard::Dot11b, Band::Ghz2_4);
        let g = Timing::new(Standard::Dot11g, Band::Ghz2_4);
        let a = Timing::new(Standard::Dot11a, Band::Ghz5);
        let n = Timing::new(Standard::Dot11n, Band::Ghz2_4);
        assert_eq!((b.difs(), g.difs(), a.difs()), (us(50), us(28), us(34)));
        assert_eq!((b.pifs(), a.pifs(), n.aifs(3)), (us(30), us(25), us(37)));
        assert_eq!((b.cw_min, g.cw_min, a.cw_min, n.cw_max), (31, 15, 15, 1023));
        assert_eq!(g.with_long_slot().difs(), us(50));
        assert_eq!(Timing::new(Standard::Dot11n, Band::Ghz5), a);
        // 802.11b: 10 + 50 + 304; 802.11a: 16 + 34 + 44.
        let mbps_1 = Rate::Dsss { rate: DsssRate::Mbps1, preamble: Preamble::Long };
        assert_eq!(b.eifs(mbps_1, Band::Ghz2_4), us(364));
        assert_eq!(a.eifs(Rate::Ofdm(OfdmRate::Mbps6), Band::Ghz5), us(94));
        assert_eq!(a.response_timeout(Rate::Ofdm(OfdmRate::Mbps24)), us(45));
        assert_eq!(b.response_timeout(mbps_1), us(222));
        assert_eq!(Timing::new(Standard::Dot11n, Band::Ghz6), a);
        let guard_interval = HeGuardInterval::Ns800Ltf2x;
        let he = Rate::he(0, 1, ChannelWidth::Mhz20, guard_interval, false).expect("a rate");
        assert_eq!(Timing::rx_phy_start_delay(he), us(32));
    }

    #[test]
    fn bands() {
        assert!(!Standard::Dot11g.works_in(Band::Ghz5) && !Standard::Dot11a.works_in(Band::Ghz2_4));
        assert!(Standard::Dot11n.works_in(Band::Ghz2_4) && Standard::Dot11n.works_in(Band::Ghz5));
        // HE only; its intervals are those of 5 GHz.
        assert!(!Standard::Dot11n.works_in(Band::Ghz6) && !Standard::Dot11a.works_in(Band::Ghz6));
    }
}
