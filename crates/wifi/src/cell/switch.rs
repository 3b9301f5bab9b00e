//! Access points that move to another channel, and the stations that follow them. The plans are
//! machines: [`SwitchPlan`] of an access point, and [`Follow`](crate::mac::roam::follow::Follow) of a
//! station.
//!
//! An access point moves at the beacon time that it announced, or once the frame exchange is over in
//! which it is then, and sends its beacon there. With Channel Switch Mode 1 its queue waits: only
//! frames in driver and hardware are sent before. During a check the access point loses its packets
//! (`unlinked`), because hostapd takes the interface down (`hostapd_dfs_start_channel_switch_cac`). A
//! station that heard no announcement stays where it was, misses beacons, and looks for its access
//! point. Left out: another width on the new channel, and stations that save power or scan by
//! themselves.

use super::floor::Floor;
use super::power::{Away, Listening, Power};
use super::station::Station;
use super::{AdjustError, Cell};
use crate::air::{Air, Flight};
use crate::cell::bss::Bss;
use crate::cell::edcaf::{BEACON_EDCAF, Gate};
use crate::config::Role;
use crate::event::{Event, SwitchStep};
use crate::mac::channel_switch::{Announcement, ChannelSwitch, SwitchPlan};
use crate::mac::roam::station::Roam;
use crate::phy::Subchannel;
use crate::station::{BssId, StationId};
use crate::stats::Switched;
use alloc::boxed::Box;
use lasthop_units::Instant;

impl Cell {
    /// Lets an access point move to another channel, by an order at `now`. It replaces an order
    /// before; one to the channel where the access point is, without a check, only ends that.
    ///
    /// # Errors
    /// Refuses a station that is no access point, scans or has absences; one with stations that do
    /// not [roam](crate::cell::StationConfig::roaming); a channel that the band does not have at this
    /// width; and a run that began without such changes ([`CellConfig::channels_vary`]).
    ///
    /// [`CellConfig::channels_vary`]: crate::cell::CellConfig::channels_vary
    pub fn change_channel(
        &mut self,
        now: Instant,
        access_point: StationId,
        order: ChannelSwitch,
    ) -> Result<(), AdjustError> {
        let bss = self.bss_of(access_point);
        let members = self.stations.iter().filter(|station| station.config.bss == bss);
        let may_follow =
            |it: &Station| it.config.role == Role::AccessPoint || it.config.roaming.is_some();
        let state = &self.stations[access_point.index()];
        let is_fit = state.config.role == Role::AccessPoint
            && state.away.as_deref().is_some_and(Away::may_switch)
            && state.config.capabilities.width() <= order.to.widest(self.settings.band)
            && members.clone().all(may_follow);
        if !is_fit || !self.settings.channels_vary {
            return Err(AdjustError::Channel);
        }
        self.now = now;
        self.power(|power, floor| power.order_switch(floor, bss, order));
        self.schedule();
        Ok(())
    }
}

impl Away {
    /// Whether an access point in this state may move to another channel.
    fn may_switch(&self) -> bool {
        matches!(self.rhythm, super::power::Rhythm::Failure { .. })
    }

    /// Whether an access point has failed.
    fn has_failed(&self) -> bool {
        matches!(self.rhythm, super::power::Rhythm::Failure { failed: true })
    }
}

impl Station {
    /// Whether the station was away when the PPDU began, or listens to others, or on another channel.
    pub fn misses(&self, air: &Air, flight: &Flight) -> bool {
        flight.start < self.deaf_until && !self.listens_to(air, flight)
    }

    #[cold]
    fn listens_to(&self, air: &Air, flight: &Flight) -> bool {
        let listening = self.away.as_deref().and_then(Away::listening);
        listening.is_some_and(|it| it.receives(flight) && air.is_on_channel(flight, self.id))
    }
}

