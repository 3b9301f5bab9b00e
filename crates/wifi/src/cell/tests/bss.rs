//! Several basic service sets on one channel: shared and separate state.

use super::away::ms;
use super::*;
use crate::BssId;
use crate::event::{Event, FrameKind};
use crate::mac::power_save::{PowerSaveConfig, Retrieval};
use crate::mac::rate::RateControlConfig;
use crate::phy::Fading;
use alloc::collections::BTreeMap;
use proptest::prelude::*;

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// An SNR at which a station senses nothing, and whose interference vanishes even in a double.
pub(super) const DEAF: Db = Db(-300.0);

/// Sets with these numbers of stations, each with its access point first; `snr` is between sets.
pub(super) fn sets(stations: &[usize], rate: Rate, ampdu: u32, snr: Db) -> CellConfig {
    let total: usize = stations.iter().map(|stations| stations + 1).sum();
    let mut config = cell(total - 1, rate, ChannelWidth::Mhz20, ampdu);
    let mut number = 0;
    for (bss, stations) in (0..).zip(stations) {
        for place in 0..=*stations {
            let station = &mut config.stations[number];
            station.bss = BssId(bss);
            station.beacon_offset = beacon_offset(bss, config.beacon_interval);
            station.role = if place == 0 { Role::AccessPoint } else { Role::Station };
            number += 1;
        }
    }
    let of: Vec<BssId> = config.stations.iter().map(|station| station.bss).collect();
    config.change_links(|pair| {
        let is_inside = of[pair.from.index()] == of[pair.to.index()];
        pair.link.snr = if is_inside { Db(45.0) } else { snr };
    });
    config.capture_margin = None;
    config
}

/// Beacon offsets that are spread over the interval by the golden ratio.
fn beacon_offset(set: u16, interval: Option<Duration>) -> Duration {
    let share = u32::from(set).wrapping_mul(0x9e37_79b9);
    let interval = interval.unwrap_or_default();
    Duration::from_nanos(((u128::from(interval.as_nanos()) * u128::from(share)) >> 32) as u64)
}

/// Flows from every station to its access point.
pub(super) fn uplink(config: &CellConfig) -> Vec<(StationId, Address)> {
    let ids = (0..).map(StationId);
    let stations = config.stations.iter().zip(ids).filter(|(it, _)| it.role == Role::Station);
    stations.map(|(it, id)| (id, Address::Station(access_point(config, it.bss)))).collect()
}

pub(super) fn access_point(config: &CellConfig, bss: BssId) -> StationId {
    let is_it = |it: &StationConfig| it.bss == bss && it.role == Role::AccessPoint;
    StationId(config.stations.iter().position(is_it).expect("each set has one") as u16)
}

/// Packets that each sender delivered in a time.
pub(super) fn delivered(
    config: &CellConfig,
    seed: u64,
    senders: &[(StationId, Address)],
) -> Vec<u64> {
    let mut cell = Cell::new(config, Seed::new(1, seed)).expect("a sound cell");
    saturate(&mut cell, senders, SECOND * 4, 1500);
    let acked = |&(from, to): &(StationId, Address)| {
        cell.link_stats(from, to).map_or(0, |link| link.mpdus_acked)
    };
    senders.iter().map(acked).collect()
}

/// Stations of two sets that hear each other share the channel like stations of one: together they
/// deliver as much as the same number of stations in one cell of ns-3, and half of it each.
#[test]
fn sets_that_hear_each_other_are_as_one() {
    let rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
    for (stations, expected) in [(1, 31.3677), (5, 28.6463)] {
        let config = sets(&[stations, stations], rate, 0, Db(45.0));
        let senders = uplink(&config);
        let runs = (0..4).map(|run| delivered(&config, run, &senders));
        let mut packets = [0, 0];
        for run in runs {
            for (index, count) in run.into_iter().enumerate() {
                packets[index / stations] += count;
            }
        }
        let ratio = mbps(packets[0] + packets[1], 1472, SECOND * 16) / expected;
        assert!((ratio - 1.0).abs() < 0.02, "{stations} in each: ratio {ratio}");
        let share = packets[0] as f64 / (packets[0] + packets[1]) as f64;
        assert!((share - 0.5).abs() < 0.02, "{stations} in each: {share} to the first");
    }
}

