//! HE SU and HE extended range SU PPDUs (IEEE 802.11ax-2021, clause 27): guard intervals and
//! HE-LTFs, padding before and after the code, packet extension, and durations (27.4.3). `mu` has
//! the PPDUs of several users.
//!
//! The code is LDPC where it is mandatory (above 242 tones, MCS 10 and 11, more than four streams;
//! 27.1.1) and BCC otherwise. Left out: STBC, beamforming, preamble puncturing, midambles
//! (Doppler), PPDUs without data.
//!
//! The text of the clauses was not available. Lengths of fields, N_SD,SHORT, the LDPC rules and the
//! nominal T_PE were compared with other implementations.

use super::modulation::MCS_MODULATION;
use super::vht::training_fields;
use super::{CodeRate, Modulation, RuSize};
use core::fmt;
use lasthop_units::{Bitrate, Duration};

/// Duration of the non-HT part (20 us), RL-SIG (4 us) and HE-SIG-A (8 us; 27.4.3).
pub const UNTIL_SIGNAL_A: Duration = Duration::from_micros(20 + 4 + 8);
/// Duration of the repeated HE-SIG-A in an extended range PPDU.
const SIGNAL_A_AGAIN: Duration = Duration::from_micros(8);
/// HE-STF of a PPDU that is not trigger-based.
pub(super) const HE_STF: Duration = Duration::from_micros(4);
/// HE-STF of a trigger-based PPDU.
pub(super) const HE_STF_TRIGGER_BASED: Duration = Duration::from_micros(8);
/// Bits of the SERVICE field in front of the PSDU (27.3.12.3).
const SERVICE_BITS: u64 = 16;
/// Bits of the BCC tail; there is at most one encoder (27.3.12.5.1).
const TAIL_BITS: u64 = 6;
/// Highest number of streams with BCC (27.1.1).
const BCC_STREAMS_MAX: u8 = 4;
/// Highest MCS of BCC (27.1.1).
const BCC_MCS_MAX: u8 = 9;
/// Highest MCS of HE.
const HE_MCS_MAX: u8 = 11;
/// Highest number of streams with dual carrier modulation.
const DCM_STREAMS_MAX: u8 = 2;

/// Guard interval of the HE-LTFs and data symbols, and size of the HE-LTFs: one field of HE-SIG-A
/// (27.3.11.7) or of a Trigger frame (9.3.1.22).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeGuardInterval {
    /// 0.8 us with 1x HE-LTFs, in HE SU PPDUs.
    Ns800Ltf1x,
    /// 0.8 us, 2x HE-LTFs: HE SU and HE MU.
    Ns800Ltf2x,
    /// 0.8 us, 4x HE-LTFs: HE SU (optional) and HE MU.
    Ns800Ltf4x,
    /// 1.6 us, 1x HE-LTFs: trigger-based, with MU-MIMO over the whole channel.
    Ns1600Ltf1x,
    /// 1.6 us, 2x HE-LTFs: every HE PPDU.
    Ns1600Ltf2x,
    /// 3.2 us, 4x HE-LTFs: every HE PPDU.
    Ns3200Ltf4x,
}

impl HeGuardInterval {
    /// All values, ascending by guard interval and then HE-LTF.
    pub const ALL: [Self; 6] = [
        Self::Ns800Ltf1x,
        Self::Ns800Ltf2x,
        Self::Ns800Ltf4x,
        Self::Ns1600Ltf1x,
        Self::Ns1600Ltf2x,
        Self::Ns3200Ltf4x,
    ];

