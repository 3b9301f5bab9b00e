//! Downlink OFDMA: PPDUs on the air against an account of each frame, written from the clauses
//! (27.3.11.8, 27.3.12, 27.4.3 and 9.3.1.22 of IEEE 802.11ax-2021; 17.4.3), to the nanosecond;
//! conservation of packets under any losses.

use super::*;
use crate::event::{Event, Frame, FrameKind, Ppdu};
use crate::phy::{HeGuardInterval, RuSize};
use lasthop_packet::DropReason;
use proptest::prelude::*;

const GI: HeGuardInterval = HeGuardInterval::Ns800Ltf2x;
pub(super) const ALL: [OfdmaAcknowledgement; 3] = [
    OfdmaAcknowledgement::BlockAckRequest,
    OfdmaAcknowledgement::MuBlockAckRequest,
    OfdmaAcknowledgement::Aggregated,
];

pub(super) fn he(mcs: u8, width: ChannelWidth) -> Rate {
    Rate::he(mcs, 1, width, GI, false).expect("a rate")
}

/// `stations` of 802.11ax at 80 MHz, up to `mpdus` in an A-MPDU.
pub(super) fn ofdma(
    stations: usize,
    mcs: u8,
    mpdus: u16,
    acknowledgement: OfdmaAcknowledgement,
) -> CellConfig {
    let width = ChannelWidth::Mhz80;
    let mut config = cell(stations, he(mcs, width), width, 6_500_631);
    config.standard = Standard::Dot11ax;
    config.beacon_interval = None;
    for station in &mut config.stations {
        station.aggregation.ampdu_frames_max = mpdus;
        station.block_ack.window = 256;
    }
    config.stations[AP.index()].queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
    config.stations[AP.index()].ofdma = Some(OfdmaConfig {
        stations_max: stations.max(2) as u8,
        acknowledgement,
        guard_interval: GI,
        uplink: None,
    });
    config
}

/// Sends the access point's packets to all stations in turn, `kept` for each, for `time`. Returns
/// the PPDUs, and the number of delivered packets.
pub(super) fn downlink(
    config: &CellConfig,
    kept: u32,
    bytes: u16,
    time: Duration,
) -> (Vec<Ppdu>, u64) {
    let config = CellConfig { record_events: true, ..config.clone() };
    let stations = config.stations.len() as u64 - 1;
    let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
    let (mut ppdus, mut delivered, mut now) = (Vec::new(), 0, Instant::ZERO);
    let mut held = alloc::vec![0u32; stations as usize + 1];
    let mut tag = 0;
    while now < Instant::ZERO + time {
        // In turn, so that the agreements are made one right after the other.
        while held[1..].iter().any(|&held| held < kept) {
            for station in (1..=stations as u16).filter(|&n| held[usize::from(n)] < kept) {
                let packet = Packet { flow_hash: station.into(), ..Packet::new(tag, bytes, now) };
                cell.handle_packet(now, AP, Address::Station(StationId(station)), packet);
                tag += 1;
            }
            held[1..].iter_mut().filter(|held| **held < kept).for_each(|held| *held += 1);
        }
        now = cell.poll_timeout().expect("it is never idle").0;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { station, .. } = output {
                held[station.index()] -= 1;
                delivered += 1;
            }
        }
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event {
                ppdus.push(ppdu);
            }
        }
    }
    (ppdus, delivered)
}

/// Symbols for `psdu_bytes` of 64-QAM 5/6 (or 2/3) with one stream on an RU with this many
/// data subcarriers; the code is convolutional up to 242 tones, with 6 tail bits.
pub(super) fn symbols(subcarriers: u64, in_six: u64, psdu_bytes: u64) -> u64 {
    let tail = if subcarriers <= 234 { 6 } else { 0 };
    (16 + 8 * psdu_bytes + tail).div_ceil(subcarriers * in_six)
}

