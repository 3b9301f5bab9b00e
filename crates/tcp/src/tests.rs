//! Two endpoints over a path, by scripts and by chance. What is expected is that
//! of RFCs, of simple arithmetic, and of Linux' documented behaviour.

extern crate std;

mod kernels;
mod path;
mod properties;
mod recovery;
mod scripts;
mod throughput;
mod timing;
