//! PHY rates of captured frames: DSSS and CCK, OFDM, HT (802.11n), VHT (802.11ac), HE (802.11ax)
//! and EHT (802.11be). Up to HT the time on the air is exact ([`lasthop_wifi_phy`]); later formats
//! are given a preamble of typical length.

use lasthop_units::Duration;
use lasthop_wifi_phy::{
    Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate as PhyRate,
};
use lasthop_wifi_wire::radiotap;
use std::fmt;

/// Family of a PHY rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// DSSS and CCK (802.11b).
    Dsss,
    /// OFDM (802.11a and g).
    Ofdm,
    /// High throughput (802.11n).
    Ht,
    /// Very high throughput (802.11ac).
    Vht,
    /// High efficiency (802.11ax).
    He,
    /// Extremely high throughput (802.11be).
    Eht,
}

/// A PHY rate. Fields that a family does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    /// Family of the rate.
    pub format: Format,
    /// Bit rate in kb/s.
    pub kbps: u32,
    /// MCS index: 0 to 76 for HT, 0 to 15 for later families.
    pub mcs: u8,
    /// Number of spatial streams.
    pub streams: u8,
    /// Channel width in MHz, without punctured channels; in HE and EHT also that of a resource unit.
    pub width_mhz: u16,
    /// Guard interval in ns.
    pub guard_ns: u16,
    /// Whether DSSS uses the short preamble.
    pub short_preamble: bool,
}

impl Rate {
    /// Returns the rate of radiotap's field `rate`, in units of 500 kb/s.
    pub fn legacy(rate_500kbps: u8, cck: bool, short_preamble: bool) -> Self {
        // Rates of DSSS and CCK differ from those of OFDM, so that the flag is not needed for them.
        let dsss = cck || matches!(rate_500kbps, 2 | 4 | 11 | 22);
        Self {
            format: if dsss { Format::Dsss } else { Format::Ofdm },
            kbps: u32::from(rate_500kbps) * 500,
            mcs: 0,
            streams: 1,
            width_mhz: 20,
            guard_ns: 0,
            short_preamble: dsss && short_preamble,
        }
    }

    /// Returns a rate of 802.11n with equal modulation on up to four streams, MCS 0 to 31.
    pub fn ht(mcs: u8, wide: bool, short_guard_interval: bool) -> Option<Self> {
        let width = if wide { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 };
        let guard = if short_guard_interval { GuardInterval::Short } else { GuardInterval::Long };
        PhyRate::ht(mcs, width, guard).map(Self::of_phy)
    }

    /// Converts a rate of the model.
    pub fn of_phy(rate: PhyRate) -> Self {
        let (format, mcs, guard_ns) = match rate {
            PhyRate::Dsss { .. } => (Format::Dsss, 0, 0),
            PhyRate::Ofdm(_) | PhyRate::ErpOfdm(_) => (Format::Ofdm, 0, 0),
            PhyRate::Ht { mcs, guard_interval: GuardInterval::Long, .. } => (Format::Ht, mcs, 800),
            PhyRate::Ht { mcs, guard_interval: GuardInterval::Short, .. } => (Format::Ht, mcs, 400),
            PhyRate::Vht { mcs, guard_interval: GuardInterval::Long, .. } => {
                (Format::Vht, mcs, 800)
            }
            PhyRate::Vht { mcs, guard_interval: GuardInterval::Short, .. } => {
                (Format::Vht, mcs, 400)
            }
            PhyRate::He { mcs, guard_interval, .. }
            | PhyRate::HeExtendedRange { mcs, guard_interval, .. } => {
                (Format::He, mcs, guard_interval.duration().as_nanos() as u16)
            }
            PhyRate::Eht { mcs, guard_interval, .. } => {
                (Format::Eht, mcs, guard_interval.duration().as_nanos() as u16)
            }
        };
        let short_preamble = matches!(rate, PhyRate::Dsss { preamble: Preamble::Short, .. });
        Self {
            format,
            kbps: rate.kbps(),
            mcs,
            streams: rate.streams(),
            width_mhz: match rate.width() {
                ChannelWidth::Mhz20 => 20,
                ChannelWidth::Mhz40 => 40,
                ChannelWidth::Mhz80 => 80,
                ChannelWidth::Mhz160 => 160,
                ChannelWidth::Mhz320 => 320,
            },
            guard_ns,
            short_preamble,
        }
    }

