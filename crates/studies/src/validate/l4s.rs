//! Prague beside CUBIC at one access point, with one to ten stations each: the delay of Prague's
//! packets behind the wire (queue, access, retransmissions and air), and the air that each takes. The
//! scenario is `scenarios/l4s.toml`; a way changes the queues or the access category.

use crate::Verdict;
use crate::table::Table;
use lasthop_figures::plot::{self, Axis, Panel, Series};
use lasthop_scenario::Scenario;
use lasthop_trace::{Recorder, RunDocument};
use lasthop_units::Seed;

const SCENARIO: &str = include_str!("../../scenarios/l4s.toml");
/// Delay of the scenario's wire in ms, of which the figures are free.
const WIRE_MS: f64 = 5.0;
/// Target for the 99th percentile of the delay of Prague's packets, in ms, and for Prague's air over
/// CUBIC's: equal within a quarter.
const DELAY_MS: f64 = 5.0;
const SHARE: f64 = 0.8;

/// The text above the table.
const TEXT: &str = "Target: Prague's delay below 5 ms in 99 of 100 packets, at CUBIC's share of the \
air, within a quarter. Delays are behind the wire: in the queue, for the medium, on the air. Medians \
of three runs of 10 s after 5 s.";

/// Stations of each kind.
pub const STATIONS: [u32; 4] = [1, 2, 5, 10];
/// Runs of each case; the figures are their medians.
pub const RUNS: u64 = 3;

/// A way to serve L4S traffic.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Name for the legend.
    pub name: &'static str,
    set: &'static [&'static str],
    is_baseline: bool,
    /// Whether the figure shows it, which has six looks.
    is_shown: bool,
}

impl Way {
    const fn new(name: &'static str, set: &'static [&'static str]) -> Self {
        Self { name, set, is_baseline: false, is_shown: true }
    }
}

/// The ways that are compared.
pub const WAYS: [Way; 8] = [
    Way {
        is_baseline: true,
        is_shown: false,
        ..Way::new("CUBIC in both", &["flow.p.congestion_control=cubic"])
    },
    Way::new("marks beyond 2 ms", &[]),
    Way::new("marks beyond 5 ms", &["node_defaults.queue.ce_threshold=5ms"]),
    Way::new("marks beyond 10 ms", &["node_defaults.queue.ce_threshold=10ms"]),
    Way {
        is_shown: false,
        ..Way::new(
            "video, 1.2 ms",
            &["node_defaults.queue.ce_threshold=1.2ms", "flow.p.access_category=video"],
        )
    },
    Way::new(
        "video, 1.5 ms",
        &["node_defaults.queue.ce_threshold=1.5ms", "flow.p.access_category=video"],
    ),
    Way::new("video, 2 ms", &["flow.p.access_category=video"]),
    Way::new("DualPI2, 3 ms", &["node.ap.queue={ kind = \"dualpi2\", step_thresh = \"3ms\" }"]),
];

/// Medians of a case's runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct L4sCase {
    /// Stations of each kind.
    pub stations: u32,
    /// Median and 99th percentile of the delays of Prague's packets, in ms.
    pub delay_ms: [f64; 2],
    /// 99th percentile of those of CUBIC's.
    pub cubic_ms: f64,
    /// Share of the air in percent of transmissions to Prague's stations, and to CUBIC's.
    pub air: [f64; 2],
    /// Goodputs in Mb/s.
    pub goodput: [f64; 2],
}

impl L4sCase {
    /// Whether Prague's delay is below the target at CUBIC's share of the air.
    fn verdict(&self, way: &Way) -> Verdict {
        if way.is_baseline {
            return Verdict::Listed;
        }
        let [prague, cubic] = self.air;
        let is_equal = prague >= SHARE * cubic && prague <= cubic / SHARE;
        let is_met = is_equal && self.delay_ms[1] < DELAY_MS;
        if is_met { Verdict::Pass } else { Verdict::Fail }
    }
}

