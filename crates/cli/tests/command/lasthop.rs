//! Runs the binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The command, in the root of the repository, its surroundings as in a pipe.
pub fn lasthop(arguments: &[&str]) -> Command {
    as_in_a_pipe(Command::new(env!("CARGO_BIN_EXE_lasthop")), arguments)
}

/// The same with signals as in a terminal: what a shell starts in its background
/// is deaf to SIGINT, and what these tests start would be too.
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
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Its end.
pub fn run(arguments: &[&str]) -> Output {
    lasthop(arguments).output().expect("the binary can be run")
}

/// What it prints, if it succeeds and complains of nothing.
pub fn output(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "{arguments:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// A directory that goes when the test is over.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A directory of this test alone, not made yet.
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

    /// The names of all that is in it, sorted; empty if it is not there.
    pub fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

/// The names of all that is in a directory, sorted; empty if it is not there.
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
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The kernel refuses what an emulation needs; says so.
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
