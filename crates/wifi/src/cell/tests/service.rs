//! Service periods (U-APSD, TWT): PPDUs on the air against an account of each frame, to the
//! nanosecond, and delays against closed forms. Under any losses, no packet is lost without a
//! reason, sent to a dozing station, or held without end.

use super::away::ms;
use super::ofdma::he;
use super::*;
use crate::event::{Event, Frame, FrameKind, PowerState, Ppdu};
use crate::mac::power_save::{PowerSaveConfig, Retrieval};
use crate::mac::service_period::{
    FramesMax, ServicePeriodConfig, TwtConfig, TwtUplink, UnscheduledConfig,
};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use proptest::prelude::*;

pub(super) const STA: StationId = StationId(1);
pub(super) const SIFS: Duration = Duration::from_micros(16);
const SLOT: Duration = Duration::from_micros(9);

pub(super) fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub(super) fn at(time: Duration) -> Instant {
    Instant::ZERO + time
}

pub(super) fn unscheduled(frames_max: FramesMax) -> UnscheduledConfig {
    UnscheduledConfig {
        delivery_enabled: [true; 4],
        trigger_enabled: [true; 4],
        frames_max,
        trigger_interval: None,
        listen_interval: 1,
    }
}

fn twt(announced: bool) -> TwtConfig {
    TwtConfig {
        wake_interval: ms(50),
        wake_duration: us(8_192),
        first_wake: ms(10),
        announced,
        ends_early: true,
        uplink: TwtUplink::ServicePeriods,
        listens_to_dtim: false,
    }
}

/// An access point and stations of 802.11n with U-APSD, 130 Mb/s, without aggregation.
pub(super) fn calls(stations: usize, config: UnscheduledConfig) -> CellConfig {
    let rate = mcs(15, ChannelWidth::Mhz20, GuardInterval::Long);
    let mut cell = cell(stations, rate, ChannelWidth::Mhz20, 0);
    cell.record_events = true;
    for station in &mut cell.stations[1..] {
        station.service_periods = Some(ServicePeriodConfig::Unscheduled(config));
    }
    cell
}

/// The same for 802.11ax with TWT, at 80 MHz, with aggregation.
fn target_wake(stations: usize, config: TwtConfig) -> CellConfig {
    let width = ChannelWidth::Mhz80;
    let mut cell = cell(stations, he(7, width), width, 6_500_631);
    cell.standard = Standard::Dot11ax;
    cell.record_events = true;
    for station in &mut cell.stations[1..] {
        station.service_periods = Some(ServicePeriodConfig::TargetWake(config));
    }
    cell
}

/// Packets at equal distances, between `from` and `until`.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    pub ends: (StationId, StationId),
    pub from: Duration,
    pub interval: Duration,
    pub until: Duration,
    pub bytes: u16,
    pub category: AccessCategory,
}

pub(super) fn flow(from: StationId, to: StationId, start: Duration, interval: Duration) -> Flow {
    let (bytes, category) = (200, AccessCategory::BestEffort);
    Flow { ends: (from, to), from: start, interval, until: ms(4_000), bytes, category }
}

pub(super) struct Log {
    pub events: Vec<Event>,
    /// Sender of each delivered packet, the instant of delivery, and the packet.
    pub packets: Vec<(StationId, Instant, Packet)>,
    /// Receivers of the packets, by tag.
    pub receivers: Vec<StationId>,
    pub dropped: u64,
    pub sent: u64,
    pub stats: Vec<StationStats>,
}

