//! Roams of wpa_supplicant over mac80211 beside those of the model, on the same walks: `tests/vm`
//! walks a station ten times from one access point to another over `lasthop medium`
//! (`62-roam-open` to `65-roam-ft`, the walk in `guest/roam.sh`), and `data/kernels/roam.csv` has each
//! roam. The model makes the same walks by `lasthop simulate`: the same steps of the SNR at the same
//! instants, the same scans, the same pings. Times are milliseconds; instants count from the step
//! that takes the level of the old access point below the threshold of the scans.
//!
//! Left out: walks with `bgscan` "learn" and with ARP, and Linux 6.12, which are listed without the
//! model; the silent access point of `66-roam-loss`.

mod walk;

pub use walk::{Walked, walk};

use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use crate::validate::data::{self, Record};
use std::fmt::Write as _;

/// The content of `kernels/roam.csv`.
const ROAMS: &str = include_str!("../../data/kernels/roam.csv");
/// Largest accepted difference of a median.
const SHARE: f64 = 0.15;

/// The text above the table.
const TEXT: &str = "wpa_supplicant and hostapd 2.10 over mac80211 of Debian's 6.1 and `lasthop \
medium`, in a virtual machine (`make vm-test CHECKS='6[2-5]-*'`), and `lasthop simulate`: a station \
walks ten times from an access point to another one of the same SSID on another channel, 1 dB/s, with \
bgscan=\"simple:5:-70:60\" and eight active channels. Medians of the walks in ms, with the least and \
the greatest. Target: one roam in each walk, the same frames in the same order, medians within 15 %. \
`cargo run --release -p lasthop-studies -- roams --write` makes this table; \
`crates/studies/data/kernels/roam.csv` has every roam of Linux.";

/// Explanations below the table.
const NOTES: [&str; 5] = [
    "Instants count from the step of the SNR that takes the old access point to 1 dB below the \
     threshold; scan and frames come later because mac80211 averages beacons.",
    "The defaults of the model's delays off the air (leave_delay, delay, access_point_delay, sae_delay) \
     are from the same walks. The instants, the scan and the order of frames are not.",
    "First data come with the next ping, one in 20 ms. Roams follow beacons, and 392 beacon intervals \
     from walk to walk are 2007 of the pings and 0.8 ms: ten walks have nearly one phase, by chance. The \
     model's pings have the phase of Linux in each walk, so this row is only listed. In five of 64 roams \
     Linux loses a ping 0.6 to 7.3 ms after the join, before its interface is up; the model sends it. \
     Neighbours are permanent: otherwise Linux resumes IPv4 a second later, since it forgets them with \
     the carrier (open, with ARP).",
    "WPA3 (SAE): the station's cached keys are flushed before each walk; the model makes ten runs of \
     a walk. With a cached key the first of ten walks is by SAE in both.",
    "Linux 6.12 scans two channels in an absence. Over the DS it refuses an association without an \
     authentication, and the station comes over the air 0.67 s later. Times of walks over the DS, \
     which begin by command, count phases only.",
];

