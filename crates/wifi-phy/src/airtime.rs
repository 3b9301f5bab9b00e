//! Duration of a PPDU on the medium (TXTIME): IEEE 802.11-2020, 15.3.3 and 16.3.4 (DSSS, CCK),
//! 17.4.3 (OFDM), 18.5.3 (ERP-OFDM), 19.4.3 (HT-mixed); `vht` and `he` have the later ones.
//!
//! Durations are exact to the nanosecond. A short-GI HT PPDU has symbols of 3.6 us, but its data
//! part is rounded up to a multiple of 4 us, as 19.4.3 requires. At 2.4 GHz, ERP-OFDM, HT and HE
//! PPDUs end with a signal extension of 6 us without a signal; it is part of the duration.

use super::{
    Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, PacketPadding, Preamble, Rate, eht, he,
    vht,
};
use lasthop_units::Duration;

/// Duration of the long preamble (144 us) and header (48 us), both at 1 Mb/s (16.2.2.2).
const DSSS_LONG_PREAMBLE_AND_HEADER: Duration = Duration::from_micros(144 + 48);
/// Duration of the short preamble (72 us at 1 Mb/s) and header (24 us at 2 Mb/s; 16.2.2.3).
const DSSS_SHORT_PREAMBLE_AND_HEADER: Duration = Duration::from_micros(72 + 24);
/// Duration of training (8 + 8 us) and SIGNAL (4 us; table 17-5).
const OFDM_PREAMBLE_AND_SIGNAL: Duration = Duration::from_micros(8 + 8 + 4);
/// Duration of HT-SIG (8 us) and HT-STF (4 us) after the non-HT part (table 19-6).
const HT_SIGNAL_AND_STF: Duration = Duration::from_micros(8 + 4);
/// Duration of an HT-LTF (table 19-6).
const HT_LTF: Duration = Duration::from_micros(4);
/// Duration of an OFDM symbol with the long guard interval (T_SYM).
const SYMBOL: Duration = Duration::from_micros(4);
/// Duration of an OFDM symbol with the short guard interval (T_SYMS).
const SYMBOL_SHORT: Duration = Duration::from_nanos(3_600);
/// aSignalExtension at 2.4 GHz (tables 18-5 and 19-25; of HE in 27.4.4 of IEEE
/// 802.11ax-2021).
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
/// Bits of the SERVICE field in front of the PSDU (17.3.5.2).
const SERVICE_BITS: u64 = 16;
/// Bits of the tail after the PSDU, for each encoder (17.3.5.3).
const TAIL_BITS: u64 = 6;

impl Band {
    /// aSignalExtension of HT and HE PPDUs: 6 us at 2.4 GHz.
    #[inline]
    pub const fn signal_extension(self) -> Duration {
        match self {
            Self::Ghz2_4 => SIGNAL_EXTENSION,
            Self::Ghz5 | Self::Ghz6 => Duration::ZERO,
        }
    }
}

impl Rate {
    /// Duration of the preamble and PHY header, up to the first bit of the PSDU's field. The ranges
    /// are DSSS 192 or 96 us, OFDM 20 us, HT-mixed 36 to 48 us, VHT 40 to 68 us, HE SU 40 to 164
    /// us, HE extended range 48 to 60 us, EHT 47.2 to 183.2 us; the same in all bands.
    #[inline]
    pub fn preamble_and_header(self, _band: Band) -> Duration {
        match self {
            Self::Dsss { rate, preamble } => match preamble {
                Preamble::Short if rate != DsssRate::Mbps1 => DSSS_SHORT_PREAMBLE_AND_HEADER,
                _ => DSSS_LONG_PREAMBLE_AND_HEADER,
            },
            Self::Ofdm(_) | Self::ErpOfdm(_) => OFDM_PREAMBLE_AND_SIGNAL,
            Self::Ht { .. } => {
                OFDM_PREAMBLE_AND_SIGNAL + HT_SIGNAL_AND_STF + HT_LTF * self.training_fields()
            }
            Self::Vht { streams, .. } => vht::preamble_and_header(streams),
            Self::He { streams, guard_interval, .. } => {
                he::preamble_and_header(streams, guard_interval, false)
            }
            Self::HeExtendedRange { guard_interval, .. } => {
                he::preamble_and_header(1, guard_interval, true)
            }
            Self::Eht { mcs, streams, guard_interval, .. } => {
                eht::preamble_and_header(mcs, streams, guard_interval)
            }
        }
    }

    /// Duration of the whole PPDU with a PSDU of `psdu_bytes`, signal extension included; for HE
    /// without packet extension. `band` matters for HT and HE only: the other rates belong to one.
    #[inline]
    pub fn ppdu_duration(self, psdu_bytes: u32, band: Band) -> Duration {
        self.padded_ppdu_duration(psdu_bytes, band, PacketPadding::None)
    }

