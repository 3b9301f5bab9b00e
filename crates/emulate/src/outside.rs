//! The ways between the nodes and the machine that emulates them: its network, services of its
//! loopback that the nodes reach, and ports of its loopback that lead to a node. Each begins at a
//! node that is separated from the far side by the air, if there is one.

use crate::error::EmulateError;
use crate::jobs::{command_node, names};
use crate::layout::{Layout, MACHINE};
use crate::options::EmulateOptions;
use lasthop_linux::forward::{Forwarder, Passed, Route, Tally, datagrams_at, listen_at};
use lasthop_linux::slirp::{NAME_SERVER, PROGRAM, Slirp, SlirpError};
use lasthop_linux::supervisor::{
    Gateway, Outside as OutsidePlan, Published as PublishedPlan, Supervisor,
};
use lasthop_packet::NodeId;
use lasthop_scenario::{Role, Scenario};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A way with its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Option of the command line, with its value.
    pub option: String,
    /// The far side, to which connections lead.
    pub far_side: String,
    /// Counts of its connections and datagrams.
    pub passed: Passed,
}

/// The ways of an emulation, before anything is made.
#[derive(Debug, Default)]
pub struct Ways {
    /// Plan for the supervisor; `None`: there are no ways.
    pub plan: Option<OutsidePlan>,
    /// Addresses in the nodes' network of the reached ports.
    pub listeners: Vec<SocketAddr>,
    /// Whether there is a way to the network.
    pub has_network: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Options and far sides, in the order of the counters.
    named: Vec<(String, String)>,
}

impl Ways {
    /// Opens the ports that are published.
    ///
    /// # Errors
    /// If there is no such node, nothing would be crossed, or a port of the machine is taken.
    pub fn new(
        scenario: &Scenario,
        options: &EmulateOptions,
        layout: &Layout,
    ) -> Result<Self, EmulateError> {
        let outside = &options.outside;
        if !outside.is_any() {
            return Ok(Self::default());
        }
        let map = Map::new(scenario, layout);
        let mut ways = Self { has_network: outside.network, ..Self::default() };
        let of_command = command_node(scenario, layout, options.in_node.as_deref());
        let command = match &options.command {
            Some(_) => Some(of_command.clone()?),
            None => None,
        };
        let at = outside.at.as_ref();
        let at = at.map(|name| map.named(name).ok_or_else(|| map.no_outside(name))).transpose()?;
        let mut gateway = None;
        if outside.network || !outside.reach.is_empty() {
            let sender = command.or_else(|| Some(scenario.programs.first()?.node));
            let node = match at {
                Some(node) => node,
                None => map.beyond(sender, sender).ok_or_else(|| map.no_outside(""))?,
            };
            if let Some(sender) = sender.filter(|sender| map.separated_from(*sender).is_some())
                && !map.crosses(sender, node)
            {
                ways.notes.push(map.nothing_crossed("--outside-at", sender, node));
            }
            gateway = Some(Gateway {
                node: map.port(node).ok_or_else(|| map.no_outside(map.name(node)))?,
                machine: MACHINE,
                is_router: outside.network,
            });
        }
        let tally = Arc::new(Tally::new(outside.reach.len() + outside.publish.len())?);
        for port in &outside.reach {
            ways.listeners.push((MACHINE, *port).into());
            ways.named.push((format!("--reach {port}"), format!("port {port} of this machine")));
        }
        let mut ports = BTreeSet::new();
        let mut published = Vec::new();
        for publish in &outside.publish {
            if !ports.insert(publish.port) {
                return Err(EmulateError::PublishedTwice { port: publish.port });
            }
            let node = match &publish.node {
                Some(name) => scenario.node(name).ok_or_else(|| EmulateError::NotPublished {
                    name: name.clone(),
                    known: names(layout),
                })?,
                None => of_command.clone()?,
            };
            let preferred = of_command.as_ref().ok().copied();
            let best = map.beyond(Some(node), preferred);
            let from = at.or(best).ok_or_else(|| map.no_outside(""))?;
            if from == node {
                return Err(EmulateError::NothingCrossed {
                    published: publish.to_string(),
                    node: map.name(node).to_owned(),
                    other: best.map_or("another node", |best| map.name(best)).to_owned(),
                });
            }
            if map.separated_from(node).is_some() && !map.crosses(from, node) {
                ways.notes.push(map.nothing_crossed(&format!("--publish {publish}"), node, from));
            }
            let unknown = |node| map.no_outside(map.name(node));
            let target = map.port(node).ok_or_else(|| unknown(node))?;
            let address = layout.nodes[target].interface.ipv4;
            let own: SocketAddr = (Ipv4Addr::LOCALHOST, publish.port).into();
            let way = ways.named.len();
            ways.named.push((
                format!("--publish {publish}"),
                format!("port {} of {}", publish.node_port, map.name(node)),
            ));
            published.push(PublishedPlan {
                from: map.port(from).ok_or_else(|| unknown(from))?,
                route: Route {
                    way,
                    listener: listen_at(own)?,
                    datagrams: datagrams_at(own)?,
                    targets: vec![(address, publish.node_port).into()],
                },
            });
        }
        ways.plan = Some(OutsidePlan { gateway, published, tally });
        Ok(ways)
    }

