//! Joins several arbitrary captures of one moment. The result is a document or an error, with each
//! segment once, and the findings can be written. The input has the lengths of the first two files
//! (16 bits each, little-endian), then the files, one after another.
#![no_main]

use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::{CaptureDocument, JoinedFile, JoinedSummary};
use lasthop_capture::file::Capture;
use lasthop_capture::join::{self, Join, Survey};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|input: &[u8]| {
    let Some((head, rest)) = input.split_at_checked(4) else { return };
    let length = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let (first, rest) = rest.split_at(length(0).min(rest.len()));
    let (second, third) = rest.split_at(length(2).min(rest.len()));
    let files = [first, second, third];

    let (mut analyses, mut surveys) = (Vec::new(), Vec::new());
    for file in files {
        let Ok(mut capture) = Capture::open(Cursor::new(file.to_vec())) else { return };
        let (mut analysis, mut survey) = (Analysis::default(), Survey::default());
        analysis.watch();
        while let Ok(Some(packet)) = capture.next_packet() {
            analysis.handle_packet(&packet);
            survey.take(&mut analysis);
        }
        analysis.finish();
        survey.take(&mut analysis);
        analyses.push(analysis);
        surveys.push(survey);
    }
    let mut join = Join::new(surveys);
    let mut open = |file: usize| -> std::io::Result<join::Source> {
        Ok(Box::new(Cursor::new(files[file].to_vec())))
    };
    let mut segments = 0u64;
    let mut each = |way: &join::SegmentWay| {
        assert!(way.seen_ns() >= 0);
        assert!(way.payload_bytes > 0);
        for part in [way.wire_before_ns(), way.wait_ns(), way.air_ns(), way.behind_ns()] {
            assert!(part.is_none() || way.first_seen_ns().is_some());
        }
        segments += 1;
    };
    let again = join::read(&mut join, &mut open, &Analysis::default, &mut each, &|| false);
    let again = again.expect("what was opened can be opened again");
    let all: Vec<JoinedFile<'_>> = ["a", "b", "c"]
        .into_iter()
        .zip(&analyses)
        .map(|(name, analysis)| JoinedFile { name, analysis })
        .collect();
    let joined = JoinedSummary::new(&all, &join, again);
    let directions = || joined.flows.values().flat_map(|flow| flow.from.values());
    assert_eq!(directions().map(|direction| direction.segments).sum::<u64>(), segments);
    let document = CaptureDocument::new("a", &analyses[0]).with_joined(joined);
    assert!(document.findings.iter().all(|finding| (0.0..=1.0).contains(&finding.harm)));
    assert!(!document.to_json().is_empty());
});
