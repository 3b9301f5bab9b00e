//! Every subfield of the HE, HE-MU, HE-MU-other-user, VHT, U-SIG, EHT, MCS, A-MPDU status, XChannel
//! and L-SIG fields, one by one: position, length and the bit that marks it as known, written by
//! hand from radiotap.org.
//!
//! Each code is read with every other bit of its word set and with none. The subfield is known if
//! only its known bit is set, and unknown if all the other known bits are.

use super::*;
use core::fmt::Debug;

/// Checks `read(known, word)`: bit `known` marks bits `shift` to `shift + len - 1` of the word as
/// known, and `meaning` gives their value.
fn check<T: PartialEq + Debug>(
    name: &str,
    known: u32,
    (shift, len): (u32, u32),
    read: impl Fn(u32, u32) -> Option<T>,
    meaning: impl Fn(u32) -> Option<T>,
) {
    let bits = ((1_u32 << len) - 1) << shift;
    for code in 0..1 << len {
        for others in [0, u32::MAX, 0x5a5a_a5a5, 0xa5a5_5a5a] {
            let word = code << shift | others & !bits;
            for known_bits in [1 << known, u32::MAX] {
                assert_eq!(read(known_bits, word), meaning(code), "{name}: {word:#x}");
            }
            for known_bits in [0, !(1 << known)] {
                assert_eq!(read(known_bits, word), None, "{name}: {word:#x}, not known");
            }
        }
    }
}

/// A number equal to its code.
fn number(code: u32) -> Option<u8> {
    Some(code as u8)
}

fn bit(code: u32) -> Option<bool> {
    Some(code == 1)
}

/// Guard interval of 0.8, 1.6 or 3.2 us (HE: IEEE 802.11ax-2021, 27.3.6.11; EHT has the same).
fn interval(code: u32) -> Option<Duration> {
    [800, 1600, 3200].get(code as usize).map(|&ns| Duration::from_nanos(ns))
}

fn symbols(code: u32) -> Option<u8> {
    [1, 2, 4, 6, 8].get(code as usize).copied()
}

/// An HE field of which only two words are not zero. If the known bit is in the word itself (`mask`
/// has the bits of the subfield), both are combined.
fn he(known_in: usize, word_in: usize, mask: u16) -> impl Fn(u32, u32) -> He {
    move |known, word| {
        let mut he = He::default();
        he.data[word_in] = word as u16;
        he.data[known_in] = known as u16 & !mask | he.data[known_in] & mask;
        he
    }
}

