//! Facts of each data rate, computed once: rate and duration of responses, durations of PPDUs, and
//! the longest PSDU within a duration (IEEE 802.11-2020, 10.6.6 and 19.4.3). Lengths are in bytes,
//! FCS included.

use crate::config::CellConfig;
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::phy::{Band, ControlRates, PacketPadding, Preamble, Rate};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The rates in use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates {
    band: Band,
    control: ControlRates,
    /// Preamble of responses at rates of 802.11b; if `None`, that of the frame they answer.
    control_preamble: Option<Preamble>,
    known: Vec<Facts>,
    /// Index into `known` of the rate asked for last.
    recent: usize,
}

/// Facts of a data rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    rate: Rate,
    /// Rate of responses to frames at this rate.
    pub response: Rate,
    /// Duration of an Ack or a CTS.
    pub ack: Duration,
    /// Duration of a Block Ack with a bitmap of 64 bits.
    block_ack: Duration,
    /// Longest PSDU within the duration and length asked for last.
    psdu_within: ((Duration, u32, PacketPadding), u32),
    /// Length and duration of the PSDU asked for last.
    ppdu: ((u32, PacketPadding), Duration),
}

/// The response that ends an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    pub rate: Rate,
    pub duration: Duration,
    pub psdu_bytes: u32,
    /// Whether the response is a Block Ack, not an Ack.
    pub block_ack: bool,
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

    /// The facts of a rate, computed at its first use.
    pub fn facts(&mut self, rate: Rate) -> &mut Facts {
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
            ack: response.ppdu_duration(alone(response, sizes::ACK), self.band),
            block_ack: response.ppdu_duration(alone(response, sizes::BLOCK_ACK), self.band),
            psdu_within: ((Duration::ZERO, 0, PacketPadding::None), 0),
            ppdu: ((0, PacketPadding::None), rate.ppdu_duration(0, self.band)),
        });
        self.known.len() - 1
    }

    /// Duration of a PPDU with a PSDU of `psdu_bytes`, without packet extension.
    pub fn ppdu_duration(&mut self, rate: Rate, psdu_bytes: u32) -> Duration {
        self.padded_ppdu_duration(rate, psdu_bytes, PacketPadding::None)
    }

    /// Duration of a PPDU with a PSDU of `psdu_bytes` to a receiver that needs this packet
    /// extension.
    pub fn padded_ppdu_duration(
        &mut self,
        rate: Rate,
        psdu_bytes: u32,
        padding: PacketPadding,
    ) -> Duration {
        let band = self.band;
        let facts = self.facts(rate);
        let asked = (psdu_bytes, padding);
        if facts.ppdu.0 != asked {
            facts.ppdu = (asked, rate.padded_ppdu_duration(psdu_bytes, band, padding));
        }
        facts.ppdu.1
    }

    /// The longest PSDU of up to `bytes_max` whose PPDU, to a receiver that needs this packet
    /// extension, lasts at most `duration`.
    pub fn psdu_within(
        &mut self,
        rate: Rate,
        duration: Duration,
        bytes_max: u32,
        padding: PacketPadding,
    ) -> u32 {
        let band = self.band;
        let facts = self.facts(rate);
        let limits = (duration, bytes_max, padding);
        if facts.psdu_within.0 != limits {
            let (mut fits, mut too_long) = (0, bytes_max + 1);
            while too_long - fits > 1 {
                let middle = (fits + too_long) / 2;
                if rate.padded_ppdu_duration(middle, band, padding) <= duration {
                    fits = middle;
                } else {
                    too_long = middle;
                }
            }
            facts.psdu_within = (limits, fits);
        }
        facts.psdu_within.1
    }

    /// Duration of RTS and CTS ahead of a frame at `rate`, without the SIFS after each.
    pub fn protection(&mut self, rate: Rate) -> Duration {
        let facts = self.facts(rate);
        let (rate, clear) = (facts.response, facts.ack);
        self.ppdu_duration(rate, alone(rate, sizes::RTS)) + clear
    }

    /// The response to a frame at `rate`: a Block Ack under an agreement over this many MPDUs, or
    /// an Ack.
    pub fn response(&mut self, rate: Rate, block_ack: Option<u16>) -> Expected {
        let bits = block_ack.map(Bitmap::bits_for);
        let psdu_bytes = bits.map_or(sizes::ACK, sizes::block_ack);
        let band = self.band;
        let facts = self.facts(rate);
        let rate = facts.response;
        let duration = match psdu_bytes {
            sizes::ACK => facts.ack,
            sizes::BLOCK_ACK => facts.block_ack,
            longer => rate.ppdu_duration(alone(rate, longer), band),
        };
        let psdu_bytes = alone(rate, psdu_bytes);
        Expected { rate, duration, psdu_bytes, block_ack: bits.is_some() }
    }
}

