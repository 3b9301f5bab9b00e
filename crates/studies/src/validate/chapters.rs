//! The chapters of `docs/validation.md`: each compares the model with one kind of
//! reference data, as a table. Targets are constants of the chapters; units are in the
//! heads of columns.

mod airtime;
pub mod bandwidth;
mod contention;
mod eht;
mod kernel;
pub mod later;
pub mod links;
mod losses;
mod lossy;
mod multi_link;
mod paths;
mod per;
mod queueing;
mod queues;
mod radios;
pub mod rates;
pub mod reuse;
mod saturated;
mod speed;
mod tcp;
mod tunnels;
mod uplink;

pub use contention::predicted_mbps;

use crate::table::Table;
use crate::validate::setting::{Setting, SettingMeasured};
use lasthop_units::{Duration, Seed};

/// The seed of every run; runs differ by their number.
pub const SEED: u64 = 1;
/// Measured time of a run, as with ns-3.
pub const DURATION: Duration = Duration::from_secs(10);
/// Time before the measurement, enough to fill the longest queue.
pub const WARMUP: Duration = Duration::from_secs(4);

/// A comparison: its name, and the function that makes its table.
pub type Chapter = (&'static str, fn() -> Table);

/// All chapters, in the order of the page.
pub const ALL: [Chapter; 47] = [
    ("radios, ath9k", radios::stock),
    ("radios, ath9k and airtime", radios::airtime),
    ("radios, ath9k and ECN", radios::ecn),
    ("radios, ath10k", radios::ath10k),
    ("radios, scans", radios::scans),
    ("radios, airtime fairness", radios::fairness),
    ("radios, small queues", radios::small_queues),
    ("radios, idle paths", radios::idle),
    ("radios, ad hoc", radios::ad_hoc),
    ("radios, cafe", radios::cafe),
    ("airtime", airtime::table),
    ("error model", per::table),
    ("one station", saturated::table),
    ("contention, closed form", contention::closed_form),
    ("contention, ns-3", contention::ns3),
    ("contention with A-MPDU, ns-3", contention::ns3_ampdu),
    ("queues", queueing::table),
    ("losses", lossy::table),
    ("802.11ac and ax, one station", later::one_station),
    ("802.11ax, contention", later::contention),
    ("802.11ax, losses", later::lossy),
    ("802.11ax, downlink OFDMA", later::ofdma),
    ("802.11ax, uplink OFDMA", uplink::ofdma),
    ("802.11ax, spatial reuse", reuse::table),
    ("802.11ac, dynamic bandwidth", bandwidth::table),
    ("802.11be, one station", eht::one_station),
    ("802.11be, contention", eht::contention),
    ("802.11be, several links", multi_link::goodput),
    ("802.11be, delays over several links", multi_link::latency),
    ("rate control", rates::table),
    ("tcp, ns-3", tcp::table),
    ("tcp, ns-3, long wire", tcp::long_wire),
    ("tcp, kernel", kernel::table),
    ("tcp, lossy wire", losses::table),
    ("apq, capacities", queues::capacities),
    ("apq, kinds", queues::kinds),
    ("apq, oddities", queues::oddities),
    ("franc, lossy link", links::loaded),
    ("franc, sparse traffic", links::sparse),
    ("franc, three hops", links::hops),
    ("franc, fast link", links::flood),
    ("franc, paths", paths::reported),
    ("franc, paths, real time", paths::real_time),
    ("franc, grid of paths", paths::judged),
    ("tunnels", tunnels::table),
    ("speed", speed::table),
    ("speed, 802.11ac and ax", speed::later),
];

fn run_once(setting: &Setting) -> SettingMeasured {
    setting.run(Seed::new(SEED, 0), WARMUP, DURATION)
}

/// The mean of several runs and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    mean: f64,
    half_width: f64,
}

/// Number of runs of an estimate.
const RUNS: u64 = 5;
/// Student's t for 95 % and one degree of freedom less than there are runs.
const T_95: f64 = 2.776;

impl Estimate {
    fn measure(setting: &Setting, quantity: impl Fn(&SettingMeasured) -> f64) -> Self {
        let runs: Vec<f64> = (0..RUNS)
            .map(|run| quantity(&setting.run(Seed::new(SEED, run), WARMUP, DURATION)))
            .collect();
        let n = RUNS as f64;
        let mean = runs.iter().sum::<f64>() / n;
        let squares: f64 = runs.iter().map(|run| (run - mean).powi(2)).sum();
        Self { mean, half_width: T_95 * (squares / (n - 1.0) / n).sqrt() }
    }

    fn cell(&self) -> String {
        format!("{:.3} +- {:.3}", self.mean, self.half_width)
    }
}
