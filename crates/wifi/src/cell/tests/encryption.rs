//! Octets of encryption, as in the kernel's `include/linux/ieee80211.h`: IEEE80211_CCMP_HDR_LEN 8,
//! IEEE80211_CCMP_MIC_LEN 8, IEEE80211_GCMP_HDR_LEN 8, IEEE80211_GCMP_MIC_LEN 16.

use super::*;
use crate::mac::sizes::Encryption;

const ALL: [(Encryption, u32); 3] =
    [(Encryption::None, 0), (Encryption::Ccmp, 8 + 8), (Encryption::Gcmp, 8 + 16)];
const PEER: Address = Address::Station(StationId(1));

fn encrypted(rate: Rate, width: ChannelWidth, ampdu: u32, encryption: Encryption) -> CellConfig {
    let mut config = cell(1, rate, width, ampdu);
    for station in &mut config.stations {
        station.capabilities.encryption = encryption;
    }
    config
}

/// MPDUs of 1538, 1554 and 1562 octets are subframes of 1544, 1560 and 1568: 42, 42 and 41 of them
/// fit into 65 535 octets.
#[test]
fn an_ampdu_has_fewer_mpdus() {
    let width = ChannelWidth::Mhz40;
    let rate = mcs(15, width, GuardInterval::Short);
    for ((encryption, octets), expected) in ALL.into_iter().zip([42, 42, 41]) {
        let config = encrypted(rate, width, 65_535, encryption);
        let overhead = config.stations[0].capabilities.mpdu_overhead();
        assert_eq!(overhead + 1500, 26 + 8 + 1500 + 4 + octets);
        assert_eq!(65_535 / (overhead + 1500 + 4).next_multiple_of(4), expected);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        saturate(&mut cell, &[(AP, PEER)], Duration::from_secs(1), 1500);
        let stats = cell.link_stats(AP, PEER).expect("it sent");
        assert_eq!(stats.mpdus_per_ppdu.quantile(0.5), Some(expected), "{encryption:?}");
    }
}

/// Without aggregation an exchange takes AIFS, a mean backoff of 7.5 slots, the PPDU, SIFS and the
/// Ack; only the PPDU becomes longer.
#[test]
fn an_exchange_takes_longer() {
    let time = Duration::from_secs(4);
    let rate = mcs(0, ChannelWidth::Mhz20, GuardInterval::Long);
    for (encryption, octets) in ALL {
        let config = encrypted(rate, ChannelWidth::Mhz20, 0, encryption);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let packets = saturate(&mut cell, &[(AP, PEER)], time, 1500) as f64;
        // 20 us of L-STF, L-LTF and L-SIG, 16 us of HT-SIG, HT-STF and HT-LTF, symbols of 4 us with
        // 26 bits, 22 of them service and tail.
        let bits = f64::from(22 + 8 * (1538 + octets));
        let ppdu_us = 36.0 + 4.0 * (bits / 26.0).ceil();
        let exchange_us = 16.0 + 3.0 * 9.0 + 7.5 * 9.0 + ppdu_us + 16.0 + 44.0;
        let ratio = time.as_secs_f64() * 1e6 / packets / exchange_us;
        assert!((ratio - 1.0).abs() < 0.003, "{encryption:?}: {ratio}");
    }
}
