//! The results of the runs of a case, and the targets that a tunnel must reach. Rates
//! are TCP payload in Mb/s: UDP counts as if its packets were TCP segments of the same
//! length. Delays are round-trip times of pings in milliseconds. Shares of a bottleneck
//! are shares of TCP goodput: two tunnels are compared by the flows in them.

use super::{Line, Medium, PathBeside, PathCase, PathFamily, PathLosses, PathRun, Role, Written};
use crate::Verdict;
use crate::table::{Row, Table};
use lasthop_hosts::{FrancReport, Sink, TcpSample};
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant, Seed};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Seed of all runs.
const SEED: u64 = 1;
/// Length of destination, source and EtherType, which a wire counts besides the packet.
const ETHERNET_HEADER_BYTES: u32 = 14;
/// Payload of a TCP segment in proportion to its IP packet: IPv4, TCP with timestamps.
const TCP_PAYLOAD: f64 = 1_448.0 / 1_500.0;

/// Minimum goodput in proportion to what the path carries, for a tunnel alone on it.
const GOODPUT_TARGET: f64 = 0.90;
/// The same for long round trips and for bursts of losses.
const HARD_GOODPUT_TARGET: f64 = 0.85;
/// The round-trip time above which a path is long.
const LONG: Duration = Duration::from_millis(100);
/// Minimum goodput in proportion to CUBIC without the tunnel, on paths without losses.
const PLAIN_TARGET: f64 = 0.95;
/// Largest difference of the 95th percentiles of round-trip times, in the tunnel and on
/// the empty path.
const ADDED_TARGET_MS: f64 = 40.0;
/// The same in bursts of losses.
const BURSTS_ADDED_TARGET_MS: f64 = 60.0;
/// Range of the goodput in proportion to a fair share, beside TCP flows.
const FAIR_TARGET: [f64; 2] = [0.5, 1.5];
/// Minimum goodput of the slower of two tunnels in proportion to the faster.
const TUNNELS_TARGET: f64 = 0.8;

/// A new rate must be found within this number of round trips, or the time below,
/// whichever is longer.
const FOUND_ROUND_TRIPS: u64 = 5;
/// Time within which a new rate must be found on a path with a short round trip.
const FOUND_TIME: Duration = Duration::from_millis(500);
/// A rate is found when this share of it arrives ..
const FOUND_SHARE: f64 = 0.8;
/// .. within a window of this length ..
const FOUND_WINDOW: Duration = Duration::from_millis(100);
/// .. and no later datagram waits longer than this in queues.
const FOUND_QUEUE: Duration = Duration::from_millis(40);

/// The results of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct PathOutcome {
    /// Goodput of UDP without the tunnel in Mb/s, the capacity of the path.
    pub carries_mbps: f64,
    /// Goodput of one CUBIC flow without the tunnel in Mb/s; `None` if not measured.
    pub plain_mbps: Option<f64>,
    /// Goodput of one CUBIC flow in the tunnel in Mb/s.
    pub tunnel_mbps: f64,
    /// Goodput of each flow beside the tunnel in Mb/s.
    pub other_mbps: Vec<f64>,
    /// Round-trip times on the empty path in ms: median and 95th percentile.
    pub empty_ms: [f64; 2],
    /// Round-trip times in the tunnel in ms: median and 95th percentile.
    pub ping_ms: [f64; 2],
    /// Number of pings sent in the tunnel.
    pub pings: usize,
    /// Number of these that were not answered.
    pub pings_lost: usize,
    /// Number of packets that left the tunnel but had not entered it.
    pub corrupt: u64,
    /// Time until a new rate was found; `None` if the rate does not change, or was not
    /// found.
    pub found: Option<Duration>,
}

/// A target that was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// Too small a share of what the path carries.
    Goodput,
    /// Slower than CUBIC without the tunnel, on a path without losses.
    Plain,
    /// Too long round-trip times.
    Delay,
    /// Pings were lost, or none was sent.
    Pings,
    /// Less or more than the fair share.
    Share,
    /// A new rate was not found in time.
    Change,
    /// Packets left the tunnel that had not entered it.
    Corrupt,
}

impl Miss {
    const ALL: [Self; 7] = [
        Self::Goodput,
        Self::Plain,
        Self::Delay,
        Self::Pings,
        Self::Share,
        Self::Change,
        Self::Corrupt,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Plain => "plain",
            Self::Delay => "delay",
            Self::Pings => "pings",
            Self::Share => "share",
            Self::Change => "change",
            Self::Corrupt => "corrupt",
        }
    }
}

