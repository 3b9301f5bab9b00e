//! Choice and order of the rates to probe.
//!
//! Three lists are refilled at the end of every window. `Increment` has, for each group, the
//! slowest rate that is faster than the best one. `Jump` has a random faster rate of each group.
//! `Slow` has random rates between the fastest and the slowest in use that are not known to be
//! good. Probes take them in turn.

use super::statistics::{Statistics, fraction};
use super::table::{RateIndex, Table};
use alloc::vec::Vec;
use lasthop_units::{Duration, Stream};

/// Rates in each list.
const LIST_MAX: usize = 5;
/// Number of columns in the random order of a group's rates.
const COLUMNS: usize = 10;
/// Number of rates in each column.
const COLUMN_RATES: usize = 10;
/// Probability above which a slow rate need not be probed.
const SLOW_PROBABILITY_MAX: u32 = fraction(95, 100);

/// The order in which the lists take turns.
const TURNS: [List; 6] =
    [List::Increment, List::Jump, List::Increment, List::Jump, List::Increment, List::Slow];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Increment,
    Jump,
    Slow,
}

/// The lists, and the current position in each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sampling {
    increment: Vec<RateIndex>,
    jump: Vec<RateIndex>,
    slow: Vec<RateIndex>,
    increment_group: usize,
    jump_group: usize,
    turn: usize,
    /// Random orders of positions in a group, shared by all groups.
    columns: [[u8; COLUMN_RATES]; COLUMNS],
    /// Next position in `columns` for each group, counted continuously.
    cursors: Vec<usize>,
}

impl Sampling {
    pub(super) fn new(table: &Table, mut stream: Stream) -> Self {
        Self {
            increment: Vec::new(),
            jump: Vec::new(),
            slow: Vec::new(),
            increment_group: 0,
            jump_group: 0,
            turn: 0,
            columns: core::array::from_fn(|_| random_column(&mut stream)),
            cursors: alloc::vec![0; table.groups.len()],
        }
    }

    /// The rate to try now, if the list whose turn it is has one.
    pub(super) fn next(&mut self) -> Option<RateIndex> {
        let list = match TURNS[self.turn] {
            List::Increment => &mut self.increment,
            List::Jump => &mut self.jump,
            List::Slow => &mut self.slow,
        };
        self.turn = (self.turn + 1) % TURNS.len();
        (!list.is_empty()).then(|| list.remove(0))
    }

    /// Drops rates that no longer fit and refills the lists. `best` is the packet time at the best
    /// rate, `fastest` and `slowest` the extremes of the rates in use.
    pub(super) fn refill(
        &mut self,
        table: &Table,
        statistics: &[Statistics],
        best: Duration,
        fastest: Duration,
        slowest: Duration,
    ) {
        self.increment.retain(|&rate| table.duration(rate) < fastest);
        while self.increment.len() < LIST_MAX {
            let Some(rate) = self.next_increment(table, best) else { break };
            self.increment.push(rate);
        }
        self.jump.retain(|&rate| table.duration(rate) < fastest);
        let between = |duration| fastest < duration && duration < slowest;
        self.slow.retain(|&rate| between(table.duration(rate)));
        while self.jump.len() < LIST_MAX {
            let Some(rate) = self.next_jump(table, statistics, fastest, slowest) else { break };
            self.jump.push(rate);
        }
    }

    /// The slowest rate that is faster than `best`, of the next group that has one not listed yet.
    fn next_increment(&mut self, table: &Table, best: Duration) -> Option<RateIndex> {
        for _ in 0..table.groups.len() {
            self.increment_group = (self.increment_group + 1) % table.groups.len();
            let mut rates = table.groups[self.increment_group].rates();
            let rate = rates.find(|&rate| table.duration(rate) < best);
            if let Some(rate) = rate.filter(|rate| !self.increment.contains(rate)) {
                return Some(rate);
            }
        }
        None
    }

    /// A random rate that is faster than `fastest`, of the next group whose draw is; draws between
    /// `fastest` and `slowest` enter the slow list until it is full.
    fn next_jump(
        &mut self,
        table: &Table,
        statistics: &[Statistics],
        fastest: Duration,
        slowest: Duration,
    ) -> Option<RateIndex> {
        for _ in 0..table.groups.len() {
            self.jump_group = (self.jump_group + 1) % table.groups.len();
            let limit = if self.slow.len() < LIST_MAX { slowest } else { fastest };
            let Some(rate) = self.draw(table, limit) else { continue };
            let duration = table.duration(rate);
            if duration < fastest {
                if !self.jump.contains(&rate) {
                    return Some(rate);
                }
            } else if duration < slowest
                && self.slow.len() < LIST_MAX
                && !self.slow.contains(&rate)
                && statistics[usize::from(rate)].probability <= SLOW_PROBABILITY_MAX
            {
                self.slow.push(rate);
            }
        }
        None
    }

    /// The next rate in random order of the group's rates, from the first that is faster than
    /// `limit` on.
    fn draw(&mut self, table: &Table, limit: Duration) -> Option<RateIndex> {
        let group = table.groups[self.jump_group];
        let first = group.rates().find(|&rate| table.duration(rate) < limit)?;
        let cursor = &mut self.cursors[self.jump_group];
        for _ in 0..COLUMN_RATES {
            let position = self.columns[*cursor / COLUMN_RATES][*cursor % COLUMN_RATES];
            *cursor = (*cursor + 1) % (COLUMNS * COLUMN_RATES);
            if position < group.len && group.first + position >= first {
                return Some(group.first + position);
            }
        }
        None
    }
}

/// Every number below [`COLUMN_RATES`] once, each at a random index or the next free one.
fn random_column(stream: &mut Stream) -> [u8; COLUMN_RATES] {
    let mut column = [None; COLUMN_RATES];
    for number in 0..COLUMN_RATES as u8 {
        let mut place = stream.up_to(COLUMN_RATES as u32 - 1) as usize;
        while column[place].is_some() {
            place = (place + 1) % COLUMN_RATES;
        }
        column[place] = Some(number);
    }
    column.map(|number| number.expect("as many numbers as places"))
}
