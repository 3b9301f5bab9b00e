//! Block Ack Request (IEEE 802.11-2020, 9.3.1.7): its variants as values, and one iterator over the
//! bitmaps that any variant requests. GLK-GCR keeps its bytes.

use super::records::MultiTidRequest;
use super::{Control, code, emit_start};
use crate::reader::Reader;
use crate::{Error, SequenceControl};
use alloc::vec::Vec;
use lasthop_units::{MacAddr, SeqNo12};

/// A Block Ack Request after its addresses (9.3.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAckRequest<'a> {
    /// BAR Ack Policy bit: whether this request itself gets no Ack.
    pub no_ack: bool,
    /// TID, 0 to 15; in a Multi-TID request the number of its records less one.
    pub tid: u8,
    /// Variant, by BAR type.
    pub variant: RequestVariant<'a>,
}

/// The variants of a Block Ack Request (table 9-26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestVariant<'a> {
    /// Basic: requests a basic bitmap.
    Basic {
        /// Starting sequence number.
        start: SeqNo12,
    },
    /// Compressed: requests a compressed bitmap.
    Compressed {
        /// Starting sequence number.
        start: SeqNo12,
    },
    /// Extended compressed: requests such a bitmap, among DMG stations.
    ExtendedCompressed {
        /// Starting sequence number.
        start: SeqNo12,
    },
    /// Multi-TID: requests a bitmap for each of several TIDs.
    MultiTid(MultiTidRequest<'a>),
    /// GCR: requests a bitmap of frames to a group.
    Gcr {
        /// Starting sequence number.
        start: SeqNo12,
        /// Address of the group.
        group: MacAddr,
    },
    /// Any other variant, unread.
    Other {
        /// BAR type, 0 to 15.
        code: u8,
        /// Bytes of the BAR Information field.
        information: &'a [u8],
    },
}

impl<'a> BlockAckRequest<'a> {
    /// Returns a request for a compressed Block Ack.
    pub const fn compressed(tid: u8, start: SeqNo12) -> Self {
        Self { no_ack: false, tid, variant: RequestVariant::Compressed { start } }
    }

    /// Iterates over TIDs and the starts of their bitmaps; none for an unread variant. A frame that
    /// was parsed yields no error.
    pub fn starts(&self) -> impl Iterator<Item = Result<(u8, SeqNo12), Error>> + use<'a> {
        let tid = self.tid;
        let (single, several) = match self.variant {
            RequestVariant::Basic { start }
            | RequestVariant::Compressed { start }
            | RequestVariant::ExtendedCompressed { start }
            | RequestVariant::Gcr { start, .. } => (Some(Ok((tid, start))), None),
            RequestVariant::MultiTid(records) => (None, Some(records)),
            RequestVariant::Other { .. } => (None, None),
        };
        single.into_iter().chain(several.into_iter().flat_map(|records| records.iter()))
    }

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let Control { no_ack, code, tid } = Control::parse(reader)?;
        let variant = RequestVariant::parse(code, tid, reader)?;
        Ok(Self { no_ack, tid, variant })
    }

    /// Parses a request in a Trigger frame, where other fields follow; returns an error for a
    /// variant of unknown length.
    pub(super) fn parse_in_trigger(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let offset = reader.offset();
        let request = Self::parse(reader)?;
        if let RequestVariant::Other { code, .. } = request.variant {
            let allowed = "a type of known length";
            return Err(reader.value("BAR control", offset, u32::from(code), allowed));
        }
        Ok(request)
    }

    /// Length after the addresses in bytes.
    pub(super) const fn buffer_len(&self) -> usize {
        Control::LEN
            + match self.variant {
                RequestVariant::Basic { .. }
                | RequestVariant::Compressed { .. }
                | RequestVariant::ExtendedCompressed { .. } => 2,
                RequestVariant::MultiTid(records) => records.as_bytes().len(),
                RequestVariant::Gcr { .. } => 8,
                RequestVariant::Other { information, .. } => information.len(),
            }
    }

    /// Appends BAR Control and BAR Information.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let Self { no_ack, tid, variant } = *self;
        Control { no_ack, code: variant.code(), tid }.emit(out);
        match variant {
            RequestVariant::Basic { start }
            | RequestVariant::Compressed { start }
            | RequestVariant::ExtendedCompressed { start } => emit_start(out, start, 0),
            RequestVariant::MultiTid(records) => out.extend_from_slice(records.as_bytes()),
            RequestVariant::Gcr { start, group } => {
                emit_start(out, start, 0);
                out.extend_from_slice(&group.0);
            }
            RequestVariant::Other { information, .. } => out.extend_from_slice(information),
        }
    }
}

impl<'a> RequestVariant<'a> {
    fn parse(code: u8, tid: u8, reader: &mut Reader<'a>) -> Result<Self, Error> {
        let information = *reader;
        if code == code::MULTI_TID {
            // TID_INFO is the number of records less one.
            let length = (usize::from(tid) + 1) * MULTI_TID_LEN;
            return Ok(Self::MultiTid(MultiTidRequest::new(reader.take("TID records", length)?)));
        }
        if matches!(code, code::BASIC | code::COMPRESSED | code::EXTENDED_COMPRESSED | code::GCR) {
            let field = SequenceControl::from_bits(reader.u16("starting sequence control")?);
            let start = field.sequence;
            match code {
                code::BASIC => return Ok(Self::Basic { start }),
                code::EXTENDED_COMPRESSED => return Ok(Self::ExtendedCompressed { start }),
                code::GCR => {
                    return Ok(Self::Gcr { start, group: reader.address("GCR group address")? });
                }
                _ if field.fragment == 0 => return Ok(Self::Compressed { start }),
                // One for fragments.
                _ => {}
            }
        }
        *reader = information;
        Ok(Self::Other { code, information: reader.rest() })
    }

    const fn code(&self) -> u8 {
        match *self {
            Self::Basic { .. } => code::BASIC,
            Self::Compressed { .. } => code::COMPRESSED,
            Self::ExtendedCompressed { .. } => code::EXTENDED_COMPRESSED,
            Self::MultiTid(_) => code::MULTI_TID,
            Self::Gcr { .. } => code::GCR,
            Self::Other { code, .. } => code,
        }
    }
}

/// Octets of a TID's record.
const MULTI_TID_LEN: usize = 4;
