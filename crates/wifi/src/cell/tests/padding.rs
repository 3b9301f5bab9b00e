//! Nominal packet padding: the duration of every PPDU of an exchange against an account written
//! from the clauses (27.3.12, 27.3.13 and 27.4.3 of IEEE 802.11ax-2021), to the nanosecond. ns-3
//! 3.37 has no packet extension, so it cannot judge.

use super::ofdma::{downlink, he, ofdm_24, ofdma, symbols};
use super::*;
use crate::event::{Event, FrameKind, Ppdu};
use crate::phy::PacketPadding;

const PADDINGS: [PacketPadding; 3] = [PacketPadding::None, PacketPadding::Us8, PacketPadding::Us16];

/// Table of T_PE by nominal packet padding and pre-FEC padding factor, in nanoseconds (27.3.13).
fn extension(padding: PacketPadding, factor: u64) -> u64 {
    1_000
        * match (padding, factor) {
            (PacketPadding::None, _) | (PacketPadding::Us8, 1 | 2) => 0,
            (PacketPadding::Us8, 3) | (PacketPadding::Us16, 1) => 4,
            (PacketPadding::Us8, _) | (PacketPadding::Us16, 2) => 8,
            (PacketPadding::Us16, 3) => 12,
            (PacketPadding::Us16, _) => 16,
            (PacketPadding::Us20, factor) => 4 + 4 * factor,
        }
}

/// The pre-FEC padding factor of a PSDU in the convolutional code: `in_six` sixths of six coded
/// bits on each of the subcarriers (27.3.12.2; N_SD,SHORT of 242 tones is 60, of 106 tones 24).
fn factor(subcarriers: u64, in_six: u64, psdu_bytes: u64) -> u64 {
    let short = match subcarriers {
        234 => 60,
        102 => 24,
        _ => unreachable!("the others are LDPC's"),
    };
    match (16 + 8 * psdu_bytes + 6) % (subcarriers * in_six) {
        0 => 4,
        excess => excess.div_ceil(short * in_six).min(4),
    }
}

fn set(config: &mut CellConfig, station: usize, padding: PacketPadding) {
    config.stations[station].capabilities.packet_padding = padding;
}

fn nanos(ppdu: &Ppdu) -> u64 {
    (ppdu.end - ppdu.start).as_nanos()
}

/// One station at 20 MHz, MCS 7: L-STF to HE-SIG-A 32 us, HE-STF 4 us, one HE-LTF of 7.2 us,
/// symbols of 13.6 us with 1 170 bits. The padding is that of the receiver, not of the sender.
#[test]
fn of_one_receiver() {
    for (own, theirs) in PADDINGS.into_iter().flat_map(|own| PADDINGS.map(|theirs| (own, theirs))) {
        let (mut lengths, width) = (alloc::collections::BTreeSet::new(), ChannelWidth::Mhz20);
        for (bytes, mpdus_max) in [(30, 1), (60, 1), (90, 1), (110, 1), (1_500, 1), (1_500, 7)] {
            let mut config = cell(1, he(7, width), width, 6_500_631);
            config.standard = Standard::Dot11ax;
            config.beacon_interval = None;
            for station in &mut config.stations {
                station.aggregation.ampdu_frames_max = mpdus_max;
                station.queue = QueueConfig::DropTail { limit: Limit::Packets(1_000) };
            }
            set(&mut config, 0, own);
            set(&mut config, 1, theirs);
            let (ppdus, delivered) = downlink(&config, 30, bytes, Duration::from_millis(20));
            assert!(delivered > 30);
            let data = ppdus
                .iter()
                .filter(|ppdu| matches!(ppdu.psdus[0].frames[0].kind, FrameKind::QosData { .. }));
            for ppdu in data {
                let psdu_bytes = u64::from(ppdu.psdus[0].bytes);
                let factor = factor(234, 5, psdu_bytes);
                lengths.insert(factor);
                let expected = 43_200 + 13_600 * symbols(234, 5, psdu_bytes);
                assert_eq!(nanos(ppdu), expected + extension(theirs, factor), "{psdu_bytes}");
            }
        }
        assert_eq!(lengths.len(), 4, "every factor is there");
    }
}

/// A-MPDUs with their packet extension fill the limit: one more MPDU would not fit, and none is
/// longer.
#[test]
fn the_limit_on_durations_counts_it() {
    let (width, limit) = (ChannelWidth::Mhz20, Duration::from_nanos(2_000_000));
    for padding in PADDINGS {
        let mut config = cell(1, he(7, width), width, 6_500_631);
        config.standard = Standard::Dot11ax;
        config.beacon_interval = None;
        for station in &mut config.stations {
            station.aggregation.ampdu_duration_max = limit;
            station.aggregation.ampdu_frames_max = 256;
            station.block_ack.window = 256;
            station.queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
        }
        set(&mut config, 1, padding);
        // With subframes of 144 bytes.
        let (ppdus, _) = downlink(&config, 1_000, 100, Duration::from_millis(40));
        let of = |bytes| {
            43_200 + 13_600 * symbols(234, 5, bytes) + extension(padding, factor(234, 5, bytes))
        };
        let longest = (1..).map(|n| n * 144 - 2).take_while(|&bytes| of(bytes) <= 2_000_000);
        let longest = longest.last().expect("some fit");
        let bytes = |ppdu: &Ppdu| u64::from(ppdu.psdus[0].bytes);
        assert_eq!(ppdus.iter().map(bytes).max(), Some(longest), "{padding:?}");
        let full: Vec<u64> = ppdus.iter().filter(|p| bytes(p) == longest).map(nanos).collect();
        assert!(full.len() > 5 && full.iter().all(|&nanos| nanos == of(longest)));
    }
}

