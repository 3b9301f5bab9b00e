//! Tests of a cell against figures that others measured or derived.

mod ahead;
mod arrival;
mod away;
mod bandwidth;
mod bss;
mod devices;
mod doze;
mod encryption;
mod failure;
mod fingerprint;
mod firmware;
mod held_back;
mod l4s;
mod lone;
mod modes;
mod moving;
mod mu_mimo;
mod mu_mimo_eht;
mod narrow;
mod ofdma;
mod ofdma_eht;
mod offer;
mod operating_mode;
mod opportunity;
mod padding;
mod peer_rates;
mod puncturing;
mod response;
mod retry_out;
mod roam;
mod schedule;
mod service;
mod service_mpdus;
mod snr_changes;
mod spatial_reuse;
mod steer;
mod switch;
mod turns;
mod unlinked;
mod uplink;
mod waits;

use super::*;
use crate::mac::rate::RateControlConfig;
use crate::phy::{Band, ChannelWidth, GuardInterval, Propagation, Rate, Standard, Timing};
use alloc::vec;
use lasthop_packet::AccessCategory;
use lasthop_packet::queue::{DriverLimit, Limit, QueueConfig};
use lasthop_units::{Db, Dbm, Duration, Identity, Meters, Probability};

const AP: StationId = StationId(0);

pub(crate) fn mcs(mcs: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Rate {
    Rate::Ht { mcs, width, guard_interval }
}

/// ns-3's setting: best effort, AIFSN 3, CW 15 to 1023, no TXOP limit, 500 packets.
fn station(role: Role, rate: Rate, ampdu: u32) -> StationConfig {
    StationConfig {
        queue: QueueConfig::DropTail { limit: Limit::Packets(500) },
        aggregation: Aggregation { ampdu_bytes_max: ampdu, ..Aggregation::STANDARD },
        rx_interrupt: RxInterrupt::Ppdu,
        ..StationConfig::fixed(role, Identity::default(), rate)
    }
}

/// The access point in the middle, the stations on a circle of 1 m around it.
pub(crate) fn cell(stations: usize, rate: Rate, width: ChannelWidth, ampdu: u32) -> CellConfig {
    let propagation = Propagation::in_band(Band::Ghz5, width);
    let place = |station: u16| match station {
        0 => (0.0, 0.0),
        _ => {
            let angle = 2.0 * core::f64::consts::PI * f64::from(station) / stations as f64;
            (libm::cos(angle), libm::sin(angle))
        }
    };
    let mut links = Vec::new();
    for from in 0..=stations as u16 {
        for to in 0..=stations as u16 {
            if from != to {
                let ((x, y), (u, v)) = (place(from), place(to));
                let distance = Meters(libm::hypot(x - u, y - v));
                let link = propagation.link(Dbm(16.02), distance, Db(0.0));
                links.push(PairConfig::steady(StationId(from), StationId(to), link));
            }
        }
    }
    let mut all = vec![station(Role::AccessPoint, rate, ampdu)];
    all.resize(stations + 1, station(Role::Station, rate, ampdu));
    for (number, station) in (0..).zip(&mut all) {
        station.identity = Identity::numbered(number);
    }
    CellConfig::new(Standard::Dot11n, Band::Ghz5, all, links)
}

/// Runs saturated senders for `time` and returns the packets delivered.
fn saturate(cell: &mut Cell, senders: &[(StationId, Address)], time: Duration, bytes: u16) -> u64 {
    saturate_up_to(500, cell, senders, time, bytes)
}

/// Does the same with this many packets at each sender.
fn saturate_up_to(
    held: u32,
    cell: &mut Cell,
    senders: &[(StationId, Address)],
    time: Duration,
    bytes: u16,
) -> u64 {
    let end = Instant::ZERO + time;
    let mut delivered = 0;
    let mut tag = 0;
    let mut now = Instant::ZERO;
    for &(from, to) in senders {
        while cell.held_packets(from) < held {
            cell.handle_packet(now, from, to, Packet::new(tag, bytes, now));
            tag += 1;
        }
    }
    while let Some((at, _)) = cell.poll_timeout() {
        if at > end {
            break;
        }
        now = at;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { .. } = output {
                delivered += 1;
            }
        }
        while let Some(station) = cell.poll_space() {
            if let Some(&(from, to)) = senders.iter().find(|(from, _)| *from == station) {
                while cell.held_packets(from) < held {
                    cell.handle_packet(now, from, to, Packet::new(tag, bytes, now));
                    tag += 1;
                }
            }
        }
    }
    delivered
}

