//! The medium against closed forms of the standard, against the cell (which other tests compare
//! with external figures), and under the calls of a driver.

use super::*;
use crate::cell::tests::{cell, mcs};
use crate::cell::{
    BlockAckRequestPolicy, Cell, Movement, OperatingChannel, Output, Track, Waypoint,
};
use crate::phy::{ChannelWidth, GuardInterval, OfdmRate, PathLoss};
use crate::station::Address;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec;
use lasthop_packet::{AccessCategory, Packet};
use lasthop_units::{Db, Meters, Probability, SeqNo12};

const AP: StationId = StationId(0);
const CHANNEL: Channel = Channel { band: Band::Ghz5, mhz: 5_180 };

fn wide(index: u8) -> Rate {
    mcs(index, ChannelWidth::Mhz40, GuardInterval::Long)
}

fn setting(stations: usize, rate: Rate) -> CellConfig {
    let mut config = cell(stations, rate, rate.width(), 65_535);
    config.beacon_interval = None;
    config
}

/// Radios whose queues are never empty, and the outcomes of their frames.
struct Saturated {
    medium: Medium,
    /// Series of the frames of each sender, to the access point.
    series: Series,
    agreement: bool,
    bytes: u32,
    sequences: BTreeMap<StationId, u64>,
    delivered: BTreeMap<StationId, u64>,
    /// Number of settled frames by their number of tries, and by whether they were acknowledged.
    tried: BTreeMap<(u32, bool), u64>,
}

impl Saturated {
    fn new(config: &CellConfig, rate: Rate, tries: u8, agreement: bool) -> Self {
        let mut series = [None; STAGES];
        series[0] = Some(Stage { rate, tries, rts: false });
        Self {
            medium: Medium::new(config, CHANNEL, Seed::new(1, 0)).expect("a sound setting"),
            series,
            agreement,
            bytes: 1_538,
            sequences: BTreeMap::new(),
            delivered: BTreeMap::new(),
            tried: BTreeMap::new(),
        }
    }

    fn fill(&mut self, now: Instant, senders: &[StationId]) {
        for &from in senders {
            while self.medium.held(from) < 64 {
                let tag = self.sequences.entry(from).or_insert(0);
                let sequence = SeqNo12::new((*tag % 4_096) as u16);
                let frame = TxFrame {
                    tag: *tag,
                    to: Some(Address::Station(if from == AP { StationId(1) } else { AP })),
                    bytes: self.bytes,
                    category: Some(AccessCategory::BestEffort),
                    response: Some(Response::Ack),
                    agreement: self.agreement.then_some(FrameAgreement { tid: 0, sequence }),
                    series: self.series,
                };
                *tag += 1;
                self.medium.handle_frame(now, from, frame);
            }
        }
    }

    fn run(&mut self, senders: &[StationId], time: Duration) {
        self.fill(Instant::ZERO, senders);
        while let Some((at, _)) =
            self.medium.poll_timeout().filter(|(at, _)| *at <= Instant::ZERO + time)
        {
            self.medium.handle_timeout(at);
            while let Some(output) = self.medium.poll_output() {
                match output {
                    MediumOutput::Received { from, retry: false, .. } => {
                        *self.delivered.entry(from).or_insert(0) += 1;
                    }
                    MediumOutput::Received { .. } => {}
                    MediumOutput::Settled { tries, acknowledged, .. } => {
                        let tries = tries.iter().map(|&n| u32::from(n)).sum();
                        *self.tried.entry((tries, acknowledged)).or_insert(0) += 1;
                    }
                }
            }
            self.fill(at, senders);
        }
    }

    fn acknowledged(&self) -> u64 {
        self.medium.radios.iter().map(|radio| radio.stats.acknowledged).sum()
    }
}

