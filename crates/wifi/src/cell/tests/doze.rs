//! Stations that doze: frames that they hear and request, and conservation of packets.

use super::away::{Run, STA, ms};
use super::*;
use crate::event::{Event, Frame, FrameKind, Ppdu};
use crate::mac::beacon_clock::WakeClock;
use crate::mac::power_save::{Busy, PowerSaveConfig, Retrieval, Sending};
use crate::phy::LinkConfig;

const SECOND: Duration = Duration::from_secs(1);

/// An access point and one station that dozes, or `stations` of them.
pub(super) fn dozing(stations: usize, retrieval: Retrieval) -> CellConfig {
    let rate = mcs(15, ChannelWidth::Mhz20, GuardInterval::Long);
    let mut config = cell(stations, rate, ChannelWidth::Mhz20, 65_535);
    config.record_events = true;
    for station in &mut config.stations[1..] {
        station.power_save = Some(PowerSaveConfig::dynamic(ms(100), retrieval));
    }
    config
}

/// The frames of a run, without beacons and Acks.
fn story(run: &Run) -> Vec<(StationId, FrameKind)> {
    run.frames()
        .map(|(_, _, transmitter, frame)| (transmitter, frame.kind))
        .filter(|(_, kind)| !matches!(kind, FrameKind::Beacon { .. } | FrameKind::Ack))
        .collect()
}

fn awake_share(run: &Run, time: Duration) -> f64 {
    1.0 - run.stats.away.as_secs_f64() / time.as_secs_f64()
}

#[test]
fn an_idle_station_wakes_for_beacons_only() {
    for (listen_interval, wakes) in [(1, 48), (5, 10)] {
        let mut config = dozing(1, Retrieval::PsPoll);
        let power_save = config.stations[1].power_save.as_mut().expect("it dozes");
        power_save.listen_interval = listen_interval;
        let run = Run::new(&config, AP, Duration::ZERO, SECOND * 4);
        assert_eq!(story(&run), [(STA, FrameKind::Null { power_management: true })]);
        let absences = run.absences();
        assert!((wakes - 2..=wakes + 1).contains(&absences.len()), "{}", absences.len());
        let awake = awake_share(&run, SECOND * 5);
        assert!(awake < 0.045, "awake for {awake} of the time");
    }
}

#[test]
fn a_poll_brings_one_frame() {
    let config = dozing(1, Retrieval::PsPoll);
    // Three a second: all but those of the first 100 ms are polled for.
    let run = Run::new(&config, AP, ms(333), SECOND * 4);
    assert_eq!((run.delivered, run.sent), (13, 13));
    assert_eq!(run.stats.ps_polls, 12);
    // At most a beacon interval, and the time of a beacon and a poll.
    assert!(run.delays.iter().all(|delay| *delay < ms(105)), "{:?}", run.delays);
    let awake = awake_share(&run, SECOND * 5);
    assert!(awake < 0.06, "awake for {awake} of the time");
    let polls = |kind: FrameKind| kind == FrameKind::PsPoll { aid: 1 };
    let frames: Vec<_> = run.frames().collect();
    for (index, (_, end, transmitter, frame)) in frames.iter().enumerate() {
        if !polls(frame.kind) {
            continue;
        }
        assert_eq!((*transmitter, frame.bytes), (STA, 20));
        let (start, _, _, ack) = frames[index + 1];
        assert_eq!((start, ack.kind), (*end + Duration::from_micros(16), FrameKind::Ack));
        let (_, _, from, data) = frames[index + 2];
        assert!(from == AP && matches!(data.kind, FrameKind::QosData { .. }) && !data.more_data);
        // Before it, the beacon that said so.
        let (_, _, _, beacon) = frames[index - 1];
        assert_eq!(beacon.announced, [1]);
    }
}

/// The driver queue passes over packets for a station that dozes, until it polls.
#[test]
fn a_poll_fills_the_driver_queue() {
    for limit in [DriverLimit::Packets(8), DriverLimit::Airtime(ms(5))] {
        let mut config = dozing(1, Retrieval::PsPoll);
        config.stations[AP.index()].driver_queue = limit;
        let run = Run::new(&config, AP, ms(333), SECOND * 4);
        assert_eq!((run.delivered, run.sent), (13, 13), "{limit:?}");
        assert_eq!(run.stats.ps_polls, 12);
    }
}

