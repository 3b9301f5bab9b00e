//! The kernel's Minstrel-HT, report by report: replays what mac80211's rate control was
//! given (tx statuses) into `wifi::mac::rate` and compares what both know and chose
//! whenever the kernel's statistics (`rc_stats_csv`) were read.
//!
//! A trace is text, made by `tests/vm/checks/41-minstrel` in a virtual machine:
//!
//! ```text
//! kernel 6.1.0-56-amd64
//! init 0                  (rate control begins, or begins anew: jiffies of 4 ms)
//! 22 3/5 6ws*1 15*2       (at jiffy 22: of 5 MPDUs 3 were acknowledged; once at MCS 6 in
//!                          40 MHz with the short guard interval, then twice at MCS 15; a
//!                          rate that is none of HT's is -)
//! csv 32                  (read at jiffy 32; the rows follow)
//! HT20,LGI,1,S,MCS0,0,1477,5.6,0.0,0.0,1,0,0,0,0,2,3,1.0
//! ```
//!
//! Left out: which rates are tried out, and when. Linux' choice of them is random.

use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::mac::rate::{
    Attempt, MinstrelStatistics, RateControl, RateControlConfig, RateSet,
};
use lasthop_wifi::phy::{ChannelWidth, ErrorModel, GuardInterval, OfdmRate, Rate};
use std::fmt;

/// A jiffy of Debian's kernels (HZ = 250).
const JIFFY: Duration = Duration::from_millis(4);

/// A trace of a kernel's rate control.
#[derive(Clone, Debug, PartialEq)]
pub struct MinstrelTrace {
    /// The kernel's release.
    pub kernel: String,
    /// Events of the trace, in order.
    pub events: Vec<MinstrelEvent>,
}

/// Something in a trace, at a jiffy.
#[derive(Clone, Debug, PartialEq)]
pub enum MinstrelEvent {
    /// Rate control begins.
    Begin {
        /// Time of the event, in jiffies.
        at: u64,
    },
    /// A tx status: an A-MPDU's fate.
    Status {
        /// Time of the event, in jiffies.
        at: u64,
        /// MPDUs in it.
        mpdus: u16,
        /// MPDUs that the last transmission delivered.
        acked: u16,
        /// Transmissions of the report, by rate.
        attempts: Vec<Attempt>,
    },
    /// State of the kernel's rate control.
    Snapshot(Snapshot),
}

/// The kernel's statistics as it printed them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Snapshot {
    /// Rates of the snapshot.
    pub rates: Vec<KernelRate>,
    /// Mean length of an A-MPDU in tenths, cut off.
    pub mean_mpdus_tenths: u32,
}

/// A row of `rc_stats_csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRate {
    /// Rate of the entry.
    pub rate: Rate,
    /// Of A to D (highest throughput), P (highest probability) and S (to be tried out), those it is.
    pub marks: String,
    /// Microseconds of an average packet.
    pub airtime_us: u64,
    /// Expected throughput, in tens of packets a second, cut off.
    pub throughput: u32,
    /// Success probability per mille, cut off.
    pub per_mille: u32,
    /// Tries of a stage, when it was last one.
    pub tries: u8,
    /// Acknowledged and sent in the last window.
    pub last: (u32, u32),
    /// Acknowledged and sent in all windows.
    pub total: (u64, u64),
}

/// An error in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Expected content of the line.
    pub expected: &'static str,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)
    }
}

impl MinstrelTrace {
    /// Reads a trace.
    ///
    /// # Errors
    /// If a line is none of those above, with its number.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(text.lines());
        let error = |line, expected| TraceError { line, expected };
        let first = lines.next().and_then(|(_, line)| line.strip_prefix("kernel "));
        let kernel = first.ok_or_else(|| error(1, "kernel RELEASE"))?.to_owned();
        let mut events = Vec::new();
        for (number, line) in lines {
            let event = if let Some(at) = line.strip_prefix("init ") {
                at.parse().ok().map(|at| MinstrelEvent::Begin { at })
            } else if let Some(at) = line.strip_prefix("csv ") {
                at.parse::<u64>().ok().map(|_| MinstrelEvent::Snapshot(Snapshot::default()))
            } else if line.starts_with("HT") {
                let Some(MinstrelEvent::Snapshot(snapshot)) = events.last_mut() else {
                    return Err(error(number, "a row of rc_stats_csv below csv JIFFY"));
                };
                let (rate, mean_mpdus_tenths) =
                    row(line).ok_or_else(|| error(number, "a row of rc_stats_csv"))?;
                snapshot.rates.push(rate);
                snapshot.mean_mpdus_tenths = mean_mpdus_tenths;
                continue;
            } else {
                status(line)
            };
            events.push(event.ok_or_else(|| error(number, "init, csv, or a status"))?);
        }
        Ok(Self { kernel, events })
    }

    /// The rates of the pair: those that the kernel has statistics of.
    fn rates(&self) -> RateSet {
        RateSet::new(self.events.iter().flat_map(|event| match event {
            MinstrelEvent::Snapshot(snapshot) => {
                snapshot.rates.iter().map(|rate| rate.rate).collect()
            }
            _ => Vec::new(),
        }))
    }
}

