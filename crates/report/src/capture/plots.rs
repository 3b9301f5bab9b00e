//! Plots of a capture, as in the `scan` paper (Figs. 3, 5, 7 to 10): throughput and data in flight,
//! A-MPDUs and their sizes, retries and rates, all by second, and absences of stations. Draws the
//! links and flows with the most payload.

use super::{BySecond, SegmentSeconds, directions, link_name};
use lasthop_capture::air::Air;
use lasthop_capture::air::exchange::Link;
use lasthop_capture::air::schedule::{Cause, Schedule};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::series::Seconds;
use lasthop_capture::transport::Direction;
use lasthop_figures::plot::{Axis, Panel, Point, Series};
use std::cmp::Reverse;

/// Largest number of points in a series; longer series have means of several seconds.
const POINTS_MAX: usize = 1_200;
/// Number of flows and links drawn.
const FLOWS_MAX: usize = 3;
const LINKS_MAX: usize = 3;
/// Number of stations whose absences are drawn.
const STATIONS_MAX: usize = 12;

/// A figure with its title and panels.
pub struct CaptureFigure {
    /// Title of the figure.
    pub title: &'static str,
    /// Explanation of the figure.
    pub shows: &'static str,
    /// Panels, with points in each.
    pub panels: Vec<Panel>,
}

/// Returns the figures of a capture, without empty ones.
pub fn figures(analysis: &Analysis, by_second: &BySecond) -> Vec<CaptureFigure> {
    let air = &analysis.main.air;
    let mut links: Vec<&Link> = air.links.values().collect();
    links.sort_by_key(|link| (Reverse(link.counts.payload_bytes), link.from, link.to));
    links.truncate(LINKS_MAX);
    let figures = [
        CaptureFigure {
            title: "Throughput and data in flight",
            shows: "Payload of flows, each byte once, and the most bytes of TCP that were sent and \
                    not acknowledged, as the monitor sees it. Of encrypted networks: payload of \
                    links. Shaded: periods in which a station leaves its channel again and again.",
            panels: throughput(analysis, &links),
        },
        CaptureFigure {
            title: "Delay of segments by part",
            shows: "Of the captures together, the means of segments that were first seen in each \
                    second: until the first attempt on the air (the queue of the transmitter, and \
                    its wait for the channel), on the air, and behind it; and how many were lost.",
            panels: by_second
                .iter()
                .take(FLOWS_MAX)
                .map(|(name, seconds)| parts(name, seconds))
                .collect(),
        },
        CaptureFigure {
            title: "A-MPDUs",
            shows: "How many A-MPDUs a second, and how many MPDUs in each that were captured.",
            panels: links.iter().map(|link| aggregation(air, link)).collect(),
        },
        CaptureFigure {
            title: "Retries and rates",
            shows: "MPDUs with the Retry bit of all MPDUs, and the mean PHY rate.",
            panels: links.iter().map(|link| retries(air, link)).collect(),
        },
        CaptureFigure {
            title: "Away",
            shows: "When stations were away: from the first frame with the Power Management bit to \
                    the last that takes it back. Below, the period of scans with the most absences.",
            panels: away(air),
        },
        CaptureFigure {
            title: "Time on the air",
            shows: "Share of each second in which something that was captured was on the air.",
            panels: vec![
                Panel::new("", time(), Axis::new("time on the air, %").range(0.0, 100.0)).with(
                    Series::line(
                        "all frames",
                        points(&air.busy.seconds_ns, &|ns| Some(*ns as f64 / 1e7)),
                    ),
                ),
            ],
        },
    ];
    let shown = |mut figure: CaptureFigure| {
        figure.panels.retain(Panel::has_points);
        (!figure.panels.is_empty()).then_some(figure)
    };
    figures.into_iter().filter_map(shown).collect()
}

fn time() -> Axis {
    Axis::new("time, s")
}