impl PathOutcome {
    /// No results yet.
    pub(super) fn nothing() -> Self {
        Self {
            carries_mbps: 0.0,
            plain_mbps: None,
            tunnel_mbps: 0.0,
            other_mbps: Vec::new(),
            empty_ms: [f64::NAN; 2],
            ping_ms: [f64::NAN; 2],
            pings: 0,
            pings_lost: 0,
            corrupt: 0,
            found: None,
        }
    }

    /// Makes all runs of `case` with the seed of run `number`.
    ///
    /// # Panics
    /// If a case does not make a valid scenario.
    pub fn measure(case: &PathCase, number: u64) -> Self {
        let mut outcome = Self::nothing();
        for &run in case.runs() {
            let written = case.write(run);
            let tally = PathTally::simulate(case, &written, Seed::new(SEED, number));
            match run {
                PathRun::Change => {
                    outcome.found = found(
                        &tally.datagrams,
                        Instant::ZERO + case.change_at(),
                        arriving_bps(case),
                    );
                }
                PathRun::Empty => outcome.empty_ms = tally.quantiles_ms(),
                PathRun::Udp => outcome.carries_mbps = tally.udp_mbps(),
                PathRun::Plain => outcome.plain_mbps = Some(tally.tcp_mbps(0)),
                PathRun::Tunnel => {
                    outcome.tunnel_mbps = tally.tcp_mbps(0);
                    let others =
                        (0..written.flows.len()).filter(|&flow| written.flows[flow] == Role::Other);
                    outcome.other_mbps = others.map(|flow| tally.tcp_mbps(flow)).collect();
                    outcome.ping_ms = tally.quantiles_ms();
                    outcome.pings = tally.pings;
                    outcome.pings_lost = tally.pings.saturating_sub(tally.round_trips.len());
                    outcome.corrupt = tally.corrupt;
                }
            }
        }
        outcome
    }

    /// The goodput in the tunnel in proportion to its target: what the path carries, or
    /// a fair share of it if there are flows beside the tunnel.
    pub fn share(&self) -> f64 {
        self.tunnel_mbps * (1.0 + self.other_mbps.len() as f64) / self.carries_mbps
    }

    /// The difference in ms of the 95th percentiles of round-trip times, in the tunnel
    /// and on the empty path.
    pub fn added_ms(&self) -> f64 {
        self.ping_ms[1] - self.empty_ms[1]
    }

    /// The targets that are missed.
    pub fn misses(&self, case: &PathCase) -> Vec<Miss> {
        let mut misses = Vec::new();
        // Comparisons with NaN are false, so a missing value misses its target.
        let mut must = |is_met: bool, miss: Miss| {
            if !is_met {
                misses.push(miss);
            }
        };
        match case.beside {
            // TCP in the tunnel needs time to adapt too, so only the search for the
            // rate is judged.
            PathBeside::Alone if case.changes_to().is_some() => {
                let most = FOUND_TIME.max(case.round_trip() * FOUND_ROUND_TRIPS);
                must(self.found.is_some_and(|found| found <= most), Miss::Change);
                must(self.added_ms() <= added_target_ms(case), Miss::Delay);
            }
            PathBeside::Alone => {
                must(self.share() >= goodput_target(case), Miss::Goodput);
                if let Some(plain) = self.plain_mbps.filter(|_| case.is_lossless()) {
                    must(self.tunnel_mbps >= PLAIN_TARGET * plain, Miss::Plain);
                }
                must(self.added_ms() <= added_target_ms(case), Miss::Delay);
            }
            PathBeside::Tcp(_) => {
                let [least, most] = FAIR_TARGET;
                must((least..=most).contains(&self.share()), Miss::Share);
            }
            PathBeside::Tunnel => {
                let shares = self.other_mbps.iter().copied().chain([self.tunnel_mbps]);
                let least = shares.clone().fold(f64::INFINITY, f64::min);
                let most = shares.fold(0.0, f64::max);
                must(most > 0.0 && least >= TUNNELS_TARGET * most, Miss::Share);
            }
        }
        must(self.pings_lost == 0 && self.pings > 0, Miss::Pings);
        must(self.corrupt == 0, Miss::Corrupt);
        misses
    }

