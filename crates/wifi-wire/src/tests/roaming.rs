//! Frames and elements of roaming: layouts written by hand from the standard, round trips of
//! values, and elements of arbitrary bytes.

use super::*;
use crate::elements::{
    ChannelSwitch, Cipher, Element, Elements, ExtendedCapabilities, ExtendedChannelSwitch,
    FastTransition, KeyManagement, MobilityDomain, NeighborReport, RmEnabledCapabilities, Rsn,
    Subelement, Subelements, Suite, Suites, TimeoutInterval, WrappedGtk, WrappedIgtk,
};
use crate::management::{
    AssociationRequest, AssociationResponse, Authentication, SaeCommit, SaeConfirm,
};

/// One body of each kind and shape; `body` stands for elements that are not checked.
pub fn bodies<'a>(n: u16, wide: u64, body: &'a [u8]) -> Vec<management::Body<'a>> {
    let unchecked = Elements::new(body);
    let (octet, rest) = (n as u8, body);
    let elements = Elements::new(ELEMENTS);
    let request = AssociationRequest { capabilities: n, listen_interval: !n, elements };
    let response = AssociationResponse { capabilities: n, status: !n, aid: n & 0x3fff, elements };
    let termination = action::Termination { timestamp_us: wide, duration_min: n };
    let transition = action::TransitionRequest {
        dialog_token: octet,
        mode: octet & 0b1110_0111,
        disassociation_timer: n,
        validity_interval: !octet,
        termination: None,
        url: None,
        candidates: unchecked,
    };
    let answer = |status, target| action::Repr::TransitionResponse {
        dialog_token: octet,
        status,
        termination_delay_min: !octet,
        target,
        candidates: unchecked,
    };
    let mut bodies = vec![
        management::Body::AssociationRequest(request),
        management::Body::ReassociationRequest { current_ap: HOST, request },
        management::Body::AssociationResponse(response),
        management::Body::ReassociationResponse(response),
        management::Body::Deauthentication { reason: n, elements: unchecked },
        management::Body::Disassociation { reason: n, elements: unchecked },
    ];
    bodies.extend((0..4).map(|algorithm| {
        management::Body::Authentication(Authentication {
            algorithm,
            sequence: n,
            status: !n,
            rest,
        })
    }));
    let actions = [
        action::Repr::ChannelSwitch { elements: unchecked },
        action::Repr::NeighborReportRequest { dialog_token: octet, elements: unchecked },
        action::Repr::NeighborReportResponse { dialog_token: octet, elements: unchecked },
        action::Repr::FtRequest { station: STATION, target: HOST, elements: unchecked },
        action::Repr::FtResponse { station: STATION, target: HOST, status: n, elements: unchecked },
        action::Repr::SaQuery { is_response: false, transaction: n, elements: unchecked },
        action::Repr::SaQuery { is_response: true, transaction: n, elements: unchecked },
        action::Repr::TransitionQuery { dialog_token: octet, reason: 16, candidates: unchecked },
        action::Repr::TransitionRequest(transition),
        action::Repr::TransitionRequest(action::TransitionRequest {
            termination: Some(termination),
            ..transition
        }),
        action::Repr::TransitionRequest(action::TransitionRequest {
            url: Some(body),
            ..transition
        }),
        action::Repr::TransitionRequest(action::TransitionRequest {
            termination: Some(termination),
            url: Some(&BITMAP[..usize::from(octet % 128)]),
            ..transition
        }),
        answer(0, Some(AP)),
        answer(octet.max(1), None),
    ];
    bodies.extend(actions.map(management::Body::Action));
    bodies
}

