//! Multi-link devices: which addresses belong together.

use crate::air::devices::{Device, Devices};
use crate::analysis::Analysis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A multi-link device (802.11be): access points or stations that are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    let mut all = Devices::default();
    all.merge(&analysis.main.air.devices);
    analysis.others.values().for_each(|other| all.merge(&other.air.devices));
    all.iter().map(|(address, device)| (address.to_string(), summary(device))).collect()
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
    }
}
