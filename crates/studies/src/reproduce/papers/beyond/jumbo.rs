//! `jumbo` on each generation: throughput by payload, behind the processors of the paper's
//! nodes, ones ten times as fast, and ones that cost nothing.

use super::{GENERATIONS, Generation};
use crate::reproduce::data::{Point, RunData, Runs, mean, values};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, ScenarioFile, Statement, stated};
use crate::scenario_file;
use lasthop_figures::plot::{Axis, Panel, Series};

const FILE: ScenarioFile = scenario_file!("beyond/jumbo.toml");

/// UDP payloads in bytes.
const PAYLOADS: [u16; 4] = [1472, 2500, 4000, 7800];
/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u16 = 28;
/// The paper's gain at 4000 bytes over 1500: from 100 to more than 170 Mb/s.
const GAIN: f64 = 1.7;

/// Why long packets gain less.
const SHARED: &str = "In an A-MPDU hundreds of packets share access and preamble. Without A-MPDUs \
                      (ampdu_frames_max = 1) and with free processors, 4000 bytes have 2.1 times \
                      the throughput of 1472 on 802.11n, 2.4 on 802.11ac and 2.6 on 802.11ax.";

/// Cost of a packet at hosts.
#[derive(Clone, Copy)]
struct Processors {
    name: &'static str,
    per_packet: &'static str,
    per_byte: &'static str,
}

const PROCESSORS: [Processors; 3] = [
    Processors { name: "the paper's processors", per_packet: "80us", per_byte: "26ns" },
    Processors { name: "ten times as fast", per_packet: "8us", per_byte: "3ns" },
    Processors { name: "processors that cost nothing", per_packet: "0us", per_byte: "0ns" },
];

fn name(generation: Generation, processors: Processors, payload: u16, is_cut: bool) -> String {
    let frames = if is_cut { "cut" } else { "whole" };
    format!("{}, {}, {payload} bytes, {frames}", generation.name, processors.name)
}

fn run(generation: Generation, processors: Processors, payload: u16, is_cut: bool) -> Run {
    let run = Run::new(name(generation, processors, payload, is_cut), FILE)
        .set(format!("flow.down.packet_bytes={}", payload + HEADERS));
    ["ap", "node"].into_iter().fold(generation.apply(run), |run, node| {
        let run = run
            .set(format!("node.{node}.host_cost.per_packet={}", processors.per_packet))
            .set(format!("node.{node}.host_cost.per_byte={}", processors.per_byte));
        if is_cut { run.set(format!("node.{node}.mtu=1500")) } else { run }
    })
}

fn goodput(run: &RunData) -> f64 {
    run.flow("down").goodput_mbps.unwrap_or(f64::NAN)
}

fn curve(
    runs: &Runs<'_>,
    generation: Generation,
    processors: Processors,
    is_cut: bool,
) -> Vec<Point> {
    let of = |payload| goodput(runs.get(&name(generation, processors, payload, is_cut)));
    PAYLOADS.into_iter().map(|payload| (f64::from(payload), of(payload))).collect()
}

/// Throughput at 4000 bytes, of that at a payload of an Ethernet frame.
fn gain(points: &[Point]) -> f64 {
    let at = |payload| mean(&values(points, |x| x == payload));
    at(4000.0) / at(1472.0)
}

fn quantities(runs: &Runs<'_>, generation: Generation) -> Vec<Quantity> {
    PROCESSORS
        .into_iter()
        .flat_map(|processors| {
            let gain = |is_cut| gain(&curve(runs, generation, processors, is_cut));
            let name = |what| format!("{}, {}: {what}", generation.name, processors.name);
            [
                Quantity::value(
                    name("throughput at 4000 bytes, of that at 1472"),
                    "",
                    Statement::Text("more than 1.7"),
                    gain(false),
                    (GAIN, f64::INFINITY),
                )
                .because(SHARED),
                Quantity::value(
                    name("the same without jumbo frames"),
                    "",
                    Statement::Text("no such gain"),
                    gain(true),
                    stated(1.0),
                ),
            ]
        })
        .collect()
}

fn panel(runs: &Runs<'_>, processors: Processors) -> Panel {
    let x = Axis::new("payload, bytes").range(1000.0, 8000.0);
    let panel = Panel::new(processors.name, x, Axis::new("throughput, Mb/s"));
    GENERATIONS.into_iter().fold(panel, |panel, generation| {
        let [whole, cut] = [false, true].map(|is_cut| curve(runs, generation, processors, is_cut));
        panel
            .with(Series::dotted_line(generation.name, whole))
            .with(Series::dotted_line(format!("{}, cut", generation.name), cut))
    })
}

pub const JUMBO: Figure = Figure {
    id: "jumbo",
    title: "Throughput by payload",
    shows: "No interference, the highest rate. On 802.11n 7800 bytes fit into no A-MPDU, whose \
            MPDUs have at most 4095 bytes.",
    runs: || {
        let mut runs = Vec::new();
        for generation in GENERATIONS {
            for processors in PROCESSORS {
                for payload in PAYLOADS {
                    runs.extend(
                        [false, true].map(|is_cut| run(generation, processors, payload, is_cut)),
                    );
                }
            }
        }
        runs
    },
    read: |runs| Findings {
        quantities: GENERATIONS.into_iter().flat_map(|one| quantities(runs, one)).collect(),
        panels: PROCESSORS.map(|processors| panel(runs, processors)).into(),
    },
};
