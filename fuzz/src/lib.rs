//! Shared parts of targets that read files: a temporary folder, and caught panics of the `parquet`
//! crate, at which libFuzzer's hook would end the process first.

use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder in the temporary directory, which is removed when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a new folder.
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("lasthop-fuzz-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("there is room");
        Self(path)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a hook that notes panics without output.
pub fn quiet() {
    set_hook(Box::new(|panic| SAID.set(panic.to_string())));
}

/// Calls `body`; ends the process if a panic leaves it.
pub fn watched(body: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        eprintln!("{}", SAID.take());
        std::process::abort();
    }
}
