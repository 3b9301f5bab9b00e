//! Longest packets: limits of the standards of both ends of a link on the air, and of their
//! buffers.

use super::nodes::Expanded;
use super::{is_written, node_id};
use crate::Role;
use crate::raw::{Mtu, RawScenario};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::At;
use lasthop_net::network::WiredLink;
use lasthop_wifi::phy::Standard;

/// MTU of a node without the key (RFC 894).
const ETHERNET_MTU: u16 = 1_500;
/// LLC and SNAP headers (IEEE 802.2, IEEE 802-2014).
const LLC_BYTES: u16 = 8;
/// Longest MSDU without QoS and A-MSDU (IEEE 802.11-2020, table 9-25).
const MSDU_BYTES_MAX: u16 = 2_304;
/// Longest packet in HT: an A-MSDU of 7 935 bytes with one subframe (9.3.2.2.2),
/// whose header takes 14 and LLC 8, in round numbers.
const HT_PACKET_BYTES_MAX: u16 = 7_900;
/// The same in VHT and HE, of an MPDU of 11 454 bytes.
const VHT_PACKET_BYTES_MAX: u16 = 11_400;
/// Length of a frame on the air without its packet, in bytes: QoS data header, LLC, FCS.
const WIFI_OVERHEAD_BYTES: u16 = 26 + LLC_BYTES + 4;
/// The same on a wire: Ethernet header and FCS.
const WIRE_OVERHEAD_BYTES: u16 = 14 + 4;

/// The MTU of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeMtu {
    /// MTU in force, or the upper bound of an adaptive one.
    pub bytes: u16,
    /// Lower bound of an adaptive MTU.
    pub adaptive_min: Option<u16>,
}

