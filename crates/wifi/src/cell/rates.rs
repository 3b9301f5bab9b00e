//! What follows from a data rate, computed once for each: the rate and duration of
//! responses, durations of PPDUs, and how long a PSDU may be within a duration (IEEE
//! 802.11-2020, 10.6.6 and 19.4.3). Lengths are in bytes, FCS included.

use super::config::CellConfig;
use super::content::Expected;
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::phy::{Band, ControlRates, Preamble, Rate};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The rates in use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    band: Band,
    control: ControlRates,
    /// Preamble of responses at rates of 802.11b; that of the frame that they answer if `None`.
    control_preamble: Option<Preamble>,
    known: Vec<Facts>,
    /// Index into `known` of the rate that was asked for last.
    recent: usize,
}

/// Facts of a data rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    rate: Rate,
    /// Rate of responses to frames at this rate.
    pub response: Rate,
    /// Duration of an Ack or a CTS.
    pub ack: Duration,
    /// Duration of a Block Ack with a bitmap of 64 bits.
    block_ack: Duration,
    /// Longest PSDU within the duration and length that it was last asked for.
    psdu_within: ((Duration, u32), u32),
    /// Length and duration of the PSDU that was last asked for.
    ppdu: (u32, Duration),
}

impl Rates {
    pub fn new(config: &CellConfig) -> Self {
        Self {
            band: config.band,
            control: ControlRates { basic: config.basic_rates.clone() },
            control_preamble: config.control_preamble,
            known: Vec::new(),
            recent: 0,
        }
    }

    /// The lowest basic rate.
    pub fn lowest(&self) -> Rate {
        self.control.lowest()
    }

    pub fn of(&mut self, rate: Rate) -> &mut Facts {
        let index = match self.known.get(self.recent) {
            Some(facts) if facts.rate == rate => Some(self.recent),
            _ => self.known.iter().position(|facts| facts.rate == rate),
        };
        let index = index.unwrap_or_else(|| self.add(rate));
        self.recent = index;
        &mut self.known[index]
    }

    #[cold]
    fn add(&mut self, rate: Rate) -> usize {
        let mut response = self.control.response(rate);
        if let (Rate::Dsss { preamble, .. }, Some(wanted)) = (&mut response, self.control_preamble)
        {
            *preamble = wanted;
        }
        self.known.push(Facts {
            rate,
            response,
            ack: response.ppdu_duration(sizes::ACK, self.band),
            block_ack: response.ppdu_duration(sizes::BLOCK_ACK, self.band),
            psdu_within: ((Duration::ZERO, 0), 0),
            ppdu: (0, rate.ppdu_duration(0, self.band)),
        });
        self.known.len() - 1
    }

    /// Duration of a PPDU with a PSDU of that length.
    pub fn ppdu_duration(&mut self, rate: Rate, psdu_bytes: u32) -> Duration {
        let band = self.band;
        let facts = self.of(rate);
        if facts.ppdu.0 != psdu_bytes {
            facts.ppdu = (psdu_bytes, rate.ppdu_duration(psdu_bytes, band));
        }
        facts.ppdu.1
    }

    /// The longest PSDU of up to `bytes_max` whose PPDU lasts at most `duration`.
    pub fn psdu_within(&mut self, rate: Rate, duration: Duration, bytes_max: u32) -> u32 {
        let band = self.band;
        let facts = self.of(rate);
        let limits = (duration, bytes_max);
        if facts.psdu_within.0 != limits {
            let (mut fits, mut too_long) = (0, bytes_max + 1);
            while too_long - fits > 1 {
                let middle = (fits + too_long) / 2;
                if rate.ppdu_duration(middle, band) <= duration {
                    fits = middle;
                } else {
                    too_long = middle;
                }
            }
            facts.psdu_within = (limits, fits);
        }
        facts.psdu_within.1
    }

    /// The response to a frame at `rate`: a Block Ack under an agreement over so many MPDUs,
    /// or an Ack.
    pub fn response(&mut self, rate: Rate, block_ack: Option<u16>) -> Expected {
        let bits = block_ack.map(Bitmap::bits_for);
        let psdu_bytes = bits.map_or(sizes::ACK, sizes::block_ack);
        let band = self.band;
        let facts = self.of(rate);
        let duration = match psdu_bytes {
            sizes::ACK => facts.ack,
            sizes::BLOCK_ACK => facts.block_ack,
            longer => facts.response.ppdu_duration(longer, band),
        };
        Expected { rate: facts.response, duration, psdu_bytes, block_ack: bits.is_some() }
    }
}