    /// Whether a port or network of the machine can be reached inside.
    pub fn reaches_machine(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// The name server of the nodes.
    pub fn name_server(&self) -> Option<&'static str> {
        self.has_network.then_some(NAME_SERVER)
    }

    /// The options, each with its far side.
    pub fn take_names(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.named)
    }
}

/// The counters of the ways, by name.
#[derive(Debug, Default)]
pub struct Counted {
    tally: Option<Arc<Tally>>,
    named: Vec<(String, String)>,
    /// Whether the user has been informed of refused connections and datagrams, for each way.
    told: Vec<(bool, bool)>,
}

impl Counted {
    /// Returns the counters of a plan's ways, with names in their order.
    pub fn new(plan: Option<&OutsidePlan>, named: Vec<(String, String)>) -> Self {
        let told = vec![(false, false); named.len()];
        Self { tally: plan.map(|plan| Arc::clone(&plan.tally)), named, told }
    }

    /// The counts of each way.
    pub fn ways(&self) -> Vec<Way> {
        let Some(tally) = &self.tally else { return Vec::new() };
        let way = |(index, (option, far_side)): (usize, &(String, String))| Way {
            option: option.clone(),
            far_side: far_side.clone(),
            passed: tally.read(index),
        };
        self.named.iter().enumerate().map(way).collect()
    }

    /// The first refusals of each way since the last call, a line each.
    pub fn news(&mut self) -> Vec<String> {
        let Some(tally) = &self.tally else { return Vec::new() };
        let mut news = Vec::new();
        for (index, (told, (option, far_side))) in self.told.iter_mut().zip(&self.named).enumerate()
        {
            let passed = tally.read(index);
            if passed.connections_refused > 0 && !told.0 {
                told.0 = true;
                news.push(format!(
                    "{option}: nobody listens at TCP {far_side}; the connection was reset"
                ));
            }
            if passed.refused > 0 && !told.1 {
                told.1 = true;
                news.push(format!(
                    "{option}: nobody listens at UDP {far_side}; the datagram was dropped"
                ));
            }
        }
        news
    }
}

/// The open ways. They close on drop.
#[derive(Debug)]
pub struct Open {
    _forwarder: Option<Forwarder>,
    _slirp: Option<Slirp>,
}

impl Open {
    /// Opens the ways out of the nodes: `listeners` are the sockets of [`Ways::listeners`], each
    /// one of TCP and one of UDP; `mtu` is that of the node where the outside begins.
    ///
    /// # Errors
    /// If slirp4netns is missing or does not start.
    pub fn new(
        supervisor: &Supervisor,
        tally: &Arc<Tally>,
        listeners: Vec<OwnedFd>,
        reach: &[u16],
        mtu: u16,
    ) -> Result<Self, EmulateError> {
        let mut sockets = listeners.into_iter();
        let mut routes = Vec::new();
        for (way, port) in reach.iter().enumerate() {
            let (Some(listener), Some(datagrams)) = (sockets.next(), sockets.next()) else { break };
            // A server may listen at one of them only.
            let targets =
                vec![(Ipv4Addr::LOCALHOST, *port).into(), (Ipv6Addr::LOCALHOST, *port).into()];
            routes.push(Route { way, listener, datagrams, targets });
        }
        let start = || Forwarder::start(routes, Arc::clone(tally));
        let forwarder = (!reach.is_empty()).then(start).transpose()?;
        let slirp = supervisor.outside().map(|namespaces| Slirp::start(namespaces, mtu));
        let slirp = slirp.transpose().map_err(|why| match why {
            SlirpError::Missing => EmulateError::NoHelper { program: PROGRAM, package: PROGRAM },
            SlirpError::Failed(reason) => {
                EmulateError::HelperFailed { program: PROGRAM, remedy: remedy(&reason), reason }
            }
            SlirpError::Os(error) => EmulateError::Os(error),
        })?;
        if slirp.is_some() {
            supervisor.route()?;
        }
        Ok(Self { _forwarder: forwarder, _slirp: slirp })
    }
}

