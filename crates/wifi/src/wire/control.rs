//! Control frames (IEEE 802.11-2020, 9.3.1): Ack, RTS, CTS, PS-Poll, CF-End,
//! Block Ack Request and Block Ack. The compressed Block Ack is read with a bitmap of
//! 64 bits (802.11n), 256 (802.11ax), 512 or 1 024 (802.11be); the other variants
//! (basic, multi-TID, multi-STA, GCR) keep their bytes, as do compressed ones for
//! fragments, with all that follows. Trailing bytes of the others are ignored.

use super::reader::Reader;
use super::view::View;
use super::{Error, Flags, FrameControl, Kind, SequenceControl};
use alloc::vec::Vec;
use core::iter::repeat;
use lasthop_units::{MacAddr, SeqNo12};

/// A control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// The flags of Frame Control: retry, power management and others.
    pub flags: Flags,
    /// Duration in microseconds; in a PS-Poll the AID with its two top bits set.
    pub duration_id: u16,
    /// RA; in a PS-Poll the BSSID.
    pub receiver: MacAddr,
    /// The kind of frame and its other fields.
    pub body: Body<'a>,
}

/// What kind of control frame, and its fields after the receiver's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Ack (9.3.1.4).
    Ack,
    /// Clear to send.
    Cts,
    /// Request to send.
    Rts {
        /// Transmitter address (TA).
        transmitter: MacAddr,
    },
    /// PS-Poll (9.3.1.5): asks for one frame that is held.
    PsPoll {
        /// Transmitter address (TA).
        transmitter: MacAddr,
    },
    /// End of a TXOP or contention-free period.
    CfEnd {
        /// BSSID, which is the transmitter address (TA).
        bssid: MacAddr,
    },
    /// Block Ack Request.
    BlockAckRequest {
        /// Transmitter address (TA).
        transmitter: MacAddr,
        /// The fields after the addresses.
        request: BlockAckRequest<'a>,
    },
    /// Block Ack (9.3.1.8).
    BlockAck {
        /// Transmitter address (TA).
        transmitter: MacAddr,
        /// The fields after the addresses.
        ack: BlockAck<'a>,
    },
}

/// A Block Ack Request after its addresses (9.3.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAckRequest<'a> {
    /// The BAR Ack Policy bit: no Ack for this request itself.
    pub no_ack: bool,
    /// TID, 0 to 15.
    pub tid: u8,
    /// By BAR type.
    pub variant: RequestVariant<'a>,
}

/// The variants of a Block Ack Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestVariant<'a> {
    /// Asks for a compressed bitmap.
    Compressed {
        /// Starting sequence number.
        start: SeqNo12,
    },
    /// Any other variant, unread.
    Other {
        /// BAR type, 0 to 15.
        code: u8,
        /// The BAR Information field as it came.
        information: &'a [u8],
    },
}

/// A Block Ack after its addresses (9.3.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck<'a> {
    /// The BA Ack Policy bit: no Ack for this frame itself.
    pub no_ack: bool,
    /// TID, 0 to 15.
    pub tid: u8,
    /// By BA type.
    pub variant: AckVariant<'a>,
}

/// The variants of a Block Ack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckVariant<'a> {
    /// Compressed, one bit for each MSDU.
    Compressed {
        /// Starting sequence number.
        start: SeqNo12,
        /// Bit n, from the least significant one of the first octet on: `start + n` was received.
        /// 8, 32, 64 or 128 octets; on the air zeros fill a shorter one up.
        bitmap: &'a [u8],
    },
    /// Any other variant, unread.
    Other {
        /// BA type, 0 to 15: 0 is basic.
        code: u8,
        /// The BA Information field as it came.
        information: &'a [u8],
    },
}

impl<'a> BlockAck<'a> {
    /// A compressed Block Ack; `bitmap` has up to 128 octets.
    pub const fn compressed(tid: u8, start: SeqNo12, bitmap: &'a [u8]) -> Self {
        Self { no_ack: false, tid, variant: AckVariant::Compressed { start, bitmap } }
    }

    fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let BlockAckControl { no_ack, code, tid } = BlockAckControl::parse(reader)?;
        let information = *reader;
        if code == COMPRESSED {
            let start = SequenceControl::from_bits(reader.u16("starting sequence control")?);
            if let Some((_, octets)) = BITMAPS.iter().find(|(code, _)| *code == start.fragment) {
                let bitmap = reader.take("bitmap", *octets)?;
                let variant = AckVariant::Compressed { start: start.sequence, bitmap };
                return Ok(Self { no_ack, tid, variant });
            }
        }
        *reader = information;
        Ok(Self { no_ack, tid, variant: AckVariant::Other { code, information: reader.rest() } })
    }
}

impl<'a> BlockAckRequest<'a> {
    /// A request for a compressed Block Ack.
    pub const fn compressed(tid: u8, start: SeqNo12) -> Self {
        Self { no_ack: false, tid, variant: RequestVariant::Compressed { start } }
    }

    fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let BlockAckControl { no_ack, code, tid } = BlockAckControl::parse(reader)?;
        let information = *reader;
        if code == COMPRESSED {
            let start = SequenceControl::from_bits(reader.u16("starting sequence control")?);
            if start.fragment == 0 {
                let variant = RequestVariant::Compressed { start: start.sequence };
                return Ok(Self { no_ack, tid, variant });
            }
        }
        *reader = information;
        Ok(Self {
            no_ack,
            tid,
            variant: RequestVariant::Other { code, information: reader.rest() },
        })
    }
}

