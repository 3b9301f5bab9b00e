//! Notifications of operating modes: what a station queues when its mode changes, and what its
//! access point and the station do when the notification arrives or is given up.

use super::{Modes, has_modes_under};
use crate::air::{Action, Air, Management};
use crate::capabilities::Capabilities;
use crate::cell::channel::Channels;
use crate::cell::floor::{Floor, Roster};
use crate::cell::frames::Context;
use crate::cell::power::Power;
use crate::cell::station::Station;
use crate::cell::{AdjustError, Cell, Settings};
use crate::mac::rate::RateSet;
use crate::phy::{ChannelWidth, OperatingMode};
use crate::station::{Address, StationId};
use lasthop_packet::AccessCategory;
use lasthop_units::Instant;

impl Station {
    /// Capabilities that it shares with `peer`, as far as it knows.
    pub fn shared_with(&self, settings: &Settings, peer: StationId) -> Capabilities {
        let (own, (_, theirs)) = (&self.config.capabilities, &settings.peers[peer.index()]);
        let Some(modes) = &self.modes else { return own.shared_with(theirs) };
        let (sent, received) = (modes.own, modes.of_peer(peer));
        let own = sent.map(|mode| own.within_mode(mode.width, mode.transmit_streams));
        let theirs_now = received.map(|mode| theirs.within_mode(mode.width, mode.receive_streams));
        let own = own.as_ref().unwrap_or(&self.config.capabilities);
        own.shared_with(theirs_now.as_ref().unwrap_or(theirs))
    }

    /// Whether it notifies `peer` by an OM Control subfield.
    pub fn says_by_control(&self, settings: &Settings, peer: StationId) -> bool {
        self.config.capabilities.is_he_or_later() && settings.peers[peer.index()].1.is_he_or_later()
    }

    /// Whether a later frame announces another mode than `frame` does.
    pub(in crate::cell) fn is_outdated(&self, frame: &Management) -> bool {
        matches!(frame.action, Action::OperatingMode(mode)
            if self.config.operating_mode != Some(mode))
    }

    /// Applies the notification of `sender`.
    pub(in crate::cell) fn take_mode(
        &mut self,
        cx: &mut Context<'_>,
        sender: StationId,
        mode: OperatingMode,
    ) {
        let modes = self.modes.get_or_insert_default();
        match modes.peers.iter_mut().find(|(known, _)| *known == sender) {
            // Its Ack was lost, and it came again.
            Some((_, known)) if *known == mode => return,
            Some((_, known)) => *known = mode,
            None => modes.peers.push((sender, mode)),
        }
        self.renew_originators(cx, sender);
        if let Some(soundings) = &mut self.soundings {
            soundings.spoil(sender);
        }
    }

    /// Applies a changed mode of `peer`, or of this station, from now on.
    fn renew_originators(&mut self, cx: &mut Context<'_>, peer: StationId) {
        let shared = self.shared_with(cx.settings, peer);
        let rates = RateSet::new(shared.rates.iter().copied());
        for edcaf in 0..self.edcafs.len() {
            let stream = self.rate_control_stream(cx.settings, edcaf, peer);
            let Some(access) = self.edcafs[edcaf].as_mut() else { continue };
            let Some(index) = access.originator(Address::Station(peer)) else { continue };
            let (config, model) =
                (self.config.rate_control_towards(peer), &cx.settings.error_model);
            let originator = &mut access.originators[index];
            originator.renew(shared.clone());
            if let Some(control) = &mut originator.rate_control {
                control.renew(&config, &rates, model, stream);
            }
        }
    }
}

/// Access category of notifications: they precede data, like frames about absences.
const NOTIFICATION: usize = AccessCategory::Voice.index();

