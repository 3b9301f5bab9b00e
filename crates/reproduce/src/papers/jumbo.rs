//! `jumbo`: payloads above 1 500 bytes on 802.11n. UDP between two nodes of a
//! testbed on a roof, with frames as long as the payload, and with aggregation
//! of fragments. The scenarios are in `scenarios/jumbo/`.

use crate::data::Runs;
use crate::figure::{Figure, Findings, Paper, Quantity, Run, ScenarioFile, Statement};
use crate::plot::{Axis, Panel, Series};
use crate::scenario_file;

/// The paper.
pub const PAPER: Paper = Paper {
    key: "jumbo",
    title: "Implementing and Evaluating Improved MAC Efficiency Through Payload Extension in \
            802.11n Networks",
    source: "E. Rocha, D. Corujo, R. Aguiar",
    setting: "Nodes with a processor of 1 GHz and ath9k cards, on a roof; 40 MHz, short guard \
              interval. iperf sends UDP with payloads of 1 000 to 4 000 bytes, through drivers \
              that were extended to carry them in one frame, and through unchanged ones.",
    calibrated: &[],
    figures: &[FIG4],
};

const FIG4_FILE: ScenarioFile = scenario_file!("jumbo/fig4.toml");

/// Payloads of UDP in bytes.
const PAYLOADS: [u16; 5] = [1500, 2000, 2500, 3000, 4000];
/// IPv4 and UDP.
const HEADERS: u16 = 28;

const FIG4: Figure = Figure {
    id: "fig4",
    title: "Throughput by payload",
    shows: "Each frame pays once for backoff, preamble and acknowledgement, so throughput grows \
            with the payload.",
    runs: || {
        let of = |payload: u16| {
            let set = format!("flow.up.packet_bytes={}", payload + HEADERS);
            Run::of(payload.to_string(), FIG4_FILE).set(set)
        };
        PAYLOADS.into_iter().map(of).collect()
    },
    read: |runs: &Runs<'_>| {
        let goodput = |payload: u16| {
            runs.get(&payload.to_string()).flow("up").goodput_mbps.unwrap_or(f64::NAN)
        };
        let points = PAYLOADS.map(|payload| (f64::from(payload), goodput(payload)));
        let value = |payload, paper, band| {
            let name = format!("throughput at {payload} bytes");
            Quantity::value(name, "Mb/s", Statement::Value(paper), goodput(payload), band)
        };
        let x = Axis::new("payload, bytes").range(1000.0, 4500.0);
        Findings {
            quantities: vec![value(1500, 100.0, (90.0, 110.0)), value(4000, 170.0, (160.0, 190.0))],
            panels: vec![
                Panel::new("", x, Axis::new("throughput, Mb/s"))
                    .with(Series::dotted_line("jumbo frames", points.to_vec()))
                    .target_at(0, (1400.0, 1600.0), (90.0, 110.0), "band around the paper's value")
                    .target_at(
                        0,
                        (3900.0, 4100.0),
                        (160.0, 190.0),
                        "band around the paper's value",
                    ),
            ],
        }
    },
};
