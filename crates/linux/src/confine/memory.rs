//! Protects memory that holds a key: from core dumps (core(5)), and from other processes of
//! the user (`PR_SET_DUMPABLE`, which refuses ptrace(2) and /proc/PID/mem).
//!
//! Leaves out swap, and processes with `CAP_SYS_PTRACE`.

use nix::sys::prctl::set_dumpable;
use nix::sys::resource::{Resource, setrlimit};

/// Protects the memory of this process; for a program that is about to read a key. Errors are
/// ignored: no user can cause one, and to run with less protection is better than not to run.
pub fn keep_memory_private() {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let _ = set_dumpable(false);
}
