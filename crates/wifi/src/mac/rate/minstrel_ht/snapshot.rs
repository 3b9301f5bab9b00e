//! What Minstrel-HT knows and chose, as Linux prints it (`rc_stats`, `rc_stats_csv` in
//! debugfs): for those who look at it or hold it against the kernel's.

use super::statistics::ONE;
use super::{BEST_RATES, MinstrelHt};
use crate::phy::Rate;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Minstrel-HT's statistics and choice, as of the end of the last window.
#[derive(Clone, Debug, PartialEq)]
pub struct MinstrelStatistics {
    /// All rates, in the order of Linux' groups.
    pub rates: Vec<MinstrelRate>,
    /// The rates of highest throughput, best first: Linux' A, B, C, D.
    pub best: [Rate; BEST_RATES],
    /// The rate that gets through when those fail: Linux' P.
    pub robust: Rate,
    /// Mean number of MPDUs in an A-MPDU, a multiple of 1/4096.
    pub mean_mpdus: f64,
}

/// What is known of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinstrelRate {
    /// The rate.
    pub rate: Rate,
    /// Air time of the data of a packet of 1 200 bytes.
    pub airtime: Duration,
    /// Filtered success probability, a multiple of 1/4096; 0 if nothing is known.
    pub probability: f64,
    /// Packets a second that it promises, in tens; 0 below a probability of 10 %.
    pub throughput_pps: u32,
    /// Transmissions that a stage of the retry chain has at this rate.
    pub tries: u8,
    /// MPDUs sent in the last window, and
    pub last_attempts: u32,
    /// acknowledged.
    pub last_successes: u32,
    /// MPDUs sent in all windows, and
    pub attempts: u64,
    /// acknowledged.
    pub successes: u64,
}

impl MinstrelHt {
    pub(in super::super) fn statistics(&self) -> MinstrelStatistics {
        let rates = (0..).zip(&self.table.entries).zip(&self.statistics).map(
            |((index, entry), statistics)| MinstrelRate {
                rate: entry.rate,
                airtime: entry.duration,
                probability: f64::from(statistics.probability) / f64::from(ONE),
                throughput_pps: 10 * self.throughput(index),
                tries: self.tries(index),
                last_attempts: statistics.last.0,
                last_successes: statistics.last.1,
                attempts: statistics.total.0,
                successes: statistics.total.1,
            },
        );
        MinstrelStatistics {
            rates: rates.collect(),
            best: self.best.map(|index| self.table.entry(index).rate),
            robust: self.table.entry(self.robust).rate,
            mean_mpdus: f64::from(self.mean_mpdus) / f64::from(ONE),
        }
    }
}
