//! Layouts of control frames written by hand from the standard, and the content of their records;
//! `tests/tshark` lets tshark judge those that it supports.

use super::*;
use crate::frame;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_units::Duration;
use lasthop_wifi_phy::{ChannelWidth, HeGuardInterval, Ru, RuSize};

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
const HEADER: [u8; 14] = [0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// Returns a frame of a subtype with both addresses, followed by `rest`.
fn bytes(subtype: u8, rest: &[u8]) -> Vec<u8> {
    [&[subtype << 4 | 4, 0], &HEADER[..], rest].concat()
}

fn parse(bytes: &[u8]) -> Result<Body<'_>, Error> {
    let view = frame::View::new(bytes, frame::Layout::default())?;
    match frame::Repr::parse(&view)? {
        frame::Repr::Control(control) => Ok(control.body),
        other => panic!("{other:?}"),
    }
}

fn block_ack(bytes: &[u8]) -> BlockAck<'_> {
    let Ok(Body::BlockAck { transmitter: STATION, ack }) = parse(bytes) else { panic!() };
    ack
}

fn request(bytes: &[u8]) -> BlockAckRequest<'_> {
    let Ok(Body::BlockAckRequest { transmitter: STATION, request }) = parse(bytes) else {
        panic!()
    };
    request
}

fn trigger(bytes: &[u8]) -> Trigger<'_> {
    let Ok(Body::Trigger { transmitter: STATION, trigger }) = parse(bytes) else { panic!() };
    trigger
}

fn message(bytes: &[u8]) -> alloc::string::String {
    parse(bytes).unwrap_err().to_string()
}

/// Returns each bitmap as AID, TID and sequence numbers.
fn said(ack: &BlockAck<'_>) -> Vec<(Option<u16>, u8, Vec<u16>)> {
    let record = |record: Result<Record<'_>, Error>| {
        let Record { aid, tid, bitmap } = record.unwrap();
        (aid, tid, bitmap.received().map(SeqNo12::as_u16).collect())
    };
    ack.bitmaps().map(record).collect()
}

#[test]
fn basic_and_compressed_block_acks() {
    // Control: No Ack, TID 6. Fragments 0 and 3 of the first MSDU, 15 of the 64th.
    let mut basic = [0; 128];
    (basic[0], basic[127]) = (0b1001, 0x80);
    let frame = bytes(9, &[&[0x01, 0x60, 0xf0, 0xff][..], &basic].concat());
    let ack = block_ack(&frame);
    assert!(ack.no_ack);
    assert_eq!(said(&ack), [(None, 6, vec![4095, 62])]);
    let bitmap = ack.bitmaps().next().unwrap().unwrap().bitmap;
    assert_eq!((bitmap.len(), bitmap.bits_per_msdu), (64, 16));
    let has = [(0, 0), (0, 1), (0, 3), (0, 16), (1, 0), (63, 15), (64, 0)];
    let has = has.map(|(n, fragment)| bitmap.has(n, fragment));
    assert_eq!(has, [true, false, true, false, false, true, false]);

    let frame = bytes(9, &[0x04, 0x50, 0x30, 0x12, 0x81, 0, 0, 0, 0, 0, 0, 0x01]);
    assert_eq!(said(&block_ack(&frame)), [(None, 5, vec![0x123, 0x12a, 0x15b])]);
    let frame = bytes(9, &[0x02, 0x50, 0x30, 0x12, 2, 0, 0, 0, 0, 0, 0, 0, 9]);
    let ack = block_ack(&frame);
    assert!(matches!(ack.variant, AckVariant::ExtendedCompressed { receive_buffers: 9, .. }));
    assert_eq!(said(&ack), [(None, 5, vec![0x124])]);
    let frame = bytes(9, &[0x0c, 0, 0x30, 0x12, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0]);
    let ack = block_ack(&frame);
    assert!(matches!(ack.variant, AckVariant::Gcr { group: HOST, .. }));
    assert_eq!(said(&ack), [(None, 0, vec![0x125])]);
    // Bytes too few, and of a variant that is not read.
    assert_eq!(
        message(&bytes(9, &[0, 0, 0, 0, 1])),
        "block ack: bitmap at offset 20: needs 128 bytes, 1 left"
    );
    assert!(block_ack(&bytes(9, &[0x14, 0, 7])).bitmaps().next().is_none());
}

