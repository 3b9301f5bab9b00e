//! The cause of a station's absences, from their rhythm and the frames in them.
//!
//! | cause | what shows it |
//! |---|---|
//! | scan | Probe Requests, or sequence numbers that were used elsewhere, in most absences; or absences as long as a timer runs, in the midst of traffic, in runs: one for each channel |
//! | power save | absences that follow pauses in which the station does not stay otherwise, that end behind beacons, or in which it polls |
//! | time sharing | absences as long as a timer runs, every second and oftener, all the time: another channel is served in turn, by AWDL or Wi-Fi Direct |
//! | coexistence | the same in the 2.4 GHz band, in turns as short as Bluetooth's |
//! | periodic | absences as long as a timer runs, seconds or minutes apart |

use super::Air;
use super::absence::{Absence, Absences, Look};
use super::stations::StationId;
use lasthop_wifi_phy::Band;

/// A run of absences that follow each other closely: the degraded period of the `scan` paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Indices of its absences: the first, and the one after the last.
    pub absences: (usize, usize),
    /// Number of absences that the monitor missed, by the rhythm of the others.
    pub missed: u32,
    /// Start of the first absence, in ns since 1970.
    pub from_ns: u64,
    /// End of the last absence, in ns since 1970.
    pub to_ns: u64,
}

/// Rhythm and cause of a station's absences.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Cause of the absences.
    pub cause: Cause,
    /// Runs of absences, in their order.
    pub periods: Vec<Period>,
    /// Median length of an absence in ns.
    pub asleep_ns: u64,
    /// Median time between absences of one run in ns, if a run has several.
    pub awake_ns: Option<u64>,
    /// Number of absences in a run, including missed ones: the median of complete runs. With one or
    /// two runs, which may be incomplete, it is the greatest.
    pub absences: u32,
    /// Median time from the start of a run to the next in ns, if there are two.
    pub every_ns: Option<u64>,
    /// Median time from the start of an absence to the next in ns, for absences that come one by
    /// one rather than in runs.
    pub cycle_ns: Option<u64>,
    /// Probe Requests in all absences.
    pub probes: u64,
    /// Median number of sequence numbers used on other channels, among absences for which it is
    /// known.
    pub hidden: Option<u64>,
}

/// Cause of a station's absences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The station looks for other access points.
    Scan,
    /// The station saves power.
    PowerSave,
    /// The station serves other channels in turn.
    TimeSharing,
    /// The station shares its antenna with Bluetooth.
    Coexistence,
    /// A timer starts and ends the absences; its purpose is unknown.
    Periodic,
    /// The absences are too few, or of several kinds.
    Unknown,
}

impl Cause {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::PowerSave => "power_save",
            Self::TimeSharing => "time_sharing",
            Self::Coexistence => "coexistence",
            Self::Periodic => "periodic",
            Self::Unknown => "unknown",
        }
    }
}

/// Longest cycle of a radio that serves two channels in turn. AWDL has 16 windows in 1 024 TU;
/// Wi-Fi Direct alternates every one or several beacon intervals.
const SHARING_NS: u64 = 1_500_000_000;
/// Longest cycle of Bluetooth's turns, and longest absence in it. Coexistence firmware divides one
/// or two beacon intervals.
const COEXISTENCE_NS: u64 = 300_000_000;
const LENT_NS: u64 = 100_000_000;
/// Largest number of absences of one scan: 14 channels at 2.4 GHz, 28 at 5 GHz, and the 15
/// preferred ones of 6 GHz, some of them twice.
const SCAN_MAX: u64 = 80;
/// Absences of a rhythm without start and end from which it is not part of a scan.
const ENDLESS_MIN: u64 = 20;
/// Shortest quiet time before a scan, or after it.
const QUIET_NS: u64 = 2_000_000_000;
/// Gap between absences above which they belong to different runs, if it also exceeds [`APART`]
/// times the usual gap.
const APART_NS: u64 = 2_000_000_000;
const APART: u64 = 6;

/// Fraction of the absences, 1 in `MANY`, that must share a length within a tenth for it to be a
/// timer's: traffic spreads lengths wider. `MANY_MIN` is the least number, since one length always
/// equals itself.
const MANY: usize = 4;
const MANY_MIN: usize = 3;

