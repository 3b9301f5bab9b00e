//! Traces of movements, in two formats. An error names file and line.
//!
//! Movement traces of ns-2, with these statements of ns-3's `Ns2MobilityHelper`; a node may also be
//! called `$n(3)`, quotation marks may be missing, and other statements are skipped:
//!
//! ```text
//! $node_(3) set X_ 10.0
//! $node_(3) set Y_ 0.0
//! $ns_ at 1.5 "$node_(3) setdest 40.0 0.0 1.4"
//! $ns_ at 9.0 "$node_(3) set X_ 20.0"
//! ```
//!
//! `setdest` moves evenly to a place and stays there; a later one begins where the node is then,
//! and speed 0 stops it. Places without an instant are those at the beginning, wherever they stand;
//! a missing coordinate is 0.
//!
//! CSV has the header `time,node,x,y`. A node moves evenly on a straight line between two rows,
//! which are in order for each node. Times are seconds, up to 10 000 hours, coordinates metres, up
//! to a thousand kilometres. Left out: height, which is read and dropped.

use super::{columns, lines, read};
use lasthop_config::scalar::quoted;
use lasthop_units::{Duration, Instant, Meters};
use lasthop_wifi::cell::{Track, Waypoint};
use std::collections::BTreeMap;

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// First line of a trace as CSV.
const HEADER: &str = "time,node,x,y";
/// Largest time of a trace, in seconds: 10 000 hours, as for all times of a scenario.
const SECONDS_MAX: f64 = 10_000.0 * 3_600.0;
/// Largest coordinate in metres, either side of the origin.
const METERS_MAX: f64 = 1e6;

/// Movements of several nodes, by name or number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trace(BTreeMap<String, Track>);

impl Trace {
    /// Returns the movement of a node.
    pub fn track(&self, node: &str) -> Option<&Track> {
        self.0.get(node)
    }

    /// Returns the nodes in words.
    pub fn names(&self) -> String {
        const SHOWN_MAX: usize = 12;
        let shown: Vec<&str> = self.0.keys().map(String::as_str).take(SHOWN_MAX).collect();
        let more = if self.0.len() > SHOWN_MAX { ", .." } else { "" };
        format!("{}{more}", shown.join(", "))
    }
}

/// Returns the movements in the file at `path`.
pub(crate) fn trace(path: &str) -> Result<Trace, String> {
    let text = read(path, FILE_BYTES_MAX)?;
    let trace = parse(&text).map_err(|(line, why)| match line {
        Some(line) => format!("{path}:{line}: {why}"),
        None => format!("{path}: {why}"),
    })?;
    Ok(trace)
}

/// Reason for refusing a trace, and its line.
type Refused = (Option<usize>, String);

fn parse(text: &str) -> Result<Trace, Refused> {
    let is_csv = lines(text).next().is_some_and(|(_, line)| columns(line).eq(HEADER.split(',')));
    let tracks = if is_csv { csv(text)? } else { ns2(text)? };
    if tracks.is_empty() {
        let message = format!(
            "there is no movement; expected the header {HEADER} and rows, or statements of ns-2 \
             like $node_(0) set X_ 5"
        );
        return Err((None, message));
    }
    Ok(Trace(tracks))
}

fn csv(text: &str) -> Result<BTreeMap<String, Track>, Refused> {
    let mut nodes: BTreeMap<String, Vec<Waypoint>> = BTreeMap::new();
    for (line, text) in lines(text).skip(1) {
        let (node, waypoint) = csv_row(text).map_err(|why| (Some(line), why))?;
        let known = nodes.entry(node.to_owned()).or_default();
        if known.last().is_some_and(|last| last.at >= waypoint.at) {
            let message = format!("expected a time after that of the node's last row, got {text}");
            return Err((Some(line), message));
        }
        known.push(waypoint);
    }
    Ok(nodes.into_iter().map(|(node, waypoints)| (node, Track::through(waypoints))).collect())
}

fn csv_row(text: &str) -> Result<(&str, Waypoint), String> {
    let columns: Vec<&str> = columns(text).collect();
    let [time, node, x, y] = columns[..] else {
        return Err(format!("expected four columns, {HEADER}, got {}", columns.len()));
    };
    if node.is_empty() {
        return Err("the node is missing".into());
    }
    let at = Instant::ZERO + Duration::from_secs_f64(seconds(time)?);
    Ok((node, Waypoint { at, position: [Meters(coordinate(x)?), Meters(coordinate(y)?)] }))
}

