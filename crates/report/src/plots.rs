//! Panels of a run. The series give throughput, delay, queues and more over time, the document
//! gives the parts of each flow's delay, the events give the distribution of delays. With many
//! flows, nodes or links those of programs come first, then the largest. Long series are shown as
//! means of adjacent readings.

use lasthop_figures::plot::{Axis, Look, Panel, Point, Series};
use lasthop_trace::{DelayPartsSummary, Delays, Histogram, RunDocument, SeriesOf, SeriesReading};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of series in a panel: as many as there are colours.
const SERIES_MAX: usize = 6;
/// Largest number of points of a series.
const POINTS_MAX: usize = 300;
/// Largest number of flows whose delay is shown in parts.
const FLOWS_MAX: usize = 12;
/// Largest number of points of a distribution, and of an area.
const QUANTILES_MAX: usize = 100;
const AREA_POINTS_MAX: usize = 120;
/// Largest number of flows whose delay is shown in parts over time.
const STACKS_MAX: usize = 4;
/// Largest number of panels of a quantity where several series are next to each other.
const PANELS_MAX: usize = 4;
/// The name of the time without transmissions.
const IDLE: &str = "idle";

/// A figure: a title, a description, and panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title of the figure.
    pub title: &'static str,
    /// Description in one or two sentences.
    pub shows: String,
    /// Panels of the figure, from top to bottom.
    pub panels: Vec<Panel>,
}

/// The reader's own flows and nodes in an emulation: flows of programs, and the nodes where they
/// begin and end. A simulation has none.
#[derive(Clone, Debug, Default)]
pub struct Own<'a> {
    names: BTreeSet<&'a str>,
}

impl<'a> Own<'a> {
    /// Returns the reader's own flows and nodes of a run.
    pub fn new(run: &'a RunDocument) -> Self {
        let programs = run.programs.iter().flat_map(|(name, program)| {
            let ends = [program.sender.as_deref(), program.receiver.as_deref()];
            [Some(name.as_str())].into_iter().chain(ends).flatten()
        });
        Self { names: programs.collect() }
    }

    /// Whether a flow, a node, or an end of a link is the reader's own.
    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || name.split("->").any(|end| self.names.contains(end.trim()))
    }

    /// The rule of the choice, behind "The 6 of 9".
    fn rule(&self, most: &str) -> String {
        if self.names.is_empty() {
            format!("with {most} are shown")
        } else {
            format!("are shown that programs have to do with, then those with {most}")
        }
    }
}

/// A quantity over time.
struct Quantity {
    title: &'static str,
    shows: &'static str,
    label: &'static str,
    /// Name of the flow, node or link of a reading, and its value; `None` without the quantity.
    read: fn(&SeriesReading) -> Option<(&str, f64)>,
}

/// The title of the delays, behind which their causes stand.
const DELAY: &str = "One-way delay";

/// Number of quantities before the air.
const AIR_BEHIND: usize = 5;

/// The quantities, in the order of the page.
const QUANTITIES: [Quantity; 8] = [
    Quantity {
        title: "Throughput",
        shows: "Payload that arrived.",
        label: "throughput, Mb/s",
        read: |it| Some((flow(it)?, it.throughput_mbps?)),
    },
    Quantity {
        title: "Round-trip time",
        shows: "Means of each interval: of echo requests, and of segments that TCP senders saw \
                acknowledged.",
        label: "round-trip time, ms",
        read: |it| Some((flow(it)?, it.rtt_ms?)),
    },
    Quantity {
        title: DELAY,
        shows: "From entering the network to leaving it: means of the packets that arrived in \
                each interval.",
        label: "one-way delay, ms",
        read: |it| Some((flow(it)?, it.one_way_delay_ms?)),
    },
    Quantity {
        title: "Queues",
        shows: "Packets in the Wi-Fi queues of nodes at the end of each interval.",
        label: "queue, packets",
        read: |it| Some((node(it)?, it.queue_packets?)),
    },
    Quantity {
        title: "Congestion windows",
        shows: "Of TCP senders, at the end of each interval.",
        label: "window, segments",
        read: |it| Some((flow(it)?, it.cwnd_packets?)),
    },
    Quantity {
        title: "Aggregates",
        shows: "Mean number of MPDUs in the data PPDUs of each interval.",
        label: "MPDUs in a PPDU",
        read: |it| Some((link(it)?, it.mpdus_per_ppdu?)),
    },
    Quantity {
        title: "PHY rates",
        shows: "Of the last data PPDU in each interval.",
        label: "PHY rate, Mb/s",
        read: |it| Some((link(it)?, it.data_rate_mbps?)),
    },
    Quantity {
        title: "MPDUs that fail",
        shows: "Share of the MPDUs that their receivers do not decode.",
        label: "MPDUs, %",
        read: |it| Some((link(it)?, 100.0 * it.mpdu_error_rate?)),
    },
];

