//! Turns panels into shapes: the positions of axes, numbers, legend and points. All
//! lengths are in pixels of the SVG, with y downwards. Text is measured with `font`, so
//! the result does not depend on installed fonts.

use super::style::{self, Ink};
use super::ticks::Scale;
use super::{Axis, Mark, Panel, Point, Series, font};
use std::ops::Range;

/// All shapes, in the order in which they are painted.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

/// A shape to paint.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Line {
        points: Vec<(f64, f64)>,
        ink: Ink,
        width: f64,
        dash: Option<[f64; 2]>,
    },
    Box {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        ink: Ink,
        opacity: f64,
    },
    Dot {
        x: f64,
        y: f64,
        radius: f64,
        ink: Ink,
    },
    /// `y` is the base line; a text that runs upwards starts below.
    Text {
        x: f64,
        y: f64,
        text: String,
        size: f64,
        bold: bool,
        anchor: Anchor,
        upwards: bool,
        ink: Ink,
    },
}

/// Which part of a text is at its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Approximate number of steps on an axis of y.
const STEPS_Y: usize = 5;
/// Approximate number of steps on an axis of x.
const STEPS_X: usize = 10;
/// Share of the space between two names that bars take.
const BARS_SHARE: f64 = 0.72;
/// Width of the widest bar.
const BAR_WIDTH_MAX: f64 = 44.0;
/// Share of a row that its intervals take.
const LANE_SHARE: f64 = 0.56;
/// Side of the key of a legend entry, and the space after an entry.
const KEY_WIDTH: f64 = 22.0;
const KEY_GAP: f64 = 18.0;
/// Height of a row of the legend.
const LEGEND_ROW: f64 = 20.0;
/// How much wider a line is for each later line on the same points.
const RIM: f64 = 3.0;
/// How much larger dots are for each later series of dots.
const DOT_RIM: f64 = 1.5;
/// Points closer than this are in the same place.
const SAME_SPOT: f64 = 0.5;
/// Dashes of a band without height.
const DASH: [f64; 2] = [6.0, 4.0];

/// Where the data of a panel are.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The coordinate system: left, top, right, bottom.
    pub area: [f64; 4],
    pub x: Scale,
    pub left: Scale,
    pub right: Option<Scale>,
    /// Indices of the shapes of its shades, targets and series.
    pub data: Range<usize>,
    /// Indices of the shapes of each series.
    pub series: Vec<Range<usize>>,
}

/// Returns the shapes of panels, one below the other.
pub fn layout(panels: &[Panel]) -> Drawing {
    layout_with_frames(panels).0
}

/// Returns the shapes of panels, and where the data of each panel are.
pub fn layout_with_frames(panels: &[Panel]) -> (Drawing, Vec<Frame>) {
    let mut drawing = Drawing { width: style::WIDTH, height: style::MARGIN, shapes: Vec::new() };
    let draw = |panel| Plan::new(panel, drawing.height).draw(&mut drawing);
    let frames = panels.iter().map(draw).collect();
    (drawing, frames)
}

/// Where the axes of a panel start and end, in their units. An axis of y with names has
/// them from top to bottom, so that it ends below its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// The axis of x.
    pub x: (f64, f64),
    /// The left axis of y.
    pub left: (f64, f64),
    /// The right axis of y, if there is one.
    pub right: Option<(f64, f64)>,
}

/// Returns the ends of the axes with which a panel is drawn.
pub fn ends(panel: &Panel) -> Ends {
    let left = y_scale(panel, false);
    let right = right_scale(panel, left.ticks.len() - 1);
    let of = |scale: &Scale| (scale.from, scale.to);
    Ends { x: of(&x_scale(panel)), left: of(&left), right: right.as_ref().map(of) }
}

/// The positions of the parts of a panel.
struct Plan<'a> {
    panel: &'a Panel,
    x: Scale,
    left: Scale,
    right: Option<Scale>,
    /// The coordinate system: left, top, right, bottom.
    area: [f64; 4],
    top: f64,
    legend: Vec<Vec<Entry>>,
}

/// An entry of the legend.
struct Entry {
    text: String,
    ink: Ink,
    key: Key,
}