fn mbps(packets: u64, payload: u64, time: Duration) -> f64 {
    packets as f64 * payload as f64 * 8.0 / time.as_secs_f64() / 1e6
}

#[test]
fn one_saturated_station_is_as_fast_as_in_ns3() {
    let time = Duration::from_secs(4);
    for (index, ampdu, aggregate, expected) in [
        (15, 65_535, 42, 255.6334),
        (15, 0, 1, 49.3874),
        (9, 65_535, 26, 54.9138),
        (9, 32_767, 21, 54.4145),
        (1, 65_535, 13, 27.4758),
        (1, 0, 1, 19.3126),
    ] {
        let rate = mcs(index, ChannelWidth::Mhz40, GuardInterval::Short);
        let config = cell(1, rate, ChannelWidth::Mhz40, ampdu);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let peer = Address::Station(StationId(1));
        let packets = saturate(&mut cell, &[(AP, peer)], time, 1500);
        let ratio = mbps(packets, 1472, time) / expected;
        assert!((ratio - 1.0).abs() < 0.01, "MCS {index}, A-MPDU {ampdu}: ratio {ratio}");
        let stats = cell.link_stats(AP, peer).expect("it sent");
        assert_eq!(stats.mpdus_per_ppdu.quantile(0.5), Some(aggregate));
    }
}

/// Windows of 802.11ax and 802.11be: a PPDU has as many MPDUs as the smaller of two windows, within
/// the time that a Block Ack with that window's bitmap leaves.
#[test]
fn a_window_may_have_more_than_64_mpdus() {
    let rate = mcs(15, ChannelWidth::Mhz40, GuardInterval::Short);
    let time = Duration::from_secs(1);
    let peer = Address::Station(StationId(1));
    for (windows, mpdus, bitmap_bytes) in [
        ((64, 1_024), 64, 8),
        ((256, 256), 256, 32),
        ((1_024, 300), 300, 64),
        ((1_024, 600), 600, 128),
    ] {
        let mut config = cell(1, rate, ChannelWidth::Mhz40, 200_000);
        for (station, window) in config.stations.iter_mut().zip([windows.0, windows.1]) {
            station.capabilities.ampdu_bytes_max = 1_048_575;
            station.capabilities.block_ack_window_max = window;
            station.block_ack.window = window;
            station.aggregation.ampdu_frames_max = window;
            station.queue = QueueConfig::DropTail { limit: Limit::Packets(3_000) };
        }
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let delivered = saturate_up_to(3_000, &mut cell, &[(AP, peer)], time, 100);
        let stats = cell.link_stats(AP, peer).expect("it sent");
        assert_eq!(stats.mpdus_per_ppdu.quantile(0.5), Some(mpdus), "{windows:?}");
        assert_eq!(stats.mpdus_lost, 0);
        // AIFS and a backoff of 7.5 slots in the mean, PPDU, SIFS, Block Ack at 24 Mb/s.
        let psdu_bytes = mpdus * sizes::ampdu_subframe(sizes::mpdu(100, true), 0) - 2;
        let ppdu = rate.ppdu_duration(psdu_bytes, Band::Ghz5).as_secs_f64();
        let octets = 20.0 + f64::from(bitmap_bytes) + 4.0;
        let symbols = libm::ceil((22.0 + 8.0 * octets) / 96.0);
        let cycle = 43e-6 + 7.5 * 9e-6 + ppdu + 16e-6 + 20e-6 + 4e-6 * symbols;
        let ratio = delivered as f64 / (f64::from(mpdus) / cycle);
        assert!((ratio - 1.0).abs() < 0.01, "{windows:?}: {delivered} delivered, ratio {ratio}");
    }
}

