//! Stations of a cell, and to whom a frame goes.

/// A station of a cell, by index; the access point is a station too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StationId(pub u16);

impl StationId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The receiver of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// One station.
    Station(StationId),
    /// Every station that hears it (broadcast and multicast): no acknowledgement.
    Group,
}