#[test]
fn more_data_makes_it_poll_again() {
    let mut config = dozing(1, Retrieval::PsPoll);
    config.stations[1].power_save.as_mut().expect("it dozes").idle = ms(5);
    // Ten for each beacon.
    let run = Run::new(&config, AP, ms(10), SECOND * 2);
    assert_eq!((run.delivered, run.sent), (200, 200));
    let mut more = run.frames().filter(|(.., f)| matches!(f.kind, FrameKind::QosData { .. }));
    assert!(more.any(|(.., frame)| frame.more_data));
    assert!(run.stats.ps_polls > 150, "{}", run.stats.ps_polls);
    assert!(run.delays.iter().all(|delay| *delay < ms(110)));
    let awake = awake_share(&run, SECOND * 3);
    assert!(awake < 0.2, "awake for {awake} of the time");
}

#[test]
fn it_wakes_up_for_what_is_announced_if_it_does_not_poll() {
    let config = dozing(1, Retrieval::Wake);
    let run = Run::new(&config, AP, ms(333), SECOND * 4);
    assert_eq!((run.delivered, run.sent), (13, 13));
    assert_eq!(run.stats.ps_polls, 0);
    let wakes = |(_, kind): &&(_, FrameKind)| *kind == FrameKind::Null { power_management: false };
    assert_eq!(story(&run).iter().filter(wakes).count(), 12);
    assert!(run.delays.iter().all(|delay| *delay < ms(105)), "{:?}", run.delays);
}

#[test]
fn it_wakes_up_to_send_at_once() {
    let config = dozing(1, Retrieval::PsPoll);
    let run = Run::new(&config, STA, ms(333), SECOND * 4);
    assert_eq!((run.delivered, run.sent), (13, 13));
    assert!(run.delays.iter().all(|delay| *delay < ms(2)), "{:?}", run.delays);
    let nulls = run.nulls();
    assert!(nulls.len() >= 24);
    for pair in nulls[1..].chunks_exact(2) {
        assert_eq!(pair[0].1.kind, FrameKind::Null { power_management: false });
        assert_eq!(pair[1].1.kind, FrameKind::Null { power_management: true });
        assert!(pair[1].0 > pair[0].0 + ms(100));
    }
}

#[test]
fn group_frames_wait_for_a_dtim() {
    let mut config = dozing(3, Retrieval::PsPoll);
    config.stations[3].power_save = None;
    config.dtim_period = 3;
    let mut cell = Cell::new(&config, Seed::new(2, 0)).expect("a sound cell");
    let (mut heard, mut sent) = ([0; 4], 0);
    let mut ppdus: Vec<Ppdu> = Vec::new();
    let end = Instant::ZERO + SECOND * 5;
    let mut next = Instant::ZERO + ms(150);
    while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < end) {
        let now = at.min(next);
        cell.handle_timeout(now);
        if now == next {
            cell.handle_packet(now, AP, Address::Group, Packet::new(sent, 300, now));
            sent += 1;
            next = if sent < 100 { now + ms(40) } else { Instant::MAX };
        }
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { station, .. } => heard[station.index()] += 1,
                Output::Dropped { .. } => panic!("{output:?}"),
                Output::GroupSent { .. } => heard[0] += 1,
                Output::Overheard { .. } | Output::Attached { .. } => {
                    unreachable!("nobody is promiscuous, or roams")
                }
            }
        }
        while let Some(event) = cell.poll_event() {
            ppdus.extend(match event {
                Event::Ppdu(ppdu) => Some(ppdu),
                _ => None,
            });
        }
    }
    assert_eq!(heard, [sent; 4], "everybody hears all");
    let mut beacon = None;
    for ppdu in &ppdus {
        let frame = &ppdu.psdus[0].frames[0];
        match frame.kind {
            FrameKind::Beacon { dtim_count, group_traffic, .. } => {
                assert!(dtim_count < 3 && (dtim_count == 0 || !group_traffic));
                beacon = Some((ppdu.end, dtim_count, group_traffic));
            }
            FrameKind::QosData { .. } => {
                let (end, dtim_count, group_traffic) = beacon.expect("a beacon went before");
                assert!(dtim_count == 0 && group_traffic && ppdu.start < end + ms(10));
            }
            _ => {}
        }
    }
    let last = |frame: &&crate::event::Frame| matches!(frame.kind, FrameKind::QosData { .. });
    let frames: Vec<_> = ppdus.iter().map(|ppdu| &ppdu.psdus[0].frames[0]).filter(last).collect();
    assert!(frames.iter().any(|frame| frame.more_data) && !frames[frames.len() - 1].more_data);
}

