//! Everything around the Wi-Fi cell that both drivers share, as pure machines.
//!
//! | module | what it is |
//! |---|---|
//! | [`sink`] | whom a driver tells what happened |
//!
//! `sim` runs these under the virtual clock, `live` under the wall clock.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod sink;

pub use sink::{FrameDirection, NodeId, Sink, TcpSample};
