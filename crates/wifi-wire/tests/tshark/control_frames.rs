//! Control frames with content: Block Acks and requests of every variant, Trigger frames and their
//! answers (uplink OFDMA), NDP Announcements, and the beamforming reports after these, which are
//! action frames.

use super::{HOST, STATION, check, control_frame, data_frame, management_frame, of_kind, tshark};
use lasthop_packet::AccessCategory;
use lasthop_units::{Duration, SeqNo12};
use lasthop_wifi_phy::{ChannelWidth, Codebook, Feedback, Grouping, HeGuardInterval, Ru, RuSize};
use lasthop_wifi_wire::radiotap;
use lasthop_wifi_wire::{QosControl, control, frame, management};

#[test]
fn block_acks_hold_what_was_written() {
    let (transmitter, start) = (STATION, SeqNo12::new(0x123));
    let variant = |tid, variant| {
        let ack = control::BlockAck { no_ack: true, tid, variant };
        of_kind(control_frame(control::Body::BlockAck { transmitter, ack }))
    };
    let request = |tid, variant| {
        let request = control::BlockAckRequest { no_ack: true, tid, variant };
        of_kind(control_frame(control::Body::BlockAckRequest { transmitter, request }))
    };
    let ok = [("wlan.fcs.status", "1"), ("_ws.malformed", "")];
    check(
        variant(0, control::AckVariant::MultiSta(control::MultiSta::new(MULTI_STA))),
        &[
            ("wlan.ba.control.ba_type", "0x000b"),
            ("wlan.ba.multi_sta.aid11", "0x0001,0x0002,0x0003,0x07fd"),
            ("wlan.ba.multi_sta.ack_type", "0x0001,0x0000,0x0000,0x0000"),
            ("wlan.ba.multi_sta.tid", "0x0000,0x0005,0x0006,0x000f"),
            // The last one is what the standard reserves before the address.
            ("wlan.fixed.ssc.sequence", "291,292,0"),
            ("wlan.ba.bm", "0102030405060708,01020304"),
            ("wlan.ba.multi_sta.ra", "02:00:00:00:00:03"),
            ok[0],
            ok[1],
        ],
    );
    let records = [
        [0, 0x10, 0x30, 0x12, 1, 0, 0, 0, 0, 0, 0, 0],
        [0, 0x60, 0x40, 0x12, 0, 0, 0, 0, 0, 0, 0, 0x80],
    ]
    .concat();
    check(
        variant(1, control::AckVariant::MultiTid(control::MultiTid::new(&records))),
        &[
            ("wlan.ba.control.ba_type", "0x0003"),
            ("wlan.bar.mtid.tidinfo.value", "0x0001,0x0006"),
            ("wlan.fixed.ssc.sequence", "291,292"),
            ("wlan.ba.bm", "0100000000000000,0000000000000080"),
            ok[0],
            ok[1],
        ],
    );
    check(
        variant(5, control::AckVariant::Gcr { start, group: HOST, bitmap: &[9] }),
        &[
            ("wlan.ba.control.ba_type", "0x0006"),
            ("wlan.fixed.ssc.sequence", "291"),
            ("wlan.ba.gcr_group_addr", "02:00:00:00:00:03"),
            ("wlan.ba.bm", "0900000000000000"),
            ok[0],
            ok[1],
        ],
    );
    check(
        variant(
            5,
            control::AckVariant::ExtendedCompressed { start, bitmap: &[7], receive_buffers: 42 },
        ),
        &[
            ("wlan.ba.control.ba_type", "0x0001"),
            ("wlan.fixed.ssc.sequence", "291"),
            ("wlan.ba.bm", "0700000000000000"),
            // A flag to it. It also says that only DMG stations send this.
            ("wlan.ba.RBUFCAP", "1"),
            ok[0],
        ],
    );
    let records = control::MultiTidRequest::new(&[0, 0x10, 0x30, 0x12, 0, 0x60, 0x40, 0x12]);
    check(
        request(1, control::RequestVariant::MultiTid(records)),
        &[
            ("wlan.bar.mtid.tidinfo.value", "0x0001,0x0006"),
            ("wlan.fixed.ssc.sequence", "291,292"),
            ok[0],
            ok[1],
        ],
    );
    check(
        request(5, control::RequestVariant::Gcr { start, group: HOST }),
        &[
            ("wlan.fixed.ssc.sequence", "291"),
            ("wlan.ba.gcr_group_addr", "02:00:00:00:00:03"),
            ok[0],
            ok[1],
        ],
    );
}

