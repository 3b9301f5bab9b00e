//! Stations that cannot be reached for a while: scans (`away`), power save (`doze`), service
//! periods (`service`), and the waits of packets that they cause (`waits`). `absence` has the state
//! of such a station.
//!
//! [`Power`] has the knowledge of the access points. Its functions borrow a [`Floor`] beside it:
//! they change stations and their queues, contention and what is due, and only read the air.
//! Functions of the floor itself know nothing of the access points' knowledge.

mod absence;
mod away;
mod doze;
mod service;
mod waits;

pub(super) use absence::Away;
pub(super) use doze::Tim;
pub(super) use service::ServicePeriod;

use super::floor::Floor;
use super::station::Station;
use crate::station::{BssId, StationId};
use alloc::vec::Vec;
use lasthop_units::Probability;

/// Knowledge of stations that leave the channel or doze.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Power {
    /// Stations whose driver still sends its held frames before they leave.
    flushing: Vec<StationId>,
    /// Stations that their access points know to be unreachable.
    pub dozing: Vec<StationId>,
    /// Whether a station has service periods, or dozes between its frames.
    has_services: bool,
    /// Service periods in progress, as access points know them.
    pub services: Vec<ServicePeriod>,
}

impl Power {
    /// Whether the driver of a station that leaves still sends held frames.
    #[inline]
    pub fn is_flushing(&self) -> bool {
        !self.flushing.is_empty()
    }

    /// Whether the access point of `station` knows it to be unreachable.
    pub fn is_dozing(&self, station: StationId) -> bool {
        self.dozing.contains(&station)
    }

    /// Whether an access point knows a station to be unreachable.
    #[inline]
    pub fn has_dozing(&self) -> bool {
        !self.dozing.is_empty()
    }

    /// Whether a station of a set is known to be unreachable.
    fn has_dozing_in(&self, floor: &Floor<'_>, bss: BssId) -> bool {
        self.dozing.iter().any(|station| floor.bss_of(*station) == bss)
            || self.is_saving(floor, bss)
    }

    /// Whether a station has service periods.
    pub const fn has_services(&self) -> bool {
        self.has_services
    }

    /// Whether a station of a set stays in power save mode.
    pub fn is_saving(&self, floor: &Floor<'_>, bss: BssId) -> bool {
        self.has_services
            && floor.stations.iter().any(|station| {
                station.config.bss == bss && station.config.service_periods.is_some()
            })
    }
}

impl Station {
    /// Whether it saves power with service periods.
    pub fn has_service_periods(&self) -> bool {
        self.config.service_periods.is_some()
    }

    /// Whether it dozes between its frames and sends them in power save mode, with the Power
    /// Management bit set.
    pub fn sends_in_power_save(&self) -> bool {
        self.away.as_deref().is_some_and(Away::sends_in_power_save)
    }

    /// Whether its data have the Power Management bit set.
    pub fn is_in_power_save(&self) -> bool {
        self.has_service_periods() || self.sends_in_power_save()
    }

    /// Whether a beacon announces frames that an EDCAF of the access point holds for it (11.2.3.6):
    /// unless all categories are delivery-enabled, only frames of the others.
    fn is_announced(&self, edcaf: usize) -> bool {
        let config = self.config.service_periods;
        config.is_none_or(|config| config.delivers_all() || !config.delivers(edcaf))
    }

    /// Whether its PS-Poll releases frames of an EDCAF of the access point.
    fn is_polled(&self, edcaf: usize) -> bool {
        self.config.service_periods.is_none_or(|config| !config.delivers(edcaf))
    }

    /// Attempts after which it gives up a Null frame.
    pub fn null_attempts_max(&self) -> u8 {
        self.away.as_deref().map_or(self.config.retry_limit, |away| away.null.attempts)
    }

    /// Probability that its access point ignores a Null that it has decoded.
    pub fn null_loss(&self, power_management: bool) -> Probability {
        self.away.as_deref().map_or(Probability::ZERO, |away| {
            if power_management { away.null.leave_loss } else { away.null.return_loss }
        })
    }
}
