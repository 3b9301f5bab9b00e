//! An MPDU, with and without FCS: what can be read can be written, and then
//! says the same.
#![no_main]

use lasthop_wifi::wire::frame::{Layout, Repr, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|mpdu: &[u8]| {
    for layout in [Layout::default(), Layout { fcs: true, padded: true }] {
        match View::new(mpdu, layout).and_then(|view| Repr::parse(&view)) {
            Ok(repr) => {
                let again = repr.to_mpdu();
                let view = View::new(&again, Layout { fcs: true, padded: false });
                let view = view.expect("the header that was just written");
                assert_eq!(view.fcs_is_valid(), Some(true));
                assert_eq!(Repr::parse(&view), Ok(repr));
            }
            Err(error) => assert!(error.offset <= mpdu.len()),
        }
    }
});