impl Cell {
    /// Requests another mode of a station from `now` on: the station notifies its access point.
    ///
    /// # Errors
    /// Returns an error for an access point, for a mode beyond the station's capabilities
    /// ([`Capabilities::allow`]), and if the access point does not support modes or would share no
    /// rate with the station.
    pub fn change_operating_mode(
        &mut self,
        now: Instant,
        station: StationId,
        mode: OperatingMode,
    ) -> Result<(), AdjustError> {
        let access_point = self.roster().access_point_of(station);
        let state = &self.stations[station.index()];
        let own = &state.config.capabilities;
        let (_, theirs) = &self.settings.peers[access_point.index()];
        let sent = own.within_mode(mode.width, mode.transmit_streams).shared_with(theirs);
        let received = theirs.shared_with(&own.within_mode(mode.width, mode.receive_streams));
        let has_rates = !sent.rates.is_empty() && !received.rates.is_empty();
        let has_modes = has_modes_under(own, theirs, self.settings.independent);
        if station == access_point || !has_modes || !own.allow(&mode) || !has_rates {
            return Err(AdjustError::OperatingMode);
        }
        self.now = now;
        self.stations[station.index()].config.operating_mode = Some(mode);
        self.power(|power, floor| floor.notify(power, station));
        self.schedule();
        Ok(())
    }

    /// Handles the acknowledgement of the station's notification.
    pub(in crate::cell) fn mode_acknowledged(&mut self, station: StationId, mode: OperatingMode) {
        let access_point = self.roster().access_point_of(station);
        let (state, mut cx) = self.at(station);
        state.modes.get_or_insert_default().own = Some(mode);
        state.renew_originators(&mut cx, access_point);
        receive_within(&mut self.air, &mut self.channels, station, mode.width);
    }
}

/// Limits the PPDUs that the station understands to `width`.
fn receive_within(air: &mut Air, channels: &mut Channels, station: StationId, width: ChannelWidth) {
    air.receive_within(station, width);
    channels.set_width(station, width);
}

/// Applies the modes that stations announced when they associated.
pub(in crate::cell) fn begin_modes(
    settings: &Settings,
    stations: &mut [Station],
    air: &mut Air,
    channels: &mut Channels,
) {
    for index in 0..stations.len() {
        let station = StationId(index as u16);
        let Some(mode) = stations[index].config.operating_mode else { continue };
        let access_point = settings.bss[stations[index].config.bss.index()].access_point;
        let modes = stations[access_point.index()].modes.get_or_insert_default();
        modes.peers.push((station, mode));
        stations[index].modes = Some(Modes::associated(Some(mode)).into());
        receive_within(air, channels, station, mode.width);
    }
}

impl Floor<'_> {
    /// Queues a notification of the station to its access point.
    fn notify(&mut self, power: &mut Power, station: StationId) {
        let peer = self.access_point_of(station);
        let state = &mut self.stations[station.index()];
        let Some(mode) = state.config.operating_mode else { return };
        let modes = state.modes.get_or_insert_default();
        modes.is_unannounced = false;
        modes.sequence = modes.sequence.next();
        let (action, sequence) = (Action::OperatingMode(mode), modes.sequence);
        let access = self.edcaf(power, station, NOTIFICATION);
        // What was not sent yet is outdated.
        let is_other = |frame: &Management| !matches!(frame.action, Action::OperatingMode(_));
        access.management.retain(is_other);
        access.management.push_back(Management { peer, action, attempts: 0, sequence });
        self.lift_mu_edca(station, NOTIFICATION);
        self.arm(station, NOTIFICATION);
        power.wake_to_notify(self, station);
    }

    /// Handles a notification of the station that was given up. The access point may nevertheless
    /// have received it.
    pub(in crate::cell) fn mode_given_up(&mut self, power: &mut Power, station: StationId) {
        if self.settings.beacon_interval.is_none() {
            return self.notify(power, station);
        }
        self.stations[station.index()].modes.get_or_insert_default().is_unannounced = true;
        let bss = self.bss_of(station);
        self.bss[bss.index()].has_unannounced = true;
    }

    /// Repeats notifications that were given up, after a beacon of this access point.
    pub(in crate::cell) fn notify_again(&mut self, power: &mut Power, access_point: StationId) {
        let bss = self.bss_of(access_point);
        if !core::mem::take(&mut self.bss[bss.index()].has_unannounced) {
            return;
        }
        for index in 0..self.stations.len() {
            let state = &self.stations[index];
            let modes = state.modes.as_ref();
            if state.config.bss == bss && modes.is_some_and(|modes| modes.is_unannounced) {
                self.notify(power, StationId(index as u16));
            }
        }
    }
}

impl Roster<'_> {
    /// The last mode that `station` notified its access point of, if there was one.
    pub(in crate::cell) fn known_mode(&self, station: StationId) -> Option<OperatingMode> {
        let access_point = self.access_point_of(station);
        self.stations[access_point.index()].modes.as_ref()?.of_peer(station)
    }
}
