//! Findings about links with many retries or little aggregation, and about links that the monitor
//! mostly missed. Shares are of all frames of a link: captured ones, and those that answers prove.
//! Quantities of a link that was mostly missed are not reported.

use super::bound::least;
use super::heard::Share;
use super::{Finding, Kind, percent, throughout};
use crate::air::exchange::Link;
use crate::air::stations::StationId;
use crate::analysis::InterfaceView;
use crate::rate::Format;

/// Minimum share of retries for a finding.
const RETRIES_MIN: f64 = 0.2;
/// Minimum number of retries: one frame without an answer causes as many.
const RETRIES_COUNT_MIN: u64 = 20;
/// Share of answered frames at the slowest rate up to which a station counts as absent.
const ANSWERED_MAX: f64 = 0.02;
/// Minimum number of MPDUs for a mean size of A-MPDUs.
const MPDUS_MIN: u64 = 500;
/// Mean number of MPDUs in an A-MPDU below which aggregation is low.
const FEW: f64 = 4.0;
/// Minimum PHY rate at which aggregation matters, in kb/s.
const FAST_KBPS: u32 = 50_000;
/// Minimum share of the time on the air of a busy link.
const BUSY: f64 = 0.3;
/// Minimum share of missed MPDUs for a finding.
const MISSES_MIN: f64 = 0.1;
/// Largest number of links named.
const NAMED_MAX: usize = 3;
/// Mean level of a receiver beside the monitor, in dBm, and minimum number of frames for a level.
const BESIDE_DBM: f64 = -60.0;
const LEVELS_MIN: u64 = 100;
/// Minimum number of data PPDUs of a station that overlap with others.
const OVERLAPPED_MIN: u64 = 10;

pub(super) fn find(view: &InterfaceView<'_>, found: &mut Vec<Finding>) {
    for link in view.air.links.values() {
        found.extend(high_retry(view, link));
        if link.counts.mpdus >= MPDUS_MIN && Share::from_counts(&link.counts).is_enough() {
            found.extend(low_aggregation(view, link));
        }
    }
    found.extend(monitor_misses(view));
}

/// Whether most unanswered PPDUs of a station overlapped with those of another.
pub(super) fn collides(view: &InterfaceView<'_>, station: StationId) -> bool {
    let air = &view.air;
    let links = air.links.values().filter(|link| link.from == station);
    let unanswered: u64 = links.map(|link| link.counts.unanswered).sum();
    let overlapped = air.overlaps.stations.get(&station).copied().unwrap_or_default();
    overlapped >= OVERLAPPED_MIN && overlapped * 2 >= unanswered
}

fn names(view: &InterfaceView<'_>, link: &Link) -> (String, String, String) {
    let stations = &view.air.stations;
    let (from, to) = (stations.get(link.from), stations.get(link.to));
    let station = if from.access_point { to } else { from };
    (from.address.to_string(), to.address.to_string(), station.address.to_string())
}

fn high_retry(view: &InterfaceView<'_>, link: &Link) -> Option<Finding> {
    let counts = &link.counts;
    let (nulls, chains) = (counts.nulls, link.chains());
    let retries = counts.retries + nulls.retries;
    let missed = link.missed();
    let sent = counts.mpdus + nulls.frames + missed;
    if retries < RETRIES_COUNT_MIN {
        return None;
    }
    // Attempts of one frame fail together, so each frame is one case.
    let cases = chains.msdus + nulls.frames - nulls.retries;
    let share = retries as f64 / sent as f64;
    let bound = least(share, cases.max(1));
    if bound < RETRIES_MIN {
        return None;
    }
    // If most failures overlapped with another PPDU, the rate is not the cause; see `channel`.
    if collides(view, link.from) {
        return None;
    }
    let (from, to, station) = names(view, link);
    let of = match (missed, nulls.frames) {
        (0, 0) => String::new(),
        (0, nulls) => format!(" ({retries} of {sent}, {nulls} of them Null frames)"),
        _ => format!(
            " at least ({retries} of the {} that were captured, and {missed} more were sent)",
            sent - missed
        ),
    };
    // Data and Null frames at the slowest rate of their family: all, retries, answered.
    let slow = link.rates.iter().filter(|(rate, _)| rate.is_slowest());
    let slowest = slow.fold(nulls.slowest, |[all, retries, answered], (_, at)| {
        let across = at.judged.saturating_sub(at.failed);
        [all + at.mpdus, retries + at.retries, answered + across]
    });
    let [slow_frames, slow_retries, slow_answered] = slowest;
    let is_slow = slow_retries * 2 >= retries;
    let mut finding = if is_slow && slow_answered as f64 <= ANSWERED_MAX * slow_frames as f64 {
        throughout(
            view,
            Kind::Unanswered,
            format!(
                "{to} does not answer: {} of the frames from {from} to it are retries{of}, and of \
                 {slow_frames} at the slowest rate {slow_answered} were acknowledged; it is away, \
                 asleep or out of range",
                percent(share)
            ),
            "Check that the station is switched on, on this channel and awake (its Null frames, its \
             power save). A lower rate does not exist; senders can wait until they hear it again",
        )
    } else if let Some(text) = signal_too_low(view, link) {
        throughout(
            view,
            Kind::SignalTooLow,
            format!("{} of the frames from {from} to {to} are retries{of}: {text}", percent(share)),
            "Compare retries at a fixed lower rate (iw dev IFACE set bitrates). A rate control that \
             follows losses sends slower; otherwise move the station or add an access point",
        )
    } else {
        let (rates, check) = why(link, is_slow);
        throughout(
            view,
            Kind::HighRetry,
            format!("{} of the frames from {from} to {to} are retries{of}{rates}", percent(share)),
            check,
        )
    };
    finding.harm = bound;
    finding.station = Some(station);
    Some(finding)
}

