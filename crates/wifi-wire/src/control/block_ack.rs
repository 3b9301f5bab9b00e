//! Block Ack (IEEE 802.11-2020, 9.3.1.8; IEEE 802.11ax-2021 adds Multi-STA and longer bitmaps, IEEE
//! 802.11be-2024 still longer ones): its variants as values, and one iterator over the bitmaps of
//! any variant.
//!
//! Bits of a bitmap are numbered from the least significant bit of the first octet. GLK-GCR and
//! compressed Block Acks for fragments keep their bytes.

use super::records::{Bitmap, MultiSta, MultiTid, Record};
use super::{Control, code, emit_start};
use crate::reader::Reader;
use crate::{Error, SequenceControl};
use alloc::vec::Vec;
use core::iter::repeat;
use lasthop_units::{MacAddr, SeqNo12};

/// A Block Ack after its addresses (9.3.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck<'a> {
    /// BA Ack Policy bit: whether this frame itself gets no Ack.
    pub no_ack: bool,
    /// TID, 0 to 15; in a Multi-TID Block Ack the number of its records less one, in a Multi-STA
    /// one reserved.
    pub tid: u8,
    /// Variant, by BA type.
    pub variant: AckVariant<'a>,
}

/// The variants of a Block Ack (table 9-28). On the air, zeros extend a bitmap that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckVariant<'a> {
    /// Basic: for each of 64 MSDUs 16 bits, one for each fragment.
    Basic {
        /// Starting sequence number.
        start: SeqNo12,
        /// Received fragments: bit 16 n + f is fragment f of `start + n`. 128 octets.
        bitmap: &'a [u8],
    },
    /// Compressed, one bit for each MSDU.
    Compressed {
        /// Starting sequence number.
        start: SeqNo12,
        /// Received MSDUs: bit n is `start + n`. 8, 32, 64 or 128 octets.
        bitmap: &'a [u8],
    },
    /// Extended compressed, of DMG stations.
    ExtendedCompressed {
        /// Starting sequence number.
        start: SeqNo12,
        /// Received MSDUs: bit n is `start + n`. 8 octets.
        bitmap: &'a [u8],
        /// Number of free buffers of the recipient (RBUFCAP).
        receive_buffers: u8,
    },
    /// Multi-TID: a compressed bitmap for each of several TIDs.
    MultiTid(MultiTid<'a>),
    /// GCR: acknowledges frames to a group.
    Gcr {
        /// Starting sequence number.
        start: SeqNo12,
        /// Address of the group.
        group: MacAddr,
        /// Received MSDUs: bit n is `start + n`. 8 octets.
        bitmap: &'a [u8],
    },
    /// Multi-STA: an Ack or a bitmap for each of several stations and TIDs.
    MultiSta(MultiSta<'a>),
    /// Any other variant, unread.
    Other {
        /// BA type, 0 to 15.
        code: u8,
        /// Bytes of the BA Information field.
        information: &'a [u8],
    },
}

impl<'a> BlockAck<'a> {
    /// Returns a compressed Block Ack; `bitmap` has up to 128 octets.
    pub const fn compressed(tid: u8, start: SeqNo12, bitmap: &'a [u8]) -> Self {
        Self { no_ack: false, tid, variant: AckVariant::Compressed { start, bitmap } }
    }

    /// Iterates over the bitmaps, by TID and station; none for an unread variant.
    /// [`MultiSta::iter`] also has acknowledgements without a bitmap. A frame that was parsed
    /// yields no error.
    pub fn bitmaps(&self) -> impl Iterator<Item = Result<Record<'a>, Error>> + use<'a> {
        let one = |start, octets, bits_per_msdu| Record {
            aid: None,
            tid: self.tid,
            bitmap: Bitmap { start, octets, bits_per_msdu },
        };
        let (single, several, stations) = match self.variant {
            AckVariant::Basic { start, bitmap } => (Some(one(start, bitmap, 16)), None, None),
            AckVariant::Compressed { start, bitmap }
            | AckVariant::ExtendedCompressed { start, bitmap, .. }
            | AckVariant::Gcr { start, bitmap, .. } => (Some(one(start, bitmap, 1)), None, None),
            AckVariant::MultiTid(records) => (None, Some(records), None),
            AckVariant::MultiSta(records) => (None, None, Some(records)),
            AckVariant::Other { .. } => (None, None, None),
        };
        let several = several.into_iter().flat_map(|records| records.iter());
        let stations = stations.into_iter().flat_map(|records| records.iter());
        let stations = stations.filter_map(|record| match record {
            Ok(record) => {
                let (aid, tid) = (Some(record.aid), record.tid);
                record.bitmap.map(|bitmap| Ok(Record { aid, tid, bitmap }))
            }
            Err(error) => Some(Err(error)),
        });
        single.map(Ok).into_iter().chain(several).chain(stations)
    }

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let Control { no_ack, code, tid } = Control::parse(reader)?;
        let variant = AckVariant::parse(code, tid, reader)?;
        Ok(Self { no_ack, tid, variant })
    }

    /// Length after the addresses in bytes.
    pub(super) const fn buffer_len(&self) -> usize {
        Control::LEN
            + match self.variant {
                AckVariant::Basic { .. } => 2 + BASIC_LEN,
                AckVariant::Compressed { bitmap, .. } => 2 + compressed_length(bitmap).1,
                AckVariant::ExtendedCompressed { .. } => 2 + SHORT_LEN + 1,
                AckVariant::MultiTid(records) => records.as_bytes().len(),
                AckVariant::Gcr { .. } => 2 + 6 + SHORT_LEN,
                AckVariant::MultiSta(records) => records.as_bytes().len(),
                AckVariant::Other { information, .. } => information.len(),
            }
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let Self { no_ack, tid, variant } = *self;
        Control { no_ack, code: variant.code(), tid }.emit(out);
        match variant {
            AckVariant::Basic { start, bitmap } => {
                emit_start(out, start, 0);
                fill(out, bitmap, BASIC_LEN);
            }
            AckVariant::Compressed { start, bitmap } => {
                let (fragment, octets) = compressed_length(bitmap);
                emit_start(out, start, fragment);
                fill(out, bitmap, octets);
            }
            AckVariant::ExtendedCompressed { start, bitmap, receive_buffers } => {
                emit_start(out, start, 0);
                fill(out, bitmap, SHORT_LEN);
                out.push(receive_buffers);
            }
            AckVariant::MultiTid(records) => out.extend_from_slice(records.as_bytes()),
            AckVariant::Gcr { start, group, bitmap } => {
                emit_start(out, start, 0);
                out.extend_from_slice(&group.0);
                fill(out, bitmap, SHORT_LEN);
            }
            AckVariant::MultiSta(records) => out.extend_from_slice(records.as_bytes()),
            AckVariant::Other { information, .. } => out.extend_from_slice(information),
        }
    }
}

