//! A station that stays in power save mode and has service periods: the state of its radio, the
//! frames with which it begins a period, and the return to doze (U-APSD, IEEE 802.11-2020, 11.2.3;
//! TWT, IEEE 802.11ax-2021, 26.8).
//!
//! The radio is on while the station waits for the end of a service period (EOSP), for a beacon,
//! for group frames, or for the answer to a PS-Poll, and while it sends. The station's clock equals
//! that of its access point. All of its frames have the Power Management bit set. If EOSP is
//! missing for [`OVERDUE`], the station begins another service period: the standard leaves that to
//! stations.

use super::super::Power;
use super::super::absence::Rhythm;
use super::super::period::Service;
use crate::air::{Action, Content, Management};
use crate::cell::edcaf::{EDCAFS, Gate};
use crate::cell::exchange::single::Settled;
use crate::cell::floor::{Floor, Roster};
use crate::mac::originator::Agreement;
use crate::mac::power_save::Sending;
use crate::mac::service_period::{ServicePeriodConfig, TwtConfig, TwtUplink};
use crate::station::{Address, BssId, StationId};
use lasthop_units::{Duration, Instant};

/// Time for which a station waits for a frame in an unscheduled service period before it asks
/// again; the value is from no product.
const OVERDUE: Duration = Duration::from_millis(50);

impl Power {
    /// Puts stations with service periods to doze from the first instant on, with the knowledge of
    /// their access points.
    pub(in crate::cell) fn begin_service_periods(&mut self, floor: &mut Floor<'_>) {
        for index in 0..floor.stations.len() {
            let station = StationId(index as u16);
            if floor.service(station).is_some() {
                self.has_services = true;
                self.fall_asleep(floor, station);
                floor.set_gate(station);
                self.depart(floor, station);
            }
            let config = &floor.stations[index].config;
            self.has_schedules |= !config.absences.is_empty() || config.roaming.is_some();
            self.special += usize::from(config.roaming.is_some());
            // After each exchange they have to look whether they may doze, too.
            let config = floor.stations[index].config.power_save;
            self.has_services |= config.is_some_and(|config| config.sending != Sending::Awake);
        }
    }

    /// Turns the radio on to send a queued packet. Returns whether the radio was turned on.
    pub(in crate::cell) fn turn_on_to_send(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
    ) -> bool {
        floor.stations[station.index()].held_packets > 0 && self.turn_on_to_notify(floor, station)
    }

    /// Turns the radio on to send a queued frame. Returns whether the radio was turned on.
    pub(in crate::cell) fn turn_on_to_notify(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
    ) -> bool {
        let Some(service) = floor.service(station) else { return false };
        let may_send = service.until.is_some() || service.config.has_unscheduled();
        if !may_send || service.is_on {
            return false;
        }
        self.turn_on(floor, station);
        true
    }

    fn turn_on(&mut self, floor: &mut Floor<'_>, station: StationId) {
        if let Some(service) = floor.service(station) {
            service.is_on = true;
        }
        floor.come_back(station);
        floor.set_gate(station);
        self.resume(floor, station);
        floor.find_next_absence();
    }

    /// Turns the radio off unless the station waits for a frame or has one to send.
    pub(in crate::cell) fn turn_off_if_idle(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let Some(service) = floor.service(station) else { return };
        if !service.is_on || service.waits() {
            return;
        }
        let may_send = service.gate() == Gate::Open;
        let state = &floor.stations[station.index()];
        let mut frames = state.edcafs.iter().flatten().flat_map(|access| &access.management);
        let has_frames = frames.any(|frame| may_send || frame.action.is_about_absence());
        if state.exchange.is_none() && !has_frames && !(may_send && state.held_packets > 0) {
            self.turn_off(floor, station);
        }
    }

    fn turn_off(&mut self, floor: &mut Floor<'_>, station: StationId) {
        if let Some(service) = floor.service(station) {
            service.is_on = false;
        }
        floor.set_gate(station);
        self.depart(floor, station);
        floor.find_next_absence();
    }