/// Microseconds of an OFDM PPDU at 24 Mb/s.
pub(super) fn ofdm_24(bytes: u64) -> u64 {
    20 + 4 * (16 + 8 * bytes + 6).div_ceil(96)
}

/// Two, four and eight stations with three MPDUs of 1 538 bytes each: from the start of the
/// HE MU PPDU to each frame of the exchange, in nanoseconds.
#[test]
fn every_frame_begins_and_ends_when_the_clauses_say() {
    for (stations, size, subcarriers) in
        [(2, RuSize::Tones484, 468), (4, RuSize::Tones242, 234), (8, RuSize::Tones106, 102)]
    {
        for acknowledgement in ALL {
            let config = ofdma(stations, 7, 3, acknowledgement);
            let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_millis(50));
            // Two subframes of 1 544 bytes, a delimiter and an MPDU, and for a Trigger frame
            // of 37 bytes (24 + 4 + 9) padding, and another delimiter.
            let data = 2 * 1_544 + 4 + 1_538;
            let psdu = match acknowledgement {
                OfdmaAcknowledgement::Aggregated => data + 2 + 4 + 37,
                _ => data,
            };
            // L-STF to HE-SIG-A; one symbol of HE-SIG-B (27 bits, and 31 or 52 for one or two
            // stations in a content channel, 104 for four: up to 208); HE-STF; one HE-LTF.
            let header = 32_000 + 4_000 + 4_000 + 7_200;
            let ppdu = header + 13_600 * symbols(subcarriers, 5, psdu);
            let sifs = 16_000;
            let n = stations as u64;
            // A Block Ack of 256 bits has 56 bytes; trigger-based it has a delimiter, and is
            // sent at MCS 5 behind 32 us, HE-STF of 8 us and one HE-LTF of 8 us.
            let block_ack = 1_000 * ofdm_24(56);
            let triggered = 48_000 + 14_400 * symbols(subcarriers, 4, 60);
            let mut expected = alloc::vec![(0, ppdu)];
            let mut after = |begin: u64, last: u64| {
                expected.push((begin, begin + last));
                begin + last + sifs
            };
            match acknowledgement {
                OfdmaAcknowledgement::BlockAckRequest => {
                    let mut at = after(ppdu + sifs, block_ack);
                    for _ in 1..n {
                        at = after(at, 1_000 * ofdm_24(24));
                        at = after(at, block_ack);
                    }
                }
                OfdmaAcknowledgement::MuBlockAckRequest => {
                    let at = after(ppdu + sifs, 1_000 * ofdm_24(28 + 9 * n));
                    for _ in 0..n {
                        after(at, triggered);
                    }
                }
                OfdmaAcknowledgement::Aggregated => {
                    for _ in 0..n {
                        after(ppdu + sifs, triggered);
                    }
                }
            }
            let mut exchanges = 0;
            for (index, first) in ppdus.iter().enumerate() {
                // The first stations wait for the others' agreements.
                if first.psdus.len() < stations {
                    continue;
                }
                let Some(frames) = ppdus.get(index..index + expected.len()) else { break };
                let found: Vec<(u64, u64)> = frames
                    .iter()
                    .map(|ppdu| [ppdu.start, ppdu.end].map(|at| (at - first.start).as_nanos()))
                    .map(|[start, end]| (start, end))
                    .collect();
                assert_eq!(found, expected, "{stations} stations, {acknowledgement:?}");
                for psdu in &first.psdus {
                    assert_eq!(u64::from(psdu.bytes), psdu_of(acknowledgement, data));
                    assert_eq!(psdu.ru.map(|ru| ru.size()), Some(size));
                    assert!(psdu.aggregated && psdu.frames.iter().all(|frame| frame.received));
                }
                // AIFS of three slots, and the backoff.
                if let Some(next) = ppdus.get(index + expected.len()) {
                    let end = first.start + Duration::from_nanos(expected.last().expect("some").1);
                    let slots = (next.start - end).as_nanos() - 43_000;
                    assert!(slots.is_multiple_of(9_000) && slots <= 15 * 9_000);
                }
                // The Duration field covers all that follows.
                let rest = (expected.last().expect("some").1 - ppdu).div_ceil(1_000);
                assert_eq!(u64::from(first.psdus[0].frames[0].duration_us), rest);
                exchanges += 1;
            }
            assert!(exchanges > 10, "{exchanges}");
        }
    }
}

