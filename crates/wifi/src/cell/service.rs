//! Service periods at the access point (IEEE 802.11-2020, 11.2.3; IEEE 802.11ax-2021, 26.8):
//! which stations it may send to although they are in power save mode, how much, until when, and
//! the frame that ends the period (EOSP). What the stations do is in `station`, how many MPDUs a
//! PPDU may have in `mpdus`.
//!
//! An unscheduled period lets frames of delivery-enabled categories out, as PS-Poll does; during
//! that of a TWT agreement a station is as any other. EOSP is in a frame that is alone in its
//! PPDU; if nothing is held, and behind the A-MPDUs of a TWT's period, it comes in a QoS Null
//! frame. A period is over when EOSP was acknowledged or given up, as in Linux' mac80211, which
//! goes by the status of that frame; an unscheduled one also when nothing answered and another
//! frame was given up, which is a bound of ours: packets that keep coming would be sent to a
//! station that dozes until it is heard again. An exchange that has begun in a TWT's period is
//! carried to its end, later than the period's.

mod mpdus;
mod station;

use super::Cell;
use super::absence::EDCAFS;
use super::content::{Action, Content, Exchange, Management};
use super::settle::Settled;
use crate::mac::service_period::{ServicePeriodConfig, TwtConfig};
use crate::station::{Address, BssId, StationId};
use lasthop_units::{Instant, SeqNo12};

pub(super) use station::Service;

/// A service period, as the access point knows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServicePeriod {
    station: StationId,
    /// Frames that it may still send.
    left: Option<u8>,
    /// End of a scheduled one.
    until: Option<Instant>,
    /// The station said that it is awake, or was sent to: it waits for EOSP.
    is_open: bool,
}

impl ServicePeriod {
    pub fn is_for(&self, peer: Address) -> bool {
        peer == Address::Station(self.station)
    }

    /// More than one frame may still be sent.
    pub fn has_several_left(&self) -> bool {
        self.left.is_none_or(|left| left > 1)
    }

    /// So many frames of it were acknowledged or given up.
    pub fn count(&mut self, frames: u32) {
        self.left =
            self.left.map(|left| left.saturating_sub(u8::try_from(frames).unwrap_or(u8::MAX)));
    }
}

impl Cell {
    /// Whether a station saves power with service periods.
    pub(super) fn has_service_periods(&self, station: StationId) -> bool {
        self.service_config(station).is_some()
    }

    fn service_config(&self, station: StationId) -> Option<ServicePeriodConfig> {
        self.stations[station.index()].config.service_periods
    }

    /// The categories of what there is for `peer` that a More Data bit in a frame of `edcaf`
    /// is about; `None` if the station is not in power save mode.
    pub(super) fn more_data_of(&self, peer: StationId, edcaf: usize) -> Option<[bool; EDCAFS]> {
        match self.service_config(peer) {
            Some(config) => {
                let of = config.delivers(edcaf);
                Some(core::array::from_fn(|category| config.delivers(category) == of))
            }
            None => self.dozing.contains(&peer).then_some([true; EDCAFS]),
        }
    }

    /// The More Data bit of a frame that is about to be sent to a station with service periods:
    /// whether more than what is in it is held.
    pub(super) fn more_data_left(&self, sender: StationId, exchange: &Exchange) -> Option<bool> {
        let Address::Station(station) = exchange.peer else { return None };
        self.service_config(station)?;
        let leaves = match exchange.content {
            Content::Data { mpdus, .. } => mpdus as u32,
            Content::Management(_) => 0,
            _ => return None,
        };
        let of = self.more_data_of(station, exchange.edcaf)?;
        let bss = self.bss_of(sender);
        let held = (0..EDCAFS).filter(|edcaf| of[*edcaf]);
        Some(held.map(|edcaf| self.held(bss, edcaf, exchange.peer)).sum::<u32>() > leaves)
    }

    /// Whether a beacon announces what an EDCAF holds for a dozing station (11.2.3.6): if not
    /// all categories are delivery-enabled, of the others only.
    pub(super) fn is_announced(&self, station: StationId, edcaf: usize) -> bool {
        self.service_config(station)
            .is_none_or(|config| config.delivers_all() || !config.delivers(edcaf))
    }

    /// Whether a PS-Poll of a station lets out what an EDCAF holds.
    pub(super) fn is_polled(&self, station: StationId, edcaf: usize) -> bool {
        self.service_config(station).is_none_or(|config| !config.delivers(edcaf))
    }

