//! A station of an extended service set (IEEE 802.11-2020, 4.3.5): it is associated with one access
//! point, looks for others in background scans, moves to a better one, notices that its own is gone,
//! and looks for one again, as wpa_supplicant 2.10 over mac80211 of Linux 6.1 does; when it scans, and
//! what it prefers, is its [`RoamPolicy`]. Signals are in dBm.
//!
//! The frames of a scan around each channel are those of [`Scan`], neighbor reports those of
//! [`Neighbours`], requests to move those of [`Steered`].

use super::follow::Follow;
use super::frame::RoamFrame;
use super::join::{Delays, Due, Join, JoinStep, Manner};
use super::neighbours::{NeighbourStep, Neighbours};
use super::plan::{Extent, Plan, RoamPolicy};
use super::pmksa::{KeyCache, KeyCaching};
use super::policy::{BeaconSignal, RoamCandidate};
use super::steering::{self, Review, RoamCause, SteerStep, Steered, SteeringConfig};
use crate::capabilities::Generation;
use crate::mac::roam::frame::Security;
use crate::mac::scan::{PassiveChannels, Scan, ScanConfig, ScanInput};
use crate::phy::{Band, ChannelWidth, Subchannel};
use crate::station::BssId;
use alloc::vec::Vec;
use lasthop_units::{Dbm, Duration, Instant};

/// Beacons without one after which a station tests its access point (mac80211:
/// `beacon_loss_count`).
const BEACONS_LOST: u64 = 7;
/// Null frames that test it (`max_nullfunc_tries`).
const TESTS: u8 = 2;
/// Wait of wpa_supplicant before it looks for an access point again, after it lost one
/// (`wpa_supplicant_req_scan` in `wpa_supplicant_event_disassoc_finish`).
const BEFORE_SEARCH: Duration = Duration::from_millis(100);
/// The same after it found none (`wpa_s->scan_interval`).
const BETWEEN_SEARCHES: Duration = Duration::from_secs(5);
/// Time for which a station passes over an access point that it could not join
/// (`wpa_bssid_ignore_add`, first failure).
const PASSED_OVER: Duration = Duration::from_secs(10);

/// Roaming of a station.
#[derive(Clone, Debug, PartialEq)]
pub struct RoamingConfig {
    /// The sets of its network, its first one included.
    pub members: Vec<Member>,
    /// Band of the network.
    pub band: Band,
    /// Authentication and key management of the network.
    pub security: Security,
    /// Whether fast transitions begin at the access point that the station leaves.
    pub over_ds: bool,
    /// Keys of SAE that are used again.
    pub caching: KeyCaching,
    /// Times to answer frames.
    pub delays: Delays,
    /// Background scans; none while the station has an access point if `None`.
    pub policy: Option<RoamPolicy>,
    /// Channels of a scan, those of the network first, and absences for them; start, period and own
    /// channel do not count.
    pub scan: ScanConfig,
    /// Whether the station asks for neighbor reports (802.11k), and its access points answer.
    pub neighbor_report: bool,
    /// Whether an access point of the network asks stations to move (802.11v).
    pub is_steered: bool,
    /// Whether the station understands such requests.
    pub follows_requests: bool,
    /// Time between two beacons of an access point, more than zero.
    pub beacon_interval: Duration,
}

/// A set of a station's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The set.
    pub bss: BssId,
    /// Number of its channel among those of the network, from 0 on.
    pub channel: u16,
    /// Width of its channel.
    pub width: ChannelWidth,
    /// Generation of its access point's PHY.
    pub generation: Generation,
}

/// State of the station, data apart.
#[derive(Clone, Debug, PartialEq)]
enum RoamPhase {
    /// The station is associated, and may scan.
    Connected,
    /// Null frames test whether its access point is there.
    Testing { sent: u8 },
    /// The station joins an access point.
    Joining { join: Join, to: BssId },
    /// Without an access point, it looks for one on this channel of the list.
    Searching { channel: u16, until: Instant },
    /// Without an access point, it waits.
    Resting { until: Instant },
}

/// Next act of the station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamAction {
    /// No act is due.
    Nothing,
    /// Handles this input of its [`Scan`].
    Scan(ScanInput),
    /// Sends a Null frame to its access point.
    Test,
    /// Leaves its access point, if it has one, and listens on the channel of this set, whose access
    /// point it joins.
    Leave(BssId),
    /// Sends a frame of a join, or lets the access point send it.
    Send(Due),
    /// Authentication is complete.
    Authenticated,
    /// Association is complete.
    Associated,
    /// The join is complete: data flow.
    Joined,
    /// The access point is lost.
    Lost,
    /// The access point did not answer.
    Failed,
    /// Listens on this channel of its list.
    Listen(u16),
    /// The access point has listed its neighbours.
    Reported,
    /// It has not.
    Unreported,
    /// The access point looks whether the station is to move.
    Review,
    /// The access point has the station's answer: whether it goes.
    Answered(bool),
    /// The access point has removed the station.
    Removed,
    /// Follows its access point to this channel.
    Follow(Subchannel),
}

