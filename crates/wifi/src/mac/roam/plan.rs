//! When a station with an access point looks for others, and which of them it prefers, by product:
//! wpa_supplicant 2.10 with `bgscan` "simple" or "learn", iwd 3, and phones whose firmware decides.

use super::policy::{BeaconSignal, RoamCandidate, ScanPlan, ScanPolicy, SignalMonitor};
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Change of the average signal beyond the last reported one, in dB, that iwd lets mac80211 report
/// (`netdev_build_cmd_cqm_rssi_update`).
const IWD_HYSTERESIS_DB: i32 = 5;
/// Wait of iwd from the report of a low signal to its scan (`station_low_rssi`).
const IWD_FIRST: Duration = Duration::from_secs(5);

/// A product's rules for background scans and for the choice of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamPolicy {
    /// wpa_supplicant with `bgscan = "simple"`: scans of all channels.
    Simple(ScanPolicy),
    /// wpa_supplicant with `bgscan = "learn"`: scans of the network's channels and one more.
    Learn(ScanPolicy),
    /// iwd: scans of the network's channels while the signal is low, and of all if that does not
    /// help.
    Iwd(IwdPolicy),
    /// A phone: its firmware scans while the signal is low.
    Phone(PhonePolicy),
}

/// Settings of iwd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IwdPolicy {
    /// `RoamThreshold` or `RoamThreshold5G`, in dBm.
    pub threshold: i32,
    /// `RoamRetryInterval`: wait after a scan that found nothing better, and after a roam, while the
    /// signal stays low.
    pub retry: Duration,
}

/// Settings of a phone's firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhonePolicy {
    /// Level of the access point, averaged, below which it scans, in dBm.
    pub threshold: i32,
    /// Difference in dB by which another must be stronger.
    pub margin_db: i32,
    /// Time between two scans, more than zero.
    pub interval: Duration,
    /// Time between two scans of all channels; those between cover the network's.
    pub complete_interval: Duration,
}

impl RoamPolicy {
    /// The policy's name in scenarios.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Simple(_) => "simple",
            Self::Learn(_) => "learn",
            Self::Iwd(_) => "iwd",
            Self::Phone(_) => "phone",
        }
    }

    /// Level in dBm below which the station scans, or scans often.
    pub fn threshold(&self) -> i32 {
        match self {
            Self::Simple(scans) | Self::Learn(scans) => scans.threshold,
            Self::Iwd(iwd) => iwd.threshold,
            Self::Phone(phone) => phone.threshold,
        }
    }

    /// Whether a station without an access point takes `one` rather than `other`.
    pub fn prefers(&self, one: &RoamCandidate, other: &RoamCandidate) -> bool {
        let by_rate = |it: &RoamCandidate| (it.rate_by_sensitivity(), it.level);
        match self {
            Self::Simple(_) | Self::Learn(_) => one.is_before(other),
            Self::Iwd(_) => by_rate(one) > by_rate(other),
            Self::Phone(_) => one.level > other.level,
        }
    }

    /// Whether a station at the access point `own` moves to `other`. wpa_supplicant compares
    /// throughputs and levels, iwd rates (`station_roam_scan_notify`), a phone levels. Left out: iwd's
    /// weights of the load that beacons tell, and of the noise.
    pub fn moves(&self, own: &RoamCandidate, other: &RoamCandidate) -> bool {
        match self {
            Self::Simple(_) | Self::Learn(_) => own.gives_way_to(other),
            Self::Iwd(_) => other.rate_by_sensitivity() > own.rate_by_sensitivity(),
            Self::Phone(phone) => other.level - own.level >= phone.margin_db,
        }
    }

    /// Whether the level of the own access point is that of the scan, not the average of beacons.
    pub fn compares_within_scan(&self) -> bool {
        matches!(self, Self::Iwd(_))
    }
}

/// Channels of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All that the station supports.
    All,
    /// Channels of the station's network.
    Network,
    /// Channels of the station's network, and one other.
    NetworkAndOne,
}