#[test]
fn subfields_of_he() {
    let by_first = |word| he(0, word, 0);
    let of = by_first(2);
    check("BSS colour", 2, (0, 6), |k, w| of(k, w).bss_colour(), number);
    check("beam change", 3, (6, 1), |k, w| of(k, w).beam_change(), bit);
    check("uplink", 4, (7, 1), |k, w| of(k, w).uplink(), bit);
    check("MCS", 5, (8, 4), |k, w| of(k, w).mcs(), number);
    check("DCM", 6, (12, 1), |k, w| of(k, w).dcm(), bit);
    check("coding", 7, (13, 1), |k, w| of(k, w).ldpc(), bit);
    check("LDPC extra symbol", 8, (14, 1), |k, w| of(k, w).ldpc_extra_symbol(), bit);
    check("STBC", 9, (15, 1), |k, w| of(k, w).stbc(), bit);
    // The format is in bits 0 and 1: 3 is HE TB, 2 is HE MU.
    let of = by_first(3);
    for (n, known, shift) in [(1, 10, 0), (2, 11, 4), (3, 12, 8), (4, 13, 12)] {
        let read = |k: u32, w| of(k | 3, w).spatial_reuse(n);
        check("spatial reuse", known, (shift, 4), read, number);
    }
    let station_id = |k: u32, w| of(k & !3 | 2, w).station_id();
    check("STA-ID", 11, (4, 11), station_id, |code| Some(code as u16));
    for format in [0, 1, 3] {
        assert_eq!(of(0xfffc | format, 0xffff).station_id(), None);
    }
    let formats = [0, 1, 2, 3].map(|format| of(0xfffc | format, 0).format());
    use HeFormat::{ExtendedRange, MultiUser, SingleUser, TriggerBased};
    assert_eq!(formats, [SingleUser, ExtendedRange, MultiUser, TriggerBased]);
    let of = by_first(4);
    check(
        "allocation",
        14,
        (0, 4),
        |k, w| of(k, w).allocation(),
        |code| {
            let tones = [26, 52, 106, 242, 484, 996, 2 * 996];
            let mhz = [20, 40, 80, 160].get(code as usize).map(|&mhz| Allocation::Channel { mhz });
            mhz.or_else(|| {
                let tones = tones.get(code as usize - 4).copied();
                tones.map(|tones| Allocation::ResourceUnit { tones })
            })
        },
    );

    let of = he(1, 1, 0x3f00);
    check("RU offset", 14, (8, 6), |k, w| of(k, w).allocation_offset(), number);
    let of = he(1, 1, 0x8000);
    check("secondary 80 MHz", 0, (15, 1), |k, w| of(k, w).in_secondary_80_mhz(), bit);
    let of = he(1, 4, 0);
    check("guard interval", 1, (4, 2), |k, w| of(k, w).guard_interval(), interval);
    check("LTF symbols", 2, (8, 3), |k, w| of(k, w).ltf_symbols(), symbols);
    check("beamformed", 4, (14, 1), |k, w| of(k, w).beamformed(), bit);
    for (code, size) in [(0, None), (1, Some(1)), (2, Some(2)), (3, Some(4))] {
        assert_eq!(of(0, code << 6).ltf_size(), size);
        assert_eq!(of(u32::MAX, code << 6 | 0xff3f).ltf_size(), size);
    }
    let of = he(1, 5, 0);
    check("TXOP", 6, (8, 7), |k, w| of(k, w).txop(), number);
    for streams in 0..16 {
        let known = (streams > 0).then_some(streams as u8);
        for others in [0, 0xfff0] {
            assert_eq!(of(0, streams | others).space_time_streams(), known);
        }
    }
}

/// Spatial streams equal space-time streams unless STBC makes two of one.
#[test]
fn spatial_streams_of_he() {
    for (known, stbc, nsts, streams) in [
        (0, 1, 2, Some(2)),
        (0x0200, 0, 2, Some(2)),
        (0x0200, 1, 2, Some(1)),
        (0x0200, 1, 0, None),
        (0, 0, 0, None),
    ] {
        let he = He { data: [known, 0, stbc << 15, 0, 0, nsts] };
        assert_eq!(he.spatial_streams(), streams);
    }
}

/// IEEE 802.11ax-2021, table 27-18: steps of 8 us below 512 us, of 128 us from there on.
#[test]
fn txop_durations() {
    for (txop, us) in [
        (0, Some(0)),
        (2, Some(8)),
        (126, Some(504)),
        (1, Some(512)),
        (3, Some(640)),
        (125, Some(8448)),
        (127, None),
    ] {
        assert_eq!(he(1, 5, 0)(1 << 6, txop << 8).txop_us(), us);
        assert_eq!(USig { common: 1 << 4 | txop << 25, ..USig::default() }.txop_us(), us);
    }
    assert_eq!(he(1, 5, 0)(0, 2 << 8).txop_us(), None);
    assert_eq!(USig { common: 2 << 25, ..USig::default() }.txop_us(), None);
}

