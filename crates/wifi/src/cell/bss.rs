//! Basic service sets (IEEE 802.11-2020, 4.3.2): one access point each, its beacons with their TIM,
//! and the times in which it holds group frames.
//!
//! All stations share one air: they sense PPDUs of other sets, set NAVs by them, and disturb them.
//! Group frames, beacons and association identifiers belong to one set. The clocks of all access
//! points have the same rate, so the offsets between their beacons stay constant.

use super::config::{CellConfig, Role, StationConfig};
use super::timers::earliest;
use super::{Cell, CellError, element_bytes};
use crate::mac::absence::Absences;
use crate::mac::announcement::EhtSet;
use crate::mac::channel_switch::SwitchPlan;
use crate::mac::sizes;
use crate::phy::Subchannel;
use crate::station::{BssId, StationId};
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Facts of a set that follow from the configuration and stay the same during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BssFacts {
    pub access_point: StationId,
    pub beacon_bytes: u32,
    pub probe_request_bytes: u32,
    /// BSS colour, 1 to 63; 0 for none.
    pub colour: u8,
}

/// The state of a set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bss {
    /// The instant at which its access point queues a beacon; [`Instant::MAX`] for never.
    pub next_beacon: Instant,
    /// TIM of its last beacon.
    pub tim: Tim,
    /// Absences for which its access point held group frames.
    pub group_held: Absences,
    /// Whether a station of the set repeats its operating mode notification after a beacon.
    pub has_unannounced: bool,
    /// Its primary channel.
    pub primary: Subchannel,
    /// Its move to another channel.
    pub switch: Option<SwitchPlan>,
}

/// The Traffic Indication Map of a beacon.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Tim {
    /// Beacons until the next DTIM; zero for a beacon with a DTIM.
    pub dtim_count: u8,
    pub group_traffic: bool,
    /// Stations for which packets are held, ascending.
    pub aids: Vec<u16>,
    /// Whether there was a beacon before.
    pub begun: bool,
}

impl Tim {
    /// Returns the number of beacons from the next one to the next DTIM; one in `period` beacons
    /// has a DTIM.
    pub fn next_dtim_count(&self, period: u8) -> u8 {
        if self.begun { self.dtim_count.checked_sub(1).unwrap_or(period.max(1) - 1) } else { 0 }
    }
}

impl BssFacts {
    /// The sets of a configuration, by [`BssId`].
    ///
    /// # Errors
    /// Returns an error if a set has no access point, or several.
    pub fn all(config: &CellConfig) -> Result<Vec<Self>, CellError> {
        let last = config.stations.iter().map(|station| station.bss.0).max().unwrap_or(0);
        (0..=last).map(|bss| Self::new(config, BssId(bss))).collect()
    }

    fn new(config: &CellConfig, bss: BssId) -> Result<Self, CellError> {
        let stations = config.stations.iter().enumerate();
        let found: Vec<_> =
            stations.filter(|(_, s)| s.bss == bss && s.role == Role::AccessPoint).collect();
        let [(index, station)] = found[..] else {
            return Err(CellError::AccessPoints(bss.0, found.len()));
        };
        Ok(Self {
            access_point: StationId(index as u16),
            beacon_bytes: beacon_bytes(config, station),
            probe_request_bytes: probe_request_bytes(config, station),
            colour: config.colours.get(bss.index()).copied().unwrap_or(usual_colour(bss)),
        })
    }
}

/// The colour of a set without a configured one.
const fn usual_colour(bss: BssId) -> u8 {
    (bss.0 % 63) as u8 + 1
}

/// Length of a beacon of an access point.
pub(super) fn beacon_bytes(config: &CellConfig, access_point: &StationConfig) -> u32 {
    match eht_set(config, access_point) {
        Some(set) => set.beacon(),
        None => sizes::BEACON + element_bytes(&access_point.capabilities).0,
    }
}

/// Length of a Probe Request in the set of an access point.
fn probe_request_bytes(config: &CellConfig, access_point: &StationConfig) -> u32 {
    match eht_set(config, access_point) {
        Some(set) => set.probe_request(),
        None => sizes::PROBE_REQUEST + element_bytes(&access_point.capabilities).1,
    }
}

/// Properties that an access point of 802.11be announces; `None` for others.
fn eht_set(config: &CellConfig, access_point: &StationConfig) -> Option<EhtSet> {
    let capabilities = &access_point.capabilities;
    if !capabilities.is_eht() {
        return None;
    }
    let is_its = |link: &StationId| {
        let station = &config.stations[link.index()];
        station.role == Role::AccessPoint && station.bss == access_point.bss
    };
    let device = config.devices.iter().find(|device| device.links.iter().any(is_its));
    Some(EhtSet {
        band: config.channel_of(access_point.bss).primary.band(config.band),
        width: capabilities.width(),
        rates: EhtSet::rates(&config.basic_rates, &capabilities.rates),
        ssid_octets: config.ssid_octets,
        links: device.map_or(1, |device| device.links.len() as u8),
    })
}

impl Bss {
    /// The next instant at which one of these sets queues a beacon, or performs a step of its move.
    pub fn next_beacon(all: &[Self]) -> Instant {
        let due = |bss: &Self| {
            bss.switch.map_or(bss.next_beacon, |switch| switch.due().min(bss.next_beacon))
        };
        earliest(all.iter().map(due))
    }

    /// The set before its first beacon.
    pub fn new(
        beacon_interval: Option<Duration>,
        beacon_offset: Duration,
        primary: Subchannel,
    ) -> Self {
        let first = beacon_interval.map(|interval| Instant::ZERO + interval + beacon_offset);
        Self {
            next_beacon: first.unwrap_or(Instant::MAX),
            tim: Tim::default(),
            group_held: Absences::default(),
            has_unannounced: false,
            primary,
            switch: None,
        }
    }
}

/// The association identifier of each station, 1 to 2 007 in its set (9.4.1.8): its position among
/// the stations of the set, the access point excluded.
pub(super) fn association_ids(config: &CellConfig, sets: &[BssFacts]) -> Vec<u16> {
    if config.stations.iter().any(|station| station.roaming.is_some()) {
        // A station keeps its number wherever it goes.
        return (1..=config.stations.len() as u16).collect();
    }
    let mut members = alloc::vec![0; sets.len()];
    let mut id = |(index, bss): (usize, BssId)| {
        let set = bss.index();
        if sets[set].access_point.index() == index {
            return 0;
        }
        members[set] += 1;
        members[set]
    };
    config.stations.iter().map(|station| station.bss).enumerate().map(&mut id).collect()
}

impl Cell {
    /// Number of basic service sets.
    pub fn sets(&self) -> usize {
        self.settings.bss.len()
    }

    /// The access point of a basic service set.
    ///
    /// # Panics
    /// Panics if there is no such set.
    pub fn access_point(&self, bss: BssId) -> StationId {
        self.settings.bss[bss.index()].access_point
    }

    /// The basic service set of a station.
    #[inline]
    pub fn bss_of(&self, station: StationId) -> BssId {
        self.stations[station.index()].config.bss
    }
}
