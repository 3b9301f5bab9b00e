//! Elements of fast BSS transitions (IEEE 802.11-2020, 13): Mobility Domain (9.4.2.46), Fast BSS
//! Transition (9.4.2.47) and Timeout Interval (9.4.2.48).
//!
//! The elements are read on demand. Keys, nonces and MICs are bytes of the caller: nothing is
//! computed or decrypted. Subelements without a type here keep their bytes.

use super::subelements::{Subelement, Subelements};
use super::{Element, LAYER, emit, emit_within, id, read};
use crate::reader::Reader;
use crate::{Error, Reason};
use alloc::vec::Vec;
use lasthop_units::MacAddr;

/// Mobility Domain element: access points between which fast transitions are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MobilityDomain {
    /// Mobility Domain Identifier.
    pub domain: u16,
    /// Whether transitions over the distribution system are possible.
    pub over_ds: bool,
    /// Whether the access points support resource requests.
    pub resource_request: bool,
}

impl MobilityDomain {
    const OVER_DS: u8 = 1 << 0;
    const RESOURCE_REQUEST: u8 = 1 << 1;

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            let domain = reader.u16("mobility domain identifier")?;
            let policy = reader.u8("FT capability and policy")?;
            let over_ds = policy & Self::OVER_DS != 0;
            Ok(Self { domain, over_ds, resource_request: policy & Self::RESOURCE_REQUEST != 0 })
        })
    }

    /// Appends the element.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let over_ds = if self.over_ds { Self::OVER_DS } else { 0 };
        let resource_request = if self.resource_request { Self::RESOURCE_REQUEST } else { 0 };
        emit(id::MOBILITY_DOMAIN, out, |out| {
            out.extend_from_slice(&self.domain.to_le_bytes());
            out.push(over_ds | resource_request);
        });
    }
}

/// Fast BSS Transition element: nonces, holders of keys, and group keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastTransition<'a> {
    /// Whether the sender used an RSNX element (MIC Control, bit 0).
    pub rsnx_used: bool,
    /// Number of elements that the MIC protects; 0 without a MIC.
    pub element_count: u8,
    /// MIC of 16, 24 or 32 octets; zeros if there is none.
    pub mic: &'a [u8],
    /// Nonce of the access point; zeros if there is none.
    pub anonce: [u8; 32],
    /// Nonce of the station; zeros if there is none.
    pub snonce: [u8; 32],
    /// Optional parameters.
    pub parameters: Subelements<'a>,
}

impl<'a> FastTransition<'a> {
    /// Subelement ID of R1KH-ID: the holder of the key of a pair.
    pub const R1_KEY_HOLDER: u8 = 1;
    /// Subelement ID of the GTK.
    pub const GTK: u8 = 2;
    /// Subelement ID of R0KH-ID: the holder of the key of a mobility domain.
    pub const R0_KEY_HOLDER: u8 = 3;
    /// Subelement ID of the IGTK.
    pub const IGTK: u8 = 4;

    const RSNX_USED: u8 = 1 << 0;
    /// Lengths of a MIC by code: bits 1 to 3 of MIC Control.
    const MIC_LENGTHS: [usize; 3] = [16, 24, 32];

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short, or a reserved length of the MIC; the
    /// offset is relative to the same start as [`Element::offset`].
    pub fn parse(element: &Element<'a>) -> Result<Self, Error> {
        read(element, |reader| {
            let control = reader.u8("MIC control")?;
            let code = control >> 1 & 7;
            let Some(&length) = Self::MIC_LENGTHS.get(usize::from(code)) else {
                return Err(reader.value("MIC length", 0, u32::from(code), "0 to 2"));
            };
            Ok(Self {
                rsnx_used: control & Self::RSNX_USED != 0,
                element_count: reader.u8("element count")?,
                mic: reader.take("MIC", length)?,
                anonce: reader.array("ANonce")?,
                snonce: reader.array("SNonce")?,
                parameters: Subelements::new(reader.rest()),
            })
        })
    }

