//! Completions of shells, requested as the shells do.

use crate::lasthop::{Scratch, output};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The folder of the command, for the path of a shell.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_lasthop")).parent().expect("a program is in a folder")
}

fn script(shell: &str) -> String {
    output(&["completions", shell])
}

/// Runs a script in `program` with the command on its path, and returns the output; `None` if there
/// is no such shell here.
fn run(program: &str, options: &[&str], text: &str) -> Option<String> {
    let path = format!("{}:{}", folder().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new(program).args(options).arg(text).env("PATH", path).output().ok()?;
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("completions are text"))
}

/// Completes as readline does: words are broken at `=`, and the text before the last break stays.
fn in_bash(words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let text = format!(
        "{}\nCOMP_WORDS=({}) COMP_CWORD={} COMP_TYPE=9 COMPREPLY=()\n\
         _lasthop lasthop '{}' ''\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script("bash"),
        quoted.join(" "),
        words.len() - 1,
        words.last().expect("there are words"),
    );
    let output = run("bash", &["--norc", "-c"], &text).expect("tests need bash");
    output.lines().map(Into::into).collect()
}

#[test]
fn bash_is_given_verbs_scenarios_and_places() {
    assert_eq!(in_bash(&["lasthop", "sim"]), ["simulate"]);
    assert_eq!(in_bash(&["lasthop", "simulate", "retryout/"]), ["retryout/upload"]);
    assert_eq!(
        in_bash(&["lasthop", "emulate", "--place", "ca"]),
        ["cafe", "cafe-chain", "cafe-dsl"]
    );
    assert_eq!(in_bash(&["lasthop", "emulate", "upload", "--in", "s"]), ["server"]);
    assert_eq!(in_bash(&["lasthop", "reproduce", "scan/fig1"]), ["scan/fig10"]);
}

#[test]
fn bash_is_given_keys_and_values_of_the_scenario_on_the_line() {
    let set = |words: &[&str]| {
        let line = ["lasthop", "simulate", "hello", "--set"];
        in_bash(&[line.as_slice(), words].concat())
    };
    assert_eq!(set(&["node."]), ["node.ap.", "node.laptop.", "node.*."]);
    assert_eq!(set(&["channel.wid"]), ["channel.width="]);
    assert_eq!(set(&["channel.width", "=", ""]), ["20MHz", "40MHz", "80MHz", "160MHz", "320MHz"]);
    assert_eq!(set(&["channel.width", "=", "4"]), ["40MHz"]);
    assert_eq!(set(&["=", "node.ap.queue.kind", "=", "f"]), ["fq-codel"]);
}

#[test]
fn a_scenario_file_is_read_for_its_names() {
    let folder = Scratch::new("completions");
    let file = folder.path().join("my.toml");
    fs::create_dir_all(folder.path()).expect("it can be made");
    fs::write(&file, "[[node]]\nname = \"attic\"\n").expect("it can be written");
    let file = file.display().to_string();
    let found = in_bash(&["lasthop", "simulate", &file, "--set", "node.at"]);
    assert!(found.iter().all(|it| it.starts_with("node.attic.")) && found.len() > 20, "{found:?}");
}

#[test]
fn fish_and_zsh_take_their_scripts() {
    let asked = "complete -C 'lasthop simulate hello --set channel.width='";
    match run("fish", &["--no-config", "-c"], &format!("{}\n{asked}", script("fish"))) {
        Some(found) => assert!(found.contains("channel.width=40MHz"), "{found}"),
        None => eprintln!("skipped, because there is no fish"),
    }
    // A function of zsh's completion asks; whether it is a script, zsh itself says.
    match run("zsh", &["-f", "-n", "-c"], &script("zsh")) {
        Some(printed) => assert_eq!(printed, ""),
        None => eprintln!("skipped, because there is no zsh"),
    }
}
