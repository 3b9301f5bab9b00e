//! TCP endpoints that behave like Linux: the segments that they send, the timing, and the reactions
//! to losses, as state machines without payload bytes.
//!
//! Sequence numbers are offsets into the byte stream (64 bits, no wrap-around); SYN and FIN take
//! one byte each, as on the wire. Windows are in segments inside the sender, as in Linux, and in
//! bytes on the wire. Each file lists the parts that it leaves out, as does docs/not-modelled.md.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod accurate_ecn;
pub mod application;
mod config;
pub mod congestion;
mod delivery_rate;
mod endpoint;
mod metrics;
mod pacing;
pub mod prr;
mod rack;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod small_queues;
#[cfg(test)]
mod tests;
pub mod validation;
pub mod wire;

pub use config::{
    Config, CongestionControlKind, DelayedAck, HyStart, Pacing, SmallQueues, WindowValidation,
};
pub use endpoint::{Endpoint, Reason};
pub use metrics::Ending;
pub use recovery::Recovery;
pub use segment::{HEADER_BYTES, SackBlock, Segment};
pub use sender::State;
pub use small_queues::PACKET_OVERHEAD_BYTES;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
