//! IEEE 802.11 as pure state machines, from the bits up to a whole cell.
//!
//! The layers, bottom up:
//!
//! | module | what it is |
//! |---|---|
//! | [`wire`] | frames and radiotap headers as bytes |
//! | [`phy`] | rates, PPDU durations, error model, channel |
//! | [`mac`] | channel access, aggregation, Block Ack, retries, rate control |
//! | [`cell`] | stations and the air between them as one machine |
//! | [`medium`] | the same air between radios whose MAC is outside |
//! | [`capabilities`] | what a station can send and receive |
//!
//! A [`Packet`](lasthop_packet::Packet) is what travels, [`event`] is what can be observed.
//! Time is an argument, randomness a stream passed in; nothing here does I/O.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod air;
pub mod capabilities;
pub mod cell;
pub mod event;
pub mod mac;
pub mod medium;
pub mod phy;
pub mod station;
pub mod stats;
pub mod wire;

pub use capabilities::{Capabilities, Generation};
pub use station::{Address, BssId, StationId};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
