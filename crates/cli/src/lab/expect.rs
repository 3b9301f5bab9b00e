//! `--expect`: conditions on the runs of a command, a table of the results, and a JUnit file for
//! test reports. The command ends with [`NOT_MET`] if a condition is not met.

use crate::args::ExpectArgs;
use crate::console::Stream;
use crate::failure::Failure;
use crate::lab::page;
use crate::table::{self, text, value};
use lasthop_report::expectation::{Expectation, Part, Reading};
use lasthop_scenario::{Scenario, did_you_mean};
use lasthop_trace::RunDocument;
use std::fmt::Write;

/// Exit status if a condition is not met.
pub const NOT_MET: u8 = 1;

/// Conditions of a command, with the results of its runs.
#[derive(Debug)]
pub struct Judged {
    scenario: String,
    runs: usize,
    /// Whether some run did not keep real time, which adds the machine's delays.
    is_late: bool,
    wall_s: f64,
    all: Vec<(Expectation, Vec<Reading>)>,
}

impl ExpectArgs {
    /// Checks that the scenario has the subjects of the conditions. An emulation's flows of
    /// programs are unknown until they begin, so their names are not checked.
    ///
    /// # Errors
    /// An error if there is no such flow, node, link or wire, or no program.
    pub fn check(&self, scenario: &Scenario, has_programs: bool) -> Result<(), Failure> {
        let nodes: Vec<&str> = scenario.own_nodes().iter().map(|node| node.name.as_str()).collect();
        let flows: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
        for expectation in &self.expect {
            let Some((part, name)) = expectation.place() else { continue };
            let pairs = || {
                let ends = nodes.iter().flat_map(|from| nodes.iter().map(move |to| (from, to)));
                ends.map(|(from, to)| format!("{from}->{to}")).any(|pair| expectation.names(&pair))
            };
            let (is_there, all) = match part {
                Part::Program if has_programs => continue,
                Part::Program => {
                    return Err(Failure::Message(format!(
                        "--expect '{expectation}': no program runs here; programs run under \
                         `emulate`, as COMMAND and [[run]]"
                    )));
                }
                Part::Flow => (flows.iter().any(|flow| expectation.names(flow)), &flows),
                Part::Node => (nodes.iter().any(|node| expectation.names(node)), &nodes),
                Part::Link | Part::Wire => (pairs(), &nodes),
            };
            if is_there {
                continue;
            }
            let there = if all.is_empty() {
                "there is none in this scenario".to_owned()
            } else {
                match did_you_mean(name, all.iter().copied()) {
                    Some(near) => near,
                    None if all == &flows => format!("the flows are {}", all.join(", ")),
                    None => format!("the nodes are {}", all.join(", ")),
                }
            };
            return Err(Failure::Message(format!(
                "--expect '{expectation}': there is no {part} {name:?}; {there}"
            )));
        }
        Ok(())
    }

    /// Judges `runs`; `None` without conditions.
    pub fn judge(&self, runs: &[RunDocument]) -> Option<Judged> {
        let first = runs.first().filter(|_| !self.expect.is_empty())?;
        let is_late = |run: &RunDocument| run.emulation.as_ref().is_some_and(|how| how.late);
        Some(Judged {
            scenario: first.scenario.clone(),
            runs: runs.len(),
            is_late: runs.iter().any(is_late),
            wall_s: runs.iter().map(|run| run.wall_s).sum(),
            all: self.expect.iter().map(|one| (one.clone(), one.read(runs))).collect(),
        })
    }

    /// Prints the results, with `is_quiet` only the failures; writes the JUnit file; returns the
    /// exit status.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn report(
        &self,
        judged: Option<&Judged>,
        stream: Stream,
        is_quiet: bool,
    ) -> Result<u8, Failure> {
        let Some(judged) = judged else { return Ok(0) };
        if let Some(file) = &self.junit {
            page::write(file, &judged.junit())?;
        }
        if !is_quiet || !judged.is_met() {
            stream.write(&judged.text(stream))?;
        }
        Ok(if judged.is_met() { 0 } else { NOT_MET })
    }
}

