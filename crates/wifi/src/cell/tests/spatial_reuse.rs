//! Spatial reuse by OBSS-PD, colours and two NAVs, against accounts of each frame (IEEE
//! 802.11ax-2021, 26.2 and 26.10.2): the continuation of a backoff, the power, and the goodput of
//! two sets on either side of the level.

use super::bss::{DEAF, SECOND, access_point, conserves, delivered, sets, trajectory, uplink};
use super::ofdma::he;
use super::*;
use crate::BssId;
use crate::event::{Event, FrameKind, Ppdu};
use alloc::collections::BTreeSet;
use proptest::prelude::*;

const LEVEL: Dbm = Dbm(-72.0);
/// Time from the beginning of a PPDU to the end of HE-SIG-A: 8 + 8 + 4 + 4 + 8 us (27.3.11).
const SIGNAL_FIELD: Duration = Duration::from_micros(32);
const SIFS: Duration = Duration::from_micros(16);
const SLOT: Duration = Duration::from_micros(9);
/// AIFS of best effort: SIFS and three slots.
const AIFS: Duration = Duration::from_micros(43);
/// Duration of an Ack of 14 bytes at 12 Mb/s: three symbols after 20 us.
const ACK: Duration = Duration::from_micros(32);

/// An OBSS-PD level of a station with 1 dBm, which no level restricts in power.
fn at(level: Dbm) -> Option<ObssPd> {
    Some(ObssPd { level, tx_power: Dbm(1.0), tx_power_reference: Dbm(21.0) })
}

/// Sets of an access point and these numbers of stations, which send single MPDUs at HE MCS `mcs`.
/// Received powers are -44 dBm within a set, and those of `across` between sets, by roles.
fn flats(
    stations: &[usize],
    mcs: u8,
    obss_pd: Option<ObssPd>,
    across: impl Fn(Role, Role) -> Dbm,
) -> CellConfig {
    let mut config = sets(stations, he(mcs, ChannelWidth::Mhz20), 0, DEAF);
    config.standard = Standard::Dot11ax;
    config.beacon_interval = None;
    config.capture_margin = Some(Db(5.0));
    for station in &mut config.stations {
        station.obss_pd = obss_pd;
    }
    let of: Vec<(Role, BssId)> = config.stations.iter().map(|it| (it.role, it.bss)).collect();
    config.change_links(|pair| {
        let [from, to] = [pair.from, pair.to].map(|station| of[station.index()]);
        let level = if from.1 == to.1 { Dbm(-44.0) } else { across(from.0, to.0) };
        pair.link.snr = level - pair.link.noise;
    });
    config
}

/// Flows from each access point to its first station.
fn down(config: &CellConfig) -> Vec<(StationId, Address)> {
    let sets: BTreeSet<BssId> = config.stations.iter().map(|station| station.bss).collect();
    let first = |bss| {
        let is_it = |it: &StationConfig| it.bss == bss && it.role == Role::Station;
        config.stations.iter().position(is_it).expect("a station") as u16
    };
    let flow = |bss| (access_point(config, bss), Address::Station(StationId(first(bss))));
    sets.into_iter().map(flow).collect()
}

fn ppdus(cell: &mut Cell) -> Vec<Ppdu> {
    let events = core::iter::from_fn(|| cell.poll_event());
    let ppdus = events.filter_map(|event| match event {
        Event::Ppdu(ppdu) => Some(ppdu),
        _ => None,
    });
    let mut ppdus: Vec<Ppdu> = ppdus.collect();
    ppdus.sort_by_key(|ppdu| (ppdu.start, ppdu.transmitter));
    ppdus
}

/// An access point without a pending backoff gets a packet while another set's PPDU is on the air.
/// Below the level it sends AIFS after the end of HE-SIG-A, or of U-SIG as long, otherwise AIFS after
/// the Ack. This PPDU has the power of the rule, the next one the usual power.
#[test]
fn backoff_goes_on_at_the_end_of_the_signal_field() {
    backoff_goes_on(|_| {});
    backoff_goes_on(|config| {
        config.standard = Standard::Dot11be;
        let guard_interval = crate::phy::HeGuardInterval::Ns800Ltf2x;
        let rate = Rate::eht(1, 1, ChannelWidth::Mhz20, guard_interval).expect("a rate");
        for station in &mut config.stations {
            station.capabilities = Capabilities::new(vec![rate], true);
            station.rate_control = RateControlConfig::Fixed { rate };
        }
    });
}

