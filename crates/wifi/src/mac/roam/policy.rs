//! The average of beacons' signal in mac80211 and the report of its changes
//! (`ieee80211_handle_beacon_sig`), wpa_supplicant's `bgscan` "simple" and "learn", and its
//! `wpa_supplicant_need_to_roam_within_ess`, all as of Linux 6.1 and wpa_supplicant 2.10; iwd's
//! estimate of a rate. Levels are in dBm, throughputs in kb/s.

use crate::capabilities::Generation;
use crate::phy::{Band, ChannelWidth};
use lasthop_units::{Dbm, Duration, Instant};

/// Beacons after an association before signal changes are reported (`IEEE80211_SIGNAL_AVE_MIN_COUNT`).
const BEACONS_MIN: u32 = 4;

/// Change of the average beyond the last reported one, in dB, that is reported again
/// (`bgscan_simple_init`).
const HYSTERESIS_DB: i32 = 4;

/// SNR in dB above which wpa_supplicant takes a link for good (`GREAT_SNR`).
const GREAT_SNR: i32 = 25;

/// Difference of estimated throughputs that decides alone.
const CLEARLY_KBPS: u32 = 5_000;

/// Signal of an access point's beacons, averaged: a new one counts a quarter, in sixteenths of dB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BeaconSignal {
    /// Sixteenths of -dBm; `None` before the first beacon.
    sixteenths: Option<u32>,
    beacons: u32,
}

impl BeaconSignal {
    /// Adds the signal of a beacon, below 0 dBm.
    pub fn add(&mut self, signal: Dbm) {
        let magnitude = libm::round(-signal.0).max(0.0) as u32;
        let added = magnitude << 4;
        self.sixteenths = Some(self.sixteenths.map_or(added, |mean| (3 * mean + added) >> 2));
        self.beacons = self.beacons.saturating_add(1);
    }

    /// The average in whole dBm; `None` before the first beacon.
    pub fn dbm(&self) -> Option<i32> {
        self.sixteenths.map(|mean| -((mean >> 4) as i32))
    }

    /// The average, once there were enough beacons to report changes.
    pub fn reported(&self) -> Option<i32> {
        self.dbm().filter(|_| self.beacons >= BEACONS_MIN)
    }
}

/// Reports that the average crossed a threshold, each time it went on by more than a hysteresis
/// (mac80211's connection quality monitor).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalMonitor {
    threshold: i32,
    hysteresis: i32,
    /// Level of the last report.
    reported: Option<i32>,
}

impl SignalMonitor {
    /// A monitor with this threshold in dBm and hysteresis in dB.
    pub fn new(threshold: i32, hysteresis: i32) -> Self {
        Self { threshold, hysteresis, reported: None }
    }

    /// Handles the average after a beacon: whether it is below the threshold, if that is reported.
    pub fn crossing(&mut self, average: &BeaconSignal) -> Option<bool> {
        let level = average.reported()?;
        let Self { threshold, hysteresis, reported } = *self;
        let is_below = level < threshold && reported.is_none_or(|last| level < last - hysteresis);
        let is_above = level > threshold && reported.is_none_or(|last| level > last + hysteresis);
        if !is_below && !is_above {
            return None;
        }
        self.reported = Some(level);
        Some(is_below)
    }
}

/// Background scans by the signal, as `bgscan = "simple:SHORT:THRESHOLD:LONG"` and "learn" have
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPolicy {
    /// Interval while the signal is below the threshold, at least 1 s.
    pub short: Duration,
    /// The threshold in dBm.
    pub threshold: i32,
    /// Interval while the signal is above it.
    pub long: Duration,
}

/// A station's background scans: their interval and the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPlan {
    policy: ScanPolicy,
    is_short: bool,
    /// Scans at the short interval, less later ones at the long interval.
    short_scans: u64,
    /// Instant of the last scan, or of the association.
    last: Instant,
    /// Instant of the next scan.
    due: Instant,
    monitor: SignalMonitor,
    /// Whether many scans at the short interval end it.
    backs_off: bool,
}

impl ScanPlan {
    /// The plan of a station that associates at `now` with this signal.
    pub fn new(now: Instant, policy: ScanPolicy, signal: i32) -> Self {
        let is_short = signal < policy.threshold;
        let interval = if is_short { policy.short } else { policy.long };
        Self {
            policy,
            is_short,
            short_scans: 0,
            last: now,
            due: now.saturating_add(interval),
            monitor: SignalMonitor::new(policy.threshold, HYSTERESIS_DB),
            backs_off: true,
        }
    }