/// A set of walks with one security and one configuration of scans.
#[derive(Clone, Copy, Debug)]
pub struct WalkCase {
    /// Name in the table.
    pub title: &'static str,
    /// Columns `kernel` and `name` in `roam.csv`.
    pub kernel: [&'static str; 2],
    /// Settings of the model; `None` if it does not have what this walk needs.
    pub model: Option<WalkModel>,
}

/// The model's settings for walks.
#[derive(Clone, Copy, Debug)]
pub struct WalkModel {
    /// Value of `security` in the station's `roaming`.
    pub security: &'static str,
    /// Value of `over_ds`.
    pub over_ds: bool,
    /// Threshold of the scans in dBm.
    pub threshold_dbm: i32,
    /// Whether each walk is a separate run, so that the station has no keys of earlier walks.
    pub forgets: bool,
    /// Whether the walk begins its scans by the signal, so that instants compare.
    pub has_instants: bool,
}

const MODEL: WalkModel = WalkModel {
    security: "open",
    over_ds: false,
    threshold_dbm: -70,
    forgets: false,
    has_instants: true,
};

const fn case(
    title: &'static str,
    kernel: [&'static str; 2],
    model: Option<WalkModel>,
) -> WalkCase {
    WalkCase { title, kernel, model }
}

/// The walks of `roam.csv`.
pub const CASES: [WalkCase; 12] = [
    case("open", ["6.1", "open"], Some(MODEL)),
    case("WPA2", ["6.1", "wpa2"], Some(WalkModel { security: "wpa2", ..MODEL })),
    case(
        "WPA3 (SAE)",
        ["6.1", "sae"],
        Some(WalkModel { security: "wpa3", forgets: true, ..MODEL }),
    ),
    case("802.11r", ["6.1", "ft"], Some(WalkModel { security: "ft-wpa2", ..MODEL })),
    case("WPA3, cached key", ["6.1", "sae-cached"], Some(WalkModel { security: "wpa3", ..MODEL })),
    case(
        "open, threshold -62 dBm",
        ["6.1", "open-early"],
        Some(WalkModel { threshold_dbm: -62, ..MODEL }),
    ),
    case(
        "802.11r over the DS",
        ["6.1", "ft-ds"],
        Some(WalkModel { security: "ft-wpa2", over_ds: true, has_instants: false, ..MODEL }),
    ),
    case("open, with ARP", ["6.1", "open-arp"], None),
    case("open, bgscan learn", ["6.1", "open-learn"], None),
    case("WPA2, Linux 6.12", ["6.12", "wpa2"], None),
    case("802.11r, Linux 6.12", ["6.12", "ft"], None),
    case("802.11r over the DS, Linux 6.12", ["6.12", "ft-ds"], None),
];

/// A roam, in ms; steps that did not come are zero.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Roam {
    /// Number of the walk, from 1 on.
    pub walk: u32,
    /// Begin of the scan after the step.
    pub scan_begin_ms: f64,
    /// First frame to the new access point after the step (over the DS: about it).
    pub begin_ms: f64,
    /// Length of the scan.
    pub scan_ms: f64,
    /// From the end of the scan to the first frame.
    pub decision_ms: f64,
    /// From the first to the last frame of authentication.
    pub auth_ms: f64,
    /// From there to the association request.
    pub wait_ms: f64,
    /// From the request to the response.
    pub assoc_ms: f64,
    /// From the response to the last message of the handshake.
    pub handshake_ms: f64,
    /// From the last frame to the first data.
    pub first_data_ms: f64,
    /// From the last data with the old access point to the first with the new one.
    pub without_data_ms: f64,
    /// Frames with their lengths in octets, FCS included.
    pub frames: Vec<(String, u32)>,
}

impl Roam {
    fn of_record(record: &Record) -> Self {
        let number = |name: &str| {
            let text = record.text(name);
            if text.is_empty() { f64::NAN } else { record.number(name) }
        };
        let frame = |word: &str| {
            let (name, rest) = word.split_once(':').expect("a name and a length");
            let (octets, _) = rest.split_once('+').expect("a length and an instant");
            (name.to_owned(), octets.parse().expect("a number of octets"))
        };
        Self {
            walk: record.whole("walk"),
            scan_begin_ms: number("scan_begin_ms"),
            begin_ms: number("begin_ms"),
            scan_ms: number("scan_ms"),
            decision_ms: number("decision_ms"),
            auth_ms: number("auth_ms"),
            wait_ms: number("wait_ms"),
            assoc_ms: number("assoc_ms"),
            handshake_ms: number("handshake_ms"),
            first_data_ms: number("first_data_ms"),
            without_data_ms: number("without_data_ms"),
            frames: record.text("frames").split(' ').map(frame).collect(),
        }
    }

    fn order(&self) -> Vec<&str> {
        self.frames.iter().map(|(name, _)| &**name).collect()
    }
}

/// The roams of Linux in these walks.
pub fn measured(case: &WalkCase) -> Vec<Roam> {
    let [kernel, name] = case.kernel;
    let is_it = |row: &Record| row.text("kernel") == kernel && row.text("name") == name;
    data::records(ROAMS).iter().filter(|row| is_it(row)).map(Roam::of_record).collect()
}

/// A measured time of a roam.
struct RoamQuantity {
    name: &'static str,
    of: fn(&Roam) -> f64,
    /// Whether it depends on the instants of the steps.
    is_instant: bool,
    /// Whether the model has it from Linux, so that it is only listed.
    is_given: bool,
}

const fn quantity(name: &'static str, of: fn(&Roam) -> f64) -> RoamQuantity {
    RoamQuantity { name, of, is_instant: false, is_given: false }
}

const QUANTITIES: [RoamQuantity; 10] = [
    RoamQuantity { is_instant: true, ..quantity("begin of the scan", |it| it.scan_begin_ms) },
    RoamQuantity { is_instant: true, ..quantity("first frame", |it| it.begin_ms) },
    RoamQuantity { is_instant: true, ..quantity("scan", |it| it.scan_ms) },
    RoamQuantity {
        is_instant: true,
        ..quantity("from the scan to the first frame", |it| it.decision_ms)
    },
    quantity("authentication", |it| it.auth_ms),
    quantity("to the association request", |it| it.wait_ms),
    quantity("association", |it| it.assoc_ms),
    quantity("4-way handshake", |it| it.handshake_ms),
    RoamQuantity { is_given: true, ..quantity("to the first data", |it| it.first_data_ms) },
    quantity("without data", |it| it.without_data_ms),
];

/// The roams of a case, of Linux and of the model.
#[derive(Clone, Debug)]
pub struct WalkCompared {
    /// Names and settings of the walks.
    pub case: WalkCase,
    /// The roams of Linux.
    pub linux: Vec<Roam>,
    /// The roams of the model; `None` if it does not make these walks.
    pub model: Option<Walked>,
}

impl WalkCompared {
    /// Makes the walks of `case` with the model.
    pub fn make(case: &WalkCase) -> Self {
        let linux = measured(case);
        let model = case.model.map(|model| walk(&model, &linux));
        Self { case: *case, linux, model }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = vec![self.number_row(), self.order_row(), self.octets_row()];
        for quantity in &QUANTITIES {
            let has = |roams: &[Roam]| Spread::measure(roams, quantity.of);
            let Some(linux) = has(&self.linux) else { continue };
            let model = match (&self.case.model, &self.model) {
                (Some(model), Some(walked)) if model.has_instants || !quantity.is_instant => {
                    has(&walked.roams)
                }
                _ => None,
            };
            if linux.median == 0.0 && model.is_none_or(|model| model.median == 0.0) {
                continue;
            }
            let (cells, verdict) = self.row(quantity.name, linux, model);
            rows.push((cells, if quantity.is_given { Verdict::Listed } else { verdict }));
        }
        rows
    }

