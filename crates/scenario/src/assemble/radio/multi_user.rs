//! Requirements of `ofdma`, its `uplink` and `mu_mimo` beyond the standard's. PPDUs for several
//! stations, and of several, carry A-MPDUs under Block Ack agreements at rates of 802.11ax,
//! 802.11be or, with MU-MIMO, of 802.11ac, and only access points send or trigger them. A configuration without these
//! would silently never send one. Left out: access points whose stations are all too old or too
//! narrow, which exist.

use super::{Problems, RawChannel, Role, WifiNode, is_written};
use crate::raw::{RawNodeSettings, RawOfdma, StreamPowerKind};
use lasthop_wifi::cell::StationConfig;
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::Rate;

/// Reports tables without any effect.
pub(super) fn check(
    wifi: &[WifiNode<'_>],
    stations: &[StationConfig],
    channel: &RawChannel,
    problems: &mut Problems,
) {
    for ((_, node), station) in wifi.iter().zip(stations) {
        let raw = &node.raw.settings;
        let tables =
            [raw.ofdma.as_ref().map(|at| &at.here), raw.mu_mimo.as_ref().map(|at| &at.here)];
        // What the node itself cannot have is noted already.
        if node.role() != Role::AccessPoint || !station.capabilities.qos {
            continue;
        }
        if channel.independent.value {
            for place in tables.into_iter().flatten() {
                let message = "only an access point sends to several stations at once, and an \
                               independent cell has none";
                problems.push(place, message);
            }
            continue;
        }
        if let Some(mu_mimo) = &raw.mu_mimo
            && channel.error_model.stream_power.value == StreamPowerKind::Shared
        {
            let message = "streams to several stations share the power anyway; take mu_mimo or \
                           error_model.stream_power = \"shared\"";
            problems.push(&mu_mimo.here, message);
        }
        let own = || why_alone(raw, station);
        let uplink = match &raw.ofdma {
            Some(ofdma) => check_uplink(ofdma, wifi, stations, station, problems),
            None => false,
        };
        if let Some(ofdma) = raw.ofdma.as_ref().filter(|_| !uplink)
            && let Some(why) = own().filter(|_| station.capabilities.is_he_or_later())
        {
            let message = format!("OFDMA needs {why}; take ofdma or that");
            problems.push(&ofdma.here, message);
        }
        if let Some(mu_mimo) = &raw.mu_mimo
            && let Some(why) = own()
            && (station.capabilities.is_he_or_later() || station.capabilities.is_vht())
        {
            problems.push(&mu_mimo.here, format!("MU-MIMO needs {why}; take mu_mimo or that"));
        }
    }
}

/// Whether stations of the access point's set can be triggered for data; reports that their
/// settings prevent it.
fn check_uplink(
    ofdma: &RawOfdma,
    wifi: &[WifiNode<'_>],
    stations: &[StationConfig],
    access_point: &StationConfig,
    problems: &mut Problems,
) -> bool {
    let Some(uplink) = &ofdma.uplink else { return false };
    let is_client = |(_, station): &(&WifiNode<'_>, &StationConfig)| {
        station.bss == access_point.bss
            && station.role == lasthop_wifi::cell::Role::Station
            && station.capabilities.is_he_or_later()
            && station.capabilities.qos
    };
    let clients = wifi.iter().zip(stations).filter(is_client);
    let mut why = None;
    for ((_, node), station) in clients {
        match why_alone(&node.raw.settings, station) {
            None => return true,
            first => why = why.or(first.map(|first| (&node.name, first))),
        }
    }
    let Some((name, why)) = why else { return true };
    let message =
        format!("uplink OFDMA needs {why} ({name:?}, and likewise all stations of its set)");
    problems.push(&uplink.here, message);
    false
}

/// Returns the reason why a node has no PPDUs for several stations, or of several.
fn why_alone(raw: &RawNodeSettings, station: &StationConfig) -> Option<String> {
    let aggregation = &station.aggregation;
    if aggregation.ampdu_bytes_max == 0 {
        return Some("A-MPDUs, and aggregation.ampdu_bytes_max is 0".to_owned());
    }
    if aggregation.ampdu_frames_max <= 1 {
        let is_own =
            raw.aggregation.ampdu_frames_max.as_ref().is_some_and(|at| is_written(&at.place));
        let key = if is_own { "aggregation.ampdu_frames_max" } else { "block_ack.window" };
        return Some(format!("A-MPDUs, and {key} is 1"));
    }
    match station.rate_control {
        RateControlConfig::Fixed { rate: Rate::He { .. } | Rate::Vht { .. } } => None,
        // EHT DUP is for one station.
        RateControlConfig::Fixed { rate: Rate::Eht { mcs, .. } } if mcs != 14 => None,
        RateControlConfig::Fixed { rate } => Some(format!(
            "rates that have an MCS and fill the channel, and rate_control is fixed at {rate}"
        )),
        _ => None,
    }
}
