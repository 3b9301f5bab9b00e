//! The key that two hosts share: the content of a file, hashed (SHA-256). A line
//! end after it does not count, so that the file can be copied by hand.

use crate::failure::Failure;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A shorter secret could be guessed from what passes the network.
const BYTES_MIN: usize = 16;
/// A longer file is something else.
const BYTES_MAX: u64 = 4_096;
/// Permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// The key in the file at `path`.
///
/// # Errors
/// As [`read_secret`].
pub fn read(path: &Path) -> Result<[u8; 32], Failure> {
    let advice = format!("head -c 32 /dev/urandom | base64 > {}", path.display());
    read_secret(path, &advice).map(|secret| digest(&secret))
}

/// The key that a secret stands for.
pub fn digest(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// The secret in the file at `path`, without the line end after it; `advice` makes one.
///
/// # Errors
/// If it cannot be read, others may read it, or it is too short or too long.
pub fn read_secret(path: &Path, advice: &str) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    let failed = |why: &dyn std::fmt::Display| Failure::Message(format!("key file {name}: {why}"));
    let file = File::open(path).map_err(|why| failed(&why))?;
    let about = file.metadata().map_err(|why| failed(&why))?;
    if about.mode() & OTHERS != 0 {
        return Err(failed(&format!(
            "others may use it (mode {:03o}); allowed is 600 or less: chmod 600 {name}",
            about.mode() & 0o777
        )));
    }
    let mut content = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut content).map_err(|why| failed(&why))?;
    if content.len() as u64 > BYTES_MAX {
        return Err(failed(&format!("it has more than {BYTES_MAX} bytes")));
    }
    let end = content.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |i| i + 1);
    if end < BYTES_MIN {
        return Err(failed(&format!(
            "it has {end} bytes, and a key has {BYTES_MIN} or more: {advice}"
        )));
    }
    content.truncate(end);
    Ok(content)
}
