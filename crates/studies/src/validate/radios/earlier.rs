//! Slow start thresholds that the connections of one test left to those of the next (Linux'
//! tcp_metrics; the sender of C1 had `tcp_no_metrics_save` = 0). With a queue that never drops, a
//! test of Reno begins where the one before it ended: nothing else sets its window.
//!
//! The order of the tests is that of the times in their files' names: MCS 0 to 15 with each queue.
//! Two of those are simulated once, at their last MCS, because they drop often, so that nothing of
//! the tests before them is left. Every run has its own series. Left out: tests between two queues,
//! and the lifetime of an hour.

use super::{Changed, RUNS, RadioRun};
use lasthop_tcp::Ending;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Last MCS of each queue.
const MCS_LAST: u32 = 15;
/// Instant at which the connections of a test begin, in seconds.
const BEGIN_S: f64 = 5.0;

/// The tests of one queue.
struct TestsOfQueue {
    case: &'static str,
    text: &'static str,
    /// The first MCS that is simulated.
    mcs_first: u32,
    /// Length of a test in seconds, an argument of netperf.
    length_s: f64,
}

const ORDER: [TestsOfQueue; 4] = [
    TestsOfQueue {
        case: "fqcodel-qdisc",
        text: scenario!("c1-fqcodel-qdisc"),
        mcs_first: MCS_LAST,
        length_s: 30.0,
    },
    TestsOfQueue {
        case: "pfifo1000-30s",
        text: scenario!("c1-pfifo1000-30s"),
        mcs_first: 0,
        length_s: 30.0,
    },
    TestsOfQueue {
        case: "pfifo20",
        text: scenario!("c1-pfifo20"),
        mcs_first: MCS_LAST,
        length_s: 30.0,
    },
    TestsOfQueue {
        case: "pfifo1000-300s",
        text: scenario!("c1-pfifo1000-300s"),
        mcs_first: 0,
        length_s: 300.0,
    },
];

/// The place of a test in the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EarlierTest(usize);

/// The place of a test whose beginning depends on those before it.
pub(super) fn place(case: &str, mcs: u32) -> Option<EarlierTest> {
    let is_it = |&(queue, at): &(&TestsOfQueue, u32)| queue.case == case && at == mcs;
    let depends = ORDER.iter().any(|queue| queue.case == case && queue.mcs_first == 0);
    depends.then(|| tests().position(|test| is_it(&test))).flatten().map(EarlierTest)
}

fn tests() -> impl Iterator<Item = (&'static TestsOfQueue, u32)> {
    ORDER.iter().flat_map(|queue| (queue.mcs_first..=MCS_LAST).map(move |mcs| (queue, mcs)))
}

/// The tests of a run so far, and the thresholds that they left, by the receiver's index.
struct Series {
    done: Vec<RadioRun>,
    thresholds: BTreeMap<usize, u32>,
}

static SERIES: [Mutex<Series>; RUNS as usize] =
    [const { Mutex::new(Series { done: Vec::new(), thresholds: BTreeMap::new() }) }; RUNS as usize];

impl EarlierTest {
    /// The run `number` of the test at this place, after those before it.
    pub(super) fn simulate(self, number: u64) -> RadioRun {
        let mut series = SERIES[number as usize].lock().expect("no thread panics with it");
        while series.done.len() <= self.0 {
            let (queue, mcs) = tests().nth(series.done.len()).expect("it is one of them");
            let run = series.test(queue, mcs, number);
            series.done.push(run);
        }
        series.done[self.0].clone()
    }
}

impl Series {
    fn test(&mut self, queue: &TestsOfQueue, mcs: u32, number: u64) -> RadioRun {
        let plain = Changed::new(queue.text, &[]).scenario();
        let mut changed = Changed::new(queue.text, &[]);
        changed.sets.push(format!("node.ap.rate_control.mcs={mcs}"));
        changed.sets.push(format!("duration={}s", BEGIN_S + queue.length_s));
        for flow in plain.flows.iter().filter(|flow| flow.name.starts_with("tcp")) {
            if let Some(threshold) = self.thresholds.get(&flow.to.index()) {
                changed.sets.push(format!("flow.{}.tcp.ssthresh_initial={threshold}", flow.name));
            }
        }
        let scenario = changed.scenario();
        let mut run = RadioRun::simulate(&scenario, "", number);
        run.window[1] = plain.duration.as_secs_f64();
        let receivers = scenario.flows.iter().filter(|flow| flow.name.starts_with("tcp"));
        for (flow, &(window, threshold)) in receivers.zip(&run.windows) {
            let kept = self.thresholds.get(&flow.to.index()).copied();
            // Samples do not tell whether a loss is being repaired; none is assumed.
            let threshold = threshold.unwrap_or(u32::MAX);
            if let Some(kept) = (Ending { window, threshold, is_open: true }).keep(kept) {
                self.thresholds.insert(flow.to.index(), kept);
            }
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_that_of_the_files() {
        assert_eq!(tests().count(), 1 + 16 + 1 + 16);
        assert_eq!(place("pfifo1000-30s", 0), Some(EarlierTest(1)));
        assert_eq!(place("pfifo1000-300s", 15), Some(EarlierTest(33)));
        assert_eq!(place("pfifo20", 15), None);
    }
}
