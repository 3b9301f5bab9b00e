//! Neighbor reports (802.11k; IEEE 802.11-2020, 11.10.10): a station asks its access point for the
//! other access points of the network, and then looks on their channels only.
//!
//! The rules are iwd's (`station_roamed`, `station_early_neighbor_report_cb`, `station_roam_failed`):
//! a station asks when it has joined, once. If no report came, it asks again before it scans, and
//! then scans all channels. If the listed channels have nothing better and the signal is low, it
//! scans all channels at once. wpa_supplicant asks on demand of its control interface only.
//!
//! The access point's time to answer is part of the machine, as in [`join`](super::join). Left out:
//! reports that leave access points out, and requests for other networks.

use super::frame::RoamFrame;
use lasthop_units::{Duration, Instant};

/// Wait for a report: wpa_supplicant's `RRM_NEIGHBOR_REPORT_TIMEOUT`.
const ANSWER: Duration = Duration::from_secs(1);

/// A station's knowledge of its access point's neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    state: ReportState,
    /// Whether it has asked for the sake of the next scan.
    has_asked_for_scan: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportState {
    /// The station asks then.
    Asks(Instant),
    /// The station has asked, and waits until then.
    Asked { answer: ReportAnswer, until: Instant },
    /// It has a report.
    Known,
    /// No report came.
    Missing,
}

/// The access point's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportAnswer {
    /// The request has not arrived.
    Awaited,
    /// The access point answers then.
    Due(Instant),
    /// It has answered.
    Sent,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourStep {
    /// No act is due.
    Wait,
    /// The frame is to be sent.
    Send(RoamFrame),
    /// The station has the report.
    Reported,
    /// No report came.
    Unreported,
}

impl Neighbours {
    /// A station that has joined an access point, and asks it at `at`.
    pub const fn new(at: Instant) -> Self {
        Self { state: ReportState::Asks(at), has_asked_for_scan: false }
    }

    /// Whether the station has the report.
    pub fn is_known(&self) -> bool {
        self.state == ReportState::Known
    }

    /// Whether a request is about to be sent, or its answer awaited.
    pub fn is_pending(&self) -> bool {
        matches!(self.state, ReportState::Asks(_) | ReportState::Asked { .. })
    }

    /// Instant of the next step; [`Instant::MAX`] for none.
    pub fn due(&self) -> Instant {
        match self.state {
            ReportState::Asks(at) | ReportState::Asked { answer: ReportAnswer::Due(at), .. } => at,
            ReportState::Asked { until, .. } => until,
            ReportState::Known | ReportState::Missing => Instant::MAX,
        }
    }

    /// Performs the step that is due at `now`.
    pub fn handle_due(&mut self, now: Instant) -> NeighbourStep {
        match self.state {
            ReportState::Asks(at) if at <= now => {
                self.state =
                    ReportState::Asked { answer: ReportAnswer::Awaited, until: now + ANSWER };
                NeighbourStep::Send(RoamFrame::NeighborReportRequest)
            }
            ReportState::Asked { answer: ReportAnswer::Due(at), until } if at <= now => {
                self.state = ReportState::Asked { answer: ReportAnswer::Sent, until };
                NeighbourStep::Send(RoamFrame::NeighborReportResponse)
            }
            ReportState::Asked { answer: ReportAnswer::Awaited | ReportAnswer::Sent, until }
                if until <= now =>
            {
                self.state = ReportState::Missing;
                NeighbourStep::Unreported
            }
            _ => NeighbourStep::Wait,
        }
    }

