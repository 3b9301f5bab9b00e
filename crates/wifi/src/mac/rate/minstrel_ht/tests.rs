//! The judge is Linux' output: `rc_stats` of two kernels since 5.12, posted to linux-wireless (HT,
//! one stream, A-MPDU length 1.0, nothing learned yet) and quoted in commit 5c6dd7bd569b (OFDM,
//! `retry` after use).

use super::*;
use crate::phy::{ChannelWidth, GuardInterval, HeGuardInterval, OfdmRate};
use lasthop_units::Seed;

/// Values for each MCS: `airtime` in us and `max_tp` in tenths.
type Group = [(u64, u32); 8];
const HT: [(ChannelWidth, GuardInterval, Group); 4] = [
    (
        ChannelWidth::Mhz20,
        GuardInterval::Long,
        [
            (1477, 56),
            (738, 106),
            (492, 149),
            (369, 188),
            (246, 254),
            (185, 307),
            (164, 330),
            (148, 351),
        ],
    ),
    (
        ChannelWidth::Mhz20,
        GuardInterval::Short,
        [
            (1329, 62),
            (665, 116),
            (443, 163),
            (332, 204),
            (222, 272),
            (166, 328),
            (148, 351),
            (133, 373),
        ],
    ),
    (
        ChannelWidth::Mhz40,
        GuardInterval::Long,
        [
            (711, 109),
            (356, 194),
            (237, 260),
            (178, 314),
            (119, 396),
            (89, 456),
            (79, 480),
            (71, 502),
        ],
    ),
    (
        ChannelWidth::Mhz40,
        GuardInterval::Short,
        [
            (640, 120),
            (320, 210),
            (214, 279),
            (160, 335),
            (107, 418),
            (80, 478),
            (71, 501),
            (64, 522),
        ],
    ),
];

/// `airtime` in us, `max_tp` in tenths and, for rates in use, `retry`.
const OFDM: [(u64, u32, Option<u8>); 8] = [
    (1640, 52, Some(3)),
    (1104, 77, Some(4)),
    (836, 100, Some(4)),
    (568, 143, Some(5)),
    (436, 181, Some(5)),
    (300, 249, None),
    (236, 304, None),
    (212, 330, None),
];

/// `airtime` in us of VHT groups for each MCS, as two users of mt76 posted them (its issues 409 and
/// 493), the second with two streams.
const VHT: [(ChannelWidth, GuardInterval, u8, &[u64]); 3] = [
    (ChannelWidth::Mhz20, GuardInterval::Long, 1, &[1477, 738, 492, 369, 246, 185, 164, 148, 123]),
    (ChannelWidth::Mhz40, GuardInterval::Long, 2, &[356, 178, 119, 89, 59, 44, 40, 36, 30, 27]),
    (ChannelWidth::Mhz40, GuardInterval::Short, 1, &[640, 320]),
];

fn minstrel(rates: &RateSet) -> MinstrelHt {
    let stream = Seed::new(1, 0).stream("rate");
    MinstrelHt::new(rates, Duration::from_millis(50), Duration::from_millis(20), stream)
}

/// An instance for which every rate has always succeeded.
fn confident(rates: &RateSet) -> MinstrelHt {
    let mut minstrel = minstrel(rates);
    for statistics in &mut minstrel.statistics {
        statistics.count(1, 1);
        statistics.fold(0);
    }
    minstrel
}

/// Compares with whole microseconds and the plain throughput, as Linux prints them.
fn check(minstrel: &MinstrelHt, rate: Rate, airtime_us: u64, max_tp_tenths: u32) {
    let index = minstrel.table.find(rate).expect("in the set");
    let airtime = (minstrel.table.duration_ns(index) + 500) / 1_000;
    assert_eq!(u64::from(airtime), airtime_us, "{rate:?}");
    assert_eq!(minstrel.throughput(index), max_tp_tenths, "{rate:?}");
}

#[test]
fn air_times_and_throughputs_are_those_of_linux() {
    let ht = confident(&RateSet::ht(1, ChannelWidth::Mhz40, true));
    for (width, guard_interval, rows) in HT {
        for (mcs, (airtime_us, max_tp_tenths)) in (0..).zip(rows) {
            check(&ht, Rate::Ht { mcs, width, guard_interval }, airtime_us, max_tp_tenths);
        }
    }
    let ofdm = confident(&RateSet::ofdm());
    for (rate, (airtime_us, max_tp_tenths, _)) in OfdmRate::ALL.into_iter().zip(OFDM) {
        check(&ofdm, Rate::Ofdm(rate), airtime_us, max_tp_tenths);
    }
}

