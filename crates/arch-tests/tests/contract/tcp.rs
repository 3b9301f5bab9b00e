//! [`Endpoint`] with any configuration, and with segments from a peer that follows no rule: the
//! endpoint does not transmit without end. The content of its segments is not checked.

use crate::pause;
use lasthop_arch_tests::contract::Driver;
use lasthop_tcp::{
    Config, CongestionControlKind, Endpoint, HyStart, Pacing, SackBlock, Segment, SmallQueues,
};
use lasthop_units::{Bitrate, Bytes, Duration, Instant};
use proptest::prelude::*;
use std::cell::Cell;

fn config() -> impl Strategy<Value = Config> {
    let small_queues = prop_oneof![
        Just(SmallQueues::Off),
        Just(SmallQueues::Fixed { limit: Bytes::new(3_000), overhead: Bytes::new(0) }),
        Just(SmallQueues::Pacing {
            limit: Bytes::new(1 << 20),
            shift: 10,
            overhead: Bytes::new(896)
        }),
    ];
    let pacing = prop_oneof![
        Just(Pacing::Off),
        Just(Pacing::Linux),
        Just(Pacing::Fixed(Bitrate::from_mbps(1))),
    ];
    let kind = prop_oneof![
        Just(CongestionControlKind::NewReno),
        Just(CongestionControlKind::Cubic { hystart: HyStart::Linux }),
        Just(CongestionControlKind::Bbr),
        Just(CongestionControlKind::Bbr3),
        Just(CongestionControlKind::Dctcp),
        Just(CongestionControlKind::Prague),
    ];
    (small_queues, pacing, kind, any::<[bool; 3]>()).prop_map(
        |(small_queues, pacing, congestion_control, [sack, ecn, accurate_ecn])| Config {
            small_queues,
            pacing,
            congestion_control,
            sack,
            ecn,
            accurate_ecn,
            local_congestion: true,
            ..Config::default()
        },
    )
}

/// Generates positions near the start of a stream, mostly at the ends of segments.
fn position() -> impl Strategy<Value = u64> {
    prop_oneof![(0..60u64).prop_map(|segments| 1 + segments * 1_448), 0..90_000u64]
}

fn segment() -> impl Strategy<Value = Segment> {
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.05), any::<bool>());
    let acknowledgement = prop::option::weighted(0.95, position());
    let blocks = prop::array::uniform3((position(), position()));
    let rest = (0..4u8, prop_oneof![Just(0u32), Just(1_448)], prop::bool::weighted(0.1));
    let window = prop_oneof![9 => Just(1u32 << 20), 1 => 0..5_000u32];
    (flags, position(), acknowledgement, blocks, rest, window, 0..300u64).prop_map(
        |((syn, fin, echo), sequence, acknowledgement, blocks, rest, window_bytes, age)| {
            let (sack_blocks, payload_bytes, ecn_echo) = rest;
            Segment {
                sequence,
                payload_bytes,
                syn,
                fin,
                acknowledgement,
                window_bytes,
                sent: Instant::from_nanos(age * 1_000_000),
                echoed: echo.then(|| Instant::from_nanos(age * 1_000_000)),
                sack: blocks.map(|(start, end)| SackBlock { start, end }),
                sack_blocks,
                ecn_echo,
                window_reduced: ecn_echo,
                accurate_ecn: ecn_echo != echo,
                ecn_capable: !ecn_echo,
                ecn_l4s: echo,
            }
        },
    )
}

#[derive(Clone, Debug)]
enum Work {
    Write(u64),
    Finish,
    Take(Segment),
    /// The number of packets that the own node has transmitted.
    Release(u32),
    /// The number of next segments that are refused on leaving.
    Refuse(u32),
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        2 => (0..100_000u64).prop_map(Work::Write),
        1 => Just(Work::Finish),
        12 => segment().prop_map(Work::Take),
        4 => (1..10u32).prop_map(Work::Release),
        1 => (1..3u32).prop_map(Work::Refuse),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn keeps_the_contract(
        config in config(),
        connects in any::<bool>(),
        work in prop::collection::vec((pause(Duration::from_millis(300)), work()), 1..60),
    ) {
        let mut driver = Driver::new(Endpoint::new(&config));
        // The peer has what the endpoint wants (RFC 9768, table 2).
        let is_accurate = config.accurate_ecn || config.congestion_control.needs_marks();
        let opening = Segment {
            syn: true,
            accurate_ecn: is_accurate && !connects,
            window_reduced: is_accurate || !connects,
            ecn_echo: !(is_accurate && connects),
            acknowledgement: connects.then_some(1),
            window_bytes: 1 << 20,
            ..Segment::default()
        };
        if connects {
            driver.machine.connect(Instant::ZERO);
            driver.machine.poll_transmit(Instant::ZERO);
        }
        driver.machine.handle_segment(Instant::ZERO, &opening, false);
        let refused = Cell::new(0);
        let mut drain = |now, endpoint: &mut Endpoint| {
            for _ in 0..10_000 {
                let Some(segment) = endpoint.poll_transmit(now) else {
                    return;
                };
                if refused.get() > 0 {
                    refused.set(refused.get() - 1);
                    endpoint.handle_refused(now, &segment);
                }
            }
            panic!("it sends without end");
        };
        for (pause, work) in work {
            pause.pass(&mut driver, &mut drain);
            let (now, endpoint) = (driver.now(), &mut driver.machine);
            match work {
                Work::Write(bytes) => endpoint.write(now, bytes),
                Work::Finish => endpoint.finish(now),
                Work::Take(segment) => endpoint.handle_segment(now, &segment, segment.ecn_echo),
                Work::Release(packets) => endpoint.handle_released(now, packets, packets * 1_500),
                Work::Refuse(segments) => refused.set(segments),
            }
        }
        driver.pause(Duration::from_secs(300), &mut drain);
    }
}