fn throughput(analysis: &Analysis, links: &[&Link]) -> Vec<Panel> {
    let mut flows: Vec<(String, &Direction)> = analysis
        .main
        .flows
        .iter()
        .flat_map(|(key, flow)| directions(key, &flow.directions))
        .filter(|(_, direction)| direction.payload_bytes > 0)
        .collect();
    flows.sort_by(|(a, x), (b, y)| y.payload_bytes.cmp(&x.payload_bytes).then(a.cmp(b)));
    flows.truncate(FLOWS_MAX);
    let shaded = |panel: Panel| shade(&analysis.main.air, panel);
    let mbps = || Axis::new("throughput, Mb/s");
    if flows.is_empty() {
        let link = |panel: Panel, link: &&Link| {
            let bytes = points(&link.seconds, &|second| Some(second.payload_bytes as f64 * 8e-6));
            panel.with(Series::line(link_name(&analysis.main.air, link), bytes))
        };
        return vec![shaded(links.iter().fold(Panel::new("", time(), mbps()), link))];
    }
    let panel = |(name, direction): &(String, &Direction)| {
        let bytes = points(&direction.seconds, &|second| Some(second.payload_bytes as f64 * 8e-6));
        let panel =
            Panel::new(name.clone(), time(), mbps()).with(Series::line("throughput", bytes));
        if direction.tcp.is_none() {
            return shaded(panel);
        }
        let flight = points(&direction.seconds, &|second| {
            (second.flight_bytes_max > 0).then(|| f64::from(second.flight_bytes_max) / 1024.0)
        });
        let flight = Series::line("in flight", flight).on_right();
        shaded(panel.right(Axis::new("in flight, KiB")).with(flight))
    };
    flows.iter().map(panel).collect()
}

fn parts(name: &str, seconds: &SegmentSeconds) -> Panel {
    let mut panel = Panel::new(name, time(), Axis::new("mean of the second, ms"))
        .right(Axis::new("lost segments"));
    for (index, part) in ["until the first attempt", "on the air", "behind it"].iter().enumerate() {
        let means = points(seconds, &|second| {
            let (sum_ns, number) = second.parts[index];
            (number > 0).then(|| sum_ns as f64 / f64::from(number) / 1e6)
        });
        if !means.is_empty() {
            panel = panel.with(Series::line(*part, means));
        }
    }
    let lost = points(seconds, &|second| Some(f64::from(second.lost)));
    panel.with(Series::line("lost", lost).on_right())
}

fn aggregation(air: &Air, link: &Link) -> Panel {
    let number = points(&link.seconds, &|second| Some(f64::from(second.ampdus)));
    let size = points(&link.seconds, &|second| {
        (second.ampdus > 0).then(|| f64::from(second.ampdu_mpdus) / f64::from(second.ampdus))
    });
    if size.is_empty() {
        return Panel::new("", time(), time());
    }
    let panel = Panel::new(link_name(air, link), time(), Axis::new("A-MPDUs a second"))
        .right(Axis::new("MPDUs in an A-MPDU"))
        .with(Series::line("A-MPDUs", number))
        .with(Series::line("MPDUs in each", size).on_right());
    shade(air, panel)
}

fn retries(air: &Air, link: &Link) -> Panel {
    let retries = points(&link.seconds, &|second| {
        (second.mpdus > 0).then(|| 100.0 * f64::from(second.retries) / f64::from(second.mpdus))
    });
    let rate = points(&link.seconds, &|second| {
        (second.rate_kbps_sum > 0 && second.ppdus > 0)
            .then(|| second.rate_kbps_sum as f64 / f64::from(second.ppdus) / 1e3)
    });
    let panel = Panel::new(link_name(air, link), time(), Axis::new("retries, %"))
        .with(Series::line("retries", retries));
    let panel = if rate.is_empty() {
        panel
    } else {
        panel.right(Axis::new("PHY rate, Mb/s")).with(Series::line("PHY rate", rate).on_right())
    };
    shade(air, panel)
}

/// Shades the periods of scans.
fn shade(air: &Air, panel: Panel) -> Panel {
    let schedules =
        air.absences.keys().filter_map(|id| Schedule::from_absences(air, *id, usize::MAX));
    let scans = schedules.filter(|schedule| schedule.cause == Cause::Scan);
    let periods = scans.flat_map(|schedule| schedule.periods);
    periods.fold(panel, |panel, period| {
        panel.shade(at_s(air, period.from_ns), at_s(air, period.to_ns), "scans")
    })
}

