//! The kernel versions whose rules an endpoint can follow, in areas that Linux changed: detection
//! of losses, probes, reduction and growth of the window, and the receiver's acknowledgements. The
//! rules are from `net/ipv4` of each version; the table in docs/kernels.md names functions and
//! commits. Left out: versions between those named.

use lasthop_units::{Duration, Instant};

/// The resolution of round-trip times in kernels before 4.13: a tick (HZ = 250, as
/// distributions build it).
const TICK: Duration = Duration::from_millis(4);

/// The kernel version whose loss detection and recovery an endpoint follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Recovery {
    /// Linux 3.2: forward acknowledgements (FACK), rate halving outside of recovery, F-RTO by RFC
    /// 4138; no probe for lost tails, no early retransmit.
    Linux32,
    /// Linux 3.13: FACK, delayed early retransmit (RFC 5827), tail loss probes,
    /// F-RTO by RFC 5682.
    Linux313,
    /// Linux 6: RACK and tail loss probes (RFC 8985).
    #[default]
    Today,
}

impl Recovery {
    /// Whether losses are found by counting sacked segments, not by time.
    pub(crate) fn counts(self) -> bool {
        self != Self::Today
    }

    /// Round-trip time of a segment sent at `sent`, in the resolution of the
    /// kernel's clock: at least one tick before 4.13.
    pub(crate) fn measure(self, now: Instant, sent: Instant) -> Duration {
        match self {
            Self::Today => now.saturating_since(sent),
            Self::Linux32 | Self::Linux313 => self.delay(now, sent).max(TICK),
        }
    }

    /// Round-trip time for congestion control, in which less than a tick counts as zero.
    pub(crate) fn delay(self, now: Instant, sent: Instant) -> Duration {
        match self {
            Self::Today => now.saturating_since(sent),
            Self::Linux32 | Self::Linux313 => TICK * ticks(now).saturating_sub(ticks(sent)),
        }
    }
}

fn ticks(at: Instant) -> u64 {
    (at - Instant::ZERO).as_nanos() / TICK.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_clocks_count_ticks() {
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        for (sent, now, ticks) in [(0, 3_999, 0), (3_999, 4_000, 1), (5_000, 21_000, 4)] {
            let delay = Recovery::Linux32.delay(at(now), at(sent));
            assert_eq!(delay, TICK * ticks);
            assert_eq!(Recovery::Linux313.measure(at(now), at(sent)), delay.max(TICK));
            let exact = Duration::from_micros(now - sent);
            assert_eq!(Recovery::Today.measure(at(now), at(sent)), exact);
        }
    }
}
