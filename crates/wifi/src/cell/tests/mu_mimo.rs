//! MU-MIMO: sounding and data on the air against an account of each frame, written from the clauses
//! (21.4.3, 9.3.1.19, 9.3.1.20 and 17.4.3 of IEEE 802.11-2020; 27.3.11.8, 27.4.3 and 9.3.1.22 of
//! IEEE 802.11ax-2021), to the nanosecond; goodput against the sum of these; cases with a loss of
//! goodput; conservation of packets under any losses.

use super::ofdma::{ALL, downlink, ofdm_24, ofdma, symbols};
use super::*;
use crate::event::{Event, FrameKind, PowerState, Ppdu};
use crate::mac::power_save::PowerSaveConfig;
use crate::phy::{Fading, HeGuardInterval, RuSize};
use proptest::prelude::*;

const WIDTH: ChannelWidth = ChannelWidth::Mhz80;
const SIFS: u64 = 16_000;

fn vht(mcs: u8) -> Rate {
    Rate::vht(mcs, 1, WIDTH, GuardInterval::Long).expect("a rate")
}

/// `stations` of 802.11ac or 802.11ax at 80 MHz, one stream each, up to `mpdus` in an A-MPDU, and
/// an access point with four antennas. The links have 40 dB and do not fade.
fn spatial(stations: usize, is_he: bool, mcs: u8, mpdus: u16) -> CellConfig {
    let mut config = match is_he {
        true => ofdma(stations, mcs, mpdus, OfdmaAcknowledgement::BlockAckRequest),
        false => {
            let mut config = cell(stations, vht(mcs), WIDTH, 1_048_575);
            config.standard = Standard::Dot11ac;
            config.beacon_interval = None;
            for station in &mut config.stations {
                station.aggregation.ampdu_frames_max = mpdus;
            }
            config.stations[0].queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
            config
        }
    };
    config.change_links(|pair| pair.link.snr = Db(40.0));
    let access_point = &mut config.stations[AP.index()];
    access_point.ofdma = None;
    access_point.mu_mimo =
        Some(MuMimoConfig { stations_max: stations.max(2) as u8, ..MuMimoConfig::new(4) });
    config
}

fn mimo(config: &mut CellConfig) -> &mut MuMimoConfig {
    config.stations[AP.index()].mu_mimo.as_mut().expect("it has it")
}

/// Start and end of each PPDU in nanoseconds, from the first PPDU's start.
fn times(ppdus: &[Ppdu]) -> Vec<(u64, u64)> {
    let since = |at: Instant| (at - ppdus[0].start).as_nanos();
    ppdus.iter().map(|ppdu| (since(ppdu.start), since(ppdu.end))).collect()
}

fn kind(ppdu: &Ppdu) -> Option<FrameKind> {
    ppdu.frames().next().map(|frame| frame.kind)
}

fn is_announcement(ppdu: &Ppdu) -> bool {
    matches!(kind(ppdu), Some(FrameKind::NdpAnnouncement { .. }))
}

/// Frames one after the other, SIFS between them: the start and end of each.
struct Account(Vec<(u64, u64)>);

impl Account {
    /// Adds a frame after the last one, or several together.
    fn then(&mut self, duration: u64, together: usize) {
        let begin = self.0.last().map_or(0, |(_, end)| end + SIFS);
        self.0.extend(core::iter::repeat_n((begin, begin + duration), together));
    }

    fn end(&self) -> u64 {
        self.0.last().expect("some").1
    }
}

/// A sounding exchange of `n` stations: each reports 62 sets of VHT, or 250 of HE, of 6 angles of 8
/// bits on average, an SNR of 8 bits, and 32 or 250 SNRs of 4 bits; at MCS 5 (4 bits and 2/3) on
/// 234 subcarriers, or trigger-based on an RU of 484 or 242 tones.
fn sounding(n: usize, is_he: bool) -> Account {
    let mut account = Account(Vec::new());
    let announcement = 16 + 1 + n as u64 * if is_he { 4 } else { 2 } + 4;
    account.then(1_000 * ofdm_24(announcement), 1);
    if is_he {
        // 36 us to HE-STF, four HE-LTFs of 7.2 us, an extension of 4 us.
        account.then(36_000 + 4 * 7_200 + 4_000, 1);
        let bytes = (8_u64 + 250 * 48).div_ceil(8) + 250 * 4 / 8;
        let psdu = 4 + 24 + 2 + 5 + bytes + 4;
        let subcarriers = if n == 2 { 468 } else { 234 };
        account.then(1_000 * ofdm_24(16 + 8 + 6 * n as u64 + 4), 1);
        account.then(40_000 + 8_000 + 14_400 * symbols(subcarriers, 4, psdu), n);
    } else {
        // 36 us, and four VHT-LTFs of 4 us.
        account.then(36_000 + 4 * 4_000, 1);
        let bytes = (8_u64 + 62 * 48).div_ceil(8) + 32 * 4 / 8;
        let psdu = 4 + 24 + 2 + 3 + bytes + 4;
        let report = 40_000 + 4_000 * (16_u64 + 8 * psdu + 6).div_ceil(234 * 4);
        for place in 0..n {
            if place > 0 {
                account.then(1_000 * ofdm_24(16 + 1 + 4), 1);
            }
            account.then(report, 1);
        }
    }
    account
}

