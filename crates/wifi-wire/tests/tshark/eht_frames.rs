//! Frames of 802.11be: every field of the elements of EHT and of multi-link devices, and of Protected
//! EHT actions.

use super::{AP, HOST, STATION, check_eht, management_frame, of_kind};
use lasthop_units::Duration;
use lasthop_wifi_wire::action::{self, EmlOperatingMode, ProtectedEht};
use lasthop_wifi_wire::elements::{
    BasicMultiLink, EhtCapabilities, EhtMcsMap, EhtMcsSet, EhtOperation, Elements, EmlCapabilities,
    HeCapabilities, LinkChange, LinkProbe, LinkTraffic, MediumSyncDelay, MldCapabilities,
    MldParameters, MultiLink, MultiLinkCommon, NeighborChannel, ReducedNeighborReport,
    StationProfile, TbttInfo, TidToLink,
};
use lasthop_wifi_wire::management::{AssociationRequest, Beacon, Body};

fn expect(body: Body<'_>, fields: &[(&str, &str)]) {
    let whole = [("wlan.fcs.status", "1"), ("_ws.malformed", ""), ("_ws.expert.severity", "")];
    check_eht(of_kind(management_frame(body)), &[fields, &whole].concat());
}

fn beacon(elements: &[u8]) -> Body<'_> {
    Body::Beacon(Beacon {
        timestamp_us: 102_400,
        interval_tu: 100,
        capabilities: Beacon::ESS,
        elements: Elements::new(elements),
    })
}

fn he() -> HeCapabilities {
    let mut he = HeCapabilities { rx_mcs_map: 0xfffa, tx_mcs_map: 0xfffa, ..Default::default() };
    // 40 and 80 MHz, 160 MHz at 5 and 6 GHz.
    he.phy[0] = 0x0c;
    he
}

