//! `--perfetto FILE` of `simulate` and `emulate`: the air of one run for the Perfetto viewer. The
//! file appears when the run is complete, and replaces one of the same name.

use crate::failure::Failure;
use lasthop_trace::{OutputDir, PartFile};
use std::path::Path;

/// Begins the file at `path`; returns its writer, and the directory that gives it its name.
///
/// # Errors
/// An error if it is a folder, if its folder does not exist, or if it cannot be written.
pub fn begin(path: &Path) -> Result<(PartFile, OutputDir), Failure> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.filter(|_| !path.is_dir()).ok_or_else(|| {
        Failure::Message(format!("--perfetto {}: expected a file", path.display()))
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        let (path, folder) = (path.display(), folder.display());
        return Err(Failure::Message(format!("--perfetto {path}: there is no folder {folder}")));
    }
    let mut directory = OutputDir::create(folder).map_err(Failure::message)?;
    let file = directory.file(name).map_err(Failure::message)?;
    Ok((file, directory))
}
