//! Packets offered together, against the same packets offered one by one.

use super::*;
use lasthop_packet::queue::{DriverLimit, QueueConfig};
use proptest::prelude::*;

fn queues() -> [QueueConfig; 7] {
    let limit = Limit::Packets(12);
    let (target, interval) = (Duration::from_millis(1), Duration::from_millis(10));
    [
        QueueConfig::DropTail { limit },
        QueueConfig::DropTail { limit: Limit::Bytes(lasthop_units::Bytes::new(20_000)) },
        QueueConfig::CoDel { limit, target, interval, ecn: false },
        QueueConfig::FqCodel {
            limit_packets: 12,
            memory_limit: lasthop_units::Bytes::new(16_000),
            flows: 4,
            quantum_bytes: 300,
            target,
            interval,
            ecn: false,
            airtime: true,
            ce_threshold: None,
        },
        QueueConfig::EMULATED_BDP,
        QueueConfig::DUAL_PI2,
        QueueConfig::CAKE,
    ]
}

/// Offers packets as a driver does, until the number is reached or the queue is full: together, or
/// one by one.
fn offer(cell: &mut Cell, together: bool, now: Instant, to: Address, mut packet: Packet, n: u32) {
    let mut left = n;
    while left > 0 {
        if cell.due() <= now {
            cell.handle_timeout(now);
        }
        let count = match together {
            true => cell.handle_offer(now, AP, to, &packet, left, |_| {}),
            false if cell.admits(AP, to, &packet) => {
                cell.handle_packet(now, AP, to, packet);
                1
            }
            false => 0,
        };
        if count == 0 {
            break;
        }
        left -= count;
        packet.tag += u64::from(count);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Both ways have the same result in any state.
    #[test]
    fn together_or_one_by_one(
        queue in 0usize..7,
        ampdu in prop::bool::ANY,
        records in prop::bool::ANY,
        driver in prop::option::of(4u32..20),
        built_ahead in prop::bool::ANY,
        loss in 0.0..0.5f64,
        offers in prop::collection::vec(
            (0u64..3_000, 1u32..40, 0u16..2, 100u16..1_500, 0usize..4), 1..30),
    ) {
        let rate = mcs(3, ChannelWidth::Mhz20, GuardInterval::Long);
        let mut config = cell(2, rate, ChannelWidth::Mhz20, if ampdu { 65_535 } else { 0 });
        config.record_events = records;
        config.change_links(|pair| {
            pair.link.loss = Probability::new(loss);
        });
        let station = &mut config.stations[AP.index()];
        station.queue = queues()[queue];
        station.aggregation.built_ahead = built_ahead;
        if let Some(packets) = driver {
            station.driver_queue = DriverLimit::Packets(packets);
        }
        let cells = [true, false].map(|together| {
            let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
            let (mut now, mut tag) = (Instant::ZERO, 0);
            for &(wait, number, to, bytes, category) in &offers {
                now += Duration::from_micros(wait);
                cell.handle_timeout(now);
                let packet = Packet {
                    access_category: AccessCategory::ALL[category],
                    notify: true,
                    flow_hash: u32::from(to) * 7,
                    ..Packet::new(tag, bytes, now)
                };
                let to = Address::Station(StationId(1 + to));
                offer(&mut cell, together, now, to, packet, number);
                tag += u64::from(number);
            }
            // What is offered together waits as one run in FQ-CoDel; empty queues are the same.
            cell.handle_timeout(now + Duration::from_secs(10));
            cell
        });
        prop_assert!(cells[0] == cells[1]);
    }
}