/// With stations of 802.11ax, or what `change` makes of them.
fn backoff_goes_on(change: impl Fn(&mut CellConfig)) {
    // A slot boundary: 107 slots of 9 us after an AIFS of 43 us.
    const START: Instant = Instant::from_nanos(1_006_000);
    let run = |received: f64, obss_pd: Option<ObssPd>, colours: &[u8]| {
        let mut config = flats(&[1, 1], 1, obss_pd, |_, _| Dbm(received));
        change(&mut config);
        config.colours = colours.to_vec();
        config.record_events = true;
        for station in &mut config.stations {
            station.access = [EdcaParameters { cw_min: 0, cw_max: 0, ..station.access[0] }; 4];
        }
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        for (number, (from, to)) in (0u64..).zip(down(&config)) {
            let now = START + Duration::from_micros(10) * number;
            cell.handle_timeout(now);
            cell.handle_packet(now, from, to, Packet::new(number, 1500, now));
        }
        let later = START + Duration::from_millis(20);
        cell.handle_timeout(later);
        let (from, to) = down(&config)[1];
        cell.handle_packet(later, from, to, Packet::new(2, 1500, later));
        cell.handle_timeout(later + Duration::from_millis(20));
        let sent = |station: u16| {
            let is_data = |ppdu: &&Ppdu| {
                ppdu.transmitter == StationId(station)
                    && ppdu.frames().any(|frame| matches!(frame.kind, FrameKind::QosData { .. }))
            };
            let all = ppdus(&mut cell.clone());
            all.iter().filter(is_data).cloned().collect::<Vec<_>>()
        };
        let (first, second) = (sent(0), sent(2));
        // With 19 dB less it is lost, and sent again.
        assert_eq!((first[0].start, first.len()), (START, 1));
        let last = second.last().expect("a PPDU");
        let is_late = second[0].start == first[0].end + SIFS + ACK + AIFS;
        let is_early = second[0].start == START + SIGNAL_FIELD + AIFS;
        assert!(is_late != is_early, "{second:?} after {first:?}");
        // 802.11be waits for a slot boundary.
        assert!(last.start - later < SLOT, "{last:?}");
        let signals = [&second[0], last].map(|ppdu| ppdu.psdus[0].signal.0);
        assert!((signals[1] + 44.0).abs() < 1e-9, "{signals:?}");
        (is_early, signals[1] - signals[0])
    };
    for (received, obss_pd, colours, is_early) in [
        (-71.99, at(LEVEL), &[1, 2][..], false),
        (-72.0, at(LEVEL), &[1, 2], false),
        (-72.01, at(LEVEL), &[1, 2], true),
        (-72.01, at(LEVEL), &[], true),
        (-72.01, at(LEVEL), &[2, 2], false),
        (-72.01, at(LEVEL), &[0, 2], false),
        (-72.01, at(LEVEL), &[2, 0], false),
        (-72.01, None, &[1, 2], false),
        (-80.0, at(Dbm(-82.0)), &[1, 2], false),
        (-62.01, at(Dbm(-62.0)), &[1, 2], true),
    ] {
        let (found, less) = run(received, obss_pd, colours);
        assert_eq!(found, is_early, "{received} dBm at {obss_pd:?}, {colours:?}");
        assert!(less.abs() < 1e-9, "no restriction: {less}");
    }
    // 21 dBm less 10 dB above the least level are 11 dBm (26.10.2.4): 9 below 20.
    for (level, tx_power, less) in [
        (-72.0, 20.0, 9.0),
        (-72.0, 11.0, 0.0),
        (-62.0, 20.0, 19.0),
        (-79.5, 20.0, 1.5),
        (-82.0, 20.0, 0.0),
    ] {
        let obss_pd =
            ObssPd { level: Dbm(level), tx_power: Dbm(tx_power), tx_power_reference: Dbm(21.0) };
        let (is_early, found) = run((level - 0.01).max(-81.99), Some(obss_pd), &[1, 2]);
        assert_eq!(is_early, level > -82.0);
        assert!((found - if is_early { less } else { 0.0 }).abs() < 1e-9, "{found} at {obss_pd:?}");
    }
}

