//! Findings about stations that cannot join, are removed, or are far away.

use super::heard::Share;
use super::{Finding, Kind, at, ms_or_s, percent};
use crate::air::Air;
use crate::air::exchange::Link;
use crate::air::joining::handshake::Handshake;
use crate::air::joining::{RefusalKey, RemovalRate, Removals, Requests, Seen, Step, words};
use crate::air::roams::attempt::{self, Roam};
use crate::air::stations::StationId;
use crate::analysis::InterfaceView;
use crate::rate::{Format, Rate};
use lasthop_units::MacAddr;

/// Minimum number of removals per second in a flood. An access point that restarts or steers its
/// stations needs one or two for each.
const FLOOD_A_SECOND: u64 = 10;
/// Minimum number of removals in a flood.
const FLOOD_MIN: u64 = 30;
/// Minimum number of removals of one station for a finding.
const REMOVED_MIN: u64 = 3;
/// Minimum number of networks in whose names a flood with forged addresses is sent.
const FORGED_MIN: usize = 30;
/// Difference of levels that two radios have, in dB, and minimum number of frames for a level.
/// Levels of one radio at one place vary by some 5 dB.
const OTHER_DB: f64 = 10.0;
const LEVELS_MIN: u64 = 10;
/// Minimum number of requests without an answer: mac80211 gives up after three
/// (`IEEE80211_AUTH_MAX_TRIES`).
const UNANSWERED_MIN: u64 = 3;
/// Minimum number of beacons by which a monitor hears an access point.
const BEACONS_MIN: u64 = 10;
/// Mean level of a near and of a far station, in dBm. Most products require -82 to -77 dBm for
/// their lowest rates of 802.11n in 20 MHz (IEEE 802.11-2020, table 19-23), and 10 dB more for
/// medium rates.
const NEAR_DBM: f64 = -60.0;
const FAR_DBM: f64 = -75.0;
/// Minimum number of frames for a mean level.
const FRAMES_MIN: u64 = 100;
/// Minimum share of MPDUs at low rates for a signal to be weak.
const LOW_MIN: f64 = 0.5;

pub(super) fn find(view: &InterfaceView<'_>, found: &mut Vec<Finding>) {
    let joining = &view.air.joining;
    for (bssid, removals) in &joining.removals {
        found.extend(deauthentication(view, *bssid, removals));
    }
    found.extend(flood_of_many(view));
    let roams: Vec<_> = view.air.roams().filter(|roam| roam.failure().is_some()).collect();
    for (key, seen) in &joining.refusals {
        // Failed roams have their own findings.
        if count(view, &roams, key) < seen.count {
            found.push(refused(view, *key, seen));
        }
    }
    for (pair, requests) in &joining.requests {
        let is_of = |roam: &&Roam| {
            let address = view.air.stations.get(roam.station).address;
            (roam.to, address) == *pair
                && matches!(roam.failure(), Some((_, attempt::Why::Unanswered)))
        };
        if !roams.iter().copied().any(|roam| is_of(&roam)) {
            found.extend(unanswered(view, pair.0, pair.1, requests));
        }
    }
    for ((access_point, station), handshake) in &joining.handshakes {
        let handshake = handshake.so_far();
        let is_of = |roam: &&&Roam| {
            let address = view.air.stations.get(roam.station).address;
            (roam.to, address) == (*access_point, *station)
                && matches!(roam.failure(), Some((attempt::RoamPhase::Keys, _)))
        };
        if (roams.iter().filter(is_of).count() as u32) < handshake.failed {
            found.extend(handshake_failed(view, *access_point, *station, &handshake));
        }
    }
    weak_signals(view, found);
}

/// Returns the number of failed roams that are refusals of a kind.
fn count(view: &InterfaceView<'_>, roams: &[&Roam], key: &RefusalKey) -> u64 {
    let is_of = |roam: &&&Roam| {
        let address = view.air.stations.get(roam.station).address;
        let is_step = match roam.failure() {
            Some((attempt::RoamPhase::Association, attempt::Why::Status(status))) => {
                key.step == Step::Association && status == key.status
            }
            Some((attempt::RoamPhase::Authentication, attempt::Why::Status(status))) => {
                key.step != Step::Association && status == key.status
            }
            _ => false,
        };
        (roam.to, address) == (key.access_point, key.station) && is_step
    };
    roams.iter().filter(is_of).count() as u64
}

