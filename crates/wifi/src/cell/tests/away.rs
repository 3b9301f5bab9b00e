//! Stations that scan: the schedule and the frames of section IV of the paper on access point
//! scanning, and the losses.

use super::*;
use crate::event::{Event, Frame, FrameKind, PowerState};
use crate::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanConfig, ScanKind};
use alloc::collections::BTreeSet;

pub(super) const STA: StationId = StationId(1);

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms_: u64) -> Instant {
    Instant::ZERO + ms(ms_)
}

/// Three absences a second from 100 ms on.
pub(super) fn scan() -> ScanConfig {
    ScanConfig {
        start: ms(100),
        period: Duration::from_secs(1),
        channels: 3,
        away: ms(110),
        passive: PassiveChannels::default(),
        back: ms(50),
        kind: ScanKind::Passive,
        own_channel: None,
        flush: ms(20),
        leftover: Leftover::Keep,
        return_drain: None,
        null: NullConfig::default(),
    }
}

/// An access point and a station that scans, 130 Mb/s.
pub(super) fn scanning(scan: ScanConfig) -> CellConfig {
    let rate = mcs(15, ChannelWidth::Mhz20, GuardInterval::Long);
    let mut config = cell(1, rate, ChannelWidth::Mhz20, 65_535);
    config.record_events = true;
    for station in &mut config.stations {
        // Voice, as which Null frames go out.
        station.access[3] = EdcaParameters { aifsn: 2, cw_min: 3, cw_max: 7, ..station.access[0] };
    }
    config.stations[STA.index()].scan = Some(scan);
    config
}

/// Results of a run.
#[derive(Default)]
pub(super) struct Run {
    pub events: Vec<Event>,
    pub sent: u64,
    pub delivered: u64,
    /// Tag and reason of each dropped packet.
    pub dropped: Vec<(u64, DropReason)>,
    /// Times from the queue to the receiver.
    pub delays: Vec<Duration>,
    /// Delivered packets, with the instant of delivery.
    pub packets: Vec<(Instant, Packet)>,
    /// Counters of the station.
    pub stats: StationStats,
}

impl Run {
    /// Sends a packet from `from` to `to` every `interval` for `time`; then waits for a second, and
    /// up to ten for queued packets.
    pub fn new(config: &CellConfig, from: StationId, interval: Duration, time: Duration) -> Self {
        let to = if from == AP { STA } else { AP };
        let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
        let mut run = Self::default();
        let mut ended = BTreeSet::new();
        let end = Instant::ZERO + time;
        let mut last = end + Duration::from_secs(1);
        let mut next = if interval.is_zero() { end } else { Instant::ZERO };
        loop {
            let wake = cell.poll_timeout().map_or(Instant::MAX, |(at, _)| at);
            let now = wake.min(if next < end { next } else { Instant::MAX });
            let is_done = ended.len() as u64 == run.sent;
            let drain = Duration::from_secs(if is_done { 1 } else { 10 });
            if now > end + drain {
                break;
            }
            last = last.max(now);
            cell.handle_timeout(now);
            if now == next && next < end {
                let packet = Packet::new(run.sent, 1500, now);
                cell.handle_packet(now, from, Address::Station(to), packet);
                run.sent += 1;
                next = now + interval;
            }
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { at, packet, .. } => {
                        run.delivered += 1;
                        run.delays.push(at - packet.created);
                        run.packets.push((at, packet));
                        assert!(ended.insert(packet.tag));
                    }
                    Output::Dropped { packet, reason, .. } => {
                        run.dropped.push((packet.tag, reason));
                        assert!(ended.insert(packet.tag));
                    }
                    Output::GroupSent { .. }
                    | Output::Overheard { .. }
                    | Output::Attached { .. } => {}
                }
            }
            while let Some(event) = cell.poll_event() {
                run.events.push(event);
            }
            while cell.poll_space().is_some() {}
        }
        assert_eq!(run.delivered + run.dropped.len() as u64, run.sent, "every packet ends once");
        run.stats = cell.station_stats(last, STA).clone();
        run
    }

    /// Absences: departure and return.
    pub fn absences(&self) -> Vec<(Instant, Instant)> {
        let mut absences = Vec::new();
        let mut left = None;
        for event in &self.events {
            if let Event::Power { at, station: STA, state } = event {
                match state {
                    PowerState::OffChannel | PowerState::Dozing => {
                        assert_eq!(left.replace(*at), None);
                    }
                    PowerState::Awake => absences.push((left.take().expect("it left"), *at)),
                }
            }
        }
        absences
    }

    pub fn frames(&self) -> impl Iterator<Item = (Instant, Instant, StationId, &Frame)> {
        self.events.iter().filter_map(|event| match event {
            Event::Ppdu(ppdu) => {
                Some((ppdu.start, ppdu.end, ppdu.transmitter, &ppdu.psdus[0].frames[0]))
            }
            _ => None,
        })
    }

    /// Whether an Ack or similar frame at this instant follows data.
    fn data_before(&self, start: Instant) -> bool {
        let since = start - Duration::from_micros(16);
        self.frames()
            .any(|(_, end, _, f)| end == since && matches!(f.kind, FrameKind::QosData { .. }))
    }

    pub fn nulls(&self) -> Vec<(Instant, &Frame)> {
        let nulls = self.frames().filter(|(.., f)| matches!(f.kind, FrameKind::Null { .. }));
        nulls.map(|(start, .., frame)| (start, frame)).collect()
    }
}