/// The figures of a run's series; one without readings is left out.
pub fn over_time(series: &[SeriesReading], own: &Own<'_>) -> Vec<Figure> {
    let (before, after) = QUANTITIES.split_at(AIR_BEHIND);
    let mut before: Vec<Figure> =
        before.iter().filter_map(|quantity| quantity.figure(series, own)).collect();
    if let Some(figure) = causes_over_time(series, own) {
        let delay = before.iter().position(|figure| figure.title == DELAY);
        before.insert(delay.map_or(before.len(), |at| at + 1), figure);
    }
    let after = after.iter().filter_map(|quantity| quantity.figure(series, own));
    before.into_iter().chain(air(series)).chain(after).collect()
}

/// Returns the parts of each flow's delay over time, stacked up to the whole delay; `None` if the
/// series do not have them.
fn causes_over_time(series: &[SeriesReading], own: &Own<'_>) -> Option<Figure> {
    let mut flows: BTreeMap<&str, Vec<(f64, [f64; CAUSES.len()])>> = BTreeMap::new();
    for reading in series {
        if let (Some(name), Some(parts)) = (flow(reading), &reading.parts_ms) {
            let causes = CAUSES.map(|(_, part)| part(parts));
            flows.entry(name).or_default().push((reading.at_s, causes));
        }
    }
    let is_roam = series.iter().filter_map(|it| it.parts_ms).any(|parts| parts.roam > 0.0);
    let mut flows: Vec<_> = flows.into_iter().collect();
    let all = flows.len();
    let total = |readings: &[(f64, [f64; CAUSES.len()])]| {
        readings.iter().flat_map(|(_, causes)| causes).sum::<f64>()
    };
    flows.sort_by(|(a_name, a), (b_name, b)| {
        own.has(b_name).cmp(&own.has(a_name)).then(total(b).total_cmp(&total(a)))
    });
    flows.truncate(STACKS_MAX);
    let panel = |(name, readings): (&str, Vec<(f64, [f64; CAUSES.len()])>)| {
        let each = readings.len().div_ceil(AREA_POINTS_MAX).max(1);
        let mut areas = vec![Vec::new(); CAUSES.len()];
        for readings in readings.chunks(each) {
            let number = readings.len() as f64;
            let at = readings.iter().map(|(at, _)| at).sum::<f64>() / number;
            let mut from = 0.0;
            for (cause, area) in areas.iter_mut().enumerate() {
                let to = from + readings.iter().map(|(_, it)| it[cause]).sum::<f64>() / number;
                area.push((at, from, to));
                from = to;
            }
        }
        let title = if all > 1 { name } else { "" };
        let panel = Panel::new(title, Axis::new("time, s"), Axis::new("one-way delay, ms"));
        let areas = CAUSES.iter().zip(areas);
        areas.fold(panel, |panel, ((cause, _), area)| {
            panel.with(Series::band(named(cause, is_roam), area))
        })
    };
    let left_out = match all.saturating_sub(STACKS_MAX) {
        0 => String::new(),
        _ => format!(" The {STACKS_MAX} of {all} flows {}.", own.rule("most delay")),
    };
    (!flows.is_empty()).then(|| Figure {
        title: "Where the delay went over time",
        shows: format!(
            "Means of the packets that arrived in each interval after the warm-up, their parts \
             from below in the order of the legend.{left_out}"
        ),
        panels: flows.into_iter().map(panel).collect(),
    })
}

