//! Stations that move: their levels against the closed form of the path loss, and cells of moving
//! stations against cells of stations that stand where they pass.

use super::fingerprint::fingerprint;
use super::*;
use crate::air::{Air, Carried, Flight, Overlaps, Reduction};
use crate::phy::Fading;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use proptest::prelude::*;

const POWER: Dbm = Dbm(20.0);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn place(x: f64, y: f64) -> [Meters; 2] {
    [Meters(x), Meters(y)]
}

fn walk(waypoints: &[(u64, f64, f64)]) -> Track {
    let waypoint = |&(millis, x, y)| Waypoint { at: at(millis), position: place(x, y) };
    Track::through(waypoints.iter().map(waypoint).collect())
}

/// A cell of stations on tracks, the access point first, with 20 dBm at 5 GHz.
fn on(tracks: Vec<Track>, rate: Rate) -> CellConfig {
    let width = rate.width();
    let propagation = Propagation::in_band(Band::Ghz5, width);
    let mut config = cell(tracks.len() - 1, rate, width, 65_535);
    config.change_links(|pair| {
        let [one, other] = [pair.from, pair.to].map(|id| tracks[id.index()].position(at(0)));
        pair.link = propagation.link(POWER, distance(one, other), Db(0.0));
    });
    let fixed = BTreeSet::new();
    config.movement = Some(Arc::new(Movement { path_loss: propagation.path_loss, tracks, fixed }));
    config
}

/// Standing stations, by all the means of moving ones.
fn still(places: &[(f64, f64)], rate: Rate) -> CellConfig {
    on(places.iter().map(|&(x, y)| Track::still(place(x, y))).collect(), rate)
}

fn slow() -> Rate {
    mcs(0, ChannelWidth::Mhz20, GuardInterval::Long)
}

fn flight(transmitter: StationId, start: Instant) -> Flight {
    Flight {
        transmitter,
        receiver: Address::Group,
        start,
        end: start + Duration::from_micros(100),
        rate: slow(),
        psdu_bytes: 100,
        reserves_until: start,
        carried: Carried::Ack,
        overlaps: Overlaps::NONE,
        reduction: Reduction::NONE,
    }
}

/// SNR by hand: 20 dBm less 46.68 dB at 1 m and 30 dB for each decade, over -174 dBm/Hz, 20 MHz and
/// 7 dB.
fn by_hand(meters: f64) -> f64 {
    let reference = 20.0 * libm::log10(4.0 * core::f64::consts::PI * 5.15e9 / 299_792_458.0);
    let noise = -174.0 + 10.0 * libm::log10(20e6) + 7.0;
    20.0 - reference - 30.0 * libm::log10(meters.max(1.0)) - noise
}

#[test]
fn levels_follow_the_path_loss() {
    // 2 m/s outwards, to a turn after 20 s, and back past the access point by 3 m.
    let track = walk(&[(0, 2.0, 3.0), (20_000, 42.0, 3.0), (60_000, -38.0, 3.0)]);
    let mut air =
        Air::new(&on(vec![Track::still(place(0.0, 0.0)), track], slow()), Seed::new(1, 0))
            .expect("a sound cell");
    for millis in (0..70_000).step_by(97) {
        let seconds = millis as f64 / 1e3;
        let x = match seconds {
            ..20.0 => 2.0 + 2.0 * seconds,
            20.0..60.0 => 42.0 - 2.0 * (seconds - 20.0),
            _ => -38.0,
        };
        let expected = by_hand(libm::hypot(x, 3.0));
        // At any instant of the millisecond.
        let now = at(millis) + Duration::from_micros(millis % 1_000);
        for (from, to) in [(AP, StationId(1)), (StationId(1), AP)] {
            air.refresh_listeners(from, now);
            let flight = flight(from, now);
            air.begin(flight.clone());
            let snr = air.snr(&flight, to).0;
            assert!((snr - expected).abs() < 0.01, "{seconds} s: {snr} for {expected}");
            let power = air.mean_power(&flight, to).expect("two stations").0;
            assert!((power - expected + 93.99).abs() < 0.01, "{seconds} s: {power}");
            assert_eq!(air.listeners(from) == [to], power >= -82.0, "{seconds} s");
            let ended = air.end(flight.end).expect("it is on the air");
            air.forget(ended);
        }
    }
}

