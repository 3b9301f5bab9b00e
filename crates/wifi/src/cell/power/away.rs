//! Stations that cannot be reached for a while, and the access point that holds their packets
//! meanwhile (IEEE 802.11-2020, 11.2.3): background scans with their flush, Null frames with the
//! Power Management bit, departure and return. `schedule` and `doze` do the same with other timing:
//! absences by a clock, and power save.
//!
//! An absent station hears and sends nothing. The queue accepts packets, and Block Ack agreements
//! and reorder buffers stay; their timeouts continue. After its return the station has no NAV. An
//! access point leaves without notice: it sends no beacons meanwhile, and frames of its stations
//! are lost. If the access point missed the notice of an absence, its frames to the station are
//! lost; it takes every frame without the bit as a sign that the station is back.
//!
//! An access point that fails leaves in the same way, and gives up all packets, as `unlinked` has it.
//! Left out: the loss of its Block Ack agreements, sequence numbers and associations, and PPDUs that
//! break off.

use super::Power;
use super::absence::{Away, Rhythm};
use crate::air::{Action, Management};
use crate::cell::edcaf::{BEACON_EDCAF, EDCAFS};
use crate::cell::floor::Floor;
use crate::cell::frames::Context;
use crate::cell::station::Station;
use crate::config::AdjustError;
use crate::event::{Event, PowerState};
use crate::mac::roam::frame::RoamFrame;
use crate::mac::scan::{self, Leftover, Scan, ScanConfig, ScanInput, ScanPhase};
use crate::mac::schedule::{ScheduleInput, SchedulePhase};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_packet::{AccessCategory, DropReason, Packet};
use lasthop_units::{Duration, Instant, SeqNo12};

/// Access category of Null frames: voice, as in mac80211 (`ieee80211_send_nullfunc`).
const NULL_FUNCTION: usize = AccessCategory::Voice.index();

/// Time for which a station listens before it sends a Probe Request (mac80211:
/// IEEE80211_PROBE_DELAY, HZ / 33).
pub(in crate::cell) const PROBE_DELAY: Duration = Duration::from_millis(30);

impl Station {
    /// Gives up the oldest packets beyond the limit for a station, or the group, that cannot be
    /// reached.
    pub(in crate::cell) fn trim_buffer(&mut self, cx: &mut Context<'_>, edcaf: usize, to: Address) {
        let now = cx.now;
        let Some(packets_max) = self.config.power_save_buffer else { return };
        let Some(access) = &mut self.edcafs[edcaf] else { return };
        if !access.absent.holds(to) {
            return;
        }
        let mut oldest = Vec::new();
        while access.queue.len_packets_for(to.into()) > packets_max {
            oldest.extend(access.queue.dequeue_for(now, to.into(), &mut cx.outbox.dropped));
        }
        let number_dropped = cx.outbox.dropped.len() + oldest.len();
        self.hold(now, 0, number_dropped as u32);
        self.stats.queue_drops += number_dropped as u64;
        cx.outbox.lose_dropped(now, self.id, DropReason::ActiveQueue);
        for packet in oldest {
            cx.outbox.lose(now, self.id, packet, DropReason::PowerSaveBuffer);
        }
    }

