//! The TCP model against the kernel's TCP over a wire that loses packets in both
//! directions: one bulk flow of CUBIC or BBR between two hosts, 12 Mb/s of IP packets of
//! 1 500 bytes, a drop-tail queue of 150 kB, independent losses; one scenario under
//! `emulate` and `simulate`. Emulated results are stored in `data/tcp_losses.csv`,
//! simulated ones are computed on request. ARP crosses the emulated wire too: a lost
//! request delays the kernel's start by a second. As in [`crate::validate::kernel`], the model
//! runs without TCP small queues.

use crate::validate::data::Record;
use crate::validate::kept::Kept;
use crate::validate::kernel::{self, Readings, SEED};
use lasthop_emulate::{EmulateError, EmulateOptions};
use lasthop_packet::NodeId;
use lasthop_scenario::Scenario;
use lasthop_units::Seed;
use std::io;

/// Length of a run in seconds.
pub const DURATION_S: u32 = 60;
/// Number of simulated runs of a cell.
pub const RUNS: u64 = 40;
/// The columns of `data/tcp_losses.csv`.
const KEPT: Kept = Kept {
    file: "tcp_losses.csv",
    header: "congestion_control,delay_ms,loss_percent,run,duration_s,goodput_mbps,retransmissions,\
             lateness_p99_9_us,kernel",
};

/// A wire with losses, of which several runs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossCell {
    /// The congestion control, by the kernel's name.
    pub congestion_control: &'static str,
    /// Delay in each direction, in milliseconds.
    pub delay_ms: u32,
    /// Loss in each direction, in percent.
    pub loss_percent: u32,
}

/// The result of an emulated run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmulatedLosses {
    /// Goodput in Mb/s: bytes acknowledged per time up to the last reading.
    pub goodput_mbps: f64,
    /// Number of segments retransmitted.
    pub retransmissions: f64,
    /// 99.9th percentile of the lateness of frames, in microseconds.
    pub lateness_us: f64,
    /// Whether the run was too late to be used.
    pub is_late: bool,
}

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean of the values.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
}

impl Mean {
    /// The mean of two or more values.
    pub fn new(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, error: (squares / (n - 1.0) / n).sqrt() }
    }
}

impl LossCell {
    /// Returns the wires: one-way delays of 10 and 2 ms, each with every loss; BBR's last.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for congestion_control in ["cubic", "bbr"] {
            for delay_ms in [10, 2] {
                for loss_percent in [1, 5, 10, 20] {
                    all.push(Self { congestion_control, delay_ms, loss_percent });
                }
            }
        }
        all
    }

    /// Share of this machine that an emulation needs, 0 to 1.
    pub fn load(&self) -> f64 {
        if self.loss_percent <= 5 { 0.12 } else { 0.09 }
    }

    /// Number of emulated runs needed: more losses leave fewer packets and a wider
    /// spread.
    pub fn emulated_runs(&self) -> u64 {
        match self.loss_percent {
            0..=5 => 8,
            6..=10 => 16,
            _ => 30,
        }
    }

    /// Largest accepted deviation of the model, as a share of the kernel's goodput; the
    /// standard error is added to it.
    pub fn band(&self) -> f64 {
        if self.loss_percent <= 5 { 0.1 } else { 0.25 }
    }

    /// The scenario of the wire.
    ///
    /// # Panics
    /// If the text is not a valid scenario.
    pub fn scenario(&self) -> Scenario {
        let Self { congestion_control, delay_ms, loss_percent } = self;
        let text = format!(
            r#"name = "tcp-losses"
duration = "{DURATION_S}s"
series_interval = "50ms"
seed = {SEED}

[emulation]
lateness_max = "2ms"

[[node]]
name = "a"
role = "host"

[[node]]
name = "b"
role = "host"

[[wire]]
between = ["a", "b"]
rate = "12112kb/s"
delay = "{delay_ms}ms"
loss = "{loss_percent}%"
queue = {{ kind = "drop-tail", bytes = 150000 }}

[[flow]]
name = "data"
from = "a"
to = "b"
kind = "tcp"
congestion_control = "{congestion_control}"
tcp = {{ send_offload = true }}
"#
        );
        lasthop_scenario::parse("tcp-losses.toml", &text, &[])
            .unwrap_or_else(|error| panic!("cells make sound scenarios: {error:?}\n{text}"))
    }

    /// Simulates run `run` and returns its goodput in Mb/s.
    ///
    /// # Panics
    /// If the scenario cannot be simulated.
    pub fn simulate(&self, run: u64) -> f64 {
        let scenario = self.scenario().without_small_queues();
        let mut readings = Readings::default();
        let stats = lasthop_sim::simulate(
            &scenario,
            Seed::new(SEED, run),
            &mut readings,
            &mut lasthop_sim::go_on,
        );
        let stats = stats.expect("one TCP flow over one wire can be simulated");
        readings.measured(&stats, sender(&scenario)).goodput_mbps
    }

    /// Emulates run `run` with the kernel's TCP, in real time.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn emulate(&self, run: u64) -> Result<EmulatedLosses, EmulateError> {
        let scenario = self.scenario();
        let mut readings = Readings::default();
        let options = EmulateOptions { run, ..EmulateOptions::default() };
        let outcome = lasthop_emulate::emulate(&scenario, &options, &mut readings, &mut |_, _| {})?;
        let measured = readings.measured(&outcome.stats, sender(&scenario));
        let lateness_ns = outcome.lateness_ns.quantile(0.999).unwrap_or(0);
        Ok(EmulatedLosses {
            goodput_mbps: measured.goodput_mbps,
            retransmissions: measured.retransmissions,
            lateness_us: f64::from(lateness_ns) / 1e3,
            is_late: outcome.late || outcome.frames_lost_outside > 0,
        })
    }

    /// The line of a run in the file.
    fn line(&self, run: u64, emulated: &EmulatedLosses, kernel: &str) -> String {
        format!(
            "{},{},{},{run},{DURATION_S},{:.4},{},{:.1},{kernel}",
            self.congestion_control,
            self.delay_ms,
            self.loss_percent,
            emulated.goodput_mbps,
            emulated.retransmissions,
            emulated.lateness_us,
        )
    }

    fn is_of(&self, record: &Record) -> bool {
        record.text("congestion_control") == self.congestion_control
            && record.whole("delay_ms") == self.delay_ms
            && record.whole("loss_percent") == self.loss_percent
    }
}

