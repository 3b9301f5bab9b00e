//! Sounding and MU-MIMO of 802.11ac and 802.11ax as tshark decodes them: who is announced,
//! polled and triggered, and reports whose fields, angles and SNRs are as many as their control
//! field says. Skipped if tshark is not installed.

use crate::air::fields;
use crate::scene;
use lasthop_hosts::Sink;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_packet::{NodeId, Packet};
use lasthop_trace::{AirInfo, Files};
use lasthop_units::{Db, Duration, Identity, Instant, Machine, Seed};
use lasthop_wifi::cell::{Cell, CellConfig, MuMimoConfig, PairConfig, Role, StationConfig};
use lasthop_wifi::event::{Event, FrameKind, Ppdu};
use lasthop_wifi::phy::{
    Band, ChannelWidth, GuardInterval, HeGuardInterval, Propagation, Rate, Standard,
};
use lasthop_wifi::{Address, StationId};

const WIDTH: ChannelWidth = ChannelWidth::Mhz80;

/// An access point with four antennas, and two stations.
fn config(standard: Standard, rate: Rate) -> CellConfig {
    let link = Propagation::in_band(Band::Ghz5, WIDTH).link_with_snr(Db(40.0));
    let pair = |(from, to)| PairConfig::steady(StationId(from), StationId(to), link);
    let pairs = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
    let mut stations: Vec<StationConfig> = [Role::AccessPoint, Role::Station, Role::Station]
        .into_iter()
        .zip(0..)
        .map(|(role, number)| StationConfig {
            queue: QueueConfig::DropTail { limit: Limit::Packets(100) },
            ..StationConfig::fixed(role, Identity::numbered(number), rate)
        })
        .collect();
    stations[0].mu_mimo = Some(MuMimoConfig { stations_max: 2, ..MuMimoConfig::new(4) });
    let links = pairs.into_iter().map(pair).collect();
    CellConfig { record_events: true, ..CellConfig::new(standard, Band::Ghz5, stations, links) }
}

