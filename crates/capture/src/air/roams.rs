//! Roams: changes of a station from one access point to another of its network (IEEE 802.11-2020,
//! 4.3.5, 11.3.5.4), as a monitor observes them ([`client`]), with their steps ([`attempt`]):
//! Probe Requests, authentication (or a fast transition, 13.5, 13.6), association, keys, data.
//!
//! A change is a roam if both access points have one name, or if the station itself names the old
//! one in a Reassociation Request. Changes between networks are not. A monitor on one channel hears
//! only a part: steps that it missed have no times. At most `CLIENTS_MAX` stations are followed, and
//! `ROAMS_MAX` changes kept; others are counted.

pub mod attempt;
pub mod client;

use super::stations::StationId;
use crate::frame::Frame;
use attempt::Roam;
use client::{Client, Data, Stay};
use lasthop_units::MacAddr;
use lasthop_wifi_wire::management::{self, FixedFields};
use lasthop_wifi_wire::{Kind, eapol, llc};
use std::collections::BTreeMap;

/// A frame of the capture: its number, and its time in ns since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Capture time in ns since 1970.
    pub at_ns: u64,
    /// Number of the packet in the file.
    pub number: u64,
}

/// The first and the last of some frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First frame.
    pub first: Mark,
    /// Last frame.
    pub last: Mark,
}

/// Roams of all stations.
#[derive(Debug, Default)]
pub struct Roams {
    /// Changes from one access point to another, also between networks; in the order of their ends.
    changes: Vec<Roam>,
    /// Stations by number.
    clients: Vec<Option<Box<Client>>>,
    followed: usize,
    /// Stays of stations at access points that have ended.
    stays: Vec<Stay>,
    /// Names of networks in Probe Responses and requests of association.
    names: BTreeMap<MacAddr, Vec<u8>>,
    /// Stations, changes and stays beyond the limits.
    pub left_out: u64,
}

/// A frame between an access point and a station.
#[derive(Clone, Copy, Debug)]
struct RoamPair {
    access_point: MacAddr,
    station: StationId,
    /// Whether the station is the sender.
    is_up: bool,
}

/// Largest number of stations followed.
const CLIENTS_MAX: usize = 4_096;
/// Largest number of changes, stays, and names kept.
const ROAMS_MAX: usize = 4_096;
const STAYS_MAX: usize = 16_384;
const NAMES_MAX: usize = 4_096;
/// Categories of Action frames (table 9-51), and actions: FT Request and Response (9.6.8), BSS
/// Transition Management Request (9.6.13.9).
const FAST_TRANSITION: u8 = 6;
const FT_REQUEST: u8 = 1;
const FT_RESPONSE: u8 = 2;
const WIRELESS_NETWORK_MANAGEMENT: u8 = 10;
const TRANSITION_REQUEST: u8 = 7;

/// A station and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Addressed {
    pub station: StationId,
    pub address: MacAddr,
}

impl Mark {
    /// Returns the mark of a frame.
    pub const fn at(frame: &Frame<'_>) -> Self {
        Self { at_ns: frame.at_ns, number: frame.number }
    }
}

impl Span {
    /// Extends a span by a frame, or begins it.
    pub(super) fn extend(span: &mut Option<Self>, here: Mark) {
        let span = span.get_or_insert(Self { first: here, last: here });
        span.last = span.last.max(here);
    }
}

