//! The air of a cell: the PPDUs that are on it, what they do to each other at
//! every receiver, and what each pair of stations hears of the other.
//!
//! A receiver locks to the first PPDU it senses; a later one is lost to it
//! unless it is stronger by the capture margin and arrives during the first
//! one's preamble and header. What the receiver is locked to survives by its
//! SINR, MPDU by MPDU. Interference counts at mean power: fading applies to the
//! wanted signal only.

use super::config::{CellConfig, PairConfig};
use super::{Address, CellError, StationId};
use crate::phy::{Band, ErrorModel, Link, Rate};
use alloc::vec::Vec;
use lasthop_units::{Db, Dbm, Instant, Probability, Seed};

/// SINR below which no preamble is detected: such a PPDU only makes the medium
/// busy, no reception begins, and no EIFS follows (ns-3 assumes the same).
const PREAMBLE_DETECTION: Db = Db(4.0);

/// A station overhears a frame (and minds its Duration field) from the SNR on
/// at which half the frames of this length at this rate get through.
const OVERHEARD_BYTES: u32 = 500;

/// What a PPDU carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Carried {
    /// The frame of its transmitter's exchange.
    Payload,
    Rts,
    Cts,
    Ack,
    BlockAck {
        /// Bit n: MPDU n of the exchange it answers is acknowledged.
        acked: u64,
    },
}

/// A PPDU on the air.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flight {
    pub transmitter: StationId,
    pub receiver: Address,
    pub start: Instant,
    pub end: Instant,
    pub rate: Rate,
    pub psdu_bytes: u32,
    /// Until when its Duration field reserves the medium.
    pub reserves_until: Instant,
    pub carried: Carried,
    /// The PPDUs that overlapped with it.
    pub interference: Vec<Interference>,
}

/// Another PPDU that overlapped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interference {
    transmitter: StationId,
    start: Instant,
    end: Instant,
    /// End of its preamble and header.
    header_end: Instant,
}

/// All that is on the air, and all pairs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Air {
    band: Band,
    stations: usize,
    error_model: ErrorModel,
    capture_margin: Option<Db>,
    carrier_sense: Dbm,
    flights: Vec<Flight>,
    /// By transmitter * stations + receiver; none from a station to itself.
    pairs: Vec<Option<Pair>>,
    /// SNR from which on a rate is overheard, for the rates asked for so far.
    overhear_snr: Vec<(Rate, Db)>,
}

/// What a receiver hears of a transmitter.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    link: Link,
    noise_mw: f64,
    mean_mw: f64,
    mean_snr: Db,
    /// SNR of the last PPDU.
    last_snr: Db,
    /// The last answers of the error model.
    memo: [Memo; 2],
    memo_next: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Memo {
    rate: Option<Rate>,
    snr: Db,
    bytes: u32,
    success: Probability,
}

/// What a third station makes of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overheard {
    /// It decodes the frame: NAV.
    Decoded,
    /// It begins to receive and fails: EIFS.
    Failed,
    /// No reception begins.
    Unnoticed,
}

impl Air {
    pub fn new(config: &CellConfig, seed: Seed) -> Result<Self, CellError> {
        let stations = config.stations.len();
        let mut pairs: Vec<Option<Pair>> = alloc::vec![None; stations * stations];
        for PairConfig { from, to, link } in &config.links {
            // Both directions of a pair fade together.
            let (low, high) = (from.min(to), from.max(to));
            let index = (low.index() * stations + high.index()) as u64;
            let forgotten = Memo { rate: None, snr: Db(0.0), bytes: 0, success: Probability::ZERO };
            pairs[from.index() * stations + to.index()] = Some(Pair {
                link: Link::new(*link, seed.indexed("cell/link", index)),
                noise_mw: link.noise.as_milliwatts(),
                mean_mw: (link.noise + link.snr).as_milliwatts(),
                mean_snr: link.snr,
                last_snr: link.snr,
                memo: [forgotten; 2],
                memo_next: false,
            });
        }
        for from in 0..stations {
            for to in 0..stations {
                if from != to && pairs[from * stations + to].is_none() {
                    return Err(CellError::MissingLink(from as u16, to as u16));
                }
            }
        }
        Ok(Self {
            band: config.band,
            stations,
            error_model: config.error_model.clone(),
            capture_margin: config.capture_margin,
            carrier_sense: config.carrier_sense,
            flights: Vec::new(),
            pairs,
            overhear_snr: Vec::new(),
        })
    }