/// Three MPDUs of 1 538 bytes at MCS 5 to each of `n` stations, and their Block Acks.
fn data(n: usize, is_he: bool, acknowledgement: OfdmaAcknowledgement) -> Account {
    let mut account = Account(Vec::new());
    let fields = [0, 1, 2, 4, 4][n];
    let bare: u64 = 2 * 1_544 + 4 + 1_538;
    let psdu = match acknowledgement {
        OfdmaAcknowledgement::Aggregated => bare + 2 + 4 + 37,
        _ => bare,
    };
    let bits_of_ack = if is_he { 56 } else { 32 };
    if is_he {
        // 36 us and HE-SIG-B without a common field: two users share a block of 52 bits, 31 are
        // of one; with two content channels one or two in the longer one: one symbol at MCS 5.
        // MCS 5 on 980 subcarriers, LDPC.
        let header = 36_000 + 4_000 + fields * 7_200;
        account.then(header + 13_600 * (16_u64 + 8 * psdu).div_ceil(980 * 4), 1);
    } else {
        let header = 36_000 + fields * 4_000;
        account.then(header + 4_000 * (16_u64 + 8 * psdu + 6).div_ceil(234 * 4), 1);
    }
    let block_ack = 1_000 * ofdm_24(bits_of_ack);
    let subcarriers = if n == 2 { 468 } else { 234 };
    let triggered = 48_000 + 14_400 * symbols(subcarriers, 4, 60);
    match acknowledgement {
        OfdmaAcknowledgement::BlockAckRequest => {
            account.then(block_ack, 1);
            for _ in 1..n {
                account.then(1_000 * ofdm_24(24), 1);
                account.then(block_ack, 1);
            }
        }
        OfdmaAcknowledgement::MuBlockAckRequest => {
            account.then(1_000 * ofdm_24(28 + 9 * n as u64), 1);
            account.then(triggered, n);
        }
        OfdmaAcknowledgement::Aggregated => account.then(triggered, n),
    }
    account
}

/// Groups of two, three and four stations: every frame of every sounding and data exchange.
#[test]
fn every_frame_begins_and_ends_when_the_clauses_say() {
    for (is_he, n) in [(false, 2), (false, 3), (false, 4), (true, 2), (true, 3), (true, 4)] {
        for acknowledgement in if is_he { &ALL[..] } else { &ALL[..1] } {
            let mut config = spatial(n, is_he, 5, 3);
            mimo(&mut config).acknowledgement = *acknowledgement;
            let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_millis(60));
            let (of_sounding, of_data) = (sounding(n, is_he), data(n, is_he, *acknowledgement));
            let (mut soundings, mut exchanges) = (Vec::new(), 0);
            for (index, first) in ppdus.iter().enumerate() {
                let expected = match () {
                    () if is_announcement(first) => match first.frames().next() {
                        // The first stations did not wait for the others' agreements.
                        Some(frame) if frame.announced.len() < n => continue,
                        _ => &of_sounding,
                    },
                    () if first.psdus.len() == n => &of_data,
                    () => continue,
                };
                let Some(ppdus) = ppdus.get(index..index + expected.0.len()) else { break };
                let found = times(ppdus);
                assert_eq!(found, expected.0, "{n}, HE: {is_he}, {acknowledgement:?}");
                assert!(ppdus.iter().flat_map(Ppdu::frames).all(|frame| frame.received));
                // The Duration field covers what follows.
                let frame = first.frames().next().expect("it has one");
                let rest = (expected.end() - found[0].1).div_ceil(1_000);
                assert_eq!(u64::from(frame.duration_us), rest);
                if is_announcement(first) {
                    assert!(ppdus[1].frames().next().is_none());
                    soundings.push(first.start);
                    continue;
                }
                exchanges += 1;
                for psdu in &first.psdus {
                    assert_eq!(psdu.ru.map(|ru| ru.size()), is_he.then_some(RuSize::Tones996));
                    assert_eq!(psdu.rate.mcs(), Some(5));
                }
            }
            assert!(exchanges > 40, "{exchanges}");
            // Every 20 ms, as soon as the channel is gained.
            assert!((2..=3).contains(&soundings.len()), "{}", soundings.len());
            for pair in soundings.windows(2) {
                let ms = (pair[1] - pair[0]).as_secs_f64() * 1e3;
                assert!((19.5..21.5).contains(&ms), "{ms}");
            }
        }
    }
}

