//! Lower bound of a share, from a sample: the lower end of Wilson's score interval (E. B. Wilson,
//! 1927, "Probable inference, the law of succession, and statistical inference"), with three
//! standard deviations. A few cases bound a share loosely, thousands closely, so that no least
//! number of cases is necessary.

/// Number of standard deviations: one in 740 shares is below the bound.
const DEVIATIONS: f64 = 3.0;

/// Returns the least share behind an observed share in this number of independent cases.
pub fn least(share: f64, cases: u64) -> f64 {
    let cases = cases as f64;
    if cases == 0.0 {
        return 0.0;
    }
    let square = DEVIATIONS * DEVIATIONS / cases;
    let share = share.clamp(0.0, 1.0);
    let around = DEVIATIONS * (share * (1.0 - share) / cases + square / 4.0 / cases).sqrt();
    ((share + square / 2.0 - around) / (1.0 + square)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wilson's definition: the observed share is three standard deviations of the bound above the
    /// bound.
    #[test]
    fn the_bound_is_wilsons() {
        for (hits, cases) in [(9u32, 10u32), (218, 242), (1, 1), (500, 1_000), (3, 80)] {
            let share = f64::from(hits) / f64::from(cases);
            let bound = least(share, u64::from(cases));
            let deviation = (bound * (1.0 - bound) / f64::from(cases)).sqrt();
            assert!((share - bound - 3.0 * deviation).abs() < 1e-9, "{hits} of {cases}: {bound}");
        }
        assert_eq!((least(0.5, 0), least(0.0, 100)), (0.0, 0.0));
    }
}
