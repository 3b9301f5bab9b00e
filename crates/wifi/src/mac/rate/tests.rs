//! Rate control on a known channel: a saturated link of constant or stepped SNR with independent
//! MPDU errors. The judge is the best fixed rate there, computed instead of sent.

use super::*;
use crate::phy::Band;
use lasthop_units::Seed;
use proptest::prelude::*;

/// MPDU on the air: 1 500 bytes of IP, LLC/SNAP, MAC header, FCS.
const MPDU_BYTES: u16 = 1_538;
/// Air time of a PPDU, as Linux limits it, and MPDUs in it.
const PPDU_TIME_MAX: Duration = Duration::from_millis(4);
const MPDUS_MAX: u16 = 32;
/// AIFS, mean backoff, SIFS and Block Ack, about.
const EXCHANGE_OVERHEAD: Duration = Duration::from_micros(150);
const TRIES_MAX: u32 = 7;

const SECOND: Duration = Duration::from_secs(1);

struct Link {
    now: Instant,
    control: RateControl,
    errors: ErrorModel,
    stream: Stream,
    snr: Db,
    /// Whether the MAC aggregates probes.
    aggregated_probes: bool,
    ppdus: u32,
    probes: u32,
    probe_time: Duration,
}

impl Link {
    fn new(config: &RateControlConfig, rates: &RateSet, snr: f64) -> Self {
        Self::with_errors(config, rates, snr, &ErrorModel::nist())
    }

    fn with_errors(
        config: &RateControlConfig,
        rates: &RateSet,
        snr: f64,
        errors: &ErrorModel,
    ) -> Self {
        let seed = Seed::new(1, 0);
        let stream = seed.stream("rate");
        Self {
            now: Instant::ZERO,
            control: RateControl::new(config, rates, errors, stream),
            errors: errors.clone(),
            stream: seed.stream("link"),
            snr: Db(snr),
            aggregated_probes: false,
            ppdus: 0,
            probes: 0,
            probe_time: Duration::ZERO,
        }
    }

    /// Sends for `time`; returns the goodput in bits a second.
    fn run(&mut self, time: Duration) -> f64 {
        let start = self.now;
        let mut delivered = 0;
        while self.now < start + time {
            let chain = self.control.chain(self.now, self.snr, MPDU_BYTES);
            delivered += (0..TRIES_MAX).map(|n| self.send(&chain, n)).find(|&n| n > 0).unwrap_or(0);
        }
        f64::from(delivered) * f64::from(MPDU_BYTES) * 8.0 / (self.now - start).as_secs_f64()
    }

    /// Sends one PPDU; returns the MPDUs that arrived.
    fn send(&mut self, chain: &RateChain, attempt: u32) -> u32 {
        let rate = chain.rate_for_attempt(attempt);
        let probe = chain.is_probe() && attempt == 0;
        let mpdus = if probe && !self.aggregated_probes { 1 } else { mpdus_per_ppdu(rate) };
        let success = self.success(rate);
        let acked = (0..mpdus).filter(|_| self.stream.chance(success)).count();
        let time = exchange_time(rate, mpdus);
        self.now += time;
        self.control.report(self.now, rate, mpdus, acked as u16);
        self.ppdus += 1;
        if probe {
            self.probes += 1;
            self.probe_time += time;
        }
        acked as u32
    }

    /// Probability that an MPDU arrives.
    fn success(&self, rate: Rate) -> Probability {
        self.errors.success(rate, self.snr, u32::from(MPDU_BYTES))
    }

    /// Time until the goodput over 20 ms first reaches this share of the best.
    fn time_to(&mut self, share: f64, rates: &RateSet) -> Duration {
        let start = self.now;
        let wanted = share * self.best_fixed(rates).1;
        while self.run(Duration::from_millis(20)) < wanted {
            assert!(self.now < start + SECOND * 20, "stuck at {:?}", self.control.main_rate());
        }
        self.now - start
    }

    /// Goodput of a fixed rate in bits a second.
    fn goodput(&self, rate: Rate) -> f64 {
        let mpdus = mpdus_per_ppdu(rate);
        let success = self.success(rate).as_f64();
        let bits = success * f64::from(mpdus) * f64::from(MPDU_BYTES) * 8.0;
        bits / exchange_time(rate, mpdus).as_secs_f64()
    }

    /// The best fixed rate here and its goodput in bits a second.
    fn best_fixed(&self, rates: &RateSet) -> (Rate, f64) {
        let all = rates.rates.iter().map(|&rate| (rate, self.goodput(rate)));
        all.max_by(|a, b| a.1.total_cmp(&b.1)).expect("a set has a rate")
    }
}