    /// Returns the rate in a radiotap header.
    pub(crate) fn of_radiotap(header: &radiotap::Repr) -> Option<Self> {
        if header.vht.is_some() || header.he.is_some() || header.eht.is_some() {
            return Self::of_later(header);
        }
        if let Some(mcs) = header.mcs {
            let wide = mcs.width() == Some(ChannelWidth::Mhz40);
            let short = mcs.guard_interval() == Some(GuardInterval::Short);
            return mcs.index().and_then(|index| Self::ht(index, wide, short));
        }
        let cck = header.channel.is_some_and(|channel| {
            channel.flags & (radiotap::Channel::CCK | radiotap::Channel::OFDM)
                == radiotap::Channel::CCK
        });
        let short = header.flags.is_some_and(radiotap::FlagsField::short_preamble);
        // Some drivers write 0 if another field has the rate.
        header.rate_500kbps.filter(|rate| *rate > 0).map(|rate| Self::legacy(rate, cck, short))
    }

    /// Returns a rate of VHT, HE or EHT: of the first user, or of the user whose data was captured.
    fn of_later(header: &radiotap::Repr) -> Option<Self> {
        // At most 10 Gb/s for each stream of 320 MHz: fits into 32 bits of kb/s.
        let kbps = u32::try_from(header.bitrate()?.as_bps() / 1_000).ok()?;
        let guard_of = |guard| match guard {
            Some(GuardInterval::Short) => 400,
            _ => 800,
        };
        let nanos = |guard: Option<Duration>| guard.map_or(0, |guard| guard.as_nanos() as u16);
        let (format, mcs, streams, width_mhz, guard_ns) = if let Some(eht) = header.eht {
            let users = eht.users.as_slice();
            let user = users.iter().find(|user| user.is_captured()).or(users.first())?;
            let width = match eht.resource_unit() {
                Some(radiotap::Allocation::ResourceUnit { tones }) => tones * 5 / 64,
                // Less the punctured channels.
                _ => header.u_sig.map_or(0, |sig| {
                    let punctured = sig.punctured().map_or(0, |it| 20 * it.count_ones() as u16);
                    sig.bandwidth_mhz().unwrap_or_default().saturating_sub(punctured)
                }),
            };
            let streams = user.spatial_streams().unwrap_or_default();
            (Format::Eht, user.mcs()?, streams, width, nanos(eht.guard_interval()))
        } else if let Some(he) = header.he {
            let width = match he.allocation() {
                Some(radiotap::Allocation::Channel { mhz }) => mhz,
                // Width of a resource unit by its tones, in whole MHz.
                Some(radiotap::Allocation::ResourceUnit { tones }) => tones * 5 / 64,
                None => 0,
            };
            let streams = he.spatial_streams().unwrap_or_default();
            (Format::He, he.mcs()?, streams, width, nanos(he.guard_interval()))
        } else {
            let vht = header.vht?;
            let user = vht.users().find(|user| user.mcs.is_some())?;
            let width = vht.bandwidth_mhz().unwrap_or_default();
            let guard = guard_of(vht.guard_interval());
            (Format::Vht, user.mcs?, user.spatial_streams, width, guard)
        };
        Some(Self { format, kbps, mcs, streams, width_mhz, guard_ns, short_preamble: false })
    }

