//! The command line: every verb and every flag, declared once. Flags that verbs share
//! are flattened into them. Help texts end in examples that can be copied. Here is the
//! command itself; the flags of its verbs are in `args`, by what the verbs are about.

mod apq;
mod franc;
mod results;
mod runs;
mod values;

pub use apq::{Apq, ApqMeasure, ApqMethodName, ApqServe, ApqWay};
pub use franc::{Franc, FrancKey, FrancRun, FrancStats};
pub use results::{Capture, Report, Reproduce, Serve};
pub use runs::{
    AggregationBy, Compare, Emulate, ExpectArgs, Medium, PLACES, ScenarioArgs, ScenarioInit,
    ScenarioVerb, Set, Simulate, Sweep,
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Simulate, emulate, measure and mend the Wi-Fi hop.
#[derive(Debug, Parser)]
#[command(name = "lasthop", version, max_term_width = 96, subcommand_required = true)]
#[command(after_help = "Examples:
  lasthop demo
  lasthop simulate hello
  lasthop emulate upload -- ping -c 10 server")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Those of the laboratory.
    #[command(flatten)]
    Lab(Box<LabVerb>),
    /// Make a lossy link reliable: a network-coded tunnel between two hosts
    #[command(subcommand)]
    Franc(Franc),
    /// Print a JSON Schema
    Schema(Schema),
}

/// The verbs that a router does without.
#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Run a scenario in virtual time: fast, and the same result every time
    Simulate(Simulate),
    /// Run every combination of some keys of a scenario, many times, into tables
    Sweep(Sweep),
    /// Run real programs and the kernel's TCP over the scenario's hop, in real time
    Emulate(Emulate),
    /// Change a running emulation, or list what can be changed
    Set(Set),
    /// Say what is wrong with a run, and why: a folder with results as one HTML page
    Report(Report),
    /// Show runs in a browser: over time, side by side, and every frame on the air
    Serve(Serve),
    /// Reproduce the figures of papers: theirs, ours, verdict
    Reproduce(Reproduce),
    /// Run a scenario in virtual time and in real time, and show both side by side
    Compare(Compare),
    /// Measure the queue of an access point on a real network
    #[command(subcommand)]
    Apq(Apq),
    /// Put the kernel's simulated radios (mac80211_hwsim) on a scenario's air
    Medium(Medium),
    /// Read a capture of the air, and say what is wrong with the link
    Capture(Capture),
    /// List, show and copy the scenarios that are inside the program
    #[command(subcommand)]
    Scenario(ScenarioVerb),
    /// List places that people know, and what to expect there: a café, a train, a conference
    #[command(
        after_help = "A place is a scenario inside the program: `lasthop scenario show places/cafe` has its reasons.
In all of them laptop is behind Wi-Fi, and server behind the line.

Examples:
  lasthop places
  lasthop emulate --place cafe -- ping -c 10 server"
    )]
    Places,
    /// Watch a queue ruin a ping, and see it mended: half a minute of real TCP
    #[command(after_help = "Example:
  lasthop demo")]
    Demo,
}

/// `lasthop schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  lasthop schema scenario > scenario.schema.json")]
pub struct Schema {
    /// What it is of
    #[arg(value_name = "WHAT")]
    pub of: SchemaOf,
}

/// What there is a schema of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A scenario file (TOML)
    Scenario,
    /// run.json, a run in what `simulate --json` prints, and what `emulate --json` prints
    Run,
    /// What `simulate --json` prints, and runs.json
    RunSet,
    /// sweep.json, what was asked of a sweep
    Sweep,
    /// What `reproduce --json` prints, and reproduce.json
    Reproduce,
    /// What --json prints of a comparison
    Comparison,
    /// What `capture --json` prints
    Capture,
    /// What `apq measure --json` prints, and apq.json
    Apq,
    /// What `franc stats --json` prints
    Franc,
    /// What `medium --json` prints
    Medium,
    /// What `franc run` reads (TOML)
    FrancToml,
}

/// Stands for a space of an example until the help is printed: no line is broken there.
const UNBROKEN: char = '\u{a0}';

/// The command with what holds for every verb: numbers may be negative, so that each flag says
/// itself what it allows; examples keep their lines, so that they can be pasted.
fn prepared(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_valued = !arg.is_positional() && arg.get_action().takes_values();
        if is_valued { arg.allow_negative_numbers(true) } else { arg }
    });
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(help) => command.after_help(unbroken(&help)),
        None => command,
    };
    command.mut_subcommands(prepared)
}

/// The text with sentences on one line, which is wrapped as wide as the terminal is, and with
/// no place to break lines that are indented.
fn unbroken(help: &str) -> String {
    let mut out = String::new();
    let mut is_sentence = false;
    for line in help.lines() {
        let is_next = !line.is_empty() && !line.starts_with(' ');
        match (out.is_empty(), is_sentence && is_next) {
            (true, _) => {}
            (_, true) => out.push(' '),
            (_, false) => out.push('\n'),
        }
        is_sentence = is_next;
        match line.starts_with(' ') {
            true => out.extend(line.chars().map(|c| if c == ' ' { UNBROKEN } else { c })),
            false => out.push_str(line),
        }
    }
    out
}

/// Reads the command line.
///
/// # Errors
/// If it is wrong, or asks for help; [`printed`] has the text.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut command = prepared(Cli::command());
    let matches =
        command.try_get_matches_from_mut(std::env::args_os()).map_err(without_wrong_tip)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Without the tip to put what looks like a negative quantity, as in `--duration -5s`, behind
/// `--`: there it would be another argument.
fn without_wrong_tip(mut usage: clap::Error) -> clap::Error {
    let is_quantity = match usage.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())),
        _ => false,
    };
    if is_quantity {
        usage.remove(ContextKind::Suggested);
    }
    usage
}

/// A text of clap's as it is printed.
pub fn printed(usage: &clap::Error, is_plain: bool) -> String {
    let text = usage.render();
    let text = if is_plain { text.to_string() } else { text.ansi().to_string() };
    let is_help = matches!(
        usage.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help { text.replace(UNBROKEN, " ") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        prepared(Cli::command()).debug_assert();
    }
}