impl Log {
    pub fn of(config: &CellConfig, flows: &[Flow], time: Duration) -> Self {
        let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
        let mut log = Self {
            events: Vec::new(),
            packets: Vec::new(),
            receivers: Vec::new(),
            dropped: 0,
            sent: 0,
            stats: Vec::new(),
        };
        let mut next: Vec<Instant> = flows.iter().map(|flow| at(flow.from)).collect();
        let mut senders = Vec::new();
        let mut ended = BTreeSet::new();
        loop {
            let wake = cell.poll_timeout().map_or(Instant::MAX, |(at, _)| at);
            let packet = next.iter().min().copied().unwrap_or(Instant::MAX);
            let now = wake.min(packet);
            if now > at(time) {
                break;
            }
            cell.handle_timeout(now);
            for (flow, next) in flows.iter().zip(&mut next).filter(|(_, next)| **next == now) {
                let packet = Packet {
                    access_category: flow.category,
                    ..Packet::new(log.sent, flow.bytes, now)
                };
                cell.handle_packet(now, flow.ends.0, Address::Station(flow.ends.1), packet);
                senders.push(flow.ends.0);
                log.receivers.push(flow.ends.1);
                log.sent += 1;
                *next = if now + flow.interval < at(flow.until) {
                    now + flow.interval
                } else {
                    Instant::MAX
                };
            }
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { at, packet, .. } => {
                        assert!(ended.insert(packet.tag));
                        log.packets.push((senders[packet.tag as usize], at, packet));
                    }
                    Output::Dropped { packet, .. } => {
                        assert!(ended.insert(packet.tag));
                        log.dropped += 1;
                    }
                    Output::GroupSent { .. }
                    | Output::Overheard { .. }
                    | Output::Attached { .. } => {}
                }
            }
            while let Some(event) = cell.poll_event() {
                log.events.push(event);
            }
            while cell.poll_space().is_some() {}
        }
        let stations = (0..config.stations.len() as u16).map(StationId);
        log.stats = stations.map(|one| cell.station_stats(at(time), one).clone()).collect();
        log
    }

    pub fn ppdus(&self) -> impl Iterator<Item = &Ppdu> {
        self.events.iter().filter_map(|event| match event {
            Event::Ppdu(ppdu) => Some(ppdu),
            _ => None,
        })
    }
}

impl Log {
    /// Frames without beacons: start, end, sender, first frame.
    pub fn frames(&self) -> Vec<(Instant, Instant, StationId, &Frame)> {
        let frames = self
            .ppdus()
            .map(|ppdu| (ppdu.start, ppdu.end, ppdu.transmitter, &ppdu.psdus[0].frames[0]));
        frames.filter(|(.., frame)| !matches!(frame.kind, FrameKind::Beacon { .. })).collect()
    }

    /// Times in which a station was awake, up to `end`.
    pub fn awake(&self, of: StationId, end: Instant) -> Vec<(Instant, Instant)> {
        let (mut spans, mut since) = (Vec::new(), Some(Instant::ZERO));
        for event in &self.events {
            let Event::Power { at, station, state } = event else { continue };
            if *station != of {
                continue;
            }
            match state {
                PowerState::Awake => assert_eq!(since.replace(*at), None),
                _ => spans.push((since.take().expect("it was awake"), *at)),
            }
        }
        spans.extend(since.map(|since| (since, end)));
        spans.retain(|(from, until)| from < until);
        spans
    }

    /// PPDUs for `station` whose beginning or end it did not hear. PPDUs after an awake span in
    /// which an acknowledgement was lost do not count, for the 100 ms that a frame and its backoffs
    /// may last: the access point then does not know the station's state.
    pub fn in_vain(&self, station: StationId) -> Vec<(Instant, FrameKind)> {
        self.in_vain_beyond(station, None)
    }

    /// Spans in which a station with U-APSD dozed although it had received a frame of a service
    /// period, no EOSP since, and had not waited for 50 ms.
    pub fn left_early(&self, station: StationId) -> Vec<(Instant, Instant)> {
        let (mut early, mut since) = (Vec::new(), None);
        for event in &self.events {
            match event {
                Event::Ppdu(ppdu) => {
                    let own = ppdu.psdus.iter().filter(|p| p.receiver == Address::Station(station));
                    for frame in own.flat_map(|p| &p.frames).filter(|frame| frame.received) {
                        match frame.kind {
                            _ if frame.end_of_service_period => since = None,
                            FrameKind::QosData { .. } | FrameKind::BlockAckRequest { .. } => {
                                since = Some(ppdu.end);
                            }
                            _ => {}
                        }
                    }
                }
                Event::Power { at, station: one, state: PowerState::Dozing } if *one == station => {
                    early.extend(
                        since.take().filter(|since| *since + ms(50) > *at).map(|s| (s, *at)),
                    );
                }
                _ => {}
            }
        }
        early
    }