    /// Frames and packets that the access point of `bss` may send to a station in its service
    /// periods.
    fn deliverable(&self, bss: BssId, station: StationId, config: ServicePeriodConfig) -> u32 {
        let edcafs = &self.stations[self.access_point(bss).index()].edcafs;
        let delivered = (0..EDCAFS).filter(|edcaf| config.delivers(*edcaf));
        let accesses = delivered.filter_map(|edcaf| edcafs[edcaf].as_ref());
        accesses.map(|access| access.deliverable_for(Address::Station(station))).sum()
    }

    fn period(&mut self, station: StationId) -> Option<&mut ServicePeriod> {
        self.services.iter_mut().find(|period| period.station == station)
    }

    /// Whether the access point knows of a service period of `station`.
    pub(super) fn is_in_service(&self, station: StationId) -> bool {
        self.services.iter().any(|period| period.station == station)
    }

    /// The service period of a TWT agreement begins.
    fn begin_scheduled(&mut self, station: StationId, until: Instant, announced: bool) {
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
        self.wake_up(station);
    }

    /// The access point received a frame of `station` of this category, by which it knows that it
    /// is awake: QoS Data or QoS Null.
    pub(super) fn triggered(&mut self, station: StationId, edcaf: usize) {
        let Some(config) = self.service_config(station) else { return };
        let now = self.now;
        if let Some(period) = self.period(station) {
            period.is_open = true;
            return self.close(station);
        }
        let until = self.scheduled_until(station).filter(|until| now < *until);
        if let Some(until) = until {
            self.services.push(ServicePeriod {
                station,
                left: None,
                until: Some(until),
                is_open: true,
            });
            self.wake_up(station);
        } else if config.has_unscheduled() && config.triggers(edcaf) {
            let left = config.frames_max();
            self.services.push(ServicePeriod { station, left, until: None, is_open: true });
            self.let_out(station, config);
        } else {
            return;
        }
        self.close(station);
    }

    /// What is held for a station of delivery-enabled categories may be sent.
    fn let_out(&mut self, station: StationId, config: ServicePeriodConfig) {
        let now = self.now;
        let access_point = self.access_point_of(station);
        for edcaf in (0..EDCAFS).filter(|edcaf| config.delivers(*edcaf)) {
            // One that is made later knows of no service period: nothing was held in it.
            let absent = &mut self.edcaf(access_point, edcaf).absent;
            absent.served.push((station, now));
            let (state, mut cx) = self.at(access_point);
            state.fill_driver(&mut cx, edcaf);
            self.arm(access_point, edcaf);
        }
    }

