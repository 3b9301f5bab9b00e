//! Uplink OFDMA and MU-MIMO while a secondary channel is busy: every frame of whole exchanges to
//! the nanosecond, written from the clauses (27.3.11.8, 27.3.12, 27.4.3, 9.3.1.22 and 9.3.1.8.6 of
//! IEEE 802.11ax-2021; 17.4.3); shares of widths by a closed form; a second analysis of the events
//! of random cells, none of which may get stuck.

use super::bandwidth::{NEIGHBOUR, NS, at_channel, bits, is_data, pairs, us, width};
use super::ofdma::{ALL, he, ofdm_24, symbols};
use super::*;
use crate::cell::BandwidthAccess;
use crate::event::{Event, FrameKind, Ppdu};
use crate::phy::{RuSize, Subchannel};
use proptest::prelude::*;

const SIFS: u64 = 16_000;
/// Instant of the access point's first request for buffer status.
const POLL: Instant = Instant::from_nanos(30_000_000);
const MHZ: [ChannelWidth; 3] = [ChannelWidth::Mhz20, ChannelWidth::Mhz40, ChannelWidth::Mhz80];

fn at(us_: u64) -> Instant {
    Instant::ZERO + us(us_)
}

/// Two stations at 80 MHz on channel 36, 1 and 4, that the access point asks every 30 ms; a
/// neighbour of 20 MHz on another channel.
fn asked(neighbour: u8) -> CellConfig {
    let how = OfdmaAcknowledgement::MuBlockAckRequest;
    let of = [(36, ChannelWidth::Mhz80), (neighbour, ChannelWidth::Mhz20)];
    let mut config = pairs(of, Dbm(-60.0), how);
    for station in &mut config.stations {
        station.block_ack.window = 256;
    }
    config.stations[0].ofdma.as_mut().expect("set").uplink =
        Some(UplinkConfig { buffer_reports: Some(POLL - Instant::ZERO), mu_edca: [None; 4] });
    config.stations[2].ofdma = None;
    config
}

/// Two stations at 80 MHz on channel 36, served in space.
fn in_space(neighbour: u8, ofdma: bool) -> CellConfig {
    let mut config = asked(neighbour);
    let own = &mut config.stations[0];
    own.mu_mimo = Some(MuMimoConfig::new(4));
    own.ofdma = own.ofdma.filter(|_| ofdma).map(|it| OfdmaConfig { uplink: None, ..it });
    config
}

/// Sends packets of 1 500 bytes, each with its instant, sender and receiver; returns the PPDUs
/// until 59 ms.
fn ppdus(config: &CellConfig, packets: &[(Instant, u16, u16)]) -> Vec<Ppdu> {
    let mut cell = Cell::new(config, Seed::new(1, 0)).expect("a sound cell");
    let mut packets = packets.to_vec();
    packets.sort_unstable();
    let mut packets = packets.into_iter().peekable();
    let mut all = Vec::new();
    loop {
        let due = cell.due();
        match packets.next_if(|(at, ..)| *at <= due) {
            Some((at, from, to)) => {
                // Those that come at once are there before anything is sent.
                if cell.due() < at {
                    cell.handle_timeout(at);
                }
                let to = Address::Station(StationId(to));
                cell.handle_packet(at, StationId(from), to, Packet::new(0, 1_500, at));
            }
            None if due < at(59_000) => cell.handle_timeout(due),
            None => break,
        }
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event {
                all.push(ppdu);
            }
        }
    }
    all.sort_by_key(|ppdu| ppdu.start);
    all
}

/// Packets that establish agreements: up, down and of the neighbour.
const AGREEMENTS: [(u64, u16, u16); 5] =
    [(1_000, 1, 0), (3_000, 4, 0), (5_000, 2, 3), (7_000, 0, 1), (9_000, 0, 4)];

fn agreed() -> Vec<(Instant, u16, u16)> {
    AGREEMENTS.map(|(us, from, to)| (at(us), from, to)).to_vec()
}

