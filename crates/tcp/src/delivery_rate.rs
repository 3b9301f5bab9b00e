//! Samples of the delivery rate, one for each acknowledgement: the segments delivered between the
//! transmission of a segment and its acknowledgement, over the longer of the time in which they were
//! sent and the time in which they were acknowledged. The rules are those of Linux' tcp_rate.c and of
//! [draft-cheng-iccrg-delivery-rate-estimation]. Counts are in segments, times in microseconds since
//! the start of virtual time, as in Linux.
//!
//! The state of each segment is beside the scoreboard, so that controls without a model of the path
//! do without it. Left out: a sample is not discarded after the peer reneged, because receivers of
//! the model never do.
//!
//! [draft-cheng-iccrg-delivery-rate-estimation]: https://datatracker.ietf.org/doc/html/draft-cheng-iccrg-delivery-rate-estimation

use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

/// Whole microseconds since the start (tcp_mstamp).
pub(crate) fn micros(at: Instant) -> u64 {
    (at - Instant::ZERO).as_micros()
}

/// The counts at the last transmission of a segment (`tx` of tcp_skb_cb).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Snapshot {
    /// Position after the segment's last byte.
    end: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    is_application_limited: bool,
    /// Whether a sample has used the segment, which was acknowledged selectively.
    is_used: bool,
    /// Segments in flight, this one included, and losses before it.
    in_flight: u32,
    lost: u64,
    /// Whether the loss of the segment was reported.
    is_lost: bool,
}

/// A segment that was found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Positions of its first byte, unless what precedes it is acknowledged, and after its last.
    pub start: Option<u64>,
    pub end: u64,
    /// Segments in flight when it was sent, itself included.
    pub sent_in_flight: u32,
    /// Losses since it was sent, itself included.
    pub lost_since: u32,
    /// Whether the application had no data when it was sent.
    pub is_application_limited: bool,
}

/// A sample of the delivery rate (Linux' rate_sample).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RateSample {
    /// Segments delivered in the interval; `None` without a newly delivered segment.
    pub delivered: Option<u64>,
    /// Length of the interval; `None` if it is shorter than any round trip.
    pub interval_micros: Option<u64>,
    /// Count of delivered segments at the start of the interval.
    pub prior_delivered: u64,
    /// Whether the application had no data at some instant of the interval.
    pub is_application_limited: bool,
    /// Segments newly acknowledged, in order or selectively.
    pub acknowledged: u32,
    /// Segments newly found to be lost.
    pub lost: u32,
    /// Segments in flight before the acknowledgement.
    pub prior_in_flight: u32,
    /// Segments in flight when the newest segment delivered was sent, itself included.
    pub sent_in_flight: u32,
    /// Losses since then.
    pub lost_since: u32,
    /// Round-trip time of the newest segment delivered.
    pub round_trip: Option<Duration>,
    /// Whether the acknowledgement is of a single short segment, which a receiver delays.
    pub is_delayed: bool,
}

impl RateSample {
    /// Segments and microseconds, if the sample is an observation of the path.
    pub(crate) fn observation(&self) -> Option<(u64, u64)> {
        let interval = self.interval_micros.filter(|&interval| interval > 0)?;
        Some((self.delivered?, interval))
    }
}

/// The part of a sample that newly delivered segments determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Newest {
    end: u64,
    delivered: u64,
    delivered_at: u64,
    send_micros: u64,
    is_application_limited: bool,
    in_flight: u32,
    lost: u64,
}

/// The counts of one connection, and those of its segments that are not acknowledged in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeliveryRate {
    /// Segments in the order of the stream.
    sent: VecDeque<Snapshot>,
    /// Segments delivered since the start, the SYN included.
    delivered: u64,
    /// Instant of the last delivery, or of a transmission with nothing outstanding.
    delivered_at: u64,
    /// Transmission of the newest segment that a sample used.
    first_sent: u64,
    /// Count of delivered segments up to which the application limits samples (app_limited).
    limited_until: Option<u64>,
    /// Losses since the start.
    lost: u64,
    /// Segments in flight before the next is sent.
    in_flight: u32,
    newest: Option<Newest>,
}