impl<'a> AckVariant<'a> {
    fn parse(code: u8, tid: u8, reader: &mut Reader<'a>) -> Result<Self, Error> {
        let information = *reader;
        match code {
            code::BASIC => {
                let start = start(reader)?.sequence;
                return Ok(Self::Basic { start, bitmap: reader.take("bitmap", BASIC_LEN)? });
            }
            code::COMPRESSED => {
                let start = start(reader)?;
                if let Some((_, octets)) = BITMAPS.iter().find(|(code, _)| *code == start.fragment)
                {
                    let bitmap = reader.take("bitmap", *octets)?;
                    return Ok(Self::Compressed { start: start.sequence, bitmap });
                }
            }
            code::EXTENDED_COMPRESSED => {
                return Ok(Self::ExtendedCompressed {
                    start: start(reader)?.sequence,
                    bitmap: reader.take("bitmap", SHORT_LEN)?,
                    receive_buffers: reader.u8("receive buffers")?,
                });
            }
            code::MULTI_TID => {
                // TID_INFO is the number of records less one.
                let length = (usize::from(tid) + 1) * MULTI_TID_LEN;
                return Ok(Self::MultiTid(MultiTid::new(reader.take("TID records", length)?)));
            }
            code::GCR => {
                return Ok(Self::Gcr {
                    start: start(reader)?.sequence,
                    group: reader.address("GCR group address")?,
                    bitmap: reader.take("bitmap", SHORT_LEN)?,
                });
            }
            code::MULTI_STA => {
                let offset = reader.offset();
                let records = MultiSta::new(reader.rest());
                for record in records.iter() {
                    record.map_err(|error| error.shifted(offset))?;
                }
                return Ok(Self::MultiSta(records));
            }
            _ => {}
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
            Self::MultiSta(_) => code::MULTI_STA,
            Self::Other { code, .. } => code,
        }
    }
}

/// Octets of a basic bitmap, of one for 64 MSDUs, and of a TID's record.
const BASIC_LEN: usize = 128;
const SHORT_LEN: usize = 8;
const MULTI_TID_LEN: usize = 12;

/// Fragment numbers of a compressed Block Ack, and the octets of bitmap that each announces (IEEE
/// 802.11ax-2021, 9.3.1.8.2; IEEE 802.11be-2024 adds 8 and 10).
const BITMAPS: [(u8, usize); 4] = [(0, 8), (4, 32), (8, 64), (10, 128)];

/// Fragment number and length on the air of a compressed bitmap, in octets.
const fn compressed_length(bitmap: &[u8]) -> (u8, usize) {
    let index = match bitmap.len() {
        0..=8 => 0,
        9..=32 => 1,
        33..=64 => 2,
        _ => 3,
    };
    BITMAPS[index]
}

fn start(reader: &mut Reader<'_>) -> Result<SequenceControl, Error> {
    reader.u16("starting sequence control").map(SequenceControl::from_bits)
}

/// Appends `octets` octets of bitmap.
fn fill(out: &mut Vec<u8>, bitmap: &[u8], octets: usize) {
    out.extend(bitmap.iter().copied().chain(repeat(0)).take(octets));
}
