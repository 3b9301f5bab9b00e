//! Tests of summaries: runs reported call by call, compared with values calculated by
//! hand. Delays are in microseconds or milliseconds; the warm-up of the runs is one
//! second.

use crate::*;
use lasthop_hosts::{Sink, TcpSample};
use lasthop_net::cable::CableConfig;
use lasthop_net::network::{NetworkConfig, NetworkStats, NodeConfig, WireStats, WiredLink};
use lasthop_packet::queue::{DriverLimit, Limit, QueueConfig};
use lasthop_packet::{Absent, AccessCategory, DelayParts, DropReason, FlowId, NodeId, Packet};
use lasthop_units::{Bitrate, Bytes, Duration, Identity, Instant, MacAddr};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, Role, StationConfig};
use lasthop_wifi::phy::{Band, ChannelWidth, DsssRate, GuardInterval, Preamble, Rate, Standard};
use lasthop_wifi::stats::{LinkStats, StationStats};

fn names(kinds: &[FlowKind]) -> Names {
    let node = |index, name: &str| NodeName { name: name.into(), address: MacAddr::local(index) };
    Names {
        francs: Vec::new(),
        hosts: Default::default(),
        nodes: vec![node(0, "ap"), node(1, "sta")],
        neighbours: Vec::new(),
        stations: vec![NodeId(0), NodeId(1)],
        access_points: vec![lasthop_wifi::StationId(0); 2],
        links: Vec::new(),
        link_of: Vec::new(),
        roams: false,
        flows: kinds
            .iter()
            .map(|&kind| FlowName {
                name: kind.as_str().into(),
                kind,
                table: None,
                saturated: false,
                experience: None,
                from: NodeId(1),
                to: NodeId(0),
                start: Instant::ZERO,
                stop: None,
            })
            .collect(),
    }
}

fn recorder(kinds: &[FlowKind]) -> Recorder {
    let recording = Recording {
        warmup: Duration::from_secs(1),
        duration: Duration::from_secs(3),
        interval: Duration::from_millis(100),
        watch_air: false,
    };
    Recorder::new(names(kinds), recording)
}

fn info() -> RunInfo {
    RunInfo {
        scenario: "test".into(),
        seed: 7,
        run: 0,
        duration: Duration::from_secs(3),
        wall_s: 0.25,
        lateness_max: None,
        network: NetworkConfig { nodes: Vec::new(), cell: None, wires: Vec::new() },
        set: Vec::new(),
        warnings: Vec::new(),
    }
}

fn packet(now: Instant, delay: Duration) -> Packet {
    let mut packet = Packet::new(0, 1_028, Instant::from_nanos(now.as_nanos() - delay.as_nanos()));
    packet.flow = FlowId(0);
    packet.source = NodeId(1);
    packet
}

/// One packet per millisecond for three seconds; the delay of each is its index in us.
fn three_seconds(recorder: &mut Recorder) {
    for index in 1..3_000u64 {
        let now = Instant::ZERO + Duration::from_millis(index);
        let delay = Duration::from_micros(index);
        let mut packet = packet(now, delay);
        recorder.sent(packet.created, &packet);
        let fifth = delay / 5;
        packet.parts = DelayParts {
            queue: fifth,
            absent: Absent::new(fifth / 2, fifth - fifth / 2 - fifth / 9, fifth / 9),
            contention: fifth,
            retries: fifth / 3,
            air: fifth - fifth / 3,
            reorder: Duration::ZERO,
            wire: delay - fifth * 4,
        };
        if index % 10 == 0 {
            recorder.dropped(now, NodeId(1), &packet, DropReason::RetryLimit);
        } else {
            recorder.arrived(now, NodeId(0), &packet);
        }
        // Packets in the reverse direction are not counted.
        packet.source = NodeId(0);
        recorder.arrived(now, NodeId(1), &packet);
    }
}

