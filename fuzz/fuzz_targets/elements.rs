//! Reads information elements from any bytes. Accepted elements can be written, and are equal after
//! another reading.
#![no_main]

use lasthop_wifi_wire::Error;
use lasthop_wifi_wire::elements::{
    ChannelSwitch, EhtCapabilities, EhtOperation, Element, Elements, ExtendedCapabilities,
    ExtendedChannelSwitch, FastTransition, HeCapabilities, HeOperation, LinkChange, LinkProbe,
    LinkTraffic, MobilityDomain, MultiLink, NeighborReport, ReducedNeighborReport, Repr,
    RmEnabledCapabilities, Rsn, StationProfile, TidToLink, TimeoutInterval, VhtCapabilities,
    VhtOperation, extension,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let inside = |error: Error| assert!(error.offset <= bytes.len());
    for element in Elements::new(bytes).iter().map_while(Result::ok) {
        // Read on demand.
        match Rsn::parse(&element) {
            Ok(rsn) => {
                let _ = (rsn.pairwise_ciphers().count(), rsn.key_managements().count());
                written(|out| rsn.emit(out), |again| assert_eq!(Rsn::parse(again), Ok(rsn)));
            }
            Err(error) => inside(error),
        }
        match FastTransition::parse(&element) {
            Ok(it) => {
                let _ = (it.r0_key_holder(), it.r1_key_holder(), it.gtk(), it.igtk());
                written(
                    |out| it.emit(out),
                    |again| {
                        assert_eq!(FastTransition::parse(again), Ok(it));
                    },
                );
            }
            Err(error) => inside(error),
        }
        match NeighborReport::parse(&element) {
            Ok(it) => {
                let _ = (it.preference(), it.subelements.iter().count());
                written(
                    |out| it.emit(out),
                    |again| {
                        assert_eq!(NeighborReport::parse(again), Ok(it));
                    },
                );
            }
            Err(error) => inside(error),
        }
        MobilityDomain::parse(&element).map_or_else(inside, drop);
        TimeoutInterval::parse(&element).map_or_else(inside, drop);
        ChannelSwitch::parse(&element).map_or_else(inside, drop);
        ExtendedChannelSwitch::parse(&element).map_or_else(inside, drop);
        RmEnabledCapabilities::parse(&element).map_or_else(inside, drop);
        let _ = ExtendedCapabilities::from_element(&element).has(19);
        VhtCapabilities::parse(&element).map_or_else(inside, drop);
        VhtOperation::parse(&element).map_or_else(inside, drop);
        HeCapabilities::parse(&element).map_or_else(inside, drop);
        HeOperation::parse(&element).map_or_else(inside, drop);
        EhtOperation::parse(&element).map_or_else(inside, drop);
        of_eht(&element);
    }
    for data in Elements::new(bytes).whole_extensions(extension::MULTI_LINK) {
        multi_link(&data);
    }
    let _ = Elements::new(bytes).amendments();
    for element in Elements::new(bytes) {
        match element.and_then(|element| Repr::parse(&element)) {
            Ok(repr) => {
                let mut again = Vec::new();
                repr.emit(&mut again).expect("it was no longer when it was read");
                assert_eq!(again.len(), repr.buffer_len());
                let read = Elements::new(&again).iter().next().expect("one was written");
                assert_eq!(read.and_then(|element| Repr::parse(&element)), Ok(repr));
            }
            Err(error) => assert!(error.offset <= bytes.len()),
        }
    }
});

/// Reads the other elements of 802.11be.
fn of_eht(element: &Element<'_>) {
    if let Ok(it) = EhtCapabilities::parse(element) {
        for phy in [0, 2, 4, 12] {
            let mut he = HeCapabilities::default();
            he.phy[0] = phy;
            let _ = it.mcs_set(&he, true);
            if let Ok(Some(thresholds)) = it.ppe_thresholds(&he, false) {
                let _ = thresholds.pair(thresholds.streams(), 4);
            }
        }
        written(|out| it.emit(out), |again| assert_eq!(EhtCapabilities::parse(again), Ok(it)));
    }
    if let Ok(it) = TidToLink::parse(element) {
        let emit = |out: &mut Vec<u8>| {
            it.emit(out);
            Ok(())
        };
        written(emit, |again| assert_eq!(TidToLink::parse(again), Ok(it)));
    }
    if let Ok(it) = LinkTraffic::parse(element) {
        let _ = (it.links_of(0), it.links_of(2_007));
        if it.bitmaps.len() <= 252 {
            written(|out| it.emit(out), |again| assert_eq!(LinkTraffic::parse(again), Ok(it)));
        }
    }
    if let Ok(it) = ReducedNeighborReport::parse(element) {
        let _ = it.channels().map(|channel| channel.access_points().count()).sum::<usize>();
    }
}

/// Reads the information of a Multi-Link element, writes it, and reads it again.
fn multi_link(data: &[u8]) {
    let it = match MultiLink::parse(data) {
        Ok(it) => it,
        Err(error) => return assert!(error.offset <= data.len()),
    };
    let mut again = Vec::new();
    it.emit(&mut again);
    let whole = Elements::new(&again).whole_extensions(extension::MULTI_LINK).next();
    assert_eq!(MultiLink::parse(&whole.expect("it was written")), Ok(it));
    for profile in it.profiles() {
        let inside = |error: Error| assert!(error.offset <= profile.len());
        StationProfile::parse(&profile).map_or_else(inside, drop);
        LinkProbe::parse(&profile).map_or_else(inside, drop);
        LinkChange::parse(&profile).map_or_else(inside, drop);
    }
}

/// Writes an element that was read, and reads it again.
fn written(emit: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>, check: impl FnOnce(&Element<'_>)) {
    let mut bytes = Vec::new();
    emit(&mut bytes).expect("it was no longer when it was read");
    let again = Elements::new(&bytes).iter().next().expect("one was written");
    check(&again.expect("it is whole"));
}
