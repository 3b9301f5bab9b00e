//! HyStart: slow start ends before loss, when the acknowledgements of a round
//! come as one long train or when the round-trip time rises. As Linux' CUBIC
//! does it, which differs from the report by Ha and Rhee (2008): the train may
//! last half the smallest round-trip time and a cushion, and a delay counts from
//! the first round above it.
//!
//! Leaves out: the cushion's dependence on the pacing rate, which only matters
//! above about 2 Gb/s.

use lasthop_units::{Duration, Instant};

use super::Acknowledgement;

/// Below this window in segments it does not look (hystart_low_window).
pub(super) const WINDOW_MIN: u32 = 16;
/// Acknowledgements this close are one train (hystart_ack_delta).
pub(super) const TRAIN_GAP_MAX: Duration = Duration::from_millis(2);
/// Allowed for aggregation by offloads: four times what the largest burst takes
/// at the pacing rate, at most this (hystart_ack_delay).
const TRAIN_CUSHION: Duration = Duration::from_millis(1);
/// Round-trip times looked at before a rise is believed.
pub(super) const SAMPLES_MIN: u8 = 8;
/// A rise by an eighth of the smallest round-trip time counts, within bounds.
const RISE_DIVISOR: u64 = 8;
pub(super) const RISE_MIN: Duration = Duration::from_millis(4);
pub(super) const RISE_MAX: Duration = Duration::from_millis(16);

/// What it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    is_paced: bool,
    is_found: bool,
    round: Option<Round>,
}

/// A round: from one acknowledgement until what had been sent then is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    start: Instant,
    end: u64,
    train_last: Instant,
    round_trip_min: Duration,
    samples: u8,
}

impl State {
    pub(super) fn new(is_paced: bool) -> Self {
        Self { is_paced, is_found: false, round: None }
    }

    /// Takes the round-trip time of an acknowledgement in slow start. Returns
    /// whether slow start ends now. `delay_min`: smallest round-trip time that
    /// the control has seen.
    pub(super) fn is_exit(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
        round_trip: Duration,
        delay_min: Duration,
        window_size: u32,
    ) -> bool {
        if self.is_found || window_size < WINDOW_MIN {
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
