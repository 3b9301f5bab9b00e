//! Findings about the channel: slow stations, protection, collisions, hidden stations, and beacons.

use super::bound::least;
use super::heard::{Coverage, Share};
use super::links::collides;
use super::{Finding, Kind, percent, throughout};
use crate::air::beacons::Beacons;
use crate::air::stations::StationId;
use crate::analysis::InterfaceView;
use std::collections::BTreeMap;

/// Minimum share of the busy time, used by a slow station, for a finding.
const MOST: f64 = 0.5;
/// Ratio of a station's throughput to that of the others below which the station is slow.
const SLOWER: f64 = 0.4;
/// Minimum share of the time on the air spent on protection for a finding.
const PROTECTION_MIN: f64 = 0.02;
/// Minimum number of overlaps during frames for stations to be hidden.
const HIDDEN_MIN: u64 = 20;
/// Minimum share of data PPDUs that overlap with others, and minimum number of data PPDUs, for a
/// finding.
const COLLISIONS_MIN: f64 = 0.1;
const PPDUS_MIN: u64 = 500;
/// Minimum share of missing beacons for a finding.
const BEACONS_MIN: f64 = 0.1;
/// Level below which a receiver misses beacons because the access point is far away, in dBm. It is
/// some 10 dB above the sensitivity for the slowest rates, as a margin for fading and noise.
const NEAR_DBM: f64 = -74.0;
/// Largest difference of the mean levels of networks of one radio, in dB.
const LEVELS_ALIKE_DB: f64 = 5.0;
/// Largest number of networks named.
const NAMED_MAX: usize = 4;

pub(super) fn find(view: &InterfaceView<'_>, heard: &Coverage, found: &mut Vec<Finding>) {
    found.extend(slow_station(view));
    // A share of busy time is unknown if most of it was missed.
    if heard.is_channel_heard() {
        found.extend(legacy_protection(view));
    }
    match hidden_stations(view) {
        Some(hidden) => found.push(hidden),
        None => found.extend(collisions(view)),
    }
    let mut radios: Vec<Vec<(StationId, &Beacons)>> = Vec::new();
    for (id, beacons) in &view.air.beacons {
        if !misses_beacons(view, heard, *id, beacons) {
            continue;
        }
        let is_of = |radio: &&mut Vec<(StationId, &Beacons)>| {
            let (other, first) = radio[0];
            let levels = level(view, *id).zip(level(view, other));
            let is_alike = levels.is_some_and(|(a, b)| (a - b).abs() < LEVELS_ALIKE_DB);
            is_alike && first.is_alike(beacons)
        };
        match radios.iter_mut().find(is_of) {
            Some(radio) => radio.push((*id, beacons)),
            None => radios.push(vec![(*id, beacons)]),
        }
    }
    found.extend(radios.iter().map(|radio| beacon_loss(view, radio)));
}

/// Returns the mean level of a station's frames in dBm, if headers have levels.
fn level(view: &InterfaceView<'_>, id: StationId) -> Option<f64> {
    let (sum, number) = view.air.heard.get(id.index())?.signal;
    (number > 0).then(|| sum as f64 / number as f64)
}

/// Whether many beacons of a near access point are missing, more than the monitor misses of its
/// data. Without a level the cause of missing beacons is unknown.
fn misses_beacons(
    view: &InterfaceView<'_>,
    heard: &Coverage,
    id: StationId,
    beacons: &Beacons,
) -> bool {
    let came = beacons.on_channel() as f64 / beacons.sent.max(1) as f64;
    let captured = heard.captured_from(id).max(came);
    let share = 1.0 - came / captured;
    let is_near = level(view, id).is_some_and(|level| level >= NEAR_DBM);
    // Cases are the beacons that the monitor would have captured.
    is_near && least(share, (beacons.sent as f64 * captured) as u64) >= BEACONS_MIN
}

