//! Everything around the Wi-Fi cell that both drivers share, as pure machines.
//!
//! | module | what it is |
//! |---|---|
//! | [`wire`] | one direction of a wired link |
//! | [`loss`] | how it loses packets |
//! | [`fragment`] | how IPv4 cuts long packets and puts them together |
//! | [`traffic`] | sources that pace simulated flows and real sockets alike |
//! | [`network`] | nodes, wires and a cell as one machine |
//! | [`sink`] | whom a driver tells what happened |
//!
//! `sim` runs these under the virtual clock, `live` under the wall clock.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod fragment;
pub mod loss;
pub mod network;
pub mod sink;
pub mod traffic;
mod transmitter;
pub mod wire;

pub use loss::Loss;
pub use network::{Network, NetworkConfig};
pub use sink::{
    ApqEnding, FrameDirection, FrancNodeReport, FrancReport, ProgramFlow, ProgramsLeftOut, Sink,
    TcpSample,
};
pub use traffic::{Source, SourceConfig};
pub use transmitter::RateChange;
pub use wire::{Jitter, Wire, WireConfig};
