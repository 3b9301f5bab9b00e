//! EHT MU PPDUs to one user (IEEE 802.11be-2024, clause 36): their preamble, EHT-SIG and durations
//! (36.4.3). Coding, padding and packet extension are those of `he`; `eht_mu` has the PPDUs of
//! several users, `eht_ru` punctured channels.
//!
//! The code is always LDPC. EHT permits BCC up to 242 tones, MCS 9 and four streams, for stations of
//! 20 MHz without LDPC; they are left out, as are beamforming, PPDUs without data, more EHT-LTFs
//! than the streams need, and 9 to 16 streams, which the field can express but no clause defines.
//!
//! The text of the clauses was not available: lengths of fields follow published descriptions of
//! EHT-SIG; `tests/airtime_be.rs` compares the rest with ns-3 3.48.

use super::he::{HE_STF, HeCoding, UNTIL_SIGNAL_A};
use super::modulation::MCS_MODULATION;
use super::vht::training_fields;
use super::{ChannelWidth, HeGuardInterval, Puncturing, RuSize};
use lasthop_units::Duration;

/// MCS of EHT DUP: BPSK, dual carriers, and the lower half of the channel repeated in the upper.
pub(super) const MCS_DUPLICATE: u8 = 14;
/// MCS of BPSK with dual carrier modulation.
pub(super) const MCS_DUAL_CARRIER: u8 = 15;
/// Duration of a symbol of EHT-SIG.
pub(super) const SIGNAL_SYMBOL: Duration = Duration::from_micros(4);
/// Data subcarriers of a symbol of EHT-SIG in each 20 MHz.
const SIGNAL_SUBCARRIERS: u32 = 52;
/// Bits of the U-SIG Overflow subfield, at the start of EHT-SIG.
pub(super) const OVERFLOW_BITS: u32 = 17;
/// Bits of the number of users, if the PPDU has no RU allocation.
pub(super) const USER_COUNT_BITS: u32 = 3;
/// Bits of a user field.
pub(super) const USER_FIELD_BITS: u32 = 22;
/// Bits of CRC and tail after each block of EHT-SIG.
pub(super) const CRC_AND_TAIL_BITS: u32 = 4 + 6;
/// Bits of EHT-SIG for one user: common field and user field share CRC and tail.
const SIGNAL_BITS: u32 = OVERFLOW_BITS + USER_COUNT_BITS + USER_FIELD_BITS + CRC_AND_TAIL_BITS;

/// Modulation of EHT-SIG (the EHT-SIG MCS field of U-SIG).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EhtSignal {
    /// MCS 15: BPSK 1/2 with dual carrier modulation, 13 bits a symbol.
    Mcs15,
    /// MCS 0: BPSK 1/2, 26 bits a symbol.
    Mcs0,
    /// MCS 1: QPSK 1/2, 52 bits a symbol.
    Mcs1,
    /// MCS 3: 16-QAM 1/2, 104 bits a symbol.
    Mcs3,
}

impl EhtSignal {
    /// The fastest modulation that is no faster than EHT-MCS `mcs` of the data. A sender may choose
    /// another one; ns-3 3.48 uses MCS 0 to 5 like HE-SIG-B.
    pub const fn for_data(mcs: u8) -> Self {
        match mcs {
            0 | MCS_DUPLICATE => Self::Mcs0,
            1 | 2 => Self::Mcs1,
            MCS_DUAL_CARRIER => Self::Mcs15,
            _ => Self::Mcs3,
        }
    }

    /// Data bits of a symbol: 13 to 104.
    pub const fn data_bits_per_symbol(self) -> u32 {
        let (mcs, subcarriers) = match self {
            Self::Mcs15 => (0, SIGNAL_SUBCARRIERS / 2),
            Self::Mcs0 => (0, SIGNAL_SUBCARRIERS),
            Self::Mcs1 => (1, SIGNAL_SUBCARRIERS),
            Self::Mcs3 => (3, SIGNAL_SUBCARRIERS),
        };
        let (modulation, code) = MCS_MODULATION[mcs];
        let (numerator, denominator) = code.ratio();
        subcarriers * modulation.bits() * numerator / denominator
    }

