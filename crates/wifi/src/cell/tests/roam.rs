//! Stations that move between access points. The judges are the order of frames that hostapd and
//! wpa_supplicant have on the air, timeouts of mac80211 and wpa_supplicant, and accounts of packets.

use super::bandwidth::dynamic;
use super::*;
use crate::capabilities::Generation;
use crate::event::{Event, FrameKind, Ppdu, RoamStep};
use crate::mac::roam::frame::{AuthenticationAlgorithm, RoamFrame, Security};
use crate::mac::roam::join::Delays;
use crate::mac::roam::plan::RoamPolicy;
use crate::mac::roam::policy::ScanPolicy;
use crate::mac::roam::station::{Member, RoamingConfig};
use crate::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanConfig, ScanKind};
use crate::station::BssId;
use alloc::collections::BTreeSet;

pub(super) const FIRST: StationId = StationId(0);
pub(super) const SECOND: StationId = StationId(1);
pub(super) const ROAMER: StationId = StationId(2);

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) fn at(ms_: u64) -> Instant {
    Instant::ZERO + ms(ms_)
}

/// Two access points on these channels and a station, which hears them with these levels in dBm, and
/// scans every second below -60 dBm.
pub(super) fn office(
    channels: [u8; 2],
    levels: [f64; 2],
    security: Security,
    kind: ScanKind,
) -> CellConfig {
    let rate = mcs(4, ChannelWidth::Mhz20, GuardInterval::Long);
    let mut config = cell(2, rate, ChannelWidth::Mhz20, 65_535);
    config.record_events = true;
    config.channels = dynamic(&channels);
    config.stations[SECOND.index()].role = Role::AccessPoint;
    config.stations[SECOND.index()].bss = BssId(1);
    config.stations[SECOND.index()].beacon_offset = ms(40);
    for station in &mut config.stations {
        station.access[3] = EdcaParameters { aifsn: 2, cw_min: 3, cw_max: 7, ..station.access[0] };
    }
    let number = |bss: u16| u16::from(bss == 1 && channels[0] != channels[1]);
    let member = |bss: u16| Member {
        bss: BssId(bss),
        channel: number(bss),
        width: ChannelWidth::Mhz20,
        generation: Generation::Ht,
    };
    config.stations[ROAMER.index()].roaming = Some(RoamingConfig {
        members: vec![member(0), member(1)],
        band: Band::Ghz5,
        security,
        over_ds: false,
        caching: crate::mac::roam::pmksa::KeyCaching::default(),
        delays: Delays { leave: ms(1), station: ms(1), access_point: ms(1), commit: ms(10) },
        policy: Some(RoamPolicy::Simple(ScanPolicy {
            short: Duration::from_secs(1),
            threshold: -60,
            long: Duration::from_secs(100),
        })),
        scan: ScanConfig {
            start: Duration::ZERO,
            period: Duration::from_secs(1),
            channels: 3,
            away: if kind == ScanKind::Active { ms(60) } else { ms(111) },
            passive: PassiveChannels::default(),
            back: ms(200),
            kind,
            own_channel: None,
            flush: ms(20),
            leftover: Leftover::Keep,
            return_drain: None,
            null: NullConfig::default(),
        },
        neighbor_report: false,
        is_steered: false,
        follows_requests: true,
        beacon_interval: Duration::from_micros(102_400),
    });
    set_levels(&mut config, levels);
    config
}

fn set_levels(config: &mut CellConfig, levels: [f64; 2]) {
    config.change_links(|pair| {
        for (access_point, level) in [FIRST, SECOND].into_iter().zip(levels) {
            if [pair.from, pair.to] == [access_point, ROAMER]
                || [pair.from, pair.to] == [ROAMER, access_point]
            {
                pair.link.snr = Dbm(level) - pair.link.noise;
            }
        }
    });
}

/// What happened in a run.
#[derive(Default)]
pub(super) struct Walk {
    pub steps: Vec<(Instant, StationId, RoamStep)>,
    ppdus: Vec<Ppdu>,
    delivered: Vec<(Instant, StationId)>,
    dropped: usize,
}

