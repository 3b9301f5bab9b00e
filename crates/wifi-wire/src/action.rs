//! Action frames (IEEE 802.11-2020, 9.6): ADDBA Request, ADDBA Response and DELBA of category Block
//! Ack (9.6.4), and the frames of roaming: Channel Switch Announcement (9.6.2.6), neighbor reports
//! (9.6.6.6, 9.6.6.7), fast BSS transitions over the distribution system (9.6.8.2, 9.6.8.3), SA
//! Query (9.6.9), BSS transition management (9.6.13.8 to 9.6.13.10) and Protected EHT. Other frames keep their
//! bytes, as do elements after the fixed fields.

mod eht;
mod transition;

pub use eht::{EmlOperatingMode, ProtectedEht};
pub use transition::{Termination, TransitionRequest};

use super::elements::{Elements, id};
use super::reader::Reader;
use super::{Error, SequenceControl};
use alloc::vec::Vec;
use lasthop_units::MacAddr;

/// The body of an Action frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr<'a> {
    /// ADDBA Request: the originator requests a Block Ack agreement.
    AddbaRequest {
        /// Number that matches the response to the request; not 0.
        dialog_token: u8,
        /// Proposed parameters of the agreement.
        parameters: BlockAckParameters,
        /// Time without traffic after which the agreement ends, in units of 1 024 us; 0 for never.
        timeout_tu: u16,
        /// First sequence number under the agreement.
        start: SequenceControl,
        /// Elements after the fixed fields, unread.
        rest: &'a [u8],
    },
    /// ADDBA Response: the recipient answers an ADDBA Request.
    AddbaResponse {
        /// Dialog token of the request.
        dialog_token: u8,
        /// Status code (9.4.1.9); 0 accepts the request.
        status: u16,
        /// Parameters of the accepted agreement.
        parameters: BlockAckParameters,
        /// Timeout in units of 1 024 us; 0 for never.
        timeout_tu: u16,
        /// Elements after the fixed fields, unread.
        rest: &'a [u8],
    },
    /// DELBA, which ends a Block Ack agreement.
    Delba {
        /// Whether the originator of the data sent it.
        initiator: bool,
        /// TID, 0 to 15.
        tid: u8,
        /// Reason code (9.4.1.7).
        reason: u16,
        /// Elements after the fixed fields, unread.
        rest: &'a [u8],
    },
    /// Channel Switch Announcement of category Spectrum Management.
    ChannelSwitch {
        /// The Channel Switch Announcement element and others, unchecked.
        elements: Elements<'a>,
    },
    /// Neighbor Report Request of category Radio Measurement (802.11k).
    NeighborReportRequest {
        /// Number that matches the response to the request; not 0.
        dialog_token: u8,
        /// SSID, if the request is for another network, and further elements; unchecked.
        elements: Elements<'a>,
    },
    /// Neighbor Report Response of category Radio Measurement.
    NeighborReportResponse {
        /// Dialog token of the request.
        dialog_token: u8,
        /// Neighbor Report elements, unchecked.
        elements: Elements<'a>,
    },
    /// FT Request of category Fast BSS Transition, to the current access point.
    FtRequest {
        /// Address of the station.
        station: MacAddr,
        /// Target AP address: the access point that the station changes to.
        target: MacAddr,
        /// The elements of an Authentication frame of FT, unchecked.
        elements: Elements<'a>,
    },
    /// FT Response of category Fast BSS Transition.
    FtResponse {
        /// Address of the station.
        station: MacAddr,
        /// Target AP address: the access point that the station changes to.
        target: MacAddr,
        /// Status code (9.4.1.9); 0 accepts the request.
        status: u16,
        /// The elements of an Authentication frame of FT, unchecked.
        elements: Elements<'a>,
    },
    /// SA Query Request or Response: whether the keys are still valid.
    SaQuery {
        /// Whether this is the response.
        is_response: bool,
        /// Transaction Identifier, which matches the response to the request.
        transaction: u16,
        /// Elements after the fixed fields, unchecked.
        elements: Elements<'a>,
    },
    /// BSS Transition Management Query of category WNM (802.11v).
    TransitionQuery {
        /// Number that matches the request to the query.
        dialog_token: u8,
        /// BSS Transition Query Reason; 16 for a low RSSI.
        reason: u8,
        /// Candidates: Neighbor Report elements, unchecked.
        candidates: Elements<'a>,
    },
    /// BSS Transition Management Request of category WNM.
    TransitionRequest(TransitionRequest<'a>),
    /// BSS Transition Management Response of category WNM.
    TransitionResponse {
        /// Dialog token of the request.
        dialog_token: u8,
        /// BTM status code; 0 accepts the request.
        status: u8,
        /// BSS Termination Delay in minutes.
        termination_delay_min: u8,
        /// BSSID of the access point that the station changes to; present with status code 0.
        target: Option<MacAddr>,
        /// Candidates: Neighbor Report elements, unchecked.
        candidates: Elements<'a>,
    },
    /// An Action frame of category Protected EHT (IEEE 802.11be-2024).
    ProtectedEht(ProtectedEht<'a>),
    /// An Action frame of any other category or action.
    Other {
        /// Category (table 9-51).
        category: u8,
        /// Bytes after the category; the first is usually an action code.
        bytes: &'a [u8],
    },
}

/// The Block Ack Parameter Set field (9.4.1.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAckParameters {
    /// Whether A-MSDUs are permitted under the agreement.
    pub amsdu: bool,
    /// Whether Block Ack is immediate, not delayed.
    pub immediate: bool,
    /// TID, 0 to 15.
    pub tid: u8,
    /// Buffer size in MPDUs, 0 to 1 023; with 0 the recipient decides.
    pub buffer_size: u16,
}

