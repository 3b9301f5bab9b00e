//! Several captures together as text: clocks, parts of the delay, places of losses, and the slowest
//! segments.

use crate::style::Style;
use crate::table::{self, Column, count, number, text, value, wrapped};
use lasthop_capture::document::{DelaySummary, JoinedSummary, PartsSummary};
use std::fmt::Write;

/// Longest line of a sentence, in columns.
pub(super) const WIDTH_MAX: usize = 100;

/// Number of slowest segments in the report.
const SLOWEST_SHOWN: usize = 5;

/// A table: its columns, and rows with as many cells.
pub type Table = (Vec<Column>, Vec<Vec<String>>);

/// Returns the tables of segments' outcomes, with their headings.
pub fn tables(joined: &JoinedSummary) -> [(&'static str, Table); 4] {
    [
        ("Clocks", clocks(joined)),
        ("Delay of segments by part, ms", delays(joined)),
        ("Outcomes of segments", fates(joined)),
        ("The slowest segments", slowest(joined)),
    ]
}

/// Returns the report of several captures together.
pub fn report(joined: &JoinedSummary, style: Style) -> String {
    let mut out = String::new();
    let title = |text: &str| format!("\n{}\n", style.bold(text));
    let width = style.width.min(WIDTH_MAX);
    if !joined.places.is_empty() {
        out.push_str(&title(&format!(
            "Together, by the clock of {}",
            short(joined, &joined.reference)
        )));
        for problem in &joined.problems {
            out.push_str(&wrapped("  ", &format!("{problem}."), width));
        }
        if joined.interrupted {
            out.push_str("  interrupted: later packets are missing\n");
        }
    }
    for (index, (heading, (columns, rows))) in tables(joined).iter().enumerate() {
        // The slowest are the last table, and too many for a terminal.
        let shown = if index == 3 { rows.len().min(SLOWEST_SHOWN) } else { rows.len() };
        let table = table::render(columns, &rows[..shown], style);
        if table.is_empty() {
            continue;
        }
        if index > 0 {
            out.push_str(&title(heading));
        }
        out.push_str(&table);
        if rows.len() > shown {
            let more = format!("and {} more; --json has them", rows.len() - shown);
            let _ = writeln!(out, "  {}", style.dim(&more));
        }
    }
    for context in &joined.context {
        out.push_str(&title(&format!("Also measured by {} ({})", context.kind, context.file)));
        for sentence in &context.sentences {
            out.push_str(&wrapped("  ", &format!("{sentence}."), width));
        }
    }
    out
}

/// Returns the name of a place without its directory, unless another place has the same name.
fn short<'a>(joined: &JoinedSummary, name: &'a str) -> &'a str {
    fn last(name: &str) -> &str {
        name.rsplit('/').next().unwrap_or(name)
    }
    let same = joined.places.iter().filter(|place| place.name.ends_with(last(name)));
    if same.count() > 1 { name } else { last(name) }
}

fn clocks(joined: &JoinedSummary) -> Table {
    let columns = vec![
        text("capture"),
        text("against"),
        number("in common", "there"),
        number("in common", "back"),
        number("clock", "s ahead"),
        number("clock", "drift, ppm"),
        number("off by, ms", "at most"),
        number("off by, ms", "likely"),
    ];
    let rows: Vec<_> = joined
        .places
        .iter()
        .filter_map(|place| {
            let clock = place.clock.as_ref()?;
            let [there, back] = clock.packets;
            Some(vec![
                short(joined, &place.name).to_owned(),
                short(joined, &clock.against).to_owned(),
                count(there),
                count(back),
                format!("{:.6}", clock.offset_s),
                format!("{:.1}", clock.drift_ppm),
                clock.bound_ms.map_or("unknown".to_owned(), value),
                value(clock.spread_ms),
            ])
        })
        .collect();
    (columns, rows)
}

