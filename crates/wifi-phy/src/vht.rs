//! VHT SU PPDUs (IEEE 802.11-2020, clause 21): existing combinations of MCS, streams and width,
//! their BCC encoders, and durations (21.4.3).
//!
//! Left out: MU PPDUs, LDPC, STBC, 80+80 MHz.

use super::modulation::MCS_MODULATION;
use super::{ChannelWidth, GuardInterval};
use lasthop_units::Duration;

/// Duration of the non-HT part (20 us), VHT-SIG-A (8 us) and VHT-STF (4 us; table 21-5).
const BEFORE_TRAINING: Duration = Duration::from_micros(20 + 8 + 4);
/// Duration of a VHT-LTF (table 21-5).
const VHT_LTF: Duration = Duration::from_micros(4);
/// Duration of VHT-SIG-B, one symbol (table 21-5). ns-3 3.37 leaves it out of SU PPDUs.
const VHT_SIGNAL_B: Duration = Duration::from_micros(4);
/// Duration of a symbol with the long guard interval (T_SYML).
const SYMBOL: Duration = Duration::from_micros(4);
/// Duration of a symbol with the short guard interval (T_SYMS).
const SYMBOL_SHORT: Duration = Duration::from_nanos(3_600);
/// Bits of the SERVICE field in front of the PSDU (21.3.10.2).
const SERVICE_BITS: u64 = 16;
/// Bits of the tail for each encoder (21.3.10.4).
const TAIL_BITS: u64 = 6;
/// Limit of data bits of one encoder in a symbol: 600 Mb/s in symbols of 3.6 us.
const ENCODER_BITS: u32 = 2_160;

/// Number of training fields for `streams` space-time streams (N_LTF; tables 21-13 for VHT and
/// 27-15 of IEEE 802.11ax-2021 for HE): 1, 2, 4, 6 or 8. ns-3 has the same.
pub(super) const fn training_fields(streams: u8) -> u64 {
    match streams {
        3 => 4,
        5 => 6,
        7 => 8,
        streams => streams as u64,
    }
}

/// Whether the tables of 21.5 lack the combination. The rule is that the coded bits of a symbol are
/// distributed to the encoders in whole puncturing blocks; it yields the combinations missing in
/// the tables (21-30 to 21-61).
pub(super) const fn is_forbidden(mcs: u8, streams: u8, width: ChannelWidth) -> bool {
    match (width, mcs, streams) {
        (ChannelWidth::Mhz20, 9, streams) => streams % 3 != 0,
        (ChannelWidth::Mhz80, 6, 3 | 7)
        | (ChannelWidth::Mhz80, 9, 6)
        | (ChannelWidth::Mhz160, 9, 3) => true,
        _ => false,
    }
}

/// Coded bits in a symbol (N_CBPS).
const fn coded_bits_per_symbol(mcs: u8, streams: u8, width: ChannelWidth) -> u32 {
    let (modulation, _) = MCS_MODULATION[mcs as usize];
    width.data_subcarriers() * modulation.bits() * streams as u32
}

/// Data bits in a symbol (N_DBPS): 26 to 24 960.
pub(super) const fn data_bits_per_symbol(mcs: u8, streams: u8, width: ChannelWidth) -> u32 {
    let (numerator, denominator) = MCS_MODULATION[mcs as usize].1.ratio();
    coded_bits_per_symbol(mcs, streams, width) * numerator / denominator
}

/// Number of BCC encoders (N_ES): 1 to 12. There is one for each started 600 Mb/s at the short
/// guard interval, and in some tables more, so that each has whole puncturing blocks (21.5). The
/// tables themselves were not seen: the resulting exceptions are those of Perahia and Stacey, "Next
/// Generation Wireless LANs" (2013), table 7.13, which other implementations use; a test lists
/// them.
pub(super) const fn encoders(mcs: u8, streams: u8, width: ChannelWidth) -> u64 {
    let coded = coded_bits_per_symbol(mcs, streams, width);
    let (_, block) = MCS_MODULATION[mcs as usize].1.ratio();
    let mut encoders = data_bits_per_symbol(mcs, streams, width).div_ceil(ENCODER_BITS);
    if !coded.is_multiple_of(block) {
        // MCS 9 at 20 MHz where it does not exist.
        return encoders as u64;
    }
    while !coded.is_multiple_of(encoders * block) {
        encoders += 1;
    }
    encoders as u64
}

/// Time from the start of the PPDU to the end of VHT-SIG-B: 40 to 68 us.
pub(super) fn preamble_and_header(streams: u8) -> Duration {
    BEFORE_TRAINING + VHT_LTF * training_fields(streams) + VHT_SIGNAL_B
}