#[test]
fn an_idle_station_keeps_its_schedule() {
    let run = Run::new(&scanning(scan()), STA, Duration::ZERO, Duration::from_secs(2));
    let absences = run.absences();
    assert_eq!(absences.len(), 9);
    let nulls = run.nulls();
    assert_eq!(nulls.len(), 18);
    for (index, (left, back)) in absences.iter().enumerate() {
        let (start, leave) = nulls[2 * index];
        let (end, back_again) = nulls[2 * index + 1];
        assert_eq!(leave.kind, FrameKind::Null { power_management: true });
        assert_eq!(back_again.kind, FrameKind::Null { power_management: false });
        // The beginning of a scan is fixed, the rest follows from it.
        let scheduled = at(100 + 1000 * (index as u64 / 3) + 160 * (index as u64 % 3));
        assert!(start >= scheduled && start < scheduled + ms(2), "absence {index}: {start:?}");
        assert!(*left < start + ms(1) && *back - *left > ms(109) && end - start < ms(111));
        assert_eq!(back_again.sequence, leave.sequence.next());
    }
}

#[test]
fn nulls_are_repeated_and_asked_for() {
    let never = NullConfig { leave_loss: Probability::ONE, ..NullConfig::default() };
    let scan = ScanConfig { null: never, channels: 1, period: Duration::from_secs(60), ..scan() };
    let run = Run::new(&scanning(scan), STA, Duration::ZERO, ms(500));
    let story: Vec<&str> = run
        .frames()
        .filter_map(|(_, _, _, frame)| {
            Some(match frame.kind {
                FrameKind::Null { power_management: true } if frame.retry => "null, retry",
                FrameKind::Null { power_management: true } => "null",
                FrameKind::Null { power_management: false } => "back",
                FrameKind::Rts => "rts",
                FrameKind::Cts => "cts",
                FrameKind::Ack => "ack",
                FrameKind::Beacon { .. } => return None,
                _ => panic!("{frame:?}"),
            })
        })
        .collect();
    let mut expected = vec!["null", "null, retry", "null, retry", "null, retry"];
    for _ in 0..5 {
        expected.extend(["rts", "cts", "null, retry"]);
    }
    // Given up, it leaves all the same.
    expected.extend(["back", "ack"]);
    assert_eq!(story, expected[..]);
    let sequences: BTreeSet<u16> =
        run.nulls().iter().map(|(_, frame)| frame.sequence.as_u16()).collect();
    assert_eq!(sequences.len(), 2, "repeated under one number");
    // Four of its own accord, five asked for, one on coming back.
    assert_eq!((run.stats.nulls, run.nulls().len()), (10, 10));
    let last = run.nulls()[8].0;
    let duration = last - run.nulls()[0].0;
    assert!(duration > Duration::from_micros(1200) && duration < ms(2), "{duration}");
    assert_eq!(run.absences().len(), 1);
}

#[test]
fn nothing_reaches_a_station_that_is_away_and_nothing_is_lost() {
    for (from, loss) in [(AP, 0.0), (STA, 0.0), (AP, 1.0), (STA, 1.0)] {
        let loss = Probability::new(loss).expect("a probability");
        let null = NullConfig { leave_loss: loss, ..NullConfig::default() };
        let mut config = scanning(ScanConfig { null, ..scan() });
        for station in &mut config.stations {
            station.retry_limit = 255;
            station.queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
        }
        let run = Run::new(&config, from, Duration::from_micros(200), Duration::from_secs(2));
        let absences = run.absences();
        assert!(absences.len() > 5);
        let mut into_the_void = 0;
        for (start, end, transmitter, frame) in run.frames() {
            for &(left, back) in &absences {
                if start < back && end > left {
                    assert_eq!(transmitter, AP, "{frame:?}");
                    let data = matches!(frame.kind, FrameKind::QosData { .. });
                    assert!(!data || !frame.received);
                    into_the_void += usize::from(data);
                }
            }
        }
        if from == AP {
            assert_eq!(into_the_void > 0, loss == Probability::ONE);
        }
        let wrong: Vec<_> =
            run.dropped.iter().filter(|(_, r)| *r != DropReason::Duplicate).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        // A gap that waits for the whole absence is given up by the reorder buffer.
        assert!(from == AP && loss == Probability::ONE || run.dropped.is_empty());
    }
}

