//! Power save in a cell (IEEE 802.11-2020, 11.2.3): beacons with their TIM, stations that doze
//! between beacons, PS-Poll, and group frames, which wait for a DTIM as long as a station dozes.
//!
//! A station that sends in power save mode turns its radio on for the frame. The station then sends
//! no ADDBA Requests, because their answers would be held.
//!
//! A station wakes exactly when a beacon is queued and stays awake until its end. If the station's
//! clock is too late for a beacon, it misses that one. One PS-Poll releases one MPDU, acknowledged
//! first and sent later, as by mac80211's access points.

use super::Cell;
use super::absence::{Away, Doze, EDCAFS, Rhythm};
use super::content::Action;
use super::edcaf::Gate;
use crate::air::Flight;
use crate::mac::power_save::{self, Input, Phase, Sending, partial_virtual_bitmap};
use crate::station::{Address, BssId, StationId};
use alloc::vec::Vec;

/// The Traffic Indication Map of a beacon.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Tim {
    /// Beacons until the next DTIM; zero for a beacon with a DTIM.
    pub dtim_count: u8,
    pub group_traffic: bool,
    /// Stations for which packets are held, ascending.
    pub aids: Vec<u16>,
    /// Whether there was a beacon before.
    begun: bool,
}

impl Tim {
    /// Returns the number of beacons from the next one to the next DTIM; one in `period` beacons
    /// has a DTIM.
    pub fn next_dtim_count(&self, period: u8) -> u8 {
        match self.begun {
            true => self.dtim_count.checked_sub(1).unwrap_or(period.max(1) - 1),
            false => 0,
        }
    }
}

impl Cell {
    /// Checks whether the station has been idle for long enough to doze.
    pub(super) fn look_idle(&mut self, station: StationId) {
        let now = self.now;
        let state = &self.stations[station.index()];
        let last_data = state.last_data;
        let busy = state.held_packets > 0
            || state.exchange.is_some()
            || state.edcafs.iter().flatten().any(|access| !access.management.is_empty());
        let Some(doze) = self.doze(station) else { return };
        if let Sending::InPowerSave(limit) = doze.config.sending {
            let is_busy = doze.is_busy();
            (doze.sent, doze.received) = (0, 0);
            doze.looks_at = now + limit.interval;
            if !is_busy {
                self.doze_input(station, Input::Idle);
            }
            return;
        }
        let since = if busy { now } else { last_data };
        if since + doze.config.idle > now {
            doze.looks_at = since + doze.config.idle;
        } else {
            self.doze_input(station, Input::Idle);
        }
    }

    /// Wakes the station to send a queued packet. Returns whether it wakes up.
    pub(super) fn wake_to_send(&mut self, station: StationId) -> bool {
        let Some(doze) = self.doze(station) else { return self.turn_on_to_send(station) };
        let before = doze.phase;
        self.doze_input(station, Input::Traffic);
        self.doze(station).is_some_and(|doze| doze.phase != before)
    }

    /// Wakes a station in power save to send a queued notification, if it may send now.
    pub(super) fn wake_to_notify(&mut self, station: StationId) {
        match self.stations[station.index()].away.as_deref().map(|away| &away.rhythm) {
            Some(Rhythm::Doze(_)) => self.doze_input(station, Input::Traffic),
            Some(Rhythm::Service(_)) => {
                self.turn_on_to_notify(station);
            }
            Some(Rhythm::Scan(_)) | None => {}
        }
    }

    /// Handles the end of the station's Null or PS-Poll: acknowledged or given up.
    pub(super) fn doze_settled(&mut self, station: StationId, answered: bool) {
        let input = if answered { Input::Acknowledged } else { Input::GivenUp };
        self.doze_input(station, input);
    }

    /// Wakes the stations that listen to the next beacon of a set.
    pub(super) fn expect_beacon(&mut self, bss: BssId) {
        let is_dtim = self.is_dtim_next(bss);
        for index in 0..self.stations.len() {
            if self.stations[index].away.is_none() || self.stations[index].config.bss != bss {
                continue;
            }
            let station = StationId(index as u16);
            if self.expect_beacon_in_power_save(station, is_dtim) {
                continue;
            }
            let Some(doze) = self.doze(station) else { continue };
            if !matches!(doze.phase, Phase::Dozing | Phase::Sending) {
                continue;
            }
            doze.beacons_left = doze.beacons_left.saturating_sub(1);
            doze.clock.pass();
            if doze.beacons_left > 0 {
                continue;
            }
            // Of a station that sends the radio is on.
            if doze.phase == Phase::Dozing && doze.clock.misses() {
                doze.beacons_left = doze.config.listen_interval;
                self.stations[index].stats.beacons_missed += 1;
            } else {
                self.doze_input(station, Input::BeaconDue);
            }
        }
    }

    /// Counts a beacon of a set that is not sent.
    pub(super) fn skip_beacon(&mut self, bss: BssId) {
        let period = self.settings.dtim_period;
        let tim = &mut self.bss[bss.index()].tim;
        (tim.dtim_count, tim.begun) = (tim.next_dtim_count(period), true);
    }

