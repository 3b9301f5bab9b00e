//! Tests of the air alone: overlaps, the PPDU that a receiver locks to, and overheard PPDUs, each
//! at the bound of its condition. Powers and SINR are sums of milliwatts.

use super::overlaps::Order;
use super::*;
use crate::cell::tests::{cell, mcs};
use crate::phy::{GuardInterval, HeGuardInterval};
use alloc::vec;
use lasthop_units::Duration;
use proptest::prelude::Just;

const A: StationId = StationId(0);
const B: StationId = StationId(1);
const C: StationId = StationId(2);
const D: StationId = StationId(3);

/// Noise of every pair in dBm.
const NOISE: Dbm = Dbm(-94.0);

/// Four stations with these SNRs between a transmitter and a receiver, else 40 dB.
fn air(snrs: &[(StationId, StationId, f64)], capture_margin: Option<f64>) -> Air {
    air_of(4, snrs, capture_margin)
}

fn air_of(
    stations: usize,
    snrs: &[(StationId, StationId, f64)],
    capture_margin: Option<f64>,
) -> Air {
    let mut config = cell(stations - 1, rate(), ChannelWidth::Mhz20, 65_535);
    config.capture_margin = capture_margin.map(Db);
    config.change_links(|pair| {
        let snr = snrs.iter().find(|(from, to, _)| (pair.from, pair.to) == (*from, *to));
        pair.link.snr = Db(snr.map_or(40.0, |(.., snr)| *snr));
        pair.link.noise = NOISE;
    });
    Air::new(&config, Seed::new(1, 0)).expect("a sound cell")
}

