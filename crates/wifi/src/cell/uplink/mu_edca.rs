//! MU EDCA (IEEE 802.11ax-2021, 26.2.7): a station contends by other parameters for some time after
//! the access point acknowledged its data in a trigger-based PPDU.
//!
//! Each such acknowledgement restarts the time. With AIFSN 0 the station's EDCAF does not contend
//! at all meanwhile, not even for Block Ack Requests. In the standard, AC_VO sends management
//! frames. In this model they share the EDCAF of their category: while one waits, that EDCAF
//! contends with the usual parameters.

use super::super::station::BEACON_EDCAF;
use super::super::{Cell, Reason};
use crate::station::StationId;
use lasthop_units::{Duration, Instant};

/// Kind of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Timer {
    /// An access point's wait before it asks for buffer status again.
    Poll,
    /// A station's MUEDCATimer.
    MuEdca,
}

impl Cell {
    /// Starts the MUEDCATimer after data of `station` were acknowledged in a trigger-based PPDU.
    pub(super) fn contend_less(&mut self, station: StationId, edcaf: usize) {
        let access_point = self.access_point_of(station);
        let config = self.stations[access_point.index()].config.ofdma;
        let Some(parameters) = config.and_then(|of| of.uplink).and_then(|up| up.mu_edca[edcaf])
        else {
            return;
        };
        let now = self.now;
        let aifs = match parameters.aifsn {
            0 => Duration::MAX,
            slots => self.settings.timing.aifs(slots),
        };
        let access = self.access(station, edcaf);
        if !access.management.is_empty() {
            return;
        }
        access.backoff.set_limits((parameters.cw_min, parameters.cw_max));
        let contender = access.contender;
        self.contention.set_aifs(contender, aifs, now);
        self.set_timer(station, edcaf, Timer::MuEdca, now + parameters.timer);
    }

    /// Restores the usual parameters after the MUEDCATimer.
    pub(super) fn contend_as_ever(&mut self, station: StationId, edcaf: usize) {
        let now = self.now;
        let access = self.access(station, edcaf);
        let (parameters, contender) = (access.parameters, access.contender);
        access.backoff.set_limits((parameters.cw_min, parameters.cw_max));
        let aifs = self.settings.timing.aifs(parameters.aifsn);
        self.contention.set_aifs(contender, aifs, now);
    }

    /// Ends the MUEDCATimer, because a management frame waits in the station's EDCAF.
    pub(in super::super) fn lift_mu_edca(&mut self, station: StationId, edcaf: usize) {
        let timers = self.uplink_timers.len();
        self.uplink_timers.retain(|&(_, s, e, t)| (s, e, t) != (station, edcaf, Timer::MuEdca));
        if self.uplink_timers.len() < timers {
            self.find_next_uplink();
            self.contend_as_ever(station, edcaf);
        }
    }

    /// Sets a timer; replaces the running one.
    pub(in super::super) fn set_timer(
        &mut self,
        station: StationId,
        edcaf: usize,
        timer: Timer,
        at: Instant,
    ) {
        debug_assert!(edcaf < BEACON_EDCAF, "beacons have none");
        self.uplink_timers.retain(|&(_, s, e, t)| (s, e, t) != (station, edcaf, timer));
        self.uplink_timers.push((at, station, edcaf, timer));
        self.find_next_uplink();
    }

    /// Determines the first end of these timers or of an HE-SIG-A.
    pub(in super::super) fn find_next_uplink(&mut self) {
        let first = super::super::earliest(self.uplink_timers.iter().map(|timer| timer.0));
        let signal_field = self.spatial_reuse.as_ref().map(|reuse| reuse.next_signal_field);
        self.next_uplink = signal_field.map_or(first, |end| end.min(first));
    }

    /// Reason of the wake-up at the first of these instants.
    pub(in super::super) fn reason_of_timer(&self) -> Reason {
        let is_timer = self.uplink_timers.iter().any(|timer| timer.0 == self.next_uplink);
        if is_timer { Reason::Uplink } else { Reason::SignalField }
    }
}
