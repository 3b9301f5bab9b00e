//! A PSDU with MPDU delimiters, damaged ones too.
#![no_main]

use lasthop_wifi_wire::ampdu::{AmpduSubframes, AmpduWriter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|psdu: &[u8]| {
    let mut writer = AmpduWriter::new();
    let mut read = Vec::new();
    for subframe in AmpduSubframes::new(psdu) {
        match subframe {
            Ok(subframe) => {
                writer.push(subframe.mpdu).expect("its length came out of a delimiter");
                read.push(subframe.mpdu);
            }
            Err(error) => assert!(error.offset <= psdu.len()),
        }
    }
    let again = writer.finish();
    let again: Result<Vec<_>, _> = AmpduSubframes::new(&again).map(|s| s.map(|s| s.mpdu)).collect();
    assert_eq!(again, Ok(read));
});
