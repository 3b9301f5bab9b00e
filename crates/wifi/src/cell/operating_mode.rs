//! Operating modes: a station that says it receives fewer streams or in less of the channel than it
//! can (IEEE 802.11-2020, 11.40; IEEE 802.11ax-2021, 26.9), as phones do to save power.
//!
//! It says so when it associates, and by a frame while the cell runs: an Operating Mode
//! Notification (9.6.22.4), or between two HE stations a QoS Null frame with an OM Control
//! subfield (IEEE 802.11ax-2021, 9.2.4.6a.2). The access point goes by it from when it has
//! received the frame, the station from its Ack: until then it receives what it did before. What
//! was given up is said again after the next beacon. Left out: modes of access points, OM Control
//! in frames with data, SM power save and channel widths of 802.11n.

use super::config::{CellConfig, Role, StationConfig};
use super::content::{Action, Management};
use super::frames::Context;
use super::station::Station;
use super::{AdjustError, Cell, Settings};
use crate::capabilities::Capabilities;
use crate::mac::rate::RateSet;
use crate::phy::ChannelWidth;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_units::{Instant, SeqNo12};

/// What a station uses of what it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatingMode {
    /// The widest PPDU that it receives and sends: around its primary 20 MHz.
    pub width: ChannelWidth,
    /// Most spatial streams that it receives, 1 to 8 (Rx NSS).
    pub receive_streams: u8,
    /// Most that it sends, 1 to 8 (Tx NSTS).
    pub transmit_streams: u8,
    /// It answers Trigger frames that ask for data or for how much it has (UL MU Data Disable is
    /// 0). Only an HE station can say otherwise.
    pub uplink_ofdma: bool,
}

impl OperatingMode {
    /// All that a station can.
    pub fn of(capabilities: &Capabilities) -> Self {
        let streams = capabilities.streams();
        Self {
            width: capabilities.width(),
            receive_streams: streams,
            transmit_streams: streams,
            uplink_ofdma: true,
        }
    }

    /// A station with these capabilities can have it: it is one of 802.11ac or 802.11ax, and
    /// Trigger frames are for the latter.
    pub fn is_of(&self, capabilities: &Capabilities) -> bool {
        let streams = 1..=capabilities.streams();
        has_modes(capabilities)
            && self.width <= capabilities.width()
            && streams.contains(&self.receive_streams)
            && streams.contains(&self.transmit_streams)
            && (self.uplink_ofdma || capabilities.is_he())
    }
}

/// It knows what an operating mode is.
fn has_modes(capabilities: &Capabilities) -> bool {
    (capabilities.is_vht() || capabilities.is_he()) && capabilities.qos
}

/// A station with its own capabilities has operating modes under its access point, with theirs:
/// both know what that is. In an independent cell nobody is an access point.
fn has_modes_under(own: &Capabilities, theirs: &Capabilities, independent: bool) -> bool {
    !independent && has_modes(own) && has_modes(theirs)
}

impl CellConfig {
    /// Whether a station may notify its access point of an [`OperatingMode`]: it is not the access
    /// point itself, both are of 802.11ac or 802.11ax with QoS frames, and the cell is not an
    /// independent one.
    pub fn has_operating_modes(&self, station: StationId) -> bool {
        let own = &self.stations[station.index()];
        let is_its =
            |other: &&StationConfig| other.role == Role::AccessPoint && other.bss == own.bss;
        own.role == Role::Station
            && self.stations.iter().find(is_its).is_some_and(|access_point| {
                let theirs = &access_point.capabilities;
                has_modes_under(&own.capabilities, theirs, self.independent)
            })
    }
}

/// What a station knows of modes, its own and others'.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Modes {
    /// As its access point knows it; `None`: all that it can.
    own: Option<OperatingMode>,
    /// Of those that notified this one.
    peers: Vec<(StationId, OperatingMode)>,
    /// Of the last notification.
    sequence: SeqNo12,
    /// The last one was given up.
    is_untold: bool,
}

