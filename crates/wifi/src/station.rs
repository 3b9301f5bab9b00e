//! Stations of a cell, their basic service sets, and receivers of frames.

use lasthop_packet::queue::PeerId;

/// Index of a station of a cell; access points are stations, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StationId(pub u16);

impl StationId {
    /// Returns the number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a basic service set on the channels of a cell (BSS; IEEE 802.11-2020, 4.3.2): an
/// access point and its stations. The numbers of a configuration begin at 0 and have no gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BssId(pub u16);

impl BssId {
    /// Returns the number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Role of a station: access point or client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An access point: it sends beacons, and every frame of its set has it as sender or receiver.
    AccessPoint,
    /// A client, associated from the first instant on.
    Station,
}

/// The receiver of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// A single station.
    Station(StationId),
    /// All stations that hear the frame (broadcast and multicast), without acknowledgement.
    Group,
}

impl From<Address> for PeerId {
    /// Returns 0 for the group, and other numbers for the stations, as in the queues of a station.
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