fn delays(joined: &JoinedSummary) -> Table {
    let columns = vec![
        text("from"),
        text("what"),
        number("wire before", "median"),
        number("until the first attempt", "least"),
        number("until the first attempt", "median"),
        number("until the first attempt", "95 %"),
        number("on the air", "median"),
        number("on the air", "95 %"),
        number("behind", "median"),
        number("in all", "median"),
        number("in all", "95 %"),
        number("in all", "most"),
    ];
    let row = |from: &str, what: &str, parts: &PartsSummary| {
        let of = |delay: &Option<DelaySummary>, which: fn(&DelaySummary) -> f64| {
            delay.as_ref().map_or(String::new(), |delay| value(which(delay)))
        };
        let cells = vec![
            of(&parts.wire_before, |it| it.p50_ms),
            of(&parts.wait, |it| it.least_ms),
            of(&parts.wait, |it| it.p50_ms),
            of(&parts.wait, |it| it.p95_ms),
            of(&parts.air, |it| it.p50_ms),
            of(&parts.air, |it| it.p95_ms),
            of(&parts.behind, |it| it.p50_ms),
            of(&parts.total, |it| it.p50_ms),
            of(&parts.total, |it| it.p95_ms),
            of(&parts.total, |it| it.max_ms),
        ];
        let is_empty = cells.iter().all(String::is_empty);
        (!is_empty).then(|| [vec![from.to_owned(), what.to_owned()], cells].concat())
    };
    let mut rows = Vec::new();
    for flow in joined.flows.values() {
        for (from, direction) in &flow.from {
            rows.extend(row(from, "segments", &direction.parts));
            rows.extend(row(from, "ACKs", &direction.acknowledgements));
        }
    }
    (columns, rows)
}

fn fates(joined: &JoinedSummary) -> Table {
    let columns = vec![
        text("from"),
        number("", "segments"),
        number("attempts", "mean"),
        number("lost", "before"),
        number("lost", "on the air"),
        number("lost", "behind"),
        number("sent again, copy before", "lost"),
        number("sent again, copy before", "arrived"),
        number("sent again, copy before", "unknown"),
        number("sent again", "by ACKs"),
        number("sent again", "by a timer"),
    ];
    let mut rows = Vec::new();
    for (from, it) in joined.flows.values().flat_map(|flow| &flow.from) {
        if it.segments == 0 {
            continue;
        }
        let attempts: u64 = (1..).zip(&it.attempts).map(|(times, count)| times * count).sum();
        let (fates, before) = (&it.fates, &it.retransmissions.copy_before);
        let lost =
            before.lost_before + before.lost_on_air + before.lost_behind + before.lost_between;
        let mean = match it.heard {
            0 => String::new(),
            heard => value(attempts as f64 / heard as f64),
        };
        rows.push(vec![
            from.clone(),
            count(it.segments),
            mean,
            count(fates.lost_before + fates.lost_between),
            count(fates.lost_on_air),
            count(fates.lost_behind),
            count(lost),
            count(before.arrived),
            count(before.unknown + before.across_air),
            count(it.retransmissions.after_acknowledgement),
            count(it.retransmissions.after_timer),
        ]);
    }
    (columns, rows)
}

fn slowest(joined: &JoinedSummary) -> Table {
    let columns = vec![
        text("from"),
        number("", "at s"),
        number("", "sequence"),
        number("ms", "in all"),
        number("ms", "until first"),
        number("ms", "on the air"),
        number("ms", "behind"),
        number("", "attempts"),
        number("frame", "left"),
        number("frame", "air"),
        number("frame", "arrived"),
        text("fate"),
    ];
    let frame = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let ms = |ms: Option<f64>| ms.map_or(String::new(), value);
    let rows: Vec<_> = joined
        .slowest
        .iter()
        .map(|segment| {
            vec![
                segment.from.clone(),
                format!("{:.3}", segment.at_s),
                segment.sequence.to_string(),
                value(segment.seen_ms),
                ms(segment.wait_ms),
                ms(segment.air_ms),
                ms(segment.behind_ms),
                segment.attempts.to_string(),
                frame(segment.left_frame),
                frame(segment.air_frames.map(|[first, _]| first)),
                frame(segment.arrived_frame),
                segment.fate.replace('_', " "),
            ]
        })
        .collect();
    (columns, rows)
}