    /// MCS of EHT-SIG, as radiotap and the standard number it: 0, 1, 3 or 15.
    pub const fn mcs(self) -> u8 {
        match self {
            Self::Mcs15 => 15,
            Self::Mcs0 => 0,
            Self::Mcs1 => 1,
            Self::Mcs3 => 3,
        }
    }

    /// Number of symbols of EHT-SIG with this modulation, in a PPDU to one user: 1, 2 or 4.
    pub const fn symbols_of_one_user(self) -> u8 {
        SIGNAL_BITS.div_ceil(self.data_bits_per_symbol()) as u8
    }
}

/// Number of symbols of EHT-SIG for one user whose data has this EHT-MCS: 1, 2 (MCS 0, 14) or 4
/// (MCS 15).
const fn signal_symbols(mcs: u8) -> u32 {
    EhtSignal::for_data(mcs).symbols_of_one_user() as u32
}

/// Coding of a user with EHT-MCS `mcs` on an RU; `None` if it does not exist: MCS 0 to 13 with one
/// to eight streams, 14 for a channel of 80 to 320 MHz and 15, both with one stream.
pub(super) const fn coding(mcs: u8, streams: u8, ru: RuSize) -> Option<HeCoding> {
    let (mcs, ru, dcm) = match (mcs, ru) {
        // Half of the channel: the other has the same.
        (MCS_DUPLICATE, RuSize::Tones996) => (0, RuSize::Tones484, true),
        (MCS_DUPLICATE, RuSize::Tones2x996) => (0, RuSize::Tones996, true),
        (MCS_DUPLICATE, RuSize::Tones4x996) => (0, RuSize::Tones2x996, true),
        (MCS_DUAL_CARRIER, _) => (0, ru, true),
        (0..=13, _) => (mcs, ru, false),
        _ => return None,
    };
    if streams == 0 || streams > 8 || (dcm && streams > 1) {
        return None;
    }
    Some(HeCoding { ru, mcs, streams, dcm, is_eht: true })
}

/// Size of the RU or multiple RU that a PPDU to one user has.
pub(super) const fn ru(width: ChannelWidth, puncturing: Puncturing) -> RuSize {
    match puncturing.size(width) {
        Some(size) => size,
        None => RuSize::of_width(width),
    }
}

/// Time from the start of the PPDU to the end of the EHT-LTFs: 47.2 to 183.2 us.
pub(super) fn preamble_and_header(
    mcs: u8,
    streams: u8,
    guard_interval: HeGuardInterval,
) -> Duration {
    let signal = SIGNAL_SYMBOL * u64::from(signal_symbols(mcs));
    // U-SIG and EHT-STF last as long as HE-SIG-A and HE-STF.
    let training = guard_interval.training_symbol() * training_fields(streams);
    UNTIL_SIGNAL_A + signal + HE_STF + training
}

