//! Stations that cannot be reached for a while: scans (`away`), absences by a clock (`schedule`),
//! power save (`doze`), service periods (`service`), and the waits of packets that they cause
//! (`waits`). `absence` has the state of such a station.
//!
//! [`Power`] has the knowledge of the access points. Its functions borrow a floor beside it:
//! they change stations and their queues, contention and what is due, and only read the air.
//! Functions of the floor itself know nothing of the access points' knowledge.

mod absence;
mod away;
mod doze;
mod period;
mod schedule;
mod service;
mod waits;

pub(super) use absence::{Away, Listening, Rhythm};
pub(super) use away::PROBE_DELAY;
pub(super) use period::ServicePeriod;

use crate::station::StationId;
use alloc::vec::Vec;

/// Knowledge of stations that leave the channel or doze.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Power {
    /// Stations whose driver still sends its held frames before they leave.
    flushing: Vec<StationId>,
    /// Stations that their access points know to be unreachable.
    pub dozing: Vec<StationId>,
    /// Number of these, of stations that roam, and of access points that have failed; one more if access
    /// points may listen for radar.
    pub(super) special: usize,
    /// Whether a station has service periods, or dozes between its frames.
    has_services: bool,
    /// Whether a station has a schedule of absences, or roams.
    has_schedules: bool,
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

    /// Whether packets may need more than a place in a queue: an access point knows a station to be
    /// unreachable, or has failed, or a station roams.
    #[inline]
    pub const fn has_special(&self) -> bool {
        self.special > 0
    }

    /// Whether a station has service periods.
    pub const fn has_services(&self) -> bool {
        self.has_services
    }
}
