//! Real radios: a table for each set-up, of kept results.

use crate::table::Table;
use crate::validate::radios::{RadioGroup, RadioStore};

pub(super) fn stock() -> Table {
    RadioStore::read().table(RadioGroup::Stock)
}

pub(super) fn airtime() -> Table {
    RadioStore::read().table(RadioGroup::Airtime)
}

pub(super) fn ecn() -> Table {
    RadioStore::read().table(RadioGroup::Ecn)
}

pub(super) fn ath10k() -> Table {
    RadioStore::read().table(RadioGroup::Ath10k)
}

pub(super) fn scans() -> Table {
    RadioStore::read().table(RadioGroup::Scans)
}

pub(super) fn fairness() -> Table {
    RadioStore::read().table(RadioGroup::Fairness)
}

pub(super) fn small_queues() -> Table {
    RadioStore::read().table(RadioGroup::SmallQueues)
}

pub(super) fn idle() -> Table {
    RadioStore::read().table(RadioGroup::Idle)
}

pub(super) fn ad_hoc() -> Table {
    RadioStore::read().table(RadioGroup::AdHoc)
}

pub(super) fn cafe() -> Table {
    RadioStore::read().table(RadioGroup::Cafe)
}
