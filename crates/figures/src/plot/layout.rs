//! Turns panels into shapes: the positions of axes, numbers, legend and points. All
//! lengths are in pixels of the SVG, with y downwards. Text is measured with `font`, so
//! the result does not depend on installed fonts.

use super::extent::{bar_xs, right_scale, x_scale, y_scale};
use super::style::{self, Ink, Marker, Size};
use super::ticks::Scale;
use super::{Axis, Look, Mark, Panel, Point, Series, font};
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
        /// Lengths on and off in turn; empty for a solid line.
        dash: &'static [f64],
    },
    Box {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        ink: Ink,
        opacity: f64,
    },
    /// A filled polygon.
    Area {
        points: Vec<(f64, f64)>,
        ink: Ink,
        opacity: f64,
    },
    Dot {
        x: f64,
        y: f64,
        radius: f64,
        marker: Marker,
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

/// The part of a text that is at its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Share of the space between two names that bars take.
const BARS_SHARE: f64 = 0.72;
/// Width of the widest bar.
const BAR_WIDTH_MAX: f64 = 44.0;
/// Share of a row that its intervals take.
const LANE_SHARE: f64 = 0.56;
/// Side of the key of a legend entry, and the space after an entry.
const KEY_WIDTH: f64 = 28.0;
const KEY_GAP: f64 = 18.0;
/// Height of a row of the legend.
const LEGEND_ROW: f64 = 20.0;
/// Additional width of a line for each later line on the same points.
const RIM: f64 = 3.0;
/// Additional radius of dots for each later series of dots.
const DOT_RIM: f64 = 1.5;
/// Points closer than this are in the same place.
const SAME_SPOT: f64 = 0.5;
/// Dashes of a band without height.
const DASH: &[f64] = &[6.0, 4.0];
/// Pixels from one marker on a line to the next, and from that of one series to that of
/// another.
const MARKER_EVERY: f64 = 120.0;
const MARKER_SHIFT: f64 = 17.0;
/// Height of a row of names below an axis.
const NAME_ROW: f64 = style::TICK_SIZE * 1.25;
/// Largest number of rows of names below an axis.
const NAME_ROWS_MAX: usize = 4;

/// The places of the data of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The coordinate system: left, top, right, bottom.
    pub area: [f64; 4],
    pub x: Scale,
    pub left: Scale,
    pub right: Option<Scale>,
    /// Indices of the shapes of shades, targets and series.
    pub data: Range<usize>,
    /// Indices of the shapes of each series.
    pub series: Vec<Range<usize>>,
}

/// Returns the shapes of panels, one below the other, for a wide screen or paper.
pub fn layout(panels: &[Panel]) -> Drawing {
    layout_with_frames(panels, style::WIDE).0
}

/// Returns the shapes of panels, and where the data of each panel are. A panel whose legend
/// is that of the panel above has none.
pub fn layout_with_frames(panels: &[Panel], size: Size) -> (Drawing, Vec<Frame>) {
    let mut drawing = Drawing { width: size.width, height: style::MARGIN, shapes: Vec::new() };
    let draw = |(index, panel): (usize, &Panel)| {
        let above = index.checked_sub(1).and_then(|above| panels.get(above));
        let has_legend = above.is_none_or(|above| !is_same_legend(above, panel));
        Plan::new(panel, drawing.height, size, has_legend).draw(&mut drawing)
    };
    let frames = panels.iter().enumerate().map(draw).collect();
    (drawing, frames)
}

/// Whether two panels have the same entries in their legends.
fn is_same_legend(one: &Panel, other: &Panel) -> bool {
    let series = |panel: &Panel| -> Vec<(String, Mark, Look)> {
        panel.series.iter().map(|it| (it.name.clone(), it.mark, it.look)).collect()
    };
    let targets = |panel: &Panel| -> Vec<(usize, String)> {
        panel.targets.iter().map(|target| (target.series, target.label.clone())).collect()
    };
    let shades = |panel: &Panel| -> Vec<String> {
        panel.shades.iter().map(|shade| shade.label.clone()).collect()
    };
    series(one) == series(other) && targets(one) == targets(other) && shades(one) == shades(other)
}

/// The start and end of each axis of a panel, in its unit. An axis of y with names lists them
/// from top to bottom, so it ends below its start.
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
    Ends {
        x: of(&x_scale(panel, style::WIDE.steps_x)),
        left: of(&left),
        right: right.as_ref().map(of),
    }
}