impl Extent {
    /// Numbers of the channels, if the station supports `all` and its network is on these; `None` for
    /// all.
    pub fn list(self, network: Vec<u16>, all: u16) -> Option<Vec<u16>> {
        match self {
            Self::All => None,
            Self::Network => Some(network),
            Self::NetworkAndOne => {
                let other = (0..all).find(|channel| !network.contains(channel));
                let mut list: Vec<u16> = network.into_iter().chain(other).collect();
                list.sort_unstable();
                Some(list)
            }
        }
    }
}

/// A station's background scans: the next one, and its channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Scans of wpa_supplicant.
    Supplicant {
        /// Instants of the scans.
        scans: ScanPlan,
        /// Channels of the scans.
        extent: Extent,
    },
    /// Scans of iwd.
    Iwd(IwdPlan),
    /// Scans of a phone.
    Phone(PhonePlan),
}

impl Plan {
    /// The plan of a station that associated at `now` with an access point of this level in dBm.
    /// `before` is its plan at the access point that it left, if there was one.
    pub fn new(now: Instant, policy: RoamPolicy, level: i32, before: Option<&Self>) -> Self {
        match policy {
            RoamPolicy::Simple(scans) => {
                Self::Supplicant { scans: ScanPlan::new(now, scans, level), extent: Extent::All }
            }
            RoamPolicy::Learn(scans) => Self::Supplicant {
                scans: ScanPlan::learning(now, scans, level),
                extent: Extent::NetworkAndOne,
            },
            RoamPolicy::Iwd(policy) => {
                let was_low = matches!(before, Some(Self::Iwd(plan)) if plan.is_low);
                Self::Iwd(IwdPlan::new(now, policy, was_low))
            }
            RoamPolicy::Phone(policy) => Self::Phone(PhonePlan::new(now, policy)),
        }
    }

    /// Instant of the next scan; [`Instant::MAX`] if none is planned.
    pub fn due(&self) -> Instant {
        match self {
            Self::Supplicant { scans, .. } => scans.due(),
            Self::Iwd(plan) => plan.due,
            Self::Phone(plan) => plan.due,
        }
    }

    /// Records that a scan begins at `now`, and returns its channels.
    pub fn begin(&mut self, now: Instant) -> Extent {
        match self {
            Self::Supplicant { scans, extent } => {
                scans.begin(now);
                *extent
            }
            Self::Iwd(plan) => plan.begin(),
            Self::Phone(plan) => plan.begin(now),
        }
    }

    /// Records that a scan ended at `now`, and found nothing better.
    pub fn end(&mut self, now: Instant) {
        match self {
            Self::Supplicant { scans, .. } => scans.end(now),
            Self::Iwd(plan) => plan.end(now),
            Self::Phone(plan) => plan.end(now),
        }
    }

    /// Handles the average signal after a beacon; the next scan may become due at once.
    pub fn signal(&mut self, now: Instant, average: &BeaconSignal) {
        match self {
            Self::Supplicant { scans, .. } => scans.signal(now, average),
            Self::Iwd(plan) => plan.signal(now, average),
            Self::Phone(plan) => plan.signal(now, average),
        }
    }
}

/// The scans of iwd (`station.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IwdPlan {
    policy: IwdPolicy,
    monitor: SignalMonitor,
    is_low: bool,
    is_scanning: bool,
    /// Whether the next scan covers all channels, because one of the network's found nothing.
    is_complete: bool,
    due: Instant,
    /// Instant before which no scan begins (`roam_min_time`).
    not_before: Instant,
}

impl IwdPlan {
    fn new(now: Instant, policy: IwdPolicy, is_low: bool) -> Self {
        let mut plan = Self {
            policy,
            monitor: SignalMonitor::new(policy.threshold, IWD_HYSTERESIS_DB),
            is_low,
            is_scanning: false,
            is_complete: false,
            due: Instant::MAX,
            not_before: Instant::ZERO,
        };
        if is_low {
            plan.wait(now, policy.retry);
        }
        plan
    }

    fn wait(&mut self, now: Instant, time: Duration) {
        self.not_before = self.not_before.max(now + time);
        self.due = self.not_before;
    }

    fn begin(&mut self) -> Extent {
        (self.is_scanning, self.due) = (true, Instant::MAX);
        if self.is_complete { Extent::All } else { Extent::Network }
    }

