//! The page of a measured queue: the result as text, and for each direction and packet length the
//! packets in the queue over time, their delays, and the distribution of delays. Plots show the
//! last phase in which the queue was empty before it filled. Delays are differences from the
//! shortest delay, after the drift between the two clocks is removed. Packets that did not arrive
//! are missing: a managed queue that drops packets held more than the plot shows.

use super::{head, section};
use crate::apq::words;
use crate::plots::Figure;
use crate::style::Style;
use lasthop_figures::page::{document, preformatted, table};
use lasthop_figures::plot::{Axis, Panel, Point, Series};
use lasthop_trace::{ApqDirection, ApqDocument, ApqMethod, ApqSample, ApqWay};
use std::collections::BTreeMap;

/// Largest number of points of a series.
const POINTS_MAX: usize = 600;
/// Points of the packets held.
const HELD_POINTS: usize = 300;
/// The sparse flow is alone for at least this long before a session fills the queue.
const ALONE_NS: i64 = 1_000_000;

/// The contents of the page.
#[derive(Clone, Debug)]
pub struct MeasuredContent<'a> {
    /// Result of the measurement.
    pub document: &'a ApqDocument,
    /// Packets of the measurement; `None` if there is no such file.
    pub samples: Option<&'a [ApqSample]>,
}

/// A phase with an empty queue, then with a full one. Times in seconds, delays in ms.
#[derive(Clone, Debug, PartialEq)]
struct MeasuredSession {
    /// Time at which a packet was sent, and its queueing delay: sparse, bulk.
    delays: [Vec<Point>; 2],
    /// First and last packet of the flow that fills the queue.
    load: (f64, f64),
}

/// The page as HTML.
pub fn html(content: &MeasuredContent<'_>) -> String {
    let document_ = content.document;
    let title = format!("The queue between this machine and {}", document_.host);
    let method = match document_.method {
        ApqMethod::Exact => "the paper's algorithms",
        ApqMethod::Fast => "the fast method",
    };
    let line =
        format!("measured by {method} in {} s; lasthop {}", document_.wall_s, document_.version);
    let mut body = head(&title, &line);
    body.push_str(&format!(
        "<section id=\"result\"><h2>What was found</h2>{}</section>\n",
        preformatted("What was found", &words::document(document_, Style::PLAIN))
    ));
    match content.samples {
        Some(samples) => {
            let sessions = sessions(samples);
            for figure in figures(document_, &sessions) {
                body.push_str(&section(&figure));
            }
            if sessions.is_empty() {
                body.push_str(
                    "<section><p class=\"muted\">There is no phase with an empty queue before a \
                     full one, so that nothing is drawn.</p></section>\n",
                );
            }
        }
        None => body.push_str(
            "<section><p class=\"muted\">There is no samples.parquet, so that nothing is \
             drawn.</p></section>\n",
        ),
    }
    body.push_str(&each_session(document_));
    document(&title, &body)
}

/// The sessions to draw, by direction and packet length.
fn sessions(samples: &[ApqSample]) -> BTreeMap<(bool, u16), MeasuredSession> {
    let mut found = BTreeMap::new();
    for phase in samples.chunk_by(|one, other| one.phase == other.phase) {
        let bulk = phase.iter().find(|sample| sample.is_bulk);
        if let (Some(bulk), Some(session)) = (bulk, MeasuredSession::from_phase(phase)) {
            found.insert((bulk.direction == ApqWay::Up, bulk.packet_bytes), session);
        }
    }
    found
}

