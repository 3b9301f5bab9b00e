//! Agreements on service periods of a station that stays in power save mode. Unscheduled ones begin
//! with the station's frames (U-APSD; IEEE 802.11-2020, 11.2.3). With an individual target wake
//! time agreement they follow the clock (TWT; IEEE 802.11ax-2021, 26.8).
//!
//! The module holds only the agreement of a station and its access point; their procedures are in
//! the cell. Left out: S-APSD, TSPECs, broadcast and trigger-enabled TWT, TWT information frames,
//! agreements that are made, changed or torn down during a run, flexible wake times, TWT channels.

use lasthop_units::Duration;

/// Max SP Length in frames (9.4.1.17): the highest number of frames that an access point sends in
/// an unscheduled service period; no limit if `None`.
pub type FramesMax = Option<u8>;

/// Values of the field, except "all".
pub const FRAMES_MAX: [u8; 3] = [2, 4, 6];

/// Units of a TWT's nominal minimum wake duration, which is a multiple of up to 255: 256 us or a
/// time unit (IEEE 802.11ax-2021, 9.4.2.199).
pub const WAKE_UNITS: [Duration; 2] = [Duration::from_micros(256), Duration::from_micros(1_024)];

/// Unscheduled automatic power save delivery of one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnscheduledConfig {
    /// Whether held frames are sent in service periods, by access category index. Held frames of
    /// the other categories are sent one by one, in answer to PS-Poll frames.
    pub delivery_enabled: [bool; 4],
    /// Whether a QoS Data or QoS Null frame of the station begins a service period, by access
    /// category index. At least one category does.
    pub trigger_enabled: [bool; 4],
    /// Limit of frames in a service period.
    pub frames_max: FramesMax,
    /// Time without a service period after which the station begins one by a QoS Null frame. If
    /// `None`, the station begins service periods only with its data, or after a beacon that
    /// announces frames.
    pub trigger_interval: Option<Duration>,
    /// Listen interval in beacon intervals, at least 1.
    pub listen_interval: u8,
}

/// Times at which a station with a TWT agreement sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwtUplink {
    /// Only in its service periods, as stations with an individual agreement should (clause not
    /// seen).
    ServicePeriods,
    /// At any time: the station's frames begin unscheduled service periods of all categories,
    /// between the scheduled ones.
    AtOnce,
}

/// An individual, implicit TWT agreement: each service period begins an interval after the one
/// before. The agreement is in force from the first instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwtConfig {
    /// Wake interval: a mantissa of 16 bits times a power of two, in microseconds.
    pub wake_interval: Duration,
    /// Nominal minimum wake duration: a multiple of one of [`WAKE_UNITS`], no longer than the
    /// interval.
    pub wake_duration: Duration,
    /// First target wake time, from the start of the run.
    pub first_wake: Duration,
    /// Whether the access point waits for a frame of the station before it sends; without data the
    /// station sends a QoS Null frame. Otherwise the access point assumes that the station is
    /// awake.
    pub announced: bool,
    /// Whether the access point ends a service period when it has sent all held frames (EOSP).
    pub ends_early: bool,
    /// Times at which the station sends.
    pub uplink: TwtUplink,
    /// Whether the station wakes for each beacon with a DTIM, and stays awake for group frames.
    /// Otherwise it misses group frames outside of its service periods.
    pub listens_to_dtim: bool,
}

/// Kind of a station's service periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServicePeriodConfig {
    /// Unscheduled service periods (U-APSD).
    Unscheduled(UnscheduledConfig),
    /// Scheduled service periods (TWT).
    TargetWake(TwtConfig),
}

impl ServicePeriodConfig {
    /// Whether frames of this category are sent in service periods.
    pub const fn delivers(&self, category: usize) -> bool {
        match self {
            Self::Unscheduled(config) => config.delivery_enabled[category],
            Self::TargetWake(_) => true,
        }
    }

