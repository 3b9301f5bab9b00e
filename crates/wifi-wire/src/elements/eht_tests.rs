//! Elements of 802.11be: layouts written by hand from the standard, round trips of values, and
//! elements of any bytes.

use super::*;
use alloc::vec;
use lasthop_units::{Duration, MacAddr};
use proptest::prelude::*;

const LINK: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x10]);
const DEVICE: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x20]);

fn first(bytes: &[u8]) -> Element<'_> {
    Elements::new(bytes).iter().next().expect("there is one").expect("it is whole")
}

/// 9.4.2.322.2: a Basic element with everything up to MLD capabilities, and one complete profile.
#[test]
fn a_basic_element_has_its_octets() {
    let profile = StationProfile {
        link_id: 1,
        complete: true,
        address: Some(LINK),
        beacon_interval_tu: Some(100),
        tsf_offset_us: Some(-2),
        dtim: Some((1, 3)),
        nstr_links: Some(4),
        change_count: Some(9),
        later_bits: 0,
        later: &[],
        profile: &[0x11, 0x04, 0, 1, b'x'],
    };
    let mut links = vec![];
    profile.emit(&mut links);
    let link = [
        0, 30, 0xf1, 0x0b, 21, 2, 0, 0, 0, 0, 0x10, 100, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 1, 3, 4, 9, 0x11, 0x04, 0, 1, b'x',
    ];
    assert_eq!(links[2..], link[2..]);
    assert_eq!(links[1], link.len() as u8 - 2);
    let eml = EmlCapabilities::emlsr(
        Duration::from_micros(60),
        Duration::from_micros(128),
        Duration::from_micros(2 * 1024),
    );
    let common = BasicMultiLink {
        address: DEVICE,
        link_id: Some(2),
        change_count: Some(7),
        medium_sync_delay: Some(MediumSyncDelay::DEFAULT),
        eml: Some(eml),
        mld: Some(MldCapabilities::with_links(3).with_link_mapping(1)),
        mld_id: None,
        extended: None,
    };
    let mut bytes = vec![];
    MultiLink::basic(common, &links).emit(&mut bytes);
    let head = [255, 0, 107, 0xf0, 0x01, 15, 2, 0, 0, 0, 0, 0x20, 2, 7, 0xac, 0x10, 0x45, 0x28];
    assert_eq!(bytes[2..head.len()], head[2..]);
    assert_eq!(bytes[head.len()..], [&[0x22, 0x00][..], &links].concat());
    assert_eq!(usize::from(bytes[1]), bytes.len() - 2);
    let data = Elements::new(&bytes).whole_extensions(extension::MULTI_LINK).next().expect("one");
    let read = MultiLink::parse(&data).expect("it was written");
    assert_eq!(read, MultiLink::basic(common, &links));
    let profiles: Vec<_> = read.profiles().collect();
    assert_eq!(profiles.len(), 1);
    assert_eq!(StationProfile::parse(&profiles[0]), Ok(profile));
    assert_eq!(read.address(), Some(DEVICE));
}

/// Tables 9-417i, 9-417j and 9-417m, as Linux decodes them (`ieee80211_emlsr_pad_delay_in_us` and
/// others).
#[test]
fn delays_of_eml_have_their_codes() {
    let us = Duration::from_micros;
    let paddings = [0, 32, 64, 128, 256].map(us);
    let transitions = [0, 16, 32, 64, 128, 256].map(us);
    let timeouts = [0, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072].map(us);
    for code in 0..16_u16 {
        let at = |shift| EmlCapabilities(code << shift);
        let find = |all: &[Duration], mask: u16| all.get(usize::from(code & mask)).copied();
        assert_eq!(at(1).padding_delay(), find(&paddings, 7));
        assert_eq!(at(4).transition_delay(), find(&transitions, 7));
        assert_eq!(at(8).emlmr_delay(), find(&paddings, 7));
        assert_eq!(at(11).transition_timeout(), find(&timeouts, 15));
    }
    for padding in paddings {
        for transition in transitions {
            for timeout in timeouts {
                let eml = EmlCapabilities::emlsr(padding, transition, timeout);
                assert!(eml.has_emlsr() && !eml.has_emlmr());
                assert_eq!(eml.padding_delay(), Some(padding));
                assert_eq!(eml.transition_delay(), Some(transition));
                assert_eq!(eml.transition_timeout(), Some(timeout));
            }
        }
    }
    let most = EmlCapabilities::emlsr(us(300), us(300), us(200_000));
    assert_eq!(most.padding_delay(), Some(us(256)));
    let delay = MediumSyncDelay::DEFAULT;
    assert_eq!((delay.duration(), delay.threshold_dbm()), (us(5504), -72));
    assert_eq!((delay.txops(), MediumSyncDelay(0xf000).txops()), (Some(1), None));
}

