//! Power save in a cell (IEEE 802.11-2020, 11.2.3): beacons with their TIM, stations that doze
//! between beacons, PS-Poll, and group frames, which wait for a DTIM as long as a station dozes.
//!
//! A station that sends in power save mode turns its radio on for the frame. The station then sends
//! no ADDBA Requests, because their answers would be held.
//!
//! A station wakes exactly when a beacon is queued and stays awake until its end. If the station's
//! clock is too late for a beacon, it misses that one. One PS-Poll releases one MPDU, acknowledged
//! first and sent later, as by mac80211's access points.

use super::Power;
use super::absence::{Doze, Rhythm};
use crate::air::{Action, Content};
use crate::cell::bss::Bss;
use crate::cell::edcaf::{BEACON_EDCAF, EDCAFS, Edcaf, Gate};
use crate::cell::exchange::single::Single;
use crate::cell::floor::{Floor, Roster};
use crate::mac::power_save::{self, DozeInput, DozePhase, Sending, partial_virtual_bitmap};
use crate::station::{Address, BssId, StationId};
use alloc::vec::Vec;
use lasthop_units::Instant;

impl Power {
    /// Whether a station of a set is known to be unreachable.
    pub(super) fn has_dozing_in(&self, floor: &Floor<'_>, bss: BssId) -> bool {
        self.dozing.iter().any(|station| floor.bss_of(*station) == bss)
            || self.is_saving(floor, bss)
    }

    /// Whether a station of a set stays in power save mode.
    pub(in crate::cell) fn is_saving(&self, floor: &Floor<'_>, bss: BssId) -> bool {
        self.has_services
            && floor.stations.iter().any(|station| {
                station.config.bss == bss && station.config.service_periods.is_some()
            })
    }

    /// Checks whether the station has been idle for long enough to doze.
    pub(in crate::cell) fn look_idle(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let state = &floor.stations[station.index()];
        let last_data =
            if state.is_further_link { floor.devices.needed(station) } else { state.last_data };
        let is_held = |access: &Edcaf| {
            !access.management.is_empty() || state.is_further_link && access.held.packets > 0
        };
        let busy = state.held_packets > 0
            || state.exchange.is_some()
            || state.edcafs.iter().flatten().any(|access| is_held(access));
        let Some(doze) = floor.doze(station) else { return };
        if let Sending::InPowerSave(limit) = doze.config.sending {
            let is_busy = doze.is_busy();
            (doze.sent, doze.received) = (0, 0);
            doze.looks_at = now + limit.interval;
            if !is_busy {
                self.doze_input(floor, station, DozeInput::Idle);
            }
            return;
        }
        let since = if busy { now } else { last_data };
        if since + doze.config.idle > now {
            doze.looks_at = since + doze.config.idle;
        } else {
            self.doze_input(floor, station, DozeInput::Idle);
        }
    }

    /// Wakes the station to send a queued packet. Returns whether it wakes up.
    pub(in crate::cell) fn wake_to_send(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
    ) -> bool {
        let Some(doze) = floor.doze(station) else { return self.turn_on_to_send(floor, station) };
        let before = doze.phase;
        self.doze_input(floor, station, DozeInput::Traffic);
        floor.doze(station).is_some_and(|doze| doze.phase != before)
    }

    /// Wakes a station in power save to send a queued notification, if it may send now.
    pub(in crate::cell) fn wake_to_notify(&mut self, floor: &mut Floor<'_>, station: StationId) {
        match floor.stations[station.index()].away.as_deref().map(|away| &away.rhythm) {
            Some(Rhythm::Doze(_)) => self.doze_input(floor, station, DozeInput::Traffic),
            Some(Rhythm::Service(_)) => {
                self.turn_on_to_notify(floor, station);
            }
            Some(
                Rhythm::Scan(_) | Rhythm::Failure { .. } | Rhythm::Schedule(_) | Rhythm::Roam(_),
            )
            | None => {}
        }
    }

