//! Stations of a cell, the basic service sets they are in, and to whom a frame goes.

use lasthop_packet::queue::PeerId;

/// A station of a cell, by index; an access point is a station too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StationId(pub u16);

impl StationId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A basic service set of those on a channel (BSS; IEEE 802.11-2020, 4.3.2), by number: an access
/// point and its stations. The numbers of a configuration begin at 0 and have no gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BssId(pub u16);

impl BssId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The receiver of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// The frame is for one station.
    Station(StationId),
    /// Every station that hears it (broadcast and multicast): no acknowledgement.
    Group,
}

impl From<Address> for PeerId {
    /// The group first, then the stations, as a station's queues number them.
    fn from(address: Address) -> Self {
        match address {
            Address::Group => Self(0),
            Address::Station(station) => Self(u32::from(station.0) + 1),
        }
    }
}

impl From<PeerId> for Address {
    fn from(peer: PeerId) -> Self {
        match peer.0.checked_sub(1) {
            None => Self::Group,
            Some(station) => Self::Station(StationId(station as u16)),
        }
    }
}
