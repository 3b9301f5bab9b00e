//! How a PPDU is sent: the rates of DSSS and CCK (IEEE 802.11-2020, clauses 15
//! and 16), OFDM (17), ERP-OFDM (18) and HT-mixed (19), and what follows from a
//! rate alone: modulation, code rate, streams, data bits per symbol, data rate.
//!
//! HT: MCS 0 to 31 (equal modulation on one to four streams), 20 and 40 MHz,
//! both guard intervals, BCC. Left out: MCS 32 and unequal modulation,
//! greenfield, LDPC, STBC, PBCC, DSSS-OFDM, half and quarter clocked OFDM.
//! How long a PPDU takes is in `airtime`.

use core::fmt;
use lasthop_units::Bitrate;

/// The frequency band of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz: ERP-OFDM and HT PPDUs end with a 6 us signal extension.
    Ghz2_4,
    /// 5 GHz: PPDUs end with their last symbol.
    Ghz5,
}

/// The width of a channel, or of the part of it that a PPDU occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelWidth {
    /// 20 MHz: the primary channel alone.
    Mhz20,
    /// 40 MHz: primary and secondary channel (HT only).
    Mhz40,
}

/// HT guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 800 ns, of a symbol of 4 us.
    Long,
    /// 400 ns, of a symbol of 3.6 us.
    Short,
}

/// DSSS and CCK preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preamble {
    /// 144 + 48 us.
    Long,
    /// 72 + 24 us; not at 1 Mb/s.
    Short,
}

/// DSSS and CCK data rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DsssRate {
    /// 1 Mb/s DBPSK.
    Mbps1,
    /// 2 Mb/s DQPSK.
    Mbps2,
    /// 5.5 Mb/s CCK.
    Mbps5_5,
    /// 11 Mb/s CCK.
    Mbps11,
}

/// OFDM and ERP-OFDM data rates at 20 MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OfdmRate {
    /// BPSK 1/2.
    Mbps6,
    /// BPSK 3/4.
    Mbps9,
    /// QPSK 1/2.
    Mbps12,
    /// QPSK 3/4.
    Mbps18,
    /// 16-QAM 1/2.
    Mbps24,
    /// 16-QAM 3/4.
    Mbps36,
    /// 64-QAM 2/3.
    Mbps48,
    /// 64-QAM 3/4.
    Mbps54,
}

/// How a PPDU is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rate {
    /// DSSS or CCK (clauses 15 and 16).
    Dsss {
        /// Data rate of the PSDU.
        rate: DsssRate,
        /// Preamble of the PPDU; 1 Mb/s has the long one only.
        preamble: Preamble,
    },
    /// OFDM (clause 17), 5 GHz.
    Ofdm(OfdmRate),
    /// ERP-OFDM (clause 18), 2.4 GHz.
    ErpOfdm(OfdmRate),
    /// HT-mixed (clause 19).
    Ht {
        /// MCS index, 0 to 31: one to four equal streams.
        mcs: u8,
        /// The width that the PPDU occupies.
        width: ChannelWidth,
        /// The guard interval of its data symbols.
        guard_interval: GuardInterval,
    },
}

/// What one subcarrier carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// BPSK: one coded bit per subcarrier.
    Bpsk,
    /// QPSK: two coded bits per subcarrier.
    Qpsk,
    /// 16-QAM: four coded bits per subcarrier.
    Qam16,
    /// 64-QAM: six coded bits per subcarrier.
    Qam64,
}

/// Rate of the (punctured) binary convolutional code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeRate {
    /// 1/2, not punctured.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

impl Modulation {
    /// Coded bits per subcarrier (N_BPSCS): 1, 2, 4 or 6.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
        }
    }
}

impl CodeRate {
    /// Numerator and denominator.
    pub const fn ratio(self) -> (u32, u32) {
        match self {
            Self::Half => (1, 2),
            Self::TwoThirds => (2, 3),
            Self::ThreeQuarters => (3, 4),
            Self::FiveSixths => (5, 6),
        }
    }
}