    fn row(&self, case: &PathCase) -> Row {
        let misses = self.misses(case);
        let words: Vec<_> = misses.iter().map(|miss| miss.word()).collect();
        let others: f64 = self.other_mbps.iter().sum();
        let cells = vec![
            case.name.clone(),
            format!("{:.2}", self.carries_mbps),
            self.plain_mbps.map_or("-".into(), |mbps| format!("{mbps:.2}")),
            if self.other_mbps.is_empty() { "-".into() } else { format!("{others:.2}") },
            format!("{:.2}", self.tunnel_mbps),
            format!("{:.0} %", 100.0 * self.share()),
            format!("{:.1}", self.empty_ms[1]),
            format!("{:.1}", self.ping_ms[0]),
            format!("{:.1}", self.added_ms()),
            format!("{} of {}", self.pings_lost, self.pings),
            self.found.map_or("-".into(), |found| format!("{:.0}", found.as_millis_f64())),
            words.join(", "),
        ];
        (cells, Verdict::pass_if(misses.is_empty()))
    }
}

/// The least share of what the path carries that is required.
fn goodput_target(case: &PathCase) -> f64 {
    match case.medium {
        Medium::Line(line)
            if line.round_trip > LONG || matches!(line.losses, PathLosses::Bursts { .. }) =>
        {
            HARD_GOODPUT_TARGET
        }
        _ => GOODPUT_TARGET,
    }
}

/// The longest additional delay that is allowed.
fn added_target_ms(case: &PathCase) -> f64 {
    match case.medium {
        Medium::Line(Line { losses: PathLosses::Bursts { .. }, .. }) => BURSTS_ADDED_TARGET_MS,
        _ => ADDED_TARGET_MS,
    }
}

/// Bits of Ethernet frames per second that arrive if all of the new rate is used.
fn arriving_bps(case: &PathCase) -> f64 {
    let Medium::Line(line) = case.medium else { return f64::NAN };
    let lost = match line.losses {
        PathLosses::None => 0,
        PathLosses::Alone(percent) | PathLosses::Bursts { percent, .. } => percent,
    };
    let rate = line.changes_to.unwrap_or(line.rate);
    rate.as_bps() as f64 * f64::from(100 - lost) / 100.0
}

/// Returns the time from `change` until a rate is found of which `bps` arrive.
/// `datagrams` are in the order of their arrival.
fn found(datagrams: &[Datagram], change: Instant, bps: f64) -> Option<Duration> {
    let least = datagrams.iter().map(|datagram| datagram.on_wires).min()?;
    let waits =
        |datagram: &&Datagram| datagram.at >= change && datagram.on_wires > least + FOUND_QUEUE;
    let from = datagrams.iter().rfind(waits).map_or(change, |datagram| datagram.at);
    let enough = FOUND_SHARE * bps / 8.0 * FOUND_WINDOW.as_secs_f64();
    let after = &datagrams[datagrams.partition_point(|datagram| datagram.at < from)..];
    let (mut bytes, mut next) = (0, 0);
    for first in after {
        while let Some(datagram) = after.get(next).filter(|d| d.at < first.at + FOUND_WINDOW) {
            bytes += u64::from(datagram.frame_bytes);
            next += 1;
        }
        if bytes as f64 >= enough {
            return Some(first.at - change);
        }
        bytes -= u64::from(first.frame_bytes);
    }
    None
}

/// Returns the outcomes of `cases`, in their order, in run `number`, computed on this
/// number of threads. Calls `done` after each case.
///
/// # Panics
/// If a case does not make a valid scenario.
pub fn outcomes(
    cases: &[PathCase],
    number: u64,
    threads: usize,
    done: &(dyn Fn() + Sync),
) -> Vec<PathOutcome> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let outcome = PathOutcome::measure(case, number);
                    results.lock().expect("no thread panics with it")[index] = Some(outcome);
                    done();
                }
            });
        }
    });
    let results = results.into_inner().expect("no thread panicked");
    results.into_iter().map(|outcome| outcome.expect("all were run")).collect()
}

/// The table of the outcomes of `cases`.
pub fn table(cases: &[PathCase], outcomes: &[PathOutcome]) -> Table {
    Table {
        title: "FRANC, paths of all kinds, virtual time",
        text: format!(
            "One CUBIC flow and a ping every 100 ms (25 ms from 30 Mb/s on) in the tunnel. *Carries* is UDP \
             above capacity, *CUBIC* one flow, both without the tunnel; *others* is the total of the \
             flows beside it; *share* is relative to *carries*, or to a fair share of it. \
             Delays are round trips in ms. Targets: {:.0} % of *carries* ({:.0} % for round trips \
             above {LONG} and in bursts), {:.0} % of CUBIC without losses, 95 % of the pings at most \
             {ADDED_TARGET_MS} ms ({BURSTS_ADDED_TARGET_MS} ms in bursts) above those of the empty \
             path, none lost; {} to {} fair shares beside TCP; two tunnels within 20 %; a new rate \
             *found* within {FOUND_TIME} or {FOUND_ROUND_TRIPS} round trips, that is {:.0} % of it \
             used and queues below {FOUND_QUEUE}.",
            100.0 * GOODPUT_TARGET,
            100.0 * HARD_GOODPUT_TARGET,
            100.0 * PLAIN_TARGET,
            FAIR_TARGET[0],
            FAIR_TARGET[1],
            100.0 * FOUND_SHARE,
        ),
        columns: vec![
            "path",
            "carries",
            "CUBIC",
            "others",
            "FRANC",
            "share",
            "path p95",
            "ping p50",
            "added p95",
            "pings lost",
            "found",
            "misses",
        ],
        rows: cases.iter().zip(outcomes).map(|(case, outcome)| outcome.row(case)).collect(),
        notes: Vec::new(),
    }
}

