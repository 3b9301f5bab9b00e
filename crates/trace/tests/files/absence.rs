//! Stations that scan and doze, as tshark decodes them: power management, retries, TIM,
//! PS-Poll, probes. Every frame that the cell reports is compared with its packet in
//! `air.pcapng`. Skipped if tshark is not installed.

use crate::air::fields;
use crate::{cell, scene};
use lasthop_hosts::Sink;
use lasthop_packet::{NodeId, Packet};
use lasthop_trace::Files;
use lasthop_units::{Duration, Instant, Machine, Probability, Seed};
use lasthop_wifi::cell::{Cell, CellConfig};
use lasthop_wifi::event::{Event, Frame, FrameKind};
use lasthop_wifi::mac::power_save::{PowerSaveConfig, Retrieval, partial_virtual_bitmap};
use lasthop_wifi::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanConfig, ScanKind};
use lasthop_wifi::{Address, StationId};

/// A cell in which the laptop scans and the access point ignores 70 % of its Null
/// frames, and the phone dozes.
fn config() -> CellConfig {
    let ms = Duration::from_millis;
    let mut config = cell::config();
    let ignored = Probability::new(0.7).unwrap();
    config.stations[usize::from(scene::LAPTOP)].scan = Some(ScanConfig {
        start: ms(150),
        period: ms(10_000),
        channels: 3,
        away: ms(110),
        passive: PassiveChannels::default(),
        back: ms(100),
        kind: ScanKind::Active,
        own_channel: Some(2),
        flush: ms(20),
        leftover: Leftover::Keep,
        return_drain: None,
        null: NullConfig { leave_loss: ignored, return_loss: ignored, ..NullConfig::default() },
    });
    config.stations[usize::from(scene::PHONE)].power_save =
        Some(PowerSaveConfig::dynamic(ms(20), Retrieval::PsPoll));
    config
}

/// Runs group packets and packets to each station for one second. Returns every frame
/// and its transmitter.
fn run(recorder: &mut impl Sink) -> Vec<(StationId, Frame)> {
    let mut cell = Cell::new(&config(), Seed::new(4, 0)).expect("a sound cell");
    let interval = Duration::from_millis(13);
    let end = Instant::ZERO + Duration::from_secs(1);
    let (mut next, mut tag) = (Instant::ZERO, 0);
    let mut frames = Vec::new();
    while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < end) {
        let now = at.min(next);
        cell.handle_timeout(now);
        if now == next {
            let to = match tag % 3 {
                0 => Address::Group,
                station => Address::Station(StationId(station as u16)),
            };
            let packet = Packet { source: NodeId(scene::SERVER), ..Packet::new(tag, 300, now) };
            cell.handle_packet(now, StationId(scene::AP), to, packet);
            (next, tag) = (now + interval, tag + 1);
        }
        while cell.poll_output().is_some() {}
        while let Some(event) = cell.poll_event() {
            recorder.event(&event, &|_| None);
            if let Event::Ppdu(ppdu) = event {
                frames.extend(ppdu.frames().map(|frame| (ppdu.transmitter, frame.clone())));
            }
        }
    }
    frames
}

/// Type and subtype as tshark prints them (IEEE 802.11-2020, table 9-1).
fn type_subtype(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::ProbeRequest { .. } => "0x0004",
        FrameKind::ProbeResponse => "0x0005",
        FrameKind::Beacon { .. } => "0x0008",
        FrameKind::AddbaRequest { .. } | FrameKind::AddbaResponse { .. } => "0x000d",
        FrameKind::BlockAckRequest { .. } => "0x0018",
        FrameKind::BlockAck { .. } => "0x0019",
        FrameKind::PsPoll { .. } => "0x001a",
        FrameKind::Rts => "0x001b",
        FrameKind::Cts => "0x001c",
        FrameKind::Ack => "0x001d",
        FrameKind::Null { .. } => "0x0024",
        FrameKind::QosData { .. } => "0x0028",
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn tshark_sees_who_is_away() {
    let path = scene::scratch("absence");
    let mut frames = Vec::new();
    let files = Files { events: true, air: Some(scene::air()), ..Files::default() };
    scene::record(&path, &files, |recorder| frames = run(recorder));
    let count = |of: fn(&FrameKind) -> bool| frames.iter().filter(|(_, f)| of(&f.kind)).count();
    assert!(count(|kind| matches!(kind, FrameKind::Null { .. })) > 12);
    assert!(count(|kind| matches!(kind, FrameKind::PsPoll { aid: 2 })) > 5);
    assert_eq!(count(|kind| matches!(kind, FrameKind::ProbeRequest { .. })), 1);
    assert_eq!(count(|kind| matches!(kind, FrameKind::ProbeResponse)), 1);
    assert!(frames.iter().any(|(_, frame)| frame.announced == [1, 2]));
    let selected = [
        "wlan.fc.type_subtype",
        "wlan.fc.retry",
        "wlan.fc.pwrmgt",
        "wlan.fc.moredata",
        "wlan.seq",
        "wlan.aid",
        "wlan.tim.dtim_count",
        "wlan.tim.dtim_period",
        "wlan.tim.bmapctl.multicast",
        "wlan.tim.partial_virtual_bitmap",
        "wlan.fcs.status",
        "_ws.malformed",
    ];
    let Some(read) = fields(&path.join("air.pcapng"), &selected) else { return };
    assert_eq!(read.len(), frames.len());
    let bit = |set: bool| if set { "1" } else { "0" };
    // Depending on its version, tshark prints booleans as digits or words.
    let same = |text: &str, set: bool| {
        text == bit(set) || text.eq_ignore_ascii_case(if set { "true" } else { "false" })
    };
    for (line, (_, frame)) in read.iter().zip(&frames) {
        let kind = frame.kind;
        assert_eq!(line[0], type_subtype(kind), "{frame:?}");
        assert!(same(&line[1], frame.retry), "{line:?} {frame:?}");
        let absent =
            matches!(kind, FrameKind::Null { power_management: true } | FrameKind::PsPoll { .. });
        assert!(same(&line[2], absent), "{line:?} {frame:?}");
        assert!(same(&line[3], frame.more_data), "{line:?} {frame:?}");
        if let FrameKind::Null { .. } = kind {
            assert_eq!(line[4], frame.sequence.as_u16().to_string());
        }
        if let FrameKind::PsPoll { aid } = kind {
            assert_eq!(line[5], aid.to_string());
        }
        if let FrameKind::Beacon { dtim_count, dtim_period, group_traffic, .. } = kind {
            assert_eq!(line[6..8], [dtim_count.to_string(), dtim_period.to_string()]);
            assert!(same(&line[8], group_traffic));
            let (_, bitmap) = partial_virtual_bitmap(&frame.announced);
            let hex: String = bitmap.iter().map(|octet| format!("{octet:02x}")).collect();
            assert_eq!(line[9].replace(':', ""), hex);
        }
        assert_eq!((line[10].as_str(), line[11].as_str()), ("1", ""), "{frame:?}");
    }
}
