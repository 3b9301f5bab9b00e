//! What `wire` writes, read by tshark: frame kinds and fields, FCS, radiotap
//! with rates and A-MPDU status, a vendor namespace. Without tshark on the path
//! the tests say so and pass. Long because every kind of frame and of rate is a table of what
//! tshark should say of it.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use lasthop_packet::AccessCategory;
use lasthop_units::{Dbm, Duration, Instant, MacAddr, SeqNo12};
use lasthop_wifi::phy::{
    Band, ChannelWidth, Codebook, DsssRate, Feedback, Grouping, GuardInterval, HeGuardInterval,
    OfdmRate, Preamble, Rate, Ru, RuSize,
};
use lasthop_wifi::wire::elements::{self, Elements};
use lasthop_wifi::wire::radiotap::{self, AmpduStatus, Channel, He, HeMu, LSig, Vht, XChannel};
use lasthop_wifi::wire::{
    Flags, FrameControl, Kind, QosControl, SequenceControl, action, amsdu, control, data, frame,
    llc, management,
};
use std::io::Write;
use std::process::{Command, Stdio};

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
/// IEEE 802, local experimental EtherType 1.
const EXPERIMENTAL: u16 = 0x88b5;

/// Link type of IEEE 802.11 behind radiotap.
const DLT_IEEE802_11_RADIO: u32 = 127;

/// A pcap file in memory, all frames at time 0.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![];
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, DLT_IEEE802_11_RADIO] {
        file.extend_from_slice(&u32::to_le_bytes(word));
    }
    for frame in frames {
        let length = u32::try_from(frame.len()).unwrap();
        for word in [0, 0, length, length] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

/// The fields of each frame as tshark prints them; `None` if it is not there.
fn tshark(frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-T", "fields", "-o", "wlan.check_checksum:TRUE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        println!("skipped, because tshark is not installed");
        return None;
    };
    child.stdin.take().unwrap().write_all(&pcap(frames)).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split('\t').map(String::from).collect()).collect();
    assert_eq!(rows.len(), frames.len());
    Some(rows)
}

fn received(rate: Rate) -> radiotap::Repr {
    let at = Instant::default() + Duration::from_micros(1_234_567);
    radiotap::Repr::received(at, rate, Channel::from_number(Band::Ghz5, 36), Dbm(-48.4))
}

fn captured<'a>(radiotap: &radiotap::Repr, repr: impl Into<frame::Repr<'a>>) -> Vec<u8> {
    let mut out = vec![];
    radiotap.emit(&mut out);
    repr.into().emit_mpdu(&mut out);
    out
}

fn of_kind<'a>(repr: impl Into<frame::Repr<'a>>) -> Vec<u8> {
    captured(&received(Rate::Ofdm(OfdmRate::Mbps24)), repr)
}

fn msdu() -> Vec<u8> {
    let mut msdu = vec![];
    llc::Repr::new(EXPERIMENTAL).emit(&mut msdu);
    msdu.extend_from_slice(&[0x55; 40]);
    msdu
}

fn data_frame(qos: Option<QosControl>, body: Option<&[u8]>) -> data::Repr<'_> {
    data::Repr {
        flags: Flags::default(),
        duration_us: 44,
        addresses: data::Addresses::ToDs { bssid: AP, source: STATION, destination: HOST },
        sequence_control: SequenceControl::new(SeqNo12::new(0x123)),
        qos,
        ht_control: None,
        body,
    }
}

