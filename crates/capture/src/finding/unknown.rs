//! Limits of a capture: too few packets, headers without rates or levels, no frames of the air, no
//! data, devices whose links are not known. Without this information there are no findings, although
//! there may be problems.

use crate::analysis::Analysis;
use std::collections::BTreeSet;
use std::iter;

/// Number of packets, and time in ns (a beacon interval), below which a capture allows no
/// conclusions.
const PACKETS_MIN: u64 = 100;
const LENGTH_MIN_NS: u64 = 102_400_000;

/// Largest number of stations named.
const NAMED_MAX: usize = 3;

/// Returns the limits with their reasons, each as a sentence without its full stop.
pub(crate) fn unknown(analysis: &Analysis) -> Vec<String> {
    let air = &analysis.main.air;
    let mut unknown = Vec::new();
    let packets = analysis.packets;
    let noun = if packets == 1 { "packet" } else { "packets" };
    match analysis.times() {
        None => unknown.push(
            "No packet has a time: durations, shares of time and traffic by second are unknown"
                .to_owned(),
        ),
        Some((first, last)) => {
            let length = last.saturating_sub(first);
            if packets < PACKETS_MIN || length < LENGTH_MIN_NS {
                let s = (length / 1_000) as f64 / 1e6;
                unknown.push(format!("{packets} {noun} in {s} s are too little for conclusions"));
            }
        }
    }
    if air.begin_ns.is_none() {
        let kinds: Vec<_> = analysis.links.keys().map(ToString::to_string).collect();
        unknown.push(format!(
            "There is no frame of 802.11 that can be analysed ({}): the air is unknown",
            kinds.join(", ")
        ));
        return unknown;
    }
    if !air.has_rates() {
        unknown.push(format!(
            "Headers have no rate of {} of {} PPDUs: time on the air is unknown",
            air.without_rate, air.ppdus
        ));
    }
    unknown.extend(without_association(analysis));
    let mut links = air.links.values();
    if links.all(|link| link.counts.mpdus == 0) {
        unknown.push(
            "No data from one station to another was captured: rates, retries and aggregation are \
             unknown"
                .to_owned(),
        );
    }
    if air.heard.iter().all(|heard| heard.signal.1 == 0) {
        unknown
            .push("Headers have no levels: it is unknown whether stations are far away".to_owned());
    }
    unknown
}

/// Names stations that may be links of devices: they exchange data of 802.11be with access points that
/// have several links, and no association of theirs was captured.
fn without_association(analysis: &Analysis) -> Option<String> {
    let others = analysis.others.values().map(|other| &other.air);
    let mut stations = BTreeSet::new();
    for air in iter::once(&analysis.main.air).chain(others) {
        for link in air.links.values().filter(|link| link.is_of_unknown_devices()) {
            let ends = [link.from, link.to].map(|id| air.stations.get(id));
            let ends = ends.into_iter().filter(|station| !station.access_point);
            stations.extend(ends.map(|station| station.address));
        }
    }
    let mut names: Vec<_> = stations.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    if stations.len() > NAMED_MAX {
        names.push(format!("{} more", stations.len() - NAMED_MAX));
    }
    (!names.is_empty()).then(|| {
        format!(
            "No association was captured of stations with access points that have several links ({}): \
             it is unknown which of them are one device, and each link is analysed alone",
            names.join(", ")
        )
    })
}