#[test]
fn the_access_point_holds_so_many_and_drops_the_oldest() {
    let mut config = scanning(ScanConfig { channels: 1, ..scan() });
    config.stations[AP.index()].power_save_buffer = Some(64);
    // 110 packets arrive during the absence.
    let run = Run::new(&config, AP, ms(1), ms(900));
    let tags: Vec<u64> = run.dropped.iter().map(|(tag, _)| *tag).collect();
    assert!(run.dropped.iter().all(|(_, reason)| *reason == DropReason::PowerSaveBuffer));
    assert!((45..=47).contains(&tags.len()), "{tags:?}");
    let first = tags[0];
    assert!((100..=101).contains(&first));
    assert_eq!(tags, (first..first + tags.len() as u64).collect::<Vec<_>>());
}

#[test]
fn what_is_not_sent_in_time_is_kept_or_given_up() {
    for (leftover, driver, least, most) in [
        (Leftover::Keep, DriverLimit::Packets(200), 0, 0),
        (Leftover::DropDriver, DriverLimit::None, 0, 64),
        (Leftover::DropDriver, DriverLimit::Packets(200), 100, 200),
        (Leftover::DropAll, DriverLimit::Packets(200), 400, 500),
    ] {
        let scan = ScanConfig { leftover, channels: 1, flush: ms(2), ..scan() };
        let mut config = scanning(scan);
        config.stations[STA.index()].driver_queue = driver;
        config.stations[STA.index()].queue = QueueConfig::DropTail { limit: Limit::Packets(300) };
        // 240 Mb/s are far more than fit: all queues are full.
        let run = Run::new(&config, STA, Duration::from_micros(50), ms(500));
        let given_up = run.dropped.iter().filter(|(_, r)| *r == DropReason::OffChannel).count();
        assert!((least..=most).contains(&given_up), "{leftover:?}, {driver:?}: {given_up}");
    }
}

#[test]
fn a_queue_that_is_started_too_early_drains_into_nothing() {
    // Three absences, two of them followed by another: the last return loses nothing. 240
    // Mb/s fill the queue of 300; of a packet every 200 ms one comes during an absence.
    for (most, interval, lost) in [
        (None, Duration::from_micros(50), 0),
        (Some(64), Duration::from_micros(50), 2 * 64),
        (Some(640), Duration::from_micros(50), 2 * 300),
        (Some(640), ms(200), 1),
    ] {
        let scan = ScanConfig { return_drain: most, ..scan() };
        let mut config = scanning(ScanConfig { period: Duration::from_secs(60), ..scan });
        config.stations[STA.index()].queue = QueueConfig::DropTail { limit: Limit::Packets(300) };
        config.stations[STA.index()].driver_queue = DriverLimit::Packets(100);
        let run = Run::new(&config, STA, interval, ms(1_200));
        assert_eq!(run.absences().len(), 3);
        let given_up = run.dropped.iter().filter(|(_, r)| *r == DropReason::OffChannel).count();
        assert_eq!(given_up, lost, "{most:?}, {interval}");
    }
}

#[test]
fn on_its_own_channel_it_asks_and_is_answered() {
    let scan = ScanConfig { kind: ScanKind::Active, own_channel: Some(2), ..scan() };
    let scan = ScanConfig { period: Duration::from_secs(60), ..scan };
    let run = Run::new(&scanning(scan), AP, ms(1), ms(500));
    assert_eq!(run.absences().len(), 2, "it stays for the second of three");
    let story: Vec<_> = run
        .frames()
        .filter(|(.., f)| !matches!(f.kind, FrameKind::QosData { .. } | FrameKind::BlockAck { .. }))
        .filter(|(start, ..)| *start > run.absences()[0].1 && *start < run.absences()[1].0)
        .filter(|(.., frame)| !matches!(frame.kind, FrameKind::Beacon { .. }))
        .filter(|(start, ..)| !run.data_before(*start))
        .map(|(_, _, transmitter, frame)| (transmitter, frame.kind))
        .collect();
    let asked = story.iter().position(|(_, kind)| matches!(kind, FrameKind::ProbeRequest { .. }));
    let asked = asked.expect("it asks");
    assert_eq!(story[asked].0, STA);
    assert_eq!(story[asked + 1..][..2], [(AP, FrameKind::ProbeResponse), (STA, FrameKind::Ack)]);
    assert_eq!(story[asked - 1].1, FrameKind::Ack, "of its Null");
    assert_eq!(run.dropped, []);
}

