//! Beyond the papers: which of their findings hold on 802.11ac and 802.11ax. The same setting
//! is run with each generation, 802.11n included: what differs there differs by what hosts do
//! today, and what differs between generations by the generation. The scenarios are in
//! `scenarios/beyond/`.
//!
//! Bands are the papers' own words, as in their figures, and were set before the first run.

mod apq;
mod claims;
mod jumbo;
mod retryout;
mod scan;

use crate::reproduce::figure::{Paper, Run};

/// The figures, as those of a paper.
pub const PAPER: Paper = Paper {
    key: "beyond",
    title: "The papers' findings on 802.11ac and 802.11ax",
    source: "lasthop",
    setting: "For engineers who ask if the papers still hold. Two streams, 40 MHz with 802.11n \
              and 80 MHz with 802.11ac and 802.11ax where nothing else is stated, the ideal rate, \
              and one error model, so only the generation differs. Hosts, queues and scans are \
              those of today's Linux. The band is that of the paper.",
    confirmed: "",
    calibrated: &[],
    claims: claims::CLAIMS,
    figures: &[scan::SCAN, retryout::RETRYOUT, jumbo::JUMBO, apq::APQ],
};

/// A generation of 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Generation {
    name: &'static str,
    /// Channel width in MHz where it is not said otherwise.
    width_mhz: u32,
}

/// In the order in which they are shown.
const GENERATIONS: [Generation; 3] = [
    Generation { name: "802.11n", width_mhz: 40 },
    Generation { name: "802.11ac", width_mhz: 80 },
    Generation { name: "802.11ax", width_mhz: 80 },
];

impl Generation {
    /// `run` with this generation at its usual width.
    fn apply(self, run: Run) -> Run {
        self.at(self.width_mhz, run)
    }

    /// `run` with this generation at `width_mhz`.
    fn at(self, width_mhz: u32, run: Run) -> Run {
        run.set(format!("channel.standard={}", self.name))
            .set(format!("channel.width={width_mhz}MHz"))
    }
}
