//! The hosts and their network as one machine: packets at a wake-up, when a queue becomes shorter,
//! and in answer to arrivals.
//!
//! In real time some flows are between sockets of a kernel, and programs have other flows. The
//! packets of these flows enter by [`Hosts::handle_packet`], have tags from [`DRIVER_TAGS`] on, and
//! leave by [`Hosts::poll_output`].
//!
//! The machine reports to a [`Sink`], which its driver passes in, at the instant of each event.
//! Events of one instant happen in the order of the requests for them; packets that arrive at an
//! instant precede new packets.

use crate::config::{Endpoints, Flow, FrancLink};
use crate::events::{Event, EventQueue};
use crate::flows::{self, Flows};
use crate::franc::{Content, Francs, Outside};
use crate::saturation::Backlog;
use crate::sink::{Frames, Sink};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use lasthop_net::network::{Change, Network, NetworkConfig, NetworkError, NetworkStats, Output};
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Identity, Instant, Seed};
use lasthop_wifi::cell::{AdjustError, Adjustment};

/// The lowest tag of a driver's packets; the machine's tags are below.
pub const DRIVER_TAGS: u64 = 1 << 63;

/// Reason for rejecting a [`HostsConfig`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HostsError {
    /// The configuration of the network is invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The configuration of a coded link is invalid.
    #[error("coded link {link:?}: {why}")]
    Franc {
        /// Name of the link.
        link: String,
        /// Error in its configuration.
        why: lasthop_franc::ConfigError,
    },
    /// A change that cannot be made.
    #[error("the change at {at} cannot be made: {why}")]
    Change {
        /// Instant of the change.
        at: Instant,
        /// Reason for the refusal.
        why: AdjustError,
    },
    /// A congestion control that only a kernel has.
    #[error(
        "flow {flow:?}: the model, which simulate, sweep and compare run, has the congestion controls \
         {}, not {name:?}; emulate takes those of the kernel where endpoints = \"kernel\"",
        lasthop_tcp::CongestionControlKind::NAMES.map(|name| format!("{name:?}")).join(", ")
    )]
    CongestionControl {
        /// Name of the flow.
        flow: String,
        /// Name of the congestion control.
        name: String,
    },
}

/// The configuration of [`Hosts`].
#[derive(Clone, Debug, PartialEq)]
pub struct HostsConfig {
    /// The identity of each node, by [`NodeId`]: the key of its random streams.
    pub nodes: Vec<Identity>,
    /// The flows, by [`FlowId`].
    pub flows: Vec<Flow>,
    /// Flows of datagrams in the background that only take their share of the network: their
    /// packets have [`FlowId::BACKGROUND`], and they do not keep a run going. Such flows are
    /// neither saturated nor pings.
    pub background: Vec<Flow>,
    /// The coded links.
    pub francs: Vec<FrancLink>,
    /// Instant from which no flow sends.
    pub end: Instant,
    /// Time after which counters restart at zero; zero for never.
    pub warmup: Duration,
    /// Time between two readings of queues and windows.
    pub sample_interval: Duration,
    /// Changes during the run, with their instants; changes of one instant in their order, after
    /// the arrivals and before the departures at that instant.
    pub changes: Vec<(Instant, Change)>,
}

/// Reason for the next wake-up of [`Hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostsReason {
    /// A step of the network is due.
    Network,
    /// A flow or a coded link sends or has a timer, or queues are read.
    Event,
}

/// Hosts and their network.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    network: Network,
    flows: Flows,
    francs: Francs,
    events: EventQueue,
    /// Changes by the index in [`Event::Change`].
    changes: Vec<Change>,
    /// The nodes with Wi-Fi.
    wifi: Vec<NodeId>,
    sample_interval: Duration,
    /// The ends of the driver's packets.
    outputs: VecDeque<Output>,
    /// Whether any queue became shorter since the driver's last query.
    has_space: bool,
}

