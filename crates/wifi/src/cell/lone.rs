//! A frame exchange that is alone on the air, from its data to the end of the response, as one step
//! (IEEE 802.11-2020, 10.3.2.11). No other station can begin a PPDU if all stations sense both
//! ends, no other exchange is under way, no timer ends before the response does, and no packet
//! enters the cell: each wake-up in between would find only the next part of this exchange.
//!
//! The parts are those of single steps, at their own instants. If a driver has to act at the end
//! of the data, as on a delivered packet that is not passive, the step ends there. Leaves out exchanges
//! of several frames or several stations.

use super::Cell;
use super::exchange::content::Exchange;
use crate::air::{Carried, Content, Flight};
use crate::station::Address;
use lasthop_units::Instant;

/// Instants of an exchange that no other station can disturb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LoneExchange {
    /// End of the PPDU that is on the air.
    data_ends: Instant,
    response_begins: Instant,
    response_ends: Instant,
}

impl Cell {
    /// The exchange whose data began now, if no other station can disturb it and its response ends
    /// by `limit`.
    #[inline]
    pub(super) fn lone_exchange(&self, limit: Instant) -> Option<LoneExchange> {
        let begins =
            |flight: &&Flight| flight.start == self.now && flight.carried == Carried::Payload;
        let flight = self.air.lone().filter(begins)?;
        let Address::Station(receiver) = flight.receiver else { return None };
        let (data_ends, response_ends) = (flight.end, flight.reserves_until);
        let response_begins = data_ends + self.settings.timing.sifs;
        let sender = &self.stations[flight.transmitter.index()];
        let receiver = &self.stations[receiver.index()];
        let has_data = matches!(
            &sender.exchange,
            Some(Exchange::Single(single)) if matches!(single.content, Content::Data { .. })
        );
        let is_lone = response_ends <= limit
            && has_data
            && self.channels.are_plain()
            && self.devices.is_empty()
            && [sender, receiver].iter().all(|station| {
                station.away.is_none() && self.contention.is_sensed_by_all(station.id)
            })
            && !self.power.has_services()
            && !self.power.is_flushing()
            && self.outbox.is_empty()
            && self.arrivals.next_prompt() == Instant::MAX
            && self.outbox.next_interrupt > response_ends
            && self.timers.are_quiet(response_ends);
        is_lone.then_some(LoneExchange { data_ends, response_begins, response_ends })
    }

    /// Performs a lone exchange to its end, or up to where something else has to happen.
    pub(super) fn complete(&mut self, exchange: LoneExchange) {
        let LoneExchange { data_ends, response_begins, response_ends } = exchange;
        self.now = data_ends;
        self.end_ppdus();
        self.timers.interrupt = self.outbox.next_interrupt;
        if !self.outbox.is_passive() || !self.contention.is_quiet(response_begins) {
            return;
        }
        let response = self.timers.take_lone_response(response_begins, response_ends);
        let Some((station, response)) = response else { return };
        let mut flight = response.flight(station, response_begins);
        self.stations[station.index()].stats.airtime += response.duration;
        self.contention.transmission_starts(station, response_begins);
        self.air.pass(&mut flight);
        self.now = response_ends;
        self.end_ppdu(&flight);
    }
}
