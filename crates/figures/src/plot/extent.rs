//! The ends of the axes of a panel, from its data, its targets and its configured ranges.

use super::ticks::Scale;
use super::{Mark, Panel, Point, Series};

/// Approximate number of steps on an axis of y.
const STEPS_Y: usize = 5;

/// The x of all bars.
pub fn bar_xs(panel: &Panel) -> Vec<f64> {
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

pub fn x_scale(panel: &Panel, steps: usize) -> Scale {
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
            Scale::between(from, to, steps)
        }
        None => {
            let (from, to) = (xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max));
            // If zero is near, the axis starts there.
            let is_far = from.is_finite() && (from > to / 4.0 || from < 0.0);
            let from = if is_far { from } else { 0.0 };
            Scale::covering(from, to, steps)
        }
    }
}

pub fn y_scale(panel: &Panel, on_right: bool) -> Scale {
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
pub fn right_scale(panel: &Panel, steps: usize) -> Option<Scale> {
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
    let targets = panel.targets.iter().filter(|target| there(target.series)).map(|t| t.y.to);
    points.chain(targets).filter(|y| y.is_finite()).fold(0.0, f64::max)
}