/// Saturated goodput: sounding and data exchanges, each with AIFS and a backoff of 7.5 slots in
/// the mean; three MPDUs of 1 472 bytes in each PSDU.
#[test]
fn goodput_is_the_sum_of_the_frames() {
    let time = Duration::from_secs(1);
    for (is_he, n) in [(false, 2), (false, 4), (true, 3), (true, 4)] {
        let config = spatial(n, is_he, 5, 3);
        let (_, delivered) = downlink(&config, 20, 1_500, time);
        let access = 43_000.0 + 7.5 * 9_000.0;
        let acknowledgement = OfdmaAcknowledgement::BlockAckRequest;
        let cycle = data(n, is_he, acknowledgement).end() as f64 + access;
        let sounded = sounding(n, is_he).end() as f64 + access;
        // A sounding lasts until its report is 20 ms old, and the exchange then is over.
        let exchanges = (1e9 / (20e6 + sounded + cycle / 2.0)) * (20e6 / cycle);
        let expected = exchanges * (3 * n) as f64;
        let ratio = delivered as f64 / expected;
        assert!((ratio - 1.0).abs() < 0.02, "{n}, HE: {is_he}: {ratio}");
    }
}

/// Goodput of MU-MIMO and of one station at a time, in Mb/s.
fn both(config: &CellConfig, kept: u32, time: Duration) -> (f64, f64) {
    let rate = |config: &CellConfig| mbps(downlink(config, kept, 1_500, time).1, 1_472, time);
    let together = rate(config);
    let mut alone = config.clone();
    alone.stations[AP.index()].mu_mimo = None;
    (together, rate(&alone))
}

/// With constant links MU-MIMO loses no packets and gains much goodput. With a link whose Doppler
/// rate the access point does not know, it soon sends to nearly every station alone: about as fast.
#[test]
fn it_gains_where_channels_stand_still() {
    let time = Duration::from_millis(500);
    for is_he in [false, true] {
        let config = spatial(3, is_he, 7, 64);
        let (together, alone) = both(&config, 200, time);
        assert!(together > 2.5 * alone, "{together}, {alone}");
        // 25 dB are 23.2 dB for each of three streams: a slower MCS.
        let mut far = config.clone();
        far.change_links(|pair| pair.link.snr = Db(25.0));
        let (of_far, alone) = both(&far, 200, time);
        assert!(of_far < 0.9 * together && of_far > 1.5 * alone, "{of_far}, {alone}");
        // Reports that are up to 200 ms old: the rates fall until sounding is due.
        let mut old = config.clone();
        mimo(&mut old).sounding_interval = Duration::from_millis(200);
        let (of_old, alone) = both(&old, 200, time);
        assert!(of_old < 0.75 * together && of_old > alone, "{of_old}, {alone}");
        // Walking pace at 5 GHz.
        let mut walking = config.clone();
        let fading = Fading::Rician { k: Db(40.0), doppler_hz: 15.0 };
        walking.change_links(|pair| pair.link.fading = fading);
        let (of_walking, alone) = both(&walking, 200, time);
        assert!(of_walking > 0.95 * alone && of_walking < 1.2 * alone, "{of_walking}, {alone}");
        if is_he {
            continue;
        }
        // The figures of docs/model.md.
        let mut moving = config.clone();
        let fading = Fading::Rician { k: Db(20.0), doppler_hz: 10.0 };
        moving.change_links(|pair| pair.link.fading = fading);
        let (of_moving, alone) = both(&moving, 200, time);
        let found = [together, of_far, of_old, of_moving, alone];
        for (found, page) in found.into_iter().zip([710.0, 462.0, 410.0, 277.0, 259.0]) {
            assert!((found - page).abs() < 0.02 * page, "{found}, not {page}");
        }
    }
}