fn mpdus_per_ppdu(rate: Rate) -> u16 {
    let one = rate.ppdu_duration(u32::from(MPDU_BYTES), Band::Ghz5);
    if rate.may_aggregate() { ((PPDU_TIME_MAX / one) as u16).clamp(1, MPDUS_MAX) } else { 1 }
}

fn exchange_time(rate: Rate, mpdus: u16) -> Duration {
    let psdu = u32::from(mpdus) * u32::from(MPDU_BYTES);
    rate.ppdu_duration(psdu, Band::Ghz5) + EXCHANGE_OVERHEAD
}

fn minstrel() -> RateControlConfig {
    RateControlConfig::minstrel_ht()
}

/// Every set of one or two streams, 20 or 40 MHz, with short guard intervals.
fn ht_sets() -> impl Iterator<Item = RateSet> {
    [
        (1, ChannelWidth::Mhz20),
        (2, ChannelWidth::Mhz20),
        (1, ChannelWidth::Mhz40),
        (2, ChannelWidth::Mhz40),
    ]
    .into_iter()
    .map(|(streams, width)| RateSet::ht(streams, width, true))
}

/// The same of VHT, to 80 MHz.
fn vht_sets() -> impl Iterator<Item = RateSet> {
    [(1, ChannelWidth::Mhz20), (2, ChannelWidth::Mhz40), (3, ChannelWidth::Mhz80)]
        .into_iter()
        .map(|(streams, width)| RateSet::vht(streams, width, true))
}

/// HE sets, to 160 MHz.
fn he_sets() -> impl Iterator<Item = RateSet> {
    [(1, ChannelWidth::Mhz20), (2, ChannelWidth::Mhz80), (4, ChannelWidth::Mhz160)]
        .into_iter()
        .map(|(streams, width)| RateSet::he(streams, width, HeGuardInterval::Ns800Ltf2x))
}

