//! A cursor over bytes that turns a lack of bytes into an [`Error`]. Numbers are little-endian, as
//! in IEEE 802.11 and radiotap.

use super::{Error, Reason};
use lasthop_units::MacAddr;

#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    layer: &'static str,
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(layer: &'static str, bytes: &'a [u8]) -> Self {
        Self { layer, bytes, position: 0 }
    }

    /// Returns a reader that begins at `position`; after the end, no byte is left.
    pub(super) const fn at(layer: &'static str, bytes: &'a [u8], position: usize) -> Self {
        Self { layer, bytes, position }
    }

    /// Offset of the next byte.
    pub(super) const fn offset(&self) -> usize {
        self.position
    }

    pub(super) const fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    pub(super) fn take(&mut self, field: &'static str, needs: usize) -> Result<&'a [u8], Error> {
        let end = self.position.saturating_add(needs);
        match self.bytes.get(self.position..end) {
            Some(taken) => {
                self.position = end;
                Ok(taken)
            }
            None => Err(Error {
                layer: self.layer,
                field,
                offset: self.position.min(self.bytes.len()),
                reason: Reason::Short { needs, left: self.left() },
            }),
        }
    }

    pub(super) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, Error> {
        self.array(field).map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, Error> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, Error> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, Error> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(super) fn address(&mut self, field: &'static str) -> Result<MacAddr, Error> {
        self.array(field).map(MacAddr)
    }

    /// Returns all bytes that are left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        self.position = self.bytes.len();
        rest
    }

    /// Returns an error about the field at `offset`, whose value is invalid.
    pub(super) const fn value(
        &self,
        field: &'static str,
        offset: usize,
        found: u32,
        allowed: &'static str,
    ) -> Error {
        Error { layer: self.layer, field, offset, reason: Reason::Value { found, allowed } }
    }
}