impl Power {
    /// Lets access points, and stations that may follow them, listen on a channel of their own, where
    /// those of a cell may change.
    pub(super) fn prepare_switches(&mut self, floor: &mut Floor<'_>) {
        if !floor.settings.channels_vary {
            return;
        }
        // An access point may lose packets, during a check.
        self.special += 1;
        for set in 0..floor.bss.len() as u16 {
            let access_point = floor.access_point(BssId(set));
            let state = &mut floor.stations[access_point.index()];
            if state.away.is_none() {
                state.away = Some(Box::new(Away::failing(&state.config)));
                floor.listen_for_stations(access_point);
            }
        }
        for station in (0..floor.stations.len() as u16).map(StationId) {
            if floor.stations[station.index()].config.roaming.is_some() {
                let own = floor.bss_of(station);
                floor.listen_to(station, own, true);
            }
        }
    }

    fn order_switch(&mut self, floor: &mut Floor<'_>, bss: BssId, order: ChannelSwitch) {
        let now = floor.now;
        let access_point = floor.access_point(bss);
        if floor.bss[bss.index()].switch.is_some_and(|plan| plan.is_checking()) {
            self.end_check(floor, bss);
        }
        let from = floor.bss[bss.index()].primary;
        floor.bss[bss.index()].switch = None;
        if order.to != from || !order.check.is_zero() {
            let is_member = |station: &&Station| {
                station.config.bss == bss && station.config.role != Role::AccessPoint
            };
            let stations = floor.stations.iter().filter(is_member).count();
            floor.stations[access_point.index()].stats.switches.push(Switched {
                from,
                to: order.to,
                radar: order.radar,
                quiet: order.quiet,
                ordered_at: now,
                moved_at: None,
                checks: false,
                checked_at: None,
                stations: stations as u16,
                followed: 0,
                without: lasthop_units::Duration::ZERO,
            });
            floor.bss[bss.index()].switch = Some(SwitchPlan::new(now, order));
            floor.record_switch(access_point, SwitchStep::Ordered, order.to);
        }
        floor.set_switching(access_point, bss);
        self.resume(floor, access_point);
        if floor.bss[bss.index()].switch.is_some_and(|plan| plan.is_moving()) {
            self.advance_switch(floor, bss);
        }
        floor.timers.beacon = Bss::next_beacon(floor.bss);
    }

    /// Performs the steps of a set's move that are due.
    pub(super) fn advance_switch(&mut self, floor: &mut Floor<'_>, bss: BssId) {
        let now = floor.now;
        let set = &mut floor.bss[bss.index()];
        let is_beacon_time = set.next_beacon == now;
        let Some(plan) = &mut set.switch else { return };
        if is_beacon_time {
            plan.handle_beacon_time(now);
        }
        if plan.due() > now {
            return;
        }
        if plan.is_moving() {
            self.move_set(floor, bss, is_beacon_time);
        } else {
            self.end_check(floor, bss);
        }
    }

    /// Moves an access point to its new channel, at once or after its last frame.
    fn move_set(&mut self, floor: &mut Floor<'_>, bss: BssId, is_beacon_time: bool) {
        let now = floor.now;
        let access_point = floor.access_point(bss);
        let engaged_until = floor.engaged_until(access_point);
        let set = &mut floor.bss[bss.index()];
        let Some(plan) = &mut set.switch else { return };
        if let Some(until) = engaged_until {
            return plan.delay(until);
        }
        let order = *plan.order();
        let checks = plan.moved(now);
        let before = core::mem::replace(&mut set.primary, order.to);
        floor.keep_tuned(bss, before, order.to);
        let Floor { stations, contention, air, channels, .. } = &mut *floor;
        channels.retune(air, contention, now, access_point, order.to);
        channels.forget_navs(access_point);
        let state = &mut stations[access_point.index()];
        if let Some(switched) = state.stats.switches.last_mut() {
            (switched.moved_at, switched.checks) = (Some(now), checks);
        }
        let has_failed = state.away.as_deref().is_some_and(Away::has_failed);
        if !has_failed {
            contention.return_to_channel(access_point, now);
            floor.listen_for_stations(access_point);
        }
        let step = if checks { SwitchStep::Checking } else { SwitchStep::Moved };
        floor.record_switch(access_point, step, order.to);
        if checks {
            floor.set_switching(access_point, bss);
            if !has_failed {
                floor.fall_silent(self, access_point);
                self.abandon_all(floor, access_point);
            }
            return;
        }
        floor.bss[bss.index()].switch = None;
        floor.set_switching(access_point, bss);
        if has_failed {
            return;
        }
        self.resume(floor, access_point);
        if order.count > 1 && !is_beacon_time {
            // Its beacon is due since the exchange began.
            let contender = floor.edcaf(self, access_point, BEACON_EDCAF).contender;
            floor.contention.arm(contender, now);
        }
    }