/// A PPDU of twice the width may be 3 dB stronger (26.10.2.2: the level is for 20 MHz).
#[test]
fn a_wide_ppdu_has_a_higher_level() {
    for (width, wider) in
        [(ChannelWidth::Mhz20, 0.0), (ChannelWidth::Mhz40, 3.0103), (ChannelWidth::Mhz160, 9.0309)]
    {
        for (above, is_reused) in [(-0.01, true), (0.01, false)] {
            let across = |from, to| match (from, to) {
                (Role::AccessPoint, Role::AccessPoint) => Dbm(-72.0 + wider + above),
                _ => Dbm(-90.0),
            };
            let mut config = flats(&[1, 1], 0, at(LEVEL), across);
            for station in &mut config.stations {
                let rate = he(3, width);
                station.capabilities = Capabilities::new(vec![rate], true);
                station.rate_control = RateControlConfig::Fixed { rate };
            }
            let (both, alone) = both_and_alone(&config);
            let gain = both as f64 / alone as f64;
            assert_eq!(gain > 1.3, is_reused, "{gain} at {width} and {above} dB");
        }
    }
}

/// Two saturated access points hear each other, and no other station of the other set. Every PPDU
/// begins AIFS and whole slots after the end of its set's last exchange or of the other's HE-SIG-A,
/// whichever is later, and none during these and the AIFS after them. A PPDU of the other set that
/// began during an exchange is energy, and does not count.
#[test]
fn every_access_is_accounted_for() {
    let across = |from, to| match (from, to) {
        (Role::AccessPoint, Role::AccessPoint) => Dbm(-75.0),
        _ => Dbm(-110.0),
    };
    let mut config = flats(&[1, 1], 3, at(LEVEL), across);
    config.record_events = true;
    let mut cell = Cell::new(&config, Seed::new(2, 0)).expect("a sound cell");
    saturate(&mut cell, &down(&config), SECOND, 1500);
    let all = ppdus(&mut cell);
    let of = |transmitter: u16| {
        all.iter().filter(move |ppdu| ppdu.transmitter == StationId(transmitter))
    };
    let (mut accesses, mut paused) = (0, 0);
    for (own, receiver, other) in [(0, 1, 2), (2, 3, 0)] {
        for ppdu in of(own).skip(1) {
            let ack = of(receiver).rev().find(|ack| ack.end <= ppdu.start).map(|ack| ack.end);
            let last = of(other).rev().find(|theirs| theirs.start < ppdu.start);
            let signal_field = last.filter(|theirs| Some(theirs.start) >= ack);
            let signal_field = signal_field.map(|theirs| theirs.start + SIGNAL_FIELD);
            let idle_since = ack.max(signal_field).expect("something came before");
            let counted = ppdu.start.saturating_since(idle_since + AIFS);
            assert!(ppdu.start >= idle_since + AIFS, "{ppdu:?} after {last:?}");
            let slots = counted.as_nanos() / SLOT.as_nanos();
            assert_eq!(counted, SLOT * slots);
            assert!(slots <= 15, "{slots} slots");
            accesses += 1;
            paused += u32::from(signal_field > ack);
        }
    }
    // 1 500 bytes at 34.4 Mb/s take 0.4 ms and the rest 0.2 ms, in each set.
    assert!(accesses > 3_000 && paused > 300, "{paused} of {accesses}");
}

/// Packets that both sets delivered, and those of one alone, in the same time.
fn both_and_alone(config: &CellConfig) -> (u64, u64) {
    let flows = down(config);
    let both = delivered(config, 0, &flows).iter().sum();
    (both, delivered(config, 0, &flows[..1])[0])
}