    /// Duration of the whole PPDU to a receiver with this nominal packet padding, which determines
    /// the packet extension of an HE PPDU. Other PPDUs have no packet extension.
    #[inline]
    pub fn padded_ppdu_duration(
        self,
        psdu_bytes: u32,
        band: Band,
        padding: PacketPadding,
    ) -> Duration {
        let bits = u64::from(psdu_bytes) * 8;
        let before = self.preamble_and_header(band);
        match self {
            Self::Dsss { rate, .. } => {
                // LENGTH counts whole microseconds, rounded up (16.2.3.5).
                let bits_per_ms = rate.bitrate().as_bps() / 1_000;
                before + Duration::from_micros((bits * 1_000).div_ceil(bits_per_ms))
            }
            Self::Ofdm(rate) => before + ofdm_data(rate, bits),
            Self::ErpOfdm(rate) => before + ofdm_data(rate, bits) + SIGNAL_EXTENSION,
            Self::Ht { guard_interval, .. } => {
                let bits = SERVICE_BITS + bits + TAIL_BITS * self.encoders();
                let symbols = bits.div_ceil(u64::from(self.data_bits_per_symbol()));
                let symbols = match guard_interval {
                    GuardInterval::Long => symbols,
                    GuardInterval::Short => {
                        (SYMBOL_SHORT * symbols).as_nanos().div_ceil(SYMBOL.as_nanos())
                    }
                };
                before + SYMBOL * symbols + band.signal_extension()
            }
            Self::Vht { mcs, streams, width, guard_interval } => {
                before + vht::data(mcs, streams, width, guard_interval, psdu_bytes)
            }
            Self::He { guard_interval, .. }
            | Self::HeExtendedRange { guard_interval, .. }
            | Self::Eht { guard_interval, .. } => {
                let coding = self.he_coding().expect("an HE or EHT rate");
                let end = he::end_of(core::iter::once((coding, psdu_bytes)));
                before + he::data(end, guard_interval, padding) + band.signal_extension()
            }
        }
    }

    /// Number of HT-LTFs for the data streams (N_DLTF, table 19-13).
    fn training_fields(self) -> u64 {
        match self.streams() {
            3 => 4,
            streams => u64::from(streams),
        }
    }

    /// Number of BCC encoders (N_ES, tables 19-27 to 19-34): two above 300 Mb/s.
    fn encoders(self) -> u64 {
        match self {
            Self::Ht { mcs: 21..=23 | 28..=31, width: ChannelWidth::Mhz40, .. } => 2,
            _ => 1,
        }
    }
}

