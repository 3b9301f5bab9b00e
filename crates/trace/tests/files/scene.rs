//! A made-up scene of 100 ms for the tests: an access point, two stations and a wired
//! server, with at least one frame of every kind.

use lasthop_hosts::{FrameDirection, Sink, TcpSample};
use lasthop_net::network::{NetworkConfig, NetworkStats};
use lasthop_packet::{AccessCategory, DropReason, FlowId, NodeId, Packet};
use lasthop_trace::{AirInfo, Files, FlowKind, FlowName, Names, NodeFrames, NodeName};
use lasthop_trace::{OutputDir, Recorder, Recording, RunDocument, RunInfo};
use lasthop_units::{Dbm, Duration, Instant, MacAddr, SeqNo12};
use lasthop_wifi::event::{Event, Frame, FrameKind, FramePackets, Ppdu, Psdu};
use lasthop_wifi::mac::block_ack::Bitmap;
use lasthop_wifi::phy::{Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};
use lasthop_wifi::{Address, StationId};
use std::ops::Deref;
use std::path::{Path, PathBuf};

pub const AP: u16 = 0;
pub const LAPTOP: u16 = 1;
pub const PHONE: u16 = 2;
pub const SERVER: u16 = 3;

pub const HT: Rate =
    Rate::Ht { mcs: 7, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Short };
pub const BASIC: Rate = Rate::ErpOfdm(OfdmRate::Mbps24);
pub const SLOW: Rate = Rate::Dsss { rate: DsssRate::Mbps2, preamble: Preamble::Short };

/// The path of a directory for one test, which is removed when the test ends, however it does.
pub struct Scratch(PathBuf);

