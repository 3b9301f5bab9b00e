//! The hosts and their network as one machine: who sends what at a wake-up, when there is
//! room, and in answer to what arrives.
//!
//! The machine tells a [`Sink`] what happens, at the instant at which it does, so whoever
//! drives it passes one in. Events of one instant happen in the order in which they were asked
//! for; what arrives at an instant is there before anything new is sent.

use crate::config::{Flow, FrancLink};
use crate::events::{Event, EventQueue};
use crate::flows::{self, Flows};
use crate::franc::{Francs, Outside};
use crate::sink::Sink;
use alloc::string::String;
use alloc::vec::Vec;
use lasthop_net::network::{Network, NetworkConfig, NetworkError, NetworkStats, Output};
use lasthop_packet::{FlowId, NodeId};
use lasthop_units::{Duration, Identity, Instant, Seed};

/// Why there cannot be such hosts.
#[derive(Debug, thiserror::Error)]
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
        "flow {flow:?}: virtual time has the congestion controls \"cubic\" and \"reno\", \
         not {name:?}; `emulate` takes what the kernel has"
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
            events.push(config.flows[flow].start, Event::Start(flow));
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
        Ok(Self { network, flows, francs, events, wifi, sample_interval })
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

    /// Does whatever is due at `now`; nothing if nothing is.
    pub fn handle_timeout<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        while self.step(now, sink).is_some() {}
    }

    /// Does the next thing that is due by `until`, and says when it was; `None` if nothing is.
    pub fn step<S: Sink>(&mut self, until: Instant, sink: &mut S) -> Option<Instant> {
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
            self.handle_event(now, sink);
        }
        self.drain(sink);
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
        self.drain(sink);
        self.flows.stop(now, sink);
        self.francs.stop(now, sink);
        self.network.stats(now)
    }

    fn handle_event<S: Sink>(&mut self, now: Instant, sink: &mut S) {
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
                self.drain(sink);
                for &node in &self.wifi {
                    sink.queue(now, node, self.network.wifi_packets(node));
                }
                self.flows.sample(now, sink);
                self.events.push(now + self.sample_interval, Event::Sample);
            }
            Event::Warm => {
                network.take_arrived(now);
                self.drain(sink);
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
    fn drain<S: Sink>(&mut self, sink: &mut S) {
        let Self { network, flows, francs, .. } = self;
        loop {
            while let Some(event) = network.poll_event() {
                sink.event(&event, &|_| None);
            }
            if let Some(output) = network.poll_output() {
                match &output {
                    &Output::Arrived { at, node, ref packet } => {
                        sink.arrived(at, node, packet);
                        match packet.flow {
                            FlowId::NONE => {
                                francs.arrived(at, node, packet, Outside { network, sink });
                            }
                            _ => flows.arrived(at, packet, network, sink),
                        }
                    }
                    &Output::Dropped { at, node, ref packet, reason } => {
                        sink.dropped(at, node, packet, reason);
                        match packet.flow {
                            FlowId::NONE => francs.dropped(at, packet, Outside { network, sink }),
                            _ => flows.dropped(packet),
                        }
                    }
                    &Output::Diverted { at, node, packet } => {
                        let segment = flows.segment(&packet);
                        francs.diverted(at, node, packet, segment, Outside { network, sink });
                    }
                    &Output::Overheard { at, node, ref packet } => {
                        if packet.flow == FlowId::NONE {
                            francs.overheard(at, node, packet, Outside { network, sink });
                        }
                    }
                    Output::Released { .. } => {}
                }
            } else if let Some(released) = network.poll_released() {
                match released.flow {
                    FlowId::NONE => francs.released(released, Outside { network, sink }),
                    _ => flows.released(released, network, sink),
                }
            } else if let Some(node) = network.poll_room() {
                flows.refill(node, network, sink);
            } else {
                return;
            }
        }
    }
}
