//! Changes of stations between access points, with their phases.

use crate::air::Air;
use crate::air::beacons;
use crate::air::channels;
use crate::air::joining::words;
use crate::air::roams::attempt::{Roam, RoamOutcome, Why};
use crate::finding::roams::cause;
use crate::rounding::{millis, seconds};
use serde::{Deserialize, Serialize};

/// A change of a station to another access point of its network, or an attempt that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoamSummary {
    /// Station that changes.
    pub station: String,
    /// Name of the network; absent if no frame has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ssid: Option<String>,
    /// Address (BSSID) of the old access point.
    pub from: String,
    /// Address (BSSID) of the new access point.
    pub to: String,
    /// Number of the old access point's channel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_channel: Option<u8>,
    /// Number of the new access point's channel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_channel: Option<u8>,
    /// Result: `done`, `failed`, or `unknown` if the monitor missed the end.
    pub result: String,
    /// Step that failed, and the cause.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
    /// Authentication: `open`, `shared key`, `SAE`, `FT` (802.11r), `FT over the DS`. Absent if it
    /// was not captured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub authentication: Option<String>,
    /// Whether the station reassociated, naming the old access point.
    pub reassociation: bool,
    /// Whether the old access point had asked for a change (802.11v) in the ten seconds before.
    #[serde(skip_serializing_if = "is_false", default)]
    pub asked: bool,
    /// Reason of a deauthentication or disassociation at the old access point before the change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub removed: Option<String>,
    /// Time of the last data with the old access point, or of the first frame of joining.
    pub from_s: f64,
    /// Time of the first data with the new access point, or of the last frame of joining.
    pub to_s: f64,
    /// Numbers of these frames.
    pub frames: [u64; 2],
    /// Captured Probe Requests of the station after the last data.
    pub probe_requests: u32,
    /// Numbers of messages 1 to 4 of the 4-way handshake. Absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages: Option<[u32; 4]>,
    /// Time from the last data with the old access point to the first with the new one, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_data_ms: Option<f64>,
    /// Time from the first frame of joining until data may flow, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub joining_ms: Option<f64>,
    /// Phases, which follow each other, in ms. Those that were not captured are absent, and part of
    /// the next one.
    pub phases: PhasesSummary,
}

/// Phases of a roam, in ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhasesSummary {
    /// From the last data with the old access point to the first frame of joining: loss of the old
    /// one, search for another one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub search_ms: Option<f64>,
    /// Authentication, until the request of association.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub authentication_ms: Option<f64>,
    /// Association, until its response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub association_ms: Option<f64>,
    /// 802.1X and the 4-way handshake, until its last message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub keys_ms: Option<f64>,
    /// Until the first data with the new access point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data_ms: Option<f64>,
}

const fn is_false(value: &bool) -> bool {
    !*value
}

/// Returns the roams of a capture, in the order of their ends.
pub(super) fn roams(air: &Air) -> Vec<RoamSummary> {
    air.roams().filter_map(|roam| RoamSummary::new(air, roam)).collect()
}

impl RoamSummary {
    fn new(air: &Air, roam: &Roam) -> Option<Self> {
        let span = roam.span()?;
        let at = |ns: u64| seconds(ns.saturating_sub(air.begin_ns.unwrap_or(ns)));
        let name = air.network_name(roam.to).or_else(|| air.network_name(roam.from));
        let [search, authentication, association, keys, data] =
            roam.phases_ns().map(|phase| phase.map(millis));
        let result = match roam.outcome {
            RoamOutcome::Done => "done",
            RoamOutcome::Failed(..) => "failed",
            RoamOutcome::Unknown => "unknown",
        };
        let removed = match roam.removed {
            Some(Why::Removed { reason, by_access_point }) => {
                let who = if by_access_point { "by the access point" } else { "by the station" };
                let reason = reason.map_or_else(|| "reason encrypted".to_owned(), words::reason);
                Some(format!("{who}: {reason}"))
            }
            _ => None,
        };
        Some(Self {
            station: air.stations.get(roam.station).address.to_string(),
            ssid: name.map(beacons::name),
            from: roam.from.to_string(),
            to: roam.to.to_string(),
            from_channel: roam.mhz.0.and_then(channels::number),
            to_channel: roam.mhz.1.and_then(channels::number),
            result: result.to_owned(),
            failed: roam.failure().map(|(step, why)| cause(roam, step, why)),
            authentication: roam.method.name().map(str::to_owned),
            reassociation: roam.method.reassociation,
            asked: roam.asked,
            removed,
            from_s: at(span.first.at_ns),
            to_s: at(span.last.at_ns),
            frames: [span.first.number, span.last.number],
            probe_requests: roam.moments.probe_requests,
            messages: (roam.messages != [0; 4]).then_some(roam.messages),
            without_data_ms: roam.without_data_ns().map(millis),
            joining_ms: roam.joining_ns().map(millis),
            phases: PhasesSummary {
                search_ms: search,
                authentication_ms: authentication,
                association_ms: association,
                keys_ms: keys,
                data_ms: data,
            },
        })
    }
}