/// What precedes the text of an entry of the legend.
enum Key {
    Mark(Mark),
    Band,
    Limit,
    Shade,
}

impl<'a> Plan<'a> {
    fn new(panel: &'a Panel, top: f64) -> Self {
        let left = y_scale(panel, false);
        let right = right_scale(panel, left.ticks.len() - 1);
        let label = style::LABEL_SIZE + style::GAP;
        let room = |axis: &Axis, scale: &Scale| {
            label
                + style::GAP
                + ticks(axis, scale).map(|(_, text)| tick_width(&text)).fold(0.0, f64::max)
        };
        let area_left = style::MARGIN + room(&panel.left, &left);
        let right_room = panel.right.as_ref().zip(right.as_ref());
        let area_right = style::WIDTH
            - style::MARGIN
            - right_room.map_or(style::GAP, |(axis, scale)| room(axis, scale));
        let legend = legend(panel, area_right - area_left);
        let title = if panel.title.is_empty() { 0.0 } else { style::TITLE_SIZE + style::GAP };
        let above = title + legend.len() as f64 * LEGEND_ROW + style::GAP;
        let height = match panel.left.names.len() {
            0 => style::PANEL_HEIGHT,
            lanes => lanes as f64 * style::LANE_HEIGHT,
        };
        Self {
            x: x_scale(panel),
            left,
            right,
            area: [area_left, top + above, area_right, top + above + height],
            top,
            legend,
            panel,
        }
    }

    fn draw(&self, drawing: &mut Drawing) -> Frame {
        let [left, _, _, bottom] = self.area;
        let out = &mut drawing.shapes;
        if !self.panel.title.is_empty() {
            out.push(Shape::Text {
                x: left,
                y: self.top + style::TITLE_SIZE * 0.85,
                text: self.panel.title.clone(),
                size: style::TITLE_SIZE,
                bold: true,
                anchor: Anchor::Start,
                upwards: false,
                ink: Ink::Text,
            });
        }
        self.draw_legend(out);
        let begin = out.len();
        self.draw_grid(out);
        self.draw_targets(out);
        let series = self.draw_series(out);
        let data = begin..out.len();
        self.draw_axes(out);
        drawing.height =
            bottom + style::TICK_SIZE + style::LABEL_SIZE + 3.0 * style::GAP + style::MARGIN;
        let (x, left, right) = (self.x.clone(), self.left.clone(), self.right.clone());
        Frame { area: self.area, x, left, right, data, series }
    }

    fn draw_legend(&self, out: &mut Vec<Shape>) {
        let [left, top, ..] = self.area;
        let first = top - style::GAP - self.legend.len() as f64 * LEGEND_ROW;
        for (row, entries) in self.legend.iter().enumerate() {
            let mut x = left;
            let middle = first + (row as f64 + 0.5) * LEGEND_ROW;
            for entry in entries {
                key(out, &entry.key, entry.ink, x, middle);
                let text_x = x + KEY_WIDTH + 6.0;
                out.push(label(&entry.text, text_x, middle + 4.5, Anchor::Start, Ink::Text));
                x = text_x + label_width(&entry.text) + KEY_GAP;
            }
        }
    }

    fn draw_grid(&self, out: &mut Vec<Shape>) {
        let [left, top, right, bottom] = self.area;
        for shade in &self.panel.shades {
            let (from, to) = (self.at_x(shade.x.0), self.at_x(shade.x.1));
            out.push(Shape::Box {
                x: from.min(right - 1.0),
                y: top,
                width: (to - from).max(1.0),
                height: bottom - top,
                ink: Ink::Shade,
                opacity: style::SHADE_OPACITY,
            });
        }
        if self.panel.left.names.is_empty() {
            for &tick in &self.left.ticks {
                let y = self.at_y(tick, false);
                out.push(line(vec![(left, y), (right, y)], Ink::Grid, 1.0));
            }
        }
    }