/// Duration of the data field of a PSDU of `psdu_bytes`; with the short guard interval rounded up
/// to a multiple of 4 us (21.4.3).
pub(super) fn data(
    mcs: u8,
    streams: u8,
    width: ChannelWidth,
    guard_interval: GuardInterval,
    psdu_bytes: u32,
) -> Duration {
    let tail = TAIL_BITS * encoders(mcs, streams, width);
    let bits = SERVICE_BITS + 8 * u64::from(psdu_bytes) + tail;
    let symbols = bits.div_ceil(u64::from(data_bits_per_symbol(mcs, streams, width)));
    match guard_interval {
        GuardInterval::Long => SYMBOL * symbols,
        GuardInterval::Short => {
            SYMBOL * (SYMBOL_SHORT * symbols).as_nanos().div_ceil(SYMBOL.as_nanos())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
    extern crate alloc;
    use alloc::vec::Vec;

    const WIDTHS: [ChannelWidth; 4] = [Mhz20, Mhz40, Mhz80, Mhz160];

    /// Columns are width, MCS, streams.
    const FORBIDDEN: [(ChannelWidth, u8, u8); 10] = [
        (Mhz20, 9, 1),
        (Mhz20, 9, 2),
        (Mhz20, 9, 4),
        (Mhz20, 9, 5),
        (Mhz20, 9, 7),
        (Mhz20, 9, 8),
        (Mhz80, 6, 3),
        (Mhz80, 6, 7),
        (Mhz80, 9, 6),
        (Mhz160, 9, 3),
    ];

    /// Width, MCS, streams, and the number of encoders if it differs from one for each 600 Mb/s.
    const EXCEPTIONS: [(ChannelWidth, u8, u8, u64); 13] = [
        (Mhz80, 2, 7, 3),
        (Mhz80, 7, 7, 6),
        (Mhz80, 8, 7, 6),
        (Mhz80, 7, 8, 6),
        (Mhz160, 7, 4, 6),
        (Mhz160, 8, 5, 8),
        (Mhz160, 7, 6, 8),
        (Mhz160, 4, 7, 6),
        (Mhz160, 7, 7, 9),
        (Mhz160, 8, 7, 12),
        (Mhz160, 9, 7, 12),
        (Mhz160, 5, 8, 8),
        (Mhz160, 8, 8, 12),
    ];

    fn all() -> Vec<(ChannelWidth, u8, u8)> {
        let of = |width| (1..=8).flat_map(move |s| (0..=9).map(move |mcs| (width, mcs, s)));
        WIDTHS.into_iter().flat_map(of).collect()
    }

    #[test]
    fn combinations_that_do_not_exist() {
        for (width, mcs, streams) in all() {
            let rate = Rate::vht(mcs, streams, width, GuardInterval::Long);
            let is_forbidden = FORBIDDEN.contains(&(width, mcs, streams));
            assert_eq!(rate.is_none(), is_forbidden, "MCS {mcs}, {streams} streams, {width}");
        }
        for (mcs, streams) in [(10, 1), (0, 0), (0, 9)] {
            assert_eq!(Rate::vht(mcs, streams, Mhz80, GuardInterval::Long), None);
        }
        // Four widths of 80 combinations, but for those.
        let count: usize =
            WIDTHS.map(|width| Rate::all_vht(width, GuardInterval::Long, 9).count()).iter().sum();
        assert_eq!(count, 4 * 80 - FORBIDDEN.len());
    }

    #[test]
    fn encoders_of_the_tables() {
        for (width, mcs, streams) in all() {
            if FORBIDDEN.contains(&(width, mcs, streams)) {
                continue;
            }
            let exception = EXCEPTIONS
                .iter()
                .find(|exception| (exception.0, exception.1, exception.2) == (width, mcs, streams));
            let data_bits = data_bits_per_symbol(mcs, streams, width);
            let expected = exception.map_or(data_bits.div_ceil(2_160).into(), |it| it.3);
            assert_eq!(encoders(mcs, streams, width), expected, "{mcs} {streams} {width}");
        }
    }

    #[test]
    fn short_guard_interval_is_rounded_up() {
        // 80 MHz, MCS 9, one stream: ceil((16 + 12000 + 6) / 1560) = 8 symbols.
        let of = |guard_interval| data(9, 1, Mhz80, guard_interval, 1_500);
        assert_eq!(of(GuardInterval::Long), Duration::from_micros(32));
        // 28.8 us, rounded up.
        assert_eq!(of(GuardInterval::Short), Duration::from_micros(32));
        let headers = [1, 2, 3, 4, 5, 6, 7, 8].map(|s| preamble_and_header(s).as_micros());
        assert_eq!(headers, [40, 44, 52, 52, 60, 60, 68, 68]);
    }
}
