//! The command line: every verb and every flag, declared once. Flags that verbs share
//! are flattened into them. Help texts end in examples that can be copied. Here is the
//! command itself; the flags of its verbs are in `lab` and `franc`.

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
    Doctor, Emulate, ExpectArgs, LabVerb, Manual, Medium, PLACES, Report, Reproduce, ScenarioArgs,
    ScenarioInit, ScenarioVerb, Serve, Set, Shell, Simulate, Sweep,
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

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
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Those of the laboratory.
    #[cfg(feature = "lab")]
    #[command(flatten)]
    Lab(Box<LabVerb>),
    /// Make a lossy link reliable: a network-coded tunnel between two hosts
    #[cfg(feature = "franc")]
    #[command(subcommand)]
    Franc(Franc),
    /// Print a JSON Schema
    Schema(Schema),
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
    #[cfg(feature = "lab")]
    Scenario,
    /// run.json, a run in what `simulate --json` prints, and what `emulate --json` prints
    #[cfg(feature = "lab")]
    Run,
    /// What `simulate --json` prints, and runs.json
    #[cfg(feature = "lab")]
    RunSet,
    /// sweep.json, what was asked of a sweep
    #[cfg(feature = "lab")]
    Sweep,
    /// What `reproduce --json` prints, and reproduce.json
    #[cfg(feature = "lab")]
    Reproduce,
    /// What --json prints of a comparison
    #[cfg(feature = "lab")]
    Comparison,
    /// What `capture --json` prints
    #[cfg(feature = "lab")]
    Capture,
    /// What `apq measure --json` prints, and apq.json
    #[cfg(feature = "lab")]
    Apq,
    /// What `franc stats --json` prints
    #[cfg(feature = "franc")]
    Franc,
    /// What `medium --json` prints
    #[cfg(feature = "lab")]
    Medium,
    /// What `doctor --json` prints
    #[cfg(feature = "lab")]
    Doctor,
    /// What `franc run` reads (TOML)
    #[cfg(feature = "franc")]
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

/// The command as it is declared.
pub fn command() -> Command {
    groups::grouped(prepared(Cli::command()))
}

/// A help text whose examples can be pasted.
#[cfg(feature = "lab")]
pub fn pasteable(help: &str) -> String {
    help.replace(UNBROKEN, " ")
}

/// Reads the command line.
///
/// # Errors
/// If it is wrong, or asks for help; [`printed`] has the text.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let matches = matches.map_err(without_wrong_tip).map_err(|usage| with_tip(usage, &command))?;
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

/// The index of the first word of COMMAND among the arguments of `emulate`, if `--` is missing.
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
