//! The directory to which a run's files are written. Every file is written without a name
//! (`O_TMPFILE`) and gets its name in [`OutputDir::commit`]. Before that, existing files stay
//! unchanged; without a commit no file remains, not even after SIGKILL. On file systems without
//! unnamed files, a file is written as `NAME.part` and renamed; a killed process leaves it behind.
//! The directory may exist, but must not have two writers at a time: see `lock`.

pub use crate::error::OutputError;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Destination of a capture.
pub(crate) enum Target {
    /// Into a file of an [`OutputDir`].
    File(PartFile),
    /// A stream with a reader.
    Stream(Box<dyn Write + Send>),
}

/// A directory that is being written. Removes its files if dropped without
/// [`commit`](Self::commit).
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
    /// Nearest existing ancestor, or the directory itself. Unnamed files are made in its file
    /// system.
    existing: PathBuf,
    /// Whether files are written without a name; otherwise as `NAME.part`.
    unnamed: bool,
    /// Directories created, outermost first; removed again if the commit fails.
    made: Vec<PathBuf>,
    /// Files without a final name, with their final paths.
    files: Vec<(PathBuf, Aside)>,
}

/// Place of a file's content until it gets its name.
#[derive(Debug)]
enum Aside {
    /// A file without a name, which the system removes when its last descriptor is closed.
    Unnamed(File),
    /// The file `NAME.part`.
    Part,
}

/// A file of an [`OutputDir`] without a final name. Writes are unbuffered.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    file: File,
}

impl OutputDir {
    /// Makes a writer for the directory at `path`, which [`commit`](Self::commit) creates if it
    /// does not exist. Checks that files can be made there.
    ///
    /// # Errors
    /// An error if no file can be made; nothing is left behind.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let path = path.into();
        let existing = path.ancestors().find(|dir| !is_missing(dir));
        let existing = existing.filter(|dir| !dir.as_os_str().is_empty());
        let existing = existing.unwrap_or(Path::new(".")).to_owned();
        match unnamed(&existing) {
            Ok(_) => {
                let (made, files) = (Vec::new(), Vec::new());
                Ok(Self { path, existing, unnamed: true, made, files })
            }
            Err(error) if lacks_unnamed(&error) => Self::create_named(path),
            Err(source) => Err(OutputError::Directory { path, source }),
        }
    }

    /// Like [`create`](Self::create), but writes files as `NAME.part` even if the file system has
    /// unnamed files, and creates the directory at once.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    pub fn create_named(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let path = path.into();
        let mut directory = Self {
            existing: path.clone(),
            path,
            unnamed: false,
            made: Vec::new(),
            files: Vec::new(),
        };
        let probe = directory.path.join(".lasthop.part");
        directory
            .make()
            .and_then(|()| File::create(&probe))
            .and_then(|_| fs::remove_file(&probe))
            .map_err(|source| OutputError::Directory { path: directory.path.clone(), source })?;
        Ok(directory)
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the final paths of the files that [`commit`](Self::commit) will name.
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Starts the file `name`, which must not contain a separator. The file gets its
    /// name in [`commit`](Self::commit), before which all of it must have been written.
    ///
    /// # Errors
    /// An error if the file cannot be made.
    pub fn file(&mut self, name: &str) -> Result<PartFile, OutputError> {
        let path = self.path.join(name);
        let made = if self.unnamed {
            unnamed(&self.existing).and_then(|file| Ok((Aside::Unnamed(file.try_clone()?), file)))
        } else {
            File::create(part(&path)).map(|file| (Aside::Part, file))
        };
        match made {
            Ok((aside, file)) => {
                self.files.push((path.clone(), aside));
                Ok(PartFile { path, file })
            }
            Err(source) => Err(OutputError::File { path, source }),
        }
    }

    /// Writes the file `name` at once.
    ///
    /// # Errors
    /// An error if the file cannot be made or written.
    pub fn write(&mut self, name: &str, content: &[u8]) -> Result<(), OutputError> {
        let mut file = self.file(name)?;
        file.write_all(content).map_err(|source| file.error(source))
    }

    /// Gives every file its name, and replaces older files of that name.
    ///
    /// # Errors
    /// An error of the system; files without a name are then removed.
    pub fn commit(mut self) -> Result<(), OutputError> {
        if let Err(source) = self.make() {
            return Err(OutputError::Directory { path: self.path.clone(), source });
        }
        while let Some((path, aside)) = self.files.last() {
            let named = match aside {
                Aside::Unnamed(file) => give_name(file, path),
                Aside::Part => fs::rename(part(path), path),
            };
            if let Err(source) = named {
                return Err(OutputError::File { path: path.clone(), source });
            }
            self.files.pop();
            self.made.clear();
        }
        self.made.clear();
        Ok(())
    }

    /// Creates the directory, and records created ancestors in `made`.
    fn make(&mut self) -> io::Result<()> {
        let missing = self.path.ancestors().take_while(|dir| is_missing(dir)).map(Path::to_owned);
        self.made = missing.collect();
        self.made.reverse();
        fs::create_dir_all(&self.path)
    }
}

