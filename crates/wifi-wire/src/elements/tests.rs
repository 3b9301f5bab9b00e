//! Elements that are read on demand: bytes written by hand from the standard, and wrong lengths.
//! `tests/tshark` lets tshark judge the same elements.

use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;

/// An element with its header.
fn element(id: u8, data: &[u8]) -> Vec<u8> {
    [&[id, data.len() as u8], data].concat()
}

fn rsn(data: &[u8]) -> Result<(Cipher, Vec<Cipher>, Vec<KeyManagement>), Error> {
    let bytes = element(id::RSN, data);
    let rsn = Elements::new(&bytes).rsn()?.unwrap();
    let ciphers = rsn.pairwise_ciphers().collect();
    Ok((rsn.group_cipher(), ciphers, rsn.key_managements().collect()))
}

#[test]
fn wpa2_wpa3_and_owe() {
    use Cipher::{Ccmp128, Tkip};
    let ccmp = [0x00, 0x0f, 0xac, 4];
    let of = |akms: &[u8], capabilities: u16| {
        let count = (akms.len() as u16).to_le_bytes();
        let akms: Vec<u8> = akms.iter().flat_map(|code| [0x00, 0x0f, 0xac, *code]).collect();
        let capabilities = capabilities.to_le_bytes();
        [&[1, 0][..], &ccmp, &[1, 0], &ccmp, &count, &akms, &capabilities].concat()
    };
    let found = |akms: &[u8]| rsn(&of(akms, 0)).unwrap().2;
    assert_eq!(found(&[2]), [KeyManagement::Psk]);
    assert_eq!(found(&[8]), [KeyManagement::Sae]);
    assert_eq!(found(&[2, 8]), [KeyManagement::Psk, KeyManagement::Sae]);
    assert_eq!(found(&[18]), [KeyManagement::Owe]);
    assert_eq!(found(&[24, 25]).iter().filter(|akm| akm.is_sae() && !akm.is_psk()).count(), 2);
    let other = Suite { oui: [0x00, 0x0f, 0xac], code: 99 };
    assert_eq!(found(&[99]), [KeyManagement::Other(other)]);
    let bytes = element(id::RSN, &of(&[8], 0x00c0));
    let read = Elements::new(&bytes).rsn().unwrap().unwrap();
    let protected = Rsn::MANAGEMENT_PROTECTION_REQUIRED | Rsn::MANAGEMENT_PROTECTION_CAPABLE;
    assert_eq!((read.version, read.capabilities), (1, Some(protected)));

    // Mixed: TKIP for the group; a PMKID and a cipher for management frames behind it.
    let mut mixed = [1, 0, 0, 0x0f, 0xac, 2, 2, 0, 0, 0x0f, 0xac, 4, 0, 0x0f, 0xac, 2].to_vec();
    mixed.extend_from_slice(&[1, 0, 0, 0x0f, 0xac, 2, 0x80, 0, 1, 0]);
    mixed.extend_from_slice(&[7; 16]);
    mixed.extend_from_slice(&[0, 0x0f, 0xac, 6]);
    assert_eq!(rsn(&mixed), Ok((Tkip, [Ccmp128, Tkip].to_vec(), [KeyManagement::Psk].to_vec())));
    let bytes = element(id::RSN, &mixed);
    let read = Elements::new(&bytes).rsn().unwrap().unwrap();
    assert_eq!(read.pmkids, [7; 16]);
    assert_eq!(read.group_management.map(Suite::cipher), Some(Cipher::BipCmac128));
    // What is left out has a default.
    assert_eq!(rsn(&[1, 0]), Ok((Ccmp128, [Ccmp128].to_vec(), [KeyManagement::Dot1x].to_vec())));
    assert_eq!(Elements::new(&[]).rsn(), Ok(None));
}

