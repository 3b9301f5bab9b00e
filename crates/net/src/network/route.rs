//! Paths. Wires, and the air between the access point and each station, make a tree;
//! the next hop from each node to each other one is computed once. In an independent
//! cell all stations are neighbours of each other; group packets still follow the tree.

use super::{NetworkConfig, NetworkError};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::{NodeId, Packet};
use lasthop_wifi::cell::Role;
use lasthop_wifi::{Address, StationId};

/// The next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// A directed wire, by index into `Network::wires`.
    Wire(usize),
    /// The air, to this receiver.
    Air(Address),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Routes {
    stations: Vec<Option<StationId>>,
    access_point: Option<NodeId>,
    /// The neighbours of each node.
    neighbours: Vec<Vec<(NodeId, Hop)>>,
    /// By node * nodes + destination: index into the neighbours of the node.
    next: Vec<u16>,
    /// The hop to that neighbour, with the same index: it is read for every packet at
    /// every node.
    hops: Vec<Hop>,
}

impl Routes {
    pub fn new(config: &NetworkConfig) -> Result<Self, NetworkError> {
        let nodes = config.nodes.len();
        let stations: Vec<_> = config.nodes.iter().map(|node| node.station).collect();
        let access_point = Self::check_stations(config, &stations)?;
        let mut neighbours: Vec<Vec<(NodeId, Hop)>> = alloc::vec![Vec::new(); nodes];
        let mut edges = 0;
        for (index, link) in config.wires.iter().enumerate() {
            let [a, b] = link.ends;
            if a == b || a.index() >= nodes || b.index() >= nodes {
                return Err(NetworkError::Wire(index));
            }
            neighbours[a.index()].push((b, Hop::Wire(2 * index)));
            neighbours[b.index()].push((a, Hop::Wire(2 * index + 1)));
            edges += 1;
        }
        if let Some(access_point) = access_point {
            let to_ap = stations[access_point.index()].expect("it is a station");
            for (index, station) in stations.iter().enumerate() {
                let Some(station) = station.filter(|station| *station != to_ap) else { continue };
                let node = NodeId(index as u16);
                let down = Hop::Air(Address::Station(station));
                neighbours[access_point.index()].push((node, down));
                neighbours[index].push((access_point, Hop::Air(Address::Station(to_ap))));
                edges += 1;
            }
        }
        let (next, hops) = (Vec::new(), Vec::new());
        let mut routes = Self { stations, access_point, neighbours, next, hops };
        for source in 0..nodes {
            routes.explore(source)?;
        }
        // The graph is connected and has as many edges as a tree, so it is one.
        if edges + 1 != nodes.max(1) {
            return Err(NetworkError::Loop(routes.on_loop()));
        }
        if config.cell.as_ref().is_some_and(|cell| cell.independent) {
            routes.connect_stations()?;
        }
        let Self { neighbours, next, hops, .. } = &mut routes;
        for (node, next) in next.chunks(nodes.max(1)).enumerate() {
            // A single node has no neighbour, and nobody asks for its hops.
            let hop = |&index: &u16| neighbours[node].get(usize::from(index)).map(|(_, hop)| *hop);
            hops.extend(next.iter().filter_map(hop));
        }
        Ok(routes)
    }

    /// Makes stations reach each other without the access point.
    fn connect_stations(&mut self) -> Result<(), NetworkError> {
        let clients: Vec<(NodeId, StationId)> = (0..self.stations.len())
            .map(|index| NodeId(index as u16))
            .filter(|node| !self.is_access_point(*node))
            .filter_map(|node| Some((node, self.station(node)?)))
            .collect();
        for &(from, _) in &clients {
            for &(to, station) in clients.iter().filter(|(to, _)| *to != from) {
                let direct = Hop::Air(Address::Station(station));
                self.neighbours[from.index()].push((to, direct));
            }
        }
        self.next.clear();
        (0..self.stations.len()).try_for_each(|source| self.explore(source))
    }