impl MeasuredSession {
    /// The session of a phase; `None` if the queue was not empty before it was filled.
    fn from_phase(phase: &[ApqSample]) -> Option<Self> {
        let first_sent = phase.iter().map(|sample| sample.sent_ns).min()?;
        let at = |sample: &ApqSample| (sample.sent_ns.wrapping_sub(first_sent)) as f64 / 1e9;
        let bulk = || phase.iter().filter(|sample| sample.is_bulk);
        let begin_ns = bulk().map(|sample| sample.sent_ns).min()?;
        if begin_ns.wrapping_sub(first_sent) < ALONE_NS {
            return None;
        }
        let load = (
            bulk().map(at).fold(f64::INFINITY, f64::min),
            bulk().map(at).fold(f64::NEG_INFINITY, f64::max),
        );
        let length = phase.iter().map(at).fold(0.0, f64::max);
        let offset = phase.first()?.delay_ns;
        let raw = |sample: &ApqSample| sample.delay_ns.wrapping_sub(offset) as f64 / 1e6;
        // The shortest delays at the start and at the end are those of an empty queue; their
        // difference is the drift of the clocks.
        let shortest = |from: f64, to: f64| {
            let within = phase.iter().filter(|sample| (from..to).contains(&at(sample)));
            within.map(|sample| (at(sample), raw(sample))).min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let early = shortest(0.0, load.0)?;
        let late = shortest(f64::midpoint(load.1, length), length);
        let slope = late.map_or(0.0, |late| (late.1 - early.1) / (late.0 - early.0));
        let mut delays = [Vec::new(), Vec::new()];
        for sample in phase {
            let delay = raw(sample) - early.1 - slope * (at(sample) - early.0);
            delays[usize::from(sample.is_bulk)].push((at(sample), delay.max(0.0)));
        }
        Some(Self { delays, load })
    }

    /// The most packets that were in the queue at a time in each of equal parts of the session:
    /// sent, and not yet left.
    fn held(&self) -> Vec<Point> {
        let mut changes: Vec<(f64, i32)> = Vec::new();
        for &(sent, delay_ms) in self.delays.iter().flatten() {
            // A packet that did not wait was not in the queue.
            if delay_ms > 0.0 {
                changes.extend([(sent, 1), (sent + delay_ms / 1e3, -1)]);
            }
        }
        // What leaves goes before what comes at the same instant.
        changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Some(&(end, _)) = changes.last() else { return Vec::new() };
        let step = end / HELD_POINTS as f64;
        if step <= 0.0 {
            return Vec::new();
        }
        let (mut points, mut now, mut most, mut next) = (Vec::new(), 0, 0, 1);
        for (at, change) in changes {
            while at > step * f64::from(next) && next < HELD_POINTS as i32 {
                points.push((step * (f64::from(next) - 0.5), f64::from(most)));
                (most, next) = (now, next + 1);
            }
            now += change;
            most = most.max(now);
        }
        points.push((step * (f64::from(next) - 0.5), f64::from(most)));
        points
    }
}

fn figures(
    document: &ApqDocument,
    sessions: &BTreeMap<(bool, u16), MeasuredSession>,
) -> Vec<Figure> {
    type Draw<'a> = &'a dyn Fn(String, (bool, u16), &MeasuredSession) -> Panel;
    let panels = |of: Draw<'_>| -> Vec<Panel> {
        let panel = |(key, session): (&(bool, u16), &MeasuredSession)| {
            let (is_up, bytes) = *key;
            let queue = if is_up {
                format!("The queue towards {} (up)", document.host)
            } else {
                "The queue towards this machine (down)".to_owned()
            };
            of(format!("{queue}, packets of {bytes} bytes"), *key, session)
        };
        sessions.iter().map(panel).filter(Panel::has_points).collect()
    };
    let time = || Axis::new("time, s");
    let sent = "saturation flow sent";
    let held = panels(&|title, key, session| {
        let panel = Panel::new(title, time(), Axis::new("held, packets"))
            .shade(session.load.0, session.load.1, sent)
            .with(Series::line("packets held", session.held()));
        match capacity(document, key.0, key.1) {
            Some((from, to)) => panel.target(0, (from, to), "capacity"),
            None => panel,
        }
    });
    let delays = panels(&|title, _, session| {
        let dots = |at: usize| thinned(&session.delays[at]);
        Panel::new(title, time(), Axis::new("queueing delay, ms"))
            .shade(session.load.0, session.load.1, sent)
            .with(Series::dots("saturation flow", dots(1)))
            .with(Series::dots("baseline flow", dots(0)))
    });
    let distributions = panels(&|title, _, session| {
        let (begin, end) = session.load;
        // In the first half of the load the queue may still be filling.
        let full = f64::midpoint(begin, end)..end;
        let [sparse, bulk] = &session.delays;
        let of = |points: &[Point], is_in: &dyn Fn(f64) -> bool| {
            distribution(
                points.iter().filter(|point| is_in(point.0)).map(|point| point.1).collect(),
            )
        };
        Panel::new(title, Axis::new("queueing delay, ms"), Axis::new("share, %").range(0.0, 100.0))
            .with(Series::line("empty queue, baseline flow", of(sparse, &|at| at < begin)))
            .with(Series::line("full queue, baseline flow", of(sparse, &|at| full.contains(&at))))
            .with(Series::line("full queue, saturation flow", of(bulk, &|at| full.contains(&at))))
    });
    [
        (
            "Packets held over time",
            "The most packets that were in the queue at a time, counted \
            from the stamps of those that arrived. The band is the capacity that was found.",
            held,
        ),
        (
            "Delay over time",
            "The queueing delay of packets, at the time at which they were sent.",
            delays,
        ),
        (
            "How delays are distributed",
            "The share of packets that waited so long or less.",
            distributions,
        ),
    ]
    .into_iter()
    .filter(|(.., panels)| !panels.is_empty())
    .map(|(title, shows, panels)| Figure { title, shows: shows.to_owned(), panels })
    .collect()
}

/// The capacity that was found, from and to, in packets.
fn capacity(document: &ApqDocument, is_up: bool, bytes: u16) -> Option<(f64, f64)> {
    let way = if is_up { ApqWay::Up } else { ApqWay::Down };
    let direction = document.directions.iter().find(|it| it.direction == way)?;
    let size = direction.sizes.iter().find(|it| it.packet_bytes == bytes)?;
    let estimate = size.capacity_packets?;
    let half = estimate.ci95.unwrap_or(0.0);
    Some((estimate.mean - half, estimate.mean + half))
}

