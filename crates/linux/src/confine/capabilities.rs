//! The capabilities of the calling thread (capabilities(7)), version 3 of capset(2): 64 bits
//! in two words.

use super::super::{Call, OsError};
use nix::errno::Errno;

/// `CAP_DAC_OVERRIDE`: any file, whatever its permissions.
pub const DAC_OVERRIDE: u64 = 1 << 1;
/// `CAP_NET_ADMIN`: interfaces and their addresses.
pub const NET_ADMIN: u64 = 1 << 12;
/// Capability for Ethernet frames, `CAP_NET_RAW`.
pub const NET_RAW: u64 = 1 << 13;
/// `CAP_SYS_NICE`: more than ordinary scheduling.
pub const SYS_NICE: u64 = 1 << 23;

/// Version of the interface, `_LINUX_CAPABILITY_VERSION_3`.
const VERSION: u32 = 0x2008_0522;
/// A bound above the number of capabilities.
const LAST: libc::c_ulong = 63;

/// Keeps those of `kept` that the thread has in its effective and permitted sets, and drops all
/// others; the inheritable, ambient and bounding sets are empty afterwards.
///
/// Without `CAP_SETPCAP` the bounding set is unchanged. The set matters only to a program that
/// gains capabilities by execve(2), which [`super::confine`] forbids.
///
/// # Errors
/// If the kernel refuses, which is not expected.
pub fn keep(kept: u64) -> Result<(), OsError> {
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong)
        .or_else(ignore(Errno::EINVAL))
        .call("prctl(PR_CAP_AMBIENT_CLEAR_ALL)")?;
    for capability in 0..=LAST {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(()) => {}
            // After the last capability, or not allowed.
            Err(Errno::EINVAL | Errno::EPERM) => break,
            Err(error) => return Err(OsError::new("prctl(PR_CAPBSET_DROP)", error)),
        }
    }
    let now = get()?;
    let kept = kept & now.permitted;
    change(now, Sets { effective: kept, permitted: kept, inheritable: 0 })
}

/// Whether the effective set has all of `what`.
///
/// # Errors
/// If the kernel refuses the query, which is not expected.
pub fn has(what: u64) -> Result<bool, OsError> {
    Ok(get()?.effective & what == what)
}

/// Removes `what` from the effective set; it stays permitted.
///
/// # Errors
/// The errors of [`keep`].
pub fn lower(what: u64) -> Result<(), OsError> {
    let now = get()?;
    change(now, Sets { effective: now.effective & !what, ..now })
}

/// Sets the sets to `to`, unless they are so already: a thread without capabilities may not be
/// allowed to call capset(2).
fn change(from: Sets, to: Sets) -> Result<(), OsError> {
    if from == to { Ok(()) } else { set(to) }
}

/// The three sets of capget(2), a bit for each capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sets {
    effective: u64,
    permitted: u64,
    inheritable: u64,
}

/// The C structure `struct __user_cap_header_struct`.
#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

/// The C structure `struct __user_cap_data_struct`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Word {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

#[expect(unsafe_code, reason = "capget, which no wrapper offers")]
fn get() -> Result<Sets, OsError> {
    let mut header = Header { version: VERSION, pid: 0 };
    let mut words = [Word::default(); 2];
    // SAFETY: the kernel writes two words of this version, and may write the header.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) };
    Errno::result(result).call("capget")?;
    let [low, high] = words;
    let whole = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    Ok(Sets {
        effective: whole(low.effective, high.effective),
        permitted: whole(low.permitted, high.permitted),
        inheritable: whole(low.inheritable, high.inheritable),
    })
}

#[expect(unsafe_code, reason = "capset, which no wrapper offers")]
fn set(sets: Sets) -> Result<(), OsError> {
    let mut header = Header { version: VERSION, pid: 0 };
    let word = |shift: u32| Word {
        effective: (sets.effective >> shift) as u32,
        permitted: (sets.permitted >> shift) as u32,
        inheritable: (sets.inheritable >> shift) as u32,
    };
    let words = [word(0), word(32)];
    // SAFETY: the kernel reads two words of this version, and may write the header.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) };
    Errno::result(result).map(drop).call("capset")
}

#[expect(unsafe_code, reason = "prctl with options that no wrapper offers")]
fn prctl(option: libc::c_int, argument: libc::c_ulong) -> nix::Result<()> {
    let none: libc::c_ulong = 0;
    // SAFETY: these options take numbers only.
    Errno::result(unsafe { libc::prctl(option, argument, none, none, none) }).map(drop)
}

/// Ignores the error of a kernel without the feature.
fn ignore(errno: Errno) -> impl Fn(Errno) -> nix::Result<()> {
    move |error| if error == errno { Ok(()) } else { Err(error) }
}