/// Describes a rate that most failed frames have, and for which their level is too low. The monitor
/// is beside the receiver, so that it hears about what the receiver hears.
fn signal_too_low(view: &InterfaceView<'_>, link: &Link) -> Option<String> {
    let (sum, number) = view.air.heard.get(link.to.index())?.signal;
    let is_beside = number >= LEVELS_MIN && sum as f64 / number as f64 >= BESIDE_DBM;
    if !is_beside || !Share::from_counts(&link.counts).is_enough() {
        return None;
    }
    let (rate, at) = link.rates.iter().max_by_key(|(_, at)| at.failed.max(at.retries))?;
    let (sum, number) = at.signal;
    let level = sum as f64 / number.max(1) as f64;
    let needed = rate.sensitivity_dbm()?;
    if rate.is_slowest() || number < LEVELS_MIN || level >= needed {
        return None;
    }
    // Answers judge A-MPDUs; of other frames without an answer, the retries are known.
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let (failed, retries) = (share(at.failed, at.judged), share(at.retries, at.mpdus));
    let what = if least(failed, at.judged) >= RETRIES_MIN {
        format!("{} of the MPDUs do not get across", percent(failed))
    } else if least(retries, at.ppdus) >= RETRIES_MIN {
        format!("{} are retries", percent(retries))
    } else {
        return None;
    };
    Some(format!(
        "at {rate} they are heard at {level:.0} dBm, receivers need at most {needed:.0} dBm, and {what}: \
         the signal is too low for this rate"
    ))
}

/// Returns the rate with most failures, and a remedy.
fn why(link: &Link, is_slow: bool) -> (String, &'static str) {
    // A monitor that misses most of a link hears its slow rates.
    if !Share::from_counts(&link.counts).is_enough() {
        return (String::new(), NEARER);
    }
    // Rate with most failures.
    let most = link.rates.iter().max_by_key(|(_, at)| at.failed.max(at.retries));
    let Some((rate, at)) = most.filter(|(_, at)| at.failed.max(at.retries) > 0) else {
        return (String::new(), NEARER);
    };
    let lower = link.rates.iter().filter(|(other, at)| other.kbps < rate.kbps && at.judged >= 50);
    let lower = lower.max_by_key(|(other, _)| other.kbps);
    let error = |judged: u64, failed: u64| failed as f64 / judged.max(1) as f64;
    let here = error(at.judged, at.failed);
    match lower {
        Some((other, lower)) if error(lower.judged, lower.failed) < here / 2.0 => {
            let text = format!(
                "; at {rate} {} of the MPDUs do not get across, at {other} {}: the rate is likely too \
                 high",
                percent(here),
                percent(error(lower.judged, lower.failed))
            );
            (text, LOWER)
        }
        _ if is_slow || rate.is_slowest() => {
            (format!(", most of them at {rate}, the slowest rate"), NEARER)
        }
        _ => (format!(", most of them at {rate}"), LOWER),
    }
}