#[test]
fn lies_about_counts() {
    let message = |data: &[u8]| rsn(data).unwrap_err().to_string();
    assert_eq!(message(&[1]), "element: RSN version at offset 2: needs 2 bytes, 1 left");
    assert_eq!(
        message(&[1, 0, 0, 0x0f, 0xac, 4, 0xff, 0xff, 0, 0x0f, 0xac, 4]),
        "element: pairwise ciphers at offset 10: needs 262140 bytes, 4 left"
    );
    assert_eq!(
        message(&[1, 0, 0, 0x0f, 0xac, 4, 0, 0, 1, 0, 0, 0x0f]),
        "element: AKM suites at offset 12: needs 4 bytes, 2 left"
    );
    // A beacon with such an element can be read all the same.
    let bytes = element(id::RSN, &[1, 0, 0]);
    assert!(Elements::parse(&bytes).is_ok());
}

#[test]
fn which_amendments() {
    let mut bytes = element(id::SSID, b"net");
    let mut seen = Vec::new();
    let he = [&[extension::HE_CAPABILITIES][..], &[0; 21]].concat();
    for (id, data) in [
        (id::HT_CAPABILITIES, &[0; 26][..]),
        (id::VHT_CAPABILITIES, &[0; 12]),
        (id::EXTENSION, &he),
        (id::EXTENSION, &[extension::EHT_OPERATION, 0, 0, 0, 0, 0]),
    ] {
        bytes.extend_from_slice(&element(id, data));
        let Amendments { ht, vht, he, eht } = Elements::parse(&bytes).unwrap().amendments();
        seen.push([ht, vht, he, eht].map(u8::from));
    }
    assert_eq!(seen, [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]);
    let elements = Elements::new(&bytes);
    let he = elements.find_extension(extension::HE_CAPABILITIES).unwrap();
    assert_eq!(he.data.len(), 22);
    assert!(elements.find_extension(extension::MULTI_LINK).is_none());
}

#[test]
fn operation_of_vht_he_and_eht() {
    let of = |bytes: &'static [u8]| Elements::new(bytes).iter().next().unwrap().unwrap();
    // Two streams to VHT-MCS 9; 160 MHz.
    let vht = of(&[191, 12, 4, 0, 0, 0, 0xfa, 0xff, 0, 0, 0xfa, 0xff, 0, 0]);
    let vht = VhtCapabilities::parse(&vht).unwrap();
    assert_eq!((vht.rx_streams(), vht.has_160_mhz()), (2, true));
    let widths = [[0, 42, 0], [1, 42, 0], [1, 42, 50], [2, 50, 0], [3, 42, 155]];
    let widths = widths.map(|[width, centre_0, centre_1]| {
        VhtOperation { width, centre_0, centre_1 }.bandwidth_mhz()
    });
    assert_eq!(widths, [None, Some(80), Some(160), Some(160), Some(160)]);

    // Four streams to HE-MCS 11, 160 MHz.
    let he = of(&[
        255, 22, 35, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0xaa, 0xff, 0xaa, 0xff,
    ]);
    let he = HeCapabilities::parse(&he).unwrap();
    assert_eq!((he.mac, he.phy[10]), ([1, 2, 3, 4, 5, 6], 9));
    assert_eq!((he.rx_streams(), he.has_160_mhz()), (4, true));
    // Colour 42; VHT, co-hosted and 6 GHz information: channel 37, 160 MHz.
    let operation = of(&[255, 16, 36, 0, 0xc0, 2, 42, 0xfc, 0xff, 1, 42, 50, 3, 37, 3, 39, 47, 6]);
    let read = HeOperation::parse(&operation).unwrap();
    assert_eq!((read.bss_colour(), read.basic_mcs_map), (Some(42), 0xfffc));
    assert_eq!(read.vht.and_then(|vht| vht.bandwidth_mhz()), Some(160));
    let ghz_6 = read.ghz_6.unwrap();
    assert_eq!((ghz_6.primary, ghz_6.bandwidth_mhz(), ghz_6.minimum_rate), (37, 160, 6));
    let short = Element { data: &operation.data[..12], ..operation };
    assert_eq!(
        HeOperation::parse(&short).unwrap_err().to_string(),
        "element: 6 GHz operation information at offset 13: needs 5 bytes, 1 left"
    );
    assert_eq!(HeOperation { colour: 0xaa, ..read }.bss_colour(), None);

    // 320 MHz, with two channels punctured.
    let eht = of(&[255, 11, 106, 3, 0, 0, 0, 0, 4, 31, 63, 0x30, 0]);
    let eht = EhtOperation::parse(&eht).unwrap();
    assert_eq!((eht.bandwidth_mhz(), eht.disabled_channels), (Some(320), Some(0x30)));
    let eht = EhtOperation::parse(&of(&[255, 6, 106, 0, 0, 0, 0, 0])).unwrap();
    assert_eq!((eht.bandwidth_mhz(), eht.disabled_channels), (None, None));
}