    fn check_stations(
        config: &NetworkConfig,
        stations: &[Option<StationId>],
    ) -> Result<Option<NodeId>, NetworkError> {
        let in_cell = config.cell.as_ref().map_or(0, |cell| cell.stations.len());
        let mut owners = alloc::vec![None; in_cell];
        for (index, station) in stations.iter().enumerate() {
            let Some(station) = station else { continue };
            let node = NodeId(index as u16);
            match owners.get_mut(station.index()) {
                Some(owner @ None) => *owner = Some(node),
                _ => return Err(NetworkError::Station(node.0)),
            }
        }
        let Some(cell) = &config.cell else { return Ok(None) };
        let access_point = cell.stations.iter().position(|s| s.role == Role::AccessPoint);
        Ok(access_point.and_then(|index| owners[index]))
    }

    /// Finds the first hop from `source` to every node, breadth first.
    fn explore(&mut self, source: usize) -> Result<(), NetworkError> {
        let nodes = self.neighbours.len();
        let base = self.next.len();
        self.next.resize(base + nodes, u16::MAX);
        let mut queue: VecDeque<(usize, u16)> = VecDeque::new();
        self.next[base + source] = 0;
        queue.push_back((source, u16::MAX));
        while let Some((node, first)) = queue.pop_front() {
            for (index, (neighbour, _)) in self.neighbours[node].iter().enumerate() {
                let slot = &mut self.next[base + neighbour.index()];
                if neighbour.index() != source && *slot == u16::MAX {
                    *slot = if first == u16::MAX { index as u16 } else { first };
                    queue.push_back((neighbour.index(), *slot));
                }
            }
        }
        match self.next[base..].iter().position(|slot| *slot == u16::MAX) {
            Some(lost) => Err(NetworkError::Unreachable(source as u16, lost as u16)),
            None => Ok(()),
        }
    }

    /// A node on a loop: one that remains when leaves are removed until none is left.
    fn on_loop(&self) -> u16 {
        let mut degree: Vec<usize> = self.neighbours.iter().map(Vec::len).collect();
        while let Some(leaf) = degree.iter().position(|d| *d == 1) {
            degree[leaf] = 0;
            for (neighbour, _) in &self.neighbours[leaf] {
                degree[neighbour.index()] = degree[neighbour.index()].saturating_sub(1);
            }
        }
        degree.iter().position(|d| *d > 1).unwrap_or(0) as u16
    }

    /// The station of a node, if it has Wi-Fi.
    pub fn station(&self, node: NodeId) -> Option<StationId> {
        self.stations[node.index()]
    }

    pub fn is_access_point(&self, node: NodeId) -> bool {
        self.access_point == Some(node)
    }

    /// The next hop on the path from `node` to `destination`.
    #[inline]
    pub fn next(&self, node: NodeId, destination: NodeId) -> Hop {
        self.hops[node.index() * self.neighbours.len() + destination.index()]
    }

    /// The next node on the path from `node` to `destination`.
    pub fn next_node(&self, node: NodeId, destination: NodeId) -> NodeId {
        let index = self.next[node.index() * self.neighbours.len() + destination.index()];
        self.neighbours[node.index()][usize::from(index)].0
    }

    /// The sender of a packet that `node` received over the air: the access point; at
    /// the access point, the neighbour towards the source of the packet.
    pub fn sender(&self, node: NodeId, packet: &Packet) -> NodeId {
        match self.access_point {
            Some(access_point) if access_point != node => access_point,
            _ => {
                let towards = node.index() * self.neighbours.len() + packet.source.index();
                self.neighbours[node.index()][usize::from(self.next[towards])].0
            }
        }
    }

    /// The hops on which a group packet from `from` leaves `node`: each wire, and the
    /// air once.
    pub fn flood(&self, node: NodeId, from: Option<NodeId>) -> Vec<Hop> {
        let mut hops = Vec::new();
        let mut on_air = false;
        for &(neighbour, hop) in &self.neighbours[node.index()] {
            match hop {
                // A transmission of the access point also reaches the station that sent
                // the packet, which discards it.
                Hop::Air(_) if self.is_access_point(node) => on_air = true,
                Hop::Air(_) if !self.is_access_point(neighbour) => {}
                _ if Some(neighbour) != from => hops.push(hop),
                _ => {}
            }
        }
        if on_air {
            hops.push(Hop::Air(Address::Group));
        }
        hops
    }
}
