//! Processor time of short runs, in seconds: the median, and the bound of the
//! fastest tenth. Time that the thread waits for other work on the machine does not
//! count.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Seconds per run: the bound of the fastest tenth, because cold caches can only
/// add to it, and the median.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The fastest tenth of the runs takes no longer than this.
    pub quiet_s: f64,
    /// Half of the runs take no longer than this.
    pub median_s: f64,
}

/// Measures `runs` runs.
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

/// Processor time of this thread, so that other work on the machine does not count.
fn processor_time() -> Duration {
    let clock = ClockId::CLOCK_THREAD_CPUTIME_ID;
    clock_gettime(clock).expect("every Linux has this clock").into()
}
