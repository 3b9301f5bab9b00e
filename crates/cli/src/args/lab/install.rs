//! What is installed beside the command.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `lasthop completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "The script asks the command itself, so that scenarios, places and keys of --set are completed,
too. It belongs to the version that printed it.

Examples:
  lasthop completions bash > ~/.local/share/bash-completion/completions/lasthop
  lasthop completions zsh > ~/.zfunc/_lasthop    # with fpath+=~/.zfunc before compinit
  lasthop completions fish > ~/.config/fish/completions/lasthop.fish"
)]
pub struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// A shell that can be given completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// The friendly interactive shell
    Fish,
}

/// `lasthop manual`.
#[derive(Debug, Args)]
#[command(after_help = "Pages of commands go to DIR/man1, those of files to DIR/man5.

Example:
  lasthop manual ~/.local/share/man    # then: man lasthop, man 5 lasthop-scenario")]
pub struct Manual {
    /// The directory; it is made if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
