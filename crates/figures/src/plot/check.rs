//! Faults of a plot: it is empty, has points outside its axes, shapes of negative or
//! unbounded size, or a series that is invisible because others cover it. The meaning of the
//! data is not checked.

use super::layout::{self, Drawing, Frame, Shape};
use super::{Panel, Series, style};

/// Distance by which a shape may extend over the axes: half a line, a dot at the edge.
const OVER: f64 = 4.0;
/// Shapes closer than this are in the same place.
const SAME: f64 = 0.25;

/// Returns the faults of the plot of these panels, one sentence each.
pub fn faults(panels: &[Panel]) -> Vec<String> {
    let (drawing, frames) = layout::layout_with_frames(panels, style::WIDE);
    let mut faults = Vec::new();
    if panels.is_empty() {
        faults.push("there is no panel".to_owned());
    }
    for shape in &drawing.shapes {
        if !is_bounded(shape) {
            faults.push(format!("not a size or a place: {shape:?}"));
        }
    }
    for (panel, frame) in panels.iter().zip(&frames) {
        let named = |fault: String| match panel.title.as_str() {
            "" => fault,
            title => format!("{title}: {fault}"),
        };
        faults.extend(of_panel(panel, frame, &drawing).into_iter().map(named));
    }
    faults
}

fn is_bounded(shape: &Shape) -> bool {
    match shape {
        Shape::Line { points, width, .. } => {
            points.iter().all(|(x, y)| x.is_finite() && y.is_finite()) && *width > 0.0
        }
        Shape::Area { points, .. } => points.iter().all(|(x, y)| x.is_finite() && y.is_finite()),
        Shape::Box { x, y, width, height, .. } => {
            let ends = [*x, *y, x + width, y + height];
            ends.iter().all(|end| end.is_finite()) && *width > 0.0 && *height > 0.0
        }
        Shape::Dot { x, y, radius, .. } => x.is_finite() && y.is_finite() && *radius > 0.0,
        Shape::Text { x, y, .. } => x.is_finite() && y.is_finite(),
    }
}

fn of_panel(panel: &Panel, frame: &Frame, drawing: &Drawing) -> Vec<String> {
    let mut faults = Vec::new();
    let shapes = &drawing.shapes[frame.data.clone()];
    for shape in shapes {
        if !is_inside(shape, frame.area) {
            faults.push(format!("outside the axes: {shape:?}"));
        }
    }
    if panel.series.is_empty() {
        faults.push("there is no series".to_owned());
    }
    for (index, series) in panel.series.iter().enumerate() {
        let name = &series.name;
        if !series.points.iter().any(|(x, y)| x.is_finite() && y.is_finite()) {
            faults.push(format!("{name:?} has no points"));
        }
        for &(x, y) in beyond(frame, series) {
            faults.push(format!("{name:?}: ({x}, {y}) is beyond the ends of the axes"));
        }
        if is_hidden(&frame.series[index], &frame.series[index + 1..], drawing) {
            faults.push(format!("{name:?} is hidden behind others"));
        }
    }
    faults
}

/// The points that are outside the axes, and are drawn at their ends instead.
fn beyond<'a>(frame: &'a Frame, series: &'a Series) -> impl Iterator<Item = &'a (f64, f64)> {
    let points = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    points.filter(|&&(x, y)| !frame.x.reaches(x) || !frame.y(series.on_right).reaches(y))
}

fn is_inside(shape: &Shape, [left, top, right, bottom]: [f64; 4]) -> bool {
    let inside = |x: f64, y: f64| {
        (left - OVER..=right + OVER).contains(&x) && (top - OVER..=bottom + OVER).contains(&y)
    };
    match shape {
        Shape::Line { points, .. } | Shape::Area { points, .. } => {
            points.iter().all(|&(x, y)| inside(x, y))
        }
        Shape::Box { x, y, width, height, .. } => inside(*x, *y) && inside(x + width, y + height),
        Shape::Dot { x, y, .. } | Shape::Text { x, y, .. } => inside(*x, *y),
    }
}

