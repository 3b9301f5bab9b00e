//! Steering (802.11v; IEEE 802.11-2020, 11.21.7): an access point asks a station to move to another
//! one of the network, and the station follows or refuses. Levels are in dBm.
//!
//! The access point's rules are those of OpenWrt's usteer (`policy.c`), once a second: a level that
//! stays too low, and a set with many more stations than another. Frames and timers are hostapd
//! 2.10's (`wnm_send_bss_tm_req`, `set_disassoc_timer`), the station's answer is wpa_supplicant
//! 2.10's (`wnm_sta.c`): it takes the first candidate of the list that a scan in the last 10 s heard
//! loud enough, or scans the channels of the list first, answers, and then moves.
//!
//! Left out: knowledge of a station's signal at other access points (beacon reports, probes), so that
//! a list has all of the network; load of the channel; refusals of stations that want to join.

use super::frame::RoamFrame;
use crate::station::BssId;
use lasthop_units::{Dbm, Duration, Instant};

/// Time between two looks at the stations (usteer: `local_sta_update`).
pub const REVIEW: Duration = Duration::from_secs(1);
/// Looks in a row with a low level before a station is asked (usteer: `min_snr_kick_delay`, 5 s).
const WEAK_MAX: u8 = 5;
/// Beacon intervals from a request to the removal (usteer: `roam_kick_delay`).
pub const REMOVAL: u16 = 100;
/// Wait of an access point for an answer before it asks another station.
const ANSWER: Duration = Duration::from_secs(10);
/// Most candidates in a request (usteer: `usteer_ubus_disassoc_add_neighbors`; wpa_supplicant:
/// `WNM_MAX_NEIGHBOR_REPORT`).
pub const CANDIDATES_MAX: usize = 10;
/// Age of a scan whose results a station still uses (`ieee802_11_rx_bss_trans_mgmt_req`).
pub const RECENT: Duration = Duration::from_secs(10);
/// Level in dBm below which a candidate that is weaker than the own access point is no good
/// (`compare_scan_neighbor_results`).
const WEAK_CANDIDATE: i32 = -80;
/// BTM status code 7: no suitable candidate (table 9-428).
const NO_CANDIDATE: u8 = 7;
/// Reason code of hostapd's removal: previous authentication no longer valid.
const NOT_VALID: u16 = 2;

/// Policy of an access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteeringConfig {
    /// Level of a station at the access point below which it is asked to go.
    pub signal: Option<Dbm>,
    /// Lead in stations over another set of the network from which one is asked to go, at least 1.
    pub stations: Option<u16>,
    /// Time from one request to a station until the next.
    pub interval: Duration,
    /// Whether a station that does not go is removed.
    pub insists: bool,
}

/// Reason for which an access point asks a station to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteerCause {
    /// The station's level is low.
    Signal,
    /// The set has more stations than another.
    Stations,
}

/// Reason of a change of the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamCause {
    /// The station found a better one.
    Better,
    /// The station lost its access point, or could not join the one before.
    Lost,
    /// The access point removed the station.
    Removed,
    /// The access point asked the station to go.
    Steered(SteerCause),
}

/// Facts of an access point about a station at a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Review {
    /// Level of the station.
    pub signal: Dbm,
    /// Number of stations of the set.
    pub stations: u16,
    /// The set of the network with the fewest stations apart from this one, and their number.
    pub least: Option<(BssId, u16)>,
    /// Whether it has the lowest level of the stations that may be asked.
    pub is_weakest: bool,
    /// Whether another station of the set has been asked and has not answered.
    pub is_waiting: bool,
}

