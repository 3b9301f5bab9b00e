//! Findings about the air: collisions and waiting for the channel, frames that fail, and a
//! slow station. Airtimes of data PPDUs are compared with each other, never with the length of
//! the run.

use super::flow::{Excess, Load, Offered};
use super::{Finding, Flow, Kind, delay, ends, ms, percent};
use lasthop_trace::{LinkSummary, QueueKind, RunDocument};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum share of the airtime, in PPDUs that overlap with another PPDU at their receiver, for a
/// finding. Two stations that hear each other and always have something to send collide in about a
/// tenth of their PPDUs (Bianchi's model with a minimum contention window of 16 gives 0.11).
const COLLIDED: f64 = 0.2;
/// Mean wait for the channel, in ms, above which the wait is a finding.
const CONTENTION_MEAN_MS: f64 = 15.0;
/// Smallest number of packets with a mean wait: a single one often waits for several long PPDUs.
const WAITING_PACKETS_MIN: u64 = 10;
/// Minimum share of the airtime, in MPDUs that fail without a collision, for a finding.
/// Minstrel-HT's probes cost less on a link whose SNR suits its rate.
const WASTED: f64 = 0.22;
/// Minimum share of a link's MPDUs that fail without a collision for the waiting packets to make a
/// finding.
const FAILED: f64 = 0.22;
/// Minimum share of failed MPDUs for most transmissions to be retransmissions.
const MOST: f64 = 0.5;
/// Time, in ms, that the slowest 1 % of the packets must wait for retransmissions for a finding.
const FAILURES_SLOWEST_MS: f64 = 40.0;
/// Minimum share of the airtime of a slow station.
const SLOW_AIRTIME: f64 = 0.4;
/// Ratio of that share to the station's share of the delivered MPDUs.
const SLOW_EXCESS: f64 = 1.8;
/// Share of the delivered MPDUs above which nothing is left for other stations.
const STARVING: f64 = 0.95;
/// Ratio of the rates of the others to that of a slow station.
const SLOW_RATE: f64 = 2.5;
/// Wait of the slowest 1 % in the queue of the hop, in ms, below which a slow station harms no
/// other station.
const SLOW_QUEUE_MS: f64 = 15.0;
/// Smallest number of data PPDUs for a finding.
const PPDUS_MIN: u64 = 50;

/// Collisions, and waiting for the channel.
pub(super) fn contention(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let senders: BTreeSet<&str> =
        run.links.keys().filter_map(|link| Some(link.split_once("->")?.0)).collect();
    let share = share_of_airtime(run, |_| true, collided);
    // A station whose own frames fail draws long backoffs.
    let waits = |flow: &&Flow<'_>| {
        flow.packets >= WAITING_PACKETS_MIN
            && flow.mean.contention > CONTENTION_MEAN_MS
            && !links_of(run, flow).any(is_failing)
    };
    let waiting = delay::worst(flows.iter().filter(waits), |parts| parts.contention);
    let neighbours: Vec<&str> = run
        .neighbours
        .iter()
        .filter(|(_, neighbour)| neighbour.airtime_fraction > 0.0)
        .map(|(name, _)| name.as_str())
        .collect();
    let many = senders.len() + neighbours.len() > 1 && ppdus(run) >= PPDUS_MIN;
    if !many || (share < COLLIDED && waiting.is_none()) {
        return None;
    }
    let costs = share * needed(run, flows, |link| collided(link) >= COLLIDED);
    let waits = waiting.map_or(String::new(), |flow| {
        format!("; packets of {} wait {} for the channel", flow.name, ms(flow.mean.contention))
    });
    let own = match senders.len() {
        1 => "1 node".to_owned(),
        number => format!("{number} nodes"),
    };
    let others = match neighbours[..] {
        [] => String::new(),
        [name] => format!(" and the neighbour {name}"),
        _ => format!(" and the neighbours {}", neighbours.join(", ")),
    };
    Some(Finding {
        kind: Kind::Contention,
        sentence: format!(
            "{own}{others} share the channel, and {} of the airtime of data goes into PPDUs that \
             overlap with another one at their receiver{waits}",
            percent(share),
        ),
        weight: costs
            .max(waiting.map_or(0.0, |flow| super::weight(flow.mean.contention, flow.mean))),
        remedy: vec!["node_defaults.rts_threshold=0".to_owned()],
        device: Some(
            "Another channel, or 5 GHz. Against hidden stations RTS: iw phy PHY set rts 500 at each \
             sender, rts_threshold=500 in hostapd",
        ),
    })
}

