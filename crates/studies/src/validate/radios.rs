//! Real radios as others measured them, and scenarios of their set-ups: throughput in Mb/s as the
//! sender counts it, medians and 95th percentiles of pings in ms, shares and ratios. The folder
//! `data/radios` has the figures, with sources in the first line of each file, and the scenarios.
//! These were written before any run, from published facts of each set-up; later only the profile of
//! the device, receive offload, the pacing shift, the memory of segments, the receiver of macOS, and
//! ath9k's rate control and length of A-MPDUs were added.
//!
//! Rows are simulated by `validate radios`, which takes minutes, and results are kept in
//! `data/radios.csv`. Left out: disturbed rows, and rows without a scenario (`RadioGroup::text`).

/// The text of a scenario of `data/radios`.
macro_rules! scenario {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/radios/", $name, ".toml"))
    };
}

mod earlier;
mod run;

pub use run::{RadioRun, quantile};

use crate::Verdict;
use crate::table::{Row, Table};
use crate::validate::data::{Record, records_below_source};
use crate::validate::kept::Kept;
use lasthop_scenario::Scenario;
use std::fmt::Write as _;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of simulated runs of a row, with different random numbers.
pub const RUNS: u64 = 5;
/// Largest difference of a throughput, a share or a ratio from the measured one.
const SHARE: f64 = 0.10;
/// Largest factor between a simulated and the measured round trip.
const FACTOR: f64 = 1.3;

/// Kept results of five runs of each row.
const KEPT: Kept = Kept { file: "radios.csv", header: "group,row,quantity,runs" };

const C1: &str = include_str!("../../data/radios/c1-ath9k-mcs.csv");
const C2: &str = include_str!("../../data/radios/c2-ath10k-6mbit.csv");
const C3: &str = include_str!("../../data/radios/c3-scans.csv");
const C5: &str = include_str!("../../data/radios/c5-tsq.csv");
const C11: &str = include_str!("../../data/radios/c11-battlemesh-v8.csv");
const C14: &str = include_str!("../../data/radios/c14-cafes.csv");
const AD_HOC: &str = include_str!("../../data/radios/adhoc-nup.csv");

/// Columns of C1: case, kernel's group, scenario and MCS of disturbed rows.
const COLUMNS: [Column; 6] = [
    // The flows of one station starved: 0.4 and 0.5 Mb/s beside 43.8.
    Column::new("pfifo1000-300s", RadioGroup::Stock, scenario!("c1-pfifo1000-300s"), &[13]),
    Column::new("pfifo1000-30s", RadioGroup::Stock, scenario!("c1-pfifo1000-30s"), &[]),
    Column::new("pfifo20", RadioGroup::Stock, scenario!("c1-pfifo20"), &[]),
    // Slower than at MCS 13, with pings up to 304 ms.
    Column::new("fqcodel-qdisc", RadioGroup::Stock, scenario!("c1-fqcodel-qdisc"), &[15]),
    Column::new("mac80211-airtime", RadioGroup::Airtime, scenario!("c1-mac80211-airtime"), &[]),
    Column::new("local-tcp", RadioGroup::Airtime, scenario!("c1-local-tcp"), &[9, 15]),
];
/// The measured column with ECN, a variant of `mac80211-airtime`.
const ECN: &str = "mac80211-airtime-ecn";

/// A column of C1.
struct Column {
    case: &'static str,
    group: RadioGroup,
    scenario: &'static str,
    disturbed: &'static [u32],
}

impl Column {
    const fn new(
        case: &'static str,
        group: RadioGroup,
        scenario: &'static str,
        disturbed: &'static [u32],
    ) -> Self {
        Self { case, group, scenario, disturbed }
    }
}

/// The rows of one set-up, a chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioGroup {
    /// C1: ath9k access point, stock kernel 4.4.
    Stock,
    /// C1: the same with kernel 4.8 and airtime fairness.
    Airtime,
    /// C1: the same with ECN.
    Ecn,
    /// C2: ath10k access point at 6 Mb/s.
    Ath10k,
    /// C3: scans of a laptop.
    Scans,
    /// C4: airtime fairness of three stations.
    Fairness,
    /// C5: TCP small queues.
    SmallQueues,
    /// C11: idle paths of two hops.
    Idle,
    /// An ad hoc hop under 1 to 48 flows.
    AdHoc,
    /// C14: a café.
    Cafe,
}

