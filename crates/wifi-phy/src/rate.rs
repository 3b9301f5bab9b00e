//! Modes of a PPDU: the rates of DSSS and CCK (IEEE 802.11-2020, clauses 15 and 16), OFDM (17),
//! ERP-OFDM (18), HT-mixed (19), VHT SU (21), HE SU and extended range SU (IEEE 802.11ax-2021, 27)
//! and EHT MU to one user (IEEE 802.11be-2024, 36). A rate alone determines modulation, code rate, streams, data bits per symbol, and data
//! rate.
//!
//! HT: MCS 0 to 31 (equal modulation on one to four streams), 20 and 40 MHz, both guard intervals,
//! BCC. VHT: MCS 0 to 9, one to eight streams, 20 to 160 MHz, BCC. HE: MCS 0 to 11, one to eight
//! streams, 20 to 160 MHz, LDPC where it is mandatory and BCC otherwise. EHT: MCS 0 to 15, one to
//! eight streams, 20 to 320 MHz, LDPC. Left out: MCS 32 and
//! unequal modulation, greenfield, LDPC of HT and VHT, STBC, VHT MU, 80+80 MHz, PBCC, DSSS-OFDM,
//! half and quarter clocked OFDM. `airtime` has the durations of PPDUs; `mu` and `eht_mu`
//! have HE and EHT PPDUs of several users.

use super::he::HeCoding;
use super::modulation::{CodeRate, MCS_MODULATION, Modulation};
use super::{HeGuardInterval, Puncturing, RuSize, eht};
use core::fmt;
use lasthop_units::{Bitrate, Db};

/// The frequency band of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz: ERP-OFDM, HT and HE PPDUs end with a signal extension of 6 us.
    Ghz2_4,
    /// 5 GHz: PPDUs end with their last symbol, or HE PPDUs with their packet
    /// extension.
    Ghz5,
    /// 6 GHz: like 5 GHz, with HE PPDUs and OFDM PPDUs.
    Ghz6,
}

/// The width of a channel, or of the part of it that a PPDU occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelWidth {
    /// 20 MHz: the primary channel alone.
    Mhz20,
    /// 40 MHz: primary and secondary channel (HT and later).
    Mhz40,
    /// 80 MHz (VHT and HE).
    Mhz80,
    /// 160 MHz in one piece (VHT and HE).
    Mhz160,
    /// 320 MHz (EHT at 6 GHz).
    Mhz320,
}

/// Guard interval of HT and VHT. HE has a [`HeGuardInterval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// Guard interval of 800 ns, in a symbol of 4 us.
    Long,
    /// Guard interval of 400 ns, in a symbol of 3.6 us.
    Short,
}

/// DSSS and CCK preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preamble {
    /// Preamble and header of 144 + 48 us.
    Long,
    /// Preamble and header of 72 + 24 us; not at 1 Mb/s.
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
    /// 6 Mb/s: BPSK with code rate 1/2.
    Mbps6,
    /// 9 Mb/s: BPSK with code rate 3/4.
    Mbps9,
    /// 12 Mb/s: QPSK with code rate 1/2.
    Mbps12,
    /// 18 Mb/s: QPSK with code rate 3/4.
    Mbps18,
    /// 24 Mb/s: 16-QAM with code rate 1/2.
    Mbps24,
    /// 36 Mb/s: 16-QAM with code rate 3/4.
    Mbps36,
    /// 48 Mb/s: 64-QAM with code rate 2/3.
    Mbps48,
    /// 54 Mb/s: 64-QAM with code rate 3/4.
    Mbps54,
}