    fn draw_targets(&self, out: &mut Vec<Shape>) {
        for target in &self.panel.targets {
            let on_right = self.series(target.series).is_some_and(|series| series.on_right);
            let ink = Ink::Series(target.series);
            let [from, to] = target.x.map_or([self.area[0], self.area[2]], |(from, to)| {
                [self.at_x(from), self.at_x(to)]
            });
            let (low, high) = (self.at_y(target.y.0, on_right), self.at_y(target.y.1, on_right));
            if low - high < 1.0 {
                out.push(Shape::Line {
                    points: vec![(from, low), (to, low)],
                    ink,
                    width: 1.2,
                    dash: Some(DASH),
                });
            } else {
                out.push(Shape::Box {
                    x: from,
                    y: high,
                    width: to - from,
                    height: low - high,
                    ink,
                    opacity: style::BAND_OPACITY,
                });
            }
        }
    }

    /// Draws the series; returns the indices of the shapes of each.
    fn draw_series(&self, out: &mut Vec<Shape>) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let bar_room = self.bar_room();
        let bars: Vec<usize> = (0..self.panel.series.len())
            .filter(|&index| self.panel.series[index].mark == Mark::Bars)
            .collect();
        for (index, series) in self.panel.series.iter().enumerate() {
            let ink = Ink::Series(index);
            let begin = out.len();
            // Parts that later series would cover remain visible on both sides of them.
            let wider = RIM * self.number_above(index) as f64;
            let place = |&(x, y): &(f64, f64)| (self.at_x(x), self.at_y(y, series.on_right));
            let points = || series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            match series.mark {
                Mark::Line => {
                    out.push(line(points().map(place).collect(), ink, style::LINE_WIDTH + wider));
                }
                Mark::DottedLine => {
                    out.push(line(points().map(place).collect(), ink, style::LINE_WIDTH + wider));
                    out.extend(points().map(place).map(|at| wide_dot(at, ink, wider)));
                }
                Mark::Dots => {
                    let wider = wider.max(DOT_RIM * self.dots_above(index) as f64);
                    out.extend(points().map(place).map(|at| wide_dot(at, ink, wider)));
                }
                Mark::Bars => {
                    let place_in_group = bars.iter().position(|&bar| bar == index).unwrap_or(0);
                    let width = (bar_room * BARS_SHARE / bars.len() as f64).min(BAR_WIDTH_MAX);
                    let group = width * bars.len() as f64;
                    // At an end of the axis a group moves inside.
                    let [left, _, right, _] = self.area;
                    let begin = move |x: f64| (x - group / 2.0).min(right - group).max(left);
                    let shift = place_in_group as f64 * width;
                    let zero = self.at_y(0.0, series.on_right);
                    let gap = (width / 8.0).min(1.0);
                    out.extend(points().map(place).map(|(x, y)| Shape::Box {
                        x: begin(x) + shift + gap,
                        y: y.min(zero).min(self.area[3] - 0.5),
                        width: width - 2.0 * gap,
                        height: (zero - y).abs().max(0.5),
                        ink,
                        opacity: 0.9,
                    }));
                }
                Mark::Intervals => {
                    let height = LANE_SHARE * style::LANE_HEIGHT;
                    for ends in series.points.chunks_exact(2) {
                        let (from, y) = place(&ends[0]);
                        let (to, _) = place(&ends[1]);
                        out.push(Shape::Box {
                            x: from.min(self.area[2] - 1.2),
                            y: y - height / 2.0,
                            width: (to - from).max(1.2),
                            height,
                            ink,
                            opacity: 0.9,
                        });
                    }
                }
            }
            ranges.push(begin..out.len());
        }
        ranges
    }

    /// The number of later series on the same points.
    fn number_above(&self, index: usize) -> usize {
        let series = &self.panel.series;
        let own = &series[index];
        let is_same = |other: &&Series| {
            other.on_right == own.on_right
                && (other.mark, own.mark) != (Mark::Bars, Mark::Bars)
                && self.is_same_place(&own.points, &other.points, own.on_right)
        };
        series[index + 1..].iter().filter(is_same).count()
    }

    /// The number of later series of dots, each of which may be on some of these.
    fn dots_above(&self, index: usize) -> usize {
        let later = &self.panel.series[index + 1..];
        later.iter().filter(|series| series.mark == Mark::Dots).count()
    }

    fn is_same_place(&self, one: &[Point], other: &[Point], on_right: bool) -> bool {
        let finite = |points: &[Point]| -> Vec<Point> {
            let finite = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            finite.map(|&(x, y)| (self.at_x(x), self.at_y(y, on_right))).collect()
        };
        let (one, other) = (finite(one), finite(other));
        one.len() == other.len()
            && one
                .iter()
                .zip(&other)
                .all(|(a, b)| (a.0 - b.0).abs() < SAME_SPOT && (a.1 - b.1).abs() < SAME_SPOT)
    }

    /// Pixels from one group of bars to the next.
    fn bar_room(&self) -> f64 {
        let mut xs = bar_xs(self.panel);
        xs.sort_by(f64::total_cmp);
        let places: Vec<f64> = xs.into_iter().map(|x| self.at_x(x)).collect();
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
        let [left, _, right, _] = self.area;
        gaps.fold(right - left, f64::min)
    }

    fn draw_axes(&self, out: &mut Vec<Shape>) {
        let [left, top, right, bottom] = self.area;
        out.push(line(vec![(left, bottom), (right, bottom)], Ink::Axis, 1.0));
        for (tick, text) in ticks(&self.panel.x, &self.x) {
            let x = self.at_x(tick);
            if self.panel.x.names.is_empty() {
                out.push(line(vec![(x, bottom), (x, bottom + 4.0)], Ink::Axis, 1.0));
            }
            let y = bottom + style::GAP + style::TICK_SIZE;
            out.push(number(text, x, y, Anchor::Middle));
        }
        let y = bottom + 2.2 * style::GAP + style::TICK_SIZE + style::LABEL_SIZE;
        out.push(label(&self.panel.x.label, (left + right) / 2.0, y, Anchor::Middle, Ink::Text));

        let middle = (top + bottom) / 2.0;
        for (tick, text) in ticks(&self.panel.left, &self.left) {
            let y = self.at_y(tick, false) + style::TICK_SIZE * 0.36;
            out.push(number(text, left - style::GAP, y, Anchor::End));
        }
        let ink = self.axis_ink(false);
        let x = style::MARGIN + style::LABEL_SIZE * 0.75;
        out.push(upwards(label(&self.panel.left.label, x, middle, Anchor::Middle, ink)));
        if let (Some(axis), Some(scale)) = (&self.panel.right, &self.right) {
            for (tick, text) in ticks(axis, scale) {
                let y = self.at_y(tick, true) + style::TICK_SIZE * 0.36;
                out.push(number(text, right + style::GAP, y, Anchor::Start));
            }
            let x = style::WIDTH - style::MARGIN;
            let ink = self.axis_ink(true);
            out.push(upwards(label(&axis.label, x, middle, Anchor::Middle, ink)));
        }
    }

    /// The colour of the label of an axis: with two axes, that of the series if only
    /// one uses this axis.
    fn axis_ink(&self, on_right: bool) -> Ink {
        let mut there = (0..self.panel.series.len())
            .filter(|&index| self.panel.series[index].on_right == on_right);
        match (&self.right, there.next(), there.next()) {
            (Some(_), Some(only), None) => Ink::Series(only),
            _ => Ink::Text,
        }
    }

    fn series(&self, index: usize) -> Option<&Series> {
        self.panel.series.get(index)
    }

    fn at_x(&self, x: f64) -> f64 {
        let [left, _, right, _] = self.area;
        left + self.x.place(x) * (right - left)
    }

    fn at_y(&self, y: f64, on_right: bool) -> f64 {
        let [_, top, _, bottom] = self.area;
        let scale = match &self.right {
            Some(right) if on_right => right,
            _ => &self.left,
        };
        bottom - scale.place(y) * (bottom - top)
    }
}

