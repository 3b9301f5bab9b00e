//! `scan` on each generation: an upload with and without TCP small queues, and a download,
//! while the laptop looks for other access points once.

use super::{GENERATIONS, Generation};
use crate::reproduce::data::{Point, RunData, Runs, least, mean, values};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, ScenarioFile, Statement};
use crate::scenario_file;
use lasthop_figures::plot::{Axis, Panel, Series};

const FILE: ScenarioFile = scenario_file!("beyond/scan.toml");

/// The scan of the scenario: when it begins and ends, in s.
const DEGRADED_S: (f64, f64) = (20.0, 20.0 + 26.0 * 0.311);
/// Time allowed for a connection to start, in s.
const BEGIN_S: f64 = 5.0;
/// Time before and after the scan, in s.
const AROUND_S: f64 = 10.0;
/// Largest rest that counts as "largely", in percent of the value before.
const LARGELY: f64 = 50.0;
/// Largest value that counts as "low", in percent of the usual one.
const LOW: f64 = 90.0;

/// Cause of an upload's losses, if it has any.
const MANAGED: &str = "CoDel drops two packets that waited for the end of an absence.";
/// Why the window stays without small queues.
const KEPT: &str = "Drivers of today keep their packets, and CoDel keeps queues short. With the \
                    paper's driver and queue (leftover = \"drop-driver\", flush = \"4ms\", \
                    drop-tail of 1000 packets) 9 % of the window remain on 802.11n and 30 % on \
                    802.11ax: the host decides.";
/// Why throughput does not fall by more.
const PAUSED: &str = "With 200 ms between absences of 111 ms the laptop is present for 64 % of \
                      the time, and queue and window are kept.";
/// Why throughput is as before after the scan.
const AT_ONCE: &str = "The window is kept, and the queue fills within milliseconds, as in the \
                       page of the paper.";

/// Direction of the transfer.
#[derive(Clone, Copy)]
enum Transfer {
    Upload,
    UploadFreely,
    Download,
}

impl Transfer {
    const ALL: [Self; 3] = [Self::Upload, Self::UploadFreely, Self::Download];

    const fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::UploadFreely => "upload without small queues",
            Self::Download => "download",
        }
    }

    fn run(self, generation: Generation) -> Run {
        let run = generation.apply(Run::new(self.name_with(generation), FILE));
        let up = |run: Run| run.set("flow.transfer.from=laptop").set("flow.transfer.to=server");
        match self {
            Self::Upload => up(run),
            Self::UploadFreely => up(run).set("flow.transfer.tcp.small_queues=off"),
            Self::Download => run,
        }
    }

    fn name_with(self, generation: Generation) -> String {
        format!("{}, {}", generation.name, self.name())
    }
}

/// The values of a series before, in and after the scan.
struct Parts {
    before: Vec<f64>,
    degraded: Vec<f64>,
    after: Vec<f64>,
    normal: Vec<f64>,
}

impl Parts {
    fn new(points: &[Point]) -> Self {
        let (from, to) = DEGRADED_S;
        let within = |from: f64, to: f64| values(points, |at| (from..to).contains(&at));
        Self {
            before: within(from - AROUND_S, from),
            degraded: within(from, to),
            after: within(to, to + AROUND_S),
            normal: values(points, |at| at > BEGIN_S && !(from..to + AROUND_S).contains(&at)),
        }
    }

    /// The least value of the scan, in percent of the mean before.
    fn least(&self) -> f64 {
        100.0 * least(&self.degraded) / mean(&self.before)
    }

    /// The mean after the scan, in percent of the usual one.
    fn after(&self) -> f64 {
        100.0 * mean(&self.after) / mean(&self.normal)
    }
}

/// The mean of each second.
fn per_second(points: &[Point]) -> Vec<Point> {
    points
        .chunk_by(|one, other| one.0.floor() == other.0.floor())
        .map(|chunk| {
            let ys: Vec<f64> = chunk.iter().map(|&(_, y)| y).collect();
            (chunk[0].0.floor() + 0.5, mean(&ys))
        })
        .collect()
}

fn throughput(run: &RunData) -> Vec<Point> {
    per_second(&run.throughput_mbps("transfer"))
}

/// Segments sent again from the beginning of the scan to a second after it.
fn again(run: &RunData) -> f64 {
    let (from, to) = DEGRADED_S;
    let all = run.retransmissions("transfer");
    values(&all, |at| (from..to + 1.0).contains(&at)).iter().sum()
}

fn quantities(runs: &Runs<'_>, generation: Generation) -> Vec<Quantity> {
    let get = |transfer: Transfer| runs.get(&transfer.name_with(generation));
    let window = |transfer| Parts::new(&get(transfer).cwnd_packets("transfer"));
    let speed = |transfer| Parts::new(&throughput(get(transfer)));
    let name =
        |transfer: Transfer, what: &str| format!("{}: {what}", transfer.name_with(generation));
    let percent = |transfer, what, paper, ours, band| {
        Quantity::value(name(transfer, what), "%", Statement::Text(paper), ours, band)
    };
    use Transfer::{Download, Upload, UploadFreely};
    vec![
        Quantity::value(
            name(Upload, "segments retransmitted when degraded"),
            "",
            Statement::Value(0.0),
            again(get(Upload)),
            (0.0, 0.0),
        )
        .because(MANAGED),
        percent(
            UploadFreely,
            "least congestion window when degraded, of that before",
            "decreases largely",
            window(UploadFreely).least(),
            (0.0, LARGELY),
        )
        .because(KEPT),
        percent(
            Download,
            "lowest second when degraded, of that before",
            "drops sharply",
            speed(Download).least(),
            (0.0, LARGELY),
        )
        .because(PAUSED),
        percent(
            Download,
            "least congestion window when degraded, of that before",
            "does not decrease largely",
            window(Download).least(),
            (LARGELY, f64::INFINITY),
        ),
        percent(
            Download,
            "throughput in the 10 s after, of normal",
            "rather low",
            speed(Download).after(),
            (0.0, LOW),
        )
        .because(AT_ONCE),
    ]
}

fn panel(
    runs: &Runs<'_>,
    transfer: Transfer,
    label: &str,
    read: fn(&RunData) -> Vec<Point>,
) -> Panel {
    let x = Axis::new("time, s").range(10.0, 40.0);
    let panel = Panel::new(transfer.name(), x, Axis::new(label)).shade(
        DEGRADED_S.0,
        DEGRADED_S.1,
        "degraded period",
    );
    GENERATIONS.into_iter().fold(panel, |panel, generation| {
        let mut points = read(runs.get(&transfer.name_with(generation)));
        points.retain(|(at, _)| (10.0..=40.0).contains(at));
        panel.with(Series::line(generation.name, points))
    })
}

pub const SCAN: Figure = Figure {
    id: "scan",
    title: "What a background scan does to TCP",
    shows: "The laptop scans from 20 s: 26 absences of 111 ms, 200 ms apart, as mac80211 does.",
    runs: || {
        let each = |transfer: Transfer| GENERATIONS.map(|generation| transfer.run(generation));
        Transfer::ALL.into_iter().flat_map(each).collect()
    },
    read: |runs| {
        let quantities = GENERATIONS.into_iter().flat_map(|one| quantities(runs, one)).collect();
        let mut panels: Vec<Panel> = Transfer::ALL
            .into_iter()
            .map(|transfer| panel(runs, transfer, "throughput, Mb/s", throughput))
            .collect();
        panels.push(panel(runs, Transfer::Download, "congestion window, packets", |run| {
            run.cwnd_packets("transfer")
        }));
        Findings { quantities, panels }
    },
};
