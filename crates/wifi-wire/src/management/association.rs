//! The bodies of association and reassociation (IEEE 802.11-2020, 9.3.3.5 to 9.3.3.8). Elements
//! that FILS encrypts are not read.

use super::association_elements;
use crate::Error;
use crate::elements::Elements;
use crate::reader::Reader;
use alloc::vec::Vec;

/// Fields of an Association or Reassociation Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationRequest<'a> {
    /// Capability Information (9.4.1.4), with the bits of [`Beacon`](super::Beacon).
    pub capabilities: u16,
    /// Listen Interval: beacon intervals for which the station may doze.
    pub listen_interval: u16,
    /// SSID and further elements.
    pub elements: Elements<'a>,
}

impl<'a> AssociationRequest<'a> {
    /// Length of the fixed fields, without the current AP address.
    pub(super) const FIXED_LEN: usize = 4;

    /// Reads the fields before the current AP address; the elements follow.
    pub(super) fn parse_fixed(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            capabilities: reader.u16("capability information")?,
            listen_interval: reader.u16("listen interval")?,
            elements: Elements::default(),
        })
    }

    pub(super) fn emit_fixed(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(&self.listen_interval.to_le_bytes());
    }
}

/// Fields of an Association or Reassociation Response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationResponse<'a> {
    /// Capability Information (9.4.1.4), with the bits of [`Beacon`](super::Beacon).
    pub capabilities: u16,
    /// Status code (9.4.1.9); 0 accepts the station.
    pub status: u16,
    /// AID of the station, 1 to 2 007; 0 in a refusal.
    pub aid: u16,
    /// Further elements.
    pub elements: Elements<'a>,
}

impl<'a> AssociationResponse<'a> {
    /// Length of the fixed fields.
    pub(super) const FIXED_LEN: usize = 6;
    /// The two most significant bits of the field are set (9.4.1.8).
    const AID_MARK: u16 = 3 << 14;

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            capabilities: reader.u16("capability information")?,
            status: reader.u16("status code")?,
            aid: reader.u16("AID")? & !Self::AID_MARK,
            elements: association_elements(reader)?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        for field in [self.capabilities, self.status, self.aid | Self::AID_MARK] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(self.elements.as_bytes());
    }
}
