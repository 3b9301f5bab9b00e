//! Reads information elements from any bytes. Accepted elements can be written, and are equal after
//! another reading.
#![no_main]

use lasthop_wifi_wire::Error;
use lasthop_wifi_wire::elements::{
    EhtOperation, Elements, HeCapabilities, HeOperation, Repr, Rsn, VhtCapabilities, VhtOperation,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let inside = |error: Error| assert!(error.offset <= bytes.len());
    for element in Elements::new(bytes).iter().map_while(Result::ok) {
        // Read on demand, not written.
        match Rsn::parse(&element) {
            Ok(rsn) => {
                let _ = (rsn.pairwise_ciphers().count(), rsn.key_managements().count());
            }
            Err(error) => inside(error),
        }
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
