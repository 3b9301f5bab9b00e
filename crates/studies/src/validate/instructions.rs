//! Instructions of a delivered packet, counted by Valgrind (callgrind). The figure does not
//! depend on the machine and its load, so it can be kept and compared, but on the compiler, whose
//! version is kept with it.
//!
//! A workload of `lasthop_fixtures` runs twice in a separate process, once for longer; the
//! difference leaves out the start. The runs record no files. Leaves out caches and what an
//! instruction costs.

use crate::Verdict;
use crate::table::Table;
use crate::validate::data::Record;
use crate::validate::kept::Kept;
use lasthop_fixtures::workloads;
use lasthop_hosts::Sink;
use lasthop_packet::{NodeId, Packet};
use lasthop_scenario::parse;
use lasthop_units::{Instant, Seed};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The counts that were kept.
const KEPT: Kept =
    Kept { file: "instructions.csv", header: "workload,packets,instructions_per_packet,rustc" };
/// Milliseconds of virtual time of the short and of the long run: the first has everything
/// that happens once.
const MS: [u64; 2] = [500, 1_500];
/// Counts may grow by this share before it is a fault.
const GROWTH_MAX: f64 = 0.01;

/// Instructions of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionCost {
    /// Name of the workload.
    pub workload: &'static str,
    /// Packets that reached the end of their flow in a second of virtual time.
    pub packets: u64,
    /// Instructions for each of them.
    pub instructions: f64,
}

/// Packets that reached the end of their flow.
struct Arrivals {
    /// Node where each flow ends, by number of the flow.
    ends: Vec<NodeId>,
    number: u64,
}

impl Sink for Arrivals {
    fn arrived(&mut self, _now: Instant, node: NodeId, packet: &Packet) {
        self.number += u64::from(self.ends.get(usize::from(packet.flow.0)) == Some(&node));
    }
}

/// Runs a workload for `ms` milliseconds of virtual time; returns the number of packets that reached
/// the end of their flow.
///
/// # Panics
/// If there is no such workload.
pub fn run(workload: &str, ms: u64) -> u64 {
    let text = workloads::scenario(workload, &format!("{ms}ms"));
    let scenario = parse("workload.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let ends = scenario.flows.iter().map(|flow| flow.to).collect();
    let mut arrivals = Arrivals { ends, number: 0 };
    lasthop_sim::simulate(&scenario, Seed::new(1, 0), &mut arrivals, &mut lasthop_sim::go_on)
        .unwrap_or_else(|why| panic!("{why}"));
    arrivals.number
}

/// Counts for a workload, which `program` runs when it is given `work WORKLOAD MS`.
///
/// # Errors
/// If there is no Valgrind, or it says something else than expected.
pub fn count(program: &Path, workload: &'static str) -> io::Result<InstructionCost> {
    let [short, long] =
        [run_counted(program, workload, MS[0])?, run_counted(program, workload, MS[1])?];
    let packets = long.0 - short.0;
    let instructions = (long.1 - short.1) as f64 / packets as f64;
    Ok(InstructionCost { workload, packets, instructions })
}

/// Packets and instructions of one run.
fn run_counted(program: &Path, workload: &str, ms: u64) -> io::Result<(u64, u64)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["work", workload, &ms.to_string()])
        .stdin(Stdio::null())
        .output()?;
    let [said, counted] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let instructions =
        counted.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match (said.trim().parse(), instructions) {
        (Ok(packets), Some(instructions)) => Ok((packets, instructions)),
        _ => Err(io::Error::other(format!("valgrind said:\n{counted}"))),
    }
}

/// The version of the compiler that `cargo` uses.
pub fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    // "rustc 1.90.0 (1159e78c4 2025-09-14)"
    text.ok().and_then(|text| text.split(' ').nth(1).map(str::to_owned)).unwrap_or_default()
}

/// Replaces the kept figures.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(costs: &[InstructionCost]) -> io::Result<()> {
    let rustc = compiler();
    KEPT.replace(costs.iter().map(|InstructionCost { workload, packets, instructions }| {
        format!("{workload},{packets},{instructions:.0},{rustc}")
    }))
}

/// The workloads that are kept and their instructions for a packet.
pub fn kept() -> Vec<(String, f64)> {
    let of = |record: &Record| {
        (record.text("workload").to_owned(), record.number("instructions_per_packet"))
    };
    KEPT.records().iter().map(of).collect()
}

/// The costs beside those that are kept. One that has grown by more than 1 % is a fault,
/// unless the compiler is another: then there is no verdict.
pub fn table(costs: &[InstructionCost]) -> Table {
    compare(costs, &KEPT.records(), &compiler())
}

fn compare(costs: &[InstructionCost], kept: &[Record], rustc: &str) -> Table {
    let rows = costs.iter().map(|cost| {
        let record = kept.iter().find(|record| record.text("workload") == cost.workload);
        let before = record.map(|record| record.number("instructions_per_packet"));
        let change = before.map(|before| cost.instructions / before - 1.0);
        let is_same = record.is_some_and(|record| record.text("rustc") == rustc);
        let verdict = match change {
            Some(change) if is_same && change > GROWTH_MAX => Verdict::Fail,
            Some(_) if is_same => Verdict::Pass,
            _ => Verdict::Listed,
        };
        let cells = vec![
            cost.workload.to_owned(),
            cost.packets.to_string(),
            format!("{:.0}", cost.instructions),
            before.map_or_else(String::new, |before| format!("{before:.0}")),
            change.map_or_else(String::new, |change| format!("{:+.1}", 100.0 * change)),
        ];
        (cells, verdict)
    });
    Table {
        title: "Instructions",
        text: format!(
            "Instructions for a packet that reached the end of its flow, in a release build by Rust \
             {rustc}, nothing recorded. Target: at most 1 % more than what is kept in \
             `crates/studies/data/instructions.csv`, which is of the same compiler."
        ),
        columns: vec!["workload", "packets a second", "instructions", "kept", "change in %"],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::data;

    #[test]
    fn growth_is_a_fault() {
        let kept = "workload,packets,instructions_per_packet,rustc\n\
                    ampdu,20000,1000,1.90.0\nsingle,4000,8000,1.90.0\n";
        let cost = |workload, instructions| InstructionCost { workload, packets: 1, instructions };
        let costs = [
            cost("ampdu", 1_009.0),
            cost("single", 8_081.0),
            cost("ampdu", 500.0),
            cost("down", 1.0),
        ];
        let verdicts = |rustc| -> Vec<Verdict> {
            let table = compare(&costs, &data::records(kept), rustc);
            table.rows.iter().map(|row| row.1).collect()
        };
        let [pass, fail, listed] = [Verdict::Pass, Verdict::Fail, Verdict::Listed];
        assert_eq!(verdicts("1.90.0"), [pass, fail, pass, listed]);
        assert_eq!(verdicts("1.91.0"), [listed; 4]);
    }

    #[test]
    fn all_workloads_deliver() {
        for workload in workloads::ALL {
            assert!(run(workload, 100) > 50, "{workload}");
        }
    }
}
