//! A figure of a paper: data, and two functions, which return its runs and read its quantities
//! from them. [`papers`](crate::reproduce::papers) says how to write one.

use crate::Verdict;
use crate::reproduce::data::{Runs, greatest, least, mean};
use crate::reproduce::kernels::OnKernels;
use lasthop_figures::plot::{Panel, Point, Span};

pub use crate::reproduce::request::{Run, ScenarioFile};

/// A paper and its figures.
#[derive(Debug)]
pub struct Paper {
    /// Name of the paper on the command line, such as `scan`.
    pub key: &'static str,
    /// Title of the paper, as published.
    pub title: &'static str,
    /// Authors, and place of publication.
    pub source: &'static str,
    /// Readers of the page, and the measurement with its equipment, in a few sentences.
    pub setting: &'static str,
    /// Opening of the page: confirmed and missed results, with reasons. Empty if there is none.
    pub confirmed: &'static str,
    /// Number of times that the figures are made, with other random numbers; values are means.
    pub seeds: u64,
    /// Parameters that the paper does not give. One set serves all of its figures.
    pub calibrated: &'static [Calibrated],
    /// Statements of the paper, each with its tests.
    pub claims: &'static [Claim],
    /// Figures and tables, in the order of the paper.
    pub figures: &'static [Figure],
    /// Measurements of the paper's method on real kernels, if there are any.
    pub on_kernels: Option<OnKernels>,
}

/// A statement of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Place in the paper, such as `IV.A, Fig. 3`.
    pub place: &'static str,
    /// Paraphrase of the statement.
    pub says: &'static str,
    /// Quantities that test the statement.
    pub tested: Tested,
}

/// The test of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// Quantities, as pairs of the id of a figure and the start of the names of
    /// quantities of it.
    By(&'static [(&'static str, &'static str)]),
    /// No test, for this reason.
    No(&'static str),
}

impl Claim {
    /// Returns a statement that quantities test.
    pub const fn tested(
        place: &'static str,
        says: &'static str,
        by: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { place, says, tested: Tested::By(by) }
    }

    /// Returns a statement that nothing tests, with the reason.
    pub const fn untested(place: &'static str, says: &'static str, why: &'static str) -> Self {
        Self { place, says, tested: Tested::No(why) }
    }
}

/// A parameter that the paper does not give, and the value chosen for it.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated {
    /// Key, as after `--set`, such as `node.laptop.queue.packets`.
    pub key: &'static str,
    /// Value in the scenario files that have the node, flow or link.
    pub value: &'static str,
    /// The reason for the value.
    pub reason: &'static str,
}

/// A figure or table of a paper.
#[derive(Debug)]
pub struct Figure {
    /// Id, unique in the paper, such as `fig3`.
    pub id: &'static str,
    /// Title of the figure, without the number.
    pub title: &'static str,
    /// Description of the figure, in a sentence or two.
    pub shows: &'static str,
    /// Returns the runs that it needs. Equal runs of several figures are made once.
    pub runs: fn() -> Vec<Run>,
    /// Reads the quantities and panels from the runs.
    pub read: fn(&Runs<'_>) -> Findings,
}

/// The results of a figure.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Findings {
    /// The paper's values beside ours; at least one quantity.
    pub quantities: Vec<Quantity>,
    /// Panels of the plot, from top to bottom; at least one.
    pub panels: Vec<Panel>,
}

/// The paper's value of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A number, in the unit of the quantity.
    Value(f64),
    /// A range: from, to.
    Range(f64, f64),
    /// A number seen once, in an example in the paper; not a mean.
    Example(f64),
    /// Paraphrase in words.
    Text(&'static str),
}

/// Statement for a quantity that the paper leaves open.
pub const LEFT_OPEN: Statement = Statement::Text("left open");

/// Minimum share of each of two ranges that has to be in the other for them to agree.
/// Ranges that only touch, a point in a wide range, and a wide range around a narrow
/// one do not agree.
pub const SHARED_MIN: f64 = 0.5;

