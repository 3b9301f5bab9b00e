//! Minstrel-HT of Linux 6.1, replayed: `data/minstrel-6.1.trace` is a part of what
//! `tests/vm/checks/41-minstrel` recorded (13 s of 12 Mb/s UDP over losses that change; one
//! snapshot of three). Every figure that the kernel printed must be ours, without a
//! tolerance.

use lasthop_studies::validate::minstrel::{
    MinstrelComparison, MinstrelEvent, MinstrelTrace, TraceError,
};

const TRACE: &str = include_str!("../data/minstrel-6.1.trace");

#[test]
fn every_figure_of_linux_6_1_is_ours() {
    let trace = MinstrelTrace::parse(TRACE).unwrap();
    assert_eq!(trace.kernel, "6.1.0-56-amd64");
    let comparison = MinstrelComparison::replay(&trace);
    assert!(comparison.statuses > 5_000 && comparison.snapshots > 10, "{comparison:?}");
    for (name, share) in comparison.shares() {
        assert!(share.is_whole(), "{name}: {share}: {:#?}", comparison.differences);
    }
}

/// The comparison can fail: one report less, one acknowledgement more, or a window's end
/// that comes with another report, and figures differ.
#[test]
fn a_report_that_is_not_the_kernels_shows() {
    let trace = MinstrelTrace::parse(TRACE).unwrap();
    let statuses = trace.events.iter().enumerate();
    let statuses =
        statuses.filter(|(_, event)| matches!(event, MinstrelEvent::Status { mpdus: 2.., .. }));
    let (index, _) = statuses.max_by_key(|&(index, _)| index).unwrap();
    let mut without = trace.clone();
    without.events.remove(index);
    assert!(!MinstrelComparison::replay(&without).counts.is_whole());
    let mut better = trace.clone();
    let mut later = trace;
    if let MinstrelEvent::Status { acked, mpdus, .. } = &mut better.events[index] {
        *acked = if acked == mpdus { 0 } else { *mpdus };
    }
    assert!(!MinstrelComparison::replay(&better).counts.is_whole());
    // Fifty windows of 50 ms instead of 52.
    for event in &mut later.events {
        if let MinstrelEvent::Status { at, .. } = event {
            *at += *at / 12;
        }
    }
    assert!(!MinstrelComparison::replay(&later).probabilities.is_whole());
}

#[test]
fn a_broken_trace_is_refused_with_its_line() {
    for (text, line) in [
        ("", 1),
        ("6.1\n", 1),
        ("kernel 6.1\nint 0\n", 2),
        ("kernel 6.1\ninit x\n", 2),
        ("kernel 6.1\n5 3/5 99*1\n", 2),
        ("kernel 6.1\n5 3/5 1q*1\n", 2),
        ("kernel 6.1\n5 3 1*1\n", 2),
        ("kernel 6.1\nHT20,LGI,1,S,MCS0,0,1477,5.6,0.0,0.0,1,0,0,0,0,2,3,1.0\n", 2),
        ("kernel 6.1\ncsv 1\nHT20,LGI,1,S,MCS0,0,1477,5.6,0.0,0.0,1,0,0,0\n", 3),
    ] {
        let error = MinstrelTrace::parse(text).map(|_| ()).unwrap_err();
        assert_eq!(error, TraceError { line, expected: error.expected }, "{text}");
    }
    // A trace of nothing compares nothing: no share is whole.
    let comparison = MinstrelComparison::replay(
        &MinstrelTrace::parse("kernel 6.1\ninit 0\n5 3/5 1*1\n").unwrap(),
    );
    assert!(comparison.shares().iter().all(|(_, share)| !share.is_whole()));
}
