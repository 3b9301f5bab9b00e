//! A lock on a directory of results, so that two writers do not mix their files. The system
//! releases it when its holder ends, in whatever way. The lock needs no file, so a killed process leaves
//! nothing behind.
//!
//! The directory need not exist. Its writer holds a read lock (fcntl(2), of an open file
//! description) on one byte of the nearest existing folder above it; the byte's offset is the hash
//! of the path from there. Other holders are found by testing for a write lock. An existing
//! directory is locked by flock(2), too, under any of its names. On file systems without such
//! locks, and in unreadable folders, nothing is locked.

use crate::error::OutputError;
use lasthop_units::fnv_1a;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Attempts if two writers begin at the same moment.
const TRIES: u32 = 5;

/// A directory without other writers, until this value is dropped.
#[derive(Debug)]
pub struct OutputLock {
    _above: Option<File>,
    _itself: Option<File>,
}

impl OutputLock {
    /// Locks the directory at `path`, which need not exist, for one writer.
    ///
    /// # Errors
    /// [`OutputError::Busy`] if another writer has locked it.
    pub fn exclusive(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let path = path.into();
        let above = Above::find(&path);
        let is_free = above.as_ref().is_none_or(Above::take);
        if let Some(above) = above.as_ref().filter(|_| !is_free) {
            return Err(OutputError::Busy { holder: above.holder(), path });
        }
        let _itself = itself(&path, File::try_lock)?;
        Ok(Self { _above: above.map(|above| above.folder), _itself })
    }

    /// Locks the directory for writers whose files have distinct names, such as the shards of a
    /// sweep. Creates the directory.
    ///
    /// # Errors
    /// The errors of [`exclusive`](Self::exclusive), except that other shared locks are allowed;
    /// also an error if the directory cannot be created.
    pub fn shared(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let path = path.into();
        if let Some(above) = Above::find(&path).filter(Above::is_taken) {
            return Err(OutputError::Busy { holder: above.holder(), path });
        }
        fs::create_dir_all(&path)
            .map_err(|source| OutputError::Directory { path: path.clone(), source })?;
        Ok(Self { _above: None, _itself: itself(&path, File::try_lock_shared)? })
    }
}

/// Locks an existing directory; `None` if it does not exist or cannot be locked.
fn itself(
    path: &Path,
    lock: fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<File>, OutputError> {
    let Some(file) = File::open(path).ok().filter(|_| path.is_dir()) else { return Ok(None) };
    match lock(&file) {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            Err(OutputError::Busy { holder: holder(&file), path: path.to_owned() })
        }
    }
}

/// Folder above a directory, and the byte of it that stands for the directory.
struct Above {
    folder: File,
    byte: i64,
}

impl Above {
    /// Finds the folder above `path`; `None` if the path has no last name, or the folder is
    /// unreadable.
    fn find(path: &Path) -> Option<Self> {
        let absolute = std::path::absolute(path).ok()?;
        absolute.file_name()?;
        let above = absolute.ancestors().skip(1).find(|folder| folder.is_dir())?;
        let rest = absolute.strip_prefix(above).ok()?;
        // The same in every process.
        let hash = fnv_1a(rest.as_os_str().as_encoded_bytes().iter().copied());
        Some(Self { folder: File::open(above).ok()?, byte: (hash >> 2).cast_signed() })
    }

    /// Takes the lock; `false` if another process has it.
    fn take(&self) -> bool {
        for attempt in 1..=TRIES {
            if self.is_taken() {
                return false;
            }
            let lock = self.lock(libc::F_RDLCK);
            if fcntl(&self.folder, FcntlArg::F_OFD_SETLK(&lock)).is_err() || !self.is_taken() {
                return true;
            }
            // Another one has taken it since: both give it up, and wait for as long as their
            // numbers say.
            let _ = fcntl(&self.folder, FcntlArg::F_OFD_SETLK(&self.lock(libc::F_UNLCK)));
            pause(std::process::id() % 16 * attempt);
        }
        false
    }

    /// Whether another process has the lock.
    fn is_taken(&self) -> bool {
        let mut lock = self.lock(libc::F_WRLCK);
        let asked = fcntl(&self.folder, FcntlArg::F_OFD_GETLK(&mut lock));
        asked.is_ok() && i32::from(lock.l_type) != libc::F_UNLCK
    }

    fn lock(&self, kind: i32) -> libc::flock {
        libc::flock {
            l_type: kind as i16,
            l_whence: libc::SEEK_SET as i16,
            l_start: self.byte,
            l_len: 1,
            l_pid: 0,
        }
    }