/// The access point learns from losses with any control that chooses the rates of single stations.
/// If links change faster than configured, a fifth of the MPDUs is lost, which it considers usual,
/// and almost none for good. Without this learning half of them were lost.
#[test]
fn it_learns_how_fast_channels_change() {
    // One run differs from the mean by up to 0.09.
    const RUNS: u32 = 8;
    for (is_he, control) in [
        (false, RateControlConfig::minstrel_ht()),
        (false, RateControlConfig::ideal()),
        (true, RateControlConfig::firmware()),
    ] {
        let mut config = spatial(3, is_he, 7, 64);
        let fading = Fading::Rician { k: Db(40.0), doppler_hz: 10.0 };
        config.change_links(|pair| pair.link.fading = fading);
        let rates = match is_he {
            true => Rate::all_he(WIDTH, HeGuardInterval::Ns800Ltf2x, 1).collect(),
            false => Rate::all_vht(WIDTH, GuardInterval::Long, 1).collect::<Vec<Rate>>(),
        };
        for station in &mut config.stations {
            station.capabilities = Capabilities::new(rates.clone(), true);
            station.rate_control = control.clone();
        }
        // Two floods, and a third station that also sends.
        let stations: Vec<StationId> = (1..=3).map(StationId).collect();
        let senders: Vec<(StationId, Address)> = stations
            .iter()
            .map(|&to| (AP, Address::Station(to)))
            .chain([(StationId(3), Address::Station(AP))])
            .collect();
        let mut failed = [0.0; 3];
        for run in 0..RUNS {
            let mut cell = Cell::new(&config, Seed::new(3, run.into())).expect("a sound cell");
            saturate_each(&mut cell, &senders, Duration::from_secs(2));
            for (&to, failed) in stations.iter().zip(&mut failed) {
                let stats = cell.link_stats(AP, Address::Station(to)).expect("it sent");
                *failed += stats.mpdus_failed as f64 / stats.mpdus as f64 / f64::from(RUNS);
                assert!(stats.mpdus_lost * 1_000 < stats.mpdus, "{to:?}: {}", stats.mpdus_lost);
            }
        }
        assert!(failed.iter().all(|&failed| failed < 0.27), "HE {is_he}: {failed:?}");
    }
}

/// Keeps 200 packets of 1 500 bytes in transit on each flow.
fn saturate_each(cell: &mut Cell, senders: &[(StationId, Address)], time: Duration) {
    let (mut now, mut held, mut tag) = (Instant::ZERO, alloc::vec![0u32; senders.len()], 0);
    while now < Instant::ZERO + time {
        for (place, &(from, to)) in senders.iter().enumerate() {
            while held[place] < 200 {
                let packet = Packet { flow_hash: place as u32, ..Packet::new(tag, 1_500, now) };
                cell.handle_packet(now, from, to, packet);
                (held[place], tag) = (held[place] + 1, tag + 1);
            }
        }
        now = cell.poll_timeout().expect("it is never idle").0;
        cell.handle_timeout(now);
        while let Some(output) = cell.poll_output() {
            let place = match output {
                Output::Delivered { packet, .. } | Output::Dropped { packet, .. } => {
                    packet.flow_hash
                }
                other => panic!("{other:?}"),
            };
            held[place as usize] -= 1;
        }
    }
}

