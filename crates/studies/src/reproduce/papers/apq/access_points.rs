//! The seven access points of `apq`: the search for their saturation rates (figure 10),
//! and the lengths of their queues (figure 11, table II). Each is a scenario file;
//! packets have 1500 or 750 bytes.

use super::{FULL, HALF, equation_1, first_session, size};
use crate::reproduce::data::{Point, Runs, greatest, least};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, ScenarioFile, Statement, stated};
use crate::scenario_file;
use lasthop_apq::report::LoadPoint;
use lasthop_figures::plot::{Axis, Panel, Series};

pub const CISCO: ScenarioFile = scenario_file!("apq/cisco.toml");
pub const NETGEAR: ScenarioFile = scenario_file!("apq/netgear.toml");
pub const LINKSYS_OLD: ScenarioFile = scenario_file!("apq/linksys-old.toml");
const D_LINK: ScenarioFile = scenario_file!("apq/d-link.toml");
const NETGEAR_HOME: ScenarioFile = scenario_file!("apq/netgear-home.toml");
const D_LINK_HOME: ScenarioFile = scenario_file!("apq/d-link-home.toml");
const LINKSYS: ScenarioFile = scenario_file!("apq/linksys.toml");

/// An access point of table II.
struct AccessPoint {
    name: &'static str,
    file: ScenarioFile,
    /// Capacity of its queue in packets of 1500 and of 750 bytes.
    packets: [f64; 2],
    /// Whether it is stable at the saturation rate, and therefore in figure 10.
    stable: bool,
    /// The reason if it fails.
    because: Option<&'static str>,
}

const fn stable(name: &'static str, file: ScenarioFile, packets: [f64; 2]) -> AccessPoint {
    AccessPoint { name, file, packets, stable: true, because: None }
}

const D_LINK_COMMERCIAL: AccessPoint = AccessPoint {
    stable: false,
    because: Some(
        "The columns are 5.9 % apart: only a queue right to a tenth of a packet is within 3 % of \
         both. The paper's throughput varied by half.",
    ),
    ..stable("D-Link", D_LINK, [245.2, 231.2])
};

/// The access points, in the order of table II.
const ALL: [AccessPoint; 7] = [
    stable("Cisco", CISCO, [65.0, 67.1]),
    D_LINK_COMMERCIAL,
    stable("Netgear", NETGEAR, [337.5, 336.9]),
    AccessPoint {
        stable: false,
        because: Some(
            "The columns are two packets (5 %) apart: no whole number is within 3 % of both. The \
             paper's became unstable at high rates.",
        ),
        ..stable("Netgear (home)", NETGEAR_HOME, [39.2, 37.3])
    },
    stable("D-Link (home)", D_LINK_HOME, [56.9, 54.8]),
    stable("old Linksys", LINKSYS_OLD, [59.9, 60.4]),
    stable("Linksys", LINKSYS, [121.3, 119.6]),
];

const LENGTHS: [u16; 2] = [FULL, HALF];

fn name(ap: &AccessPoint, packet_bytes: u16) -> String {
    format!("{}, {packet_bytes} bytes", ap.name)
}

fn run(ap: &AccessPoint, packet_bytes: u16) -> Run {
    Run::new(name(ap, packet_bytes), ap.file)
        .set(format!("flow.apq.apq.packet_bytes=[{packet_bytes}]"))
        .set("duration=100min")
}

/// Packets of both lengths at every access point.
fn runs() -> Vec<Run> {
    ALL.iter().flat_map(|ap| LENGTHS.map(|length| run(ap, length))).collect()
}

/// The loads that Algorithm 1 tried, ordered by rate.
fn search<'a>(runs: &Runs<'a>, ap: &AccessPoint) -> &'a [LoadPoint] {
    size(runs.get(&name(ap, FULL))).map_or(&[], |size| &size.search)
}

fn mbps(pps: f64) -> f64 {
    pps * f64::from(FULL) * 8e-6
}

/// A value over the offered load in Mb/s.
fn curve(loads: &[LoadPoint], read: fn(&LoadPoint) -> f64) -> Vec<Point> {
    loads.iter().map(|load| (mbps(load.offered_pps), read(load))).collect()
}

fn delay_ms(load: &LoadPoint) -> f64 {
    load.queueing_delay.as_millis_f64()
}

/// The loads that are clearly below the capacity of the link, and those clearly above.
fn sides(loads: &[LoadPoint]) -> [Vec<&LoadPoint>; 2] {
    let most = loads.iter().map(|load| load.received_pps).fold(0.0, f64::max);
    let below = loads.iter().filter(|load| load.offered_pps < 0.95 * most);
    let above = loads.iter().filter(|load| load.offered_pps > 1.05 * most);
    [below.collect(), above.collect()]
}

