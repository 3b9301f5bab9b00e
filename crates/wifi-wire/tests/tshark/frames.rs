//! Kinds of frames, and the fields of data and management frames and of elements, in both
//! directions: tshark reads the output of `wire`, and both read elements of other origin alike.
//! Sequence numbers and times are arbitrary.

use super::{
    AP, HOST, STATION, check, control_frame, data_frame, management_frame, msdu, of_kind, tshark,
};
use lasthop_units::{MacAddr, SeqNo12};
use lasthop_wifi_wire::elements::{self, Elements};
use lasthop_wifi_wire::{
    Flags, FrameControl, Kind, QosControl, SequenceControl, action, amsdu, control, data,
    management,
};

fn beacon_elements() -> Vec<u8> {
    let mut bytes = vec![];
    for element in [
        elements::Repr::Ssid(b"lasthop"),
        elements::Repr::SupportedRates(&[0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c]),
        elements::Repr::DsssParameterSet { channel: 6 },
        elements::Repr::Tim(elements::Tim {
            dtim_count: 1,
            dtim_period: 3,
            group_traffic: false,
            bitmap_offset: 0,
            bitmap: &[0x84],
        }),
        elements::Repr::HtCapabilities(elements::HtCapabilities {
            information: elements::HtCapabilities::WIDTH_40_MHZ,
            ampdu_parameters: 0x17,
            ..Default::default()
        }),
        elements::Repr::ExtendedSupportedRates(&[0x30]),
    ] {
        element.emit(&mut bytes).unwrap();
    }
    bytes
}

const PARAMETERS: action::BlockAckParameters =
    action::BlockAckParameters { amsdu: true, immediate: true, tid: 5, buffer_size: 64 };

#[test]
fn every_kind_of_frame_is_what_it_says() {
    let (msdu, elements) = (msdu(), beacon_elements());
    let qos = Some(QosControl { tid: 5, ..QosControl::default() });
    let beacon = management::Beacon {
        timestamp_us: 102_400,
        interval_tu: 100,
        capabilities: management::Beacon::ESS | management::Beacon::SHORT_SLOT_TIME,
        elements: Elements::new(&elements),
    };
    let relayed = data::Addresses::Relayed {
        receiver: AP,
        transmitter: STATION,
        destination: HOST,
        source: MacAddr([2, 0, 0, 0, 0, 4]),
    };
    let transmitter = STATION;
    let start = SeqNo12::new(0x123);
    let other = |subtype, bytes| management_frame(management::Body::Other { subtype, bytes });
    // Type and subtype as tshark prints them: 16 x type + subtype.
    let frames = [
        (0x20, of_kind(data_frame(None, Some(&msdu)))),
        (0x24, of_kind(data_frame(None, None))),
        (0x28, of_kind(data_frame(qos, Some(&msdu)))),
        (0x28, of_kind(data::Repr { ht_control: Some(0), ..data_frame(qos, Some(&msdu)) })),
        (0x28, of_kind(data::Repr { addresses: relayed, ..data_frame(qos, Some(&msdu)) })),
        (0x2c, of_kind(data_frame(qos, None))),
        (0x1d, of_kind(control_frame(control::Body::Ack))),
        (0x1c, of_kind(control_frame(control::Body::Cts))),
        (0x1b, of_kind(control_frame(control::Body::Rts { transmitter }))),
        (0x1e, of_kind(control_frame(control::Body::CfEnd { bssid: STATION }))),
        (
            0x1a,
            of_kind(control::Repr {
                duration_id: 0xc001,
                ..control_frame(control::Body::PsPoll { transmitter })
            }),
        ),
        (
            0x19,
            of_kind(control_frame(control::Body::BlockAck {
                transmitter,
                ack: control::BlockAck::compressed(5, start, &[3, 0, 0, 0, 0, 0, 0, 0x80]),
            })),
        ),
        (
            0x19,
            of_kind(control_frame(control::Body::BlockAck {
                transmitter,
                ack: control::BlockAck {
                    no_ack: false,
                    tid: 5,
                    variant: control::AckVariant::Basic { start, bitmap: &[] },
                },
            })),
        ),
        (
            0x18,
            of_kind(control_frame(control::Body::BlockAckRequest {
                transmitter,
                request: control::BlockAckRequest::compressed(5, start),
            })),
        ),
        (0x08, of_kind(management_frame(management::Body::Beacon(beacon)))),
        (0x05, of_kind(management_frame(management::Body::ProbeResponse(beacon)))),
        (0x04, of_kind(management_frame(management::Body::ProbeRequest(Elements::new(&elements))))),
        (
            0x0d,
            of_kind(management_frame(management::Body::Action(action::Repr::AddbaRequest {
                dialog_token: 1,
                parameters: PARAMETERS,
                timeout_tu: 0,
                start: SequenceControl::new(start),
                rest: &[],
            }))),
        ),
        (
            0x0d,
            of_kind(management_frame(management::Body::Action(action::Repr::AddbaResponse {
                dialog_token: 1,
                status: 0,
                parameters: PARAMETERS,
                timeout_tu: 0,
                rest: &[],
            }))),
        ),
        (
            0x0d,
            of_kind(management_frame(management::Body::Action(action::Repr::Delba {
                initiator: true,
                tid: 5,
                reason: 39,
                rest: &[],
            }))),
        ),
        // Open System authentication; deauthentication and disassociation, reason 3.
        (0x0b, of_kind(other(11, &[0, 0, 1, 0, 0, 0]))),
        (0x0c, of_kind(other(12, &[3, 0]))),
        (0x0a, of_kind(other(10, &[3, 0]))),
        (0x1f, of_kind(control_frame(control::Body::CfEndAck { bssid: STATION }))),
        (
            0x14,
            of_kind(control_frame(control::Body::BeamformingReportPoll {
                transmitter,
                segments: 3,
            })),
        ),
        (
            0x17,
            of_kind(control_frame(control::Body::ControlWrapper {
                carried: FrameControl::new(Kind::Cts, Flags::default()),
                ht_control: 0,
                rest: &[],
            })),
        ),
    ];
    let bytes: Vec<_> = frames.iter().map(|(_, bytes)| bytes.clone()).collect();
    let fields = ["wlan.fc.type_subtype", "wlan.fcs.status", "_ws.malformed"];
    let Some(rows) = tshark(&bytes, &fields) else { return };
    for ((kind, _), row) in frames.iter().zip(rows) {
        // Of a Control Wrapper it says what is carried, too.
        let (outer, _) = row[0].split_once(',').unwrap_or((&row[0], ""));
        assert_eq!([outer, &row[1], &row[2]], [format!("0x{kind:04x}").as_str(), "1", ""]);
    }
}

