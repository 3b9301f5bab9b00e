//! Devices of several links: closed forms of what their links carry, and random traffic of which
//! each packet arrives once and in order.

use super::bandwidth::{dynamic, vht};
use super::*;
use crate::mac::power_save::{PowerSaveConfig, Retrieval};
use crate::station::BssId;
use proptest::prelude::*;

const PEER: Address = Address::Station(StationId(1));

/// An access point and a client with a link on each of these channels: stations 0 and 1 are the
/// first link, 2 and 3 the second one, and so on.
fn devices(of: &[(u8, Rate)], mode: LinkMode, window: u16) -> CellConfig {
    let mut config = cell(2 * of.len() - 1, of[0].1, ChannelWidth::Mhz80, 1_048_575);
    config.standard = Standard::Dot11ac;
    config.beacon_interval = None;
    config.channels = dynamic(&of.iter().map(|(number, _)| *number).collect::<Vec<_>>());
    for (index, (station, number)) in config.stations.iter_mut().zip(0..).enumerate() {
        let role = if index % 2 == 0 { Role::AccessPoint } else { Role::Station };
        *station = super::station(role, of[index / 2].1, 1_048_575);
        station.bss = BssId(number / 2);
        station.identity = Identity::numbered(number.into());
        station.capabilities.ampdu_bytes_max = 1_048_575;
        station.capabilities.block_ack_window_max = window;
        station.block_ack.window = window;
        station.aggregation.ampdu_frames_max = window;
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(3_000) };
        station.retry_limit = 30;
        station.rx_interrupt = RxInterrupt::Mpdu;
    }
    config.change_links(|pair| pair.link.snr = Db(45.0));
    let link = |first: u16| (0..of.len() as u16).map(|n| StationId(2 * n + first)).collect();
    config.devices =
        vec![DeviceConfig::new(link(0), LinkMode::Simultaneous), DeviceConfig::new(link(1), mode)];
    config
}

fn goodput(config: &CellConfig, senders: &[(StationId, Address)], held: u32) -> f64 {
    // Long against what waits in a reorder buffer at the end.
    let time = Duration::from_secs(4);
    let mut cell = Cell::new(config, Seed::new(1, 0)).expect("a sound cell");
    mbps(saturate_up_to(held, &mut cell, senders, time, 1_500), 1_472, time)
}

/// Links that do not depend on each other carry what each carries alone, in either direction.
#[test]
fn two_links_carry_the_sum_of_each() {
    let (slow, fast) = (vht(3, ChannelWidth::Mhz20), vht(5, ChannelWidth::Mhz80));
    let both = [(36, slow), (100, fast)];
    for senders in [[(AP, PEER)], [(StationId(1), Address::Station(AP))]] {
        let mut sum = 0.0;
        for alone in both {
            let mut config = devices(&[alone, alone], LinkMode::Simultaneous, 1_024);
            config.devices.clear();
            sum += goodput(&config, &senders, 2_500);
        }
        let together = goodput(&devices(&both, LinkMode::Simultaneous, 1_024), &senders, 2_500);
        let ratio = together / sum;
        assert!((ratio - 1.0).abs() < 0.01, "{together} of {sum}: {ratio}");
    }
}

/// Without losses each MPDU is sent once, whether or not a driver acts on each.
#[test]
fn nothing_is_sent_twice_without_losses() {
    let (slow, fast) = (vht(3, ChannelWidth::Mhz20), vht(5, ChannelWidth::Mhz80));
    for (window, interrupt) in
        [(8, RxInterrupt::Mpdu), (64, RxInterrupt::Ppdu), (256, RxInterrupt::Mpdu)]
    {
        for mode in [LinkMode::Simultaneous, single_radio(64, 64)] {
            let mut config = devices(&[(36, slow), (100, fast)], mode, window);
            config.stations.iter_mut().for_each(|station| station.rx_interrupt = interrupt);
            let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
            saturate_up_to(1_200, &mut cell, &[(AP, PEER)], Duration::from_secs(1), 1_500);
            for [from, to] in [[0, 1], [2, 3]] {
                let stats = cell.link_stats(StationId(from), Address::Station(StationId(to)));
                let stats = stats.expect("it sent");
                assert_eq!((stats.mpdus_failed, stats.mpdu_retries), (0, 0), "{window}, {mode:?}");
            }
        }
    }
}

