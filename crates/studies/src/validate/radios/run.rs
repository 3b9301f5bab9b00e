//! A simulated run as the measurements saw theirs: bytes that each TCP sender's socket accepted over
//! time, as netperf counts them, each ping's round trip, air time by receiver. Times are seconds since
//! the run began, rates Mb/s, round trips ms.

use lasthop_hosts::{FlowKind, Sink, TcpSample};
use lasthop_packet::FlowId;
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, Seed};

/// Seed of all runs, which differ by their number.
const SEED: u64 = 1;
/// A scan is a group of at least this many pings ..
const SCAN_PINGS: usize = 4;
/// .. above this round trip in ms ..
const SCAN_MS: f64 = 45.0;
/// .. no more than this many seconds apart.
const SCAN_GAP_S: f64 = 4.0;
/// Bins of a second count as outside if they end this many seconds before a scan ..
const BEFORE_S: f64 = 1.5;
/// .. or begin this many seconds after it.
const BEHIND_S: f64 = 3.0;

/// The records of a run.
#[derive(Clone, Debug, Default)]
pub struct RadioRun {
    /// First and last second of the measurement.
    pub window: [f64; 2],
    /// Time and bytes that the socket has accepted, for each TCP flow.
    pub senders: Vec<Vec<(f64, u64)>>,
    /// Congestion window and slow start threshold at the end, for each TCP flow.
    pub windows: Vec<(u32, Option<u32>)>,
    /// Time of the answer and round trip, for each ping flow.
    pub pings: Vec<Vec<(f64, f64)>>,
    /// Time on the air of data to and from each node in seconds, as ath9k counts it for stations, in
    /// the order of nodes.
    pub air: Vec<f64>,
}

/// The series of a run that a flow fills.
#[derive(Clone, Copy, Debug)]
enum RadioSeries {
    Sender(usize),
    Pings(usize),
    Other,
}

struct RadioSink {
    run: RadioRun,
    series: Vec<RadioSeries>,
}

impl RadioSink {
    fn series(&self, flow: FlowId) -> RadioSeries {
        self.series.get(flow.0 as usize).copied().unwrap_or(RadioSeries::Other)
    }
}

impl Sink for RadioSink {
    fn tcp(&mut self, now: Instant, flow: FlowId, sample: &TcpSample) {
        if let RadioSeries::Sender(index) = self.series(flow) {
            let written = sample.bytes_written.expect("the model's stack reports it");
            self.run.senders[index].push((now.as_secs_f64(), written));
            self.run.windows[index] = (sample.cwnd_packets, sample.ssthresh_packets);
        }
    }

    fn round_trip(&mut self, now: Instant, flow: FlowId, rtt: Duration) {
        if let RadioSeries::Pings(index) = self.series(flow) {
            self.run.pings[index].push((now.as_secs_f64(), rtt.as_millis_f64()));
        }
    }
}

impl RadioRun {
    /// Makes run `number` of `scenario` and keeps flows whose names begin with `prefix`.
    ///
    /// # Panics
    /// If the scenario cannot be simulated.
    pub fn simulate(scenario: &Scenario, prefix: &str, number: u64) -> Self {
        let mut sink = RadioSink { run: Self::default(), series: Vec::new() };
        for flow in &scenario.flows {
            let run = &mut sink.run;
            sink.series.push(match flow.kind {
                _ if !flow.name.starts_with(prefix) => RadioSeries::Other,
                FlowKind::Tcp(_) => {
                    run.senders.push(Vec::new());
                    run.windows.push((0, None));
                    RadioSeries::Sender(run.senders.len() - 1)
                }
                FlowKind::Ping { .. } => {
                    run.pings.push(Vec::new());
                    RadioSeries::Pings(run.pings.len() - 1)
                }
                _ => RadioSeries::Other,
            });
        }
        let seed = Seed::new(SEED, number);
        let stats = lasthop_sim::simulate(scenario, seed, &mut sink, &mut lasthop_sim::go_on);
        let stats = stats.expect("scenarios of the crate can be simulated");
        let mut run = sink.run;
        run.window = [scenario.warmup, scenario.duration].map(|time| time.as_secs_f64());
        run.air = vec![0.0; scenario.nodes.len()];
        for (from, to, link) in &stats.links {
            for end in [from, to] {
                run.air[end.index()] += link.data_airtime.as_secs_f64();
            }
        }
        run
    }

    /// The rate of all senders in the window.
    pub fn throughput(&self) -> f64 {
        self.rate(self.window)
    }

    /// The rate of all senders between two instants, the later of them at most the last sample's.
    fn rate(&self, [from, to]: [f64; 2]) -> f64 {
        let rate = |sender: &Vec<(f64, u64)>| {
            let to = sender.last().map_or(to, |(last, _)| to.min(*last));
            (bytes_at(sender, to) - bytes_at(sender, from)) * 8e-6 / (to - from)
        };
        self.senders.iter().map(rate).sum()
    }