/// Mode of a PPDU: modulation and code, width, streams, and further properties of its format.
///
/// ```
/// use lasthop_units::Duration;
/// use lasthop_wifi_phy::{Band, ChannelWidth, GuardInterval, Rate};
///
/// let rate = Rate::ht(7, ChannelWidth::Mhz20, GuardInterval::Long).expect("MCS 0 to 31");
/// assert_eq!(rate.bitrate().as_mbps_f64(), 65.0);
/// // 36 us of preamble; 16 + 8 * 1500 + 6 bits are 47 symbols of 260 bits.
/// assert_eq!(rate.ppdu_duration(1500, Band::Ghz5), Duration::from_micros(36 + 47 * 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rate {
    /// DSSS or CCK (clauses 15 and 16).
    Dsss {
        /// Data rate of the PSDU.
        rate: DsssRate,
        /// Preamble of the PPDU; 1 Mb/s has only the long one.
        preamble: Preamble,
    },
    /// OFDM at 5 GHz (clause 17).
    Ofdm(OfdmRate),
    /// ERP-OFDM at 2.4 GHz (clause 18).
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
    /// VHT SU (clause 21).
    Vht {
        /// VHT-MCS index, 0 to 9; [`Rate::vht`] accepts only existing combinations.
        mcs: u8,
        /// Spatial streams, 1 to 8.
        streams: u8,
        /// The width that the PPDU occupies.
        width: ChannelWidth,
        /// The guard interval of its data symbols.
        guard_interval: GuardInterval,
    },
    /// HE SU (IEEE 802.11ax-2021, clause 27).
    He {
        /// HE-MCS index, 0 to 11.
        mcs: u8,
        /// Spatial streams, 1 to 8.
        streams: u8,
        /// The width that the PPDU occupies.
        width: ChannelWidth,
        /// The guard interval of its data symbols, and the size of its HE-LTFs.
        guard_interval: HeGuardInterval,
        /// Whether dual carrier modulation is used: each bit on two subcarriers. The modulation
        /// requires MCS 0, 1, 3 or 4 and at most two streams.
        dcm: bool,
    },
    /// HE extended range SU (IEEE 802.11ax-2021, clause 27): one stream in 20 MHz.
    HeExtendedRange {
        /// HE-MCS index: 0 to 2 on 242 tones, 0 on 106.
        mcs: u8,
        /// The tones that carry data: [`RuSize::Tones242`], or
        /// [`RuSize::Tones106`], the upper half.
        tones: RuSize,
        /// The guard interval of its data symbols, and the size of its HE-LTFs.
        guard_interval: HeGuardInterval,
        /// Whether dual carrier modulation is used; requires MCS 0 or 1.
        dcm: bool,
    },
    /// EHT MU to one user (IEEE 802.11be-2024, clause 36).
    Eht {
        /// EHT-MCS index: 0 to 13; 14 for EHT DUP in 80 to 320 MHz, 15 for BPSK with dual carrier
        /// modulation.
        mcs: u8,
        /// Spatial streams, 1 to 8; 1 with MCS 14 and 15.
        streams: u8,
        /// The width of the channel.
        width: ChannelWidth,
        /// The guard interval of its data symbols, and the size of its EHT-LTFs.
        guard_interval: HeGuardInterval,
        /// The part of the channel that the PPDU leaves out.
        puncturing: Puncturing,
    },
}

impl ChannelWidth {
    /// All widths up to HE in ascending order.
    pub const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// All widths of EHT in ascending order.
    pub const ALL_EHT: [Self; 5] =
        [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160, Self::Mhz320];

    /// Width in hertz.
    #[inline]
    pub const fn as_hz(self) -> u64 {
        match self {
            Self::Mhz20 => 20_000_000,
            Self::Mhz40 => 40_000_000,
            Self::Mhz80 => 80_000_000,
            Self::Mhz160 => 160_000_000,
            Self::Mhz320 => 320_000_000,
        }
    }

    /// Data subcarriers of an HT or VHT symbol (N_SD; 19.3.6, 21.3.6): 52, 108, 234 or 468. HT has
    /// only the first two.
    pub(super) const fn data_subcarriers(self) -> u32 {
        match self {
            Self::Mhz20 => 52,
            Self::Mhz40 => 108,
            Self::Mhz80 => 234,
            // VHT has no more.
            Self::Mhz160 | Self::Mhz320 => 468,
        }
    }
}

impl DsssRate {
    /// All rates in ascending order.
    pub const ALL: [Self; 4] = [Self::Mbps1, Self::Mbps2, Self::Mbps5_5, Self::Mbps11];

    /// Data rate in bit/s.
    #[inline]
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
    /// All rates in ascending order.
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

