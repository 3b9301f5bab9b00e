//! The TCP model against the kernel's TCP over a Wi-Fi hop: one bulk flow between a
//! station and a server, one scenario under `emulate` and `simulate`. Emulated results
//! are stored in `data/kernel.csv`, simulated ones are computed on request. An
//! emulation runs in real time, or in a QEMU guest whose clock counts instructions
//! (`tests/vm/command`) and which a busy machine cannot make late. A TAP device takes packets
//! from the kernel at once, so TCP small queues have no effect there; the model runs
//! without them.

use crate::validate::data::Record;
use crate::validate::kept::Kept;
use lasthop_emulate::{EmulateError, EmulateOptions, EmulateOutcome};
use lasthop_fixtures::{flow, hop};
use lasthop_hosts::{Sink, TcpSample};
use lasthop_net::network::NetworkStats;
use lasthop_packet::{FlowId, NodeId};
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, Seed};
use std::io;

/// Seed of all runs; emulated and simulated runs differ by their number.
pub const SEED: u64 = 1;
/// Number of simulated runs of a cell.
pub const RUNS: u64 = 10;
/// Number of emulated runs of a cell whose queue is shorter than the bandwidth-delay
/// product. There, the round of slow start in which the first burst overflows the queue
/// determines the window for the rest of the run.
const RUNS_SHORT_QUEUE: u64 = 4;
/// A flow whose first round trip is reported later than this has lost its SYN (the
/// timeout is 1 s, RFC 6298) on a machine that was too slow, and says nothing of the
/// hop.
const BEGUN_MAX: Duration = Duration::from_millis(900);
/// A flow without progress for longer than this was not served by the machine either.
/// Simulated flows make no progress for up to 4.5 s, at a timeout with a long queue.
const STILL_MAX: Duration = Duration::from_secs(6);
/// The columns of `data/kernel.csv`.
const KEPT: Kept = Kept {
    file: "kernel.csv",
    header: "congestion_control,direction,mcs,queue_packets,wire_ms,run,duration_s,\
             goodput_mbps,queue_mean_packets,rtt_median_ms,cwnd_mean_packets,\
             retransmissions,lateness_p99_9_us,cpu_us_per_frame,kernel,clock",
};

/// The clock of an emulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The clock of this machine.
    Real,
    /// The number of instructions of a guest's only CPU, one nanosecond each.
    Instructions,
}

impl Clock {
    /// The name in `kernel.csv`.
    fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Instructions => "instructions",
        }
    }
}

/// A cell of the grid, one combination of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCell {
    /// The congestion control, by the kernel's name.
    pub congestion_control: &'static str,
    /// Whether the station sends to the server; otherwise the server to the station.
    pub is_upload: bool,
    /// The MCS of both directions, in 20 MHz.
    pub mcs: u32,
    /// Limit in packets of the queues of station and access point.
    pub queue_packets: u32,
    /// One-way delay in milliseconds of the wire behind the access point.
    pub wire_ms: u32,
}

/// The results of a run. Means and medians are over regular readings.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct KernelMeasured {
    /// Goodput in Mb/s: bytes acknowledged per time up to the last reading.
    pub goodput_mbps: f64,
    /// Mean over time of the queue of the sending side of the Wi-Fi hop, in packets.
    pub queue_mean_packets: f64,
    /// Median of the sender's smoothed round-trip time, in milliseconds.
    pub rtt_median_ms: f64,
    /// Mean congestion window in segments.
    pub cwnd_mean_packets: f64,
    /// Number of segments retransmitted.
    pub retransmissions: f64,
}

/// The results of an emulated run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emulated {
    /// The results that a simulation has too.
    pub measured: KernelMeasured,
    /// 99.9th percentile of the lateness of frames, in microseconds.
    pub lateness_us: f64,
    /// CPU time in microseconds of the emulating thread, per frame that enters or
    /// leaves.
    pub cpu_us: f64,
    /// Whether the run was too late to be used, or its flow was not served in time.
    pub is_late: bool,
}

