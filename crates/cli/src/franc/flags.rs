//! The keys of `franc.toml` as flags. Each key is declared once, in `lasthop_scenario`;
//! flags and their help texts are made from these declarations when the command starts.
//! Values stay text here, and are read as those of the file are.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use lasthop_scenario::franc::{Key, keys};

/// The flags that were given: keys with their values, as written.
#[derive(Clone, Debug, Default)]
pub struct KeyFlags(pub Vec<(Key, Vec<String>)>);

impl Args for KeyFlags {
    fn augment_args(command: Command) -> Command {
        keys().into_iter().fold(command, |command, key| {
            let arg = Arg::new(key.name)
                .long(key.flag().trim_start_matches('-').to_owned())
                .help(key.docs)
                .help_heading("The keys of franc.toml");
            command.arg(match (key.is_switch, key.is_list) {
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
