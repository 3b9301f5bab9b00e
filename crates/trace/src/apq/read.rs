//! Reads `samples.parquet`, the packets of a measurement.

use super::ApqWay;
use crate::read::{TableError, TableReader};
use std::path::Path;

/// A packet of the measurement that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApqSample {
    /// Number of the phase, from 0.
    pub phase: u32,
    /// Direction of the packet.
    pub direction: ApqWay,
    /// Whether it belongs to the flow that fills the queue; the other flow is sparse.
    pub is_bulk: bool,
    /// Length of the IP packet in bytes; 0 if unknown.
    pub packet_bytes: u16,
    /// Time of departure by the sender's clock, in ns.
    pub sent_ns: i64,
    /// Time of arrival by the receiver's clock minus `sent_ns`, in ns; includes the offset of the
    /// clocks.
    pub delay_ns: i64,
}

impl ApqSample {
    /// Reads the packets in the file at `path`, in its order.
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
