//! `files.json`: the list of files that lasthop wrote into a directory, so that a later
//! run can remove those it does not replace. A file is removed only if it is listed, is
//! reached without a symbolic link, is a regular file, and has the length and time of
//! modification in the list: files that others made or changed remain. A directory is
//! removed if that leaves it empty.

use crate::output::{OutputDir, OutputError};
use crate::value::to_json;
use serde::{Deserialize, Serialize};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The name of the list's file.
const NAME: &str = "files.json";
/// A longer file is not a list that lasthop wrote.
const BYTES_MAX: u64 = 64 << 20;

/// The list of files in a directory and below.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    files: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The path relative to the directory, with `/` as separator.
    path: String,
    bytes: u64,
    /// Time of the last modification in nanoseconds since the Unix epoch.
    modified_ns: i128,
}

/// Removes the files of earlier runs in `top` that are not among `written`, and records
/// `written` in the list.
///
/// # Errors
/// If a file cannot be removed, or the list cannot be written.
pub fn replace_earlier(top: &Path, written: &[PathBuf]) -> Result<(), OutputError> {
    let at = |path: &Path, source| OutputError::File { path: path.to_owned(), source };
    for entry in read(&top.join(NAME)).files {
        let Some(path) = inside(top, &entry.path) else { continue };
        if written.contains(&path) || !entry.is_still(&path) {
            continue;
        }
        fs::remove_file(&path).map_err(|source| at(&path, source))?;
        let parents = path.ancestors().skip(1).take_while(|parent| *parent != top);
        for parent in parents {
            // A directory that contains other files remains.
            if fs::remove_dir(parent).is_err() {
                break;
            }
        }
    }
    let mut files = Vec::new();
    for path in written {
        let metadata = fs::metadata(path).map_err(|source| at(path, source))?;
        if let Ok(Some(name)) = path.strip_prefix(top).map(Path::to_str) {
            let (bytes, modified_ns) = (metadata.len(), modified_ns(&metadata));
            files.push(Entry { path: name.to_owned(), bytes, modified_ns });
        }
    }
    let mut directory = OutputDir::create(top)?;
    directory.write(NAME, to_json(&Manifest { files }).as_bytes())?;
    directory.commit()
}

/// Reads the list at `path`; an empty list if it does not exist or cannot be read.
fn read(path: &Path) -> Manifest {
    let text = || -> io::Result<String> {
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_file() && metadata.len() <= BYTES_MAX {
            fs::read_to_string(path)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    };
    text().ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Returns the path `name` below `top`; `None` if it leads outside or through a
/// symbolic link.
fn inside(top: &Path, name: &str) -> Option<PathBuf> {
    let mut path = top.to_owned();
    let mut parts = Path::new(name).components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else { return None };
        path.push(part);
        let is_directory = || fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if parts.peek().is_some() && !is_directory() {
            return None;
        }
    }
    (path != top).then_some(path)
}

impl Entry {
    fn is_still(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|found| {
            found.is_file() && found.len() == self.bytes && modified_ns(&found) == self.modified_ns
        })
    }
}

fn modified_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory for one test, removed when dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("lasthop-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("it can be made");
            Self(path)
        }

        fn write(&self, names: &[&str]) -> Vec<PathBuf> {
            let paths: Vec<PathBuf> = names.iter().map(|name| self.0.join(name)).collect();
            for path in &paths {
                fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
                fs::write(path, "ours").expect("it can be written");
            }
            paths
        }

        fn run(&self, names: &[&str]) {
            let written = self.write(names);
            replace_earlier(&self.0, &written).expect("it can be replaced");
        }

        fn names(&self) -> Vec<String> {
            let mut names = Vec::new();
            let mut left = vec![self.0.clone()];
            while let Some(directory) = left.pop() {
                for entry in fs::read_dir(&directory).expect("it is there") {
                    let path = entry.expect("it is there").path();
                    if path.is_dir() && !path.is_symlink() {
                        left.push(path.clone());
                    }
                    let name = path.strip_prefix(&self.0).expect("it is inside");
                    names.push(name.to_str().expect("it is text").to_owned());
                }
            }
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_smaller_set_leaves_nothing_of_a_larger_one() {
        let scratch = Scratch::new("smaller");
        scratch.run(&["runs.json", "run-0/run.json", "run-1/run.json", "run-1/air.pcapng"]);
        scratch.run(&["runs.json", "run.json"]);
        assert_eq!(scratch.names(), ["files.json", "run.json", "runs.json"]);
    }

    #[test]
    fn what_somebody_else_made_or_changed_stays() {
        let scratch = Scratch::new("others");
        scratch.run(&["run-0/run.json", "run-1/run.json", "run-2/run.json"]);
        fs::write(scratch.0.join("run-0/notes.txt"), "mine").expect("it can be written");
        fs::write(scratch.0.join("run-1/run.json"), "edited").expect("it can be written");
        scratch.run(&["run.json"]);
        let expected =
            ["files.json", "run-0", "run-0/notes.txt", "run-1", "run-1/run.json", "run.json"];
        assert_eq!(scratch.names(), expected);
    }

    #[test]
    fn a_list_leads_nowhere_else() {
        let (scratch, elsewhere) = (Scratch::new("list"), Scratch::new("elsewhere"));
        let others = elsewhere.write(&["victim", "below/victim"]);
        std::os::unix::fs::symlink(&elsewhere.0, scratch.0.join("link")).expect("a link");
        let entry = |path: &str, file: &Path| {
            let metadata = fs::metadata(file).expect("it is there");
            let (bytes, modified_ns) = (metadata.len(), modified_ns(&metadata));
            Entry { path: path.to_owned(), bytes, modified_ns }
        };
        let outside = format!("../{}/victim", elsewhere.0.file_name().expect("a name").display());
        let absolute = others[0].to_str().expect("text").to_owned();
        let files = vec![
            entry(&outside, &others[0]),
            entry(&absolute, &others[0]),
            entry("link/victim", &others[0]),
            entry("link/below/victim", &others[1]),
            entry("link", &others[0]),
            entry("", &others[0]),
        ];
        fs::write(scratch.0.join(NAME), to_json(&Manifest { files })).expect("it can be written");
        scratch.run(&["run.json"]);
        assert_eq!(elsewhere.names(), ["below", "below/victim", "victim"]);
        assert_eq!(scratch.names(), ["files.json", "link", "run.json"]);
    }

    #[test]
    fn what_is_no_list_is_none() {
        let scratch = Scratch::new("garbage");
        fs::write(scratch.0.join(NAME), "{\"files\": 5").expect("it can be written");
        scratch.run(&["run.json"]);
        assert_eq!(scratch.names(), ["files.json", "run.json"]);
    }
}
