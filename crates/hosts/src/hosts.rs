//! The hosts and their network as one machine: who sends what at a wake-up, when there is
//! room, and in answer to what arrives.
//!
//! Under a clock in real time some flows belong to a kernel's sockets, and programs have flows
//! of their own. Their packets enter by [`Hosts::handle_packet`], have tags from
//! [`DRIVER_TAGS`] on, and leave by [`Hosts::poll_output`].
//!
//! The machine tells a [`Sink`] what happens, at the instant at which it does, so whoever
//! drives it passes one in. Events of one instant happen in the order in which they were asked
//! for; what arrives at an instant is there before anything new is sent.

use crate::config::{Endpoints, Flow, FrancLink};
use crate::events::{Event, EventQueue};
use crate::flows::{self, Flows};
use crate::franc::{Content, Francs, Outside};
use crate::saturation::Backlog;
use crate::sink::{Frames, Sink};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use lasthop_net::network::{Network, NetworkConfig, NetworkError, NetworkStats, Output};
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Identity, Instant, Seed};

/// Tags of a driver's packets are no less than this; those of the machine's own are.
pub const DRIVER_TAGS: u64 = 1 << 63;

/// Why there cannot be such hosts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HostsError {
    /// The network is unsound.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A coded link is unsound.
    #[error("coded link {link:?}: {why}")]
    Franc {
        /// The link.
        link: String,
        /// Why.
        why: lasthop_franc::ConfigError,
    },
    /// A congestion control that only a kernel has.
    #[error(
        "flow {flow:?}: the model has the congestion controls \"cubic\" and \"reno\", \
         not {name:?}; `emulate` takes what the kernel has where endpoints = \"kernel\""
    )]
    CongestionControl {
        /// The flow.
        flow: String,
        /// What was asked for.
        name: String,
    },
}

/// What begins and ends at the nodes of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct HostsConfig {
    /// Whose random streams the nodes draw from, by [`NodeId`].
    pub nodes: Vec<Identity>,
    /// The flows, by [`FlowId`].
    pub flows: Vec<Flow>,
    /// The coded links.
    pub francs: Vec<FrancLink>,
    /// No flow sends from here on.
    pub end: Instant,
    /// When counters begin anew; zero: never.
    pub warmup: Duration,
    /// Time between two readings of queues and windows.
    pub sample_interval: Duration,
}

/// Why [`Hosts`] want to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostsReason {
    /// Something is due in the network.
    Network,
    /// A flow or a coded link sends, or has a timer; queues are read.
    Event,
}

/// Hosts and their network.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    network: Network,
    flows: Flows,
    francs: Francs,
    events: EventQueue,
    /// The nodes with Wi-Fi queues.
    wifi: Vec<NodeId>,
    sample_interval: Duration,
    /// What became of the driver's packets.
    outputs: VecDeque<Output>,
    /// Some queue got shorter since the driver asked last.
    room: bool,
}

impl Hosts {
    /// Hosts at the beginning of time; [`Hosts::start`] comes next.
    ///
    /// # Errors
    /// What [`HostsError`] lists.
    pub fn new(
        config: &HostsConfig,
        network_config: &NetworkConfig,
        seed: Seed,
    ) -> Result<Self, HostsError> {
        let mut network = Network::new(network_config, seed)?;
        let francs = Francs::new(config, &mut network, seed)?;
        let flows = Flows::new(config, network_config, &network, seed)?;
        let mut events = EventQueue::default();
        for flow in flows::by_name(&config.flows) {
            if config.flows[flow].endpoints == Endpoints::Model {
                events.push(config.flows[flow].start, Event::Start(flow));
            }
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
        Ok(Self { network, flows, francs, events, wifi, sample_interval, outputs, room: true })
    }

    /// The coded links begin.
    pub fn start<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        let Self { network, francs, .. } = self;
        francs.start(now, Outside { network, sink });
        self.collect_wakes();
    }