    /// The guard interval alone: 800, 1600 or 3200 ns.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.nanos())
    }

    /// Duration of a data symbol: 12.8 us and the guard interval (T_SYM).
    pub const fn symbol(self) -> Duration {
        Duration::from_nanos(12_800 + self.nanos())
    }

    /// Duration of an HE-LTF: 3.2, 6.4 or 12.8 us and the guard interval (T_HE-LTF-SYM). In ns-3
    /// 3.37 its duration is 8 us with any guard interval.
    pub const fn training_symbol(self) -> Duration {
        let without = match self {
            Self::Ns800Ltf1x | Self::Ns1600Ltf1x => 3_200,
            Self::Ns800Ltf2x | Self::Ns1600Ltf2x => 6_400,
            Self::Ns800Ltf4x | Self::Ns3200Ltf4x => 12_800,
        };
        Duration::from_nanos(without + self.nanos())
    }

    /// Whether HE SU and extended range SU PPDUs have it.
    pub const fn is_of_single_user(self) -> bool {
        !matches!(self, Self::Ns1600Ltf1x)
    }

    /// Whether HE MU PPDUs have it.
    pub const fn is_of_multi_user(self) -> bool {
        !matches!(self, Self::Ns800Ltf1x | Self::Ns1600Ltf1x)
    }

    /// Whether trigger-based PPDUs have it.
    pub const fn is_of_trigger_based(self) -> bool {
        matches!(self, Self::Ns1600Ltf1x | Self::Ns1600Ltf2x | Self::Ns3200Ltf4x)
    }

    const fn nanos(self) -> u64 {
        match self {
            Self::Ns800Ltf1x | Self::Ns800Ltf2x | Self::Ns800Ltf4x => 800,
            Self::Ns1600Ltf1x | Self::Ns1600Ltf2x => 1_600,
            Self::Ns3200Ltf4x => 3_200,
        }
    }
}

/// Formats as `2xLTF+0.8us`, the notation of the standard.
impl fmt::Display for HeGuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ns800Ltf1x => "1xLTF+0.8us",
            Self::Ns800Ltf2x => "2xLTF+0.8us",
            Self::Ns800Ltf4x => "4xLTF+0.8us",
            Self::Ns1600Ltf1x => "1xLTF+1.6us",
            Self::Ns1600Ltf2x => "2xLTF+1.6us",
            Self::Ns3200Ltf4x => "4xLTF+3.2us",
        })
    }
}

/// Nominal packet padding: time that a receiver needs for a full last symbol, from its capabilities
/// (26.12). The padding determines the packet extension after the last symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PacketPadding {
    /// Padding of 0 us: no packet extension.
    #[default]
    None,
    /// Padding of 8 us.
    Us8,
    /// Padding of 16 us.
    Us16,
    /// Padding of 20 us, of EHT PPDUs only (IEEE 802.11be-2024, 36.3.14).
    Us20,
}

impl PacketPadding {
    /// Duration of the packet extension (nominal T_PE, 27.3.13): 0 to 20 us, shorter if more of the
    /// last symbol is padding.
    const fn extension(self, last: Segments) -> Duration {
        let factor = last.factor as u64;
        Duration::from_micros(match self {
            Self::None => 0,
            Self::Us8 => 4 * factor.saturating_sub(2),
            Self::Us16 => 4 * factor,
            Self::Us20 => 4 + 4 * factor,
        })
    }
}

/// End of the coded bits: the number of symbols, and the number of quarters (segments) of the last
/// one with bits (pre-FEC padding factor `a`, 1 to 4; 27.3.12). Values are ordered by length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segments {
    pub(super) symbols: u64,
    pub(super) factor: u8,
}

impl Segments {
    /// Returns the end one segment later: the LDPC extra symbol segment.
    const fn next(self) -> Self {
        match self.factor {
            4 => Self { symbols: self.symbols + 1, factor: 1 },
            factor => Self { symbols: self.symbols, factor: factor + 1 },
        }
    }
}

/// Coding of one user's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeCoding {
    pub(super) ru: RuSize,
    pub(super) mcs: u8,
    pub(super) streams: u8,
    pub(super) dcm: bool,
    /// Whether the PPDU is EHT, which always has LDPC.
    pub(super) is_eht: bool,
}

impl HeCoding {
    /// Whether the combination exists: MCS 0 to 11, one to eight streams; DCM with MCS 0, 1, 3 and
    /// 4 and at most two streams (27.3.12.9).
    pub(super) const fn exists(self) -> bool {
        let is_dcm_allowed = matches!(self.mcs, 0 | 1 | 3 | 4) && self.streams <= DCM_STREAMS_MAX;
        self.mcs <= HE_MCS_MAX
            && self.streams >= 1
            && self.streams <= 8
            && (!self.dcm || is_dcm_allowed)
    }