/// Steering of a station, at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steered {
    reviews_at: Instant,
    /// Looks in a row with a low level.
    weak: u8,
    asked_at: Option<Instant>,
    request: Option<Request>,
    /// Instant at which the access point removes the station.
    removes_at: Instant,
    /// Reason of the move in progress.
    moves: Option<SteerCause>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Request {
    target: BssId,
    cause: SteerCause,
    removal: u16,
    state: RequestState,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RequestState {
    /// The access point sends the request then.
    Sends(Instant),
    /// The access point has sent the request.
    Sent,
    /// The station looks for the candidates.
    Looks,
    /// The station answers then.
    Answers { status: u8, at: Instant },
    /// The station has answered; `heard`: the access point has the answer.
    Answered { status: u8, heard: bool },
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteerStep {
    /// No act is due.
    Wait,
    /// The access point looks at the station.
    Review,
    /// The frame is to be sent.
    Send(RoamFrame),
}

impl Steered {
    /// A station at which its access point looks first at `first`.
    pub const fn new(first: Instant) -> Self {
        Self {
            reviews_at: first,
            weak: 0,
            asked_at: None,
            request: None,
            removes_at: Instant::MAX,
            moves: None,
        }
    }

    /// Instant of the next step while the station is associated and on its channel.
    pub fn due(&self) -> Instant {
        let of_request = match self.request.map(|request| request.state) {
            Some(RequestState::Sends(at) | RequestState::Answers { at, .. }) => at,
            _ => Instant::MAX,
        };
        self.reviews_at.min(self.removes_at).min(of_request)
    }

    /// Performs the step that is due at `now`.
    pub fn handle_due(&mut self, now: Instant) -> SteerStep {
        if let Some(request) = &mut self.request {
            match request.state {
                RequestState::Sends(_) => {
                    request.state = RequestState::Sent;
                    return SteerStep::Send(RoamFrame::TransitionRequest {
                        removal: request.removal,
                    });
                }
                RequestState::Answers { status, at } if at <= now => {
                    request.state = RequestState::Answered { status, heard: false };
                    return SteerStep::Send(RoamFrame::TransitionResponse { status });
                }
                _ => {}
            }
        }
        if self.removes_at <= now {
            self.removes_at = Instant::MAX;
            return SteerStep::Send(RoamFrame::Disassociation { reason: NOT_VALID });
        }
        if self.reviews_at <= now {
            self.reviews_at = now + REVIEW;
            return SteerStep::Review;
        }
        SteerStep::Wait
    }

    /// Whether an access point with this policy may ask the station at `now`.
    pub fn may_be_asked(&self, now: Instant, config: &SteeringConfig) -> bool {
        self.asked_at.is_none_or(|at| at + config.interval <= now)
    }

    /// Whether the access point waits for the station's answer at `now`.
    pub fn is_awaited(&self, now: Instant) -> bool {
        let is_open = self.request.is_some_and(|request| {
            !matches!(request.state, RequestState::Answered { status, heard: true } if status != 0)
        });
        is_open && self.asked_at.is_some_and(|at| now < at + ANSWER)
    }

    /// Handles a look at `now`: returns the set to which the station is asked to go, if it is.
    pub fn handle_review(
        &mut self,
        now: Instant,
        config: &SteeringConfig,
        beacon_interval: Duration,
        review: &Review,
    ) -> Option<BssId> {
        let is_weak = config.signal.is_some_and(|least| review.signal.0 < least.0);
        self.weak = if is_weak { self.weak.saturating_add(1) } else { 0 };
        let (target, others) = review.least?;
        if !self.may_be_asked(now, config) {
            return None;
        }
        let lead = review.stations.saturating_sub(others);
        let is_full = config.stations.is_some_and(|most| lead >= most);
        let cause = match () {
            () if self.weak > WEAK_MAX => SteerCause::Signal,
            () if is_full && review.is_weakest && !review.is_waiting => SteerCause::Stations,
            () => return None,
        };
        let removal = if config.insists { REMOVAL } else { 0 };
        self.request = Some(Request { target, cause, removal, state: RequestState::Sends(now) });
        self.asked_at = Some(now);
        self.weak = 0;
        if config.insists {
            self.removes_at = now + beacon_interval * u64::from(REMOVAL);
        }
        Some(target)
    }

    /// The set to which the station is asked to go.
    pub fn target(&self) -> Option<BssId> {
        self.request.map(|request| request.target)
    }

    /// Handles the request at the station: whether it is a new one.
    pub fn handle_request(&mut self) -> bool {
        let Some(request) = &mut self.request else { return false };
        let is_new = request.state == RequestState::Sent;
        if is_new {
            request.state = RequestState::Looks;
        }
        is_new
    }

    /// Whether the station looks for the candidates.
    pub fn is_looking(&self) -> bool {
        self.request.is_some_and(|request| request.state == RequestState::Looks)
    }

    /// Whether the station is about to answer, or to go, and begins no scan.
    pub fn is_answering(&self) -> bool {
        let state = self.request.map(|request| request.state);
        matches!(
            state,
            Some(RequestState::Answers { .. } | RequestState::Answered { status: 0, .. })
        )
    }

    /// Lets the station, which looks for the candidates, answer at `at`: it goes to `target`, or stays.
    pub fn answer(&mut self, at: Instant, target: Option<BssId>) {
        let Some(request) = self.request.as_mut().filter(|it| it.state == RequestState::Looks)
        else {
            return;
        };
        request.target = target.unwrap_or(request.target);
        let status = if target.is_some() { 0 } else { NO_CANDIDATE };
        request.state = RequestState::Answers { status, at };
    }

    /// Handles the answer at the access point: whether it is the first.
    pub fn handle_answer(&mut self) -> bool {
        match &mut self.request {
            Some(Request { state: RequestState::Answered { heard, .. }, .. }) => {
                !core::mem::replace(heard, true)
            }
            _ => false,
        }
    }

    /// The set to which the station goes after its answer, which has been sent.
    pub fn go(&mut self) -> Option<BssId> {
        match self.request {
            Some(Request {
                state: RequestState::Answered { status: 0, .. },
                target,
                cause,
                ..
            }) => {
                self.request = None;
                self.removes_at = Instant::MAX;
                self.moves = Some(cause);
                Some(target)
            }
            _ => None,
        }
    }

    /// Reason of the move in progress.
    pub fn moves(&self) -> Option<SteerCause> {
        self.moves
    }

    /// The station is at another access point, or without one.
    pub fn moved(&mut self) {
        *self = Self { asked_at: self.asked_at, ..Self::new(self.reviews_at) };
    }
}

/// Whether a station at an access point of this level takes a candidate of that level.
pub fn is_acceptable(own: Option<i32>, candidate: i32) -> bool {
    candidate >= WEAK_CANDIDATE || own.is_none_or(|own| candidate >= own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: SteeringConfig = SteeringConfig {
        signal: Some(Dbm(-75.0)),
        stations: Some(5),
        interval: Duration::from_secs(60),
        insists: true,
    };
    const BEACON: Duration = Duration::from_micros(102_400);
    const OTHER: BssId = BssId(1);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn review(level: f64, stations: u16, others: u16) -> Review {
        Review {
            signal: Dbm(level),
            stations,
            least: Some((OTHER, others)),
            is_weakest: true,
            is_waiting: false,
        }
    }

    /// Five looks with a low level are not enough, and a better one begins anew (usteer's
    /// `below_min_snr`). After a request none comes within the interval.
    #[test]
    fn a_low_level_must_last() {
        let mut steered = Steered::new(at(1));
        let mut asked = alloc::vec::Vec::new();
        for second in 1..=100 {
            let level = if second == 3 { -75.0 } else { -76.0 };
            let target = steered.handle_review(at(second), &POLICY, BEACON, &review(level, 1, 0));
            if target.is_some() {
                asked.push(second);
                let request = RoamFrame::TransitionRequest { removal: 100 };
                assert_eq!(steered.handle_due(at(second)), SteerStep::Send(request));
            }
        }
        assert_eq!(asked, [9, 69]);
    }

    /// usteer's `load_balancing_threshold`: one moves if the other set then still has not more.
    #[test]
    fn stations_are_spread() {
        for (stations, others, moves) in
            [(5, 0, true), (4, 0, false), (12, 8, false), (13, 8, true)]
        {
            let mut steered = Steered::new(at(1));
            let facts = review(-40.0, stations, others);
            let is_asked = |steered: &mut Steered, facts| {
                steered.handle_review(at(1), &POLICY, BEACON, &facts).is_some()
            };
            for other in [
                Review { is_weakest: false, ..facts },
                Review { is_waiting: true, ..facts },
                Review { least: None, ..facts },
            ] {
                assert!(!is_asked(&mut steered, other));
            }
            assert_eq!(is_asked(&mut steered, facts), moves, "{stations} {others}");
        }
    }

    /// wpa_supplicant refuses a candidate below -80 dBm that is weaker than its own access point.
    #[test]
    fn weak_candidates_are_refused() {
        assert!(is_acceptable(Some(-50), -80) && !is_acceptable(Some(-50), -81));
        assert!(is_acceptable(Some(-85), -85) && !is_acceptable(Some(-85), -86));
        assert!(is_acceptable(None, -90));
    }

    /// hostapd removes a station that did not go after 100 beacon intervals.
    #[test]
    fn who_stays_is_removed() {
        let mut steered = Steered::new(at(1));
        steered.handle_review(at(1), &POLICY, BEACON, &review(-40.0, 6, 0));
        steered.handle_due(at(1));
        assert!(steered.is_awaited(at(2)) && steered.handle_request() && !steered.handle_request());
        steered.answer(at(2), None);
        let answer = RoamFrame::TransitionResponse { status: 7 };
        assert_eq!(steered.handle_due(at(2)), SteerStep::Send(answer));
        assert!(steered.handle_answer() && !steered.handle_answer());
        assert!(!steered.is_awaited(at(3)));
        assert_eq!(steered.go(), None);
        let removed = at(1) + BEACON * 100;
        assert_eq!(steered.handle_due(at(3)), SteerStep::Review);
        while steered.due() < removed {
            assert_eq!(steered.handle_due(steered.due()), SteerStep::Review);
        }
        let frame = RoamFrame::Disassociation { reason: 2 };
        assert_eq!(steered.handle_due(removed), SteerStep::Send(frame));
        steered.moved();
        assert!(!steered.may_be_asked(at(60), &POLICY) && steered.may_be_asked(at(61), &POLICY));
    }

    proptest! {
        /// Requests to a station are an interval apart for all inputs, and no step is due twice in
        /// vain.
        #[test]
        fn requests_are_an_interval_apart(
            inputs in prop::collection::vec((0..6u8, -90..-40i8, 0..12u16, 0..12u16), 1..400),
        ) {
            let mut steered = Steered::new(at(1));
            let (mut now, mut last, mut at_once) = (at(0), None, 0);
            for (input, level, stations, others) in inputs {
                match input {
                    0 => { steered.handle_request(); }
                    1 => steered.answer(now, (others > 5).then_some(OTHER)),
                    2 => { steered.handle_answer(); }
                    3 => if steered.go().is_some() { steered.moved() },
                    _ => {
                        let due = steered.due();
                        at_once = if due <= now { at_once + 1 } else { 0 };
                        prop_assert!(at_once < 5, "{steered:?}");
                        now = now.max(due);
                        if steered.handle_due(now) == SteerStep::Review {
                            let facts = review(level.into(), stations, others);
                            if steered.handle_review(now, &POLICY, BEACON, &facts).is_some() {
                                let is_apart = last.is_none_or(|last| now >= last + POLICY.interval);
                                prop_assert!(is_apart);
                                last = Some(now);
                            }
                        }
                    }
                }
            }
        }
    }
}
