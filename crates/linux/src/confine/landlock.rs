//! Refuses access to files and TCP ports (landlock(7),
//! Documentation/userspace-api/landlock.rst): nothing can be opened, made, executed or bound
//! any more; files can be removed from one folder. From ABI 6 of the interface on, no signal
//! can be sent to another process either.
//!
//! Leaves out files that are open already. Kernels before 5.13, or without landlock, refuse.

use super::super::{Call, OsError};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Flag that asks for the version, `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: libc::c_uint = 1;
/// Type of a rule for a folder, `LANDLOCK_RULE_PATH_BENEATH`.
const PATH_BENEATH: libc::c_int = 1;
/// Right to remove a file, `LANDLOCK_ACCESS_FS_REMOVE_FILE`.
const REMOVE_FILE: u64 = 1 << 5;

/// The C structure `struct landlock_ruleset_attr`, as of ABI 6: rights that are refused unless a
/// rule allows them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ruleset {
    files: u64,
    ports: u64,
    scopes: u64,
}

/// The C structure `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    folder: libc::c_int,
}

/// Restricts the calling thread, which must have set `no_new_privs`. Files in `folder` can
/// still be removed.
///
/// # Errors
/// If the kernel has no landlock, or it is switched off.
pub fn restrict(folder: Option<&Path>) -> Result<(), OsError> {
    let abi = version()?;
    let (ruleset, bytes) = ruleset(abi);
    let fd = create(&ruleset, bytes)?;
    if let Some(folder) = folder {
        allow_removal(&fd, folder)?;
    }
    enforce(&fd)
}

/// Returns all rights that a version of the interface can refuse, and the bytes of the structure
/// that this version has.
fn ruleset(abi: libc::c_long) -> (Ruleset, usize) {
    let rights = |count: u32| (1 << count) - 1;
    // ABI 1 has 13 rights of files, 2 adds to link and rename across folders, 3 to truncate,
    // 5 ioctls of devices; 4 adds to bind and connect TCP; 6 abstract Unix sockets and signals.
    let files = match abi {
        ..=1 => rights(13),
        2 => rights(14),
        3 | 4 => rights(15),
        5.. => rights(16),
    };
    let (ports, scopes, words) = match abi {
        ..=3 => (0, 0, 1),
        4 | 5 => (rights(2), 0, 2),
        6.. => (rights(2), rights(2), 3),
    };
    (Ruleset { files, ports, scopes }, words * size_of::<u64>())
}

#[expect(unsafe_code, reason = "landlock_create_ruleset")]
fn version() -> Result<libc::c_long, OsError> {
    let none = std::ptr::null::<Ruleset>();
    // SAFETY: with this flag the call takes no structure and gives a number.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION) };
    Errno::result(abi).call("landlock_create_ruleset")
}

#[expect(unsafe_code, reason = "landlock_create_ruleset")]
fn create(ruleset: &Ruleset, bytes: usize) -> Result<OwnedFd, OsError> {
    let none: libc::c_uint = 0;
    // SAFETY: the kernel reads `bytes` of the structure, which is at least as long; the
    // descriptor is new, nobody else has it.
    unsafe {
        let ruleset = std::ptr::from_ref(ruleset);
        let fd = libc::syscall(libc::SYS_landlock_create_ruleset, ruleset, bytes, none);
        let fd = Errno::result(fd).call("landlock_create_ruleset")?;
        Ok(OwnedFd::from_raw_fd(fd as libc::c_int))
    }
}

#[expect(unsafe_code, reason = "landlock_add_rule")]
fn allow_removal(ruleset: &OwnedFd, folder: &Path) -> Result<(), OsError> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let call = format!("open({}, O_PATH)", folder.display());
    let folder = open(folder, flags, Mode::empty()).call(&call)?;
    let rule = Beneath { allowed: REMOVE_FILE, folder: folder.as_raw_fd() };
    let none: libc::c_uint = 0;
    // SAFETY: the kernel reads the structure of this kind of rule.
    let result = unsafe {
        let (ruleset, rule) = (ruleset.as_raw_fd(), &raw const rule);
        libc::syscall(libc::SYS_landlock_add_rule, ruleset, PATH_BENEATH, rule, none)
    };
    Errno::result(result).map(drop).call("landlock_add_rule")
}

#[expect(unsafe_code, reason = "landlock_restrict_self")]
fn enforce(ruleset: &OwnedFd) -> Result<(), OsError> {
    let none: libc::c_uint = 0;
    // SAFETY: takes numbers only.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), none) };
    Errno::result(result).map(drop).call("landlock_restrict_self")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_asked_for_no_more_than_it_knows() {
        let all = [1, 2, 3, 4, 5, 6, 7].map(ruleset);
        let of = |files, ports, scopes, bytes| (Ruleset { files, ports, scopes }, bytes);
        assert_eq!(
            all,
            [
                of(0x1fff, 0, 0, 8),
                of(0x3fff, 0, 0, 8),
                of(0x7fff, 0, 0, 8),
                of(0x7fff, 3, 0, 16),
                of(0xffff, 3, 0, 16),
                of(0xffff, 3, 3, 24),
                of(0xffff, 3, 3, 24),
            ]
        );
    }
}