impl RadioGroup {
    /// All groups, in the order of the page.
    pub const ALL: [Self; 10] = [
        Self::Stock,
        Self::Airtime,
        Self::Ecn,
        Self::Ath10k,
        Self::Scans,
        Self::Fairness,
        Self::SmallQueues,
        Self::Idle,
        Self::AdHoc,
        Self::Cafe,
    ];

    /// The name in `radios.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Airtime => "airtime",
            Self::Ecn => "ecn",
            Self::Ath10k => "ath10k",
            Self::Scans => "scans",
            Self::Fairness => "fairness",
            Self::SmallQueues => "small-queues",
            Self::Idle => "idle",
            Self::AdHoc => "ad-hoc",
            Self::Cafe => "cafe",
        }
    }

    /// The heading of the table.
    const fn title(self) -> &'static str {
        match self {
            Self::Stock => "Real radios: ath9k, kernel 4.4",
            Self::Airtime => "Real radios: ath9k, kernel 4.8 with airtime fairness",
            Self::Ecn => "Real radios: ath9k, kernel 4.8 with airtime fairness and ECN",
            Self::Ath10k => "Real radios: ath10k at 6 Mb/s",
            Self::Scans => "Real radios: scans",
            Self::Fairness => "Real radios: airtime fairness",
            Self::SmallQueues => "Real radios: TCP small queues",
            Self::Idle => "Real radios: idle paths of two hops",
            Self::AdHoc => "Real radios: an ad hoc hop",
            Self::Cafe => "Real radios: a café",
        }
    }

    /// Description of the measurement, and the rows that are left out.
    const fn text(self) -> &'static str {
        match self {
            Self::Stock => {
                "An ath9k access point at fixed HT20 rates, two stations, four TCP flows from the \
                 wire to the air. Left out as disturbed: 300 s at MCS 13, fq_codel at MCS 15. \
                 Tests with a queue of 1 000 packets run in the order of the files, because each \
                 begins with the slow start thresholds that the one before left. Rows in which \
                 stations send have no scenario."
            }
            Self::Airtime => {
                "The same with queues in mac80211, and TCP of the access point itself \
                 (`local-tcp`). Left out as disturbed: `local-tcp` at MCS 9 and 15."
            }
            Self::Ecn => "`mac80211-airtime` with ECN, which the queue marks.",
            Self::Ath10k => {
                "Four TCP flows to two stations at 6 Mb/s, through the firmware's queue, or \
                 drop-tail over byte queue limits."
            }
            Self::Scans => {
                "A laptop that uploads while NetworkManager scans each 120 s: throughput in \
                 scans in proportion to that outside, and their longest ping. Files without \
                 NetworkManager have no scenario."
            }
            Self::Fairness => {
                "Two fast stations and a slow one, one TCP flow to each (Linux commit \
                 63fefa050477): share of the slow one in the air time before airtime fairness, \
                 and the total after in proportion to that before."
            }
            Self::SmallQueues => {
                "One TCP flow with 1 ms of bytes below the socket in proportion to one with 8 ms."
            }
            Self::Idle => {
                "Pings over two idle hops, for each routing protocol. 70 % of OLSRv2's pings \
                 crossed three hops."
            }
            Self::AdHoc => {
                "An ad hoc HT40 hop with 1 to 48 flows. The SNR was chosen so that one flow has \
                 the measured rate. Flows in the other direction and at 20 MHz have no scenario."
            }
            Self::Cafe => {
                "Four downloads in a café; ours is the place `cafe`, of which nobody knows how \
                 it resembles the measured one. Other tests have no scenario."
            }
        }
    }

    /// Largest accepted difference of throughputs. An ad hoc hop's rate moves with the hour: the
    /// same hop had 28 and 39 Mb/s on two evenings.
    const fn throughput_band(self) -> RadioBand {
        match self {
            Self::AdHoc => RadioBand::Factor(FACTOR),
            _ => RadioBand::Share(SHARE),
        }
    }
}

