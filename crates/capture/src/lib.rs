//! Captures of 802.11, read and analysed: from the frames that a monitor interface heard to
//! what is wrong with the link, in sentences. What the authors of the `scan` paper did by hand
//! with a protocol analyser (Figs. 3-5, 7-10), for any capture.
//!
//! | module | content |
//! |---|---|
//! | [`file`](mod@file) | pcap and pcapng, packet by packet, from anything that can be read |
//! | [`link`] | radiotap, AVS, PPI, Ethernet: what stands in front of a frame |
//! | [`rate`] | PHY rates and times on the air |
//! | [`air`] | stations, PPDUs, exchanges, absences, beacons |
//! | [`decrypt`] | WPA2-PSK opened |
//! | [`transport`] | flows of TCP and UDP |
//! | [`analysis`] | all of it, interface by interface, and what is malformed |
//! | [`series`] | values by second |
//! | [`join`] | several captures of one moment: clocks, and the way of each segment of TCP |
//! | [`finding`] | what is wrong with the link, in sentences |
//! | [`document`] | all of it as JSON |
//! | [`live`] | readings of an analysis that goes on |
//!
//! Nothing here writes a file or reads a clock. Nothing panics, whatever a file holds.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the document, for the test that
//! compares the kept JSON Schema, `schemas`, with it.

#![forbid(unsafe_code)]

pub mod air;
pub mod analysis;
pub mod decrypt;
pub mod document;
pub mod file;
pub mod finding;
pub mod frame;
pub mod join;
pub mod link;
pub mod live;
mod numbers;
pub mod rate;
pub mod series;
pub mod transport;
