//! Conversion of rates between Linux' rate control (struct ieee80211_tx_rate; hwsim's own table of
//! legacy rates) and the model.
//!
//! The model's PHYs are 802.11b, a, g and n. VHT rates of 20 and 40 MHz with an MCS up to 7 are HT
//! rates by another name. Rates without a counterpart (MCS 8 and 9, 80 and 160 MHz, more than four
//! streams) become the next lower rate of the model, and are counted.

use super::wire::Try;
use lasthop_wifi::medium::{Series, Stage};
use lasthop_wifi::phy::{Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};

/// Flags of `enum hwsim_tx_rate_flags`.
mod flag {
    pub const RTS_CTS: u16 = 1 << 0;
    pub const SHORT_PREAMBLE: u16 = 1 << 2;
    pub const MCS: u16 = 1 << 3;
    pub const MHZ_40: u16 = 1 << 5;
    pub const SHORT_GUARD_INTERVAL: u16 = 1 << 7;
    pub const VHT_MCS: u16 = 1 << 8;
    pub const MHZ_80: u16 = 1 << 9;
    pub const MHZ_160: u16 = 1 << 10;
}

/// Streams of the model's highest rate.
const STREAMS_MAX: u8 = 4;

/// Rates of the model for a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translated {
    /// Stages at their positions in the kernel's series.
    pub series: Series,
    /// Whether a rate was replaced, because the model has none like it.
    pub replaced: bool,
}

/// The kernel's series in rates of the model. A frame without a rate gets the lowest of `band`
/// once.
pub fn series(tries: &[Try], band: Band) -> Translated {
    let mut series = Series::default();
    let mut replaced = false;
    for (slot, stage) in series.iter_mut().zip(tries) {
        if stage.index < 0 {
            break;
        }
        let (rate, is_exact) = rate(stage, band);
        replaced |= !is_exact;
        let rts = stage.flags & flag::RTS_CTS != 0;
        *slot = Some(Stage { rate, tries: stage.count.max(1), rts });
    }
    if series[0].is_none() {
        series[0] = Some(Stage { rate: legacy(0, band, false), tries: 1, rts: false });
    }
    Translated { series, replaced }
}

/// The rate of a stage, and whether it is an exact match.
fn rate(stage: &Try, band: Band) -> (Rate, bool) {
    let Try { index, flags, .. } = *stage;
    let index = index.cast_unsigned();
    let is_wider = flags & (flag::MHZ_80 | flag::MHZ_160) != 0;
    let width = if is_wider || flags & flag::MHZ_40 != 0 {
        ChannelWidth::Mhz40
    } else {
        ChannelWidth::Mhz20
    };
    let guard_interval = if flags & flag::SHORT_GUARD_INTERVAL != 0 {
        GuardInterval::Short
    } else {
        GuardInterval::Long
    };
    if flags & flag::VHT_MCS != 0 {
        let (streams, mcs) = ((index >> 4) + 1, index & 0xf);
        let is_exact = !is_wider && mcs < 8 && streams <= STREAMS_MAX;
        let mcs = 8 * (streams.min(STREAMS_MAX) - 1) + mcs.min(7);
        return (Rate::Ht { mcs, width, guard_interval }, is_exact);
    }
    if flags & flag::MCS != 0 {
        let mcs = index.min(Rate::MCS_MAX);
        return (Rate::Ht { mcs, width, guard_interval }, mcs == index && !is_wider);
    }
    (legacy(index, band, flags & flag::SHORT_PREAMBLE != 0), true)
}

/// The legacy rate at an index: 802.11b's four come first at 2.4 GHz.
fn legacy(index: u8, band: Band, short_preamble: bool) -> Rate {
    let index = usize::from(index);
    let ofdm = |index: usize| OfdmRate::ALL[index.min(OfdmRate::ALL.len() - 1)];
    match (band, DsssRate::ALL.get(index)) {
        (Band::Ghz2_4, Some(&rate)) => {
            let preamble = if short_preamble { Preamble::Short } else { Preamble::Long };
            Rate::Dsss { rate, preamble }
        }
        (Band::Ghz2_4, None) => Rate::ErpOfdm(ofdm(index - DsssRate::ALL.len())),
        (Band::Ghz5 | Band::Ghz6, _) => Rate::Ofdm(ofdm(index)),
    }
}