/// The same over a link that loses every third MPDU: each packet is delivered, in order.
#[test]
fn a_wide_window_survives_losses() {
    let rate = mcs(15, ChannelWidth::Mhz40, GuardInterval::Short);
    let mut config = cell(1, rate, ChannelWidth::Mhz40, 200_000);
    for station in &mut config.stations {
        station.capabilities.ampdu_bytes_max = 1_048_575;
        station.capabilities.block_ack_window_max = 1_024;
        (station.block_ack.window, station.aggregation.ampdu_frames_max) = (1_024, 1_024);
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(6_000) };
        station.retry_limit = 30;
    }
    config.change_links(|pair| {
        pair.link.loss = Probability::new(0.3);
    });
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let peer = Address::Station(StationId(1));
    for tag in 0..6_000 {
        cell.handle_packet(Instant::ZERO, AP, peer, Packet::new(tag, 100, Instant::ZERO));
    }
    let mut delivered = Vec::new();
    let end = Instant::ZERO + Duration::from_secs(2);
    while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < end) {
        cell.handle_timeout(at);
        while let Some(output) = cell.poll_output() {
            let Output::Delivered { packet, .. } = output else { panic!("{output:?}") };
            delivered.push(packet.tag);
        }
    }
    assert_eq!(delivered, (0..6_000).collect::<Vec<u64>>());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    /// For any windows and capabilities of two stations, and any losses: each packet is delivered
    /// once and in order, or given up.
    #[test]
    fn windows_of_any_two_stations_fit(
        windows in (1u16..=1_024, 1u16..=1_024),
        capable in (0usize..4, 0usize..4),
        loss in 0.0f64..0.6,
        (retry_limit, retry_out, built_ahead, per_mpdu) in
            (1u8..12, proptest::bool::ANY, proptest::bool::ANY, proptest::bool::ANY),
        after_drop in proptest::bool::ANY,
    ) {
        let rate = mcs(15, ChannelWidth::Mhz40, GuardInterval::Short);
        let mut config = cell(1, rate, ChannelWidth::Mhz40, 1_000_000);
        let windows = [(windows.0, capable.0), (windows.1, capable.1)];
        for (station, (window, capable)) in config.stations.iter_mut().zip(windows) {
            station.capabilities.ampdu_bytes_max = [65_535, 1_048_575][capable % 2];
            station.capabilities.block_ack_window_max = [0, 64, 256, 1_024][capable];
            (station.block_ack.window, station.aggregation.ampdu_frames_max) = (window, window);
            station.aggregation.built_ahead = built_ahead;
            station.queue = QueueConfig::DropTail { limit: Limit::Packets(3_000) };
            station.retry_limit = retry_limit;
            station.pseudo_retry_out =
                retry_out.then_some(crate::mac::retry_out::RateTable::PAPER);
            station.rx_interrupt = if per_mpdu { RxInterrupt::Mpdu } else { RxInterrupt::Ppdu };
            if after_drop {
                station.block_ack.request = BlockAckRequestPolicy::AfterDrop;
            }
        }
        config.change_links(|pair| {
            pair.link.loss = Probability::new(loss);
        });
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let peer = Address::Station(StationId(1));
        let number = 2_000;
        for tag in 0..number {
            let mut packet = Packet::new(tag, 100, Instant::ZERO);
            packet.transport = lasthop_packet::Transport::Tcp;
            cell.handle_packet(Instant::ZERO, AP, peer, packet);
        }
        let (mut delivered, mut dropped) = (Vec::new(), 0);
        let end = Instant::ZERO + Duration::from_secs(60);
        while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at < end) {
            cell.handle_timeout(at);
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { packet, .. } => delivered.push(packet.tag),
                    Output::Dropped { .. } => dropped += 1,
                    _ => unreachable!("nobody overhears, and there is no group"),
                }
            }
            if cell.held_packets(AP) == 0 && delivered.len() + dropped >= number as usize {
                break;
            }
        }
        proptest::prop_assert!(delivered.is_sorted());
        proptest::prop_assert_eq!(delivered.len() + dropped, number as usize);
    }
}

/// A third of the packets is on the air, a third is in the next A-MPDU, and a third came later
/// (ath9k builds the next A-MPDU when one is done, before the socket is notified).
#[test]
fn what_is_built_ahead_divides_what_there_is() {
    let rate = mcs(15, ChannelWidth::Mhz40, GuardInterval::Short);
    let mut config = cell(1, rate, ChannelWidth::Mhz40, 65_535);
    for station in &mut config.stations {
        station.aggregation.built_ahead = true;
        station.aggregation.ampdu_frames_max = 32;
    }
    let peer = Address::Station(StationId(1));
    for (held, aggregate) in [(57, 19.0), (30, 10.0), (500, 32.0)] {
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        saturate_up_to(held, &mut cell, &[(AP, peer)], Duration::from_secs(1), 1500);
        let stats = cell.link_stats(AP, peer).expect("it sent");
        let mean = stats.mpdus as f64 / stats.ppdus as f64;
        assert!((mean / aggregate - 1.0).abs() < 0.03, "{held} held: {mean} in an A-MPDU");
    }
}

/// Losses change the A-MPDU of a packet, but lose no packet.
#[test]
fn what_is_built_ahead_survives_losses() {
    let rate = mcs(15, ChannelWidth::Mhz40, GuardInterval::Short);
    let mut config = cell(1, rate, ChannelWidth::Mhz40, 65_535);
    config.stations[AP.index()].aggregation.built_ahead = true;
    config.change_links(|pair| {
        pair.link.loss = Probability::new(0.3);
    });
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let time = Duration::from_secs(2);
    let peer = Address::Station(StationId(1));
    let delivered = saturate_up_to(100, &mut cell, &[(AP, peer)], time, 1500);
    assert!(delivered > 8_000, "it came to a halt after {delivered}");
}