    /// Whether MPDUs are aggregated at this rate: since 802.11n.
    pub const fn can_aggregate(self) -> bool {
        !matches!(self.format, Format::Dsss | Format::Ofdm)
    }

    /// Whether the family has no slower rate: 1 Mb/s of DSSS, 6 Mb/s of OFDM.
    pub const fn is_slowest(self) -> bool {
        matches!((self.format, self.kbps), (Format::Dsss, 1_000) | (Format::Ofdm, 6_000))
    }

    /// Returns the level in dBm from which every receiver must decode the rate, with at most 8 or 10 %
    /// of losses (IEEE 802.11-2020, 15.4.8.2, 16.3.8.2, tables 17-18, 19-23 and 21-25; IEEE
    /// 802.11ax-2021, table 27-51; IEEE 802.11be-2024). Most receivers need some 5 to 10 dB less.
    /// `None` for resource units, unequal modulation, and unknown widths.
    pub fn sensitivity_dbm(self) -> Option<f64> {
        /// Levels of MCS 0 to 13 in 20 MHz.
        const BY_MCS: [f64; 14] = [
            -82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0, -54.0, -52.0,
            -49.0, -46.0,
        ];
        let mcs = match self.format {
            Format::Dsss => return Some(if self.kbps > 2_000 { -76.0 } else { -80.0 }),
            Format::Ofdm => {
                return match self.kbps {
                    6_000 => Some(-82.0),
                    9_000 => Some(-81.0),
                    12_000 => Some(-79.0),
                    18_000 => Some(-77.0),
                    24_000 => Some(-74.0),
                    36_000 => Some(-70.0),
                    48_000 => Some(-66.0),
                    54_000 => Some(-65.0),
                    _ => None,
                };
            }
            Format::Ht if self.mcs > 31 => return None,
            Format::Ht => self.mcs % 8,
            Format::Vht | Format::He | Format::Eht => self.mcs,
        };
        // Each doubling of the width adds 3 dB of noise.
        let wider = match self.width_mhz {
            20 => 0.0,
            40 => 3.0,
            80 => 6.0,
            160 => 9.0,
            320 => 12.0,
            _ => return None,
        };
        BY_MCS.get(usize::from(mcs)).map(|level| level + wider)
    }

    /// Returns the same rate of the model, if it has it.
    pub fn phy(self, band: Band) -> Option<PhyRate> {
        match self.format {
            Format::Dsss => {
                let rate = match self.kbps {
                    1_000 => DsssRate::Mbps1,
                    2_000 => DsssRate::Mbps2,
                    5_500 => DsssRate::Mbps5_5,
                    11_000 => DsssRate::Mbps11,
                    _ => return None,
                };
                let preamble = if self.short_preamble { Preamble::Short } else { Preamble::Long };
                Some(PhyRate::Dsss { rate, preamble })
            }
            Format::Ofdm => {
                let rate = match self.kbps {
                    6_000 => OfdmRate::Mbps6,
                    9_000 => OfdmRate::Mbps9,
                    12_000 => OfdmRate::Mbps12,
                    18_000 => OfdmRate::Mbps18,
                    24_000 => OfdmRate::Mbps24,
                    36_000 => OfdmRate::Mbps36,
                    48_000 => OfdmRate::Mbps48,
                    54_000 => OfdmRate::Mbps54,
                    _ => return None,
                };
                Some(match band {
                    Band::Ghz2_4 => PhyRate::ErpOfdm(rate),
                    Band::Ghz5 | Band::Ghz6 => PhyRate::Ofdm(rate),
                })
            }
            Format::Ht => {
                let width = match self.width_mhz {
                    40 => ChannelWidth::Mhz40,
                    _ => ChannelWidth::Mhz20,
                };
                let guard = match self.guard_ns {
                    400 => GuardInterval::Short,
                    _ => GuardInterval::Long,
                };
                PhyRate::ht(self.mcs, width, guard)
            }
            Format::Vht | Format::He | Format::Eht => None,
        }
    }

