//! Frames of roaming: every field of authentication, association, the 4-way handshake, 802.11k,
//! 802.11r, 802.11v and channel switches, and every element that these carry.

use super::{AP, HOST, STATION, check, data_frame, management_frame, of_kind};
use lasthop_units::MacAddr;
use lasthop_wifi_wire::eapol::{self, Information, Kde};
use lasthop_wifi_wire::elements::{
    self, ChannelSwitch, Cipher, Elements, ExtendedCapabilities, ExtendedChannelSwitch,
    FastTransition, KeyManagement, MobilityDomain, NeighborReport, RmEnabledCapabilities, Rsn,
    Subelement, Subelements, Suites, TimeoutInterval, WrappedGtk, WrappedIgtk,
};
use lasthop_wifi_wire::management::{
    AssociationRequest, AssociationResponse, Authentication, Beacon, Body, SaeCommit, SaeConfirm,
};
use lasthop_wifi_wire::{QosControl, action, llc};

/// A part of every expectation.
const WHOLE: [(&str, &str); 3] =
    [("wlan.fcs.status", "1"), ("_ws.malformed", ""), ("_ws.expert.severity", "")];

fn expect(body: Body<'_>, fields: &[(&str, &str)]) {
    check(of_kind(management_frame(body)), &[fields, &WHOLE].concat());
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn counting<const N: usize>(from: u8) -> [u8; N] {
    core::array::from_fn(|at| from.wrapping_add(at as u8))
}

/// RSN with this method, and with protected management frames.
fn rsn(management: KeyManagement, pmkids: &[u8], out: &mut Vec<u8>) {
    let ccmp = Cipher::Ccmp128.suite();
    let (pairwise, akm) = (ccmp.to_bytes(), management.suite().to_bytes());
    let element = Rsn {
        version: Rsn::VERSION,
        group: Some(ccmp),
        pairwise: Some(Suites::new(&pairwise)),
        akms: Some(Suites::new(&akm)),
        capabilities: Some(Rsn::MANAGEMENT_PROTECTION_CAPABLE),
        pmkids,
        group_management: Some(Cipher::BipCmac128.suite()),
    };
    element.emit(out).unwrap();
}

/// Mobility Domain and Fast BSS Transition with all subelements.
fn transition(out: &mut Vec<u8>) {
    MobilityDomain { domain: 0xb1a2, over_ds: true, resource_request: false }.emit(out);
    let mut parameters = vec![];
    Subelement { id: FastTransition::R1_KEY_HOLDER, data: &AP.0 }.emit(&mut parameters).unwrap();
    Subelement { id: FastTransition::R0_KEY_HOLDER, data: b"ap1" }.emit(&mut parameters).unwrap();
    let key = counting::<24>(0x80);
    WrappedGtk { id: 2, length: 16, receive_sequence: counting(1), key: &key }
        .emit(&mut parameters)
        .unwrap();
    WrappedIgtk { id: 4, packet_number: counting(0x20), length: 16, key: &key }
        .emit(&mut parameters)
        .unwrap();
    let element = FastTransition {
        rsnx_used: false,
        element_count: 3,
        mic: &counting::<16>(0x10),
        anonce: counting(0x30),
        snonce: counting(0x60),
        parameters: Subelements::new(&parameters),
    };
    element.emit(out).unwrap();
}

const TRANSITION: [(&str, &str); 14] = [
    ("wlan.mobility_domain.mdid", "0xb1a2"),
    ("wlan.mobility_domain.ft_capab.ft_over_ds", "0x01"),
    ("wlan.mobility_domain.ft_capab.resource_req", "0x00"),
    ("wlan.ft.mic_control.element_count", "3"),
    ("wlan.ft.mic", "101112131415161718191a1b1c1d1e1f"),
    ("wlan.ft.anonce", "303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f"),
    ("wlan.ft.snonce", "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"),
    ("wlan.ft.subelem.id", "1,3,2,4"),
    ("wlan.ft.subelem.r1kh_id", "020000000001"),
    ("wlan.ft.subelem.r0kh_id", "617031"),
    ("wlan.ft.subelem.gtk.key_id", "2"),
    ("wlan.ft.subelem.gtk.key_length", "16"),
    ("wlan.ft.subelem.gtk.rsc", "0102030405060708"),
    ("wlan.ft.subelem.igtk.ipn", "202122232425"),
];

#[test]
fn authentication_holds_what_was_written() {
    fn of(algorithm: u16, sequence: u16, status: u16, rest: &[u8]) -> Body<'_> {
        Body::Authentication(Authentication { algorithm, sequence, status, rest })
    }
    expect(
        of(Authentication::OPEN_SYSTEM, 2, 0, &[]),
        &[
            ("wlan.fc.type_subtype", "0x000b"),
            ("wlan.fixed.auth.alg", "0"),
            ("wlan.fixed.auth_seq", "0x0002"),
            ("wlan.fixed.status_code", "0x0000"),
        ],
    );
    let (scalar, element) = (counting::<32>(1), counting::<64>(0x41));
    let commit = SaeCommit {
        group: 19,
        token: &[],
        scalar: &scalar,
        element: &element,
        elements: Elements::default(),
    };
    for status in [0, 126] {
        let mut rest = vec![];
        commit.emit(&mut rest);
        expect(
            of(Authentication::SAE, 1, status, &rest),
            &[
                ("wlan.fixed.auth.alg", "3"),
                ("wlan.fixed.auth_seq", "0x0001"),
                ("wlan.fixed.sae_message_type", "1"),
                ("wlan.fixed.finite_cyclic_group", "19"),
                ("wlan.fixed.scalar", &hex(&scalar)),
                ("wlan.fixed.finite_field_element", &hex(&element)),
            ],
        );
    }
    let mut rest = vec![];
    let token = counting::<32>(0x90);
    SaeCommit { token: &token, scalar: &[], element: &[], ..commit }.emit(&mut rest);
    expect(
        of(Authentication::SAE, 1, Authentication::ANTI_CLOGGING_TOKEN_REQUIRED, &rest),
        &[
            ("wlan.fixed.status_code", "0x004c"),
            ("wlan.fixed.finite_cyclic_group", "19"),
            ("wlan.fixed.anti_clogging_token", &hex(&token)),
        ],
    );
    rest.clear();
    let confirm = counting::<32>(0x70);
    SaeConfirm { send_confirm: 0x0102, confirm: &confirm }.emit(&mut rest);
    expect(
        of(Authentication::SAE, 2, 0, &rest),
        &[
            ("wlan.fixed.sae_message_type", "2"),
            ("wlan.fixed.send_confirm", "258"),
            ("wlan.fixed.confirm", &hex(&confirm)),
        ],
    );
    rest.clear();
    rsn(KeyManagement::FtPsk, &counting::<16>(5), &mut rest);
    transition(&mut rest);
    let mut expected = vec![
        ("wlan.fixed.auth.alg", "2"),
        ("wlan.rsn.akms.type", "4"),
        ("wlan.rsn.pmkid.count", "1"),
    ];
    expected.extend(TRANSITION);
    expect(of(Authentication::FAST_BSS_TRANSITION, 1, 0, &rest), &expected);
}