    /// Gives up the packets in driver and hardware, and with `queue_too` those of the upper queue.
    pub(in crate::cell) fn abandon(&mut self, cx: &mut Context<'_>, edcaf: usize, queue_too: bool) {
        let (now, station) = (cx.now, self.id);
        let reason = self.away.as_deref().and_then(Away::loses).unwrap_or(DropReason::OffChannel);
        let Some(access) = &mut self.edcafs[edcaf] else { return };
        let mut given_up: Vec<Packet> = Vec::new();
        let (mut packets, mut mpdus) = (0, Vec::new());
        for originator in &mut access.originators {
            let before = originator.held();
            let mut lost = 0;
            originator.expire(
                |_| true,
                &mut cx.outbox.released,
                |mpdu| {
                    lost += 1;
                    if !mpdu.taken {
                        given_up.extend_from_slice(mpdu.msdus.packets());
                    }
                },
            );
            mpdus.push((originator.peer, lost));
            packets += before.packets;
            access.held.packets -= before.packets;
            access.held.bytes = access.held.bytes - before.bytes;
        }
        let booked = given_up.len();
        while let Some(peer) = access.driver.next_peer() {
            given_up.extend(access.driver.pop(peer));
        }
        if queue_too {
            let dropped = &mut cx.outbox.dropped;
            while let Some((_, packet)) = access.queue.dequeue(now, dropped) {
                given_up.push(packet);
            }
            given_up.append(dropped);
        }
        packets += (given_up.len() - booked) as u32;
        self.hold(now, 0, packets);
        self.stats.off_channel_drops += given_up.len() as u64;
        for (peer, lost) in mpdus {
            self.link_stats(peer).mpdus_lost += lost;
        }
        for (index, packet) in given_up.into_iter().enumerate() {
            if index < booked {
                cx.outbox.drop_packet(now, station, packet, reason)
            } else {
                cx.outbox.lose(now, station, packet, reason)
            }
        }
        if packets > 0 {
            self.announce_space(cx.outbox);
        }
    }

    /// Begins scans of a station that did not scan, with their rhythm from the start of the run.
    fn begin_scans(&mut self, now: Instant, config: ScanConfig) {
        let mut scan = Scan::new(config);
        scan.change(now, None);
        scan.change(now, Some(config));
        let scanning = Away::scanning(scan);
        let away = self.away.get_or_insert_with(|| Box::new(scanning.clone()));
        (away.rhythm, away.null) = (scanning.rhythm, scanning.null);
    }

    /// Drops up to `packets_max` packets that leave the queue, the oldest first.
    fn drain(&mut self, cx: &mut Context<'_>, edcaf: usize, packets_max: u32) {
        let now = cx.now;
        let Some(access) = &mut self.edcafs[edcaf] else { return };
        let dropped = &mut cx.outbox.dropped;
        let mut lost = Vec::new();
        while (lost.len() as u32) < packets_max
            && let Some((_, packet)) = access.queue.dequeue(now, dropped)
        {
            lost.push(packet);
        }
        lost.append(dropped);
        self.hold(now, 0, lost.len() as u32);
        self.stats.off_channel_drops += lost.len() as u64;
        let has_space = !lost.is_empty();
        for packet in lost {
            cx.outbox.lose(now, self.id, packet, DropReason::OffChannel);
        }
        if has_space {
            self.announce_space(cx.outbox);
        }
    }
}

impl Power {
    /// Starts scans of a station with the settings of `config` from `now` on, or ends them
    /// ([`Scan::change`]).
    ///
    /// # Errors
    /// Returns an error if the station dozes, roams, or leaves by a schedule.
    pub(in crate::cell) fn change_scan(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        config: Option<ScanConfig>,
    ) -> Result<(), AdjustError> {
        let state = &mut floor.stations[station.index()];
        let dozes = state.config.power_save.is_some() || state.config.service_periods.is_some();
        let roams = state.config.roaming.is_some();
        if dozes || roams || !state.config.absences.is_empty() {
            return Err(AdjustError::Scan);
        }
        state.config.scan = config;
        match (state.away.as_deref_mut(), config) {
            (Some(Away { rhythm: Rhythm::Scan(scan), null, .. }), _) => {
                scan.change(floor.now, config);
                *null = config.map_or(*null, |config| config.null);
            }
            // It scans once it comes back.
            (Some(Away { rhythm: Rhythm::Failure { failed: true }, .. }), _) | (_, None) => {}
            (_, Some(config)) => state.begin_scans(floor.now, config),
        }
        floor.find_next_absence();
        Ok(())
    }

