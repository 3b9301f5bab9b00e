//! The delay parts around absences, against the absences in the events: the parts add up, and a
//! wait for an absent station is in `away` or `asleep`, to the nanosecond if the events determine
//! it.

use super::away::{Run, STA, ms, scan, scanning};
use super::doze::dozing;
use super::*;
use crate::event::Event;
use crate::mac::power_save::Retrieval;
use crate::mac::scan::{Leftover, NullConfig, ScanConfig};
use crate::mac::schedule::AbsenceConfig;
use lasthop_packet::DelayParts;
use proptest::prelude::*;

/// Time around an absence for Null frame and retries, or beacon and poll.
const AROUND: Duration = Duration::from_millis(4);

/// Time of a packet up to its last PPDU that falls into `absences`, and the number of these.
fn overlap(at: Instant, packet: &Packet, absences: &[(Instant, Instant)]) -> (Duration, u64) {
    let parts = packet.parts;
    let sent = Instant::ZERO + (at - Instant::ZERO - parts.reorder - parts.air);
    let spans = absences
        .iter()
        .map(|(left, back)| (sent.min(*back)).saturating_since(packet.created.max(*left)));
    spans.fold((Duration::ZERO, 0), |(sum, count), span| {
        (sum + span, count + u64::from(!span.is_zero()))
    })
}

/// Checks the packets of any cell, with any `absent` part.
fn check(run: &Run, absent: fn(&DelayParts) -> Duration, around: Duration) {
    let absences = run.absences();
    assert!(run.delivered > 0);
    for (at, packet) in &run.packets {
        let parts = packet.parts;
        assert_eq!(parts.total(), *at - packet.created, "{parts:?}");
        assert_eq!(absent(&parts), parts.absent.away() + parts.absent.asleep(), "{parts:?}");
        let (least, count) = overlap(*at, packet, &absences);
        let most = least + around * (count + 1);
        assert!(least <= absent(&parts), "{least} of {packet:?}");
        assert!(absent(&parts) <= most, "at most {most} of {packet:?}");
    }
}

