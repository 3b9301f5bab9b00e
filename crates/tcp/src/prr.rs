//! Proportional rate reduction ([RFC 6937](https://www.rfc-editor.org/rfc/rfc6937)): the number of
//! segments that may be sent for each acknowledgement in recovery, so that the segments in flight
//! converge to the slow start threshold. All quantities are in segments. Left out: the beginning
//! and end of recovery, which the sender decides.

/// Bound on the segments sent while fewer are in flight than the threshold permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReductionBound {
    /// The bound of Linux (and RFC 9937): slow start while the cumulative acknowledgement advances
    /// and no further loss is found, otherwise conservative.
    #[default]
    Linux,
    /// One segment more than were delivered (PRR-SSRB).
    SlowStart,
    /// As many segments as were delivered (PRR-CRB).
    Conservative,
}

/// Report of an acknowledgement in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Segments newly acknowledged, in order or selectively (DeliveredData).
    pub segments: u32,
    /// Segments in flight after it (pipe).
    pub in_flight: u32,
    /// Segments that it showed to be lost.
    pub newly_lost: u32,
    /// Whether it advanced the cumulative acknowledgement.
    pub is_advance: bool,
}

/// The reduction of one recovery.
///
/// One of 20 segments is lost, and the window is to be halved. The sender answers every other
/// acknowledgement with a segment:
///
/// ```
/// use lasthop_tcp::prr::{Delivery, ProportionalRateReduction, ReductionBound};
///
/// let mut prr = ProportionalRateReduction::new(ReductionBound::SlowStart, 20, 10);
/// let (mut in_flight, mut sent) = (19, Vec::new());
/// for _ in 0..8 {
///     in_flight -= 1;
///     let delivery = Delivery { segments: 1, in_flight, newly_lost: 0, is_advance: false };
///     let allowed = prr.handle_delivery(&delivery);
///     prr.handle_sent(allowed);
///     in_flight += allowed;
///     sent.push(allowed);
/// }
/// assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProportionalRateReduction {
    bound: ReductionBound,
    threshold: u32,
    /// Segments in flight when the loss was found (RecoverFS; Linux takes the
    /// window).
    prior: u32,
    delivered: u32,
    sent: u32,
}

impl ProportionalRateReduction {
    /// Begins a recovery. `prior` is the window, or the segments in flight, before it; `threshold`
    /// is the new slow start threshold.
    pub fn new(bound: ReductionBound, prior: u32, threshold: u32) -> Self {
        Self { bound, threshold, prior: prior.max(1), delivered: 0, sent: 0 }
    }

    /// Returns the number of segments, retransmitted or new, that may be sent for an
    /// acknowledgement. The window becomes that number plus the segments in flight.
    pub fn handle_delivery(&mut self, delivery: &Delivery) -> u32 {
        if delivery.segments == 0 {
            return 0;
        }
        self.delivered += delivery.segments;
        let allowed = if delivery.in_flight > self.threshold {
            // Proportional: sends at the rate at which segments leave the network.
            let due = u64::from(self.delivered) * u64::from(self.threshold);
            let due = due.div_ceil(u64::from(self.prior));
            u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(self.sent)
        } else {
            let owed = self.delivered.saturating_sub(self.sent);
            let limit = match self.bound {
                ReductionBound::Conservative => owed,
                ReductionBound::SlowStart => owed.max(delivery.segments) + 1,
                ReductionBound::Linux => {
                    let is_safe = delivery.is_advance && delivery.newly_lost == 0;
                    owed.max(delivery.segments) + u32::from(is_safe)
                }
            };
            limit.min(self.threshold - delivery.in_flight)
        };
        // The retransmission that begins recovery is always allowed (Linux, RFC 9937).
        if self.sent == 0 { allowed.max(1) } else { allowed }
    }

    /// Counts segments sent in recovery (prr_out).
    pub fn handle_sent(&mut self, segments: u32) {
        self.sent += segments;
    }

