//! Verbs that make files for the installation: completions and manual pages.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `lasthop completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "The script calls lasthop for candidates, and so completes scenarios, places and keys of --set,
too. After an update of lasthop, print it again.

Examples:
  lasthop completions bash > ~/.local/share/bash-completion/completions/lasthop
  lasthop completions zsh > ~/.zfunc/_lasthop    # with fpath+=~/.zfunc before compinit
  lasthop completions fish > ~/.config/fish/completions/lasthop.fish"
)]
pub struct Completions {
    /// Shell that reads the script
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Shells with a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// The friendly interactive shell
    Fish,
}

/// Arguments of `lasthop manual`.
#[derive(Debug, Args)]
#[command(after_help = "Writes pages of commands to DIR/man1 and pages of files to DIR/man5.

Example:
  lasthop manual ~/.local/share/man    # then: man lasthop, man 5 lasthop-scenario")]
pub struct Manual {
    /// Directory for the pages; created if missing
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