#[test]
fn capabilities_and_operation_hold_what_was_written() {
    let mut bytes = vec![];
    he().emit(&mut bytes);
    let set = EhtMcsSet::Wide {
        up_to_80: Some(EhtMcsMap::up_to(13, 4)),
        at_160: Some(EhtMcsMap([0x34, 0x23, 0])),
        at_320: None,
    };
    let mut rest = vec![];
    set.emit(&mut rest);
    // Thresholds of one stream in the two smallest units: 9 + 2 x 6 bits.
    let thresholds = [0x30, 0xa6, 0x12];
    rest.extend_from_slice(&thresholds);
    let bits = [
        EhtCapabilities::UNIT_242_WIDE,
        EhtCapabilities::BEAMFORMEE,
        EhtCapabilities::TX_DENSE_SMALL_UNITS,
        EhtCapabilities::PPE_THRESHOLDS,
        EhtCapabilities::MCS_15,
        EhtCapabilities::MCS_14,
    ];
    let capabilities = EhtCapabilities {
        mac: (EhtCapabilities::OM_CONTROL | EhtCapabilities::LONGER_AMPDU).to_le_bytes(),
        phy: EhtCapabilities::phy_with(&bits),
        rest: &rest,
    };
    capabilities.emit(&mut bytes).unwrap();
    let read = capabilities.ppe_thresholds(&he(), true).unwrap().unwrap();
    assert_eq!(read.as_bytes(), thresholds);
    EhtOperation::of_width(320, 31, 63, 0x0030).emit(&mut bytes);
    expect(
        beacon(&bytes),
        &[
            ("wlan.eht.mac_capabilities.eht_om_control_support", "1"),
            ("wlan.eht.mac_capabilities.epcs_priority_access_support", "0"),
            ("wlan.eht.mac_capabilities.maximum_a_mpdu_length_exponent_extension", "1"),
            ("wlan.eht.phy_capabilities.bits_0_15.support_for_320mhz_in_6ghz", "0"),
            ("wlan.eht.phy_capabilities.bits_0_15.support_for_242_tone_ru_in_bw_wider_20mhz", "1"),
            ("wlan.eht.phy_capabilities.bits_0_15.su_beamformer", "0"),
            ("wlan.eht.phy_capabilities.bits_0_15.su_beamformee", "1"),
            ("wlan.eht.phy_capabilities.bits_40_63.tx_1024_4096_qam_lt_242_ru_support", "1"),
            ("wlan.eht.phy_capabilities.bits_40_63.rx_1024_4096_qam_lt_242_ru_support", "0"),
            ("wlan.eht.phy_capabilities.bits_40_63.ppe_thresholds_present", "1"),
            ("wlan.eht.phy_capabilities.bits_40_63.support_of_mcs_15", "1"),
            ("wlan.eht.phy_capabilities.bits_40_63.support_eht_dup_6_ghz", "1"),
            ("wlan.eht.supported_eht_mcs_bss_set.le_80.rx_max_nss_supports_eht_mcs_0_9", "4"),
            ("wlan.eht.supported_eht_mcs_bss_set.le_80.tx_max_nss_supports_eht_mcs_12_13", "4"),
            ("wlan.eht.supported_eht_mcs_bss_set.160.rx_max_nss_supports_eht_mcs_0_9", "4"),
            ("wlan.eht.supported_eht_mcs_bss_set.160.tx_max_nss_supports_eht_mcs_0_9", "3"),
            ("wlan.eht.supported_eht_mcs_bss_set.160.rx_max_nss_supports_eht_mcs_10_11", "3"),
            ("wlan.eht.supported_eht_mcs_bss_set.160.tx_max_nss_supports_eht_mcs_12_13", "0"),
            ("wlan.eht.ppe_thresholds", "30a612"),
            ("wlan.eht.eht_operation_parameters.eht_operation_information_present", "1"),
            ("wlan.eht.eht_operation_parameters.disabled_subchannel_bitmap_present", "1"),
            ("wlan.eht.basic_eht_mcs_and_nss_set", "17"),
            ("wlan.eht.eht_operation_information.control.channel_width", "4"),
            ("wlan.eht.eht_operation_information.ccfs0", "31"),
            ("wlan.eht.eht_operation_information.ccfs1", "63"),
            ("wlan.eht.eht_operation_information.disabled_subchannel_bitmap", "48"),
        ],
    );
}

/// 320 MHz adds a map to the set. Wireshark up to 4.4.5 takes it for PPE thresholds, so that only its
/// length is compared.
#[test]
fn stations_of_20_and_320_mhz() {
    for (phy_0, bits, set, from_ap) in [
        (0x0c, &[EhtCapabilities::WIDTH_320_MHZ][..], 9, true),
        (0x02, &[], 3, true),
        (0, &[], 3, true),
        (0, &[], 4, false),
    ] {
        let mut he = he();
        he.phy[0] = phy_0;
        let mut bytes = vec![];
        he.emit(&mut bytes);
        let rest = [0x21; 9];
        let phy = EhtCapabilities::phy_with(bits);
        let eht = EhtCapabilities { mac: [0; 2], phy, rest: &rest[..set] };
        assert_eq!(eht.mcs_set(&he, from_ap).unwrap().1, []);
        eht.emit(&mut bytes).unwrap();
        let elements = Elements::new(&bytes);
        let request = AssociationRequest { capabilities: 1, listen_interval: 5, elements };
        let body = if from_ap { beacon(&bytes) } else { Body::AssociationRequest(request) };
        let (at_320, only) = (if set == 9 { "1" } else { "0" }, if set == 4 { "1" } else { "" });
        expect(
            body,
            &[
                ("wlan.eht.phy_capabilities.bits_0_15.support_for_320mhz_in_6ghz", at_320),
                ("wlan.eht.supported_eht_mcs_bss_non_sta.rx_max_nss_supports_eht_mcs_12_13", only),
            ],
        );
    }
}

