//! Reads and analyses captures of 802.11: from the frames of a monitor interface to the problems of
//! the link, in sentences. The authors of the `scan` paper did such an analysis by hand with a
//! protocol analyser (Figs. 3-5, 7-10).
//!
//! | module | content |
//! |---|---|
//! | [`file`](mod@file) | pcap and pcapng, packet by packet, from any reader |
//! | [`link`] | headers in front of a frame: radiotap, AVS, PPI, Ethernet |
//! | [`rate`] | PHY rates and times on the air |
//! | [`air`] | stations, PPDUs, exchanges, absences, beacons |
//! | [`decrypt`] | decryption of WPA2-PSK |
//! | [`transport`] | flows of TCP and UDP |
//! | [`analysis`] | the whole analysis by interface, and malformed packets |
//! | [`series`] | values by second |
//! | [`join`] | several simultaneous captures: clocks, and the way of each TCP segment |
//! | [`finding`] | problems of the link, in sentences |
//! | [`document`] | all results as JSON |
//! | [`measured`] | a capture beside simulated runs |
//! | [`live`] | readings of a running analysis |
//!
//! The crate writes no file and reads no clock. No content of a file makes it panic.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the document, for the test that
//! compares the kept JSON Schema, `schemas`, with it.
//!
//! | addition | place |
//! |---|---|
//! | a cipher or an AKM | `decrypt`, with a foreign capture in `tests/data` |
//! | a header before frames | `link` |
//! | a finding | `finding`, with a test in `tests/truth`; evidence of several captures: `join` |
//! | state that grows with a capture | a bound beside it, a row in `docs/capture.md`, a test in `tests/bounds.rs` |
//! | a view of a live capture | the quantity in `live`, its drawing in the command |
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

pub mod air;
pub mod analysis;
pub mod decrypt;
pub mod document;
pub mod file;
pub mod finding;
pub mod frame;
pub mod join;
mod limits;
pub mod link;
pub mod live;
pub mod measured;
mod numbers;
pub mod rate;
mod rounding;
pub mod series;
mod sighting;
pub mod transport;