#[test]
fn air_times_of_vht_are_those_of_linux() {
    let vht = confident(&RateSet::vht(2, ChannelWidth::Mhz80, true));
    for (width, guard_interval, streams, airtimes_us) in VHT {
        for (mcs, &airtime_us) in (0..).zip(airtimes_us) {
            let rate = Rate::Vht { mcs, streams, width, guard_interval };
            let index = vht.table.find(rate).expect("in the set");
            assert_eq!(
                u64::from((vht.table.duration_ns(index) + 500) / 1_000),
                airtime_us,
                "{rate}"
            );
        }
    }
}

/// Groups are ordered by width, guard interval and streams; HT and OFDM rates beside VHT, more than
/// four streams, 160 MHz and HE have no group.
#[test]
fn what_linux_has_no_group_for_is_left_out() {
    let mut rates = RateSet::vht(8, ChannelWidth::Mhz160, true).rates;
    rates.extend(RateSet::ht(2, ChannelWidth::Mhz40, true).rates);
    rates.extend(RateSet::ofdm().rates);
    rates.extend(RateSet::he(2, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x).rates);
    let all = minstrel(&RateSet::new(rates.clone()));
    let groups = &all.table.groups;
    assert_eq!(groups.len(), 3 * 2 * 4);
    let streams: Vec<u8> = groups.iter().map(|group| group.streams).collect();
    assert_eq!(streams, [1, 2, 3, 4].repeat(6));
    let widths: Vec<_> =
        groups.iter().map(|group| all.table.entry(group.first).rate.width()).collect();
    assert!(widths.is_sorted() && widths.last() == Some(&ChannelWidth::Mhz80));
    for rate in rates {
        let has_group = match rate {
            Rate::Vht { streams, width, .. } => streams <= 4 && width < ChannelWidth::Mhz160,
            _ => false,
        };
        assert_eq!(all.table.find(rate).is_some(), has_group, "{rate}");
    }
    // MCS 9 at 20 MHz is there with three streams only, MCS 6 at 80 MHz not with three.
    let sizes: Vec<u8> = groups.iter().map(|group| group.len).collect();
    assert_eq!(sizes[..4], [9, 9, 10, 9]);
    assert_eq!(sizes[16..20], [10, 10, 9, 10]);
}

#[test]
#[should_panic = "Minstrel-HT has no group for HE-MCS0"]
fn he_alone_is_refused() {
    minstrel(&RateSet::he(1, ChannelWidth::Mhz20, HeGuardInterval::Ns800Ltf2x));
}

#[test]
fn retries_are_those_of_linux() {
    let ofdm = confident(&RateSet::ofdm());
    for (index, (.., retry)) in (0..).zip(OFDM) {
        if let Some(retry) = retry {
            assert_eq!(
                retry::tries(&ofdm.table, index, fraction(538, 1_000), 1),
                retry,
                "rate {index}"
            );
        }
    }
    // From the table of another report: MCS 0 and MCS 2 to 6, long guard interval.
    let ht = confident(&RateSet::ht(1, ChannelWidth::Mhz20, false));
    for (index, probability, retry) in
        [(0, 827, 3), (2, 815, 5), (3, 843, 5), (4, 795, 5), (5, 577, 5)]
    {
        assert_eq!(
            retry::tries(&ht.table, index, fraction(probability, 1_000), 1),
            retry,
            "MCS {index}"
        );
    }
    assert_eq!(retry::tries(&ht.table, 0, fraction(19, 100), 1), 2);
    assert_eq!(retry::tries(&ht.table, 0, fraction(90, 100), 16), 2);
}

/// Rates marked for sampling that do not depend on chance: of each group the first that is faster
/// than MCS 0 at 20 MHz.
#[test]
fn the_first_increments_are_those_of_linux() {
    let mut minstrel = minstrel(&RateSet::ht(1, ChannelWidth::Mhz40, true));
    let mut increments = Vec::new();
    // Increments and jumps alternate; a slow rate comes sixth.
    for turn in 0..8 {
        let sampled = minstrel.sampling.next();
        if [0, 2, 4, 6].contains(&turn) {
            increments.extend(sampled.map(|rate| minstrel.table.entry(rate).rate));
        }
    }
    let ht = |mcs, width, guard_interval| Rate::Ht { mcs, width, guard_interval };
    let expected = [
        ht(1, ChannelWidth::Mhz20, GuardInterval::Long),
        ht(0, ChannelWidth::Mhz20, GuardInterval::Short),
        ht(0, ChannelWidth::Mhz40, GuardInterval::Long),
        ht(0, ChannelWidth::Mhz40, GuardInterval::Short),
    ];
    assert_eq!(increments.len(), expected.len());
    assert!(expected.iter().all(|rate| increments.contains(rate)), "{increments:?}");
}