/// The accepted difference between a simulated and the measured figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RadioBand {
    /// A share of the measured figure, up or down.
    Share(f64),
    /// A factor, up or down.
    Factor(f64),
}

impl RadioBand {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::Share(share) => (ratio - 1.0).abs() <= share,
            Self::Factor(factor) => ratio <= factor && ratio >= factor.recip(),
        }
    }
}

/// A measured figure and its band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioMeasured {
    /// The quantity with its unit.
    pub quantity: &'static str,
    /// Measured figure, in the unit of `quantity`.
    pub value: f64,
    /// The accepted difference.
    pub band: RadioBand,
}

/// A scenario with changes, and the flows that count.
#[derive(Clone, Debug)]
struct Changed {
    text: String,
    sets: Vec<String>,
    /// Beginning of the names of flows that count.
    prefix: &'static str,
    /// The earlier tests whose connections left their slow start thresholds to its own.
    place: Option<earlier::EarlierTest>,
}

impl Changed {
    fn new(text: &str, sets: &[&str]) -> Self {
        let sets = sets.iter().map(|&set| set.to_owned()).collect();
        Self { text: text.to_owned(), sets, prefix: "", place: None }
    }

    fn scenario(&self) -> Scenario {
        lasthop_scenario::parse("radios.toml", &self.text, &self.sets)
            .unwrap_or_else(|error| panic!("scenarios of the crate are sound: {error:?}"))
    }
}

/// Figures of the runs of a row's scenarios, one for each measured figure.
type RadioFigures = fn(&[RadioRun]) -> Vec<f64>;

/// Measured figures of one set-up, and the scenarios that stand for it.
#[derive(Clone, Debug)]
pub struct RadioRow {
    /// Set-up of the measurement.
    pub group: RadioGroup,
    /// Name of the row in its group.
    pub name: String,
    /// The measured figures.
    pub measured: Vec<RadioMeasured>,
    scenarios: Vec<Changed>,
    figures: RadioFigures,
}

impl RadioRow {
    /// All rows that are judged, in the order of the page.
    pub fn all() -> Vec<Self> {
        let mut rows = ath9k();
        rows.extend(ath10k());
        rows.extend(scans());
        rows.extend(fairness());
        rows.extend(small_queues());
        rows.extend(idle());
        rows.extend(ad_hoc());
        rows.extend(cafe());
        rows
    }

    /// A row of flent's: throughput and pings of one scenario.
    fn flent(group: RadioGroup, name: String, record: &Record, scenario: Changed) -> Self {
        let measured = |quantity, column, band| {
            let value = record.number(column);
            RadioMeasured { quantity, value, band }
        };
        Self {
            group,
            name,
            measured: vec![
                measured("throughput, Mb/s", "tcp_total_mbps", group.throughput_band()),
                measured("median, ms", "ping_p50_ms", RadioBand::Factor(FACTOR)),
                measured("p95, ms", "ping_p95_ms", RadioBand::Factor(FACTOR)),
            ],
            scenarios: vec![scenario],
            figures: |runs| vec![runs[0].throughput(), runs[0].ping(0.5), runs[0].ping(0.95)],
        }
    }

    /// The figures of run `number` of the row's scenarios.
    fn simulate(&self, number: u64) -> Vec<f64> {
        let run = |changed: &Changed| match changed.place {
            Some(place) => place.simulate(number),
            None => RadioRun::simulate(&changed.scenario(), changed.prefix, number),
        };
        let runs: Vec<RadioRun> = self.scenarios.iter().map(run).collect();
        (self.figures)(&runs)
    }
}

fn is_open(record: &Record) -> bool {
    matches!(record.text("half"), "open" | "")
}