/// The positions of the parts of a panel.
struct Plan<'a> {
    panel: &'a Panel,
    size: Size,
    x: Scale,
    left: Scale,
    right: Option<Scale>,
    /// The coordinate system: left, top, right, bottom.
    area: [f64; 4],
    top: f64,
    /// The title in lines.
    title: Vec<String>,
    legend: Vec<Vec<Entry>>,
    /// Rows in which the names below the axis of x stand.
    name_rows: usize,
}

/// An entry of the legend.
struct Entry {
    text: String,
    ink: Ink,
    key: Key,
    dash: &'static [f64],
    marker: Marker,
}

/// The symbol before the text of an entry of the legend.
enum Key {
    /// Of a series; whether its line has markers.
    Mark(Mark, bool),
    Band,
    Limit,
    Shade,
}

impl<'a> Plan<'a> {
    fn new(panel: &'a Panel, top: f64, size: Size, has_legend: bool) -> Self {
        let left = y_scale(panel, false);
        let right = right_scale(panel, left.ticks.len() - 1);
        let room = |axis: &Axis, scale: &Scale| {
            let label = if axis.label.is_empty() { 0.0 } else { style::LABEL_SIZE + style::GAP };
            let widths = ticks(axis, scale).map(|(_, text)| tick_width(&text));
            label + style::GAP + widths.fold(0.0, f64::max).min(size.name_width_max)
        };
        let area_left = style::MARGIN + room(&panel.left, &left);
        let right_room = panel.right.as_ref().zip(right.as_ref());
        let area_right = size.width
            - style::MARGIN
            - right_room.map_or(style::GAP, |(axis, scale)| room(axis, scale));
        let width = area_right - area_left;
        let legend = if has_legend { legend(panel, width) } else { Vec::new() };
        let title = lines(&panel.title, size.width - area_left - style::MARGIN);
        let title_height = match title.len() {
            0 => 0.0,
            rows => rows as f64 * style::TITLE_SIZE * 1.2 + style::GAP,
        };
        let above = title_height + legend.len() as f64 * LEGEND_ROW + style::GAP;
        let height = match panel.left.names.len() {
            0 => size.panel_height,
            lanes => lanes as f64 * style::LANE_HEIGHT,
        };
        let widest = panel.x.names.iter().map(|name| tick_width(name)).fold(0.0, f64::max);
        let slot = width / panel.x.names.len().max(1) as f64;
        let name_rows = ((widest + style::GAP) / slot).ceil() as usize;
        Self {
            x: x_scale(panel, size.steps_x),
            left,
            right,
            area: [area_left, top + above, area_right, top + above + height],
            top,
            title,
            legend,
            name_rows: name_rows.clamp(1, NAME_ROWS_MAX),
            panel,
            size,
        }
    }