/// Length in bytes of a PSDU with this single MPDU; VHT and HE add a delimiter even then.
pub(crate) fn alone(rate: Rate, mpdu_bytes: u32) -> u32 {
    if rate.always_aggregates() { sizes::AMPDU_DELIMITER + mpdu_bytes } else { mpdu_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::OfdmRate;

    const NONE: PacketPadding = PacketPadding::None;

    fn rates() -> Rates {
        Rates {
            band: Band::Ghz5,
            control: ControlRates {
                basic: [OfdmRate::Mbps6, OfdmRate::Mbps24].map(Rate::Ofdm).to_vec(),
            },
            control_preamble: None,
            known: Vec::new(),
            recent: 0,
        }
    }

    /// The longest PSDU within `n` symbols of 4 us follows from 17.4.3. The symbols follow a
    /// preamble of 20 us and carry 16 bits of SERVICE, the PSDU and 6 tail bits: 3 `n` - 3 octets
    /// at 6 Mb/s, 27 `n` - 3 at 54 Mb/s.
    #[test]
    fn the_longest_psdu_within_a_duration() {
        let mut rates = rates();
        let (slow, fast) = (Rate::Ofdm(OfdmRate::Mbps6), Rate::Ofdm(OfdmRate::Mbps54));
        let us = Duration::from_micros;
        for n in 1..150 {
            // Duration and limit change in turns, so that none is remembered wrongly.
            for (rate, longest) in [(slow, 3 * n - 3), (fast, 27 * n - 3)] {
                let whole = us(20 + 4 * u64::from(n));
                for bytes_max in [65_535, longest + 1, longest, longest - longest / 2] {
                    let expected = longest.min(bytes_max);
                    assert_eq!(rates.psdu_within(rate, whole, bytes_max, NONE), expected);
                    let nearly = whole + us(4) - Duration::from_nanos(1);
                    assert_eq!(rates.psdu_within(rate, nearly, bytes_max, NONE), expected);
                }
                assert_eq!(rates.ppdu_duration(rate, longest), whole);
                assert_eq!(rates.ppdu_duration(rate, longest + 1), whole + us(4));
            }
        }
        assert_eq!(rates.psdu_within(slow, us(23), 65_535, NONE), 0);
        assert_eq!(rates.psdu_within(slow, us(1_000_000), 0, NONE), 0);
    }

    /// Responses at 24 Mb/s carry 96 bits a symbol: an Ack of 14 octets, and Block Acks of 20
    /// octets plus bitmaps of 8, 32, 64 and 128 octets, FCS included.
    #[test]
    fn responses_last_as_long_as_their_bitmaps() {
        let mut rates = rates();
        let (slow, fast) = (Rate::Ofdm(OfdmRate::Mbps6), Rate::Ofdm(OfdmRate::Mbps54));
        for (window, psdu_bytes, us) in [
            (None, 14, 28),
            (Some(1), 32, 32),
            (Some(64), 32, 32),
            (Some(65), 56, 40),
            (Some(256), 56, 40),
            (Some(512), 88, 52),
            (Some(1_024), 152, 72),
        ] {
            let response = rates.response(fast, window);
            assert_eq!((response.psdu_bytes, response.block_ack), (psdu_bytes, window.is_some()));
            assert_eq!(response.duration, Duration::from_micros(us));
            assert_eq!(response.rate, Rate::Ofdm(OfdmRate::Mbps24));
            assert_eq!(rates.response(slow, window).rate, slow);
        }
        // 20 us, and 134 bits of 24 a symbol.
        assert_eq!(rates.response(slow, None).duration, Duration::from_micros(44));
        assert_eq!((rates.known.len(), rates.lowest()), (2, slow));
    }
}