fn ath9k() -> Vec<RadioRow> {
    let records = records_below_source(C1);
    let row = |case: &str, group, scenario, record: &Record, ecn: &[&str]| {
        let rate = format!("node.ap.rate_control.mcs={}", record.text("key"));
        let sets: Vec<&str> = [rate.as_str()].iter().chain(ecn).copied().collect();
        let name = format!("{case} MCS {}", record.text("key"));
        let place = earlier::place(case, record.whole("key"));
        let scenario = Changed { place, ..Changed::new(scenario, &sets) };
        RadioRow::flent(group, name, record, scenario)
    };
    let mut rows = Vec::new();
    for column in COLUMNS {
        let judged = records.iter().filter(|record| {
            record.text("case") == column.case
                && is_open(record)
                && !column.disturbed.contains(&record.whole("key"))
        });
        let column = &column;
        rows.extend(judged.map(|it| row(column.case, column.group, column.scenario, it, &[])));
    }
    let ecn = records.iter().filter(|record| record.text("case") == ECN && is_open(record));
    let scenario = scenario!("c1-mac80211-airtime");
    rows.extend(ecn.map(|it| row(ECN, RadioGroup::Ecn, scenario, it, &["flow.tcp*.tcp.ecn=true"])));
    rows
}

fn ath10k() -> Vec<RadioRow> {
    let mut index = 0;
    let row = |record: &Record| {
        index += 1;
        let key = record.text("key");
        let text = match key {
            "dql_taildrop" => scenario!("c2-dql-taildrop"),
            _ => scenario!("c2-normal-fifo"),
        };
        let name = format!("{index} {key}");
        RadioRow::flent(RadioGroup::Ath10k, name, record, Changed::new(text, &[]))
    };
    records_below_source(C2).iter().filter(|it| is_open(it)).map(row).collect()
}

fn scans() -> Vec<RadioRow> {
    let records = records_below_source(C3);
    let scanned = records.iter().filter(|record| !record.text("ratio").is_empty());
    let row = |record: &Record| RadioRow {
        group: RadioGroup::Scans,
        name: "NetworkManager".into(),
        measured: vec![
            RadioMeasured {
                quantity: "inside to outside",
                value: record.number("ratio"),
                band: RadioBand::Share(SHARE),
            },
            RadioMeasured {
                quantity: "longest, ms",
                value: record.number("ping_inside_max_ms"),
                band: RadioBand::Factor(FACTOR),
            },
        ],
        scenarios: vec![Changed::new(scenario!("c3-scan"), &[])],
        figures: |runs| runs[0].scans().to_vec(),
    };
    scanned.map(row).collect()
}

/// Measured by the author of Linux commit 63fefa050477; the table of its message.
fn fairness() -> Vec<RadioRow> {
    let measured =
        |quantity, value| RadioMeasured { quantity, value, band: RadioBand::Share(SHARE) };
    vec![RadioRow {
        group: RadioGroup::Fairness,
        name: "three stations".into(),
        measured: vec![measured("slow one's air", 0.49), measured("after to before", 1.25)],
        scenarios: [scenario!("c4-airtime-before"), scenario!("c4-airtime-after")]
            .map(|text| Changed::new(text, &[]))
            .to_vec(),
        // The slow station is the last of nodes 2 to 4.
        figures: |runs| {
            let air = &runs[0].air[2..];
            let share = air[2] / air.iter().sum::<f64>();
            vec![share, runs[1].throughput() / runs[0].throughput()]
        },
    }]
}

fn small_queues() -> Vec<RadioRow> {
    let records = records_below_source(C5);
    let mbps = |ms: &str| {
        let row = records.iter().find(|record| record.text("ms_below_socket") == ms);
        row.expect("a row of the file").number("mbps")
    };
    // The bytes of 1 ms that the scenario's header derives.
    let short = Changed::new(scenario!("c5-tsq"), &["flow.tcp.tcp.pacing_shift=10"]);
    vec![RadioRow {
        group: RadioGroup::SmallQueues,
        name: "1 ms to 8 ms".into(),
        measured: vec![RadioMeasured {
            quantity: "ratio",
            value: mbps("1") / mbps("8"),
            band: RadioBand::Share(SHARE),
        }],
        scenarios: vec![short, Changed::new(scenario!("c5-tsq"), &[])],
        figures: |runs| vec![runs[0].throughput() / runs[1].throughput()],
    }]
}