    /// Lets an access point send on a channel without radar.
    fn end_check(&mut self, floor: &mut Floor<'_>, bss: BssId) {
        let access_point = floor.access_point(bss);
        let to = floor.bss[bss.index()].primary;
        floor.bss[bss.index()].switch = None;
        let state = &mut floor.stations[access_point.index()];
        if let Some(switched) = state.stats.switches.last_mut() {
            switched.checked_at = Some(floor.now);
        }
        let has_failed = state.away.as_deref().is_some_and(Away::has_failed);
        if !has_failed {
            floor.come_back(access_point);
            floor.listen_for_stations(access_point);
        }
        floor.set_switching(access_point, bss);
        floor.record_switch(access_point, SwitchStep::Checked, to);
        floor.announce_link(access_point);
        self.resume(floor, access_point);
    }

    /// Lets an access point that failed, or came back, listen as its move requires.
    pub(super) fn go_on_after_failure(&mut self, floor: &mut Floor<'_>, access_point: StationId) {
        let state = &floor.stations[access_point.index()];
        let bss = state.config.bss;
        if !floor.settings.channels_vary || state.away.as_deref().is_some_and(Away::has_failed) {
            return;
        }
        floor.listen_for_stations(access_point);
        if floor.bss[bss.index()].switch.is_some_and(|plan| plan.is_checking()) {
            floor.fall_silent(self, access_point);
        }
    }

    /// Handles a beacon of its access point at a roaming station: the end of a move, or the
    /// announcement of one.
    pub(super) fn follow_heard(
        &mut self,
        floor: &mut Floor<'_>,
        station: StationId,
        access_point: StationId,
    ) {
        let (now, bss) = (floor.now, floor.bss_of(access_point));
        let announced = floor.announcement(bss);
        let Some(roam) = floor.roam_of(station) else { return };
        if let Some(follow) = roam.handle_first_beacon(bss) {
            floor.away(station).tuned_to = None;
            if let Some(of) = floor.stations[access_point.index()].stats.switches.last_mut() {
                of.followed += 1;
                of.without = of.without.max(now.saturating_since(follow.without_since()));
            }
            floor.set_gate(station);
            floor.record_switch(station, SwitchStep::Followed, follow.to);
            self.resume(floor, station);
        }
        let Some(said) = announced else { return };
        let Some(roam) = floor.roam_of(station) else { return };
        if roam.handle_announcement(now, bss, said) {
            floor.set_gate(station);
            floor.record_switch(station, SwitchStep::Heard, said.to);
        }
    }

    /// Lets a station follow its access point, at once or after its last frame.
    pub(super) fn follow(&mut self, floor: &mut Floor<'_>, station: StationId, to: Subchannel) {
        let now = floor.now;
        let engaged_until = floor.engaged_until(station);
        let Some(roam) = floor.roam_of(station) else { return };
        if let Some(until) = engaged_until {
            return roam.delay_move(until);
        }
        roam.moved(now);
        let is_there = floor.away(station).left.is_none();
        floor.away(station).tuned_to = Some(to);
        if is_there {
            let own = floor.bss_of(station);
            floor.listen_to(station, own, true);
        }
        floor.record_switch(station, SwitchStep::Moved, to);
    }
}