/// Frames that fail without a collision: much of the airtime, or a link of which packets wait
/// for them.
pub(super) fn retries(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let is_judged = |name: &str| !is_to_lost(run, name);
    let wasted = share_of_airtime(run, is_judged, failed);
    let waits = |flow: &&Flow<'_>| waits_for_failures(run, flow);
    let failing = flows.iter().filter(|flow| fails(run, flow));
    let waiting = failing.max_by(|a, b| waits(a).total_cmp(&waits(b)));
    if ppdus(run) < PPDUS_MIN || (wasted < WASTED && waiting.is_none()) {
        return None;
    }
    let costs = wasted * needed(run, flows, is_failing);
    let cost = |link: &LinkSummary| failed(link) * link.airtime_fraction;
    let judged = run.links.iter().filter(|(name, _)| waiting.is_some() || is_judged(name));
    let (name, link) = judged.max_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)))?;
    let rate = link
        .data_rate_mbps
        .map_or(String::new(), |rate| format!(", at a mean PHY rate of {:.0} Mb/s", rate.mean));
    let given_up = match link.mpdus_lost {
        0 => String::new(),
        lost => format!("; {lost} were given up"),
    };
    let waited = waiting.map_or(String::new(), |flow| {
        format!(
            "; the slowest 1 % of the packets of {} wait {} for retransmissions, of themselves or \
             of packets before them",
            flow.name,
            ms(waits(&flow))
        )
    });
    let sender = name.split_once("->")?.0;
    Some(Finding {
        kind: Kind::Retries,
        sentence: format!(
            "{} of the airtime of data goes into frames that fail without a collision; on {name} \
             {} of {} MPDUs were not acknowledged{rate}{given_up}{waited}",
            percent(wasted),
            percent(link.mpdu_error_rate.unwrap_or(0.0)),
            link.mpdus,
        ),
        weight: costs.max(waiting.map_or(0.0, |flow| super::weight(waits(&flow), flow.slowest))),
        remedy: vec![format!("node.{sender}.rate_control={{kind=\"minstrel-ht\"}}")],
        device: Some(
            "A shorter distance, another place of the antennas or a quieter channel; leave the rates \
             to the driver (iw dev IFACE set bitrates, without rates)",
        ),
    })
}

/// Whether a link leads to a station that lost its access point, or failed to join another one. Frames
/// to an absent station fail on any link, so they are no evidence against this one.
fn is_to_lost(run: &RunDocument, link: &str) -> bool {
    let station = ends(link).and_then(|(_, to)| run.nodes.get(to)?.roaming.as_ref());
    station.is_some_and(|it| {
        it.access_points_lost > 0 || it.roams.iter().any(|roam| roam.without_ms.is_none())
    })
}

/// Returns the share of the wasted airtime that flows need: all of it if a bulk transfer or a
/// flood uses such a link, otherwise the share of time in which the air is busy.
fn needed(run: &RunDocument, flows: &[Flow<'_>], is_such: fn(&LinkSummary) -> bool) -> f64 {
    let misses = |flow: &Flow<'_>| {
        (flow.load.is_bulk() || matches!(flow.load, Load::Excess(_)))
            && links_of(run, flow).any(is_such)
    };
    if flows.iter().any(misses) { 1.0 } else { airtime(run).min(1.0) }
}

/// Returns the time that the slowest packets of a flow wait for their own retransmissions, or in
/// the reorder buffer for those of others. Failures of most MPDUs also lengthen backoffs, which
/// count then.
fn waits_for_failures(run: &RunDocument, flow: &Flow<'_>) -> f64 {
    let parts = flow.slowest;
    let most = links_of(run, flow).any(|link| is_failing(link) && failed(link) > MOST);
    parts.retries + parts.reorder + if most { parts.contention } else { 0.0 }
}

/// Whether the slowest packets of a flow wait long for retransmissions on a link on which much
/// fails.
fn fails(run: &RunDocument, flow: &Flow<'_>) -> bool {
    let slowest = flow.slowest;
    slowest.retries + slowest.reorder > FAILURES_SLOWEST_MS && links_of(run, flow).any(is_failing)
}

