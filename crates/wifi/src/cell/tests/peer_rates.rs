//! Fixed rates towards single peers, against ns-3's throughput of a whole cell at the same rate.

use super::*;
use crate::phy::{DsssRate, Preamble};

const FAST: StationId = StationId(1);
const SLOW: StationId = StationId(2);
/// Throughput in Mb/s of ns-3 for one saturated station at MCS 15 and MCS 1, 40 MHz, as above.
const NS3: [(StationId, f64); 2] = [(FAST, 255.6334), (SLOW, 27.4758)];

/// An access point at MCS 15, but at MCS 1 towards the slow one of two stations, which has both
/// rates, too.
fn two_rates() -> CellConfig {
    let width = ChannelWidth::Mhz40;
    let [fast, slow] = [15, 1].map(|index| mcs(index, width, GuardInterval::Short));
    let mut config = cell(2, fast, width, 65_535);
    for station in &mut config.stations {
        station.capabilities.rates = vec![slow, fast];
    }
    config.stations[AP.index()].peer_rates = vec![PeerRate { peer: SLOW, rate: slow }];
    config
}

#[test]
fn each_peer_has_the_throughput_of_its_rate() {
    let time = Duration::from_secs(2);
    for (peer, expected) in NS3 {
        let mut cell = Cell::new(&two_rates(), Seed::new(1, 0)).expect("a sound cell");
        let packets = saturate(&mut cell, &[(AP, Address::Station(peer))], time, 1500);
        let ratio = mbps(packets, 1472, time) / expected;
        assert!((ratio - 1.0).abs() < 0.01, "{peer:?}: ratio {ratio}");
    }
}

/// With equal airtime each of two stations has half of the throughput that it has alone.
#[test]
fn fair_airtime_halves_both() {
    let time = Duration::from_secs(4);
    let mut config = two_rates();
    config.stations[AP.index()].queue = QueueConfig::MAC80211;
    let each = super::turns::delivered(&config, 2, time);
    for ((peer, alone), packets) in NS3.into_iter().zip(each) {
        let ratio = mbps(packets, 1372, time) / (alone / 2.0);
        assert!((ratio - 1.0).abs() < 0.1, "{peer:?}: ratio {ratio}");
    }
}

/// A change of the fixed rate of all peers leaves that of one peer.
#[test]
fn a_change_for_all_leaves_the_rate_of_one() {
    let width = ChannelWidth::Mhz40;
    let time = Duration::from_secs(1);
    let mut cell = Cell::new(&two_rates(), Seed::new(1, 0)).expect("a sound cell");
    let slow = mcs(1, width, GuardInterval::Short);
    for (peer, packets_max) in [(SLOW, 3_000), (FAST, 3_000)] {
        cell.adjust(AP, Adjustment::Rate(mcs(15, width, GuardInterval::Short))).expect("it has it");
        if peer == FAST {
            cell.adjust(AP, Adjustment::Rate(slow)).expect("it has it");
        }
        let mut alone = cell.clone();
        let packets = saturate(&mut alone, &[(AP, Address::Station(peer))], time, 1500);
        assert!((1_000..packets_max).contains(&packets), "{peer:?}: {packets}");
    }
}

#[test]
fn a_rate_that_one_end_does_not_have_is_refused() {
    let unknown = Rate::Dsss { rate: DsssRate::Mbps11, preamble: Preamble::Long };
    for (peer, rate) in [(SLOW, unknown), (AP, unknown), (StationId(9), unknown)] {
        let mut config = two_rates();
        config.stations[AP.index()].peer_rates = vec![PeerRate { peer, rate }];
        let refused = Cell::new(&config, Seed::new(1, 0)).err();
        assert_eq!(refused, Some(CellError::PeerRate(AP.0, peer.0)));
    }
}