    /// Queues a QoS Null frame that begins a service period.
    fn queue_trigger(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let Some(service) = floor.service(station) else { return };
        let (edcaf, is_on) = (service.config.trigger_category(), service.is_on);
        let is_trigger = |frame: &Management| frame.action == Action::Trigger;
        let state = &floor.stations[station.index()];
        let sent = state.exchange.as_ref().and_then(|exchange| exchange.management());
        let is_sent = sent.is_some_and(is_trigger);
        let mut queued = state.edcafs.iter().flatten().flat_map(|access| &access.management);
        if is_sent || queued.any(is_trigger) {
            return;
        }
        if !is_on {
            self.turn_on(floor, station);
        }
        // QoS Null frames have no sequence numbers that anybody looks at (10.3.2.14).
        let sequence = floor.away(station).sequence;
        let peer = floor.access_point_of(station);
        let frame = Management { peer, action: Action::Trigger, attempts: 0, sequence };
        floor.edcaf(self, station, edcaf).management.push_front(frame);
        floor.lift_mu_edca(station, edcaf);
        floor.arm(station, edcaf);
    }

    /// Begins a service period after the access point acknowledged the frame for it.
    fn begin_service(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let Some(service) = floor.service(station) else { return };
        if service.until.is_none() && !service.config.has_unscheduled() {
            // Its Ack came when the period was over.
            return;
        }
        (service.is_served, service.may_be_served) = (true, false);
        if service.until.is_none() {
            service.overdue = now + OVERDUE;
        }
        if let ServicePeriodConfig::Unscheduled(config) = service.config
            && let Some(interval) = config.trigger_interval
        {
            service.next = now + interval;
        }
        // The scheduled period in which it began to send is over, this one begins.
        if !service.is_on {
            self.turn_on(floor, station);
        }
        floor.find_next_absence();
    }

    /// Handles the end of the station's trigger or PS-Poll: acknowledged, or given up.
    pub(in crate::cell) fn asked(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        action: Action,
        answered: bool,
    ) {
        let Some(service) = floor.service(station) else { return };
        match (action, answered) {
            (Action::Trigger, true) => self.begin_service(floor, station),
            (Action::Trigger, false) if service.until.is_some() => {
                self.queue_trigger(floor, station)
            }
            (Action::Trigger, false) => {
                // The next beacon, packet or interval makes it try again.
                (service.is_served, service.overdue) = (false, Instant::MAX);
                floor.find_next_absence();
            }
            (_, true) => {}
            (_, false) => service.polls = false,
        }
        self.turn_off_if_idle(floor, station);
    }

    /// Handles the end of an exchange of the station.
    pub(in crate::cell) fn sent_in_power_save(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        content: Content,
        edcaf: usize,
        success: bool,
        settled: Settled,
    ) {
        let Some(service) = floor.service(station) else { return };
        match content {
            Content::Data { .. } if service.config.triggers(edcaf) => {
                if success {
                    self.begin_service(floor, station)
                } else {
                    service.may_be_served |= !service.is_served
                }
            }
            Content::BlockAckRequest { .. }
                if success
                    && settled.mpdus > 0
                    && service.may_be_served
                    && service.config.triggers(edcaf) =>
            {
                self.begin_service(floor, station);
            }
            // The answer is held for it, and comes in a service period.
            Content::Management(Management { action: Action::AddbaRequest { .. }, .. })
                if success && !service.is_served && service.config.delivers(edcaf) =>
            {
                self.queue_trigger(floor, station);
            }
            _ => {}
        }
        self.turn_off_if_idle(floor, station);
    }

    /// Handles acknowledged data that a Trigger frame solicited, as if the station had gained the
    /// channel.
    pub(in crate::cell) fn sent_when_asked(&mut self, floor: &mut Floor<'_>, station: StationId) {
        if floor.stations[station.index()].has_service_periods() {
            self.serves(station);
            self.begin_service(floor, station);
        }
    }

