//! Channel access of a cell's stations (IEEE 802.11-2020, 10.23.2): packets that enter, EDCAFs that
//! begin to contend, and the stations that send when they gain the channel.
//! [`Contention`](crate::mac::contention::Contention) determines the instants of access.

use super::Cell;
use super::bss::Bss;
use super::content::Exchange;
use super::edcaf::BEACON_EDCAF;
use super::frames::Context;
use super::single::Single;
use super::station::Station;
use crate::air::Content;
use crate::mac::contention::ContenderId;
use crate::station::{Address, BssId, StationId};
use lasthop_packet::Packet;
use lasthop_units::Instant;

impl Cell {
    /// Whether the packet fits into the queue of `from`.
    pub(super) fn has_room(&mut self, from: StationId, packet: &Packet) -> bool {
        let edcaf = self.edcaf(from, packet.access_category.index());
        edcaf.queue.admits(packet, edcaf.held_below())
    }

    /// Queues a packet; returns whether the station began to contend because of it.
    pub(super) fn enqueue(&mut self, from: StationId, to: Address, packet: Packet) -> bool {
        let category = packet.access_category.index();
        let contender = self.edcaf(from, category).contender;
        let (station, mut cx) = self.at(from);
        station.enqueue(&mut cx, to, packet);
        if self.power.has_dozing() {
            let (station, mut cx) = self.at(from);
            station.trim_buffer(&mut cx, category, to);
        }
        let (station, mut cx) = self.at(from);
        station.fill_driver(&mut cx, category);
        station.build_ahead(&mut cx, category, to);
        let begins = !self.contention.is_armed(contender) && self.arm(from, category);
        begins
            | (self.stations[from.index()].away.is_some()
                && self.power(|power, floor| power.wake_to_send(floor, from)))
    }

    /// Whether another packet for a peer that already has some would only be queued: the EDCAF
    /// already contends or sends, and no other procedure depends on new packets.
    pub(super) fn only_queues(&self, from: StationId, edcaf: usize) -> bool {
        let Station { edcafs, exchange, config, away, .. } = &self.stations[from.index()];
        let Some(access) = &edcafs[edcaf] else { return false };
        let is_busy = self.contention.is_armed(access.contender)
            || exchange.as_ref().is_some_and(|exchange| exchange.edcaf() == edcaf);
        is_busy
            && !self.outbox.records
            && !self.power.has_dozing()
            && away.is_none()
            && config.adaptive_mtu.is_none()
            && !access.driver.is_used()
            && !config.aggregation.built_ahead
    }

    /// Does what [`Cell::offer`] does where packets are [only queued](Self::only_queues).
    pub(super) fn queue_up(
        &mut self,
        from: StationId,
        to: Address,
        packet: &mut Packet,
        count: u32,
        taken: impl FnMut(&Packet),
    ) -> u32 {
        let (station, mut cx) = self.at(from);
        station.queue_up(&mut cx, to, packet, count, taken)
    }

    /// Queues the beacons that are due at their access points.
    pub(super) fn queue_beacons(&mut self) {
        let Some(interval) = self.settings.beacon_interval else { return };
        for bss in (0..self.bss.len() as u16).map(BssId) {
            if self.bss[bss.index()].next_beacon != self.now {
                continue;
            }
            self.power(|power, floor| power.expect_beacon(floor, bss));
            self.bss[bss.index()].next_beacon = self.now + interval;
            let access_point = self.access_point(bss);
            if self.stations[access_point.index()].deaf_until == Instant::MAX {
                // It is on another channel.
                self.power(|_, floor| floor.skip_beacon(bss));
                continue;
            }
            let contender = self.edcaf(access_point, BEACON_EDCAF).contender;
            self.contention.arm(contender, self.now);
        }
        self.timers.beacon = Bss::next_beacon(&self.bss);
    }

    /// Lets the EDCAF contend if it has work and does not contend yet; returns whether it began to.
    pub(super) fn arm(&mut self, station: StationId, edcaf: usize) -> bool {
        self.stations[station.index()].arm(&mut self.contention, self.now, edcaf)
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
                if self.owner(winner).1 == rank {
                    self.win(winner);
                }
            }
        }
    }

    /// The station of a contender, and its EDCAF.
    #[inline]
    pub(super) fn owner(&self, contender: ContenderId) -> (StationId, usize) {
        let station = self.contention.station(contender);
        (station, self.stations[station.index()].edcaf_of(contender))
    }

    fn win(&mut self, winner: ContenderId) {
        let (station, edcaf) = self.owner(winner);
        let engaged = self.stations[station.index()].exchange.is_some();
        let access = self.access(station, edcaf);
        if engaged {
            // Internal collision: the lower category backs off as after
            // a collision on the air (10.23.2.4).
            access.backoff.widen();
            let slots = access.backoff.draw();
            self.contention.set_backoff(winner, slots);
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
            return Some(Exchange::Single(self.build_beacon(station, opportunity_end)));
        }
        if self.settings.has_uplink {
            return self.build_either_way(station, edcaf, opportunity_end);
        }
        self.build_own(station, edcaf, opportunity_end)
    }

    /// Builds the next transmission of the EDCAF's own frames.
    pub(super) fn build_own(
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

    fn build_beacon(&mut self, access_point: StationId, opportunity_end: Instant) -> Single {
        let rate = self.rates.lowest();
        let bss = self.bss_of(access_point);
        let psdu_bytes = self.settings.bss[bss.index()].beacon_bytes
            + self.power(|power, floor| power.announce_traffic(floor, bss));
        Single {
            edcaf: BEACON_EDCAF,
            peer: Address::Group,
            content: Content::Beacon,
            rate,
            psdu_bytes,
            duration: self.rates.ppdu_duration(rate, psdu_bytes),
            response: None,
            requesting: false,
            opportunity_end,
            collided: false,
            ends_service: false,
            more_data: None,
        }
    }
}
