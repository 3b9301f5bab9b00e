//! Fixed rates towards single peers: those of its set for an access point, the access point for the
//! others, all in an independent cell. Both ends must have the rate.

use super::station::fixed_rate;
use super::{At, Common, Names, Problems, Role, WifiNode, links};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{PeerRate, StationConfig};

/// Gives the stations their rates towards single peers.
pub(super) fn apply(
    wifi: &[WifiNode<'_>],
    own: &[Common],
    names: &Names,
    independent: bool,
    stations: &mut [StationConfig],
    problems: &mut Problems,
) {
    for (index, (_, node)) in wifi.iter().enumerate() {
        let raw = &node.raw.settings;
        for entry in &raw.rate_control.peers {
            let At { value: pattern, place } = &entry.node;
            let before = problems.len();
            let rate = fixed_rate(raw, &entry.fixed, &own[index], problems);
            let found = links::stations(pattern, place, wifi, names, problems);
            if problems.len() > before {
                continue;
            }
            let is_peer = |other: &usize| {
                let (_, peer) = &wifi[*other];
                let is_hub = [node.role(), peer.role()].contains(&Role::AccessPoint);
                *other != index && peer.shares_bss(node) && (is_hub || independent)
            };
            let peers: Vec<usize> = found.into_iter().filter(is_peer).collect();
            if peers.is_empty() {
                let message = format!("{:?} sends nothing to {pattern:?} on the air", node.name);
                problems.push(place, message);
            }
            for peer in peers {
                let shared = stations[index].capabilities.shared_with(&stations[peer].capabilities);
                if !shared.rates.contains(&rate) {
                    let message = format!(
                        "{:?} and {:?} do not both have this rate, {rate}",
                        node.name, wifi[peer].1.name
                    );
                    problems.push(&entry.here, message);
                    break;
                }
                let peer = StationId(u16::try_from(peer).expect("there are at most NODES_MAX"));
                let rates = &mut stations[index].peer_rates;
                rates.retain(|it| it.peer != peer);
                rates.push(PeerRate { peer, rate });
            }
        }
    }
}
