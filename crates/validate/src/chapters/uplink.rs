//! Uplink OFDMA of 802.11ax against ns-3. Target: the goodput of all within 5 %.

use super::later::spread;
use super::run_once;
use crate::data::{self, AX_OFDMA_UL, Record};
use crate::setting::{Direction, Setting};
use lasthop_evidence::Verdict;
use lasthop_evidence::table::{Row, Table, is_within, ratio};
use lasthop_units::Duration;

const TARGET: f64 = 0.05;

pub(super) fn ofdma() -> Table {
    Table {
        title: "802.11ax, uplink OFDMA",
        text: "Saturated UDP from n stations to the access point, or both ways, at HE MCS 7, 80 MHz, \
               one stream; the sum of their goodput. *EDCA*: no OFDMA. *Basic*: Basic Trigger frames, \
               *BSRP*: a BSRP Trigger frame ahead of each. *MU EDCA*: AIFSN 0 and the longest timer. \
               *Spread*: the standard deviation of our runs that are as short as ns-3's one, which took \
               a second. Target: goodput of all within 5 %."
            .into(),
        columns: vec![
            "stations", "to", "triggers", "MU EDCA", "downlink", "Mb/s", "spread", "ns-3", "ratio", "of them up",
            "ns-3", "ns-3's fairness",
        ],
        rows: data::records(AX_OFDMA_UL).iter().map(row).collect(),
        notes: vec![
            "Left out are ns-3's rows with BSRP and no downlink, in which it sends no Basic Trigger \
             frame, those in which stations that MU EDCA silenced are never asked again (fairness below \
             0.9), those with downlink on RUs of 106 tones, where it loses Block Acks, and one in which \
             it asks for 10 000 bytes each time, for lack of a queue size."
                .into(),
            "Where both send full PPDUs, a trigger-based one has as many MPDUs in ns-3 as here (71, 35 and \
             15 with 2, 4 and 8 stations) and takes as long. ns-3 has queue sizes in QoS Null frames only \
             and forgets them after 20 ms: 41 to 49 of its 80 to 204 Basic Trigger frames in a second \
             bring no data. That explains about 1 % of what two rows lie above ns-3's by (0.33 ms for \
             each such frame); the rest is not known."
                .into(),
        ],
    }
}

fn row(record: &Record) -> Row {
    let has_uplink = record.flag("ul_ofdma");
    let (has_reports, has_mu_edca) = (record.flag("bsrp"), record.flag("mu_edca"));
    let down = match record.text("dl_ack") {
        "BAR" => Some("bar"),
        "MUBAR" => Some("mu-bar"),
        "AGGR" => Some("aggregated"),
        _ => None,
    };
    let direction = match record.text("dir") {
        "both" => Direction::Both,
        _ => Direction::Uplink,
    };
    let reports = if has_reports { "buffer_reports = \"5ms\"" } else { "buffer_reports = \"off\"" };
    let mu_edca = match has_mu_edca {
        true => ", mu_edca = { best_effort = { aifsn = 0, timer = \"2.08896s\" } }",
        false => "",
    };
    let setting = Setting {
        stations: record.whole("n_sta") as u16,
        direction,
        ofdma: down.map(|how| (record.whole("mu_stations") as u8, how)),
        uplink: has_uplink.then(|| format!("{{ {reports}{mu_edca} }}")),
        // As in contention: ns-3 hardly applies the limit inside A-MPDUs.
        retry_limit: u8::MAX,
        ..super::later::setting(record)
    };
    let ours = run_once(&setting);
    let spread = spread(&setting, Duration::from_secs(record.whole("sim_s").into()));
    let theirs = record.number("goodput_mbps");
    let cells = vec![
        setting.stations.to_string(),
        if direction == Direction::Both { "both" } else { "up" }.into(),
        match (has_uplink, has_reports) {
            (false, _) => "EDCA",
            (true, false) => "Basic",
            (true, true) => "BSRP",
        }
        .into(),
        if has_mu_edca { "yes" } else { "no" }.into(),
        match direction {
            Direction::Both => down.unwrap_or("alone"),
            _ => "-",
        }
        .into(),
        format!("{:.2}", ours.goodput_mbps),
        format!("{:.1} %", 100.0 * spread),
        format!("{theirs:.2}"),
        ratio(ours.goodput_mbps, theirs),
        format!("{:.2}", ours.uplink_mbps),
        record.text("goodput_ul_mbps").into(),
        record.text("fairness_jain").into(),
    ];
    (cells, Verdict::of(is_within(ours.goodput_mbps, theirs, TARGET)))
}
