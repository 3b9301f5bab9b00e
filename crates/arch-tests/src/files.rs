//! The files of the source tree, without what is built or downloaded.

use std::path::{Path, PathBuf};

/// Folders, from the root, that hold no sources; see `.gitignore`.
const NOT_SOURCES: [&str; 7] = [
    ".git",
    "target",
    "out",
    "fuzz/target",
    "fuzz/corpus",
    "fuzz/artifacts",
    "models/handshake/target",
];

/// A text file of the tree.
#[derive(Clone, Debug)]
pub struct Text {
    /// Where it is, from the root, with `/` between folders.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate is at crates/arch-tests").to_owned()
}

/// The file at `path` from the root. Panics if there is none.
pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// All files that are UTF-8, in order of their paths.
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