/// Recorded Block Acks name the MPDUs of their link's PPDU that arrived, in a bitmap as long as the
/// frame.
#[test]
fn block_acks_of_each_link_name_its_mpdus() {
    use crate::event::{Event, FrameKind};
    use lasthop_units::SeqNo12;
    let rate = vht(5, ChannelWidth::Mhz80);
    for (window, bits) in [(64, 64), (256, 256), (1_024, 1_024)] {
        let mut config = devices(&[(36, rate), (100, rate)], LinkMode::Simultaneous, window);
        config.record_events = true;
        config.change_links(|pair| pair.link.loss = Probability::new(0.1));
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        saturate_up_to(1_200, &mut cell, &[(AP, PEER)], Duration::from_millis(200), 1_500);
        let mut arrived: [Vec<SeqNo12>; 2] = Default::default();
        let mut seen = [0; 2];
        for event in core::iter::from_fn(move || cell.poll_event()) {
            let Event::Ppdu(ppdu) = event else { continue };
            let link = ppdu.transmitter.index() / 2;
            for frame in ppdu.frames() {
                match frame.kind {
                    FrameKind::QosData { .. } => {
                        arrived[link].extend(frame.received.then_some(frame.sequence));
                    }
                    FrameKind::BlockAck { start, bitmap, bits: of_frame, .. } => {
                        assert_eq!(u32::from(frame.bytes), sizes::block_ack(of_frame));
                        assert_eq!(of_frame, bits);
                        for number in arrived[link].drain(..) {
                            assert!(
                                number.is_before(start)
                                    || bitmap.contains(number.distance_from(start).into()),
                                "{number}"
                            );
                            seen[link] += 1;
                        }
                    }
                    _ => {}
                }
            }
        }
        assert!(seen.iter().all(|mpdus| *mpdus > 500), "{seen:?}");
    }
}

/// A packet that was lost is sent again at once, by any link, with any queue and no other packet.
#[test]
fn a_lost_packet_does_not_wait_for_another() {
    let rate = vht(5, ChannelWidth::Mhz80);
    for queue in [QueueConfig::DropTail { limit: Limit::Packets(100) }, QueueConfig::MAC80211] {
        for mode in [LinkMode::Simultaneous, LinkMode::Nonsimultaneous, single_radio(64, 64)] {
            let mut config = devices(&[(36, rate), (100, rate)], mode, 64);
            config.stations.iter_mut().for_each(|station| station.queue = queue);
            config.change_links(|pair| pair.link.loss = Probability::new(0.4));
            for (from, to) in [(AP, PEER), (StationId(1), Address::Station(AP))] {
                let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
                for number in 0..100 {
                    let at = Instant::ZERO + Duration::from_millis(100) * number;
                    cell.handle_timeout(at);
                    cell.handle_packet(at, from, to, Packet::new(number, 1_500, at));
                    while let Some((due, _)) = cell.poll_timeout() {
                        cell.handle_timeout(due);
                    }
                    let Some(Output::Delivered { at: arrived, .. }) = cell.poll_output() else {
                        panic!("packet {number} is lost: {mode:?}, {queue:?}");
                    };
                    assert!(arrived - at < Duration::from_millis(90), "{number}: {}", arrived - at);
                }
            }
        }
    }
}