#[test]
fn subfields_of_he_mu() {
    // Of `flags1` and `flags2`; the subfield is in the word that says whether it is known.
    let in_1 = |mask: u16| {
        move |k: u32, w: u32| HeMu { flags1: k as u16 & !mask | w as u16 & mask, ..HeMu::default() }
    };
    let in_2 = |mask: u16| {
        move |k: u32, w: u32| HeMu { flags2: k as u16 & !mask | w as u16 & mask, ..HeMu::default() }
    };
    let in_both = |k: u32, w: u32| HeMu { flags1: k as u16, flags2: w as u16, ..HeMu::default() };
    let of = in_1(0x000f);
    check("SIG-B MCS", 4, (0, 4), |k, w| of(k, w).sig_b_mcs(), number);
    let of = in_1(0x0020);
    check("SIG-B DCM", 6, (5, 1), |k, w| of(k, w).sig_b_dcm(), bit);
    check("compression", 14, (3, 1), |k, w| in_both(k, w).sig_b_compressed(), bit);
    let symbols = |k, w| in_both(k, w).sig_b_symbols_or_users();
    check("symbols or users", 15, (4, 4), symbols, |code| Some(code as u8 + 1));
    let of = in_2(0x0003);
    let mhz = |code: u32| Some([20, 40, 80, 160][code as usize]);
    check("bandwidth", 2, (0, 2), |k, w| of(k, w).bandwidth_mhz(), mhz);
    let of = in_2(0x0300);
    check("puncturing", 10, (8, 2), |k, w| of(k, w).puncturing(), number);
    let channels = HeMu { channel1: [1; 4], channel2: [2; 4], ..HeMu::default() };
    let of = |flags1: u16| HeMu { flags1, ..channels };
    for (flags1, channel1, channel2) in [
        (0x0100, Some([1; 4]), None),
        (0x0200, None, Some([2; 4])),
        (!0x0300, None, None),
        (0xffff, Some([1; 4]), Some([2; 4])),
    ] {
        assert_eq!((of(flags1).channel1(), of(flags1).channel2()), (channel1, channel2));
    }
}

#[test]
fn subfields_of_he_mu_other_user() {
    let of = |k: u32, user1: u32, user2: u32| HeMuOtherUser {
        user1: user1 as u16,
        user2: user2 as u16,
        position: user1 as u8,
        known: k as u8,
    };
    check("position", 0, (0, 8), |k, w| of(k, w, 0).position(), number);
    check("STA-ID", 1, (0, 11), |k, w| of(k, w, 0).station_id(), |code| Some(code as u16));
    let streams = |k, w| of(k, w, 0).space_time_streams();
    check("NSTS", 2, (11, 3), streams, |code| Some(code as u8 + 1));
    check("beamformed", 3, (14, 1), |k, w| of(k, w, 0).beamformed(), bit);
    let configuration = |k, w| of(k, w, 0).spatial_configuration();
    check("spatial configuration", 4, (11, 4), configuration, number);
    check("MCS", 5, (0, 4), |k, w| of(k, 0, w).mcs(), number);
    check("DCM", 6, (4, 1), |k, w| of(k, 0, w).dcm(), bit);
    check("coding", 7, (5, 1), |k, w| of(k, 0, w).ldpc(), bit);
}

#[test]
fn subfields_of_vht() {
    let of = |known: u32, word: u32| Vht {
        known: known as u16,
        flags: word as u8,
        bandwidth: word as u8,
        group_id: word as u8,
        partial_aid: word as u16,
        ..Vht::default()
    };
    let interval = |code| match code {
        0 => Some(GuardInterval::Long),
        _ => Some(GuardInterval::Short),
    };
    check("STBC", 0, (0, 1), |k, w| of(k, w).stbc(), bit);
    check("guard interval", 2, (2, 1), |k, w| of(k, w).guard_interval(), interval);
    check("LDPC extra symbol", 4, (4, 1), |k, w| of(k, w).ldpc_extra_symbol(), bit);
    check("beamformed", 5, (5, 1), |k, w| of(k, w).beamformed(), bit);
    check("group ID", 7, (0, 8), |k, w| of(k, w).group_id(), number);
    check("partial AID", 8, (0, 16), |k, w| of(k, w).partial_aid(), |code| Some(code as u16));
    // radiotap.org's table of bandwidths: sidebands of 40, 80 and 160 MHz.
    check(
        "bandwidth",
        6,
        (0, 5),
        |k, w| of(k, w).bandwidth_mhz(),
        |code| match code {
            1 | 5 | 6 | 14..=17 => Some(40),
            4 | 12 | 13 => Some(80),
            11 => Some(160),
            26.. => None,
            _ => Some(20),
        },
    );
    for place in 0..4 {
        let mut vht = Vht { coding: 1 << place, ..Vht::default() };
        vht.mcs_streams[place] = 0x73;
        let user = VhtUser { mcs: Some(7), spatial_streams: 3, ldpc: true };
        assert_eq!(vht.user(place), Some(user));
        let others = Vht { coding: !(1 << place), ..vht };
        assert_eq!(others.user(place), Some(VhtUser { ldpc: false, ..user }));
        assert!(vht.users().eq([user]));
    }
}

