//! Operating modes: the notification against an account of its frames, to the nanosecond; PPDUs
//! within the notified mode under any losses; a station with a mode against one with fewer
//! capabilities.

use super::away::ms;
use super::ofdma::ofdma;
use super::*;
use crate::event::{Event, FrameKind, Ppdu};
use crate::mac::power_save::{PowerSaveConfig, Retrieval};
use crate::mac::rate::RateSet;
use crate::mac::service_period::{ServicePeriodConfig, TwtConfig, TwtUplink, UnscheduledConfig};
use crate::phy::HeGuardInterval;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use lasthop_packet::DropReason;
use proptest::prelude::*;

const STA: StationId = StationId(1);
const SIFS: Duration = Duration::from_micros(16);

fn mode(width: ChannelWidth, receive_streams: u8) -> OperatingMode {
    OperatingMode { width, receive_streams, transmit_streams: 2, uplink_ofdma: true }
}

fn full() -> OperatingMode {
    mode(ChannelWidth::Mhz80, 2)
}

/// An access point and stations with 80 MHz and two streams, ideal rate control; of 802.11ax or
/// 802.11ac.
fn wide(stations: usize, is_he: bool) -> CellConfig {
    let width = ChannelWidth::Mhz80;
    let (rates, standard) = match is_he {
        true => (RateSet::he(2, width, HeGuardInterval::Ns800Ltf2x), Standard::Dot11ax),
        false => (RateSet::vht(2, width, false), Standard::Dot11ac),
    };
    let mut config = cell(stations, rates.rates[0], width, 1_048_575);
    config.standard = standard;
    config.record_events = true;
    for station in &mut config.stations {
        station.capabilities = Capabilities::new(rates.rates.clone(), true);
        let per_max = Probability::new(0.1).expect("a probability");
        station.rate_control = RateControlConfig::Ideal { bytes: 1_500, per_max };
        station.access[3] = EdcaParameters { aifsn: 2, cw_min: 3, cw_max: 7, ..station.access[0] };
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
    }
    config
}

/// Results of a run.
#[derive(Debug, Default, PartialEq)]
struct Log {
    ppdus: Vec<Ppdu>,
    events: usize,
    sent: u64,
    /// Tags of the delivered packets.
    delivered: Vec<u64>,
    dropped: u64,
}

/// Longest time without the end of a packet while some are left.
const STUCK: Duration = Duration::from_secs(5);
/// The same in a cell with a station that dozes. After 10 ms it hears less than half of the beacons
/// under heavy losses, and a contention window takes up to 9 ms of its time awake: some packets wait
/// for many beacons.
const STUCK_DOZING: Duration = Duration::from_secs(60);

/// Sends a packet each `interval` for each pair until `until`, and changes the modes of stations;
/// then sends the remaining packets until none is left.
fn play(
    config: &CellConfig,
    flows: &[(StationId, StationId)],
    (interval, until): (Duration, Duration),
    modes: &[(Duration, StationId, OperatingMode)],
) -> (Log, Cell) {
    let mut cell = Cell::new(config, Seed::new(9, 0)).expect("a sound cell");
    let mut log = Log::default();
    let mut ended = BTreeSet::new();
    let mut modes = modes.iter().peekable();
    let (mut next, end) = (Instant::ZERO, Instant::ZERO + until);
    let mut progress = end;
    let dozes = config.stations.iter().any(|station| station.power_save.is_some());
    let stuck = if dozes { STUCK_DOZING } else { STUCK };
    loop {
        let wake = cell.poll_timeout().map_or(Instant::MAX, |(at, _)| at);
        let changes = modes.peek().map_or(Instant::MAX, |(at, ..)| Instant::ZERO + *at);
        let packet = if next < end { next } else { Instant::MAX };
        let now = wake.min(changes).min(packet);
        let is_done = ended.len() as u64 == log.sent;
        if now > if is_done { end + ms(300) } else { progress + stuck } {
            break;
        }
        cell.handle_timeout(now);
        if now == changes {
            let (_, station, mode) = modes.next().expect("it was peeked at");
            cell.change_operating_mode(now, *station, *mode).expect("a mode");
        }
        if now == packet {
            for &(from, to) in flows {
                let packet = Packet { flow_hash: to.0.into(), ..Packet::new(log.sent, 1_500, now) };
                cell.handle_packet(now, from, Address::Station(to), packet);
                log.sent += 1;
            }
            next = now + interval;
        }
        while let Some(output) = cell.poll_output() {
            progress = progress.max(now);
            match output {
                Output::Delivered { packet, .. } => {
                    assert!(ended.insert(packet.tag), "{packet:?} twice");
                    log.delivered.push(packet.tag);
                }
                Output::Dropped { packet, reason, .. } => {
                    assert!(ended.insert(packet.tag), "{packet:?} twice");
                    // It came across after the receiver had given up the gap in its sequence.
                    log.dropped += u64::from(reason != DropReason::Duplicate);
                }
                other => panic!("{other:?}"),
            }
        }
        while let Some(event) = cell.poll_event() {
            log.events += 1;
            if let Event::Ppdu(ppdu) = event {
                log.ppdus.push(ppdu);
            }
        }
        while cell.poll_space().is_some() {}
    }
    let held: Vec<u32> = cell.stations.iter().map(|station| station.held_packets).collect();
    assert_eq!(ended.len() as u64, log.sent, "every packet ends once, held: {held:?}");
    (log, cell)
}

