//! Subelements: the optional fields at the end of an element (IEEE 802.11-2020, 9.4.3), with an ID
//! that is unique within the element, a length and data.

use super::{HEADER_LEN, LAYER};
use crate::{Error, Reason};
use alloc::vec::Vec;

/// Subelements as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Subelements<'a> {
    bytes: &'a [u8],
}

impl<'a> Subelements<'a> {
    /// Returns subelements without a check.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the bytes of all subelements.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over the subelements in order; ends before the first incomplete one.
    pub fn iter(self) -> impl Iterator<Item = Subelement<'a>> + use<'a> {
        let mut left = self.bytes;
        core::iter::from_fn(move || {
            let (&[id, length], data) = left.split_first_chunk()?;
            let (data, behind) = data.split_at_checked(usize::from(length))?;
            left = behind;
            Some(Subelement { id, data })
        })
    }

    /// Returns the data of the first subelement with this ID.
    pub fn find(self, id: u8) -> Option<&'a [u8]> {
        self.iter().find(|it| it.id == id).map(|it| it.data)
    }
}

/// One subelement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subelement<'a> {
    /// ID, unique within the element.
    pub id: u8,
    /// Data of up to 255 bytes.
    pub data: &'a [u8],
}

impl Subelement<'_> {
    /// Appends the subelement.
    ///
    /// # Errors
    /// Returns an error for more than 255 bytes of data, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let length = self.data.len();
        let Ok(octet) = u8::try_from(length) else {
            let reason = Reason::Long { length, max: usize::from(u8::MAX) };
            return Err(Error { layer: LAYER, field: "subelement", offset: HEADER_LEN, reason });
        };
        out.extend_from_slice(&[self.id, octet]);
        out.extend_from_slice(self.data);
        Ok(())
    }
}
