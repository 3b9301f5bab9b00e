//! MU EDCA (IEEE 802.11ax-2021, 26.2.7): a station contends by other parameters for some time after
//! the access point acknowledged its data in a trigger-based PPDU.
//!
//! Each such acknowledgement restarts the time. With AIFSN 0 the station's EDCAF does not contend
//! at all meanwhile, not even for Block Ack Requests. In the standard, AC_VO sends management
//! frames. In this model they share the EDCAF of their category: while one waits, that EDCAF
//! contends with the usual parameters.

use crate::cell::floor::Floor;
use crate::cell::timers::{Timer, UplinkWait};
use crate::station::StationId;
use lasthop_units::Duration;

impl Floor<'_> {
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
        let access = self.stations[station.index()].edcaf(edcaf);
        if !access.management.is_empty() {
            return;
        }
        access.backoff.set_limits(parameters.cw_min, parameters.cw_max);
        let contender = access.contender;
        self.contention.set_aifs(contender, aifs, now);
        self.timers
            .set_uplink(now + parameters.timer, UplinkWait { station, edcaf, kind: Timer::MuEdca });
    }

    /// Restores the usual parameters after the MUEDCATimer.
    pub(in crate::cell) fn contend_as_ever(&mut self, station: StationId, edcaf: usize) {
        let now = self.now;
        let access = self.stations[station.index()].edcaf(edcaf);
        let (parameters, contender) = (access.parameters, access.contender);
        access.backoff.set_limits(parameters.cw_min, parameters.cw_max);
        let aifs = self.settings.timing.aifs(parameters.aifsn);
        self.contention.set_aifs(contender, aifs, now);
    }

    /// Ends the MUEDCATimer, because a management frame waits in the station's EDCAF.
    pub(in crate::cell) fn lift_mu_edca(&mut self, station: StationId, edcaf: usize) {
        if self.timers.cancel_uplink(UplinkWait { station, edcaf, kind: Timer::MuEdca }) {
            self.contend_as_ever(station, edcaf);
        }
    }
}
