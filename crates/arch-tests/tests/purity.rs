//! Pure crates build without `std`, and so does everything that they link: they cannot
//! use clocks, threads, sockets, entropy, or hash maps with a random order. In pure
//! crates, and in the playground, `unsafe` is confined to one module.

use lasthop_arch_tests::files::{self, Text};
use lasthop_arch_tests::{architecture, cargo};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Targets without `std`. `rustup target add` installs them.
const BARE_TARGETS: [&str; 2] = ["x86_64-unknown-none", "aarch64-unknown-none"];

/// The pure crate that uses `unsafe`.
const UNSAFE_CRATE: &str = "lasthop-rlnc";
/// The files of its module to which `unsafe` is confined.
const UNSAFE_MODULE: [&str; 2] = ["crates/rlnc/src/kernel.rs", "crates/rlnc/src/kernel/"];

/// Crates that pure crates must not link, although they build without `std`.
const STRANGERS: [&str; 6] = ["serde", "serde_core", "log", "tracing", "getrandom", "hashbrown"];

/// The file whose attributes name what JavaScript calls, and which has no other `unsafe`.
const UNSAFE_NAMES: &str = "crates/playground/src/abi.rs";

fn pure_crates() -> Vec<cargo::Package> {
    let crates = architecture::crates();
    let mut packages = cargo::crates();
    let pure = crates.iter().filter(|(_, member)| member.is_pure());
    pure.map(|(name, _)| packages.remove(name).expect("the table has crates only")).collect()
}

/// Whether the crate root at `path` is `no_std`, always or depending on a feature.
fn is_no_std(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).expect("cargo knows the file");
    text.lines().any(|line| {
        let line = line.trim();
        line == "#![no_std]" || (line.starts_with("#![cfg_attr(") && line.contains("no_std"))
    })
}

#[test]
fn pure_crates_say_so() {
    for member in pure_crates() {
        let path = member.library.as_ref().expect("a library");
        let text = std::fs::read_to_string(path).expect("cargo knows the file");
        let level = if member.name == UNSAFE_CRATE { "deny" } else { "forbid" };
        for attribute in ["#![no_std]", &format!("#![{level}(unsafe_code)]")] {
            let there = text.lines().any(|line| line == attribute);
            assert!(there, "{}: {attribute} is missing", path.display());
        }
        assert!(!text.contains("extern crate std"), "{}: std is let in", path.display());
    }
}

#[test]
fn the_unsafe_of_kernels_stays_there() {
    for Text { path, text } in files::texts() {
        let is_there = UNSAFE_MODULE.iter().any(|module| path.starts_with(module));
        let is_there = is_there || path == UNSAFE_NAMES;
        let is_asked = ["crates/rlnc/", "crates/playground/"].iter().any(|it| path.starts_with(it));
        let elsewhere = is_asked && !is_there;
        let lowered = text.lines().any(|line| {
            let line = line.trim_start();
            line.starts_with("#") && line.contains("(unsafe_code") && !line.contains("deny")
        });
        assert!(!(elsewhere && lowered), "{path}: unsafe is for {}", UNSAFE_MODULE[0]);
        let blocks = ["unsafe {", "unsafe fn", "unsafe impl"];
        let holds = |line: &str| blocks.iter().any(|block| line.contains(block));
        let only_names = path != UNSAFE_NAMES || !text.lines().any(holds);
        assert!(only_names, "{path}: unsafe is in attributes only");
    }
}

#[test]
fn pure_crates_link_nothing_that_needs_std() {
    let packages = cargo::packages();
    let libraries: BTreeMap<_, _> = packages
        .iter()
        .filter_map(|(id, package)| Some((id.as_str(), package.library.as_deref()?)))
        .collect();
    for member in pure_crates() {
        let member = member.name;
        let linked = cargo::linked(&member);
        assert!(linked.iter().any(|package| package.name == member));
        for package in linked {
            let name = &package.name;
            assert!(!STRANGERS.contains(&name.as_str()), "{member} links {name}");
            assert!(!package.features.contains("std"), "{member} links {name} with its std");
            let (_, root) = libraries
                .iter()
                .find(|(id, _)| package.is(id))
                .unwrap_or_else(|| panic!("cargo metadata does not know {name}"));
            assert!(
                is_no_std(root),
                "{member} links {name}, which is not no_std: {}",
                root.display()
            );
        }
    }
}

/// Checks with the compiler, if `target` is installed.
fn pure_crates_build_for(target: &str) {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]);
    if !Path::new(cargo::output(rustc).trim()).exists() {
        eprintln!("skipped: rustup target add {target}");
        return;
    }
    let mut command = cargo::cargo();
    command.args(["check", "--quiet", "--target", target]);
    for member in pure_crates() {
        command.args(["--package", &member.name]);
    }
    cargo::output(command);
}

#[test]
fn pure_crates_build_for_a_machine_without_an_operating_system() {
    pure_crates_build_for(BARE_TARGETS[0]);
}

#[test]
#[ignore = "a campaign"]
fn pure_crates_build_for_other_machines_without_an_operating_system() {
    BARE_TARGETS[1..].iter().for_each(|target| pure_crates_build_for(target));
}
