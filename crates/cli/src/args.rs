//! Declares the command line: every verb and every flag once. Flags shared by several verbs
//! are flattened into them. Each help text ends in examples to copy. This file has the
//! command itself; `lab` and `franc` have the flags of its verbs.
//!
//! A verb with many flags has two help texts: `--help` shows the usual ones on one screen
//! (35 lines of 80 columns), `--help-all` shows all of them. The two are clap's short and long help.

#[cfg(feature = "franc")]
mod franc;
mod groups;
#[cfg(feature = "lab")]
mod lab;

#[cfg(feature = "franc")]
pub use franc::{Franc, FrancKey, FrancRun, FrancStats};
#[cfg(feature = "lab")]
pub use lab::{
    AggregationBy, Apq, ApqMeasure, ApqMethodName, ApqServe, ApqWay, Capture, Compare, Completions,
    Doctor, Emulate, ExpectArgs, LabVerb, Manual, Medium, PLACES, Report, ScenarioArgs,
    ScenarioFrom, ScenarioInit, ScenarioVerb, Serve, Set, Shell, Simulate, Sweep,
};

#[cfg(feature = "studies")]
pub use lab::Reproduce;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command, CommandFactory, FromArgMatches};
use clap::{Parser, Subcommand, ValueEnum};

/// Simulate, emulate, measure and mend the Wi-Fi hop.
#[derive(Debug, Parser)]
#[command(name = "lasthop", version, max_term_width = 96, subcommand_required = true)]
#[cfg_attr(
    feature = "lab",
    command(after_help = "Examples:
  lasthop demo
  lasthop simulate hello
  lasthop emulate upload -- ping -c 10 server")
)]
pub struct Cli {
    /// The verb and its flags.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of the command.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Verbs of the feature `lab`.
    #[cfg(feature = "lab")]
    #[command(flatten)]
    Lab(Box<LabVerb>),
    /// Make a lossy link reliable with a network-coded tunnel
    #[cfg(feature = "franc")]
    #[command(subcommand)]
    Franc(Franc),
    /// Print the JSON Schema of a file or of a command's output
    Schema(Schema),
}

/// Arguments of `lasthop schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  lasthop schema scenario > scenario.schema.json")]
pub struct Schema {
    /// Document that the schema describes
    #[arg(value_name = "WHAT")]
    pub of: SchemaOf,
}

/// Documents that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A scenario file (TOML)
    #[cfg(feature = "lab")]
    Scenario,
    /// run.json, one run of `simulate --json`, and the output of `emulate --json`
    #[cfg(feature = "lab")]
    Run,
    /// runs.json, and the output of `simulate --json`
    #[cfg(feature = "lab")]
    RunSet,
    /// sweep.json, the values and runs requested of a sweep
    #[cfg(feature = "lab")]
    Sweep,
    /// reproduce.json, and the output of `reproduce --json`
    #[cfg(feature = "lab")]
    Reproduce,
    /// comparison.json, and the output of `compare --json`
    #[cfg(feature = "lab")]
    Comparison,
    /// measured.json, and the output of `compare --with --json`
    #[cfg(feature = "lab")]
    MeasuredComparison,
    /// Output of `capture --json`
    #[cfg(feature = "lab")]
    Capture,
    /// apq.json, and the output of `apq measure --json`
    #[cfg(feature = "lab")]
    Apq,
    /// Output of `franc stats --json`
    #[cfg(feature = "franc")]
    Franc,
    /// Output of `medium --json`
    #[cfg(feature = "lab")]
    Medium,
    /// Output of `doctor --json`
    #[cfg(feature = "lab")]
    Doctor,
    /// Configuration file of `franc run` (TOML)
    #[cfg(feature = "franc")]
    FrancToml,
}

/// Replaces each space of an example until the help is printed, so that clap breaks no line there.
const UNBROKEN: char = '\u{a0}';

/// Applies the rules that hold for every verb. Negative numbers are values, so that the flag's own
/// parser reports its range. Examples keep their lines, so that they can be pasted. A verb with
/// options outside its short help has `--help-all`.
fn prepared(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_valued = !arg.is_positional() && arg.get_action().takes_values();
        if is_valued { arg.allow_negative_numbers(true) } else { arg }
    });
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(help) => command.after_help(unbroken(&help)),
        None => command,
    };
    let command = match command.get_after_long_help().map(ToString::to_string) {
        Some(help) => command.after_long_help(unbroken(&help)),
        None => command,
    };
    with_two_helps(command).mut_subcommands(prepared)
}