impl DeliveryRate {
    pub(crate) fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            delivered: 1,
            delivered_at: 0,
            first_sent: 0,
            limited_until: None,
            lost: 0,
            in_flight: 0,
            newest: None,
        }
    }

    /// Segments delivered since the start, the SYN included.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Instant of the last delivery.
    pub(crate) fn delivered_at(&self) -> u64 {
        self.delivered_at
    }

    /// Losses since the start, those of retransmissions included.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn set_lost(&mut self, lost: u64) {
        self.lost = lost;
    }

    /// Sets the segments in flight before the next is sent.
    pub(crate) fn set_in_flight(&mut self, in_flight: u32) {
        self.in_flight = in_flight;
    }

    /// Counts the loss of the segment that ends at `end`, unless that is known.
    pub(crate) fn find_loss(&mut self, end: u64) -> Option<Loss> {
        let index = self.sent.partition_point(|sent| sent.end < end);
        let start = index.checked_sub(1).map(|before| self.sent[before].end);
        let sent = self.sent.get_mut(index).filter(|sent| sent.end == end && !sent.is_lost)?;
        sent.is_lost = true;
        self.lost += 1;
        Some(Loss {
            start,
            end,
            sent_in_flight: sent.in_flight,
            lost_since: self.lost.saturating_sub(sent.lost) as u32,
            is_application_limited: sent.is_application_limited,
        })
    }

    /// Whether the application limits the present samples.
    pub(crate) fn is_application_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// Marks the segments in flight, and those sent before all of them are delivered, as limited by
    /// the application.
    pub(crate) fn limit(&mut self, in_flight: u32) {
        self.limited_until = Some(self.delivered + u64::from(in_flight));
    }

    /// Records the transmission of a segment that ends at `end`: a new one, or one sent before.
    /// `is_first` is whether no segment is outstanding.
    pub(crate) fn handle_sent(&mut self, now: Instant, end: u64, is_first: bool) {
        if is_first {
            self.first_sent = micros(now);
            self.delivered_at = micros(now);
        }
        let snapshot = Snapshot {
            end,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_application_limited: self.is_application_limited(),
            is_used: false,
            in_flight: self.in_flight + 1,
            lost: self.lost,
            is_lost: false,
        };
        match self.sent.back() {
            Some(last) if last.end >= end => {
                let index = self.sent.partition_point(|sent| sent.end < end);
                self.sent[index] = snapshot;
            }
            _ => self.sent.push_back(snapshot),
        }
    }

    /// Takes back the newest segment, which was not sent after all.
    pub(crate) fn take_back(&mut self) {
        self.sent.pop_back();
    }

    /// Adds a segment, last sent at `at`, to the sample of the present acknowledgement. The segment
    /// that was sent latest counts (tcp_skb_sent_after, since 5.18).
    pub(crate) fn handle_delivered(&mut self, end: u64, at: Instant) {
        let index = self.sent.partition_point(|sent| sent.end < end);
        let Some(sent) = self.sent.get_mut(index).filter(|sent| sent.end == end && !sent.is_used)
        else {
            return;
        };
        sent.is_used = true;
        let is_later = |newest: Newest| (micros(at), end) > (self.first_sent, newest.end);
        if self.newest.is_none_or(is_later) {
            self.newest = Some(Newest {
                end,
                delivered: sent.delivered,
                delivered_at: sent.delivered_at,
                send_micros: micros(at).saturating_sub(sent.first_sent),
                is_application_limited: sent.is_application_limited,
                in_flight: sent.in_flight,
                lost: sent.lost,
            });
            self.first_sent = micros(at);
        }
    }

    /// Forgets segments that end by `acknowledged`.
    pub(crate) fn handle_acknowledged(&mut self, acknowledged: u64) {
        while self.sent.front().is_some_and(|sent| sent.end <= acknowledged) {
            self.sent.pop_front();
        }
    }

    /// Counts `acknowledged` segments, delivered by the present acknowledgement.
    pub(crate) fn count_delivered(&mut self, now: Instant, acknowledged: u32) {
        self.delivered += u64::from(acknowledged);
        if self.limited_until.is_some_and(|until| self.delivered > until) {
            self.limited_until = None;
        }
        if acknowledged > 0 {
            self.delivered_at = micros(now);
        }
    }

    /// Returns the sample of an acknowledgement that delivered `acknowledged` segments, counted
    /// before, and showed that `lost` were lost. `minimum` is the least round-trip time.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        acknowledged: u32,
        lost: u32,
        minimum: Option<Duration>,
    ) -> RateSample {
        let sample = RateSample { acknowledged, lost, ..RateSample::default() };
        let Some(newest) = self.newest.take() else {
            return sample;
        };
        let acknowledgement_micros = micros(now).saturating_sub(newest.delivered_at);
        let interval = newest.send_micros.max(acknowledgement_micros);
        let is_possible = minimum.is_none_or(|minimum| interval >= minimum.as_micros());
        RateSample {
            delivered: Some(self.delivered - newest.delivered),
            interval_micros: is_possible.then_some(interval),
            prior_delivered: newest.delivered,
            is_application_limited: newest.is_application_limited,
            sent_in_flight: newest.in_flight,
            lost_since: self.lost.saturating_sub(newest.lost) as u32,
            ..sample
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    impl DeliveryRate {
        fn count_and_sample(
            &mut self,
            now: Instant,
            acknowledged: u32,
            lost: u32,
            minimum: Option<Duration>,
        ) -> RateSample {
            self.count_delivered(now, acknowledged);
            self.sample(now, acknowledged, lost, minimum)
        }
    }

    /// Ten segments, one a millisecond, each acknowledged after 20 ms: the first sample covers one
    /// segment in 20 ms, the last ten in 29 ms, because nothing was acknowledged before.
    #[test]
    fn a_sample_counts_what_is_delivered_since_the_segment_left() {
        let mut rate = DeliveryRate::new();
        for index in 0..10 {
            rate.handle_sent(at(1_000 * index), 100 * (index + 1), index == 0);
        }
        for index in 0..10 {
            rate.handle_delivered(100 * (index + 1), at(1_000 * index));
            rate.handle_acknowledged(100 * (index + 1));
            let minimum = Some(Duration::from_millis(20));
            let sample = rate.count_and_sample(at(20_000 + 1_000 * index), 1, 0, minimum);
            assert_eq!(sample.observation(), Some((index + 1, 20_000 + 1_000 * index)));
            assert_eq!(sample.prior_delivered, 1);
        }
        assert!(rate.sent.is_empty());
    }

    /// The draft, 3.2: acknowledgements that arrive at once, of segments sent over 9 ms, show the
    /// rate of transmission, not that of the burst.
    #[test]
    fn compressed_acknowledgements_do_not_raise_the_rate() {
        let mut rate = DeliveryRate::new();
        for index in 0..10 {
            rate.handle_sent(at(1_000 * index), index + 1, index == 0);
        }
        rate.handle_delivered(1, at(0));
        rate.handle_acknowledged(1);
        rate.count_and_sample(at(10_000), 1, 0, None);
        // Segments 11 to 20 leave over 9 ms, after the first acknowledgement.
        for index in 10..20 {
            rate.handle_sent(at(1_000 * index), index + 1, false);
        }
        for index in 1..20 {
            rate.handle_delivered(index + 1, at(1_000 * index));
        }
        rate.handle_acknowledged(20);
        let sample = rate.count_and_sample(at(19_500), 19, 0, None);
        // From the first segment, sent at 0 (first_sent), to the last sent at 19 000: 19 ms, longer
        // than the 9.5 ms since the first acknowledgement.
        assert_eq!(sample.observation(), Some((19, 19_000)));
    }

    /// tcp_rate_gen: an interval below the least round trip is no observation; a segment counts in
    /// one sample only; a bubble ends once it is delivered.
    #[test]
    fn impossible_intervals_and_repeated_reports_are_no_observations() {
        let mut rate = DeliveryRate::new();
        rate.limit(0);
        rate.handle_sent(at(0), 100, true);
        rate.handle_sent(at(0), 200, false);
        rate.handle_delivered(200, at(0));
        let minimum = Some(Duration::from_micros(501));
        let sample = rate.count_and_sample(at(500), 1, 0, minimum);
        assert_eq!((sample.delivered, sample.observation()), (Some(1), None));
        assert!(sample.is_application_limited && !rate.is_application_limited());
        rate.handle_delivered(200, at(0));
        assert_eq!(rate.count_and_sample(at(600), 0, 0, minimum).delivered, None);
        // Sent again at 700: its sample starts then.
        rate.handle_sent(at(700), 100, false);
        rate.handle_delivered(100, at(700));
        let sample = rate.count_and_sample(at(1_500), 1, 1, None);
        assert_eq!(sample.observation(), Some((1, 1_000)), "since the delivery at 500");
        assert!(!sample.is_application_limited);
    }
}
