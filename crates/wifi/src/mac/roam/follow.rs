//! A station that follows its access point to another channel, as mac80211 of Linux 6.1 does
//! (`ieee80211_sta_process_chanswitch`, `ieee80211_chswitch_work`): the first announcement counts; with
//! Channel Switch Mode 1 the station stops its queues at once; it moves the announced beacon intervals
//! less one after the announcement, and resumes its queues with the first beacon there. Its watch for
//! lost beacons begins anew with the move.

use crate::phy::Subchannel;
use lasthop_units::Instant;

/// A move of its access point that a station heard announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The new primary channel.
    pub to: Subchannel,
    /// Whether the station sends no data until the first beacon there.
    pub quiet: bool,
    /// Instant of the first announcement.
    pub heard_at: Instant,
    /// Instant at which the station moves.
    pub at: Instant,
    /// Whether it has moved, and waits for a beacon.
    pub moved: bool,
}

impl Follow {
    /// Instant since which no data flow, once the station has moved at `at`.
    pub fn without_since(&self) -> Instant {
        if self.quiet { self.heard_at } else { self.at }
    }
}
