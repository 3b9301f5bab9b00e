//! The key that two hosts share: the content of a file, hashed (SHA-256). A line end after it is
//! ignored, so that the file can be copied by hand. All key files are read here: the content is
//! overwritten after use, and from the first read on the process dumps no core.
//!
//! Leaves out access control lists, except that their mask shows as the permissions of the group.

use crate::failure::Failure;
use lasthop_config::file::{self, Accepts, FileError};
use lasthop_linux::confine::keep_memory_private;
use nix::unistd::Uid;
use sha2::{Digest, Sha256};
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use zeroize::Zeroizing;

/// Length of the shortest secret, in bytes; a shorter one could be guessed from the network
/// traffic.
const BYTES_MIN: usize = 16;
/// Length of the longest key file, in bytes.
const BYTES_MAX: u64 = 4_096;
/// Permission bits of the group and of others.
const OTHERS: u32 = 0o077;
const GROUP_READS: u32 = 0o040;
/// User number of root.
const ROOT: u32 = 0;

/// Reads the key in the file at `path`.
///
/// # Errors
/// The errors of [`read_secret`].
#[cfg(feature = "lab")]
pub fn read(path: &Path) -> Result<[u8; 32], Failure> {
    let advice = format!("head -c 32 /dev/urandom | base64 > {}", path.display());
    read_secret(path, &advice).map(|secret| digest(&secret))
}

/// Returns the key made from a secret.
pub fn digest(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// Reads the secret in the file at `path`, without the line end after it. `advice` is a command
/// that makes one, for the error message.
///
/// # Errors
/// An error if the file cannot be read or is no regular file, if its owner is neither this user nor
/// root nor the user who called sudo, if others have permissions for it, or if it is too short or
/// too long.
pub fn read_secret(path: &Path, advice: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    keep_memory_private();
    let name = path.display();
    let failed = |why: String| Failure::Message(format!("key file {name}: {why}"));
    let file = file::open(path, Accepts::Files).map_err(|why| match why {
        FileError::Io(why) => failed(why.to_string()),
        why => failed(why.to_string()),
    })?;
    let about = file.metadata().map_err(|why| failed(why.to_string()))?;
    let own = Uid::effective().as_raw();
    // A user who may call sudo may be root anyway.
    let caller = std::env::var("SUDO_UID").ok().filter(|_| own == ROOT);
    let is_callers = caller.is_some_and(|uid| uid.parse() == Ok(about.uid()));
    if about.uid() != own && about.uid() != ROOT && !is_callers {
        return Err(failed(format!(
            "it belongs to user {}; allowed are the current user {own} and root: chown {own} {name}",
            about.uid()
        )));
    }
    if about.mode() & OTHERS != 0 && !is_credential(path, &about) {
        return Err(failed(format!(
            "others may use it (mode {:03o}); allowed is 600 or less: chmod 600 {name}",
            about.mode() & 0o777
        )));
    }
    // With its final capacity, so that no copy is left in memory when it grows.
    let mut content = Zeroizing::new(Vec::with_capacity(2 * BYTES_MAX as usize));
    file.take(BYTES_MAX + 1).read_to_end(&mut content).map_err(|why| failed(why.to_string()))?;
    if content.len() as u64 > BYTES_MAX {
        return Err(failed(format!("it has more than {BYTES_MAX} bytes")));
    }
    let end = content.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |i| i + 1);
    if end < BYTES_MIN {
        return Err(failed(format!(
            "it has {end} bytes, and a key has {BYTES_MIN} or more: {advice}"
        )));
    }
    content.truncate(end);
    Ok(content)
}

/// Whether the file is a credential of systemd (`LoadCredential=`): it belongs to root, and is in
/// the directory that systemd passes to the service. Since version 254 the user of the service may
/// read it by an access control list, which shows as a permission of the group.
fn is_credential(path: &Path, about: &Metadata) -> bool {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY");
    let is_there = folder.is_some_and(|folder| path.parent() == Some(Path::new(&folder)));
    is_there && about.uid() == ROOT && about.mode() & OTHERS == GROUP_READS
}