    /// Fills in the TIM of the next beacon. Returns the bytes of the TIM's bitmap beyond one octet.
    pub(super) fn announce_traffic(&mut self, bss: BssId) -> u32 {
        let period = self.settings.dtim_period;
        let tim = &mut self.bss[bss.index()].tim;
        (tim.dtim_count, tim.begun) = (tim.next_dtim_count(period), true);
        tim.group_traffic = false;
        tim.aids.clear();
        let is_dtim = tim.dtim_count == 0;
        if !self.has_dozing(bss) {
            return 0;
        }
        let is_held = |peer: Address| (0..EDCAFS).any(|f| self.held(bss, f, peer) > 0);
        let group_traffic = is_dtim && is_held(Address::Group);
        let announced = self.dozing.iter().filter(|station| {
            self.bss_of(**station) == bss
                && (0..EDCAFS).any(|f| {
                    self.held(bss, f, Address::Station(**station)) > 0
                        && self.is_announced(**station, f)
                })
        });
        let mut aids: Vec<u16> = announced.map(|s| self.stations[s.index()].aid).collect();
        aids.sort_unstable();
        let (_, bitmap) = partial_virtual_bitmap(&aids);
        let tim = &mut self.bss[bss.index()].tim;
        (tim.aids, tim.group_traffic) = (aids, group_traffic);
        bitmap.len() as u32 - 1
    }

    /// Number of packets and frames that an EDCAF of a set's access point holds for `peer`.
    pub(super) fn held(&self, bss: BssId, edcaf: usize, peer: Address) -> u32 {
        let edcafs = &self.stations[self.access_point(bss).index()].edcafs;
        edcafs[edcaf].as_ref().map_or(0, |access| access.held_for(peer))
    }

    /// The More Data bit of a frame from an EDCAF of `sender` to `peer` with the first `leaving`
    /// pending MPDUs.
    pub(super) fn more_data(
        &self,
        sender: StationId,
        edcaf: usize,
        peer: Address,
        leaving: usize,
    ) -> bool {
        let bss = self.bss_of(sender);
        match peer {
            Address::Station(station) => self.more_data_of(station, edcaf).is_some_and(|of| {
                let is_own = sender == self.access_point(bss);
                let leaving = if is_own { leaving as u32 } else { 0 };
                (0..EDCAFS).any(|f| {
                    let leaving = if f == edcaf { leaving } else { 0 };
                    of[f] && self.held(bss, f, peer) > leaving
                })
            }),
            Address::Group => self.group_left(bss) > 1,
        }
    }

    /// Number of group frames of a set still to be sent after the last DTIM.
    fn group_left(&self, bss: BssId) -> u32 {
        let edcafs = &self.stations[self.access_point(bss).index()].edcafs;
        edcafs.iter().flatten().map(|access| access.absent.group_left).sum()
    }

    /// Delivers a beacon that was sent, with its TIM, to the stations that listen.
    pub(super) fn hear_beacon(&mut self, flight: &Flight) {
        let bss = self.bss_of(flight.transmitter);
        for index in 0..self.stations.len() {
            if self.stations[index].away.is_none() || self.stations[index].config.bss != bss {
                continue;
            }
            let station = StationId(index as u16);
            let tim = &self.bss[bss.index()].tim;
            let announced = tim.aids.contains(&self.stations[index].aid);
            let group_traffic = tim.group_traffic;
            let is_saving = self.has_services && self.has_service_periods(station);
            let listens = match self.doze(station) {
                Some(doze) => {
                    matches!(doze.phase, Phase::Listening | Phase::Polling | Phase::Sending)
                }
                None => is_saving && self.listens_in_power_save(station),
            };
            if is_saving && !listens {
                continue;
            }
            if !announced && !listens {
                continue;
            }
            let heard = self.receiver(station).decode_one(flight) == Some(true);
            if is_saving {
                let said = (heard && announced, heard && group_traffic);
                self.hear_beacon_in_power_save(station, said);
            } else if listens {
                if let Some(doze) = self.doze(station) {
                    match heard {
                        true => doze.clock.set(),
                        false => doze.clock.missed(),
                    }
                }
                self.stations[index].stats.beacons_missed += u64::from(!heard);
                let input = match heard {
                    true if announced => Input::Indicated,
                    true if group_traffic => Input::GroupIndicated,
                    _ => Input::NotIndicated,
                };
                self.doze_input(station, input);
            } else if heard && self.away(station).gate() == Gate::Open {
                // The access point missed that the station is back.
                self.queue_about_absence(station, Action::Null { power_management: false });
            }
        }
    }

    /// Releases one frame at the access point for a station that polls.
    pub(super) fn release(&mut self, station: StationId) {
        let now = self.now;
        let bss = self.bss_of(station);
        let access_point = self.access_point(bss);
        let peer = Address::Station(station);
        let edcaf = (0..EDCAFS)
            .rev()
            .find(|edcaf| self.held(bss, *edcaf, peer) > 0 && self.is_polled(station, *edcaf));
        let Some(edcaf) = edcaf else { return };
        let absent = &mut self.edcaf(access_point, edcaf).absent;
        if absent.dozing.contains(&station) && !absent.is_released(station) {
            absent.released.push((station, now));
            // The driver passed over packets for a station that dozed.
            let (state, mut cx) = self.at(access_point);
            state.fill_driver(&mut cx, edcaf);
            self.arm(access_point, edcaf);
        }
    }