    /// The same if an unscheduled service period ends when one of its frames is given up: PPDUs do
    /// not count from a loss until the station is heard again, up to the number of a frame's
    /// attempts.
    pub fn in_vain_beyond(
        &self,
        station: StationId,
        attempts: Option<u32>,
    ) -> Vec<(Instant, FrameKind)> {
        let awake = self.awake(station, Instant::MAX);
        let mut in_vain = Vec::new();
        let mut lost = Vec::new();
        let (mut is_in_doubt, mut unheard) = (false, 0);
        for ppdu in self.ppdus() {
            for psdu in &ppdu.psdus {
                let is_its =
                    psdu.receiver == Address::Station(station) || ppdu.transmitter == station;
                let is_answer = |frame: &Frame| {
                    matches!(frame.kind, FrameKind::Ack | FrameKind::BlockAck { .. })
                };
                // Others say nothing of service periods.
                let is_telling = |frame: &Frame| {
                    is_answer(frame)
                        || matches!(
                            frame.kind,
                            FrameKind::QosData { .. } | FrameKind::QosNull { .. }
                        )
                };
                let is_missed = psdu.frames.iter().any(|frame| !frame.received);
                if is_its && is_missed && psdu.frames.iter().any(is_answer) {
                    lost.push(ppdu.start);
                }
                let first = awake.partition_point(|(_, until)| *until < ppdu.end);
                let is_heard = awake.get(first).is_some_and(|(since, _)| *since <= ppdu.start);
                if is_its && is_missed && is_heard {
                    // What the station thinks may be something else from now on.
                    is_in_doubt = true;
                } else if ppdu.transmitter == station && !is_missed && is_telling(&psdu.frames[0]) {
                    (is_in_doubt, unheard) = (false, 0);
                }
                if psdu.receiver == Address::Station(station) && !is_heard {
                    unheard += 1;
                    let since = first.checked_sub(1).map(|before| awake[before].0);
                    let is_recent = |at: &Instant| Some(*at) >= since || *at + ms(100) > ppdu.start;
                    let is_excused = match attempts {
                        Some(attempts) => is_in_doubt && unheard <= attempts,
                        None => lost.iter().any(is_recent),
                    };
                    if !is_excused {
                        in_vain.push((ppdu.start, psdu.frames[0].kind));
                    }
                }
            }
        }
        in_vain
    }
}

/// Data of 200 bytes at MCS 15: 40 us of preamble, 4 symbols for 16 + 8 * 238 + 6 bits of 520.
const CALL: Duration = Duration::from_micros(56);
/// Durations of an Ack at 24 Mb/s, and at 6 Mb/s, and of a QoS Null of 30 bytes at 6 Mb/s.
pub(super) const ACK: Duration = Duration::from_micros(28);
pub(super) const SLOW_ACK: Duration = Duration::from_micros(44);
pub(super) const QOS_NULL: Duration = Duration::from_micros(64);
/// AIFSN 3 of best effort, which all categories have here.
const AIFS: Duration = Duration::from_micros(16 + 3 * 9);

/// Whether an EDCAF with CWmin of 15 can begin this long `after` the medium became idle.
pub(super) fn is_access(after: Duration) -> bool {
    let slots = after.saturating_sub(AIFS).as_nanos();
    after >= AIFS && slots.is_multiple_of(SLOT.as_nanos()) && slots <= 15 * SLOT.as_nanos()
}

/// Data, SIFS, Ack; contention; data with EOSP, or QoS Null without data, SIFS, Ack: then the
/// station dozes. No beacon is due meanwhile.
#[test]
fn a_call_needs_no_beacons() {
    for both_ways in [true, false] {
        let config = calls(1, unscheduled(None));
        let mut flows = alloc::vec![flow(STA, AP, ms(3), ms(20))];
        if both_ways {
            flows.push(flow(AP, STA, ms(10), ms(20)));
        }
        let log = Log::of(&config, &flows, ms(5_000));
        assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
        assert!(log.in_vain(STA).is_empty());
        let frames = log.frames();
        let begins = |n: &u64| {
            // What is held when a beacon is sent comes behind that one; the first has nothing to wait for.
            let phase = (3_000 + 20_000 * n) % 102_400;
            *n > 0 && phase > 16_000 && phase < 98_000
        };
        let mut seen = 0;
        for n in (0..190).filter(begins) {
            let sent = at(ms(3) + ms(20) * n);
            let first = frames.iter().position(|(start, ..)| *start >= sent).expect("it is sent");
            let [data, ack, answer, last] = frames[first..first + 4] else { unreachable!() };
            assert!(is_access(data.0 - sent), "{:?}", data.0 - sent);
            assert_eq!((data.1 - data.0, data.2), (CALL, STA));
            assert!(data.3.power_management && !data.3.end_of_service_period);
            assert_eq!((ack.0, ack.1, ack.2), (data.1 + SIFS, data.1 + SIFS + ACK, AP));
            assert!(is_access(answer.0 - ack.1), "{:?}", answer.0 - ack.1);
            assert!(answer.3.end_of_service_period && !answer.3.more_data);
            let (length, last_ack) = match both_ways {
                true => (CALL, ACK),
                false => (QOS_NULL, SLOW_ACK),
            };
            assert_eq!((answer.1 - answer.0, answer.2), (length, AP));
            assert_eq!((last.0, last.1 - last.0, last.2), (answer.1 + SIFS, last_ack, STA));
            let (since, until) = *log
                .awake(STA, at(ms(5_000)))
                .iter()
                .find(|(since, _)| *since == sent)
                .expect("it wakes up for its packet");
            assert_eq!((since, until), (sent, last.1));
            if both_ways {
                let (_, came, packet) =
                    log.packets.iter().find(|p| p.1 == answer.1).expect("it came");
                assert_eq!(packet.parts.absent.asleep(), data.1 - packet.created);
                assert_eq!(packet.parts.contention, answer.0 - data.1);
                assert_eq!(packet.parts.total(), *came - packet.created);
            }
            seen += 1;
        }
        assert!(seen > 100, "{seen}");
    }
}

