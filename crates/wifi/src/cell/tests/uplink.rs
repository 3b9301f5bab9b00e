//! Uplink OFDMA: PPDUs on the air against an account of each frame, written from the clauses
//! (27.3.12, 27.4.3, 9.3.1.22 and 9.3.1.8.6 of IEEE 802.11ax-2021; 17.4.3), to the nanosecond; MU
//! EDCA; conservation of packets under any losses.

use super::ofdma::{ofdm_24, ofdma, symbols};
use super::*;
use crate::event::{Event, FrameKind, Ppdu};
use crate::phy::RuSize;
use proptest::prelude::*;

const TIMER: Duration = Duration::from_nanos(8_192_000 * 255);

/// MU EDCA parameters of all categories without access, for the longest timer.
const SILENT: [Option<MuEdcaParameters>; 4] =
    [Some(MuEdcaParameters { aifsn: 0, cw_min: 15, cw_max: 1_023, timer: TIMER }); 4];

/// The cell of [`ofdma`] with an access point that solicits the stations.
pub(super) fn uplink(stations: usize, mcs: u8, mpdus: u16, config: UplinkConfig) -> CellConfig {
    let mut cell = ofdma(stations, mcs, mpdus, OfdmaAcknowledgement::MuBlockAckRequest);
    for station in &mut cell.stations {
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
    }
    cell.stations[AP.index()].ofdma.as_mut().expect("set").uplink = Some(config);
    cell
}

