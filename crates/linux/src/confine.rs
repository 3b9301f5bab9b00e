//! Takes the rights from a daemon that it does not need after set-up: capabilities(7), files
//! (landlock(7)), system calls (seccomp(2)). An attacker who takes over the daemon can then only
//! send and receive by its open sockets.
//!
//! All of it concerns the calling thread, which should be the only one, and cannot be undone.
//! A kernel without one of the three refuses that one, and the others hold. Leaves out files
//! that are open already, and the network, which a daemon needs.

pub mod capabilities;
mod landlock;
mod memory;
mod seccomp;

pub use memory::keep_memory_private;

use super::{Call, OsError};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::prctl;
use nix::unistd::{AccessFlags, faccessat};
use std::path::Path;

/// Rights that a daemon still needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs<'a> {
    /// The file that it removes when it ends.
    pub removes: Option<&'a Path>,
    /// Whether it schedules its thread ahead of others (`CAP_SYS_NICE`, if it has that).
    pub raises_priority: bool,
}

/// Confines the calling thread to its `needs`. Returns the parts that the kernel refused; the list
/// is empty on a kernel with all three features.
pub fn confine(needs: Needs<'_>) -> Vec<OsError> {
    let folder = needs.removes.map(folder_of);
    let without_new = prctl::set_no_new_privs().call("prctl(PR_SET_NO_NEW_PRIVS)");
    let files = landlock::restrict(folder);
    let mut kept = if needs.raises_priority { capabilities::SYS_NICE } else { 0 };
    // Root without capabilities owns its own files only. To remove one from a folder of
    // another user takes a capability, which opens nothing where files are restricted.
    if let (Some(folder), Ok(())) = (folder, &files)
        && capabilities::lower(capabilities::DAC_OVERRIDE).is_ok()
        && !is_writable(folder)
    {
        kept |= capabilities::DAC_OVERRIDE;
    }
    let dropped = capabilities::keep(kept);
    // Last, because it refuses the calls above.
    let calls = seccomp::restrict();
    [without_new, files, dropped, calls].into_iter().filter_map(Result::err).collect()
}

/// Whether files can be removed from `folder` with the effective capabilities: access(2)
/// would judge root by the permitted ones.
fn is_writable(folder: &Path) -> bool {
    let mode = AccessFlags::W_OK | AccessFlags::X_OK;
    faccessat(AT_FDCWD, folder, mode, AtFlags::AT_EACCESS).is_ok()
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
