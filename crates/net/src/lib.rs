//! The network around the Wi-Fi cell, as pure machines.
//!
//! | module | content |
//! |---|---|
//! | [`cable`] | one direction of a wired link |
//! | [`loss`] | losses of a wire that do not depend on the load |
//! | [`fragment`] | IPv4 fragmentation and reassembly |
//! | [`network`] | nodes, wires and a cell as one machine |
//!
//! `sim` runs these machines under a virtual clock, `emulate` under the wall clock.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod cable;
pub mod fragment;
pub mod loss;
pub mod network;
mod transmitter;

pub use cable::{Cable, CableConfig, Jitter};
pub use loss::Loss;
pub use network::{Network, NetworkConfig};
pub use transmitter::RateChange;