#[test]
fn a_probe_is_tried_once_before_the_later_stages() {
    let mut minstrel = minstrel(&RateSet::ht(2, ChannelWidth::Mhz20, false));
    let usual = minstrel.chain;
    let probe = minstrel.chain(Instant::ZERO, Db(0.0), 1_500);
    assert!(probe.is_probe() && probe.stages()[0].tries == 1);
    assert_ne!(probe.stages()[0].rate, minstrel.main_rate());
    assert_eq!(probe.stages()[1..], usual.stages()[1..]);
    // None until the interval is over.
    let soon = Instant::ZERO + Duration::from_micros(19_999);
    assert_eq!(minstrel.chain(soon, Db(0.0), 1_500), usual);
    let later = Instant::ZERO + Duration::from_micros(20_000);
    assert!(minstrel.chain(later, Db(0.0), 1_500).is_probe());
}

/// The mean A-MPDU length is that of mac80211: a window has a weight of a quarter (EWMA level 96 of
/// 128); a window without A-MPDUs changes nothing, and none counts twice.
#[test]
fn the_mean_ampdu_length_is_folded_every_window() {
    let rates = RateSet::ht(1, ChannelWidth::Mhz20, false);
    let mut minstrel = minstrel(&rates);
    let rate = minstrel.main_rate();
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    // 8 and 16 MPDUs: twelve on average.
    minstrel.report(at(10), rate, 8, 8);
    minstrel.report(at(50), rate, 16, 16);
    assert_eq!(minstrel.mean_mpdus, ONE, "the window is not over");
    assert_eq!((minstrel.window_mpdus, minstrel.window_ppdus), (24, 2));
    minstrel.report(at(51), rate, 12, 12);
    assert_eq!(minstrel.mean_mpdus, ONE + 11 * ONE / 4);
    assert_eq!((minstrel.window_mpdus, minstrel.window_ppdus), (0, 0));
    assert_eq!((minstrel.updated, minstrel.sample_at), (at(51), at(51)));
    minstrel.update(at(60));
    assert_eq!(minstrel.mean_mpdus, 15 * ONE / 4);
    minstrel.report(at(111), rate, 3, 0);
    assert_eq!(minstrel.mean_mpdus, 15 * ONE / 4 - 3 * ONE / 16);
    // What is not in the set, or sent nothing, counts nowhere.
    minstrel.report(at(112), rate, 0, 0);
    minstrel.report(at(112), Rate::Ofdm(OfdmRate::Mbps6), 5, 5);
    assert_eq!((minstrel.window_mpdus, minstrel.window_ppdus), (0, 0));
}

/// From 10 % on a rate has a throughput, which no longer grows from 90 % on (mac80211's
/// minstrel_ht_get_tp_avg).
#[test]
fn throughput_between_ten_and_ninety_percent() {
    let mut minstrel = minstrel(&RateSet::ht(1, ChannelWidth::Mhz20, false));
    let mut at = |probability| {
        minstrel.statistics[0].probability = probability;
        minstrel.throughput(0)
    };
    assert_eq!(at(PROBABILITY_MIN - 1), 0);
    let tenth = at(PROBABILITY_MIN);
    assert!(tenth > 0);
    assert!(at(fraction(50, 100)).abs_diff(5 * tenth) <= 5);
    assert!(at(PROBABILITY_CAP).abs_diff(9 * tenth) <= 9);
    assert_eq!(at(ONE), at(PROBABILITY_CAP));
}

/// After more than 30 MPDUs in this window with less than a quarter acknowledged, the choice falls
/// from two streams to one, but not before.
#[test]
fn a_rate_that_dies_is_left_at_once() {
    let rates = RateSet::ht(2, ChannelWidth::Mhz20, false);
    for (sent, acked, is_left) in [(30, 0, false), (31, 6, true), (31, 7, false), (32, 8, false)] {
        let mut minstrel = minstrel(&rates);
        let two =
            Rate::Ht { mcs: 15, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
        let index = minstrel.table.find(two).unwrap();
        minstrel.best[0] = index;
        minstrel.report(Instant::ZERO, two, sent, acked);
        let streams = minstrel.table.group_of(minstrel.best[0]).streams;
        assert_eq!(streams, if is_left { 1 } else { 2 }, "{acked} of {sent}");
        assert_eq!(minstrel.main_rate() == two, !is_left);
    }
}
