//! PPDUs at stations that they are not addressed to: mean levels and one threshold for each rate
//! decide, without randomness. A PPDU without overlaps costs one comparison for each station. For
//! overlapped PPDUs the arriving powers are summed for all receivers at once. A station with an
//! older PHY or a narrower channel understands only the legacy preamble.

use super::overlaps::Order;
use super::{Air, Flight, Level, Reduction, SnrThreshold, add_up};
use super::{CROWD, MARGIN, OVERHEARD_BYTES, preamble_threshold};
use crate::capabilities::Generation;
use crate::config::{CellConfig, StationConfig};
use crate::phy::{ChannelWidth, Rate};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::Db;

/// PPDUs that a station understands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Phy {
    generation: Generation,
    width: ChannelWidth,
}

/// Bounds of the powers of a transmitter at all other stations, in mW: at least as far apart as these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    least: f64,
    most: f64,
}

impl Bounds {
    const NONE: Self = Self { least: f64::INFINITY, most: 0.0 };

    /// Extends the bounds to a power.
    pub fn include(&mut self, power_mw: f64) {
        self.least = self.least.min(power_mw);
        self.most = self.most.max(power_mw);
    }
}

/// Outcome at a third station that begins to receive a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overheard {
    /// The station decodes the frame and sets its NAV.
    Decoded,
    /// Reception begins and fails, so EIFS follows.
    Failed,
}

impl Air {
    /// Whether a station senses the PPDU that it is not addressed to.
    #[inline]
    pub fn is_overheard(&self, flight: &Flight) -> bool {
        match (&self.listeners[flight.transmitter.index()][..], flight.receiver) {
            ([], _) => false,
            ([one], Address::Station(receiver)) => *one != receiver,
            _ => true,
        }
    }

    /// Whether every station that senses the PPDU decodes it, apart from its addressee.
    pub fn is_decoded_by_all(&mut self, flight: &Flight) -> bool {
        let needed = self.overhear_threshold(flight.rate);
        !self.is_disturbed_anywhere(flight)
            && self.all_understand(flight)
            && self.weakest[flight.transmitter.index()] >= needed.snr
            && flight.reduction == Reduction::NONE
    }

    /// Calls `notice` with the outcome at every station that senses the PPDU, apart from its
    /// addressee and stations that do not notice it.
    pub fn overhear(&mut self, flight: &Flight, mut notice: impl FnMut(StationId, Overheard)) {
        if self.listeners[flight.transmitter.index()].is_empty() {
            return;
        }
        let needed = self.overhear_threshold(flight.rate);
        if self.is_disturbed_anywhere(flight) {
            return self.overhear_disturbed(flight, needed, notice);
        }
        if !self.all_understand(flight) {
            return self.overhear_mixed(flight, needed, notice);
        }
        let snrs = self.links.row(flight.transmitter);
        for &listener in &self.listeners[flight.transmitter.index()] {
            if flight.receiver == Address::Station(listener) {
                continue;
            }
            notice(
                listener,
                if snrs[listener.index()] >= needed.snr {
                    Overheard::Decoded
                } else {
                    Overheard::Failed
                },
            );
        }
    }

    /// Whether all stations that sense a PPDU understand its PHY.
    fn all_understand(&self, flight: &Flight) -> bool {
        self.are_phys_equal
            || self.listeners[flight.transmitter.index()]
                .iter()
                .all(|&listener| self.understands(listener, flight.rate))
    }

    /// Whether a station understands more of a PPDU at `rate` than its legacy preamble.
    pub(super) fn understands(&self, station: StationId, rate: Rate) -> bool {
        self.are_phys_equal || {
            let Phy { generation, width } = self.phys[station.index()];
            generation >= Generation::from_rate(rate) && width >= rate.width()
        }
    }

    /// Limits the PPDUs that a station understands to `width` from now on.
    pub fn receive_within(&mut self, station: StationId, width: ChannelWidth) {
        self.phys[station.index()].width = width;
        self.are_phys_equal = are_equal(&self.phys);
    }