/// One sender without losses: AIFS 43 us, 7.5 slots of 9 us on average, PPDU, SIFS 16 us and
/// a response: 28 us (Ack) or 32 us (Block Ack) at 24 Mb/s, 44 or 68 us at 6 Mb/s (19.3, 17.4.3,
/// 10.6.6.5.2).
#[test]
fn one_sender_has_the_airtime_of_the_standard() {
    let time = Duration::from_secs(2);
    for (rate, data_bits, agreement, response) in [
        (wide(0), 54, false, 44.0),
        (wide(7), 540, false, 28.0),
        (wide(0), 54, true, 68.0),
        (wide(7), 540, true, 32.0),
    ] {
        let config = setting(1, rate);
        let mut run = Saturated::new(&config, rate, 7, agreement);
        run.run(&[StationId(1)], time);
        let stats = run.medium.stats(StationId(1));
        let n = stats.mpdus as f64 / stats.ppdus as f64;
        let mpdu = if agreement { 1_544.0 } else { 1_538.0 };
        let symbols = ((22.0 + 8.0 * mpdu * n) / f64::from(data_bits)).ceil();
        let us = 43.0 + 67.5 + 36.0 + 4.0 * symbols + 16.0 + response;
        let (got, expected) = (run.acknowledged() as f64, 2e6 / us * n);
        assert!((got / expected - 1.0).abs() < 0.01, "{rate:?}: {got}, expected {expected}");
        assert!(!agreement || n > 2.0);
        assert_eq!(run.tried.keys().collect::<Vec<_>>(), [&(1, true)]);
    }
}

/// Radios that could move and stand are as those that cannot; two that walk apart until they are
/// hidden from each other overlap far more often.
#[test]
fn radios_move() {
    let rate = wide(1);
    let run = |tracks: Option<[Track; 3]>| {
        let mut config = setting(2, rate);
        config.movement = tracks.map(|tracks| {
            let (path_loss, fixed) = (PathLoss::in_band(Band::Ghz5), BTreeSet::new());
            Arc::new(Movement { path_loss, tracks: tracks.to_vec(), fixed })
        });
        let mut run = Saturated::new(&config, rate, 7, false);
        run.run(&[StationId(1), StationId(2)], Duration::from_secs(4));
        run
    };
    let still = |x: f64| Track::still([Meters(x), Meters(0.0)]);
    let walks = |out: f64| {
        let place = |x: f64| [Meters(x), Meters(0.0)];
        let second = Instant::ZERO + Duration::from_secs(1);
        let begin = Waypoint { at: Instant::ZERO, position: place(out) };
        Track::through(vec![begin, Waypoint { at: second, position: place(40.0 * out) }])
    };
    let [plain, standing] = [None, Some([still(0.0), still(-1.0), still(1.0)])].map(run);
    assert_eq!((&plain.delivered, &plain.tried), (&standing.delivered, &standing.tried));
    let apart = run(Some([still(0.0), walks(-1.0), walks(1.0)]));
    let overlapped = |run: &Saturated| -> u64 {
        [1, 2].map(|radio| run.medium.stats(StationId(radio)).overlapped).iter().sum()
    };
    let (near, far) = (overlapped(&plain), overlapped(&apart));
    // 80 m at 16 dBm are -88 dBm, below -82 dBm.
    assert!(far > 2 * near, "{near} {far}");
}

/// Delivered packets and overlaps of PPDUs are the same as with the same stations in the model's
/// cell, where access point and stations run the whole MAC.
#[test]
fn contention_is_that_of_the_cell() {
    let time = Duration::from_secs(20);
    for (stations, aggregates) in [(2, false), (5, false), (10, false), (5, true)] {
        let rate = wide(4);
        let mut config = setting(stations, rate);
        for station in &mut config.stations {
            // Block Ack Requests are for the MAC outside to send.
            station.block_ack.request = BlockAckRequestPolicy::AfterDrop;
            if !aggregates {
                station.aggregation.ampdu_bytes_max = 0;
            }
        }
        let senders: Vec<_> = (1..=stations as u16).map(StationId).collect();
        let mut run = Saturated::new(&config, rate, 7, aggregates);
        run.run(&senders, time);

        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound setting");
        let mut cell_delivered = 0u64;
        let fill = |cell: &mut Cell, now| {
            for &from in &senders {
                while cell.held_packets(from) < 64 {
                    let packet = Packet::new(0, 1_500, now);
                    cell.handle_packet(now, from, Address::Station(AP), packet);
                }
            }
        };
        fill(&mut cell, Instant::ZERO);
        while let Some((at, _)) = cell.poll_timeout().filter(|(at, _)| *at <= Instant::ZERO + time)
        {
            cell.handle_timeout(at);
            while let Some(output) = cell.poll_output() {
                cell_delivered += u64::from(matches!(output, Output::Delivered { .. }));
            }
            fill(&mut cell, at);
        }
        let ratio = run.acknowledged() as f64 / cell_delivered as f64;
        assert!((ratio - 1.0).abs() < 0.01, "{stations} {aggregates}: {ratio}");
        // They take turns: nobody has twice the share of another one.
        let shares: Vec<_> = senders.iter().map(|s| run.medium.stats(*s).acknowledged).collect();
        assert!(shares.iter().max() < shares.iter().min().map(|least| least * 2).as_ref());
    }
}

