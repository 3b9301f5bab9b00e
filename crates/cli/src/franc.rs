//! `lasthop franc`: a coded link in real time.
//!
//! | module | content |
//! |---|---|
//! | `flags` | the keys of `franc.toml` as flags |
//! | `run` | the daemon |
//! | `key` | keys in files |
//! | `stats` | the counters of a daemon |

pub mod flags;
mod key;
mod run;
mod stats;

use crate::args::Franc;
use crate::failure::Failure;
use std::env;
use std::path::{Path, PathBuf};

/// Runs the verb; returns the exit status.
pub fn franc(verb: &Franc) -> Result<u8, Failure> {
    match verb {
        Franc::Run(args) => run::run(args),
        Franc::Stats(args) => stats::stats(args),
        Franc::Key(args) => key::key(args).map(|()| 0),
    }
}

/// Returns the paths of the control socket of the link `name`, in order; a new daemon uses the
/// first one.
fn sockets(name: &str) -> Vec<PathBuf> {
    let file = format!("franc-{name}.sock");
    let from = |variable: &str, below: &str| {
        let value = env::var_os(variable).filter(|value| !value.is_empty())?;
        Some(Path::new(&value).join(below).join(&file))
    };
    let shared = Path::new("/run/lasthop");
    // A systemd unit has a directory of its own there.
    let unit = Some(shared.join(name).join(&file));
    let shared = Some(shared.join(&file));
    // systemd separates several directories by colons; our units have one.
    [from("RUNTIME_DIRECTORY", ""), from("XDG_RUNTIME_DIR", "lasthop"), shared, unit]
        .into_iter()
        .flatten()
        .collect()
}