/// Duration of the neighbour's exchange.
fn neighbours_time(config: &CellConfig) -> Duration {
    let mut packets = agreed();
    packets.push((at(20_000), 2, 3));
    let all = ppdus(config, &packets);
    let own = all.iter().filter(|it| [2, 3].contains(&it.transmitter.0) && it.start >= at(20_000));
    own.map(|it| it.end).max().expect("it sends") - at(20_000)
}

fn is_own(ppdu: &&Ppdu) -> bool {
    [0, 1, 4].contains(&ppdu.transmitter.0)
}

fn kind(ppdu: &Ppdu) -> Option<FrameKind> {
    ppdu.frames().next().map(|frame| frame.kind)
}

/// Width in a Trigger frame.
fn asks_for(ppdu: &Ppdu) -> Option<ChannelWidth> {
    match kind(ppdu)? {
        FrameKind::BufferStatusReportPoll { width, .. } | FrameKind::BasicTrigger { width, .. } => {
            Some(width)
        }
        _ => None,
    }
}

/// RU size for two stations, and its subcarriers.
fn halves(width: ChannelWidth) -> (RuSize, u64) {
    match width {
        ChannelWidth::Mhz20 => (RuSize::Tones106, 102),
        ChannelWidth::Mhz40 => (RuSize::Tones242, 234),
        _ => (RuSize::Tones484, 468),
    }
}

/// The neighbour's exchange ended PIFS before the Trigger frame, or 1 ns less. The exchange has
/// BSRP, QoS Null frames, Basic Trigger frame, an MPDU from each station, Multi-STA Block Ack. A
/// station reports 1 536 bytes for its 1 508, which are two MPDUs of that length: 3 088 bytes.
#[test]
fn an_uplink_exchange_is_as_wide_as_what_was_idle_for_pifs() {
    for (neighbour, narrow) in [(40, MHZ[0]), (44, MHZ[1]), (48, MHZ[1]), (52, MHZ[2])] {
        let config = asked(neighbour);
        let time = neighbours_time(&config);
        for (before, idle) in [(us(25), MHZ[2]), (us(25) - NS, narrow), (time - NS, narrow)] {
            let mut packets = agreed();
            packets.push((POLL - before - time, 2, 3));
            if before == time - NS {
                // It is on the air when the Trigger frame begins.
                packets.pop();
                packets.push((POLL - NS, 2, 3));
            }
            // While the Trigger frame is on the air, so that nobody contends before it.
            packets.extend([1, 4].map(|from| (POLL + us(10), from, 0)));
            let all = ppdus(&config, &packets);
            let from = all.iter().position(|it| asks_for(it).is_some()).expect("it asks");
            let own: Vec<&Ppdu> = all[from..].iter().filter(is_own).take(7).collect();
            let (size, subcarriers) = halves(idle);
            let triggered = |symbols: u64| 48_000 + 14_400 * symbols;
            let mut expected = Vec::new();
            let mut begin = 0;
            for (duration, together) in [
                (1_000 * ofdm_24(28 + 5 * 2), 1),
                (triggered(symbols(subcarriers, 4, 142)), 2),
                (1_000 * ofdm_24(28 + 6 * 2), 1),
                (triggered(symbols(subcarriers, 5, 3_088)), 2),
                (1_000 * ofdm_24(22 + 36 * 2), 1),
            ] {
                expected.extend(core::iter::repeat_n((begin, begin + duration), together));
                begin += duration + SIFS;
            }
            let since = |it: Instant| (it - POLL).as_nanos();
            let found: Vec<_> = own.iter().map(|it| (since(it.start), since(it.end))).collect();
            assert_eq!(found, expected, "{neighbour} {before:?}");
            assert_eq!([0, 3].map(|place| asks_for(own[place])), [Some(idle); 2]);
            for place in [0, 3] {
                let users = &own[place].psdus[0].frames[0].triggered;
                let rus: Vec<_> = users.iter().map(|it| (it.ru.size(), it.ru.index())).collect();
                assert_eq!(rus, [(size, 1), (size, 2)]);
            }
            for place in [1, 2, 4, 5] {
                assert_eq!(width(own[place]), idle);
                assert_eq!(own[place].psdus[0].ru.map(|ru| ru.size()), Some(size));
                assert_eq!(is_data(own[place]), place >= 4);
            }
            assert!(own.iter().flat_map(|it| it.frames()).all(|frame| frame.received));
            // During the Basic Trigger frame, the data and the Block Ack the neighbour waits if its
            // channel is covered.
            for place in [3, 4, 6] {
                if before == time - NS {
                    continue;
                }
                let arrives = own[place].start + us(5);
                let mut packets = packets.clone();
                packets.push((arrives, 2, 3));
                let all = ppdus(&config, &packets);
                let next = all.iter().find(|it| it.transmitter == NEIGHBOUR && it.start >= arrives);
                let begins = next.expect("it sends").start;
                let is_covered = bits(36, idle) & bits(neighbour, MHZ[0]) != 0;
                assert_eq!(begins > arrives, is_covered, "{neighbour} {idle} {place}");
                assert!(!is_covered || begins > own[6].end);
            }
        }
    }
}