fn psdu_of(acknowledgement: OfdmaAcknowledgement, data: u64) -> u64 {
    match acknowledgement {
        OfdmaAcknowledgement::Aggregated => data + 43,
        _ => data,
    }
}

/// The stations take turns, and three share a PPDU for two if there are RUs for two.
#[test]
fn stations_take_turns() {
    let mut config = ofdma(5, 7, 4, OfdmaAcknowledgement::Aggregated);
    for (most, size) in [(2, 2), (3, 2), (4, 4), (5, 4), (74, 4)] {
        config.stations[AP.index()].ofdma.as_mut().expect("set above").stations_max = most;
        let (ppdus, _) = downlink(&config, 40, 1_500, Duration::from_millis(60));
        // Once there are agreements with all.
        let begun = |ppdu: &&Ppdu| ppdu.start > Instant::ZERO + Duration::from_millis(10);
        let together: Vec<_> =
            ppdus.iter().filter(begun).filter(|ppdu| ppdu.psdus.len() > 1).collect();
        assert!(together.len() > 20);
        let mut psdus = [0u32; 6];
        for ppdu in together {
            assert_eq!(ppdu.psdus.len(), size);
            for psdu in &ppdu.psdus {
                let Address::Station(station) = psdu.receiver else { panic!("it is a station") };
                psdus[station.index()] += 1;
            }
        }
        let (least, most) = (psdus[1..].iter().min(), psdus[1..].iter().max());
        assert!(most.copied() <= least.map(|least| least + 2), "{psdus:?}");
    }
}

/// No PSDU takes longer than A-MPDUs may, and shorter ones are padded.
#[test]
fn a_ppdu_keeps_to_its_limit() {
    for acknowledgement in ALL {
        for mcs in [0, 3, 11] {
            let mut config = ofdma(8, mcs, 256, acknowledgement);
            config.stations[AP.index()].aggregation.ampdu_duration_max = Duration::from_millis(4);
            let (ppdus, _) = downlink(&config, 400, 1_500, Duration::from_millis(200));
            let together = ppdus.iter().filter(|ppdu| ppdu.psdus.len() > 1);
            let longest = together.map(|ppdu| ppdu.end - ppdu.start).max().expect("some");
            assert!(longest <= Duration::from_millis(4), "MCS {mcs}: {longest}");
            // One MPDU more would have been too long: at MCS 0 1 538 bytes take 3.28 ms.
            let least = if mcs == 0 { 3_300 } else { 3_600 };
            assert!(longest > Duration::from_micros(least), "MCS {mcs}: {longest}");
        }
    }
}

/// With long A-MPDUs OFDMA is slower than one station at a time, and with one MPDU for each it is
/// faster; ns-3 3.37 has 313 Mb/s against 329 for four stations, and 163 against 49 for eight.
#[test]
fn ofdma_is_for_short_ppdus() {
    let time = Duration::from_millis(200);
    for (stations, bytes_max, kept, together_mbps, alone_mbps) in
        [(4, 6_500_631, 160, 313.0, 329.0), (8, 3_000, 8, 163.0, 49.0)]
    {
        let mut config = ofdma(stations, 7, 256, OfdmaAcknowledgement::Aggregated);
        config.stations[AP.index()].aggregation.ampdu_bytes_max = bytes_max;
        let rate = |config: &CellConfig| mbps(downlink(config, kept, 1_500, time).1, 1_472, time);
        let together = rate(&config);
        config.stations[AP.index()].ofdma = None;
        let alone = rate(&config);
        for (ours, theirs) in [(together, together_mbps), (alone, alone_mbps)] {
            let ratio = ours / theirs;
            assert!((ratio - 1.0).abs() < 0.05, "{stations} stations: {ours} Mb/s, {theirs}");
        }
    }
}