/// The x of all bars.
fn bar_xs(panel: &Panel) -> Vec<f64> {
    let bars = panel.series.iter().filter(|series| series.mark == Mark::Bars);
    let points = bars.flat_map(|series| &series.points);
    points.filter(|(x, y)| x.is_finite() && y.is_finite()).map(|&(x, _)| x).collect()
}

/// Half of the least distance between two groups of bars: the space that they need at
/// the ends of the axis.
fn half_group(panel: &Panel) -> f64 {
    let mut xs = bar_xs(panel);
    xs.sort_by(f64::total_cmp);
    let gaps = xs.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    let least = gaps.fold(f64::INFINITY, f64::min);
    match (xs.is_empty(), least.is_finite()) {
        (true, _) => 0.0,
        (false, true) => least / 2.0,
        (false, false) => 0.5,
    }
}

fn x_scale(panel: &Panel) -> Scale {
    if !panel.x.names.is_empty() {
        return Scale::between(-0.5, panel.x.names.len() as f64 - 0.5, panel.x.names.len());
    }
    let finite = |&&(x, y): &&Point| x.is_finite() && y.is_finite();
    let half = half_group(panel);
    let xs = || {
        panel.series.iter().flat_map(move |series| {
            let half = if series.mark == Mark::Bars { half } else { 0.0 };
            series.points.iter().filter(finite).flat_map(move |&(x, _)| [x - half, x + half])
        })
    };
    match panel.x.range {
        Some((from, to)) => {
            let (from, to) = (xs().fold(from, f64::min), xs().fold(to, f64::max));
            Scale::between(from, to, STEPS_X)
        }
        None => {
            let (from, to) = (xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max));
            // If zero is near, the axis starts there.
            let is_far = from.is_finite() && (from > to / 4.0 || from < 0.0);
            let from = if is_far { from } else { 0.0 };
            Scale::covering(from, to, STEPS_X)
        }
    }
}

