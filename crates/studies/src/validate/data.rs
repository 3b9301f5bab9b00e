//! The reference data in `data/` (described in its README) and in the tests of
//! `lasthop-wifi-phy`, as rows with named columns; and error models made from ns-3's
//! curves. Units are in the names of the columns. The files are compiled in.

use lasthop_units::{Db, Probability};
use lasthop_wifi::phy::{
    ChannelWidth, DsssRate, ErrorModel, GuardInterval, HeGuardInterval, OfdmRate, PerRow, PerTable,
    Preamble, Rate,
};

/// The content of `udp_sat.csv`.
pub const UDP_SAT: &str = include_str!("../../data/udp_sat.csv");
/// The content of `contention.csv`.
pub const CONTENTION: &str = include_str!("../../data/contention.csv");
/// The content of `dsss_queue.csv`.
pub const DSSS_QUEUE: &str = include_str!("../../data/dsss_queue.csv");
/// The content of `lossy.csv`.
pub const LOSSY: &str = include_str!("../../data/lossy.csv");
/// The content of `lossy_link.csv`.
pub const LOSSY_LINK: &str = include_str!("../../data/lossy_link.csv");
/// The content of `minstrel_ht.csv`.
pub const MINSTREL_HT: &str = include_str!("../../data/minstrel_ht.csv");
/// The content of `scale.csv`.
pub const SCALE: &str = include_str!("../../data/scale.csv");
/// The content of `tcp.csv`.
pub const TCP: &str = include_str!("../../data/tcp.csv");
/// The content of `tcp_queue.csv`.
pub const TCP_QUEUE: &str = include_str!("../../data/tcp_queue.csv");
/// The content of `tcp_wire.csv`.
pub const TCP_WIRE: &str = include_str!("../../data/tcp_wire.csv");
/// Durations of PPDUs according to ns-3.
pub const PHY_TABLES: &str = include_str!("../../../wifi-phy/tests/data/phy_tables.csv");
/// Curves of packet error rate (PER) over SNR according to ns-3.
pub const PER_TABLES: &str = include_str!("../../../wifi-phy/tests/data/per_tables.csv");

/// Goodput of one saturated station with 802.11ac or ax.
pub const AX_UDP_SAT: &str = include_str!("../../data/ax_udp_sat.csv");
/// Goodput of saturated stations with 802.11ax.
pub const AX_CONTENTION: &str = include_str!("../../data/ax_contention.csv");
/// Goodput of one saturated station with 802.11be, ns-3 3.48.
pub const BE_UDP_SAT: &str = include_str!("../../data/be_udp_sat.csv");
/// Goodput of saturated stations with 802.11be, ns-3 3.48.
pub const BE_CONTENTION: &str = include_str!("../../data/be_contention.csv");
/// Devices of several links with 802.11be: goodput and the shares of the links.
pub const BE_MLO: &str = include_str!("../../data/be_mlo.csv");
/// Delays of a flow of devices of several links beside busy sets.
pub const BE_MLO_LATENCY: &str = include_str!("../../data/be_mlo_latency.csv");
/// Losses at a fixed SNR with 802.11ax.
pub const AX_LOSSY: &str = include_str!("../../data/ax_lossy.csv");
/// Uplink OFDMA of 802.11ax.
pub const AX_OFDMA_UL: &str = include_str!("../../data/ax_ofdma_ul.csv");
/// Downlink OFDMA of 802.11ax.
pub const AX_OFDMA_DL: &str = include_str!("../../data/ax_ofdma_dl.csv");
/// Goodput of two sets of 802.11ax, with OBSS-PD and without.
pub const AX_SPATIAL_REUSE: &str = include_str!("../../data/ax_spatial_reuse.csv");
/// The same with OBSS-PD, and energy detection from -62 dBm on after a reception, too.
pub const AX_SPATIAL_REUSE_ENERGY: &str = include_str!("../../data/ax_spatial_reuse_energy.csv");
/// Goodputs and widths of a set of 802.11ac with another one on a secondary channel.
pub const AC_BANDWIDTH: &str = include_str!("../../data/ac_bandwidth.csv");
/// CPU time of a packet in ns-3, 802.11ac and 802.11ax.
pub const AX_SCALE: &str = include_str!("../../data/ax_scale.csv");
/// Longer and more runs of some rows of the files for 802.11ax.
pub const AX_LONGER: &str = include_str!("../../data/ax_longer.csv");
/// Curves of PER over SNR of 802.11ax's rates, of the convolutional code.
pub const AX_PER_TABLES: &str = include_str!("../../data/ax_per_tables.csv");