fn idle() -> Vec<RadioRow> {
    let row = |record: &Record| {
        let measured = |quantity, column| RadioMeasured {
            quantity,
            value: record.number(column),
            band: RadioBand::Factor(FACTOR),
        };
        RadioRow {
            group: RadioGroup::Idle,
            name: record.text("protocol").into(),
            measured: vec![measured("median, ms", "rtt_p50_ms"), measured("p95, ms", "rtt_p95_ms")],
            scenarios: vec![Changed::new(scenario!("c11-idle"), &[])],
            figures: |runs| vec![runs[0].ping(0.5), runs[0].ping(0.95)],
        }
    };
    records_below_source(C11).iter().filter(|it| it.text("test") == "idle").map(row).collect()
}

fn ad_hoc() -> Vec<RadioRow> {
    let records = records_below_source(AD_HOC);
    let judged = records.iter().filter(|record| {
        record.text("key") == "adhocht40" && record.text("test") == "tcp_nup" && is_open(record)
    });
    let row = |record: &Record| {
        let flows = record.whole("flows");
        let scenario = Changed::new(&ad_hoc_scenario(flows), &[]);
        RadioRow::flent(RadioGroup::AdHoc, format!("{flows} flows"), record, scenario)
    };
    judged.map(row).collect()
}

/// The scenario of one flow, with more flows like its own.
fn ad_hoc_scenario(flows: u32) -> String {
    let mut text = scenario!("adhoc-ht40-1").to_owned();
    for flow in 2..=flows {
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"tcp{flow}\"\nfrom = \"nemesis\"\nto = \"lite\"\n\
             kind = \"tcp\"\nstart = \"5s\"\n"
        );
    }
    text
}

fn cafe() -> Vec<RadioRow> {
    let records = records_below_source(C14);
    let judged = records.iter().filter(|it| it.text("test") == "tcp_ndown" && is_open(it));
    let row = |record: &Record| {
        let scenario = Changed { prefix: "my-", ..Changed::new(scenario!("c14-cafe-down"), &[]) };
        RadioRow::flent(RadioGroup::Cafe, record.text("title").into(), record, scenario)
    };
    judged.map(row).collect()
}

/// Simulates all runs of `rows` with `threads` threads; `done` is called after each run. Returns
/// the figures of each run, for each row.
pub fn simulate(rows: &[RadioRow], threads: usize, done: &(dyn Fn() + Sync)) -> Vec<Vec<Vec<f64>>> {
    let runs = RUNS as usize;
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![vec![Vec::new(); runs]; rows.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    let Some(row) = rows.get(task / runs) else { return };
                    let run = task % runs;
                    let figures = row.simulate(run as u64);
                    results.lock().expect("no thread panics with it")[task / runs][run] = figures;
                    done();
                }
            });
        }
    });
    results.into_inner().expect("no thread panicked")
}

/// The simulated figures so far.
#[derive(Clone, Debug, Default)]
pub struct RadioStore {
    lines: Vec<RadioLine>,
}

/// A line of `radios.csv`.
#[derive(Clone, Debug, PartialEq)]
struct RadioLine {
    group: String,
    row: String,
    quantity: String,
    runs: Vec<f64>,
}

impl RadioStore {
    /// Reads `data/radios.csv`; no figures if it does not exist.
    pub fn read() -> Self {
        let line = |record: Record| RadioLine {
            group: record.text("group").into(),
            row: record.text("row").into(),
            quantity: record.text("quantity").into(),
            runs: record.text("runs").split(' ').filter_map(|run| run.parse().ok()).collect(),
        };
        Self { lines: KEPT.records().into_iter().map(line).collect() }
    }

    /// Replaces the figures of a row by those of its runs.
    pub fn put(&mut self, row: &RadioRow, runs: &[Vec<f64>]) {
        for (index, measured) in row.measured.iter().enumerate() {
            self.lines.retain(|line| !line.is_of(row, measured));
            self.lines.push(RadioLine {
                group: row.group.name().into(),
                row: row.name.clone(),
                quantity: quantity_field(measured),
                runs: runs.iter().map(|run| run[index]).collect(),
            });
        }
    }

