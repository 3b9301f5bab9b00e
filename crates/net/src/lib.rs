//! Everything around the Wi-Fi cell that both drivers share, as pure machines.
//!
//! | module | what it is |
//! |---|---|
//! | [`cable`] | one direction of a wired link |
//! | [`loss`] | how it loses packets |
//! | [`fragment`] | how IPv4 cuts long packets and puts them together |
//! | [`network`] | nodes, wires and a cell as one machine |
//!
//! `sim` runs these under the virtual clock, `live` under the wall clock.

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