    /// The next instant at which the hosts must be woken, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, HostsReason)> {
        let by_events = self.events.next().unwrap_or(Instant::MAX);
        match self.network.due() {
            Instant::MAX if by_events == Instant::MAX => None,
            at if at <= by_events => Some((at, HostsReason::Network)),
            _ => Some((by_events, HostsReason::Event)),
        }
    }

    /// A packet of the driver enters at its source; whatever was due before has been done
    /// ([`Hosts::step`]).
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

    /// What became of the driver's packets: they arrived, were dropped, or (of packets for
    /// [`Packet::EVERYWHERE`]) are gone.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Some queue got shorter since this was last asked.
    pub fn take_room(&mut self) -> bool {
        core::mem::take(&mut self.room)
    }

    /// How a saturated flow whose endpoints are the kernel's stands; `None` for all others.
    pub fn backlog(&mut self, now: Instant, flow: FlowId) -> Option<Backlog> {
        self.flows.backlog(now, flow, &self.network)
    }

    /// Does whatever is due at `now`; nothing if nothing is.
    pub fn handle_timeout<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        while self.step(now, sink, &|_| None).is_some() {}
    }

    /// Does the next thing that is due by `until`, and says when it was; `None` if nothing is.
    /// `frames` gives the bytes of the driver's packets.
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
                debug_assert!(network.poll_released().is_none() && network.poll_room().is_none());
                return Some(now);
            }
        } else {
            self.handle_event(now, sink, frames);
        }
        self.drain(sink, frames);
        self.collect_wakes();
        Some(now)
    }

    /// All flows are measurements, and all are done.
    pub fn is_done(&self) -> bool {
        self.flows.is_done()
    }

    /// Everything ends at `now`: what has arrived by then is counted, and measurements and
    /// coded links report.
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
        let Self { network, flows, francs, events, .. } = self;
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
            Event::Warm => {
                network.take_arrived(now);
                self.drain(sink, frames);
                self.network.clear_stats(now);
                self.francs.clear_stats(now);
            }
        }
    }

    /// Books the wake-ups that were asked for.
    fn collect_wakes(&mut self) {
        while let Some(wake) = self.flows.poll_wake() {
            self.events.push(wake.at, Event::Wake(wake));
        }
        while let Some(wake) = self.francs.poll_wake() {
            self.events.push(wake.at, Event::Franc(wake));
        }
    }

    /// Takes everything out of the network until only a timeout is left.
    fn drain<S: Sink>(&mut self, sink: &mut S, frames: Frames<'_>) {
        let Self { network, flows, francs, outputs, room, .. } = self;
        loop {
            while let Some(event) = network.poll_event() {
                sink.event(&event, frames);
            }
            if let Some(output) = network.poll_output() {
                match &output {
                    &Output::Arrived { at, node, ref packet } => {
                        sink.arrived(at, node, packet);
                        match packet.flow {
                            _ if is_drivers(packet) => outputs.push_back(output),
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
                            FlowId::NONE => francs.dropped(at, packet, Outside { network, sink }),
                            _ => flows.dropped(packet),
                        }
                    }
                    &Output::Diverted { at, node, packet } => {
                        let content = match is_drivers(&packet) {
                            true => Content::Frame(frames(packet.tag)),
                            false => Content::of(flows.segment(&packet)),
                        };
                        francs.diverted(at, node, packet, content, Outside { network, sink });
                    }
                    &Output::Overheard { at, node, ref packet } => {
                        if packet.flow == FlowId::NONE && !is_drivers(packet) {
                            francs.overheard(at, node, packet, Outside { network, sink });
                        }
                    }
                    Output::Released { .. } => outputs.push_back(output),
                }
            } else if let Some(released) = network.poll_released() {
                match released.flow {
                    FlowId::NONE => francs.released(released, Outside { network, sink }),
                    _ => flows.released(released, network, sink),
                }
            } else if let Some(node) = network.poll_room() {
                *room = true;
                flows.refill(node, network, sink);
            } else {
                return;
            }
        }
    }
}

/// The driver has its bytes, and wants to hear of its end.
#[inline]
fn is_drivers(packet: &Packet) -> bool {
    packet.tag >= DRIVER_TAGS
}
