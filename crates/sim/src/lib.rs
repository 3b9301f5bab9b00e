//! The virtual clock: runs a scenario as fast as the machine allows, the same
//! result every time.
//!
//! One run is a pure function of scenario, seed and run number. Traffic sources
//! and the network are machines; this driver jumps from one wake-up to the
//! next and tells a [`Sink`] what happened. It writes no file and reads no clock.
//!
//! ```
//! use lasthop_hosts::sink::NoSink;
//! use lasthop_units::Seed;
//!
//! let text = r#"
//!     duration = "100ms"
//!     [[node]]
//!     name = "ap"
//!     role = "access-point"
//!     [[node]]
//!     name = "phone"
//!     role = "station"
//!     [[flow]]
//!     name = "down"
//!     from = "ap"
//!     to = "phone"
//!     kind = "udp"
//!     rate = "saturated"
//! "#;
//! let scenario = lasthop_scenario::parse("doc.toml", text, &[])?;
//! let stats = lasthop_sim::run(&scenario, Seed::new(1, 0), &mut NoSink, |_| {})?;
//! assert!(stats.links[0].2.mpdus_acked > 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod apq;
mod datagrams;
mod flows;
mod franc;
mod port;
mod queue;
mod tcp;
mod underway;

use flows::Flows;
use franc::{Francs, Outside};
use lasthop_hosts::Sink;
use lasthop_net::network::{Network, NetworkError, NetworkStats, Output};
use lasthop_packet::{FlowId, NodeId};
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, Seed};
use queue::{Event, EventQueue};

/// Why a scenario cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
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

/// Runs `scenario` with `seed` and returns the counters at its end, a warm-up
/// left out. A scenario of measurements ends when the last one is done
/// ([`Sink::ended`]). `progress` is told the virtual time now and then; returning is
/// the only way out, so a caller that wants to stop early panics or kills the
/// process.
///
/// # Errors
/// What [`SimError`] lists.
pub fn run<S: Sink>(
    scenario: &Scenario,
    seed: Seed,
    sink: &mut S,
    mut progress: impl FnMut(Instant),
) -> Result<NetworkStats, SimError> {
    let mut config = scenario.network_for(seed);
    if let Some(cell) = &mut config.cell {
        cell.record_events = sink.wants_events();
    }
    let mut network = Network::new(&config, seed)?;
    let end = Instant::ZERO + scenario.duration;
    let mut francs = Francs::new(scenario, &mut network, seed)?;
    let mut flows = Flows::new(scenario, &config, &network, seed)?;
    let mut events = EventQueue::default();
    for flow in flows::by_name(scenario) {
        events.push(scenario.flows[flow].start, Event::Start(flow));
    }
    events.push(Instant::ZERO, Event::Sample);
    if !scenario.warmup.is_zero() {
        events.push(Instant::ZERO + scenario.warmup, Event::Warm);
    }
    let wifi: Vec<NodeId> = (0..config.nodes.len())
        .filter(|index| config.nodes[*index].station.is_some())
        .map(|index| NodeId(index as u16))
        .collect();
    let last = end.saturating_sub(Duration::from_nanos(1));
    francs.start(Instant::ZERO, Outside { network: &mut network, sink });
    loop {
        while let Some(wake) = francs.poll_wake() {
            events.push(wake.at, Event::Franc(wake));
        }
        let by_network = network.due();
        let by_events = events.next().unwrap_or(Instant::MAX);
        let mut now = by_network.min(by_events);
        if now >= end {
            break;
        }
        // The network first: what arrives at this instant is there before
        // anything new is sent.
        if by_network <= by_events {
            network.advance(by_events.min(last));
            now = network.now();
            if !network.has_outputs() {
                debug_assert!(network.poll_event().is_none() && network.poll_output().is_none());
                debug_assert!(network.poll_released().is_none() && network.poll_room().is_none());
                continue;
            }
        } else {
            match events.pop() {
                Event::Start(flow) | Event::Departure(flow) => {
                    if let Some(at) = flows.depart(flow, now, &mut network, sink) {
                        events.push(at, Event::Departure(flow));
                    }
                }
                Event::Wake(wake) => flows.wake(wake, &mut network, sink),
                Event::Franc(wake) => {
                    francs.wake(wake, Outside { network: &mut network, sink });
                }
                Event::Sample => {
                    network.take_arrived(now);
                    drain(&mut network, &mut flows, &mut francs, sink);
                    for &node in &wifi {
                        sink.queue(now, node, network.wifi_packets(node));
                    }
                    flows.sample(now, sink);
                    events.push(now + scenario.series_interval, Event::Sample);
                    progress(now);
                }
                Event::Warm => {
                    network.take_arrived(now);
                    drain(&mut network, &mut flows, &mut francs, sink);
                    network.clear_stats(now);
                    francs.clear_stats(now);
                }
            }
        }
        drain(&mut network, &mut flows, &mut francs, sink);
        while let Some(wake) = flows.poll_wake() {
            events.push(wake.at, Event::Wake(wake));
        }
        if flows.is_done() {
            francs.stop(now, sink);
            sink.ended(now);
            return Ok(network.stats(now));
        }
    }
    network.take_arrived(end);
    drain(&mut network, &mut flows, &mut francs, sink);
    flows.stop(end, sink);
    francs.stop(end, sink);
    Ok(network.stats(end))
}

/// Takes everything out of the network until only a timeout is left.
fn drain<S: Sink>(network: &mut Network, flows: &mut Flows, francs: &mut Francs, sink: &mut S) {
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