impl Walk {
    /// The first access point sends a packet every 5 ms until it is known where the station is; then
    /// the one where it is does, as the network behind them would have it. The station sends as much.
    pub fn new(config: &CellConfig, time: Duration) -> Self {
        let mut cell = Cell::new(config, Seed::new(7, 0)).expect("a sound cell");
        let mut walk = Self::default();
        let (mut to_roamer, mut from_roamer) = (FIRST, FIRST);
        let (mut tag, mut next) = (0, Instant::ZERO);
        let mut ended = BTreeSet::new();
        let end = Instant::ZERO + time;
        loop {
            let now = cell.due().min(if next < end { next } else { Instant::MAX });
            if now > end + Duration::from_secs(3) {
                break;
            }
            cell.handle_timeout(now);
            if now == next && next < end {
                for (from, to) in [(to_roamer, ROAMER), (ROAMER, from_roamer)] {
                    let packet = Packet::new(tag, 1_500, now);
                    cell.handle_packet(now, from, Address::Station(to), packet);
                    tag += 1;
                }
                next = now + ms(5);
            }
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { at, station, packet } => {
                        walk.delivered.push((at, station));
                        assert!(ended.insert(packet.tag), "it ends once");
                    }
                    Output::Dropped { packet, .. } => {
                        walk.dropped += 1;
                        assert!(ended.insert(packet.tag), "it ends once");
                    }
                    Output::Attached { access_point, is_known, .. } => {
                        from_roamer = access_point;
                        if is_known {
                            to_roamer = access_point;
                        }
                    }
                    Output::GroupSent { .. } | Output::Overheard { .. } => {}
                }
            }
            while let Some(event) = cell.poll_event() {
                match event {
                    Event::Ppdu(ppdu) => walk.ppdus.push(ppdu),
                    Event::Roam { at, access_point, step, .. } => {
                        walk.steps.push((at, access_point, step));
                    }
                    _ => {}
                }
            }
            while cell.poll_space().is_some() {}
        }
        assert_eq!(ended.len() as u64, tag, "every packet ends");
        walk
    }

    /// Frames of joins in their order: each once, with its sender, as far as its receiver decoded it.
    pub fn joins(&self) -> Vec<(StationId, RoamFrame)> {
        let frames = self.ppdus.iter().flat_map(|ppdu| {
            ppdu.frames().filter(|frame| frame.received).filter_map(|frame| match frame.kind {
                FrameKind::Roam { frame, .. } => Some((ppdu.transmitter, frame)),
                _ => None,
            })
        });
        let mut frames: Vec<_> = frames.collect();
        frames.dedup();
        frames
    }

    pub fn step(&self, step: RoamStep) -> Option<(Instant, StationId)> {
        let found = self.steps.iter().find(|(_, _, other)| *other == step)?;
        Some((found.0, found.1))
    }
}

fn authentication(algorithm: AuthenticationAlgorithm, sequence: u16) -> RoamFrame {
    RoamFrame::Authentication { algorithm, sequence, status: 0 }
}