/// Draws the absences of stations, and the longest period of scans in detail.
fn away(air: &Air) -> Vec<Panel> {
    let mut stations: Vec<_> =
        air.absences.iter().filter(|(_, absences)| !absences.so_far().is_empty()).collect();
    stations.sort_by_key(|(id, absences)| (Reverse(absences.so_far().len()), **id));
    stations.truncate(STATIONS_MAX);
    if stations.is_empty() {
        return Vec::new();
    }
    let names = stations.iter().map(|(id, _)| air.stations.get(**id).address.to_string());
    let strip = |title: &str, names: Vec<String>, intervals: Vec<(f64, f64, f64)>| {
        Panel::new(title, time(), Axis::new("").names(names))
            .with(Series::intervals("away", intervals))
    };
    let intervals = (0u32..).zip(&stations).flat_map(|(lane, (_, absences))| {
        absences.so_far().iter().map(move |absence| {
            (at_s(air, absence.from_ns), at_s(air, absence.to_ns), f64::from(lane))
        })
    });
    let mut panels = vec![strip("", names.collect(), intervals.collect())];
    let scans = stations.iter().filter_map(|(id, absences)| {
        let schedule = Schedule::from_absences(air, **id, usize::MAX)?;
        let longest = schedule.periods.iter().max_by_key(|p| p.absences.1 - p.absences.0)?;
        let scanned = schedule.cause == Cause::Scan && schedule.periods.len() > 1;
        scanned.then(|| (**id, &absences.so_far()[longest.absences.0..longest.absences.1]))
    });
    if let Some((id, absences)) = scans.max_by_key(|(_, absences)| absences.len()) {
        let ends = absences.iter().map(|a| (at_s(air, a.from_ns), at_s(air, a.to_ns), 0.0));
        let name = air.stations.get(id).address.to_string();
        panels.push(strip("one period", vec![name], ends.collect()));
    }
    panels
}

fn at_s(air: &Air, ns: u64) -> f64 {
    ns.saturating_sub(air.begin_ns.unwrap_or(ns)) as f64 / 1e9
}

/// Returns the points of a series at the middle of each second. Empty seconds between others are
/// zero; a value of `None` is left out. Long series have means of several seconds.
fn points<T: Default, const MAX: usize>(
    seconds: &Seconds<T, MAX>,
    value: &dyn Fn(&T) -> Option<f64>,
) -> Vec<Point> {
    let (first, end) = (seconds.first(), seconds.end());
    let step = (end - first).div_ceil(POINTS_MAX).max(1);
    let zero = T::default();
    let mean = |from: usize| {
        let to = end.min(from.saturating_add(step));
        let (mut sum, mut number, mut heard) = (0.0, 0u32, 0);
        for (_, it) in seconds.range(from..to) {
            heard += 1;
            if let Some(value) = value(it) {
                (sum, number) = (sum + value, number + 1);
            }
        }
        // Quantities that are zero without traffic are zero in each second missing from the series.
        let silent = (to - from - heard) as u32;
        number += if value(&zero).is_some() { silent } else { 0 };
        (number > 0).then(|| ((from + to) as f64 / 2.0, sum / f64::from(number)))
    };
    (first..end).step_by(step).filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_zero_where_zero_means_something() {
        let mut seconds = Seconds::<u64>::default();
        *seconds.at(2) += 8;
        *seconds.at(5) += 4;
        let all = points(&seconds, &|bytes| Some(*bytes as f64));
        assert_eq!(all, [(2.5, 8.0), (3.5, 0.0), (4.5, 0.0), (5.5, 4.0)]);
        let some = points(&seconds, &|bytes| (*bytes > 0).then_some(*bytes as f64));
        assert_eq!(some, [(2.5, 8.0), (5.5, 4.0)]);
    }

    #[test]
    fn long_series_are_thinned_to_their_means() {
        let mut seconds = Seconds::<u64>::default();
        for second in 0..2 * POINTS_MAX {
            *seconds.at(second) += 1 + second as u64 % 2;
        }
        let all = points(&seconds, &|bytes| Some(*bytes as f64));
        assert_eq!(all.len(), POINTS_MAX);
        assert!(all.iter().all(|(_, mean)| *mean == 1.5));
        // A clock that is a century off makes a long axis, not many points.
        *seconds.at(3_000_000_000) += 9;
        assert!(points(&seconds, &|bytes| Some(*bytes as f64)).len() <= POINTS_MAX);
    }
}
