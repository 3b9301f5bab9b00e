//! Reads information elements from any bytes. Accepted elements can be written, and are equal after
//! another reading.
#![no_main]

use lasthop_wifi_wire::Error;
use lasthop_wifi_wire::elements::{
    ChannelSwitch, EhtOperation, Element, Elements, ExtendedCapabilities, ExtendedChannelSwitch,
    FastTransition, HeCapabilities, HeOperation, MobilityDomain, NeighborReport, Repr,
    RmEnabledCapabilities, Rsn, TimeoutInterval, VhtCapabilities, VhtOperation,
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

/// Writes an element that was read, and reads it again.
fn written(emit: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>, check: impl FnOnce(&Element<'_>)) {
    let mut bytes = Vec::new();
    emit(&mut bytes).expect("it was no longer when it was read");
    let again = Elements::new(&bytes).iter().next().expect("one was written");
    check(&again.expect("it is whole"));
}
