//! State of service periods: that of an access point, and that of a station which has them. The
//! procedures are in `service`.

use crate::cell::edcaf::Gate;
use crate::mac::service_period::ServicePeriodConfig;
use crate::station::{Address, StationId};
use lasthop_units::Instant;

/// A service period, as the access point knows it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct ServicePeriod {
    pub station: StationId,
    /// Number of frames that may still be sent; unlimited if `None`.
    pub left: Option<u8>,
    /// End of a scheduled period.
    pub until: Option<Instant>,
    /// Whether the station is known to be awake, or frames were sent to it: it waits for EOSP.
    pub is_open: bool,
}

impl ServicePeriod {
    pub fn is_for(&self, peer: Address) -> bool {
        peer == Address::Station(self.station)
    }

    /// Whether more than one frame may still be sent.
    pub fn has_several_left(&self) -> bool {
        self.left.is_none_or(|left| left > 1)
    }

    /// Counts frames of the period that were acknowledged or given up.
    pub fn count(&mut self, frames: u32) {
        self.left =
            self.left.map(|left| left.saturating_sub(u8::try_from(frames).unwrap_or(u8::MAX)));
    }
}

/// The state of a station with service periods.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Service {
    pub config: ServicePeriodConfig,
    /// Whether the radio is on.
    pub is_on: bool,
    /// Whether it waits for the end of a service period.
    pub is_served: bool,
    /// Whether data that begin a service period were not acknowledged, and no EOSP came since. The
    /// answer to a Block Ack Request shows whether the access point received them.
    pub may_be_served: bool,
    /// Whether it waits for a beacon, or for the group frames after it.
    pub listens: bool,
    /// Whether it sent a PS-Poll and waits for the requested frame.
    pub polls: bool,
    /// Beacons until the next one that it listens to.
    pub beacons_left: u8,
    /// End of the current scheduled service period.
    pub until: Option<Instant>,
    /// Next target wake time, or next start of an unscheduled period without a frame to send.
    pub next: Instant,
    /// Instant at which it asks again because EOSP is missing.
    pub overdue: Instant,
}

impl Service {
    pub fn new(config: ServicePeriodConfig) -> Self {
        let (next, beacons_left) = match config {
            ServicePeriodConfig::Unscheduled(config) => (
                config.trigger_interval.map_or(Instant::MAX, |interval| Instant::ZERO + interval),
                config.listen_interval,
            ),
            ServicePeriodConfig::TargetWake(config) => (Instant::ZERO + config.first_wake, 0),
        };
        Self {
            config,
            is_on: false,
            is_served: false,
            may_be_served: false,
            listens: false,
            polls: false,
            beacons_left,
            until: None,
            next,
            overdue: Instant::MAX,
        }
    }

    pub fn gate(&self) -> Gate {
        if self.is_on && (self.until.is_some() || self.config.has_unscheduled()) {
            Gate::Open
        } else {
            Gate::Shut
        }
    }

    pub fn due(&self) -> Instant {
        self.next.min(self.until.unwrap_or(Instant::MAX)).min(self.overdue)
    }

    /// Whether it waits for a frame, independent of frames to send.
    pub const fn waits(&self) -> bool {
        self.is_served || self.listens || self.polls
    }
}
