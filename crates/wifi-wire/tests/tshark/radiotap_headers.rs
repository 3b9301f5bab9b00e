//! Radiotap headers: rates of every PHY, A-MPDU status, fields of VHT and HE, a vendor's namespace.
//! tshark computes rates of VHT and HE from its tables, with which those of `wire` are compared, in
//! Mb/s. Left out: DCM in these, which tshark 4.0 ignores.

use super::{FCS, captured, check, data_frame, received, tshark};
use lasthop_units::{Dbm, Duration, Instant};
use lasthop_wifi_phy::{
    Band, ChannelWidth, DsssRate, GuardInterval, HeGuardInterval, OfdmRate, Preamble, Rate, RuSize,
};
use lasthop_wifi_wire::radiotap::{self, AmpduStatus, Channel, He, HeMu, LSig, Vht, XChannel};
use lasthop_wifi_wire::{QosControl, frame};

#[test]
fn every_rate_reads_as_it_is() {
    let dsss = [DsssRate::Mbps1, DsssRate::Mbps2, DsssRate::Mbps5_5, DsssRate::Mbps11];
    let ofdm = [
        OfdmRate::Mbps6,
        OfdmRate::Mbps9,
        OfdmRate::Mbps12,
        OfdmRate::Mbps18,
        OfdmRate::Mbps24,
        OfdmRate::Mbps36,
        OfdmRate::Mbps48,
        OfdmRate::Mbps54,
    ];
    let mut rates: Vec<Rate> = dsss
        .into_iter()
        .flat_map(|rate| {
            [Preamble::Long, Preamble::Short].map(|preamble| Rate::Dsss { rate, preamble })
        })
        .chain(ofdm.map(Rate::Ofdm))
        .chain(ofdm.map(Rate::ErpOfdm))
        .collect();
    for width in [ChannelWidth::Mhz20, ChannelWidth::Mhz40] {
        for guard_interval in [GuardInterval::Long, GuardInterval::Short] {
            rates.extend((0..32).map(|mcs| Rate::Ht { mcs, width, guard_interval }));
        }
    }
    let null = data_frame(Some(QosControl::default()), None);
    // A clock that stands still would make one aggregate of them for tshark.
    let times = (0..).map(|n| Instant::default() + Duration::from_millis(n));
    let frames: Vec<_> = rates
        .iter()
        .zip(times)
        .map(|(rate, at)| {
            let channel = match rate {
                Rate::Dsss { .. } | Rate::ErpOfdm(_) => Channel::from_number(Band::Ghz2_4, 6),
                _ => Channel::from_number(Band::Ghz5, 36),
            };
            captured(&radiotap::Repr::received(at, *rate, channel, Dbm(-50.0)), null)
        })
        .collect();
    let fields = ["wlan_radio.data_rate", "wlan_radio.phy", "radiotap.flags.preamble"];
    let Some(rows) = tshark(&frames, &fields) else { return };
    for (rate, row) in rates.iter().zip(rows) {
        // Wireshark's numbers of PHYs: 4 is 11b, 5 is 11a, 6 is 11g, 7 is 11n.
        let phy = match rate {
            Rate::Dsss { .. } => "4",
            Rate::Ofdm(_) => "5",
            Rate::ErpOfdm(_) => "6",
            Rate::Ht { .. } => "7",
            _ => panic!("{rate} is not written"),
        };
        assert_eq!(row[1], phy, "{rate:?}");
        let mbps: f64 = row[0].parse().unwrap();
        assert!((mbps - rate.bitrate().as_mbps_f64()).abs() < 0.05, "{rate:?}: {mbps}");
        let short = matches!(rate, Rate::Dsss { preamble: Preamble::Short, .. });
        assert_eq!(row[2], if short { "1" } else { "0" }, "{rate:?}");
    }
}

#[test]
fn radiotap_fields_hold_what_was_written() {
    let rate =
        Rate::Ht { mcs: 15, width: ChannelWidth::Mhz40, guard_interval: GuardInterval::Short };
    let header =
        radiotap::Repr { ampdu_status: Some(AmpduStatus::new(77, true)), ..received(rate) };
    check(
        captured(&header, data_frame(Some(QosControl::default()), None)),
        &[
            ("radiotap.mactime", "1234567"),
            ("radiotap.flags.fcs", "1"),
            ("radiotap.channel.freq", "5180"),
            ("radiotap.dbm_antsignal", "-48"),
            ("radiotap.mcs.index", "15"),
            ("radiotap.mcs.bw", "1"),
            ("radiotap.mcs.gi", "1"),
            ("radiotap.ampdu.reference", "77"),
            ("radiotap.ampdu.flags.last", "1"),
            ("wlan.fc.type_subtype", "0x002c"),
            ("wlan.fcs.status", "1"),
            ("_ws.malformed", ""),
        ],
    );
}