    /// Whether the frame that an access point is about to send ends the service period of its
    /// receiver: it is alone in its PPDU, and the last one. The last one of an unscheduled period it
    /// stays when it is repeated: what arrives meanwhile waits for the next period.
    pub(super) fn ends_service(&mut self, access_point: StationId, exchange: &Exchange) -> bool {
        let (Content::Data { mpdus, .. }, Address::Station(station)) =
            (exchange.content, exchange.peer)
        else {
            return exchange.ends_service;
        };
        let Some(config) = self.service_config(station) else { return false };
        let held = self.deliverable(self.bss_of(access_point), station, config);
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
            let edcafs = self.stations[access_point.index()].edcafs.iter_mut();
            for (_, access) in edcafs.enumerate().filter(|(edcaf, _)| *edcaf != exchange.edcaf) {
                if let Some(access) = access {
                    access.absent.leave_service(station);
                }
            }
        }
        true
    }

    /// A PPDU for several stations is on the air.
    pub(super) fn serves(&mut self, station: StationId) {
        if let Some(period) = self.period(station) {
            period.is_open = true;
        }
    }

    /// An exchange of an access point with one station is over. Each MSDU, A-MSDU and management
    /// frame counts once, when it is acknowledged or given up; nobody counts what is sent again
    /// (9.4.1.17).
    pub(super) fn served(&mut self, exchange: &Exchange, success: bool, settled: Settled) {
        let Address::Station(station) = exchange.peer else { return };
        let Some(config) = self.service_config(station) else { return };
        if !config.delivers(exchange.edcaf) {
            return;
        }
        let Some(period) = self.period(station) else { return };
        match exchange.content {
            Content::Data { .. } | Content::BlockAckRequest { .. } => {
                period.count(settled.mpdus);
                if exchange.ends_service && (success || settled.is_given_up) {
                    self.end_service(station);
                } else if !success && settled.is_given_up {
                    self.given_up_in_service(station);
                }
            }
            Content::Management(frame) if !frame.action.is_about_absence() => {
                period.count(u32::from(success));
            }
            _ => {}
        }
    }

    /// A frame for a station was given up in its unscheduled service period: it dozes. It took
    /// EOSP without being heard, or stopped asking for the period.
    pub(super) fn given_up_in_service(&mut self, station: StationId) {
        let is_unscheduled =
            matches!(self.service_config(station), Some(ServicePeriodConfig::Unscheduled(_)));
        if is_unscheduled && self.is_in_service(station) {
            self.end_service(station);
        }
    }

    /// An exchange that `station` began is over.
    pub(super) fn exchange_over_in_power_save(
        &mut self,
        station: StationId,
        (content, edcaf): (Content, usize),
        success: bool,
        settled: Settled,
    ) {
        if let (Content::Management(frame), true) = (content, success)
            && frame.action == Action::EndOfServicePeriod
        {
            self.end_service(frame.peer);
        }
        if self.has_service_periods(station) {
            self.sent_in_power_save(station, (content, edcaf), success, settled);
        } else {
            self.rest_in_power_save(station);
            self.close_services(station);
        }
    }

    /// What a station had to send was dropped before it gained the channel.
    pub(super) fn nothing_to_send(&mut self, station: StationId) {
        match self.has_service_periods(station) {
            true => self.rest(station),
            false => {
                self.rest_in_power_save(station);
                self.close_services(station);
            }
        }
    }

    /// Ends the service periods of an access point for which nothing is left, after an exchange
    /// of its own.
    pub(super) fn close_services(&mut self, access_point: StationId) {
        for index in (0..self.services.len()).rev() {
            let station = self.services[index].station;
            if self.access_point_of(station) == access_point {
                self.close(station);
            }
        }
    }

    /// Ends a service period by a QoS Null frame if nothing is left.
    fn close(&mut self, station: StationId) {
        let Some(config) = self.service_config(station) else { return };
        let access_point = self.access_point_of(station);
        let is_empty = self.deliverable(self.bss_of(access_point), station, config) == 0;
        let Some(period) = self.period(station) else { return };
        if !period.is_open || !may_end(config, period) || !is_empty && period.left != Some(0) {
            return;
        }
        let is_unscheduled = matches!(config, ServicePeriodConfig::Unscheduled(_));
        let ends = |frame: &Management| {
            frame.action == Action::EndOfServicePeriod && frame.peer == station
        };
        let state = &self.stations[access_point.index()];
        let on_air = state.exchange.as_ref().is_some_and(|exchange| match exchange.content {
            Content::Management(frame) => ends(&frame),
            _ => exchange.peer == Address::Station(station),
        });
        if on_air || state.edcafs.iter().flatten().any(|access| access.management.iter().any(ends))
        {
            return;
        }
        let edcaf = config.delivery_category();
        let action = Action::EndOfServicePeriod;
        let sequence = SeqNo12::default();
        let frame = Management { peer: station, action, attempts: 0, sequence };
        self.edcaf(access_point, edcaf).management.push_front(frame);
        if is_unscheduled {
            // What comes now waits for the next period: after EOSP the station dozes.
            for access in self.stations[access_point.index()].edcafs.iter_mut().flatten() {
                access.absent.leave_service(station);
            }
        }
        self.arm(access_point, edcaf);
    }

    /// A service period is over: its last frame was acknowledged or given up, or its time is up.
    pub(super) fn end_service(&mut self, station: StationId) {
        let Some(index) = self.services.iter().position(|period| period.station == station) else {
            return;
        };
        let period = self.services.swap_remove(index);
        let access_point = self.access_point_of(station);
        for access in self.stations[access_point.index()].edcafs.iter_mut().flatten() {
            access.absent.leave_service(station);
            access.management.retain(|frame| {
                frame.action != Action::EndOfServicePeriod || frame.peer != station
            });
        }
        if period.until.is_some() {
            self.fall_asleep(station);
        } else {
            self.give_room(access_point);
        }
    }

    /// Whether a station is in an exchange with its access point, which that one began.
    pub(super) fn is_attended(&self, station: StationId) -> bool {
        let state = &self.stations[self.access_point_of(station).index()];
        let Some(exchange) = &state.exchange else { return false };
        exchange.peer == Address::Station(station)
            || state.multi_user.as_ref().is_some_and(|several| several.has(station))
            || state.uplink.as_ref().is_some_and(|uplink| uplink.has(station))
    }
}

/// Whether the access point may end a period before its time.
const fn may_end(config: ServicePeriodConfig, period: &ServicePeriod) -> bool {
    match config {
        ServicePeriodConfig::TargetWake(TwtConfig { ends_early, .. }) => {
            ends_early || period.until.is_none()
        }
        ServicePeriodConfig::Unscheduled(_) => true,
    }
}