fn y_scale(panel: &Panel, on_right: bool) -> Scale {
    if !panel.left.names.is_empty() {
        // The first name is at the top.
        let mut scale = Scale::between(-0.5, panel.left.names.len() as f64 - 0.5, 1);
        (scale.from, scale.to) = (scale.to, scale.from);
        scale.ticks.truncate(1);
        scale.ticks.push(scale.from);
        return scale;
    }
    let (least, greatest) = (least_y(panel, on_right), greatest_y(panel, on_right));
    match panel.left.range {
        Some((from, to)) => Scale::between(least.min(from), greatest.max(to), STEPS_Y),
        None => Scale::covering(least.min(0.0), greatest, STEPS_Y),
    }
}

/// The scale of the right axis, with a number at each of the `steps` of the left one unless
/// its ends are given.
fn right_scale(panel: &Panel, steps: usize) -> Option<Scale> {
    let (least, greatest) = (least_y(panel, true), greatest_y(panel, true));
    panel.right.as_ref().map(|axis| match axis.range {
        Some((from, to)) => Scale::between(least.min(from), greatest.max(to), steps),
        None if least < 0.0 => Scale::covering(least, greatest, steps),
        None => Scale::in_steps(greatest, steps),
    })
}

/// The least y of the data.
fn least_y(panel: &Panel, on_right: bool) -> f64 {
    let data = panel.series.iter().filter(|series| is_read_at(panel, series, on_right));
    // Bars start at zero.
    let zero = data.clone().any(|series| series.mark == Mark::Bars).then_some(0.0);
    let points = data.flat_map(|series| &series.points);
    let finite = points.filter(|(x, y)| x.is_finite() && y.is_finite());
    finite.map(|&(_, y)| y).chain(zero).fold(f64::INFINITY, f64::min)
}

/// Whether a series uses this axis. Without a right axis, all use the left one.
fn is_read_at(panel: &Panel, series: &Series, on_right: bool) -> bool {
    (series.on_right && panel.right.is_some()) == on_right
}

/// The greatest y of the data and of the targets.
fn greatest_y(panel: &Panel, on_right: bool) -> f64 {
    let there =
        |index: usize| panel.series.get(index).is_some_and(|s| is_read_at(panel, s, on_right));
    let data = panel.series.iter().filter(|series| is_read_at(panel, series, on_right));
    let points = data.flat_map(|series| &series.points);
    let points = points.filter(|(x, y)| x.is_finite() && y.is_finite()).map(|&(_, y)| y);
    let targets = panel.targets.iter().filter(|target| there(target.series)).map(|t| t.y.1);
    points.chain(targets).filter(|y| y.is_finite()).fold(0.0, f64::max)
}

