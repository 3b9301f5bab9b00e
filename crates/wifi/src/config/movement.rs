//! Stations that move: the track of each, and the path loss that turns distances into mean SNRs.
//! Times are instants of the run, distances metres on the floor, x and y. A station moves evenly on
//! a straight line from one waypoint to the next. Left out: height, walls, and fading whose Doppler
//! rate follows the speed.

use crate::phy::PathLoss;
use crate::station::StationId;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant, Meters};

/// A place that a station reaches at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// Instant at which the station is there.
    pub at: Instant,
    /// Its position, x and y.
    pub position: [Meters; 2],
}

/// The positions of a station during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    waypoints: Vec<Waypoint>,
    /// Time after which the track begins again.
    period: Option<Duration>,
    /// Whether the position ever changes.
    moves: bool,
}

impl Track {
    /// Returns the track of a station that stays where it is.
    pub fn still(position: [Meters; 2]) -> Self {
        Self::through(alloc::vec![Waypoint { at: Instant::ZERO, position }])
    }

    /// Returns a track through waypoints. Before the first one the station is there, after the last
    /// one it stays. Of several waypoints at one instant the station passes all at once: it jumps
    /// from the first to the last.
    ///
    /// # Panics
    /// Panics if there is no waypoint, if one is before the previous one, or if a coordinate is not
    /// finite.
    pub fn through(waypoints: Vec<Waypoint>) -> Self {
        assert!(!waypoints.is_empty(), "a station is somewhere");
        assert!(waypoints.is_sorted_by_key(|it| it.at), "time does not run backwards");
        let is_finite = |it: &Waypoint| it.position.iter().all(|it| it.0.is_finite());
        assert!(waypoints.iter().all(is_finite), "coordinates are numbers");
        let moves = waypoints.iter().any(|it| it.position != waypoints[0].position);
        Self { waypoints, period: None, moves }
    }

    /// Returns the same track again and again: `period` after its beginning the station is where
    /// the track begins.
    ///
    /// # Panics
    /// Panics if the period is zero.
    #[must_use]
    pub fn repeated(self, period: Duration) -> Self {
        assert!(!period.is_zero(), "a repeated track takes time");
        Self { period: Some(period), ..self }
    }

    /// Whether the station ever changes its position.
    pub const fn moves(&self) -> bool {
        self.moves
    }

    /// The waypoints, in ascending order of instants.
    pub fn waypoints(&self) -> &[Waypoint] {
        &self.waypoints
    }

    /// The position at an instant, x and y.
    pub fn position(&self, at: Instant) -> [Meters; 2] {
        let begin = self.waypoints[0].at;
        let at = match self.period {
            Some(period) if at > begin => begin + (at - begin) % period,
            _ => at,
        };
        let next = self.waypoints.partition_point(|it| it.at <= at);
        let Some(before) = next.checked_sub(1).map(|last| self.waypoints[last]) else {
            return self.waypoints[0].position;
        };
        let Some(after) = self.waypoints.get(next) else { return before.position };
        let whole = (after.at - before.at).as_secs_f64();
        let share = (at - before.at).as_secs_f64() / whole;
        let between = |from: Meters, to: Meters| Meters(from.0 + share * (to.0 - from.0));
        let ([x, y], [u, v]) = (before.position, after.position);
        [between(x, u), between(y, v)]
    }
}

/// The distance between two positions.
pub fn distance([x, y]: [Meters; 2], [u, v]: [Meters; 2]) -> Meters {
    Meters(libm::hypot(x.0 - u.0, y.0 - v.0))
}

/// Movement of the stations of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// Path loss over distance, by which the mean SNR of a pair follows its distance.
    pub path_loss: PathLoss,
    /// Track of each station, by [`StationId`].
    pub tracks: Vec<Track>,
    /// Links, by transmitter and receiver, whose mean SNR does not follow.
    pub fixed: BTreeSet<(StationId, StationId)>,
}

impl Movement {
    /// Whether the mean SNR of a link follows the positions of its ends, one of which moves.
    pub fn follows(&self, from: StationId, to: StationId) -> bool {
        let moves = |id: StationId| self.tracks[id.index()].moves();
        !self.fixed.contains(&(from, to)) && (moves(from) || moves(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn track(waypoints: &[(u64, f64, f64)]) -> Track {
        let waypoint =
            |&(millis, x, y)| Waypoint { at: at(millis), position: [Meters(x), Meters(y)] };
        Track::through(waypoints.iter().map(waypoint).collect())
    }

    fn place(track: &Track, millis: u64) -> (f64, f64) {
        let [x, y] = track.position(at(millis));
        (x.0, y.0)
    }

    #[test]
    fn a_station_moves_evenly_between_waypoints() {
        let walk = track(&[(1_000, 5.0, 0.0), (3_000, 9.0, -2.0), (4_000, 9.0, 0.0)]);
        assert!(walk.moves());
        for (millis, expected) in [
            (0, (5.0, 0.0)),
            (1_000, (5.0, 0.0)),
            (1_500, (6.0, -0.5)),
            (3_000, (9.0, -2.0)),
            (3_500, (9.0, -1.0)),
            (4_000, (9.0, 0.0)),
            (9_000, (9.0, 0.0)),
        ] {
            assert_eq!(place(&walk, millis), expected, "{millis} ms");
        }
    }

    #[test]
    fn a_track_begins_again() {
        let round = track(&[(500, 0.0, 0.0), (1_500, 10.0, 0.0), (2_500, 0.0, 0.0)]);
        let round = round.repeated(Duration::from_secs(2));
        for (millis, x) in [(0, 0.0), (1_000, 5.0), (2_400, 1.0), (2_500, 0.0), (3_000, 5.0)] {
            assert!((place(&round, millis).0 - x).abs() < 1e-9, "{millis} ms");
            if millis > 500 {
                assert!((place(&round, millis + 200_000).0 - x).abs() < 1e-9, "{millis} ms");
            }
        }
    }

    #[test]
    fn a_station_jumps_between_waypoints_of_one_instant() {
        let jump = track(&[(0, 0.0, 0.0), (1_000, 0.0, 0.0), (1_000, 50.0, 0.0)]);
        assert_eq!((place(&jump, 999), place(&jump, 1_000)), ((0.0, 0.0), (50.0, 0.0)));
        assert!(!Track::still([Meters(1.0); 2]).moves());
    }

    proptest! {
        /// Between two instants a station covers no more than its highest speed allows, and its
        /// waypoints are on its way.
        #[test]
        fn speeds_have_a_limit(
            steps in proptest::collection::vec((1u64..5_000, -50.0..50.0f64, -50.0..50.0f64), 1..8),
            times in proptest::collection::vec(0u64..40_000, 2),
        ) {
            let mut millis = 0;
            let points: Vec<_> = steps.iter().map(|&(step, x, y)| {
                millis += step;
                (millis, x, y)
            }).collect();
            let walk = track(&points);
            for &(millis, x, y) in &points {
                prop_assert_eq!(place(&walk, millis), (x, y));
            }
            let fastest = points.windows(2).map(|pair| {
                let ((from, x, y), (to, u, v)) = (pair[0], pair[1]);
                libm::hypot(u - x, v - y) / (to - from) as f64
            }).fold(0.0, f64::max);
            let [one, other] = [times[0].min(times[1]), times[0].max(times[1])];
            let covered = distance(walk.position(at(one)), walk.position(at(other)));
            prop_assert!(covered.0 <= fastest * (other - one) as f64 + 1e-9);
        }
    }
}
