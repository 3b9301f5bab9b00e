//! A-MPDUs whose receivers process them MPDU by MPDU: the MPDUs that arrive, and the end of the
//! PPDU.

use super::Receivers;
use crate::air::Flight;
use crate::cell::arrival::Arrival;
use crate::cell::receiver::{Mpdus, Receiver};
use crate::cell::station::Station;
use crate::mac::block_ack::Bitmap;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::Instant;

impl Receivers<'_> {
    /// Processes the MPDUs whose last bits have arrived by `now`.
    #[inline]
    pub(in crate::cell) fn take_arrived(&mut self, now: Instant) {
        self.take_arrived_with(now, None);
    }

    /// Does the same, with those of a PPDU that ended now.
    #[inline]
    pub(in crate::cell) fn take_arrived_with(&mut self, now: Instant, ended: Option<&Flight>) {
        // Nothing that decides about an MPDU looks at what is on the air: the PPDU
        // itself says what it overlapped with.
        let flights = self.air.lend_flights();
        let mut arrivals = core::mem::take(&mut self.arrivals.list);
        if self.devices.is_empty() {
            for arrival in &mut arrivals {
                self.take_one(arrival, flights.iter(), now);
            }
        } else {
            self.take_in_turns(&mut arrivals, &flights, ended, now);
        }
        self.arrivals.list = arrivals;
        self.air.return_flights(flights);
    }

    /// Processes those of one A-MPDU.
    #[inline]
    fn take_one<'f>(
        &mut self,
        arrival: &mut Arrival,
        mut flights: impl Iterator<Item = &'f Flight>,
        until: Instant,
    ) {
        if arrival.due > until || self.stations[arrival.sender.index()].exchange.is_none() {
            return;
        }
        let Some(flight) = flights.find(|f| f.is_payload_of(arrival.sender)) else {
            return;
        };
        let Arrival { receiver, rate, .. } = *arrival;
        let own = (flight.rate != rate).then(|| flight.to(receiver, rate, flight.psdu_bytes));
        self.advance(arrival, own.as_ref().unwrap_or(flight), until);
    }

    /// Processes those of all A-MPDUs in the order of their arrival: the links of a device share a
    /// reorder buffer.
    #[inline(never)]
    fn take_in_turns(
        &mut self,
        arrivals: &mut [Arrival],
        flights: &[Flight],
        ended: Option<&Flight>,
        now: Instant,
    ) {
        let flights = || flights.iter().chain(ended);
        let is_there = |arrival: &Arrival, stations: &[Station]| {
            stations[arrival.sender.index()].exchange.is_some()
                && flights().any(|flight| flight.is_payload_of(arrival.sender))
        };
        let there: Vec<usize> =
            (0..arrivals.len()).filter(|it| is_there(&arrivals[*it], self.stations)).collect();
        loop {
            let due = |index: &usize| arrivals[*index].due;
            let first = there.iter().copied().min_by_key(due);
            let Some(first) = first.filter(|first| due(first) <= now) else { return };
            let others = there.iter().copied().filter(|index| *index != first);
            let until = others.map(|index| due(&index)).min().map_or(now, |next| next.min(now));
            let Arrival { receiver, sender, .. } = arrivals[first];
            self.devices.swap_recipients(self.stations, receiver, sender);
            let mark = self.devices.mark(self.outbox, sender, receiver);
            let before = arrivals[first].rest().start;
            self.take_one(&mut arrivals[first], flights(), until);
            if let Some(mark) = mark {
                self.record_arrivals(&arrivals[first], before, mark);
            }
            self.devices.swap_recipients(self.stations, receiver, sender);
        }
    }

    /// Processes the rest of the PPDU of `flight`, which ended. Returns the decoded MPDUs;
    /// `Some(None)` if not even the header was decoded. Returns `None` if the receiver does not
    /// process it MPDU by MPDU.
    #[inline]
    pub(in crate::cell) fn end_arrival(
        &mut self,
        flight: &Flight,
        receiver: StationId,
    ) -> Option<Option<Bitmap>> {
        if self.arrivals.is_empty() {
            return None;
        }
        self.end_one(flight, receiver)
    }

    #[inline(never)]
    fn end_one(&mut self, flight: &Flight, receiver: StationId) -> Option<Option<Bitmap>> {
        let mut arrival = self.arrivals.take(flight.transmitter, receiver)?;
        self.advance(&mut arrival, flight, flight.end);
        // It may have begun to send itself, or left, since the first MPDU was in.
        let is_kept = (flight.overlaps.is_none() || self.air.locks(flight, receiver))
            && !self.stations[receiver.index()].misses(self.air, flight);
        Some(arrival.received().filter(|_| is_kept))
    }

    /// Advances an A-MPDU to the first MPDU that has not arrived by `until`.
    #[inline]
    fn advance(&mut self, arrival: &mut Arrival, flight: &Flight, until: Instant) {
        let Arrival { sender, receiver, edcaf, originator, .. } = *arrival;
        let peer = Address::Station(receiver);
        let is_patient = !self.outbox.records && !self.roster().has_absences(sender, peer);
        let waits = self.waits_of(sender, peer, edcaf, arrival.rest());
        let Self { now, air, outbox, timers, stations, .. } = self;
        let both = stations.get_disjoint_mut([sender.index(), receiver.index()]);
        let [theirs, state] = both.expect("nobody receives his own PPDU");
        let mut mpdus = Mpdus::new(&mut theirs.edcaf(edcaf).originators[originator]);
        let mut ear = Receiver { now: *now, air, outbox, timers, state };
        arrival.advance(&mut ear, &mut mpdus, flight, &waits, is_patient, until);
    }
}