#[test]
fn association_holds_what_was_written() {
    let mut bytes = vec![];
    for element in [
        elements::Repr::Ssid(b"lasthop"),
        elements::Repr::SupportedRates(&[0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c]),
    ] {
        element.emit(&mut bytes).unwrap();
    }
    let pmkid = counting::<16>(5);
    rsn(KeyManagement::FtSae, &pmkid, &mut bytes);
    RmEnabledCapabilities::with(&[1, 4, 5, 6]).emit(&mut bytes);
    transition(&mut bytes);
    let octets: [u8; 8] = ExtendedCapabilities::octets(&[2, 19, 62]);
    ExtendedCapabilities(&octets).emit(&mut bytes).unwrap();
    let capabilities = Beacon::ESS | Beacon::PRIVACY | Beacon::RADIO_MEASUREMENT;
    let elements = Elements::new(&bytes);
    let request = AssociationRequest { capabilities, listen_interval: 5, elements };
    let mut common = vec![
        ("wlan.ssid", "6c617374686f70"),
        ("wlan.fixed.capabilities.ess", "1"),
        ("wlan.fixed.capabilities.privacy", "1"),
        ("wlan.fixed.capabilities.radio_measurement", "1"),
        ("wlan.rsn.version", "1"),
        ("wlan.rsn.gcs.type", "4"),
        ("wlan.rsn.pcs.type", "4"),
        ("wlan.rsn.akms.type", "9"),
        ("wlan.rsn.capabilities.mfpc", "1"),
        ("wlan.rsn.capabilities.mfpr", "0"),
        ("wlan.rsn.pmkid.count", "1"),
        ("wlan.pmkid.akms", "05060708090a0b0c0d0e0f1011121314"),
        ("wlan.rsn.gmcs.type", "6"),
        ("wlan.rmcap.b1", "1"),
        ("wlan.rmcap.b0", "0"),
        ("wlan.rmcap.b6", "1"),
        ("wlan.extcap.b2", "1"),
        ("wlan.extcap.b19", "1"),
        ("wlan.extcap.b18", "0"),
        ("wlan.extcap.b62", "1"),
    ];
    common.extend(TRANSITION);
    let listen = ("wlan.fixed.listen_ival", "0x0005");
    let mut expected = vec![("wlan.fc.type_subtype", "0x0000"), listen];
    expected.extend(&common);
    expect(Body::AssociationRequest(request), &expected);
    let mut expected = vec![
        ("wlan.fc.type_subtype", "0x0002"),
        listen,
        ("wlan.fixed.current_ap", "02:00:00:00:00:03"),
    ];
    expected.extend(&common);
    expect(Body::ReassociationRequest { current_ap: HOST, request }, &expected);
    let response = AssociationResponse { capabilities, status: 0, aid: 5, elements };
    let answers = [
        ("0x0001", Body::AssociationResponse(response)),
        ("0x0003", Body::ReassociationResponse(response)),
    ];
    for (kind, body) in answers {
        let mut expected = vec![
            ("wlan.fc.type_subtype", kind),
            ("wlan.fixed.status_code", "0x0000"),
            ("wlan.fixed.aid", "0x0005"),
        ];
        expected.extend(&common);
        expect(body, &expected);
    }
    // A refusal for some time.
    let mut bytes = vec![];
    let kind = TimeoutInterval::ASSOCIATION_COMEBACK;
    TimeoutInterval { kind, value: 1_000 }.emit(&mut bytes);
    let elements = Elements::new(&bytes);
    expect(
        Body::AssociationResponse(AssociationResponse { status: 30, aid: 0, elements, ..response }),
        &[
            ("wlan.fixed.status_code", "0x001e"),
            ("wlan.fixed.aid", "0x0000"),
            ("wlan.timeout_int.type", "3"),
            ("wlan.timeout_int.value", "1000"),
        ],
    );
}