impl BlockAckParameters {
    const fn from_bits(bits: u16) -> Self {
        Self {
            amsdu: bits & 1 != 0,
            immediate: bits & 2 != 0,
            tid: (bits >> 2 & 15) as u8,
            buffer_size: bits >> 6,
        }
    }

    const fn bits(self) -> u16 {
        self.amsdu as u16
            | (self.immediate as u16) << 1
            | ((self.tid & 15) as u16) << 2
            | self.buffer_size << 6
    }
}

/// The ADDBA Capabilities field of an ADDBA Extension element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddbaExtension(pub u8);

impl AddbaExtension {
    /// Whether MSDUs are never fragmented.
    pub const fn no_fragmentation(self) -> bool {
        self.0 & 1 != 0
    }

    /// HE Fragmentation Operation (IEEE 802.11ax-2021): the level, 0 to 3.
    pub const fn fragmentation_level(self) -> u8 {
        self.0 >> 1 & 3
    }

    /// Addition to the buffer size by Extended Buffer Size (IEEE 802.11be-2024), a multiple of
    /// 1 024.
    pub const fn extended_buffer(self) -> u16 {
        ((self.0 >> 5) as u16) << 10
    }
}

impl<'a> Repr<'a> {
    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let category = reader.u8("category")?;
        let behind_category = *reader;
        let parsed = match category {
            BLOCK_ACK => Self::block_ack(reader)?,
            PROTECTED_EHT => ProtectedEht::parse(reader)?.map(Self::ProtectedEht),
            SPECTRUM_MANAGEMENT | RADIO_MEASUREMENT | FAST_BSS_TRANSITION | SA_QUERY | WNM => {
                Self::roaming(category, reader)?
            }
            _ => None,
        };
        if let Some(parsed) = parsed {
            return Ok(parsed);
        }
        *reader = behind_category;
        Ok(Self::Other { category, bytes: reader.rest() })
    }

    fn block_ack(reader: &mut Reader<'a>) -> Result<Option<Self>, Error> {
        Ok(Some(match reader.u8("block ack action")? {
            ADDBA_REQUEST => Self::AddbaRequest {
                dialog_token: reader.u8("dialog token")?,
                parameters: parameters(reader)?,
                timeout_tu: reader.u16("block ack timeout")?,
                start: SequenceControl::from_bits(reader.u16("starting sequence control")?),
                rest: reader.rest(),
            },
            ADDBA_RESPONSE => Self::AddbaResponse {
                dialog_token: reader.u8("dialog token")?,
                status: reader.u16("status code")?,
                parameters: parameters(reader)?,
                timeout_tu: reader.u16("block ack timeout")?,
                rest: reader.rest(),
            },
            DELBA => {
                let parameters = reader.u16("DELBA parameter set")?;
                Self::Delba {
                    initiator: parameters & DELBA_INITIATOR != 0,
                    tid: (parameters >> 12) as u8,
                    reason: reader.u16("reason code")?,
                    rest: reader.rest(),
                }
            }
            _ => return Ok(None),
        }))
    }

    fn roaming(category: u8, reader: &mut Reader<'a>) -> Result<Option<Self>, Error> {
        Ok(Some(match (category, reader.u8("action")?) {
            (SPECTRUM_MANAGEMENT, CHANNEL_SWITCH) => {
                Self::ChannelSwitch { elements: Elements::new(reader.rest()) }
            }
            (RADIO_MEASUREMENT, NEIGHBOR_REPORT_REQUEST) => Self::NeighborReportRequest {
                dialog_token: reader.u8("dialog token")?,
                elements: Elements::new(reader.rest()),
            },
            (RADIO_MEASUREMENT, NEIGHBOR_REPORT_RESPONSE) => Self::NeighborReportResponse {
                dialog_token: reader.u8("dialog token")?,
                elements: Elements::new(reader.rest()),
            },
            (FAST_BSS_TRANSITION, FT_REQUEST) => Self::FtRequest {
                station: reader.address("station address")?,
                target: reader.address("target AP address")?,
                elements: Elements::new(reader.rest()),
            },
            (FAST_BSS_TRANSITION, FT_RESPONSE) => Self::FtResponse {
                station: reader.address("station address")?,
                target: reader.address("target AP address")?,
                status: reader.u16("status code")?,
                elements: Elements::new(reader.rest()),
            },
            (SA_QUERY, action @ (SA_QUERY_REQUEST | SA_QUERY_RESPONSE)) => Self::SaQuery {
                is_response: action == SA_QUERY_RESPONSE,
                transaction: reader.u16("transaction identifier")?,
                elements: Elements::new(reader.rest()),
            },
            (WNM, TRANSITION_QUERY) => Self::TransitionQuery {
                dialog_token: reader.u8("dialog token")?,
                reason: reader.u8("BSS transition query reason")?,
                candidates: Elements::new(reader.rest()),
            },
            (WNM, TRANSITION_REQUEST) => Self::TransitionRequest(TransitionRequest::parse(reader)?),
            (WNM, TRANSITION_RESPONSE) => {
                let dialog_token = reader.u8("dialog token")?;
                let status = reader.u8("BTM status code")?;
                let termination_delay_min = reader.u8("BSS termination delay")?;
                let target = if status == 0 { Some(reader.address("target BSSID")?) } else { None };
                let candidates = Elements::new(reader.rest());
                Self::TransitionResponse {
                    dialog_token,
                    status,
                    termination_delay_min,
                    target,
                    candidates,
                }
            }
            _ => return Ok(None),
        }))
    }

    /// The ADDBA Extension element of a request or response (IEEE 802.11-2020, 9.4.2.138).
    pub fn addba_extension(&self) -> Option<AddbaExtension> {
        match self {
            Self::AddbaRequest { rest, .. } | Self::AddbaResponse { rest, .. } => {
                let element = Elements::new(rest).find(id::ADDBA_EXTENSION)?;
                element.data.first().copied().map(AddbaExtension)
            }
            _ => None,
        }
    }

    /// Block Ack buffer of a request or response in MPDUs, with its extension: up to 1 024 in
    /// 802.11be; with 0 the recipient decides.
    pub fn buffer_size(&self) -> Option<u16> {
        match self {
            Self::AddbaRequest { parameters, .. } | Self::AddbaResponse { parameters, .. } => {
                let extended = self.addba_extension().map_or(0, AddbaExtension::extended_buffer);
                Some(parameters.buffer_size & 0x3ff | extended)
            }
            _ => None,
        }
    }

    /// Length in bytes.
    pub const fn buffer_len(&self) -> usize {
        match self {
            Self::AddbaRequest { rest, .. } | Self::AddbaResponse { rest, .. } => 9 + rest.len(),
            Self::Delba { rest, .. } => 6 + rest.len(),
            Self::ChannelSwitch { elements } => 2 + elements.as_bytes().len(),
            Self::NeighborReportRequest { elements, .. }
            | Self::NeighborReportResponse { elements, .. } => 3 + elements.as_bytes().len(),
            Self::FtRequest { elements, .. } => 14 + elements.as_bytes().len(),
            Self::FtResponse { elements, .. } => 16 + elements.as_bytes().len(),
            Self::SaQuery { elements, .. } => 4 + elements.as_bytes().len(),
            Self::TransitionQuery { candidates, .. } => 4 + candidates.as_bytes().len(),
            Self::TransitionRequest(request) => 2 + request.buffer_len(),
            Self::TransitionResponse { status, candidates, .. } => {
                let target = if *status == 0 { 6 } else { 0 };
                5 + target + candidates.as_bytes().len()
            }
            Self::ProtectedEht(body) => 1 + body.buffer_len(),
            Self::Other { bytes, .. } => 1 + bytes.len(),
        }
    }

    /// Appends the body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match *self {
            Self::AddbaRequest { dialog_token, parameters, timeout_tu, start, rest } => {
                out.extend_from_slice(&[BLOCK_ACK, ADDBA_REQUEST, dialog_token]);
                out.extend_from_slice(&parameters.bits().to_le_bytes());
                out.extend_from_slice(&timeout_tu.to_le_bytes());
                out.extend_from_slice(&start.bits().to_le_bytes());
                out.extend_from_slice(rest);
            }
            Self::AddbaResponse { dialog_token, status, parameters, timeout_tu, rest } => {
                out.extend_from_slice(&[BLOCK_ACK, ADDBA_RESPONSE, dialog_token]);
                out.extend_from_slice(&status.to_le_bytes());
                out.extend_from_slice(&parameters.bits().to_le_bytes());
                out.extend_from_slice(&timeout_tu.to_le_bytes());
                out.extend_from_slice(rest);
            }
            Self::Delba { initiator, tid, reason, rest } => {
                let initiator = if initiator { DELBA_INITIATOR } else { 0 };
                let parameters = initiator | u16::from(tid & 15) << 12;
                out.extend_from_slice(&[BLOCK_ACK, DELBA]);
                out.extend_from_slice(&parameters.to_le_bytes());
                out.extend_from_slice(&reason.to_le_bytes());
                out.extend_from_slice(rest);
            }
            Self::ChannelSwitch { elements } => {
                out.extend_from_slice(&[SPECTRUM_MANAGEMENT, CHANNEL_SWITCH]);
                out.extend_from_slice(elements.as_bytes());
            }
            Self::NeighborReportRequest { dialog_token, elements } => {
                out.extend_from_slice(&[RADIO_MEASUREMENT, NEIGHBOR_REPORT_REQUEST, dialog_token]);
                out.extend_from_slice(elements.as_bytes());
            }
            Self::NeighborReportResponse { dialog_token, elements } => {
                out.extend_from_slice(&[RADIO_MEASUREMENT, NEIGHBOR_REPORT_RESPONSE, dialog_token]);
                out.extend_from_slice(elements.as_bytes());
            }
            Self::FtRequest { station, target, elements } => {
                out.extend_from_slice(&[FAST_BSS_TRANSITION, FT_REQUEST]);
                out.extend_from_slice(&station.0);
                out.extend_from_slice(&target.0);
                out.extend_from_slice(elements.as_bytes());
            }
            Self::FtResponse { station, target, status, elements } => {
                out.extend_from_slice(&[FAST_BSS_TRANSITION, FT_RESPONSE]);
                out.extend_from_slice(&station.0);
                out.extend_from_slice(&target.0);
                out.extend_from_slice(&status.to_le_bytes());
                out.extend_from_slice(elements.as_bytes());
            }
            Self::SaQuery { is_response, transaction, elements } => {
                let action = if is_response { SA_QUERY_RESPONSE } else { SA_QUERY_REQUEST };
                out.extend_from_slice(&[SA_QUERY, action]);
                out.extend_from_slice(&transaction.to_le_bytes());
                out.extend_from_slice(elements.as_bytes());
            }
            Self::TransitionQuery { dialog_token, reason, candidates } => {
                out.extend_from_slice(&[WNM, TRANSITION_QUERY, dialog_token, reason]);
                out.extend_from_slice(candidates.as_bytes());
            }
            Self::TransitionRequest(request) => {
                out.extend_from_slice(&[WNM, TRANSITION_REQUEST]);
                request.emit(out);
            }
            Self::TransitionResponse {
                dialog_token,
                status,
                termination_delay_min,
                target,
                candidates,
            } => {
                out.extend_from_slice(&[WNM, TRANSITION_RESPONSE, dialog_token, status]);
                out.push(termination_delay_min);
                if status == 0 {
                    out.extend_from_slice(&target.unwrap_or_default().0);
                }
                out.extend_from_slice(candidates.as_bytes());
            }
            Self::ProtectedEht(body) => {
                out.push(PROTECTED_EHT);
                body.emit(out);
            }
            Self::Other { category, bytes } => {
                out.push(category);
                out.extend_from_slice(bytes);
            }
        }
    }
}