fn told(ppdu: &Ppdu) -> Option<(OperatingMode, bool)> {
    match ppdu.psdus[0].frames[0].kind {
        FrameKind::OperatingMode { mode, by_control } => Some((mode, by_control)),
        _ => None,
    }
}

fn has_data(ppdu: &Ppdu) -> bool {
    matches!(ppdu.psdus[0].frames[0].kind, FrameKind::QosData { .. })
}

/// Width and streams of each data PPDU from `from` to `to`, with its start.
fn rates(log: &Log, from: StationId, to: StationId) -> Vec<(Instant, ChannelWidth, u8)> {
    let of = |ppdu: &Ppdu| {
        let psdu = ppdu.psdus.iter().find(|psdu| psdu.receiver == Address::Station(to))?;
        let is_its = ppdu.transmitter == from && has_data(ppdu);
        is_its.then(|| (ppdu.start, psdu.rate.width(), psdu.rate.streams()))
    };
    log.ppdus.iter().filter_map(of).collect()
}

/// The frame, its Ack, and the PPDUs before and after it: for 802.11ax a QoS Null frame with HT
/// Control (26 + 4 + 4 bytes), for 802.11ac an Operating Mode Notification (24 + 3 + 4).
#[test]
fn a_notification_takes_effect_with_its_ack() {
    for (is_he, bytes) in [(true, 34), (false, 31)] {
        let narrow = mode(ChannelWidth::Mhz20, 1);
        let changes = [(ms(50), STA, narrow), (ms(100), STA, full())];
        let flows = [(AP, STA), (STA, AP)];
        let time = (Duration::from_micros(150), ms(150));
        let (log, cell) = play(&wide(1, is_he), &flows, time, &changes);
        let notifications: Vec<usize> =
            (0..log.ppdus.len()).filter(|index| told(&log.ppdus[*index]).is_some()).collect();
        let [first, second] = notifications[..] else { panic!("{notifications:?}") };
        let mut acks = Vec::new();
        for (index, mode, at) in [(first, narrow, ms(50)), (second, full(), ms(100))] {
            let [frame, ack] = [&log.ppdus[index], &log.ppdus[index + 1]];
            assert_eq!(told(frame), Some((mode, is_he)));
            assert_eq!((frame.transmitter, ack.transmitter), (STA, AP));
            assert_eq!(u64::from(frame.psdus[0].bytes), bytes);
            // At the lowest basic rate, 6 Mb/s: 24 bits a symbol.
            let duration = Duration::from_micros(20 + 4 * (16 + 8 * bytes + 6).div_ceil(24));
            assert_eq!(frame.end - frame.start, duration);
            assert_eq!(ack.psdus[0].frames[0].kind, FrameKind::Ack);
            assert_eq!(ack.start - frame.end, SIFS);
            assert!(frame.start - (Instant::ZERO + at) < ms(8), "{frame:?}");
            acks.push(ack.end);
        }
        let (down, up) = (rates(&log, AP, STA), rates(&log, STA, AP));
        for (who, streams) in [(&down, 1), (&up, 2)] {
            let of = |from: Instant, to: Instant| {
                let within = who.iter().filter(move |(start, ..)| (from..to).contains(start));
                let within: BTreeSet<(ChannelWidth, u8)> =
                    within.map(|(_, width, streams)| (*width, *streams)).collect();
                within.into_iter().collect::<Vec<_>>()
            };
            assert_eq!(of(Instant::ZERO, acks[0]), [(ChannelWidth::Mhz80, 2)], "{is_he}");
            assert_eq!(of(acks[0], acks[1]), [(ChannelWidth::Mhz20, streams)], "{is_he}");
            assert_eq!(of(acks[1], Instant::MAX), [(ChannelWidth::Mhz80, 2)], "{is_he}");
        }
        assert_eq!(cell.roster().known_mode(STA), Some(full()));
        assert_eq!(log.dropped, 0);
    }
}