pub(super) fn of_times(
    view: &InterfaceView<'_>,
    kind: Kind,
    frames: [u64; 2],
    [from_ns, to_ns]: [u64; 2],
) -> Finding {
    Finding {
        kind,
        sentence: String::new(),
        frames,
        from_s: at(view, from_ns),
        to_s: at(view, to_ns),
        harm: 0.0,
        check: String::new(),
        station: None,
    }
}

fn deauthentication(
    view: &InterfaceView<'_>,
    bssid: MacAddr,
    removals: &Removals,
) -> Option<Finding> {
    let seen = &removals.rate.seen;
    let is_flood = is_flood(&removals.rate);
    let (station, most) =
        removals.stations.iter().max_by_key(|(_, removed)| (removed.times, removed.frames))?;
    if !is_flood && most.times < REMOVED_MIN {
        return None;
    }
    let (reason, _) = removals.reasons.iter().max_by_key(|(_, count)| **count)?;
    let reason = match reason {
        Some(code) => words::reason(*code),
        None => "reason encrypted".to_owned(),
    };
    let whom = if station.is_multicast() { "all stations".to_owned() } else { station.to_string() };
    let deauthentications = removals.all - removals.disassociations;
    let frames = match (deauthentications, removals.disassociations) {
        (count, 0) => format!("{count} deauthentications"),
        (0, count) => format!("{count} disassociations"),
        (count, others) => {
            format!("{count} deauthentications and {others} disassociations")
        }
    };
    let finding = of_times(view, Kind::Deauthentication, seen.frames.into(), seen.times.into());
    let share = removals.all as f64 / view.packets.max(1) as f64;
    let of_all =
        if share >= 0.01 { format!(", {} of all frames", percent(share)) } else { String::new() };
    if is_flood {
        let lasts = ms_or_s(seen.times.1.saturating_sub(seen.times.0));
        return Some(Finding {
            sentence: format!(
                "{frames} of the network {bssid}{of_all}, up to {} a second in {lasts}{}, most of \
                 them about {whom} ({reason}): a flood, likely forged, that disconnects stations{}",
                removals.rate.most_a_second,
                senders(removals),
                other_level(view, bssid, removals)
            ),
            harm: 0.9,
            check: format!(
                "Compare the level and sequence numbers of these frames with those of {bssid}'s beacons: \
                 forged ones differ. Management frame protection (802.11w, part of WPA3) makes stations \
                 ignore them"
            ),
            ..finding
        });
    }
    let by = match most.by_access_point {
        0 => ", sent by the station",
        count if count == most.frames => ", sent by the access point",
        _ => ", sent by both",
    };
    Some(Finding {
        sentence: format!(
            "{whom} is removed from the network {bssid}, or leaves it, {} times ({frames}{of_all}; \
             {reason}){by}",
            most.times
        ),
        harm: (0.1 * most.times as f64).min(0.5),
        check: format!(
            "Filter wlan.fc.type_subtype in {{0x0a, 0x0c}} && wlan.bssid == {bssid}, and look at the \
             logs of the access point and of the station at these times"
        ),
        station: (!station.is_multicast()).then(|| station.to_string()),
        ..finding
    })
}

const fn is_flood(rate: &RemovalRate) -> bool {
    rate.seen.count >= FLOOD_MIN && rate.most_a_second >= FLOOD_A_SECOND
}