/// The set has the length that Linux computes (`ieee80211_eht_mcs_nss_size`).
#[test]
fn sets_of_mcs_are_as_long_as_in_linux() {
    for bits in 0..8_u8 {
        for at_320 in [false, true] {
            for from_ap in [false, true] {
                let mut he = HeCapabilities::default();
                he.phy[0] = bits << 1;
                let widths = [bits >> 1 & 1 == 1, bits >> 2 & 1 == 1, at_320];
                let number = 3 * widths.into_iter().filter(|is_there| *is_there).count();
                let linux = match (bits & 1, number) {
                    (1, _) => 3,
                    (_, 0) if from_ap => 3,
                    (_, 0) => 4,
                    (_, number) => number,
                };
                let bit = if at_320 { &[EhtCapabilities::WIDTH_320_MHZ][..] } else { &[] };
                let eht = EhtCapabilities {
                    mac: [0; 2],
                    phy: EhtCapabilities::phy_with(bit),
                    rest: &[0x12; 12],
                };
                let (set, behind) = eht.mcs_set(&he, from_ap).expect("it is long enough");
                assert_eq!(behind.len(), 12 - linux);
                let mut written = vec![];
                set.emit(&mut written);
                assert_eq!(written, [0x12; 12][..linux]);
                let short = EhtCapabilities { rest: &[0x12; 12][..linux - 1], ..eht };
                assert!(short.mcs_set(&he, from_ap).is_err());
            }
        }
    }
    let map = EhtMcsMap::up_to(11, 2);
    let set = EhtMcsSet::Wide { up_to_80: Some(map), at_160: None, at_320: Some(map) };
    let streams = |mcs, width| set.rx_streams(mcs, width);
    assert_eq!([streams(9, 20), streams(11, 80), streams(12, 80)], [2, 2, 0]);
    assert_eq!([streams(9, 160), streams(10, 320), map.tx_streams(13)], [0, 2, 0]);
    let only = EhtMcsSet::Only20([1, 2, 3, 4]);
    assert_eq!([7, 8, 11, 13, 14].map(|mcs| only.rx_streams(mcs, 20)), [1, 2, 3, 4, 0]);
}

/// Thresholds of two streams in three sizes: six bits each after nine (figure 9-1001ae).
#[test]
fn thresholds_are_found_by_streams_and_unit() {
    // NSS 1 (two streams), units 0, 2 and 3; then (1, 2), (3, 4), (5, 6), (7, 0), (1, 3), (5, 7).
    let pairs = [(1, 2), (3, 4), (5, 6), (7, 0), (1, 3), (5, 7_u64)];
    let mut bits = 1 | 0b01101 << 4;
    for (index, (most, eight)) in pairs.into_iter().enumerate() {
        bits |= (most | eight << 3) << (9 + 6 * index);
    }
    let octets = bits.to_le_bytes();
    let rest = [&[0x11; 3][..], &octets[..6], &[0xee]].concat();
    let mut he = HeCapabilities::default();
    he.phy[0] = 4;
    let phy = EhtCapabilities::phy_with(&[EhtCapabilities::PPE_THRESHOLDS]);
    let eht = EhtCapabilities { mac: [0; 2], phy, rest: &rest };
    let ppe = eht.ppe_thresholds(&he, true).expect("it is whole").expect("it is there");
    assert_eq!(ppe.as_bytes(), &octets[..6]);
    assert_eq!((ppe.streams(), ppe.units()), (2, 0b01101));
    let found: Vec<_> = (1..=2).flat_map(|n| [0, 2, 3].map(|unit| ppe.pair(n, unit))).collect();
    assert_eq!(found, pairs.map(|(most, eight)| Some((most as u8, eight as u8))));
    assert_eq!([ppe.pair(0, 0), ppe.pair(3, 0), ppe.pair(1, 1), ppe.pair(1, 5)], [None; 4]);
    let short = EhtCapabilities { rest: &rest[..8], ..eht };
    assert!(short.ppe_thresholds(&he, true).is_err());
}

