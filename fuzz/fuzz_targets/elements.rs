//! Information elements: what can be read can be written, and then says the same.
#![no_main]

use lasthop_wifi::wire::elements::{Elements, Repr};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
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