#[test]
fn goodput_counts_payload_after_the_warm_up() {
    let mut recorder = recorder(&[FlowKind::Udp]);
    three_seconds(&mut recorder);
    let document = recorder.finish(&info(), &NetworkStats::default()).expect("no files");
    let flow = &document.flows["udp"];
    // 1 800 packets of 1 000 bytes in 2 s.
    assert_eq!(flow.goodput_mbps, Some(7.2));
    // Of 2 000 packets; the first that arrived after the warm-up left before.
    let offered = flow.offered_mbps.expect("it is UDP");
    assert!((offered - 8.0).abs() < 0.02, "{offered}");
    assert_eq!((flow.packets_sent, flow.packets_received, flow.packets_lost), (2_999, 2_700, 299));
    assert_eq!(flow.packets_lost_by_reason.get(&LossReason::RetryLimit), Some(&299));
    let delay = flow.one_way_delay_ms.expect("packets arrived");
    // Indices 1 000 to 2 999 without multiples of ten: the mean is 2 000, almost
    // exactly.
    assert!((delay.mean - 2.0).abs() < 0.001, "{delay:?}");
    assert!((delay.p50 - 2.0).abs() < 0.002, "{delay:?}");
    assert!((delay.p95 - 2.9).abs() < 0.003, "{delay:?}");
    assert_eq!(delay.max, 2.999);
}

#[test]
fn the_parts_add_up_to_the_mean_delay() {
    let mut recorder = recorder(&[FlowKind::Udp]);
    three_seconds(&mut recorder);
    let document = recorder.finish(&info(), &NetworkStats::default()).expect("no files");
    let flow = &document.flows["udp"];
    let parts = flow.delay_parts_ms.expect("packets arrived");
    let sum = |parts: &DelayPartsSummary| {
        let absent = parts.away + parts.asleep + parts.roam;
        let channel = parts.contention + parts.retries + parts.air;
        parts.queue + absent + channel + parts.reorder + parts.wire
    };
    assert!((sum(&parts) - flow.one_way_delay_ms.expect("as above").mean).abs() < 6e-6);
    assert_eq!(parts.other, None);
    // The slowest 18 of 1 800: up to 2.999 ms.
    let slowest = flow.delay_parts_slowest_ms.expect("packets arrived");
    assert!((sum(&slowest) - 2.9895).abs() < 0.01, "{slowest:?}");
}

#[test]
fn time_in_no_part_is_not_hidden() {
    let mut recorder = recorder(&[FlowKind::Udp]);
    let now = Instant::ZERO + Duration::from_secs(2);
    let mut packet = packet(now, Duration::from_millis(5));
    packet.parts.queue = Duration::from_millis(3);
    recorder.arrived(now, NodeId(0), &packet);
    let document = recorder.finish(&info(), &NetworkStats::default()).expect("no files");
    let parts = document.flows["udp"].delay_parts_ms.expect("a packet arrived");
    assert_eq!((parts.queue, parts.other), (3.0, Some(2.0)));
}

#[test]
fn tcp_goodput_is_what_the_sender_saw_acknowledged() {
    let mut recorder = recorder(&[FlowKind::Tcp]);
    for tenth in 0..=30u64 {
        let now = Instant::ZERO + Duration::from_millis(100 * tenth);
        let sample = TcpSample {
            cwnd_packets: 10 + tenth as u32,
            ssthresh_packets: None,
            smoothed_rtt: Duration::from_millis(20),
            latest_rtt: Duration::from_millis(10 + tenth),
            retransmissions: tenth / 10,
            bytes_acked: tenth * tenth * 10_000,
            bytes_in_flight: 0,
            bytes_written: Some(tenth * tenth * 10_000 + tenth * 1_000),
        };
        recorder.tcp(now, FlowId(0), &sample);
    }
    let document = recorder.finish(&info(), &NetworkStats::default()).expect("no files");
    let flow = &document.flows["tcp"];
    // (30^2 - 10^2) * 10 kB acknowledged in 2 s.
    assert_eq!(flow.goodput_mbps, Some(32.0));
    // 20 kB more entered the socket.
    assert_eq!(flow.written_mbps, Some(32.08));
    assert!(document.flow_groups.is_empty());
    assert_eq!(flow.retransmissions, Some(3));
    let window = flow.cwnd_packets.expect("it was read");
    assert_eq!((window.mean, window.max), (30.5, 40));
    assert_eq!(flow.rtt_ms.expect("it was read").max, 40.0);
}

