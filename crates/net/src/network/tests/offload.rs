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

/// An interrupt 50 us after the first of five: four merged packets, of which the first is in
/// transmission while the others wait. One by one, one is in transmission.
#[test]
fn a_queue_counts_merged_segments_as_one() {
    let wait = Duration::from_micros(50);
    let merged = |packets| {
        let (arrivals, lost) =
            forward(packets, Some(ReceiveOffload { wait, segments_max: 45 }), None);
        (arrivals.len(), lost)
    };
    assert_eq!((merged(3), merged(2), merged(1)), ((20, 0), (15, 5), (10, 10)));
    let (arrivals, lost) = forward(3, None, None);
    assert_eq!((arrivals.len(), lost), (4, 16));
    // Two in one at most: an interrupt has 2 + 2 + 1, and eleven of twelve wait.
    let two = ReceiveOffload { wait, segments_max: 2 };
    assert_eq!(forward(11, Some(two), None).1, 0);
    assert_eq!(forward(10, Some(two), None).1, 1);
}

/// The processor takes 1.5 ms for a merged packet, as for a segment: longer than the transmission of
/// one (1.2112 ms), so that it sets the pace; shorter than that of five, so that the wire does.
#[test]
fn a_processor_works_once_for_what_is_merged() {
    let us = |us| Duration::from_micros(us);
    let cost = HostCost { per_packet: us(1_500), ..HostCost::default() };
    let (one_by_one, _) = forward(100, None, Some(cost));
    let offload = ReceiveOffload { wait: us(50), segments_max: 45 };
    let (merged, _) = forward(100, Some(offload), Some(cost));
    let each = Duration::from_nanos(1_211_200);
    let first = Instant::ZERO + Duration::from_nanos(12_112) + us(1_500) + each;
    assert_eq!(one_by_one[0], first);
    assert_eq!(merged[0], first + us(50));
    assert_eq!(one_by_one[19], first + us(1_500) * 19);
    assert_eq!(merged[19], merged[0] + each * 19);
}
