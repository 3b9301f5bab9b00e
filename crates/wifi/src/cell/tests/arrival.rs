//! Delivery times of the MPDUs of an A-MPDU, judged by the bit rate; PPDUs on the air do not depend
//! on them.

use super::*;
use crate::phy::HeGuardInterval;
use alloc::collections::BTreeMap;
use lasthop_packet::DelayParts;

const STATION: StationId = StationId(1);

/// Delivered packets: the station and tag, the instant, the parts of the delay.
type Delivered = BTreeMap<(u16, u64), (Instant, DelayParts)>;

fn interrupted(mut config: CellConfig, rx_interrupt: RxInterrupt) -> CellConfig {
    config.stations.iter_mut().for_each(|station| station.rx_interrupt = rx_interrupt);
    config
}

/// Keeps 100 packets at each sender for 150 ms, more with windows of 256; also returns the counters
/// at the end.
fn deliver(
    config: &CellConfig,
    senders: &[(StationId, Address)],
    passive: bool,
) -> (Delivered, Vec<LinkStats>) {
    let end = Instant::ZERO + Duration::from_millis(150);
    let kept = if config.standard == Standard::Dot11ax { 400 } else { 100 };
    let mut cell = Cell::new(config, Seed::new(9, 0)).expect("a sound cell");
    let (mut delivered, mut tag, mut now) = (Delivered::new(), 0, Instant::ZERO);
    loop {
        for &(from, to) in senders {
            while cell.held_packets(from) < kept {
                // Alike in groups, and not.
                let step = if tag % 64 < 32 { tag % 5 } else { tag / 64 % 5 };
                let packet = Packet::new(tag, 1500 - step as u16 * 250, now);
                cell.handle_packet(now, from, to, Packet { passive, ..packet });
                tag += 1;
            }
        }
        match cell.poll_timeout() {
            Some((at, _)) if at <= end => now = at,
            _ => break,
        }
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { at, station, packet } = output {
                assert!(at <= now && (passive || at == now), "{at:?} put out at {now:?}");
                assert_eq!(packet.parts.total(), at - packet.created);
                delivered.insert((station.0, packet.tag), (at, packet.parts));
            }
        }
    }
    cell.take_arrived(end);
    while let Some(output) = cell.poll_output() {
        if let Output::Delivered { at, station, packet } = output {
            delivered.insert((station.0, packet.tag), (at, packet.parts));
        }
    }
    let stations = 0..config.stations.len() as u16;
    let pairs = stations.clone().flat_map(|from| stations.clone().map(move |to| (from, to)));
    let stats = pairs.filter_map(|(from, to)| {
        cell.link_stats(StationId(from), Address::Station(StationId(to))).cloned()
    });
    (delivered, stats.collect())
}

/// One station, many, some hidden from each other, losses of each kind, RTS, retry-out, A-MSDUs, a
/// start spacing, and windows of 256 MPDUs.
fn grid() -> Vec<(CellConfig, Vec<(StationId, Address)>)> {
    let fast = mcs(15, ChannelWidth::Mhz40, GuardInterval::Short);
    let slow = mcs(4, ChannelWidth::Mhz20, GuardInterval::Long);
    let uplink = |n: u16| (1..=n).map(|s| (StationId(s), Address::Station(AP))).collect::<Vec<_>>();
    let down = vec![(AP, Address::Station(STATION))];
    let lossy = |mut config: CellConfig| {
        config.change_links(|pair| pair.link.loss = Probability::new(0.2));
        config
    };
    let one = |rate: Rate, ampdu| cell(1, rate, rate.width(), ampdu);
    let mut spaced = one(fast, 30_000);
    let mut bundled = lossy(one(slow, 65_535));
    let mut asking = cell(4, slow, ChannelWidth::Mhz20, 20_000);
    let mut hidden = cell(4, slow, ChannelWidth::Mhz20, 16_000);
    let mut weak = cell(3, slow, ChannelWidth::Mhz20, 65_535);
    spaced.stations.iter_mut().for_each(|s| {
        s.aggregation.mpdu_start_spacing = Duration::from_micros(16);
    });
    bundled.stations.iter_mut().for_each(|s| s.aggregation.amsdu_bytes_max = 3_839);
    asking.stations.iter_mut().for_each(|s| s.rts_threshold = Some(1_000));
    hidden.change_links(|pair| {
        if pair.from != AP && pair.to != AP && (pair.from.0 + pair.to.0) % 2 == 1 {
            pair.link.snr = Db(-20.0);
        }
    });
    let he = |n| {
        let rate = Rate::he(9, 2, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x, false);
        let rate = rate.expect("it exists");
        let mut config = cell(n, rate, ChannelWidth::Mhz80, 65_535);
        config.standard = Standard::Dot11ax;
        for station in &mut config.stations {
            station.aggregation = Aggregation::from_capabilities(&station.capabilities);
        }
        config
    };
    let nearly = |mut config: CellConfig| {
        config.change_links(|pair| pair.link.loss = Probability::new(0.002));
        config
    };
    weak.change_links(|pair| {
        pair.link.snr = Db(17.5);
        pair.link.fading = crate::phy::Fading::Rayleigh { doppler_hz: 20.0 };
    });
    vec![
        (one(fast, 65_535), down.clone()),
        (one(slow, 65_535), [down.clone(), uplink(1)].concat()),
        (lossy(one(fast, 65_535)), down.clone()),
        (spaced, down.clone()),
        (bundled, down.clone()),
        (cell(10, fast, ChannelWidth::Mhz40, 65_535), uplink(10)),
        (lossy(asking), uplink(4)),
        (hidden.clone(), uplink(4)),
        (lossy(hidden), uplink(4)),
        (weak, uplink(3)),
        (he(1), down.clone()),
        (nearly(he(1)), [down.clone(), uplink(1)].concat()),
        (lossy(he(1)), down),
        (nearly(he(3)), uplink(3)),
    ]
}