/// Sums, Jain's index ((10 + 30)^2 / (2 (10^2 + 30^2)) = 0.8) and the percentiles of all round
/// trips.
#[test]
fn flows_of_one_table_are_summed() {
    let mut names = names(&[FlowKind::Tcp, FlowKind::Tcp, FlowKind::Ping]);
    for (index, name) in names.flows[..2].iter_mut().enumerate() {
        (name.name, name.table) = (format!("tcp{index}"), Some("tcp".into()));
    }
    let recording = Recording {
        warmup: Duration::from_secs(1),
        duration: Duration::from_secs(3),
        interval: Duration::from_millis(100),
        watch_air: false,
    };
    let mut recorder = Recorder::new(names, recording);
    for tenth in 0..=30u64 {
        let now = Instant::ZERO + Duration::from_millis(100 * tenth);
        for (id, rate) in [(0, 10), (1, 30)] {
            // Mb/s are 12 500 bytes in 100 ms.
            let bytes_acked = tenth * rate * 12_500;
            recorder.tcp(now, FlowId(id), &TcpSample { bytes_acked, ..TcpSample::default() });
            recorder.round_trip(now, FlowId(id), Duration::from_millis(rate));
        }
        recorder.round_trip(now, FlowId(2), Duration::from_millis(500));
    }
    let document = recorder.finish(&info(), &NetworkStats::default()).expect("no files");
    assert_eq!(document.flow_groups.len(), 1);
    let group = &document.flow_groups["tcp"];
    assert_eq!((group.flows, group.goodput_mbps, group.written_mbps), (2, Some(40.0), None));
    assert_eq!(group.fairness, Some(0.8));
    let rtt = group.rtt_ms.expect("it was measured");
    assert_eq!((rtt.mean, rtt.max), (20.0, 30.0));
    assert!((rtt.p50 - 10.0).abs() < 0.01 && (rtt.p95 - 30.0).abs() < 0.02, "{rtt:?}");
}

#[test]
fn keys_that_do_not_apply_are_absent() {
    let mut recorder = recorder(&[FlowKind::Udp]);
    three_seconds(&mut recorder);
    let json = recorder.finish(&info(), &NetworkStats::default()).expect("no files").to_json();
    for absent in ["rtt_ms", "cwnd_packets", "retransmissions", "emulation", "null"] {
        assert!(!json.contains(absent), "{absent}: {json}");
    }
}

