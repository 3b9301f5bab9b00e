//! `[[cell]] steering`: access points that ask stations of their network to move (802.11v).

use super::{Problems, WifiNode, is_written};
use crate::Role;
use crate::raw::{RawScenario, RawSteering};
use lasthop_config::scalar::Whole;
use lasthop_wifi::cell::StationConfig;
use lasthop_wifi::mac::roam::steering::SteeringConfig;

/// Gives access points their policies, and tells stations whose network has one.
pub(super) fn apply(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    stations: &mut [StationConfig],
    problems: &mut Problems,
) {
    for cell in &raw.cell {
        let Some(steering) = &cell.steering else { continue };
        let name = cell.name.as_ref().map(|at| at.value.0.as_str());
        let policy = policy(steering, problems);
        let of_set = |(_, node): &(usize, &WifiNode<'_>)| node.1.bss() == name;
        for (index, (_, node)) in wifi.iter().enumerate().filter(of_set) {
            if node.role() == Role::AccessPoint {
                stations[index].steering = Some(policy);
            }
        }
        let set = wifi.iter().position(|(_, node)| node.bss() == name).map(|at| stations[at].bss);
        let is_member = |station: &StationConfig| {
            let roaming = station.roaming.as_ref();
            roaming.is_some_and(|it| it.members.iter().any(|member| Some(member.bss) == set))
        };
        if !stations.iter().any(is_member) {
            let message = "no station has roaming among the sets of a network with this one";
            problems.push_unfit(&steering.here, message);
        }
        for station in stations.iter_mut().filter(|station| is_member(station)) {
            if let Some(roaming) = &mut station.roaming {
                roaming.is_steered = true;
            }
        }
    }
    for (index, (_, node)) in wifi.iter().enumerate() {
        let Some(roaming) = &node.raw.settings.roaming else { continue };
        let place = &roaming.transition_requests.place;
        let is_steered = stations[index].roaming.as_ref().is_some_and(|it| it.is_steered);
        if is_written(place) && !is_steered {
            let message = "no access point of its network has steering in [[cell]]";
            problems.push_unfit(place, message);
        }
    }
}

fn policy(raw: &RawSteering, problems: &mut Problems) -> SteeringConfig {
    if raw.interval.value.is_zero() {
        problems.push(&raw.interval.place, "expected more than zero");
    }
    let (signal, most) = (raw.signal.value.0, raw.stations.value.0);
    if signal.is_none() && most.is_none() {
        let message = "what is it by? signal and stations are both \"off\"";
        problems.push_unfit(&raw.here, message);
    }
    SteeringConfig {
        signal,
        stations: most.map(|most: Whole<1, 2007>| most.get()),
        interval: raw.interval.value,
        insists: raw.insist.value,
    }
}
