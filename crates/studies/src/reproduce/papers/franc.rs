//! The paper `franc`: a lossy hop made reliable by network coding, with a helper that
//! overhears. The scenarios are in `scenarios/franc/`; `udp` has figures 9 to 12, `tcp`
//! 13 to 16, `beyond` what the paper leaves open.

mod beyond;
mod claims;
mod tcp;
mod udp;

use crate::reproduce::data::{Point, RunData};
use crate::reproduce::figure::{Calibrated, Paper};
use lasthop_trace::{CodedLinkSummary, CodedNodeSummary};

/// The paper and its figures.
pub const PAPER: Paper = Paper {
    key: "franc",
    title: "Throughput vs. Delay in Lossy Wireless Mesh Networks with Random Linear Network Coding",
    source: "M Hundebøll, P Pahlevani, D E Lucani, F H P Fitzek (European Wireless 2014)",
    setting: "For mesh operators and developers of coded links. Three Raspberry Pis at 12 Mb/s: \
              encoder, decoder, and a helper that overhears both. A laptop sends UDP at 10 Mb/s, \
              or TCP at rising loads. Injected loss: e3 from encoder to decoder, e1 to the \
              helper, e2 from it. GF(2), blocks of 150 symbols of 1450 bytes, a timeout of 20 ms, \
              5 % overshoot. The *unreliable* link forwards packets.",
    confirmed: "",
    seeds: 1,
    calibrated: &[
        Calibrated {
            key: "channel.independent",
            value: "true",
            reason: "A mesh of that time is an ad hoc network with slots of 20 us.",
        },
        Calibrated {
            key: "flow.udp.packet_bytes",
            value: "1429",
            reason: "The packet fills a symbol of 1450 bytes.",
        },
        Calibrated {
            key: "franc.link.interface_packets",
            value: "2",
            reason: "The interface is never idle, and the encoder's timer starts when its packets \
                     leave; behind a whole socket buffer (73 frames) it expires while they wait.",
        },
        Calibrated {
            key: "wire.source-encoder.delay",
            value: "1ms",
            reason: "Packets pass programs between laptop and box; a guess, fitted to no figure.",
        },
        Calibrated {
            key: "franc.link.small",
            value: "alone",
            reason: "The paper's encoder makes a symbol of each packet, acknowledgements too.",
        },
    ],
    claims: claims::CLAIMS,
    figures: &[
        udp::FIG9,
        udp::FIG10,
        udp::FIG11,
        udp::FIG12,
        udp::PARAMETERS_FIGURE,
        tcp::FIG13,
        tcp::FIG14,
        tcp::FIG15,
        tcp::FIG16,
        beyond::BACKLOG,
        beyond::SPARSE,
        beyond::REDUNDANCY,
        beyond::HOPS,
        beyond::HELPERS,
        beyond::CORRIDOR,
        beyond::VANISH,
    ],
};

/// Transport of the flow's packets over the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Plain,
    Coded,
    Helped,
}

impl Link {
    const ALL: [Self; 3] = [Self::Plain, Self::Coded, Self::Helped];

    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "unreliable",
            Self::Coded => "FRANC",
            Self::Helped => "FRANC with helper",
        }
    }
}

/// Error probabilities of the links of a hop, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Losses {
    e1: f64,
    e2: f64,
    e3: f64,
}

impl Losses {
    /// Losses of `e3`, and half of it on the two links of the helper.
    const fn halves(e3: f64) -> Self {
        Self { e1: e3 / 2.0, e2: e3 / 2.0, e3 }
    }

    /// The keys of a link with these losses and helpers of these names; `both`: in both
    /// directions.
    fn sets(self, helpers: &[&str], both: bool) -> Vec<String> {
        let entry = |from: &str, to: &str, percent: f64| {
            if both {
                format!("{{ between = [\"{from}\", \"{to}\"], loss = \"{percent}%\" }}")
            } else {
                format!("{{ from = \"{from}\", to = \"{to}\", loss = \"{percent}%\" }}")
            }
        };
        let mut entries = vec![entry("encoder", "decoder", self.e3)];
        for helper in helpers {
            entries.push(entry("encoder", helper, self.e1));
            entries.push(entry(helper, "decoder", self.e2));
        }
        let mut sets = vec![format!("franc.link.loss=[{}]", entries.join(", "))];
        if !helpers.is_empty() {
            sets.push(format!("franc.link.helpers={helpers:?}"));
        }
        sets
    }
}

fn link(run: &RunData) -> &CodedLinkSummary {
    run.coded("link")
}

fn node<'a>(run: &'a RunData, name: &str) -> Option<&'a CodedNodeSummary> {
    link(run).nodes.get(name)
}

fn goodput(run: &RunData, flow: &str) -> f64 {
    run.flow(flow).goodput_mbps.unwrap_or(f64::NAN)
}

/// The ratios of two curves with the same x.
fn ratios(over: &[Point], under: &[Point]) -> Vec<Point> {
    over.iter().zip(under).map(|(&(x, a), &(_, b))| (x, a / b)).collect()
}

fn ys(points: &[Point]) -> Vec<f64> {
    points.iter().map(|&(_, y)| y).collect()
}
