//! Packets at stations without an access point. The judges are the accounts of packets: each ends at
//! its instant, with its reason, and its parts add up.

use super::roam::{FIRST, ROAMER, SECOND, at, ms, office};
use super::*;
use crate::event::{Event, RoamStep};
use crate::mac::roam::frame::Security;
use crate::mac::scan::ScanKind;
use lasthop_packet::{DropReason, Transport};
use proptest::prelude::*;

/// Packets of a run with one every 5 ms in each direction.
#[derive(Default)]
struct Traffic {
    steps: Vec<(Instant, RoamStep)>,
    delivered: Vec<(Instant, StationId, Packet)>,
    dropped: Vec<(Instant, StationId, Packet, DropReason)>,
    sent: u64,
}

impl Traffic {
    /// The network behind the access points knows the station where it joined last.
    fn new(config: &CellConfig, seconds: u64) -> Self {
        let mut cell = Cell::new(config, Seed::new(7, 0)).expect("a sound cell");
        let mut traffic = Self::default();
        let (mut down, mut up, mut next) = (FIRST, FIRST, Instant::ZERO);
        let end = Instant::ZERO + Duration::from_secs(seconds);
        loop {
            let now = cell.due().min(if next < end { next } else { Instant::MAX });
            if now > end + Duration::from_secs(3) {
                return traffic;
            }
            cell.handle_timeout(now);
            if now == next && next < end {
                for (from, to) in [(down, ROAMER), (ROAMER, up)] {
                    let packet = Packet::new(traffic.sent, 1_500, now);
                    cell.handle_packet(now, from, Address::Station(to), packet);
                    traffic.sent += 1;
                }
                next = now + ms(5);
            }
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { at, station, packet } => {
                        traffic.delivered.push((at, station, packet));
                    }
                    Output::Dropped { at, station, packet, reason } => {
                        traffic.dropped.push((at, station, packet, reason));
                    }
                    Output::Attached { access_point, is_known, .. } => {
                        up = access_point;
                        down = if is_known { access_point } else { down };
                    }
                    Output::GroupSent { .. } | Output::Overheard { .. } => {}
                }
            }
            while let Some(event) = cell.poll_event() {
                if let Event::Roam { at, step, .. } = event {
                    traffic.steps.push((at, step));
                }
            }
            while cell.poll_space().is_some() {}
        }
    }

    fn step(&self, step: RoamStep) -> Instant {
        self.steps.iter().find(|(_, other)| *other == step).expect("it takes this step").0
    }

    /// Checks the account of every packet, and that nothing but a time without an access point, from
    /// `from` to `until`, is in the part `roam` of one.
    fn check(&self, from: Instant, until: Instant) {
        assert_eq!((self.delivered.len() + self.dropped.len()) as u64, self.sent);
        for (arrived, _, packet) in &self.delivered {
            assert_eq!(packet.parts.total(), *arrived - packet.created);
            let outside = (*arrived).min(until).saturating_since(packet.created.max(from));
            assert!(packet.parts.absent.roam() <= outside, "{packet:?}");
        }
        for (lost, station, packet, reason) in &self.dropped {
            if *reason != DropReason::NotAssociated {
                continue;
            }
            assert_eq!(*station, ROAMER);
            // Those that it held go at once, others as they come.
            assert!(*lost >= from && *lost < until);
            assert_eq!(*lost, packet.created.max(from), "{packet:?}");
        }
    }
}

/// A station that moves loses the packets that it holds and those of the way, and no other.
#[test]
fn packets_of_the_way_are_lost() {
    for security in [Security::Open, Security::Psk, Security::Sae, Security::FtPsk] {
        for channels in [[36, 44], [36, 36]] {
            let mut config = office(channels, [-75.0, -50.0], security, ScanKind::Active);
            let roaming = config.stations[ROAMER.index()].roaming.as_mut().expect("it roams");
            roaming.delays.leave = ms(30);
            let traffic = Traffic::new(&config, 4);
            let (left, joined) = (traffic.step(RoamStep::Left), traffic.step(RoamStep::Joined));
            assert!(joined - left > ms(30));
            traffic.check(left, joined);
            let own = |lost: &&(Instant, StationId, Packet, DropReason)| lost.1 == ROAMER;
            let lost: Vec<_> = traffic.dropped.iter().filter(own).collect();
            assert!(lost.iter().all(|lost| lost.3 == DropReason::NotAssociated), "{lost:?}");
            // One every 5 ms, from the first multiple of it at or after the departure.
            let on_the_way = lost.iter().filter(|(_, _, packet, _)| packet.created >= left).count();
            let before = |at: Instant| (at - Instant::ZERO).as_nanos().div_ceil(5_000_000);
            assert_eq!(on_the_way as u64, before(joined) - before(left), "{security:?}");
            let up = traffic.delivered.iter().filter(|(_, station, _)| *station != ROAMER);
            assert!(up.clone().all(|(.., it)| it.created < left || it.created >= joined));
            assert!(up.filter(|(_, station, _)| *station == SECOND).count() > 100);
        }
    }
}