/// A mode announced at association makes the station equal to one with fewer capabilities: the run
/// is the same, event by event, also for other stations.
#[test]
fn a_mode_from_the_beginning_is_a_lesser_station() {
    for is_he in [true, false] {
        let one = wide(3, is_he);
        let mut lesser = one.clone();
        let own = &mut lesser.stations[STA.index()].capabilities;
        *own = own.within_mode(ChannelWidth::Mhz20, 1);
        let mut told = one.clone();
        told.stations[STA.index()].operating_mode =
            Some(OperatingMode { transmit_streams: 1, ..mode(ChannelWidth::Mhz20, 1) });
        let flows = [(AP, STA), (StationId(2), AP), (AP, StationId(3)), (STA, AP)];
        let time = (Duration::from_micros(400), ms(200));
        let [one, lesser, told] =
            [one, lesser, told].map(|config| play(&config, &flows, time, &[]).0);
        assert!(lesser == told, "{} and {} PPDUs", lesser.ppdus.len(), told.ppdus.len());
        assert_ne!(one, told);
    }
}

/// A fixed rate keeps its MCS, and returns; a changed rate stays within the mode.
#[test]
fn a_fixed_rate_keeps_its_mcs() {
    let mut config = wide(1, true);
    let width = ChannelWidth::Mhz80;
    let rate = |mcs, streams, width| {
        Rate::he(mcs, streams, width, HeGuardInterval::Ns800Ltf2x, false).expect("a rate")
    };
    for station in &mut config.stations {
        station.rate_control = RateControlConfig::Fixed { rate: rate(7, 2, width) };
    }
    let narrow = mode(ChannelWidth::Mhz40, 1);
    let changes = [(ms(30), STA, narrow), (ms(60), STA, full())];
    let (log, mut cell) =
        play(&config, &[(AP, STA)], (Duration::from_micros(100), ms(90)), &changes);
    let data = log.ppdus.iter().filter(|ppdu| has_data(ppdu)).map(|ppdu| ppdu.psdus[0].rate);
    let mut seen: Vec<Rate> = data.collect();
    seen.dedup();
    let wide = rate(7, 2, width);
    assert_eq!(seen, [wide, rate(7, 1, ChannelWidth::Mhz40), wide]);
    // MCS 9 exists for one stream in 20 MHz of 802.11ax, not of 802.11ac.
    let vht = Rate::vht(9, 2, width, GuardInterval::Long).expect("a rate");
    let less = Rate::vht(8, 1, ChannelWidth::Mhz20, GuardInterval::Long);
    assert_eq!(Some(vht.within(ChannelWidth::Mhz20, 1)), less);
    // Of the association, too, and of a rate that is set later.
    config.stations[STA.index()].operating_mode = Some(narrow);
    let mut later = Cell::new(&config, Seed::new(9, 0)).expect("a sound cell");
    for (number, what) in [(7, None), (3, Some(Adjustment::Rate(rate(3, 2, width))))] {
        if let Some(what) = what {
            later.adjust(AP, what).expect("a rate of both");
        }
        let index = later.originator_index(STA);
        let control = later.stations[AP.index()].edcaf(0).originators[index].rate_control.as_ref();
        let expected = rate(number, 1, ChannelWidth::Mhz40);
        assert_eq!(control.map(|control| control.main_rate()), Some(expected));
    }
    assert!(cell.change_operating_mode(cell.now, AP, narrow).is_err());
}

