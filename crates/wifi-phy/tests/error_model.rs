//! The error model against ns-3 3.37 (`data/per_tables.csv`, 1 stream, 20 MHz,
//! SNR in whole decibels).
//!
//! The closed forms are compared row by row and at 10 % and 1 % PER. The rows of ns-3's "Table"
//! model form a `PerTable`, and its curves of another length judge the table's interpolation over
//! the length.

use lasthop_units::{Db, Probability};
use lasthop_wifi_phy::{
    ChannelWidth, DsssRate, ErrorModel, GuardInterval, HeGuardInterval, OfdmRate, PerRow, PerTable,
    Preamble, Rate,
};
use std::collections::BTreeMap;

fn rate(mode: &str) -> Rate {
    let dsss = |rate| Rate::Dsss { rate, preamble: Preamble::Long };
    match mode {
        "DsssRate1Mbps" => dsss(DsssRate::Mbps1),
        "DsssRate2Mbps" => dsss(DsssRate::Mbps2),
        "DsssRate5_5Mbps" => dsss(DsssRate::Mbps5_5),
        "DsssRate11Mbps" => dsss(DsssRate::Mbps11),
        "OfdmRate6Mbps" => Rate::Ofdm(OfdmRate::Mbps6),
        "OfdmRate24Mbps" => Rate::Ofdm(OfdmRate::Mbps24),
        "OfdmRate54Mbps" => Rate::Ofdm(OfdmRate::Mbps54),
        _ => Rate::Ht {
            mcs: mode.strip_prefix("HtMcs").and_then(|n| n.parse().ok()).expect("an HT mode"),
            width: ChannelWidth::Mhz20,
            guard_interval: GuardInterval::Long,
        },
    }
}

/// Curves of one ns-3 model by mode and length.
fn curves(model: &str) -> BTreeMap<(&'static str, u32), Vec<PerRow>> {
    let mut curves: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in include_str!("data/per_tables.csv").lines().skip(1) {
        let columns: Vec<_> = line.split(',').collect();
        let [of, mode, bytes, snr, per] = columns[..] else { panic!("five columns: {line}") };
        if of == model {
            let bytes = bytes.parse().expect("bytes");
            let per = Probability::new(per.parse().expect("a number")).expect("a probability");
            let snr = Db(snr.parse().expect("decibels"));
            let row = PerRow { rate: rate(mode), bytes, snr, per };
            curves.entry((mode, bytes)).or_default().push(row);
        }
    }
    assert_eq!(curves.len(), 2 * (4 + 3 + 8));
    curves
}

/// SNR at which a curve of rows crosses `per`, on the straight line of ln(-ln(1 - PER)).
fn crossing(rows: &[PerRow], per: f64) -> Option<f64> {
    let y = |per: f64| (-(-per).ln_1p()).ln();
    rows.windows(2).find_map(|pair| {
        let (high, low) = (pair[0].per.as_f64(), pair[1].per.as_f64());
        let inside = high < 1.0 && high >= per && low < per && low > 0.0;
        let part = (y(high) - y(per)) / (y(high) - y(low));
        inside.then(|| pair[0].snr.0 + part * (pair[1].snr.0 - pair[0].snr.0))
    })
}

/// Distance of `model` from `rows` at 10 % and 1 % PER in dB, if the rows contain these.
fn off_by(model: &ErrorModel, rows: &[PerRow]) -> Vec<f64> {
    [0.1, 0.01]
        .into_iter()
        .filter_map(|per| {
            let theirs = crossing(rows, per)?;
            Some(model.sensitivity_snr(rows[0].rate, per, rows[0].bytes).0 - theirs)
        })
        .collect()
}

#[test]
fn closed_forms_are_those_of_ns3() {
    let model = ErrorModel::nist();
    let mut crossings = 0;
    for ((mode, bytes), rows) in curves("Nist") {
        for row in &rows {
            let ours = 1.0 - model.success(row.rate, row.snr, bytes).as_f64();
            // 11 Mb/s lies between the points of the table: its hazard is good to 0.3 %.
            let tolerance = if mode == "DsssRate11Mbps" { 1e-3 } else { 1e-6 };
            let off = (ours - row.per.as_f64()).abs();
            assert!(
                off < tolerance,
                "{mode} {bytes} B at {}: {ours} for {}",
                row.snr,
                row.per.as_f64()
            );
        }
        for off in off_by(&model, &rows) {
            assert!(off.abs() < 0.1, "{mode} {bytes} B: {off} dB off");
            crossings += 1;
        }
    }
    assert!(crossings >= 55, "{crossings} crossings inside the curves");
}

