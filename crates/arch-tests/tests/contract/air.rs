//! [`Cell`] with two to five stations, of which some are hidden from each other or move, and
//! with any queues, rates and losses: every packet is delivered or dropped, once, and
//! not before its time. Leaves out group-addressed packets.

use crate::{one_in, pause};
use core::fmt::{self, Debug, Formatter};
use lasthop_arch_tests::contract::Driver;
use lasthop_packet::queue::{DriverLimit, Limit, QueueConfig};
use lasthop_packet::{AccessCategory, Packet, Transport};
use lasthop_units::{Db, Dbm, Duration, Identity, Instant, Meters, Probability, Seed};
use lasthop_wifi::Capabilities;
use lasthop_wifi::cell::{
    Aggregation, BlockAck, BlockAckRequestPolicy, Cell, CellConfig, EdcaParameters, Movement,
    Output, PairConfig, Role, RxHold, RxInterrupt, StationConfig, Track, Waypoint, distance,
};
use lasthop_wifi::mac::beacon_clock::WakeClock;
use lasthop_wifi::mac::originator::LowRateRetry;
use lasthop_wifi::mac::power_save::{Busy, PowerSaveConfig, Retrieval, Sending};
use lasthop_wifi::mac::rate::{RateControlConfig, RateSet};
use lasthop_wifi::mac::retry_out::RateTable;
use lasthop_wifi::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanConfig, ScanKind};
use lasthop_wifi::mac::schedule::AbsenceConfig;
use lasthop_wifi::mac::service_period::{FRAMES_MAX, ServicePeriodConfig, UnscheduledConfig};
use lasthop_wifi::phy::{Band, ChannelWidth, Fading, Propagation, SnrChange, Standard};
use lasthop_wifi::{Address, StationId};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The index of the access point in [`CellConfig::stations`].
const ACCESS_POINT: StationId = StationId(0);

/// An SNR in dB with which a station neither decodes nor senses another.
const HIDDEN_DB: f64 = -30.0;

/// Generates background scans, more frequent than in practice.
fn scan() -> impl Strategy<Value = ScanConfig> {
    let ms = |range: core::ops::Range<u64>| range.prop_map(Duration::from_millis);
    let leftover =
        prop_oneof![Just(Leftover::Keep), Just(Leftover::DropDriver), Just(Leftover::DropAll)];
    let times = (ms(0..50), ms(300..3_000), ms(1..80), ms(0..60), ms(0..30));
    (times, 1..4u16, leftover, 1..12u8, prop::option::of(0..5u8), 0.0..0.7).prop_map(
        |((start, period, away, back, flush), channels, leftover, attempts, rts_after, loss)| {
            let loss = Probability::new(loss).expect("in range");
            let null = NullConfig { attempts, rts_after, leave_loss: loss, return_loss: loss };
            let kind = if attempts % 2 == 0 { ScanKind::Active } else { ScanKind::Passive };
            let own_channel = rts_after.map(u16::from).filter(|own| (1..=channels).contains(own));
            ScanConfig {
                start,
                period,
                channels,
                away,
                passive: PassiveChannels { count: u16::from(attempts) % 3, away: away * 2 },
                back,
                kind,
                own_channel,
                flush,
                leftover,
                return_drain: (attempts % 3 == 0).then_some(10 * u32::from(attempts)),
                null,
            }
        },
    )
}

/// Generates absences by one or two clocks, for a quarter of the time each at most.
fn absences() -> impl Strategy<Value = Vec<AbsenceConfig>> {
    let one = (0..50_000u64, 20_000..80_000u64, 3..8u64, any::<bool>()).prop_map(
        |(start, away, share, announced)| AbsenceConfig {
            start: Duration::from_micros(start),
            away: Duration::from_micros(away),
            every: (share < 7).then_some(Duration::from_micros(away * (share + 1))),
            announced,
            channel: None,
        },
    );
    prop::collection::vec(one, 1..3)
}

/// A station saves power in one way.
#[derive(Clone, Copy, Debug)]
enum Saves {
    Legacy(PowerSaveConfig),
    ServicePeriods(ServicePeriodConfig),
}