impl ChannelWidth {
    /// Width in hertz.
    pub const fn as_hz(self) -> u64 {
        match self {
            Self::Mhz20 => 20_000_000,
            Self::Mhz40 => 40_000_000,
        }
    }

    /// Data subcarriers of an HT symbol (N_SD, 19.3.6): 52 or 108.
    const fn ht_data_subcarriers(self) -> u32 {
        match self {
            Self::Mhz20 => 52,
            Self::Mhz40 => 108,
        }
    }
}

impl DsssRate {
    /// All, ascending.
    pub const ALL: [Self; 4] = [Self::Mbps1, Self::Mbps2, Self::Mbps5_5, Self::Mbps11];

    /// Data rate.
    pub const fn bitrate(self) -> Bitrate {
        Bitrate::from_kbps(match self {
            Self::Mbps1 => 1_000,
            Self::Mbps2 => 2_000,
            Self::Mbps5_5 => 5_500,
            Self::Mbps11 => 11_000,
        })
    }
}

impl OfdmRate {
    /// All, ascending.
    pub const ALL: [Self; 8] = [
        Self::Mbps6,
        Self::Mbps9,
        Self::Mbps12,
        Self::Mbps18,
        Self::Mbps24,
        Self::Mbps36,
        Self::Mbps48,
        Self::Mbps54,
    ];

    /// Data rate.
    pub const fn bitrate(self) -> Bitrate {
        // N_DBPS bits every 4 us.
        Bitrate::from_kbps(self.data_bits_per_symbol() as u64 * 250)
    }

    /// Modulation and code rate (table 17-4).
    pub const fn modulation(self) -> (Modulation, CodeRate) {
        match self {
            Self::Mbps6 => (Modulation::Bpsk, CodeRate::Half),
            Self::Mbps9 => (Modulation::Bpsk, CodeRate::ThreeQuarters),
            Self::Mbps12 => (Modulation::Qpsk, CodeRate::Half),
            Self::Mbps18 => (Modulation::Qpsk, CodeRate::ThreeQuarters),
            Self::Mbps24 => (Modulation::Qam16, CodeRate::Half),
            Self::Mbps36 => (Modulation::Qam16, CodeRate::ThreeQuarters),
            Self::Mbps48 => (Modulation::Qam64, CodeRate::TwoThirds),
            Self::Mbps54 => (Modulation::Qam64, CodeRate::ThreeQuarters),
        }
    }

    /// Data bits per OFDM symbol (N_DBPS): 24 to 216.
    pub const fn data_bits_per_symbol(self) -> u32 {
        let (modulation, code) = self.modulation();
        let (numerator, denominator) = code.ratio();
        OFDM_DATA_SUBCARRIERS * modulation.bits() * numerator / denominator
    }
}

/// Data subcarriers of a clause 17 symbol (N_SD).
const OFDM_DATA_SUBCARRIERS: u32 = 48;

/// Modulation and code rate of an HT MCS index modulo 8 (tables 19-27 to 19-34).
const HT_MODULATION: [(Modulation, CodeRate); 8] = [
    (Modulation::Bpsk, CodeRate::Half),
    (Modulation::Qpsk, CodeRate::Half),
    (Modulation::Qpsk, CodeRate::ThreeQuarters),
    (Modulation::Qam16, CodeRate::Half),
    (Modulation::Qam16, CodeRate::ThreeQuarters),
    (Modulation::Qam64, CodeRate::TwoThirds),
    (Modulation::Qam64, CodeRate::ThreeQuarters),
    (Modulation::Qam64, CodeRate::FiveSixths),
];

impl Rate {
    /// Highest HT MCS index modelled.
    pub const MCS_MAX: u8 = 31;