/// Outputs of the stations of set 0.
pub(super) fn trajectory(
    config: &CellConfig,
    senders: &[(StationId, Address)],
) -> Vec<(StationId, Output)> {
    let own: Vec<bool> = config.stations.iter().map(|it| it.bss == BssId(0)).collect();
    let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
    let mut outputs = Vec::new();
    let mut tags = alloc::vec![0; config.stations.len()];
    let mut now = Instant::ZERO;
    loop {
        for &(from, to) in senders {
            while cell.held_packets(from) < 60 {
                let packet = Packet::new(tags[from.index()], 1000, now);
                tags[from.index()] += 1;
                cell.handle_packet(now, from, to, packet);
            }
        }
        let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < Instant::ZERO + SECOND)
        else {
            break;
        };
        now = at;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { station, .. } | Output::Dropped { station, .. } = &output
                && own[station.index()]
            {
                outputs.push((*station, output));
            }
        }
        while cell.poll_space().is_some() {}
    }
    outputs
}

/// A PPDU that is 20 dB below the noise everywhere in a set draws no random number there and
/// changes no probability, neither with fading nor with given losses; a slightly stronger one does.
#[test]
fn what_is_below_the_floor_is_not_there() {
    let rate = mcs(5, ChannelWidth::Mhz20, GuardInterval::Long);
    let varied = |mut config: CellConfig| {
        let of: Vec<BssId> = config.stations.iter().map(|station| station.bss).collect();
        config.change_links(|pair| {
            if of[pair.from.index()] != of[pair.to.index()] {
                return;
            }
            match (pair.from.0 + pair.to.0) % 2 {
                0 => pair.link.loss = Some(Probability::new(0.2).expect("a probability")),
                _ => {
                    pair.link.snr = Db(20.0);
                    pair.link.fading = Fading::Rayleigh { doppler_hz: 30.0 };
                }
            }
        });
        config
    };
    let alone = varied(sets(&[3], rate, 16_000, DEAF));
    let expected = trajectory(&alone, &uplink(&alone));
    assert!(expected.len() > 1_000, "only {} packets", expected.len());
    for (snr, is_there) in [(DEAF, false), (Db(-20.01), false), (Db(-19.99), true)] {
        let beside = varied(sets(&[3, 4, 2], rate, 16_000, snr));
        let outputs = trajectory(&beside, &uplink(&beside));
        assert_eq!(outputs != expected, is_there, "{snr}");
    }
}

/// A saturated set that no station of another set hears changes nothing there: the other delivers
/// the same packets at the same instants, with the same random numbers.
#[test]
fn a_set_out_of_reach_changes_nothing() {
    let rate = mcs(5, ChannelWidth::Mhz20, GuardInterval::Long);
    let lossy = |mut config: CellConfig| {
        config.change_links(|pair| {
            if pair.link.snr == Db(45.0) {
                pair.link.snr = Db(17.0);
            }
        });
        for station in &mut config.stations {
            station.capabilities.rates =
                Rate::all_ht(ChannelWidth::Mhz20, GuardInterval::Long, 1).collect::<Vec<_>>();
            station.rate_control = RateControlConfig::minstrel_ht();
        }
        config
    };
    let alone = lossy(sets(&[3], rate, 16_000, DEAF));
    let beside = lossy(sets(&[3, 4, 2], rate, 16_000, DEAF));
    let expected = trajectory(&alone, &uplink(&alone));
    assert!(expected.len() > 1_000, "only {} packets", expected.len());
    assert_eq!(trajectory(&beside, &uplink(&beside)), expected);
    // Nor is it the order in which the configuration has them.
    let idle = trajectory(&beside, &uplink(&alone));
    assert_eq!(idle, expected);
}