    const fn mode(self) -> (Modulation, CodeRate) {
        MCS_MODULATION[self.mcs as usize]
    }

    /// Whether the code must be LDPC.
    pub(super) const fn is_ldpc(self) -> bool {
        self.is_eht
            || self.ru as u8 > RuSize::Tones242 as u8
            || self.mcs > BCC_MCS_MAX
            || self.streams > BCC_STREAMS_MAX
    }

    const fn coded_bits(self, subcarriers: u32) -> u32 {
        subcarriers * self.mode().0.bits() * self.streams as u32
    }

    const fn data_bits(self, subcarriers: u32) -> u32 {
        let (numerator, denominator) = self.mode().1.ratio();
        self.coded_bits(subcarriers) * numerator / denominator
    }

    /// Data bits in a symbol (N_DBPS), rounded down: 6 to 130 666. ns-3 3.37 does not round (MCS 9
    /// on 996 tones: 6533 1/3), which shortens PPDUs of nearly a megabyte.
    pub(super) const fn data_bits_per_symbol(self) -> u32 {
        self.data_bits(self.ru.data_subcarriers(self.dcm))
    }

    /// Data rate without the rounding of N_DBPS, rounded down to a whole bit/s.
    pub(super) fn bitrate(self, guard_interval: HeGuardInterval) -> Bitrate {
        let (numerator, denominator) = self.mode().1.ratio();
        let coded = self.coded_bits(self.ru.data_subcarriers(self.dcm));
        let bits = u64::from(coded * numerator) * 1_000_000_000;
        let symbol = guard_interval.symbol().as_nanos();
        Bitrate::from_bps(bits / (u64::from(denominator) * symbol))
    }

    /// End of this user's bits without regard to others (N_SYM,init and a_init, 27.3.12).
    pub(super) fn initial(self, psdu_bytes: u32) -> Segments {
        let tail = if self.is_ldpc() { 0 } else { TAIL_BITS };
        let bits = SERVICE_BITS + 8 * u64::from(psdu_bytes) + tail;
        let symbol = u64::from(self.data_bits_per_symbol());
        let segment = u64::from(self.data_bits(self.ru.short_subcarriers(self.dcm)));
        let factor = match bits % symbol {
            0 => 4,
            excess => excess.div_ceil(segment).min(4),
        };
        // At most 4.
        Segments { symbols: bits.div_ceil(symbol), factor: factor as u8 }
    }

    /// Whether LDPC would puncture too many bits if the PPDU's bits end at `end`, so that one more
    /// segment is needed (27.3.12.5.2, with 19.3.11.7.5).
    pub(super) fn needs_extra_segment(self, end: Segments) -> bool {
        if !self.is_ldpc() {
            return false;
        }
        let subcarriers = self.ru.data_subcarriers(self.dcm);
        let last = match end.factor {
            4 => subcarriers,
            factor => u32::from(factor) * self.ru.short_subcarriers(self.dcm),
        };
        let of = |per_symbol: u32, in_last: u32| {
            (end.symbols - 1) * u64::from(per_symbol) + u64::from(in_last)
        };
        let payload = of(self.data_bits(subcarriers), self.data_bits(last));
        let available = of(self.coded_bits(subcarriers), self.coded_bits(last));
        let (numerator, denominator) = self.mode().1.ratio();
        let (numerator, denominator) = (u64::from(numerator), u64::from(denominator));
        let redundancy = denominator - numerator;
        // Table 19-16. Products with the denominator, so that everything is whole.
        let has_space_for =
            |bits: u64| denominator * available >= denominator * payload + bits * redundancy;
        let (words, length) = match available {
            ..=648 => (1, if has_space_for(912) { 1296 } else { 648 }),
            649..=1296 => (1, if has_space_for(1464) { 1944 } else { 1296 }),
            1297..=1944 => (1, 1944),
            1945..=2592 => (2, if has_space_for(2916) { 1944 } else { 1296 }),
            _ => ((denominator * payload).div_ceil(1944 * numerator), 1944),
        };
        let coded = words * length;
        // A word has 648, 1296 or 1944 bits: whole for each rate.
        let shortened = (coded * numerator / denominator).saturating_sub(payload);
        let punctured = coded.saturating_sub(available + shortened);
        let parity = coded * redundancy / denominator;
        let is_barely_shortened = 10 * shortened * redundancy < 12 * punctured * numerator;
        (10 * punctured > parity && is_barely_shortened) || 10 * punctured > 3 * parity
    }
}