    /// HT rate, or `None` if `mcs` is above [`Rate::MCS_MAX`].
    pub const fn ht(mcs: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Option<Self> {
        if mcs > Self::MCS_MAX {
            return None;
        }
        Some(Self::Ht { mcs, width, guard_interval })
    }

    /// HT rates of one to `streams_max` streams (at most 4) in MCS order.
    pub fn all_ht(
        width: ChannelWidth,
        guard_interval: GuardInterval,
        streams_max: u8,
    ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..streams_max.min(4) * 8).map(move |mcs| Self::Ht { mcs, width, guard_interval })
    }

    /// Data rate; with the short guard interval rounded down to a whole bit/s
    /// (MCS 0 at 20 MHz: 65/9 Mb/s).
    pub fn bitrate(self) -> Bitrate {
        match self {
            Self::Dsss { rate, .. } => rate.bitrate(),
            Self::Ofdm(rate) | Self::ErpOfdm(rate) => rate.bitrate(),
            Self::Ht { guard_interval, .. } => {
                let bits = u64::from(self.data_bits_per_symbol());
                let symbol_ns = match guard_interval {
                    GuardInterval::Long => 4_000,
                    GuardInterval::Short => 3_600,
                };
                Bitrate::from_bps(bits * 1_000_000_000 / symbol_ns)
            }
        }
    }

    /// The data rate in whole kb/s, as drivers reckon.
    pub fn kbps(self) -> u32 {
        (self.bitrate().as_bps() / 1_000) as u32
    }

    /// Spatial streams: 1 to 4.
    pub const fn streams(self) -> u8 {
        match self {
            Self::Ht { mcs, .. } => mcs / 8 + 1,
            _ => 1,
        }
    }

    /// Channel width: 20 MHz for everything that is not HT (the 22 MHz of DSSS
    /// count as 20).
    pub const fn width(self) -> ChannelWidth {
        match self {
            Self::Ht { width, .. } => width,
            _ => ChannelWidth::Mhz20,
        }
    }

    /// Modulation and code rate; `None` for DSSS and CCK.
    pub const fn modulation(self) -> Option<(Modulation, CodeRate)> {
        match self {
            Self::Dsss { .. } => None,
            Self::Ofdm(rate) | Self::ErpOfdm(rate) => Some(rate.modulation()),
            Self::Ht { mcs, .. } => Some(HT_MODULATION[(mcs % 8) as usize]),
        }
    }

    /// Data bits per OFDM symbol over all streams (N_DBPS): 24 to 2160.
    ///
    /// # Panics
    ///
    /// For DSSS and CCK, which have no OFDM symbols.
    pub const fn data_bits_per_symbol(self) -> u32 {
        match self {
            Self::Dsss { .. } => panic!("DSSS has no OFDM symbols"),
            Self::Ofdm(rate) | Self::ErpOfdm(rate) => rate.data_bits_per_symbol(),
            Self::Ht { mcs, width, .. } => {
                let (modulation, code) = HT_MODULATION[(mcs % 8) as usize];
                let (numerator, denominator) = code.ratio();
                let coded = width.ht_data_subcarriers() * modulation.bits() * self.streams() as u32;
                coded * numerator / denominator
            }
        }
    }

    /// The rate that control responses and duration rules go by: for an HT MCS
    /// the OFDM rate of the same modulation whose code rate is the nearest
    /// (10.6.11, non-HT reference rate), for anything else itself. It is given
    /// as [`Rate::Ofdm`] for both bands: at 2.4 GHz it stands for the ERP-OFDM
    /// rate of the same speed, and is compared, never sent.
    pub const fn non_ht_reference(self) -> Self {
        let Self::Ht { mcs, .. } = self else { return self };
        Self::Ofdm(match HT_MODULATION[(mcs % 8) as usize] {
            (Modulation::Bpsk, CodeRate::Half) => OfdmRate::Mbps6,
            (Modulation::Bpsk, _) => OfdmRate::Mbps9,
            (Modulation::Qpsk, CodeRate::Half) => OfdmRate::Mbps12,
            (Modulation::Qpsk, _) => OfdmRate::Mbps18,
            (Modulation::Qam16, CodeRate::Half) => OfdmRate::Mbps24,
            (Modulation::Qam16, _) => OfdmRate::Mbps36,
            (Modulation::Qam64, CodeRate::Half | CodeRate::TwoThirds) => OfdmRate::Mbps48,
            (Modulation::Qam64, _) => OfdmRate::Mbps54,
        })
    }

