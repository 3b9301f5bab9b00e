//! Memory that holds a key: no core dump has it (core(5)), and no other process of the user
//! reads it (`PR_SET_DUMPABLE`, which refuses ptrace(2) and /proc/PID/mem).
//!
//! Left out: swap, and whoever has `CAP_SYS_PTRACE`.

use nix::sys::prctl::set_dumpable;
use nix::sys::resource::{Resource, setrlimit};

/// Keeps the memory of this process to itself; for a program that is about to read a key.
/// Neither call can fail by what a user did, and to run with less is better than not to.
pub fn keep_memory_private() {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let _ = set_dumpable(false);
}