    /// Data rate in bit/s.
    #[inline]
    pub const fn bitrate(self) -> Bitrate {
        // N_DBPS bits every 4 us.
        Bitrate::from_kbps(self.data_bits_per_symbol() as u64 * 250)
    }

    /// Modulation and code rate (table 17-4).
    #[inline]
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
    #[inline]
    pub const fn data_bits_per_symbol(self) -> u32 {
        let (modulation, code) = self.modulation();
        let (numerator, denominator) = code.ratio();
        OFDM_DATA_SUBCARRIERS * modulation.bits() * numerator / denominator
    }
}

/// Gain of two copies: in white noise, maximal ratio combining adds the SNRs.
pub(crate) const TWICE_AS_MUCH: Db = Db(3.010_299_956_639_812);
/// Gain of the power of 242 tones in 106 tones, each with unchanged noise: 242 / 106.
const IN_106_TONES: Db = Db(3.585_095_007_156_611);
/// Data subcarriers of a clause 17 symbol (N_SD).
const OFDM_DATA_SUBCARRIERS: u32 = 48;

impl Rate {
    /// Highest HT MCS index modelled.
    pub const MCS_MAX: u8 = 31;

    /// Highest VHT-MCS index.
    pub const VHT_MCS_MAX: u8 = 9;

    /// Highest HE-MCS index.
    pub const HE_MCS_MAX: u8 = 11;

    /// Highest EHT-MCS index of growing speed; 14 and 15 are the slowest.
    pub const EHT_MCS_MAX: u8 = 13;

    /// Highest number of spatial streams of VHT, HE and EHT.
    pub const STREAMS_MAX: u8 = 8;