impl Roams {
    /// Handles a management frame. `transmitter` and `receiver` are `None` for groups.
    pub(super) fn handle_management(
        &mut self,
        frame: &Frame<'_>,
        transmitter: Option<StationId>,
        receiver: Option<StationId>,
    ) {
        let here = Mark::at(frame);
        if frame.kind() == Kind::ProbeRequest {
            if let Some(client) = transmitter.and_then(|id| self.known(id)) {
                client.handle_probe(here);
            }
            return;
        }
        let (Some(from), Some(bssid)) = (frame.transmitter(), frame.view.bssid()) else { return };
        let (to, is_up) = (frame.receiver(), from != bssid);
        let Some(station) = (if is_up { transmitter } else { receiver }) else { return };
        if is_up && to != bssid {
            return;
        }
        let pair = RoamPair { access_point: bssid, station, is_up };
        let is_plain = !frame.control.flags.protected
            && frame.view.sequence_control().is_some_and(|control| control.fragment == 0);
        let body = if is_plain { frame.body() } else { &[] };
        match frame.kind() {
            Kind::Action => self.handle_action(frame, pair, body),
            Kind::Deauthentication | Kind::Disassociation => {
                let reason = match FixedFields::parse(frame.kind(), body) {
                    Some(FixedFields::Removal { reason }) => Some(reason),
                    _ => None,
                };
                if self.known(station).is_some() {
                    self.change(station, |it| it.handle_removal(bssid, is_up, reason, here));
                }
            }
            kind => {
                if let Some(fields) = FixedFields::parse(kind, body) {
                    self.handle_fields(frame, pair, fields);
                }
            }
        }
    }

    fn handle_fields(&mut self, frame: &Frame<'_>, pair: RoamPair, fields: FixedFields<'_>) {
        let here = Mark::at(frame);
        if let FixedFields::Request { elements, .. } = fields
            && let Some(name) = elements.ssid()
        {
            self.note_name(pair.access_point, name);
        }
        let sequence = frame.view.sequence_control().map(|control| control.sequence.as_u16());
        let retry = frame.control.flags.retry;
        let mhz = frame.radio.frequency_mhz;
        self.change(pair.station, |client| {
            let is_again = client.is_again(pair.is_up, frame.kind(), sequence, retry);
            let step = client::Moment { access_point: pair.access_point, here, mhz, is_again };
            match fields {
                FixedFields::Authentication { algorithm, transaction, .. } if pair.is_up => {
                    client.handle_authentication(step, algorithm, transaction == 1)
                }
                FixedFields::Authentication { algorithm, status, .. } => {
                    client.handle_authenticated(step, algorithm, status)
                }
                FixedFields::Request { capabilities, current_access_point, elements, .. }
                    if pair.is_up =>
                {
                    let is_open = capabilities & management::Beacon::PRIVACY == 0
                        && !matches!(elements.rsn(), Ok(Some(_)));
                    client.handle_association(step, current_access_point, is_open)
                }
                FixedFields::Response { status } if !pair.is_up => {
                    client.handle_associated(step, status)
                }
                _ => None,
            }
        });
    }

    fn handle_action(&mut self, frame: &Frame<'_>, pair: RoamPair, body: &[u8]) {
        let here = Mark::at(frame);
        let [category, action, rest @ ..] = body else { return };
        match (*category, *action) {
            (WIRELESS_NETWORK_MANAGEMENT, TRANSITION_REQUEST) if !pair.is_up => {
                if let Some(client) = self.known(pair.station) {
                    client.handle_request(pair.access_point, here);
                }
            }
            (FAST_TRANSITION, FT_REQUEST | FT_RESPONSE) => {
                let Some(target) = rest.get(6..).and_then(|rest| rest.first_chunk()) else {
                    return;
                };
                let status = rest.get(12..).and_then(|rest| rest.first_chunk().copied());
                let status = status.map(u16::from_le_bytes).filter(|_| *action == FT_RESPONSE);
                let step = client::Moment {
                    access_point: MacAddr(*target),
                    here,
                    mhz: None,
                    is_again: frame.control.flags.retry,
                };
                let via = pair.access_point;
                self.change(pair.station, |client| client.handle_over_ds(step, via, status));
            }
            _ => {}
        }
    }

