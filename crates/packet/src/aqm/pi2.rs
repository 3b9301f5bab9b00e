//! PI2, the control law of DualPI2 ([RFC 9332](https://www.rfc-editor.org/rfc/rfc9332), section 2
//! and appendix A), with the arithmetic of Linux' `dualpi2`.
//!
//! A proportional-integral controller computes a base probability p' from the delay of the queue at
//! regular instants. Classic packets are dropped (or marked) with probability p'^2, scalable (L4S)
//! packets are marked with k p'. Probabilities are in units of 2^-32, gains in 256ths of a hertz.
//! Left out: the queues, the clock, and the step threshold of the L4S queue.

use lasthop_units::Duration;

/// Fractions of a hertz in the units of the gains.
const GAIN_UNITS: u64 = 256;

/// The internal gains are rounded to probabilities in 64 ns.
const ROUNDING_NS: u64 = 64;

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// The parameters of PI2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pi2Parameters {
    /// Delay that the controller keeps (RFC 9332: 15 ms).
    pub target: Duration,
    /// Integral gain in 256ths of a hertz (0.16 Hz: 41).
    pub alpha: u32,
    /// Proportional gain in 256ths of a hertz (3.2 Hz: 819).
    pub beta: u32,
    /// Coupling factor k: marks of scalable packets for each unit of p' (2).
    pub coupling: u8,
    /// Whether packets are dropped with p'^2 once k p' exceeds 1. Otherwise p' stays below 1/k, and
    /// scalable packets are never dropped by it.
    pub drop_overload: bool,
}

/// Treatment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The packet passes unchanged.
    None,
    /// The packet is marked.
    Mark,
    /// The packet is dropped.
    Drop,
}

/// The state of the controller.
///
/// A standing delay of 30 ms raises p' by 0.16 Hz * 15 ms at every update, and by 3.2 Hz * 30 ms at
/// the first one:
///
/// ```
/// use lasthop_packet::aqm::{Pi2, Pi2Parameters};
/// use lasthop_units::Duration;
///
/// let target = Duration::from_millis(15);
/// let parameters =
///     Pi2Parameters { target, alpha: 41, beta: 819, coupling: 2, drop_overload: true };
/// let mut control = Pi2::default();
/// for _ in 0..10 {
///     control.update(Duration::from_millis(30), &parameters);
/// }
/// assert!((control.probability() - (0.0024 * 10.0 + 0.096)).abs() < 1e-4);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pi2 {
    /// p' in units of 2^-32.
    base: u32,
    last_delay_ns: u64,
}

impl Pi2 {
    /// The base probability p', 0 to 1.
    pub fn probability(&self) -> f64 {
        f64::from(self.base) / f64::from(u32::MAX)
    }

    /// Whether updates without a delay change nothing.
    pub const fn is_at_rest(&self) -> bool {
        self.base == 0 && self.last_delay_ns == 0
    }

    /// Updates p' from the longer delay of both queues (RFC 9332, figure 6).
    pub fn update(&mut self, delay: Duration, parameters: &Pi2Parameters) {
        let gain = |value: u32| {
            let per_second = u64::from(value) * u64::from(u32::MAX) / (GAIN_UNITS / ROUNDING_NS);
            i128::from(per_second / SECOND_NS)
        };
        let now_ns = i128::from(delay.as_nanos());
        let error = now_ns - i128::from(parameters.target.as_nanos());
        let growth = now_ns - i128::from(self.last_delay_ns);
        self.last_delay_ns = delay.as_nanos();
        // Rounded towards zero.
        let change = (error * gain(parameters.alpha) + growth * gain(parameters.beta))
            / i128::from(ROUNDING_NS);
        let max = match parameters {
            Pi2Parameters { drop_overload: false, coupling, .. } => {
                u32::MAX / u32::from(*coupling).max(1)
            }
            _ => u32::MAX,
        };
        self.base = (i128::from(self.base) + change).clamp(0, i128::from(max)) as u32;
    }

    /// Decides about a classic packet: p'^2 by two draws. `draw` returns 32 random bits.
    pub fn decide_classic(
        &self,
        is_capable: bool,
        parameters: &Pi2Parameters,
        draw: impl FnMut() -> u32,
    ) -> Signal {
        if !self.squared(draw) {
            Signal::None
        } else if self.is_overloaded(parameters) || !is_capable {
            Signal::Drop
        } else {
            Signal::Mark
        }
    }

    /// Decides about a scalable packet, which is ECN-capable: k p', or drops with p'^2 and marks
    /// otherwise once that exceeds 1.
    pub fn decide_scalable(
        &self,
        parameters: &Pi2Parameters,
        mut draw: impl FnMut() -> u32,
    ) -> Signal {
        if self.is_overloaded(parameters) {
            let drops = parameters.drop_overload && self.squared(draw);
            return if drops { Signal::Drop } else { Signal::Mark };
        }
        if u64::from(draw()) <= self.coupled(parameters) { Signal::Mark } else { Signal::None }
    }

    fn squared(&self, mut draw: impl FnMut() -> u32) -> bool {
        draw() <= self.base && draw() <= self.base
    }

    fn coupled(&self, parameters: &Pi2Parameters) -> u64 {
        u64::from(self.base) * u64::from(parameters.coupling)
    }

    fn is_overloaded(&self, parameters: &Pi2Parameters) -> bool {
        self.coupled(parameters) > u64::from(u32::MAX)
    }
}
