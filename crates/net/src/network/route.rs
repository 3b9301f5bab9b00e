//! Paths between nodes. Wires, and the air between each access point and the stations of its basic
//! service set, form a forest: only wires join several sets, never the air, and nodes of different
//! trees do not reach each other. The next hop from each node to each other one is computed once.
//! In a network that is one tree, a node with one neighbour, as most stations are, needs no table
//! for that. In an independent cell a station sends to the station to which the access point would
//! send; group packets still follow the tree.

use super::{NetworkConfig, NetworkError};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use lasthop_packet::{NodeId, Packet};
use lasthop_wifi::cell::Role;
use lasthop_wifi::{Address, BssId, StationId};

/// The next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// A directed wire, by index into `Network::wires`.
    Wire(usize),
    /// The air, to this receiver.
    Air(Address),
    /// There is no path.
    None,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Routes {
    stations: Vec<Option<StationId>>,
    /// Access point of each node's basic service set, itself if it is one.
    access_points: Vec<Option<NodeId>>,
    /// The neighbours of each node.
    neighbours: Vec<Vec<(NodeId, Hop)>>,
    /// First node of each node's tree; empty if all nodes are in one.
    trees: Vec<u16>,
    /// Index into a node's neighbours, by node and destination, `u16::MAX` without a path; empty if
    /// the node has one neighbour and all nodes are in one tree.
    next: Vec<Vec<u16>>,
    /// Hop to each neighbour, read for every packet at every node.
    hops: Vec<Vec<Hop>>,
    /// Whether stations send to each other.
    is_independent: bool,
}

impl Routes {
    pub fn new(config: &NetworkConfig) -> Result<Self, NetworkError> {
        let nodes = config.nodes.len();
        let stations: Vec<_> = config.nodes.iter().map(|node| node.station).collect();
        let access_points = Self::check_stations(config, &stations)?;
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
        for (node, access_point) in (0..).map(NodeId).zip(&access_points) {
            let Some(access_point) = access_point.filter(|it| *it != node) else { continue };
            let radio = |node: NodeId| stations[node.index()].expect("both have a radio");
            let to = |node| Hop::Air(Address::Station(radio(node)));
            neighbours[access_point.index()].push((node, to(node)));
            neighbours[node.index()].push((access_point, to(access_point)));
            edges += 1;
        }
        let mut routes = Self {
            stations,
            access_points,
            neighbours,
            trees: Vec::new(),
            next: Vec::new(),
            hops: Vec::new(),
            is_independent: config.cell.as_ref().is_some_and(|cell| cell.independent),
        };
        let count = routes.find_hops();
        // A graph has as many edges as a forest with as many parts only if it is one.
        if edges + count != nodes {
            return Err(NetworkError::Loop(routes.on_loop()));
        }
        Ok(routes)
    }

    /// Finds the hops between all nodes; returns the number of trees.
    fn find_hops(&mut self) -> usize {
        let trees = self.trees();
        let count = (0..).zip(&trees).filter(|(node, first)| node == *first).count();
        self.trees = if count > 1 { trees } else { Vec::new() };
        (self.hops, self.next) = (Vec::new(), Vec::new());
        for node in (0..self.neighbours.len() as u16).map(NodeId) {
            let neighbours = &self.neighbours[node.index()];
            let next = match (neighbours.len(), count) {
                // A single node has no neighbour, and nobody asks for its hops.
                (0 | 1, 1) => Vec::new(),
                _ => self.explore(node),
            };
            let hop = |index: &u16| {
                neighbours.get(usize::from(*index)).map_or(Hop::None, |(_, hop)| *hop)
            };
            self.hops.push(if next.is_empty() {
                neighbours.iter().map(|(_, hop)| *hop).collect()
            } else {
                next.iter().map(hop).collect()
            });
            self.next.push(next);
        }
        count
    }

    /// Moves a node with Wi-Fi to another access point: its packets go there from now on. If it
    /// `is_known`, packets to it go there, too; until then they go to the one before.
    pub fn attach(&mut self, node: NodeId, access_point: NodeId, is_known: bool) {
        let radio = |node: NodeId| self.stations[node.index()].expect("both have a radio");
        let to = |node| Hop::Air(Address::Station(radio(node)));
        let (there, here) = ((access_point, to(access_point)), (node, to(node)));
        self.access_points[node.index()] = Some(access_point);
        let is_on_air = |(_, hop): &&mut (NodeId, Hop)| matches!(hop, Hop::Air(_));
        if let Some(own) = self.neighbours[node.index()].iter_mut().find(is_on_air) {
            *own = there;
        }
        if is_known {
            for neighbours in &mut self.neighbours {
                neighbours.retain(|neighbour| *neighbour != here);
            }
            self.neighbours[access_point.index()].push(here);
        }
        self.find_hops();
    }