/// Per AID TID Info fields: an Ack, a bitmap of 8 octets, one of 4, a station without AID.
const MULTI_STA: &[u8] = &[
    0x01, 0x08, 0x02, 0x50, 0x30, 0x12, 1, 2, 3, 4, 5, 6, 7, 8, 0x03, 0x60, 0x46, 0x12, 1, 2, 3, 4,
    0xfd, 0xf7, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3,
];

/// Bits at an offset.
fn word(fields: &[(u32, u64)]) -> u64 {
    fields.iter().fold(0, |word, (shift, value)| word | value << shift)
}

#[test]
fn triggers_hold_what_was_written() {
    let transmitter = STATION;
    let frame = |common, rest: &[u8]| {
        let trigger = control::Trigger { common: control::CommonInfo(common), rest };
        let body = control::Body::Trigger { transmitter, trigger };
        let bytes = of_kind(control_frame(body));
        let view = radiotap::View::new(&bytes).unwrap();
        let view =
            frame::View::new(view.frame(), frame::Layout { fcs: true, padded: false }).unwrap();
        assert_eq!(frame::Repr::parse(&view), Ok(control_frame(body).into()));
        bytes
    };
    // UL Length 1 234, 80 MHz, CS required, -20 + 43 dBm.
    let common = |kind| word(&[(0, kind), (4, 1234), (17, 1), (18, 2), (28, 43), (63, 1)]);
    // AID, RU allocation, LDPC, MCS 9, streams 1 and 2, -110 + 60 dBm.
    let user = |aid| word(&[(0, aid), (12, 0x87), (20, 1), (21, 9), (26, 1), (29, 1), (32, 60)]);
    let info = |aid, dependent: &[u8]| [&user(aid).to_le_bytes()[..5], dependent].concat();
    let padding = [0xff; 6];
    let all = [
        ("wlan.trigger.he.ul_length", "1234"),
        ("wlan.trigger.he.cs_required", "1"),
        ("wlan.trigger.he.ul_bw", "2"),
        ("wlan.trigger.he.ap_tx_power", "43"),
        ("wlan.trigger.he.user_info.aid12", "0x0000000000000005,0x00000000000007d6"),
        ("wlan.trigger.he.coding_type", "1,1"),
        ("wlan.trigger.he.mcs", "0x0000000000000009,0x0000000000000009"),
        ("wlan.trigger.he.target_rssi", "60,60"),
        ("_ws.malformed", ""),
    ];
    let request = [5, 0x50, 0x30, 0x12];
    for (kind, name, dependent) in [
        (0, "0", &[0xa7][..]),
        (1, "1", &[0x0f]),
        (2, "2", &request),
        (3, "3", &[]),
        (4, "4", &[]),
        (6, "6", &[]),
    ] {
        let rest = [info(5, dependent), info(2006, dependent), padding.to_vec()].concat();
        let mut expected = vec![("wlan.trigger.he.trigger_type", name)];
        expected.extend_from_slice(&all);
        check(frame(common(kind), &rest), &expected);
    }
    let rest = [request.to_vec(), info(5, &[]), info(2006, &[]), padding.to_vec()].concat();
    let mut expected =
        vec![("wlan.trigger.he.common_info.bar_info.blk_ack_starting_seq_ctrl", "0x1230")];
    expected.extend_from_slice(&all);
    check(frame(common(5), &rest), &expected);
}