/// QoS precedes 802.11n: the rates determine the elements of a beacon.
#[test]
fn only_cells_of_802_11n_have_its_elements_in_beacons() {
    use crate::phy::OfdmRate;
    let ht = mcs(0, ChannelWidth::Mhz20, GuardInterval::Long);
    for (rate, qos, bytes) in [
        (ht, true, sizes::BEACON + sizes::BEACON_HT),
        (ht, false, sizes::BEACON + sizes::BEACON_HT),
        (Rate::Ofdm(OfdmRate::Mbps24), true, sizes::BEACON),
        (Rate::Ofdm(OfdmRate::Mbps24), false, sizes::BEACON),
    ] {
        let mut config = cell(1, rate, ChannelWidth::Mhz20, 0);
        for station in &mut config.stations {
            station.capabilities = crate::Capabilities::new(vec![rate], qos);
        }
        let cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        assert_eq!(cell.settings.bss[0].beacon_bytes, bytes, "{rate:?}, qos {qos}");
    }
}

#[test]
fn contention_costs_what_it_costs_in_ns3() {
    let width = ChannelWidth::Mhz20;
    let rate = mcs(7, width, GuardInterval::Long);
    let time = Duration::from_secs(5);
    for (stations, expected) in [(2, 31.3677), (10, 28.6463)] {
        let config = cell(stations, rate, width, 0);
        let senders: Vec<_> =
            (1..=stations as u16).map(|s| (StationId(s), Address::Station(AP))).collect();
        let runs = (0..4).map(|run| {
            let mut cell = Cell::new(&config, Seed::new(1, run)).expect("a sound cell");
            mbps(saturate(&mut cell, &senders, time, 1500), 1472, time)
        });
        let ratio = runs.sum::<f64>() / 4.0 / expected;
        assert!((ratio - 1.0).abs() < 0.02, "{stations} stations: ratio {ratio}");
    }
}

/// If all stations hear each other and the links lose nothing, only RTS frames collide.
#[test]
fn what_was_never_sent_has_not_failed() {
    let width = ChannelWidth::Mhz20;
    for ampdu in [0, 65_535] {
        let mut config = cell(8, mcs(7, width, GuardInterval::Long), width, ampdu);
        config.capture_margin = None;
        config.stations.iter_mut().for_each(|station| station.rts_threshold = Some(0));
        config.change_links(|pair| pair.link.snr = Db(50.0));
        let senders: Vec<_> = (1..=8).map(|s| (StationId(s), Address::Station(AP))).collect();
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        saturate(&mut cell, &senders, Duration::from_secs(1), 1500);
        let mut vain = 0;
        for (station, peer) in senders {
            let link = cell.link_stats(station, peer).expect("it sent");
            vain += link.rts - link.ppdus;
            assert!(link.mpdus > 0);
            assert_eq!(link.mpdus_failed, 0, "of {} MPDUs sent", link.mpdus);
        }
        assert!(vain > 20, "only {vain} RTS were in vain");
    }
}

#[test]
fn parts_of_the_delay_add_up() {
    let width = ChannelWidth::Mhz20;
    let rate = mcs(7, width, GuardInterval::Long);
    let mut config = cell(3, rate, width, 65_535);
    config.change_links(|pair| {
        pair.link.loss = Probability::new(0.2);
    });
    let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
    let mut delivered = 0;
    for step in 0..4_000_u64 {
        let now = Instant::ZERO + Duration::from_micros(250) * step;
        cell.handle_timeout(now);
        let from = StationId((step % 3 + 1) as u16);
        cell.handle_packet(now, from, Address::Station(AP), Packet::new(step, 1000, now));
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { at, packet, .. } = output {
                assert_eq!(packet.parts.total(), at - packet.created);
                delivered += 1;
            }
        }
    }
    assert!(delivered > 3_500, "{delivered} of 4000 came through");
}

