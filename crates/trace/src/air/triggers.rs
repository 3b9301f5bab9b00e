//! Trigger frames of 802.11be in `air.pcapng`: the EHT variants of their fields (IEEE 802.11be-2024,
//! 9.3.1.22). The fields of 802.11ax are written by `air` itself.

use super::answer_rate;
use lasthop_wifi::event::{Frame, FrameKind, TriggeredUser};
use lasthop_wifi::phy::ChannelWidth;
use lasthop_wifi::wire::control::{
    BlockAckRequest, CommonInfo, EhtUserInfo, SpecialUserInfo, TriggerKind, basic_dependent,
};

/// Whether a frame is a Trigger frame whose answers are EHT PPDUs.
pub(super) fn is_eht(frame: &Frame) -> bool {
    frame.triggered.first().is_some_and(|user| user.is_eht)
}

/// Appends the list of User Info fields of such a frame, and returns its Common Info.
pub(super) fn emit(frame: &Frame, rest: &mut Vec<u8>) -> CommonInfo {
    let streams = frame.triggered.iter().map(|user| user.streams).max().unwrap_or(1);
    let (common, width) = match frame.kind {
        FrameKind::MuBlockAckRequest { response, guard_interval, width, .. } => {
            (CommonInfo::block_ack_request(response, guard_interval, width), width)
        }
        FrameKind::BasicTrigger { response, guard_interval, width, .. } => {
            (CommonInfo::basic(response, guard_interval, width, streams), width)
        }
        FrameKind::BufferStatusReportPoll { response, guard_interval, width } => {
            (CommonInfo::buffer_status_report_poll(response, guard_interval, width), width)
        }
        FrameKind::BeamformingReportTrigger { response, guard_interval, width } => {
            (CommonInfo::beamforming_report_poll(response, guard_interval, width), width)
        }
        _ => unreachable!("only these ask stations"),
    };
    let width_mhz = mhz(width);
    SpecialUserInfo::of_width(width_mhz).emit(common.kind(), rest);
    for user in &frame.triggered {
        user_info(user).emit(rest);
        match (common.kind(), frame.kind) {
            (TriggerKind::BlockAckRequest, FrameKind::MuBlockAckRequest { tid, .. }) => {
                BlockAckRequest::compressed(tid, user.start).emit(rest);
            }
            (_, FrameKind::BasicTrigger { access_category, .. }) => {
                rest.push(basic_dependent(access_category));
            }
            // All segments of the report.
            (TriggerKind::BeamformingReportPoll, _) => rest.push(0xff),
            _ => {}
        }
    }
    common.for_eht(width_mhz)
}

/// An answer in LDPC at the station's highest power.
fn user_info(user: &TriggeredUser) -> EhtUserInfo {
    EhtUserInfo {
        aid: user.aid,
        allocation: user.ru.eht_trigger_allocation(),
        ldpc: true,
        rate: answer_rate(user),
        starting_stream: 0,
        target_rssi_dbm: None,
    }
}

fn mhz(width: ChannelWidth) -> u16 {
    (width.as_hz() / 1_000_000) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_packet::AccessCategory;
    use lasthop_units::{Duration, SeqNo12};
    use lasthop_wifi::phy::{HeGuardInterval, Ru, RuSize};
    use lasthop_wifi::wire::control::Trigger;

    fn frame(kind: FrameKind, bytes: u16, users: usize) -> Frame {
        let user = |(aid, ru)| TriggeredUser {
            aid,
            ru,
            mcs: 11,
            streams: 2,
            dcm: false,
            is_eht: true,
            start: SeqNo12::new(9),
        };
        let rus = Ru::all(RuSize::Tones996, ChannelWidth::Mhz320);
        Frame {
            kind,
            bytes,
            sequence: SeqNo12::default(),
            retry: false,
            duration_us: 0,
            received: true,
            more_data: false,
            power_management: false,
            end_of_service_period: false,
            packets: Default::default(),
            announced: Vec::new(),
            triggered: (1..).zip(rus).take(users).map(user).collect(),
            queue_size: None,
            acknowledged: Vec::new(),
        }
    }

    /// A reader finds width, stations and RUs again, and the frame is as long as the MAC counts: 28
    /// octets with FCS, and 9, 6, 5 or 6 for each field of the list.
    #[test]
    fn fields_of_eht() {
        let (response, width) = (Duration::from_micros(500), ChannelWidth::Mhz320);
        let guard_interval = HeGuardInterval::Ns1600Ltf2x;
        let access_category = AccessCategory::Video;
        for (kind, each) in [
            (FrameKind::MuBlockAckRequest { tid: 0, response, guard_interval, width }, 9),
            (FrameKind::BasicTrigger { access_category, response, guard_interval, width }, 6),
            (FrameKind::BufferStatusReportPoll { response, guard_interval, width }, 5),
            (FrameKind::BeamformingReportTrigger { response, guard_interval, width }, 6),
        ] {
            let frame = frame(kind, 28 + 4 * each, 3);
            let mut rest = Vec::new();
            let common = emit(&frame, &mut rest);
            assert_eq!(28 + rest.len(), usize::from(frame.bytes));
            let trigger = Trigger { common, rest: &rest };
            assert_eq!(trigger.answer_width_mhz(), Some(320));
            let users: Vec<_> = trigger.users().map(|user| user.expect("a field")).collect();
            assert_eq!(SpecialUserInfo::parse(&users[0]), Some(SpecialUserInfo::of_width(320)));
            for (place, user) in users[1..].iter().enumerate() {
                assert!(trigger.is_eht(user));
                let read = EhtUserInfo::parse(user);
                assert_eq!((read.aid, read.rate.mcs, read.rate.streams), (place as u16 + 1, 11, 2));
                // 996 tones in each 80 MHz: PS160, code 67, and bit 0.
                let expected = [67 << 1, 67 << 1 | 1, 1 << 8 | 67 << 1][place];
                assert_eq!(read.allocation, expected);
            }
            assert_eq!(users.len(), 4);
        }
    }
}
