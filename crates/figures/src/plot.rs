//! Plots: panels with axes and series, written as SVG or PNG. A panel is data with
//! labels; `layout` turns it into shapes, and both formats write the same shapes. Sizes
//! and colours are in [`style`] only.
//!
//! ```
//! use lasthop_figures::plot::{Axis, Panel, Series};
//!
//! let panel = Panel::new("Upload", Axis::new("time, s"), Axis::new("throughput, Mb/s"))
//!     .right(Axis::new("cwnd, packets"))
//!     .with(Series::line("throughput", vec![(0.5, 130.0), (1.5, 140.0)]))
//!     .with(Series::line("cwnd", vec![(0.5, 190.0), (1.5, 200.0)]).on_right())
//!     .target(0, (122.0, 150.0), "paper: 136 Mb/s, and the band");
//! assert!(lasthop_figures::plot::svg(&[panel]).starts_with("<svg"));
//! ```

mod check;
mod extent;
mod font;
mod hover;
mod layout;
mod png;
pub mod style;
mod svg;
mod ticks;

pub use check::faults;
pub use layout::{Ends, ends};
pub use png::png;
pub use svg::{inline_svg, svg};

/// The x and y of a point, in the units of the axes.
pub type Point = (f64, f64);

/// A coordinate system with the data drawn in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title that names the panel within its figure; may be empty in a figure of one panel.
    pub title: String,
    /// Horizontal axis of the panel.
    pub x: Axis,
    /// Left vertical axis.
    pub left: Axis,
    /// Right vertical axis; `None` if all series use the left one.
    pub right: Option<Axis>,
    /// Series in the order of painting.
    pub series: Vec<Series>,
    /// Bands behind the series.
    pub targets: Vec<Target>,
    /// Shaded ranges of x.
    pub shades: Vec<Shade>,
}

/// An axis: its label, and its ends or names.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label that ends in the unit, such as `time, s`.
    pub label: String,
    /// Ends of the axis; data beyond them extend it. `None`: from zero to the greatest value, or
    /// from the least x if all are far from zero. [`ends`] returns the result.
    pub range: Option<(f64, f64)>,
    /// Names instead of numbers, at 0, 1, 2 ..
    pub names: Vec<String>,
}

/// The drawing style of the points of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line from point to point.
    Line,
    /// A line with a dot at each point.
    DottedLine,
    /// A dot at each point.
    Dots,
    /// Bars from zero.
    Bars,
    /// Horizontal bars: points are start and end in turn; the height is y.
    Intervals,
    /// An area: points are its lower and its upper end at one x in turn.
    Band,
}

/// Points drawn together, with one entry in the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points of the series; points that are not finite are left out.
    pub points: Vec<Point>,
    /// Drawing style of the points.
    pub mark: Mark,
    /// Whether the series uses the right axis, if the panel has one.
    pub on_right: bool,
    /// Colour, dash and marker of the series.
    pub look: Look,
}

/// The colour, the dash and the marker of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// The look of the place of the series in its panel.
    #[default]
    Place,
    /// The look of this place, so that a series looks the same in several panels.
    Of(usize),
    /// Grey, for the remainder beside all other series.
    Muted,
}

/// A range of values on an axis, with both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Least value of the range.
    pub from: f64,
    /// Greatest value of the range.
    pub to: f64,
}

impl From<(f64, f64)> for Span {
    fn from((from, to): (f64, f64)) -> Self {
        Self { from, to }
    }
}

/// A band behind a series, for a value that a paper states.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Index of the series; the band uses its colour and axis.
    pub series: usize,
    /// Lower and upper end; equal for a line.
    pub y: Span,
    /// Left and right end; `None` if the band crosses the panel.
    pub x: Option<Span>,
    /// Name in the legend; bands with the same name share an entry.
    pub label: String,
}

/// A shaded range of x.
#[derive(Clone, Debug, PartialEq)]
pub struct Shade {
    /// Left and right end of the range.
    pub x: (f64, f64),
    /// Name in the legend; shades with the same name share an entry.
    pub label: String,
}