/// From a trigger to EOSP there are at most the agreed number of frames; EOSP is in the last and in
/// no other.
#[test]
fn service_periods_are_as_long_as_agreed() {
    for frames_max in [Some(2), Some(4), Some(6), None] {
        let config = calls(1, unscheduled(frames_max));
        let burst = Flow {
            interval: us(10),
            until: us(150_500) + us(100),
            ..flow(AP, STA, us(150_500), ms(1))
        };
        let log = Log::of(&config, &[burst], ms(1_000));
        assert_eq!((log.packets.len(), log.dropped), (10, 0));
        let mut periods = Vec::new();
        for (.., frame) in log.frames() {
            match frame.kind {
                FrameKind::QosNull { power_management: true, .. } => periods.push(Vec::new()),
                FrameKind::QosData { .. } => {
                    let period = periods.last_mut().expect("a trigger goes ahead");
                    period.push((frame.end_of_service_period, frame.more_data));
                }
                FrameKind::Ack => {}
                kind => panic!("{kind:?}"),
            }
        }
        let most = frames_max.map_or(10, usize::from);
        assert_eq!(periods.len(), 10usize.div_ceil(most), "{frames_max:?}");
        let sent: Vec<_> = periods.concat();
        assert_eq!(sent.len(), 10);
        for (n, (ends, more)) in sent.iter().enumerate() {
            assert_eq!(*ends, (n + 1) % most == 0 || n == 9, "{frames_max:?}: {n}");
            assert_eq!(*more, n < 9);
        }
        assert_eq!(log.stats[1].triggers, periods.len() as u64);
        assert!(log.in_vain(STA).is_empty());
    }
}

/// Only beacons inform a station that does not send.
#[test]
fn what_a_beacon_announces_is_triggered() {
    let log = Log::of(&calls(1, unscheduled(None)), &[flow(AP, STA, ms(10), ms(333))], ms(5_000));
    assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
    assert_eq!(log.stats[1].triggers, log.sent);
    for (_, came, packet) in &log.packets {
        assert!(*came - packet.created < ms(104), "{packet:?}");
        assert!(packet.parts.absent.asleep() + ms(1) > *came - packet.created, "{packet:?}");
    }
    // Beacons, and a few hundred microseconds for each packet.
    let awake = ms(5_000) - log.stats[1].away;
    assert!(awake < us(600) * 49 + ms(1) * log.sent, "{awake}");
}

#[test]
fn a_station_asks_at_its_interval() {
    let config = UnscheduledConfig { trigger_interval: Some(ms(20)), ..unscheduled(Some(2)) };
    let log = Log::of(&calls(1, config), &[flow(AP, STA, ms(7), ms(13))], ms(4_500));
    assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
    for (_, came, packet) in &log.packets {
        assert!(*came - packet.created < ms(22), "{packet:?}");
    }
    assert!((215..=270).contains(&log.stats[1].triggers), "{}", log.stats[1].triggers);
}

/// Voice comes in service periods. Best effort comes by PS-Poll, and beacons announce only that.
#[test]
fn categories_that_are_not_delivery_enabled_are_polled() {
    let only = [false, false, false, true];
    let config =
        UnscheduledConfig { delivery_enabled: only, trigger_enabled: only, ..unscheduled(None) };
    let voice = AccessCategory::Voice;
    let flows = [
        Flow { category: voice, ..flow(STA, AP, ms(3), ms(40)) },
        // The last trigger comes 32 ms later.
        Flow { category: voice, until: ms(3_940), ..flow(AP, STA, ms(10), ms(40)) },
        flow(AP, STA, ms(15), ms(450)),
    ];
    let log = Log::of(&calls(1, config), &flows, ms(5_000));
    assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
    assert!(log.in_vain(STA).is_empty());
    assert_eq!(log.stats[1].ps_polls, 9);
    assert_eq!(log.stats[1].triggers, 0, "its data do");
    let announcing = log.ppdus().filter(|ppdu| !ppdu.psdus[0].frames[0].announced.is_empty());
    assert_eq!(announcing.count(), 9, "voice is not announced");
    for (from, came, packet) in &log.packets {
        match (*from, packet.access_category) {
            (AP, AccessCategory::Voice) => assert!(*came - packet.created < ms(42)),
            (AP, _) => assert!(*came - packet.created < ms(105)),
            _ => assert!(*came - packet.created < ms(1)),
        }
    }
}