    pub fn error_model(&self) -> &ErrorModel {
        &self.error_model
    }

    /// `[s][t]`: station `s` senses transmissions of station `t`.
    pub fn sense_matrix(&self) -> Vec<Vec<bool>> {
        let sense_mw = self.carrier_sense.as_milliwatts();
        let senses = |listener: usize, transmitter: usize| {
            let pair = &self.pairs[transmitter * self.stations + listener];
            pair.as_ref().is_none_or(|pair| pair.mean_mw >= sense_mw)
        };
        let row = |listener| (0..self.stations).map(|t| senses(listener, t)).collect();
        (0..self.stations).map(row).collect()
    }

    pub fn begin(&mut self, mut flight: Flight) {
        let of = |flight: &Flight, band| Interference {
            transmitter: flight.transmitter,
            start: flight.start,
            end: flight.end,
            header_end: flight.start + flight.rate.preamble_and_header(band),
        };
        for other in &mut self.flights {
            if other.end > flight.start {
                other.interference.push(of(&flight, self.band));
                flight.interference.push(of(other, self.band));
            }
        }
        self.flights.push(flight);
    }

    pub fn next_end(&self) -> Option<Instant> {
        self.flights.iter().map(|flight| flight.end).min()
    }

    /// Takes a PPDU that ends at `now` off the air, in the order they began.
    pub fn end(&mut self, now: Instant) -> Option<Flight> {
        let index = self.flights.iter().position(|flight| flight.end == now)?;
        Some(self.flights.remove(index))
    }

    /// SNR of the last PPDU from one station to another; a plain good one to itself.
    pub fn last_snr(&self, from: StationId, to: StationId) -> Db {
        self.pairs[from.index() * self.stations + to.index()]
            .as_ref()
            .map_or(Db(0.0), |pair| pair.last_snr)
    }

    /// Mean power that arrives from one station at another.
    pub fn mean_power(&self, from: StationId, to: StationId) -> Option<Dbm> {
        let pair = self.pairs[from.index() * self.stations + to.index()].as_ref()?;
        Some(Dbm::from_milliwatts(pair.mean_mw))
    }

    /// Whether `receiver` locks to the PPDU at all: it was not on the air
    /// itself, and nothing else had or took its attention.
    pub fn locks(&self, flight: &Flight, receiver: StationId) -> bool {
        if flight.interference.is_empty() {
            return true;
        }
        let power = self.mean_dbm(flight.transmitter, receiver);
        let header_end = flight.start + flight.rate.preamble_and_header(self.band);
        flight.interference.iter().all(|other| {
            if other.transmitter == receiver {
                return false;
            }
            let theirs = self.mean_dbm(other.transmitter, receiver);
            if theirs < self.carrier_sense {
                return true;
            }
            let captures = |winner: Dbm, loser: Dbm| {
                self.capture_margin.is_some_and(|margin| winner - loser >= margin)
            };
            if other.start < flight.start {
                flight.start < other.header_end && captures(power, theirs)
            } else if other.start == flight.start {
                power > theirs
            } else {
                !(other.start < header_end && captures(theirs, power))
            }
        })
    }

    /// Something else arrived at `receiver` while the PPDU was on the air.
    pub fn is_disturbed(&self, flight: &Flight, receiver: StationId) -> bool {
        flight.interference.iter().any(|other| {
            other.transmitter == receiver
                || self.mean_dbm(other.transmitter, receiver) >= self.carrier_sense
        })
    }

    /// SNR of a PPDU at its receiver, fading included; remembered as the last.
    pub fn snr(&mut self, flight: &Flight, receiver: StationId) -> Db {
        let pair = self.pair_mut(flight.transmitter, receiver);
        pair.last_snr = pair.link.snr(flight.start);
        pair.last_snr
    }

    /// Probability that the preamble and header are decoded.
    pub fn header_success(&mut self, flight: &Flight, receiver: StationId, snr: Db) -> Probability {
        if self.pair_mut(flight.transmitter, receiver).link.loss().is_some()
            && flight.interference.is_empty()
        {
            return Probability::ONE;
        }
        let header_end = flight.start + flight.rate.preamble_and_header(self.band);
        let sinr = self.sinr(flight, receiver, snr, flight.start, header_end);
        if sinr < PREAMBLE_DETECTION && !flight.interference.is_empty() {
            return Probability::ZERO;
        }
        self.remembered(flight, receiver, sinr, u32::MAX)
    }