/// Every rate of VHT and HE that tshark computes, and that of `wire`.
#[test]
fn rates_of_vht_and_he_are_those_of_tshark() {
    let mut headers = vec![];
    // Codes of radiotap: 20, 40, 80 and 160 MHz.
    for (bandwidth, mcs, streams, short) in product([0, 1, 4, 11], 0..10, 1..=8, 0..2) {
        let vht = Vht {
            known: 0x0044,
            flags: short << 2,
            bandwidth,
            mcs_streams: [mcs << 4 | streams, 0, 0, 0],
            ..Vht::default()
        };
        headers.push(radiotap::Repr { vht: Some(vht), ..radiotap::Repr::default() });
    }
    for (allocation, mcs, streams, interval) in product(0..=10, 0..12, [1, 2, 8], 0..3) {
        // HE SU; with a resource unit, HE TB. Without DCM, which tshark 4.0 ignores.
        let format = if allocation < 4 { 0 } else { 3 };
        let data = [0x4060 | format, 0x0002, mcs << 8, 0, allocation | interval << 4, streams];
        headers.push(radiotap::Repr { he: Some(He { data }), ..radiotap::Repr::default() });
    }
    let null = data_frame(Some(QosControl::default()), None);
    let frames: Vec<_> = (0..)
        .zip(&headers)
        .map(|(n, header)| {
            captured(&radiotap::Repr { tsft_us: Some(1000 * n), flags: FCS, ..*header }, null)
        })
        .collect();
    let Some(rows) = tshark(&frames, &["wlan_radio.data_rate"]) else { return };
    let mut compared = 0;
    for (header, row) in headers.iter().zip(rows) {
        let Ok(theirs) = row[0].parse::<f64>() else { continue };
        let ours = header.bitrate().unwrap().as_mbps_f64();
        // In HE it rounds the rate of one stream in at most 80 MHz to a digit and multiplies.
        let parts = header.he.map_or(1, |he| {
            let twice = matches!(he.data[4] & 15, 3 | 10);
            he.data[5] * if twice { 2 } else { 1 }
        });
        let tolerance = 0.06 * f64::from(parts);
        assert!((ours - theirs).abs() < tolerance, "{ours} {theirs}: {header:?}");
        compared += 1;
    }
    assert!(compared > 1_000, "{compared}");
}

fn product<A: Copy, B: Copy, C: Copy, D>(
    a: impl IntoIterator<Item = A>,
    b: impl IntoIterator<Item = B> + Clone,
    c: impl IntoIterator<Item = C> + Clone,
    d: impl IntoIterator<Item = D> + Clone,
) -> impl Iterator<Item = (A, B, C, D)> {
    a.into_iter().flat_map(move |a| {
        let (c, d) = (c.clone(), d.clone());
        b.clone().into_iter().flat_map(move |b| {
            let d = d.clone();
            c.clone()
                .into_iter()
                .flat_map(move |c| d.clone().into_iter().map(move |d| (a, b, c, d)))
        })
    })
}

/// HE SU and extended range PPDUs of every kind, with dual carrier modulation and without: format 1
/// is extended range; RUs of 106 and 242 tones have radiotap's codes 6 and 7.
#[test]
fn extended_range_and_dual_carriers_are_those_of_tshark() {
    let gi = HeGuardInterval::Ns800Ltf2x;
    let mut rates: Vec<Rate> = Rate::all_he_extended_range(gi, true).collect();
    rates.extend(Rate::all_he_dual_carrier(ChannelWidth::Mhz40, gi, 2));
    assert_eq!(rates.len(), 7 + 8);
    let null = data_frame(Some(QosControl::default()), None);
    let frames: Vec<_> = rates.iter().map(|rate| captured(&received(*rate), null)).collect();
    let fields = [
        "radiotap.he.data_1.ppdu_format",
        "radiotap.he.data_3.data_mcs",
        "radiotap.he.data_3.data_dcm",
        "radiotap.he.data_5.data_bw_ru_allocation",
        "radiotap.he.data_6.nsts",
        "_ws.malformed",
    ];
    let Some(rows) = tshark(&frames, &fields) else { return };
    for (rate, row) in rates.iter().zip(rows) {
        let (format, mcs, dcm, allocation) = match *rate {
            Rate::He { mcs, dcm, .. } => (0, mcs, dcm, 1),
            Rate::HeExtendedRange { mcs, dcm, tones: RuSize::Tones106, .. } => (1, mcs, dcm, 6),
            Rate::HeExtendedRange { mcs, dcm, .. } => (1, mcs, dcm, 7),
            _ => unreachable!("all are of HE"),
        };
        let mut expected: Vec<String> = [format, mcs, u8::from(dcm), allocation, rate.streams()]
            .map(|value| format!("0x{value:04x}"))
            .to_vec();
        expected.push(String::new());
        assert_eq!(row, expected, "{rate}");
    }
}

