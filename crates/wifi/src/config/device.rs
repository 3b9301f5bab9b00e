//! Devices of several links (multi-link devices; IEEE 802.11be-2024, 35.3).

use crate::station::StationId;
use alloc::vec::Vec;
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
