//! Links between devices of several links (802.11be) that the packets of flows took, after the
//! warm-up: one row for each flow and link, of one run or as means over several. [`cells`] are the
//! texts of the row on the terminal, on pages and in `serve`. Times are in ms. Of the programs'
//! flows those with most bytes have rows.
//!
//! [`cells`]: LinkTaken::cells

use crate::table::{Column, count, number, percent, text, value};
use lasthop_trace::{FlowLinkSummary, ProgramSummary, RunDocument};
use std::collections::BTreeMap;

/// Title of the table.
pub const TITLE: &str = "Links that packets took";

/// Heads of the columns on a page; those of the terminal have two lines.
pub const HEADS: [&str; 9] = [
    "Flow",
    "Link",
    "Packets",
    "%",
    "Delay, ms",
    "p99",
    "Reordering, ms",
    "Wait for it, ms",
    "for another",
];

/// Meaning of the columns, for pages.
pub const MEANING: &str = "Each flow and link, after the warm-up, with the share of the flow's \
    packets. A packet that is first in line waits until the link gains its channel, and would have \
    waited for the best of the other links, which contend at the same time. All but p99 are means.";

/// Largest number of programs' flows in a table.
pub const PROGRAMS_MAX: usize = 16;

/// Returns the columns of the terminal.
pub const fn columns() -> [Column; 9] {
    [
        text("flow"),
        text("link"),
        number("packets", "number"),
        number("packets", "%"),
        number("delay ms", "mean"),
        number("delay ms", "p99"),
        number("reorder ms", "mean"),
        number("first in line, ms", "for it"),
        number("first in line, ms", "for another"),
    ]
}

/// Packets of a flow on one link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTaken {
    /// Name of the flow.
    pub flow: String,
    /// Name of the link, `sender->receiver@band`.
    pub link: String,
    /// Packets that the link delivered.
    pub packets: f64,
    /// Their share of the flow's packets on all links of these devices, 0 to 1.
    pub share: f64,
    /// Mean delay until the packets left the hop; `None` without packets.
    pub delay_ms: Option<f64>,
    /// 99th percentile of the delay.
    pub delay_p99_ms: Option<f64>,
    /// Mean time in the reorder buffer.
    pub reorder_ms: f64,
    /// Mean wait for this link; `None` if the wait for no other link is known.
    pub wait_ms: Option<f64>,
    /// Mean wait for the best of the other links.
    pub other_wait_ms: Option<f64>,
}

impl LinkTaken {
    fn new(flow: &str, link: &str, it: &FlowLinkSummary) -> Self {
        Self {
            flow: flow.to_owned(),
            link: link.to_owned(),
            packets: it.packets as f64,
            share: it.share,
            delay_ms: it.delay_ms.map(|delay| delay.mean),
            delay_p99_ms: it.delay_ms.map(|delay| delay.p99),
            reorder_ms: it.reorder_ms,
            wait_ms: it.wait_ms,
            other_wait_ms: it.other_wait_ms.values().copied().min_by(f64::total_cmp),
        }
    }

    /// Returns the mean of each number over runs with this flow and link.
    fn mean(runs: &[Self]) -> Option<Self> {
        let mean = |of: fn(&Self) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let first = runs.first()?;
        Some(Self {
            flow: first.flow.clone(),
            link: first.link.clone(),
            packets: mean(|it| Some(it.packets))?,
            share: mean(|it| Some(it.share))?,
            delay_ms: mean(|it| it.delay_ms),
            delay_p99_ms: mean(|it| it.delay_p99_ms),
            reorder_ms: mean(|it| Some(it.reorder_ms))?,
            wait_ms: mean(|it| it.wait_ms),
            other_wait_ms: mean(|it| it.other_wait_ms),
        })
    }

    /// Returns the texts of the row.
    pub fn cells(&self) -> Vec<String> {
        let known = |number: Option<f64>| number.map_or_else(String::new, value);
        vec![
            self.flow.clone(),
            self.link.clone(),
            count(self.packets.round() as u64),
            percent(self.share),
            known(self.delay_ms),
            known(self.delay_p99_ms),
            value(self.reorder_ms),
            known(self.wait_ms),
            known(self.other_wait_ms),
        ]
    }
}

/// Returns the rows of a run, or their means over several: flows by name, then flows of programs.
/// Without devices of several links there are none.
pub fn taken(runs: &[RunDocument]) -> Vec<LinkTaken> {
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut rows: Vec<Vec<LinkTaken>> = Vec::new();
    for row in runs.iter().flat_map(of_run) {
        let place = *places.entry((row.flow.clone(), row.link.clone())).or_insert(rows.len());
        if place == rows.len() {
            rows.push(Vec::new());
        }
        rows[place].push(row);
    }
    rows.iter().filter_map(|row| LinkTaken::mean(row)).collect()
}

/// Returns the flows of real programs that tables show, the largest first.
pub fn largest(run: &RunDocument) -> impl Iterator<Item = (&String, &ProgramSummary)> {
    let mut programs: Vec<_> = run.programs.iter().collect();
    programs.sort_by_key(|(_, program)| std::cmp::Reverse(program.bytes_received));
    programs.into_iter().take(PROGRAMS_MAX)
}

fn of_run(run: &RunDocument) -> Vec<LinkTaken> {
    let programs = largest(run).map(|(name, it)| (name, &it.links));
    let flows = run.flows.iter().map(|(name, it)| (name, &it.links));
    let row = |flow: &str, links: &BTreeMap<String, FlowLinkSummary>| {
        links.iter().map(|(link, it)| LinkTaken::new(flow, link, it)).collect::<Vec<_>>()
    };
    flows.chain(programs).flat_map(|(flow, links)| row(flow, links)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(packets: u64, wait_ms: &str) -> RunDocument {
        let json = format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 1.0, "warmup_s": 0.0,
            "wall_s": 0.0, "version": "0", "nodes": {{}}, "links": {{}}, "flows": {{"up": {{
            "kind": "udp", "packets_sent": 9, "packets_received": 9, "packets_lost": 0, "links": {{
            "a->b@5GHz": {{"packets": {packets}, "share": 0.25, "reorder_ms": 0.5, {wait_ms}
            "delay_ms": {{"mean": 1.5, "p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0}}}},
            "a->b@6GHz": {{"packets": 0, "share": 0.0, "reorder_ms": 0.0}}}}}}}}}}"#
        );
        serde_json::from_str(&json).expect("a document")
    }

    /// The other wait is that of the best link, and a number that no run has is no zero.
    #[test]
    fn several_runs_have_the_means_of_the_runs_that_know_a_number() {
        let waits = r#""wait_ms": 0.25, "other_wait_ms": {"2.4GHz": 7.0, "6GHz": 2.0},"#;
        let rows = taken(&[run(1_000, waits), run(1_002, "")]);
        let cells = rows.iter().map(LinkTaken::cells).collect::<Vec<_>>();
        let first = ["up", "a->b@5GHz", "1 001", "25.00", "1.50", "3.00", "0.500", "0.250", "2.00"];
        assert_eq!(cells[0], first);
        assert_eq!(cells[1], ["up", "a->b@6GHz", "0", "0", "", "", "0", "", ""]);
        assert_eq!(cells.len(), 2);
        assert_eq!(taken(&[]), []);
    }
}