/// Each try is lost with 30 %: the number of tries of an MPDU is geometric, and 0.3^4 of them
/// are given up after four.
#[test]
fn tries_follow_the_geometric_law() {
    let rate = wide(4);
    for agreement in [false, true] {
        let mut config = setting(1, rate);
        config.change_links(|pair| {
            pair.link.loss = (pair.to == AP).then(|| Probability::new(0.3).expect("in range"));
        });
        let mut run = Saturated::new(&config, rate, 4, agreement);
        run.run(&[StationId(1)], Duration::from_secs(20));
        let all: u64 = run.tried.values().sum();
        assert!(all > 8_000);
        for tries in 1..=4u32 {
            let expected = 0.7 * 0.3f64.powi(tries as i32 - 1);
            let got = run.tried[&(tries, true)] as f64 / all as f64;
            let error = (expected * (1.0 - expected) / all as f64).sqrt();
            // A whole A-MPDU lost with its header is rare here.
            assert!((got - expected).abs() < 4.0 * error + 0.004, "{tries}: {got} {expected}");
        }
        let given_up = run.tried[&(4, false)] as f64 / all as f64;
        assert!((given_up - 0.0081).abs() < 0.004, "{given_up}");
        let stats = run.medium.stats(StationId(1));
        assert!(stats.retries > 0 && stats.given_up == run.tried[&(4, false)]);
    }
}

fn one(tag: u64, to: Option<Address>, stages: &[(Rate, u8, bool)]) -> TxFrame {
    let mut series = [None; STAGES];
    for (slot, &(rate, tries, rts)) in series.iter_mut().zip(stages) {
        *slot = Some(Stage { rate, tries, rts });
    }
    TxFrame {
        tag,
        to,
        bytes: 1_000,
        category: Some(AccessCategory::BestEffort),
        response: (to != Some(Address::Group)).then_some(Response::Ack),
        agreement: None,
        series,
    }
}

fn outputs(medium: &mut Medium, mut refuse: impl FnMut(StationId) -> bool) -> Vec<MediumOutput> {
    let mut all = Vec::new();
    while let Some((at, _)) = medium.poll_timeout() {
        medium.handle_timeout(at);
        while let Some(output) = medium.poll_output() {
            if let MediumOutput::Received { from, tag, station, .. } = output
                && refuse(station)
            {
                medium.handle_refusal(from, tag);
            }
            all.push(output);
        }
    }
    all
}

fn settled(outputs: &[MediumOutput]) -> Vec<(u64, bool, [u8; STAGES])> {
    let settled = outputs.iter().filter_map(|output| match *output {
        MediumOutput::Settled { tag, acknowledged, tries, .. } => Some((tag, acknowledged, tries)),
        MediumOutput::Received { .. } => None,
    });
    settled.collect()
}

/// A receiver that is off, and an unused address: every try at every stage is made.
#[test]
fn without_a_receiver_the_series_runs_out() {
    let slow = Rate::Ofdm(OfdmRate::Mbps6);
    let stages = [(wide(7), 2, false), (wide(3), 3, true), (slow, 1, false)];
    for to in [Some(Address::Station(AP)), None] {
        let mut medium = Medium::new(&setting(1, wide(7)), CHANNEL, Seed::new(1, 0)).unwrap();
        medium.handle_frame(Instant::ZERO, StationId(1), one(7, to, &stages));
        let outputs = outputs(&mut medium, |_| true);
        assert_eq!(settled(&outputs), [(7, false, [2, 3, 1, 0])]);
        let stats = medium.stats(StationId(1));
        let received = if to.is_some() { 6 } else { 0 };
        // RTS is answered by who refuses data: its radio is there. Nobody has the other address.
        let ppdus = if to.is_some() { 6 } else { 3 };
        assert_eq!((stats.refused, stats.ppdus, stats.given_up), (received, ppdus, 1));
        assert_eq!(outputs.len() as u64, received + 1);
    }
}

