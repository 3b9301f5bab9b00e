//! Exact times, drops and order on a wire, and the contract of machines.

use super::*;
use lasthop_units::{Bytes, Probability, Seed};
use proptest::prelude::*;

fn wire(config: &CableConfig) -> Cable {
    Cable::new(config, Seed::new(3, 0).stream("wire"))
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// CAKE with a shaper.
fn shaped(rate: Bitrate) -> QueueConfig {
    let QueueConfig::Cake { memory_limit, target, interval, isolation, tins, .. } =
        QueueConfig::CAKE
    else {
        unreachable!()
    };
    let (bandwidth, overhead_bytes) = (Some(rate), 14);
    QueueConfig::Cake { bandwidth, memory_limit, target, interval, isolation, tins, overhead_bytes }
}

/// Drives the wire until it is empty; returns the arrivals with their instants.
fn drain(wire: &mut Cable) -> Vec<(Instant, Packet)> {
    let mut arrivals: Vec<_> = core::iter::from_fn(|| wire.poll_transmit())
        .map(|p| (p.arrived + p.parts.wire, p))
        .collect();
    while let Some((now, _)) = wire.poll_timeout() {
        wire.handle_timeout(now);
        while let Some(packet) = wire.poll_transmit() {
            assert_eq!(packet.arrived + packet.parts.wire, now);
            arrivals.push((now, packet));
        }
    }
    arrivals
}

/// 1 486 bytes are 1 500 with the header: 120 us at 100 Mb/s, then 5 ms of propagation.
#[test]
fn packets_take_turns_and_then_travel() {
    let config = CableConfig {
        is_interface: false,
        rate: Some(Bitrate::from_mbps(100)),
        delay: Duration::from_millis(5),
        ..CableConfig::default()
    };
    let mut wire = wire(&config);
    for tag in 0..3 {
        wire.handle_packet(at(1000), Packet::new(tag, 1486, at(1000)), true);
    }
    assert_eq!(wire.queue_packets(at(1000)), 2);
    let arrivals = drain(&mut wire);
    let expected = [0, 1, 2].map(|n| (at(1000 + 120_000 * (n + 1) + 5_000_000), n));
    assert_eq!(arrivals.iter().map(|(at, p)| (*at, p.tag)).collect::<Vec<_>>(), expected);
    assert_eq!(arrivals[2].1.parts.total(), Duration::from_nanos(5_360_000));
}

/// Watching packets changes no result: at any instant, the packets whose transmission has not begun
/// wait.
#[test]
fn packets_wait_until_their_transmission_begins() {
    // 1 486 bytes take 120 us.
    let config = CableConfig { rate: Some(Bitrate::from_mbps(100)), ..CableConfig::default() };
    for watched_from in 0..=6 {
        let mut wire = wire(&config);
        for tag in 0..6 {
            let packet = Packet::new(tag, 1486, Instant::ZERO);
            wire.handle_packet(Instant::ZERO, packet, tag >= watched_from);
        }
        let waiting = [0, 1, 119, 120, 241, 359, 360, 599, 600, 9_000]
            .map(|us| wire.queue_packets(Instant::ZERO + Duration::from_micros(us)));
        assert_eq!(waiting, [5, 5, 5, 4, 3, 3, 2, 1, 0, 0], "{watched_from}");
    }
}

#[test]
fn without_a_rate_only_the_delay_counts() {
    let mut instant = wire(&CableConfig::default());
    instant.handle_packet(at(5), Packet::new(1, 1500, at(5)), true);
    assert_eq!(instant.poll_transmit().map(|p| p.parts.wire), Some(Duration::ZERO));

    let mut far = wire(&CableConfig { delay: Duration::from_nanos(7), ..CableConfig::default() });
    far.handle_packet(at(5), Packet::new(1, 1500, at(5)), true);
    assert_eq!(far.poll_transmit(), None);
    assert_eq!(far.poll_timeout(), Some((at(12), CableReason::Arrival)));
    assert_eq!(drain(&mut far).len(), 1);
}

/// A busy transmitter whose rate does not divide evenly: after a million packets of 1
/// 014 bytes the last bit has left at the exact instant, rounded up once.
#[test]
fn the_long_run_rate_is_exact() {
    let rate = 123_456_789;
    let config = CableConfig { rate: Some(Bitrate::from_bps(rate)), ..CableConfig::default() };
    let mut wire = wire(&config);
    let packets = 1_000_000u64;
    let mut last = Instant::ZERO;
    for tag in 0..packets {
        while wire.queue_packets(last) > 500 {
            let (now, _) = wire.poll_timeout().expect("a backlog");
            wire.handle_timeout(now);
            last = now;
            while wire.poll_transmit().is_some() {}
        }
        wire.handle_packet(last, Packet::new(tag, 1000, last), true);
    }
    let (end, _) = *drain(&mut wire).last().expect("the last packet");
    let exact = (u128::from(packets) * 1014 * 8 * 1_000_000_000).div_ceil(u128::from(rate));
    assert_eq!(u128::from(end.as_nanos()), exact);
}

/// The transmitter holds one packet and the queue as many as its limit; the rest is
/// dropped.
#[test]
fn a_full_queue_drops_arrivals() {
    let config = CableConfig {
        is_interface: false,
        rate: Some(Bitrate::from_mbps(10)),
        queue: QueueConfig::DropTail { limit: Limit::Packets(4) },
        ..CableConfig::default()
    };
    let mut wire = wire(&config);
    (0..8).for_each(|tag| wire.handle_packet(at(0), Packet::new(tag, 1000, at(0)), true));
    let drops: Vec<_> = core::iter::from_fn(|| wire.poll_drop()).collect();
    assert_eq!(
        drops.iter().map(|(p, r)| (p.tag, *r)).collect::<Vec<_>>(),
        [5, 6, 7].map(|tag| (tag, DropReason::QueueFull))
    );
    assert_eq!(drain(&mut wire).iter().map(|(_, p)| p.tag).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

/// With a sender at twice the rate CoDel keeps the delay near its target, drop-tail
/// does not.
#[test]
fn codel_works_on_a_wire() {
    let mean_ms = |queue| {
        let config =
            CableConfig { rate: Some(Bitrate::from_mbps(10)), queue, ..CableConfig::default() };
        let mut wire = wire(&config);
        let (mut delay, mut arrived, mut active) = (0.0, 0.0, 0);
        for n in 0..100_000u64 {
            let now = at(n * 700_000);
            while let Some((due, _)) = wire.poll_timeout().filter(|(due, _)| *due <= now) {
                wire.handle_timeout(due);
            }
            wire.handle_packet(now, Packet::new(n, 1000, now), true);
            while let Some(packet) = wire.poll_transmit() {
                delay += packet.parts.wire.as_millis_f64();
                arrived += 1.0;
            }
            active += core::iter::from_fn(|| wire.poll_drop())
                .filter(|(_, reason)| *reason == DropReason::ActiveQueue)
                .count();
        }
        (delay / arrived, active)
    };
    let limit = Limit::Packets(1000);
    let (tail, no_drops) = mean_ms(QueueConfig::DropTail { limit });
    assert!(tail > 500.0 && no_drops == 0, "{tail}");
    let (codel, drops) = mean_ms(QueueConfig::RFC_8289);
    // CoDel slows an unresponsive sender only gradually, so the bound is loose.
    assert!(codel < 200.0 && drops > 1000, "{codel} ms, {drops} drops");
}

/// Times and drops do not depend on whether the driver wakes the wire when it asks, or
/// only with the next packet.
#[test]
fn a_late_driver_changes_nothing() {
    let run = |punctual: bool| {
        let config = CableConfig {
            is_interface: false,
            rate: Some(Bitrate::from_mbps(10)),
            queue: QueueConfig::RFC_8289,
            ..CableConfig::default()
        };
        let mut wire = wire(&config);
        for n in 0..2000u64 {
            let now = at(n / 2 * 1_500_000);
            while punctual && wire.poll_timeout().is_some_and(|(due, _)| due <= now) {
                let (due, _) = wire.poll_timeout().expect("just seen");
                wire.handle_timeout(due);
            }
            wire.handle_packet(now, Packet::new(n, 1000, now), true);
        }
        let arrivals = drain(&mut wire);
        (arrivals, core::iter::from_fn(|| wire.poll_drop()).collect::<Vec<_>>())
    };
    let punctual = run(true);
    assert!(punctual.1.len() > 10);
    assert_eq!(run(false), punctual);
}

#[test]
fn losses_are_reported() {
    let loss = Loss::Random(Probability::new(0.3).expect("in range"));
    let mut wire = wire(&CableConfig { loss, ..CableConfig::default() });
    for tag in 0..10_000 {
        wire.handle_packet(at(tag), Packet::new(tag, 100, at(tag)), true);
    }
    let lost = core::iter::from_fn(|| wire.poll_drop())
        .inspect(|(_, r)| assert_eq!(*r, DropReason::WireLoss))
        .count();
    assert_eq!(lost + drain(&mut wire).len(), 10_000);
    assert!((2800..3200).contains(&lost), "{lost}");
}

/// Mean and standard deviation of the delay of packets sent one at a time.
fn delays_ms(jitter: Jitter) -> (f64, f64) {
    let config = CableConfig { delay: Duration::from_millis(50), jitter, ..CableConfig::default() };
    let mut wire = wire(&config);
    let n = 20_000u64;
    let delays: Vec<f64> = (0..n)
        .map(|tag| {
            wire.handle_packet(at(tag * 1_000_000_000), Packet::new(tag, 100, Instant::ZERO), true);
            drain(&mut wire)[0].1.parts.wire.as_millis_f64()
        })
        .collect();
    let mean = delays.iter().sum::<f64>() / n as f64;
    let variance = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n as f64;
    (mean, libm::sqrt(variance))
}

#[test]
fn jitter_has_its_moments() {
    assert_eq!(delays_ms(Jitter::None), (50.0, 0.0));
    // Uniform over +-10 ms has a standard deviation of 10 / sqrt(3) ms.
    let (mean, deviation) = delays_ms(Jitter::Uniform(Duration::from_millis(10)));
    assert!((mean - 50.0).abs() < 0.2 && (deviation - 5.7735).abs() < 0.1, "{mean} {deviation}");
    let (mean, deviation) = delays_ms(Jitter::Normal { sd: Duration::from_millis(5) });
    assert!((mean - 50.0).abs() < 0.2 && (deviation - 5.0).abs() < 0.1, "{mean} {deviation}");
}

#[test]
fn jitter_reorders_only_on_request() {
    for reorder in [false, true] {
        let config = CableConfig {
            is_interface: false,
            delay: Duration::from_millis(5),
            jitter: Jitter::Uniform(Duration::from_millis(5)),
            reorder,
            ..CableConfig::default()
        };
        let mut wire = wire(&config);
        for tag in 0..1000 {
            wire.handle_packet(at(tag * 1000), Packet::new(tag, 100, Instant::ZERO), true);
        }
        let tags: Vec<u64> = drain(&mut wire).iter().map(|(_, p)| p.tag).collect();
        assert_eq!(tags.len(), 1000);
        assert_eq!(!tags.is_sorted(), reorder);
    }
}

proptest! {
    /// The contract of machines, and conservation of packets, for any wire, also with a
    /// driver that is late.
    #[test]
    fn keeps_the_contract(
        steps in prop::collection::vec((0..400_000u64, 40..1500u16, any::<bool>()), 1..200),
        rate in prop_oneof![Just(None), (1_000_000..1_000_000_000u64).prop_map(Some)],
        which in 0..7, reorder: bool, adjustable: bool, jitter_ns in 0..500_000u64, loss in 0.0..0.5,
    ) {
        let config = CableConfig {
            is_interface: false,
            rate_changes: Vec::new(),
            rate_repeat: None,
            rate: rate.map(Bitrate::from_bps),
            delay: Duration::from_nanos(200_000),
            jitter: Jitter::Uniform(Duration::from_nanos(jitter_ns)),
            reorder,
            queue: match which {
                0 => QueueConfig::DropTail { limit: Limit::Packets(20) },
                1 => QueueConfig::DropTail { limit: Limit::Bytes(Bytes::new(9000)) },
                2 => QueueConfig::RFC_8289,
                3 => QueueConfig::RFC_8290,
                4 => QueueConfig::DUAL_PI2,
                5 => QueueConfig::CAKE,
                _ => shaped(Bitrate::from_mbps(2)),
            },
            loss: Loss::Random(Probability::new(loss).expect("in range")),
            adjustable,
        };
        let mut wire = wire(&config);
        let mut now = Instant::ZERO;
        let (mut sent, mut gone) = (0, 0);
        for (wait, bytes, late) in steps {
            let next = now + Duration::from_nanos(wait);
            if !late {
                while let Some((due, reason)) = wire.poll_timeout().filter(|(due, _)| *due <= next) {
                    prop_assert_eq!(wire.poll_timeout(), Some((due, reason)));
                    prop_assert!(due > now);
                    let mut early = wire.clone();
                    early.handle_timeout(now);
                    prop_assert_eq!(&early, &wire);
                    wire.handle_timeout(due);
                    now = due;
                    prop_assert!(wire.poll_timeout().is_none_or(|(at, _)| at > due));
                }
            }
            now = next;
            wire.handle_packet(now, Packet::new(sent, bytes, now), true);
            sent += 1;
            gone += core::iter::from_fn(|| wire.poll_drop()).count();
            if late {
                while let Some(packet) = wire.poll_transmit() {
                    prop_assert!(packet.arrived + packet.parts.wire <= now);
                    gone += 1;
                }
            }
        }
        gone += drain(&mut wire).len();
        gone += core::iter::from_fn(|| wire.poll_drop()).count();
        prop_assert_eq!(gone as u64, sent);
        prop_assert_eq!(wire.queue_packets(now + Duration::from_secs(10)), 0);
    }

    /// Neither watching the queue nor a cable that may be changed alters the result: the same
    /// packets arrive at the same instants, the same ones are dropped, and as many wait.
    #[test]
    fn watching_changes_nothing(
        steps in prop::collection::vec((0..40_000u64, 40..1500u16, any::<bool>()), 1..300),
        rate in 1_000_000..1_000_000_000u64,
        in_bytes: bool, loss in 0.0..0.3, jitter_ns in 0..50_000u64,
    ) {
        let config = CableConfig {
            is_interface: false,
            rate_changes: Vec::new(),
            rate_repeat: None,
            rate: Some(Bitrate::from_bps(rate)),
            delay: Duration::from_nanos(50_000),
            jitter: Jitter::Uniform(Duration::from_nanos(jitter_ns)),
            reorder: false,
            queue: QueueConfig::DropTail {
                limit: if in_bytes { Limit::Bytes(Bytes::new(9000)) } else { Limit::Packets(10) },
            },
            loss: Loss::Random(Probability::new(loss).expect("in range")),
            adjustable: false,
        };
        let mut wires =
            [&config, &config, &CableConfig { adjustable: true, ..config.clone() }].map(wire);
        let mut now = Instant::ZERO;
        for (tag, (wait, bytes, mixed)) in steps.into_iter().enumerate() {
            now += Duration::from_nanos(wait);
            for (index, wire) in wires.iter_mut().enumerate() {
                while let Some((due, _)) = wire.poll_timeout().filter(|(due, _)| *due <= now) {
                    wire.handle_timeout(due);
                }
                wire.handle_packet(now, Packet::new(tag as u64, bytes, now), index == 0 || mixed);
            }
            let [watched, other, adjustable] = wires.each_ref().map(|wire| wire.queue_packets(now));
            prop_assert_eq!((watched, watched), (other, adjustable));
        }
        let [watched, other, adjustable] = wires.map(|mut wire| {
            let arrivals: Vec<_> = drain(&mut wire).iter().map(|(at, p)| (*at, p.tag)).collect();
            let mut dropped: Vec<_> =
                core::iter::from_fn(|| wire.poll_drop()).map(|(p, why)| (p.tag, why)).collect();
            dropped.sort_unstable();
            (arrivals, dropped)
        });
        prop_assert_eq!(&watched, &other);
        prop_assert_eq!(&watched, &adjustable);
    }

    /// A wire that may lose packets keeps those in its queue whose release is to be reported; a
    /// wire without losses sends them ahead at once. Both wake up at the same instants and report
    /// the same.
    #[test]
    fn what_is_on_its_way_is_released_as_if_it_waited(
        steps in prop::collection::vec((0..40_000u64, 40..1500u16, 0..4u8), 1..300),
        rate in 1_000_000..1_000_000_000u64,
        in_bytes: bool,
    ) {
        let run = |loss| {
            let mut wire = wire(&CableConfig {
                rate: Some(Bitrate::from_bps(rate)),
                delay: Duration::from_nanos(50_000),
                queue: QueueConfig::DropTail {
                    limit: if in_bytes { Limit::Bytes(Bytes::new(9000)) } else { Limit::Packets(10) },
                },
                loss,
                ..CableConfig::default()
            });
            let mut log = Vec::new();
            let mut advance = |wire: &mut Cable, until: Instant| {
                while let Some((due, reason)) = wire.poll_timeout().filter(|(due, _)| *due <= until) {
                    wire.handle_timeout(due);
                    let released: Vec<_> = core::iter::from_fn(|| wire.poll_released()).collect();
                    let arrived: Vec<_> = core::iter::from_fn(|| wire.poll_transmit()).collect();
                    let dropped: Vec<_> = core::iter::from_fn(|| wire.poll_drop()).collect();
                    log.push((due, reason, released, arrived, dropped, wire.queue_packets(due)));
                }
            };
            let mut now = Instant::ZERO;
            for (tag, &(wait, bytes, kind)) in steps.iter().enumerate() {
                now += Duration::from_nanos(wait);
                advance(&mut wire, now);
                let packet = Packet { notify: kind == 1, ..Packet::new(tag as u64, bytes, now) };
                wire.handle_packet(now, packet, kind == 2);
            }
            advance(&mut wire, now + Duration::from_secs(10));
            log
        };
        prop_assert_eq!(run(Loss::None), run(Loss::Random(Probability::ZERO)));
    }
}

/// Packets sent ahead of a drop-tail queue arrive as late as packets that wait in another queue.
#[test]
fn a_queue_drains_at_the_rate_of_the_moment() {
    let changes = [(20, 2), (60, 8)].map(|(ms, mbps)| RateChange {
        at: Instant::ZERO + Duration::from_millis(ms),
        rate: Bitrate::from_mbps(mbps),
    });
    let queues = [
        QueueConfig::DropTail { limit: Limit::Packets(100) },
        QueueConfig::CoDel {
            limit: Limit::Packets(100),
            target: Duration::from_secs(1),
            interval: Duration::from_secs(1),
            ecn: false,
        },
    ];
    let arrivals = queues.map(|queue| {
        let config = CableConfig {
            is_interface: false,
            rate: Some(Bitrate::from_mbps(4)),
            rate_changes: changes.into(),
            rate_repeat: None,
            queue,
            ..CableConfig::default()
        };
        let mut wire = wire(&config);
        // Frames of 500 bytes take 1 ms at 4 Mb/s.
        for tag in 0..60 {
            wire.handle_packet(Instant::ZERO, Packet::new(tag, 486, Instant::ZERO), false);
        }
        let millis = |(at, _): (Instant, Packet)| (at - Instant::ZERO).as_millis_f64();
        drain(&mut wire).into_iter().map(millis).collect::<Vec<f64>>()
    });
    let expected = |index: usize| match index {
        0..20 => index as f64 + 1.0,
        20..40 => 20.0 + 2.0 * (index as f64 - 19.0),
        _ => 60.0 + 0.5 * (index as f64 - 39.0),
    };
    let expected: Vec<f64> = (0..60).map(expected).collect();
    assert_eq!(arrivals, [expected.clone(), expected]);
}

/// DualPI2 at a router's port, before PI2's first update of 16 ms. 13 L4S packets come at once; the
/// nth leaves the queue after n transmissions, and is marked after more than 1 ms: from the second
/// on at 10 Mb/s (1.2 ms each), from the tenth on at 100 Mb/s (0.12 ms). A classic packet that came
/// before all of them but one leaves after nine of them (its credit), unmarked.
#[test]
fn dual_pi2_marks_by_the_rate_of_the_wire() {
    for (mbps, first_marked) in [(10, 1), (100, 9)] {
        let config = CableConfig {
            rate: Some(Bitrate::from_mbps(mbps)),
            queue: QueueConfig::DUAL_PI2,
            ..CableConfig::default()
        };
        let mut wire = wire(&config);
        for tag in 0..14 {
            let l4s = Packet { ecn_l4s: tag != 1, ..Packet::new(tag, 1486, Instant::ZERO) };
            let packet = Packet { ecn_capable: true, ..l4s };
            wire.handle_packet(Instant::ZERO, packet, false);
        }
        let sent: Vec<_> = drain(&mut wire).iter().map(|(_, p)| (p.tag, p.ecn_marked)).collect();
        let tags = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 11, 12, 13];
        let expected = (0..).zip(tags).map(|(n, tag)| (tag, tag != 1 && n >= first_marked));
        assert_eq!(sent, expected.collect::<Vec<_>>(), "{mbps} Mb/s");
    }
}

/// A shaper of 10 Mb/s before a wire of 100 Mb/s, with propagation of 1 ms: frames of 1 500 bytes
/// begin 1.2 ms apart and take 0.12 ms. After a pause the first one leaves at once: a shaper in
/// deficit mode saves nothing for bursts.
#[test]
fn cake_shapes_without_bursts() {
    let config = CableConfig {
        rate: Some(Bitrate::from_mbps(100)),
        delay: Duration::from_millis(1),
        queue: shaped(Bitrate::from_mbps(10)),
        ..CableConfig::default()
    };
    let mut wire = wire(&config);
    for begin in [0, 1_000_000_000] {
        for tag in 0..4 {
            wire.handle_packet(at(begin), Packet::new(tag, 1486, at(begin)), false);
        }
        let arrivals = drain(&mut wire);
        let expected = [0, 1, 2, 3].map(|n| (at(begin + 1_200_000 * n + 1_120_000), n));
        assert_eq!(arrivals.iter().map(|(at, p)| (*at, p.tag)).collect::<Vec<_>>(), expected);
    }
}