/// Describes in whose names frames of a flood were sent.
fn senders(removals: &Removals) -> String {
    let (to_one, to_all) = removals.by_access_point;
    let by_stations = removals.all - to_one - to_all;
    let parts = [
        (to_one, "in the name of the access point to one station"),
        (to_all, "to all"),
        (by_stations, "in the names of stations"),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!(" ({})", parts.join(", "))
}

/// Describes that frames of a flood come from another place than the beacons of the network.
fn other_level(view: &InterfaceView<'_>, bssid: MacAddr, removals: &Removals) -> String {
    let mean = |(sum, count): (i64, u64)| (count >= LEVELS_MIN).then(|| sum as f64 / count as f64);
    let beacons = view.air.stations.find(bssid).and_then(|id| view.air.beacons.get(&id));
    let levels = mean(removals.signal).zip(beacons.and_then(|beacons| mean(beacons.signal)));
    match levels {
        Some((forged, own)) if (forged - own).abs() >= OTHER_DB => format!(
            "; they are heard at {forged:.0} dBm, and its beacons at {own:.0} dBm, so that another \
             radio sends them"
        ),
        _ => String::new(),
    }
}

/// A flood in the names of many networks, none of which has many frames.
fn flood_of_many(view: &InterfaceView<'_>) -> Option<Finding> {
    let joining = &view.air.joining;
    let (rate, networks) = (&joining.all_removals, joining.removals.len());
    let has_flood = joining.removals.values().any(|removals| is_flood(&removals.rate));
    if has_flood || networks < FORGED_MIN || !is_flood(rate) {
        return None;
    }
    let seen = &rate.seen;
    Some(Finding {
        sentence: format!(
            "{} deauthentications or disassociations of {networks} networks, up to {} a second: a \
             flood with forged addresses",
            seen.count, rate.most_a_second
        ),
        harm: 0.9,
        check:
            "Filter wlan.fc.type_subtype in {0x0a, 0x0c}: their level shows where they come from. \
                Management frame protection (802.11w, part of WPA3) makes stations ignore them"
                .to_owned(),
        ..of_times(view, Kind::Deauthentication, seen.frames.into(), seen.times.into())
    })
}

fn refused(view: &InterfaceView<'_>, key: RefusalKey, seen: &Seen) -> Finding {
    let RefusalKey { access_point, station, step, status } = key;
    let filter = match step {
        Step::Association => "{0x01, 0x03}",
        _ => "{0x0b}",
    };
    Finding {
        sentence: format!(
            "{access_point} refuses the {} of {station} {} ({})",
            step.name(),
            times(seen.count),
            words::status(status)
        ),
        harm: 0.5,
        check: format!(
            "Filter wlan.fc.type_subtype in {filter} && wlan.ra == {station}; {}",
            remedy(step, status)
        ),
        station: Some(station.to_string()),
        ..of_times(view, Kind::JoinRefused, seen.frames.into(), seen.times.into())
    }
}

/// Returns a remedy for a refusal.
pub(super) const fn remedy(step: Step, status: u16) -> &'static str {
    match (step, status) {
        (Step::SaeConfirm, _) | (Step::SharedKey, 15) | (_, 123) => {
            "compare the password at both: one of them has another"
        }
        (_, 13 | 43) => {
            "compare the security that the station is set to (WPA2, WPA3, 802.1X) with that of beacons"
        }
        (_, 17) => "look for the access point's limit of stations, and for old associations",
        (_, 30) => {
            "the access point believes that the station is still connected, and asks it (SA Query) \
             before it lets it in again; the station may try again after the time in the answer"
        }
        (_, 31) => {
            "turn management frame protection on at the station, or make it optional at the access point"
        }
        (_, 28 | 52..=55) => {
            "compare the mobility domain and the key holders (R0KH, R1KH) of all access points: a \
             station without a fast transition can still join with a new handshake"
        }
        (_, 77) => "compare the groups of SAE of both; group 19 is mandatory",
        _ => {
            "compare what the station asks for with what beacons require, and look at the log of the \
             access point"
        }
    }
}

/// Formats a number of times.
pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// A station that asks an access point to join and gets no answer, although the monitor hears the
/// access point.
fn unanswered(
    view: &InterfaceView<'_>,
    access_point: MacAddr,
    station: MacAddr,
    requests: &Requests,
) -> Option<Finding> {
    let seen = requests.unanswered();
    let id = view.air.stations.find(access_point)?;
    let beacons = view.air.beacons.get(&id).map_or(0, |beacons| beacons.heard);
    if seen.count < UNANSWERED_MIN || beacons < BEACONS_MIN {
        return None;
    }
    Some(Finding {
        sentence: format!(
            "{access_point} does not answer {station}, which asks {} for {}, although beacons of \
             the access point are heard",
            times(seen.count),
            requests.step.name()
        ),
        harm: 0.4,
        check: format!(
            "Filter wlan.fc.type_subtype in {{0x00, 0x02, 0x0b}} && wlan.addr == {station}. Retries \
             show that the access point does not hear it: it is too far away, or sends with less \
             power. Without retries, look for a list of addresses at the access point"
        ),
        station: Some(station.to_string()),
        ..of_times(view, Kind::JoinUnanswered, seen.frames.into(), seen.times.into())
    })
}

