//! OFDMA of 802.11be as tshark decodes it: Trigger frames with a Special User Info field, and their
//! lengths; Multi-STA Block Acks of 1 024 bits. Skipped if tshark is not installed.

use crate::air::fields;
use crate::scene;
use lasthop_hosts::Sink;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_packet::{NodeId, Packet};
use lasthop_trace::{AirInfo, Files};
use lasthop_units::{Db, Duration, Identity, Instant, Machine, Seed};
use lasthop_wifi::cell::{
    Cell, CellConfig, OfdmaAcknowledgement, OfdmaConfig, PairConfig, Role, StationConfig,
    UplinkConfig,
};
use lasthop_wifi::event::{Event, FrameKind, Ppdu};
use lasthop_wifi::phy::{Band, ChannelWidth, HeGuardInterval, Propagation, Rate, Standard};
use lasthop_wifi::{Address, StationId};

const GUARD_INTERVAL: HeGuardInterval = HeGuardInterval::Ns800Ltf2x;
const WIDTH: ChannelWidth = ChannelWidth::Mhz320;

/// An access point and four stations in 320 MHz.
fn config() -> CellConfig {
    let link = Propagation::in_band(Band::Ghz6, WIDTH).link_with_snr(Db(50.0));
    let rate = Rate::eht(9, 1, WIDTH, GUARD_INTERVAL).unwrap();
    let role = |number| if number == 0 { Role::AccessPoint } else { Role::Station };
    let mut stations: Vec<StationConfig> = (0..5_u64)
        .map(|number| {
            let mut station = StationConfig {
                queue: QueueConfig::DropTail { limit: Limit::Packets(500) },
                ..StationConfig::fixed(role(number), Identity::numbered(number), rate)
            };
            station.block_ack.window = 1_024;
            station
        })
        .collect();
    stations[0].ofdma = Some(OfdmaConfig {
        stations_max: 4,
        acknowledgement: OfdmaAcknowledgement::MuBlockAckRequest,
        guard_interval: GUARD_INTERVAL,
        uplink: Some(UplinkConfig {
            buffer_reports: Some(Duration::from_millis(2)),
            mu_edca: [None; 4],
        }),
    });
    let all = (0..5).flat_map(|from| (0..5).map(move |to| (from, to)));
    let pair = |(from, to)| PairConfig::steady(StationId(from), StationId(to), link);
    let links = all.filter(|(from, to)| from != to).map(pair).collect();
    let config = CellConfig::new(Standard::Dot11be, Band::Ghz6, stations, links);
    CellConfig { record_events: true, beacon_interval: None, ..config }
}

#[test]
fn tshark_reads_trigger_frames_of_eht() {
    let path = scene::scratch("ofdma-eht");
    let config = config();
    let rates = config.stations[0].capabilities.rates.clone();
    let air = AirInfo { band: Band::Ghz6, channel: 1, rates, ..scene::air() };
    let files = Files { events: true, air: Some(air), ..Files::default() };
    let mut ppdus: Vec<Ppdu> = Vec::new();
    scene::record(&path, &files, |recorder| {
        let mut cell = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
        let (mut now, mut tag) = (Instant::ZERO, 0);
        while now < Instant::ZERO + Duration::from_millis(30) {
            for (from, to) in [(1, 0), (2, 0), (3, 0), (4, 0), (0, 1), (0, 2), (0, 3), (0, 4)] {
                while cell.held_packets(StationId(from)) < if from == 0 { 80 } else { 20 } {
                    let source = NodeId(scene::SERVER);
                    let packet = Packet { source, ..Packet::new(tag, 900, now) };
                    let to = if from == 0 { 1 + (tag % 4) as u16 } else { to };
                    let to = Address::Station(StationId(to));
                    cell.handle_packet(now, StationId(from), to, packet);
                    tag += 1;
                }
            }
            now = cell.poll_timeout().expect("it is never idle").0;
            cell.handle_timeout(now);
            while cell.poll_output().is_some() {}
            while let Some(event) = cell.poll_event() {
                recorder.event(&event, &|_| None);
                if let Event::Ppdu(ppdu) = event {
                    ppdus.push(ppdu);
                }
            }
        }
    });
    let selected = [
        "frame.len",
        "radiotap.length",
        "_ws.malformed",
        "wlan.fc.type_subtype",
        "wlan.fcs.status",
    ];
    let Some(lines) = fields(&path.join("air.pcapng"), &selected) else { return };
    let frames = ppdus.iter().flat_map(Ppdu::frames);
    let mut counts = [0; 4];
    for (frame, line) in frames.zip(&lines) {
        // Before 4.4 tshark knows neither radiotap's TLVs of EHT PPDUs nor bitmaps of 1 024 bits with
        // several stations.
        let is_known = !line[2].contains("802.11 Radiotap")
            && (frame.kind != FrameKind::MultiStationBlockAck || line[2].is_empty());
        assert!(!is_known || ["1", "Good"].contains(&&*line[4]), "{line:?}");
        let of = match frame.kind {
            FrameKind::MuBlockAckRequest { .. } => 0,
            FrameKind::BasicTrigger { .. } => 1,
            FrameKind::BufferStatusReportPoll { .. } => 2,
            FrameKind::MultiStationBlockAck => 3,
            _ => continue,
        };
        // The octets of the MAC's account are those on the wire.
        let octets = |index: usize| line[index].parse::<u32>().expect("a number");
        assert_eq!(octets(0) - octets(1), u32::from(frame.bytes), "{:?} {line:?}", frame.kind);
        assert!(!is_known || line[2].is_empty(), "{line:?}");
        let expected = if of == 3 { "0x0019" } else { "0x0012" };
        assert!(!is_known || line[3] == expected, "{line:?}");
        assert!(frame.triggered.iter().all(|user| user.is_eht));
        counts[of] += 1;
    }
    assert!(counts.iter().all(|count| *count > 3), "{counts:?}");
}