/// A station of an extended service set.
#[derive(Clone, Debug, PartialEq)]
pub struct Roam {
    config: RoamingConfig,
    phase: RoamPhase,
    /// The move of its access point that it follows.
    pub(super) follow: Option<Follow>,
    /// The set that it is associated with or joins, or was associated with last.
    at: BssId,
    /// The set that it was associated with before.
    before: BssId,
    signal: BeaconSignal,
    plan: Option<Plan>,
    scan: Scan,
    /// Channels of the last scan by their numbers; all if `None`.
    listed: Option<Vec<u16>>,
    /// Whether these are those of a neighbor report: if they have nothing better, all are scanned.
    is_by_report: bool,
    /// Neighbours of its access point, if it asks for them.
    neighbours: Option<Neighbours>,
    /// Requests to move, if access points of the network make some.
    steered: Option<Steered>,
    /// End of the last scan.
    scanned_at: Option<Instant>,
    /// Access points heard in the scan or search in progress, and the level of each in whole dBm.
    heard: Vec<(BssId, i32)>,
    /// Keys of SAE.
    keys: KeyCache,
    /// Sets that it passes over, and until when.
    passed_over: Vec<(BssId, Instant)>,
    /// Instant at which the last scan or search began.
    looked_from: Instant,
    /// Instant at which it lost its access point; `None` if it has one or left it.
    lost_at: Option<Instant>,
    /// Whether its access point removed it.
    was_removed: bool,
    /// Instant at which it tests its access point, unless a beacon comes before.
    tests_at: Instant,
    /// Part of a second by which its clock is ahead: it looks at whole seconds (`round_jiffies_up`).
    clock: Duration,
}

impl Roam {
    /// A station that is associated with the access point of `at` from the beginning on. Its clock is
    /// ahead by `clock`, less than a second.
    pub fn new(config: RoamingConfig, at: BssId, clock: Duration) -> Self {
        let scan = Scan::on_demand(config.scan);
        let asks_at = Instant::ZERO + config.delays.station;
        let mut keys = KeyCache::new(config.caching);
        keys.add(Instant::ZERO, at);
        let mut roam = Self {
            phase: RoamPhase::Connected,
            follow: None,
            at,
            before: at,
            signal: BeaconSignal::default(),
            plan: None,
            scan,
            listed: None,
            is_by_report: false,
            neighbours: config.neighbor_report.then(|| Neighbours::new(asks_at)),
            // Access points look at their stations one by one.
            steered: config
                .is_steered
                .then(|| Steered::new(Instant::ZERO + steering::REVIEW + clock)),
            scanned_at: None,
            heard: Vec::new(),
            keys,
            passed_over: Vec::new(),
            looked_from: Instant::ZERO,
            lost_at: None,
            was_removed: false,
            tests_at: Instant::MAX,
            clock,
            config,
        };
        roam.hear_from_now(Instant::ZERO);
        roam
    }

    /// The configuration.
    pub fn config(&self) -> &RoamingConfig {
        &self.config
    }

    /// The schedule of the scan in progress, if there is one.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The same, to handle its inputs.
    pub fn scan_mut(&mut self) -> &mut Scan {
        &mut self.scan
    }

    /// The set that it moves to, while it is at the one before, and otherwise the one before.
    pub fn other(&self) -> BssId {
        match &self.phase {
            RoamPhase::Joining { to, .. } if *to != self.at => *to,
            RoamPhase::Joining { .. } => self.before,
            _ => self.steered.as_ref().and_then(Steered::target).unwrap_or(self.before),
        }
    }

    /// Instant at which the last scan or search began.
    pub fn looked_from(&self) -> Instant {
        self.looked_from
    }

    /// Instant at which it lost its access point, if it has not joined one since.
    pub fn lost_at(&self) -> Option<Instant> {
        self.lost_at
    }

    /// The set that it is associated with, or joins.
    pub fn at(&self) -> BssId {
        self.at
    }

    /// Whether it is associated, with its keys installed.
    pub fn is_connected(&self) -> bool {
        matches!(self.phase, RoamPhase::Connected | RoamPhase::Testing { .. })
    }

    /// Whether it may send data: it is associated, although it may be about to leave.
    pub fn sends_data(&self) -> bool {
        match &self.phase {
            RoamPhase::Connected | RoamPhase::Testing { .. } => true,
            RoamPhase::Joining { join, .. } => join.is_before_leaving(),
            RoamPhase::Searching { .. } | RoamPhase::Resting { .. } => false,
        }
    }

