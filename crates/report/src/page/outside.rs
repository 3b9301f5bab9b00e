//! The page of a measurement by another program beside simulated runs: quantities, throughput and
//! round trips over time, distributions. The rows of its tables are also those of the terminal.

use super::{head, section};
use crate::plots::Figure;
use crate::table::value;
use lasthop_figures::page::{document as page, table};
use lasthop_figures::plot::{Axis, Panel, Point, Series};
use lasthop_figures::text::escaped;
use lasthop_trace::{
    MeasuredComparison, MeasuredDistribution, Measurement, MeasurementKind, MeasurementSeries,
};
use std::fmt::Write;

/// Heads of the columns behind a quantity's name.
pub const HEADS: [&str; 5] = ["measured", "simulated", "least", "most", "ratio"];
/// Number of means of a throughput over time.
const BINS: f64 = 200.0;
/// Largest number of round trips drawn of a side.
const DOTS_MAX: usize = 1_500;

/// The page as HTML. Both sides have the scenario's time.
pub fn html(
    document: &MeasuredComparison,
    measured: &Measurement,
    simulated: &[Measurement],
) -> String {
    let title = format!("{}: measured and simulated", document.scenario);
    let line = format!(
        "{} by {}, beside {} with seed {}; {} to {} s of the scenario",
        document.file,
        made_by(document),
        crate::table::counted(document.runs as usize, "run"),
        document.seed,
        value(document.from_s),
        value(document.to_s)
    );
    let mut body = head(&title, &line);
    for note in &document.notes {
        let _ = write!(body, "<p>{}.</p>", escaped(note));
    }
    let heads: Vec<&str> = ["quantity"].into_iter().chain(HEADS).collect();
    let _ = writeln!(
        body,
        "<section id=\"both\"><h2>Both sides</h2>{}</section>",
        table("Both sides", &heads, 1, &rows(document, &value))
    );
    for figure in figures(document, measured, simulated) {
        body.push_str(&section(&figure));
    }
    for (name, title) in DISTRIBUTIONS {
        if let Some(distribution) = document.distributions.get(name) {
            let heads = ["share", "measured, ms", "simulated, ms"];
            let rows = distribution_rows(distribution, &value);
            let _ = writeln!(
                body,
                "<section><h2>{title}</h2>{}</section>",
                table(title, &heads, 1, &rows)
            );
        }
    }
    page(&title, &body)
}

/// Titles of distributions by their names.
const DISTRIBUTIONS: [(&str, &str); 2] = [
    ("rtt_ms", "Distribution of round trips"),
    ("tcp_rtt_ms", "Distribution of TCP's round trips"),
];

/// The program with its test.
pub fn made_by(document: &MeasuredComparison) -> String {
    format!("{} {}", document.program, document.test).trim_end().to_owned()
}

/// A row for each quantity: name, measured, mean of runs, least, most, ratio.
pub fn rows(document: &MeasuredComparison, value: &dyn Fn(f64) -> String) -> Vec<Vec<String>> {
    let several = document.runs > 1;
    let row = |(name, quantity): (&String, &lasthop_trace::MeasuredQuantity)| {
        let side = quantity.simulated;
        let spread = side.filter(|_| several);
        let numbers = [
            quantity.measured,
            side.map(|side| side.mean),
            spread.map(|side| side.least),
            spread.map(|side| side.most),
            quantity.ratio,
        ];
        let cells = numbers.map(|number| number.map_or_else(String::new, value));
        [words(name)].into_iter().chain(cells).collect()
    };
    // Throughput first; percentiles before the greatest value.
    let place = |name: &str| {
        let is_max = name.ends_with("max_ms");
        (name != "throughput_mbps", name.starts_with("tcp_"), is_max)
    };
    let mut quantities: Vec<_> = document.quantities.iter().collect();
    quantities.sort_by_key(|(name, _)| place(name));
    quantities.into_iter().map(row).collect()
}

/// The name of a quantity in words.
fn words(name: &str) -> String {
    match name {
        "throughput_mbps" => "throughput Mb/s".into(),
        _ => name.replace("tcp_rtt_", "TCP's RTT ").replace("rtt_", "RTT ").replace("_ms", " ms"),
    }
}

/// A row for each share of a distribution.
pub fn distribution_rows(
    distribution: &MeasuredDistribution,
    value: &dyn Fn(f64) -> String,
) -> Vec<Vec<String>> {
    let at =
        |values: &[f64], index: usize| values.get(index).map_or_else(String::new, |it| value(*it));
    let row = |(index, share): (usize, &f64)| {
        let cells = [&distribution.measured, &distribution.simulated].map(|side| at(side, index));
        [format!("{} %", value(100.0 * share))].into_iter().chain(cells).collect()
    };
    distribution.shares.iter().enumerate().map(row).collect()
}

