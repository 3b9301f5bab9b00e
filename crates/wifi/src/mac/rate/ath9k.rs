//! ath9k's own rate control (`drivers/net/wireless/ath/ath9k/rc.c`), Linux' default for ath9k
//! before 3.9; as in 3.13, where Minstrel-HT was the default.
//!
//! Every rate has a packet error rate (PER) in whole percent. The rate with the highest throughput,
//! PERs below 12 % counted as 12, is chosen among those up to a limit. A success that needed no
//! retry permits a probe of the rate above the limit, at most every 50 ms, or 25 ms after a probe
//! that succeeded; its success lifts the limit. A PER of 55 % lowers the limit below that rate. A
//! slower rate never has a higher PER than a faster one, and every 50 ms all PERs lose an eighth.
//! The signal's strength has no part in it.
//!
//! The chain has four rates in descending order: four, four, four and eight tries; a probe has one
//! try, before the rates below. The driver repeats a chain without success from its start, and
//! reports a chain's result only when a frame was acknowledged or given up. Transmissions
//! to an absent station cost no PER until a frame is given up.
//!
//! Left out: ticks (times are whole milliseconds), RTS before later rates, spatial-multiplexing
//! power save, the fourth rate that repeats the third at 2.4 GHz, and the legacy rate at the end of
//! a chain that Linux 3.2 had for a while.

mod table;
#[cfg(test)]
mod tests;

use super::{Algorithm, Attempt, RateChain, RateSet};
use crate::phy::Rate;
use alloc::vec::Vec;
use lasthop_units::{Db, Instant};
use table::{Ath9kIndex, Ath9kTable};

/// Tries of a chain's rates (MRR in `ath_get_rate`).
const TRIES: [u8; RateChain::STAGES_MAX] = [4, 4, 4, 8];
/// Time between two probes in ms; PERs lose an eighth in the same interval.
const PROBE_INTERVAL_MS: i64 = 50;
/// PER in percent up to which a rate counts as good: collisions of TCP cause as much.
const PER_IGNORED: u8 = 12;
/// PER in percent from which a rate is avoided.
const PER_AVOIDED: u8 = 55;
/// Increase of the PER in percent by a chain without success.
const PER_FAILURE: u8 = 30;
/// PER in percent above which a rate whose probe succeeded gets [`PER_PROBED`].
const PER_PROBED_MIN: u8 = 30;
/// PER in percent of a rate whose probe succeeded.
const PER_PROBED: u8 = 20;
/// PER in percent of a frame without aggregation, by its number of retries (nretry_to_per_lookup).
const PER_BY_RETRIES: [u8; 10] = [0, 25, 50, 75, 80, 83, 85, 87, 88, 90];

/// State of the algorithm; see the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ath9k {
    table: Ath9kTable,
    /// PER in percent of the table's rates, also of those that the pair does not use.
    per: Vec<u8>,
    /// Fastest rate that may be chosen (rate_max_phy).
    limit: Ath9kIndex,
    /// Rate with the highest throughput up to the limit, and the chain from there.
    best: Ath9kIndex,
    usual: RateChain,
    probed: Option<Ath9kIndex>,
    probed_ms: i64,
    aged_ms: i64,
    /// Successes without retry at the limit since the last probe, up to 255 (hw_maxretry_pktcnt).
    clean: u8,
    /// Chain of the current frame.
    series: [ChainStage; RateChain::STAGES_MAX],
    /// Transmissions along that chain without success.
    failed: u32,
}

/// Rate and tries of a chain's stage.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ChainStage {
    index: Ath9kIndex,
    tries: u8,
}

/// Result of a chain.
#[derive(Clone, Copy)]
struct Outcome {
    mpdus: u32,
    mpdus_acked: u32,
}

/// Result at one rate of a chain.
#[derive(Clone, Copy)]
enum Evidence {
    /// Sent at the chain's last rate so far, after `retries`.
    Sent { retries: u8, outcome: Outcome },
    /// No success at this rate; the chain went on and succeeded.
    Passed,
    /// No success at any rate.
    GivenUp,
}

impl Ath9k {
    pub(super) fn new(rates: &RateSet) -> Self {
        let table = Ath9kTable::new(rates);
        let valid = &table.valid;
        // Three rates wait above the first limit, if there are as many.
        let limit = valid[if valid.len() > 4 { valid.len() - 4 } else { valid.len() - 1 }];
        let lowest = Attempt { rate: table.entry(valid[0]).rate, tries: 1 };
        let mut control = Self {
            usual: RateChain::new(&[lowest], false),
            per: alloc::vec![0; table.len()],
            limit,
            best: limit,
            probed: None,
            probed_ms: 0,
            aged_ms: 0,
            clean: 0,
            series: [ChainStage { index: limit, tries: 0 }; RateChain::STAGES_MAX],
            failed: 0,
            table,
        };
        control.choose();
        control.series = control.series_from(control.best, &TRIES);
        control
    }