#[test]
fn two_runs_give_the_same_bytes() {
    let json = |wall_s| {
        let mut recorder = recorder(&[FlowKind::Udp, FlowKind::Ping]);
        three_seconds(&mut recorder);
        recorder.round_trip(
            Instant::ZERO + Duration::from_secs(2),
            FlowId(1),
            Duration::from_millis(3),
        );
        recorder
            .finish(&RunInfo { wall_s, ..info() }, &NetworkStats::default())
            .expect("no files")
            .to_json()
    };
    assert_eq!(json(0.5), json(0.5));
    let without_wall = |text: String| {
        text.lines().filter(|line| !line.contains("wall_s")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_wall(json(0.5)), without_wall(json(1.5)));
}

#[test]
fn queues_and_bounds_are_those_of_the_configuration() {
    const RATE: Rate =
        Rate::Ht { mcs: 7, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
    let station = |role, name: &str| {
        let mut station = StationConfig::fixed(role, Identity::from_name(name), RATE);
        station.address = MacAddr::local(name.len() as u32);
        station
    };
    let mut deep = station(Role::Station, "sta");
    deep.queue = QueueConfig::DropTail { limit: Limit::Bytes(Bytes::new(64_000)) };
    deep.driver_queue = DriverLimit::Packets(7);
    deep.block_ack.window = 16;
    deep.access[AccessCategory::BestEffort.index()].txop_limit = Duration::from_micros(1_504);
    let stations = vec![station(Role::AccessPoint, "ap"), deep];
    let node = |index: u16| NodeConfig { station: Some(StationId(index)), ..NodeConfig::default() };
    let slow = CableConfig { rate: Some(Bitrate::from_mbps(10)), ..CableConfig::default() };
    let network = NetworkConfig {
        nodes: vec![node(0), node(1)],
        cell: Some(CellConfig::new(Standard::Dot11n, Band::Ghz5, stations, Vec::new())),
        wires: vec![WiredLink {
            ends: [NodeId(1), NodeId(0)],
            directions: [CableConfig::default(), slow],
        }],
    };
    let counted = |node| (NodeId(node), StationStats::default());
    let waited = Duration::from_millis(9);
    let waits = WireStats { packets: 5, lost: 1, waited, ..WireStats::default() };
    let stats = NetworkStats {
        stations: vec![counted(0), counted(1)],
        wires: vec![(NodeId(0), NodeId(1), waits)],
        ..Default::default()
    };
    let info = RunInfo { network, ..info() };
    let document = recorder(&[FlowKind::Tcp]).finish(&info, &stats).expect("no files");
    let fair = document.nodes["ap"].queue.expect("it is configured");
    assert_eq!(
        (fair.kind, fair.limit_packets, fair.limit_bytes, fair.target_ms),
        (QueueKind::FqCodel, Some(8_192), Some(4 << 20), Some(20.0))
    );
    let deep = document.nodes["sta"].queue.expect("it is configured");
    assert_eq!(
        (deep.kind, deep.limit_packets, deep.limit_bytes, deep.target_ms),
        (QueueKind::DropTail, None, Some(64_000), None)
    );
    let wire = document.wires["ap->sta"];
    assert_eq!(wire.queue_ms, Some(1.5), "9 ms of five packets that came and one that was lost");
    let bounds = document.nodes["sta"].aggregation.expect("802.11n with QoS");
    assert_eq!(
        bounds,
        AggregationSummary {
            frames_max: 64,
            bytes_max: 65_535,
            duration_max_ms: 5.484,
            block_ack_window: 16,
            txop_limit_ms: Some(1.504),
            driver_packets: Some(7),
        }
    );
    assert_eq!(document.wires["ap->sta"].rate_mbps, Some(10.0));
    let flow = &document.flows["tcp"];
    assert_eq!((flow.sender.as_deref(), flow.receiver.as_deref()), (Some("sta"), Some("ap")));
    assert_eq!((flow.saturated, flow.offered_mbps), (false, None), "TCP offers what fits");
}

/// The share of the time of a station that transmitted for 750 ms.
fn airtime_of_a_run(duration: Duration) -> f64 {
    let station = StationStats { airtime: Duration::from_millis(750), ..Default::default() };
    let stats = NetworkStats { stations: vec![(NodeId(1), station)], ..Default::default() };
    let info = RunInfo { duration, ..info() };
    let document = recorder(&[]).finish(&info, &stats).expect("no files");
    document.nodes["sta"].airtime_fraction
}

#[test]
fn counters_cover_the_time_after_the_warm_up_or_all_of_a_run_that_ends_before() {
    assert_eq!(airtime_of_a_run(Duration::from_secs(3)), 0.375);
    assert_eq!(airtime_of_a_run(Duration::from_millis(2_500)), 0.5);
    assert_eq!(airtime_of_a_run(Duration::from_secs(1)), 0.75);
    assert_eq!(airtime_of_a_run(Duration::ZERO), 0.0);
}

#[test]
fn nodes_and_links_are_what_the_machines_counted() {
    let mut station = StationStats {
        queue_drops: 4,
        airtime: Duration::from_millis(1_500),
        pseudo_retry_outs: 7,
        pseudo_retry_outs_ignored: 6,
        absences: 2,
        away: Duration::from_millis(750),
        nulls: 9,
        nulls_given_up: 1,
        ps_polls: 3,
        triggers: 8,
        off_channel_drops: 5,
        ..Default::default()
    };
    station.queue_packets.add(3, 2_000_000_000);
    station.queue_packets.add(9, 1_000_000_000);
    let mut link = LinkStats { ppdus: 3, mpdus: 10, mpdus_failed: 1, ..Default::default() };
    link.mpdus_per_ppdu.add(1, 1);
    link.mpdus_per_ppdu.add(8, 2);
    for rate in [DsssRate::Mbps11, DsssRate::Mbps11, DsssRate::Mbps5_5] {
        link.count_rate(Rate::Dsss { rate, preamble: Preamble::Long });
    }
    let document = recorder(&[])
        .finish(
            &info(),
            &NetworkStats {
                stations: vec![(NodeId(1), station)],
                links: vec![
                    (NodeId(1), NodeId(0), link),
                    (NodeId(0), NodeId(1), LinkStats::default()),
                ],
                wires: vec![(
                    NodeId(0),
                    NodeId(1),
                    WireStats {
                        packets: 5,
                        queue_drops: 2,
                        lost: 1,
                        waited: Duration::from_millis(9),
                    },
                )],
                ..NetworkStats::default()
            },
        )
        .expect("no files");
    let node = &document.nodes["sta"];
    assert_eq!((node.queue_drops, node.airtime_fraction), (4, 0.75));
    assert_eq!(
        node.pseudo_retry_outs.map(|given_up| (given_up.mpdus, given_up.ignored)),
        Some((7, 6))
    );
    let absences = AbsenceSummary {
        count: 2,
        time_fraction: 0.375,
        nulls: 9,
        nulls_given_up: 1,
        ps_polls: 3,
        triggers: 8,
        power_save: None,
        wake_interval_ms: None,
        wake_duration_ms: None,
        beacons_missed: 0,
        packets_given_up: 5,
    };
    assert_eq!(node.absences, Some(absences));
    assert_eq!(
        node.queue_packets.map(|queue| (queue.mean, queue.p95, queue.max)),
        Some((5.0, 9, 9))
    );
    let wire = document.wires["ap->sta"];
    assert_eq!((wire.packets, wire.queue_drops, wire.packets_lost), (5, 2, 1));
    assert_eq!(wire.queue_ms, None, "without a rate nothing waits");
    assert_eq!(document.links.len(), 1);
    let link = &document.links["sta->ap"];
    assert_eq!(link.mpdu_error_rate, Some(0.1));
    let rate = link.data_rate_mbps.expect("PPDUs were sent");
    assert_eq!((rate.mean, rate.min, rate.max), (9.166_667, 5.5, 11.0));
    assert_eq!(link.mpdus_per_ppdu.map(|count| (count.p50, count.max)), Some((8, 8)));
}

#[test]
fn lateness_is_reported_and_judged() {
    let emulation = |limit_us| {
        let mut recorder = recorder(&[]);
        for us in 1..=10_000u64 {
            recorder.lateness(Instant::from_nanos(us), Duration::from_micros(us));
        }
        let limit = Some(Duration::from_micros(limit_us));
        let info = RunInfo { lateness_max: limit, ..info() };
        let document = recorder.finish(&info, &NetworkStats::default()).expect("no files");
        document.emulation.expect("it was emulated")
    };
    // The 9 990th of 10 000 deliveries was 9.99 ms late, within the precision of a
    // histogram.
    let (kept, missed) = (emulation(9_996), emulation(9_980));
    assert_eq!((kept.deliveries, kept.late, missed.late), (10_000, false, true));
    let lateness = kept.lateness_us.expect("there were deliveries");
    assert!((lateness.p99 - 9_900.0).abs() < 5.0 && lateness.max == 10_000.0, "{lateness:?}");
}

#[test]
fn a_snapshot_is_of_the_last_interval() {
    let mut recorder = recorder(&[FlowKind::Udp]);
    three_seconds(&mut recorder);
    let snapshot = recorder.snapshot();
    assert_eq!(snapshot.at, Instant::ZERO + Duration::from_millis(2_900));
    let flow = &snapshot.flows[0];
    assert_eq!((flow.received, flow.lost), (90, 10));
    // 90 packets of 1 000 bytes in 100 ms.
    assert!((snapshot.throughput_mbps(flow) - 7.2).abs() < 1e-12);
}

#[test]
fn the_schema_describes_every_key() {
    let schema = run_schema();
    let text = schema.to_string();
    for key in ["goodput_mbps", "one_way_delay_ms", "queue_packets", "mpdus_per_ppdu", "p99_9"] {
        assert!(text.contains(key), "{key}");
    }
    let described = &schema["$defs"]["FlowSummary"]["properties"]["goodput_mbps"]["description"];
    assert!(described.as_str().is_some_and(|text| text.contains("Mb/s")), "{described}");
}

/// Collects every key of a document, as `flows.*.goodput_mbps`.
fn keys(prefix: &str, value: &serde_json::Value, named: bool, out: &mut Vec<String>) {
    let Some(object) = value.as_object() else { return };
    for (key, value) in object {
        let key = if named { "*" } else { key };
        let path = format!("{prefix}{key}");
        let named = !named && prefix.is_empty() && ["flows", "nodes", "links"].contains(&key);
        out.push(path.clone());
        keys(&format!("{path}."), value, named, out);
    }
}

#[test]
fn the_keys_are_those_of_the_contract() {
    let mut recorder = recorder(&[FlowKind::Udp]);
    three_seconds(&mut recorder);
    let now = Instant::ZERO + Duration::from_secs(2);
    recorder.round_trip(now, FlowId(0), Duration::from_millis(3));
    recorder.tcp(now, FlowId(0), &TcpSample { cwnd_packets: 10, ..TcpSample::default() });
    recorder.lateness(now, Duration::from_micros(30));
    let mut station = StationStats::default();
    station.queue_packets.add(3, 1);
    let mut link = LinkStats { ppdus: 1, mpdus: 1, ..Default::default() };
    link.mpdus_per_ppdu.add(1, 1);
    link.count_rate(Rate::Dsss { rate: DsssRate::Mbps11, preamble: Preamble::Long });
    let document = recorder
        .finish(
            &RunInfo { lateness_max: Some(Duration::from_millis(1)), ..info() },
            &NetworkStats {
                stations: vec![(NodeId(1), station)],
                links: vec![(NodeId(1), NodeId(0), link)],
                ..NetworkStats::default()
            },
        )
        .expect("no files");
    let json = document.to_json();
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let mut found = Vec::new();
    keys("", &value, false, &mut found);
    let contract = [
        "scenario",
        "seed",
        "run",
        "duration_s",
        "wall_s",
        "flows.*.kind",
        "flows.*.goodput_mbps",
        "flows.*.rtt_ms.mean",
        "flows.*.rtt_ms.p50",
        "flows.*.rtt_ms.p95",
        "flows.*.rtt_ms.p99",
        "flows.*.rtt_ms.max",
        "flows.*.one_way_delay_ms.mean",
        "flows.*.one_way_delay_ms.p50",
        "flows.*.one_way_delay_ms.p95",
        "flows.*.one_way_delay_ms.p99",
        "flows.*.one_way_delay_ms.max",
        "flows.*.cwnd_packets.mean",
        "flows.*.cwnd_packets.p95",
        "flows.*.cwnd_packets.max",
        "flows.*.packets_sent",
        "flows.*.packets_received",
        "flows.*.packets_lost",
        "flows.*.retransmissions",
        "flows.*.delay_parts_ms.queue",
        "flows.*.delay_parts_ms.contention",
        "flows.*.delay_parts_ms.retries",
        "flows.*.delay_parts_ms.reorder",
        "flows.*.delay_parts_ms.air",
        "flows.*.delay_parts_ms.wire",
        "nodes.*.queue_packets.mean",
        "nodes.*.queue_packets.p95",
        "nodes.*.queue_packets.max",
        "nodes.*.queue_drops",
        "nodes.*.airtime_fraction",
        "links.*.data_rate_mbps.mean",
        "links.*.data_rate_mbps.min",
        "links.*.data_rate_mbps.max",
        "links.*.ppdus",
        "links.*.mpdus",
        "links.*.mpdus_per_ppdu.mean",
        "links.*.mpdus_per_ppdu.p50",
        "links.*.mpdus_per_ppdu.p95",
        "links.*.mpdus_per_ppdu.max",
        "links.*.mpdu_retries",
        "links.*.mpdus_lost",
        "links.*.collisions",
        "emulation.lateness_us.p50",
        "emulation.lateness_us.p99",
        "emulation.lateness_us.p99_9",
        "emulation.lateness_us.max",
        "emulation.late",
        "emulation.deliveries",
    ];
    for key in contract {
        assert!(found.iter().any(|found| found == key), "{key}: {json}");
    }
    assert_eq!(serde_json::from_str::<RunDocument>(&json).expect("it is a document"), document);
}