/// A station that scans once, from 50 ms to about 80 ms, and whose return stays unnoticed.
fn unheard_return() -> CellConfig {
    use crate::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanConfig, ScanKind};
    let mut config = dozing(1, Retrieval::PsPoll);
    let station = &mut config.stations[1];
    station.power_save = None;
    let null = NullConfig { attempts: 1, return_loss: Probability::ONE, ..NullConfig::default() };
    station.scan = Some(ScanConfig {
        start: ms(50),
        period: SECOND * 60,
        channels: 1,
        away: ms(30),
        passive: PassiveChannels::default(),
        back: ms(200),
        kind: ScanKind::Passive,
        own_channel: None,
        flush: Duration::ZERO,
        leftover: Leftover::Keep,
        return_drain: None,
        null,
    });
    config
}

/// Sends one packet in a second; returns the frames, and the instant of its delivery.
fn one_packet(
    config: &CellConfig,
    from: StationId,
    to: StationId,
    at: Duration,
) -> (Vec<FrameKind>, Option<Instant>) {
    let mut cell = Cell::new(config, Seed::new(2, 0)).expect("a sound cell");
    let (mut frames, mut delivered) = (Vec::new(), None);
    let end = Instant::ZERO + SECOND;
    let mut packet = Some(Packet::new(0, 300, Instant::ZERO + at));
    while let Some((now, _)) = cell.poll_timeout().filter(|(now, _)| *now < end) {
        cell.handle_timeout(now);
        if let Some(packet) = packet.take_if(|packet| packet.created <= now) {
            cell.handle_packet(now, from, Address::Station(to), packet);
        }
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event {
                frames.push(ppdu.psdus[0].frames[0].kind);
            }
        }
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { at, .. } = output {
                delivered = Some(at);
            }
        }
    }
    (frames, delivered)
}

#[test]
fn a_lost_null_is_made_good_by_the_next_beacon() {
    let (frames, _) = one_packet(&unheard_return(), AP, STA, ms(90));
    let nulls = frames.iter().filter(|kind| matches!(kind, FrameKind::Null { .. })).count();
    // Two of the scan, and one for each of the eight beacons with its bit.
    assert_eq!(nulls, 2 + 8);
}

/// The ADDBA Request has the Power Management bit unset, like all frames of the station (11.2.3.2).
/// The access point therefore does not hold the answer until a poll that never comes.
#[test]
fn a_lost_null_is_made_good_by_an_addba_request() {
    let (frames, delivered) = one_packet(&unheard_return(), STA, AP, ms(150));
    let answers = |kind: &&FrameKind| matches!(kind, FrameKind::AddbaResponse { .. });
    assert_eq!(frames.iter().filter(answers).count(), 1);
    let nulls = frames.iter().filter(|kind| matches!(kind, FrameKind::Null { .. })).count();
    assert_eq!(nulls, 2, "no beacon has to announce it");
    let delivered = delivered.expect("it is delivered");
    assert!(delivered < Instant::ZERO + SECOND / 2, "{delivered:?}");
}

/// A management frame is announced and fetched as data is (bufferable MMPDUs, 11.2.2).
#[test]
fn an_addba_response_is_held_and_fetched() {
    for retrieval in [Retrieval::PsPoll, Retrieval::Wake] {
        let config = dozing(1, retrieval);
        let mut cell = Cell::new(&config, Seed::new(2, 0)).expect("a sound cell");
        let mut kinds = Vec::new();
        let asked = Instant::ZERO + SECOND / 2;
        let mut to_ask = true;
        let packet = Packet::new(0, 300, Instant::ZERO);
        cell.handle_packet(Instant::ZERO, STA, Address::Station(AP), packet);
        while let Some((now, _)) =
            cell.poll_timeout().filter(|(now, _)| *now < Instant::ZERO + SECOND)
        {
            cell.handle_timeout(now);
            while let Some(event) = cell.poll_event() {
                if let Event::Ppdu(ppdu) = event
                    && ppdu.start > asked
                {
                    kinds.push(ppdu.psdus[0].frames[0].kind);
                }
            }
            while cell.poll_output().is_some() {}
            if now > asked && core::mem::take(&mut to_ask) {
                cell.power(|power, floor| {
                    floor.answer_addba(power, AP, STA, 1, Default::default());
                });
            }
        }
        let first = match retrieval {
            Retrieval::PsPoll => FrameKind::PsPoll { aid: 1 },
            Retrieval::Wake => FrameKind::Null { power_management: false },
        };
        kinds.retain(|kind| !matches!(kind, FrameKind::Beacon { .. }));
        let story = &kinds[..4];
        assert_eq!((story[0], story[1], story[3]), (first, FrameKind::Ack, FrameKind::Ack));
        assert!(matches!(story[2], FrameKind::AddbaResponse { .. }), "{story:?}");
        let answers = kinds.iter().filter(|kind| matches!(kind, FrameKind::AddbaResponse { .. }));
        assert_eq!(answers.count(), 1);
    }
}