    /// Handles a frame of an EDCAF that reached a station with absences. The access point still
    /// holds `more` frames, and the frame may end a service period.
    pub(super) fn frame_came(
        &mut self,
        station: StationId,
        edcaf: usize,
        (ends_service, more): (bool, bool),
    ) {
        if self.has_services && self.has_service_periods(station) {
            return self.frame_came_in_power_save(station, edcaf, (ends_service, more));
        }
        let input = if more { Input::MoreFrames } else { Input::LastFrame };
        self.doze_input(station, input);
        self.leave_if_busy(station);
    }

    /// Whether a station that dozes between its frames sends them in power save mode, with the
    /// Power Management bit set.
    pub(super) fn sends_in_power_save(&self, station: StationId) -> bool {
        self.stations[station.index()].away.as_deref().is_some_and(Away::sends_in_power_save)
    }

    /// Whether data of a station have the Power Management bit set.
    pub(super) fn is_in_power_save(&self, station: StationId) -> bool {
        self.has_service_periods(station) || self.sends_in_power_save(station)
    }

    /// Ends an exchange of a station, or its contention without a frame to send. The station dozes
    /// if no frame is left to send in power save mode; it leaves that mode if it is busy.
    pub(super) fn rest_in_power_save(&mut self, station: StationId) {
        self.leave_if_busy(station);
        let state = &self.stations[station.index()];
        let mut frames = state.edcafs.iter().flatten().flat_map(|access| &access.management);
        if state.held_packets == 0 && state.exchange.is_none() && frames.next().is_none() {
            self.doze_input(station, Input::Sent);
        }
    }

    fn leave_if_busy(&mut self, station: StationId) {
        if self.doze(station).is_some_and(|doze| doze.is_busy()) {
            self.doze_input(station, Input::Busy);
        }
    }

    /// Handles the end of a group frame, sent while a station of the set dozes.
    pub(super) fn hear_group_frame(&mut self, bss: BssId) {
        if self.group_left(bss) <= 1 {
            for index in 0..self.stations.len() {
                if self.stations[index].config.bss == bss {
                    let station = StationId(index as u16);
                    self.doze_input(station, Input::LastGroupFrame);
                    self.last_group_frame_in_power_save(station);
                }
            }
        }
    }

    /// Releases the group frames of a set that waited for the DTIM.
    pub(super) fn open_for_group(&mut self, bss: BssId) {
        if self.bss[bss.index()].tim.dtim_count != 0 || !self.has_dozing(bss) {
            return;
        }
        let access_point = self.access_point(bss);
        for edcaf in 0..EDCAFS {
            let held = self.held(bss, edcaf, Address::Group);
            if held > 0 {
                let now = self.now;
                let absent = &mut self.edcaf(access_point, edcaf).absent;
                (absent.group_left, absent.group_opened) = (held, Some(now));
                let (state, mut cx) = self.at(access_point);
                state.fill_driver(&mut cx, edcaf);
                self.arm(access_point, edcaf);
            }
        }
    }

    fn doze(&mut self, station: StationId) -> Option<&mut Doze> {
        match &mut self.stations[station.index()].away.as_deref_mut()?.rhythm {
            Rhythm::Doze(doze) => Some(doze),
            Rhythm::Scan(_) | Rhythm::Service(_) => None,
        }
    }

    /// Passes an input to the station's power save, if it has any.
    fn doze_input(&mut self, station: StationId, input: Input) {
        let now = self.now;
        let Some(doze) = self.doze(station) else { return };
        let before = doze.phase;
        let (phase, action) = before.on(input, &doze.config);
        doze.phase = phase;
        let config = doze.config;
        self.set_gate(station);
        match action {
            power_save::Action::Nothing => {}
            power_save::Action::Announce => {
                self.queue_about_absence(station, Action::Null { power_management: true });
            }
            power_save::Action::Doze => {
                let doze = self.doze(station).expect("it has one");
                if before != Phase::Sending {
                    doze.beacons_left = config.listen_interval;
                }
                if before == Phase::Announcing {
                    doze.clock.set();
                }
                self.depart(station);
                if self.stations[station.index()].held_packets > 0 {
                    self.doze_input(station, Input::Traffic);
                }
            }
            power_save::Action::Listen => self.come_back(station),
            power_save::Action::Poll => {
                self.queue_about_absence(station, Action::PsPoll);
            }
            power_save::Action::Wake => {
                self.come_back(station);
                self.queue_about_absence(station, Action::Null { power_management: false });
            }
            power_save::Action::Open => {
                if config.sending == Sending::Awake {
                    self.doze(station).expect("it has one").looks_at = now + config.idle;
                }
                self.resume(station);
            }
            power_save::Action::Send => {
                self.come_back(station);
                self.resume(station);
            }
        }
        self.find_next_absence();
    }
}