    /// Handles a frame of the access point that may have been held; the access point still holds
    /// `more`.
    pub(in crate::cell) fn handle_service_frame(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        edcaf: usize,
        ends_service: bool,
        more: bool,
    ) {
        let awaits_agreement = floor.awaits_agreement(station);
        let Some(service) = floor.service(station) else { return };
        if ends_service {
            (service.is_served, service.overdue) = (false, Instant::MAX);
            service.may_be_served = false;
            let is_unscheduled = service.until.is_none() && service.config.has_unscheduled();
            if more && is_unscheduled || awaits_agreement {
                self.queue_trigger(floor, station);
            }
        } else if service.polls && !service.config.delivers(edcaf) {
            service.polls = more;
            if more {
                self.queue_about_absence(floor, station, Action::PsPoll);
            }
        } else {
            self.is_served_by(floor, station, edcaf);
        }
        floor.find_next_absence();
        self.turn_off_if_idle(floor, station);
    }

    /// Records that the access point sent a frame of a service period in this category: it received
    /// a trigger, whether or not its acknowledgement arrived.
    fn is_served_by(&mut self, floor: &mut Floor<'_>, station: StationId, edcaf: usize) {
        let now = floor.now;
        let Some(service) = floor.service(station) else { return };
        let is_unscheduled = service.until.is_none() && service.config.has_unscheduled();
        if !is_unscheduled || !service.config.delivers(edcaf) {
            return;
        }
        (service.is_served, service.overdue) = (true, now + OVERDUE);
        let is_on = service.is_on;
        floor.drop_trigger(station);
        if !is_on {
            // It was about to leave.
            self.turn_on(floor, station);
        }
    }

    /// Handles a Block Ack Request of the access point, which it sends in service periods.
    pub(in crate::cell) fn handle_request(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        edcaf: usize,
    ) {
        if !floor.stations[station.index()].has_service_periods() {
            return;
        }
        self.is_served_by(floor, station, edcaf);
        floor.find_next_absence();
        self.turn_off_if_idle(floor, station);
    }

    /// Prepares for a beacon that is about to be sent; `is_dtim` is whether it has a DTIM.
    pub(in crate::cell) fn expect_beacon_in_power_save(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        is_dtim: bool,
    ) -> bool {
        let Some(service) = floor.service(station) else { return false };
        service.listens = match service.config {
            ServicePeriodConfig::Unscheduled(config) => {
                service.beacons_left = service.beacons_left.saturating_sub(1);
                let listens = service.beacons_left == 0;
                if listens {
                    service.beacons_left = config.listen_interval;
                }
                listens
            }
            ServicePeriodConfig::TargetWake(config) => is_dtim && config.listens_to_dtim,
        };
        if service.listens && !service.is_on {
            self.turn_on(floor, station);
        }
        true
    }

    /// Handles the beacon that the station listens to, with its content if it was heard.
    pub(in crate::cell) fn hear_beacon_in_power_save(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        announced: bool,
        group_traffic: bool,
    ) {
        let Some(service) = floor.service(station) else { return };
        service.listens = group_traffic;
        if announced && let ServicePeriodConfig::Unscheduled(_) = service.config {
            match (service.config.delivers_all(), service.is_served) {
                (true, true) => {}
                (true, false) => self.queue_trigger(floor, station),
                (false, _) => {
                    service.polls = true;
                    self.queue_about_absence(floor, station, Action::PsPoll);
                }
            }
        }
        self.turn_off_if_idle(floor, station);
    }

    /// Handles the last group frame after a DTIM.
    pub(in crate::cell) fn last_group_frame_in_power_save(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
    ) {
        if let Some(service) = floor.service(station) {
            service.listens = false;
            self.turn_off_if_idle(floor, station);
        }
    }

