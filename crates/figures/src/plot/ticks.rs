//! Numbers at an axis, in steps of 1, 2, 2.5 or 5 times a power of ten, with at most
//! six decimals. All values are in the unit of the axis, and the axis is linear: leaves
//! out logarithmic ones.

/// An axis with its ends and numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// The start of the axis.
    pub from: f64,
    /// The end of the axis; below `from` if the axis is reversed.
    pub to: f64,
    /// The values that have a number, in ascending order.
    pub ticks: Vec<f64>,
    decimals: usize,
}

impl Scale {
    /// Returns an axis from `from`, or a step below, to at least `to`, with about
    /// `count` steps.
    pub fn covering(from: f64, to: f64, count: usize) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        let step = step_at_least((to - from) / count as f64 * 0.999);
        let first = (from / step).floor();
        let last = (to / step - 1e-9).ceil().max(first + 1.0);
        let ticks = (0..=(last - first) as usize).map(|n| (first + n as f64) * step).collect();
        Self::new(first * step, last * step, ticks, step)
    }

    /// Returns an axis with these ends, with numbers between them in about `count`
    /// steps.
    pub fn between(from: f64, to: f64, count: usize) -> Self {
        let step = step_at_least((to - from) / count as f64 * 0.999);
        let first = (from / step - 1e-9).ceil();
        let last = (to / step + 1e-9).floor().max(first);
        let ticks = (0..=(last - first) as usize).map(|n| (first + n as f64) * step).collect();
        Self::new(from, to, ticks, step)
    }

    /// Returns an axis from zero to at least `to` with exactly `count` steps, so that
    /// its numbers are at the grid lines of another axis.
    pub fn in_steps(to: f64, count: usize) -> Self {
        let step = step_at_least(to.max(1e-9) / count as f64 * (1.0 - 1e-9));
        let ticks = (0..=count).map(|n| n as f64 * step).collect();
        Self::new(0.0, step * count as f64, ticks, step)
    }

    fn new(from: f64, to: f64, ticks: Vec<f64>, step: f64) -> Self {
        let has = |decimals: usize| {
            let scaled = step * 10f64.powi(decimals as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        };
        let decimals = (0..6).find(|&decimals| has(decimals)).unwrap_or(6);
        Self { from, to, ticks, decimals }
    }

    /// Whether `value` is between the ends.
    pub fn reaches(&self, value: f64) -> bool {
        let slack = 1e-9 * (self.to - self.from).abs();
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        value >= low - slack && value <= high + slack
    }

    /// The position of `value` from 0 to 1; values beyond an end are at that end.
    pub fn place(&self, value: f64) -> f64 {
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// The text of a number at the axis.
    pub fn text(&self, tick: f64) -> String {
        let text = format!("{tick:.*}", self.decimals);
        match text.strip_prefix('-') {
            Some(rest) if rest.bytes().all(|byte| matches!(byte, b'0' | b'.')) => rest.to_owned(),
            Some(rest) => format!("\u{2212}{rest}"),
            None => text,
        }
    }
}

fn step_at_least(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * power >= least);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<String> {
        scale.ticks.iter().map(|&tick| scale.text(tick)).collect()
    }

    #[test]
    fn numbers_are_round_and_reach_beyond_the_data() {
        assert_eq!(texts(&Scale::covering(0.0, 174.0, 5)), ["0", "50", "100", "150", "200"]);
        assert_eq!(
            texts(&Scale::covering(0.0, 0.9, 5)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(texts(&Scale::covering(0.0, 0.0, 5)).len(), 6);
        assert_eq!(texts(&Scale::covering(-3.0, 7.0, 5))[0], "\u{2212}4");
    }

    #[test]
    fn given_ends_are_kept() {
        let scale = Scale::between(1.0, 301.0, 6);
        assert_eq!((scale.from, scale.to), (1.0, 301.0));
        assert_eq!(texts(&scale), ["50", "100", "150", "200", "250", "300"]);
    }

    #[test]
    fn a_second_axis_has_as_many_numbers() {
        let scale = Scale::in_steps(970.0, 4);
        assert_eq!(texts(&scale), ["0", "250", "500", "750", "1000"]);
    }

    #[test]
    fn places_stay_inside() {
        let scale = Scale::covering(0.0, 10.0, 5);
        assert_eq!([-1.0, 0.0, 5.0, 10.0, 99.0].map(|x| scale.place(x)), [0.0, 0.0, 0.5, 1.0, 1.0]);
    }
}
