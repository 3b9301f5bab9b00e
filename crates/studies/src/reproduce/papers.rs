//! The papers, in the order in which they are shown, and how to add to them.
//!
//! A figure is a [`Figure`] in the list of its paper's module, with the functions `runs`
//! (scenarios, with their changes) and `read` (what the paper states, what we get, and
//! what is drawn). The scenario is a file in `scenarios/<key>/`, which `lasthop simulate`
//! can run, and in which a comment explains each calibrated parameter.
//!
//! ```
//! use lasthop_studies::reproduce::data::{Runs, mean, values};
//! use lasthop_figures::plot::{Axis, Panel, Series};
//! use lasthop_studies::reproduce::{Figure, Findings, Quantity, Statement};
//! use lasthop_studies::scenario_file;
//! use lasthop_studies::reproduce::figure::{Run, ScenarioFile};
//!
//! const UPLOAD: ScenarioFile = scenario_file!("hello.toml");
//!
//! const FIG3: Figure = Figure {
//!     id: "fig3",
//!     title: "Throughput over time",
//!     shows: "The link is saturated all the time.",
//!     // Several runs are told apart by their names.
//!     runs: || vec![Run::new("upload", UPLOAD).set("duration=3s")],
//!     read: fig3,
//! };
//!
//! fn fig3(runs: &Runs<'_>) -> Findings {
//!     let run = runs.get("upload");
//!     let throughput = run.throughput_mbps("up");
//!     // The first second is a transient.
//!     let normal = mean(&values(&throughput, |time| time > 1.0));
//!     Findings {
//!         quantities: vec![
//!             Quantity::value("throughput", "Mb/s", Statement::Value(60.0), normal, (55.0, 65.0))
//!                 .because("told if it fails: what the model does differently, and why"),
//!             Quantity::shown("loss", "nothing is lost", run.flow("up").packets_lost == 0),
//!         ],
//!         panels: vec![
//!             Panel::new("", Axis::new("time, s"), Axis::new("throughput, Mb/s"))
//!                 .with(Series::line("throughput", throughput))
//!                 .target(0, (55.0, 65.0), "paper: 60 Mb/s, and the band"),
//!         ],
//!     }
//! }
//! ```
//!
//! The data that can be read are those of [`RunData`](crate::reproduce::RunData): summaries of flows,
//! nodes and links; throughput, congestion window, retransmissions, losses, delays and
//! queues over time; results of measured queues. With
//! [`Run::capturing_air`](crate::reproduce::figure::Run::capturing_air) also what a capture of the air
//! shows ([`heard`](crate::reproduce::heard)); with
//! [`Run::watching_round_trips`](crate::reproduce::figure::Run::watching_round_trips) each round trip;
//! with [`Run::watching_phases`](crate::reproduce::figure::Run::watching_phases) each packet of
//! measurements.
//!
//! Every sentence of a paper that states a result is a [`Claim`](crate::reproduce::Claim) in the
//! paper's `claims.rs`, with the quantities that test it, or the reason why none does.
//! Bands follow the words of the paper: a bound as it is,
//! [`stated`](crate::reproduce::figure::stated) around a number and
//! [`about`](crate::reproduce::figure::about) around a rounded one. Afterwards
//! `docs/reproduce/<key>.md` has to be updated: `lasthop reproduce <key> --out DIR` writes
//! it as `DIR/<key>.md`.
//!
//! Tests check that scenarios parse, that calibrated keys are in them, and that statements,
//! quantities and pages match.

pub mod apq;
pub mod franc;
pub mod jumbo;
pub mod retryout;
pub mod scan;

use crate::reproduce::figure::{Figure, Paper};
use lasthop_scenario::did_you_mean;

/// All papers, in the order in which they are shown.
pub const PAPERS: [&Paper; 5] =
    [&scan::PAPER, &retryout::PAPER, &jumbo::PAPER, &apq::PAPER, &franc::PAPER];

/// Why [`select`] found nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {wanted:?}; {}there is {there}", near.as_ref().map_or(String::new(), |near| format!("{near} ")))]
pub struct UnknownFigure {
    /// The paper or figure that was asked for.
    pub wanted: String,
    /// Question with a similar name, if there is one.
    pub near: Option<String>,
    /// The papers or figures that exist.
    pub there: String,
}