/// A packet waits for a target wake time to the nanosecond; over many packets the mean is half an
/// interval.
#[test]
fn delays_to_a_target_wake_time_are_uniform() {
    for announced in [false, true] {
        for interval in [ms(20), ms(50), ms(200)] {
            let config = TwtConfig { wake_interval: interval, ..twt(announced) };
            // Phases that spread over the interval by the golden ratio.
            let apart = interval * 2 + interval * 382 / 1_000;
            let flows = [Flow { until: interval * 1_200, ..flow(AP, STA, ms(30), apart) }];
            let log = Log::of(&target_wake(1, config), &flows, interval * 1_204);
            assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
            assert!(log.in_vain(STA).is_empty());
            let frames = log.frames();
            let (mut sum, mut longest, mut number) = (Duration::ZERO, Duration::ZERO, 0);
            for (_, came, packet) in &log.packets[1..] {
                let since = packet.created - at(ms(10));
                let before = since.as_nanos() / interval.as_nanos() * interval.as_nanos();
                let last = Duration::from_nanos(since.as_nanos() - before);
                // Unannounced, the station is awake for the whole duration if nothing came yet.
                let wakes = match last < config.wake_duration && !announced {
                    true => packet.created,
                    false => packet.created + (interval - last),
                };
                let known = match announced {
                    false => wakes,
                    true => frames
                        .iter()
                        .find(|(start, _, from, _)| *start >= wakes && *from == STA)
                        .map(|(_, end, ..)| *end)
                        .expect("it says that it is awake"),
                };
                if announced && last < us(2_000) {
                    // It may be told while it is awake still.
                    continue;
                }
                assert_eq!(packet.parts.absent.asleep(), known - packet.created, "{packet:?}");
                let delay = *came - packet.created;
                assert!(delay < packet.parts.absent.asleep() + us(900), "{packet:?}");
                (sum, number) = (sum + delay, number + 1);
                longest = longest.max(delay);
            }
            let mean = sum.as_secs_f64() / f64::from(number) / interval.as_secs_f64();
            let awake = config.wake_duration.as_secs_f64() / interval.as_secs_f64();
            // Of a packet that comes at any time: what is left until the next wake time.
            let closed = match announced {
                true => 0.5 - ms(2).as_secs_f64() / interval.as_secs_f64() / 2.0,
                false => (1.0 - awake) * (1.0 - awake) / 2.0,
            };
            assert!((mean - closed).abs() < 0.03, "{announced} {interval}: {mean}, {closed}");
            assert!(longest < interval + us(600) && longest > interval / 10 * 5);
        }
    }
}

/// An idle station is awake for the whole duration if its agreement is unannounced, and until the
/// access point answers if it is announced; beacons do not wake it.
#[test]
fn an_idle_station_wakes_at_its_target_wake_times() {
    for announced in [false, true] {
        for ends_early in [false, true] {
            let config = TwtConfig { ends_early, ..twt(announced) };
            let log = Log::of(&target_wake(1, config), &[], ms(5_000));
            let awake = log.awake(STA, at(ms(5_000)));
            assert_eq!(awake.len(), 100);
            for (n, (since, until)) in (0..).zip(&awake) {
                assert_eq!(*since, at(ms(10) + ms(50) * n));
                let length = *until - *since;
                match announced && ends_early {
                    false => assert_eq!(length, us(8_192)),
                    // QoS Null, Ack, QoS Null, Ack; a beacon may be in the way.
                    true => {
                        let frames = (QOS_NULL + SIFS + SLOW_ACK) * 2;
                        let least = AIFS * 2 + frames;
                        assert!(length >= least && length <= least + SLOT * 30 + us(400));
                    }
                }
            }
            let triggers = if announced { 100 } else { 0 };
            assert_eq!(log.stats[1].triggers, triggers);
        }
    }
}