/// Group frames take the first link, also between data, and arrive once.
#[test]
fn group_frames_take_the_first_link() {
    let rate = vht(3, ChannelWidth::Mhz20);
    let config = devices(&[(36, rate), (100, rate)], LinkMode::Simultaneous, 64);
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    for tag in 0..400 {
        let packet = Packet::new(tag, 1_500, Instant::ZERO);
        let to = if tag % 8 == 0 { Address::Group } else { PEER };
        cell.handle_packet(Instant::ZERO, AP, to, packet);
    }
    let (mut delivered, mut sent) = (Vec::new(), 0);
    while let Some((at, _)) = cell.poll_timeout() {
        cell.handle_timeout(at);
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { packet, .. } => delivered.push(packet.tag),
                Output::GroupSent { .. } => sent += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    delivered.sort_unstable();
    assert_eq!(delivered, (0..400).collect::<Vec<u64>>());
    assert_eq!(sent, 50);
    let on_second = cell.link_stats(StationId(2), Address::Group);
    assert!(on_second.is_none_or(|stats| stats.ppdus == 0));
    assert_eq!(cell.held_packets(AP), 0);
}

/// What is not modelled for several links is refused, not done to one of them; contention windows
/// are those of all.
#[test]
fn changes_are_made_to_all_links_or_refused() {
    let rate = vht(3, ChannelWidth::Mhz20);
    let config = devices(&[(36, rate), (100, rate)], LinkMode::Simultaneous, 64);
    let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let (now, laptop) = (Instant::ZERO, StationId(1));
    assert_eq!(cell.adjust(AP, Adjustment::Rate(rate)), Err(AdjustError::Device));
    assert_eq!(cell.change_failure(now, AP, true), Err(AdjustError::Device));
    assert_eq!(cell.change_scan(now, laptop, None), Err(AdjustError::Device));
    let changed = cell.change_link(now, [AP, laptop], Db(20.0), None, false);
    assert_eq!(changed, Err(AdjustError::Device));
    let access_category = AccessCategory::BestEffort;
    let windows = Adjustment::ContentionWindow { access_category, cw_min: 63, cw_max: 127 };
    cell.adjust(AP, windows).expect("sound windows");
    for link in [0, 2] {
        let access = cell.stations[link].config.access[access_category.index()];
        assert_eq!((access.cw_min, access.cw_max), (63, 127));
    }
}

/// A category that is mapped to the second link is not sent on the first, in either direction, and
/// what is mapped to neither alone takes both.
#[test]
fn a_mapping_keeps_a_category_on_its_links() {
    let rate = vht(3, ChannelWidth::Mhz20);
    for (from, to, links) in [(AP, PEER, [0, 2]), (StationId(1), Address::Station(AP), [1, 3])] {
        for (category, on_first) in [(AccessCategory::Voice, false), (AccessCategory::Video, true)]
        {
            let mut config = devices(&[(36, rate), (100, rate)], LinkMode::Simultaneous, 64);
            config.devices[1].mapping[AccessCategory::Voice.index()] = LinkSet::from_numbers([1]);
            let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
            for tag in 0..1_000 {
                let packet =
                    Packet { access_category: category, ..Packet::new(tag, 1_500, Instant::ZERO) };
                cell.handle_packet(Instant::ZERO, from, to, packet);
            }
            while let Some((at, _)) = cell.poll_timeout() {
                cell.handle_timeout(at);
            }
            let [first, second] = links.map(|link| {
                let other = Address::Station(StationId(link ^ 1));
                cell.link_stats(StationId(link), other).map_or(0, |stats| stats.mpdus_acked)
            });
            assert_eq!((first > 0, first + second), (on_first, 1_000), "{category:?}");
        }
    }
}

/// By load and by delay, a device leaves a link on which two others send all the time, but for
/// trials; without a choice it takes its part of it.
#[test]
fn a_choice_leaves_the_busy_link() {
    let rate = vht(3, ChannelWidth::Mhz20);
    let of = |choice| {
        // The third link becomes a set of its own, on the channel of the first one.
        let of = [(36, rate), (100, rate), (36, rate)];
        let mut config = devices(&of, LinkMode::Simultaneous, 64);
        config.devices.iter_mut().for_each(|device| device.links.truncate(2));
        config.devices[0].choice = choice;
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let time = Duration::from_secs(2);
        let others = (StationId(4), Address::Station(StationId(5)));
        saturate_up_to(300, &mut cell, &[others, (AP, PEER)], time, 1_500);
        let [first, second] = [(0, 1), (2, 3)].map(|(from, to)| {
            let to = Address::Station(StationId(to));
            cell.link_stats(StationId(from), to).map_or(0, |stats| stats.mpdus_acked)
        });
        first as f64 / (first + second) as f64
    };
    let [first, load, delay] = [LinkChoice::First, LinkChoice::Load, LinkChoice::Delay].map(of);
    assert!(first > 0.25, "{first}");
    assert!(load < 0.1 && delay < 0.1, "{load}, {delay}");
}

/// Counts that are set to zero do not change the choice.
#[test]
fn a_choice_by_load_does_not_depend_on_counts() {
    let rate = vht(3, ChannelWidth::Mhz20);
    let of = |clears: &[u64]| {
        let of = [(36, rate), (100, rate), (36, rate)];
        let mut config = devices(&of, LinkMode::Simultaneous, 64);
        config.devices.iter_mut().for_each(|device| device.links.truncate(2));
        config.devices[0].choice = LinkChoice::Load;
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let mut arrivals = Vec::new();
        for number in 0..3_000 {
            let at = Instant::ZERO + Duration::from_micros(200) * number;
            while let Some((due, _)) = cell.poll_timeout().filter(|(due, _)| *due < at) {
                cell.handle_timeout(due);
            }
            if clears.contains(&number) {
                cell.clear_stats(at);
            }
            let others = (StationId(4), Address::Station(StationId(5)));
            for (from, to) in [(AP, PEER), others] {
                cell.handle_packet(at, from, to, Packet::new(number, 1_000, at));
            }
            while let Some(output) = cell.poll_output() {
                if let Output::Delivered { at, packet, .. } = output {
                    arrivals.push((at, packet.tag));
                }
            }
        }
        arrivals
    };
    assert_eq!(of(&[]), of(&[300, 780, 1_290, 2_000]));
}

/// By delay, a device leaves a link on which nothing arrives any more, or never did.
#[test]
fn a_choice_by_delay_leaves_a_dead_link() {
    let rate = vht(3, ChannelWidth::Mhz20);
    for dead in [0, 2] {
        let mut config = devices(&[(36, rate), (100, rate)], LinkMode::Simultaneous, 64);
        config.devices[0].choice = LinkChoice::Delay;
        // The default: a Block Ack Request that is repeated holds the window.
        config.stations.iter_mut().for_each(|station| station.retry_limit = 7);
        config.change_links(|pair| {
            let is_dead = [pair.from.0, pair.to.0].contains(&dead);
            pair.link.loss = Probability::new(f64::from(u8::from(is_dead)));
        });
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let time = Duration::from_secs(2);
        let delivered = saturate_up_to(300, &mut cell, &[(AP, PEER)], time, 1_500);
        let mut alone = config.clone();
        alone.devices.clear();
        alone.change_links(|pair| pair.link.loss = Probability::new(0.0));
        let mut alone = Cell::new(&alone, Seed::new(1, 0)).expect("a sound cell");
        let most = saturate_up_to(300, &mut alone, &[(AP, PEER)], time, 1_500);
        assert!(delivered > most / 2, "{dead}: {delivered} of {most}");
    }
}

/// The second link of a device that saves power dozes while the first one suffices, and carries its
/// part of what the first one cannot.
#[test]
fn a_link_dozes_while_the_other_suffices() {
    let rate = vht(3, ChannelWidth::Mhz20);
    let of = |saves: bool, senders: &[(StationId, Address)], gap: Option<Duration>| {
        let mut config = devices(&[(36, rate), (100, rate)], LinkMode::Simultaneous, 64);
        config.beacon_interval = Some(Duration::from_micros(102_400));
        let idle = PowerSaveConfig::dynamic(Duration::from_millis(100), Retrieval::Wake);
        config.stations[3].power_save = saves.then_some(idle);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let time = Duration::from_secs(4);
        let delivered = match gap {
            None => saturate_up_to(300, &mut cell, senders, time, 1_500),
            Some(gap) => {
                for number in 0..time / gap {
                    let at = Instant::ZERO + gap * number;
                    while let Some((due, _)) = cell.poll_timeout().filter(|(due, _)| *due < at) {
                        cell.handle_timeout(due);
                    }
                    let (from, to) = senders[0];
                    cell.handle_packet(at, from, to, Packet::new(number, 1_500, at));
                }
                0
            }
        };
        let away = cell.station_stats(Instant::ZERO + time, StationId(3)).away;
        (delivered as f64, away.as_secs_f64() / time.as_secs_f64())
    };
    for sender in [(AP, PEER), (StationId(1), Address::Station(AP))] {
        let (_, asleep) = of(true, &[sender], Some(Duration::from_millis(20)));
        assert!(asleep > 0.9, "{asleep}");
        let ((saving, asleep), (awake, _)) =
            (of(true, &[sender], None), of(false, &[sender], None));
        // Until its first beacon it may doze.
        assert!(asleep < 0.1 && saving > 0.95 * awake, "{asleep}, {saving} of {awake}");
    }
}

/// One window serves all links: while a long PPDU is on the slow link, the fast one has no more
/// MPDUs than fit into the window.
#[test]
fn a_small_window_holds_the_fast_link_back() {
    let (slow, fast) = (vht(3, ChannelWidth::Mhz20), vht(5, ChannelWidth::Mhz80));
    let of = |window| {
        let config = devices(&[(36, slow), (100, fast)], LinkMode::Simultaneous, window);
        goodput(&config, &[(AP, PEER)], 2_500)
    };
    let (small, large) = (of(64), of(1_024));
    assert!(small < 0.8 * large, "{small} and {large}");
}

fn single_radio(padding: u64, transition: u64) -> LinkMode {
    let [padding, transition] = [padding, transition].map(Duration::from_micros);
    LinkMode::SingleRadio { padding, transition }
}

/// A single radio downstream, by its delays: each PPDU begins with an MU-RTS of 33 octets and the
/// padding, at 24 Mb/s, and a CTS. The backoff of the other link ends during the PPDU, so that it
/// begins when the radio is back.
#[test]
fn a_single_radio_pays_its_delays_downstream() {
    let rate = vht(5, ChannelWidth::Mhz80);
    let us = 1e-6;
    for (padding, transition) in [(0, 0), (64, 64), (256, 256), (32, 128)] {
        let config = devices(&[(36, rate), (100, rate)], single_radio(padding, transition), 256);
        let peer = config.devices[0].links.clone();
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let time = Duration::from_secs(4);
        let delivered = saturate_up_to(2_500, &mut cell, &[(AP, PEER)], time, 1_500);
        let sent = |link: &StationId| {
            let to = Address::Station(StationId(link.0 + 1));
            cell.link_stats(*link, to).expect("it sent").ppdus
        };
        let ppdus: u64 = peer.iter().map(sent).sum();
        let mpdus = delivered as f64 / ppdus as f64;
        let psdu_bytes = mpdus as u32 * sizes::ampdu_subframe(sizes::mpdu(1_500, true), 0);
        let ppdu = rate.ppdu_duration(psdu_bytes, Band::Ghz5).as_secs_f64();
        let ofdm_24 = |octets: f64| 20.0 * us + 4.0 * us * libm::ceil((22.0 + 8.0 * octets) / 96.0);
        let icf = ofdm_24(33.0 + 3.0 * padding as f64);
        let answers = 3.0 * 16.0 * us + ofdm_24(14.0) + ofdm_24(56.0);
        let cycle = transition as f64 * us + icf + answers + ppdu;
        let ratio = ppdus as f64 / time.as_secs_f64() * cycle;
        assert!((ratio - 1.0).abs() < 0.01, "{padding}, {transition}: {ratio}");
    }
}

/// A single radio never exchanges frames on two links at once, and carries about the mean of its
/// links, in turns.
#[test]
fn a_single_radio_takes_turns() {
    let (slow, fast) = (vht(3, ChannelWidth::Mhz20), vht(5, ChannelWidth::Mhz80));
    for senders in [[(AP, PEER)], [(StationId(1), Address::Station(AP))]] {
        let alone = |one| {
            let mut config = devices(&[one, one], LinkMode::Simultaneous, 1_024);
            config.devices.clear();
            goodput(&config, &senders, 2_500)
        };
        let mean = (alone((36, slow)) + alone((100, fast))) / 2.0;
        let config = devices(&[(36, slow), (100, fast)], single_radio(64, 64), 1_024);
        let ratio = goodput(&config, &senders, 2_500) / mean;
        assert!((0.85..1.05).contains(&ratio), "{ratio}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is lost on the links: each packet is delivered once and in order, or given up.
    #[test]
    fn packets_arrive_once_and_in_order(
        losses in (0.0f64..0.5, 0.0f64..0.5),
        window in prop::sample::select(vec![1u16, 4, 64, 256, 1_024]),
        retry_limit in 1u8..12,
        number in 1u64..1_500,
        (up, passive) in any::<(bool, bool)>(),
        links in 2usize..4,
        mode in prop::sample::select(vec![
            LinkMode::Simultaneous,
            LinkMode::Nonsimultaneous,
            single_radio(0, 0),
            single_radio(128, 256),
        ]),
        choice in prop::sample::select(vec![
            LinkChoice::First,
            LinkChoice::Load,
            LinkChoice::Delay,
        ]),
        asks in any::<bool>(),
        switched in prop::option::of((0u64..50, 0u64..50, any::<bool>())),
        dozes in prop::option::of((
            10u64..200,
            prop::sample::select(vec![Retrieval::PsPoll, Retrieval::Wake]),
        )),
        late in 0u64..1_000,
    ) {
        let rate = vht(3, ChannelWidth::Mhz20);
        let of = [(36, rate), (100, vht(5, ChannelWidth::Mhz80)), (149, rate)];
        let mut config = devices(&of[..links], mode, window);
        for station in &mut config.stations {
            station.retry_limit = retry_limit;
            if asks {
                station.block_ack.request = BlockAckRequestPolicy::AfterMissing;
            }
        }
        config.devices.iter_mut().for_each(|device| device.choice = choice);
        if let Some((idle, retrieval)) = dozes {
            config.beacon_interval = Some(Duration::from_micros(102_400));
            let saves = PowerSaveConfig::dynamic(Duration::from_millis(idle), retrieval);
            for link in &config.devices[1].links[1..] {
                config.stations[link.index()].power_save = Some(saves);
            }
        }
        config.change_links(|pair| {
            let loss = if pair.from.0 < 2 { losses.0 } else { losses.1 };
            pair.link.loss = Probability::new(loss);
        });
        let (from, to) = if up { (StationId(1), Address::Station(AP)) } else { (AP, PEER) };
        let receiver = if up { AP } else { StationId(1) };
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let hand_over = |cell: &mut Cell, at: Instant, tags: core::ops::Range<u64>| {
            for tag in tags {
                let packet = Packet { passive, ..Packet::new(tag, 100, at) };
                cell.handle_packet(at, from, to, packet);
            }
        };
        hand_over(&mut cell, Instant::ZERO, 0..number / 2);
        // The rest comes when links may doze.
        let late = Instant::ZERO + Duration::from_millis(late);
        let mut is_whole = false;
        let (mut delivered, mut dropped) = (Vec::new(), 0);
        let end = Instant::ZERO + Duration::from_secs(60);
        let mut switches: Vec<(Instant, StationId, LinkSet)> = Vec::new();
        if let Some((off, on, by_access_point)) = switched {
            let device = if by_access_point { AP } else { StationId(1) };
            let at = |ms| Instant::ZERO + Duration::from_millis(ms);
            let second = LinkSet::from_numbers([1]);
            switches.extend([(at(off), device, second), (at(off + on), device, LinkSet::NONE)]);
        }
        loop {
            let next = cell.poll_timeout().map(|(at, _)| at).filter(|at| *at < end);
            let is_before = |when: Instant| next.is_none_or(|at| when <= at);
            let switch = switches.first().copied();
            if let Some((when, device, off)) = switch.filter(|it| is_before(it.0))
                && (is_whole || when <= late)
            {
                switches.remove(0);
                cell.switch_links(when, device, off).expect("the first link stays on");
                continue;
            }
            if !is_whole && is_before(late) {
                is_whole = true;
                hand_over(&mut cell, late, number / 2..number);
                continue;
            }
            let Some(at) = next else { break };
            cell.handle_timeout(at);
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { packet, station, .. } => {
                        prop_assert_eq!(station, receiver);
                        delivered.push(packet.tag);
                    }
                    Output::Dropped { .. } => dropped += 1,
                    _ => unreachable!("nobody overhears, and there is no group"),
                }
            }
            if cell.held_packets(from) == 0 && delivered.len() + dropped >= number as usize {
                break;
            }
        }
        prop_assert!(delivered.is_sorted());
        prop_assert_eq!(delivered.len() + dropped, number as usize);
        prop_assert_eq!(cell.held_packets(from), 0);
    }
}
