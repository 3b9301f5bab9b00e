//! The hosts of a network: flows and coded links that start and end there, under both
//! clocks.
//!
//! | module | content |
//! |---|---|
//! | [`config`] | the configuration of flows and coded links |
//! | [`hosts`] | hosts and their network as one machine |
//! | `flows` | senders and receivers of all flows: `datagrams`, `tcp`, `apq` |
//! | `receive_offload` | segments that reach TCP as one |
//! | `saturation` | number of packets that a saturated flow keeps in its queue |
//! | `franc` | coded links between nodes |
//! | `fetching` | the connections of a flow whose reader fetches objects |
//! | [`web`], [`player`] | a reader of web pages, a player of streamed video |
//! | [`playout`], [`e_model`] | jitter buffer of a call, and the rating of its quality |
//! | [`traffic`] | sources that pace simulated flows and real sockets alike |
//! | [`sink`] | the trait to which a driver reports events |
//!
//! `sim` and `emulate` must not depend on each other, but both need flows, endpoints and their
//! network. These are pure machines, driven as one, [`Hosts`]. Under `emulate`, packets of a
//! kernel's flows and of programs enter by [`Hosts::handle_packet`] with tags of the driver, which
//! keeps their bytes, and leave by [`Hosts::poll_output`].
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod apq;
pub mod config;
mod datagrams;
pub mod e_model;
mod events;
mod fetching;
mod flows;
mod franc;
pub mod hosts;
mod in_flight;
pub mod player;
pub mod playout;
mod port;
mod receive_offload;
mod saturation;
pub mod sink;
mod tcp;
#[cfg(test)]
mod tests;
pub mod traffic;
pub mod web;

pub use config::{
    ApqFlow, Endpoints, Flow, FlowKind, FrancLink, FrancMachine, FrancNode, FrancOutage, FrancPart,
    TcpApplication, TcpFlow,
};
pub use hosts::{DRIVER_TAGS, Hosts, HostsConfig, HostsError};
pub use in_flight::connection_of;
pub use player::{StreamConfig, StreamEvent};
pub use playout::CallConfig;
pub use receive_offload::ReceiveOffload;
pub use saturation::Backlog;
pub use sink::{
    ApqEnding, FrameDirection, FrancLinkChange, FrancNodeReport, FrancReport, ProgramFlow,
    ProgramsLeftOut, Sink, TcpSample,
};
pub use traffic::{Source, SourceConfig};
pub use web::{Page, WebConfig};
