//! Reads `samples.parquet` back.

use super::ApqWay;
use crate::read::{TableError, TableReader};
use std::path::Path;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApqSample {
    /// Number of its phase, from 0.
    pub phase: u32,
    /// Which way it went.
    pub direction: ApqWay,
    /// It is of the flow that fills the queue, and not of the sparse one beside it.
    pub is_bulk: bool,
    /// Length of the IP packet; 0 if it is unknown.
    pub packet_bytes: u16,
    /// The sender's clock when it left, in ns.
    pub sent_ns: i64,
    /// The receiver's clock when it arrived less that, in ns; the offset of the clocks is in it.
    pub delay_ns: i64,
}

impl ApqSample {
    /// The packets in the file at `path`, in its order.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn read(path: &Path) -> Result<Vec<Self>, TableError> {
        let table = TableReader::open(path, "samples")?;
        let mut samples = Vec::new();
        for group in table.whole()? {
            let (phase, direction) = (group.int32("phase")?, group.text("direction")?);
            let (kind, bytes) = (group.text("kind")?, group.int32("packet_bytes")?);
            let (sent, delay) = (group.int64("sent_ns")?, group.int64("delay_ns")?);
            for row in 0..phase.len() {
                let (Some(phase), Some(direction), Some(kind), Some(sent_ns), Some(delay_ns)) =
                    (phase[row], &direction[row], &kind[row], sent[row], delay[row])
                else {
                    continue;
                };
                samples.push(Self {
                    phase: u32::try_from(phase).unwrap_or(0),
                    direction: match direction.data() {
                        b"up" => ApqWay::Up,
                        _ => ApqWay::Down,
                    },
                    is_bulk: kind.data() == b"bulk",
                    packet_bytes: bytes[row].and_then(|it| u16::try_from(it).ok()).unwrap_or(0),
                    sent_ns,
                    delay_ns,
                });
            }
        }
        Ok(samples)
    }
}