/// One station that sends in power save mode, and enters it after its first interval.
fn in_power_save(busy: Busy) -> CellConfig {
    let mut config = dozing(1, Retrieval::PsPoll);
    let power_save = config.stations[1].power_save.as_mut().expect("it dozes");
    power_save.sending = Sending::InPowerSave(busy);
    config
}

/// A station may send without leaving power save mode (11.2.3.2): no Null frame precedes, its
/// frames have PM = 1, and its radio is off again after their acknowledgement.
#[test]
fn it_sends_in_power_save_mode() {
    let busy = Busy { frames: 50, interval: SECOND };
    let run = Run::new(&in_power_save(busy), STA, ms(333), SECOND * 4);
    assert_eq!((run.delivered, run.sent), (13, 13));
    assert!(run.delays.iter().all(|delay| *delay < ms(2)), "{:?}", run.delays);
    assert_eq!(run.nulls().len(), 1, "it enters the mode once");
    let entered = run.nulls()[0].0;
    let data = |f: &Frame| matches!(f.kind, FrameKind::QosData { .. });
    for (start, _, _, frame) in run.frames().filter(|(.., frame)| data(frame)) {
        assert_eq!(frame.power_management, start > entered, "{start:?}");
    }
    let awake = awake_share(&run, SECOND * 5);
    assert!(awake < 0.25, "awake for {awake} of the time, one second of five by itself");
}

/// The access point obeys the bit: packets for the station wait for the next beacon even directly
/// after a frame of the station, which polls for each.
#[test]
fn what_answers_it_waits_for_a_beacon() {
    let config = in_power_save(Busy { frames: 50, interval: ms(300) });
    let mut cell = Cell::new(&config, Seed::new(2, 0)).expect("a sound cell");
    let (mut waits, mut polls) = (Vec::new(), 0);
    let mut next = Instant::ZERO + ms(500);
    while let Some((at, _)) =
        cell.poll_timeout().filter(|(at, _)| *at < Instant::ZERO + SECOND * 60)
    {
        let now = at.min(next);
        cell.handle_timeout(now);
        if now == next {
            let request = Packet::new(0, 84, now);
            cell.handle_packet(now, STA, Address::Station(AP), request);
            next += ms(977);
        }
        while let Some(output) = cell.poll_output() {
            let Output::Delivered { at, station, packet } = output else { panic!("{output:?}") };
            if station == AP {
                let answer = Packet::new(1, 84, packet.created);
                cell.handle_packet(at, AP, Address::Station(STA), answer);
            } else {
                waits.push(at - packet.created);
            }
        }
        while let Some(event) = cell.poll_event() {
            let Event::Ppdu(ppdu) = event else { continue };
            polls += usize::from(ppdu.psdus[0].frames[0].kind == FrameKind::PsPoll { aid: 1 });
        }
    }
    waits.sort_unstable();
    assert_eq!((waits.len(), polls), (61, 61));
    // Even between nothing and a beacon interval of 102.4 ms.
    let quartile = |n: usize| waits[waits.len() * n / 4].as_secs_f64() * 1e3 / 102.4;
    for n in 1..4 {
        let expected = n as f64 / 4.0;
        assert!((quartile(n) - expected).abs() < 0.15, "{n}: {}", quartile(n));
    }
    assert!(waits[60] < ms(105), "{waits:?}");
}