#[test]
fn subfields_of_u_sig() {
    // What is known is in the low six bits of the word itself.
    let of = |k: u32, w: u32| USig { common: k & 0x1f | w & !0x3f, ..USig::default() };
    check("PHY version", 0, (12, 3), |k, w| of(k, w).phy_version(), number);
    let mhz = |code: u32| [20, 40, 80, 160, 320, 320].get(code as usize).copied();
    check("bandwidth", 1, (15, 3), |k, w| of(k, w).bandwidth_mhz(), mhz);
    check("uplink", 2, (18, 1), |k, w| of(k, w).uplink(), bit);
    check("BSS colour", 3, (19, 6), |k, w| of(k, w).bss_colour(), number);
    check("TXOP", 4, (25, 7), |k, w| of(k, w).txop(), number);
    for common in [0, u32::MAX, 0x5a5a_5a5a] {
        assert!(USig { common: common | 0x20, ..USig::default() }.bad_crc());
        assert!(!USig { common: common & !0x20, ..USig::default() }.bad_crc());
    }
}

/// IEEE 802.11be-2024, table 36-28: direction, and PPDU Type And Compression Mode.
#[test]
fn formats_of_u_sig() {
    use EhtFormat::{MuMimo, Ofdma, SingleUser, TriggerBased};
    for (uplink, kind, format) in [
        (0, 0, Some(Ofdma)),
        (0, 1, Some(SingleUser)),
        (0, 2, Some(MuMimo)),
        (0, 3, None),
        (1, 0, Some(TriggerBased)),
        (1, 1, Some(SingleUser)),
        (1, 2, None),
        (1, 3, None),
    ] {
        let common = 0x05 | uplink << 18;
        let multi_user = format.is_some_and(|format| format != TriggerBased);
        for (others, mask) in [(0, 0x3fec0), (0x3ff3f, u32::MAX)] {
            // Of EHT-SIG-MCS and of what is punctured, all is set or nothing.
            let u_sig = USig { common, value: kind << 6 | others, mask };
            assert_eq!(u_sig.format(), format);
            let (punctured, mcs) = if others == 0 { (0, 0) } else { (31, 15) };
            assert_eq!(u_sig.punctured_channels(), multi_user.then_some(punctured));
            assert_eq!(u_sig.eht_sig_mcs(), multi_user.then_some(mcs));
            // A bit of each that is not known.
            for bit in [6, 7] {
                assert_eq!(USig { mask: mask & !(1 << bit), ..u_sig }.format(), None);
            }
            for bit in 9..14 {
                assert_eq!(USig { mask: mask & !(1 << bit), ..u_sig }.punctured_channels(), None);
            }
            for bit in [15, 16] {
                assert_eq!(USig { mask: mask & !(1 << bit), ..u_sig }.eht_sig_mcs(), None);
            }
        }
        let mcs = [0, 1, 2, 3].map(|code| {
            USig { common, value: kind << 6 | code << 15, mask: 0x3fec0 }.eht_sig_mcs()
        });
        assert_eq!(mcs, [0, 1, 3, 15].map(|mcs| multi_user.then_some(mcs)));
    }
    // A PHY version that is not known may be EHT.
    let u_sig = USig { common: 0x04 | 7 << 12, value: 1 << 6, mask: 0xc0 };
    assert_eq!(u_sig.format(), Some(SingleUser));
}