    /// Returns the access point of each node's basic service set.
    fn check_stations(
        config: &NetworkConfig,
        stations: &[Option<StationId>],
    ) -> Result<Vec<Option<NodeId>>, NetworkError> {
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
        let Some(cell) = &config.cell else { return Ok(alloc::vec![None; stations.len()]) };
        let mut of_set: BTreeMap<BssId, NodeId> = BTreeMap::new();
        for (station, owner) in cell.stations.iter().zip(&owners) {
            if let (Role::AccessPoint, Some(owner)) = (station.role, owner) {
                of_set.insert(station.bss, *owner);
            }
        }
        let of = |station: &StationId| of_set.get(&cell.stations[station.index()].bss).copied();
        Ok(stations.iter().map(|station| station.as_ref().and_then(of)).collect())
    }

    /// Returns the first node of each node's tree.
    fn trees(&self) -> Vec<u16> {
        let mut trees = alloc::vec![u16::MAX; self.neighbours.len()];
        let mut waiting = Vec::new();
        for first in 0..self.neighbours.len() {
            if trees[first] != u16::MAX {
                continue;
            }
            waiting.push(first);
            while let Some(node) = waiting.pop() {
                trees[node] = first as u16;
                let beside = self.neighbours[node].iter().map(|(other, _)| other.index());
                waiting.extend(beside.filter(|&other| trees[other] == u16::MAX));
            }
        }
        trees
    }

    /// Whether there is a path between two nodes.
    pub fn joins(&self, one: NodeId, other: NodeId) -> bool {
        self.trees.is_empty() || self.trees[one.index()] == self.trees[other.index()]
    }

    /// Finds the first hop from `source` to every node, breadth first: indices of neighbours,
    /// `u16::MAX` without a path.
    fn explore(&self, source: NodeId) -> Vec<u16> {
        let mut next = alloc::vec![u16::MAX; self.neighbours.len()];
        let mut queue: VecDeque<(usize, u16)> = VecDeque::new();
        next[source.index()] = 0;
        queue.push_back((source.index(), u16::MAX));
        while let Some((node, first)) = queue.pop_front() {
            for (index, (neighbour, _)) in self.neighbours[node].iter().enumerate() {
                let slot = &mut next[neighbour.index()];
                if *neighbour != source && *slot == u16::MAX {
                    *slot = if first == u16::MAX { index as u16 } else { first };
                    queue.push_back((neighbour.index(), *slot));
                }
            }
        }
        next
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
        self.access_points[node.index()] == Some(node)
    }

    /// The next hop on the path from `node` to `destination`.
    #[inline]
    pub fn next(&self, node: NodeId, destination: NodeId) -> Hop {
        let hops = &self.hops[node.index()];
        let hop = if hops.len() == 1 { hops[0] } else { hops[destination.index()] };
        match hop {
            Hop::Air(_) if self.is_independent => {
                self.direct(node, destination).map_or(hop, |(_, hop)| hop)
            }
            _ => hop,
        }
    }

    /// The next node on the path from `node` to `destination`, which has to be one that
    /// [`Routes::joins`].
    pub fn next_node(&self, node: NodeId, destination: NodeId) -> NodeId {
        let (next, hop) = self.in_tree(node, destination);
        match hop {
            Hop::Air(_) if self.is_independent => {
                self.direct(node, destination).map_or(next, |(next, _)| next)
            }
            _ => next,
        }
    }

    /// The next hop in the tree, and the node that it leads to.
    fn in_tree(&self, node: NodeId, destination: NodeId) -> (NodeId, Hop) {
        let index = self.next[node.index()].get(destination.index()).copied().unwrap_or(0);
        self.neighbours[node.index()][usize::from(index)]
    }

