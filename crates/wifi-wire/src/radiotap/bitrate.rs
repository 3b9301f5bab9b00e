//! The data rate of a frame from its radiotap header: IEEE 802.11-2020, 19.5 (HT) and 21.5
//! (VHT); IEEE 802.11ax-2021, 27.5 (HE); IEEE 802.11be-2024, 36.5 (EHT).
//!
//! The rate is data bits per symbol (in HE and EHT rounded down) over the symbol's duration, in
//! bits per second, rounded down. A vendor's MCS beyond its PHY (VHT-MCS 10 and 11, or VHT-MCS 9
//! with a fractional number of bits) counts with its modulation and code. Left out: HT's unequal
//! modulation (MCS 33 to 76), MU-MIMO in EHT (its streams are a code).

use super::{Eht, EhtFormat, He, Mcs, Repr, USig, Vht, puncture};
use lasthop_units::{Bitrate, Duration};
use lasthop_wifi_phy::{ChannelWidth, GuardInterval, Rate};

/// Part of the band with a user's data, in HE and EHT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allocation {
    /// A whole channel.
    Channel {
        /// Width of the channel: 20, 40, 80, 160 or 320 MHz.
        mhz: u16,
    },
    /// A resource unit, or several as one.
    ResourceUnit {
        /// Number of subcarriers, 26 to 3 x 996 + 484.
        tones: u16,
    },
}

impl Allocation {
    /// Number of subcarriers with data (N_SD; IEEE 802.11ax-2021, tables 27-14 and 27-15; IEEE
    /// 802.11be-2024, 36.3.2); `None` if there is no such allocation.
    pub const fn data_subcarriers(self) -> Option<u32> {
        // Several resource units have the data subcarriers of each.
        Some(match self {
            Self::ResourceUnit { tones: 26 } => 24,
            Self::ResourceUnit { tones: 52 } => 48,
            Self::ResourceUnit { tones: 78 } => 48 + 24,
            Self::ResourceUnit { tones: 106 } => 102,
            Self::ResourceUnit { tones: 132 } => 102 + 24,
            Self::ResourceUnit { tones: 242 } | Self::Channel { mhz: 20 } => 234,
            Self::ResourceUnit { tones: 484 } | Self::Channel { mhz: 40 } => 468,
            Self::ResourceUnit { tones: 726 } => 468 + 234,
            Self::ResourceUnit { tones: 996 } | Self::Channel { mhz: 80 } => 980,
            Self::ResourceUnit { tones: 1480 } => 980 + 468,
            Self::ResourceUnit { tones: 1722 } => 980 + 468 + 234,
            Self::ResourceUnit { tones: 1992 } | Self::Channel { mhz: 160 } => 2 * 980,
            Self::ResourceUnit { tones: 2476 } => 2 * 980 + 468,
            Self::ResourceUnit { tones: 2988 } => 3 * 980,
            Self::ResourceUnit { tones: 3472 } => 3 * 980 + 468,
            Self::ResourceUnit { tones: 3984 } | Self::Channel { mhz: 320 } => 4 * 980,
            _ => return None,
        })
    }
}

impl Repr {
    /// Bit rate of the frame; `None` if the header lacks a parameter for it. If there are fields of
    /// several PHYs, that of the latest counts.
    pub fn bitrate(&self) -> Option<Bitrate> {
        match *self {
            Self { eht: Some(eht), .. } => eht_bitrate(&eht, self.u_sig),
            Self { he: Some(he), .. } => he_bitrate(&he),
            Self { vht: Some(vht), .. } => vht_bitrate(&vht),
            Self { mcs: Some(mcs), .. } => ht_bitrate(mcs),
            Self { rate_500kbps: Some(rate @ 1..), .. } => {
                Some(Bitrate::from_kbps(500 * u64::from(rate)))
            }
            _ => None,
        }
    }
}

fn ht_bitrate(field: Mcs) -> Option<Bitrate> {
    let (mcs, width) = (field.index()?, field.width()?);
    let guard_interval = field.guard_interval()?;
    match mcs {
        0..=31 => Some(Rate::Ht { mcs, width, guard_interval }.bitrate()),
        // BPSK 1/2, the same in both halves of 40 MHz.
        32 if width == ChannelWidth::Mhz40 => {
            Some(bitrate(24, 1, SYMBOL_HT + guard_interval_of(guard_interval)))
        }
        _ => None,
    }
}

fn vht_bitrate(field: &Vht) -> Option<Bitrate> {
    // Of the other users of a PPDU for several, no MCS is known.
    let mut known = field.users().filter_map(|user| Some((user.mcs?, user.spatial_streams)));
    let (mcs, streams) = known.next()?;
    let alone = known.next().is_none();
    let subcarriers = match field.bandwidth_mhz()? {
        20 => 52,
        40 => 108,
        80 => 234,
        160 => 468,
        _ => return None,
    };
    let coding = coding(mcs).filter(|_| alone && mcs <= 11)?;
    let symbol = SYMBOL_HT + guard_interval_of(field.guard_interval()?);
    // Not rounded down: the standard has whole numbers only, some vendors more.
    let (bits, parts) = coding.data_bits(subcarriers * u32::from(streams));
    Some(bitrate(bits, parts, symbol))
}