#[test]
fn multi_tid_block_acks() {
    // Two records (TID_INFO 1) of TIDs 1 and 6; what follows does not belong to them.
    let rest = [
        0x06, 0x10, 0, 0x10, 0x30, 0x12, 1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x6f, 0x40, 0x12, 0, 0, 0,
        0, 0, 0, 0, 0x80, 0xee,
    ];
    let frame = bytes(9, &rest);
    let ack = block_ack(&frame);
    assert_eq!(said(&ack), [(None, 1, vec![0x123]), (None, 6, vec![0x124 + 63])]);
    assert_eq!(
        message(&bytes(9, &rest[..24])),
        "block ack: TID records at offset 18: needs 24 bytes, 22 left"
    );
    let rest = [0x06, 0x10, 0, 0x10, 0x30, 0x12, 0, 0x60, 0x40, 0x12];
    let frame = bytes(8, &rest);
    let starts: Result<Vec<_>, _> = request(&frame).starts().collect();
    assert_eq!(starts, Ok(vec![(1, SeqNo12::new(0x123)), (6, SeqNo12::new(0x124))]));
    assert_eq!(
        message(&bytes(8, &rest[..9])),
        "block ack request: TID records at offset 18: needs 8 bytes, 7 left"
    );
    let starts = |rest: &[u8]| request(&bytes(8, rest)).starts().collect::<Vec<_>>();
    assert_eq!(starts(&[0, 0x50, 0x30, 0x12]), [Ok((5, SeqNo12::new(0x123)))]);
    assert_eq!(starts(&[2, 0x50, 0x30, 0x12]), [Ok((5, SeqNo12::new(0x123)))]);
    assert_eq!(starts(&[12, 0x50, 0x30, 0x12, 2, 0, 0, 0, 0, 3]), [Ok((5, SeqNo12::new(0x123)))]);
    assert_eq!(starts(&[14, 0x50, 0x30, 0x12]), []);
}

#[test]
fn multi_sta_block_acks() {
    let mut rest = vec![0x16, 0];
    // Ack of TID 3, All Ack, management Ack: no bitmap.
    rest.extend_from_slice(&[0x01, 0x38, 0x02, 0xe8, 0x03, 0xf8]);
    // Bitmaps of every length, the odd ones of fragments; the highest bit is set.
    let lengths: [(u8, usize); 10] =
        [(0, 8), (1, 8), (2, 16), (3, 16), (4, 32), (5, 32), (6, 4), (7, 4), (8, 64), (10, 128)];
    for (fragment, octets) in lengths {
        rest.extend_from_slice(&[0x10 + fragment, 0x20, fragment, 0x10]);
        rest.resize(rest.len() + octets - 1, 0);
        rest.push(0x80);
    }
    rest.extend_from_slice(&[0xfd, 0xf7, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3]);
    let frame = bytes(9, &rest);
    let ack = block_ack(&frame);
    let AckVariant::MultiSta(records) = ack.variant else { panic!() };
    let records: Vec<_> = records.iter().map(Result::unwrap).collect();
    let acks: Vec<_> = records[..3].iter().map(|r| (r.aid, r.ack, r.tid, r.bitmap)).collect();
    assert_eq!(acks, [(1, true, 3, None), (2, true, 14, None), (3, true, 15, None)]);
    assert!(records[1].acknowledges_all() && !records[2].acknowledges_all());
    assert!(records[2].acknowledges_management() && !records[0].acknowledges_management());
    let last = records.last().unwrap();
    assert_eq!((last.aid, last.receiver), (StationRecord::UNASSOCIATED, Some(HOST)));
    let expected = lengths.map(|(fragment, octets)| {
        let msdus = 8 * octets as u16 / if fragment % 2 == 1 { 4 } else { 1 };
        (Some(0x10 + u16::from(fragment)), 2, vec![0x100 + msdus - 1])
    });
    assert_eq!(said(&ack), expected);
    assert_eq!(
        message(&bytes(9, &[0x16, 0, 0x01, 0x38, 0x02, 0x20, 0x09, 0x10, 0])),
        "block ack: fragment number at offset 22: 0x9, expected 0 to 8 or 10"
    );
    assert_eq!(
        message(&bytes(9, &[0x16, 0, 0x02, 0x20, 0x06, 0x10, 0])),
        "block ack: bitmap at offset 22: needs 4 bytes, 1 left"
    );
    assert_eq!(
        message(&bytes(9, &[0x16, 0, 0xfd, 0xf7, 0, 0, 0, 0, 2])),
        "block ack: receiver address at offset 24: needs 6 bytes, 1 left"
    );
}