/// Returns the shares of each interval in which nodes transmit, stacked up to the whole; `None`
/// without transmissions.
pub fn air(series: &[SeriesReading]) -> Option<Figure> {
    let mut nodes: BTreeMap<&str, f64> = BTreeMap::new();
    let mut times: BTreeSet<u64> = BTreeSet::new();
    for reading in series {
        let (Some(name), Some(share)) = (node(reading), reading.airtime_fraction) else { continue };
        *nodes.entry(name).or_default() += share;
        times.insert(reading.at_s.to_bits());
    }
    nodes.retain(|_, sum| *sum > 0.0);
    if nodes.is_empty() {
        return None;
    }
    let mut order: Vec<(&str, f64)> = nodes.into_iter().collect();
    order.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    // The last colours are for the other nodes together and for nobody.
    let all = order.len();
    let shown = if all > SERIES_MAX - 1 { SERIES_MAX - 2 } else { all };
    let own: BTreeMap<&str, usize> =
        order.iter().take(shown).enumerate().map(|(row, (name, _))| (*name, row)).collect();
    let rows = shown + usize::from(shown < all);
    // Times are positive, so that their bits are in their order.
    let times: Vec<f64> = times.into_iter().map(f64::from_bits).collect();
    let each = times.len().div_ceil(AREA_POINTS_MAX).max(1);
    let cells = times.len().div_ceil(each);
    let mut shares = vec![vec![0.0; rows]; cells];
    for reading in series {
        let (Some(name), Some(share)) = (node(reading), reading.airtime_fraction) else { continue };
        let at = times.partition_point(|time| *time < reading.at_s);
        let row = own.get(name).copied().unwrap_or(shown);
        if let Some(cell) = shares[at / each].get_mut(row) {
            *cell += 100.0 * share;
        }
    }
    let others = format!("{} others", all - shown);
    let names = order.iter().take(shown).map(|(name, _)| (*name).to_owned());
    let names = names.chain((shown < all).then_some(others)).chain([IDLE.to_owned()]);
    let mut areas: Vec<Vec<(f64, f64, f64)>> = vec![Vec::new(); rows + 1];
    for (times, shares) in times.chunks(each).zip(&shares) {
        let number = times.len() as f64;
        let at = times.iter().sum::<f64>() / number;
        let mut from = 0.0;
        for (area, share) in areas.iter_mut().zip(shares) {
            let to = from + share / number;
            area.push((at, from, to));
            from = to;
        }
        areas[rows].push((at, from, from.max(100.0)));
    }
    let panel =
        Panel::new("", Axis::new("time, s"), Axis::new("share of time, %").range(0.0, 100.0));
    let known: BTreeSet<&str> = series.iter().filter_map(node).collect();
    let panel = names.zip(areas).fold(panel, |panel, (name, area)| {
        let look = if name == IDLE { Look::Muted } else { look(&name, &known) };
        panel.with(Series::band(name, area).looking(look))
    });
    Some(Figure {
        title: "Who held the air",
        shows: "Share of each interval in which nodes transmit, from below in the order of the \
                legend. Idle is when nobody does: backoff and the spaces between frames, too. \
                Above 100 % transmissions overlap."
            .to_owned(),
        panels: vec![panel],
    })
}

/// Returns the distributions of delays: a panel of one-way delays and one of round-trip times.
/// `None` without delays.
pub fn distributions(delays: &Delays, own: &Own<'_>) -> Option<Figure> {
    let sampled = match delays.every {
        0 | 1 => String::new(),
        every => format!(" Of this long run one in {every} parts of 65 536 events was read."),
    };
    let names = delays.one_way.keys().chain(delays.round_trips.keys());
    let known: BTreeSet<&str> = names.map(String::as_str).collect();
    let panels: Vec<Panel> =
        [("One-way delay", &delays.one_way), ("Round-trip time", &delays.round_trips)]
            .into_iter()
            .filter_map(|(title, of)| distribution(title, of, &known, own))
            .collect();
    (!panels.is_empty()).then(|| Figure {
        title: "How delays are distributed",
        shows: format!(
            "The share of packets, and of round trips, that took so long or less, after the \
             warm-up. The slowest 1 % are at the top; the axis ends where 99.9 % are reached. Of \
             many flows the {SERIES_MAX} {}.{sampled}",
            own.rule("most packets")
        ),
        panels,
    })
}

/// Returns the look of a flow, node or link among the known names. The look is the same in all
/// figures if there are no more names than looks.
fn look(name: &str, known: &BTreeSet<&str>) -> Look {
    match known.iter().position(|other| *other == name) {
        Some(place) if known.len() <= SERIES_MAX => Look::Of(place),
        _ => Look::Place,
    }
}

