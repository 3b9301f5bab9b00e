//! HyStart: ends slow start before a loss, when the acknowledgements of a round come as one long
//! train or when the round-trip time rises. The rules are those of Linux' CUBIC, which differ from
//! the report by Ha and Rhee (2008): a train may last half of the sum of the smallest round-trip
//! time and a cushion (paced: all of it), and a rise of the delay counts from the first round in
//! which it shows. Windows are in segments.
//!
//! Left out: the dependence of the cushion on the pacing rate, which matters only above about 2
//! Gb/s.

use lasthop_units::{Duration, Instant};

use super::Acknowledgement;

/// Smallest window in segments at which slow start may end (hystart_low_window).
pub(super) const WINDOW_MIN: u32 = 16;
/// Longest gap between two acknowledgements of one train (hystart_ack_delta).
pub(super) const TRAIN_GAP_MAX: Duration = Duration::from_millis(2);
/// Addition to the limit of a train, which allows for aggregation by offloads: four times the
/// duration of the largest burst at the pacing rate, at most this (hystart_ack_delay).
const TRAIN_CUSHION: Duration = Duration::from_millis(1);
/// Samples of the round-trip time per round before a rise counts.
pub(super) const SAMPLES_MIN: u8 = 8;
/// Divisor of the smallest round-trip time that yields the least rise, within the two bounds.
const RISE_DIVISOR: u64 = 8;
pub(super) const RISE_MIN: Duration = Duration::from_millis(4);
pub(super) const RISE_MAX: Duration = Duration::from_millis(16);

/// The state of HyStart for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HystartState {
    is_paced: bool,
    is_found: bool,
    round: Option<Round>,
}

/// A round: from one acknowledgement until all data sent before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    start: Instant,
    end: u64,
    train_last: Instant,
    round_trip_min: Duration,
    samples: u8,
}

impl HystartState {
    pub(super) fn new(is_paced: bool) -> Self {
        Self { is_paced, is_found: false, round: None }
    }

    /// Handles the round-trip time of an acknowledgement in slow start. Returns whether slow start
    /// ends now. `delay_min` is the smallest round-trip time that the congestion control has
    /// measured; `window_size` is in segments.
    pub(super) fn is_exit(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
        round_trip: Duration,
        delay_min: Duration,
        window_size: u32,
    ) -> bool {
        if self.is_found {
            return false;
        }
        let round = match &mut self.round {
            Some(round) if ack.acknowledged <= round.end => round,
            ended => ended.insert(Round {
                start: now,
                end: ack.next,
                train_last: now,
                round_trip_min: Duration::MAX,
                samples: 0,
            }),
        };

        // A round begins in smaller windows, too; its train is looked at from here on.
        if window_size < WINDOW_MIN {
            return false;
        }

        if now - round.train_last <= TRAIN_GAP_MAX {
            round.train_last = now;
            // Pacing alone stretches a train to half a round trip.
            let share = if self.is_paced { 1 } else { 2 };
            self.is_found |= now - round.start > (delay_min + TRAIN_CUSHION) / share;
        }

        round.round_trip_min = round.round_trip_min.min(round_trip);
        if round.samples < SAMPLES_MIN {
            round.samples += 1;
        } else {
            let rise = (delay_min / RISE_DIVISOR).clamp(RISE_MIN, RISE_MAX);
            self.is_found |= round.round_trip_min > delay_min + rise;
        }
        self.is_found
    }
}