impl<'a> Repr<'a> {
    /// Parses a view; `None` if it is of none of the kinds of [`Body`].
    pub(super) fn parse(view: &View<'a>) -> Result<Option<Self>, Error> {
        let kind = view.kind();
        let mut reader = Reader::at(kind.name(), view.as_bytes(), 2);
        let duration_id = reader.u16("duration")?;
        let receiver = reader.address("receiver address")?;
        let body = match kind {
            Kind::Ack => Body::Ack,
            Kind::Cts => Body::Cts,
            Kind::Rts => Body::Rts { transmitter: reader.address(TRANSMITTER)? },
            Kind::PsPoll => Body::PsPoll { transmitter: reader.address(TRANSMITTER)? },
            Kind::CfEnd => Body::CfEnd { bssid: reader.address(TRANSMITTER)? },
            Kind::BlockAckRequest => Body::BlockAckRequest {
                transmitter: reader.address(TRANSMITTER)?,
                request: BlockAckRequest::parse(&mut reader)?,
            },
            Kind::BlockAck => Body::BlockAck {
                transmitter: reader.address(TRANSMITTER)?,
                ack: BlockAck::parse(&mut reader)?,
            },
            _ => return Ok(None),
        };
        Ok(Some(Self { flags: view.frame_control().flags, duration_id, receiver, body }))
    }

    /// Length without FCS in bytes.
    pub const fn buffer_len(&self) -> usize {
        match self.body {
            Body::Ack | Body::Cts => 10,
            Body::Rts { .. } | Body::PsPoll { .. } | Body::CfEnd { .. } => 16,
            Body::BlockAckRequest { request, .. } => match request.variant {
                RequestVariant::Compressed { .. } => 20,
                RequestVariant::Other { information, .. } => 18 + information.len(),
            },
            Body::BlockAck { ack, .. } => match ack.variant {
                AckVariant::Compressed { bitmap, .. } => 20 + bitmap_length(bitmap).1,
                AckVariant::Other { information, .. } => 18 + information.len(),
            },
        }
    }

    /// Appends the frame without FCS.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let (kind, transmitter) = match self.body {
            Body::Ack => (Kind::Ack, None),
            Body::Cts => (Kind::Cts, None),
            Body::Rts { transmitter } => (Kind::Rts, Some(transmitter)),
            Body::PsPoll { transmitter } => (Kind::PsPoll, Some(transmitter)),
            Body::CfEnd { bssid } => (Kind::CfEnd, Some(bssid)),
            Body::BlockAckRequest { transmitter, .. } => (Kind::BlockAckRequest, Some(transmitter)),
            Body::BlockAck { transmitter, .. } => (Kind::BlockAck, Some(transmitter)),
        };
        out.extend_from_slice(&FrameControl::new(kind, self.flags).bits().to_le_bytes());
        out.extend_from_slice(&self.duration_id.to_le_bytes());
        out.extend_from_slice(&self.receiver.0);
        if let Some(transmitter) = transmitter {
            out.extend_from_slice(&transmitter.0);
        }
        match self.body {
            Body::BlockAckRequest { request: BlockAckRequest { no_ack, tid, variant }, .. } => {
                match variant {
                    RequestVariant::Compressed { start } => {
                        BlockAckControl { no_ack, code: COMPRESSED, tid }.emit(out);
                        out.extend_from_slice(&SequenceControl::new(start).bits().to_le_bytes());
                    }
                    RequestVariant::Other { code, information } => {
                        BlockAckControl { no_ack, code, tid }.emit(out);
                        out.extend_from_slice(information);
                    }
                }
            }
            Body::BlockAck { ack: BlockAck { no_ack, tid, variant }, .. } => match variant {
                AckVariant::Compressed { start, bitmap } => {
                    BlockAckControl { no_ack, code: COMPRESSED, tid }.emit(out);
                    let (fragment, octets) = bitmap_length(bitmap);
                    let start = SequenceControl { sequence: start, fragment };
                    out.extend_from_slice(&start.bits().to_le_bytes());
                    out.extend(bitmap.iter().copied().chain(repeat(0)).take(octets));
                }
                AckVariant::Other { code, information } => {
                    BlockAckControl { no_ack, code, tid }.emit(out);
                    out.extend_from_slice(information);
                }
            },
            _ => {}
        }
    }
}

const TRANSMITTER: &str = "transmitter address";

/// BAR and BA type "compressed" (tables 9-24 and 9-25).
const COMPRESSED: u8 = 2;

/// Fragment numbers of a compressed Block Ack and how many octets of bitmap they announce
/// (IEEE 802.11ax-2021, 9.3.1.8.2; IEEE 802.11be-2024 adds 8 and 10).
const BITMAPS: [(u8, usize); 4] = [(0, 8), (4, 32), (8, 64), (10, 128)];

/// Fragment number and length on the air of a bitmap, in octets.
const fn bitmap_length(bitmap: &[u8]) -> (u8, usize) {
    let index = match bitmap.len() {
        0..=8 => 0,
        9..=32 => 1,
        33..=64 => 2,
        _ => 3,
    };
    BITMAPS[index]
}

/// BAR Control and BA Control: the same layout (figures 9-34 and 9-41).
struct BlockAckControl {
    no_ack: bool,
    code: u8,
    tid: u8,
}

impl BlockAckControl {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let bits = reader.u16("control")?;
        Ok(Self { no_ack: bits & 1 != 0, code: (bits >> 1 & 15) as u8, tid: (bits >> 12) as u8 })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let bits = u16::from(self.no_ack)
            | u16::from(self.code & 15) << 1
            | u16::from(self.tid & 15) << 12;
        out.extend_from_slice(&bits.to_le_bytes());
    }
}