/// `JIFFY ACKED/MPDUS RATE*TRIES ..`
fn status(line: &str) -> Option<MinstrelEvent> {
    let mut words = line.split(' ');
    let at = words.next()?.parse().ok()?;
    let (acked, mpdus) = words.next()?.split_once('/')?;
    let attempts = words.map(|word| {
        let (name, tries) = word.split_once('*')?;
        let rate = match name {
            // Any that is not HT's: it counts for no rate.
            "-" => Rate::Ofdm(OfdmRate::Mbps6),
            _ => {
                let (name, is_short) = name.strip_suffix('s').map_or((name, false), |n| (n, true));
                let (name, is_wide) = name.strip_suffix('w').map_or((name, false), |n| (n, true));
                ht(name.parse().ok()?, is_wide, is_short)?
            }
        };
        Some(Attempt { rate, tries: tries.parse().ok()? })
    });
    let attempts = attempts.collect::<Option<_>>()?;
    Some(MinstrelEvent::Status {
        at,
        mpdus: mpdus.parse().ok()?,
        acked: acked.parse().ok()?,
        attempts,
    })
}

fn ht(mcs: u8, is_wide: bool, is_short: bool) -> Option<Rate> {
    let width = if is_wide { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 };
    let guard_interval = if is_short { GuardInterval::Short } else { GuardInterval::Long };
    (mcs < 32).then_some(Rate::Ht { mcs, width, guard_interval })
}

/// A row, and the mean A-MPDU length at its end, in tenths.
fn row(line: &str) -> Option<(KernelRate, u32)> {
    let columns: Vec<&str> = line.split(',').collect();
    let column = |index: usize| columns.get(index).copied();
    let tenths = |index| {
        let (whole, tenth) = column(index)?.split_once('.')?;
        Some(10 * whole.parse::<u32>().ok()? + tenth.parse::<u32>().ok().filter(|&t| t < 10)?)
    };
    let whole = |index| column(index)?.parse::<u64>().ok();
    let mcs = column(4)?.strip_prefix("MCS")?.trim().parse().ok()?;
    let rate = KernelRate {
        rate: ht(mcs, column(0)? == "HT40", column(1)? == "SGI")?,
        marks: column(3)?.to_owned(),
        airtime_us: whole(6)?,
        throughput: tenths(8)?,
        per_mille: tenths(9)?,
        tries: u8::try_from(whole(10)?).ok()?,
        last: (u32::try_from(whole(11)?).ok()?, u32::try_from(whole(12)?).ok()?),
        total: (whole(13)?, whole(14)?),
    };
    Some((rate, tenths(17)?))
}

/// Counts of the kernel's figures that equal ours, over all snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MinstrelComparison {
    /// Tx statuses that were replayed.
    pub statuses: usize,
    /// Snapshots that were compared.
    pub snapshots: usize,
    /// MPDUs sent and acknowledged, in the last window and in all.
    pub counts: Share,
    /// Filtered success probabilities, to 0.1 %, of rates that were used or inherited one.
    pub probabilities: Share,
    /// Expected throughputs, to ten packets a second, of rates above 10 %.
    pub throughputs: Share,
    /// Air times of an average packet, to a microsecond.
    pub airtimes: Share,
    /// Mean A-MPDU lengths, to 0.1.
    pub means: Share,
    /// Rates chosen as A, B, C, D and P.
    pub places: Share,
    /// Tries of the retry chain's rates.
    pub tries: Share,
    /// Differences, one a line.
    pub differences: Vec<String>,
}

/// Count of equal figures of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Share {
    /// Equal ones,
    pub equal: usize,
    /// of so many.
    pub of: usize,
}

impl Share {
    pub(crate) fn count(&mut self, is_equal: bool) -> bool {
        self.of += 1;
        self.equal += usize::from(is_equal);
        is_equal
    }

