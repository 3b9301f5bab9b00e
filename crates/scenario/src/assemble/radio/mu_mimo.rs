//! Downlink MU-MIMO of an access point, within the limits of the standards.

use super::Common;
use super::{Problems, Role};
use crate::raw::{CodebookKind, OfdmaAcknowledgementKind, RawMuMimo, RawNodeSettings};
use lasthop_units::Duration;
use lasthop_wifi::cell::{MuMimoConfig, OfdmaAcknowledgement};
use lasthop_wifi::phy::{Codebook, Standard, VHT_MU_USERS_MAX};

/// Default number of antennas of an access point.
const ANTENNAS: u8 = 4;
/// Shortest sounding interval: an exchange takes up to a millisecond.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

/// MU-MIMO of a node of this role, whose QoS is on or off.
pub(super) fn config(
    raw: &RawMuMimo,
    role: Role,
    node: &RawNodeSettings,
    qos: bool,
    common: &Common,
    problems: &mut Problems,
) -> Option<MuMimoConfig> {
    let before = problems.len();
    let standard = common.standard;
    let is_he = standard.is_he();
    if role != Role::AccessPoint {
        problems.push_unfit(&raw.here, "only an access point sends to several stations at once");
    }
    if !is_he && standard != Standard::Dot11ac {
        let message = format!("MU-MIMO needs 802.11ac, 802.11ax or 802.11be, not {standard}");
        problems.push(&raw.here, message);
        return None;
    }
    if !qos {
        problems.push_unfit(&raw.here, "MU-MIMO needs QoS frames, and qos is false");
    }
    if node.aggregation.built_ahead.value {
        let message = "with mu_mimo A-MPDUs are built when the channel is gained; \
                       take mu_mimo or built_ahead";
        problems.push(&node.aggregation.built_ahead.place, message);
    }
    let stations_max = raw.stations.value.get();
    if !is_he && stations_max > VHT_MU_USERS_MAX {
        let message = format!("802.11ac has up to {VHT_MU_USERS_MAX} stations in a PPDU");
        problems.push(&raw.stations.place, message);
    }
    let own: u8 = node.streams.value.get();
    let antennas = raw.antennas.as_ref().map_or(ANTENNAS.max(own), |at| at.value.get());
    if let Some(at) = raw.antennas.as_ref().filter(|_| antennas < own) {
        let message = format!("expected as many as its {own} streams at least, got {antennas}");
        problems.push(&at.place, message);
    }
    let streams_max = raw.streams.value.get();
    if streams_max > own {
        let message = format!("expected at most its own {own} streams, got {streams_max}");
        problems.push(&raw.streams.place, message);
    }
    if 2 * streams_max > antennas {
        let message = format!(
            "two stations with {streams_max} streams each need {} antennas, and there are {antennas}",
            2 * streams_max
        );
        problems.push(&raw.streams.place, message);
    }
    let acknowledgement = acknowledgement(raw, is_he, problems);
    let grouping: u8 = raw.grouping.value.get();
    let (standards, exists) = if is_he {
        ("4 or 16 with 802.11ax and 802.11be", [4, 16].contains(&grouping))
    } else {
        ("1, 2 or 4 with 802.11ac", [1, 2, 4].contains(&grouping))
    };
    if !exists {
        problems.push(&raw.grouping.place, format!("expected {standards}, got {grouping}"));
    }
    let codebook = match raw.codebook.value {
        CodebookKind::Coarse => Codebook::Coarse,
        CodebookKind::Fine => Codebook::Fine,
    };
    if is_he && grouping == 16 && codebook == Codebook::Coarse {
        let message = "groups of 16 are reported with the fine codebook only";
        problems.push(&raw.codebook.place, message);
    }
    let sounding_interval = raw.sounding_interval.value;
    if sounding_interval < INTERVAL_MIN {
        let message = format!("expected {INTERVAL_MIN} or more, got {sounding_interval}");
        problems.push(&raw.sounding_interval.place, message);
    }
    (problems.len() == before).then_some(MuMimoConfig {
        stations_max,
        antennas,
        streams_max,
        acknowledgement,
        guard_interval: common.he_guard_interval,
        sounding_interval,
        grouping,
        codebook,
        doppler_hz: raw.doppler.value.0,
    })
}

/// Returns the acknowledgement procedure of stations.
fn acknowledgement(raw: &RawMuMimo, is_he: bool, problems: &mut Problems) -> OfdmaAcknowledgement {
    let Some(at) = &raw.acknowledgement else {
        return if is_he {
            OfdmaAcknowledgement::MuBlockAckRequest
        } else {
            OfdmaAcknowledgement::BlockAckRequest
        };
    };
    if !is_he && at.value != OfdmaAcknowledgementKind::BlockAckRequest {
        problems.push(&at.place, "802.11ac has \"bar\" only: it has no Trigger frames");
    }
    match at.value {
        OfdmaAcknowledgementKind::BlockAckRequest => OfdmaAcknowledgement::BlockAckRequest,
        OfdmaAcknowledgementKind::MuBlockAckRequest => OfdmaAcknowledgement::MuBlockAckRequest,
        OfdmaAcknowledgementKind::Aggregated => OfdmaAcknowledgement::Aggregated,
    }
}
