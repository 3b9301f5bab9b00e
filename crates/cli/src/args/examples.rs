//! Tests the commands shown by help texts and pages: parses their arguments and the scenarios that
//! they name, with every `--set`. Runs none of them.

use super::*;
use crate::lab::scenario;
use std::fs;
use std::path::{Path, PathBuf};

/// Words of lines that show a form or a view instead of a command.
const FORMS: [&str; 4] = ["..", "...", "SHELL", "I/N"];

/// Splits a line into commands and words as a shell does: drops comments and redirections, and
/// begins another command after a pipe, `;`, `&` or `&&`. `None` if a quote is not closed.
fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, '|' | ';' | '&') => {
                commands.last_mut()?.extend(word.take());
                commands.push(Vec::new());
            }
            // The target of a redirection is one more word.
            (None, '>' | '<') => {
                let number = word.take().filter(|word| word != "2" && word != "1");
                commands.last_mut()?.extend(number);
                while chars.next_if(|c| *c == ' ' || *c == '>').is_some() {}
                while chars.next_if(|c| !c.is_whitespace()).is_some() {}
            }
            (None, c) if c.is_whitespace() => commands.last_mut()?.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    commands.last_mut()?.extend(word);
    quote.is_none().then_some(commands)
}

/// Returns the arguments of `lasthop` in a command, without prefixes such as `sudo`; `None` for
/// other programs and for lines that show a form (`..`).
fn arguments(words: &[String]) -> Option<&[String]> {
    let is_prefix = |word: &String| word == "sudo" || word == "time" || word == "$" || is_set(word);
    let begin = words.iter().position(|word| !is_prefix(word))?;
    let rest = words.get(begin..)?;
    let is_form = |word: &String| {
        word.contains('|') || word.starts_with('[') || FORMS.contains(&word.as_str())
    };
    let is_ours = rest.first()? == "lasthop" && rest.len() > 1 && !rest.iter().any(is_form);
    // The head of the view of `capture --live`.
    (is_ours && rest[1] != "mon0").then_some(rest)
}

/// Whether a word sets an environment variable for the command.
fn is_set(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    })
}

/// Whether a command is only the name of a verb.
fn is_name(words: &[String]) -> bool {
    let mut command = command();
    for word in &words[1..] {
        match command.find_subcommand(word) {
            Some(below) => command = below.clone(),
            None => return false,
        }
    }
    true
}

/// Returns the error of a command that does not parse.
fn fault(words: &[String]) -> Option<String> {
    let parsed = command().try_get_matches_from(words).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(why) if why.use_stderr() => return Some(why.to_string()),
        // --help, --version.
        Err(_) => return None,
    };
    let Verb::Lab(verb) = cli.verb else { return None };
    let asked = match &*verb {
        LabVerb::Simulate(Simulate { scenario, .. })
        | LabVerb::Emulate(Emulate { scenario, .. })
        | LabVerb::Compare(Compare { scenario, .. })
        | LabVerb::Medium(Medium { scenario, .. }) => scenario,
        LabVerb::Sweep(Sweep { scenario: Some(scenario), .. }) => scenario,
        _ => return None,
    };
    // A file of the reader's.
    let file = asked.asked();
    let is_own = file.extension().is_some() && !file.starts_with("scenarios");
    if is_own || file == Path::new("-") || file == Path::new("SCENARIO") {
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = match file.extension() {
        Some(_) => fs::read_to_string(root.join(&file)).map_err(|why| why.to_string()),
        None => scenario::read_text(asked).map(Into::into).map_err(|why| why.to_string()),
    };
    match text {
        Err(why) => Some(why),
        Ok(text) => {
            let name = root.join(file.with_extension("toml")).display().to_string();
            lasthop_scenario::parse(&name, &text, &asked.sets()).err().map(|why| why.to_string())
        }
    }
}

/// Collects the texts after the options, of a command and of its subcommands.
fn helps(command: &Command, helps: &mut Vec<String>) {
    let texts = [command.get_after_help(), command.get_after_long_help()];
    helps.extend(texts.into_iter().flatten().map(|help| pasteable(&help.to_string())));
    for below in command.get_subcommands() {
        self::helps(below, helps);
    }
}

#[test]
fn examples_of_help_are_commands() {
    let mut texts = Vec::new();
    helps(&command(), &mut texts);
    let lines = texts.iter().flat_map(|text| text.lines());
    let mut seen = 0;
    let mut faults = Vec::new();
    for line in lines.filter(|line| line.starts_with("  ") && line.contains("lasthop ")) {
        for words in commands(line).expect("quotes are closed") {
            let Some(words) = arguments(&words) else { continue };
            seen += 1;
            faults.extend(fault(words).map(|why| format!("{line}\n{why}")));
        }
    }
    assert!(seen > 40, "{seen}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Paths of the pages: README, docs and tutorials.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/tutorials"] {
        let entries = fs::read_dir(root.join(folder)).expect("it is in the repository");
        let paths = entries.map(|entry| entry.expect("it can be read").path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    pages.sort();
    pages
}

/// Returns the commands of a page, each with whether it stands in a block of code and so is
/// complete. Joins lines that end in a backslash. Other commands stand in spans of code.
fn shown(page: &str) -> Vec<(String, bool)> {
    let mut shown = Vec::new();
    let (mut is_code, mut open) = (false, String::new());
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            open.push_str(line.trim().trim_start_matches("$ "));
            match open.strip_suffix('\\') {
                Some(begun) => open = format!("{begun} "),
                None => shown.push((std::mem::take(&mut open), true)),
            }
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            let spans = spans.filter(|span| span.starts_with("lasthop "));
            shown.extend(spans.map(|span| (span.to_owned(), false)));
        }
    }
    shown
}

#[test]
fn commands_of_pages_are_commands() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("it is text");
        for (line, is_whole) in shown(&page) {
            // Blocks of other languages cannot be split into words of a shell.
            let Some(commands) = commands(&line) else { continue };
            for words in &commands {
                let Some(words) = arguments(words) else { continue };
                if is_name(words) {
                    continue;
                }
                seen += 1;
                let at = path.file_name().unwrap_or_default().to_string_lossy();
                let fault = fault(words).filter(|why| is_whole || !why.contains("not provided"));
                faults.extend(fault.map(|why| format!("{at}: {line}\n{why}")));
            }
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_line_is_read_as_a_shell_does() {
    let words = |line| commands(line).map(|all| all.iter().map(|one| one.join("_")).collect());
    let of = |all: &[&str]| Some(all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
    assert_eq!(words("lasthop set 'a b=1' # why"), of(&["lasthop_set_a b=1"]));
    assert_eq!(words("a 2> x b > y | c"), of(&["a_b", "c"]));
    assert_eq!(words("sleep 2; d"), of(&["sleep_2", "d"]));
    assert_eq!(words("it's"), None);
    let line = commands("sudo SOURCE_DATE_EPOCH=1 lasthop doctor").expect("it is one");
    assert_eq!(arguments(&line[0]).map(<[_]>::len), Some(2));
    assert!(fault(&["lasthop".into(), "simulate".into(), "hello".into()]).is_none());
    let wrong = ["lasthop", "medium", "hello", "--set", "link.snr=12dB"].map(String::from);
    assert!(fault(&wrong).is_some_and(|why| why.contains("link")));
}
