//! Numbers and texts for readers: digits by size, and escapes for HTML and XML.

/// Formats a number with as many decimals as there are `bounds` above its size, so that `[999.5,
/// 99.95, 9.995]` keeps four digits from one to ten thousand.
pub fn number(value: f64, bounds: &[f64]) -> String {
    let size = value.abs();
    // A value that is not a number is below no bound, and has no decimals to write.
    let decimals = bounds.iter().filter(|bound| size < **bound).count();
    format!("{value:.decimals$}")
}

/// Escapes text for HTML and XML, also for attributes in double quotes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_bounds_above() {
        let told = |value| number(value, &[999.5, 99.95, 0.9995]);
        let values = [1e4, 999.5, -999.4, 99.95, 99.94, 0.9995, -0.9994, 0.0];
        let texts = ["10000", "1000", "-999.4", "100.0", "99.94", "1.00", "-0.999", "0.000"];
        assert_eq!(values.map(told), texts);
        assert_eq!([f64::NAN, f64::INFINITY].map(told), ["NaN", "inf"]);
    }
}
