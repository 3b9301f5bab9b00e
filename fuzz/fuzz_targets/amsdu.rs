//! The body of an A-MSDU, and the LLC headers in it.
#![no_main]

use lasthop_wifi_wire::{amsdu, llc};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let mut writer = amsdu::AmsduWriter::new();
    let mut read = Vec::new();
    for subframe in amsdu::AmsduSubframes::new(body) {
        match subframe {
            Ok(subframe) => {
                let _ = llc::Repr::parse(subframe.msdu);
                writer.push(&subframe).expect("it was no longer when it was read");
                read.push(subframe);
            }
            Err(error) => assert!(error.offset <= body.len()),
        }
    }
    let again = writer.finish();
    let again: Result<Vec<_>, _> = amsdu::AmsduSubframes::new(&again).collect();
    assert_eq!(again, Ok(read));
});