/// Methods by their names in tshark's numbers: PSK, SAE and their fast transitions.
#[test]
fn methods_of_rsn_are_those_of_tshark() {
    for (management, name) in [
        (KeyManagement::Psk, "2"),
        (KeyManagement::Sae, "8"),
        (KeyManagement::FtPsk, "4"),
        (KeyManagement::FtSae, "9"),
    ] {
        let mut bytes = vec![];
        rsn(management, &[], &mut bytes);
        if matches!(management, KeyManagement::FtPsk | KeyManagement::FtSae) {
            // These require a mobility domain, and tshark says so.
            MobilityDomain::default().emit(&mut bytes);
        }
        let elements = Elements::new(&bytes);
        let request = AssociationRequest { capabilities: 1, listen_interval: 1, elements };
        expect(
            Body::AssociationRequest(request),
            &[
                ("wlan.rsn.akms.type", name),
                ("wlan.rsn.pmkid.count", "0"),
                ("wlan.rsn.gmcs.type", "6"),
            ],
        );
    }
}

#[test]
fn removals_hold_what_was_written() {
    let elements = Elements::default();
    expect(
        Body::Deauthentication { reason: 6, elements },
        &[("wlan.fc.type_subtype", "0x000c"), ("wlan.fixed.reason_code", "0x0006")],
    );
    expect(
        Body::Disassociation { reason: 8, elements },
        &[("wlan.fc.type_subtype", "0x000a"), ("wlan.fixed.reason_code", "0x0008")],
    );
}

