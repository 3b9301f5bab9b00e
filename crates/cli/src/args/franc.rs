//! `lasthop franc`. The flags of `franc run` that are keys of `franc.toml` are made elsewhere
//! (`franc::flags`).

use crate::franc::flags::KeyFlags;
use clap::{ArgAction, Args, Subcommand};
use std::path::PathBuf;
/// `lasthop franc`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example, on the two hosts of a link (HOST is the other one):
  lasthop franc key --out link.key       # on one, then copy the file to the other
  lasthop franc run --id 1 --peer 2 --neighbours 2=HOST --key-file link.key --address 10.9.0.1/24
  lasthop franc run --id 2 --peer 1 --neighbours 1=HOST --key-file link.key --address 10.9.0.2/24
  ping 10.9.0.2")]
pub enum Franc {
    /// Run a node of a link: an end with its tunnel interface, a helper, a recoder, a forwarder
    Run(FrancRun),
    /// Show what a running node counted
    Stats(FrancStats),
    /// Make a shared key, or derive the key of nodes that must not read
    Key(FrancKey),
}

/// `lasthop franc run`.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Runs until it is interrupted. Needs root, or the capability CAP_NET_ADMIN for the tunnel
interface and CAP_NET_RAW with ethernet. --help-all has all keys, with their defaults.

Examples:
  lasthop franc run /etc/lasthop/franc0.toml
  lasthop franc run --id 1 --peer 2 --neighbours 2=192.0.2.2 --key-file link.key --address 10.9.0.1/24
  lasthop franc run --id 3 --role helper --between 1,2 --transport ethernet --interface wlan0 --key-file hop.key"
)]
pub struct FrancRun {
    /// File with the node's configuration; flags take precedence
    #[arg(value_name = "CONFIG.toml")]
    pub config: Option<PathBuf>,
    /// Print the keys that most nodes need
    #[arg(short, long, action = ArgAction::HelpShort)]
    pub help: Option<bool>,
    /// Print all keys
    #[arg(long, action = ArgAction::HelpLong)]
    pub help_all: Option<bool>,
    /// The keys of the file.
    #[command(flatten)]
    pub keys: KeyFlags,
}

/// `lasthop franc stats`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lasthop franc stats
  lasthop franc stats --name franc1 --watch
  lasthop franc stats --json")]
pub struct FrancStats {
    /// Which link of this host
    #[arg(long, value_name = "NAME", default_value = "franc0")]
    pub name: String,
    /// The control socket, if it is not at the usual place
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Show it again every second, until interrupted
    #[arg(long)]
    pub watch: bool,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long, conflicts_with = "prometheus")]
    pub json: bool,
    /// Print the text that Prometheus reads
    #[arg(long)]
    pub prometheus: bool,
}

/// `lasthop franc key`.
#[derive(Debug, Args)]
#[command(
    after_help = "Helpers, recoders and forwarders need the hop key only: with it they check and combine, but
cannot read what the ends send.

Examples:
  lasthop franc key --out link.key
  lasthop franc key --hop link.key --out hop.key"
)]
pub struct FrancKey {
    /// Derive the hop key from the shared key in this file
    #[arg(long, value_name = "FILE")]
    pub hop: Option<PathBuf>,
    /// Write it to this file, which nobody else may read, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
