//! HE extended range and dual carrier modulation: every frame against an account written from the
//! clauses (27.3.11, 27.3.12 and 27.4.3 of IEEE 802.11ax-2021), to the nanosecond, and the range
//! against closed forms of combining.

use super::ofdma::downlink;
use super::*;
use crate::event::{FrameKind, Ppdu};
use crate::mac::rate::{RateControl, RateSet};
use crate::phy::{ErrorModel, HeGuardInterval, RuSize};

const GI: HeGuardInterval = HeGuardInterval::Ns800Ltf2x;
const STA: StationId = StationId(1);
const WIDTH: ChannelWidth = ChannelWidth::Mhz20;

fn far(mcs: u8, tones: RuSize, dcm: bool) -> Rate {
    Rate::he_extended_range(mcs, tones, GI, dcm).expect("a rate")
}

fn near(mcs: u8) -> Rate {
    Rate::he(mcs, 1, WIDTH, GI, false).expect("a rate")
}

/// All rates of a station with both mechanisms.
fn all() -> Vec<Rate> {
    let usual = Rate::all_he(WIDTH, GI, 1);
    let dual = Rate::all_he_dual_carrier(WIDTH, GI, 1);
    usual.chain(dual).chain(Rate::all_he_extended_range(GI, true)).collect()
}

/// An access point and one station with both mechanisms, and this SNR between them.
fn pair(rate: RateControlConfig, snr: f64) -> CellConfig {
    let mut config = cell(1, near(0), WIDTH, 6_500_631);
    config.standard = Standard::Dot11ax;
    config.beacon_interval = None;
    for station in &mut config.stations {
        station.rate_control = rate.clone();
        station.capabilities = Capabilities::new(all(), true);
        station.aggregation.ampdu_frames_max = 3;
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(1_000) };
    }
    config.change_links(|pair| pair.link.snr = Db(snr));
    config
}

fn fixed(rate: Rate) -> RateControlConfig {
    RateControlConfig::Fixed { rate }
}

fn kind(ppdu: &Ppdu) -> FrameKind {
    ppdu.psdus[0].frames[0].kind
}

fn nanos(ppdu: &Ppdu) -> u64 {
    (ppdu.end - ppdu.start).as_nanos()
}

/// Data bits of a symbol: 234, 117 with dual carriers, 102 and 51 data subcarriers of BPSK 1/2 or
/// 3/4 and QPSK. The preamble has 20 us of legacy preamble, RL-SIG 4 us, HE-SIG-A twice 8 us,
/// HE-STF 4 us, one HE-LTF of 7.2 us. The response has the same tones and MCS 0.
#[test]
fn every_frame_begins_and_ends_when_the_clauses_say() {
    let (wide, narrow) = (RuSize::Tones242, RuSize::Tones106);
    let header = 20_000 + 4_000 + 16_000 + 4_000 + 7_200;
    for (rate, bits, bits_back) in [
        (far(0, wide, false), 117, 117),
        (far(1, wide, false), 234, 117),
        (far(2, wide, false), 351, 117),
        (far(0, wide, true), 58, 58),
        (far(1, wide, true), 117, 58),
        (far(0, narrow, false), 51, 51),
        (far(0, narrow, true), 25, 25),
    ] {
        let ppdu_of = |bytes: u64, bits| header + 13_600 * (16 + 8 * bytes + 6u64).div_ceil(bits);
        for rts in [false, true] {
            let mut config = pair(fixed(rate), 30.0);
            config.stations.iter_mut().for_each(|one| one.rts_threshold = rts.then_some(0));
            let (ppdus, delivered) = downlink(&config, 20, 100, Duration::from_millis(300));
            assert!(delivered > 20, "{rate}: {delivered}");
            assert!(ppdus.iter().all(|ppdu| ppdu.psdus[0].rate.is_extended_range()), "{rate}");
            // An MPDU of 138 bytes in subframes of 144; a Block Ack of 56 bytes, an RTS of 20 and
            // a CTS of 14 have delimiters, too.
            let (data, answer) = (ppdu_of(2 * 144 + 142, bits), ppdu_of(60, bits_back));
            let mut expected = alloc::vec![(0, data), (data + 16_000, data + 16_000 + answer)];
            if rts {
                let (ask, clear) = (ppdu_of(24, bits_back), ppdu_of(18, bits_back));
                let later = ask + 16_000 + clear + 16_000;
                expected
                    .iter_mut()
                    .for_each(|(start, end)| (*start, *end) = (*start + later, *end + later));
                expected.splice(0..0, [(0, ask), (ask + 16_000, ask + 16_000 + clear)]);
            }
            let mut seen = 0;
            for all in ppdus.windows(expected.len()) {
                let first = &all[0];
                let is_data = matches!(kind(&all[expected.len() - 2]), FrameKind::QosData { .. })
                    && all[expected.len() - 2].psdus[0].frames.len() == 3;
                if !is_data {
                    continue;
                }
                seen += 1;
                let found: Vec<(u64, u64)> = all
                    .iter()
                    .map(|ppdu| [ppdu.start, ppdu.end].map(|at| (at - first.start).as_nanos()))
                    .map(|[start, end]| (start, end))
                    .collect();
                assert_eq!(found, expected, "{rate}");
            }
            assert!(seen >= 5, "{rate}: {seen}");
            // An agreement is made first, as robustly; its Ack of 14 bytes.
            let request =
                ppdus.iter().position(|p| matches!(kind(p), FrameKind::AddbaRequest { .. }));
            let request = request.expect("there is an agreement");
            assert_eq!(nanos(&ppdus[request + 1]), ppdu_of(18, bits_back), "{rate}");
        }
    }
}

