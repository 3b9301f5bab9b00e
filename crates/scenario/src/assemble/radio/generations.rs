//! Standard and channel width of each node: the channel's, or an older and narrower one. An access
//! point, and any newer station, also supports the standards of older stations. Left out: 802.11b
//! among others, which needs protection by CTS-to-self.

use super::{Common, WifiNode, rates};
use crate::Role;
use lasthop_config::error::Problems;
use lasthop_wifi::cell::StationConfig;
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::{Rate, Standard};
use std::collections::BTreeSet;

/// Common settings with each node's standard and width.
pub(super) fn of_nodes(
    wifi: &[WifiNode<'_>],
    common: &Common,
    problems: &mut Problems,
) -> Vec<Common> {
    wifi.iter().map(|node| of_node(node, common, problems)).collect()
}

fn of_node((_, node): &WifiNode<'_>, common: &Common, problems: &mut Problems) -> Common {
    let raw = &node.raw.settings;
    let mut standard = common.standard;
    if let Some(at) = &raw.standard {
        let exist = standards(common);
        if exist.contains(&at.value) {
            standard = at.value
        } else {
            let names: Vec<String> = exist.iter().map(|it| format!("\"{it}\"")).collect();
            let message = format!(
                "a node of a channel of {} at {} has {}, not {}",
                common.standard,
                common.band,
                names.join(" or "),
                at.value
            );
            problems.push(&at.place, message);
        }
    }
    let most = common.width.min(standard.width_max());
    let width = match &raw.width {
        Some(at) if at.value > most => {
            let message = format!("expected at most {most}, the channel's width and {standard}'s");
            problems.push(&at.place, message);
            most
        }
        Some(at) => at.value,
        None => most,
    };
    Common { standard, width, ..common.clone() }
}

/// Order of a standard by age.
pub(super) const fn age(standard: Standard) -> u8 {
    match standard {
        Standard::Dot11b => 0,
        Standard::Dot11g | Standard::Dot11a => 1,
        Standard::Dot11n => 2,
        Standard::Dot11ac => 3,
        Standard::Dot11ax => 4,
        Standard::Dot11be => 5,
    }
}

/// Returns the standards that a node of the channel may have.
fn standards(common: &Common) -> Vec<Standard> {
    if common.standard == Standard::Dot11b {
        return vec![Standard::Dot11b];
    }
    let all = [
        Standard::Dot11g,
        Standard::Dot11a,
        Standard::Dot11n,
        Standard::Dot11ac,
        Standard::Dot11ax,
        Standard::Dot11be,
    ];
    let is_there = |it: &Standard| it.works_in(common.band) && *it <= common.standard;
    all.into_iter().filter(is_there).collect()
}

/// Returns the standards that some node has.
pub(super) fn used(own: &[Common]) -> BTreeSet<Standard> {
    own.iter().map(|own| own.standard).collect()
}

/// Returns the rates of a node: of its standard, and of each older one that another node has.
pub(super) fn rates_of(own: &Common, streams: u8, used: &BTreeSet<Standard>) -> Vec<Rate> {
    let older = used.iter().filter(|it| **it < own.standard && it.works_in(own.band));
    let older = older.map(|&standard| Common {
        standard,
        width: own.width.min(standard.width_max()),
        ..own.clone()
    });
    let mut all = rates(own, streams);
    for older in older {
        all.extend(rates(&older, streams.min(older.standard.streams_max())));
    }
    all
}

/// Checks, where nodes differ, that each peer of a fixed rate can receive it.
pub(super) fn check_fixed_rates(
    wifi: &[WifiNode<'_>],
    own: &[Common],
    stations: &[StationConfig],
    problems: &mut Problems,
) {
    let is_uniform =
        own.iter().all(|it| (it.standard, it.width) == (own[0].standard, own[0].width));
    // Modes that a node has only if it says so.
    let is_usual = |station: &StationConfig| match station.rate_control {
        RateControlConfig::Fixed { rate } => rate.snr_gain().is_none() && !rate.is_extended_range(),
        _ => true,
    };
    if is_uniform && stations.iter().all(is_usual) {
        return;
    }
    for (index, (_, node)) in wifi.iter().enumerate() {
        let RateControlConfig::Fixed { rate } = stations[index].rate_control else { continue };
        let is_peer = |other: &usize| {
            let (_, peer) = &wifi[*other];
            let is_hub = [node.role(), peer.role()].contains(&Role::AccessPoint);
            *other != index && peer.shares_bss(node) && is_hub
        };
        let cannot = |other: &usize| {
            let shared = stations[index].capabilities.shared_with(&stations[*other].capabilities);
            !shared.rates.contains(&rate)
        };
        let Some(other) = (0..wifi.len()).filter(is_peer).find(cannot) else { continue };
        let control = &node.raw.settings.rate_control;
        let place = control.fixed.mcs.as_ref().map(|at| &at.place);
        let place =
            place.or(control.fixed.rate.as_ref().map(|at| &at.place)).unwrap_or(&control.here);
        let (peer, own) = (&wifi[other].1.name, &own[other]);
        let needed = match rate {
            Rate::HeExtendedRange { dcm: false, .. } => "extended_range = true",
            Rate::HeExtendedRange { .. } => "extended_range = true and dcm = true",
            Rate::He { dcm: true, .. } => "dcm = true, the same standard and width,",
            _ => "the same standard and width",
        };
        let message = format!(
            "{peer:?} has {} in {} and cannot receive this fixed rate; take another kind of rate \
             control here, or {needed} there",
            own.standard, own.width
        );
        problems.push(place, message);
    }
}