#[test]
fn common_and_user_info_of_triggers() {
    // MU-RTS, UL Length 0x123, more, CS required, 160 MHz, GI and LTF 1, 3 for the number of
    // symbols, STBC, LDPC, -20 + 33 dBm, spatial reuse 0x4321, Doppler.
    let common = 3 | 0x123 << 4 | 3 << 16 | 3 << 18 | 1 << 20 | 3 << 23 | 3 << 26 | 33 << 28;
    let common = CommonInfo(common | 0x4321 << 37 | 1 << 53);
    assert_eq!((common.kind(), common.ul_length()), (TriggerKind::RequestToSend, 0x123));
    assert!(common.more_triggers() && common.carrier_sense_required());
    assert_eq!((common.bandwidth_mhz(), common.guard_interval_and_ltf()), (160, 1));
    assert_eq!(common.ltf_symbols_and_midamble(), 3);
    assert!(common.stbc() && common.ldpc_extra_symbol() && common.doppler());
    assert_eq!((common.ap_tx_power_dbm(), common.spatial_reuse()), (Some(13), 0x4321));
    assert_eq!(CommonInfo(61 << 28).ap_tx_power_dbm(), None);

    let bits = 5 | 0xa5 << 12 | 1 << 20 | 9 << 21 | 1 << 25 | 2 << 26 | 3 << 29 | 20 << 32;
    let user = UserInfo { bits, dependent: Dependent::None };
    assert_eq!((user.aid(), user.ru_allocation(), user.ldpc()), (5, 0xa5, true));
    assert_eq!((user.mcs(), user.dcm()), (9, true));
    assert_eq!((user.starting_spatial_stream(), user.spatial_streams()), (Some(2), Some(4)));
    assert_eq!((user.random_access_units(), user.target_rssi_dbm()), (None, Some(-90)));
    let user = UserInfo { bits: 2045 | 4 << 26 | 127 << 32, dependent: Dependent::None };
    assert_eq!((user.starting_spatial_stream(), user.spatial_streams()), (None, None));
    assert_eq!((user.random_access_units(), user.target_rssi_dbm()), (Some(5), None));
}

#[test]
fn user_info_lists_of_triggers() {
    let list = |kind: u8, rest: &[u8]| bytes(2, &[&[kind, 0, 0, 0, 0, 0, 0, 0], rest].concat());
    let aids = |frame: &[u8]| {
        let users = trigger(frame).users().map(|user| user.unwrap().aid());
        users.collect::<Vec<_>>()
    };
    // Six octets each, then padding that is shorter than a User Info field.
    let frame = list(0, &[1, 0, 0, 0, 0, 0x0f, 2, 0, 0, 0, 0, 0x0e, 0xff, 0x0f]);
    assert_eq!(aids(&frame), [1, 2]);
    let second = trigger(&frame).users().nth(1).unwrap().unwrap();
    assert_eq!(second.dependent, Dependent::Basic(0x0e));
    let frame = list(1, &[1, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4]);
    let second = trigger(&frame).users().nth(1).unwrap().unwrap();
    assert_eq!(second.dependent, Dependent::Segments(4));
    for kind in [3, 4, 6, 7] {
        assert_eq!(aids(&list(kind, &[1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff])), [1, 2]);
    }
    // MU-BAR: compressed and multi-TID requests, which differ in length.
    let frame = list(
        2,
        &[
            1, 0, 0, 0, 0, 4, 0x50, 0x30, 0x12, 2, 0, 0, 0, 0, 6, 0x10, 0, 0x10, 0x30, 0x12, 0,
            0x20, 0x40, 0x12, 3, 0, 0, 0, 0, 4, 0x60, 0x50, 0x12,
        ],
    );
    assert_eq!(aids(&frame), [1, 2, 3]);
    let starts = trigger(&frame).users().flat_map(|user| match user.unwrap().dependent {
        Dependent::Request(request) => request.starts().map(Result::unwrap).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    });
    let starts: Vec<_> = starts.map(|(tid, start)| (tid, start.as_u16())).collect();
    assert_eq!(starts, [(5, 0x123), (1, 0x123), (2, 0x124), (6, 0x125)]);
    // GCR MU-BAR: the request comes first.
    let frame = list(5, &[4, 0x50, 0x30, 0x12, 1, 0, 0, 0, 0]);
    assert_eq!(aids(&frame), [1]);
    let request = trigger(&frame).group_request().unwrap().unwrap();
    assert_eq!(request, BlockAckRequest::compressed(5, SeqNo12::new(0x123)));
    // Ranging: another list.
    assert_eq!(aids(&list(8, &[1, 0, 0])), []);
    assert_eq!(trigger(&list(8, &[1, 0, 0])).kind(), TriggerKind::Other(8));

    assert_eq!(
        message(&bytes(2, &[0; 7])),
        "trigger: common info at offset 16: needs 8 bytes, 7 left"
    );
    assert_eq!(
        message(&list(3, &[1, 0, 0, 0, 0, 2, 0, 0, 0])),
        "trigger: user info at offset 29: needs 5 bytes, 4 left"
    );
    assert_eq!(
        message(&list(0, &[1, 0, 0, 0, 0])),
        "trigger: basic user info at offset 29: needs 1 byte, 0 left"
    );
    assert_eq!(message(&list(3, &[1])), "trigger: AID12 at offset 24: needs 2 bytes, 1 left");
    assert_eq!(
        message(&list(2, &[1, 0, 0, 0, 0, 0x0a, 0x50, 0x30, 0x12])),
        "trigger: BAR control at offset 29: 0x5, expected a type of known length"
    );
    assert_eq!(
        message(&list(5, &[4, 0x50, 0x30])),
        "trigger: starting sequence control at offset 26: needs 2 bytes, 1 left"
    );
}