pub const FIG10: Figure = Figure {
    id: "fig10",
    title: "Finding the saturation rate",
    shows: "Algorithm 1 at the five access points that the paper found stable.",
    runs: || ALL.iter().filter(|ap| ap.stable).map(|ap| run(ap, FULL)).collect(),
    read: |runs| {
        let stable: Vec<&AccessPoint> = ALL.iter().filter(|ap| ap.stable).collect();
        let curves: Vec<_> = stable.iter().map(|ap| (ap.name, search(runs, ap))).collect();
        let every = |holds: fn(&[LoadPoint]) -> bool| curves.iter().all(|(_, loads)| holds(loads));
        let most: Vec<f64> = curves
            .iter()
            .map(|(_, loads)| loads.iter().map(|load| mbps(load.received_pps)).fold(0.0, f64::max))
            .collect();
        let linksys = curves.iter().find(|(name, _)| *name == "Linksys");
        let linksys_ms = linksys.and_then(|(_, loads)| loads.last()).map_or(f64::NAN, delay_ms);
        let follows = |loads: &[LoadPoint]| {
            let [below, above] = sides(loads);
            let most = loads.iter().map(|load| load.received_pps).fold(0.0, f64::max);
            below.iter().all(|load| (load.received_pps / load.offered_pps - 1.0).abs() < 0.02)
                && above.iter().all(|load| load.received_pps > 0.97 * most)
                && above.len() >= 3
        };
        let loses = |loads: &[LoadPoint]| {
            let [below, above] = sides(loads);
            below.iter().all(|load| load.loss < 0.01)
                && above.windows(2).all(|pair| pair[0].loss < pair[1].loss)
                && above.iter().all(|load| load.loss > 0.0)
        };
        let waits = |loads: &[LoadPoint]| {
            let [below, above] = sides(loads);
            let longest = loads.iter().map(delay_ms).fold(0.0, f64::max);
            below.iter().all(|load| delay_ms(load) < 0.05 * longest)
                && above.iter().all(|load| delay_ms(load) > 0.9 * longest)
        };
        let panel = |label: &str, read: fn(&LoadPoint) -> f64| {
            let panel = Panel::new("", Axis::new("offered load, Mb/s"), Axis::new(label));
            curves.iter().fold(panel, |panel, (name, loads)| {
                panel.with(Series::dotted_line(*name, curve(loads, read)))
            })
        };
        Findings {
            quantities: vec![
                Quantity::shown(
                    "throughput follows the load, and levels off",
                    "at all five",
                    every(follows),
                ),
                Quantity::shown(
                    "loss is negligible, and then grows with the load",
                    "at all five",
                    every(loses),
                ),
                Quantity::shown(
                    "delay is negligible, and then at its greatest",
                    "at all five",
                    every(waits),
                ),
                Quantity::value(
                    "greatest throughput of the fastest, of that of the slowest",
                    "",
                    Statement::Text("it varies"),
                    greatest(&most) / least(&most),
                    (1.1, 2.0),
                ),
                Quantity::value(
                    "Linksys: delay with a full queue",
                    "ms",
                    Statement::Value(200.0),
                    linksys_ms,
                    (180.0, 220.0),
                ),
            ],
            panels: vec![
                panel("throughput, Mb/s", |load| mbps(load.received_pps)),
                panel("loss, %", |load| 100.0 * load.loss),
                panel("queueing delay, ms", delay_ms),
            ],
        }
    },
};

/// The estimates by equation 1 for each access point, in packets.
fn capacities(runs: &Runs<'_>, packet_bytes: u16) -> Vec<f64> {
    ALL.iter().map(|ap| equation_1(runs.get(&name(ap, packet_bytes))).0).collect()
}

fn bars(values: &[f64]) -> Vec<Point> {
    values.iter().enumerate().map(|(x, &value)| (x as f64, value)).collect()
}

