//! `lasthop doctor`.

use crate::lab::doctor;
use clap::Args;
use lasthop_doctor::document::Verb;

/// Arguments of `lasthop doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Needs no root and changes nothing: its trial namespace ends with the command, and it loads no
module and sends no packet. As root it also reads mac80211's debugfs. It prints remedies and does
not run them. The exit status is 0 for any findings; with --require it is 1 if one of the named
commands does not work here.

Examples:
  lasthop doctor
  lasthop doctor --json
  lasthop doctor --require emulate --require apq"
)]
pub struct Doctor {
    /// Exit with 1 if this command does not work here; repeatable
    #[arg(long, value_name = "VERB", value_parser = doctor::verbs())]
    pub require: Vec<Verb>,
    /// Print only one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}