impl Cell {
    fn originator_index(&mut self, to: StationId) -> usize {
        self.edcaf(AP, 0);
        let (state, cx) = self.at(AP);
        state.originator(cx.settings, 0, Address::Station(to))
    }
}

/// A station with less than the channel is served alone and not asked by Trigger frames; nor is one
/// that disabled uplink OFDMA.
#[test]
fn several_are_those_with_the_whole_channel() {
    let mut config = ofdma(3, 5, 8, OfdmaAcknowledgement::MuBlockAckRequest);
    let of_uplink =
        UplinkConfig { buffer_reports: Some(ms(5)), mu_edca: core::array::from_fn(|_| None) };
    config.stations[AP.index()].ofdma.as_mut().expect("it is set").uplink = Some(of_uplink);
    config.record_events = true;
    for station in &mut config.stations {
        let rates = RateSet::he(1, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x);
        station.capabilities = Capabilities::new(rates.rates, true);
        let per_max = Probability::new(0.1).expect("a probability");
        station.rate_control = RateControlConfig::Ideal { bytes: 1_500, per_max };
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
    }
    let whole = OperatingMode { transmit_streams: 1, ..mode(ChannelWidth::Mhz80, 1) };
    let narrow = OperatingMode { width: ChannelWidth::Mhz40, ..whole };
    let silent = OperatingMode { uplink_ofdma: false, ..whole };
    let changes = [(ms(50), STA, narrow), (ms(100), STA, silent), (ms(150), STA, whole)];
    let stations = [STA, StationId(2), StationId(3)];
    let flows: Vec<_> = stations.iter().flat_map(|&it| [(AP, it), (it, AP)]).collect();
    let (log, _) = play(&config, &flows, (Duration::from_micros(300), ms(200)), &changes);
    let count = |from: u64, to: u64| {
        let within = |ppdu: &&Ppdu| {
            // Until a few milliseconds after a change the notification is under way.
            let span = Instant::ZERO + ms(from + 8)..Instant::ZERO + ms(to);
            span.contains(&ppdu.start)
        };
        let (mut down, mut asked, mut others) = (0, 0, 0);
        for ppdu in log.ppdus.iter().filter(within) {
            let frame = &ppdu.psdus[0].frames[0];
            let is_trigger = matches!(frame.kind, FrameKind::BasicTrigger { .. });
            let has = |aid: u16| frame.triggered.iter().any(|user| user.aid == aid);
            let is_in = |it| ppdu.psdus.iter().any(|psdu| psdu.receiver == Address::Station(it));
            let of_several = ppdu.transmitter == AP && ppdu.psdus.len() > 1;
            down += usize::from(of_several && is_in(STA));
            asked += usize::from(is_trigger && has(1));
            others += usize::from(of_several && !is_in(STA)) + usize::from(is_trigger && !has(1));
        }
        (down > 0, asked > 0, others > 0)
    };
    assert_eq!(count(0, 50), (true, true, true));
    assert_eq!(count(50, 100), (false, false, true));
    assert_eq!(count(100, 150), (true, false, true));
    let (down, asked, _) = count(150, 200);
    assert!(down && asked);
}

/// During an outage the notification waits, and is sent as soon as a frame gets through.
#[test]
fn an_outage_only_delays_it() {
    for is_he in [true, false] {
        let config = wide(1, is_he);
        let mut cell = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
        let snr = config.links.snr(STA, AP).expect("a link");
        let link = |cell: &mut Cell, at: u64, loss: Option<Probability>| {
            let now = Instant::ZERO + ms(at);
            while cell.poll_timeout().is_some_and(|(due, _)| due <= now) {
                let due = cell.poll_timeout().expect("it is due").0;
                cell.handle_timeout(due);
            }
            cell.change_link(now, [STA, AP], snr, loss, false).expect("it is as loud");
            now
        };
        let now = link(&mut cell, 10, Some(Probability::ONE));
        cell.change_operating_mode(now, STA, mode(ChannelWidth::Mhz20, 1)).expect("a mode");
        link(&mut cell, 1_000, Some(Probability::ONE));
        assert_eq!(cell.roster().known_mode(STA), None);
        link(&mut cell, 1_000, None);
        link(&mut cell, 1_110, None);
        assert_eq!(cell.roster().known_mode(STA), Some(mode(ChannelWidth::Mhz20, 1)));
        let mut told = Vec::new();
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event
                && told_at(&ppdu)
            {
                told.push(ppdu.start);
            }
        }
        // Seven times after each of ten beacons, and once that it arrived.
        assert!((7 * 8..=7 * 11 + 1).contains(&told.len()), "{}", told.len());
    }
}

