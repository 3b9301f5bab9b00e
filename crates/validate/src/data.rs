//! The reference figures in `data/` (see the README there) and in the tests of
//! `lasthop-wifi`, as rows of named columns.

use lasthop_units::{Db, Probability};
use lasthop_wifi::phy::{
    ChannelWidth, DsssRate, ErrorModel, GuardInterval, OfdmRate, PerRow, PerTable, Preamble, Rate,
};

/// `udp_sat.csv`.
pub const UDP_SAT: &str = include_str!("../data/udp_sat.csv");
/// `contention.csv`.
pub const CONTENTION: &str = include_str!("../data/contention.csv");
/// `dsss_queue.csv`.
pub const DSSS_QUEUE: &str = include_str!("../data/dsss_queue.csv");
/// `lossy.csv`.
pub const LOSSY: &str = include_str!("../data/lossy.csv");
/// `lossy_link.csv`.
pub const LOSSY_LINK: &str = include_str!("../data/lossy_link.csv");
/// `minstrel_ht.csv`.
pub const MINSTREL_HT: &str = include_str!("../data/minstrel_ht.csv");
/// `scale.csv`.
pub const SCALE: &str = include_str!("../data/scale.csv");
/// `tcp.csv`.
pub const TCP: &str = include_str!("../data/tcp.csv");
/// `tcp_queue.csv`.
pub const TCP_QUEUE: &str = include_str!("../data/tcp_queue.csv");
/// `tcp_wire.csv`.
pub const TCP_WIRE: &str = include_str!("../data/tcp_wire.csv");
/// PPDU durations.
pub const PHY_TABLES: &str = include_str!("../../wifi/tests/data/phy_tables.csv");
/// PER curves.
pub const PER_TABLES: &str = include_str!("../../wifi/tests/data/per_tables.csv");

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    columns: Vec<(&'static str, &'static str)>,
}

/// The rows of a file. The files are part of the program, so a wrong one is a
/// bug and panics.
pub fn records(file: &'static str) -> Vec<Record> {
    let mut lines = file.lines();
    let names: Vec<_> = lines.next().expect("a line of names").split(',').collect();
    let record = |line: &'static str| {
        let fields: Vec<_> = line.split(',').collect();
        assert_eq!(fields.len(), names.len(), "{line}");
        Record { columns: names.iter().copied().zip(fields).collect() }
    };
    lines.map(record).collect()
}

impl Record {
    /// The field in column `name`.
    pub fn text(&self, name: &str) -> &'static str {
        let column = self.columns.iter().find(|(n, _)| *n == name);
        column.unwrap_or_else(|| panic!("no column {name}")).1
    }

    /// The number in column `name`.
    pub fn number(&self, name: &str) -> f64 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name}: {text:?} is not a number"))
    }

    /// The whole number in column `name`.
    pub fn whole(&self, name: &str) -> u32 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name}: {text:?} is not a whole number"))
    }

    /// The flag in column `name`: 0 or 1.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == "1"
    }

    /// The rate in column `mode`, at `width_mhz` and `short` guard interval if HT.
    pub fn rate(&self, short: bool, preamble: Preamble) -> Rate {
        let mode = self.text("mode");
        let wide = || self.text("width_mhz") == "40";
        rate(mode, wide, short, preamble).unwrap_or_else(|| panic!("unknown mode {mode}"))
    }
}

/// ns-3's name of a rate.
pub fn rate(mode: &str, wide: impl Fn() -> bool, short: bool, preamble: Preamble) -> Option<Rate> {
    if let Some(mcs) = mode.strip_prefix("HtMcs") {
        let width = if wide() { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 };
        let guard_interval = if short { GuardInterval::Short } else { GuardInterval::Long };
        return Rate::ht(mcs.parse().ok()?, width, guard_interval);
    }
    let (family, speed) = mode.strip_suffix("Mbps")?.split_once("Rate")?;
    let index = |all: &[&str]| all.iter().position(|m| *m == speed);
    let ofdm = || Some(OfdmRate::ALL[index(&["6", "9", "12", "18", "24", "36", "48", "54"])?]);
    match family {
        "Dsss" => {
            Some(Rate::Dsss { rate: DsssRate::ALL[index(&["1", "2", "5_5", "11"])?], preamble })
        }
        "ErpOfdm" => ofdm().map(Rate::ErpOfdm),
        "Ofdm" => ofdm().map(Rate::Ofdm),
        _ => None,
    }
}

/// A PER curve of ns-3: one mode, one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// ns-3's name of the mode.
    pub mode: &'static str,
    /// Its points, SNR ascending.
    pub rows: Vec<PerRow>,
}

/// The curves of ns-3's error model `name` (Nist, Yans, Table).
pub fn curves(name: &str) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for record in records(PER_TABLES).iter().filter(|record| record.text("model") == name) {
        let mode = record.text("mode");
        let rate = rate(mode, || false, false, Preamble::Long).expect("a mode of the table");
        let bytes = record.whole("psdu_bytes");
        let per = Probability::new(record.number("per")).expect("a probability");
        let row = PerRow { rate, bytes, snr: Db(record.number("snr_db")), per };
        match curves.last_mut().filter(|c| c.mode == mode && c.rows[0].bytes == bytes) {
            Some(curve) => curve.rows.push(row),
            None => curves.push(Curve { mode, rows: vec![row] }),
        }
    }
    curves
}

/// ns-3's error model `name` for data at the HT rates of one stream, "Nist" as
/// the closed form; other rates (acknowledgements, headers) by the closed form.
pub fn error_model(name: &str) -> ErrorModel {
    if name == "Nist" {
        return ErrorModel::nist();
    }
    let ht = curves(name).into_iter().filter(|curve| curve.mode.starts_with("HtMcs"));
    let rows = ht.flat_map(|curve| read_linearly(&curve.rows)).collect();
    ErrorModel::table(PerTable::new(rows).expect("ns-3's curves are a table"))
}

/// What ns-3's TableBasedErrorRateModel makes of a curve between our points,
/// which are 1 dB apart. Its own are half a decibel apart, and it draws straight
/// lines of the PER between them: at 19.1 dB, MCS 7, that is 6 % more errors
/// than on the smooth curve. Its points between ours are put on the smooth
/// curve, ln(-ln(1 - PER)) straight.
fn read_linearly(rows: &[PerRow]) -> Vec<PerRow> {
    /// Parts of half a decibel.
    const PARTS: u32 = 10;
    let mut all = Vec::new();
    for pair in rows.windows(2) {
        let (a, b) = (pair[0].per.as_f64(), pair[1].per.as_f64());
        let middle = if a < 1.0 && b > 0.0 {
            let y = |per: f64| (-(-per).ln_1p()).ln();
            -(-(0.5 * (y(a) + y(b))).exp()).exp_m1()
        } else {
            0.5 * (a + b)
        };
        for (start, (from, to)) in [(0.0, (a, middle)), (0.5, (middle, b))] {
            for part in 0..PARTS {
                let share = f64::from(part) / f64::from(PARTS);
                let per = Probability::new(from + share * (to - from));
                let snr = Db(pair[0].snr.0 + start + 0.5 * share);
                all.push(PerRow { per: per.expect("it lies between two"), snr, ..pair[0] });
            }
        }
    }
    all.extend(rows.last());
    all
}
