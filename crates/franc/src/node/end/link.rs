//! One of the links of an end to its neighbour: the state of its path, the search for its MTU, and
//! the longest datagrams received on it. Lengths are in bytes. Leaves out the content of
//! datagrams, which is the session's.

use crate::config::PaceConfig;
use crate::path_mtu::{Longest, PathAnswers, PathMtu};
use crate::path_state::PathState;
use lasthop_units::{Duration, Instant};

/// A link to the neighbour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub path: PathState,
    /// The search for the path's MTU, if no node is between the ends and the mode
    /// is a stream.
    pub path_mtu: Option<PathMtu>,
    /// The longest datagrams received from the other end.
    pub longest: Longest,
}

impl Link {
    pub fn new(
        pace: Option<PaceConfig>,
        encoder_timeout: Duration,
        path_mtu: Option<PathMtu>,
        now: Instant,
    ) -> Self {
        let path = PathState::new(pace, encoder_timeout, now);
        Self { path, path_mtu, longest: Longest::new(now) }
    }

    /// The conditions under which the other end answers a probe.
    pub fn answers(&self) -> PathAnswers {
        let gets_through =
            (1.0 - self.path.loss.probability()) * (1.0 - self.path.loss_in().unwrap_or(0.0));
        PathAnswers { loss: 1.0 - gets_through, round_trip: self.path.lateness() }
    }
}
