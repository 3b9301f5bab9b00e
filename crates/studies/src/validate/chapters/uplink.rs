//! Uplink OFDMA of 802.11ax against ns-3. Target: the goodput of all within 5 %.

use super::later::spread;
use super::run_once;
use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use crate::validate::data::{self, AX_OFDMA_UL, Record};
use crate::validate::setting::{Direction, Setting};
use lasthop_units::Duration;

const TARGET: f64 = 0.05;

pub(super) fn ofdma() -> Table {
    Table {
        title: "802.11ax, uplink OFDMA",
        text: "Saturated UDP from n stations to the access point, or both ways, at HE MCS 7, 80 \
               MHz, one stream; the sum of their goodput. *EDCA*: no OFDMA. *Basic*: Basic Trigger \
               frames, *BSRP*: a BSRP Trigger frame before each. *MU EDCA*: AIFSN 0 and the \
               longest timer. *Spread*: the standard deviation of our runs of one second, the \
               length of ns-3's single run. *Longer*: the mean of three to six runs of ns-3 of 10 \
               s, judged where they exist. Target: goodput of all within 5 %."
            .into(),
        columns: vec![
            "stations",
            "to",
            "triggers",
            "MU EDCA",
            "downlink",
            "Mb/s",
            "spread",
            "ns-3",
            "longer",
            "ratio",
            "of them up",
            "ns-3",
            "ns-3's fairness",
        ],
        rows: data::records(AX_OFDMA_UL).iter().map(row).collect(),
        notes: vec![
            "Left out: ns-3's rows with BSRP and no downlink, in which it sends no Basic Trigger \
             frame; those in which it never triggers stations silenced by MU EDCA again (fairness \
             below 0.9); those with downlink on RUs of 106 tones, where it loses Block Acks; and \
             one in which it requests 10 000 bytes each time, because it has no queue size."
                .into(),
            "With contention a second is short: eight such runs of ns-3 had 258 to 289 Mb/s (2 \
             stations, Basic) and 239 to 269 (4). Where both send full PPDUs, a trigger-based PPDU \
             has as many MPDUs in ns-3 as here (71, 35 and 15 with 2, 4 and 8 stations) and takes \
             as long."
                .into(),
            "The row outside is due to the time of ns-3's Trigger frames, which the standard \
             leaves open. With an empty queue its access point requests access on a timer \
             (`AccessReqInterval`). With 0.5 ms its exchanges begin every 6.0 ms to the \
             microsecond, with 0.36 ms of idle channel after each Block Ack, and the goodput is \
             230.7 Mb/s in 163 PPDUs a second from each of the 8 stations, as in the row. It \
             receives queue sizes in QoS Null frames only and forgets them after 20 ms, so a fifth \
             of its Basic Trigger frames bring no data. With a timer of 10 us there are 239.2, and \
             with sizes kept for 300 ms 243.1 (Trigger frames at 6 Mb/s), or 246.6 (at 24 Mb/s, as \
             here): ours is 1.4 % below. Its Multi-STA Block Ack takes 32 or 36 us if all MPDUs \
             arrived (acknowledgement of all without a bitmap), ours 80 us and more."
                .into(),
            "With that timer of 10 us, sizes kept for 300 ms and without MU EDCA, 4 stations have \
             250.8 Mb/s in ns-3 (one run of 10 s), and the access point 76 instead of 51 accesses \
             a second. The NAV of its Trigger frame ends 48 us after that short Block Ack, because \
             the NAV assumes one with a bitmap; it holds back the stations, but not the access \
             point. Of 371 accesses of stations behind one, 76 came 91 us later, 43 + 48. Whether \
             that is the whole difference is not shown."
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
    let mu_edca = if has_mu_edca {
        ", mu_edca = { best_effort = { aifsn = 0, timer = \"2.08896s\" } }"
    } else {
        ""
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
    // Those that were in doubt have no MU EDCA.
    let longer = if has_mu_edca {
        Vec::new()
    } else {
        data::longer(record.text("label"), record, &["n_sta", "max_ampdu", "ba_window"])
    };
    let longer = data::mean(&longer, "goodput_mbps");
    let judge = longer.unwrap_or(theirs);
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
        longer.map_or("-".into(), |longer| format!("{longer:.2}")),
        ratio(ours.goodput_mbps, judge),
        format!("{:.2}", ours.uplink_mbps),
        record.text("goodput_ul_mbps").into(),
        record.text("fairness_jain").into(),
    ];
    (cells, Verdict::pass_if(is_within(ours.goodput_mbps, judge, TARGET)))
}