    /// Handles a frame at its receiver; the access point answers a request after `delay`.
    pub fn handle_arrival(
        &mut self,
        now: Instant,
        frame: RoamFrame,
        delay: Duration,
    ) -> NeighbourStep {
        match (frame, self.state) {
            (
                RoamFrame::NeighborReportRequest,
                ReportState::Asked { answer: ReportAnswer::Awaited, until },
            ) => {
                self.state = ReportState::Asked { answer: ReportAnswer::Due(now + delay), until };
                NeighbourStep::Wait
            }
            (RoamFrame::NeighborReportResponse, ReportState::Asked { .. }) => {
                self.state = ReportState::Known;
                NeighbourStep::Reported
            }
            // An answer too late: iwd has removed its callback.
            _ => NeighbourStep::Wait,
        }
    }

    /// Whether a scan may begin at `now`; if not, the station asks first.
    pub fn allows_scan(&mut self, now: Instant) -> bool {
        if self.state == ReportState::Missing && !self.has_asked_for_scan {
            self.state = ReportState::Asks(now);
            self.has_asked_for_scan = true;
        } else if !self.is_pending() {
            self.has_asked_for_scan = false;
        }
        !self.is_pending()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const DELAY: Duration = Duration::from_micros(400);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Without any answer: a request after the join, one before each scan, and every scan 1 s later.
    #[test]
    fn it_asks_again_before_a_scan() {
        let mut neighbours = Neighbours::new(at(2));
        let request = NeighbourStep::Send(RoamFrame::NeighborReportRequest);
        assert_eq!(neighbours.handle_due(at(2)), request);
        assert!(!neighbours.allows_scan(at(500)));
        assert_eq!(neighbours.due(), at(1_002));
        assert_eq!(neighbours.handle_due(at(1_002)), NeighbourStep::Unreported);
        for scan in [30_000, 60_000] {
            assert!(!neighbours.allows_scan(at(scan)));
            assert_eq!(neighbours.handle_due(at(scan)), request);
            assert_eq!(neighbours.handle_due(at(scan + 1_000)), NeighbourStep::Unreported);
            assert!(neighbours.allows_scan(at(scan + 1_000)), "it scans without");
        }
    }

    /// A repeated request whose acknowledgement was lost is answered once.
    #[test]
    fn one_request_has_one_answer() {
        let mut neighbours = Neighbours::new(at(0));
        neighbours.handle_due(at(0));
        for ms in [1, 2] {
            let step = neighbours.handle_arrival(at(ms), RoamFrame::NeighborReportRequest, DELAY);
            assert_eq!(step, NeighbourStep::Wait);
        }
        assert_eq!(neighbours.due(), at(1) + DELAY);
        let answer = NeighbourStep::Send(RoamFrame::NeighborReportResponse);
        assert_eq!(neighbours.handle_due(at(2)), answer);
        assert_eq!(neighbours.due(), at(1_000));
        let step = neighbours.handle_arrival(at(3), RoamFrame::NeighborReportResponse, DELAY);
        assert_eq!((step, neighbours.is_known()), (NeighbourStep::Reported, true));
        assert!(neighbours.allows_scan(at(4)));
        assert_eq!(neighbours.due(), Instant::MAX);
    }

    proptest! {
        /// With any losses and scans it never asks for the past, and every scan comes at last.
        #[test]
        fn scans_are_never_kept_back(lost in prop::collection::vec(any::<bool>(), 1..200)) {
            let mut neighbours = Neighbours::new(at(1));
            let mut now = at(0);
            let mut sent: Vec<RoamFrame> = Vec::new();
            let mut kept_back = 0;
            for is_lost in lost {
                if !neighbours.allows_scan(now) {
                    kept_back += 1;
                    prop_assert!(kept_back < 8);
                    let due = neighbours.due();
                    prop_assert!(due < Instant::MAX);
                    now = now.max(due);
                    if let NeighbourStep::Send(frame) = neighbours.handle_due(now) {
                        sent.push(frame);
                    }
                } else {
                    kept_back = 0;
                    now += Duration::from_secs(30);
                }
                if let Some(frame) = sent.pop().filter(|_| !is_lost) {
                    neighbours.handle_arrival(now, frame, DELAY);
                }
            }
        }
    }
}