    /// Handles the end of the station's Null or PS-Poll: acknowledged or given up.
    pub(in crate::cell) fn doze_settled(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        answered: bool,
    ) {
        let input = if answered { DozeInput::Acknowledged } else { DozeInput::GivenUp };
        self.doze_input(floor, station, input);
    }

    /// Queues the beacons that are due at their access points.
    pub(in crate::cell) fn queue_beacons(&mut self, floor: &mut Floor<'_>) {
        let Some(interval) = floor.settings.beacon_interval else { return };
        for bss in (0..floor.bss.len() as u16).map(BssId) {
            if floor.bss[bss.index()].switch.is_some() {
                self.advance_switch(floor, bss);
            }
            if floor.bss[bss.index()].next_beacon != floor.now {
                continue;
            }
            self.expect_beacon(floor, bss);
            floor.bss[bss.index()].next_beacon = floor.now + interval;
            let access_point = floor.access_point(bss);
            if floor.stations[access_point.index()].is_off_channel() || floor.is_about_to_move(bss)
            {
                // It is on another channel.
                floor.skip_beacon(bss);
                continue;
            }
            let contender = floor.edcaf(self, access_point, BEACON_EDCAF).contender;
            floor.contention.arm(contender, floor.now);
        }
        floor.timers.beacon = Bss::next_beacon(floor.bss);
    }

    /// The next beacon of an access point, with its TIM.
    pub(in crate::cell) fn build_beacon(
        &mut self,
        floor: &mut Floor<'_>,
        access_point: StationId,
        opportunity_end: Instant,
    ) -> Single {
        let rate = floor.rates.lowest();
        let bss = floor.bss_of(access_point);
        let psdu_bytes = floor.settings.bss[bss.index()].beacon_bytes
            + self.announce_traffic(floor, bss)
            + floor.announced_octets(bss);
        Single {
            edcaf: BEACON_EDCAF,
            peer: Address::Group,
            content: Content::Beacon,
            rate,
            psdu_bytes,
            duration: floor.rates.ppdu_duration(rate, psdu_bytes),
            response: None,
            requesting: false,
            opportunity_end,
            collided: false,
            ends_service: false,
            more_data: None,
        }
    }

    /// Wakes the stations that listen to the next beacon of a set.
    fn expect_beacon(&mut self, floor: &mut Floor<'_>, bss: BssId) {
        let is_dtim = floor.roster().is_dtim_next(bss);
        for index in 0..floor.stations.len() {
            if floor.stations[index].away.is_none() || floor.stations[index].config.bss != bss {
                continue;
            }
            let station = StationId(index as u16);
            if self.expect_beacon_in_power_save(floor, station, is_dtim) {
                continue;
            }
            let Some(doze) = floor.doze(station) else { continue };
            if !matches!(doze.phase, DozePhase::Dozing | DozePhase::Sending) {
                continue;
            }
            doze.beacons_left = doze.beacons_left.saturating_sub(1);
            doze.clock.pass();
            if doze.beacons_left > 0 {
                continue;
            }
            // Of a station that sends the radio is on.
            if doze.phase == DozePhase::Dozing && doze.clock.misses() {
                doze.beacons_left = doze.config.listen_interval;
                floor.stations[index].stats.beacons_missed += 1;
            } else {
                self.doze_input(floor, station, DozeInput::BeaconDue);
            }
        }
    }

    /// Fills in the TIM of the next beacon. Returns the bytes of the TIM's bitmap beyond one octet.
    fn announce_traffic(&mut self, floor: &mut Floor<'_>, bss: BssId) -> u32 {
        let period = floor.settings.dtim_period;
        let tim = &mut floor.bss[bss.index()].tim;
        (tim.dtim_count, tim.begun) = (tim.next_dtim_count(period), true);
        tim.group_traffic = false;
        tim.aids.clear();
        let is_dtim = tim.dtim_count == 0;
        if !self.has_dozing_in(floor, bss) {
            return 0;
        }
        let is_held = |peer: Address| (0..EDCAFS).any(|f| floor.roster().held(bss, f, peer) > 0);
        let group_traffic = is_dtim && is_held(Address::Group);
        let announced = self.dozing.iter().filter(|station| {
            floor.bss_of(**station) == bss
                && (0..EDCAFS).any(|f| {
                    floor.roster().held(bss, f, Address::Station(**station)) > 0
                        && floor.stations[station.index()].is_announced(f)
                })
        });
        let mut aids: Vec<u16> = announced.map(|s| floor.stations[s.index()].aid).collect();
        aids.sort_unstable();
        let (_, bitmap) = partial_virtual_bitmap(&aids);
        let tim = &mut floor.bss[bss.index()].tim;
        (tim.aids, tim.group_traffic) = (aids, group_traffic);
        bitmap.len() as u32 - 1
    }