impl KernelCell {
    /// Returns the whole grid: slow rates first, and BBR behind the others.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for controls in [&["cubic", "reno"][..], &["bbr"]] {
            for mcs in [0, 7, 15] {
                for &congestion_control in controls {
                    all.extend(Self::all_alike(congestion_control, mcs));
                }
            }
        }
        all
    }

    /// The cells of a congestion control and an MCS.
    fn all_alike(congestion_control: &'static str, mcs: u32) -> Vec<Self> {
        let mut all = Vec::new();
        for is_upload in [true, false] {
            for queue_packets in [50, 300, 1_000] {
                for wire_ms in [1, 20] {
                    let cell = Self { congestion_control, is_upload, mcs, queue_packets, wire_ms };
                    all.push(cell);
                }
            }
        }
        all
    }

    /// Length of a run. The slower the hop, the longer the first cycles of the window.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(if self.mcs == 0 { 40 } else { 20 })
    }

    /// The direction in `kernel.csv`: `up` or `down`.
    pub fn direction(&self) -> &'static str {
        if self.is_upload { "up" } else { "down" }
    }

    /// Share of this machine that an emulation needs, 0 to 1, with a reserve that keeps
    /// it from being late.
    pub fn load(&self) -> f64 {
        match self.mcs {
            0 => 0.125,
            7 => 0.34,
            _ => 0.5,
        }
    }

    /// Number of emulated runs needed.
    pub fn emulated_runs(&self) -> u64 {
        let capacity_mbps = match self.mcs {
            0 => 5,
            7 => 53,
            _ => 104,
        };
        let pipe_packets = capacity_mbps * 1_000 * 2 * self.wire_ms / (8 * 1_500);
        if self.queue_packets < pipe_packets { RUNS_SHORT_QUEUE } else { 1 }
    }

    /// Largest acceptable lateness of frames, which is small compared with the
    /// round-trip times of the cell: at MCS 0 the air time of one packet of 1 500 bytes
    /// is 2 ms.
    fn lateness_max_ms(&self) -> u32 {
        if self.mcs == 0 { 5 } else { 2 }
    }

    /// The scenario file.
    pub fn toml(&self) -> String {
        let ends = if self.is_upload { ["laptop", "server"] } else { ["server", "laptop"] };
        let control = self.congestion_control;
        format!(
            r#"name = "kernel"
duration = "{duration}"
series_interval = "50ms"
seed = {SEED}

[channel]
standard = "802.11n"
band = "5GHz"
width = "20MHz"

[node_defaults]
streams = 2
rate_control = {{ kind = "fixed", mcs = {mcs} }}
queue = {{ kind = "drop-tail", packets = {queue} }}

{hop}
{flow}
[emulation]
lateness_max = "{lateness_max}ms"
"#,
            lateness_max = self.lateness_max_ms(),
            duration = self.duration(),
            mcs = self.mcs,
            queue = self.queue_packets,
            hop = hop("laptop", "position = [\"2m\", \"0m\"]", &format!("{}ms", self.wire_ms)),
            flow = flow(
                "data",
                ends,
                "tcp",
                &format!("congestion_control = {control:?}\ntcp = {{ send_offload = true }}")
            ),
        )
    }

    /// The scenario of that file.
    ///
    /// # Panics
    /// If the text is not a valid scenario.
    pub fn scenario(&self) -> Scenario {
        let text = self.toml();
        lasthop_scenario::parse("kernel.toml", &text, &[])
            .unwrap_or_else(|error| panic!("cells make sound scenarios: {error:?}\n{text}"))
    }

    /// Simulates run `run`.
    ///
    /// # Panics
    /// If the scenario cannot be simulated.
    pub fn simulate(&self, run: u64) -> KernelMeasured {
        let scenario = self.scenario().without_small_queues();
        let mut readings = Readings::default();
        let stats = lasthop_sim::simulate(
            &scenario,
            Seed::new(SEED, run),
            &mut readings,
            &mut lasthop_sim::go_on,
        );
        let stats = stats.expect("one TCP flow over one cell can be simulated");
        readings.measured(&stats, self.sender(&scenario))
    }

    /// Emulates run `run` with the kernel's TCP, in real time.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn emulate(&self, run: u64) -> Result<Emulated, EmulateError> {
        let scenario = self.scenario();
        let mut readings = Readings::default();
        let options = EmulateOptions { run, ..EmulateOptions::default() };
        let outcome: EmulateOutcome =
            lasthop_emulate::emulate(&scenario, &options, &mut readings, &mut |_, _| {})?;
        let lateness_ns = outcome.lateness_ns.quantile(0.999).unwrap_or(0);
        let is_served = readings.begun.is_some_and(|at| at < Instant::ZERO + BEGUN_MAX)
            && readings.still < STILL_MAX;
        Ok(Emulated {
            measured: readings.measured(&outcome.stats, self.sender(&scenario)),
            lateness_us: f64::from(lateness_ns) / 1e3,
            cpu_us: outcome.cpu.as_micros_f64()
                / (outcome.frames_entered + outcome.frames_delivered).max(1) as f64,
            is_late: outcome.late || outcome.frames_lost_outside > 0 || !is_served,
        })
    }

    /// The node whose queue the flow fills.
    fn sender(&self, scenario: &Scenario) -> NodeId {
        let name = if self.is_upload { "laptop" } else { "ap" };
        scenario.node(name).expect("the file names it")
    }

    /// The line of a run in the file, for the running kernel.
    pub fn line(&self, run: u64, emulated: &Emulated, clock: Clock) -> String {
        self.line_of(run, emulated, &kernel_release(), clock)
    }

    fn line_of(&self, run: u64, emulated: &Emulated, kernel: &str, clock: Clock) -> String {
        let KernelMeasured {
            goodput_mbps,
            queue_mean_packets,
            rtt_median_ms,
            cwnd_mean_packets,
            retransmissions,
        } = emulated.measured;
        format!(
            "{},{},{},{},{},{run},{},{goodput_mbps:.4},{queue_mean_packets:.3},{rtt_median_ms:.3},\
             {cwnd_mean_packets:.2},{retransmissions},{:.1},{:.2},{kernel},{}",
            self.congestion_control,
            self.direction(),
            self.mcs,
            self.queue_packets,
            self.wire_ms,
            self.duration().as_secs_f64(),
            emulated.lateness_us,
            emulated.cpu_us,
            clock.name(),
        )
    }

    fn is_of(&self, record: &Record) -> bool {
        record.text("congestion_control") == self.congestion_control
            && record.text("direction") == self.direction()
            && record.whole("mcs") == self.mcs
            && record.whole("queue_packets") == self.queue_packets
            && record.whole("wire_ms") == self.wire_ms
    }
}

