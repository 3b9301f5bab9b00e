//! DCTCP ([RFC 8257](https://www.rfc-editor.org/rfc/rfc8257)) with the arithmetic of Linux' tcp_dctcp.c:
//! Reno's growth, and after marks a reduction in proportion to the share of marked packets, α, a mean
//! over round trips. Losses halve the window. Marks come by accurate feedback (RFC 9768), so that the
//! receiver's own rules for echoes (RFC 8257, 3.2) are left out. α is in 1024ths, windows in segments.

use lasthop_units::Instant;

use super::new_reno::THRESHOLD_MIN;
use super::{Acknowledgement, Control, DeliveryReport, NewReno, Window};

/// α of 1, also that of a new connection (dctcp_alpha_on_init).
const ALPHA_MAX: u32 = 1024;
/// log2 of 1/g, the weight of a round trip in α (RFC 8257, 4.1: g = 1/16).
const GAIN_SHIFT: u32 = 4;

/// The state of DCTCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dctcp {
    alpha: u32,
    /// Position whose acknowledgement ends the round trip, and packets delivered in it.
    round_end: u64,
    delivered: u32,
    marked: u32,
}

impl Dctcp {
    /// Returns the state of a new connection.
    pub const fn new() -> Self {
        Self { alpha: ALPHA_MAX, round_end: 0, delivered: 0, marked: 0 }
    }
}

impl Default for Dctcp {
    fn default() -> Self {
        Self::new()
    }
}

impl Control for Dctcp {
    fn handle_acknowledgement(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window) {
        NewReno.handle_acknowledgement(now, ack, window);
    }

    /// Half of the share α of the window is given up (RFC 8257, 3.3).
    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        let reduction = (u64::from(window.size) * u64::from(self.alpha)) >> 11;
        (window.size - reduction as u32).max(THRESHOLD_MIN)
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn handle_delivered(&mut self, report: &DeliveryReport) {
        self.delivered += report.packets;
        self.marked += report.marked;
        if report.acknowledged < self.round_end {
            return;
        }
        // A share below one 1024th of the weight still falls.
        self.alpha -= (self.alpha >> GAIN_SHIFT).max(u32::from(self.alpha > 0));
        if self.marked > 0 {
            let share = (self.marked << (10 - GAIN_SHIFT)) / self.delivered.max(1);
            self.alpha = (self.alpha + share).min(ALPHA_MAX);
        }
        (self.round_end, self.delivered, self.marked) = (report.next, 0, 0);
    }

    fn handle_lost(&mut self, window: &mut Window) {
        window.threshold = (window.size / 2).max(THRESHOLD_MIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8257, 3.3, step by step: α ← (1 - g) α + g F with g = 1/16, and W ← W (1 - α/2).
    #[test]
    fn alpha_is_the_mean_share_of_marks() {
        let mut control = Dctcp::new();
        let window = Window { size: 100, fraction: 0, threshold: 50 };
        assert_eq!(control.threshold_after_loss(Instant::ZERO, &window), 50);
        let mut mean = 1.0_f64;
        for round in 1..200_u64 {
            let marked = if round < 100 { 25 } else { 0 };
            let (acknowledged, next) = (1_000 * round, 1_000 * (round + 1));
            control.handle_delivered(&DeliveryReport { packets: 100, marked, acknowledged, next });
            let share = f64::from(marked) / 100.0;
            mean = mean * 15.0 / 16.0 + share / 16.0;
            // Rounding down by at most one of each term, summed over 16 round trips.
            let alpha = f64::from(control.alpha) / 1024.0;
            assert!((alpha - mean).abs() < 32.0 / 1024.0, "round {round}: {alpha} {mean}");
            if round == 99 {
                assert!((mean - 0.25).abs() < 0.01);
                let threshold = control.threshold_after_loss(Instant::ZERO, &window);
                assert!((87..=89).contains(&threshold), "{threshold}");
            }
        }
        assert_eq!(control.alpha, 0);
        assert_eq!(control.threshold_after_loss(Instant::ZERO, &window), 100);
        let mut window = window;
        control.handle_lost(&mut window);
        assert_eq!(window.threshold, 50);
    }
}
