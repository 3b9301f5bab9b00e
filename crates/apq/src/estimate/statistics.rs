//! Medians, quantiles, confidence intervals, a robust line, and two peaks.
//!
//! Quantiles interpolate between order statistics (Hyndman and Fan's type 7).
//! Student's t uses Hill's approximation (CACM algorithm 396, 1970), with four
//! correct digits. Values are never NaN, because they come from integers. Leaves
//! out weights and tests of significance.

use crate::report::Estimate;
use alloc::vec::Vec;

/// The 97.5 % point of the normal distribution.
const NORMAL_95: f64 = 1.959_963_985;

/// The probability that a 95 % interval leaves out, both sides together.
const OUTSIDE_95: f64 = 0.05;

/// Returns the values in ascending order.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The value below which `share` (0 to 1) of `sorted` lies; `None` if it is empty.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = (position as usize).min(last);
    let above = (below + 1).min(last);
    let (low, high) = (sorted[below], sorted[above]);
    Some(low + (high - low) * (position - below as f64))
}

/// The median of values in any order; `None` if there are none.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// The mean of the values that are closest together: those in the interval of this
/// width that holds most of them, the lowest such interval if there are several;
/// `None` if there are no values.
pub fn densest(sorted: &[f64], width: f64) -> Option<f64> {
    let within = |&first: &usize| {
        let end = sorted.partition_point(|&value| value <= sorted[first] + width);
        &sorted[first..end]
    };
    // `max_by_key` returns the last of several maxima.
    (0..sorted.len()).rev().max_by_key(|first| within(first).len()).and_then(|f| mean(within(&f)))
}

/// The mean; `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of a sample (n - 1); zero for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    if values.len() < 2 {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    libm::sqrt(squares / (values.len() - 1) as f64)
}

/// The standard deviation of the normal distribution with the same quartiles, which
/// a few outliers do not change.
pub fn deviation_of_quartiles(sorted: &[f64]) -> f64 {
    /// Distance of the quartiles of a normal distribution in standard deviations.
    const QUARTILES: f64 = 1.349;
    match (quantile(sorted, 0.25), quantile(sorted, 0.75)) {
        (Some(low), Some(high)) => (high - low) / QUARTILES,
        _ => 0.0,
    }
}

/// The mean and its 95 % confidence interval; `None` if there are no values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let mean = mean(values)?;
    let count = values.len();
    let half_width = (count >= 2)
        .then(|| student_95((count - 1) as u32) * deviation(values) / libm::sqrt(count as f64));
    Some(Estimate { mean, half_width, values: count as u32 })
}

/// The 97.5 % point of Student's t distribution with `freedom` degrees of freedom:
/// 95 % lie within it on either side. 0 counts as 1.
pub fn student_95(freedom: u32) -> f64 {
    use core::f64::consts::{FRAC_PI_2, PI};
    let n = f64::from(freedom.max(1));
    if freedom <= 1 {
        return 1.0 / libm::tan(OUTSIDE_95 * FRAC_PI_2);
    }
    if freedom == 2 {
        return libm::sqrt(2.0 / (OUTSIDE_95 * (2.0 - OUTSIDE_95)) - 2.0);
    }
    let a = 1.0 / (n - 0.5);
    let b = 48.0 / (a * a);
    let mut c = ((20_700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * libm::sqrt(a * PI / 2.0) * n;
    let mut y = libm::pow(d * OUTSIDE_95, 2.0 / n);
    if y > 0.05 + a {
        let x = -NORMAL_95;
        y = x * x;
        if freedom < 5 {
            c += 0.3 * (n - 4.5) * (x + 0.6);
        }
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        y = libm::expm1(a * y * y);
    } else {
        let tail = (n + 6.0) / (n * y) - 0.089 * d - 0.822;
        y = ((1.0 / (tail * (n + 2.0) * 3.0) + 0.5 / (n + 4.0)) * y - 1.0) * (n + 1.0) / (n + 2.0)
            + 1.0 / y;
    }
    libm::sqrt(n * y)
}

/// The slope of a line through points (x, y): the median slope of all pairs (Theil
/// and Sen), which is robust if up to a third of the points are outliers. Zero for
/// fewer than two points.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let pairs = points.iter().enumerate().flat_map(|(index, a)| {
        points[index + 1..].iter().filter(|b| b.0 != a.0).map(|b| (b.1 - a.1) / (b.0 - a.0))
    });
    median(pairs).unwrap_or(0.0)
}

/// The two peaks of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Mean of the lower part.
    pub low: f64,
    /// Mean of the upper part.
    pub high: f64,
    /// Share of the smaller part, 0 to 0.5.
    pub minority: f64,
    /// Ashman's D: the distance of the peaks relative to their widths; they are
    /// separate above 2 (Ashman, Bird and Zepf, 1994).
    pub ashman: f64,
    /// Share of the values in the middle third between the peaks.
    pub valley: f64,
}