/// A station that does not answer is asked again; the MPDUs of the others are settled.
#[test]
fn a_missing_block_ack_is_one_stations_loss() {
    for acknowledgement in ALL {
        let mut config = ofdma(2, 7, 3, acknowledgement);
        // Of what station 2 sends, half is lost.
        config.change_links(|pair| {
            if pair.from == StationId(2) {
                pair.link.loss = Probability::new(0.5);
            }
        });
        let config = CellConfig { record_events: true, ..config };
        let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
        for tag in 0..600 {
            let to = Address::Station(StationId(1 + (tag % 2) as u16));
            cell.handle_packet(Instant::ZERO, AP, to, Packet::new(tag, 1_500, Instant::ZERO));
        }
        let mut seen = alloc::vec![0; 600];
        while let Some((at, _)) = cell.poll_timeout() {
            cell.handle_timeout(at);
            while let Some(output) = cell.poll_output() {
                match output {
                    Output::Delivered { packet, .. } => seen[packet.tag as usize] += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(seen.iter().all(|&times| times == 1));
        let [one, two] = [1, 2].map(|station| {
            cell.link_stats(AP, Address::Station(StationId(station))).expect("it sent").clone()
        });
        assert_eq!((one.mpdus_acked, two.mpdus_acked), (300, 300), "{acknowledgement:?}");
        // If the other is the first to answer and does not, this one is asked later.
        assert_eq!(one.mpdu_retries, 0, "{acknowledgement:?}");
        if acknowledgement != OfdmaAcknowledgement::BlockAckRequest {
            assert_eq!((one.mpdus_failed, one.block_ack_requests), (0, 0), "{acknowledgement:?}");
        }
        assert!(two.mpdus_failed > 30 && two.block_ack_requests > 10, "{two:?}");
    }
}

/// A station that a Trigger frame asks answers also if it decoded no MPDU, which is no success.
/// MPDUs lost four times are sent at the rate for 6 dB less, as to one station alone without an
/// answer.
#[test]
fn what_is_lost_again_and_again_is_sent_more_robustly() {
    let mut slower = 0;
    for acknowledgement in ALL {
        let mut config = ofdma(4, 7, 3, acknowledgement);
        config.change_links(|pair| pair.link.snr = Db(20.0));
        let (update_interval, deviation) = (Duration::from_millis(50), Db(3.0));
        let rates: Vec<Rate> = Rate::all_he(ChannelWidth::Mhz80, GI, 1).collect();
        for station in &mut config.stations {
            station.capabilities = crate::Capabilities::new(rates.clone(), true);
        }
        config.stations[AP.index()].rate_control =
            RateControlConfig::Firmware { update_interval, deviation };
        // As good as nothing is given up, which would begin a new chain.
        config.stations[AP.index()].retry_limit = 255;
        let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_secs(2));
        // By station: the PSDUs in a row of which nothing arrived, and the rate of the first.
        let mut lost = [(0, None); 5];
        for psdu in ppdus.iter().flat_map(|ppdu| &ppdu.psdus) {
            let Address::Station(station) = psdu.receiver else { continue };
            let is_data = |frame: &&Frame| matches!(frame.kind, FrameKind::QosData { .. });
            let mut data = psdu.frames.iter().filter(is_data).peekable();
            if station == AP || data.peek().is_none() {
                continue;
            }
            let (times, first) = &mut lost[station.index()];
            let rate = *first.get_or_insert(psdu.rate);
            if (4..20).contains(times) {
                assert!(psdu.rate.bitrate() < rate.bitrate(), "{acknowledgement:?} {psdu:?}");
                slower += 1;
            } else if *times == 0 {
                *first = Some(psdu.rate);
            }
            *times = if data.any(|frame| frame.received) { 0 } else { *times + 1 };
        }
    }
    assert!(slower > 10, "{slower}");
}

/// A Trigger frame names the stations that it asks, and their RUs.
#[test]
fn a_trigger_frame_names_its_stations() {
    let config = ofdma(4, 7, 3, OfdmaAcknowledgement::MuBlockAckRequest);
    let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_millis(20));
    let triggers: Vec<_> = ppdus
        .iter()
        .flat_map(|ppdu| &ppdu.psdus)
        .filter(|psdu| matches!(psdu.frames[0].kind, FrameKind::MuBlockAckRequest { .. }))
        .collect();
    assert!(triggers.len() > 10);
    let last = triggers[triggers.len() - 1];
    assert_eq!((last.receiver, last.bytes, last.aggregated), (Address::Group, 28 + 4 * 9, false));
    let frame = &last.frames[0];
    assert!(frame.received && frame.triggered.iter().all(|user| user.mcs == 5));
    let mut aids: Vec<_> = frame.triggered.iter().map(|user| user.aid).collect();
    aids.sort_unstable();
    assert_eq!(aids, [1, 2, 3, 4]);
}

#[test]
fn what_cannot_be() {
    let of = |change: fn(&mut CellConfig)| {
        let mut config = ofdma(2, 7, 3, OfdmaAcknowledgement::Aggregated);
        change(&mut config);
        Cell::new(&config, Seed::new(1, 0)).err()
    };
    assert_eq!(of(|_| {}), None);
    assert_eq!(
        of(|config| config.stations[1].ofdma = config.stations[0].ofdma),
        Some(CellError::StationSendsOfdma)
    );
    assert_eq!(
        of(|config| config.stations[0].aggregation.built_ahead = true),
        Some(CellError::OfdmaBuiltAhead)
    );
    assert_eq!(
        of(|config| {
            for station in &mut config.stations {
                station.capabilities.rates =
                    alloc::vec![mcs(7, ChannelWidth::Mhz20, GuardInterval::Long)];
            }
        }),
        Some(CellError::OfdmaWithoutHe)
    );
}

/// Stations of any kind, near and far.
pub(super) fn any_cell() -> impl Strategy<Value = CellConfig> {
    let station = (2.0..40.0f64, 0..3u8, any::<bool>(), 1..8u8);
    let stations = proptest::collection::vec(station, 2..=9);
    let access_point = (0..3usize, 2..=10u8, 1..=64u16, 0..3u8, any::<bool>());
    (stations, access_point, any::<bool>()).prop_map(|(stations, own, records)| {
        let (acknowledgement, stations_max, mpdus, queue, after_drop) = own;
        let mut config = ofdma(stations.len(), 5, mpdus, ALL[acknowledgement]);
        config.record_events = records;
        for (index, (snr, kind, per_mpdu, retries)) in (1..).zip(&stations) {
            config.change_links(|pair| {
                if pair.from == StationId(index) || pair.to == StationId(index) {
                    pair.link.snr = Db(*snr);
                }
            });
            let station = &mut config.stations[usize::from(index)];
            station.rx_interrupt = if *per_mpdu { RxInterrupt::Mpdu } else { RxInterrupt::Ppdu };
            station.retry_limit = *retries;
            // Some are of 802.11n, and are sent to alone.
            if *kind == 0 {
                let old = mcs(3, ChannelWidth::Mhz20, GuardInterval::Long);
                station.capabilities = Capabilities::new(alloc::vec![old], true);
                station.rate_control = RateControlConfig::Fixed { rate: old };
            }
        }
        let access_point = &mut config.stations[AP.index()];
        let old = Rate::all_ht(ChannelWidth::Mhz20, GuardInterval::Long, 1);
        let new = Rate::all_he(ChannelWidth::Mhz80, GI, 1);
        access_point.capabilities = Capabilities::new(old.chain(new).collect(), true);
        access_point.rate_control = RateControlConfig::ideal();
        access_point.retry_limit = 1 + stations_max % 7;
        access_point.ofdma.as_mut().expect("set above").stations_max = stations_max;
        access_point.queue = match queue {
            0 => QueueConfig::DropTail { limit: Limit::Packets(60) },
            1 => QueueConfig::MAC80211,
            _ => QueueConfig::RFC_8290,
        };
        if after_drop {
            access_point.block_ack.request = BlockAckRequestPolicy::AfterDrop;
        }
        config
    })
}

/// Every packet is delivered once or lost with a reason, and every MPDU that was on the air was
/// acknowledged or not. Each packet has its instant in microseconds, station, length in bytes, and
/// direction (uplink).
pub(super) fn add_up(
    config: &CellConfig,
    packets: &[(u64, u16, u16, bool)],
) -> Result<(), TestCaseError> {
    let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
    let count = config.stations.len() as u16;
    let mut seen = alloc::vec![0u32; packets.len()];
    let (mut sent, mut duplicates) = (alloc::vec![0u64; count.into()], 0);
    let mut arrivals: Vec<_> = packets.iter().enumerate().collect();
    arrivals.sort_by_key(|(_, (at, ..))| *at);
    let mut arrivals = arrivals.into_iter().peekable();
    loop {
        let next = arrivals
            .peek()
            .map_or(Instant::MAX, |(_, (us, ..))| Instant::ZERO + Duration::from_micros(*us));
        let due = cell.due();
        if due == Instant::MAX && next == Instant::MAX {
            break;
        }
        if next <= due {
            let (tag, (_, to, bytes, up)) = arrivals.next().expect("peeked");
            let peer = StationId(1 + to % (count - 1));
            let packet = Packet::new(tag as u64, *bytes, next);
            let (from, to) = if *up && to % 3 == 0 { (peer, AP) } else { (AP, peer) };
            cell.handle_packet(next, from, Address::Station(to), packet);
        } else {
            cell.handle_timeout(due);
        }
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { packet, .. } => seen[packet.tag as usize] += 1,
                Output::Dropped { packet, reason, .. } => {
                    seen[packet.tag as usize] += 1;
                    duplicates += u32::from(reason == DropReason::Duplicate);
                }
                other => panic!("{other:?}"),
            }
        }
        while let Some(event) = cell.poll_event() {
            let Event::Ppdu(ppdu) = event else { continue };
            for psdu in ppdu.psdus.iter().filter(|_| ppdu.transmitter == AP) {
                let Address::Station(to) = psdu.receiver else { continue };
                let is_data = |kind| matches!(kind, FrameKind::QosData { .. });
                let data = psdu.frames.iter().filter(|frame| is_data(frame.kind));
                sent[to.index()] += data.count() as u64;
            }
        }
    }
    prop_assert!(seen.iter().all(|&times| times == 1), "{:?}, {} duplicates", seen, duplicates);
    for station in 1..count {
        let Some(link) = cell.link_stats(AP, Address::Station(StationId(station))) else {
            continue;
        };
        if config.record_events {
            prop_assert_eq!(link.mpdus, sent[usize::from(station)]);
        }
        // A request may bring what the first Block Ack did not.
        prop_assert!(link.mpdus_failed <= link.mpdus);
        prop_assert!(link.mpdus_acked >= link.mpdus - link.mpdus_failed);
        prop_assert_eq!(cell.held_packets(AP), 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet is delivered once or lost with a reason, and every MPDU that was on the
    /// air was acknowledged or not.
    #[test]
    fn packets_and_mpdus_add_up(
        config in any_cell(),
        packets in proptest::collection::vec((0u64..20_000, 0u16..9, 40u16..1_500, any::<bool>()), 1..200),
    ) {
        add_up(&config, &packets)?;
    }
}
