//! Findings about stations that change their access point: slow, failed and repeated changes, and
//! stations that stay at a weak one.

use super::joining::{of_times, remedy, times};
use super::{Finding, Kind, ms_or_s};
use crate::air::beacons;
use crate::air::channels;
use crate::air::joining::{self, words};
use crate::air::levels::SPELL_NS;
use crate::air::roams::attempt::{Roam, RoamPhase, Why};
use crate::air::roams::client::Stay;
use crate::air::stations::StationId;
use crate::analysis::InterfaceView;
use lasthop_units::MacAddr;
use std::collections::BTreeMap;

/// Cost from which a roam is slow, in ns: a call hears silence after 60 ms without packets (ITU-T
/// G.711, appendix I, mutes its concealment then).
const SLOW_NS: u64 = 60_000_000;
/// Longest stay at an access point between two changes for ping-pong, in ns: below its threshold a
/// station looks for a better access point every 30 s (NetworkManager's `bgscan`), so that its first
/// look after the change takes the change back.
const PING_PONG_NS: u64 = 30_000_000_000;
/// Longest time from a failed change to the next one that is named with it, in ns.
const NEXT_NS: u64 = 60_000_000_000;
/// Minimum mean level of a station's data for a monitor beside it, in dBm, and minimum number of
/// frames for a level.
const BESIDE_DBM: f64 = -60.0;
const FRAMES_MIN: u64 = 20;
/// Minimum number of beacons by which a monitor hears an access point.
const BEACONS_MIN: u64 = 10;

pub(super) fn find(view: &InterfaceView<'_>, found: &mut Vec<Finding>) {
    let mut stations: BTreeMap<StationId, Vec<&Roam>> = BTreeMap::new();
    for roam in view.air.roams() {
        stations.entry(roam.station).or_default().push(roam);
    }
    for (station, roams) in &stations {
        let done: Vec<_> = roams.iter().copied().filter(|roam| roam.is_done()).collect();
        found.extend(slow_roam(view, *station, &done));
        found.extend(ping_pong(view, *station, &done));
        failed(view, *station, roams, found);
    }
    sticky(view, found);
}

fn address(view: &InterfaceView<'_>, station: StationId) -> String {
    view.air.stations.get(station).address.to_string()
}

/// Formats the name of an access point's network.
fn network(view: &InterfaceView<'_>, access_point: MacAddr) -> String {
    let name = view.air.network_name(access_point);
    name.map_or_else(|| "one network".to_owned(), beacons::name)
}

/// Formats an access point with its channel.
fn place(access_point: MacAddr, mhz: Option<u16>) -> String {
    match mhz.and_then(channels::number) {
        Some(channel) => format!("{access_point}, channel {channel}"),
        None => access_point.to_string(),
    }
}

fn slow_roam(view: &InterfaceView<'_>, id: StationId, done: &[&Roam]) -> Option<Finding> {
    let cost = |roam: &Roam| roam.cost_ns().unwrap_or_default();
    let slow: Vec<_> = done.iter().filter(|roam| cost(roam) >= SLOW_NS).collect();
    let worst = slow.iter().max_by_key(|roam| cost(roam))?;
    let worst_ns = cost(worst);
    let first = slow.first()?.span()?;
    let last = slow.last()?.span()?;
    let station = address(view, id);
    let count = match (slow.len(), done.len()) {
        (1, 1) => String::new(),
        (slow, all) => format!("; {slow} of its {all} roams cost more than 60 ms"),
    };
    let what = match worst.without_data_ns() {
        Some(gap) => format!("{} pass from its last data there to its first here", ms_or_s(gap)),
        None => format!("{} pass until data may flow", ms_or_s(worst_ns)),
    };
    let cost_s = worst_ns as f64 / 1e9;
    Some(Finding {
        sentence: format!(
            "{station} roams slowly in {}, from {} to {}: {what} ({}){count}",
            network(view, worst.to),
            place(worst.from, worst.mhz.0),
            place(worst.to, worst.mhz.1),
            phases(worst)
        ),
        harm: cost_s / (cost_s + 1.0),
        check: format!(
            "Filter wlan.addr == {station} && (wlan.fc.type_subtype in {{0x00, 0x02, 0x04, 0x0b}} || \
             eapol). {}",
            advice(worst)
        ),
        station: Some(station),
        ..of_times(
            view,
            Kind::SlowRoam,
            [first.first.number, last.last.number],
            [first.first.at_ns, last.last.at_ns],
        )
    })
}