/// Coding of a PPDU to one user.
///
/// # Panics
///
/// Panics if the mode does not exist: `Rate::eht` makes only those that do.
pub(super) const fn coding_of(
    mcs: u8,
    streams: u8,
    width: ChannelWidth,
    puncturing: Puncturing,
) -> HeCoding {
    match coding(mcs, streams, ru(width, puncturing)) {
        Some(coding) => coding,
        None => panic!("an EHT rate exists"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Band, PacketPadding, Rate};
    use proptest::prelude::*;

    fn rate(mcs: u8, streams: u8, width: ChannelWidth) -> Rate {
        Rate::eht(mcs, streams, width, HeGuardInterval::Ns800Ltf2x).expect("a rate")
    }

    /// Table 36-36 as published: 17 + 3 + 22 + 10 bits.
    #[test]
    fn signal_of_one_user() {
        assert_eq!(SIGNAL_BITS, 52);
        let symbols = [0, 1, 2, 3, 9, 13, 14, 15].map(signal_symbols);
        assert_eq!(symbols, [2, 1, 1, 1, 1, 1, 2, 4]);
    }

    /// 20 + 4 + 8 us, EHT-SIG, 4 us of EHT-STF, an EHT-LTF of 7.2 us; symbols of 13.6 us.
    #[test]
    fn durations_by_hand() {
        let ns = |rate: Rate, bytes, padding| {
            rate.padded_ppdu_duration(bytes, Band::Ghz6, padding).as_nanos()
        };
        // MCS 13 at 320 MHz has 3920 * 12 * 5 / 6 = 39 200 bits; 16 + 8 * 4_898 = 39 200.
        let fast = rate(13, 1, ChannelWidth::Mhz320);
        assert_eq!(fast.data_bits_per_symbol(), 39_200);
        assert_eq!(ns(fast, 4_898, PacketPadding::None), 47_200 + 13_600);
        assert_eq!(ns(fast, 4_898, PacketPadding::Us20), 47_200 + 13_600 + 20_000);
        // One octet more begins a symbol, of which a quarter has bits.
        assert_eq!(ns(fast, 4_899, PacketPadding::Us20), 47_200 + 2 * 13_600 + 8_000);
        // MCS 15 at 20 MHz: 58 bits in a symbol, EHT-SIG of 16 us.
        let slow = rate(15, 1, ChannelWidth::Mhz20);
        assert_eq!(slow.data_bits_per_symbol(), 58);
        assert_eq!(slow.preamble_and_header(Band::Ghz6).as_nanos(), 59_200);
        // Published rates of EHT DUP: 8.6, 18.0 and 36.0 Mb/s.
        for (width, kbps) in [
            (ChannelWidth::Mhz80, 8_602),
            (ChannelWidth::Mhz160, 18_014),
            (ChannelWidth::Mhz320, 36_029),
        ] {
            assert_eq!(rate(14, 1, width).kbps(), kbps);
        }
    }

    #[test]
    fn modes_that_exist() {
        let gi = HeGuardInterval::Ns800Ltf2x;
        let of = |mcs, streams, width| Rate::eht(mcs, streams, width, gi);
        assert_eq!(of(14, 1, ChannelWidth::Mhz40), None);
        assert_eq!(of(14, 2, ChannelWidth::Mhz80), None);
        assert_eq!(of(15, 2, ChannelWidth::Mhz20), None);
        assert_eq!(of(16, 1, ChannelWidth::Mhz20), None);
        assert_eq!(of(13, 9, ChannelWidth::Mhz20), None);
        for gi in [HeGuardInterval::Ns800Ltf1x, HeGuardInterval::Ns1600Ltf1x] {
            assert_eq!(Rate::eht(0, 1, ChannelWidth::Mhz20, gi), None, "of no EHT MU PPDU");
        }
    }

    proptest! {
        /// A multiple RU has the data subcarriers of its parts; a wider or less punctured channel
        /// never takes longer.
        #[test]
        fn puncturing_costs_time(value in 1u8..25, mcs in 0u8..14, bytes in 0u32..2_000_000) {
            for width in [ChannelWidth::Mhz80, ChannelWidth::Mhz160, ChannelWidth::Mhz320] {
                let Some(puncturing) = Puncturing::new(value, width) else { continue };
                let whole = rate(mcs, 2, width);
                let less = whole.punctured(puncturing).expect("MCS 0 to 13");
                prop_assert!(less.bitrate() < whole.bitrate());
                let of = |rate: Rate| rate.ppdu_duration(bytes, Band::Ghz6);
                prop_assert!(of(less) >= of(whole));
            }
        }
    }
}
