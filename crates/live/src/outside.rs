//! The ways between the nodes and the machine that emulates them: its network, services of its
//! loopback that the nodes reach, and ports of its loopback that lead to a node. They begin at
//! one node, so that what crosses them has crossed the hop.

use crate::emulate::EmulateOptions;
use crate::error::EmulateError;
use crate::jobs::{command_node, names};
use crate::layout::Layout;
use crate::os::forward::{Forwarder, Route, listen_at};
use crate::os::slirp::{NAME_SERVER, PROGRAM, Slirp, SlirpError};
use crate::os::supervisor::{Outside as OutsidePlan, Supervisor};
use lasthop_packet::NodeId;
use lasthop_scenario::{Role, Scenario};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// What the machine is called inside.
pub const MACHINE_NAME: &str = "host.lasthop";
/// Its address inside: another one of the node where the outside begins, which no node has.
pub const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);

/// What the nodes and the machine's own network may reach of each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideOptions {
    /// Whether nodes reach the machine's network and its name servers.
    pub network: bool,
    /// Ports of the machine's loopback that nodes reach, at [`MACHINE_NAME`].
    pub reach: Vec<u16>,
    /// Ports of the machine's loopback that lead to a node.
    pub publish: Vec<Published>,
    /// The node where the outside begins. `None`: the first host in which the command does not
    /// run, else the access point.
    pub at: Option<String>,
}

/// A port of the machine's loopback that leads to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The port of the machine.
    pub port: u16,
    /// The node; `None`: that in which the command runs, else the first station.
    pub node: Option<String>,
    /// The port of the node.
    pub node_port: u16,
}

impl OutsideOptions {
    /// Whether there is any way.
    pub fn is_any(&self) -> bool {
        self.network || !self.reach.is_empty() || !self.publish.is_empty()
    }
}

/// The ways of an emulation, before anything is made.
#[derive(Debug, Default)]
pub struct Ways {
    /// What the supervisor is to make; `None`: nothing.
    pub plan: Option<OutsidePlan>,
    /// The address in the nodes' network at which each of the reached ports listens.
    pub listeners: Vec<SocketAddr>,
    /// Whether there is a way to the network.
    pub has_network: bool,
}

impl Ways {
    /// Opens the ports that are published.
    ///
    /// # Errors
    /// If there is no such node, or a port of the machine is taken.
    pub fn new(
        scenario: &Scenario,
        options: &EmulateOptions,
        layout: &Layout,
    ) -> Result<Self, EmulateError> {
        let outside = &options.outside;
        if !outside.is_any() {
            return Ok(Self::default());
        }
        let gateway = gateway(scenario, options, layout)?;
        let port_of = |node: NodeId| {
            let unknown = || EmulateError::NoOutside {
                name: scenario.nodes[node.index()].name.clone(),
                known: names(layout),
            };
            layout.doors.ports[node.index()].map(usize::from).ok_or_else(unknown)
        };
        let mut published = Vec::new();
        for publish in &outside.publish {
            let node = match &publish.node {
                Some(name) => scenario.node(name).ok_or_else(|| EmulateError::NotPublished {
                    name: name.clone(),
                    known: names(layout),
                })?,
                None => command_node(scenario, layout, options.in_node.as_deref())?,
            };
            let address = layout.nodes[port_of(node)?].interface.ipv4;
            published.push(Route {
                listener: listen_at((Ipv4Addr::LOCALHOST, publish.port).into())?,
                targets: vec![(address, publish.node_port).into()],
            });
        }
        let plan = OutsidePlan {
            node: port_of(gateway)?,
            machine: MACHINE,
            is_router: outside.network,
            published,
        };
        let listeners = outside.reach.iter().map(|port| (MACHINE, *port).into()).collect();
        Ok(Self { plan: Some(plan), listeners, has_network: outside.network })
    }

    /// The machine's name and address inside, if something of it can be reached there.
    pub fn machine(&self) -> Option<(&'static str, Ipv4Addr)> {
        (!self.listeners.is_empty()).then_some((MACHINE_NAME, MACHINE))
    }

    /// The name server of the nodes.
    pub fn name_server(&self) -> Option<&'static str> {
        self.has_network.then_some(NAME_SERVER)
    }
}

/// The ways while they are open. They close when this is dropped.
#[derive(Debug)]
pub struct Open {
    _forwarder: Option<Forwarder>,
    _slirp: Option<Slirp>,
}

impl Open {
    /// Opens the ways out of the nodes: `listeners` are the sockets of [`Ways::listeners`], `mtu`
    /// is that of the node where the outside begins.
    ///
    /// # Errors
    /// If slirp4netns is missing or does not start.
    pub fn new(
        supervisor: &Supervisor,
        listeners: Vec<OwnedFd>,
        reach: &[u16],
        mtu: u16,
    ) -> Result<Self, EmulateError> {
        let route = |(listener, port): (OwnedFd, &u16)| Route {
            listener,
            // A server may listen at one of them only.
            targets: vec![(Ipv4Addr::LOCALHOST, *port).into(), (Ipv6Addr::LOCALHOST, *port).into()],
        };
        let routes: Vec<Route> = listeners.into_iter().zip(reach).map(route).collect();
        let forwarder = (!routes.is_empty()).then(|| Forwarder::start(routes)).transpose()?;
        let slirp = supervisor.outside().map(|namespaces| Slirp::start(namespaces, mtu));
        let slirp = slirp.transpose().map_err(|why| match why {
            SlirpError::Missing => EmulateError::NoHelper { program: PROGRAM, package: PROGRAM },
            SlirpError::Failed(reason) => EmulateError::HelperFailed { program: PROGRAM, reason },
            SlirpError::Os(error) => EmulateError::Os(error),
        })?;
        if slirp.is_some() {
            supervisor.route()?;
        }
        Ok(Self { _forwarder: forwarder, _slirp: slirp })
    }
}

/// The node where the outside begins.
fn gateway(
    scenario: &Scenario,
    options: &EmulateOptions,
    layout: &Layout,
) -> Result<NodeId, EmulateError> {
    let unknown = |name: &str| EmulateError::NoOutside { name: name.into(), known: names(layout) };
    if let Some(name) = &options.outside.at {
        return scenario.node(name).ok_or_else(|| unknown(name));
    }
    let command = options.command.as_ref();
    let command = command.map(|_| command_node(scenario, layout, options.in_node.as_deref()));
    let command = command.transpose()?;
    let ids = (0..scenario.own_nodes().len()).map(|index| NodeId(index as u16));
    let others: Vec<NodeId> = ids.filter(|id| Some(*id) != command).collect();
    let first =
        |role: Role| others.iter().copied().find(|id| scenario.nodes[id.index()].role == role);
    first(Role::Host).or_else(|| first(Role::AccessPoint)).ok_or_else(|| unknown(""))
}