/// The band around a number that a paper states: 10 % to either side.
pub fn stated(value: f64) -> Span {
    (0.9 * value, 1.1 * value).into()
}

/// The band around a number that a paper rounds ("around", "about", "almost"): 20 % to
/// either side.
pub fn about(value: f64) -> Span {
    (0.8 * value, 1.2 * value).into()
}

/// Our value of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ours {
    /// A number; `NaN` if it could not be measured, which is in no band.
    Value(f64),
    /// A range: from, to.
    Range(f64, f64),
    /// Whether what the paper says in words is seen.
    Shown(bool),
}

/// A quantity that the paper states.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Name of the quantity in tables.
    pub name: String,
    /// Unit; empty for a ratio and for [`Ours::Shown`].
    pub unit: &'static str,
    /// Value in the paper.
    pub paper: Statement,
    /// Our value.
    pub ours: Ours,
    /// Smallest and largest value that agree with the paper. If ours is a range: the
    /// range of the paper, or the number of its example at both ends.
    pub band: Span,
    /// Least and greatest of our values over the seeds, where these differ.
    pub spread: Option<Span>,
    /// The reason if it fails, where it is known.
    pub because: Option<&'static str>,
    /// The value by another reading of the paper, which is shown and not judged.
    pub beside: Option<OtherReading>,
    /// Half the 95 % interval of the mean over the runs of one seed, in the unit of the quantity.
    pub interval: Option<f64>,
}

/// The value of a quantity by another reading of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherReading {
    /// Name of the reading, as the head of a column.
    pub reading: &'static str,
    /// Our value by that reading.
    pub ours: Ours,
}

impl Quantity {
    /// Returns a quantity that is a number; it passes in `band`, whose ends may be
    /// infinite.
    pub fn value(
        name: impl Into<String>,
        unit: &'static str,
        paper: Statement,
        ours: f64,
        band: impl Into<Span>,
    ) -> Self {
        let band = band.into();
        Self {
            name: name.into(),
            unit,
            paper,
            ours: Ours::Value(ours),
            band,
            spread: None,
            because: None,
            beside: None,
            interval: None,
        }
    }

    /// Returns a quantity that is a range; it passes if at least [`SHARED_MIN`] of each
    /// of the two ranges is in the other.
    pub fn range(
        name: impl Into<String>,
        unit: &'static str,
        paper: impl Into<Span>,
        ours: impl Into<Span>,
    ) -> Self {
        let (paper, ours) = (paper.into(), ours.into());
        Self {
            name: name.into(),
            unit,
            paper: Statement::Range(paper.from, paper.to),
            ours: Ours::Range(ours.from, ours.to),
            band: paper,
            spread: None,
            because: None,
            beside: None,
            interval: None,
        }
    }

    /// Returns a quantity of which the paper gives one example; it passes if that is in
    /// `ours`, from the least to the greatest value of the same case.
    pub fn example(
        name: impl Into<String>,
        unit: &'static str,
        paper: f64,
        ours: impl Into<Span>,
    ) -> Self {
        let ours = ours.into();
        Self {
            name: name.into(),
            unit,
            paper: Statement::Example(paper),
            ours: Ours::Range(ours.from, ours.to),
            band: (paper, paper).into(),
            spread: None,
            because: None,
            beside: None,
            interval: None,
        }
    }

    /// Returns a quantity in words; it passes if `shows`.
    pub fn shown(name: impl Into<String>, paper: &'static str, shows: bool) -> Self {
        Self {
            name: name.into(),
            unit: "",
            paper: Statement::Text(paper),
            ours: Ours::Shown(shows),
            band: (f64::NEG_INFINITY, f64::INFINITY).into(),
            spread: None,
            because: None,
            beside: None,
            interval: None,
        }
    }

    /// Sets the reason if it fails; shown only in that case.
    #[must_use]
    pub fn because(mut self, why: &'static str) -> Self {
        self.because = Some(why);
        self
    }

