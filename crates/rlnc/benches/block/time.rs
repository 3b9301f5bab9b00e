//! Processor time of short runs.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Seconds of a run: the tenth part's bound, for cold caches only add to it, and
/// the median.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The fastest tenth take no longer.
    pub quiet_s: f64,
    /// Half take no longer.
    pub median_s: f64,
}

/// Times of `runs` runs.
pub fn time(runs: usize, mut run: impl FnMut()) -> Times {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = processor_time();
            run();
            (processor_time() - start).as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Times { quiet_s: times[runs / 10], median_s: times[runs / 2] }
}

/// What this thread has used: other work on the machine does not count.
fn processor_time() -> Duration {
    let clock = ClockId::CLOCK_THREAD_CPUTIME_ID;
    clock_gettime(clock).expect("every Linux has this clock").into()
}