/// MU-MIMO together with OFDMA, where the access point knows that channels change fast: spatial
/// PPDUs while reports are fresh, RUs when they are old, soundings in between. Every exchange is
/// accounted for: HE-SIG-A 32 us, HE-SIG-B compressed (52 bits for two of four users in a content
/// channel) or with RUs (79 bits), HE-STF, an HE-LTF for each stream or one; MU-BAR; Block Acks on
/// RUs of 242 tones.
#[test]
fn beside_ofdma_each_exchange_is_its_own() {
    let (n, mpdus) = (4, 3);
    let mut config = spatial(n, true, 7, mpdus);
    let acknowledgement = OfdmaAcknowledgement::MuBlockAckRequest;
    *mimo(&mut config) = MuMimoConfig { acknowledgement, doppler_hz: 8.0, ..*mimo(&mut config) };
    config.stations[AP.index()].ofdma = ofdma(n, 7, mpdus, acknowledgement).stations[0].ofdma;
    let (ppdus, delivered) = downlink(&config, 20, 1_500, Duration::from_millis(500));
    let nanos = |ppdu: &Ppdu| (ppdu.end - ppdu.start).as_nanos();
    let psdu_bytes = 2 * 1_544 + 4 + 1_538;
    let bits = |rate: Rate, carriers: u64| {
        // Coded bits of a subcarrier, by MCS, in sixths of data bits.
        let sixths = [3, 6, 9, 12, 18, 24, 27, 30];
        carriers * sixths[usize::from(rate.mcs().expect("of HE"))] / 6
    };
    let (mut in_space, mut on_units, mut settled) = (0, 0, 0);
    for (index, first) in ppdus.iter().enumerate().filter(|(_, ppdu)| ppdu.psdus.len() == n) {
        let Some(after) = ppdus.get(index + 1..index + 2 + n) else { break };
        if first.psdus.iter().any(|psdu| psdu.bytes != psdu_bytes || psdu.collided) {
            continue;
        }
        let sizes: Vec<_> = first.psdus.iter().map(|psdu| psdu.ru.map(|ru| ru.size())).collect();
        let receivers: alloc::collections::BTreeSet<_> =
            first.psdus.iter().map(|psdu| psdu.receiver).collect();
        assert_eq!(receivers.len(), n);
        let slowest = first.psdus.iter().map(|psdu| psdu.rate).min_by_key(|rate| rate.mcs());
        let slowest = slowest.expect("some");
        let data = 16 + 8 * u64::from(psdu_bytes);
        if sizes.iter().all(|size| *size == Some(RuSize::Tones996)) {
            in_space += 1;
            let signal_b = if slowest.mcs() == Some(0) { 2 } else { 1 };
            let header = 32_000 + 4_000 * signal_b + 4_000 + 4 * 7_200;
            // LDPC may need a segment more, which may begin a symbol.
            let symbols = data.div_ceil(bits(slowest, 980));
            let expected = [symbols, symbols + 1].map(|symbols| header + 13_600 * symbols);
            assert!(expected.contains(&nanos(first)), "{} {slowest}", nanos(first));
        } else {
            on_units += 1;
            assert!(sizes.iter().all(|size| *size == Some(RuSize::Tones242)));
            assert_eq!(slowest.mcs(), Some(7));
            assert_eq!(nanos(first), 47_200 + 13_600 * symbols(234, 5, psdu_bytes.into()));
        }
        let trigger = &after[0];
        assert_eq!((trigger.start - first.end).as_nanos(), SIFS);
        // As robust as the slowest needs: at 6, 12 or 24 Mb/s.
        let per_symbol = [24, 48, 48].get(usize::from(slowest.mcs().expect("of HE")));
        let symbols = (16 + 8 * (28 + 9 * n as u64) + 6).div_ceil(*per_symbol.unwrap_or(&96));
        assert_eq!(nanos(trigger), 20_000 + 4_000 * symbols);
        let answer = bits(slowest, 234).min(bits(he_of(5), 234));
        for ppdu in &after[1..] {
            assert_eq!((ppdu.start - trigger.end).as_nanos(), SIFS);
            let symbols = (16 + 8 * 60 + 6u64).div_ceil(answer);
            assert_eq!(nanos(ppdu), 48_000 + 14_400 * symbols, "{slowest}");
            assert_eq!(ppdu.psdus[0].ru.map(|ru| ru.size()), Some(RuSize::Tones242));
        }
        settled += first.frames().filter(|frame| frame.received).count() as u64;
    }
    let soundings = ppdus.iter().filter(|ppdu| is_announcement(ppdu)).count();
    assert!(in_space > 50 && on_units > 50 && soundings > 10, "{in_space} {on_units} {soundings}");
    // The others were in PPDUs for fewer, or with fewer MPDUs after losses.
    assert!(2 * settled > delivered, "{delivered} {settled}");
}

fn he_of(mcs: u8) -> Rate {
    super::ofdma::he(mcs, WIDTH)
}

/// Two packets for each of two stations every 25 ms: sounding takes more air time than it saves.
#[test]
fn it_does_not_pay_where_queues_are_short() {
    for is_he in [false, true] {
        let config = spatial(2, is_he, 7, 64);
        let airtime = |config: &CellConfig| {
            let mut cell = Cell::new(config, Seed::new(3, 0)).expect("a sound cell");
            let mut delivered = 0;
            for tag in 0..400 {
                let now = Instant::ZERO + Duration::from_millis(25 * (tag / 4));
                cell.handle_timeout(now);
                let to = Address::Station(StationId(1 + (tag % 2) as u16));
                cell.handle_packet(now, AP, to, Packet::new(tag, 300, now));
            }
            let end = Instant::ZERO + Duration::from_secs(3);
            cell.handle_timeout(end);
            while let Some(output) = cell.poll_output() {
                delivered += u32::from(matches!(output, Output::Delivered { .. }));
            }
            assert_eq!(delivered, 400);
            (0..3).map(|n| cell.station_stats(end, StationId(n)).airtime).sum::<Duration>()
        };
        let together = airtime(&config);
        let mut alone = config.clone();
        alone.stations[AP.index()].mu_mimo = None;
        let alone = airtime(&alone);
        assert!(together > alone + alone / 10, "{together}, {alone}");
    }
}

