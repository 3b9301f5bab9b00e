//! Control frames of 802.11be: Block Acks with 512 and 1 024 bits, also for several stations;
//! Trigger frames of the EHT variant (tshark 4.4.5 reads their users as of HE, so that only Common
//! Info is compared); the MU-RTS that begins an exchange in EMLSR mode.

use super::{STATION, check_eht, control_frame, of_kind};
use lasthop_units::{Duration, SeqNo12};
use lasthop_wifi_phy::{ChannelWidth, HeGuardInterval};
use lasthop_wifi_wire::{control, frame, radiotap};

const WHOLE: [(&str, &str); 3] =
    [("wlan.fcs.status", "1"), ("_ws.malformed", ""), ("_ws.expert.severity", "")];

/// The frame, which reads as it was written.
fn of(body: control::Body<'_>) -> Vec<u8> {
    let bytes = of_kind(control_frame(body));
    let view = radiotap::View::new(&bytes).unwrap();
    let view = frame::View::new(view.frame(), frame::Layout { fcs: true, padded: false }).unwrap();
    assert_eq!(frame::Repr::parse(&view), Ok(control_frame(body).into()));
    bytes
}

#[test]
fn long_block_acks_hold_what_was_written() {
    let (transmitter, start) = (STATION, SeqNo12::new(0x123));
    for (octets, fragment) in [(64, "8"), (128, "10")] {
        let bitmap: Vec<u8> = (0..octets).map(|n| n ^ 0x5a).collect();
        let ack = control::BlockAck::compressed(5, start, &bitmap);
        let digits: String = bitmap.iter().map(|octet| format!("{octet:02x}")).collect();
        let fields = [
            ("wlan.ba.control.ba_type", "2"),
            ("wlan.fixed.ssc.sequence", "291"),
            ("wlan.fixed.ssc.fragment", fragment),
            ("wlan.ba.bm", &digits),
        ];
        let body = control::Body::BlockAck { transmitter, ack };
        check_eht(of(body), &[&fields, &WHOLE[..]].concat());

        let mut records = vec![];
        control::StationRecord::emit_bitmap(1, 0, start, &bitmap, &mut records);
        control::StationRecord::emit_bitmap(2, 5, start, &[0xff; 8], &mut records);
        let variant = control::AckVariant::MultiSta(control::MultiSta::new(&records));
        let ack = control::BlockAck { no_ack: true, tid: 0, variant };
        let both = format!("{digits},ffffffffffffffff");
        let fields = [
            ("wlan.ba.control.ba_type", "11"),
            ("wlan.ba.multi_sta.aid11", "1,2"),
            ("wlan.ba.multi_sta.tid", "0,5"),
            ("wlan.ba.bm", &both),
        ];
        let body = control::Body::BlockAck { transmitter, ack };
        check_eht(of(body), &[&fields, &WHOLE[..]].concat());
    }
}

fn trigger(common: control::CommonInfo, rest: &[u8]) -> Vec<u8> {
    let trigger = control::Trigger { common, rest };
    of(control::Body::Trigger { transmitter: STATION, trigger })
}

#[test]
fn triggers_of_eht_hold_what_was_written() {
    let (response, gi) = (Duration::from_nanos(5_476_800), HeGuardInterval::Ns1600Ltf2x);
    for (width, mhz, code) in [
        (ChannelWidth::Mhz80, 80, "2"),
        (ChannelWidth::Mhz160, 160, "3"),
        (ChannelWidth::Mhz160, 320, "3"),
    ] {
        let common = control::CommonInfo::basic(response, gi, width, 2).for_eht(mhz);
        let mut rest = vec![];
        control::SpecialUserInfo {
            spatial_reuse: [3, 12],
            ..control::SpecialUserInfo::of_width(mhz)
        }
        .emit(control::TriggerKind::Basic, &mut rest);
        for (aid, allocation) in [(5, 67 << 1), (2006, 1 << 8 | 90 << 1 | 1)] {
            let user = control::EhtUserInfo {
                aid,
                allocation,
                ldpc: true,
                rate: control::AnswerRate { mcs: 13, streams: 2, dcm: false },
                starting_stream: 1,
                target_rssi_dbm: Some(-50),
            };
            user.emit(&mut rest);
            rest.push(0x44);
        }
        control::emit_trigger_padding(6, &mut rest);
        let read = control::Trigger { common, rest: &rest };
        assert_eq!(read.answer_width_mhz(), Some(mhz));
        let users: Vec<_> = read.users().map(Result::unwrap).collect();
        assert!(users.iter().all(|user| read.is_eht(user)));
        let second = control::EhtUserInfo::parse(&users[2]);
        assert_eq!((second.allocation, second.rate.streams, second.rate.mcs), (0x1b5, 2, 13));
        let fields = [
            ("wlan.trigger.eht.trigger_type", "0"),
            ("wlan.trigger.eht.ul_length", "4090"),
            ("wlan.trigger.eht.more_tf", "0"),
            ("wlan.trigger.eht.cs_required", "1"),
            ("wlan.trigger.eht.ul_bw", code),
            ("wlan.trigger.eht.gi_and_he_eht_ltf_type_triggered_txop_sharing_mode", "1"),
            ("wlan.trigger.eht.num_ltf_eht_ltf_symbols", "1"),
            ("wlan.trigger.eht.ap_tx_power", "40"),
            ("wlan.trigger.eht.he_eht_p160", "0"),
            ("wlan.trigger.eht.special_user_info_flag", "0"),
        ];
        check_eht(trigger(common, &rest), &[&fields, &WHOLE[..]].concat());
    }
}

#[test]
fn requests_to_send_hold_what_was_written() {
    let common = control::CommonInfo::request_to_send(ChannelWidth::Mhz80);
    let mut rest = vec![];
    control::emit_request_to_send(3, 80, 0, &mut rest);
    control::emit_request_to_send(4, 20, 2, &mut rest);
    control::emit_trigger_padding(32, &mut rest);
    let fields = [
        ("wlan.trigger.he.trigger_type", "3"),
        ("wlan.trigger.he.cs_required", "1"),
        ("wlan.trigger.he.ul_bw", "2"),
        ("wlan.trigger.he.user_info.aid12", "3,4"),
        ("wlan.trigger.he.ru_allocation", "67,63"),
        ("wlan.trigger.he.ru_allocation_region", "0,0"),
    ];
    check_eht(trigger(common, &rest), &[&fields, &WHOLE[..]].concat());
}