    /// Returns an HT rate, or `None` if `mcs` is above [`Rate::MCS_MAX`] or `width` above 40 MHz.
    #[inline]
    pub const fn ht(mcs: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Option<Self> {
        if mcs > Self::MCS_MAX || !matches!(width, ChannelWidth::Mhz20 | ChannelWidth::Mhz40) {
            return None;
        }
        Some(Self::Ht { mcs, width, guard_interval })
    }

    /// Returns a VHT SU rate, or `None` if it does not exist: `mcs` above [`Rate::VHT_MCS_MAX`],
    /// `streams` not 1 to 8, or a combination that the tables of 21.5 lack. The tables lack MCS 9
    /// at 20 MHz (except for 3 and 6 streams), MCS 6 at 80 MHz with 3 and 7 streams, MCS 9 at 80
    /// MHz with 6 streams and MCS 9 at 160 MHz with 3.
    #[inline]
    pub const fn vht(
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: GuardInterval,
    ) -> Option<Self> {
        let is_in_range = mcs <= Self::VHT_MCS_MAX && streams >= 1 && streams <= Self::STREAMS_MAX;
        let is_in_range = is_in_range && !matches!(width, ChannelWidth::Mhz320);
        if !is_in_range || super::vht::is_forbidden(mcs, streams, width) {
            return None;
        }
        Some(Self::Vht { mcs, streams, width, guard_interval })
    }

    /// Returns an HE SU rate, or `None` if it does not exist: `mcs` above [`Rate::HE_MCS_MAX`],
    /// `streams` not 1 to 8, 320 MHz, a guard interval of trigger-based PPDUs, or `dcm` with another MCS
    /// than 0, 1, 3 and 4 or with more than two streams.
    #[inline]
    pub const fn he(
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: HeGuardInterval,
        dcm: bool,
    ) -> Option<Self> {
        let coding = HeCoding { ru: RuSize::of_width(width), mcs, streams, dcm, is_eht: false };
        let is_in_range = coding.exists() && !matches!(width, ChannelWidth::Mhz320);
        if !is_in_range || !guard_interval.is_of_single_user() {
            return None;
        }
        Some(Self::He { mcs, streams, width, guard_interval, dcm })
    }

    /// Returns an HE extended range SU rate, or `None` if it does not exist: `tones` neither 242
    /// (MCS 0 to 2) nor 106 (MCS 0), a guard interval of trigger-based PPDUs, or `dcm` with MCS 2.
    #[inline]
    pub const fn he_extended_range(
        mcs: u8,
        tones: RuSize,
        guard_interval: HeGuardInterval,
        dcm: bool,
    ) -> Option<Self> {
        let mcs_max = match tones {
            RuSize::Tones242 => 2,
            RuSize::Tones106 => 0,
            _ => return None,
        };
        let coding = HeCoding { ru: tones, mcs, streams: 1, dcm, is_eht: false };
        if mcs > mcs_max || !coding.exists() || !guard_interval.is_of_single_user() {
            return None;
        }
        Some(Self::HeExtendedRange { mcs, tones, guard_interval, dcm })
    }

    /// Returns an EHT rate of a channel without puncturing, or `None` if it does not exist: `mcs`
    /// above 15, `streams` not 1 to 8 (1 for MCS 14 and 15), MCS 14 below 80 MHz, or a guard
    /// interval that EHT MU PPDUs do not have.
    #[inline]
    pub const fn eht(
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: HeGuardInterval,
    ) -> Option<Self> {
        let exists = eht::coding(mcs, streams, RuSize::of_width(width)).is_some();
        if !exists || !guard_interval.is_of_multi_user() {
            return None;
        }
        let puncturing = Puncturing::NONE;
        Some(Self::Eht { mcs, streams, width, guard_interval, puncturing })
    }

    /// Returns the EHT rate with this part of its channel left out; `None` if the width does not
    /// have the puncturing, for MCS 14, and for other rates than EHT.
    #[must_use]
    pub const fn punctured(self, puncturing: Puncturing) -> Option<Self> {
        match self {
            Self::Eht { mcs, streams, width, guard_interval, .. } => {
                let ru = eht::ru(width, puncturing);
                let is_there = Puncturing::new(puncturing.value(), width).is_some();
                if !is_there || eht::coding(mcs, streams, ru).is_none() {
                    return None;
                }
                Some(Self::Eht { mcs, streams, width, guard_interval, puncturing })
            }
            _ => None,
        }
    }

    /// Returns the EHT rates of MCS 0 to 13 with one to `streams_max` streams (at most 8), by
    /// streams and then MCS.
    pub fn all_eht(
        width: ChannelWidth,
        guard_interval: HeGuardInterval,
        streams_max: u8,
    ) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (1..=streams_max.min(Self::STREAMS_MAX)).flat_map(move |streams| {
            (0..=Self::EHT_MCS_MAX)
                .filter_map(move |mcs| Self::eht(mcs, streams, width, guard_interval))
        })
    }

    /// Returns the HE SU rates with dual carrier modulation of one to `streams_max` streams (at
    /// most two).
    pub fn all_he_dual_carrier(
        width: ChannelWidth,
        guard_interval: HeGuardInterval,
        streams_max: u8,
    ) -> impl Iterator<Item = Self> + Clone {
        (1..=streams_max.min(2)).flat_map(move |streams| {
            (0..=Self::HE_MCS_MAX)
                .filter_map(move |mcs| Self::he(mcs, streams, width, guard_interval, true))
        })
    }

    /// Returns the HE extended range rates; with `dcm` also those with dual carrier modulation.
    pub fn all_he_extended_range(
        guard_interval: HeGuardInterval,
        dcm: bool,
    ) -> impl Iterator<Item = Self> + Clone {
        let all = [(RuSize::Tones106, 0), (RuSize::Tones242, 0)];
        let all = all.into_iter().chain([1, 2].map(|mcs| (RuSize::Tones242, mcs)));
        all.flat_map(move |(tones, mcs)| {
            [true, false]
                .into_iter()
                .filter(move |used| dcm || !used)
                .filter_map(move |used| Self::he_extended_range(mcs, tones, guard_interval, used))
        })
    }

