//! The output of `--help`: every verb's ends in an example and fits a screen.

use crate::lasthop::{Scratch, lasthop, output};
use std::fs;
use std::process::Command;

const VERBS: [&str; 26] = [
    "completions",
    "manual",
    "simulate",
    "sweep",
    "emulate",
    "compare",
    "report",
    "serve",
    "reproduce",
    "apq",
    "apq serve",
    "apq measure",
    "franc",
    "franc run",
    "franc stats",
    "franc key",
    "medium",
    "capture",
    "doctor",
    "scenario",
    "scenario list",
    "scenario show",
    "scenario init",
    "places",
    "schema",
    "demo",
];

#[test]
fn help_of_all_verbs() {
    let mut text = output(&["--help"]);
    for verb in VERBS {
        let arguments: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = output(&arguments);
        let (_, examples) = help.split_once("\nExample").expect("there is an example");
        assert!(examples.contains(&format!("  lasthop {verb}")), "{verb}");
        text += &format!("\n==> {verb}\n{help}");
        if help.contains("--help-all") && verb != "franc run" {
            let arguments: Vec<&str> = verb.split(' ').chain(["--help-all"]).collect();
            text += &format!("\n==> {verb} --help-all\n{}", output(&arguments));
        }
    }
    insta::assert_snapshot!(text);
}

/// Help fits a screen of 35 lines of 80 columns; the list of all verbs has 43 lines. Examples may be
/// wider, since their lines are not broken.
#[test]
fn help_fits_a_screen() {
    for (verb, lines_max) in VERBS.into_iter().map(|verb| (verb, 35)).chain([("", 43)]) {
        let arguments = verb.split(' ').filter(|word| !word.is_empty()).chain(["--help"]);
        let arguments: Vec<&str> = arguments.collect();
        let shown = lasthop(&arguments).env("COLUMNS", "80").output().expect("it can be run");
        let help = String::from_utf8(shown.stdout).expect("it prints text");
        let lines = help.lines().count();
        assert!(lines <= lines_max, "{verb}: {lines} lines\n{help}");
        let (options, _) = help.split_once("\nExample").expect("there is an example");
        let widest = options.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{verb}: {widest:?} columns\n{help}");
    }
}

/// Examples copied from a narrow terminal are complete commands.
#[test]
fn examples_are_broken_at_no_width() {
    let examples = |verb: &str, columns: &str| {
        let arguments = verb.split(' ').filter(|word| !word.is_empty()).chain(["--help"]);
        let arguments: Vec<&str> = arguments.collect();
        let told = lasthop(&arguments).env("COLUMNS", columns).output().expect("it can be run");
        let help = String::from_utf8(told.stdout).expect("it prints text");
        assert!(!help.contains('\u{a0}'), "{verb}: a shell knows one space");
        let (_, examples) = help.split_once("\nExample").expect("there is an example");
        let commands: Vec<String> =
            examples.lines().filter(|line| line.starts_with("  ")).map(str::to_owned).collect();
        (help, commands)
    };
    for verb in VERBS.into_iter().chain([""]) {
        let (wide, commands) = examples(verb, "200");
        let (narrow, broken) = examples(verb, "40");
        assert_ne!(wide, narrow, "{verb}: sentences are as wide as the terminal");
        assert_eq!(commands, broken, "{verb}");
    }
}

/// groff formats the pages of `manual` without a warning.
#[test]
fn manual_pages_are_readable() {
    let scratch = Scratch::new("manual");
    output(&["manual", &scratch.path().display().to_string()]);
    let mut pages = 0;
    for section in ["man1", "man5"] {
        for entry in fs::read_dir(scratch.path().join(section)).expect("it is written") {
            let path = entry.expect("it can be read").path();
            let shown =
                Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&path).output();
            let Ok(shown) = shown else { return eprintln!("skipped, because there is no groff") };
            let complaints = String::from_utf8_lossy(&shown.stderr);
            assert!(shown.status.success() && complaints.is_empty(), "{complaints}");
            pages += 1;
        }
    }
    assert!(pages > 25, "{pages}");
}
