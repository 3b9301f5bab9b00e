//! Layers inside `wifi`, against ARCHITECTURE.md, and circles of files in all crates, by the paths in
//! their sources.
//!
//! A file imports another one if a path of its code that begins with `crate::`, `super::` or
//! `self::` leads there, in a `use` or elsewhere; code for tests is left out. A circle is a strongly
//! connected component of two files or more. A parent's `mod child` and its re-exports by the name
//! of the child are no imports: a child that reads its parent's types makes no circle by itself.

use lasthop_arch_tests::{architecture, files};
use std::collections::{BTreeMap, BTreeSet};

/// Module paths (`cell::power`) and the code of their files, of one crate.
type Modules = BTreeMap<String, String>;

/// All crates by the names of their folders.
fn crates() -> BTreeMap<String, Modules> {
    let mut crates: BTreeMap<String, Modules> = BTreeMap::new();
    for file in files::texts() {
        let Some(below) = file.path.strip_prefix("crates/") else { continue };
        let Some((name, path)) = below.split_once("/src/") else { continue };
        let Some(path) = path.strip_suffix(".rs") else { continue };
        let module = path.replace('/', "::");
        if name.contains('/') || module.split("::").any(|part| part == "tests") {
            continue;
        }
        let module = if module == "lib" || module == "main" { String::new() } else { module };
        let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        crates.entry(name.to_owned()).or_default().insert(module, code);
    }
    crates
}

/// Paths in the code of a module, from the root of its crate: of `use` with braces each branch.
fn paths(module: &str, code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (start, _) in code.match_indices("::") {
        let head = code[..start].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
        let head = head.unwrap_or_default();
        if !matches!(head, "crate" | "super" | "self") {
            continue;
        }
        let begin = start - head.len();
        if code[..begin].ends_with("::") {
            continue;
        }
        let text = &code[begin..];
        branches("", text, &mut found);
    }
    found.into_iter().filter_map(|path| from_root(module, &path)).collect()
}

/// Adds the paths that `text` begins with to `found`; returns the rest of the text.
fn branches<'a>(prefix: &str, text: &'a str, found: &mut BTreeSet<String>) -> &'a str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':' && c != '*');
    let (path, rest) = text.split_at(end.unwrap_or(text.len()));
    let path = format!("{prefix}{path}");
    let Some(mut rest) = rest.strip_prefix('{').filter(|_| path.ends_with("::")) else {
        found.insert(path);
        return rest;
    };
    loop {
        rest = branches(&path, rest.trim_start(), found).trim_start();
        // ` as name` of a branch.
        if let Some(name) = rest.strip_prefix("as ") {
            let end = name.find([',', '}']).unwrap_or(name.len());
            rest = &name[end..];
        }
        match rest.strip_prefix(',') {
            Some(next) if !next.trim_start().starts_with('}') => rest = next,
            Some(next) => return next.trim_start().trim_start_matches('}'),
            None => return rest.strip_prefix('}').unwrap_or(rest),
        }
    }
}

/// The path from the root of the crate.
fn from_root(module: &str, path: &str) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    for part in path.split("::") {
        match part {
            "crate" => at.clear(),
            "super" => drop(at.pop()?),
            "self" | "*" | "" => {}
            part => at.push(part),
        }
    }
    Some(at.join("::"))
}

/// The file that a path leads to: the deepest module on it.
fn file_of<'a>(modules: &'a Modules, path: &str) -> Option<&'a str> {
    let mut path = path;
    loop {
        if let Some((module, _)) = modules.get_key_value(path) {
            return Some(module);
        }
        path = path.rsplit_once("::").map_or("", |(before, _)| before);
    }
}

/// The other files that each file imports from.
fn imports(modules: &Modules) -> BTreeMap<&str, BTreeSet<&str>> {
    let files_of = |module: &str, code: &str| -> BTreeSet<&str> {
        let files = paths(module, code).into_iter();
        let files = files.filter_map(|path| file_of(modules, &path));
        files.filter(|file| *file != module).collect()
    };
    modules.iter().map(|(module, code)| (module.as_str(), files_of(module, code))).collect()
}

/// Circles of files: groups of which each reaches each other one.
fn circles<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reach = |from: &'a str| -> BTreeSet<&'a str> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            for &other in &imports[file] {
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|&file| (file, reach(file))).collect();
    let mut left: BTreeSet<&str> = imports.keys().copied().collect();
    let mut circles = Vec::new();
    while let Some(file) = left.pop_first() {
        let others = reached[file].iter().filter(|other| reached[*other].contains(file));
        let circle: Vec<&str> = others.copied().collect();
        if circle.len() > 1 {
            left.retain(|file| !circle.contains(file));
            circles.push(circle);
        }
    }
    circles
}

#[test]
fn no_layer_of_wifi_uses_one_above_it() {
    let layers = architecture::wifi_layers();
    let layer_of = |module: &str| {
        let first = module.split("::").next().unwrap_or_default();
        let layer = layers.iter().position(|modules| modules.contains(first));
        layer.unwrap_or_else(|| panic!("{module} is in no layer of ARCHITECTURE.md"))
    };
    let crates = crates();
    let imports = imports(&crates["wifi"]);
    let mut arrows = 0;
    for (file, others) in &imports {
        if file.is_empty() {
            continue;
        }
        for other in others.iter().filter(|other| !other.is_empty()) {
            assert!(layer_of(other) <= layer_of(file), "{file} uses {other}, which is above it");
            arrows += 1;
        }
    }
    assert!(arrows > 100, "{arrows} imports were found, which is this test's fault");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let found: Vec<String> = crates()
        .into_iter()
        .flat_map(|(name, modules)| {
            let circles = circles(&imports(&modules)).into_iter();
            let lines = circles.map(|circle| format!("{name}: {}", circle.join(" ")));
            lines.collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "circles of files:\n{}", found.join("\n"));
}

/// Imports by every kind of path make the circle of these three files, and no other.
#[test]
fn circles_are_found() {
    let file = |(module, code): (&str, &str)| (module.to_owned(), code.to_owned());
    let modules: Modules = [
        ("", "mod a; mod b; mod c; pub use a::A;"),
        ("a", "use crate::{b::{B, Other as Name}, c::*};"),
        ("b", "mod inner; use self::inner::Inner;"),
        ("b::inner", "fn inner(of: super::super::a::A) {}"),
        ("c", "use std::collections::BTreeMap;"),
    ]
    .map(file)
    .into();
    assert_eq!(circles(&imports(&modules)), [vec!["a", "b", "b::inner"]]);
}
