//! Runs the binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The command in the root of the repository, with the environment of a pipe.
pub fn lasthop(arguments: &[&str]) -> Command {
    as_in_a_pipe(Command::new(env!("CARGO_BIN_EXE_lasthop")), arguments)
}

/// The command with signals as in a terminal: what a shell starts in the background
/// ignores SIGINT, and so would what these tests start.
pub fn interruptible(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM", env!("CARGO_BIN_EXE_lasthop")]);
    as_in_a_pipe(command, arguments)
}

fn as_in_a_pipe(mut command: Command, arguments: &[&str]) -> Command {
    command
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Output {
    lasthop(arguments).output().expect("the binary can be run")
}

/// The output of the command, which has to succeed without errors on standard error.
pub fn output(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "{arguments:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// A directory that is removed when the test ends.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A directory of this test only, not created yet.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lasthop-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn text(&self) -> &str {
        self.0.to_str().expect("a path of ASCII")
    }

    /// The names of its entries, sorted; empty if it does not exist.
    pub fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

/// The names of the entries of a directory, sorted; empty if it does not exist.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry.expect("it can be read"))).collect();
    names.sort();
    names
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test may have put a file in its place.
        let _ = std::fs::remove_dir_all(&self.0).or_else(|_| std::fs::remove_file(&self.0));
    }
}

/// Whether the kernel refuses what an emulation needs; if so, prints that.
pub fn skipped() -> bool {
    let output = run(&["emulate", "scenarios/hello.toml", "--duration", "1ms"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_refused = errors.contains("cannot emulate here");
    assert!(is_refused || output.status.success(), "{errors}");
    if is_refused {
        eprintln!("skipped, because {errors}");
    }
    is_refused
}