    /// Whether there are some and all are equal.
    pub fn is_whole(self) -> bool {
        self.of > 0 && self.equal == self.of
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.equal, self.of)
    }
}

impl MinstrelComparison {
    /// Replays a trace. Each status is one report, as mac80211 has it.
    pub fn replay(trace: &MinstrelTrace) -> Self {
        let set = trace.rates();
        let config = RateControlConfig::minstrel_ht();
        let begin = || {
            let stream = Seed::new(1, 0).stream("minstrel");
            RateControl::new(&config, &set, &ErrorModel::nist(), stream)
        };
        let mut comparison = Self::default();
        if set.rates.is_empty() {
            return comparison;
        }
        let mut control = begin();
        let mut base = 0;
        for event in &trace.events {
            match event {
                MinstrelEvent::Begin { at } => {
                    control = begin();
                    base = *at;
                }
                MinstrelEvent::Status { at, mpdus, acked, attempts } => {
                    let now = Instant::ZERO + JIFFY * at.saturating_sub(base);
                    control.report_chain(now, attempts, *mpdus, *acked);
                    comparison.statuses += 1;
                }
                MinstrelEvent::Snapshot(theirs) => {
                    if let Some(ours) = control.minstrel_statistics() {
                        comparison.compare(&ours, theirs);
                    }
                }
            }
        }
        comparison
    }

    /// The kinds of figures, with names.
    pub fn shares(&self) -> [(&'static str, Share); 7] {
        [
            ("counts", self.counts),
            ("probabilities", self.probabilities),
            ("throughputs", self.throughputs),
            ("airtimes", self.airtimes),
            ("mean A-MPDU lengths", self.means),
            ("rates chosen", self.places),
            ("tries", self.tries),
        ]
    }

    fn compare(&mut self, ours: &MinstrelStatistics, theirs: &Snapshot) {
        self.snapshots += 1;
        let number = self.snapshots;
        let mut note = |text: String| self.differences.push(format!("snapshot {number}: {text}"));
        let mean = (10.0 * ours.mean_mpdus).floor() as u32;
        if !self.means.count(mean == theirs.mean_mpdus_tenths) {
            note(format!("A-MPDUs of {mean} tenths, not {}", theirs.mean_mpdus_tenths));
        }
        for rate in &theirs.rates {
            let Some(our) = ours.rates.iter().find(|our| our.rate == rate.rate) else { continue };
            let name = rate.rate;
            let counts = [our.last_successes, our.last_attempts].map(u64::from);
            let their_counts = [rate.last.0, rate.last.1].map(u64::from);
            let is_equal = counts == their_counts && (our.successes, our.attempts) == rate.total;
            if !self.counts.count(is_equal) {
                note(format!("{name}: counts {counts:?}, not {their_counts:?}"));
            }
            let airtime_us = (our.airtime.as_nanos() + 500) / 1_000;
            if !self.airtimes.count(airtime_us == rate.airtime_us) {
                note(format!("{name}: {airtime_us} us, not {}", rate.airtime_us));
            }
            // Linux scales its 4096ths to per mille, cutting off.
            let per_mille = (1_000.0 * our.probability).floor() as u32;
            if per_mille.max(rate.per_mille) > 0
                && !self.probabilities.count(per_mille == rate.per_mille)
            {
                note(format!("{name}: {per_mille} per mille, not {}", rate.per_mille));
            }
            let throughput = our.throughput_pps / 10;
            if throughput.max(rate.throughput) > 0
                && !self.throughputs.count(throughput == rate.throughput)
            {
                note(format!("{name}: throughput {throughput}, not {}", rate.throughput));
            }
            // Below 20 % the kernel prints other tries than it uses.
            let is_in_chain = rate.marks.contains(['A', 'B', 'C', 'P']);
            if is_in_chain && rate.per_mille >= 200 && !self.tries.count(our.tries == rate.tries) {
                note(format!("{name}: {} tries, not {}", our.tries, rate.tries));
            }
        }
        let chosen = ours.best.into_iter().chain([ours.robust]);
        for (mark, our) in "ABCDP".chars().zip(chosen) {
            let their = theirs.rates.iter().find(|rate| rate.marks.contains(mark));
            if !self.places.count(their.is_some_and(|their| their.rate == our)) {
                let their = their.map_or("none".to_owned(), |their| their.rate.to_string());
                note(format!("{mark} is {our}, not {their}"));
            }
        }
    }
}