/// Position and text of each number or name at an axis.
fn ticks<'a>(axis: &'a Axis, scale: &'a Scale) -> impl Iterator<Item = (f64, String)> + 'a {
    let names = axis.names.iter().enumerate().map(|(index, name)| (index as f64, name.clone()));
    let numbers = scale.ticks.iter().filter(|_| axis.names.is_empty());
    names.chain(numbers.map(|&tick| (tick, scale.text(tick))))
}

/// Arranges the legend in rows of at most `width`.
fn legend(panel: &Panel, width: f64) -> Vec<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, series) in panel.series.iter().enumerate() {
        let (ink, key) = (Ink::Series(index), Key::Mark(series.mark));
        entries.push(Entry { text: series.name.clone(), ink, key });
        let mut labels: Vec<&str> = Vec::new();
        for target in panel.targets.iter().filter(|target| target.series == index) {
            if !target.label.is_empty() && !labels.contains(&target.label.as_str()) {
                labels.push(&target.label);
                let key = if target.y.0 < target.y.1 { Key::Band } else { Key::Limit };
                entries.push(Entry { text: target.label.clone(), ink, key });
            }
        }
    }
    let mut labels: Vec<&str> = Vec::new();
    for shade in &panel.shades {
        if !shade.label.is_empty() && !labels.contains(&shade.label.as_str()) {
            labels.push(&shade.label);
            entries.push(Entry { text: shade.label.clone(), ink: Ink::Shade, key: Key::Shade });
        }
    }
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut used = f64::INFINITY;
    for entry in entries {
        let needs = KEY_WIDTH + 6.0 + label_width(&entry.text);
        if used + needs > width {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += needs + KEY_GAP;
        if let Some(row) = rows.last_mut() {
            row.push(entry);
        }
    }
    rows
}

fn key(out: &mut Vec<Shape>, key: &Key, ink: Ink, x: f64, y: f64) {
    let span = || vec![(x, y), (x + KEY_WIDTH, y)];
    let middle = (x + KEY_WIDTH / 2.0, y);
    let boxed = |height: f64, opacity: f64| Shape::Box {
        x,
        y: y - height / 2.0,
        width: KEY_WIDTH,
        height,
        ink,
        opacity,
    };
    match key {
        Key::Mark(Mark::Line) => out.push(line(span(), ink, style::LINE_WIDTH + 0.8)),
        Key::Mark(Mark::DottedLine) => {
            out.push(line(span(), ink, style::LINE_WIDTH));
            out.push(dot(middle, ink));
        }
        Key::Mark(Mark::Dots) => out.push(dot(middle, ink)),
        Key::Mark(Mark::Bars | Mark::Intervals) => out.push(boxed(10.0, 0.9)),
        Key::Band => out.push(boxed(12.0, style::BAND_OPACITY + 0.06)),
        Key::Limit => {
            out.push(Shape::Line { points: span(), ink, width: 1.2, dash: Some(DASH) });
        }
        Key::Shade => out.push(boxed(12.0, style::SHADE_OPACITY + 0.06)),
    }
}

fn line(points: Vec<(f64, f64)>, ink: Ink, width: f64) -> Shape {
    Shape::Line { points, ink, width, dash: None }
}

fn dot(at: (f64, f64), ink: Ink) -> Shape {
    wide_dot(at, ink, 0.0)
}

fn wide_dot((x, y): (f64, f64), ink: Ink, wider: f64) -> Shape {
    Shape::Dot { x, y, radius: style::DOT_RADIUS + wider / 2.0, ink }
}

fn label(text: &str, x: f64, y: f64, anchor: Anchor, ink: Ink) -> Shape {
    let (size, bold, upwards) = (style::LABEL_SIZE, false, false);
    Shape::Text { x, y, text: text.to_owned(), size, bold, anchor, upwards, ink }
}

fn number(text: String, x: f64, y: f64, anchor: Anchor) -> Shape {
    let (size, bold, upwards) = (style::TICK_SIZE, false, false);
    Shape::Text { x, y, text, size, bold, anchor, upwards, ink: Ink::Muted }
}

fn upwards(mut shape: Shape) -> Shape {
    if let Shape::Text { upwards, .. } = &mut shape {
        *upwards = true;
    }
    shape
}