/// IEEE 802.11-2020, tables 9-149 and 9-151: every selector by its code.
#[test]
fn suites_have_their_codes() {
    let suite = |code| Suite { oui: [0x00, 0x0f, 0xac], code };
    let ciphers = [
        (0, Cipher::UseGroup),
        (1, Cipher::Wep40),
        (2, Cipher::Tkip),
        (3, Cipher::Other(suite(3))),
        (4, Cipher::Ccmp128),
        (5, Cipher::Wep104),
        (6, Cipher::BipCmac128),
        (7, Cipher::NoGroupTraffic),
        (8, Cipher::Gcmp128),
        (9, Cipher::Gcmp256),
        (10, Cipher::Ccmp256),
        (11, Cipher::BipGmac128),
        (12, Cipher::BipGmac256),
        (13, Cipher::BipCmac256),
        (14, Cipher::Other(suite(14))),
    ];
    for (code, cipher) in ciphers {
        assert_eq!(suite(code).cipher(), cipher);
    }
    // Whether by a pre-shared key, and whether by SAE.
    let managements = [
        (1, KeyManagement::Dot1x, false, false),
        (2, KeyManagement::Psk, true, false),
        (3, KeyManagement::FtDot1x, false, false),
        (4, KeyManagement::FtPsk, true, false),
        (5, KeyManagement::Dot1xSha256, false, false),
        (6, KeyManagement::PskSha256, true, false),
        (7, KeyManagement::Other(suite(7)), false, false),
        (8, KeyManagement::Sae, false, true),
        (9, KeyManagement::FtSae, false, true),
        (11, KeyManagement::SuiteB, false, false),
        (12, KeyManagement::SuiteB192, false, false),
        (18, KeyManagement::Owe, false, false),
        (24, KeyManagement::SaeGroupDependent, false, true),
        (25, KeyManagement::FtSaeGroupDependent, false, true),
    ];
    for (code, management, psk, sae) in managements {
        assert_eq!(suite(code).key_management(), management);
        assert_eq!((management.is_psk(), management.is_sae()), (psk, sae));
        let vendors = Suite { oui: [0x00, 0x50, 0xf2], code };
        assert_eq!(vendors.key_management(), KeyManagement::Other(vendors));
        assert_eq!(vendors.cipher(), Cipher::Other(vendors));
    }
}

