//! Parts within a crate: which mechanism of `wifi::mac` uses which, against the header of that
//! module, and which parts of `wifi::cell` do not know `Cell`.

use lasthop_arch_tests::files;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// All that is before the tests of a file.
fn source(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a file of the tree");
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    text[..end].to_owned()
}

fn rust_files(directory: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of the tree") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Pairs of a part of `directory` and another part that it imports from.
fn imports(directory: &Path) -> BTreeSet<(String, String)> {
    let mut files = Vec::new();
    rust_files(directory, &mut files);
    let mut pairs = BTreeSet::new();
    for file in files {
        let below = file.strip_prefix(directory).expect("it was found there");
        let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
        if names.iter().any(|name| name.trim_end_matches(".rs") == "tests") {
            continue;
        }
        let part = names[0].trim_end_matches(".rs").to_owned();
        let up = format!("{}super::", "super::".repeat(names.len() - 1));
        for line in source(&file).lines().map(str::trim) {
            let Some(path) = line.strip_prefix("use ") else { continue };
            let inside = path.strip_prefix("crate::mac::").or_else(|| path.strip_prefix(&up));
            let Some(inside) = inside else { continue };
            let other = inside.split([':', ';', ',']).next().expect("split gives something");
            let is_part = directory.join(format!("{other}.rs")).exists();
            if is_part && other != part {
                pairs.insert((part.clone(), other.to_owned()));
            }
        }
    }
    pairs
}

#[test]
fn mechanisms_of_the_mac_use_what_their_header_says() {
    let header = files::read("crates/wifi/src/mac.rs");
    let header: Vec<_> = header.lines().filter_map(|line| line.strip_prefix("//!")).collect();
    let header = header.join("");
    let mut described = BTreeSet::new();
    for clause in header.split(';').filter(|clause| clause.contains('→')) {
        let (left, right) = clause.split_once('→').expect("filtered");
        let right = right.split(". ").next().expect("split gives something");
        let quoted = |text: &str| -> Vec<String> {
            text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let part = quoted(left).pop().expect("a part before the arrow");
        described.extend(quoted(right).into_iter().map(|other| (part.clone(), other)));
    }
    let used = imports(&files::root().join("crates/wifi/src/mac"));
    assert_eq!(described, used, "left: crates/wifi/src/mac.rs, right: crates/wifi/src/mac");
}

#[test]
fn parts_of_the_cell_do_not_know_it() {
    for part in [
        "channel",
        "channel/bandwidth",
        "channel/navs",
        "channel/spatial_reuse",
        "edcaf",
        "exchange/content",
        "floor",
        "frames",
        "outbox",
        "power",
        "power/absence",
        "power/away",
        "power/doze",
        "power/schedule",
        "power/service",
        "power/service/mpdus",
        "power/service/station",
        "power/waits",
        "receiver",
        "recipient",
        "settle",
        "station",
        "timers",
    ] {
        let file = files::root().join(format!("crates/wifi/src/cell/{part}.rs"));
        let text = source(&file);
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
        assert!(words.into_iter().all(|word| word != "Cell"), "{part} names Cell");
    }
}
