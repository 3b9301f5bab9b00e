//! Mean delay and goodput with a full queue at 2.4 GHz, against ns-3: a downlink at a
//! constant rate above capacity, with DCF and one drop-tail queue. Target: both within
//! 2 %.

use super::run_once;
use crate::Verdict;
use crate::table::{Table, is_within, ratio};
use crate::validate::data::{self, DSSS_QUEUE};
use crate::validate::setting::Setting;
use lasthop_units::Bitrate;
use lasthop_wifi::phy::{Preamble, Standard};

const TARGET: f64 = 0.02;

pub(super) fn table() -> Table {
    let rows = data::records(DSSS_QUEUE).into_iter().map(|record| {
        let is_short = record.text("preamble") == "short";
        let preamble = if is_short { Preamble::Short } else { Preamble::Long };
        let rate = record.rate(false, preamble);
        let setting = Setting {
            standard: if record.text("std") == "b" { Standard::Dot11b } else { Standard::Dot11g },
            payload_bytes: record.whole("payload_bytes") as u16,
            queue_packets: record.whole("queue_pkts"),
            offered: Some(Bitrate::from_mbps(record.whole("cbr_mbps").into())),
            control_preamble: is_short.then_some(Preamble::Long),
            ..Setting::new(rate)
        };
        let ours = run_once(&setting);
        let (delay, goodput) = (record.number("delay_mean_ms"), record.number("goodput_mbps"));
        let ok = is_within(ours.delay_mean_ms, delay, TARGET)
            && is_within(ours.goodput_mbps, goodput, TARGET);
        let cells = vec![
            setting.standard.to_string(),
            rate.to_string(),
            setting.queue_packets.to_string(),
            format!("{:.3}", ours.goodput_mbps),
            format!("{goodput:.3}"),
            ratio(ours.goodput_mbps, goodput),
            format!("{:.2}", ours.delay_mean_ms),
            format!("{delay:.2}"),
            ratio(ours.delay_mean_ms, delay),
        ];
        (cells, Verdict::pass_if(ok))
    });
    Table {
        title: "Full queues",
        text:
            "Downlink at a constant rate above capacity (9 Mb/s at 11 Mb/s, 40 Mb/s at 54 Mb/s), \
               plain DCF, one drop-tail queue that includes packets in flight. Target: mean delay \
               and goodput within 2 %."
                .into(),
        columns: vec![
            "standard",
            "rate",
            "queue",
            "Mb/s",
            "ns-3",
            "ratio",
            "delay, ms",
            "ns-3",
            "ratio",
        ],
        rows: rows.collect(),
        notes: vec![
            "After short-preamble data ns-3 sends acknowledgements with the long preamble; so do \
             our rows with a short preamble. By default an acknowledgement of ours has the \
             preamble of the acknowledged frame."
                .into(),
        ],
    }
}