fn driver_limit() -> impl Strategy<Value = DriverLimit> {
    prop_oneof![
        Just(DriverLimit::None),
        (1u32..200).prop_map(DriverLimit::Packets),
        (1u64..20).prop_map(|n| DriverLimit::Airtime(ms(n))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_scan_shows_as_away(
        from in prop_oneof![Just(AP), Just(STA)],
        driver in driver_limit(),
        (start, flush, channels, back) in (90u64..110, 1u64..25, 1u16..5, 1u64..60),
        (keeps, leave_loss, loss) in (any::<bool>(), 0.0..=1.0, 0.0..0.25),
        (rts, built_ahead, interval) in (any::<bool>(), any::<bool>(), 500u64..3_000),
    ) {
        let leftover = if keeps { Leftover::Keep } else { Leftover::DropDriver };
        let leave_loss = Probability::new(leave_loss).expect("a probability");
        let null = NullConfig { leave_loss, ..NullConfig::default() };
        let scan = ScanConfig {
            start: ms(start), flush: ms(flush), channels, back: ms(back), leftover, null,
            ..scan()
        };
        let mut config = scanning(scan);
        for station in &mut config.stations {
            station.retry_limit = 255;
            station.driver_queue = driver;
            station.rts_threshold = rts.then_some(500);
            station.aggregation.built_ahead = built_ahead;
        }
        config.change_links(|pair| {
            pair.link.loss = Probability::new(loss);
        });
        let run = Run::new(&config, from, Duration::from_micros(interval), ms(900));
        // Above the driver a packet waits for the flush, too.
        check(&run, |parts| parts.absent.away(), AROUND * 4 + ms(flush));
    }

    #[test]
    fn a_schedule_shows_as_away(
        from in prop_oneof![Just(AP), Just(STA)],
        absent in prop_oneof![Just(AP), Just(STA)],
        driver in driver_limit(),
        // An absence that an exchange outlasts is left out, and packets wait all the same.
        (start, away, gap, announced) in (0u64..110, 8u64..120, 20u64..300, any::<bool>()),
        (rts, built_ahead, interval, loss) in
            (any::<bool>(), any::<bool>(), 500u64..3_000, 0.0..0.25),
    ) {
        let mut config = scanning(scan());
        config.stations[STA.index()].scan = None;
        config.stations[absent.index()].absences = vec![AbsenceConfig {
            start: ms(start),
            away: ms(away),
            every: Some(ms(away + gap)),
            announced: announced && absent == STA,
            channel: None,
        }];
        for station in &mut config.stations {
            station.retry_limit = 255;
            station.driver_queue = driver;
            station.rts_threshold = rts.then_some(500);
            station.aggregation.built_ahead = built_ahead;
        }
        config.change_links(|pair| {
            pair.link.loss = Probability::new(loss);
        });
        let run = Run::new(&config, from, Duration::from_micros(interval), ms(900));
        if absent == STA {
            check(&run, |parts| parts.absent.away(), AROUND * 4);
        }
        for (at, packet) in &run.packets {
            prop_assert_eq!(packet.parts.total(), *at - packet.created);
            prop_assert_eq!(packet.parts.absent.asleep(), Duration::ZERO);
        }
    }

    #[test]
    fn a_doze_shows_as_asleep(
        from in prop_oneof![Just(AP), Just(STA)],
        retrieval in prop_oneof![Just(Retrieval::PsPoll), Just(Retrieval::Wake)],
        driver in driver_limit(),
        (idle, listen_interval, interval) in (3u64..120, 1u8..4, 2_000u64..400_000),
        loss in prop_oneof![Just(0.0), 0.0..0.3],
    ) {
        let mut config = dozing(1, retrieval);
        let power_save = config.stations[1].power_save.as_mut().expect("it dozes");
        (power_save.idle, power_save.listen_interval) = (ms(idle), listen_interval);
        for station in &mut config.stations {
            station.driver_queue = driver;
            station.retry_limit = 255;
        }
        config.change_links(|pair| {
            pair.link.loss = Probability::new(loss);
        });
        let run = Run::new(&config, from, Duration::from_micros(interval), ms(2_500));
        // A station that misses what a poll asks for, or a beacon, stays awake
        // up to the next one; its packets are held all the same.
        let around = if loss > 0.0 { ms(450) } else { AROUND * 16 };
        check(&run, |parts| parts.absent.asleep(), around);
    }
}

/// A frame on the air as the station leaves is retransmitted without success.
#[test]
fn what_is_sent_to_nobody_is_away_not_retried() {
    let null = NullConfig { leave_loss: Probability::ONE, ..NullConfig::default() };
    let mut config = scanning(ScanConfig { null, ..scan() });
    for station in &mut config.stations {
        station.retry_limit = 255;
    }
    let run = Run::new(&config, AP, Duration::from_micros(900), ms(900));
    let worst = run.packets.iter().map(|(_, p)| p.parts.retries).max().expect("some came");
    assert!(worst < ms(10), "{worst} of retries");
    let away = run.packets.iter().map(|(_, packet)| packet.parts.absent.away()).max();
    assert!(away > Some(ms(100)), "{away:?}");
}

/// Before the packet arrives others are queued, then the scan begins.
#[test]
fn a_wait_is_split_where_the_absence_begins() {
    let mut config = scanning(ScanConfig { channels: 3, back: ms(2), flush: ms(1), ..scan() });
    config.stations[STA.index()].queue = QueueConfig::DropTail { limit: Limit::Packets(9_000) };
    // Twice as fast as the air carries them.
    let run = Run::new(&config, STA, Duration::from_micros(50), ms(250));
    let absences = run.absences();
    check(&run, |parts| parts.absent.away(), AROUND + ms(1));
    let several = |(at, packet): &&(Instant, Packet)| overlap(*at, packet, &absences).1 > 1;
    let mixed: Vec<_> = run.packets.iter().filter(several).collect();
    assert!(mixed.len() > 100, "{} waited through several absences", mixed.len());
    assert!(mixed.iter().any(|(_, packet)| packet.parts.queue > ms(10)));
}

/// A packet released by a poll is not asleep any more; packets behind it are.
#[test]
fn what_waits_for_its_poll_is_asleep() {
    let run = Run::new(&dozing(1, Retrieval::PsPoll), AP, ms(333), Duration::from_secs(4));
    for (_, packet) in &run.packets[1..] {
        let parts = packet.parts;
        assert!(parts.absent.asleep() > ms(1) && parts.queue.is_zero(), "{parts:?}");
        assert!(parts.contention < ms(1), "{parts:?}");
    }
}

#[test]
fn group_frames_are_asleep_until_the_dtim() {
    let mut config = dozing(3, Retrieval::PsPoll);
    config.stations[3].power_save = None;
    config.dtim_period = 3;
    let mut cell = Cell::new(&config, Seed::new(2, 0)).expect("a sound cell");
    let (mut asleep, mut heard, mut next, mut tag) = (Duration::ZERO, 0, ms(5), 0);
    let mut beacons = Vec::new();
    while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < Instant::ZERO + ms(5_000))
    {
        let now = at.min(Instant::ZERO + next);
        cell.handle_timeout(now);
        if now == Instant::ZERO + next {
            cell.handle_packet(now, AP, Address::Group, Packet::new(tag, 300, now));
            (next, tag) = (next + ms(37), tag + 1);
        }
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event
                && let crate::event::FrameKind::Beacon { dtim_count: 0, .. } =
                    ppdu.psdus[0].frames[0].kind
            {
                beacons.push(ppdu.end);
            }
        }
        while let Some(output) = cell.poll_output() {
            let Output::Delivered { at, packet, .. } = output else { continue };
            let parts = packet.parts;
            assert_eq!(parts.total(), at - packet.created, "{parts:?}");
            // After the first 100 ms somebody dozes, and frames wait for the DTIM.
            if packet.created > Instant::ZERO + ms(110) {
                let dtim = beacons.last().copied().expect("it was sent after one");
                assert_eq!(
                    parts.absent.asleep(),
                    dtim.saturating_since(packet.created),
                    "{parts:?}"
                );
                // Up to nine of them follow a DTIM.
                assert!(parts.queue + parts.contention < ms(8), "{parts:?}");
            }
            asleep += parts.absent.asleep();
            heard += 1;
        }
    }
    assert!(heard > 300 && asleep > ms(100) * heard, "{asleep} in {heard}");
}

/// A cell that loses a fifth of all frames needs longer than the packets came for (a case found by
/// "every packet ends once" of [`a_scan_shows_as_away`]).
#[test]
fn a_slow_cell_is_emptied() {
    let null = NullConfig { leave_loss: Probability::ZERO, ..NullConfig::default() };
    let leftover = Leftover::DropDriver;
    let mut config = scanning(ScanConfig { flush: ms(1), channels: 1, leftover, null, ..scan() });
    for station in &mut config.stations {
        station.retry_limit = 255;
        station.driver_queue = DriverLimit::Packets(1);
        station.rts_threshold = Some(500);
    }
    config.change_links(|pair| pair.link.loss = Probability::new(0.216));
    let run = Run::new(&config, AP, Duration::from_micros(500), ms(900));
    let (last, _) = run.packets.last().expect("some came");
    assert!(*last > Instant::ZERO + ms(1_900), "{last:?}");
    check(&run, |parts| parts.absent.away(), AROUND * 5);
}