impl Floor<'_> {
    fn roam_of(&mut self, station: StationId) -> Option<&mut Roam> {
        self.stations[station.index()].away.as_deref_mut().and_then(Away::roam)
    }

    /// Lets an access point receive what is sent on its channel from now on.
    fn listen_for_stations(&mut self, access_point: StationId) {
        let (since, bss) = (self.now, self.bss_of(access_point));
        let state = &mut self.stations[access_point.index()];
        let away = state.away.as_mut().expect("it may move");
        away.listening = Some(Listening { since, own: None, bss });
        state.deaf_until = Instant::MAX;
    }

    /// Lets an access point send and hear nothing while it listens for radar.
    fn fall_silent(&mut self, power: &Power, access_point: StationId) {
        let now = self.now;
        let contender = self.edcaf(power, access_point, BEACON_EDCAF).contender;
        self.contention.disarm(contender);
        self.contention.hold(access_point, Instant::MAX);
        self.stations[access_point.index()].stats.absences += 1;
        let away = self.away(access_point);
        (away.left, away.listening) = (Some(now), None);
        away.log_gone(now, true);
    }

    /// Sets the gate of an access point according to its move.
    fn set_switching(&mut self, access_point: StationId, bss: BssId) {
        let gate = match self.bss[bss.index()].switch {
            Some(plan) if plan.is_checking() => Gate::Shut,
            Some(plan) if plan.is_quiet() => Gate::Draining,
            _ => Gate::Open,
        };
        self.away(access_point).switching = gate;
        self.set_gate(access_point);
    }

    /// Lets stations of a set that moves stay on its channel until they follow, and all that roam
    /// find the set on its new one.
    fn keep_tuned(&mut self, bss: BssId, before: Subchannel, to: Subchannel) {
        let Self { stations, bss: sets, .. } = self;
        for state in stations.iter_mut() {
            let is_its = state.config.bss == bss;
            let Some(away) = state.away.as_deref_mut() else { continue };
            let tuned_to = away.tuned_to;
            let Some(roam) = away.roam() else { continue };
            roam.set_channel(bss, |other| sets[other.index()].primary == to);
            if is_its {
                away.tuned_to = tuned_to.or(Some(before));
            }
        }
    }

    /// Announcement of a set's move in its next beacon.
    pub(super) fn announcement(&self, bss: BssId) -> Option<Announcement> {
        announcement(&self.bss[bss.index()], &self.stations[self.access_point(bss).index()])
    }

    /// Length of its elements in octets; 0 without a move.
    pub(super) fn announced_octets(&self, bss: BssId) -> u32 {
        self.announcement(bss).map_or(0, |said| said.octets(self.settings.band))
    }

    /// Whether the access point of a set moves as soon as its frame exchange is over.
    pub(super) fn is_about_to_move(&self, bss: BssId) -> bool {
        self.bss[bss.index()].switch.is_some_and(|plan| plan.is_moving())
    }

    fn record_switch(&mut self, station: StationId, step: SwitchStep, to: Subchannel) {
        let (at, access_point) = (self.now, self.access_point_of(station));
        self.outbox.record(|| Event::ChannelSwitch { at, station, access_point, step, to });
    }
}

/// Announcement of a set's move in a beacon of its access point.
pub(super) fn announcement(set: &Bss, access_point: &Station) -> Option<Announcement> {
    let plan = set.switch?;
    let count = plan.announced()?;
    let &ChannelSwitch { to, quiet, .. } = plan.order();
    let width = access_point.config.capabilities.width();
    Some(Announcement { to, width, quiet, count })
}
