//! Compiles the decision core of `kernel/lasthop_retryout` as it is for user space and sets the
//! cfg `c_core`. Without a C compiler the crate is built without it, and its tests say that they
//! are skipped.

use std::path::Path;

/// Path of the C files, from this crate.
const SOURCES: &str = "../../kernel/lasthop_retryout/src";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(c_core)");
    println!("cargo::rerun-if-changed={SOURCES}");
    let files = ["core.c", "reorder.c", "frame.c"].map(|file| Path::new(SOURCES).join(file));
    let mut build = cc::Build::new();
    build.files(files).std("gnu11").warnings(true).extra_warnings(true);
    build.flag_if_supported("-Wconversion-null").flag_if_supported("-fno-strict-aliasing");
    let compiler = build.try_get_compiler();
    // A compiler that is there and refuses the files is an error, no reason to skip.
    let is_there = compiler.is_ok_and(|found| found.to_command().arg("--version").output().is_ok());
    if is_there {
        build.compile("lasthop_kernel_core");
        println!("cargo::rustc-cfg=c_core");
    }
}
