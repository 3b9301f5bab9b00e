//! Access points that move to another channel. The judges are the count of hostapd and mac80211, closed
//! forms in beacon intervals, and accounts of packets.

use super::roam::{FIRST, ROAMER, SECOND, office};
use super::*;
use crate::event::{Event, FrameKind, Ppdu, RoamStep, SwitchStep};
use crate::mac::channel_switch::ChannelSwitch;
use crate::mac::roam::frame::Security;
use crate::mac::scan::ScanKind;
use crate::phy::Subchannel;
use alloc::collections::BTreeSet;
use proptest::prelude::*;

const BEACON: Duration = Duration::from_micros(102_400);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn channel(number: u8) -> Subchannel {
    Subchannel::from_number(Band::Ghz5, number).expect("it exists")
}

fn order(count: u8, quiet: bool, check: Duration) -> ChannelSwitch {
    ChannelSwitch { to: channel(52), count, quiet, check, radar: false }
}

/// The office with a station near the first access point, on 36; the second is on 44.
fn near() -> CellConfig {
    let mut config = office([36, 44], [-50.0, -60.0], Security::Psk, ScanKind::Active);
    config.channels_vary = true;
    config
}

/// An act in a run.
#[derive(Clone, Copy, Debug)]
enum Act {
    Move(StationId, ChannelSwitch),
    Fail(StationId, bool),
}

/// What happened in a run.
#[derive(Default)]
struct Run {
    switches: Vec<(Instant, StationId, SwitchStep)>,
    roams: Vec<(Instant, StationId, RoamStep)>,
    ppdus: Vec<Ppdu>,
    delivered: Vec<(Instant, StationId)>,
    dropped: Vec<(Instant, StationId)>,
    stats: Vec<StationStats>,
}

impl Run {
    /// Packets every 2 ms each way, in turn, between the station and the access point that the network behind
    /// knows, until `time`; then three seconds without.
    fn new(config: &CellConfig, acts: &[(Instant, Act)], time: Duration) -> Self {
        let mut cell = Cell::new(config, Seed::new(7, 0)).expect("a sound cell");
        let mut run = Self::default();
        let (mut to_roamer, mut from_roamer) = (FIRST, FIRST);
        let (mut tag, mut next, mut acts) = (0, Instant::ZERO, acts.iter().copied().peekable());
        let mut ended = BTreeSet::new();
        let end = Instant::ZERO + time;
        loop {
            let packets = if next < end { next } else { Instant::MAX };
            let act = acts.peek().map_or(Instant::MAX, |(at, _)| *at);
            let now = cell.due().min(packets).min(act);
            if now > end + Duration::from_secs(3) {
                break;
            }
            cell.handle_timeout(now);
            if let Some((_, act)) = acts.next_if(|(at, _)| *at == now) {
                match act {
                    Act::Move(of, order) => cell.change_channel(now, of, order).expect("it may"),
                    Act::Fail(of, failed) => cell.change_failure(now, of, failed).expect("it may"),
                }
            }
            if now == packets {
                let ends = [(to_roamer, ROAMER), (ROAMER, from_roamer)];
                let (from, to) = ends[tag as usize % 2];
                cell.handle_packet(now, from, Address::Station(to), Packet::new(tag, 300, now));
                (tag, next) = (tag + 1, now + Duration::from_millis(1));
            }
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { at, station, packet } => {
                        run.delivered.push((at, station));
                        assert!(ended.insert(packet.tag), "it ends once");
                    }
                    Output::Dropped { at, station, packet, .. } => {
                        run.dropped.push((at, station));
                        assert!(ended.insert(packet.tag), "it ends once");
                    }
                    Output::Attached { access_point, is_known, .. } => {
                        from_roamer = access_point;
                        to_roamer = if is_known { access_point } else { to_roamer };
                    }
                    Output::GroupSent { .. } | Output::Overheard { .. } => {}
                }
            }
            while let Some(event) = cell.poll_event() {
                match event {
                    Event::Ppdu(ppdu) => run.ppdus.push(ppdu),
                    Event::Roam { at, access_point, step, .. } => {
                        run.roams.push((at, access_point, step));
                    }
                    Event::ChannelSwitch { at, station, step, .. } => {
                        run.switches.push((at, station, step));
                    }
                    _ => {}
                }
            }
            while cell.poll_space().is_some() {}
        }
        assert_eq!(ended.len() as u64, tag, "every packet ends");
        let stations = [FIRST, SECOND, ROAMER];
        let later = end + Duration::from_secs(3);
        run.stats = stations.map(|it| cell.station_stats(later, it).clone()).into();
        run
    }

    fn step(&self, station: StationId, step: SwitchStep) -> Option<Instant> {
        self.switches.iter().find(|it| (it.1, it.2) == (station, step)).map(|it| it.0)
    }

    /// Beacons of an access point, with the count that each announces.
    fn beacons(&self, of: StationId) -> Vec<(Instant, Option<u8>)> {
        let of = self.ppdus.iter().filter(|ppdu| ppdu.transmitter == of);
        let beacon = |ppdu: &Ppdu| match ppdu.psdus[0].frames[0].kind {
            FrameKind::Beacon { switch, .. } => Some((ppdu.start, switch.map(|said| said.count))),
            _ => None,
        };
        of.filter_map(beacon).collect()
    }

    /// Data PPDUs that began between two instants, and whether a receiver decoded something of each.
    fn data(&self, from: Instant, until: Instant) -> Vec<(StationId, bool)> {
        let within = self.ppdus.iter().filter(|ppdu| ppdu.start > from && ppdu.start < until);
        let of = |ppdu: &Ppdu| {
            let is_data = |kind| matches!(kind, FrameKind::QosData { .. } | FrameKind::Data);
            ppdu.frames()
                .any(|it| is_data(it.kind))
                .then(|| (ppdu.transmitter, ppdu.frames().any(|frame| frame.received)))
        };
        within.filter_map(of).collect()
    }
}