/// The next access point does not answer, and the station returns to the first one, which has tried to
/// deliver its packets meanwhile: they waited for the station, neither in a queue nor for the channel.
#[test]
fn a_wait_for_the_return_is_roam() {
    let mut config = office([36, 44], [-75.0, -50.0], Security::Psk, ScanKind::Passive);
    config.carrier_sense = Dbm(-120.0);
    config.stations[FIRST.index()].retry_limit = 255;
    config.change_links(|pair| {
        if [pair.from, pair.to] == [ROAMER, SECOND] {
            pair.link.snr = Db(-10.0);
        }
    });
    let traffic = Traffic::new(&config, 4);
    let (left, joined) = (traffic.step(RoamStep::Left), traffic.step(RoamStep::Joined));
    assert!(joined - left > ms(900), "{left} {joined}");
    let before = |&(arrived, ..): &(Instant, StationId, Packet)| arrived < joined + ms(500);
    let list: Vec<_> = traffic.delivered.iter().copied().filter(before).collect();
    let waited =
        list.iter().filter(|(_, _, packet)| packet.created > left && packet.created < joined);
    let mut number = 0;
    for (arrived, station, packet) in waited {
        assert_eq!((*station, packet.parts.total()), (ROAMER, *arrived - packet.created));
        // As it searches and joins, it already hears the access point.
        let start = *arrived - packet.parts.air - packet.parts.reorder;
        if start <= joined {
            assert_eq!(packet.parts.absent.roam(), start - packet.created, "{packet:?}");
        } else {
            assert_eq!(packet.parts.absent.roam(), joined - packet.created, "{packet:?}");
        }
        number += 1;
    }
    assert!(number > 50, "{number}");
}

/// A station that lost its access point loses its packets until it has another.
#[test]
fn packets_without_an_access_point_are_lost() {
    let mut config = office([36, 44], [-50.0, -60.0], Security::Psk, ScanKind::Active);
    config.change_links(|pair| {
        let ends = [pair.from, pair.to];
        if ends == [FIRST, ROAMER] || ends == [ROAMER, FIRST] {
            pair.snr_changes = vec![crate::phy::SnrChange { at: at(2_000), snr: Db(-3.0) }];
        }
    });
    config.carrier_sense = Dbm(-120.0);
    let traffic = Traffic::new(&config, 6);
    let (lost, joined) = (traffic.step(RoamStep::Lost), traffic.step(RoamStep::Joined));
    let reasons = traffic.dropped.iter().filter(|(_, station, ..)| *station == ROAMER);
    let without: Vec<_> = reasons.filter(|(.., packet, _)| packet.created >= lost).collect();
    assert!(without.iter().all(|(.., reason)| *reason == DropReason::NotAssociated));
    assert!(without.iter().all(|(at, _, packet, _)| *at == packet.created));
    let number = (joined - lost).as_nanos() / 5_000_000;
    assert!(without.len() as u64 >= number && without.len() as u64 <= number + 1);
}

/// A saturated source waits for the access point; a TCP sender does not know that its segments are
/// lost.
#[test]
fn offers_wait_except_those_of_tcp() {
    let config = office([36, 44], [-75.0, -50.0], Security::Open, ScanKind::Active);
    let mut cell = Cell::new(&config, Seed::new(7, 0)).expect("a sound cell");
    let left = core::iter::from_fn(|| {
        let due = cell.due();
        cell.handle_timeout(due);
        Some(core::iter::from_fn(|| cell.poll_event()).find_map(|event| match event {
            Event::Roam { at, step: RoamStep::Left, .. } => Some(at),
            _ => None,
        }))
    });
    let left = left.take(100_000).flatten().next().expect("it leaves");
    let to = Address::Station(SECOND);
    let packet = Packet::new(1, 1_500, left);
    assert_eq!(cell.handle_offer(left, ROAMER, to, &packet, 5, |_| {}), 0);
    let segment = Packet { transport: Transport::Tcp, ..packet };
    assert_eq!(cell.handle_offer(left, ROAMER, to, &segment, 1, |_| {}), 1);
    let mut lost = 0;
    while let Some(output) = cell.poll_output() {
        lost +=
            u32::from(matches!(output, Output::Dropped { reason: DropReason::NotAssociated, .. }));
    }
    assert_eq!(lost, 1);
    while cell.poll_space().is_some() {}
    while cell.poll_output().is_none_or(|it| !matches!(it, Output::Attached { is_known: true, .. }))
    {
        let due = cell.due();
        cell.handle_timeout(due);
    }
    assert_eq!(cell.poll_space(), Some(ROAMER), "sources may offer packets again");
    let now = cell.due();
    cell.handle_timeout(now);
    assert_eq!(cell.handle_offer(now, ROAMER, to, &packet, 1, |_| {}), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever the levels, delays and losses, each packet ends once and its parts add up.
    #[test]
    fn every_account_adds_up(
        levels in (-82.0..-50.0f64, -82.0..-50.0f64),
        (leave, loss) in (0u64..60, prop_oneof![Just(0.0), 0.0..0.4f64]),
        is_one_channel in any::<bool>(),
        retry_limit in prop_oneof![Just(7u8), Just(255)],
    ) {
        let channels = if is_one_channel { [36, 36] } else { [36, 44] };
        let levels = [levels.0, levels.1];
        let mut config = office(channels, levels, Security::Psk, ScanKind::Active);
        config.stations[ROAMER.index()].roaming.as_mut().expect("it roams").delays.leave = ms(leave);
        config.change_links(|pair| pair.link.loss = Probability::new(loss));
        for station in &mut config.stations {
            station.retry_limit = retry_limit;
        }
        let traffic = Traffic::new(&config, 4);
        let ended = (traffic.delivered.len() + traffic.dropped.len()) as u64;
        prop_assert!(ended <= traffic.sent);
        prop_assert!(retry_limit == 255 || ended == traffic.sent);
        for (arrived, _, packet) in &traffic.delivered {
            prop_assert_eq!(packet.parts.total(), *arrived - packet.created);
        }
    }
}
