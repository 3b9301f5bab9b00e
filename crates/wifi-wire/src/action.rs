//! Action frames (IEEE 802.11-2020, 9.6): ADDBA Request, ADDBA Response and DELBA of category Block
//! Ack (9.6.4). Other frames keep their bytes, as do elements after the fixed fields.

use super::elements::{Elements, id};
use super::reader::Reader;
use super::{Error, SequenceControl};
use alloc::vec::Vec;

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
        if category == BLOCK_ACK {
            match reader.u8("block ack action")? {
                ADDBA_REQUEST => {
                    return Ok(Self::AddbaRequest {
                        dialog_token: reader.u8("dialog token")?,
                        parameters: parameters(reader)?,
                        timeout_tu: reader.u16("block ack timeout")?,
                        start: SequenceControl::from_bits(reader.u16("starting sequence control")?),
                        rest: reader.rest(),
                    });
                }
                ADDBA_RESPONSE => {
                    return Ok(Self::AddbaResponse {
                        dialog_token: reader.u8("dialog token")?,
                        status: reader.u16("status code")?,
                        parameters: parameters(reader)?,
                        timeout_tu: reader.u16("block ack timeout")?,
                        rest: reader.rest(),
                    });
                }
                DELBA => {
                    let parameters = reader.u16("DELBA parameter set")?;
                    return Ok(Self::Delba {
                        initiator: parameters & DELBA_INITIATOR != 0,
                        tid: (parameters >> 12) as u8,
                        reason: reader.u16("reason code")?,
                        rest: reader.rest(),
                    });
                }
                _ => {}
            }
        }
        *reader = behind_category;
        Ok(Self::Other { category, bytes: reader.rest() })
    }

    /// The ADDBA Extension element of a request or response (IEEE 802.11-2020, 9.4.2.138).
    pub fn addba_extension(&self) -> Option<AddbaExtension> {
        match self {
            Self::AddbaRequest { rest, .. } | Self::AddbaResponse { rest, .. } => {
                let element = Elements::new(rest).find(id::ADDBA_EXTENSION)?;
                element.data.first().copied().map(AddbaExtension)
            }
            Self::Delba { .. } | Self::Other { .. } => None,
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
            Self::Delba { .. } | Self::Other { .. } => None,
        }
    }

    /// Length in bytes.
    pub const fn buffer_len(&self) -> usize {
        match self {
            Self::AddbaRequest { rest, .. } | Self::AddbaResponse { rest, .. } => 9 + rest.len(),
            Self::Delba { rest, .. } => 6 + rest.len(),
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
            Self::Other { category, bytes } => {
                out.push(category);
                out.extend_from_slice(bytes);
            }
        }
    }
}

/// Category (table 9-51) and the actions in it (table 9-348).
const BLOCK_ACK: u8 = 3;
const ADDBA_REQUEST: u8 = 0;
const ADDBA_RESPONSE: u8 = 1;
const DELBA: u8 = 2;

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