/// A group frame is sent once and arrives at all radios but its sender; a refusal of one does not
/// affect the others.
#[test]
fn group_frames_come_to_all() {
    let mut medium = Medium::new(&setting(3, wide(0)), CHANNEL, Seed::new(1, 0)).unwrap();
    let frame = one(1, Some(Address::Group), &[(wide(0), 1, false)]);
    medium.handle_frame(Instant::ZERO, StationId(2), frame);
    let outputs = outputs(&mut medium, |station| station == AP);
    let mut receivers: Vec<_> = outputs
        .iter()
        .filter_map(|output| match output {
            MediumOutput::Received { station, addressed: true, retry: false, .. } => {
                Some(station.0)
            }
            _ => None,
        })
        .collect();
    receivers.sort_unstable();
    assert_eq!(receivers, [0, 1, 3]);
    assert_eq!(settled(&outputs), [(1, true, [1, 0, 0, 0])]);
}

/// Beacons go ahead of voice, and voice of best effort: PIFS, AIFS by category.
#[test]
fn categories_are_served_in_their_order() {
    let mut config = setting(1, wide(7));
    config.stations[1].access[AccessCategory::Voice.index()] =
        crate::cell::EdcaParameters { aifsn: 2, cw_min: 3, cw_max: 7, txop_limit: Duration::ZERO };
    let mut medium = Medium::new(&config, CHANNEL, Seed::new(1, 0)).unwrap();
    let mut order = vec![];
    for (tag, category) in [
        (1, Some(AccessCategory::BestEffort)),
        (2, Some(AccessCategory::BestEffort)),
        (3, Some(AccessCategory::Voice)),
        (4, None),
    ] {
        let frame = one(tag, Some(Address::Station(AP)), &[(wide(0), 7, false)]);
        medium.handle_frame(Instant::ZERO, StationId(1), TxFrame { category, ..frame });
    }
    // The air is idle: all may be sent at once, and collide within the station.
    order.extend(settled(&outputs(&mut medium, |_| false)).iter().map(|(tag, ..)| *tag));
    assert_eq!(order[..2], [4, 3]);
    assert_eq!(order.len(), 4);
}

/// A withdrawn frame is neither sent again nor settled; the others are.
#[test]
fn what_is_withdrawn_is_forgotten() {
    let mut medium = Medium::new(&setting(1, wide(0)), CHANNEL, Seed::new(1, 0)).unwrap();
    for tag in 0..4 {
        let frame = one(tag, Some(Address::Station(AP)), &[(wide(0), 7, false)]);
        medium.handle_frame(Instant::ZERO, StationId(1), frame);
    }
    // The first one is on the air.
    let (at, _) = medium.poll_timeout().unwrap();
    medium.handle_timeout(at);
    for tag in [0, 2] {
        medium.handle_withdrawal(at, StationId(1), tag);
    }
    let outputs = outputs(&mut medium, |_| false);
    let received: Vec<_> = outputs
        .iter()
        .filter_map(|output| match output {
            MediumOutput::Received { tag, .. } => Some(*tag),
            MediumOutput::Settled { .. } => None,
        })
        .collect();
    assert_eq!(received, [0, 1, 3]);
    assert_eq!(settled(&outputs), [(1, true, [1, 0, 0, 0]), (3, true, [1, 0, 0, 0])]);
    assert_eq!(medium.held(StationId(1)), 0);
}

/// A lost MPDU stays within 64 sequence numbers of the others in its PPDU, and is retransmitted
/// before its successors leave that window; no MPDU is received twice as new.
#[test]
fn an_agreement_keeps_its_window() {
    let rate = wide(7);
    let mut config = setting(1, rate);
    config.change_links(|pair| {
        pair.link.loss = (pair.to == AP).then(|| Probability::new(0.4).expect("in range"));
    });
    let mut medium = Medium::new(&config, CHANNEL, Seed::new(3, 0)).unwrap();
    let start = 4_000u16;
    for n in 0..400u16 {
        let sequence = SeqNo12::new(start.wrapping_add(n) % 4_096);
        let frame = one(u64::from(n), Some(Address::Station(AP)), &[(rate, 200, false)]);
        let agreement = Some(FrameAgreement { tid: 0, sequence });
        medium.handle_frame(Instant::ZERO, StationId(1), TxFrame { agreement, ..frame });
    }
    let mut missing = 0;
    let mut received = vec![false; 400];
    for output in outputs(&mut medium, |_| false) {
        if let MediumOutput::Received { tag, .. } = output {
            assert!(tag < missing + 64, "{tag} while {missing} is missing");
            received[tag as usize] = true;
            while received.get(missing as usize) == Some(&true) {
                missing += 1;
            }
        }
    }
    assert_eq!(missing, 400);
}