/// Maps of MCS: two bits for each number of streams, 3 for none (9.4.2.157.3).
#[test]
fn streams_and_widths_of_capabilities() {
    for streams in 0..=8 {
        let map = (0xffff_u32 << (2 * streams)) as u16;
        for lower in [0, 0x5555, 0xaaaa] {
            let rx_mcs_map = map | lower & !map;
            let vht = VhtCapabilities { rx_mcs_map, ..VhtCapabilities::default() };
            assert_eq!(vht.rx_streams(), streams);
            assert_eq!(
                HeCapabilities { rx_mcs_map, ..HeCapabilities::default() }.rx_streams(),
                streams
            );
        }
    }
    for (information, has_160_mhz) in [(0, false), (!12, false), (4, true), (8, true), (12, true)] {
        let vht = VhtCapabilities { information, ..VhtCapabilities::default() };
        assert_eq!(vht.has_160_mhz(), has_160_mhz);
    }
    for (octet, has_160_mhz) in [(0, false), (!8, false), (8, true), (0xff, true)] {
        let mut he = HeCapabilities::default();
        he.phy[0] = octet;
        assert_eq!(he.has_160_mhz(), has_160_mhz);
    }
    for (code, mhz) in [(0, 20), (1, 40), (2, 80), (3, 160)] {
        for others in [0, 0xfc] {
            let operation = Ghz6Operation { control: code | others, ..Ghz6Operation::default() };
            assert_eq!(operation.bandwidth_mhz(), mhz);
        }
    }
    for (code, mhz) in [(0, Some(20)), (1, Some(40)), (3, Some(160)), (4, Some(320)), (5, None)] {
        for others in [0, 0xf8] {
            let information = Some([code | others, 0, 0]);
            let operation = EhtOperation { information, ..EhtOperation::default() };
            assert_eq!(operation.bandwidth_mhz(), mhz);
        }
    }
    assert_eq!(EhtOperation::default().bandwidth_mhz(), None);
    for (colour, found) in [(0, Some(0)), (63, Some(63)), (0x7f, Some(63)), (0x80, None)] {
        let operation = HeOperation { colour, ..HeOperation::default() };
        assert_eq!(operation.bss_colour(), found);
    }
}

/// Each bit of the parameters alone determines the presence of its part.
#[test]
fn operation_information_is_there_by_its_bit() {
    let he = |parameters: u32, data: &[u8]| {
        let [a, b, c, _] = parameters.to_le_bytes();
        let bytes = [&[extension::HE_OPERATION, a, b, c, 1, 0xfc, 0xff], data].concat();
        let bytes = element(id::EXTENSION, &bytes);
        HeOperation::parse(&Elements::new(&bytes).iter().next().unwrap().unwrap())
    };
    let data = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let vht = |first| VhtOperation { width: first, centre_0: first + 1, centre_1: first + 2 };
    let primary = |read: HeOperation| read.ghz_6.map(|ghz_6| ghz_6.primary);
    for (parameters, expected_vht, expected_primary) in [
        (0, None, None),
        (1 << 14, Some(vht(1)), None),
        (1 << 15, None, None),
        (1 << 17, None, Some(1)),
        (1 << 14 | 1 << 17, Some(vht(1)), Some(4)),
        (1 << 15 | 1 << 17, None, Some(2)),
        (1 << 14 | 1 << 15 | 1 << 17, Some(vht(1)), Some(5)),
        (0xfd_3fff, None, None),
    ] {
        let read = he(parameters, &data).unwrap();
        assert_eq!((read.vht, primary(read)), (expected_vht, expected_primary), "{parameters:#x}");
        assert_eq!((read.parameters, read.basic_mcs_map), (parameters, 0xfffc));
    }
    assert!(he(1 << 15, &[]).is_err() && he(0, &[]).is_ok());

    let eht = |parameters: u8| {
        let bytes = [extension::EHT_OPERATION, parameters, 0, 0, 0, 0, 4, 31, 63, 0x30, 1];
        let bytes = element(id::EXTENSION, &bytes);
        let read = EhtOperation::parse(&Elements::new(&bytes).iter().next().unwrap().unwrap());
        read.map(|read| (read.information, read.disabled_channels)).unwrap()
    };
    assert_eq!(eht(0), (None, None));
    assert_eq!(eht(1), (Some([4, 31, 63]), None));
    assert_eq!(eht(2), (None, None));
    assert_eq!(eht(3), (Some([4, 31, 63]), Some(0x130)));
    assert_eq!(eht(0xfc), (None, None));
    assert_eq!(eht(0xfd), (Some([4, 31, 63]), None));
}

/// The only element in the written bytes.
fn only(bytes: &[u8]) -> Element<'_> {
    let mut elements = Elements::new(bytes).iter();
    let element = elements.next().expect("there is one").expect("it is whole");
    assert_eq!(elements.next(), None);
    element
}