/// A statement of ns-2 about one node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Statement {
    /// The node is there from an instant on, or from the beginning.
    Set { at: Option<f64>, axis: Axis, metres: f64 },
    /// The node moves to a place.
    SetDest { at: f64, to: [f64; 2], speed: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Axis {
    X,
    Y,
    Z,
}

impl Statement {
    /// Second of its execution; places of the beginning come first.
    fn at(&self) -> f64 {
        match *self {
            Self::Set { at, .. } => at.unwrap_or(-1.0),
            Self::SetDest { at, .. } => at,
        }
    }
}

fn ns2(text: &str) -> Result<BTreeMap<String, Track>, Refused> {
    let mut nodes: BTreeMap<String, Vec<Statement>> = BTreeMap::new();
    for (line, text) in lines(text) {
        if let Some((node, found)) = statement(text).map_err(|why| (Some(line), why))? {
            nodes.entry(node.to_string()).or_default().push(found);
        }
    }
    Ok(nodes.into_iter().map(|(node, statements)| (node, track(statements))).collect())
}

/// Returns the statement of a line with the number of its node; `None` if it is about something
/// else.
fn statement(line: &str) -> Result<Option<(u32, Statement)>, String> {
    let plain = line.replace(['"', ';'], " ");
    let mut words = plain.split_whitespace();
    let is_about = |word: &str| matches!(word, "setdest" | "X_" | "Y_" | "Z_");
    if !plain.split_whitespace().any(is_about) {
        let is_tcl = ["$", "set ", "puts "].iter().any(|begin| line.starts_with(begin));
        return if is_tcl { Ok(None) } else { Err(unknown(line)) };
    }
    let first = words.next().ok_or_else(|| unknown(line))?;
    let (at, node) = match number_of(first) {
        Some(node) => (None, node),
        None => {
            if !first.starts_with('$') || words.next() != Some("at") {
                return Err(unknown(line));
            }
            let at = seconds(words.next().unwrap_or_default())?;
            let node = words.next().and_then(number_of).ok_or_else(|| unknown(line))?;
            (Some(at), node)
        }
    };
    let words: Vec<&str> = words.collect();
    let found = match (words[..].split_first(), at) {
        (Some((&"set", &[axis, metres])), at) => {
            let axis = match axis {
                "X_" => Axis::X,
                "Y_" => Axis::Y,
                "Z_" => Axis::Z,
                _ => return Err(unknown(line)),
            };
            Statement::Set { at, axis, metres: coordinate(metres)? }
        }
        (Some((&"setdest", &[x, y, speed])), Some(at)) => {
            let to = [coordinate(x)?, coordinate(y)?];
            let known = |speed: &f64| (0.0..=METERS_MAX).contains(speed);
            let speed = speed.parse().ok().filter(known).ok_or_else(|| {
                format!("expected a speed in m/s from 0 to {METERS_MAX}, got {}", quoted(speed))
            })?;
            Statement::SetDest { at, to, speed }
        }
        _ => return Err(unknown(line)),
    };
    Ok(Some((node, found)))
}

/// Returns the number of `$node_(3)`.
fn number_of(word: &str) -> Option<u32> {
    let (name, rest) = word.strip_prefix('$')?.split_once('(')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let number = rest.strip_suffix(')').filter(|_| is_name)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

fn unknown(line: &str) -> String {
    format!(
        "expected $node_(0) set X_ 5, or $ns_ at 1.5 \"$node_(0) setdest 40 0 1.4\", got {}",
        quoted(line)
    )
}

fn seconds(text: &str) -> Result<f64, String> {
    let known = |seconds: &f64| (0.0..=SECONDS_MAX).contains(seconds);
    text.parse().ok().filter(known).ok_or_else(|| {
        format!("expected a time in seconds from 0 to {SECONDS_MAX}, got {}", quoted(text))
    })
}

fn coordinate(text: &str) -> Result<f64, String> {
    let known = |metres: &f64| (-METERS_MAX..=METERS_MAX).contains(metres);
    text.parse().ok().filter(known).ok_or_else(|| {
        format!("expected metres from -{METERS_MAX} to {METERS_MAX}, got {}", quoted(text))
    })
}

/// Movement to a place, in seconds and metres.
#[derive(Clone, Copy, Debug)]
struct Leg {
    begins: f64,
    from: [f64; 2],
    to: [f64; 2],
    arrives: f64,
}

/// A node that executes its statements.
struct TracedNode {
    waypoints: Vec<Waypoint>,
    place: [f64; 2],
    leg: Option<Leg>,
}

impl TracedNode {
    /// Moves on to an instant.
    fn advance(&mut self, at: f64) {
        if let Some(leg) = self.leg {
            if leg.arrives <= at {
                self.place = leg.to;
                self.stand(leg.arrives);
                self.leg = None;
            } else {
                let share = (at - leg.begins) / (leg.arrives - leg.begins);
                for axis in 0..2 {
                    self.place[axis] = leg.from[axis] + share * (leg.to[axis] - leg.from[axis]);
                }
            }
        }
        self.stand(at);
    }

    /// Adds a waypoint at the present place.
    fn stand(&mut self, at: f64) {
        let at = Instant::ZERO + Duration::from_secs_f64(at.min(SECONDS_MAX));
        let at = self.waypoints.last().map_or(at, |last| last.at.max(at));
        let waypoint = Waypoint { at, position: self.place.map(Meters) };
        if self.waypoints.last() != Some(&waypoint) {
            self.waypoints.push(waypoint);
        }
    }

    fn execute(&mut self, statement: Statement) {
        match statement {
            Statement::Set { axis: Axis::Z, .. } => {}
            Statement::Set { at, axis, metres } => {
                if let Some(at) = at {
                    self.advance(at);
                    self.leg = None;
                }
                self.place[axis as usize] = metres;
                if let Some(at) = at {
                    self.stand(at);
                }
            }
            Statement::SetDest { at, to, speed } => {
                self.advance(at);
                let distance = f64::hypot(to[0] - self.place[0], to[1] - self.place[1]);
                let arrives = at + distance / speed;
                let moves = distance > 0.0 && speed > 0.0;
                let leg = Leg { begins: at, from: self.place, to, arrives };
                self.leg = Some(leg).filter(|_| moves);
            }
        }
    }
}

fn track(mut statements: Vec<Statement>) -> Track {
    statements.sort_by(|one, other| one.at().total_cmp(&other.at()));
    let mut node = TracedNode { waypoints: Vec::new(), place: [0.0; 2], leg: None };
    let first = statements.partition_point(|it| matches!(it, Statement::Set { at: None, .. }));
    statements[..first].iter().for_each(|it| node.execute(*it));
    node.stand(0.0);
    statements[first..].iter().for_each(|it| node.execute(*it));
    if let Some(leg) = node.leg {
        // What lies beyond the longest run is cut off on the way.
        node.advance(leg.arrives.min(SECONDS_MAX));
    }
    Track::through(node.waypoints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(trace: &Trace, node: &str, seconds: f64) -> (f64, f64) {
        let track = trace.track(node).expect("it is in the trace");
        let [x, y] = track.position(Instant::ZERO + Duration::from_secs_f64(seconds));
        (x.0, y.0)
    }

    fn near(one: (f64, f64), other: (f64, f64)) -> bool {
        (one.0 - other.0).abs() < 1e-6 && (one.1 - other.1).abs() < 1e-6
    }

    /// Expected places of ns-3's test suite for its reader of such traces.
    #[test]
    fn places_are_those_of_ns3() {
        let square = [(0.0, 10.0, 10.0), (1.0, 10.0, 10.0), (2.0, 15.0, 10.0), (3.0, 15.0, 15.0)];
        let square = [&square[..], &[(4.0, 10.0, 15.0), (5.0, 10.0, 10.0)]].concat();
        for (text, expected) in [
            // Comments behind statements.
            (
                "# comment\n\n$node_(0) set X_ 1.0 # comment\n$node_(0) set Y_ 2.0 ###\n\
                 $node_(0) set Z_ 3.0\n#$node_(0) set Z_ 100 #",
                vec![(0.0, 1.0, 2.0)],
            ),
            (
                "$ns_ at 1.0 \"$node_(0) setdest 25 0 5\"",
                vec![(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (6.0, 25.0, 0.0)],
            ),
            // Places of the beginning at the end of the file.
            (
                "$ns_ at 1.0 \"$node_(0) setdest 15  10  5\"\n\
                 $ns_ at 2.0 \"$node_(0) setdest 15  15  5\"\n\
                 $ns_ at 3.0 \"$node_(0) setdest 10  15  5\"\n\
                 $ns_ at 4.0 \"$node_(0) setdest 10  10  5\"\n\
                 $node_(0) set X_ 10.0\n$node_(0) set Y_ 10.0\n",
                square,
            ),
            (
                "$ns_ at 1.0 \"$node_(0) set X_ 10\"\n$ns_ at 1.0 \"$node_(0) set Z_ 10\"\n\
                 $ns_ at 1.0 \"$node_(0) set Y_ 10\"",
                vec![(0.5, 0.0, 0.0), (1.0, 10.0, 10.0)],
            ),
            // Speed 0 stops the node.
            (
                "$ns_ at 1.0 \"$node_(0) setdest 25 0 5\"\n\
                 $ns_ at 7.0 \"$node_(0) setdest 11  22  0\"\n",
                vec![(6.0, 25.0, 0.0), (7.0, 25.0, 0.0), (90.0, 25.0, 0.0)],
            ),
            (
                "$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n\
                 $ns_ at 1.0 \"$node_(0) setdest 1.0e+2  0       1.0e+2\"\n\
                 $ns_ at 2.0 \"$node_(0) setdest 1.0e+2  1.0e+2  1.0e+2\"\n",
                vec![(1.0, 0.0, 0.0), (2.0, 100.0, 0.0), (3.0, 100.0, 100.0)],
            ),
            // On the way to somewhere else (its bug 1219; later places by hand).
            (
                "$ns_ at 1.0 \"$node_(0) setdest 0  10       1\"\n\
                 $ns_ at 6.0 \"$node_(0) setdest 0  -10       1\"\n",
                vec![(1.0, 0.0, 0.0), (6.0, 0.0, 5.0), (16.0, 0.0, -5.0), (21.0, 0.0, -10.0)],
            ),
            // Line ends of Windows (1059), and a place where the node is already (1301).
            (
                "$node_(0) set X_ 10.0\r\n$node_(0) set Y_ 0.0\r\n\
                 $ns_ at 1.0 \"$node_(0) setdest 10  0       1\"\r\n",
                vec![(0.0, 10.0, 0.0), (5.0, 10.0, 0.0)],
            ),
            (
                "$node_(0) set X_ 350.00000000000000\n$node_(0) set Y_ 50.00000000000000\n\
                 $ns_ at 50.0 \"$node_(0) setdest 400.0 50.0 1.0\"\n\
                 $ns_ at 150.0 \"$node_(0) setdest 400.0 150.0 4.0\"\n\
                 $ns_ at 300.0 \"$node_(0) setdest 250.0 150.0 3.0\"\n\
                 $ns_ at 350.0 \"$node_(0) setdest 250.0 50.0 1.0\"\n",
                vec![
                    (50.0, 350.0, 50.0),
                    (100.0, 400.0, 50.0),
                    (150.0, 400.0, 50.0),
                    (175.0, 400.0, 150.0),
                    (300.0, 400.0, 150.0),
                    (350.0, 250.0, 150.0),
                    (450.0, 250.0, 50.0),
                ],
            ),
        ] {
            let trace = parse(text).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
            for (seconds, x, y) in expected {
                let found = place(&trace, "0", seconds);
                assert!(near(found, (x, y)), "{text}\n{seconds} s: {found:?}");
            }
        }
    }

    #[test]
    fn other_statements_are_skipped() {
        let text = "set god_ [God instance]\n$god_ set-dist 0 1 2\n$ns at 3 $n(7) setdest 1 2 3;\n\
                    $ns_ at 2.5 \"$god_ set-dist 0 1 16777215\"\n$ns_ initial_node_pos $node_(0) 20\n";
        let trace = parse(text).expect("one node");
        assert_eq!((trace.names(), place(&trace, "7", 9.0)), ("7".into(), (1.0, 2.0)));
    }

    #[test]
    fn rows_of_csv_are_places() {
        let text = "time, node, x, y\n0,ap,0,0\n# a walk\n1.5,phone,5,0\n2.5,phone,5,4 # there\n";
        let trace = parse(text).expect("two nodes");
        assert_eq!(trace.names(), "ap, phone");
        for (seconds, expected) in [(0.0, (5.0, 0.0)), (1.75, (5.0, 1.0)), (9.0, (5.0, 4.0))] {
            assert!(near(place(&trace, "phone", seconds), expected), "{seconds} s");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, words) in [
            ("", None, "there is no movement"),
            ("time,node,x,y\n", None, "there is no movement"),
            ("time,node,x,y\n1,a,2\n", Some(2), "expected four columns"),
            ("time,node,x,y\n1,a,2,3\n1,a,2,3\n", Some(3), "after that of the node's last row"),
            ("time,node,x,y\n-1,a,2,3\n", Some(2), "a time in seconds"),
            ("time,node,x,y\n1,a,nan,3\n", Some(2), "expected metres"),
            ("time,node,x,y\n1,,2,3\n", Some(2), "the node is missing"),
            ("5 0 0\n", Some(1), "expected $node_(0) set X_ 5"),
            ("$node_(-22) set Y_ 3\n", Some(1), "expected $node_(0)"),
            ("$node_(3.3) set Y_ 1111\n", Some(1), "expected $node_(0)"),
            ("\n$ns_ at sss \"$node_(0) setdest 5 5 5\"\n", Some(2), "got \"sss\""),
            ("$ns_ at 1 \"$node_(0) setdest 2 2 -1\"\n", Some(1), "a speed in m/s"),
            ("$ns_ at 1 \"$node_(0) setdest 2 2 sdfs\"\n", Some(1), "got \"sdfs\""),
            ("$ns_ at 1 \"$node_(0) setdest 2 2\"\n", Some(1), "expected $node_(0)"),
            ("$ns_ at  \"$node_(0) setdest 4 4 4\"\n", Some(1), "a time in seconds"),
            ("$ns_ at -12 \"$node_(0) setdest 11 22 33\"\n", Some(1), "got \"-12\""),
            ("$node_(0) setdest 11 22 33\n", Some(1), "expected $node_(0)"),
        ] {
            let (found, why) = parse(text).expect_err(text);
            assert!(found == line && why.contains(words), "{text}{found:?}: {why}");
        }
    }

    proptest! {
        /// Places that a trace is written for are read back, in both formats; a node is never
        /// faster than its statements say.
        #[test]
        fn a_walk_is_read_back(
            steps in proptest::collection::vec((1u32..400, -200.0..200.0f64, -200.0..200.0f64), 1..12),
            at in 0.0..500.0f64,
        ) {
            let (mut ns2, mut csv) = (String::new(), String::from("time,node,x,y\n"));
            let (mut tenths, mut last) = (0, (0.0, 0.0));
            let mut fastest = 0.0f64;
            csv += "0,4,0,0\n";
            for &(step, x, y) in &steps {
                let begins = f64::from(tenths) / 10.0;
                let speed = f64::hypot(x - last.0, y - last.1) / (f64::from(step) / 10.0);
                ns2 += &format!("$ns_ at {begins} \"$node_(4) setdest {x} {y} {speed}\"\n");
                tenths += step;
                csv += &format!("{},4,{x},{y}\n", f64::from(tenths) / 10.0);
                (last, fastest) = ((x, y), fastest.max(speed));
            }
            let [ns2, csv] = [ns2, csv].map(|text| parse(&text).expect("it is a trace"));
            let mut tenths = 0;
            for &(step, x, y) in &steps {
                tenths += step;
                for trace in [&ns2, &csv] {
                    let found = place(trace, "4", f64::from(tenths) / 10.0);
                    let off = f64::hypot(found.0 - x, found.1 - y);
                    prop_assert!(off <= 1e-6 * (1.0 + fastest), "{found:?} for {x}, {y}");
                }
            }
            let (one, other) = (place(&ns2, "4", at), place(&csv, "4", at));
            let off = f64::hypot(one.0 - other.0, one.1 - other.1);
            prop_assert!(off <= 1e-6 * (1.0 + fastest), "{one:?} and {other:?}");
        }

        #[test]
        fn any_text_is_answered(
            text in r#"(\$node_\([0-9]{1,3}\) set [XYZ]_ [0-9e.+-]{0,9}|\$ns_ at [0-9e.]{0,9} "\$node_\([0-9]\) set(dest [0-9e.-]{1,6} [0-9e.-]{1,6} [0-9e.-]{1,6}| [XY]_ [0-9]{1,4})"|[ -~]{0,20}|\n){0,30}"#,
            rows in "[0-9.,a\n-]{0,60}",
        ) {
            for text in [text, format!("{HEADER}\n{rows}")] {
                if let Ok(trace) = parse(&text) {
                    for track in trace.0.values() {
                        for seconds in [0.0, 1.0, 1e3, SECONDS_MAX] {
                            let at = Instant::ZERO + Duration::from_secs_f64(seconds);
                            prop_assert!(track.position(at).iter().all(|it| it.0.abs() <= METERS_MAX));
                        }
                    }
                }
            }
        }
    }
}
