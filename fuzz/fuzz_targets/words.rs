//! Feeds words of a command line: quantities of `--expect`, values of a sweep, shards, and paths of
//! `--set` for completion. The first line is the argument, the others are a scenario. A completion
//! begins as the given word does, and adds a step towards a key or a value.
#![no_main]

use lasthop_report::expectation::Expectation;
use lasthop_scenario::complete;
use lasthop_sweep::Shard;
use lasthop_sweep::vary::Axis;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let (written, scenario) = text.split_once('\n').unwrap_or((text, ""));
    let _ = (Expectation::parse(written), Axis::parse(written), Shard::parse(written));
    for completion in complete(scenario, written) {
        assert!(completion.text.starts_with(written), "{written:?}: {completion:?}");
        let ends = completion.text.ends_with(['.', '=']) || completion.text.contains('=');
        assert!(ends, "{written:?}: {completion:?}");
    }
});