/// Remedies where a lower rate exists, and where it does not.
const LOWER: &str = "Compare retries at a fixed lower rate (iw dev IFACE set bitrates), on another \
    channel, and with the station nearer: the change that reduces them shows the cause";
const NEARER: &str = "Compare retries on another channel, and with the station nearer: the change \
    that reduces them shows the cause. Interference on the channel (survey dump of iw) is another";

fn low_aggregation(view: &InterfaceView<'_>, link: &Link) -> Option<Finding> {
    let length = view.air.time_of(link.from) as f64;
    let busy = link.counts.airtime.as_nanos() as f64 / length;
    let utilisation = view.air.busy_of(link.from);
    let mpdus = (link.counts.mpdus + link.counts.missed) as f64 / link.counts.ppdus.max(1) as f64;
    let (fastest, _) = link.rates.iter().max_by_key(|(_, at)| at.ppdus)?;
    let aggregates = matches!(fastest.format, Format::Ht | Format::Vht | Format::He | Format::Eht);
    if !aggregates
        || fastest.kbps < FAST_KBPS
        || mpdus >= FEW
        || busy < BUSY
        || (utilisation as f64) < 0.5 * length
    {
        return None;
    }
    let (from, to, station) = names(view, link);
    // Overhead of a PPDU: preamble, SIFS, Block Ack, contention.
    let overhead_ns = 150_000.0;
    let data_ns = link.counts.airtime.as_nanos() as f64 / link.counts.ppdus.max(1) as f64;
    let mut finding = throughout(
        view,
        Kind::LowAggregation,
        format!(
            "{from} sends {mpdus:.1} MPDUs in a PPDU to {to} at {fastest} in the mean, on a channel \
             that is busy {} of the time: most of this time is preambles, answers and contention",
            percent(utilisation as f64 / length)
        ),
        "Check for a Block Ack agreement (ADDBA), the limits on A-MPDUs in both stations' HT \
         capabilities, and the queue of the sender: without waiting packets it cannot aggregate",
    );
    finding.harm = (overhead_ns / (overhead_ns + data_ns)).clamp(0.0, 1.0);
    finding.station = Some(station);
    Some(finding)
}

fn monitor_misses(view: &InterfaceView<'_>) -> Option<Finding> {
    let mut missed: Vec<_> = view
        .air
        .links
        .values()
        .filter_map(|link| {
            let (heard, missed) = link.counts.judged();
            let share = missed as f64 / (heard + missed).max(1) as f64;
            (least(share, heard + missed) >= MISSES_MIN).then_some((link, heard, missed))
        })
        .collect();
    missed.sort_by_key(|(.., missed)| std::cmp::Reverse(*missed));
    let (worst, ..) = missed.first()?;
    let sum = |of: fn(&(&Link, u64, u64)) -> u64| missed.iter().map(of).sum::<u64>();
    let (heard, lost) = (sum(|(_, heard, _)| *heard), sum(|(.., missed)| *missed));
    let share = lost as f64 / (heard + lost).max(1) as f64;
    let named = &missed[..missed.len().min(NAMED_MAX)];
    let by = |numbers: bool, evidence: &str| {
        let of = named.iter().filter(|(link, ..)| link.counts.is_judged_by_numbers() == numbers);
        let links = of.map(|(link, heard, missed)| {
            let (from, to, _) = names(view, link);
            let share = percent(*missed as f64 / (heard + missed) as f64);
            format!("{share} of the MPDUs from {from} to {to} ({missed} of {})", heard + missed)
        });
        let links: Vec<String> = links.collect();
        (!links.is_empty()).then(|| format!("{evidence} {}", links.join(", ")))
    };
    let mut evidence: Vec<String> =
        [by(false, "by Acks and Block Acks"), by(true, "by gaps in the sequence numbers")]
            .into_iter()
            .flatten()
            .collect();
    match missed.len() - named.len() {
        0 => {}
        1 => evidence.push("and much of another link".to_owned()),
        more => evidence.push(format!("and much of {more} other links")),
    }
    let (.., station) = names(view, worst);
    let mut finding = throughout(
        view,
        Kind::MonitorMisses,
        format!(
            "The monitor misses data: {}. Rates, retries and sizes of these links describe only the \
             frames that it captured",
            evidence.join("; ")
        ),
        "Place the monitor between the stations, and check that it can decode their rates, width \
         and streams. tcpdump on the access point or the station misses no frame",
    );
    finding.harm = share;
    finding.station = (missed.len() == 1).then_some(station);
    Some(finding)
}
