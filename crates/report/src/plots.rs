//! Panels of a run: throughput, delay, queues and the rest over time, from its series, and
//! where the delay of each flow went, from its document. Of many flows, nodes or links
//! those with most are shown; of many readings, means of neighbours.

use lasthop_evidence::plot::{Axis, Panel, Point, Series};
use lasthop_trace::{DelayPartsSummary, RunDocument, SeriesOf, SeriesReading};
use std::collections::BTreeMap;

/// Most series in a panel: as many as there are colours.
const SERIES_MAX: usize = 6;
/// Most points of a series.
const POINTS_MAX: usize = 300;
/// Most flows whose delay is shown in parts.
const FLOWS_MAX: usize = 12;

/// A figure: a title, what it shows, and its panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its title.
    pub title: &'static str,
    /// What it shows, in a sentence or two.
    pub shows: String,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// A quantity over time.
struct Quantity {
    title: &'static str,
    shows: &'static str,
    label: &'static str,
    /// The name of what the reading is about, and the value, if it has the quantity.
    read: fn(&SeriesReading) -> Option<(&str, f64)>,
}

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
        title: "One-way delay",
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
        title: "Airtime",
        shows: "Share of each interval in which nodes transmit.",
        label: "airtime, %",
        read: |it| Some((node(it)?, 100.0 * it.airtime_fraction?)),
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
pub fn over_time(series: &[SeriesReading]) -> Vec<Figure> {
    QUANTITIES.iter().filter_map(|quantity| quantity.figure(series)).collect()
}

impl Quantity {
    fn figure(&self, series: &[SeriesReading]) -> Option<Figure> {
        let mut lines: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
        for reading in series {
            if let Some((name, value)) = (self.read)(reading) {
                lines.entry(name).or_default().push((reading.at_s, value));
            }
        }
        lines.retain(|_, points| points.iter().any(|(_, value)| *value > 0.0));
        let all = lines.len();
        let sum = |points: &[Point]| points.iter().map(|(_, value)| value).sum::<f64>();
        let mut lines: Vec<(&str, Vec<Point>)> = lines.into_iter().collect();
        lines.sort_by(|(_, a), (_, b)| sum(b).total_cmp(&sum(a)));
        lines.truncate(SERIES_MAX);
        if lines.is_empty() {
            return None;
        }
        let panel = Panel::new("", Axis::new("time, s"), Axis::new(self.label));
        let panel = lines
            .into_iter()
            .fold(panel, |panel, (name, points)| panel.with(Series::line(name, thinned(&points))));
        let left_out = match all.saturating_sub(SERIES_MAX) {
            0 => String::new(),
            _ => format!(" The {SERIES_MAX} of {all} with most are shown."),
        };
        let shows = format!("{}{left_out}", self.shows);
        Some(Figure { title: self.title, shows, panels: vec![panel] })
    }
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
type Part = fn(&DelayPartsSummary) -> f64;

/// The causes of delay that are told apart by colour, in the order in which they are
/// stacked.
const CAUSES: [(&str, Part); 6] = [
    ("queue", |parts| parts.queue),
    ("away, asleep", |parts| parts.away + parts.asleep),
    ("contention", |parts| parts.contention),
    ("retries, reorder", |parts| parts.retries + parts.reorder),
    ("air, other", |parts| parts.air + parts.other.unwrap_or(0.0)),
    ("wire", |parts| parts.wire),
];

/// Where the one-way delay of each flow went, on average and of the slowest 1 %; `None`
/// if nothing arrived.
pub fn causes(run: &RunDocument) -> Option<Figure> {
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
    flows.sort_by_key(|(_, packets, ..)| std::cmp::Reverse(*packets));
    flows.truncate(FLOWS_MAX);
    if flows.is_empty() {
        return None;
    }
    let names: Vec<&str> = flows.iter().map(|(name, ..)| name.as_str()).collect();
    let mean: Vec<_> = flows.iter().map(|(_, _, mean, _)| *mean).collect();
    let slowest: Vec<_> = flows.iter().map(|(.., slowest)| *slowest).collect();
    let left_out = match all.saturating_sub(FLOWS_MAX) {
        0 => String::new(),
        _ => format!(" The {FLOWS_MAX} of {all} flows with most packets are shown."),
    };
    Some(Figure {
        title: "Where the delay went",
        shows: format!(
            "The parts of the one-way delay of a packet, one behind the other; they add up to it. \
             Away and asleep is the wait for stations that scan or doze.{left_out}"
        ),
        panels: vec![
            stacked("Mean of all packets", &names, &mean),
            stacked("Mean of the slowest 1 %", &names, &slowest),
        ],
    })
}

fn stacked(title: &str, names: &[&str], flows: &[DelayPartsSummary]) -> Panel {
    let names = names.iter().copied();
    let panel = Panel::new(title, Axis::new("one-way delay, ms"), Axis::new("").names(names));
    let mut ends = vec![0.0; flows.len()];
    let mut bars = Vec::new();
    for (cause, part) in CAUSES {
        let mut intervals = Vec::new();
        for (row, (parts, end)) in flows.iter().zip(&mut ends).enumerate() {
            let from = *end;
            *end += part(parts);
            intervals.push((from, *end, row as f64));
        }
        bars.push(Series::intervals(cause, intervals));
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
        let figures = over_time(&series);
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
            asleep: 2.0,
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
}