    /// Takes back a sent segment that the sending node's queue refused.
    pub fn handle_taken_back(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// Target of the reduction: the window when recovery ends.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate alloc;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// RFC 6937, section 4, the set-up of both figures: 20 segments in flight and a threshold
    /// of 10. Two segments leave on the first two duplicates (limited transmit) and the third
    /// begins recovery. `lost` is the number of lost segments of the 20, from the front. Returns
    /// the segments sent for each further acknowledgement, and those in flight at the end.
    fn figure(bound: ReductionBound, lost: u32) -> (Vec<u32>, u32) {
        let mut prr = ProportionalRateReduction::new(bound, 20, 10);
        // Two delivered, replaced by two new ones.
        let mut in_flight = 20 - lost;
        let mut sent = Vec::new();
        for _ in 0..20 - lost - 2 {
            in_flight -= 1;
            let delivery = Delivery { segments: 1, in_flight, newly_lost: 0, is_advance: false };
            let allowed = prr.handle_delivery(&delivery);
            prr.handle_sent(allowed);
            in_flight += allowed;
            sent.push(allowed);
        }
        (sent, in_flight)
    }

    /// Figure 1: one loss. A segment is sent for every other acknowledgement.
    #[test]
    fn one_loss_is_paid_in_equal_parts() {
        for bound in
            [ReductionBound::Linux, ReductionBound::SlowStart, ReductionBound::Conservative]
        {
            let (sent, in_flight) = figure(bound, 1);
            assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
            assert_eq!(in_flight, 10, "the threshold, exactly");
        }
    }

    /// Figure 2: 15 of 20 are lost and three acknowledgements arrive; 4 are in flight, for which
    /// RFC 6675 would send a burst of up to 7. Slow start sends two for each, the conservative
    /// bound one for each.
    #[test]
    fn a_burst_of_losses_is_not_answered_by_a_burst() {
        assert_eq!(figure(ReductionBound::SlowStart, 15), ([2, 2, 2].to_vec(), 8));
        assert_eq!(figure(ReductionBound::Conservative, 15), ([1, 1, 1].to_vec(), 5));
        assert_eq!(figure(ReductionBound::Linux, 15), ([1, 1, 1].to_vec(), 5));
    }

    #[test]
    fn linux_speeds_up_when_the_acknowledgement_advances_without_new_loss() {
        let mut prr = ProportionalRateReduction::new(ReductionBound::Linux, 20, 10);
        prr.handle_sent(prr.clone().handle_delivery(&Delivery {
            segments: 1,
            in_flight: 2,
            newly_lost: 0,
            is_advance: false,
        }));
        let base = Delivery { segments: 1, in_flight: 3, newly_lost: 0, is_advance: true };
        assert_eq!(prr.clone().handle_delivery(&base), 2);
        assert_eq!(prr.clone().handle_delivery(&Delivery { newly_lost: 1, ..base }), 1);
    }

    #[test]
    fn the_first_retransmission_does_not_wait() {
        let mut prr = ProportionalRateReduction::new(ReductionBound::Linux, 100, 1);
        let delivery = Delivery { segments: 1, in_flight: 1, newly_lost: 1, is_advance: false };
        assert_eq!(prr.handle_delivery(&delivery), 1);
    }

    proptest! {
        /// Section 3: for any application and losses, the segments in flight after an
        /// acknowledgement exceed neither their earlier number nor the threshold, except for the
        /// first retransmission.
        #[test]
        fn in_flight_converges_to_the_threshold(
            prior in 10u32..500,
            share in 1u32..=9,
            lost in prop::collection::vec(0u32..3, 1..400),
            is_eager in prop::collection::vec(any::<bool>(), 400),
        ) {
            let threshold = (prior * share / 10).max(2);
            let mut prr = ProportionalRateReduction::new(ReductionBound::SlowStart, prior, threshold);
            let mut in_flight = prior;
            for (index, lost) in lost.iter().enumerate() {
                let before = in_flight;
                if in_flight == 0 { break; }
                in_flight -= 1;
                let newly_lost = (*lost).min(in_flight);
                in_flight -= newly_lost;
                let allowed = prr.handle_delivery(&Delivery { segments: 1, in_flight, newly_lost, is_advance: false });
                let sent = if is_eager[index] || index == 0 { allowed } else { allowed.min(1) };
                prr.handle_sent(sent);
                in_flight += sent;
                prop_assert!(in_flight <= threshold.max(before) || index == 0);
            }
        }
    }
}
