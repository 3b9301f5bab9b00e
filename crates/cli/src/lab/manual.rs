//! `lasthop manual DIR`: writes the manual pages. Pages of the command and of its verbs (section 1)
//! are made from the declarations in `args`, pages of scenario files and of `franc.toml`
//! (section 5) from the declarations of their keys, so that all of them match this program. Pages
//! have no date: the same program writes the same bytes.

use crate::args::{self, Manual};
use crate::failure::Failure;
use clap::Command;
use clap_mangen::Man;
use lasthop_scenario::reference::{self, TableReference};
use lasthop_trace::OutputDir;
use roff::{Roff, bold, italic, roman};
use std::path::Path;

/// Text at the foot of each page.
const SOURCE: &str = concat!("lasthop ", env!("CARGO_PKG_VERSION"));
const MANUAL: &str = "lasthop manual";

/// Writes the pages below the directory, to `man1` and `man5`.
pub fn manual(args: &Manual) -> Result<(), Failure> {
    write(&args.folder.join("man1"), &commands())?;
    write(&args.folder.join("man5"), &files())
}

/// Name of a page's file, and its content.
type ManualPage = (String, String);

fn write(folder: &Path, pages: &[ManualPage]) -> Result<(), Failure> {
    let mut output = OutputDir::create(folder).map_err(Failure::message)?;
    for (name, text) in pages {
        output.write(name, text.as_bytes()).map_err(Failure::message)?;
    }
    output.commit().map_err(Failure::message)
}

/// Returns the pages of the command and of all verbs.
fn commands() -> Vec<ManualPage> {
    let mut command = args::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages);
    pages
}

fn add(command: &Command, pages: &mut Vec<ManualPage>) {
    pages.push(page(command));
    command.get_subcommands().filter(|verb| !verb.is_hide_set()).for_each(|verb| add(verb, pages));
}

fn page(command: &Command) -> ManualPage {
    let man = Man::new(command.clone()).date("").source(SOURCE).manual(MANUAL);
    let mut text = Vec::new();
    let made = man
        .render_title(&mut text)
        .and_then(|()| man.render_name_section(&mut text))
        .and_then(|()| man.render_synopsis_section(&mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| {
            if command.get_arguments().any(|arg| !arg.is_hide_set()) {
                man.render_options_section(&mut text)
            } else {
                Ok(())
            }
        })
        .and_then(|()| {
            if command.has_subcommands() {
                man.render_subcommands_section(&mut text)
            } else {
                Ok(())
            }
        });
    made.expect("a vector takes all that is written");
    let mut page = Roff::new();
    if let Some(help) = command.get_after_long_help().or(command.get_after_help()) {
        after_help(&mut page, &args::pasteable(&help.to_string()));
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(match command.get_name() {
        "lasthop" => "lasthop-scenario(5), lasthop-franc.toml(5)",
        _ => "lasthop(1), lasthop-scenario(5)",
    })]);
    let text = String::from_utf8(text).expect("roff is text") + &page.to_roff();
    (man.get_filename(), text)
}