/// MPDUs are lost as the error model predicts at the SINR of the formula, which the test computes
/// itself, at the age of the report, for a link that fades at 3 Hz and has its mean strength.
#[test]
fn losses_are_those_of_the_formula() {
    let j0 = |x: f64| {
        let steps = 2_000;
        let at = |i: i32| libm::cos(x * libm::sin(core::f64::consts::PI * f64::from(i) / 2_000.0));
        (0..steps).map(at).sum::<f64>() / f64::from(steps)
    };
    for (is_he, n) in [(false, 2), (false, 4), (true, 3)] {
        let mut config = spatial(n, is_he, 7, 8);
        let fading = Fading::Rician { k: Db(90.0), doppler_hz: 3.0 };
        config.change_links(|pair| {
            pair.link.fading = fading;
            pair.link.snr = Db(26.0);
        });
        for station in &mut config.stations {
            station.rx_interrupt = if is_he { RxInterrupt::Mpdu } else { RxInterrupt::Ppdu };
        }
        let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_secs(1));
        let (mut expected, mut variance, mut lost, mut count) = (0.0, 0.0, 0.0, 0);
        let mut measured = alloc::vec![Instant::ZERO; n + 1];
        for (index, ppdu) in ppdus.iter().enumerate() {
            if is_announcement(ppdu) {
                for &aid in &ppdu.frames().next().expect("one").announced {
                    measured[usize::from(aid)] = ppdus[index + 1].end;
                }
            }
            for psdu in ppdu.psdus.iter().filter(|_| ppdu.psdus.len() > 1) {
                let Address::Station(station) = psdu.receiver else { panic!("it is one") };
                let age = (ppdu.start - measured[station.index()]).as_secs_f64();
                let rho = j0(2.0 * core::f64::consts::PI * 3.0 * age);
                // Steps of 2 pi / 512 for the phases of four antennas, and as long ones for
                // three rotations: 9/20 and 9/4 of a twelfth of their square.
                let step = 2.0 * core::f64::consts::PI / 512.0;
                let error = 1.0 - rho * rho * (1.0 - (0.45 + 2.25) * step * step / 12.0);
                let streams = ppdu.psdus.len() as f64;
                let per_stream = libm::pow(10.0, 2.6) / streams;
                let signal = per_stream * ((1.0 - error) * (5.0 - streams) + error);
                let sinr = signal / (1.0 + per_stream * (streams - 1.0) * error);
                let sinr = Db(10.0 * libm::log10(sinr));
                for frame in &psdu.frames {
                    let success = config.error_model.success(psdu.rate, sinr, frame.bytes.into());
                    let loss = 1.0 - success.as_f64();
                    expected += loss;
                    variance += loss * (1.0 - loss);
                    lost += f64::from(u8::from(!frame.received));
                    count += 1;
                }
            }
        }
        let off = (lost - expected).abs();
        assert!(count > 2_000 && expected > 100.0, "{count}, {expected}");
        assert!(off < 4.0 * libm::sqrt(variance), "{n}, HE {is_he}: {lost}, not {expected}");
    }
}