    /// The way in which it joins an access point, if it does.
    pub fn joins(&self) -> Option<Manner> {
        if let RoamPhase::Joining { join, .. } = &self.phase { Some(join.manner()) } else { None }
    }

    /// Whether it listens on the channel of this set: the own one, or that of a search.
    pub fn listens_for(&self, bss: BssId) -> bool {
        let channel = match self.phase {
            RoamPhase::Searching { channel, .. } => Some(channel),
            _ => None,
        };
        self.member(bss).is_some_and(|member| channel.is_none_or(|own| own == member.channel))
    }

    /// A set on this channel of the scan in progress, if the network has one there.
    pub fn scanned_set(&self, channel: u16) -> Option<BssId> {
        match &self.listed {
            None => self.set_on(channel),
            Some(listed) => self.set_on(*listed.get(usize::from(channel))?),
        }
    }

    /// Number of channels of the last scan, if a list of access points chose them.
    pub fn listed_channels(&self) -> Option<u16> {
        self.listed.as_ref().map(|listed| listed.len() as u16)
    }

    /// A set on this channel of the list, if the network has one there.
    pub fn set_on(&self, channel: u16) -> Option<BssId> {
        self.config.members.iter().find(|it| it.channel == channel).map(|it| it.bss)
    }

    fn member(&self, bss: BssId) -> Option<&Member> {
        self.config.members.iter().find(|it| it.bss == bss)
    }

    pub(super) fn set_member_channel(&mut self, bss: BssId, channel: u16) {
        if let Some(member) = self.config.members.iter_mut().find(|it| it.bss == bss) {
            member.channel = channel;
        }
    }

    /// Instant of the next step.
    pub fn due(&self) -> Option<Instant> {
        let at = match &self.phase {
            RoamPhase::Connected => {
                let scan = self.scan.due().unwrap_or(Instant::MAX);
                let rest = if self.may_scan() { self.due_at_rest() } else { Instant::MAX };
                scan.min(rest).min(self.tests_at).min(self.follows_at())
            }
            RoamPhase::Testing { .. } => self.follows_at(),
            RoamPhase::Joining { join, .. } => join.due(),
            RoamPhase::Searching { until, .. } | RoamPhase::Resting { until } => *until,
        };
        (at < Instant::MAX).then_some(at)
    }

    /// Instant of the next step of a connected station that does not scan.
    fn due_at_rest(&self) -> Instant {
        let plan = self.plan.as_ref().map_or(Instant::MAX, Plan::due);
        let plan = match &self.neighbours {
            Some(neighbours) if neighbours.is_pending() => neighbours.due(),
            _ => plan,
        };
        match &self.steered {
            None => plan,
            Some(steered) if steered.is_answering() => steered.due(),
            Some(steered) => plan.min(steered.due()),
        }
    }

    /// Requests to move, if access points of the network make some.
    pub fn steered(&self) -> Option<&Steered> {
        self.steered.as_ref().filter(|_| self.is_connected())
    }

    /// Reason for which it leaves its access point, or looks for one.
    pub fn cause(&self) -> RoamCause {
        let moves = self.steered.as_ref().and_then(Steered::moves);
        match (self.lost_at, moves) {
            (Some(_), _) if self.was_removed => RoamCause::Removed,
            (Some(_), _) => RoamCause::Lost,
            (None, Some(cause)) => RoamCause::Steered(cause),
            (None, None) => RoamCause::Better,
        }
    }

    /// Access points that a request to move lists.
    pub fn candidates(&self) -> impl Iterator<Item = BssId> {
        let target = self.steered.as_ref().and_then(Steered::target);
        let others = self.config.members.iter().map(|member| member.bss);
        let others = others.filter(move |bss| *bss != self.at && Some(*bss) != target);
        target.into_iter().chain(others).take(steering::CANDIDATES_MAX)
    }

    /// Handles a look of the access point, with this policy: the access point to which the station is
    /// asked to go, if it is.
    pub fn handle_review(
        &mut self,
        now: Instant,
        config: &SteeringConfig,
        review: &Review,
    ) -> Option<BssId> {
        let interval = self.config.beacon_interval;
        self.steered.as_mut()?.handle_review(now, config, interval, review)
    }

    /// Handles a request to move at the station.
    fn requested(&mut self, now: Instant) -> RoamAction {
        let follows = self.config.follows_requests && self.is_connected();
        let Some(steered) = self.steered.as_mut().filter(|_| follows) else {
            return RoamAction::Nothing;
        };
        if !steered.handle_request() || !self.scan.is_resting() {
            // The results of the scan in progress will do.
            return RoamAction::Nothing;
        }
        self.looked_from = now;
        let is_recent = self.scanned_at.is_some_and(|at| now < at + steering::RECENT);
        match self.acceptable(now).filter(|_| is_recent) {
            Some(target) => self.answer(now, Some(target)),
            None => {
                let candidates: Vec<BssId> = self.candidates().collect();
                let listed = self.channels_of(|bss| candidates.contains(&bss));
                self.begin_scan(now, Some(listed))
            }
        }
    }

