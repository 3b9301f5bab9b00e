//! Files that a user names, read with a limit. All code that reads such a file uses this module.
//!
//! A device or a pipe might never end (`/dev/zero`), and a pipe might never begin. So pipes are
//! read only on request, and devices never. The check applies to the opened file: symbolic links
//! are followed, as those in `/etc` must be. Left out: owner and permissions, which matter to keys
//! only.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Longest text of a configuration that is read, in bytes.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

const PIPE: &str = "a pipe";

/// Kinds of files that may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Only regular files.
    Files,
    /// Regular files and pipes, such as `/dev/stdin` and the shell's `<(..)`.
    FilesAndPipes,
}

/// Reason why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses access.
    #[error("cannot be read: {}", plain(.0))]
    Io(#[from] io::Error),
    /// The file is of another kind.
    #[error("expected {expected}, got {got}")]
    Kind {
        /// Kinds that are allowed.
        expected: &'static str,
        /// Kind of the file.
        got: &'static str,
    },
    /// The file is too long.
    #[error("expected at most {bytes_max} bytes{}, got {}", .what, got(*.bytes))]
    TooLong {
        /// Limit in bytes.
        bytes_max: u64,
        /// Kind of content, such as ` of text`.
        what: &'static str,
        /// Length in bytes, if known.
        bytes: Option<u64>,
    },
    /// The file should be text, and is not.
    #[error("expected UTF-8 text, got other bytes in line {line}")]
    NotText {
        /// First line that is not text.
        line: usize,
    },
}

/// Returns the system's message, without the error number.
fn plain(why: &io::Error) -> String {
    if why.kind() == io::ErrorKind::NotFound {
        return "there is no such file".into();
    }
    let told = why.to_string();
    told.split_once(" (os error ").map_or(told.as_str(), |(words, _)| words).to_owned()
}

fn got(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "more".into(), |bytes| bytes.to_string())
}

/// Opens the file at `path`.
///
/// # Errors
/// If it cannot be opened, or is of a kind that is not accepted.
pub fn open(path: &Path, accepts: Accepts) -> Result<File, FileError> {
    // Before it is opened, because opening a pipe waits and opening a device may do something;
    // and after, because it may have been exchanged meanwhile.
    check(fs::metadata(path)?.file_type(), accepts)?;
    let file = File::open(path)?;
    check(file.metadata()?.file_type(), accepts)?;
    Ok(file)
}

/// Reads all of the file at `path`, up to `bytes_max` bytes.
///
/// # Errors
/// The errors of [`open`], and if the file is longer.
pub fn read(path: &Path, accepts: Accepts, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let file = open(path, accepts)?;
    let about = file.metadata()?;
    if about.is_file() && about.len() > bytes_max {
        return Err(too_long(bytes_max, Some(about.len())));
    }
    read_from(file, bytes_max)
}

/// Reads `input` to its end, up to `bytes_max` bytes.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn read_from(input: impl Read, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    input.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(too_long(bytes_max, None)) } else { Ok(bytes) }
}

fn too_long(bytes_max: u64, bytes: Option<u64>) -> FileError {
    FileError::TooLong { bytes_max, what: " of text", bytes }
}

/// Returns `bytes` as text.
///
/// # Errors
/// If they are not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, FileError> {
    str::from_utf8(bytes).map_err(|why| {
        let newlines = bytes[..why.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        FileError::NotText { line: 1 + newlines }
    })
}

fn check(kind: FileType, accepts: Accepts) -> Result<(), FileError> {
    let expected = match accepts {
        Accepts::Files => "a file",
        Accepts::FilesAndPipes => "a file or a pipe",
    };
    if kind.is_file() {
        return Ok(());
    }
    let got = if kind.is_dir() { "a directory" } else { special(kind) };
    if got == PIPE && accepts == Accepts::FilesAndPipes {
        return Ok(());
    }
    Err(FileError::Kind { expected, got })
}

/// Kinds of files that Unix has beside files and directories.
#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        PIPE
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

/// Returns no kind: a browser has none of them.
#[cfg(not(unix))]
fn special(_kind: FileType) -> &'static str {
    "something else"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_last_length_that_is_read() {
        let path = std::env::temp_dir().join(format!("lasthop-bound-{}", std::process::id()));
        fs::write(&path, "12345").expect("it can be written");
        let reads = |bytes_max| read(&path, Accepts::Files, bytes_max);
        assert_eq!(reads(5).expect("so long it may be"), b"12345");
        let error = reads(4).expect_err("it is longer").to_string();
        assert_eq!(error, "expected at most 4 bytes of text, got 5");
        fs::remove_file(&path).expect("it is there");
        let error = reads(5).expect_err("it is gone").to_string();
        assert_eq!(error, "cannot be read: there is no such file");
    }

    #[test]
    fn what_the_system_says_has_no_number() {
        let path = Path::new("/dev/null/inside");
        let error = open(path, Accepts::Files).expect_err("no folder").to_string();
        assert_eq!(error, "cannot be read: Not a directory");
    }

    #[test]
    fn only_files_are_read_and_pipes_where_they_may_be() {
        for (path, got) in [("/dev/null", "a device"), ("/", "a directory")] {
            let error = open(Path::new(path), Accepts::FilesAndPipes).expect_err(path).to_string();
            assert_eq!(error, format!("expected a file or a pipe, got {got}"));
        }
    }

    #[test]
    fn other_bytes_are_told_with_their_line() {
        assert_eq!(text(b"a\nb").expect("text"), "a\nb");
        let error = text(b"a\nb\n\xff").expect_err("no text").to_string();
        assert_eq!(error, "expected UTF-8 text, got other bytes in line 3");
    }
}
