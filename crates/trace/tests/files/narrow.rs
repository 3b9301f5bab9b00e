//! Uplink OFDMA in a part of the channel as tshark decodes it: what Trigger frames say of the width
//! and of RUs, and the radiotap fields of what answers. Skipped if tshark is not installed.

use crate::air::fields;
use crate::scene;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_packet::{NodeId, Packet};
use lasthop_trace::{AirInfo, Files};
use lasthop_units::{Db, Duration, Identity, Instant, Machine, Seed};
use lasthop_wifi::cell::{
    BandwidthAccess, Cell, CellConfig, OfdmaAcknowledgement, OfdmaConfig, OperatingChannel,
    PairConfig, Role, StationConfig, UplinkConfig,
};
use lasthop_wifi::event::{Event, FrameKind, Ppdu};
use lasthop_wifi::phy::{
    Band, ChannelWidth, HeGuardInterval, Propagation, Rate, Standard, Subchannel,
};
use lasthop_wifi::{Address, BssId, StationId};

const GUARD_INTERVAL: HeGuardInterval = HeGuardInterval::Ns800Ltf2x;

/// An access point and two stations at 80 MHz on channel 36, and a neighbour of 20 MHz with one on
/// channel 44.
fn config() -> CellConfig {
    let link = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz80).link_with_snr(Db(40.0));
    let roles = [Role::AccessPoint, Role::Station, Role::Station, Role::AccessPoint, Role::Station];
    let mut stations = Vec::new();
    for (role, number) in roles.into_iter().zip(0u16..) {
        let width = if number < 3 { ChannelWidth::Mhz80 } else { ChannelWidth::Mhz20 };
        let rate = Rate::he(7, 1, width, GUARD_INTERVAL, false).unwrap();
        stations.push(StationConfig {
            queue: QueueConfig::DropTail { limit: Limit::Packets(100) },
            bss: BssId(number / 3),
            ..StationConfig::fixed(role, Identity::numbered(number.into()), rate)
        });
    }
    stations[0].ofdma = Some(OfdmaConfig {
        stations_max: 2,
        acknowledgement: OfdmaAcknowledgement::MuBlockAckRequest,
        guard_interval: GUARD_INTERVAL,
        uplink: Some(UplinkConfig {
            buffer_reports: Some(Duration::from_millis(2)),
            mu_edca: [None; 4],
        }),
    });
    let all = (0..5).flat_map(|from| (0..5).map(move |to| (from, to)));
    let pairs = all.filter(|(from, to)| from != to);
    let pair = |(from, to)| PairConfig::steady(StationId(from), StationId(to), link);
    let links = pairs.map(pair).collect();
    let channel = |number| OperatingChannel {
        primary: Subchannel::from_number(Band::Ghz5, number).unwrap(),
        access: BandwidthAccess::Dynamic,
        ..OperatingChannel::default()
    };
    CellConfig {
        record_events: true,
        channels: [36, 44].map(channel).to_vec(),
        ..CellConfig::new(Standard::Dot11ax, Band::Ghz5, stations, links)
    }
}

#[test]
fn tshark_reads_narrow_uplink_exchanges() {
    let path = scene::scratch("narrow-uplink");
    let config = config();
    let rates = [ChannelWidth::Mhz20, ChannelWidth::Mhz40, ChannelWidth::Mhz80]
        .map(|width| Rate::he(7, 1, width, GUARD_INTERVAL, false).unwrap());
    let air = AirInfo { band: Band::Ghz5, channel: 36, rates: rates.to_vec(), ..scene::air() };
    let files = Files { events: true, air: Some(air), ..Files::default() };
    let mut ppdus: Vec<Ppdu> = Vec::new();
    scene::record(&path, &files, |recorder| {
        let mut cell = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
        let (mut now, mut tag) = (Instant::ZERO, 0);
        while now < Instant::ZERO + Duration::from_millis(60) {
            for (from, to) in [(1, 0), (2, 0), (3, 4)] {
                while cell.held_packets(StationId(from)) < 8 {
                    let source = NodeId(scene::SERVER);
                    let packet = Packet { source, ..Packet::new(tag, 900, now) };
                    let to = Address::Station(StationId(to));
                    cell.handle_packet(now, StationId(from), to, packet);
                    tag += 1;
                }
            }
            now = cell.poll_timeout().expect("it is never idle").0;
            cell.handle_timeout(now);
            while cell.poll_output().is_some() {}
            while let Some(event) = cell.poll_event() {
                use lasthop_hosts::Sink;
                recorder.event(&event, &|_| None);
                if let Event::Ppdu(ppdu) = event {
                    ppdus.push(ppdu);
                }
            }
        }
    });
    let selected = [
        "wlan.trigger.he.ul_bw",
        "wlan.trigger.he.ru_allocation",
        "radiotap.he.data_1.ppdu_format",
        "radiotap.he.data_5.data_bw_ru_allocation",
        "_ws.malformed",
    ];
    let Some(lines) = fields(&path.join("air.pcapng"), &selected) else { return };
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    // UL BW: 0 for 20 MHz, 1, 2. RUs of two stations: 106 tones are 53 and 54, 242 61 and 62, 484 65
    // and 66, of which bit 0 of the field is the 80 MHz.
    let first = |width| match width {
        ChannelWidth::Mhz20 => (0, 53),
        ChannelWidth::Mhz40 => (1, 61),
        _ => (2, 65),
    };
    let mut counts = [0, 0, 0];
    let frames = ppdus
        .iter()
        .flat_map(|ppdu| &ppdu.psdus)
        .flat_map(|psdu| psdu.frames.iter().map(move |frame| (psdu, frame)));
    let mut checked = 0;
    for ((psdu, frame), line) in frames.zip(&lines) {
        assert_eq!(line[4], "");
        match frame.kind {
            FrameKind::BufferStatusReportPoll { width, .. }
            | FrameKind::BasicTrigger { width, .. } => {
                let (code, ru) = first(width);
                assert_eq!(number(&line[0]), Some(code), "{line:?}");
                counts[code as usize] += 1;
                if frame.triggered.len() == 2 {
                    let found: Vec<_> = line[1].split(',').map(number).collect();
                    // tshark shows the seven bits of the RU without that of the 80 MHz, or all.
                    let (bare, whole) = ([ru, ru + 1], [2 * ru, 2 * ru + 2]);
                    let is = |all: [u32; 2]| found == all.map(Some);
                    assert!(is(bare) || is(whole), "{line:?}");
                }
            }
            FrameKind::QosData { .. } | FrameKind::QosNull { .. } if psdu.ru.is_some() => {
                // HE_TRIG; 4 to 8 are 26 to 484 tones.
                assert_eq!(number(&line[2]), Some(3), "{line:?}");
                let size = psdu.ru.map(|ru| ru.size().tones());
                let codes = [(106, 6), (242, 7), (484, 8), (996, 9)];
                let code = codes.iter().find(|(tones, _)| Some(*tones) == size);
                assert_eq!(number(&line[3]), code.map(|(_, code)| *code), "{line:?}");
                checked += 1;
            }
            _ => {}
        }
    }
    assert!(
        counts[0] == 0 && counts[1] > 3 && counts[2] > 0 && checked > 20,
        "{counts:?} {checked}"
    );
}