#[test]
fn an_mpdu_is_handed_up_when_its_last_bit_is_in() {
    for (rate, spacing_us) in [
        (mcs(15, ChannelWidth::Mhz40, GuardInterval::Short), 0),
        (mcs(15, ChannelWidth::Mhz40, GuardInterval::Short), 60),
        (mcs(1, ChannelWidth::Mhz20, GuardInterval::Long), 0),
    ] {
        let mut config = cell(1, rate, rate.width(), 9_000);
        let spacing = Duration::from_micros(spacing_us);
        config.stations[AP.index()].aggregation.mpdu_start_spacing = spacing;
        for rx_interrupt in [RxInterrupt::Mpdu, RxInterrupt::Ppdu] {
            let config = interrupted(config.clone(), rx_interrupt);
            let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
            let to = Address::Station(STATION);
            // The first packet brings about the Block Ack agreement.
            cell.handle_packet(Instant::ZERO, AP, to, Packet::new(9, 100, Instant::ZERO));
            let start = Instant::ZERO + Duration::from_millis(20);
            cell.handle_timeout(start);
            while cell.poll_output().is_some() {}
            for tag in 0..3 {
                cell.handle_packet(start, AP, to, Packet::new(tag, 1462, start));
            }
            // The medium was idle; all three packets are there when the first
            // could be sent.
            cell.handle_timeout(start + Duration::from_millis(20));
            let mut at = Vec::new();
            while let Some(output) = cell.poll_output() {
                let Output::Delivered { at: when, .. } = output else { panic!("{output:?}") };
                at.push(when);
            }
            // A subframe: delimiter and 1 500 bytes.
            let bare = 1_504.0 * 8.0 / rate.bitrate().as_bps() as f64;
            let subframe = Duration::from_secs_f64(bare).max(spacing);
            let apart = [at[1] - at[0], at[2] - at[1]];
            let symbol = 8_000;
            match rx_interrupt {
                RxInterrupt::Ppdu | RxInterrupt::Held(_) => assert_eq!(apart, [Duration::ZERO; 2]),
                RxInterrupt::Mpdu => assert!(
                    apart.iter().all(|gap| gap.as_nanos().abs_diff(subframe.as_nanos()) < symbol),
                    "{apart:?}, not {subframe:?}"
                ),
            }
        }
    }
}

#[test]
fn when_mpdus_are_handed_up_changes_nothing_on_the_air() {
    for (case, (config, senders)) in grid().into_iter().enumerate() {
        let run =
            |rx_interrupt| deliver(&interrupted(config.clone(), rx_interrupt), &senders, false);
        let (by_mpdu, by_ppdu) = (run(RxInterrupt::Mpdu), run(RxInterrupt::Ppdu));
        assert!(by_mpdu.1 == by_ppdu.1, "case {case}");
        assert!(by_mpdu.0.len() > 100, "case {case}: {} packets", by_mpdu.0.len());
        let mut earlier = 0;
        for (packet, (at, _)) in by_ppdu.0 {
            let first = by_mpdu.0[&packet].0;
            assert!(first <= at, "case {case}: {packet:?} is later");
            earlier += usize::from(first < at);
        }
        assert!(earlier > by_mpdu.0.len() / 2, "case {case}: {earlier} are earlier");
    }
}

/// Passive packets cause no wake-up, and are delivered at the same instants.
#[test]
fn passive_packets_arrive_at_the_same_instants() {
    for (case, (config, senders)) in grid().into_iter().enumerate() {
        let config = interrupted(config, RxInterrupt::Mpdu);
        let [prompt, passive] = [false, true].map(|p| deliver(&config, &senders, p));
        assert!(prompt == passive, "case {case}");
    }
}

/// A loss that changes during an A-MPDU holds for the MPDUs whose last bits arrive later.
#[test]
fn a_loss_changes_during_an_a_mpdu() {
    let config =
        cell(1, mcs(7, ChannelWidth::Mhz20, GuardInterval::Long), ChannelWidth::Mhz20, 65_535);
    let link = config.links.link(AP, STATION).expect("a link");
    let mut delivered_before = 0;
    for step in 1..40 {
        let change = Instant::ZERO + Duration::from_micros(517) * step;
        let mut cell = Cell::new(&config, Seed::new(9, 0)).expect("a sound cell");
        let (mut is_changed, mut now) = (false, Instant::ZERO);
        for tag in 0..1_000 {
            cell.handle_packet(now, AP, Address::Station(STATION), Packet::new(tag, 1500, now));
        }
        while let Some((at, _)) = cell.poll_timeout() {
            if at > change && !is_changed {
                let loss = Some(Probability::ONE);
                cell.change_link(change, [AP, STATION], link.snr, loss, false)
                    .expect("it is as loud");
                is_changed = true;
            }
            now = at;
            if now > change + Duration::from_millis(20) {
                break;
            }
            cell.handle_timeout(now);
            while let Some(output) = cell.poll_output() {
                if let Output::Delivered { at, .. } = output {
                    assert!(at <= change, "delivered at {at:?}, all is lost since {change:?}");
                    delivered_before += 1;
                }
            }
        }
        assert!(is_changed);
    }
    assert!(delivered_before > 0);
}
