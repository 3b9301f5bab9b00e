//! The units in `dist/systemd`, judged by systemd-analyze(1): the exposure of a unit,
//! from 0 to 10, and whether systemd understands it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For systemd "OK" starts at 4.9; a daemon that reads datagrams of strangers has to
/// stay below this.
const EXPOSURE_MAX: f64 = 2.0;

fn units() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/systemd");
    let entries = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("an entry"));
    let mut units: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    units.sort();
    units
}

#[test]
fn units_expose_little() {
    let units = units();
    assert!(units.len() >= 2, "{units:?}");
    for unit in units {
        let output = Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager"])
            .arg(&unit)
            .env("LC_ALL", "C")
            .output();
        let Ok(output) = output else {
            eprintln!("skipped, because systemd-analyze is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if errors.contains("offline") {
            eprintln!("skipped, because this systemd-analyze judges no files: {errors}");
            return;
        }
        let level = text
            .lines()
            .find_map(|line| line.split_once("exposure level for ")?.1.split_once(": "));
        let (_, level) = level.unwrap_or_else(|| panic!("no level: {text}{errors}"));
        let level = level.split_whitespace().next().and_then(|level| level.parse::<f64>().ok());
        let level = level.expect("a number");
        eprintln!("{}: {level}", unit.display());
        assert!(level < EXPOSURE_MAX, "{text}");
        // Unknown settings are ignored with a warning.
        assert!(!errors.contains(".service:"), "{errors}");
    }
}

/// The commands of units exist.
#[test]
fn units_start_what_there_is() {
    for unit in units() {
        let text = fs::read_to_string(&unit).expect("it can be read");
        let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/lasthop "));
        let start = start.unwrap_or_else(|| panic!("{}: no ExecStart=", unit.display()));
        let verbs = start.split_whitespace().take(2);
        let flags = start.split_whitespace().filter(|word| word.starts_with("--"));
        // The short help of a coded link has only the keys that most nodes need.
        let all = if start.starts_with("franc run ") { "--help-all" } else { "--help" };
        let help = crate::lasthop::run(&verbs.chain([all]).collect::<Vec<_>>());
        assert!(help.status.success(), "{start}");
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        for flag in flags {
            assert!(help.contains(flag), "{}: {flag} is no flag:\n{help}", unit.display());
        }
    }
}
