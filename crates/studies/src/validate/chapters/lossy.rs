//! Losses of one station at a fixed SNR, against ns-3 with its error models: MPDU error
//! rate and goodput of a saturated downlink at MCS 7, with and without A-MPDU. Target:
//! both within 3 %.

use super::Estimate;
use crate::Verdict;
use crate::table::{Table, is_within, ratio};
use crate::validate::data::{self, LOSSY};
use crate::validate::setting::{Place, Setting};
use lasthop_units::Db;
use lasthop_wifi::phy::Preamble;

const TARGET: f64 = 0.03;

pub(super) fn table() -> Table {
    let rows = data::records(LOSSY).into_iter().map(|record| {
        let model = record.text("error_model");
        let setting = Setting {
            place: Place::Equal(Db(record.number("snr_db"))),
            error_model: data::error_model(model),
            payload_bytes: record.whole("payload_bytes") as u16,
            ampdu_bytes_max: record.whole("max_ampdu"),
            queue_packets: record.whole("queue_pkts"),
            ..Setting::new(record.rate(false, Preamble::Long))
        };
        let goodput = Estimate::measure(&setting, |run| run.goodput_mbps);
        let errors = Estimate::measure(&setting, |run| run.mpdu_error_rate);
        let theirs = record.number("goodput_mbps");
        // An MPDU may be acknowledged after the end of the run, so the difference may
        // be negative.
        let data = record.number("data_mpdus");
        let their_errors = (1.0 - record.number("acked_mpdus") / data).max(0.0);
        let same_errors = (errors.mean - their_errors).abs() <= TARGET * their_errors.max(1e-3);
        let ok = same_errors && is_within(goodput.mean, theirs, TARGET);
        let cells = vec![
            model.into(),
            record.text("snr_db").into(),
            record.text("max_ampdu").into(),
            format!("{:.4} +- {:.4}", errors.mean, errors.half_width),
            format!("{their_errors:.4}"),
            goodput.cell(),
            format!("{theirs:.3}"),
            ratio(goodput.mean, theirs),
        ];
        (cells, Verdict::pass_if(ok))
    });
    Table {
        title: "Losses",
        text: "Saturated UDP downlink, MCS 7 at 20 MHz, at a fixed SNR. The errors are the share \
               of unacknowledged MPDUs. Target: both within 3 %."
            .into(),
        columns: vec![
            "error model",
            "SNR, dB",
            "A-MPDU max",
            "errors",
            "ns-3",
            "Mb/s",
            "ns-3",
            "ratio",
        ],
        rows: rows.collect(),
        notes: vec![
            "*Table*: ns-3's curves for 802.11n, available in steps of 1 dB (`per_tables.csv`). \
             Its own points are 0.5 dB apart, with straight lines of the PER between them. The \
             rows use straight lines, too: at 19.1 dB, at the top of such a line, they give 6 % \
             more errors than the smooth curve of our tables through the same points. With the \
             smooth curve goodput at 19.1 dB is 3.5 to 4.5 % higher than ns-3's."
                .into(),
            "The retry limit of 7 also applies inside A-MPDUs; ns-3 hardly applies it there. With \
             errors of 31 % it affects one packet in 3 600."
                .into(),
        ],
    }
}
