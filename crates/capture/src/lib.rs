//! Captures of 802.11, read and analysed: from the frames that a monitor interface heard to
//! what is wrong with the link, in sentences. What the authors of the `scan` paper did by hand
//! with a protocol analyser (Figs. 3-5, 7-10), for any capture.
//!
//! | module | content |
//! |---|---|
//! | [`file`](mod@file) | pcap and pcapng, packet by packet, from anything that can be read |
//! | [`link`] | radiotap, AVS, PPI, Ethernet: what stands in front of a frame |
//! | [`rate`] | PHY rates and times on the air |
//! | [`seconds`] | quantities by second, of the latest hours |
//! | [`air`] | stations, PPDUs, exchanges, absences, beacons |
//! | [`transport`] | flows of TCP and UDP |
//! | [`analysis`] | all of it, and what is malformed |
//! | [`finding`] | what is wrong with the link, in sentences |
//! | [`document`] | all of it as JSON |
//! | [`live`] | readings of an analysis that goes on |
//!
//! Nothing here writes a file or reads a clock. Nothing panics, whatever a file holds.

#![forbid(unsafe_code)]

pub mod air;
pub mod analysis;
pub mod document;
pub mod file;
pub mod finding;
pub mod frame;
pub mod link;
pub mod live;
mod numbers;
pub mod rate;
pub mod seconds;
pub mod transport;
