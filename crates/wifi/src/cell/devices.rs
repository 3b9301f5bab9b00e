//! Devices of several links (IEEE 802.11be-2024, 35.3): a station on each link, with one queue, one
//! sequence space and one reorder buffer.
//!
//! The first station of a device has its queue and its recipients. A link that gains the channel
//! borrows the queue and the MPDUs to retransmit, builds its PPDU, and returns the rest; the MPDUs
//! on its air return when they are settled, if they were not acknowledged. Whichever link is first
//! takes the next packets. In the same way a link that receives borrows the recipients.

use super::config::{CellConfig, DeviceConfig, LinkMode, LinkSet};
use super::edcaf::{EDCAFS, Gate};
use super::exchange::content::Exchange;
use super::link_counts::LinkRecord;
use super::link_use::LinkUse;
use super::station::Station;
use super::{CellError, Output, Role};
use crate::air::Content;
use crate::mac::originator::{Common, Originator};
use crate::mac::power_save::{PowerSaveConfig, Sending};
use crate::station::{Address, StationId};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use lasthop_packet::queue::DriverLimit;
use lasthop_units::{Duration, Instant, SeqNo12};

/// The devices of a cell.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Devices {
    /// Device and link of each station; empty without devices.
    pub places: Vec<Option<Place>>,
    /// First station of the device of each station, itself if it is alone.
    pub heads: Arc<[StationId]>,
    /// Number of each station's link; that of a station alone is the link on whose channel it is.
    numbers: Vec<u8>,
    pub all: Vec<Device>,
    /// Counts of what their links do.
    pub record: LinkRecord,
}

/// Place of a station in a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub device: usize,
    pub link: usize,
}

/// A device of several links.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Device {
    pub links: Vec<StationId>,
    mode: LinkMode,
    /// Links that it may use, and chooses.
    pub usable: LinkUse,
    /// State that its links share, by access category, with the first station of the peer.
    pub common: [Vec<(StationId, Common)>; EDCAFS],
    /// Exchange of a device whose links depend on each other.
    engaged: Option<Engaged>,
    /// Instant from which it listens on all links, if it is not engaged.
    listens: Instant,
    /// Instants until which links, in which it sensed nothing, are without the state of the medium
    /// (MediumSyncDelay, 35.3.16.8), and whether they used their one attempt.
    unsynced: Vec<(Instant, bool)>,
    /// Begin of the last exchange of each link.
    used: Vec<Instant>,
    /// Last instant at which a PPDU from or to it left packets behind: one link did not suffice.
    needed: Instant,
}

/// An exchange that a device takes part in on one of its links.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Engaged {
    link: StationId,
    /// The station that began it.
    by: StationId,
    since: Instant,
    /// Whether the device has turned its radio to the link.
    is_there: bool,
}

/// The frame with which an exchange of devices begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// An RTS, because the device sensed nothing for a while.
    Rts,
    /// An initial control frame with this padding, to a device of a single radio (35.3.17).
    InitialControl(Duration),
}

impl Opening {
    /// Padding of the frame.
    pub fn padding(self) -> Duration {
        match self {
            Self::Rts => Duration::ZERO,
            Self::InitialControl(padding) => padding,
        }
    }
}

/// aMediumSyncThreshold: a link that sensed nothing for longer lost the state of the medium
/// (IEEE 802.11be-2024, 35.3.16.8.2).
const SYNC_THRESHOLD: Duration = Duration::from_micros(72);
/// Time for which it then begins with an RTS: aPPDUMaxTime, the default of the Medium
/// Synchronization Delay Information (9.4.2.322.2.3).
const SYNC_DELAY: Duration = Duration::from_micros(5_484);

impl Device {
    /// Whether it takes part in an exchange that keeps it from its other links.
    pub fn is_engaged(&self) -> bool {
        self.engaged.is_some()
    }

    /// The time of its last return to all links.
    pub fn returned(&self) -> Range<Instant> {
        let transition = match self.mode {
            LinkMode::SingleRadio { transition, .. } => transition,
            _ => Duration::ZERO,
        };
        self.listens.saturating_sub(transition)..self.listens
    }
}