/// The results of the emulated runs so far.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelStore {
    records: Vec<Record>,
}

impl KernelStore {
    /// Reads `data/kernel.csv`; no results if it does not exist.
    pub fn read() -> Self {
        Self { records: KEPT.records() }
    }

    /// The results of the runs of a cell.
    pub fn runs(&self, cell: &KernelCell) -> Vec<KernelMeasured> {
        let of = |record: &&Record| cell.is_of(record);
        self.records.iter().filter(of).map(measured).collect()
    }

    /// The numbers of the runs of a cell.
    pub fn numbers(&self, cell: &KernelCell) -> Vec<u64> {
        let of = |record: &&Record| cell.is_of(record);
        self.records.iter().filter(of).map(|record| u64::from(record.whole("run"))).collect()
    }

    /// Mean CPU time of the emulating thread per frame, in microseconds.
    pub fn cpu_us(&self) -> f64 {
        let sum: f64 = self.records.iter().map(|record| record.number("cpu_us_per_frame")).sum();
        sum / (self.records.len() as f64).max(1.0)
    }

    /// The kernels and clocks of the results, once each, as text.
    pub fn kernels(&self) -> Vec<String> {
        let words = |record: &Record| {
            let kernel = record.text("kernel");
            if record.text("clock") == Clock::Instructions.name() {
                format!(
                    "Linux {kernel}, in a QEMU guest whose clock counts instructions, one \
                     nanosecond each"
                )
            } else {
                format!("Linux {kernel}, in real time")
            }
        };
        let mut kernels: Vec<_> = self.records.iter().map(words).collect();
        kernels.sort_unstable();
        kernels.dedup();
        kernels
    }

    /// Whether there are results of another clock.
    pub fn has_others_than(&self, clock: Clock) -> bool {
        self.records.iter().any(|record| record.text("clock") != clock.name())
    }

