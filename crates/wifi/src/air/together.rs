//! Interferers that are on the air with a PPDU at the same instant, needed with spatial reuse or
//! with sets on different channels. One list serves all stations that hear the PPDU. With twenty
//! neighbouring sets it overlaps with some hundred others, only a few of them at a time.
//!
//! Powers are in mW, means of the link; sums are in the order in which the PPDUs began.

use super::overlaps::Interference;
use super::{Air, Flight, Interval};
use crate::station::StationId;
use alloc::vec::Vec;
use core::ops::Range;
use lasthop_units::Instant;

/// PPDUs that overlap with one PPDU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together {
    /// Number of that PPDU, and number of PPDUs that had begun then.
    of: Option<(u64, u64)>,
    others: Vec<Other>,
    /// Whether a PPDU overlaps at some station that senses this one.
    pub is_somewhere: bool,
    /// Instants at which the set of interferers changes, each with a range of `present`;
    /// interferers may have ended since.
    moments: Vec<(Instant, Range<usize>)>,
    /// Indices of `others` that also overlap with the PPDU in frequency.
    present: Vec<u32>,
}

/// A PPDU that overlaps in time.
#[derive(Clone, Debug)]
struct Other {
    interference: Interference,
    /// Whether it also overlaps in frequency.
    falls_on: bool,
    /// Factor by which its power counts, relative to the noise of the whole channel.
    share_of_noise: f64,
}

/// Kept results are no part of equality.
impl PartialEq for Together {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Together {
    /// Lists the PPDUs that overlap with one so far.
    fn list(&mut self, air: &Air, flight: &Flight) {
        let Self { of, others, is_somewhere, moments, present } = self;
        *of = Some(air.moment_of(flight));
        others.clear();
        moments.clear();
        present.clear();
        others.extend(air.interference(flight).map(|interference| Other {
            falls_on: air.falls_on(flight, &interference),
            share_of_noise: air.share_of_noise(flight, &interference),
            interference,
        }));
        let listeners = &air.listeners[flight.transmitter.index()];
        *is_somewhere = others.iter().any(|other| {
            let is_at = |&at: &StationId| {
                other.interference.transmitter == at
                    || other.falls_on && air.is_above_floor(&other.interference, at)
            };
            listeners.iter().any(is_at)
        });
        let mut next = 0;
        let mut at = flight.start;
        loop {
            // Who was there at the last moment and did not end, and who began since.
            let before = moments.last().map_or(0..0, |(_, range)| range.clone());
            let first = present.len();
            for index in before {
                let index = present[index];
                if others[index as usize].interference.end > at {
                    present.push(index);
                }
            }
            while let Some(other) = others.get(next).filter(|it| it.interference.start <= at) {
                if other.falls_on && other.interference.end > at {
                    present.push(next as u32);
                }
                next += 1;
            }
            moments.push((at, first..present.len()));
            match others.get(next) {
                Some(other) => at = other.interference.start,
                None => break,
            }
        }
    }

    /// The PPDUs that overlap in time, in the order in which they began.
    pub(super) fn interference(&self) -> impl Iterator<Item = Interference> {
        self.others.iter().map(|other| other.interference)
    }

    /// The highest sum of overlapping powers at an instant of a span.
    pub fn most_mw(
        &self,
        air: &Air,
        receiver: StationId,
        Interval { from, until }: Interval,
    ) -> f64 {
        let sum = |range: &Range<usize>, at: Instant| -> f64 {
            let others = self.present[range.clone()].iter().map(|&it| &self.others[it as usize]);
            let others = others.filter(|other| other.interference.end > at);
            // A station hears nothing of itself.
            let others = others.filter(|other| air.is_above_floor(&other.interference, receiver));
            let power_mw = |other: &Other| air.power_of(&other.interference, receiver);
            others.map(|other| power_mw(other) * other.share_of_noise).sum()
        };
        let later = self.moments.partition_point(|(at, _)| *at <= from);
        let first = later.checked_sub(1).map_or(0.0, |now| sum(&self.moments[now].1, from));
        let rest = self.moments[later..].iter().take_while(|(at, _)| *at < until);
        rest.map(|(at, range)| sum(range, *at)).fold(first, f64::max)
    }
}

impl Air {
    /// Lists the PPDUs that overlap with one, for all later queries about it.
    #[inline]
    pub(super) fn gather(&mut self, flight: &Flight) {
        if self.is_timed && !flight.overlaps.is_none() {
            self.gather_overlapping(flight);
        }
    }

    #[inline(never)]
    fn gather_overlapping(&mut self, flight: &Flight) {
        if self.gathered(flight).is_none() {
            let mut together = core::mem::take(&mut self.together);
            together.list(self, flight);
            self.together = together;
        }
    }

    /// The kept list, if it belongs to this PPDU and no PPDU began since.
    #[inline]
    pub(super) fn gathered(&self, flight: &Flight) -> Option<&Together> {
        let is_its = || self.together.of == Some(self.moment_of(flight));
        (self.is_timed && is_its()).then_some(&self.together)
    }

    fn moment_of(&self, flight: &Flight) -> (u64, u64) {
        (flight.overlaps.number(), self.overlapping.next_number())
    }

    /// The highest sum of powers in mW that overlap with a PPDU at an instant of a span. When sets
    /// send at the same time, a data frame and the Ack after it usually overlap with a PPDU of
    /// another set in succession.
    pub(super) fn most_interference_mw(
        &self,
        flight: &Flight,
        receiver: StationId,
        span: Interval,
    ) -> f64 {
        if let Some(together) = self.gathered(flight) {
            return together.most_mw(self, receiver, span);
        }
        self.together_with(flight).most_mw(self, receiver, span)
    }

