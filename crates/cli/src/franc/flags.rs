//! The keys of `franc.toml` as flags. `lasthop_franc_node` declares each key once; the flags and
//! their long help texts are made from these declarations when the command starts. Values stay
//! text here; the parser of the file reads them. Here is only the order of the help.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use lasthop_franc_node::{Key, keys};

/// All keys in the order of the help, in sections with their headings: the basic ones first, those
/// of the paper's mode last.
const SECTIONS: [(&str, &[&str]); 8] = [
    ("Link", &["id", "peer", "neighbours", "key_file", "address", "insecure"]),
    ("Network", &["transport", "interface", "listen", "mtu", "links", "pace", "rate_max"]),
    (
        "Other roles",
        &["role", "between", "via", "helpers", "copies_to", "monitor", "e1", "e2", "e3"],
    ),
    ("Daemon", &["name", "socket", "metrics"]),
    (
        "Waiting packets",
        &[
            "backlog_packets",
            "backlog_bytes",
            "backlog_target",
            "backlog_interval",
            "ack_filter",
            "ecn",
            "small",
        ],
    ),
    (
        "Code, the same at both ends",
        &["mode", "field", "block_symbols", "symbol_bytes", "rekey_blocks"],
    ),
    ("Experiments", &["blocks_max", "encoder_timeout", "synthetic_loss"]),
    (
        "The mode of the paper franc (--mode paper)",
        &[
            "overshoot",
            "rules",
            "systematic",
            "acknowledgements",
            "reading",
            "spending",
            "helping",
            "waiting",
            "timeout_packets",
        ],
    ),
];

/// The keys that most nodes need, which are those of the short help: name, form of the value, and
/// one line of at most 52 columns, so that the help fits a screen of 80 columns.
const USUAL: [(&str, &str, &str); 11] = [
    ("id", "N", "Number of this node on the link"),
    ("peer", "N", "Ends: number of the other end"),
    ("neighbours", "N=..", "Who is where, as N=HOST[:PORT] or N=MAC"),
    ("key_file", "FILE", "File with the shared key, or with the hop key"),
    ("address", "IP/LEN,..", "Ends: addresses of the tunnel interface"),
    ("transport", "KIND", "udp or ethernet [default: udp]"),
    ("interface", "IFACE", "Ethernet: network interface of the hop"),
    ("listen", "ADDR:PORT", "UDP: local address [default: port 4797 of all]"),
    ("role", "ROLE", "end, helper, recoder or forwarder [default: end]"),
    ("between", "N,N", "Other roles: numbers of the nodes on both sides"),
    ("via", "N", "Ends: next recoder towards the other end"),
];

/// Returns the section of a key and its place in the help.
fn place(name: &str) -> (&'static str, usize) {
    let named = |&(heading, names): &(&'static str, &'static [&'static str])| {
        names.iter().map(move |name| (heading, *name))
    };
    let mut all = SECTIONS.iter().flat_map(named).enumerate();
    let found = all.find(|(_, (_, other))| *other == name);
    found.map_or(("Other keys", usize::MAX), |(place, (heading, _))| (heading, place))
}

/// The flags of the command line: keys with their values, as written.
#[derive(Clone, Debug, Default)]
pub struct KeyFlags(pub Vec<(Key, Vec<String>)>);

impl Args for KeyFlags {
    fn augment_args(command: Command) -> Command {
        let mut keys = keys();
        keys.sort_by_key(|key| place(key.name).1);
        keys.into_iter().fold(command, |command, key| {
            let (is_switch, is_list) = (key.is_switch, key.is_list);
            let usual = USUAL.iter().find(|(name, ..)| *name == key.name);
            let form = match (usual, is_switch, is_list) {
                (Some((_, form, _)), ..) => form,
                (_, true, _) => "BOOL",
                (_, _, true) => "A,B..",
                _ => "VALUE",
            };
            let arg = Arg::new(key.name)
                .long(key.flag().trim_start_matches('-').to_owned())
                .value_name(form)
                .help(usual.map_or("", |(.., line)| line))
                .long_help(key.docs)
                .hide_short_help(usual.is_none())
                .help_heading(place(key.name).0);
            command.arg(match (is_switch, is_list) {
                (true, _) => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
                (_, true) => arg.value_delimiter(',').action(ArgAction::Append),
                _ => arg,
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
    fn every_key_is_in_one_section_of_the_help() {
        let sections = SECTIONS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut sections: Vec<&str> = sections.collect();
        let mut names: Vec<&str> = keys().iter().map(|key| key.name).collect();
        sections.sort_unstable();
        names.sort_unstable();
        assert_eq!(sections, names);
    }

    #[test]
    fn the_short_help_names_existing_keys_in_one_line_each() {
        let names: Vec<&str> = keys().iter().map(|key| key.name).collect();
        for (name, _, line) in USUAL {
            assert!(names.contains(&name), "{name} is not in {names:?}");
            assert!(line.chars().count() <= 52, "{line}");
        }
    }
}