/// With static access the access point asks no station before the whole channel is idle.
#[test]
fn static_access_asks_for_the_whole_channel() {
    let mut config = asked(44);
    config.channels[0] = at_channel(36, BandwidthAccess::Static);
    let time = neighbours_time(&config);
    let mut packets = agreed();
    packets.push((POLL - us(10), 2, 3));
    let all = ppdus(&config, &packets);
    let trigger = all.iter().find(|it| asks_for(it).is_some()).expect("it asks");
    assert!(trigger.start >= POLL - us(10) + time + us(25), "{:?}", trigger.start);
    assert_eq!(asks_for(trigger), Some(MHZ[2]));
}

/// The stations hear a neighbour that their access point does not. Of two RUs of 40 MHz each, the
/// station on the neighbour's channels does not answer, the other does. A neighbour that begins
/// with the end of the Trigger frame is not checked; one that ends with it no longer counts.
#[test]
fn a_station_answers_if_the_channels_of_its_ru_are_idle() {
    // Of 20 MHz on 40 the neighbour is in the lower RU, on 44 and 48 in the upper.
    for (neighbour, level, silent) in [
        (40, -60.0, Some(1)),
        (44, -60.0, Some(2)),
        (48, -60.0, Some(2)),
        (48, -72.1, None),
        (52, -60.0, None),
    ] {
        let mut config = asked(neighbour);
        config.change_links(|pair| {
            let is_beside = |id: StationId| [2, 3, 5].contains(&id.0);
            if is_beside(pair.from) != is_beside(pair.to) {
                let is_heard = is_beside(pair.from) && pair.to != AP;
                let level = if is_heard { Dbm(level) } else { Dbm(-150.0) };
                pair.link.snr = level - pair.link.noise;
            }
        });
        let time = neighbours_time(&config);
        let end = POLL + us(ofdm_24(28 + 5 * 2));
        for (begin, is_there) in
            [(end - NS, true), (end, false), (end - time, false), (end - time + NS, true)]
        {
            let mut packets = agreed();
            packets.push((begin, 2, 3));
            let all = ppdus(&config, &packets);
            let trigger = all.iter().find(|it| asks_for(it).is_some()).expect("it asks");
            assert_eq!((trigger.start, trigger.end), (POLL, end));
            assert_eq!(asks_for(trigger), Some(MHZ[2]));
            let users = &trigger.psdus[0].frames[0].triggered;
            assert_eq!(users.len(), 2);
            let expected: Vec<u8> =
                [1, 2].into_iter().filter(|it| !is_there || silent != Some(*it)).collect();
            let answers = all.iter().filter(|it| it.start == end + us(16)).filter(is_own);
            let mut found: Vec<u8> =
                answers.filter_map(|it| it.psdus[0].ru).map(|ru| ru.index()).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{neighbour} {level} {begin:?}");
        }
    }
}

