//! The track of each node with a radio: its position, and its waypoints, path or trace.

use super::{Expanded, Problems, WifiNode};
use crate::Role;
use crate::attached::movement::{Trace, trace};
use crate::raw::{RawNode, RawPath, RawTrace};
use lasthop_units::{Duration, Instant, Meters};
use lasthop_wifi::cell::{Track, Waypoint};
use std::collections::BTreeMap;

/// Default position of a station: a strong link at 5 m.
const STATION_POSITION: [Meters; 2] = [Meters(5.0), Meters(0.0)];

/// Largest number of waypoints of all nodes together.
const WAYPOINTS_MAX: usize = 1 << 20;

/// Longest time that a path takes, as for all times of a scenario.
const PATH_SECONDS_MAX: f64 = 10_000.0 * 3_600.0;

/// Traces that were read, by file.
type Traces = BTreeMap<String, Result<Trace, String>>;

/// Returns the track of each node.
pub(super) fn tracks(wifi: &[WifiNode<'_>], problems: &mut Problems) -> Vec<Track> {
    let mut traces = Traces::new();
    let mut waypoints = 0;
    let mut tracks = Vec::with_capacity(wifi.len());
    for (_, node) in wifi {
        let mut track = track(node, &mut traces, problems);
        waypoints += track.waypoints().len();
        if waypoints > WAYPOINTS_MAX {
            let message =
                format!("expected at most {WAYPOINTS_MAX} waypoints of all nodes, got more");
            problems.push(&node.raw.here, message);
            track = Track::still([Meters(0.0); 2]);
        }
        tracks.push(track);
    }
    tracks
}

fn track(node: &Expanded<'_>, traces: &mut Traces, problems: &mut Problems) -> Track {
    let position = position(node);
    let RawNode { waypoints, path, trace, .. } = node.raw;
    let given = [
        waypoints.first().map(|first| &first.here),
        path.as_ref().map(|path| &path.here),
        trace.as_ref().map(|trace| &trace.here),
    ];
    if let Some(second) = given.into_iter().flatten().nth(1) {
        problems.push(second, "a node has one of waypoints, path and trace, not several");
        return Track::still(position);
    }
    if let Some(path) = path {
        return along(path, node, position, problems);
    }
    if let Some(trace) = trace {
        return traced(trace, node, traces, problems).unwrap_or_else(|| Track::still(position));
    }
    let mut track = vec![Waypoint { at: Instant::ZERO, position }];
    let mut last = Duration::ZERO;
    for waypoint in waypoints {
        let at = waypoint.at.value;
        if at <= last {
            problems.push(&waypoint.at.place, format!("expected more than {last}, got {at}"));
        }
        last = at.max(last);
        let position = beside(waypoint.position.value, node);
        track.push(Waypoint { at: Instant::ZERO + last, position });
    }
    Track::through(track)
}

/// Returns the track of a node that follows a path.
fn along(
    path: &RawPath,
    node: &Expanded<'_>,
    position: [Meters; 2],
    problems: &mut Problems,
) -> Track {
    let speed = path.speed.value.0;
    if speed <= 0.0 {
        problems.push(&path.speed.place, "expected more than zero");
        return Track::still(position);
    }
    let start = Instant::ZERO + path.start.value;
    let through = path.through.value.iter().map(|&place| beside(place, node));
    let back = path.repeat.value.then_some(position);
    let mut track = vec![Waypoint { at: start, position }];
    let (mut last, mut meters) = (position, 0.0);
    for place in through.chain(back) {
        meters += f64::hypot(place[0].0 - last[0].0, place[1].0 - last[1].0);
        last = place;
        let seconds = meters / speed;
        if seconds > PATH_SECONDS_MAX {
            problems.push(&path.speed.place, "the path takes longer than 10000 hours");
            return Track::still(position);
        }
        let at = start + Duration::from_secs_f64(seconds);
        track.push(Waypoint { at, position: place });
    }
    let period = Duration::from_secs_f64(meters / speed);
    if period.is_zero() {
        problems.push(&path.through.place, "the path ends where it begins, without length");
        return Track::still(position);
    }
    let track = Track::through(track);
    if path.repeat.value { track.repeated(period) } else { track }
}

/// Returns the track of a node in a file.
fn traced(
    raw: &RawTrace,
    node: &Expanded<'_>,
    traces: &mut Traces,
    problems: &mut Problems,
) -> Option<Track> {
    let of_position = node.raw.position.as_ref().map(|at| &at.place);
    let of_ring = node.raw.ring.as_ref().map(|at| &at.place);
    for place in [of_position, of_ring].into_iter().flatten() {
        problems.push(place, "the position of this node is in its trace");
    }
    let path = &raw.file.value.0;
    let known = traces.entry(path.clone()).or_insert_with(|| trace(path));
    let known = match known {
        Ok(known) => known,
        Err(why) => {
            problems.push(&raw.file.place, why.clone());
            return None;
        }
    };
    let name = match &raw.node {
        None => node.name.clone(),
        Some(first) if node.raw.count.is_none() => first.value.0.clone(),
        Some(first) => {
            let number = first.value.0.parse::<usize>().ok();
            let Some(number) = number.and_then(|first| first.checked_add(node.index)) else {
                let message = "with a count, expected the number of the first node in the file";
                problems.push(&first.place, message);
                return None;
            };
            number.to_string()
        }
    };
    let track = known.track(&name).cloned();
    if track.is_none() {
        let place = raw.node.as_ref().map_or(&raw.file.place, |node| &node.place);
        let message = format!("{path}: there is no node {name}; there are {}", known.names());
        problems.push(place, message);
    }
    track
}

/// Position of a node at the beginning.
fn position(node: &Expanded<'_>) -> [Meters; 2] {
    let usual = match node.role() {
        Role::AccessPoint => [Meters(0.0); 2],
        _ => STATION_POSITION,
    };
    beside(node.raw.position.as_ref().map_or(usual, |at| at.value), node)
}

/// Returns the place of a node of several on a ring around `centre`.
fn beside([x, y]: [Meters; 2], node: &Expanded<'_>) -> [Meters; 2] {
    let radius = node.raw.ring.as_ref().map_or(0.0, |at| at.value.0);
    let angle = core::f64::consts::TAU * node.index as f64 / node.count as f64;
    [Meters(x.0 + radius * angle.cos()), Meters(y.0 + radius * angle.sin())]
}
