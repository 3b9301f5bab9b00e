//! Channel access of a cell's stations (IEEE 802.11-2020, 10.23.2): packets that enter, EDCAFs that
//! begin to contend, and the stations that send when they gain the channel.
//! [`Contention`] determines the instants of access.

use super::Cell;
use super::edcaf::BEACON_EDCAF;
use super::exchange::content::Exchange;
use super::floor::Floor;
use super::frames::Context;
use super::power::Power;
use super::station::Station;
use crate::mac::contention::{ContenderId, Contention};
use crate::station::{Address, StationId};
use lasthop_packet::Packet;
use lasthop_units::Instant;

impl Cell {
    /// Queues a packet; returns whether the station began to contend because of it.
    pub(super) fn enqueue(&mut self, from: StationId, to: Address, packet: Packet) -> bool {
        let category = packet.access_category.index();
        let contender = self.edcaf(from, category).contender;
        if self.power.has_special() {
            if self.loses_at_once(from, &packet) {
                return false;
            }
            let (station, mut cx) = self.at(from);
            station.enqueue(&mut cx, to, packet);
            let (station, mut cx) = self.at(from);
            station.trim_buffer(&mut cx, category, to);
        } else {
            let (station, mut cx) = self.at(from);
            station.enqueue(&mut cx, to, packet);
        }
        let (station, mut cx) = self.at(from);
        station.fill_driver(&mut cx, category);
        let access = station.edcaf(category);
        if !access.driver.is_used() {
            access.hardware.call();
        }
        station.build_ahead(&mut cx, category, to);
        if self.devices.has(from) {
            return self.floor().arm_links(from, category);
        }
        let begins = !self.contention.is_armed(contender)
            && self.stations[from.index()].arm(&mut self.contention, self.now, category);
        begins
            | (self.stations[from.index()].away.is_some()
                && self.power(|power, floor| power.wake_to_send(floor, from)))
    }

    /// Starts exchanges of all `winners`, which gain the channel now; of the categories of one
    /// station only the highest that still has a frame to send.
    pub(super) fn start_exchanges(&mut self, winners: &[ContenderId]) {
        if let [winner] = winners {
            return self.win(*winner);
        }
        if winners.is_empty() {
            return;
        }
        for rank in (0..=BEACON_EDCAF).rev() {
            for &winner in winners {
                if owner(&self.contention, &self.stations, winner).1 == rank {
                    self.win(winner);
                }
            }
        }
    }

    fn win(&mut self, winner: ContenderId) {
        let (station, edcaf) = owner(&self.contention, &self.stations, winner);
        let engaged = self.stations[station.index()].exchange.is_some();
        let access = self.stations[station.index()].edcaf(edcaf);
        if engaged {
            // Internal collision: the lower category backs off as after
            // a collision on the air (10.23.2.4).
            access.backoff.widen();
            let slots = access.backoff.draw();
            self.contention.set_backoff(winner, slots);
        } else if !self.devices.is_empty()
            && let Err(until) = self.devices.may_begin(self.now, station)
        {
            self.contention.disarm(winner);
            if let Some(until) = until {
                self.timers.rest(until, station, edcaf);
            }
        } else {
            let limit = access.parameters.txop_limit;
            let Self { channels, air, now, stations, contention, .. } = self;
            let state = &mut stations[station.index()];
            if let Some(slots) = channels.must_back_off(air, *now, state, edcaf) {
                return contention.back_off(winner, slots, *now);
            }
            self.start_exchange(station, edcaf, self.now + limit);
        }
    }

    /// Builds the next transmission of `edcaf`, data or a solicitation, if it has one.
    pub(super) fn build(
        &mut self,
        station: StationId,
        edcaf: usize,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        if edcaf == BEACON_EDCAF {
            let beacon = |power: &mut Power, floor: &mut Floor<'_>| {
                power.build_beacon(floor, station, opportunity_end)
            };
            return Some(Exchange::Single(self.power(beacon)));
        }
        if self.settings.has_uplink {
            return self.solicitor().build_either_way(station, edcaf, opportunity_end);
        }
        if self.devices.has(station) {
            return self.build_on_link(station, edcaf, opportunity_end);
        }
        self.build_alone(station, edcaf, opportunity_end)
    }
}

impl Cell {
    #[inline(always)]
    fn build_alone(
        &mut self,
        station: StationId,
        edcaf: usize,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        let Self { now, settings, rates, outbox, power, stations, air, .. } = self;
        let services = &mut power.services;
        let mut cx = Context { now: *now, settings, rates, outbox, services };
        stations[station.index()].build(&mut cx, air, edcaf, opportunity_end)
    }

    /// Builds the next transmission of a link with what its device lends.
    #[cold]
    fn build_on_link(
        &mut self,
        station: StationId,
        edcaf: usize,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        self.floor().lend(station, edcaf);
        let peer = self.stations[station.index()].edcaf(edcaf).peer_to_ask();
        let built = match peer {
            Some(peer) => {
                let (state, mut cx) = self.at(station);
                let request = state.build_request(&mut cx, edcaf, peer, opportunity_end);
                Some(Exchange::Single(request))
            }
            None => self.build_alone(station, edcaf, opportunity_end),
        };
        self.floor().take_back(station, edcaf, built.as_ref());
        if let Some(Exchange::Single(single)) = &built {
            self.wake_links(station, edcaf, single.peer);
        }
        built
    }
}

impl Cell {
    /// Wakes the links of a device that doze, if it has more packets for `peer`.
    fn wake_links(&mut self, station: StationId, edcaf: usize, peer: Address) {
        let Address::Station(to) = peer else { return };
        let head = self.devices.head(station);
        let Some(access) = &self.stations[head.index()].edcafs[edcaf] else { return };
        if access.queue.len_packets_for(Address::Station(self.devices.head(to)).into()) == 0 {
            return;
        }
        self.devices.left_behind(self.now, [station, to]);
        for index in 0..self.devices.links(station).len() {
            let link = self.devices.links(station)[index];
            if self.stations[link.index()].away.is_some() {
                self.power(|power, floor| power.wake_to_send(floor, link));
            }
        }
    }
}

impl Station {
    /// Whether another packet like this one would only be queued: the EDCAF already contends or
    /// sends, and no other procedure depends on new packets.
    pub(super) fn only_queues(&self, contention: &Contention, packet: &Packet) -> bool {
        let edcaf = packet.access_category.index();
        let Station { edcafs, exchange, config, away, .. } = self;
        let Some(access) = &edcafs[edcaf] else { return false };
        let is_busy = contention.is_armed(access.contender)
            || exchange.as_ref().is_some_and(|exchange| exchange.edcaf() == edcaf);
        is_busy
            && away.is_none()
            && config.adaptive_mtu.is_none()
            && !access.driver.is_used()
            && access.link.is_none()
            && !config.aggregation.built_ahead
    }
}

/// The station of a contender, and its EDCAF.
#[inline]
pub(super) fn owner(
    contention: &Contention,
    stations: &[Station],
    contender: ContenderId,
) -> (StationId, usize) {
    let station = contention.station(contender);
    (station, stations[station.index()].edcaf_of(contender))
}
