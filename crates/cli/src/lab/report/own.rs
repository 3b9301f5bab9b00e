//! The report of an emulation in which the reader's traffic is a small part: flows of programs and
//! of the reader's station, and one line for all others. The whole report has the rest.

use super::cause;
use crate::console::Stream;
use crate::table::{alone, many, percent, value};
use lasthop_report::page::quoted;
use lasthop_scenario::{Role, Scenario};
use lasthop_trace::RunDocument;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Packets below which a flow has no slowest 1 %.
const SLOWEST_OF: u64 = 100;

/// The reader's station in a scenario, which is that of COMMAND or the first, and its flows.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// Name of the station; empty without stations.
    pub nodes: BTreeSet<String>,
    /// Flows of the scenario that begin or end there.
    pub flows: BTreeSet<String>,
}

impl Own {
    /// Finds the reader's station in `scenario`, whose COMMAND runs in `in_node`.
    pub fn new(scenario: &Scenario, in_node: Option<&str>) -> Self {
        let stations = scenario.own_nodes().iter().enumerate();
        let stations: Vec<usize> =
            stations.filter(|(_, it)| it.role == Role::Station).map(|(index, _)| index).collect();
        let chosen = in_node.and_then(|name| scenario.node(name)).map(|node| node.index());
        let own = chosen.filter(|it| stations.contains(it)).or_else(|| stations.first().copied());
        let is_own = |node: usize| Some(node) == own;
        let flows = scenario.flows.iter();
        let flows = flows.filter(|flow| is_own(flow.from.index()) || is_own(flow.to.index()));
        Self {
            nodes: own.iter().map(|node| scenario.nodes[*node].name.clone()).collect(),
            flows: flows.map(|flow| flow.name.clone()).collect(),
        }
    }

    /// Returns the report, with `found` as its findings: short if there are flows of the reader and
    /// of others, else whole.
    pub fn report(&self, run: &RunDocument, found: &str, stream: Stream) -> String {
        let mut own = run.clone();
        own.flows.retain(|name, _| self.flows.contains(name));
        if own.flows.len() == run.flows.len() || own.flows.is_empty() && own.programs.is_empty() {
            return super::run(run, found, stream);
        }
        for program in own.programs.values_mut() {
            if program.packets_received < SLOWEST_OF {
                program.delay_parts_slowest_ms = None;
            }
        }
        let mut out = super::heading(run, stream);
        let mut section = |title: &str, table: String| {
            if !table.is_empty() {
                let _ = write!(out, "\n{}\n{table}", stream.bold(title));
            }
        };
        section("Flows of programs", super::programs(&own, stream));
        section("Flows", super::flows(&own, stream));
        section("Round trips", super::round_trips(&own, stream));
        section("Where it went, ms a packet", cause::table(&own, stream));
        section(super::links::TITLE, super::taken(std::slice::from_ref(&own), stream));
        out.push('\n');
        if let Some(finding) = run.findings.first() {
            let _ = write!(out, "{} {}.", stream.bold("What is wrong first:"), finding.sentence);
            let sets: Vec<String> =
                finding.remedy.iter().map(|set| format!(" --set {}", quoted(set))).collect();
            if !sets.is_empty() {
                let _ = write!(out, " Worth a try:{}.", sets.concat());
                if let Some(why) = &finding.not_tried {
                    let _ = write!(out, " Not tried, because {why}.");
                }
            }
            out.push('\n');
        }
        out.push_str(&self.others(run, stream));
        if let Some(emulation) = run.emulation.as_ref().filter(|emulation| emulation.late) {
            out.push_str(&super::lateness(emulation, stream));
        }
        out
    }

    /// Returns a line about other users' flows.
    fn others(&self, run: &RunDocument, stream: Stream) -> String {
        let others: Vec<_> =
            run.flows.iter().filter(|(name, _)| !self.flows.contains(*name)).collect();
        let mbps: f64 = others.iter().filter_map(|(_, flow)| flow.goodput_mbps).sum();
        let sent: u64 = others.iter().map(|(_, flow)| flow.packets_sent).sum();
        let lost: u64 = others.iter().map(|(_, flow)| flow.packets_lost).sum();
        let lost = if sent > 0 { percent(lost as f64 / sent as f64) } else { alone(0.0) };
        let air: f64 = run
            .nodes
            .iter()
            .filter(|(name, _)| !self.nodes.contains(*name))
            .map(|(_, node)| node.airtime_fraction)
            .sum();
        format!(
            "{} {}, {} Mb/s, {lost} % of packets lost; other nodes held the air for {} % of the \
             time. --all has them, and nodes, links and wires\n",
            stream.bold("Other people:"),
            many(others.len() as u64, "flow"),
            value(mbps),
            percent(air),
        )
    }
}
