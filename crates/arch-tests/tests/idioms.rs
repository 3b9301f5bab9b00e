//! Forbids idioms that the project avoids: parameters that are tuples, `match` on a bool, functions
//! called `of`, and types of one crate that share a name.

use lasthop_arch_tests::files;
use lasthop_arch_tests::idioms::{Site, sites};
use std::fmt::Write;

/// Names that types of one crate may share, because a path always names their module.
const SHARED: &[&str] = &[
    // Parameters of the mechanism that the module is about.
    "Config",
    // Fields of the format that the module is about, as values.
    "Repr",
    // Bytes of the format that the module is about, read in place.
    "View",
    // What follows the addresses in the kind of frames that the module is about.
    "Body",
    // Types of the processor, one for each set of instructions, in files that one macro fills.
    "Factor",
    "Register",
    // Two files for one module, of which the features of a build take one.
    "Overhearing",
    "Writers",
];

#[test]
fn crates_avoid_idioms_that_nobody_else_uses() {
    let mut found = String::new();
    for Site { package, idiom, text } in sites(&files::texts(), SHARED) {
        let _ = writeln!(found, "{package}: {idiom:?}: {text}");
    }
    assert!(found.is_empty(), "{found}");
}