/// Generates power save with shorter idle times than in practice.
fn power_save() -> impl Strategy<Value = PowerSaveConfig> {
    let retrieval = prop_oneof![Just(Retrieval::PsPoll), Just(Retrieval::Wake)];
    let ms = Duration::from_millis;
    let busy = (0..20u32, 1..200u64).prop_map(move |(frames, interval)| {
        Sending::InPowerSave(Busy { frames, interval: ms(interval) })
    });
    let sending = prop_oneof![Just(Sending::Awake), busy];
    (1..200u64, 1..4u8, retrieval, sending, 0..3u64).prop_map(
        move |(idle, listen_interval, retrieval, sending, jitter)| {
            let loss = Probability::new(jitter as f64 / 4.0).expect("in range");
            let clock = WakeClock { lead: ms(1), jitter: ms(jitter), loss, missed_max: 3 };
            let dynamic = PowerSaveConfig::dynamic(ms(idle), retrieval);
            PowerSaveConfig { listen_interval, sending, clock, ..dynamic }
        },
    )
}

/// Generates U-APSD of some categories.
fn service_periods() -> impl Strategy<Value = ServicePeriodConfig> {
    let frames_max = prop::option::of(prop::sample::select(&FRAMES_MAX[..]));
    let interval = prop::option::of((1..200u64).prop_map(Duration::from_millis));
    let categories = (any::<[bool; 4]>(), any::<[bool; 4]>());
    (frames_max, interval, 1..4u8, categories).prop_map(
        |(frames_max, trigger_interval, listen_interval, (delivery_enabled, mut trigger))| {
            trigger[3] |= trigger == [false; 4];
            // What beacons do not announce is for the station to ask for, again and again.
            let trigger_interval = if delivery_enabled == [true; 4] {
                trigger_interval
            } else {
                trigger_interval.or(Some(Duration::from_millis(80)))
            };
            ServicePeriodConfig::Unscheduled(UnscheduledConfig {
                delivery_enabled,
                trigger_enabled: trigger,
                frames_max,
                trigger_interval,
                listen_interval,
            })
        },
    )
}

fn station() -> impl Strategy<Value = StationConfig> {
    let queue = prop_oneof![
        Just(QueueConfig::DropTail { limit: Limit::Packets(30) }),
        Just(QueueConfig::DropTailByPeer { limit: Limit::Packets(30), peer_packets: 9 }),
        Just(QueueConfig::RFC_8289),
        Just(QueueConfig::MAC80211),
        Just(QueueConfig::DUAL_PI2),
        Just(QueueConfig::CAKE),
    ];
    let driver_queue = prop_oneof![
        Just(DriverLimit::None),
        Just(DriverLimit::Packets(8)),
        Just(DriverLimit::Airtime(Duration::from_millis(5))),
    ];
    let aggregation = (prop_oneof![Just(0), Just(65_535)], prop_oneof![Just(0), Just(3_839)]);
    let limits = (1..8u8, prop::option::of(1..200u64), prop::option::of(0..2_000u32));
    let limits = (limits, any::<(bool, bool, bool)>(), any::<bool>());
    let absence = (
        prop::option::weighted(0.3, scan()),
        prop::option::weighted(
            0.6,
            prop_oneof![
                power_save().prop_map(Saves::Legacy),
                service_periods().prop_map(Saves::ServicePeriods),
            ],
        ),
        prop::option::of(1..20u32),
        prop::option::weighted(0.3, absences()),
    );
    let windows =
        (prop_oneof![1..=64u16, 1..=1_024u16], prop_oneof![Just(64u16), Just(256), Just(1_024)]);
    (queue, driver_queue, aggregation, limits, 0..3, windows, any::<bool>(), absence).prop_map(
        |(queue, driver_queue, (ampdu, amsdu), limits, control, windows, after_drop, absence)| {
            let (window, block_ack_window_max) = windows;
            let rates = RateSet::ht(2, ChannelWidth::Mhz20, false);
            let fixed = rates.rates[rates.rates.len() / 2];
            let access = EdcaParameters::BEST_EFFORT;
            let video = EdcaParameters { txop_limit: Duration::from_micros(3_008), ..access };
            let (limits, (retry_out, low_rate, built_ahead), per_mpdu) = limits;
            let (retry_limit, lifetime_ms, rts_threshold) = limits;
            let table = RateTable::PAPER;
            StationConfig {
                access: [access, access, video, access],
                queue,
                driver_queue,
                rate_control: match control {
                    0 => RateControlConfig::Fixed { rate: fixed },
                    1 => RateControlConfig::ideal(),
                    _ => RateControlConfig::minstrel_ht(),
                },
                capabilities: Capabilities {
                    block_ack_window_max,
                    ..Capabilities::new(rates.rates.clone(), true)
                },
                rts_threshold,
                aggregation: Aggregation {
                    ampdu_bytes_max: ampdu,
                    ampdu_frames_max: window,
                    amsdu_bytes_max: amsdu,
                    built_ahead,
                    hardware_ampdus: 1 + retry_limit % 3,
                    ..Aggregation::STANDARD
                },
                block_ack: BlockAck {
                    window,
                    request: if after_drop {
                        BlockAckRequestPolicy::AfterDrop
                    } else {
                        BlockAckRequestPolicy::AfterMissing
                    },
                    ..BlockAck::STANDARD
                },
                transmit_gap: Duration::from_micros(if low_rate { 450 } else { 0 }),
                rx_interrupt: if retry_out && low_rate {
                    RxInterrupt::Held(RxHold::ATH9K)
                } else if per_mpdu {
                    RxInterrupt::Mpdu
                } else {
                    RxInterrupt::Ppdu
                },
                retry_limit,
                low_rate_retry: low_rate.then_some(LowRateRetry { table, all_traffic: false }),
                pseudo_retry_out: retry_out.then_some(table),
                msdu_lifetime: lifetime_ms.map(Duration::from_millis),
                scan: absence.0,
                power_save: match absence.1 {
                    Some(Saves::Legacy(power_save)) if absence.0.is_none() => Some(power_save),
                    _ => None,
                },
                service_periods: match absence.1 {
                    Some(Saves::ServicePeriods(periods)) if absence.0.is_none() => Some(periods),
                    _ => None,
                },
                power_save_buffer: absence.2,
                absences: match absence.3 {
                    Some(absences) if absence.0.is_none() && absence.1.is_none() => absences,
                    _ => Vec::new(),
                },
                ..StationConfig::fixed(Role::Station, Identity::default(), fixed)
            }
        },
    )
}

