//! Transmission opportunities of several exchanges (IEEE 802.11-2020, 10.23.2.8 and 10.23.2.9): the
//! PPDUs from the first frame to the last response.

use super::ofdma::ALL;
use super::*;
use crate::event::{FrameKind, Ppdu};
use proptest::prelude::*;

const SIFS: Duration = Duration::from_micros(16);

/// The access point's transmission opportunities that ended in `time`: each frame and response,
/// SIFS after the one before. No other station contends; the stations' queues are kept full.
fn opportunities(config: &CellConfig, bytes: u16, time: Duration) -> Vec<Vec<Ppdu>> {
    let ppdus = super::ofdma::downlink(config, 200, bytes, time).0;
    let mut all: Vec<Vec<Ppdu>> = Vec::new();
    for ppdu in ppdus {
        match all.last_mut() {
            Some(last) if last.last().is_some_and(|l| l.end + SIFS == ppdu.start) => {
                last.push(ppdu);
            }
            _ => all.push(vec![ppdu]),
        }
    }
    all.pop();
    all
}

fn is_data(ppdu: &Ppdu) -> bool {
    ppdu.frames().any(|frame| matches!(frame.kind, FrameKind::QosData { .. }))
}

fn is_rts(ppdu: &Ppdu) -> bool {
    ppdu.frames().any(|frame| frame.kind == FrameKind::Rts)
}

fn is_request(ppdu: &Ppdu) -> bool {
    ppdu.frames().any(|frame| matches!(frame.kind, FrameKind::BlockAckRequest { .. }))
}

/// Start, end and transmitter of each PPDU, its first frame and its number of frames.
fn shown(opportunity: &[Ppdu]) -> Vec<alloc::string::String> {
    let begin = opportunity[0].start;
    let one = |ppdu: &Ppdu| {
        let (start, end) = (ppdu.start - begin, ppdu.end - begin);
        let mut kinds = ppdu.frames().map(|frame| frame.kind);
        let (first, more) = (kinds.next(), kinds.count());
        alloc::format!("{start} to {end}: {:?}, {first:?} and {more}", ppdu.transmitter)
    };
    opportunity.iter().map(one).collect()
}

/// Parameters of a case.
#[derive(Clone, Debug)]
struct Case {
    standard: Standard,
    limit_us: u64,
    /// SNRs of the links in dB, for the ideal rate.
    snrs: [f64; 3],
    loss: f64,
    ampdu_bytes: u32,
    amsdu_bytes: u16,
    rts: bool,
    /// Acknowledgement of PPDUs for several stations, if there are any.
    several: Option<OfdmaAcknowledgement>,
    /// Whether those PPDUs are of MU-MIMO, not of OFDMA.
    in_space: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let standard = prop::sample::select(vec![
        (Standard::Dot11n, false),
        (Standard::Dot11ac, true),
        (Standard::Dot11ax, false),
        (Standard::Dot11ax, true),
    ]);
    let several = prop_oneof![Just(None), prop::sample::select(ALL.to_vec()).prop_map(Some)];
    let lengths =
        (prop::sample::select(vec![0, 8_000, 65_535]), prop::sample::select(vec![0, 7_935]));
    let snrs = prop::array::uniform3(8.0..45.0);
    let rts = any::<bool>();
    (standard, 16u64..200, snrs, 0.0..0.4, lengths, rts, several).prop_map(
        |((standard, in_space), limit, snrs, loss, (ampdu_bytes, amsdu_bytes), rts, several)| {
            let several = match standard {
                Standard::Dot11n => None,
                Standard::Dot11ac => several.map(|_| OfdmaAcknowledgement::BlockAckRequest),
                _ => several,
            };
            let limit_us = 32 * limit;
            Case {
                standard,
                limit_us,
                snrs,
                loss,
                ampdu_bytes,
                amsdu_bytes,
                rts,
                several,
                in_space,
            }
        },
    )
}

fn config(case: &Case) -> CellConfig {
    let width = ChannelWidth::Mhz40;
    let gi = crate::phy::HeGuardInterval::Ns800Ltf2x;
    let rates: Vec<Rate> = match case.standard {
        Standard::Dot11ax => Rate::all_he(width, gi, 1).collect(),
        Standard::Dot11ac => Rate::all_vht(width, GuardInterval::Long, 1).collect(),
        _ => (0..8).map(|index| mcs(index, width, GuardInterval::Long)).collect(),
    };
    let mut config = cell(3, rates[0], width, case.ampdu_bytes);
    config.standard = case.standard;
    config.beacon_interval = None;
    for station in &mut config.stations {
        station.capabilities = Capabilities::new(rates.clone(), true);
        station.rate_control = RateControlConfig::ideal();
        station.aggregation.amsdu_bytes_max = case.amsdu_bytes;
        station.rts_threshold = case.rts.then_some(0);
        station.retry_limit = 255;
        for access in &mut station.access {
            access.txop_limit = Duration::from_micros(case.limit_us);
        }
    }
    let access_point = &mut config.stations[AP.index()];
    access_point.queue = QueueConfig::DropTail { limit: Limit::Packets(5_000) };
    access_point.ofdma = case.several.filter(|_| !case.in_space).map(|acknowledgement| {
        OfdmaConfig { stations_max: 3, acknowledgement, guard_interval: gi, uplink: None }
    });
    access_point.mu_mimo = case.several.filter(|_| case.in_space).map(|acknowledgement| {
        MuMimoConfig { stations_max: 3, acknowledgement, ..MuMimoConfig::new(4) }
    });
    config.change_links(|pair| {
        let station = pair.from.0.max(pair.to.0);
        pair.link.snr = Db(case.snrs[usize::from(station.max(1) - 1)]);
        if pair.from != AP {
            pair.link.loss = Probability::new(case.loss);
        }
    });
    config
}

