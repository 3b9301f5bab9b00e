//! The steps of a survey, one phase each, and upper bounds of what a survey sends.
//! Rates are in packets per second, lengths in bytes of IP packets, times in
//! seconds. Leaves out the choice of the next step, which is in `exact` and `fast`.

use crate::estimate::{Window, Windows};
use crate::plan::PhasePlan;
use lasthop_units::Duration;

/// One phase and its purpose.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SurveyStep {
    /// One rate of algorithm 1.
    Load {
        /// Index of the packet length.
        size: usize,
        /// The rate in packets per second.
        rate_pps: f64,
        /// The window in which it is sent.
        window: Window,
        /// The packets to send.
        plan: PhasePlan,
    },
    /// One rate, sent briefly and together with a baseline flow.
    Train {
        /// Index of the packet length.
        size: usize,
        /// The rate in packets per second.
        rate_pps: f64,
        /// The packets to send.
        plan: PhasePlan,
    },
    /// A constant, slight overload.
    Steady {
        /// Index of the packet length.
        size: usize,
        /// The windows: empty before and after, and the second half of the overload.
        windows: Windows,
        /// The window of the overload.
        bulk: Window,
        /// Packets of both flows per second in that window.
        offered_pps: f64,
        /// The packets to send.
        plan: PhasePlan,
    },
    /// A session: an empty, a full and an empty queue.
    Session {
        /// Index of the packet length.
        size: usize,
        /// The windows in which the queue is empty and full.
        windows: Windows,
        /// The packets to send.
        plan: PhasePlan,
    },
}

impl SurveyStep {
    /// The packets to send.
    pub(super) fn plan(&self) -> &PhasePlan {
        match self {
            Self::Load { plan, .. }
            | Self::Train { plan, .. }
            | Self::Steady { plan, .. }
            | Self::Session { plan, .. } => plan,
        }
    }
}

/// The state of the search for the saturation rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Search {
    /// This rate is to be tried next.
    Try(f64),
    /// The saturation rate was found.
    Found(f64),
    /// No allowed rate is high enough.
    Never,
}

/// Upper bounds of packets, bytes and time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Volume {
    packets: f64,
    bytes: f64,
    seconds: f64,
}

impl Volume {
    /// Adds `packets` of one length in `seconds`.
    pub(super) fn add(&mut self, packets: f64, packet_bytes: u16, seconds: f64) {
        self.packets += packets;
        self.bytes += packets * f64::from(packet_bytes);
        self.seconds += seconds;
    }

    /// Adds a plan that is run several times.
    pub(super) fn add_plan(&mut self, plan: &PhasePlan, times: u32) {
        let times = f64::from(times);
        self.packets += plan.packets() as f64 * times;
        self.bytes += plan.bytes() as f64 * times;
        self.seconds += plan.duration().as_secs_f64() * times;
    }

    /// The bounds for several directions: packets, bytes, time.
    pub(super) fn of_directions(&self, directions: usize) -> (u64, u64, Duration) {
        let all = |each: f64| libm::ceil(each * directions as f64) as u64;
        let seconds = self.seconds * directions as f64;
        (all(self.packets), all(self.bytes), Duration::from_secs_f64(seconds))
    }
}