/// The access point's packets to both for 50 ms.
fn run(config: &CellConfig, recorder: &mut impl Sink) -> Vec<Ppdu> {
    let mut cell = Cell::new(config, Seed::new(4, 0)).expect("a sound cell");
    let (mut now, mut tag) = (Instant::ZERO, 0);
    let mut ppdus = Vec::new();
    while now < Instant::ZERO + Duration::from_millis(50) {
        while cell.held_packets(StationId(scene::AP)) < 40 {
            let packet = Packet { source: NodeId(scene::SERVER), ..Packet::new(tag, 900, now) };
            let to = Address::Station(StationId(1 + (tag % 2) as u16));
            cell.handle_packet(now, StationId(scene::AP), to, packet);
            tag += 1;
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
    ppdus
}

/// Runs it; the PPDUs, and what tshark reads of these fields in each frame.
fn read(
    name: &str,
    standard: Standard,
    rate: Rate,
    selected: &[&str],
) -> (Vec<Ppdu>, Option<Vec<Vec<String>>>) {
    let path = scene::scratch(name);
    let mut ppdus = Vec::new();
    let air = AirInfo { band: Band::Ghz5, channel: 36, rates: vec![rate], ..scene::air() };
    let files = Files { events: true, air: Some(air), ..Files::default() };
    let config = config(standard, rate);
    scene::record(&path, &files, |recorder| ppdus = run(&config, recorder));
    let lines = fields(&path.join("air.pcapng"), selected);
    if let Some(lines) = &lines {
        let frames: usize = ppdus.iter().map(|ppdu| ppdu.frames().count()).sum();
        assert_eq!(lines.len(), frames);
    }
    (ppdus, lines)
}

/// Number of values of a field that occurs several times in a frame.
fn count(values: &str) -> usize {
    values.split(',').filter(|value| !value.is_empty()).count()
}

fn number(ppdus: &[Ppdu], of: fn(&FrameKind) -> bool) -> usize {
    ppdus.iter().flat_map(Ppdu::frames).filter(|frame| of(&frame.kind)).count()
}

#[test]
fn tshark_reads_sounding_of_vht() {
    let rate = Rate::vht(7, 1, WIDTH, GuardInterval::Long).unwrap();
    let selected = [
        "wlan.fc.type_subtype",
        "wlan.vht_ndp.sta_info.aid12",
        "wlan.vht_ndp.sta_info.feedback_type",
        "wlan.beamform.feedback_seg_retrans_bitmap",
        "wlan.vht.mimo_control.ncindex",
        "wlan.vht.mimo_control.nrindex",
        "wlan.vht.mimo_control.chanwidth",
        "wlan.vht.mimo_control.grouping",
        "wlan.vht.mimo_control.feedbacktype",
        "wlan.vht.exclusive_beamforming_report.delta_snr",
        "radiotap.vht.gid",
        "wlan.fcs.status",
        "_ws.malformed",
    ];
    let (ppdus, lines) = read("mu_mimo_vht", Standard::Dot11ac, rate, &selected);
    let is_report = |kind: &FrameKind| matches!(kind, FrameKind::BeamformingReport { .. });
    let reports = number(&ppdus, is_report);
    assert!(reports >= 4 && ppdus.iter().any(|ppdu| ppdu.psdus.len() == 2));
    let Some(lines) = lines else { return };
    let of = |subtype: &str| lines.iter().filter(|line| line[0] == subtype).collect::<Vec<_>>();
    assert!(lines.iter().all(|line| line[11] == "1" && line[12].is_empty()));
    let announcements = of("0x0015");
    assert!(announcements.len() >= 2);
    for line in announcements {
        assert_eq!(count(&line[1]), 2, "{line:?}");
        assert!(line[2].split(',').all(|kind| ["1", "0x01", "0x1"].contains(&kind)), "{line:?}");
    }
    let polls = of("0x0014");
    assert_eq!(polls.len(), reports / 2);
    let read = of("0x000e");
    assert_eq!(read.len(), reports);
    for line in read {
        let value = |index: usize| {
            let text = line[index].trim_start_matches("0x");
            u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{line:?}"))
        };
        assert_eq!([4, 5, 6, 7, 8].map(value), [0, 3, 2, 2, 1], "{line:?}");
        assert_eq!(count(&line[9]), 32, "{line:?}");
    }
    let in_group = lines.iter().filter(|line| ["1", "0x01"].contains(&line[10].as_str())).count();
    let expected: usize =
        ppdus.iter().filter(|ppdu| ppdu.psdus.len() == 2).map(|ppdu| ppdu.frames().count()).sum();
    assert_eq!(in_group, expected);
}

#[test]
fn tshark_reads_sounding_of_he() {
    let rate = Rate::he(7, 1, WIDTH, HeGuardInterval::Ns800Ltf2x, false).unwrap();
    let selected = [
        "wlan.fc.type_subtype",
        "wlan.trigger.he.trigger_type",
        "wlan.he.mimo.nr_index",
        "wlan.he.mimo.bw",
        "wlan.he.mimo.grouping",
        "wlan.he.mimo.feedback_type",
        "wlan.fcs.status",
        "_ws.malformed",
    ];
    let (ppdus, lines) = read("mu_mimo_he", Standard::Dot11ax, rate, &selected);
    let reports = number(&ppdus, |kind| matches!(kind, FrameKind::BeamformingReport { .. }));
    assert!(reports >= 4 && ppdus.iter().any(|ppdu| ppdu.psdus.len() == 2));
    let Some(lines) = lines else { return };
    assert!(lines.iter().all(|line| line[6] == "1"));
    assert_eq!(lines.iter().find(|line| !line[7].is_empty()), None);
    let polls = lines.iter().filter(|line| line[0] == "0x0012" && line[1] == "1").count();
    assert_eq!(polls, reports / 2);
    let read: Vec<_> = lines.iter().filter(|line| line[0] == "0x000e").collect();
    assert_eq!(read.len(), reports);
    for line in read {
        let value = |index: usize| {
            let text = line[index].trim_start_matches("0x");
            u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{line:?}"))
        };
        assert_eq!([2, 3, 4, 5].map(value), [3, 2, 0, 1], "{line:?}");
    }
}