fn label_width(text: &str) -> f64 {
    font::width(text, style::LABEL_SIZE, false)
}

fn tick_width(text: &str) -> f64 {
    font::width(text, style::TICK_SIZE, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        Panel::new("", Axis::new("time, s"), Axis::new("throughput, Mb/s"))
            .right(Axis::new("cwnd, packets"))
            .with(Series::line("throughput", vec![(0.0, 10.0), (300.0, 174.0)]))
            .with(Series::line("cwnd", vec![(0.0, 10.0), (300.0, 970.0)]).on_right())
            .target(0, (157.0, 191.0), "band")
            .shade(25.0, 35.0, "degraded")
    }

    fn texts(drawing: &Drawing) -> Vec<&str> {
        let texts = drawing.shapes.iter().filter_map(|shape| match shape {
            Shape::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn everything_has_its_label() {
        let drawing = layout(&[panel()]);
        let texts = texts(&drawing);
        let expected = [
            "throughput",
            "cwnd",
            "band",
            "degraded",
            "time, s",
            "throughput, Mb/s",
            "cwnd, packets",
        ];
        for label in expected {
            assert!(texts.contains(&label), "{label} in {texts:?}");
        }
        assert!(texts.contains(&"200") && texts.contains(&"1000"), "{texts:?}");
    }

    #[test]
    fn nothing_leaves_the_drawing() {
        let mut panels = vec![panel(), panel()];
        panels[1].left.range = Some((20.0, 100.0));
        let drawing = layout(&panels);
        let inside = |x: f64, y: f64| {
            (0.0..=drawing.width).contains(&x) && (0.0..=drawing.height).contains(&y)
        };
        for shape in &drawing.shapes {
            match shape {
                Shape::Line { points, .. } => assert!(points.iter().all(|&(x, y)| inside(x, y))),
                Shape::Box { x, y, width, height, .. } => {
                    assert!(inside(*x, *y) && inside(x + width, y + height));
                }
                Shape::Dot { x, y, .. } => assert!(inside(*x, *y)),
                Shape::Text { x, y, text, .. } => assert!(inside(*x, *y), "{text}"),
            }
        }
    }

    #[test]
    fn axes_end_where_the_numbers_do() {
        let ends_of = ends(&panel());
        assert_eq!(ends_of.x, (0.0, 300.0));
        assert_eq!((ends_of.left, ends_of.right), ((0.0, 200.0), Some((0.0, 1000.0))));
        let lanes = Axis::new("station").names(["first", "second"]);
        let lanes = Panel::new("", Axis::new("time, s").range(5.0, 9.0), lanes)
            .with(Series::intervals("away", [(6.0, 12.0, 1.0)]));
        let expected = Ends { x: (5.0, 12.0), left: (1.5, -0.5), right: None };
        assert_eq!(ends(&lanes), expected, "the first name is at the top");
    }

    #[test]
    fn bars_stand_side_by_side() {
        let panel = Panel::new("", Axis::new("station").names(["a", "b"]), Axis::new("ms"))
            .with(Series::bars("without", vec![(0.0, 700.0), (1.0, 200.0)]))
            .with(Series::bars("with", vec![(0.0, 150.0), (1.0, 120.0)]));
        let drawing = layout(&[panel]);
        let mut bars: Vec<(f64, f64)> = drawing
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Box { x, width, height, .. } if *height > 15.0 => Some((*x, x + width)),
                _ => None,
            })
            .collect();
        bars.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(bars.len(), 4);
        assert!(bars.windows(2).all(|pair| pair[0].1 < pair[1].0), "{bars:?}");
    }

    #[test]
    fn names_stand_from_top_to_bottom() {
        let panel = Panel::new("", Axis::new("time, s"), Axis::new("").names(["first", "second"]))
            .with(Series::intervals("asleep", [(0.0, 1.0, 0.0), (2.0, 3.0, 1.0)]));
        let drawing = layout(&[panel]);
        let y_of = |name: &str| {
            drawing.shapes.iter().find_map(|shape| match shape {
                Shape::Text { text, y, .. } if text == name => Some(*y),
                _ => None,
            })
        };
        assert!(y_of("first") < y_of("second"));
        assert!(y_of("first").is_some());
    }
}
