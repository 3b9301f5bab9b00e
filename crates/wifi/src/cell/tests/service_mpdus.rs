//! A-MPDUs in unscheduled service periods (U-APSD): PPDUs of 802.11n, 802.11ac and 802.11ax against
//! an account of each frame, to the nanosecond, and invariants under losses.

use super::ofdma::he;
use super::service::{
    ACK, Flow, Log, QOS_NULL, SIFS, SLOW_ACK, STA, at, flow, is_access, unscheduled, us,
};
use super::*;
use crate::event::{FrameKind, Ppdu};
use crate::mac::service_period::{FramesMax, ServicePeriodConfig, UnscheduledConfig};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// An access point and stations with U-APSD that aggregate.
fn phones(standard: Standard, stations: usize, config: UnscheduledConfig) -> CellConfig {
    let (rate, width, ampdu) = match standard {
        Standard::Dot11ac => {
            let width = ChannelWidth::Mhz80;
            let rate = Rate::vht(7, 1, width, GuardInterval::Long).expect("a rate");
            (rate, width, 1_048_575)
        }
        Standard::Dot11ax => (he(7, ChannelWidth::Mhz80), ChannelWidth::Mhz80, 6_500_631),
        _ => {
            let width = ChannelWidth::Mhz20;
            (mcs(15, width, GuardInterval::Long), width, 65_535)
        }
    };
    let mut cell = cell(stations, rate, width, ampdu);
    cell.standard = standard;
    cell.record_events = true;
    for station in &mut cell.stations[1..] {
        station.service_periods = Some(ServicePeriodConfig::Unscheduled(config));
    }
    cell
}

/// A PPDU with `mpdus` packets of 200 bytes: MPDUs of 238 bytes, alone or each with a delimiter and
/// padded to 4 bytes, but for the last.
fn ppdu(standard: Standard, mpdus: u64) -> Duration {
    let aggregated = (mpdus - 1) * 244 + 242;
    let bits = |bytes: u64| 16 + 8 * bytes;
    match standard {
        // L-STF, L-LTF, L-SIG, VHT-SIG-A, STF, LTF, SIG-B; 234 tones of 6 bits at 5/6, 6 tail bits.
        Standard::Dot11ac => us(40) + us(4) * (bits(aggregated) + 6).div_ceil(1_170),
        // L-STF, L-LTF, L-SIG, RL-SIG, HE-SIG-A, STF, LTF.
        Standard::Dot11ax => {
            let symbol = Duration::from_nanos(13_600);
            Duration::from_nanos(43_200) + symbol * he_symbols(bits(aggregated))
        }
        // Two streams of 52 tones of 6 bits at 5/6.
        _ => {
            let bytes = if mpdus == 1 { 238 } else { aggregated };
            us(40) + us(4) * (bits(bytes) + 6).div_ceil(520)
        }
    }
}

/// HE symbols of 980 tones of 6 bits, a quarter of them of 240 tones, at 5/6 (27.3.12.5), for this
/// many bits in LDPC codewords of 1 944: one segment more if too many bits would be punctured
/// (19.3.11.7.5).
fn he_symbols(bits: u64) -> u64 {
    let (whole, rest) = (bits.div_ceil(4_900), (bits - 1) % 4_900 + 1);
    let segments = rest.div_ceil(1_200).min(4);
    let of = |last: u64, each: u64| if segments == 4 { last } else { each * segments };
    let payload = (whole - 1) * 4_900 + of(4_900, 1_200);
    let available = (whole - 1) * 5_880 + of(5_880, 1_440);
    assert!(available > 2_592, "or codewords are shorter");
    let codewords = payload.div_ceil(1_620);
    let shortened = codewords * 1_620 - payload;
    let punctured = (codewords * 1_944).saturating_sub(available + shortened);
    let is_longer = 10 * punctured > codewords * 324 && 10 * shortened < 12 * punctured * 5
        || 10 * punctured > 3 * codewords * 324;
    whole + u64::from(is_longer && segments == 4)
}

/// Duration of a compressed Block Ack at 24 Mb/s: 32 bytes, or 56 with the bitmap of 256 of
/// 802.11ax.
fn block_ack(standard: Standard) -> Duration {
    us(if standard == Standard::Dot11ax { 40 } else { 32 })
}