    /// Performs the steps that are due by the clock.
    pub(in crate::cell) fn service_due(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let Some(service) = floor.service(station) else { return };
        if service.overdue <= now {
            service.overdue = now + OVERDUE;
            self.queue_trigger(floor, station);
        }
        let Some(service) = floor.service(station) else { return };
        if service.until.is_some_and(|until| until <= now) {
            self.end_scheduled(floor, station);
        }
        let Some(service) = floor.service(station) else { return };
        if service.next > now {
            return;
        }
        match service.config {
            ServicePeriodConfig::Unscheduled(config) => {
                service.next = config.trigger_interval.map_or(Instant::MAX, |after| now + after);
                if !service.is_served {
                    self.queue_trigger(floor, station);
                }
            }
            ServicePeriodConfig::TargetWake(config) => {
                self.begin_target_wake(floor, station, config)
            }
        }
    }

    fn begin_target_wake(&mut self, floor: &mut Floor<'_>, station: StationId, config: TwtConfig) {
        let Some(service) = floor.service(station) else { return };
        let until = service.next + config.wake_duration;
        service.next += config.wake_interval;
        (service.until, service.overdue) = (Some(until), Instant::MAX);
        service.is_served |= !config.announced;
        self.turn_on(floor, station);
        self.begin_scheduled(floor, station, until, config.announced);
        let has_data = floor.stations[station.index()].held_packets > 0;
        if config.announced && (!has_data || floor.awaits_agreement(station)) {
            self.queue_trigger(floor, station);
        }
    }

    fn end_scheduled(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let Some(service) = floor.service(station) else { return };
        (service.until, service.is_served) = (None, false);
        let goes_on = match service.config {
            ServicePeriodConfig::TargetWake(config) => config.uplink == TwtUplink::AtOnce,
            ServicePeriodConfig::Unscheduled(_) => true,
        };
        let (is_on, listens) = (service.is_on, service.listens);
        self.end_service(floor, station);
        let has_data = floor.stations[station.index()].held_packets > 0;
        if goes_on && has_data || listens || !is_on {
            floor.set_gate(station);
        } else {
            self.turn_off(floor, station);
        }
    }
}

impl Floor<'_> {
    fn service(&mut self, station: StationId) -> Option<&mut Service> {
        match &mut self.stations[station.index()].away.as_deref_mut()?.rhythm {
            Rhythm::Service(service) => Some(service),
            Rhythm::Scan(_)
            | Rhythm::Failure { .. }
            | Rhythm::Schedule(_)
            | Rhythm::Doze(_)
            | Rhythm::Roam(_) => None,
        }
    }

    /// The end of the scheduled service period that a station is in.
    pub(in crate::cell) fn scheduled_until(&mut self, station: StationId) -> Option<Instant> {
        self.service(station).and_then(|service| service.until)
    }

    /// Drops the queued trigger, because a service period is in progress.
    fn drop_trigger(&mut self, station: StationId) {
        for access in self.stations[station.index()].edcafs.iter_mut().flatten() {
            access.management.retain(|frame| frame.action != Action::Trigger);
        }
    }

    /// Whether the station waits for an ADDBA Response, which comes in a service period.
    fn awaits_agreement(&mut self, station: StationId) -> bool {
        let Some(config) = self.service(station).map(|service| service.config) else {
            return false;
        };
        let peer = Address::Station(self.access_point_of(station));
        (0..EDCAFS).filter(|edcaf| config.delivers(*edcaf)).any(|edcaf| {
            let access = self.stations[station.index()].edcafs[edcaf].as_ref();
            access.is_some_and(|access| {
                // As long as the request is not acknowledged, there is no answer.
                let asks = |frame: &Management| matches!(frame.action, Action::AddbaRequest { .. });
                access.originator(peer).is_some_and(|index| {
                    access.originators[index].agreement == Agreement::Requested
                }) && !access.management.iter().any(asks)
            })
        })
    }

    /// Whether a station listens to the beacon on the air.
    pub(in crate::cell) fn listens_in_power_save(&mut self, station: StationId) -> bool {
        self.service(station).is_some_and(|service| service.listens)
    }
}

impl Roster<'_> {
    /// Whether the next beacon of a set has a DTIM.
    pub(in crate::cell) fn is_dtim_next(&self, bss: BssId) -> bool {
        self.bss[bss.index()].tim.next_dtim_count(self.settings.dtim_period) == 0
    }
}