/// Reads one element in every way; a read element can be written, and then says the same.
pub fn read_element(element: &Element<'_>) -> Result<(), TestCaseError> {
    let inside = |error: Error| {
        prop_assert!(error.offset <= element.offset + 2 + element.data.len(), "{error}");
        Ok(())
    };
    macro_rules! survives {
        ($kind:ident, $emit:expr) => {
            match $kind::parse(element) {
                Ok(it) => {
                    let mut bytes = vec![];
                    $emit(&it, &mut bytes).expect("it was no longer when it was read");
                    let again = Elements::new(&bytes).iter().next().unwrap().unwrap();
                    prop_assert_eq!($kind::parse(&again), Ok(it));
                }
                Err(error) => inside(error)?,
            }
        };
    }
    macro_rules! fixed {
        ($kind:ident) => {
            survives!($kind, |it: &$kind, out: &mut Vec<u8>| -> Result<(), Error> {
                it.emit(out);
                Ok(())
            })
        };
    }
    survives!(Rsn, Rsn::emit);
    survives!(FastTransition, FastTransition::emit);
    survives!(NeighborReport, NeighborReport::emit);
    fixed!(MobilityDomain);
    fixed!(TimeoutInterval);
    fixed!(RmEnabledCapabilities);
    fixed!(ChannelSwitch);
    fixed!(ExtendedChannelSwitch);
    if let Ok(transition) = FastTransition::parse(element) {
        let _ = (transition.r0_key_holder(), transition.r1_key_holder());
        for error in [transition.gtk().err(), transition.igtk().err()].into_iter().flatten() {
            prop_assert!(error.offset <= element.data.len());
        }
    }
    if let Ok(neighbor) = NeighborReport::parse(element) {
        let _ = neighbor.preference();
    }
    let _ = ExtendedCapabilities::from_element(element).has(19);
    Ok(())
}

/// Reads the fields of SAE in an authentication frame.
pub fn read_sae(repr: &Repr<'_>) -> Result<(), TestCaseError> {
    let Repr::Management(management::Repr { body: management::Body::Authentication(it), .. }) =
        repr
    else {
        return Ok(());
    };
    match it.sae_commit() {
        Ok(Some(commit)) => {
            let mut bytes = vec![];
            commit.emit(&mut bytes);
            prop_assert_eq!(&bytes[..], it.rest);
        }
        Ok(None) => {}
        Err(error) => prop_assert!(error.offset <= it.rest.len()),
    }
    match it.sae_confirm() {
        Ok(Some(confirm)) => {
            let mut bytes = vec![];
            confirm.emit(&mut bytes);
            prop_assert_eq!(&bytes[..], it.rest);
        }
        Ok(None) => {}
        Err(error) => prop_assert!(error.offset <= it.rest.len()),
    }
    let _ = it.elements();
    Ok(())
}

/// The only element in the written bytes.
fn only(bytes: &[u8]) -> Element<'_> {
    let mut elements = Elements::new(bytes).iter();
    let element = elements.next().expect("there is one").expect("it is whole");
    assert_eq!(elements.next(), None);
    element
}

fn body(bytes: &str) -> (Vec<u8>, Vec<u8>) {
    let header = "0000 020000000001 020000000002 020000000001 1000";
    let mpdu = [hex(&bytes[..4]), hex(header), hex(&bytes[4..])].concat();
    let repr = parse(&mpdu).unwrap();
    (emit(&repr), mpdu)
}