/// MU-MIMO in the idle part of the channel, by the report of the whole channel: two MPDUs of 1 538
/// bytes, one for each station, PIFS and 1 ns less after a neighbour's exchange.
#[test]
fn groups_are_sent_to_in_what_is_idle() {
    for (neighbour, narrow) in [(40, MHZ[0]), (44, MHZ[1]), (48, MHZ[1]), (52, MHZ[2])] {
        let config = in_space(neighbour, false);
        let time = neighbours_time(&config);
        let begin = at(40_000);
        for (before, idle) in [(us(25), MHZ[2]), (us(25) - NS, narrow)] {
            let mut packets = agreed();
            // The first ones have the stations sounded.
            packets.extend([(at(30_000), 0, 1), (at(30_000), 0, 4)]);
            packets.push((begin - before - time, 2, 3));
            packets.extend([(begin, 0, 1), (begin, 0, 4)]);
            let all = ppdus(&config, &packets);
            let sent = all.iter().find(|it| it.transmitter == AP && it.start >= begin);
            let sent = sent.expect("it sends");
            assert_eq!((sent.start, sent.psdus.len()), (begin, 2), "{neighbour} {before:?}");
            let subcarriers = match idle {
                ChannelWidth::Mhz20 => 234,
                ChannelWidth::Mhz40 => 468,
                _ => 980,
            };
            // HE-SIG-B of one symbol, two HE-LTFs of 7.2 us.
            let header = 36_000 + 4_000 + 2 * 7_200;
            let expected = header + 13_600 * symbols(subcarriers, 5, 4 + 1_538);
            assert_eq!((sent.end - sent.start).as_nanos(), expected, "{neighbour} {before:?}");
            for psdu in &sent.psdus {
                assert_eq!((psdu.rate.width(), psdu.rate.mcs()), (idle, Some(7)));
                assert_eq!(psdu.ru.map(|ru| ru.size()), Some(RuSize::of_width(idle)));
            }
            assert!(sent.frames().all(|frame| frame.received));
        }
    }
}

/// Each of two streams of two antennas has half the power: 3.01 dB less than the report, and 3.01
/// dB more for each halving of the width. The MCS is the highest that loses at most a tenth of
/// MPDUs of 1 600 bytes at that SINR; rounding of the report takes less than 1 dB.
#[test]
fn less_noise_allows_a_faster_mcs() {
    let mut checked = [0; 3];
    for (neighbour, halvings, narrow) in [(52, 0u8, MHZ[2]), (44, 1, MHZ[1]), (40, 2, MHZ[0])] {
        let mut config = in_space(neighbour, false);
        let needed = |mcs, width| config.error_model.sensitivity_snr(he(mcs, width), 0.1, 1_600);
        let least = needed(7, MHZ[2]) + Db(1.5);
        let all: Vec<f64> = (0..=7).map(|mcs| needed(mcs, narrow).0).collect();
        let own = config.stations[0].mu_mimo.as_mut().expect("set");
        (own.antennas, own.stations_max, own.doppler_hz) = (2, 2, 0.0);
        for step in 0..12 {
            let snr = least + Db(0.25 * f64::from(step));
            let set = |id: StationId| [2, 3, 5].contains(&id.0);
            config.change_links(|pair| {
                if set(pair.from) == set(pair.to) {
                    pair.link.snr = snr;
                }
            });
            let sinr = snr.0 - 3.01 + 3.01 * f64::from(halvings);
            let mcs = (0..=7).rev().find(|mcs| all[*mcs] <= sinr).expect("some");
            let is_sure = sinr - all[mcs] > 1.0;
            let begin = at(40_000);
            let mut packets = agreed();
            packets.extend([(at(30_000), 0, 1), (at(30_000), 0, 4)]);
            packets.extend([(begin - us(10), 2, 3), (begin, 0, 1), (begin, 0, 4)]);
            let all = ppdus(&config, &packets);
            let sent = all.iter().find(|it| it.transmitter == AP && it.start >= begin);
            let sent = sent.expect("it sends");
            if !is_sure || sent.psdus.len() < 2 {
                continue;
            }
            for psdu in &sent.psdus {
                let found = (psdu.rate.width(), psdu.rate.mcs().map(usize::from));
                assert_eq!(found, (narrow, Some(mcs)), "{sinr}");
            }
            checked[usize::from(halvings)] += 1;
        }
    }
    assert!(checked.iter().all(|count| *count > 1), "{checked:?}");
}

