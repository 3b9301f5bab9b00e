//! OFDMA of 802.11be: PPDUs on the air against an account of each frame, written from published
//! descriptions of EHT-SIG and of the Trigger frame (IEEE 802.11be-2024, 36.3.12.8, 36.4.3,
//! 9.3.1.22), to the nanosecond, and against 802.11ax; cells of both generations.

use super::ofdma::{ALL, add_up, any_cell, downlink, ofdm_24, ofdma};
use super::uplink::{run, silent, uplink};
use super::*;
use crate::event::{FrameKind, Ppdu};
use crate::phy::{HeGuardInterval, RuSize};
use alloc::vec::Vec;
use proptest::prelude::*;

const GI: HeGuardInterval = HeGuardInterval::Ns800Ltf2x;

fn eht(mcs: u8, width: ChannelWidth) -> Rate {
    Rate::eht(mcs, 1, width, GI).expect("a rate")
}

/// The same cell of 802.11be at 6 GHz, with this width, fixed rate and windows of 1 024.
pub(super) fn of_be(mut config: CellConfig, mcs: u8, width: ChannelWidth) -> CellConfig {
    (config.standard, config.band) = (Standard::Dot11be, Band::Ghz6);
    let rate = eht(mcs, width);
    for station in &mut config.stations {
        station.capabilities = Capabilities::new(alloc::vec![rate], true);
        station.rate_control = RateControlConfig::Fixed { rate };
        station.block_ack.window = 1_024;
    }
    config
}

/// Symbols for `psdu_bytes` with this many bits per subcarrier; the code is LDPC.
pub(super) fn symbols(subcarriers: u64, bits: u64, psdu_bytes: u64) -> u64 {
    (16 + 8 * psdu_bytes).div_ceil(subcarriers * bits)
}

/// Width, stations, their RUs with data subcarriers, and symbols of EHT-SIG at 104 bits: 17 bits
/// and 10 of CRC and tail, 9 for each RU allocation of a content channel, another 10 from 160 MHz
/// on, 32 for one station and 54 for two.
const CELLS: [(ChannelWidth, usize, RuSize, u64, u64); 4] = [
    // 17 + 18 + 10 + 32.
    (ChannelWidth::Mhz80, 2, RuSize::Tones484, 468, 1),
    // 17 + 18 + 10 + 54.
    (ChannelWidth::Mhz80, 4, RuSize::Tones242, 234, 1),
    // 17 + 72 + 20 + 32.
    (ChannelWidth::Mhz320, 2, RuSize::Tones2x996, 1960, 2),
    // 17 + 72 + 20 + 54.
    (ChannelWidth::Mhz320, 4, RuSize::Tones996, 980, 2),
];

/// The instants of the frames of an exchange whose first PPDU is at this index, in nanoseconds.
pub(super) fn instants(ppdus: &[Ppdu], index: usize, count: usize) -> Option<Vec<(u64, u64)>> {
    let first = ppdus.get(index)?.start;
    let frames = ppdus.get(index..index + count)?.iter();
    let times = frames.map(|ppdu| [ppdu.start, ppdu.end].map(|at| (at - first).as_nanos()));
    Some(times.map(|[start, end]| (start, end)).collect())
}

/// Three MPDUs of 1 538 bytes to each station at MCS 7.
#[test]
fn every_frame_begins_and_ends_when_the_clauses_say() {
    for (width, stations, size, subcarriers, of_signal) in CELLS {
        for acknowledgement in ALL {
            let config = of_be(ofdma(stations, 7, 3, acknowledgement), 7, width);
            let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_millis(50));
            // With a Trigger frame of 46 bytes (24 + 4 + 2 * 9, with the Special User Info) padding,
            // and a delimiter.
            let data = 2 * 1_544 + 4 + 1_538;
            let psdu = match acknowledgement {
                OfdmaAcknowledgement::Aggregated => data + 2 + 4 + 46,
                _ => data,
            };
            // L-STF to U-SIG, EHT-SIG, EHT-STF, one EHT-LTF.
            let header = 32_000 + 4_000 * of_signal + 4_000 + 7_200;
            let ppdu = header + 13_600 * symbols(subcarriers, 5, psdu);
            let (sifs, n) = (16_000, stations as u64);
            // A Block Ack of 1 024 bits has 152 bytes; trigger-based it has a delimiter, and is
            // sent at MCS 5 behind 32 us, EHT-STF of 8 us and one EHT-LTF of 8 us.
            let block_ack = 1_000 * ofdm_24(152);
            let triggered = 48_000 + 14_400 * symbols(subcarriers, 4, 156);
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
                    let at = after(ppdu + sifs, 1_000 * ofdm_24(28 + 9 * (n + 1)));
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
            let all = |ppdu: &&Ppdu| ppdu.psdus.len() == stations;
            for (index, first) in ppdus.iter().enumerate().filter(|(_, ppdu)| all(ppdu)) {
                let Some(found) = instants(&ppdus, index, expected.len()) else { break };
                assert_eq!(found, expected, "{stations} stations, {acknowledgement:?}");
                for own in &first.psdus {
                    assert_eq!(u64::from(own.bytes), psdu);
                    assert_eq!(own.ru.map(|ru| ru.size()), Some(size));
                    assert!(own.rate.is_eht() && own.frames.iter().all(|frame| frame.received));
                }
                exchanges += 1;
            }
            assert!(exchanges > 10, "{exchanges}");
        }
    }
}