    /// Returns the HT rates of one to `streams_max` streams (at most 4) in MCS order.
    pub fn all_ht(
        width: ChannelWidth,
        guard_interval: GuardInterval,
        streams_max: u8,
    ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..streams_max.min(4) * 8).map(move |mcs| Self::Ht { mcs, width, guard_interval })
    }

    /// Returns the existing VHT SU rates of one to `streams_max` streams (at most 8), by streams
    /// and then MCS.
    pub fn all_vht(
        width: ChannelWidth,
        guard_interval: GuardInterval,
        streams_max: u8,
    ) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (1..=streams_max.min(Self::STREAMS_MAX)).flat_map(move |streams| {
            (0..=Self::VHT_MCS_MAX)
                .filter_map(move |mcs| Self::vht(mcs, streams, width, guard_interval))
        })
    }

    /// Returns the existing HE SU rates of one to `streams_max` streams (at most 8) without DCM, by
    /// streams and then MCS.
    pub fn all_he(
        width: ChannelWidth,
        guard_interval: HeGuardInterval,
        streams_max: u8,
    ) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (1..=streams_max.min(Self::STREAMS_MAX)).flat_map(move |streams| {
            (0..=Self::HE_MCS_MAX)
                .filter_map(move |mcs| Self::he(mcs, streams, width, guard_interval, false))
        })
    }

    /// Data rate, rounded down to a whole bit/s (HT MCS 0 at 20 MHz with the short guard interval:
    /// 65/9 Mb/s). An HE rate counts all its coded bits, as in the tables of 27.5: 600.5 Mb/s for
    /// MCS 11 at 80 MHz, where a symbol has 8 166 data bits of 8 166 2/3.
    #[inline]
    pub fn bitrate(self) -> Bitrate {
        let symbol_ns = match self {
            Self::Dsss { rate, .. } => return rate.bitrate(),
            Self::Ofdm(rate) | Self::ErpOfdm(rate) => return rate.bitrate(),
            Self::Ht { guard_interval, .. } | Self::Vht { guard_interval, .. } => {
                match guard_interval {
                    GuardInterval::Long => 4_000,
                    GuardInterval::Short => 3_600,
                }
            }
            Self::He { guard_interval, .. }
            | Self::HeExtendedRange { guard_interval, .. }
            | Self::Eht { guard_interval, .. } => {
                let coding = self.he_coding().expect("an HE or EHT rate");
                return coding.bitrate(guard_interval);
            }
        };
        let bits = u64::from(self.data_bits_per_symbol());
        Bitrate::from_bps(bits * 1_000_000_000 / symbol_ns)
    }

    /// Data rate in whole kb/s, as drivers compute it.
    #[inline]
    pub fn kbps(self) -> u32 {
        (self.bitrate().as_bps() / 1_000) as u32
    }

    /// Number of spatial streams: 1 to 4 of HT, 1 to 8 of VHT, HE and EHT, 1 of the others.
    #[inline]
    pub const fn streams(self) -> u8 {
        match self {
            Self::Ht { mcs, .. } => mcs / 8 + 1,
            Self::Vht { streams, .. } | Self::He { streams, .. } | Self::Eht { streams, .. } => {
                streams
            }
            _ => 1,
        }
    }

    /// MCS index: 0 to 31 of HT, 0 to 9 of VHT, 0 to 11 of HE, 0 to 15 of EHT; `None` for the others.
    #[inline]
    pub const fn mcs(self) -> Option<u8> {
        match self {
            Self::Ht { mcs, .. }
            | Self::Vht { mcs, .. }
            | Self::He { mcs, .. }
            | Self::HeExtendedRange { mcs, .. }
            | Self::Eht { mcs, .. } => Some(mcs),
            Self::Dsss { .. } | Self::Ofdm(_) | Self::ErpOfdm(_) => None,
        }
    }

    /// Width of the channel: 20 MHz for all rates before HT (the 22 MHz of DSSS count as 20), and
    /// for HE extended range.
    #[inline]
    pub const fn width(self) -> ChannelWidth {
        match self {
            Self::Ht { width, .. }
            | Self::Vht { width, .. }
            | Self::He { width, .. }
            | Self::Eht { width, .. } => width,
            _ => ChannelWidth::Mhz20,
        }
    }

    /// Returns the same rate on a channel no wider than `most`: MCS, streams and guard interval
    /// stay. If VHT does not have that MCS, the next lower existing one is used.
    #[must_use]
    #[inline]
    pub fn narrowed(self, most: ChannelWidth) -> Self {
        if self.width() <= most {
            return self;
        }
        match self {
            Self::Ht { mcs, guard_interval, .. } => Self::Ht { mcs, width: most, guard_interval },
            Self::Vht { mcs, streams, guard_interval, .. } => {
                let lower = (0..=mcs).rev();
                let mut lower =
                    lower.filter_map(|mcs| Self::vht(mcs, streams, most, guard_interval));
                lower.next().unwrap_or(self)
            }
            Self::He { mcs, streams, guard_interval, dcm, .. } => {
                Self::He { mcs, streams, width: most, guard_interval, dcm }
            }
            Self::Eht { mcs, streams, guard_interval, .. } => {
                // MCS 15 is the other robust one, at all widths.
                let lower = Self::eht(mcs, streams, most, guard_interval);
                lower.or_else(|| Self::eht(15, 1, most, guard_interval)).unwrap_or(self)
            }
            _ => self,
        }
    }

    /// Returns the same rate on a channel no wider and with no more streams than these, like
    /// [`narrowed`](Self::narrowed). Only rates of 802.11ac, ax and be change.
    #[must_use]
    #[inline]
    pub fn within(self, width: ChannelWidth, streams_max: u8) -> Self {
        match self.narrowed(width) {
            Self::Vht { mcs, streams, width, guard_interval } => {
                let streams = streams.min(streams_max);
                let mut lower = (0..=mcs).rev();
                let lower = lower.find_map(|mcs| Self::vht(mcs, streams, width, guard_interval));
                lower.unwrap_or(self)
            }
            Self::He { mcs, streams, width, guard_interval, dcm } => {
                let streams = streams.min(streams_max);
                Self::He { mcs, streams, width, guard_interval, dcm }
            }
            Self::Eht { mcs, streams, width, guard_interval, puncturing } => {
                let streams = streams.min(streams_max);
                Self::Eht { mcs, streams, width, guard_interval, puncturing }
            }
            other => other,
        }
    }

    /// Coding of the symbols of an HE or EHT rate; `None` for all others.
    pub(super) const fn he_coding(self) -> Option<HeCoding> {
        match self {
            Self::He { mcs, streams, width, dcm, .. } => {
                Some(HeCoding { ru: RuSize::of_width(width), mcs, streams, dcm, is_eht: false })
            }
            Self::HeExtendedRange { mcs, tones, dcm, .. } => {
                Some(HeCoding { ru: tones, mcs, streams: 1, dcm, is_eht: false })
            }
            Self::Eht { mcs, streams, width, puncturing, .. } => {
                Some(eht::coding_of(mcs, streams, width, puncturing))
            }
            _ => None,
        }
    }

    /// Modulation and code rate; `None` for DSSS and CCK.
    #[inline]
    pub const fn modulation(self) -> Option<(Modulation, CodeRate)> {
        match self {
            Self::Dsss { .. } => None,
            Self::Ofdm(rate) | Self::ErpOfdm(rate) => Some(rate.modulation()),
            Self::Ht { mcs, .. } => Some(MCS_MODULATION[(mcs % 8) as usize]),
            Self::Vht { mcs, .. } | Self::He { mcs, .. } | Self::HeExtendedRange { mcs, .. } => {
                Some(MCS_MODULATION[mcs as usize])
            }
            Self::Eht { mcs, .. } => Some(MCS_MODULATION[Self::eht_index(mcs)]),
        }
    }

    /// Index of the modulation of an EHT-MCS: 14 and 15 have that of MCS 0.
    #[inline]
    pub(super) const fn eht_index(mcs: u8) -> usize {
        if mcs > Self::EHT_MCS_MAX { 0 } else { mcs as usize }
    }

    /// Data bits per OFDM symbol over all streams (N_DBPS): 24 to 2160 up to HT,
    /// 26 to 24 960 of VHT, 25 to 130 666 of HE, 58 to 313 600 of EHT.
    ///
    /// # Panics
    ///
    /// Panics for DSSS and CCK, which have no OFDM symbols.
    #[inline]
    pub const fn data_bits_per_symbol(self) -> u32 {
        match self {
            Self::Dsss { .. } => panic!("DSSS has no OFDM symbols"),
            Self::Ofdm(rate) | Self::ErpOfdm(rate) => rate.data_bits_per_symbol(),
            Self::Ht { mcs, width, .. } => {
                let (modulation, code) = MCS_MODULATION[(mcs % 8) as usize];
                let (numerator, denominator) = code.ratio();
                let coded = width.data_subcarriers() * modulation.bits() * self.streams() as u32;
                coded * numerator / denominator
            }
            Self::Vht { mcs, streams, width, .. } => {
                super::vht::data_bits_per_symbol(mcs, streams, width)
            }
            Self::He { .. } | Self::HeExtendedRange { .. } | Self::Eht { .. } => {
                match self.he_coding() {
                    Some(coding) => coding.data_bits_per_symbol(),
                    None => unreachable!(),
                }
            }
        }
    }

    /// Gain in SNR over that of all tones of the rate's width. Dual carrier modulation has each bit
    /// on two tones, EHT DUP on four; extended range on 106 tones has the power of all tones on these. 16-QAM maps
    /// its bits differently in the two symbols, which changes this a little and is left out.
    #[inline]
    pub const fn snr_gain(self) -> Option<Db> {
        match self {
            Self::He { dcm: true, .. } => Some(TWICE_AS_MUCH),
            Self::HeExtendedRange { tones: RuSize::Tones106, dcm, .. } => {
                Some(if dcm { Db(TWICE_AS_MUCH.0 + IN_106_TONES.0) } else { IN_106_TONES })
            }
            Self::HeExtendedRange { dcm: true, .. } => Some(TWICE_AS_MUCH),
            Self::Eht { mcs: eht::MCS_DUPLICATE, .. } => Some(Db(2.0 * TWICE_AS_MUCH.0)),
            Self::Eht { mcs: eht::MCS_DUAL_CARRIER, .. } => Some(TWICE_AS_MUCH),
            _ => None,
        }
    }

    /// Power of a PPDU's preamble relative to its data: 3 dB for the training fields of extended
    /// range PPDUs (27.3.11.3 to 27.3.11.10 of IEEE 802.11ax-2021; not seen as text).
    #[inline]
    pub const fn preamble_boost(self) -> Option<Db> {
        match self {
            Self::HeExtendedRange { .. } => Some(TWICE_AS_MUCH),
            _ => None,
        }
    }

    /// Whether the PPDU is of extended range.
    #[inline]
    pub const fn is_extended_range(self) -> bool {
        matches!(self, Self::HeExtendedRange { .. })
    }

    /// Non-HT reference rate, which the rules of control responses and durations use. For an HT,
    /// VHT, HE or EHT MCS it is the OFDM rate of the same modulation with the nearest code rate
    /// (10.6.11; 54 Mb/s above 64-QAM); any other rate is its own reference. The result is
    /// [`Rate::Ofdm`] in both bands: at 2.4 GHz it stands for the ERP-OFDM rate of the same speed,
    /// and is only compared, never sent.
    ///
    /// DCM does not change the result; the amendment of the table for DCM in IEEE 802.11ax-2021 was
    /// not seen.
    #[inline]
    pub const fn non_ht_reference(self) -> Self {
        let modulation = match self {
            Self::Dsss { .. } | Self::Ofdm(_) | Self::ErpOfdm(_) => return self,
            Self::Ht { mcs, .. } => MCS_MODULATION[(mcs % 8) as usize],
            Self::Vht { mcs, .. } | Self::He { mcs, .. } | Self::HeExtendedRange { mcs, .. } => {
                MCS_MODULATION[mcs as usize]
            }
            Self::Eht { mcs, .. } => MCS_MODULATION[Self::eht_index(mcs)],
        };
        Self::Ofdm(match modulation {
            (Modulation::Bpsk, CodeRate::Half) => OfdmRate::Mbps6,
            (Modulation::Bpsk, _) => OfdmRate::Mbps9,
            (Modulation::Qpsk, CodeRate::Half) => OfdmRate::Mbps12,
            (Modulation::Qpsk, _) => OfdmRate::Mbps18,
            (Modulation::Qam16, CodeRate::Half) => OfdmRate::Mbps24,
            (Modulation::Qam16, _) => OfdmRate::Mbps36,
            (Modulation::Qam64, CodeRate::Half | CodeRate::TwoThirds) => OfdmRate::Mbps48,
            (
                Modulation::Qam64 | Modulation::Qam256 | Modulation::Qam1024 | Modulation::Qam4096,
                _,
            ) => OfdmRate::Mbps54,
        })
    }

    /// Whether the PPDU is HT-mixed (802.11n).
    #[inline]
    pub const fn is_ht(self) -> bool {
        matches!(self, Self::Ht { .. })
    }

    /// Whether the PPDU is VHT (802.11ac).
    #[inline]
    pub const fn is_vht(self) -> bool {
        matches!(self, Self::Vht { .. })
    }

    /// Whether the PPDU is HE (802.11ax).
    #[inline]
    pub const fn is_he(self) -> bool {
        matches!(self, Self::He { .. } | Self::HeExtendedRange { .. })
    }

    /// Whether the PPDU is EHT (802.11be).
    #[inline]
    pub const fn is_eht(self) -> bool {
        matches!(self, Self::Eht { .. })
    }

    /// Whether the PSDU may be an A-MPDU: HT, VHT, HE and EHT.
    #[inline]
    pub const fn may_aggregate(self) -> bool {
        self.is_ht() || self.always_aggregates()
    }

    /// Whether the PSDU is always an A-MPDU, even with one MPDU: VHT (21.3.3), HE and EHT.
    #[inline]
    pub const fn always_aggregates(self) -> bool {
        self.is_vht() || self.is_he() || self.is_eht()
    }

    /// Whether the PPDU is DSSS or CCK.
    #[inline]
    pub const fn is_dsss(self) -> bool {
        matches!(self, Self::Dsss { .. })
    }
}