fn rate() -> Rate {
    mcs(0, ChannelWidth::Mhz20, GuardInterval::Long)
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn flight(transmitter: StationId, receiver: StationId, from_us: u64, until_us: u64) -> Flight {
    Flight {
        transmitter,
        receiver: Address::Station(receiver),
        start: at(from_us),
        end: at(until_us),
        rate: rate(),
        psdu_bytes: 100,
        reserves_until: at(until_us),
        carried: Carried::Payload,
        overlaps: Overlaps::NONE,
        reduction: Reduction::NONE,
    }
}

/// Mean level of a station at another.
fn level(air: &Air, from: StationId, to: StationId) -> Level {
    let snr = air.links.snr(from, to).expect("a link");
    Level { snr, power_mw: air.power_mw(from, to), noise_mw: air.noise_mw(from, to) }
}

/// The two PPDUs as they come off the air.
fn both(air: &mut Air, first: Flight, second: Flight) -> [Flight; 2] {
    air.begin(first);
    air.begin(second);
    let flights = air.lend_flights();
    flights.try_into().expect("two PPDUs")
}

/// An HT PPDU of one stream has 36 us of preamble and header (table 19-6).
#[test]
fn who_began_when() {
    use Order::{After, Before, DuringHeader, HeaderBefore, Together};
    for (second_us, orders) in [
        (100, Some((Together, Together))),
        (101, Some((DuringHeader, HeaderBefore))),
        (135, Some((DuringHeader, HeaderBefore))),
        (136, Some((After, Before))),
        (299, Some((After, Before))),
        (300, None),
    ] {
        let mut air = air(&[], None);
        let [first, second] = both(&mut air, flight(A, B, 100, 300), flight(C, D, second_us, 500));
        let order = |flight: &Flight| air.interference(flight).next().map(|other| other.order);
        assert_eq!(order(&first).zip(order(&second)), orders, "{second_us} us");
        assert_eq!(first.overlaps.count(), u32::from(orders.is_some()));
        for other in air.interference(&first) {
            assert_eq!((other.transmitter, other.start, other.end), (C, at(second_us), at(500)));
        }
    }
}

/// Two PPDUs of which one ends as the other begins do not overlap, nor do their parts.
#[test]
fn overlap_is_half_open() {
    let mut air = air(&[], None);
    let [first, _] = both(&mut air, flight(A, B, 100, 300), flight(C, D, 200, 250));
    for (from_us, until_us, overlaps) in [
        (100, 200, false),
        (100, 201, true),
        (200, 250, true),
        (210, 220, true),
        (249, 300, true),
        (250, 300, false),
    ] {
        assert_eq!(air.overlaps(&first, B, at(from_us), at(until_us)), overlaps, "{from_us} us");
        let loss = air.interference_loss(&first, B, at(from_us), at(until_us));
        // 40 dB over the noise from C, beside the noise.
        let expected = if overlaps { 1.0 + 1e4 } else { 1.0 };
        assert!((loss / expected - 1.0).abs() < 1e-9);
        let sinr = air.sinr(&first, B, Db(40.0), at(from_us), at(until_us));
        let expected = if overlaps { 40.0 - 10.0 * libm::log10(10_001.0) } else { 40.0 };
        assert!((sinr.0 - expected).abs() < 1e-9);
    }
}

/// A receiver keeps to the first PPDU that it senses; it turns to a later one that is
/// stronger by the margin and comes during the first one's preamble and header. Of two
/// that begin together the stronger one has it.
#[test]
fn what_a_receiver_locks_to() {
    // From A and from C at B in dB, when C begins, the margin; does B lock to A, to C?
    for (wanted, other, second_us, margin, locks) in [
        (40.0, 40.0, 100, None, (false, false)),
        (40.0, 39.9, 100, None, (true, false)),
        (39.9, 40.0, 100, None, (false, true)),
        (40.0, 60.0, 110, None, (true, false)),
        (40.0, 45.0, 110, Some(5.0), (false, true)),
        (40.0, 44.9, 110, Some(5.0), (true, false)),
        (40.0, 60.0, 136, Some(5.0), (true, false)),
        // -94 dBm and 11.9 dB are below -82 dBm: not sensed.
        (40.0, 11.9, 100, None, (true, false)),
        (11.9, 40.0, 110, None, (true, true)),
    ] {
        let mut air = air(&[(A, B, wanted), (C, B, other)], margin);
        let flights = both(&mut air, flight(A, B, 100, 300), flight(C, B, second_us, 500));
        let found = flights.each_ref().map(|flight| air.locks(flight, B));
        assert_eq!(found, [locks.0, locks.1], "{wanted} and {other} dB at {second_us} us");
        assert!(!air.locks(&flights[0], C), "it is on the air itself");
        assert!(air.is_disturbed(&flights[0], C));
        assert_eq!(air.is_disturbed(&flights[0], B), other > 12.0);
        assert_eq!(air.is_disturbed(&flights[1], B), wanted > 12.0);
    }
}

/// A PPDU is decoded by all if no other one overlaps and every station that senses it has
/// the SNR at which half the frames get through: what [`Air::overhear`] finds one by one.
#[test]
fn decoded_by_all_is_decoded_by_each() {
    let needed =
        air(&[], None).overhear_threshold(mcs(7, ChannelWidth::Mhz20, GuardInterval::Long));
    for (to_c, to_d, expected) in [
        (40.0, 40.0, true),
        (needed.snr.0, 40.0, true),
        (needed.snr.0 - 1e-6, 40.0, false),
        (40.0, needed.snr.0 - 1e-6, false),
        (40.0, needed.snr.0, true),
        // Not sensed at all, and therefore not asked.
        (40.0, 11.0, true),
    ] {
        for disturbed in [false, true] {
            let mut air = air(&[(A, C, to_c), (A, D, to_d)], None);
            let mut ppdu = flight(A, B, 100, 300);
            ppdu.rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
            air.begin(ppdu);
            if disturbed {
                air.begin(flight(B, A, 150, 160));
            }
            let [ppdu, ..] = &air.lend_flights()[..] else { panic!("it is on the air") };
            assert_eq!(air.is_decoded_by_all(ppdu), expected && !disturbed);
            let mut heard = Vec::new();
            air.overhear(ppdu, |station, overheard| heard.push((station, overheard)));
            let all = heard.iter().all(|(_, overheard)| *overheard == Overheard::Decoded);
            assert_eq!(all && !disturbed, expected && !disturbed, "{heard:?}");
            let senses = |snr: f64| snr >= 12.0 && !disturbed;
            let listeners = [(C, to_c), (D, to_d)].into_iter().filter(|(_, snr)| senses(*snr));
            assert!(heard.iter().map(|(station, _)| *station).eq(listeners.map(|(to, _)| to)));
        }
    }
}

/// SNR less loss in dB, at the bound and on both sides of it.
#[test]
fn a_level_reaches_what_is_needed() {
    for snr in [0.0, 4.0, 17.3, 40.0] {
        let power_mw = (NOISE + Db(snr)).as_milliwatts();
        assert!((power_mw / libm::pow(10.0, (snr - 94.0) / 10.0) - 1.0).abs() < 1e-9);
        let level = Level { snr: Db(snr), power_mw, noise_mw: NOISE.as_milliwatts() };
        for loss_db in [0.0, 3.0, 10.0] {
            for (margin, reaches) in [(1.0, true), (1e-3, true), (-1e-3, false), (-1.0, false)] {
                let needed = SnrThreshold::new(Db(snr - loss_db - margin));
                let interference_mw = (Db(loss_db).as_linear() - 1.0) * level.noise_mw;
                assert_eq!(level.reaches(needed, interference_mw), reaches, "{snr} dB");
            }
        }
        assert!(level.reaches(SnrThreshold::new(Db(snr)), 0.0));
    }
}

/// When PPDUs end, whose they are, and in which order they come off the air.
#[test]
fn ppdus_come_off_the_air_in_order() {
    let mut air = air(&[], None);
    assert_eq!((air.next_end(), air.transmits_until(A)), (Instant::MAX, None));
    air.begin(flight(A, B, 100, 300));
    air.begin(flight(C, D, 110, 200));
    air.begin(flight(D, C, 120, 200));
    assert_eq!((air.next_end(), air.transmits_until(A)), (at(200), Some(at(300))));
    assert_eq!(air.transmits_until(B), None);
    assert_eq!(air.end(at(199)), None);
    for transmitter in [C, D] {
        let ended = air.end(at(200)).expect("two end");
        assert_eq!(ended.transmitter, transmitter);
        assert!(ended.is_payload_of(transmitter) && !ended.is_payload_of(A));
        let cts = Flight { carried: Carried::Cts, ..ended };
        assert!(!cts.is_payload_of(transmitter));
        air.forget(cts);
    }
    assert_eq!((air.end(at(200)), air.next_end()), (None, at(300)));
}

/// Certain outcomes draw no random number.
#[test]
fn certainty_draws_nothing() {
    let mut stream = Seed::new(1, 0).stream("test");
    let untouched = stream.clone();
    assert!(happens(&mut stream, Probability::ONE));
    assert!(!happens(&mut stream, Probability::ZERO));
    assert_eq!(stream, untouched);
    let half = Probability::new(0.5).expect("a probability");
    let count = (0..1_000).filter(|_| happens(&mut stream, half)).count();
    // Five standard deviations.
    assert!((420..=580).contains(&count), "{count}");
}

/// A given loss replaces that of the error model, unless another PPDU overlaps with the MPDU: then
/// the MPDU must survive both.
#[test]
fn a_given_loss_and_interference() {
    let mut config = cell(3, rate(), ChannelWidth::Mhz20, 65_535);
    config.change_links(|pair| {
        // The error model would let nothing of MCS 7 through.
        pair.link.snr = Db(12.0);
        pair.link.noise = NOISE;
        pair.link.loss = Some(Probability::new(0.25).expect("a probability"));
    });
    let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let mut ppdu = flight(A, B, 100, 300);
    ppdu.rate = mcs(7, ChannelWidth::Mhz20, GuardInterval::Long);
    let [ppdu, _] = both(&mut air, ppdu, flight(C, D, 200, 250));
    for (from_us, until_us, success) in
        [(150, 200, 0.75), (199, 201, 0.0), (240, 260, 0.0), (250, 300, 0.75)]
    {
        let span = Interval { from: at(from_us), until: at(until_us) };
        let found = air.mpdu_success(&ppdu, B, Db(12.0), 1_500, span).as_f64();
        assert!((found - success).abs() < 1e-6, "{found} from {from_us} us");
        // At 60 dB the other one's 12 dB do no harm.
        let found = air.mpdu_success(&ppdu, B, Db(60.0), 1_500, span).as_f64();
        assert!((found - 0.75).abs() < 1e-6, "{found} from {from_us} us");
    }
}

proptest::proptest! {
    /// Overheard PPDUs with overlaps have the outcomes that each station would reach alone: it
    /// locks, and the SINR with the power of all others suffices for a frame, or a preamble.
    #[test]
    fn overhearing_a_collision_is_as_one_by_one(
        snrs in proptest::collection::vec(-5.0..45.0f64, 56),
        margin in proptest::option::of(0.0..15.0f64),
        // Most of them together; two, or a crowd.
        begins in proptest::collection::vec(proptest::prop_oneof![Just(0), 0u64..60], 2..8),
        lasts in proptest::collection::vec(250u64..400, 8),
        mcs_index in 0u8..8,
    ) {
        let all: [_; 8] = core::array::from_fn(|index| StationId(index as u16));
        let pairs = all.iter().flat_map(|&from| all.map(|to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        let snrs: Vec<_> = pairs.zip(&snrs).map(|((from, to), &snr)| (from, to, snr)).collect();
        let mut air = air_of(8, &snrs, margin);
        let rate = mcs(mcs_index, ChannelWidth::Mhz20, GuardInterval::Long);
        let mut begins: Vec<_> = all.into_iter().zip(begins).collect();
        begins.sort_by_key(|(_, begin)| *begin);
        for &(transmitter, begin) in &begins {
            let receiver = if transmitter == B { A } else { B };
            let until = 100 + lasts[transmitter.index()];
            air.begin(Flight { rate, ..flight(transmitter, receiver, 100 + begin, until) });
        }
        let needed = air.overhear_threshold(rate);
        for ppdu in &air.lend_flights() {
            let mut heard = Vec::new();
            air.overhear(ppdu, |station, overheard| heard.push((station, overheard)));
            let by_itself = |listener: StationId| {
                let mw = air.interference_mw(ppdu, listener, ppdu.start, ppdu.end);
                let level = level(&air, ppdu.transmitter, listener);
                match air.locks(ppdu, listener) {
                    true if level.reaches(needed, mw) => Some((listener, Overheard::Decoded)),
                    true if level.reaches(PREAMBLE_DETECTION_THRESHOLD, mw) => {
                        Some((listener, Overheard::Failed))
                    }
                    _ => None,
                }
            };
            let listeners = air.listeners[ppdu.transmitter.index()].iter();
            let others = listeners.filter(|to| ppdu.receiver != Address::Station(**to));
            let expected: Vec<_> = others.filter_map(|&to| by_itself(to)).collect();
            proptest::prop_assert_eq!(heard, expected);
        }
    }
}

/// A pair draws the same numbers whether it is created at its first use or, because its mean SNR
/// changes, at once.
#[test]
fn a_pair_that_is_made_late_is_the_same() {
    let fading = crate::phy::Fading::Rayleigh { doppler_hz: 20.0 };
    let mut config = cell(3, rate(), ChannelWidth::Mhz20, 65_535);
    config.change_links(|pair| {
        pair.link.fading = fading;
    });
    let seed = Seed::new(1, 0);
    let mut late = Air::new(&config, seed).expect("a sound cell");
    let to_come = SnrChange { at: at(10_000_000), snr: config.links.snr(A, B).expect("a link") };
    config.change_links(|pair| {
        if (pair.from, pair.to) == (A, B) {
            pair.snr_changes.push(to_come);
        }
    });
    let mut at_once = Air::new(&config, seed).expect("a sound cell");
    assert!(late.pairs.get(A, B).is_none() && at_once.pairs.get(A, B).is_some());
    assert_eq!(late.last_snr(A, B), at_once.last_snr(A, B));
    assert_eq!(late.last_power(A, B), at_once.last_power(A, B));
    for until_us in [100, 300_000, 900_000] {
        let flight = flight(A, B, until_us - 50, until_us);
        assert_eq!(late.snr(&flight, B), at_once.snr(&flight, B));
        let drawn = |air: &mut Air| (0..50).map(|_| air.reception(A, B).next_u64()).last();
        assert_eq!(drawn(&mut late), drawn(&mut at_once));
    }
    assert_eq!(late.last_power(A, B), at_once.last_power(A, B));
    assert!(late.pairs.get(B, A).is_none(), "nobody asked");
}

proptest::proptest! {
    /// Comparisons of factors agree with those of levels in dBm, for carrier sense and for capture,
    /// also where both powers are equal or differ in their last bits.
    #[test]
    fn factors_decide_as_levels_do(
        wanted in -5.0..45.0f64,
        apart in proptest::prop_oneof![
            Just(0.0), Just(5.0), Just(-5.0), -1e-13..1e-13f64, -1e-7..1e-7f64, -50.0..50.0f64,
        ],
        sensed_apart in proptest::prop_oneof![Just(0.0), -1e-13..1e-13f64, -1.0..1.0f64],
        margin in proptest::option::of(proptest::prop_oneof![Just(5.0), Just(0.0), 0.0..15.0f64]),
    ) {
        let mw = |snr: f64| (NOISE + Db(snr)).as_milliwatts();
        let (power_mw, theirs_mw) = (mw(wanted), mw(wanted + apart));
        let lead = Dbm::from_milliwatts(power_mw) - Dbm::from_milliwatts(theirs_mw);
        for order in [
            Order::Before,
            Order::HeaderBefore,
            Order::Together,
            Order::DuringHeader,
            Order::After,
        ] {
            let needed = match (order, margin) {
                (Order::Before, _) | (Order::HeaderBefore, None) => f64::INFINITY,
                (Order::HeaderBefore, Some(margin)) => margin,
                (Order::Together, _) => f64::MIN_POSITIVE,
                (Order::DuringHeader, Some(margin)) => (-margin).next_up(),
                (Order::DuringHeader, None) | (Order::After, _) => f64::NEG_INFINITY,
            };
            let found = lead_needed(order, margin.map(|margin| SnrThreshold::new(Db(margin))));
            proptest::prop_assert_eq!(found.has(power_mw, theirs_mw), lead.0 >= needed);
        }
        let air = air(&[], margin);
        let arrives_mw = mw(12.0 + sensed_apart);
        let expected = Dbm::from_milliwatts(arrives_mw) >= air.carrier_sense;
        proptest::prop_assert_eq!(air.is_sensed(arrives_mw), expected);
    }
}

/// Stations that answer one Trigger frame do not disturb each other, whichever of them is put on
/// the air first or last; another station's PPDU disturbs each, and all disturb it.
#[test]
fn answers_to_a_trigger_frame_are_beside_each_other() {
    let header = Duration::from_micros(48);
    let answer = |from, to| Flight {
        carried: Carried::TriggeredBlockAck { header },
        ..flight(from, to, 100, 160)
    };
    for stranger_us in [None, Some(90), Some(100), Some(120)] {
        let mut air = air(&[], None);
        let stranger = stranger_us.map(|us| flight(D, B, us, us + 50));
        let early = stranger.clone().filter(|flight| flight.start < at(100));
        early.into_iter().for_each(|flight| air.begin(flight));
        for from in [B, C] {
            air.begin(answer(from, A));
        }
        let late = stranger.filter(|flight| flight.start >= at(100));
        late.into_iter().for_each(|flight| air.begin(flight));
        let flights = air.lend_flights();
        let heard = |flight: &Flight| -> Vec<StationId> {
            air.interference(flight).map(|other| other.transmitter).collect()
        };
        for flight in &flights {
            let expected = match (flight.transmitter, stranger_us) {
                (D, _) => vec![B, C],
                (_, Some(_)) => vec![D],
                (_, None) => vec![],
            };
            assert_eq!(heard(flight), expected, "{stranger_us:?}");
            assert_eq!(flight.overlaps.count() as usize, expected.len());
            if stranger_us.is_none() {
                assert!(air.locks(flight, A) && !air.is_disturbed(flight, A));
                assert_eq!(flight.header_end(Band::Ghz5), at(148));
            }
        }
        assert_eq!(flights.len(), 2 + usize::from(stranger_us.is_some()));
    }
    // Whoever overlapped with both is asked about when both are off the shared.
    let mut shared = air(&[], None);
    let stranger = flight(D, B, 120, 400);
    [answer(B, A), answer(C, A), stranger].into_iter().for_each(|flight| shared.begin(flight));
    for _ in 0..2 {
        let ended = shared.end(at(160)).expect("two end");
        shared.forget(ended);
    }
    let last = shared.end(at(400)).expect("it ends");
    let heard: Vec<StationId> = shared.interference(&last).map(|other| other.transmitter).collect();
    assert_eq!(heard, [B, C]);
    shared.forget(last);
    // Answers to others, or to another Trigger frame, do disturb.
    for other in [answer(C, D), Flight { start: at(101), ..answer(C, A) }] {
        let mut air = air(&[], None);
        let [first, second] = both(&mut air, answer(B, A), other);
        assert_eq!((first.overlaps.count(), second.overlaps.count()), (1, 1));
    }
}

/// A narrow PPDU has its whole power in the noise of its width: 3 dB less noise for each halving.
#[test]
fn a_narrow_ppdu_has_less_noise() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
    for (width, channel, factor) in [
        (Mhz20, Mhz20, 1.0),
        (Mhz20, Mhz40, 2.0),
        (Mhz20, Mhz80, 4.0),
        (Mhz40, Mhz80, 2.0),
        (Mhz20, Mhz160, 8.0),
        (Mhz80, Mhz160, 2.0),
        (Mhz160, Mhz20, 1.0),
    ] {
        let gain = narrower(width, channel);
        assert!((gain.as_linear() - factor).abs() < 1e-9, "{width} in {channel}: {gain}");
    }
}

/// A station with an older PHY or a narrower channel does not decode a newer PPDU, alone or beside
/// another one too weak to matter. All stations decode a control frame.
#[test]
fn older_stations_do_not_understand_newer_ppdus() {
    use crate::mac::rate::RateSet;
    use crate::phy::{HeGuardInterval, OfdmRate};
    let he = |width| Rate::he(0, 1, width, HeGuardInterval::Ns800Ltf2x, false).expect("a rate");
    let set = |width| RateSet::he(1, width, HeGuardInterval::Ns800Ltf2x).rates;
    let mut config = cell(3, rate(), ChannelWidth::Mhz20, 65_535);
    config.stations[A.index()].capabilities.rates = set(ChannelWidth::Mhz40);
    config.stations[B.index()].capabilities.rates = set(ChannelWidth::Mhz40);
    config.stations[D.index()].capabilities.rates = set(ChannelWidth::Mhz20);
    let quiet = |is_disturbed: bool| {
        let mut config = config.clone();
        config.change_links(|pair| {
            // D's PPDUs are 1 dB below the noise: above the floor, and no interference to speak of.
            let snr = if pair.from == D && is_disturbed { -1.0 } else { 40.0 };
            pair.link.snr = Db(snr);
            pair.link.noise = NOISE;
        });
        Air::new(&config, Seed::new(1, 0)).expect("a sound cell")
    };
    let heard = |sent: Rate, is_disturbed: bool| {
        let mut air = quiet(is_disturbed);
        air.begin(Flight { rate: sent, ..flight(A, B, 100, 300) });
        if is_disturbed {
            air.begin(flight(D, B, 200, 400));
        }
        let flight = air.end(at(300)).expect("it ends");
        let mut heard = vec![];
        air.overhear(&flight, |station, what| heard.push((station, what)));
        (heard, air.is_decoded_by_all(&flight))
    };
    use Overheard::{Decoded, Failed};
    let wide = he(ChannelWidth::Mhz40);
    let narrow = he(ChannelWidth::Mhz20);
    let ofdm = Rate::Ofdm(OfdmRate::Mbps24);
    assert_eq!(heard(wide, false), (vec![(C, Failed), (D, Failed)], false));
    assert_eq!(heard(narrow, false), (vec![(C, Failed), (D, Decoded)], false));
    assert_eq!(heard(rate(), false), (vec![(C, Decoded), (D, Decoded)], true));
    assert_eq!(heard(ofdm, false), (vec![(C, Decoded), (D, Decoded)], true));
    // D sends itself.
    assert_eq!(heard(narrow, true), (vec![(C, Failed)], false));
    assert_eq!(heard(ofdm, true), (vec![(C, Decoded)], false));
}

/// Two OFDM frames of equal power stay equal at any width of the channel. A PPDU that fills the
/// channel has only a quarter or an eighth of its power within the width of the OFDM frame.
#[test]
fn interference_is_where_it_is() {
    use crate::phy::OfdmRate;
    let ofdm = Rate::Ofdm(OfdmRate::Mbps24);
    for (width, halvings) in
        [(ChannelWidth::Mhz40, 1), (ChannelWidth::Mhz80, 2), (ChannelWidth::Mhz160, 3)]
    {
        let wide = Rate::vht(0, 1, width, GuardInterval::Long).expect("a rate");
        let mut config = cell(3, wide, width, 65_535);
        config.change_links(|pair| {
            pair.link.snr = Db(40.0);
            pair.link.noise = NOISE;
        });
        let sinr = |own: Rate, other: Rate| {
            let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
            air.begin(Flight { rate: own, ..flight(A, B, 100, 300) });
            air.begin(Flight { rate: other, ..flight(C, D, 100, 300) });
            let flight = air.end(at(300)).expect("it ends");
            let snr = air.snr(&flight, B);
            air.sinr(&flight, B, snr, at(100), at(300)).0
        };
        let factor = f64::from(1 << halvings);
        // Over the noise of 20 MHz, which is that of the channel over the factor.
        let expected = |interference: f64| 10.0 * libm::log10(1e4 / (1.0 / factor + interference));
        assert!((sinr(ofdm, ofdm) - expected(1e4)).abs() < 1e-9, "{width}");
        assert!((sinr(ofdm, wide) - expected(1e4 / factor)).abs() < 1e-9, "{width}");
        assert!((sinr(wide, wide) - 10.0 * libm::log10(1e4 / 10_001.0)).abs() < 1e-9, "{width}");
    }
}

/// A PPDU with reduced power arrives weaker, as signal and as interference, and fewer stations
/// sense it.
#[test]
fn less_power_is_less_everywhere() {
    // At B -54 dBm from A, at D -74 dBm from it; C sends beside with -64 dBm at B.
    let mut air = air(&[(A, B, 40.0), (C, B, 30.0), (A, D, 20.0)], None);
    let reduction = Reduction::new(Db(9.0));
    let weak = Flight { reduction, ..flight(A, B, 100, 300) };
    let [first, second] = both(&mut air, weak, flight(C, B, 100, 300));
    assert!((air.snr(&first, B).0 - 31.0).abs() < 1e-9);
    assert!((air.received_mw(&first, B) / Dbm(-63.0).as_milliwatts() - 1.0).abs() < 1e-9);
    // 31 to 30 dB: it is still the stronger one.
    assert!(air.locks(&first, B) && !air.locks(&second, B));
    let loss = air.interference_loss(&second, B, at(100), at(300));
    assert!((loss / (1.0 + 10f64.powf(3.1)) - 1.0).abs() < 1e-9);
    // -74 dBm less 9 dB are below -82 dBm.
    let sensing = |reduction| air.sensing(A, reduction, ChannelWidth::Mhz20).collect::<Vec<_>>();
    assert_eq!(sensing(Reduction::NONE), [B, C, D]);
    assert_eq!(sensing(reduction), [B, C]);
    assert_eq!(sensing(Reduction::new(Db(7.99))), [B, C, D]);
    assert_eq!(Reduction::new(Db(-3.0)), Reduction::NONE);
    assert_eq!(reduction.max(Reduction::new(Db(2.0))), reduction);
}

/// A receiver that ignores a PPDU locks to another one that begins from then on, but not to one
/// that began earlier, and only until the ignored PPDU ends.
#[test]
fn what_is_ignored_holds_nobody() {
    for (second_us, ignored_us, locks) in [
        (150, Some(132), true),
        (132, Some(132), true),
        (131, Some(132), false),
        (150, None, false),
    ] {
        let mut air = air(&[], None);
        air.begin(flight(A, C, 100, 300));
        if let Some(us) = ignored_us {
            let number = air.flights().last().expect("it is there").overlaps.number();
            air.ignore(B, number, at(us));
        }
        air.begin(flight(D, B, second_us, 280));
        let second = air.flights().last().expect("it is there").clone();
        assert_eq!(air.locks(&second, B), locks, "{second_us} us");
        assert!(!air.locks(&second, C), "the other receiver");
        // The next one of the same transmitter holds it again.
        for _ in 0..2 {
            let end = air.next_end();
            let ended = air.end(end).expect("one ends");
            air.forget(ended);
        }
        assert!(air.ignored.is_empty());
    }
}

/// Trigger-based PPDUs share one preamble, so their powers add up. The SINR of HE-SIG-A covers only
/// its own 32 us.
#[test]
fn what_is_known_at_the_end_of_the_signal_field() {
    let header = Duration::from_micros(48);
    let answer =
        |from| Flight { carried: Carried::Triggered { header }, ..flight(from, A, 100, 400) };
    let snrs = [(B, D, 10.0), (C, D, 10.0), (A, D, 3.9)];
    let mut both_answer = air(&snrs, None);
    both_answer.begin(answer(B));
    both_answer.begin(answer(C));
    assert_eq!(both_answer.next_signal_field(at(100)), at(132));
    assert_eq!(both_answer.signal_fields(at(132)).count(), 2);
    for flight in both_answer.signal_fields(at(132)) {
        let heard_mw = both_answer
            .hears_signal_field(flight, &both_answer.together_with(flight), D)
            .expect("13 dB over the noise");
        assert!((heard_mw / (2.0 * Dbm(-84.0).as_milliwatts()) - 1.0).abs() < 1e-9);
        assert!(is_below(heard_mw, Dbm(-80.98)) && !is_below(heard_mw, Dbm(-80.99)));
    }
    // A plain HT PPDU has no colour; a preamble takes 4 dB.
    assert_eq!(flight(A, B, 100, 300).signal_field_end(), None);
    let he = Rate::he(0, 1, ChannelWidth::Mhz20, HeGuardInterval::Ns800Ltf2x, false);
    let he = he.expect("a rate");
    for (snr, is_heard) in [(3.99, false), (4.01, true)] {
        let mut air = air(&[(A, D, snr)], None);
        air.begin(Flight { rate: he, ..flight(A, B, 100, 300) });
        // What begins behind HE-SIG-A does not disturb it, though it does the rest.
        air.begin(flight(C, B, 132, 300));
        let first = air.flights().next().expect("it is there");
        assert_eq!(
            air.hears_signal_field(first, &air.together_with(first), D).is_some(),
            is_heard,
            "{snr} dB"
        );
    }
}