#[test]
fn a_listen_interval_is_not_begun_anew_by_what_it_sends() {
    let mut config = in_power_save(Busy { frames: 500, interval: ms(100) });
    config.stations[1].power_save.as_mut().expect("it dozes").listen_interval = 3;
    let mut cell = Cell::new(&config, Seed::new(2, 0)).expect("a sound cell");
    let mut next = Instant::ZERO + ms(200);
    let (mut waiting, mut longest) = (None, Duration::ZERO);
    while let Some((at, _)) =
        cell.poll_timeout().filter(|(at, _)| *at < Instant::ZERO + SECOND * 10)
    {
        let now = at.min(next);
        cell.handle_timeout(now);
        if now == next {
            cell.handle_packet(now, STA, Address::Station(AP), Packet::new(0, 84, now));
            if waiting.is_none() {
                cell.handle_packet(now, AP, Address::Station(STA), Packet::new(1, 84, now));
                waiting = Some(now);
            }
            next += ms(30);
        }
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { at, station: STA, .. } = output {
                longest = longest.max(at - waiting.take().expect("one was sent"));
            }
        }
        while cell.poll_event().is_some() {}
    }
    assert!(ms(200) < longest && longest < ms(3 * 103), "{longest:?}");
}

/// With more traffic the station leaves the mode at once, and returns when there is less.
#[test]
fn a_busy_station_leaves_power_save_mode() {
    let config = in_power_save(Busy { frames: 10, interval: ms(500) });
    for from in [STA, AP] {
        let run = Run::new(&config, from, ms(5), SECOND * 3);
        assert_eq!((run.delivered, run.sent), (600, 600));
        let bits: Vec<_> = run.nulls().iter().map(|(_, frame)| frame.kind).collect();
        let null = |power_management| FrameKind::Null { power_management };
        // It was busy in its first interval, so it never enters the mode until the end.
        assert_eq!(bits, [null(true)]);
    }
    let mut late = config;
    late.stations[1].power_save.as_mut().expect("it dozes").sending =
        Sending::InPowerSave(Busy { frames: 120, interval: ms(500) });
    // 100 in each interval are not enough.
    let run = Run::new(&late, STA, ms(5), SECOND * 3);
    assert_eq!(run.nulls().len(), 1);
    let run = Run::new(&late, STA, ms(4), SECOND * 3);
    let first = run.nulls().first().map(|(at, _)| *at).expect("it returns at the end");
    assert!(first > Instant::ZERO + SECOND * 3);
}

/// A packet waits for a beacon interval and one more for each beacon that is missed. With a clock
/// that strays by 80 % of the lead, the waits resemble those of pings to small computers: measured
/// medians of 49 to 127 ms, 90th percentiles of 375 to 554, 99th of 814 and more.
#[test]
fn missed_beacons_make_waits_longer() {
    let mut config = dozing(1, Retrieval::PsPoll);
    let power_save = config.stations[1].power_save.as_mut().expect("it dozes");
    power_save.idle = ms(20);
    let (lead, jitter) = (Duration::from_micros(3_000), Duration::from_micros(2_400));
    power_save.clock = WakeClock { lead, jitter, missed_max: 7, ..WakeClock::EXACT };
    let mut run = Run::new(&config, AP, ms(977), SECOND * 1_000);
    assert_eq!((run.delivered, run.sent), (1_024, 1_024));
    run.delays.sort_unstable();
    let percentile = |n: usize| run.delays[run.delays.len() * n / 100];
    assert!((ms(49)..ms(127)).contains(&percentile(50)), "{:?}", percentile(50));
    assert!((ms(375)..ms(554)).contains(&percentile(90)), "{:?}", percentile(90));
    assert!(percentile(99) > ms(700), "{:?}", percentile(99));
    // Seven are missed in a row at most, and then it is awake.
    assert!(percentile(99).max(run.delays[1_023]) < ms(8 * 103), "{:?}", run.delays[1_023]);
    assert!(run.stats.beacons_missed > 1_000);
    let beacons = 1_001 * 10_000 / 1_024;
    assert!(run.stats.beacons_missed < beacons / 3, "{}", run.stats.beacons_missed);
}

/// A lost beacon leaves the clock as it is, and counts as missed.
#[test]
fn beacons_that_are_lost_are_missed() {
    let mut config = dozing(1, Retrieval::PsPoll);
    config.record_events = false;
    let run = Run::new(&config, AP, ms(333), SECOND * 4);
    assert_eq!(run.stats.beacons_missed, 0);
    // Of everything on the air half is lost, whatever the signal.
    config.change_links(|pair| {
        pair.link = LinkConfig { loss: Some(Probability::new(0.5).expect("one half")), ..pair.link }
    });
    let run = Run::new(&config, AP, ms(333), SECOND * 4);
    assert!(run.stats.beacons_missed > 10, "{}", run.stats.beacons_missed);
    assert!(run.delays.iter().any(|delay| *delay > ms(110)), "{:?}", run.delays);
}
