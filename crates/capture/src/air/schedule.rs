//! Why a station is away, from when it is: a scan leaves its channel in the midst of traffic, for
//! a time that is always the same, once for each channel, and begins again after minutes. Power
//! save follows a pause in the traffic and lasts until there is some again.

use super::absence::{Absence, INTERRUPTS_NS};

/// A run of absences that follow each other closely: the `scan` paper's degraded period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// The absences that belong to it: first, and one behind the last.
    pub absences: (usize, usize),
    /// Those that the monitor must have missed, by the rhythm of the others.
    pub missed: u32,
    /// When the first began, in ns since 1970.
    pub from_ns: u64,
    /// When the last ended.
    pub to_ns: u64,
}

/// What a station's absences look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Why it is away.
    pub cause: Cause,
    /// Runs of absences.
    pub periods: Vec<Period>,
    /// Median length of an absence in ns.
    pub asleep_ns: u64,
    /// Median time between absences of one run in ns, if there are any.
    pub awake_ns: Option<u64>,
    /// Number of absences in a run, those that were missed included: the median of those that
    /// are whole; of one or two, of which the capture may lack a part, the greatest.
    pub absences: u32,
    /// Median time from the begin of a run to that of the next in ns, if there are two.
    pub every_ns: Option<u64>,
}

/// Why a station is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It looks for other access points, or works on other channels.
    Scan,
    /// It saves power.
    PowerSave,
    /// Too few absences, or of both kinds.
    Unknown,
}

/// Longest time on another channel; longer absences are no visits.
const VISIT_MAX_NS: u64 = 600_000_000;
/// Absences that are further apart than this, and than [`APART`] times the usual distance, are
/// of different runs.
const APART_NS: u64 = 2_000_000_000;
const APART: u64 = 6;

/// A length that this part of the absences has, within a tenth, is a timer's: traffic spreads
/// lengths wider. So many at least: one length alone is always like itself.
const MANY: usize = 4;
const MANY_MIN: usize = 3;

impl Schedule {
    /// The schedule behind absences; `None` if there are none.
    pub fn of(absences: &[Absence]) -> Option<Self> {
        let asleep_ns = median(absences.iter().map(Absence::asleep_ns))?;
        let gaps = absences.windows(2).map(|pair| pair[1].from_ns.saturating_sub(pair[0].to_ns));
        // The usual distance: of those within a run, which are the shorter half at least unless
        // runs have two absences.
        let near = median(gaps.clone().filter(|gap| *gap < 30 * APART_NS));
        let apart = near.map_or(APART_NS, |near| (APART * near).max(APART_NS));
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
        let cause = cause(absences);
        if let (Cause::Scan, Some(awake_ns)) = (cause, awake_ns) {
            for period in &mut periods {
                period.missed =
                    missed(&absences[period.absences.0..period.absences.1], asleep_ns, awake_ns);
            }
        }
        let counted = |period: &Period| {
            (period.absences.1 - period.absences.0) as u64 + u64::from(period.missed)
        };
        // The capture may have begun in the midst of the first run, or ended in that of the last.
        let whole = match &periods[..] {
            [_, whole @ .., _] => median(whole.iter().map(counted)),
            _ => None,
        };
        let most = || periods.iter().map(counted).max();
        let count = whole.or_else(most).unwrap_or_default();
        let every = periods.windows(2).map(|pair| pair[1].from_ns.saturating_sub(pair[0].from_ns));
        let every_ns = median(every);
        Some(Self { cause, periods, asleep_ns, awake_ns, absences: count as u32, every_ns })
    }
}

/// How many absences the distances in a run have place for.
fn missed(absences: &[Absence], asleep_ns: u64, awake_ns: u64) -> u32 {
    let cycle = asleep_ns.saturating_add(awake_ns);
    absences
        .windows(2)
        .map(|pair| {
            let apart = pair[1].from_ns.saturating_sub(pair[0].from_ns);
            let cycles = apart.saturating_add(cycle / 2) / cycle.max(1);
            // Only what fits into the rhythm is one that was missed.
            let off = apart.abs_diff(cycles.saturating_mul(cycle));
            if off < cycle / 4 { cycles.saturating_sub(1) } else { 0 }
        })
        .fold(0, |sum, missed| sum.saturating_add(u32::try_from(missed).unwrap_or(u32::MAX)))
}

fn cause(absences: &[Absence]) -> Cause {
    let all = absences.len();
    let count = |test: &dyn Fn(&Absence) -> bool| absences.iter().filter(|a| test(a)).count();
    let interrupts = count(&|absence| {
        absence.idle_before_ns.is_some_and(|idle| idle < INTERRUPTS_NS)
            && absence.polls == 0
            && absence.asleep_ns() < VISIT_MAX_NS
    });
    let rests = count(&Absence::rests);
    // Lengths that are alike are those of a timer, not of traffic.
    let alike = alike(absences);
    match () {
        () if all < 3 => Cause::Unknown,
        () if alike * 10 >= all * 7 && interrupts * 10 >= all * 6 => Cause::Scan,
        () if rests * 10 >= all * 6 => Cause::PowerSave,
        () => Cause::Unknown,
    }
}

/// Absences as long as a timer runs: near the median, or near a length that many have. A scan
/// that asks on some channels and only listens on others (mac80211: 64 ms and 112 ms) has two.
fn alike(absences: &[Absence]) -> usize {
    let mut lengths: Vec<_> = absences.iter().map(Absence::asleep_ns).collect();
    lengths.sort_unstable();
    let median = median(lengths.iter().copied()).unwrap_or_default();
    let many = lengths.len().div_ceil(MANY).max(MANY_MIN);
    let near =
        |length: u64, other: u64, part: u64| length.abs_diff(other).saturating_mul(part) < length;
    let common = |length: u64| {
        let first = lengths.partition_point(|other| *other < length && !near(length, *other, 10));
        let behind = lengths.partition_point(|other| *other < length || near(length, *other, 10));
        behind - first >= many
    };
    lengths.iter().filter(|length| near(median, **length, 5) || common(**length)).count()
}

/// The middle one; of an even number, the lower of the two.
pub fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<_> = values.collect();
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}
