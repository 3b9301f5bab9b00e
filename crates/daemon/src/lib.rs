//! lasthop on real networks: the drivers of machines whose hosts are real.
//!
//! | module | contents | feature |
//! |---|---|---|
//! | [`franc`] | the daemon of a coded link's node | `franc` |
//! | [`monitor`] | datagrams of a coded link in the frames of a monitor interface | `monitor` |
//! | [`apq`] | a queue measured: both hosts | `apq` |
//!
//! The crate adds no machine. Each loop is a driver of [`lasthop_linux::event_loop`]. A router's
//! build of the coded link has the feature `franc` alone.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

#[cfg(feature = "apq")]
pub mod apq;
#[cfg(feature = "franc")]
pub mod franc;
#[cfg(feature = "monitor")]
pub mod monitor;