    /// The mean over ping flows of the percentile of each in the window, from 0 to 1.
    pub fn ping(&self, percentile: f64) -> f64 {
        let [from, to] = self.window;
        let of = |pings: &Vec<(f64, f64)>| {
            let inside = pings.iter().filter(|(at, _)| (from..=to).contains(at));
            quantile(inside.map(|(_, ms)| *ms).collect(), percentile)
        };
        self.pings.iter().map(of).sum::<f64>() / self.pings.len() as f64
    }

    /// The rate in scans in proportion to that outside, and the longest ping of a scan; by the
    /// first ping flow. NaN without scans.
    pub fn scans(&self) -> [f64; 2] {
        let [begin, end] = self.window;
        let late = self.pings[0].iter().filter(|(at, ms)| *ms > SCAN_MS && *at >= begin);
        let mut groups: Vec<Vec<(f64, f64)>> = Vec::new();
        for &ping in late {
            match groups.last_mut() {
                Some(group) if ping.0 - group[group.len() - 1].0 <= SCAN_GAP_S => group.push(ping),
                _ => groups.push(vec![ping]),
            }
        }
        groups.retain(|group| group.len() >= SCAN_PINGS);
        let spans: Vec<[f64; 2]> =
            groups.iter().map(|group| [group[0].0, group[group.len() - 1].0]).collect();
        let inside_s: f64 = spans.iter().map(|[from, to]| to - from).sum();
        let inside: f64 = spans.iter().map(|span| self.rate(*span) * (span[1] - span[0])).sum();
        let bins = (begin.ceil() as u32..end.floor() as u32).map(f64::from).filter(|bin| {
            spans.iter().all(|[from, to]| bin + 1.0 <= from - BEFORE_S || *bin >= to + BEHIND_S)
        });
        let outside: Vec<f64> = bins.map(|bin| self.rate([bin, bin + 1.0])).collect();
        let outside = outside.iter().sum::<f64>() / outside.len() as f64;
        let longest = groups.iter().flatten().map(|(_, ms)| *ms).fold(f64::NAN, f64::max);
        [inside / inside_s / outside, longest]
    }
}

/// Bytes at an instant, between two samples in proportion to time.
fn bytes_at(samples: &[(f64, u64)], at: f64) -> f64 {
    let after = samples.partition_point(|(time, _)| *time < at);
    match (after.checked_sub(1).map(|before| samples[before]), samples.get(after)) {
        (Some((from, bytes)), Some(&(to, more))) => {
            bytes as f64 + (more - bytes) as f64 * (at - from) / (to - from)
        }
        (Some((_, bytes)), None) => bytes as f64,
        (None, _) => 0.0,
    }
}

/// The quantile of values by linear interpolation between ranks, as `numpy.percentile` and flent
/// do; NaN without values.
pub fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let rank = share * last as f64;
    let below = rank.floor();
    let [low, high] = [below, rank.ceil()].map(|rank| values[rank as usize]);
    low + (high - low) * (rank - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_between_ranks() {
        // Rank 0.95 x 3 = 2.85: 30 and 0.85 of the 10 to the next.
        let values = vec![40.0, 10.0, 30.0, 20.0];
        assert_eq!(quantile(values.clone(), 0.5), 25.0);
        assert!((quantile(values, 0.95) - 38.5).abs() < 1e-9);
        assert!(quantile(Vec::new(), 0.5).is_nan());
    }

    #[test]
    fn rates_and_pings_are_those_of_the_window() {
        let run = RadioRun {
            window: [5.0, 15.0],
            // 500 kB at 5 s, 2 MB at 15 s: 1.5 MB, or 1.2 Mb/s. The other one: 0.1 Mb/s.
            senders: vec![
                vec![(0.0, 0), (10.0, 1_000_000), (20.0, 3_000_000)],
                vec![(5.0, 0), (15.0, 125_000)],
            ],
            windows: Vec::new(),
            // Medians 3 and 30: those before and after the window do not count.
            pings: vec![
                vec![(1.0, 900.0), (6.0, 2.0), (7.0, 4.0), (16.0, 900.0)],
                vec![(6.0, 30.0)],
            ],
            air: Vec::new(),
        };
        assert!((run.throughput() - 1.3).abs() < 1e-9, "{}", run.throughput());
        assert!((run.ping(0.5) - 16.5).abs() < 1e-9, "{}", run.ping(0.5));
    }

    #[test]
    fn scans_are_groups_of_late_pings() {
        // A byte a microsecond, 8 Mb/s; half of it from 20 to 30 s.
        let bytes = |at: u64| 1_000_000 * (at - at.saturating_sub(20).min(10) / 2);
        let pings =
            |at: u64| (at as f64, if (20..=30).contains(&at) { 100.0 + at as f64 } else { 5.0 });
        let mut run = RadioRun {
            window: [5.0, 60.0],
            senders: vec![(0..=60).step_by(2).map(|at| (at as f64, bytes(at))).collect()],
            windows: Vec::new(),
            pings: vec![(0..=60).map(pings).collect()],
            air: Vec::new(),
        };
        let [ratio, longest] = run.scans();
        assert!((ratio - 0.5).abs() < 1e-9 && longest == 130.0, "{ratio} {longest}");
        // Three late pings alone are none.
        run.pings[0].retain(|(at, _)| !(21.0..=28.0).contains(at));
        assert!(run.scans()[1].is_nan());
    }
}