/// Creates the finding for the beacons of one radio, with all of its networks.
fn beacon_loss(view: &InterfaceView<'_>, radio: &[(StationId, &Beacons)]) -> Finding {
    let sent: u64 = radio.iter().map(|(_, beacons)| beacons.sent).sum();
    let heard: u64 = radio.iter().map(|(_, beacons)| beacons.on_channel()).sum();
    let share = sent.saturating_sub(heard) as f64 / sent.max(1) as f64;
    let address = |(id, _): &(StationId, &Beacons)| view.air.stations.get(*id).address.to_string();
    let mut names: Vec<_> = radio.iter().take(NAMED_MAX).map(address).collect();
    if radio.len() > NAMED_MAX {
        names.push(format!("{} more", radio.len() - NAMED_MAX));
    }
    let of = match radio.len() {
        1 => names.join(", "),
        count => format!("{count} networks of one radio ({})", names.join(", ")),
    };
    let mut finding = throughout(
        view,
        Kind::BeaconLoss,
        format!(
            "{} of {sent} beacons of {of} are missing by the clock of the access point: they \
             collided, were not sent in time, or the monitor did not hear them",
            percent(share)
        ),
        "If other frames of the access point are missing as well, the monitor is the cause; if \
         not, check whether the channel is busy at the times of the beacons",
    );
    finding.harm = 0.2 * share;
    finding.station = radio.first().map(address);
    finding
}

/// Time on the air, payload and captured MPDUs of a station, in both directions.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    airtime_ns: u64,
    payload_bytes: u64,
    heard: Share,
}

impl Use {
    fn add(&mut self, other: Self) {
        self.airtime_ns += other.airtime_ns;
        self.payload_bytes += other.payload_bytes;
        self.heard.add(other.heard);
    }

    /// Returns the payload per time on the air, in Mb/s.
    fn mbps(self) -> f64 {
        self.payload_bytes as f64 * 8e3 / self.airtime_ns.max(1) as f64
    }
}

fn slow_station(view: &InterfaceView<'_>) -> Option<Finding> {
    let air = &view.air;
    let mut uses: BTreeMap<StationId, Use> = BTreeMap::new();
    for link in air.links.values() {
        let from_ap = air.stations.get(link.from).access_point;
        let station = if from_ap { link.to } else { link.from };
        uses.entry(station).or_default().add(Use {
            airtime_ns: link.counts.airtime.as_nanos(),
            payload_bytes: link.counts.payload_bytes,
            heard: Share::from_counts(&link.counts),
        });
    }
    let all: u64 = uses.values().map(|u| u.airtime_ns).sum();
    let (id, most) = uses.iter().max_by_key(|(_, u)| u.airtime_ns).map(|(id, u)| (*id, *u))?;
    let mut others = Use::default();
    for (_, other) in uses.iter().filter(|(other, _)| **other != id) {
        others.add(*other);
    }
    // Stations that were mostly missed seem to use little time.
    if !most.heard.is_enough() || !others.heard.is_enough() {
        return None;
    }
    let share = most.airtime_ns as f64 / all.max(1) as f64;
    let busy = all as f64 / air.length_ns() as f64;
    if others.payload_bytes < 100_000
        || share < MOST
        || busy < 0.3
        || most.mbps() > SLOWER * others.mbps()
    {
        return None;
    }
    let address = air.stations.get(id).address.to_string();
    let mut finding = throughout(
        view,
        Kind::SlowStation,
        format!(
            "{address} takes {} of the time on the air for {} of the data: it transfers {:.1} Mb/s \
             while it uses the channel, the others {:.1}",
            percent(share),
            percent(
                most.payload_bytes as f64
                    / (most.payload_bytes + others.payload_bytes).max(1) as f64
            ),
            most.mbps(),
            others.mbps()
        ),
        "Check its signal and rates. Airtime fairness at the access point (ath9k, mt76 and ath10k \
         of current Linux) limits its share",
    );
    finding.harm = share;
    finding.station = Some(address);
    Some(finding)
}

