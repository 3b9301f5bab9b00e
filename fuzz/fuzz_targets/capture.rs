//! Feeds any bytes to the reader of capture files. The reader stops at the end or at an error, each
//! error of a packet lies within the packet, the findings can be written, and the values of its
//! measurement are numbers.
#![no_main]

use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file::Capture;
use lasthop_capture::measured::measurement;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|file: &[u8]| {
    let Ok(mut capture) = Capture::open(Cursor::new(file.to_vec())) else { return };
    let mut analysis = Analysis::default();
    loop {
        let errors = analysis.file.errors.len();
        match capture.next_packet() {
            Ok(Some(packet)) => {
                analysis.handle_packet(&packet);
                for error in &analysis.file.errors[errors..] {
                    assert_eq!(error.frame, Some(packet.number));
                    assert!(error.offset.is_some_and(|at| at <= packet.bytes.len() as u64));
                }
            }
            Ok(None) => break,
            Err(error) => analysis.handle_error(&error),
        }
    }
    analysis.finish();
    let document = CaptureDocument::new("fuzzed", &analysis);
    assert!(document.findings.iter().all(|finding| (0.0..=1.0).contains(&finding.harm)));
    assert!(!document.to_json().is_empty());
    let measured = measurement(&analysis);
    let values = measured.series.iter().flat_map(|series| &series.values);
    values.for_each(|value| assert!(value.value.is_finite() && value.span_s > 0.0));
});
