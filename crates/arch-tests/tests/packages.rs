//! Checks the published crates: the files and fields of a package, and the facts in READMEs. Runs
//! every example of a crate with a README, and compares its output with the README. `.ci/run
//! publish` makes cargo's own checks of packages.

use lasthop_arch_tests::files::{self, Text};
use lasthop_arch_tests::{architecture, cargo};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Most keywords that the registry takes.
const KEYWORDS_MAX: usize = 5;

/// The crates that are published, by the names of their folders.
fn published() -> BTreeMap<String, Value> {
    let mut crates = cargo::manifests();
    // `publish = false` is an empty list of registries.
    crates.retain(|_, manifest| manifest["publish"].is_null());
    assert!(!crates.is_empty(), "no crate is published, which is this test's fault");
    crates
}

fn texts(values: &Value) -> impl Iterator<Item = &str> {
    values.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The READMEs of crates, with their manifests, by the names of their folders.
fn readmes() -> Vec<(String, Value, String)> {
    let with_readme = |(name, manifest): (String, Value)| {
        let path = format!("crates/{name}/README.md");
        files::root().join(&path).exists().then(|| (name, manifest, files::read(&path)))
    };
    published().into_iter().filter_map(with_readme).collect()
}

#[test]
fn every_package_has_what_its_page_shows() {
    let rust_version = rust_version();
    for (name, manifest) in published() {
        assert!(!manifest["description"].as_str().unwrap_or_default().is_empty(), "{name}");
        let keywords = texts(&manifest["keywords"]).count();
        assert!((1..=KEYWORDS_MAX).contains(&keywords), "{name} has {keywords} keywords");
        assert!(texts(&manifest["categories"]).count() > 0, "{name} has no category");
        assert_eq!(manifest["rust_version"], rust_version.as_str(), "{name}");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let own = files::read(&format!("crates/{name}/{licence}"));
            assert!(own == files::read(licence), "{name} has another {licence}");
        }
    }
}

/// A package has no files from outside of its folder. Code for tests is not examined.
#[test]
fn what_a_library_includes_is_in_its_folder() {
    let texts = files::texts();
    let mut includes = 0;
    for (name, _) in published() {
        let source = format!("crates/{name}/src/");
        for Text { path, text } in &texts {
            if !path.starts_with(&source) || !path.ends_with(".rs") || path.contains("/tests") {
                continue;
            }
            let folder = Path::new(path).parent().expect("a file is in a folder");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for start in ["include_str!(\"", "include_bytes!(\"", "#[path = \""] {
                for rest in code.split(start).skip(1) {
                    let target = rest.split('"').next().unwrap_or_default();
                    let inside = is_inside(&folder.join(target), &format!("crates/{name}"));
                    assert!(inside, "{path} includes {target}, which is not in its package");
                    includes += 1;
                }
            }
            let climbs = code.contains("CARGO_MANIFEST_DIR\"), \"/..");
            assert!(!climbs, "{path} includes what is not in its package");
        }
    }
    assert!(includes > 0, "no include was found, which is this test's fault");
}

/// A link for each file, and not one for their folder: tools for source distributions follow
/// links to files only.
#[test]
fn scenarios_of_figures_are_the_shipped_ones() {
    let root = files::root().canonicalize().expect("the root is there");
    let mut folders = vec![PathBuf::from("scenarios")];
    let mut links = 0;
    while let Some(folder) = folders.pop() {
        let inside = root.join("crates/studies").join(&folder);
        for entry in std::fs::read_dir(inside).expect("a folder of the tree") {
            let path = entry.expect("an entry of the tree").path();
            let below = folder.join(path.file_name().expect("an entry has a name"));
            if path.is_dir() && !path.is_symlink() {
                folders.push(below);
                continue;
            }
            let target = path.canonicalize().unwrap_or_else(|why| panic!("{path:?}: {why}"));
            assert_eq!(target, root.join(&below), "{path:?} is not a link to the shipped file");
            links += 1;
        }
    }
    assert!(links > 0, "no link was found, which is this test's fault");
}

/// Whether a path is below `folder` once its `..` are resolved by their names.
fn is_inside(path: &Path, folder: &str) -> bool {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            part => resolved.push(part),
        }
    }
    resolved.starts_with(folder)
}

