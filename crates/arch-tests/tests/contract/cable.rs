//! [`Cable`] with any rate, jitter, queue and loss, and with a rate that changes: every
//! packet leaves or is dropped, and none leaves before its time. Leaves out bursts of
//! losses.

use crate::pause;
use lasthop_arch_tests::contract::Driver;
use lasthop_net::{Cable, CableConfig, Jitter, Loss, RateChange};
use lasthop_packet::Packet;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine, Probability, Seed};
use proptest::prelude::*;

pub fn config() -> impl Strategy<Value = CableConfig> {
    let queue = prop_oneof![
        Just(QueueConfig::DropTail { limit: Limit::Packets(20) }),
        Just(QueueConfig::DropTail { limit: Limit::Bytes(Bytes::new(9_000)) }),
        Just(QueueConfig::RFC_8289),
        Just(QueueConfig::RFC_8290),
        Just(QueueConfig::DUAL_PI2),
        Just(QueueConfig::CAKE),
    ];
    let rate = prop::option::of(1_000_000..1_000_000_000u64);
    let ns = 0..500_000u64;
    let change = (1..5_000_000u64, 1_000_000..1_000_000_000u64);
    let changes = (prop::collection::vec(change, 0..3), prop::option::of(1..5_000_000u64));
    let is = prop::array::uniform3(any::<bool>());
    (rate, changes, ns.clone(), ns, is, queue, 0.0..0.5).prop_map(
        |(rate, (changes, pause), delay, jitter, [normal, reorder, adjustable], queue, loss)| {
            let mut at = Instant::ZERO;
            let mut change = |(after, rate)| {
                at += Duration::from_nanos(after);
                RateChange { at, rate: Bitrate::from_bps(rate) }
            };
            let rate_changes: Vec<_> = changes.into_iter().map(&mut change).collect();
            let last = rate_changes.last().map_or(Duration::ZERO, |last| last.at - Instant::ZERO);
            let jitter = Duration::from_nanos(jitter);
            CableConfig {
                rate: rate.map(Bitrate::from_bps),
                rate_changes,
                rate_repeat: pause.map(|pause| last + Duration::from_nanos(pause)),
                delay: Duration::from_nanos(delay),
                jitter: if normal {
                    Jitter::Normal { sd: jitter }
                } else {
                    Jitter::Uniform(jitter)
                },
                reorder,
                queue,
                loss: Loss::Random(Probability::new(loss).expect("in range")),
                adjustable,
                is_interface: false,
            }
        },
    )
}

proptest! {
    #[test]
    fn keeps_the_contract(
        config in config(),
        work in prop::collection::vec((pause(Duration::from_millis(1)), 40..1_500u16), 1..150),
    ) {
        let mut driver = Driver::new(Cable::new(&config, Seed::new(1, 0).stream("wire")));
        let mut gone = 0;
        let mut drain = |now, wire: &mut Cable| {
            while let Some(packet) = wire.poll_transmit() {
                assert!(packet.arrived + packet.parts.wire <= now, "it came before its time");
                gone += 1;
            }
            while wire.poll_drop().is_some() {
                gone += 1;
            }
        };
        for (tag, &(pause, bytes)) in work.iter().enumerate() {
            pause.pass(&mut driver, &mut drain);
            let now = driver.now();
            driver.machine.handle_packet(now, Packet::new(tag as u64, bytes, now), tag % 2 == 0);
        }
        driver.pause(Duration::from_secs(3_600), &mut drain);
        prop_assert_eq!(driver.machine.poll_timeout(), None);
        prop_assert_eq!(gone, work.len(), "packets in, packets out");
    }
}
