//! What the runs of a case gave, and whether it is what a tunnel must reach.
//!
//! Rates are of TCP payload in Mb/s: what UDP carries counts as if its packets were TCP's
//! of the same length. Delays are round trips of pings in milliseconds. What a share of a
//! bottleneck is, its TCP flows say: two tunnels are compared by the flows in them.

use super::{Beside, Case, Half, Losses, Medium, Role, Run, Written};
use crate::table::{Row, Table, Verdict};
use lasthop_net::{FrancReport, NodeId, Sink, TcpSample};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::{FlowId, Packet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of every run.
const SEED: u64 = 1;
/// Payload of a TCP segment over that of its packet: IPv4, TCP and its timestamps.
const TCP_PAYLOAD: f64 = 1_448.0 / 1_500.0;

/// Of what the path carries, alone on it.
const GOODPUT_TARGET: f64 = 0.90;
/// The same on long round trips and in bursts.
const HARD_GOODPUT_TARGET: f64 = 0.85;
/// Round trips beyond this are long.
const LONG: Duration = Duration::from_millis(100);
/// Of plain CUBIC where nothing is lost.
const PLAIN_TARGET: f64 = 0.95;
/// 95 % of the round trips in the tunnel, above those of the empty path.
const ADDED_TARGET_MS: f64 = 40.0;
/// Of a fair share, beside TCP flows.
const FAIR_TARGET: [f64; 2] = [0.5, 1.5];
/// The smaller of two tunnels' shares over the larger.
const TUNNELS_TARGET: f64 = 0.8;

/// What was measured of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What the path carries.
    pub carries_mbps: f64,
    /// One CUBIC flow without the tunnel, where it was measured.
    pub plain_mbps: Option<f64>,
    /// One CUBIC flow in the tunnel.
    pub tunnel_mbps: f64,
    /// The flows beside it.
    pub other_mbps: Vec<f64>,
    /// Round trips on the empty path: median and 95 %.
    pub empty_ms: [f64; 2],
    /// Round trips in the tunnel: median and 95 %.
    pub ping_ms: [f64; 2],
    /// Pings in the tunnel.
    pub pings: usize,
    /// Those without an answer.
    pub pings_lost: usize,
    /// Packets that came out of the tunnel and had not gone in.
    pub corrupt: u64,
}

/// A target that was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// Too little of what the path carries.
    Goodput,
    /// Slower than plain CUBIC where nothing is lost.
    Plain,
    /// Too long a queue.
    Delay,
    /// Pings were lost.
    Pings,
    /// Less or more than a fair share.
    Share,
    /// Packets came out that had not gone in.
    Corrupt,
}

impl Miss {
    const fn word(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Plain => "plain",
            Self::Delay => "delay",
            Self::Pings => "pings",
            Self::Share => "share",
            Self::Corrupt => "corrupt",
        }
    }
}

impl Outcome {
    /// Runs all that `case` is judged by.
    ///
    /// # Panics
    /// If a case makes no sound scenario.
    pub fn of(case: &Case) -> Self {
        let mut outcome = Self {
            carries_mbps: 0.0,
            plain_mbps: None,
            tunnel_mbps: 0.0,
            other_mbps: Vec::new(),
            empty_ms: [f64::NAN; 2],
            ping_ms: [f64::NAN; 2],
            pings: 0,
            pings_lost: 0,
            corrupt: 0,
        };
        for &run in case.runs() {
            let written = case.write(run);
            let tally = Tally::of(case, &written);
            match run {
                Run::Empty => outcome.empty_ms = tally.quantiles_ms(),
                Run::Udp => outcome.carries_mbps = tally.udp_mbps(),
                Run::Plain => outcome.plain_mbps = Some(tally.tcp_mbps(0)),
                Run::Tunnel => {
                    outcome.tunnel_mbps = tally.tcp_mbps(0);
                    let others = (0..written.flows.len())
                        .filter(|&flow| written.flows[flow] == Role::Other);
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

    /// What the tunnel got of what it should: of all that the path carries, or of a fair share.
    pub fn share(&self) -> f64 {
        self.tunnel_mbps * (1.0 + self.other_mbps.len() as f64) / self.carries_mbps
    }

    /// 95 % of the round trips in the tunnel, above those of the empty path.
    pub fn added_ms(&self) -> f64 {
        self.ping_ms[1] - self.empty_ms[1]
    }

    /// The targets that were missed.
    pub fn misses(&self, case: &Case) -> Vec<Miss> {
        let mut misses = Vec::new();
        // A figure that is not a number misses, too.
        let mut must = |is_met: bool, miss: Miss| {
            if !is_met {
                misses.push(miss);
            }
        };
        match case.beside {
            Beside::Alone => {
                must(self.share() >= goodput_target(case), Miss::Goodput);
                if let Some(plain) = self.plain_mbps.filter(|_| case.is_lossless()) {
                    must(self.tunnel_mbps >= PLAIN_TARGET * plain, Miss::Plain);
                }
                must(self.added_ms() <= ADDED_TARGET_MS, Miss::Delay);
            }
            Beside::Tcp(_) => {
                let [least, most] = FAIR_TARGET;
                must((least..=most).contains(&self.share()), Miss::Share);
            }
            Beside::Tunnel => {
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

    fn row(&self, case: &Case) -> Row {
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
            words.join(", "),
        ];
        (cells, Verdict::of(misses.is_empty()))
    }
}

/// Of what the path carries.
fn goodput_target(case: &Case) -> f64 {
    match case.medium {
        Medium::Line(line)
            if line.round_trip > LONG || matches!(line.losses, Losses::Bursts { .. }) =>
        {
            HARD_GOODPUT_TARGET
        }
        _ => GOODPUT_TARGET,
    }
}

/// The outcomes of `cases`, in their order, on so many threads; `done` after each.
///
/// # Panics
/// If a case makes no sound scenario.
pub fn outcomes(cases: &[Case], threads: usize, done: &(dyn Fn() + Sync)) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let outcome = Outcome::of(case);
                    results.lock().expect("no thread panics with it")[index] = Some(outcome);
                    done();
                }
            });
        }
    });
    let results = results.into_inner().expect("no thread panicked");
    results.into_iter().map(|outcome| outcome.expect("all were run")).collect()
}