    /// The More Data bit of a frame from an EDCAF of `sender` to `peer` with the first `leaving`
    /// pending MPDUs.
    pub(in crate::cell) fn more_data(
        &self,
        roster: Roster<'_>,
        sender: StationId,
        edcaf: usize,
        peer: Address,
        leaving: usize,
    ) -> bool {
        let bss = roster.bss_of(sender);
        match peer {
            Address::Station(station) => {
                self.more_data_of(roster, station, edcaf).is_some_and(|of| {
                    let is_own = sender == roster.access_point(bss);
                    let leaving = if is_own { leaving as u32 } else { 0 };
                    (0..EDCAFS).any(|f| {
                        let leaving = if f == edcaf { leaving } else { 0 };
                        of[f] && roster.held(bss, f, peer) > leaving
                    })
                })
            }
            Address::Group => roster.group_left(bss) > 1,
        }
    }

    /// Whether the beacon on the air matters to a station with absences of its set.
    pub(in crate::cell) fn awaits_beacon(&self, floor: &mut Floor<'_>, station: StationId) -> bool {
        let state = &floor.stations[station.index()];
        let announced = floor.bss[state.config.bss.index()].tim.aids.contains(&state.aid);
        let listens = self.listens(floor, station);
        listens || announced && !floor.stations[station.index()].has_service_periods()
    }

    /// Whether a station listens to the beacon on the air.
    fn listens(&self, floor: &mut Floor<'_>, station: StationId) -> bool {
        match floor.doze(station) {
            Some(doze) => {
                matches!(doze.phase, DozePhase::Listening | DozePhase::Polling | DozePhase::Sending)
            }
            None => floor.listens_in_power_save(station),
        }
    }

    /// Handles the end of a beacon that a station [awaits](Self::awaits_beacon), with its TIM if it
    /// was heard.
    pub(in crate::cell) fn beacon_over(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        heard: bool,
    ) {
        let state = &floor.stations[station.index()];
        let tim = &floor.bss[state.config.bss.index()].tim;
        let announced = heard && tim.aids.contains(&state.aid);
        let group_traffic = heard && tim.group_traffic;
        if state.has_service_periods() {
            self.hear_beacon_in_power_save(floor, station, announced, group_traffic);
        } else if self.listens(floor, station) {
            if let Some(doze) = floor.doze(station) {
                if heard {
                    doze.clock.set();
                } else {
                    doze.clock.missed();
                }
            }
            floor.stations[station.index()].stats.beacons_missed += u64::from(!heard);
            let input = if announced {
                DozeInput::Indicated
            } else if group_traffic {
                DozeInput::GroupIndicated
            } else {
                DozeInput::NotIndicated
            };
            self.doze_input(floor, station, input);
        } else if heard && floor.away(station).gate() == Gate::Open {
            // The access point missed that the station is back.
            self.queue_about_absence(floor, station, Action::Null { power_management: false });
        }
    }

    /// Handles a decoded frame of an EDCAF of `sender` at its access point: unless the frame shows
    /// that the sender continues to doze, the sender is awake.
    pub(in crate::cell) fn heard_from(
        &mut self,
        floor: &mut Floor<'_>,
        sender: StationId,
        edcaf: usize,
        content: &Content,
    ) {
        let state = &floor.stations[sender.index()];
        if state.has_service_periods() {
            if matches!(content, Content::Data { .. }) {
                self.triggered(floor, sender, edcaf);
            }
        } else if self.has_dozing() && !may_still_doze(content, state.sends_in_power_save()) {
            self.wake_up(floor, sender);
        }
    }

