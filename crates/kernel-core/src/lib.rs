//! The C files with which kernel modules decide, bound for tests: `core.c`, `reorder.c` and
//! `frame.c` of `kernel/lasthop_retryout`, compiled unchanged. Nothing that ships depends on
//! this crate. The structures are those of the C headers, field by field.
//!
//! Empty if there was no C compiler. Left out: all of the modules that needs the kernel.

#![cfg(c_core)]

mod binding;
pub use binding::{Core, Decision, Frame, Kind, Reorder, Step, Table, frame};