    fn row(&self, name: &str, linux: Spread, model: Option<Spread>) -> Row {
        let mut cells = vec![self.case.title.to_owned(), name.to_owned()];
        cells.extend(linux.cells());
        let Some(model) = model else {
            cells.extend(["-"; 4].map(str::to_owned));
            return (cells, Verdict::Listed);
        };
        cells.extend(model.cells());
        cells.push(ratio(model.median, linux.median));
        (cells, Verdict::pass_if(is_within(model.median, linux.median, SHARE)))
    }

    /// Roams a walk: in how many walks there was one.
    fn number_row(&self) -> Row {
        let numbers = |roams: &[Roam]| {
            let last = self.linux.iter().map(|roam| roam.walk).max().unwrap_or_default();
            let of = |walk| roams.iter().filter(|roam| roam.walk == walk).count() as f64;
            Spread::of_values((1..=last).map(of).collect()).expect("there is a walk")
        };
        let linux = numbers(&self.linux);
        let model = self.model.as_ref().map(|walked| numbers(&walked.roams));
        let (mut cells, _) = self.row("roams in a walk", linux, model);
        if let Some(model) = model {
            return (cells, Verdict::pass_if(linux == model));
        }
        cells.truncate(9);
        (cells, Verdict::Listed)
    }

    /// In how many roams the frames are those of the most frequent order of Linux.
    fn order_row(&self) -> Row {
        let usual = self.usual_order();
        let share = |roams: &[Roam]| {
            let same = roams.iter().filter(|roam| roam.order() == usual).count();
            format!("{same} of {}", roams.len())
        };
        let mut cells = vec![self.case.title.to_owned(), format!("order: {}", usual.join(" "))];
        cells.extend([share(&self.linux), String::new(), String::new()]);
        let Some(walked) = &self.model else {
            cells.extend(["-"; 4].map(str::to_owned));
            return (cells, Verdict::Listed);
        };
        cells.extend([share(&walked.roams), String::new(), String::new(), String::new()]);
        let orders = |roams: &[Roam]| {
            let mut orders: Vec<_> = roams.iter().map(|roam| roam.order().join(" ")).collect();
            orders.sort_unstable();
            orders
        };
        (cells, Verdict::pass_if(orders(&self.linux) == orders(&walked.roams)))
    }

    fn usual_order(&self) -> Vec<&str> {
        let orders: Vec<_> = self.linux.iter().map(Roam::order).collect();
        let times = |order: &Vec<&str>| orders.iter().filter(|other| *other == order).count();
        orders.iter().max_by_key(|order| times(order)).expect("there is a roam").clone()
    }

    /// Octets of all frames of a join, which have other optional elements.
    fn octets_row(&self) -> Row {
        let octets = |roam: &Roam| roam.frames.iter().map(|(_, octets)| f64::from(*octets)).sum();
        let linux = Spread::measure(&self.linux, octets).expect("there is a roam");
        let model = self.model.as_ref().and_then(|walked| Spread::measure(&walked.roams, octets));
        let (cells, _) = self.row("octets of these frames", linux, model);
        (cells, Verdict::Listed)
    }
}

/// Median, least and greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    greatest: f64,
}

