//! FQ-CoDel of mac80211 in Linux 6.12, replayed: `data/fq-codel-6.12.trace` is the first
//! part of a scene that `tests/vm/checks/43-fq-codel` recorded (three UDP flows, one of them
//! ECN-capable, and pings, over 13 Mb/s). At every instant at which the driver asked, the
//! same packet must come out, and the same ones be dropped and marked.

use lasthop_studies::validate::fq_codel::{FqCodelComparison, FqCodelEvent, FqCodelTrace};
use lasthop_studies::validate::minstrel::TraceError;

const TRACE: &str = include_str!("../data/fq-codel-6.12.trace");

#[test]
fn every_decision_of_linux_6_12_is_ours() {
    let trace = FqCodelTrace::parse(TRACE).unwrap();
    assert_eq!(trace.kernel, "6.12.117+deb12-amd64");
    let comparison = FqCodelComparison::replay(&trace);
    for (name, share) in comparison.shares() {
        assert_eq!(share.equal, share.of, "{name}: {:#?}", comparison.differences);
    }
    assert!(comparison.arrivals > 1_500 && comparison.flows >= 4, "{comparison:?}");
    assert!(comparison.drops.of > 50 && comparison.marks.of > 20, "{comparison:?}");
}

/// The comparison can fail: a drop less, or a packet of another flow or length, and
/// decisions differ.
#[test]
fn a_packet_that_is_not_the_kernels_shows() {
    let trace = FqCodelTrace::parse(TRACE).unwrap();
    let drop =
        trace.events.iter().position(|event| matches!(event, FqCodelEvent::Drop(_))).unwrap();
    let mut without = trace.clone();
    without.events.remove(drop);
    assert!(!FqCodelComparison::replay(&without).drops.is_whole());
    // One of the flow that waits longest.
    let is_long =
        |event: &FqCodelEvent| matches!(event, FqCodelEvent::Arrival { bytes: 1400.., .. });
    let events = trace.events.iter().enumerate().filter(|(_, event)| is_long(event));
    let (last, _) = events.take(500).last().unwrap();
    let mut moved = trace.clone();
    if let FqCodelEvent::Arrival { flow, .. } = &mut moved.events[last] {
        *flow += 1;
    }
    assert!(!FqCodelComparison::replay(&moved).departures.is_whole());
    let mut longer = trace.clone();
    if let FqCodelEvent::Arrival { bytes, .. } = &mut longer.events[last] {
        *bytes += 600;
    }
    assert!(!FqCodelComparison::replay(&longer).departures.is_whole());
}

#[test]
fn what_is_no_trace_is_refused() {
    let wrong = |line, expected| Err(TraceError { line, expected });
    assert_eq!(FqCodelTrace::parse(""), wrong(1, "kernel RELEASE"));
    assert_eq!(FqCodelTrace::parse("kernel 6"), wrong(2, "queue and five numbers"));
    let head = "kernel 6\nqueue 8192 4194304 300 19531 97656\n";
    assert!(FqCodelTrace::parse(&format!("{head}+ 0 7 100 960\n- 5 0\n-\n")).is_ok());
    assert_eq!(
        FqCodelTrace::parse(&format!("{head}- 5 0\n")),
        wrong(3, "a packet that has arrived")
    );
    assert_eq!(FqCodelTrace::parse(&format!("{head}+ 0 7 100\n")), wrong(3, "a line +, -, o or c"));
    assert_eq!(
        FqCodelTrace::parse(&format!("{head}+ 0 7 100 960 x\n")),
        wrong(3, "a line +, -, o or c")
    );
}