/// Share of lost MPDUs of 1 500 bytes at a fixed rate.
fn lost(rate: Rate, snr: f64) -> f64 {
    let mut config = pair(fixed(rate), snr);
    config.error_model = ErrorModel::nist();
    config.record_events = true;
    let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
    let peer = Address::Station(STA);
    saturate(&mut cell, &[(AP, peer)], Duration::from_secs(8), 1_462);
    let (mut all, mut lost) = (0, 0);
    while let Some(event) = cell.poll_event() {
        let crate::event::Event::Ppdu(ppdu) = event else { continue };
        for frame in ppdu.frames().filter(|it| matches!(it.kind, FrameKind::QosData { .. })) {
            assert_eq!(frame.bytes, 1_500);
            (all, lost) = (all + 1, lost + u32::from(!frame.received));
        }
    }
    assert!(all > 800, "{rate}: {all}");
    f64::from(lost) / f64::from(all)
}

/// At an SNR at which MCS 0 loses some of its MPDUs, the same MCS on 106 tones loses as many 10
/// lg(242/106) dB below: the figures of ns-3 3.37 for BPSK 1/2 and its NIST model, at 3 and 4 dB.
/// Headers are repeated, so header losses are no part of it.
#[test]
fn a_weaker_signal_is_as_good() {
    let denser = 10.0 * libm::log10(242.0 / 106.0);
    let (wide, narrow) = (far(0, RuSize::Tones242, false), far(0, RuSize::Tones106, false));
    let dual = Rate::he(0, 1, WIDTH, GI, true).expect("a rate");
    for (snr, per) in [(3.0, 0.946_696), (4.0, 0.087_386_9)] {
        for (rate, gain) in [(near(0), 0.0), (wide, 0.0), (narrow, denser)] {
            let found = lost(rate, snr - gain);
            assert!((found - per).abs() < 0.03, "{rate} at {snr} dB: {found}, not {per}");
        }
    }
    // With two copies of each bit the same 3 dB below; headers of usual PPDUs are not repeated.
    let header = ErrorModel::nist().header_success(dual, Db(4.0 - 3.010_3)).as_f64();
    let found = lost(dual, 4.0 - 3.010_3);
    let per = 1.0 - header * (1.0 - 0.087_386_9);
    assert!((found - per).abs() < 0.03, "{found}, not {per}");
}

