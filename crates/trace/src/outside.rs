//! Measurements by other programs, beside runs of a scenario: `.flent.gz` of flent, the JSON of
//! iperf3 and of irtt. A capture becomes a [`Measurement`] in `lasthop_capture`.
//!
//! | module | content |
//! |---|---|
//! | `measurement` | series of a measurement: means by time, quantiles |
//! | `field` | fields of JSON, with their names in errors |
//! | `flent`, `iperf3`, `irtt` | readers of one format each |
//! | `watch` | a simulated run as a measurement |
//! | `beside` | both in one document |
//!
//! Files are untrusted. Text is limited to `TEXT_BYTES_MAX`, and memory to some twenty times the
//! text.

mod beside;
mod field;
mod flent;
mod iperf3;
mod irtt;
mod measurement;
mod watch;

pub use beside::{
    MeasuredComparison, MeasuredDistribution, MeasuredFlows, MeasuredQuantity, MeasuredSide,
    measured_comparison_schema,
};
pub use field::FieldError;
pub use flent::{FlentMetadata, FlentWifi};
pub use measurement::{Measurement, MeasurementKind, MeasurementSeries, MeasurementValue};
pub use watch::FlowWatch;

use field::Field;
use serde_json::Value;

/// Largest length of a measurement's text, decompressed.
pub const TEXT_BYTES_MAX: u64 = 32 << 20;

/// Errors of reading a measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    /// The file cannot be read.
    #[error("{file}: {source}")]
    File {
        /// Name of the file.
        file: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The text is too long.
    #[error("{file}: expected at most {} MiB of text", TEXT_BYTES_MAX >> 20)]
    Long {
        /// Name of the file.
        file: String,
    },
    /// The text is no JSON.
    #[error("{file}: expected JSON: {source}")]
    Json {
        /// Name of the file.
        file: String,
        /// The error of the reader.
        source: serde_json::Error,
    },
    /// A field is missing or has another value.
    #[error("{file}: {source}")]
    Field {
        /// Name of the file.
        file: String,
        /// The field.
        source: FieldError,
    },
}

impl Measurement {
    /// Reads the text of a measurement. `file` is its name in messages.
    ///
    /// # Errors
    /// See [`MeasurementError`].
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, MeasurementError> {
        let value = json(file, text)?;
        let top = Field::top(&value);
        let read = if top.has("raw_values") || top.has("x_values") {
            flent::measurement(&top)
        } else if top.has("round_trips") {
            irtt::measurement(&top)
        } else if top.has("intervals") || top.has("start") {
            iperf3::measurement(&top)
        } else {
            Err(top.other(
                "the results of flent (raw_values), of iperf3 (intervals) or of irtt (round_trips)",
            ))
        };
        read.map_err(|source| MeasurementError::Field { file: file.to_owned(), source })
    }
}

impl FlentMetadata {
    /// Reads the metadata of flent's results. `file` is their name in messages.
    ///
    /// # Errors
    /// See [`MeasurementError`].
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, MeasurementError> {
        let value = json(file, text)?;
        flent::metadata(&Field::top(&value))
            .map_err(|source| MeasurementError::Field { file: file.to_owned(), source })
    }
}

fn json(file: &str, text: &[u8]) -> Result<Value, MeasurementError> {
    if text.len() as u64 > TEXT_BYTES_MAX {
        return Err(MeasurementError::Long { file: file.to_owned() });
    }
    serde_json::from_slice(text)
        .map_err(|source| MeasurementError::Json { file: file.to_owned(), source })
}

/// Reads a file, decompressed if it is compressed with gzip.
///
/// # Errors
/// If it cannot be read, or its text is longer than `TEXT_BYTES_MAX`.
#[cfg(feature = "files")]
pub fn read_measurement_text(path: &std::path::Path) -> Result<Vec<u8>, MeasurementError> {
    use std::io::{BufRead, BufReader, Read};
    let file = path.display().to_string();
    let opened = std::fs::File::open(path).and_then(|opened| {
        let mut source = BufReader::new(opened);
        let is_compressed = source.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let source: Box<dyn Read> = if is_compressed {
            Box::new(flate2::bufread::MultiGzDecoder::new(source))
        } else {
            Box::new(source)
        };
        let mut text = Vec::new();
        source.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text)?;
        Ok(text)
    });
    let text = opened.map_err(|source| MeasurementError::File { file: file.clone(), source })?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        return Err(MeasurementError::Long { file });
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