impl Schedule {
    /// Returns the schedule of the latest absences of a station; `None` if there are none.
    pub fn from_absences(air: &Air, id: StationId, latest: usize) -> Option<Self> {
        let all = air.absences.get(&id)?;
        let absences = all.so_far();
        let absences = &absences[absences.len().saturating_sub(latest)..];
        let asleep_ns = median(absences.iter().map(Absence::asleep_ns))?;
        let gaps = absences.windows(2).map(|pair| pair[1].from_ns.saturating_sub(pair[0].to_ns));
        // Gaps within a run are at least the shorter half, unless runs have two absences.
        let near = median(gaps.clone());
        let apart = near.map_or(APART_NS, |near| near.saturating_mul(APART).max(APART_NS));
        let mut periods: Vec<Period> = Vec::new();
        for (index, absence) in absences.iter().enumerate() {
            match periods.last_mut() {
                Some(period) if absence.from_ns.saturating_sub(period.to_ns) < apart => {
                    period.absences.1 = index + 1;
                    period.to_ns = absence.to_ns;
                }
                _ => periods.push(Period {
                    absences: (index, index + 1),
                    missed: 0,
                    from_ns: absence.from_ns,
                    to_ns: absence.to_ns,
                }),
            }
        }
        let awake_ns = median(gaps.filter(|gap| *gap < apart));
        if let (true, Some(awake_ns)) = (is_timed(absences), awake_ns) {
            for period in &mut periods {
                period.missed =
                    missed(&absences[period.absences.0..period.absences.1], asleep_ns, awake_ns);
            }
        }
        // The capture may have begun during the first run, or ended during the last.
        let whole = match &periods[..] {
            [_, whole @ .., _] => median(whole.iter().map(Period::count)),
            _ => None,
        };
        let most = || periods.iter().map(Period::count).max();
        let count = whole.or_else(most).unwrap_or_default();
        let every = periods.windows(2).map(|pair| pair[1].from_ns.saturating_sub(pair[0].from_ns));
        let every_ns = median(every);
        let begins =
            absences.windows(2).map(|pair| pair[1].from_ns.saturating_sub(pair[0].from_ns));
        let longest = periods.iter().map(Period::count).max().unwrap_or_default();
        let cycle_ns = match () {
            // Runs of one absence.
            () if count <= 1 && every_ns.is_some() => every_ns,
            // One rhythm, with a few absences outside of it.
            () if longest * 10 >= absences.len() as u64 * 8 => median(begins),
            () => None,
        };
        let schedule = Self {
            cause: Cause::Unknown,
            periods,
            asleep_ns,
            awake_ns,
            absences: u32::try_from(count).unwrap_or(u32::MAX),
            every_ns,
            cycle_ns,
            probes: absences.iter().map(|absence| u64::from(absence.probes)).sum(),
            hidden: if all.is_counted() {
                median(absences.iter().filter_map(|it| it.hidden.map(u64::from)))
            } else {
                None
            },
        };
        Some(Self { cause: schedule.cause(air, all, absences), ..schedule })
    }

    fn cause(&self, air: &Air, all: &Absences, absences: &[Absence]) -> Cause {
        let count = absences.len();
        let elsewhere: Vec<bool> =
            absences.iter().filter_map(|absence| absence.is_elsewhere(all.is_counted())).collect();
        let proved = elsewhere.iter().filter(|is| **is).count();
        if proved >= 2 && proved * 10 >= elsewhere.len() * 6 && elsewhere.len() * 2 >= count {
            return Cause::Scan;
        }
        let timed = is_timed(absences);
        // Power save has a timer for pauses; other timers ignore pauses.
        let pauses: Vec<u64> = absences.iter().filter_map(|absence| absence.pause_ns).collect();
        let paused = alike(&pauses) * 10 >= pauses.len() * 6;
        let (mut rests, mut interruptions) = (0, 0);
        for absence in absences {
            match all.look(absence) {
                Look::Rest => rests += 1,
                Look::LikelyRest if paused || !timed => rests += 1,
                Look::LikelyInterruption if paused => rests += 1,
                Look::Interruption | Look::LikelyInterruption => interruptions += 1,
                Look::LikelyRest | Look::Unclear => {}
            }
        }
        let judged = rests + interruptions;
        let from_ns = absences.first().map_or(0, |absence| absence.from_ns);
        let to_ns = absences.last().map_or(0, |absence| absence.to_ns);
        let away_ns = absences.iter().map(Absence::asleep_ns).fold(0, u64::saturating_add);
        // A station is on other channels most of the time only if traffic is seen to suffer.
        let is_mostly_away = away_ns > to_ns.saturating_sub(from_ns) / 2;
        match () {
            () if count >= 3 && rests >= 2 && rests * 10 >= judged * 6 && judged * 3 >= count => {
                Cause::PowerSave
            }
            () if count >= 3 && interruptions == 0 && is_mostly_away => Cause::PowerSave,
            () if !timed || rests * 10 > judged * 4 => Cause::Unknown,
            // Two absences are weak evidence: both must interrupt traffic, with nearly equal
            // lengths.
            () if count < 2 || count == 2 && interruptions < 2 => Cause::Unknown,
            () if count == 2 && !is_near(absences[0].asleep_ns(), absences[1].asleep_ns(), 30) => {
                Cause::Unknown
            }
            () => self.timed(air, absences),
        }
    }

