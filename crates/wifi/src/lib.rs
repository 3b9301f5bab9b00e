//! IEEE 802.11 as pure state machines, up to a whole cell.
//!
//! The layers, bottom up:
//!
//! | module | responsibility |
//! |---|---|
//! | [`phy`] | rates, PPDU durations, error model, channel: the crate `lasthop-wifi-phy` |
//! | [`wire`] | frames and radiotap headers as bytes: the crate `lasthop-wifi-wire` |
//! | [`config`] | configuration of a cell: channel, stations, links |
//! | [`mac`] | channel access, aggregation, Block Ack, retries, rate control |
//! | [`cell`] | stations and the air between them as one machine |
//! | [`medium`] | the same air between radios whose MAC is outside |
//! | [`capabilities`] | what a station can send and receive |
//!
//! Machines exchange [`Packet`](lasthop_packet::Packet)s and report [`event`]s. The caller passes
//! the time and the random streams; the crate does no I/O.
//!
//! Abilities of a station are data ([`Capabilities`]), never inferred.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod air;
pub mod capabilities;
pub mod cell;
pub mod config;
pub mod event;
pub mod mac;
pub mod medium;
pub mod station;
pub mod stats;

pub use lasthop_wifi_phy as phy;
pub use lasthop_wifi_wire as wire;

pub use capabilities::{Capabilities, Generation};
pub use station::{Address, BssId, StationId};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