/// Below the level both sets send at once, each nearly as much as alone: it waits for the 32 us of
/// a preamble, and AIFS, if the other begins during its countdown. At the level and above it they
/// share the capacity of one set.
#[test]
fn below_the_level_each_set_has_the_channel() {
    for (received, is_reused) in [
        (-81.0, true),
        (-76.0, true),
        (-72.1, true),
        (-72.0, false),
        (-71.9, false),
        (-65.0, false),
    ] {
        let across = |from, to| match (from, to) {
            (Role::AccessPoint, Role::AccessPoint) => Dbm(received),
            _ => Dbm(-90.0),
        };
        let (both, alone) = both_and_alone(&flats(&[1, 1], 3, at(LEVEL), across));
        let gain = both as f64 / alone as f64;
        match is_reused {
            true => assert!((1.9..2.0).contains(&gain), "{gain} at {received} dBm"),
            // Two that contend wait a little less than one, and nothing is lost where both begin
            // at once, which are 2/17 of all.
            false => assert!((1.0..1.2).contains(&gain), "{gain} at {received} dBm"),
        }
        let (both, alone) = both_and_alone(&flats(&[1, 1], 3, None, across));
        let gain = both as f64 / alone as f64;
        assert!((1.0..1.2).contains(&gain), "{gain} without");
    }
}

/// If the other set arrives 20 dB below the wanted signal, MCS 3 has enough SINR (11.5 dB) and MCS
/// 9 has not (30 dB): its PPDUs are lost while both send, and the gain with them. Nor is there a
/// gain if a receiver does not ignore the other set, and locks to its PPDUs.
#[test]
fn the_gain_takes_sinr_and_receivers_that_ignore() {
    let across = |from, to| match (from, to) {
        (Role::Station, Role::Station) => Dbm(-110.0),
        _ => Dbm(-64.0 - 10.0),
    };
    let config = |mcs| {
        let mut config = flats(&[1, 1], mcs, at(LEVEL), across);
        config.change_links(|pair| {
            if (pair.from.0 / 2) == (pair.to.0 / 2) {
                pair.link.snr = Dbm(-54.0) - pair.link.noise;
            }
        });
        config
    };
    for (mcs, gains) in [(3, 1.6..2.0), (9, 0.0..1.0)] {
        let (both, alone) = both_and_alone(&config(mcs));
        let gain = both as f64 / alone as f64;
        assert!(gains.contains(&gain), "{gain} at MCS {mcs}");
    }
    let mut config = config(3);
    for station in config.stations.iter_mut().filter(|it| it.role == Role::Station) {
        station.obss_pd = None;
    }
    let (both, alone) = both_and_alone(&config);
    assert!(both < alone, "{both} and {alone}");
}

/// A station ignores no PPDU of its set, of a set with the same colour or without a colour, or at
/// the level. The runs are then the same, packet by packet.
#[test]
fn what_is_not_ignored_changes_nothing() {
    let make = |obss_pd, colours: &[u8]| {
        let mut config = flats(&[3, 2], 4, obss_pd, |_, _| Dbm(-76.0));
        config.colours = colours.to_vec();
        for station in &mut config.stations {
            station.aggregation.ampdu_bytes_max = 20_000;
        }
        config
    };
    let same = make(at(LEVEL), &[7, 7]);
    let senders = uplink(&same);
    let expected = trajectory(&same, &senders);
    assert!(expected.len() > 1_000, "only {} packets", expected.len());
    for (obss_pd, colours, is_same) in [
        (at(LEVEL), &[7, 0][..], true),
        (at(LEVEL), &[0, 0], true),
        (at(Dbm(-76.0)), &[1, 2], true),
        (at(LEVEL), &[1, 2], false),
    ] {
        let found = trajectory(&make(obss_pd, colours), &senders);
        assert_eq!(found == expected, is_same, "{obss_pd:?} {colours:?}");
    }
}