/// Two neighbors, the second with a preference.
fn neighbors() -> Vec<u8> {
    let mut bytes = vec![];
    let wide = [2, 42, 0];
    let mut subelements = vec![];
    Subelement { id: NeighborReport::CANDIDATE_PREFERENCE, data: &[254] }
        .emit(&mut subelements)
        .unwrap();
    Subelement { id: NeighborReport::WIDE_BANDWIDTH_CHANNEL, data: &wide }
        .emit(&mut subelements)
        .unwrap();
    let first = NeighborReport {
        bssid: HOST,
        information: NeighborReport::REACHABLE
            | NeighborReport::SAME_SECURITY
            | NeighborReport::SAME_KEY_SCOPE
            | NeighborReport::RADIO_MEASUREMENT
            | NeighborReport::MOBILITY_DOMAIN
            | NeighborReport::VERY_HIGH_THROUGHPUT,
        operating_class: 128,
        channel: 36,
        phy: 9,
        subelements: Subelements::default(),
    };
    first.emit(&mut bytes).unwrap();
    let second = NeighborReport {
        bssid: MacAddr([2, 0, 0, 0, 0, 4]),
        channel: 44,
        subelements: Subelements::new(&subelements),
        ..first
    };
    second.emit(&mut bytes).unwrap();
    bytes
}

const NEIGHBORS: [(&str, &str); 10] = [
    ("wlan.nreport.bssid", "02:00:00:00:00:03,02:00:00:00:00:04"),
    ("wlan.nreport.bssid.info.reachability", "0x00000003,0x00000003"),
    ("wlan.nreport.bssid.info.security", "1,1"),
    ("wlan.nreport.bssid.info.keyscope", "1,1"),
    ("wlan.nreport.bssid.info.mobilitydomain", "1,1"),
    ("wlan.nreport.bssid.info.hthroughput", "0,0"),
    ("wlan.nreport.bssid.info.vht", "1,1"),
    ("wlan.nreport.opeclass", "128,128"),
    ("wlan.nreport.channumber", "36,44"),
    ("wlan.nreport.phytype", "0x09,0x09"),
];

#[test]
fn neighbor_reports_hold_what_was_written() {
    let bytes = neighbors();
    let mut ssid = vec![];
    elements::Repr::Ssid(b"lasthop").emit(&mut ssid).unwrap();
    let request =
        action::Repr::NeighborReportRequest { dialog_token: 7, elements: Elements::new(&ssid) };
    expect(
        Body::Action(request),
        &[
            ("wlan.fixed.category_code", "5"),
            ("wlan.fixed.action_code", "4"),
            ("wlan.rm.dialog_token", "7"),
            ("wlan.ssid", "6c617374686f70"),
        ],
    );
    let elements = Elements::new(&bytes);
    let response = action::Repr::NeighborReportResponse { dialog_token: 7, elements };
    let mut expected = vec![
        ("wlan.fixed.category_code", "5"),
        ("wlan.fixed.action_code", "5"),
        ("wlan.rm.dialog_token", "7"),
    ];
    expected.extend(NEIGHBORS);
    expected.extend([
        ("wlan.nreport.subelem.bss_trn_can_pref", "254"),
        ("wlan.nreport.subelem.id", "3,6"),
        ("wlan.nreport.subelem.data", "022a00"),
    ]);
    expect(Body::Action(response), &expected);
}