/// The frames of uplink OFDMA, as written by `emit_basic` and similar functions.
#[test]
fn uplink_frames_hold_what_was_written() {
    let transmitter = STATION;
    let (response, gi) = (Duration::from_nanos(5_476_800), HeGuardInterval::Ns1600Ltf2x);
    let [first, second] = [2, 3].map(|index| Ru::new(RuSize::Tones242, index).unwrap());
    let frame = |common, rest: &[u8]| {
        let trigger = control::Trigger { common, rest };
        of_kind(control_frame(control::Body::Trigger { transmitter, trigger }))
    };
    let common = control::CommonInfo::basic(response, gi, ChannelWidth::Mhz80, 2);
    let mut rest = vec![];
    control::emit_basic(
        1,
        first,
        control::AnswerRate { mcs: 7, streams: 2, dcm: false },
        AccessCategory::Video,
        &mut rest,
    );
    control::emit_basic(
        2,
        second,
        control::AnswerRate { mcs: 3, streams: 1, dcm: true },
        AccessCategory::Video,
        &mut rest,
    );
    let all = [
        // 5 456.8 us behind the first 20 are 1 365 units of three octets, less 5.
        ("wlan.trigger.he.ul_length", "4090"),
        ("wlan.trigger.he.cs_required", "1"),
        ("wlan.trigger.he.ul_bw", "2"),
        ("wlan.trigger.he.gi_and_ltf_type", "1"),
        ("wlan.trigger.he.user_info.aid12", "0x0000000000000001,0x0000000000000002"),
        ("_ws.malformed", ""),
        ("wlan.fcs.status", "1"),
    ];
    let mut expected = all.to_vec();
    expected.extend_from_slice(&[
        ("wlan.trigger.he.trigger_type", "0"),
        ("wlan.trigger.he.num_he_ltf_syms_and_midamble_per", "0x0000000000000001"),
        ("wlan.trigger.he.mcs", "0x0000000000000007,0x0000000000000003"),
        ("wlan.trigger.he.dcm", "0,1"),
        ("wlan.trigger.he.tid_aggregation_limit", "1,1"),
        ("wlan.trigger.he.preferred_ac", "0x02,0x02"),
    ]);
    check(frame(common, &rest), &expected);
    let common = control::CommonInfo::buffer_status_report_poll(response, gi, ChannelWidth::Mhz80);
    let mut rest = vec![];
    control::emit_buffer_status_report_poll(
        1,
        first,
        control::AnswerRate { mcs: 5, streams: 1, dcm: false },
        &mut rest,
    );
    control::emit_buffer_status_report_poll(
        2,
        second,
        control::AnswerRate { mcs: 0, streams: 1, dcm: false },
        &mut rest,
    );
    let mut expected = all.to_vec();
    expected.extend_from_slice(&[
        ("wlan.trigger.he.trigger_type", "4"),
        ("wlan.trigger.he.mcs", "0x0000000000000005,0x0000000000000000"),
    ]);
    check(frame(common, &rest), &expected);

    let mut records = vec![];
    let start = SeqNo12::new(0x123);
    control::StationRecord::emit_bitmap(1, 0, start, &[1, 2, 3, 4, 5, 6, 7, 8], &mut records);
    control::StationRecord::emit_bitmap(2, 5, start, &[0xff; 32], &mut records);
    let variant = control::AckVariant::MultiSta(control::MultiSta::new(&records));
    let ack = control::BlockAck { no_ack: true, tid: 0, variant };
    let long = "ff".repeat(32);
    let bitmaps = format!("0102030405060708,{long}");
    check(
        of_kind(control_frame(control::Body::BlockAck { transmitter, ack })),
        &[
            ("wlan.ba.control.ba_type", "0x000b"),
            ("wlan.ba.multi_sta.aid11", "0x0001,0x0002"),
            ("wlan.ba.multi_sta.ack_type", "0x0000,0x0000"),
            ("wlan.ba.multi_sta.tid", "0x0000,0x0005"),
            ("wlan.fixed.ssc.sequence", "291,291"),
            ("wlan.ba.bm", &bitmaps),
            ("_ws.malformed", ""),
            ("wlan.fcs.status", "1"),
        ],
    );
    let qos = QosControl { end_of_service_period: true, upper: 216, ..QosControl::default() };
    check(
        of_kind(data_frame(Some(qos), None)),
        &[
            ("wlan.fc.type_subtype", "0x002c"),
            ("wlan.qos.queue_size", "216"),
            ("_ws.malformed", ""),
        ],
    );
}