proptest! {
    /// At any rates of the stations, an opportunity of several exchanges stays within the limit, as
    /// does an A-MPDU of several MPDUs with its RTS and its response.
    #[test]
    fn none_is_longer_than_its_limit(case in cases()) {
        let limit = Duration::from_micros(case.limit_us);
        for opportunity in opportunities(&config(&case), 1_500, Duration::from_millis(60)) {
            let time = opportunity[opportunity.len() - 1].end - opportunity[0].start;
            let is_rest = |ppdu: &&Ppdu| ppdu.transmitter == AP && !is_data(ppdu) && !is_rts(ppdu);
            let mpdus = opportunity.iter().filter(|p| is_data(p)).map(|p| p.frames().count());
            let one = mpdus.sum::<usize>() == 1 && !opportunity.iter().any(|p| is_rest(&p));
            prop_assert!(one || time <= limit, "{time} of {limit}: {:?}", shown(&opportunity));
        }
    }
}

/// The frame after a Block Ack Request has the rate of data: an A-MSDU that fits is sent.
#[test]
fn data_follows_a_block_ack_request() {
    let case = Case {
        standard: Standard::Dot11ax,
        limit_us: 1_504,
        snrs: [40.0; 3],
        loss: 0.3,
        ampdu_bytes: 65_535,
        amsdu_bytes: 7_935,
        rts: false,
        several: None,
        in_space: false,
    };
    let all = opportunities(&config(&case), 1_500, Duration::from_secs(1));
    let mut asked = 0;
    for opportunity in all {
        if let [request, answer, rest @ ..] = &opportunity[..]
            && is_request(request)
            && answer.frames().all(|frame| frame.received)
        {
            assert!(rest.iter().any(is_data), "{:?}", shown(&opportunity));
            asked += 1;
        }
    }
    assert!(asked > 100, "{asked}");
}

/// A single MSDU may exceed the limit, an A-MSDU may not: alone, in an A-MPDU, and with RTS and CTS
/// ahead of it.
#[test]
fn an_amsdu_fits_into_its_opportunity() {
    let mut joined = 0;
    for (standard, limit_us, mcs, ampdu_bytes, rts) in [
        (Standard::Dot11n, 1_504, 1, 0, false),
        (Standard::Dot11n, 1_504, 1, 0, true),
        (Standard::Dot11n, 3_008, 0, 65_535, false),
        (Standard::Dot11ac, 2_080, 1, 65_535, true),
        (Standard::Dot11ax, 1_504, 1, 65_535, false),
        (Standard::Dot11ax, 992, 2, 65_535, true),
        (Standard::Dot11ax, 320, 3, 65_535, false),
    ] {
        let case = Case {
            standard,
            limit_us,
            snrs: [45.0; 3],
            loss: 0.0,
            ampdu_bytes,
            amsdu_bytes: 7_935,
            rts,
            several: None,
            in_space: false,
        };
        // What is sent again at a lower rate may be longer: nothing is.
        let mut config = config(&case);
        for station in &mut config.stations {
            let rates: Vec<_> = station.capabilities.rates.iter().copied().take(mcs + 1).collect();
            station.capabilities = Capabilities::new(rates, true);
        }
        for opportunity in opportunities(&config, 500, Duration::from_millis(100)) {
            let time = opportunity[opportunity.len() - 1].end - opportunity[0].start;
            let longest = opportunity.iter().filter(|ppdu| is_data(ppdu)).map(|p| p.psdus[0].bytes);
            let bytes = longest.max().unwrap_or(0);
            // An MSDU of 500 bytes has less.
            joined += u32::from(bytes > 1_000);
            let fits = bytes < 600 || time <= Duration::from_micros(limit_us);
            assert!(fits, "{case:?}: {time}, {:?}", shown(&opportunity));
        }
    }
    assert!(joined > 100, "{joined}");
}

