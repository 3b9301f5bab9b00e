//! Rates of the standards' tables (HT and VHT: IEEE 802.11-2020, 19.5 and 21.5; HE: IEEE
//! 802.11ax-2021, 27.5; EHT: IEEE 802.11be-2024, 36.5), in Mb/s to one digit. Rates of whole
//! channels also agree with Qualcomm's driver (qcacld-3.0, wma_utils.c and wma_eht.c), those of HE
//! resource units with tshark (`tests/tshark`). The accessors follow, with bits written by hand
//! from radiotap.org; [`bits`] has them one by one.

mod bits;

use super::*;
use alloc::string::ToString;
use lasthop_units::{Bitrate, Duration};
use lasthop_wifi_phy::{ChannelWidth, GuardInterval, Rate};

fn ht(index: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Repr {
    Repr { mcs: Some(Mcs::ht_mixed(index, width, guard_interval)), ..Repr::default() }
}

/// A part of an EHT PPDU of several users has format, size, index and bit rate of its RU: 484 tones
/// at MCS 11 have 468 * 10 * 5 / 6 bits in 13.6 us. In space the number of streams is unknown.
#[test]
fn a_part_of_an_eht_ppdu() {
    use lasthop_wifi_phy::{Ru, RuSize};
    let channel = Channel::from_number(lasthop_wifi_phy::Band::Ghz6, 1);
    let parameters =
        EhtParameters { mcs: 11, streams: 1, width_mhz: 80, guard_interval_ns: 800, ltf_size: 2 };
    let at = lasthop_units::Instant::ZERO;
    let whole = Repr::received_eht(at, parameters, channel, lasthop_units::Dbm(-60.0));
    let on = |format, size, index| {
        let ru = Ru::new(size, index).expect("an RU");
        let mut bytes = alloc::vec::Vec::new();
        whole.on_unit(format, ru).emit(&mut bytes);
        Repr::parse(&View::new(&bytes).expect("a header")).expect("its fields")
    };
    for (written, format) in
        [(HeFormat::MultiUser, EhtFormat::Ofdma), (HeFormat::TriggerBased, EhtFormat::TriggerBased)]
    {
        let read = on(written, RuSize::Tones484, 2);
        let eht = read.eht.expect("EHT fields");
        assert_eq!(read.u_sig.and_then(|sig| sig.format()), Some(format));
        assert_eq!(eht.resource_unit(), Some(Allocation::ResourceUnit { tones: 484 }));
        assert_eq!((eht.resource_unit_index(), eht.non_ofdma_users()), (Some(2), None));
        let rate = read.bitrate().map(|rate| rate.as_bps() / 1_000);
        assert_eq!(rate, Some(3_900_000 / 13_600 * 1_000 + 3_900_000 % 13_600 * 1_000 / 13_600));
    }
    let read = on(HeFormat::MultiUser, RuSize::Tones996, 1);
    assert_eq!(read.u_sig.and_then(|sig| sig.format()), Some(EhtFormat::MuMimo));
    assert_eq!(read.bitrate(), None);
}

/// A rate survives writing and reading: bit rate, format, streams and guard interval.
#[test]
fn later_rates_survive() {
    let channel = Channel::from_number(lasthop_wifi_phy::Band::Ghz5, 36);
    let at = lasthop_units::Instant::ZERO;
    let read = |rate| {
        let mut bytes = alloc::vec::Vec::new();
        Repr::received(at, rate, channel, lasthop_units::Dbm(-60.0)).emit(&mut bytes);
        Repr::parse(&View::new(&bytes).expect("a header")).expect("its fields")
    };
    for width in ChannelWidth::ALL {
        for guard_interval in [GuardInterval::Long, GuardInterval::Short] {
            for rate in Rate::all_vht(width, guard_interval, 8) {
                let field = read(rate).vht.expect("VHT");
                let user = field.user(0).expect("one user");
                assert_eq!(user.mcs, rate.mcs());
                assert_eq!(user.spatial_streams, rate.streams());
                assert_eq!(field.guard_interval(), Some(guard_interval));
                assert_eq!(field.bandwidth_mhz().map(u64::from), Some(width.as_hz() / 1_000_000));
                let read = read(rate).bitrate().expect("a rate").as_bps();
                assert!(read.abs_diff(rate.bitrate().as_bps()) <= 1_000_000, "{rate}");
            }
        }
        for guard_interval in lasthop_wifi_phy::HeGuardInterval::ALL {
            for rate in Rate::all_he(width, guard_interval, 8) {
                let field = read(rate).he.expect("HE");
                assert_eq!(field.format(), HeFormat::SingleUser);
                assert_eq!((field.mcs(), field.dcm()), (rate.mcs(), Some(false)));
                assert_eq!(field.spatial_streams(), Some(rate.streams()));
                assert_eq!(field.guard_interval(), Some(guard_interval.duration()));
                let ltf = guard_interval.training_symbol() - guard_interval.duration();
                let size = field.ltf_size().map(u64::from).expect("known");
                assert_eq!(Duration::from_nanos(3_200 * size), ltf);
                let read = read(rate).bitrate().expect("a rate").as_bps();
                assert!(read.abs_diff(rate.bitrate().as_bps()) <= 1_000_000, "{rate}");
            }
        }
    }
    let (tones, gi) =
        (lasthop_wifi_phy::RuSize::Tones106, lasthop_wifi_phy::HeGuardInterval::Ns1600Ltf2x);
    let far = Rate::he_extended_range(0, tones, gi, true).expect("a rate");
    let field = read(far).he.expect("HE");
    assert_eq!(field.format(), HeFormat::ExtendedRange);
    assert_eq!(field.allocation(), Some(Allocation::ResourceUnit { tones: 106 }));
    assert_eq!(field.dcm(), Some(true));
}

/// Returns a VHT header; `bandwidth` is radiotap's code.
fn vht(mcs: u8, streams: u8, bandwidth: u8, short: bool) -> Repr {
    let vht = Vht {
        known: 0x0044,
        flags: u8::from(short) << 2,
        bandwidth,
        mcs_streams: [mcs << 4 | streams, 0, 0, 0],
        ..Vht::default()
    };
    Repr { vht: Some(vht), ..Repr::default() }
}

/// Returns an HE header; `allocation` and `guard_interval` are radiotap's codes.
fn he(mcs: u16, streams: u16, allocation: u16, guard_interval: u16, dcm: bool) -> Repr {
    let mut he = He::default();
    he.data[0] = 0x4060;
    he.data[1] = 0x0002;
    he.data[2] = mcs << 8 | u16::from(dcm) << 12;
    he.data[4] = allocation | guard_interval << 4;
    he.data[5] = streams;
    Repr { he: Some(he), ..Repr::default() }
}

/// Returns an EHT header for one user in a whole channel, with U-SIG; arguments are radiotap's
/// codes.
fn eht(mcs: u32, streams: u32, bandwidth: u32, guard_interval: u32) -> Repr {
    let mut repr = eht_ru(mcs, streams, 0, guard_interval);
    // The resource unit is not known; PHY version, bandwidth, downlink and type are.
    repr.eht = repr.eht.map(|eht| Eht { known: 0x04, ..eht });
    repr.u_sig = Some(USig { common: 0x07 | bandwidth << 15, value: 1 << 6, mask: 0x3ec0 });
    repr
}

fn eht_ru(mcs: u32, streams: u32, size: u32, guard_interval: u32) -> Repr {
    let mut eht = Eht { known: 0x0040_0004, ..Eht::default() };
    eht.data[0] = guard_interval << 7;
    eht.data[1] = size;
    eht.users.push(EhtUser(0x92 | mcs << 20 | (streams - 1) << 24));
    Repr { eht: Some(eht), ..Repr::default() }
}

#[test]
fn rates_of_the_standards_tables() {
    use ChannelWidth::{Mhz20, Mhz40};
    use GuardInterval::{Long, Short};
    let rate = |rate| Repr { rate_500kbps: Some(rate), ..Repr::default() };
    for (repr, mbps) in [
        (rate(2), 1.0),
        (rate(11), 5.5),
        (rate(108), 54.0),
        (ht(0, Mhz20, Long), 6.5),
        (ht(7, Mhz20, Short), 72.2),
        (ht(15, Mhz40, Short), 300.0),
        (ht(31, Mhz40, Short), 600.0),
        (ht(32, Mhz40, Long), 6.0),
        (ht(32, Mhz40, Short), 6.7),
        (vht(0, 1, 0, false), 6.5),
        (vht(8, 1, 0, true), 86.7),
        (vht(9, 3, 0, true), 288.9),
        (vht(9, 1, 1, true), 200.0),
        (vht(6, 1, 4, false), 263.3),
        (vht(9, 1, 4, true), 433.3),
        (vht(9, 2, 4, true), 866.7),
        (vht(9, 3, 4, true), 1300.0),
        (vht(9, 1, 11, false), 780.0),
        (vht(9, 8, 11, true), 6933.3),
        (he(0, 1, 0, 0, false), 8.6),
        (he(0, 1, 0, 2, false), 7.3),
        (he(0, 1, 0, 0, true), 4.3),
        (he(3, 1, 1, 1, true), 32.5),
        (he(4, 1, 2, 0, true), 108.1),
        (he(5, 1, 0, 1, false), 65.0),
        (he(9, 1, 2, 0, false), 480.4),
        (he(11, 1, 0, 0, false), 143.4),
        (he(11, 1, 1, 1, false), 270.8),
        (he(11, 1, 2, 0, false), 600.5),
        (he(11, 2, 2, 0, false), 1201.0),
        (he(11, 1, 3, 2, false), 1020.8),
        (he(11, 8, 3, 0, false), 9607.8),
        (he(0, 1, 4, 0, false), 0.9),
        (he(0, 1, 4, 2, false), 0.8),
        (he(11, 1, 4, 0, false), 14.7),
        (he(11, 1, 5, 1, false), 27.8),
        (he(11, 1, 6, 2, false), 53.1),
        (he(7, 1, 7, 0, false), 86.0),
        (eht(0, 1, 0, 0), 8.6),
        (eht(13, 1, 0, 0), 172.1),
        (eht(13, 1, 1, 1), 325.0),
        (eht(12, 1, 2, 2), 551.3),
        (eht(13, 1, 2, 0), 720.6),
        (eht(11, 1, 3, 0), 1201.0),
        (eht(13, 2, 3, 0), 2882.4),
        (eht(12, 1, 4, 0), 2594.1),
        (eht(13, 1, 4, 1), 2722.2),
        (eht(13, 1, 5, 0), 2882.4),
        (eht_ru(13, 1, 7, 2), 2450.0),
        (eht_ru(11, 1, 0, 0), 14.7),
        (eht_ru(13, 1, 3, 0), 172.1),
    ] {
        let found = repr.bitrate().unwrap().as_mbps_f64();
        // 1 024-QAM 5/6 in 80 MHz: the tables do not round the bits of a symbol down.
        assert!((found - mbps).abs() < 0.06, "{found} instead of {mbps}: {repr:?}");
    }
}

/// A header that lacks a parameter of the rate.
#[test]
fn no_rate_from_half_of_it() {
    let half = |change: fn(&mut Repr), mut repr: Repr| {
        assert!(repr.bitrate().is_some());
        change(&mut repr);
        repr.bitrate()
    };
    let he = he(1, 1, 2, 0, false);
    assert_eq!(half(|r| r.he.as_mut().unwrap().data[0] &= !0x4000, he), None);
    assert_eq!(half(|r| r.he.as_mut().unwrap().data[1] = 0, he), None);
    assert_eq!(half(|r| r.he.as_mut().unwrap().data[4] |= 0x30, he), None);
    assert_eq!(half(|r| r.he.as_mut().unwrap().data[5] = 0, he), None);
    let vht = vht(1, 1, 4, false);
    assert_eq!(half(|r| r.vht.as_mut().unwrap().known &= !0x0040, vht), None);
    assert_eq!(half(|r| r.vht.as_mut().unwrap().mcs_streams[0] |= 0xf0, vht), None);
    assert_eq!(half(|r| r.vht.as_mut().unwrap().mcs_streams[2] = 0x12, vht), None);
    // OFDMA, a reserved code of puncturing: the bandwidth does not say what the user has.
    let eht = eht(1, 1, 4, 0);
    assert_eq!(half(|r| r.u_sig.as_mut().unwrap().value = 0, eht), None);
    assert_eq!(half(|r| r.u_sig.as_mut().unwrap().value |= 0x1f << 9, eht), None);
    assert_eq!(half(|r| r.u_sig = None, eht), None);
    assert_eq!(Repr { rate_500kbps: Some(0), ..Repr::default() }.bitrate(), None);
    assert_eq!(ht(33, ChannelWidth::Mhz40, GuardInterval::Long).bitrate(), None);
    assert_eq!(ht(32, ChannelWidth::Mhz20, GuardInterval::Long).bitrate(), None);
}

/// EHT-MCS 15 is half of EHT-MCS 0; EHT-MCS 14 is the same in half of the channel.
#[test]
fn eht_rates_with_dual_carriers() {
    let bits_a_symbol = |repr: Repr| repr.bitrate().map(|rate| rate.as_bps() * 16 / 1_000_000);
    assert_eq!(bits_a_symbol(eht(15, 1, 0, 2)), Some(58));
    assert_eq!(bits_a_symbol(eht_ru(15, 1, 9, 2)), Some(31));
    let twice = |code| bits_a_symbol(eht(15, 1, code, 2));
    for (bandwidth, half) in [(2, 1), (3, 2), (4, 3)] {
        assert_eq!(bits_a_symbol(eht(14, 1, bandwidth, 2)), twice(half));
    }
    assert_eq!(eht(14, 1, 1, 2).bitrate(), None);
}

/// mt76 omits the PPDU's type; for several users it gives the station.
#[test]
fn eht_without_a_type() {
    let mut repr = eht(13, 1, 2, 0);
    repr.u_sig = repr.u_sig.map(|u_sig| USig { mask: 0, ..u_sig });
    assert_eq!(repr.bitrate(), Some(Bitrate::from_bps(720_588_235)));
    let mut eht = repr.eht.unwrap();
    eht.users = EhtUsers::default();
    eht.users.push(EhtUser(0x93 | 13 << 20));
    assert_eq!(Repr { eht: Some(eht), ..repr }.bitrate(), None);
}

#[test]
fn what_the_bits_of_he_mean() {
    // HE TB, all known.
    let he = He { data: [0xffff, 0x4a7f | 0x8000, 0xa8ea, 0x4321, 0x0296, 0x7d22] };
    assert_eq!(he.format(), HeFormat::TriggerBased);
    assert_eq!(
        (he.bss_colour(), he.beam_change(), he.uplink()),
        (Some(42), Some(true), Some(true))
    );
    assert_eq!((he.mcs(), he.dcm(), he.ldpc()), (Some(8), Some(false), Some(true)));
    assert_eq!((he.ldpc_extra_symbol(), he.stbc()), (Some(false), Some(true)));
    let reuse = [0, 1, 2, 3, 4, 5].map(|n| he.spatial_reuse(n));
    assert_eq!(reuse, [None, Some(1), Some(2), Some(3), Some(4), None]);
    assert_eq!(he.station_id(), None);
    assert_eq!(he.allocation(), Some(Allocation::ResourceUnit { tones: 106 }));
    assert_eq!((he.allocation_offset(), he.in_secondary_80_mhz()), (Some(10), Some(true)));
    assert_eq!(he.guard_interval(), Some(Duration::from_nanos(1600)));
    assert_eq!((he.ltf_size(), he.ltf_symbols()), (Some(2), Some(4)));
    assert_eq!(he.beamformed(), Some(false));
    assert_eq!((he.space_time_streams(), he.spatial_streams()), (Some(2), Some(1)));
    assert_eq!((he.txop(), he.txop_us()), (Some(125), Some(512 + 128 * 62)));
    // HE MU: Spatial Reuse 2 becomes the STA-ID.
    let he = He { data: [0xfffe, 0xffff, 0, 0x4321, 0, 0x7f00] };
    assert_eq!((he.format(), he.station_id()), (HeFormat::MultiUser, Some(0x432)));
    assert_eq!((he.spatial_reuse(1), he.spatial_reuse(2)), (Some(1), None));
    assert_eq!((he.txop(), he.txop_us()), (Some(127), None));
    // Nothing known.
    let he = He { data: [0, 0x8000, 0xffff, 0xffff, 0xff3f, 0xfff0] };
    assert_eq!((he.bss_colour(), he.uplink(), he.mcs(), he.dcm()), (None, None, None, None));
    assert_eq!(
        (he.ldpc(), he.stbc(), he.allocation(), he.guard_interval()),
        (None, None, None, None)
    );
    assert_eq!((he.ltf_size(), he.ltf_symbols(), he.txop()), (None, None, None));
    assert_eq!((he.space_time_streams(), he.spatial_reuse(1)), (None, None));
}

#[test]
fn what_the_bits_of_he_mu_mean() {
    let he_mu = HeMu { flags1: 0xc173, flags2: 0x063f, channel1: [1, 2, 3, 4], channel2: [5; 4] };
    assert_eq!((he_mu.sig_b_mcs(), he_mu.sig_b_dcm()), (Some(3), Some(true)));
    assert_eq!((he_mu.sig_b_compressed(), he_mu.sig_b_symbols_or_users()), (Some(true), Some(4)));
    assert_eq!((he_mu.bandwidth_mhz(), he_mu.puncturing()), (Some(160), Some(2)));
    assert_eq!((he_mu.channel1(), he_mu.channel2()), (Some([1, 2, 3, 4]), None));
    let user = HeMuOtherUser { user1: 0x5805, user2: 0x002b, position: 3, known: 0xff };
    assert_eq!((user.position(), user.station_id()), (Some(3), Some(5)));
    assert_eq!((user.space_time_streams(), user.beamformed()), (Some(4), Some(true)));
    assert_eq!((user.spatial_configuration(), user.mcs()), (Some(11), Some(11)));
    assert_eq!((user.dcm(), user.ldpc()), (Some(false), Some(true)));
}

#[test]
fn what_the_bits_of_u_sig_and_eht_mean() {
    // 320 MHz (the second kind), uplink, colour 33, TXOP 2: EHT TB.
    let common = 0x1f | 5 << 15 | 1 << 18 | 33 << 19 | 2 << 25;
    let u_sig = USig { common, value: 0, mask: 0xc0 };
    assert_eq!((u_sig.phy_version(), u_sig.bandwidth_mhz()), (Some(0), Some(320)));
    assert_eq!((u_sig.uplink(), u_sig.bss_colour()), (Some(true), Some(33)));
    assert_eq!((u_sig.txop(), u_sig.txop_us(), u_sig.bad_crc()), (Some(2), Some(8), false));
    assert_eq!(u_sig.format(), Some(EhtFormat::TriggerBased));
    // EHT MU in downlink, MU-MIMO, punctured 5, EHT-SIG-MCS code 3.
    let mu = USig { common: 0x25, value: 2 << 6 | 5 << 9 | 3 << 15, mask: u32::MAX };
    assert_eq!((mu.format(), mu.punctured_channels()), (Some(EhtFormat::MuMimo), Some(5)));
    assert_eq!((mu.eht_sig_mcs(), mu.bad_crc(), mu.txop()), (Some(15), true, None));
    // A later PHY, or a direction that is not known.
    assert_eq!(USig { common: common | 1 << 12, ..u_sig }.format(), None);
    assert_eq!(USig { common: common & !0x04, ..u_sig }.format(), None);

    let mut eht = Eht { known: u32::MAX, ..Eht::default() };
    eht.data[0] = 9 << 3 | 2 << 7 | 3 << 9 | 4 << 11 | 1 << 14;
    eht.data[1] = 12 | 7 << 5 | 2 << 30;
    eht.data[7] = 5 << 17;
    assert_eq!(eht.spatial_reuse(), Some(9));
    assert_eq!(eht.guard_interval(), Some(Duration::from_nanos(3200)));
    assert_eq!((eht.ltf_size(), eht.ltf_symbols()), (Some(4), Some(8)));
    assert_eq!((eht.ldpc_extra_symbol(), eht.non_ofdma_users()), (Some(true), Some(6)));
    let tones = 996 + 484 + 242;
    assert_eq!(eht.resource_unit(), Some(Allocation::ResourceUnit { tones }));
    assert_eq!((eht.resource_unit_index(), eht.primary_80_mhz()), (Some(7), Some(2)));
    // Ten users; the captured one is the last.
    for n in 0..9 {
        eht.users.push(EhtUser(0x01 | n << 8));
    }
    eht.users.push(EhtUser(0xbf | 9 << 8 | 1 << 19 | 11 << 20 | 1 << 24));
    assert_eq!(eht.users.as_slice().len(), EhtUsers::MAX);
    let user = eht.captured_user().unwrap();
    assert_eq!((user.station_id(), user.mcs(), user.ldpc()), (Some(9), Some(11), Some(true)));
    assert_eq!((user.spatial_streams(), user.beamformed()), (Some(2), Some(false)));
    assert_eq!(user.spatial_configuration(), None);
}

#[test]
fn what_the_bits_of_vht_and_ampdu_mean() {
    let vht = Vht {
        known: 0x01f5,
        flags: 0x15,
        bandwidth: 13,
        mcs_streams: [0x92, 0, 0xf1, 0x08],
        coding: 0b1001,
        group_id: 5,
        partial_aid: 300,
    };
    let user = |mcs, spatial_streams, ldpc| VhtUser { mcs, spatial_streams, ldpc };
    let users = [user(Some(9), 2, true), user(None, 1, false), user(Some(0), 8, true)];
    assert!(vht.users().eq(users));
    assert_eq!((vht.user(1), vht.user(4)), (None, None));
    assert_eq!(vht.bandwidth_mhz(), Some(80));
    assert_eq!((vht.guard_interval(), vht.stbc()), (Some(GuardInterval::Short), Some(true)));
    assert_eq!((vht.ldpc_extra_symbol(), vht.beamformed()), (Some(true), Some(false)));
    assert_eq!((vht.group_id(), vht.partial_aid()), (Some(5), Some(300)));
    let widths = [20, 40, 20, 20, 80, 40, 40, 20, 20, 20, 20, 160, 80, 80, 40, 40, 40, 40];
    for (bandwidth, mhz) in (0..).zip(widths) {
        assert_eq!(Vht { bandwidth, ..vht }.bandwidth_mhz(), Some(mhz));
    }

    let status = AmpduStatus { reference: 1, flags: 0x00d5, delimiter_crc: 7 };
    assert_eq!((status.is_last(), status.end_of_frame()), (Some(false), Some(true)));
    assert_eq!((status.is_zero_length(), status.delimiter_crc()), (Some(false), None));
    assert!(status.delimiter_crc_error());
    let status = AmpduStatus { flags: 0x0063, ..status };
    assert_eq!((status.is_last(), status.end_of_frame()), (None, None));
    assert_eq!((status.is_zero_length(), status.delimiter_crc()), (Some(true), Some(7)));
    let l_sig = LSig { known: 2, data: 0x123b };
    assert_eq!((l_sig.rate(), l_sig.length()), (None, Some(0x123)));
    let xchannel = XChannel { flags: 0x0004_0140, ..XChannel::default() };
    assert_eq!((xchannel.width_mhz(), XChannel::default().width_mhz()), (Some(40), None));
}

/// Fields that the header's end truncates.
#[test]
fn truncated_fields_are_errors() {
    let message = |bytes: &[u8]| Repr::parse(&View::new(bytes).unwrap()).unwrap_err().to_string();
    let he = [0, 0, 12, 0, 0, 0, 0x80, 0, 1, 2, 3, 4];
    assert_eq!(message(&he), "radiotap: HE at offset 8: needs 12 bytes, 4 left");
    let l_sig = [0, 0, 11, 0, 0, 0, 0, 0x08, 1, 2, 3];
    assert_eq!(message(&l_sig), "radiotap: L-SIG at offset 8: needs 4 bytes, 3 left");
    let eht = [0, 0, 14, 0, 0, 0, 0, 0x10, 34, 0, 40, 0, 1, 2];
    assert_eq!(message(&eht), "radiotap: EHT at offset 12: needs 40 bytes, 2 left");
    let tlv = [0, 0, 11, 0, 0, 0, 0, 0x10, 34, 0, 40];
    assert_eq!(message(&tlv), "radiotap: TLV length at offset 10: needs 2 bytes, 1 left");
}

proptest::proptest! {
    /// What a writer sets is what the reader finds, and the rate is that of the standard's formula
    /// for whole channels.
    #[test]
    fn eht_fields_come_back(
        mcs in 0_u8..16,
        streams in 1_u8..=16,
        code in 0_u32..5,
        interval in 0_usize..3,
        ltf in 0_usize..3,
        small in 0_u8..64,
        station in 0_u16..2048,
        channels in 0_u16..,
    ) {
        let width_mhz = 20 << code;
        let guard_interval_ns = [800, 1600, 3200][interval];
        let ltf_size = [1, 2, 4][ltf];
        let parameters = EhtParameters { mcs, streams, width_mhz, guard_interval_ns, ltf_size };
        let channel = Channel::from_number(lasthop_wifi_phy::Band::Ghz6, 37);
        let (at, signal) = (lasthop_units::Instant::ZERO, lasthop_units::Dbm(-60.0));
        let mut header = Repr::received_eht(at, parameters, channel, signal);
        let plain = header.bitrate();
        let sig = header.u_sig.expect("written").with_bss_colour(small).with_txop(small);
        let sig = sig.with_eht_sig(15, small % 32 + 1);
        let punctured = sig.with_punctured(channels);
        let ofdma = USig::new(EhtFormat::Ofdma, width_mhz, false).with_punctured(channels & 0xf);
        proptest::prop_assert_eq!(ofdma.is_some(), channels & 0xf != 0xf);
        if let Some(ofdma) = ofdma {
            proptest::prop_assert_eq!(ofdma.punctured(), Some(channels & 0xf));
        }
        header.u_sig = Some(punctured.unwrap_or(sig));
        let user = EhtUser::new(mcs, streams, true).with_station_id(station).captured();
        let eht = Eht::new(guard_interval_ns, ltf_size).with_user(user.with_beamforming(true));
        let eht = eht.with_spatial_reuse(small & 15).with_non_ofdma_users(small % 8 + 1);
        let eht = eht.with_ru_allocation(usize::from(small % 16), channels);
        header.eht = Some(eht.with_ldpc_extra_symbol(small % 2 == 1).with_primary_80_mhz(small & 3));
        let mut bytes = alloc::vec::Vec::new();
        header.emit(&mut bytes);
        proptest::prop_assert_eq!(bytes.len(), header.buffer_len());
        let read = Repr::parse(&View::new(&bytes).expect("a header")).expect("its fields");
        proptest::prop_assert_eq!(read, header);
        let (sig, eht) = (read.u_sig.expect("written"), read.eht.expect("written"));
        proptest::prop_assert_eq!(sig.format(), Some(EhtFormat::SingleUser));
        proptest::prop_assert_eq!(sig.bandwidth_mhz(), Some(width_mhz));
        proptest::prop_assert_eq!((sig.bss_colour(), sig.txop()), (Some(small), Some(small)));
        proptest::prop_assert_eq!(sig.eht_sig_symbols(), Some(small % 32 + 1));
        proptest::prop_assert_eq!(sig.punctured(), Some(punctured.map_or(0, |_| channels)));
        proptest::prop_assert_eq!(eht.guard_interval(), Some(Duration::from_nanos(u64::from(guard_interval_ns))));
        proptest::prop_assert_eq!(eht.ltf_size(), Some(ltf_size));
        proptest::prop_assert_eq!(eht.spatial_reuse(), Some(small & 15));
        proptest::prop_assert_eq!(eht.non_ofdma_users(), Some(small % 8 + 1));
        proptest::prop_assert_eq!(eht.ru_allocation(usize::from(small % 16)), Some(channels & 0x1ff));
        proptest::prop_assert_eq!(eht.ldpc_extra_symbol(), Some(small % 2 == 1));
        proptest::prop_assert_eq!(eht.primary_80_mhz(), Some(small & 3));
        let user = eht.captured_user().expect("the only one");
        proptest::prop_assert_eq!((user.mcs(), user.spatial_streams()), (Some(mcs), Some(streams)));
        proptest::prop_assert_eq!((user.station_id(), user.ldpc()), (Some(station), Some(true)));
        // Puncturing costs a part of the rate, of any MCS that the width has.
        match (punctured, read.bitrate(), plain) {
            (Some(_), Some(part), Some(whole)) if channels != 0 => {
                proptest::prop_assert!(part < whole);
            }
            (_, rate, whole) => proptest::prop_assert!(rate == whole || mcs == 14),
        }
    }
}