/// Frames by hand from the figures of 9.3.3 and 9.6, and their values.
#[test]
fn layouts_of_frames() {
    for bytes in [
        // Open System, SAE's confirm, FT with a Mobility Domain.
        "b000 0000 0100 0000",
        "b000 0300 0200 0000 0100 0707070707070707 0707070707070707 0707070707070707 0707070707070707",
        "b000 0200 0200 3500 3603 aabb01",
        // Association and back, reassociation and back.
        "0000 3104 0a00 0004 686f6d65 0108 8c129824b048606c",
        "1000 3104 0000 01c0 0108 8c129824b048606c",
        "2000 3104 0a00 020000000009 0004 686f6d65",
        "3000 3104 1e00 00c0 3805 03 00040000",
        // Deauthentication and disassociation.
        "c000 0300",
        "a000 0800",
        // Channel switch, neighbor report, FT over the DS, SA Query, transition.
        "d000 0004 2503 01 06 05",
        "d000 0504 01",
        "d000 0505 01 340d 020000000009 8f180000 80 24 09",
        "d000 0601 020000000002 020000000009 3603 aabb01",
        "d000 0602 020000000002 020000000009 1c00",
        "d000 0800 3412",
        "d000 0801 3412",
        "d000 0a06 07 10",
        "d000 0a07 07 19 2c01 ff 040a 0102030405060708 0500 03 612e62 340d 020000000009 8f180000 80 24 09",
        "d000 0a08 07 00 00 020000000009",
        "d000 0a08 07 01 00",
    ] {
        let (written, read) = body(bytes);
        assert_eq!(written, read, "{bytes}");
        let repr = parse(&read).unwrap();
        let known = match repr {
            Repr::Management(it) => !matches!(
                it.body,
                management::Body::Other { .. }
                    | management::Body::Action(action::Repr::Other { .. })
            ),
            _ => false,
        };
        assert!(known, "{repr:?}");
    }
    let message = |text: &str| {
        let header = "0000 020000000001 020000000002 020000000001 1000";
        parse(&[hex(&text[..4]), hex(header), hex(&text[4..])].concat()).unwrap_err().to_string()
    };
    assert_eq!(
        message("c000 03"),
        "deauthentication: reason code at offset 24: needs 2 bytes, 1 left"
    );
    assert_eq!(
        message("d000 0a07 07 08 2c01 ff 050a 0102030405060708 0500"),
        "action: BSS termination duration at offset 31: 0x50a, expected subelement 4 of 10 octets"
    );
    assert_eq!(
        message("2000 3104 0a00 0200"),
        "reassociation request: current AP address at offset 28: needs 6 bytes, 2 left"
    );
}

/// SAE with group 19: a token is between group and scalar only without hash-to-element.
#[test]
fn sae_messages_have_their_fields() {
    let (scalar, element) = ([1; 32], [2; 64]);
    fn of(status: u16, rest: &[u8]) -> Authentication<'_> {
        Authentication { algorithm: Authentication::SAE, sequence: 1, status, rest }
    }
    let plain = SaeCommit {
        group: 19,
        token: &[],
        scalar: &scalar,
        element: &element,
        elements: Elements::default(),
    };
    let token = SaeCommit { token: &[9; 32], ..plain };
    let container = [255, 3, 93, 7, 7];
    let hashed = SaeCommit { elements: Elements::new(&container), ..plain };
    let refused = SaeCommit { token: &[9; 32], scalar: &[], element: &[], ..plain };
    for (status, commit) in [(0, plain), (0, token), (126, plain), (126, hashed), (76, refused)] {
        let mut bytes = vec![];
        commit.emit(&mut bytes);
        assert_eq!(of(status, &bytes).sae_commit(), Ok(Some(commit)), "{status}");
        assert_eq!(of(status, &bytes).sae_confirm(), Ok(None));
    }
    let mut bytes = vec![];
    plain.emit(&mut bytes);
    assert_eq!((bytes.len(), &bytes[..3]), (98, &[19, 0, 1][..]));
    assert_eq!(
        of(0, &bytes[..97]).sae_commit().unwrap_err().to_string(),
        "authentication: finite field element at offset 34: needs 64 bytes, 63 left"
    );
    assert_eq!(
        of(0, &[25, 0]).sae_commit().unwrap_err().to_string(),
        "authentication: finite cyclic group at offset 0: 0x19, expected 19, 20 or 21"
    );
    let confirm = SaeConfirm { send_confirm: 1, confirm: &[3; 32] };
    bytes.clear();
    confirm.emit(&mut bytes);
    let frame = Authentication { sequence: 2, ..of(0, &bytes) };
    assert_eq!((bytes.len(), frame.sae_confirm()), (34, Ok(Some(confirm))));
    assert_eq!(frame.sae_commit(), Ok(None));
}

