//! Reads the files of the source tree: single files by path, and all UTF-8 files. Symbolic links,
//! and folders with build results or downloads, are left out. Errors panic, since this crate is for
//! tests only.

use std::path::{Path, PathBuf};

/// Folders without sources, relative to the root; see `.gitignore`.
const NOT_SOURCES: [&str; 9] = [
    ".git",
    "target",
    "dist/out",
    "web/node_modules",
    "out",
    "fuzz/target",
    "fuzz/corpus",
    "fuzz/artifacts",
    "models/handshake/target",
];

/// A text file of the source tree.
#[derive(Clone, Debug)]
pub struct Text {
    /// Path relative to the root, with `/` as separator.
    pub path: String,
    /// Content of the file.
    pub text: String,
}

/// The path of the root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate is at crates/arch-tests").to_owned()
}

/// Returns the content of the file at `path`, relative to the root. Panics if it cannot
/// be read.
pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// Returns all files that are UTF-8, sorted by path.
pub fn texts() -> Vec<Text> {
    let root = root();
    let mut texts = Vec::new();
    walk(&root, &root, &mut texts);
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(texts.len() > 100, "only {} files found below {}", texts.len(), root.display());
    texts
}

fn walk(root: &Path, folder: &Path, texts: &mut Vec<Text>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the tree");
    for entry in entries {
        let path = entry.expect("an entry of the tree").path();
        let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
        if NOT_SOURCES.contains(&name.as_str()) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, texts);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            texts.push(Text { path: name, text });
        }
    }
}