/// A station at -75 dBm hears another access point at -50 dBm, on another channel or on its own: it
/// moves once, with the frames of its security in their order, and data flow at both ends.
#[test]
fn a_station_moves_to_the_better_access_point() {
    use RoamFrame::{AssociationRequest, AssociationResponse, Handshake};
    let association = [
        (ROAMER, AssociationRequest { again: true }),
        (SECOND, AssociationResponse { again: true, status: 0 }),
    ];
    let handshake = [(SECOND, 1), (ROAMER, 2), (SECOND, 3), (ROAMER, 4)]
        .map(|(sender, message)| (sender, Handshake { message }));
    let both = |algorithm, sequence| {
        [ROAMER, SECOND].map(|sender| (sender, authentication(algorithm, sequence)))
    };
    let open = [ROAMER, SECOND].into_iter().zip(1..);
    let open: Vec<_> = open
        .map(|(sender, number)| (sender, authentication(AuthenticationAlgorithm::Open, number)))
        .collect();
    let sae =
        [both(AuthenticationAlgorithm::SaeCommit, 1), both(AuthenticationAlgorithm::SaeConfirm, 2)]
            .concat();
    let fast = [ROAMER, SECOND].into_iter().zip(1..);
    let fast: Vec<_> = fast
        .map(|(sender, number)| (sender, authentication(AuthenticationAlgorithm::Ft, number)))
        .collect();
    for channels in [[36, 44], [36, 36]] {
        for kind in [ScanKind::Active, ScanKind::Passive] {
            for (security, expected) in [
                (Security::Open, [&open[..], &association].concat()),
                (Security::Psk, [&open[..], &association, &handshake].concat()),
                (Security::Sae, [&sae[..], &association, &handshake].concat()),
                (Security::FtPsk, [&fast[..], &association].concat()),
            ] {
                let what = (channels, kind, security);
                let walk = Walk::new(&office(channels, [-75.0, -50.0], security, kind), ms(4_000));
                assert_eq!(walk.joins(), expected, "{what:?}");
                let (left, _) = walk.step(RoamStep::Left).expect("it left");
                let (joined, there) = walk.step(RoamStep::Joined).expect("it joined");
                assert_eq!(there, SECOND, "{what:?}");
                let delays = match security {
                    Security::Sae => 10 + 10,
                    Security::Psk => 8,
                    _ => 4,
                };
                let took = joined - left;
                // On one channel the old access point goes on sending.
                let air = if channels[0] == channels[1] { 14 } else { 4 };
                assert!(took > ms(delays) && took < ms(delays + air), "{what:?}: {took}");
                let later = walk.delivered.iter().filter(|(at, _)| *at > joined);
                let (down, up): (Vec<_>, Vec<_>) = later.partition(|(_, at)| *at == ROAMER);
                let expected = (at(4_000) - joined).as_nanos() / 5_000_000;
                assert!(down.len() as u64 + 1 >= expected, "{what:?}: {}", down.len());
                assert!(up.iter().all(|(_, at)| *at == SECOND), "{what:?}");
                assert!(up.len() as u64 + 1 >= expected, "{what:?}: {}", up.len());
            }
        }
    }
}

/// On the way it says nothing to the access point that it leaves, which loses what it goes on sending.
#[test]
fn the_old_access_point_sends_in_vain() {
    let walk =
        Walk::new(&office([36, 44], [-75.0, -50.0], Security::Psk, ScanKind::Active), ms(4_000));
    let (left, _) = walk.step(RoamStep::Left).expect("it left");
    let to_first =
        |ppdu: &&Ppdu| ppdu.start > left && ppdu.psdus[0].receiver == Address::Station(FIRST);
    assert_eq!(walk.ppdus.iter().filter(to_first).count(), 0);
    let vain = |ppdu: &&Ppdu| {
        ppdu.start > left
            && ppdu.transmitter == FIRST
            && ppdu.psdus[0].receiver == Address::Station(ROAMER)
            && ppdu.frames().any(|frame| matches!(frame.kind, FrameKind::QosData { .. }))
    };
    assert!(walk.ppdus.iter().filter(vain).count() > 0);
    assert!(walk.ppdus.iter().filter(vain).all(|ppdu| ppdu.frames().all(|f| !f.received)));
    assert!(walk.dropped > 0);
}

/// Levels that differ by 3 dB are no reason to move, nor is a station near its access point.
#[test]
fn a_station_stays_without_a_reason() {
    for levels in [[-70.0, -68.0], [-55.0, -40.0], [-50.0, -75.0]] {
        let config = office([36, 44], levels, Security::Psk, ScanKind::Active);
        let walk = Walk::new(&config, ms(4_000));
        assert_eq!(walk.steps, [], "{levels:?}");
    }
}

