//! Compares the crates, their dependencies and what else they touch with ARCHITECTURE.md.
//! Dependencies of every kind count, those of tests and build scripts too. Checks also that drivers
//! are independent of each other, and that some kinds of packages are not used.

use lasthop_arch_tests::files::{self, Text};
use lasthop_arch_tests::{architecture, cargo};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn the_table_has_every_crate_and_no_other() {
    let described: BTreeSet<_> = architecture::crates().into_keys().collect();
    let there: BTreeSet<_> = cargo::crates().into_keys().collect();
    assert_eq!(described, there, "left: ARCHITECTURE.md, right: crates/");
}

#[test]
fn a_crate_depends_on_what_the_table_says() {
    let table = architecture::crates();
    let crates = cargo::crates();
    for (name, package) in &crates {
        let used = crates.iter().filter(|(_, other)| package.dependencies.contains(&other.name));
        // A crate names itself to turn on a feature for its tests.
        let used = used.map(|(member, _)| member.clone()).filter(|member| member != name);
        let used: BTreeSet<String> = used.collect();
        assert_eq!(table[name].may_depend_on, used, "{name}: left: ARCHITECTURE.md, right: cargo");
    }
}

/// Crates that touch `thing`: `unsafe`, a rule of `clippy.toml`, or a package and those that begin
/// with its name, without dependencies of tests.
fn touching(thing: &str) -> BTreeSet<String> {
    let has_source = |name: &str, is_there: &dyn Fn(&Text) -> bool| {
        let source = format!("crates/{name}/src/");
        files::texts().iter().any(|text| text.path.starts_with(&source) && is_there(text))
    };
    let touches = |name: &str, manifest: &Value| match thing {
        "unsafe" => !files::read(&format!("crates/{name}/src/lib.rs")).contains(FORBIDS_UNSAFE),
        "clippy" => has_source(name, &|text| {
            ["clippy::disallowed_methods", "clippy::disallowed_types"]
                .iter()
                .any(|lint| text.text.contains(lint))
        }),
        package => manifest["dependencies"].as_array().into_iter().flatten().any(|dependency| {
            let is_it = dependency["name"].as_str().is_some_and(|name| {
                name.strip_prefix(package)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
            });
            is_it && dependency["kind"] != "dev"
        }),
    };
    let manifests = cargo::manifests().into_iter();
    manifests.filter(|(name, manifest)| touches(name, manifest)).map(|(name, _)| name).collect()
}

const FORBIDS_UNSAFE: &str = "#![forbid(unsafe_code)]";

#[test]
fn a_crate_touches_what_the_table_says() {
    let table = architecture::touches();
    assert!(table.contains_key("unsafe") && table.contains_key("clippy"), "{table:?}");
    for (thing, crates) in table {
        assert_eq!(crates, touching(&thing), "{thing}: left: ARCHITECTURE.md, right: the crates");
    }
}

/// A page begins with the picture, has about 500 words a printed page, and no long sentence.
#[test]
fn the_page_is_short() {
    const WORDS_MAX: usize = 2_000;
    const SENTENCE_WORDS_MAX: usize = 40;
    let page = files::read("ARCHITECTURE.md");
    assert!(page.starts_with("# Architecture\n\n```\n"), "a picture comes first");
    let words = page.split_whitespace().count();
    assert!(words <= WORDS_MAX, "{words} words, at most {WORDS_MAX}");
    let prose = page.split("```").nth(2).expect("text follows the picture");
    let lines = prose.lines().filter(|line| !line.starts_with("| ") && !line.is_empty());
    let sentences: Vec<&str> = lines.flat_map(|line| line.split(". ")).collect();
    assert!(sentences.len() > 50, "{} sentences, which is this test's fault", sentences.len());
    let is_long = |text: &&&str| text.split_whitespace().count() > SENTENCE_WORDS_MAX;
    let long: Vec<_> = sentences.iter().filter(is_long).collect();
    assert!(long.is_empty(), "{long:#?}");
}

