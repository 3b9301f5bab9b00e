//! What `wire` writes, read by tshark: frame kinds and fields, FCS, radiotap
//! with rates and A-MPDU status, a vendor namespace. Without tshark on the path
//! the tests say so and pass.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use lasthop_units::{Dbm, Duration, Instant, MacAddr, SeqNo12};
use lasthop_wifi::phy::{Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};
use lasthop_wifi::wire::elements::{self, Elements};
use lasthop_wifi::wire::radiotap::{self, AmpduStatus, Channel};
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
                    variant: control::AckVariant::Other { code: 0, information: &[0; 130] },
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
        // CF-End + CF-Ack, which has no name of its own.
        (
            0x1f,
            of_kind(frame::Repr::Other {
                frame_control: FrameControl::new(
                    Kind::from_type_subtype(Kind::CONTROL, 15),
                    Flags::default(),
                ),
                rest: &[0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2],
            }),
        ),
    ];
    let bytes: Vec<_> = frames.iter().map(|(_, bytes)| bytes.clone()).collect();
    let fields = ["wlan.fc.type_subtype", "wlan.fcs.status", "_ws.malformed"];
    let Some(rows) = tshark(&bytes, &fields) else { return };
    for ((kind, _), row) in frames.iter().zip(rows) {
        assert_eq!(row, [format!("0x{kind:04x}").as_str(), "1", ""]);
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
                Rate::Ofdm(_) | Rate::Ht { .. } => Channel::from_number(Band::Ghz5, 36),
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
