//! `retryout`: an access point that keeps a station's queue short by giving up
//! retransmissions for it. The scenario is in `scenarios/retryout/`; figure 4
//! and table I are of the decisions themselves, and need no radio.

mod method;

use crate::data::{RunData, Runs, greatest, mean};
use crate::figure::{Calibrated, Figure, Findings, Paper, Quantity, Run, ScenarioFile, Statement};
use crate::plot::{Axis, Panel, Series};
use crate::scenario_file;

/// The paper.
pub const PAPER: Paper = Paper {
    key: "retryout",
    title: "A Solution for Bufferbloat Problem in Upload TCP Communication over IEEE 802.11n WLAN \
            Only by Modifying Access Point",
    source: "M. Nomoto, C. Wu, S. Ohzahata, T. Kato",
    setting: "A laptop (ath9k) at many positions in a wooden house uploads by CUBIC for 60 s \
              through an access point (ath9k) at 5 GHz, and pings the server once a second: as it \
              is, with TCP small queues, with CoDel, each with and without pseudo retry-out at the \
              access point. Positions are told by the average data rate of their A-MPDUs. The \
              paper's laptops with Windows and macOS are not modelled; they behave as the one \
              without a remedy.",
    calibrated: &[
        Calibrated {
            key: "channel.fading.k",
            value: "18dB",
            reason: "What two antennas at both ends and 40 MHz leave of fading, for a laptop that \
                     stands still.",
        },
        Calibrated {
            key: "channel.fading.doppler",
            value: "20Hz",
            reason: "People move: a fade lasts 21 ms, so errors in a row come from one fade as \
                     often as from chance.",
        },
        Calibrated {
            key: "node.laptop.retry_limit",
            value: "44",
            reason: "Ten retransmissions of ath9k, each of about four attempts of its hardware.",
        },
        Calibrated {
            key: "node.laptop.aggregation.ampdu_duration_max",
            value: "2ms",
            reason: "ath9k fits an A-MPDU into 4 ms at the lowest rate that its hardware may fall \
                     back to.",
        },
        Calibrated {
            key: "node.laptop.driver_queue.packets",
            value: "123",
            reason: "What ath9k takes before it stops the queue above (ATH_MAX_QDEPTH).",
        },
        Calibrated {
            key: "flow.upload.tcp.receive_window",
            value: "870kB",
            reason: "600 segments: the paper's queue at any rate and with three operating systems, \
                     so it is the server that bounds it.",
        },
        Calibrated {
            key: "flow.upload.tcp.small_queues_overhead",
            value: "0B",
            reason: "The paper counts the size of segments, and finds about 100 of them.",
        },
    ],
    figures: &[method::TABLE1, method::FIG4, FIG6, FIG7, FIG8],
};

const UPLOAD: ScenarioFile = scenario_file!("retryout/upload.toml");

/// Positions of the laptop, as the SNR at the access point in dB: from where
/// the lowest rates just hold to next to it.
const POSITIONS: [&str; 12] = ["2", "2.5", "3", "3.5", "4", "5", "6", "7", "9", "12", "17", "24"];

/// The laptop's own remedy: its name in the paper, and what is set.
const LAPTOPS: [(&str, &[&str]); 3] = [
    ("none", &[]),
    ("tsq", &["flow.upload.tcp.small_queues=128KiB"]),
    ("codel", &["node.laptop.queue={ kind = \"codel\", target = \"5ms\", interval = \"100ms\" }"]),
];

/// The method at the access point.
const METHOD: &str = "node.ap.pseudo_retry_out=true";

fn name(laptop: &str, position: &str, with_method: bool) -> String {
    format!("{laptop} {position} {}", if with_method { "with" } else { "without" })
}

fn run(laptop: &str, sets: &[&str], position: &str, with_method: bool) -> Run {
    let run = Run::of(name(laptop, position, with_method), UPLOAD)
        .set(format!("link.laptop-ap.snr={position}dB"));
    let run = sets.iter().fold(run, |run, &set| run.set(set));
    if with_method { run.set(METHOD) } else { run }
}

/// Every laptop at every position, with and without the method.
fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for (laptop, sets) in LAPTOPS {
        for position in POSITIONS {
            runs.extend([false, true].map(|with| run(laptop, sets, position, with)));
        }
    }
    runs
}

/// One measurement of the paper's.
struct Measured {
    rate_mbps: f64,
    rtt_ms: f64,
    queue_packets: f64,
    throughput_mbps: f64,
}

fn measured(run: &RunData) -> Measured {
    let or_none = |value: Option<f64>| value.unwrap_or(f64::NAN);
    Measured {
        rate_mbps: or_none(run.link("laptop->ap").data_rate_mbps.map(|rate| rate.mean)),
        rtt_ms: or_none(run.flow("ping").rtt_ms.map(|rtt| rtt.mean)),
        queue_packets: or_none(run.node("laptop").queue_packets.map(|queue| queue.mean)),
        throughput_mbps: or_none(run.flow("upload").goodput_mbps),
    }
}

/// What was measured with a laptop, position by position.
fn all(runs: &Runs<'_>, laptop: &str, with_method: bool) -> Vec<Measured> {
    let of = |position| measured(runs.get(&name(laptop, position, with_method)));
    POSITIONS.into_iter().map(of).collect()
}

/// The values below an average data rate.
fn below(mbps: f64, measured: &[Measured], value: fn(&Measured) -> f64) -> Vec<f64> {
    measured.iter().filter(|m| m.rate_mbps < mbps).map(value).collect()
}