    /// The hop from a station to another one, with the access point between them in the tree.
    fn direct(&self, node: NodeId, destination: NodeId) -> Option<(NodeId, Hop)> {
        let access_point = self.access_points[node.index()]?;
        if [node, destination].contains(&access_point) || node == destination {
            return None;
        }
        let (next, hop) = self.in_tree(access_point, destination);
        matches!(hop, Hop::Air(_)).then_some((next, hop))
    }

    /// The sender of a packet that `node` received over the air: its access point; at
    /// an access point, the neighbour towards the source of the packet.
    pub fn sender(&self, node: NodeId, packet: &Packet) -> NodeId {
        match self.access_points[node.index()] {
            Some(access_point) if access_point != node => access_point,
            _ => self.in_tree(node, packet.source).0,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cable::CableConfig;
    use crate::network::{NodeConfig, WiredLink};
    use lasthop_units::Identity;
    use lasthop_wifi::cell::{CellConfig, StationConfig};
    use lasthop_wifi::phy::{Band, OfdmRate, Rate, Standard};
    use proptest::prelude::*;

    /// A network in which each node but the first is joined to an earlier one: nodes with a radio
    /// over the air to the access point of their set, its first node, and the others by a wire. A
    /// set of `None` means no radio.
    fn network(parents: &[usize], radios: &[Option<u16>], independent: bool) -> NetworkConfig {
        let mut sets: Vec<u16> = Vec::new();
        let mut is_access_point = Vec::new();
        let mut stations = Vec::new();
        let mut nodes = Vec::new();
        for (number, &radio) in (0..).zip(radios) {
            let identity = Identity::numbered(number);
            let is_first = radio.is_some_and(|set| !sets.contains(&set));
            is_access_point.push(is_first);
            let station = radio.map(|set| {
                sets.extend(is_first.then_some(set));
                let role = if is_first { Role::AccessPoint } else { Role::Station };
                let rate = Rate::Ofdm(OfdmRate::Mbps54);
                let bss = BssId(set);
                stations.push(StationConfig { bss, ..StationConfig::fixed(role, identity, rate) });
                StationId(stations.len() as u16 - 1)
            });
            nodes.push(NodeConfig { identity, station, ..NodeConfig::default() });
        }
        let mut wires = Vec::new();
        for (node, &parent) in (1..).zip(parents) {
            // The air hangs the other stations at their access points.
            if radios[node].is_none() || is_access_point[node] {
                let direction = CableConfig::default();
                wires.push(WiredLink {
                    ends: [NodeId(parent as u16), NodeId(node as u16)],
                    directions: [direction.clone(), direction],
                });
            }
        }
        let cell = (!stations.is_empty()).then(|| CellConfig {
            independent,
            ..CellConfig::new(Standard::Dot11a, Band::Ghz5, stations, Vec::new())
        });
        NetworkConfig { nodes, cell, wires }
    }

    /// Distances from a node to all others over wires and air; in an independent cell all stations
    /// are neighbours.
    fn distances(config: &NetworkConfig, from: usize) -> Vec<usize> {
        let nodes = config.nodes.len();
        let station = |node: usize| config.nodes[node].station;
        let radio = |node: usize| {
            let cell = config.cell.as_ref().expect("it has stations");
            station(node).map(|id| &cell.stations[id.index()])
        };
        let set = |node: usize| radio(node).map(|it| it.bss);
        let is_access_point =
            |node: usize| radio(node).is_some_and(|it| it.role == Role::AccessPoint);
        let is_independent = config.cell.as_ref().is_some_and(|cell| cell.independent);
        let is_edge = |one: usize, other: usize| {
            let ends = [NodeId(one as u16), NodeId(other as u16)];
            let wired = config.wires.iter().any(|w| w.ends == ends || w.ends == [ends[1], ends[0]]);
            let on_air =
                station(one).is_some() && station(other).is_some() && set(one) == set(other);
            let heard =
                on_air && (is_independent || is_access_point(one) || is_access_point(other));
            one != other && (wired || heard)
        };
        let mut distances = alloc::vec![usize::MAX; nodes];
        distances[from] = 0;
        for distance in 0..nodes {
            for node in 0..nodes {
                let is_reached =
                    |other: usize| distances[other] == distance && is_edge(node, other);
                if distances[node] == usize::MAX && (0..nodes).any(is_reached) {
                    distances[node] = distance + 1;
                }
            }
        }
        distances
    }

    /// Access points that hang at a switch, node 0, by wires, and stations in these sets.
    fn office(access_points: u16, sets: &[u16]) -> NetworkConfig {
        let aps: Vec<usize> = (0..access_points).map(|_| 0).collect();
        let parents: Vec<usize> =
            aps.into_iter().chain(sets.iter().map(|set| usize::from(*set) + 1)).collect();
        let radios: Vec<Option<u16>> = core::iter::once(None)
            .chain((0..access_points).map(Some))
            .chain(sets.iter().map(|set| Some(*set)))
            .collect();
        network(&parents, &radios, false)
    }

    proptest! {
        /// A network in which stations have moved has the hops of one in which they began there; one
        /// that is not yet known there sends to its new access point, and is reached by the old one.
        #[test]
        fn moved_stations_are_found(
            sets in proptest::collection::vec(0u16..3, 1..5),
            moves in proptest::collection::vec((any::<proptest::sample::Index>(), 0u16..3), 0..6),
        ) {
            let mut sets = sets;
            let access_point = |set: u16| NodeId(set + 1);
            let mut routes = Routes::new(&office(3, &sets)).expect("a tree");
            for (station, to) in moves {
                let station = station.index(sets.len());
                let node = NodeId(4 + station as u16);
                routes.attach(node, access_point(to), false);
                let radio = |node| routes.station(node).map(Address::Station);
                let hop = radio(access_point(to)).map(Hop::Air);
                prop_assert_eq!(Some(routes.next(node, NodeId(0))), hop);
                let old = access_point(sets[station]);
                prop_assert_eq!(routes.next_node(NodeId(0), node), old);
                prop_assert_eq!(Some(routes.next(old, node)), radio(node).map(Hop::Air));
                routes.attach(node, access_point(to), true);
                sets[station] = to;
                let expected = Routes::new(&office(3, &sets)).expect("a tree");
                let nodes = 4 + sets.len() as u16;
                for from in (0..nodes).map(NodeId) {
                    for to in (0..nodes).map(NodeId).filter(|to| *to != from) {
                        let [next, known] = [&routes, &expected].map(|it| it.next(from, to));
                        prop_assert_eq!(next, known, "{:?} to {:?}", from, to);
                        let [next, known] = [&routes, &expected].map(|it| it.next_node(from, to));
                        prop_assert_eq!(next, known);
                    }
                }
            }
        }

        /// Every hop leads one step nearer, over the wire or to its station; without wires and air
        /// there is no hop.
        #[test]
        fn hops_are_on_shortest_paths(
            parents in proptest::collection::vec(any::<proptest::sample::Index>(), 1..9),
            radios in proptest::collection::vec(proptest::option::of(0u16..3), 9),
            independent in any::<bool>(),
            cut in proptest::collection::vec(any::<bool>(), 9),
        ) {
            let parents: Vec<usize> =
                (1..).zip(&parents).map(|(node, parent)| parent.index(node)).collect();
            let nodes = parents.len() + 1;
            let mut config = network(&parents, &radios[..nodes], independent);
            let mut cuts = cut.iter();
            config.wires.retain(|_| cuts.next() == Some(&true));
            let routes = Routes::new(&config).expect("a forest");
            for to in 0..nodes {
                let distances = distances(&config, to);
                for from in (0..nodes).filter(|&from| from != to) {
                    let ends = [from, to].map(|node| NodeId(node as u16));
                    prop_assert_eq!(routes.joins(ends[0], ends[1]), distances[from] < usize::MAX);
                    if !routes.joins(ends[0], ends[1]) {
                        prop_assert_eq!(routes.next(ends[0], ends[1]), Hop::None);
                        continue;
                    }
                    let next = routes.next_node(ends[0], ends[1]);
                    prop_assert_eq!(distances[next.index()] + 1, distances[from]);
                    match routes.next(ends[0], ends[1]) {
                        Hop::Air(address) => {
                            let station = config.nodes[next.index()].station;
                            prop_assert_eq!(Some(address), station.map(Address::Station));
                            prop_assert!(config.nodes[from].station.is_some());
                        }
                        Hop::None => prop_assert!(false, "{ends:?} are joined"),
                        Hop::Wire(index) => {
                            let [one, other] = config.wires[index / 2].ends;
                            let expected = if index % 2 == 0 { other } else { one };
                            prop_assert_eq!(next, expected);
                        }
                    }
                }
            }
        }
    }
}