/// On RUs with LDPC in both generations, data take as long as with 802.11ax: of the preamble,
/// EHT-SIG alone differs, and of the frames the Trigger frame.
#[test]
fn equal_rus_last_as_long_as_in_802_11ax() {
    for mcs in [0, 3, 9, 11] {
        for acknowledgement in ALL {
            let width = ChannelWidth::Mhz80;
            let he = ofdma(2, mcs, 30, acknowledgement);
            let mut be = of_be(he.clone(), mcs, width);
            be.band = he.band;
            be.stations.iter_mut().for_each(|station| station.block_ack.window = 256);
            let longest = |config: &CellConfig| {
                let (ppdus, _) = downlink(config, 100, 1_500, Duration::from_millis(60));
                let several = ppdus.iter().filter(|ppdu| ppdu.psdus.len() == 2);
                let full =
                    several.filter(|ppdu| ppdu.psdus.iter().all(|own| own.frames.len() >= 5));
                let times = full.map(|it| ((it.end - it.start).as_nanos(), it.psdus[0].bytes));
                times.max().expect("some")
            };
            let (of_he, of_be) = (longest(&he), longest(&be));
            // HE-SIG-B has 27 and 31 bits in symbols of 26 to 208; EHT-SIG 77 of 26, 52 or 104.
            let (he_symbols, eht_symbols) = if mcs == 0 { (3, 3) } else { (1, 1) };
            if acknowledgement == OfdmaAcknowledgement::Aggregated {
                // Its own Trigger frame has 9 bytes more, and what is padded to 4.
                assert!(of_be.1 >= of_he.1 + 9 && of_be.1 <= of_he.1 + 12 || mcs == 0);
                continue;
            }
            assert_eq!(of_he.1, of_be.1);
            assert_eq!(of_he.0 + 4_000 * (eht_symbols - he_symbols), of_be.0, "MCS {mcs}");
        }
    }
}

/// Solicited data of stations that hold many packets: the times from the Basic Trigger frame to each
/// frame, for PPDUs of up to 5.484 ms.
#[test]
fn the_uplink_by_hand() {
    for (width, stations, size, subcarriers, _) in CELLS {
        let n = stations as u64;
        let config = of_be(uplink(stations, 7, 1_024, silent(None)), 7, width);
        let (ppdus, _) = run(&config, (1_200, 0), 1_500, Duration::from_millis(200));
        let trigger = 1_000 * ofdm_24(28 + 6 * (n + 1));
        let data = 48_000 + 14_400 * 377;
        let block_ack = 1_000 * ofdm_24(22 + 132 * n);
        let sifs = 16_000;
        let mut expected = alloc::vec![(0, trigger)];
        let at = trigger + sifs;
        expected.extend(core::iter::repeat_n((at, at + data), stations));
        let at = at + data + sifs;
        expected.push((at, at + block_ack));
        let mut exchanges = 0;
        for (index, first) in ppdus.iter().enumerate() {
            let frame = &first.psdus[0].frames[0];
            let asks_all = frame.triggered.len() == stations;
            if !matches!(frame.kind, FrameKind::BasicTrigger { .. }) || !asks_all {
                continue;
            }
            let Some(found) = instants(&ppdus, index, expected.len()) else { break };
            assert_eq!(found, expected, "{stations} stations of {width}");
            assert!(frame.triggered.iter().all(|user| user.is_eht && user.ru.size() == size));
            for answer in &ppdus[index + 1..=index + stations] {
                let psdu = &answer.psdus[0];
                assert_eq!(psdu.ru.map(|ru| ru.size()), Some(size));
                // 377 symbols of MCS 7 hold that many subframes of 1 544 bytes.
                let most = subcarriers * 5 * 377 / 8 / 1_544;
                assert!((most - 1..=most).contains(&(psdu.frames.len() as u64)), "{most}");
            }
            exchanges += 1;
        }
        assert!(exchanges > 10, "{stations} stations of {width}: {exchanges}");
    }
}