/// Category (table 9-51) and the action in it (9.6.2.1).
const SPECTRUM_MANAGEMENT: u8 = 0;
const CHANNEL_SWITCH: u8 = 4;

/// Category and the actions in it (9.6.6.1).
const RADIO_MEASUREMENT: u8 = 5;
const NEIGHBOR_REPORT_REQUEST: u8 = 4;
const NEIGHBOR_REPORT_RESPONSE: u8 = 5;

/// Category and the actions in it (9.6.8.1).
const FAST_BSS_TRANSITION: u8 = 6;
const FT_REQUEST: u8 = 1;
const FT_RESPONSE: u8 = 2;

/// Category and the actions in it (9.6.9.1).
const SA_QUERY: u8 = 8;
const SA_QUERY_REQUEST: u8 = 0;
const SA_QUERY_RESPONSE: u8 = 1;

/// Category and the actions in it (9.6.13.1).
const WNM: u8 = 10;
const TRANSITION_QUERY: u8 = 6;
const TRANSITION_REQUEST: u8 = 7;
const TRANSITION_RESPONSE: u8 = 8;

/// Category (table 9-51) and the actions in it (table 9-348).
const BLOCK_ACK: u8 = 3;
const ADDBA_REQUEST: u8 = 0;
const ADDBA_RESPONSE: u8 = 1;
const DELBA: u8 = 2;

