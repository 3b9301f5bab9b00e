//! Records of a Block Ack for each TID and station: bitmaps, the Multi-TID and Multi-STA variants
//! (IEEE 802.11-2020, 9.3.1.8.4; IEEE 802.11ax-2021, 9.3.1.8.6), and the records of a Multi-TID
//! request (9.3.1.7.4).
//!
//! The AID and TID of a record are not interpreted, in reserved combinations either.

use crate::reader::Reader;
use crate::{Error, SequenceControl};
use alloc::vec::Vec;
use lasthop_units::{MacAddr, SeqNo12};

/// A Block Ack bitmap with its starting sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitmap<'a> {
    /// Starting sequence number.
    pub start: SeqNo12,
    /// Octets of the bitmap, with the least significant bit of the first octet first.
    pub octets: &'a [u8],
    /// Number of bits for each MSDU, one for each of its fragments: 1, 4 or 16. A single bit stands
    /// for the whole MSDU.
    pub bits_per_msdu: u8,
}

impl<'a> Bitmap<'a> {
    /// Number of MSDUs that the bitmap covers.
    pub const fn len(&self) -> usize {
        if self.bits_per_msdu == 0 {
            0
        } else {
            8 * self.octets.len() / self.bits_per_msdu as usize
        }
    }

    /// Whether the bitmap covers no MSDU.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether fragment `fragment` of the MSDU `n` after the start was received; with one bit for
    /// each MSDU only fragment 0 is meaningful.
    pub fn has(&self, n: usize, fragment: u8) -> bool {
        let bit = n * usize::from(self.bits_per_msdu) + usize::from(fragment);
        fragment < self.bits_per_msdu
            && self.octets.get(bit / 8).is_some_and(|octet| octet >> (bit % 8) & 1 == 1)
    }

    /// Sequence numbers of which at least one fragment was received, in order.
    pub fn received(self) -> impl Iterator<Item = SeqNo12> + 'a {
        // At most 1 024 MSDUs.
        (0..self.len())
            .filter(move |n| (0..self.bits_per_msdu).any(|fragment| self.has(*n, fragment)))
            .map(move |n| self.start.plus(n as u16))
    }
}

/// Record of a Block Ack for one TID, in any variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// AID of the station in a Multi-STA Block Ack; `None` for the receiver of the frame.
    pub aid: Option<u16>,
    /// TID, 0 to 15.
    pub tid: u8,
    /// MSDUs that the record acknowledges.
    pub bitmap: Bitmap<'a>,
}

/// The BA Information of a Multi-TID Block Ack, as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiTid<'a> {
    bytes: &'a [u8],
}

impl<'a> MultiTid<'a> {
    /// Returns records without a check: 12 octets each.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The records as bytes.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over the bitmaps, one for each TID; ends after the first error.
    pub const fn iter(&self) -> MultiTidIter<'a> {
        MultiTidIter(Walk::new("block ack", self.bytes))
    }
}

/// Iterator over [`MultiTid`].
#[derive(Clone, Debug)]
pub struct MultiTidIter<'a>(Walk<'a>);

impl<'a> Iterator for MultiTidIter<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|reader| {
            let tid = tid(reader.u16("per TID info")?);
            let start = SequenceControl::from_bits(reader.u16("starting sequence control")?);
            let octets = reader.take("bitmap", 8)?;
            let bitmap = Bitmap { start: start.sequence, octets, bits_per_msdu: 1 };
            Ok(Record { aid: None, tid, bitmap })
        })
    }
}

/// The BA Information of a Multi-STA Block Ack, as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiSta<'a> {
    bytes: &'a [u8],
}

impl<'a> MultiSta<'a> {
    /// Returns records without a check.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The records as bytes.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over the Per AID TID Info fields; ends after the first error.
    pub const fn iter(&self) -> MultiStaIter<'a> {
        MultiStaIter(Walk::new("block ack", self.bytes))
    }
}

/// A Per AID TID Info field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationRecord<'a> {
    /// AID of the station, 1 to 2 007; 0 for all associated stations; 2 045 for an unassociated
    /// one.
    pub aid: u16,
    /// Ack Type bit: whether all is acknowledged without a bitmap.
    pub ack: bool,
    /// TID, 0 to 15; with Ack Type, 14 for a whole A-MPDU, 15 for a management frame or PS-Poll.
    pub tid: u8,
    /// Bitmap of the record, without Ack Type.
    pub bitmap: Option<Bitmap<'a>>,
    /// Address of the station, if it has no AID.
    pub receiver: Option<MacAddr>,
}