/// Whether every shape of the series is covered by a shape of a later series.
fn is_hidden(
    own: &std::ops::Range<usize>,
    later: &[std::ops::Range<usize>],
    drawing: &Drawing,
) -> bool {
    let shapes = |range: &std::ops::Range<usize>| &drawing.shapes[range.clone()];
    let mut own = shapes(own).iter().filter(|shape| !is_nothing(shape)).peekable();
    own.peek().is_some()
        && own.all(|shape| {
            later.iter().any(|range| shapes(range).iter().any(|other| covers(other, shape)))
        })
}

fn is_nothing(shape: &Shape) -> bool {
    matches!(shape, Shape::Line { points, .. } if points.is_empty())
}

/// Whether `above`, painted later, covers all of `below`.
fn covers(above: &Shape, below: &Shape) -> bool {
    match (above, below) {
        (
            Shape::Line { points: a, width: over, .. },
            Shape::Line { points: b, width: under, .. },
        ) => {
            let same = |(a, b): (&(f64, f64), &(f64, f64))| {
                (a.0 - b.0).abs() < SAME && (a.1 - b.1).abs() < SAME
            };
            a.len() == b.len() && over + SAME >= *under && a.iter().zip(b).all(same)
        }
        (
            Shape::Box { x, y, width, height, .. },
            Shape::Box { x: u, y: v, width: w, height: h, .. },
        ) => {
            x - SAME <= *u
                && y - SAME <= *v
                && u + w <= x + width + SAME
                && v + h <= y + height + SAME
        }
        (Shape::Dot { x, y, radius, .. }, Shape::Dot { x: u, y: v, radius: r, .. }) => {
            (x - u).hypot(y - v) + r <= radius + SAME
        }
        _ => false,
    }
}