/// 64-QAM to 1024-QAM with BCC (`data/per_tables_ax.csv`: ns-3's rows of its Nist model
/// for VHT and HE, one stream). Columns: model, mode, LDPC, width, streams, octets, SNR,
/// PER.
#[test]
fn closed_forms_up_to_1024_qam_are_those_of_ns3() {
    let model = ErrorModel::nist();
    let mut rows = 0;
    for line in include_str!("data/per_tables_ax.csv").lines().skip(1) {
        let columns: Vec<_> = line.split(',').collect();
        let ["Nist", mode, "0", width, "1", bytes, snr, per] = columns[..] else {
            panic!("a row of one stream without LDPC: {line}")
        };
        let width = if width == "80" { ChannelWidth::Mhz80 } else { ChannelWidth::Mhz20 };
        let rate = match mode.split_once("Mcs").expect("family and MCS") {
            ("Vht", mcs) => Rate::vht(mcs.parse().expect("an MCS"), 1, width, GuardInterval::Long),
            (_, mcs) => {
                let guard_interval = HeGuardInterval::Ns800Ltf2x;
                Rate::he(mcs.parse().expect("an MCS"), 1, width, guard_interval, false)
            }
        };
        let snr = Db(snr.parse().expect("decibels"));
        let bytes = bytes.parse().expect("bytes");
        let theirs: f64 = per.parse().expect("a number");
        let ours = 1.0 - model.success(rate.expect("a rate"), snr, bytes).as_f64();
        assert!((ours - theirs).abs() < 1e-6, "{line}: {ours}");
        rows += 1;
    }
    assert_eq!(rows, 379);
}

/// The curves of `model` that a filter accepts, as a table.
fn table(model: &str, keep: impl Fn(&str, u32) -> bool) -> ErrorModel {
    let curves = curves(model).into_iter().filter(|((mode, bytes), _)| keep(mode, *bytes));
    let rows = curves.flat_map(|(_, rows)| rows).collect();
    ErrorModel::table(PerTable::new(rows).expect("ns-3's rows are a table"))
}

#[test]
fn a_table_gives_back_its_rows() {
    // HT MCS 0 and 6 Mb/s are one mode, and ns-3 has one curve for both: one family a table.
    let families: [fn(&str) -> bool; 2] =
        [|mode| mode.starts_with("Ofdm"), |mode| !mode.starts_with("Ofdm")];
    for (name, family) in ["Table", "Yans"].into_iter().flat_map(|name| families.map(|f| (name, f)))
    {
        let model = table(name, |mode, _| family(mode));
        let mut crossings = 0;
        for ((mode, bytes), rows) in curves(name).iter().filter(|((mode, _), _)| family(mode)) {
            for row in rows {
                let ours = 1.0 - model.success(row.rate, row.snr, *bytes).as_f64();
                let off = (ours - row.per.as_f64()).abs();
                assert!(off < 1e-6, "{name} {mode} {bytes} B at {}: {ours}", row.snr);
            }
            for off in off_by(&model, rows) {
                assert!(off.abs() < 0.1, "{name} {mode} {bytes} B: {off} dB off");
                crossings += 1;
            }
        }
        assert!(crossings > 8, "{name}: {crossings} crossings");
    }
}

#[test]
fn a_table_knows_other_lengths() {
    // ns-3's Yans model is proportional to the length, as a table is. Its Table
    // model has other curves below 400 bytes than above (MCS 7: by 0.35 dB).
    for (name, given, asked, off_max) in [
        ("Yans", 1500, 100, 0.01),
        ("Yans", 100, 1500, 0.01),
        ("Table", 1500, 100, 0.4),
        ("Table", 100, 1500, 0.4),
    ] {
        let model = table(name, |mode, bytes| mode.starts_with("Ht") && bytes == given);
        let mut crossings = 0;
        for ((mode, bytes), rows) in curves(name) {
            if mode.starts_with("Ht") && bytes == asked {
                for off in off_by(&model, &rows) {
                    assert!(off.abs() < off_max, "{name} {mode} {given} to {asked}: {off} dB off");
                    crossings += 1;
                }
            }
        }
        assert!(crossings >= 15, "{name}: {crossings} crossings");
    }
}
