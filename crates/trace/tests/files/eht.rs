//! Frames of 802.11be on one link as tshark decodes them: agreements about windows of 1 024 MPDUs,
//! and the length of their Block Acks. Skipped if tshark is not installed.

use crate::air::fields;
use crate::scene;
use lasthop_hosts::Sink;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_packet::{NodeId, Packet};
use lasthop_trace::{AirInfo, Files};
use lasthop_units::{Db, Duration, Identity, Instant, Machine, Seed};
use lasthop_wifi::cell::{Cell, CellConfig, PairConfig, Role, StationConfig};
use lasthop_wifi::event::Event;
use lasthop_wifi::phy::{Band, ChannelWidth, HeGuardInterval, Propagation, Rate, Standard};
use lasthop_wifi::{Address, StationId};

/// Packets in the queue: more than a window.
const PACKETS: u64 = 1_100;

#[test]
fn tshark_reads_windows_of_1024() {
    let width = ChannelWidth::Mhz320;
    let rate = Rate::eht(13, 4, width, HeGuardInterval::Ns800Ltf2x).expect("a rate");
    let link = Propagation::in_band(Band::Ghz6, width).link_with_snr(Db(60.0));
    let stations = [Role::AccessPoint, Role::Station].into_iter().zip(0..);
    let stations: Vec<StationConfig> = stations
        .map(|(role, number)| {
            let mut station = StationConfig {
                queue: QueueConfig::DropTail { limit: Limit::Packets(2_000) },
                ..StationConfig::fixed(role, Identity::numbered(number), rate)
            };
            station.block_ack.window = 1_024;
            station.aggregation.ampdu_frames_max = 1_024;
            station.aggregation.ampdu_bytes_max = 15_523_200;
            station
        })
        .collect();
    let pair = |(from, to)| PairConfig::steady(StationId(from), StationId(to), link);
    let links = [(0, 1), (1, 0)].into_iter().map(pair).collect();
    let config = CellConfig::new(Standard::Dot11be, Band::Ghz6, stations, links);
    let config = CellConfig { record_events: true, beacon_interval: None, ..config };

    let path = scene::scratch("eht");
    let air = AirInfo { band: Band::Ghz6, channel: 1, rates: vec![rate], ..scene::air() };
    let files = Files { events: true, air: Some(air), ..Files::default() };
    let mut longest = 0;
    scene::record(&path, &files, |recorder| {
        let mut cell = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
        for tag in 0..PACKETS {
            let source = NodeId(scene::SERVER);
            let packet = Packet { source, ..Packet::new(tag, 900, Instant::ZERO) };
            cell.handle_packet(Instant::ZERO, StationId(0), Address::Station(StationId(1)), packet);
        }
        let until = Instant::ZERO + Duration::from_millis(20);
        while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < until) {
            cell.handle_timeout(at);
            while let Some(event) = cell.poll_event() {
                if let Event::Ppdu(ppdu) = &event {
                    longest = longest.max(ppdu.psdus[0].frames.len());
                    recorder.event(&event, &|_| None);
                }
            }
        }
    });
    assert_eq!(longest, 1_024, "MPDUs in a PPDU");

    let selected = [
        "wlan.fc.type_subtype",
        "frame.len",
        "radiotap.length",
        "wlan.fcs.status",
        "wlan.fixed.action_code",
        "wlan.fixed.baparams.buffersize",
        "wlan.tag.number",
    ];
    let Some(lines) = fields(&path.join("air.pcapng"), &selected) else { return };
    let octets = |line: &[String]| {
        let number = |index: usize| line[index].parse::<u32>().expect("a number");
        number(1) - number(2)
    };
    assert!(lines.iter().all(|line| line[3] == "1"), "FCS");
    let of = |kind: &str| lines.iter().filter(move |line| line[0] == kind).collect::<Vec<_>>();
    let actions = of("0x000d");
    assert_eq!(actions.len(), 2, "request and response");
    for line in actions {
        // 24 octets of header, 9 of the body, 3 of the element, FCS.
        assert_eq!(
            (octets(line), line[5].as_str(), line[6].as_str()),
            (40, "0", "159"),
            "{line:?}"
        );
    }
    let answers = of("0x0019");
    assert!(!answers.is_empty());
    for line in answers {
        // 16 octets of header, 2 of control, 2 of the starting sequence control, bitmap, FCS.
        assert_eq!(octets(line), 16 + 2 + 2 + 1_024 / 8 + 4, "{line:?}");
    }
}
