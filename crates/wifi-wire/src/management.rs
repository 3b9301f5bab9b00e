//! Management frames (IEEE 802.11-2020, 9.3.3): header and body. The elements of beacons, probes
//! and association are checked; those of the other bodies are not. Encrypted bodies, later
//! fragments, and bodies of other subtypes keep their bytes unchecked.

mod association;
mod authentication;

pub use association::{AssociationRequest, AssociationResponse};
pub use authentication::{Authentication, SaeCommit, SaeConfirm};

use super::elements::Elements;
use super::reader::Reader;
use super::view::View;
use super::{Error, Flags, FrameControl, Kind, SequenceControl, action};
use alloc::vec::Vec;
use lasthop_units::MacAddr;

/// A management frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Flags of Frame Control: retry, power management and others.
    pub flags: Flags,
    /// Duration field in microseconds.
    pub duration_us: u16,
    /// RA, which equals DA.
    pub receiver: MacAddr,
    /// TA, which equals SA.
    pub transmitter: MacAddr,
    /// BSSID: the address of the access point.
    pub bssid: MacAddr,
    /// Sequence and fragment number.
    pub sequence_control: SequenceControl,
    /// The HT Control field, if the Order bit is set (+HTC).
    pub ht_control: Option<u32>,
    /// Body of the frame, which determines the subtype.
    pub body: Body<'a>,
}

