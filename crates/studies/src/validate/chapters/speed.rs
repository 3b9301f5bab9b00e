//! User CPU time of a simulation per delivered packet, in microseconds, beside that of
//! ns-3. The values are of different machines, so they are listed without a verdict.
//! Leaves out memory and wall-clock time.

use super::{SEED, WARMUP};
use crate::Verdict;
use crate::table::Table;
use crate::validate::data::{self, AX_SCALE, Record, SCALE};
use crate::validate::setting::{Direction, Setting};
use lasthop_units::{Duration, Seed};
use lasthop_wifi::phy::Preamble;
use nix::sys::resource::{UsageWho, getrusage};

const DURATION: Duration = Duration::from_secs(10);
const REPETITIONS: usize = 3;

pub(super) fn table() -> Table {
    let records = data::records(SCALE);
    let is_udp =
        |record: &&Record| record.text("build") == "optimised" && record.text("label") != "tcp";
    let rows = records.iter().filter(is_udp).map(|record| {
        let uplink = record.text("label") == "stations";
        let short = record.text("width_mhz") == "40";
        let setting = Setting {
            stations: record.whole("n_sta") as u16,
            direction: if uplink { Direction::Uplink } else { Direction::Downlink },
            ampdu_bytes_max: record.whole("max_ampdu"),
            ..Setting::new(record.rate(short, Preamble::Long))
        };
        let ours = least_us(&setting);
        let theirs = record.number("us_per_delivered_packet");
        let cells = vec![
            setting.rate.to_string(),
            setting.stations.to_string(),
            record.text("max_ampdu").into(),
            format!("{ours:.3}"),
            format!("{theirs:.2}"),
            format!("{:.0}", theirs / ours),
        ];
        (cells, Verdict::Listed)
    });
    Table {
        title: "Speed",
        text: "User CPU time per delivered packet, the least of three runs of 10 s; ns-3 3.37 \
               built with -O3 -march=native, without logging, on one core of an AMD EPYC virtual \
               machine. Our values were measured on the machine that wrote this page and are not \
               judged."
            .into(),
        columns: vec!["rate", "stations", "A-MPDU max", "us a packet", "ns-3", "times faster"],
        rows: rows.collect(),
        notes: vec![
            "Our time includes the whole run of a scenario file, with its parsing. ns-3's is the \
             user CPU time in `scale.csv` divided by the delivered packets."
                .into(),
        ],
    }
}

pub(super) fn later() -> Table {
    let records = data::records(AX_SCALE);
    let rows = records.iter().map(|record| {
        let is_up = record.text("dir") == "ul";
        let is_several = record.text("label") == "ofdma";
        let down = match record.text("dl_ack") {
            "BAR" => "bar",
            _ => "mu-bar",
        };
        let setting = Setting {
            stations: record.whole("n_sta") as u16,
            direction: if is_up { Direction::Uplink } else { Direction::Downlink },
            amsdu_bytes_max: record.whole("max_amsdu") as u16,
            ofdma: (is_several && !is_up).then_some((record.whole("n_sta") as u8, down)),
            uplink: (is_several && is_up).then(|| "{ buffer_reports = \"off\" }".to_owned()),
            ..super::later::setting(record)
        };
        let ours = least_us(&setting);
        let theirs = record.number("us_per_delivered_packet");
        let sent = match (is_several, is_up) {
            (false, _) => "EDCA",
            (true, false) => "downlink OFDMA",
            (true, true) => "uplink OFDMA",
        };
        let cells = vec![
            setting.rate.to_string(),
            sent.into(),
            setting.stations.to_string(),
            record.text("max_ampdu").into(),
            record.text("max_amsdu").into(),
            format!("{ours:.3}"),
            format!("{theirs:.2}"),
            format!("{:.0}", theirs / ours),
        ];
        (cells, Verdict::Listed)
    });
    Table {
        title: "Speed, 802.11ac and 802.11ax",
        text: "As above; Debian's ns-3 3.37, one station, contention to the access point, and \
               OFDMA with eight stations. The aims were OFDMA at least 200 times faster than in \
               ns-3, and packets no more expensive than those of 802.11n."
            .into(),
        columns: vec![
            "rate",
            "sent by",
            "stations",
            "A-MPDU max",
            "A-MSDU max",
            "us a packet",
            "ns-3",
            "times faster",
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The least of several runs, as for ns-3: disturbances only add time.
fn least_us(setting: &Setting) -> f64 {
    (0..REPETITIONS).map(|_| cost_us(setting)).fold(f64::INFINITY, f64::min)
}

/// Returns the user CPU time of this process per delivered packet, in microseconds.
fn cost_us(setting: &Setting) -> f64 {
    let user_us = || {
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process can always ask for its own");
        let time = usage.user_time();
        time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64
    };
    let before = user_us();
    let measured = setting.run(Seed::new(SEED, 0), WARMUP, DURATION);
    let share = DURATION.as_secs_f64() / (DURATION + WARMUP).as_secs_f64();
    (user_us() - before) * share / measured.packets as f64
}