/// A package with an unpublished dependency cannot be built.
#[test]
fn what_is_published_needs_what_is_published() {
    let published = published();
    for (name, manifest) in &published {
        for dependency in manifest["dependencies"].as_array().into_iter().flatten() {
            let Some(folder) = dependency["path"].as_str() else { continue };
            let member = folder.rsplit('/').next().expect("a path has a last part");
            let is_for_tests = dependency["kind"] == "dev";
            let has_version = dependency["req"] != "*";
            assert!(
                published.contains_key(member) && has_version || is_for_tests && !has_version,
                "{name} needs {member}, which is not published or has no version"
            );
        }
    }
}

/// Doors, studies and crates for tests are not libraries for other projects.
#[test]
fn libraries_are_published_and_nothing_else() {
    let published = published();
    for (name, member) in architecture::crates() {
        let is_library = !["door", "studies", "tests"].contains(&member.kind.as_str());
        assert_eq!(published.contains_key(&name), is_library, "{name} is a {}", member.kind);
    }
}

/// The crates whose API is promised: CONTRIBUTING.md and the check of their versions name the same
/// ones, and every other library says that it is unstable.
#[test]
fn libraries_say_whether_their_api_is_stable() {
    let page = files::read("CONTRIBUTING.md");
    let promise = page.lines().find(|line| line.starts_with("The public API is"));
    let promise = promise.and_then(|line| line.split(". ").next()).expect("a promise");
    let promised: Vec<&str> = promise.split('`').skip(1).step_by(2).collect();
    let script = files::read(".ci/run");
    let checked = script.lines().find_map(|line| line.strip_prefix("readonly stable_crates=("));
    let checked = checked.expect("the list of the script").trim_end_matches(')');
    assert_eq!(checked.split(' ').collect::<Vec<_>>(), promised);
    for name in published().into_keys() {
        let text = files::read(&format!("crates/{name}/src/lib.rs"));
        let is_unstable = text.contains("//! Unstable: ");
        assert_ne!(is_unstable, promised.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn readmes_say_which_rust_and_which_features() {
    let rust_version = rust_version();
    for (name, manifest, readme) in readmes() {
        assert!(readme.contains(&format!("Rust {rust_version} or later")), "{name}: which Rust?");
        let features = manifest["features"].as_object().expect("as cargo metadata documents it");
        for feature in features.keys().filter(|feature| *feature != "default") {
            assert!(readme.contains(&format!("`{feature}`")), "{name}: nothing on {feature}");
        }
        assert!(!readme.contains("](.."), "{name}: a package has no files of other folders");
        let says_none = readme.contains("There are no features");
        assert_eq!(says_none, features.is_empty(), "{name} has the features {features:?}");
    }
}

/// Builds the examples of all packages, and returns their programs by name. After a build of the
/// workspace's tests they are there: alone, a package would be built with other features.
fn built_examples() -> BTreeMap<String, PathBuf> {
    let mut command = cargo::cargo();
    command.args(["build", "--quiet", "--workspace", "--examples", "--message-format=json"]);
    let program = |line: &str| {
        let message: Value = serde_json::from_str(line).expect("cargo prints JSON");
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, PathBuf::from(message["executable"].as_str()?)))
    };
    cargo::output(command).lines().filter_map(program).collect()
}

#[test]
fn readmes_show_what_examples_print() {
    let (mut examples, built) = (0, built_examples());
    for (name, manifest, readme) in readmes() {
        let targets = manifest["targets"].as_array().into_iter().flatten();
        let own = targets.filter(|target| texts(&target["kind"]).any(|kind| kind == "example"));
        let own: Vec<_> = own.filter_map(|target| target["name"].as_str()).collect();
        assert!(!own.is_empty(), "{name} has a README and no example");
        for example in own {
            let printed = cargo::output(Command::new(&built[example]));
            let shown = format!("$ cargo run --example {example}\n{printed}");
            let is_shown = readme.contains(&format!("```text\n{}\n```", shown.trim_end()));
            assert!(is_shown, "crates/{name}/README.md does not show this:\n{shown}");
            examples += 1;
        }
    }
    assert!(examples > 0, "no example was run, which is this test's fault");
}

/// The oldest Rust that the workspace promises.
fn rust_version() -> String {
    let manifest = files::read("Cargo.toml");
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    line.expect("the workspace says it").trim_end_matches('"').to_owned()
}