    /// Appends the element.
    ///
    /// # Errors
    /// Returns an error for another length of the MIC than 16, 24 or 32 octets, or more information
    /// than 255 bytes, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let length = self.mic.len();
        let Some(code) = Self::MIC_LENGTHS.iter().position(|known| *known == length) else {
            let found = u32::try_from(length).unwrap_or(u32::MAX);
            let reason = Reason::Value { found, allowed: "16, 24 or 32 octets" };
            return Err(Error { layer: LAYER, field: "MIC", offset: 0, reason });
        };
        let rsnx_used = if self.rsnx_used { Self::RSNX_USED } else { 0 };
        emit_within(id::FAST_BSS_TRANSITION, out, |out| {
            out.extend_from_slice(&[rsnx_used | (code as u8) << 1, self.element_count]);
            out.extend_from_slice(self.mic);
            out.extend_from_slice(&self.anonce);
            out.extend_from_slice(&self.snonce);
            out.extend_from_slice(self.parameters.as_bytes());
        })
    }

    /// R0KH-ID, 1 to 48 octets: the holder of the key of a mobility domain.
    pub fn r0_key_holder(&self) -> Option<&'a [u8]> {
        self.parameters.find(Self::R0_KEY_HOLDER)
    }

    /// R1KH-ID, the address of an access point: the holder of the key of a pair.
    pub fn r1_key_holder(&self) -> Option<MacAddr> {
        self.parameters.find(Self::R1_KEY_HOLDER)?.first_chunk().copied().map(MacAddr)
    }

    /// The group key.
    ///
    /// # Errors
    /// Returns an error for a GTK subelement that is too short; the offset is relative to its data.
    pub fn gtk(&self) -> Result<Option<WrappedGtk<'a>>, Error> {
        self.parameters.find(Self::GTK).map(WrappedGtk::parse).transpose()
    }

    /// The key of protected group-addressed management frames.
    ///
    /// # Errors
    /// Returns an error for an IGTK subelement that is too short; the offset is relative to its
    /// data.
    pub fn igtk(&self) -> Result<Option<WrappedIgtk<'a>>, Error> {
        self.parameters.find(Self::IGTK).map(WrappedIgtk::parse).transpose()
    }
}

/// Group key in a Fast BSS Transition element, encrypted by AES key wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrappedGtk<'a> {
    /// Number of the key in its network, 0 to 3.
    pub id: u8,
    /// Length of the key before encryption.
    pub length: u8,
    /// Receive sequence counter (RSC): the last packet number, the lowest octet first.
    pub receive_sequence: [u8; 8],
    /// The encrypted key, padded to a multiple of 8 octets, with 8 more.
    pub key: &'a [u8],
}

impl<'a> WrappedGtk<'a> {
    fn parse(data: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(LAYER, data);
        Ok(Self {
            id: (reader.u16("GTK key information")? & 3) as u8,
            length: reader.u8("GTK length")?,
            receive_sequence: reader.array("GTK receive sequence counter")?,
            key: reader.rest(),
        })
    }

    /// Appends the subelement.
    ///
    /// # Errors
    /// Returns an error for more than 244 bytes of the encrypted key, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut data = Vec::new();
        data.extend_from_slice(&u16::from(self.id & 3).to_le_bytes());
        data.push(self.length);
        data.extend_from_slice(&self.receive_sequence);
        data.extend_from_slice(self.key);
        Subelement { id: FastTransition::GTK, data: &data }.emit(out)
    }
}

/// IGTK in a Fast BSS Transition element, encrypted by AES key wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrappedIgtk<'a> {
    /// Number of the key in its network, 4 or 5.
    pub id: u16,
    /// IGTK packet number, the lowest octet first.
    pub packet_number: [u8; 6],
    /// Length of the key before encryption.
    pub length: u8,
    /// The encrypted key, with 8 octets more.
    pub key: &'a [u8],
}

impl<'a> WrappedIgtk<'a> {
    fn parse(data: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(LAYER, data);
        Ok(Self {
            id: reader.u16("IGTK key ID")?,
            packet_number: reader.array("IGTK packet number")?,
            length: reader.u8("IGTK length")?,
            key: reader.rest(),
        })
    }

    /// Appends the subelement.
    ///
    /// # Errors
    /// Returns an error for more than 246 bytes of the encrypted key, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut data = Vec::new();
        data.extend_from_slice(&self.id.to_le_bytes());
        data.extend_from_slice(&self.packet_number);
        data.push(self.length);
        data.extend_from_slice(self.key);
        Subelement { id: FastTransition::IGTK, data: &data }.emit(out)
    }
}

/// Timeout Interval element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimeoutInterval {
    /// Timeout Interval Type, which determines the unit of the value.
    pub kind: u8,
    /// Timeout Interval Value.
    pub value: u32,
}

impl TimeoutInterval {
    /// Reassociation deadline in units of 1 024 us.
    pub const REASSOCIATION_DEADLINE: u8 = 1;
    /// Lifetime of a key in seconds.
    pub const KEY_LIFETIME: u8 = 2;
    /// Association comeback time in units of 1 024 us: when a refused station may ask again.
    pub const ASSOCIATION_COMEBACK: u8 = 3;

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            let kind = reader.u8("timeout interval type")?;
            Ok(Self { kind, value: reader.u32("timeout interval value")? })
        })
    }

    /// Appends the element.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::TIMEOUT_INTERVAL, out, |out| {
            out.push(self.kind);
            out.extend_from_slice(&self.value.to_le_bytes());
        });
    }
}
