//! Findings about aggregates that are short although packets wait: each PPDU then pays for
//! its own access to the channel, preamble and acknowledgement. Times in ms.

use super::{Finding, Kind, ends, percent};
use lasthop_trace::{AggregationSummary, LinkSummary, RunDocument};

/// Time for each PPDU in addition to its duration, in ms: AIFS (43 us) and mean backoff (67.5 us)
/// of best effort at 5 GHz, SIFS (16 us) and a Block Ack at 24 Mb/s (32 us).
const ACCESS_MS: f64 = 0.16;
/// Minimum share of the time spent on this overhead for a finding. With the longest PPDU the share
/// is 0.03, with a PPDU of 1.5 ms a tenth.
const ACCESS_SHARE: f64 = 0.17;
/// Minimum ratio of the packets in the sender's queue to those in an aggregate for longer
/// aggregates to be possible.
const BACKLOG: f64 = 2.0;
/// Minimum length of aggregates, relative to a limit, for the limit to be the reason.
const NEAR: f64 = 0.6;
/// Share of the airtime of data that such a link has at least: below it is the way back.
const AIRTIME: f64 = 0.1;
/// Smallest number of data PPDUs for a finding.
const PPDUS_MIN: u64 = 500;

/// The link with short aggregates that has most PPDUs.
pub(super) fn short(run: &RunDocument) -> Option<Finding> {
    let (name, link, why, ppdu_ms) = run
        .links
        .iter()
        .filter_map(|(name, link)| {
            let (why, ppdu_ms) = bounded(run, name, link)?;
            Some((name, link, why, ppdu_ms))
        })
        .max_by_key(|(_, link, ..)| link.ppdus)?;
    let access = ACCESS_MS / (ACCESS_MS + ppdu_ms);
    let mpdus = link.mpdus_per_ppdu?.mean;
    Some(Finding {
        kind: Kind::Aggregation,
        sentence: format!(
            "On {name} a PPDU carries {mpdus:.1} MPDUs on average and lasts {ppdu_ms:.2} ms, \
             although more packets wait: {}. About {} of the time goes into access to the channel \
             and acknowledgements",
            why.because,
            percent(access),
        ),
        weight: access,
        remedy: why.remedy,
        device: Some(
            "Driver and firmware decide it: try newer ones, and on an access point switch on WMM and \
             A-MPDU",
        ),
    })
}

/// The limit of the aggregates of a link.
struct Bound {
    because: String,
    remedy: Vec<String>,
}

/// Returns the limit of the aggregates of a link, and the mean duration of its PPDUs; `None` if
/// PPDUs are long or no more packets wait.
fn bounded(run: &RunDocument, name: &str, link: &LinkSummary) -> Option<(Bound, f64)> {
    let (from, to) = ends(name)?;
    let sender = run.nodes.get(from)?;
    let bounds = sender.aggregation?;
    let mpdus = link.mpdus_per_ppdu?;
    let counted_s = match run.duration_s - run.warmup_s {
        counted if counted > 0.0 => counted,
        _ => run.duration_s,
    };
    let ppdu_ms = 1e3 * link.airtime_fraction * counted_s / link.ppdus.max(1) as f64;
    let is_short = ACCESS_MS / (ACCESS_MS + ppdu_ms) >= ACCESS_SHARE;
    let waiting = sender.queue_packets?.mean;
    let airtime: f64 = run.links.values().map(|link| link.airtime_fraction).sum();
    let is_minor = link.airtime_fraction < AIRTIME * airtime;
    if link.ppdus < PPDUS_MIN || is_minor || !is_short || waiting < BACKLOG * mpdus.mean + 1.0 {
        return None;
    }
    let theirs = run.nodes.get(to).and_then(|node| node.aggregation);
    Some((bound(from, to, &bounds, theirs, mpdus.mean, ppdu_ms)?, ppdu_ms))
}

fn bound(
    from: &str,
    to: &str,
    bounds: &AggregationSummary,
    theirs: Option<AggregationSummary>,
    mpdus: f64,
    ppdu_ms: f64,
) -> Option<Bound> {
    let near = |most: f64| mpdus >= NEAR * most && mpdus <= most + 0.5;
    let near_ms = |most: f64| ppdu_ms >= NEAR * most && ppdu_ms <= most * 1.05;
    let window = bounds.block_ack_window.min(theirs.map_or(u16::MAX, |it| it.block_ack_window));
    let set = |key: &str| format!("node.{from}.{key}");
    let (because, remedy) = if bounds.bytes_max == 0 {
        ("it sends no aggregates".to_owned(), vec![set("aggregation.ampdu_bytes_max=65535")])
    } else if bounds.driver_packets.is_some_and(|most| near(f64::from(most))) {
        let most = bounds.driver_packets?;
        let because = match most {
            1 => "its driver is handed one packet at a time".to_owned(),
            most => format!("its driver holds {most} packets at most"),
        };
        (because, vec![set("driver_queue={packets=128}")])
    } else if bounds.frames_max <= window && near(f64::from(bounds.frames_max)) {
        let because = format!("its bound is {} MPDUs", bounds.frames_max);
        (because, vec![set("aggregation.ampdu_frames_max=64")])
    } else if near(f64::from(window)) {
        let because = format!("the Block Ack window has {window} MPDUs");
        let ends = [from, to].map(|node| format!("node.{node}.block_ack.window=64"));
        (because, ends.into())
    } else if bounds.txop_limit_ms.is_some_and(near_ms) {
        let because = format!("the TXOP limit is {:.2} ms", bounds.txop_limit_ms?);
        (because, vec![set("edca.best_effort.txop_limit=0s")])
    } else if near_ms(bounds.duration_max_ms) {
        let because = format!("a PPDU may last {:.2} ms", bounds.duration_max_ms);
        (because, vec![set("aggregation.ampdu_duration_max=5.484ms")])
    } else {
        return None;
    };
    Some(Bound { because, remedy })
}