proptest::proptest! {
    /// Written elements are read back, and are one complete element.
    #[test]
    fn operation_and_capabilities_come_back(
        octets in proptest::array::uniform32(0_u8..),
        map in 0_u16..,
        has_vht in proptest::bool::ANY,
        has_ghz_6 in proptest::bool::ANY,
    ) {
        let three = |at: usize| (octets[at], octets[at + 1], octets[at + 2]);
        let ht = HtOperation {
            primary: octets[0],
            information: core::array::from_fn(|index| octets[1 + index]),
            basic_mcs_set: core::array::from_fn(|index| octets[6 + index]),
        };
        let mut bytes = Vec::new();
        ht.emit(&mut bytes);
        proptest::prop_assert_eq!(HtOperation::parse(&only(&bytes)), Ok(ht));

        let information = u32::from_le_bytes([octets[0], octets[1], octets[2], octets[3]]);
        let vht = VhtCapabilities { information, rx_mcs_map: map, tx_mcs_map: !map };
        bytes.clear();
        vht.emit(&mut bytes);
        proptest::prop_assert_eq!(VhtCapabilities::parse(&only(&bytes)), Ok(vht));

        let (width, centre_0, centre_1) = three(4);
        let operation = VhtOperation { width, centre_0, centre_1 };
        bytes.clear();
        operation.emit(&mut bytes);
        proptest::prop_assert_eq!(VhtOperation::parse(&only(&bytes)), Ok(operation));

        let he = HeCapabilities {
            mac: core::array::from_fn(|index| octets[index]),
            phy: core::array::from_fn(|index| octets[6 + index]),
            rx_mcs_map: map,
            tx_mcs_map: !map,
        };
        bytes.clear();
        he.emit(&mut bytes);
        proptest::prop_assert_eq!(HeCapabilities::parse(&only(&bytes)), Ok(he));
        proptest::prop_assert_eq!(bytes.len(), if he.has_160_mhz() { 28 } else { 24 });

        let (primary, control, minimum_rate) = three(7);
        let ghz_6 = Ghz6Operation { primary, control, centre_0, centre_1, minimum_rate };
        let operation = HeOperation {
            parameters: information & 0x3fff
                | if has_vht { HeOperation::VHT_PRESENT } else { 0 }
                | if has_ghz_6 { HeOperation::GHZ_6_PRESENT } else { 0 },
            colour: octets[10],
            basic_mcs_map: map,
            vht: has_vht.then_some(operation),
            ghz_6: has_ghz_6.then_some(ghz_6),
        };
        bytes.clear();
        operation.emit(&mut bytes);
        proptest::prop_assert_eq!(HeOperation::parse(&only(&bytes)), Ok(operation));
    }
}

/// The map of two streams up to the highest MCS, a third up to the lowest, and no more.
#[test]
fn maps_of_mcss() {
    let map = mcs_map([Some(2), Some(2), Some(0), None, None, None, None, None]);
    assert_eq!(map, 0b1111_1111_1100_1010);
    assert_eq!(mcs_map([Some(0), None, None, None, None, None, None, None]), ONE_STREAM);
    let vht = VhtCapabilities { rx_mcs_map: map, ..VhtCapabilities::default() };
    assert_eq!(vht.rx_streams(), 3);
}

/// A frame of association with FILS: after the FILS Session element is ciphertext (12.11.2.6.2),
/// which looks like an element that exceeds the end.
#[test]
fn ciphertext_behind_a_fils_session_is_not_read() {
    let ssid = element(id::SSID, b"home");
    let session = element(id::EXTENSION, &[extension::FILS_SESSION, 1, 2, 3, 4, 5, 6, 7, 8]);
    let ciphertext = [0x2d, 0xff, 0x9a, 0x31];
    let fils = [&ssid[..], &session, &ciphertext].concat();
    assert!(Elements::parse_association(&fils).is_ok());
    // Before it, without it, and in other frames elements are read.
    for bytes in [[&ssid[..], &ciphertext].concat(), [&ciphertext[..], &session].concat()] {
        assert!(Elements::parse_association(&bytes).is_err());
    }
    assert!(Elements::parse(&fils).is_err());
}