/// Returns the figures that `wanted` selects: `KEY` for a paper, `KEY/FIGURE` for one
/// figure, `None` for all.
///
/// # Errors
/// If there is no such paper or figure.
pub fn select(
    wanted: Option<&str>,
) -> Result<Vec<(&'static Paper, &'static Figure)>, UnknownFigure> {
    let (key, id) = match wanted {
        Some(wanted) => match wanted.split_once('/') {
            Some((key, id)) => (Some(key), Some(id)),
            None => (Some(wanted), None),
        },
        None => (None, None),
    };
    let selected: Vec<_> = all()
        .filter(|(paper, _)| key.is_none_or(|key| paper.key == key))
        .filter(|(_, figure)| id.is_none_or(|id| figure.id == id))
        .collect();
    match (selected.is_empty(), wanted) {
        (true, Some(wanted)) => {
            let papers = PAPERS.iter().filter(|paper| !paper.figures.is_empty());
            let there: Vec<String> = papers.map(|paper| what_there_is(paper)).collect();
            let there = there.join(", ");
            let keys = PAPERS.iter().map(|paper| paper.key.to_owned());
            let figures = all().map(|(paper, figure)| format!("{}/{}", paper.key, figure.id));
            let names: Vec<String> = keys.chain(figures).collect();
            let near = did_you_mean(wanted, names.iter().map(String::as_str));
            Err(UnknownFigure { wanted: wanted.to_owned(), near, there })
        }
        _ => Ok(selected),
    }
}

/// Every figure of every paper.
pub fn all() -> impl Iterator<Item = (&'static Paper, &'static Figure)> {
    PAPERS.into_iter().flat_map(|paper| paper.figures.iter().map(move |figure| (paper, figure)))
}

fn what_there_is(paper: &Paper) -> String {
    let figures: Vec<&str> = paper.figures.iter().map(|figure| figure.id).collect();
    format!("{} (/{})", paper.key, figures.join(", /"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::run::scenario;
    use std::collections::BTreeSet;

    #[test]
    fn keys_and_figures_have_names_of_their_own() {
        let names: Vec<_> = all().map(|(paper, figure)| (paper.key, figure.id)).collect();
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len(), "{names:?}");
        let is_name = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        assert!(names.iter().all(|(key, id)| is_name(key) && is_name(id)), "{names:?}");
    }

    #[test]
    fn every_figure_has_runs_whose_scenarios_are_sound() {
        for (paper, figure) in all() {
            let runs = (figure.runs)();
            assert!(!runs.is_empty(), "{}/{}", paper.key, figure.id);
            let names: BTreeSet<_> = runs.iter().map(|run| run.name.clone()).collect();
            assert_eq!(names.len(), runs.len(), "{}/{}: names", paper.key, figure.id);
            for run in runs {
                let place = format!("{}/{}: {}", paper.key, figure.id, run.name);
                assert!(run.file.path.starts_with(&format!("scenarios/{}/", paper.key)), "{place}");
                if let Err(why) = scenario(&run) {
                    panic!("{place}: {why}");
                }
            }
        }
    }

    /// Calibrated keys have the values in the scenario files that the paper's list
    /// gives.
    #[test]
    fn calibrated_parameters_are_those_of_the_scenarios() {
        for paper in PAPERS {
            let files: BTreeSet<_> = paper
                .figures
                .iter()
                .flat_map(|figure| (figure.runs)())
                .map(|run| (run.file.path, run.file.text))
                .collect();
            for calibrated in paper.calibrated {
                let set = format!("{}={}", calibrated.key, calibrated.value);
                let name = calibrated.key.rsplit('.').next().expect("a key has parts");
                let mut found = 0;
                for (path, text) in &files {
                    let parse = |sets: &[String]| {
                        let mut scenario = lasthop_scenario::parse(path, text, sets)?;
                        scenario.source_text.clear();
                        scenario.set.clear();
                        Ok::<_, lasthop_scenario::ScenarioError>(scenario)
                    };
                    // Not every file has every node, flow and key.
                    let lines = || text.lines().filter(|line| !line.starts_with('#'));
                    if !lines().any(|line| line.contains(name)) {
                        continue;
                    }
                    let Ok(with) = parse(std::slice::from_ref(&set)) else { continue };
                    let as_it_is = parse(&[]).expect("another test parses it");
                    assert_eq!(with, as_it_is, "{path} does not have {set}");
                    found += 1;
                }
                assert!(found > 0, "{}: no scenario has {set}", paper.key);
            }
        }
    }

    #[test]
    fn what_is_selected() {
        let total = all().count();
        assert_eq!(select(None).map(|figures| figures.len()), Ok(total));
        let one = select(Some("jumbo/fig4")).expect("it is there");
        assert_eq!(one.iter().map(|(p, f)| (p.key, f.id)).collect::<Vec<_>>(), [("jumbo", "fig4")]);
        let paper = select(Some("jumbo")).expect("it is there");
        assert!(paper.iter().all(|(paper, _)| paper.key == "jumbo"));
        for wanted in ["jumbo/fig99", "nonsense", "", "/", "jumbo/"] {
            let why = select(Some(wanted)).expect_err("there is none").to_string();
            assert!(why.contains("jumbo (/fig4"), "{why}");
        }
        for (wanted, near) in [("jumob", "jumbo"), ("jumbo/fg4", "jumbo/fig4")] {
            let why = select(Some(wanted)).expect_err("there is none").to_string();
            let told = format!("there is no {wanted:?}; did you mean {near:?}? there is ");
            assert!(why.starts_with(&told), "{why}");
        }
    }
}
