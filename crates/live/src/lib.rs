//! Real programs and the kernel's real TCP over the modelled hop, in real time.
//!
//! | module | contents |
//! |---|---|
//! | [`emulate`](mod@emulate) | one emulation from beginning to end |
//! | [`hop`] | the network in real time: frames in, frames out |
//! | `session` | the driver of an emulation's loop |
//! | `jobs` | the programs that run in the nodes |
//! | `layout` | names and addresses of the nodes |
//! | `outside` | the ways between the nodes and the machine |
//! | `programs` | the flows of programs, numbered |
//! | `saturation` | the packets that saturated flows may send |
//! | `traffic` | the scenario's flows as real traffic |
//! | [`apq`] | a queue measured on real networks: both hosts |
//! | [`franc`] | a coded link on real networks: the daemon of every node |
//! | [`frame`] | the facts that the machines need of an Ethernet frame |
//! | `frames` | the frames in flight |
//! | [`medium`](mod@medium) | the kernel's simulated radios on the modelled air |
//! | [`message`] | netlink messages as bytes |
//! | [`monitor`] | datagrams of a coded link in the frames of a monitor interface |
//! | [`offload`] | packets that a TUN device passes together: segmented, coalesced |
//! | [`os`] | every system call |
//!
//! The machines are those of `sim`; this crate adds none. Each loop is a driver of
//! [`os::event_loop`].

#![cfg(target_os = "linux")]

pub mod apq;
pub mod control;
pub mod emulate;
mod error;
pub mod frame;
mod frames;
pub mod franc;
pub mod hop;
mod jobs;
mod layout;
pub mod medium;
pub mod message;
pub mod monitor;
pub mod offload;
pub mod os;
mod outside;
mod programs;
mod saturation;
mod session;
mod traffic;

pub use emulate::{
    EmulateOptions, EmulateOutcome, ProgramEnd, ProgramOutcome, Say, emulate, host_names,
};
pub use error::EmulateError;
pub use os::clock::Scheduling;
pub use os::device::DeviceChoice;
pub use os::forward::Passed;
pub use outside::{MACHINE_NAME, OutsideOptions, Published, Way};
pub use session::TICK;