/// Runs a way with each number of stations, and calls `progress` after each run.
pub fn simulate(way: &Way, progress: &dyn Fn()) -> Vec<L4sCase> {
    STATIONS
        .map(|stations| {
            let runs: Vec<_> = (0..RUNS)
                .map(|number| {
                    let document = run(way, stations, number);
                    progress();
                    read(&document)
                })
                .collect();
            let median = |place: usize| {
                let mut values: Vec<_> = runs.iter().map(|run| run[place]).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            L4sCase {
                stations,
                delay_ms: [median(0), median(1)],
                cubic_ms: median(2),
                air: [median(3), median(4)],
                goodput: [median(5), median(6)],
            }
        })
        .to_vec()
}

fn run(way: &Way, stations: u32, number: u64) -> RunDocument {
    let counts = ["prague", "cubic"].map(|name| format!("node.{name}.count={stations}"));
    let set: Vec<String> = way.set.iter().map(|&set| set.to_owned()).chain(counts).collect();
    let scenario: Scenario = lasthop_scenario::parse("l4s.toml", SCENARIO, &set)
        .unwrap_or_else(|why| panic!("{}: {why}", way.name));
    let names = lasthop_sim::names(&scenario);
    let mut recorder = Recorder::new(names, lasthop_sim::recording(&scenario));
    let seed = Seed::new(scenario.seed, number);
    let stats = lasthop_sim::simulate(&scenario, seed, &mut recorder, &mut lasthop_sim::go_on)
        .unwrap_or_else(|why| panic!("{}: {why}", way.name));
    recorder
        .finish(&lasthop_sim::info(&scenario, number, 0.0), &stats)
        .unwrap_or_else(|why| panic!("{}: {why}", way.name))
}

/// Figures of a run in the order of [`L4sCase`].
fn read(document: &RunDocument) -> [f64; 7] {
    let [prague, cubic] = ["p", "c"].map(|name| {
        // A single flow has no group.
        let is_it = |flow: &&String| flow.starts_with(name);
        let flow = document.flows.keys().find(is_it).and_then(|flow| document.flows.get(flow));
        let group = document.flow_groups.get(name);
        let delay = group.map_or_else(
            || flow.and_then(|flow| flow.one_way_delay_ms),
            |group| group.one_way_delay_ms,
        );
        let goodput = group
            .map_or_else(|| flow.and_then(|flow| flow.goodput_mbps), |group| group.goodput_mbps);
        let delay = delay.expect("packets arrive");
        ([delay.p50 - WIRE_MS, delay.p99 - WIRE_MS], goodput.unwrap_or_default())
    });
    let air = |station: &str| -> f64 {
        let is_to = |link: &&String| link.starts_with(&format!("ap->{station}"));
        let links = document.links.keys().filter(is_to);
        links.map(|link| document.links[link].airtime_fraction * 100.0).sum()
    };
    let [delay, [_, cubic_ms]] = [prague.0, cubic.0];
    [delay[0], delay[1], cubic_ms, air("prague"), air("cubic"), prague.1, cubic.1]
}

/// All cases as a table; a way has a row for each number of stations.
pub fn table(cases: &[(Way, Vec<L4sCase>)]) -> Table {
    let rows = cases.iter().flat_map(|(way, cases)| {
        cases.iter().map(|case| {
            let cells = vec![
                way.name.to_owned(),
                case.stations.to_string(),
                format!("{:.1}", case.delay_ms[0]),
                format!("{:.1}", case.delay_ms[1]),
                format!("{:.1}", case.cubic_ms),
                format!("{:.0}", case.air[0]),
                format!("{:.0}", case.air[1]),
                format!("{:.0}", case.goodput[0]),
                format!("{:.0}", case.goodput[1]),
            ];
            (cells, case.verdict(way))
        })
    });
    Table {
        title: "Delay and share of the air",
        text: TEXT.to_owned(),
        columns: vec![
            "way",
            "stations of each kind",
            "Prague: median delay, ms",
            "99 %, ms",
            "CUBIC: 99 %, ms",
            "air to Prague, %",
            "air to CUBIC, %",
            "Prague, Mb/s",
            "CUBIC, Mb/s",
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The figure: delays on the left, the share of the air on the right.
pub fn figure(cases: &[(Way, Vec<L4sCase>)]) -> String {
    let stations = || Axis::new("stations of each kind");
    let mut delays = Panel::new(
        "Delay of Prague\u{2019}s packets, 99th percentile",
        stations(),
        Axis::new("delay behind the wire, ms"),
    );
    let mut shares = Panel::new(
        "Prague\u{2019}s air beside CUBIC\u{2019}s",
        stations(),
        Axis::new("Prague\u{2019}s air over CUBIC\u{2019}s").range(0.0, 2.0),
    );
    for (way, cases) in cases.iter().filter(|(way, _)| way.is_shown) {
        let points = |of: &dyn Fn(&L4sCase) -> f64| {
            cases.iter().map(|case| (f64::from(case.stations), of(case))).collect::<Vec<_>>()
        };
        delays = delays.with(Series::dotted_line(way.name, points(&|case| case.delay_ms[1])));
        let share = points(&|case| case.air[0] / case.air[1]);
        shares = shares.with(Series::dotted_line(way.name, share));
    }
    delays = delays.target(0, (DELAY_MS, DELAY_MS), "5 ms");
    shares = shares.target(0, (1.0, 1.0), "equal shares");
    plot::svg(&[delays, shares])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both kinds in the scenario as it is shipped: L4S packets wait less than CUBIC's, and take
    /// some of the air.
    #[test]
    fn prague_waits_less_than_cubic() {
        let figures = read(&run(&WAYS[1], 1, 0));
        let [_, prague_ms, cubic_ms, prague_air, cubic_air, ..] = figures;
        assert!(prague_ms * 3.0 < cubic_ms, "{figures:?}");
        assert!(prague_air > 0.5 * cubic_air, "{figures:?}");
    }
}