#[test]
fn fields_hold_what_was_written() {
    let (msdu, elements) = (msdu(), beacon_elements());
    let mut writer = amsdu::AmsduWriter::new();
    for msdu in [&msdu[..], &msdu[..41]] {
        writer.push(&amsdu::AmsduSubframe { destination: HOST, source: STATION, msdu }).unwrap();
    }
    let amsdu = writer.finish();
    let qos = QosControl { tid: 5, amsdu_present: true, ..QosControl::default() };
    let data = data::Repr {
        flags: Flags { retry: true, power_management: true, ..Flags::default() },
        ..data_frame(Some(qos), Some(&amsdu))
    };
    check(
        of_kind(data),
        &[
            ("wlan.fc.retry", "1"),
            ("wlan.fc.pwrmgt", "1"),
            ("wlan.duration", "44"),
            ("wlan.bssid", "02:00:00:00:00:01"),
            ("wlan.ta", "02:00:00:00:00:02"),
            ("wlan.seq", "291"),
            ("wlan.qos.tid", "5"),
            ("wlan.qos.amsdupresent", "1"),
            ("wlan_aggregate.a_mdsu.length", "48,41"),
            ("llc.type", "0x88b5,0x88b5"),
        ],
    );
    let (transmitter, start) = (STATION, SeqNo12::new(0x123));
    let octets: [u8; 32] = core::array::from_fn(|n| n as u8 ^ 0x55);
    // Version 4.0 does not know the lengths of 802.11be yet.
    for length in [8, 32] {
        let ack = control::BlockAck::compressed(5, start, &octets[..length]);
        let hex: String = octets[..length].iter().map(|octet| format!("{octet:02x}")).collect();
        check(
            of_kind(control_frame(control::Body::BlockAck { transmitter, ack })),
            &[
                ("wlan.ba.control.ba_type", "0x0002"),
                ("wlan.ba.basic.tidinfo", "0x0005"),
                ("wlan.fixed.ssc.sequence", "291"),
                ("wlan.ba.bm", hex.as_str()),
            ],
        );
    }
    let beacon = management::Beacon {
        timestamp_us: 102_400,
        interval_tu: 100,
        capabilities: management::Beacon::ESS,
        elements: Elements::new(&elements),
    };
    check(
        of_kind(management_frame(management::Body::Beacon(beacon))),
        &[
            ("wlan.fixed.timestamp", "102400"),
            ("wlan.ssid", "6c617374686f70"),
            ("wlan.ds.current_channel", "6"),
            ("wlan.tim.dtim_count", "1"),
            ("wlan.tim.dtim_period", "3"),
            ("wlan.tim.partial_virtual_bitmap", "84"),
            ("wlan.ht.capabilities", "0x0002"),
            ("wlan.ht.ampduparam", "0x17"),
        ],
    );
    let request = action::Repr::AddbaRequest {
        dialog_token: 9,
        parameters: PARAMETERS,
        timeout_tu: 5000,
        start: SequenceControl::new(start),
        rest: &[],
    };
    check(
        of_kind(management_frame(management::Body::Action(request))),
        &[
            ("wlan.fixed.action_code", "0x00"),
            ("wlan.fixed.dialog_token", "0x09"),
            ("wlan.fixed.baparams.amsdu", "1"),
            ("wlan.fixed.baparams.policy", "1"),
            ("wlan.fixed.baparams.tid", "0x0005"),
            ("wlan.fixed.baparams.buffersize", "64"),
            ("wlan.fixed.batimeout", "0x1388"),
            ("wlan.fixed.ssc.sequence", "291"),
        ],
    );
    let delba = action::Repr::Delba { initiator: true, tid: 5, reason: 39, rest: &[] };
    check(
        of_kind(management_frame(management::Body::Action(delba))),
        &[
            ("wlan.fixed.delba.param.initiator", "1"),
            ("wlan.fixed.delba.param.tid", "0x0005"),
            ("wlan.fixed.reason_code", "0x0027"),
        ],
    );
}