    /// Chooses the rate with the highest throughput, the slower one of equals.
    fn choose(&mut self) {
        let throughput = |index: Ath9kIndex| {
            let per = self.per[usize::from(index)].max(PER_IGNORED);
            self.table.entry(index).user_kbps * u32::from(100 - per)
        };
        let allowed = self.table.valid.iter().copied().filter(|&index| index <= self.limit);
        let best = allowed.rev().map(|index| (throughput(index), index));
        let best = best.reduce(|best, other| if other.0 >= best.0 { other } else { best });
        self.best = best.map_or(0, |(_, index)| index);
        self.usual = self.chain_of(&self.series_from(self.best, &TRIES), false);
    }

    /// Rates from `first` down, with these tries.
    fn series_from(&self, first: Ath9kIndex, tries: &[u8]) -> [ChainStage; RateChain::STAGES_MAX] {
        let mut index = first;
        let mut series = [ChainStage { index, tries: 0 }; RateChain::STAGES_MAX];
        for (place, (stage, &tries)) in series.iter_mut().zip(tries).enumerate() {
            if place > 0 {
                index = self.table.slower(index).unwrap_or(index);
            }
            *stage = ChainStage { index, tries };
        }
        series
    }

    fn chain_of(&self, series: &[ChainStage], is_probe: bool) -> RateChain {
        let attempt = |stage: &ChainStage| Attempt {
            rate: self.table.entry(stage.index).rate,
            tries: stage.tries,
        };
        let mut stages = [attempt(&series[0]); RateChain::STAGES_MAX];
        for (to, from) in stages.iter_mut().zip(series) {
            *to = attempt(from);
        }
        RateChain::new(&stages, is_probe).repeated()
    }

    /// The chain without a probe.
    pub(super) fn usual_chain(&self) -> &RateChain {
        &self.usual
    }

    /// Returns the rate above the limit if it is time to probe it.
    fn next_probe(&mut self, now_ms: i64) -> Option<Ath9kIndex> {
        let faster = self.table.faster(self.limit)?;
        let is_due = now_ms - self.probed_ms > PROBE_INTERVAL_MS && self.clean > 0;
        if self.best != self.limit || !is_due {
            return None;
        }
        self.probed = Some(faster).filter(|&index| index > 0);
        self.probed_ms = now_ms;
        self.clean = 0;
        Some(faster)
    }

    /// Evaluates the current chain after `tries` transmissions.
    fn conclude(&mut self, now: Instant, tries: u32, outcome: Outcome) {
        let now_ms = millis(now);
        let is_sent = outcome.mpdus_acked > 0;
        let mut left = tries;
        for (place, stage) in self.series.into_iter().enumerate() {
            let used = left.min(stage.tries.into());
            left -= used;
            if used == 0 {
                break;
            }
            let evidence = match (is_sent, left) {
                (true, 0) => Evidence::Sent { retries: used as u8 - 1, outcome },
                // A single try alone counts less.
                (false, 0) if place == 0 && used == 1 => Evidence::Passed,
                (true, _) => Evidence::Passed,
                (false, _) => Evidence::GivenUp,
            };
            self.update(stage.index, evidence, now_ms);
        }
        self.choose();
    }

    fn update(&mut self, index: Ath9kIndex, evidence: Evidence, now_ms: i64) {
        let before = self.per[usize::from(index)];
        let smoothed = before - (before >> 3);
        let per = match evidence {
            Evidence::Sent { retries, outcome } => smoothed + (per_of(retries, outcome) >> 3),
            Evidence::Passed => smoothed + (100 >> 3),
            Evidence::GivenUp => (before + PER_FAILURE).min(100),
        };
        self.per[usize::from(index)] = per;
        match evidence {
            Evidence::Sent { retries, outcome } => self.learn(index, retries, outcome, now_ms),
            Evidence::Passed | Evidence::GivenUp => {
                self.probed = self.probed.filter(|&probed| probed != index);
            }
        }
        self.avoid(index, now_ms);
        self.keep_order(index, before);
        if now_ms - self.aged_ms >= PROBE_INTERVAL_MS {
            self.per.iter_mut().for_each(|per| *per = (7 * u32::from(*per) / 8) as u8);
            self.aged_ms = now_ms;
        }
    }