#[test]
fn announcements_polls_and_wrappers() {
    let announced = |rest: &[u8]| {
        let frame = bytes(5, rest);
        let Ok(Body::NdpAnnouncement { announcement, .. }) = parse(&frame) else { panic!() };
        let aids = announcement.stations().map(|station| station.unwrap().aid);
        (announcement.variant(), announcement.token_number(), aids.collect::<Vec<_>>())
    };
    assert_eq!(announced(&[0x24, 5, 0x20, 6, 0x30]), (NdpVariant::Vht, 9, vec![5, 6]));
    assert_eq!(announced(&[0x26, 5, 8, 0, 0, 6, 0, 0, 0]), (NdpVariant::He, 9, vec![5, 6]));
    assert_eq!(announced(&[0x27, 5, 0, 0, 0xff]), (NdpVariant::Eht, 9, vec![5]));
    assert_eq!(announced(&[0x25]), (NdpVariant::Ranging, 9, vec![]));
    assert_eq!(
        message(&bytes(5, &[0x26, 5, 0, 0, 0, 6])),
        "NDP announcement: STA info at offset 21: needs 4 bytes, 1 left"
    );
    let poll = Body::BeamformingReportPoll { transmitter: STATION, segments: 3 };
    assert_eq!(parse(&bytes(4, &[3])), Ok(poll));
    assert_eq!(parse(&bytes(15, &[])), Ok(Body::CfEndAck { bssid: STATION }));

    // RTS in a Control Wrapper: its address 2 follows HT Control.
    let mut frame = bytes(7, &[]);
    frame.truncate(10);
    frame.extend_from_slice(&[0xb4, 0, 1, 2, 3, 4, 2, 0, 0, 0, 0, 3]);
    let carried = FrameControl::new(Kind::Rts, Flags::default());
    let rest = &HOST.0[..];
    let body = Body::ControlWrapper { carried, ht_control: 0x0403_0201, rest };
    assert_eq!(parse(&frame), Ok(body));
    let view = frame::View::new(&frame, frame::Layout::default()).unwrap();
    assert_eq!((view.transmitter(), view.ht_control()), (Some(HOST), Some(0x0403_0201)));
    // An Ack in one has none.
    frame[10] = 0xd4;
    let view = frame::View::new(&frame, frame::Layout::default()).unwrap();
    assert_eq!(view.transmitter(), None);
    assert_eq!(
        message(&frame[..15]),
        "control wrapper: HT control at offset 12: needs 4 bytes, 3 left"
    );
}