/// A third station that sends all the time, and that hears the access point but not the others: the
/// PPDUs after an NDP Announcement, or after data that all decoded, are not disturbed.
#[test]
fn others_keep_silent() {
    for is_he in [false, true] {
        let n = 3;
        let mut config = spatial(n + 1, is_he, 5, 3);
        mimo(&mut config).stations_max = n as u8;
        let hidden = StationId(n as u16 + 1);
        config.change_links(|pair| {
            let is_hidden = pair.from == hidden || pair.to == hidden;
            if is_hidden && pair.from != AP && pair.to != AP {
                pair.link.snr = Db(-40.0);
            }
        });
        config.record_events = true;
        let mut cell = Cell::new(&config, Seed::new(4, 0)).expect("a sound cell");
        let end = Instant::ZERO + Duration::from_millis(300);
        let (mut ppdus, mut tag, mut now) = (Vec::new(), 0, Instant::ZERO);
        while now < end {
            while cell.held_packets(hidden) < 20 {
                cell.handle_packet(now, hidden, Address::Station(AP), Packet::new(tag, 900, now));
                tag += 1;
            }
            while cell.held_packets(AP) < 60 {
                let to = Address::Station(StationId(1 + (tag % n as u64) as u16));
                cell.handle_packet(now, AP, to, Packet::new(tag, 1_500, now));
                tag += 1;
            }
            now = cell.due();
            cell.handle_timeout(now);
            while cell.poll_output().is_some() {}
            while let Some(event) = cell.poll_event() {
                if let Event::Ppdu(ppdu) = event {
                    ppdus.push(ppdu);
                }
            }
        }
        let of_sounding = sounding(n, is_he);
        let (mut soundings, mut exchanges) = (0, 0);
        for (index, first) in ppdus.iter().enumerate() {
            let is_heard = first.frames().all(|frame| frame.received);
            let collided = first.psdus.iter().any(|psdu| psdu.collided);
            // Whoever sent when it began could not hear it.
            let is_deaf = ppdus.iter().any(|other| {
                other.transmitter == hidden && other.start < first.end && other.end > first.start
            });
            if !is_heard || collided || is_deaf {
                continue;
            }
            let frame = first.frames().next().cloned();
            if is_announcement(first) && frame.is_some_and(|f| f.announced.len() == n) {
                let Some(all) = ppdus.get(index..index + of_sounding.0.len()) else { break };
                assert_eq!(times(all), of_sounding.0);
                soundings += 1;
            } else if first.psdus.len() > 1 {
                let acknowledgement = OfdmaAcknowledgement::BlockAckRequest;
                let account = data(first.psdus.len(), is_he, acknowledgement);
                let last = first.start + Duration::from_nanos(account.end());
                let other = ppdus[index..].iter().find(|p| p.transmitter == hidden);
                let block_acks = ppdus[index..].iter().take(2 * first.psdus.len());
                if block_acks.flat_map(Ppdu::frames).all(|frame| frame.received) {
                    assert!(other.is_none_or(|other| other.start > last), "{other:?}, {last}");
                }
                exchanges += 1;
            }
        }
        assert!(soundings > 5 && exchanges > 50, "{soundings}, {exchanges}");
    }
}

/// A station that dozes is neither sounded nor served with others.
#[test]
fn who_dozes_is_not_in_a_group() {
    for is_he in [false, true] {
        let mut config = spatial(3, is_he, 7, 16);
        config.beacon_interval = Some(Duration::from_micros(102_400));
        config.record_events = true;
        config.stations[1].power_save = Some(PowerSaveConfig::dynamic(
            Duration::from_millis(3),
            crate::mac::power_save::Retrieval::Wake,
        ));
        let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
        let (mut now, mut tag) = (Instant::ZERO, 0);
        let (mut is_dozing, mut with, mut without) = (false, 0, 0);
        while now < Instant::ZERO + Duration::from_secs(2) {
            // Station 1 has bursts.
            let burst = now.as_nanos() / 50_000_000 % 3 == 0;
            while cell.held_packets(AP) < 60 {
                let to = 1 + (tag % 3) as u16;
                let to = if to == 1 && !burst { 2 } else { to };
                let to = Address::Station(StationId(to));
                cell.handle_packet(now, AP, to, Packet::new(tag, 1_500, now));
                tag += 1;
            }
            now = cell.due();
            cell.handle_timeout(now);
            while cell.poll_output().is_some() {}
            while let Some(event) = cell.poll_event() {
                match event {
                    Event::Power { station: StationId(1), state, .. } => {
                        is_dozing = state == PowerState::Dozing;
                    }
                    Event::Ppdu(ppdu) if ppdu.psdus.len() > 1 => {
                        let one = Address::Station(StationId(1));
                        let has = ppdu.psdus.iter().any(|psdu| psdu.receiver == one);
                        assert!(!(has && is_dozing));
                        with += u32::from(has);
                        without += u32::from(is_dozing);
                    }
                    Event::Ppdu(ppdu) if is_announcement(&ppdu) => {
                        let frame = ppdu.frames().next().expect("it has one");
                        assert!(!(frame.announced.contains(&1) && is_dozing));
                    }
                    _ => {}
                }
            }
        }
        assert!(with > 20 && without > 20, "{with}, {without}");
    }
}

