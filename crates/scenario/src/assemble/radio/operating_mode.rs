//! Operating mode of a station: within its capabilities, and only where the standard has one.

use super::{Common, Problems, Role, WifiNode};
use crate::raw::{RawChannel, RawOperatingMode};
use lasthop_config::scalar::{At, Whole};
use lasthop_wifi::Capabilities;
use lasthop_wifi::cell::OperatingMode;
use lasthop_wifi::phy::Standard;

/// Returns the mode that a node of this role and with these capabilities has.
pub(super) fn config(
    raw: &RawOperatingMode,
    role: Role,
    capabilities: &Capabilities,
    common: &Common,
    problems: &mut Problems,
) -> Option<OperatingMode> {
    let before = problems.len();
    let standard = common.standard;
    if role == Role::AccessPoint {
        let message = "an access point keeps the channel of its set; stations have operating modes";
        problems.push_unfit(&raw.here, message);
    }
    if !capabilities.is_vht() && !capabilities.is_he_or_later() {
        let message =
            format!("operating modes need 802.11ac, 802.11ax or 802.11be, not {standard}");
        problems.push(&raw.here, message);
        return None;
    }
    if !capabilities.qos {
        problems.push_unfit(&raw.here, "an operating mode needs QoS frames, and qos is false");
    }
    let all = capabilities.operating_mode();
    let width = raw.width.as_ref().map_or(all.width, |at| at.value);
    if let Some(at) = raw.width.as_ref().filter(|_| width > all.width) {
        let message = format!("expected at most its own {}, got {width}", all.width);
        problems.push(&at.place, message);
    }
    let streams = |at: &Option<At<Whole<1, 8>>>, most: u8, problems: &mut Problems| {
        let Some(at) = at else { return most };
        let streams: u8 = at.value.get();
        if streams > most {
            let message = format!("expected at most its own {most}, got {streams}");
            problems.push(&at.place, message);
        }
        streams
    };
    let receive_streams = streams(&raw.streams, all.receive_streams, problems);
    let transmit_streams = streams(&raw.transmit_streams, all.transmit_streams, problems);
    let At { value: uplink_ofdma, place } = &raw.uplink_ofdma;
    if !uplink_ofdma && !capabilities.is_he_or_later() {
        problems.push(place, format!("{standard} has no Trigger frames"));
    }
    let mode =
        OperatingMode { width, receive_streams, transmit_streams, uplink_ofdma: *uplink_ofdma };
    (problems.len() == before).then_some(mode)
}

/// Checks that the access point understands notifications.
pub(super) fn check(
    wifi: &[WifiNode<'_>],
    own: &[Common],
    channel: &RawChannel,
    problems: &mut Problems,
) {
    for (_, node) in wifi {
        let Some(table) = &node.raw.settings.operating_mode else { continue };
        if channel.independent.value {
            let message = "operating modes are between a station and its access point, and this cell has none";
            problems.push(&table.here, message);
        }
        let is_its = |(_, other): &&WifiNode<'_>| {
            other.role() == Role::AccessPoint && other.shares_bss(node)
        };
        let Some(index) = wifi.iter().position(|other| is_its(&other)) else { continue };
        let standard = own[index].standard;
        if standard != Standard::Dot11ac && !standard.is_he() {
            let name = &wifi[index].1.name;
            let message =
                format!("its access point {name:?} has {standard}, without operating modes");
            problems.push(&table.here, message);
        } else if !wifi[index].1.has_qos(standard) {
            let message = "operating modes need QoS frames, and qos of the access point is false";
            problems.push(&table.here, message);
        }
    }
}