fn distribution(
    title: &str,
    of: &BTreeMap<String, Histogram>,
    known: &BTreeSet<&str>,
    own: &Own<'_>,
) -> Option<Panel> {
    let mut flows: Vec<(&String, &Histogram)> =
        of.iter().filter(|(_, it)| it.count() > 0).collect();
    flows.sort_by_key(|(name, histogram)| std::cmp::Reverse((own.has(name), histogram.count())));
    flows.truncate(SERIES_MAX);
    if flows.is_empty() {
        return None;
    }
    let label = format!("{}, ms", title.to_lowercase());
    let panel = Panel::new(title, Axis::new(label), Axis::new("share, %").range(0.0, 100.0));
    let curve = |histogram: &Histogram| -> Vec<Point> {
        let steps = histogram.count().min(QUANTILES_MAX as u64);
        let shares = (1..=steps).map(|step| step as f64 / steps as f64);
        // The slowest have points of their own, but for the very last ones.
        let shares = shares.filter(|share| *share < 0.99).chain([0.99, 0.995, 0.999]);
        let at = |share| Some((histogram.quantile(share)? as f64 / 1e6, 100.0 * share));
        let least = histogram.quantile(0.0).map(|nanos| (nanos as f64 / 1e6, 0.0));
        least.into_iter().chain(shares.filter_map(at)).collect()
    };
    let panel = flows.into_iter().fold(panel, |panel, (name, histogram)| {
        panel.with(Series::line(name, curve(histogram)).looking(look(name, known)))
    });
    Some(panel)
}

/// The figures of several series beside each other, each named: a panel for each flow, node or
/// link, with a line for each series. The air, which is stacked, has a panel for each series.
pub fn beside(all: &[(&str, &[SeriesReading])]) -> Vec<Figure> {
    let (before, after) = QUANTITIES.split_at(AIR_BEHIND);
    let air = || {
        let mut figures: Vec<Figure> = Vec::new();
        for (name, series) in all {
            let Some(mut figure) = air(series) else { continue };
            figure.panels[0].title = (*name).to_owned();
            match figures.first_mut() {
                Some(first) => first.panels.append(&mut figure.panels),
                None => figures.push(figure),
            }
        }
        figures
    };
    let of = |quantities: &[Quantity]| -> Vec<Figure> {
        quantities.iter().filter_map(|quantity| quantity.beside(all)).collect()
    };
    [of(before), air(), of(after)].concat()
}

impl Quantity {
    fn figure(&self, series: &[SeriesReading], own: &Own<'_>) -> Option<Figure> {
        let mut lines: Vec<(&str, Vec<Point>)> = self.lines(series).into_iter().collect();
        let all = lines.len();
        lines.sort_by(|(a_name, a), (b_name, b)| {
            own.has(b_name).cmp(&own.has(a_name)).then(sum(b).total_cmp(&sum(a)))
        });
        lines.truncate(SERIES_MAX);
        if lines.is_empty() {
            return None;
        }
        let known: BTreeSet<&str> = [flow, node, link]
            .iter()
            .find(|of| series.iter().any(|it| of(it).is_some() && (self.read)(it).is_some()))
            .map(|of| series.iter().filter_map(of).collect())
            .unwrap_or_default();
        let panel = lines.into_iter().fold(self.panel(""), |panel, (name, points)| {
            panel.with(Series::line(name, thinned(&points)).looking(look(name, &known)))
        });
        let left_out = match all.saturating_sub(SERIES_MAX) {
            0 => String::new(),
            _ => format!(" The {SERIES_MAX} of {all} {}.", own.rule("most")),
        };
        let shows = format!("{}{left_out}", self.shows);
        Some(Figure { title: self.title, shows, panels: vec![panel] })
    }

    fn beside(&self, all: &[(&str, &[SeriesReading])]) -> Option<Figure> {
        let lines: Vec<(&str, BTreeMap<&str, Vec<Point>>)> =
            all.iter().map(|(name, series)| (*name, self.lines(series))).collect();
        let mut most: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, points) in lines.iter().flat_map(|(_, lines)| lines) {
            *most.entry(name).or_default() += sum(points);
        }
        let mut names: Vec<(&str, f64)> = most.into_iter().collect();
        names.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let panels: Vec<Panel> = names
            .iter()
            .take(PANELS_MAX)
            .map(|(name, _)| {
                let title = if names.len() > 1 { name } else { "" };
                let lines = lines.iter().take(SERIES_MAX);
                let lines = lines.filter_map(|(of, lines)| Some((*of, lines.get(name)?)));
                lines.fold(self.panel(title), |panel, (of, points)| {
                    panel.with(Series::line(of, thinned(points)))
                })
            })
            .collect();
        let left_out = match names.len().saturating_sub(PANELS_MAX) {
            0 => String::new(),
            _ => format!(" The {PANELS_MAX} of {} with most are shown.", names.len()),
        };
        let shows = format!("{}{left_out}", self.shows);
        (!panels.is_empty()).then_some(Figure { title: self.title, shows, panels })
    }

    fn panel(&self, title: &str) -> Panel {
        Panel::new(title, Axis::new("time, s"), Axis::new(self.label))
    }

    /// The points of each flow, node or link that has any above zero.
    fn lines<'a>(&self, series: &'a [SeriesReading]) -> BTreeMap<&'a str, Vec<Point>> {
        let mut lines: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
        for reading in series {
            if let Some((name, value)) = (self.read)(reading) {
                lines.entry(name).or_default().push((reading.at_s, value));
            }
        }
        lines.retain(|_, points| points.iter().any(|(_, value)| *value > 0.0));
        lines
    }
}

