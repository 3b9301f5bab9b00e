//! Minstrel-HT, the rate control of Linux' mac80211 (since 5.12).
//!
//! Every rate has a filtered success probability, folded every update interval
//! of 50 ms. From it and the air time of an average packet follow the four
//! rates of highest throughput and one of high probability; they make the retry
//! chain. Up to every 20 ms a PPDU begins with one try of another rate.
//!
//! Unlike Linux: probabilities, throughputs and the mean A-MPDU length are not
//! rounded to fixed point; time is not rounded to ticks; every PPDU is reported
//! for itself, not a chain at a time; the random order of probes belongs to one
//! pair, not to the host; list entries lost when sample lists are compacted are
//! kept; HT durations are not rounded up to symbols. No RTS for later stages,
//! no VHT, no limits for A-MSDUs, no spatial-multiplexing power save.

mod retry;
mod sampling;
mod statistics;
mod table;
#[cfg(test)]
mod tests;

use super::{Algorithm, Attempt, RateChain, RateSet};
use crate::phy::Rate;
use alloc::vec::Vec;
use lasthop_units::{Db, Duration, Instant, Stream};
use sampling::Sampling;
use statistics::Statistics;
use table::{Family, RateIndex, Table};

/// Rates of highest throughput that are kept.
const BEST_RATES: usize = 4;
/// Below this probability a rate has no throughput.
const PROBABILITY_MIN: f64 = 0.1;
/// Above it, collisions would decide: all such rates count as equally good.
const PROBABILITY_CAP: f64 = 0.9;
/// From here on the robust rate is chosen by throughput, no longer by probability.
const PROBABILITY_ROBUST: f64 = 0.75;
/// Weight of a window in the mean A-MPDU length.
const MPDUS_WEIGHT: f64 = (128.0 - 96.0) / 128.0;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MinstrelHt {
    update_interval: Duration,
    sample_interval: Duration,
    table: Table,
    statistics: Vec<Statistics>,
    group_bests: Vec<GroupBest>,
    /// The rates of highest throughput, best first.
    best: [RateIndex; BEST_RATES],
    /// The rate that gets through when those fail.
    robust: RateIndex,
    sampling: Sampling,
    updated: Instant,
    sample_at: Instant,
    /// MPDUs and PPDUs in this window, and the mean A-MPDU length before it.
    window_mpdus: u32,
    window_ppdus: u32,
    mean_mpdus: f64,
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
            mean_mpdus: 1.0,
            chain: RateChain::new(&[lowest], false),
            table,
        };
        minstrel.update(Instant::ZERO);
        minstrel.rebuild_chain();
        minstrel
    }

    /// Ends a window: folds the statistics, selects rates, refills the probes.
    fn update(&mut self, now: Instant) {
        if self.window_ppdus > 0 {
            let mean = f64::from(self.window_mpdus) / f64::from(self.window_ppdus);
            self.mean_mpdus += MPDUS_WEIGHT * (mean - self.mean_mpdus);
            self.window_mpdus = 0;
            self.window_ppdus = 0;
        }
        for group in &self.table.groups {
            let mut faster = 0.0;
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
        let ht = table.lowest(Family::Ht);
        let cck = table.lowest(Family::Cck);
        let base = ht.or(cck).unwrap_or(0);
        let mut best = [base; BEST_RATES];
        // CCK cannot aggregate: beside HT it competes as a whole, and only with its best.
        let mut beside = [cck.unwrap_or(base); BEST_RATES];
        for (index, group) in table.groups.iter().enumerate() {
            let mut group_best = [group.first; BEST_RATES];
            let apart = ht.is_some() && group.family == Family::Cck;
            for rate in group.rates().rev().filter(|&rate| self.throughput(rate) > 0.0) {
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

    /// Puts `rate` where it belongs in a list sorted by throughput, then probability.
    fn insert(&self, list: &mut [RateIndex; BEST_RATES], rate: RateIndex) {
        let merit = |rate| (self.throughput(rate), self.probability(rate));
        let place =
            list.iter().rposition(|&other| merit(rate) <= merit(other)).map_or(0, |p| p + 1);
        if place < BEST_RATES {
            list[place..].rotate_right(1);
            list[place] = rate;
        }
    }

    /// The rate that gets through, overall and in each group: above 75 % the
    /// one of highest throughput, below the one of highest probability.
    fn select_robust(&mut self) {
        let best = self.best[0];
        let best_legacy = self.table.group_of(best).is_legacy();
        let mut robust = self.table.lowest(Family::Ht).unwrap_or(0);
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
        let mut throughput = 0.0;
        for (group, selection) in self.table.groups.iter().zip(&self.group_bests) {
            let candidate = self.throughput(selection.robust);
            if !group.is_legacy() && group.streams < streams && candidate > throughput {
                chosen = Some(selection.robust);
                throughput = candidate;
            }
        }
        chosen
    }

    fn probability(&self, rate: RateIndex) -> f64 {
        self.statistics[usize::from(rate)].probability
    }

    /// Average packets a second, or zero if hardly any arrive.
    fn throughput(&self, rate: RateIndex) -> f64 {
        let probability = self.probability(rate);
        if probability < PROBABILITY_MIN {
            return 0.0;
        }
        let group = self.table.group_of(rate);
        let mpdus = if group.is_legacy() { 1.0 } else { self.mean_mpdus };
        let overhead = group.overhead().as_secs_f64() / mpdus;
        probability.min(PROBABILITY_CAP) / (overhead + self.table.duration(rate).as_secs_f64())
    }

    /// Leaves a rate whose streams no longer get through for the group below:
    /// the `place`-th best becomes the `place`-th best there.
    fn downgrade(&mut self, place: usize) {
        let from = self.table.entry(self.best[place]).group;
        let streams = self.table.groups[usize::from(from)].streams;
        let below = (0..usize::from(from)).rev();
        if let Some(group) = below.into_iter().find(|&g| self.table.groups[g].streams <= streams) {
            self.best[place] = self.group_bests[group].best[place];
        }
    }

    fn rebuild_chain(&mut self) {
        let stages = [self.best[0], self.best[1], self.robust].map(|rate| Attempt {
            rate: self.table.entry(rate).rate,
            tries: retry::tries(&self.table, rate, self.probability(rate), self.mean_mpdus),
        });
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
        let Some(index) = self.table.find(rate).filter(|_| mpdus_sent > 0) else {
            return;
        };
        self.statistics[usize::from(index)].count(mpdus_sent, mpdus_acked.min(mpdus_sent));
        self.window_mpdus += u32::from(mpdus_sent);
        self.window_ppdus += 1;

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
