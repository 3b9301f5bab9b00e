//! Files that a scenario names: tables of packet error rates (CSV), recorded frame sizes (one in
//! each line), and movements of nodes (`movement`). A path is relative to the scenario file's folder, and absolute in the kept text, so
//! that the copy beside the results runs from there too. Empty lines and text after a `#` are
//! ignored; an error names file and line.

pub(crate) mod movement;

use crate::set;
use lasthop_config::file::{self, Accepts, FileError};
use lasthop_config::quantity::Quantity;
use lasthop_config::tree::{Node, Value};
use lasthop_units::{Bitrate, Db, Probability};
use lasthop_wifi::phy::{
    ChannelWidth, DsssRate, GuardInterval, HeGuardInterval, OfdmRate, PerRow, PerTable,
    PerTableError, Preamble, Rate,
};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml_edit::DocumentMut;

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// First line of a table of packet error rates.
const PER_HEADER: &str = "mode,bytes,snr_db,per";
/// Longest frame: ten times a key frame of 4K video.
const FRAME_BYTES_MAX: u32 = 10_000_000;

/// Makes every path to another file absolute, in the tree and in the text; returns them.
pub(crate) fn make_absolute(
    file: &str,
    tree: &mut Node,
    document: &mut DocumentMut,
) -> Vec<PathBuf> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let found = RefCell::new(Vec::new());
    for path in ["channel.error_model.table", "flow.*.trace", "node.*.trace", "node.*.trace.file"] {
        set::change(path, tree, document, &|value| {
            let Value::String(text) = value else { return None };
            let absolute = std::path::absolute(folder.join(text)).ok()?;
            // TOML holds no path that is not UTF-8.
            let absolute = absolute.to_str().filter(|_| !text.is_empty())?.to_owned();
            found.borrow_mut().push(PathBuf::from(&absolute));
            Some(absolute)
        });
    }
    found.into_inner()
}

/// Returns the packet error rates in the file at `path`.
pub(crate) fn per_table(path: &str) -> Result<PerTable, String> {
    let text = read(path, FILE_BYTES_MAX)?;
    let mut lines = lines(&text);
    match lines.next() {
        Some((_, header)) if columns(header).eq(PER_HEADER.split(',')) => {}
        Some((line, _)) => return Err(format!("{path}:{line}: expected the header {PER_HEADER}")),
        None => {
            return Err(format!("{path}: expected the header {PER_HEADER} and rows, got nothing"));
        }
    }
    let (mut rows, mut places) = (Vec::new(), Vec::new());
    for (line, text) in lines {
        rows.push(per_row(text).map_err(|why| format!("{path}:{line}: {why}"))?);
        places.push(line);
    }
    if rows.is_empty() {
        return Err(format!("{path}: there are no rows"));
    }
    PerTable::new(rows.clone()).map_err(|why| {
        let row = rows.iter().rposition(|row| is_about(&why, row));
        let line = places[row.expect("the error is about a row")];
        format!("{path}:{line}: {why}")
    })
}

/// Returns the frame sizes in the file at `path`; at least one, each from 1.
pub(crate) fn frame_sizes(path: &str) -> Result<Arc<[u32]>, String> {
    let text = read(path, FILE_BYTES_MAX)?;
    let mut sizes = Vec::new();
    for (line, text) in lines(&text) {
        match text.parse() {
            Ok(bytes @ 1..=FRAME_BYTES_MAX) => sizes.push(bytes),
            _ => {
                let got = lasthop_config::scalar::quoted(text);
                return Err(format!(
                    "{path}:{line}: expected the bytes of one frame, 1 to {FRAME_BYTES_MAX}, got {got}"
                ));
            }
        }
    }
    if sizes.is_empty() {
        return Err(format!("{path}: there are no frame sizes"));
    }
    Ok(sizes.into())
}

fn read(path: &str, bytes_max: u64) -> Result<String, String> {
    let unreadable = |why: FileError| format!("{path}: {why}");
    let bytes = file::read(Path::new(path), Accepts::Files, bytes_max).map_err(unreadable)?;
    file::text(&bytes).map(str::to_owned).map_err(unreadable)
}

/// Returns the contents of the lines, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = (1..).zip(text.lines());
    numbered
        .map(|(number, line)| (number, line.split('#').next().unwrap_or_default().trim()))
        .filter(|(_, line)| !line.is_empty())
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

fn per_row(line: &str) -> Result<PerRow, String> {
    let columns: Vec<&str> = columns(line).collect();
    let [mode, bytes, snr, per] = columns[..] else {
        return Err(format!("expected four columns, {PER_HEADER}, got {}", columns.len()));
    };
    let wrong = |what: &str, got: &str| {
        format!("expected {what}, got {}", lasthop_config::scalar::quoted(got))
    };
    Ok(PerRow {
        rate: rate(mode).ok_or_else(|| {
            let modes = "a mode (MCS0 to MCS11, 6Mb/s to 54Mb/s, or 1Mb/s to 11Mb/s)";
            wrong(modes, mode)
        })?,
        bytes: bytes.parse().map_err(|_| wrong("a length in bytes", bytes))?,
        snr: snr.parse().map(Db).map_err(|_| wrong("an SNR in dB", snr))?,
        per: per
            .parse()
            .ok()
            .and_then(Probability::new)
            .ok_or_else(|| wrong("a packet error rate from 0 to 1", per))?,
    })
}

/// Returns a rate of the mode; the curve depends on the name of the mode only.
fn rate(mode: &str) -> Option<Rate> {
    if let Some(index) = mode.strip_prefix("MCS") {
        let mcs = index.parse().ok()?;
        return match mcs {
            0..8 => Rate::ht(mcs, ChannelWidth::Mhz20, GuardInterval::Long),
            _ => Rate::he(mcs, 1, ChannelWidth::Mhz20, HeGuardInterval::Ns800Ltf2x, false),
        };
    }
    let bitrate = Bitrate::parse(mode).ok()?;
    let dsss = DsssRate::ALL.into_iter().find(|rate| rate.bitrate() == bitrate);
    let ofdm = OfdmRate::ALL.into_iter().find(|rate| rate.bitrate() == bitrate);
    dsss.map(|rate| Rate::Dsss { rate, preamble: Preamble::Long }).or(ofdm.map(Rate::Ofdm))
}

/// Whether the error concerns this row.
fn is_about(error: &PerTableError, row: &PerRow) -> bool {
    match *error {
        PerTableError::OutOfRange { rate, bytes, snr } => {
            (row.rate, row.bytes) == (rate, bytes) && row.snr.0.total_cmp(&snr.0).is_eq()
        }
        // Of two modes with one curve (MCS0 and 6Mb/s) the error names either.
        PerTableError::Twice { rate, bytes, snr } | PerTableError::Rising { rate, bytes, snr } => {
            (row.rate.modulation(), row.bytes, row.snr) == (rate.modulation(), bytes, snr)
        }
        PerTableError::TooFew { rate, bytes } => (row.rate, row.bytes) == (rate, bytes),
    }
}
