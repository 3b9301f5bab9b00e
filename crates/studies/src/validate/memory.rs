//! Peak memory of a run of many stations, in bytes of the heap as Valgrind (dhat) counts them.
//! The figure does not depend on the machine and its load, but on the compiler and its library,
//! whose version is kept with it.
//!
//! A workload of `lasthop_fixtures` runs in a separate process, which also reads the scenario. The
//! run writes no result files, and the size of the program itself does not count.

use crate::Verdict;
use crate::table::Table;
use crate::validate::data::Record;
use crate::validate::instructions::compiler;
use crate::validate::kept::Kept;
use lasthop_fixtures::workloads;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The workloads: those with many stations.
pub const WORKLOADS: [&str; 3] =
    [workloads::UDP_TWO_HUNDRED, workloads::UDP_THOUSAND, workloads::UDP_THOUSAND_FAIR];

/// The figures that were kept.
const KEPT: Kept = Kept { file: "memory.csv", header: "workload,bytes,rustc" };
/// Milliseconds of virtual time: all queues are full, and the crowd of the beginning is over.
const MS: u64 = 300;
/// Largest accepted growth, as a share.
const GROWTH_MAX: f64 = 0.03;
/// More is a fault in any case: 80 MB, the aim for a thousand stations.
const BYTES_MAX: u64 = 80_000_000;

/// Memory of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Name of the workload.
    pub workload: &'static str,
    /// Bytes of the heap when they are most.
    pub bytes: u64,
}

/// Measures a workload, which `program` runs when it is given `work WORKLOAD MS`.
///
/// # Errors
/// If there is no Valgrind, or it says something else than expected.
pub fn measure(program: &Path, workload: &'static str) -> io::Result<Peak> {
    let output = Command::new("valgrind")
        .args(["--tool=dhat", "--dhat-out-file=/dev/null"])
        .arg(program)
        .args(["work", workload, &MS.to_string()])
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    match peak(&said) {
        Some(bytes) if output.status.success() => Ok(Peak { workload, bytes }),
        _ => Err(io::Error::other(format!("valgrind said:\n{said}"))),
    }
}

/// The bytes at the global maximum, as dhat says them.
fn peak(said: &str) -> Option<u64> {
    // ==1234== At t-gmax: 8,597,208 bytes in 1,884 blocks
    let (_, rest) = said.split_once("At t-gmax:")?;
    let (bytes, _) = rest.split_once(" bytes")?;
    bytes.trim().replace(',', "").parse().ok()
}

/// Replaces the kept figures.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(peaks: &[Peak]) -> io::Result<()> {
    let rustc = compiler();
    KEPT.replace(peaks.iter().map(|Peak { workload, bytes }| format!("{workload},{bytes},{rustc}")))
}

/// Returns the table of workloads beside the kept figures. One that has grown by more than 3 % is a fault,
/// unless the compiler is another, and so is one above 80 MB.
pub fn table(peaks: &[Peak]) -> Table {
    compare(peaks, &KEPT.records(), &compiler())
}

/// The kept figures, for a page.
pub fn sentence() -> String {
    let records = KEPT.records();
    let figures = records.iter().map(|record| {
        format!("{:.1} MB for `{}`", record.number("bytes") / 1e6, record.text("workload"))
    });
    figures.collect::<Vec<_>>().join(", ")
}

fn compare(peaks: &[Peak], kept: &[Record], rustc: &str) -> Table {
    let rows = peaks.iter().map(|&Peak { workload, bytes }| {
        let record = kept.iter().find(|record| record.text("workload") == workload);
        let before = record.map(|record| record.number("bytes"));
        let change = before.map(|before| bytes as f64 / before - 1.0);
        let is_same = record.is_some_and(|record| record.text("rustc") == rustc);
        let verdict = match change {
            _ if bytes > BYTES_MAX => Verdict::Fail,
            Some(change) if is_same && change > GROWTH_MAX => Verdict::Fail,
            Some(_) if is_same => Verdict::Pass,
            _ => Verdict::Listed,
        };
        let mb = |bytes: f64| format!("{:.2}", bytes / 1e6);
        let cells = vec![
            workload.to_owned(),
            mb(bytes as f64),
            before.map_or_else(String::new, mb),
            change.map_or_else(String::new, |change| format!("{:+.1}", 100.0 * change)),
        ];
        (cells, verdict)
    });
    Table {
        title: "Memory",
        text: format!(
            "Most memory of the heap at a time, in a release build by Rust {rustc}, nothing \
             recorded. Target: at most {} MB, and at most 3 % more than what is kept in \
             `crates/studies/data/memory.csv`, which is of the same compiler.",
            BYTES_MAX / 1_000_000
        ),
        columns: vec!["workload", "MB", "kept", "change in %"],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::data;

    #[test]
    fn growth_is_a_fault() {
        let kept = "workload,bytes,rustc\ntwo-hundred,10000000,1.90.0\nthousand,50000000,1.90.0\n";
        let [two_hundred, thousand, _] = WORKLOADS;
        let peaks = [
            Peak { workload: two_hundred, bytes: 10_290_000 },
            Peak { workload: two_hundred, bytes: 10_310_000 },
            Peak { workload: thousand, bytes: 40_000_000 },
            Peak { workload: thousand, bytes: 80_000_001 },
        ];
        let verdicts = |rustc| -> Vec<Verdict> {
            let table = compare(&peaks, &data::records(kept), rustc);
            table.rows.iter().map(|row| row.1).collect()
        };
        let [pass, fail, listed] = [Verdict::Pass, Verdict::Fail, Verdict::Listed];
        assert_eq!(verdicts("1.90.0"), [pass, fail, pass, fail]);
        assert_eq!(verdicts("1.91.0"), [listed, listed, listed, fail]);
    }

    #[test]
    fn what_dhat_says_is_read() {
        let said = "==9460== Total:     14,036,707 bytes in 13,838 blocks\n\
                    ==9460== At t-gmax: 8,597,208 bytes in 1,884 blocks\n\
                    ==9460== At t-end:  1,968 bytes in 13 blocks\n";
        assert_eq!(peak(said), Some(8_597_208));
        assert_eq!(peak("valgrind: no such program"), None);
    }
}
