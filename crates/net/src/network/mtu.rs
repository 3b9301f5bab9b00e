//! MTUs: the longest packet that a node sends without cutting it, and the longest that crosses a
//! path uncut. If a station adapts its MTU to the link (`wifi::mac::adaptive_mtu`), the MTU is
//! between two bounds; the cell knows the current value. Lengths are in bytes of network-layer
//! packets.

use super::route::Hop;
use super::{Network, NetworkConfig, NodeConfig};
use crate::fragment;
use lasthop_packet::{NodeId, Packet, Transport};

/// The MTU of a node in bytes. If the two differ, the MTU depends on the link and on the time, and
/// is between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mtu {
    pub least: u16,
    pub most: u16,
}

impl Mtu {
    pub fn for_node(node: &NodeConfig, config: &NetworkConfig) -> Self {
        let station = node.station.zip(config.cell.as_ref());
        let adaptive = station.and_then(|(s, cell)| cell.stations[s.index()].adaptive_mtu);
        Self { least: adaptive.map_or(node.mtu, |adaptive| adaptive.bytes_min), most: node.mtu }
    }

    pub fn adapts(self) -> bool {
        self.least < self.most
    }
}

impl Network {
    /// The number of parts in which `from` sends a packet of `bytes` towards `to`.
    pub fn packets_for(&self, from: NodeId, to: NodeId, bytes: u16) -> u32 {
        fragment::count(bytes, self.mtu(from, to))
    }

    /// Length in bytes of the longest packet that crosses the path from `from` to `to` uncut: the
    /// limit of a TCP segment with its headers. `u16::MAX` if both are the same node, or if no path
    /// joins them.
    pub fn path_mtu(&self, from: NodeId, to: NodeId) -> u16 {
        self.path(from, to).map(|node| self.mtu(node, to)).min().unwrap_or(u16::MAX)
    }

    /// Highest value that the path MTU may reach, which a TCP endpoint announces.
    pub fn path_mtu_max(&self, from: NodeId, to: NodeId) -> u16 {
        let most = |node: NodeId| {
            let most = self.mtus[node.index()].most;
            self.tap(node, to).map_or(most, |tap| tap.mtu.min(most))
        };
        self.path(from, to).map(most).min().unwrap_or(u16::MAX)
    }

    /// The path MTU if it changes, because a node on the path adapts its MTU to the link; a source
    /// then asks before each packet. `None` if it is constant.
    pub fn adaptive_mtu(&self, from: NodeId, to: NodeId) -> Option<u16> {
        let adapts = |node: NodeId| self.mtus[node.index()].adapts();
        self.path(from, to).any(adapts).then(|| self.path_mtu(from, to))
    }

    /// The nodes on the path, without the last one; none if there is no path.
    pub(super) fn path(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = NodeId> {
        let next = move |node: &NodeId| Some(self.routes.next_node(*node, to));
        core::iter::successors(self.joins(from, to).then_some(from), next)
            .take_while(move |node| *node != to)
    }

    /// Longest packet that `node` sends instead of `packet`. TCP segments are not cut (DF), so a
    /// segment made for a longer adaptive MTU is sent whole.
    pub(super) fn mtu_for(&self, node: NodeId, packet: &Packet) -> u16 {
        let on_link = match packet.transport {
            Transport::Tcp => self.mtus[node.index()].most,
            Transport::Other => self.link_mtu(node, packet.destination),
        };
        self.tap_for(node, packet).map_or(on_link, |tap| tap.mtu.min(on_link))
    }

    /// Longest packet of a flow that `node` sends towards `to` now, in bytes.
    fn mtu(&self, node: NodeId, to: NodeId) -> u16 {
        let on_link = self.link_mtu(node, to);
        self.tap(node, to).map_or(on_link, |tap| tap.mtu.min(on_link))
    }

    /// Longest packet that `node` puts on its link towards `to` now, in bytes.
    fn link_mtu(&self, node: NodeId, to: NodeId) -> u16 {
        let mtu = self.mtus[node.index()];
        match (mtu.adapts(), self.routes.station(node), &self.cell) {
            (true, Some(station), Some(cell)) => match self.routes.next(node, to) {
                Hop::Air(peer) => cell.mtu(station, peer).unwrap_or(mtu.most),
                Hop::Wire(_) | Hop::None => mtu.most,
            },
            _ => mtu.most,
        }
    }
}