/// 9.4.2.170 with the MLD parameters of IEEE 802.11be-2024, and lengths before it.
#[test]
fn neighbors_have_the_parts_of_their_length() {
    let info = TbttInfo {
        offset_tu: Some(3),
        bssid: Some(LINK),
        short_ssid: Some(0xaabb_ccdd),
        bss_parameters: Some(0x41),
        psd: Some(0xfe),
        mld: Some(MldParameters {
            mld_id: 0,
            link_id: 1,
            change_count: 0x92,
            all_updates_included: true,
            disabled: false,
        }),
    };
    let mut fields = vec![];
    NeighborChannel::emit(131, 37, &[info], &mut fields);
    let expected = [
        0x00, 16, 131, 37, 3, 2, 0, 0, 0, 0, 0x10, 0xdd, 0xcc, 0xbb, 0xaa, 0x41, 0xfe, 0, 0x21,
        0x19,
    ];
    assert_eq!(fields, expected);
    NeighborChannel::emit(115, 36, &[TbttInfo { mld: None, ..info }; 2], &mut fields);
    // MLD parameters alone, two access points.
    fields.extend_from_slice(&[0x11, 3, 81, 6, 1, 2, 3, 4, 5, 0x36]);
    // A length that is reserved, and one of a later amendment.
    fields.extend_from_slice(&[0, 3, 81, 1, 1, 2, 3]);
    fields.extend_from_slice(&[0, 18, 81, 11]);
    fields.extend_from_slice(&[7; 18]);
    let mut bytes = vec![];
    ReducedNeighborReport::emit(&fields, &mut bytes).expect("it is short");
    let report = ReducedNeighborReport::parse(&first(&bytes)).expect("it is whole");
    assert_eq!(report.as_bytes(), fields);
    let short = Element { data: &bytes[2..bytes.len() - 1], ..first(&bytes) };
    assert!(ReducedNeighborReport::parse(&short).is_err());
    let channels: Vec<_> = report.channels().collect();
    let numbers: Vec<_> = channels.iter().map(|it| (it.kind, it.channel, it.length)).collect();
    assert_eq!(numbers, [(0, 37, 16), (0, 36, 13), (1, 6, 3), (0, 1, 3), (0, 11, 18)]);
    let of = |n: usize| channels[n].access_points().collect::<Vec<_>>();
    assert_eq!(of(0), [info]);
    assert_eq!(of(1), [TbttInfo { mld: None, ..info }; 2]);
    let mld = of(2).into_iter().map(|it| it.mld.map(|mld| (mld.mld_id, mld.link_id, mld.disabled)));
    assert_eq!(mld.collect::<Vec<_>>(), [Some((1, 2, false)), Some((4, 5, true))]);
    assert_eq!(of(3), [TbttInfo::default()]);
    assert_eq!(of(4)[0].mld.map(|mld| mld.link_id), Some(7));
    for length in [1, 2, 5, 6, 7, 8, 9, 11, 12, 13] {
        let mut fields = vec![0, length, 81, 1];
        fields.extend((1..=length).collect::<Vec<u8>>());
        let mut bytes = vec![];
        ReducedNeighborReport::emit(&fields, &mut bytes).expect("it is short");
        let report = ReducedNeighborReport::parse(&first(&bytes)).expect("it is whole");
        let channel = report.channels().next().expect("one");
        let it = channel.access_points().next().expect("one");
        let octets = 1
            + it.bssid.map_or(0, |_| 6)
            + it.short_ssid.map_or(0, |_| 4)
            + it.bss_parameters.map_or(0, |_| 1)
            + it.psd.map_or(0, |_| 1);
        assert_eq!((it.offset_tu, octets), (Some(1), length));
    }
}

fn profiles() -> impl Strategy<Value = (u8, [Option<u64>; 7], u16, Vec<u8>, Vec<u8>)> {
    (
        0_u8..16,
        proptest::array::uniform7(proptest::option::of(any::<u64>())),
        any::<u16>(),
        prop::collection::vec(any::<u8>(), 0..9),
        prop::collection::vec(any::<u8>(), 0..600),
    )
}