/// Sounding waits for the whole channel: meanwhile the access point uses RUs, or serves stations
/// alone.
#[test]
fn sounding_waits_for_the_whole_channel() {
    for (with_ofdma, together) in [(false, 1), (true, 2)] {
        let config = in_space(44, with_ofdma);
        let begin = at(30_000);
        let mut packets = agreed();
        packets.push((begin - us(10), 2, 3));
        packets.extend([(begin, 0, 1), (begin, 0, 4)]);
        packets.extend([(begin + us(5_000), 0, 1), (begin + us(5_000), 0, 4)]);
        let all = ppdus(&config, &packets);
        let sent: Vec<&Ppdu> =
            all.iter().filter(|it| it.transmitter == AP && it.start >= begin).collect();
        assert_eq!((sent[0].psdus.len(), width(sent[0])), (together, MHZ[1]));
        let is_sounding = |it: &&&Ppdu| matches!(kind(it), Some(FrameKind::NdpAnnouncement { .. }));
        let first = sent.iter().find(is_sounding).expect("it sounds");
        assert_eq!(first.start, begin + us(5_000));
    }
}

/// A neighbour sends all the time. The cycle has data (232 us), SIFS, Ack (28 us), AIFS (43 us) and
/// 7.5 slots on average. A Trigger frame due at a random time finds the whole channel idle for
/// PIFS in 43 + 67.5 - 25 us.
#[test]
fn the_share_of_widths_is_that_of_the_idle_time() {
    for (number, narrow) in [(40, MHZ[0]), (44, MHZ[1])] {
        let mut config = asked(number);
        config.stations[0].ofdma.as_mut().expect("set").uplink =
            Some(UplinkConfig { buffer_reports: Some(us(1_173)), mu_edca: [None; 4] });
        // As `sets` of 802.11ac have it, without aggregation.
        let rate = super::bandwidth::vht(7, MHZ[0]);
        for index in [2, 3, 5] {
            let old = &config.stations[index];
            let (role, bss, identity) = (old.role, old.bss, old.identity);
            config.stations[index] =
                StationConfig { bss, identity, ..super::station(role, rate, 0) };
        }
        config.change_links(|pair| {
            let is_beside = |id: StationId| [2, 3, 5].contains(&id.0);
            if is_beside(pair.from) != is_beside(pair.to) && pair.to != AP {
                pair.link.snr = super::bss::DEAF;
            }
        });
        let mut cell = Cell::new(&config, Seed::new(1, 3)).expect("a sound cell");
        let (mut count, mut whole, mut now) = (0u32, 0u32, Instant::ZERO);
        while count < 8_000 {
            while cell.held_packets(NEIGHBOUR) < 20 {
                let packet = Packet::new(0, 1_500, now);
                cell.handle_packet(now, NEIGHBOUR, Address::Station(StationId(3)), packet);
            }
            now = cell.due();
            cell.handle_timeout(now);
            while cell.poll_output().is_some() {}
            while let Some(event) = cell.poll_event() {
                let Event::Ppdu(ppdu) = event else { continue };
                if let Some(width) = asks_for(&ppdu) {
                    count += 1;
                    whole += u32::from(width == MHZ[2]);
                    assert!(width == MHZ[2] || width == narrow, "{width}");
                }
            }
        }
        let share = f64::from(whole) / f64::from(count);
        let expected = (43.0 + 67.5 - 25.0) / (232.0 + 16.0 + 28.0 + 43.0 + 67.5);
        // Three standard deviations.
        assert!((share - expected).abs() < 0.014, "{number}: {share}, expected {expected}");
    }
}

