//! Radiotap headers of 802.11be: every field of U-SIG and EHT in PPDUs for one user, with OFDMA,
//! with MU-MIMO and trigger-based.

use super::{FCS, captured, check_eht, data_frame, tshark_eht};
use lasthop_units::{Dbm, Instant};
use lasthop_wifi_phy::Band;
use lasthop_wifi_wire::QosControl;
use lasthop_wifi_wire::radiotap::{
    AmpduStatus, Channel, Eht, EhtFormat, EhtParameters, EhtUser, Repr, USig,
};

fn expect(header: &Repr, fields: &[(&str, &str)]) {
    let whole = [("wlan.fcs.status", "1"), ("_ws.malformed", ""), ("_ws.expert.severity", "")];
    let null = data_frame(Some(QosControl::default()), None);
    check_eht(captured(header, null), &[fields, &whole].concat());
}

const SINGLE: EhtParameters =
    EhtParameters { mcs: 13, streams: 2, width_mhz: 320, guard_interval_ns: 800, ltf_size: 2 };

fn single(parameters: EhtParameters) -> Repr {
    let channel = Channel::from_number(Band::Ghz6, 37);
    Repr::received_eht(Instant::default(), parameters, channel, Dbm(-50.0))
}

#[test]
fn a_ppdu_for_one_user() {
    let header = Repr { ampdu_status: Some(AmpduStatus::new(9, true)), ..single(SINGLE) };
    let u_sig = header.u_sig.unwrap().with_bss_colour(42).with_txop(93).with_eht_sig(1, 2);
    let eht = header.eht.unwrap().with_ltf_symbols(2).with_spatial_reuse(15);
    let header = Repr { u_sig: Some(u_sig), eht: Some(eht.with_ldpc_extra_symbol(true)), ..header };
    expect(
        &header,
        &[
            ("radiotap.channel.freq", "6135"),
            ("radiotap.dbm_antsignal", "-50"),
            ("radiotap.ampdu.reference", "9"),
            ("radiotap.u_sig.common.phy_version_identifier_known", "1"),
            ("radiotap.u_sig.common.bw_known", "1"),
            ("radiotap.u_sig.common.ul_dl_known", "1"),
            ("radiotap.u_sig.common.bss_color_known", "1"),
            ("radiotap.u_sig.common.txop_known", "1"),
            ("radiotap.u_sig.common.bad_u_sig_crc", "0"),
            ("radiotap.u_sig.common.phy_version_identifier", "0"),
            ("radiotap.u_sig.common.bw", "4"),
            ("radiotap.u_sig.common.ul_dl", "0"),
            ("radiotap.u_sig.common.bss_color", "42"),
            ("radiotap.u_sig.common.txop", "93"),
            ("radiotap.u_sig.value.ppdu_type_and_compression_mode", "1"),
            ("radiotap.u_sig.value.mu_ppdu.punctured_channel_information", "0"),
            ("radiotap.u_sig.value.mu_ppdu.eht_sig_mcs", "1"),
            ("radiotap.u_sig.value.mu_ppdu.number_of_eht_sig_symbols", "1"),
            ("radiotap.u_sig.mask", "4177600"),
            ("radiotap.eht.known", "54"),
            ("radiotap.eht.data_0.spatial_reuse", "15"),
            ("radiotap.eht.data_0.gi", "0"),
            ("radiotap.eht.data_0.ltf_symbol_size", "2"),
            ("radiotap.eht.data_0.number_ltf_symbols", "1"),
            ("radiotap.eht.data_0.ldpc_extra_symbol_segment", "1"),
            ("radiotap.eht.user_info.mcs_known", "1"),
            ("radiotap.eht.user_info.mcs", "13"),
            ("radiotap.eht.user_info.nss_known", "1"),
            ("radiotap.eht.user_info.nss", "1"),
            ("radiotap.eht.user_info.coding_known", "1"),
            ("radiotap.eht.user_info.coding", "1"),
            ("radiotap.eht.user_info.sta_id_known", "0"),
            ("radiotap.eht.user_info.data_captured_for_this_user", "1"),
        ],
    );
}

/// Every guard interval with its LTF sizes, every width, punctured and not.
#[test]
fn widths_intervals_and_puncturing() {
    let (mut frames, mut expected) = (vec![], vec![]);
    for (width_mhz, bandwidth) in [(20, "0"), (40, "1"), (80, "2"), (160, "3"), (320, "4")] {
        // The second 20 MHz; the lowest 80 MHz and the 40 MHz behind.
        let (channels, punctured) = match width_mhz {
            80 => (0b10, "2"),
            320 => (0x3f, "13"),
            _ => (0, "0"),
        };
        for (guard_interval_ns, ltf_size, [guard, ltf]) in [
            (800, 2, ["0", "2"]),
            (800, 4, ["0", "3"]),
            (1600, 2, ["1", "2"]),
            (1600, 1, ["1", "1"]),
            (3200, 4, ["2", "3"]),
        ] {
            let parameters = EhtParameters { width_mhz, guard_interval_ns, ltf_size, ..SINGLE };
            let header = single(parameters);
            let u_sig = header.u_sig.unwrap().with_punctured(channels);
            assert_eq!(u_sig.unwrap().punctured(), Some(channels));
            let null = data_frame(Some(QosControl::default()), None);
            frames.push(captured(&Repr { u_sig, ..header }, null));
            expected.push([bandwidth, punctured, guard, ltf, ""]);
        }
    }
    let fields = [
        "radiotap.u_sig.common.bw",
        "radiotap.u_sig.value.mu_ppdu.punctured_channel_information",
        "radiotap.eht.data_0.gi",
        "radiotap.eht.data_0.ltf_symbol_size",
        "_ws.malformed",
    ];
    let Some(rows) = tshark_eht(&frames, &fields) else { return };
    assert_eq!(rows, expected);
}