#[test]
fn the_flush_ends_when_the_driver_is_empty() {
    let scan = ScanConfig { channels: 1, flush: ms(90), leftover: Leftover::DropDriver, ..scan() };
    let mut config = scanning(scan);
    config.stations[STA.index()].driver_queue = DriverLimit::Packets(100);
    let run = Run::new(&config, STA, Duration::from_micros(80), ms(500));
    assert!(run.dropped.iter().all(|(_, r)| *r == DropReason::QueueFull));
    // 100 packets of 1 500 bytes need 10 ms.
    let (left, _) = run.absences()[0];
    assert!(left > at(105) && left < at(120), "{left:?}");
}

/// An access point that scans, and a station that does not.
fn scanning_access_point() -> CellConfig {
    let mut config = scanning(scan());
    config.stations[AP.index()].scan = config.stations[STA.index()].scan.take();
    config
}

/// Absences of the access point.
fn absences_of_access_point(run: &Run) -> Vec<(Instant, Instant)> {
    let mut absences = Vec::new();
    let mut left = None;
    for event in &run.events {
        match event {
            Event::Power { at, station: AP, state: PowerState::OffChannel } => left = Some(*at),
            Event::Power { at, station: AP, .. } => {
                absences.push((left.take().expect("it left"), *at));
            }
            _ => {}
        }
    }
    absences
}

#[test]
fn an_access_point_leaves_without_a_word() {
    let run = Run::new(&scanning_access_point(), AP, ms(10), Duration::from_secs(3));
    assert!(run.nulls().is_empty(), "it has nobody to tell");
    let absences = absences_of_access_point(&run);
    assert!(absences.len() >= 9, "{}", absences.len());
    let is_away = |from: Instant, until: Instant| {
        absences.iter().any(|(left, back)| from < *back && until > *left)
    };
    for (from, until, transmitter, frame) in run.frames() {
        assert!(transmitter != AP || !is_away(from, until), "{frame:?} at {from:?}");
    }
    // A beacon is sent at each of its instants at which the access point is there, and those that
    // it missed are not made up for.
    let beacons: Vec<Instant> = run
        .frames()
        .filter(|(.., frame)| matches!(frame.kind, FrameKind::Beacon { .. }))
        .map(|(start, ..)| start)
        .collect();
    let interval = Duration::from_micros(102_400);
    let last = beacons.last().map_or(0, |last| (*last - Instant::ZERO).as_nanos());
    let due = (1..=last / interval.as_nanos()).map(|n| Instant::ZERO + interval * n);
    let there = due.filter(|at| !is_away(*at, *at + Duration::from_nanos(1))).count();
    assert_eq!(beacons.len(), there);
    // What it has to send waits: for an absence, and for what waits in front.
    assert_eq!((run.delivered, run.dropped.len()), (run.sent, 0));
    let longest = run.delays.iter().max().expect("packets came");
    assert!((ms(100)..ms(140)).contains(longest), "{longest:?}");
    assert!(run.packets.iter().any(|(_, packet)| packet.parts.absent.away() > ms(90)));
}

/// Stations do not know of the absence: they send, and lose packets whose retries end before it.
#[test]
fn stations_send_to_an_access_point_that_is_away() {
    let run = Run::new(&scanning_access_point(), STA, ms(10), Duration::from_secs(3));
    let absences = absences_of_access_point(&run);
    let lost = run.dropped.len();
    assert!(run.dropped.iter().all(|(_, reason)| *reason == DropReason::RetryLimit));
    // Some in each absence of 110 ms, in which eleven come. Backoffs grow with each attempt.
    assert!((9..=9 * 12).contains(&lost), "{lost}");
    let in_vain = run.frames().filter(|(from, until, transmitter, _)| {
        let is_away = |(left, back): &(Instant, Instant)| from >= left && until <= back;
        *transmitter == STA && absences.iter().any(is_away)
    });
    assert!(in_vain.count() >= 9 * 7, "seven attempts of something in each absence");
}