/// Two access points that do not hear each other, and stations that hear both. A frame of 2 ms at
/// 6.5 Mb/s is longer than an access point's gap between two frames (AIFS, 15 slots and the
/// response timeout: below 0.3 ms). The other's frame therefore always overlaps, and no frame is
/// delivered. The stations' CTS reach both, so RTS lets some frames through.
///
/// An account of the case with RTS: an RTS takes 52 us at 6 Mb/s and its CTS begins 16 us later, so
/// two that begin less than 68 us apart, 7 slots or fewer, do not learn of each other. Of 256 pairs
/// of backoffs from 0 to 15 these are 184. A failed round takes an RTS, the response timeout (16 +
/// 9 + 20 us), AIFS (43 us) and a backoff: 0.2 ms. For each successful round there are 184/72 = 2.6
/// failed ones. A successful round takes 2.2 ms, so the two get at most 2.2/2.7 = 81 %. The actual
/// share is smaller, because some of those that are 6 or 7 slots late send during the other's data.
#[test]
fn hidden_access_points_collide() {
    let rate = mcs(0, ChannelWidth::Mhz20, GuardInterval::Long);
    let hidden = |rts_threshold| {
        let mut config = sets(&[1, 1], rate, 0, Db(45.0));
        for station in &mut config.stations {
            station.access.iter_mut().for_each(|access| access.cw_max = 15);
            station.rts_threshold = rts_threshold;
        }
        config.beacon_interval = None;
        config.change_links(|pair| {
            if [pair.from.0, pair.to.0].iter().all(|id| id.is_multiple_of(2)) {
                pair.link.snr = DEAF;
            }
        });
        config
    };
    let down = |bss: u16| (StationId(2 * bss), Address::Station(StationId(2 * bss + 1)));
    let config = hidden(None);
    let alone = delivered(&config, 0, &[down(0)])[0];
    // 2 ms of PPDU and 0.17 ms around it.
    assert!(alone > 1_700 && alone < 2_000, "{alone} in 4 s");
    let packets = delivered(&config, 0, &[down(0), down(1)]);
    assert_eq!(packets, [0, 0]);
    let packets = delivered(&hidden(Some(0)), 0, &[down(0), down(1)]);
    let share = packets.iter().sum::<u64>() as f64 / alone as f64;
    assert!(share > 0.0 && share < 0.81, "RTS leaves {share}: {packets:?}");
    let fairness = packets[0] as f64 / packets.iter().sum::<u64>() as f64;
    assert!((fairness - 0.5).abs() < 0.05, "{packets:?}");
}

/// The first set's beacons are at the same instants as without the second set, the second's between
/// them; each has the TIM of its set.
#[test]
fn each_set_has_its_beacons() {
    let rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
    let mut config = sets(&[1, 2], rate, 65_535, Db(45.0));
    config.record_events = true;
    let dozing = StationId(4);
    config.stations[dozing.index()].power_save =
        Some(PowerSaveConfig::dynamic(ms(20), Retrieval::PsPoll));
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let sent = Instant::ZERO + ms(500);
    cell.handle_timeout(sent);
    cell.handle_packet(sent, StationId(2), Address::Station(dozing), Packet::new(1, 500, sent));
    cell.handle_timeout(Instant::ZERO + SECOND);
    let mut beacons: [Vec<_>; 2] = Default::default();
    while let Some(event) = cell.poll_event() {
        let Event::Ppdu(ppdu) = event else { continue };
        for frame in ppdu.frames().filter(|f| matches!(f.kind, FrameKind::Beacon { .. })) {
            let bss = usize::from(ppdu.transmitter == StationId(2));
            beacons[bss].push((ppdu.start, frame.announced.clone()));
        }
    }
    let interval = Duration::from_micros(102_400);
    for (bss, first) in [interval, interval + Duration::from_nanos(63_286_680)].iter().enumerate() {
        for ((start, _), number) in beacons[bss].iter().zip(0u64..) {
            let late = *start - (Instant::ZERO + *first + interval * number);
            assert!(late < ms(1), "beacon {number} of set {bss} is {late} late");
        }
    }
    assert_eq!(beacons[0].len(), 9);
    assert!(beacons[0].iter().all(|(_, announced)| announced.is_empty()));
    // It is the second station of its set.
    let announced: Vec<_> = beacons[1].iter().filter(|(_, aids)| !aids.is_empty()).collect();
    assert_eq!(announced.len(), 1);
    assert_eq!(announced[0].1, [2]);
    let arrived = core::iter::from_fn(|| cell.poll_output());
    assert_eq!(arrived.filter(|out| matches!(out, Output::Delivered { .. })).count(), 1);
}

#[test]
fn each_set_has_one_access_point() {
    let rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
    let error = |change: &dyn Fn(&mut [StationConfig])| {
        let mut config = sets(&[1, 1], rate, 0, Db(45.0));
        change(&mut config.stations);
        Cell::new(&config, Seed::new(1, 0)).expect_err("an unsound cell")
    };
    assert_eq!(error(&|stations| stations[2].role = Role::Station), CellError::AccessPoints(1, 0));
    assert_eq!(
        error(&|stations| stations[1].role = Role::AccessPoint),
        CellError::AccessPoints(0, 2)
    );
    assert_eq!(error(&|stations| stations[3].bss = BssId(7)), CellError::AccessPoints(2, 0));
}

