//! Real programs and the kernel's real TCP over the modelled hop, in real time.
//!
//! | module | contents |
//! |---|---|
//! | [`emulate`](mod@emulate) | one emulation from beginning to end |
//! | [`hop`] | the network in real time: frames in, frames out |
//! | `session` | the driver of an emulation's loop |
//! | `jobs` | the programs that run in the nodes |
//! | `layout` | names and addresses of the nodes |
//! | `options` | the options of an emulation |
//! | `outside` | the ways between the nodes and the machine |
//! | `programs` | the flows of programs, numbered |
//! | `saturation` | the packets that saturated flows may send |
//! | `traffic` | the scenario's flows as real traffic |
//! | [`frame`] | the facts that the machines need of an Ethernet frame |
//! | `frames` | the frames in flight |
//!
//! The machines are those of `sim`; this crate adds none. Each loop is a driver of
//! [`lasthop_linux::event_loop`].
//!
//! A change of a running emulation belongs to `lasthop_scenario::evolving` (its state), `control`
//! (its time) and `lasthop_linux::door` (permissions); knobs are in `lasthop_scenario::knobs`.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod control;
pub mod emulate;
mod error;
pub mod frame;
mod frames;
pub mod hop;
mod jobs;
mod layout;
mod options;
mod outside;
mod programs;
mod saturation;
mod session;
mod traffic;

pub use emulate::{EmulateOutcome, emulate, host_names};
pub use error::EmulateError;
pub use jobs::{ProgramEnd, ProgramOutcome};
pub use lasthop_linux::clock::Scheduling;
pub use lasthop_linux::device::DeviceChoice;
pub use lasthop_linux::forward::Passed;
pub use layout::MACHINE_NAME;
pub use options::{EmulateOptions, OutsideOptions, Published, Say};
pub use outside::Way;
pub use session::TICK;
