//! Packets as every machine sees them, whatever carries them.
//!
//! | module | what it is |
//! |---|---|
//! | [`packet`] | the packet: sizes, stamps, where its time went, a driver's handle |
//! | [`drop_reason`] | why a packet was given up |
//! | [`ip`] | IP headers as bytes: flows, ECN, the Internet checksum |
//! | [`queue`] | queues for several next hops: drop-tail, CoDel, FQ-CoDel, eBDP, a driver's |
//! | [`aqm`] | active queue management for any kind of packet: CoDel, flow queueing |
//!
//! No protocol is known here and nothing does I/O.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod aqm;
pub mod drop_reason;
pub mod ip;
pub mod packet;
pub mod queue;

pub use drop_reason::DropReason;
pub use packet::{
    AccessCategory, DelayParts, FlowId, Fragment, NodeId, Packet, Released, Transport,
};