    /// Returns the duration of preamble and PHY header.
    pub fn preamble(self, band: Band) -> Duration {
        if let Some(rate) = self.phy(band) {
            return rate.preamble_and_header(band);
        }
        let streams = u64::from(self.streams.max(1));
        let training = streams + u64::from(streams > 1 && streams % 2 == 1);
        Duration::from_nanos(match self.format {
            Format::Dsss => 192_000,
            Format::Ofdm => 20_000,
            Format::Ht => 32_000 + 4_000 * training,
            // Legacy part, VHT-SIG-A, STF, LTFs, SIG-B (table 21-5).
            Format::Vht => 36_000 + 4_000 * training,
            // Legacy part, RL-SIG, HE-SIG-A, STF, LTFs of 2x with 0.8 us (27.3.4).
            Format::He => 36_000 + 7_200 * training,
            // Legacy part, RL-SIG, U-SIG, STF, and two symbols of EHT-SIG, in which a user field at
            // MCS 0 fits; LTFs as long as the guard interval requires (IEEE 802.11be-2024, 36.3.4
            // and 36.3.12.10).
            Format::Eht => 44_000 + training * (u64::from(self.guard_ns) + self.ltf_ns()),
        })
    }

    /// Usual length of an LTF symbol of EHT without its guard interval, in ns: 4x with 3.2 us, 2x
    /// with others.
    const fn ltf_ns(self) -> u64 {
        if self.guard_ns == 3_200 { 12_800 } else { 6_400 }
    }

    /// Returns the time on the air of a PPDU whose PSDU has this many bytes.
    pub fn airtime(self, psdu_bytes: u32, band: Band) -> Duration {
        if let Some(rate) = self.phy(band) {
            return rate.ppdu_duration(psdu_bytes, band);
        }
        let bits = u64::from(psdu_bytes) * 8 + 22;
        let data = (bits * 1_000_000).checked_div(u64::from(self.kbps)).unwrap_or_default();
        self.preamble(band) + Duration::from_nanos(data)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.format {
            Format::Dsss => return write!(f, "DSSS {} Mb/s", f64::from(self.kbps) / 1e3),
            Format::Ofdm => return write!(f, "OFDM {} Mb/s", f64::from(self.kbps) / 1e3),
            Format::Ht => "HT",
            Format::Vht => "VHT",
            Format::He => "HE",
            Format::Eht => "EHT",
        };
        let Self { mcs, streams, width_mhz, guard_ns, .. } = self;
        match self.format {
            Format::Ht => write!(f, "{family} MCS {mcs} {width_mhz}MHz {guard_ns}ns"),
            _ => write!(f, "{family} MCS {mcs} x{streams} {width_mhz}MHz {guard_ns}ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of tables 17-18, 19-23 and 21-25 (IEEE 802.11-2020).
    #[test]
    fn sensitivities_are_those_of_the_standard() {
        let ofdm = |mbps: u8| Rate::legacy(mbps * 2, false, false).sensitivity_dbm();
        assert_eq!([6, 24, 54].map(ofdm), [Some(-82.0), Some(-74.0), Some(-65.0)]);
        let ht = |mcs, wide| Rate::ht(mcs, wide, false).and_then(Rate::sensitivity_dbm);
        assert_eq!([ht(0, false), ht(7, false), ht(15, true)], [-82.0, -64.0, -61.0].map(Some));
        let vht = |mcs, width_mhz| {
            let rate =
                Rate { mcs, width_mhz, format: Format::Vht, ..Rate::legacy(12, false, false) };
            rate.sensitivity_dbm()
        };
        assert_eq!(vht(9, 20), Some(-57.0));
        assert_eq!(vht(9, 80), Some(-51.0));
        assert_eq!(vht(9, 160), Some(-48.0));
        assert_eq!(vht(9, 5), None);
    }
}