/// Adds the notes and examples of a help text; examples keep their lines.
fn after_help(page: &mut Roff, help: &str) {
    let (sentences, examples) = match help.find("Example") {
        Some(start) => help.split_at(start),
        None => (help, ""),
    };
    if !sentences.trim().is_empty() {
        page.control("SH", ["NOTES"]);
        lines(page, sentences.trim_end());
    }
    if let Some((head, examples)) = examples.split_once('\n') {
        page.control("SH", ["EXAMPLES"]);
        // `Examples, on both hosts:` has a place.
        if let Some((_, place)) = head.trim_end_matches(':').split_once(", ") {
            let mut place = place.to_owned();
            place[..1].make_ascii_uppercase();
            page.text([roman(place + ":")]);
            page.control("PP", []);
        }
        page.control("nf", []);
        for line in examples.lines() {
            page.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        page.control("fi", []);
    }
}

/// Adds sentences, which man fills, and indented lines, which it does not.
fn lines(page: &mut Roff, text: &str) {
    for line in text.lines() {
        match line {
            "" => {
                page.control("PP", []);
            }
            _ if line.starts_with(' ') => {
                page.control("br", []);
                page.text([roman(line)]);
            }
            _ => {
                page.text([roman(line)]);
            }
        }
    }
}

/// Returns the pages of scenario files and of `franc.toml`.
fn files() -> Vec<ManualPage> {
    let mut pages = vec![scenario()];
    if cfg!(feature = "franc") {
        pages.push(franc());
    }
    pages
}

fn scenario() -> ManualPage {
    let mut page = head("LASTHOP-SCENARIO", "lasthop-scenario - scenario files of lasthop");
    page.text([roman(
        "A scenario is a TOML file: one Wi-Fi cell (an access point and its stations), hosts behind \
         wires, and the traffic between them. lasthop-simulate(1) runs it in virtual time, \
         lasthop-emulate(1) in real time. Unknown keys are errors, and every key not marked \
         required has a default. lasthop scenario list shows the built-in scenarios, lasthop \
         scenario init FILE writes one with comments to start from, lasthop schema scenario prints \
         the JSON Schema.",
    )]);
    page.control("SS", ["Quantities"]);
    page.text([roman(
        "Times, rates, sizes and powers are strings with a unit, which is case-sensitive:",
    )]);
    let quantities = [
        ("time", "\"10ms\": ns, us, ms, s, min, h"),
        ("bit rate", "\"300Mb/s\": b/s, kb/s, Mb/s, Gb/s"),
        ("size", "\"128KiB\", or plain bytes: B, kB, MB, GB, KiB, MiB, GiB"),
        ("power, power ratio", "\"20dBm\", \"7dB\""),
        ("distance", "\"10m\": m, km"),
        ("frequency", "\"5Hz\": Hz, kHz"),
        ("probability", "0.1 or \"10%\""),
    ];
    for (name, units) in quantities {
        entry(&mut page, name, units);
    }
    page.control("SS", ["Paths"]);
    page.text([roman(
        "The argument of --set is the path of a key and its value, such as node.laptop.queue.packets=200, \
         node.sta*.retry_limit=4, wire.server-ap.delay=20ms or channel.width=40MHz.",
    )]);
    page.control("SS", ["Short forms"]);
    page.text([roman(
        "A table with a kind may be written as its kind alone: queue = \"codel\". A node with \
         count = 10 and the name sta stands for ten nodes, sta1 to sta10.",
    )]);
    for table in reference::scenario() {
        tables(&mut page, &table, "TOP LEVEL");
    }
    page.control("SH", ["EXAMPLES"]);
    page.control("nf", []);
    let example = "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\n[[node]]\nname = \"laptop\"\n\
                   role = \"station\"\n\n[[flow]]\nname = \"up\"\nfrom = \"laptop\"\nto = \"ap\"\n\
                   kind = \"udp\"";
    example.lines().for_each(|line| {
        page.text([roman(line)]);
    });
    page.control("fi", []);
    see_also(&mut page, "lasthop(1), lasthop-simulate(1), lasthop-emulate(1), lasthop-sweep(1)");
    ("lasthop-scenario.5".into(), page.to_roff())
}

fn franc() -> ManualPage {
    let mut page = head(
        "LASTHOP-FRANC.TOML",
        "lasthop-franc.toml - the configuration of a node of a coded link",
    );
    page.text([roman(
        "Configuration file of lasthop-franc-run(1). The systemd unit lasthop-franc@NAME reads \
         /etc/lasthop/NAME.toml. Each key is a flag of lasthop franc run, too: block_symbols is \
         --block-symbols. Lists in flags are separated by commas, and flags override the file.",
    )]);
    tables(&mut page, &lasthop_franc_node::reference(), "KEYS");
    page.control("SH", ["EXAMPLES"]);
    page.control("nf", []);
    for line in [
        "# /etc/lasthop/franc0.toml",
        "id = 1",
        "peer = 2",
        "neighbours = [\"2=beta\"]",
        "address = [\"10.9.0.1/24\", \"fd09::1/64\"]",
    ] {
        page.text([roman(line)]);
    }
    page.control("fi", []);
    see_also(&mut page, "lasthop-franc-run(1), lasthop-franc-key(1), lasthop-franc-stats(1)");
    ("lasthop-franc.toml.5".into(), page.to_roff())
}

/// Begins a page of section 5, up to its description.
fn head(title: &str, name: &str) -> Roff {
    let mut page = Roff::new();
    page.control("TH", [title, "5", "", SOURCE, MANUAL]);
    page.control("SH", ["NAME"]);
    page.text([roman(name)]);
    page.control("SH", ["DESCRIPTION"]);
    page
}

fn see_also(page: &mut Roff, pages: &str) {
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(pages)]);
}

/// Adds a table of the file; `title` names the top level.
fn tables(page: &mut Roff, table: &TableReference, title: &str) {
    let title = match table.places.as_slice() {
        [] => title.to_owned(),
        places => places.join(", "),
    };
    page.control("SH", [title.as_str()]);
    page.text([roman(reference::without_links(&table.docs))]);
    for key in &table.keys {
        page.control("TP", []);
        let mut line = vec![bold(key.name), roman(" = "), italic(&key.allowed)];
        if key.default.is_none() {
            line.push(roman(" (required)"));
        }
        page.text(line);
        let default = key.default.as_ref().map_or(String::new(), |it| format!(" Default: {it}."));
        page.text([roman(format!("{}{default}", reference::without_links(&key.docs)))]);
    }
}

/// Adds a word and its meaning.
fn entry(page: &mut Roff, word: &str, meaning: &str) {
    page.control("TP", []);
    page.text([bold(word)]);
    page.text([roman(meaning)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_and_every_file_has_a_page() {
        let names: Vec<String> = commands().into_iter().map(|(name, _)| name).collect();
        for name in ["lasthop.1", "lasthop-simulate.1", "lasthop-apq-measure.1", "lasthop-schema.1"]
        {
            assert!(names.iter().any(|it| it == name), "{name} is not in {names:?}");
        }
        let files: Vec<String> = files().into_iter().map(|(name, _)| name).collect();
        assert_eq!(files.len(), 1 + usize::from(cfg!(feature = "franc")), "{files:?}");
    }

    /// No-break spaces are for the help on a terminal; pages have plain spaces to paste.
    #[test]
    fn examples_keep_their_lines_and_plain_spaces() {
        let pages = commands();
        let (_, page) = pages.iter().find(|(name, _)| name == "lasthop-simulate.1").expect("it is");
        let line = r"lasthop simulate contention \-\-set node.sta.count=50 \-\-runs 10";
        let lines: Vec<&str> = page.lines().collect();
        assert!(lines.contains(&line) && lines.contains(&".nf"), "{page}");
        for (name, page) in pages.iter().chain(&files()) {
            assert!(!page.contains('\u{a0}') && page.contains("\n.SH NAME\n"), "{name}");
        }
    }
}