impl Drop for OutputDir {
    /// Removes files and directories that were not committed; ignores errors.
    fn drop(&mut self) {
        for (path, aside) in &self.files {
            if matches!(aside, Aside::Part) {
                let _ = fs::remove_file(part(path));
            }
        }
        // Innermost first; a directory with files of others is not empty and remains.
        for directory in self.made.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
    }
}

impl PartFile {
    /// Returns the path of the file with its final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Converts an I/O error of this file.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError::File { path: self.path.clone(), source }
    }
}

impl From<PartFile> for Target {
    fn from(file: PartFile) -> Self {
        Self::File(file)
    }
}

impl Target {
    /// Makes the error of a failed operation on the file.
    pub fn error(&self, source: io::Error) -> OutputError {
        match self {
            Self::File(file) => file.error(source),
            Self::Stream(_) => OutputError::Stream(source),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stream(stream) => stream.flush(),
        }
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

/// Whether `directory` does not exist. The empty path is the current directory, which does.
fn is_missing(directory: &Path) -> bool {
    !directory.as_os_str().is_empty() && !directory.exists()
}

/// Makes a file without a name in the file system of `directory`.
fn unnamed(directory: &Path) -> io::Result<File> {
    let flags = OFlag::O_TMPFILE.bits();
    OpenOptions::new().write(true).custom_flags(flags).mode(0o666).open(directory)
}

/// Whether `error` means that the file system, or an old kernel, has no unnamed files.
fn lacks_unnamed(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(nix::errno::Errno::from_raw);
    matches!(code, Some(nix::errno::Errno::EOPNOTSUPP | nix::errno::Errno::EISDIR))
}

/// Links an unnamed file to `path`, replacing an older one.
fn give_name(file: &File, path: &Path) -> io::Result<()> {
    let nameless = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let link = |to: &Path| {
        nix::unistd::linkat(AT_FDCWD, &nameless, AT_FDCWD, to, AtFlags::AT_SYMLINK_FOLLOW)
            .map_err(io::Error::from)
    };
    match link(path) {
        // linkat does not replace a file, rename does.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let aside = part(path);
            let _ = fs::remove_file(&aside);
            link(&aside).and_then(|()| fs::rename(&aside, path))
        }
        other => other,
    }
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
    fn a_killed_process_leaves_nothing() {
        // Forgetting the value is like SIGKILL: no destructor runs.
        let path = scratch("killed");
        let mut directory = OutputDir::create(path.join("deep")).expect("it can be made");
        directory.write("run.json", b"{}").expect("it can be written");
        let unnamed = directory.unnamed;
        std::mem::forget(directory);
        if unnamed {
            assert!(!path.exists());
        } else {
            println!("skipped, because this file system has no unnamed files");
        }
    }

    #[test]
    fn older_files_are_replaced() {
        for create in [OutputDir::create, OutputDir::create_named] {
            let path = scratch("replace");
            fs::create_dir_all(&path).expect("it can be made");
            fs::write(path.join("run.json"), "old").expect("it can be written");
            let mut directory = create(path.clone()).expect("it is there");
            directory.write("run.json", b"new").expect("it can be written");
            directory.commit().expect("it can be named");
            assert_eq!(fs::read(path.join("run.json")).expect("it is there"), b"new");
            assert_eq!(fs::read_dir(&path).expect("it is there").count(), 1);
            fs::remove_dir_all(path).expect("it was made here");
        }
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
        let mut directory = OutputDir::create_named(&path).expect("it can be made");
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