    /// Does what [`Air::overhear`] does for a PPDU that some stations do not understand: its legacy
    /// preamble gives them its duration, and they wait for EIFS (IEEE 802.11-2020, 10.3.2.3.7).
    #[cold]
    fn overhear_mixed(
        &mut self,
        flight: &Flight,
        needed: SnrThreshold,
        mut notice: impl FnMut(StationId, Overheard),
    ) {
        let snrs = self.links.row(flight.transmitter);
        for &listener in &self.listeners[flight.transmitter.index()] {
            if flight.receiver == Address::Station(listener) {
                continue;
            }
            let is_decoded =
                snrs[listener.index()] >= needed.snr && self.understands(listener, flight.rate);
            notice(listener, if is_decoded { Overheard::Decoded } else { Overheard::Failed });
        }
    }

    /// Does what [`Air::overhear`] does for a PPDU with overlaps. The arriving powers are summed
    /// for all receivers at once, along the rows of the table; candidates are found the same way.
    fn overhear_disturbed(
        &mut self,
        flight: &Flight,
        needed: SnrThreshold,
        mut notice: impl FnMut(StationId, Overheard),
    ) {
        let detected = preamble_threshold(flight.rate);
        let least = needed.linear.min(detected.linear);
        if !self.may_be_noticed(flight, least * (1.0 - MARGIN)) {
            return;
        }
        let is_crowd = flight.overlaps.count() >= CROWD;
        let mut others = core::mem::take(&mut self.others);
        others.clear();
        if is_crowd {
            others.extend(self.interference(flight).map(|other| other.transmitter));
        }
        if is_crowd {
            self.find_candidates_in_crowd(flight, least * (1.0 - MARGIN))
        } else {
            self.find_candidates(flight, least * (1.0 - MARGIN))
        }
        // Whoever detects the preamble hears it by more than all that began with it.
        let snrs = self.links.row(flight.transmitter);
        let powers_mw = &self.powers_mw[flight.transmitter.index() * self.stations..];
        let noise_of_all_mw = match self.noise_of_kind_mw[..] {
            [noise_mw] => Some(noise_mw),
            _ => None,
        };
        let is_first = self.interference(flight).all(|other| other.order == Order::Together);
        for &listener in &self.candidates {
            let listener = StationId(listener);
            let level = Level {
                snr: snrs[listener.index()],
                power_mw: powers_mw[listener.index()],
                noise_mw: match noise_of_all_mw {
                    Some(noise_mw) => noise_mw,
                    None => self.noise_mw(flight.transmitter, listener),
                },
            };
            let interference_mw = if is_crowd {
                others.iter().map(|&other| self.power_mw(other, listener)).sum()
            } else {
                self.interference_mw[listener.index()]
            };
            let is_decoded = level.reaches(needed, interference_mw);
            let is_detected = level.reaches(detected, interference_mw);
            if !is_decoded && !is_detected || flight.receiver == Address::Station(listener) {
                continue;
            }
            let locks = if is_first && is_detected {
                // Who is on the air itself is no candidate, but in a crowd.
                !others.contains(&listener)
            } else {
                self.locks(flight, listener)
            };
            if locks {
                let is_decoded = is_decoded && self.understands(listener, flight.rate);
                notice(listener, if is_decoded { Overheard::Decoded } else { Overheard::Failed });
            }
        }
        self.others = others;
    }

    /// Whether a station may receive a PPDU at `least` times the noise and interference: by the highest
    /// power at which any station hears it, and the lowest at which any hears the others.
    fn may_be_noticed(&self, flight: &Flight, least: f64) -> bool {
        let others = self.interference(flight);
        let powers_mw = others.map(|other| self.bounds[other.transmitter.index()].least);
        let interference_mw: f64 = powers_mw.sum();
        let needed_mw = least * (self.least_noise_mw() + interference_mw) * (1.0 - MARGIN);
        self.bounds[flight.transmitter.index()].most >= needed_mw
    }