/// The body of a management frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Beacon of an access point (9.3.3.2).
    Beacon(Beacon<'a>),
    /// Elements of a Probe Request (9.3.3.9).
    ProbeRequest(Elements<'a>),
    /// Probe Response, which has the fields of a Beacon.
    ProbeResponse(Beacon<'a>),
    /// Association Request (9.3.3.5).
    AssociationRequest(AssociationRequest<'a>),
    /// Association Response (9.3.3.6).
    AssociationResponse(AssociationResponse<'a>),
    /// Reassociation Request (9.3.3.7).
    ReassociationRequest {
        /// Current AP address: the access point that the station is associated with.
        current_ap: MacAddr,
        /// The fields of an Association Request.
        request: AssociationRequest<'a>,
    },
    /// Reassociation Response (9.3.3.8).
    ReassociationResponse(AssociationResponse<'a>),
    /// Authentication frame (9.3.3.11).
    Authentication(Authentication<'a>),
    /// Deauthentication frame (9.3.3.12).
    Deauthentication {
        /// Reason code (9.4.1.7).
        reason: u16,
        /// Elements after it, unchecked.
        elements: Elements<'a>,
    },
    /// Disassociation frame (9.3.3.4).
    Disassociation {
        /// Reason code (9.4.1.7).
        reason: u16,
        /// Elements after it, unchecked.
        elements: Elements<'a>,
    },
    /// Action frame (9.3.3.13).
    Action(action::Repr<'a>),
    /// Any other body, or an encrypted one.
    Other {
        /// The management subtype, 0 to 15.
        subtype: u8,
        /// Bytes of the body.
        bytes: &'a [u8],
    },
}

/// The body of a Beacon or Probe Response (9.3.3.2, 9.3.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon<'a> {
    /// Timing synchronization function of the sender in microseconds.
    pub timestamp_us: u64,
    /// Time between beacons in units of 1 024 us.
    pub interval_tu: u16,
    /// Capability Information (9.4.1.4).
    pub capabilities: u16,
    /// SSID and further elements.
    pub elements: Elements<'a>,
}

impl<'a> Beacon<'a> {
    /// Capability Information, bit 0: set by access points.
    pub const ESS: u16 = 1 << 0;
    /// Capability Information, bit 4: encryption is required.
    pub const PRIVACY: u16 = 1 << 4;
    /// Capability Information, bit 5: DSSS short preambles are permitted.
    pub const SHORT_PREAMBLE: u16 = 1 << 5;
    /// Capability Information, bit 8: spectrum management is required.
    pub const SPECTRUM_MANAGEMENT: u16 = 1 << 8;
    /// Capability Information, bit 10: short slots are used.
    pub const SHORT_SLOT_TIME: u16 = 1 << 10;
    /// Capability Information, bit 12: radio measurement (802.11k) is supported.
    pub const RADIO_MEASUREMENT: u16 = 1 << 12;

    /// Length of the fixed fields.
    const FIXED_LEN: usize = 12;

    fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            timestamp_us: reader.u64("timestamp")?,
            interval_tu: reader.u16("beacon interval")?,
            capabilities: reader.u16("capability information")?,
            elements: elements(reader)?,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.timestamp_us.to_le_bytes());
        out.extend_from_slice(&self.interval_tu.to_le_bytes());
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(self.elements.as_bytes());
    }
}

impl<'a> Repr<'a> {
    /// Parses a view of a management frame.
    pub(super) fn parse(view: &View<'a>) -> Result<Self, Error> {
        let frame_control = view.frame_control();
        let kind = frame_control.kind;
        let mut header = Reader::at(kind.name(), view.as_bytes(), 2);
        let mut reader = Reader::at(kind.name(), view.as_bytes(), view.body_start());
        let duration_us = header.u16("duration")?;
        let receiver = header.address("receiver address")?;
        let transmitter = header.address("transmitter address")?;
        let bssid = header.address("address 3")?;
        let sequence_control = SequenceControl::from_bits(header.u16("sequence control")?);
        let body = match kind {
            // Neither ciphertext nor a later fragment begins with the fixed fields.
            _ if frame_control.flags.protected => other(kind, &mut reader),
            _ if sequence_control.fragment != 0 => other(kind, &mut reader),
            Kind::AssociationRequest => {
                let request = AssociationRequest::parse_fixed(&mut reader)?;
                let elements = association_elements(&mut reader)?;
                Body::AssociationRequest(AssociationRequest { elements, ..request })
            }
            Kind::ReassociationRequest => {
                let request = AssociationRequest::parse_fixed(&mut reader)?;
                let current_ap = reader.address("current AP address")?;
                let elements = association_elements(&mut reader)?;
                let request = AssociationRequest { elements, ..request };
                Body::ReassociationRequest { current_ap, request }
            }
            Kind::AssociationResponse => {
                Body::AssociationResponse(AssociationResponse::parse(&mut reader)?)
            }
            Kind::ReassociationResponse => {
                Body::ReassociationResponse(AssociationResponse::parse(&mut reader)?)
            }
            Kind::Authentication => Body::Authentication(Authentication::parse(&mut reader)?),
            Kind::Deauthentication => Body::Deauthentication {
                reason: reader.u16("reason code")?,
                elements: Elements::new(reader.rest()),
            },
            Kind::Disassociation => Body::Disassociation {
                reason: reader.u16("reason code")?,
                elements: Elements::new(reader.rest()),
            },
            Kind::Beacon => Body::Beacon(Beacon::parse(&mut reader)?),
            Kind::ProbeRequest => Body::ProbeRequest(elements(&mut reader)?),
            Kind::ProbeResponse => Body::ProbeResponse(Beacon::parse(&mut reader)?),
            Kind::Action => Body::Action(action::Repr::parse(&mut reader)?),
            _ => other(kind, &mut reader),
        };
        Ok(Self {
            flags: frame_control.flags,
            duration_us,
            receiver,
            transmitter,
            bssid,
            sequence_control,
            ht_control: view.ht_control(),
            body,
        })
    }

    /// Type and subtype of the frame.
    pub const fn kind(&self) -> Kind {
        match self.body {
            Body::Beacon(_) => Kind::Beacon,
            Body::ProbeRequest(_) => Kind::ProbeRequest,
            Body::ProbeResponse(_) => Kind::ProbeResponse,
            Body::AssociationRequest(_) => Kind::AssociationRequest,
            Body::AssociationResponse(_) => Kind::AssociationResponse,
            Body::ReassociationRequest { .. } => Kind::ReassociationRequest,
            Body::ReassociationResponse(_) => Kind::ReassociationResponse,
            Body::Authentication(_) => Kind::Authentication,
            Body::Deauthentication { .. } => Kind::Deauthentication,
            Body::Disassociation { .. } => Kind::Disassociation,
            Body::Action(_) => Kind::Action,
            Body::Other { subtype, .. } => Kind::from_type_subtype(Kind::MANAGEMENT, subtype),
        }
    }

    /// Length without FCS in bytes.
    pub fn buffer_len(&self) -> usize {
        let header = if self.ht_control.is_some() { 28 } else { 24 };
        header
            + match self.body {
                Body::Beacon(beacon) | Body::ProbeResponse(beacon) => {
                    Beacon::FIXED_LEN + beacon.elements.as_bytes().len()
                }
                Body::ProbeRequest(elements) => elements.as_bytes().len(),
                Body::AssociationRequest(request) => {
                    AssociationRequest::FIXED_LEN + request.elements.as_bytes().len()
                }
                Body::ReassociationRequest { request, .. } => {
                    AssociationRequest::FIXED_LEN + 6 + request.elements.as_bytes().len()
                }
                Body::AssociationResponse(response) | Body::ReassociationResponse(response) => {
                    AssociationResponse::FIXED_LEN + response.elements.as_bytes().len()
                }
                Body::Authentication(it) => Authentication::FIXED_LEN + it.rest.len(),
                Body::Deauthentication { elements, .. } | Body::Disassociation { elements, .. } => {
                    2 + elements.as_bytes().len()
                }
                Body::Action(action) => action.buffer_len(),
                Body::Other { bytes, .. } => bytes.len(),
            }
    }

    /// Appends the frame without FCS.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let htc = self.ht_control.is_some();
        let control = FrameControl { htc, ..FrameControl::new(self.kind(), self.flags) };
        out.extend_from_slice(&control.bits().to_le_bytes());
        out.extend_from_slice(&self.duration_us.to_le_bytes());
        out.extend_from_slice(&self.receiver.0);
        out.extend_from_slice(&self.transmitter.0);
        out.extend_from_slice(&self.bssid.0);
        out.extend_from_slice(&self.sequence_control.bits().to_le_bytes());
        if let Some(ht_control) = self.ht_control {
            out.extend_from_slice(&ht_control.to_le_bytes());
        }
        match self.body {
            Body::Beacon(beacon) | Body::ProbeResponse(beacon) => beacon.emit(out),
            Body::ProbeRequest(elements) => out.extend_from_slice(elements.as_bytes()),
            Body::AssociationRequest(request) => {
                request.emit_fixed(out);
                out.extend_from_slice(request.elements.as_bytes());
            }
            Body::ReassociationRequest { current_ap, request } => {
                request.emit_fixed(out);
                out.extend_from_slice(&current_ap.0);
                out.extend_from_slice(request.elements.as_bytes());
            }
            Body::AssociationResponse(response) | Body::ReassociationResponse(response) => {
                response.emit(out);
            }
            Body::Authentication(authentication) => authentication.emit(out),
            Body::Deauthentication { reason, elements }
            | Body::Disassociation { reason, elements } => {
                out.extend_from_slice(&reason.to_le_bytes());
                out.extend_from_slice(elements.as_bytes());
            }
            Body::Action(action) => action.emit(out),
            Body::Other { bytes, .. } => out.extend_from_slice(bytes),
        }
    }
}

/// The fixed fields of a frame that begins or ends an association, whatever follows them: [`Body`]
/// refuses frames whose elements are broken or end early, as captures have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedFields<'a> {
    /// Fields of Authentication (9.3.3.11).
    Authentication {
        /// Authentication algorithm (9.4.1.1): 0 open, 1 shared key, 2 fast transition, 3 SAE.
        algorithm: u16,
        /// Transaction sequence number, from 1. SAE: 1 commit, 2 confirm.
        transaction: u16,
        /// Status code (9.4.1.9); reserved in the first message of most algorithms.
        status: u16,
    },
    /// Fields of an Association or Reassociation Request (9.3.3.5, 9.3.3.7).
    Request {
        /// Capability Information (9.4.1.4).
        capabilities: u16,
        /// Listen interval in beacon intervals.
        listen_interval: u16,
        /// Access point that the station leaves; only in a Reassociation Request.
        current_access_point: Option<MacAddr>,
        /// Elements behind the fixed fields, unchecked.
        elements: Elements<'a>,
    },
    /// Fields of an Association or Reassociation Response (9.3.3.6, 9.3.3.8).
    Response {
        /// Status code (9.4.1.9).
        status: u16,
    },
    /// Fields of Deauthentication and Disassociation (9.3.3.12, 9.3.3.4).
    Removal {
        /// Reason code (9.4.1.7).
        reason: u16,
    },
}

impl<'a> FixedFields<'a> {
    /// Reads the body of a frame that is neither encrypted nor a later fragment. Returns `None` for
    /// other frames, and if the body is shorter than the fields.
    pub fn parse(kind: Kind, body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(kind.name(), body);
        let fields = match kind {
            Kind::Authentication => Self::Authentication {
                algorithm: reader.u16("authentication algorithm").ok()?,
                transaction: reader.u16("transaction sequence number").ok()?,
                status: reader.u16("status code").ok()?,
            },
            Kind::AssociationRequest | Kind::ReassociationRequest => Self::Request {
                capabilities: reader.u16("capability information").ok()?,
                listen_interval: reader.u16("listen interval").ok()?,
                current_access_point: match kind {
                    Kind::ReassociationRequest => Some(reader.address("current AP address").ok()?),
                    _ => None,
                },
                elements: Elements::new(reader.rest()),
            },
            Kind::AssociationResponse | Kind::ReassociationResponse => {
                reader.take("capability information", 2).ok()?;
                Self::Response { status: reader.u16("status code").ok()? }
            }
            Kind::Deauthentication | Kind::Disassociation => {
                Self::Removal { reason: reader.u16("reason code").ok()? }
            }
            _ => return None,
        };
        Some(fields)
    }
}

fn other<'a>(kind: Kind, reader: &mut Reader<'a>) -> Body<'a> {
    Body::Other { subtype: kind.type_subtype().1, bytes: reader.rest() }
}