    /// Whether the paper leaves the quantity open. Such a quantity is listed, but not counted among
    /// the paper's.
    pub fn is_left_open(&self) -> bool {
        self.paper == LEFT_OPEN
    }

    /// Returns the quantity over several seeds, which are at least one: the mean of numbers, and
    /// words if all show them. Ranges are those of the first seed.
    fn over_seeds(mut self, all: &[&Self]) -> Self {
        match &mut self.ours {
            Ours::Value(ours) => {
                let value = |quantity: &&Self| match quantity.ours {
                    Ours::Value(value) => value,
                    _ => f64::NAN,
                };
                let values: Vec<f64> = all.iter().map(value).collect();
                *ours = mean(&values);
                let (from, to) = (least(&values), greatest(&values));
                self.spread = (from < to).then_some(Span { from, to });
            }
            Ours::Shown(shows) => {
                *shows = all.iter().all(|quantity| quantity.ours == Ours::Shown(true));
            }
            Ours::Range(..) => {}
        }
        self
    }

    /// Sets the value by another reading of the paper.
    #[must_use]
    pub fn beside(mut self, reading: &'static str, ours: Ours) -> Self {
        self.beside = Some(OtherReading { reading, ours });
        self
    }

    /// Our value, if it is a number.
    pub fn number(&self) -> Option<f64> {
        match self.ours {
            Ours::Value(value) => Some(value),
            Ours::Range(..) | Ours::Shown(_) => None,
        }
    }

    /// Sets half the 95 % interval of the mean over the runs (Student's t) from the values of the
    /// runs; none if one was not measured, or there are fewer than two.
    #[must_use]
    pub fn interval_of(mut self, values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let half = T95.get(values.len()).copied().unwrap_or(1.96) * error;
        self.interval = Some(half).filter(|half| half.is_finite() && *half > 0.0);
        self
    }

    /// Returns the quantity by the other reading, without a band, if there is one.
    pub fn by_other_reading(&self) -> Option<Self> {
        let ours = self.beside?.ours;
        let band = (f64::NEG_INFINITY, f64::INFINITY).into();
        Some(Self { ours, band, spread: None, interval: None, ..self.clone() })
    }

    /// The verdict: pass if ours agrees with the paper, else fail.
    pub fn verdict(&self) -> Verdict {
        let Span { from: least, to: most } = self.band;
        let passes = match self.ours {
            Ours::Value(value) => least <= value && value <= most,
            Ours::Range(from, to) => match self.paper {
                Statement::Example(value) => from <= value && value <= to,
                _ => shares_most(self.band, Span { from, to }),
            },
            Ours::Shown(shows) => shows,
        };
        Verdict::pass_if(passes)
    }
}