impl Devices {
    /// The devices of a configuration.
    pub fn new(config: &CellConfig) -> Self {
        if config.devices.is_empty() {
            return Self::default();
        }
        let number = config.stations.len() as u16;
        let mut heads: Vec<_> = (0..number).map(StationId).collect();
        let mut places = alloc::vec![None; heads.len()];
        for (device, DeviceConfig { links, .. }) in config.devices.iter().enumerate() {
            for (link, station) in links.iter().enumerate() {
                heads[station.index()] = links[0];
                places[station.index()] = Some(Place { device, link });
            }
        }
        let numbers = (0..number).map(|it| config.head_of(StationId(it)).1 as u8).collect();
        let device = |device: &DeviceConfig| Device {
            links: device.links.clone(),
            mode: device.mode,
            usable: LinkUse::new(device),
            common: Default::default(),
            engaged: None,
            listens: Instant::ZERO,
            used: alloc::vec![Instant::ZERO; device.links.len()],
            needed: Instant::ZERO,
            unsynced: alloc::vec![(Instant::ZERO, false); device.links.len()],
        };
        let all: Vec<_> = config.devices.iter().map(device).collect();
        let record = LinkRecord::new(all.len());
        Self { places, heads: heads.into(), numbers, record, all }
    }

    pub fn place(&self, station: StationId) -> Option<Place> {
        *self.places.get(station.index())?
    }

    /// First station of the device of a station, and the number of its link.
    pub fn number(&self, station: StationId) -> (StationId, u8) {
        let link = self.numbers.get(station.index()).copied().unwrap_or(0);
        (self.head(station), link)
    }

    /// Whether a station is a link of a device.
    #[inline]
    pub fn has(&self, station: StationId) -> bool {
        !self.places.is_empty() && self.place(station).is_some()
    }

