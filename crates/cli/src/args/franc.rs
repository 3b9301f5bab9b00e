//! `lasthop franc` and its subcommands. `franc::flags` makes the flags of `franc run` that are keys
//! of `franc.toml`.

use crate::franc::flags::KeyFlags;
use clap::{Args, Subcommand};
use std::path::PathBuf;
/// Arguments of `lasthop franc`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example, on the two hosts of a link (HOST is the other host):
  lasthop franc key --out link.key       # on one host; then copy the file to the other
  lasthop franc run --id 1 --peer 2 --neighbours 2=HOST --key-file link.key --address 10.9.0.1/24
  lasthop franc run --id 2 --peer 1 --neighbours 1=HOST --key-file link.key --address 10.9.0.2/24
  ping 10.9.0.2")]
pub enum Franc {
    /// Run a node of a coded link: an end, helper, recoder or forwarder
    Run(FrancRun),
    /// Show the counters of a running node
    Stats(FrancStats),
    /// Make a shared key, or derive a hop key from it
    Key(FrancKey),
}

/// Arguments of `lasthop franc run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Runs until interrupted. Needs root, or the capability CAP_NET_ADMIN (tunnel interface) and, with
ethernet, CAP_NET_RAW.

Examples:
  lasthop franc run /etc/lasthop/franc0.toml
  lasthop franc run --id 1 --peer 2 --neighbours 2=192.0.2.2 --key-file link.key --address 10.9.0.1/24
  lasthop franc run --id 3 --role helper --between 1,2 --transport ethernet --interface wlan0 --key-file hop.key"
)]
pub struct FrancRun {
    /// Configuration file of the node; flags override it
    #[arg(value_name = "CONFIG.toml")]
    pub config: Option<PathBuf>,
    /// Keys given as flags.
    #[command(flatten)]
    pub keys: KeyFlags,
}

/// Arguments of `lasthop franc stats`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lasthop franc stats
  lasthop franc stats --name franc1 --watch
  lasthop franc stats --json")]
pub struct FrancStats {
    /// Name of the link on this host
    #[arg(long, value_name = "NAME", default_value = "franc0")]
    pub name: String,
    /// Control socket, if not in the default place
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Repeat every second until interrupted
    #[arg(long)]
    pub watch: bool,
    /// Print only one JSON document on standard output
    #[arg(long, conflicts_with = "prometheus")]
    pub json: bool,
    /// Print the counters in the text format of Prometheus
    #[arg(long)]
    pub prometheus: bool,
}

/// Arguments of `lasthop franc key`.
#[derive(Debug, Args)]
#[command(
    after_help = "Helpers, recoders and forwarders need only the hop key. They authenticate and combine packets
with it, but cannot decrypt them.

Examples:
  lasthop franc key --out link.key
  lasthop franc key --hop link.key --out hop.key"
)]
pub struct FrancKey {
    /// Derive the hop key from the shared key in FILE
    #[arg(long, value_name = "FILE")]
    pub hop: Option<PathBuf>,
    /// Write the key to FILE (mode 0600) instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
