//! Times between reports while datagrams are in flight, in microseconds. The data in flight must last
//! until the next report. On Wi-Fi each report waits for the channel, and so do the datagrams
//! before it. Leaves out the limit of data in flight, which is in `pace`.

use super::PathReport;
use lasthop_units::Instant;

/// RFC 6298, section 2: the weight of a measurement in the smoothed value (alpha), that of its deviation
/// (beta), and the deviations (K) within which the next measurement is.
pub(super) const SMOOTHING: f64 = 0.125;
const DEVIATION_SMOOTHING: f64 = 2.0 * SMOOTHING;
pub(super) const DEVIATIONS: f64 = 4.0;

/// The usual time between reports, and its variation (as RFC 6298, section 2, for round trips).
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Gaps {
    /// The last report: its arrival, the number of its datagram, and when that was sent.
    last: Option<(Instant, u32, Instant)>,
    smoothed_us: f64,
    deviation_us: f64,
}

impl Gaps {
    /// Handles a report. Its time since the last one counts if its datagram was in flight for all of
    /// it, less the mean time between datagrams: a datagram that is sent late is reported late.
    pub fn hear(&mut self, now: Instant, heard: &PathReport) {
        let Some((before, number, sent_at)) = self.last.replace((now, heard.number, heard.sent_at))
        else {
            return;
        };
        let count = heard.number.saturating_sub(number);
        if heard.sent_at > before || count == 0 {
            return;
        }
        let apart = heard.sent_at.saturating_since(sent_at) / u64::from(count);
        let gap_us = now.saturating_since(before).saturating_sub(apart).as_micros_f64();
        let off_us = gap_us - self.smoothed_us;
        self.smoothed_us += SMOOTHING * off_us;
        self.deviation_us += DEVIATION_SMOOTHING * (off_us.abs() - self.deviation_us);
    }

    /// The longest usual time.
    pub fn longest_us(&self) -> f64 {
        self.smoothed_us + DEVIATIONS * self.deviation_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Duration;

    fn report(number: u32, sent_ms: u64) -> PathReport {
        PathReport {
            sent_at: ms(sent_ms),
            heard_at_us: 0,
            bytes: 1_000,
            bytes_up_to: 0,
            number,
            received: number,
            free_at: Instant::ZERO,
            round_trip: Duration::ZERO,
            round_trip_min: Duration::ZERO,
        }
    }

    fn ms(milliseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(milliseconds)
    }

    #[test]
    fn only_what_reports_wait_for_is_a_gap() {
        // A report of forty datagrams each 200 ms; the last one was sent 5 ms before the last report.
        let mut busy = Gaps::default();
        (2..100).for_each(|at| busy.hear(ms(at * 200), &report(at as u32 * 40, at * 200 - 205)));
        assert!((busy.longest_us() - 195_000.0).abs() < 1_000.0, "{}", busy.longest_us());
        // An idle second is none.
        let usual_us = busy.longest_us();
        busy.hear(ms(30_000), &report(4_001, 29_900));
        assert_eq!(busy.longest_us(), usual_us);
        // Nor are datagrams each 200 ms, in a queue of two seconds.
        let mut sparse = Gaps::default();
        (1..100).for_each(|at| sparse.hear(ms(at * 200 + 2_000), &report(at as u32, at * 200)));
        assert!(sparse.longest_us() < 1.0, "{}", sparse.longest_us());
    }
}
