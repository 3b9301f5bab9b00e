//! Keys in files: a line of 64 hexadecimal digits for a shared key, or, after `hop:`, for the hop
//! key derived from it. A file may also have any other secret of at least 16 bytes, which is hashed
//! (SHA-256) to the shared key.

use crate::args::FrancKey;
use crate::failure::Failure;
use crate::{console, secret};
use lasthop_franc::config::{KEY_BYTES, Key, Keys};
use lasthop_franc::hop_key;
use lasthop_linux::confine::keep_memory_private;
use lasthop_linux::entropy;
use nix::errno::Errno;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process;
use zeroize::Zeroizing;

/// First bytes of a hop key's file.
const HOP: &[u8] = b"hop:";

/// Makes a shared key, or derives a hop key.
pub fn key(args: &FrancKey) -> Result<(), Failure> {
    keep_memory_private();
    let line = match &args.hop {
        Some(shared) => match read(shared)? {
            Keys::Shared(shared) => line("hop:", &hop_key(&shared)),
            _ => {
                let name = shared.display();
                return Err(Failure::Message(format!(
                    "key file {name}: it has a hop key already; a hop key follows from a shared one"
                )));
            }
        },
        None => line("", &Zeroizing::new(entropy::secret().map_err(Failure::message)?)),
    };
    match &args.out {
        Some(path) => write(path, &line),
        None => console::print(&line),
    }
}

/// Reads the key in the file at `path`.
///
/// # Errors
/// An error if it cannot be read, if others may read it, or if it has no key.
pub fn read(path: &Path) -> Result<Keys, Failure> {
    let content = secret::read_secret(path, "make one with `lasthop franc key`")?;
    let Some(digits) = content.strip_prefix(HOP) else {
        return Ok(Keys::Shared(secret::digest(&content)));
    };
    let key = unhex(digits).ok_or_else(|| {
        let name = path.display();
        Failure::Message(format!("key file {name}: expected 64 hexadecimal digits after hop:"))
    })?;
    Ok(Keys::Hop(key))
}

/// Writes a new file with mode 0600. The file appears complete or not at all: an empty one would
/// block the next attempt.
fn write(path: &Path, line: &str) -> Result<(), Failure> {
    let failed = |why: io::Error| Failure::Message(format!("key file {}: {why}", path.display()));
    if path.symlink_metadata().is_ok() {
        return Err(failed(io::Error::from_raw_os_error(Errno::EEXIST as i32)));
    }
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
    let mut aside = OsString::from(".");
    aside.push(name);
    aside.push(format!(".{}", process::id()));
    let aside = path.with_file_name(aside);
    let written = fill(&aside, line).and_then(|()| match fs::hard_link(&aside, path) {
        // A file system without links: the file itself is written, or removed.
        Err(why) if lacks_links(&why) => {
            let written = fill(path, line);
            if written.as_ref().is_err_and(|why| why.kind() != io::ErrorKind::AlreadyExists) {
                let _ = fs::remove_file(path);
            }
            written
        }
        linked => linked,
    });
    let _ = fs::remove_file(&aside);
    written.map_err(failed)
}

fn fill(path: &Path, line: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}

fn lacks_links(why: &io::Error) -> bool {
    let errno = why.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EPERM | Errno::EOPNOTSUPP | Errno::ENOSYS))
}

/// Returns a line of a key file: `begin`, then the key in hexadecimal digits.
fn line(begin: &str, key: &Key) -> Zeroizing<String> {
    // With its final capacity, so that no copy is left in memory when it grows.
    let mut line = Zeroizing::new(String::with_capacity(begin.len() + 2 * KEY_BYTES + 1));
    line.push_str(begin);
    for byte in key {
        for digit in [byte >> 4, byte & 0xf] {
            line.push(char::from_digit(digit.into(), 16).expect("four bits are a digit"));
        }
    }
    line.push('\n');
    line
}

fn unhex(digits: &[u8]) -> Option<Key> {
    let text = str::from_utf8(digits).ok()?.trim();
    if text.len() != 2 * KEY_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; KEY_BYTES];
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let key: Key = core::array::from_fn(|index| (index * 9) as u8);
        let written = line("", &key);
        assert_eq!(unhex(written.as_bytes()), Some(key));
        assert_eq!(unhex(written.trim_end().as_bytes()), Some(key));
        assert_eq!(line("hop:", &key), Zeroizing::new(format!("hop:{}", *written)));
        for wrong in ["", "00", &"g".repeat(64), &"0".repeat(65), &"+1".repeat(32)] {
            assert_eq!(unhex(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