impl Hosts {
    /// Returns hosts at [`Instant::ZERO`]; call [`Hosts::start`] next.
    ///
    /// # Errors
    /// Returns a [`HostsError`] for an invalid configuration.
    pub fn new(
        config: &HostsConfig,
        network_config: &NetworkConfig,
        seed: Seed,
    ) -> Result<Self, HostsError> {
        let mut network = Network::new(network_config, seed)?;
        check_paths(config, &network)?;
        let francs = Francs::new(config, &mut network, seed)?;
        let flows = Flows::new(config, network_config, &network, seed)?;
        check_changes(&config.changes, &network)?;
        let mut events = EventQueue::default();
        for (index, (at, _)) in config.changes.iter().enumerate() {
            events.push(*at, Event::Change(index));
        }
        for flow in flows::by_name(&config.flows) {
            if config.flows[flow].endpoints == Endpoints::Model {
                events.push(config.flows[flow].start, Event::Start(flow));
            }
        }
        for index in flows::by_name(&config.background) {
            let start = config.background[index].start;
            events.push(start, Event::Start(config.flows.len() + index));
        }
        events.push(Instant::ZERO, Event::Sample);
        if !config.warmup.is_zero() {
            events.push(Instant::ZERO + config.warmup, Event::Warm);
        }
        let wifi = (0..network_config.nodes.len())
            .filter(|index| network_config.nodes[*index].station.is_some())
            .map(|index| NodeId(index as u16))
            .collect();
        let sample_interval = config.sample_interval;
        let outputs = VecDeque::new();
        let changes = config.changes.iter().map(|(_, change)| change.clone()).collect();
        Ok(Self {
            network,
            flows,
            francs,
            events,
            changes,
            wifi,
            sample_interval,
            outputs,
            has_space: true,
        })
    }

