//! Compares the outputs that pages show behind `$ lasthop ..` with the outputs of the command.
//! Runs in virtual time must print the same text; of runs in real time numbers may differ. A
//! line `..` on a page stands for any lines. Tutorials are followed by `dist/tutorials`.

use crate::lasthop::{Scratch, lasthop, skipped};
use std::fs;
use std::path::{Path, PathBuf};

/// How the output of a shown command is compared.
enum Trial {
    /// The same text; run in a scratch folder after the commands of the list.
    Same(&'static [&'static [&'static str]]),
    /// The same text but for numbers and spaces, of other arguments that do the same.
    Shape(&'static [&'static str]),
    /// Another test, which is named.
    Elsewhere(&'static str),
}

/// Stands for the path of the program, which runs on the first station.
const PROGRAM: &str = "PROGRAM";

/// Commands with outputs on pages.
const TRIALS: [(&str, Trial); 9] = [
    ("lasthop simulate upload", Trial::Same(&[])),
    (
        "lasthop capture air.pcapng",
        Trial::Same(&[&["simulate", "scan", "--set", "duration=20s", "--out", "run", "--pcap"]]),
    ),
    (
        "lasthop emulate --place cafe -- ./my-app",
        Trial::Shape(&["emulate", "--place", "cafe", "--", "ping", "-q", "-c", "3", "server"]),
    ),
    ("lasthop set", Trial::Shape(&["emulate", "hello", "--quiet", "--", PROGRAM, "set"])),
    (
        "lasthop set link.ap-laptop.loss=1",
        Trial::Shape(&[
            "emulate",
            "hello",
            "--set",
            "flow=[]",
            "--quiet",
            "--",
            PROGRAM,
            "set",
            "link.ap-laptop.loss=1",
        ]),
    ),
    ("lasthop franc run", Trial::Elsewhere("dist/tutorials mesh")),
    ("lasthop franc stats", Trial::Elsewhere("dist/tutorials mesh")),
    ("lasthop doctor", Trial::Elsewhere("tests/command/doctor.rs")),
    // The words; the numbers of such a queue are in tests/emulation.rs.
    ("lasthop apq measure", Trial::Elsewhere("../report/src/apq/words.rs")),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of a page and their outputs, of fenced and indented blocks.
fn shown(page: &str) -> Vec<(String, Vec<String>)> {
    let mut shown: Vec<(String, Vec<String>)> = Vec::new();
    let (mut is_fenced, mut is_open) = (false, false);
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            is_open = false;
            continue;
        }
        let code = if is_fenced { Some(line) } else { line.strip_prefix("    ") };
        match code {
            Some(code) if code.starts_with("$ ") => {
                is_open = true;
                let command = code[2..].trim_start_matches("sudo ").trim_end_matches(" &");
                shown.push((command.to_owned(), Vec::new()));
            }
            Some(code) if is_open => {
                let (_, output) = shown.last_mut().expect("a command is open");
                output.push(code.trim_end().to_owned());
            }
            _ => is_open = false,
        }
    }
    shown.retain(|(command, _)| command.starts_with("lasthop "));
    shown
}

/// Whether the lines of a page stand for the lines that were printed.
fn stands_for(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == ".." => {
            (0..=printed.len()).any(|skipped| stands_for(rest, &printed[skipped..]))
        }
        Some((line, rest)) => printed.first() == Some(line) && stands_for(rest, &printed[1..]),
    }
}

/// A line with each number as one sign, and without the width of columns.
fn masked(line: &str) -> String {
    let mut masked = String::new();
    for word in line.split_whitespace() {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let is_wildcard = word == "..";
        let mut rest = word;
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()).filter(|_| !is_wildcard) {
            masked.push_str(&rest[..at]);
            masked.push('#');
            rest = rest[at..].trim_start_matches(digits);
        }
        masked.push_str(rest);
        masked.push(' ');
    }
    masked.trim_end().to_owned()
}