/// The cell with every other station of 802.11ax, in up to 160 MHz.
pub(super) fn mixed(mut config: CellConfig, width: ChannelWidth) -> CellConfig {
    let older = width.min(ChannelWidth::Mhz160);
    let old = ChannelWidth::ALL.into_iter().filter(|it| *it <= older);
    let old: Vec<Rate> = old.flat_map(|width| Rate::all_he(width, GI, 1)).collect();
    for (index, station) in config.stations.iter_mut().enumerate() {
        let new = ChannelWidth::ALL_EHT.into_iter().filter(|it| *it <= width);
        let new: Vec<Rate> = new.flat_map(|width| Rate::all_eht(width, GI, 1)).collect();
        let rates = match index {
            0 => [old.clone(), new].concat(),
            _ if index % 2 == 0 => old.clone(),
            _ => new,
        };
        station.capabilities = Capabilities::new(rates, true);
        station.rate_control = RateControlConfig::ideal();
        station.block_ack.window = station.capabilities.block_ack_window_max;
    }
    (config.standard, config.band) = (Standard::Dot11be, Band::Ghz6);
    config
}

/// A PPDU to several stations, and a Trigger frame, are of one generation; each gets its turn.
#[test]
fn stations_of_two_generations() {
    for width in [ChannelWidth::Mhz80, ChannelWidth::Mhz320] {
        for reports in [None, Some(Duration::from_millis(5))] {
            let config = mixed(uplink(8, 7, 64, silent(reports)), width);
            let (ppdus, _) = run(&config, (100, 100), 1_500, Duration::from_millis(400));
            let (mut down, mut up) = ([0u32; 9], [0u32; 9]);
            let mut together = [0u32; 2];
            for ppdu in &ppdus {
                let is_eht = |station: usize| station % 2 == 1;
                if ppdu.transmitter == AP && ppdu.psdus.len() > 1 {
                    let generation = ppdu.psdus[0].rate.is_eht();
                    together[usize::from(generation)] += 1;
                    for psdu in &ppdu.psdus {
                        let Address::Station(station) = psdu.receiver else { panic!("a station") };
                        assert_eq!(psdu.rate.is_eht(), generation);
                        assert_eq!(is_eht(station.index()), generation);
                        let most = if generation { width } else { width.min(ChannelWidth::Mhz160) };
                        assert_eq!(psdu.rate.width(), most);
                    }
                }
                for psdu in &ppdu.psdus {
                    let data = psdu
                        .frames
                        .iter()
                        .filter(|it| matches!(it.kind, FrameKind::QosData { .. }));
                    let count = data.count() as u32;
                    match psdu.receiver {
                        Address::Station(AP) => up[ppdu.transmitter.index()] += count,
                        Address::Station(station) => down[station.index()] += count,
                        Address::Group => {}
                    }
                    let asked = &psdu.frames[0].triggered;
                    assert!(asked.iter().all(|user| user.is_eht == asked[0].is_eht));
                    assert!(asked.iter().all(|user| user.is_eht == is_eht(user.aid.into())));
                }
            }
            assert!(together.iter().all(|count| *count > 10), "{together:?}");
            for counts in [down, up] {
                let (least, most) = (counts[1..].iter().min(), counts[1..].iter().max());
                assert!(least > Some(&100), "{counts:?}");
                assert!(most.copied() < least.map(|least| 4 * least), "{counts:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every packet is delivered once or lost with a reason, with stations of both generations and
    /// older ones, whatever the width; with and without solicitations.
    #[test]
    fn packets_and_mpdus_add_up(
        config in any_cell(),
        width in 0usize..5,
        solicits in any::<bool>(),
        packets in proptest::collection::vec((0u64..20_000, 0u16..9, 40u16..1_500, any::<bool>()), 1..200),
    ) {
        let ofdma = config.stations[AP.index()].ofdma;
        let mut config = mixed(config, ChannelWidth::ALL_EHT[width]);
        let uplink = solicits.then(|| silent(None));
        config.stations[AP.index()].ofdma = ofdma.map(|it| OfdmaConfig { uplink, ..it });
        add_up(&config, &packets)?;
    }
}
