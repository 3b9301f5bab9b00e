//! Any bytes as `franc.toml`: an answer, whatever stands in it.
#![no_main]

use lasthop_franc_node::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = core::str::from_utf8(bytes) {
        let _ = parse("fuzz.toml", text, &[]);
    }
});
