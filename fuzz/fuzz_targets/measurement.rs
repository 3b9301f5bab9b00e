//! Feeds any bytes to the readers of measurements: flent's results, JSON of iperf3 and of irtt. Of an
//! accepted one all values are numbers, its document is the same after writing and reading, and a
//! page can be made of it; metadata of flent make a sound scenario.
#![no_main]

use lasthop_report::begin;
use lasthop_report::page::outside;
use lasthop_trace::{FlentMetadata, MeasuredComparison, Measurement};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(metadata) = FlentMetadata::parse("FILE", bytes) {
        let text = begin::scenario("FILE", &metadata);
        if let Err(error) = lasthop_scenario::parse("begun.toml", &text, &[]) {
            panic!("{error:?}\n{text}");
        }
    }
    let Ok(measured) = Measurement::parse("FILE", bytes) else { return };
    let values = measured.series.iter().flat_map(|series| &series.values);
    for value in values {
        assert!([value.at_s, value.span_s, value.value].iter().all(|it| it.is_finite()));
    }
    let Some([first, last]) = measured.extent() else { return };
    let runs = [measured.clone(), measured.clone().later(1.0)];
    let compared = MeasuredComparison::new("it", 1, "FILE", &measured, &runs, 0.0, [first, last]);
    let json = compared.to_json();
    serde_json::from_str::<MeasuredComparison>(&json).expect("it was written");
    outside::html(&compared, &measured, &runs);
});
