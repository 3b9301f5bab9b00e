//! Data rates and durations of PPDUs, against every row of ns-3's table. Target: equal
//! to the nanosecond, except for the rounding of PPDUs with short guard interval
//! (IEEE 802.11-2020, 19.4.3).

use crate::Verdict;
use crate::table::Table;
use crate::validate::data::{self, PHY_TABLES};
use lasthop_wifi::phy::{Band, GuardInterval, Preamble, Rate};
use std::collections::BTreeMap;

/// The number of rows of one PHY, in total and by result.
#[derive(Default)]
struct Family {
    rows: usize,
    equal: usize,
    rounded: usize,
    wrong: usize,
    rates_wrong: usize,
}

pub(super) fn table() -> Table {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for record in data::records(PHY_TABLES) {
        let preamble = match record.text("preamble") {
            "SHORT" => Preamble::Short,
            _ => Preamble::Long,
        };
        let rate = record.rate(record.text("gi_ns") == "400", preamble);
        let band = if record.text("band_ghz") == "5" { Band::Ghz5 } else { Band::Ghz2_4 };
        let name = format!("{} at {band}{}", record.text("family"), detail(rate));
        let family = families.entry(name).or_default();
        let nanos = |name: &str| (record.number(name) * 1e3).round() as u64;
        let ours = rate.ppdu_duration(record.whole("psdu_bytes"), band).as_nanos();
        let theirs = nanos("ppdu_us");
        family.rows += 1;
        let tenths = |mbps: f64| (mbps * 10.0).round();
        let same_rate =
            tenths(rate.bitrate().as_mbps_f64()) == tenths(record.number("data_rate_mbps"));
        family.rates_wrong += usize::from(!same_rate);
        if ours == theirs {
            family.equal += 1;
        } else if ours == rounded_up(rate, band, nanos("preamble_header_us"), theirs) {
            family.rounded += 1;
        } else {
            family.wrong += 1;
        }
    }
    let row = |(name, family): (String, Family)| {
        let counts = [family.rows, family.equal, family.rounded, family.wrong, family.rates_wrong];
        let cells = std::iter::once(name).chain(counts.map(|count| count.to_string()));
        (cells.collect(), Verdict::pass_if(family.wrong + family.rates_wrong == 0))
    };
    Table {
        title: "Data rates and PPDU durations",
        text:
            "ns-3's table of PPDU durations, row by row. Target: equal to the nanosecond, except \
             for the rounding of short-GI PPDUs."
                .into(),
        columns: vec!["PHY", "rows", "equal", "rounded up", "durations off", "rates off"],
        rows: families.into_iter().map(row).collect(),
        notes: vec![
            "*Rounded up*: with the short guard interval ns-3 ends a PPDU on a multiple of 3.6 us. \
             IEEE 802.11-2020, 19.4.3 and lasthop round the data part up to a multiple of 4 us. \
             The difference must be exactly that."
                .into(),
        ],
    }
}

fn detail(rate: Rate) -> &'static str {
    match rate {
        Rate::Ht { guard_interval: GuardInterval::Short, .. } => ", short GI",
        Rate::Ht { .. } => ", long GI",
        Rate::Dsss { preamble: Preamble::Short, .. } => ", short preamble",
        Rate::Dsss { .. } => ", long preamble",
        _ => "",
    }
}

/// Returns ns-3's duration in nanoseconds, with the data part rounded up as in the
/// standard.
fn rounded_up(rate: Rate, band: Band, header: u64, theirs: u64) -> u64 {
    if !matches!(rate, Rate::Ht { guard_interval: GuardInterval::Short, .. }) {
        return theirs;
    }
    let extension = if band == Band::Ghz2_4 { 6_000 } else { 0 };
    header + (theirs - header - extension).next_multiple_of(4_000) + extension
}
