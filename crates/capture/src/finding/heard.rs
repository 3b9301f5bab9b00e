//! Captured share of each station's MPDUs. A share, a rate or a duration represents a link only if
//! at least half of its MPDUs were captured ([`CAPTURED_MIN`]): a monitor decodes slow rates and
//! misses fast ones, so a smaller part is not a sample of the rest.

use crate::air::Air;
use crate::air::exchange::{CAPTURED_MIN, LinkCounts};
use crate::air::stations::StationId;
use std::collections::BTreeMap;

/// MPDUs from and to each station.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    from: BTreeMap<StationId, Share>,
    to: BTreeMap<StationId, Share>,
    all: Share,
}

/// MPDUs that the monitor captured, and MPDUs that it missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    captured: u64,
    missed: u64,
}

impl Coverage {
    /// Sums the links of a capture.
    pub fn sum(air: &Air) -> Self {
        let mut heard = Self::default();
        for link in air.links.values() {
            let share = Share::from_counts(&link.counts);
            for sum in [
                heard.from.entry(link.from).or_default(),
                heard.to.entry(link.to).or_default(),
                &mut heard.all,
            ] {
                sum.add(share);
            }
        }
        heard
    }

    /// Whether the captured MPDUs of a station represent all of them, in each direction.
    pub fn is_heard(&self, id: StationId) -> bool {
        [&self.from, &self.to].iter().all(|side| side.get(&id).is_none_or(|it| it.is_enough()))
    }

    /// Returns the captured share of a station's MPDUs, 0 to 1; 1 without MPDUs.
    pub fn captured_from(&self, id: StationId) -> f64 {
        let Share { captured, missed } = self.from.get(&id).copied().unwrap_or_default();
        if missed == 0 { 1.0 } else { captured as f64 / (captured + missed) as f64 }
    }

    /// Whether the captured MPDUs of all links represent all of them.
    pub fn is_channel_heard(&self) -> bool {
        self.all.is_enough()
    }
}

impl Share {
    /// Returns the MPDUs of one link.
    pub fn from_counts(counts: &LinkCounts) -> Self {
        let (captured, missed) = counts.judged();
        Self { captured, missed }
    }

    pub fn add(&mut self, other: Self) {
        self.captured += other.captured;
        self.missed += other.missed;
    }

    /// Whether the captured MPDUs represent all of them.
    pub fn is_enough(self) -> bool {
        let Self { captured, missed } = self;
        missed == 0 || captured as f64 >= CAPTURED_MIN * (captured + missed) as f64
    }
}