/// The station's own packets wait for its service periods, or go out at once.
#[test]
fn uplink_waits_for_the_target_wake_time() {
    for uplink in [TwtUplink::ServicePeriods, TwtUplink::AtOnce] {
        let config = TwtConfig { uplink, ..twt(false) };
        let flows = [flow(STA, AP, ms(13), ms(37)), flow(AP, STA, ms(21), ms(37))];
        let log = Log::of(&target_wake(1, config), &flows, ms(5_000));
        assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
        assert!(log.in_vain(STA).is_empty());
        let first = log.packets.iter().filter(|(from, ..)| *from == STA).skip(1);
        for (_, came, packet) in first {
            let parts = packet.parts;
            assert_eq!(parts.total(), *came - packet.created);
            match uplink {
                TwtUplink::AtOnce => assert!(*came - packet.created < ms(1), "{packet:?}"),
                TwtUplink::ServicePeriods => {
                    let since = (packet.created - at(ms(10))).as_nanos() % ms(50).as_nanos();
                    let rest = ms(50) - Duration::from_nanos(since);
                    let is_in = since < us(8_192).as_nanos();
                    assert_eq!(parts.absent.asleep(), if is_in { Duration::ZERO } else { rest });
                    assert!(*came - packet.created < parts.absent.asleep() + ms(1), "{packet:?}");
                }
            }
        }
    }
}

/// Packets beyond the capacity of a service period are held until the next one, and none is lost.
#[test]
fn service_periods_end_in_time() {
    let config = TwtConfig { wake_duration: us(1_024), ..twt(false) };
    let mut cell = target_wake(1, config);
    for station in &mut cell.stations {
        station.aggregation.ampdu_frames_max = 4;
    }
    let burst = Flow { bytes: 1_500, until: ms(23), ..flow(AP, STA, ms(20), us(30)) };
    let log = Log::of(&cell, &[burst], ms(1_000));
    assert_eq!((log.packets.len(), log.dropped), (100, 0));
    assert!(log.in_vain(STA).is_empty());
    let awake = log.awake(STA, at(ms(1_000)));
    // An exchange that has begun is carried to its end: 4 MPDUs take 0.4 ms.
    assert!(awake.iter().all(|(since, until)| *until - *since < us(1_024 + 400)));
    let used = log.packets.iter().map(|(_, at, _)| at.as_nanos() / ms(50).as_nanos());
    assert!(used.collect::<BTreeSet<_>>().len() > 2, "several service periods are needed");
}

/// Group frames reach stations that wake for DTIMs.
#[test]
fn group_frames_reach_who_listens_to_the_dtim() {
    for listens_to_dtim in [true, false] {
        let config = TwtConfig { listens_to_dtim, ..twt(false) };
        let mut config = target_wake(2, config);
        config.stations[2].service_periods = None;
        let mut cell = Cell::new(&config, Seed::new(5, 0)).expect("a sound cell");
        let (mut heard, mut missed, mut next, mut tag) = ([0; 3], [0; 3], ms(5), 0);
        while let Some((at, _)) =
            cell.poll_timeout().filter(|(at, _)| *at < Instant::ZERO + ms(5_000))
        {
            let now = at.min(Instant::ZERO + next);
            cell.handle_timeout(now);
            if now == Instant::ZERO + next {
                cell.handle_packet(now, AP, Address::Group, Packet::new(tag, 300, now));
                next = if tag < 30 { next + ms(137) } else { ms(9_999) };
                tag += 1;
            }
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { station, .. } => heard[station.index()] += 1,
                    Output::Dropped { station, .. } => missed[station.index()] += 1,
                    _ => {}
                }
            }
        }
        assert_eq!((heard[2], missed[2]), (tag, 0));
        match listens_to_dtim {
            true => assert_eq!((heard[1], missed[1]), (tag, 0)),
            false => assert!(heard[1] < tag / 3 && heard[1] + missed[1] == tag, "{heard:?}"),
        }
    }
}

/// Every kind at once, in the order of `order`.
fn mixed(order: &[usize]) -> CellConfig {
    let mut config = target_wake(5, twt(false));
    let link = config.links.iter().next().expect("there are some").link;
    config.change_links(|pair| pair.link = link);
    config.stations[1].service_periods =
        Some(ServicePeriodConfig::Unscheduled(unscheduled(Some(2))));
    let at_once = TwtConfig { uplink: TwtUplink::AtOnce, ..twt(true) };
    config.stations[3].service_periods = Some(ServicePeriodConfig::TargetWake(at_once));
    config.stations[4].service_periods = None;
    config.stations[4].power_save = Some(PowerSaveConfig::dynamic(ms(20), Retrieval::PsPoll));
    config.stations[5].service_periods = None;
    let stations: Vec<_> = order.iter().map(|n| config.stations[*n].clone()).collect();
    config.stations = stations;
    config
}