/// A row of a file, with access by name of column.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    columns: Vec<(&'static str, &'static str)>,
}

/// Returns the rows of a file. The files are part of the program, so an error in one is
/// a bug, and panics.
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

/// Returns the rows of a file whose first line is its source and whose fields may be quoted; no
/// quoted field contains a quotation mark.
pub fn records_below_source(file: &'static str) -> Vec<Record> {
    let mut lines = file.lines().skip(1).map(quoted_fields);
    let names = lines.next().expect("a line of names");
    let record = |fields: Vec<&'static str>| {
        assert_eq!(fields.len(), names.len(), "{fields:?}");
        Record { columns: names.iter().copied().zip(fields).collect() }
    };
    lines.map(record).collect()
}

fn quoted_fields(line: &'static str) -> Vec<&'static str> {
    let mut is_quoted = false;
    let between = |character: char| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    };
    line.split(between).map(|field| field.trim_matches('"')).collect()
}

impl Record {
    /// The text in column `name`.
    pub fn text(&self, name: &str) -> &'static str {
        let column = self.columns.iter().find(|(n, _)| *n == name);
        column.unwrap_or_else(|| panic!("no column {name}")).1
    }

    /// The number in column `name`.
    pub fn number(&self, name: &str) -> f64 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name}: {text:?} is not a number"))
    }

    /// The unsigned integer in column `name`.
    pub fn whole(&self, name: &str) -> u32 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name}: {text:?} is not a whole number"))
    }

    /// The flag in column `name`, 0 or 1.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == "1"
    }

    /// The flag in column `name`, `false` if the file has no such column.
    pub fn flag_if_any(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, text)| *column == name && *text == "1")
    }

    /// The rate in column `mode`. Of an HT rate, the column `width_mhz` gives the
    /// width, and `short` the guard interval; `preamble` is that of a DSSS rate.
    pub fn rate(&self, short: bool, preamble: Preamble) -> Rate {
        let mode = self.text("mode");
        let wide = || self.text("width_mhz") == "40";
        rate(mode, wide, short, preamble).unwrap_or_else(|| panic!("unknown mode {mode}"))
    }
}

impl Record {
    /// The VHT, HE or EHT rate of the columns `mode`, `width_mhz`, `gi_ns` and `nss`.
    pub fn later_rate(&self) -> Rate {
        let mode = self.text("mode");
        let width = match self.whole("width_mhz") {
            20 => ChannelWidth::Mhz20,
            40 => ChannelWidth::Mhz40,
            80 => ChannelWidth::Mhz80,
            160 => ChannelWidth::Mhz160,
            320 => ChannelWidth::Mhz320,
            other => panic!("{other} MHz"),
        };
        let streams = self.whole("nss") as u8;
        let gi_ns = self.whole("gi_ns");
        let gi = match gi_ns {
            800 => HeGuardInterval::Ns800Ltf2x,
            1_600 => HeGuardInterval::Ns1600Ltf2x,
            _ => HeGuardInterval::Ns3200Ltf4x,
        };
        if let Some(mcs) = mode.strip_prefix("EhtMcs") {
            let mcs = mcs.parse().expect("an MCS");
            return Rate::eht(mcs, streams, width, gi).expect("a rate of EHT");
        }
        let rate = match (mode.strip_prefix("VhtMcs"), mode.strip_prefix("HeMcs")) {
            (Some(mcs), _) => {
                let short = gi_ns == 400;
                let gi = if short { GuardInterval::Short } else { GuardInterval::Long };
                Rate::vht(mcs.parse().expect("an MCS"), streams, width, gi)
            }
            (_, Some(mcs)) => Rate::he(mcs.parse().expect("an MCS"), streams, width, gi, false),
            _ => None,
        };
        rate.unwrap_or_else(|| panic!("no rate {mode}"))
    }
}

/// Converts ns-3's name of a rate, such as `HtMcs7`; `None` if the name is unknown.
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

/// A PER curve of ns-3, for one mode and one length of the PSDU.
#[derive(Clone, Debug, PartialEq)]
pub struct DataCurve {
    /// The name of the mode in ns-3.
    pub mode: &'static str,
    /// The points of the curve, in ascending order of SNR.
    pub rows: Vec<PerRow>,
}

