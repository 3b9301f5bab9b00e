//! A-MPDUs that are built before the channel is won, against ath9k's source.

use super::*;
use alloc::collections::VecDeque;

/// Bits of an OFDM symbol of HT20, for MCS 0 to 7 (`bits_per_symbol` of ath9k).
const SYMBOL_BITS: [u32; 8] = [26, 52, 78, 104, 156, 208, 234, 260];

/// MPDUs of 1 538 bytes that ath9k puts into an A-MPDU of one stream and at most 4 096 us, up to
/// half the window (`ath_max_framelen`, `ath_update_max_aggr_framelen` and `ath_tx_form_aggr`).
fn ath9k_mpdus(mcs: u8) -> u32 {
    // L-STF, L-LTF, L-SIG, HT-SIG, HT-STF and an HT-LTF; four microseconds a symbol.
    let symbols = (4_096 - (8 + 8 + 4 + 8 + 4 + 4)) / 4;
    let limit = (symbols * SYMBOL_BITS[usize::from(mcs)] - 22) / 8;
    let (mut length, mut padding, mut mpdus) = (0, 0, 0);
    while mpdus == 0 || (mpdus < 32 && length + padding + 4 + 1_538 <= limit) {
        length += padding + 4 + 1_538;
        padding = (4 - length % 4) % 4;
        mpdus += 1;
    }
    mpdus
}

/// The longest A-MPDU is bound by 4 096 us, preamble included.
#[test]
fn an_mpdu_that_does_not_fit_begins_the_next() {
    let width = ChannelWidth::Mhz20;
    for index in 0..8 {
        let mut config = cell(1, mcs(index, width, GuardInterval::Long), width, 65_535);
        let access_point = &mut config.stations[AP.index()];
        access_point.queue = QueueConfig::MAC80211;
        access_point.aggregation.built_ahead = true;
        access_point.aggregation.ampdu_frames_max = 32;
        access_point.aggregation.ampdu_duration_max = Duration::from_micros(4_096);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let peer = Address::Station(StationId(1));
        let mut taken_max = 0;
        for step in 0..8_000_u64 {
            let now = Instant::ZERO + Duration::from_micros(100) * step;
            cell.handle_timeout(now);
            while cell.poll_output().is_some() {}
            cell.handle_packet(now, AP, peer, Packet::new(step, 1_500, now));
            let pending =
                cell.stations[AP.index()].pending(AccessCategory::BestEffort.index(), peer);
            taken_max = taken_max.max(pending.map_or(0, |pending| pending.len()));
        }
        let expected = ath9k_mpdus(index);
        let stats = cell.link_stats(AP, peer).expect("it sent");
        assert_eq!(stats.mpdus_per_ppdu.quantile(0.5), Some(expected), "MCS {index}");
        // Two A-MPDUs and one MPDU in `retry_q`.
        assert_eq!(taken_max, 2 * expected as usize + 1, "MCS {index}");
    }
}

/// The software queues of an access category of ath9k and its scheduler (`ath_txq_schedule` and its
/// callers up to Linux 4.10), without losses.
struct Driver {
    depth_max: usize,
    mpdus_max: usize,
    /// Stations with packets.
    list: VecDeque<u16>,
    packets: [usize; 11],
    hardware: VecDeque<u16>,
}

impl Driver {
    fn schedule(&mut self) {
        while let Some(first) = self.list.pop_front() {
            let stops = self.hardware.len() >= self.depth_max;
            let packets = &mut self.packets[usize::from(first)];
            if !stops {
                *packets -= self.mpdus_max.min(*packets);
                self.hardware.push_back(first);
            }
            if *packets > 0 {
                self.list.push_back(first);
            }
            if stops {
                break;
            }
        }
    }

    fn give(&mut self, station: u16) {
        self.packets[usize::from(station)] += 1;
        if !self.list.contains(&station) {
            self.list.push_back(station);
        }
        self.schedule();
    }

    fn complete(&mut self) {
        self.hardware.pop_front();
        self.schedule();
    }
}

/// The order of the stations is that of ath9k, for hardware queues of several depths, with and
/// without packets that come meanwhile.
#[test]
fn a_hardware_queue_is_for_all_stations() {
    let width = ChannelWidth::Mhz20;
    for (depth_max, comes) in [(1, 0), (2, 0), (2, 3), (2, 8), (4, 5)] {
        let mut config = cell(10, mcs(7, width, GuardInterval::Long), width, 65_535);
        let access_point = &mut config.stations[AP.index()];
        access_point.queue = QueueConfig::DropTail { limit: Limit::Packets(2_000) };
        access_point.aggregation.built_ahead = true;
        access_point.aggregation.hardware_ampdus = depth_max;
        access_point.aggregation.ampdu_frames_max = 8;
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let depth_max = depth_max.into();
        let (list, hardware) = (VecDeque::new(), VecDeque::new());
        let mut driver = Driver { depth_max, mpdus_max: 8, list, packets: [0; 11], hardware };
        let send = |cell: &mut Cell, now, to: u16| {
            let packet = Packet::new(u64::from(to), 1_400, now);
            cell.handle_packet(now, AP, Address::Station(StationId(to)), packet);
        };
        // Agreements are made before.
        for to in 1..=10 {
            let now = Instant::ZERO + Duration::from_millis(20) * u64::from(to);
            cell.handle_timeout(now);
            send(&mut cell, now, to);
        }
        let begin = Instant::ZERO + Duration::from_millis(400);
        cell.handle_timeout(begin);
        while cell.poll_output().is_some() {}
        for to in (0..400).map(|packet| 1 + packet % 10) {
            send(&mut cell, begin, to);
            driver.give(to);
        }
        let mut served = 0;
        while let Some((at, _)) = cell.poll_timeout()
            && at < begin + Duration::from_secs(1)
        {
            cell.handle_timeout(at);
            let mut gone = Vec::new();
            while let Some(output) = cell.poll_output() {
                let Output::Delivered { station, .. } = output else { panic!("{output:?}") };
                gone.push(station.0);
            }
            let Some(&first) = gone.first() else { continue };
            let expected = driver.hardware.front();
            assert_eq!(Some(&first), expected, "{depth_max}, {comes}: turn {served}");
            served += 1;
            for to in (0..comes).map(|packet| 1 + (served + packet) % 10) {
                send(&mut cell, at, to);
                driver.give(to);
            }
            // Its acknowledgement follows.
            driver.complete();
        }
        assert!(served >= 50, "{served}");
    }
}

