//! A-MSDU subframes (IEEE 802.11-2020, 9.3.2.2.2): DA, SA, length (big-endian, unlike the rest),
//! MSDU, and padding to four bytes after all but the last. The sender must keep the limit of an
//! A-MSDU (3 839 or 7 935 bytes).

use super::reader::Reader;
use super::{Error, Reason};
use alloc::vec::Vec;
use lasthop_units::MacAddr;

/// Length of a subframe's header in bytes.
pub const HEADER_LEN: usize = 14;

/// One MSDU in an A-MSDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmsduSubframe<'a> {
    /// Destination address (DA) of the MSDU.
    pub destination: MacAddr,
    /// Source address (SA) of the MSDU.
    pub source: MacAddr,
    /// The MSDU from its LLC header on, up to 65 535 bytes.
    pub msdu: &'a [u8],
}

/// Iterator over the subframes of a QoS data frame's body. The iterator ends after the first error.
#[derive(Clone, Debug)]
pub struct AmsduSubframes<'a> {
    reader: Reader<'a>,
    body: &'a [u8],
    failed: bool,
}

impl<'a> AmsduSubframes<'a> {
    /// Iterates over the subframes in the body of a frame with [`amsdu_present`](super::QosControl::amsdu_present).
    pub const fn new(body: &'a [u8]) -> Self {
        Self { reader: Reader::new(LAYER, body), body, failed: false }
    }

    fn subframe(&mut self) -> Result<AmsduSubframe<'a>, Error> {
        let destination = self.reader.address("DA")?;
        let source = self.reader.address("SA")?;
        let length = u16::from_be_bytes(self.reader.array("length")?);
        let msdu = self.reader.take("MSDU", usize::from(length))?;
        // The last subframe has no padding: then the reader is at or behind the end.
        let next = self.reader.offset().next_multiple_of(ALIGN);
        self.reader = Reader::at(LAYER, self.body, next);
        Ok(AmsduSubframe { destination, source, msdu })
    }
}

impl<'a> Iterator for AmsduSubframes<'a> {
    type Item = Result<AmsduSubframe<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.reader.left() == 0 {
            return None;
        }
        let subframe = self.subframe();
        self.failed = subframe.is_err();
        Some(subframe)
    }
}

/// Builder of an A-MSDU.
#[derive(Clone, Debug, Default)]
pub struct AmsduWriter {
    body: Vec<u8>,
}

impl AmsduWriter {
    /// Returns a writer without subframes.
    pub const fn new() -> Self {
        Self { body: Vec::new() }
    }

    /// Pads the current content and appends a subframe.
    ///
    /// # Errors
    /// Returns an error for an MSDU of more than 65 535 bytes, and writes nothing.
    pub fn push(&mut self, subframe: &AmsduSubframe<'_>) -> Result<(), Error> {
        let start = self.body.len().next_multiple_of(ALIGN);
        let length = u16::try_from(subframe.msdu.len()).map_err(|_| Error {
            layer: LAYER,
            field: "MSDU",
            offset: start + HEADER_LEN,
            reason: Reason::Long { length: subframe.msdu.len(), max: usize::from(u16::MAX) },
        })?;
        self.body.resize(start, 0);
        self.body.extend_from_slice(&subframe.destination.0);
        self.body.extend_from_slice(&subframe.source.0);
        self.body.extend_from_slice(&length.to_be_bytes());
        self.body.extend_from_slice(subframe.msdu);
        Ok(())
    }

    /// Returns the body of the frame.
    pub fn finish(self) -> Vec<u8> {
        self.body
    }
}

const LAYER: &str = "A-MSDU";
/// Alignment of subframes in bytes.
const ALIGN: usize = 4;