fn told_at(ppdu: &Ppdu) -> bool {
    told(ppdu).is_some()
}

/// A station in power save wakes up to notify, or notifies in its next service period.
#[test]
fn a_station_that_saves_power_notifies() {
    let unscheduled = UnscheduledConfig {
        delivery_enabled: [true; 4],
        trigger_enabled: [true; 4],
        frames_max: None,
        trigger_interval: None,
        listen_interval: 1,
    };
    let twt = |uplink| TwtConfig {
        wake_interval: ms(50),
        wake_duration: Duration::from_micros(8_192),
        first_wake: ms(10),
        announced: true,
        ends_early: true,
        uplink,
        listens_to_dtim: false,
    };
    let legacy = PowerSaveConfig::dynamic(ms(20), Retrieval::PsPoll);
    for (kind, periods, legacy, within) in [
        ("legacy", None, Some(legacy), ms(4)),
        ("u-apsd", Some(ServicePeriodConfig::Unscheduled(unscheduled)), None, ms(2)),
        (
            "twt",
            Some(ServicePeriodConfig::TargetWake(twt(TwtUplink::ServicePeriods))),
            None,
            ms(56),
        ),
        (
            "twt, at once",
            Some(ServicePeriodConfig::TargetWake(twt(TwtUplink::AtOnce))),
            None,
            ms(2),
        ),
    ] {
        let mut config = wide(1, true);
        config.stations[STA.index()].power_save = legacy;
        config.stations[STA.index()].service_periods = periods;
        let narrow = mode(ChannelWidth::Mhz20, 1);
        // By then it has dozed for a while, between two beacons.
        let changes = [(ms(1_130), STA, narrow)];
        let (log, cell) = play(&config, &[(AP, STA)], (ms(200), ms(2_000)), &changes);
        let told: Vec<Instant> =
            log.ppdus.iter().filter(|ppdu| told_at(ppdu)).map(|ppdu| ppdu.start).collect();
        assert_eq!((told.len(), cell.roster().known_mode(STA)), (1, Some(narrow)), "{kind}");
        let after = told[0] - (Instant::ZERO + ms(1_130));
        assert!(after < within, "{kind}: {after}");
        // It dozes again.
        let away = cell.stations[STA.index()].stats.away;
        assert!(away > ms(1_200), "{kind}: {away}");
        assert_eq!(log.delivered.len(), 10, "{kind}");
    }
}

#[test]
fn modes_that_cannot_be_are_refused() {
    let config = wide(1, false);
    let mut running = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
    for wrong in [
        mode(ChannelWidth::Mhz160, 1),
        mode(ChannelWidth::Mhz20, 3),
        mode(ChannelWidth::Mhz20, 0),
        OperatingMode { transmit_streams: 0, ..full() },
        OperatingMode { transmit_streams: 3, ..full() },
        // 802.11ac has no Trigger frames.
        OperatingMode { uplink_ofdma: false, ..full() },
    ] {
        let now = running.now;
        let refused = running.change_operating_mode(now, STA, wrong);
        assert_eq!(refused, Err(AdjustError::OperatingMode));
        let mut config = config.clone();
        config.stations[STA.index()].operating_mode = Some(wrong);
        assert_eq!(Cell::new(&config, Seed::new(4, 0)).err(), Some(CellError::OperatingMode));
    }
    let mut of_ap = config.clone();
    of_ap.stations[AP.index()].operating_mode = Some(full());
    assert_eq!(Cell::new(&of_ap, Seed::new(4, 0)).err(), Some(CellError::OperatingMode));
    let ht = cell(1, mcs(7, ChannelWidth::Mhz20, GuardInterval::Long), ChannelWidth::Mhz20, 0);
    let mut ht = Cell::new(&ht, Seed::new(4, 0)).expect("a sound cell");
    let least = OperatingMode { transmit_streams: 1, ..mode(ChannelWidth::Mhz20, 1) };
    assert_eq!(
        ht.change_operating_mode(Instant::ZERO, STA, least),
        Err(AdjustError::OperatingMode)
    );
}

