//! Tests of two endpoints connected by a path, with scripts and with random input.
//! Expected values are from the RFCs, from simple arithmetic, and from the
//! documented behaviour of Linux. Each file has one topic; `path` is the network
//! that they share.

extern crate std;

mod accurate_ecn;
mod bbr;
mod bbr3;
mod ecn;
mod kernels;
mod marks;
mod path;
mod properties;
mod recovery;
mod rules;
mod scripts;
mod segments;
mod throughput;
mod timing;