#[test]
fn airtime_is_fair_to_a_station_that_loses_much() {
    let width = ChannelWidth::Mhz20;
    let rate = mcs(7, width, GuardInterval::Long);
    let mut config = cell(3, rate, width, 65_535);
    let access_point = &mut config.stations[AP.index()];
    access_point.queue = QueueConfig::MAC80211;
    config.change_links(|pair| {
        if pair.from == StationId(2) || pair.to == StationId(2) {
            pair.link.loss = Probability::new(0.4);
        }
    });
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let peers = [1, 2, 3].map(|s| Address::Station(StationId(s)));
    let end = Instant::ZERO + Duration::from_secs(4);
    let mut under_way = [0; 3];
    let mut now = Instant::ZERO;
    while now < end {
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { packet, .. } | Output::Dropped { packet, .. } = output {
                under_way[packet.tag as usize] -= 1;
            }
        }
        for (index, peer) in peers.into_iter().enumerate() {
            while under_way[index] < 500 {
                let packet = Packet { flow_hash: 1, ..Packet::new(index as u64, 1500, now) };
                cell.handle_packet(now, AP, peer, packet);
                under_way[index] += 1;
            }
        }
        now = cell.poll_timeout().expect("it is never idle").0;
    }
    let airtime = peers
        .map(|peer| cell.link_stats(AP, peer).expect("it was served").data_airtime.as_secs_f64());
    let share = airtime[1] / airtime.iter().sum::<f64>();
    assert!((share - 1.0 / 3.0).abs() < 0.02, "the lossy station has {share} of the air time");
}

#[test]
fn half_the_width_has_half_the_noise() {
    let delivered = |width: ChannelWidth, snr: f64| {
        let rate = mcs(0, width, GuardInterval::Long);
        let mut config = cell(1, rate, ChannelWidth::Mhz40, 65_535);
        for station in &mut config.stations {
            station.capabilities.rates = [ChannelWidth::Mhz20, ChannelWidth::Mhz40]
                .map(|w| mcs(0, w, GuardInterval::Long))
                .to_vec();
        }
        config.change_links(|pair| {
            pair.link.snr = Db(snr);
        });
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        saturate(&mut cell, &[(StationId(1), Address::Station(AP))], Duration::from_secs(1), 1500)
    };
    // 1500 bytes need 3 to 4 dB.
    assert_eq!(delivered(ChannelWidth::Mhz40, 1.5), 0);
    assert!(delivered(ChannelWidth::Mhz20, 1.5) > 400);
    assert!(delivered(ChannelWidth::Mhz40, 4.5) > 800);
}

#[test]
fn what_is_built_ahead_of_an_empty_queue_is_sent() {
    let width = ChannelWidth::Mhz20;
    let mut config = cell(1, mcs(7, width, GuardInterval::Long), width, 65_535);
    let access_point = &mut config.stations[AP.index()];
    access_point.queue = QueueConfig::MAC80211;
    access_point.aggregation.built_ahead = true;
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let peer = Address::Station(StationId(1));
    for step in 0..100_u64 {
        let now = Instant::ZERO + Duration::from_millis(5) * step;
        cell.handle_timeout(now);
        while cell.poll_output().is_some() {}
        assert_eq!(cell.held_packets(AP), 0, "5 ms are enough for packet {step}");
        cell.handle_packet(now, AP, peer, Packet::new(step, 1000, now));
    }
}

/// In an independent cell stations send to each other, and a promiscuous one overhears the packets
/// that its link lets through; no other station is affected.
#[test]
fn a_third_station_overhears() {
    const PACKETS: u64 = 2_000;
    let width = ChannelWidth::Mhz20;
    let [sender, receiver, listener] = [1, 2, 3].map(StationId);
    let run = |promiscuous: bool| {
        let mut config = cell(3, mcs(1, width, GuardInterval::Long), width, 65_535);
        config.independent = true;
        config.stations[listener.index()].promiscuous = promiscuous;
        config.change_links(|pair| {
            let lossy = (pair.from, pair.to) == (sender, listener);
            pair.link.loss = Probability::new(if lossy { 0.3 } else { 0.0 });
        });
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let (mut delivered, mut overheard) = (Vec::new(), 0);
        for step in 0..PACKETS {
            let now = Instant::ZERO + Duration::from_millis(2) * step;
            cell.handle_timeout(now);
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { at, station, packet } => {
                        assert_eq!(station, receiver);
                        delivered.push((at, packet));
                    }
                    Output::Overheard { at, station, packet } => {
                        assert_eq!(station, listener);
                        assert_eq!(packet.tag, delivered.len() as u64, "before it is delivered");
                        assert!(at <= now);
                        overheard += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
            cell.handle_packet(
                now,
                sender,
                Address::Station(receiver),
                Packet::new(step, 1400, now),
            );
        }
        (delivered, overheard)
    };
    let (delivered, overheard) = run(true);
    assert_eq!(delivered.len() as u64, PACKETS - 1);
    let share = f64::from(overheard) / PACKETS as f64;
    assert!((share - 0.7).abs() < 0.03, "{share}");
    assert_eq!(run(false), (delivered, 0));
}