fn control_frame(body: control::Body<'_>) -> control::Repr<'_> {
    control::Repr { flags: Flags::default(), duration_id: 300, receiver: AP, body }
}

fn management_frame(body: management::Body<'_>) -> management::Repr<'_> {
    management::Repr {
        flags: Flags::default(),
        duration_us: 0,
        receiver: STATION,
        transmitter: AP,
        bssid: AP,
        sequence_control: SequenceControl::new(SeqNo12::new(7)),
        ht_control: None,
        body,
    }
}

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
    let mut writer = amsdu::Writer::new();
    for msdu in [&msdu[..], &msdu[..41]] {
        writer.push(&amsdu::Subframe { destination: HOST, source: STATION, msdu }).unwrap();
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

/// One frame, its fields by name.
fn check(frame: Vec<u8>, expected: &[(&str, &str)]) {
    let fields: Vec<_> = expected.iter().map(|(field, _)| *field).collect();
    let Some(rows) = tshark(&[frame], &fields) else { return };
    let read: Vec<_> = fields.iter().copied().zip(rows[0].iter().map(String::as_str)).collect();
    assert_eq!(read, expected);
}

#[test]
fn every_rate_reads_as_it_is() {
    let dsss = [DsssRate::Mbps1, DsssRate::Mbps2, DsssRate::Mbps5_5, DsssRate::Mbps11];
    let ofdm = [
        OfdmRate::Mbps6,
        OfdmRate::Mbps9,
        OfdmRate::Mbps12,
        OfdmRate::Mbps18,
        OfdmRate::Mbps24,
        OfdmRate::Mbps36,
        OfdmRate::Mbps48,
        OfdmRate::Mbps54,
    ];
    let mut rates: Vec<Rate> = dsss
        .into_iter()
        .flat_map(|rate| {
            [Preamble::Long, Preamble::Short].map(|preamble| Rate::Dsss { rate, preamble })
        })
        .chain(ofdm.map(Rate::Ofdm))
        .chain(ofdm.map(Rate::ErpOfdm))
        .collect();
    for width in [ChannelWidth::Mhz20, ChannelWidth::Mhz40] {
        for guard_interval in [GuardInterval::Long, GuardInterval::Short] {
            rates.extend((0..32).map(|mcs| Rate::Ht { mcs, width, guard_interval }));
        }
    }
    let null = data_frame(Some(QosControl::default()), None);
    // A clock that stands still would make one aggregate of them for tshark.
    let times = (0..).map(|n| Instant::default() + Duration::from_millis(n));
    let frames: Vec<_> = rates
        .iter()
        .zip(times)
        .map(|(rate, at)| {
            let channel = match rate {
                Rate::Dsss { .. } | Rate::ErpOfdm(_) => Channel::from_number(Band::Ghz2_4, 6),
                _ => Channel::from_number(Band::Ghz5, 36),
            };
            captured(&radiotap::Repr::received(at, *rate, channel, Dbm(-50.0)), null)
        })
        .collect();
    let fields = ["wlan_radio.data_rate", "wlan_radio.phy", "radiotap.flags.preamble"];
    let Some(rows) = tshark(&frames, &fields) else { return };
    for (rate, row) in rates.iter().zip(rows) {
        // Wireshark's numbers of PHYs: 4 is 11b, 5 is 11a, 6 is 11g, 7 is 11n.
        let phy = match rate {
            Rate::Dsss { .. } => "4",
            Rate::Ofdm(_) => "5",
            Rate::ErpOfdm(_) => "6",
            Rate::Ht { .. } => "7",
            _ => panic!("{rate} is not written"),
        };
        assert_eq!(row[1], phy, "{rate:?}");
        let mbps: f64 = row[0].parse().unwrap();
        assert!((mbps - rate.bitrate().as_mbps_f64()).abs() < 0.05, "{rate:?}: {mbps}");
        let short = matches!(rate, Rate::Dsss { preamble: Preamble::Short, .. });
        assert_eq!(row[2], if short { "1" } else { "0" }, "{rate:?}");
    }
}

#[test]
fn radiotap_fields_hold_what_was_written() {
    let rate =
        Rate::Ht { mcs: 15, width: ChannelWidth::Mhz40, guard_interval: GuardInterval::Short };
    let header =
        radiotap::Repr { ampdu_status: Some(AmpduStatus::new(77, true)), ..received(rate) };
    check(
        captured(&header, data_frame(Some(QosControl::default()), None)),
        &[
            ("radiotap.mactime", "1234567"),
            ("radiotap.flags.fcs", "1"),
            ("radiotap.channel.freq", "5180"),
            ("radiotap.dbm_antsignal", "-48"),
            ("radiotap.mcs.index", "15"),
            ("radiotap.mcs.bw", "1"),
            ("radiotap.mcs.gi", "1"),
            ("radiotap.ampdu.reference", "77"),
            ("radiotap.ampdu.flags.last", "1"),
            ("wlan.fc.type_subtype", "0x002c"),
            ("wlan.fcs.status", "1"),
            ("_ws.malformed", ""),
        ],
    );
}

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

/// Per AID TID Info: an Ack, a bitmap of 8 octets, one of 4, a station without AID.
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

/// The frames of uplink OFDMA, as `emit_basic` and its like write them.
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
    control::emit_basic(1, first, (7, 2, false), AccessCategory::Video, &mut rest);
    control::emit_basic(2, second, (3, 1, true), AccessCategory::Video, &mut rest);
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
    control::emit_buffer_status_report_poll(1, first, (5, 1, false), &mut rest);
    control::emit_buffer_status_report_poll(2, second, (0, 1, false), &mut rest);
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

/// Beamforming reports have exactly the angles and SNRs that tshark takes out of them, whose
/// tables of subcarriers are not ours: with an octet less VHT's are malformed. Of HE it takes the
/// subcarriers only; in groups of 16 its table is of 20 MHz, and at 160 MHz it does not end.
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
        control::emit_beamforming_report(feedback, (0, true), 5, &mut bytes);
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

/// Every rate of VHT and HE that tshark works out, and ours.
#[test]
fn rates_of_vht_and_he_are_those_of_tshark() {
    let mut headers = vec![];
    // Codes of radiotap: 20, 40, 80 and 160 MHz.
    for (bandwidth, mcs, streams, short) in product([0, 1, 4, 11], 0..10, 1..=8, 0..2) {
        let vht = Vht {
            known: 0x0044,
            flags: short << 2,
            bandwidth,
            mcs_streams: [mcs << 4 | streams, 0, 0, 0],
            ..Vht::default()
        };
        headers.push(radiotap::Repr { vht: Some(vht), ..radiotap::Repr::default() });
    }
    for (allocation, mcs, streams, interval) in product(0..=10, 0..12, [1, 2, 8], 0..3) {
        // HE SU; with a resource unit, HE TB. Without DCM, which tshark 4.0 ignores.
        let format = if allocation < 4 { 0 } else { 3 };
        let data = [0x4060 | format, 0x0002, mcs << 8, 0, allocation | interval << 4, streams];
        headers.push(radiotap::Repr { he: Some(He { data }), ..radiotap::Repr::default() });
    }
    let null = data_frame(Some(QosControl::default()), None);
    let frames: Vec<_> = (0..)
        .zip(&headers)
        .map(|(n, header)| {
            captured(&radiotap::Repr { tsft_us: Some(1000 * n), flags: FCS, ..*header }, null)
        })
        .collect();
    let Some(rows) = tshark(&frames, &["wlan_radio.data_rate"]) else { return };
    let mut compared = 0;
    for (header, row) in headers.iter().zip(rows) {
        let Ok(theirs) = row[0].parse::<f64>() else { continue };
        let ours = header.bitrate().unwrap().as_mbps_f64();
        // In HE it rounds the rate of one stream in at most 80 MHz to a digit and multiplies.
        let parts = header.he.map_or(1, |he| {
            let twice = matches!(he.data[4] & 15, 3 | 10);
            he.data[5] * if twice { 2 } else { 1 }
        });
        let tolerance = 0.06 * f64::from(parts);
        assert!((ours - theirs).abs() < tolerance, "{ours} {theirs}: {header:?}");
        compared += 1;
    }
    assert!(compared > 1_000, "{compared}");
}

const FCS: Option<radiotap::Flags> = Some(radiotap::Flags(radiotap::Flags::FCS_AT_END));

fn product<A: Copy, B: Copy, C: Copy, D>(
    a: impl IntoIterator<Item = A>,
    b: impl IntoIterator<Item = B> + Clone,
    c: impl IntoIterator<Item = C> + Clone,
    d: impl IntoIterator<Item = D> + Clone,
) -> impl Iterator<Item = (A, B, C, D)> {
    a.into_iter().flat_map(move |a| {
        let (c, d) = (c.clone(), d.clone());
        b.clone().into_iter().flat_map(move |b| {
            let d = d.clone();
            c.clone()
                .into_iter()
                .flat_map(move |c| d.clone().into_iter().map(move |d| (a, b, c, d)))
        })
    })
}

/// HE SU and extended range PPDUs of every kind, with dual carrier modulation and without: format 1
/// is extended range; RUs of 106 and 242 tones have radiotap's codes 6 and 7.
#[test]
fn extended_range_and_dual_carriers_are_those_of_tshark() {
    let gi = HeGuardInterval::Ns800Ltf2x;
    let mut rates: Vec<Rate> = Rate::all_he_extended_range(gi, true).collect();
    rates.extend(Rate::all_he_dual_carrier(ChannelWidth::Mhz40, gi, 2));
    assert_eq!(rates.len(), 7 + 8);
    let null = data_frame(Some(QosControl::default()), None);
    let frames: Vec<_> = rates.iter().map(|rate| captured(&received(*rate), null)).collect();
    let fields = [
        "radiotap.he.data_1.ppdu_format",
        "radiotap.he.data_3.data_mcs",
        "radiotap.he.data_3.data_dcm",
        "radiotap.he.data_5.data_bw_ru_allocation",
        "radiotap.he.data_6.nsts",
        "_ws.malformed",
    ];
    let Some(rows) = tshark(&frames, &fields) else { return };
    for (rate, row) in rates.iter().zip(rows) {
        let (format, mcs, dcm, allocation) = match *rate {
            Rate::He { mcs, dcm, .. } => (0, mcs, dcm, 1),
            Rate::HeExtendedRange { mcs, dcm, tones: RuSize::Tones106, .. } => (1, mcs, dcm, 6),
            Rate::HeExtendedRange { mcs, dcm, .. } => (1, mcs, dcm, 7),
            _ => unreachable!("all are of HE"),
        };
        let mut expected: Vec<String> = [format, mcs, u8::from(dcm), allocation, rate.streams()]
            .map(|value| format!("0x{value:04x}"))
            .to_vec();
        expected.push(String::new());
        assert_eq!(row, expected, "{rate}");
    }
}

#[test]
fn fields_of_vht_and_he_hold_what_was_written() {
    let null = data_frame(Some(QosControl::default()), None);
    let he = He { data: [0xfffe, 0x0a7f, 0xa8ea, 0x4321, 0x0296, 0x7d22] };
    let header = radiotap::Repr {
        flags: FCS,
        xchannel: Some(XChannel {
            flags: XChannel::HT_20,
            frequency_mhz: 5180,
            number: 36,
            max_power: 0,
        }),
        he: Some(he),
        he_mu: Some(HeMu {
            flags1: 0xc173,
            flags2: 0x063f,
            channel1: [1, 2, 3, 4],
            channel2: [5, 6, 7, 8],
        }),
        l_sig: Some(LSig { known: 3, data: 0x123b }),
        ..radiotap::Repr::default()
    };
    check(
        captured(&header, null),
        &[
            ("radiotap.xchannel.freq", "5180"),
            ("radiotap.he.data_1.ppdu_format", "0x0002"),
            ("radiotap.he.data_3.bss_color", "0x002a"),
            ("radiotap.he.data_3.ul_dl", "0x0001"),
            ("radiotap.he.data_3.data_mcs", "0x0008"),
            ("radiotap.he.data_3.data_dcm", "0x0000"),
            ("radiotap.he.data_3.coding", "0x0001"),
            ("radiotap.he.data_4.sta_id_user", "0x0432"),
            ("radiotap.he.data_5.data_bw_ru_allocation", "0x0006"),
            ("radiotap.he.data_5.gi", "0x0001"),
            ("radiotap.he.num_ltf_symbols", "0x0002"),
            ("radiotap.he.data_6.nsts", "0x0002"),
            ("radiotap.he.data_6.txop_value", "0x007d"),
            ("radiotap.he_mu.sig_b_mcs", "0x0003"),
            ("radiotap.he_mu.bw_from_sig_a", "3"),
            ("radiotap.he_mu.chan1_rus_3_index", "4"),
            ("radiotap.l_sig.rate", "11"),
            ("radiotap.l_sig.length", "291"),
            ("wlan.fc.type_subtype", "0x002c"),
            ("wlan.fcs.status", "1"),
            ("_ws.malformed", ""),
        ],
    );
}

/// Headers that we do not write, read by both.
#[test]
fn vendor_namespaces_and_antennas_read_alike() {
    // Flags, signal; a vendor's; then signal and antenna; then TSFT, aligned to 40.
    const TSFT_AT: usize = 40;
    let mut captured = vec![0, 0, TSFT_AT as u8 + 8, 0];
    for word in [0xc000_0022u32, 0xbfff_ffff, 0xa000_0820, 0x0000_0001] {
        captured.extend_from_slice(&word.to_le_bytes());
    }
    captured.extend_from_slice(&[0x10, 0xd0, 0x00, 0x11, 0x22, 1, 3, 0, 0xaa, 0xbb, 0xcc]);
    captured.extend_from_slice(&[0xc0, 1]);
    captured.resize(TSFT_AT, 0);
    captured.extend_from_slice(&99u64.to_le_bytes());
    let null: frame::Repr<'_> = data_frame(None, None).into();
    null.emit_mpdu(&mut captured);

    let view = radiotap::View::new(&captured).unwrap();
    let repr = radiotap::Repr::parse(&view).unwrap();
    let layout = repr.flags.unwrap().layout();
    let frame = frame::View::new(view.frame(), layout).unwrap();
    assert_eq!(frame.fcs_is_valid(), Some(true));
    assert_eq!(frame::Repr::parse(&frame), Ok(null));
    let antenna = repr.antenna.unwrap().to_string();
    let tsft = repr.tsft_us.unwrap().to_string();
    check(
        captured,
        &[
            ("radiotap.dbm_antsignal", "-48,-64"),
            ("radiotap.antenna", &antenna),
            ("radiotap.mactime", &tsft),
            ("wlan.fc.type_subtype", "0x0024"),
            ("wlan.fcs.status", "1"),
            ("_ws.malformed", ""),
        ],
    );
}
