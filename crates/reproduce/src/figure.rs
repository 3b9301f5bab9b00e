//! What a figure of a paper is made of. All of it is data and two functions:
//! which runs there are, and what is read from them. See [`papers`](crate::papers)
//! for how to write one.

use crate::data::Runs;
use crate::record::Watch;
use lasthop_evidence::Verdict;
use lasthop_evidence::plot::Panel;

/// A paper.
#[derive(Debug)]
pub struct Paper {
    /// What it is called on the command line.
    pub key: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Who wrote it, and where it appeared.
    pub source: &'static str,
    /// What was measured with what, in a few sentences.
    pub setting: &'static str,
    /// The parameters that the paper does not give. There is one set for all of its figures.
    pub calibrated: &'static [Calibrated],
    /// What it states, sentence by sentence, and what tests that.
    pub claims: &'static [Claim],
    /// Its figures and tables, in the paper's order.
    pub figures: &'static [Figure],
}

/// One statement of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where the paper has it: `IV.A, Fig. 3`.
    pub place: &'static str,
    /// What it states, in words of our own.
    pub says: &'static str,
    /// What tests it.
    pub tested: Tested,
}

/// What tests a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// The quantities of a figure whose names begin so; of each pair, the figure first.
    By(&'static [(&'static str, &'static str)]),
    /// Nothing, for this reason.
    No(&'static str),
}

impl Claim {
    /// A statement that quantities test.
    pub const fn tested(
        place: &'static str,
        says: &'static str,
        by: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { place, says, tested: Tested::By(by) }
    }

    /// A statement that nothing tests, and why.
    pub const fn untested(place: &'static str, says: &'static str, why: &'static str) -> Self {
        Self { place, says, tested: Tested::No(why) }
    }
}

/// A parameter that the paper does not give, and that was chosen.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated {
    /// The key, as after `--set`: `node.laptop.queue.packets`.
    pub key: &'static str,
    /// Its value in the scenario files that have the node, flow or link.
    pub value: &'static str,
    /// Why this value.
    pub reason: &'static str,
}

/// A figure or table of a paper.
#[derive(Debug)]
pub struct Figure {
    /// Such as `fig3`.
    pub id: &'static str,
    /// What it is of.
    pub title: &'static str,
    /// What can be seen in it, in a few sentences.
    pub shows: &'static str,
    /// The runs it needs. Equal runs of several figures are made once.
    pub runs: fn() -> Vec<Run>,
    /// What is read from them.
    pub read: fn(&Runs<'_>) -> Findings,
}

/// A scenario file that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioFile {
    /// Its path from the root of the repository.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// The [`ScenarioFile`](crate::figure::ScenarioFile) at a path below `scenarios/`.
#[macro_export]
macro_rules! scenario_file {
    ($path:literal) => {
        $crate::figure::ScenarioFile {
            path: concat!("scenarios/", $path),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/", $path)),
        }
    };
}

/// One run of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What the figure calls it; not part of what makes two runs equal to the runner.
    pub name: String,
    /// The scenario.
    pub file: ScenarioFile,
    /// What is changed in it, as after `--set`.
    pub sets: Vec<String>,
    /// Run number: runs that differ in it differ in their random numbers only.
    pub number: u64,
    /// What is kept of it beyond the series.
    pub watch: Watch,
}

impl Run {
    /// A run of `file` as it is.
    pub fn of(name: impl Into<String>, file: ScenarioFile) -> Self {
        let (sets, watch) = (Vec::new(), Watch::default());
        Self { name: name.into(), file, sets, number: 0, watch }
    }

    /// With a key changed, as after `--set`: `"flow.up.packet_bytes=4000"`.
    #[must_use]
    pub fn set(mut self, set: impl Into<String>) -> Self {
        self.sets.push(set.into());
        self
    }