/// Delivery times of each flow, independent of the numbers in the configuration.
#[test]
fn the_order_of_stations_does_not_matter() {
    let run = |order: &[usize]| {
        let config = mixed(order);
        let id = |n: usize| StationId(order.iter().position(|o| *o == n).expect("it is in") as u16);
        let mut flows = Vec::new();
        for n in 1..=5 {
            flows.push(flow(id(0), id(n), ms(7 + 2 * n as u64), ms(23)));
            flows.push(flow(id(n), id(0), ms(8 + 2 * n as u64), ms(31)));
        }
        let log = Log::of(&config, &flows, ms(6_000));
        assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
        for n in 1..=5 {
            assert!(log.in_vain(id(n)).is_empty(), "{n}: {:?}", log.in_vain(id(n)));
        }
        let mut came: Vec<_> =
            log.packets.iter().map(|(_, at, p)| (*at, p.created, p.parts)).collect();
        came.sort_by_key(|(at, created, _)| (*at, *created));
        came
    };
    let forwards = run(&[0, 1, 2, 3, 4, 5]);
    assert_eq!(forwards, run(&[3, 5, 0, 4, 2, 1]));
    assert_eq!(forwards, run(&[5, 4, 3, 2, 1, 0]));
}

/// An idle station with a TWT agreement sends nothing, and uses no random number of others.
#[test]
fn an_idle_station_changes_nothing() {
    let run = |with: bool| {
        let mut config = target_wake(3, twt(false));
        config.stations[1].service_periods = None;
        config.stations[2].service_periods =
            Some(ServicePeriodConfig::Unscheduled(unscheduled(None)));
        if !with {
            config.stations.pop();
        }
        let flows = [
            flow(AP, STA, ms(3), ms(7)),
            flow(STA, AP, ms(4), ms(9)),
            flow(AP, StationId(2), ms(5), ms(20)),
            flow(StationId(2), AP, ms(6), ms(20)),
        ];
        Log::of(&config, &flows, ms(5_000)).packets
    };
    assert_eq!(run(true), run(false));
}

/// Stations whose service periods coincide are served in one PPDU; nothing is sent to a station
/// that dozes.
#[test]
fn ofdma_heeds_service_periods() {
    let mut config = target_wake(4, twt(false));
    for n in [3, 4] {
        let late = TwtConfig { first_wake: ms(30), ..twt(false) };
        config.stations[n].service_periods = Some(ServicePeriodConfig::TargetWake(late));
    }
    config.stations[AP.index()].ofdma = Some(OfdmaConfig {
        stations_max: 4,
        acknowledgement: OfdmaAcknowledgement::MuBlockAckRequest,
        guard_interval: crate::phy::HeGuardInterval::Ns800Ltf2x,
        uplink: Some(UplinkConfig { buffer_reports: Some(ms(2)), mu_edca: [None; 4] }),
    });
    let mut flows = Vec::new();
    for n in 1..=4 {
        flows.push(flow(AP, StationId(n), ms(2), ms(5)));
        flows.push(flow(StationId(n), AP, ms(2), ms(7)));
    }
    let log = Log::of(&config, &flows, ms(5_000));
    assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
    let mut together = 0;
    for ppdu in log.ppdus().filter(|ppdu| ppdu.psdus.len() > 1) {
        let pair: BTreeSet<_> = ppdu.psdus.iter().map(|psdu| psdu.receiver).collect();
        let of = |a, b| pair == [a, b].map(|n| Address::Station(StationId(n))).into();
        assert!(of(1, 2) || of(3, 4), "{pair:?}");
        together += 1;
    }
    assert!(together > 50, "{together}");
    let answers = log.ppdus().filter(|ppdu| ppdu.transmitter != AP && ppdu.psdus[0].ru.is_some());
    assert!(answers.count() > 50, "stations are asked in their service periods");
    for n in 1..=4 {
        assert_eq!(log.in_vain(StationId(n)), []);
    }
}

/// A station whose trigger was received, and that lost all acknowledgements of it, learns from the
/// first frame that its service period is in progress.
#[test]
fn a_frame_says_that_a_service_period_goes_on() {
    for apart in 150..200 {
        let mut config = calls(1, unscheduled(Some(2)));
        config.stations.iter_mut().for_each(|station| station.retry_limit = 2);
        config.change_links(|pair| pair.link.loss = Probability::new(0.42));
        let flows = [flow(AP, STA, ms(5), ms(6)), flow(STA, AP, ms(5), ms(apart))];
        let log = Log::of(&config, &flows, ms(5_000));
        assert_eq!(log.left_early(STA), []);
        assert_eq!(log.in_vain_beyond(STA, Some(2)), []);
    }
}