    fn draw(&self, drawing: &mut Drawing) -> Frame {
        let [left, _, _, bottom] = self.area;
        let out = &mut drawing.shapes;
        for (row, line) in self.title.iter().enumerate() {
            out.push(Shape::Text {
                x: left,
                y: self.top + style::TITLE_SIZE * (0.85 + 1.2 * row as f64),
                text: line.clone(),
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
        drawing.height = bottom
            + self.name_rows.saturating_sub(1) as f64 * NAME_ROW
            + style::TICK_SIZE
            + style::LABEL_SIZE
            + 3.0 * style::GAP
            + style::MARGIN;
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
                key(out, entry, x, middle);
                let text_x = x + KEY_WIDTH + 6.0;
                out.push(label(&entry.text, text_x, middle + 4.5, Anchor::Start, Ink::Text));
                x = text_x + legend_width(&entry.text) + KEY_GAP;
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
            let ink = match self.series(target.series) {
                Some(series) => look(series, target.series).0,
                None => Ink::Series(target.series),
            };
            let [from, to] = target.x.map_or([self.area[0], self.area[2]], |span| {
                [self.at_x(span.from), self.at_x(span.to)]
            });
            let (low, high) =
                (self.at_y(target.y.from, on_right), self.at_y(target.y.to, on_right));
            if low - high < 1.0 {
                out.push(Shape::Line {
                    points: vec![(from, low), (to, low)],
                    ink,
                    width: 1.2,
                    dash: DASH,
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
        let lines = self.panel.series.iter().filter(|series| series.mark == Mark::Line).count();
        for (index, series) in self.panel.series.iter().enumerate() {
            let (ink, dash, marker) = look(series, index);
            let begin = out.len();
            // Parts that later series would cover remain visible on both sides of them.
            let wider = RIM * self.number_above(index) as f64;
            let place = |&(x, y): &(f64, f64)| (self.at_x(x), self.at_y(y, series.on_right));
            let points = || series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            match series.mark {
                Mark::Line => {
                    let points: Vec<_> = points().map(place).collect();
                    let width = style::LINE_WIDTH + wider;
                    if lines > 1 {
                        let shift = MARKER_SHIFT * index as f64 % MARKER_EVERY;
                        let dots = sparse(&points, self.area[0] + shift);
                        let dots = dots.into_iter().map(|(x, y)| wide_dot(x, y, ink, marker, 0.0));
                        out.push(Shape::Line { points, ink, width, dash });
                        out.extend(dots);
                    } else {
                        out.push(Shape::Line { points, ink, width, dash });
                    }
                }
                Mark::DottedLine => {
                    let (points, width) =
                        (points().map(place).collect::<Vec<_>>(), style::LINE_WIDTH + wider);
                    let dots = points.iter().map(|&(x, y)| wide_dot(x, y, ink, marker, wider));
                    let dots: Vec<_> = dots.collect();
                    out.push(Shape::Line { points, ink, width, dash });
                    out.extend(dots);
                }
                Mark::Dots => {
                    let wider = wider.max(DOT_RIM * self.dots_above(index) as f64);
                    out.extend(
                        points().map(place).map(|(x, y)| wide_dot(x, y, ink, marker, wider)),
                    );
                }
                Mark::Band => {
                    let points: Vec<_> = points().map(place).collect();
                    let side = |at: usize| points.iter().skip(at).step_by(2).copied();
                    let highs: Vec<_> = side(1).collect();
                    let points = side(0).chain(highs.into_iter().rev()).collect();
                    out.push(Shape::Area { points, ink, opacity: opacity(ink) });
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
                            opacity: opacity(ink),
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
        let names = self.panel.x.names.len().max(1);
        let name_width_max = (right - left) / names as f64 * self.name_rows as f64 - 4.0;
        for (index, (tick, text)) in ticks(&self.panel.x, &self.x).enumerate() {
            let x = self.at_x(tick);
            let mut y = bottom + style::GAP + style::TICK_SIZE;
            if self.panel.x.names.is_empty() {
                out.push(line(vec![(x, bottom), (x, bottom + 4.0)], Ink::Axis, 1.0));
                out.push(number(text, x, y, Anchor::Middle));
            } else {
                // Names that are wider than their place stand in several rows.
                y += (index % self.name_rows) as f64 * NAME_ROW;
                let text = fitted(&text, style::TICK_SIZE, name_width_max);
                let half = tick_width(&text) / 2.0;
                let most = (self.size.width - half).max(half);
                out.push(number(text, x.clamp(half, most), y, Anchor::Middle));
            }
        }
        let y = bottom
            + (self.name_rows - 1) as f64 * NAME_ROW
            + 2.2 * style::GAP
            + style::TICK_SIZE
            + style::LABEL_SIZE;
        let half = label_width(&self.panel.x.label) / 2.0;
        let middle = ((left + right) / 2.0).min(self.size.width - half).max(half);
        out.push(label(&self.panel.x.label, middle, y, Anchor::Middle, Ink::Text));

        let middle = (top + bottom) / 2.0;
        for (tick, text) in ticks(&self.panel.left, &self.left) {
            let y = self.at_y(tick, false) + style::TICK_SIZE * 0.36;
            let text = fitted(&text, style::TICK_SIZE, self.size.name_width_max);
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
            let x = self.size.width - style::MARGIN;
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
            (Some(_), Some(only), None) => look(&self.panel.series[only], only).0,
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

/// Returns colour, dash and marker of a series at its place in the panel.
fn look(series: &Series, place: usize) -> (Ink, &'static [f64], Marker) {
    match series.look {
        Look::Place => (Ink::Series(place), style::dash(place), Marker::of_series(place)),
        Look::Of(place) => (Ink::Series(place), style::dash(place), Marker::of_series(place)),
        Look::Muted => (Ink::Shade, &[], Marker::Circle),
    }
}

/// The opacity of an area, a bar or an interval of a series.
fn opacity(ink: Ink) -> f64 {
    if ink == Ink::Shade { style::MUTED_OPACITY } else { 0.9 }
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
    let text = |name: &str| fitted(name, style::LABEL_SIZE, width - KEY_WIDTH - 6.0);
    let lines = panel.series.iter().filter(|series| series.mark == Mark::Line).count();
    for (index, series) in panel.series.iter().enumerate() {
        let (ink, dash, marker) = look(series, index);
        let key = Key::Mark(series.mark, lines > 1);
        entries.push(Entry { text: text(&series.name), ink, key, dash, marker });
        let mut labels: Vec<&str> = Vec::new();
        for target in panel.targets.iter().filter(|target| target.series == index) {
            if !target.label.is_empty() && !labels.contains(&target.label.as_str()) {
                labels.push(&target.label);
                let key = if target.y.from < target.y.to { Key::Band } else { Key::Limit };
                entries.push(Entry { text: text(&target.label), ink, key, dash, marker });
            }
        }
    }
    let mut labels: Vec<&str> = Vec::new();
    for shade in &panel.shades {
        if !shade.label.is_empty() && !labels.contains(&shade.label.as_str()) {
            labels.push(&shade.label);
            let (ink, key, marker) = (Ink::Shade, Key::Shade, Marker::Circle);
            entries.push(Entry { text: text(&shade.label), ink, key, dash: &[], marker });
        }
    }
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut used = f64::INFINITY;
    for entry in entries {
        let needs = KEY_WIDTH + 6.0 + legend_width(&entry.text);
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

fn key(out: &mut Vec<Shape>, entry: &Entry, x: f64, y: f64) {
    let Entry { ink, dash, marker, .. } = *entry;
    let span = || vec![(x, y), (x + KEY_WIDTH, y)];
    let line = |width: f64| Shape::Line { points: span(), ink, width, dash };
    let dot = || wide_dot(x + KEY_WIDTH / 2.0, y, ink, marker, 0.0);
    let boxed = |height: f64, opacity: f64| Shape::Box {
        x,
        y: y - height / 2.0,
        width: KEY_WIDTH,
        height,
        ink,
        opacity,
    };
    match entry.key {
        Key::Mark(Mark::Line, false) => out.push(line(style::LINE_WIDTH + 0.8)),
        Key::Mark(Mark::Line, true) => out.extend([line(style::LINE_WIDTH + 0.8), dot()]),
        Key::Mark(Mark::DottedLine, _) => out.extend([line(style::LINE_WIDTH), dot()]),
        Key::Mark(Mark::Dots, _) => out.push(dot()),
        Key::Mark(Mark::Bars | Mark::Intervals | Mark::Band, _) => {
            out.push(boxed(10.0, opacity(ink)));
        }
        Key::Band => out.push(boxed(12.0, style::BAND_OPACITY + 0.06)),
        Key::Limit => out.push(Shape::Line { points: span(), ink, width: 1.2, dash: DASH }),
        Key::Shade => out.push(boxed(12.0, style::SHADE_OPACITY + 0.06)),
    }
}

fn line(points: Vec<(f64, f64)>, ink: Ink, width: f64) -> Shape {
    Shape::Line { points, ink, width, dash: &[] }
}

fn wide_dot(x: f64, y: f64, ink: Ink, marker: Marker, wider: f64) -> Shape {
    Shape::Dot { x, y, radius: style::DOT_RADIUS + wider / 2.0, marker, ink }
}

/// The first of `points` at or behind `from`, and every next one that is far enough right of
/// the one before.
fn sparse(points: &[(f64, f64)], from: f64) -> Vec<(f64, f64)> {
    let mut next = from;
    let mut chosen = Vec::new();
    for &(x, y) in points {
        if x >= next {
            chosen.push((x, y));
            next = x + MARKER_EVERY;
        }
    }
    chosen
}

/// `text`, or as much of it as fits, with an ellipsis.
fn fitted(text: &str, size: f64, width_max: f64) -> String {
    if font::width(text, size, false) <= width_max {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while kept.pop().is_some() {
        let shortened = format!("{}\u{2026}", kept.trim_end());
        if font::width(&shortened, size, false) <= width_max {
            return shortened;
        }
    }
    String::new()
}

/// A title in lines of at most `width`, also in a font that is somewhat wider; none if it is
/// empty. A word that is too long is broken behind an arrow, or shortened.
fn lines(title: &str, width: f64) -> Vec<String> {
    let width_max = width / 1.1;
    let is_short = |text: &str| font::width(text, style::TITLE_SIZE, true) <= width_max;
    let mut lines: Vec<String> = Vec::new();
    for word in title.split_whitespace() {
        let parts: Vec<&str> =
            if is_short(word) { vec![word] } else { word.split_inclusive("->").collect() };
        for (index, part) in parts.into_iter().enumerate() {
            let joined = lines.last().map(|line| match index {
                0 => format!("{line} {part}"),
                _ => format!("{line}{part}"),
            });
            match (joined.filter(|joined| is_short(joined)), lines.last_mut()) {
                (Some(joined), Some(line)) => *line = joined,
                _ => lines.push(fitted(part, style::TITLE_SIZE, width_max)),
            }
        }
    }
    lines
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

/// The width of an entry of the legend, also in a font that is somewhat wider: a browser takes
/// one that it has.
fn legend_width(text: &str) -> f64 {
    label_width(text) * 1.1
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
        let names: Vec<String> = (0..9).map(|at| format!("station number {at}")).collect();
        let lanes = Panel::new("A title that is longer than a phone is wide", panel().x, panel().x)
            .with(Series::intervals("asleep", [(0.0, 1.0, 0.0)]));
        let mut panels = vec![panel(), panel(), lanes.clone(), lanes];
        panels[1].left.range = Some((20.0, 100.0));
        panels[2].left.names.clone_from(&names);
        panels[3].x.names = names;
        for size in [style::WIDE, style::NARROW] {
            is_inside(&layout_with_frames(&panels, size).0);
        }
    }

    fn is_inside(drawing: &Drawing) {
        let inside = |x: f64, y: f64| {
            (0.0..=drawing.width).contains(&x) && (0.0..=drawing.height).contains(&y)
        };
        for shape in &drawing.shapes {
            match shape {
                Shape::Line { points, .. } | Shape::Area { points, .. } => {
                    assert!(points.iter().all(|&(x, y)| inside(x, y)));
                }
                Shape::Box { x, y, width, height, .. } => {
                    assert!(inside(*x, *y) && inside(x + width, y + height));
                }
                Shape::Dot { x, y, .. } => assert!(inside(*x, *y)),
                Shape::Text { x, y, text, size, bold, anchor, upwards, .. } => {
                    let width = font::width(text, *size, *bold);
                    let before = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => width / 2.0,
                        Anchor::End => width,
                    };
                    let ends = if *upwards {
                        [(*x, y - width + before), (*x, y + before)]
                    } else {
                        [(x - before, *y), (x - before + width, *y)]
                    };
                    assert!(ends.iter().all(|&(x, y)| inside(x, y)), "{text} {ends:?}");
                }
            }
        }
    }

    #[test]
    fn titles_are_broken_where_they_are_too_long() {
        assert_eq!(lines("Mean of all packets", 300.0), ["Mean of all packets"]);
        assert_eq!(lines("Mean of all packets", 90.0), ["Mean of all", "packets"]);
        let link = "02:1a:00:00:00:01->02:1a:00:00:00:00";
        assert_eq!(lines(link, 200.0), ["02:1a:00:00:00:01->", "02:1a:00:00:00:00"]);
        assert_eq!(lines(link, 600.0), [link]);
        assert!(lines(link, 50.0)[0].ends_with('\u{2026}'), "{:?}", lines(link, 50.0));
        assert_eq!(lines("", 50.0), [""; 0]);
    }

    #[test]
    fn a_legend_is_not_repeated() {
        let mut other = panel();
        other.series[1].name = "window".to_owned();
        let drawing = layout(&[panel(), panel(), other]);
        let count = |label| texts(&drawing).into_iter().filter(|text| *text == label).count();
        assert_eq!((count("throughput"), count("cwnd"), count("window")), (2, 1, 1));
    }

    #[test]
    fn lines_are_told_apart_without_colours() {
        let many = |panel: Panel, index: u32| {
            let points = (0..200).map(|at| (f64::from(at), f64::from(index))).collect();
            panel.with(Series::line(format!("flow {index}"), points))
        };
        let panel = Panel::new("", Axis::new("time, s"), Axis::new("ms"));
        let drawing = layout(&[(0..6).fold(panel, many)]);
        let mut looks: Vec<_> = drawing
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Line { points, ink: Ink::Series(_), dash, .. } if points.len() == 200 => {
                    Some(format!("{dash:?}"))
                }
                Shape::Dot { marker, .. } => Some(format!("{marker:?}")),
                _ => None,
            })
            .collect();
        looks.sort();
        looks.dedup();
        assert_eq!(looks.len(), 12, "{looks:?}");
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