fn assert_shown(page: &str, command: &str, shown: &[String], printed: &str, is_shape: bool) {
    let line = |line: &str| if is_shape { masked(line) } else { line.trim_end().to_owned() };
    let shown: Vec<String> = shown.iter().map(|shown| line(shown)).collect();
    let lines: Vec<String> = printed.lines().map(line).collect();
    assert!(
        stands_for(&shown, &lines),
        "{page}: {command}\nshown:\n{}\nprinted:\n{printed}",
        shown.join("\n")
    );
}

/// The pages whose outputs are compared.
fn pages() -> Vec<(String, String)> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is in the repository") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() && !path.ends_with("tutorials") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = |path: &Path| fs::read_to_string(path).expect("it is text");
    pages.iter().map(|path| (name(path), text(path))).collect()
}

#[test]
fn outputs_of_pages_are_those_of_the_command() {
    let is_refused = skipped();
    let mut compared = 0;
    for (page, text) in pages() {
        for (command, shown) in shown(&text).iter().filter(|(_, shown)| !shown.is_empty()) {
            let known = |(begin, trial): &(&str, Trial)| match trial {
                Trial::Elsewhere(_) => command.starts_with(begin),
                _ => command == begin,
            };
            let trial = TRIALS.iter().find(|trial| known(trial));
            match trial.map(|(_, trial)| trial) {
                None => panic!("{page}: no trial compares the output of {command}"),
                Some(Trial::Elsewhere(test)) => assert!(!test.is_empty()),
                Some(Trial::Same(before)) => {
                    let scratch = Scratch::new("page");
                    fs::create_dir(scratch.path()).expect("a scratch folder");
                    let run = |arguments: &[&str]| {
                        let result = lasthop(arguments).current_dir(scratch.path()).output();
                        let result = result.expect("the binary can be run");
                        let errors = String::from_utf8_lossy(&result.stderr).into_owned();
                        assert!(result.status.success(), "{arguments:?}: {errors}");
                        String::from_utf8(result.stdout).expect("it prints text")
                    };
                    for arguments in *before {
                        run(arguments);
                    }
                    let capture = scratch.path().join("run/air.pcapng");
                    if capture.exists() {
                        fs::rename(&capture, scratch.path().join("air.pcapng")).expect("a file");
                    }
                    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
                    assert_shown(&page, command, shown, &run(&arguments), false);
                    compared += 1;
                }
                Some(Trial::Shape(arguments)) if !is_refused => {
                    let program = env!("CARGO_BIN_EXE_lasthop");
                    let replaced = |it: &&'static str| if *it == PROGRAM { program } else { it };
                    let arguments: Vec<&str> = arguments.iter().map(replaced).collect();
                    let result = lasthop(&arguments).output().expect("the binary can be run");
                    let [out, errors] = [result.stdout, result.stderr]
                        .map(|it| String::from_utf8_lossy(&it).into_owned());
                    assert!(result.status.success(), "{arguments:?}: {errors}");
                    assert_shown(&page, command, shown, &(out + &errors), true);
                    compared += 1;
                }
                Some(Trial::Shape(_)) => {}
            }
        }
    }
    assert!(compared >= 2, "{compared}");
}

#[test]
fn wildcards_stand_for_lines() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(stands_for(&lines("..\nb\n.."), &lines("a\nb")));
    assert!(!stands_for(&lines("..\nb"), &lines("a\nb\nc")));
    assert!(!stands_for(&lines("a"), &lines("b")));
    assert_eq!(masked("  x:57032   0.19 .."), "x:# # ..");
    let page = "```\n$ sudo lasthop a &\n..\n```\n\n    $ lasthop b\n    c\n";
    assert_eq!(
        shown(page),
        [("lasthop a".to_owned(), lines("..")), ("lasthop b".to_owned(), lines("c")),]
    );
}