/// The table of what came out of `cases`.
pub fn table(cases: &[Case], outcomes: &[Outcome], half: Option<Half>) -> Table {
    let half = match half {
        None => "both halves of the grid",
        Some(Half::Tuned) => "the half of the grid that constants may be chosen with",
        Some(Half::Judged) => "the half of the grid that is kept out of every choice",
    };
    Table {
        title: "FRANC, paths of all kinds, virtual time",
        text: format!(
            "One CUBIC flow and a ping every 100 ms in the tunnel; {half}. *Carries* is UDP that asks \
             for more than there is, *CUBIC* one flow, both without the tunnel; *others* is what the flows \
             beside it got together; *share* is of what the path carries, or of a fair share of it. \
             Delays are round trips in ms. Targets: {:.0} % of what the path carries ({:.0} % for round trips \
             above {LONG} and in bursts), {:.0} % of CUBIC where nothing is lost, 95 % of the pings at most \
             {ADDED_TARGET_MS} ms above those of the empty path, none lost; {} to {} fair shares beside TCP; two \
             tunnels within 20 %.",
            100.0 * GOODPUT_TARGET,
            100.0 * HARD_GOODPUT_TARGET,
            100.0 * PLAIN_TARGET,
            FAIR_TARGET[0],
            FAIR_TARGET[1],
        ),
        columns: vec![
            "path", "carries", "CUBIC", "others", "FRANC", "share", "path p95", "ping p50", "added p95",
            "pings lost", "misses",
        ],
        rows: cases.iter().zip(outcomes).map(|(case, outcome)| outcome.row(case)).collect(),
        notes: Vec::new(),
    }
}

/// What a run tells.
#[derive(Debug)]
struct Tally {
    from: Instant,
    measured: Duration,
    /// Of the pings.
    flow: Option<FlowId>,
    source: NodeId,
    pings: usize,
    round_trips: Vec<Duration>,
    /// Network-layer bytes of the first flow that arrived at the other end.
    arrived_bytes: u64,
    /// By flow: the first and the last reading of what was acknowledged, and when.
    acked: Vec<Option<[(Instant, u64); 2]>>,
    corrupt: u64,
}

impl Tally {
    fn of(case: &Case, written: &Written) -> Self {
        let times = case.times();
        let scenario = lasthop_scenario::parse("path.toml", &written.toml, &[])
            .unwrap_or_else(|why| panic!("{}: {why}\n{}", case.name, written.toml));
        let source = scenario.nodes.iter().position(|node| node.name == written.source);
        let pings = written.flows.iter().position(|&role| role == Role::Ping);
        let mut tally = Self {
            from: Instant::ZERO + times.warmup,
            measured: times.measured,
            flow: pings.map(|flow| FlowId(flow as u16)),
            source: NodeId(source.expect("it is one of the nodes") as u16),
            pings: 0,
            round_trips: Vec::new(),
            arrived_bytes: 0,
            acked: vec![None; written.flows.len()],
            corrupt: 0,
        };
        lasthop_sim::run(&scenario, Seed::new(SEED, 0), &mut tally, |_| {})
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

    /// Median and 95 % of the round trips.
    fn quantiles_ms(&self) -> [f64; 2] {
        let last = self.round_trips.len().saturating_sub(1) as f64;
        [0.5, 0.95].map(|share| {
            let index = (share * last).round() as usize;
            self.round_trips.get(index).map_or(f64::NAN, |rtt| rtt.as_millis_f64())
        })
    }
}

impl Sink for Tally {
    fn sent(&mut self, _now: Instant, packet: &Packet) {
        let is_ping = Some(packet.flow) == self.flow && packet.source == self.source.0;
        self.pings += usize::from(is_ping);
    }

    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        if packet.flow == FlowId(0) && packet.source == self.source.0 && now >= self.from {
            self.arrived_bytes += u64::from(packet.bytes);
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