/// Beamforming reports have exactly the angles and SNRs that tshark reads, with other tables of
/// subcarriers: with an octet less those of VHT are malformed. In HE tshark reads only the
/// subcarriers; in groups of 16 its table is that of 20 MHz, and at 160 MHz it does not end.
#[test]
fn beamforming_reports_are_as_long_as_tshark_reads_them() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    use Grouping::{He4, He16, Vht1, Vht2, Vht4};
    let mut feedbacks = vec![];
    for (grouping, width) in [Vht1, Vht2, Vht4, He4, He16]
        .into_iter()
        .flat_map(|g| [Mhz20, Mhz40, Mhz80].map(|w| (g, w)))
    {
        for (rows, columns) in [(2, 1), (3, 2), (4, 1), (4, 2), (4, 4), (8, 1)] {
            for codebook in [Codebook::Coarse, Codebook::Fine] {
                if grouping != He16 || (width, codebook) == (Mhz20, Codebook::Fine) {
                    feedbacks.push(Feedback { width, rows, columns, grouping, codebook });
                }
            }
        }
    }
    let frame = |feedback: &Feedback, less: usize| {
        let mut bytes = vec![];
        control::emit_beamforming_report(
            feedback,
            control::ReportSegment { remaining: 0, is_first: true },
            5,
            &mut bytes,
        );
        bytes.resize(bytes.len() + feedback.bytes() as usize - less, 0);
        of_kind(management_frame(management::Body::Other { subtype: 14, bytes: &bytes }))
    };
    let frames: Vec<_> = feedbacks.iter().flat_map(|f| [frame(f, 0), frame(f, 1)]).collect();
    let fields = [
        "wlan.vht.exclusive_beamforming_report.delta_snr",
        "wlan.he.action.he_mimo_control.scidx",
        "_ws.malformed",
    ];
    let Some(read) = tshark(&frames, &fields) else { return };
    let count = |text: &str| text.split(',').filter(|one| !one.is_empty()).count() as u32;
    for (feedback, lines) in feedbacks.iter().zip(read.chunks(2)) {
        let (whole, shorter) = (&lines[0], &lines[1]);
        assert_eq!(whole[2], "", "{feedback:?}");
        let columns = u32::from(feedback.columns);
        if !feedback.grouping.is_he() {
            assert_eq!(count(&whole[0]) % columns, 0, "{feedback:?}");
            assert_ne!(shorter[2], "", "{feedback:?}");
            continue;
        }
        let groups = count(&whole[1]);
        let (phi, psi) = feedback.codebook.bits();
        let angles = groups * feedback.angles() / 2 * (phi + psi);
        let expected = (8 * columns + angles).div_ceil(8) + (4 * columns * groups).div_ceil(8);
        assert_eq!(feedback.bytes(), expected, "{feedback:?}");
    }
}

#[test]
fn ndp_announcements_hold_what_was_written() {
    let frame = |token, stations: &[u8]| {
        let announcement = control::NdpAnnouncement { token, stations };
        let body = control::Body::NdpAnnouncement { transmitter: STATION, announcement };
        of_kind(control_frame(body))
    };
    check(
        frame(9 << 2, &[5, 0, 6, 0x30]),
        &[
            ("wlan.vht_ndp.token.number", "9"),
            ("wlan.vht_ndp.sta_info.aid12", "0x0005,0x0006"),
            ("_ws.malformed", ""),
        ],
    );
    check(
        frame(9 << 2 | 2, &[5, 0, 0, 8, 6, 8, 0, 0x28]),
        &[
            ("wlan.he_ndp.token.number", "9"),
            ("wlan.he_ndp.sta_info.aid11", "0x00000005,0x00000006"),
            ("_ws.malformed", ""),
        ],
    );
}