/// Sends packets of `bytes` from all stations, `kept` at each, and `down` to each, for `time`.
/// Returns the PPDUs, and the numbers of packets delivered up and down.
pub(super) fn run(
    config: &CellConfig,
    (kept, down): (u32, u32),
    bytes: u16,
    time: Duration,
) -> (Vec<Ppdu>, (u64, u64)) {
    let config = CellConfig { record_events: true, ..config.clone() };
    let stations = config.stations.len() as u16 - 1;
    let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
    let (mut ppdus, mut delivered, mut now) = (Vec::new(), (0, 0), Instant::ZERO);
    let mut held = alloc::vec![(0u32, 0u32); usize::from(stations) + 1];
    let mut tag = 0;
    while now < Instant::ZERO + time {
        // In turn, so that the agreements are made one right after the other.
        while held[1..].iter().any(|held| held.0 < kept || held.1 < down) {
            for station in 1..=stations {
                let (of_station, of_ap) = &mut held[usize::from(station)];
                for (held, most, from, to) in [
                    (of_station, kept, StationId(station), AP),
                    (of_ap, down, AP, StationId(station)),
                ] {
                    if *held < most {
                        let packet = Packet::new(tag, bytes, now);
                        let packet = Packet { flow_hash: station.into(), ..packet };
                        cell.handle_packet(now, from, Address::Station(to), packet);
                        (tag, *held) = (tag + 1, *held + 1);
                    }
                }
            }
        }
        now = cell.poll_timeout().expect("it is never idle").0;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { station: AP, packet, .. } => {
                    held[packet.flow_hash as usize].0 -= 1;
                    delivered.0 += 1;
                }
                Output::Delivered { station, .. } => {
                    held[station.index()].1 -= 1;
                    delivered.1 += 1;
                }
                other => panic!("{other:?}"),
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

/// A configuration in which stations send only answers to Trigger frames after their first data.
pub(super) fn silent(buffer_reports: Option<Duration>) -> UplinkConfig {
    UplinkConfig { buffer_reports, mu_edca: SILENT }
}

/// Two, four and eight stations at MCS 7, by the packets that they hold: the times from the first
/// Trigger frame of an exchange to each of its frames, in nanoseconds.
#[test]
fn every_frame_begins_and_ends_when_the_clauses_say() {
    let sifs = 16_000;
    for (stations, size, subcarriers, mpdus_max) in [
        (2, RuSize::Tones484, 468, 71),
        (4, RuSize::Tones242, 234, 35),
        (8, RuSize::Tones106, 102, 15),
    ] {
        let n = stations as u64;
        // L-STF to HE-SIG-A of a trigger-based PPDU 36 us less 4, HE-STF of 8 us, one HE-LTF of
        // 8 us; symbols of 14.4 us.
        let triggered = |symbols: u64| 48_000 + 14_400 * symbols;
        let basic = 1_000 * ofdm_24(28 + 6 * n);
        let block_ack = 1_000 * ofdm_24(22 + 36 * n);
        // A long backlog: the longest PPDU of up to 5.484 ms, 377 symbols.
        let long = [basic, triggered(377), block_ack].to_vec();
        // Four MPDUs of 1 538 bytes: 6 032 bytes of MSDUs, of which Queue Size says 6 144, which
        // is five by the mean length of the last ones: 7 720 bytes. Ahead of them are QoS Null
        // frames of 30 bytes for four categories at MCS 5, with delimiters 142 bytes.
        let poll = 1_000 * ofdm_24(28 + 5 * n);
        let nulls = triggered(symbols(subcarriers, 4, 142));
        let data = triggered(symbols(subcarriers, 5, 7_720));
        let short = [poll, nulls, basic, data, block_ack].to_vec();
        for (kept, config, durations, mpdus) in [
            (600, silent(None), long, mpdus_max),
            (4, silent(Some(Duration::from_millis(3))), short, 4),
        ] {
            let config = uplink(stations, 7, 256, config);
            let (ppdus, _) = run(&config, (kept, 0), 1_500, Duration::from_millis(400));
            let (mut exchanges, mut data_bytes) = (0, 0);
            for (index, first) in ppdus.iter().enumerate() {
                let users = first.psdus[0].frames[0].triggered.len();
                let begins = match first.psdus[0].frames[0].kind {
                    FrameKind::BufferStatusReportPoll { .. } => durations.len() == 5,
                    FrameKind::BasicTrigger { .. } => durations.len() == 3,
                    _ => false,
                };
                if !begins || first.psdus[0].collided {
                    continue;
                }
                // Those that stations send together are as many PPDUs.
                let mut expected = Vec::new();
                let mut at = 0;
                for (place, &duration) in durations.iter().enumerate() {
                    let count = if place % 2 == 1 { stations } else { 1 };
                    expected.extend(core::iter::repeat_n((at, at + duration), count));
                    at += duration + sifs;
                }
                let Some(frames) = ppdus.get(index..index + expected.len()) else { break };
                let asked = |ppdu: &Ppdu| ppdu.psdus[0].frames[0].triggered.len();
                // While some have no agreement yet, or have sent all, fewer are asked.
                let number = frames.iter().map(asked).filter(|&asked| asked > 0).min();
                if users < stations || number < Some(stations) {
                    continue;
                }
                // After a collision a station asks for a Block Ack first.
                let is_data = |kind| matches!(kind, FrameKind::QosData { .. });
                let answers = &frames[frames.len() - 1 - stations..frames.len() - 1];
                if !answers.iter().all(|answer| is_data(answer.psdus[0].frames[0].kind)) {
                    continue;
                }
                let found: Vec<(u64, u64)> = frames
                    .iter()
                    .map(|ppdu| [ppdu.start, ppdu.end].map(|at| (at - first.start).as_nanos()))
                    .map(|[start, end]| (start, end))
                    .collect();
                assert_eq!(found, expected, "{stations} stations, {kept} packets");
                let last = frames.last().expect("some");
                let records = &last.psdus[0].frames[0];
                assert_eq!(records.acknowledged.len(), stations);
                assert_eq!(u64::from(last.psdus[0].bytes), 22 + 36 * n);
                assert_eq!(records.duration_us, 0);
                for answer in answers {
                    let psdu = &answer.psdus[0];
                    assert_eq!(psdu.ru.map(|ru| ru.size()), Some(size));
                    assert_eq!(psdu.frames.len(), mpdus);
                    assert!(psdu.aggregated && psdu.frames.iter().all(|frame| frame.received));
                    let rest = (sifs + block_ack).div_ceil(1_000);
                    assert_eq!(u64::from(psdu.frames[0].duration_us), rest);
                    data_bytes += u64::from(psdu.bytes);
                }
                // The Duration field of the Basic Trigger frame covers what follows it.
                let trigger = &frames[frames.len() - 2 - stations];
                let rest = (last.end - trigger.end).as_nanos().div_ceil(1_000);
                assert_eq!(u64::from(trigger.psdus[0].frames[0].duration_us), rest);
                if let Some(next) = ppdus.get(index + expected.len()) {
                    let slots = (next.start - last.end).as_nanos() - 43_000;
                    assert!(kept == 4 || slots.is_multiple_of(9_000) && slots <= 15 * 9_000);
                }
                exchanges += 1;
            }
            assert!(exchanges > 10, "{stations} stations, {kept} packets: {exchanges}");
            assert!(data_bytes > 0);
        }
    }
}

/// The last QoS Data frame of a PPDU reports the backlog behind it.
#[test]
fn queue_size_is_what_lies_behind() {
    let config = uplink(2, 7, 8, UplinkConfig { buffer_reports: None, mu_edca: [None; 4] });
    let (ppdus, _) = run(&config, (20, 0), 1_500, Duration::from_millis(40));
    let mut seen = 0;
    for psdu in ppdus.iter().flat_map(|ppdu| &ppdu.psdus) {
        let data =
            psdu.frames.iter().filter(|frame| matches!(frame.kind, FrameKind::QosData { .. }));
        for (place, frame) in data.enumerate() {
            let size = frame.queue_size.expect("it is said");
            let behind = 1_508 * (20 - 1 - place as u64);
            // In this range sizes are in units of 256 bytes from 1 024 on, or 2 048 from 17 408.
            let (least, unit, scale) = match behind {
                0..=17_152 => (1_024, 256, 1),
                _ => (17_408, 2_048, 2),
            };
            let units = (behind - least).div_ceil(unit) as u8;
            assert_eq!((size.tid, size.code), (0, scale << 6 | units), "MPDU {place}");
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

/// With AIFSN 0 a station is silent until the timer ends, and contends by EDCA right then.
#[test]
fn mu_edca_keeps_a_station_silent() {
    let timer = Duration::from_nanos(8_192_000);
    let parameters = MuEdcaParameters { aifsn: 0, cw_min: 15, cw_max: 1_023, timer };
    let config = UplinkConfig {
        buffer_reports: Some(Duration::from_millis(20)),
        mu_edca: [Some(parameters); 4],
    };
    let (ppdus, _) = run(&uplink(1, 7, 256, config), (4, 0), 1_500, Duration::from_secs(1));
    let mut ends = 0;
    for (index, ack) in ppdus.iter().enumerate() {
        if ack.psdus[0].frames[0].kind != FrameKind::MultiStationBlockAck {
            continue;
        }
        let from_station = |ppdu: &&Ppdu| ppdu.transmitter != AP;
        let Some(next) = ppdus[index + 1..].iter().find(from_station) else { break };
        // AIFS is over: the medium is idle.
        let waited = (next.start - ack.end - timer).as_nanos();
        assert!(waited.is_multiple_of(9_000) && waited <= 15 * 9_000, "{waited}");
        ends += 1;
    }
    assert!(ends > 30, "{ends}");
}

/// With a longer AIFS the station waits for it as long as the timer runs, and no longer.
#[test]
fn mu_edca_makes_a_station_wait_longer() {
    let timer = Duration::from_nanos(8_192_000);
    let parameters = MuEdcaParameters { aifsn: 15, cw_min: 0, cw_max: 0, timer };
    let config = UplinkConfig {
        buffer_reports: Some(Duration::from_millis(20)),
        mu_edca: [Some(parameters); 4],
    };
    let (ppdus, _) = run(&uplink(1, 7, 256, config), (4, 0), 1_500, Duration::from_secs(1));
    let (mut until, mut counts) = (Instant::ZERO, [0, 0]);
    for pair in ppdus.windows(2) {
        let kind = pair[0].psdus[0].frames[0].kind;
        if kind == FrameKind::MultiStationBlockAck {
            until = pair[0].end + timer;
        }
        let is_ack =
            kind == FrameKind::MultiStationBlockAck || matches!(kind, FrameKind::BlockAck { .. });
        if !is_ack || pair[1].transmitter == AP {
            continue;
        }
        let waited = (pair[1].start - pair[0].end).as_nanos();
        if pair[1].start < until {
            // SIFS and 15 slots, and what is left of a backoff that was drawn before.
            assert!(waited >= 151_000 && (waited - 151_000) % 9_000 == 0 && waited <= 286_000);
            counts[0] += 1;
        } else if pair[0].end > until + Duration::from_millis(1) {
            assert!(waited >= 43_000 && (waited - 43_000) % 9_000 == 0 && waited <= 178_000);
            counts[1] += 1;
        }
    }
    assert!(counts[0] > 300 && counts[1] > 300, "{counts:?}");
}

/// Stations take turns if there are RUs for fewer stations than have a backlog.
#[test]
fn stations_are_asked_in_turn() {
    for queue in [QueueConfig::DropTail { limit: Limit::Packets(5_000) }, QueueConfig::MAC80211] {
        let mut config = uplink(6, 7, 256, silent(None));
        config.stations[AP.index()].ofdma.as_mut().expect("set").stations_max = 5;
        config.stations[AP.index()].queue = queue;
        let (ppdus, _) = run(&config, (600, 0), 1_500, Duration::from_millis(400));
        let mut asked = [0u32; 7];
        let begun = |ppdu: &&Ppdu| ppdu.start > Instant::ZERO + Duration::from_millis(100);
        for ppdu in ppdus.iter().filter(begun) {
            let users = &ppdu.psdus[0].frames[0].triggered;
            assert!(users.is_empty() || users.len() == 4);
            users.iter().for_each(|user| asked[usize::from(user.aid)] += 1);
        }
        let (least, most) = (asked[1..].iter().min(), asked[1..].iter().max());
        assert!(least > Some(&20) && most.copied() <= least.map(|least| least + 1), "{asked:?}");
    }
}

/// Downlink and uplink take turns, with any acknowledgement of the downlink, and both serve all
/// stations.
#[test]
fn downlink_and_uplink_alternate() {
    for acknowledgement in super::ofdma::ALL {
        for reports in [None, Some(Duration::from_millis(5))] {
            let mut config = uplink(4, 7, 256, silent(reports));
            config.stations[AP.index()].ofdma.as_mut().expect("set").acknowledgement =
                acknowledgement;
            let (ppdus, _) = run(&config, (600, 550), 1_500, Duration::from_millis(1_500));
            let first = |ppdu: &Ppdu| match ppdu.psdus[0].frames[0].kind {
                FrameKind::BasicTrigger { .. } => {
                    Some((true, ppdu.psdus[0].frames[0].triggered.len()))
                }
                FrameKind::QosData { .. } if ppdu.transmitter == AP => {
                    Some((false, ppdu.psdus.len()))
                }
                _ => None,
            };
            let begun = |ppdu: &&Ppdu| ppdu.start > Instant::ZERO + Duration::from_millis(1_000);
            let turns: Vec<_> = ppdus.iter().filter(begun).filter_map(first).collect();
            assert!(turns.len() > 50, "{acknowledgement:?} {reports:?}: {turns:?}");
            assert!(turns.windows(2).all(|pair| pair[0].0 != pair[1].0), "{acknowledgement:?}");
            assert!(
                turns.iter().all(|turn| turn.1 == 4),
                "{acknowledgement:?} {reports:?} {turns:?}"
            );
        }
    }
}

/// After as many Trigger frames without data as the retry limit, the station is not asked again
/// until it is heard.
#[test]
fn a_trigger_frame_without_an_answer() {
    let mut config = uplink(1, 7, 256, silent(None));
    config.record_events = true;
    let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
    let packets = |cell: &mut Cell, now: Instant, tags: core::ops::Range<u64>| {
        for tag in tags {
            cell.handle_packet(
                now,
                StationId(1),
                Address::Station(AP),
                Packet::new(tag, 1_500, now),
            );
        }
    };
    packets(&mut cell, Instant::ZERO, 0..400);
    // The first PPDU of data says that there is more, and then the station hears no more.
    let mut deaf = false;
    let (mut starts, mut widths, mut now) = (Vec::new(), Vec::new(), Instant::ZERO);
    while now < Instant::ZERO + Duration::from_millis(200) && starts.len() < 20 {
        let Some((at, _)) = cell.poll_timeout() else { break };
        now = at;
        cell.handle_timeout(now);
        while let Some(event) = cell.poll_event() {
            let Event::Ppdu(ppdu) = event else { continue };
            if let FrameKind::BasicTrigger { .. } = ppdu.psdus[0].frames[0].kind {
                starts.push((ppdu.start, ppdu.end));
                widths.push(ppdu.psdus[0].frames[0].received);
            }
        }
        if !deaf && !starts.is_empty() {
            deaf = true;
            let loss = Probability::new(1.0);
            let snr = Db(40.0);
            cell.change_link(now, [AP, StationId(1)], snr, loss, false)
                .expect("it is no other link");
            // Its own data do not get through either, or they would say what it holds.
            cell.change_link(now, [StationId(1), AP], snr, loss, false)
                .expect("it is no other link");
        }
    }
    // The first was heard, and the answer was lost.
    assert!(widths[0] && widths[1..].iter().all(|heard| !heard), "{widths:?}");
    assert_eq!(starts.len(), 7, "{starts:?}");
}

/// Stations of any kind, near and far, and Trigger frames of any kind.
fn any_cell() -> impl Strategy<Value = CellConfig> {
    let polls = prop_oneof![Just(None), (1..30u64).prop_map(|ms| Some(Duration::from_millis(ms)))];
    let aifsn = prop_oneof![Just(0u8), 2..15u8];
    let timer = (1..30u64).prop_map(|units| Duration::from_nanos(8_192_000 * units));
    let mu_edca = proptest::option::of((aifsn, timer));
    let limits = (prop_oneof![Just(0u64), 2_000..6_000u64], 800..5_484u64);
    (super::ofdma::any_cell(), polls, mu_edca, limits).prop_map(
        |(mut config, buffer_reports, mu_edca, (txop_us, ampdu_us))| {
            let parameters = mu_edca.map(|(aifsn, timer)| MuEdcaParameters {
                aifsn,
                cw_min: 15,
                cw_max: 63,
                timer,
            });
            let uplink = UplinkConfig { buffer_reports, mu_edca: [parameters; 4] };
            let access_point = &mut config.stations[AP.index()];
            access_point.ofdma.as_mut().expect("set").uplink = Some(uplink);
            access_point.aggregation.ampdu_duration_max = Duration::from_micros(ampdu_us);
            for access in &mut access_point.access {
                access.txop_limit = Duration::from_micros(txop_us / 32 * 32);
            }
            config
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every packet is delivered once and in order, or lost with a reason, and none stays.
    #[test]
    fn packets_come_once_and_in_order(
        config in any_cell(),
        packets in proptest::collection::vec((0u64..40_000, 0u16..9, 40u16..1_500, 0u8..4), 1..300),
    ) {
        let mut cell = Cell::new(&config, Seed::new(5, 0)).expect("a sound cell");
        let count = config.stations.len() as u16;
        let mut seen = alloc::vec![0u32; packets.len()];
        let mut last: Vec<Option<u64>> = alloc::vec![None; 2 * 4 * usize::from(count)];
        let mut order: Vec<_> = packets.iter().collect();
        order.sort_by_key(|(at, ..)| *at);
        let mut arrivals = (0u64..).zip(order).peekable();
        let end = Instant::ZERO + Duration::from_secs(60);
        let mut left = packets.len();
        while left > 0 {
            let next = arrivals.peek().map_or(Instant::MAX, |(_, (us, ..))| {
                Instant::ZERO + Duration::from_micros(*us)
            });
            let due = cell.due();
            prop_assert!(due.min(next) < end, "{} packets stay: {:?}", left, seen);
            if next <= due {
                let (tag, (_, to, bytes, kind)) = arrivals.next().expect("peeked");
                let peer = StationId(1 + to % (count - 1));
                let category = [AccessCategory::BestEffort, AccessCategory::Video][usize::from(kind & 1)];
                let is_up = kind & 2 == 0;
                let lane = 4 * (2 * u32::from(peer.0) + u32::from(is_up)) + category.index() as u32;
                let packet = Packet { access_category: category, flow_hash: lane, ..Packet::new(tag, *bytes, next) };
                let (from, to) = if is_up { (peer, AP) } else { (AP, peer) };
                cell.handle_packet(next, from, Address::Station(to), packet);
            } else {
                cell.handle_timeout(due);
            }
            while let Some(output) = cell.poll_output() {
                let (packet, is_delivered) = match output {
                    Output::Delivered { packet, .. } => (packet, true),
                    Output::Dropped { packet, .. } => (packet, false),
                    other => panic!("{other:?}"),
                };
                seen[packet.tag as usize] += 1;
                left -= 1;
                let lane = &mut last[packet.flow_hash as usize];
                if is_delivered {
                    prop_assert!(*lane < Some(packet.tag), "{:?} {}", lane, packet.tag);
                    *lane = Some(packet.tag);
                }
            }
            while cell.poll_event().is_some() {}
        }
        prop_assert!(seen.iter().all(|&times| times == 1), "{:?}", seen);
        for station in 0..count {
            // What got across without its acknowledgement may still be held.
            let peer = if station == 0 { continue } else { Address::Station(AP) };
            if let Some(link) = cell.link_stats(StationId(station), peer) {
                prop_assert!(link.mpdus_failed <= link.mpdus);
            }
        }
    }
}
