//! Numbers as documents and findings show them: rounded to the microsecond, or to some digits.

/// Converts nanoseconds to seconds, rounded down to the microsecond.
pub(crate) fn seconds(ns: u64) -> f64 {
    (ns / 1_000) as f64 / 1e6
}

/// Converts nanoseconds to milliseconds, rounded down to the microsecond.
pub(crate) fn millis(ns: u64) -> f64 {
    (ns / 1_000) as f64 / 1e3
}

/// Converts signed nanoseconds to milliseconds, to the microsecond.
pub(crate) fn millis_signed(ns: i64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}

/// Computes a share, to six digits; 0 if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { rounded(part as f64 / whole as f64, 1e6) }
}

/// Rounds a number to as many digits as `scale` has zeros.
pub(crate) fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

/// Converts bytes in a time to Mb/s.
pub(crate) fn mbps(bytes: u64, ns: u64) -> f64 {
    rounded(bytes as f64 * 8e3 / ns.max(1) as f64, 1e3)
}

/// Whether a number is left out of the document.
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}