    /// The lateness in microseconds of the run that was latest (its 99.9th percentile).
    pub fn lateness_us(&self) -> f64 {
        let of = |record: &Record| record.number("lateness_p99_9_us");
        self.records.iter().map(of).fold(0.0, f64::max)
    }

    /// Appends the line of a run. Several processes may do so concurrently.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(line: &str) -> io::Result<()> {
        KEPT.append(&[line.to_owned()])
    }
}

fn measured(record: &Record) -> KernelMeasured {
    KernelMeasured {
        goodput_mbps: record.number("goodput_mbps"),
        queue_mean_packets: record.number("queue_mean_packets"),
        rtt_median_ms: record.number("rtt_median_ms"),
        cwnd_mean_packets: record.number("cwnd_mean_packets"),
        retransmissions: record.number("retransmissions"),
    }
}

/// The version of the running kernel without its local suffix, such as `6.18.44`.
pub(crate) fn kernel_release() -> String {
    let release = nix::sys::utsname::uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default();
    release.split(['-', '+']).next().unwrap_or_default().to_owned()
}

/// The readings of the only TCP sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings {
    round_trips: Vec<Duration>,
    windows: Vec<u32>,
    /// The first reading that has a round-trip time; `None` so far.
    begun: Option<Instant>,
    /// The last reading in which more bytes were acknowledged; and the longest time
    /// between two such readings.
    progress_at: Instant,
    still: Duration,
    last: Option<(Instant, TcpSample)>,
}

impl Sink for Readings {
    fn tcp(&mut self, now: Instant, _flow: FlowId, sample: &TcpSample) {
        if !sample.smoothed_rtt.is_zero() {
            self.round_trips.push(sample.smoothed_rtt);
            self.begun.get_or_insert(now);
        }
        self.windows.push(sample.cwnd_packets);
        if self.last.is_none_or(|(_, last)| sample.bytes_acked > last.bytes_acked) {
            self.still = self.still.max(now.saturating_since(self.progress_at));
            self.progress_at = now;
        }
        self.last = Some((now, *sample));
    }
}

impl Readings {
    pub(crate) fn measured(mut self, stats: &NetworkStats, sender: NodeId) -> KernelMeasured {
        self.round_trips.sort_unstable();
        let median = self.round_trips.get(self.round_trips.len() / 2);
        let (end, last) = self.last.unwrap_or_default();
        let station = stats.stations.iter().find(|(node, _)| *node == sender);
        let windows: f64 = self.windows.iter().copied().map(f64::from).sum();
        KernelMeasured {
            goodput_mbps: last.bytes_acked as f64 * 8e-6 / end.as_secs_f64().max(1e-9),
            queue_mean_packets: station
                .and_then(|(_, stats)| stats.queue_packets.mean())
                .unwrap_or(0.0),
            rtt_median_ms: median.map_or(0.0, |median| median.as_millis_f64()),
            cwnd_mean_packets: windows / (self.windows.len() as f64).max(1.0),
            retransmissions: last.retransmissions as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_108_cells_and_each_makes_a_scenario() {
        let all = KernelCell::all();
        assert_eq!(all.len(), 108);
        for cell in all {
            assert_eq!(cell.scenario().flows.len(), 1);
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let cell = KernelCell::all()[40];
        let measured = KernelMeasured {
            goodput_mbps: 93.25,
            queue_mean_packets: 812.5,
            rtt_median_ms: 61.5,
            cwnd_mean_packets: 900.25,
            retransmissions: 12.0,
        };
        let emulated = Emulated { measured, lateness_us: 180.0, cpu_us: 9.5, is_late: false };
        let text = KEPT.with_header([cell.line_of(0, &emulated, "6.18", Clock::Real)]);
        let store = KernelStore { records: crate::validate::data::records(text.leak()) };
        assert_eq!((store.runs(&cell), store.numbers(&cell)), (vec![measured], vec![0]));
        assert_eq!(store.runs(&KernelCell::all()[0]), []);
        assert_eq!(store.kernels(), ["Linux 6.18, in real time"]);
        assert!(store.has_others_than(Clock::Instructions) && !store.has_others_than(Clock::Real));
    }
}