/// An idle set, or one out of reach, changes no result of another; nor does the order of stations
/// and sets.
#[test]
fn other_sets_and_their_order_change_nothing() {
    let level = |from: Identity, to: Identity| {
        let hash = |it: Identity| lasthop_units::Seed::new(9, 0).stream_of("level", it).next_u64();
        Dbm(-70.0 - (hash(from.to(to)) % 1_000) as f64 / 80.0)
    };
    let make = |stations: &[usize], far: u16| {
        let mut config = flats(stations, 4, at(LEVEL), |_, _| Dbm(-76.0));
        let of: Vec<_> = config.stations.iter().map(|it| (it.bss, it.identity)).collect();
        config.change_links(|pair| {
            let [from, to] = [pair.from, pair.to].map(|station| of[station.index()]);
            if from.0 != to.0 {
                pair.link.snr = level(from.1, to.1) - pair.link.noise;
            }
            if from.0 != to.0 && [from.0.0, to.0.0].iter().any(|bss| *bss >= far) {
                pair.link.snr = DEAF;
            }
        });
        config
    };
    let two = make(&[2, 2], 9);
    let senders = uplink(&two);
    let expected = trajectory(&two, &senders);
    assert!(expected.len() > 1_000, "only {} packets", expected.len());
    let beside = make(&[2, 2, 3], 9);
    assert_eq!(trajectory(&beside, &senders), expected, "an idle set");
    let beside = make(&[2, 2, 3], 2);
    assert_eq!(trajectory(&beside, &uplink(&beside)), expected, "a set out of reach");

    // From last to first, and set 1 is set 0.
    let count = two.stations.len() as u16;
    let turned = |id: StationId| StationId(count - 1 - id.0);
    let mut reversed = two.clone();
    reversed.stations.reverse();
    for station in &mut reversed.stations {
        station.bss = BssId(1 - station.bss.0);
    }
    let links = two.links.iter().map(|link| PairConfig {
        from: turned(link.from),
        to: turned(link.to),
        ..link
    });
    reversed.links = alloc::sync::Arc::new(Links::new(count.into(), links.collect::<Vec<_>>()));
    let mut one = of_all(&two, &senders);
    let senders = senders.iter().map(|&(from, to)| match to {
        Address::Station(to) => (turned(from), Address::Station(turned(to))),
        Address::Group => (turned(from), to),
    });
    let mut other = of_all(&reversed, &senders.collect::<Vec<_>>());
    other.iter_mut().for_each(|(_, station, _)| *station = turned(*station));
    one.sort_unstable();
    other.sort_unstable();
    assert!(one == other, "{} and {} packets", one.len(), other.len());
}

/// Instant and station of each delivered packet, by tag.
fn of_all(config: &CellConfig, senders: &[(StationId, Address)]) -> Vec<(Instant, StationId, u64)> {
    let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
    let (mut outputs, mut now) = (Vec::new(), Instant::ZERO);
    let mut sent = vec![0; senders.len()];
    while now < Instant::ZERO + SECOND / 2 {
        for (number, &(from, to)) in senders.iter().enumerate() {
            while cell.held_packets(from) < 20 {
                let tag = number as u64 * 1_000_000 + sent[number];
                cell.handle_packet(now, from, to, Packet::new(tag, 900, now));
                sent[number] += 1;
            }
        }
        now = cell.poll_timeout().expect("they are saturated").0;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { at, station, packet } = output {
                outputs.push((at, station, packet.tag));
            }
        }
    }
    outputs
}

/// A station answers an RTS of its access point although an earlier one of the same access point,
/// which brought no CTS, set its NAV; it does not if an RTS of another set did.
#[test]
fn the_navs_of_an_rts() {
    for (holder, is_answered) in [(0u16, true), (3, false)] {
        let mut config = flats(&[2, 1], 0, None, |_, _| Dbm(-60.0));
        config.record_events = true;
        for station in &mut config.stations {
            station.rts_threshold = Some(0);
            station.retry_limit = 1;
        }
        // Stations 1 and 4 hear nobody, so that nothing follows the first RTS.
        config.change_links(|pair| {
            if [1, 4].contains(&pair.to.0) {
                pair.link.snr = DEAF;
            }
        });
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let first = Instant::ZERO + Duration::from_millis(1);
        cell.handle_timeout(first);
        let to = Address::Station(StationId(holder + 1));
        cell.handle_packet(first, StationId(holder), to, Packet::new(0, 1500, first));
        // Its response timeout is over, its NAV is not: the data take 1.5 ms.
        let second = first + Duration::from_micros(600);
        cell.handle_timeout(second);
        let to = Address::Station(StationId(2));
        if holder == 0 {
            cell.handle_packet(second, StationId(0), to, Packet::new(1, 1500, second));
        } else {
            // The access point does not hear that one, or it would wait itself.
            config.change_links(|pair| {
                if (pair.from.0, pair.to.0) == (3, 0) {
                    pair.link.snr = DEAF;
                }
            });
            cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
            cell.handle_timeout(first);
            let other = Address::Station(StationId(4));
            cell.handle_packet(first, StationId(3), other, Packet::new(0, 1500, first));
            cell.handle_timeout(second);
            cell.handle_packet(second, StationId(0), to, Packet::new(1, 1500, second));
        }
        cell.handle_timeout(first + Duration::from_millis(1));
        let all = ppdus(&mut cell);
        let is = |kind: FrameKind, from: u16| {
            let sent = all.iter().filter(|ppdu| ppdu.transmitter == StationId(from));
            sent.flat_map(Ppdu::frames).filter(|frame| frame.kind == kind).count()
        };
        assert_eq!(
            is(FrameKind::Rts, holder) + is(FrameKind::Rts, 0),
            if holder == 0 { 4 } else { 2 }
        );
        assert_eq!(is(FrameKind::Cts, 2), usize::from(is_answered), "NAV of {holder}: {all:?}");
    }
}