fn common() -> BasicMultiLink {
    let eml = EmlCapabilities::emlsr(
        Duration::from_micros(64),
        Duration::from_micros(128),
        Duration::from_micros(4 * 1024),
    );
    BasicMultiLink {
        address: HOST,
        link_id: Some(2),
        change_count: Some(7),
        medium_sync_delay: Some(MediumSyncDelay(0x3_2ac)),
        eml: Some(eml),
        mld: Some(MldCapabilities::with_links(2).with_link_mapping(3)),
        mld_id: None,
        extended: Some(0x0007),
    }
}

const COMMON: [(&str, &str); 26] = [
    ("wlan.eht.multi_link.control.type", "0"),
    ("wlan.eht.multi_link.control.basic.link_id_info_present", "1"),
    ("wlan.eht.multi_link.control.basic.bss_parameters_change_count_present", "1"),
    ("wlan.eht.multi_link.control.basic.medium_sync_delayinfo_present", "1"),
    ("wlan.eht.multi_link.control.basic.eml_capabilities_present", "1"),
    ("wlan.eht.multi_link.control.basic.mld_capabilities_present", "1"),
    ("wlan.eht.multi_link.control.basic.mld_id_present", "0"),
    ("wlan.eht.multi_link.control.basic.ext_mld_capabilities_present", "1"),
    ("wlan.eht.multi_link.common_info.length", "17"),
    ("wlan.eht.multi_link.common_info.mld_mac_address", "02:00:00:00:00:03"),
    ("wlan.eht.multi_link.common_info.link_id_subfield.link_id", "2"),
    ("wlan.eht.multi_link.common_info.bss_parameters_change_count", "7"),
    ("wlan.eht.multi_link.common_info.medium_sync.sync_duration", "172"),
    ("wlan.eht.multi_link.common_info.medium_sync.ofdm_ed_threshold", "2"),
    ("wlan.eht.multi_link.common_info.medium_sync.max_number_of_txops", "3"),
    ("wlan.eht.multi_link.common_info.eml_capabilities.emlsr_support", "1"),
    ("wlan.eht.multi_link.common_info.eml_capabilities.emlsr_padding_delay", "2"),
    ("wlan.eht.multi_link.common_info.eml_capabilities.emlsr_transition_delay", "4"),
    ("wlan.eht.multi_link.common_info.eml_capabilities.emlmr_support", "0"),
    ("wlan.eht.multi_link.common_info.eml_capabilities.emlmr_delay", "0"),
    ("wlan.eht.multi_link.common_info.eml_capabilities.transition_timeout", "6"),
    ("wlan.eht.multi_link.common_info.mld_capabilities.max_simultaneous_links", "1"),
    ("wlan.eht.multi_link.common_info.mld_capabilities.tid_to_link_neg_sup", "3"),
    ("wlan.eht.multi_link.common_info.mld_capabilities.freq_sep_for_str", "0"),
    ("wlan.eht.multi_link.common_info.ext_mld_capabilities.op_param_update_support", "1"),
    ("wlan.eht.multi_link.common_info.ext_mld_capabilities.max_simultaneous_links", "3"),
];

