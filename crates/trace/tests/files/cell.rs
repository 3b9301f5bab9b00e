//! A simulated cell on the air: the counters of its machine, the summary of the
//! recorder and the frames that tshark decodes must agree. Without tshark only the
//! first two are compared.

use crate::air::fields;
use crate::scene;
use lasthop_hosts::Sink;
use lasthop_net::network::NetworkStats;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_trace::{AirInfo, Files, OutputDir, Recorder};
use lasthop_units::{Db, Dbm, Duration, Identity, Instant, Machine, Meters, Seed};
use lasthop_wifi::cell::{Aggregation, Cell, CellConfig, Output, PairConfig, Role, StationConfig};
use lasthop_wifi::event::Event;
use lasthop_wifi::phy::{Band, ChannelWidth, Propagation, Standard};
use lasthop_wifi::{Address, StationId};

fn station(role: Role, number: u64) -> StationConfig {
    StationConfig {
        queue: QueueConfig::DropTail { limit: Limit::Packets(100) },
        rts_threshold: Some(3_000),
        aggregation: Aggregation {
            ampdu_bytes_max: 20_000,
            amsdu_bytes_max: 3_839,
            ..Aggregation::STANDARD
        },
        ..StationConfig::fixed(role, Identity::numbered(number), scene::HT)
    }
}

/// An access point and two stations at the limit of what MCS 7 reaches.
pub fn config() -> CellConfig {
    let propagation = Propagation::in_band(Band::Ghz2_4, ChannelWidth::Mhz20);
    let link = propagation.link(Dbm(16.0), Meters(33.0), Db(0.0));
    let pair = |(from, to)| PairConfig::steady(StationId(from), StationId(to), link);
    let pairs = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
    let stations =
        vec![station(Role::AccessPoint, 0), station(Role::Station, 1), station(Role::Station, 2)];
    let links = pairs.into_iter().map(pair).collect();
    CellConfig {
        record_events: true,
        ..CellConfig::new(Standard::Dot11n, Band::Ghz2_4, stations, links)
    }
}

/// Both stations keep 50 packets in their queues for `time`, then send the rest, so
/// that no frame is in flight at the end. Returns the lengths of the MPDUs in bytes.
fn run(cell: &mut Cell, recorder: &mut Recorder, time: Duration) -> Vec<u16> {
    let ap = Address::Station(StationId(scene::AP));
    let end = Instant::ZERO + time;
    let (mut now, mut tag) = (Instant::ZERO, 0);
    let mut lengths = Vec::new();
    loop {
        for sender in [scene::LAPTOP, scene::PHONE] {
            while now < end && cell.held_packets(StationId(sender)) < 50 {
                let mut packet = Packet::new(tag, 600 + 300 * (tag % 4) as u16, now);
                (packet.source, packet.destination) = (NodeId(sender), NodeId(scene::AP));
                packet.flow = FlowId(if sender == scene::LAPTOP { 0 } else { 4 });
                recorder.sent(now, &packet);
                cell.handle_packet(now, StationId(sender), ap, packet);
                tag += 1;
            }
        }
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { at, station, packet, .. } => {
                    recorder.arrived(at, NodeId(station.0), &packet);
                }
                Output::Dropped { station, packet, reason, .. } => {
                    recorder.dropped(now, NodeId(station.0), &packet, reason);
                }
                _ => {}
            }
        }
        while let Some(event) = cell.poll_event() {
            recorder.event(&event, &|_| None);
            if let Event::Ppdu(ppdu) = event {
                lengths.extend(ppdu.frames().map(|frame| frame.bytes));
            }
        }
        let held = |sender| cell.held_packets(StationId(sender));
        let (at, _) = cell.poll_timeout().expect("beacons go on for ever");
        if now >= end && held(scene::LAPTOP) + held(scene::PHONE) == 0 {
            return lengths;
        }
        now = at;
        cell.handle_timeout(now);
    }
}

#[test]
fn machine_recorder_and_tshark_agree() {
    let path = scene::scratch("cell");
    // An access point with one fixed rate, as its stations have. Beacons still have to
    // announce others.
    let air = AirInfo { rates: vec![scene::HT], ..scene::air() };
    let files = Files { events: true, air: Some(air), ..Files::default() };
    let mut directory = OutputDir::create(&*path).unwrap();
    let mut recorder =
        Recorder::with_files(scene::names(), scene::recording(), &files, &mut directory).unwrap();
    let mut cell = Cell::new(&config(), Seed::new(1, 0)).expect("a sound cell");
    let lengths = run(&mut cell, &mut recorder, scene::recording().duration);
    let ap = Address::Station(StationId(scene::AP));
    let links: Vec<_> = [scene::LAPTOP, scene::PHONE]
        .map(|node| {
            (NodeId(node), NodeId(scene::AP), cell.link_stats(StationId(node), ap).unwrap().clone())
        })
        .to_vec();
    let (mpdus, retries) = links
        .iter()
        .fold((0, 0), |(mpdus, retries), (_, _, l)| (mpdus + l.mpdus, retries + l.mpdu_retries));
    let stats = NetworkStats { links, ..NetworkStats::default() };
    let document = recorder.finish(&scene::info(), &stats).unwrap();
    directory.commit().unwrap();

    let flow = &document.flows["up"];
    let (delay, parts) = (flow.one_way_delay_ms.unwrap(), flow.delay_parts_ms.unwrap());
    let sum = parts.queue + parts.contention + parts.retries + parts.reorder + parts.air;
    assert!((sum - delay.mean).abs() < 6e-6 && parts.other.is_none(), "{delay:?} {parts:?}");
    assert!(retries > 0 && document.links["laptop->ap"].mpdus_per_ppdu.unwrap().max > 1);

    let selected = [
        "wlan.fc.type_subtype",
        "wlan.fc.retry",
        "wlan.fcs.status",
        "_ws.malformed",
        "ip.checksum.status",
        "frame.len",
        "radiotap.length",
    ];
    let Some(frames) = fields(&path.join("air.pcapng"), &selected) else { return };
    let data: Vec<_> = frames.iter().filter(|frame| frame[0] == "0x0028").collect();
    assert_eq!(data.len() as u64, mpdus);
    assert_eq!(data.iter().filter(|frame| frame[1] == "1").count() as u64, retries);
    assert_eq!(frames.len(), lengths.len());
    for (frame, length) in frames.iter().zip(lengths) {
        let [whole, header] = [5, 6].map(|column| frame[column].parse::<u16>().unwrap());
        // A beacon's elements may differ in length from those that the model assumes.
        assert!(whole - header == length || frame[0] == "0x0008", "{frame:?}");
        assert_eq!((frame[2].as_str(), frame[3].as_str()), ("1", ""), "{frame:?}");
        assert!(frame[4].split(',').all(|status| status.is_empty() || status == "1"));
    }
    // There are A-MSDUs too: more IP headers than MPDUs.
    let packets: usize = data.iter().map(|frame| frame[4].split(',').count()).sum();
    assert!(packets > data.len());
}