    /// With other random numbers.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.number = number;
        self
    }

    /// With PPDUs counted over time, and the frames without data kept. It costs time.
    #[must_use]
    pub fn watching_air(mut self) -> Self {
        self.watch.air = true;
        self
    }

    /// With every packet of its measurements kept. It costs memory.
    #[must_use]
    pub fn watching_phases(mut self) -> Self {
        self.watch.phases = true;
        self
    }

    /// With every round trip kept.
    #[must_use]
    pub fn watching_round_trips(mut self) -> Self {
        self.watch.round_trips = true;
        self
    }
}

/// What came out of a figure's runs.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Findings {
    /// What the paper states, and what we get; at least one.
    pub quantities: Vec<Quantity>,
    /// What is drawn, from top to bottom; at least one.
    pub panels: Vec<Panel>,
}

/// What the paper says of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A number.
    Value(f64),
    /// From here to there.
    Range(f64, f64),
    /// A number seen once, in the example that the paper shows; not a mean.
    Example(f64),
    /// In words of our own.
    Text(&'static str),
}

/// What a paper leaves open.
pub const LEFT_OPEN: Statement = Statement::Text("left open");

/// Share of each of two ranges that lies in the other, at least, where they agree. Ranges
/// that only touch, a point in a wide range and a wide range around a narrow one do not.
pub const SHARED_MIN: f64 = 0.5;

/// The band around a number that a paper states: a tenth to either side.
pub fn stated(value: f64) -> (f64, f64) {
    (0.9 * value, 1.1 * value)
}

/// The band around a number that a paper rounds (around, about, almost): a fifth to either
/// side.
pub fn about(value: f64) -> (f64, f64) {
    (0.8 * value, 1.2 * value)
}

/// What we get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ours {
    /// A number; `NaN`, if it could not be measured, passes no band.
    Value(f64),
    /// From here to there.
    Range(f64, f64),
    /// It shows, or it does not.
    Shown(bool),
}

/// One thing that the paper states.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What it is.
    pub name: String,
    /// Its unit; empty for a ratio and for what is shown.
    pub unit: &'static str,
    /// What the paper says.
    pub paper: Statement,
    /// What we get.
    pub ours: Ours,
    /// Least and greatest value that agree with the paper; the paper's range, or twice its
    /// example, if ours is a range.
    pub band: (f64, f64),
    /// Why it fails, if it does.
    pub because: Option<&'static str>,
}

impl Quantity {
    /// The paper says about `paper`; ours has to be at least `band.0` and at most `band.1`
    /// (which may be infinite).
    pub fn value(
        name: impl Into<String>,
        unit: &'static str,
        paper: Statement,
        ours: f64,
        band: (f64, f64),
    ) -> Self {
        Self { name: name.into(), unit, paper, ours: Ours::Value(ours), band, because: None }
    }

    /// Ours is a range. Of each of the two, [`SHARED_MIN`] and more has to lie in the other.
    pub fn range(
        name: impl Into<String>,
        unit: &'static str,
        paper: (f64, f64),
        ours: (f64, f64),
    ) -> Self {
        Self {
            name: name.into(),
            unit,
            paper: Statement::Range(paper.0, paper.1),
            ours: Ours::Range(ours.0, ours.1),
            band: paper,
            because: None,
        }
    }

    /// The paper shows one case, and its number has to be among ours: `ours` is from the
    /// least to the greatest of the same case.
    pub fn example(
        name: impl Into<String>,
        unit: &'static str,
        paper: f64,
        ours: (f64, f64),
    ) -> Self {
        Self {
            name: name.into(),
            unit,
            paper: Statement::Example(paper),
            ours: Ours::Range(ours.0, ours.1),
            band: (paper, paper),
            because: None,
        }
    }

    /// What the paper says in words is there, or it is not.
    pub fn shown(name: impl Into<String>, paper: &'static str, shows: bool) -> Self {
        Self {
            name: name.into(),
            unit: "",
            paper: Statement::Text(paper),
            ours: Ours::Shown(shows),
            band: (f64::NEG_INFINITY, f64::INFINITY),
            because: None,
        }
    }

    /// Says why it fails; told only if it does.
    #[must_use]
    pub fn because(mut self, why: &'static str) -> Self {
        self.because = Some(why);
        self
    }