/// Sends between all possible pairs for a while, until no station holds a packet. Each packet to
/// one station is delivered there, once, or lost with a reason, and no packet reaches another set.
pub(super) fn conserves(config: &CellConfig, sets: u16, seed: u64) -> Result<(), TestCaseError> {
    let mut cell = Cell::new(config, Seed::new(seed, 0)).expect("a sound cell");
    let of: Vec<BssId> = config.stations.iter().map(|station| station.bss).collect();
    let mut flows: Vec<(StationId, Address)> = uplink(config);
    let down = flows.iter().map(|&(station, ap)| match ap {
        Address::Station(ap) => (ap, Address::Station(station)),
        Address::Group => unreachable!("it goes to an access point"),
    });
    let down: Vec<_> = down.collect();
    flows.extend(down);
    let groups = (0..sets).map(|bss| (access_point(config, BssId(bss)), Address::Group));
    flows.extend(groups);
    // By tag: whence, to whom, and how often it came out.
    let mut sent: BTreeMap<u64, (StationId, Address, u32)> = BTreeMap::new();
    let handle = |cell: &mut Cell, sent: &mut BTreeMap<u64, (StationId, Address, u32)>| {
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { station, packet, .. } => {
                    let (from, to, count) = sent.get_mut(&packet.tag).expect("it was sent");
                    prop_assert_eq!(of[from.index()], of[station.index()]);
                    match to {
                        Address::Station(to) => {
                            prop_assert_eq!(*to, station);
                            *count += 1;
                        }
                        Address::Group => {}
                    }
                }
                Output::Dropped { station, packet, .. } => {
                    let (from, to, count) = sent.get_mut(&packet.tag).expect("it was sent");
                    prop_assert_eq!(of[from.index()], of[station.index()]);
                    *count += u32::from(*to != Address::Group || station == *from);
                }
                Output::Overheard { station, packet, .. } => {
                    let (from, ..) = sent[&packet.tag];
                    prop_assert_eq!(of[from.index()], of[station.index()]);
                }
                Output::GroupSent { packet, .. } => {
                    sent.get_mut(&packet.tag).expect("it was sent").2 += 1;
                }
                Output::Attached { .. } => prop_assert!(false, "nobody roams"),
            }
        }
        Ok(())
    };
    for round in 0..60 {
        let now = Instant::ZERO + ms(5) * round;
        cell.handle_timeout(now);
        for &(from, to) in &flows {
            let tag = sent.len() as u64;
            sent.insert(tag, (from, to, 0));
            cell.handle_packet(now, from, to, Packet::new(tag, 700, now));
        }
        handle(&mut cell, &mut sent)?;
    }
    let mut end = Instant::ZERO + SECOND;
    while (0..config.stations.len() as u16).any(|id| cell.held_packets(StationId(id)) > 0)
        && end < Instant::ZERO + SECOND * 60
    {
        cell.handle_timeout(end);
        handle(&mut cell, &mut sent)?;
        end += SECOND;
    }
    cell.handle_timeout(end);
    handle(&mut cell, &mut sent)?;
    for (tag, (from, to, count)) in sent {
        prop_assert_eq!(count, 1, "packet {} from {:?} to {:?}", tag, from, to);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any sets and any carrier sense between them: each packet to one station is delivered
    /// there, once, or lost with a reason, and no packet reaches another set.
    #[test]
    fn packets_stay_in_their_set(
        stations in prop::collection::vec(0usize..4, 1..5),
        snrs in prop::collection::vec(0usize..6, 400),
        kinds in prop::collection::vec(0u8..4, 20),
        (ampdu, rts, interval) in (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY),
        seed in 0u64..1_000,
    ) {
        let rate = mcs(3, ChannelWidth::Mhz20, GuardInterval::Long);
        let mut config = sets(&stations, rate, if ampdu { 65_535 } else { 0 }, Db(0.0));
        config.capture_margin = Some(Db(5.0));
        config.change_links(|pair| {
            let (from, to) = (pair.from.index(), pair.to.index());
            let place = from.min(to) * 20 + from.max(to);
            pair.link.snr = [DEAF, Db(3.0), Db(9.0), Db(14.0), Db(25.0), Db(45.0)][snrs[place]];
        });
        for (station, kind) in config.stations.iter_mut().zip(&kinds) {
            station.rts_threshold = rts.then_some(500);
            let is_station = station.role == Role::Station;
            match kind {
                1 => station.promiscuous = true,
                2 if is_station => {
                    let retrieval = if interval { Retrieval::Wake } else { Retrieval::PsPoll };
                    station.power_save =
                        Some(PowerSaveConfig::dynamic(ms(30), retrieval));
                }
                3 if is_station => station.scan = Some(super::away::scan()),
                _ => {}
            }
        }
        conserves(&config, stations.len() as u16, seed)?;
    }
}