/// The remedy for an error of the helper.
fn remedy(reason: &str) -> &'static str {
    if !reason.contains("/dev/net/tun") {
        return "";
    }
    if reason.contains("Permission denied") {
        "; let all users open it, as most systems do, with `sudo chmod 666 /dev/net/tun`"
    } else {
        "; load it with `sudo modprobe tun`, or start the container with `--device /dev/net/tun`"
    }
}

/// The nodes, with the separation by the air: nodes that no wires join are separated.
struct Map<'a> {
    scenario: &'a Scenario,
    layout: &'a Layout,
    /// One representative for each group of nodes joined by wires, by node.
    joined: Vec<usize>,
}

impl<'a> Map<'a> {
    fn new(scenario: &'a Scenario, layout: &'a Layout) -> Self {
        let mut joined: Vec<usize> = (0..scenario.nodes.len()).collect();
        for wire in &scenario.network.wires {
            let [one, other] = wire.ends.map(|end| joined[end.index()]);
            joined.iter_mut().filter(|it| **it == other).for_each(|it| *it = one);
        }
        Self { scenario, layout, joined }
    }

    fn named(&self, name: &str) -> Option<NodeId> {
        self.scenario.node(name)
    }

    fn name(&self, node: NodeId) -> &str {
        &self.scenario.nodes[node.index()].name
    }

    fn port(&self, node: NodeId) -> Option<usize> {
        self.layout.doors.ports[node.index()].map(usize::from)
    }

    fn no_outside(&self, name: &str) -> EmulateError {
        EmulateError::NoOutside { name: name.into(), known: names(self.layout) }
    }

    /// Whether packets from one node to the other cross the air.
    fn crosses(&self, one: NodeId, other: NodeId) -> bool {
        self.scenario.network.cell.is_some()
            && self.joined[one.index()] != self.joined[other.index()]
    }

    /// The nodes where the outside may begin, best first: hosts, access points, then stations.
    fn candidates(&self, preferred: Option<NodeId>) -> Vec<NodeId> {
        let ids = (0..self.scenario.own_nodes().len()).map(|index| NodeId(index as u16));
        let own: Vec<NodeId> = ids.filter(|id| self.port(*id).is_some()).collect();
        let of = |role: Role| {
            own.iter().copied().filter(move |id| self.scenario.nodes[id.index()].role == role)
        };
        let mut stations: Vec<NodeId> = of(Role::Station).collect();
        stations.sort_by_key(|id| Some(*id) != preferred);
        of(Role::Host).chain(of(Role::AccessPoint)).chain(stations).collect()
    }

    /// A node that is separated from `node` by the air; `None` without one.
    fn separated_from(&self, node: NodeId) -> Option<NodeId> {
        self.candidates(None).into_iter().find(|other| self.crosses(*other, node))
    }

    /// The node where the outside begins as seen by `node`: the best one that is separated from it
    /// by the air, else the best other one.
    fn beyond(&self, node: Option<NodeId>, preferred: Option<NodeId>) -> Option<NodeId> {
        let all = self.candidates(preferred);
        let separated = |other: &NodeId| node.is_some_and(|node| self.crosses(*other, node));
        let another = |other: &NodeId| {
            Some(*other) != node && self.scenario.nodes[other.index()].role != Role::Station
        };
        let mut all = all.iter().copied();
        all.clone().find(separated).or_else(|| all.find(another))
    }

    fn nothing_crossed(&self, what: &str, one: NodeId, other: NodeId) -> String {
        let (one, other) = (self.name(one), self.name(other));
        if one == other {
            format!("{what}: the outside begins at {one} itself, so no Wi-Fi is crossed")
        } else {
            format!("{what}: between {other} and {one} no Wi-Fi is crossed")
        }
    }
}