/// Duration of SERVICE, PSDU, tail and pad bits in whole symbols.
fn ofdm_data(rate: OfdmRate, psdu_bits: u64) -> Duration {
    let bits = SERVICE_BITS + psdu_bits + TAIL_BITS;
    SYMBOL * bits.div_ceil(u64::from(rate.data_bits_per_symbol()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeGuardInterval, RuSize};
    use proptest::prelude::*;

    #[test]
    fn by_hand_from_the_clauses() {
        let us = Duration::from_micros;
        let psdu = |rate: Rate, bytes| rate.ppdu_duration(bytes, Band::Ghz2_4);
        // 17.4.3: 20 + 4 ceil((16 + 12000 + 6) / 216) = 20 + 4 * 56.
        assert_eq!(psdu(Rate::Ofdm(OfdmRate::Mbps54), 1500), us(244));
        assert_eq!(psdu(Rate::ErpOfdm(OfdmRate::Mbps54), 1500), us(250));
        // The acknowledgements everybody knows: 14 bytes.
        assert_eq!(psdu(Rate::Ofdm(OfdmRate::Mbps24), 14), us(28));
        assert_eq!(psdu(Rate::Ofdm(OfdmRate::Mbps6), 14), us(44));
        let dsss = |rate, preamble| Rate::Dsss { rate, preamble };
        assert_eq!(psdu(dsss(DsssRate::Mbps1, Preamble::Long), 14), us(304));
        assert_eq!(psdu(dsss(DsssRate::Mbps1, Preamble::Short), 14), us(304));
        assert_eq!(psdu(dsss(DsssRate::Mbps2, Preamble::Short), 14), us(152));
        // 16.3.4: 192 + ceil(8 * 1500 / 11).
        assert_eq!(psdu(dsss(DsssRate::Mbps11, Preamble::Long), 1500), us(1283));
        // 19.4.3: four streams, two encoders: 48 + 4 ceil((16 + 524280 + 12) / 2160).
        let fastest =
            |guard_interval| Rate::Ht { mcs: 31, width: ChannelWidth::Mhz40, guard_interval };
        let at_5 = |rate: Rate| rate.ppdu_duration(65_535, Band::Ghz5);
        assert_eq!(at_5(fastest(GuardInterval::Long)), us(48 + 4 * 243));
        // 243 * 3.6 = 874.8, rounded up to 876.
        assert_eq!(at_5(fastest(GuardInterval::Short)), us(48 + 876));
    }

    #[test]
    fn two_encoders_exactly_above_300_mbps() {
        for width in [ChannelWidth::Mhz20, ChannelWidth::Mhz40] {
            for gi in [GuardInterval::Long, GuardInterval::Short] {
                for rate in Rate::all_ht(width, gi, 4) {
                    let above = rate.bitrate().as_bps() > 300_000_000;
                    assert_eq!(rate.encoders(), 1 + u64::from(above), "{rate}");
                }
            }
        }
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        let preamble = prop_oneof![Just(Preamble::Long), Just(Preamble::Short)];
        let width = prop_oneof![Just(ChannelWidth::Mhz20), Just(ChannelWidth::Mhz40)];
        let gi = prop_oneof![Just(GuardInterval::Long), Just(GuardInterval::Short)];
        prop_oneof![
            (0usize..4, preamble)
                .prop_map(|(i, preamble)| Rate::Dsss { rate: DsssRate::ALL[i], preamble }),
            (0usize..8).prop_map(|i| Rate::Ofdm(OfdmRate::ALL[i])),
            (0usize..8).prop_map(|i| Rate::ErpOfdm(OfdmRate::ALL[i])),
            (0u8..32, width, gi).prop_map(|(mcs, width, guard_interval)| Rate::Ht {
                mcs,
                width,
                guard_interval
            }),
            any_later_rate(),
        ]
    }

    /// VHT and HE rates of one user.
    fn any_later_rate() -> impl Strategy<Value = Rate> {
        use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
        let width = || prop::sample::select(&[Mhz20, Mhz40, Mhz80, Mhz160][..]);
        let streams = || 1..=Rate::STREAMS_MAX;
        let gi = prop_oneof![Just(GuardInterval::Long), Just(GuardInterval::Short)];
        let he_gi = || prop::sample::select(&HeGuardInterval::ALL[..]);
        let tones = prop_oneof![Just(RuSize::Tones106), Just(RuSize::Tones242)];
        prop_oneof![
            (0u8..10, streams(), width(), gi)
                .prop_filter_map("no VHT rate", |(m, s, w, gi)| { Rate::vht(m, s, w, gi) }),
            (0u8..12, streams(), width(), he_gi(), any::<bool>())
                .prop_filter_map("no HE rate", |(m, s, w, gi, dcm)| Rate::he(m, s, w, gi, dcm)),
            (0u8..3, tones, he_gi(), any::<bool>())
                .prop_filter_map("no extended range rate", |(m, tones, gi, dcm)| {
                    Rate::he_extended_range(m, tones, gi, dcm)
                }),
        ]
    }

    proptest! {
        #[test]
        fn longer_psdus_take_longer(rate in any_rate(), bytes in 0u32..65_535, more in 0u32..5_000) {
            for band in [Band::Ghz2_4, Band::Ghz5, Band::Ghz6] {
                let short = rate.ppdu_duration(bytes, band);
                let long = rate.ppdu_duration(bytes + more, band);
                prop_assert!(short <= long);
                prop_assert!(rate.preamble_and_header(band) < long);
            }
        }

        #[test]
        fn no_ppdu_is_faster_than_its_data_rate(rate in any_rate(), bytes in 1u32..65_535) {
            let air = rate.ppdu_duration(bytes, Band::Ghz5);
            let header = rate.preamble_and_header(Band::Ghz5);
            let bits = f64::from(bytes) * 8.0;
            let data = air - header;
            prop_assert!(data.as_secs_f64() * rate.bitrate().as_bps() as f64 >= bits * 0.999_999);
        }

        #[test]
        fn only_he_is_extended(rate in any_rate(), bytes in 0u32..65_535) {
            let at = |padding| rate.padded_ppdu_duration(bytes, Band::Ghz5, padding);
            let [none, short, long] =
                [PacketPadding::None, PacketPadding::Us8, PacketPadding::Us16].map(at);
            prop_assert_eq!(none, rate.ppdu_duration(bytes, Band::Ghz6));
            prop_assert!(none <= short && short <= long);
            let is_he = matches!(rate, Rate::He { .. } | Rate::HeExtendedRange { .. });
            let extension = (long - none).as_micros();
            let expected: &[u64] = if is_he { &[4, 8, 12, 16] } else { &[0] };
            prop_assert!(expected.contains(&extension));
            let signal_extension = rate.ppdu_duration(bytes, Band::Ghz2_4) - none;
            let has_it = is_he || rate.is_ht();
            prop_assert_eq!(signal_extension.as_micros(), if has_it { 6 } else { 0 });
        }
    }
}
