//! `lasthop doctor`.

use crate::lab::doctor;
use clap::Args;
use lasthop_doctor::document::Verb;

/// `lasthop doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "It needs no root and changes nothing: a namespace that is made ends with the command, no module
is loaded, no packet is sent. Root reads more: mac80211's debugfs. Remedies are printed, not run.
The exit status is 0 whatever is found; with --require it is 1 if one of these does not work.

Examples:
  lasthop doctor
  lasthop doctor --json
  lasthop doctor --require emulate --require apq"
)]
pub struct Doctor {
    /// Exit with 1 if this does not work here; repeatable
    #[arg(long, value_name = "VERB", value_parser = doctor::verbs())]
    pub require: Vec<Verb>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}
