//! The unit of a queue's limit, packets or bytes, from the capacities measured with two packet
//! lengths. Lengths are in bytes of IP packets, capacities in packets. Leaves out limits on time.

use super::discipline::{CONFIDENCE_MAX, CONFIDENCE_MIN};
use super::statistics::{deviation, mean};
use crate::report::{Judgement, Unit};

/// Capacities that sessions with one packet length measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacities<'a> {
    /// Length of the packets in bytes.
    pub packet_bytes: u16,
    /// Capacity in packets, of each session.
    pub packets: &'a [f64],
}

/// The unit of the limit, from the capacities with two packet lengths. `None` if one length has no
/// capacities.
pub fn limit_unit(first: Capacities<'_>, second: Capacities<'_>) -> Option<Judgement<Unit>> {
    /// Error of an estimate in addition to its scatter: one packet, or a share of
    /// it.
    const ERROR_PACKETS: f64 = 1.0;
    const ERROR: f64 = 0.03;
    /// Largest error on the scale from packets (0) to bytes (1).
    const NEAR: f64 = 0.25;
    let of = |values: &[f64]| {
        let mean = mean(values).filter(|&mean| mean > 0.0)?;
        let scatter = deviation(values) / libm::sqrt(values.len() as f64);
        let error = scatter.max(ERROR_PACKETS).max(ERROR * mean) / mean;
        Some((libm::log(mean), error * error))
    };
    let (low, low_variance) = of(first.packets)?;
    let (high, high_variance) = of(second.packets)?;
    let whole = libm::log(f64::from(first.packet_bytes) / f64::from(second.packet_bytes));
    if whole == 0.0 {
        return None;
    }
    // 0 if both hold as many packets, 1 if both hold as many bytes.
    let place = (high - low) / whole;
    let error = libm::sqrt(low_variance + high_variance) / libm::fabs(whole);
    let (verdict, distance) =
        if place < 0.5 { (Unit::Packets, place) } else { (Unit::Bytes, place - 1.0) };
    // The probability of this side of the middle.
    let sure = normal_below((0.5 - libm::fabs(distance)) / error).min(CONFIDENCE_MAX);
    if libm::fabs(distance) > NEAR.max(2.0 * error) || sure < CONFIDENCE_MIN {
        return Some(Judgement { verdict: Unit::CannotTell, confidence: sure });
    }
    Some(Judgement { verdict, confidence: sure })
}

/// The cumulative distribution function of the normal distribution.
fn normal_below(value: f64) -> f64 {
    0.5 * libm::erfc(-value / core::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(long: &[f64], short: &[f64]) -> Option<Judgement<Unit>> {
        let first = Capacities { packet_bytes: 1_500, packets: long };
        limit_unit(first, Capacities { packet_bytes: 750, packets: short })
    }

    fn verdict(long: &[f64], short: &[f64]) -> Unit {
        judged(long, short).unwrap().verdict
    }

    #[test]
    fn packets_and_bytes_are_told_by_two_lengths() {
        // Table II of the paper: packets, with a few percent between lengths.
        for (long, short) in [(65.0, 67.1), (245.2, 231.2), (337.5, 336.9), (39.2, 37.3)] {
            assert_eq!(verdict(&[long], &[short]), Unit::Packets);
            assert_eq!(verdict(&[long], &[2.0 * short]), Unit::Bytes);
        }
        // 64 KiB.
        assert_eq!(verdict(&[43.0; 3], &[87.0; 3]), Unit::Bytes);
    }

    #[test]
    fn what_is_between_or_scatters_is_not_told() {
        assert_eq!(verdict(&[100.0; 3], &[145.0; 3]), Unit::CannotTell);
        assert_eq!(verdict(&[100.0; 3], &[300.0; 3]), Unit::CannotTell);
        assert_eq!(verdict(&[100.0, 20.0, 260.0], &[150.0, 30.0, 300.0]), Unit::CannotTell);
        // One packet more or less is everything.
        assert_eq!(verdict(&[2.0], &[3.0]), Unit::CannotTell);
        assert_eq!(judged(&[], &[1.0]), None);
    }
}