/// An MU-BAR survives writing and reading; RU allocations are those of table 9-30h.
#[test]
fn an_mu_bar_is_read_as_it_was_written() {
    let starts = [SeqNo12::new(7), SeqNo12::new(4_095)];
    let mut rest = Vec::new();
    let second = Ru::new(RuSize::Tones242, 2).expect("an RU");
    let upper = Ru::new(RuSize::Tones484, 4).expect("an RU");
    emit_block_ack_request(1, second, 5, 0, starts[0], &mut rest);
    emit_block_ack_request(2_006, upper, 3, 5, starts[1], &mut rest);
    // 62.4 us behind a Trigger frame: 42.4 us are 11 units of 4 us.
    let response = Duration::from_nanos(62_400);
    let guard_interval = HeGuardInterval::Ns1600Ltf2x;
    let common = CommonInfo::block_ack_request(response, guard_interval, ChannelWidth::Mhz160);
    let trigger = Trigger { common, rest: &rest };
    assert_eq!(trigger.kind(), TriggerKind::BlockAckRequest);
    assert_eq!((common.ul_length(), common.bandwidth_mhz()), (3 * 11 - 5, 160));
    assert_eq!((common.guard_interval_and_ltf(), common.ap_tx_power_dbm()), (1, Some(20)));
    assert!(!common.carrier_sense_required() && !common.more_triggers() && !common.doppler());
    let users: Vec<_> = trigger.users().map(|user| user.expect("two users")).collect();
    let read: Vec<_> = users
        .iter()
        .map(|user| (user.aid(), user.ru_allocation(), user.mcs(), user.ldpc()))
        .collect();
    assert_eq!(read, [(1, 62 << 1, 5, false), (2_006, 66 << 1 | 1, 3, true)]);
    for (user, (tid, start)) in users.iter().zip([(0, starts[0]), (5, starts[1])]) {
        assert_eq!(user.target_rssi_dbm(), None);
        let request = BlockAckRequest::compressed(tid, start);
        assert_eq!(user.dependent, Dependent::Request(request));
    }
    // For each user five octets, BAR Control and BAR Information.
    assert_eq!(rest.len(), 2 * (5 + 2 + 2));
}

/// Frames of uplink OFDMA survive writing and reading: Basic and BSRP Trigger frames, and a
/// Multi-STA Block Ack.
#[test]
fn trigger_frames_for_data_and_reports() {
    let response = Duration::from_nanos(5_476_800);
    let guard_interval = HeGuardInterval::Ns1600Ltf2x;
    let ru = Ru::new(RuSize::Tones242, 1).expect("an RU");
    for (streams, training) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4)] {
        let common = CommonInfo::basic(response, guard_interval, ChannelWidth::Mhz80, streams);
        assert_eq!(common.ltf_symbols_and_midamble(), training, "{streams} streams");
        // 5 456.8 us are 1 365 units of 4 us.
        assert_eq!((common.kind(), common.ul_length()), (TriggerKind::Basic, 3 * 1_365 - 5));
        assert!(common.carrier_sense_required());
    }
    let mut rest = Vec::new();
    emit_basic(
        7,
        ru,
        AnswerRate { mcs: 3, streams: 2, dcm: true },
        AccessCategory::Video,
        &mut rest,
    );
    let common = CommonInfo::basic(response, guard_interval, ChannelWidth::Mhz80, 2);
    let user = Trigger { common, rest: &rest }.users().next().expect("one").expect("whole");
    assert_eq!((user.aid(), user.mcs(), user.dcm()), (7, 3, true));
    assert_eq!((user.spatial_streams(), user.starting_spatial_stream()), (Some(2), Some(0)));
    // One TID; ACI 2 in the upper two bits.
    assert_eq!(user.dependent, Dependent::Basic(1 << 2 | 2 << 6));
    assert_eq!(rest.len(), 5 + 1);

    let mut rest = Vec::new();
    emit_buffer_status_report_poll(9, ru, AnswerRate { mcs: 5, streams: 1, dcm: false }, &mut rest);
    let width = ChannelWidth::Mhz80;
    let common = CommonInfo::buffer_status_report_poll(response, guard_interval, width);
    let trigger = Trigger { common, rest: &rest };
    let user = trigger.users().next().expect("one").expect("whole");
    assert_eq!(trigger.kind(), TriggerKind::BufferStatusReportPoll);
    assert_eq!((user.aid(), user.mcs(), user.dependent), (9, 5, Dependent::None));
    assert_eq!(rest.len(), 5);

    let mut records = Vec::new();
    for (aid, octets) in [(1, 8), (2, 32), (3, 64), (4, 128)] {
        let bitmap = alloc::vec![aid as u8; octets];
        StationRecord::emit_bitmap(aid, 5, SeqNo12::new(100 + aid), &bitmap, &mut records);
    }
    let found: Vec<_> =
        MultiSta::new(&records).iter().map(|record| record.expect("whole")).collect();
    for (record, (aid, octets)) in found.iter().zip([(1, 8), (2, 32), (3, 64), (4, 128)]) {
        assert_eq!((record.aid, record.tid, record.ack), (aid, 5, false));
        let bitmap = record.bitmap.expect("it has one");
        assert_eq!((bitmap.start, bitmap.octets.len()), (SeqNo12::new(100 + aid), octets));
    }
    assert_eq!(found.len(), 4);
}

