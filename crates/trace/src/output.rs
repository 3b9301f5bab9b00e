//! The directory a run is written to. Every file is written aside, as
//! `NAME.part` in the same directory, and all are renamed together at the end:
//! until [`OutputDir::commit`] nothing that was there before is touched, and if
//! it is never reached nothing is left behind. The directory may exist; it
//! should not have two writers.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What went wrong with a file or directory.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The directory cannot be made, or files cannot be made in it.
    #[error("cannot write to directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be made, written or given its name.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file, by its final name.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A directory that is being written.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
    /// Directories that were made for it, outermost first.
    made: Vec<PathBuf>,
    /// Final paths of the files written aside so far.
    files: Vec<PathBuf>,
}

/// A file that is being written aside. It buffers nothing.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    file: File,
}

impl OutputDir {
    /// Makes the directory if it is not there, and tries to write in it.
    ///
    /// # Errors
    /// If either cannot be done; nothing is left behind.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let path = path.into();
        let missing = path.ancestors().take_while(|dir| is_missing(dir)).map(Path::to_owned);
        let mut made: Vec<_> = missing.collect();
        made.reverse();
        let directory = Self { path, made, files: Vec::new() };
        let probe = directory.path.join(".lasthop.part");
        fs::create_dir_all(&directory.path)
            .and_then(|()| File::create(&probe))
            .and_then(|_| fs::remove_file(&probe))
            .map_err(|source| OutputError::Directory { path: directory.path.clone(), source })?;
        Ok(directory)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the file `name`, which must not contain a separator. It gets its
    /// name on [`commit`](Self::commit); whoever writes it has to be done by then.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn file(&mut self, name: &str) -> Result<PartFile, OutputError> {
        let path = self.path.join(name);
        match File::create(part(&path)) {
            Ok(file) => {
                self.files.push(path.clone());
                Ok(PartFile { path, file })
            }
            Err(source) => Err(OutputError::File { path, source }),
        }
    }

    /// Writes the whole file `name`.
    ///
    /// # Errors
    /// If it cannot be made or written.
    pub fn write(&mut self, name: &str, content: &[u8]) -> Result<(), OutputError> {
        let mut file = self.file(name)?;
        file.write_all(content).map_err(|source| file.error(source))
    }

    /// Gives every file its name, over older ones.
    ///
    /// # Errors
    /// If the system refuses; files that have no name yet are then removed.
    pub fn commit(mut self) -> Result<(), OutputError> {
        while let Some(path) = self.files.last() {
            if let Err(source) = fs::rename(part(path), path) {
                return Err(OutputError::File { path: path.clone(), source });
            }
            self.files.pop();
            self.made.clear();
        }
        self.made.clear();
        Ok(())
    }
}

impl Drop for OutputDir {
    /// Removes what was not committed, as far as the system lets it.
    fn drop(&mut self) {
        for path in &self.files {
            let _ = fs::remove_file(part(path));
        }
        // Innermost first; one that somebody else put a file in stays.
        for directory in self.made.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
    }
}

impl PartFile {
    /// The final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error of this file.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError::File { path: self.path.clone(), source }
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The empty path stands for the current directory, which is there.
fn is_missing(directory: &Path) -> bool {
    !directory.as_os_str().is_empty() && !directory.exists()
}

fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lasthop-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn names_appear_only_on_commit() {
        let path = scratch("commit");
        let mut directory = OutputDir::create(path.join("deep")).expect("it can be made");
        directory.write("run.json", b"{}").expect("it can be written");
        assert!(!path.join("deep/run.json").exists());
        directory.commit().expect("it can be renamed");
        assert_eq!(fs::read(path.join("deep/run.json")).expect("it is there"), b"{}");
        assert_eq!(fs::read_dir(path.join("deep")).expect("it is there").count(), 1);
        fs::remove_dir_all(path).expect("it was made here");
    }

    #[test]
    fn without_commit_nothing_is_left() {
        let path = scratch("drop");
        let mut directory = OutputDir::create(path.join("deep")).expect("it can be made");
        directory.write("run.json", b"{}").expect("it can be written");
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_there_stays() {
        let path = scratch("stay");
        fs::create_dir_all(&path).expect("it can be made");
        fs::write(path.join("run.json"), "old").expect("it can be written");
        let mut directory = OutputDir::create(&path).expect("it is there");
        directory.write("run.json", b"new").expect("it can be written");
        drop(directory);
        assert_eq!(fs::read(path.join("run.json")).expect("it is there"), b"old");
        assert_eq!(fs::read_dir(&path).expect("it is there").count(), 1);
        fs::remove_dir_all(path).expect("it was made here");
    }

    #[test]
    fn a_full_disk_is_named() {
        let path = scratch("full");
        let mut directory = OutputDir::create(&path).expect("it can be made");
        std::os::unix::fs::symlink("/dev/full", path.join("run.json.part")).expect("a link");
        let error = directory.write("run.json", b"{}").expect_err("the device is full");
        let text = error.to_string();
        assert!(text.contains("run.json: No space left on device"), "{text}");
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_is_no_directory() {
        let path = scratch("file");
        fs::write(&path, "").expect("it can be written");
        let error = OutputDir::create(path.join("out")).expect_err("a file is in the way");
        assert!(error.to_string().contains("/out: "), "{error}");
        fs::remove_file(path).expect("it was made here");
    }
}
