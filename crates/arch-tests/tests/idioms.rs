//! Bounds the sites of idioms that the project avoids, for each crate. A bound only falls; a crate
//! without a row has none of them.

use lasthop_arch_tests::files;
use lasthop_arch_tests::idioms::{Idiom, Site, sites};
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

/// Largest number of sites in a crate.
struct Bound {
    package: &'static str,
    tuple_parameters: usize,
    matches_on_bool: usize,
    fns_of: usize,
    shared_names: usize,
}

const fn bound(package: &'static str, sites: [usize; 4]) -> Bound {
    let [tuple_parameters, matches_on_bool, fns_of, shared_names] = sites;
    Bound { package, tuple_parameters, matches_on_bool, fns_of, shared_names }
}

const BOUNDS: &[Bound] = &[bound("figures", [1, 0, 0, 0]), bound("franc", [0, 0, 1, 2])];

/// The sites of one crate, against its bound.
fn excess(bound: &Bound, sites: &[&Site]) -> String {
    let mut text = String::new();
    for (idiom, most) in [
        (Idiom::TupleParameter, bound.tuple_parameters),
        (Idiom::MatchOnBool, bound.matches_on_bool),
        (Idiom::FnOf, bound.fns_of),
        (Idiom::SharedName, bound.shared_names),
    ] {
        let here: Vec<_> = sites.iter().filter(|site| site.idiom == idiom).collect();
        if here.len() > most {
            let package = bound.package;
            let _ = writeln!(text, "{package}: {} of {idiom:?}, at most {most}:", here.len());
            here.iter().for_each(|site| {
                let _ = writeln!(text, "  {}", site.text);
            });
        }
    }
    text
}

#[test]
fn crates_avoid_tuple_parameters_matches_on_bool_and_shared_names() {
    let sites = sites(&files::texts(), SHARED);
    let none = bound("", [0; 4]);
    let mut packages: Vec<_> = sites.iter().map(|site| site.package.as_str()).collect();
    packages.dedup();
    packages.sort_unstable();
    packages.dedup();
    let excess: String = packages
        .into_iter()
        .map(|package| {
            let here: Vec<_> = sites.iter().filter(|site| site.package == package).collect();
            let bound = BOUNDS.iter().find(|bound| bound.package == package).unwrap_or(&none);
            excess(bound, &here)
        })
        .collect();
    assert!(excess.is_empty(), "{excess}");
}