    /// Lets an access point fail from now on, or come back. It leaves after its last frame exchange.
    ///
    /// # Errors
    /// Returns an error for another station.
    pub(in crate::cell) fn change_failure(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        failed: bool,
    ) -> Result<(), AdjustError> {
        if !floor.roster().is_access_point(station) {
            return Err(AdjustError::Failure);
        }
        let state = &mut floor.stations[station.index()];
        state.config.failed = failed;
        let scan = state.config.scan;
        let new = Away::failing(&state.config);
        let away = state.away.get_or_insert_with(|| Box::new(new));
        if failed == matches!(away.rhythm, Rhythm::Failure { failed: true }) {
            return Ok(());
        }
        away.rhythm = Rhythm::Failure { failed };
        away.probes_at = None;
        if failed {
            self.special += 1;
        } else {
            self.special -= 1;
        }
        self.flushing.retain(|flushing| *flushing != station);
        floor.set_gate(station);
        floor.come_back(station);
        if failed {
            self.depart(floor, station);
        } else {
            floor.announce_link(station);
            self.resume(floor, station);
            if let Some(scan) = scan {
                floor.stations[station.index()].begin_scans(floor.now, scan);
            }
        }
        self.go_on_after_failure(floor, station);
        floor.find_next_absence();
        Ok(())
    }

    /// Gives up all packets of a station.
    pub(in crate::cell) fn abandon_all(&mut self, floor: &mut Floor<'_>, station: StationId) {
        for edcaf in 0..EDCAFS {
            let (state, mut cx) = floor.at(self, station);
            state.abandon(&mut cx, edcaf, true);
        }
    }

    /// Performs the steps that are due, and checks which flushing drivers are empty.
    pub(in crate::cell) fn advance_absences(&mut self, floor: &mut Floor<'_>) {
        let now = floor.now;
        while floor.timers.absence <= now {
            let due = |away: &Away| away.due().is_some_and(|at| at <= now);
            let mut stations = floor.stations.iter().filter(|s| s.away.as_deref().is_some_and(due));
            let station = if self.has_services || self.has_schedules {
                // Target wake times, absences and roams coincide: what follows must not depend on
                // the order.
                stations.min_by_key(|station| station.rank)
            } else {
                stations.next()
            };
            let Some(station) = station.map(|station| station.id) else { break };
            let away = floor.away(station);
            if away.departs_at.take_if(|at| *at <= now).is_some() {
                if !self.leave_at_last(floor, station) {
                    self.depart(floor, station);
                }
            } else if away.probes_at.take().is_some() {
                self.queue_about_absence(floor, station, Action::ProbeRequest);
            } else {
                match away.rhythm {
                    Rhythm::Scan(_) => self.scan_input(floor, station, ScanInput::Due),
                    Rhythm::Roam(_) => self.roam_due(floor, station),
                    Rhythm::Schedule(_) => {
                        self.schedule_input(floor, station, ScheduleInput::Due);
                    }
                    Rhythm::Doze(_) => self.look_idle(floor, station),
                    Rhythm::Service(_) => self.service_due(floor, station),
                    // Only its departure is ever due.
                    Rhythm::Failure { .. } => {}
                }
            }
            floor.find_next_absence();
        }
        for index in (0..self.flushing.len()).rev() {
            let station = self.flushing[index];
            if floor.is_drained(station) {
                self.scan_input(floor, station, ScanInput::Drained);
            }
        }
    }

    /// Handles the end of a Null, PS-Poll or probe: acknowledged or given up.
    pub(in crate::cell) fn absence_settled(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        action: Action,
        answered: bool,
    ) {
        let state = &mut floor.stations[station.index()];
        if let (Action::Null { .. }, false) = (action, answered) {
            state.stats.nulls_given_up += 1;
        }
        // A Probe Response is the access point's.
        let Some(away) = &mut state.away else { return };
        let is_scanning = away.scan().is_some_and(|scan| match action {
            Action::Null { power_management: true } => scan.phase() == ScanPhase::Leaving,
            Action::Null { power_management: false } => scan.phase() == ScanPhase::Returning,
            _ => false,
        });
        if is_scanning {
            return self.scan_input(floor, station, ScanInput::Settled);
        }
        match (&away.rhythm, action) {
            (Rhythm::Roam(_), Action::Null { power_management: false }) => {
                self.roam_tested(floor, station, answered);
            }
            (Rhythm::Roam(_), Action::Roam { frame: RoamFrame::TransitionResponse { .. }, .. }) => {
                self.roam_answered(floor, station)
            }
            (Rhythm::Schedule(schedule), Action::Null { power_management })
                if power_management == (schedule.phase() == SchedulePhase::Leaving) =>
            {
                self.schedule_input(floor, station, ScheduleInput::Settled);
            }
            (Rhythm::Doze(_), Action::Null { .. } | Action::PsPoll) => {
                self.doze_settled(floor, station, answered);
            }
            (Rhythm::Service(_), Action::Trigger | Action::PsPoll) => {
                self.asked(floor, station, action, answered);
            }
            _ => {}
        }
    }