    /// Whether most absences begin a whole number of cycles after the previous one.
    pub fn is_steady(&self, absences: &[Absence]) -> bool {
        let Some(cycle) = self.cycle_ns.filter(|cycle| *cycle > 0) else { return false };
        let is_near = |pair: &&[Absence]| {
            let apart = pair[1].from_ns.saturating_sub(pair[0].from_ns);
            let cycles = (apart.saturating_add(cycle / 2) / cycle).max(1);
            apart.abs_diff(cycles.saturating_mul(cycle)) < cycle / 10
        };
        let pairs = absences.windows(2);
        pairs.clone().filter(is_near).count() * 10 >= pairs.len() * 6
    }

    /// Returns the cause of absences that a timer starts and ends.
    fn timed(&self, air: &Air, absences: &[Absence]) -> Cause {
        let count = absences.len();
        let near = |absence: &&Absence| is_near(self.asleep_ns, absence.asleep_ns(), 5);
        let one_length = absences.iter().filter(near).count() * 10 >= count * 7;
        let Some(cycle_ns) = self.cycle_ns else { return Cause::Scan };
        let steady = self.is_steady(absences);
        if cycle_ns > SHARING_NS {
            // A timer that restarts after it has expired is not quite regular.
            return if steady || count > 3 { Cause::Periodic } else { Cause::Unknown };
        }
        let Some(longest) = self.periods.iter().max_by_key(|period| period.count()) else {
            return Cause::Unknown;
        };
        let quiet_ns = QUIET_NS.max(4 * cycle_ns);
        let begin_ns = air.begin_ns.unwrap_or_default();
        let begins = longest.from_ns.saturating_sub(begin_ns) > quiet_ns;
        let ends = air.end_ns.saturating_sub(longest.to_ns) > quiet_ns;
        match () {
            // A scan that probes on some channels and listens on others.
            () if !one_length => Cause::Scan,
            () if longest.count() <= SCAN_MAX && (begins || ends) => Cause::Scan,
            () if !steady => Cause::Unknown,
            () if longest.count() < ENDLESS_MIN && count >= 3 => Cause::Periodic,
            () if longest.count() < ENDLESS_MIN => Cause::Unknown,
            () if air.band() == Band::Ghz2_4
                && cycle_ns <= COEXISTENCE_NS
                && self.asleep_ns <= LENT_NS =>
            {
                Cause::Coexistence
            }
            () => Cause::TimeSharing,
        }
    }
}

impl Period {
    /// Returns the number of absences, including missed ones.
    pub fn count(&self) -> u64 {
        (self.absences.1 - self.absences.0) as u64 + u64::from(self.missed)
    }
}

/// Returns the number of absences that are missing between those of a run.
fn missed(absences: &[Absence], asleep_ns: u64, awake_ns: u64) -> u32 {
    let cycle = asleep_ns.saturating_add(awake_ns);
    absences
        .windows(2)
        .map(|pair| {
            let apart = pair[1].from_ns.saturating_sub(pair[0].from_ns);
            let cycles = apart.saturating_add(cycle / 2) / cycle.max(1);
            // Only gaps that fit the rhythm contain missed absences.
            let off = apart.abs_diff(cycles.saturating_mul(cycle));
            if off < cycle / 4 { cycles.saturating_sub(1) } else { 0 }
        })
        .fold(0, |sum, missed| sum.saturating_add(u32::try_from(missed).unwrap_or(u32::MAX)))
}

/// Whether most absences have the length of a timer.
fn is_timed(absences: &[Absence]) -> bool {
    let lengths: Vec<u64> = absences.iter().map(Absence::asleep_ns).collect();
    alike(&lengths) * 10 >= lengths.len() * 7
}

/// Counts lengths of a timer: near the median, or near a length that many absences have. A scan
/// that probes on some channels and only listens on others (mac80211: 64 ms and 112 ms) has two.
fn alike(lengths: &[u64]) -> usize {
    let mut lengths = lengths.to_vec();
    lengths.sort_unstable();
    let median = median(lengths.iter().copied()).unwrap_or_default();
    let many = lengths.len().div_ceil(MANY).max(MANY_MIN);
    let common = |length: u64| {
        let first =
            lengths.partition_point(|other| *other < length && !is_near(length, *other, 10));
        let behind =
            lengths.partition_point(|other| *other < length || is_near(length, *other, 10));
        behind - first >= many
    };
    lengths.iter().filter(|length| is_near(median, **length, 5) || common(**length)).count()
}

/// Whether two lengths differ by less than a part of the first.
const fn is_near(length: u64, other: u64, part: u64) -> bool {
    length.abs_diff(other).saturating_mul(part) < length
}

/// Returns the middle value; of an even number of values, the lower of the two.
pub fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<_> = values.collect();
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}
