//! FRANC: a reliable link for IP packets with network coding (paper `franc`), as state machines.
//! Their arguments are the time and random streams; they do no I/O.
//!
//! | module | contents |
//! |---|---|
//! | [`config`] | a node's role, code, keys and parameters |
//! | [`wire`] | the datagrams as bytes: ENC, ACK and HELLO |
//! | `agreement` | the parameters that both ends share, and their digest |
//! | [`budget`] | the number of packets that source and helper send (PlayNCool) |
//! | [`backlog`] | packets that wait to be coded: flow queueing, controlled delay |
//! | [`coded`] | a combination with its own memory |
//! | [`paper`] | encoder and helper as in the paper, one block after the other |
//! | [`node`] | a node of any role: a machine with packets on one side, datagrams on the other |
//! | `sender`, `receiver` | lasthop's scheme: several blocks in flight, repairs by losses and ranks |
//! | `hop`, `pace` | the path to a neighbour: datagrams in flight, losses, round-trip time, rate |
//! | `symbol`, `headers` | the content of a symbol: packets, with compressed headers |
//! | `order` | delivery of packets in order within their flow |
//! | `keys`, [`secret`] | authentication and encryption; keys and their derivation |
//! | [`address`] | the address of a datagram |
//! | [`stats`] | the counters of a node |
//!
//! | addition | place |
//! |---|---|
//! | a counter | [`stats`], and its line in the documents of `lasthop-franc-node` |
//! | a rule of the handshake | `node` (`handshake`, `addresses`, `sessions`), an attack in `node/tests/attacks.rs`, both models in `models/` |
//!
//! A link has two ends. Each takes IP packets and delivers those of the other end,
//! once, unchanged and in order within their flow. Between the ends there may be
//! recoders and forwarders, and helpers on each hop. Losses are named as in
//! PlayNCool: `e1` from source to helper, `e2` from helper to destination, `e3`
//! from source to destination.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod address;
mod agreement;
pub mod backlog;
pub mod budget;
pub mod coded;
pub mod config;
mod headers;
mod keys;
pub mod node;
mod order;
mod pace;
pub mod paper;
mod path_mtu;
mod path_state;
mod receiver;
pub mod secret;
mod sender;
pub mod stats;
mod symbol;
pub mod wire;

pub use address::Address;
pub use agreement::CodeParameters;
pub use coded::{Coded, CodedVector};
pub use config::{Config, ConfigError, Role};
pub use keys::hop_key;
pub use node::{Event, Heard, Node, Reason, Transmit, Unanswered};
pub use secret::{Entropy, Secret};
pub use stats::Stats;
pub use wire::NodeId;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