/// A value over the average data rate, without and with the method.
fn panels(runs: &Runs<'_>, label: &str, top: f64, value: fn(&Measured) -> f64) -> Vec<Panel> {
    let panel = |(title, with_method): (&str, bool)| {
        let x = Axis::new("average data rate, Mb/s").range(0.0, 300.0);
        let panel = Panel::new(title, x, Axis::new(label).range(0.0, top));
        LAPTOPS.into_iter().fold(panel, |panel, (laptop, _)| {
            let measured = all(runs, laptop, with_method);
            let points = measured.iter().map(|m| (m.rate_mbps, value(m))).collect();
            panel.with(Series::dots(laptop, points))
        })
    };
    [("Without the method", false), ("With the method", true)].map(panel).into()
}

const FIG6: Figure = Figure {
    id: "fig6",
    title: "Round-trip time of a ping by average data rate",
    shows: "Below 20 Mb/s a ping takes more than half a second behind an upload without a remedy, \
            and a fraction of that with small queues or CoDel. With the method at the access point \
            all three are fast.",
    runs,
    read: |runs| {
        let rtt = |m: &Measured| m.rtt_ms;
        let mut quantities = Vec::new();
        for (laptop, paper, band) in [
            ("none", 700.0, (450.0, 900.0)),
            ("tsq", 200.0, (100.0, 300.0)),
            ("codel", 200.0, (100.0, 300.0)),
        ] {
            let ours = mean(&below(20.0, &all(runs, laptop, false), rtt));
            let name = format!("{laptop}: mean below 20 Mb/s, without the method");
            quantities.push(Quantity::value(name, "ms", Statement::Value(paper), ours, band));
        }
        for (laptop, _) in LAPTOPS {
            let ours = greatest(&below(f64::INFINITY, &all(runs, laptop, true), rtt));
            let name = format!("{laptop}: longest mean at any rate, with the method");
            let paper = Statement::Text("no large delay");
            quantities.push(Quantity::value(name, "ms", paper, ours, (0.0, 250.0)));
        }
        let mut panels = panels(runs, "round-trip time, ms", 900.0, rtt);
        let with = panels.pop().expect("there are two");
        let without = panels.pop().expect("there are two");
        Findings {
            quantities,
            panels: vec![
                without.target_at(0, (0.0, 20.0), (450.0, 900.0), "band: none").target_at(
                    1,
                    (0.0, 20.0),
                    (100.0, 300.0),
                    "band: tsq and codel",
                ),
                with.target_at(0, (0.0, 300.0), (0.0, 250.0), "band"),
            ],
        }
    },
};

const FIG7: Figure = Figure {
    id: "fig7",
    title: "Length of the laptop's queue by average data rate",
    shows: "Without a remedy the queue holds all that the receive window allows, whatever the \
            rate. The method keeps it short below 50 Mb/s, where it matters.",
    runs,
    read: |runs| {
        let queue = |m: &Measured| m.queue_packets;
        let mut quantities = Vec::new();
        for (laptop, paper, band) in [
            ("none", 600.0, (450.0, 750.0)),
            ("tsq", 100.0, (50.0, 150.0)),
            ("codel", 100.0, (50.0, 150.0)),
        ] {
            let ours = mean(&below(50.0, &all(runs, laptop, false), queue));
            let name = format!("{laptop}: mean below 50 Mb/s, without the method");
            quantities.push(Quantity::value(name, "packets", Statement::Value(paper), ours, band));
        }
        for (laptop, _) in LAPTOPS {
            let ours = greatest(&below(50.0, &all(runs, laptop, true), queue));
            let name = format!("{laptop}: longest mean below 50 Mb/s, with the method");
            let paper = Statement::Text("under 50 packets");
            quantities.push(Quantity::value(name, "packets", paper, ours, (0.0, 50.0)));
        }
        let mut panels = panels(runs, "queue, packets", 750.0, queue);
        let with = panels.pop().expect("there are two");
        let without = panels.pop().expect("there are two");
        Findings {
            quantities,
            panels: vec![
                without.target_at(0, (0.0, 50.0), (450.0, 750.0), "band: none").target_at(
                    1,
                    (0.0, 50.0),
                    (50.0, 150.0),
                    "band: tsq and codel",
                ),
                with.target_at(0, (0.0, 50.0), (0.0, 50.0), "band"),
            ],
        }
    },
};

const FIG8: Figure = Figure {
    id: "fig8",
    title: "TCP throughput by average data rate",
    shows: "The method costs little throughput: the queue is shorter, and not empty.",
    runs,
    read: |runs| {
        let mut quantities = Vec::new();
        for (laptop, _) in LAPTOPS {
            let (without, with) = (all(runs, laptop, false), all(runs, laptop, true));
            let change = |(a, b): (&Measured, &Measured)| {
                100.0 * (b.throughput_mbps / a.throughput_mbps - 1.0)
            };
            let changes: Vec<f64> = without.iter().zip(&with).map(change).collect();
            let unchanged = || Statement::Text("similar");
            let name = format!("{laptop}: mean change over all positions");
            let ours = mean(&changes);
            quantities.push(Quantity::value(name, "%", unchanged(), ours, (-5.0, 5.0)));
            let furthest = changes.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            let name = format!("{laptop}: greatest change at any position");
            quantities.push(
                Quantity::value(name, "%", unchanged(), furthest.unwrap_or(f64::NAN), (-5.0, 5.0))
                    .because(
                        "Where two rates are equally good, Minstrel-HT loses every third MPDU and \
                         a few in a hundred are given up: each was sent for nothing, and with a \
                         window of ten segments aggregates are small. The paper's figure has no \
                         resolution to show it.",
                    ),
            );
        }
        let panels = panels(runs, "throughput, Mb/s", 200.0, |m| m.throughput_mbps);
        Findings { quantities, panels }
    },
};
