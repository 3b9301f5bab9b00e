//! Feeds any bytes as a scenario file. The parser answers, and the kept text of an accepted
//! scenario is accepted again.

#![no_main]

use lasthop_scenario::{parse, parse_bytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first line, if there is one, is a --set argument.
    let split = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let sets: Vec<String> = core::str::from_utf8(&bytes[..split])
        .ok()
        .filter(|set| !set.is_empty())
        .map(Into::into)
        .into_iter()
        .collect();
    if let Ok(scenario) = parse_bytes("fuzz.toml", &bytes[split..], &sets) {
        let again = parse("again.toml", &scenario.source_text, &[]).expect("it was valid");
        assert_eq!(again, scenario);
    }
});
