//! Findings about stations that cannot join, are removed, or are far away.

use super::heard::Share;
use super::{Finding, Kind, at, percent};
use crate::air::Air;
use crate::air::exchange::Link;
use crate::air::joining::handshake::Handshake;
use crate::air::joining::{RefusalKey, Removals, Seen, Step, words};
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
    for (key, seen) in &joining.refusals {
        found.push(refused(view, *key, seen));
    }
    for ((access_point, station), handshake) in &joining.handshakes {
        found.extend(handshake_failed(view, *access_point, *station, &handshake.so_far()));
    }
    weak_signals(view, found);
}

fn of_times(
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
    let seen = &removals.seen;
    let is_flood = seen.count >= FLOOD_MIN && removals.most_a_second >= FLOOD_A_SECOND;
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
    let what = match removals.disassociations {
        0 => "deauthentications",
        all if all == seen.count => "disassociations",
        _ => "deauthentications and disassociations",
    };
    let finding = of_times(view, Kind::Deauthentication, seen.frames.into(), seen.times.into());
    let share = removals.all as f64 / view.packets.max(1) as f64;
    let of_all =
        if share >= 0.01 { format!(", {} of all frames", percent(share)) } else { String::new() };
    if is_flood {
        return Some(Finding {
            sentence: format!(
                "{} {what} of the network {bssid}{of_all}, up to {} a second, most of them about {whom} \
                 ({reason}): a flood, likely forged, that disconnects stations",
                removals.all, removals.most_a_second
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
    Some(Finding {
        sentence: format!(
            "{whom} is removed from the network {bssid}, or leaves it, {} times ({} {what}{of_all}; \
             {reason})",
            most.times, removals.all
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

fn refused(view: &InterfaceView<'_>, key: RefusalKey, seen: &Seen) -> Finding {
    let RefusalKey { access_point, station, step, status } = key;
    let (what, filter) = match step {
        Step::Authentication => ("authentication", "0x0b"),
        Step::Association => ("association", "{0x01, 0x03}"),
    };
    let times = if seen.count == 1 { "once".to_owned() } else { format!("{} times", seen.count) };
    Finding {
        sentence: format!(
            "{access_point} refuses the {what} of {station} {times} ({})",
            words::status(status)
        ),
        harm: 0.5,
        check: format!(
            "Filter wlan.fc.type_subtype in {{{}}} && wlan.ra == {station}; compare what the station \
             asks for with what beacons require, and look at the log of the access point",
            filter.trim_matches(['{', '}'])
        ),
        station: Some(station.to_string()),
        ..of_times(view, Kind::JoinRefused, seen.frames.into(), seen.times.into())
    }
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
    let times = match handshake.failed {
        1 => "once".to_owned(),
        number => format!("{number} times"),
    };
    let reason =
        handshake.reason.map_or(String::new(), |code| format!("; {}", words::reason(code)));
    Some(Finding {
        sentence: format!(
            "The 4-way handshake of {access_point} and {station} fails {times} (message 1 came {first} \
             times, message 2 {second}, message 3 {third}{reason}): {why}"
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
