//! Multi-link devices: which addresses belong together, and data between devices over all their links.

use crate::air::devices::Device;
use crate::air::pairs::{DevicePair, PairLink};
use crate::analysis::Analysis;
use crate::rounding::{mbps, millis, rounded, share};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A multi-link device (802.11be): access points or stations that are one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSummary {
    /// Whether its links are access points.
    pub access_point: bool,
    /// Its links, by the address under which they send. A network of this address is in `networks`,
    /// a station of this address in its network.
    pub links: BTreeMap<String, DeviceLinkSummary>,
    /// Enhanced multi-link single-radio operation (EMLSR), if the device announces it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub emlsr: Option<EmlsrSummary>,
    /// Data to other devices, by their MLD address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub to: BTreeMap<String, DeviceDirectionSummary>,
}

/// Data from one multi-link device to another, over all links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceDirectionSummary {
    /// Captured bodies of MSDUs, each once, in Mb/s: the sum of the links.
    pub throughput_mbps: f64,
    /// Captured bodies of MSDUs, each once, in bytes.
    pub payload_bytes: u64,
    /// Different MPDUs: chains of attempts with one sequence number, on any link.
    pub chains: u64,
    /// Number of chains by their number of attempts, from 1; the last number includes all longer
    /// chains.
    pub attempts: Vec<u64>,
    /// Share of the chains that were acknowledged, 0 to 1.
    pub acknowledged: f64,
    /// Links by the address of the sender. Links that another interface captured as well, or that
    /// were not captured, are absent.
    pub links: BTreeMap<String, DeviceShareSummary>,
}

/// Data from one multi-link device to another on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceShareSummary {
    /// Address of the receiver on this link.
    pub to: String,
    /// Interface that captured the link.
    pub interface: u32,
    /// Captured bodies of MSDUs whose first captured attempt was on this link, in Mb/s.
    pub throughput_mbps: f64,
    /// Number of captured MPDUs.
    pub mpdus: u64,
    /// Captured MPDUs with the Retry bit.
    pub retries: u64,
    /// MPDUs whose attempt before was on another link.
    pub taken_over: u64,
    /// MPDUs that were acknowledged after their last attempt on this link, each once.
    pub delivered: u64,
    /// Share of these among those of all links, 0 to 1.
    pub share: f64,
    /// Those that then waited at the receiver for an earlier MPDU that was sent on another link first:
    /// the receiver delivers them in order. A gap of 100 ms counts as given up, not as a wait.
    pub reordered: u64,
    /// Such waits in ms: the mean over all delivered MPDUs, and the longest one.
    pub reorder_ms: [f64; 2],
}

/// A link of a multi-link device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceLinkSummary {
    /// Link ID, 0 to 14. Absent if no frame has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link_id: Option<u8>,
}

/// Delays of a station that listens on several links with one radio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmlsrSummary {
    /// Time to prepare for a frame exchange, in us.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub padding_us: Option<u64>,
    /// Time to return to listening, in us.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub transition_us: Option<u64>,
}

/// Returns the devices of all interfaces.
pub(super) fn devices(analysis: &Analysis) -> BTreeMap<String, DeviceSummary> {
    let known = analysis.file.devices.iter();
    let mut all: BTreeMap<_, _> =
        known.map(|(address, device)| (address.to_string(), summary(device))).collect();
    for pair in analysis.file.devices.pairs.iter() {
        if let Some(device) = all.get_mut(&pair.from.to_string()) {
            device.to.insert(pair.to.to_string(), direction(analysis, pair));
        }
    }
    all
}

fn direction(analysis: &Analysis, pair: &DevicePair) -> DeviceDirectionSummary {
    let delivered = pair.links.iter().map(|link| link.delivered).sum();
    let link = |link: &PairLink| {
        let (mbps, counts) = match analysis.link(link) {
            Some((data, length_ns)) => {
                (mbps(data.counts.payload_bytes, length_ns), data.counts.clone())
            }
            None => Default::default(),
        };
        let (reordered, sum, longest) = link.waits;
        let summary = DeviceShareSummary {
            to: link.to.to_string(),
            interface: link.interface,
            throughput_mbps: mbps,
            mpdus: counts.mpdus,
            retries: counts.retries,
            taken_over: link.taken_over,
            delivered: link.delivered,
            share: share(link.delivered, delivered),
            reordered,
            reorder_ms: [millis(sum / link.delivered.max(1)), millis(longest)],
        };
        (link.from.to_string(), summary, counts.payload_bytes)
    };
    let (mut links, mut payload_bytes, mut throughput_mbps) = (BTreeMap::new(), 0, 0.0);
    for (address, summary, bytes) in pair.links.iter().map(link) {
        payload_bytes += bytes;
        throughput_mbps += summary.throughput_mbps;
        links.insert(address, summary);
    }
    let chains = pair.chains();
    let last = chains.attempts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    DeviceDirectionSummary {
        throughput_mbps: rounded(throughput_mbps, 1e3),
        payload_bytes,
        chains: chains.msdus,
        attempts: chains.attempts[..last].to_vec(),
        acknowledged: share(chains.acknowledged, chains.msdus),
        links,
    }
}

fn summary(device: &Device) -> DeviceSummary {
    // Access points have no delays: the subfields are reserved.
    let us = |delay: Option<lasthop_units::Duration>| {
        delay.filter(|_| !device.access_point).map(|it| it.as_nanos() / 1_000)
    };
    let links = device.links.iter();
    DeviceSummary {
        access_point: device.access_point,
        links: links
            .map(|(address, id)| (address.to_string(), DeviceLinkSummary { link_id: *id }))
            .collect(),
        emlsr: device.eml.filter(|eml| eml.has_emlsr()).map(|eml| EmlsrSummary {
            padding_us: us(eml.padding_delay()),
            transition_us: us(eml.transition_delay()),
        }),
        to: BTreeMap::new(),
    }
}