/// Student's t of a two-sided 95 % interval, by the number of values.
const T95: [f64; 11] =
    [f64::NAN, f64::NAN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// Makes each y the mean of those of all seeds, if their x are the same.
fn average(points: &mut [Point], all: &[Vec<Point>]) {
    let xs = |points: &[Point]| points.iter().map(|point| point.0).collect::<Vec<_>>();
    let own = xs(points);
    if all.iter().all(|other| xs(other) == own) {
        for (index, point) in points.iter_mut().enumerate() {
            point.1 = mean(&all.iter().map(|other| other[index].1).collect::<Vec<_>>());
        }
    }
}

/// Whether at least [`SHARED_MIN`] of each range is in the other.
fn shares_most(one: Span, other: Span) -> bool {
    let shared = one.to.min(other.to) - one.from.max(other.from);
    let is_most = |span: Span| span.from <= span.to && shared >= SHARED_MIN * (span.to - span.from);
    shared >= 0.0 && is_most(one) && is_most(other)
}

impl Findings {
    /// Returns the findings over the seeds. Points of series are means where all seeds have the same
    /// x, else those of the first.
    ///
    /// # Panics
    /// If there are none, or their quantities differ.
    pub fn over_seeds(all: Vec<Self>) -> Self {
        let quantities = |index: usize| all.iter().map(move |one| &one.quantities[index]);
        let first = all.first().expect("there is at least one seed");
        let over = |(index, quantity): (usize, &Quantity)| {
            quantity.clone().over_seeds(&quantities(index).collect::<Vec<_>>())
        };
        let quantities = first.quantities.iter().enumerate().map(over).collect();
        let mut panels = first.panels.clone();
        for (at, panel) in panels.iter_mut().enumerate() {
            for (index, series) in panel.series.iter_mut().enumerate() {
                let of =
                    |one: &'_ Self| Some(one.panels.get(at)?.series.get(index)?.points.clone());
                if let Some(of_seeds) = all.iter().map(of).collect::<Option<Vec<_>>>() {
                    average(&mut series.points, &of_seeds);
                }
            }
        }
        Self { quantities, panels }
    }

    /// The verdict on all quantities together: pass if all pass.
    pub fn verdict(&self) -> Verdict {
        Verdict::pass_if(self.quantities.iter().all(|quantity| quantity.verdict() == Verdict::Pass))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_figures::plot::{Axis, Series};

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

    /// The example of Student's paper of 1908: hours of sleep gained by ten patients; mean 0.75,
    /// deviation 1.79, so an interval of 1.28 to either side.
    #[test]
    fn an_interval_is_students() {
        let sleep = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let quantity = Quantity::value("q", "h", Statement::Value(1.0), 0.75, (0.0, 2.0));
        let half = quantity.clone().interval_of(&sleep).interval.expect("there is one");
        assert!((half - 1.28).abs() < 0.005, "{half}");
        assert_eq!(quantity.clone().interval_of(&[1.0]).interval, None);
        assert_eq!(quantity.interval_of(&[1.0, f64::NAN]).interval, None);
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
    fn seeds_have_a_mean_and_a_spread() {
        let findings = |ours: f64, shows: bool| {
            let value = Quantity::value("q", "", Statement::Value(2.0), ours, (1.5, 2.5));
            let quantities = vec![value, Quantity::shown("a", "b", shows)];
            Findings { quantities, panels: Vec::new() }
        };
        let over = |all: &[(f64, bool)]| {
            let all = all.iter().map(|&(ours, shows)| findings(ours, shows)).collect();
            Findings::over_seeds(all).quantities
        };
        let quantities = over(&[(1.0, true), (2.0, true), (3.0, false)]);
        assert_eq!(quantities[0].ours, Ours::Value(2.0));
        assert_eq!(quantities[0].spread, Some((1.0, 3.0).into()));
        assert_eq!(quantities[0].ours_text(), "2 [1\u{2013}3]");
        assert_eq!(quantities[1].ours, Ours::Shown(false));
        assert_eq!(over(&[(2.0, true)]), findings(2.0, true).quantities);
        assert!(over(&[(2.0, true), (f64::NAN, true)])[0].verdict() == Verdict::Fail);
    }

    #[test]
    fn a_point_of_all_seeds_is_their_mean() {
        let findings = |points: &[(f64, f64)]| {
            let axis = || Axis::new("a");
            let panel = Panel::new("", axis(), axis()).with(Series::line("s", points.to_vec()));
            Findings { quantities: Vec::new(), panels: vec![panel] }
        };
        let over = |all: [&[(f64, f64)]; 2]| {
            let all = Findings::over_seeds(all.map(findings).into());
            all.panels[0].series[0].points.clone()
        };
        assert_eq!(
            over([&[(1.0, 2.0), (2.0, 5.0)], &[(1.0, 4.0), (2.0, 6.0)]]),
            [(1.0, 3.0), (2.0, 5.5)]
        );
        assert_eq!(over([&[(1.0, 2.0)], &[(1.5, 4.0)]]), [(1.0, 2.0)], "places of the first");
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