/// End of the bits of a PPDU for all its `users` (coding and octets of PSDU).
pub(super) fn end_of(users: impl Iterator<Item = (HeCoding, u32)> + Clone) -> Segments {
    let initial = users.clone().map(|(coding, bytes)| coding.initial(bytes)).max();
    let initial = initial.unwrap_or(Segments { symbols: 0, factor: 4 });
    if users.clone().any(|(coding, _)| coding.needs_extra_segment(initial)) {
        initial.next()
    } else {
        initial
    }
}

/// Duration of the data symbols and the packet extension.
pub(super) fn data(
    end: Segments,
    guard_interval: HeGuardInterval,
    padding: PacketPadding,
) -> Duration {
    guard_interval.symbol() * end.symbols + padding.extension(end)
}

/// Time from the start of a PPDU to the end of its HE-LTFs: HE SU 40 to 164 us, extended range 48
/// to 60 us.
pub(super) fn preamble_and_header(
    streams: u8,
    guard_interval: HeGuardInterval,
    is_extended_range: bool,
) -> Duration {
    let training = guard_interval.training_symbol() * training_fields(streams);
    let again = if is_extended_range { SIGNAL_A_AGAIN } else { Duration::ZERO };
    UNTIL_SIGNAL_A + again + HE_STF + training
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Band, ChannelWidth, Rate};
    use proptest::prelude::*;

    const MCS_9: HeCoding =
        HeCoding { ru: RuSize::Tones996, mcs: 9, streams: 1, dcm: false, is_eht: false };

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn where_ldpc_is_required() {
        let is_ldpc =
            |ru, mcs, streams| HeCoding { ru, mcs, streams, dcm: false, is_eht: false }.is_ldpc();
        assert!(!is_ldpc(RuSize::Tones242, 9, 4) && !is_ldpc(RuSize::Tones26, 0, 1));
        assert!(is_ldpc(RuSize::Tones484, 0, 1) && is_ldpc(RuSize::Tones242, 10, 1));
        assert!(is_ldpc(RuSize::Tones242, 0, 5));
    }

    /// Computed by hand from 27.3.12: MCS 9 on 996 tones has 6533 data bits in a symbol and 1600 in
    /// a segment; with LDPC there is no tail.
    #[test]
    fn segments_of_the_last_symbol() {
        assert_eq!(MCS_9.data_bits_per_symbol(), 6533);
        let end = |bytes| {
            let Segments { symbols, factor } = MCS_9.initial(bytes);
            (symbols, factor)
        };
        assert_eq!(end(0), (1, 1));
        assert_eq!(end(198), (1, 1));
        assert_eq!(end(199), (1, 2));
        assert_eq!(end(398), (1, 2));
        assert_eq!(end(598), (1, 3));
        assert_eq!(end(599), (1, 4));
        // 16 + 8 * 814 = 6528, and 8 bits more.
        assert_eq!(end(814), (1, 4));
        assert_eq!(end(815), (2, 1));
        // BCC: 16 + 8 * 11 + 6 = 110 of 117 bits, segments of 30.
        let bpsk = HeCoding { ru: RuSize::Tones242, mcs: 0, streams: 1, dcm: false, is_eht: false };
        assert_eq!(bpsk.initial(11), Segments { symbols: 1, factor: 4 });
        assert_eq!(bpsk.initial(1), Segments { symbols: 1, factor: 1 });
        assert_eq!(bpsk.initial(12), Segments { symbols: 2, factor: 1 });
        // With DCM 58 bits, segments of 15.
        let dcm = HeCoding { dcm: true, ..bpsk };
        assert_eq!(dcm.data_bits_per_symbol(), 58);
        assert_eq!(dcm.initial(4), Segments { symbols: 1, factor: 4 });
    }

    /// 19.3.11.7.5 by hand, one segment of MCS 9 on 996 tones: 1600 of 1920 bits are payload, one
    /// word of 1944 with 1620. 20 bits are shortened, 4 punctured: less than a tenth of the parity
    /// of 324. Two segments: 3200 of 3840, two words with 3240: 40 shortened, 8 punctured.
    #[test]
    fn ldpc_puncturing_by_hand() {
        assert!(!MCS_9.needs_extra_segment(Segments { symbols: 1, factor: 1 }));
        assert!(!MCS_9.needs_extra_segment(Segments { symbols: 1, factor: 2 }));
        // MCS 11 on 242 tones, one segment: 600 bits of which 500 are payload, one word
        // of 648 with 540: 40 shortened, 8 punctured of 108 parity bits: no. Four
        // segments: 2340, payload 1950, two words of 1296 with 2160: 210 shortened, 42
        // punctured of 432 parity bits: no. Three: 1800, payload 1500, one word of 1944
        // with 1620: 120 shortened, 24 punctured of 324: no.
        let mcs_11 =
            HeCoding { ru: RuSize::Tones242, mcs: 11, streams: 1, dcm: false, is_eht: false };
        for factor in [1, 3, 4] {
            assert!(!mcs_11.needs_extra_segment(Segments { symbols: 1, factor }));
        }
        // MCS 10 on 52 tones, eleven symbols: 5280 bits, payload 3960, three words of
        // 1944 with 4374: 414 shortened, 138 punctured of 1458 parity bits: under a
        // tenth. Nine: 4320, payload 3240, three words: 1134 shortened, 378 punctured:
        // over a tenth, but 1134 < 1.2 * 378 * 3 = 1360.8: one segment more.
        let mcs_10 =
            HeCoding { ru: RuSize::Tones52, mcs: 10, streams: 1, dcm: false, is_eht: false };
        assert!(!mcs_10.needs_extra_segment(Segments { symbols: 11, factor: 4 }));
        assert!(mcs_10.needs_extra_segment(Segments { symbols: 9, factor: 4 }));
        assert_eq!(Segments { symbols: 9, factor: 4 }.next(), Segments { symbols: 10, factor: 1 });
        // BCC has none.
        let bcc = HeCoding { mcs: 8, ..mcs_10 };
        assert!(!bcc.needs_extra_segment(Segments { symbols: 9, factor: 4 }));
    }

    /// Rows have tones, MCS, streams, octets. Another program, in fractions, written from the
    /// clauses alone, computed symbols and factor.
    #[test]
    fn ends_by_another_program() {
        for (ru, mcs, streams, bytes, symbols, factor) in [
            (RuSize::Tones996, 11, 2, 1_500, 1, 4),
            (RuSize::Tones484, 0, 1, 14, 1, 4),
            (RuSize::Tones484, 5, 1, 300, 2, 3),
            (RuSize::Tones2x996, 11, 8, 65_535, 5, 1),
            (RuSize::Tones52, 10, 1, 1_500, 34, 2),
            (RuSize::Tones242, 11, 2, 4_000, 9, 1),
            (RuSize::Tones26, 11, 1, 100, 5, 2),
            (RuSize::Tones996, 4, 1, 1_500, 5, 1),
            (RuSize::Tones484, 9, 1, 1_500, 4, 4),
            (RuSize::Tones242, 10, 1, 60, 1, 2),
        ] {
            let coding = HeCoding { ru, mcs, streams, dcm: false, is_eht: false };
            let end = end_of(core::iter::once((coding, bytes)));
            assert_eq!(end, Segments { symbols, factor }, "{coding:?}, {bytes} octets");
        }
    }

    /// IEEE 802.11ax-2021, 27.3.13: nominal T_PE by nominal packet padding and factor.
    #[test]
    fn packet_extensions() {
        let of = |padding: PacketPadding| {
            [1, 2, 3, 4].map(|factor| padding.extension(Segments { symbols: 1, factor }))
        };
        assert_eq!(of(PacketPadding::None), [us(0); 4]);
        assert_eq!(of(PacketPadding::Us8), [us(0), us(0), us(4), us(8)]);
        assert_eq!(of(PacketPadding::Us16), [us(4), us(8), us(12), us(16)]);
        assert_eq!(of(PacketPadding::Us20), [us(8), us(12), us(16), us(20)]);
    }

    #[test]
    fn durations_by_hand() {
        use HeGuardInterval::{Ns800Ltf2x, Ns800Ltf4x, Ns1600Ltf1x, Ns3200Ltf4x};
        let rate = Rate::he(11, 2, ChannelWidth::Mhz80, Ns800Ltf2x, false).expect("a rate");
        // 36 us, two HE-LTFs of 7.2 us, one symbol of 13.6 us (16 333 bits, of which
        // 12 016 are three segments of 4000, and one bit more).
        let at = |band, padding| rate.padded_ppdu_duration(1_500, band, padding);
        assert_eq!(at(Band::Ghz5, PacketPadding::None), Duration::from_nanos(64_000));
        assert_eq!(at(Band::Ghz6, PacketPadding::Us8), Duration::from_nanos(72_000));
        assert_eq!(at(Band::Ghz2_4, PacketPadding::Us16), Duration::from_nanos(86_000));
        assert_eq!(rate.ppdu_duration(1_500, Band::Ghz5), us(64));
        let tones = RuSize::Tones106;
        let far = Rate::he_extended_range(0, tones, Ns3200Ltf4x, true).expect("a rate");
        // 44 us and an HE-LTF of 16 us; 25 bits in a symbol of 16 us.
        assert_eq!(far.preamble_and_header(Band::Ghz5), us(60));
        assert_eq!(far.ppdu_duration(14, Band::Ghz5), us(60 + 16 * 6));
        assert_eq!(far.ppdu_duration(14, Band::Ghz2_4), us(60 + 16 * 6 + 6));
        let slow = Rate::he(0, 8, ChannelWidth::Mhz20, Ns800Ltf4x, false).expect("a rate");
        assert_eq!(slow.preamble_and_header(Band::Ghz5), Duration::from_nanos(144_800));
        assert_eq!(Rate::he(0, 1, ChannelWidth::Mhz20, Ns1600Ltf1x, false), None);
    }

    fn any_coding() -> impl Strategy<Value = HeCoding> {
        (0usize..7, 0u8..12, 1u8..=8, any::<bool>())
            .prop_map(|(ru, mcs, streams, dcm)| HeCoding {
                ru: RuSize::ALL[ru],
                mcs,
                streams,
                dcm,
                is_eht: false,
            })
            .prop_filter("exists", |coding| coding.exists())
    }

    proptest! {
        #[test]
        fn everything_fits_where_it_ends(coding in any_coding(), bytes in 0u32..70_000) {
            let end = end_of([(coding, bytes)].into_iter());
            let initial = coding.initial(bytes);
            prop_assert!(end == initial || end == initial.next());
            prop_assert!((1..=4).contains(&end.factor));
            let symbol = u64::from(coding.data_bits_per_symbol());
            let segment = u64::from(coding.data_bits(coding.ru.short_subcarriers(coding.dcm)));
            let last = if initial.factor == 4 { symbol } else { u64::from(initial.factor) * segment };
            let capacity = (initial.symbols - 1) * symbol + last;
            prop_assert!(capacity >= 16 + 8 * u64::from(bytes));
        }

        #[test]
        fn more_octets_end_later(coding in any_coding(), bytes in 0u32..70_000, more in 0u32..5_000) {
            prop_assert!(coding.initial(bytes) <= coding.initial(bytes + more));
        }
    }
}
