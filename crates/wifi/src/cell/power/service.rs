//! Service periods at the access point (IEEE 802.11-2020, 11.2.3; IEEE 802.11ax-2021, 26.8):
//! stations in power save mode to which it may send, the number of frames, the end of the period,
//! and the frame that ends it (EOSP). `station` has the stations' side, `mpdus` the number of MPDUs
//! in a PPDU.
//!
//! An unscheduled period releases frames of delivery-enabled categories, as PS-Poll does. During
//! the period of a TWT agreement the access point treats the station like any other. A frame with
//! EOSP is alone in its PPDU. If no frame is held, and after the A-MPDUs of a TWT period, EOSP
//! comes in a QoS Null frame. A period is over when EOSP was acknowledged or given up, as in Linux'
//! mac80211, which uses the status of that frame. An unscheduled period also ends when an exchange
//! got no response and another frame was given up. The latter is a limit of this model: otherwise a
//! station that dozes would be sent new packets until it is heard again. An exchange that began in
//! a TWT period is completed, even after the end of the period.

mod mpdus;
mod station;

use super::Power;
use super::period::ServicePeriod;
use crate::air::{Action, Content, Management};
use crate::cell::edcaf::EDCAFS;
use crate::cell::exchange::content::Exchange;
use crate::cell::exchange::single::Settled;
use crate::cell::exchange::single::Single;
use crate::cell::floor::{Floor, Roster};
use crate::mac::service_period::{ServicePeriodConfig, TwtConfig};
use crate::station::{Address, BssId, StationId};
use lasthop_units::{Instant, SeqNo12};

impl Power {
    /// Access categories that the More Data bit of a frame of `edcaf` to `peer` covers; `None` if
    /// the station is not in power save mode.
    pub(in crate::cell) fn more_data_of(
        &self,
        roster: Roster<'_>,
        peer: StationId,
        edcaf: usize,
    ) -> Option<[bool; EDCAFS]> {
        match roster.stations[peer.index()].config.service_periods {
            Some(config) => {
                let of = config.delivers(edcaf);
                Some(core::array::from_fn(|category| config.delivers(category) == of))
            }
            None => self.dozing.contains(&peer).then_some([true; EDCAFS]),
        }
    }

    /// The More Data bit of the next frame to a station with service periods: whether the access
    /// point holds more than the frame's content.
    pub(in crate::cell) fn more_data_left(
        &self,
        roster: Roster<'_>,
        sender: StationId,
        exchange: &Single,
    ) -> Option<bool> {
        let Address::Station(station) = exchange.peer else { return None };
        roster.stations[station.index()].config.service_periods?;
        let leaves = match exchange.content {
            Content::Data { mpdus, .. } => mpdus as u32,
            Content::Management(_) => 0,
            _ => return None,
        };
        let of = self.more_data_of(roster, station, exchange.edcaf)?;
        let bss = roster.bss_of(sender);
        let held = (0..EDCAFS).filter(|edcaf| of[*edcaf]);
        Some(held.map(|edcaf| roster.held(bss, edcaf, exchange.peer)).sum::<u32>() > leaves)
    }

    fn period(&mut self, station: StationId) -> Option<&mut ServicePeriod> {
        self.services.iter_mut().find(|period| period.station == station)
    }

    /// Whether the access point knows of a service period of `station`.
    pub(in crate::cell) fn is_in_service(&self, station: StationId) -> bool {
        self.services.iter().any(|period| period.station == station)
    }

    /// Begins a service period of a TWT agreement.
    fn begin_scheduled(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        until: Instant,
        announced: bool,
    ) {
        match self.period(station) {
            Some(period) => {
                (period.until, period.left, period.is_open) = (Some(until), None, true);
            }
            None if announced => return,
            None => self.services.push(ServicePeriod {
                station,
                left: None,
                until: Some(until),
                is_open: false,
            }),
        }
        self.wake_up(floor, station);
    }

    /// Handles a QoS Data or QoS Null frame of `station` in this category at the access point,
    /// which shows that the station is awake.
    pub(in crate::cell) fn triggered(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        edcaf: usize,
    ) {
        let Some(config) = floor.stations[station.index()].config.service_periods else { return };
        let now = floor.now;
        if let Some(period) = self.period(station) {
            period.is_open = true;
            return self.close(floor, station);
        }
        let until = floor.scheduled_until(station).filter(|until| now < *until);
        if let Some(until) = until {
            self.services.push(ServicePeriod {
                station,
                left: None,
                until: Some(until),
                is_open: true,
            });
            self.wake_up(floor, station);
        } else if config.has_unscheduled() && config.triggers(edcaf) {
            let left = config.frames_max();
            self.services.push(ServicePeriod { station, left, until: None, is_open: true });
            self.let_out(floor, station, config);
        } else {
            return;
        }
        self.close(floor, station);
    }

