//! The facts that the medium needs of an 802.11 frame without its FCS: its recipient, its access
//! category, and its role in Block Ack agreements (IEEE 802.11-2020, 9.2, 9.6.4). Pure.
//!
//! Agreements are read from ADDBA Responses and DELBAs. If these are encrypted (management frame
//! protection) none is seen, and every MPDU is sent alone.

use lasthop_packet::AccessCategory;
use lasthop_units::{MacAddr, SeqNo12};
use lasthop_wifi::wire::frame::{Layout, Repr, View};
use lasthop_wifi::wire::{Flags, Kind, SequenceControl, action, management};

/// Bytes on the air beside the kernel's: the FCS.
const FCS_BYTES: u32 = 4;
/// The Retry bit in the second octet of a frame.
pub const RETRY: u8 = 1 << 3;
/// Status code of an agreement that is made (9.4.1.9).
const SUCCESS: u16 = 0;
/// Status code of an agreement that is not (REQUEST_DECLINED).
const DECLINED: u16 = 37;

/// A frame as the medium sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFacts {
    /// Receiver address (RA).
    pub receiver: MacAddr,
    /// Transmitter address (TA); Ack and CTS have none.
    pub transmitter: Option<MacAddr>,
    /// Length on the air in bytes, FCS included.
    pub bytes: u32,
    /// Access category; `None` for beacons.
    pub category: Option<AccessCategory>,
    /// TID and sequence number of QoS data with a body.
    pub data: Option<(u8, SeqNo12)>,
    /// Whether the frame asks for a Block Ack.
    pub is_block_ack_request: bool,
}

impl FrameFacts {
    /// Reads a frame; `None` if it is too short for its header.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let view = View::new(frame, Layout::default()).ok()?;
        let kind = view.kind();
        let tid = view.qos_control().map(|qos| qos.tid);
        let category = match (kind, tid) {
            (Kind::Beacon, _) => None,
            (_, Some(tid)) => Some(AccessCategory::from_user_priority(tid & 7)),
            (Kind::BlockAckRequest, None) => {
                // Bits 12 to 15 of BAR Control (9.3.1.7).
                let tid = view.body().get(1).map_or(0, |upper| upper >> 4);
                Some(AccessCategory::from_user_priority(tid & 7))
            }
            (kind, None) if kind.is_data() => Some(AccessCategory::BestEffort),
            // Management and control frames go as voice (10.2.3.2).
            _ => Some(AccessCategory::Voice),
        };
        let sequence = view.sequence_control().map(|control| control.sequence);
        let data = (kind == Kind::QosData).then_some(tid.zip(sequence)).flatten();
        Some(Self {
            receiver: view.receiver()?,
            transmitter: view.transmitter(),
            bytes: frame.len() as u32 + FCS_BYTES,
            category,
            data,
            is_block_ack_request: kind == Kind::BlockAckRequest,
        })
    }
}

/// A change of the Block Ack agreements that cover data from one station to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgreementChange {
    /// Sender of the data.
    pub originator: MacAddr,
    /// Recipient of the data.
    pub recipient: MacAddr,
    /// TID of the data.
    pub tid: u8,
    /// Whether the agreement is made; otherwise it ends.
    pub established: bool,
}

/// The answer to a frame that asks for a Block Ack agreement, if it is one: an ADDBA Response
/// of its receiver that declines.
pub fn declined(frame: &[u8]) -> Option<Vec<u8>> {
    let view = View::new(frame, Layout::default()).ok()?;
    let Ok(Repr::Management(request)) = Repr::parse(&view) else { return None };
    let management::Body::Action(action) = request.body else { return None };
    let action::Repr::AddbaRequest { dialog_token, parameters, timeout_tu, .. } = action else {
        return None;
    };
    let response = management::Repr {
        flags: Flags::default(),
        duration_us: 0,
        receiver: request.transmitter,
        transmitter: request.receiver,
        bssid: request.bssid,
        sequence_control: SequenceControl::default(),
        ht_control: None,
        body: management::Body::Action(action::Repr::AddbaResponse {
            dialog_token,
            status: DECLINED,
            parameters,
            timeout_tu,
            rest: &[],
        }),
    };
    let mut bytes = Vec::new();
    Repr::Management(response).emit(&mut bytes);
    Some(bytes)
}