/// Whether all data but a few, which collided, were heard.
fn is_heard(data: &[(StationId, bool)]) -> bool {
    let lost = data.iter().filter(|(_, received)| !received).count();
    20 * lost < data.len()
}

/// Ordered at 1 s with a count of 5: beacons at the next four beacon times count down, and at the fifth
/// the first beacon is on the new channel. The station moves with the last announcement. With mode 1
/// nobody sends data in between, and nothing is lost; with mode 0 the access point sends in vain in the
/// last interval.
#[test]
fn a_set_moves_after_five_beacon_times() {
    for quiet in [true, false] {
        let act = Act::Move(FIRST, order(5, quiet, Duration::ZERO));
        let run = Run::new(&near(), &[(at(1_000), act)], Duration::from_millis(3_000));
        let due = |n: u64| Instant::ZERO + BEACON * n;
        let late = Duration::from_millis(3);
        let is_at = |seen: Instant, n: u64| seen >= due(n) && seen < due(n) + late;
        let announced: Vec<_> =
            run.beacons(FIRST).into_iter().filter(|(_, count)| count.is_some()).collect();
        let counts: Vec<u8> = announced.iter().filter_map(|(_, count)| *count).collect();
        assert_eq!(counts, [4, 3, 2, 1], "{quiet}");
        assert!(announced.iter().zip(10..).all(|((at, _), n)| is_at(*at, n)), "{announced:?}");
        let moved = run.step(FIRST, SwitchStep::Moved).expect("it moved");
        assert!(is_at(moved, 14), "{moved}");
        assert!(run.beacons(FIRST).iter().any(|(at, _)| is_at(*at, 14)));
        let heard = run.step(ROAMER, SwitchStep::Heard).expect("it heard it");
        assert!(is_at(heard, 10), "{heard}");
        let left = run.step(ROAMER, SwitchStep::Moved).expect("it moved");
        assert!(left - heard >= BEACON * 3 && left - heard < BEACON * 3 + late);
        let there = run.step(ROAMER, SwitchStep::Followed).expect("it followed");
        assert!(is_at(there, 14), "{there}");
        assert_eq!(run.roams, []);
        let [switched] = run.stats[0].switches[..] else { panic!("it moved once") };
        assert_eq!((switched.stations, switched.followed), (1, 1));
        assert_eq!(switched.without, there - if quiet { heard } else { left });
        let between = run.data(heard + Duration::from_millis(1), moved);
        let after = run.data(there, at(3_000));
        assert!(is_heard(&after) && after.len() > 700, "{quiet}: {}", after.len());
        if quiet {
            assert_eq!(between, []);
            assert_eq!(run.dropped, []);
            // The channel closing transmission time after a radar is 200 ms.
            let closing = run.data(at(1_000), moved);
            assert!(closing.iter().all(|(sender, _)| *sender == ROAMER), "{closing:?}");
            assert!(heard < at(1_200));
        } else {
            let vain = run.data(left, moved);
            assert!(vain.iter().all(|(_, received)| !received), "{vain:?}");
            assert!(vain.iter().any(|(sender, _)| *sender == FIRST));
            let interval = at(1_000) - (at(1_000) - BEACON);
            let most = interval.as_nanos() / 2_000_000 * 2 + 4;
            assert!(!run.dropped.is_empty() && run.dropped.len() as u64 <= most);
        }
    }
}