    /// Whether the PPDU is HT-mixed (802.11n).
    pub const fn is_ht(self) -> bool {
        matches!(self, Self::Ht { .. })
    }

    /// DSSS or CCK?
    pub const fn is_dsss(self) -> bool {
        matches!(self, Self::Dsss { .. })
    }
}

impl fmt::Display for ChannelWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mhz20 => "20MHz",
            Self::Mhz40 => "40MHz",
        })
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ghz2_4 => "2.4GHz",
            Self::Ghz5 => "5GHz",
        })
    }
}

/// `MCS15/40MHz/SGI`, `54Mb/s`, `5.5Mb/s`, `11Mb/s/short` (short preamble).
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Dsss { rate, preamble } => {
                let short = preamble == Preamble::Short && rate != DsssRate::Mbps1;
                write!(f, "{}Mb/s", rate.bitrate().as_mbps_f64())?;
                f.write_str(if short { "/short" } else { "" })
            }
            Self::Ofdm(rate) | Self::ErpOfdm(rate) => write!(f, "{}", rate.bitrate()),
            Self::Ht { mcs, width, guard_interval } => {
                let guard_interval = match guard_interval {
                    GuardInterval::Long => "LGI",
                    GuardInterval::Short => "SGI",
                };
                write!(f, "MCS{mcs}/{width}/{guard_interval}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate alloc;
    use alloc::string::ToString;

    fn ht(mcs: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Rate {
        Rate::Ht { mcs, width, guard_interval }
    }

    #[test]
    fn data_rates_of_the_mcs_tables() {
        use ChannelWidth::{Mhz20, Mhz40};
        use GuardInterval::{Long, Short};
        // IEEE 802.11-2020, tables 19-27 to 19-34.
        for (rate, bps) in [
            (ht(0, Mhz20, Long), 6_500_000),
            (ht(0, Mhz20, Short), 7_222_222),
            (ht(7, Mhz20, Long), 65_000_000),
            (ht(15, Mhz40, Short), 300_000_000),
            (ht(21, Mhz40, Long), 324_000_000),
            (ht(31, Mhz20, Short), 288_888_888),
            (ht(31, Mhz40, Short), 600_000_000),
        ] {
            assert_eq!(rate.bitrate(), Bitrate::from_bps(bps), "{rate}");
        }
        assert!(Rate::ht(32, Mhz40, Long).is_none());
    }

    #[test]
    fn names() {
        let sgi = ht(15, ChannelWidth::Mhz40, GuardInterval::Short);
        assert_eq!(sgi.to_string(), "MCS15/40MHz/SGI");
        assert_eq!(ht(0, ChannelWidth::Mhz20, GuardInterval::Long).to_string(), "MCS0/20MHz/LGI");
        assert_eq!(Rate::ErpOfdm(OfdmRate::Mbps54).to_string(), "54Mb/s");
        let dsss = |rate, preamble| Rate::Dsss { rate, preamble }.to_string();
        assert_eq!(dsss(DsssRate::Mbps11, Preamble::Long), "11Mb/s");
        assert_eq!(dsss(DsssRate::Mbps5_5, Preamble::Short), "5.5Mb/s/short");
        assert_eq!(dsss(DsssRate::Mbps1, Preamble::Short), "1Mb/s");
    }

    #[test]
    fn non_ht_reference_rates() {
        let expected = [6, 12, 18, 24, 36, 48, 54, 54];
        let all = Rate::all_ht(ChannelWidth::Mhz40, GuardInterval::Short, 4);
        assert_eq!(all.len(), 32);
        for (rate, mbps) in all.zip(expected.into_iter().cycle()) {
            assert_eq!(rate.non_ht_reference().bitrate(), Bitrate::from_mbps(mbps), "{rate}");
        }
    }
}
