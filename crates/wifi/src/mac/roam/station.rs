//! A station of an extended service set (IEEE 802.11-2020, 4.3.5): it is associated with one access
//! point, looks for others in background scans, moves to a better one, notices that its own is gone,
//! and looks for one again, as wpa_supplicant 2.10 over mac80211 of Linux 6.1 does. Signals are in
//! dBm.
//!
//! The frames of a scan around each channel are those of [`Scan`]. Left out: neighbour reports and
//! transition requests (802.11k, 802.11v), a choice by load.

use super::follow::Follow;
use super::frame::RoamFrame;
use super::join::{Delays, Due, Join, JoinStep, Manner};
use super::policy::{BeaconSignal, RoamCandidate, ScanPlan, ScanPolicy};
use crate::mac::roam::frame::Security;
use crate::mac::scan::{Scan, ScanConfig, ScanInput};
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
    /// Times to answer frames.
    pub delays: Delays,
    /// Background scans; none while the station has an access point if `None`.
    pub policy: Option<ScanPolicy>,
    /// Channels of a scan, those of the network first, and absences for them; start, period and own
    /// channel do not count.
    pub scan: ScanConfig,
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
    /// Whether its access point has 802.11n or later.
    pub has_ht: bool,
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
    plan: Option<ScanPlan>,
    scan: Scan,
    /// Access points heard in the scan or search in progress, and the level of each in whole dBm.
    heard: Vec<(BssId, i32)>,
    /// Sets with which it has a key of SAE.
    keys: Vec<BssId>,
    /// Sets that it passes over, and until when.
    passed_over: Vec<(BssId, Instant)>,
    /// Instant at which the last scan or search began.
    looked_from: Instant,
    /// Instant at which it lost its access point; `None` if it has one or left it.
    lost_at: Option<Instant>,
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
        let mut roam = Self {
            phase: RoamPhase::Connected,
            follow: None,
            at,
            before: at,
            signal: BeaconSignal::default(),
            plan: None,
            scan,
            heard: Vec::new(),
            keys: alloc::vec![at],
            passed_over: Vec::new(),
            looked_from: Instant::ZERO,
            lost_at: None,
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
            _ => self.before,
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
                let plan = self.plan.as_ref().filter(|_| self.may_scan());
                let plan = plan.map_or(Instant::MAX, ScanPlan::due);
                let scan = self.scan.due().unwrap_or(Instant::MAX);
                scan.min(plan).min(self.tests_at).min(self.follows_at())
            }
            RoamPhase::Testing { .. } => self.follows_at(),
            RoamPhase::Joining { join, .. } => join.due(),
            RoamPhase::Searching { until, .. } | RoamPhase::Resting { until } => *until,
        };
        (at < Instant::MAX).then_some(at)
    }

    /// Performs the step that is due at `now`.
    pub fn handle_due(&mut self, now: Instant) -> RoamAction {
        match &mut self.phase {
            RoamPhase::Connected => self.connected_due(now),
            RoamPhase::Testing { .. } => self.follow_due(now).unwrap_or(RoamAction::Nothing),
            RoamPhase::Joining { join, .. } => {
                let step = join.handle_due(now);
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
        let may_scan = self.may_scan();
        if let Some(plan) = &mut self.plan
            && may_scan
            && plan.due() <= now
        {
            plan.begin(now);
            self.looked_from = now;
            self.heard.clear();
            let own = self.member(self.at).map(|member| member.channel + 1);
            self.scan.begin(now, own);
            return RoamAction::Scan(ScanInput::Due);
        }
        RoamAction::Nothing
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
        candidates.reduce(|best, other| if other.1.is_before(&best.1) { other } else { best })
    }

    fn candidate(&self, bss: BssId, level: i32) -> Option<RoamCandidate> {
        let &Member { width, has_ht, .. } = self.member(bss)?;
        Some(RoamCandidate { level, band: self.config.band, width, has_ht })
    }

    /// Decides after a scan that ended at `now`.
    pub fn handle_scanned(&mut self, now: Instant) -> RoamAction {
        self.hear_from_now(now);
        if let Some(plan) = &mut self.plan {
            plan.end(now);
        }
        let Some((bss, best)) = self.best(now, Some(self.at)) else { return RoamAction::Nothing };
        // One that the scan did not see is gone (`wpa_supplicant_need_to_roam`).
        let is_seen = self.heard.iter().any(|(bss, _)| *bss == self.at);
        let level = self.signal.dbm().filter(|_| is_seen);
        let own = level.and_then(|level| self.candidate(self.at, level));
        if own.is_none_or(|own| own.gives_way_to(&best)) {
            self.begin_join(now, bss, true)
        } else {
            RoamAction::Nothing
        }
    }

    fn begin_join(&mut self, now: Instant, bss: BssId, roams: bool) -> RoamAction {
        let RoamingConfig { security, over_ds, delays, .. } = self.config;
        let has_key = self.keys.contains(&bss);
        let join = Join::new(now, Manner { security, roams, has_key, over_ds }, delays);
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

    /// Handles a frame of a join that arrived at its receiver.
    pub fn handle_arrival(
        &mut self,
        now: Instant,
        frame: RoamFrame,
        from_station: bool,
    ) -> RoamAction {
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
                self.plan = self.config.policy.map(|policy| ScanPlan::new(now, policy, level));
                self.signal = BeaconSignal::default();
                if self.config.security.is_sae() && !self.keys.contains(&self.at) {
                    self.keys.push(self.at);
                }
                self.phase = RoamPhase::Connected;
                self.lost_at = None;
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
        self.phase = RoamPhase::Resting { until: now + BEFORE_SEARCH };
        self.signal = BeaconSignal::default();
        self.lost_at = Some(now);
        self.follow = None;
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
            (None, Some(policy)) => self.plan = Some(ScanPlan::new(now, policy, level)),
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
    use crate::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanAction, ScanKind};
    use proptest::prelude::*;

    pub const BEACON: Duration = Duration::from_micros(102_400);

    pub fn config() -> RoamingConfig {
        let member = |bss| Member {
            bss: BssId(bss),
            channel: bss,
            width: ChannelWidth::Mhz20,
            has_ht: true,
        };
        let ms = Duration::from_millis;
        RoamingConfig {
            members: alloc::vec![member(0), member(1)],
            band: Band::Ghz5,
            security: Security::Psk,
            over_ds: false,
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
            let policy = ScanPolicy {
                short: Duration::from_secs(1),
                threshold: -60,
                long: Duration::from_secs(5),
            };
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