impl Mark {
    /// Returns the mark as a word, such as `dotted-line`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::DottedLine => "dotted-line",
            Self::Dots => "dots",
            Self::Bars => "bars",
            Self::Intervals => "intervals",
            Self::Band => "band",
        }
    }
}

impl Axis {
    /// Returns an axis with a label that ends in the unit, such as `time, s`. The axis extends
    /// from zero to the greatest value; an axis of x starts at the least value if all are far
    /// from zero.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), range: None, names: Vec::new() }
    }

    /// Sets the ends of the axis. Values beyond them extend it.
    #[must_use]
    pub fn range(self, from: f64, to: f64) -> Self {
        Self { range: Some((from, to)), ..self }
    }

    /// Sets names instead of numbers, at 0, 1, 2 ..
    #[must_use]
    pub fn names<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), ..self }
    }
}

impl Series {
    /// Returns a series drawn as a line.
    pub fn line(name: impl Into<String>, points: Vec<Point>) -> Self {
        let (mark, on_right, look) = (Mark::Line, false, Look::Place);
        Self { name: name.into(), points, mark, on_right, look }
    }

    /// Returns a series drawn as a line with a dot at each point, for few points.
    pub fn dotted_line(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { mark: Mark::DottedLine, ..Self::line(name, points) }
    }

    /// Returns a series drawn as dots.
    pub fn dots(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { mark: Mark::Dots, ..Self::line(name, points) }
    }

    /// Returns a series drawn as bars from zero, beside those of other series at the
    /// same x.
    pub fn bars(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { mark: Mark::Bars, ..Self::line(name, points) }
    }

    /// Returns a series of horizontal bars, each from x to x at a height y, to show
    /// when something happened, on an axis with names.
    pub fn intervals(
        name: impl Into<String>,
        intervals: impl IntoIterator<Item = (f64, f64, f64)>,
    ) -> Self {
        let ends = intervals.into_iter().flat_map(|(from, to, y)| [(from, y), (to, y)]);
        Self { mark: Mark::Intervals, ..Self::line(name, ends.collect()) }
    }

    /// Returns a series drawn as an area: x, and from and to in y. Areas that begin where
    /// others end are stacked.
    pub fn band(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64, f64)>,
    ) -> Self {
        let ends = points.into_iter().flat_map(|(x, from, to)| [(x, from), (x, to)]);
        Self { mark: Mark::Band, ..Self::line(name, ends.collect()) }
    }

    /// Sets colour, dash and marker of the series.
    #[must_use]
    pub fn looking(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// Moves the series to the right axis.
    #[must_use]
    pub fn on_right(self) -> Self {
        Self { on_right: true, ..self }
    }
}

impl Panel {
    /// Returns an empty panel. The title says which panel of the figure it is; it may
    /// be empty if there is only one.
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

    /// Adds a right axis.
    #[must_use]
    pub fn right(self, axis: Axis) -> Self {
        Self { right: Some(axis), ..self }
    }

    /// Adds a series.
    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a band behind the series with this index, from and to these y: what the
    /// paper states. A band without height is a line. Bands with the same label share
    /// an entry in the legend.
    #[must_use]
    pub fn target(mut self, series: usize, y: impl Into<Span>, label: impl Into<String>) -> Self {
        self.targets.push(Target { series, y: y.into(), x: None, label: label.into() });
        self
    }

    /// Adds a band like [`Panel::target`], between two x only.
    #[must_use]
    pub fn target_at(
        mut self,
        series: usize,
        x: impl Into<Span>,
        y: impl Into<Span>,
        label: impl Into<String>,
    ) -> Self {
        self.targets.push(Target { series, y: y.into(), x: Some(x.into()), label: label.into() });
        self
    }

    /// Shades a range of x. Shades with the same label share an entry in the legend.
    #[must_use]
    pub fn shade(mut self, from: f64, to: f64, label: impl Into<String>) -> Self {
        self.shades.push(Shade { x: (from, to), label: label.into() });
        self
    }

    /// Whether any series has points.
    pub fn has_points(&self) -> bool {
        self.series.iter().any(|series| !series.points.is_empty())
    }
}