/// The levels at an instant do not depend on earlier PPDUs, and stay while a PPDU is on the air.
#[test]
fn levels_are_a_function_of_time() {
    let tracks = || {
        let one = walk(&[(0, 5.0, 0.0), (10_000, 25.0, 0.0)]);
        let other = walk(&[(0, 0.0, 9.0), (10_000, 0.0, -9.0)]).repeated(Duration::from_secs(10));
        vec![Track::still(place(0.0, 0.0)), one, other]
    };
    let config = on(tracks(), slow());
    let snrs = |asked: &[u64]| {
        let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
        for &millis in asked {
            for station in 0..3 {
                air.refresh_listeners(StationId(station), at(millis));
            }
        }
        let now = at(7_123);
        [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0)].map(|(from, to)| {
            air.refresh_listeners(StationId(from), now);
            air.snr(&flight(StationId(from), now), StationId(to))
        })
    };
    assert_eq!(snrs(&[]), snrs(&[0, 1, 500, 5_000, 7_122]));
    let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
    air.refresh_listeners(AP, at(100));
    let sent = flight(AP, at(100));
    air.begin(sent.clone());
    let before = air.mean_power(&sent, StationId(1));
    assert!(!air.refresh_listeners(AP, at(9_000)), "it is on the air");
    assert_eq!(air.mean_power(&sent, StationId(1)), before);
}

