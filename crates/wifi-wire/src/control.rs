//! Control frames (IEEE 802.11-2020, 9.3.1; IEEE 802.11ax-2021 for Trigger) of the types in
//! [`Kind`]. Other modules have the variants of [`BlockAck`] and [`BlockAckRequest`], the kinds of
//! [`Trigger`] and of [`NdpAnnouncement`].
//!
//! Lists of records stay bytes, which are checked when the frame is parsed; an iterator reads them.
//! Trailing bytes are ignored in frames of fixed length.

mod block_ack;
mod records;
mod request;
mod sounding;
#[cfg(test)]
mod tests;
mod trigger;
mod trigger_eht;

pub use block_ack::{AckVariant, BlockAck};
pub use records::{
    Bitmap, MultiSta, MultiStaIter, MultiTid, MultiTidIter, MultiTidRequest, MultiTidRequestIter,
    Record, StationRecord,
};
pub use request::{BlockAckRequest, RequestVariant};
pub use sounding::{
    NdpAnnouncement, NdpStation, NdpVariant, ReportSegment, emit_beamforming_report,
    emit_ndp_station,
};
pub use trigger::{
    AnswerRate, CommonInfo, Dependent, Trigger, TriggerKind, UserInfo, Users, basic_dependent,
    emit_basic, emit_beamforming_report_poll, emit_block_ack_request,
    emit_buffer_status_report_poll,
};
pub use trigger_eht::{EhtUserInfo, SpecialUserInfo, emit_request_to_send, emit_trigger_padding};

use super::reader::Reader;
use super::view::View;
use super::{Error, Flags, FrameControl, Kind, SequenceControl};
use alloc::vec::Vec;
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

