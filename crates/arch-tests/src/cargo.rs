//! Queries cargo about the workspace: declared dependencies from `cargo metadata`, resolved
//! packages with their features from `cargo tree`. Cargo runs with `--locked`, so it does not
//! change the lock file. A failing command panics with its output.

use crate::files;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// A package of the resolved graph, of this workspace or not.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name of the package.
    pub name: String,
    /// The crate of this workspace that it is, by its folder in `crates/`; `None` for
    /// other packages.
    pub member: Option<String>,
    /// Names of the packages in its manifest as dependencies of any kind.
    pub dependencies: BTreeSet<String>,
    /// Dependencies of the library without features, tests and build scripts.
    pub built_in: BTreeSet<String>,
    /// Path of the root file of its library, if it has one.
    pub library: Option<PathBuf>,
}

/// The command `cargo`, at the root of the workspace, with the lock file protected.
pub fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(files::root()).arg("--locked");
    command
}

/// Runs `command` and returns its output. Panics if the command fails.
pub fn output(mut command: Command) -> String {
    let output = command.output().expect("cargo runs this test, so it can be run");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{error}");
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

/// Returns all packages of the resolved graph, by package id.
pub fn packages() -> BTreeMap<String, Package> {
    array(&metadata(&[])["packages"]).iter().map(|p| (text(&p["id"]), package(p))).collect()
}

/// Returns the crates of this workspace as `cargo metadata` describes them, by the names of
/// their folders.
pub fn manifests() -> BTreeMap<String, Value> {
    let described = metadata(&["--no-deps"]);
    let packages = array(&described["packages"]).iter();
    packages.filter_map(|p| Some((package(p).member?, p.clone()))).collect()
}

fn metadata(arguments: &[&str]) -> Value {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]).args(arguments);
    serde_json::from_str(&output(command)).expect("cargo prints JSON")
}

/// Returns the crates of this workspace, by the names of their folders.
pub fn crates() -> BTreeMap<String, Package> {
    packages()
        .into_values()
        .filter_map(|package| Some((package.member.clone()?, package)))
        .collect()
}

fn package(package: &Value) -> Package {
    let is_library = |target: &&Value| {
        array(&target["kind"]).iter().any(|kind| kind == "lib" || kind == "proc-macro")
    };
    let dependencies = array(&package["dependencies"]);
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(files::root()).ok());
    let member = folder.and_then(|folder| folder.strip_prefix("crates").ok());
    Package {
        name: text(&package["name"]),
        member: member.map(|member| member.to_string_lossy().into_owned()),
        dependencies: dependencies.iter().map(|d| text(&d["name"])).collect(),
        built_in: dependencies
            .iter()
            .filter(|d| d["kind"].is_null() && d["optional"] != true)
            .map(|d| text(&d["name"]))
            .collect(),
        library: array(&package["targets"])
            .iter()
            .find(is_library)
            .map(|target| PathBuf::from(text(&target["src_path"]))),
    }
}

/// Returns the packages that are linked into the library of `package`, itself included,
/// except for procedural macros. Features are resolved for this package alone, as for a
/// program without other dependencies.
pub fn linked(package: &str) -> Vec<Linked> {
    linked_with(package, &[])
}

/// The same with more features of `package`.
pub fn linked_with(package: &str, features: &[&str]) -> Vec<Linked> {
    tree(package, &["--features", &features.join(",")])
}

/// The same with these features of `package` only.
pub fn linked_with_only(package: &str, features: &[&str]) -> Vec<Linked> {
    tree(package, &["--no-default-features", "--features", &features.join(",")])
}

fn tree(package: &str, arguments: &[&str]) -> Vec<Linked> {
    let mut command = cargo();
    command.args(["tree", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe"]);
    command.args(["--format", "{p}|{f}", "--package", package]).args(arguments);
    let lines: BTreeSet<String> = output(command).lines().map(str::to_owned).collect();
    lines.iter().map(|line| Linked::new(line)).collect()
}

/// A package that is linked into a crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// Name of the package.
    pub name: String,
    /// Version of the package, such as `1.0.0`.
    pub version: String,
    /// The features that are enabled.
    pub features: BTreeSet<String>,
}

impl Linked {
    /// Parses a line `name vVERSION (path)|feature,feature`.
    fn new(line: &str) -> Self {
        let (package, features) = line.split_once('|').expect("as the format has it");
        let mut words = package.split(' ');
        let mut word = || words.next().expect("a name and a version").to_owned();
        let name = word();
        let version = word().trim_start_matches('v').to_owned();
        let features = features.split(',').filter(|f| !f.is_empty()).map(str::to_owned).collect();
        Self { name, version, features }
    }

    /// Whether `id` identifies this package, in one of the forms that cargo uses:
    /// `..#name@version`, or `..#version` if the folder has the package's name.
    pub fn is(&self, id: &str) -> bool {
        let Some((source, tail)) = id.rsplit_once('#') else { return false };
        let (name, version) =
            tail.split_once('@').unwrap_or((source.rsplit('/').next().unwrap_or(source), tail));
        name == self.name && version == self.version
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("as cargo metadata documents it")
}

fn text(value: &Value) -> String {
    value.as_str().expect("as cargo metadata documents it").to_owned()
}