/// The signal of the first access point ends at 2 s, where 2 dB above the noise remain. Seven
/// beacons later, at a whole second of its clock, the station tests it by two Null frames, looks for
/// another 100 ms later, through three channels, and joins it with an Association Request.
#[test]
fn a_lost_access_point_is_replaced() {
    let kind = ScanKind::Active;
    let mut config = office([36, 44], [-50.0, -60.0], Security::Psk, kind);
    config.change_links(|pair| {
        let ends = [pair.from, pair.to];
        if ends == [FIRST, ROAMER] || ends == [ROAMER, FIRST] {
            let snr = Db(-3.0);
            pair.snr_changes = vec![crate::phy::SnrChange { at: at(2_000), snr }];
        }
    });
    config.carrier_sense = Dbm(-120.0);
    let walk = Walk::new(&config, ms(6_000));
    let (lost, whose) = walk.step(RoamStep::Lost).expect("it noticed");
    assert_eq!(whose, FIRST);
    let beacon = Duration::from_micros(102_400);
    assert!(lost > at(2_000) + beacon * 6 && lost < at(2_000) + beacon * 7 + ms(1_100), "{lost}");
    let (left, there) = walk.step(RoamStep::Left).expect("it found the other");
    assert_eq!(there, SECOND);
    let search = left - lost;
    assert!(search >= ms(100 + 3 * 60) && search < ms(100 + 3 * 60 + 1), "{search}");
    assert!(walk.joins().contains(&(ROAMER, RoamFrame::AssociationRequest { again: false })));
    assert!(walk.step(RoamStep::Joined).is_some());
}

/// An access point that hears nothing of the station's is given up after three frames 200 ms apart,
/// and the station looks for one again.
#[test]
fn an_access_point_that_does_not_answer_is_passed_over() {
    let mut config = office([36, 44], [-75.0, -50.0], Security::Psk, ScanKind::Passive);
    config.carrier_sense = Dbm(-120.0);
    config.change_links(|pair| {
        if [pair.from, pair.to] == [ROAMER, SECOND] {
            pair.link.snr = Db(-10.0);
        }
    });
    let walk = Walk::new(&config, ms(6_000));
    let (left, _) = walk.step(RoamStep::Left).expect("it left");
    let (failed, there) = walk.step(RoamStep::Failed).expect("it gave up");
    assert_eq!(there, SECOND);
    assert_eq!(failed - left, ms(1 + 3 * 200));
    let (joined, there) = walk.step(RoamStep::Joined).expect("it came back");
    assert_eq!(there, FIRST);
    let took = joined - failed;
    assert!(took > ms(100 + 3 * 111) && took < ms(100 + 3 * 111 + 20), "{took}");
}

/// A change of its scans would end its roaming, so it is refused and has no effect.
#[test]
fn scans_of_their_own_are_refused() {
    let config = office([36, 44], [-75.0, -50.0], Security::Open, ScanKind::Active);
    let scan = config.stations[ROAMER.index()].roaming.as_ref().expect("it roams").scan;
    let mut cell = Cell::new(&config, Seed::new(7, 0)).expect("a sound cell");
    let before = cell.clone();
    let refused = cell.change_scan(Instant::ZERO, ROAMER, Some(scan));
    assert_eq!(refused, Err(AdjustError::Scan));
    assert_eq!(cell, before);
}

/// In each scan of three channels the station asks on those of the two access points, and each of them
/// hears and answers the request on its own channel only.
#[test]
fn probes_are_answered_on_their_channel() {
    let config = office([36, 52], [-65.0, -68.0], Security::Open, ScanKind::Active);
    let walk = Walk::new(&config, ms(20_000));
    let sent = |sender: StationId, is_kind: fn(&FrameKind) -> bool| {
        let of = |ppdu: &&Ppdu| {
            let frame = &ppdu.psdus[0].frames[0];
            ppdu.transmitter == sender && !frame.retry && is_kind(&frame.kind)
        };
        walk.ppdus.iter().filter(of).count()
    };
    let asked = sent(ROAMER, |kind| matches!(kind, FrameKind::ProbeRequest { .. }));
    let is_response = |kind: &FrameKind| matches!(kind, FrameKind::ProbeResponse);
    let answered = [FIRST, SECOND].map(|access_point| sent(access_point, is_response));
    assert!(asked >= 10, "{asked}");
    assert_eq!(answered, [asked / 2; 2]);
}
