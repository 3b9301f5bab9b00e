//! Packets as all machines see them, independent of the link that carries them.
//!
//! | module | contents |
//! |---|---|
//! | [`packet`] | the packet: lengths, timestamps, the parts of its delay, a driver's handle |
//! | [`drop_reason`] | reasons for dropped packets |
//! | [`ip`] | IP headers as bytes: flows, ECN, the Internet checksum |
//! | [`transport`] | headers of TCP, UDP and ICMP as bytes |
//! | [`queue`] | queues for several next hops: drop-tail, CoDel, FQ-CoDel, eBDP, DualPI2, CAKE, a driver's |
//! | [`aqm`] | active queue management for packets of any kind: CoDel, flow queueing |
//!
//! Lengths are in bytes, times in nanoseconds since the start of a run. The crate implements no
//! protocol above IP and does no I/O.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod aqm;
pub mod drop_reason;
pub mod ip;
pub mod packet;
pub mod queue;
pub mod transport;

pub use drop_reason::DropReason;
pub use packet::{
    Absent, AccessCategory, DelayParts, FlowId, Fragment, NodeId, Packet, Released, Transport,
};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
