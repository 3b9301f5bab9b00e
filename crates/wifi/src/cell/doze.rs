//! Power save in a cell (IEEE 802.11-2020, 11.2.3): beacons with their TIM,
//! stations that doze and listen to them, PS-Poll, and group frames that wait for
//! a DTIM as long as anybody dozes.
//!
//! Clocks agree, so a station wakes exactly when a beacon is queued, and stays
//! until it was sent. One PS-Poll brings one MPDU, acknowledged first and sent
//! later, as mac80211's access points do.

use super::Cell;
use super::absence::{Doze, EDCAFS, Rhythm};
use super::content::{Action, Exchange};
use super::edcaf::Gate;
use crate::air::Flight;
use crate::mac::block_ack::Bitmap;
use crate::mac::power_save::{self, Input, Phase, partial_virtual_bitmap};
use crate::station::{Address, StationId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The Traffic Indication Map of a beacon.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Tim {
    /// Beacons until the next DTIM, zero: this one.
    pub dtim_count: u8,
    pub group_traffic: bool,
    /// Stations for which packets are held, ascending.
    pub aids: Vec<u16>,
    /// There was a beacon before.
    begun: bool,
}

impl Cell {
    /// The association identifier of a station: 1 to 2 007 (9.4.1.8).
    pub(super) fn aid(&self, station: StationId) -> u16 {
        station.0 + u16::from(station < self.settings.access_point)
    }

    /// The station has been idle for long enough, or not.
    pub(super) fn look_idle(&mut self, station: StationId) {
        let now = self.now;
        let state = &self.stations[station.index()];
        let last_data = state.last_data;
        let busy = state.held_packets > 0
            || state.exchange.is_some()
            || state.edcafs.iter().flatten().any(|access| !access.management.is_empty());
        let Some(doze) = self.doze(station) else { return };
        let since = if busy { now } else { last_data };
        if since + doze.config.idle > now {
            doze.looks_at = since + doze.config.idle;
        } else {
            self.doze_input(station, Input::Idle);
        }
    }

    /// A packet waits to be sent. Whether the station wakes up for it.
    pub(super) fn wake_to_send(&mut self, station: StationId) -> bool {
        let Some(doze) = self.doze(station) else { return false };
        let before = doze.phase;
        self.doze_input(station, Input::Traffic);
        self.doze(station).is_some_and(|doze| doze.phase != before)
    }

    /// Its Null or PS-Poll was acknowledged or given up.
    pub(super) fn doze_settled(&mut self, station: StationId, answered: bool) {
        let input = if answered { Input::Acknowledged } else { Input::GivenUp };
        self.doze_input(station, input);
    }

    /// A beacon is about to be sent: who listens?
    pub(super) fn expect_beacon(&mut self) {
        for index in 0..self.stations.len() {
            if self.stations[index].away.is_none() {
                continue;
            }
            let station = StationId(index as u16);
            let Some(doze) = self.doze(station) else { continue };
            if doze.phase != Phase::Dozing {
                continue;
            }
            doze.beacons_left = doze.beacons_left.saturating_sub(1);
            if doze.beacons_left == 0 {
                self.doze_input(station, Input::BeaconDue);
            }
        }
    }

    /// Fills in the TIM of the beacon that is about to be sent. Returns by how
    /// many bytes it is longer than one octet of bitmap.
    pub(super) fn announce_traffic(&mut self) -> u32 {
        let (count, period) = (self.tim.dtim_count, self.settings.dtim_period.max(1));
        self.tim.dtim_count = match core::mem::replace(&mut self.tim.begun, true) {
            true => count.checked_sub(1).unwrap_or(period - 1),
            false => 0,
        };
        self.tim.group_traffic = false;
        self.tim.aids.clear();
        if self.dozing.is_empty() {
            return 0;
        }
        self.tim.group_traffic =
            self.tim.dtim_count == 0 && (0..EDCAFS).any(|f| self.held(f, Address::Group) > 0);
        let announced = |station: &&StationId| {
            (0..EDCAFS).any(|f| self.held(f, Address::Station(**station)) > 0)
        };
        let mut aids: Vec<u16> =
            self.dozing.iter().filter(announced).map(|s| self.aid(*s)).collect();
        aids.sort_unstable();
        let (_, bitmap) = partial_virtual_bitmap(&aids);
        self.tim.aids = aids;
        bitmap.len() as u32 - 1
    }

    /// Packets and frames that an EDCAF of the access point holds for `peer`.
    fn held(&self, edcaf: usize, peer: Address) -> u32 {
        let edcafs = &self.stations[self.settings.access_point.index()].edcafs;
        edcafs[edcaf].as_ref().map_or(0, |access| access.held_for(peer))
    }

    /// The More Data bit of a frame to `peer`, whose MPDUs are in the hands of
    /// its exchange: `more` of them than are in the frame.
    pub(super) fn more_data(&self, peer: Address, more: bool) -> bool {
        match peer {
            Address::Station(station) => {
                self.dozing.contains(&station)
                    && (more || (0..EDCAFS).any(|f| self.held(f, peer) > 0))
            }
            Address::Group => self.group_left() > 1,
        }
    }

    /// Group frames that go out behind the last DTIM.
    fn group_left(&self) -> u32 {
        let edcafs = &self.stations[self.settings.access_point.index()].edcafs;
        edcafs.iter().flatten().map(|access| access.absent.group_left).sum()
    }

    /// A beacon was sent: who was to hear it, and what does it tell him?
    pub(super) fn hear_beacon(&mut self, flight: &Flight, exchange: &Exchange) {
        for index in 0..self.stations.len() {
            if self.stations[index].away.is_none() {
                continue;
            }
            let station = StationId(index as u16);
            let announced = self.tim.aids.contains(&self.aid(station));
            let listens = self
                .doze(station)
                .is_some_and(|doze| matches!(doze.phase, Phase::Listening | Phase::Polling));
            if !announced && !listens {
                continue;
            }
            let heard =
                self.decode(flight, station, exchange, &VecDeque::new()) == Some(Bitmap::FIRST);
            if listens {
                let input = match heard {
                    true if announced => Input::Indicated,
                    true if self.tim.group_traffic => Input::GroupIndicated,
                    _ => Input::NotIndicated,
                };
                self.doze_input(station, input);
            } else if heard && self.away(station).gate() == Gate::Open {
                // The access point missed that the station is back.
                self.queue_about_absence(station, Action::Null { power_management: false });
            }
        }
    }

    /// The access point lets one frame out for a station that polls.
    pub(super) fn release(&mut self, station: StationId) {
        let now = self.now;
        let access_point = self.settings.access_point;
        let peer = Address::Station(station);
        let edcaf = (0..EDCAFS).rev().find(|edcaf| self.held(*edcaf, peer) > 0);
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

    /// A frame that may be held reached a station that comes and goes; `more` are held.
    pub(super) fn frame_came(&mut self, station: StationId, more: bool) {
        let input = if more { Input::MoreFrames } else { Input::LastFrame };
        self.doze_input(station, input);
    }

    /// A group frame was sent while somebody dozes.
    pub(super) fn hear_group_frame(&mut self) {
        if self.group_left() <= 1 {
            for index in 0..self.stations.len() {
                self.doze_input(StationId(index as u16), Input::LastGroupFrame);
            }
        }
    }

    /// The group frames that waited for the DTIM may go out.
    pub(super) fn open_for_group(&mut self) {
        if self.dozing.is_empty() || self.tim.dtim_count != 0 {
            return;
        }
        let access_point = self.settings.access_point;
        for edcaf in 0..EDCAFS {
            let held = self.held(edcaf, Address::Group);
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
            Rhythm::Scan(_) => None,
        }
    }

    /// Takes an input; means nothing to a station without power save.
    fn doze_input(&mut self, station: StationId, input: Input) {
        let now = self.now;
        let Some(doze) = self.doze(station) else { return };
        let (phase, action) = doze.phase.on(input, doze.config.retrieval);
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
                doze.beacons_left = config.listen_interval;
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
                self.doze(station).expect("it has one").looks_at = now + config.idle;
                self.resume(station);
            }
        }
        self.find_next_absence();
    }
}