    /// Lists the PPDUs that overlap with one so far.
    pub fn together_with(&self, flight: &Flight) -> Together {
        let mut together = Together::default();
        together.list(self, flight);
        together
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::{Carried, Overlaps, Reduction};
    use crate::cell::tests::{cell, mcs};
    use crate::phy::{Band, ChannelWidth, GuardInterval, Rate, Subchannel};
    use crate::station::Address;
    use lasthop_units::{Db, Dbm, Duration, Seed};
    use proptest::prelude::*;

    const STATIONS: u16 = 6;

    fn rate(is_wide: bool) -> Rate {
        let width = if is_wide { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 };
        mcs(0, width, GuardInterval::Long)
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// Stations on separate channels, with these SNRs by transmitter and receiver.
    fn air(snrs: &[f64], channels: &[u8]) -> Air {
        let mut config = cell(usize::from(STATIONS) - 1, rate(true), ChannelWidth::Mhz40, 65_535);
        config.change_links(|pair| {
            pair.link.snr = Db(snrs[usize::from(pair.from.0 * STATIONS + pair.to.0)]);
            pair.link.noise = Dbm(-94.0);
        });
        let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
        air.is_timed = true;
        air.primaries = channels
            .iter()
            .map(|place| Subchannel::from_number(Band::Ghz5, 36 + 4 * place).expect("a channel"))
            .collect();
        air
    }

    /// Interference with the PPDU at an instant, of all PPDUs ever sent.
    fn disturbed_mw(
        air: &Air,
        all: &[Flight],
        own: usize,
        receiver: StationId,
        at: Instant,
    ) -> f64 {
        let mut sum = 0.0;
        for (index, other) in all.iter().enumerate() {
            let (flight, from) = (&all[own], other.transmitter);
            let width = flight.rate.width().max(other.rate.width());
            let is_there = other.start <= at && other.end > at && from != receiver;
            let [one, two] = [flight.transmitter, from].map(|it| air.primaries[it.index()]);
            let power_mw = air.power_mw(from, receiver);
            if index != own
                && is_there
                && one.shares(two, width)
                && power_mw >= Dbm(-114.0).as_milliwatts()
            {
                // Half of the noise is in 20 MHz.
                sum += if width == ChannelWidth::Mhz20 { 2.0 * power_mw } else { power_mw };
            }
        }
        sum
    }

    proptest! {
        /// The highest sum is that of some instant of the span, whether the list was made for this
        /// PPDU, for another one, or not at all.
        #[test]
        fn the_most_at_once_is_that_of_some_instant(
            // The gap to the one before, its length, whose it is, and whether it is wide.
            ppdus in proptest::collection::vec(
                (0u64..40, 1u64..120, 0..STATIONS, any::<bool>()), 2..40),
            snrs in proptest::collection::vec(-25.0..40.0f64, usize::from(STATIONS * STATIONS)),
            channels in proptest::collection::vec(0u8..4, usize::from(STATIONS)),
            (early, late) in (0.0..1.0f64, 0.0..1.0f64),
        ) {
            let mut air = air(&snrs, &channels);
            let (mut all, mut now) = (Vec::new(), 0);
            for (gap, length, transmitter, is_wide) in ppdus {
                now += gap;
                all.push(Flight {
                    transmitter: StationId(transmitter),
                    receiver: Address::Group,
                    start: at(now),
                    end: at(now + length),
                    rate: rate(is_wide),
                    psdu_bytes: 100,
                    reserves_until: at(now + length),
                    carried: Carried::Payload,
                    overlaps: Overlaps::NONE,
                    reduction: Reduction::NONE,
                });
            }
            let mut begun = 0;
            let mut asked = 0;
            while asked < all.len() {
                let end = air.next_end();
                if let Some(next) = all.get(begun).filter(|next| next.start < end) {
                    air.begin(next.clone());
                    begun += 1;
                    continue;
                }
                let flight = air.end(end).expect("it ends");
                let is_own = |it: &Flight| {
                    (it.start, it.end, it.transmitter, it.rate)
                        == (flight.start, flight.end, flight.transmitter, flight.rate)
                };
                let own = all.iter().position(is_own).expect("it began");
                let length = flight.end - flight.start;
                let from = flight.start + length.mul_f64(early.min(late));
                let until = flight.start + length.mul_f64(early.max(late));
                let starts = all.iter().map(|it| it.start);
                let instants: Vec<_> = starts
                    .filter(|start| *start > from && *start < until)
                    .chain([from])
                    .collect();
                for receiver in (0..STATIONS).map(StationId) {
                    let sums = instants.iter().map(|&at| disturbed_mw(&air, &all, own, receiver, at));
                    let expected = sums.fold(0.0, f64::max);
                    let ask = |air: &Air| air.most_interference_mw(&flight, receiver, Interval { from, until });
                    let listed = ask(&air);
                    let near = (listed - expected).abs() <= 1e-9 * expected;
                    prop_assert!(near, "{listed} {expected}");
                    air.together = Together::default();
                    prop_assert_eq!(ask(&air), listed);
                    air.gather(&flight);
                    prop_assert_eq!(ask(&air), listed);
                }
                air.forget(flight);
                asked += 1;
            }
        }
    }
}