#[test]
fn transition_management_holds_what_was_written() {
    let bytes = neighbors();
    let candidates = Elements::new(&bytes);
    let query = action::Repr::TransitionQuery { dialog_token: 7, reason: 16, candidates };
    let mut expected = vec![
        ("wlan.fixed.category_code", "10"),
        ("wlan.fixed.action_code", "6"),
        ("wlan.fixed.dialog_token", "0x07"),
        ("wlan.fixed.bss_transition_query_reason", "16"),
    ];
    expected.extend(NEIGHBORS);
    expect(Body::Action(query), &expected);

    let request = action::TransitionRequest {
        dialog_token: 7,
        mode: action::TransitionRequest::CANDIDATES
            | action::TransitionRequest::DISASSOCIATION_IMMINENT,
        disassociation_timer: 300,
        validity_interval: 255,
        termination: None,
        url: None,
        candidates,
    };
    let fields = [
        ("wlan.fixed.action_code", "7"),
        ("wlan.fixed.dialog_token", "0x07"),
        ("wlan.fixed.request_mode.pref_cand", "1"),
        ("wlan.fixed.request_mode.abridged", "0"),
        ("wlan.fixed.request_mode.disassoc_imminent", "1"),
        ("wlan.fixed.disassoc_timer", "300"),
        ("wlan.fixed.validity_interval", "255"),
    ];
    let mut expected = fields.to_vec();
    expected.extend([
        ("wlan.fixed.request_mode.bss_term_included", "0"),
        ("wlan.fixed.request_mode.ess_disassoc_imminent", "0"),
    ]);
    expected.extend(NEIGHBORS);
    expect(Body::Action(action::Repr::TransitionRequest(request)), &expected);
    let request = action::TransitionRequest {
        termination: Some(action::Termination { timestamp_us: 1_234_567, duration_min: 5 }),
        url: Some(b"http://a.b"),
        ..request
    };
    let mut expected = fields.to_vec();
    expected.extend([
        ("wlan.fixed.request_mode.bss_term_included", "1"),
        ("wlan.fixed.request_mode.ess_disassoc_imminent", "1"),
        ("wlan.fixed.session_information.url", "http://a.b"),
    ]);
    expected.extend(NEIGHBORS);
    expect(Body::Action(action::Repr::TransitionRequest(request)), &expected);

    let response = |status, target| action::Repr::TransitionResponse {
        dialog_token: 7,
        status,
        termination_delay_min: 9,
        target,
        candidates,
    };
    for (status, target, read) in [(0, Some(HOST), "02:00:00:00:00:03"), (7, None, "")] {
        let code = status.to_string();
        let mut expected = vec![
            ("wlan.fixed.action_code", "8"),
            ("wlan.fixed.dialog_token", "0x07"),
            ("wlan.fixed.bss_transition_status_code", code.as_str()),
            ("wlan.fixed.bss_termination_delay", "9"),
            ("wlan.fixed.bss_transition_target_bss", read),
        ];
        expected.extend(NEIGHBORS);
        expect(Body::Action(response(status, target)), &expected);
    }
}

#[test]
fn fast_transitions_over_the_ds_hold_what_was_written() {
    let mut bytes = vec![];
    rsn(KeyManagement::FtSae, &counting::<16>(5), &mut bytes);
    transition(&mut bytes);
    let elements = Elements::new(&bytes);
    let (station, target) = (STATION, HOST);
    let addresses = [
        ("wlan.fixed.category_code", "6"),
        ("wlan.fixed.sta_address", "02:00:00:00:00:02"),
        ("wlan.fixed.target_ap_address", "02:00:00:00:00:03"),
    ];
    let mut expected = vec![("wlan.fixed.action_code", "1")];
    expected.extend(addresses);
    expected.extend(TRANSITION);
    let request = action::Repr::FtRequest { station, target, elements };
    expect(Body::Action(request), &expected);
    let mut expected = vec![("wlan.fixed.action_code", "2"), ("wlan.fixed.status_code", "0x0035")];
    expected.extend(addresses);
    expected.extend(TRANSITION);
    let response = action::Repr::FtResponse { station, target, status: 53, elements };
    expect(Body::Action(response), &expected);
}

#[test]
fn switches_and_queries_hold_what_was_written() {
    let mut bytes = vec![];
    ChannelSwitch { mode: 1, channel: 44, count: 5 }.emit(&mut bytes);
    let elements = Elements::new(&bytes);
    expect(
        Body::Action(action::Repr::ChannelSwitch { elements }),
        &[
            ("wlan.fixed.category_code", "0"),
            ("wlan.fixed.action_code", "4"),
            ("wlan.csa.channel_switch_mode", "1"),
            ("wlan.csa.new_channel_number", "44"),
            ("wlan.csa.channel_switch.count", "5"),
        ],
    );
    // Both elements in a beacon.
    let operating_class = 115;
    ExtendedChannelSwitch { mode: 0, operating_class, channel: 40, count: 6 }.emit(&mut bytes);
    let elements = Elements::new(&bytes);
    let beacon = Beacon { timestamp_us: 1, interval_tu: 100, capabilities: Beacon::ESS, elements };
    expect(
        Body::Beacon(beacon),
        &[
            ("wlan.csa.new_channel_number", "44"),
            ("wlan.fixed.extchansw.switchmode", "0x00000000"),
            ("wlan.fixed.extchansw.new.opeclass", "0x00000073"),
            ("wlan.fixed.extchansw.new.channumber", "0x00000028"),
            ("wlan.extchansw.switchcount", "0x00000006"),
        ],
    );
    for (is_response, code) in [(false, "0"), (true, "1")] {
        let elements = Elements::default();
        let query = action::Repr::SaQuery { is_response, transaction: 0x1234, elements };
        expect(
            Body::Action(query),
            &[
                ("wlan.fixed.category_code", "8"),
                ("wlan.fixed.action_code", code),
                ("wlan.fixed.transaction_id", "0x1234"),
            ],
        );
    }
}

