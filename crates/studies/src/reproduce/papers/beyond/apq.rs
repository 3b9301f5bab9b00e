//! `apq` on each generation: queues that are known, measured from outside by the fast method.

use super::{GENERATIONS, Generation};
use crate::reproduce::data::{RunData, Runs};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, ScenarioFile, Statement, stated};
use crate::scenario_file;
use lasthop_apq::report::Discipline;
use lasthop_figures::plot::{Axis, Panel, Series};

const FILE: ScenarioFile = scenario_file!("beyond/apq.toml");

/// Capacities in packets; the paper has 30 to 2000.
const CAPACITIES: [u32; 5] = [30, 100, 300, 1000, 2000];

/// Cause if nothing is found.
const NONE: &str = "The search finds no saturation rate, and the report has a doubt; an aggregate \
                    has space for eight times as many packets. The cause is unknown.";
/// Cause where FQ-CoDel is not recognised.
const TOO_FAST: &str = "The report is \"cannot tell\", which is right where CoDel needs longer \
                        than a burst to react.";

fn name(generation: Generation, packets: u32) -> String {
    format!("{}, {packets} packets", generation.name)
}

/// The estimated capacity in packets; `NaN` without an estimate.
fn found(run: &RunData) -> f64 {
    let direction = run.measurement("queue").report.directions.first();
    let size = direction.and_then(|direction| direction.sizes.first());
    size.and_then(|size| size.capacity_packets).map_or(f64::NAN, |estimate| estimate.mean)
}

/// The same, in percent of the true capacity.
fn percent(runs: &Runs<'_>, generation: Generation, packets: u32) -> f64 {
    100.0 * found(runs.get(&name(generation, packets))) / f64::from(packets)
}

fn discipline(run: &RunData) -> Option<Discipline> {
    let direction = run.measurement("queue").report.directions.first()?;
    Some(direction.discipline?.verdict)
}

fn managed(generation: Generation) -> String {
    format!("{}, FQ-CoDel", generation.name)
}

fn quantities(runs: &Runs<'_>, generation: Generation) -> Vec<Quantity> {
    let mut quantities: Vec<Quantity> = CAPACITIES
        .into_iter()
        .map(|packets| {
            let name = name(generation, packets);
            let ours = percent(runs, generation, packets);
            let paper = Statement::Text("accurate");
            Quantity::value(
                format!("{name}: estimate, of the true capacity"),
                "%",
                paper,
                ours,
                stated(100.0),
            )
            .because(NONE)
        })
        .collect();
    let name = managed(generation);
    let is_told = discipline(runs.get(&name)) == Some(Discipline::FqCoDel);
    quantities.push(
        Quantity::shown(format!("{name}: recognised"), "left open", is_told).because(TOO_FAST),
    );
    quantities
}

pub const APQ: Figure = Figure {
    id: "apq",
    title: "Queues measured from outside",
    shows: "An aggregate of 802.11ax holds up to 256 packets, which stay in the queue until each \
            is acknowledged.",
    runs: || {
        let mut runs = Vec::new();
        for generation in GENERATIONS {
            for packets in CAPACITIES {
                let run = Run::new(name(generation, packets), FILE);
                runs.push(generation.apply(run).set(format!("node.ap.queue.packets={packets}")));
            }
            let run = generation.apply(Run::new(managed(generation), FILE));
            runs.push(run.set("node.ap.queue=fq-codel"));
        }
        runs
    },
    read: |runs| {
        let x = Axis::new("queue, packets").names(CAPACITIES.map(|packets| packets.to_string()));
        let panel =
            Panel::new("", x, Axis::new("estimate, % of the true capacity").range(0.0, 150.0));
        let panel = GENERATIONS.into_iter().fold(panel, |panel, generation| {
            let points = CAPACITIES.into_iter().enumerate();
            let points = points.map(|(x, packets)| (x as f64, percent(runs, generation, packets)));
            panel.with(Series::dots(generation.name, points.collect()))
        });
        let all = (0.0, (CAPACITIES.len() - 1) as f64);
        let panel = panel.target_at(0, all, stated(100.0), "band");
        Findings {
            quantities: GENERATIONS.into_iter().flat_map(|one| quantities(runs, one)).collect(),
            panels: vec![panel],
        }
    },
};