/// The table of families: how many of their cases pass, and the range of their results.
pub fn summary(cases: &[PathCase], outcomes: &[PathOutcome]) -> Table {
    let all: Vec<_> = cases.iter().zip(outcomes).collect();
    let rows = PathFamily::ALL.into_iter().filter_map(|family| {
        let mine: Vec<_> = all.iter().filter(|(case, _)| case.family == family).collect();
        let passed = mine.iter().filter(|(case, o)| o.misses(case).is_empty()).count();
        let sorted = |value: fn(&PathOutcome) -> f64| {
            let mut values: Vec<f64> = mine.iter().map(|(_, outcome)| value(outcome)).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (shares, added) = (sorted(PathOutcome::share), sorted(PathOutcome::added_ms));
        let missed = |miss: Miss| {
            let count = mine.iter().filter(|(case, o)| o.misses(case).contains(&miss)).count();
            (count > 0).then(|| format!("{count} {}", miss.word()))
        };
        let cells = vec![
            family.name().to_owned(),
            format!("{passed} of {}", mine.len()),
            format!("{:.0} %", 100.0 * shares.first()?),
            format!("{:.0} %", 100.0 * shares[shares.len() / 2]),
            format!("{:.0} %", 100.0 * shares.last()?),
            format!("{:.1}", added[added.len() / 2]),
            format!("{:.1}", added.last()?),
            Miss::ALL.into_iter().filter_map(missed).collect::<Vec<_>>().join(", "),
        ];
        Some((cells, Verdict::pass_if(passed == mine.len())))
    });
    Table {
        title: "FRANC, families of paths",
        text: "Shares of the path's capacity (alone), or of a fair share of it; *added p95*: 95 % \
               of the pings in the tunnel less 95 % of those of the empty path, in ms; *misses*: \
               cases outside a target."
            .into(),
        columns: vec![
            "family",
            "pass",
            "least share",
            "median",
            "most",
            "added p95, median",
            "most",
            "misses",
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The sink that collects the measurements of a run.
#[derive(Debug)]
struct PathTally {
    from: Instant,
    measured: Duration,
    /// The flow of the pings; `None` if there are no pings.
    flow: Option<FlowId>,
    ends: [NodeId; 2],
    pings: usize,
    round_trips: Vec<Duration>,
    /// Network-layer bytes of the first flow that arrived at the other end.
    arrived_bytes: u64,
    /// First and last reading of the bytes acknowledged, for each flow.
    acked: Vec<Option<[(Instant, u64); 2]>>,
    corrupt: u64,
    /// Datagrams of the tunnel that arrived at the other end; kept only if the rate
    /// changes.
    datagrams: Vec<Datagram>,
    keeps_datagrams: bool,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Datagram {
    at: Instant,
    /// Time on wires, queues included.
    on_wires: Duration,
    /// Length with the Ethernet header.
    frame_bytes: u32,
}

impl PathTally {
    fn simulate(case: &PathCase, written: &Written, seed: Seed) -> Self {
        let times = case.times();
        let scenario = lasthop_scenario::parse("path.toml", &written.toml, &[])
            .unwrap_or_else(|why| panic!("{}: {why}\n{}", case.name, written.toml));
        let ends = written.ends.map(|name| {
            let index = scenario.nodes.iter().position(|node| node.name == name);
            NodeId(index.expect("it is one of the nodes") as u16)
        });
        let pings = written.flows.iter().position(|&role| role == Role::Ping);
        let mut tally = Self {
            from: Instant::ZERO + times.warmup,
            measured: times.measured,
            flow: pings.map(|flow| FlowId(flow as u16)),
            ends,
            pings: 0,
            round_trips: Vec::new(),
            arrived_bytes: 0,
            acked: vec![None; written.flows.len()],
            corrupt: 0,
            datagrams: Vec::new(),
            keeps_datagrams: case.changes_to().is_some(),
        };
        lasthop_sim::simulate(&scenario, seed, &mut tally, &mut lasthop_sim::go_on)
            .unwrap_or_else(|why| panic!("{}: {why}", case.name));
        tally.round_trips.sort_unstable();
        tally
    }

    fn udp_mbps(&self) -> f64 {
        TCP_PAYLOAD * self.arrived_bytes as f64 * 8e-6 / self.measured.as_secs_f64()
    }

    fn tcp_mbps(&self, flow: usize) -> f64 {
        let Some([first, last]) = self.acked[flow] else { return 0.0 };
        (last.1 - first.1) as f64 * 8e-6 / (last.0 - first.0).as_secs_f64()
    }

    /// Median and 95th percentile of the round-trip times in ms; NaN without any.
    fn quantiles_ms(&self) -> [f64; 2] {
        let last = self.round_trips.len().saturating_sub(1) as f64;
        [0.5, 0.95].map(|share| {
            let index = (share * last).round() as usize;
            self.round_trips.get(index).map_or(f64::NAN, |rtt| rtt.as_millis_f64())
        })
    }
}

impl Sink for PathTally {
    fn sent(&mut self, _now: Instant, packet: &Packet) {
        let is_ping = Some(packet.flow) == self.flow && packet.source == self.ends[0];
        self.pings += usize::from(is_ping);
    }

    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        if now < self.from || node != self.ends[1] || packet.source != self.ends[0] {
            return;
        }
        if packet.flow == FlowId(0) {
            self.arrived_bytes += u64::from(packet.bytes);
        }
        if packet.flow == FlowId::NONE && self.keeps_datagrams {
            let frame_bytes = u32::from(packet.bytes) + ETHERNET_HEADER_BYTES;
            self.datagrams.push(Datagram { at: now, on_wires: packet.parts.wire, frame_bytes });
        }
    }

    fn round_trip(&mut self, _now: Instant, flow: FlowId, rtt: Duration) {
        if Some(flow) == self.flow {
            self.round_trips.push(rtt);
        }
    }

    fn tcp(&mut self, now: Instant, flow: FlowId, sample: &TcpSample) {
        if now >= self.from
            && let Some(acked) = self.acked.get_mut(usize::from(flow.0))
        {
            let reading = (now, sample.bytes_acked);
            acked.get_or_insert([reading; 2])[1] = reading;
        }
    }

    fn franc(&mut self, _now: Instant, _link: usize, report: &FrancReport) {
        self.corrupt += report.corrupt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams in frames of 1 000 bytes. Each part gives a number, the time in ms
    /// between them, and their time in queues in ms.
    fn datagrams(parts: &[(usize, f64, f64)]) -> Vec<Datagram> {
        let mut at = Instant::ZERO;
        let mut datagrams = Vec::new();
        for &(count, gap_ms, wait_ms) in parts {
            for _ in 0..count {
                at += Duration::from_secs_f64(gap_ms / 1e3);
                let on_wires = Duration::from_secs_f64((10.0 + wait_ms) / 1e3);
                datagrams.push(Datagram { at, on_wires, frame_bytes: 1_000 });
            }
        }
        datagrams
    }

    #[test]
    fn a_rate_is_found_when_it_is_used_and_queues_are_short() {
        // 8 Mb/s are one frame per millisecond, 4 Mb/s one frame in two.
        let change = Instant::ZERO + Duration::from_secs(1);
        let doubles = datagrams(&[(500, 2.0, 0.0), (150, 2.0, 0.0), (900, 1.0, 0.0)]);
        let after = found(&doubles, change, 8e6).expect("it is found");
        // A window counts when four fifths of the rate arrive in it, which 60 ms of the
        // higher rate in its 100 ms achieve.
        let expected = Duration::from_millis(300 - 42);
        assert!(after >= expected && after < Duration::from_millis(300), "{after}");
        let halves = datagrams(&[(1_000, 1.0, 0.0), (200, 2.0, 60.0), (500, 2.0, 5.0)]);
        let after = found(&halves, change, 4e6).expect("it is found");
        assert_eq!(after, Duration::from_millis(400));
        // Short queues, because too little is sent, are not enough.
        let starves = datagrams(&[(1_000, 1.0, 0.0), (20, 2.0, 60.0), (300, 4.0, 0.0)]);
        assert_eq!(found(&starves, change, 4e6), None);
        assert_eq!(found(&[], change, 4e6), None);
    }
}