/// Adds `--help-all` to a verb whose long help has options that its short help hides, and makes
/// `--help` print the short one.
fn with_two_helps(command: Command) -> Command {
    if !command.get_arguments().any(Arg::is_hide_short_help_set) {
        return command;
    }
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let all = Arg::new("help-all").long("help-all").action(ArgAction::HelpLong);
    command
        .disable_help_flag(true)
        .arg(help.help("Print the usual options"))
        .arg(all.help("Print all options, in detail"))
}

/// Joins the sentences of a text into one line, which clap wraps at the terminal's width, and
/// makes indented lines unbreakable.
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
        if line.starts_with(' ') {
            out.extend(line.chars().map(|c| if c == ' ' { UNBROKEN } else { c }))
        } else {
            out.push_str(line)
        }
    }
    out
}

/// Returns the command as it is declared.
pub fn command() -> Command {
    groups::grouped(prepared(Cli::command()))
}

/// Returns a help text with plain spaces, so that its examples can be pasted.
#[cfg(feature = "lab")]
pub fn pasteable(help: &str) -> String {
    help.replace(UNBROKEN, " ")
}

/// Reads the command line.
///
/// # Errors
/// An error for a wrong command line, and for `--help`; [`printed`] returns its text.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let matches = matches.map_err(without_wrong_tip).map_err(|usage| with_tip(usage, &command))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Removes the tip to put a negative quantity, as in `--duration -5s`, behind `--`: there it would
/// be another argument.
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

/// Adds the tip to put `--` before the COMMAND of `emulate`, if `--` is missing.
fn with_tip(mut usage: clap::Error, command: &Command) -> clap::Error {
    let is_it = matches!(usage.kind(), ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict);
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    if let Some(begun) = behind_scenario(command, &arguments).filter(|_| is_it) {
        let (before, behind) = arguments.split_at(begun);
        let tip = format!(
            "put -- before the command: lasthop {} -- {}",
            before.join(" "),
            behind.join(" ")
        );
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        usage.insert(ContextKind::Suggested, tips);
    }
    usage
}

/// Returns the index of COMMAND's first word in the arguments of `emulate`, if `--` is missing.
fn behind_scenario(command: &Command, arguments: &[String]) -> Option<usize> {
    let (verb, rest) = arguments.split_first().filter(|(verb, _)| *verb == "emulate")?;
    let verb = command.find_subcommand(verb)?;
    let is_place = |word: &String| word == "--place" || word.starts_with("--place=");
    let mut scenarios = usize::from(!rest.iter().any(is_place));
    let mut words = rest.iter().enumerate();
    while let Some((index, word)) = words.next() {
        if word == "--" {
            return None;
        }
        let Some(flag) = word.strip_prefix('-').filter(|flag| !flag.is_empty()) else {
            if scenarios == 0 {
                return Some(index + 1);
            }
            scenarios -= 1;
            continue;
        };
        let (name, value) = flag.split_once('=').map_or((flag, None), |(a, b)| (a, Some(b)));
        let is_it = |arg: &&clap::Arg| {
            let long = arg.get_long().is_some_and(|long| name.strip_prefix('-') == Some(long));
            long || arg.get_short().is_some_and(|short| name == short.to_string())
        };
        let arg = verb.get_arguments().find(is_it)?;
        if value.is_none() && arg.get_action().takes_values() && !arg.is_require_equals_set() {
            words.next();
        }
    }
    None
}

/// Renders an error or a help text of clap, with colours unless it `is_plain`.
pub fn printed(usage: &clap::Error, is_plain: bool) -> String {
    let text = usage.render();
    let text = if is_plain { text.to_string() } else { text.ansi().to_string() };
    let is_help = matches!(
        usage.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help { text.replace(UNBROKEN, " ") } else { text }
}

#[cfg(all(test, feature = "lab", feature = "franc"))]
mod examples;

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "lab")]
    #[test]
    fn a_command_without_dashes_is_found() {
        let begun = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            behind_scenario(&command(), &words).map(|at| words[at..].join(" "))
        };
        let ping = Some("ping -c 3 server".to_owned());
        for before in ["hello", "--place cafe", "--set a=b hello --web", "--place=cafe -q --in ap"]
        {
            assert_eq!(begun(&format!("emulate {before} ping -c 3 server")), ping, "{before}");
            assert_eq!(begun(&format!("emulate {before} -- ping -c 3 server")), None, "{before}");
        }
        assert_eq!(begun("emulate hello --durations 3s"), None);
        assert_eq!(begun("simulate hello echo hi"), None);
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