    /// Lifts the limit after a probe, and counts successes at it.
    fn learn(&mut self, index: Ath9kIndex, retries: u8, outcome: Outcome, now_ms: i64) {
        if self.probed == Some(index) {
            self.probed = None;
            let bad = outcome.mpdus - outcome.mpdus_acked;
            if retries == 0 && 2 * bad <= outcome.mpdus {
                self.limit = index;
                let per = &mut self.per[usize::from(index)];
                if *per > PER_PROBED_MIN {
                    *per = PER_PROBED;
                }
                self.probed_ms = now_ms - PROBE_INTERVAL_MS / 2;
            }
        }
        if retries > 0 {
            self.clean = 0;
        } else if index == self.limit {
            self.clean = self.clean.saturating_add(1);
        }
    }

    /// Lowers the limit below a rate whose PER is high, unless that rate is above it.
    fn avoid(&mut self, index: Ath9kIndex, now_ms: i64) {
        let is_within = self.table.entry(index).kbps <= self.table.entry(self.limit).kbps;
        if self.per[usize::from(index)] >= PER_AVOIDED && index > 0 && is_within {
            self.limit = self.table.slower(index).unwrap_or(self.limit);
            self.probed_ms = now_ms;
        }
    }

    /// Keeps PERs in the order of rates after a change of one, which was `before`.
    fn keep_order(&mut self, index: Ath9kIndex, before: u8) {
        let (slower, faster) = self.per.split_at_mut(usize::from(index));
        let changed = faster[0];
        if changed < before {
            slower.iter_mut().for_each(|per| *per = changed.min(*per));
        }
        faster.iter_mut().for_each(|per| *per = changed.max(*per));
    }

    /// Evaluates the current chain if it had no success, because its frame was given up.
    fn give_up(&mut self, now: Instant) {
        if let Some(before_last) = self.failed.checked_sub(1) {
            self.failed = 0;
            let tries = before_last % self.tries() + 1;
            self.conclude(now, tries, Outcome { mpdus: 1, mpdus_acked: 0 });
        }
    }

    /// Number of tries of the current chain.
    fn tries(&self) -> u32 {
        self.series.iter().map(|stage| u32::from(stage.tries)).sum()
    }

    /// Number of transmissions until the one at `rate`, in the current pass through the chain.
    fn tries_until(&self, rate: Rate) -> Option<u32> {
        let rates = self.series.iter().flat_map(|stage| {
            core::iter::repeat_n(self.table.entry(stage.index).rate, stage.tries.into())
        });
        let passed = self.failed % self.tries();
        (1..).zip(rates).skip(passed as usize).find(|&(_, it)| it == rate).map(|(tries, _)| tries)
    }
}

/// PER in percent of a transmission that succeeded after retries.
fn per_of(retries: u8, outcome: Outcome) -> u8 {
    let retries = retries.min(PER_BY_RETRIES.len() as u8 - 1);
    let bad = outcome.mpdus - outcome.mpdus_acked;
    if bad == 0 {
        return PER_BY_RETRIES[usize::from(retries)];
    }
    let retries = u32::from(retries);
    (100 * (retries * outcome.mpdus + bad) / (outcome.mpdus * (retries + 1))) as u8
}

fn millis(now: Instant) -> i64 {
    (now.saturating_since(Instant::ZERO).as_nanos() / 1_000_000) as i64
}

impl Algorithm for Ath9k {
    fn chain(&mut self, now: Instant, _snr: Db, _msdu_bytes: u16) -> RateChain {
        self.give_up(now);
        let probe = self.next_probe(millis(now));
        self.series = match probe {
            Some(index) => self.series_from(index, &[1, TRIES[1], TRIES[2], TRIES[3]]),
            None => self.series_from(self.best, &TRIES),
        };
        match probe {
            Some(_) => self.chain_of(&self.series, true),
            None => self.usual,
        }
    }

    fn report(&mut self, now: Instant, rate: Rate, mpdus_sent: u16, mpdus_acked: u16) {
        let Some(tries) = self.tries_until(rate).filter(|_| mpdus_sent > 0) else { return };
        if mpdus_acked == 0 {
            self.failed += 1;
            return;
        }
        self.failed = 0;
        let mpdus_acked = mpdus_acked.min(mpdus_sent).into();
        self.conclude(now, tries, Outcome { mpdus: mpdus_sent.into(), mpdus_acked });
    }

    fn main_rate(&self) -> Rate {
        self.table.entry(self.best).rate
    }
}
