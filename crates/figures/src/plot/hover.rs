//! Values shown under the pointer on a plot: rectangles over its data, each with the values
//! there. Lines, dots, bars and bands have columns of x, intervals one rectangle each. A column
//! over several points of a series has the least and the greatest of them.

use super::layout::Frame;
use super::{Axis, Mark, Panel, Series};
use crate::text::number;
use std::fmt::Write;

/// Largest number of columns of a panel.
const COLUMNS_MAX: usize = 60;
/// Largest number of intervals of a panel with rectangles; with more intervals none has one.
const INTERVALS_MAX: usize = 400;
/// Height of the rectangle of an interval in pixels.
const INTERVAL_HEIGHT: f64 = 20.0;

/// A rectangle, and the text that is shown there.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub text: String,
}

/// The rectangles of a panel.
pub fn spots(panel: &Panel, frame: &Frame) -> Vec<Spot> {
    let mut spots = columns(panel, frame);
    let lanes = panel.series.iter().filter(|series| series.mark == Mark::Intervals);
    if lanes.clone().map(|series| series.points.len() / 2).sum::<usize>() <= INTERVALS_MAX {
        spots.extend(lanes.flat_map(|series| intervals(panel, frame, series)));
    }
    spots
}

fn columns(panel: &Panel, frame: &Frame) -> Vec<Spot> {
    let [left, top, right, bottom] = frame.area;
    let at = |x: f64| left + frame.x.place(x) * (right - left);
    let series: Vec<&Series> =
        panel.series.iter().filter(|series| series.mark != Mark::Intervals).collect();
    let finite = |series: &Series| -> Vec<(f64, f64)> {
        values(series).into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
    };
    let points: Vec<Vec<(f64, f64)>> = series.iter().map(|series| finite(series)).collect();
    let mut xs: Vec<f64> = points.iter().flatten().map(|&(x, _)| x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup_by(|one, other| (at(*one) - at(*other)).abs() < 1.0);
    if xs.is_empty() {
        return Vec::new();
    }
    // Between neighbours, or in equal distances if there are many.
    let edges: Vec<f64> = if xs.len() <= COLUMNS_MAX {
        let between = xs.windows(2).map(|pair| f64::midpoint(at(pair[0]), at(pair[1])));
        std::iter::once(left).chain(between).chain([right]).collect()
    } else {
        let step = (right - left) / COLUMNS_MAX as f64;
        (0..=COLUMNS_MAX).map(|column| left + column as f64 * step).collect()
    };
    let mut cells = vec![vec![None::<[f64; 2]>; series.len()]; edges.len() - 1];
    let mut span = vec![None::<[f64; 2]>; edges.len() - 1];
    for (index, points) in points.iter().enumerate() {
        for &(x, y) in points {
            let column = edges.partition_point(|edge| *edge <= at(x)).clamp(1, edges.len() - 1) - 1;
            widen(&mut cells[column][index], y);
            widen(&mut span[column], x);
        }
    }
    let spot = |column: usize| {
        let mut text = format!("{}: {}", head(&panel.x), told(&panel.x, span[column]?));
        for (series, cell) in series.iter().zip(&cells[column]) {
            let Some(cell) = *cell else { continue };
            let axis = match &panel.right {
                Some(axis) if series.on_right => axis,
                _ => &panel.left,
            };
            let _ = write!(text, "\n{}: {}", series.name, told(axis, cell));
        }
        let (x, width) = (edges[column], edges[column + 1] - edges[column]);
        (width > 0.0).then_some(Spot { x, y: top, width, height: bottom - top, text })
    };
    (0..cells.len()).filter_map(spot).collect()
}

/// The values of a series: of a band how far it extends.
fn values(series: &Series) -> Vec<(f64, f64)> {
    match series.mark {
        Mark::Band => {
            series.points.chunks_exact(2).map(|ends| (ends[0].0, ends[1].1 - ends[0].1)).collect()
        }
        _ => series.points.clone(),
    }
}

fn intervals(panel: &Panel, frame: &Frame, series: &Series) -> Vec<Spot> {
    let [left, top, right, bottom] = frame.area;
    let at = |x: f64| left + frame.x.place(x) * (right - left);
    let spot = |ends: &[(f64, f64)]| {
        let ((from, row), (to, _)) = (ends[0], ends[1]);
        if ![from, to, row].iter().all(|end| end.is_finite()) || to <= from {
            return None;
        }
        let lane = panel.left.names.get(row as usize).map(|name| format!("{name}, "));
        let text = format!(
            "{}{}: {}, from {} to {}",
            lane.unwrap_or_default(),
            series.name,
            told(&panel.x, [to - from; 2]),
            short(from),
            short(to)
        );
        let middle = bottom - frame.left.place(row) * (bottom - top);
        let width = (at(to) - at(from)).max(1.2);
        let y = middle - INTERVAL_HEIGHT / 2.0;
        Some(Spot { x: at(from), y, width, height: INTERVAL_HEIGHT, text })
    };
    series.points.chunks_exact(2).filter_map(spot).collect()
}

fn widen(range: &mut Option<[f64; 2]>, value: f64) {
    let [least, greatest] = range.unwrap_or([value; 2]);
    *range = Some([least.min(value), greatest.max(value)]);
}

/// The label of an axis without its unit.
fn head(axis: &Axis) -> &str {
    axis.label.rsplit_once(", ").map_or(axis.label.as_str(), |(head, _)| head)
}

/// A value or a range with the unit of its axis, or a name.
fn told(axis: &Axis, [least, greatest]: [f64; 2]) -> String {
    if let Some(name) = axis.names.get(least.round().max(0.0) as usize) {
        return name.clone();
    }
    let unit = axis.label.rsplit_once(", ").map_or(String::new(), |(_, unit)| format!(" {unit}"));
    let (least, greatest) = (short(least), short(greatest));
    if least == greatest {
        format!("{least}{unit}")
    } else {
        format!("{least} to {greatest}{unit}")
    }
}

/// A number with about four digits, without zeros behind its last decimal.
fn short(value: f64) -> String {
    let text = number(value, &[1_000.0, 100.0, 10.0, 1.0]);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::layout::layout_with_frames;
    use crate::plot::style::WIDE;

    fn spots_of(panel: Panel) -> Vec<Spot> {
        let panels = [panel];
        let (_, frames) = layout_with_frames(&panels, WIDE);
        spots(&panels[0], &frames[0])
    }

    #[test]
    fn a_column_has_the_values_of_all_series() {
        let panel = Panel::new("", Axis::new("time, s"), Axis::new("throughput, Mb/s"))
            .right(Axis::new("window, segments"))
            .with(Series::line("up", vec![(1.0, 10.5), (2.0, 11.25)]))
            .with(Series::line("cwnd", vec![(1.0, 40.0)]).on_right());
        let texts: Vec<_> = spots_of(panel).into_iter().map(|spot| spot.text).collect();
        assert_eq!(
            texts,
            ["time: 1 s\nup: 10.5 Mb/s\ncwnd: 40 segments", "time: 2 s\nup: 11.25 Mb/s"]
        );
    }

    #[test]
    fn of_many_points_a_column_has_the_range() {
        let points = (0..6_000).map(|at| (f64::from(at), f64::from(at % 7))).collect();
        let panel = Panel::new("", Axis::new("time, s"), Axis::new("queue, packets"))
            .with(Series::line("ap", points));
        let spots = spots_of(panel);
        assert_eq!(spots.len(), COLUMNS_MAX);
        assert_eq!(spots[1].text, "time: 100 to 199 s\nap: 0 to 6 packets");
        let ends = |spot: &Spot| (spot.x, spot.x + spot.width);
        assert!(spots.windows(2).all(|two| (ends(&two[0]).1 - two[1].x).abs() < 1e-9));
    }

    #[test]
    fn an_interval_says_whose_it_is_and_how_long() {
        let lanes = Axis::new("").names(["upload", "ping"]);
        let panel = Panel::new("", Axis::new("one-way delay, ms"), lanes)
            .with(Series::intervals("queue", [(0.0, 12.5, 0.0), (0.0, 0.0, 1.0)]))
            .with(Series::intervals("air", [(12.5, 13.0, 0.0), (0.0, 0.5, 1.0)]));
        let texts: Vec<_> = spots_of(panel).into_iter().map(|spot| spot.text).collect();
        assert_eq!(
            texts,
            [
                "upload, queue: 12.5 ms, from 0 to 12.5",
                "upload, air: 0.5 ms, from 12.5 to 13",
                "ping, air: 0.5 ms, from 0 to 0.5"
            ]
        );
    }

    #[test]
    fn a_name_stands_for_its_number() {
        let panel = Panel::new("", Axis::new("station").names(["a", "b"]), Axis::new("delay, ms"))
            .with(Series::bars("mean", vec![(0.0, 7.0), (1.0, 0.123_45)]));
        let texts: Vec<_> = spots_of(panel).into_iter().map(|spot| spot.text).collect();
        assert_eq!(texts, ["station: a\nmean: 7 ms", "station: b\nmean: 0.1235 ms"]);
    }
}
