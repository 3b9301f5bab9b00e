//! Times between reports while datagrams are in flight, in microseconds: what is in flight must last
//! until the next report. On Wi-Fi each report waits for the channel, and so do the datagrams
//! before it. Leaves out what is in flight.

use lasthop_units::Instant;

/// The usual time between reports, and its variation (as RFC 6298, section 2, for round trips).
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Gaps {
    heard_at: Option<Instant>,
    smoothed_us: f64,
    deviation_us: f64,
}

impl Gaps {
    /// A report arrives of a datagram that was sent at `sent_at`. Only a time in which that was in
    /// flight counts: before, nothing may have been sent.
    pub fn hear(&mut self, now: Instant, sent_at: Instant) {
        let Some(before) = self.heard_at.replace(now).filter(|&before| sent_at <= before) else {
            return;
        };
        let off_us = now.saturating_since(before).as_micros_f64() - self.smoothed_us;
        self.smoothed_us += off_us / 8.0;
        self.deviation_us += (off_us.abs() - self.deviation_us) / 4.0;
    }

    /// The longest usual time.
    pub fn longest_us(&self) -> f64 {
        self.smoothed_us + 4.0 * self.deviation_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Duration;

    fn ms(milliseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(milliseconds)
    }

    #[test]
    fn silence_of_the_sender_is_no_gap() {
        let mut gaps = Gaps::default();
        // Reports each 10 ms, of datagrams sent 20 ms before; then an idle second.
        for at in (20..1_000).step_by(10) {
            gaps.hear(ms(at), ms(at - 20));
        }
        let usual_us = gaps.longest_us();
        assert!((usual_us - 10_000.0).abs() < 100.0, "{usual_us}");
        gaps.hear(ms(2_000), ms(1_980));
        assert_eq!(gaps.longest_us(), usual_us);
        // The same second, with a datagram in flight.
        gaps.hear(ms(3_000), ms(1_990));
        assert!(gaps.longest_us() > 500_000.0);
    }
}