fn sender(scenario: &Scenario) -> NodeId {
    scenario.node("a").expect("the file names it")
}

/// The results of the emulated runs so far.
#[derive(Clone, Debug, PartialEq)]
pub struct LossStore {
    records: Vec<Record>,
}

impl LossStore {
    /// Reads `data/tcp_losses.csv`; no results if it does not exist.
    pub fn read() -> Self {
        Self { records: KEPT.records() }
    }

    /// The numbers of the runs of a cell.
    pub fn runs(&self, cell: &LossCell) -> Vec<u64> {
        self.records_of(cell).map(|record| u64::from(record.whole("run"))).collect()
    }

    /// The goodput of each run of a cell, in Mb/s.
    pub fn goodputs(&self, cell: &LossCell) -> Vec<f64> {
        self.records_of(cell).map(|record| record.number("goodput_mbps")).collect()
    }

    /// The releases of the kernels in the results, once each.
    pub fn kernels(&self) -> Vec<&'static str> {
        let mut kernels: Vec<_> = self.records.iter().map(|record| record.text("kernel")).collect();
        kernels.sort_unstable();
        kernels.dedup();
        kernels
    }

    fn records_of(&self, cell: &LossCell) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| cell.is_of(record))
    }

    /// Appends a run to the file. Several processes may do so concurrently.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(cell: &LossCell, run: u64, emulated: &EmulatedLosses) -> io::Result<()> {
        let line = cell.line(run, emulated, &kernel::kernel_release());
        KEPT.append(&[line])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let [cell, other] = [LossCell::all()[3], LossCell::all()[0]];
        let emulated = EmulatedLosses {
            goodput_mbps: 0.125,
            retransmissions: 7.0,
            lateness_us: 180.0,
            is_late: false,
        };
        let text = KEPT.with_header([cell.line(5, &emulated, "6.18")]);
        let store = LossStore { records: crate::validate::data::records(text.leak()) };
        assert_eq!((store.runs(&cell), store.goodputs(&cell)), (vec![5], vec![0.125]));
        assert!(store.runs(&other).is_empty());
        assert_eq!(store.kernels(), ["6.18"]);
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // Deviations of 1 and -1: the variance is 2, that of the mean 1.
        assert_eq!(Mean::new(&[2.0, 4.0]), Mean { mean: 3.0, error: 1.0 });
    }
}