/// Formats the phases of a roam.
fn phases(roam: &Roam) -> String {
    let search = match roam.moments.probe_requests {
        0 => "until it authenticates".to_owned(),
        1 => "until it authenticates, with one Probe Request".to_owned(),
        count => format!("until it authenticates, with {count} Probe Requests"),
    };
    let authentication = match roam.method.name() {
        Some("open") | None => "authentication".to_owned(),
        Some(name) => format!("authentication ({name})"),
    };
    let keys = match (roam.moments.dot1x, roam.moments.keys) {
        (Some(_), None) => "802.1X",
        (Some(_), Some(_)) => "802.1X and keys",
        _ => "keys",
    };
    let names = [&search[..], &authentication, "association", keys, "until the first data"];
    let known = roam.phases_ns().into_iter().zip(names);
    let parts = known.filter_map(|(ns, name)| Some(format!("{} {name}", ms_or_s(ns?))));
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { "its steps were not captured".to_owned() } else { parts.join(", ") }
}

/// Returns a remedy for the longest phase of a roam.
fn advice(roam: &Roam) -> &'static str {
    let phases = roam.phases_ns();
    let longest = (0..phases.len()).max_by_key(|index| phases[*index].unwrap_or_default());
    match longest {
        _ if phases == [None; 5] => "A monitor on the channel of each access point hears the steps",
        Some(0) => {
            "The station notices late that it has to change, or looks on many channels: neighbour \
             reports (802.11k), requests to change (802.11v) and fewer channels in use shorten this"
        }
        Some(1) => {
            "Look for retries of its frames, and for the time that the access point takes (SAE)"
        }
        Some(2) => "Look for retries of its frames, and at the log of the access point",
        Some(3) if roam.moments.dot1x.is_some() => {
            "802.1X is done anew: fast transitions (802.11r) or cached keys (PMKSA, OKC) avoid it"
        }
        Some(3) => {
            "Fast transitions (802.11r) need no handshake; a lost message is repeated after 0.1 to 1 s"
        }
        _ => {
            "The station is connected, and no data comes: look whether it had any to send, for DHCP, \
             and whether the switches know its new place"
        }
    }
}

fn ping_pong(view: &InterfaceView<'_>, id: StationId, done: &[&Roam]) -> Option<Finding> {
    let stay = |pair: &[&Roam]| {
        let [there, back] = pair else { return None };
        let is_back = there.to == back.from && there.from == back.to;
        let (arrived, left) = (there.moments.end()?, back.moments.begin()?);
        let stay_ns = left.at_ns.saturating_sub(arrived.at_ns);
        (is_back && stay_ns <= PING_PONG_NS).then_some(stay_ns)
    };
    let turns = done.windows(2).enumerate();
    let turns: Vec<_> =
        turns.filter_map(|(index, pair)| stay(pair).map(|ns| (index, ns))).collect();
    let (first, _) = turns.first()?;
    let (last, _) = turns.last()?;
    let shortest = turns.iter().map(|(_, ns)| *ns).min()?;
    let (begin, end) = (done[*first].span()?, done[*last + 1].span()?);
    let station = address(view, id);
    let roam = done[*first];
    Some(Finding {
        sentence: format!(
            "{station} changes from {} to {} of {} and goes back {}, after {} at the least",
            place(roam.from, roam.mhz.0),
            place(roam.to, roam.mhz.1),
            network(view, roam.to),
            times(turns.len() as u64),
            ms_or_s(shortest)
        ),
        harm: (0.1 * turns.len() as f64).min(0.5),
        check: format!(
            "Filter wlan.fc.type_subtype in {{0x00, 0x02}} && wlan.sa == {station}. Both access \
             points are about as strong there: a larger difference before it changes (hysteresis), \
             less power at one of them, or no steering by the network (802.11v requests, \
             deauthentications) keeps it at one"
        ),
        station: Some(station),
        ..of_times(
            view,
            Kind::PingPong,
            [begin.first.number, end.last.number],
            [begin.first.at_ns, end.last.at_ns],
        )
    })
}