fn legacy_protection(view: &InterfaceView<'_>) -> Option<Finding> {
    let air = &view.air;
    let (frames, number, airtime) = air.protection;
    let announced = air.beacons.values().any(|beacons| beacons.capabilities.erp_protection);
    let busy = air.busy.sum_ns;
    let share = airtime.as_nanos() as f64 / busy.max(1) as f64;
    if share < PROTECTION_MIN || number < 50 {
        return None;
    }
    let why = if announced { ", which beacons ask for (802.11b)" } else { "" };
    let mut finding = throughout(
        view,
        Kind::LegacyProtection,
        format!(
            "{number} frames protect transmissions from older stations{why}: {} of the time on the air",
            percent(share)
        ),
        "Find the station that needs it (associations without HT or ERP rates), move it to another \
         band, or disable the rates of 802.11b at the access point",
    );
    if let Some((first, last)) = frames {
        finding.frames = [first, last];
    }
    finding.harm = share.min(1.0);
    Some(finding)
}

fn collisions(view: &InterfaceView<'_>) -> Option<Finding> {
    let air = &view.air;
    let sent = |id: StationId| -> u64 {
        air.links.values().filter(|link| link.from == id).map(|link| link.counts.ppdus).sum()
    };
    let colliding = air.overlaps.stations.iter().filter(|(id, _)| collides(view, **id));
    let (mut overlapped, mut all, mut stations) = (0, 0, 0);
    for (id, count) in colliding {
        overlapped += count;
        all += sent(*id);
        stations += 1;
    }
    let same: u64 = air.overlaps.pairs.values().map(|pair| pair.same_slot).sum();
    let midst: u64 = air.overlaps.pairs.values().map(|pair| pair.midst).sum();
    let share = overlapped as f64 / all.max(1) as f64;
    if all < PPDUS_MIN || share < COLLISIONS_MIN {
        return None;
    }
    let mut finding = throughout(
        view,
        Kind::Collisions,
        format!(
            "{stations} stations collide: {} of their data PPDUs overlap with another PPDU; {same} \
             times both began in the same slot, {midst} times one began during the other",
            percent(share)
        ),
        "Fewer simultaneous senders, longer A-MPDUs, or larger contention windows (CWmin at the \
         access point and in its beacons) make collisions rarer; another rate does not",
    );
    finding.harm = share.clamp(0.0, 1.0);
    Some(finding)
}

fn hidden_stations(view: &InterfaceView<'_>) -> Option<Finding> {
    let air = &view.air;
    let between = |a: StationId, b: StationId| {
        let pairs = [(a, b), (b, a)].map(|pair| air.overlaps.pairs.get(&pair).copied());
        let midst: u64 = pairs.iter().flatten().map(|pair| pair.midst).sum();
        let same: u64 = pairs.iter().flatten().map(|pair| pair.same_slot).sum();
        let frames = pairs
            .iter()
            .flatten()
            .map(|pair| pair.frames)
            .reduce(|x, y| (x.0.min(y.0), x.1.max(y.1)));
        (midst, same, frames)
    };
    let pairs =
        air.overlaps.pairs.keys().filter(|(a, b)| {
            !air.stations.get(*a).access_point && !air.stations.get(*b).access_point
        });
    let worst = pairs.max_by_key(|(a, b)| between(*a, *b).0)?;
    let (midst, same, frames) = between(worst.0, worst.1);
    // Stations that hear each other only begin together.
    if midst < HIDDEN_MIN || midst < same {
        return None;
    }
    let [a, b] = [worst.0, worst.1].map(|id| air.stations.get(id).address.to_string());
    let sent: u64 = [worst.0, worst.1]
        .iter()
        .map(|id| air.links.values().filter(|l| l.from == *id).map(|l| l.counts.ppdus).sum::<u64>())
        .sum();
    let share = midst as f64 / sent.max(1) as f64;
    let mut finding = throughout(
        view,
        Kind::HiddenStation,
        format!(
            "{a} and {b} likely do not hear each other: {midst} times one began to send during the \
             other's frame, {same} times in the same slot ({} of their frames)",
            percent(share)
        ),
        "Let only one of them send: if its retries disappear, they are hidden from each other. A \
         low RTS threshold, or another place for the access point, helps",
    );
    if let Some((first, last)) = frames {
        finding.frames = [first, last];
    }
    finding.harm = share.clamp(0.0, 1.0);
    Some(finding)
}
