//! Shared parts of the sweep tests.

use lasthop_sweep::{Means, Plan, Request};
use std::path::PathBuf;

/// A cell of 20 ms with one flow.
const SCENARIO: &str = r#"
duration = "20ms"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
[[flow]]
name = "up"
from = "sta"
to = "ap"
kind = "udp"
rate = "1Mb/s"
"#;

/// A sweep of it.
pub fn plan(vary: &[&str], runs: u32) -> Plan {
    let vary = vary.iter().map(|one| (*one).to_owned()).collect();
    let request = Request { vary, zip: false, runs: Some(runs) };
    Plan::new("cell.toml", SCENARIO, &[], &request).expect("it is right")
}

/// A page with the names of the quantities.
pub fn page(means: Means<'_>) -> String {
    let quantities = means.quantities.unwrap_or_default();
    quantities.into_iter().map(|quantity| quantity.name + "\n").collect()
}

/// A folder that is removed again.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("lasthop-sweep-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    /// The files in it.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it is there");
        let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry.expect("it is read"))).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