impl StationRecord<'_> {
    /// AID11 of a station that is not associated.
    pub const UNASSOCIATED: u16 = 2045;

    /// Whether all MPDUs of the station's A-MPDU were received.
    pub const fn acknowledges_all(&self) -> bool {
        self.ack && self.tid == 14
    }

    /// Appends a record with a bitmap of 8, 32, 64 or 128 octets: bit n is whether `start + n` of
    /// this station and TID was received.
    pub fn emit_bitmap(aid: u16, tid: u8, start: SeqNo12, bitmap: &[u8], out: &mut Vec<u8>) {
        let info = aid & 0x7ff | u16::from(tid & 15) << 12;
        out.extend_from_slice(&info.to_le_bytes());
        let fragment = match bitmap.len() {
            0..=8 => 0,
            9..=32 => 4,
            33..=64 => 8,
            _ => 10,
        };
        super::emit_start(out, start, fragment);
        out.extend_from_slice(bitmap);
    }

    /// Whether the station's management frame or PS-Poll was received.
    pub const fn acknowledges_management(&self) -> bool {
        self.ack && self.tid == 15
    }
}

/// Iterator over [`MultiSta`].
#[derive(Clone, Debug)]
pub struct MultiStaIter<'a>(Walk<'a>);

impl<'a> Iterator for MultiStaIter<'a> {
    type Item = Result<StationRecord<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|reader| {
            let info = reader.u16("AID TID info")?;
            let (aid, ack, tid) = (info & 0x7ff, info & 1 << 11 != 0, tid(info));
            let (mut receiver, mut bitmap) = (None, None);
            if aid == StationRecord::UNASSOCIATED {
                reader.take("reserved", 4)?;
                receiver = Some(reader.address("receiver address")?);
            } else if !ack {
                bitmap = Some(bitmap_of_station(reader)?);
            }
            Ok(StationRecord { aid, ack, tid, bitmap, receiver })
        })
    }
}

/// Reads a bitmap whose length follows from its fragment number (IEEE 802.11ax-2021, table 9-30a;
/// IEEE 802.11be-2024 adds 8 and 10). Odd fragment numbers have four bits for each MSDU.
fn bitmap_of_station<'a>(reader: &mut Reader<'a>) -> Result<Bitmap<'a>, Error> {
    let offset = reader.offset();
    let start = SequenceControl::from_bits(reader.u16("starting sequence control")?);
    let length = match start.fragment {
        0 | 1 => 8,
        2 | 3 => 16,
        4 | 5 => 32,
        6 | 7 => 4,
        8 => 64,
        10 => 128,
        other => {
            let found = u32::from(other);
            return Err(reader.value("fragment number", offset, found, "0 to 8 or 10"));
        }
    };
    let octets = reader.take("bitmap", length)?;
    let bits_per_msdu = if start.fragment & 1 == 1 { 4 } else { 1 };
    Ok(Bitmap { start: start.sequence, octets, bits_per_msdu })
}

/// The records of a Multi-TID Block Ack Request, as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiTidRequest<'a> {
    bytes: &'a [u8],
}

impl<'a> MultiTidRequest<'a> {
    /// Returns records without a check: 4 octets each.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The records as bytes.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over TIDs and the starts of their bitmaps; ends after the first error.
    pub const fn iter(&self) -> MultiTidRequestIter<'a> {
        MultiTidRequestIter(Walk::new("block ack request", self.bytes))
    }
}

/// Iterator over [`MultiTidRequest`].
#[derive(Clone, Debug)]
pub struct MultiTidRequestIter<'a>(Walk<'a>);

impl Iterator for MultiTidRequestIter<'_> {
    type Item = Result<(u8, SeqNo12), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|reader| {
            let tid = tid(reader.u16("per TID info")?);
            let start = SequenceControl::from_bits(reader.u16("starting sequence control")?);
            Ok((tid, start.sequence))
        })
    }
}

/// Iterator over records, until the end of the bytes or an error.
#[derive(Clone, Debug)]
pub(super) struct Walk<'a> {
    reader: Reader<'a>,
    failed: bool,
}

impl<'a> Walk<'a> {
    pub(super) const fn new(layer: &'static str, bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(layer, bytes), failed: false }
    }

    pub(super) fn next<T>(
        &mut self,
        record: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        if self.failed || self.reader.left() == 0 {
            return None;
        }
        let record = record(&mut self.reader);
        self.failed = record.is_err();
        Some(record)
    }
}

/// TID in bits 12 to 15.
const fn tid(info: u16) -> u8 {
    (info >> 12) as u8
}