/// A random cell: [`asked`] with or without MU-MIMO, with stations that hear the neighbour or do
/// not.
fn any_cell() -> impl Strategy<Value = (CellConfig, [(u8, ChannelWidth); 2])> {
    let channels = (0u8..4, 0u8..8, 0usize..3);
    let own = (any::<bool>(), any::<bool>(), 0usize..3, any::<bool>());
    let more = (any::<bool>(), any::<bool>(), any::<bool>());
    (channels, own, more, prop_oneof![Just(-60.0), -80.0..-50.0f64]).prop_map(
        |((one, other, width), (spatial, polls, how, txop), (dozes, hidden, mu_edca), level)| {
            let of = [(36 + 4 * one, MHZ[2]), (36 + 4 * other, MHZ[width])];
            let mut config = pairs(of, Dbm(level), ALL[how]);
            let parameters =
                MuEdcaParameters { aifsn: 0, cw_min: 15, cw_max: 63, timer: us(8_192) };
            let own = &mut config.stations[0];
            own.ofdma.as_mut().expect("set").uplink = Some(UplinkConfig {
                buffer_reports: polls.then_some(us(3_000)),
                mu_edca: [mu_edca.then_some(parameters); 4],
            });
            own.mu_mimo = spatial.then(|| MuMimoConfig::new(4));
            for access in own.access.iter_mut().filter(|_| txop) {
                access.txop_limit = us(4_096);
            }
            if dozes {
                config.beacon_interval = Some(us(102_400));
                config.stations[4].power_save =
                    Some(crate::mac::power_save::PowerSaveConfig::dynamic(
                        us(3_000),
                        crate::mac::power_save::Retrieval::Wake,
                    ));
            }
            if hidden {
                config.change_links(|pair| {
                    if [2, 3, 5].contains(&pair.from.0) && pair.to == AP {
                        pair.link.snr = super::bss::DEAF;
                    }
                });
            }
            (config, of)
        },
    )
}

/// Sends packets both ways for `time`, then none; returns the PPDUs, and the number of packets
/// still held after a second.
fn run(config: &CellConfig, (map, seed): (&[u16; 6], u64), time: Duration) -> (Vec<Ppdu>, u32) {
    let mut cell = Cell::new(config, Seed::new(1, seed)).expect("a sound cell");
    let (mut all, mut tag, mut now) = (Vec::new(), 0, Instant::ZERO);
    let station = |number: u16| StationId(map[usize::from(number)]);
    while now < Instant::ZERO + time + Duration::from_secs(1) {
        let flows: [(u16, u16, u32); 8] = [
            (0, 1, 12),
            (0, 4, 12),
            (1, 0, 6),
            (4, 0, 6),
            (2, 3, 8),
            (2, 5, 8),
            (3, 2, 2),
            (5, 2, 2),
        ];
        for (from, to, most) in flows {
            if now < Instant::ZERO + time && cell.held_packets(station(from)) < most {
                let packet = Packet::new(tag, 1_500, now);
                cell.handle_packet(now, station(from), Address::Station(station(to)), packet);
                tag += 1;
            }
        }
        while cell.poll_output().is_some() {}
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event {
                all.push(ppdu);
            }
        }
        now = cell.due();
        if now == Instant::MAX {
            break;
        }
        cell.handle_timeout(now);
    }
    all.sort_by_key(|ppdu| (ppdu.start, map.iter().position(|it| *it == ppdu.transmitter.0)));
    let held = (0..6).map(|number| cell.held_packets(StationId(number))).sum();
    (all, held)
}