/// Hardware may repeat an A-MPDU at every rate of its chain: 4 096 us at the slowest bound its
/// length (`ath_lookup_rate`). Behind MCS 7 Minstrel-HT has MCS 6; it ends the chain of MCS 15 with
/// MCS 7.
#[test]
fn the_slowest_rate_of_the_chain_bounds_an_ampdu() {
    let width = ChannelWidth::Mhz20;
    for (streams, expected) in [(1, ath9k_mpdus(6)), (2, ath9k_mpdus(7))] {
        let mut config = cell(1, mcs(7, width, GuardInterval::Long), width, 65_535);
        for station in &mut config.stations {
            station.capabilities.rates =
                Rate::all_ht(width, GuardInterval::Long, streams).collect::<Vec<_>>();
            station.rate_control = RateControlConfig::minstrel_ht();
        }
        let access_point = &mut config.stations[AP.index()];
        access_point.aggregation.built_ahead = true;
        access_point.aggregation.ampdu_frames_max = 32;
        access_point.aggregation.ampdu_duration_max = Duration::from_micros(4_096);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let peer = Address::Station(StationId(1));
        saturate(&mut cell, &[(AP, peer)], Duration::from_secs(2), 1_500);
        let stats = cell.link_stats(AP, peer).expect("it sent");
        assert_eq!(stats.mpdus_per_ppdu.quantile(0.5), Some(expected), "{streams} streams");
    }
}

/// The cycle of a saturated sender has AIFS, a backoff, a PPDU, SIFS and its Block Ack. A busy
/// driver lengthens it: AIFS and backoff pass meanwhile.
#[test]
fn a_busy_driver_leaves_a_gap() {
    let width = ChannelWidth::Mhz20;
    let time = Duration::from_secs(2);
    let peer = Address::Station(StationId(1));
    let rate = mcs(7, width, GuardInterval::Long);
    let cycle_us = |built_ahead, gap_us| {
        let mut config = cell(1, rate, width, 65_535);
        let access_point = &mut config.stations[AP.index()];
        access_point.aggregation.built_ahead = built_ahead;
        access_point.aggregation.ampdu_frames_max = 20;
        access_point.transmit_gap = Duration::from_micros(gap_us);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        saturate(&mut cell, &[(AP, peer)], time, 1_500);
        let stats = cell.link_stats(AP, peer).expect("it sent");
        time.as_secs_f64() * 1e6 / stats.ppdus as f64
    };
    let psdu_bytes = 20 * sizes::ampdu_subframe(1_538, 0) - 2;
    let ppdu = rate.ppdu_duration(psdu_bytes, Band::Ghz5).as_secs_f64() * 1e6;
    // The Block Ack of 32 bytes at 24 Mb/s.
    let exchange = ppdu + 16.0 + 32.0;
    for built_ahead in [false, true] {
        for (gap_us, pause) in [(0, 43.0 + 7.5 * 9.0), (450, 450.0)] {
            let ratio = cycle_us(built_ahead, gap_us) / (exchange + pause);
            assert!((ratio - 1.0).abs() < 0.003, "{built_ahead}, {gap_us} us: {ratio}");
        }
    }
}

/// Frames at rates before 802.11n are not aggregated (`ath_lookup_legacy` of ath9k), although the
/// two stations have an agreement.
#[test]
fn a_legacy_rate_does_not_aggregate() {
    let width = ChannelWidth::Mhz20;
    let peer = Address::Station(StationId(1));
    for built_ahead in [false, true] {
        let mut config = cell(1, mcs(7, width, GuardInterval::Long), width, 65_535);
        let access_point = &mut config.stations[AP.index()];
        let rate = Rate::Ofdm(crate::phy::OfdmRate::Mbps6);
        access_point.rate_control = RateControlConfig::Fixed { rate };
        access_point.aggregation.built_ahead = built_ahead;
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        saturate(&mut cell, &[(AP, peer)], Duration::from_secs(1), 100);
        let stats = cell.link_stats(AP, peer).expect("it sent");
        assert!(stats.ppdus > 1_000);
        assert_eq!(stats.mpdus, stats.ppdus);
    }
}