/// Figures 9-90f (Special User Info) and 9-90h (EHT variant of User Info) of IEEE 802.11be-2024, as
/// words written by hand.
#[test]
fn triggers_of_eht_have_their_bits() {
    let special = SpecialUserInfo {
        phy_version: 5,
        bandwidth_extension: 2,
        spatial_reuse: [3, 12],
        u_sig: 0xabc,
    };
    let user = EhtUserInfo {
        aid: 5,
        allocation: 0x1b5,
        ldpc: true,
        rate: AnswerRate { mcs: 13, streams: 3, dcm: false },
        starting_stream: 9,
        target_rssi_dbm: Some(-50),
    };
    let bits = [
        2007 | 5 << 12 | 2 << 15 | 3 << 17 | 12 << 21 | 0xabc << 25,
        5 | 0xb5 << 12 | 1 << 20 | 13 << 21 | 9 << 26 | 2 << 30 | 60 << 32 | 1_u64 << 39,
    ];
    for kind in [0, 1, 2, 3, 4, 6] {
        let common = CommonInfo(kind | 3 << 18).for_eht(320);
        assert_eq!(common.0 >> 53, 0x7f << 3);
        let dependent = [&[0][..], &[0], &[0; 4], &[], &[], &[], &[]][kind as usize];
        let mut rest = Vec::new();
        special.emit(common.kind(), &mut rest);
        user.emit(&mut rest);
        rest.extend_from_slice(dependent);
        emit_trigger_padding(0, &mut rest);
        let words = bits.map(|bits| bits.to_le_bytes()[..5].to_vec());
        assert_eq!(rest, [&words[0][..], dependent, &words[1], dependent, &[0xff; 2]].concat());
        let trigger = Trigger { common, rest: &rest };
        let users: Vec<_> = trigger.users().map(|user| user.expect("two")).collect();
        assert_eq!(users.len(), 2);
        assert_eq!(SpecialUserInfo::parse(&users[0]), Some(special));
        assert_eq!(SpecialUserInfo::parse(&users[1]), None);
        assert_eq!(EhtUserInfo::parse(&users[1]), user);
        assert_eq!(trigger.answer_width_mhz(), Some(320));
        assert!(trigger.is_eht(&users[1]) && common.has_special_user());
        // Of HE in the primary 160 MHz, by PS160 of EHT elsewhere.
        let mixed = Trigger { common: CommonInfo(common.0 | 1 << 54), ..trigger };
        assert!(mixed.is_eht(&users[1]) && !mixed.is_eht(&users[0]));
    }
    let widths = [20, 40, 80, 160, 320];
    for mhz in widths {
        let mut rest = Vec::new();
        SpecialUserInfo::of_width(mhz).emit(TriggerKind::RequestToSend, &mut rest);
        let trigger = Trigger { common: CommonInfo(3).for_eht(mhz), rest: &rest };
        assert_eq!(trigger.answer_width_mhz(), Some(mhz));
    }
    // Without EHT, the reserved bits of HE-SIG-A2 are ones.
    let common = CommonInfo::request_to_send(ChannelWidth::Mhz40);
    assert!(common.is_he_in_primary_160() && !common.has_special_user());
    let mut rest = Vec::new();
    for (mhz, primary) in [(20, 3), (40, 1), (80, 0), (160, 0), (320, 0)] {
        emit_request_to_send(7, mhz, primary, &mut rest);
    }
    let trigger = Trigger { common, rest: &rest };
    assert_eq!(trigger.answer_width_mhz(), Some(40));
    let units: Vec<_> = trigger.users().map(|it| it.expect("five").ru_allocation()).collect();
    assert_eq!(units, [64 << 1, 66 << 1, 67 << 1, 68 << 1 | 1, 69 << 1 | 1]);
}