/// The change of agreements by a received frame.
pub fn agreement_change(frame: &[u8]) -> Option<AgreementChange> {
    let view = View::new(frame, Layout::default()).ok()?;
    if view.kind() != Kind::Action {
        return None;
    }
    let (receiver, transmitter) = (view.receiver()?, view.transmitter()?);
    let Ok(Repr::Management(management)) = Repr::parse(&view) else { return None };
    let management::Body::Action(action) = management.body else { return None };
    match action {
        action::Repr::AddbaResponse { status, parameters, .. } => {
            (status == SUCCESS).then_some(AgreementChange {
                originator: receiver,
                recipient: transmitter,
                tid: parameters.tid,
                established: true,
            })
        }
        action::Repr::Delba { tid, initiator, .. } => {
            let (originator, recipient) =
                if initiator { (transmitter, receiver) } else { (receiver, transmitter) };
            Some(AgreementChange { originator, recipient, tid, established: false })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    /// Frame Control, Duration, RA, TA, address 3, Sequence Control 0x0c50 (197), then `rest`.
    fn frame(control: [u8; 2], to: MacAddr, from: MacAddr, rest: &[u8]) -> Vec<u8> {
        let head = [&control[..], &[0, 0], &to.0, &from.0, &to.0, &[0x50, 0x0c]].concat();
        [&head[..], rest].concat()
    }

    #[test]
    fn data_has_a_category_and_a_number() {
        let qos_data = frame([0x88, 1], A, B, &[6, 0, 1, 2, 3]);
        let facts = FrameFacts::read(&qos_data).unwrap();
        assert_eq!((facts.receiver, facts.transmitter, facts.bytes), (A, Some(B), 24 + 5 + 4));
        assert_eq!(facts.category, Some(AccessCategory::Voice));
        assert_eq!(facts.data, Some((6, SeqNo12::new(197))));
        // QoS Null has no body that could be lost; Data has no TID; a beacon goes ahead.
        let category = |control, rest: &[u8]| {
            let facts = FrameFacts::read(&frame(control, A, B, rest)).unwrap();
            (facts.category, facts.data)
        };
        assert_eq!(category([0xc8, 1], &[0, 0]), (Some(AccessCategory::BestEffort), None));
        assert_eq!(category([0x08, 1], &[]), (Some(AccessCategory::BestEffort), None));
        assert_eq!(category([0x80, 0], &[]), (None, None));
        assert_eq!(category([0x40, 0], &[]), (Some(AccessCategory::Voice), None));
        // An Ack has one address; a Block Ack Request for TID 1 is background.
        let ack = [&[0xd4, 0, 0, 0][..], &A.0].concat();
        assert_eq!(FrameFacts::read(&ack).map(|facts| facts.transmitter), Some(None));
        let request = [&[0x84, 0, 0, 0][..], &A.0, &B.0, &[4, 0x10, 0x50, 0x0c]].concat();
        let facts = FrameFacts::read(&request).unwrap();
        assert!(facts.is_block_ack_request);
        assert_eq!(facts.category, Some(AccessCategory::Background));
        assert_eq!(FrameFacts::read(&qos_data[..20]), None);
    }

    /// 9.6.4.3 and 9.6.4.4: the originator is the station that asked, or that the frame names.
    #[test]
    fn agreements_are_made_and_ended() {
        let change = |body: &[u8]| agreement_change(&frame([0xd0, 0], A, B, body));
        // Category 3, action 1, token, status, TID 5 in bits 2 to 5, window 64, timeout.
        let response = |status| change(&[3, 1, 7, status, 0, 0x16, 0x10, 0, 0]);
        let made = AgreementChange { originator: A, recipient: B, tid: 5, established: true };
        assert_eq!(response(0), Some(made));
        assert_eq!(response(37), None);
        // Action 2: the initiator in bit 11, TID in bits 12 to 15, reason.
        let ended = |upper| change(&[3, 2, 0, upper, 1, 0]);
        assert_eq!(ended(0x50), Some(AgreementChange { established: false, ..made }));
        let by_initiator =
            AgreementChange { originator: B, recipient: A, tid: 5, established: false };
        assert_eq!(ended(0x58), Some(by_initiator));
        let request = [3, 0, 7, 0x16, 0x10, 0, 0, 0, 0];
        assert_eq!(change(&request), None);
        // Token, parameters, timeout 0x0102, start 5. The answer goes the other way.
        let request = [3, 0, 7, 0x16, 0x10, 2, 1, 0x50, 0];
        let answer = declined(&frame([0xd0, 0], A, B, &request)).unwrap();
        assert_eq!(answer[4..16], [B.0, A.0].concat());
        assert_eq!(answer[16..22], A.0, "the BSSID stays");
        assert_eq!(answer[24..], [3, 1, 7, 37, 0, 0x16, 0x10, 2, 1]);
        assert_eq!(agreement_change(&answer), None);
        assert_eq!(declined(&answer), None);
        assert_eq!(declined(&frame([0x40, 0], A, B, &request)), None);
        assert_eq!(change(&[]), None);
    }
}