    /// Returns the process that has the lock, if it is visible.
    fn holder(&self) -> Option<u32> {
        let inode = self.folder.metadata().ok()?.ino();
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.find(|process: &u32| {
            let files = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten();
            files.flatten().any(|file| {
                let about = fs::read_to_string(file.path()).unwrap_or_default();
                about.lines().any(|line| is_of(line, inode, self.byte))
            })
        })
    }
}

/// Whether a line of `/proc/PID/fdinfo` (proc_pid_fdinfo(5)) is a lock on this byte.
fn is_of(line: &str, inode: u64, byte: i64) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &["lock:", _, "OFDLCK", _, _, _, place, start, _] = words.as_slice() else { return false };
    let number = place.rsplit(':').next().and_then(|number| number.parse::<u64>().ok());
    number == Some(inode) && start.parse() == Ok(byte)
}

#[expect(
    clippy::disallowed_methods,
    reason = "two processes that begin at once need not meet again"
)]
fn pause(milliseconds: u32) {
    thread::sleep(Duration::from_millis(milliseconds.into()));
}

/// Returns the process that has locked an open file or directory, if the system reports it.
pub fn holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino();
    holder_in(&fs::read_to_string("/proc/locks").ok()?, inode)
}

/// Returns the process in `/proc/locks` (proc_locks(5)) that has locked the file with this inode.
/// The device is not compared, because overlays have another one there.
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[_, "FLOCK", _, _, process, place, ..] = words.as_slice() else { return None };
        let number = place.rsplit(':').next()?.parse::<u64>().ok()?;
        // The number of a process in another namespace is 0.
        process.parse().ok().filter(|&process| number == inode && process > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::OutputDir;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lasthop-lock-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn one_writer_at_a_time() {
        let path = scratch("one");
        let first = OutputLock::exclusive(path.join("deep")).expect("nobody has it");
        let why = OutputLock::exclusive(path.join("deep")).expect_err("it is locked");
        assert!(matches!(why, OutputError::Busy { .. }), "{why}");
        let process = std::process::id().to_string();
        assert!(why.to_string().contains(&process), "{why}: not {process}");
        OutputLock::shared(path.join("deep")).expect_err("it is locked");
        // Beside it there is room.
        OutputLock::exclusive(path.join("other")).expect("nobody has it");
        assert!(!path.exists(), "nothing is made for it");
        // The folder exists by now: the same lock.
        fs::create_dir_all(path.join("deep")).expect("it can be made");
        drop(first);
        let itself = OutputLock::exclusive(path.join("deep")).expect("nobody has it");
        let by_another_name = path.join("deep/../deep");
        OutputLock::exclusive(by_another_name).expect_err("it is locked");
        drop(itself);
        OutputLock::exclusive(path.join("deep")).expect("nobody has it");
        fs::remove_dir_all(path).expect("it was made here");
    }

    #[test]
    fn what_was_written_stays_and_files_are_named_under_it() {
        let path = scratch("written");
        let lock = OutputLock::exclusive(path.join("deep")).expect("nobody has it");
        let mut directory = OutputDir::create(path.join("deep")).expect("it is there");
        directory.write("run.json", b"{}").expect("there is room");
        directory.commit().expect("it can be named");
        drop(lock);
        assert!(path.join("deep/run.json").exists());
        fs::remove_dir_all(path).expect("it was made here");
    }

    #[test]
    fn shared_locks_are_beside_each_other() {
        let path = scratch("shared");
        let one = OutputLock::shared(&path).expect("nobody has it");
        let other = OutputLock::shared(&path).expect("it is shared");
        OutputLock::exclusive(&path).expect_err("it is locked");
        drop((one, other));
        let alone = OutputLock::exclusive(&path).expect("nobody has it");
        OutputLock::shared(&path).expect_err("it is locked");
        drop(alone);
        fs::remove_dir_all(path).expect("it was made here");
    }

    #[test]
    fn a_holder_is_read() {
        let locks = "1: FLOCK  ADVISORY  WRITE 5368 fe:00:5660678 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 12 fe:00:77 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n\
                     3: FLOCK  ADVISORY  READ 0 00:2a:78 0 EOF\n";
        assert_eq!(holder_in(locks, 5_660_678), Some(5_368));
        assert_eq!([77, 78, 79].map(|inode| holder_in(locks, inode)), [None; 3]);
        let line = "lock:\t1: OFDLCK ADVISORY  READ -1 fe:00:5660678 4096 4096";
        assert!(is_of(line, 5_660_678, 4_096));
        assert!(!is_of(line, 5_660_678, 4_097) && !is_of(line, 1, 4_096) && !is_of("", 0, 0));
    }
}