    /// The same with `bgscan = "learn"`, which does not count scans.
    pub fn learning(now: Instant, policy: ScanPolicy, signal: i32) -> Self {
        Self { backs_off: false, ..Self::new(now, policy, signal) }
    }

    fn interval(&self) -> Duration {
        if self.is_short { self.policy.short } else { self.policy.long }
    }

    /// Instant of the next scan.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Records that a scan begins at `now`.
    pub fn begin(&mut self, now: Instant) {
        if !self.backs_off {
            // All scans are alike.
        } else if self.is_short {
            self.short_scans += 1;
            if self.short_scans >= self.short_scans_max() {
                self.is_short = false;
            }
        } else {
            self.short_scans = self.short_scans.saturating_sub(1);
        }
        self.last = now;
        self.due = Instant::MAX;
    }

    /// Records that a scan ended at `now`.
    pub fn end(&mut self, now: Instant) {
        self.due = now.saturating_add(self.interval());
    }

    /// Handles the average signal after a beacon; the next scan may become due at once.
    pub fn signal(&mut self, now: Instant, average: &BeaconSignal) {
        if self.policy.short == self.policy.long {
            return;
        }
        let Some(is_below) = self.monitor.crossing(average) else { return };
        let since = seconds(now).saturating_sub(seconds(self.last));
        // A scan that is under way has no next one yet.
        let is_scanning = self.due == Instant::MAX;
        let due = match (self.is_short, is_below) {
            (false, true) => {
                self.is_short = true;
                if since > 1 && self.short_scans <= self.short_scans_max() {
                    Some(now)
                } else if whole_seconds(self.policy.long) > since + whole_seconds(self.policy.short)
                {
                    Some(now.saturating_add(self.policy.short))
                } else {
                    None
                }
            }
            (true, false) => {
                self.is_short = false;
                Some(now.saturating_add(self.policy.long))
            }
            (true, true) => (since > 10).then_some(now),
            (false, false) => None,
        };
        if let Some(due) = due.filter(|_| !is_scanning) {
            self.due = due;
        }
    }

    fn short_scans_max(&self) -> u64 {
        whole_seconds(self.policy.long) / whole_seconds(self.policy.short).max(1) + 1
    }
}

fn seconds(at: Instant) -> u64 {
    whole_seconds(at - Instant::ZERO)
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000_000_000
}

/// An access point as a station compares it with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoamCandidate {
    /// Level in whole dBm.
    pub level: i32,
    /// Band and width of its channel.
    pub band: Band,
    /// Width of its channel.
    pub width: ChannelWidth,
    /// Generation of its PHY.
    pub generation: Generation,
}

impl RoamCandidate {
    /// SNR in dB with wpa_supplicant's noise (`DEFAULT_NOISE_FLOOR_2GHZ` and `_5GHZ`).
    pub fn snr(&self) -> i32 {
        let noise = if self.band == Band::Ghz2_4 { -89 } else { -92 };
        self.level - noise
    }

    /// Estimated throughput of one stream in kb/s (`wpas_get_est_tpt`, with the table of 40 MHz for
    /// wider channels, too).
    pub fn estimate(&self) -> u32 {
        let snr = self.snr();
        let legacy =
            LEGACY.iter().find(|(below, _)| snr < *below).map_or(54_000, |(_, kbps)| *kbps);
        let table = match self.width {
            ChannelWidth::Mhz20 => HT20,
            _ => HT40,
        };
        if self.generation > Generation::NonHt { legacy.max(between(table, snr)) } else { legacy }
    }

    /// The highest rate of one stream in kb/s, with the long guard interval, whose sensitivity its
    /// level reaches, at the widest channel where one does; zero if none does (iwd's
    /// `band_estimate_ht_rx_rate` and those of VHT and HE).
    pub fn rate_by_sensitivity(&self) -> u32 {
        if self.generation == Generation::NonHt {
            let fit = SENSITIVITY_OFDM.iter().rev().find(|(least, _)| self.level >= *least);
            return fit.map_or(0, |(_, kbps)| *kbps);
        }
        let is_he = self.generation >= Generation::He;
        let schemes = match self.generation {
            Generation::NonHt | Generation::Ht => 8,
            Generation::Vht => 10,
            // iwd knows no rates of EHT.
            Generation::He | Generation::Eht => 12,
        };
        let widths =
            WIDTHS.iter().enumerate().rev().filter(|(_, (width, ..))| *width <= self.width);
        let of_width = |(index, &(_, vht, he)): (usize, &(ChannelWidth, u32, u32))| {
            let level = self.level - 3 * index as i32;
            let fit = SENSITIVITY[..schemes].iter().rev().find(|(least, _)| level >= *least);
            fit.map(|(_, thirds)| if is_he { he } else { vht } * thirds / 3)
        };
        widths.filter_map(of_width).next().unwrap_or_default()
    }

