//! `retryout` on each generation, at 20 MHz: round trips behind an upload from far away, with
//! and without pseudo retry-out at the access point.

use super::{GENERATIONS, Generation};
use crate::reproduce::data::{RunData, Runs, greatest, mean};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, ScenarioFile, Statement, about};
use crate::scenario_file;
use lasthop_figures::plot::{Axis, Panel, Series};

const FILE: ScenarioFile = scenario_file!("beyond/retryout.toml");

/// Channel width in MHz.
const WIDTH_MHZ: u32 = 20;
/// SNR at the access point in dB, from where the lowest rate barely works.
const POSITIONS: [&str; 9] = ["0", "1", "2", "4", "6", "9", "13", "18", "25"];
/// Rate below which round trips are long, in Mb/s.
const SLOW_MBPS: f64 = 20.0;
/// Rate below which the method gives up frames, in Mb/s.
const SCOPE_MBPS: f64 = 100.0;
/// Minimum factor over the usual value that counts as "large".
const LARGE: f64 = 2.0;
/// Round-trip time that the paper does not call large, in ms.
const SMALL_MS: f64 = 200.0;

/// Queue of the laptop.
#[derive(Clone, Copy)]
struct Laptop {
    name: &'static str,
    sets: &'static [&'static str],
}

/// As in the paper.
const LONG: Laptop = Laptop { name: "long queue", sets: &[] };
/// As Linux is today.
const TODAY: Laptop = Laptop {
    name: "today's queue",
    sets: &["node.laptop.queue=fq-codel", "flow.upload.tcp={ receive_window = \"870kB\" }"],
};

fn name(generation: Generation, laptop: Laptop, position: &str, with_method: bool) -> String {
    let method = if with_method { "with" } else { "without" };
    format!("{}, {}, {position} dB, {method} the method", generation.name, laptop.name)
}

fn run(generation: Generation, laptop: Laptop, position: &str, with_method: bool) -> Run {
    let run = Run::new(name(generation, laptop, position, with_method), FILE)
        .set(format!("link.laptop-ap.snr={position}dB"));
    let run = laptop.sets.iter().fold(generation.at(WIDTH_MHZ, run), |run, &set| run.set(set));
    if with_method { run.set("node.ap.pseudo_retry_out=true") } else { run }
}

/// The means of a run.
struct MeasuredBeyond {
    rate_mbps: f64,
    rtt_ms: f64,
    throughput_mbps: f64,
}

fn measured(run: &RunData) -> MeasuredBeyond {
    let or_none = |value: Option<f64>| value.unwrap_or(f64::NAN);
    MeasuredBeyond {
        rate_mbps: or_none(run.link("laptop->ap").data_rate_mbps.map(|rate| rate.mean)),
        rtt_ms: or_none(run.flow("ping").rtt_ms.map(|rtt| rtt.mean)),
        throughput_mbps: or_none(run.flow("upload").goodput_mbps),
    }
}

fn all(runs: &Runs<'_>, generation: Generation, laptop: Laptop, with: bool) -> Vec<MeasuredBeyond> {
    let of = |position| measured(runs.get(&name(generation, laptop, position, with)));
    POSITIONS.into_iter().map(of).collect()
}

/// The values at average data rates that pass `is_in`.
fn at(
    measured: &[MeasuredBeyond],
    is_in: impl Fn(f64) -> bool,
    value: fn(&MeasuredBeyond) -> f64,
) -> Vec<f64> {
    measured.iter().filter(|one| is_in(one.rate_mbps)).map(value).collect()
}

fn quantities(runs: &Runs<'_>, generation: Generation) -> Vec<Quantity> {
    let rtt = |one: &MeasuredBeyond| one.rtt_ms;
    let share = |one: &MeasuredBeyond| one.throughput_mbps / one.rate_mbps;
    let [without, with] = [false, true].map(|with| all(runs, generation, LONG, with));
    let today = all(runs, generation, TODAY, false);
    let slow = |measured: &[MeasuredBeyond]| mean(&at(measured, |rate| rate < SLOW_MBPS, rtt));
    let fast = mean(&at(&without, |rate| rate >= SLOW_MBPS, rtt));
    let shares =
        [&without, &with].map(|measured| mean(&at(measured, |rate| rate < SCOPE_MBPS, share)));
    let name = |laptop: Laptop, what: &str| format!("{}, {}: {what}", generation.name, laptop.name);
    let value = |laptop, what, unit, paper, ours, band| {
        Quantity::value(name(laptop, what), unit, Statement::Text(paper), ours, band)
    };
    let most = about(SMALL_MS).to;
    vec![
        value(
            LONG,
            "mean below 20 Mb/s, of that above, without the method",
            "",
            "large when the rate is below 20 Mb/s",
            slow(&without) / fast,
            (LARGE, f64::INFINITY),
        ),
        value(
            LONG,
            "longest at any rate, with the method",
            "ms",
            "no large delay",
            greatest(&at(&with, |_| true, rtt)),
            (0.0, most),
        ),
        value(
            LONG,
            "mean below 20 Mb/s with the method, of that without",
            "%",
            "clearly reduced",
            100.0 * slow(&with) / slow(&without),
            (0.0, 50.0),
        ),
        value(
            LONG,
            "throughput by data rate below 100 Mb/s: change with the method",
            "%",
            "similar",
            100.0 * (shares[1] / shares[0] - 1.0),
            (-5.0, 5.0),
        )
        .because(
            "At 0 and 1 dB most MPDUs fail, and MPDUs given up after two retransmissions are too \
             many losses for TCP: 1.2 Mb/s become 0.1 on 802.11n. At 4 and 6 dB the change is 1 \
             to 2 %.",
        ),
        value(
            TODAY,
            "longest at any rate, without the method",
            "ms",
            "about 200 with small queues or CoDel",
            greatest(&at(&today, |_| true, rtt)),
            (0.0, most),
        ),
    ]
}

fn panel(runs: &Runs<'_>, generation: Generation) -> Panel {
    let x = Axis::new("average data rate, Mb/s").range(0.0, 120.0);
    let panel = Panel::new(generation.name, x, Axis::new("round-trip time, ms"));
    [(LONG, false), (LONG, true), (TODAY, false)].into_iter().fold(
        panel,
        |panel, (laptop, with)| {
            let name = if with {
                format!("{}, with the method", laptop.name)
            } else {
                laptop.name.to_owned()
            };
            let points = all(runs, generation, laptop, with)
                .into_iter()
                .map(|one| (one.rate_mbps, one.rtt_ms))
                .filter(|(rate, _)| *rate <= 120.0);
            panel.with(Series::dotted_line(name, points.collect()))
        },
    )
}

pub const RETRYOUT: Figure = Figure {
    id: "retryout",
    title: "Round trips behind an upload from far away",
    shows: "The links have 20 MHz. The laptop has the paper's queue without a limit and 44 \
            attempts for an MPDU, or today's queue. With seven attempts losses keep the queue \
            short.",
    runs: || {
        let mut runs = Vec::new();
        for generation in GENERATIONS {
            for position in POSITIONS {
                runs.push(run(generation, LONG, position, false));
                runs.push(run(generation, LONG, position, true));
                runs.push(run(generation, TODAY, position, false));
            }
        }
        runs
    },
    read: |runs| Findings {
        quantities: GENERATIONS.into_iter().flat_map(|one| quantities(runs, one)).collect(),
        panels: GENERATIONS.map(|one| panel(runs, one)).into(),
    },
};