/// Category (IEEE 802.11be-2024, table 9-51).
const PROTECTED_EHT: u8 = 37;

/// Bit 11 of the DELBA Parameter Set (9.4.1.15).
const DELBA_INITIATOR: u16 = 1 << 11;

fn parameters(reader: &mut Reader<'_>) -> Result<BlockAckParameters, Error> {
    reader.u16("block ack parameter set").map(BlockAckParameters::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures 9-91 (Block Ack Parameter Set) and 9-92 (DELBA Parameter Set): each subfield
    /// alone, with all others set and with none.
    #[test]
    fn parameter_sets_have_their_bits() {
        for bits in (0..16).map(|bit| 1_u16 << bit).flat_map(|bit| [bit, !bit]).chain([0]) {
            let parameters = BlockAckParameters::from_bits(bits);
            assert_eq!(parameters.amsdu, bits % 2 == 1);
            assert_eq!(parameters.immediate, bits / 2 % 2 == 1);
            assert_eq!(u16::from(parameters.tid), bits / 4 % 16);
            assert_eq!(parameters.buffer_size, bits / 64);
            assert_eq!(parameters.bits(), bits);

            let [low, high] = bits.to_le_bytes();
            let frame = [3, 2, low, high, 39, 0, 7];
            let delba = Repr::parse(&mut Reader::new("action", &frame)).expect("a DELBA");
            let expected = Repr::Delba {
                initiator: bits / 2_048 % 2 == 1,
                tid: (bits / 4_096) as u8,
                reason: 39,
                rest: &[7],
            };
            assert_eq!(delba, expected);
            assert_eq!((delba.buffer_len(), delba.buffer_size()), (7, None));
        }
    }

    /// IEEE 802.11-2020, 9.4.2.138, with the Extended Buffer Size of 802.11be.
    #[test]
    fn an_extension_adds_multiples_of_1024() {
        for (octet, unfragmented, level, extended) in [
            (0, false, 0, 0),
            (1, true, 0, 0),
            (0x02, false, 1, 0),
            (0x04, false, 2, 0),
            (0x06, false, 3, 0),
            (0x18, false, 0, 0),
            (0x20, false, 0, 1_024),
            (0xe0, false, 0, 7 * 1_024),
            (0xff, true, 3, 7 * 1_024),
        ] {
            let extension = AddbaExtension(octet);
            assert_eq!(extension.no_fragmentation(), unfragmented);
            assert_eq!(
                (extension.fragmentation_level(), extension.extended_buffer()),
                (level, extended)
            );
            // Of the buffer size that the parameters have, ten bits count.
            let rest = [159, 1, octet];
            let parameters = BlockAckParameters::from_bits(64 << 6);
            let (dialog_token, timeout_tu) = (1, 0);
            let start = SequenceControl::from_bits(0);
            let request =
                Repr::AddbaRequest { dialog_token, parameters, timeout_tu, start, rest: &rest };
            let response = Repr::AddbaResponse {
                dialog_token,
                status: 0,
                parameters,
                timeout_tu,
                rest: &rest,
            };
            for repr in [request, response] {
                assert_eq!(repr.buffer_size(), Some(64 + extended));
                assert_eq!(repr.buffer_len(), 12);
            }
        }
    }
}
