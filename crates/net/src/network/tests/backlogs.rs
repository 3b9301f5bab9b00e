//! Shares of saturated flows: they add up to the queue whenever flows start or end.

use super::*;
use lasthop_packet::AccessCategory;
use lasthop_packet::queue::{Limit, QueueConfig};

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn flow(from: u16, to: u16, start: u64, stop: u64) -> SaturatedFlow {
    SaturatedFlow {
        from: NodeId(from),
        to: NodeId(to),
        access_category: AccessCategory::BestEffort,
        bytes: 1_000,
        start: ms(start),
        stop: ms(stop),
    }
}

/// Targets of all flows at these instants, on wires with this queue.
fn targets<const N: usize>(
    queue: QueueConfig,
    mtu: u16,
    flows: [SaturatedFlow; N],
    instants: &[u64],
) -> Vec<[u32; N]> {
    let mut config = hosts(3, &[(0, 1), (0, 2)]);
    for direction in config.wires.iter_mut().flat_map(|wire| &mut wire.directions) {
        direction.queue = queue;
    }
    config.nodes[0].mtu = mtu;
    let network = Network::new(&config, Seed::new(1, 0)).expect("a sound network");
    let mut backlogs = Backlogs::new(&config, &network, flows);
    let each = |at: &u64| core::array::from_fn(|index| backlogs.target(ms(*at), index));
    instants.iter().map(each).collect()
}

const TAIL: QueueConfig = QueueConfig::DropTail { limit: Limit::Packets(20) };

#[test]
fn flows_share_the_queue_that_they_are_in() {
    // Three towards node 1, one towards node 2, one back.
    let flows = [
        flow(0, 1, 10, 50),
        flow(0, 1, 20, 90),
        flow(0, 2, 0, 90),
        flow(0, 1, 20, 60),
        flow(1, 0, 0, 90),
    ];
    let expected = [
        (0, [0, 0, 20, 0, 20]),
        (9, [0, 0, 20, 0, 20]),
        (10, [20, 0, 20, 0, 20]),
        (19, [20, 0, 20, 0, 20]),
        // The remainder goes to the first.
        (20, [7, 7, 20, 6, 20]),
        (49, [7, 7, 20, 6, 20]),
        (50, [0, 10, 20, 10, 20]),
        (60, [0, 20, 20, 0, 20]),
        (89, [0, 20, 20, 0, 20]),
        (90, [0; 5]),
        (1_000, [0; 5]),
    ];
    let got = targets(TAIL, 1_500, flows, &expected.map(|(at, _)| at));
    assert_eq!(got, expected.map(|(_, targets)| targets));
    // Nobody asked meanwhile.
    assert_eq!(targets(TAIL, 1_500, flows, &[55]), [[0, 10, 20, 10, 20]]);
}

/// A packet longer than the MTU takes a place for each of its parts; at least one packet is always
/// queued.
#[test]
fn long_packets_count_as_their_parts() {
    let one = [flow(0, 1, 0, 90)];
    // Of 980 bytes of payload at most 280 are in each part but the last: four parts.
    assert_eq!(targets(TAIL, 300, one, &[0]), [[5]]);
    assert_eq!(targets(TAIL, 1_000, one, &[0]), [[20]]);
    let few = QueueConfig::DropTail { limit: Limit::Packets(3) };
    assert_eq!(targets(few, 300, one, &[0]), [[1]]);
    // A limit in bytes: of packets as they are on the link.
    let bytes = QueueConfig::DropTail { limit: Limit::Bytes(lasthop_units::Bytes::new(10_500)) };
    assert_eq!(targets(bytes, 1_500, one, &[0]), [[10]]);
    assert_eq!(targets(bytes, 500, one, &[0]), [[21 / 3]]);
}

/// A queue that manages its delay is not filled to its limit, which is far away.
#[test]
fn managed_queues_are_filled_with_a_thousand_each() {
    let one = flow(0, 1, 0, 90);
    assert_eq!(targets(QueueConfig::MAC80211, 1_500, [one], &[0]), [[1_000]]);
    assert_eq!(targets(QueueConfig::MAC80211, 1_500, [one; 2], &[0]), [[1_000; 2]]);
    let short = QueueConfig::CoDel {
        limit: Limit::Packets(100),
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
    };
    assert_eq!(targets(short, 1_500, [one; 3], &[0]), [[34, 33, 33]]);
    let deep = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
    assert_eq!(targets(deep, 1_500, [one], &[0]), [[5_000]]);
}