#[test]
fn fields_of_vht_and_he_hold_what_was_written() {
    let null = data_frame(Some(QosControl::default()), None);
    let he = He { data: [0xfffe, 0x0a7f, 0xa8ea, 0x4321, 0x0296, 0x7d22] };
    let header = radiotap::Repr {
        flags: FCS,
        xchannel: Some(XChannel {
            flags: XChannel::HT_20,
            frequency_mhz: 5180,
            number: 36,
            max_power: 0,
        }),
        he: Some(he),
        he_mu: Some(HeMu {
            flags1: 0xc173,
            flags2: 0x063f,
            channel1: [1, 2, 3, 4],
            channel2: [5, 6, 7, 8],
        }),
        l_sig: Some(LSig { known: 3, data: 0x123b }),
        ..radiotap::Repr::default()
    };
    check(
        captured(&header, null),
        &[
            ("radiotap.xchannel.freq", "5180"),
            ("radiotap.he.data_1.ppdu_format", "0x0002"),
            ("radiotap.he.data_3.bss_color", "0x002a"),
            ("radiotap.he.data_3.ul_dl", "0x0001"),
            ("radiotap.he.data_3.data_mcs", "0x0008"),
            ("radiotap.he.data_3.data_dcm", "0x0000"),
            ("radiotap.he.data_3.coding", "0x0001"),
            ("radiotap.he.data_4.sta_id_user", "0x0432"),
            ("radiotap.he.data_5.data_bw_ru_allocation", "0x0006"),
            ("radiotap.he.data_5.gi", "0x0001"),
            ("radiotap.he.num_ltf_symbols", "0x0002"),
            ("radiotap.he.data_6.nsts", "0x0002"),
            ("radiotap.he.data_6.txop_value", "0x007d"),
            ("radiotap.he_mu.sig_b_mcs", "0x0003"),
            ("radiotap.he_mu.bw_from_sig_a", "3"),
            ("radiotap.he_mu.chan1_rus_3_index", "4"),
            ("radiotap.l_sig.rate", "11"),
            ("radiotap.l_sig.length", "291"),
            ("wlan.fc.type_subtype", "0x002c"),
            ("wlan.fcs.status", "1"),
            ("_ws.malformed", ""),
        ],
    );
}

/// Headers that `wire` does not write, read by both.
#[test]
fn vendor_namespaces_and_antennas_read_alike() {
    // Flags, signal; a vendor's; then signal and antenna; then TSFT, aligned to 40.
    const TSFT_AT: usize = 40;
    let mut captured = vec![0, 0, TSFT_AT as u8 + 8, 0];
    for word in [0xc000_0022u32, 0xbfff_ffff, 0xa000_0820, 0x0000_0001] {
        captured.extend_from_slice(&word.to_le_bytes());
    }
    captured.extend_from_slice(&[0x10, 0xd0, 0x00, 0x11, 0x22, 1, 3, 0, 0xaa, 0xbb, 0xcc]);
    captured.extend_from_slice(&[0xc0, 1]);
    captured.resize(TSFT_AT, 0);
    captured.extend_from_slice(&99u64.to_le_bytes());
    let null: frame::Repr<'_> = data_frame(None, None).into();
    null.emit_mpdu(&mut captured);

    let view = radiotap::View::new(&captured).unwrap();
    let repr = radiotap::Repr::parse(&view).unwrap();
    let layout = repr.flags.unwrap().layout();
    let frame = frame::View::new(view.frame(), layout).unwrap();
    assert_eq!(frame.fcs_is_valid(), Some(true));
    assert_eq!(frame::Repr::parse(&frame), Ok(null));
    let antenna = repr.antenna.unwrap().to_string();
    let tsft = repr.tsft_us.unwrap().to_string();
    check(
        captured,
        &[
            ("radiotap.dbm_antsignal", "-48,-64"),
            ("radiotap.antenna", &antenna),
            ("radiotap.mactime", &tsft),
            ("wlan.fc.type_subtype", "0x0024"),
            ("wlan.fcs.status", "1"),
            ("_ws.malformed", ""),
        ],
    );
}