fn he_bitrate(field: &He) -> Option<Bitrate> {
    let mcs = field.mcs().filter(|mcs| *mcs <= 11)?;
    let coded = coding(mcs)?;
    let streams = u32::from(field.spatial_streams()?);
    let subcarriers = field.allocation()?.data_subcarriers()?;
    // The same bits twice, on half of the subcarriers each.
    let subcarriers = if field.dcm() == Some(true) { subcarriers / 2 } else { subcarriers };
    let (bits, parts) = coded.data_bits(subcarriers * streams);
    Some(bitrate(bits / parts, 1, SYMBOL_HE + field.guard_interval()?))
}

fn eht_bitrate(field: &Eht, u_sig: Option<USig>) -> Option<Bitrate> {
    let user = field.captured_user()?;
    let streams = u32::from(user.spatial_streams()?);
    let subcarriers = match field.resource_unit() {
        Some(allocation) => allocation.data_subcarriers()?,
        None => whole_channel(field, &u_sig?)?.data_subcarriers()?,
    };
    let (coded, subcarriers) = match user.mcs()? {
        // BPSK 1/2 with dual carrier modulation; with MCS 14 both halves of the channel
        // carry the same, too.
        14 => match subcarriers {
            980 => (coding(0)?, 468 / 2),
            1960 => (coding(0)?, 980 / 2),
            3920 => (coding(0)?, 1960 / 2),
            _ => return None,
        },
        15 => (coding(0)?, subcarriers / 2),
        mcs => (coding(mcs)?, subcarriers),
    };
    let (bits, parts) = coded.data_bits(subcarriers * streams);
    Some(bitrate(bits / parts, 1, SYMBOL_HE + field.guard_interval()?))
}

/// The bandwidth of an EHT PPDU for one user, or the part of it that is not punctured. Drivers that
/// omit the format (mt76) give a station ID if there can be several users.
fn whole_channel(field: &Eht, u_sig: &USig) -> Option<Allocation> {
    let single = match u_sig.format() {
        Some(format) => format == EhtFormat::SingleUser,
        None => matches!(field.users.as_slice(), [user] if user.station_id().is_none()),
    };
    let mhz = u_sig.bandwidth_mhz()?;
    if !single {
        return None;
    }
    match u_sig.punctured_channels() {
        None | Some(0) => Some(Allocation::Channel { mhz }),
        Some(code) => {
            puncture::tones_left(mhz, code).map(|tones| Allocation::ResourceUnit { tones })
        }
    }
}

/// Modulation and coding: coded bits per subcarrier and code rate.
struct Coding {
    bits: u32,
    rate: (u32, u32),
}

impl Coding {
    /// Data bits per symbol (N_DBPS) on these subcarriers of all streams, as a fraction.
    const fn data_bits(&self, subcarriers: u32) -> (u32, u32) {
        (subcarriers * self.bits * self.rate.0, self.rate.1)
    }
}

/// MCS 0 to 13 of VHT, HE and EHT (IEEE 802.11be-2024, 36.5).
const fn coding(mcs: u8) -> Option<Coding> {
    let (bits, rate) = match mcs {
        0 => (1, (1, 2)),
        1 => (2, (1, 2)),
        2 => (2, (3, 4)),
        3 => (4, (1, 2)),
        4 => (4, (3, 4)),
        5 => (6, (2, 3)),
        6 => (6, (3, 4)),
        7 => (6, (5, 6)),
        8 => (8, (3, 4)),
        9 => (8, (5, 6)),
        10 => (10, (3, 4)),
        11 => (10, (5, 6)),
        12 => (12, (3, 4)),
        13 => (12, (5, 6)),
        _ => return None,
    };
    Some(Coding { bits, rate })
}

/// Duration of symbols without guard interval: 3.2 us in HT and VHT, 12.8 us in HE and EHT.
const SYMBOL_HT: Duration = Duration::from_nanos(3200);
const SYMBOL_HE: Duration = Duration::from_nanos(12_800);

const fn guard_interval_of(guard_interval: GuardInterval) -> Duration {
    match guard_interval {
        GuardInterval::Long => Duration::from_nanos(800),
        GuardInterval::Short => Duration::from_nanos(400),
    }
}

/// Bit rate of this number of bits (a fraction) in each symbol.
fn bitrate(bits: u32, parts: u32, symbol: Duration) -> Bitrate {
    Bitrate::from_bps(u64::from(bits) * 1_000_000_000 / (u64::from(parts) * symbol.as_nanos()))
}