#[test]
fn ofdma_has_units_allocations_and_stations() {
    let u_sig = USig::new(EhtFormat::Ofdma, 320, true).with_second_320_mhz();
    let user = |id| EhtUser::new(5, 3, true).with_station_id(id).with_beamforming(id == 2);
    let mut eht = Eht::new(1600, 2).with_primary_80_mhz(2);
    for id in 1..=3 {
        eht = eht.with_user(if id == 2 { user(id).captured() } else { user(id) });
    }
    for place in 0..16 {
        eht = eht.with_ru_allocation(place, 0x100 | place as u16);
    }
    let eht = eht.with_resource_unit(996 + 484, 3).unwrap();
    let u_sig = u_sig.with_punctured(0b0010).unwrap();
    let allocation = |word, channel, name| {
        format!("radiotap.eht.data_{word}.content_channel_{channel}_ru_allocation_{name}")
    };
    let places = [
        allocation(1, 1, "1_1"),
        allocation(2, 2, "1_1"),
        allocation(2, 1, "1_2"),
        allocation(2, 2, "1_2"),
        allocation(3, 1, "2_1"),
        allocation(3, 2, "2_1"),
        allocation(3, 1, "2_2"),
        allocation(4, 2, "2_2"),
        allocation(4, 1, "2_3"),
        allocation(4, 2, "2_3"),
        allocation(5, 1, "2_4"),
        allocation(5, 2, "2_4"),
        allocation(5, 1, "2_5"),
        allocation(6, 2, "2_5"),
        allocation(6, 1, "2_6"),
        allocation(6, 2, "2_6"),
    ];
    let codes: Vec<_> = (0..16).map(|place| (0x100 | place).to_string()).collect();
    let mut fields = vec![
        ("radiotap.u_sig.common.bw", "5"),
        ("radiotap.u_sig.common.ul_dl", "0"),
        ("radiotap.u_sig.value.ppdu_type_and_compression_mode", "0"),
        ("radiotap.u_sig.value.mu_ppdu.punctured_channel_information", "29"),
        ("radiotap.eht.data_0.gi", "1"),
        ("radiotap.eht.known.ru_mru_size_known", "1"),
        ("radiotap.eht.known.ru_mru_index_known", "1"),
        ("radiotap.eht.data_1.ru_mru_size", "11"),
        ("radiotap.eht.data_1.ru_mru_index", "3"),
        ("radiotap.eht.know.primary_80mhz_channel_position_known", "1"),
        ("radiotap.eht.data_1.primary_80_mhz_channel_position", "2"),
        ("radiotap.eht.user_info.sta_id", "1,2,3"),
        ("radiotap.eht.user_info.mcs", "5,5,5"),
        ("radiotap.eht.user_info.nss", "2,2,2"),
        ("radiotap.eht.user_info.beamforming", "0,1,0"),
        ("radiotap.eht.user_info.data_captured_for_this_user", "0,1,0"),
    ];
    fields.extend(places.iter().zip(&codes).map(|(name, code)| (&name[..], &code[..])));
    expect(&Repr { flags: FCS, u_sig: Some(u_sig), eht: Some(eht), ..Repr::default() }, &fields);
}

#[test]
fn several_users_on_streams_and_triggered_ones() {
    let user = EhtUser::new(9, 1, true).with_spatial_configuration(0x15).with_station_id(2007);
    let eht = Eht::new(800, 4).with_non_ofdma_users(4).with_user(user.captured());
    let u_sig = Some(USig::new(EhtFormat::MuMimo, 160, false).with_eht_sig(15, 32));
    let header = Repr { flags: FCS, u_sig, eht: Some(eht), ..Repr::default() };
    expect(
        &header,
        &[
            ("radiotap.u_sig.value.ppdu_type_and_compression_mode", "2"),
            ("radiotap.u_sig.value.mu_ppdu.eht_sig_mcs", "3"),
            ("radiotap.u_sig.value.mu_ppdu.number_of_eht_sig_symbols", "31"),
            ("radiotap.eht.known.number_of_non_ofdma_users_known", "1"),
            ("radiotap.eht.data_7.number_of_non_ofdma_users", "3"),
            ("radiotap.eht.user_info.nss_known", "0"),
            ("radiotap.eht.user_info.spatial_configuration_known", "1"),
            ("radiotap.eht.user_info.spatial_configuration", "21"),
            ("radiotap.eht.user_info.sta_id", "2007"),
        ],
    );
    let u_sig = USig::new(EhtFormat::TriggerBased, 80, false).with_spatial_reuse(3, 12);
    let eht = Eht::new(3200, 4).with_user(EhtUser::new(15, 1, true).with_station_id(5));
    let eht = eht.with_resource_unit(52 + 26, 1);
    let header = Repr { flags: FCS, u_sig: Some(u_sig), eht, ..Repr::default() };
    expect(
        &header,
        &[
            ("radiotap.u_sig.common.ul_dl", "1"),
            ("radiotap.u_sig.value.tb_ppdu.spatial_reuse_1", "3"),
            ("radiotap.u_sig.value.tb_ppdu.spatial_reuse_2", "12"),
            ("radiotap.eht.data_1.ru_mru_size", "8"),
            ("radiotap.eht.user_info.mcs", "15"),
        ],
    );
}
