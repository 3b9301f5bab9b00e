//! MU EDCA (IEEE 802.11ax-2021, 26.2.7): a station contends by other parameters for some time
//! after the access point acknowledged data of it in a trigger-based PPDU.
//!
//! Each such acknowledgement starts the time anew. With AIFSN 0 the station's EDCAF does not
//! contend at all meanwhile, not for Block Ack Requests either. Management frames, which AC_VO
//! sends in the standard, share the EDCAF of their category here: while one waits, the station
//! contends as ever in it.

use super::super::station::BEACON_EDCAF;
use super::super::{Cell, Reason};
use crate::station::StationId;
use lasthop_units::{Duration, Instant};

/// What ends at some instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Timer {
    /// An access point's wait before it asks for buffer status again.
    Poll,
    /// A station's MUEDCATimer.
    MuEdca,
}

impl Cell {
    /// Data of `station` were acknowledged in a trigger-based PPDU.
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

    /// The MUEDCATimer ended.
    pub(super) fn contend_as_ever(&mut self, station: StationId, edcaf: usize) {
        let now = self.now;
        let access = self.access(station, edcaf);
        let (parameters, contender) = (access.parameters, access.contender);
        access.backoff.set_limits((parameters.cw_min, parameters.cw_max));
        let aifs = self.settings.timing.aifs(parameters.aifsn);
        self.contention.set_aifs(contender, aifs, now);
    }

    /// A management frame waits in the station's EDCAF: its MUEDCATimer ends.
    pub(in super::super) fn lift_mu_edca(&mut self, station: StationId, edcaf: usize) {
        let timers = self.uplink_timers.len();
        self.uplink_timers.retain(|&(_, s, e, t)| (s, e, t) != (station, edcaf, Timer::MuEdca));
        if self.uplink_timers.len() < timers {
            self.find_next_uplink();
            self.contend_as_ever(station, edcaf);
        }
    }

    /// Sets a timer, in place of the one that runs.
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

    /// Finds when the first of these timers, or an HE-SIG-A, ends.
    pub(in super::super) fn find_next_uplink(&mut self) {
        let first = super::super::earliest(self.uplink_timers.iter().map(|timer| timer.0));
        let signal_field = self.spatial_reuse.as_ref().map(|reuse| reuse.next_signal_field);
        self.next_uplink = signal_field.map_or(first, |end| end.min(first));
    }

    /// What is due at the first of these instants.
    pub(in super::super) fn reason_of_timer(&self) -> Reason {
        let is_timer = self.uplink_timers.iter().any(|timer| timer.0 == self.next_uplink);
        if is_timer { Reason::Uplink } else { Reason::SignalField }
    }
}