/// One that does not exist.
pub fn scratch(name: &str) -> Scratch {
    let path = std::env::temp_dir().join(format!("lasthop-files-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    Scratch(path)
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn names() -> Names {
    let node = |index, name: &str| NodeName { name: name.into(), address: MacAddr::local(index) };
    let flow = |name: &str, kind, from, to| FlowName {
        name: name.into(),
        kind,
        table: None,
        saturated: false,
        experience: None,
        from: NodeId(from),
        to: NodeId(to),
        start: Instant::ZERO,
        stop: None,
    };
    Names {
        francs: Vec::new(),
        hosts: Default::default(),
        nodes: vec![node(0, "ap"), node(1, "laptop"), node(2, "phone"), node(3, "server")],
        neighbours: Vec::new(),
        stations: vec![NodeId(AP), NodeId(LAPTOP), NodeId(PHONE)],
        access_points: vec![StationId(0); 3],
        links: Vec::new(),
        link_of: Vec::new(),
        roams: true,
        flows: vec![
            flow("up", FlowKind::Udp, LAPTOP, SERVER),
            flow("down", FlowKind::Video, SERVER, PHONE),
            flow("ping", FlowKind::Ping, LAPTOP, SERVER),
            flow("bulk", FlowKind::Tcp, SERVER, LAPTOP),
        ],
    }
}

pub fn air() -> AirInfo {
    let dsss = [DsssRate::Mbps1, DsssRate::Mbps2, DsssRate::Mbps5_5, DsssRate::Mbps11]
        .map(|rate| Rate::Dsss { rate, preamble: Preamble::Long });
    let ofdm = [
        OfdmRate::Mbps6,
        OfdmRate::Mbps9,
        OfdmRate::Mbps12,
        OfdmRate::Mbps18,
        OfdmRate::Mbps24,
        OfdmRate::Mbps36,
        OfdmRate::Mbps48,
        OfdmRate::Mbps54,
    ]
    .map(Rate::ErpOfdm);
    let ht = (0..8).map(|mcs| Rate::Ht {
        mcs,
        width: ChannelWidth::Mhz20,
        guard_interval: GuardInterval::Short,
    });
    AirInfo {
        band: Band::Ghz2_4,
        channel: 6,
        channels: Vec::new(),
        ssid: "lasthop test".into(),
        beacon_interval: Duration::from_micros(102_400),
        basic_rates: dsss.to_vec(),
        rates: dsss.into_iter().chain(ofdm).chain(ht).collect(),
        colour: 0,
        links: Vec::new(),
        devices: Vec::new(),
        roams: false,
        networks: Vec::new(),
        amsdu: true,
    }
}

/// Selects all files that a recorder can write.
pub fn files() -> Files {
    let nodes = Some(NodeFrames::MadeUp);
    Files { events: true, series: true, air: Some(air()), nodes, cut: false }
}

pub fn recording() -> Recording {
    Recording {
        warmup: Duration::ZERO,
        duration: Duration::from_millis(100),
        interval: Duration::from_millis(10),
        watch_air: false,
    }
}

pub fn info() -> RunInfo {
    RunInfo {
        scenario: "scene".into(),
        seed: 1,
        run: 0,
        duration: Duration::from_millis(100),
        wall_s: 0.0,
        lateness_max: None,
        network: NetworkConfig { nodes: Vec::new(), cell: None, wires: Vec::new() },
        set: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Writes what `play` reports to files in `path`, and returns the summary.
pub fn record(path: &Path, files: &Files, play: impl FnOnce(&mut Recorder)) -> RunDocument {
    let mut directory = OutputDir::create(path).expect("a directory can be made");
    let mut recorder = Recorder::with_files(names(), recording(), files, &mut directory)
        .expect("files can be made");
    play(&mut recorder);
    let document =
        recorder.finish(&info(), &NetworkStats::default()).expect("the disk is not full");
    directory.commit().expect("files can be renamed");
    document
}

pub fn packet(tag: u64, bytes: u16, flow: u16, source: u16, destination: u16) -> Packet {
    let mut packet = Packet::new(tag, bytes, Instant::from_nanos(1_000 * tag));
    packet.flow = FlowId(flow);
    packet.source = NodeId(source);
    packet.destination = NodeId(destination);
    packet
}

/// A QoS data frame with `packets`, of the length that they require.
pub fn qos_data(sequence: u16, packets: Vec<Packet>, amsdu: bool) -> Frame {
    let body: usize = if amsdu {
        let subframe = |packet: &Packet| 14 + 8 + usize::from(packet.bytes);
        let last = packets.len() - 1;
        packets
            .iter()
            .enumerate()
            .map(|(i, p)| if i == last { subframe(p) } else { subframe(p).next_multiple_of(4) })
            .sum()
    } else {
        8 + usize::from(packets[0].bytes)
    };
    let access_category = packets[0].access_category;
    Frame {
        kind: FrameKind::QosData { access_category, amsdu },
        bytes: (26 + body + 4) as u16,
        sequence: SeqNo12::new(sequence),
        retry: false,
        duration_us: 48,
        received: true,
        more_data: false,
        power_management: false,
        end_of_service_period: false,
        packets: (&*packets).into(),
        announced: Vec::new(),
        triggered: Vec::new(),
        queue_size: None,
        acknowledged: Vec::new(),
    }
}

/// A frame of this kind without packets.
pub fn plain(kind: FrameKind, bytes: u16) -> Frame {
    Frame {
        kind,
        bytes,
        sequence: SeqNo12::new(7),
        retry: false,
        duration_us: 0,
        received: true,
        more_data: false,
        power_management: false,
        end_of_service_period: false,
        packets: FramePackets::None,
        announced: Vec::new(),
        triggered: Vec::new(),
        queue_size: None,
        acknowledged: Vec::new(),
    }
}

pub fn ppdu(at_us: u64, from: u16, to: Address, rate: Rate, frames: Vec<Frame>) -> Ppdu {
    let bytes: u32 = frames.iter().map(|frame| u32::from(frame.bytes)).sum();
    let start = Instant::ZERO + Duration::from_micros(at_us);
    Ppdu {
        start,
        end: start + rate.ppdu_duration(bytes, Band::Ghz2_4),
        transmitter: StationId(from),
        psdus: vec![Psdu {
            receiver: to,
            rate,
            ru: None,
            bytes,
            aggregated: frames.len() > 1,
            frames,
            signal: Dbm(-52.4),
            collided: false,
        }],
    }
}

const BEACON: FrameKind =
    FrameKind::Beacon { dtim_count: 0, dtim_period: 2, group_traffic: false, switch: None };

/// The frames on the air: 20 PPDUs with 22 MPDUs.
pub fn ppdus() -> Vec<Ppdu> {
    let ap = Address::Station(StationId(AP));
    let laptop = Address::Station(StationId(LAPTOP));
    let phone = Address::Station(StationId(PHONE));
    let start = SeqNo12::new(100);
    let up = |tag| packet(tag, 1_500, 0, LAPTOP, SERVER);
    let mut video = packet(20, 1_000, 1, SERVER, PHONE);
    video.access_category = AccessCategory::Video;
    video.ecn_capable = true;
    let second = Packet { tag: 21, bytes: 333, ..video };
    let mut lost = qos_data(101, vec![up(11)], false);
    lost.received = false;
    let mut again = qos_data(101, vec![up(11)], false);
    again.retry = true;
    let arp = packet(30, 46, FlowId::NONE.0, LAPTOP, Packet::EVERYWHERE.0);
    let group = Frame { kind: FrameKind::Data, ..qos_data(9, vec![arp], false) };
    let group = Frame { bytes: group.bytes - 2, ..group };
    let legacy = Frame {
        kind: FrameKind::Data,
        bytes: 24 + 8 + 84 + 4,
        ..qos_data(8, vec![packet(40, 84, 2, LAPTOP, SERVER)], false)
    };
    let window = 64;
    let mut collided = ppdu(
        40_000,
        PHONE,
        ap,
        SLOW,
        vec![plain(
            FrameKind::QosNull {
                power_management: true,
                access_category: AccessCategory::BestEffort,
            },
            30,
        )],
    );
    collided.psdus[0].collided = true;
    collided.psdus[0].frames[0].received = false;
    vec![
        ppdu(0, AP, Address::Group, SLOW, vec![plain(BEACON, 100)]),
        ppdu(
            2_000,
            LAPTOP,
            ap,
            BASIC,
            vec![plain(FrameKind::AddbaRequest { tid: 0, window, start }, 37)],
        ),
        ppdu(2_100, AP, laptop, BASIC, vec![plain(FrameKind::Ack, 14)]),
        ppdu(
            2_200,
            AP,
            laptop,
            BASIC,
            vec![plain(FrameKind::AddbaResponse { tid: 0, window }, 37)],
        ),
        ppdu(2_300, LAPTOP, ap, BASIC, vec![plain(FrameKind::Ack, 14)]),
        ppdu(3_000, LAPTOP, ap, BASIC, vec![plain(FrameKind::Rts, 20)]),
        ppdu(3_100, AP, laptop, BASIC, vec![plain(FrameKind::Cts, 14)]),
        ppdu(
            3_200,
            LAPTOP,
            ap,
            HT,
            vec![qos_data(100, vec![up(10)], false), lost, qos_data(102, vec![up(12)], false)],
        ),
        ppdu(
            4_000,
            AP,
            laptop,
            BASIC,
            vec![plain(
                FrameKind::BlockAck {
                    tid: 0,
                    start,
                    bitmap: [0, 2].into_iter().collect(),
                    bits: 64,
                },
                32,
            )],
        ),
        ppdu(5_000, LAPTOP, ap, HT, vec![again]),
        ppdu(6_000, AP, laptop, BASIC, vec![plain(FrameKind::Ack, 14)]),
        ppdu(7_000, AP, phone, HT, vec![qos_data(5, vec![video, second], true)]),
        ppdu(8_000, PHONE, ap, BASIC, vec![plain(FrameKind::Ack, 14)]),
        ppdu(
            9_000,
            LAPTOP,
            ap,
            BASIC,
            vec![plain(FrameKind::BlockAckRequest { tid: 0, start: start.plus(3) }, 24)],
        ),
        ppdu(
            9_100,
            AP,
            laptop,
            BASIC,
            vec![plain(
                FrameKind::BlockAck {
                    tid: 0,
                    start: start.plus(3),
                    bitmap: Bitmap::EMPTY,
                    bits: 64,
                },
                32,
            )],
        ),
        ppdu(10_000, AP, Address::Group, SLOW, vec![group]),
        ppdu(20_000, LAPTOP, ap, SLOW, vec![legacy]),
        ppdu(
            30_000,
            LAPTOP,
            ap,
            BASIC,
            vec![plain(FrameKind::Null { power_management: true }, 28)],
        ),
        collided,
        ppdu(50_000, LAPTOP, ap, BASIC, vec![plain(FrameKind::Delba { tid: 0 }, 34)]),
    ]
}

/// Reports the PPDUs, and everything else that is reported to a sink.
pub fn play(recorder: &mut Recorder) {
    assert!(recorder.wants_events());
    for ppdu in ppdus() {
        recorder.event(&Event::Ppdu(ppdu), &|_| None);
    }
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    for (tag, flow, source, destination) in [
        (10, 0, LAPTOP, SERVER),
        (20, 1, SERVER, PHONE),
        (40, 2, LAPTOP, SERVER),
        (41, 2, SERVER, LAPTOP),
    ] {
        let mut packet = packet(tag, 1_000, flow, source, destination);
        packet.created = at(51);
        recorder.sent(at(51), &packet);
        packet.parts.queue = Duration::from_millis(4);
        recorder.arrived(at(55), NodeId(destination), &packet);
    }
    let given_up = packet(11, 1_000, 0, LAPTOP, SERVER);
    recorder.sent(at(56), &given_up);
    recorder.dropped(at(57), NodeId(LAPTOP), &given_up, DropReason::RetryLimit);
    recorder.event(
        &Event::Queued { at: at(58), station: StationId(1), packet: given_up, queue_packets: 3 },
        &|_| None,
    );
    recorder.round_trip(at(59), FlowId(2), Duration::from_millis(8));
    let sample = TcpSample {
        cwnd_packets: 10,
        smoothed_rtt: Duration::from_millis(9),
        ..TcpSample::default()
    };
    recorder.tcp(at(60), FlowId(3), &sample);
    recorder.queue(at(61), NodeId(LAPTOP), 3);
    recorder.frame(at(62), NodeId(AP), FrameDirection::Sent, &[0xff; 60]);
}