impl Spread {
    fn measure(roams: &[Roam], of: impl Fn(&Roam) -> f64) -> Option<Self> {
        Self::of_values(roams.iter().map(of).filter(|value| !value.is_nan()).collect())
    }

    fn of_values(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, greatest) = (*values.first()?, *values.last()?);
        let (half, is_odd) = (values.len() / 2, values.len() % 2 == 1);
        let median = if is_odd { values[half] } else { 0.5 * (values[half - 1] + values[half]) };
        Some(Self { median, least, greatest })
    }

    fn cells(self) -> [String; 3] {
        [self.median, self.least, self.greatest].map(number)
    }
}

/// A time with as many decimals as it deserves.
fn number(value: f64) -> String {
    match value {
        _ if value.fract() == 0.0 => format!("{value}"),
        _ if value.abs() < 10.0 => format!("{value:.2}"),
        _ if value.abs() < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// All walks as a table.
pub fn table(compared: &[WalkCompared]) -> Table {
    Table {
        title: "Roaming, of the kernel, wpa_supplicant and hostapd, and of the model",
        text: TEXT.to_owned(),
        columns: vec![
            "walk", "quantity", "Linux", "least", "greatest", "model", "least", "greatest", "ratio",
        ],
        rows: compared.iter().flat_map(WalkCompared::rows).collect(),
        notes: NOTES.map(str::to_owned).to_vec(),
    }
}

/// The walks with a model as a table of Markdown for `docs/validation-vm.md`: a row a walk, pairs of
/// medians of Linux and of the model, those outside of the band in bold.
pub fn summary(compared: &[WalkCompared]) -> String {
    let mut out = String::from("| walk |");
    for quantity in &QUANTITIES {
        let _ = write!(out, " {} |", quantity.name);
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(QUANTITIES.len()));
    out.push('\n');
    for case in compared {
        let (Some(model), Some(walked)) = (&case.case.model, &case.model) else { continue };
        let _ = write!(out, "| {} |", case.case.title);
        for quantity in &QUANTITIES {
            let is_compared = model.has_instants || !quantity.is_instant;
            let pair = [&case.linux, &walked.roams].map(|it| Spread::measure(it, quantity.of));
            match pair {
                [Some(linux), Some(ours)] if is_compared && linux.median > 0.0 => {
                    let is_right = quantity.is_given || is_within(ours.median, linux.median, SHARE);
                    let bold = if is_right { "" } else { "**" };
                    let [linux, ours] = [linux, ours].map(|it| number(it.median));
                    let _ = write!(out, " {linux}, {bold}{ours}{bold} |");
                }
                _ => out.push_str(" |"),
            }
        }
        out.push('\n');
    }
    out
}

/// Lines of `docs/validation-vm.md` around the table of [`summary`].
const TABLE: [&str; 2] =
    ["<!-- Made by `validate roams --write`; do not edit. -->\n\n", "\n<!-- End of the table. -->"];

/// The page with its table made anew; `None` if it has no place for one.
pub fn in_page(page: &str, compared: &[WalkCompared]) -> Option<String> {
    let (before, rest) = page.split_once(TABLE[0])?;
    let (_, after) = rest.split_once(TABLE[1])?;
    Some([before, TABLE[0], &summary(compared), TABLE[1], after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_those_of_the_file() {
        let open = measured(&CASES[0]);
        assert_eq!(open.len(), 10);
        let spread = Spread::measure(&open, |roam| roam.begin_ms).expect("ten roams");
        assert_eq!((spread.least, spread.greatest), (2970.111, 3071.109));
        assert!((spread.median - 0.5 * (3052.1 + 3055.11)).abs() < 1e-9, "{spread:?}");
        assert_eq!(open[0].order().len(), 4);
        assert_eq!(open[0].frames[2], ("reassociation-request".to_owned(), 131));
    }

    /// A roam less, another order, or a median beyond 15 %, and the row fails.
    #[test]
    fn what_differs_fails() {
        let linux = measured(&CASES[1]);
        let same = Walked { roams: linux.clone() };
        let mut compared = WalkCompared { case: CASES[1], linux, model: Some(same) };
        let fails = |compared: &WalkCompared| {
            compared.rows().iter().filter(|(_, verdict)| *verdict == Verdict::Fail).count()
        };
        assert_eq!(fails(&compared), 0);
        let model = compared.model.as_mut().expect("it has one");
        model.roams.iter_mut().for_each(|roam| roam.scan_ms *= 1.2);
        assert_eq!(fails(&compared), 1);
        compared.model.as_mut().expect("it has one").roams[3].frames.swap(0, 1);
        assert_eq!(fails(&compared), 2);
        compared.model.as_mut().expect("it has one").roams.pop();
        assert_eq!(fails(&compared), 3);
    }
}
