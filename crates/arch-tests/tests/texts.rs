//! Checks the texts of the source tree: links have targets, files have headers, long files give a
//! reason, steps of `.ci/run` exist, and no text depends on paths of one machine. Addresses on the
//! web are not visited, and code is not parsed.

use lasthop_arch_tests::architecture;
use lasthop_arch_tests::files::{self, Text};

/// A file with more lines has `Long because ..` in its header.
const LINES_MAX: usize = 1_000;

/// Number of lines in which the header of a long file is searched.
const HEADER_LINES: usize = 20;

fn with_extension(extension: &str) -> Vec<Text> {
    let mut texts = files::texts();
    texts.retain(|text| text.path.ends_with(&format!(".{extension}")));
    texts
}

#[test]
fn every_source_file_says_what_it_is() {
    for Text { path, text } in with_extension("rs") {
        let opening = text.lines().find(|line| !line.starts_with("#![")).unwrap_or_default();
        let says = if path.starts_with("fuzz/") {
            opening.starts_with("//")
        } else {
            opening.starts_with("//! ")
        };
        assert!(says, "{path} does not open with what it is");
    }
}

#[test]
fn long_files_say_why() {
    for Text { path, text } in with_extension("rs") {
        let explained = text.lines().take(HEADER_LINES).any(|line| line.contains("Long because"));
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX || explained, "{path} has {lines} lines and does not say why");
    }
}

/// A random stream keyed by a counter would change with everything counted before.
#[test]
fn streams_are_keyed_by_identity() {
    let is_of_tests = |path: &str| {
        ["/tests", "/benches/", "fuzz/", "units/src/random.rs"]
            .iter()
            .any(|part| path.contains(part))
    };
    for Text { path, text } in with_extension("rs") {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(is_of_tests(&path) || !code.contains(".indexed("), "{path} counts its streams");
    }
}

#[test]
fn nothing_names_a_folder_of_one_machine() {
    // In two parts each, because this file is searched too.
    const FOLDERS: [(&str, &str); 6] = [
        ("/wo", "rk/"),
        ("/home", "/"),
        ("/ro", "ot/"),
        ("/Use", "rs/"),
        ("../sha", "red"),
        (".libr", "ary/"),
    ];
    for Text { path, text } in files::texts() {
        for (number, line) in text.lines().enumerate() {
            for (head, tail) in FOLDERS {
                let folder = format!("{head}{tail}");
                assert!(!line.contains(&folder), "{path}:{}: {folder}", number + 1);
            }
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let mut links = 0;
    for Text { path, text } in with_extension("md") {
        let folder = files::root().join(&path);
        let folder = folder.parent().expect("a file is in a folder");
        for target in link_targets(&text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { files::root().join(&path) } else { folder.join(file) };
            assert!(file.exists(), "{path}: {target} does not exist");
            if !anchor.is_empty() {
                let there = std::fs::read_to_string(&file).expect("an anchor is in a text");
                let found = there.lines().any(|line| line.starts_with('#') && slug(line) == anchor);
                assert!(found, "{path}: {target} has no such heading");
            }
            links += 1;
        }
    }
    assert!(links > 0, "no link was found, which is this test's fault");
}

/// Returns the targets of `[text](target)` outside of code blocks, except for web and
/// mail addresses.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    let prose = text.lines().filter(move |line| {
        code ^= line.trim_start().starts_with("```");
        !code
    });
    prose
        .flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

/// The anchor of a heading, as code hosts generate it.
fn slug(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The front page sends its readers to scenarios that the program has.
#[test]
fn the_front_page_names_scenarios() {
    let text = files::read("docs/README.md");
    let mut named = 0;
    for rest in text.split("`lasthop simulate ").skip(1) {
        let name = rest.split('`').next().unwrap_or_default();
        let file = files::root().join(format!("scenarios/{name}.toml"));
        assert!(file.exists(), "docs/README.md: no scenario {name}");
        named += 1;
    }
    assert!(named > 5, "{named} scenarios were found, which is this test's fault");
}

/// A workflow that calls a step that is gone would be noticed on another machine only.
#[test]
fn steps_that_are_called_exist() {
    let script = files::read(".ci/run");
    let mut calls = 0;
    for Text { path, text } in files::texts() {
        for call in text.lines().flat_map(|line| called_steps(&path, line)) {
            assert!(script.contains(&format!("\nstep_{call}() {{")), "{path}: no step {call}");
            calls += 1;
        }
    }
    assert!(calls > 20, "{calls} calls were found, which is this test's fault");
}

/// The steps of `.ci/run` that a line calls: of a workflow, of the justfile, and of prose in which
/// the command is code.
fn called_steps<'a>(path: &str, line: &'a str) -> Vec<&'a str> {
    let is_matrix = path.starts_with(".github/workflows/") && line.contains("{ name: ");
    let steps = if path == "justfile" && line.starts_with(' ') {
        line.split_once(".ci/run ").map(|(_, rest)| rest)
    } else if is_matrix {
        line.split_once("steps: ").map(|(_, rest)| rest.trim_end_matches([' ', '}']))
    } else if path.starts_with(".github/workflows/") {
        line.split_once("run: .ci/run ").map(|(_, rest)| rest)
    } else if path.ends_with(".md") {
        line.split_once("`.ci/run ").and_then(|(_, rest)| rest.split('`').next())
    } else {
        None
    };
    // What stands for steps (`${{ matrix.steps }}`) has them elsewhere.
    let steps = steps.and_then(|steps| steps.split(['$', '{']).next());
    steps.map_or(Vec::new(), |steps| steps.split_whitespace().collect())
}

#[test]
fn every_crate_says_what_it_leaves_out() {
    let text = files::read("docs/not-modelled.md");
    for (name, _) in architecture::crates().iter().filter(|(name, _)| *name != "arch-tests") {
        assert!(text.contains(&format!("`{name}`")), "docs/not-modelled.md has nothing on {name}");
    }
}

/// A module with submodules is `x.rs` beside `x/`. Benchmarks are exempt, since a file
/// there would be a separate benchmark.
#[test]
fn there_is_one_style_of_modules() {
    for Text { path, .. } in with_extension("rs") {
        let is_left = path.ends_with("/mod.rs") && path.contains("/src/");
        assert!(!is_left, "{path}: call it by the name of its folder, beside that");
    }
}

/// Finds snapshots that no test uses any more.
#[test]
fn snapshots_belong_to_tests() {
    let mut snapshots = 0;
    for Text { path, text } in with_extension("snap") {
        let source = text.lines().find_map(|line| line.strip_prefix("source: "));
        let source = source.unwrap_or_else(|| panic!("{path}: it has no line `source: `"));
        assert!(files::root().join(source).exists(), "{path}: {source} does not exist");
        let stem = path.rsplit('/').next().expect("a path").trim_end_matches(".snap");
        let (_, name) = stem.rsplit_once("__").unwrap_or(("", stem));
        assert!(files::read(source).contains(name), "{path}: {source} has no {name}");
        snapshots += 1;
    }
    assert!(snapshots > 0, "no snapshot was found, which is this test's fault");
}