    /// Writes the file: lines of all rows, in their order.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self) -> io::Result<()> {
        let all = RadioRow::all();
        let figures = all.iter().flat_map(|row| row.measured.iter().map(move |it| (row, it)));
        let lines = figures.filter_map(|(row, it)| self.line(row, it)).map(|line| {
            let runs: Vec<String> = line.runs.iter().map(|run| format!("{run:.4}")).collect();
            format!("{},{},{},{}", line.group, line.row, line.quantity, runs.join(" "))
        });
        KEPT.replace(lines)
    }

    fn line(&self, row: &RadioRow, measured: &RadioMeasured) -> Option<&RadioLine> {
        self.lines.iter().find(|line| line.is_of(row, measured))
    }

    /// The table of a group.
    pub fn table(&self, group: RadioGroup) -> Table {
        let mut rows = Vec::new();
        let mut counts: Vec<(&'static str, [usize; 2])> = Vec::new();
        for row in RadioRow::all().into_iter().filter(|row| row.group == group) {
            for measured in &row.measured {
                let runs = self.line(&row, measured).map_or(&[][..], |line| &line.runs);
                let (cells, verdict) = compared(&row.name, measured, runs);
                if verdict != Verdict::Listed {
                    let name = measured.quantity.split(',').next().unwrap_or_default();
                    let at = counts.iter().position(|(other, _)| *other == name);
                    let at = at.unwrap_or_else(|| {
                        counts.push((name, [0; 2]));
                        counts.len() - 1
                    });
                    counts[at].1[0] += usize::from(verdict == Verdict::Pass);
                    counts[at].1[1] += 1;
                }
                rows.push((cells, verdict));
            }
        }
        let counts: Vec<String> =
            counts.iter().map(|(name, [inside, of])| format!("{name} {inside} of {of}")).collect();
        let band = match group.throughput_band() {
            RadioBand::Factor(factor) => format!("a factor {factor}"),
            RadioBand::Share(share) => format!("{:.0} %", 100.0 * share),
        };
        Table {
            title: group.title(),
            text: format!(
                "{} Throughput as the sender counts it, percentiles of each ping's series and \
                 their mean, in the window of the measurement; mean of {RUNS} runs with their \
                 least and most. Bands: throughput, shares and ratios {band}, pings a factor \
                 {FACTOR}.",
                group.text()
            ),
            columns: vec!["row", "quantity", "measured", "simulated", "least", "most", "ratio"],
            rows,
            notes: vec![if counts.is_empty() {
                "Not simulated yet.".into()
            } else {
                format!("In the bands: {}.", counts.join(", "))
            }],
        }
    }
}

impl RadioLine {
    fn is_of(&self, row: &RadioRow, measured: &RadioMeasured) -> bool {
        self.group == row.group.name()
            && self.row == row.name
            && self.quantity == quantity_field(measured)
    }
}

/// The quantity without commas, as a field of `radios.csv`.
fn quantity_field(measured: &RadioMeasured) -> String {
    measured.quantity.replace(',', "")
}

/// The row of a figure; its mean over runs decides. Without runs it is listed.
fn compared(name: &str, measured: &RadioMeasured, runs: &[f64]) -> Row {
    let mut cells = vec![name.to_owned(), measured.quantity.to_owned(), figure(measured.value)];
    if runs.is_empty() {
        cells.extend(["", "", "", ""].map(str::to_owned));
        return (cells, Verdict::Listed);
    }
    let mean = runs.iter().sum::<f64>() / runs.len() as f64;
    let [least, most] = [
        runs.iter().copied().fold(f64::INFINITY, f64::min),
        runs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ];
    let ratio = mean / measured.value;
    cells.extend([mean, least, most].map(figure));
    cells.push(format!("{ratio:.2}"));
    (cells, Verdict::pass_if(measured.band.holds(ratio)))
}