    /// Releases the frames held for a station in its delivery-enabled categories.
    fn let_out(&mut self, floor: &mut Floor<'_>, station: StationId, config: ServicePeriodConfig) {
        let now = floor.now;
        let access_point = floor.access_point_of(station);
        for edcaf in (0..EDCAFS).filter(|edcaf| config.delivers(*edcaf)) {
            // One that is made later knows of no service period: nothing was held in it.
            let absent = &mut floor.edcaf(self, access_point, edcaf).absent;
            absent.served.push((station, now));
            let (state, mut cx) = floor.at(self, access_point);
            state.fill_driver(&mut cx, edcaf);
            floor.arm(access_point, edcaf);
        }
    }

    /// Sets the bits of a frame of an access point that concern its receiver's service period.
    pub(in crate::cell) fn mark_frame(&mut self, floor: &mut Floor<'_>, station: StationId) {
        if self.services.is_empty() {
            return;
        }
        let exchange = match floor.stations[station.index()].exchange.take() {
            Some(Exchange::Single(mut single)) => {
                single.more_data = self.more_data_left(floor.roster(), station, &single);
                single.ends_service = self.ends_service(floor, station, &single);
                Some(Exchange::Single(single))
            }
            other => other,
        };
        floor.stations[station.index()].exchange = exchange;
    }

    /// Whether the next frame of an access point ends the service period of its receiver: it is
    /// alone in its PPDU, and the last one. The last frame of an unscheduled period stays the last
    /// when it is retransmitted: packets that arrive meanwhile wait for the next period.
    pub(in crate::cell) fn ends_service(
        &mut self,
        floor: &mut Floor<'_>,
        access_point: StationId,
        exchange: &Single,
    ) -> bool {
        let (Content::Data { mpdus, .. }, Address::Station(station)) =
            (exchange.content, exchange.peer)
        else {
            return exchange.ends_service;
        };
        let Some(config) = floor.stations[station.index()].config.service_periods else {
            return false;
        };
        let held = floor.roster().deliverable(floor.bss_of(access_point), station, config);
        let Some(period) = self.period(station) else { return false };
        if !config.delivers(exchange.edcaf) {
            return false;
        }
        period.is_open = true;
        let is_last = held == 1 || period.left == Some(1);
        if mpdus != 1 || !may_end(config, period) || !is_last {
            return false;
        }
        if period.until.is_none() {
            period.left = Some(1);
            let edcafs = floor.stations[access_point.index()].edcafs.iter_mut();
            for (_, access) in edcafs.enumerate().filter(|(edcaf, _)| *edcaf != exchange.edcaf) {
                if let Some(access) = access {
                    access.absent.leave_service(station);
                }
            }
        }
        true
    }

    /// Records that a PPDU for several stations, `station` among them, is on the air.
    pub(in crate::cell) fn serves(&mut self, station: StationId) {
        if !self.has_services {
            return;
        }
        if let Some(period) = self.period(station) {
            period.is_open = true;
        }
    }

    /// Ends an exchange of an access point with one station. Each MSDU, A-MSDU and management frame
    /// counts once, when it is acknowledged or given up; retransmissions do not count (9.4.1.17).
    pub(in crate::cell) fn served(
        &mut self,
        floor: &mut Floor<'_>,
        exchange: &Single,
        success: bool,
        settled: Settled,
    ) {
        let Address::Station(station) = exchange.peer else { return };
        let Some(config) = floor.stations[station.index()].config.service_periods else { return };
        if !config.delivers(exchange.edcaf) {
            return;
        }
        let Some(period) = self.period(station) else { return };
        match exchange.content {
            Content::Data { .. } | Content::BlockAckRequest { .. } => {
                period.count(settled.mpdus);
                if exchange.ends_service && (success || settled.is_given_up) {
                    self.end_service(floor, station);
                } else if !success && settled.is_given_up {
                    self.given_up_in_service(floor, station);
                }
            }
            Content::Management(frame) if !frame.action.is_about_absence() => {
                period.count(u32::from(success));
            }
            _ => {}
        }
    }

    /// Handles a frame that was given up in an unscheduled service period, because the station
    /// dozes. Either its acknowledgement of EOSP was lost, or it stopped asking for the period.
    pub(in crate::cell) fn given_up_in_service(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
    ) {
        let is_unscheduled = matches!(
            floor.stations[station.index()].config.service_periods,
            Some(ServicePeriodConfig::Unscheduled(_))
        );
        if is_unscheduled && self.is_in_service(station) {
            self.end_service(floor, station);
        }
    }

