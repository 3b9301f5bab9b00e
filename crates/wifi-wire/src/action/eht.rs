//! Protected EHT Action frames (IEEE 802.11be-2024, 9.6.35): negotiation of TID-to-link mappings, and
//! the change to and from EMLSR. Others keep their bytes. On the air these frames are encrypted.

use crate::Error;
use crate::elements::Elements;
use crate::reader::Reader;
use alloc::vec::Vec;

/// The body of a Protected EHT Action frame, after the category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectedEht<'a> {
    /// TID-To-Link Mapping Request.
    LinkMappingRequest {
        /// Number that matches the response to the request; not 0.
        dialog_token: u8,
        /// TID-To-Link Mapping elements, one or one for each direction; unchecked.
        elements: Elements<'a>,
    },
    /// TID-To-Link Mapping Response.
    LinkMappingResponse {
        /// Dialog token of the request; 0 without a request.
        dialog_token: u8,
        /// Status code: 0 accepts, 133 denies, 134 suggests the mapping of the elements.
        status: u16,
        /// TID-To-Link Mapping elements, unchecked.
        elements: Elements<'a>,
    },
    /// TID-To-Link Mapping Teardown: back to the default.
    LinkMappingTeardown,
    /// EML Operating Mode Notification.
    OperatingMode(EmlOperatingMode<'a>),
}

/// EML Operating Mode Notification: the links on which the station has EMLSR or EMLMR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmlOperatingMode<'a> {
    /// Number that matches the answer to the notification.
    pub dialog_token: u8,
    /// EMLSR Link Bitmap (bit n for link n), if the EMLSR mode is on.
    pub emlsr_links: Option<u16>,
    /// EMLMR Link Bitmap and, behind it, the octets of the EMLMR's MCS maps, if the mode is on.
    pub emlmr: Option<(u16, &'a [u8])>,
    /// Whether other radios of the device disturb it.
    pub coexistence: bool,
    /// EMLSR Parameter Update: codes of padding and transition delay, as in EML Capabilities.
    pub parameters: Option<(u8, u8)>,
    /// Octets behind the known fields.
    pub rest: &'a [u8],
}

impl<'a> EmlOperatingMode<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let dialog_token = reader.u8("dialog token")?;
        let control = reader.u8("EML control")?;
        let emlsr = control & EMLSR != 0;
        let emlsr_links = if emlsr { Some(reader.u16("EMLSR link bitmap")?) } else { None };
        let emlmr = if control & EMLMR != 0 && !emlsr {
            let links = reader.u16("EMLMR link bitmap")?;
            // The control counts the widths less one: up to 80, 160 and 320 MHz.
            let maps = usize::from({ *reader }.u8("MCS map count control")? & 3) + 1;
            Some((links, reader.take("EMLMR MCS maps", 1 + 3 * maps)?))
        } else {
            None
        };
        let parameters = if control & UPDATE != 0 {
            let octet = reader.u8("EMLSR parameter update")?;
            Some((octet & 7, octet >> 3 & 7))
        } else {
            None
        };
        let coexistence = control & COEXISTENCE != 0;
        let rest = reader.rest();
        Ok(Self { dialog_token, emlsr_links, emlmr, coexistence, parameters, rest })
    }

    const fn buffer_len(&self) -> usize {
        let links = if self.emlsr_links.is_some() { 2 } else { 0 };
        let emlmr = match self.emlmr {
            Some((_, maps)) if self.emlsr_links.is_none() => 2 + maps.len(),
            _ => 0,
        };
        2 + links + emlmr + self.parameters.is_some() as usize + self.rest.len()
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        let emlmr = self.emlmr.filter(|_| self.emlsr_links.is_none());
        let control = bit(self.emlsr_links.is_some(), EMLSR)
            | bit(emlmr.is_some(), EMLMR)
            | bit(self.parameters.is_some(), UPDATE)
            | bit(self.coexistence, COEXISTENCE);
        out.extend_from_slice(&[self.dialog_token, control]);
        if let Some(links) = self.emlsr_links {
            out.extend_from_slice(&links.to_le_bytes());
        }
        if let Some((links, maps)) = emlmr {
            out.extend_from_slice(&links.to_le_bytes());
            out.extend_from_slice(maps);
        }
        if let Some((padding, transition)) = self.parameters {
            out.push(padding & 7 | (transition & 7) << 3);
        }
        out.extend_from_slice(self.rest);
    }
}

impl<'a> ProtectedEht<'a> {
    /// Reads the fields after the category; `None` for another action.
    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Option<Self>, Error> {
        Ok(Some(match reader.u8("protected EHT action")? {
            REQUEST => Self::LinkMappingRequest {
                dialog_token: reader.u8("dialog token")?,
                elements: Elements::new(reader.rest()),
            },
            RESPONSE => Self::LinkMappingResponse {
                dialog_token: reader.u8("dialog token")?,
                status: reader.u16("status code")?,
                elements: Elements::new(reader.rest()),
            },
            TEARDOWN if reader.left() == 0 => Self::LinkMappingTeardown,
            OPERATING_MODE => Self::OperatingMode(EmlOperatingMode::parse(reader)?),
            _ => return Ok(None),
        }))
    }

    /// Length after the category in bytes.
    pub(super) const fn buffer_len(&self) -> usize {
        match self {
            Self::LinkMappingRequest { elements, .. } => 2 + elements.as_bytes().len(),
            Self::LinkMappingResponse { elements, .. } => 4 + elements.as_bytes().len(),
            Self::LinkMappingTeardown => 1,
            Self::OperatingMode(mode) => 1 + mode.buffer_len(),
        }
    }

    /// Appends the fields after the category.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::LinkMappingRequest { dialog_token, elements } => {
                out.extend_from_slice(&[REQUEST, *dialog_token]);
                out.extend_from_slice(elements.as_bytes());
            }
            Self::LinkMappingResponse { dialog_token, status, elements } => {
                out.extend_from_slice(&[RESPONSE, *dialog_token]);
                out.extend_from_slice(&status.to_le_bytes());
                out.extend_from_slice(elements.as_bytes());
            }
            Self::LinkMappingTeardown => out.push(TEARDOWN),
            Self::OperatingMode(mode) => {
                out.push(OPERATING_MODE);
                mode.emit(out);
            }
        }
    }
}

/// Actions (table 9-658c).
const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
const TEARDOWN: u8 = 2;
const OPERATING_MODE: u8 = 6;

/// Bits of EML Control (figure 9-187e).
const EMLSR: u8 = 1 << 0;
const EMLMR: u8 = 1 << 1;
const UPDATE: u8 = 1 << 2;
const COEXISTENCE: u8 = 1 << 3;