/// The numbers of each session.
fn each_session(document: &ApqDocument) -> String {
    let heads = [
        "Queue",
        "Packet, bytes",
        "Session",
        "Counted, packets",
        "Equation 1, packets",
        "Mb/s",
        "Queueing, ms",
        "Lost, %",
    ];
    let of = |direction: &ApqDirection| {
        let way = match direction.direction {
            ApqWay::Down => "down",
            ApqWay::Up => "up",
        };
        let mut rows = Vec::new();
        for size in &direction.sizes {
            for (number, session) in size.sessions.iter().enumerate() {
                rows.push(vec![
                    way.to_owned(),
                    size.packet_bytes.to_string(),
                    (number + 1).to_string(),
                    format!("{:.1}", session.counted_packets),
                    format!("{:.1}", session.equation_1_packets),
                    format!("{:.2}", session.throughput_mbps),
                    format!("{:.2}", session.queueing_delay_ms),
                    format!("{:.1}", 100.0 * session.loss_fraction),
                ]);
            }
        }
        rows
    };
    let rows: Vec<_> = document.directions.iter().flat_map(of).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("<section><h2>Sessions</h2>{}</section>\n", table("Sessions", &heads, 1, &rows))
}

/// Every n-th point, at most [`POINTS_MAX`].
fn thinned(points: &[Point]) -> Vec<Point> {
    points.iter().copied().step_by(points.len().div_ceil(POINTS_MAX).max(1)).collect()
}

/// The share of values at or below each value, in percent; at most [`HELD_POINTS`] points.
fn distribution(mut values: Vec<f64>) -> Vec<Point> {
    values.sort_by(f64::total_cmp);
    let (all, every) = (values.len(), values.len().div_ceil(HELD_POINTS).max(1));
    let is_drawn = |index: &usize| index.is_multiple_of(every) || index + 1 == all;
    let share = |index: usize| 100.0 * (index + 1) as f64 / all as f64;
    (0..all).filter(is_drawn).map(|index| (values[index], share(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_figures::plot;

    /// A second with an empty queue, one in which 50 packets are held, one with an empty one;
    /// clocks that drift by 1 ms a second and have an offset.
    fn samples() -> Vec<ApqSample> {
        let sample = |is_bulk: bool, at_ms: i64, waits_ms: i64| ApqSample {
            phase: 3,
            direction: ApqWay::Down,
            is_bulk,
            packet_bytes: if is_bulk { 1_500 } else { 100 },
            sent_ns: 77_000 + at_ms * 1_000_000,
            delay_ns: -(1 << 40) + (2 + waits_ms) * 1_000_000 + at_ms * 1_000,
        };
        let sparse = (0..300).map(|at| {
            let waits = if (100..200).contains(&at) { 50 } else { 0 };
            sample(false, 10 * at, waits)
        });
        // A packet each millisecond that leaves 50 ms later.
        sparse.chain((1_000..2_000).map(|at| sample(true, at, 50))).collect()
    }

    #[test]
    fn packets_held_are_counted_from_the_stamps() {
        let sessions = sessions(&samples());
        let session = &sessions[&(false, 1_500)];
        assert!((session.load.0 - 1.0).abs() < 1e-6, "{:?}", session.load);
        let held = session.held();
        let within = |from: f64, to: f64| {
            held.iter().filter(move |(at, _)| (from..to).contains(at)).map(|(_, held)| *held)
        };
        assert_eq!(within(0.0, 0.98).fold(0.0, f64::max), 0.0);
        // 50 of the saturation flow, 5 or 6 of the other.
        assert!(within(1.2, 1.9).all(|held| (54.0..=57.0).contains(&held)), "{held:?}");
    }

    #[test]
    fn a_search_is_not_drawn() {
        let mut samples = samples();
        samples.retain(|sample| sample.is_bulk);
        assert!(sessions(&samples).is_empty());
    }

    #[test]
    fn the_page_has_the_words_and_sound_plots() {
        let json = r#"{"host": "<ap>", "method": "fast", "wall_s": 31.0, "version": "0",
            "directions": [{"direction": "down", "trusted": true, "doubts": [], "measured_s": 3.0,
            "sizes": [{"packet_bytes": 1500, "search": [], "sessions": [],
            "capacity_packets": {"mean": 50.0, "ci95": 1.5, "values": 3}}]}]}"#;
        let document: ApqDocument = serde_json::from_str(json).expect("a document");
        let samples = samples();
        let figures = figures(&document, &sessions(&samples));
        assert_eq!(figures.len(), 3);
        assert_eq!(figures[0].panels[0].targets[0].y, plot::Span { from: 48.5, to: 51.5 });
        for figure in &figures {
            assert_eq!(plot::faults(&figure.panels), [""; 0], "{}", figure.title);
        }
        let page = html(&MeasuredContent { document: &document, samples: Some(&samples) });
        assert!(page.contains("The queue towards this machine (down)"));
        assert!(page.contains("&lt;ap&gt;") && !page.contains("<ap>"));
        let page = html(&MeasuredContent { document: &document, samples: None });
        assert!(page.contains("There is no samples.parquet"));
    }
}
