//! Receive offload at a router, against calculations by hand: 20 segments of 1 500 bytes at once
//! over 1 Gb/s are 12.112 us apart (1 514 bytes), then pass a wire of 10 Mb/s.

use super::*;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::Bitrate;

/// The instants at which packets of one connection arrived behind the router, and the number of
/// those that were lost.
fn forward(
    packets: u32,
    receive_offload: Option<ReceiveOffload>,
    host_cost: Option<HostCost>,
) -> (Vec<Instant>, usize) {
    let mut config = hosts(3, &[(0, 1), (1, 2)]);
    (config.nodes[1].receive_offload, config.nodes[1].host_cost) = (receive_offload, host_cost);
    let queue = QueueConfig::DropTail { limit: Limit::Packets(packets) };
    let rates = [Bitrate::from_mbps(1_000), Bitrate::from_mbps(10)];
    for (wire, rate) in config.wires.iter_mut().zip(rates) {
        let cable = CableConfig { rate: Some(rate), ..CableConfig::default() };
        wire.directions = [cable.clone(), cable];
    }
    config.wires[1].directions[0].queue = queue;
    let mut network = Network::new(&config, Seed::new(1, 0)).expect("a sound network");
    for tag in 0..20 {
        let segment = Packet { bytes: 1_500, transport: Transport::Tcp, ..packet(tag, 0, 2) };
        network.handle_packet(Instant::ZERO, segment);
    }
    let outputs = drain(&mut network);
    let arrivals = outputs.iter().filter_map(|output| match output {
        Output::Arrived { at, .. } => Some(*at),
        _ => None,
    });
    let arrivals: Vec<Instant> = arrivals.collect();
    let lost = outputs.len() - arrivals.len();
    (arrivals, lost)
}

/// The first segment interrupts at once, at 12.112 us; then four arrive in each 50 us, and three are
/// left: six merged packets, of which the first is in transmission while five wait.
#[test]
fn a_queue_counts_merged_segments_as_one() {
    let interval = Duration::from_micros(50);
    let lost = |packets, segments_max| {
        forward(packets, Some(ReceiveOffload { interval, segments_max }), None).1
    };
    assert_eq!([5, 4, 3].map(|packets| lost(packets, 45)), [0, 3, 7]);
    // Two in one at most: 1, four times 2 + 2, and 2 + 1, so that ten wait.
    assert_eq!([10, 9].map(|packets| lost(packets, 2)), [0, 1]);
    // One by one, one is in transmission.
    assert_eq!(forward(3, None, None).1, 16);
}

/// The processor takes 1.5 ms for a merged packet, as for a segment: longer than the transmission of
/// one (1.2112 ms), so that it sets the pace; shorter than that of four, so that the wire does from
/// the second merged packet on.
#[test]
fn a_processor_works_once_for_what_is_merged() {
    let us = |us| Duration::from_micros(us);
    let cost = HostCost { per_packet: us(1_500), ..HostCost::default() };
    let (one_by_one, _) = forward(100, None, Some(cost));
    let offload = ReceiveOffload { interval: us(50), segments_max: 45 };
    let (merged, _) = forward(100, Some(offload), Some(cost));
    let each = Duration::from_nanos(1_211_200);
    let first = Instant::ZERO + Duration::from_nanos(12_112) + us(1_500) + each;
    assert_eq!((one_by_one[0], merged[0]), (first, first));
    assert_eq!(one_by_one[19], first + us(1_500) * 19);
    assert_eq!(merged[19], first + us(1_500) + each * 18);
}