/// IEEE 802.11-2020, 9.4.2.24, figures of examples: an element that ends after any field, and its
/// absent fields before the end as defaults.
#[test]
fn rsn_is_written_to_its_last_field() {
    let written = |rsn: Rsn<'_>| {
        let mut bytes = vec![];
        rsn.emit(&mut bytes).unwrap();
        bytes
    };
    let none = Rsn {
        version: 1,
        group: None,
        pairwise: None,
        akms: None,
        capabilities: None,
        pmkids: &[],
        group_management: None,
    };
    assert_eq!(written(none), hex("30 02 0100"));
    let ccmp = Some(Cipher::Ccmp128.suite());
    let (pairwise, akm) = (Suite::ieee(4).to_bytes(), KeyManagement::FtSae.suite().to_bytes());
    let psk = KeyManagement::Psk.suite().to_bytes();
    let usual = Rsn {
        group: ccmp,
        pairwise: Some(Suites::new(&pairwise)),
        akms: Some(Suites::new(&psk)),
        capabilities: Some(0),
        ..none
    };
    assert_eq!(written(usual), hex("30 14 0100 000fac04 0100 000fac04 0100 000fac02 0000"));
    let protected = Rsn {
        akms: Some(Suites::new(&akm)),
        capabilities: Some(Rsn::MANAGEMENT_PROTECTION_CAPABLE),
        pmkids: &[7; 16],
        group_management: Some(Cipher::BipCmac128.suite()),
        ..usual
    };
    assert_eq!(
        written(protected),
        hex("30 2a 0100 000fac04 0100 000fac04 0100 000fac09 8000 0100
             07070707070707070707070707070707 000fac06")
    );
    // Only the last field: defaults before it.
    let last = Rsn { group_management: Some(Suite::ieee(6)), ..none };
    assert_eq!(
        written(last),
        hex("30 1a 0100 000fac04 0100 000fac04 0100 000fac01 0000 0000 000fac06")
    );
    let long = [0; 256];
    let mut bytes = vec![];
    assert!(Rsn { pmkids: &long, ..none }.emit(&mut bytes).is_err() && bytes.is_empty());
    for code in 0..=255 {
        let suite = Suite::ieee(code);
        assert_eq!((suite.cipher().suite(), suite.key_management().suite()), (suite, suite));
    }
}