/// Three digits, or whole numbers above.
fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_open_rows_are_read() {
        let rows = RadioRow::all();
        let count = |group| rows.iter().filter(|row| row.group == group).count();
        // Four columns of eight odd rates without two; two without two; one.
        let counts = [RadioGroup::Stock, RadioGroup::Airtime, RadioGroup::Ecn].map(count);
        assert_eq!(counts, [30, 14, 8]);
        let counts = RadioGroup::ALL[3..].iter().map(|&group| count(group)).collect::<Vec<_>>();
        assert_eq!(counts, [4, 1, 1, 1, 5, 8, 2]);
        let row = rows.iter().find(|row| row.name == "pfifo20 MCS 7").expect("it is open");
        let values: Vec<f64> = row.measured.iter().map(|it| it.value).collect();
        assert_eq!(values, [51.83, 32.21, 57.96]);
        let ratio = &rows.iter().find(|row| row.group == RadioGroup::SmallQueues).expect("one");
        assert!((ratio.measured[0].value - 0.3368).abs() < 1e-4);
    }

    #[test]
    fn every_row_has_a_sound_scenario() {
        for row in RadioRow::all() {
            for changed in &row.scenarios {
                let scenario = changed.scenario();
                let window = (scenario.duration - scenario.warmup).as_secs_f64();
                assert!(window >= 10.0, "{}", row.name);
            }
        }
        let [own, file] = [ad_hoc_scenario(48), scenario!("adhoc-ht40-48").to_owned()]
            .map(|text| Changed::new(&text, &[]).scenario());
        assert_eq!((own.flows.len(), own.flows), (49, file.flows));
    }

    #[test]
    fn bands_are_closed_and_the_mean_decides() {
        let measured =
            RadioMeasured { quantity: "median, ms", value: 10.0, band: RadioBand::Factor(1.3) };
        let (cells, verdict) = compared("it", &measured, &[12.0, 14.0]);
        assert_eq!(cells, ["it", "median, ms", "10.0", "13.0", "12.0", "14.0", "1.30"]);
        assert_eq!(verdict, Verdict::Pass);
        assert_eq!(compared("it", &measured, &[7.6]).1, Verdict::Fail);
        assert_eq!(compared("it", &measured, &[f64::NAN]).1, Verdict::Fail);
        assert_eq!(compared("it", &measured, &[]).1, Verdict::Listed);
        assert!(RadioBand::Share(0.1).holds(0.9001) && !RadioBand::Share(0.1).holds(1.11));
    }

    /// The run's document computes the senders' throughput, and percentiles, by other code.
    #[test]
    fn a_short_run_agrees_with_its_document() {
        let row = RadioRow::all().into_iter().find(|row| row.name == "pfifo20 MCS 15");
        let mut changed = row.expect("it is open").scenarios.remove(0);
        changed.sets.extend(["warmup=5200ms", "duration=6200ms"].map(str::to_owned));
        let scenario = changed.scenario();
        let run = RadioRun::simulate(&scenario, "", 0);
        let names = lasthop_sim::names(&scenario);
        let recorder = lasthop_trace::Recorder::new(names, lasthop_sim::recording(&scenario));
        let document = lasthop_sim::record(&scenario, 0, recorder, &mut lasthop_sim::go_on);
        let document = document.expect("it can be simulated");
        let flows = |prefix: &str| {
            let flows = document.flows.iter().filter(move |(name, _)| name.starts_with(prefix));
            flows.map(|(_, flow)| flow.clone()).collect::<Vec<_>>()
        };
        let written: f64 = flows("tcp").iter().filter_map(|flow| flow.written_mbps).sum();
        assert!(written > 20.0, "{written}");
        assert!((run.throughput() / written - 1.0).abs() < 0.02, "{} {written}", run.throughput());
        let medians: Vec<f64> =
            flows("ping").iter().filter_map(|flow| Some(flow.rtt_ms.as_ref()?.p50)).collect();
        let median = medians.iter().sum::<f64>() / medians.len() as f64;
        assert!((run.ping(0.5) / median - 1.0).abs() < 0.5, "{} {median}", run.ping(0.5));
    }
}