/// The ideal control chooses extended range only if no other rate arrives, never if a faster one
/// does; it begins with the most robust rate.
#[test]
fn who_is_far_is_sent_to_in_extended_range() {
    for model in [ErrorModel::nist(), ErrorModel::simulated()] {
        let stream = Seed::new(1, 0).stream("test");
        let set = RateSet::new(all());
        let mut control = RateControl::new(&RateControlConfig::ideal(), &set, &model, stream);
        let most_robust = far(0, RuSize::Tones106, true);
        assert_eq!(control.main_rate(), most_robust);
        let mut before = None;
        for tenths in -120..400 {
            let snr = Db(f64::from(tenths) / 10.0);
            let rate = control.chain(Instant::ZERO, snr, 1_000).rate_for_attempt(0);
            let success = model.success(rate, snr, 1_600).as_f64();
            // No other rate carries more within the bound on losses.
            for other in all() {
                let theirs = model.success(other, snr, 1_600).as_f64();
                let carried = |rate: Rate, success| rate.bitrate().as_bps() as f64 * success;
                assert!(
                    theirs < 0.5 || carried(other, theirs) <= 1.02 * carried(rate, success),
                    "{snr}: {rate} {success}, {other} {theirs}"
                );
            }
            before = before.max(Some(rate.bitrate()));
            assert_eq!(before, Some(rate.bitrate()), "rising");
        }
    }
}

/// No PPDU is longer than 5.484 ms (aPPDUMaxTime): 106 tones with dual carriers have 25 bits in
/// 13.6 us, so 51.2 us and 399 symbols for 16 + 8 * (4 + bytes) + 6 bits: 1 240 bytes.
#[test]
fn what_would_last_too_long_has_a_faster_rate() {
    let stream = Seed::new(1, 0).stream("test");
    let (set, model) = (RateSet::new(all()), ErrorModel::simulated());
    let mut control = RateControl::new(&RateControlConfig::ideal(), &set, &model, stream);
    let mut at = |bytes| control.chain(Instant::ZERO, Db(-20.0), bytes).rate_for_attempt(0);
    assert_eq!(at(1_240), far(0, RuSize::Tones106, true));
    assert_eq!(at(1_241), far(0, RuSize::Tones106, false));
}

/// A station 3 dB below the requirement of the slowest usual rate receives and delivers packets
/// only in extended range.
#[test]
fn a_far_station_is_reached() {
    let model = ErrorModel::simulated();
    let edge = model.sensitivity_snr(near(0), 0.5, 142).0;
    for (rates, reached) in [(all(), true), (Rate::all_he(WIDTH, GI, 1).collect(), false)] {
        for control in [RateControlConfig::ideal(), RateControlConfig::firmware()] {
            let mut config = pair(control, edge - 3.0);
            config.error_model = model.clone();
            for station in &mut config.stations {
                station.capabilities = Capabilities::new(rates.clone(), true);
            }
            for sender in [AP, STA] {
                let mut cell = Cell::new(&config, Seed::new(3, 0)).expect("a sound cell");
                let to = if sender == AP { STA } else { AP };
                let senders = [(sender, Address::Station(to))];
                let time = Duration::from_secs(1);
                let delivered = saturate(&mut cell, &senders, time, 100);
                assert_eq!(delivered > 100, reached, "{sender:?}: {delivered}");
                assert!(reached || delivered == 0, "{delivered}");
            }
        }
    }
}

/// A rate with dual carriers takes as long as one with half the bits.
#[test]
fn dual_carriers_in_a_usual_ppdu() {
    for (mcs, bits) in [(0, 58), (1, 117), (3, 234), (4, 351)] {
        let rate = Rate::he(mcs, 1, WIDTH, GI, true).expect("a rate");
        let (ppdus, delivered) =
            downlink(&pair(fixed(rate), 30.0), 20, 100, Duration::from_millis(100));
        assert!(delivered > 20);
        let data: Vec<&Ppdu> =
            ppdus.iter().filter(|ppdu| ppdu.psdus[0].frames.len() == 3).collect();
        let expected = 43_200 + 13_600 * (16 + 8 * (2 * 144 + 142u64) + 6).div_ceil(bits);
        assert!(data.len() > 3 && data.iter().all(|ppdu| nanos(ppdu) == expected), "{rate}");
        // Their Block Ack is OFDM's.
        assert!(ppdus.iter().any(|ppdu| !ppdu.psdus[0].rate.is_he()));
    }
}