/// After a move to a channel with radar nothing is sent for the check. The station follows, hears no
/// beacon, loses its access point seven beacons and up to a second later, and joins the other one.
#[test]
fn a_check_makes_a_set_silent() {
    let check = Duration::from_secs(4);
    let act = Act::Move(FIRST, order(5, true, check));
    let run = Run::new(&near(), &[(at(1_000), act)], Duration::from_millis(6_500));
    let silent = run.step(FIRST, SwitchStep::Checking).expect("it moved");
    let checked = run.step(FIRST, SwitchStep::Checked).expect("it was checked");
    assert_eq!(checked - silent, check);
    let own = run.ppdus.iter().filter(|ppdu| ppdu.transmitter == FIRST);
    assert!(own.clone().all(|ppdu| ppdu.start < silent || ppdu.start > checked));
    assert!(own.clone().any(|ppdu| ppdu.start > checked));
    // A packet each 2 ms comes to it, at even milliseconds, until the station is known elsewhere.
    let joined = run.roams.iter().find(|roam| roam.2 == RoamStep::Joined).expect("it joined").0;
    let lost = run.dropped.iter().filter(|it| it.1 == FIRST && it.0 > silent && it.0 < joined);
    let came = (joined - silent).as_nanos() / 2_000_000;
    assert!((lost.count() as u64).abs_diff(came) <= 1);
    assert_eq!(run.step(ROAMER, SwitchStep::Followed), None);
    let left = run.step(ROAMER, SwitchStep::Moved).expect("it followed into silence");
    let of = |step| run.roams.iter().find(|roam| roam.2 == step).map(|roam| (roam.0, roam.1));
    let (lost, whose) = of(RoamStep::Lost).expect("it lost it");
    assert_eq!(whose, FIRST);
    let since = lost - left;
    assert!(since > BEACON * 7 && since < BEACON * 7 + Duration::from_millis(1_050), "{since}");
    let (_, there) = of(RoamStep::Joined).expect("it joined");
    assert_eq!(there, SECOND);
    let [switched] = run.stats[0].switches[..] else { panic!("it moved once") };
    assert_eq!((switched.stations, switched.followed), (1, 0));
}

