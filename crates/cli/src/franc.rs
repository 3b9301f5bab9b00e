//! `lasthop franc`: a coded link, for real.
//!
//! | module | what it is |
//! |---|---|
//! | `flags` | the keys of `franc.toml` as flags |
//! | `run` | the daemon |
//! | `key` | keys in files: made, read, derived |
//! | `stats` | what a daemon counted |

pub mod flags;
mod key;
mod run;
mod stats;

use crate::args::Franc;
use crate::failure::Failure;
use std::env;
use std::path::{Path, PathBuf};

/// Runs the verb; gives the exit status.
pub fn franc(verb: &Franc) -> Result<u8, Failure> {
    match verb {
        Franc::Run(args) => run::run(args),
        Franc::Stats(args) => stats::stats(args),
        Franc::Key(args) => key::key(args).map(|()| 0),
    }
}

/// Where the daemon of the link `name` may answer, in order; a new one takes the first.
fn sockets(name: &str) -> Vec<PathBuf> {
    let file = format!("franc-{name}.sock");
    let from = |variable: &str, below: &str| {
        let value = env::var_os(variable).filter(|value| !value.is_empty())?;
        Some(Path::new(&value).join(below).join(&file))
    };
    let shared = Path::new("/run/lasthop");
    // A unit of systemd has a directory of its own there.
    let unit = Some(shared.join(name).join(&file));
    let shared = Some(shared.join(&file));
    // systemd names several directories with colons between them; ours has one.
    [from("RUNTIME_DIRECTORY", ""), from("XDG_RUNTIME_DIR", "lasthop"), shared, unit]
        .into_iter()
        .flatten()
        .collect()
}