    /// Handles a data frame between a station and an access point. Null frames are no data.
    pub(super) fn handle_data(
        &mut self,
        frame: &Frame<'_>,
        station: StationId,
        access_point: MacAddr,
        is_up: bool,
    ) {
        let here = Mark::at(frame);
        let mhz = frame.radio.frequency_mhz;
        // Only frames of a handshake are read.
        if !frame.control.flags.protected
            && let Ok((header, body)) = llc::Repr::parse(frame.body())
            && header.ethertype == eapol::ETHERTYPE
        {
            if let Some(client) = self.known(station) {
                let key = eapol::Key::parse(body).ok().flatten();
                let message = key
                    .filter(|key| key.information.is_pairwise() && !key.information.is_request());
                let message = message.map(|key| super::joining::handshake::Message::from_key(&key));
                client.handle_key(access_point, message, frame.control.flags.retry, here);
            }
            return;
        }
        let data = Data { here, is_up, mhz, signal_dbm: frame.radio.signal_dbm };
        if let Some(Some(client)) = self.clients.get_mut(station.index())
            && client.is_at(access_point)
        {
            client.handle_usual(&data);
            return;
        }
        self.change(station, |client| client.handle_data(access_point, &data));
    }

    /// Handles an Ack or Block Ack of data from `a` to `b`, one of which is an access point.
    pub(super) fn handle_delivered(&mut self, a: Addressed, b: Addressed, here: Mark) {
        for (station, access_point) in [(a.station, b.address), (b.station, a.address)] {
            if let Some(Some(client)) = self.clients.get_mut(station.index()) {
                client.handle_delivered(access_point, here);
            }
        }
    }

    /// Notes the name of a network.
    pub(super) fn note_name(&mut self, access_point: MacAddr, name: &[u8]) {
        let has_place = self.names.len() < NAMES_MAX || self.names.contains_key(&access_point);
        if has_place && name.iter().any(|byte| *byte != 0) {
            let known = self.names.entry(access_point).or_default();
            if known != name {
                name.clone_into(known);
            }
        }
    }

    /// Returns the name of a network, if a frame other than a beacon has it.
    pub fn name(&self, access_point: MacAddr) -> Option<&[u8]> {
        self.names.get(&access_point).map(Vec::as_slice)
    }

    /// Ends the analysis: no more frames follow.
    pub(super) fn finish(&mut self) {
        for (index, client) in self.clients.iter_mut().enumerate() {
            let Some(client) = client else { continue };
            let ended = client.finish();
            let ended = ended.map(|it| it.into_roam(StationId::at(index)));
            keep(&mut self.changes, ROAMS_MAX, &mut self.left_out, ended);
        }
    }

    /// Returns all changes from one access point to another, also between networks.
    pub fn changes(&self) -> &[Roam] {
        &self.changes
    }

    /// Returns the stays of stations at access points, with those that go on.
    pub fn stays(&self) -> impl Iterator<Item = Stay> {
        let clients = self.clients.iter().enumerate();
        let present = clients.filter_map(|(index, client)| {
            client.as_ref().and_then(|client| client.stay(StationId::at(index)))
        });
        self.stays.iter().copied().chain(present)
    }

    fn known(&mut self, station: StationId) -> Option<&mut Client> {
        self.clients.get_mut(station.index())?.as_deref_mut()
    }

    /// Lets a station, which is followed from now on, handle a frame.
    fn change(
        &mut self,
        station: StationId,
        handle: impl FnOnce(&mut Client) -> Option<attempt::Ended>,
    ) {
        let index = station.index();
        if self.clients.len() <= index {
            self.clients.resize_with(index + 1, || None);
        }
        let client = match &mut self.clients[index] {
            Some(client) => client,
            None if self.followed >= CLIENTS_MAX => {
                self.left_out += 1;
                return;
            }
            empty => {
                self.followed += 1;
                empty.insert(Box::default())
            }
        };
        let ended = handle(client).map(|ended| ended.into_roam(station));
        let stay = client.take_stay(station);
        keep(&mut self.changes, ROAMS_MAX, &mut self.left_out, ended);
        keep(&mut self.stays, STAYS_MAX, &mut self.left_out, stay);
    }
}

/// Adds an item unless there are too many.
fn keep<T>(list: &mut Vec<T>, max: usize, left_out: &mut u64, item: Option<T>) {
    match item {
        Some(item) if list.len() < max => list.push(item),
        Some(_) => *left_out += 1,
        None => {}
    }
}