fn figures(
    document: &MeasuredComparison,
    measured: &Measurement,
    simulated: &[Measurement],
) -> Vec<Figure> {
    let window = [document.from_s, document.to_s];
    let sides: Vec<(&str, &Measurement)> = [("measured", measured)]
        .into_iter()
        .chain(simulated.first().map(|run| ("simulated", run)))
        .collect();
    let time = || Axis::new("time, s").range(window[0], window[1]);
    let length_s = ((window[1] - window[0]) / BINS).max(1.0);
    let throughput = sides
        .iter()
        .fold(Panel::new("", time(), Axis::new("throughput, Mb/s")), |panel, (name, side)| {
            panel.with(Series::line(*name, total(side, window, length_s)))
        });
    let mut figures = vec![Figure {
        title: "Throughput",
        shows: "All flows together, as their senders count them; of the first simulated run."
            .to_owned(),
        panels: vec![throughput],
    }];
    let kinds = [
        (MeasurementKind::RoundTrip, "Round trips"),
        (MeasurementKind::TcpRoundTrip, "TCP's round trips"),
    ];
    for (kind, title) in kinds {
        let over_time = sides.iter().fold(
            Panel::new("over time", time(), Axis::new("round trip, ms")),
            |panel, (name, side)| panel.with(Series::dots(*name, dots(side, kind, window))),
        );
        let shares = sides.iter().fold(
            Panel::new("distribution", Axis::new("round trip, ms"), Axis::new("share, %")),
            |panel, (name, side)| panel.with(Series::line(*name, shares(side, kind, window))),
        );
        figures.push(Figure {
            title,
            shows: "Of the first simulated run; of many values some are drawn.".to_owned(),
            panels: vec![over_time, shares],
        });
    }
    figures.retain(|figure| figure.panels.iter().any(Panel::has_points));
    figures
}

/// The sum of throughputs, by intervals.
fn total(side: &Measurement, window: [f64; 2], length_s: f64) -> Vec<Point> {
    let mut sums: std::collections::BTreeMap<u64, Point> = std::collections::BTreeMap::new();
    for series in side.of_kind(MeasurementKind::Throughput) {
        for (at, mbps) in series.binned(window, length_s) {
            // Times are not negative, so that their bits are in order.
            sums.entry(at.max(0.0).to_bits()).or_insert((at, 0.0)).1 += mbps;
        }
    }
    sums.into_values().collect()
}

fn inside(series: &MeasurementSeries, window: [f64; 2]) -> impl Iterator<Item = Point> {
    let values = series.values.iter().map(|it| (it.at_s, it.value));
    values.filter(move |(at, _)| (window[0]..=window[1]).contains(at))
}

fn dots(side: &Measurement, kind: MeasurementKind, window: [f64; 2]) -> Vec<Point> {
    let all: Vec<Point> = side.of_kind(kind).flat_map(|series| inside(series, window)).collect();
    let step = all.len().div_ceil(DOTS_MAX).max(1);
    all.into_iter().step_by(step).collect()
}

/// Round trips and the share of at most these, in percent.
fn shares(side: &Measurement, kind: MeasurementKind, window: [f64; 2]) -> Vec<Point> {
    let share = |percent: u32| {
        let at = side.quantile(kind, window, f64::from(percent) / 100.0)?;
        Some((at, f64::from(percent)))
    };
    (0..=100).filter_map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_trace::MeasurementValue;

    #[test]
    fn a_page_has_both_sides() {
        let side = |value: f64| {
            let values = |span_s| {
                (1..=10).map(|at| MeasurementValue { at_s: f64::from(at), span_s, value }).collect()
            };
            let series = |kind, values| MeasurementSeries { name: "<it>".into(), kind, values };
            Measurement {
                program: "flent".into(),
                test: "rrul".into(),
                series: vec![
                    series(MeasurementKind::Throughput, values(1.0)),
                    series(MeasurementKind::RoundTrip, values(0.0)),
                ],
                notes: vec!["a <note>".into()],
            }
        };
        let (measured, runs) = (side(8.0), [side(4.0)]);
        let document = MeasuredComparison::new("it", 1, "FILE", &measured, &runs, 0.0, [2.0, 9.0]);
        let rows = rows(&document, &value);
        assert_eq!(rows[0][..3], ["throughput Mb/s", "8.00", "4.00"]);
        assert_eq!(rows[1][0], "RTT p50 ms");
        assert_eq!(rows[4][..], ["RTT max ms", "8.00", "4.00", "", "", "0.500"]);
        let page = html(&document, &measured, &runs);
        for needed in ["measured and simulated", "a &lt;note&gt;", "Throughput", "Round trips"] {
            assert!(page.contains(needed), "{needed}");
        }
        assert!(!page.contains("TCP's round trips"));
    }
}