    /// Probability that an MPDU of `bytes`, on the air from `from` to `until`, is decoded.
    pub fn mpdu_success(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        bytes: u32,
        (from, until): (Instant, Instant),
    ) -> Probability {
        let sinr = self.sinr(flight, receiver, snr, from, until);
        let by_loss = self.pair_mut(flight.transmitter, receiver).link.loss();
        match by_loss {
            Some(loss) if flight.interference.is_empty() => loss.complement(),
            Some(loss) => loss.complement() * self.remembered(flight, receiver, sinr, bytes),
            None => self.remembered(flight, receiver, sinr, bytes),
        }
    }

    /// What a station that is not addressed makes of a PPDU that it senses.
    pub fn overheard(&mut self, flight: &Flight, listener: StationId) -> Overheard {
        let needed = self.overhear_snr(flight.rate);
        let pair = self.pairs[flight.transmitter.index() * self.stations + listener.index()]
            .as_ref()
            .expect("a station does not overhear itself");
        if flight.interference.is_empty() {
            return match pair.mean_snr >= needed {
                true => Overheard::Decoded,
                false => Overheard::Failed,
            };
        }
        if !self.locks(flight, listener) {
            return Overheard::Unnoticed;
        }
        let snr = pair.mean_snr;
        let sinr = self.sinr(flight, listener, snr, flight.start, flight.end);
        if sinr >= needed {
            Overheard::Decoded
        } else if sinr >= PREAMBLE_DETECTION {
            Overheard::Failed
        } else {
            Overheard::Unnoticed
        }
    }

    fn overhear_snr(&mut self, rate: Rate) -> Db {
        if let Some((_, snr)) = self.overhear_snr.iter().find(|(known, _)| *known == rate) {
            return *snr;
        }
        let snr = self.error_model.sensitivity_snr(rate, 0.5, OVERHEARD_BYTES);
        self.overhear_snr.push((rate, snr));
        snr
    }

    /// The worst SINR between two instants.
    fn sinr(
        &self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        from: Instant,
        until: Instant,
    ) -> Db {
        let overlapping = flight.interference.iter().filter(|i| i.start < until && i.end > from);
        let interference_mw: f64 = overlapping
            .filter_map(|i| self.pair(i.transmitter, receiver))
            .map(|pair| pair.mean_mw)
            .sum();
        if interference_mw == 0.0 {
            return snr;
        }
        let noise_mw = self.pair(flight.transmitter, receiver).map_or(0.0, |pair| pair.noise_mw);
        snr - Db::from_linear(1.0 + interference_mw / noise_mw)
    }

    /// The error model's answer, remembered: most PPDUs ask the same again.
    /// `u32::MAX` bytes stand for the header.
    fn remembered(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        bytes: u32,
    ) -> Probability {
        let index = flight.transmitter.index() * self.stations + receiver.index();
        let Self { error_model, pairs, .. } = self;
        let pair = pairs[index].as_mut().expect("a station does not hear itself");
        let rate = flight.rate;
        let matches = |m: &&Memo| m.rate == Some(rate) && m.snr == snr && m.bytes == bytes;
        if let Some(memo) = pair.memo.iter().find(matches) {
            return memo.success;
        }
        let success = match bytes {
            u32::MAX => error_model.header_success(rate, snr),
            _ => error_model.success(rate, snr, bytes),
        };
        pair.memo[usize::from(pair.memo_next)] = Memo { rate: Some(rate), snr, bytes, success };
        pair.memo_next = !pair.memo_next;
        success
    }

    fn mean_dbm(&self, from: StationId, to: StationId) -> Dbm {
        self.mean_power(from, to).unwrap_or(Dbm(f64::NEG_INFINITY))
    }

    fn pair(&self, from: StationId, to: StationId) -> Option<&Pair> {
        self.pairs[from.index() * self.stations + to.index()].as_ref()
    }

    fn pair_mut(&mut self, from: StationId, to: StationId) -> &mut Pair {
        self.pairs[from.index() * self.stations + to.index()]
            .as_mut()
            .expect("a station does not hear itself")
    }
}