#[test]
fn subfields_of_eht() {
    let of = |word: usize| {
        move |known: u32, value: u32| {
            let mut eht = Eht { known, ..Eht::default() };
            eht.data[word] = value;
            eht
        }
    };
    let eht = of(0);
    check("spatial reuse", 1, (3, 4), |k, w| eht(k, w).spatial_reuse(), number);
    check("guard interval", 2, (7, 2), |k, w| eht(k, w).guard_interval(), interval);
    check("LTF symbols", 4, (11, 3), |k, w| eht(k, w).ltf_symbols(), symbols);
    check("LDPC extra symbol", 5, (14, 1), |k, w| eht(k, w).ldpc_extra_symbol(), bit);
    for (code, size) in [(0, None), (1, Some(1)), (2, Some(2)), (3, Some(4))] {
        assert_eq!(eht(0, code << 9).ltf_size(), size);
        assert_eq!(eht(u32::MAX, code << 9 | !0x600).ltf_size(), size);
    }
    let eht = of(1);
    let tones: [u16; 16] =
        [26, 52, 106, 242, 484, 996, 1992, 3984, 78, 132, 726, 1480, 1722, 2476, 2988, 3472];
    check(
        "RU size",
        22,
        (0, 5),
        |k, w| eht(k, w).resource_unit(),
        |code| {
            let tones = tones.get(code as usize).copied();
            tones.map(|tones| Allocation::ResourceUnit { tones })
        },
    );
    check("RU index", 23, (5, 8), |k, w| eht(k, w).resource_unit_index(), number);
    check("primary 80 MHz", 25, (30, 2), |k, w| eht(k, w).primary_80_mhz(), number);
    let eht = of(7);
    let users = |code| Some(code as u8 + 1);
    check("non-OFDMA users", 19, (17, 3), |k, w| eht(k, w).non_ofdma_users(), users);

    // What is known is in the low seven bits of the word itself.
    let of = |k: u32, w: u32| EhtUser(k & 0x7f | w & !0x7f);
    check("STA-ID", 0, (8, 11), |k, w| of(k, w).station_id(), |code| Some(code as u16));
    check("MCS", 1, (20, 4), |k, w| of(k, w).mcs(), number);
    check("coding", 2, (19, 1), |k, w| of(k, w).ldpc(), bit);
    let streams = |k, w| of(k, w).spatial_streams();
    check("NSS", 4, (24, 4), streams, |code| Some(code as u8 + 1));
    check("beamformed", 5, (29, 1), |k, w| of(k, w).beamformed(), bit);
    let configuration = |k, w| of(k, w).spatial_configuration();
    check("spatial configuration", 6, (24, 6), configuration, number);
    assert!(EhtUser(0x80).is_captured() && !EhtUser(!0x80).is_captured());
}

/// The captured user: the only one, or the one with that flag.
#[test]
fn captured_user_of_eht() {
    let captured = |words: &[u32]| {
        let mut eht = Eht::default();
        words.iter().for_each(|&word| eht.users.push(EhtUser(word)));
        assert_eq!(eht.users.as_slice().len(), words.len().min(8));
        eht.captured_user()
    };
    assert_eq!(captured(&[]), None);
    assert_eq!(captured(&[0x100]), Some(EhtUser(0x100)));
    assert_eq!(captured(&[0x100, 0x200]), None);
    assert_eq!(captured(&[0x100, 0x280, 0x380]), Some(EhtUser(0x280)));
    assert_eq!(captured(&[1, 2, 3, 4, 5, 6, 7, 8, 0x89]), Some(EhtUser(0x89)));
    assert_eq!(captured(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), None);
}