    /// Whether ours agrees.
    pub fn verdict(&self) -> Verdict {
        let (least, most) = self.band;
        let passes = match self.ours {
            Ours::Value(value) => least <= value && value <= most,
            Ours::Range(from, to) => match self.paper {
                Statement::Example(value) => from <= value && value <= to,
                _ => shares_most((least, most), (from, to)),
            },
            Ours::Shown(shows) => shows,
        };
        Verdict::of(passes)
    }
}

/// Whether of each range [`SHARED_MIN`] and more lies in the other.
fn shares_most(one: (f64, f64), other: (f64, f64)) -> bool {
    let shared = one.1.min(other.1) - one.0.max(other.0);
    let is_most = |(from, to): (f64, f64)| from <= to && shared >= SHARED_MIN * (to - from);
    shared >= 0.0 && is_most(one) && is_most(other)
}

impl Findings {
    /// Of all quantities together.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.quantities.iter().all(|quantity| quantity.verdict() == Verdict::Pass))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(ours: f64, band: (f64, f64)) -> Verdict {
        Quantity::value("q", "Mb/s", Statement::Value(1.0), ours, band).verdict()
    }

    #[test]
    fn the_ends_of_a_band_belong_to_it() {
        assert_eq!(
            [122.0, 136.0, 150.0].map(|ours| value(ours, (122.0, 150.0))),
            [Verdict::Pass; 3]
        );
        assert_eq!([121.99, 150.01].map(|ours| value(ours, (122.0, 150.0))), [Verdict::Fail; 2]);
    }

    #[test]
    fn a_band_may_have_one_side() {
        assert_eq!(value(1e9, (850.0, f64::INFINITY)), Verdict::Pass);
        assert_eq!(value(849.0, (850.0, f64::INFINITY)), Verdict::Fail);
    }

    #[test]
    fn what_was_not_measured_fails() {
        assert_eq!(value(f64::NAN, (f64::NEG_INFINITY, f64::INFINITY)), Verdict::Fail);
        let nothing = Quantity::range("q", "", (1.0, 2.0), (f64::NAN, f64::NAN));
        assert_eq!(nothing.verdict(), Verdict::Fail);
    }

    #[test]
    fn ranges_share_most_of_each() {
        let verdict = |ours| Quantity::range("q", "packets", (350.0, 500.0), ours).verdict();
        for agrees in [(350.0, 500.0), (300.0, 450.0), (425.0, 500.0), (300.0, 580.0)] {
            assert_eq!(verdict(agrees), Verdict::Pass, "{agrees:?}");
        }
        let touches = [(300.0, 350.0), (500.0, 600.0), (470.0, 640.0)];
        let too_narrow = [(400.0, 410.0), (425.0, 425.0)];
        let too_wide = [(0.0, 1e6), (300.0, 620.0)];
        let beside = [(501.0, 600.0), (10.0, 349.0), (500.0, 350.0)];
        for differs in touches.into_iter().chain(too_narrow).chain(too_wide).chain(beside) {
            assert_eq!(verdict(differs), Verdict::Fail, "{differs:?}");
        }
    }

    #[test]
    fn an_example_is_among_ours() {
        let verdict = |ours| Quantity::example("q", "ms", 1.8, ours).verdict();
        assert_eq!([(1.0, 3.0), (1.8, 1.8)].map(verdict), [Verdict::Pass; 2]);
        let others = [(1.9, 3.0), (1.0, 1.7), (f64::NAN, f64::NAN)];
        assert_eq!(others.map(verdict), [Verdict::Fail; 3]);
    }

    #[test]
    fn a_figure_passes_if_all_of_it_does() {
        let mut findings = Findings::default();
        findings.quantities.push(Quantity::shown("a", "b", true));
        assert_eq!(findings.verdict(), Verdict::Pass);
        findings.quantities.push(Quantity::shown("c", "d", false));
        assert_eq!(findings.verdict(), Verdict::Fail);
    }
}