    /// First station of the device of a station, itself if it is alone.
    #[inline]
    pub fn head(&self, station: StationId) -> StationId {
        self.heads.get(station.index()).copied().unwrap_or(station)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Lets the first station of a device answer for the others.
    pub fn answer_for(&self, output: &mut Output) {
        match output {
            Output::Delivered { station, .. }
            | Output::Overheard { station, .. }
            | Output::Dropped { station, .. }
            | Output::GroupSent { station, .. } => *station = self.head(*station),
            Output::Attached { .. } => {}
        }
    }

    /// Stations of the device of a station, which is one of them.
    pub fn links(&self, station: StationId) -> &[StationId] {
        self.place(station).map_or(&[], |place| &self.all[place.device].links)
    }

    fn device(&mut self, station: StationId) -> Option<&mut Device> {
        let place = self.place(station)?;
        Some(&mut self.all[place.device])
    }

    /// Records that a PPDU between two stations, built at `now`, left packets behind.
    pub fn left_behind(&mut self, now: Instant, ends: [StationId; 2]) {
        for end in ends {
            if let Some(device) = self.device(end) {
                device.needed = now;
            }
        }
    }

    /// Last instant at which one link of a device did not suffice.
    pub fn needed(&self, station: StationId) -> Instant {
        self.place(station).map_or(Instant::ZERO, |place| self.all[place.device].needed)
    }

    /// State that the links of a device share towards a peer, if it has sent to it.
    pub fn common(
        &mut self,
        station: StationId,
        edcaf: usize,
        peer: StationId,
    ) -> Option<&mut Common> {
        let peer = self.head(peer);
        let all = &mut self.device(station)?.common[edcaf];
        all.iter_mut().find(|(other, _)| *other == peer).map(|(_, common)| common)
    }

    /// Whether these links of a device can be off: group frames have the first one, and each
    /// category keeps a link.
    pub fn can_switch(&self, head: StationId, off: LinkSet) -> bool {
        let Some(place) = self.place(head) else { return false };
        let device = &self.all[place.device];
        let all = LinkSet::from_numbers(0..device.links.len()).without(off);
        device.links[0] == head
            && all.has(0)
            && (0..EDCAFS).all(|edcaf| !device.usable.mapping(edcaf).both(all).is_empty())
    }

    /// Whether data of a category between a link and the device that begins with `peer` may use the
    /// link.
    pub fn may_use(&self, link: StationId, edcaf: usize, peer: StationId) -> bool {
        let Some(Place { device, link }) = self.place(link) else { return true };
        self.allowed(device, edcaf, peer).has(link)
    }

    /// Links for data of a category between a device and the one that begins with `peer`.
    fn allowed(&self, device: usize, edcaf: usize, peer: StationId) -> LinkSet {
        let own = self.all[device].usable.mapped(edcaf);
        self.place(peer).map_or(own, |place| own.both(self.all[place.device].usable.mapped(edcaf)))
    }

    /// Whether a link is one of those that its device takes for data to `peer`.
    pub fn takes(
        &self,
        stations: &[Station],
        link: StationId,
        edcaf: usize,
        peer: StationId,
    ) -> bool {
        let Some(Place { device, link }) = self.place(link) else { return true };
        let allowed = self.allowed(device, edcaf, peer);
        let links = &self.all[device].links;
        let is_awake = |link: &usize| {
            let link = links[*link];
            let access = stations[link.index()].edcafs[edcaf].as_ref();
            access.is_none_or(|access| {
                let there = self.there(stations, link, peer);
                let holds = |there: StationId| access.absent.holds(Address::Station(there));
                access.gate == Gate::Open && !there.is_some_and(holds)
            })
        };
        let awake = LinkSet::from_numbers((0..links.len()).filter(is_awake));
        self.all[device].usable.chosen(peer, allowed.both(awake)).has(link)
    }

    /// The station of the device that begins with `peer` on a link.
    pub fn there(
        &self,
        stations: &[Station],
        link: StationId,
        peer: StationId,
    ) -> Option<StationId> {
        let bss = stations[link.index()].config.bss;
        let is_there = |station: &StationId| stations[station.index()].config.bss == bss;
        match self.place(peer) {
            Some(place) => self.all[place.device].links.iter().copied().find(is_there),
            None => Some(peer).filter(is_there),
        }
    }

    /// The station through which `link` sends data of a category to the device that begins with
    /// `peer`, at `now`.
    pub fn on_link(
        &self,
        now: Instant,
        stations: &[Station],
        link: StationId,
        edcaf: usize,
        peer: StationId,
    ) -> Option<StationId> {
        let takes = self.takes(stations, link, edcaf, peer);
        self.reached(now, stations, link, edcaf, peer).filter(|_| takes)
    }

    /// The station through which `link` reaches the device that begins with `peer`, with data of a
    /// category, at `now`, whether or not it chooses the link.
    pub fn reached(
        &self,
        now: Instant,
        stations: &[Station],
        link: StationId,
        edcaf: usize,
        peer: StationId,
    ) -> Option<StationId> {
        if !self.may_use(link, edcaf, peer) {
            return None;
        }
        let there = self.there(stations, link, peer)?;
        let access = stations[link.index()].edcafs[edcaf].as_ref();
        if access.is_some_and(|access| access.absent.holds(Address::Station(there))) {
            return None;
        }
        let Some(place) = self.place(peer) else { return Some(there) };
        let device = &self.all[place.device];
        let is_free = match device.engaged {
            Some(engaged) => engaged.link == there,
            None => device.listens <= now,
        };
        is_free.then_some(there)
    }

    /// Order of links that gain the channel at once: the first station of the device, and the
    /// instant of the link's last exchange.
    pub fn turn(&self, station: StationId) -> (StationId, Instant) {
        let used = |place: Place| self.all[place.device].used[place.link];
        (self.head(station), self.place(station).map_or(Instant::ZERO, used))
    }

    /// Whether a link may begin an exchange at `now`, and else from when on: `None` for after the
    /// present one of another link.
    pub fn may_begin(&self, now: Instant, link: StationId) -> Result<(), Option<Instant>> {
        let Some(Place { device, link: number }) = self.place(link) else { return Ok(()) };
        let device = &self.all[device];
        if device.engaged.is_some_and(|engaged| engaged.link != link) {
            return Err(None);
        }
        match device.unsynced[number] {
            (until, true) if now < until => Err(Some(until)),
            _ => Ok(()),
        }
    }

    /// Begins an exchange of `station`. Returns the frame that must precede it.
    pub fn engage(
        &mut self,
        now: Instant,
        station: StationId,
        exchange: &Exchange,
    ) -> Option<Opening> {
        if let Some(Place { device, link }) = self.place(station) {
            self.all[device].used[link] = now;
        }
        let Exchange::Single(single) = exchange else { return None };
        let (by, since) = (station, now);
        if let Some(Place { device, link }) = self.place(station)
            && self.all[device].mode != LinkMode::Simultaneous
        {
            let device = &mut self.all[device];
            device.engaged = Some(Engaged { link: station, by, since, is_there: true });
            let (until, is_used) = &mut device.unsynced[link];
            if now < *until && matches!(single.content, Content::Data { .. }) {
                *is_used = true;
                return Some(Opening::Rts);
            }
            return None;
        }
        let Address::Station(peer) = single.peer else { return None };
        let device = self.device(peer)?;
        let LinkMode::SingleRadio { padding, .. } = device.mode else {
            if device.mode == LinkMode::Nonsimultaneous {
                device.engaged = Some(Engaged { link: peer, by, since, is_there: true });
            }
            return None;
        };
        if device.engaged.is_some_and(|engaged| engaged.link == peer && engaged.is_there) {
            return None;
        }
        device.engaged = Some(Engaged { link: peer, by, since, is_there: false });
        Some(Opening::InitialControl(padding))
    }

    /// Records the end of an exchange of data on a link, for which it contended since `since`.
    pub fn exchanged(
        &mut self,
        now: Instant,
        link: StationId,
        peer: Address,
        since: Instant,
        success: bool,
    ) {
        let Address::Station(peer) = peer else { return };
        let peer = self.head(peer);
        if let Some(Place { device, link }) = self.place(link) {
            self.all[device].usable.exchanged(now, peer, link, since, success);
        }
    }

    /// Records that the receiver of an RTS of `station` answered, and its data begin at `at`.
    pub fn cleared(&mut self, at: Instant, station: StationId) {
        if self.is_empty() {
            return;
        }
        for (index, device) in self.all.iter_mut().enumerate() {
            if let Some(engaged) = device.engaged.as_mut().filter(|engaged| engaged.by == station) {
                engaged.is_there = true;
                self.record.requested(at, index, station, true);
            }
        }
        if let Some(Place { device, link }) = self.place(station) {
            self.all[device].unsynced[link] = (Instant::ZERO, false);
        }
    }

    /// Ends the exchange of `station`; returns the devices that were engaged, by their first
    /// station, and the instants from which they listen.
    pub fn release(&mut self, now: Instant, station: StationId) -> Vec<(StationId, Instant)> {
        let mut released = Vec::new();
        for (index, device) in self.all.iter_mut().enumerate() {
            let Some(engaged) = device.engaged.take_if(|engaged| engaged.by == station) else {
                continue;
            };
            let back = match device.mode {
                LinkMode::SingleRadio { transition, .. } if engaged.is_there => transition,
                _ => Duration::ZERO,
            };
            device.listens = now + back;
            self.record.requested(now, index, station, false);
            self.record.released(index, now - engaged.since, back);
            released.push((device.links[0], device.listens));
            if engaged.is_there && now - engaged.since > SYNC_THRESHOLD {
                for (link, unsynced) in device.links.iter().zip(&mut device.unsynced) {
                    if *link != engaged.link {
                        *unsynced = (now + SYNC_DELAY, false);
                    }
                }
            }
        }
        released
    }

    /// Whether the device of `station` is neither engaged nor returning to its links at `now`.
    pub fn listens(&self, now: Instant, station: StationId) -> bool {
        self.place(station).is_none_or(|place| {
            let device = &self.all[place.device];
            device.engaged.is_none() && device.listens <= now
        })
    }

    /// Swaps the recipients of a link that receives with those of its device.
    pub fn swap_recipients(
        &self,
        stations: &mut [Station],
        receiver: StationId,
        transmitter: StationId,
    ) {
        let head = self.head(receiver);
        if head == receiver {
            return;
        }
        let (theirs, own) = (self.head(transmitter).index() * 4, transmitter.index() * 4);
        for category in 0..EDCAFS {
            let (first, place) = (theirs + category, own + category);
            for (station, key) in [(head, first), (receiver, place)] {
                let recipients = &mut stations[station.index()].recipients;
                if recipients.len() <= key {
                    recipients.resize_with(key + 1, || None);
                }
            }
            let kept = stations[head.index()].recipients[first].take();
            let its = stations[receiver.index()].recipients[place].take();
            stations[head.index()].recipients[first] = its;
            stations[receiver.index()].recipients[place] = kept;
        }
    }

    /// Lets the Block Ack for a PPDU of `transmitter` acknowledge what its other links have sent so
    /// far.
    pub fn acknowledge_elsewhere(&self, stations: &mut [Station], transmitter: StationId) {
        for link in self.links(transmitter).iter().filter(|link| **link != transmitter) {
            for access in stations[link.index()].edcafs[..EDCAFS].iter_mut().flatten() {
                access.originators.iter_mut().for_each(Originator::acknowledge_elsewhere);
            }
        }
    }

    /// First MPDU of these originators on the air to a link of the device that begins with `peer`.
    pub fn first_on_air(&self, originators: &[Originator], peer: StationId) -> Option<SeqNo12> {
        let is_its = |it: &&Originator| match it.peer {
            Address::Station(station) => self.head(station) == peer,
            Address::Group => false,
        };
        let its = originators.iter().find(is_its)?;
        its.oldest_on_air()
    }

    /// First MPDU that a link has on the air to the device that begins with `peer`.
    pub fn first_of(
        &self,
        stations: &[Station],
        link: StationId,
        edcaf: usize,
        peer: StationId,
    ) -> Option<SeqNo12> {
        let access = stations[link.index()].edcafs[edcaf].as_ref()?;
        self.first_on_air(&access.originators, peer)
    }

    /// Oldest MPDU that the other links of a device have on the air.
    pub fn oldest_elsewhere(
        &self,
        stations: &[Station],
        link: StationId,
        edcaf: usize,
        peer: StationId,
        common: &Common,
    ) -> Option<SeqNo12> {
        let others = self.links(link).iter().filter(|other| **other != link);
        let on_air = others.filter_map(|other| self.first_of(stations, *other, edcaf, peer));
        on_air.fold(None, |oldest, it| common.older(oldest, Some(it)))
    }
}

/// Checks the devices of a configuration.
///
/// # Errors
/// Returns an error for devices that no cell can have.
pub(super) fn check(config: &CellConfig) -> Result<(), CellError> {
    let mut seen = alloc::vec![false; config.stations.len()];
    for DeviceConfig { links, mode, mapping, off, .. } in &config.devices {
        if links.len() < 2 {
            return Err(CellError::DeviceLinks);
        }
        for station in links {
            let Some(seen) = seen.get_mut(station.index()) else {
                return Err(CellError::DeviceLinks);
            };
            if core::mem::replace(seen, true) {
                return Err(CellError::DeviceLinks);
            }
        }
        let of = |station: &StationId| &config.stations[station.index()];
        let first = of(&links[0]);
        let mut sets: Vec<_> = links.iter().map(|station| of(station).bss).collect();
        sets.sort_unstable();
        sets.dedup();
        if sets.len() < links.len() || links.iter().any(|station| of(station).role != first.role) {
            return Err(CellError::DeviceLinks);
        }
        let has_link =
            |allowed: &LinkSet| (0..links.len()).any(|link| allowed.has(link) && !off.has(link));
        // The first link has the group frames.
        if off.has(0) || !mapping.iter().all(has_link) {
            return Err(CellError::DeviceLinks);
        }
        let is_access_point = first.role == Role::AccessPoint;
        if is_access_point && *mode != LinkMode::Simultaneous {
            return Err(CellError::DeviceMode);
        }
        for station in links.iter().map(of) {
            let may_doze = |it: &PowerSaveConfig| {
                it.sending == Sending::Awake && !core::ptr::eq(station, first)
            };
            let comes_and_goes = station.scan.is_some()
                || station.roaming.is_some()
                || !station.power_save.as_ref().is_none_or(may_doze)
                || station.service_periods.is_some()
                || !station.absences.is_empty()
                || station.failed;
            let is_other = station.driver_queue != DriverLimit::None
                || station.aggregation.built_ahead
                || station.ofdma.is_some()
                || station.mu_mimo.is_some()
                || station.solicits()
                || station.adaptive_mtu.is_some()
                || station.pseudo_retry_out.is_some();
            if comes_and_goes || is_other || !station.capabilities.qos {
                return Err(CellError::DeviceAbility);
            }
        }
    }
    Ok(())
}
