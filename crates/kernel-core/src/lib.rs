//! Bindings, for tests, of the C files that hold the decisions of kernel modules: `core.c`,
//! `reorder.c` and `frame.c` of `kernel/lasthop_retryout`, compiled unchanged. No shipped crate
//! depends on this one. The structures are those of the C headers, field by field.
//!
//! Empty if there was no C compiler. Left out: all of the modules that needs the kernel.

#![cfg(c_core)]

mod binding;
pub use binding::{Core, Decision, Frame, Kind, Reorder, Step, Table, frame};