/// The messages of the 4-way handshake, as data with QoS.
#[test]
fn messages_of_the_handshake_hold_what_was_written() {
    let mut elements = vec![];
    rsn(KeyManagement::FtPsk, &counting::<16>(5), &mut elements);
    transition(&mut elements);
    let mut pmkid = vec![];
    Kde::Pmkid(counting(0x11)).emit(&mut pmkid).unwrap();
    let wrapped = counting::<56>(0x20);
    for (number, key_data, key_length, nonce) in [
        (1, &pmkid[..], 16, counting(0x40)),
        (2, &elements, 0, counting(0x50)),
        (3, &wrapped, 16, counting(0x40)),
        (4, &[], 0, [0; 32]),
    ] {
        let message = eapol::Repr {
            information: Information::of_message(number, 2).unwrap(),
            key_length,
            replay_counter: 0x0102,
            nonce,
            receive_sequence: counting(0x08),
            mic: counting(0xa0),
            key_data,
            ..eapol::Repr::default()
        };
        let mut msdu = vec![];
        llc::Repr::new(eapol::ETHERTYPE).emit(&mut msdu);
        message.emit(&mut msdu).unwrap();
        let bit = |is_set| if is_set { "1" } else { "0" };
        let qos = QosControl { tid: 7, ..QosControl::default() };
        let data = if key_data.is_empty() { String::new() } else { hex(key_data) };
        let mut expected = vec![
            ("wlan.qos.tid".to_owned(), "7".to_owned()),
            ("eapol.version".to_owned(), "2".to_owned()),
            ("eapol.type".to_owned(), "3".to_owned()),
            ("eapol.len".to_owned(), (95 + key_data.len()).to_string()),
            ("eapol.keydes.type".to_owned(), "2".to_owned()),
            ("wlan_rsna_eapol.keydes.msgnr".to_owned(), number.to_string()),
        ];
        let bits = [
            ("keydes_version", "2"),
            ("key_type", "1"),
            ("install", bit(number == 3)),
            ("key_ack", bit(number % 2 == 1)),
            ("key_mic", bit(number > 1)),
            ("secure", bit(number > 2)),
            ("encrypted_key_data", bit(number == 3)),
        ];
        let name = |bit| format!("wlan_rsna_eapol.keydes.key_info.{bit}");
        expected.extend(bits.map(|(bit, value)| (name(bit), value.to_owned())));
        expected.extend([
            ("eapol.keydes.key_len".to_owned(), key_length.to_string()),
            ("eapol.keydes.replay_counter".to_owned(), "258".to_owned()),
            ("wlan_rsna_eapol.keydes.nonce".to_owned(), hex(&nonce)),
            ("eapol.keydes.key_iv".to_owned(), hex(&[0; 16])),
            ("wlan_rsna_eapol.keydes.rsc".to_owned(), hex(&counting::<8>(0x08))),
            ("wlan_rsna_eapol.keydes.mic".to_owned(), hex(&counting::<16>(0xa0))),
            ("wlan_rsna_eapol.keydes.data_len".to_owned(), key_data.len().to_string()),
            ("wlan_rsna_eapol.keydes.data".to_owned(), data),
        ]);
        let mut expected: Vec<_> =
            expected.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
        if number == 1 {
            expected.push(("wlan.rsn.ie.pmkid", "1112131415161718191a1b1c1d1e1f20"));
        }
        if number == 2 {
            expected.extend([("wlan.rsn.akms.type", "4"), ("wlan.rsn.pmkid.count", "1")]);
            expected.extend(TRANSITION);
        }
        expected.extend(WHOLE);
        check(of_kind(data_frame(Some(qos), Some(&msdu))), &expected);
    }
}
