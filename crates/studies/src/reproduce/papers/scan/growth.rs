//! The growth of a congestion window between two drops: straight (NewReno), or along a
//! cubic curve, which first flattens towards the old maximum and then grows faster
//! (CUBIC). The measure is the distance of a tooth of the saw from the straight line
//! that fits it best.

use crate::reproduce::data::{Point, mean};

/// Minimum share of the window lost at once that counts as a drop.
const DROP: f64 = 0.1;
/// Minimum number of readings of a tooth for its shape to be judged.
const READINGS_MIN: usize = 15;
/// Smallest rise of a tooth in packets for its shape to be judged.
const RISE_MIN: f64 = 30.0;
/// Distance from a straight line, as a share of the rise, that a cubic tooth has at
/// least and a straight one at most. A whole cubic tooth, from `1 - u` cubed to 1, is
/// 0.10 away.
const BEND: f64 = 0.045;

/// The shape of teeth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Cubic curves, as of CUBIC.
    Cubic,
    /// Straight lines, as of NewReno.
    Straight,
}

impl Shape {
    /// The name of the quantity.
    pub const fn question(self) -> &'static str {
        "growth of the window between drops"
    }

    /// The statement of the paper.
    pub const fn answer(self) -> &'static str {
        match self {
            Self::Cubic => "a cubic curve",
            Self::Straight => "linear",
        }
    }

    /// Whether the teeth have this shape.
    pub fn is_seen(self, teeth: &[Vec<Point>]) -> bool {
        let bends: Vec<f64> = teeth.iter().filter_map(|tooth| bend(tooth)).collect();
        let bend = mean(&bends);
        match self {
            Self::Cubic => bend > BEND,
            Self::Straight => bend < BEND,
        }
    }
}

/// The windows from each drop to the next, if `is_in` holds for all of the time.
pub fn teeth(cwnd: &[Point], is_in: impl Fn(f64) -> bool) -> Vec<Vec<Point>> {
    let mut teeth = Vec::new();
    let mut tooth: Option<Vec<Point>> = None;
    for pair in cwnd.windows(2) {
        let [(_, before), (at, after)] = [pair[0], pair[1]];
        let is_drop = after < before * (1.0 - DROP);
        if !is_in(at) {
            tooth = None;
        } else if is_drop {
            teeth.extend(tooth.replace(vec![(at, after)]));
        } else if let Some(tooth) = &mut tooth {
            tooth.push((at, after));
        }
    }
    teeth
}

/// Root mean square distance from the straight line that fits best, as a share of the
/// rise; `None` if there are too few readings or the rise is too small.
fn bend(tooth: &[Point]) -> Option<f64> {
    let (first, last) = (tooth.first()?.1, tooth.last()?.1);
    let rise = last - first;
    if tooth.len() < READINGS_MIN || rise < RISE_MIN {
        return None;
    }
    let [xs, ys]: [Vec<f64>; 2] =
        [tooth.iter().map(|p| p.0).collect(), tooth.iter().map(|p| p.1).collect()];
    let (x, y) = (mean(&xs), mean(&ys));
    let moment = |left: &[f64], left_mean: f64, right: &[f64], right_mean: f64| {
        let products = left.iter().zip(right).map(|(l, r)| (l - left_mean) * (r - right_mean));
        mean(&products.collect::<Vec<_>>())
    };
    let (xx, xy, yy) = (moment(&xs, x, &xs, x), moment(&xs, x, &ys, y), moment(&ys, y, &ys, y));
    Some((yy - xy * xy / xx).max(0.0).sqrt() / rise)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A saw of `shape` with drops from 500 to 350 every ten seconds.
    fn saw(shape: impl Fn(f64) -> f64) -> Vec<Point> {
        (0..1000)
            .map(|step| {
                let time = f64::from(step) / 10.0;
                (time, 350.0 + 150.0 * shape(time / 10.0 - (time / 10.0).floor()))
            })
            .collect()
    }

    #[test]
    fn shapes_are_told_apart() {
        let straight = teeth(&saw(|u| u), |_| true);
        let cubic = teeth(&saw(|u| 1.0 - (1.0 - u).powi(3)), |_| true);
        assert_eq!((straight.len(), cubic.len()), (8, 8));
        assert!(Shape::Straight.is_seen(&straight) && !Shape::Cubic.is_seen(&straight));
        assert!(Shape::Cubic.is_seen(&cubic) && !Shape::Straight.is_seen(&cubic));
    }

    #[test]
    fn without_teeth_nothing_is_seen() {
        let none = teeth(&[(0.0, 200.0), (1.0, 200.0)], |_| true);
        assert!(none.is_empty());
        assert!(!Shape::Straight.is_seen(&none) && !Shape::Cubic.is_seen(&none));
    }

    #[test]
    fn a_tooth_is_within_the_time_asked_for() {
        let all = teeth(&saw(|u| u), |time| time < 50.0);
        assert!(all.iter().flatten().all(|&(time, _)| time < 50.0));
        assert_eq!(all.len(), 3);
    }
}
