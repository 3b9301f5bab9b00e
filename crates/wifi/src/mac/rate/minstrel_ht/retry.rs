//! How often a stage of the retry chain may try: as often as fits into a
//! fixed time, contention included, so that slow rates give up sooner.

use super::table::{RateIndex, Table};
use lasthop_units::Duration;

/// Time that one stage may take.
const SEGMENT: Duration = Duration::from_micros(6_000);
const TRIES_MIN: u8 = 2;
const TRIES_MAX: u8 = 7;
const SLOT: Duration = Duration::from_micros(9);
const CW_MIN_SLOTS: u64 = 15;
const CW_MAX_SLOTS: u64 = 1_023;
/// Rates that fail more often than this get the least tries.
const PROBABILITY_MIN: f64 = 0.2;

/// Tries for A-MPDUs of `mpdus` at this rate, succeeding with `probability`.
pub(super) fn tries(table: &Table, rate: RateIndex, probability: f64, mpdus: f64) -> u8 {
    if probability < PROBABILITY_MIN {
        return TRIES_MIN;
    }
    let on_air = table.group_of(rate).overhead() + table.duration(rate).mul_f64(mpdus);
    let mut contention_window = CW_MIN_SLOTS;
    let mut total = Duration::ZERO;
    for tries in 0..TRIES_MAX {
        total += SLOT * contention_window / 2 + on_air;
        contention_window = (2 * contention_window + 1).min(CW_MAX_SLOTS);
        if tries >= TRIES_MIN && total >= SEGMENT {
            return tries;
        }
    }
    TRIES_MAX
}