fn config() -> impl Strategy<Value = ServicePeriodConfig> {
    let frames_max = prop_oneof![Just(None), Just(Some(2)), Just(Some(4)), Just(Some(6))];
    let interval = prop_oneof![Just(None), (5u64..60).prop_map(|n| Some(ms(n)))];
    let unscheduled = (frames_max, interval, 1u8..4).prop_map(|(frames_max, interval, listen)| {
        ServicePeriodConfig::Unscheduled(UnscheduledConfig {
            trigger_interval: interval,
            listen_interval: listen,
            ..unscheduled(frames_max)
        })
    });
    let bits = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let twt = (5u64..80, 3u64..30, 0u64..100, bits).prop_map(|(interval, length, first, bits)| {
        let (announced, ends_early, at_once, listens_to_dtim) = bits;
        ServicePeriodConfig::TargetWake(TwtConfig {
            wake_interval: ms(interval),
            wake_duration: us(256 * length).min(ms(interval)),
            first_wake: ms(first),
            announced,
            ends_early,
            uplink: if at_once { TwtUplink::AtOnce } else { TwtUplink::ServicePeriods },
            listens_to_dtim,
        })
    });
    prop_oneof![unscheduled, twt]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any losses in both directions: each packet arrives or is given up, and its delay parts
    /// add up. A dozing station is sent no frame, as far as the access point can know.
    #[test]
    fn nothing_waits_without_end(
        services in prop::collection::vec(prop_oneof![4 => config().prop_map(Some), 1 => Just(None)], 1..4),
        loss in prop_oneof![Just(0.0), 0.0..0.6],
        retry_limit in 1u8..8,
        (down, up) in (5u64..90, 5u64..400),
        driver in prop_oneof![
            Just(DriverLimit::None),
            (1u32..20).prop_map(DriverLimit::Packets),
            (1u64..9).prop_map(|n| DriverLimit::Airtime(ms(n))),
        ],
        (rts, aggregates) in (any::<bool>(), any::<bool>()),
        category in prop_oneof![Just(AccessCategory::BestEffort), Just(AccessCategory::Voice)],
    ) {
        let number = services.len() as u16;
        let mut config = target_wake(services.len(), twt(false));
        for (station, service) in config.stations[1..].iter_mut().zip(&services) {
            station.service_periods = *service;
        }
        for station in &mut config.stations {
            station.retry_limit = retry_limit;
            station.driver_queue = driver;
            station.rts_threshold = rts.then_some(100);
            if !aggregates {
                station.aggregation.ampdu_bytes_max = 0;
            }
        }
        config.change_links(|pair| pair.link.loss = Probability::new(loss));
        let mut flows = Vec::new();
        for n in 1..=number {
            let flow = |from, to, apart| Flow {
                category,
                until: ms(600), ..flow(from, to, ms(5), ms(apart))
            };
            flows.push(flow(AP, StationId(n), down + u64::from(n)));
            flows.push(flow(StationId(n), AP, up + u64::from(n)));
        }
        let log = Log::of(&config, &flows, ms(120_000));
        prop_assert_eq!(log.packets.len() as u64 + log.dropped, log.sent, "all end");
        for (_, at, packet) in &log.packets {
            prop_assert_eq!(packet.parts.total(), *at - packet.created, "{:?}", packet);
        }
        // Stations collide.
        prop_assert!(log.dropped == 0 || loss > 0.0 || retry_limit < 7, "{}", log.dropped);
        for n in 1..=number {
            let service = services[usize::from(n) - 1];
            let is_unscheduled = matches!(service, Some(ServicePeriodConfig::Unscheduled(_)));
            // Those of a frame, the last one perhaps in an A-MPDU, and of the Block Ack Request
            // behind that.
            let attempts = u32::from(retry_limit) * (1 + u32::from(aggregates));
            let attempts = is_unscheduled.then_some(attempts);
            prop_assert_eq!(log.in_vain_beyond(StationId(n), attempts), []);
            if is_unscheduled {
                prop_assert_eq!(log.left_early(StationId(n)), []);
            }
        }
        // All of them are at rest, and wake up again and again.
        for n in 1..=number {
            let service = services[usize::from(n) - 1];
            if service.is_some() {
                let awake = log.awake(StationId(n), at(ms(120_000)));
                let late: Vec<_> = awake.iter().filter(|(since, _)| *since > at(ms(115_000))).collect();
                let wakes = service.is_some_and(|service| service.needs_beacons())
                    || matches!(service, Some(ServicePeriodConfig::TargetWake(_)));
                prop_assert!(!wakes || late.len() > 10, "{:?}", late.len());
            }
        }
    }
}
