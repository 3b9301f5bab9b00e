//! Statistics and choice of Minstrel-HT as Linux prints them (`rc_stats`, `rc_stats_csv` in
//! debugfs), for comparison with the kernel's.

use super::statistics::ONE;
use super::{BEST_RATES, MinstrelHt};
use crate::phy::Rate;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Minstrel-HT's statistics and choice at the end of the last window.
#[derive(Clone, Debug, PartialEq)]
pub struct MinstrelStatistics {
    /// All rates, in the order of Linux' groups.
    pub rates: Vec<MinstrelRate>,
    /// The rates of highest throughput, best first: Linux' A, B, C, D.
    pub best: [Rate; BEST_RATES],
    /// The robust rate, used when those fail (P in Linux).
    pub robust: Rate,
    /// Mean number of MPDUs in an A-MPDU, a multiple of 1/4096.
    pub mean_mpdus: f64,
}

/// Statistics of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinstrelRate {
    /// Rate that the statistics are for.
    pub rate: Rate,
    /// Air time of the data of a packet of 1 200 bytes.
    pub airtime: Duration,
    /// Filtered success probability, a multiple of 1/4096; 0 if nothing is known.
    pub probability: f64,
    /// Expected throughput in packets a second, a multiple of ten; 0 below a probability of 10 %.
    pub throughput_pps: u32,
    /// Number of transmissions at this rate in a stage of the retry chain.
    pub tries: u8,
    /// Number of MPDUs sent in the last window.
    pub last_attempts: u32,
    /// Number of MPDUs acknowledged in the last window.
    pub last_successes: u32,
    /// Number of MPDUs sent in all windows.
    pub attempts: u64,
    /// Number of MPDUs acknowledged in all windows.
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
