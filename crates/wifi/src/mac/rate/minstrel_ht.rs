//! Minstrel-HT, the rate control of Linux' mac80211 (since 5.12; compared with 6.1 and 6.12).
//!
//! Every rate has a filtered success probability, updated every interval of 50 ms. This probability
//! and the air time of an average packet determine the four rates of highest throughput and one of
//! high probability, which form the retry chain. Up to every 20 ms a PPDU begins with one try of
//! another rate. Statistics and choice use Linux' integers: fractions of 1/4096, nanoseconds,
//! truncating divisions. For the same reports they equal the kernel's in every figure
//! (`crates/studies/tests/minstrel.rs`).
//!
//! Differences from Linux: time is not rounded to ticks; a cell reports every PPDU separately, not
//! a chain at a time; the random order of probes belongs to one pair, not to the host; entries that
//! Linux loses when it compacts sample lists are kept. Left out: RTS for later stages and the tries
//! that they lose by it, limits for A-MSDUs, spatial-multiplexing power save.

mod retry;
mod sampling;
mod snapshot;
mod statistics;
mod table;
#[cfg(test)]
mod tests;

use super::{Algorithm, Attempt, RateChain, RateSet};
use crate::phy::Rate;
use alloc::vec::Vec;
use lasthop_units::{Db, Duration, Instant, Stream};
use sampling::Sampling;
pub use snapshot::{MinstrelRate, MinstrelStatistics};
use statistics::{ONE, SCALE_BITS, Statistics, fraction};
use table::{Family, RateIndex, Table};

/// Number of rates of highest throughput that are kept.
const BEST_RATES: usize = 4;
/// Probability below which a rate has no throughput.
const PROBABILITY_MIN: u32 = fraction(10, 100);
/// Probability above which collisions would decide: all such rates count as equally good.
const PROBABILITY_CAP: u32 = fraction(90, 100);
/// Minimum probability at which the robust rate is chosen by throughput instead of probability.
const PROBABILITY_ROBUST: u32 = fraction(75, 100);
/// Weight of a window in the mean A-MPDU length, in 1/128.
const MPDUS_WEIGHT: i32 = 128 - 96;

/// State of the algorithm; see the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MinstrelHt {
    update_interval: Duration,
    sample_interval: Duration,
    table: Table,
    statistics: Vec<Statistics>,
    group_bests: Vec<GroupBest>,
    /// The rates of highest throughput, best first.
    best: [RateIndex; BEST_RATES],
    /// The robust rate, used when those fail.
    robust: RateIndex,
    sampling: Sampling,
    updated: Instant,
    sample_at: Instant,
    /// MPDUs and PPDUs in this window, and the mean A-MPDU length before it in 1/4096.
    window_mpdus: u32,
    window_ppdus: u32,
    mean_mpdus: u32,
    chain: RateChain,
}

/// The selection within one group.
#[derive(Clone, Copy, Debug, PartialEq)]
struct GroupBest {
    best: [RateIndex; BEST_RATES],
    robust: RateIndex,
}

impl MinstrelHt {
    pub(super) fn new(
        rates: &RateSet,
        update_interval: Duration,
        sample_interval: Duration,
        stream: Stream,
    ) -> Self {
        let table = Table::new(rates);
        let lowest = Attempt { rate: table.entry(0).rate, tries: 1 };
        let mut minstrel = Self {
            update_interval,
            sample_interval,
            statistics: alloc::vec![Statistics::default(); table.entries.len()],
            group_bests: table
                .groups
                .iter()
                .map(|group| GroupBest { best: [group.first; BEST_RATES], robust: group.first })
                .collect(),
            best: [0; BEST_RATES],
            robust: 0,
            sampling: Sampling::new(&table, stream),
            updated: Instant::ZERO,
            sample_at: Instant::ZERO,
            window_mpdus: 0,
            window_ppdus: 0,
            mean_mpdus: ONE,
            chain: RateChain::new(&[lowest], false),
            table,
        };
        minstrel.update(Instant::ZERO);
        minstrel.rebuild_chain();
        minstrel
    }