impl Modes {
    /// Of a station that associates with this mode.
    pub fn associated(own: Option<OperatingMode>) -> Self {
        Self { own, ..Self::default() }
    }

    fn of_peer(&self, peer: StationId) -> Option<OperatingMode> {
        self.peers.iter().find(|(known, _)| *known == peer).map(|(_, mode)| *mode)
    }
}

impl Station {
    /// What it sends to `peer` with, as far as it knows.
    pub fn shared_with(&self, settings: &Settings, peer: StationId) -> Capabilities {
        let (own, (_, theirs)) = (&self.config.capabilities, &settings.peers[peer.index()]);
        let Some(modes) = &self.modes else { return own.shared_with(theirs) };
        let (sent, received) = (modes.own, modes.of_peer(peer));
        let own = sent.map(|mode| own.within_mode(mode.width, mode.transmit_streams));
        let theirs_now = received.map(|mode| theirs.within_mode(mode.width, mode.receive_streams));
        let own = own.as_ref().unwrap_or(&self.config.capabilities);
        own.shared_with(theirs_now.as_ref().unwrap_or(theirs))
    }

    /// It notifies `peer` by an OM Control subfield.
    pub fn says_by_control(&self, settings: &Settings, peer: StationId) -> bool {
        self.config.capabilities.is_he() && settings.peers[peer.index()].1.is_he()
    }

    /// What `peer` or this station said holds from now on.
    fn renew_originators(&mut self, cx: &mut Context<'_>, peer: StationId) {
        let shared = self.shared_with(cx.settings, peer);
        let rates = RateSet::new(shared.rates.iter().copied());
        for edcaf in 0..self.edcafs.len() {
            let stream = self.rate_control_stream(cx.settings, edcaf, peer);
            let Some(access) = self.edcafs[edcaf].as_mut() else { continue };
            let Some(index) = access.originator(Address::Station(peer)) else { continue };
            let (config, model) = (&self.config.rate_control, &cx.settings.error_model);
            let originator = &mut access.originators[index];
            originator.renew(shared.clone());
            if let Some(control) = &mut originator.rate_control {
                control.renew(config, &rates, model, stream);
            }
        }
    }
}

/// Notifications go ahead of data, as frames about absences do.
const NOTIFICATION: usize = AccessCategory::Voice.index();

impl Cell {
    /// From `now` on a station shall have another mode: it notifies its access point.
    ///
    /// # Errors
    /// If it is the access point, or has not what the mode says ([`OperatingMode::is_of`]), if
    /// its access point knows no modes or would share no rate with it.
    pub fn change_operating_mode(
        &mut self,
        now: Instant,
        station: StationId,
        mode: OperatingMode,
    ) -> Result<(), AdjustError> {
        let access_point = self.access_point_of(station);
        let state = &self.stations[station.index()];
        let own = &state.config.capabilities;
        let (_, theirs) = &self.settings.peers[access_point.index()];
        let sent = own.within_mode(mode.width, mode.transmit_streams).shared_with(theirs);
        let received = theirs.shared_with(&own.within_mode(mode.width, mode.receive_streams));
        let has_rates = !sent.rates.is_empty() && !received.rates.is_empty();
        let has_modes = has_modes_under(own, theirs, self.settings.independent);
        if station == access_point || !has_modes || !mode.is_of(own) || !has_rates {
            return Err(AdjustError::OperatingMode);
        }
        self.now = now;
        self.stations[station.index()].config.operating_mode = Some(mode);
        self.notify(station);
        self.schedule();
        Ok(())
    }