/// A configuration that is printed without its error model, which has pages of numbers.
#[derive(Clone)]
pub struct Shown(pub CellConfig);

impl Debug for Shown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0.stations).entries(self.0.links.iter()).finish()
    }
}

/// Generates tracks within 20 m on either side, at up to 280 m/s.
fn track() -> impl Strategy<Value = Track> {
    let place = || (-20.0..20.0, -20.0..20.0).prop_map(|(x, y)| [Meters(x), Meters(y)]);
    (place(), place(), 100..5_000u64).prop_map(|(one, other, millis)| {
        let waypoint = |times: u64, position| {
            let at = Instant::ZERO + Duration::from_millis(millis * times);
            Waypoint { at, position }
        };
        let there_and_back = vec![waypoint(0, one), waypoint(1, other), waypoint(2, one)];
        Track::through(there_and_back).repeated(Duration::from_millis(2 * millis))
    })
}

/// Generates cells of two to five stations, the access point first.
pub fn config() -> impl Strategy<Value = Shown> {
    let stations = prop::collection::vec(station(), 2..=5);
    // From an SNR of 13 dB on, every frame is sensed at -82 dBm; stations may cease to sense each
    // other.
    let change = prop::option::of((0..60_000_000_u64, -10.0..50.0));
    let link = (prop::option::of(0.0..0.6), 1.0..60.0, prop::bool::weighted(0.2), change);
    let links = prop::collection::vec(link, 10);
    let cell = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let moving = prop::option::weighted(0.4, prop::collection::vec(track(), 5));
    (stations, links, cell, moving).prop_map(|(mut stations, links, cell, moving)| {
        let (beacons, capture, fading, record) = cell;
        let mut propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
        if fading {
            propagation.fading = Fading::Rayleigh { doppler_hz: 20.0 };
        }
        for (index, station) in (0..).zip(&mut stations) {
            station.identity = Identity::numbered(index);
        }
        stations[0].role = Role::AccessPoint;
        (stations[0].scan, stations[0].power_save) = (None, None);
        stations[0].service_periods = None;
        stations[0].absences.iter_mut().for_each(|absence| absence.announced = false);
        for station in stations.iter_mut().filter(|_| !beacons) {
            (station.power_save, station.service_periods) = (None, None);
        }
        let count = stations.len() as u16;
        let mut pairs = Vec::new();
        let mut links = links.into_iter();
        for from in 0..count {
            for to in from + 1..count {
                let (loss, meters, hidden, change) = links.next().expect("ten for five stations");
                let mut link = propagation.link(Dbm(20.0), Meters(meters), Db(0.0));
                let to_change =
                    |(nanos, db)| SnrChange { at: Instant::from_nanos(nanos), snr: Db(db) };
                let mut snr_changes: Vec<_> = change.map(to_change).into_iter().collect();
                link.loss = loss.and_then(Probability::new);
                if from == ACCESS_POINT.0 {
                    snr_changes.iter_mut().for_each(|change| change.snr.0 = change.snr.0.max(13.0));
                } else if hidden {
                    link = propagation.link_with_snr(Db(HIDDEN_DB));
                }
                let (from, to) = (StationId(from), StationId(to));
                pairs.push(PairConfig { from, to, link, snr_changes: snr_changes.clone() });
                pairs.push(PairConfig { from: to, to: from, link, snr_changes });
            }
        }
        // Up to 28 m from the access point, -70 dBm, and 57 m from each other, -79 dBm.
        let movement = moving.map(|mut tracks| {
            tracks.truncate(stations.len());
            tracks[0] = Track::still([Meters(0.0); 2]);
            let changes = |pair: &&PairConfig| !pair.snr_changes.is_empty();
            let fixed = pairs.iter().filter(changes).map(|pair| (pair.from, pair.to)).collect();
            for pair in pairs.iter_mut().filter(|pair| pair.snr_changes.is_empty()) {
                let [one, other] = [pair.from, pair.to]
                    .map(|station| tracks[station.index()].position(Instant::ZERO));
                let loss = pair.link.loss;
                pair.link = propagation.link(Dbm(20.0), distance(one, other), Db(0.0));
                pair.link.loss = loss;
            }
            Arc::new(Movement { path_loss: propagation.path_loss, tracks, fixed })
        });
        Shown(CellConfig {
            carrier_sense: if movement.is_some() { Dbm(-75.0) } else { Dbm(-82.0) },
            movement,
            beacon_interval: beacons.then_some(Duration::from_micros(102_400)),
            capture_margin: capture.then_some(Db(10.0)),
            record_events: record,
            ..CellConfig::new(Standard::Dot11n, Band::Ghz5, stations, pairs)
        })
    })
}