/// Voice in A-MSDUs, of which two fit in, at HE MCS 2 and 40 MHz. The Mb/s are those of ns-3 3.37,
/// means of three runs of 5 s (responses at 24 Mb/s, equal distances, a Block Ack Request after
/// every missing Block Ack); ns-3's opportunities end with a CF-End frame.
#[test]
fn voice_is_as_fast_as_in_ns3() {
    let width = ChannelWidth::Mhz40;
    let gi = crate::phy::HeGuardInterval::Ns3200Ltf4x;
    let rate = Rate::he(2, 1, width, gi, false).expect("a rate");
    let time = Duration::from_secs(5);
    for (stations, is_both, ns3) in [(2, true, 26.13), (5, false, 22.68), (20, false, 13.62)] {
        let mut config = cell(stations, rate, width, 65_535);
        config.standard = Standard::Dot11ax;
        config.basic_rates = vec![Rate::Ofdm(crate::phy::OfdmRate::Mbps24)];
        config.change_links(|pair| pair.link.snr = Db(50.0));
        for station in &mut config.stations {
            station.aggregation.amsdu_bytes_max = 3_839;
            station.block_ack.window = 256;
            station.retry_limit = 255;
            let limit = Duration::from_micros(1_504);
            let voice = EdcaParameters { aifsn: 2, cw_min: 3, cw_max: 7, txop_limit: limit };
            station.access = [voice; 4];
        }
        let mut senders: Vec<_> =
            (1..=stations as u16).map(|from| (StationId(from), Address::Station(AP))).collect();
        if is_both {
            senders.extend((1..=stations as u16).map(|to| (AP, Address::Station(StationId(to)))));
        }
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let ours = mbps(saturate(&mut cell, &senders, time, 1_500), 1_472, time);
        assert!((ours / ns3 - 1.0).abs() < 0.05, "{stations} stations: {ours} Mb/s, {ns3}");
    }
}

/// MPDUs that do not fit are sent in the next opportunity, even if no packet follows.
#[test]
fn what_does_not_fit_waits_and_is_sent() {
    let case = Case {
        standard: Standard::Dot11n,
        limit_us: 1_504,
        snrs: [8.0, 25.0, 45.0],
        loss: 0.0,
        ampdu_bytes: 0,
        amsdu_bytes: 0,
        rts: false,
        several: None,
        in_space: false,
    };
    for queue in [QueueConfig::RFC_8289, QueueConfig::MAC80211] {
        for late_us in (0..3_000).step_by(50) {
            let mut config = config(&case);
            config.stations[AP.index()].queue = queue;
            let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
            let mut ended = 0;
            let mut count = |cell: &mut Cell, until: Instant| {
                while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at <= until) {
                    cell.handle_timeout(at);
                    while let Some(output) = cell.poll_output() {
                        assert!(matches!(output, Output::Delivered { .. }), "{output:?}");
                        ended += 1;
                    }
                }
            };
            let send = |cell: &mut Cell, now, to: u16| {
                let to = Address::Station(StationId(to));
                cell.handle_packet(now, AP, to, Packet::new(0, 1_500, now));
            };
            // Packets for the fastest, and one for the slowest while these are sent.
            (0..9).for_each(|_| send(&mut cell, Instant::ZERO, 3));
            let late = Instant::ZERO + Duration::from_micros(late_us);
            count(&mut cell, late);
            send(&mut cell, late, 1);
            count(&mut cell, Instant::MAX);
            assert_eq!(ended, 10, "{queue:?}, {late_us} us");
        }
    }
}

/// An RTS threshold above every PPDU takes time from none; nor does the threshold take time from
/// PPDUs below it.
#[test]
fn rts_takes_time_from_what_it_protects() {
    let case = Case {
        standard: Standard::Dot11ac,
        limit_us: 1_504,
        snrs: [25.0, 35.0, 45.0],
        loss: 0.0,
        ampdu_bytes: 65_535,
        amsdu_bytes: 0,
        rts: false,
        several: None,
        in_space: false,
    };
    let without = config(&case);
    let run = |threshold: Option<u32>| {
        let mut config = without.clone();
        config.stations[AP.index()].rts_threshold = threshold;
        opportunities(&config, 1_500, Duration::from_millis(60))
    };
    let all = run(None);
    assert!(all.len() > 30);
    assert_eq!(run(Some(1_000_000)), all);
    let longest = |all: &[Vec<Ppdu>]| {
        let data = all.iter().flatten().filter(|ppdu| is_data(ppdu) && ppdu.psdus[0].bytes > 1_600);
        data.map(|ppdu| ppdu.psdus[0].bytes).max().expect("there are A-MPDUs")
    };
    let [protected, whole] = [&run(Some(0)), &all].map(|all| longest(all));
    assert!(protected < whole, "{protected}, {whole}");
    // Without RTS it may be longer than with it, up to the threshold.
    let threshold = whole - 100;
    assert!(threshold > protected);
    let below = longest(&run(Some(threshold)));
    assert!((protected..threshold).contains(&below), "{below}: {protected}, {threshold}");
}
