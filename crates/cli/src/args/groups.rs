//! The text of `lasthop --help`: the verbs in groups, which clap offers for flags only.

use clap::Command;
use std::fmt::Write;

/// The groups of verbs, each with its heading.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Try", &["demo", "places", "scenario"]),
    ("Run a scenario", &["simulate", "emulate", "set", "sweep", "compare", "medium"]),
    ("Measure a real network", &["doctor", "capture", "apq"]),
    ("Mend a link", &["franc"]),
    ("Look at results", &["report", "serve", "reproduce"]),
    ("Set up", &["completions", "manual", "schema"]),
];

/// Longest line of a help text, in columns; the same as clap's for the other texts.
const WIDTH_MAX: usize = 96;

/// Replaces the command's help text by one that shows its verbs in groups.
pub fn grouped(command: Command) -> Command {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let names = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter());
    let column = names.map(|name| name.len()).max().unwrap_or(0) + 4;
    let mut text = String::new();
    for (title, verbs) in GROUPS {
        let known = verbs.iter().filter_map(|verb| command.find_subcommand(verb));
        let lines: Vec<String> = known
            .map(|verb| {
                let (name, about) = (verb.get_name(), verb.get_about());
                let about = about.map(ToString::to_string).unwrap_or_default();
                let gap = " ".repeat(column - 2 - name.len());
                format!("  {literal}{name}{literal:#}{gap}{}\n", folded(&about, column))
            })
            .collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "{header}{title}:{header:#}\n{}", lines.concat());
        }
    }
    // A brace would begin a part that clap fills in.
    debug_assert!(!text.contains('{'), "{text}");
    let options = format!("{header}Options:{header:#}");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{options}\n{{options}}{{after-help}}"
    ))
}

/// Breaks a text into lines of the terminal's width; lines after the first begin with `column`
/// spaces.
fn folded(text: &str, column: usize) -> String {
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = width.or_else(terminal_width).unwrap_or(WIDTH_MAX).min(WIDTH_MAX);
    let (mut out, mut at) = (String::new(), column);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if at > column && at + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(column));
            at = column;
        } else if at > column {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += length;
    }
    out
}

#[cfg(feature = "lab")]
fn terminal_width() -> Option<usize> {
    use std::io::IsTerminal;
    std::io::stdout().is_terminal().then(crate::console::width)
}

#[cfg(not(feature = "lab"))]
fn terminal_width() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each verb is in one group, and each name in a group is a verb.
    #[cfg(all(feature = "lab", feature = "franc"))]
    #[test]
    fn every_verb_is_in_one_group() {
        let command = crate::args::command();
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut verbs: Vec<&str> = verbs.map(Command::get_name).collect();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        verbs.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, verbs);
    }

    #[test]
    fn a_long_text_is_folded_below_itself() {
        assert_eq!(folded("one two", 4), "one two");
        let long = "word ".repeat(30);
        let lines: Vec<String> = folded(&long, 10).lines().map(str::to_owned).collect();
        assert!(lines.len() > 1 && lines[1].starts_with("          word"), "{lines:?}");
    }
}