    /// Starts the coded links.
    pub fn start<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        let Self { network, francs, .. } = self;
        francs.start(now, Outside { network, sink });
        self.collect_wakes();
    }

    /// The next instant at which the driver must wake the hosts, and the reason.
    pub fn poll_timeout(&self) -> Option<(Instant, HostsReason)> {
        let by_events = self.events.next().unwrap_or(Instant::MAX);
        match self.network.due() {
            Instant::MAX if by_events == Instant::MAX => None,
            at if at <= by_events => Some((at, HostsReason::Network)),
            _ => Some((by_events, HostsReason::Event)),
        }
    }

    /// Accepts a packet of the driver at its source. Everything due before `now` must have been
    /// done ([`Hosts::step`]).
    pub fn handle_packet<S: Sink>(
        &mut self,
        now: Instant,
        packet: Packet,
        sink: &mut S,
        frames: Frames<'_>,
    ) {
        debug_assert!(is_drivers(&packet), "it has a tag of the machine's own");
        let notify = self.flows.entered(&packet);
        let packet = Packet { notify, ..packet };
        sink.sent(now, &packet);
        self.network.handle_packet(now, packet);
        self.drain(sink, frames);
        self.collect_wakes();
    }

    /// Returns the next end of a packet of the driver: it arrived, was dropped, or, for
    /// packets to [`Packet::EVERYWHERE`], its last copy has ended.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Whether any queue became shorter since the last call.
    pub fn take_space(&mut self) -> bool {
        core::mem::take(&mut self.has_space)
    }

    /// The backlog of a saturated flow of the kernel; `None` for other flows.
    pub fn backlog(&mut self, now: Instant, flow: FlowId) -> Option<Backlog> {
        self.flows.backlog(now, flow, &self.network)
    }

    /// Performs all steps due by `now`.
    pub fn handle_timeout<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        while self.step(now, sink, &|_| None).is_some() {}
    }

    /// Performs the next step due by `until` and returns its instant; `None` if nothing is due.
    /// `frames` returns the bytes of the driver's packets.
    pub fn step<S: Sink>(
        &mut self,
        until: Instant,
        sink: &mut S,
        frames: Frames<'_>,
    ) -> Option<Instant> {
        let by_network = self.network.due();
        let by_events = self.events.next().unwrap_or(Instant::MAX);
        let mut now = by_network.min(by_events);
        if now > until {
            return None;
        }
        if by_network <= by_events {
            let network = &mut self.network;
            network.advance(by_events.min(until));
            now = network.now();
            if !network.has_outputs() {
                debug_assert!(network.poll_event().is_none() && network.poll_output().is_none());
                return Some(now);
            }
        } else {
            self.handle_event(now, sink, frames);
        }
        self.drain(sink, frames);
        self.collect_wakes();
        Some(now)
    }

    /// Changes a setting of the radio of `node` from now on; `None` if it has no radio.
    ///
    /// # Errors
    /// Returns an [`AdjustError`] if the radio cannot have the setting.
    pub fn adjust(&mut self, node: NodeId, what: Adjustment) -> Option<Result<(), AdjustError>> {
        self.network.adjust(node, what)
    }

    /// Makes a change from `now` on. Everything due before must have been done ([`Hosts::step`]).
    ///
    /// # Errors
    /// Returns an [`AdjustError`] for a change that cannot be made; nothing is then changed.
    ///
    /// # Panics
    /// Panics if there is no such radio, link or wire, or if a wire is not
    /// [adjustable](lasthop_net::cable::CableConfig::adjustable).
    pub fn change<S: Sink>(
        &mut self,
        now: Instant,
        change: &Change,
        sink: &mut S,
        frames: Frames<'_>,
    ) -> Result<(), AdjustError> {
        self.network.change(now, change)?;
        self.drain(sink, frames);
        self.collect_wakes();
        Ok(())
    }

    /// Reports passive packets that have arrived by `now`; call it before you read counters.
    pub fn take_arrived<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        self.network.take_arrived(now);
        self.drain(sink, &|_| None);
    }

    /// The network, for its counters.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Whether all flows are measurements, and all of them are done.
    pub fn is_done(&self) -> bool {
        self.flows.is_done()
    }

    /// Ends the run at `now`: counts arrivals up to then, lets measurements and coded links report,
    /// and returns the counters of the network.
    pub fn finish<S: Sink>(&mut self, now: Instant, sink: &mut S) -> NetworkStats {
        if self.is_done() {
            self.francs.stop(now, sink);
            sink.ended(now);
            return self.network.stats(now);
        }
        self.network.take_arrived(now);
        self.drain(sink, &|_| None);
        self.flows.stop(now, sink);
        self.francs.stop(now, sink);
        self.network.stats(now)
    }

    fn handle_event<S: Sink>(&mut self, now: Instant, sink: &mut S, frames: Frames<'_>) {
        let Self { network, flows, francs, events, changes, .. } = self;
        match events.pop() {
            Event::Start(flow) | Event::Departure(flow) => {
                if let Some(at) = flows.depart(flow, now, network, sink) {
                    events.push(at, Event::Departure(flow));
                }
            }
            Event::Wake(wake) => flows.wake(wake, network, sink),
            Event::Franc(wake) => francs.wake(wake, Outside { network, sink }),
            Event::Sample => {
                network.take_arrived(now);
                self.drain(sink, frames);
                for &node in &self.wifi {
                    sink.queue(now, node, self.network.wifi_packets(node));
                }
                self.flows.sample(now, sink);
                self.events.push(now + self.sample_interval, Event::Sample);
            }
            Event::Change(index) => {
                let made = network.change(now, &changes[index]);
                debug_assert!(made.is_ok(), "it was tried before the run: {made:?}");
            }
            Event::Warm => {
                network.take_arrived(now);
                self.drain(sink, frames);
                self.network.clear_stats(now);
                self.francs.clear_stats(now);
            }
        }
    }

    /// Schedules the wake-ups that were asked for.
    fn collect_wakes(&mut self) {
        while let Some(wake) = self.flows.poll_wake() {
            self.events.push(wake.at, Event::Wake(wake));
        }
        while let Some(wake) = self.francs.poll_wake() {
            self.events.push(wake.at, Event::Franc(wake));
        }
    }

    /// Handles all outputs of the network at this instant.
    fn drain<S: Sink>(&mut self, sink: &mut S, frames: Frames<'_>) {
        let Self { network, flows, francs, outputs, has_space, .. } = self;
        loop {
            while let Some(event) = network.poll_event() {
                sink.take_event(event, frames);
            }
            let is_passive = network.poll_passive(|at, node, packet| {
                sink.arrived(at, node, packet);
                if is_drivers(packet) {
                    outputs.push_back(Output::Arrived { at, node, packet: *packet });
                }
            });
            if is_passive {
                continue;
            }
            if let Some(output) = network.poll_output() {
                match &output {
                    &Output::Arrived { at, node, ref packet } if is_groups(packet) => {
                        flows.ended_in_group(at, node, packet, None, sink);
                    }
                    &Output::Dropped { at, node, ref packet, reason } if is_groups(packet) => {
                        flows.ended_in_group(at, node, packet, Some(reason), sink);
                    }
                    &Output::Arrived { at, node, ref packet } => {
                        sink.arrived(at, node, packet);
                        match packet.flow {
                            _ if is_drivers(packet) => outputs.push_back(output),
                            FlowId::BACKGROUND => {}
                            FlowId::NONE => {
                                francs.arrived(at, node, packet, Outside { network, sink });
                            }
                            _ => flows.arrived(at, packet, network, sink),
                        }
                    }
                    &Output::Dropped { at, node, ref packet, reason } => {
                        sink.dropped(at, node, packet, reason);
                        match packet.flow {
                            _ if is_drivers(packet) => outputs.push_back(output),
                            FlowId::BACKGROUND => {}
                            FlowId::NONE => francs.dropped(at, packet, Outside { network, sink }),
                            _ => flows.dropped(packet),
                        }
                    }
                    &Output::Diverted { at, node, packet } => {
                        let content = if is_drivers(&packet) {
                            Content::Frame(frames(packet.tag))
                        } else {
                            Content::from_segment(flows.segment(&packet))
                        };
                        francs.diverted(at, node, packet, content, Outside { network, sink });
                    }
                    &Output::Overheard { at, node, ref packet } => {
                        if packet.flow == FlowId::NONE && !is_drivers(packet) {
                            francs.overheard(at, node, packet, Outside { network, sink });
                        }
                    }
                    Output::Released { tag } if *tag < DRIVER_TAGS => {}
                    Output::Released { .. } => outputs.push_back(output),
                    &Output::Left(released) => match released.flow {
                        FlowId::NONE => francs.released(released, Outside { network, sink }),
                        _ => flows.released(released, network, sink),
                    },
                    &Output::Space { node } => {
                        *has_space = true;
                        flows.refill(node, network, sink);
                    }
                }
            } else {
                return;
            }
        }
    }
}