#[test]
fn elements_that_are_read_on_demand_read_alike() {
    let bytes: Vec<u8> = [
        // SSID; RSN of PSK and SAE with CCMP, management frames can be protected.
        &[0, 3, b'n', b'e', b't', 48, 24, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4][..],
        &[2, 0, 0, 0x0f, 0xac, 2, 0, 0x0f, 0xac, 8, 0x80, 0],
        // VHT Capabilities, VHT Operation, HE Operation.
        &[191, 12, 4, 0, 0, 0, 0xfa, 0xff, 0, 0, 0xfa, 0xff, 0, 0, 192, 5, 1, 42, 50, 0xfc, 0xff],
        &[255, 7, 36, 0, 0, 0, 42, 0xfc, 0xff],
    ]
    .concat();
    let elements = Elements::parse(&bytes).unwrap();
    let rsn = elements.rsn().unwrap().unwrap();
    let akms: Vec<_> = rsn.akms.unwrap().iter().map(|akm| akm.code.to_string()).collect();
    let ciphers: Vec<_> =
        rsn.pairwise.unwrap().iter().map(|suite| suite.code.to_string()).collect();
    let vht = elements.find(elements::id::VHT_OPERATION).unwrap();
    let vht = elements::VhtOperation::parse(&vht).unwrap();
    let he = elements.find_extension(elements::extension::HE_OPERATION).unwrap();
    let he = elements::HeOperation::parse(&he).unwrap();
    let beacon = management::Beacon {
        timestamp_us: 1,
        interval_tu: 100,
        capabilities: management::Beacon::ESS,
        elements,
    };
    check(
        of_kind(management_frame(management::Body::Beacon(beacon))),
        &[
            ("wlan.rsn.version", &rsn.version.to_string()),
            ("wlan.rsn.pcs.type", &ciphers.join(",")),
            ("wlan.rsn.akms.type", &akms.join(",")),
            ("wlan.rsn.capabilities.mfpc", "1"),
            ("wlan.vht.op.channelwidth", &vht.width.to_string()),
            ("wlan.vht.op.channelcenter0", &vht.centre_0.to_string()),
            ("wlan.vht.op.channelcenter1", &vht.centre_1.to_string()),
            (
                "wlan.ext_tag.bss_color_information.bss_color",
                &format!("0x{:02x}", he.bss_colour().unwrap()),
            ),
            ("_ws.malformed", ""),
        ],
    );
    let request = action::Repr::AddbaRequest {
        dialog_token: 9,
        parameters: PARAMETERS,
        timeout_tu: 0,
        start: SequenceControl::new(SeqNo12::new(1)),
        rest: &[159, 1, 0x25],
    };
    let extension = request.addba_extension().unwrap();
    check(
        of_kind(management_frame(management::Body::Action(request))),
        &[
            ("wlan.addba.no_frag", &u8::from(extension.no_fragmentation()).to_string()),
            ("wlan.addba.he_frag_oper", &format!("0x{:02x}", extension.fragmentation_level())),
            ("_ws.malformed", ""),
        ],
    );
}