    /// Releases one frame at the access point for a station that polls.
    pub(in crate::cell) fn release(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let bss = floor.bss_of(station);
        let access_point = floor.access_point(bss);
        let peer = Address::Station(station);
        let edcaf = (0..EDCAFS).rev().find(|edcaf| {
            let is_held = floor.roster().held(bss, *edcaf, peer) > 0;
            is_held && floor.stations[station.index()].is_polled(*edcaf)
        });
        let Some(edcaf) = edcaf else { return };
        let absent = &mut floor.edcaf(self, access_point, edcaf).absent;
        if absent.dozing.contains(&station) && !absent.is_released(station) {
            absent.released.push((station, now));
            // The driver passed over packets for a station that dozed.
            let (state, mut cx) = floor.at(self, access_point);
            state.fill_driver(&mut cx, edcaf);
            floor.arm(access_point, edcaf);
        }
    }

    /// Handles a frame of an EDCAF that reached a station with absences. The access point still
    /// holds `more` frames, and the frame may end a service period.
    pub(in crate::cell) fn handle_frame(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        edcaf: usize,
        ends_service: bool,
        more: bool,
    ) {
        if floor.stations[station.index()].has_service_periods() {
            return self.handle_service_frame(floor, station, edcaf, ends_service, more);
        }
        let input = if more { DozeInput::MoreFrames } else { DozeInput::LastFrame };
        self.doze_input(floor, station, input);
        self.leave_if_busy(floor, station);
    }

    /// Ends an exchange of a station, or its contention without a frame to send. The station dozes
    /// if no frame is left to send in power save mode; it leaves that mode if it is busy.
    pub(in crate::cell) fn doze_after_exchange(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
    ) {
        self.leave_if_busy(floor, station);
        let state = &floor.stations[station.index()];
        let mut frames = state.edcafs.iter().flatten().flat_map(|access| &access.management);
        if state.held_packets == 0 && state.exchange.is_none() && frames.next().is_none() {
            self.doze_input(floor, station, DozeInput::Sent);
        }
    }

    fn leave_if_busy(&mut self, floor: &mut Floor<'_>, station: StationId) {
        if floor.doze(station).is_some_and(|doze| doze.is_busy()) {
            self.doze_input(floor, station, DozeInput::Busy);
        }
    }

    /// Handles the end of a group frame, sent while a station of the set dozes.
    pub(in crate::cell) fn hear_group_frame(&mut self, floor: &mut Floor<'_>, bss: BssId) {
        if self.has_dozing_in(floor, bss) && floor.roster().group_left(bss) <= 1 {
            for index in 0..floor.stations.len() {
                if floor.stations[index].config.bss == bss {
                    let station = StationId(index as u16);
                    self.doze_input(floor, station, DozeInput::LastGroupFrame);
                    self.last_group_frame_in_power_save(floor, station);
                }
            }
        }
    }

    /// Releases the group frames of a set that waited for the DTIM.
    pub(in crate::cell) fn open_for_group(&mut self, floor: &mut Floor<'_>, bss: BssId) {
        if floor.bss[bss.index()].tim.dtim_count != 0 || !self.has_dozing_in(floor, bss) {
            return;
        }
        let access_point = floor.access_point(bss);
        for edcaf in 0..EDCAFS {
            let held = floor.roster().held(bss, edcaf, Address::Group);
            if held > 0 {
                let now = floor.now;
                let absent = &mut floor.edcaf(self, access_point, edcaf).absent;
                (absent.group_left, absent.group_opened) = (held, Some(now));
                let (state, mut cx) = floor.at(self, access_point);
                state.fill_driver(&mut cx, edcaf);
                floor.arm(access_point, edcaf);
            }
        }
    }