    /// Records at the access point that `station` cannot be reached.
    pub(in crate::cell) fn fall_asleep(&mut self, floor: &mut Floor<'_>, station: StationId) {
        if self.dozing.contains(&station) {
            return;
        }
        self.dozing.push(station);
        self.special += 1;
        self.log_held(floor, station);
        let access_point = floor.access_point_of(station);
        for edcaf in 0..EDCAFS {
            let access = &mut floor.stations[access_point.index()].edcafs[edcaf];
            if let Some(access) = access {
                access.absent.dozing.push(station);
                let (state, mut cx) = floor.at(self, access_point);
                state.trim_buffer(&mut cx, edcaf, Address::Station(station));
            }
        }
        self.refill_driver(floor, access_point);
        if floor.devices.has(access_point) {
            floor.return_all(access_point);
        }
    }

    /// Removes the packets that an access point's driver holds for unreachable stations from its
    /// limit.
    pub(in crate::cell) fn refill_driver(
        &mut self,
        floor: &mut Floor<'_>,
        access_point: StationId,
    ) {
        for edcaf in 0..EDCAFS {
            let access = &floor.stations[access_point.index()].edcafs[edcaf];
            if access.as_ref().is_some_and(|access| access.driver.is_used()) {
                let (state, mut cx) = floor.at(self, access_point);
                state.fill_driver(&mut cx, edcaf);
                floor.arm(access_point, edcaf);
            }
        }
    }

    /// Records at the access point that `station` can be reached.
    pub(in crate::cell) fn wake_up(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let Some(index) = self.dozing.iter().position(|dozing| *dozing == station) else { return };
        self.dozing.swap_remove(index);
        self.special -= 1;
        self.log_held(floor, station);
        let access_point = floor.access_point_of(station);
        for edcaf in 0..EDCAFS {
            let access = &mut floor.stations[access_point.index()].edcafs[edcaf];
            if let Some(access) = access {
                access.absent.dozing.retain(|dozing| *dozing != station);
                access.absent.released.retain(|(released, _)| *released != station);
                access.absent.served.retain(|(served, _)| *served != station);
                let (state, mut cx) = floor.at(self, access_point);
                state.fill_driver(&mut cx, edcaf);
                state.build_ahead(&mut cx, edcaf, Address::Station(station));
                floor.arm(access_point, edcaf);
            }
        }
    }

    pub(in crate::cell) fn scan_input(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        input: ScanInput,
    ) {
        let now = floor.now;
        let scan = floor.away(station).scan().expect("it scans, or would not have asked");
        let action = scan.handle(now, input);
        floor.set_gate(station);
        match action {
            scan::ScanAction::Nothing => {}
            scan::ScanAction::Stop => self.flushing.push(station),
            scan::ScanAction::Announce => {
                self.flushing.retain(|flushing| *flushing != station);
                if floor.roster().is_access_point(station) {
                    // It has nobody to tell.
                    self.scan_input(floor, station, ScanInput::Settled)
                } else {
                    self.queue_about_absence(
                        floor,
                        station,
                        Action::Null { power_management: true },
                    );
                }
            }
            scan::ScanAction::Depart => self.depart(floor, station),
            scan::ScanAction::Return => {
                floor.come_back(station);
                if floor.roster().is_access_point(station) {
                    self.scan_input(floor, station, ScanInput::Settled)
                } else {
                    self.queue_about_absence(
                        floor,
                        station,
                        Action::Null { power_management: false },
                    );
                }
            }
            scan::ScanAction::Resume => {
                self.drain_early(floor, station);
                self.resume(floor, station);
                self.roam_scanned(floor, station);
            }
        }
        floor.find_next_absence();
    }