    /// Ends a window: updates the statistics, selects rates, refills the probes.
    fn update(&mut self, now: Instant) {
        if self.window_ppdus > 0 {
            let mean = fraction(self.window_mpdus, self.window_ppdus);
            let difference = mean as i32 - self.mean_mpdus as i32;
            self.mean_mpdus =
                self.mean_mpdus.saturating_add_signed(MPDUS_WEIGHT * difference / 128);
            self.window_mpdus = 0;
            self.window_ppdus = 0;
        }
        for group in &self.table.groups {
            let mut faster = 0;
            for rate in group.rates().rev() {
                faster = self.statistics[usize::from(rate)].fold(faster);
            }
        }
        self.select_best();
        self.select_robust();
        let durations = [self.best[0], self.best[1], self.robust].map(|r| self.table.duration(r));
        let fastest = durations.into_iter().min().expect("three rates");
        let slowest = durations.into_iter().max().expect("three rates");
        self.sampling.refill(&self.table, &self.statistics, durations[0], fastest, slowest);
        self.updated = now;
        self.sample_at = now;
    }

    /// The rates of highest throughput, overall and in each group.
    fn select_best(&mut self) {
        let table = &self.table;
        let ht = table.lowest_aggregating();
        let cck = table.lowest(Family::Cck);
        let base = ht.or(cck).unwrap_or(0);
        let mut best = [base; BEST_RATES];
        // CCK cannot aggregate: beside HT it competes as a whole, and only with its best.
        let mut beside = [cck.unwrap_or(base); BEST_RATES];
        for (index, group) in table.groups.iter().enumerate() {
            let mut group_best = [group.first; BEST_RATES];
            let apart = ht.is_some() && group.family == Family::Cck;
            for rate in group.rates().rev().filter(|&rate| self.throughput(rate) > 0) {
                self.insert(if apart { &mut beside } else { &mut best }, rate);
                self.insert(&mut group_best, rate);
            }
            self.group_bests[index].best = group_best;
        }
        if self.throughput(beside[0]) > self.throughput(best[0]) {
            for rate in beside {
                self.insert(&mut best, rate);
            }
        }
        self.best = best;
    }

    /// Inserts `rate` into a list sorted by throughput, then probability.
    fn insert(&self, list: &mut [RateIndex; BEST_RATES], rate: RateIndex) {
        let merit = |rate| (self.throughput(rate), self.probability(rate));
        let place =
            list.iter().rposition(|&other| merit(rate) <= merit(other)).map_or(0, |p| p + 1);
        if place < BEST_RATES {
            list[place..].rotate_right(1);
            list[place] = rate;
        }
    }

    /// Selects the robust rate, overall and in each group: above 75 % the one of highest
    /// throughput, below the one of highest probability.
    fn select_robust(&mut self) {
        let best = self.best[0];
        let best_legacy = self.table.group_of(best).is_legacy();
        let mut robust = self.table.lowest_aggregating().unwrap_or(0);
        for index in 0..self.table.groups.len() {
            let group = self.table.groups[index];
            let mut group_robust = group.first;
            for rate in group.rates() {
                let faster = self.table.duration(rate) < self.table.duration(best);
                if (group.is_legacy() && !best_legacy)
                    || (faster && self.probability(rate) < self.probability(best))
                {
                    continue;
                }
                for chosen in [&mut robust, &mut group_robust] {
                    if self.more_robust(rate, *chosen) {
                        *chosen = rate;
                    }
                }
            }
            self.group_bests[index].robust = group_robust;
        }
        self.robust = self.with_fewer_streams().unwrap_or(robust);
    }

    fn more_robust(&self, rate: RateIndex, than: RateIndex) -> bool {
        if self.probability(rate) > PROBABILITY_ROBUST {
            self.throughput(rate) > self.throughput(than)
        } else {
            self.probability(rate) > self.probability(than)
        }
    }

    /// The best of the robust rates that use fewer streams than the best rate.
    fn with_fewer_streams(&self) -> Option<RateIndex> {
        let streams = self.table.group_of(self.best[0]).streams;
        let mut chosen = None;
        let mut throughput = 0;
        for (group, selection) in self.table.groups.iter().zip(&self.group_bests) {
            let candidate = self.throughput(selection.robust);
            if !group.is_legacy() && group.streams < streams && candidate > throughput {
                chosen = Some(selection.robust);
                throughput = candidate;
            }
        }
        chosen
    }

