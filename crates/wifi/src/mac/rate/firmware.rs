//! A stand-in for the rate control in a device's firmware, of which nothing is published: the ideal
//! choice ([`Ideal`]) from an SNR with delay and error.
//!
//! Every update makes the choice anew, from the SNR measured at the update before plus a normal
//! error: the SNR is one to two intervals old, older after a pause. After two losses the rate is
//! that for 3 dB less, and after two more that for 6 dB less, as hardware descends a chain of
//! rates. A PPDU counts as lost if more than half of its MPDUs are lost. Once the oldest MPDU was
//! sent four times, every PPDU with it has the last rate. A PPDU counts as lost if more than half
//! of it is lost; once its oldest MPDU was sent four times, every PPDU does. Losses do not change
//! the choice itself, so that collisions do not slow it down. SNR is in dB.

use super::{Algorithm, Attempt, Ideal, RateChain};
use crate::phy::Rate;
use lasthop_units::{Db, Duration, Instant, Stream};

/// Additional robustness of each stage of a chain over the one before, in dB.
const STAGE_DB: f64 = 3.0;
/// Tries of each stage but the last.
const STAGE_TRIES: u8 = 2;

/// State of the stand-in: its estimate, and the time of its next update.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Firmware {
    ideal: Ideal,
    update_interval: Duration,
    deviation: Db,
    stream: Stream,
    next_update: Instant,
    /// SNR measured at the last update.
    heard: Option<Db>,
    /// SNR from which the choice is made.
    believed: Db,
    /// The first rate of the last chain.
    current: Rate,
}

impl Firmware {
    pub(super) fn new(
        ideal: Ideal,
        update_interval: Duration,
        deviation: Db,
        stream: Stream,
    ) -> Self {
        Self {
            current: ideal.main_rate(),
            ideal,
            update_interval,
            deviation,
            stream,
            next_update: Instant::ZERO,
            heard: None,
            believed: Db(0.0),
        }
    }
}

impl Firmware {
    /// Adopts the rates of another instance; update times and error stay.
    pub(super) fn renew(&mut self, other: Self) {
        (self.ideal, self.current) = (other.ideal, other.current);
    }
}

impl Algorithm for Firmware {
    fn chain(&mut self, now: Instant, snr: Db, msdu_bytes: u16) -> RateChain {
        if now >= self.next_update {
            let error = self.deviation.0 * self.stream.normal();
            self.believed = Db(self.heard.unwrap_or(snr).0 + error);
            self.heard = Some(snr);
            self.next_update = now + self.update_interval;
        }
        let stage = |number: u8, tries| {
            let snr = Db(self.believed.0 - STAGE_DB * f64::from(number));
            Attempt { rate: self.ideal.choice(snr, msdu_bytes), tries }
        };
        let chain = [stage(0, STAGE_TRIES), stage(1, STAGE_TRIES), stage(2, u8::MAX)];
        self.current = chain[0].rate;
        RateChain::new(&chain, false)
    }

    fn report(&mut self, _now: Instant, _rate: Rate, _mpdus_sent: u16, _mpdus_acked: u16) {}

    fn main_rate(&self) -> Rate {
        self.current
    }
}