/// Parses the elements of association and reassociation.
fn association_elements<'a>(reader: &mut Reader<'a>) -> Result<Elements<'a>, Error> {
    let start = reader.offset();
    Elements::parse_association(reader.rest()).map_err(|error| error.shifted(start))
}

fn elements<'a>(reader: &mut Reader<'a>) -> Result<Elements<'a>, Error> {
    let start = reader.offset();
    Elements::parse(reader.rest()).map_err(|error| error.shifted(start))
}

#[cfg(test)]
mod fixed_fields {
    use super::*;

    /// Bodies octet by octet (9.3.3.4 to 9.3.3.8, 9.3.3.11, 9.3.3.12): read whole, and not
    /// at all if an octet is missing.
    #[test]
    fn are_read_or_absent() {
        let current = MacAddr([2, 0, 0, 0, 0, 9]);
        let request = |current_access_point| FixedFields::Request {
            capabilities: 0x0411,
            listen_interval: 10,
            current_access_point,
            elements: Elements::default(),
        };
        let cases: [(Kind, &[u8], FixedFields<'_>); 6] = [
            (
                Kind::Authentication,
                &[3, 0, 2, 0, 15, 0],
                FixedFields::Authentication { algorithm: 3, transaction: 2, status: 15 },
            ),
            (Kind::AssociationRequest, &[0x11, 4, 10, 0], request(None)),
            (
                Kind::ReassociationRequest,
                &[0x11, 4, 10, 0, 2, 0, 0, 0, 0, 9],
                request(Some(current)),
            ),
            (Kind::ReassociationResponse, &[0x11, 4, 53, 0], FixedFields::Response { status: 53 }),
            (Kind::Deauthentication, &[7, 0], FixedFields::Removal { reason: 7 }),
            (Kind::Disassociation, &[8, 1], FixedFields::Removal { reason: 264 }),
        ];
        for (kind, body, fields) in cases {
            assert_eq!(FixedFields::parse(kind, body), Some(fields));
            for length in 0..body.len() {
                assert_eq!(FixedFields::parse(kind, &body[..length]), None, "{kind:?} {length}");
            }
            assert_eq!(FixedFields::parse(Kind::Beacon, body), None);
        }
    }
}