impl fmt::Display for ChannelWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mhz20 => "20MHz",
            Self::Mhz40 => "40MHz",
            Self::Mhz80 => "80MHz",
            Self::Mhz160 => "160MHz",
            Self::Mhz320 => "320MHz",
        })
    }
}

/// Formats as `LGI` or `SGI`.
impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Long => "LGI",
            Self::Short => "SGI",
        })
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ghz2_4 => "2.4GHz",
            Self::Ghz5 => "5GHz",
            Self::Ghz6 => "6GHz",
        })
    }
}

/// Formats as `MCS15/40MHz/SGI`, `54Mb/s`, `5.5Mb/s`, `11Mb/s/short` (short preamble),
/// `VHT-MCS9/2SS/80MHz/SGI`, `HE-MCS3/1SS/20MHz/2xLTF+0.8us/DCM`,
/// `HE-ER-MCS0/106tones/4xLTF+3.2us`, `EHT-MCS13/2SS/320MHz/2xLTF+0.8us`, with puncturing 3
/// `EHT-MCS13/2SS/320MHz-p3/2xLTF+0.8us`.
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
                write!(f, "MCS{mcs}/{width}/{guard_interval}")
            }
            Self::Vht { mcs, streams, width, guard_interval } => {
                write!(f, "VHT-MCS{mcs}/{streams}SS/{width}/{guard_interval}")
            }
            Self::He { mcs, streams, width, guard_interval, dcm } => {
                write!(f, "HE-MCS{mcs}/{streams}SS/{width}/{guard_interval}")?;
                f.write_str(if dcm { "/DCM" } else { "" })
            }
            Self::HeExtendedRange { mcs, tones, guard_interval, dcm } => {
                write!(f, "HE-ER-MCS{mcs}/{}tones/{guard_interval}", tones.tones())?;
                f.write_str(if dcm { "/DCM" } else { "" })
            }
            Self::Eht { mcs, streams, width, guard_interval, puncturing } => {
                write!(f, "EHT-MCS{mcs}/{streams}SS/{width}")?;
                if !puncturing.is_none() {
                    write!(f, "-p{}", puncturing.value())?;
                }
                write!(f, "/{guard_interval}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
