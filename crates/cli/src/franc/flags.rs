//! The keys of `franc.toml` as flags. Each key is declared once, in `lasthop_scenario`;
//! flags and their help texts are made from these declarations when the command starts.
//! Values stay text here, and are read as those of the file are.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use lasthop_scenario::franc::{Key, keys};

/// The keys that most nodes need: those of the short help.
const USUAL: [&str; 13] = [
    "role",
    "id",
    "peer",
    "via",
    "between",
    "key_file",
    "insecure",
    "address",
    "transport",
    "listen",
    "interface",
    "neighbours",
    "mtu",
];

/// The first sentence of a text, without the default and what follows a semicolon.
fn brief(docs: &str) -> &str {
    let end = |pattern: &str| docs.find(pattern).unwrap_or(docs.len());
    &docs[..end(". ").min(end("; ")).min(end(" [default"))]
}

/// The flags that were given: keys with their values, as written.
#[derive(Clone, Debug, Default)]
pub struct KeyFlags(pub Vec<(Key, Vec<String>)>);

impl Args for KeyFlags {
    fn augment_args(command: Command) -> Command {
        keys().into_iter().fold(command, |command, key| {
            let (is_switch, is_list) = (key.is_switch, key.is_list);
            let arg = Arg::new(key.name)
                .long(key.flag().trim_start_matches('-').to_owned())
                .help(brief(&key.docs).to_owned())
                .long_help(key.docs)
                .hide_short_help(!USUAL.contains(&key.name))
                .help_heading("The keys of franc.toml");
            command.arg(match (is_switch, is_list) {
                (true, _) => arg
                    .value_name("true|false")
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("true"),
                (_, true) => arg.value_name("A,B..").value_delimiter(',').action(ArgAction::Append),
                _ => arg.value_name("VALUE"),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KeyFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |key: Key| {
            let values: Vec<String> = matches.get_many::<String>(key.name)?.cloned().collect();
            Some((key, values))
        };
        Ok(Self(keys().into_iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_names_keys_that_there_are() {
        let names: Vec<&str> = keys().iter().map(|key| key.name).collect();
        assert!(USUAL.iter().all(|name| names.contains(name)), "{names:?}");
        assert_eq!(brief("Its number; others have others [default: 1]"), "Its number");
        assert_eq!(brief("Where it is. It may move"), "Where it is");
        assert_eq!(brief("Its name [default: franc0]"), "Its name");
    }
}