/// Four and eight stations with three MPDUs of 1 538 bytes each: the HE MU PPDU has the longest
/// padding among the stations, the Block Acks together that of the access point, OFDM PPDUs none.
#[test]
fn of_several_at_once() {
    for (stations, subcarriers) in [(4, 234), (8, 102)] {
        for (needs, own) in PADDINGS.into_iter().flat_map(|it| PADDINGS.map(|own| (it, own))) {
            let mut config = ofdma(stations, 7, 3, OfdmaAcknowledgement::MuBlockAckRequest);
            set(&mut config, 0, own);
            // One station needs it, and another one less: the order does not matter.
            set(&mut config, stations, needs);
            set(&mut config, 1, needs.min(PacketPadding::Us8));
            let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_millis(50));
            let psdu = 2 * 1_544 + 4 + 1_538;
            let header = 32_000 + 4_000 + 4_000 + 7_200;
            let data = header
                + 13_600 * symbols(subcarriers, 5, psdu)
                + extension(needs, factor(subcarriers, 5, psdu));
            let trigger_bytes = 24 + 4 + 9 * stations as u64;
            let trigger = 1_000 * ofdm_24(trigger_bytes);
            let answer = 48_000
                + 14_400 * symbols(subcarriers, 4, 60)
                + extension(own, factor(subcarriers, 4, 60));
            let mut seen = 0;
            for (index, first) in ppdus.iter().enumerate() {
                let is_full = first.psdus.len() == stations
                    && first.psdus.iter().all(|one| u64::from(one.bytes) == psdu);
                let Some(after) = ppdus.get(index + 1..index + 2 + stations) else { break };
                if !is_full {
                    continue;
                }
                seen += 1;
                assert_eq!(nanos(first), data, "{stations} {needs:?} {own:?}");
                assert_eq!(nanos(&after[0]), trigger);
                assert!(after[1..].iter().all(|ppdu| nanos(ppdu) == answer));
                assert_eq!(
                    (after[1].end - first.start).as_nanos(),
                    data + trigger + answer + 32_000
                );
            }
            assert!(seen > 5, "{seen}");
        }
    }
}

/// An answer to a Basic Trigger frame has the duration in the frame: its padding is for the access
/// point, independent of the stations' needs. All answers fill the same symbols.
#[test]
fn of_several_who_answer() {
    for own in PADDINGS {
        let mut config = ofdma(4, 7, 256, OfdmaAcknowledgement::MuBlockAckRequest);
        for station in &mut config.stations {
            station.queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
        }
        let timer = Duration::from_nanos(8_192_000 * 255);
        let silent = MuEdcaParameters { aifsn: 0, cw_min: 15, cw_max: 1_023, timer };
        config.stations[AP.index()].ofdma.as_mut().expect("set").uplink =
            Some(UplinkConfig { buffer_reports: None, mu_edca: [Some(silent); 4] });
        set(&mut config, 0, own);
        (1..=4).for_each(|n| set(&mut config, n, PacketPadding::Us16));
        let config = CellConfig { record_events: true, ..config };
        let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
        let (mut now, mut tag, mut longest) = (Instant::ZERO, 0, Vec::new());
        for station in (1..=4).cycle().take(2_400).map(StationId) {
            let packet = Packet::new(tag, 1_500, now);
            cell.handle_packet(now, station, Address::Station(AP), packet);
            tag += 1;
        }
        while now < Instant::ZERO + Duration::from_millis(100) {
            now = cell.poll_timeout().expect("it is never idle").0;
            cell.handle_timeout(now);
            while cell.poll_output().is_some() {}
            while let Some(event) = cell.poll_event() {
                if let Event::Ppdu(ppdu) = event
                    && ppdu.psdus[0].ru.is_some()
                {
                    longest.push(nanos(&ppdu));
                }
            }
        }
        // 27.4.3: up to 5.484 ms behind 48 us, symbols of 14.4 us, and the extension of as many
        // segments as fit: symbol 378 would end at 5 491 200 ns.
        let fits = |segments: u64| {
            let (symbols, factor) = (segments.div_ceil(4), (segments - 1) % 4 + 1);
            48_000 + 14_400 * symbols + extension(own, factor)
        };
        let expected = (1..4 * 400).map(fits).take_while(|&nanos| nanos <= 5_484_000).last();
        assert!(longest.len() >= 8, "{longest:?}");
        assert_eq!(longest.iter().copied().max(), expected, "{own:?}");
    }
}