/// Elements by hand from their figures (9.4.2.18 to 9.4.2.52), and the bits that have names.
#[test]
fn layouts_of_elements() {
    let mut bytes = vec![];
    MobilityDomain { domain: 0xbbaa, over_ds: true, resource_request: false }.emit(&mut bytes);
    TimeoutInterval { kind: TimeoutInterval::ASSOCIATION_COMEBACK, value: 1024 }.emit(&mut bytes);
    ChannelSwitch { mode: 1, channel: 44, count: 5 }.emit(&mut bytes);
    let operating_class = 128;
    ExtendedChannelSwitch { mode: 1, operating_class, channel: 44, count: 5 }.emit(&mut bytes);
    let measured = [RmEnabledCapabilities::NEIGHBOR_REPORT, RmEnabledCapabilities::BEACON_TABLE];
    RmEnabledCapabilities::with(&measured).emit(&mut bytes);
    let octets: [u8; 8] = ExtendedCapabilities::octets(&[19, 62, 64]);
    ExtendedCapabilities(&octets).emit(&mut bytes).unwrap();
    let mut subelements = vec![];
    Subelement { id: NeighborReport::CANDIDATE_PREFERENCE, data: &[255] }
        .emit(&mut subelements)
        .unwrap();
    let neighbor = NeighborReport {
        bssid: HOST,
        information: NeighborReport::REACHABLE | NeighborReport::HIGH_THROUGHPUT,
        operating_class: 115,
        channel: 36,
        phy: 7,
        subelements: Subelements::new(&subelements),
    };
    neighbor.emit(&mut bytes).unwrap();
    assert_eq!(
        bytes,
        hex("36 03 aabb 01  38 05 03 00040000  25 03 01 2c 05  3c 04 01 80 2c 05
             46 05 42 00000000  7f 08 0000080000000040
             34 10 020000000003 03080000 73 24 07 03 01 ff")
    );
    let elements = Elements::parse(&bytes).unwrap();
    let found = |id| elements.find(id).unwrap();
    let read = RmEnabledCapabilities::parse(&found(elements::id::RM_ENABLED_CAPABILITIES)).unwrap();
    assert_eq!([1, 4, 6, 40].map(|bit| read.has(bit)), [true, false, true, false]);
    let read = ExtendedCapabilities::from_element(&found(elements::id::EXTENDED_CAPABILITIES));
    assert_eq!([18, 19, 62, 64].map(|bit| read.has(bit)), [false, true, true, false]);
    let read = NeighborReport::parse(&found(elements::id::NEIGHBOR_REPORT)).unwrap();
    assert_eq!((read, read.preference()), (neighbor, Some(255)));
}

#[test]
fn transition_elements_have_their_keys() {
    let mut parameters = vec![];
    for (id, data) in
        [(FastTransition::R1_KEY_HOLDER, &HOST.0[..]), (FastTransition::R0_KEY_HOLDER, b"ap1")]
    {
        Subelement { id, data }.emit(&mut parameters).unwrap();
    }
    let gtk = WrappedGtk { id: 1, length: 16, receive_sequence: [5; 8], key: &[6; 24] };
    let igtk = WrappedIgtk { id: 4, packet_number: [7; 6], length: 16, key: &[8; 24] };
    gtk.emit(&mut parameters).unwrap();
    igtk.emit(&mut parameters).unwrap();
    let transition = FastTransition {
        rsnx_used: false,
        element_count: 3,
        mic: &[1; 16],
        anonce: [2; 32],
        snonce: [3; 32],
        parameters: Subelements::new(&parameters),
    };
    let mut bytes = vec![];
    transition.emit(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 2 + 82 + 8 + 5 + 37 + 35);
    assert_eq!(bytes[..5], [55, 167, 0, 3, 1]);
    let read = FastTransition::parse(&only(&bytes)).unwrap();
    assert_eq!(read, transition);
    assert_eq!((read.r0_key_holder(), read.r1_key_holder()), (Some(&b"ap1"[..]), Some(HOST)));
    assert_eq!((read.gtk(), read.igtk()), (Ok(Some(gtk)), Ok(Some(igtk))));
    // MICs of 24 and 32 octets have the codes 1 and 2.
    for (length, code) in [(24, 2), (32, 4)] {
        let mic = vec![1; length];
        bytes.clear();
        let long = FastTransition { mic: &mic, rsnx_used: true, ..transition };
        long.emit(&mut bytes).unwrap();
        assert_eq!((bytes[2], FastTransition::parse(&only(&bytes))), (code | 1, Ok(long)));
    }
    bytes[2] = 6;
    assert_eq!(
        FastTransition::parse(&only(&bytes)).unwrap_err().to_string(),
        "element: MIC length at offset 2: 0x3, expected 0 to 2"
    );
    bytes.clear();
    assert!(FastTransition { mic: &[1; 20], ..transition }.emit(&mut bytes).is_err());
    assert!(bytes.is_empty());
}

proptest! {
    #[test]
    fn elements_of_any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200)) {
        let element = Element { id: 0, offset: 0, data: &data };
        read_element(&element)?;
        let mut count = 0;
        for subelement in Subelements::new(&data).iter() {
            count += 2 + subelement.data.len();
        }
        prop_assert!(count <= data.len());
    }

    #[test]
    fn sae_of_any_bytes_is_read_or_refused(
        group in 18u16..23, status: prop::sample::Index, sequence in 1u16..3,
        data in prop::collection::vec(any::<u8>(), 0..240),
    ) {
        let status = [0, 1, 76, 77, 126, 127][status.index(6)];
        let mut mpdu = hex("b000 0000 020000000001 020000000002 020000000001 1000 0300");
        for field in [sequence, status, group] {
            mpdu.extend_from_slice(&field.to_le_bytes());
        }
        mpdu.extend_from_slice(&data);
        read_sae(&parse(&mpdu).unwrap())?;
    }
}
