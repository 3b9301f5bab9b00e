//! L4S queues at an access point: the step of sojourn time follows the rate of the air.

use super::*;
use lasthop_units::Seed;

/// Seven L4S packets arrive at once at an access point with DualPI2 and no aggregation, and leave
/// before PI2's first update of 16 ms. A packet is marked if it waited for more than 1 ms in the
/// queue, thus for two exchanges of 2.1 ms at 6.5 Mb/s, and for four of some 0.35 ms at 65 Mb/s: a
/// PPDU of 1 500 bytes takes 1.92 and 0.22 ms, and preamble, SIFS and Ack, AIFS and backoff follow.
#[test]
fn dual_pi2_marks_by_the_rate_of_the_air() {
    for (index, unmarked) in [(0, 1..=1), (7, 3..=5)] {
        let rate = mcs(index, ChannelWidth::Mhz20, GuardInterval::Long);
        let mut config = super::cell(1, rate, ChannelWidth::Mhz20, 0);
        config.stations[AP.index()].queue = QueueConfig::DUAL_PI2;
        let mut cell = Cell::new(&config, Seed::new(5, 0)).expect("a sound cell");
        for tag in 0..7 {
            let packet = Packet::new(tag, 1500, Instant::ZERO);
            let packet = Packet { ecn_capable: true, ecn_l4s: true, ..packet };
            cell.handle_packet(Instant::ZERO, AP, Address::Station(StationId(1)), packet);
        }
        let mut sent = Vec::new();
        while let Some((now, _)) = cell.poll_timeout().filter(|_| sent.len() < 7) {
            cell.handle_timeout(now);
            while let Some(output) = cell.poll_output() {
                if let Output::Delivered { packet, .. } = output {
                    sent.push(packet);
                }
            }
        }
        let step = Duration::from_millis(1);
        for Packet { parts, ecn_marked, tag, .. } in &sent {
            // It leaves the queue between the start of the contention and that of the PPDU.
            assert!(*ecn_marked || parts.queue <= step, "MCS {index}: {tag} {parts:?}");
            assert!(!ecn_marked || parts.queue + parts.contention > step, "{tag} {parts:?}");
        }
        let free = sent.iter().filter(|packet| !packet.ecn_marked).count();
        assert!(sent.len() == 7 && unmarked.contains(&free), "MCS {index}: {free} unmarked");
    }
}
