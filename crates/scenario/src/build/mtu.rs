//! How long packets may be: what the standard allows on the air, and what the
//! buffers of both ends of a link take.

use super::nodes::Expanded;
use super::{is_written, node_id};
use crate::Role;
use crate::error::{Place, Problems};
use crate::raw::RawScenario;
use lasthop_net::network::WiredLink;
use lasthop_wifi::phy::Standard;

/// LLC and SNAP headers (IEEE 802.2, IEEE 802-2014).
const LLC_BYTES: u16 = 8;
/// Longest MSDU of its own (IEEE 802.11-2020, table 9-25).
const MSDU_BYTES_MAX: u16 = 2_304;
/// Longest packet in HT: an A-MSDU of 7 935 bytes with one subframe (9.3.2.2.2),
/// whose header takes 14 and LLC 8, in round numbers.
const HT_PACKET_BYTES_MAX: u16 = 7_900;
/// What a frame on the air has beside its packet: QoS data header, LLC, FCS.
const WIFI_OVERHEAD_BYTES: u16 = 26 + LLC_BYTES + 4;
/// The same on a wire: Ethernet header and FCS.
const WIRE_OVERHEAD_BYTES: u16 = 14 + 4;

/// The MTU of every node.
pub(super) fn mtus(
    raw: &RawScenario,
    nodes: &[Expanded<'_>],
    wires: &[WiredLink],
    problems: &mut Problems,
) -> Vec<u16> {
    let mtus: Vec<u16> = nodes.iter().map(|node| mtu(raw, node).0).collect();
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_wifi()) {
        check_standard(raw, node, mtus[index], problems);
    }
    for (index, node) in nodes.iter().enumerate() {
        let buffer = &node.raw.settings.buffer_bytes;
        let Some(buffer_bytes) = buffer.value.0.as_ref().map(|bytes| bytes.0) else { continue };
        if !fits(buffer_bytes, node.is_wifi(), mtus[index]) {
            let (mtu, place) = mtu(raw, node);
            let place = if is_written(place) { place } else { &buffer.place };
            let message = format!(
                "packets of up to {mtu} bytes do not fit with their headers into \
                 buffer_bytes = {buffer_bytes}"
            );
            problems.push(place, message);
            continue;
        }
        let too_long = |&other: &usize| {
            let on_air = share_air(node, &nodes[other]);
            (on_air || share_wire(wires, index, other)) && !fits(buffer_bytes, on_air, mtus[other])
        };
        if let Some(other) = (0..nodes.len()).find(too_long) {
            let (name, mtu) = (&nodes[other].name, mtus[other]);
            let message = format!(
                "packets of up to {mtu} bytes from {name:?} do not fit here; lower its mtu"
            );
            problems.push(&buffer.place, message);
        }
    }
    mtus
}

fn mtu<'a>(raw: &'a RawScenario, node: &Expanded<'a>) -> (u16, &'a Place) {
    match &node.raw.settings.mtu {
        Some(at) => (at.value.get(), &at.place),
        None => (raw.emulation.mtu.value.get(), &raw.emulation.mtu.place),
    }
}

fn check_standard(raw: &RawScenario, node: &Expanded<'_>, mtu: u16, problems: &mut Problems) {
    let standard = raw.channel.standard.value;
    let is_ht = standard == Standard::Dot11n;
    let qos = node.raw.settings.qos.as_ref().map_or(is_ht, |qos| qos.value);
    let (most, what) = match (is_ht, qos) {
        (true, true) => (HT_PACKET_BYTES_MAX, "802.11n"),
        (true, false) => (MSDU_BYTES_MAX - LLC_BYTES, "802.11n without qos"),
        (false, _) => (MSDU_BYTES_MAX - LLC_BYTES, "a standard before 802.11n"),
    };
    if mtu > most {
        let place = self::mtu(raw, node).1;
        let message = format!("expected at most {most} on the air with {what}, got {mtu}");
        problems.push(place, message);
    }
}

/// Whether a frame with a packet of `bytes` fits into a buffer.
fn fits(buffer_bytes: i64, on_air: bool, bytes: u16) -> bool {
    let overhead = if on_air { WIFI_OVERHEAD_BYTES } else { WIRE_OVERHEAD_BYTES };
    i64::from(bytes) + i64::from(overhead) <= buffer_bytes
}

/// Whether one is the access point of the other.
fn share_air(one: &Expanded<'_>, other: &Expanded<'_>) -> bool {
    matches!(
        (one.role(), other.role()),
        (Role::AccessPoint, Role::Station) | (Role::Station, Role::AccessPoint)
    )
}

fn share_wire(wires: &[WiredLink], one: usize, other: usize) -> bool {
    let (one, other) = (node_id(one), node_id(other));
    wires.iter().any(|wire| wire.ends == [one, other] || wire.ends == [other, one])
}
