//! The MTU of a node: how long a packet it sends without cutting it. Where a station
//! adapts it to the link (`wifi::mac::adaptive_mtu`), it is between two bounds. Leaves
//! out the MTU of a moment, which the cell knows.

use super::{NetworkConfig, NodeConfig};

/// The MTU of a node in bytes. If the two differ, the MTU depends on the link and on
/// the time, and is between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mtu {
    pub least: u16,
    pub most: u16,
}

impl Mtu {
    pub fn of(node: &NodeConfig, config: &NetworkConfig) -> Self {
        let station = node.station.zip(config.cell.as_ref());
        let adaptive = station.and_then(|(s, cell)| cell.stations[s.index()].adaptive_mtu);
        Self { least: adaptive.map_or(node.mtu, |adaptive| adaptive.bytes_min), most: node.mtu }
    }

    pub fn adapts(self) -> bool {
        self.least < self.most
    }
}