    /// The station notifies its access point of how it operates.
    fn notify(&mut self, station: StationId) {
        let peer = self.access_point_of(station);
        let state = &mut self.stations[station.index()];
        let Some(mode) = state.config.operating_mode else { return };
        let modes = state.modes.get_or_insert_default();
        modes.is_untold = false;
        modes.sequence = modes.sequence.next();
        let (action, sequence) = (Action::OperatingMode(mode), modes.sequence);
        let access = self.edcaf(station, NOTIFICATION);
        // What was not sent yet is outdated.
        let is_other = |frame: &Management| !matches!(frame.action, Action::OperatingMode(_));
        access.management.retain(is_other);
        access.management.push_back(Management { peer, action, attempts: 0, sequence });
        self.lift_mu_edca(station, NOTIFICATION);
        self.arm(station, NOTIFICATION);
        self.wake_to_notify(station);
    }

    /// Whether a frame says what a later one will say otherwise.
    pub(super) fn is_outdated(&self, station: StationId, frame: &Management) -> bool {
        matches!(frame.action, Action::OperatingMode(mode)
            if self.stations[station.index()].config.operating_mode != Some(mode))
    }

    /// `receiver` received the notification of `sender`.
    pub(super) fn take_mode(
        &mut self,
        receiver: StationId,
        sender: StationId,
        mode: OperatingMode,
    ) {
        let (state, mut cx) = self.at(receiver);
        let modes = state.modes.get_or_insert_default();
        match modes.peers.iter_mut().find(|(known, _)| *known == sender) {
            // Its Ack was lost, and it came again.
            Some((_, known)) if *known == mode => return,
            Some((_, known)) => *known = mode,
            None => modes.peers.push((sender, mode)),
        }
        state.renew_originators(&mut cx, sender);
        if let Some(soundings) = &mut state.soundings {
            soundings.spoil(sender);
        }
    }

    /// The station's notification was acknowledged.
    pub(super) fn mode_acknowledged(&mut self, station: StationId, mode: OperatingMode) {
        let access_point = self.access_point_of(station);
        let (state, mut cx) = self.at(station);
        state.modes.get_or_insert_default().own = Some(mode);
        state.renew_originators(&mut cx, access_point);
        self.receive_within(station, mode.width);
    }

    /// The station's notification was given up. Its access point may have received it.
    pub(super) fn mode_given_up(&mut self, station: StationId) {
        if self.settings.beacon_interval.is_none() {
            return self.notify(station);
        }
        self.stations[station.index()].modes.get_or_insert_default().is_untold = true;
        self.has_untold = true;
    }

    /// A beacon of this access point was sent: those that gave up try again.
    #[cold]
    pub(super) fn notify_again(&mut self, access_point: StationId) {
        self.has_untold = false;
        for index in 0..self.stations.len() {
            let station = StationId(index as u16);
            let modes = self.stations[index].modes.as_ref();
            if !modes.is_some_and(|modes| modes.is_untold) {
                continue;
            }
            match self.access_point_of(station) == access_point {
                true => self.notify(station),
                false => self.has_untold = true,
            }
        }
    }

    /// What stations said when they associated.
    pub(super) fn begin_modes(&mut self) {
        for index in 0..self.stations.len() {
            let station = StationId(index as u16);
            let Some(mode) = self.stations[index].config.operating_mode else { continue };
            let access_point = self.access_point_of(station);
            let modes = self.stations[access_point.index()].modes.get_or_insert_default();
            modes.peers.push((station, mode));
            self.stations[index].modes = Some(Modes::associated(Some(mode)).into());
            self.receive_within(station, mode.width);
        }
    }

    /// PPDUs that are wider are none that the station understands.
    fn receive_within(&mut self, station: StationId, width: ChannelWidth) {
        self.air.receive_within(station, width);
        if let Some(bandwidth) = &mut self.bandwidth {
            bandwidth.set_width(station, width);
        }
    }

    /// The mode that `station` notified its access point of, if there was one.
    pub(super) fn known_mode(&self, station: StationId) -> Option<OperatingMode> {
        let access_point = self.access_point_of(station);
        self.stations[access_point.index()].modes.as_ref()?.of_peer(station)
    }
}