/// Channels that an RU is in, as [`bits`].
fn bits_of_ru((number, width): (u8, ChannelWidth), ru: crate::phy::Ru) -> u8 {
    let own = Subchannel::from_number(Band::Ghz5, number).expect("it exists");
    let places = (36..=64).step_by(4).filter(|&it| {
        let (first, last) = ru.subchannels();
        let other = Subchannel::from_number(Band::Ghz5, it);
        (first..=last).any(|place| Some(own.at_place(place, width)) == other)
    });
    places.fold(0, |all, it| all | bits(it, ChannelWidth::Mhz20))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No PPDU that begins an exchange covers a channel that its transmitter sensed busy within
    /// PIFS. No PPDU that answers a Trigger frame has an RU in which its station heard another one.
    /// No cell gets stuck, and the order of sets and nodes changes no result.
    #[test]
    fn nothing_covers_what_was_busy((config, of) in any_cell(), seed in 0u64..1_000) {
        let time = us(80_000);
        let (all, held) = run(&config, (&[0, 1, 2, 3, 4, 5], seed), time);
        prop_assert_eq!(held, 0, "packets stay");
        let set = |id: StationId| usize::from([2, 3, 5].contains(&id.0));
        // Sounding has the whole channel, others what they say.
        let says = |ppdu: &Ppdu| match kind(ppdu) {
            Some(FrameKind::NdpAnnouncement { .. }) => Some(MHZ[2]),
            _ => asks_for(ppdu).or(is_data(ppdu).then(|| width(ppdu))),
        };
        let hears = |from: StationId, to: StationId| {
            let link = config.links.link(from, to).expect("they have one");
            link.noise + link.snr >= Dbm(-72.0)
        };
        let others: Vec<(&Ppdu, u8)> = all
            .iter()
            .filter_map(|it| Some((it, bits(of[set(it.transmitter)].0, says(it)?))))
            .collect();
        for (own, covered) in &others {
            let ru = own.psdus[0].ru.filter(|_| own.transmitter != AP && set(own.transmitter) == 0);
            // As it was when the TXOP or the Trigger frame's SIFS began.
            let (number, _) = of[set(own.transmitter)];
            let primary = bits(number, ChannelWidth::Mhz20);
            let seen = ru.map_or(own.start, |_| own.start - us(16));
            let within = ru.map_or(us(25), |_| Duration::ZERO);
            let busy = others.iter().filter(|(other, bits)| {
                set(other.transmitter) != set(own.transmitter)
                    && bits & primary == 0
                    && other.start < seen
                    && other.end + within > seen
                    && hears(other.transmitter, own.transmitter)
            });
            let busy = busy.fold(0, |all, (_, bits)| all | bits);
            let covered = ru.map_or(*covered, |ru| bits_of_ru((number, width(own)), ru));
            // What follows in a TXOP is no wider than its first PPDU, whoever has begun since.
            let follows = all.iter().any(|it| {
                set(it.transmitter) == set(own.transmitter) && it.end + us(16) == own.start
            });
            if ru.is_none() && follows {
                continue;
            }
            prop_assert_eq!(covered & busy, 0, "{:?} {:?} {:?}", own.start, of, kind(own));
        }
        // The same cell in the opposite order.
        let turned = |id: StationId| StationId(5 - id.0);
        let mut reversed = config.clone();
        reversed.stations.reverse();
        for station in &mut reversed.stations {
            station.bss = crate::station::BssId(1 - station.bss.0);
        }
        reversed.channels.reverse();
        let links = config.links.iter().map(|pair| PairConfig {
            from: turned(pair.from),
            to: turned(pair.to),
            ..pair
        });
        reversed.links = alloc::sync::Arc::new(Links::new(6, links));
        let (back, _) = run(&reversed, (&[5, 4, 3, 2, 1, 0], seed), time);
        let times = |all: &[Ppdu], turn: bool| -> Vec<_> {
            let of = |id| if turn { turned(id) } else { id };
            all.iter().map(|it| (it.start, it.end, of(it.transmitter), it.psdus.len())).collect()
        };
        prop_assert_eq!(times(&all, false), times(&back, true));
    }
}
