//! The order of service at a sender with packets for several peers.

use super::*;

/// Packets delivered to each of `stations` in downlinks that keep 120 packets each in transit.
pub(super) fn delivered(config: &CellConfig, stations: u16, time: Duration) -> Vec<u64> {
    let mut cell = Cell::new(config, Seed::new(5, 1)).expect("a sound cell");
    let mut delivered = vec![0; usize::from(stations)];
    // The tag says for whom it is.
    let send = |cell: &mut Cell, now, to: StationId| {
        let packet = Packet::new(u64::from(to.0), 1_400, now);
        cell.handle_packet(now, AP, Address::Station(to), packet);
    };
    for _ in 0..120 {
        (1..=stations).for_each(|to| send(&mut cell, Instant::ZERO, StationId(to)));
    }
    while let Some((at, _)) = cell.poll_timeout()
        && at <= Instant::ZERO + time
    {
        cell.handle_timeout(at);
        let mut gone = Vec::new();
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { station, .. } => {
                    delivered[station.index() - 1] += 1;
                    gone.push(station);
                }
                Output::Dropped { packet, .. } => gone.push(StationId(packet.tag as u16)),
                _ => {}
            }
        }
        gone.into_iter().for_each(|to| send(&mut cell, at, to));
    }
    delivered
}

/// Packets for stations in turn leave a queue in turn: each station gets the same number,
/// regardless of leftovers of A-MPDUs and retransmissions, its own or those of others.
#[test]
fn a_queue_starves_nobody() {
    let limit = Limit::Packets(2_000);
    let queues = [QueueConfig::DropTail { limit }, QueueConfig::RFC_8289];
    for queue in queues {
        for driver_queue in [DriverLimit::None, DriverLimit::Packets(100)] {
            for (stations, ampdu, loss) in [
                (2, 65_535, 0.0),
                (3, 65_535, 0.0),
                (4, 0, 0.3),
                (5, 16_000, 0.1),
                (8, 32_000, 0.0),
            ] {
                let rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
                let mut config = cell(usize::from(stations), rate, ChannelWidth::Mhz20, ampdu);
                config.change_links(|pair| pair.link.loss = Probability::new(loss));
                config.stations[0].queue = queue;
                config.stations[0].driver_queue = driver_queue;
                let each = delivered(&config, stations, Duration::from_secs(2));
                let mean = each.iter().sum::<u64>() / u64::from(stations);
                assert!(
                    each.iter().all(|one| one.abs_diff(mean) * 5 <= mean),
                    "{queue:?} {driver_queue:?}, {stations} stations, {loss}: {each:?}"
                );
            }
        }
    }
}

/// Stations without a Block Ack are asked in turn, between PPDUs for several stations: none returns
/// to the receivers of these sooner than others.
#[test]
fn block_ack_requests_go_round() {
    use super::ofdma::{ALL, ofdma};
    for acknowledgement in ALL {
        for loss in [0.1, 0.5] {
            for queue in [QueueConfig::RFC_8289, QueueConfig::MAC80211] {
                let mut config = ofdma(5, 3, 64, acknowledgement);
                config.stations[AP.index()].queue = queue;
                config.stations[AP.index()].ofdma.as_mut().expect("it has").stations_max = 4;
                assert_eq!(
                    config.stations[AP.index()].block_ack.request,
                    BlockAckRequestPolicy::AfterMissing
                );
                // Block Acks are lost, not data.
                config.change_links(|pair| {
                    if pair.from != AP {
                        pair.link.loss = Probability::new(loss);
                    }
                });
                let each = delivered(&config, 5, Duration::from_secs(5));
                let mean = each.iter().sum::<u64>() / 5;
                assert!(
                    each.iter().all(|one| one.abs_diff(mean) * 10 <= mean),
                    "{acknowledgement:?} {queue:?}, {loss}: {each:?}"
                );
            }
        }
    }
}