    /// Whether a scan's results list it before `other` (`wpa_scan_result_compar`).
    pub fn is_before(&self, other: &Self) -> bool {
        let capped = |snr: i32| snr.min(GREAT_SNR);
        let is_alike = (capped(self.snr()) - capped(other.snr())).abs() < 7;
        let (own, theirs) = (self.estimate(), other.estimate());
        if is_alike && own != theirs { own > theirs } else { self.snr() > other.snr() }
    }

    /// Whether a station at the access point `self`, with the averaged level of its beacons, moves
    /// to `other` (`wpa_supplicant_need_to_roam_within_ess`).
    pub fn gives_way_to(&self, other: &Self) -> bool {
        let (own, theirs) = (self.estimate(), other.estimate());
        let towards_5ghz =
            if self.band == Band::Ghz2_4 && other.band != Band::Ghz2_4 { 2 } else { 0 };
        if theirs > own + CLEARLY_KBPS {
            return true;
        }
        if self.level > other.level + towards_5ghz && exceeds(own, theirs, 10, 12) {
            return false;
        }
        if own > theirs + CLEARLY_KBPS || self.snr() > GREAT_SNR {
            return false;
        }
        let by_level = match self.level {
            ..-85 => 1,
            -85..-80 => 2,
            -80..-75 => 3,
            -75..-70 => 4,
            -70.. => 5,
        };
        let by_estimate = match (own, theirs) {
            (own, theirs) if exceeds(theirs, own, 15, 10) => 10,
            (own, theirs) if exceeds(theirs, own, 12, 10) => 5,
            (own, theirs) if exceeds(theirs, own, 11, 10) => 2,
            (own, theirs) if own > theirs => 1,
            (own, theirs) if exceeds(own, theirs, 15, 10) => -10,
            (own, theirs) if exceeds(own, theirs, 12, 10) => -5,
            (own, theirs) if exceeds(own, theirs, 11, 10) => -2,
            (own, theirs) if theirs > own => -1,
            _ => 0,
        };
        other.level - self.level >= by_level + by_estimate - towards_5ghz
    }
}

/// Whether `many` times `over` exceeds `few` times `times`: `many` is above times / over of `few`.
fn exceeds(few: u32, many: u32, times: u32, over: u32) -> bool {
    u64::from(many) * u64::from(over) > u64::from(few) * u64::from(times)
}

/// Lowest level in dBm at which 20 MHz must be received with MCS 0 to 11 (IEEE 802.11-2020, table
/// 19-23, 21-25; 802.11ax-2021, table 27-51), and thirds of the rate of MCS 0.
const SENSITIVITY: &[(i32, u32)] = &[
    (-82, 3),
    (-79, 6),
    (-77, 9),
    (-74, 12),
    (-70, 18),
    (-66, 24),
    (-65, 27),
    (-64, 30),
    (-59, 36),
    (-57, 40),
    (-54, 45),
    (-52, 50),
];

/// The same of OFDM (table 17-18), and rates in kb/s.
const SENSITIVITY_OFDM: &[(i32, u32)] = &[
    (-82, 6_000),
    (-81, 9_000),
    (-79, 12_000),
    (-77, 18_000),
    (-74, 24_000),
    (-70, 36_000),
    (-66, 48_000),
    (-65, 54_000),
];

/// Widths, each of which needs 3 dB more than the one before, and the rates of MCS 0 in kb/s with
/// HT or VHT and with HE.
const WIDTHS: &[(ChannelWidth, u32, u32)] = &[
    (ChannelWidth::Mhz20, 6_500, 8_600),
    (ChannelWidth::Mhz40, 13_500, 17_200),
    (ChannelWidth::Mhz80, 29_250, 36_000),
    (ChannelWidth::Mhz160, 58_500, 72_100),
];

/// Throughput in kb/s below an SNR in dB, without 802.11n.
const LEGACY: &[(i32, u32)] = &[
    (1, 1_000),
    (4, 2_000),
    (5, 6_000),
    (6, 9_000),
    (7, 12_000),
    (8, 14_000),
    (9, 16_000),
    (10, 18_000),
    (11, 24_000),
    (12, 27_000),
    (13, 30_000),
    (14, 33_000),
    (15, 36_000),
    (16, 39_000),
    (17, 42_000),
    (18, 45_000),
    (19, 48_000),
    (20, 51_000),
];

