//! Benchmarks of the recorder, in packets per second: without files, where the
//! simulator has 100 ns per packet, and with `events.parquet`. Captures and series are
//! not measured.

#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lasthop_hosts::Sink;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_trace::{Files, FlowKind, FlowName, Names, NodeName, OutputDir, Recorder, Recording};
use lasthop_units::{Duration, Instant, MacAddr};

const FLOWS: u16 = 4;
const PACKETS: u64 = 100_000;

fn names() -> Names {
    let node = |index, name: &str| NodeName { name: name.into(), address: MacAddr::local(index) };
    let flow = |index| FlowName {
        name: format!("flow-{index}"),
        kind: FlowKind::Udp,
        table: None,
        saturated: false,
        experience: None,
        from: NodeId(1),
        to: NodeId(0),
        start: Instant::ZERO,
        stop: None,
    };
    Names {
        francs: Vec::new(),
        hosts: Default::default(),
        nodes: vec![node(0, "ap"), node(1, "sta")],
        neighbours: Vec::new(),
        stations: vec![NodeId(0), NodeId(1)],
        access_points: Vec::new(),
        links: Vec::new(),
        link_of: Vec::new(),
        roams: false,
        flows: (0..FLOWS).map(flow).collect(),
    }
}

fn recording() -> Recording {
    Recording {
        warmup: Duration::ZERO,
        duration: Duration::from_secs(3_600),
        interval: Duration::from_millis(100),
        watch_air: false,
    }
}

/// Packets 10 us apart with delays of 1 to 200 ms, as behind a full queue.
fn packets() -> Vec<(Instant, Packet)> {
    (0..PACKETS)
        .map(|index| {
            let now =
                Instant::ZERO + Duration::from_millis(250) + Duration::from_micros(10 * index);
            let delay = Duration::from_nanos(1_000_000 + index * 7_919_999 % 199_000_000);
            let mut packet = Packet::new(index, 1_500, now.saturating_sub(delay));
            packet.flow = FlowId((index % u64::from(FLOWS)) as u16);
            packet.source = NodeId(1);
            packet.parts.queue = delay;
            (now, packet)
        })
        .collect()
}

fn recorder(c: &mut Criterion) {
    let packets = packets();
    let mut group = c.benchmark_group("recorder");
    group.throughput(Throughput::Elements(PACKETS));
    group.bench_function("arrived", |b| {
        let mut recorder = Recorder::new(names(), recording());
        b.iter(|| {
            for (now, packet) in &packets {
                recorder.arrived(*now, NodeId(0), packet);
            }
        });
    });
    group.bench_function("sent and arrived", |b| {
        let mut recorder = Recorder::new(names(), recording());
        b.iter(|| {
            for (now, packet) in &packets {
                recorder.sent(*now, packet);
                recorder.arrived(*now, NodeId(0), packet);
            }
        });
    });
    group.sample_size(10);
    group.bench_function("arrived, with events.parquet", |b| {
        let path = std::env::temp_dir().join(format!("lasthop-bench-{}", std::process::id()));
        let mut directory = OutputDir::create(path).expect("a directory can be made");
        let files = Files { events: true, ..Files::default() };
        let mut recorder = Recorder::with_files(names(), recording(), &files, &mut directory)
            .expect("a file can be made");
        b.iter(|| {
            for (now, packet) in &packets {
                recorder.arrived(*now, NodeId(0), packet);
            }
        });
        assert!(!recorder.failed());
    });
    group.finish();
}

criterion_group!(benches, recorder);
criterion_main!(benches);