    /// The first candidate of a request that the last scan heard loud enough.
    fn acceptable(&self, now: Instant) -> Option<BssId> {
        let own = self.signal.dbm();
        self.candidates().find(|bss| {
            let heard = self.heard.iter().find(|(heard, _)| heard == bss);
            let is_passed_over =
                self.passed_over.iter().any(|(other, until)| other == bss && *until > now);
            !is_passed_over && heard.is_some_and(|(_, level)| steering::is_acceptable(own, *level))
        })
    }

    /// Lets the station answer a request.
    fn answer(&mut self, now: Instant, target: Option<BssId>) -> RoamAction {
        let at = now + self.config.delays.station;
        if let Some(steered) = &mut self.steered {
            steered.answer(at, target);
        }
        RoamAction::Nothing
    }

    /// Handles the end of the station's answer to a request: acknowledged or given up.
    pub fn handle_answered(&mut self, now: Instant) -> RoamAction {
        if !matches!(self.phase, RoamPhase::Connected | RoamPhase::Testing { .. }) {
            return RoamAction::Nothing;
        }
        match self.steered.as_mut().and_then(Steered::go) {
            Some(target) => {
                let join = Join::new(now, self.manner(now, target, true), self.config.delays);
                self.go_to(target, join.chosen(now))
            }
            None => RoamAction::Nothing,
        }
    }

    /// Handles a Disassociation frame of the access point.
    fn removed(&mut self, now: Instant) -> RoamAction {
        if !self.is_connected() || !self.scan.is_resting() {
            return RoamAction::Nothing;
        }
        self.was_removed = true;
        self.passed_over.push((self.at, now + PASSED_OVER));
        self.lose(now);
        RoamAction::Removed
    }

    /// Looks for an access point after a while.
    fn lose(&mut self, now: Instant) {
        self.phase = RoamPhase::Resting { until: now + BEFORE_SEARCH };
        self.signal = BeaconSignal::default();
        self.lost_at = Some(now);
        self.follow = None;
        if let Some(steered) = &mut self.steered {
            steered.moved();
        }
    }

    /// Performs the step that is due at `now`.
    pub fn handle_due(&mut self, now: Instant) -> RoamAction {
        match &mut self.phase {
            RoamPhase::Connected => self.connected_due(now),
            RoamPhase::Testing { .. } => self.follow_due(now).unwrap_or(RoamAction::Nothing),
            RoamPhase::Joining { join, to } => {
                let was_before_leaving = join.is_before_leaving();
                let step = join.handle_due(now);
                if was_before_leaving && !join.is_before_leaving() {
                    self.before = core::mem::replace(&mut self.at, *to);
                    return RoamAction::Leave(*to);
                }
                self.after(now, step)
            }
            RoamPhase::Searching { channel, .. } => {
                let next = *channel + 1;
                if next < self.config.scan.channels {
                    self.listen(now, next)
                } else {
                    self.end_search(now)
                }
            }
            RoamPhase::Resting { .. } => {
                self.heard.clear();
                self.looked_from = now;
                self.listen(now, 0)
            }
        }
    }

    /// Whether a scan may begin: none is in progress, and no move of its access point.
    fn may_scan(&self) -> bool {
        self.scan.is_resting() && self.follow.is_none()
    }

    fn connected_due(&mut self, now: Instant) -> RoamAction {
        if let Some(action) = self.follow_due(now) {
            return action;
        }
        if self.scan.due().is_some_and(|due| due <= now) {
            return RoamAction::Scan(ScanInput::Due);
        }
        if self.tests_at <= now {
            if self.scan.is_resting() && self.follow.is_none_or(|follow| follow.moved) {
                self.phase = RoamPhase::Testing { sent: 1 };
                return RoamAction::Test;
            }
            // While it scans, or is about to follow its access point, beacons are missed on purpose.
            self.hear_from_now(now);
        }
        if !self.may_scan() {
            return RoamAction::Nothing;
        }
        if let Some(steered) = &mut self.steered {
            match steered.handle_due(now) {
                SteerStep::Wait if steered.is_answering() => return RoamAction::Nothing,
                SteerStep::Wait => {}
                SteerStep::Review => return RoamAction::Review,
                SteerStep::Send(frame) => {
                    let from_station = frame.from_access_point() == Some(false);
                    return RoamAction::Send(Due { frame, from_station });
                }
            }
        }
        if let Some(neighbours) = &mut self.neighbours {
            let step = neighbours.handle_due(now);
            if step != NeighbourStep::Wait {
                return Self::after_neighbours(step);
            }
        }
        let may_scan = |neighbours: &mut Neighbours| neighbours.allows_scan(now);
        if let Some(plan) = &mut self.plan
            && plan.due() <= now
            && self.neighbours.as_mut().is_none_or(may_scan)
        {
            let extent = plan.begin(now);
            self.looked_from = now;
            let is_known = self.neighbours.as_ref().is_some_and(Neighbours::is_known);
            // iwd's plan looks at the network's channels first, whoever told them.
            let is_iwd = matches!(self.config.policy, Some(RoamPolicy::Iwd(_)));
            let by_report = is_known && extent != Extent::Network && !is_iwd;
            let extent = if by_report { Extent::Network } else { extent };
            let listed = extent.list(self.channels_of(|_| true), self.config.scan.channels);
            let action = self.begin_scan(now, listed);
            self.is_by_report = by_report;
            return action;
        }
        RoamAction::Nothing
    }