impl Frame {
    fn y(&self, on_right: bool) -> &super::ticks::Scale {
        match &self.right {
            Some(right) if on_right => right,
            _ => &self.left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Axis;
    use crate::plot::style::Ink;
    use proptest::prelude::*;

    fn panel() -> Panel {
        Panel::new("", Axis::new("payload, bytes").range(1250.0, 4250.0), Axis::new("packets"))
    }

    /// Whether a shape shows data: it has the ink of a series.
    fn is_data(shape: &Shape) -> bool {
        match shape {
            Shape::Line { ink, .. }
            | Shape::Box { ink, .. }
            | Shape::Area { ink, .. }
            | Shape::Dot { ink, .. } => {
                matches!(ink, Ink::Series(_))
            }
            Shape::Text { .. } => false,
        }
    }

    /// Bars at 1 500, 2 000 .. bytes must not have the width of half a byte.
    #[test]
    fn bars_far_apart_are_as_wide_as_others() {
        let payloads = [1500.0, 2000.0, 2500.0, 3000.0, 3500.0, 4000.0];
        let points = payloads.map(|x| (x, 1e7 / x)).to_vec();
        let panels = [panel().with(Series::bars("packets sent", points))];
        assert_eq!(faults(&panels), [""; 0]);
        let (drawing, frames) = layout::layout_with_frames(&panels, style::WIDE);
        let bars = drawing.shapes[frames[0].data.clone()].iter().filter(|shape| is_data(shape));
        let widths: Vec<f64> = bars
            .filter_map(|shape| match shape {
                Shape::Box { width, .. } => Some(*width),
                _ => None,
            })
            .collect();
        assert!(widths.len() == 6 && widths.iter().all(|width| *width > 20.0), "{widths:?}");
    }

    #[test]
    fn what_is_beyond_a_given_end_moves_the_end() {
        let x = Axis::new("time, s").range(0.0, 10.0);
        let panel = Panel::new("", x, Axis::new("Mb/s").range(0.0, 5.0))
            .with(Series::line("all", vec![(-3.0, 1.0), (12.0, 7.0)]));
        assert_eq!(faults(&[panel]), [""; 0]);
    }

    #[test]
    fn series_on_the_same_spots_are_all_seen() {
        let points = vec![(1500.0, 10.0), (4000.0, 12.0)];
        type Make = fn(String, Vec<crate::plot::Point>) -> Series;
        let same: [Make; 3] = [Series::line, Series::dotted_line, Series::dots];
        for make in same {
            let three = (0..3)
                .fold(panel(), |panel, n| panel.with(make(format!("series {n}"), points.clone())));
            assert_eq!(faults(&[three]), [""; 0]);
        }
    }

    #[test]
    fn faults_are_found() {
        let empty = panel().with(Series::dots("nothing", vec![(f64::NAN, 1.0)]));
        assert_eq!(faults(&[empty]), ["\"nothing\" has no points"]);
        assert_eq!(faults(&[]), ["there is no panel"]);
        let hidden = Shape::Box {
            x: 1.0,
            y: 1.0,
            width: 2.0,
            height: 2.0,
            ink: Ink::Series(0),
            opacity: 1.0,
        };
        let above = Shape::Box {
            x: 0.0,
            y: 0.0,
            width: 9.0,
            height: 9.0,
            ink: Ink::Series(1),
            opacity: 1.0,
        };
        assert!(covers(&above, &hidden) && !covers(&hidden, &above));
        let negative = Shape::Box {
            x: 1.0,
            y: 1.0,
            width: -2.0,
            height: 2.0,
            ink: Ink::Series(0),
            opacity: 1.0,
        };
        assert!(!is_bounded(&negative) && is_bounded(&hidden));
        assert!(!is_inside(&above, [5.0, 5.0, 9.0, 9.0]));
    }

    fn series() -> impl Strategy<Value = Series> {
        let number = prop_oneof![
            -1e3..1e3f64,
            Just(0.0),
            Just(1e-9),
            Just(1e12),
            Just(f64::NAN),
            Just(f64::INFINITY)
        ];
        let points = prop::collection::vec((number.clone(), number), 0..8);
        (points, 0..4u8, any::<bool>()).prop_map(|(mut points, mark, on_right)| {
            points.push((2.0, 3.0));
            let series = match mark {
                0 => Series::line("s", points),
                1 => Series::dotted_line("s", points),
                2 => Series::dots("s", points),
                _ => Series::bars("s", points),
            };
            if on_right { series.on_right() } else { series }
        })
    }

    fn axis() -> impl Strategy<Value = Axis> {
        prop_oneof![
            Just(Axis::new("a")),
            (-1e3..1e3f64, 1e-3..1e4f64)
                .prop_map(|(from, length)| Axis::new("a").range(from, from + length)),
        ]
    }

    proptest! {
        /// With any data, all of it is between the axes and has a size.
        #[test]
        fn every_plot_is_inside_its_axes(
            (x, left, right) in (axis(), axis(), prop::option::of(axis())),
            all in prop::collection::vec(series(), 1..5),
            targets in prop::collection::vec((0..5usize, 0.0..1e4f64, 0.0..1e3f64), 0..3),
            shade in prop::option::of((-1e4..1e4f64, 0.0..1e4f64)),
        ) {
            let mut panel = Panel::new("", x, left);
            if let Some(right) = right {
                panel = panel.right(right);
            }
            let count = all.len();
            panel = all.into_iter().fold(panel, Panel::with);
            for (series, low, height) in targets {
                panel = panel.target(series.min(count - 1), (low, low + height), "band");
            }
            if let Some((from, length)) = shade {
                panel = panel.shade(from, from + length, "shade");
            }
            let faults = faults(&[panel]);
            // Bars of any height may cover others; figures have to avoid that.
            let faults: Vec<_> = faults.iter().filter(|f| !f.ends_with("behind others")).collect();
            prop_assert!(faults.is_empty(), "{faults:?}");
        }
    }
}