    fn end(&mut self, now: Instant) {
        self.is_scanning = false;
        let is_again = self.is_low && !self.is_complete;
        self.is_complete = is_again;
        if is_again {
            self.due = now;
        } else if self.is_low {
            self.wait(now, self.policy.retry);
        }
    }

    fn signal(&mut self, now: Instant, average: &BeaconSignal) {
        let Some(is_below) = self.monitor.crossing(average) else { return };
        if !is_below {
            (self.is_low, self.due, self.not_before) = (false, Instant::MAX, Instant::ZERO);
        } else if !self.is_low {
            self.is_low = true;
            if !self.is_scanning {
                self.wait(now, IWD_FIRST);
            }
        }
    }
}

/// The scans of a phone's firmware. The first one after an association covers all channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhonePlan {
    policy: PhonePolicy,
    is_low: bool,
    is_scanning: bool,
    last: Option<Instant>,
    due: Instant,
    /// Instant from which the next scan covers all channels.
    complete_from: Instant,
}

impl PhonePlan {
    fn new(now: Instant, policy: PhonePolicy) -> Self {
        Self {
            policy,
            is_low: false,
            is_scanning: false,
            last: None,
            due: Instant::MAX,
            complete_from: now,
        }
    }

    fn plan(&mut self, now: Instant) {
        let next = self.last.map_or(now, |last| now.max(last + self.policy.interval));
        self.due = if self.is_low && !self.is_scanning { next } else { Instant::MAX };
    }

    fn begin(&mut self, now: Instant) -> Extent {
        (self.is_scanning, self.last, self.due) = (true, Some(now), Instant::MAX);
        if now < self.complete_from {
            return Extent::Network;
        }
        self.complete_from = now + self.policy.complete_interval;
        Extent::All
    }

    fn end(&mut self, now: Instant) {
        self.is_scanning = false;
        self.plan(now);
    }