#[test]
fn basic_multi_link_elements_hold_what_was_written() {
    let mut links = vec![];
    let profile = StationProfile {
        link_id: 1,
        complete: true,
        address: Some(AP),
        beacon_interval_tu: Some(100),
        tsf_offset_us: Some(0x0102_0304_0506_0708),
        dtim: Some((1, 3)),
        nstr_links: Some(4),
        change_count: Some(9),
        // The Capability Information of a beacon; every element is inherited.
        profile: &[0x01, 0x00],
        ..StationProfile::default()
    };
    profile.emit(&mut links);
    StationProfile {
        link_id: 3,
        nstr_links: Some(0x0104),
        change_count: None,
        tsf_offset_us: None,
        ..profile
    }
    .emit(&mut links);
    let mut bytes = vec![];
    MultiLink::basic(common(), &links).emit(&mut bytes);
    let fields = [
        ("wlan.eht.multi_link.type_0.sta_profile_count", "2"),
        ("wlan.eht.multi_link.sta_profile.sta_control.link_id", "1,3"),
        ("wlan.eht.multi_link.sta_profile.sta_control.complete_profile", "1,1"),
        ("wlan.eht.multi_link.sta_profile.sta_control.mac_address_present", "1,1"),
        ("wlan.eht.multi_link.sta_profile.sta_control.beacon_interval_present", "1,1"),
        ("wlan.eht.multi_link.sta_profile.sta_control.tsf_offset_present", "1,0"),
        ("wlan.eht.multi_link.sta_profile.sta_control.dtim_info_present", "1,1"),
        ("wlan.eht.multi_link.sta_profile.sta_control.nstr_link_pair_present", "1,1"),
        ("wlan.eht.multi_link.sta_profile.sta_control.nstr_bitmap_size", "0,1"),
        ("wlan.eht.multi_link.sta_profile.sta_control.bss_params_change_count_present", "1,0"),
        ("wlan.eht.multi_link.sta_profile.sta_info.len", "21,13"),
        (
            "wlan.eht.multi_link.sta_profile.sta_info.sta_mac_addr",
            "02:00:00:00:00:01,02:00:00:00:00:01",
        ),
        ("wlan.eht.multi_link.sta_profile.sta_info.beacon_interval", "100,100"),
        ("wlan.eht.multi_link.sta_profile.sta_info.tsf_offset", "72623859790382856"),
        ("wlan.eht.multi_link.sta_profile.sta_info.dtim_count", "1,1"),
        ("wlan.eht.multi_link.sta_profile.sta_info.dtim_period", "3,3"),
        ("wlan.eht.multi_link.sta_profile.sta_info.nstr_bitmap", "04,0401"),
        ("wlan.eht.multi_link.sta_profile.sta_info.bss_params_change_count", "9"),
    ];
    expect(beacon(&bytes), &[&COMMON[..], &fields].concat());
}

/// A station with two links asks for association: the profile of the other link is longer than an
/// element.
#[test]
fn long_profiles_are_put_together() {
    let mut inner = vec![0x31, 0x04];
    for octet in 0..3 {
        inner.extend_from_slice(&[221, 120, 0x02, 0xaa, 0xbb]);
        inner.extend_from_slice(&[octet; 117]);
    }
    let mut links = vec![];
    StationProfile {
        link_id: 1,
        complete: true,
        address: Some(STATION),
        profile: &inner,
        ..StationProfile::default()
    }
    .emit(&mut links);
    assert!(links.len() > 2 * 255 - 150);
    let mut bytes = vec![0, 4, b'h', b'o', b'm', b'e'];
    let common = BasicMultiLink { link_id: None, change_count: None, ..common() };
    MultiLink::basic(common, &links).emit(&mut bytes);
    bytes.extend_from_slice(&[50, 1, 0x6c]);
    let elements = Elements::new(&bytes);
    let request = AssociationRequest { capabilities: 0x0431, listen_interval: 5, elements };
    expect(
        Body::AssociationRequest(request),
        &[
            ("wlan.ssid", "686f6d65"),
            ("wlan.eht.multi_link.common_info.mld_mac_address", "02:00:00:00:00:03"),
            ("wlan.eht.multi_link.sta_profile.sta_control.link_id", "1"),
            ("wlan.eht.multi_link.sta_profile.sta_info.sta_mac_addr", "02:00:00:00:00:02"),
            ("wlan.eht.multi_link.sta_profile.sta_control.complete_profile", "1"),
            ("wlan.extended_supported_rates", "108"),
        ],
    );
}

