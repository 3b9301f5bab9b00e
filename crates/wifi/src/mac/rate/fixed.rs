//! A fixed rate: one stage, with as many tries as the MAC permits.

use super::{Algorithm, Attempt, RateChain};
use crate::phy::Rate;
use lasthop_units::{Db, Instant};

/// State of a fixed rate: the rate itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fixed {
    chain: RateChain,
}

impl Fixed {
    pub(super) fn new(rate: Rate) -> Self {
        Self { chain: RateChain::new(&[Attempt { rate, tries: u8::MAX }], false) }
    }
}

impl Algorithm for Fixed {
    #[inline]
    fn chain(&mut self, _now: Instant, _snr: Db, _msdu_bytes: u16) -> RateChain {
        self.chain
    }

    #[inline]
    fn report(&mut self, _now: Instant, _rate: Rate, _mpdus_sent: u16, _mpdus_acked: u16) {}

    fn main_rate(&self) -> Rate {
        self.chain.stages[0].rate
    }
}
