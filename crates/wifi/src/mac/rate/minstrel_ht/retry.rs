//! Tries of a stage of the retry chain: as many as fit into a fixed time, contention included, so
//! that slow rates give up sooner.

use super::statistics::fraction;
use super::table::{RateIndex, Table};

/// Microseconds that one stage may take.
const SEGMENT_US: u32 = 6_000;
const TRIES_MIN: u8 = 2;
const TRIES_MAX: u8 = 7;
const SLOT_US: u32 = 9;
const CW_MIN_SLOTS: u32 = 15;
const CW_MAX_SLOTS: u32 = 1_023;
/// Success probability below which a rate has the least tries.
const PROBABILITY_MIN: u32 = fraction(20, 100);

/// Tries for A-MPDUs of `mpdus` at this rate, succeeding with `probability` (1/4096).
pub(super) fn tries(table: &Table, rate: RateIndex, probability: u32, mpdus: u32) -> u8 {
    if probability < PROBABILITY_MIN {
        return TRIES_MIN;
    }
    let data_us = u64::from(table.duration_ns(rate)) * u64::from(mpdus) / 1_000;
    let on_air_us = table.group_of(rate).overhead_us() + data_us as u32;
    let mut contention_window = CW_MIN_SLOTS;
    let mut total_us = 0;
    for tries in 0..TRIES_MAX {
        total_us += SLOT_US * contention_window / 2 + on_air_us;
        contention_window = (2 * contention_window + 1).min(CW_MAX_SLOTS);
        if tries >= TRIES_MIN && total_us >= SEGMENT_US {
            return tries;
        }
    }
    TRIES_MAX
}