/// The index under which a receiver gets a rate: hwsim's receivers know legacy rates only, so that
/// a rate of 802.11n becomes the fastest legacy rate that is not faster.
pub fn receive_index(rate: Rate, band: Band) -> u32 {
    let count = match band {
        Band::Ghz2_4 => DsssRate::ALL.len() + OfdmRate::ALL.len(),
        Band::Ghz5 | Band::Ghz6 => OfdmRate::ALL.len(),
    };
    let slower =
        (0..count as u8).filter(|&index| legacy(index, band, false).bitrate() <= rate.bitrate());
    // Of 802.11b's and ERP's, which overlap, the fastest.
    slower.max_by_key(|&index| legacy(index, band, false).bitrate()).unwrap_or(0).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Bitrate;

    fn stage(index: i8, flags: u16) -> Try {
        Try { index, count: 2, flags }
    }

    /// hwsim_rates of mac80211_hwsim.c, in units of 100 kb/s; at 5 GHz without the first four.
    #[test]
    fn legacy_rates_are_those_of_the_kernel() {
        let table = [10, 20, 55, 110, 60, 90, 120, 180, 240, 360, 480, 540u64];
        for (index, rate) in (0..).zip(table) {
            let bitrate = Bitrate::from_bps(rate * 100_000);
            assert_eq!(legacy(index, Band::Ghz2_4, false).bitrate(), bitrate);
            assert_eq!(
                receive_index(legacy(index, Band::Ghz2_4, false), Band::Ghz2_4),
                u32::from(index)
            );
            if let Some(at_5_ghz) = index.checked_sub(4) {
                let rate = legacy(at_5_ghz, Band::Ghz5, false);
                assert_eq!(rate.bitrate(), bitrate);
                assert_eq!(receive_index(rate, Band::Ghz5), u32::from(at_5_ghz));
            }
        }
    }

    #[test]
    fn mcs_rates_are_those_of_the_standard() {
        let kbps = |index, flags| {
            let (rate, is_exact) = rate(&stage(index, flags), Band::Ghz5);
            (rate.bitrate().as_bps() / 1_000, is_exact)
        };
        assert_eq!(kbps(0, flag::MCS), (6_500, true));
        assert_eq!(kbps(7, flag::MCS | flag::MHZ_40 | flag::SHORT_GUARD_INTERVAL), (150_000, true));
        assert_eq!(kbps(15, flag::MCS), (130_000, true));
        // Two streams, VHT-MCS 7 of 40 MHz: HT's MCS 15.
        assert_eq!(kbps(0x17, flag::VHT_MCS | flag::MHZ_40), (270_000, true));
        assert_eq!(kbps(0x09, flag::VHT_MCS), (65_000, false));
        assert_eq!(kbps(0x03, flag::VHT_MCS | flag::MHZ_80), (54_000, false));
        assert!(!kbps(-1, flag::VHT_MCS).1);
        assert_eq!(
            receive_index(
                Rate::Ht {
                    mcs: 0,
                    width: ChannelWidth::Mhz20,
                    guard_interval: GuardInterval::Long
                },
                Band::Ghz5
            ),
            0
        );
    }

    #[test]
    fn a_series_ends_at_its_first_empty_stage() {
        let stages = [stage(3, flag::MCS | flag::RTS_CTS), stage(0, 0), stage(-1, 0), stage(5, 0)];
        let Translated { series, replaced } = series(&stages, Band::Ghz5);
        assert!(!replaced);
        assert_eq!(series.iter().flatten().count(), 2);
        assert!(series[0].is_some_and(|stage| stage.rts && stage.tries == 2));
        let none = super::series(&[stage(-1, 0)], Band::Ghz2_4).series;
        assert_eq!(none[0].map(|stage| (stage.rate.kbps(), stage.tries)), Some((1_000, 1)));
        assert_eq!(none[1], None);
    }
}