    /// Drops the oldest packets of a station that returns between two absences of a scan, because
    /// the device's queue starts before the MAC accepts data again.
    fn drain_early(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let Some(scan) = floor.away(station).scan() else { return };
        let most = scan.config().return_drain.filter(|_| scan.is_between_absences());
        let Some(most) = most else { return };
        for edcaf in 0..EDCAFS {
            let (state, mut cx) = floor.at(self, station);
            state.drain(&mut cx, edcaf, most);
        }
    }

    /// Resumes the station's queues.
    pub(in crate::cell) fn resume(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let access_point = floor.access_point_of(station);
        for edcaf in 0..EDCAFS {
            let Some(access) = &floor.stations[station.index()].edcafs[edcaf] else { continue };
            let peers = if access_point == station {
                access.peers()
            } else {
                alloc::vec![Address::Station(access_point)]
            };
            let (state, mut cx) = floor.at(self, station);
            state.fill_driver(&mut cx, edcaf);
            for peer in peers {
                state.build_ahead(&mut cx, edcaf, peer);
            }
            floor.arm(station, edcaf);
        }
    }

    /// Lets the station leave, at once or after its last frame.
    pub(in crate::cell) fn depart(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        if floor.away(station).is_over(now) {
            return floor.find_next_absence();
        }
        if let Some(until) = floor.engaged_until(station) {
            floor.away(station).departs_at = Some(until);
            return floor.find_next_absence();
        }
        if floor.roster().is_access_point(station) {
            // A beacon that could not be sent yet is not sent later.
            let contender = floor.edcaf(self, station, BEACON_EDCAF).contender;
            floor.contention.disarm(contender);
        } else {
            floor.drop_about_absence(station)
        }
        floor.away(station).left = Some(now);
        floor.stations[station.index()].stats.absences += 1;
        let mut searched = None;
        let away = floor.away(station);
        let is_off = matches!(away.rhythm, Rhythm::Schedule(_) | Rhythm::Failure { .. });
        let has_failed = matches!(away.rhythm, Rhythm::Failure { .. });
        let state = match away.scan() {
            None if is_off => {
                if has_failed {
                    self.abandon_all(floor, station);
                }
                PowerState::OffChannel
            }
            None => PowerState::Dozing,
            Some(scan) => {
                let (config, stays) = (*scan.config(), scan.is_on_own_channel());
                let (probes, channel) = (scan.probes(), scan.channel());
                if config.leftover != Leftover::Keep {
                    for edcaf in 0..EDCAFS {
                        let (state, mut cx) = floor.at(self, station);
                        state.abandon(&mut cx, edcaf, config.leftover == Leftover::DropAll);
                    }
                }
                if stays {
                    let probe = Some(now + PROBE_DELAY).filter(|_| probes);
                    floor.away(station).probes_at = probe;
                    return floor.find_next_absence();
                }
                let roam = floor.away(station).roam();
                searched = roam.and_then(|roam| Some((roam.scanned_set(channel)?, probes)));
                PowerState::OffChannel
            }
        };
        floor.away(station).log_gone(now, true);
        match state {
            PowerState::Dozing
                if floor.stations[station.index()].has_service_periods()
                    || floor.stations[station.index()].sends_in_power_save() =>
            {
                floor.contention.leave(station, now);
            }
            _ => floor.contention.hold(station, Instant::MAX),
        }
        floor.away(station).listening = None;
        floor.stations[station.index()].deaf_until = Instant::MAX;
        floor.record_power(station, state);
        if let Some((bss, probes)) = searched {
            self.listen_on(floor, station, bss, probes);
            floor.find_next_absence();
        }
    }

    /// Queues a frame about the station's absence ahead of all others.
    pub(in crate::cell) fn queue_about_absence(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        action: Action,
    ) {
        floor.drop_about_absence(station);
        let away = floor.away(station);
        if action != Action::PsPoll {
            away.sequence = away.sequence.next();
        }
        let sequence = away.sequence;
        let peer = floor.access_point_of(station);
        let frame = Management { peer, action, attempts: 0, sequence };
        floor.edcaf(self, station, NULL_FUNCTION).management.push_front(frame);
        floor.lift_mu_edca(station, NULL_FUNCTION);
        floor.arm(station, NULL_FUNCTION);
    }