/// Finds changes that failed, those with one target and one cause together.
fn failed(view: &InterfaceView<'_>, id: StationId, roams: &[&Roam], found: &mut Vec<Finding>) {
    let mut causes: BTreeMap<_, Vec<(usize, &Roam)>> = BTreeMap::new();
    for (index, roam) in roams.iter().enumerate() {
        let Some((step, why)) = roam.failure() else { continue };
        if why == Why::Unanswered && !is_heard(view, roam.to) {
            continue;
        }
        causes.entry((roam.to, step, why)).or_default().push((index, roam));
    }
    let station = address(view, id);
    for ((to, step, why), failed) in causes {
        let (Some((_, first)), Some((index, last))) = (failed.first(), failed.last()) else {
            continue;
        };
        let (Some(begin), Some(end)) = (first.span(), last.span()) else { continue };
        let next = roams.get(index + 1).filter(|next| next.is_done());
        let next = next.and_then(|next| Some((next, next.moments.end()?)));
        let then = next.and_then(|(next, joined)| {
            let passed = joined.at_ns.saturating_sub(end.last.at_ns);
            let text = format!("; it joins {} {} later", next.to, ms_or_s(passed));
            (passed <= NEXT_NS).then_some(text)
        });
        found.push(Finding {
            sentence: format!(
                "{station} fails {} to change from {} to {} of {}: {}{}",
                times(failed.len() as u64),
                place(first.from, first.mhz.0),
                place(to, first.mhz.1),
                network(view, to),
                cause(last, step, why),
                then.unwrap_or_default()
            ),
            harm: 0.5,
            check: format!(
                "Filter wlan.addr == {station} && wlan.addr == {to}; {}",
                remedy_of(last, step, why)
            ),
            station: Some(station.clone()),
            ..of_times(
                view,
                Kind::RoamFailed,
                [begin.first.number, end.last.number],
                [begin.first.at_ns, end.last.at_ns],
            )
        });
    }
}

/// Whether the monitor hears an access point, so that it would have heard its answers.
fn is_heard(view: &InterfaceView<'_>, access_point: MacAddr) -> bool {
    let id = view.air.stations.find(access_point);
    let beacons = id.and_then(|id| view.air.beacons.get(&id));
    beacons.is_some_and(|beacons| beacons.heard >= BEACONS_MIN)
}

/// Returns the name of a step, as refusals have it.
fn step_of(roam: &Roam, step: RoamPhase) -> joining::Step {
    match step {
        RoamPhase::Association => joining::Step::Association,
        _ if roam.method.is_fast() => joining::Step::FastTransition,
        _ if roam.method.name() == Some("SAE") => joining::Step::SaeConfirm,
        _ => joining::Step::Authentication,
    }
}