/// The links that a flow's packets cross.
fn links_of<'a>(run: &'a RunDocument, flow: &'a Flow<'_>) -> impl Iterator<Item = &'a LinkSummary> {
    let is_its = |name: &str| {
        ends(name).is_some_and(|(from, to)| {
            flow.nodes.contains(&from) && (flow.ends[1] == Some(to) || flow.ends[0] == Some(from))
        })
    };
    run.links.iter().filter(move |(name, _)| is_its(name)).map(|(_, link)| link)
}

/// Whether much fails on a link.
fn is_failing(link: &LinkSummary) -> bool {
    link.ppdus >= PPDUS_MIN && failed(link) >= FAILED
}

/// Whether failures cause the excess of a flow: most MPDUs on one of its links fail, or the link
/// would carry the flow without failures.
pub(super) fn would_carry(run: &RunDocument, flow: &Flow<'_>) -> bool {
    let Load::Excess(Excess { offered: Offered::Mbps(offered), carried_mbps, .. }) = flow.load
    else {
        return false;
    };
    let links = links_of(run, flow).filter(|link| is_failing(link));
    let failed = links.map(failed).fold(0.0, f64::max);
    failed > MOST || failed > 0.0 && carried_mbps.unwrap_or(0.0) >= offered * (1.0 - failed)
}

/// A station with a low rate that takes most of the airtime from others, and its name.
pub(super) fn slow_station<'a>(
    run: &'a RunDocument,
    flows: &[Flow<'_>],
) -> Option<(Finding, &'a str)> {
    let hub = hub(run)?;
    // A queue that shares airtime gives it no more than it gives others.
    let is_fair = run.nodes.get(hub).and_then(|it| it.queue);
    let is_fair = is_fair.is_some_and(|queue| queue.kind == QueueKind::FqCodel);
    let mut stations: BTreeMap<&str, Station> = BTreeMap::new();
    for (name, link) in &run.links {
        let Some((from, to)) = ends(name) else { continue };
        let station = stations.entry(if from == hub { to } else { from }).or_default();
        let rate = link.data_rate_mbps.map_or(0.0, |rate| rate.mean);
        station.airtime += link.airtime_fraction;
        if from != hub || !is_fair {
            station.unmanaged += link.airtime_fraction;
        }
        station.rate_airtime += rate * link.airtime_fraction;
        station.mpdus += link.mpdus.saturating_sub(link.mpdus_failed) as f64;
    }
    let mut all = Station::default();
    stations.values().for_each(|station| all.add(station));
    let (name, slow) = stations.iter().max_by(|(_, a), (_, b)| a.airtime.total_cmp(&b.airtime))?;
    let others = Station {
        airtime: all.airtime - slow.airtime,
        rate_airtime: all.rate_airtime - slow.rate_airtime,
        ..Station::default()
    };
    let (airtime, mpdus) = (slow.airtime / all.airtime, slow.mpdus / all.mpdus);
    // Where a flood starves the others, there is no share of theirs to compare with.
    let is_starved = |flow: &Flow<'_>| {
        flow.load.is_bulk() && flow.waits_at(Some(hub)) && !flow.ends.contains(&Some(*name))
    };
    let starves = mpdus >= STARVING && flows.iter().any(is_starved);
    let is_slow = slow.unmanaged >= SLOW_AIRTIME * all.airtime
        && (airtime >= SLOW_EXCESS * mpdus || starves)
        && others.rate() >= SLOW_RATE * slow.rate();
    // Packets to and from the slow station do not count.
    let of_others = flows.iter().filter(|flow| !flow.ends.contains(&Some(*name)));
    let waited = of_others.map(|flow| flow.slowest.queue).fold(0.0, f64::max);
    if ppdus(run) < PPDUS_MIN || !is_slow || waited < SLOW_QUEUE_MS {
        return None;
    }
    let finding = Finding {
        kind: Kind::SlowStation,
        sentence: format!(
            "{name} takes {} of the airtime of data for {} of the frames: its mean PHY rate is \
             {:.0} Mb/s, that of the others {:.0} Mb/s, and meanwhile packets of others wait up to {} in \
             the queue (mean of the slowest 1 %)",
            percent(airtime),
            percent(mpdus),
            slow.rate(),
            others.rate(),
            ms(waited),
        ),
        weight: airtime - mpdus,
        remedy: vec![format!("node.{hub}.queue.kind=fq-codel")],
        device: Some(
            "An access point whose driver shares airtime evenly (mac80211 since Linux 4.11), or a \
             better place for the station",
        ),
    };
    Some((finding, name))
}