/// Splits sorted values into two parts with the least variance within them (Otsu,
/// 1979); `None` for fewer than four values, or if all are equal.
pub fn two_peaks(sorted: &[f64]) -> Option<Peaks> {
    let count = sorted.len();
    if count < 4 || sorted[0] == sorted[count - 1] {
        return None;
    }
    // Sums of the differences from the first value, so that squares keep their
    // precision.
    let value = |index: usize| sorted[index] - sorted[0];
    let (total, squares) =
        (0..count).map(value).fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
    let (mut sum, mut best) = (0.0, (f64::MIN, 1, 0.0));
    for split in 1..count {
        sum += value(split - 1);
        let (below, above) = (split as f64, (count - split) as f64);
        let between = sum * sum / below + (total - sum) * (total - sum) / above;
        if between > best.0 {
            best = (between, split, sum);
        }
    }
    let (_, split, sum) = best;
    let low_squares: f64 = (0..split).map(|i| value(i) * value(i)).sum();
    let part = |n: usize, sum: f64, squares: f64| {
        let mean = sum / n as f64;
        (mean, (squares / n as f64 - mean * mean).max(0.0))
    };
    let (low, low_variance) = part(split, sum, low_squares);
    let (high, high_variance) = part(count - split, total - sum, squares - low_squares);
    let gap = high - low;
    let within = |v: f64| v > low + gap / 3.0 && v < high - gap / 3.0;
    let valley = (0..count).filter(|&index| within(value(index))).count();
    let width = libm::sqrt((low_variance + high_variance) / 2.0);
    Some(Peaks {
        low: sorted[0] + low,
        high: sorted[0] + high,
        minority: split.min(count - split) as f64 / count as f64,
        ashman: if width > 0.0 { gap / width } else { f64::INFINITY },
        valley: valley as f64 / count as f64,
    })
}

/// The least of the sorted gaps between packets that is a pause between aggregates, if they leave
/// in aggregates of up to 256 whose packets arrive one by one: even gaps, and pauses between that
/// nothing catches up with, as it does after those of a host that is late.
pub fn pause(distances: &[f64]) -> Option<f64> {
    /// The quantile of the gaps that is a pause.
    const PAUSES: f64 = 1.0 - 1.0 / 280.0;
    /// Shortest pause relative to the gap between packets: a contention, a preamble and a Block Ack
    /// take longer than a packet of an aggregate. A packet that is lost makes a gap of two.
    const PAUSE_MIN: f64 = 2.5;
    /// Packets of an aggregate have no backoff between: their gaps are this far from the median at
    /// most.
    const EVEN: f64 = 0.05;
    let median = quantile(distances, 0.5).filter(|&median| median > 0.0)?;
    let of_median = |part| Some(quantile(distances, part)? / median);
    let is_even = of_median(1.0 - PAUSES)? > 1.0 - EVEN && of_median(0.6)? < 1.0 + EVEN;
    (is_even && of_median(PAUSES)? > PAUSE_MIN).then_some(PAUSE_MIN * median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Seed;

    #[test]
    fn student_is_as_published() {
        // Fisher and Yates, Statistical Tables, table III: two-tailed 5 %.
        let published = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (7, 2.365),
            (8, 2.306),
            (9, 2.262),
            (10, 2.228),
            (15, 2.131),
            (20, 2.086),
            (29, 2.045),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (120, 1.980),
        ];
        for (freedom, value) in published {
            let ours = student_95(freedom);
            assert!((ours - value).abs() < 6e-4, "{freedom}: {ours} instead of {value}");
        }
    }

    #[test]
    fn quantiles_interpolate() {
        let values = sorted([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 0.25), Some(1.75));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
        assert_eq!(median([]), None);
        assert_eq!(median([7.0]), Some(7.0));
    }

    #[test]
    fn the_densest_values_are_neither_mean_nor_median() {
        let values = [20.0, 99.0, 100.0, 100.0, 101.0, 110.0, 114.0, 118.0, 122.0, 126.0];
        assert_eq!(densest(&values, 2.0), Some(100.0));
        assert_eq!(densest(&[3.0, 9.0], 1.0), Some(3.0));
        assert_eq!(densest(&[], 1.0), None);
    }

    #[test]
    fn an_interval_is_the_textbooks() {
        // Mean 5, deviation sqrt(2.5), t(4) = 2.776: 5 +- 1.963.
        let estimate = estimate(&[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!(estimate.mean, 5.0);
        assert!((estimate.half_width.unwrap() - 1.963).abs() < 1e-3);
        assert_eq!(super::estimate(&[3.0]).unwrap().half_width, None);
        assert_eq!(super::estimate(&[]), None);
    }

    #[test]
    fn a_third_of_bad_points_does_not_turn_the_line() {
        let mut points: Vec<_> =
            (0..20).map(|i| (f64::from(i), 3.0 + 0.5 * f64::from(i))).collect();
        for bad in [3, 9, 14, 19] {
            points[bad].1 += 40.0;
        }
        assert!((slope(&points) - 0.5).abs() < 0.05);
        assert_eq!(slope(&[(1.0, 2.0)]), 0.0);
        assert_eq!(slope(&[(1.0, 2.0), (1.0, 3.0)]), 0.0);
    }

    #[test]
    fn peaks_of_one_and_of_two_are_told_apart() {
        let mut stream = Seed::new(3, 0).stream("peaks");
        let one = sorted((0..5_000).map(|_| stream.normal()));
        let flat = sorted((0..5_000).map(|_| stream.uniform()));
        let two = sorted((0..5_000).map(|i| stream.normal() + if i % 4 == 0 { 12.0 } else { 0.0 }));
        // A normal distribution cut in its middle: 2 sqrt(2/pi) over sqrt(1 - 2/pi);
        // an even one: half its length over a quarter of it by sqrt 3.
        assert!((two_peaks(&one).unwrap().ashman - 2.647).abs() < 0.1);
        assert!((two_peaks(&flat).unwrap().ashman - 3.464).abs() < 0.1);
        let peaks = two_peaks(&two).unwrap();
        assert!((peaks.ashman - 12.0).abs() < 0.5);
        assert!((peaks.minority - 0.25).abs() < 0.01);
        assert!(peaks.valley < 0.001 && (peaks.high - peaks.low - 12.0).abs() < 0.1);
        assert_eq!(two_peaks(&[1.0; 9]), None);
    }
}