/// Throughput in kb/s at an SNR in dB, at 20 MHz.
const HT20: &[(i32, u32)] = &[
    (0, 0),
    (2, 6_500),
    (5, 13_000),
    (9, 19_500),
    (11, 26_000),
    (15, 39_000),
    (18, 52_000),
    (20, 58_500),
    (25, 65_000),
];

/// The same at 40 MHz.
const HT40: &[(i32, u32)] = &[
    (0, 0),
    (5, 13_500),
    (8, 27_000),
    (12, 40_500),
    (14, 54_000),
    (18, 81_000),
    (21, 108_000),
    (23, 121_500),
    (28, 135_000),
];

/// The value of a table at `snr`, on a line between two entries.
fn between(table: &[(i32, u32)], snr: i32) -> u32 {
    let after = table.partition_point(|(at, _)| *at <= snr);
    let Some(&(first, low)) = after.checked_sub(1).and_then(|index| table.get(index)) else {
        return 0;
    };
    let Some(&(last, high)) = table.get(after) else { return low };
    let share = i64::from(snr - first) * i64::from(high - low) / i64::from(last - first);
    low + share as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(level: i32) -> RoamCandidate {
        RoamCandidate {
            level,
            band: Band::Ghz5,
            width: ChannelWidth::Mhz20,
            generation: Generation::Ht,
        }
    }

    fn after(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// -70, then -80 for good: three quarters of the old one remain each time, in sixteenths rounded
    /// down, and what is read is rounded towards zero.
    #[test]
    fn beacons_are_averaged_by_quarters() {
        let mut mean = BeaconSignal::default();
        assert_eq!(mean.dbm(), None);
        mean.add(Dbm(-70.0));
        let read: [_; 6] = core::array::from_fn(|_| {
            mean.add(Dbm(-80.0));
            mean.dbm().expect("there were beacons")
        });
        assert_eq!(read, [-72, -74, -75, -76, -77, -78]);
    }

    /// 58.5 Mb/s at 20 dB and 65 at 25: a difference above 5 Mb/s decides alone. At 22 dB one has
    /// 61.1, and 5 dB more are needed.
    #[test]
    fn throughput_decides_before_levels() {
        assert_eq!(at(-72).estimate(), 58_500);
        assert_eq!(at(-70).estimate(), 61_100);
        assert!(at(-72).gives_way_to(&at(-67)));
        assert!(!at(-70).gives_way_to(&at(-67)));
        assert!(at(-69).gives_way_to(&at(-64)) && !at(-69).gives_way_to(&at(-66)));
        assert!(!at(-66).gives_way_to(&at(-40)), "a great link is kept");
        assert!(!at(-60).gives_way_to(&at(-61)), "a better link is kept");
    }

    /// With "simple:30:-70:300": a weak signal asks for a scan at once, then every 30 s; after eleven
    /// of them every 300 s.
    #[test]
    fn scans_come_more_often_below_the_threshold() {
        let policy = ScanPolicy {
            short: Duration::from_secs(30),
            threshold: -70,
            long: Duration::from_secs(300),
        };
        let mut plan = ScanPlan::new(after(0), policy, -60);
        assert_eq!(plan.due(), after(300));
        let mut mean = BeaconSignal::default();
        (0..3).for_each(|_| mean.add(Dbm(-75.0)));
        plan.signal(after(20), &mean);
        assert_eq!(plan.due(), after(300), "three beacons say nothing yet");
        mean.add(Dbm(-75.0));
        plan.signal(after(20), &mean);
        assert_eq!(plan.due(), after(20));
        for scan in 0..11 {
            let now = after(20 + 31 * scan);
            assert_eq!(plan.due(), now);
            plan.begin(now);
            plan.end(now + Duration::from_secs(1));
        }
        assert_eq!(plan.due(), after(20 + 31 * 10 + 1 + 300));
    }

    #[test]
    fn a_better_signal_ends_frequent_scans() {
        let policy = ScanPolicy {
            short: Duration::from_secs(30),
            threshold: -70,
            long: Duration::from_secs(300),
        };
        let mut plan = ScanPlan::new(after(0), policy, -75);
        assert_eq!(plan.due(), after(30));
        let mut mean = BeaconSignal::default();
        (0..4).for_each(|_| mean.add(Dbm(-60.0)));
        plan.signal(after(5), &mean);
        assert_eq!(plan.due(), after(305));
    }
}
