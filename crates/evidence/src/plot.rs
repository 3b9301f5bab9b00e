//! Panels: what is drawn of a figure, and drawing it. A panel is data with
//! labels; `layout` turns it into shapes once, and SVG and PNG are two ways to
//! write the same shapes. How everything looks is in [`style`] and nowhere else.
//!
//! ```
//! use lasthop_evidence::plot::{Axis, Panel, Series};
//!
//! let panel = Panel::new("Upload", Axis::new("time, s"), Axis::new("throughput, Mb/s"))
//!     .right(Axis::new("cwnd, packets"))
//!     .with(Series::line("throughput", vec![(0.5, 130.0), (1.5, 140.0)]))
//!     .with(Series::line("cwnd", vec![(0.5, 190.0), (1.5, 200.0)]).on_right())
//!     .target(0, (122.0, 150.0), "paper: 136 Mb/s, and the band");
//! assert!(lasthop_evidence::plot::svg(&[panel]).starts_with("<svg"));
//! ```

mod check;
mod font;
mod layout;
mod png;
pub mod style;
mod svg;
mod ticks;

pub use check::faults;
pub use png::png;
pub use svg::{escaped, inline_svg, svg};

/// A point: x, y.
pub type Point = (f64, f64);

/// One coordinate system and what is drawn in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) left: Axis,
    pub(crate) right: Option<Axis>,
    pub(crate) series: Vec<Series>,
    pub(crate) targets: Vec<Target>,
    pub(crate) shades: Vec<Shade>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    /// Given ends; else zero, and what the data need.
    pub(crate) range: Option<(f64, f64)>,
    /// Names in place of numbers, at 0, 1, 2 ..
    pub(crate) names: Vec<String>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Line,
    DottedLine,
    Dots,
    Bars,
    /// Horizontal bars: the points are begin and end by turns, at heights of their own.
    Intervals,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
    pub(crate) mark: Mark,
    pub(crate) on_right: bool,
}

/// What the paper states of a series, as a band behind it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) series: usize,
    pub(crate) y: (f64, f64),
    pub(crate) x: Option<(f64, f64)>,
    pub(crate) label: String,
}

/// A stretch of x, shaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shade {
    pub(crate) x: (f64, f64),
    pub(crate) label: String,
}

impl Axis {
    /// An axis with a label, which ends in the unit: `time, s`. It begins at
    /// zero and goes as far as the data.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), range: None, names: Vec::new() }
    }

    /// With given ends; what is beyond them moves them.
    #[must_use]
    pub fn range(self, from: f64, to: f64) -> Self {
        Self { range: Some((from, to)), ..self }
    }

    /// With names in place of numbers, at 0, 1, 2 ..
    #[must_use]
    pub fn names<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), ..self }
    }
}

impl Series {
    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { name: name.into(), points, mark: Mark::Line, on_right: false }
    }

    /// A line with a dot at each point: for few points.
    pub fn dotted_line(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { mark: Mark::DottedLine, ..Self::line(name, points) }
    }

    /// Dots.
    pub fn dots(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { mark: Mark::Dots, ..Self::line(name, points) }
    }

    /// Bars from zero, beside those of other series at the same x.
    pub fn bars(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { mark: Mark::Bars, ..Self::line(name, points) }
    }

    /// Horizontal bars from x to x at a height: for what was when, on an axis with names.
    pub fn intervals(
        name: impl Into<String>,
        intervals: impl IntoIterator<Item = (f64, f64, f64)>,
    ) -> Self {
        let ends = intervals.into_iter().flat_map(|(from, to, y)| [(from, y), (to, y)]);
        Self { mark: Mark::Intervals, ..Self::line(name, ends.collect()) }
    }

    /// Read at the right axis.
    #[must_use]
    pub fn on_right(self) -> Self {
        Self { on_right: true, ..self }
    }
}

impl Panel {
    /// An empty panel. The title says which of the panels of the figure it is;
    /// it may be empty where there is one.
    pub fn new(title: impl Into<String>, x: Axis, left: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            left,
            right: None,
            series: Vec::new(),
            targets: Vec::new(),
            shades: Vec::new(),
        }
    }

    /// With a second axis of y.
    #[must_use]
    pub fn right(self, axis: Axis) -> Self {
        Self { right: Some(axis), ..self }
    }

    /// With one more series.
    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// With a band behind the series of this index: where the paper puts it. A band of
    /// no height is a line. Bands of one label have one entry in the legend.
    #[must_use]
    pub fn target(mut self, series: usize, y: (f64, f64), label: impl Into<String>) -> Self {
        self.targets.push(Target { series, y, x: None, label: label.into() });
        self
    }

    /// The same between two x only.
    #[must_use]
    pub fn target_at(
        mut self,
        series: usize,
        x: (f64, f64),
        y: (f64, f64),
        label: impl Into<String>,
    ) -> Self {
        self.targets.push(Target { series, y, x: Some(x), label: label.into() });
        self
    }

    /// With a stretch of x shaded. Shades of one label have one entry in the legend.
    #[must_use]
    pub fn shade(mut self, from: f64, to: f64, label: impl Into<String>) -> Self {
        self.shades.push(Shade { x: (from, to), label: label.into() });
        self
    }

    /// There is something in it to see.
    pub fn has_points(&self) -> bool {
        self.series.iter().any(|series| !series.points.is_empty())
    }
}