/// Returns the curves of ns-3's error model `name` (Nist, Yans or Table).
pub fn curves(name: &str) -> Vec<DataCurve> {
    let mut curves: Vec<DataCurve> = Vec::new();
    for record in records(PER_TABLES).iter().filter(|record| record.text("model") == name) {
        let mode = record.text("mode");
        let rate = rate(mode, || false, false, Preamble::Long).expect("a mode of the table");
        let bytes = record.whole("psdu_bytes");
        let per = Probability::new(record.number("per")).expect("a probability");
        let row = PerRow { rate, bytes, snr: Db(record.number("snr_db")), per };
        match curves.last_mut().filter(|c| c.mode == mode && c.rows[0].bytes == bytes) {
            Some(curve) => curve.rows.push(row),
            None => curves.push(DataCurve { mode, rows: vec![row] }),
        }
    }
    curves
}

/// ns-3's error model `name` for data at HT rates of one stream; "Nist" is the closed
/// form. Other rates (acknowledgements, headers) use the closed form always.
pub fn error_model(name: &str) -> ErrorModel {
    if name == "Nist" {
        return ErrorModel::nist();
    }
    let ht = curves(name).into_iter().filter(|curve| curve.mode.starts_with("HtMcs"));
    let rows = ht.flat_map(|curve| read_linearly(&curve.rows)).collect();
    ErrorModel::table(PerTable::new(rows).expect("ns-3's curves are a table"))
}

/// ns-3's error model `name` for data at HE rates of one stream at 20 MHz; "Nist" is the closed
/// form of the convolutional code, which ns-3 has for MCS 10 and 11, too.
pub fn later_error_model(name: &str) -> ErrorModel {
    if name == "Nist" {
        return ErrorModel::nist();
    }
    let row = |record: Record| {
        let mcs = record.text("mode").strip_prefix("HeMcs").and_then(|mcs| mcs.parse().ok());
        let (width, gi) = (ChannelWidth::Mhz20, HeGuardInterval::Ns800Ltf2x);
        PerRow {
            rate: Rate::he(mcs.expect("an MCS"), 1, width, gi, false).expect("a rate of the table"),
            bytes: record.whole("psdu_bytes"),
            snr: Db(record.number("snr_db")),
            per: Probability::new(record.number("per")).expect("a probability"),
        }
    };
    let rows: Vec<PerRow> = records(AX_PER_TABLES).into_iter().map(row).collect();
    let curves = rows.chunk_by(|a, b| a.rate == b.rate);
    let table = PerTable::new(curves.flat_map(straight_lines).collect());
    ErrorModel::table(table.expect("ns-3's curves are a table"))
}

/// The points of a curve and more between each two, on the straight line of the PER, as ns-3
/// reads its tables.
fn straight_lines(rows: &[PerRow]) -> Vec<PerRow> {
    /// Number of parts into which a quarter of a decibel is divided.
    const PARTS: u32 = 5;
    let mut all = Vec::new();
    for pair in rows.windows(2) {
        for part in 0..PARTS {
            let share = f64::from(part) / f64::from(PARTS);
            let between = |from: f64, to: f64| from + share * (to - from);
            let per = Probability::new(between(pair[0].per.as_f64(), pair[1].per.as_f64()));
            let snr = Db(between(pair[0].snr.0, pair[1].snr.0));
            all.push(PerRow { per: per.expect("it lies between two"), snr, ..pair[0] });
        }
    }
    all.extend(rows.last());
    all
}

/// Returns the longer runs that belong to a row of a file for 802.11ax: runs of that kind with the
/// same values in all `columns`.
pub fn longer(kind: &str, record: &Record, columns: &[&str]) -> Vec<Record> {
    let is_same = |run: &Record| columns.iter().all(|name| run.text(name) == record.text(name));
    let runs = records(AX_LONGER).into_iter();
    runs.filter(|run| run.text("label") == kind && is_same(run)).collect()
}

/// The mean of a column; `None` of no rows.
pub fn mean(records: &[Record], column: &str) -> Option<f64> {
    let sum: f64 = records.iter().map(|record| record.number(column)).sum();
    (!records.is_empty()).then(|| sum / records.len() as f64)
}

/// Returns the curve as ns-3's TableBasedErrorRateModel interpolates it. Our points are
/// 1 dB apart. ns-3's are 0.5 dB apart, and it interpolates the PER linearly between
/// them, which at 19.1 dB and MCS 7 gives 6 % more errors than the smooth curve. So the
/// points that we lack are placed on the smooth curve, where ln(-ln(1 - PER)) is
/// linear, and linear interpolation follows.
fn read_linearly(rows: &[PerRow]) -> Vec<PerRow> {
    /// Number of parts into which half a decibel is divided.
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