#[test]
fn probes_and_reconfigurations_hold_what_was_written() {
    let mut links = vec![];
    LinkProbe { link_id: 2, complete: true, ..LinkProbe::default() }.emit(&mut links);
    let element = MultiLink {
        common: MultiLinkCommon::ProbeRequest { mld_id: Some(0) },
        later_bits: 0,
        later: &[],
        links: &links,
    };
    let mut bytes = vec![0, 0];
    element.emit(&mut bytes);
    expect(
        Body::ProbeRequest(Elements::new(&bytes)),
        &[
            ("wlan.eht.multi_link.control.type", "1"),
            ("wlan.eht.multi_link.control.probe.mld_id_present", "1"),
            ("wlan.eht.multi_link.common_info.mld_id", "0"),
            ("wlan.eht.multi_link.sta_profile.sta_control.link_id", "2"),
            ("wlan.eht.multi_link.sta_profile.sta_control.complete_profile", "1"),
        ],
    );
    let mut links = vec![];
    LinkChange { link_id: 1, removal_beacons: Some(50), ..LinkChange::default() }.emit(&mut links);
    let element = MultiLink {
        common: MultiLinkCommon::Reconfiguration {
            address: Some(HOST),
            eml: None,
            mld: None,
            extended: None,
        },
        links: &links,
        ..element
    };
    bytes.clear();
    element.emit(&mut bytes);
    expect(
        beacon(&bytes),
        &[
            ("wlan.eht.multi_link.control.type", "2"),
            ("wlan.eht.multi_link.control.reconfig.mld_mac_addr_present", "1"),
            ("wlan.eht.multi_link.common_info.mld_mac_address", "02:00:00:00:00:03"),
            ("wlan.eht.multi_link.sta_profile.sta_control.link_id", "1"),
            ("wlan.eht.multi_link.sta_profile.sta_control.ap_removal_timer_present", "1"),
            ("wlan.eht.multi_link.sta_profile.sta_control.reconfig_operation_type", "0"),
            ("wlan.eht.multi_link.sta_profile.sta_info.ap_removal_timer", "50"),
        ],
    );
}

const MAPPING: TidToLink = TidToLink {
    direction: TidToLink::BOTH,
    switch_time_tu: Some(0x1234),
    expected_duration_tu: Some(0x0a_bbcc),
    links: Some([Some(1), Some(1), Some(1), Some(1), Some(6), Some(6), Some(2), Some(0x104)]),
};

const MAPPED: [(&str, &str); 13] = [
    ("wlan.eht.tid_to_link_mapping.control.direction", "2"),
    ("wlan.eht.tid_to_link_mapping.control.default_link_mapping", "0"),
    ("wlan.eht.tid_to_link_mapping.control.mapping_switch_time", "1"),
    ("wlan.eht.tid_to_link_mapping.control.expected_duration", "1"),
    ("wlan.eht.tid_to_link_mapping.control.link_mapping_size", "0"),
    ("wlan.eht.tid_to_link_mapping.control.link_mapping_presence_indicator", "255"),
    ("wlan.eht.tid_to_link_mapping.switch_time", "4660"),
    ("wlan.eht.tid_to_link_mapping.expected_duration", "703436"),
    ("wlan.eht.tid_to_link_mapping.tid_0.link_mapping", "1"),
    ("wlan.eht.tid_to_link_mapping.tid_4.link_mapping", "6"),
    ("wlan.eht.tid_to_link_mapping.tid_5.link_mapping", "6"),
    ("wlan.eht.tid_to_link_mapping.tid_6.link_mapping", "2"),
    ("wlan.eht.tid_to_link_mapping.tid_7.link_mapping", "260"),
];

