//! Parts of the packets' delay, as a table. Times are in ms a packet; the parts are those of
//! `lasthop_packet::DelayParts`.

use crate::console::Stream;
use crate::table::{self, number, text, value};
use lasthop_report::links;
use lasthop_trace::{DelayPartsSummary, RunDocument};

/// Place of the column `roam`, behind `asleep`.
const ROAM: usize = 5;

/// Returns the parts of the delay of every flow, on average and of the slowest 1 %.
pub fn table(run: &RunDocument, stream: Stream) -> String {
    let is_roam = flows(run).any(|flow| flow.mean.roam > 0.0);
    let mut columns = vec![
        text("flow"),
        text("packets"),
        number("", "queue"),
        number("", "away"),
        number("", "asleep"),
        number("", "contention"),
        number("", "retries"),
        number("", "reorder"),
        number("", "air"),
        number("", "wire"),
        number("", "other"),
    ];
    if is_roam {
        columns.insert(ROAM, number("", "roam"));
    }
    let row = |name: &str, which: &str, parts: &DelayPartsSummary| {
        let nonzero = |part: f64| if part > 0.0 { value(part) } else { String::new() };
        let mut row = vec![name.to_owned(), which.to_owned(), value(parts.queue)];
        row.extend([parts.away, parts.asleep].map(nonzero));
        row.extend(is_roam.then(|| nonzero(parts.roam)));
        row.extend([parts.contention, parts.retries, parts.reorder, parts.air].map(value));
        row.extend([value(parts.wire), parts.other.map_or_else(String::new, value)]);
        row
    };
    let mut rows = Vec::new();
    for flow in flows(run) {
        rows.push(row(flow.name, "all", flow.mean));
        rows.extend(flow.slowest.map(|slowest| row("", "slowest 1 %", slowest)));
    }
    table::render(&columns, &rows, stream)
}

/// A flow of the scenario or of a program.
struct Flow<'a> {
    name: &'a str,
    mean: &'a DelayPartsSummary,
    slowest: Option<&'a DelayPartsSummary>,
}

fn flows(run: &RunDocument) -> impl Iterator<Item = Flow<'_>> {
    let scenario = run.flows.iter().filter_map(|(name, flow)| {
        let (mean, slowest) = (flow.delay_parts_ms.as_ref()?, flow.delay_parts_slowest_ms.as_ref());
        Some(Flow { name, mean, slowest })
    });
    let programs = links::largest(run).filter_map(|(name, flow)| {
        let (mean, slowest) = (flow.delay_parts_ms.as_ref()?, flow.delay_parts_slowest_ms.as_ref());
        Some(Flow { name, mean, slowest })
    });
    programs.chain(scenario)
}
