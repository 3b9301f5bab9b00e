//! FRANC: a reliable link for packets that are coded over a network (paper `franc`),
//! as machines: they are told the time, draw from a stream and do no I/O.
//!
//! | module | what it is |
//! |---|---|
//! | [`config`] | a node's role, code, keys and parameters |
//! | [`wire`] | the datagrams as bytes: ENC, ACK and HELLO |
//! | [`budget`] | how much source and helper send (PlayNCool) |
//! | [`backlog`] | packets that wait to be coded: flow queueing, controlled delay |
//! | [`coded`] | a combination that owns its bytes |
//! | [`paper`] | encoder and helper as in the paper, one block after another |
//! | [`node`] | a node of any role: a machine with packets on one side, datagrams on the other |
//! | `sender`, `receiver` | ours: several blocks in flight, repairs as losses and ranks ask for |
//! | `hop`, `pace` | the way to a neighbour: what is in flight, losses, round trip, rate |
//! | `symbol`, `headers` | what is in a symbol: packets, without what their flow's last one said |
//! | `order` | packets in order within their flow |
//! | `keys`, [`secret`] | who may speak, who may read; keys and where they come from |
//! | [`address`] | where a datagram came from |
//! | [`stats`] | what a node counted |
//!
//! A link has two ends. Both take IP packets in and give them out, each once, unchanged
//! and in order within its flow. Between the ends there may be recoders and forwarders,
//! beside each hop helpers. Losses are named as in PlayNCool: `e1` from source to helper,
//! `e2` from helper to destination, `e3` from source to destination.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod address;
pub mod backlog;
pub mod budget;
pub mod coded;
pub mod config;
mod headers;
mod hop;
mod keys;
pub mod node;
mod order;
mod pace;
pub mod paper;
mod path_mtu;
mod receiver;
pub mod secret;
mod sender;
pub mod stats;
mod symbol;
pub mod wire;

pub use address::Address;
pub use coded::{Coded, CodedVector};
pub use config::{Config, ConfigError, Role};
pub use keys::hop_key;
pub use node::{Event, Heard, Node, Reason, Transmit};
pub use secret::{Entropy, Secret};
pub use stats::Stats;
pub use wire::NodeId;