/// Paths are below `crates/`, or of the tree.
#[test]
fn paths_on_the_page_are_there() {
    let paths = architecture::paths();
    assert!(paths.len() > 40, "{} paths were found, which is this test's fault", paths.len());
    let is_there = |path: &str| {
        let root = files::root();
        root.join("crates").join(path).exists() || root.join(path).exists()
    };
    let missing: Vec<_> = paths.iter().filter(|path| !is_there(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_table_itself_keeps_the_drivers_apart() {
    let table = architecture::crates();
    for driver in ["emulate", "hwsim", "daemon"] {
        assert!(!table["sim"].may_depend_on.contains(driver));
        assert!(!table[driver].may_depend_on.contains("sim"));
    }
    // What knows no machine: values, and headers as bytes.
    let known: Vec<_> = table["linux"].may_depend_on.iter().collect();
    assert_eq!(known, ["packet", "units"]);
    let known = table["trace"].may_depend_on.iter().filter(|member| *member != "fixtures");
    assert!(known.into_iter().all(|member| table[member].is_pure()));
}

#[test]
fn pure_crates_depend_on_pure_crates() {
    let table = architecture::crates();
    for (name, member) in table.iter().filter(|(_, member)| member.is_pure()) {
        for dependency in &member.may_depend_on {
            assert!(
                table[dependency].is_pure(),
                "{name} may depend on {dependency}, which is not pure"
            );
        }
    }
}

#[test]
fn what_is_for_tests_is_built_into_tests_only() {
    let table = architecture::crates();
    let crates = cargo::crates();
    let is_for_tests = |member: &str| table[member].kind == "tests";
    for (name, package) in crates.iter().filter(|(name, _)| !is_for_tests(name)) {
        let mut used = crates.iter().filter(|(_, other)| package.built_in.contains(&other.name));
        let wrong = used.find(|(member, _)| is_for_tests(member));
        assert!(wrong.is_none(), "{name} is built with {:?}", wrong.map(|(member, _)| member));
    }
    // Optional dependencies count where something is shipped.
    let shipped = ["lasthop-py", "lasthop-playground"].map(cargo::linked).concat();
    for linked in cargo::linked_with("lasthop", &["studies"]).iter().chain(&shipped) {
        let member = crates.iter().find(|(_, package)| package.name == linked.name);
        let wrong = member.filter(|(member, _)| is_for_tests(member));
        assert!(wrong.is_none(), "{} is shipped", linked.name);
    }
}

/// Papers take a third of a minute to compile: a default build leaves them out, packages have them.
#[test]
fn a_default_build_has_no_studies() {
    let has = |linked: Vec<cargo::Linked>| linked.iter().any(|it| it.name == "lasthop-studies");
    assert!(!has(cargo::linked("lasthop")));
    assert!(has(cargo::linked_with("lasthop", &["studies"])));
}

#[test]
fn only_trace_knows_parquet_and_only_py_knows_arrow() {
    for (name, package) in cargo::crates() {
        let uses = |prefix: &str| package.dependencies.iter().any(|d| d.starts_with(prefix));
        assert!(!uses("parquet") || name == "trace", "{name} writes columns: trace's work");
        assert!(!uses("arrow") || name == "py", "{name} hands over columns: py's work");
    }
}

/// A build of the command, and what `cargo build` builds, has nothing of Python's.
#[test]
fn the_command_links_nothing_of_python() {
    let linked = cargo::linked("lasthop");
    assert!(linked.iter().any(|package| package.name == "lasthop-sim"));
    let strange = linked
        .iter()
        .find(|package| package.name.starts_with("pyo3") || package.name.starts_with("arrow"));
    assert!(strange.is_none(), "it links {:?}", strange.map(|package| &package.name));
}

/// A router's build of the coded link has the crates of the link, and no machine of a Wi-Fi hop. One
/// that overhears on Wi-Fi has the frames of 802.11 as bytes too.
#[test]
fn a_router_links_the_coded_link_alone() {
    const LINK: [&str; 9] =
        ["config", "daemon", "franc", "franc-node", "linux", "packet", "report", "rlnc", "units"];
    let own = |features: &[&str]| -> BTreeSet<String> {
        let linked = cargo::linked_with_only("lasthop", features).into_iter();
        linked.filter_map(|it| it.name.strip_prefix("lasthop-").map(str::to_owned)).collect()
    };
    let alone = own(&["franc"]);
    assert_eq!(alone, BTreeSet::from(LINK.map(str::to_owned)));
    let overhearing = own(&["franc", "monitor"]);
    let more: Vec<&String> = overhearing.difference(&alone).collect();
    assert_eq!(more, ["wifi-phy", "wifi-wire"]);
}

/// Schemas of documents are kept as text: what makes them is for the tests that compare.
#[test]
fn nothing_that_is_built_makes_schemas_of_documents() {
    let crates = cargo::manifests();
    let with_feature: Vec<&str> = crates
        .values()
        .filter(|manifest| !manifest["features"]["schema"].is_null())
        .filter_map(|manifest| manifest["name"].as_str())
        .collect();
    let built = ["lasthop", "lasthop-py", "lasthop-playground"].map(cargo::linked).concat();
    for package in with_feature {
        let of_it = || built.iter().filter(|linked| linked.name == package);
        assert!(of_it().next().is_some(), "no door links {package}");
        let strange = of_it().find(|linked| linked.features.contains("schema"));
        assert!(strange.is_none(), "it is built with {strange:?}");
    }
    let trace = cargo::linked("lasthop-trace");
    assert!(trace.iter().all(|linked| linked.name != "schemars"), "lasthop-trace links schemars");
}

#[test]
fn nothing_is_asynchronous() {
    const RUNTIMES: [&str; 5] = ["tokio", "async-std", "smol", "async-io", "futures-executor"];
    for package in cargo::packages().values() {
        assert!(!RUNTIMES.contains(&package.name.as_str()), "the graph holds {}", package.name);
    }
}