    /// Passes an input to the station's power save, if it has any.
    fn doze_input(&mut self, floor: &mut Floor<'_>, station: StationId, input: DozeInput) {
        let now = floor.now;
        let Some(doze) = floor.doze(station) else { return };
        let before = doze.phase;
        let (phase, action) = before.on(input, &doze.config);
        doze.phase = phase;
        let config = doze.config;
        floor.set_gate(station);
        match action {
            power_save::DozeAction::Nothing => {}
            power_save::DozeAction::Announce => {
                self.queue_about_absence(floor, station, Action::Null { power_management: true });
            }
            power_save::DozeAction::Doze => {
                let doze = floor.doze(station).expect("it has one");
                if before != DozePhase::Sending {
                    doze.beacons_left = config.listen_interval;
                }
                if before == DozePhase::Announcing {
                    doze.clock.set();
                }
                self.depart(floor, station);
                if floor.stations[station.index()].held_packets > 0 {
                    self.doze_input(floor, station, DozeInput::Traffic);
                }
            }
            power_save::DozeAction::Listen => floor.come_back(station),
            power_save::DozeAction::Poll => {
                self.queue_about_absence(floor, station, Action::PsPoll);
            }
            power_save::DozeAction::Wake => {
                floor.come_back(station);
                self.queue_about_absence(floor, station, Action::Null { power_management: false });
            }
            power_save::DozeAction::Open => {
                if config.sending == Sending::Awake {
                    floor.doze(station).expect("it has one").looks_at = now + config.idle;
                }
                self.resume(floor, station);
            }
            power_save::DozeAction::Send => {
                floor.come_back(station);
                self.resume(floor, station);
            }
        }
        floor.find_next_absence();
    }
}

impl Floor<'_> {
    /// Counts a beacon of a set that is not sent.
    fn skip_beacon(&mut self, bss: BssId) {
        let period = self.settings.dtim_period;
        let tim = &mut self.bss[bss.index()].tim;
        (tim.dtim_count, tim.begun) = (tim.next_dtim_count(period), true);
    }

    fn doze(&mut self, station: StationId) -> Option<&mut Doze> {
        match &mut self.stations[station.index()].away.as_deref_mut()?.rhythm {
            Rhythm::Doze(doze) => Some(doze),
            Rhythm::Scan(_)
            | Rhythm::Failure { .. }
            | Rhythm::Schedule(_)
            | Rhythm::Service(_)
            | Rhythm::Roam(_) => None,
        }
    }
}

impl Roster<'_> {
    /// Number of packets and frames that an EDCAF of a set's access point holds for `peer`.
    pub(in crate::cell) fn held(&self, bss: BssId, edcaf: usize, peer: Address) -> u32 {
        let access_point = self.access_point(bss);
        let Some(access) = &self.stations[access_point.index()].edcafs[edcaf] else { return 0 };
        access.held_for(peer)
            + access.link.as_ref().map_or(0, |link| {
                // The first link has the queue of a device.
                let first = link.heads[access_point.index()];
                let queue = self.stations[first.index()].edcafs[edcaf].as_ref();
                let is_other = first != access_point;
                queue
                    .filter(|_| is_other)
                    .map_or(0, |it| it.queue.len_packets_for(access.key(peer)))
            })
    }

    /// Number of group frames of a set still to be sent after the last DTIM.
    fn group_left(&self, bss: BssId) -> u32 {
        let edcafs = &self.stations[self.access_point(bss).index()].edcafs;
        edcafs.iter().flatten().map(|access| access.absent.group_left).sum()
    }
}

/// Whether the frame does not show that its sender is awake: its Power Management bit is set or has
/// no meaning (9.2.4.1.7). With `saves`, data and management frames have the bit set.
fn may_still_doze(content: &Content, saves: bool) -> bool {
    let Content::Management(frame) = content else { return saves };
    match frame.action {
        Action::Null { power_management } => power_management,
        Action::AddbaRequest { .. } | Action::AddbaResponse { .. } | Action::OperatingMode(_) => {
            saves
        }
        Action::PsPoll
        | Action::Trigger
        | Action::EndOfServicePeriod
        | Action::Roam { .. }
        | Action::ProbeRequest
        | Action::ProbeResponse => true,
    }
}