proptest! {
    #![proptest_config(one_in(16))]
    #[test]
    fn keeps_the_contract(
        Shown(config) in config(),
        work in prop::collection::vec(
            (pause(Duration::from_millis(10)), 0..5u16, 0..5u16, 0..4usize, 40..2_000u16, 1..12),
            1..60),
    ) {
        let stations = config.stations.len() as u16;
        let mut driver = Driver::new(Cell::new(&config, Seed::new(1, 0)).expect("a sound cell"));
        let mut ended = BTreeSet::new();
        let mut sent = 0;
        let mut drain = |now: Instant, cell: &mut Cell| {
            while let Some(output) = cell.poll_output() {
                let (at, packet) = match output {
                    Output::Delivered { at, packet, .. } => (at, packet),
                    Output::Dropped { at, packet, .. } => (at, packet),
                    Output::GroupSent { packet, .. } | Output::Overheard { packet, .. } => {
                        panic!("not for a group: {packet:?}")
                    }
                    Output::Attached { .. } => continue,
                };
                assert!(at <= now, "it came before its time: {output:?}");
                assert!(ended.insert(packet.tag), "it ended before: {output:?}");
            }
            while cell.poll_event().is_some() {}
            while cell.poll_space().is_some() {}
        };
        for (pause, from, to, category, bytes, packets) in work {
            pause.pass(&mut driver, &mut drain);
            let now = driver.now();
            let (from, to) = match from % stations {
                0 => (0, 1 + to % (stations - 1)),
                client => (client, 0),
            };
            for _ in 0..packets {
                let mut packet = Packet::new(sent, bytes, now);
                packet.access_category = AccessCategory::ALL[category];
                packet.transport = if bytes > 300 { Transport::Tcp } else { Transport::Other };
                let to = Address::Station(StationId(to));
                driver.machine.handle_packet(now, StationId(from), to, packet);
                sent += 1;
            }
        }
        // A station that scans twice a second and loses most of its Null frames is
        // rarely on its channel, so the rest takes long.
        driver.pause(Duration::from_secs(60), &mut drain);
        prop_assert_eq!(ended.len() as u64, sent, "every packet comes to an end");
    }
}