    /// Handles the end of an exchange that `station` began.
    pub(in crate::cell) fn exchange_over_in_power_save(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        content: Content,
        edcaf: usize,
        success: bool,
        settled: Settled,
    ) {
        if let (Content::Management(frame), true) = (content, success)
            && frame.action == Action::EndOfServicePeriod
        {
            self.end_service(floor, frame.peer);
        }
        if floor.stations[station.index()].has_service_periods() {
            self.sent_in_power_save(floor, station, content, edcaf, success, settled);
        } else {
            self.doze_after_exchange(floor, station);
            self.close_services(floor, station);
        }
    }

    /// Handles contention of a station whose frames were dropped before it gained the channel.
    pub(in crate::cell) fn nothing_to_send(&mut self, floor: &mut Floor<'_>, station: StationId) {
        if floor.stations[station.index()].has_service_periods() {
            self.turn_off_if_idle(floor, station)
        } else {
            self.doze_after_exchange(floor, station);
            self.close_services(floor, station);
        }
    }

    /// Ends the service periods of an access point for which no frame is left, after an exchange of
    /// the access point.
    pub(in crate::cell) fn close_services(
        &mut self,
        floor: &mut Floor<'_>,
        access_point: StationId,
    ) {
        for index in (0..self.services.len()).rev() {
            let station = self.services[index].station;
            if floor.access_point_of(station) == access_point {
                self.close(floor, station);
            }
        }
    }

    /// Ends a service period by a QoS Null frame if no frame is left.
    fn close(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let Some(config) = floor.stations[station.index()].config.service_periods else { return };
        let access_point = floor.access_point_of(station);
        let is_empty = floor.roster().deliverable(floor.bss_of(access_point), station, config) == 0;
        let Some(period) = self.period(station) else { return };
        if !period.is_open || !may_end(config, period) || !is_empty && period.left != Some(0) {
            return;
        }
        let is_unscheduled = matches!(config, ServicePeriodConfig::Unscheduled(_));
        let ends = |frame: &Management| {
            frame.action == Action::EndOfServicePeriod && frame.peer == station
        };
        let state = &floor.stations[access_point.index()];
        let on_air = state.exchange.as_ref().is_some_and(|exchange| match exchange.management() {
            Some(frame) => ends(frame),
            None => exchange.peer() == Address::Station(station),
        });
        if on_air || state.edcafs.iter().flatten().any(|access| access.management.iter().any(ends))
        {
            return;
        }
        let edcaf = config.delivery_category();
        let action = Action::EndOfServicePeriod;
        let sequence = SeqNo12::default();
        let frame = Management { peer: station, action, attempts: 0, sequence };
        floor.edcaf(self, access_point, edcaf).management.push_front(frame);
        if is_unscheduled {
            // What comes now waits for the next period: after EOSP the station dozes.
            for access in floor.stations[access_point.index()].edcafs.iter_mut().flatten() {
                access.absent.leave_service(station);
            }
        }
        floor.arm(access_point, edcaf);
    }

    /// Ends a service period whose last frame was acknowledged or given up, or whose time is up.
    pub(in crate::cell) fn end_service(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let Some(index) = self.services.iter().position(|period| period.station == station) else {
            return;
        };
        let period = self.services.swap_remove(index);
        let access_point = floor.access_point_of(station);
        for access in floor.stations[access_point.index()].edcafs.iter_mut().flatten() {
            access.absent.leave_service(station);
            access.management.retain(|frame| {
                frame.action != Action::EndOfServicePeriod || frame.peer != station
            });
        }
        if period.until.is_some() {
            self.fall_asleep(floor, station);
        } else {
            self.refill_driver(floor, access_point);
        }
    }
}

impl Roster<'_> {
    /// Number of frames and packets that the access point of `bss` may send to a station in its
    /// service periods.
    fn deliverable(&self, bss: BssId, station: StationId, config: ServicePeriodConfig) -> u32 {
        let edcafs = &self.stations[self.access_point(bss).index()].edcafs;
        let delivered = (0..EDCAFS).filter(|edcaf| config.delivers(*edcaf));
        let accesses = delivered.filter_map(|edcaf| edcafs[edcaf].as_ref());
        accesses.map(|access| access.deliverable_for(Address::Station(station))).sum()
    }

    /// Whether a station is in an exchange that its access point began.
    pub(in crate::cell) fn is_attended(&self, station: StationId) -> bool {
        let state = &self.stations[self.access_point_of(station).index()];
        state.exchange.as_ref().is_some_and(|exchange| exchange.attends(station))
    }
}

/// Whether the access point may end a period early.
const fn may_end(config: ServicePeriodConfig, period: &ServicePeriod) -> bool {
    match config {
        ServicePeriodConfig::TargetWake(TwtConfig { ends_early, .. }) => {
            ends_early || period.until.is_none()
        }
        ServicePeriodConfig::Unscheduled(_) => true,
    }
}
