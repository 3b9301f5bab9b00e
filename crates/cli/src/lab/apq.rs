//! `lasthop apq`: the queue of an access point, measured on a real network.
//!
//! | module | content |
//! |---|---|
//! | `serve` | the far host |
//! | `measure` | the near host: asks for consent, measures, prints results |
//! | `files` | the files of `--out` |
//!
//! Words and plots are in `lasthop_report::apq`.

mod files;
mod measure;
mod serve;

use crate::args::Apq;
use crate::failure::Failure;

/// Runs the command; returns the exit status.
pub fn apq(verb: &Apq) -> Result<u8, Failure> {
    match verb {
        Apq::Serve(args) => serve::serve(args),
        Apq::Measure(args) => measure::measure(args).map(|()| 0),
    }
}