    fn after_neighbours(step: NeighbourStep) -> RoamAction {
        match step {
            NeighbourStep::Wait => RoamAction::Nothing,
            NeighbourStep::Send(frame) => {
                let from_station = frame.from_access_point() == Some(false);
                RoamAction::Send(Due { frame, from_station })
            }
            NeighbourStep::Reported => RoamAction::Reported,
            NeighbourStep::Unreported => RoamAction::Unreported,
        }
    }

    /// Channels of the sets that `is_listed` selects, by ascending numbers.
    fn channels_of(&self, is_listed: impl Fn(BssId) -> bool) -> Vec<u16> {
        let listed = self.config.members.iter().filter(|member| is_listed(member.bss));
        let mut channels: Vec<u16> = listed.map(|member| member.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// Scans the listed channels, or all.
    fn begin_scan(&mut self, now: Instant, listed: Option<Vec<u16>>) -> RoamAction {
        self.heard.clear();
        let all = self.config.scan;
        let own = self.member(self.at).map(|member| member.channel);
        let (channels, passive, own_channel) = match &listed {
            None => (all.channels, all.passive.count, own.map(|own| own + 1)),
            Some(listed) => {
                let active = all.channels.saturating_sub(all.passive.count);
                let passive = listed.iter().filter(|channel| **channel >= active).count();
                let place = listed.iter().position(|channel| Some(*channel) == own);
                (listed.len() as u16, passive as u16, place.map(|place| place as u16 + 1))
            }
        };
        let passive = PassiveChannels { count: passive, ..all.passive };
        self.scan.begin(now, ScanConfig { channels, passive, own_channel, ..all });
        (self.listed, self.is_by_report) = (listed, false);
        RoamAction::Scan(ScanInput::Due)
    }

    /// Listens on a channel of the list while it has no access point.
    fn listen(&mut self, now: Instant, channel: u16) -> RoamAction {
        let scan = &self.config.scan;
        let left = scan.channels - channel;
        let dwell = if left <= scan.passive.count { scan.passive.away } else { scan.away };
        self.phase = RoamPhase::Searching { channel, until: now + dwell };
        RoamAction::Listen(channel)
    }

    fn end_search(&mut self, now: Instant) -> RoamAction {
        match self.best(now, None) {
            Some((bss, _)) => self.begin_join(now, bss, false),
            None => {
                self.phase = RoamPhase::Resting { until: now + BETWEEN_SEARCHES };
                RoamAction::Nothing
            }
        }
    }

    /// The best access point heard, apart from one and those that could not be joined.
    fn best(&mut self, now: Instant, apart: Option<BssId>) -> Option<(BssId, RoamCandidate)> {
        self.passed_over.retain(|(_, until)| *until > now);
        let heard = self.heard.iter().filter(|(bss, _)| {
            Some(*bss) != apart && !self.passed_over.iter().any(|(other, _)| other == bss)
        });
        let candidates = heard.filter_map(|&(bss, level)| Some((bss, self.candidate(bss, level)?)));
        let policy = self.config.policy;
        let is_before = |one: &RoamCandidate, other: &RoamCandidate| {
            policy.map_or_else(|| one.is_before(other), |policy| policy.prefers(one, other))
        };
        candidates.reduce(|best, other| if is_before(&other.1, &best.1) { other } else { best })
    }

    fn candidate(&self, bss: BssId, level: i32) -> Option<RoamCandidate> {
        let &Member { width, generation, .. } = self.member(bss)?;
        Some(RoamCandidate { level, band: self.config.band, width, generation })
    }

    /// Decides after a scan that ended at `now`.
    pub fn handle_scanned(&mut self, now: Instant) -> RoamAction {
        self.hear_from_now(now);
        self.scanned_at = Some(now);
        if self.steered.as_ref().is_some_and(Steered::is_looking) {
            self.end_plan(now);
            let target = self.acceptable(now);
            return self.answer(now, target);
        }
        // One that the scan did not see is gone (`wpa_supplicant_need_to_roam`).
        let seen = self.heard.iter().find(|(bss, _)| *bss == self.at).map(|(_, level)| *level);
        let policy = self.config.policy;
        let within_scan = policy.is_some_and(|policy| policy.compares_within_scan());
        let level = seen.and_then(|seen| if within_scan { Some(seen) } else { self.signal.dbm() });
        if let Some((bss, best)) = self.best(now, Some(self.at)) {
            let own = level.and_then(|level| self.candidate(self.at, level));
            if own.is_none_or(|own| policy.is_some_and(|policy| policy.moves(&own, &best))) {
                self.end_plan(now);
                return self.begin_join(now, bss, true);
            }
        }
        let is_low =
            |policy: RoamPolicy| self.signal.dbm().is_some_and(|it| it < policy.threshold());
        if self.is_by_report && policy.is_some_and(is_low) {
            return self.begin_scan(now, None);
        }
        self.end_plan(now);
        RoamAction::Nothing
    }

    fn end_plan(&mut self, now: Instant) {
        if let Some(plan) = &mut self.plan {
            plan.end(now);
        }
    }

    fn begin_join(&mut self, now: Instant, bss: BssId, roams: bool) -> RoamAction {
        let manner = self.manner(now, bss, roams);
        self.go_to(bss, Join::new(now, manner, self.config.delays))
    }

    fn manner(&self, now: Instant, bss: BssId, roams: bool) -> Manner {
        let RoamingConfig { security, over_ds, .. } = self.config;
        Manner { security, roams, has_key: self.keys.has(now, bss), over_ds }
    }

    fn go_to(&mut self, bss: BssId, join: Join) -> RoamAction {
        let stays = join.is_before_leaving();
        self.follow = None;
        self.phase = RoamPhase::Joining { join, to: bss };
        if stays {
            // What it leaves is still its access point.
            RoamAction::Nothing
        } else {
            self.before = core::mem::replace(&mut self.at, bss);
            RoamAction::Leave(bss)
        }
    }

    /// Handles the departure for another access point at `now`.
    pub fn handle_left(&mut self, now: Instant) {
        if let RoamPhase::Joining { join, .. } = &mut self.phase {
            join.handle_left(now);
        }
    }

    /// Handles a frame of a join that arrived at its receiver.
    pub fn handle_arrival(
        &mut self,
        now: Instant,
        frame: RoamFrame,
        from_station: bool,
    ) -> RoamAction {
        if let RoamFrame::NeighborReportRequest | RoamFrame::NeighborReportResponse = frame {
            let delay = self.config.delays.access_point;
            let Some(neighbours) = &mut self.neighbours else { return RoamAction::Nothing };
            return Self::after_neighbours(neighbours.handle_arrival(now, frame, delay));
        }
        match frame {
            RoamFrame::TransitionRequest { .. } => return self.requested(now),
            RoamFrame::TransitionResponse { status } => {
                let is_first = self.steered.as_mut().is_some_and(Steered::handle_answer);
                let answered = RoamAction::Answered(status == 0);
                return if is_first { answered } else { RoamAction::Nothing };
            }
            RoamFrame::Disassociation { .. } => return self.removed(now),
            _ => {}
        }
        let RoamPhase::Joining { join, to } = &mut self.phase else { return RoamAction::Nothing };
        let was_before_leaving = join.is_before_leaving();
        let step = join.handle_arrival(now, frame, from_station);
        if was_before_leaving && !join.is_before_leaving() {
            self.before = core::mem::replace(&mut self.at, *to);
            return RoamAction::Leave(*to);
        }
        self.after(now, step)
    }

    fn after(&mut self, now: Instant, step: JoinStep) -> RoamAction {
        match step {
            JoinStep::Wait => RoamAction::Nothing,
            JoinStep::Send(due) => RoamAction::Send(due),
            JoinStep::Authenticated => RoamAction::Authenticated,
            JoinStep::Associated => RoamAction::Associated,
            JoinStep::Joined => {
                let heard = self.heard.iter().find(|(bss, _)| *bss == self.at);
                let level = heard.map_or(i32::MIN, |(_, level)| *level);
                let before = self.plan.take();
                let new = |policy| Plan::new(now, policy, level, before.as_ref());
                self.plan = self.config.policy.map(new);
                self.signal = BeaconSignal::default();
                if self.joins().is_some_and(Manner::does_sae) {
                    self.keys.add(now, self.at);
                }
                self.phase = RoamPhase::Connected;
                (self.lost_at, self.was_removed) = (None, false);
                if let Some(steered) = &mut self.steered {
                    steered.moved();
                }
                if let Some(neighbours) = &mut self.neighbours {
                    *neighbours = Neighbours::new(now + self.config.delays.station);
                }
                self.hear_from_now(now);
                RoamAction::Joined
            }
            JoinStep::Failed => {
                let RoamPhase::Joining { to, .. } = self.phase else { return RoamAction::Nothing };
                self.passed_over.push((to, now + PASSED_OVER));
                self.lost_at = self.lost_at.or(Some(now));
                self.phase = RoamPhase::Resting { until: now + BEFORE_SEARCH };
                RoamAction::Failed
            }
        }
    }

    /// Handles the end of a Null frame that tested the access point.
    pub fn handle_tested(&mut self, now: Instant, answered: bool) -> RoamAction {
        let RoamPhase::Testing { sent } = &mut self.phase else { return RoamAction::Nothing };
        if answered {
            self.phase = RoamPhase::Connected;
            self.hear_from_now(now);
            return RoamAction::Nothing;
        }
        if *sent < TESTS {
            *sent += 1;
            return RoamAction::Test;
        }
        self.lose(now);
        RoamAction::Lost
    }

    /// Handles a beacon or a Probe Response of a set, received at `now` with this signal.
    pub fn handle_heard(&mut self, now: Instant, bss: BssId, signal: Dbm, is_beacon: bool) {
        if self.member(bss).is_none() {
            return;
        }
        let level = libm::round(signal.0) as i32;
        if !self.scan.is_resting() || matches!(self.phase, RoamPhase::Searching { .. }) {
            match self.heard.iter_mut().find(|(heard, _)| *heard == bss) {
                Some((_, last)) => *last = level,
                None => self.heard.push((bss, level)),
            }
        }
        if !is_beacon || bss != self.at || !self.is_connected() {
            return;
        }
        self.signal.add(signal);
        self.hear_from_now(now);
        match (&mut self.plan, self.config.policy) {
            (Some(plan), _) => plan.signal(now, &self.signal),
            // The first beacon tells the level at which it began.
            (None, Some(policy)) => self.plan = Some(Plan::new(now, policy, level, None)),
            (None, None) => {}
        }
    }

    /// Tests the access point if no beacon comes from now on.
    pub(super) fn hear_from_now(&mut self, now: Instant) {
        const SECOND: u64 = 1_000_000_000;
        let overdue = now + self.config.beacon_interval * BEACONS_LOST + self.clock;
        let since = (overdue - Instant::ZERO).as_nanos();
        let whole = Duration::from_nanos(since.div_ceil(SECOND) * SECOND);
        self.tests_at = Instant::ZERO + (whole.saturating_sub(self.clock));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::mac::channel_switch::Announcement;
    use crate::mac::roam::policy::ScanPolicy;
    use crate::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanAction, ScanKind};
    use proptest::prelude::*;

    pub const BEACON: Duration = Duration::from_micros(102_400);

    pub fn config() -> RoamingConfig {
        let member = |bss| Member {
            bss: BssId(bss),
            channel: bss,
            width: ChannelWidth::Mhz20,
            generation: Generation::Ht,
        };
        let ms = Duration::from_millis;
        RoamingConfig {
            members: alloc::vec![member(0), member(1)],
            band: Band::Ghz5,
            security: Security::Psk,
            over_ds: false,
            caching: KeyCaching::default(),
            delays: Delays { leave: ms(1), station: ms(1), access_point: ms(1), commit: ms(10) },
            policy: None,
            scan: ScanConfig {
                start: Duration::ZERO,
                period: ms(1),
                channels: 4,
                away: ms(60),
                passive: PassiveChannels { count: 1, away: ms(111) },
                back: ms(200),
                kind: ScanKind::Active,
                own_channel: None,
                flush: ms(20),
                leftover: Leftover::Keep,
                return_drain: None,
                null: NullConfig::default(),
            },
            neighbor_report: false,
            is_steered: false,
            follows_requests: true,
            beacon_interval: BEACON,
        }
    }

    /// After its last beacon a station tests its access point at the next whole second of its clock
    /// that is 716.8 ms away or more; the mean over all clocks is half a second later. The station then
    /// looks on three active channels and a passive one, and again every 5 s.
    #[test]
    fn a_station_looks_for_an_access_point_that_is_gone() {
        let (mut sum, clocks) = (Duration::ZERO, 1_000);
        for clock in 0..clocks {
            let clock = Duration::from_millis(clock);
            let mut roam = Roam::new(config(), BssId(0), clock);
            let last = Instant::ZERO + Duration::from_secs(10);
            roam.handle_heard(last, BssId(0), Dbm(-60.0), true);
            let tested = roam.due().expect("it watches");
            assert!(
                tested - last >= BEACON * 7 && tested - last < BEACON * 7 + Duration::from_secs(1)
            );
            sum += tested - last;
            assert_eq!(roam.handle_due(tested), RoamAction::Test);
            assert_eq!(roam.handle_tested(tested, false), RoamAction::Test);
            assert_eq!(roam.handle_tested(tested, false), RoamAction::Lost);
            for round in 0..3u64 {
                let mut now = roam.due().expect("it goes on");
                let one = Duration::from_millis(3 * 60 + 111);
                let before = BEFORE_SEARCH + (one + BETWEEN_SEARCHES) * round;
                assert_eq!(now - tested, before, "round {round}");
                for channel in 0..4 {
                    assert_eq!(roam.handle_due(now), RoamAction::Listen(channel));
                    now = roam.due().expect("it goes on");
                }
                assert_eq!(roam.handle_due(now), RoamAction::Nothing);
            }
        }
        let mean = sum.as_secs_f64() / clocks as f64;
        assert!((mean - (0.7168 + 0.5)).abs() < 0.001, "{mean}");
    }

    #[derive(Clone, Copy, Debug)]
    enum Input {
        Due,
        Beacon(u16, i8),
        Arrival,
        Tested(bool),
        Announcement(u16, u8, bool),
    }

    fn input() -> impl Strategy<Value = Input> {
        prop_oneof![
            4 => Just(Input::Due),
            3 => (0..3u16, -90..-30i8).prop_map(|(bss, level)| Input::Beacon(bss, level)),
            3 => Just(Input::Arrival),
            1 => any::<bool>().prop_map(Input::Tested),
            1 => (0..3u16, any::<u8>(), any::<bool>())
                .prop_map(|(bss, count, quiet)| Input::Announcement(bss, count, quiet)),
        ]
    }

    proptest! {
        /// Whatever it hears, a station joins only access points of its network, sends data only with
        /// one, and asks for no instant twice in vain.
        #[test]
        fn a_station_is_always_in_order(inputs in prop::collection::vec(input(), 1..400)) {
            let policy = RoamPolicy::Simple(ScanPolicy {
                short: Duration::from_secs(1),
                threshold: -60,
                long: Duration::from_secs(5),
            });
            let config = RoamingConfig { policy: Some(policy), ..config() };
            let mut roam = Roam::new(config, BssId(0), Duration::from_millis(300));
            let mut now = Instant::ZERO;
            let mut sent = None;
            let mut at_once = 0;
            for input in inputs {
                let action = match input {
                    Input::Due => {
                        let Some(due) = roam.due() else { continue };
                        at_once = if due <= now { at_once + 1 } else { 0 };
                        prop_assert!(at_once < 10, "{roam:?}");
                        now = now.max(due);
                        roam.handle_due(now)
                    }
                    Input::Announcement(bss, count, quiet) => {
                        let (to, width) = (Subchannel::default(), ChannelWidth::Mhz20);
                        let said = Announcement { to, width, quiet, count };
                        let follows = roam.handle_announcement(now, BssId(bss), said);
                        prop_assert!(!follows || BssId(bss) == roam.at() && roam.sends_data());
                        RoamAction::Nothing
                    }
                    Input::Beacon(bss, level) => {
                        roam.handle_first_beacon(BssId(bss));
                        roam.handle_heard(now, BssId(bss), Dbm(level.into()), true);
                        RoamAction::Nothing
                    }
                    Input::Arrival => match sent.take() {
                        Some(Due { frame, from_station }) => {
                            roam.handle_arrival(now, frame, from_station)
                        }
                        None => RoamAction::Nothing,
                    },
                    Input::Tested(answered) => roam.handle_tested(now, answered),
                };
                match action {
                    RoamAction::Scan(input) => {
                        let mut action = roam.scan_mut().handle(now, input);
                        while action != ScanAction::Nothing {
                            let next = match action {
                                ScanAction::Stop => ScanInput::Drained,
                                ScanAction::Announce | ScanAction::Return => ScanInput::Settled,
                                _ => break,
                            };
                            action = roam.scan_mut().handle(now, next);
                        }
                        if roam.scan().is_resting() {
                            let action = roam.handle_scanned(now);
                            prop_assert!(!matches!(action, RoamAction::Leave(BssId(2..))));
                        }
                    }
                    RoamAction::Send(due) => sent = Some(due),
                    RoamAction::Follow(_) => {
                        prop_assert!(roam.sends_data());
                        roam.moved(now);
                    }
                    RoamAction::Leave(bss) => prop_assert!(bss.0 < 2 && !roam.sends_data()),
                    RoamAction::Joined => prop_assert!(roam.sends_data() && roam.is_connected()),
                    RoamAction::Lost | RoamAction::Failed => prop_assert!(!roam.sends_data()),
                    _ => {}
                }
            }
        }
    }
}