/// A link whose SNR is given keeps it, and a link changes by the difference at the beginning.
#[test]
fn given_links_and_changes() {
    let track = walk(&[(0, 10.0, 0.0), (10_000, 20.0, 0.0)]);
    let mut config = on(vec![Track::still(place(0.0, 0.0)), track], slow());
    let movement = Arc::make_mut(config.movement.as_mut().expect("it moves"));
    movement.fixed.insert((AP, StationId(1)));
    assert!(!movement.follows(AP, StationId(1)) && movement.follows(StationId(1), AP));
    let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let snr = |air: &mut Air, from: StationId, millis: u64| {
        air.refresh_listeners(from, at(millis));
        air.snr(&flight(from, at(millis)), StationId(1 - from.0)).0
    };
    let [near, far] = [by_hand(10.0), by_hand(20.0)];
    let close = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} for {other}");
    close(snr(&mut air, AP, 10_000), near);
    close(snr(&mut air, StationId(1), 10_000), far);
    // 3 dB more power.
    for follows in [true, false] {
        let given = Db(near + 3.0);
        for ends in [[AP, StationId(1)], [StationId(1), AP]] {
            air.change_link(at(11_000), ends, given, None, follows).expect("it may cross");
        }
        let expected = if follows { far } else { near } + 3.0;
        close(snr(&mut air, AP, 11_000), expected);
        close(snr(&mut air, StationId(1), 11_000), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Stations that could move and stand give the trajectories of stations that cannot.
    #[test]
    fn standing_stations_are_standing_ones(
        places in proptest::collection::vec((-60.0..60.0f64, -60.0..60.0f64), 3..6),
        doppler_hz in prop::option::of(1.0..50.0),
        rts in any::<bool>(),
        minstrel in any::<bool>(),
    ) {
        let mut config = still(&places, mcs(2, ChannelWidth::Mhz20, GuardInterval::Long));
        for station in &mut config.stations {
            station.rts_threshold = rts.then_some(0);
            if minstrel {
                station.capabilities.rates =
                    Rate::all_ht(ChannelWidth::Mhz20, GuardInterval::Long, 1).collect::<Vec<_>>();
                station.rate_control = RateControlConfig::minstrel_ht();
            }
        }
        if let Some(doppler_hz) = doppler_hz {
            config.change_links(|pair| pair.link.fading = Fading::Rayleigh { doppler_hz });
        }
        let mut flows = Vec::new();
        for station in (1..places.len() as u16).map(StationId) {
            flows.push((station, Address::Station(AP), AccessCategory::BestEffort));
            flows.push((AP, Address::Station(station), AccessCategory::Video));
        }
        let as_movers = fingerprint(config.clone(), &flows, 1500);
        config.movement = None;
        prop_assert_eq!(fingerprint(config, &flows, 1500), as_movers);
    }
}

/// Packets delivered and PPDUs overlapped at the receiver in each second, from both stations to the
/// access point.
fn by_second(config: &CellConfig, seconds: u64) -> Vec<[u64; 2]> {
    let mut cell = Cell::new(config, Seed::new(3, 0)).expect("a sound cell");
    let senders = [StationId(1), StationId(2)];
    let mut found = vec![[0; 2]; seconds as usize];
    let mut before = 0;
    let mut tag = 0;
    for second in 0..seconds {
        let end = at(1_000 * (second + 1));
        loop {
            for from in senders {
                let now = cell.now;
                while cell.held_packets(from) < 100 {
                    cell.handle_packet(
                        now,
                        from,
                        Address::Station(AP),
                        Packet::new(tag, 1500, now),
                    );
                    tag += 1;
                }
            }
            while let Some(output) = cell.poll_output() {
                if let Output::Delivered { .. } = output {
                    found[second as usize][0] += 1;
                }
            }
            match cell.poll_timeout() {
                Some((due, _)) if due < end => cell.handle_timeout(due),
                _ => break,
            }
        }
        let collisions = |&from: &StationId| {
            cell.link_stats(from, Address::Station(AP)).map_or(0, |link| link.collisions)
        };
        let all: u64 = senders.iter().map(collisions).sum();
        found[second as usize][1] = all - before;
        before = all;
    }
    found
}

/// Two stations on opposite sides of the access point walk apart, from 12 m to 80 m between them:
/// they cease to sense each other, and then collide as stations that stand there.
#[test]
fn stations_that_walk_apart_become_hidden() {
    let rate = mcs(1, ChannelWidth::Mhz20, GuardInterval::Long);
    let plain = |mut config: CellConfig| {
        config.beacon_interval = None;
        for station in &mut config.stations {
            // Short PPDUs, of which many overlap.
            station.aggregation = Aggregation { ampdu_bytes_max: 0, ..station.aggregation };
        }
        config
    };
    let legs =
        |out: f64| walk(&[(0, out * 6.0, 0.0), (8_000, out * 6.0, 0.0), (9_000, out * 40.0, 0.0)]);
    let apart = plain(on(vec![Track::still(place(0.0, 0.0)), legs(1.0), legs(-1.0)], rate));
    let [near, far] = [6.0, 40.0].map(|x| plain(still(&[(0.0, 0.0), (x, 0.0), (-x, 0.0)], rate)));
    let levels = |config: &CellConfig| {
        let link = config.links.link(StationId(1), StationId(2)).expect("a link");
        (link.noise + link.snr).0
    };
    assert!(levels(&near) > -82.0 && levels(&far) < -82.0, "{} {}", levels(&near), levels(&far));
    let sum = |found: &[[u64; 2]]| {
        found.iter().fold([0.0; 2], |sum, it| [sum[0] + it[0] as f64, sum[1] + it[1] as f64])
    };
    let moving = by_second(&apart, 20);
    let (before, after) = (sum(&moving[..8]), sum(&moving[10..18]));
    let [near, far] = [near, far].map(|config| sum(&by_second(&config, 10)[2..]));
    for (found, expected) in [(before, near), (after, far)] {
        for (one, other) in found.iter().zip(expected) {
            // Some 3000 packets and, hidden, as many collisions: 2 % are a standard deviation.
            assert!((one / other - 1.0).abs() < 0.1, "{found:?} for {expected:?}");
        }
    }
    assert!(after[1] > 4.0 * before[1], "{before:?} {after:?}");
}

/// Two stations that walk together again and again, in a cell with everything else, leave no
/// station with a medium that stays busy.
#[test]
fn the_medium_becomes_idle_again() {
    let rate = mcs(1, ChannelWidth::Mhz20, GuardInterval::Long);
    let swing = |out: f64, millis: u64| {
        walk(&[(0, out * 2.0, 0.0), (millis, out * 40.0, 5.0), (2 * millis, out * 2.0, 0.0)])
            .repeated(Duration::from_millis(2 * millis))
    };
    let config = on(vec![Track::still(place(0.0, 0.0)), swing(1.0, 70), swing(-1.0, 110)], rate);
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let senders = [
        (StationId(1), Address::Station(AP)),
        (StationId(2), Address::Station(AP)),
        (AP, Address::Station(StationId(1))),
    ];
    let delivered = saturate(&mut cell, &senders, Duration::from_secs(3), 1500);
    assert!(delivered > 500, "{delivered}");
    // Once all is sent, nobody waits any more.
    let mut now = at(3_001);
    while cell.stations.iter().any(|station| station.held_packets > 0) {
        now = cell.poll_timeout().expect("it goes on").0;
        cell.handle_timeout(now);
        assert!(now < at(30_000), "a station waits for ever");
    }
    let later = now + Duration::from_micros(200);
    cell.handle_timeout(later);
    if cell.air.next_end() == Instant::MAX {
        for station in 0..3 {
            assert!(!cell.contention.is_busy(StationId(station), later + Duration::from_secs(1)));
        }
    }
}