pub const FIG11: Figure = Figure {
    id: "fig11",
    title: "Queues of seven access points",
    shows: "Packets of 750 and of 1500 bytes fill the same queue.",
    runs,
    read: |runs| {
        let both = LENGTHS.map(|length| capacities(runs, length));
        let apart =
            both[0].iter().zip(&both[1]).map(|(full, half)| 100.0 * (half / full - 1.0).abs());
        let apart: Vec<f64> = apart.collect();
        let rank = |index: usize| {
            let ours = both[0][index];
            both[0].iter().filter(|&&other| other > ours).count()
        };
        let index = |wanted: &str| ALL.iter().position(|ap| ap.name == wanted);
        let is_rank = |name, wanted| index(name).is_some_and(|index| rank(index) == wanted);
        let ends = is_rank("Netgear", 0) && is_rank("Netgear (home)", ALL.len() - 1);
        let x = Axis::new("access point").names(ALL.iter().map(|ap| ap.name));
        let mut panel = Panel::new("", x, Axis::new("queue, packets"));
        for (length, values) in LENGTHS.iter().zip(&both) {
            panel = panel.with(Series::bars(format!("{length} bytes"), bars(values)));
        }
        Findings {
            quantities: vec![
                Quantity::value(
                    "greatest difference of the two lengths",
                    "%",
                    Statement::Text("nearly equal, where bytes would make it 100"),
                    greatest(&apart),
                    (0.0, 10.0),
                ),
                Quantity::shown("longest and shortest queue", "both are Netgear's", ends),
                Quantity::value(
                    "access points at which fewer are found with 750 bytes",
                    "of 7",
                    Statement::Text("in general, slightly"),
                    both[0].iter().zip(&both[1]).filter(|(full, half)| half < full).count() as f64,
                    (4.0, 7.0),
                )
                .because(
                    "The paper names the work of its access points per packet. With 600 us each, \
                     or with 40 us, fading and a neighbour, the Cisco has 65.7 and 65.8 packets \
                     of 750 bytes, and 65.6 and 65.7 of 1500; the D-Link 237.9 and 237.7. A queue \
                     that stays full has the same packets however slowly it is served.",
                ),
                Quantity::value(
                    "commercial D-Link: delay with a full queue",
                    "ms",
                    Statement::Text("almost 500"),
                    first_session(runs.get(&name(&D_LINK_COMMERCIAL, FULL)))
                        .map_or(f64::NAN, |session| session.queueing_delay_ns / 1e6),
                    (450.0, 500.0),
                )
                .because(
                    "245 packets in 500 ms are 5.9 Mb/s; the paper's throughput varied by half in \
                     these sessions, and ours is that of a calm link.",
                ),
            ],
            panels: vec![panel],
        }
    },
};

pub const TABLE2: Figure = Figure {
    id: "table2",
    title: "Queues of seven access points, in numbers",
    shows: "Values are means of equation 1 over 30 sessions for each length, with the paper's in \
            brackets.",
    runs,
    read: |runs| {
        let mut quantities = Vec::new();
        let mut widest = Vec::new();
        for ap in &ALL {
            for (length, paper) in LENGTHS.into_iter().zip(ap.packets) {
                let (ours, half) = equation_1(runs.get(&name(ap, length)));
                widest.push(half);
                let band = (0.97 * paper, 1.03 * paper);
                let of = name(ap, length);
                let quantity = Quantity::value(of, "packets", Statement::Value(paper), ours, band);
                quantities.push(match ap.because {
                    Some(why) => quantity.because(why),
                    None => quantity,
                });
            }
        }
        quantities.push(
            Quantity::value(
                "widest 95 % interval, half of it",
                "packets",
                Statement::Value(5.7),
                greatest(&widest),
                stated(5.7),
            )
            .because(
                "Ours vary by backoff and a few errors only. With fading (k of 6 dB), a neighbour \
                 for a tenth of the time and 40 us a packet it is 0.013 (Cisco) and 0.076 \
                 (D-Link), and the Cisco's 7.1 Mb/s miss figure 6. By calculation, a receiver's \
                 clock with Windows' ticks of 15.6 ms makes 0.1 to 0.35, and half of the paper's \
                 are 1.0 or less. The D-Link, with \
                 5.7, varied by half: another sender, on and off for 10 s in the mean, makes 221 \
                 ± 51 packets in eight sessions of 750 bytes.",
            ),
        );
        let x = || Axis::new("access point").names(ALL.iter().map(|ap| ap.name));
        let panel = |(length, column): (u16, usize)| {
            let ours = capacities(runs, length);
            let paper: Vec<f64> = ALL.iter().map(|ap| ap.packets[column]).collect();
            Panel::new(format!("{length} bytes"), x(), Axis::new("queue, packets"))
                .with(Series::bars("paper", bars(&paper)))
                .with(Series::bars("ours", bars(&ours)))
        };
        Findings { quantities, panels: vec![panel((FULL, 0)), panel((HALF, 1))] }
    },
};