    fn least_noise_mw(&self) -> f64 {
        self.noise_of_kind_mw.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Lists the stations that sense a PPDU, do not transmit, and may receive it at `least` times
    /// the noise and interference. The durations of the overlaps do not matter.
    fn find_candidates(&mut self, flight: &Flight, least: f64) {
        self.forget_sum();
        let Self { overlapping, interference_mw, powers_mw, .. } = self;
        let others = overlapping.with(&flight.overlaps).map(|other| other.transmitter);
        add_up(interference_mw, powers_mw, self.stations, others);
        for other in overlapping.with(&flight.overlaps) {
            interference_mw[other.transmitter.index()] = f64::INFINITY;
        }
        self.list_candidates(flight, |noise, interference, _| least * (noise + interference));
    }

    /// Does what [`Air::find_candidates`] does for a PPDU with many overlaps. Such PPDUs share one
    /// sum of all powers; the sum less a PPDU's own power is its interference, up to rounding.
    fn find_candidates_in_crowd(&mut self, flight: &Flight, least: f64) {
        let crowd = self.overlapping.crowd(&flight.overlaps);
        if crowd.is_none() || self.crowd != crowd {
            let others = self.interference(flight).map(|other| other.transmitter);
            let mut all: Vec<StationId> = others.chain([flight.transmitter]).collect();
            all.sort_unstable();
            if self.summed != all {
                let Self { interference_mw, powers_mw, stations, .. } = self;
                add_up(interference_mw, powers_mw, *stations, all.iter().copied());
                self.summed = all;
            }
            self.crowd = crowd;
        }
        let (least, rounded) = (least * (1.0 - MARGIN), least * MARGIN);
        self.list_candidates(flight, |noise, all, own| {
            least * (noise + (all - own)) - rounded * all
        });
    }

    /// Marks the kept sum as out of date.
    pub(super) fn forget_sum(&mut self) {
        self.summed.clear();
        self.crowd = None;
    }

    /// Lists the stations that sense a PPDU and receive it with at least the `needed` power, a
    /// function of their noise, the kept sum, and the PPDU's own power.
    fn list_candidates(&mut self, flight: &Flight, needed: impl Fn(f64, f64, f64) -> f64) {
        let Self { interference_mw, candidates, powers_mw, noise_mw, stations, .. } = self;
        let row = &powers_mw[flight.transmitter.index() * *stations..][..*stations];
        let least_mw = self.carrier_sense_mw;
        let is_one = |own: f64, summed: f64, noise: f64| {
            (own >= needed(noise, summed, own)) & (own >= least_mw)
        };
        candidates.clear();
        // By groups of eight, whose comparisons become a number: about every third is a candidate.
        let (rows, sums, noises) =
            (row.as_chunks::<8>(), interference_mw.as_chunks::<8>(), noise_mw.as_chunks::<8>());
        for (first, ((own, summed), noise)) in
            (0..).step_by(8).zip(rows.0.iter().zip(sums.0).zip(noises.0))
        {
            let mut found = 0_u32;
            for place in 0..8 {
                found |= u32::from(is_one(own[place], summed[place], noise[place])) << place;
            }
            while found != 0 {
                candidates.push(first + found.trailing_zeros() as u16);
                found &= found - 1;
            }
        }
        let first = 8 * rows.0.len() as u16;
        for (place, ((own, summed), noise)) in
            (first..).zip(rows.1.iter().zip(sums.1).zip(noises.1))
        {
            if is_one(*own, *summed, *noise) {
                candidates.push(place);
            }
        }
    }

    /// The SNR from which on PPDUs at `rate` are overheard.
    pub(super) fn overhear_threshold(&mut self, rate: Rate) -> SnrThreshold {
        if let Some((_, threshold)) = self.overhear_snr.iter().find(|(known, _)| *known == rate) {
            return *threshold;
        }
        let mut snr = self.error_model.sensitivity_snr(rate, 0.5, OVERHEARD_BYTES);
        if rate.is_extended_range() {
            // The data may get further than the header.
            let header = self.error_model.header_sensitivity_snr(rate, 0.5);
            snr = Db(snr.0.max(header.0));
        }
        let threshold = SnrThreshold::new(snr);
        self.overhear_snr.push((rate, threshold));
        threshold
    }
}

/// The bounds of the powers of each transmitter, given the powers of all.
pub(super) fn bounds(powers_mw: &[f64], stations: usize) -> Vec<Bounds> {
    let bounds_of = |(from, row): (usize, &[f64])| {
        let mut bounds = Bounds::NONE;
        let others = row.iter().enumerate().filter(|(to, _)| *to != from);
        others.for_each(|(_, power_mw)| bounds.include(*power_mw));
        bounds
    };
    powers_mw.chunks_exact(stations.max(1)).enumerate().map(bounds_of).collect()
}

/// The PHY of each station.
pub(super) fn phys(config: &CellConfig) -> Vec<Phy> {
    let phy = |station: &StationConfig| Phy {
        generation: station.capabilities.generation(),
        width: station.capabilities.width(),
    };
    config.stations.iter().map(phy).collect()
}

/// Whether all stations have the same PHY.
pub(super) fn are_equal(phys: &[Phy]) -> bool {
    phys.iter().all(|one| *one == phys[0])
}
