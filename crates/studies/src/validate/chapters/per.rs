//! Packet error rates over SNR, against ns-3's NistErrorRateModel: the SNR in dB at
//! which the packet error rate is 10 % and 1 %. Target: within 0.1 dB. Other error
//! models are compared in `lossy`.

use crate::Verdict;
use crate::table::Table;
use crate::validate::data::{self, DataCurve};
use lasthop_wifi::phy::ErrorModel;

/// Largest accepted difference in dB.
const TARGET: f64 = 0.1;

pub(super) fn table() -> Table {
    let nist = ErrorModel::nist();
    let mut rows = Vec::new();
    for curve in data::curves("Nist") {
        let first = curve.rows[0];
        for per in [0.1, 0.01] {
            let Some(theirs) = crossing(&curve, per) else { continue };
            let ours = nist.sensitivity_snr(first.rate, per, first.bytes).0;
            rows.push((
                vec![
                    curve.mode.into(),
                    first.bytes.to_string(),
                    format!("{:.0} %", per * 100.0),
                    format!("{ours:.2}"),
                    format!("{theirs:.2}"),
                    format!("{:+.3}", ours - theirs),
                ],
                Verdict::pass_if((ours - theirs).abs() <= TARGET),
            ));
        }
    }
    Table {
        title: "Error model",
        text: "SNR in dB at which the loss probability of a frame is 10 % and 1 %, closed forms \
             (NIST) against ns-3's NistErrorRateModel (DSSS and CCK included). Target: within 0.1 \
             dB."
        .into(),
        columns: vec!["mode", "bytes", "PER", "ours, dB", "ns-3, dB", "difference, dB"],
        rows,
        notes: vec![
            "ns-3's points are 1 dB apart; the interpolation between them is linear in ln(-ln(1 - \
             PER))."
                .into(),
        ],
    }
}

/// Returns the SNR in dB at which the curve crosses `per`; `None` unless it has points
/// on both sides.
fn crossing(curve: &DataCurve, per: f64) -> Option<f64> {
    let y = |per: f64| (-(-per).ln_1p()).ln();
    curve.rows.windows(2).find_map(|pair| {
        let (high, low) = (pair[0].per.as_f64(), pair[1].per.as_f64());
        let inside = high < 1.0 && high >= per && low < per && low > 0.0;
        let part = (y(high) - y(per)) / (y(high) - y(low));
        inside.then(|| pair[0].snr.0 + part * (pair[1].snr.0 - pair[0].snr.0))
    })
}