/// Type of a control frame, with the fields after the receiver's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Acknowledgement of a frame (9.3.1.4).
    Ack,
    /// Clear to send.
    Cts,
    /// Request to send.
    Rts {
        /// Transmitter address (TA).
        transmitter: MacAddr,
    },
    /// PS-Poll (9.3.1.5), which asks for one held frame.
    PsPoll {
        /// Transmitter address (TA).
        transmitter: MacAddr,
    },
    /// End of a TXOP or contention-free period.
    CfEnd {
        /// BSSID, which is the transmitter address (TA).
        bssid: MacAddr,
    },
    /// End of a contention-free period, with an Ack.
    CfEndAck {
        /// BSSID, which is the transmitter address (TA).
        bssid: MacAddr,
    },
    /// Another control frame with an HT Control field (9.3.1.9).
    ControlWrapper {
        /// Frame Control of the carried frame.
        carried: FrameControl,
        /// The HT Control field.
        ht_control: u32,
        /// Bytes of the carried frame after its first address, unread.
        rest: &'a [u8],
    },
    /// Beamforming Report Poll (9.3.1.20).
    BeamformingReportPoll {
        /// Transmitter address (TA).
        transmitter: MacAddr,
        /// Requested feedback segments: bit n for segment n.
        segments: u8,
    },
    /// NDP Announcement (9.3.1.19).
    NdpAnnouncement {
        /// Transmitter address (TA).
        transmitter: MacAddr,
        /// The fields after the addresses.
        announcement: NdpAnnouncement<'a>,
    },
    /// Trigger (IEEE 802.11ax-2021, 9.3.1.22).
    Trigger {
        /// Transmitter address (TA).
        transmitter: MacAddr,
        /// The fields after the addresses.
        trigger: Trigger<'a>,
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

impl<'a> Repr<'a> {
    /// Parses a view; `None` for a type that [`Body`] lacks.
    pub(super) fn parse(view: &View<'a>) -> Result<Option<Self>, Error> {
        let kind = view.kind();
        let mut reader = Reader::at(kind.name(), view.as_bytes(), 2);
        let duration_id = reader.u16("duration")?;
        let receiver = reader.address("receiver address")?;
        let body = match kind {
            Kind::Ack => Body::Ack,
            Kind::Cts => Body::Cts,
            Kind::ControlWrapper => Body::ControlWrapper {
                carried: FrameControl::from_bits(reader.u16("carried frame control")?),
                ht_control: reader.u32("HT control")?,
                rest: reader.rest(),
            },
            Kind::Rts => Body::Rts { transmitter: reader.address(TRANSMITTER)? },
            Kind::PsPoll => Body::PsPoll { transmitter: reader.address(TRANSMITTER)? },
            Kind::CfEnd => Body::CfEnd { bssid: reader.address(TRANSMITTER)? },
            Kind::CfEndAck => Body::CfEndAck { bssid: reader.address(TRANSMITTER)? },
            Kind::BeamformingReportPoll => Body::BeamformingReportPoll {
                transmitter: reader.address(TRANSMITTER)?,
                segments: reader.u8("feedback segments")?,
            },
            Kind::NdpAnnouncement => Body::NdpAnnouncement {
                transmitter: reader.address(TRANSMITTER)?,
                announcement: NdpAnnouncement::parse(&mut reader)?,
            },
            Kind::Trigger => Body::Trigger {
                transmitter: reader.address(TRANSMITTER)?,
                trigger: Trigger::parse(&mut reader)?,
            },
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
            Body::ControlWrapper { rest, .. } => 16 + rest.len(),
            Body::Rts { .. } | Body::PsPoll { .. } | Body::CfEnd { .. } | Body::CfEndAck { .. } => {
                16
            }
            Body::BeamformingReportPoll { .. } => 17,
            Body::NdpAnnouncement { announcement, .. } => 16 + announcement.buffer_len(),
            Body::Trigger { trigger, .. } => 16 + trigger.buffer_len(),
            Body::BlockAckRequest { request, .. } => 16 + request.buffer_len(),
            Body::BlockAck { ack, .. } => 16 + ack.buffer_len(),
        }
    }

    /// Appends the frame without FCS.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let (kind, transmitter) = match self.body {
            Body::Ack => (Kind::Ack, None),
            Body::Cts => (Kind::Cts, None),
            Body::ControlWrapper { .. } => (Kind::ControlWrapper, None),
            Body::Rts { transmitter } => (Kind::Rts, Some(transmitter)),
            Body::PsPoll { transmitter } => (Kind::PsPoll, Some(transmitter)),
            Body::CfEnd { bssid } => (Kind::CfEnd, Some(bssid)),
            Body::CfEndAck { bssid } => (Kind::CfEndAck, Some(bssid)),
            Body::BeamformingReportPoll { transmitter, .. } => {
                (Kind::BeamformingReportPoll, Some(transmitter))
            }
            Body::NdpAnnouncement { transmitter, .. } => (Kind::NdpAnnouncement, Some(transmitter)),
            Body::Trigger { transmitter, .. } => (Kind::Trigger, Some(transmitter)),
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
            Body::ControlWrapper { carried, ht_control, rest } => {
                out.extend_from_slice(&carried.bits().to_le_bytes());
                out.extend_from_slice(&ht_control.to_le_bytes());
                out.extend_from_slice(rest);
            }
            Body::BeamformingReportPoll { segments, .. } => out.push(segments),
            Body::NdpAnnouncement { announcement, .. } => announcement.emit(out),
            Body::Trigger { trigger, .. } => trigger.emit(out),
            Body::BlockAckRequest { request, .. } => request.emit(out),
            Body::BlockAck { ack, .. } => ack.emit(out),
            Body::Ack
            | Body::Cts
            | Body::Rts { .. }
            | Body::PsPoll { .. }
            | Body::CfEnd { .. }
            | Body::CfEndAck { .. } => {}
        }
    }
}

const TRANSMITTER: &str = "transmitter address";

/// BAR and BA types (tables 9-26 and 9-28; Multi-STA of IEEE 802.11ax-2021).
mod code {
    pub(super) const BASIC: u8 = 0;
    pub(super) const EXTENDED_COMPRESSED: u8 = 1;
    pub(super) const COMPRESSED: u8 = 2;
    pub(super) const MULTI_TID: u8 = 3;
    pub(super) const GCR: u8 = 6;
    pub(super) const MULTI_STA: u8 = 11;
}

/// BAR Control and BA Control, which have the same layout (figures 9-34 and 9-41).
struct Control {
    no_ack: bool,
    code: u8,
    tid: u8,
}

impl Control {
    const LEN: usize = 2;

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

/// Appends a Starting Sequence Control field.
fn emit_start(out: &mut Vec<u8>, sequence: SeqNo12, fragment: u8) {
    out.extend_from_slice(&SequenceControl { sequence, fragment }.bits().to_le_bytes());
}