#[test]
fn mappings_traffic_and_neighbors_hold_what_was_written() {
    let mut bytes = vec![];
    MAPPING.emit(&mut bytes);
    expect(beacon(&bytes), &MAPPED);

    bytes.clear();
    LinkTraffic { links: 3, aid_offset: 5, bitmaps: &[0x2a, 0x01] }.emit(&mut bytes).unwrap();
    expect(
        beacon(&bytes),
        &[
            ("wlan.eht.multi_link_traffic.traffic_control.bitmap_size", "2"),
            ("wlan.eht.multi_link_traffic.traffic_control.aid_offset", "5"),
        ],
    );

    let mld = MldParameters {
        mld_id: 0,
        link_id: 2,
        change_count: 9,
        all_updates_included: true,
        disabled: false,
    };
    let neighbor = TbttInfo {
        offset_tu: Some(17),
        bssid: Some(AP),
        short_ssid: Some(0xaabb_ccdd),
        bss_parameters: Some(0x4a),
        psd: Some(0xfe),
        mld: Some(mld),
    };
    let mut fields = vec![];
    NeighborChannel::emit(133, 37, &[neighbor], &mut fields);
    NeighborChannel::emit(115, 36, &[TbttInfo { mld: None, ..neighbor }; 2], &mut fields);
    bytes.clear();
    ReducedNeighborReport::emit(&fields, &mut bytes).unwrap();
    expect(
        beacon(&bytes),
        &[
            ("wlan.rnr.tbtt_info.info_count", "0,1"),
            ("wlan.rnr.tbtt_info.info_len", "16,13"),
            ("wlan.rnr.tbtt_info.operating_class", "133,115"),
            ("wlan.rnr.tbtt_info.channel_num", "37,36"),
            ("wlan.rnr.tbtt_info.tbtt_offset", "17,17,17"),
            ("wlan.rnr.tbtt_info.bssid", "02:00:00:00:00:01,02:00:00:00:00:01,02:00:00:00:00:01"),
            ("wlan.rnr.tbtt_info.sh_ssid", "2864434397,2864434397,2864434397"),
            ("wlan.rnr.tbtt_info.bss_parameters", "74,74,74"),
            ("wlan.rnr.tbtt_info.psd_subfield", "254,254,254"),
            ("wlan.rnr.tbtt_info.mld_parameters.mld_id", "0"),
            ("wlan.rnr.tbtt_info.mld_parameters.link_id", "2"),
            ("wlan.rnr.tbtt_info.mld_parameters.bss_params_change_count", "9"),
            ("wlan.rnr.tbtt_info.mld_parameters.all_updates_included", "1"),
            ("wlan.rnr.tbtt_info.mld_parameters.disabled_link_indication", "0"),
        ],
    );
}

#[test]
fn protected_actions_hold_what_was_written() {
    let of = |body| Body::Action(action::Repr::ProtectedEht(body));
    let mut bytes = vec![];
    MAPPING.emit(&mut bytes);
    let elements = Elements::new(&bytes);
    expect(
        of(ProtectedEht::LinkMappingRequest { dialog_token: 9, elements }),
        &[
            &MAPPED[..],
            &[
                ("wlan.fixed.category_code", "37"),
                ("wlan.eht.protected_action", "0"),
                ("wlan.fixed.dialog_token", "9"),
            ],
        ]
        .concat(),
    );
    expect(
        of(ProtectedEht::LinkMappingResponse { dialog_token: 9, status: 134, elements }),
        &[
            &MAPPED[..],
            &[
                ("wlan.eht.protected_action", "1"),
                ("wlan.fixed.dialog_token", "9"),
                ("wlan.fixed.status_code", "134"),
            ],
        ]
        .concat(),
    );
    expect(of(ProtectedEht::LinkMappingTeardown), &[("wlan.eht.protected_action", "2")]);
    let mode = EmlOperatingMode {
        dialog_token: 4,
        emlsr_links: Some(0b110),
        emlmr: None,
        coexistence: false,
        parameters: Some((3, 2)),
        rest: &[],
    };
    expect(
        of(ProtectedEht::OperatingMode(mode)),
        &[
            ("wlan.eht.protected_action", "6"),
            ("wlan.fixed.dialog_token", "4"),
            ("wlan.eht.eml_control.emlsr_mode", "1"),
            ("wlan.eht.eml_control.emlmr_mode", "0"),
            ("wlan.eht.eml_control.emlsr_para_update_control", "1"),
            ("wlan.eht.eml_control.in_device_coexist_activities", "0"),
            ("wlan.eht.eml_control.link_bitmap", "6"),
            ("wlan.eht.emlsr_parameter_update.padding_delay", "3"),
            ("wlan.eht.emlsr_parameter_update.transition_delay", "2"),
        ],
    );
}