/// The cells in which a station has modes, according to the errors of a cell and of a change.
#[test]
fn who_has_modes() {
    let (vht, he) = (wide(1, false), wide(1, true));
    let change = |config: &CellConfig, change: &dyn Fn(&mut CellConfig)| {
        let mut config = config.clone();
        change(&mut config);
        config
    };
    let without_qos = |station: StationId| {
        change(&vht, &move |config| {
            config.stations[station.index()].capabilities.qos = false;
        })
    };
    let older = |station: StationId| {
        change(&he, &move |config| {
            let rates = RateSet::ht(2, ChannelWidth::Mhz40, false).rates;
            config.stations[station.index()].capabilities = Capabilities::new(rates, true);
        })
    };
    let both = RateSet::ht(2, ChannelWidth::Mhz40, false).rates.into_iter();
    let both: Vec<Rate> = both.chain(RateSet::vht(2, ChannelWidth::Mhz80, false).rates).collect();
    let beside_older = |station: StationId| {
        change(&older(station), &|config| {
            let other = if station == AP { STA } else { AP };
            config.stations[other.index()].capabilities = Capabilities::new(both.clone(), true);
        })
    };
    for (name, config, has_modes) in [
        ("802.11ac", vht.clone(), true),
        ("802.11ax", he.clone(), true),
        ("independent", change(&he, &|config| config.independent = true), false),
        ("access point without QoS", without_qos(AP), false),
        ("station without QoS", without_qos(STA), false),
        ("older station", beside_older(STA), false),
        ("older access point", beside_older(AP), false),
    ] {
        assert_eq!(config.has_operating_modes(STA), has_modes, "{name}");
        assert!(!config.has_operating_modes(AP), "{name}");
        let least = OperatingMode { transmit_streams: 1, ..mode(ChannelWidth::Mhz20, 1) };
        let mut running = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
        let changed = running.change_operating_mode(Instant::ZERO, STA, least);
        assert_eq!(changed.is_ok(), has_modes, "{name}");
        let begun = change(&config, &|config| {
            config.stations[STA.index()].operating_mode = Some(least);
        });
        assert_eq!(Cell::new(&begun, Seed::new(4, 0)).is_ok(), has_modes, "{name}");
    }
}

fn any_mode() -> impl Strategy<Value = OperatingMode> {
    let width = prop_oneof![
        Just(ChannelWidth::Mhz20),
        Just(ChannelWidth::Mhz40),
        Just(ChannelWidth::Mhz80)
    ];
    (width, 1u8..=2, 1u8..=2, any::<bool>()).prop_map(
        |(width, receive_streams, transmit_streams, uplink_ofdma)| OperatingMode {
            width,
            receive_streams,
            transmit_streams,
            uplink_ofdma,
        },
    )
}

/// Two stations that share a lossy channel with their access point and repeat frames up to 255
/// times; the second one saves power if `is_saving`.
fn lossy(loss: f64, is_saving: bool, has_ofdma: bool) -> CellConfig {
    let mut config = wide(2, true);
    for station in &mut config.stations {
        station.retry_limit = 255;
    }
    if has_ofdma {
        let both = ofdma(2, 5, 8, OfdmaAcknowledgement::MuBlockAckRequest);
        let mut of = both.stations[AP.index()].ofdma.expect("it is set");
        of.uplink = Some(UplinkConfig {
            buffer_reports: Some(ms(5)),
            mu_edca: core::array::from_fn(|_| None),
        });
        config.stations[AP.index()].ofdma = Some(of);
    }
    if is_saving {
        config.stations[2].power_save = Some(PowerSaveConfig::dynamic(ms(10), Retrieval::Wake));
    }
    config.change_links(|pair| {
        pair.link.loss = Probability::new(loss);
    });
    config
}