#[test]
fn subfields_of_ht_and_ampdu_and_l_sig() {
    let of = |k: u32, w: u32| Mcs { known: k as u8, flags: w as u8, index: w as u8 };
    let width = |code| match code {
        1 => Some(ChannelWidth::Mhz40),
        _ => Some(ChannelWidth::Mhz20),
    };
    let interval = |code| match code {
        0 => Some(GuardInterval::Long),
        _ => Some(GuardInterval::Short),
    };
    check("bandwidth", 0, (0, 2), |k, w| of(k, w).width(), width);
    check("index", 1, (0, 8), |k, w| of(k, w).index(), number);
    check("guard interval", 2, (2, 1), |k, w| of(k, w).guard_interval(), interval);
    check("format", 3, (3, 1), |k, w| of(k, w).greenfield(), bit);
    check("coding", 4, (4, 1), |k, w| of(k, w).ldpc(), bit);
    check("STBC", 5, (5, 2), |k, w| of(k, w).stbc_streams(), number);

    // Bits 0, 2, 5 and 7 say what is known; the CRC is in an octet of its own.
    let of = |k: u32, w: u32| AmpduStatus {
        reference: 0,
        flags: (k & 0xa5 | w & 0x5a) as u16,
        delimiter_crc: (w >> 8) as u8,
    };
    check("zero length", 0, (1, 1), |k, w| of(k, w).is_zero_length(), bit);
    check("last", 2, (3, 1), |k, w| of(k, w).is_last(), bit);
    check("CRC", 5, (8, 8), |k, w| of(k, w).delimiter_crc(), number);
    check("EOF", 7, (6, 1), |k, w| of(k, w).end_of_frame(), bit);
    assert!(of(0, 0x10).delimiter_crc_error() && !of(0xff, 0xef).delimiter_crc_error());

    let of = |k: u32, w: u32| LSig { known: k as u16, data: w as u16 };
    check("rate", 0, (0, 4), |k, w| of(k, w).rate(), number);
    check("length", 1, (4, 12), |k, w| of(k, w).length(), |code| Some(code as u16));
}

#[test]
fn flags_and_codes() {
    for others in [0, u8::MAX] {
        let with = |bit: u8| FlagsField(others | bit);
        let without = |bit: u8| FlagsField(others & !bit);
        assert!(with(0x02).short_preamble() && !without(0x02).short_preamble());
        assert!(with(0x10).fcs_at_end() && !without(0x10).fcs_at_end());
        assert!(with(0x40).bad_fcs() && !without(0x40).bad_fcs());
        assert!(with(0x10).layout().fcs && !without(0x10).layout().fcs);
        assert!(with(0x20).layout().padded && !without(0x20).layout().padded);
    }
    for (flags, mhz) in [
        (0x0001_0000, Some(20)),
        (0x0002_0000, Some(40)),
        (0x0004_0000, Some(40)),
        (0x0007_0000, Some(40)),
        (!0x0007_0000, None),
    ] {
        assert_eq!(XChannel { flags, ..XChannel::default() }.width_mhz(), mhz);
    }
    for code in 0..=u8::MAX {
        assert_eq!(ZeroLengthPsdu::from_code(code).code(), code);
    }
    assert_eq!(ZeroLengthPsdu::from_code(0), ZeroLengthPsdu::Sounding);
    assert_eq!(ZeroLengthPsdu::from_code(1), ZeroLengthPsdu::NotCaptured);
    assert_eq!(AmpduStatus::new(1, true).is_last(), Some(true));
    assert_eq!(AmpduStatus::new(1, false).is_last(), Some(false));
}

/// IEEE 802.11-2020, 17.3.8.4.3 and 19.3.15: channel numbers count steps of 5 MHz, except
/// channel 14.
#[test]
fn channel_numbers() {
    use lasthop_wifi_phy::Band;
    for (band, number, frequency_mhz, flag) in [
        (Band::Ghz2_4, 1, 2412, 0x0080),
        (Band::Ghz2_4, 13, 2472, 0x0080),
        (Band::Ghz2_4, 14, 2484, 0x0080),
        (Band::Ghz5, 14, 5070, 0x0100),
        (Band::Ghz5, 36, 5180, 0x0100),
        (Band::Ghz5, 177, 5885, 0x0100),
    ] {
        let channel = Channel::from_number(band, number);
        assert_eq!((channel.frequency_mhz, channel.flags), (frequency_mhz, flag));
        // A flag that is there already stays.
        assert_eq!(channel.with_flags(0x0040 | flag).flags, 0x0040 | flag);
    }
}