    fn probability(&self, rate: RateIndex) -> u32 {
        self.statistics[usize::from(rate)].probability
    }

    /// Average packets in a tenth of a second, or zero if hardly any arrive. Every division
    /// truncates, as in Linux' minstrel_ht_get_tp_avg.
    fn throughput(&self, rate: RateIndex) -> u32 {
        let probability = self.probability(rate);
        if probability < PROBABILITY_MIN {
            return 0;
        }
        let group = self.table.group_of(rate);
        let mpdus = if group.is_legacy() { 1 } else { self.whole_mpdus() };
        let ns = 1_000 * group.overhead_us() / mpdus + self.table.duration_ns(rate);
        (100 * (probability.min(PROBABILITY_CAP) * 1_000_000 / ns)) >> SCALE_BITS
    }

    /// MPDUs of the mean A-MPDU, truncated; at least one.
    fn whole_mpdus(&self) -> u32 {
        self.mean_mpdus >> SCALE_BITS
    }

    /// Tries of a stage at this rate.
    fn tries(&self, rate: RateIndex) -> u8 {
        retry::tries(&self.table, rate, self.probability(rate), self.whole_mpdus())
    }

    /// Replaces a rate with too many streams to get through by one of the group below: the
    /// `place`-th best becomes the `place`-th best there.
    fn downgrade(&mut self, place: usize) {
        let from = self.table.entry(self.best[place]).group;
        let streams = self.table.groups[usize::from(from)].streams;
        let below = (0..usize::from(from)).rev();
        if let Some(group) = below.into_iter().find(|&g| self.table.groups[g].streams <= streams) {
            self.best[place] = self.group_bests[group].best[place];
        }
    }

    /// The chain without a probe.
    pub(super) fn usual_chain(&self) -> &RateChain {
        &self.chain
    }

    fn rebuild_chain(&mut self) {
        let stages = [self.best[0], self.best[1], self.robust]
            .map(|rate| Attempt { rate: self.table.entry(rate).rate, tries: self.tries(rate) });
        self.chain = RateChain::new(&stages, false);
    }
}

impl Algorithm for MinstrelHt {
    fn chain(&mut self, now: Instant, _snr: Db, _msdu_bytes: u16) -> RateChain {
        if now < self.sample_at {
            return self.chain;
        }
        self.sample_at = now + self.sample_interval;
        let Some(probe) = self.sampling.next() else {
            return self.chain;
        };
        let mut stages = self.chain.stages;
        stages[0] = Attempt { rate: self.table.entry(probe).rate, tries: 1 };
        RateChain::new(&stages[..usize::from(self.chain.len)], true)
    }

    fn report(&mut self, now: Instant, rate: Rate, mpdus_sent: u16, mpdus_acked: u16) {
        if self.table.find(rate).is_some() {
            self.report_chain(now, &[Attempt { rate, tries: 1 }], mpdus_sent, mpdus_acked);
        }
    }

    fn report_chain(
        &mut self,
        now: Instant,
        attempts: &[Attempt],
        mpdus_sent: u16,
        mpdus_acked: u16,
    ) {
        if mpdus_sent == 0 {
            return;
        }
        self.window_mpdus += u32::from(mpdus_sent);
        self.window_ppdus += 1;
        for (number, attempt) in (1..).zip(attempts) {
            // Linux' mean A-MPDU length includes management frames, at rates that are not here.
            let Some(index) = self.table.find(attempt.rate) else { continue };
            let acked = if number == attempts.len() { mpdus_acked.min(mpdus_sent) } else { 0 };
            let sent = u32::from(attempt.tries) * u32::from(mpdus_sent);
            self.statistics[usize::from(index)].count(sent, acked.into());
        }

        let mut changed = false;
        for place in [0, 1] {
            if self.statistics[usize::from(self.best[place])].collapsed() {
                self.downgrade(place);
                changed = true;
            }
        }
        if now.saturating_since(self.updated) > self.update_interval {
            self.update(now);
            changed = true;
        }
        if changed {
            self.rebuild_chain();
        }
    }

    fn main_rate(&self) -> Rate {
        self.table.entry(self.best[0]).rate
    }
}