/// Returns the MTU of every node.
pub(super) fn mtus(
    raw: &RawScenario,
    nodes: &[Expanded<'_>],
    wires: &[WiredLink],
    problems: &mut Problems,
) -> Vec<NodeMtu> {
    let mut mtus = Vec::with_capacity(nodes.len());
    for node in nodes {
        let bytes = mtu(raw, nodes, node).0;
        check_adaptive(node, bytes, problems);
        let adaptive_min = node.raw.settings.adaptive_mtu.min.value.get();
        mtus.push(NodeMtu { bytes, adaptive_min: is_adaptive(node).then_some(adaptive_min) });
        if node.is_wifi() {
            check_standard(raw, nodes, node, problems);
        }
    }
    for (index, node) in nodes.iter().enumerate() {
        let buffer = &node.raw.settings.buffer_bytes;
        let Some(buffer_bytes) = buffer.value.0.as_ref().map(|bytes| bytes.0) else { continue };
        let room = |on_air| buffer_bytes - i64::from(overhead(on_air));
        if i64::from(mtus[index].bytes) > room(node.is_wifi()) {
            let (mtu, place) = mtu(raw, nodes, node);
            let place = if is_written(place) { place } else { &buffer.place };
            let message = format!(
                "packets of up to {mtu} bytes do not fit with their headers into \
                 buffer_bytes = {buffer_bytes}"
            );
            problems.push(place, message);
            continue;
        }
        let too_long = |&other: &usize| {
            let on_air = share_air(raw, node, &nodes[other]);
            (on_air || share_wire(wires, index, other))
                && i64::from(mtus[other].bytes) > room(on_air)
        };
        if let Some(other) = (0..nodes.len()).find(too_long) {
            let (name, mtu) = (&nodes[other].name, mtus[other].bytes);
            let message = format!(
                "packets of up to {mtu} bytes from {name:?} do not fit here; lower its mtu"
            );
            problems.push(&buffer.place, message);
        }
    }
    mtus
}

fn is_adaptive(node: &Expanded<'_>) -> bool {
    node.raw.settings.mtu.as_ref().is_some_and(|at| at.value == Mtu::Adaptive)
}

/// Returns the MTU of a node, or the upper bound of an adaptive one, and its place.
fn mtu<'a>(raw: &'a RawScenario, nodes: &[Expanded<'a>], node: &Expanded<'a>) -> (u16, &'a Place) {
    let settings = &node.raw.settings;
    match &settings.mtu {
        Some(At { value: Mtu::Fixed(bytes), place }) => (bytes.get(), place),
        Some(At { value: Mtu::Adaptive, place }) => settings.adaptive_mtu.max.as_ref().map_or_else(
            || (adaptive_most(raw, nodes, node), place),
            |at| (at.value.get(), &at.place),
        ),
        // Nothing that is written.
        None => (ETHERNET_MTU, &settings.adaptive_mtu.here),
    }
}

/// Limit on the air by the standard and the buffers of both ends.
fn adaptive_most(raw: &RawScenario, nodes: &[Expanded<'_>], node: &Expanded<'_>) -> u16 {
    let ends = || nodes.iter().filter(|other| share_air(raw, node, other)).chain([node]);
    let buffers = ends().filter_map(|end| end.raw.settings.buffer_bytes.value.0.as_ref());
    let rooms = buffers.map(|bytes| bytes.get::<u16>() - overhead(true));
    let standards = ends().map(|end| standard_most(raw, end).0);
    rooms.chain(standards).min().expect("the node itself")
}

/// Checks the lower bound of an adaptive MTU of at most `bytes`.
fn check_adaptive(node: &Expanded<'_>, bytes: u16, problems: &mut Problems) {
    let settings = &node.raw.settings;
    let raw = &settings.adaptive_mtu;
    if let Some(at) = settings.mtu.as_ref().filter(|at| at.value == Mtu::Adaptive) {
        if !node.is_wifi() {
            problems.push_unfit(&at.place, "an adaptive mtu needs a radio");
        }
        if settings.aggregation.amsdu_bytes_max.value.0 > 0 {
            let message = "frames with A-MSDUs do not tell how long packets should be; \
                           leave amsdu_bytes_max or the adaptive mtu out";
            problems.push(&at.place, message);
        }
        if raw.min.value.get::<u16>() >= bytes {
            let place = raw.max.as_ref().map_or(&raw.min.place, |max| &max.place);
            let message = format!("nothing lies between {} and {bytes} bytes", raw.min.value.0);
            problems.push(place, message);
        }
    } else if is_written(&raw.here) {
        problems.push(&raw.here, "this needs mtu = \"adaptive\"");
    }
}

fn check_standard(
    raw: &RawScenario,
    nodes: &[Expanded<'_>],
    node: &Expanded<'_>,
    problems: &mut Problems,
) {
    let (mtu, place) = mtu(raw, nodes, node);
    let (most, what) = standard_most(raw, node);
    if mtu > most {
        let message = format!("expected at most {most} on the air with {what}, got {mtu}");
        problems.push(place, message);
        return;
    }
    let too_long =
        |other: &&Expanded<'_>| share_air(raw, node, other) && standard_most(raw, other).0 < mtu;
    if let Some(other) = nodes.iter().find(too_long) {
        let (most, what) = standard_most(raw, other);
        let message = format!(
            "expected at most {most}: {:?} receives on the air with {what}, got {mtu}",
            other.name
        );
        problems.push(place, message);
    }
}

/// Returns the longest packet that a node sends and receives on the air, and the limiting property.
fn standard_most(raw: &RawScenario, node: &Expanded<'_>) -> (u16, &'static str) {
    let own = node.raw.settings.standard.as_ref();
    let standard = own.map_or(raw.channel.standard.value, |at| at.value);
    match (standard, node.has_qos(standard)) {
        _ if !standard.has_block_ack() => (MSDU_BYTES_MAX - LLC_BYTES, "a standard before 802.11n"),
        (Standard::Dot11n, true) => (HT_PACKET_BYTES_MAX, "802.11n"),
        (Standard::Dot11n, false) => (MSDU_BYTES_MAX - LLC_BYTES, "802.11n without qos"),
        (_, true) => (VHT_PACKET_BYTES_MAX, "802.11ac and 802.11ax"),
        (_, false) => (MSDU_BYTES_MAX - LLC_BYTES, "802.11ac and 802.11ax without qos"),
    }
}

/// Length of a frame without its packet, in bytes.
fn overhead(on_air: bool) -> u16 {
    if on_air { WIFI_OVERHEAD_BYTES } else { WIRE_OVERHEAD_BYTES }
}

/// Whether one is the access point of the other, or both are in an independent cell.
fn share_air(raw: &RawScenario, one: &Expanded<'_>, other: &Expanded<'_>) -> bool {
    let roles = (one.role(), other.role());
    let is_both_ways =
        matches!(roles, (Role::AccessPoint, Role::Station) | (Role::Station, Role::AccessPoint));
    (is_both_ways || raw.channel.independent.value && one.name != other.name)
        && one.shares_bss(other)
}

fn share_wire(wires: &[WiredLink], one: usize, other: usize) -> bool {
    let (one, other) = (node_id(one), node_id(other));
    wires.iter().any(|wire| wire.ends == [one, other] || wire.ends == [other, one])
}
