//! The judge is a trace of Linux' rules (`rc.c` of 3.13): chains, PERs and limits that a separate
//! program computed from the driver's text, for drawn successes and absences. `trace.txt` has, for
//! five sets of rates in turn:
//!
//! - `set NAME RATE ..`: the rates that the driver uses, slowest first;
//! - `chain US PROBE RATExTRIES ..`: the chain of the next frame;
//! - `sent US RATE MPDUS ACKED`: a transmission; `given-up` after a frame's last;
//! - `per BEST LIMIT PERCENT ..`: the state after a frame's end.

use super::*;
use crate::phy::{ChannelWidth, GuardInterval, Preamble};
use alloc::string::String;
use lasthop_units::Duration;
use proptest::prelude::*;

const TRACE: &str = include_str!("trace.txt");

fn rates_of(name: &str) -> RateSet {
    match name {
        "na2x40s" => RateSet::ht(2, ChannelWidth::Mhz40, true),
        "na1x20l" => RateSet::ht(1, ChannelWidth::Mhz20, false),
        "na3x40s" => RateSet::ht(3, ChannelWidth::Mhz40, true),
        "a" => RateSet::ofdm(),
        "g" => RateSet::erp(Preamble::Short),
        _ => panic!("no set {name}"),
    }
}

fn name_of(rate: Rate) -> String {
    match rate {
        Rate::Ht { mcs, width, guard_interval } => {
            let mhz = if width == ChannelWidth::Mhz40 { 40 } else { 20 };
            let guard = if guard_interval == GuardInterval::Short { 's' } else { 'l' };
            alloc::format!("ht:{mhz}:{guard}:{mcs}")
        }
        Rate::Dsss { .. } => alloc::format!("cck:{}", rate.bitrate().as_bps() / 1_000),
        _ => alloc::format!("ofdm:{}", rate.bitrate().as_bps() / 1_000),
    }
}

fn at(us: &str) -> Instant {
    Instant::ZERO + Duration::from_micros(us.parse().expect("microseconds"))
}

#[test]
fn the_rules_are_those_of_linux() {
    let mut control = None;
    let mut now = Instant::ZERO;
    let (mut chains, mut probes, mut given_up) = (0, 0, 0);
    for (number, line) in (1..).zip(TRACE.lines()) {
        let fields: Vec<&str> = line.split(' ').collect();
        let name = |control: &Ath9k, index| name_of(control.table.entry(index).rate);
        match fields[0] {
            "set" => {
                let new = Ath9k::new(&rates_of(fields[1]));
                let names: Vec<String> =
                    new.table.valid.iter().map(|&index| name(&new, index)).collect();
                assert_eq!(names, fields[2..], "line {number}");
                control = Some(new);
                continue;
            }
            "chain" => chains += 1,
            "given-up" => given_up += 1,
            _ => {}
        }
        let control: &mut Ath9k = control.as_mut().expect("a set comes first");
        match fields[0] {
            "chain" => {
                now = at(fields[1]);
                let chain = control.chain(now, Db(0.0), 1_500);
                let stage = |it: &Attempt| alloc::format!("{}x{}", name_of(it.rate), it.tries);
                let stages: Vec<String> = chain.stages().iter().map(stage).collect();
                assert_eq!(stages, fields[3..], "line {number}");
                assert_eq!(chain.is_probe(), fields[2] == "1", "line {number}");
                probes += u32::from(chain.is_probe());
            }
            "sent" => {
                now = at(fields[1]);
                let stage =
                    control.series.iter().map(|stage| control.table.entry(stage.index).rate);
                let rate = stage.into_iter().find(|&rate| name_of(rate) == fields[2]);
                let [sent, acked] = [3, 4].map(|field| fields[field].parse().expect("a number"));
                control.report(now, rate.expect("a rate of the chain"), sent, acked);
            }
            "given-up" => control.give_up(now),
            "per" => {
                assert_eq!(name(control, control.best), fields[1], "line {number}");
                assert_eq!(name(control, control.limit), fields[2], "line {number}");
                let per: Vec<String> = control
                    .table
                    .valid
                    .iter()
                    .map(|&index| alloc::format!("{}", control.per[usize::from(index)]))
                    .collect();
                assert_eq!(per, fields[3..], "line {number}");
            }
            other => panic!("line {number}: {other}"),
        }
    }
    assert!(chains > 500 && probes > 30 && given_up > 10, "{chains} {probes} {given_up}");
}

/// The chain's tries are hardware's; the driver then repeats the frame at the same rates.
#[test]
fn a_chain_begins_again() {
    let mut control = Ath9k::new(&RateSet::ht(2, ChannelWidth::Mhz40, true));
    let chain = control.chain(Instant::ZERO, Db(0.0), 1_500);
    let mbps = |attempt| chain.rate_for_attempt(attempt).bitrate().as_bps() / 1_000_000;
    assert_eq!(
        [0, 3, 4, 8, 12, 19, 20, 24, 39, 40].map(mbps),
        [216, 216, 162, 108, 81, 81, 216, 162, 81, 216]
    );
    let before = control.clone();
    for attempt in 0..40 {
        control.report(Instant::ZERO, chain.rate_for_attempt(attempt), 32, 0);
    }
    assert_eq!(control.per, before.per, "nothing is known before the end");
}

fn any_set() -> impl Strategy<Value = RateSet> {
    let width = ChannelWidth::Mhz40;
    let mut all = RateSet::ht(3, width, false).rates;
    all.extend([7, 15].map(|mcs| Rate::Ht { mcs, width, guard_interval: GuardInterval::Short }));
    all.extend(RateSet::erp(Preamble::Short).rates);
    proptest::sample::subsequence(all, 1..60).prop_map(RateSet::new)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any history: only rates of the pair, PERs in percent, slower rates no worse.
    #[test]
    fn pers_are_percent_and_ordered(
        rates in any_set(),
        history in proptest::collection::vec((0_u64..80_000, 1_u32..45, 1_u16..65, 0_u16..70), 1..300),
    ) {
        let mut control = Ath9k::new(&rates);
        let mut now = Instant::ZERO;
        for (later, attempts, sent, acked) in history {
            now += Duration::from_micros(later);
            let chain = control.chain(now, Db(0.0), 1_500);
            prop_assert!(chain.stages().iter().all(|stage| rates.rates.contains(&stage.rate)));
            prop_assert!(rates.rates.contains(&control.main_rate()));
            for attempt in 0..attempts {
                let acked = if attempt + 1 == attempts { acked } else { 0 };
                control.report(now, chain.rate_for_attempt(attempt), sent, acked);
            }
            prop_assert!(control.per.iter().all(|per| *per <= 100) && control.per.is_sorted());
            prop_assert!(control.best <= control.limit);
        }
    }
}