proptest! {
    /// Elements of any length come back, in fragments or not.
    #[test]
    fn multi_link_elements_come_back(
        values in proptest::array::uniform7(proptest::option::of(any::<u16>())),
        kind in 0_u8..8,
        later_bits in any::<u16>(),
        later in prop::collection::vec(any::<u8>(), 0..20),
        (link_id, parts, bits, more, body) in profiles(),
        complete in any::<bool>(),
        again in 1_usize..4,
    ) {
        let octets = parts.map(|part| part.map(u64::to_le_bytes));
        let profile = StationProfile {
            link_id,
            complete,
            address: octets[0].map(|[a, b, c, d, e, f, ..]| MacAddr([a, b, c, d, e, f])),
            beacon_interval_tu: parts[1].map(|part| part as u16),
            tsf_offset_us: parts[2].map(|part| part as i64),
            dtim: octets[3].map(|[a, b, ..]| (a, b)),
            nstr_links: parts[4].filter(|_| complete).map(|part| part as u16 & bits),
            change_count: octets[5].map(|[a, ..]| a),
            later_bits: bits & 0xf000,
            later: &more,
            profile: &body,
        };
        let change = LinkChange {
            link_id,
            complete,
            operation: (bits & 15) as u8,
            address: profile.address,
            removal_beacons: profile.beacon_interval_tu,
            later_bits: bits & 0xf800,
            later: &more,
            profile: &body,
        };
        let mut links = vec![];
        let probe = LinkProbe { link_id, complete, later_bits: bits & 0xffe0, profile: &body };
        for _ in 0..again {
            profile.emit(&mut links);
            probe.emit(&mut links);
            change.emit(&mut links);
        }
        let eml = values[2].map(EmlCapabilities);
        let mld = values[3].map(MldCapabilities);
        let common = match kind {
            0 => MultiLinkCommon::Basic(BasicMultiLink {
                address: DEVICE,
                link_id: values[0].map(|value| value as u8),
                change_count: values[1].map(|value| value as u8),
                medium_sync_delay: values[4].map(MediumSyncDelay),
                eml,
                mld,
                mld_id: values[5].map(|value| value as u8),
                extended: values[6],
            }),
            1 => MultiLinkCommon::ProbeRequest { mld_id: values[0].map(|value| value as u8) },
            2 => MultiLinkCommon::Reconfiguration {
                address: values[0].map(|_| LINK),
                eml,
                mld,
                extended: values[1],
            },
            kind => MultiLinkCommon::Other { kind },
        };
        let known = match kind {
            0 => 0x07f7,
            1 => 0x0017,
            2 => 0x00f7,
            _ => 7,
        };
        let is_other = kind > 2;
        let element = MultiLink {
            common,
            later_bits: later_bits & !known,
            later: &later,
            links: if is_other { &[] } else { &links },
        };
        let mut bytes = vec![];
        element.emit(&mut bytes);
        bytes.extend_from_slice(&[0, 2, b'h', b'i']);
        let elements = Elements::new(&bytes);
        let whole: Vec<_> = elements.whole_extensions(extension::MULTI_LINK).collect();
        prop_assert_eq!(whole.len(), 1);
        prop_assert_eq!(elements.ssid(), Some(&b"hi"[..]));
        let read = MultiLink::parse(&whole[0]);
        prop_assert_eq!(read, Ok(element));
        if !is_other {
            let found: Vec<_> = element.profiles().collect();
            prop_assert_eq!(found.len(), 3 * again);
            prop_assert_eq!(LinkProbe::parse(&found[1]), Ok(probe));
            prop_assert_eq!(StationProfile::parse(&found[0]), Ok(profile));
            prop_assert_eq!(LinkChange::parse(&found[3 * again - 1]), Ok(change));
        }
    }

    #[test]
    fn other_elements_of_eht_come_back(
        links in proptest::array::uniform8(proptest::option::of(any::<u16>())),
        has_links in any::<bool>(),
        short in any::<bool>(),
        direction in 0_u8..4,
        switch_time_tu in proptest::option::of(any::<u16>()),
        expected_duration_tu in proptest::option::of(0_u32..1 << 24),
        bits in 1_u8..=16,
        aid_offset in 0_u16..2048,
        octets in prop::collection::vec(any::<u8>(), 0..200),
        information in proptest::option::of(any::<[u8; 3]>()),
        disabled in proptest::option::of(any::<u16>()),
    ) {
        let links = links.map(|links| links.map(|links| if short { links & 0xff } else { links }));
        let mapping = TidToLink {
            direction,
            switch_time_tu,
            expected_duration_tu,
            links: has_links.then_some(links),
        };
        let mut bytes = vec![];
        mapping.emit(&mut bytes);
        prop_assert_eq!(TidToLink::parse(&first(&bytes)), Ok(mapping));
        for tid in 0..8 {
            let expected = if has_links { links[usize::from(tid)] } else { None };
            prop_assert_eq!(mapping.links_of(tid), expected);
        }

        let traffic = LinkTraffic { links: bits, aid_offset, bitmaps: &octets };
        bytes.clear();
        traffic.emit(&mut bytes).expect("it is short");
        prop_assert_eq!(LinkTraffic::parse(&first(&bytes)), Ok(traffic));
        let stations = octets.len() * 8 / usize::from(bits);
        prop_assert!(stations == 0 || traffic.links_of(stations - 1).is_some());
        prop_assert_eq!(traffic.links_of(stations), None);

        let capabilities =
            EhtCapabilities { mac: [direction, bits], phy: [bits; 9], rest: &octets };
        bytes.clear();
        capabilities.emit(&mut bytes).expect("it is short");
        prop_assert_eq!(EhtCapabilities::parse(&first(&bytes)), Ok(capabilities));

        let operation = EhtOperation {
            parameters: bits << 2 | u8::from(information.is_some())
                | u8::from(information.is_some() && disabled.is_some()) << 1,
            basic_mcs_set: [bits; 4],
            information,
            disabled_channels: disabled.filter(|_| information.is_some()),
        };
        bytes.clear();
        operation.emit(&mut bytes);
        prop_assert_eq!(EhtOperation::parse(&first(&bytes)), Ok(operation));
    }

    /// Any bytes are read or refused, and an accepted element is equal after another reading.
    #[test]
    fn elements_of_any_bytes_are_read_or_refused(
        number in 106_u8..112,
        data in prop::collection::vec(any::<u8>(), 0..120),
        phy_0 in any::<u8>(),
        from_ap in any::<bool>(),
    ) {
        let mut he = HeCapabilities::default();
        he.phy[0] = phy_0;
        let bytes = [&[255, data.len() as u8 + 1, number], &data[..]].concat();
        let element = first(&bytes);
        if let Ok(read) = MultiLink::parse(&data) {
            let mut again = vec![];
            read.emit(&mut again);
            let whole = Elements::new(&again).whole_extensions(extension::MULTI_LINK).next();
            let whole = whole.expect("it was written");
            prop_assert_eq!(MultiLink::parse(&whole), Ok(read));
            for profile in read.profiles() {
                if let Ok(read) = StationProfile::parse(&profile) {
                    let mut again = vec![];
                    read.emit(&mut again);
                    prop_assert_eq!(StationProfile::parse(&again[2..]), Ok(read));
                }
                if let Ok(read) = LinkChange::parse(&profile) {
                    let mut again = vec![];
                    read.emit(&mut again);
                    prop_assert_eq!(LinkChange::parse(&again[2..]), Ok(read));
                }
            }
        }
        if let Ok(read) = EhtCapabilities::parse(&element) {
            let _ = read.mcs_set(&he, from_ap);
            if let Ok(Some(ppe)) = read.ppe_thresholds(&he, from_ap) {
                for unit in 0..=5 {
                    prop_assert_eq!(
                        ppe.pair(ppe.streams(), unit).is_some(),
                        unit < 5 && ppe.units() >> unit & 1 == 1
                    );
                }
            }
        }
        if let Ok(read) = TidToLink::parse(&element) {
            let mut again = vec![];
            read.emit(&mut again);
            prop_assert_eq!(TidToLink::parse(&first(&again)), Ok(read));
        }
        if let Ok(read) = LinkTraffic::parse(&element) {
            let _ = read.links_of(usize::from(phy_0));
        }
        if let Ok(read) = ReducedNeighborReport::parse(&Element { data: &data, ..element }) {
            for channel in read.channels() {
                prop_assert!(channel.access_points().count() <= 16 || channel.length == 0);
            }
        }
    }
}
