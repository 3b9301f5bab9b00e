//! `lasthop places`: the scenarios that are places, with descriptions and expected results. The
//! numbers are not computed here: `places/expected.csv` has the results of `simulate`, and a test
//! (`tests/command/places.rs`) simulates all of them again and compares.

use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::lab::scenario::shipped;
use crate::table::{self, Column, number, text, wrapped};

/// Expected results, a row for each place in the order of names: median and 95th percentile of a
/// ping's round trips in ms, from the laptop to the server, without other traffic of the laptop,
/// and the lost share in percent; goodput of a TCP download in Mb/s; and the percentiles of the
/// ping during that.
const EXPECTED: &str = include_str!("places/expected.csv");

const COLUMNS: [Column; 7] = [
    text("place"),
    number("ping ms", "p50"),
    number("ping ms", "p95"),
    number("lost %", ""),
    number("download Mb/s", ""),
    number("ping meanwhile ms", "p50"),
    number("ping meanwhile ms", "p95"),
];

/// Runs the command.
pub fn places() -> Result<(), Failure> {
    console::print(&listed(Stream::Output))
}

fn listed(stream: Stream) -> String {
    let rows: Vec<Vec<String>> = expected().collect();
    let mut out = table::render_all(&COLUMNS, &rows, stream);
    let width = if stream.is_terminal() { console::width() } else { usize::MAX };
    let longest = shipped::places().map(|(name, _)| name.len()).max().unwrap_or_default();
    out.push('\n');
    for (name, shipped) in shipped::places() {
        let head = format!("  {name:longest$}  ");
        out.push_str(&wrapped(&head, &shipped.first_sentence(), width));
    }
    out.push_str(
        "\nFrom laptop to server, simulated; the download is one TCP connection with CUBIC.\n",
    );
    out
}

/// Returns the rows of [`EXPECTED`] without its header.
fn expected() -> impl Iterator<Item = Vec<String>> {
    EXPECTED.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_row() {
        let rows: Vec<_> = expected().collect();
        let names: Vec<_> = rows.iter().map(|row| row[0].as_str()).collect();
        let places: Vec<_> = shipped::places().map(|(name, _)| name).collect();
        assert_eq!(names, places);
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len()), "{rows:?}");
    }

    /// A command that works in one place works in all places.
    #[test]
    fn places_have_the_same_nodes() {
        for (name, shipped) in shipped::places() {
            let scenario = lasthop_scenario::parse(name, shipped.text, &[]).expect("it is valid");
            assert_eq!(scenario.name, name);
            let nodes: Vec<_> =
                scenario.own_nodes().iter().map(|node| node.name.as_str()).collect();
            assert_eq!(nodes[..2], ["ap", "laptop"], "{name}");
            assert!(nodes.contains(&"server"), "{name}");
            // Up is away from the access points, and the slower way of a line.
            for wire in &scenario.network.wires {
                let end = nodes[wire.ends[0].index()];
                assert!(end.starts_with("ap") || end == "switch", "{name}: {end}");
                let [up, down] = wire.directions.each_ref().map(|it| it.rate);
                assert!(up <= down, "{name}: {up:?} {down:?}");
            }
            let has_flow = scenario.flows.iter().any(|flow| {
                let ends = [flow.from, flow.to];
                ends.iter().any(|end| nodes[end.index()] == "laptop")
            });
            assert!(!has_flow, "{name}: the laptop's flows are the reader's");
        }
    }
}
