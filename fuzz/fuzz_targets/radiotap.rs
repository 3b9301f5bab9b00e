//! Reads a radiotap header and the bytes behind it.
#![no_main]

use lasthop_wifi_wire::radiotap::{Repr, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|captured: &[u8]| {
    let view = match View::new(captured) {
        Ok(view) => view,
        Err(error) => return assert!(error.offset <= captured.len()),
    };
    assert_eq!(view.header_len() + view.frame().len(), captured.len());
    match Repr::parse(&view) {
        Ok(repr) => {
            let mut again = Vec::new();
            repr.emit(&mut again);
            let view = View::new(&again).expect("the header that was just written");
            assert_eq!(Repr::parse(&view), Ok(repr));
            let _ = repr.bitrate();
        }
        Err(error) => assert!(error.offset <= view.header_len()),
    }
});