impl Judged {
    fn is_met(&self) -> bool {
        self.all.iter().all(|(_, readings)| readings.iter().all(|reading| reading.is_met))
    }

    fn text(&self, stream: Stream) -> String {
        let columns = [text(""), text("expected"), text("value"), text("")];
        let rows: Vec<Vec<String>> = self
            .all
            .iter()
            .map(|(expectation, readings)| {
                let is_met = readings.iter().all(|reading| reading.is_met);
                let worst = expectation.worst(readings);
                let value = worst.value.map_or_else(|| "no value".into(), value);
                let met = if is_met { "met" } else { "not met" };
                let whose = self.whose(readings, worst).join(", ");
                vec![met.to_owned(), expectation.to_string(), value, whose]
            })
            .collect();
        let table = table::render_all(&columns, &rows, stream);
        let mut out = format!("\n{}\n{table}", stream.bold("Expectations"));
        if self.is_late && !self.is_met() {
            let _ = writeln!(
                out,
                "{} this machine did not keep real time: the delays are its own, too",
                stream.yellow("late:")
            );
        }
        out
    }

    /// Returns the names with the worst value, if there are others.
    fn whose(&self, readings: &[Reading], worst: &Reading) -> Vec<String> {
        let mut words = Vec::new();
        if readings.len() > self.runs {
            words.push(worst.name.clone());
        }
        if self.runs > 1 {
            words.push(format!("run {}", worst.run));
        }
        let bad = readings.iter().filter(|reading| !reading.is_met).count();
        if bad > 0 && readings.len() > 1 {
            words.push(format!("{bad} of {} not met", readings.len()));
        }
        words
    }

    /// Returns the file in the form of Ant's JUnit, which readers accept: a case for each
    /// condition.
    fn junit(&self) -> String {
        let bad = |readings: &Vec<Reading>| readings.iter().any(|reading| !reading.is_met);
        let failures = self.all.iter().filter(|(_, readings)| bad(readings)).count();
        let (suite, tests) = (escaped(&self.scenario), self.all.len());
        let wall_s = self.wall_s;
        let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(out, "<testsuites {counts} time=\"{wall_s:.3}\">");
        let _ = writeln!(
            out,
            "  <testsuite name=\"{suite}\" {counts} skipped=\"0\" time=\"{wall_s:.3}\">"
        );
        for (expectation, readings) in &self.all {
            let name = escaped(&expectation.to_string());
            let case = format!("    <testcase classname=\"{suite}\" name=\"{name}\" time=\"0\"");
            if !bad(readings) {
                let _ = writeln!(out, "{case}/>");
                continue;
            }
            let is_named = !expectation.worst(readings).name.is_empty();
            let lines = readings.iter().filter(|reading| !reading.is_met).map(|reading| {
                let value = reading.value.map_or_else(|| "no value".into(), |it| it.to_string());
                let name = if is_named { format!("{}: ", reading.name) } else { String::new() };
                format!("run {}: {name}{value}", reading.run)
            });
            let lines: Vec<String> = lines.collect();
            let late = if self.is_late { " (this machine did not keep real time)" } else { "" };
            let message = escaped(&format!("not met: {}{late}", lines[0]));
            let all = escaped(&lines.join("\n"));
            let _ = writeln!(out, "{case}>");
            let _ = writeln!(out, "      <failure message=\"{message}\">{all}</failure>");
            let _ = writeln!(out, "    </testcase>");
        }
        out.push_str("  </testsuite>\n</testsuites>\n");
        out
    }
}

/// Escapes a text for XML. Leaves out characters that XML 1.0 forbids.
fn escaped(text: &str) -> String {
    let is_allowed = |c: &char| match c {
        '\n' | '\t' => true,
        c => !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}'),
    };
    lasthop_figures::text::escaped(&text.chars().filter(is_allowed).collect::<String>())
}