/// Packets in both directions for both stations.
const BOTH_WAYS: [(StationId, StationId); 4] =
    [(AP, STA), (AP, StationId(2)), (STA, AP), (StationId(2), AP)];

/// The access point holds two packets for more than five seconds: the station is awake for 10 ms
/// after a beacon that it heard, and the frames of that time are lost. Both come
/// across later.
#[test]
fn losses_delay_the_packets_of_a_dozing_station() {
    let second = StationId(2);
    let some = |width, receive_streams, transmit_streams| OperatingMode {
        width,
        receive_streams,
        transmit_streams,
        uplink_ofdma: false,
    };
    let modes = [
        (ms(6), second, some(ChannelWidth::Mhz40, 2, 1)),
        (ms(103), second, some(ChannelWidth::Mhz80, 1, 2)),
        (ms(168), STA, some(ChannelWidth::Mhz80, 1, 2)),
        (ms(178), second, some(ChannelWidth::Mhz40, 1, 2)),
    ];
    let config = lossy(0.587_649_123_770_177_6, true, false);
    let time = (Duration::from_micros(1_284), ms(220));
    let (log, cell) = play(&config, &BOTH_WAYS, time, &modes);
    assert_eq!((log.sent, log.dropped), (688, 0));
    assert!(cell.now > Instant::ZERO + Duration::from_secs(5), "{}", cell.now);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any losses: the station receives no PPDU beyond the mode whose Ack it received last,
    /// unless a later one permits more. The access point ends with the last announced mode, and no
    /// packet is lost or waits forever.
    #[test]
    fn nothing_is_sent_beyond_what_was_told(
        modes in proptest::collection::vec((1u64..200, 1u16..=2, any_mode()), 1..8),
        (loss, is_saving, has_ofdma) in (0.0..0.6, any::<bool>(), any::<bool>()),
        interval in 200u64..2_000,
    ) {
        let config = lossy(loss, is_saving, has_ofdma);
        let mut modes: Vec<_> =
            modes.into_iter().map(|(at, who, mode)| (ms(at), StationId(who), mode)).collect();
        modes.sort_by_key(|(at, ..)| *at);
        let time = (Duration::from_micros(interval), ms(220));
        let (log, cell) = play(&config, &BOTH_WAYS, time, &modes);
        prop_assert_eq!(log.dropped, 0);
        for station in [STA, StationId(2)] {
            let last = modes.iter().rfind(|(_, who, _)| *who == station).map(|(.., mode)| *mode);
            prop_assert_eq!(cell.roster().known_mode(station), last);
            // What it told and got an Ack for, and the most of what it told since.
            let (mut own, mut most) = (full(), full());
            let mut frames = log.ppdus.iter().peekable();
            while let Some(ppdu) = frames.next() {
                let psdu = ppdu.psdus.iter().find(|it| it.receiver == Address::Station(station));
                if ppdu.transmitter == station && let Some((mode, _)) = told(ppdu) {
                    let frame = &ppdu.psdus[0].frames[0];
                    let ack = frames.peek().filter(|next| next.start == ppdu.end + SIFS);
                    let is_acked = ack.is_some_and(|next| next.psdus[0].frames[0].received);
                    prop_assert!(frame.received || ack.is_none());
                    let more = OperatingMode {
                        width: mode.width.max(most.width),
                        receive_streams: mode.receive_streams.max(most.receive_streams),
                        ..mode
                    };
                    (own, most) = if is_acked { (mode, mode) } else { (own, more) };
                } else if let Some(psdu) = psdu.filter(|_| ppdu.transmitter == AP) {
                    // Of several: the RU is within the channel.
                    let width = if psdu.ru.is_some() { ChannelWidth::Mhz80 } else { psdu.rate.width() };
                    prop_assert!(width <= most.width, "{:?} after {:?}", psdu.rate, most);
                    prop_assert!(psdu.rate.streams() <= most.receive_streams);
                } else if ppdu.transmitter == station && has_data(ppdu) {
                    let rate = ppdu.psdus[0].rate;
                    prop_assert!(rate.width() <= own.width, "{:?} in {:?}", rate, own);
                    prop_assert!(rate.streams() <= own.transmit_streams);
                }
            }
        }
    }
}