fn sum(points: &[Point]) -> f64 {
    points.iter().map(|(_, value)| value).sum()
}

/// The means of several runs' readings, at each time. A node without a reading did not transmit in
/// that interval, which counts as zero. For other quantities, only runs with a reading count.
pub fn mean_series(runs: &[Vec<SeriesReading>]) -> Vec<SeriesReading> {
    type Sums = [(f64, u32); QUANTITIES_READ];
    let mut all: BTreeMap<(&SeriesOf, u64), Sums> = BTreeMap::new();
    for reading in runs.iter().flatten() {
        let sums = all.entry((&reading.of, reading.at_s.to_bits())).or_default();
        for ((sum, number), value) in sums.iter_mut().zip(values(reading)) {
            if let Some(value) = value {
                *sum += value;
                *number += 1;
            }
        }
    }
    let mean = |((of, at), sums): ((&SeriesOf, u64), Sums)| {
        let mean = |(sum, number): (f64, u32)| (number > 0).then(|| sum / f64::from(number));
        let means = sums.map(mean);
        let [throughput, delay, rtt, cwnd, queue, airtime, mpdus, errors, rate, ..] = means;
        let parts = |index: usize| means[QUANTITIES_PLAIN + index];
        let share = f64::from(sums[AIRTIME].1) / runs.len() as f64;
        SeriesReading {
            at_s: f64::from_bits(at),
            of: of.clone(),
            throughput_mbps: throughput,
            one_way_delay_ms: delay,
            parts_ms: parts(0).map(|queue| DelayPartsSummary {
                queue,
                away: parts(1).unwrap_or(0.0),
                asleep: parts(2).unwrap_or(0.0),
                roam: parts(9).unwrap_or(0.0),
                contention: parts(3).unwrap_or(0.0),
                retries: parts(4).unwrap_or(0.0),
                reorder: parts(5).unwrap_or(0.0),
                air: parts(6).unwrap_or(0.0),
                wire: parts(7).unwrap_or(0.0),
                other: parts(8).filter(|other| *other > 0.0),
            }),
            rtt_ms: rtt,
            cwnd_packets: cwnd,
            queue_packets: queue,
            airtime_fraction: airtime.map(|mean| mean * share),
            mpdus_per_ppdu: mpdus,
            mpdu_error_rate: errors,
            data_rate_mbps: rate,
        }
    };
    all.into_iter().map(mean).collect()
}

/// Number of quantities of a reading before the parts of the delay, and the index of the airtime.
const QUANTITIES_READ: usize = QUANTITIES_PLAIN + 10;
const QUANTITIES_PLAIN: usize = 9;
const AIRTIME: usize = 5;

fn values(reading: &SeriesReading) -> [Option<f64>; QUANTITIES_READ] {
    let part = |part: DelayPart| reading.parts_ms.as_ref().map(part);
    [
        reading.throughput_mbps,
        reading.one_way_delay_ms,
        reading.rtt_ms,
        reading.cwnd_packets,
        reading.queue_packets,
        reading.airtime_fraction,
        reading.mpdus_per_ppdu,
        reading.mpdu_error_rate,
        reading.data_rate_mbps,
        part(|it| it.queue),
        part(|it| it.away),
        part(|it| it.asleep),
        part(|it| it.contention),
        part(|it| it.retries),
        part(|it| it.reorder),
        part(|it| it.air),
        part(|it| it.wire),
        part(|it| it.other.unwrap_or(0.0)),
        part(|it| it.roam),
    ]
}

