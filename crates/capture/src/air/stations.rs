//! Stations on the air: each address once, with its properties and its network. Group addresses are
//! no stations.

use lasthop_units::MacAddr;
use std::collections::BTreeMap;

/// Number of a station, in the order in which stations were heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StationId(u32);

impl StationId {
    /// Returns the station with this number; the last possible one if it is too large.
    pub(crate) const fn at(index: usize) -> Self {
        Self(if index > u32::MAX as usize { u32::MAX } else { index as u32 })
    }

    /// Returns the number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Largest number of stations followed: devices that look for networks change their address often.
/// Frames of other stations are only counted.
pub const STATIONS_MAX: usize = 65_536;

/// A station or an access point.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// MAC address of the station.
    pub address: MacAddr,
    /// Whether it sends beacons or forwards data for others.
    pub access_point: bool,
    /// Access point with which it exchanges data frames; for an access point, itself.
    pub bss: Option<StationId>,
}

/// All stations of a capture.
#[derive(Debug, Default)]
pub struct Stations {
    list: Vec<Station>,
    by_address: BTreeMap<MacAddr, StationId>,
    /// Results of the latest lookups.
    recent: [Option<(MacAddr, StationId)>; 4],
    next: usize,
    /// Frames of addresses beyond [`STATIONS_MAX`].
    left_out: u64,
}

impl Stations {
    /// Returns the station with this address, and adds it if it is new; `None` for a group, or if
    /// there are too many.
    pub fn id_of(&mut self, address: MacAddr) -> Option<StationId> {
        for (known, id) in self.recent.iter().flatten() {
            if *known == address {
                return Some(*id);
            }
        }
        if address.is_multicast() {
            return None;
        }
        let id = match self.by_address.get(&address) {
            Some(id) => *id,
            None if self.list.len() >= STATIONS_MAX => {
                self.left_out += 1;
                return None;
            }
            None => {
                let id = StationId(self.list.len() as u32);
                self.list.push(Station { address, access_point: false, bss: None });
                self.by_address.insert(address, id);
                id
            }
        };
        self.recent[self.next] = Some((address, id));
        self.next = (self.next + 1) % self.recent.len();
        Some(id)
    }

    /// Returns the station with this address, if it was heard.
    pub fn find(&self, address: MacAddr) -> Option<StationId> {
        self.by_address.get(&address).copied()
    }

    /// Returns the properties of a station.
    pub fn get(&self, id: StationId) -> &Station {
        &self.list[id.index()]
    }

    /// Marks a station as an access point.
    pub fn set_access_point(&mut self, id: StationId) {
        let station = &mut self.list[id.index()];
        station.access_point = true;
        station.bss = Some(id);
    }

    /// Notes that a station exchanges data with an access point.
    pub fn set_bss(&mut self, id: StationId, access_point: StationId) {
        let station = &mut self.list[id.index()];
        if !station.access_point {
            station.bss = Some(access_point);
        }
    }

    /// Returns all stations in the order in which they were heard.
    pub fn iter(&self) -> impl Iterator<Item = (StationId, &Station)> {
        self.list.iter().enumerate().map(|(index, station)| (StationId(index as u32), station))
    }

    /// Returns the number of stations.
    pub const fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the number of frames of addresses beyond [`STATIONS_MAX`].
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }
}
