//! Who is heard: each address once, with what is known of it, and the network that it belongs
//! to. Addresses of groups are none of them.

use lasthop_units::MacAddr;
use std::collections::BTreeMap;

/// Number of a station in the order in which they were heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StationId(u32);

impl StationId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Most stations that are followed: passers-by who look for networks change their address
/// again and again. Frames of the others are counted, and no more.
pub const STATIONS_MAX: usize = 65_536;

/// A station or an access point.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its address.
    pub address: MacAddr,
    /// It sends beacons, or forwards for others.
    pub access_point: bool,
    /// The access point with which it exchanges data frames; of an access point, itself.
    pub bss: Option<StationId>,
}

/// All stations.
#[derive(Debug, Default)]
pub struct Stations {
    list: Vec<Station>,
    by_address: BTreeMap<MacAddr, StationId>,
    /// The last ones that were looked for.
    recent: [Option<(MacAddr, StationId)>; 4],
    next: usize,
    /// Addresses beyond [`STATIONS_MAX`], each as often as it was heard.
    left_out: u64,
}

impl Stations {
    /// The station with this address, which may be new; `None` for a group, and when there are
    /// too many.
    pub fn of(&mut self, address: MacAddr) -> Option<StationId> {
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

    /// The station with this address, if it was heard.
    pub fn find(&self, address: MacAddr) -> Option<StationId> {
        self.by_address.get(&address).copied()
    }

    /// What is known of a station.
    pub fn get(&self, id: StationId) -> &Station {
        &self.list[id.index()]
    }

    /// A station is an access point.
    pub fn set_access_point(&mut self, id: StationId) {
        let station = &mut self.list[id.index()];
        station.access_point = true;
        station.bss = Some(id);
    }

    /// A station exchanges data with an access point.
    pub fn set_bss(&mut self, id: StationId, access_point: StationId) {
        let station = &mut self.list[id.index()];
        if !station.access_point {
            station.bss = Some(access_point);
        }
    }

    /// All of them in the order in which they were heard.
    pub fn iter(&self) -> impl Iterator<Item = (StationId, &Station)> {
        self.list.iter().enumerate().map(|(index, station)| (StationId(index as u32), station))
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.list.len()
    }

    /// Frames of addresses beyond [`STATIONS_MAX`].
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }
}
