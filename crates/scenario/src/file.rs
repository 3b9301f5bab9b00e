//! Files that a user names, read with a bound: whoever reads one of them, reads it here.
//!
//! A device or a pipe might never end (`/dev/zero`), and a pipe might never begin, so that
//! only what asks for it reads pipes, and nothing reads devices. Judged is what was opened:
//! symbolic links are followed, as those in `/etc` have to be. Left out: whose a file is, and
//! who may read it, which matters to keys only.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

const PIPE: &str = "a pipe";

/// What may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Regular files.
    Files,
    /// Regular files and pipes, such as `/dev/stdin` and what a shell makes of `<(..)`.
    FilesAndPipes,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses.
    #[error("cannot be read: {}", plain(.0))]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("expected {expected}, got {got}")]
    Kind {
        /// What is allowed.
        expected: &'static str,
        /// What it is.
        got: &'static str,
    },
    /// It is too long.
    #[error("expected at most {bytes_max} bytes{}, got {}", .what, got(*.bytes))]
    TooLong {
        /// What is allowed.
        bytes_max: u64,
        /// Of what, such as ` of text`.
        what: &'static str,
        /// How long it is, where that can be known.
        bytes: Option<u64>,
    },
    /// It should be text, and is not.
    #[error("expected UTF-8 text, got other bytes in line {line}")]
    NotText {
        /// The first line that is none.
        line: usize,
    },
}

/// What the system says, without the number that only programmers know.
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

/// All of the file at `path`, up to `bytes_max` bytes.
///
/// # Errors
/// As [`open`], and if it is longer.
pub fn read(path: &Path, accepts: Accepts, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let file = open(path, accepts)?;
    let about = file.metadata()?;
    if about.is_file() && about.len() > bytes_max {
        return Err(too_long(bytes_max, Some(about.len())));
    }
    read_from(file, bytes_max)
}

/// All that `input` gives until its end, up to `bytes_max` bytes.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn read_from(input: impl Read, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    input.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(too_long(bytes_max, None)),
        false => Ok(bytes),
    }
}

fn too_long(bytes_max: u64, bytes: Option<u64>) -> FileError {
    FileError::TooLong { bytes_max, what: " of text", bytes }
}

/// `bytes` as text.
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

/// What Unix has beside files and directories.
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

/// A browser has none of it.
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
