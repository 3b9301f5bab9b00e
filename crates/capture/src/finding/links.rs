//! Links on which much is sent again, or too little at once.

use super::{Finding, Kind, percent, throughout};
use crate::air::exchange::Link;
use crate::air::stations::StationId;
use crate::analysis::Analysis;
use crate::rate::Format;

/// Fewer MPDUs say nothing.
const MPDUS_MIN: u64 = 500;
/// Share of MPDUs that are retries from which on it is a finding.
const RETRIES_MIN: f64 = 0.2;
/// MPDUs in an A-MPDU that are few.
const FEW: f64 = 4.0;
/// PHY rates from which on aggregation matters, in kb/s.
const FAST_KBPS: u32 = 50_000;
/// Share of the time on the air from which on a link is busy.
const BUSY: f64 = 0.3;
/// Share of its frames that a monitor misses from which on it is a finding.
const MISSES_MIN: f64 = 0.1;
/// Data PPDUs of a station that have to overlap with others before they are a cause.
const OVERLAPPED_MIN: u64 = 10;

pub(super) fn find(analysis: &Analysis, found: &mut Vec<Finding>) {
    for link in analysis.air.links.values() {
        if link.counts.mpdus >= MPDUS_MIN {
            found.extend(high_retry(analysis, link));
            found.extend(low_aggregation(analysis, link));
            found.extend(monitor_misses(analysis, link));
        }
    }
}

/// Whether most of the PPDUs of a station that were not answered overlapped with another one's.
pub(super) fn collides(analysis: &Analysis, station: StationId) -> bool {
    let air = &analysis.air;
    let links = air.links.values().filter(|link| link.from == station);
    let unanswered: u64 = links.map(|link| link.counts.unanswered).sum();
    let overlapped = air.overlaps.stations.get(&station).copied().unwrap_or_default();
    overlapped >= OVERLAPPED_MIN && overlapped * 2 >= unanswered
}

fn names(analysis: &Analysis, link: &Link) -> (String, String, String) {
    let stations = &analysis.air.stations;
    let (from, to) = (stations.get(link.from), stations.get(link.to));
    let station = if from.access_point { to } else { from };
    (from.address.to_string(), to.address.to_string(), station.address.to_string())
}

fn high_retry(analysis: &Analysis, link: &Link) -> Option<Finding> {
    let share = link.counts.retries as f64 / link.counts.mpdus as f64;
    if share < RETRIES_MIN {
        return None;
    }
    // Where most of what fails overlapped with something else, the rate is not the cause; see
    // `channel`.
    if collides(analysis, link.from) {
        return None;
    }
    let (from, to, station) = names(analysis, link);
    // The rate that carries most of what fails.
    let (rate, at) = link.rates.iter().max_by_key(|(_, at)| at.failed.max(at.retries))?;
    let lower = link.rates.iter().filter(|(other, at)| other.kbps < rate.kbps && at.judged >= 50);
    let lower = lower.max_by_key(|(other, _)| other.kbps);
    let error = |judged: u64, failed: u64| failed as f64 / judged.max(1) as f64;
    let here = error(at.judged, at.failed);
    let compare = match lower {
        Some((other, lower)) if error(lower.judged, lower.failed) < here / 2.0 => format!(
            "; at {rate} {} of the MPDUs that are answered for do not get across, at {other} {}: the \
             rate is likely too high",
            percent(here),
            percent(error(lower.judged, lower.failed))
        ),
        _ => format!(", most of it at {rate}"),
    };
    let mut finding = throughout(
        analysis,
        Kind::HighRetry,
        format!("{} of the MPDUs from {from} to {to} are retries{compare}", percent(share)),
        "Compare retries at a fixed lower rate (iw dev IFACE set bitrates), on another channel, and \
         with the station nearer: what changes them is the cause",
    );
    finding.harm = share.min(1.0);
    finding.station = Some(station);
    Some(finding)
}

fn low_aggregation(analysis: &Analysis, link: &Link) -> Option<Finding> {
    let length = crate::document::length_ns(&analysis.air) as f64;
    let busy = link.counts.airtime.as_nanos() as f64 / length;
    let utilisation = analysis.air.busy.sum_ns;
    let mpdus = link.counts.mpdus as f64 / link.counts.ppdus.max(1) as f64;
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
    let (from, to, station) = names(analysis, link);
    // What a PPDU costs besides its data: preamble, SIFS, Block Ack, contention.
    let overhead_ns = 150_000.0;
    let data_ns = link.counts.airtime.as_nanos() as f64 / link.counts.ppdus.max(1) as f64;
    let mut finding = throughout(
        analysis,
        Kind::LowAggregation,
        format!(
            "{from} sends {mpdus:.1} MPDUs in a PPDU to {to} at {fastest} in the mean, on a channel \
             that is busy {} of the time: most of it goes into preambles, answers and contention",
            percent(utilisation as f64 / length)
        ),
        "See whether a Block Ack agreement is there (ADDBA), what limits A-MPDUs in both stations' \
         HT capabilities, and whether the sender has a queue at all: one that has nothing waiting \
         cannot aggregate",
    );
    finding.harm = (overhead_ns / (overhead_ns + data_ns)).clamp(0.0, 1.0);
    finding.station = Some(station);
    Some(finding)
}

fn monitor_misses(analysis: &Analysis, link: &Link) -> Option<Finding> {
    let missed = 1.0 - link.counts.captured_share();
    if missed < MISSES_MIN {
        return None;
    }
    let (from, to, station) = names(analysis, link);
    let mut finding = throughout(
        analysis,
        Kind::MonitorMisses,
        format!(
            "The monitor has missed some {} of what {from} sent to {to}, by the answers that it \
             heard: numbers of this direction are estimates",
            percent(missed)
        ),
        "Move the monitor between the two stations, and see that it can decode their rates, width \
         and streams",
    );
    finding.station = Some(station);
    Some(finding)
}
