//! Numbers as text.

/// A number with about three significant digits, whole ones with all of theirs; a dash
/// if it is not finite.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "\u{2013}".to_owned();
    }
    let bounds: &[f64] = if value.fract() == 0.0 { &[] } else { &[99.95, 9.995, 0.9995] };
    lasthop_figures::text::number(value, bounds).replacen('-', "\u{2212}", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let all = [136.0, 135.234, 57.12, 1.834, 0.0123, -2.5, f64::NAN];
        assert_eq!(
            all.map(number),
            ["136", "135", "57.1", "1.83", "0.012", "\u{2212}2.50", "\u{2013}"]
        );
    }
}
