//! PER curves in rows: measured on a device, or from a link simulator.
//!
//! A curve is the set of rows of one mode (the modulation and code of a rate) and one length.
//! Between rows ln(-ln(1 - PER)) is linear in SNR, which is nearly straight for real curves: rows 1
//! dB apart are good to some 0.02 dB. Beyond the rows with a PER strictly between 0 and 1, the
//! slope of the two outermost rows continues. Rows with PER 0 mean that no frame is lost from there
//! on, rows with PER 1 that at most one in ten million arrives.

use super::{Curve, Curves, Mode};
use crate::Rate;
use alloc::vec::Vec;
use lasthop_units::{Db, Probability};

/// PER below which the value counts as zero: simulators that subtract a success rate from one leave
/// rounding noise of some 1e-13, which may even rise.
const PER_MIN: f64 = 1e-9;

/// Smallest hazard for a PER of 1: one in ten million arrives.
const HAZARD_OF_LOSS: f64 = 16.2;

/// One point of a PER curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerRow {
    /// A rate of the mode, which is its modulation and code. Width, guard interval, streams and
    /// preamble do not matter.
    pub rate: Rate,
    /// Length of the frame in bytes, at least 1.
    pub bytes: u32,
    /// SNR of the row.
    pub snr: Db,
    /// Packet error rate.
    pub per: Probability,
}

/// Checked PER curves, for [`ErrorModel::table`](super::ErrorModel::table).
#[derive(Clone, Debug, PartialEq)]
pub struct PerTable {
    /// Sorted by mode, length, SNR.
    rows: Vec<PerRow>,
}

/// Reason why rows are not a PER table.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PerTableError {
    /// A length of zero, or an SNR that is not a number of -20 to 60 dB.
    #[error("{rate} {bytes} B at {snr}: needs a length above 0 and an SNR of -20 to 60 dB")]
    OutOfRange {
        /// Rate of the row.
        rate: Rate,
        /// Length of the row.
        bytes: u32,
        /// SNR of the row.
        snr: Db,
    },
    /// Two rows of a curve at one SNR.
    #[error("{rate} {bytes} B: two rows at {snr}")]
    Twice {
        /// Rate of the curve.
        rate: Rate,
        /// Length of the curve.
        bytes: u32,
        /// The SNR of both rows.
        snr: Db,
    },
    /// More errors at a higher SNR.
    #[error("{rate} {bytes} B: the PER rises at {snr}; it must fall or stay")]
    Rising {
        /// Rate of the curve.
        rate: Rate,
        /// Length of the curve.
        bytes: u32,
        /// SNR at which the curve begins to rise.
        snr: Db,
    },
    /// Fewer than two rows with different PER strictly between 0 and 1: no slope.
    #[error("{rate} {bytes} B: needs two falling rows with a PER between 0 and 1")]
    TooFew {
        /// Rate of the curve.
        rate: Rate,
        /// Length of the curve.
        bytes: u32,
    },
}

impl PerTable {
    /// Checks `rows`, given in any order. A PER below 1e-9 counts as zero.
    ///
    /// # Errors
    ///
    /// Returns an error for a row out of range or twice, a rising curve, or one with fewer than two
    /// different PER strictly between 0 and 1.
    pub fn new(mut rows: Vec<PerRow>) -> Result<Self, PerTableError> {
        for row in &mut rows {
            let PerRow { rate, bytes, snr, per } = *row;
            if per.as_f64() < PER_MIN {
                row.per = Probability::ZERO;
            }
            if bytes == 0 || !(Curve::LOWEST_DB..=Curve::HIGHEST_DB).contains(&snr.0) {
                return Err(PerTableError::OutOfRange { rate, bytes, snr });
            }
        }
        rows.sort_by(|a, b| key(a).cmp(&key(b)).then(a.snr.0.total_cmp(&b.snr.0)));
        for curve in rows.chunk_by(same_curve) {
            let PerRow { rate, bytes, .. } = curve[0];
            for pair in curve.windows(2) {
                let snr = pair[1].snr;
                if pair[0].snr == snr {
                    return Err(PerTableError::Twice { rate, bytes, snr });
                }
                if pair[0].per < pair[1].per {
                    return Err(PerTableError::Rising { rate, bytes, snr });
                }
            }
            let mut inner = curve.iter().filter(|row| is_inner(row));
            match (inner.next(), inner.next_back()) {
                (Some(first), Some(last)) if hazard(first) > hazard(last) => {}
                _ => return Err(PerTableError::TooFew { rate, bytes }),
            }
        }
        Ok(Self { rows })
    }

    pub(super) fn into_curves(self) -> impl Iterator<Item = (Mode, Curves)> {
        let modes: Vec<_> = self
            .rows
            .chunk_by(|a, b| key(a).0 == key(b).0)
            .map(|rows| {
                let of_length = rows.chunk_by(same_curve).map(curve).collect();
                (key(&rows[0]).0, Curves { of_length })
            })
            .collect();
        modes.into_iter()
    }
}

fn key(row: &PerRow) -> (Mode, u32) {
    (Mode::from_rate(row.rate), row.bytes)
}

fn same_curve(a: &PerRow, b: &PerRow) -> bool {
    key(a) == key(b)
}

/// Whether a PER has a finite logarithm of its hazard.
fn is_inner(row: &PerRow) -> bool {
    hazard(row) > 0.0 && row.per < Probability::ONE
}

fn hazard(row: &PerRow) -> f64 {
    -libm::log1p(-row.per.as_f64())
}

/// Reference length and curve of rows that [`PerTable::new`] has checked.
fn curve(rows: &[PerRow]) -> (f64, Curve) {
    let mut points: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| is_inner(row))
        .map(|row| (row.snr.0, libm::log(hazard(row))))
        .collect();
    if let Some(lost) = rows.iter().rfind(|row| row.per == Probability::ONE) {
        let by_slope = line(&points, lost.snr.0);
        points.insert(0, (lost.snr.0, by_slope.max(libm::log(HAZARD_OF_LOSS))));
    }
    let lossless_db = rows.iter().find(|row| row.per == Probability::ZERO).map(|row| row.snr.0);
    let bytes = f64::from(rows[0].bytes);
    let curve = Curve::tabulate(|db| match lossless_db {
        Some(lossless) if db >= lossless => 0.0,
        _ => libm::exp(line(&points, db)) / bytes,
    });
    (bytes, curve)
}

/// Piecewise linear interpolation through `points`, two or more, ascending; the end segments
/// continue.
pub(super) fn line(points: &[(f64, f64)], x: f64) -> f64 {
    let above = points.iter().position(|point| x < point.0).unwrap_or(points.len());
    let i = above.clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (points[i - 1], points[i]);
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}