/// Means of neighbours, so that there are [`POINTS_MAX`] points at most.
fn thinned(points: &[Point]) -> Vec<Point> {
    let each = points.len().div_ceil(POINTS_MAX).max(1);
    let mean = |points: &[Point]| {
        let number = points.len() as f64;
        let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        (x / number, y / number)
    };
    points.chunks(each).map(mean).collect()
}

fn flow(reading: &SeriesReading) -> Option<&str> {
    match &reading.of {
        SeriesOf::Flow(name) => Some(name),
        _ => None,
    }
}

fn node(reading: &SeriesReading) -> Option<&str> {
    match &reading.of {
        SeriesOf::Node(name) => Some(name),
        _ => None,
    }
}

fn link(reading: &SeriesReading) -> Option<&str> {
    match &reading.of {
        SeriesOf::Link(name) => Some(name),
        _ => None,
    }
}

/// A part of a delay, or several together.
type DelayPart = fn(&DelayPartsSummary) -> f64;

/// The causes of delay with colours, in the order of stacking.
const CAUSES: [(&str, DelayPart); 6] = [
    ("queue", |parts| parts.queue),
    (ABSENT, |parts| parts.away + parts.asleep + parts.roam),
    ("contention", |parts| parts.contention),
    ("retries, reorder", |parts| parts.retries + parts.reorder),
    ("air, other", |parts| parts.air + parts.other.unwrap_or(0.0)),
    ("wire", |parts| parts.wire),
];

/// Name of the waits for absent stations where none roams.
const ABSENT: &str = "away, asleep";

/// The name of a cause: packets may also have waited for a station that roams.
fn named(cause: &'static str, is_roam: bool) -> &'static str {
    if cause == ABSENT && is_roam { "away, asleep, roam" } else { cause }
}

/// The parts of the delay of each flow as a table: heads and rows, the mean and the slowest 1 %
/// of each.
pub fn causes_table(run: &RunDocument) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let flows = delays(run).0;
    let is_roam = flows.iter().any(|(_, _, mean, _)| mean.roam > 0.0);
    let heads = CAUSES.map(|(name, _)| named(name, is_roam));
    let heads = ["Flow", "Packets"].into_iter().chain(heads);
    let mut rows = Vec::new();
    for (name, _, mean, slowest) in flows {
        for (of, parts) in [("all", mean), ("slowest 1 %", slowest)] {
            let cells = CAUSES.map(|(_, part)| format!("{:.2}", part(&parts)));
            rows.push([name.clone(), of.to_owned()].into_iter().chain(cells).collect());
        }
    }
    (heads.collect(), rows)
}

/// Returns the parts of each flow's one-way delay, on average and of the slowest 1 %; `None` if
/// nothing arrived.
pub fn causes(run: &RunDocument) -> Option<Figure> {
    let (flows, all) = delays(run);
    if flows.is_empty() {
        return None;
    }
    let names: Vec<&str> = flows.iter().map(|(name, ..)| name.as_str()).collect();
    let mean: Vec<_> = flows.iter().map(|(_, _, mean, _)| *mean).collect();
    let slowest: Vec<_> = flows.iter().map(|(.., slowest)| *slowest).collect();
    let left_out = match all.saturating_sub(FLOWS_MAX) {
        0 => String::new(),
        _ => format!(" The {FLOWS_MAX} of {all} flows {}.", Own::new(run).rule("most packets")),
    };
    let is_roam = mean.iter().any(|parts| parts.roam > 0.0);
    let roam = if is_roam { ", roam for those without an access point" } else { "" };
    Some(Figure {
        title: "Where the delay went",
        shows: format!(
            "The parts of the one-way delay of a packet, one behind the other; they add up to it. \
             Away and asleep is the wait for stations that scan or doze{roam}.{left_out}"
        ),
        panels: vec![
            stacked("Mean of all packets", &names, &mean),
            stacked("Mean of the slowest 1 %", &names, &slowest),
        ],
    })
}

/// Name, packets, mean parts and those of the slowest 1 %.
type FlowDelays<'a> = (&'a String, u64, DelayPartsSummary, DelayPartsSummary);

