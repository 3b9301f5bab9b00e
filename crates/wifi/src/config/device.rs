//! Devices of several links (multi-link devices; IEEE 802.11be-2024, 35.3).

use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_units::Duration;

/// A device of several stations, one on each link, with one queue, one sequence space and one
/// reorder buffer for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceConfig {
    /// Stations of the device, by link: the first one takes the packets of the device. Link n of a client is
    /// in the set of link n of its access point.
    pub links: Vec<StationId>,
    /// Dependence of the links on each other.
    pub mode: LinkMode,
    /// Links for the data of each access category, in both directions (TID-To-Link Mapping; IEEE
    /// 802.11be-2024, 35.3.7).
    pub mapping: [LinkSet; AccessCategory::ALL.len()],
    /// Links that are switched off. Those of an access point are off for its clients, too; its
    /// beacons go on.
    pub off: LinkSet,
    /// Choice among the links that remain, for what the device sends.
    pub choice: LinkChoice,
}

impl DeviceConfig {
    /// Returns a device that uses all its links.
    pub fn new(links: Vec<StationId>, mode: LinkMode) -> Self {
        let (mapping, off) = ([LinkSet::ALL; AccessCategory::ALL.len()], LinkSet::NONE);
        Self { links, mode, mapping, off, choice: LinkChoice::First }
    }
}

/// A set of links of a device, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSet(u8);

impl LinkSet {
    /// All links.
    pub const ALL: Self = Self(u8::MAX);
    /// No link.
    pub const NONE: Self = Self(0);

    /// The set of these links, below 8.
    pub fn from_numbers(links: impl IntoIterator<Item = usize>) -> Self {
        Self(links.into_iter().fold(0, |all, link| all | 1 << link))
    }

    /// Whether it contains a link.
    pub const fn has(self, link: usize) -> bool {
        self.0 >> link & 1 == 1
    }

    /// Whether it contains no link.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The links of both sets.
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The links of either set.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The links that the other set lacks.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Link of a device that takes the next packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LinkChoice {
    /// Whichever gains its channel first.
    #[default]
    First,
    /// The one with the most throughput left: its rate, times the share of the last 102.4 ms in
    /// which nobody else was on the air.
    Load,
    /// The one with the shortest mean time from contention to acknowledgement. The others are tried
    /// with one PPDU each 102.4 ms.
    Delay,
}

/// Dependence of a device's links on each other (IEEE 802.11be-2024, 35.3.16 and 35.3.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LinkMode {
    /// Simultaneous transmit and receive (STR): each link acts as if it were alone.
    #[default]
    Simultaneous,
    /// Nonsimultaneous transmit and receive (NSTR): while one link sends, the others receive
    /// nothing and sense nothing.
    Nonsimultaneous,
    /// Enhanced multi-link single radio (EMLSR): the device listens on all links, and exchanges
    /// frames on one.
    SingleRadio {
        /// Padding that it needs in the initial control frame, 0 to 256 us.
        padding: Duration,
        /// Time that it needs to listen on all links again, 0 to 256 us.
        transition: Duration,
    },
}