#[test]
fn spatial_reuse_needs_he() {
    let rate = mcs(3, ChannelWidth::Mhz20, GuardInterval::Long);
    let mut config = sets(&[1, 1], rate, 0, Db(30.0));
    config.stations[1].obss_pd = at(LEVEL);
    let error = Cell::new(&config, Seed::new(1, 0)).expect_err("an unsound cell");
    assert_eq!(error, CellError::SpatialReuseWithoutHe);
    // 25 dBm are for access points of more than two streams (26.10.2.4).
    for (role, streams, reference) in
        [(Role::AccessPoint, 3, 25.0), (Role::AccessPoint, 2, 21.0), (Role::Station, 8, 21.0)]
    {
        assert_eq!(ObssPd::tx_power_reference(role, streams), Dbm(reference));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The property holds for any sets, colours, levels, powers, OFDMA and carrier sense.
    #[test]
    fn packets_are_conserved(
        stations in prop::collection::vec(1usize..4, 1..5),
        snrs in prop::collection::vec(0usize..6, 400),
        kinds in prop::collection::vec((0u8..5, 0u8..5, any::<bool>()), 20),
        colours in prop::collection::vec(0u8..4, 0..5),
        (ampdu, rts, capture) in (any::<bool>(), any::<bool>(), any::<bool>()),
        seed in 0u64..1_000,
    ) {
        let rate = he(3, ChannelWidth::Mhz20);
        let mut config = sets(&stations, rate, if ampdu { 65_535 } else { 0 }, Db(0.0));
        config.standard = Standard::Dot11ax;
        config.capture_margin = capture.then_some(Db(5.0));
        config.colours = colours;
        config.change_links(|pair| {
            let (from, to) = (pair.from.index(), pair.to.index());
            let place = from.min(to) * 20 + from.max(to);
            pair.link.snr = [DEAF, Db(9.0), Db(14.0), Db(20.0), Db(28.0), Db(45.0)][snrs[place]];
        });
        for (station, &(level, kind, is_away)) in config.stations.iter_mut().zip(&kinds) {
            station.rts_threshold = rts.then_some(500);
            station.obss_pd = (level > 0).then(|| ObssPd {
                level: Dbm(-82.0 + 5.0 * f64::from(level)),
                tx_power: Dbm(20.0),
                tx_power_reference: Dbm(21.0),
            });
            match (kind, station.role) {
                (1, _) => station.promiscuous = true,
                (2 | 3, Role::AccessPoint) => {
                    station.ofdma = Some(OfdmaConfig {
                        stations_max: 4,
                        acknowledgement: super::ofdma::ALL[usize::from(level) % 3],
                        guard_interval: crate::phy::HeGuardInterval::Ns800Ltf2x,
                        uplink: (kind == 3).then_some(UplinkConfig {
                            buffer_reports: Some(Duration::from_millis(3)),
                            mu_edca: [None; 4],
                        }),
                    });
                }
                (2, Role::Station) if is_away => station.scan = Some(super::away::scan()),
                _ => {}
            }
        }
        conserves(&config, stations.len() as u16, seed)?;
    }
}