/// Two streams for each of two stations; three stations with antennas for two.
#[test]
fn streams_are_no_more_than_antennas() {
    let mut config = spatial(3, true, 7, 16);
    let width = WIDTH;
    let two = Rate::he(7, 2, width, HeGuardInterval::Ns800Ltf2x, false).expect("a rate");
    for station in &mut config.stations {
        station.capabilities.rates = alloc::vec![two];
        station.rate_control = RateControlConfig::Fixed { rate: two };
    }
    for (antennas, streams_max, streams, stations) in
        [(4, 2, 2, 2), (6, 2, 2, 3), (3, 1, 1, 3), (2, 1, 1, 2), (3, 2, 0, 1)]
    {
        mimo(&mut config).antennas = antennas;
        mimo(&mut config).streams_max = streams_max;
        let (ppdus, _) = downlink(&config, 40, 1_500, Duration::from_millis(100));
        let most = ppdus.iter().map(|ppdu| ppdu.psdus.len()).max();
        assert_eq!(most, Some(stations), "{antennas} antennas");
        for ppdu in ppdus.iter().filter(|ppdu| ppdu.psdus.len() > 1) {
            assert!(ppdu.psdus.iter().all(|psdu| psdu.rate.streams() == streams));
        }
    }
}

#[test]
fn what_cannot_be() {
    let of = |is_he, change: fn(&mut CellConfig)| {
        let mut config = spatial(2, is_he, 7, 3);
        change(&mut config);
        Cell::new(&config, Seed::new(1, 0)).err()
    };
    assert_eq!(of(true, |_| {}), None);
    assert_eq!(of(true, |config| mimo(config).stations_max = 8), None);
    assert_eq!(
        of(false, |config| config.stations[1].mu_mimo = config.stations[0].mu_mimo),
        Some(CellError::StationSendsMuMimo)
    );
    assert_eq!(
        of(false, |config| config.stations[0].aggregation.built_ahead = true),
        Some(CellError::MuMimoBuiltAhead)
    );
    let changes: [fn(&mut CellConfig); 6] = [
        |config| mimo(config).stations_max = 5,
        |config| mimo(config).stations_max = 1,
        |config| mimo(config).antennas = 1,
        |config| mimo(config).antennas = 9,
        |config| mimo(config).streams_max = 5,
        |config| {
            for station in &mut config.stations {
                station.capabilities.rates =
                    alloc::vec![mcs(7, ChannelWidth::Mhz20, GuardInterval::Long)];
            }
        },
    ];
    for change in changes {
        assert_eq!(of(false, change), Some(CellError::MuMimoWithoutPhy));
    }
}

/// Cells of the property test of OFDMA, with MU-MIMO, with or without OFDMA, or of 802.11ac.
fn any_cell() -> impl Strategy<Value = CellConfig> {
    let own = (2..=8u8, 2..=8u8, 1..=2u8, 1..40u64, 0..3usize, any::<bool>());
    (super::ofdma::any_cell(), own, any::<bool>(), 0.0..30.0f64).prop_map(
        |(mut config, own, is_he, doppler_hz)| {
            let (stations_max, antennas, streams_max, ms, acknowledgement, with_ofdma) = own;
            let access_point = &mut config.stations[AP.index()];
            if !with_ofdma || !is_he {
                access_point.ofdma = None;
            }
            access_point.mu_mimo = Some(MuMimoConfig {
                stations_max: if is_he { stations_max } else { stations_max.min(4) },
                streams_max,
                acknowledgement: ALL[acknowledgement],
                sounding_interval: Duration::from_millis(ms),
                ..MuMimoConfig::new(antennas)
            });
            if !is_he {
                let rates: Vec<Rate> = [0, 3, 5, 8].map(vht).to_vec();
                for station in &mut config.stations {
                    if station.capabilities.is_he() {
                        let old = station.capabilities.rates.iter().filter(|rate| rate.is_ht());
                        let all = old.copied().chain(rates.iter().copied()).collect();
                        station.capabilities = Capabilities::new(all, true);
                        station.rate_control = RateControlConfig::ideal();
                    }
                }
                config.standard = Standard::Dot11ac;
                config.error_model = crate::phy::ErrorModel::usual(Standard::Dot11ac);
            }
            config.change_links(|pair| {
                pair.link.fading = Fading::Rician { k: Db(10.0), doppler_hz };
            });
            config
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn packets_and_mpdus_add_up(
        config in any_cell(),
        packets in proptest::collection::vec((0u64..40_000, 0u16..9, 40u16..1_500, any::<bool>()), 1..300),
    ) {
        super::ofdma::add_up(&config, &packets)?;
    }
}