const STANDARDS: [Standard; 3] = [Standard::Dot11n, Standard::Dot11ac, Standard::Dot11ax];
const LENGTHS: [FramesMax; 4] = [Some(2), Some(4), Some(6), None];

/// A PPDU of the account: sender, MPDUs (0: QoS Null), EOSP, More Data.
type Account = (StationId, u64, bool, bool);

/// The PPDUs for `held` queued packets after the station sends one itself, in as many periods as
/// Max SP Length requires. In each period all but the last packet are in an A-MPDU, then that one
/// has EOSP. A QoS Null frame begins the next period.
fn account(held: u64, frames_max: FramesMax) -> Vec<Account> {
    let mut account = alloc::vec![(STA, 1, false, false)];
    let mut left = held;
    while left > 0 {
        let number = frames_max.map_or(left, |most| left.min(most.into()));
        if number > 1 {
            account.push((AP, number - 1, false, true));
        }
        left -= number;
        account.push((AP, 1, true, left > 0));
        if left > 0 {
            account.push((STA, 0, false, false));
        }
    }
    account
}

fn exchanges(log: &Log, since: Instant) -> Vec<[&Ppdu; 2]> {
    let is_beacon = |ppdu: &&Ppdu| matches!(ppdu.psdus[0].frames[0].kind, FrameKind::Beacon { .. });
    let ppdus: Vec<&Ppdu> = log.ppdus().filter(|p| p.start >= since && !is_beacon(p)).collect();
    ppdus.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[test]
fn all_but_the_last_frame_of_a_period_are_aggregated() {
    for (standard, frames_max) in STANDARDS.into_iter().flat_map(|s| LENGTHS.map(|l| (s, l))) {
        for held in 1..=7 {
            let config = phones(standard, 1, unscheduled(frames_max));
            let warm = |from, to| Flow { until: ms(90), ..flow(from, to, ms(5), ms(20)) };
            let (from, asks) = (us(150_500), at(ms(160)));
            let burst = Flow { until: from + us(10) * held, ..flow(AP, STA, from, us(10)) };
            let own = Flow { until: ms(161), ..flow(STA, AP, ms(160), ms(20)) };
            let flows = [warm(AP, STA), warm(STA, AP), burst, own];
            let log = Log::of(&config, &flows, ms(200));
            assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
            assert!(log.in_vain(STA).is_empty());
            let expected = account(held, frames_max);
            let sent = exchanges(&log, asks);
            let of = (standard, frames_max, held);
            assert_eq!(sent.len(), expected.len(), "{of:?}");
            let (mut idle, mut knows) = (asks, asks);
            let mut delivered = log.packets.iter().filter(|p| p.0 == AP && p.1 > asks);
            for ([data, answer], (sender, mpdus, ends, more)) in sent.into_iter().zip(expected) {
                assert!(is_access(data.start - idle), "{of:?}: {:?}", data.start - idle);
                let psdu = &data.psdus[0];
                assert_eq!(data.transmitter, sender, "{of:?}");
                let (length, response) = match mpdus {
                    0 => (QOS_NULL, SLOW_ACK),
                    1 => (ppdu(standard, 1), ACK),
                    more => (ppdu(standard, more), block_ack(standard)),
                };
                assert_eq!(psdu.frames.len() as u64, mpdus.max(1), "{of:?}");
                assert_eq!(data.end - data.start, length, "{of:?}");
                for frame in &psdu.frames {
                    let bits = (frame.end_of_service_period, frame.more_data);
                    assert_eq!((bits, frame.received), ((ends, more), true), "{of:?}");
                    assert_eq!(frame.power_management, sender == STA);
                }
                assert_eq!(
                    (answer.start, answer.end),
                    (data.end + SIFS, data.end + SIFS + response)
                );
                idle = answer.end;
                if sender == STA {
                    knows = data.end;
                    continue;
                }
                for _ in 0..mpdus {
                    let (_, came, packet) = delivered.next().expect("it is sent");
                    assert_eq!(*came, data.end, "{of:?}");
                    assert_eq!(packet.parts.absent.asleep(), knows - packet.created, "{of:?}");
                    assert_eq!(packet.parts.total(), *came - packet.created, "{of:?}");
                }
            }
            let awake = log.awake(STA, at(ms(200)));
            assert!(awake.contains(&(asks, idle)), "{of:?}: {awake:?}");
        }
    }
}

/// An A-MPDU of the station begins a service period, as each of its frames would.
#[test]
fn an_a_mpdu_begins_a_service_period() {
    for standard in STANDARDS {
        let config = phones(standard, 1, unscheduled(None));
        let warm = |from, to| Flow { until: ms(90), ..flow(from, to, ms(5), ms(20)) };
        let held = Flow { until: us(150_530), ..flow(AP, STA, us(150_500), us(10)) };
        let own = Flow { until: us(160_005), ..flow(STA, AP, ms(160), us(1)) };
        let flows = [warm(AP, STA), warm(STA, AP), held, own];
        let log = Log::of(&config, &flows, ms(200));
        assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
        let sent = exchanges(&log, at(ms(160)));
        let [[data, ack], [first, _], [last, over]] = sent[..] else { unreachable!("{sent:?}") };
        assert_eq!((data.transmitter, data.psdus[0].frames.len()), (STA, 5));
        assert_eq!(data.end - data.start, ppdu(standard, 5));
        assert!(data.psdus[0].frames.iter().all(|frame| frame.power_management));
        assert_eq!(ack.end - ack.start, block_ack(standard));
        assert_eq!((first.transmitter, first.psdus[0].frames.len()), (AP, 2));
        assert!(last.psdus[0].frames[0].end_of_service_period);
        assert!(log.awake(STA, at(ms(200))).contains(&(at(ms(160)), over.end)));
    }
}

/// Without an agreement the access point requests one in the first period that may have more
/// frames, and the data follow its answer.
#[test]
fn the_access_point_asks_for_an_agreement_in_a_service_period() {
    for (frames_max, most) in LENGTHS.map(|length| (length, length.map_or(10, u64::from))) {
        let config = phones(Standard::Dot11n, 1, unscheduled(frames_max));
        let from = us(150_500);
        let burst = Flow { until: from + us(100), ..flow(AP, STA, from, us(10)) };
        let log = Log::of(&config, &[burst], ms(1_000));
        assert_eq!((log.packets.len(), log.dropped), (10, 0));
        let asked: Vec<_> = log
            .ppdus()
            .filter(|ppdu| {
                let kind = ppdu.psdus[0].frames[0].kind;
                matches!(kind, FrameKind::AddbaRequest { .. } | FrameKind::AddbaResponse { .. })
            })
            .map(|ppdu| ppdu.transmitter)
            .collect();
        assert_eq!(asked, [AP, STA]);
        // The request is one of the frames of its period.
        assert_eq!(log.stats[1].triggers, 11u64.div_ceil(most + u64::from(frames_max.is_none())));
        assert!(log.in_vain(STA).is_empty());
    }
}

/// The station's frames get through, but acknowledgements and data to it may be lost, and no frame
/// is given up. Then no period has more frames than agreed, EOSP is sent after all frames before it
/// have arrived, and until its acknowledgement only that frame follows.
#[test]
fn periods_end_when_everything_has_come() {
    let mut aggregates = 0;
    for (number, frames_max) in (0..40).flat_map(|n| LENGTHS.map(|length| (n, length))) {
        let standard = STANDARDS[number % 3];
        let mut config = phones(standard, 1, unscheduled(frames_max));
        config.stations.iter_mut().for_each(|station| station.retry_limit = 20);
        config.change_links(|pair| {
            let loss = if pair.from == AP { 0.05 + 0.01 * number as f64 } else { 0.0 };
            pair.link.loss = Probability::new(loss);
        });
        let apart = Duration::from_micros(2_000 + 311 * number as u64);
        let flows = [
            Flow { until: ms(2_000), ..flow(AP, STA, ms(5), apart) },
            Flow { until: ms(2_000), ..flow(STA, AP, ms(6), ms(20)) },
        ];
        let log = Log::of(&config, &flows, ms(4_000));
        assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
        let of = (standard, number, frames_max);
        let (mut sent, mut came) = (BTreeSet::new(), BTreeSet::new());
        let (mut last, mut lost) = (None, 0);
        for ppdu in log.ppdus().filter(|ppdu| ppdu.transmitter == AP) {
            let psdu = &ppdu.psdus[0];
            for frame in &psdu.frames {
                if !matches!(frame.kind, FrameKind::QosData { .. } | FrameKind::QosNull { .. }) {
                    continue;
                }
                let id = (matches!(frame.kind, FrameKind::QosData { .. }), frame.sequence.as_u16());
                assert!(last.is_none_or(|last| last == id), "{of:?}: {last:?}, {id:?}");
                if frame.end_of_service_period {
                    last = Some(id);
                    let missing: Vec<_> = sent.difference(&came).filter(|s| **s != id.1).collect();
                    assert!(missing.is_empty(), "{of:?}: {missing:?}");
                }
                if id.0 {
                    sent.insert(id.1);
                    assert!(
                        frames_max.is_none_or(|most| sent.len() <= usize::from(most)),
                        "{of:?}"
                    );
                }
                if frame.received {
                    came.insert(id.1);
                }
                if frame.received && frame.end_of_service_period {
                    (last, sent, came) = (None, BTreeSet::new(), BTreeSet::new());
                }
            }
            aggregates += u32::from(psdu.frames.len() > 1);
            lost += psdu.frames.iter().filter(|frame| !frame.received).count();
        }
        assert!(lost > 20, "{of:?}: {lost}");
        assert_eq!(log.left_early(STA), []);
        assert_eq!(log.in_vain(STA), []);
    }
    assert!(aggregates > 2_000, "{aggregates}");
}

/// Packets that a station leaves in the driver after its service period do not reduce the others'
/// share of the driver queue.
#[test]
fn others_do_not_wait_for_who_dozes() {
    for (seed, packets) in (0..20).flat_map(|seed| [1, 4, 12].map(|packets| (seed, packets))) {
        let mut config = phones(Standard::Dot11ax, 2, unscheduled(Some(4)));
        config.stations[2].service_periods = None;
        config.stations.iter_mut().for_each(|station| station.retry_limit = 3);
        config.stations[0].driver_queue = DriverLimit::Packets(packets);
        config.change_links(|pair| {
            if [pair.from, pair.to].contains(&STA) {
                pair.link.loss = Probability::new(0.5);
            }
        });
        let other = StationId(2);
        let flows = [
            Flow { until: ms(1_000), ..flow(AP, STA, ms(5), ms(4)) },
            Flow { until: ms(1_000), ..flow(STA, AP, ms(6 + seed), ms(90)) },
            Flow { until: ms(1_000), ..flow(AP, other, ms(7), ms(3)) },
        ];
        let log = Log::of(&config, &flows, ms(30_000));
        assert_eq!(log.packets.len() as u64 + log.dropped, log.sent);
        let ends = |packet: &lasthop_packet::Packet| log.receivers[packet.tag as usize];
        let to_other = log.packets.iter().filter(|(_, _, packet)| ends(packet) == other);
        let delays = to_other.map(|(_, came, packet)| *came - packet.created);
        let longest = delays.max().expect("some come");
        // Some PPDUs of the other one, and their repetitions, go ahead.
        assert!(longest < ms(15), "{seed} {packets}: {longest}");
    }
}

/// More Data counts packets that were held when the frame began, not those that came while it was
/// on the air.
#[test]
fn more_data_is_what_was_held() {
    for frames_max in LENGTHS {
        let config = phones(Standard::Dot11ax, 1, unscheduled(frames_max));
        let video = Flow { bytes: 1_200, ..flow(AP, STA, ms(8), us(911)) };
        let log = Log::of(&config, &[video, flow(STA, AP, ms(1), ms(20))], ms(5_000));
        assert_eq!((log.packets.len() as u64, log.dropped), (log.sent, 0));
        let to_station: Vec<_> = log.packets.iter().filter(|packet| packet.0 == AP).collect();
        let mut meanwhile = 0;
        for ppdu in log.ppdus().filter(|ppdu| ppdu.transmitter == AP) {
            let frame = &ppdu.psdus[0].frames[0];
            if !matches!(frame.kind, FrameKind::QosData { .. } | FrameKind::QosNull { .. }) {
                continue;
            }
            let mut held = to_station
                .iter()
                .filter(|(_, came, packet)| packet.created <= ppdu.start && *came > ppdu.end);
            assert_eq!(frame.more_data, held.next().is_some(), "{:?}", ppdu.start);
            let came = |created| created > ppdu.start && created <= ppdu.end;
            let is_tight = frame.end_of_service_period && !frame.more_data;
            meanwhile += u32::from(is_tight && to_station.iter().any(|p| came(p.2.created)));
        }
        assert!(meanwhile > 5 || frames_max.is_some(), "{meanwhile}");
    }
}