    /// Queues the answer of its set's access point to a Probe Request.
    pub(in crate::cell) fn answer_probe(
        &mut self,
        floor: &mut Floor<'_>,
        access_point: StationId,
        station: StationId,
    ) {
        let sequence = SeqNo12::new(floor.stations[access_point.index()].stats.beacons as u16);
        let action = Action::ProbeResponse;
        let frame = Management { peer: station, action, attempts: 0, sequence };
        floor.edcaf(self, access_point, NULL_FUNCTION).management.push_back(frame);
        floor.arm(access_point, NULL_FUNCTION);
    }
}

impl Floor<'_> {
    /// Determines the next step of a station's scan or power save.
    pub(in crate::cell) fn find_next_absence(&mut self) {
        let due = self.stations.iter().filter_map(|station| station.away.as_ref()?.due());
        self.timers.absence = crate::cell::timers::earliest(due);
    }

    /// Sets the gates of the station's EDCAFs according to its phase.
    pub(in crate::cell) fn set_gate(&mut self, station: StationId) {
        let now = self.now;
        let away = self.away(station);
        let gate = away.gate();
        away.log_gate(now, gate);
        for edcaf in self.stations[station.index()].edcafs.iter_mut().flatten() {
            edcaf.gate = gate;
        }
    }

    /// Lets the station hear and send again.
    pub(in crate::cell) fn come_back(&mut self, station: StationId) {
        let now = self.now;
        let away = self.away(station);
        (away.departs_at, away.probes_at) = (None, None);
        if away.left.is_none() {
            return;
        }
        let state = &mut self.stations[station.index()];
        state.count_absence(now);
        let away = state.away.as_mut().expect("it was away");
        away.left = None;
        away.log_gone(now, false);
        let is_deaf = state.deaf_until == Instant::MAX && !away.listens_to_its_own();
        if is_deaf && state.config.roaming.is_some() {
            let own = state.config.bss;
            self.listen_to(station, own, true);
            self.record_power(station, PowerState::Awake);
        } else if is_deaf {
            state.deaf_until = now;
            self.contention.return_to_channel(station, now);
            self.channels.forget_navs(station);
            self.record_power(station, PowerState::Awake);
        }
    }

    /// Drops unsent frames about the station's absence, which are outdated.
    pub(in crate::cell) fn drop_about_absence(&mut self, station: StationId) {
        for access in self.stations[station.index()].edcafs.iter_mut().flatten() {
            access.management.retain(|frame| !frame.action.is_about_absence());
        }
    }

    /// Whether no packets are below the upper queue, and no exchange is in progress.
    fn is_drained(&self, station: StationId) -> bool {
        self.engaged_until(station).is_none()
            && self.stations[station.index()].edcafs.iter().flatten().all(|access| {
                access.held.packets == 0 && access.driver.is_empty() && access.management.is_empty()
            })
    }

    /// The instant at which the station's frame exchange may have ended, if it is in one.
    pub(in crate::cell) fn engaged_until(&self, station: StationId) -> Option<Instant> {
        let speaks_until = self.timers.acts_until(station).max(self.air.transmits_until(station));
        let state = &self.stations[station.index()];
        let is_engaged = state.exchange.is_some()
            || state.config.service_periods.is_some() && self.roster().is_attended(station);
        let exchange = is_engaged.then(|| {
            // It goes on when a PPDU ends, SIFS after one, or when none came.
            self.timers.goes_on_after(self.now).min(self.air.next_end())
        });
        speaks_until.max(exchange).filter(|until| *until > self.now)
    }

    pub(in crate::cell) fn away(&mut self, station: StationId) -> &mut Away {
        let away = self.stations[station.index()].away.as_deref_mut();
        away.expect("only a station that comes and goes has such frames")
    }

    pub(in crate::cell) fn record_power(&mut self, station: StationId, state: PowerState) {
        self.outbox.record(|| Event::Power { at: self.now, station, state });
    }
}