/// A silent radio changes none of the others' random numbers, nor does another order of the
/// configuration.
#[test]
fn a_silent_radio_changes_nothing() {
    let rate = wide(5);
    let config = |stations| {
        let mut config = setting(stations, rate);
        config.change_links(|pair| {
            pair.link.snr = Db(20.0);
            pair.link.fading = crate::phy::Fading::Rayleigh { doppler_hz: 10.0 };
        });
        config
    };
    let run = |config: &CellConfig| {
        let mut run = Saturated::new(config, rate, 7, true);
        run.run(&[StationId(1), StationId(2)], Duration::from_secs(1));
        (run.tried.clone(), *run.medium.stats(StationId(1)))
    };
    let two = run(&config(2));
    assert!(two.0.len() > 2);
    assert_eq!(two, run(&config(3)));
}

/// Fading and losses are independent for each channel: the same frames on another channel have
/// other outcomes.
#[test]
fn channels_fade_by_themselves() {
    let mut config = setting(1, wide(0));
    config.change_links(|pair| {
        pair.link.fading = crate::phy::Fading::Rayleigh { doppler_hz: 10.0 };
    });
    let signal = |mhz| {
        let mut medium = Medium::new(&config, Channel { mhz, ..CHANNEL }, Seed::new(1, 0)).unwrap();
        let frame = one(1, Some(Address::Station(AP)), &[(wide(0), 7, false)]);
        medium.handle_frame(Instant::ZERO, StationId(1), frame);
        match outputs(&mut medium, |_| false)[0] {
            MediumOutput::Received { signal, .. } => signal,
            MediumOutput::Settled { .. } => unreachable!("it is received at 1 m"),
        }
    };
    assert_ne!(signal(5_180), signal(5_200));
    assert_eq!(signal(5_180), signal(5_180));
}

/// The frame that a radio sends over this channel at `at`: its signal at the access point.
fn signal_at(config: &CellConfig, mhz: u32, at: Instant) -> Option<Dbm> {
    let mut medium = Medium::new(config, Channel { mhz, ..CHANNEL }, Seed::new(1, 0)).unwrap();
    let frame = one(1, Some(Address::Station(AP)), &[(wide(0), 1, false)]);
    medium.handle_frame(at, StationId(1), frame);
    outputs(&mut medium, |_| false).iter().find_map(|output| match output {
        MediumOutput::Received { signal, .. } => Some(*signal),
        MediumOutput::Settled { .. } => None,
    })
}

/// Radios of sets whose scenario has different channels meet where their kernels tune to.
#[test]
fn sets_of_different_channels_meet() {
    let mut config = setting(1, wide(0));
    let alone = signal_at(&config, 5_200, Instant::ZERO);
    assert!(alone.is_some());
    config.channels = [36, 149]
        .map(|number| OperatingChannel {
            primary: crate::phy::Subchannel::from_number(Band::Ghz5, number).expect("it exists"),
            ..OperatingChannel::default()
        })
        .to_vec();
    config.stations[1].bss = crate::station::BssId(1);
    assert!(config.has_several_channels());
    assert_eq!(signal_at(&config, 5_200, Instant::ZERO), alone);
}

/// The power reported to a kernel follows changes of the SNR, also on a channel that is first used
/// after them.
#[test]
fn the_signal_follows_the_snr() {
    let mut config = setting(1, wide(0));
    let second = |n| Instant::ZERO + Duration::from_secs(n);
    let snr = |n, db| lasthop_wifi_phy::SnrChange { at: second(n), snr: Db(db) };
    config.change_links(|pair| {
        pair.link.snr = Db(40.0);
        pair.snr_changes = vec![snr(1, 39.0), snr(2, 25.0)];
    });
    let noise = config.links.link(StationId(1), AP).expect("a link").noise;
    for (at, expected) in [(0, 40.0), (1, 39.0), (2, 25.0), (900, 25.0)] {
        for mhz in [5_180, 5_200] {
            assert_eq!(signal_at(&config, mhz, second(at)), Some(noise + Db(expected)));
        }
    }
}
