//! Property tests: for any configuration and any treatment of the first 300 packets
//! by the path (lost, delayed, duplicated, marked, refused), the stream arrives
//! completely and exactly once, and the connection becomes idle. Times are limited
//! to 4 000 s of virtual time.

use lasthop_units::{Bitrate, Bytes, Duration};
use proptest::prelude::*;

use super::path::{Direction, Fate, Path};
use crate::{
    Config, CongestionControlKind, HyStart, Pacing, Recovery, SmallQueues, WindowValidation,
};

fn config() -> impl Strategy<Value = Config> {
    let kind = prop_oneof![
        Just(CongestionControlKind::NewReno),
        Just(CongestionControlKind::Cubic { hystart: HyStart::Linux }),
        Just(CongestionControlKind::Cubic { hystart: HyStart::PlusPlus }),
        Just(CongestionControlKind::Bbr),
        Just(CongestionControlKind::Bbr3),
        Just(CongestionControlKind::Dctcp),
        Just(CongestionControlKind::Prague),
    ];
    let small_queues = prop_oneof![
        Just(SmallQueues::Off),
        Just(SmallQueues::Fixed { limit: Bytes::new(4_000), overhead: Bytes::new(500) }),
        Just(SmallQueues::Pacing {
            limit: Bytes::new(1 << 20),
            shift: 10,
            overhead: Bytes::new(896)
        }),
    ];
    let validation = prop_oneof![
        Just(WindowValidation::Off),
        Just(WindowValidation::Rfc2861),
        Just(WindowValidation::Rfc7661),
        Just(WindowValidation::Linux),
        Just(WindowValidation::Linux3),
    ];
    let pacing = prop_oneof![
        Just(Pacing::Off),
        Just(Pacing::Linux),
        Just(Pacing::Fixed(Bitrate::from_mbps(10))),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let window = 1_000u64..200_000;
    let recovery =
        prop_oneof![Just(Recovery::Today), Just(Recovery::Linux313), Just(Recovery::Linux32)];
    (kind, small_queues, validation, pacing, flags, window, recovery).prop_map(
        |(kind, small_queues, window_validation, pacing, (sack, ecn, local), window, recovery)| {
            Config {
                recovery,
                congestion_control: kind,
                small_queues,
                window_validation,
                pacing,
                sack,
                ecn,
                local_congestion: local,
                receive_window: Bytes::new(window),
                ..Config::default()
            }
        },
    )
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        10 => Just(Fate::Pass),
        2 => Just(Fate::Lose),
        1 => (0..30_000u64).prop_map(|us| Fate::Late(Duration::from_micros(us))),
        1 => Just(Fate::Double),
        1 => Just(Fate::Mark),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_stream_arrives(
        config in config(),
        writes in prop::collection::vec((0u64..300, 0u64..200_000), 1..4),
        answer in prop_oneof![Just(0u64), 0..100_000u64],
        fates in prop::collection::vec(fate(), 0..300),
        queue in 3usize..60,
        kbps in 500u64..50_000,
        delay_us in 0u64..50_000,
    ) {
        let delay = Duration::from_micros(delay_us);
        let mut forth = Direction::limited(delay, Bitrate::from_kbps(kbps), queue);
        forth.refuses = config.local_congestion;
        let mut path = Path::new(config, [forth, Direction::new(delay)]);
        let mut next = fates.into_iter();
        path.rule = alloc::boxed::Box::new(move |_, _, _| next.next().unwrap_or(Fate::Pass));
        path.ends[0].connect(path.now);
        path.ends[1].write(path.now, answer);
        path.ends[1].finish(path.now);
        path.drain();
        for &(pause_ms, bytes) in &writes {
            path.run(Duration::from_millis(pause_ms));
            path.ends[0].write(path.now, bytes);
            path.drain();
        }
        path.ends[0].finish(path.now);
        path.drain();
        let bytes: u64 = writes.iter().map(|(_, bytes)| bytes).sum();
        let end = path.now + Duration::from_secs(4_000);
        while !path.ends.iter().all(|end| end.is_sent() && end.is_received()) {
            prop_assert!(path.step(end), "{:#?}", path.ends);
            for end in &path.ends {
                end.check();
                end.check_settled(path.now);
            }
        }
        prop_assert_eq!(path.ends[1].received_bytes(), bytes);
        prop_assert_eq!(path.ends[0].acknowledged_bytes(), bytes);
        prop_assert_eq!(path.ends[0].received_bytes(), answer);
        // Segments still in flight at the end change nothing.
        path.run(Duration::from_secs(4_000));
        prop_assert_eq!(path.ends[0].queued_bytes(), 0);
        prop_assert_eq!(path.ends[1].received_bytes(), bytes);
        prop_assert_eq!(path.next(), None);
    }
}