/// Describes the cause of a failure.
pub(crate) fn cause(roam: &Roam, step: RoamPhase, why: Why) -> String {
    let [first, second, third, _] = roam.messages;
    let came = |messages: u32| times(messages.into());
    let during = match step {
        RoamPhase::Authentication => "authentication",
        RoamPhase::Association => "association",
        RoamPhase::Keys => "the handshake for keys",
    };
    match (why, step) {
        (Why::Status(code), _) => {
            let name = match step_of(roam, step) {
                joining::Step::SaeConfirm => "SAE authentication",
                step => step.name(),
            };
            format!("the access point refuses its {name} ({})", words::status(code))
        }
        (Why::Removed { reason, by_access_point }, _) => {
            let who = if by_access_point { "the access point" } else { "the station" };
            let reason = reason.map_or_else(|| "reason encrypted".to_owned(), words::reason);
            let messages = match step {
                RoamPhase::Keys => {
                    let first = came(first);
                    format!(", after message 1 came {first}, message 2 {second}, message 3 {third}")
                }
                _ => String::new(),
            };
            format!("{who} ends the attempt during {during} ({reason}){messages}")
        }
        (Why::Unanswered, RoamPhase::Keys) if third > 0 => {
            let third = came(third);
            format!("the station does not answer message 3 of the handshake, which came {third}")
        }
        (Why::Unanswered, RoamPhase::Keys) => {
            let first = came(first);
            format!("the station does not answer message 1 of the handshake, which came {first}")
        }
        (Why::Unanswered, _) => format!("the access point does not answer its {during}"),
        (Why::WrongKey, _) => format!(
            "the access point does not accept message 2 of the handshake (message 1 came {}, \
             message 2 {second}, message 3 {third}), so that their keys likely differ",
            came(first),
        ),
    }
}

fn remedy_of(roam: &Roam, step: RoamPhase, why: Why) -> &'static str {
    match (why, step) {
        (Why::Status(status), _) => remedy(step_of(roam, step), status),
        (Why::WrongKey, _) | (_, RoamPhase::Keys) => {
            "compare the passphrase and, with fast transitions or cached keys, the key holders of \
             both access points"
        }
        (Why::Unanswered, _) => {
            "retries show that the access point does not hear the station: it is too far away, or \
             the station heard it stronger than it is heard there"
        }
        (Why::Removed { .. }, _) => "look at the logs of the access point and of the station",
    }
}

/// Finds stations that stay at a weak access point while a much stronger one is heard.
fn sticky(view: &InterfaceView<'_>, found: &mut Vec<Finding>) {
    let air = view.air;
    let mut worst: BTreeMap<StationId, (u64, Finding)> = BTreeMap::new();
    for stay in air.roaming.stays() {
        let Stay { station, access_point, times: (from, to), signal: (sum, number), .. } = stay;
        let level = sum as f64 / number.max(1) as f64;
        let Some(weaker) = air.stations.find(access_point) else { continue };
        // Beside another receiver, levels of beacons say little about the station.
        if number < FRAMES_MIN || level < BESIDE_DBM {
            continue;
        }
        for (stronger, spell) in air.levels.spells(weaker) {
            let (begin, end) = (from.max(spell.times.0), to.min(spell.times.1));
            let lasts = end.saturating_sub(begin);
            if lasts < SPELL_NS || worst.get(&station).is_some_and(|(most, _)| *most >= lasts) {
                continue;
            }
            let (low, high) = spell.means_dbm();
            let station_address = address(view, station);
            let finding = Finding {
                sentence: format!(
                    "{station_address} stays at {access_point} for {} while the monitor beside it hears \
                     that access point at {low:.0} dBm, and {} of the same network at {high:.0} dBm",
                    ms_or_s(lasts),
                    address(view, stronger)
                ),
                harm: 0.3,
                check: format!(
                    "The station itself is heard at {level:.0} dBm. Compare with the levels that it \
                     reports (iw dev IFACE link, then scan). Its threshold for roaming, requests to \
                     change from the network (802.11v), or less power and no slow rates at the access \
                     points let it change earlier"
                ),
                station: Some(station_address),
                ..of_times(view, Kind::StickyStation, stay.frames.into(), [begin, end])
            };
            worst.insert(station, (lasts, finding));
        }
    }
    found.extend(worst.into_values().map(|(_, finding)| finding));
}
