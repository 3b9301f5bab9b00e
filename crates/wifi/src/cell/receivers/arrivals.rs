//! A-MPDUs whose receivers process them MPDU by MPDU: the MPDUs that arrive, and the end of the
//! PPDU.

use super::Receivers;
use crate::air::Flight;
use crate::cell::arrival::Arrival;
use crate::cell::receiver::{Mpdus, Receiver};
use crate::mac::block_ack::Bitmap;
use crate::station::{Address, StationId};
use lasthop_units::Instant;

impl Receivers<'_> {
    /// Processes the MPDUs whose last bits have arrived by `now`.
    #[inline]
    pub(in crate::cell) fn take_arrived(&mut self, now: Instant) {
        // Nothing that decides about an MPDU looks at what is on the air: the PPDU
        // itself says what it overlapped with.
        let flights = self.air.lend_flights();
        let mut arrivals = core::mem::take(&mut self.arrivals.list);
        if self.devices.is_empty() {
            for arrival in &mut arrivals {
                self.take_one(arrival, &flights, now);
            }
        } else {
            self.take_in_turns(&mut arrivals, &flights, now);
        }
        self.arrivals.list = arrivals;
        self.air.return_flights(flights);
    }

    /// Processes those of one A-MPDU; returns whether it could.
    #[inline]
    fn take_one(&mut self, arrival: &mut Arrival, flights: &[Flight], until: Instant) -> bool {
        if arrival.due > until || self.stations[arrival.sender.index()].exchange.is_none() {
            return false;
        }
        let Some(flight) = flights.iter().find(|f| f.is_payload_of(arrival.sender)) else {
            return false;
        };
        let Arrival { receiver, rate, .. } = *arrival;
        let own = (flight.rate != rate).then(|| flight.to(receiver, rate, flight.psdu_bytes));
        self.advance(arrival, own.as_ref().unwrap_or(flight), until);
        true
    }

    /// Processes those of all A-MPDUs in the order of their arrival: the links of a device share a
    /// reorder buffer.
    #[inline(never)]
    fn take_in_turns(&mut self, arrivals: &mut [Arrival], flights: &[Flight], now: Instant) {
        loop {
            let due = |index: &usize| arrivals[*index].due;
            let Some(first) = (0..arrivals.len()).min_by_key(due).filter(|it| due(it) <= now)
            else {
                return;
            };
            let others = (0..arrivals.len()).filter(|index| *index != first);
            let until = others.map(|index| due(&index)).min().map_or(now, |next| next.min(now));
            let Arrival { receiver, sender, .. } = arrivals[first];
            self.devices.swap_recipients(self.stations, receiver, sender);
            let is_taken = self.take_one(&mut arrivals[first], flights, until);
            self.devices.swap_recipients(self.stations, receiver, sender);
            if !is_taken {
                // Its exchange is over: nobody waits for the rest.
                arrivals[first].due = Instant::MAX;
            }
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