/// Checks that every sender has a path to its receiver.
fn check_paths(config: &HostsConfig, network: &Network) -> Result<(), NetworkError> {
    let of_flows = config.flows.iter().chain(&config.background).map(|flow| (flow.from, flow.to));
    let of_links = config.francs.iter().flat_map(|link| {
        let first = link.nodes.first().map(|first| first.node);
        link.nodes.iter().filter_map(move |other| Some((first?, other.node)))
    });
    match of_flows.chain(of_links).find(|(from, to)| !network.joins(*from, *to)) {
        Some((from, to)) => Err(NetworkError::Unreachable(from.0, to.0)),
        None => Ok(()),
    }
}

/// Checks that all changes can be made, one after the other.
fn check_changes(changes: &[(Instant, Change)], network: &Network) -> Result<(), HostsError> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut tried = network.clone();
    for (at, change) in changes {
        // Nothing is on its way in it, so all may happen at its beginning.
        let made = tried.change(Instant::ZERO, change);
        made.map_err(|why| HostsError::Change { at: *at, why })?;
    }
    Ok(())
}

/// Whether the packet is of a flow of the model to the group.
#[inline]
fn is_groups(packet: &Packet) -> bool {
    packet.destination == Packet::EVERYWHERE && !is_drivers(packet)
}

/// Whether the packet is the driver's, which holds its bytes and gets an output at its end.
#[inline]
fn is_drivers(packet: &Packet) -> bool {
    packet.tag >= DRIVER_TAGS
}
