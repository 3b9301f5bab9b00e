//! 802.11be on one link against ns-3 3.48: one saturated station, and saturated stations in
//! contention. Targets: goodput of one station within 1 % if PPDUs have as many MPDUs as in ns-3,
//! and ns-3's PPDUs are given the durations of the standard; goodput of several stations within
//! 2 %, and beyond that within the chance of one run of ns-3's length.

use super::SEED;
use super::later::{self, ONE_STATION, one_station_rows, preamble_of_ns3_us, spread_of};
use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use crate::validate::data::{self, BE_CONTENTION, BE_UDP_SAT, Record};
use crate::validate::setting::{Direction, Setting, SettingMeasured};
use lasthop_units::{Duration, Seed};

const TARGET_CONTENTION: f64 = 0.02;
/// Two standard deviations of a run as long as ns-3's: 95 % of such runs.
const SPREADS: f64 = 2.0;
/// Time before the measurement: some 50 of the longest PPDUs, enough to fill every queue.
const WARMUP: Duration = Duration::from_millis(300);
/// Measured time of one station, which repeats the same exchange, and of several.
const ONE: Duration = Duration::from_secs(1);
/// Runs as short as ns-3's: their standard deviation is good to 7 %.
const SHORT_RUNS: u64 = 100;
const SEVERAL: Duration = Duration::from_secs(60);

fn measure(setting: &Setting, duration: Duration) -> SettingMeasured {
    setting.run(Seed::new(SEED, 0), WARMUP, duration)
}

pub(super) fn one_station() -> Table {
    Table {
        title: "802.11be, one station",
        text: "Saturated UDP to or from one station on one link at 6 GHz, no losses. Target: \
               goodput within 1 % and as many MPDUs in a PPDU, after a correction of ns-3's PPDUs \
               to the durations of the standard."
            .into(),
        columns: ONE_STATION.to_vec(),
        rows: one_station_rows(BE_UDP_SAT, |setting| measure(setting, ONE)),
        notes: vec![
            "*ns-3 corrected*: in ns-3 3.48 EHT-SIG is HE-SIG-B, every EHT-LTF takes 8 us, and \
             there is no LDPC. The correction adds the difference, which \
             `crates/wifi-phy/tests/airtime_be.rs` derives to the nanosecond, to each of ns-3's \
             exchanges. If it moves the longest PPDU across 5.484 ms, one MPDU more or less fits; \
             the target is then that number, computed from the durations alone. With A-MSDUs the \
             correction is the difference of the preambles."
                .into(),
        ],
    }
}

pub(super) fn contention() -> Table {
    Table {
        title: "802.11be, contention",
        text: "n saturated stations on a circle of 1 m around the access point, EHT MCS 9, 160 \
               MHz, one stream, uplink. Ours is a run of 60 s, ns-3's a run of 0.4 or 0.6 s. \
               *Corrected*: ns-3's goodput by the share of its PPDUs' duration in ours. *Spread*: \
               the standard deviation of our runs of ns-3's length. Target: within 2 %, or two \
               spreads."
            .into(),
        columns: vec![
            "stations",
            "A-MPDU max",
            "run",
            "Mb/s",
            "spread",
            "ns-3",
            "corrected",
            "ratio",
            "ns-3's fairness",
        ],
        rows: data::records(BE_CONTENTION).iter().map(contention_row).collect(),
        notes: vec![
            "ns-3's runs hold 105 to 1 000 PPDUs of all stations together: chance alone moves \
             their goodput by the spread. MPDUs under a Block Ack agreement are never given up in \
             ns-3, so ours have 255 attempts."
                .into(),
        ],
    }
}

fn contention_row(record: &Record) -> Row {
    let setting = Setting {
        stations: record.whole("n_sta") as u16,
        direction: Direction::Uplink,
        rts: record.flag("rts"),
        retry_limit: u8::MAX,
        ..later::setting(record)
    };
    let ours = measure(&setting, SEVERAL);
    let as_long = Duration::from_millis((record.number("sim_s") * 1e3) as u64);
    let spread = spread_of(&setting, SHORT_RUNS, WARMUP, as_long);
    let theirs = record.number("goodput_mbps");
    // Idle slots and responses take the rest of a PPDU's share of the time in both.
    let shorter_us = preamble_of_ns3_us(setting.rate)
        - setting.rate.preamble_and_header(setting.band).as_micros_f64();
    let corrected =
        theirs * record.number("ppdu_us_mean") / (record.number("ppdu_us_mean") - shorter_us);
    let off = (ours.goodput_mbps / corrected - 1.0).abs();
    let is_near = is_within(ours.goodput_mbps, corrected, TARGET_CONTENTION);
    let cells = vec![
        setting.stations.to_string(),
        setting.ampdu_bytes_max.to_string(),
        record.text("run").into(),
        format!("{:.2}", ours.goodput_mbps),
        format!("{:.1} %", 100.0 * spread),
        format!("{theirs:.2}"),
        format!("{corrected:.2}"),
        ratio(ours.goodput_mbps, corrected),
        record.text("fairness_jain").into(),
    ];
    (cells, Verdict::pass_if(is_near || off <= SPREADS * spread))
}