    /// Whether frames of all categories are sent in service periods.
    pub const fn delivers_all(&self) -> bool {
        self.delivers(0) && self.delivers(1) && self.delivers(2) && self.delivers(3)
    }

    /// Whether the station's frames of this category begin unscheduled service periods.
    pub const fn triggers(&self, category: usize) -> bool {
        match self {
            Self::Unscheduled(config) => config.trigger_enabled[category],
            Self::TargetWake(_) => true,
        }
    }

    /// Limit of frames in an unscheduled service period.
    pub const fn frames_max(&self) -> FramesMax {
        match self {
            Self::Unscheduled(config) => config.frames_max,
            Self::TargetWake(_) => None,
        }
    }

    /// Whether the station has unscheduled service periods.
    pub const fn has_unscheduled(&self) -> bool {
        match self {
            Self::Unscheduled(_) => true,
            Self::TargetWake(config) => matches!(config.uplink, TwtUplink::AtOnce),
        }
    }

    /// Access category of the station's QoS Null frames: the highest that begins service periods.
    pub fn trigger_category(&self) -> usize {
        (0..4).rev().find(|category| self.triggers(*category)).unwrap_or(3)
    }

    /// Access category of the access point's QoS Null frames: the highest that is sent in service
    /// periods.
    pub fn delivery_category(&self) -> usize {
        (0..4).rev().find(|category| self.delivers(*category)).unwrap_or(3)
    }

    /// Whether the station depends on beacons.
    pub const fn needs_beacons(&self) -> bool {
        match self {
            Self::Unscheduled(_) => true,
            Self::TargetWake(config) => config.listens_to_dtim,
        }
    }
}

/// Whether a wake interval is a mantissa of 16 bits times a power of two up to 2^31, in
/// microseconds (IEEE 802.11ax-2021, 9.4.2.199).
pub fn is_wake_interval(interval: Duration) -> bool {
    let micros = interval.as_micros();
    Duration::from_micros(micros) == interval
        && micros > 0
        && micros >> micros.trailing_zeros().min(31) <= u64::from(u16::MAX)
}

/// Whether a nominal minimum wake duration is 1 to 255 of one of [`WAKE_UNITS`].
pub fn is_wake_duration(duration: Duration) -> bool {
    WAKE_UNITS.iter().any(|unit| {
        let (nanos, unit) = (duration.as_nanos(), unit.as_nanos());
        nanos % unit == 0 && (1..=255).contains(&(nanos / unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_a_mantissa_of_sixteen_bits() {
        let is = |micros| is_wake_interval(Duration::from_micros(micros));
        // 102 400 us is 25 * 2^12, 100 ms 3 125 * 2^5, 10 s 78 125 * 2^7.
        assert!(is(1) && is(65_535) && is(65_536) && is(102_400) && is(100_000));
        assert!(!is(0) && !is(65_537) && is(65_538) && !is(10_000_000) && is(10_000_384));
        assert!(is(65_535 << 31) && !is(65_535 << 32));
        assert!(!is_wake_interval(Duration::from_nanos(1_500)));
    }

    #[test]
    fn durations_are_multiples_of_their_units() {
        let is = |micros| is_wake_duration(Duration::from_micros(micros));
        assert!(is(256) && is(255 * 256) && is(255 * 1_024) && is(256 * 256));
        assert!(!is(0) && !is(100) && !is(257 * 256) && !is(256 * 1_024));
    }

    #[test]
    fn null_frames_have_the_highest_category_there_is() {
        let config = ServicePeriodConfig::Unscheduled(UnscheduledConfig {
            delivery_enabled: [true, false, true, false],
            trigger_enabled: [false, true, false, false],
            frames_max: Some(2),
            trigger_interval: None,
            listen_interval: 1,
        });
        assert_eq!((config.trigger_category(), config.delivery_category()), (1, 2));
        assert!(config.delivers(0) && !config.delivers(1) && !config.delivers_all());
    }
}