/// The flows with most packets and their delays, and how many there are in all.
fn delays(run: &RunDocument) -> (Vec<FlowDelays<'_>>, usize) {
    let own = Own::new(run);
    let flows = run.flows.iter().map(|(name, flow)| {
        (name, flow.packets_received, flow.delay_parts_ms, flow.delay_parts_slowest_ms)
    });
    let programs = run.programs.iter().map(|(name, flow)| {
        (name, flow.packets_received, flow.delay_parts_ms, flow.delay_parts_slowest_ms)
    });
    let mut flows: Vec<_> = flows
        .chain(programs)
        .filter_map(|(name, packets, mean, slowest)| Some((name, packets, mean?, slowest?)))
        .collect();
    let all = flows.len();
    flows.sort_by_key(|(name, packets, ..)| std::cmp::Reverse((own.has(name), *packets)));
    flows.truncate(FLOWS_MAX);
    (flows, all)
}

fn stacked(title: &str, names: &[&str], flows: &[DelayPartsSummary]) -> Panel {
    let names = names.iter().copied();
    let panel = Panel::new(title, Axis::new("one-way delay, ms"), Axis::new("").names(names));
    let mut ends = vec![0.0; flows.len()];
    let mut bars = Vec::new();
    let is_roam = flows.iter().any(|parts| parts.roam > 0.0);
    for (cause, part) in CAUSES {
        let mut intervals = Vec::new();
        for (row, (parts, end)) in flows.iter().zip(&mut ends).enumerate() {
            let from = *end;
            *end += part(parts);
            intervals.push((from, *end, row as f64));
        }
        bars.push(Series::intervals(named(cause, is_roam), intervals));
    }
    bars.into_iter().fold(panel, Panel::with)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_s: f64, name: &str, throughput_mbps: f64) -> SeriesReading {
        SeriesReading {
            at_s,
            of: SeriesOf::Flow(name.to_owned()),
            throughput_mbps: Some(throughput_mbps),
            one_way_delay_ms: None,
            parts_ms: None,
            rtt_ms: None,
            cwnd_packets: None,
            queue_packets: None,
            airtime_fraction: None,
            mpdus_per_ppdu: None,
            mpdu_error_rate: None,
            data_rate_mbps: None,
        }
    }

    #[test]
    fn of_many_readings_means_are_shown_and_of_many_flows_the_greatest() {
        let mut series = Vec::new();
        for flow in 0..8 {
            let name = format!("flow{flow}");
            series.extend((0..900).map(|at| reading(f64::from(at), &name, f64::from(flow))));
        }
        let figures = over_time(&series, &Own::default());
        let [figure] = &figures[..] else { panic!("throughput only: {figures:?}") };
        let lines = &figure.panels[0].series;
        assert_eq!((lines.len(), lines[0].name.as_str()), (SERIES_MAX, "flow7"));
        assert_eq!((lines[0].points.len(), lines[0].points[0]), (POINTS_MAX, (1.0, 7.0)));
        assert!(figure.shows.contains("The 6 of 7 with most"), "flow0 sends nothing");
    }

    #[test]
    fn causes_are_stacked_up_to_the_delay() {
        let parts = DelayPartsSummary {
            queue: 5.0,
            away: 1.0,
            asleep: 1.5,
            roam: 0.5,
            contention: 3.0,
            retries: 4.0,
            reorder: 0.0,
            air: 1.0,
            wire: 10.0,
            other: Some(0.5),
        };
        let panel = stacked("", &["flow"], &[parts]);
        let ends: Vec<_> = panel.series.iter().map(|it| (it.points[0].0, it.points[1].0)).collect();
        assert_eq!(
            ends,
            [(0.0, 5.0), (5.0, 8.0), (8.0, 11.0), (11.0, 15.0), (15.0, 16.5), (16.5, 26.5)]
        );
    }

    fn airtime(at_s: f64, name: &str, share: f64) -> SeriesReading {
        SeriesReading {
            of: SeriesOf::Node(name.to_owned()),
            throughput_mbps: None,
            airtime_fraction: Some(share),
            ..reading(at_s, "", 0.0)
        }
    }

    #[test]
    fn causes_over_time_are_stacked_up_to_the_delay() {
        let parts = DelayPartsSummary {
            queue: 5.0,
            away: 1.0,
            asleep: 1.5,
            roam: 0.5,
            contention: 3.0,
            retries: 4.0,
            reorder: 0.0,
            air: 1.0,
            wire: 10.0,
            other: Some(0.5),
        };
        let with = |at_s| SeriesReading {
            one_way_delay_ms: Some(26.5),
            parts_ms: Some(parts),
            ..reading(at_s, "up", 1.0)
        };
        let series = [reading(1.0, "up", 1.0), with(2.0), with(3.0)];
        let figures = over_time(&series, &Own::default());
        let titles: Vec<_> = figures.iter().map(|figure| figure.title).collect();
        assert_eq!(titles, ["Throughput", DELAY, "Where the delay went over time"]);
        let areas = &figures[2].panels[0].series;
        assert_eq!((areas.len(), areas[0].points[0]), (CAUSES.len(), (2.0, 0.0)));
        let top = areas.last().expect("wire").points.iter().map(|point| point.1);
        assert!(top.fold(0.0, f64::max) == 26.5, "{areas:?}");
        assert_eq!(mean_series(&[series.to_vec(), series.to_vec()]), series);
        assert!(causes_over_time(&series[..1], &Own::default()).is_none(), "older files have none");
    }

    #[test]
    fn the_air_is_whole() {
        let mut series = vec![airtime(1.0, "ap", 0.5), airtime(1.0, "sta", 0.2)];
        series.extend([airtime(2.0, "ap", 0.9), airtime(2.0, "sta", 0.3)]);
        series.push(airtime(1.0, "silent", 0.0));
        let figure = air(&series).expect("somebody transmits");
        let areas = &figure.panels[0].series;
        let names: Vec<_> = areas.iter().map(|area| area.name.as_str()).collect();
        assert_eq!(names, ["ap", "sta", IDLE]);
        let last: Vec<_> = areas.iter().map(|area| &area.points[..2]).collect();
        assert_eq!(
            last,
            [[(1.0, 0.0), (1.0, 50.0)], [(1.0, 50.0), (1.0, 70.0)], [(1.0, 70.0), (1.0, 100.0)]]
        );
        assert_eq!(areas[2].points[2..], [(2.0, 120.0), (2.0, 120.0)], "they overlap");
        let many: Vec<_> =
            (1..=9).map(|it| airtime(1.0, &format!("sta{it}"), 0.01 * f64::from(it))).collect();
        let figure = air(&many).expect("all transmit");
        let areas = &figure.panels[0].series;
        assert_eq!((areas.len(), areas[4].name.as_str()), (SERIES_MAX, "5 others"));
        assert!((areas[5].points[0].1 - 45.0).abs() < 1e-9, "1 + .. + 9 %");
        assert_eq!(air(&[airtime(1.0, "silent", 0.0)]), None);
    }

    #[test]
    fn distributions_end_where_nearly_all_are() {
        let mut histogram = Histogram::default();
        (1..=1_000).for_each(|ms| histogram.add(ms * 1_000_000));
        let mut delays = Delays::default();
        delays.one_way.insert("up".to_owned(), histogram);
        let figure = distributions(&delays, &Own::default()).expect("one flow");
        let [panel] = &figure.panels[..] else { panic!("no round trips: {figure:?}") };
        let points = &panel.series[0].points;
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{points:?}");
        let half = points.iter().find(|point| point.1 >= 50.0).expect("a median");
        assert!((half.0 - 500.0).abs() < 1.0, "{half:?}");
        assert_eq!(points.last().map(|point| point.1), Some(99.9));
        assert_eq!(distributions(&Delays::default(), &Own::default()), None);
    }

    #[test]
    fn means_of_runs_count_silence_on_the_air() {
        let runs =
            [vec![airtime(1.0, "ap", 0.4), reading(1.0, "up", 2.0)], vec![reading(1.0, "up", 4.0)]];
        let mean = mean_series(&runs);
        let air = mean.iter().find_map(|reading| reading.airtime_fraction);
        let up = mean.iter().find_map(|reading| reading.throughput_mbps);
        assert_eq!((mean.len(), air, up), (2, Some(0.2), Some(3.0)));
    }

    #[test]
    fn series_beside_each_other_have_a_panel_for_each_flow() {
        let [one, other] = [1.0, 2.0].map(|mbps| {
            vec![reading(1.0, "up", mbps), reading(1.0, "down", 3.0), airtime(1.0, "ap", 0.5)]
        });
        let figures = beside(&[("before", &one), ("after", &other)]);
        let titles: Vec<_> = figures.iter().map(|figure| figure.title).collect();
        assert_eq!(titles, ["Throughput", "Who held the air"]);
        let panels: Vec<_> = figures[0].panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(panels, ["down", "up"]);
        let names: Vec<_> = figures[0].panels[1].series.iter().map(|line| &line.name[..]).collect();
        assert_eq!(names, ["before", "after"]);
        assert_eq!(figures[1].panels.len(), 2, "the air is not mixed");
    }
}
