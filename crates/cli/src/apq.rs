//! `lasthop apq`: an access point's queue measured on a real network.
//!
//! | module | what it is |
//! |---|---|
//! | `serve` | the far host |
//! | `measure` | the near host: asks, measures, tells |
//! | `files` | what `--out` writes |
//! | `plots` | delays and throughput as panels |
//! | `words` | what was found out, for a person |
//! | `address`, `key` | hosts, ports and shared keys as they are given |

pub mod address;
mod files;
pub mod key;
mod measure;
mod plots;
mod serve;
pub mod words;

use crate::args::Apq;
use crate::failure::Failure;

/// Runs the command; gives the exit status.
pub fn apq(verb: &Apq) -> Result<u8, Failure> {
    match verb {
        Apq::Serve(args) => serve::serve(args),
        Apq::Measure(args) => measure::measure(args).map(|()| 0),
    }
}