/// The ratio of goodput to that of the best fixed rate from 3 to 40 dB, where
/// that rate gets at least half of its MPDUs through, after `settling`: the
/// lowest and the mean.
fn shares(config: &RateControlConfig, rates: &RateSet, settling: Duration) -> (f64, f64) {
    let mut shares = Vec::new();
    for snr in 3..=40 {
        let mut link = Link::new(config, rates, f64::from(snr));
        let (best, goodput) = link.best_fixed(rates);
        if link.success(best).as_f64() >= 0.5 {
            link.run(settling);
            shares.push(link.run(SECOND * 2) / goodput);
        }
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    (shares.into_iter().min_by(f64::total_cmp).expect("some rate works"), mean)
}

#[test]
fn minstrel_comes_close_to_the_best_fixed_rate() {
    for rates in ht_sets().chain(vht_sets()) {
        let (lowest, mean) = shares(&minstrel(), &rates, SECOND * 2);
        assert!(lowest > 0.8 && mean > 0.95, "{lowest:.3}, mean {mean:.3} of {rates:?}");
    }
    // Without aggregation a window holds a few packets only, and on the edge of a rate chance decides.
    for rates in [RateSet::ofdm(), RateSet::erp(Preamble::Short), RateSet::dsss(Preamble::Long)] {
        let (lowest, mean) = shares(&minstrel(), &rates, SECOND * 2);
        assert!(lowest > 0.75 && mean > 0.95, "{lowest:.3}, mean {mean:.3} of {rates:?}");
    }
}

/// The rates that ath9k uses for a pair: with two streams the three slowest, the fourth and the
/// fifth of one and the five fastest of two, the short guard interval with the fastest MCS alone.
fn ath9k_sets() -> impl Iterator<Item = RateSet> {
    let one = |width| -> (ChannelWidth, Vec<u8>, u8) { (width, (0..8).collect(), 7) };
    let two = |width| (width, (0..5).chain(11..16).collect(), 15);
    let (narrow, wide) = (ChannelWidth::Mhz20, ChannelWidth::Mhz40);
    [one(narrow), two(narrow), one(wide), two(wide)].into_iter().map(|(width, mcs, fastest)| {
        let rate = |mcs, guard_interval| Rate::Ht { mcs, width, guard_interval };
        let long = mcs.into_iter().map(|mcs| rate(mcs, GuardInterval::Long));
        RateSet::new(long.chain([rate(fastest, GuardInterval::Short)]))
    })
}

/// The judge is the best of the rates that the driver uses; beside CCK it has no 6 and 9 Mb/s.
/// Lowest are places where a faster rate loses half of its MPDUs: a single frame that probes it
/// succeeds, and A-MPDUs pay until its PER has grown again.
#[test]
fn ath9k_comes_close_to_the_best_fixed_rate() {
    let erp = RateSet::erp(Preamble::Short).rates.into_iter();
    let slow = [OfdmRate::Mbps6, OfdmRate::Mbps9].map(Rate::ErpOfdm);
    let erp = RateSet::new(erp.filter(|rate| !slow.contains(rate)));
    for rates in ath9k_sets().chain([RateSet::ofdm(), erp]) {
        let (lowest, mean) = shares(&RateControlConfig::Ath9k, &rates, SECOND * 2);
        assert!(lowest > 0.8 && mean > 0.95, "{lowest:.3}, mean {mean:.3} of {rates:?}");
    }
}

#[test]
fn ideal_comes_close_to_the_best_fixed_rate() {
    let old = [RateSet::ofdm(), RateSet::erp(Preamble::Short)];
    for rates in ht_sets().chain(vht_sets()).chain(he_sets()).chain(old) {
        let (lowest, mean) = shares(&RateControlConfig::ideal(), &rates, Duration::ZERO);
        assert!(lowest > 0.94 && mean > 0.99, "{lowest:.3}, mean {mean:.3} of {rates:?}");
    }
}

/// At the edge of MCS 0, MCS 8 is the best rate if each stream has the whole power, and MCS 0 if the
/// streams share the power. In both cases the choice has nearly the throughput of the best fixed
/// rate at every SNR.
#[test]
fn ideal_counts_the_cost_of_streams() {
    let rates = RateSet::ht(2, ChannelWidth::Mhz20, false);
    let ht =
        |mcs| Rate::Ht { mcs, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
    let free = ErrorModel::nist();
    let edge = free.sensitivity_snr(ht(0), 0.1, MPDU_BYTES.into());
    for (errors, expected) in [(free.clone(), ht(8)), (free.with_shared_power(), ht(0))] {
        let mut lowest = f64::INFINITY;
        for tenths in 0..300 {
            let snr = edge.0 + f64::from(tenths) / 10.0;
            let mut link = Link::with_errors(&RateControlConfig::ideal(), &rates, snr, &errors);
            let rate = link.control.chain(link.now, link.snr, MPDU_BYTES).rate_for_attempt(0);
            if tenths == 0 {
                assert_eq!(rate, expected);
            }
            lowest = lowest.min(link.goodput(rate) / link.best_fixed(&rates).1);
        }
        assert!(lowest > 0.93, "{lowest:.3}");
    }
}

/// The cost of its error: with an exact SNR as much goodput as the ideal control has, with an error
/// of 1 dB a little less, with 4 dB much less.
#[test]
fn firmware_pays_for_its_error() {
    for rates in he_sets() {
        let mean = |error| {
            let RateControlConfig::Firmware { update_interval, .. } = RateControlConfig::firmware()
            else {
                unreachable!()
            };
            let config = RateControlConfig::Firmware { update_interval, deviation: Db(error) };
            shares(&config, &rates, Duration::ZERO).1
        };
        let (exact, usual, poor) = (mean(0.0), mean(1.0), mean(4.0));
        assert!(exact > usual && usual > poor, "{exact:.3} {usual:.3} {poor:.3}");
        assert!(exact > 0.9 && usual > 0.85 && poor < 0.8, "{exact:.3} {usual:.3} {poor:.3}");
    }
}

/// One choice in an interval, from the SNR measured in the one before.
#[test]
fn firmware_is_an_interval_late() {
    let rates = RateSet::he(1, ChannelWidth::Mhz20, HeGuardInterval::Ns800Ltf2x);
    let update_interval = Duration::from_millis(20);
    let config = RateControlConfig::Firmware { update_interval, deviation: Db(0.0) };
    let mut control = Link::new(&config, &rates, 0.0).control;
    let mut at = |ms, snr| {
        let now = Instant::ZERO + Duration::from_millis(ms);
        control.chain(now, Db(snr), MPDU_BYTES).rate_for_attempt(0)
    };
    let slow = at(0, 5.0);
    assert_eq!([at(19, 45.0), at(20, 45.0), at(39, 45.0)], [slow; 3]);
    let fast = at(40, 5.0);
    assert_eq!(Some(&fast), rates.rates.last());
    assert_eq!([at(59, 5.0), at(60, 5.0)], [fast, slow]);
}

/// After two losses the rate is more robust, and in the end one for 6 dB less.
#[test]
fn firmware_walks_down() {
    let rates = RateSet::he(2, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x);
    let mut control = Link::new(&RateControlConfig::firmware(), &rates, 0.0).control;
    for snr in 8..40 {
        let now = Instant::ZERO + SECOND * snr;
        let chain = control.chain(now, Db(f64::from(snr as u32)), MPDU_BYTES);
        assert_eq!(chain.rate_for_attempt(0), control.main_rate());
        assert_eq!(chain.rate_for_attempt(1), control.main_rate());
        let walked = [0, 2, 4, 100].map(|attempt| chain.rate_for_attempt(attempt).bitrate());
        assert!(walked.is_sorted_by(|a, b| a >= b) && walked[3] < walked[0], "{chain:?}");
    }
}

/// Up, at most three faster rates are tried in a window; down, every rate that
/// used to work has to fail first, a few in a window. Over 40 seeds the median
/// is 0.15 s for 4 dB down, 0.8 s for 20 dB either way, 1.6 s for 34 dB down.
#[test]
fn minstrel_follows_a_step() {
    let rates = RateSet::ht(2, ChannelWidth::Mhz40, true);
    for (from, to, limit_ms) in [
        (26.0, 22.0, 400),
        (12.0, 32.0, 1_500),
        (32.0, 12.0, 1_500),
        (6.0, 40.0, 2_000),
        (40.0, 6.0, 2_500),
    ] {
        let mut link = Link::new(&minstrel(), &rates, from);
        link.run(SECOND * 3);
        link.snr = Db(to);
        let time = link.time_to(0.8, &rates);
        assert!(time < Duration::from_millis(limit_ms), "{from} to {to} dB took {time}");
    }
}

#[test]
fn probes_are_few_and_short() {
    for rates in ht_sets() {
        for snr in (5..=40).step_by(5) {
            let mut link = Link::new(&minstrel(), &rates, f64::from(snr));
            link.run(SECOND * 5);
            // One at the start of each window of 50 ms, then one every 20 ms.
            assert!(f64::from(link.probes) < 60.0 * link.now.as_secs_f64() + 1.0);
            let share = link.probe_time.as_secs_f64() / link.now.as_secs_f64();
            assert!(share < 0.1, "{share:.3} of the time at {snr} dB");
        }
    }
}

#[test]
fn collapsing_streams_are_left_within_a_window() {
    let rates = RateSet::ht(2, ChannelWidth::Mhz20, false);
    let mut link = Link::new(&minstrel(), &rates, 40.0);
    link.run(SECOND * 3);
    let best = link.control.main_rate();
    assert_eq!(best.streams(), 2);
    // Just after the end of a window, so that no other one ends meanwhile.
    while link.control.poll_rate_changed().is_some() {}
    let now = link.now;
    link.control.report(now, best, 32, 0);
    assert_eq!(link.control.main_rate().streams(), 1);
    assert_eq!(link.control.chain(now, link.snr, MPDU_BYTES).stages().len(), 3);
}

#[test]
fn a_chain_goes_from_fast_to_robust() {
    let rates = RateSet::ht(2, ChannelWidth::Mhz40, true);
    for snr in [8.0, 14.0, 20.0, 26.0] {
        let mut link = Link::new(&minstrel(), &rates, snr);
        link.run(SECOND * 3);
        let mut chain = link.control.chain(link.now, link.snr, MPDU_BYTES);
        if chain.is_probe() {
            assert_eq!(chain.stages()[0].tries, 1);
            chain = link.control.chain(link.now, link.snr, MPDU_BYTES);
        }
        let [first, second, robust] = chain.stages() else { panic!("{chain:?}") };
        assert!(!chain.is_probe());
        assert_eq!(first.rate, link.control.main_rate());
        let success = |stage: &Attempt| link.success(stage.rate).as_f64();
        assert!(success(robust) > 0.9 && success(robust) >= success(first) - 0.05, "{chain:?}");
        assert!(robust.rate.streams() < first.rate.streams(), "{chain:?}");
        for stage in [first, second, robust] {
            assert!((2..=7).contains(&stage.tries), "{chain:?}");
        }
    }
}

#[test]
fn attempts_walk_through_the_stages() {
    let rates = RateSet::ofdm().rates;
    let stage = |index: usize, tries| Attempt { rate: rates[index], tries };
    let chain = RateChain::new(&[stage(7, 1), stage(5, 3), stage(0, 2)], false);
    let walked: Vec<Rate> = (0..8).map(|attempt| chain.rate_for_attempt(attempt)).collect();
    assert_eq!(walked, [7, 5, 5, 5, 0, 0, 0, 0].map(|index| rates[index]));
}

#[test]
fn fixed_stays() {
    let rates = RateSet::ht(2, ChannelWidth::Mhz20, true);
    let rate = rates.rates[3];
    let mut link = Link::new(&RateControlConfig::Fixed { rate }, &rates, 3.0);
    link.run(SECOND);
    assert_eq!(link.control.main_rate(), rate);
    assert_eq!(link.control.poll_rate_changed(), None);
    let chain = link.control.chain(link.now, link.snr, MPDU_BYTES);
    assert_eq!(chain.rate_for_attempt(1_000), rate);
    assert!(!chain.is_probe());
}

#[test]
fn a_longer_msdu_makes_ideal_more_careful() {
    let rates = RateSet::ht(1, ChannelWidth::Mhz20, false);
    let mut control = Link::new(&RateControlConfig::ideal(), &rates, 0.0).control;
    let mut moved = false;
    for tenths in 0..400 {
        let snr = Db(f64::from(tenths) / 10.0);
        let mut other = control.clone();
        let short = control.chain(Instant::ZERO, snr, 1_500).rate_for_attempt(0);
        let long = other.chain(Instant::ZERO, snr, 7_900).rate_for_attempt(0);
        assert!(long.bitrate() <= short.bitrate());
        moved |= long != short;
    }
    assert!(moved);
    assert_eq!(Some(&control.main_rate()), rates.rates.last());
}

#[test]
fn a_move_of_the_main_rate_is_told_once() {
    let rates = RateSet::ht(1, ChannelWidth::Mhz20, false);
    let mut link = Link::new(&minstrel(), &rates, 40.0);
    assert_eq!(link.control.poll_rate_changed(), None);
    link.run(SECOND);
    assert_eq!(link.control.poll_rate_changed(), Some(link.control.main_rate()));
    assert_eq!(link.control.poll_rate_changed(), None);
}

#[test]
fn a_set_is_ascending() {
    let rates = RateSet::ht(4, ChannelWidth::Mhz40, true);
    assert_eq!(rates.rates.len(), 4 * 8 * 2 * 2);
    assert!(rates.rates.is_sorted_by_key(|rate| rate.bitrate()));
    assert_eq!(rates.intersection(&RateSet::ht(1, ChannelWidth::Mhz20, false)).rates.len(), 8);
    assert_eq!(RateSet::erp(Preamble::Long).rates.len(), 12);
    assert_eq!(RateSet::ht(1, ChannelWidth::Mhz20, true).intersection(&RateSet::ofdm()).rates, []);
}

fn any_set() -> impl Strategy<Value = RateSet> {
    let mut all = RateSet::ht(4, ChannelWidth::Mhz40, true).rates;
    all.extend(RateSet::vht(3, ChannelWidth::Mhz80, true).rates);
    all.extend(RateSet::erp(Preamble::Short).rates);
    all.extend(RateSet::dsss(Preamble::Long).rates);
    proptest::sample::subsequence(all, 1..60).prop_map(RateSet::new)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any reports: only rates of the set, and the same ones twice.
    #[test]
    fn any_history_is_answered_from_the_set(
        rates in any_set(),
        kind in 0_u32..6,
        history in proptest::collection::vec((0_u64..80_000, 0_u32..8, 0_u16..65, 0_u16..70, -10.0..50.0), 1..400),
    ) {
        let config = match kind {
            0 => RateControlConfig::ideal(),
            1 => RateControlConfig::firmware(),
            _ => minstrel(),
        };
        let mut control = Link::new(&config, &rates, 0.0).control;
        let mut twin = control.clone();
        let mut now = Instant::ZERO;
        for (later, attempt, sent, acked, snr) in history {
            now += Duration::from_micros(later);
            let chain = control.chain(now, Db(snr), 1_500);
            prop_assert_eq!(chain, twin.chain(now, Db(snr), 1_500));
            for stage in chain.stages() {
                prop_assert!(rates.rates.contains(&stage.rate));
            }
            for control in [&mut control, &mut twin] {
                control.report(now, chain.rate_for_attempt(attempt), sent, acked);
            }
            prop_assert!(rates.rates.contains(&control.main_rate()));
        }
        prop_assert_eq!(control, twin);
    }

    #[test]
    fn reports_of_unknown_rates_change_nothing(rates in any_set(), mcs in 0_u8..=255) {
        let stranger = Rate::Ht { mcs, width: ChannelWidth::Mhz40, guard_interval: GuardInterval::Long };
        prop_assume!(!rates.rates.contains(&stranger));
        let mut control = Link::new(&minstrel(), &rates, 0.0).control;
        let before = control.clone();
        control.report(Instant::ZERO + SECOND, stranger, 32, 32);
        prop_assert_eq!(control, before);
    }
}