/// The traffic between the access point and one station or several.
#[derive(Clone, Copy, Default)]
struct Station {
    airtime: f64,
    /// Part of the airtime that no queue shares evenly.
    unmanaged: f64,
    /// PHY rates in Mb/s, weighted by airtime.
    rate_airtime: f64,
    /// MPDUs that were acknowledged.
    mpdus: f64,
}

impl Station {
    fn add(&mut self, other: &Self) {
        self.airtime += other.airtime;
        self.unmanaged += other.unmanaged;
        self.rate_airtime += other.rate_airtime;
        self.mpdus += other.mpdus;
    }

    fn rate(&self) -> f64 {
        if self.airtime > 0.0 { self.rate_airtime / self.airtime } else { 0.0 }
    }
}

/// The access point: the node with the most peers, two or more.
fn hub(run: &RunDocument) -> Option<&str> {
    let mut peers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in run.links.keys().filter_map(|link| ends(link)) {
        peers.entry(from).or_default().insert(to);
        peers.entry(to).or_default().insert(from);
    }
    let (hub, peers) = peers.into_iter().max_by_key(|(_, peers)| peers.len())?;
    (peers.len() > 1).then_some(hub)
}

fn ppdus(run: &RunDocument) -> u64 {
    run.links.values().map(|link| link.ppdus).sum()
}

/// Share of a link's PPDUs that collided.
fn collided(link: &LinkSummary) -> f64 {
    if link.ppdus == 0 { 0.0 } else { link.collisions as f64 / link.ppdus as f64 }
}

/// Share of a link's MPDUs that failed beyond those in PPDUs that collided.
fn failed(link: &LinkSummary) -> f64 {
    (link.mpdu_error_rate.unwrap_or(0.0) - collided(link)).max(0.0)
}

/// Share of the time after the warm-up in which data are on the air.
fn airtime(run: &RunDocument) -> f64 {
    run.links.values().map(|link| link.airtime_fraction).sum()
}

/// The mean of `share` over the `judged` links, weighted by airtime.
fn share_of_airtime(
    run: &RunDocument,
    judged: impl Fn(&str) -> bool,
    share: impl Fn(&LinkSummary) -> f64,
) -> f64 {
    let links = || run.links.iter().filter(|(name, _)| judged(name)).map(|(_, link)| link);
    let airtime = links().map(|link| link.airtime_fraction).sum::<f64>();
    let shares = links().map(|link| link.airtime_fraction * share(link)).sum::<f64>();
    if airtime > 0.0 { shares / airtime } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{Kind, WAITING_PACKETS_MIN};
    use crate::finding::findings;
    use lasthop_trace::RunDocument;

    /// Whether there is a finding about contention if a flow of as many packets waits 20 ms.
    fn is_found(packets: u64) -> bool {
        let link = r#"{"ppdus": 1800, "mpdus": 4000, "mpdu_retries": 0, "mpdus_failed": 0,
            "mpdu_error_rate": 0.0, "mpdus_lost": 0, "collisions": 0, "rts": 0,
            "block_ack_requests": 0, "airtime_fraction": 0.4}"#;
        let parts = r#"{"queue": 0.0, "away": 0.0, "asleep": 0.0, "contention": 20.0,
            "retries": 0.0, "reorder": 0.0, "air": 0.3, "wire": 10.0}"#;
        let json = format!(
            r#"{{"scenario": "two", "seed": 1, "run": 0, "duration_s": 10.0, "warmup_s": 0.0,
            "wall_s": 0.0, "version": "0", "flows": {{}}, "nodes": {{}},
            "links": {{"ap->laptop": {link}, "laptop->ap": {link}}},
            "programs": {{"tcp server -> laptop": {{"sender": "server", "receiver": "laptop",
            "packets_sent": {packets}, "packets_received": {packets}, "bytes_received": 60,
            "packets_lost": 0, "delay_parts_ms": {parts}, "delay_parts_slowest_ms": {parts}}}}}}}"#
        );
        let run: RunDocument = serde_json::from_str(&json).expect("a document");
        findings(&run).iter().any(|finding| finding.kind == Kind::Contention)
    }

    #[test]
    fn the_mean_of_a_few_packets_is_no_finding() {
        assert!(is_found(WAITING_PACKETS_MIN));
        assert!(!is_found(WAITING_PACKETS_MIN - 1));
    }
}
