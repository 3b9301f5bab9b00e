//! What a survey does in one phase, and how much a survey may send.

use crate::estimate::{Window, Windows};
use crate::plan::PhasePlan;
use lasthop_units::Duration;

/// One phase and what it is for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// A rate is tried.
    Load {
        /// Index of the packet length.
        size: usize,
        /// Packets a second.
        rate_pps: f64,
        /// When it is sent.
        window: Window,
        /// What is sent.
        plan: PhasePlan,
    },
    /// The same, briefly, beside a baseline flow.
    Train {
        /// Index of the packet length.
        size: usize,
        /// Packets a second.
        rate_pps: f64,
        /// What is sent.
        plan: PhasePlan,
    },
    /// A constant overload.
    Steady {
        /// Index of the packet length.
        size: usize,
        /// Where the queue is empty; the second half of the overload.
        windows: Windows,
        /// The overload.
        bulk: Window,
        /// Packets of both flows a second meanwhile.
        offered_pps: f64,
        /// What is sent.
        plan: PhasePlan,
    },
    /// An empty, a full, an empty queue.
    Session {
        /// Index of the packet length.
        size: usize,
        /// Where it is which.
        windows: Windows,
        /// What is sent.
        plan: PhasePlan,
    },
}

impl Step {
    /// What is sent.
    pub(super) fn plan(&self) -> &PhasePlan {
        match self {
            Self::Load { plan, .. }
            | Self::Train { plan, .. }
            | Self::Steady { plan, .. }
            | Self::Session { plan, .. } => plan,
        }
    }
}

/// What the search for the saturation rate says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Search {
    /// Try this rate.
    Try(f64),
    /// This is it.
    Found(f64),
    /// No rate that is allowed is high enough.
    Never,
}

/// Packets, bytes and time, as upper bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Volume {
    packets: f64,
    bytes: f64,
    seconds: f64,
}

impl Volume {
    /// So many packets of one length in so many seconds.
    pub(super) fn add(&mut self, packets: f64, packet_bytes: u16, seconds: f64) {
        self.packets += packets;
        self.bytes += packets * f64::from(packet_bytes);
        self.seconds += seconds;
    }

    /// A plan, several times.
    pub(super) fn add_plan(&mut self, plan: &PhasePlan, times: u32) {
        let times = f64::from(times);
        self.packets += plan.packets() as f64 * times;
        self.bytes += plan.bytes() as f64 * times;
        self.seconds += plan.duration().as_secs_f64() * times;
    }

    /// The same for several directions.
    pub(super) fn of_directions(&self, directions: usize) -> (u64, u64, Duration) {
        let all = |each: f64| libm::ceil(each * directions as f64) as u64;
        let seconds = self.seconds * directions as f64;
        (all(self.packets), all(self.bytes), Duration::from_secs_f64(seconds))
    }
}