/// A move at once is not announced: the station stays on the old channel, where nothing of its own
/// reaches its access point, loses it, and finds it on the new one.
#[test]
fn who_hears_nothing_stays_and_searches() {
    let mut config = near();
    let roaming = config.stations[ROAMER.index()].roaming.as_mut().expect("it roams");
    roaming.members.truncate(1);
    let act = Act::Move(FIRST, order(1, false, Duration::ZERO));
    let run = Run::new(&config, &[(at(1_000), act)], Duration::from_millis(4_000));
    assert_eq!(run.step(FIRST, SwitchStep::Moved), Some(at(1_000)));
    assert_eq!(run.step(ROAMER, SwitchStep::Heard), None);
    let of = |step| run.roams.iter().find(|roam| roam.2 == step).map(|roam| (roam.0, roam.1));
    let (lost, _) = of(RoamStep::Lost).expect("it lost it");
    assert!(run.data(at(1_002), lost).iter().all(|(_, received)| !received));
    let (joined, there) = of(RoamStep::Joined).expect("it joined");
    assert_eq!(there, FIRST);
    let after = run.data(joined, at(4_000));
    assert!(after.len() > 500 && is_heard(&after), "{}", after.len());
    // Answers come on the channel of the question only.
    let is_probe = |ppdu: &&Ppdu| ppdu.frames().any(|it| it.kind == FrameKind::ProbeResponse);
    assert!(run.ppdus.iter().filter(is_probe).all(|ppdu| ppdu.transmitter == FIRST));
}

#[test]
fn sets_that_cannot_move_are_refused() {
    let to = order(5, true, Duration::ZERO);
    let refused = |config: &CellConfig, of| {
        let mut cell = Cell::new(config, Seed::new(7, 0)).expect("a sound cell");
        let before = cell.clone();
        assert_eq!(cell.change_channel(at(0), of, to), Err(AdjustError::Channel));
        assert_eq!(cell, before);
    };
    refused(&near(), ROAMER);
    let mut fixed = near();
    fixed.channels_vary = false;
    refused(&fixed, FIRST);
    let mut alone = near();
    alone.stations[ROAMER.index()].roaming = None;
    refused(&alone, FIRST);
}

fn act() -> impl Strategy<Value = Act> {
    let of = prop_oneof![Just(FIRST), Just(SECOND)];
    let order =
        (prop::sample::select(vec![36_u8, 40, 44, 52, 100]), 0..7_u8, any::<bool>(), 0..3_u64);
    let order = order.prop_map(|(number, count, quiet, check)| ChannelSwitch {
        to: channel(number),
        count,
        quiet,
        check: Duration::from_millis(700) * check,
        radar: false,
    });
    prop_oneof![
        3 => (of.clone(), order).prop_map(|(of, order)| Act::Move(of, order)),
        1 => (of, any::<bool>()).prop_map(|(of, failed)| Act::Fail(of, failed)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// Moves and failures at any instants, on top of each other: every packet ends once or waits, and
    /// no access point sends while it listens for radar.
    #[test]
    fn moves_at_any_time_are_in_order(
        acts in prop::collection::vec((0..4_000_u64, act()), 0..8),
    ) {
        let mut acts: Vec<_> = acts.into_iter().map(|(ms, act)| (at(ms), act)).collect();
        acts.sort_by_key(|(at, _)| *at);
        acts.dedup_by_key(|(at, _)| *at);
        let run = Run::new(&near(), &acts, Duration::from_millis(4_000));
        for of in [FIRST, SECOND] {
            let mut silent: Option<Instant> = None;
            let mut spans = Vec::new();
            for &(at, station, step) in &run.switches {
                match step {
                    _ if station != of => {}
                    SwitchStep::Checking => silent = Some(at),
                    SwitchStep::Checked => spans.extend(silent.take().map(|from| (from, at))),
                    _ => {}
                }
            }
            for ppdu in run.ppdus.iter().filter(|ppdu| ppdu.transmitter == of) {
                let is_within = |&(from, until): &(Instant, Instant)| {
                    ppdu.start > from && ppdu.start < until
                };
                prop_assert!(!spans.iter().any(is_within), "{ppdu:?}");
            }
        }
    }
}