    fn signal(&mut self, now: Instant, average: &BeaconSignal) {
        let Some(level) = average.reported() else { return };
        let is_low = level < self.policy.threshold;
        if is_low != self.is_low {
            self.is_low = is_low;
            self.plan(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Generation;
    use crate::phy::{Band, ChannelWidth};
    use lasthop_units::Dbm;
    use proptest::prelude::*;

    fn after(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn steady(level: f64) -> BeaconSignal {
        let mut signal = BeaconSignal::default();
        (0..40).for_each(|_| signal.add(Dbm(level)));
        signal
    }

    fn candidate(level: i32, generation: Generation) -> RoamCandidate {
        RoamCandidate { level, band: Band::Ghz5, width: ChannelWidth::Mhz20, generation }
    }

    fn iwd() -> RoamPolicy {
        RoamPolicy::Iwd(IwdPolicy { threshold: -76, retry: Duration::from_secs(60) })
    }

    fn phone() -> RoamPolicy {
        RoamPolicy::Phone(PhonePolicy {
            threshold: -75,
            margin_db: 10,
            interval: Duration::from_secs(10),
            complete_interval: Duration::from_secs(120),
        })
    }

    /// `station_low_rssi` waits for 5 s, `station_roam_failed` scans all channels at once, then
    /// `station_roam_retry` waits for 60 s, and begins with the network's channels again.
    #[test]
    fn iwd_scans_twice_a_minute_while_the_signal_is_low() {
        let mut plan = Plan::new(after(0), iwd(), -60, None);
        plan.signal(after(3), &steady(-76.0));
        assert_eq!(plan.due(), Instant::MAX, "-76 is not below -76");
        plan.signal(after(4), &steady(-77.0));
        assert_eq!(plan.due(), after(9));
        assert_eq!(plan.begin(after(9)), Extent::Network);
        plan.end(after(10));
        assert_eq!((plan.due(), plan.begin(after(10))), (after(10), Extent::All));
        plan.end(after(15));
        assert_eq!((plan.due(), plan.begin(after(75))), (after(75), Extent::Network));
        plan.end(after(76));
        assert_eq!(plan.due(), after(76));
    }

    /// `station_ok_rssi` cancels, and after a roam with a low signal the retry interval passes first.
    #[test]
    fn iwd_looks_again_only_if_the_signal_stays_low() {
        let mut plan = Plan::new(after(0), iwd(), -60, None);
        plan.signal(after(4), &steady(-80.0));
        plan.signal(after(6), &steady(-75.0));
        assert_eq!(plan.due(), after(9), "above, but not more than 5 dB above the last report");
        plan.signal(after(6), &steady(-74.0));
        assert_eq!(plan.due(), Instant::MAX);
        plan.signal(after(7), &steady(-81.0));
        assert_eq!(plan.due(), after(12));
        let mut next = Plan::new(after(20), iwd(), -78, Some(&plan));
        assert_eq!(next.due(), after(80));
        next.signal(after(21), &steady(-60.0));
        assert_eq!(next.due(), Instant::MAX);
    }

    /// bcmdhd as Pixel phones configure it: -75 dBm, every 10 s, all channels every 120 s.
    #[test]
    fn a_phone_scans_often_and_rarely_all_channels() {
        let mut plan = Plan::new(after(0), phone(), -60, None);
        plan.signal(after(30), &steady(-75.0));
        assert_eq!(plan.due(), Instant::MAX);
        plan.signal(after(31), &steady(-76.0));
        let mut scans = Vec::new();
        while plan.due() < after(170) {
            let now = plan.due();
            scans.push(plan.begin(now));
            plan.end(now + Duration::from_secs(2));
        }
        let complete: Vec<_> =
            scans.iter().enumerate().filter(|(_, it)| **it == Extent::All).collect();
        assert_eq!((scans.len(), complete.len(), complete[1].0), (14, 2, 12));
        plan.signal(after(180), &steady(-70.0));
        assert_eq!(plan.due(), Instant::MAX);
    }

    /// Without back-off (`bgscan_learn.c`): every 30 s for ever, where "simple" slows down.
    #[test]
    fn learning_does_not_back_off() {
        let scans = ScanPolicy {
            short: Duration::from_secs(30),
            threshold: -70,
            long: Duration::from_secs(300),
        };
        let mut plan = Plan::new(after(0), RoamPolicy::Learn(scans), -75, None);
        for scan in 1..50 {
            assert_eq!(plan.due(), after(30 * scan));
            assert_eq!(plan.begin(after(30 * scan)), Extent::NetworkAndOne);
            plan.end(after(30 * scan));
        }
    }

    /// Levels of IEEE 802.11-2020, table 19-18: 64-QAM 5/6 needs -64 dBm, 16-QAM 1/2 -74.
    #[test]
    fn iwd_compares_rates_and_a_phone_levels() {
        let (weak, strong) = (candidate(-74, Generation::Ht), candidate(-64, Generation::Ht));
        assert!(iwd().moves(&weak, &strong) && phone().moves(&weak, &strong));
        let (slow, fast) = (candidate(-63, Generation::Ht), candidate(-50, Generation::Ht));
        assert!(!iwd().moves(&slow, &fast), "both are at the highest rate");
        assert!(phone().moves(&slow, &fast));
        let newer = candidate(-52, Generation::He);
        assert!(iwd().moves(&fast, &newer) && !phone().moves(&fast, &newer));
        assert!(iwd().prefers(&fast, &slow) && !iwd().prefers(&slow, &fast));
    }

    proptest! {
        /// For all signals a plan is due at most once until its scan ends, and covers only channels
        /// that exist; no access point is preferred to itself.
        #[test]
        fn plans_are_in_order(
            levels in prop::collection::vec(-95..-30i32, 1..200),
            which in 0..2usize,
            network in 1..5u16,
        ) {
            let policy = [iwd(), phone()][which];
            let mut plan = Plan::new(after(0), policy, levels[0], None);
            let mut signal = BeaconSignal::default();
            for (index, level) in levels.iter().enumerate() {
                let now = after(3 * index as u64);
                signal.add(Dbm(f64::from(*level)));
                plan.signal(now, &signal);
                if plan.due() <= now {
                    let list = plan.begin(now).list((0..network).collect(), 8);
                    prop_assert!(list.is_none_or(|list| list.len() == usize::from(network)));
                    prop_assert_eq!(plan.due(), Instant::MAX);
                    plan.end(now + Duration::from_secs(1));
                    prop_assert!(plan.due() > now);
                }
                let one = candidate(*level, Generation::Vht);
                prop_assert!(!policy.prefers(&one, &one) && !policy.moves(&one, &one));
            }
        }
    }
}