fn handshake_failed(
    view: &InterfaceView<'_>,
    access_point: MacAddr,
    station: MacAddr,
    handshake: &Handshake,
) -> Option<Finding> {
    if handshake.failed == 0 {
        return None;
    }
    let [first, second, third, _] = handshake.messages;
    let why = match (second, third) {
        (0, 0) => "the station does not answer message 1, or its answers were not heard",
        (_, 0) => {
            "the access point does not accept message 2: the station likely has another passphrase"
        }
        _ => "message 3 is not answered, or its answers were not heard",
    };
    let [times, came] = [handshake.failed, first].map(|count| times(count.into()));
    let reason =
        handshake.reason.map_or(String::new(), |code| format!("; {}", words::reason(code)));
    Some(Finding {
        sentence: format!(
            "The 4-way handshake of {access_point} and {station} fails {times} (message 1 came {came}, \
             message 2 {second}, message 3 {third}{reason}): {why}"
        ),
        harm: 0.6,
        check: format!(
            "Filter eapol && wlan.addr == {station}. Compare the passphrase at both; lasthop capture \
             --psk says whether one fits message 2"
        ),
        station: Some(station.to_string()),
        ..of_times(view, Kind::HandshakeFailed, handshake.frames.into(), handshake.times.into())
    })
}

/// Returns the mean level of a station's frames, if enough were captured.
fn level(air: &Air, id: StationId) -> Option<f64> {
    let (sum, number) = air.heard.get(id.index())?.signal;
    (number >= FRAMES_MIN).then(|| sum as f64 / number as f64)
}

/// Whether the rate is typical for a weak signal.
fn is_low(rate: &Rate) -> bool {
    match rate.format {
        Format::Dsss => true,
        Format::Ofdm => rate.kbps <= 24_000,
        Format::Ht => rate.mcs % 8 <= 2,
        Format::Vht | Format::He | Format::Eht => rate.mcs <= 2,
    }
}

fn weak_signals(view: &InterfaceView<'_>, found: &mut Vec<Finding>) {
    let air = &view.air;
    for link in air.links.values() {
        let (from, to) = (air.stations.get(link.from), air.stations.get(link.to));
        let (Some(far), Some(near)) = (level(air, link.from), level(air, link.to)) else {
            continue;
        };
        let (mpdus, low) = rates(link);
        let share = low as f64 / mpdus.max(1) as f64;
        // A monitor that misses most of a link hears its slow rates.
        if !Share::from_counts(&link.counts).is_enough() {
            continue;
        }
        // The monitor is close to the receiver, so it hears what the receiver hears.
        if far > FAR_DBM || near < NEAR_DBM || mpdus < FRAMES_MIN || share < LOW_MIN {
            continue;
        }
        let station = if from.access_point { to } else { from };
        found.push(Finding {
            sentence: format!(
                "{} is heard at {far:.0} dBm in the mean, and {} at {near:.0} dBm: the former is likely \
                 far away, and sends {} of its data at low rates",
                from.address,
                to.address,
                percent(share)
            ),
            harm: 0.3 * share,
            check: "Compare with the level that the station itself reports (iw dev IFACE link, station \
                    dump at the access point). Move either, or add an access point between them"
                .to_owned(),
            station: Some(station.address.to_string()),
            ..of_times(
                view,
                Kind::WeakSignal,
                [1, view.packets],
                view.times().unwrap_or_default().into(),
            )
        });
    }
}

/// Returns the MPDUs of a link, and those at low rates.
fn rates(link: &Link) -> (u64, u64) {
    let sum = |low: bool| -> u64 {
        let rates = link.rates.iter().filter(|(rate, _)| !low || is_low(rate));
        rates.map(|(_, at)| at.mpdus).sum()
    };
    (sum(false), sum(true))
}
